"""The ledger's tables, and transactions on them that are the same for SQLite and PostgreSQL.

SQLite: one file in WAL mode, ``synchronous=FULL`` (a commit has reached the disk when it returns;
``NORMAL`` may lose the last ones when the power fails), a busy timeout, and every transaction that
writes opened by ``BEGIN IMMEDIATE``: a deferred one that upgrades from reading fails at once when
another writer was there in between, whatever the busy timeout. PostgreSQL: read committed,
``synchronous_commit=on``, a lock timeout, and an advisory lock where SQLite's single writer is
needed. All texts that are not identifiers are JSON in ASCII, since PostgreSQL has no U+0000 and
neither has lone surrogates.

Errors of the database become :class:`LedgerError` without SQL, parameters or passwords. A store
may be used by many threads; a forked child opens connections of its own.

Cost: a write is one transaction, so one flush to disk. Tested by tests/test_tools_ledger_store.py.
"""

from __future__ import annotations

import functools
import os
import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from ..errors import LedgerError, MissingDependencyError

__all__ = ["Store", "statements", "tables"]

_VERSION = 1
_SETUP_LOCK = 0x6772616D6C6F636B  # an advisory lock's number, nothing else uses it
_POOL = 8
_OVERFLOW = 56


def _sqlalchemy() -> Any:
    try:
        import sqlalchemy
    except ImportError as error:
        raise MissingDependencyError("sqlalchemy", "tools") from error
    return sqlalchemy


def _psycopg() -> Any:
    try:
        import psycopg
    except ImportError as error:
        raise MissingDependencyError("psycopg", "postgres") from error
    return psycopg


@functools.cache
def tables() -> SimpleNamespace:
    """The tables: ``entries``, ``evidence``, ``version``, and their ``metadata``."""
    sa = _sqlalchemy()
    metadata = sa.MetaData()
    text, number, name = sa.Text, sa.Double, sa.String(64)
    entries = sa.Table(
        "gramlock_entries",
        metadata,
        sa.Column("id", sa.String(32), primary_key=True),
        # NULL where the call has no operation id; both databases let NULLs repeat.
        sa.Column("key_hash", name, unique=True),
        sa.Column("content_hash", name, nullable=False),
        sa.Column("principal", text),
        sa.Column("tool", text, nullable=False),
        sa.Column("operation_id", text),
        sa.Column("digest", text, nullable=False),
        sa.Column("state", sa.String(16), nullable=False, index=True),
        sa.Column("attempt", sa.Integer, nullable=False),
        sa.Column("owner", text, nullable=False),
        sa.Column("lease_until", number, nullable=False),
        sa.Column("created", number, nullable=False),
        sa.Column("updated", number, nullable=False),
        sa.Column("expires", number, nullable=False),
        sa.Column("forgotten", sa.Boolean, nullable=False),
        sa.Column("value_kept", sa.Boolean, nullable=False),
        sa.Column("value", text),
        sa.Column("message", text),
        sa.Column("reference", text),
        sa.Column("details", text),
        sa.Column("arguments", text),
        sa.Index("gramlock_entries_content", "content_hash", "expires"),
    )
    evidence = sa.Table(
        "gramlock_evidence",
        metadata,
        sa.Column("id", sa.Integer, primary_key=True, autoincrement=True),
        sa.Column("entry_id", sa.ForeignKey("gramlock_entries.id", ondelete="CASCADE"), index=True),
        sa.Column("kind", text, nullable=False),
        sa.Column("data", text),
        sa.Column("first_at", number, nullable=False),
        sa.Column("last_at", number, nullable=False),
        sa.Column("times", sa.Integer, nullable=False),
    )
    version = sa.Table("gramlock_ledger", metadata, sa.Column("version", sa.Integer))
    return SimpleNamespace(entries=entries, evidence=evidence, version=version, metadata=metadata)


@functools.cache
def statements() -> SimpleNamespace:
    """What runs around every write, built once: building takes longer than running it.

    ``by_id`` (of_id), ``by_key`` (of_key), ``finish`` (of_id, of_attempt; its other parameters are
    the columns to set), ``insert`` by database (its parameters are the columns).
    """
    from sqlalchemy.dialects import postgresql, sqlite

    sa, entries = _sqlalchemy(), tables().entries
    of = sa.bindparam
    current = (entries.c.id == of("of_id")) & (entries.c.attempt == of("of_attempt"))
    insert = {
        name: dialect.insert(entries)
        .on_conflict_do_nothing(index_elements=["key_hash"])
        .execution_options(preserve_rowcount=True)
        for name, dialect in (("sqlite", sqlite), ("postgresql", postgresql))
    }
    return SimpleNamespace(
        by_id=entries.select().where(entries.c.id == of("of_id")),
        by_key=entries.select().where(entries.c.key_hash == of("of_key")),
        finish=entries.update().where(current & (entries.c.state == "in_progress")),
        insert=insert,
    )


class Store:
    """Connections to one database, and the two kinds of transaction on it."""

    def __init__(
        self,
        path_or_url: str | os.PathLike[str],
        *,
        clock: Callable[[], float] | None,
        timeout: float,
        create: bool,
    ) -> None:
        self._clock, self._timeout = clock, timeout
        self.url = _url(path_or_url)
        self.sqlite = self.url.get_backend_name() == "sqlite"
        self._pid = os.getpid()
        self._file: tuple[int, int] | None = None
        # The driver's own errors come bare from where connections are set up.
        self._errors: tuple[type[Exception], ...] = (
            _sqlalchemy().exc.SQLAlchemyError,
            sqlite3.Error if self.sqlite else _psycopg().Error,
            OSError,
            UnicodeError,  # a lone surrogate
        )
        with self.reported("opened"):
            if self.sqlite:
                _prepare_file(Path(self.url.database), create)
            self._engine = self._connect()
            self._prepare(create)
            self._file = self._identity()

    def __str__(self) -> str:
        return str(self.url.render_as_string(hide_password=True))

    @property
    def engine(self) -> Any:
        """The engine; a forked child leaves its parent's connections alone."""
        if self._pid != os.getpid():
            self._engine.dispose(close=False)
            self._pid = os.getpid()
        return self._engine

    def close(self) -> None:
        """Close the connections that no transaction uses."""
        self.engine.dispose()

    @contextmanager
    def reported(self, what: str) -> Iterator[None]:
        """Turn what the database raises into :class:`LedgerError`."""
        try:
            yield
        except self._errors as error:
            cause = getattr(error, "orig", None) or error
            reason = " ".join(str(cause).split())[:300] or type(cause).__name__
            raise LedgerError(f"the ledger {self} cannot be {what}: {reason}") from None

    @contextmanager
    def reading(self) -> Iterator[Any]:
        """A transaction that only reads."""
        with self.reported("read"), self.engine.connect() as connection:
            self._check_file()
            yield connection

    @contextmanager
    def writing(self) -> Iterator[Any]:
        """A transaction that holds SQLite's write lock from its start; commits at the end."""
        with self.reported("written"), self.engine.connect() as plain:
            self._check_file()
            connection = plain.execution_options(gramlock_immediate=True)
            with connection.begin():
                yield connection

    def _identity(self) -> tuple[int, int] | None:
        """Which file SQLite's path names at this moment."""
        if not self.sqlite:
            return None
        found = os.stat(self.url.database)
        return found.st_dev, found.st_ino

    def _check_file(self) -> None:
        """A file that was removed or replaced takes writes that nobody will ever read."""
        if self._file is not None and self._identity() != self._file:
            raise OSError("another file has taken its place")

    def now(self, connection: Any, lock: str | None = None) -> float:
        """Seconds since 1970; on PostgreSQL the server's, which all machines share.

        *lock* names what nobody else may begin until this transaction ends: on SQLite nobody else
        writes anyway.
        """
        if not self.sqlite and lock is not None:
            _advisory_lock(connection, int(lock[:15], 16))
        if self._clock is not None:
            return float(self._clock())
        if self.sqlite:
            return time.time()
        return float(
            connection.exec_driver_sql("SELECT extract(epoch from clock_timestamp())").scalar()
        )

    def insert(self, connection: Any, columns: dict[str, Any]) -> bool:
        """Add an entry; False, and nothing is changed, when its key is there already."""
        statement = statements().insert["sqlite" if self.sqlite else "postgresql"]
        return bool(connection.execute(statement, columns).rowcount == 1)

    def _connect(self) -> Any:
        sa = _sqlalchemy()
        options: dict[str, Any] = {
            "hide_parameters": True,
            "pool_size": _POOL,
            "max_overflow": _OVERFLOW,
            "pool_timeout": self._timeout,
        }
        milliseconds = max(1, int(self._timeout * 1000))
        if self.sqlite:
            options["connect_args"] = {"timeout": self._timeout, "check_same_thread": False}
            options["poolclass"] = sa.pool.QueuePool
            engine = sa.create_engine(self.url, **options)
            sa.event.listen(engine, "connect", functools.partial(_set_up_sqlite, milliseconds))
            sa.event.listen(engine, "begin", _begin_sqlite)
            return engine
        options["pool_pre_ping"] = True
        # A server that is gone without a word must not hold a write for a quarter of an hour.
        options["connect_args"] = {
            "connect_timeout": max(2, int(self._timeout)),
            "tcp_user_timeout": milliseconds,
        }
        engine = sa.create_engine(self.url, **options)
        sa.event.listen(engine, "connect", functools.partial(_set_up_postgresql, milliseconds))
        return engine

    def _prepare(self, create: bool) -> None:
        """Make the tables if there are none, and refuse those of another version."""
        sa, known = _sqlalchemy(), tables()
        with self.reading() as connection:
            there = sa.inspect(connection).has_table(known.version.name)
        if not there and not create:
            raise LedgerError(f"there is no ledger at {self}")
        if not there:
            with self.writing() as connection:
                if not self.sqlite:
                    _advisory_lock(connection, _SETUP_LOCK)
                known.metadata.create_all(connection)
                if connection.execute(sa.select(known.version.c.version)).first() is None:
                    connection.execute(sa.insert(known.version).values(version=_VERSION))
        with self.reading() as connection:
            found = connection.execute(sa.select(known.version.c.version)).scalar()
        if found != _VERSION:
            raise LedgerError(
                f"the ledger {self} has version {found}; this program reads {_VERSION}"
            )


def _url(path_or_url: str | os.PathLike[str]) -> Any:
    """The database's URL; a text without ``://`` is a file's path."""
    sa = _sqlalchemy()
    text = os.fspath(path_or_url)
    if "://" not in text:
        url = sa.engine.URL.create("sqlite", database=text)
    else:
        try:
            url = sa.engine.make_url(text.replace("postgres://", "postgresql://", 1))
        except (sa.exc.ArgumentError, ValueError):
            raise LedgerError("the ledger's URL does not parse") from None
    kind = url.get_backend_name()
    if kind not in ("sqlite", "postgresql"):
        raise LedgerError(f"a ledger lies in SQLite or PostgreSQL, not in {kind}")
    if kind == "sqlite":
        if url.database in (None, "", ":memory:") or url.query:
            raise LedgerError("a ledger in SQLite is a file: what lives in memory is no record")
        # Absolute: a process that changes its directory keeps its ledger.
        return url.set(drivername="sqlite", database=os.path.abspath(url.database))
    return url.set(drivername="postgresql+psycopg")


def _prepare_file(path: Path, create: bool) -> None:
    """Make the file readable by its owner only: it holds what others have ordered and paid."""
    if not create:
        if not path.is_file():
            raise LedgerError(f"there is no ledger at {path}")
        return
    with suppress(FileExistsError):
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))


def _set_up_sqlite(milliseconds: int, connection: Any, record: object) -> None:
    """What every new connection to the file needs."""
    connection.isolation_level = None  # this module says BEGIN itself
    cursor = connection.cursor()
    cursor.execute(f"PRAGMA busy_timeout={milliseconds}")
    deadline = time.monotonic() + milliseconds / 1000
    while True:  # changing the journal mode does not wait for other processes by itself
        try:
            mode = cursor.execute("PRAGMA journal_mode=WAL").fetchone()[0]
            break
        except sqlite3.OperationalError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.01)
    if mode != "wal":
        raise sqlite3.OperationalError(f"journal mode {mode}: this file system has no WAL")
    cursor.execute("PRAGMA synchronous=FULL")
    cursor.execute("PRAGMA fullfsync=ON")  # means something on macOS only
    cursor.execute("PRAGMA foreign_keys=ON")
    cursor.close()


def _set_up_postgresql(milliseconds: int, connection: Any, record: object) -> None:
    """What every new session needs, whatever the server's defaults are."""
    with connection.cursor() as cursor:
        cursor.execute("SET synchronous_commit = on")
        cursor.execute(f"SET lock_timeout = {milliseconds}")
        cursor.execute(f"SET statement_timeout = {2 * milliseconds}")
        cursor.execute(f"SET idle_in_transaction_session_timeout = {milliseconds}")
    connection.commit()


def _begin_sqlite(connection: Any) -> None:
    immediate = connection.get_execution_options().get("gramlock_immediate", False)
    connection.exec_driver_sql("BEGIN IMMEDIATE" if immediate else "BEGIN")


def _advisory_lock(connection: Any, number: int) -> None:
    sa = _sqlalchemy()
    connection.execute(sa.text("SELECT pg_advisory_xact_lock(:number)"), {"number": number})
