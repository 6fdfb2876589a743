"""The ledger of effects: an intent on disk before each write, its outcome after it.

A write that is sent over a network can be lost before it happens, after it happened, or while its
answer travels back; a process can die at any line. The ledger makes two promises about that, and
keeps them across threads, processes and, on PostgreSQL, machines:

* no handler is invoked for a key while another invocation of it may still be under way, has an
  outcome, or ended without a known one;
* no effect exists that the ledger has no entry for.

Whether an *uncertain* effect exists only the receiver can say (:mod:`gramlock.tools.reconciliation`
asks it), and whether a retry that it allowed is absorbed when the first request arrives late after
all, only the receiver can promise. docs/tools-ledger.md tells both halves.

Every method may be called from any thread and raises :class:`LedgerError` when the database cannot
be read or written. Cost: one transaction each; those that write wait for the disk.
Tested by tests/test_tools_ledger.py, test_tools_ledger_machine.py and test_tools_kills.py.
"""

from __future__ import annotations

import json
import os
import socket
import uuid
from collections.abc import Callable, Iterable
from dataclasses import replace
from types import TracebackType
from typing import Any

from ..errors import LedgerError
from . import ledger_rows as rows
from .ledger_records import (
    Begun,
    Claim,
    Entry,
    Evidence,
    LookUp,
    OperationKey,
    RecordedOutcome,
    State,
)
from .ledger_tables import Store, statements, tables

__all__ = ["Begun", "Claim", "Entry", "Evidence", "Ledger", "LookUp", "OperationKey"]

_ATTEMPTS = 5  # an entry seen may be abandoned by its owner before it is read


class Ledger:
    """The record of what was to be written, was written, or may have been.

    Args:
        path_or_url: A file for SQLite, or ``postgresql://user@host/database``.
        window: Seconds, from the first intent, in which the receiver recognises a repeated
            operation. Choose it shorter than the receiver's own retention: after it nothing is
            sent again under the key.
        lease: Seconds that an intent counts as being worked on unless it is renewed.
        owner: Name of this process in the entries; by default host, process id and a random part.
        clock: Seconds since 1970; by default the system's, on PostgreSQL the server's.
        timeout: Longest wait for the database, in seconds.
        create: Whether to make the tables (and the file) where there are none.
        fail_point: Called with the name of a place in the life of a write: ``after_intent``,
            ``before_outcome``, ``after_outcome``. For tests that end the process there.

    Raises:
        LedgerError: The database cannot be opened, is no ledger, or is of another version.
        MissingDependencyError: SQLAlchemy, or psycopg for PostgreSQL, is not installed.
    """

    def __init__(
        self,
        path_or_url: str | os.PathLike[str] = "gramlock-ledger.db",
        *,
        window: float = 86_400.0,
        lease: float = 60.0,
        owner: str | None = None,
        clock: Callable[[], float] | None = None,
        timeout: float = 30.0,
        create: bool = True,
        fail_point: Callable[[str], None] | None = None,
    ) -> None:
        self.window, self.lease = _seconds("window", window), _seconds("lease", lease)
        timeout = _seconds("timeout", timeout)
        self._owner, self._salt = owner, uuid.uuid4().hex[:8]
        self._fail_point = fail_point or (lambda name: None)
        self._store = Store(path_or_url, clock=clock, timeout=timeout, create=create)

    def __repr__(self) -> str:
        return f"Ledger({str(self._store)!r})"

    def __enter__(self) -> Ledger:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections; the ledger opens new ones if it is used again."""
        self._store.close()

    @property
    def owner(self) -> str:
        """Name of this process in the entries (another in a forked child)."""
        return self._owner or f"{socket.gethostname()}:{os.getpid()}:{self._salt}"

    # ---- before the write

    def look_up(self, key: OperationKey, digest: str) -> LookUp:
        """What is known about this operation, or without an operation id about equal calls.

        Reads only. Between this and :meth:`begin` another may begin; begin decides.
        """
        key.check()
        with self._store.reading() as connection:
            now = self._store.now(connection)
            row = rows.find(connection, key, digest, now)
            return rows.judge(connection, key, row, digest, now)

    def begin(
        self,
        key: OperationKey,
        digest: str,
        *,
        arguments: Any = None,
        lease: float | None = None,
        window: float | None = None,
        duplicate_ok: bool = False,
    ) -> Begun | LookUp:
        """Store the intent, atomically, or say why the handler must not be invoked.

        Args:
            key: Whose operation.
            digest: Of the arguments.
            arguments: Redacted arguments as JSON, for people and status look-ups; larger than
                1 MiB they are left out.
            lease: Instead of the ledger's.
            window: Instead of the ledger's, for a tool whose receiver remembers longer or shorter.
            duplicate_ok: Begin a call without operation id although an equal one is recorded: the
                application knows that both are meant.

        Returns:
            :class:`Begun` when the intent is on disk and the handler may be invoked, once; else a
            :class:`LookUp` of any kind but ``none``.

        Raises:
            LedgerError: Nothing is known to be stored, so nothing may be executed.
        """
        key.check()
        lease = self.lease if lease is None else _seconds("lease", lease)
        window = self.window if window is None else _seconds("window", window)
        with self._store.writing() as connection:
            now = self._store.now(connection, lock=key.content_hash(digest))
            until = now + lease
            found: Entry | None = None
            if key.operation_id is None and not duplicate_ok:
                found = rows.find(connection, key, digest, now)
            entry = Entry(
                id=uuid.uuid4().hex,
                key=key,
                digest=digest,
                state="in_progress",
                arguments=arguments,
                owner=self.owner,
                lease_until=until,
                created=now,
                updated=now,
                expires=now + window,
            )
            if found is None and self._store.insert(connection, rows.to_columns(entry)):
                begun = Begun(entry)
            else:
                answer = self._repeat(connection, key, digest, found, now, until)
                if isinstance(answer, LookUp):
                    return answer
                begun = answer
        self._fail_point("after_intent")
        return begun

    def abandon(self, begun: Begun) -> None:
        """Take the intent back: it is certain that nothing was sent. Leaves no key.

        A retry goes back to ``retry_allowed``. Does nothing when the attempt is no longer current.
        """
        known = tables().entries
        mine = (
            (known.c.id == begun.entry_id)
            & (known.c.attempt == begun.attempt)
            & (known.c.state == "in_progress")
        )
        with self._store.writing() as connection:
            if begun.attempt == 1:
                connection.execute(known.delete().where(mine))
                return
            now = self._store.now(connection)
            values = {"state": "retry_allowed", "lease_until": now, "updated": now}
            connection.execute(known.update().where(mine).values(**values))

    def renew(self, begun: Begun, lease: float | None = None) -> bool:
        """Prolong the lease from now; False when the entry is no longer this owner's."""
        known = tables().entries
        mine = (
            (known.c.id == begun.entry_id)
            & (known.c.attempt == begun.attempt)
            & (known.c.owner == begun.entry.owner)
            & known.c.state.in_(("in_progress", "uncertain"))
        )
        lease = self.lease if lease is None else _seconds("lease", lease)
        with self._store.writing() as connection:
            until = self._store.now(connection) + lease
            changed = connection.execute(known.update().where(mine).values(lease_until=until))
            return bool(changed.rowcount == 1)

    # ---- after the write

    def finish(
        self,
        begun: Begun,
        outcome: RecordedOutcome,
        value: Any = None,
        *,
        message: str | None = None,
        reference: str | None = None,
        details: Any = None,
        running: bool = False,
    ) -> Entry:
        """Record what became of the write.

        Args:
            begun: From :meth:`begin`.
            outcome: ``completed``, ``failed``, ``invalid_result``, ``accepted``, ``uncertain``.
            value: The result that a repeat gets. One that is no JSON or is over 1 MiB is not
                kept; its outcome is.
            message: One line about the outcome.
            reference: The receiver's name of an operation begun elsewhere.
            details: JSON that a replay needs besides.
            running: With ``uncertain``: the handler may still be at work, so the lease stays and
                nobody reconciles before it lapses.

        Returns:
            The entry as it stands now. When the attempt had already been given up, by
            reconciliation or by an earlier outcome, what is given here becomes evidence
            (``late_result``) and the state is what held before.

        Raises:
            LedgerError: The outcome is not stored; the entry reads as uncertain when its lease
                lapses.
            ValueError: No such outcome.
        """
        if outcome not in rows.OUTCOMES:
            raise ValueError(f"no outcome of a write: {outcome!r}")
        self._fail_point("before_outcome")
        values = rows.result_columns(value, message, reference, details)
        mine = {"of_id": begun.entry_id, "of_attempt": begun.attempt}
        with self._store.writing() as connection:
            now = self._store.now(connection)
            values |= {"state": outcome, "updated": now}
            if not running:
                values["lease_until"] = now
            if connection.execute(statements().finish, values | mine).rowcount == 1:
                entry = replace(begun.entry, **rows.from_columns(values))
            else:
                self._add_late(connection, begun, outcome, value, message, details, now)
                entry = rows.read(connection, begun.entry_id, now)
        self._fail_point("after_outcome")
        return entry

    def amend(
        self,
        begun: Begun,
        outcome: RecordedOutcome = "invalid_result",
        value: Any = None,
        *,
        message: str | None = None,
        details: Any = None,
    ) -> Entry:
        """Turn a completed entry into ``invalid_result``: its value broke the tool's contract.

        Raises:
            LedgerError: It cannot be stored.
            ValueError: Another outcome than ``invalid_result``.
        """
        if outcome != "invalid_result":
            raise ValueError("a completed write can only turn out to have an invalid result")
        known = tables().entries
        mine = (known.c.id == begun.entry_id) & (known.c.attempt == begun.attempt)
        with self._store.writing() as connection:
            now = self._store.now(connection)
            values = rows.result_columns(value, message, None, details)
            del values["reference"]
            values |= {"state": outcome, "updated": now}
            done = (known.c.state == "completed") & mine
            connection.execute(known.update().where(done).values(**values))
            return rows.read(connection, begun.entry_id, now)

    def late(
        self,
        begun: Begun,
        outcome: RecordedOutcome,
        value: Any = None,
        *,
        message: str | None = None,
        details: Any = None,
    ) -> None:
        """Record what a handler brought after it had been given up, and end its lease.

        It is evidence, which reconciliation weighs; a retry that had been allowed meanwhile is
        withdrawn when the late result says that an effect exists.
        """
        if outcome not in rows.OUTCOMES:
            raise ValueError(f"no outcome of a write: {outcome!r}")
        with self._store.writing() as connection:
            now = self._store.now(connection)
            self._add_late(connection, begun, outcome, value, message, details, now)

    def add_evidence(self, entry_id: str, kind: str, data: Any = None) -> None:
        """Note something about an entry; the same thing noted again is counted.

        Raises:
            LedgerError: No such entry, or *data* is no JSON or is too large.
        """
        text = rows.encode(data)
        if text is None:
            raise LedgerError("evidence: no JSON value, or over 1 MiB")
        with self._store.writing() as connection:
            now = self._store.now(connection)
            rows.read(connection, entry_id, now)
            rows.note(connection, entry_id, kind, text, now)

    # ---- what is open

    def get(self, entry_id: str) -> Entry | None:
        """One entry with its evidence, or None."""
        known = tables().entries
        with self._store.reading() as connection:
            now = self._store.now(connection)
            row = connection.execute(known.select().where(known.c.id == entry_id)).first()
            return rows.with_evidence(connection, [rows.to_entry(row, now)])[0] if row else None

    def unresolved(self, *, tool: str | None = None, limit: int | None = None) -> list[Entry]:
        """Entries that wait for a status look-up: uncertain and accepted ones, oldest first.

        Those whose owner holds a live lease are not among them, unless the owner itself has
        already said that the outcome is uncertain.
        """
        known = tables().entries
        with self._store.reading() as connection:
            now = self._store.now(connection)
            query = known.select().where(rows.waiting(now)).order_by(known.c.created, known.c.id)
            if tool is not None:
                query = query.where(known.c.tool == tool)
            if limit is not None:
                query = query.limit(limit)
            entries = [rows.to_entry(row, now) for row in connection.execute(query)]
            return rows.with_evidence(connection, entries)

    def claim(self, entry_id: str, lease: float | None = None) -> Claim | None:
        """The right to reconcile an unresolved entry; None when another holds it or it is settled.

        An intent whose lease has lapsed becomes ``uncertain`` for good.
        """
        known = tables().entries
        token = f"{self.owner}:{uuid.uuid4().hex[:8]}"
        lease = self.lease if lease is None else _seconds("lease", lease)
        with self._store.writing() as connection:
            now = self._store.now(connection)
            free = (known.c.id == entry_id) & rows.waiting(now) & (known.c.lease_until <= now)
            row = connection.execute(known.select().where(free).with_for_update()).first()
            if row is None:
                return None
            until = now + lease
            state = "accepted" if row.state == "accepted" else "uncertain"
            values = {"state": state, "owner": token, "lease_until": until}
            connection.execute(known.update().where(known.c.id == entry_id).values(**values))
            entry = replace(rows.to_entry(row, now), owner=token, lease_until=until)
            return Claim(rows.with_evidence(connection, [entry])[0], token)

    def settle(
        self,
        claim: Claim,
        state: State | None,
        value: Any = None,
        *,
        message: str | None = None,
        reference: str | None = None,
        details: Any = None,
        value_kept: bool = True,
        evidence: Iterable[tuple[str, Any]] = (),
    ) -> Entry | None:
        """Write down what reconciliation found, and give the claim back.

        Args:
            claim: From :meth:`claim`.
            state: ``completed``, ``failed``, ``invalid_result`` or ``retry_allowed``; None leaves
                the entry unresolved. ``retry_allowed`` is refused (the entry stays as it was)
                past its window, for an accepted operation, and when a late result arrived.
            value: The result, as for :meth:`finish`.
            message: One line.
            reference: The receiver's name of the operation, if it told one.
            details: JSON that a replay needs besides.
            value_kept: False where the operation has a result that is not known here.
            evidence: Pairs of kind and JSON data to note.

        Returns:
            The entry as it stands now; None when the claim had lapsed and another took over, in
            which case only the evidence is noted.
        """
        if state not in (None, "completed", "failed", "invalid_result", "retry_allowed"):
            raise ValueError(f"reconciliation cannot end in {state!r}")
        known = tables().entries
        with self._store.writing() as connection:
            now = self._store.now(connection)
            owned = (known.c.id == claim.entry.id) & (known.c.owner == claim.token)
            row = connection.execute(known.select().where(owned).with_for_update()).first()
            for kind, data in evidence:
                rows.note(connection, claim.entry.id, kind, rows.encode(data) or "null", now)
            if row is None or row.state not in ("uncertain", "accepted"):
                return None
            entry = rows.to_entry(row, now)
            values: dict[str, Any] = {"lease_until": now}
            if state == "retry_allowed":
                allowed = row.state == "uncertain" and now < row.expires
                if allowed and not rows.has_late_effect(connection, row.id):
                    values |= {"state": state, "updated": now}
            elif state is not None:
                values |= rows.result_columns(value, message, reference or entry.reference, details)
                values |= {"state": state, "updated": now}
                values["value_kept"] &= value_kept
            connection.execute(known.update().where(owned).values(**values))
            return rows.with_evidence(connection, [rows.read(connection, claim.entry.id, now)])[0]

    def purge(self, older_than: float | None = None) -> int:
        """Forget the results of operations that are settled and whose window is over.

        Keys stay, so that an operation is never executed twice however late it is repeated: a
        repeat is answered ``expired``. Entries without an operation id go as a whole. Unresolved
        ones are never purged.

        Args:
            older_than: Only those whose window ended before this time (seconds since 1970);
                default now.

        Returns:
            How many entries were forgotten or removed.
        """
        known, noted = tables().entries, tables().evidence
        with self._store.writing() as connection:
            now = self._store.now(connection)
            limit = now if older_than is None else min(now, older_than)
            settled = ("completed", "failed", "invalid_result", "retry_allowed")
            old = (known.c.expires < limit) & known.c.state.in_(settled)
            gone = connection.execute(known.delete().where(old & known.c.key_hash.is_(None)))
            keyed = old & known.c.forgotten.is_(False)
            ids = known.select().with_only_columns(known.c.id).where(keyed).scalar_subquery()
            connection.execute(noted.delete().where(noted.c.entry_id.in_(ids)))
            columns = ("value", "message", "reference", "details", "arguments")
            values: dict[str, Any] = dict.fromkeys(columns)
            values |= {"forgotten": True, "value_kept": False}
            kept = connection.execute(known.update().where(keyed).values(**values))
            return int(gone.rowcount + kept.rowcount)

    # ---- inside a transaction

    def _repeat(
        self,
        connection: Any,
        key: OperationKey,
        digest: str,
        found: Entry | None,
        now: float,
        until: float,
    ) -> Begun | LookUp:
        """The key, or an equal call, is there already: an answer, or a retry that was allowed."""
        entry = found
        for _ in range(_ATTEMPTS):
            entry = entry or rows.find(connection, key, digest, now, lock=True)
            if entry is not None:
                break
        if entry is None:
            raise LedgerError("the operation's entry comes and goes; nothing was executed")
        answer = rows.judge(connection, key, entry, digest, now)
        if answer.kind != "none":
            return answer
        known = tables().entries
        attempt = entry.attempt + 1
        values = {
            "state": "in_progress",
            "attempt": attempt,
            "owner": self.owner,
            "lease_until": until,
            "updated": now,
        }
        connection.execute(known.update().where(known.c.id == entry.id).values(**values))
        rows.note(connection, entry.id, "retry", json.dumps({"attempt": attempt}), now)
        retried = replace(
            entry,
            state="in_progress",
            attempt=attempt,
            owner=self.owner,
            lease_until=until,
            updated=now,
        )
        return Begun(retried, attempt)

    def _add_late(
        self,
        connection: Any,
        begun: Begun,
        outcome: str,
        value: Any,
        message: str | None,
        details: Any,
        now: float,
    ) -> None:
        """A result that came after its attempt was given up."""
        data = {"outcome": outcome, "attempt": begun.attempt, "message": message}
        text = rows.encode({**data, "value": value, "value_kept": True, "details": details})
        text = text or rows.encode({**data, "value": None, "value_kept": False, "details": None})
        # Locked first: a reconciliation that would allow a retry sees this result, or is seen here.
        rows.read(connection, begun.entry_id, now, lock=True)
        rows.note(connection, begun.entry_id, "late_result", text or "null", now)
        known = tables().entries
        same = (known.c.id == begun.entry_id) & (known.c.attempt == begun.attempt)
        held = (known.c.owner == begun.entry.owner) & known.c.state.in_(
            ("in_progress", "uncertain")
        )
        connection.execute(known.update().where(same & held).values(lease_until=now))
        if outcome in rows.EFFECT:
            allowed = (known.c.id == begun.entry_id) & (known.c.state == "retry_allowed")
            values = {"state": "uncertain", "updated": now, "lease_until": now}
            connection.execute(known.update().where(allowed).values(**values))


def _seconds(name: str, value: float) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < 1e12:
        raise LedgerError(f"{name}: expected a positive number of seconds")
    return float(value)
