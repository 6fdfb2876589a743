"""Every violation of a schema by a value: ordered, named, in terms that a model can act on.

::

    value --json_values--> plain, not too deep --quick--> valid
                                               --keywords (jsonschema)--> problems --> violations

The same check serves a tool's arguments, structured output and a tool's results, and agrees with
the grammar made from the same schema: what the grammar accepts has no violations
(tests/test_tools_validate_fuzz.py).

Violations stand in the order of the document: a member before the next, what is about an object's
missing members after its members, then by rule. Each is listed once, however many parts of the
schema say it. Texts longer than 80 characters, and values that the schema marks as secret, are
not quoted.

Tested by tests/test_tools_validate.py, test_tools_validate_fuzz.py, test_tools_cases_validate.py.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from dataclasses import replace
from typing import Any

from ..errors import LimitError, NotJsonError, PointerError, ToolDefinitionError
from .canonical import canonical
from .json_values import MAX_DEPTH, fault_in
from .metaschemas import problems_of
from .pointer import Place, locate, to_path, to_pointer
from .quick import Check, quick_check
from .redaction import Redactor
from .schemas import Walk, prepare, registry
from .violation import Violation, describe

__all__ = ["MAX_VIOLATIONS", "Validator", "validate", "validator_of"]

#: How many violations are listed; one more says that there are others.
MAX_VIOLATIONS = 1000
_KEPT = 128
_STEPS = 10_000  # of a validation's budget; more for each part of the value
_STEPS_OF_A_PART = 20
_SHORT_DESCRIPTION = 200
_NOT_SHOWN = "something else (not shown)"


class Validator:
    """A schema, read once.

    The dialect is the one of ``$schema``, else 2020-12. The schema is copied: changes to the
    caller's object have no effect. Nothing is fetched.

    Args:
        schema: JSON Schema: a dict, or a bool.
        formats: Whether ``format`` is enforced, as the grammar does by default.
        depth: How deep a value may nest.

    Raises:
        ToolDefinitionError: It is no schema of its dialect, a reference leads nowhere, a pattern
            cannot be matched in bounded time; each place is listed with its pointer.
        MissingDependencyError: ``jsonschema`` or ``regress`` is not installed.

    Thread-safe. Cost: about a millisecond for a small schema; a small value takes 5 microseconds
    if it is valid, else about 50.
    """

    def __init__(self, schema: Any, *, formats: bool = True, depth: int = MAX_DEPTH) -> None:
        from .keywords import dialect_class
        from .problems import Run

        prepared = prepare(schema)
        kind = dialect_class(prepared.year, formats)
        self._depth = depth
        self._run = Run
        problems = problems_of(prepared)
        if problems:
            raise ToolDefinitionError("; ".join(problems))
        Walk(prepared).run()
        self._prepared = prepared
        self._base = kind(prepared.root, registry=registry(), format_checker=Run())
        self._quick: Check | None = quick_check(prepared, kind.VALIDATORS)
        self._redactor = Redactor(prepared) if prepared.with_secrets else None

    def validate(self, instance: Any) -> list[Violation]:
        """Every violation, in order; empty for a valid value.

        Never raises for what the value is: one that JSON cannot express, that nests too deep or
        takes too much work to judge has a violation that says so.
        """
        fault = fault_in(instance, self._depth)
        if fault is not None:
            place = fault.place
            return [
                Violation(
                    to_pointer(place), fault.rule, fault.expected, fault.got, None, to_path(place)
                )
            ]
        if self._is_quickly_valid(instance):
            return []
        found = self._unless_too_deep(instance)
        return self._in_a_fresh_thread(instance) if found is None else found

    def is_valid(self, instance: Any) -> bool:
        """Whether the value has no violation; often quicker than to list them."""
        if self._quick is None or fault_in(instance, self._depth) is not None:
            return not self.validate(instance)
        try:
            return self._quick(instance)
        except RecursionError:
            return not self.validate(instance)

    def redact(self, value: Any) -> Any:
        """A copy of the value without what the schema marks as secret."""
        return value if self._redactor is None else self._redactor.redact(value)

    def discreet(self, found: list[Violation], instance: Any) -> list[Violation]:
        """The same violations of checks; what they quote of a secret value is left out."""
        if self._redactor is None:
            return found
        return [
            replace(one, got=_NOT_SHOWN) if one.got and self._is_secret(one, instance) else one
            for one in found
        ]

    def _is_secret(self, found: Violation, instance: Any) -> bool:
        assert self._redactor is not None
        try:
            return self._redactor.is_secret(locate(instance, found.pointer)[0])
        except PointerError:  # it may quote anything
            return True

    def _is_quickly_valid(self, instance: Any) -> bool:
        if self._quick is None:
            return False
        try:
            return self._quick(instance)
        except RecursionError:
            return False

    def _unless_too_deep(self, instance: Any) -> list[Violation] | None:
        """The violations; None if the stack of this thread is too short to find them."""
        try:
            return self._reported(instance)
        except RecursionError:
            return None
        except BaseException as error:
            # Inside the maps of referencing (rpds) a RecursionError becomes a panic of theirs.
            if type(error).__name__ != "PanicException":
                raise
            return None

    def _in_a_fresh_thread(self, instance: Any) -> list[Violation]:
        """The verdict must not depend on how deep the caller's own stack is."""
        found: list[list[Violation] | None] = []
        thread = threading.Thread(
            target=lambda: found.append(self._unless_too_deep(instance)), name="gramlock-validate"
        )
        try:
            thread.start()
            thread.join()
        except RuntimeError:  # no thread can be started: too many, or the interpreter ends
            found.clear()
        expected = "a value that is checked in fewer levels"
        if not found or found[0] is None:
            return [Violation("", "depth", expected, "too many")]
        return found[0]

    def _reported(self, instance: Any) -> list[Violation]:
        budget = _STEPS + _STEPS_OF_A_PART * _parts_of(instance)
        run = self._run(self._prepared.targets, not self._prepared.dynamic, budget)
        problems = self._base.evolve(format_checker=run).iter_errors(instance)
        found: dict[tuple[Any, ...], tuple[Any, Violation]] = {}
        ranks = _Ranks(instance)
        try:
            for problem in problems:
                violation, place = self._violation(problem)
                key = (violation.pointer, violation.rule, violation.property, violation.expected)
                if key not in found:
                    order = (*ranks.of(place, violation.property), violation.rule)
                    found[key] = (order, violation)
                    if len(found) > MAX_VIOLATIONS:
                        break
        except LimitError:
            found[("budget",)] = ((), Violation("", "budget", "a value that takes less to check"))
        ordered = [
            violation for _, violation in sorted(found.values(), key=lambda pair: _key(pair[0]))
        ]
        if len(ordered) > MAX_VIOLATIONS:
            more = f"at most {MAX_VIOLATIONS} violations; others are not listed"
            ordered[MAX_VIOLATIONS:] = [Violation("", "budget", more)]
        return ordered

    def _violation(self, problem: Any) -> tuple[Violation, Place]:
        place = tuple(problem.path)
        rule, member, got = problem.validator, problem.property, problem.got
        secret = self._redactor is not None and self._redactor.is_secret(place)
        if got is None:
            got = describe(problem.instance, secret=secret)
        elif secret and got and rule != "type":
            got = _NOT_SHOWN
        description = problem.description
        if description is None and member is None:
            description = problem.schema.get("description")
        if isinstance(description, str):
            if len(description) > _SHORT_DESCRIPTION:
                description = description[: _SHORT_DESCRIPTION - 1] + "…"
        else:
            description = None
        path = to_path(place if member is None else (*place, member))
        found = Violation(to_pointer(place), rule, problem.expected, got, member, path, description)
        return found, place


def _parts_of(value: Any) -> int:
    """How many members and items there are, at all levels."""
    count = 0
    stack = [value] if isinstance(value, dict | list) else []
    while stack:
        value = stack.pop()
        count += len(value)
        children = value.values() if isinstance(value, dict) else value
        stack.extend(child for child in children if isinstance(child, dict | list))
    return count


class _Ranks:
    """Where places stand in the document, as tuples that compare in its order."""

    def __init__(self, instance: Any) -> None:
        self._instance = instance
        self._members: dict[int, dict[str, int]] = {}

    def of(self, place: Place, member: str | None) -> tuple[int, ...]:
        found = []
        value = self._instance
        for token in place:
            found.append(token if isinstance(token, int) else self._rank(value, token))
            value = value[token]
        if member is not None and isinstance(value, dict):
            found.append(self._rank(value, member))
        return tuple(found)

    def _rank(self, value: dict[str, Any], name: str) -> int:
        ranks = self._members.get(id(value))
        if ranks is None:
            ranks = self._members[id(value)] = {key: index for index, key in enumerate(value)}
        return ranks.setdefault(name, len(ranks))  # a missing one comes after all others


def _key(order: tuple[Any, ...]) -> tuple[Any, ...]:
    return (*((rank, "") for rank in order[:-1]), (-1, order[-1])) if order else ((-2, ""),)


_cache: OrderedDict[tuple[bytes, bool], Validator] = OrderedDict()
_cache_lock = threading.Lock()


def validate(instance: Any, schema: Any, *, formats: bool = True) -> list[Violation]:
    """Every violation of *schema* by *instance*, in order; empty for a valid value.

    Args:
        instance: Plain data: dict, list, str, bool, int, float, Decimal, None.
        schema: JSON Schema. The last 128 are kept ready; :class:`Validator` keeps one.
        formats: Whether ``format`` is enforced.

    Raises:
        ToolDefinitionError: It is no schema.
        MissingDependencyError: ``jsonschema`` or ``regress`` is not installed.

    Thread-safe. Cost: as :class:`Validator`, and one visit of the schema.

    >>> schema = {"properties": {"n": {"type": "integer"}}, "required": ["n", "why"]}
    >>> [str(violation) for violation in validate({"n": "5"}, schema)]
    ['$.n: expected integer, got string', '$.why: required']
    """
    return validator_of(schema, formats).validate(instance)


def validator_of(schema: Any, formats: bool = True) -> Validator:
    """The validator of a schema, from those kept ready.

    Raises:
        ToolDefinitionError: As :class:`Validator`.
        MissingDependencyError: As :class:`Validator`.
    """
    try:
        key = (canonical(schema), formats)
    except NotJsonError as error:
        raise ToolDefinitionError(f"#: the schema is no JSON: {error}") from None
    with _cache_lock:
        validator = _cache.get(key)
        if validator is not None:
            _cache.move_to_end(key)
    if validator is None:
        validator = Validator(schema, formats=formats)
        with _cache_lock:
            _cache[key] = validator
            while len(_cache) > _KEPT:
                _cache.popitem(last=False)
    return validator
