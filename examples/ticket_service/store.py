"""The service's tables, and what may happen to them: each change is one transaction.

Two promises are made here, because nobody else could keep them:

- A change and the receipt of its idempotency key are written together or not at all. The same key
  with the same parameters gets the recorded answer for `window` seconds; with others it is refused.
  Keys belong to their caller: nobody can see, repeat or block another one's.
- A ticket is changed only by who has seen its present revision, and only while that person may.
  Both are looked at inside the transaction that changes it.

What a caller may not see does not exist for it: both are the same 404. Refusals change nothing and
leave no receipt. Each call has a connection of its own; any thread may call. Receipts of the last
`window` seconds are kept, and operations for good.
"""

from __future__ import annotations

import json
import secrets
import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

__all__ = ["Answer", "Problem", "Store"]

_TABLES = """
CREATE TABLE IF NOT EXISTS users (id TEXT PRIMARY KEY, name TEXT NOT NULL, token TEXT UNIQUE);
CREATE TABLE IF NOT EXISTS members (
    project TEXT NOT NULL,
    user TEXT NOT NULL REFERENCES users (id),
    role TEXT NOT NULL CHECK (role IN ('viewer', 'editor')),
    PRIMARY KEY (project, user)
);
CREATE TABLE IF NOT EXISTS tickets (
    id TEXT PRIMARY KEY,
    project TEXT NOT NULL,
    title TEXT NOT NULL,
    assignee TEXT REFERENCES users (id),
    revision INTEGER NOT NULL
);
CREATE TABLE IF NOT EXISTS changes (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    ticket TEXT NOT NULL REFERENCES tickets (id),
    revision INTEGER NOT NULL,
    assignee TEXT,
    caller TEXT NOT NULL,
    key TEXT NOT NULL,
    at REAL NOT NULL,
    UNIQUE (ticket, revision)
);
CREATE TABLE IF NOT EXISTS receipts (
    caller TEXT NOT NULL,
    key TEXT NOT NULL,
    parameters TEXT NOT NULL,
    answer TEXT NOT NULL,
    at REAL NOT NULL,
    PRIMARY KEY (caller, key)
);
CREATE TABLE IF NOT EXISTS operations (
    id TEXT PRIMARY KEY,
    caller TEXT NOT NULL,
    project TEXT NOT NULL,
    state TEXT NOT NULL CHECK (state IN ('running', 'completed', 'failed')),
    due REAL NOT NULL,
    result TEXT
);
"""

Role = Literal["viewer", "editor"]


@dataclass(frozen=True)
class Answer:
    """What a request is answered with.

    Attributes:
        status: HTTP's.
        body: JSON data; None where there is no body.
        revision: Of the ticket, for the ETag.
        operation: Where a slow operation is found, for Location.
        replayed: Recorded earlier, for the same key.
    """

    status: int
    body: Any = None
    revision: int | None = None
    operation: str | None = None
    replayed: bool = False


class Problem(Exception):
    """A refusal. Nothing has changed.

    Attributes:
        status: HTTP's.
        code: For programs.
        message: For people.
    """

    def __init__(self, status: int, code: str, message: str) -> None:
        self.status, self.code, self.message = status, code, message
        super().__init__(f"{status} {code}: {message}")


class Store:
    """The tables.

    Args:
        path: Of the database file, which is made if it is not there.
        window: Seconds for which a key's answer is kept.
        delay: Seconds that an export takes.
        clock: Seconds since the epoch.
    """

    def __init__(
        self,
        path: str | Path,
        *,
        window: float = 86_400.0,
        delay: float = 0.5,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self.path, self.window, self.delay, self._clock = str(path), window, delay, clock
        with self.connection() as db:
            db.execute("PRAGMA journal_mode = WAL")
            db.executescript(_TABLES)

    @contextmanager
    def connection(self) -> Iterator[sqlite3.Connection]:
        """A connection without a transaction, for administration and for tests."""
        db = sqlite3.connect(self.path, timeout=30, isolation_level=None)
        try:
            db.row_factory = sqlite3.Row
            db.execute("PRAGMA foreign_keys = ON")
            db.execute("PRAGMA synchronous = FULL")
            yield db
        finally:
            db.close()

    @contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        with self.connection() as db:
            db.execute("BEGIN IMMEDIATE")
            try:
                yield db
            except BaseException:
                db.execute("ROLLBACK")
                raise
            db.execute("COMMIT")

    # ---- administration

    def add_user(self, user: str, name: str, token: str | None = None) -> None:
        """A new user, with the token that it calls the service with."""
        with self.connection() as db:
            db.execute("INSERT INTO users VALUES (?, ?, ?)", (user, name, token))

    def set_role(self, project: str, user: str, role: Role | None) -> None:
        """What a user may do in a project; None: nothing."""
        with self._transaction() as db:
            db.execute("DELETE FROM members WHERE project = ? AND user = ?", (project, user))
            if role is not None:
                db.execute("INSERT INTO members VALUES (?, ?, ?)", (project, user, role))

    def add_ticket(self, ticket: str, project: str, title: str) -> None:
        """A new ticket, assigned to nobody."""
        with self.connection() as db:
            db.execute("INSERT INTO tickets VALUES (?, ?, ?, NULL, 1)", (ticket, project, title))

    # ---- who asks

    def caller(self, token: str) -> str:
        """The user that a token belongs to."""
        with self.connection() as db:
            row = db.execute("SELECT id FROM users WHERE token = ?", (token,)).fetchone()
        if row is None:
            raise Problem(401, "unauthenticated", "the token is unknown")
        return str(row["id"])

    # ---- reading

    def ticket(self, caller: str, ticket: str) -> Answer:
        """A ticket, with what the caller may do to it."""
        with self.connection() as db:
            row, role = self._visible(db, caller, ticket)
        body = {key: row[key] for key in ("id", "project", "title", "assignee", "revision")}
        return Answer(200, {**body, "rights": _rights(role)}, row["revision"])

    def members(self, caller: str, project: str) -> Answer:
        """Who belongs to a project."""
        with self.connection() as db:
            self._role(db, caller, project)
            rows = db.execute(
                "SELECT users.id, users.name, members.role FROM members"
                " JOIN users ON users.id = members.user WHERE project = ? ORDER BY users.id",
                (project,),
            ).fetchall()
        return Answer(200, {"project": project, "members": [dict(row) for row in rows]})

    def operation(self, caller: str, operation: str) -> Answer:
        """How far a slow operation is: for who began it, and only for that one."""
        with self.connection() as db:
            row = db.execute(
                "SELECT * FROM operations WHERE id = ? AND caller = ?", (operation, caller)
            ).fetchone()
        if row is None:
            raise Problem(404, "not_found", "no such operation")
        result = json.loads(row["result"]) if row["result"] else None
        return Answer(200, {"id": row["id"], "state": row["state"], "result": result})

    def receipt(self, caller: str, key: str) -> Answer:
        """What became of the caller's request with a key.

        That it is unknown is final as far as the caller can tell: a request with this key that
        arrives after all, or again, changes something at most once.
        """
        with self.connection() as db:
            row = self._receipt(db, caller, key)
        if row is None:
            return Answer(404, {"code": "unknown_key", "final": True})
        answer = json.loads(row["answer"])
        parameters = json.loads(row["parameters"])
        return Answer(200, {"key": key, "parameters": parameters, "answer": answer})

    # ---- changing

    def assign(
        self, caller: str, ticket: str, assignee: str | None, revision: int, key: str
    ) -> Answer:
        """Assign a ticket to a member of its project, or to nobody."""

        def permitted(db: sqlite3.Connection) -> None:
            if self._visible(db, caller, ticket)[1] != "editor":
                raise Problem(403, "forbidden", "assigning needs the role of an editor")

        def change(db: sqlite3.Connection) -> Answer:
            row = self._visible(db, caller, ticket)[0]
            if row["revision"] != revision:
                raise Problem(412, "stale", f"the ticket is at revision {row['revision']}")
            if assignee is not None and self._member(db, row["project"], assignee) is None:
                raise Problem(422, "not_a_member", "the assignee is no member of the project")
            new = revision + 1
            db.execute(
                "UPDATE tickets SET assignee = ?, revision = ? WHERE id = ?",
                (assignee, new, ticket),
            )
            db.execute(
                "INSERT INTO changes (ticket, revision, assignee, caller, key, at)"
                " VALUES (?, ?, ?, ?, ?, ?)",
                (ticket, new, assignee, caller, key, self._clock()),
            )
            return Answer(204, None, new)

        return self._once(caller, key, ["assign", ticket, assignee, revision], permitted, change)

    def start_export(self, caller: str, project: str, key: str) -> Answer:
        """Begin a report on a project. It ends later, one way or the other."""

        def permitted(db: sqlite3.Connection) -> None:
            self._role(db, caller, project)

        def change(db: sqlite3.Connection) -> Answer:
            operation = f"O-{secrets.token_hex(6)}"
            db.execute(
                "INSERT INTO operations VALUES (?, ?, ?, 'running', ?, NULL)",
                (operation, caller, project, self._clock() + self.delay),
            )
            return Answer(202, {"id": operation, "state": "running"}, operation=operation)

        return self._once(caller, key, ["export", project], permitted, change)

    def run_due(self) -> int:
        """End the exports whose time has come; how many there were. An empty project fails."""
        with self._transaction() as db:
            due = db.execute(
                "SELECT id, project FROM operations WHERE state = 'running' AND due <= ?",
                (self._clock(),),
            ).fetchall()
            for row in due:
                count = db.execute(
                    "SELECT count(*), count(assignee) FROM tickets WHERE project = ?",
                    (row["project"],),
                ).fetchone()
                result: dict[str, Any] = {"tickets": count[0], "assigned": count[1]}
                if not count[0]:
                    result = {"code": "empty", "message": "the project has no tickets"}
                db.execute(
                    "UPDATE operations SET state = ?, result = ? WHERE id = ?",
                    ("completed" if count[0] else "failed", json.dumps(result), row["id"]),
                )
        return len(due)

    # ---- inside a transaction

    def _once(
        self,
        caller: str,
        key: str,
        parameters: list[Any],
        permitted: Callable[[sqlite3.Connection], None],
        change: Callable[[sqlite3.Connection], Answer],
    ) -> Answer:
        """*change*, unless this key has been answered before. A refusal leaves no receipt."""
        text = json.dumps(parameters)
        with self._transaction() as db:
            permitted(db)
            row = self._receipt(db, caller, key)
            if row is not None:
                if row["parameters"] != text:
                    raise Problem(422, "key_reused", "this key was used with other parameters")
                return replace(Answer(**json.loads(row["answer"])), replayed=True)
            answer = change(db)
            now = self._clock()
            db.execute("DELETE FROM receipts WHERE at <= ?", (now - self.window,))
            recorded = {name: value for name, value in vars(answer).items() if name != "replayed"}
            db.execute(
                "INSERT INTO receipts VALUES (?, ?, ?, ?, ?)",
                (caller, key, text, json.dumps(recorded), now),
            )
        return answer

    def _receipt(self, db: sqlite3.Connection, caller: str, key: str) -> sqlite3.Row | None:
        row: sqlite3.Row | None = db.execute(
            "SELECT * FROM receipts WHERE caller = ? AND key = ? AND at > ?",
            (caller, key, self._clock() - self.window),
        ).fetchone()
        return row

    def _member(self, db: sqlite3.Connection, project: str, user: str) -> str | None:
        row = db.execute(
            "SELECT role FROM members WHERE project = ? AND user = ?", (project, user)
        ).fetchone()
        return None if row is None else str(row["role"])

    def _role(self, db: sqlite3.Connection, caller: str, project: str) -> str:
        role = self._member(db, project, caller)
        if role is None:
            raise Problem(404, "not_found", "no such project")
        return role

    def _visible(self, db: sqlite3.Connection, caller: str, ticket: str) -> tuple[sqlite3.Row, str]:
        row = db.execute("SELECT * FROM tickets WHERE id = ?", (ticket,)).fetchone()
        role = None if row is None else self._member(db, row["project"], caller)
        if role is None:
            raise Problem(404, "not_found", "no such ticket")
        return row, role


def _rights(role: str) -> list[str]:
    return ["assign", "read"] if role == "editor" else ["read"]
