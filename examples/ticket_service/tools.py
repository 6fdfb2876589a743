"""What an agent may ask the ticket service for, as tools over HTTP.

The context of a dispatch carries what the application alone knows::

    principal       the user; the client's token is this user's
    operation_id    names the operation; the service's idempotency key is made of it
    data["client"]  an httpx.Client with the user's token
    data["request"] the user's words
    data["seen"]    revisions that were read for this operation, by ticket: get_ticket fills it

What an answer proves decides the outcome. A 4xx is the service's word that nothing changed, and so
is a connection that was never made: ``failed``. Everything after the request may have been sent is
no such word: the exception goes up, and a write ends as ``uncertain``. A 204 without the new
revision is a broken reply (``invalid_result``), a 202 is begun and not done.

A ticket is assigned at the revision that was read. The model cannot name one, so it can neither
invent one nor skip the reading; the service compares it inside its transaction.
"""

from __future__ import annotations

import hashlib
import re
from typing import Any
from urllib.parse import quote

import httpx

from gramlock.errors import InvalidResultError
from gramlock.tools import (
    Accepted,
    StatusReport,
    Tool,
    ToolError,
    ToolLimits,
    ToolSet,
    Violation,
    digest,
    reference,
)

__all__ = ["idempotency_key", "ticket_tools"]

_TICKET = {"type": "string", "pattern": "^T-[0-9]{1,6}$", "description": "The ticket, as T-1."}
_USER = {"type": "string", "pattern": "^U-[0-9]{1,6}$", "description": "The user, as U-1."}
_PROJECT = {"type": "string", "pattern": "^P-[0-9]{1,6}$", "description": "The project, as P-1."}
_ETAG = re.compile(r'"([1-9][0-9]{0,15})"')
_SECONDS = 10.0


def _object(**members: Any) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": members,
        "required": list(members),
        "additionalProperties": False,
    }


def idempotency_key(tool: str, operation_id: str) -> str:
    """The service's key for an operation: the same for each retry, and for nothing else."""
    return hashlib.sha256(f"{tool}\0{operation_id}".encode()).hexdigest()[:40]


# ---- requests


def _path(*parts: str) -> str:
    return "".join(f"/{quote(part, safe='')}" for part in parts)


def _send(context: Any, method: str, path: str, **options: Any) -> httpx.Response:
    """The response. ToolError: certainly nothing was changed."""
    client: httpx.Client = context.data["client"]
    try:
        response = client.request(method, path, **options)
    except (httpx.ConnectError, httpx.ConnectTimeout):
        raise ToolError("the service cannot be reached; nothing was sent") from None
    if 400 <= response.status_code < 500:
        raise ToolError(_detail(response), details={"status": response.status_code})
    if not response.is_success:
        raise RuntimeError(f"{method} {path}: {response.status_code}")
    return response


def _detail(response: httpx.Response) -> str:
    try:
        told = response.json()["detail"]
    except (ValueError, KeyError, TypeError):
        told = "refused"
    return f"the service refused ({response.status_code}): {told!s:.200}"


def _found(context: Any, *parts: str) -> Any:
    """What stands at a path; None where nothing does, or nothing that this user may see."""
    try:
        return _send(context, "GET", _path(*parts)).json()
    except ToolError as error:
        if isinstance(error.details, dict) and error.details.get("status") == 404:
            return None
        raise


def _key(context: Any, tool: str) -> dict[str, str]:
    return {"Idempotency-Key": idempotency_key(tool, context.operation_id)}


def _revision(response: httpx.Response) -> int:
    match = _ETAG.fullmatch(response.headers.get("etag", ""))
    if match is None:
        raise InvalidResultError("the service did not say which revision the ticket is at")
    return int(match[1])


# ---- handlers


def _get_ticket(ticket: str, context: Any) -> Any:
    response = _send(context, "GET", _path("tickets", ticket))
    context.data["seen"][ticket] = _revision(response)
    return response.json()


def _list_members(project: str, context: Any) -> Any:
    return _send(context, "GET", _path("projects", project, "members")).json()


def _assign_ticket(ticket: str, assignee: str, context: Any) -> Any:
    seen = context.data["seen"][ticket]
    headers = {**_key(context, "assign_ticket"), "If-Match": f'"{seen}"'}
    path = _path("tickets", ticket, "assignee")
    response = _send(context, "PUT", path, headers=headers, json={"user": assignee})
    if response.status_code != 204:
        raise InvalidResultError(f"the service answered {response.status_code} instead of 204")
    return {"ticket": ticket, "assignee": assignee, "revision": _revision(response)}


def _export_project(project: str, context: Any) -> Any:
    path = _path("projects", project, "exports")
    response = _send(context, "POST", path, headers=_key(context, "export_project"), json={})
    location = response.headers.get("location", "")
    if response.status_code != 202 or not location.startswith("/operations/"):
        raise InvalidResultError("the service did not say where the export can be followed")
    return Accepted(location, value={"state": "running"})


# ---- rules


def _in_the_users_words(arguments: Any, context: Any) -> Any:
    """Names that the user did not write may be a model's invention."""
    words = set(re.findall(r"[A-Z]-[0-9]+", context.data["request"]))
    for member, value in arguments.items():
        if value not in words:
            like = sorted(word for word in words if word[0] == value[0])
            expected = f"one that the request names: {', '.join(like) or 'it names none'}"
            yield Violation(f"/{member}", "named_by_user", expected, value, boundary="domain")


def _assignee_belongs(arguments: Any, context: Any) -> Any:
    ticket = _found(context, "tickets", arguments["ticket"])
    members = ticket and _found(context, "projects", ticket["project"], "members")
    if members and all(one["id"] != arguments["assignee"] for one in members["members"]):
        expected = f"a member of project {ticket['project']}"
        return Violation("/assignee", "member", expected, arguments["assignee"], boundary="domain")
    return None


def _may_assign(arguments: Any, context: Any) -> bool:
    ticket = _found(context, "tickets", arguments["ticket"])
    return ticket is not None and "assign" in ticket["rights"]


def _has_operation(arguments: Any, context: Any) -> bool:
    """Without an operation id the service could not tell a retry from a second wish."""
    return bool(context.operation_id)


def _was_read(arguments: Any, context: Any) -> Any:
    """The ticket was read for this operation, and has not changed since."""
    seen = context.data["seen"].get(arguments["ticket"])
    now = _found(context, "tickets", arguments["ticket"])
    if seen is None or now is None:
        return False
    if now["revision"] != seen:
        expected = f"still at revision {seen}, as it was read"
        got = f"revision {now['revision']}"
        return Violation("/ticket", "revision", expected, got, boundary="precondition")
    return True


def _was_done(arguments: Any, result: Any, context: Any) -> bool:
    """The reply is about this ticket, this assignee, and the next revision."""
    expected = context.data["seen"][arguments["ticket"]] + 1
    return bool(result == {**arguments, "revision": expected})


# ---- status


def _receipt(tool: str, entry: Any, context: Any) -> tuple[Any, StatusReport]:
    """What the service recorded for an operation's key, and what to say if that is nothing."""
    if not entry.key.operation_id:
        return None, StatusReport("unknown")
    key = idempotency_key(tool, entry.key.operation_id)
    client: httpx.Client = context.data["client"]
    response = client.get(_path("receipts", key))
    if response.status_code == 200:
        return response.json(), StatusReport("unknown")
    body = response.json() if response.status_code == 404 else {}
    final = body.get("code") == "unknown_key" and body.get("final") is True
    return None, StatusReport("not_found" if final else "unknown", final=final)


def _assignment_status(entry: Any, context: Any) -> StatusReport:
    receipt, otherwise = _receipt("assign_ticket", entry, context)
    if receipt is None:
        return otherwise
    _, ticket, assignee, _ = receipt["parameters"]
    done = {"ticket": ticket, "assignee": assignee}
    return StatusReport(
        "completed",
        value={**done, "revision": receipt["answer"]["revision"]},
        arguments_digest=digest(done),
    )


def _export_status(entry: Any, context: Any) -> StatusReport:
    """Of an export that was begun, how far it is; else whether it was begun at all."""
    place = entry.reference
    if place is None:
        receipt, otherwise = _receipt("export_project", entry, context)
        if receipt is None:
            return otherwise
        place = _path("operations", receipt["answer"]["operation"])
    response = context.data["client"].get(place)
    if response.status_code != 200:
        return StatusReport("unknown")
    told = response.json()
    state = told["state"] if told["state"] in ("running", "completed", "failed") else "unknown"
    return StatusReport(state, value=told["result"], reference=place)


# ---- the tools


def ticket_tools() -> ToolSet:
    """The tools, with all their rules."""
    limits = ToolLimits(seconds=_SECONDS)
    visible = reference(
        "$.ticket", lambda ticket, context: _found(context, "tickets", ticket), what="ticket"
    )
    project = reference(
        "$.project",
        lambda name, context: _found(context, "projects", name, "members"),
        what="project",
    )
    return ToolSet(
        [
            Tool(
                "get_ticket",
                "Read a ticket.",
                _object(ticket=_TICKET),
                _get_ticket,
                effect="read",
                checks=[_in_the_users_words],
                limits=limits,
            ),
            Tool(
                "list_members",
                "List who belongs to a project.",
                _object(project=_PROJECT),
                _list_members,
                effect="read",
                limits=limits,
            ),
            Tool(
                "assign_ticket",
                "Assign a ticket to a user.",
                _object(ticket=_TICKET, assignee=_USER),
                _assign_ticket,
                result=_object(
                    ticket=_TICKET, assignee=_USER, revision={"type": "integer", "minimum": 1}
                ),
                checks=[_in_the_users_words, visible, _assignee_belongs],
                permission=_may_assign,
                preconditions=[_has_operation, _was_read],
                postconditions=[_was_done],
                status_lookup=_assignment_status,
                limits=limits,
            ),
            Tool(
                "export_project",
                "Begin an export of a project.",
                _object(project=_PROJECT),
                _export_project,
                checks=[_in_the_users_words, project],
                preconditions=[_has_operation],
                status_lookup=_export_status,
                limits=limits,
            ),
        ]
    )
