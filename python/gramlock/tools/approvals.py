"""Approvals: a person's consent to one call, and to nothing else.

An approval binds the tool, the digest of its definition, the canonical form of the arguments, the
principal, the approver and an expiry. Change one of them and it is void: another amount, another
recipient, a schema that the server replaced, another user. It is used once, and taking it is
atomic, so that of two dispatches at the same moment one runs. There is no approval of a tool's
name, no "always", and nothing in a call's arguments can approve it.

An approver who edits the arguments makes a new call: it passes every check from the start, and
needs an approval of its own.

:class:`ApprovalStore` lives in the process's memory. Where several processes dispatch, subclass it
over a table whose ``take`` is one conditional ``UPDATE``. Tested by test_tools_approvals.py.
"""

from __future__ import annotations

import copy
import secrets
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ..errors import ApprovalError, NotJsonError
from .canonical import digest

if TYPE_CHECKING:
    from .call import ToolCall
    from .context import Context
    from .tool import Tool

__all__ = ["Approval", "ApprovalRequest", "ApprovalStore", "approve", "request_approval"]


@dataclass(frozen=True)
class Approval:
    """Consent to one call.

    Attributes:
        tool: The tool's name.
        tool_digest: Digest of its definition as the approver saw it.
        arguments_digest: Digest of the canonical arguments.
        principal: On whose behalf the call will run.
        approver: Who consented, from the application's own session, never from the model.
        expires_at: In seconds since the epoch; void from then on.
        id: Random; names this approval in events and for revocation.
    """

    tool: str
    tool_digest: str
    arguments_digest: str
    principal: str | None
    approver: str
    expires_at: float
    id: str

    def covers(self, request: ApprovalRequest, now: float) -> bool:
        """Whether this is consent to exactly that call, and still valid."""
        return now < self.expires_at and _binding(self) == _binding(request)


@dataclass(frozen=True)
class ApprovalRequest:
    """What an approver is asked: exactly what would run.

    Attributes:
        tool: The tool's name.
        tool_digest: Digest of its definition.
        arguments_digest: Digest of the canonical arguments.
        principal: On whose behalf.
        description: The tool's description.
        arguments: A copy of the arguments, to be shown. Changing it changes nothing.
    """

    tool: str
    tool_digest: str
    arguments_digest: str
    principal: str | None
    description: str
    arguments: dict[str, Any]


def _binding(bound: Approval | ApprovalRequest) -> tuple[str, str, str, str | None]:
    return bound.tool, bound.tool_digest, bound.arguments_digest, bound.principal


class ApprovalStore:
    """Approvals that were given and not yet used. Every method may be called from any thread.

    Args:
        limit: How many approvals are kept or remembered as used; expired ones do not count.

    Cost: constant but for an occasional sweep of expired ones.
    """

    def __init__(self, *, limit: int = 100_000) -> None:
        self._limit = limit
        self._lock = threading.Lock()
        self._open: dict[tuple[str, str, str, str | None], dict[str, Approval]] = {}
        self._taken: dict[str, Approval] = {}
        self._used: dict[str, float] = {}  # id -> expiry: none comes back, by whatever way
        self._count = 0

    def add(self, approval: Approval, now: float) -> None:
        """Keep *approval* until it is taken.

        Raises:
            ApprovalError: It was used or revoked before, or the store is full of unexpired ones.
        """
        with self._lock:
            if approval.id in self._used or approval.id in self._taken:
                raise ApprovalError("this approval was used or revoked before")
            if self._count + len(self._used) >= self._limit:
                self._sweep(now)
            if self._count + len(self._used) >= self._limit:
                raise ApprovalError(f"{self._limit:,} approvals have not expired yet")
            self._put(approval)

    def find(self, request: ApprovalRequest, now: float) -> Approval | None:
        """An approval that covers *request*, left where it is; None if there is none."""
        with self._lock:
            return self._find(request, now)

    def take(self, request: ApprovalRequest, now: float) -> Approval | None:
        """Use up an approval that covers *request*: at most one caller gets each."""
        with self._lock:
            found = self._find(request, now)
            if found is not None:
                self._remove(found)
                self._taken[found.id] = found
            return found

    def give_back(self, approval: Approval) -> None:
        """Undo :meth:`take`: the call was refused after all, and nothing was executed."""
        with self._lock:
            if self._taken.pop(approval.id, None) is not None:
                self._put(approval)

    def spend(self, approval: Approval) -> None:
        """End :meth:`take`: the handler is about to run. It cannot be given back any more."""
        with self._lock:
            self._taken.pop(approval.id, None)
            self._used[approval.id] = approval.expires_at

    def revoke(self, approval_id: str) -> bool:
        """Withdraw an unused approval. Returns whether it was there, unused."""
        with self._lock:
            taken = self._taken.pop(approval_id, None)
            if taken is not None:
                self._used[taken.id] = taken.expires_at
            for group in self._open.values():
                if approval_id in group:
                    self._used[approval_id] = group[approval_id].expires_at
                    self._remove(group[approval_id])
                    return True
            return False

    def __len__(self) -> int:
        with self._lock:
            return self._count

    def _put(self, approval: Approval) -> None:
        group = self._open.setdefault(_binding(approval), {})
        self._count += approval.id not in group
        group[approval.id] = approval

    def _remove(self, approval: Approval) -> None:
        group = self._open[_binding(approval)]
        del group[approval.id]
        self._count -= 1
        if not group:
            del self._open[_binding(approval)]

    def _find(self, request: ApprovalRequest, now: float) -> Approval | None:
        group = self._open.get(_binding(request), {})
        return next((found for found in group.values() if found.covers(request, now)), None)

    def _sweep(self, now: float) -> None:
        for group in list(self._open.values()):
            for approval in list(group.values()):
                if now >= approval.expires_at:
                    self._remove(approval)
        self._used = {name: until for name, until in self._used.items() if now < until}


def request_approval(call: ToolCall, tool: Tool, context: Context) -> ApprovalRequest:
    """What to show an approver of *call*.

    Raises:
        ApprovalError: *call* names another tool, or its arguments are no JSON data.
    """
    if call.name != tool.name:
        raise ApprovalError(f"the call is for {call.name!r}, not for {tool.name!r}")
    try:
        arguments = copy.deepcopy(call.arguments)
        arguments_digest = digest(arguments)
    except (NotJsonError, RecursionError) as error:
        raise ApprovalError("the arguments are no JSON data") from error
    return ApprovalRequest(
        tool=tool.name,
        tool_digest=tool.digest,
        arguments_digest=arguments_digest,
        principal=context.principal,
        description=tool.description,
        arguments=arguments,
    )


def approve(
    call: ToolCall,
    tool: Tool,
    context: Context,
    approver: str,
    *,
    decision: object = True,
    seconds: float = 900.0,
    store: ApprovalStore | None = None,
    clock: Callable[[], float] = time.time,
) -> Approval:
    """Record that *approver* consents to *call*, once.

    Args:
        call: The call as it was shown; see :func:`request_approval`.
        tool: The tool as it was shown.
        context: Whose call it is.
        approver: Who consents: the application's authenticated user.
        decision: What the approver's form or service answered. Only ``True`` is consent; ``1``,
            ``"yes"``, a dict or a coroutine are not.
        seconds: For how long it holds.
        store: Where to keep it; the context's store by default.
        clock: Seconds since the epoch; the dispatcher's, where that has one of its own.

    Raises:
        ApprovalError: *decision* is not ``True``, *approver* is empty, *seconds* is not positive
            and finite, there is no store, or it is full.
    """
    if decision is not True:
        raise ApprovalError("only True is consent")
    if not isinstance(approver, str) or not approver:
        raise ApprovalError("an approval names its approver")
    if not 0 < seconds < float("inf"):
        raise ApprovalError("an approval holds for a positive, finite time")
    store = context.approvals if store is None else store
    if store is None:
        raise ApprovalError("no store: give one here or in the context")
    now = clock()
    request = request_approval(call, tool, context)
    approval = Approval(
        tool=request.tool,
        tool_digest=request.tool_digest,
        arguments_digest=request.arguments_digest,
        principal=request.principal,
        approver=approver,
        expires_at=now + seconds,
        id=secrets.token_hex(16),
    )
    store.add(approval, now)
    return approval
