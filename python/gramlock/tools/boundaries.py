"""The boundaries that a call passes before, and a result after, its handler: one fixed order.

::

    completion ─ name ─ parse ─ schema ─ domain ─ authorise ─ ledger ─ approval ─ precondition
        ─ place, deadline ─ permission and approval once more ─ arguments, rate
        ─ record intent ─ INVOKE ─ record outcome ─ result and postconditions

Nothing to the left of INVOKE has an effect, so that whatever refuses there means *not executed*.
The ledger is asked before approvals and preconditions: a repeated operation gets its recorded
outcome, though its approval is used up and the state has changed. It is asked after permission,
because a recorded result is data like any other.

An :class:`Attempt` is one passage, written as a generator of steps (:mod:`gramlock.tools.steps`).
It works on a private copy of the arguments, whose digest is compared once more before the handler
gets a copy of its own: what was checked and approved is what runs. Used by one driver, once.
Tested by test_tools_dispatch.py and test_tools_dispatch_machine.py.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from contextvars import copy_context
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NoReturn

from ..errors import LedgerError, ToolCallError
from .approvals import Approval, ApprovalRequest, ApprovalStore
from .call import BrokenCall, ToolCall, parse_tool_call
from .canonical import digest
from .context import Context
from .events import Trail, redacted
from .invoke import Ending, Job, Place, Workers
from .json_text import plain_json
from .leases import Leases
from .outcome import ToolResult
from .rates import Rates
from .recording import Recording
from .results import ResultStore
from .rules import Rules
from .steps import Block, Invoke, Reserve, Steps
from .violation import Violation

if TYPE_CHECKING:
    from .ledger import Ledger, LookUp
    from .tool import Tool
    from .toolset import ToolSet

__all__ = ["Attempt", "Parts"]


_NAMES_SHOWN = 50
_WAIT_FOR_PLACE = 30.0
_MAX_VALUES = 200_000  # of arguments: more than any model writes


@dataclass(frozen=True)
class Parts:
    """What all dispatches of one dispatcher share; see :class:`Dispatcher` for the meaning."""

    tools: ToolSet
    ledger: Ledger | None
    approvals: ApprovalStore
    results: ResultStore
    clock: Callable[[], float]
    fail_point: Callable[[str], None]
    ask_approval: Callable[[ApprovalRequest, Context], Any] | None
    workers: Workers
    grace: float
    rates: Rates = field(default_factory=Rates)
    leases: Leases = field(default_factory=Leases)


class _Refused(Exception):
    """A boundary refused; carries the result."""

    def __init__(self, result: ToolResult) -> None:
        self.result = result
        super().__init__(result.boundary)


class Attempt:
    """One call on its way through the boundaries."""

    def __init__(self, parts: Parts, call: Any, context: Context, duplicate_ok: bool) -> None:
        self._parts, self._call, self._context = parts, call, context
        self._duplicate_ok = duplicate_ok
        self._name = _text_or_none(getattr(call, "name", None))
        self._id = _text_or_none(getattr(call, "id", None))
        self._trail = Trail(self._name, self._id, context.principal)
        self._rules = Rules(self._trail, context)
        self._tool: Tool | None = None
        self._arguments: dict[str, Any] = {}
        self._digest = ""
        self._approval: Approval | None = None
        self._place: Place | None = None
        self._job: Job | None = None
        self._recording: Recording | None = None

    # ---- the whole

    def run(self) -> Steps[ToolResult]:
        """All boundaries; returns the one result. Raises only what interrupts the caller."""
        try:
            result = yield from self._run()
        except GeneratorExit:
            raise
        except (KeyboardInterrupt, SystemExit, asyncio.CancelledError) as error:
            yield from self._interrupted(error)
            raise
        finally:
            self._let_go()
        self._trail.ended(
            result.outcome,
            result.boundary,
            {
                "message": result.message,
                "errors": tuple(str(error) for error in result.errors),
                "entry_id": result.entry_id,
                "reference": result.reference,
                "replayed": result.replayed or None,
                "stored": result.stored,
            },
        )
        return result

    def _run(self) -> Steps[ToolResult]:
        try:
            yield from self._check()
            return (yield from self._execute())
        except _Refused as refused:
            yield from self._undo()
            return refused.result
        except Exception as error:  # of this layer, or of what it calls: closed
            self._trail.fault("dispatch", error)
            return (yield from self._failed_here())

    def _check(self) -> Steps[None]:
        call = self._completed()
        tool = self._named(call)
        self._parsed(call)
        self._valid(tool)
        yield from self._sound(tool)
        yield from self._permitted(tool)
        yield from self._new(tool)
        needed = yield from self._needs_approval(tool)
        if needed:
            yield from self._approved(tool, take=False)
        yield from self._holds(tool)
        yield from self._has_place(tool)
        yield from self._permitted(tool)
        if needed or (yield from self._needs_approval(tool)):
            yield from self._approved(tool, take=True)
        self._unchanged()
        self._trail.passed("arguments")
        self._within_rate(tool)

    def _refuse(
        self, boundary: str, message: str, errors: Iterable[Violation] = (), **more: Any
    ) -> NoReturn:
        raise _Refused(
            ToolResult(
                "rejected",
                self._id,
                self._name,
                errors=tuple(errors),
                boundary=boundary,
                message=message,
                **more,
            )
        )

    def _fault(self, boundary: str, error: Exception) -> None:
        self._trail.fault(boundary, error)

    # ---- the call itself

    def _completed(self) -> ToolCall | BrokenCall:
        """The completion had ended as it should."""
        given = self._call
        call = given if isinstance(given, ToolCall | BrokenCall) else self._read(given)
        status = call.status
        if status != "complete":
            self._refuse(
                "completion", f"the completion ended as {status!r:.40}; nothing is executed"
            )
        self._trail.passed("completion")
        return call

    def _read(self, raw: Any) -> ToolCall:
        """A call that comes as text or an object: complete on the caller's word."""
        try:
            call = parse_tool_call(raw)
        except ToolCallError as error:
            self._refuse("name" if error.layer == "name" else "parse", str(error))
        except Exception as error:
            self._fault("parse", error)
            self._refuse("parse", "not a tool call")
        self._name, self._id = call.name, call.id
        self._trail.rename(self._name, self._id)
        return call

    def _named(self, call: ToolCall | BrokenCall) -> Tool:
        """The name is one of the registry's, letter by letter."""
        tool = self._parts.tools.get(self._name)
        if tool is None:
            if self._name is None and isinstance(call, BrokenCall) and call.layer != "name":
                self._refuse("parse", call.message)
            names = self._parts.tools.names
            shown = ", ".join(names[:_NAMES_SHOWN]) + (", …" if len(names) > _NAMES_SHOWN else "")
            expected = f"one of {shown}" if names else "no tool: there are none"
            wrong = Violation(
                "", "name", expected, _quoted(self._name), path="name", boundary="name"
            )
            self._refuse("name", f"no such tool; there are: {shown}", (wrong,))
        self._tool = tool
        self._trail.passed("name")
        return tool

    def _parsed(self, call: ToolCall | BrokenCall) -> None:
        """The arguments are JSON data with named members. From here on they are our own copy."""
        if isinstance(call, BrokenCall):
            self._refuse("name" if call.layer == "name" else "parse", call.message)
        if not isinstance(call.arguments, dict):
            self._refuse("parse", "the arguments are no JSON object")
        try:
            self._arguments = plain_json(call.arguments, values=_MAX_VALUES)
            self._digest = digest(self._arguments)
        except Exception as error:
            self._fault("parse", error)
            self._refuse("parse", "the arguments are no JSON data, or nested too deeply")
        assert self._tool is not None
        self._trail.speaks_of(self._arguments, self._tool)
        self._trail.passed("parse")

    def _valid(self, tool: Tool) -> None:
        """The arguments satisfy the schema."""
        try:
            found = tool.validator.validate(self._arguments)
            tool.result_validator  # noqa: B018 - no write whose result nobody could check
        except Exception as error:
            self._fault("schema", error)
            found = [Violation("", "schema", "the schema could not be checked")]
        if found:
            self._refuse("schema", "the arguments break the tool's schema", found)
        self._trail.passed("schema")

    # ---- rules of the application

    def _sound(self, tool: Tool) -> Steps[None]:
        """The arguments make sense: all semantic checks, and all they find."""
        found = yield from self._rules.violations("domain", tool.checks, self._arguments)
        if found:
            found = tool.validator.discreet(found, self._arguments)
            self._refuse("domain", "the arguments are well formed, but cannot be right", found)
        self._trail.passed("domain")

    def _permitted(self, tool: Tool) -> Steps[None]:
        """The trusted context's principal may do this. Only True is permission."""
        if tool.permission is not None:
            answer = yield from self._rules.ask("authorise", tool.permission, self._arguments)
            if answer is not True:
                self._refuse("authorise", "not permitted")
        self._trail.passed("authorise")

    def _holds(self, tool: Tool) -> Steps[None]:
        """The current state allows it."""
        found = yield from self._rules.violations(
            "precondition", tool.preconditions, self._arguments
        )
        if found:
            found = tool.validator.discreet(found, self._arguments)
            self._refuse("precondition", "the current state does not allow it", found)
        self._trail.passed("precondition")

    # ---- approval

    def _needs_approval(self, tool: Tool) -> Steps[bool]:
        rule = tool.approval
        if rule is None or rule == "required":
            return rule is not None
        answer = yield from self._rules.ask("approval", rule, self._arguments)
        if answer is not True and answer is not False:
            self._refuse("approval", "whether an approval is needed could not be told")
        return bool(answer)

    def _approved(self, tool: Tool, *, take: bool) -> Steps[None]:
        """Someone consented to exactly this call; *take* uses that up."""
        self._unchanged()  # or the approver would be shown something else
        request = ApprovalRequest(
            tool=tool.name,
            tool_digest=tool.digest,
            arguments_digest=self._digest,
            principal=self._context.principal,
            description=tool.description,
            arguments=plain_json(self._arguments),
        )
        store = self._approvals
        look = store.take if take else store.find
        try:
            found = yield Block(look, (request, self._parts.clock()))
            if found is None and not take:
                found = yield from self._asked_for(request)
        except Exception as error:  # of a store of the application's, or one that is full
            self._fault("approval", error)
            found = None
        if not isinstance(found, Approval) or not found.covers(request, self._parts.clock()):
            self._refuse("approval", "needs an approval of exactly this call")
        if take:
            self._approval = found
        self._trail.passed("approval")

    def _asked_for(self, request: ApprovalRequest) -> Steps[Approval | None]:
        """An approval that the application obtains now, kept until it is taken."""
        if self._parts.ask_approval is None:
            return None
        found = yield from self._rules.ask("approval", self._parts.ask_approval, request)
        now = self._parts.clock()
        if not isinstance(found, Approval) or not found.covers(request, now):
            return None
        store = self._approvals
        if (yield Block(store.find, (request, now))) is None:
            yield Block(store.add, (found, now))
        return found

    @property
    def _approvals(self) -> ApprovalStore:
        """The context's store, be it empty, or the dispatcher's."""
        own = self._context.approvals
        return self._parts.approvals if own is None else own

    # ---- ledger

    def _new(self, tool: Tool) -> Steps[None]:
        """This operation has no recorded outcome."""
        self._recording = Recording(self._parts, self._trail, tool, self._context, self._digest)
        if not self._recording.kept:
            return
        try:
            self._recording.check_key()
        except LedgerError as error:
            self._refuse("ledger", f"the operation cannot be recorded: {error}")
        try:
            found = yield self._recording.look_up()
        except Exception as error:
            self._fault("ledger", error)
            self._refuse("ledger", "the record of effects cannot be read: nothing was executed")
        self._known(found)
        self._trail.passed("ledger")

    def _known(self, found: LookUp) -> None:
        """Ends the passage unless the ledger knows nothing that forbids to go on."""
        if found.kind == "none" or (found.kind == "suspected_duplicate" and self._duplicate_ok):
            return
        assert self._recording is not None
        raise _Refused(self._recording.answer(found, self._id))

    def _intend(self) -> Steps[None]:
        """The intent is on record before anything is sent."""
        assert self._recording is not None
        tool = self._tool
        assert tool is not None
        shown = redacted(self._arguments, lambda: tool.validator)
        try:
            answer = yield self._recording.begin(shown, self._duplicate_ok)
        except Exception as error:
            self._fault("ledger", error)
            self._refuse("ledger", "the intent cannot be recorded: nothing was executed")
        self._known(self._recording.begun_or(answer))

    # ---- just before

    def _has_place(self, tool: Tool) -> Steps[None]:
        """There is time left, and a place to run in."""
        limit = self._limit(tool)
        seconds = _WAIT_FOR_PLACE if limit is None else min(limit, _WAIT_FOR_PLACE)
        kind: Place = "task" if tool.is_async else "thread"
        self._place = yield Reserve(self._parts.workers, kind, seconds)
        if self._place is None:
            self._refuse("capacity", "too many calls are running")
        self._limit(tool)

    def _limit(self, tool: Tool) -> float | None:
        """Seconds that the handler may take, within the deadline."""
        limit, left = tool.limits.seconds, self._context.seconds_left()
        if left is None:
            return limit
        if left <= 0:
            self._refuse("deadline", "the deadline has passed")
        return left if limit is None else min(limit, left)

    def _unchanged(self) -> None:
        """No rule has written to the arguments."""
        if digest(self._arguments) != self._digest:
            self._refuse("arguments", "the arguments were changed while they were checked")

    def _within_rate(self, tool: Tool) -> None:
        wait = self._parts.rates.take(tool.name, tool.limits.calls_per_minute)
        if wait > 0:
            self._refuse("rate", f"called too often; next in {wait:.0f} seconds")

    # ---- the handler

    def _execute(self) -> Steps[ToolResult]:
        tool, recording = self._tool, self._recording
        assert tool is not None
        assert recording is not None
        try:
            taken, named = tool.invoke_arguments(plain_json(self._arguments), self._context)
        except Exception as error:
            self._fault("domain", error)
            self._refuse("domain", "the handler cannot take these arguments")
        if recording.kept:
            yield from self._intend()
        recording.passed_point("after_intent")
        limit = self._limit(tool)
        self._job = Job(tool.name, self._id)
        variables = copy_context()
        self._trail.enter(variables)
        ending: Ending = yield Invoke(
            workers=self._parts.workers,
            job=self._job,
            run=lambda: tool.handler(*taken, **named),
            context=variables,
            kind="task" if tool.is_async else "thread",
            limit=limit,
            grace=self._parts.grace,
            beat=recording.beat,
            every=recording.every,
            late=recording.late,
        )
        return (yield from recording.conclude(ending, self._id, self._arguments))

    # ---- ways out

    def _undo(self) -> Steps[None]:
        """Nothing was executed: leave no trace that says otherwise."""
        if self._begun:
            return
        if self._approval is not None:
            self._approvals.give_back(self._approval)
            self._approval = None
        if self._recording is not None:
            yield from self._recording.abandon()

    def _let_go(self) -> None:
        """A place that no handler took is free again; a handler that goes on keeps its lease."""
        job, place, recording = self._job, self._place, self._recording
        self._place = None
        if place is not None and not self._begun:
            self._parts.workers.release(place)
        if self._approval is not None and self._begun:
            self._approvals.spend(self._approval)
        if job is not None and job.overdue and recording is not None and recording.kept:
            self._parts.leases.keep(job, recording)

    def _failed_here(self) -> Steps[ToolResult]:
        """This layer itself went wrong: before the handler a refusal, after it not known."""
        try:
            if self._begun and self._recording is not None:
                return (yield from self._recording.lost(self._id, running=self._runs))
            yield from self._undo()
        except Exception as error:  # once more: then without a record
            self._trail.fault("dispatch", error)
        message = "an internal error"
        if not self._begun:
            return ToolResult(
                "rejected",
                self._id,
                self._name,
                boundary="dispatch",
                message=message + "; nothing was executed",
            )
        reads = self._tool is not None and self._tool.effect == "read"
        return ToolResult("failed" if reads else "uncertain", self._id, self._name, message=message)

    @property
    def _begun(self) -> bool:
        """Whether the handler may have run, if only to its first line."""
        return self._job is not None and self._job.begun

    @property
    def _runs(self) -> bool:
        """Whether it may still run."""
        return self._job is not None and not self._job.ended

    def _interrupted(self, error: BaseException) -> Steps[None]:
        """The caller goes: what it leaves behind is recorded first."""
        outcome = "rejected"
        try:
            if self._begun and self._recording is not None:
                lost = self._recording.lost(self._id, running=self._runs)
                outcome = (yield from lost).outcome
            else:
                yield from self._undo()
        finally:
            fields = {"message": f"interrupted by {type(error).__name__}"}
            self._trail.ended(outcome, "interrupted", fields)


def _text_or_none(value: Any) -> str | None:
    return value if isinstance(value, str) else None


def _quoted(name: str | None) -> str:
    if name is None:
        return "nothing"
    return repr(name) if len(name) <= 80 else f"a name of {len(name):,} characters"
