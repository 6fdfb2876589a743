"""What a rule's answer means. Whatever is not plainly a pass is none.

Tested by test_tools_dispatch.py.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from itertools import islice
from typing import TYPE_CHECKING, Any

from .steps import Ask, RuleError, Steps
from .violation import Violation

if TYPE_CHECKING:
    from .context import Context
    from .events import Trail

__all__ = ["FAILED", "Rules", "closed", "name_of", "violations_in"]

#: Stands for the answer of a rule that gave none.
FAILED = object()

MAX_VIOLATIONS = 1_000  # of one rule: a generator without end must not hold up a dispatch


def name_of(rule: Any) -> str:
    """A rule's name as violations give it."""
    name = getattr(rule, "__name__", None) or getattr(rule, "name", None)
    return name if isinstance(name, str) and name != "<lambda>" else type(rule).__name__


def violations_in(answer: Any, rule: Any, boundary: str) -> list[Violation]:
    """The violations that *rule* answered with.

    None and True are none; False is one. Everything else is a violation or some violations.

    Raises:
        RuleError: The answer is of another kind.
        Exception: Whatever an answer that is a generator raises.
    """
    if answer is None or answer is True:
        return []
    if answer is False:
        return [Violation("", name_of(rule), f"{name_of(rule)} does not hold", boundary=boundary)]
    if isinstance(answer, Violation):
        answer = [answer]
    if isinstance(answer, str | bytes | Mapping) or not isinstance(answer, Iterable):
        raise RuleError(f"an answer of type {type(answer).__name__}")
    found = list(islice(answer, MAX_VIOLATIONS))
    if not all(isinstance(one, Violation) for one in found):
        raise RuleError("an answer that holds something else than violations")
    for one in found:
        str(one)  # one that cannot be told is no answer either
    return found


def closed(rule: Any, boundary: str) -> Violation:
    """The violation that stands for a rule that could not be asked."""
    return Violation("", name_of(rule), f"{name_of(rule)} could not be checked", boundary=boundary)


class Rules:
    """Asks the application's rules in one dispatch; none of their failures passes for an answer.

    Args:
        trail: Where failures are told.
        context: What rules get besides the arguments.
    """

    def __init__(self, trail: Trail, context: Context) -> None:
        self._trail, self._context = trail, context

    def ask(self, boundary: str, rule: Callable[..., Any], *more: Any) -> Steps[Any]:
        """The answer of *rule*, or :data:`FAILED`."""
        try:
            return (yield Ask(rule, (*more, self._context)))
        except Exception as error:
            self._trail.fault(boundary, error)
            return FAILED

    def violations(
        self, boundary: str, rules: Iterable[Callable[..., Any]], *more: Any
    ) -> Steps[list[Violation]]:
        """What all of *rules* find; one that fails finds that it failed."""
        found: list[Violation] = []
        for rule in rules:
            answer = yield from self.ask(boundary, rule, *more)
            if answer is FAILED:
                found.append(closed(rule, boundary))
                continue
            try:
                found += violations_in(answer, rule, boundary)
            except Exception as error:
                self._trail.fault(boundary, error)
                found.append(closed(rule, boundary))
        return found
