"""Where a ledger lies: files and servers, processes and threads, disks that are full."""

from __future__ import annotations

import os
import sqlite3
import stat
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from gramlock.errors import LedgerError, MissingDependencyError
from gramlock.tools.ledger import Begun, Ledger, LookUp, OperationKey
from operations import BARE, DIGEST, KEY, Clock, begin, current, refused


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def ledger(database: str, clock: Clock) -> Any:
    with Ledger(database, clock=clock, window=1000, lease=60) as opened:
        yield opened


# ---- the database


def test_another_ledger_on_the_same_database_sees_the_same(database: str) -> None:
    with Ledger(database, owner="one") as one, Ledger(database, owner="two") as two:
        begun = begin(one)
        assert refused(two).kind == "in_progress"
        assert current(two, begun).owner == "one"
        one.finish(begun, "completed", 1)
        assert refused(two).kind == "recorded"


def test_time_passes_by_itself(database: str) -> None:
    with Ledger(database, lease=0.05) as ledger:
        begin(ledger)
        stop = threading.Event()
        assert not stop.wait(0.1)
        assert refused(ledger).kind == "uncertain"


def test_threads_that_begin_together_get_one_intent(database: str) -> None:
    with Ledger(database) as ledger:
        barrier, answers = threading.Barrier(8), []

        def run(key: OperationKey) -> None:
            barrier.wait()
            answers.append(ledger.begin(key, DIGEST))

        for key, kind in ((KEY, "in_progress"), (BARE, "suspected_duplicate")):
            answers.clear()
            threads = [threading.Thread(target=run, args=(key,)) for _ in range(8)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            begun = [answer for answer in answers if isinstance(answer, Begun)]
            kinds = [answer.kind for answer in answers if isinstance(answer, LookUp)]
            if key is BARE:  # the entry under KEY is equal to it, so it is a duplicate, too
                assert not begun
            else:
                assert len(begun) == 1
            assert set(kinds) == {kind}
            assert len(kinds) == 8 - len(begun)


def test_ledgers_that_are_made_together_make_the_tables_once(database: str) -> None:
    barrier, opened = threading.Barrier(6), []

    def run() -> None:
        barrier.wait()
        opened.append(Ledger(database))

    threads = [threading.Thread(target=run) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(opened) == 6
    begin(opened[0])
    assert refused(opened[5]).kind == "in_progress"
    for ledger in opened:
        ledger.close()


def test_fail_points_are_passed_in_order(database: str) -> None:
    passed: list[str] = []
    with Ledger(database, fail_point=passed.append) as ledger:
        begun = begin(ledger)
        assert passed == ["after_intent"]
        ledger.begin(KEY, DIGEST)
        assert passed == ["after_intent"], "no intent, no place"
        ledger.finish(begun, "completed")
    assert passed == ["after_intent", "before_outcome", "after_outcome"]


def test_a_missing_ledger_is_not_made_when_it_only_should_be_read(database: str) -> None:
    with pytest.raises(LedgerError, match="there is no ledger"):
        Ledger(database, create=False)
    Ledger(database).close()
    Ledger(database, create=False).close()


def test_a_ledger_of_another_version_is_refused(database: str) -> None:
    import sqlalchemy

    with Ledger(database) as ledger:
        with ledger._store.writing() as connection:
            connection.execute(sqlalchemy.text("UPDATE gramlock_ledger SET version = 99"))
        with pytest.raises(LedgerError, match="version 99"):
            Ledger(database)


def test_a_damaged_entry_is_a_named_error(ledger: Ledger) -> None:
    import sqlalchemy

    begun = begin(ledger)
    ledger.finish(begun, "completed", 1)
    with ledger._store.writing() as connection:
        connection.execute(sqlalchemy.text("UPDATE gramlock_entries SET value = '{'"))
    for ask in (lambda: ledger.look_up(KEY, DIGEST), lambda: ledger.get(begun.entry_id)):
        with pytest.raises(LedgerError, match="damaged"):
            ask()


def test_texts_that_no_database_takes_are_named_errors(ledger: Ledger) -> None:
    begun = begin(ledger)
    with pytest.raises(LedgerError):
        ledger.get("\ud800")
    with pytest.raises(LedgerError):
        ledger.add_evidence(begun.entry_id, "\ud800")
    with pytest.raises(LedgerError):
        ledger.begin(BARE, "\ud800")


@pytest.mark.parametrize("seconds", [0, -1, float("inf"), float("nan"), "5", True, None])
def test_leases_and_windows_are_positive_seconds(ledger: Ledger, seconds: Any) -> None:
    if seconds is None:
        begin(ledger, lease=None, window=None)
        return
    for options in ({"lease": seconds}, {"window": seconds}):
        with pytest.raises(LedgerError, match="positive"):
            ledger.begin(KEY, DIGEST, **options)
    begun = begin(ledger)
    with pytest.raises(LedgerError, match="positive"):
        ledger.renew(begun, seconds)


def test_bad_options_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"
    for options in ({"window": 0}, {"lease": -1}, {"timeout": float("nan")}, {"lease": 1e13}):
        with pytest.raises(LedgerError, match="positive"):
            Ledger(path, **options)  # type: ignore[arg-type]
    with pytest.raises(TypeError):
        Ledger(path, leese=5)  # type: ignore[call-arg]


@pytest.mark.parametrize(
    "url, words",
    [
        (":memory:", "no record"),
        ("", "no record"),
        ("sqlite://", "no record"),
        ("mysql://h/d", "not in mysql"),
        ("postgresql://h:port/d", "does not parse"),
    ],
)
def test_urls_that_no_ledger_lies_at(url: str, words: str) -> None:
    with pytest.raises(LedgerError, match=words):
        Ledger(url)


def test_a_server_that_does_not_answer_is_a_named_error_without_the_password() -> None:
    pytest.importorskip("psycopg")
    with pytest.raises(LedgerError, match="connection") as caught:
        Ledger("postgresql://u:hunter2@127.0.0.1:1/d", timeout=2)
    assert "hunter2" not in str(caught.value)
    assert caught.value.__cause__ is None


def test_a_session_that_was_cut_is_replaced(cluster: Any) -> None:
    import psycopg

    schema = cluster.make_schema()
    with Ledger(cluster.url(schema)) as ledger:
        begun = begin(ledger)
        with psycopg.connect(cluster.url(), autocommit=True) as other:
            other.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
                "WHERE pid <> pg_backend_pid() AND backend_type = 'client backend'"
            )
        assert ledger.finish(begun, "completed", 1).value == 1
    cluster.drop_schema(schema)


def test_postgresql_flushes_whatever_the_role_says(cluster: Any) -> None:
    schema = cluster.make_schema()
    url = cluster.url(schema) + "%20-csynchronous_commit%3Doff"
    with Ledger(url) as ledger, ledger._store.reading() as connection:
        assert connection.exec_driver_sql("SHOW synchronous_commit").scalar() == "on"
        assert connection.exec_driver_sql("SHOW lock_timeout").scalar() == "30s"
        assert connection.exec_driver_sql("SHOW statement_timeout").scalar() == "1min"
    cluster.drop_schema(schema)


# ---- the file


def test_the_file_is_in_wal_mode_flushed_and_private(tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"
    with Ledger(path) as ledger:
        begin(ledger)
        with ledger._store.reading() as connection:

            def pragma(name: str) -> Any:
                return connection.exec_driver_sql(f"PRAGMA {name}").scalar()

            assert pragma("journal_mode") == "wal"
            assert pragma("synchronous") == 2
            assert pragma("foreign_keys") == 1
            assert pragma("busy_timeout") == 30_000
        for file in tmp_path.iterdir():
            assert stat.S_IMODE(file.stat().st_mode) == 0o600, file
        assert "ledger.db" in repr(ledger)


def test_a_writer_waits_for_another(tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"
    with Ledger(path) as ledger:
        other = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
        other.execute("BEGIN IMMEDIATE")
        timer = threading.Timer(0.3, lambda: other.execute("COMMIT"))
        timer.start()
        begin(ledger)
        timer.join()
        other.close()


def test_a_lock_that_is_never_released_is_a_named_error(tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"
    with Ledger(path, timeout=0.1) as ledger:
        other = sqlite3.connect(path, isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(LedgerError, match="locked"):
            ledger.begin(KEY, DIGEST)
        assert ledger.look_up(KEY, DIGEST).kind == "none", "readers do not wait"
        other.close()
        begin(ledger)


def test_a_file_that_is_no_database_is_a_named_error(tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"
    path.write_bytes(b"not a database at all" * 100)
    with pytest.raises(LedgerError, match="not a database"):
        Ledger(path)
    assert path.read_bytes().startswith(b"not a database")
    with pytest.raises(LedgerError, match="cannot be opened"):
        Ledger(tmp_path / "missing" / "ledger.db")


def test_an_intent_that_does_not_fit_on_the_disk_is_refused(tmp_path: Path) -> None:
    program = """
import resource, signal, sys
from gramlock.errors import LedgerError
from gramlock.tools.ledger import Begun, Ledger, OperationKey
ledger = Ledger(sys.argv[1])
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, 200_000))
for number in range(10_000):
    try:
        ledger.begin(OperationKey("u", "t", str(number)), "d", arguments="x" * 1000)
    except LedgerError as error:
        print(number, error)
        break
"""
    path = tmp_path / "ledger.db"
    command = [sys.executable, "-c", program, str(path)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    number = int(done.stdout.split()[0])
    assert "cannot be written" in done.stdout
    with Ledger(path) as ledger:
        seen = ledger.look_up(OperationKey("u", "t", str(number)), "d")
        assert seen.kind == "none", "what was refused left nothing"
        assert ledger.look_up(OperationKey("u", "t", str(number - 1)), "d").kind == "in_progress"


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_forked_child_has_connections_of_its_own(database: str) -> None:
    with Ledger(database) as ledger:
        first = begin(ledger)
        child = os.fork()
        if child == 0:
            try:
                begun = ledger.begin(OperationKey("u", "t", "child"), DIGEST)
                fine = isinstance(begun, Begun) and begun.entry.owner != first.entry.owner
                os._exit(0 if fine else 1)
            finally:
                os._exit(2)
        assert os.waitpid(child, 0)[1] == 0
        assert ledger.look_up(OperationKey("u", "t", "child"), DIGEST).kind == "in_progress"
        ledger.finish(first, "completed")


# ---- packages that are not there


def test_without_sqlalchemy_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "sqlalchemy", None)
    with pytest.raises(MissingDependencyError, match=r"gramlock\[tools\]"):
        Ledger("never-made.db")
    assert not Path("never-made.db").exists()


def test_without_psycopg_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(MissingDependencyError, match=r"gramlock\[postgres\]"):
        Ledger("postgresql://127.0.0.1/d")


def test_a_file_that_was_removed_or_replaced_takes_no_writes(tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"
    ledger = Ledger(path)
    assert isinstance(ledger.begin(OperationKey("p", "pay", "1"), "d"), Begun)
    path.unlink()
    for _ in range(2):
        with pytest.raises(LedgerError, match="No such file"):
            ledger.begin(OperationKey("p", "pay", "2"), "d")
    with Ledger(path) as other:
        with pytest.raises(LedgerError, match="another file"):
            ledger.begin(OperationKey("p", "pay", "2"), "d")
        with pytest.raises(LedgerError, match="another file"):
            ledger.look_up(OperationKey("p", "pay", "1"), "d")
        assert other.look_up(OperationKey("p", "pay", "1"), "d").kind == "none"


def test_a_relative_path_means_the_directory_of_its_beginning(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path)
    ledger = Ledger("ledger.db")
    ledger.close()
    monkeypatch.chdir(tmp_path / "elsewhere")
    assert isinstance(ledger.begin(OperationKey("p", "pay", "1"), "d"), Begun)
    assert not (tmp_path / "elsewhere" / "ledger.db").exists()
