"""From a handler's ending to the call's result, and what the ledger is told on the way.

One :class:`Recording` goes with one dispatch that passed the permission check. For a write with a
ledger it holds the intent and its lease; for everything else it only turns the ending into a
result. The outcome is recorded before the result is looked at: a validator or a postcondition that
hangs must not cost the record of an effect.

Used by one dispatch; :meth:`Recording.late` and :meth:`Recording.beat` are called from other
threads. Tested by test_tools_dispatch.py and test_tools_cases_dispatch.py.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Protocol

from ..errors import ResultStoreError, ToolError
from .invoke import TIMED_OUT, Ending
from .json_text import dumps
from .outcome import Accepted, Outcome, ToolResult
from .results import StoredResult, plain
from .rules import Rules
from .steps import Block, Steps
from .violation import Violation

if TYPE_CHECKING:
    from collections.abc import Callable

    from .context import Context
    from .events import Trail
    from .ledger import Begun, Ledger, LookUp
    from .results import ResultStore
    from .tool import Tool

__all__ = ["Recording"]

_LONGEST_MESSAGE = 2_000
_NEVER = 1e6
_ATTRIBUTES = ("pointer", "rule", "expected", "got", "property", "path", "description", "boundary")


class _Parts(Protocol):
    """What of a dispatcher's parts is needed here."""

    @property
    def ledger(self) -> Ledger | None: ...
    @property
    def results(self) -> ResultStore: ...
    @property
    def fail_point(self) -> Callable[[str], None]: ...


class Recording:
    """What becomes of one call, and the record of it.

    Args:
        parts: Of the dispatcher.
        trail: Of the dispatch.
        tool: The tool called.
        context: The trusted context.
        digest: Of the arguments.
    """

    def __init__(
        self, parts: _Parts, trail: Trail, tool: Tool, context: Context, digest: str
    ) -> None:
        self._parts, self._trail, self._tool, self._context = parts, trail, tool, context
        self._digest = digest
        self._ledger = parts.ledger if tool.effect != "read" else None
        self._begun: Begun | None = None
        self._settled: Outcome | None = None
        self._rules = Rules(trail, context)

    # ---- before the handler

    @property
    def kept(self) -> bool:
        """Whether there is a record: of writes, with a ledger."""
        return self._ledger is not None

    @property
    def entry_id(self) -> str | None:
        """The ledger's entry, once the intent is recorded."""
        return None if self._begun is None else self._begun.entry_id

    def check_key(self) -> None:
        """Raises :class:`LedgerError`, in words of its own, for a key that cannot be kept."""
        self._key().check()

    def look_up(self) -> Block:
        """Asks the ledger about this operation."""
        assert self._ledger is not None
        return Block(self._ledger.look_up, (self._key(), self._digest))

    def begin(self, shown: Any, duplicate_ok: bool) -> Block:
        """Records the intent; *shown* are the redacted arguments."""
        assert self._ledger is not None
        options = (("arguments", shown), ("duplicate_ok", duplicate_ok))
        return Block(self._ledger.begin, (self._key(), self._digest), options)

    def begun_or(self, answer: Begun | LookUp) -> LookUp:
        """Keeps what :meth:`begin` brought: the right to go on, or the reason not to."""
        from .ledger import Begun, LookUp

        if isinstance(answer, Begun):
            self._begun = answer
            return LookUp("none")
        return answer

    def abandon(self) -> Steps[None]:
        """Takes the intent back: nothing was sent."""
        if self._begun is None or self._ledger is None:
            return
        begun, self._begun = self._begun, None
        try:
            yield Block(self._ledger.abandon, (begun,))
        except Exception as error:  # it stays, and lapses into uncertain: on the safe side
            self._trail.fault("ledger", error)

    def _key(self) -> Any:
        from .ledger import OperationKey

        return OperationKey(self._context.principal, self._tool.name, self._context.operation_id)

    def passed_point(self, name: str) -> None:
        """A named place in the life of a write, at which tests stop the process."""
        if self._tool.effect != "read":
            self._parts.fail_point(name)

    # ---- while it runs, and after it was given up

    @property
    def beat(self) -> Callable[[], None] | None:
        """What keeps the lease alive."""
        return None if self._begun is None else self.renew

    @property
    def every(self) -> float:
        """Seconds between beats."""
        return _NEVER if self._ledger is None else self._ledger.lease / 3

    def renew(self) -> None:
        """Prolongs the lease, where there is one."""
        if self._ledger is None or self._begun is None:
            return
        try:
            self._ledger.renew(self._begun)
        except Exception as error:  # the lease may lapse; the entry is then uncertain
            self._trail.fault("ledger", error)

    def late(self, ending: Ending) -> None:
        """What a handler brought that nobody waited for: evidence, not an outcome."""
        outcome, value, details = _evidence(ending)
        self._trail.noted("late_result", outcome)
        if ending.kind == "raised" and ending.error is not None:
            self._trail.fault("late_result", ending.error)
        if self._ledger is None or self._begun is None:
            return
        try:
            self._ledger.late(self._begun, outcome, value, details=details)
        except Exception as error:
            self._trail.fault("ledger", error)

    # ---- after the handler

    def conclude(self, ending: Ending, call_id: str | None, arguments: Any) -> Steps[ToolResult]:
        """Records the outcome, checks the result, and gives the call's result.

        Raises:
            KeyboardInterrupt: The handler raised it; it is recorded first.
            SystemExit: Alike.
        """
        late, seen = ending.late, ending
        ending = TIMED_OUT if late else ending
        if ending.kind == "returned":
            return (yield from self._returned(ending.value, call_id, arguments))
        if ending.kind == "refused":
            return (yield from self._refused(ending, call_id))
        if ending.kind == "broken":
            message = _told(ending.error)
            return (yield from self._broken_reply(message, call_id))
        if ending.error is not None:
            self._trail.fault("invoke", ending.error)
            why = "it ended in an unexpected error"
        else:
            why = "it did not end within its time limit"
            self._trail.noted("invoke", "timed_out")
        result = yield from self._unseen(why, call_id, running=ending is TIMED_OUT and not late)
        if late:
            yield Block(self.late, (seen,))
        if isinstance(ending.error, KeyboardInterrupt | SystemExit):
            raise ending.error
        return result

    def lost(self, call_id: str | None, *, running: bool) -> Steps[ToolResult]:
        """The caller, or this layer, stops while the handler may be at work or after it was."""
        if self._settled is not None:
            return self._result(self._settled, call_id)
        return (yield from self._unseen("it was interrupted", call_id, running=running))

    def _unseen(self, why: str, call_id: str | None, *, running: bool) -> Steps[ToolResult]:
        """Nobody knows the end: harmless for a read, not for a write."""
        outcome: Outcome = "failed" if self._tool.effect == "read" else "uncertain"
        message = why if outcome == "failed" else f"whether it happened is not known: {why}"
        yield from self._record(outcome, message=message, running=running)
        return self._result(outcome, call_id, message=message)

    def _broken_reply(self, message: str, call_id: str | None) -> Steps[ToolResult]:
        """Executed, and the reply is nothing that could be kept."""
        yield from self._record("invalid_result", message=message, details={"boundary": "result"})
        return self._result("invalid_result", call_id, boundary="result", message=message)

    def _refused(self, ending: Ending, call_id: str | None) -> Steps[ToolResult]:
        """The handler promises that nothing has changed."""
        assert isinstance(ending.error, ToolError)
        message, told = _told(ending.error.message), ending.error.details
        try:
            told = plain(told)
        except Exception as error:
            self._trail.fault("invoke", error)
            told = None
        details = None if told is None else {"details": told}
        yield from self._record("failed", message=message, details=details)
        return self._result("failed", call_id, message=message, details=told)

    def _returned(self, value: Any, call_id: str | None, arguments: Any) -> Steps[ToolResult]:
        outcome: Outcome = "completed"
        reference = None
        if isinstance(value, Accepted):
            outcome, reference, value = "accepted", value.reference, value.value
        try:
            value = plain(value)
            stored = yield from self._stored(value)
        except Exception as error:  # no JSON, endless, or too large for the store
            self._trail.fault("result", error)
            too_large = isinstance(error, ResultStoreError)
            message = "the result cannot be kept" if too_large else "the result is no JSON data"
            return (yield from self._broken_reply(message, call_id))
        shown = value if stored is None else None
        details = None if stored is None else {"stored": stored.to_dict()}
        yield from self._record(outcome, shown, reference=reference, details=details)
        more = {"value": shown, "stored": stored, "reference": reference}
        if outcome == "accepted":
            return self._result(outcome, call_id, **more)
        boundary, found = yield from self._contract_broken(value, arguments)
        if not found:
            return self._result(outcome, call_id, **more)
        message = "executed, but the result breaks its contract"
        yield from self._amend(shown, boundary, message, found, details)
        return self._result(
            "invalid_result", call_id, boundary=boundary, message=message, errors=found, **more
        )

    def _stored(self, value: Any) -> Steps[StoredResult | None]:
        """Where a large result went."""
        text = dumps(value)
        limit = self._tool.limits.result_bytes
        if limit is None or len(text.encode()) <= limit:
            return None
        options = (("principal", self._context.principal), ("text", text))
        stored: StoredResult = yield Block(self._parts.results.put, (value,), options)
        return stored

    def _contract_broken(
        self, value: Any, arguments: Any
    ) -> Steps[tuple[str, tuple[Violation, ...]]]:
        """What of the result's contract does not hold."""
        self._trail.returned(value, self._tool)
        found = self._misshapen(value)
        if found:
            return "result", tuple(found)
        for rule in self._tool.postconditions:
            found += yield from self._rules.violations(
                "postcondition", (rule,), arguments, plain(value)
            )
        return "postcondition", tuple(found)

    def _misshapen(self, value: Any) -> list[Violation]:
        try:
            validator = self._tool.result_validator
            return [] if validator is None else list(validator.validate(value))
        except Exception as error:
            self._trail.fault("result", error)
            return [Violation("", "schema", "the result could not be checked", boundary="result")]

    # ---- the record

    def _record(
        self,
        outcome: Outcome,
        value: Any = None,
        *,
        message: str | None = None,
        reference: str | None = None,
        details: Any = None,
        running: bool = False,
    ) -> Steps[None]:
        """Records *outcome*, where there is a record. A record that fails is told, not raised."""
        self.passed_point("before_outcome")
        if self._ledger is not None and self._begun is not None:
            options = (
                ("message", message),
                ("reference", reference),
                ("details", details),
                ("running", running),
            )
            try:
                yield Block(self._ledger.finish, (self._begun, outcome, value), options)
            except Exception as error:
                self._trail.fault("record", error)
        self._settled = outcome
        self.passed_point("after_outcome")

    def _amend(
        self,
        value: Any,
        boundary: str,
        message: str,
        found: tuple[Violation, ...],
        details: Mapping[str, Any] | None,
    ) -> Steps[None]:
        """What was recorded as completed turned out to break its contract."""
        self._settled = "invalid_result"
        if self._ledger is None or self._begun is None:
            return
        told = {"boundary": boundary, "errors": [one.to_dict() for one in found], **(details or {})}
        arguments = (self._begun, "invalid_result", value)
        options = (("message", message), ("details", told))
        try:
            yield Block(self._ledger.amend, arguments, options)
        except Exception as error:
            self._trail.fault("record", error)

    def _result(self, outcome: Outcome, call_id: str | None, **more: Any) -> ToolResult:
        return ToolResult(outcome, call_id, self._tool.name, entry_id=self.entry_id, **more)

    # ---- what the ledger knew already

    def answer(self, found: LookUp, call_id: str | None) -> ToolResult:
        """The result of a call that the ledger says must not be executed."""
        entry = found.entry
        unresolved = found.kind == "expired" and entry is not None and entry.outcome == "uncertain"
        if found.kind == "recorded" and entry is not None and entry.outcome is not None:
            return self._replayed(entry, call_id)
        entry_id = None if entry is None else entry.id
        if found.kind == "uncertain" or unresolved:
            return ToolResult(
                "uncertain",
                call_id,
                self._tool.name,
                message=found.message or "whether it happened is not known; nothing was sent again",
                replayed=True,
                entry_id=entry_id,
            )
        return ToolResult(
            "rejected",
            call_id,
            self._tool.name,
            boundary="ledger",
            message=found.message or _REASONS.get(found.kind, "the ledger forbids it"),
            entry_id=entry_id,
        )

    def _replayed(self, entry: Any, call_id: str | None) -> ToolResult:
        """The recorded outcome; a value that breaks the contract is not completed."""
        told = entry.details if isinstance(entry.details, Mapping) else {}
        outcome: Outcome = entry.outcome
        boundary, errors = told.get("boundary"), _violations(told.get("errors"))
        stored = _stored_result(told.get("stored"))
        if outcome == "completed" and stored is None and entry.value_kept:
            errors = tuple(self._misshapen(entry.value))
            if errors:
                outcome, boundary = "invalid_result", "result"
        message = entry.message or ""
        if stored is None and not entry.value_kept:  # or no value would read as the value null
            message = f"{message}; {_NOT_KEPT}" if message else _NOT_KEPT
        return ToolResult(
            outcome,
            call_id,
            self._tool.name,
            value=entry.value,
            errors=errors,
            boundary=boundary,
            message=message,
            reference=entry.reference,
            stored=stored,
            replayed=True,
            entry_id=entry.id,
            details=told.get("details"),
        )


_NOT_KEPT = "its result is not on record, and not shown"
_REASONS = {
    "in_progress": "the same operation is in progress; this call executed nothing",
    "changed_arguments": "this operation was begun with other arguments",
    "suspected_duplicate": "an equal call was made shortly before; if both are meant, say so",
    "expired": "the time in which this operation could be repeated is over",
}


def _evidence(ending: Ending) -> tuple[Any, Any, Any]:
    """Outcome, value and details of an ending that came late."""
    if ending.kind == "returned":
        value, outcome, details = ending.value, "completed", None
        if isinstance(value, Accepted):
            outcome, details, value = "accepted", {"reference": value.reference}, value.value
        try:
            return outcome, plain(value), details
        except Exception:
            return "invalid_result", None, details
    if ending.kind == "refused":
        return "failed", None, {"message": _told(ending.error)}
    return ("invalid_result" if ending.kind == "broken" else "uncertain"), None, None


def _violations(told: Any) -> tuple[Violation, ...]:
    """Violations as they were recorded."""
    found = []
    for one in told if isinstance(told, list) else []:
        if isinstance(one, Mapping) and {"pointer", "rule", "expected"} <= one.keys():
            found.append(Violation(**{name: one[name] for name in _ATTRIBUTES if name in one}))
    return tuple(found)


def _stored_result(told: Any) -> StoredResult | None:
    return StoredResult.from_dict(told) if isinstance(told, Mapping) else None


def _told(words: Any) -> str:
    """A handler's own words: valid text of bounded length. What they are changes no outcome."""
    try:
        text = str(words).encode("utf-8", "replace").decode()
    except Exception:
        return f"its message, of type {type(words).__name__}, cannot be written"
    return text if len(text) <= _LONGEST_MESSAGE else text[: _LONGEST_MESSAGE - 1] + "…"
