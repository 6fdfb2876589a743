"""Reconciliation: what became of writes whose outcome nobody recorded.

Each unresolved entry of the ledger is claimed, so that one process at a time works on it, and its
tool's status look-up is asked what the receiver knows of the operation. Nothing is ever sent again
from here. The answers and what they decide:

=====================================  =========================================================
the receiver's record says             the entry
=====================================  =========================================================
completed, same arguments              ``completed`` (``invalid_result`` if the value breaks the
                                       tool's result schema), without another mutation
failed, same arguments                 ``failed``
completed or failed, other arguments   stays: that record is about another operation
running                                stays: found is not completed
not found, and that is final           ``retry_allowed``, inside the receiver's window only
not found, or unknown                  stays
(a read) the wished-for state holds    stays: whoever made it so, it is weaker evidence
=====================================  =========================================================

A *late result*, which the handler itself returned after it had been given up, settles an entry
where the receiver has nothing better to say, and forbids a retry in any case. A look-up that
raises, answers with something else or cannot be called decides nothing.

Whether "final" is true only the receiver knows. If it is not (a stale replica), its recognition of
the repeated operation id is what keeps the effect single: docs/tools-ledger.md.

Safe to run in several processes at once. Cost: one look-up and two transactions an entry.
Tested by tests/test_tools_reconcile.py.
"""

from __future__ import annotations

import asyncio
import inspect
import logging
from collections.abc import Callable, Iterable, Iterator
from contextvars import copy_context
from dataclasses import dataclass
from functools import partial
from threading import Thread
from typing import TYPE_CHECKING, Any, Literal

from .handler import is_async
from .ledger_records import Claim, Entry, State
from .ledger_rows import EFFECT
from .tool import StatusReport, Tool

if TYPE_CHECKING:
    from .ledger import Ledger

__all__ = ["Reconciliation", "reconcile", "reconcile_async"]

_log = logging.getLogger("gramlock.tools")

Finding = Literal[
    "record",
    "late_result",
    "other_arguments",
    "running",
    "state",
    "not_found",
    "inconclusive",
    "lookup_failed",
    "no_lookup",
    "contradiction",
    "claimed",
]

_WORDS: dict[str, str] = {
    "record": "the receiver has it on record",
    "late_result": "the handler returned after it had been given up",
    "other_arguments": "the receiver's record is about other arguments",
    "running": "the receiver is still at it",
    "state": "the wished-for state holds, but nothing says that this operation brought it about",
    "not_found": "the receiver does not know it",
    "inconclusive": "the receiver cannot tell",
    "lookup_failed": "the status look-up failed",
    "no_lookup": "the tool has no status look-up",
    "contradiction": "the receiver does not know it, but an effect has been reported",
    "claimed": "another process reconciles it",
}


@dataclass(frozen=True)
class Reconciliation:
    """What became of one unresolved entry.

    Attributes:
        before: The entry as it was found.
        entry: As it stands now.
        finding: What was learnt: a row of the module's table, or why nothing was.
        message: The same in words.
    """

    before: Entry
    entry: Entry
    finding: Finding
    message: str

    @property
    def resolved(self) -> bool:
        """Whether the entry no longer waits for a look-up."""
        return not self.entry.unresolved

    def to_dict(self) -> dict[str, Any]:
        """As JSON members."""
        return {
            "entry": self.entry.to_dict(),
            "state_before": self.before.state,
            "finding": self.finding,
            "message": self.message,
            "resolved": self.resolved,
        }


@dataclass(frozen=True)
class _Decision:
    """What to write down: a new state or None, its result, what to note."""

    finding: Finding
    state: State | None = None
    value: Any = None
    reference: str | None = None
    details: Any = None
    value_kept: bool = True


def reconcile(
    ledger: Ledger,
    tools: Iterable[Tool],
    context: Any = None,
    *,
    entries: Iterable[str | Entry] | None = None,
    tool: str | None = None,
) -> list[Reconciliation]:
    """Ask the receivers about all unresolved writes, and record what follows.

    Args:
        ledger: Where they are recorded.
        tools: A tool set; entries of tools that are not among them stay as they are.
        context: What the look-ups are called with; by default a
            :class:`~gramlock.tools.context.Context` of the entry's own principal and operation id.
        entries: Only these, or those of these ids.
        tool: Only those of the tool of this name.

    Returns:
        One report for each entry that was unresolved, oldest first.

    Raises:
        LedgerError: The ledger cannot be read or written; entries done before are settled.

    Each look-up runs in a thread and gets the tool's time limit: one that passes it has failed. A
    look-up that is a coroutine function decides nothing here: use :func:`reconcile_async`.
    """
    done = []
    for work in _claimed(ledger, tools, entries, tool):
        if isinstance(work, Reconciliation):
            done.append(work)
            continue
        try:
            answer = _within(work.seconds, work.question(context))
        except BaseException:
            ledger.settle(work.claim, None)
            raise
        if inspect.isawaitable(answer):
            _discard(answer)
            answer = TypeError("a status look-up that is asynchronous")
        done.append(_conclude(ledger, work, answer))
    return done


async def reconcile_async(
    ledger: Ledger,
    tools: Iterable[Tool],
    context: Any = None,
    *,
    entries: Iterable[str | Entry] | None = None,
    tool: str | None = None,
) -> list[Reconciliation]:
    """As :func:`reconcile`, with look-ups that may be coroutine functions; one after the other.

    Coroutines are awaited on the caller's event loop, other look-ups run in threads. The ledger is
    used from the loop's thread: a transaction takes milliseconds.
    """
    done = []
    for work in _claimed(ledger, tools, entries, tool):
        if isinstance(work, Reconciliation):
            done.append(work)
            continue
        try:
            answer = await _within_async(work.seconds, work.question(context), work.is_async)
        except BaseException:
            ledger.settle(work.claim, None)
            raise
        done.append(_conclude(ledger, work, answer))
    return done


Question = Callable[[], Any]


@dataclass(frozen=True)
class _Work:
    """An entry that is ours for now, and its tool."""

    before: Entry
    claim: Claim
    tool: Tool | None

    @property
    def seconds(self) -> float | None:
        """The time that the look-up gets."""
        return None if self.tool is None else self.tool.limits.seconds

    @property
    def is_async(self) -> bool:
        """Whether the look-up is a coroutine function."""
        return self.tool is not None and is_async(self.tool.status_lookup)

    def question(self, context: Any) -> Question:
        """The look-up with its arguments; None where the tool has none."""
        entry = self.claim.entry
        lookup = None if self.tool is None else self.tool.status_lookup
        if lookup is None:
            return lambda: None
        if context is None:
            from .context import Context

            key = entry.key
            context = Context(principal=key.principal, operation_id=key.operation_id)
        return partial(lookup, entry, context)


def _claimed(
    ledger: Ledger,
    tools: Iterable[Tool],
    entries: Iterable[str | Entry] | None,
    tool: str | None,
) -> Iterator[_Work | Reconciliation]:
    """The unresolved entries, each claimed when its turn comes."""
    wanted = None
    if entries is not None:
        entries = [entries] if isinstance(entries, str) else entries
        wanted = {one if isinstance(one, str) else one.id for one in entries}
    by_name = {each.name: each for each in tools}
    for entry in ledger.unresolved(tool=tool):
        if wanted is not None and entry.id not in wanted:
            continue
        its_tool = by_name.get(entry.key.tool)
        limit = None if its_tool is None else its_tool.limits.seconds
        claim = ledger.claim(entry.id, ledger.lease + (limit or 0.0))
        if claim is None:
            now = ledger.get(entry.id) or entry
            yield Reconciliation(entry, now, "claimed", _WORDS["claimed"])
        else:
            yield _Work(entry, claim, its_tool)


def _within(seconds: float | None, question: Question) -> Any:
    """The answer, or the error that it raised; a TimeoutError after so many seconds."""
    answers: list[tuple[Any, BaseException | None]] = []

    def ask() -> None:
        try:
            answers.append((question(), None))
        except BaseException as error:
            answers.append((None, error))

    if seconds is None:
        ask()
    else:
        context = copy_context()
        thread = Thread(target=context.run, args=(ask,), name="status look-up", daemon=True)
        thread.start()
        thread.join(seconds)
    if not answers:
        return TimeoutError()
    answer, error = answers[0]
    if error is not None and not isinstance(error, Exception):
        raise error
    return answer if error is None else error


async def _within_async(seconds: float | None, question: Question, on_loop: bool) -> Any:
    """As :func:`_within`, without blocking the event loop."""
    try:
        answer = question() if on_loop else await _in_thread(seconds, question)
        if not inspect.isawaitable(answer):
            return answer
        task = asyncio.ensure_future(answer)
    except Exception as error:
        return error
    try:
        done, _ = await asyncio.wait({task}, timeout=seconds)
    finally:
        task.cancel()  # nothing, where it is done
    if not done:
        return TimeoutError()
    if task.cancelled():
        return RuntimeError("the look-up was cancelled")
    raised = task.exception()
    if raised is not None and not isinstance(raised, Exception):
        raise raised
    return task.result() if raised is None else raised


async def _in_thread(seconds: float | None, question: Question) -> Any:
    """The answer of a look-up that may block."""
    run = partial(copy_context().run, _within, seconds, question)
    future = asyncio.get_running_loop().run_in_executor(None, run)
    try:
        return await asyncio.shield(future)
    except asyncio.CancelledError:
        future.add_done_callback(_discard_answer)
        raise


def _discard_answer(future: asyncio.Future[Any]) -> None:
    if not future.cancelled() and future.exception() is None:
        _discard(future.result())


def _discard(answer: Any) -> None:
    """Close a coroutine that nobody will await, so that it does not warn."""
    if inspect.iscoroutine(answer):
        answer.close()


def _conclude(ledger: Ledger, work: _Work, answer: Any) -> Reconciliation:
    """Decide, write it down, and report it."""
    entry = work.claim.entry
    decision = _decide(entry, work.tool, answer)
    noted: list[tuple[str, Any]] = [(decision.finding, _noted(answer))]
    after = ledger.settle(
        work.claim,
        decision.state,
        decision.value,
        message=f"reconciled: {_WORDS[decision.finding]}",
        reference=decision.reference,
        details=decision.details,
        value_kept=decision.value_kept,
        evidence=noted,
    )
    if after is None:  # the look-up outlived the claim
        current = ledger.get(entry.id) or entry
        return Reconciliation(work.before, current, "claimed", _WORDS["claimed"])
    return Reconciliation(work.before, after, decision.finding, _words(decision, after))


def _words(decision: _Decision, after: Entry) -> str:
    if decision.state == "retry_allowed" and after.state != "retry_allowed":
        return f"{_WORDS['not_found']}, but its window is over: nothing is sent again"
    return _WORDS[decision.finding]


def _noted(answer: Any) -> Any:
    """What the evidence keeps of an answer: never values or texts of errors."""
    if isinstance(answer, StatusReport):
        return {
            "state": answer.state,
            "final": answer.final,
            "evidence": answer.evidence,
            "arguments_digest": answer.arguments_digest,
            "reference": answer.reference,
        }
    if isinstance(answer, Exception):
        _log.warning("status look-up failed: %s", type(answer).__name__)
        return {"error": type(answer).__name__}
    return None if answer is None else {"answer": type(answer).__name__}


def _decide(entry: Entry, tool: Tool | None, answer: Any) -> _Decision:
    """The module's table."""
    late = _late_result(entry)
    if answer is None and (tool is None or tool.status_lookup is None):
        return _from_late(late, entry, tool, "no_lookup")
    if not isinstance(answer, StatusReport):
        return _from_late(late, entry, tool, "lookup_failed")
    if answer.arguments_digest is not None and answer.arguments_digest != entry.digest:
        return _Decision("other_arguments")
    if answer.evidence == "state":
        return _from_late(late, entry, tool, "state")
    if answer.state == "running":
        return _Decision("running")
    if answer.state == "completed":
        return _completed("record", answer.value, answer.reference, tool)
    if answer.state == "failed" or (answer.state == "not_found" and answer.final is True):
        if entry.state == "accepted" and answer.state == "not_found":
            return _Decision("contradiction")
        if late is not None and late.get("outcome") in EFFECT:
            return _Decision("contradiction")
        if answer.state == "failed":
            return _Decision("record", "failed", reference=answer.reference)
        return _Decision("not_found", "retry_allowed")
    finding: Finding = "not_found" if answer.state == "not_found" else "inconclusive"
    return _from_late(late, entry, tool, finding)


def _late_result(entry: Entry) -> dict[str, Any] | None:
    """The newest thing that a handler brought after it had been given up, of any attempt."""
    for each in reversed(entry.evidence):
        if each.kind == "late_result" and isinstance(each.data, dict):
            return each.data
    return None


def _from_late(
    late: dict[str, Any] | None, entry: Entry, tool: Tool | None, otherwise: Finding
) -> _Decision:
    """Settled by the handler's own late word about this attempt, if there is one."""
    if late is None or late.get("attempt") != entry.attempt or entry.state == "accepted":
        return _Decision(otherwise)
    outcome, kept = late.get("outcome"), late.get("value_kept") is not False
    value = late.get("value")
    if outcome == "completed":
        return _completed("late_result", value, None, tool, kept)
    if outcome == "failed" or outcome == "invalid_result":
        details = late.get("details")
        return _Decision("late_result", outcome, value, details=details, value_kept=kept)
    return _Decision(otherwise)


def _completed(
    finding: Finding, value: Any, reference: str | None, tool: Tool | None, kept: bool = True
) -> _Decision:
    """The effect exists; a value that is told has to keep the tool's contract like any other."""
    errors = _broken(tool, value) if kept else []
    if errors and value is None:  # the receiver knows that it happened, not what came of it
        return _Decision(finding, "completed", None, reference, value_kept=False)
    if errors:
        return _Decision(finding, "invalid_result", value, reference, {"errors": errors})
    return _Decision(finding, "completed", value, reference, value_kept=kept)


def _broken(tool: Tool | None, value: Any) -> list[dict[str, Any]]:
    """How the value breaks the tool's result schema; one that cannot be checked breaks it."""
    if tool is None or tool.result is None:
        return []
    try:
        validator = tool.result_validator
        violations = [] if validator is None else validator.validate(value)
    except Exception as error:
        _log.warning("a result cannot be checked: %s", type(error).__name__)
        return [{"rule": "check", "got": type(error).__name__}]
    return [violation.to_dict() for violation in violations]
