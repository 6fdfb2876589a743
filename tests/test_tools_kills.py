"""Writers killed at every point of a write: no effect is lost, doubled, or unknown to the ledger.

Each writer is a process of its own that sends its request over a socket to a receiver that lives on
and does *not* recognise repeats. After each SIGKILL the test looks at both sides before and after
reconciliation, and counts what it saw: the long run prints a table of kills by state.
"""

from __future__ import annotations

import random
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import pytest

pytest.importorskip("sqlalchemy")

import effects
from effects import POINTS, Receiver, Writer, dispatch, key_of
from gramlock.tools.ledger import Ledger
from gramlock.tools.reconciliation import reconcile
from gramlock.tools.tool import StatusReport, Tool

HOUR = 3600.0

# What each point leaves behind: state in the ledger after the lease, effects at the receiver.
LEFT = {
    "after_intent": ("uncertain", 0),
    "after_send": ("uncertain", 1),
    "after_effect": ("uncertain", 1),
    "before_outcome": ("uncertain", 1),
    "after_outcome": ("completed", 1),
}


@dataclass
class Killing:
    """The database, the receiver, and what was seen so far."""

    database: str
    receiver: Receiver = field(default_factory=Receiver)
    seen: Counter[tuple[str, str, int, str]] = field(default_factory=Counter)
    number: int = 0

    @property
    def name(self) -> str:
        """Of the database."""
        return "postgresql" if "://" in self.database else "sqlite"

    def writer(self, point: str | None = None) -> Writer:
        """The next operation's writer."""
        self.number += 1
        name = "" if self.name == "sqlite" else "&application_name=writer"
        return Writer(self.database + name, self.receiver.port, self.number, point)

    @cached_property
    def later(self) -> Ledger:
        """The ledger an hour from now: every lease has lapsed."""
        return Ledger(self.database, clock=lambda: time.time() + HOUR)

    def tool(self, known: bool) -> Tool:
        """The tool whose look-up tells the truth, or that it cannot tell."""

        def look_up(entry: Any, context: Any) -> StatusReport:
            if not known:
                return StatusReport("unknown")
            operation = str(entry.key.operation_id)
            if self.receiver.effects[operation]:
                return StatusReport("completed", f"done {operation}")
            return StatusReport("not_found", final=True)

        schema = {"type": "object"}
        return Tool("pay", "Pay.", schema, lambda arguments: None, status_lookup=look_up)

    def check(self, point: str, reported: Any) -> tuple[str, int]:
        """After a kill: nothing lost, nothing doubled, and everything that is uncertain listed."""
        self.receiver.settle()
        self._settle_database()
        key = key_of(self.number)
        operation = str(key.operation_id)
        count = self.receiver.effects[operation]
        assert count in (0, 1)
        ledger = self.later
        seen = ledger.look_up(key, effects.digest_of(self.number))
        state = seen.entry.state if seen.entry else "none"
        assert state in ("none", "uncertain", "completed")
        assert not (state == "none" and count), "an effect that the ledger does not know"
        assert not (state == "completed" and not count), "completed, but no effect"
        if reported is not None:
            assert reported == ("completed", f"done {operation}")
            assert state == "completed"
        listed = [entry.key for entry in ledger.unresolved()]
        assert listed == ([key] if state == "uncertain" else [])
        if state == "uncertain":
            self._stays_open(ledger)
        reports = reconcile(ledger, [self.tool(known=True)])
        after = reports[0].entry.state if reports else state
        assert ledger.unresolved() == []
        self._finish(ledger)
        self.seen[point, state, count, after] += 1
        return state, count

    def _settle_database(self) -> None:
        """Wait until the server has noticed that its client is gone: a COMMIT may be under way."""
        if self.name == "sqlite":
            return
        import psycopg

        query = "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'writer'"
        with psycopg.connect(self.database, autocommit=True) as connection:
            for _ in range(3000):
                if connection.execute(query).fetchone() == (0,):
                    return
                time.sleep(0.01)
        raise AssertionError("the killed writer's session does not end")

    def _stays_open(self, ledger: Ledger) -> None:
        """While the receiver cannot tell, nothing is sent, however often it is asked for."""
        key = key_of(self.number)
        requests = self.receiver.requests.copy()
        (report,) = reconcile(ledger, [self.tool(known=False)])
        assert not report.resolved
        assert self._dispatch(ledger) == ("uncertain", None)
        assert [entry.key for entry in ledger.unresolved()] == [key]
        assert self.receiver.requests == requests

    def _finish(self, ledger: Ledger) -> None:
        """The operation is asked for again: afterwards it has happened exactly once."""
        operation = str(key_of(self.number).operation_id)
        for _ in range(2):
            assert self._dispatch(ledger) == ("completed", f"done {operation}")
        self.receiver.settle()
        assert self.receiver.effects[operation] == 1

    def _dispatch(self, ledger: Ledger) -> tuple[str, Any]:
        """The same operation once more, by a process that lives."""
        port = self.receiver.port
        dispatcher = effects.dispatcher_of(ledger, lambda name: effects.send(port, name))
        result = dispatch(dispatcher, self.number)
        return result.outcome, result.value

    def table(self) -> str:
        """Kills by point, state in the ledger, effects, and state after reconciliation."""
        lines = [f"{'killed at':<16}{'ledger':<12}{'effects':>7}  {'reconciled':<15}{'kills':>5}"]
        for (point, state, count, after), kills in sorted(self.seen.items()):
            lines.append(f"{point:<16}{state:<12}{count:>7}  {after:<15}{kills:>5}")
        return "\n".join([*lines, f"{'together':<52}{sum(self.seen.values()):>5}"])


@pytest.fixture
def killing(database: str) -> Iterator[Killing]:
    Ledger(database).close()
    made = Killing(database)
    yield made
    made.receiver.close()
    made.later.close()


def kill_at(killing: Killing, point: str) -> None:
    writer = killing.writer(point)
    writer.start()
    assert writer.result() is None, "it died"
    assert killing.check(point, None) == LEFT[point]


def kill_at_random(killing: Killing, random_source: random.Random, longest: float) -> None:
    writer = killing.writer()
    writer.start()
    time.sleep(random_source.uniform(0, longest))
    killing.check("random", writer.kill())


def write_time(killing: Killing) -> float:
    """How long a write takes here and now."""
    seconds = []
    for _ in range(3):
        writer = killing.writer()
        writer.start()
        started = time.perf_counter()
        assert writer.result() is not None
        seconds.append(time.perf_counter() - started)
    return sorted(seconds)[1]


def test_a_writer_that_is_left_alone_completes(killing: Killing) -> None:
    writer = killing.writer()
    writer.start()
    assert killing.check("none", writer.result()) == ("completed", 1)


@pytest.mark.parametrize("point", POINTS)
def test_a_kill_at_a_named_point(killing: Killing, point: str) -> None:
    kill_at(killing, point)


def test_kills_at_random(killing: Killing) -> None:
    longest = write_time(killing)
    source = random.Random(1)
    for _ in range(4):
        kill_at_random(killing, source, longest)


@pytest.mark.long
def test_two_hundred_kills_at_random_and_twenty_at_each_point(
    killing: Killing, capsys: pytest.CaptureFixture[str]
) -> None:
    for point in POINTS:
        for _ in range(20):
            kill_at(killing, point)
    longest = write_time(killing)
    source = random.Random(2)
    for _ in range(200):
        kill_at_random(killing, source, longest)
    with capsys.disabled():
        print(f"\n{killing.name}\n{killing.table()}")
    assert sum(killing.seen.values()) == 300
