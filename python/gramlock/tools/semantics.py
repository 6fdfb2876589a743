"""Checks that a schema cannot state: rules across fields, invariants, references to real things.

A check is a function ``(value, context) -> violations``, None or ``[]`` if there are none. Checks
run on values that satisfy the schema, so they may index without asking; all of them run, so that
one report has everything. :func:`invariant` and :func:`reference` make the common ones::

    checks = [
        invariant(lambda call: call["from"] <= call["to"], at=["$.from", "$.to"],
                  expected="from not later than to"),
        reference("$.line_items[*].sku", lambda sku, context: context.data["stock"].get(sku),
                  what="article"),
    ]

A check that raises, or whose answer is no answer (a coroutine in synchronous code), fails closed:
it is a violation, and what went wrong is told to the application, not to the model.

Thread-safe as far as the application's functions are. Cost: theirs.

Tested by tests/test_tools_semantics.py.
"""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import Any

from ..errors import LimitError, ToolDefinitionError
from .canonical import equality_key
from .pointer import Place, find, from_path, has, to_path, to_pointer
from .rules import closed, violations_in
from .validator import validator_of
from .violation import Violation, describe

__all__ = ["MAX_LOOK_UPS", "SemanticCheck", "examine", "invariant", "reference"]

#: Of a value and a context, what is wrong.
SemanticCheck = Callable[[Any, Any], Any]

#: How many different things one check looks up.
MAX_LOOK_UPS = 1000


def examine(
    value: Any,
    schema: Any,
    checks: Iterable[SemanticCheck] = (),
    context: Any = None,
    *,
    formats: bool = True,
    on_failure: Callable[[SemanticCheck, Exception], None] | None = None,
) -> list[Violation]:
    """All violations of a schema; if there are none, all that the checks find.

    For structured output and other values that no dispatcher sees; a dispatcher does the same with
    a tool's arguments.

    Args:
        value: Plain data.
        schema: JSON Schema.
        checks: Run only if the schema is satisfied; then all of them.
        context: Given to the checks.
        formats: Whether ``format`` is enforced.
        on_failure: Told about a check that raised, or answered with something else.

    Raises:
        ToolDefinitionError: It is no schema.
        MissingDependencyError: ``jsonschema`` or ``regress`` is not installed.
    """
    validator = validator_of(schema, formats)
    found = validator.validate(value)
    if found:
        return found
    for check in checks:
        try:
            answer = check(value, context)
            if isinstance(answer, Awaitable):
                _close(answer)
                raise TypeError("an asynchronous check needs an asynchronous caller")
            found += violations_in(answer, check, "domain")
        except Exception as error:
            if on_failure is not None:
                on_failure(check, error)
            found.append(closed(check, "domain"))
    return validator.discreet(found, value)


def _close(awaitable: Any) -> None:
    close = getattr(awaitable, "close", None)  # a coroutine that is never awaited warns
    if callable(close):
        close()


def invariant(
    holds: Callable[..., Any],
    *,
    expected: str,
    at: str | Sequence[str] = "$",
    name: str | None = None,
    show: bool = True,
) -> SemanticCheck:
    """A check that something holds of the whole value.

    Args:
        holds: ``(value)`` or ``(value, context)``, which returns True if it holds; every other
            answer means that it does not. May be a coroutine function.
        expected: What should hold, as it completes "expected ...".
        at: Paths of the fields that could be changed to make it hold: one violation for each, so
            that a correction knows what it may touch.
        name: The violations' rule; the function's name if not given.
        show: Whether messages may quote these fields.

    Raises:
        ToolDefinitionError: `holds` takes another number of arguments.
        PointerError: `at` has something that is no path.
    """
    given = _arguments_of(holds, 1, "holds")
    places = [from_path(path) for path in ([at] if isinstance(at, str) else at)]
    rule = name or _name(holds, "invariant")

    def violations(value: Any, answer: Any) -> list[Violation]:
        if answer is True:
            return []
        return [_violation(value, place, rule, expected, show) for place in places]

    if inspect.iscoroutinefunction(holds):

        async def check_later(value: Any, context: Any) -> list[Violation]:
            return violations(value, await holds(*given(value, context)))

        return _named(check_later, rule)

    def check(value: Any, context: Any) -> list[Violation]:
        return violations(value, _plain(holds(*given(value, context))))

    return _named(check, rule)


def reference(
    at: str,
    look_up: Callable[..., Any],
    *,
    what: str,
    name: str | None = None,
    show: bool = True,
) -> SemanticCheck:
    """A check that what a field names exists in the system of record, for this caller.

    What does not exist and what the caller may not see have the same violation, word for word, so
    that nobody can find out by asking what others have. It is on `look_up` to answer alike, too,
    and to take who asks from the context, never from the value.

    Args:
        at: Path of the field; ``[*]`` stands for each item, as in ``$.line_items[*].sku``. Fields
            that are absent or null refer to nothing.
        look_up: ``(identifier)`` or ``(identifier, context)``, which returns what it found, or
            None or False. Asked once for each different identifier. May be a coroutine function.
        what: What it should be, for the message: ``"ticket"``.
        name: The violations' rule; ``"reference"`` if not given.
        show: Whether messages may quote the identifier.

    Raises:
        ToolDefinitionError: `look_up` takes another number of arguments.
        PointerError: `at` is no path.
    """
    given = _arguments_of(look_up, 1, "look_up")
    find(None, at)  # raises if it is no path
    rule = name or "reference"
    expected = f"an existing {what} that you may use"

    def wanted(value: Any) -> dict[Any, list[tuple[Place, Any]]]:
        found: dict[Any, list[tuple[Place, Any]]] = {}
        for place, part in find(value, at):
            if part is not None:
                found.setdefault(equality_key(part), []).append((place, part))
        if len(found) > MAX_LOOK_UPS:
            raise LimitError("look_ups", len(found), MAX_LOOK_UPS)
        return found

    def violations(uses: list[tuple[Place, Any]], answer: Any) -> list[Violation]:
        if answer is not None and answer is not False:
            return []
        return [_described(place, part, rule, expected, show) for place, part in uses]

    if inspect.iscoroutinefunction(look_up):

        async def check_later(value: Any, context: Any) -> list[Violation]:
            found: list[Violation] = []
            for uses in wanted(value).values():
                found += violations(uses, await look_up(*given(uses[0][1], context)))
            return found

        return _named(check_later, rule)

    def check(value: Any, context: Any) -> list[Violation]:
        found: list[Violation] = []
        for uses in wanted(value).values():
            found += violations(uses, _plain(look_up(*given(uses[0][1], context))))
        return found

    return _named(check, rule)


def _plain(answer: Any) -> Any:
    """An answer that is one: an awaitable would pass for something found."""
    if isinstance(answer, Awaitable):
        _close(answer)
        raise TypeError("an asynchronous answer from a synchronous function")
    return answer


def _arguments_of(
    function: Callable[..., Any], least: int, what: str
) -> Callable[[Any, Any], tuple[Any, ...]]:
    """How to call a function that takes the context, or does not."""
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):
        raise ToolDefinitionError(f"{what} is no function with a known signature") from None
    for count in (least + 1, least):
        try:
            signature.bind(*[None] * count)
        except TypeError:
            continue
        return (lambda first, context: (first, context)) if count > least else _first_alone
    raise ToolDefinitionError(f"{what} takes one argument, or one and the context")


def _first_alone(first: Any, context: Any) -> tuple[Any, ...]:
    return (first,)


def _name(function: Any, otherwise: str) -> str:
    name = getattr(function, "__name__", "<lambda>")
    return otherwise if name == "<lambda>" else str(name)


def _named(check: Any, rule: str) -> SemanticCheck:
    check.__name__ = rule
    named: SemanticCheck = check
    return named


def _violation(value: Any, place: Place, rule: str, expected: str, show: bool) -> Violation:
    """A violation at a field of the value, or at the member that is not there."""
    for token in place[:-1]:
        value = value[token] if has(value, token) else None
    if not place:
        return _described(place, value, rule, expected, show)
    if not has(value, place[-1]):
        holder = place[:-1]
        member = str(place[-1])
        return Violation(
            to_pointer(holder), rule, expected, "", member, to_path(place), boundary="domain"
        )
    return _described(place, value[place[-1]], rule, expected, show)


def _described(place: Place, part: Any, rule: str, expected: str, show: bool) -> Violation:
    got = describe(part, secret=not show) if place else ""
    return Violation(
        to_pointer(place), rule, expected, got, None, to_path(place), boundary="domain"
    )
