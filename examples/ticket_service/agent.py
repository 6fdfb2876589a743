"""From a request in words to a report of what the evidence supports.

::

    words ─► choose ─► proposal | needs_input | unknown
                          │
                          ├─ the ticket is read: its revision, and what the user may do
                          ├─ every check; what is wrong with the data goes to the fixer
                          ├─ the service is asked, once
                          ├─ no clear answer: its record of the operation is asked
                          └─ report

The model proposes, and that is all it does. Who the user is, which operation this is, which
revision was read, and which names the user wrote come from the application. What the user wrote is
evidence: no correction may change it.

The report says what is known and from where. "Assigned" stands there if the service said so, or has
it on record; a lost answer is neither success nor failure, and work that has begun is not done.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, Protocol

import httpx

from gramlock.errors import JsonTextError
from gramlock.tools import (
    Context,
    Dispatcher,
    Entry,
    RepairOutcome,
    ToolResult,
    ToolSet,
    Violation,
    first_of,
    reconcile,
    run_with_repair,
    validate,
)
from gramlock.tools.call import ToolCall
from gramlock.tools.json_text import loads

__all__ = ["Agent", "Report", "choice_schema"]

_POLL = 0.1
_NAMES = re.compile(r"\b[A-Z]-[0-9]+\b")

Basis = Literal["", "answer", "recorded", "looked_up"]

_BASIS = {
    "answer": "the service said so",
    "recorded": "this operation was carried out before; nothing was sent again",
    "looked_up": "the service has the operation on record",
}


def choice_schema(tools: ToolSet) -> dict[str, Any]:
    """What a model may answer to a request: one call, a question, or that it cannot help."""
    call = tools.call_schema()
    text = {"type": "string", "minLength": 1, "maxLength": 80}

    def case(kind: str, **members: Any) -> dict[str, Any]:
        members = {"kind": {"const": kind}, **members}
        return {
            "type": "object",
            "properties": members,
            "required": list(members),
            "additionalProperties": False,
        }

    return {
        "anyOf": [
            case("proposal", call={"anyOf": call["anyOf"]}),
            case("needs_input", question=text),
            case("unknown", reason=text),
        ],
        "$defs": call["$defs"],
    }


@dataclass(frozen=True)
class Report:
    """What came of a request.

    Attributes:
        outcome: ``needs_input``, ``unknown``, or an outcome of the tool layer.
        text: For the user; claims nothing that *basis* does not support.
        basis: Where the claim comes from: the service's ``answer``, what was ``recorded`` of this
            operation before, or the service's record, ``looked_up`` after its answer was lost or
            its work begun. Empty where nothing is claimed.
        result: The dispatcher's last answer, if anything was proposed.
        repair: How the call came to be as it is.
        entry: What the ledger holds of it, if it was looked up.
    """

    outcome: str
    text: str
    basis: Basis = ""
    result: ToolResult | None = None
    repair: RepairOutcome | None = None
    entry: Entry | None = None


class Chooser(Protocol):
    """Answers a request with the text of a JSON value under :func:`choice_schema`."""

    def __call__(self, request: str) -> str: ...


def the_only_name(request: str) -> Callable[..., ToolCall | None]:
    """A fixer without a model: where the user wrote one name of that kind, it is that one."""
    words = set(_NAMES.findall(request))

    def fixer(errors: Sequence[Violation], call: Any) -> ToolCall | None:
        if not isinstance(call, ToolCall):
            return None
        arguments = dict(call.arguments)
        for error in errors:
            member = error.pointer[1:]
            if error.rule == "named_by_user" and member in arguments:
                like = [word for word in words if word[0] == arguments[member][0]]
                if len(like) == 1:
                    arguments[member] = like[0]
        return replace(call, arguments=arguments)

    return fixer


class _ReadingFirst:
    """A dispatcher before which the ticket is read that a call is about."""

    def __init__(self, dispatcher: Dispatcher, say: Callable[[str], None]) -> None:
        self._dispatcher, self._say = dispatcher, say
        self.tools = dispatcher.tools

    def dispatch(self, call: ToolCall, context: Context | None = None) -> ToolResult:
        """As :meth:`Dispatcher.dispatch`."""
        name, arguments = call.name, getattr(call, "arguments", None)
        ticket = arguments.get("ticket") if isinstance(arguments, dict) else None
        if name == "assign_ticket" and ticket is not None:
            read = self._dispatcher.dispatch(ToolCall("get_ticket", {"ticket": ticket}), context)
            seen = f"revision {read.value['revision']}" if read.ok else read.message
            self._say(f"read      {ticket}: {seen}")
        self._say(f"dispatch  {_shown(call)}")
        result = self._dispatcher.dispatch(call, context)
        self._say(f"          {_told(result)}")
        return result


class Agent:
    """Carries out requests of one user.

    Args:
        choose: The model.
        fixer: Corrects what :func:`the_only_name` cannot; see
            :func:`gramlock.tools.run_with_repair`.
        dispatcher: Over :func:`ticket_tools`, with a ledger.
        client: Speaks to the service as this user.
        principal: The user.
        proposable: Names of tools that the model may propose.
        say: Gets the lines of a trace.
        patience: Seconds that an unclear or unfinished operation is followed.
    """

    def __init__(
        self,
        choose: Chooser,
        fixer: Callable[..., Any],
        dispatcher: Dispatcher,
        client: httpx.Client,
        principal: str,
        *,
        proposable: tuple[str, ...] = ("assign_ticket", "export_project", "get_ticket"),
        say: Callable[[str], None] = lambda line: None,
        patience: float = 5.0,
    ) -> None:
        self._choose, self._fixer, self._say = choose, fixer, say
        self._dispatcher, self._client = dispatcher, client
        self._principal, self._patience = principal, patience
        self._schema = choice_schema(dispatcher.tools.only(*proposable))

    def handle(self, request: str, operation_id: str) -> Report:
        """Carry out a request.

        Args:
            request: The user's words.
            operation_id: Names this wish: the same if the user sends it again, another if the
                user wants it once more.
        """
        self._say(f"request   {request!r}")
        text = self._choose(request)
        self._say(f"model     {text}")
        try:
            choice = loads(text)
            wrong = validate(choice, self._schema)
        except JsonTextError as error:
            wrong = [Violation("", "json", str(error))]
        if wrong:
            told = "; ".join(map(str, wrong))
            report = Report("rejected", f"Nothing was done: no choice could be read ({told}).")
        elif choice["kind"] == "needs_input":
            report = Report("needs_input", f"Nothing was done. A question: {choice['question']}")
        elif choice["kind"] == "unknown":
            report = Report("unknown", f"Nothing was done: {choice['reason']}")
        else:
            report = self._carry_out(request, choice["call"], operation_id)
        self._say(f"report    {report.text}")
        return report

    def _carry_out(self, request: str, proposed: dict[str, Any], operation_id: str) -> Report:
        call = ToolCall(proposed["name"], proposed["arguments"], id=f"call-{operation_id}")
        data = {"client": self._client, "request": request, "seen": {}}
        context = Context(self._principal, operation_id, data=data)
        words = set(_NAMES.findall(request))
        evidence = [f"/{name}" for name, value in call.arguments.items() if value in words]
        reading: Any = _ReadingFirst(self._dispatcher, self._say)
        repair = run_with_repair(
            first_of(the_only_name(request), self._fixer),
            reading,
            call,
            context,
            max_repairs=2,
            max_seconds=120,
            collateral="reject",
            evidence=evidence,
        )
        if repair.repairs_used or repair.end not in ("completed", "failed"):
            self._say(f"repair    {repair.repairs_used} corrections, ended with {repair.end!r}")
        last = next(one.call for one in reversed(repair.attempts) if one.result is not None)
        result, entry = repair.result, None
        if result.outcome in ("uncertain", "accepted"):
            entry = self._followed(result, context)
            if entry is not None and entry.state == "retry_allowed":
                self._say("retry     the service promises that it never took place")
                result = reading.dispatch(last, context)
                entry = self._followed(result, context)
        arguments = getattr(last, "arguments", {})
        return _report(result, repair, entry, arguments)

    def _followed(self, result: ToolResult, context: Context) -> Entry | None:
        """What the service's records say of an operation that is not known to have ended."""
        ledger = self._dispatcher.ledger
        entry = ledger.get(result.entry_id) if ledger is not None and result.entry_id else None
        until = time.monotonic() + self._patience
        before = ""
        while ledger is not None and entry is not None and entry.unresolved:
            found = reconcile(ledger, self._dispatcher.tools, context, entries=[entry.id])
            entry = ledger.get(entry.id) or entry
            message = found[0].message if found else "settled by another process"
            if message != before:
                self._say(f"look up   {message}: {entry.state}")
            before = message
            if not entry.unresolved or time.monotonic() >= until:
                break
            time.sleep(_POLL)
        return entry


# ---- what is said


def _shown(call: Any) -> str:
    arguments = getattr(call, "arguments", None)
    inside = ", ".join(f"{name}={value!r}" for name, value in (arguments or {}).items())
    return f"{call.name}({inside})"


def _told(result: ToolResult) -> str:
    told: str = result.outcome + (f" by {result.boundary}" if result.boundary else "")
    told += " (recorded)" if result.replayed else ""
    lines = [str(error) for error in result.errors] or ([result.message] if result.message else [])
    return told + (f": {'; '.join(lines)}" if lines else "")


def _report(
    result: ToolResult, repair: RepairOutcome, entry: Entry | None, arguments: dict[str, Any]
) -> Report:
    """The one place where outcomes become words."""
    outcome: str = result.outcome
    basis: Basis = "recorded" if result.replayed else "answer"
    value, message = result.value, result.message
    if entry is not None and result.outcome in ("uncertain", "accepted"):
        outcome = entry.outcome or "uncertain"
        basis, value, message = "looked_up", entry.value, entry.message or ""
    if outcome == "completed":
        text = f"Done: {_done(result.tool, value)} ({_BASIS[basis]})."
    elif outcome == "accepted":
        text, basis = "Begun, and not done yet: the service is still at work.", ""
    elif outcome == "failed":
        why = "the service has it on record as failed" if basis == "looked_up" else message
        text = f"It failed, and nothing was changed: {why}."
    elif outcome == "invalid_result":
        text, basis = "The service acted, but what it answered is not right. Please look.", ""
    elif outcome == "uncertain":
        names = " ".join(str(name) for name in arguments.values())
        text = f"Whether it was done is not known ({names}). It will not be sent again by itself."
        basis = ""
    else:
        lines = "; ".join(str(error) for error in result.errors) or message
        text, basis = f"Nothing was done: {lines}.", ""
    return Report(outcome, text, basis, result, repair, entry)


def _done(tool: str | None, value: Any) -> str:
    if not isinstance(value, dict):
        return f"{tool} was carried out; what came of it is not on record"
    if tool == "assign_ticket":
        return f"{value['ticket']} is assigned to {value['assignee']}, revision {value['revision']}"
    if tool == "export_project":
        return f"the export counts {value['tickets']} tickets, {value['assigned']} of them assigned"
    if tool == "get_ticket":
        assignee = value["assignee"] or "nobody"
        return f"{value['id']}, {value['title']!r}, is assigned to {assignee}"
    return str(tool)
