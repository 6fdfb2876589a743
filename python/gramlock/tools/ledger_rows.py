"""Rows of the ledger's tables: read, weighed and noted, each inside a transaction of its caller.

These functions decide what an entry means; :mod:`gramlock.tools.ledger` decides when to ask. Texts
other than identifiers are stored as JSON in ASCII. Tested by tests/test_tools_ledger.py.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import replace
from decimal import Decimal
from math import isfinite
from typing import Any

from ..errors import LedgerError
from .json_text import dumps
from .json_values import fault_in
from .ledger_records import Entry, Evidence, LookUp, OperationKey
from .ledger_tables import statements, tables

__all__ = [
    "EFFECT",
    "NO_EFFECT",
    "OUTCOMES",
    "decode",
    "encode",
    "find",
    "from_columns",
    "has_late_effect",
    "judge",
    "note",
    "read",
    "result_columns",
    "to_columns",
    "to_entry",
    "waiting",
    "with_evidence",
]

#: Largest stored value, in bytes of its JSON text; larger ones belong into a store of results.
MAX_VALUE = 1 << 20

#: States in which an effect exists or may exist, in which none does, and which a repeat is told.
EFFECT = ("completed", "invalid_result", "accepted")
NO_EFFECT = ("failed", "retry_allowed")
RECORDED = (*EFFECT, "failed")
OUTCOMES = frozenset((*RECORDED, "uncertain"))

_BEYOND_ASCII = re.compile(r"[^\x00-\x7f]")


def find(
    connection: Any, key: OperationKey, digest: str, now: float, lock: bool = False
) -> Entry | None:
    """The entry of a key; without one the newest equal call that may have had an effect."""
    if key.operation_id is not None:
        query = statements().by_key
    else:
        known = tables().entries
        equal = (known.c.content_hash == key.content_hash(digest)) & (known.c.expires > now)
        query = known.select().where(equal & known.c.state.not_in(NO_EFFECT))
        query = query.order_by(known.c.created.desc()).limit(1)
    if lock:
        query = query.with_for_update()
    row = connection.execute(query, {"of_key": key.hash}).first()
    return None if row is None else to_entry(row, now)


def judge(
    connection: Any, key: OperationKey, entry: Entry | None, digest: str, now: float
) -> LookUp:
    """What a call has to be told about the entry that stands in its way."""
    if entry is None:
        return LookUp("none")
    if key.operation_id is None:
        return LookUp(
            "suspected_duplicate",
            replace(entry, value=None, value_kept=False, details=None),
            f"an equal call is recorded as {entry.id} ({entry.state}); without an operation "
            "id nothing tells whether this is the same wish or a second one",
        )
    if entry.digest != digest:
        hidden: dict[str, Any] = dict.fromkeys(("value", "message", "reference", "details"))
        bare = replace(entry, **hidden, arguments=None, value_kept=False)
        return LookUp("changed_arguments", bare, "this operation was begun with other arguments")
    late = now >= entry.expires
    if entry.forgotten:
        return LookUp("expired", entry, "the operation's window is over, its result forgotten")
    if entry.state in RECORDED:
        return LookUp("recorded", entry, "this operation has a recorded outcome")
    if entry.state == "in_progress":
        return LookUp("in_progress", entry, "this operation is being executed by another call")
    if late:
        message = "the operation's window is over: nothing is sent again under its key"
        return LookUp("expired", entry, message)
    if entry.state == "retry_allowed":
        return LookUp("none", entry, "the receiver promised that it never saw the operation")
    (entry,) = with_evidence(connection, [entry])
    message = "whether this operation took effect is unknown; it is not sent again"
    return LookUp("uncertain", entry, message)


def waiting(now: float) -> Any:
    """SQL condition: waits for a status look-up."""
    known = tables().entries
    lapsed = (known.c.state == "in_progress") & (known.c.lease_until <= now)
    return lapsed | known.c.state.in_(("uncertain", "accepted"))


def read(connection: Any, entry_id: str, now: float, *, lock: bool = False) -> Entry:
    """One entry without its evidence; :class:`LedgerError` where there is none."""
    query = statements().by_id
    row = connection.execute(
        query.with_for_update() if lock else query, {"of_id": entry_id}
    ).first()
    if row is None:
        raise LedgerError(f"no entry {entry_id} in the ledger")
    return to_entry(row, now)


def has_late_effect(connection: Any, entry_id: str) -> bool:
    """Whether a late result of any attempt says that there may be an effect."""
    noted = tables().evidence
    mine = (noted.c.entry_id == entry_id) & (noted.c.kind == "late_result")
    found = [decode(row.data) for row in connection.execute(noted.select().where(mine))]
    return any(isinstance(data, dict) and data.get("outcome") in EFFECT for data in found)


def note(connection: Any, entry_id: str, kind: str, text: str, now: float) -> None:
    """Add evidence, or count it where the same was noted before: periodic look-ups add no rows."""
    noted = tables().evidence
    same = (noted.c.entry_id == entry_id) & (noted.c.kind == kind) & (noted.c.data == text)
    seen = noted.update().where(same).values(times=noted.c.times + 1, last_at=now)
    if connection.execute(seen).rowcount:
        return
    row = {"kind": kind, "data": text, "first_at": now, "last_at": now, "times": 1}
    connection.execute(noted.insert().values(entry_id=entry_id, **row))


def with_evidence(connection: Any, entries: Sequence[Entry]) -> list[Entry]:
    """The entries with what was noted about them, oldest first."""
    noted = tables().evidence
    found: dict[str, list[Evidence]] = {entry.id: [] for entry in entries}
    ids = list(found)
    for start in range(0, len(ids), 500):  # SQLite bounds the parameters of a statement
        mine = noted.c.entry_id.in_(ids[start : start + 500])
        for row in connection.execute(noted.select().where(mine).order_by(noted.c.id)):
            data = decode(row.data)
            found[row.entry_id].append(
                Evidence(row.kind, data, row.first_at, row.last_at, row.times)
            )
    return [replace(entry, evidence=tuple(found[entry.id])) for entry in entries]


def to_entry(row: Any, now: float) -> Entry:
    """A row as an entry; an intent whose lease has lapsed reads as uncertain."""
    try:
        return _to_entry(row, now)
    except (ValueError, ArithmeticError, RecursionError):
        raise LedgerError(f"the entry {row.id} of the ledger is damaged") from None


def _to_entry(row: Any, now: float) -> Entry:
    lapsed = row.state == "in_progress" and row.lease_until <= now
    return Entry(
        id=row.id,
        key=OperationKey(row.principal, row.tool, row.operation_id),
        digest=row.digest,
        state="uncertain" if lapsed else row.state,
        value=decode(row.value),
        value_kept=row.value_kept,
        message=decode(row.message),
        reference=decode(row.reference),
        details=decode(row.details),
        arguments=decode(row.arguments),
        owner=row.owner,
        lease_until=row.lease_until,
        attempt=row.attempt,
        created=row.created,
        updated=row.updated,
        expires=row.expires,
        forgotten=row.forgotten,
    )


def to_columns(entry: Entry) -> dict[str, Any]:
    """The columns of a new entry."""
    key = entry.key
    return {
        "id": entry.id,
        "key_hash": key.hash,
        "content_hash": key.content_hash(entry.digest),
        "principal": key.principal,
        "tool": key.tool,
        "operation_id": key.operation_id,
        "digest": entry.digest,
        "state": entry.state,
        "attempt": entry.attempt,
        "owner": entry.owner,
        "lease_until": entry.lease_until,
        "created": entry.created,
        "updated": entry.updated,
        "expires": entry.expires,
        "forgotten": False,
        "value_kept": False,
        "arguments": encode(entry.arguments),
    }


def from_columns(columns: dict[str, Any]) -> dict[str, Any]:
    """What an entry reads where these were written."""
    texts = ("value", "message", "reference", "details")
    return {name: decode(v) if name in texts else v for name, v in columns.items()}


def result_columns(
    value: Any, message: str | None, reference: str | None, details: Any
) -> dict[str, Any]:
    """The columns that hold what became of a write."""
    text = encode(value)
    return {
        "value": text,
        "value_kept": text is not None,
        "message": None if message is None else encode(message),
        "reference": None if reference is None else encode(reference),
        "details": None if details is None else encode(details),
    }


def encode(value: Any) -> str | None:
    """ASCII JSON text with exact numbers; None for what JSON cannot express or is over 1 MiB."""
    if fault_in(value) is not None:
        return None
    text: str | None
    try:
        text = json.dumps(value, separators=(",", ":"))
    except TypeError:  # the standard library does not know Decimal
        text = _encode_exactly(value)
    except (ValueError, RecursionError):  # an integer of thousands of digits; a shallow stack
        return None
    return text if text is not None and len(text) <= MAX_VALUE else None


def _encode_exactly(value: Any) -> str | None:
    try:
        text = _BEYOND_ASCII.sub(_escape, dumps(value))
        decode(text)  # what could not be read again is better left out
    except ValueError:
        return None
    return text


def _escape(match: re.Match[str]) -> str:
    return json.dumps(match[0])[1:-1]


def decode(text: str | None) -> Any:
    """The value of a stored text, None for NULL."""
    return None if text is None else json.loads(text, parse_float=_number)


def _number(text: str) -> float | Decimal:
    """A float where it stands for exactly this decimal, else a Decimal."""
    double, exact = float(text), Decimal(text)
    return double if isfinite(double) and Decimal(repr(double)) == exact else exact
