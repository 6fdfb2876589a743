"""Random lives of operations against a model: what hypothesis may do, and what must hold after it.

The machine plays everyone: handlers that send while their lease lasts, finish, crash or come late;
a receiver that keeps no keys and answers truthfully or not at all; processes that reconcile; time.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import Any

import pytest

pytest.importorskip("hypothesis")
pytest.importorskip("sqlalchemy")

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from gramlock.tools.ledger import Begun, Ledger, LookUp, OperationKey
from gramlock.tools.reconciliation import reconcile
from gramlock.tools.tool import StatusReport, Tool

LEASE, WINDOW = 60, 1000
OPERATIONS = ["one", "two"]
DIGESTS = ["a" * 64, "b" * 64]
_runs = itertools.count()


@dataclass
class Handler:
    """An invocation that is under way, or was given up while it ran."""

    begun: Begun
    operation: str
    until: float
    sent: bool = False
    given_up: bool = False


class Life(RuleBasedStateMachine):
    """Two operations of one tool, on a ledger that other examples use as well."""

    database: str

    def __init__(self) -> None:
        super().__init__()
        self.seconds = 1_000_000.0
        self.tool_name = f"pay_{next(_runs)}"
        self.ledger = Ledger(self.database, clock=self.clock, lease=LEASE, window=WINDOW)
        self.handlers: list[Handler] = []
        self.effects = dict.fromkeys(OPERATIONS, 0)
        self.first: dict[str, tuple[str, float]] = {}  # digest and time of the first intent
        self.ids: dict[str, str] = {}

    def clock(self) -> float:
        return self.seconds

    def teardown(self) -> None:
        self.ledger.close()

    def key(self, operation: str) -> OperationKey:
        return OperationKey("u-1", self.tool_name, operation)

    def state(self, operation: str) -> str:
        entry = self.ledger.get(self.ids[operation]) if operation in self.ids else None
        return "none" if entry is None else entry.state

    @initialize()
    def start(self) -> None:
        assert self.ledger.unresolved(tool=self.tool_name) == []

    # ---- callers

    @rule(operation=st.sampled_from(OPERATIONS), digest=st.sampled_from(DIGESTS))
    def begin(self, operation: str, digest: str) -> None:
        key, before = self.key(operation), self.state(operation)
        seen = self.ledger.look_up(key, digest)
        answer = self.ledger.begin(key, digest)
        if isinstance(answer, LookUp):
            assert seen.kind == answer.kind == self.expected(operation, digest, before)
            return
        assert seen.kind == "none"
        assert before in ("none", "retry_allowed")
        assert self.effects[operation] == 0, "begun though an effect exists"
        assert not any(h.operation == operation and h.until > self.seconds for h in self.handlers)
        if before == "none":
            self.first[operation] = (digest, self.seconds)
        assert self.first[operation][0] == digest
        assert self.seconds < self.first[operation][1] + WINDOW
        self.ids[operation] = answer.entry_id
        self.handlers.append(Handler(answer, operation, self.seconds + LEASE))

    def expected(self, operation: str, digest: str, state: str) -> str:
        """The kind of answer that this state calls for."""
        first, created = self.first[operation]
        entry = self.ledger.get(self.ids[operation])
        assert entry is not None
        if digest != first:
            return "changed_arguments"
        if entry.forgotten:
            return "expired"
        if state in ("uncertain", "retry_allowed"):
            return "expired" if self.seconds >= created + WINDOW else "uncertain"
        return "in_progress" if state == "in_progress" else "recorded"

    # ---- handlers

    def pick(self, data: Any, **wanted: bool) -> Handler:
        fitting = [h for h in self.handlers if all(getattr(h, k) == v for k, v in wanted.items())]
        return data.draw(st.sampled_from(fitting))  # type: ignore[no-any-return]

    def has(self, **wanted: bool) -> bool:
        return any(all(getattr(h, k) == v for k, v in wanted.items()) for h in self.handlers)

    @precondition(lambda self: any(h.until > self.seconds and not h.sent for h in self.handlers))
    @rule(data=st.data())
    def send(self, data: Any) -> None:
        handler = data.draw(
            st.sampled_from([h for h in self.handlers if h.until > self.seconds and not h.sent])
        )
        handler.sent = True
        self.effects[handler.operation] += 1

    @precondition(lambda self: self.has(given_up=False))
    @rule(data=st.data())
    def return_to_the_caller(self, data: Any) -> None:
        handler = self.pick(data, given_up=False)
        self.handlers.remove(handler)
        self.ledger.finish(handler.begun, "completed" if handler.sent else "failed", 1)

    @precondition(lambda self: self.has(given_up=False, sent=True))
    @rule(data=st.data())
    def be_accepted(self, data: Any) -> None:
        handler = self.pick(data, given_up=False, sent=True)
        self.handlers.remove(handler)
        self.ledger.finish(handler.begun, "accepted", reference="op-1")

    @precondition(lambda self: self.has(given_up=False))
    @rule(data=st.data())
    def raise_an_error(self, data: Any) -> None:
        handler = self.pick(data, given_up=False)
        self.handlers.remove(handler)
        self.ledger.finish(handler.begun, "uncertain")

    @precondition(lambda self: self.has(given_up=False))
    @rule(data=st.data())
    def pass_the_time_limit(self, data: Any) -> None:
        handler = self.pick(data, given_up=False)
        handler.given_up = True
        self.ledger.finish(handler.begun, "uncertain", running=True)

    @precondition(lambda self: self.has(given_up=True))
    @rule(data=st.data())
    def return_late(self, data: Any) -> None:
        handler = self.pick(data, given_up=True)
        self.handlers.remove(handler)
        self.ledger.late(handler.begun, "completed" if handler.sent else "failed", 1)

    @precondition(lambda self: bool(self.handlers))
    @rule(data=st.data())
    def crash(self, data: Any) -> None:
        self.handlers.remove(self.pick(data))

    @precondition(lambda self: bool(self.handlers))
    @rule(data=st.data())
    def renew(self, data: Any) -> None:
        handler = self.pick(data)
        if self.ledger.renew(handler.begun):
            handler.until = self.seconds + LEASE

    @precondition(lambda self: self.has(sent=False, given_up=False))
    @rule(data=st.data())
    def take_back(self, data: Any) -> None:
        handler = self.pick(data, sent=False, given_up=False)
        self.handlers.remove(handler)
        self.ledger.abandon(handler.begun)

    # ---- time and others

    @rule(seconds=st.sampled_from([1, LEASE // 2, LEASE, WINDOW]))
    def wait(self, seconds: int) -> None:
        self.seconds += seconds

    @rule(kind=st.sampled_from(["truth", "truth", "unknown", "stale", "other", "raises"]))
    def reconcile(self, kind: str) -> None:
        def look_up(entry: Any, context: Any) -> StatusReport:
            if kind == "raises":
                raise ConnectionError
            if kind == "other":
                return StatusReport("completed", arguments_digest="c" * 64)
            if kind == "unknown" or (kind == "stale" and self.effects[entry.key.operation_id]):
                return StatusReport("not_found")
            if self.effects[entry.key.operation_id]:
                return StatusReport("completed", 1, arguments_digest=entry.digest)
            return StatusReport("not_found", final=True)

        tool = Tool(self.tool_name, "Pay.", {"type": "object"}, max, status_lookup=look_up)
        for report in reconcile(self.ledger, [tool], tool=self.tool_name):
            if kind in ("other", "raises"):
                late = any(each.kind == "late_result" for each in report.before.evidence)
                assert not report.resolved or (late and kind == "raises")

    @rule()
    def purge(self) -> None:
        self.ledger.purge()

    # ---- what must hold

    @invariant()
    def effects_are_single_and_known(self) -> None:
        for operation in OPERATIONS:
            state, count = self.state(operation), self.effects[operation]
            assert count <= 1, "doubled"
            if count:
                assert state in ("completed", "uncertain", "in_progress", "accepted")
            if state in ("completed", "accepted"):
                assert count == 1

    @invariant()
    def unresolved_is_complete(self) -> None:
        listed = {e.key.operation_id for e in self.ledger.unresolved(tool=self.tool_name)}
        assert listed == {o for o in OPERATIONS if self.state(o) in ("uncertain", "accepted")}
        for handler in self.handlers:
            if not handler.given_up and handler.until > self.seconds:
                assert handler.operation not in listed, "its owner is alive"


@pytest.mark.parametrize("database", ["sqlite", "postgresql"], indirect=True)
def test_random_lives(database: str, thorough: bool) -> None:
    machine = type("Lives", (Life,), {"database": database})
    run_state_machine_as_test(
        machine,
        settings=settings(
            max_examples=100 if thorough else 12,
            stateful_step_count=40 if thorough else 20,
            deadline=None,
            suppress_health_check=list(HealthCheck),
        ),
    )
