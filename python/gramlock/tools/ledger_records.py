"""What the ledger of effects holds and answers: plain immutable records, no database.

One :class:`Entry` is one write: who asked for which tool under which operation id, the digest of
its arguments, and what became of it. Its ``state`` is one of

==================  ==================================================================
``in_progress``     an owner holds a live lease: the handler may be running now
``uncertain``       no outcome, and nobody is working on it: the effect may exist or not
``accepted``        begun elsewhere (a 202); ends only by status look-up
``completed``       the effect exists, its result is recorded
``invalid_result``  executed, the result broke its contract: effects may exist
``failed``          the handler or the receiver said that there is no effect
``retry_allowed``   the receiver promised that it never saw the operation and never will
==================  ==================================================================

The database stores ``in_progress`` with a time until which it holds; an entry whose lease has
lapsed *reads* as ``uncertain``, so that a crashed owner needs nobody to clean up after it.

Tested by tests/test_tools_ledger.py.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, field
from typing import Any, Literal

from ..errors import LedgerError

__all__ = [
    "Begun",
    "Claim",
    "Entry",
    "Evidence",
    "LookUp",
    "LookUpKind",
    "OperationKey",
    "RecordedOutcome",
    "State",
]

State = Literal[
    "in_progress",
    "uncertain",
    "accepted",
    "completed",
    "failed",
    "invalid_result",
    "retry_allowed",
]
RecordedOutcome = Literal["completed", "failed", "invalid_result", "accepted", "uncertain"]
LookUpKind = Literal[
    "none",
    "recorded",
    "in_progress",
    "uncertain",
    "changed_arguments",
    "suspected_duplicate",
    "expired",
]

#: Longest principal, tool name and operation id, in characters: they are identifiers, not texts.
MAX_IDENTIFIER = 1_000


@dataclass(frozen=True)
class OperationKey:
    """Whose operation with which tool: what makes two calls the same one.

    All three come from the trusted context and the registry, never from the model: its call ids
    are new each time it repeats itself.

    Attributes:
        principal: For whom the call is made; None where the application knows only one.
        tool: The tool's name.
        operation_id: The application's name of the operation (an order's payment, a ticket's
            step); None where it gave none, and then nothing can tell a repeat from a second wish.
    """

    principal: str | None
    tool: str
    operation_id: str | None = None

    def check(self) -> None:
        """Raise :class:`LedgerError` for a part that no database could hold or compare."""
        for name in ("principal", "tool", "operation_id"):
            _check_identifier(name, getattr(self, name), optional=name != "tool")

    @property
    def hash(self) -> str | None:
        """The same for the same operation and no other; None without an operation id."""
        if self.operation_id is None:
            return None
        return _hash("key", self.principal, self.tool, self.operation_id)

    def content_hash(self, digest: str) -> str:
        """The same for equal calls of one principal, whatever their operations."""
        return _hash("content", self.principal, self.tool, digest)


def _hash(*parts: str | None) -> str:
    """SHA-256 over a JSON array, so that no two lists of parts are spelled alike."""
    return hashlib.sha256(json.dumps(parts).encode("ascii")).hexdigest()


def _check_identifier(name: str, value: Any, *, optional: bool) -> None:
    label = name.replace("_", " ")
    if value is None and optional:
        return
    if not isinstance(value, str) or not value:
        got = "nothing" if value == "" else type(value).__name__
        raise LedgerError(f"{label}: expected text, got {got}")
    if len(value) > MAX_IDENTIFIER:
        raise LedgerError(f"{label}: {len(value):,} characters; at most {MAX_IDENTIFIER:,}")
    if "\0" in value or any("\ud800" <= character <= "\udfff" for character in value):
        raise LedgerError(f"{label}: holds U+0000 or a lone surrogate, which databases refuse")


@dataclass(frozen=True)
class Evidence:
    """Something learnt about an entry that is not its outcome.

    Attributes:
        kind: ``late_result`` (a handler that was given up returned after all), ``retry`` (one was
            allowed and begun), a finding of :mod:`gramlock.tools.reconciliation` (``record``,
            ``state``, ``running``, ``not_found``, ...), or the application's own.
        data: JSON value, or None.
        first_at: When it was first seen, seconds since 1970.
        last_at: When it was last seen: the same thing seen again is counted, not added.
        times: How often.
    """

    kind: str
    data: Any
    first_at: float
    last_at: float
    times: int = 1

    def to_dict(self) -> dict[str, Any]:
        """As JSON members."""
        return dict(vars(self))


@dataclass(frozen=True)
class Entry:
    """One write as the ledger knows it.

    Attributes:
        id: The ledger's name of it.
        key: Whose operation with which tool.
        digest: Of the arguments (:func:`gramlock.tools.canonical.digest`).
        state: See the module's table.
        value: The recorded result; None also where it was not kept.
        value_kept: False where a result existed but is not stored (too large, no JSON, purged).
        message: One line about the outcome.
        reference: The receiver's name of an operation begun elsewhere.
        details: What else a replay needs, such as the violations of an invalid result.
        arguments: The redacted arguments, for people and status look-ups.
        owner: Which process began or reconciles it.
        lease_until: Until when the owner is taken to be at work, seconds since 1970.
        attempt: 1, and one more for each retry that reconciliation allowed.
        created: When the first intent was stored; the receiver's window is counted from here.
        updated: When it last changed.
        expires: When the window ends, after which nothing is sent again under this key.
        forgotten: Purged down to its key: the operation is known, its result no longer.
        evidence: What else was learnt, oldest first.
    """

    id: str
    key: OperationKey
    digest: str
    state: State
    value: Any = None
    value_kept: bool = False
    message: str | None = None
    reference: str | None = None
    details: Any = None
    arguments: Any = None
    owner: str = ""
    lease_until: float = 0.0
    attempt: int = 1
    created: float = 0.0
    updated: float = 0.0
    expires: float = 0.0
    forgotten: bool = False
    evidence: tuple[Evidence, ...] = ()

    @property
    def outcome(self) -> RecordedOutcome | None:
        """The state where it is an outcome of a dispatch, else None (in progress, no effect)."""
        if self.state == "in_progress" or self.state == "retry_allowed":
            return None
        return self.state

    @property
    def unresolved(self) -> bool:
        """Whether it waits for a status look-up."""
        return self.state in ("uncertain", "accepted")

    def to_dict(self) -> dict[str, Any]:
        """As JSON members, the key's parts among them."""
        record = dict(vars(self))
        record["key"] = dict(vars(self.key))
        record["evidence"] = [each.to_dict() for each in self.evidence]
        return record


@dataclass(frozen=True)
class LookUp:
    """What the ledger says about a call that wants to be executed.

    ``none`` is the only kind after which a call may go on. With ``changed_arguments`` the entry
    comes without its result: that belongs to other arguments.

    Attributes:
        kind: ``none``; ``recorded`` (return the entry's outcome); ``in_progress``; ``uncertain``;
            ``changed_arguments``; ``suspected_duplicate`` (an equal call, but no operation id to
            tell whether it is the same); ``expired`` (the window is over, or its result purged).
        entry: The entry it speaks of, if any.
        message: One line for the caller.
    """

    kind: LookUpKind
    entry: Entry | None = None
    message: str = ""


@dataclass(frozen=True)
class Begun:
    """An intent that is on disk: the right to invoke the handler once, while its lease lasts.

    Attributes:
        entry: As it was stored.
        attempt: Fencing token: an earlier attempt can no longer set the outcome of a later one.
    """

    entry: Entry
    attempt: int = field(default=1)

    @property
    def entry_id(self) -> str:
        """The entry's id."""
        return self.entry.id


@dataclass(frozen=True)
class Claim:
    """The right to reconcile one entry, for as long as its own lease lasts.

    Attributes:
        entry: As it was when claimed, with its evidence.
        token: Names this claim as the entry's owner.
    """

    entry: Entry
    token: str
