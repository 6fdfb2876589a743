"""What happened at each boundary, for people and monitors: log records and spans.

Every dispatch leaves one record per boundary on the logger ``gramlock.tools``, and one more with
its outcome. The record's text is one line; its attribute ``event`` is the same as a dict. Passed
boundaries are DEBUG, ends are INFO, and what needs a person (``uncertain``, ``invalid_result``, a
rule that raised) is WARNING. Where OpenTelemetry's API is installed, a dispatch is also a span
``execute_tool NAME``, named as its semantic conventions for generative AI have it, with the
boundaries as span events.

Arguments appear redacted by their schema's annotations, and shortened. Texts of exceptions appear
here and nowhere else, with the secrets of the arguments replaced. Nothing here raises into a
dispatch. Thread-safe; cost: about 1 us a boundary while nobody listens.
Tested by test_tools_events.py.
"""

from __future__ import annotations

import json
import logging
import traceback
from collections.abc import Callable, Iterator, Mapping
from contextvars import Context as Variables
from functools import cache
from typing import TYPE_CHECKING, Any

from .redaction import REDACTED
from .results import StoredResult, shorten

if TYPE_CHECKING:
    from .tool import Tool
    from .validator import Validator

__all__ = ["Trail", "redacted"]

LOGGER = logging.getLogger("gramlock.tools")
LOGGER.addHandler(logging.NullHandler())

HIDDEN = "[not shown]"
_LONGEST_NAME = 200
_LONGEST_TEXT = 1_000
_FRAMES = 20
_ATTENTION = ("uncertain", "invalid_result")
_WORDS = {"message", "errors", "reference"}  # which handlers and checks may have written


Validates = Callable[[], "Validator | None"]


def redacted(value: Any, validator: Validates) -> Any:
    """*value* without what its schema marks as secret; :data:`HIDDEN` if that cannot be told."""
    try:
        found = validator()
        return value if found is None else found.redact(value)
    except Exception:  # a schema that cannot be read hides all: closed, not open
        return HIDDEN


@cache
def _tracer() -> Any:
    """OpenTelemetry's tracer, or None where its API is not installed."""
    try:
        from opentelemetry import trace
    except ImportError:
        return None
    return trace.get_tracer("gramlock.tools")


class Trail:
    """The events of one dispatch. Used by one dispatch at a time.

    Args:
        tool: The name that was called, as it came.
        call_id: The call's id.
        principal: From the context.
        span: Whether it is a span of its own, where OpenTelemetry is installed.
    """

    def __init__(
        self,
        tool: str | None,
        call_id: str | None,
        principal: str | None,
        *,
        span: bool = True,
    ) -> None:
        self._common = {"principal": _cut(principal)}
        self._known: list[tuple[Any, Validates]] = []
        tracer = _tracer() if span else None
        self._span = None if tracer is None else tracer.start_span("execute_tool")
        self.rename(tool, call_id)

    def rename(self, tool: str | None, call_id: str | None) -> None:
        """The call turned out to be that of *tool*."""
        self._common |= {"tool": _cut(tool), "call_id": _cut(call_id)}
        if self._span is not None and self._span.is_recording():
            self._span.update_name(f"execute_tool {_cut(tool) or ''}".rstrip())
            fields = {
                "gen_ai.operation.name": "execute_tool",
                "gen_ai.tool.name": _cut(tool),
                "gen_ai.tool.call.id": _cut(call_id),
            }
            self._span.set_attributes(_attributes(fields))

    def speaks_of(self, arguments: Any, tool: Tool) -> None:
        """From here on the call's arguments are known, and what of them is secret."""
        self._known = [(arguments, lambda: tool.validator)]

    def returned(self, value: Any, tool: Tool) -> None:
        """The handler's result may appear in texts of later exceptions."""
        self._known.append((value, lambda: tool.result_validator))

    def enter(self, variables: Variables) -> None:
        """Make the span the current one of what will run with *variables*."""
        if self._span is not None:
            from opentelemetry import context, trace

            variables.run(context.attach, trace.set_span_in_context(self._span))

    def passed(self, boundary: str) -> None:
        """A check was passed."""
        if LOGGER.isEnabledFor(logging.DEBUG) or self._recording():
            self._emit(logging.DEBUG, boundary, "passed", {})

    def fault(self, boundary: str, error: BaseException) -> None:
        """Something raised. Its text is shown with secrets replaced, its values are not."""
        if LOGGER.isEnabledFor(logging.WARNING) or self._recording():
            self._emit(logging.WARNING, boundary, "raised", {"error": self._told(error)})

    def noted(
        self, boundary: str, verdict: str, *, level: int = logging.WARNING, **fields: Any
    ) -> None:
        """Anything else worth a record."""
        if LOGGER.isEnabledFor(level) or self._recording():
            self._emit(level, boundary, verdict, fields)

    def ended(self, outcome: str, boundary: str | None, fields: Mapping[str, Any]) -> None:
        """The outcome, with the redacted arguments; ends the span."""
        level = logging.WARNING if outcome in _ATTENTION else logging.INFO
        if LOGGER.isEnabledFor(level) or self._recording():
            told = {name: value for name, value in fields.items() if value not in (None, (), "")}
            self._clear(told)
            stored = told.get("stored")
            if isinstance(stored, StoredResult):
                told["stored"] = {**stored.to_dict(), "excerpt": HIDDEN}
            if self._known:
                told["arguments"] = self._shown()
            self._emit(level, boundary or "outcome", outcome, {"outcome": outcome, **told})
        if self._span is not None:
            if self._span.is_recording():
                self._span.set_attribute("gramlock.outcome", outcome)
            self._span.end()

    def _clear(self, told: dict[str, Any]) -> None:
        """What handlers and checks wrote may quote the arguments' secrets."""
        if not self._known or not any(name in told for name in _WORDS):
            return
        secrets = self._secrets()
        for name in _WORDS & told.keys():
            text = told[name]
            if isinstance(text, tuple):
                told[name] = tuple(_without(secrets, line) for line in text)
            else:
                told[name] = _without(secrets, text)

    def _recording(self) -> bool:
        return self._span is not None and bool(self._span.is_recording())

    def _emit(self, level: int, boundary: str, verdict: str, fields: Mapping[str, Any]) -> None:
        event = {"boundary": boundary, "verdict": verdict, **self._common, **fields}
        try:
            text = json.dumps(event, default=str)
            LOGGER.log(level, "%s", text, extra={"event": event})
            if self._span is not None and self._span.is_recording():
                flat = {f"gramlock.{name}": value for name, value in event.items()}
                self._span.add_event(f"gramlock.{boundary}", _attributes(flat))
        except Exception:  # a handler of the application's that fails must not fail a call
            LOGGER.debug("an event could not be recorded", exc_info=True)

    def _shown(self) -> Any:
        try:
            return shorten(redacted(*self._known[0]))[0]
        except Exception:
            return HIDDEN

    def _told(self, error: BaseException) -> dict[str, Any]:
        told: dict[str, Any] = {"type": f"{type(error).__module__}.{type(error).__qualname__}"}
        try:
            text = _cut(_without(self._secrets(), str(error)), _LONGEST_TEXT) or ""
        except Exception:
            text = HIDDEN
        told["text"] = text
        frames = traceback.extract_tb(error.__traceback__)[-_FRAMES:]
        told["frames"] = [f"{frame.filename}:{frame.lineno} {frame.name}" for frame in frames]
        return told

    def _secrets(self) -> list[str] | None:
        """How the secrets of what is known are spelled, longest first; None if nobody can tell."""
        secrets: set[str] = set()
        for value, validator in self._known:
            shown = redacted(value, validator)
            if shown is HIDDEN:
                return None
            secrets.update(_spellings(_differences(value, shown)))
        return sorted(secrets, key=len, reverse=True)


def _without(secrets: list[str] | None, text: str) -> str:
    if secrets is None:
        return HIDDEN
    for secret in secrets:
        text = text.replace(secret, REDACTED)
    return text


def _differences(value: Any, shown: Any) -> Iterator[Any]:
    """The scalars of *value* that *shown*, its redacted form, does not have in their place."""
    waiting = [(value, shown)]
    while waiting:
        value, shown = waiting.pop()
        if isinstance(value, dict):
            seen = shown if isinstance(shown, dict) else {}
            waiting.extend((inner, seen.get(name)) for name, inner in value.items())
        elif isinstance(value, list):
            beside = shown if isinstance(shown, list) and len(shown) == len(value) else None
            waiting.extend((inner, beside[i] if beside else None) for i, inner in enumerate(value))
        elif value != shown or type(value) is not type(shown):
            yield value


def _spellings(values: Iterator[Any]) -> Iterator[str]:
    """How a secret may be spelled within a text."""
    for value in values:
        if isinstance(value, str) and value:
            yield value
            yield repr(value)[1:-1]
            yield json.dumps(value)[1:-1]
        elif value is not None and not isinstance(value, bool | str):
            yield str(value)


def _cut(text: Any, longest: int = _LONGEST_NAME) -> str | None:
    if text is None:
        return None
    told: str = text if isinstance(text, str) else type(text).__name__
    told = told.encode("utf-8", "backslashreplace").decode()
    return told if len(told) <= longest else told[: longest - 1] + "…"


def _attributes(fields: Mapping[str, Any]) -> dict[str, Any]:
    """What a span can carry: scalars as they are, the rest as JSON text."""
    return {
        name: value if isinstance(value, str | int | float) else json.dumps(value, default=str)
        for name, value in fields.items()
        if value is not None
    }
