"""The keywords ``oneOf`` and ``anyOf``: one branch is reported, never the faults of all.

It is the branch that the tag selects (:mod:`gramlock.tools.unions`); else the only one that takes
values of the instance's type; else one problem says what the branches want. Which values are valid
does not depend on it: a tag is only found where at most one branch can hold.

Thread-safe. Cost: with a tag one branch, else all of them.

Tested by tests/test_tools_validate.py.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Any

from .leaves import shown, shown_list
from .pointer import to_path
from .problems import KEPT, Evaluating, Keyword, Problem, Run, holds
from .unions import Union
from .violation import type_name

__all__ = ["union_keyword"]

_BRANCHES_TOLD = 3


def union_keyword(keyword: str) -> Keyword:
    """``anyOf`` or ``oneOf``."""

    def apply(validator: Any, branches: Any, instance: Any, schema: Any) -> Iterator[Any]:
        if instance.__class__ is Evaluating:
            for branch in branches:
                if holds(validator, instance.value, branch):
                    yield from validator.descend(instance, branch)
        elif isinstance(branches, Union) and branches.tag and isinstance(instance, dict):
            yield from _tagged(validator, branches, instance, keyword)
        else:
            yield from _untagged(validator, branches, instance, keyword)

    return apply


def _tagged(validator: Any, union: Union, instance: Any, keyword: str) -> Iterator[Any]:
    tag = union.tag
    assert tag is not None
    choices = f"one of {shown_list(map(shown, union.values))}"
    if tag not in instance:
        yield Problem(f"required, {choices}", "", tag, validator="required")
        return
    index = union.branch_of(instance[tag])
    if index is None:
        yield Problem(choices, validator=keyword, path=[tag], instance=instance[tag])
        return
    yield from validator.descend(instance, union[index], schema_path=index)


def _untagged(validator: Any, branches: Any, instance: Any, keyword: str) -> Iterator[Any]:
    run: Run = validator.format_checker
    found: list[list[Any]] = []
    right: list[int] = []
    for index, branch in enumerate(branches):
        run.step()
        problems = list(islice(validator.descend(instance, branch, schema_path=index), KEPT))
        if run.keeps and isinstance(instance, dict | list) and isinstance(branch, dict):
            run.verdicts[(id(branch), id(instance))] = not problems
        if not problems:
            right.append(index)
            if keyword == "anyOf":
                return
        found.append(problems)
    if len(right) == 1:
        return
    if right:
        named = shown_list(f"{index + 1}" for index in right)
        yield Problem("exactly one of the alternatives", f"{len(right)} of them: {named}")
        return
    kinds = [_kinds(problems) for problems in found]
    fitting = [problems for problems, kind in zip(found, kinds, strict=True) if kind is None]
    if len(fitting) > 1:
        fitting = [problems for problems in fitting if not _is_marked(problems)] or fitting
    if len(fitting) == 1:
        yield from fitting[0]
    elif fitting:
        yield _no_branch(fitting)
    else:
        every = dict.fromkeys(name for kind in kinds for name in kind or ())
        yield Problem(shown_list(every, " or ") or "nothing at all", type_name(instance))


def _kinds(problems: list[Any]) -> list[str] | None:
    """The kinds of value that a branch takes, if the instance is of none of them."""
    for problem in problems:
        if problem.path or problem.property is not None:
            continue
        if problem.validator in ("type", "false"):
            return problem.expected.split(" or ") if problem.validator == "type" else []
        if problem.validator in ("const", "enum"):
            value = problem.validator_value
            values = [value] if problem.validator == "const" else value
            if type_name(problem.instance) not in map(type_name, values):
                return [problem.expected]
    return None


def _is_marked(problems: list[Any]) -> bool:
    """Whether a member with listed values says that another branch is meant."""
    return any(p.validator in ("const", "enum") and len(p.path) == 1 for p in problems)


def _no_branch(fitting: list[list[Any]]) -> Problem:
    """None of several branches holds, and the instance has the type of each."""
    if all(len(problems) == 1 and _is_about_value(problems[0]) for problems in fitting):
        return Problem(shown_list((problems[0].expected for problems in fitting), " or "))
    told = []
    for problems in fitting[:_BRANCHES_TOLD]:
        first = problems[0]
        place = (*first.path, *([] if first.property is None else [first.property]))
        told.append(f"{to_path(place)[1:61] or 'here'} {first.expected:.60}")
    more = len(fitting) - len(told)
    text = "; or ".join(told) + (f"; or {more} more" if more else "")
    return Problem(f"one of {len(fitting)} alternatives ({text})")


def _is_about_value(problem: Any) -> bool:
    return not problem.path and problem.property is None and problem.validator != "not"
