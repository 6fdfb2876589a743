"""Repair: what was refused for its data goes back with every error, and comes again corrected.

::

    dispatch ─ completed, failed, accepted, invalid_result, uncertain ──────────► end
       ▲  └─── rejected ─ by authorise, approval, ledger, precondition, ... ────► end
       │                ─ by name, parse, schema, domain: fixer(errors, call)
       │                    ├─ raises, gives up, is late, returns no call ──────► end
       └── a correction ◄───┴─ changes what no error named, or a marked fact: refused

Repair changes data and nothing else. Each correction is a new call that passes every check from the
start, under the same trusted context: it cannot permit itself anything, an approval of other
arguments does not cover it, and nothing follows a call that may have had an effect. A precondition
is no fault in the data either: another revision number would overwrite what somebody else wrote.

A fixer's reply is an untrusted message, read as strictly as the first one. Its id does not count:
the result must carry the first call's.

What one run does is written once, as a generator of steps; two drivers perform them, in the
calling thread and on an event loop. A run is used by one caller; :func:`run_with_repair` may be
called from any thread. Cost beside the dispatches and the fixer: linear in the arguments.
Tested by tests/test_tools_repair.py and test_tools_cases_repair.py.
"""

from __future__ import annotations

import asyncio
import contextvars
import inspect
import logging
import math
import threading
from collections.abc import Callable, Generator, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal, cast

from ..errors import NotJsonError, ToolCallError
from .call import BrokenCall, ToolCall, broken, parse_tool_call
from .changes import NAME, Changes, Facts, changes_of
from .context import Context
from .events import Trail
from .handler import is_async
from .json_text import plain_json
from .outcome import ToolResult
from .violation import Violation

if TYPE_CHECKING:
    from .dispatch import Dispatcher

__all__ = ["RepairAttempt", "RepairOutcome", "run_with_repair", "run_with_repair_async"]

End = Literal[
    "completed",
    "failed",
    "accepted",
    "invalid_result",
    "uncertain",
    "refused",
    "max_repairs",
    "max_seconds",
    "collateral",
    "evidence",
    "no_correction",
    "fixer_error",
    "fixer_reply",
]

#: The boundaries whose refusals other data can answer.
_ABOUT_DATA = frozenset(("name", "parse", "schema", "domain", "evidence"))
_EXHAUSTED = frozenset(("max_repairs", "max_seconds", "collateral", "evidence"))

Fixer = Callable[..., Any]


@dataclass(frozen=True)
class RepairAttempt:
    """One call of a run: the original, or what a fixer made of it.

    Attributes:
        call: The call; None where a fixer's reply was none.
        result: What the dispatcher said; None where it was not asked.
        changes: What was changed of the call that it corrects, named and collateral.
        refused: Why it was not dispatched: ``"collateral"``, ``"evidence"``, ``"fixer_reply"``,
            ``"max_seconds"``; None otherwise.
        evidence_broken: The marked facts that it changed.
        message: One line about *refused*.
    """

    call: ToolCall | BrokenCall | None
    result: ToolResult | None = None
    changes: Changes = field(default_factory=Changes)
    refused: str | None = None
    evidence_broken: tuple[str, ...] = ()
    message: str = ""

    @property
    def errors(self) -> tuple[Violation, ...]:
        """What the dispatcher found wrong with it."""
        return self.result.errors if self.result is not None else ()


@dataclass(frozen=True)
class RepairOutcome:
    """How a call ended that could be repaired.

    Attributes:
        result: The last answer of the dispatcher: the outcome of the whole.
        original: The call as it was given.
        attempts: The original and each correction, in order, refused ones included.
        end: Why it ended. One of the outcomes that nothing follows (``"completed"``, ``"failed"``,
            ``"accepted"``, ``"invalid_result"``, ``"uncertain"``); ``"refused"``, rejected for
            something else than its data; ``"max_repairs"`` or ``"max_seconds"``, still rejected;
            ``"collateral"`` or ``"evidence"``, as ``"max_repairs"``, and the last correction was
            refused for that; ``"no_correction"``, the fixer gave up; ``"fixer_error"``, it raised;
            ``"fixer_reply"``, what it returned is no complete tool call.
        message: One line about the end. Never the text of an exception.
    """

    result: ToolResult
    original: Any
    attempts: tuple[RepairAttempt, ...]
    end: End
    message: str

    @property
    def ok(self) -> bool:
        """Whether the call, as it was given or corrected, was executed and kept its contract."""
        return self.result.ok

    @property
    def repairs_used(self) -> int:
        """How many corrections there were, refused ones included."""
        return sum(attempt.call is not None for attempt in self.attempts[1:])

    @property
    def exhausted(self) -> bool:
        """Whether rounds or time ran out."""
        return self.end in _EXHAUSTED

    @property
    def changed(self) -> tuple[str, ...]:
        """All fields that some correction changed, sorted."""
        return _union(attempt.changes.changed for attempt in self.attempts)

    @property
    def collateral(self) -> tuple[str, ...]:
        """Those that a correction changed though no error had named them, sorted."""
        return _union(attempt.changes.collateral for attempt in self.attempts)

    @property
    def evidence_broken(self) -> tuple[str, ...]:
        """The marked facts that some attempt contradicted, sorted."""
        return _union(attempt.evidence_broken for attempt in self.attempts)


def _union(parts: Iterable[tuple[str, ...]]) -> tuple[str, ...]:
    return tuple(sorted({field for part in parts for field in part}))


def run_with_repair(
    fixer: Fixer,
    dispatcher: Dispatcher,
    call: Any,
    context: Context | None = None,
    *,
    max_repairs: int = 3,
    max_seconds: float | None = None,
    collateral: Literal["report", "reject"] = "report",
    evidence: Iterable[str] | Mapping[str, Any] = (),
) -> RepairOutcome:
    """Dispatch *call*; while it is rejected for its data, have *fixer* correct it.

    Args:
        fixer: ``fixer(errors, call)`` or ``fixer(errors, call, history)``: gets all violations, the
            call, and the attempts so far; returns the corrected call (a :class:`ToolCall`, or text
            or an object that is one) or None if it knows none. A third parameter gets the history
            if it has no default, or is named ``history``.
        dispatcher: Executes what passes.
        call: A :class:`ToolCall` or :class:`BrokenCall`; text or an object is read as one.
        context: Who acts; the same for every attempt.
        max_repairs: How many corrections there may be, refused ones included.
        max_seconds: For how long corrections are asked for, at most until the context's deadline.
            A fixer that takes longer is left alone in its thread, and its reply is dropped. A
            handler that was begun in time has its own limits.
        collateral: ``"reject"``: a correction that changes what no error named is not dispatched;
            the fixer is told and asked again. ``"report"``: it is only recorded.
        evidence: Facts that may not change: JSON pointers into the original arguments (or
            ``"name"``), or a mapping of such to the values that the caller vouches for. A call
            that contradicts one is not dispatched. Numbers are equal to their numerals, other
            texts only to themselves.

    Returns:
        Always; nothing that a model, a fixer or a tool does raises here, but for
        ``KeyboardInterrupt`` and ``SystemExit``.

    Raises:
        TypeError, ValueError: An argument of the application's is of no use; nothing was executed.
    """
    run = _Run(fixer, dispatcher, call, context, max_repairs, max_seconds, collateral, evidence)
    steps = run.steps()
    answer: Any = None
    while True:
        try:
            step = steps.send(answer)
        except StopIteration as stop:
            outcome: RepairOutcome = stop.value
            return outcome
        if isinstance(step, _Dispatch):
            answer = dispatcher.dispatch(step.call, context)
        else:
            answer = step.asked()


async def run_with_repair_async(
    fixer: Fixer,
    dispatcher: Dispatcher,
    call: Any,
    context: Context | None = None,
    *,
    max_repairs: int = 3,
    max_seconds: float | None = None,
    collateral: Literal["report", "reject"] = "report",
    evidence: Iterable[str] | Mapping[str, Any] = (),
) -> RepairOutcome:
    """As :func:`run_with_repair`, on the caller's event loop.

    *fixer* may be a coroutine function, which is cancelled when its time is over; an ordinary one
    runs in a thread. The caller's own cancellation is let through.
    """
    run = _Run(fixer, dispatcher, call, context, max_repairs, max_seconds, collateral, evidence)
    steps = run.steps()
    answer: Any = None
    while True:
        try:
            step = steps.send(answer)
        except StopIteration as stop:
            outcome: RepairOutcome = stop.value
            return outcome
        if isinstance(step, _Dispatch):
            answer = await dispatcher.dispatch_async(step.call, context)
        else:
            answer = await step.asked_later()


# ---- steps


@dataclass(frozen=True)
class _Dispatch:
    """Dispatch a call."""

    call: ToolCall | BrokenCall


@dataclass(frozen=True)
class _Reply:
    """What a fixer answered: a value, an exception, or nothing in time."""

    value: Any = None
    error: BaseException | None = None
    late: bool = False


@dataclass(frozen=True)
class _Ask:
    """Ask a fixer for a correction, within *seconds* if given."""

    fixer: Fixer
    arguments: tuple[Any, ...]
    seconds: float | None

    def asked(self) -> _Reply:
        """The reply, in this thread, or in one that can be left if there is a limit."""
        if self.seconds is None:
            return self._called()
        replies: list[_Reply] = []
        done = threading.Event()
        variables = contextvars.copy_context()

        def work() -> None:
            try:
                replies.append(variables.run(self._called, alone=True))
            finally:
                done.set()

        threading.Thread(target=work, name="gramlock-fixer", daemon=True).start()
        done.wait(self.seconds)
        reply = replies[0] if replies else _Reply(late=True)
        if isinstance(reply.error, KeyboardInterrupt | SystemExit):
            raise reply.error
        return reply

    def _called(self, *, alone: bool = False) -> _Reply:
        try:
            return _Reply(self.fixer(*self.arguments))
        except (KeyboardInterrupt, SystemExit) as error:
            if alone:
                return _Reply(error=error)
            raise
        except BaseException as error:
            return _Reply(error=error)

    async def asked_later(self) -> _Reply:
        """The reply; a coroutine is awaited here, a function called in a thread of its own."""
        loop = asyncio.get_running_loop()
        if is_async(self.fixer):
            task = asyncio.ensure_future(self._awaited(self.fixer(*self.arguments)))
        else:
            future: asyncio.Future[_Reply] = loop.create_future()
            variables = contextvars.copy_context()

            def work() -> None:
                reply = variables.run(self._called, alone=True)
                try:
                    loop.call_soon_threadsafe(_settle, future, reply)
                except RuntimeError:  # the loop is closed: nobody waits for the reply
                    return

            threading.Thread(target=work, name="gramlock-fixer", daemon=True).start()
            task = asyncio.ensure_future(self._shielded(future))
        try:
            done, _ = await asyncio.wait({task}, timeout=self.seconds)
        except asyncio.CancelledError:
            task.cancel()
            raise
        if not done:
            task.cancel()
            return _Reply(late=True)
        if task.cancelled():
            return _Reply(error=asyncio.CancelledError())
        reply = task.result()
        if isinstance(reply.error, KeyboardInterrupt | SystemExit):
            raise reply.error
        return reply

    async def _awaited(self, coroutine: Any) -> _Reply:
        try:
            return _Reply(await coroutine)
        except (KeyboardInterrupt, SystemExit, asyncio.CancelledError):
            raise
        except BaseException as error:
            return _Reply(error=error)

    async def _shielded(self, future: asyncio.Future[_Reply]) -> _Reply:
        reply = await future
        if inspect.isawaitable(reply.value):  # a function that returns a coroutine
            return await self._awaited(reply.value)
        return reply


def _settle(future: asyncio.Future[_Reply], reply: _Reply) -> None:
    if not future.done():
        future.set_result(reply)


def takes_history(fixer: Fixer) -> bool:
    """Whether a fixer wants the attempts so far.

    Raises:
        TypeError: It can be called neither with two arguments nor with three.
    """
    try:
        signature = inspect.signature(fixer)
    except ValueError:  # a builtin that does not tell
        return False
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    places = [p for p in signature.parameters.values() if p.kind in kinds]
    wants = len(places) > 2 and (
        places[2].default is inspect.Parameter.empty or places[2].name == "history"
    )
    try:
        signature.bind(*range(3 if wants else 2))
    except TypeError:
        raise TypeError(
            "a fixer is called with (errors, call) or (errors, call, history)"
        ) from None
    return wants


# ---- the run


class _Run:
    """One run: its attempts, and the call that would be corrected next."""

    def __init__(
        self,
        fixer: Fixer,
        dispatcher: Dispatcher,
        call: Any,
        context: Context | None,
        max_repairs: int,
        max_seconds: float | None,
        collateral: str,
        evidence: Iterable[str] | Mapping[str, Any],
    ) -> None:
        _check_bounds(max_repairs, max_seconds, collateral)
        if not callable(fixer):
            raise TypeError(f"a fixer is called; {type(fixer).__name__} cannot be")
        self._fixer, self._with_history = fixer, takes_history(fixer)
        self._tools, self._original = dispatcher.tools, call
        self._max_repairs, self._strict = max_repairs, collateral == "reject"
        self._call, self._arguments = _snapshot(call)
        self._facts = Facts(evidence, self._call.name, self._arguments)
        context = context or Context()
        if max_seconds is not None:
            context = context.within(max_seconds)
        self._left = context.seconds_left
        self._trail = Trail(self._call.name, self._call.id, context.principal, span=False)
        self._attempts: list[RepairAttempt] = []
        self._shown: list[RepairAttempt] = []  # the same for the fixer, which may write into it
        self._result = ToolResult("rejected", self._call.id, self._call.name)
        self._complaints: tuple[Violation, ...] = ()  # about the last correction, refused here

    def steps(self) -> Generator[_Dispatch | _Ask, Any, RepairOutcome]:
        """The whole."""
        yield from self._first()
        while True:
            end = self._end()
            if end is not None:
                return self._outcome(*end)
            asked = _Ask(self._fixer, self._for_fixer(), self._left())
            end = yield from self._corrected((yield asked))
            if end is not None:
                return self._outcome(*end)

    def _first(self) -> Generator[_Dispatch, Any, None]:
        wrong = self._facts.contradicted(self._call.name, self._arguments)
        if wrong:
            self._result = self._contradicts(wrong)
            attempt = RepairAttempt(
                self._call, None, refused="evidence", evidence_broken=wrong, message=_CONTRADICTS
            )
        else:
            self._result = yield _Dispatch(self._call)
            attempt = RepairAttempt(self._call, self._result)
        self._keep(attempt)

    def _contradicts(self, wrong: tuple[str, ...]) -> ToolResult:
        return ToolResult(
            "rejected",
            self._call.id,
            self._call.name,
            errors=tuple(_about(field, "evidence", _FACT) for field in wrong),
            boundary="evidence",
            message=_CONTRADICTS,
        )

    def _end(self) -> tuple[End, str] | None:
        """Why nothing may follow the last answer, if so."""
        result = self._result
        if result.outcome != "rejected":
            return cast("End", result.outcome), result.message
        if result.boundary not in _ABOUT_DATA:
            return "refused", f"no other data can answer a refusal by {result.boundary!r}"
        if len(self._attempts) > self._max_repairs:
            refused = self._attempts[-1].refused
            if refused == "collateral":
                return "collateral", "the last correction changed what no error had named"
            if refused == "evidence":
                return "evidence", "no correction was found that leaves the evidence as it is"
            return "max_repairs", f"still rejected after {self._max_repairs} corrections"
        left = self._left()
        if left is not None and left <= 0:
            return "max_seconds", "the time for corrections is over"
        return None

    # ---- one round

    def _errors(self) -> tuple[Violation, ...]:
        """What was wrong with the call; a refusal that lists nothing is one error itself."""
        result = self._result
        if result.errors:
            return result.errors
        about_name = result.boundary == NAME
        return (
            Violation(
                "",
                result.boundary or "rejected",
                result.message or "rejected",
                path=NAME if about_name else "",
                boundary=result.boundary or "rejected",
            ),
        )

    def _for_fixer(self) -> tuple[Any, ...]:
        errors = self._errors() + self._complaints
        call = _copied(self._call)
        return (errors, call, tuple(self._shown)) if self._with_history else (errors, call)

    def _corrected(self, reply: _Reply) -> Generator[_Dispatch, Any, tuple[End, str] | None]:
        """Take a fixer's reply as the next attempt, or say why the run ends."""
        if reply.late:
            return "max_seconds", "the fixer took more than the time for corrections"
        if reply.error is not None:
            self._speaks()
            self._trail.fault("repair", reply.error)
            return "fixer_error", f"the fixer raised {type(reply.error).__name__}"
        if reply.value is None:
            return "no_correction", "the fixer knows no correction"
        try:
            call = _read(reply.value, self._call.id)
            changes = self._changes(call)
            broken_facts = self._facts.broken(self._part(), (call.name, call.arguments))
        except ToolCallError as error:
            return self._unreadable(str(error))
        except Exception as error:  # a value that cannot be trusted
            self._trail.fault("repair", error)
            return self._unreadable("it cannot be read")
        attempt = RepairAttempt(call, None, changes, evidence_broken=broken_facts)
        left = self._left()
        if left is not None and left <= 0:
            self._refuse(attempt, "max_seconds", "it came too late")
            return "max_seconds", "the time for corrections is over"
        if broken_facts:
            self._refuse(attempt, "evidence", "it changes a fact that is marked")
        elif changes.collateral and self._strict:
            self._refuse(attempt, "collateral", "it changes what no error had named")
        else:
            self._call, self._arguments, self._complaints = call, call.arguments, ()
            self._result = yield _Dispatch(call)
            self._keep(RepairAttempt(call, self._result, changes))
        return None

    def _part(self) -> tuple[str | None, Any]:
        return self._call.name, self._arguments

    def _changes(self, call: ToolCall) -> Changes:
        return changes_of(
            self._part(),
            (call.name, call.arguments),
            self._errors(),
            name_unread=isinstance(self._call, BrokenCall) and self._call.layer == NAME,
        )

    def _unreadable(self, message: str) -> tuple[End, str]:
        message = f"the fixer's reply is no complete tool call: {message}"
        self._keep(RepairAttempt(None, refused="fixer_reply", message=message))
        return "fixer_reply", message

    def _refuse(self, attempt: RepairAttempt, reason: str, message: str) -> None:
        fields: tuple[str, ...] = ()
        if reason == "evidence":
            fields, rule, expected = attempt.evidence_broken, "evidence", _FACT
        elif reason == "collateral":
            fields, rule, expected = attempt.changes.collateral, "collateral", _UNTOUCHED
        self._complaints = tuple(_about(field, rule, expected) for field in fields[:_COMPLAINTS])
        self._keep(
            RepairAttempt(
                attempt.call, None, attempt.changes, reason, attempt.evidence_broken, message
            )
        )

    # ---- the record

    def _keep(self, attempt: RepairAttempt) -> None:
        self._attempts.append(attempt)
        if self._with_history:
            self._shown.append(replace(attempt, call=_copied(attempt.call)))
        if len(self._attempts) > 1:
            changes = attempt.changes
            self._trail.noted(
                "repair",
                attempt.refused or "corrected",
                level=logging.INFO,
                round=len(self._attempts) - 1,
                changed=list(changes.changed[:_COMPLAINTS]),
                collateral=list(changes.collateral[:_COMPLAINTS]),
                evidence_broken=list(attempt.evidence_broken),
            )

    def _speaks(self) -> None:
        tool = self._tools.get(self._call.name)
        if tool is not None and self._arguments is not None:
            self._trail.speaks_of(self._arguments, tool)

    def _outcome(self, end: End, message: str) -> RepairOutcome:
        return RepairOutcome(self._result, self._original, tuple(self._attempts), end, message)


_COMPLAINTS = 50
_CONTRADICTS = "the call contradicts a fact that is marked"
_FACT = "should say what the marked evidence says"
_UNTOUCHED = "should stay as it was: no error named it"


def _about(field: str, rule: str, expected: str) -> Violation:
    if field == NAME:
        return Violation("", rule, expected, path=NAME, boundary=NAME)
    return Violation(field, rule, expected, boundary="evidence" if rule == "evidence" else "repair")


def _check_bounds(max_repairs: int, max_seconds: float | None, collateral: str) -> None:
    if isinstance(max_repairs, bool) or not isinstance(max_repairs, int) or max_repairs < 0:
        raise ValueError(f"max_repairs is a number of corrections, 0 or more, not {max_repairs!r}")
    if max_seconds is not None and not (
        isinstance(max_seconds, int | float)
        and not isinstance(max_seconds, bool)
        and 0 < max_seconds < math.inf
    ):
        raise ValueError(f"max_seconds is a positive number or None, not {max_seconds!r}")
    if collateral not in ("report", "reject"):
        raise ValueError(f"collateral is 'report' or 'reject', not {collateral!r}")


def _snapshot(call: Any) -> tuple[ToolCall | BrokenCall, Any]:
    """A copy of the call of our own, and of its arguments if they can be read, else None."""
    if not isinstance(call, ToolCall | BrokenCall):
        try:
            call = parse_tool_call(call)
        except ToolCallError as error:
            call = broken(call, error, "complete")
        except Exception:
            call = BrokenCall(None, None, "call", "it cannot be read")
    if isinstance(call, BrokenCall):
        return call, None
    name, call_id = _text_or_none(call.name), _text_or_none(call.id)
    try:
        arguments = plain_json(call.arguments)
    except Exception:  # no JSON, or deeper than the stack
        arguments = None
    if name is None or not isinstance(arguments, dict):
        layer: Literal["name", "arguments"] = "name" if name is None else "arguments"
        return BrokenCall(call_id, name, layer, f"the {layer} cannot be read", call.status), None
    return ToolCall(name, arguments, call_id, call.status), arguments


def _text_or_none(value: Any) -> str | None:
    return value if isinstance(value, str) else None


def _copied(call: Any) -> Any:
    """A call whose arguments may be written into; without recursion."""
    if not isinstance(call, ToolCall):
        return call
    copied: dict[str, Any] = {}
    waiting: list[tuple[Any, Any]] = [(call.arguments, copied)]
    while waiting:
        value, made = waiting.pop()
        pairs = value.items() if isinstance(value, dict) else enumerate(value)
        for key, item in pairs:
            empty: Any = (
                {}
                if isinstance(item, dict)
                else [None] * len(item)
                if isinstance(item, list)
                else None
            )
            made[key] = item if empty is None else empty
            if empty is not None:
                waiting.append((item, empty))
    return replace(call, arguments=copied)


def _read(reply: Any, call_id: str | None) -> ToolCall:
    """The call that a fixer's reply is.

    Raises:
        ToolCallError: It is none, or one that was cut short.
        NotJsonError: Its arguments are no JSON.
    """
    if inspect.isawaitable(reply):
        close = getattr(reply, "close", None) or getattr(reply, "cancel", None)
        if callable(close):
            close()
        raise ToolCallError("a coroutine, which only run_with_repair_async awaits", "call")
    if isinstance(reply, BrokenCall):
        raise ToolCallError(reply.message, reply.layer)
    if not isinstance(reply, ToolCall):
        reply = parse_tool_call(reply)
    if reply.status != "complete":
        raise ToolCallError(f"its completion ended as {reply.status!r:.40}", "call")
    if not isinstance(reply.name, str) or not reply.name:
        raise ToolCallError("it has no name", "name")
    try:
        arguments = plain_json(reply.arguments)
    except NotJsonError as error:
        raise ToolCallError(str(error), "arguments") from None
    if not isinstance(arguments, dict):
        raise ToolCallError("the arguments are no object", "arguments")
    return ToolCall(reply.name, arguments, call_id)
