"""What a validation tells on its way, and what it remembers: problems, and one run's verdicts.

A :class:`Problem` is an error of ``jsonschema`` with what a violation needs. A :class:`Run` is one
validation; ``jsonschema`` hands it down as its format checker, the one thing of the caller's that
reaches every keyword.

An :class:`Evaluating` stands for a value whose parts are only to be named: keywords that are given
one look into nothing and yield what they would look at, as :class:`Seen`; leaves ignore it,
references pass it on. So ``unevaluatedProperties`` and ``unevaluatedItems`` learn what is left.

This module is imported when the first validator is made, since it needs the package.
Runs are not shared by threads. Cost: a problem takes about ten microseconds.

Tested by tests/test_tools_validate.py and test_tools_validate_fuzz.py.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Any

from ..errors import LimitError, MissingDependencyError

try:
    import jsonschema
except ImportError as error:
    raise MissingDependencyError("jsonschema", "tools") from error

__all__ = ["KEPT", "Evaluating", "Keyword", "Problem", "Run", "Seen", "holds"]

#: How many problems of one branch or reference are remembered.
KEPT = 100

#: A keyword of ``jsonschema``: of validator, keyword's value, instance and schema.
Keyword = Callable[[Any, Any, Any, Any], "Iterator[Any]"]


class Problem(jsonschema.ValidationError):  # type: ignore[misc]
    """One fault, on its way up to the root.

    Attributes:
        expected: As in :class:`~gramlock.tools.violation.Violation`.
        got: The same; None for a description of the instance.
        property: The member that it is about, if it is about one.
        description: The ``description`` nearest to it.
    """

    def __init__(
        self, expected: str, got: str | None = None, member: str | None = None, **details: Any
    ) -> None:
        super().__init__(expected, **details)
        self.expected = expected
        self.got = got
        self.property = member
        self.description: str | None = None

    def again(self, place: tuple[Any, ...]) -> Problem:
        """The same problem once more, *place* below where it is told."""
        found = Problem(
            self.expected,
            self.got,
            self.property,
            validator=self.validator,
            validator_value=self.validator_value,
            instance=self.instance,
            schema=self.schema,
            path=place,
        )
        found.description = self.description
        return found


class Seen(jsonschema.ValidationError):  # type: ignore[misc]
    """Not a fault: the members or items that a keyword looks at."""

    def __init__(self, parts: Collection[Any]) -> None:
        super().__init__("")
        self.parts = parts


class Evaluating:
    """Stands for a value whose parts are only to be named, not looked at."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value


class Run:
    """One validation: its verdicts so far, and the work that it has done.

    Attributes:
        verdicts: Whether a schema holds for a value, by the identities of both; not used where a
            reference means different schemas at different times.
        told: The problems that a schema behind a reference has with a value, each with its place
            in it; kept alike.
        targets: What references lead to, as in :class:`~gramlock.tools.schemas.Prepared`.
        budget: How many references, branches and conditions may be looked at.
    """

    __slots__ = ("budget", "keeps", "steps", "targets", "told", "verdicts")

    def __init__(
        self,
        targets: Mapping[tuple[int, str], Any] | None = None,
        keeps: bool = True,
        budget: int = 20_000,
    ) -> None:
        self.targets = targets or {}
        self.keeps = keeps
        self.budget = budget
        self.steps = 0
        self.verdicts: dict[tuple[int, int], bool] = {}
        self.told: dict[tuple[int, int], list[tuple[Problem, tuple[Any, ...]]]] = {}

    def step(self) -> None:
        """Counts one judgement.

        Raises:
            LimitError: There were too many.
        """
        self.steps += 1
        if self.steps > self.budget:
            raise LimitError("validation_steps", self.steps, self.budget)


def holds(validator: Any, instance: Any, schema: Any) -> bool:
    """Whether a schema holds for a value; asked once in each run."""
    if schema is True:
        return True
    run: Run = validator.format_checker
    key = (id(schema), id(instance))
    keeps = run.keeps and isinstance(instance, dict | list)
    known = run.verdicts.get(key) if keeps else None
    if known is None:
        run.step()
        known = next(validator.descend(instance, schema), None) is None
        if keeps:
            run.verdicts[key] = known
    return known
