"""Random lives of a dispatcher with a ledger, against a model of what may have happened.

Calls of a few operations come in any order, with handlers that succeed, refuse, lose their reply or
break their contract, rules that change their minds, approvals that are given and withdrawn, and a
process that dies at the named points. After each step the receiver's effects, the handler's runs
and every result must fit the model; what the ledger lists as unresolved must be just what the model
does not know.
"""

from __future__ import annotations

import asyncio
import shutil
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("hypothesis")
pytest.importorskip("sqlalchemy")

import hypothesis.strategies as st
from hypothesis import HealthCheck, settings
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from gramlock.errors import InvalidResultError
from gramlock.tools import (
    Accepted,
    ApprovalStore,
    Context,
    Dispatcher,
    Ledger,
    Tool,
    ToolCall,
    ToolError,
    ToolResult,
    approve,
)

PRINCIPALS = ("P1", "P2")
OPERATIONS = ("O1", "O2", "O3")
AMOUNTS = (1, 2)
WAYS = ("done", "refuses", "lost", "nothing", "odd", "broken", "begun", "exits")
LEASE = 60.0


class Death(BaseException):
    """The process dies here: nothing after it happens."""


@dataclass
class Known:
    """What the model knows of one operation.

    Attributes:
        amount: Of the call that was recorded.
        state: Its recorded outcome, or ``"running"`` while a dead owner's lease lasts.
        until: When that lease lapses.
        value: Of its recorded result.
    """

    amount: int
    state: str
    until: float = 0.0
    value: Any = None


class Life(RuleBasedStateMachine):
    """One dispatcher, one ledger, one receiver."""

    def __init__(self) -> None:
        super().__init__()
        self.directory = Path(tempfile.mkdtemp())
        self.now = 1_000.0
        self.ledger = Ledger(
            self.directory / "ledger.db", lease=LEASE, window=1e9, clock=lambda: self.now
        )
        self.store = ApprovalStore()
        self.way = "done"
        self.dies_at: str | None = None
        self.permitted, self.holds, self.must_be_approved = True, True, False
        self.runs = 0
        self.effects: dict[tuple[str, str], int] = {}
        self.known: dict[tuple[str, str], Known] = {}
        self.approvals: dict[tuple[str, int], int] = {}
        self.acting: tuple[str, str] = ("", "")
        self.tool = Tool(
            "pay",
            "Pays.",
            {
                "type": "object",
                "properties": {"amount": {"type": "integer", "maximum": 2}},
                "required": ["amount"],
            },
            self.pay,
            result={"type": "object"},
            permission=lambda arguments, context: self.permitted,
            approval=lambda arguments, context: self.must_be_approved,
            preconditions=[lambda arguments, context: self.holds],
        )
        self.dispatcher = Dispatcher(
            [self.tool],
            ledger=self.ledger,
            approvals=self.store,
            clock=lambda: self.now,
            fail_point=self.point,
            threads=2,
        )

    def teardown(self) -> None:
        self.ledger.close()
        shutil.rmtree(self.directory)

    # ---- the world

    def point(self, name: str) -> None:
        if name == self.dies_at:
            raise Death

    def pay(self, arguments: dict[str, Any], context: Context) -> Any:
        assert (context.principal, context.operation_id) == self.acting
        self.runs += 1
        acts: dict[str, Callable[[], Any]] = {
            "done": lambda: self.effect({"amount": arguments["amount"]}),
            "refuses": lambda: self.raises(ToolError("no")),
            "lost": lambda: self.effect(ConnectionResetError()),
            "nothing": lambda: self.raises(ConnectionRefusedError()),
            "odd": lambda: self.effect([1]),
            "broken": lambda: self.effect(InvalidResultError("odd")),
            "begun": lambda: self.effect(Accepted("op-1")),
            "exits": lambda: self.effect(SystemExit()),
        }
        return acts[self.way]()

    def effect(self, answer: Any) -> Any:
        self.effects[self.acting] = self.effects.get(self.acting, 0) + 1
        return self.raises(answer) if isinstance(answer, BaseException) else answer

    @staticmethod
    def raises(error: BaseException) -> Any:
        raise error

    # ---- what may change at any time

    @rule(way=st.sampled_from(WAYS))
    def the_receiver_changes(self, way: str) -> None:
        self.way = way

    @rule(permitted=st.booleans(), holds=st.booleans(), approval=st.booleans())
    def the_rules_change(self, permitted: bool, holds: bool, approval: bool) -> None:
        self.permitted, self.holds, self.must_be_approved = permitted, holds, approval

    @rule()
    def all_is_allowed(self) -> None:
        self.permitted, self.holds, self.must_be_approved = True, True, False

    @rule(seconds=st.sampled_from([1.0, LEASE, 1_000.0]))
    def time_passes(self, seconds: float) -> None:
        self.now += seconds
        if seconds >= LEASE:
            for known in self.known.values():
                if known.state == "running" and known.until <= self.now:
                    known.state = "uncertain"

    @rule(principal=st.sampled_from(PRINCIPALS), amount=st.sampled_from(AMOUNTS))
    def an_approval_is_given(self, principal: str, amount: int) -> None:
        approve(
            ToolCall("pay", {"amount": amount}),
            self.tool,
            Context(principal=principal),
            "boss",
            store=self.store,
            seconds=1e8,
            clock=lambda: self.now,
        )
        key = principal, amount
        self.approvals[key] = self.approvals.get(key, 0) + 1

    # ---- calls

    @rule(
        principal=st.sampled_from(PRINCIPALS),
        operation=st.sampled_from(OPERATIONS),
        amount=st.sampled_from(AMOUNTS),
        by_tasks=st.booleans(),
    )
    def a_call(self, principal: str, operation: str, amount: int, by_tasks: bool) -> None:
        self.calls(principal, operation, amount, None, by_tasks)

    @rule(
        principal=st.sampled_from(PRINCIPALS),
        operation=st.sampled_from(OPERATIONS),
        amount=st.sampled_from(AMOUNTS),
        dies_at=st.sampled_from(["after_intent", "before_outcome", "after_outcome"]),
    )
    def a_call_of_a_process_that_dies(
        self, principal: str, operation: str, amount: int, dies_at: str
    ) -> None:
        self.calls(principal, operation, amount, dies_at, False)

    def calls(
        self, principal: str, operation: str, amount: int, dies_at: str | None, by_tasks: bool
    ) -> None:
        key = principal, operation
        expected = self.expected(key, amount)
        runs, effects = self.runs, self.effects.get(key, 0)
        self.acting, self.dies_at = key, dies_at if expected is None else None
        result = self.dispatch(amount, Context(principal=principal, operation_id=operation))
        if by_tasks and result is not None and result.outcome == "rejected":
            again = asyncio.run(
                self.dispatcher.dispatch_async(
                    ToolCall("pay", {"amount": amount}, "c1"),
                    Context(principal=principal, operation_id=operation),
                )
            )
            assert (again.outcome, again.boundary) == (result.outcome, result.boundary)
        if expected is not None:
            assert result is not None
            assert (result.outcome, result.boundary) == expected
            assert (self.runs, self.effects.get(key, 0)) == (runs, effects)
            assert result.replayed == (expected[0] != "rejected")
            if expected[0] == "completed":
                assert result.value == self.known[key].value
            return
        if self.must_be_approved:
            self.approvals[principal, amount] -= 1
        self.learn(key, amount, result, self.runs - runs, self.effects.get(key, 0) - effects)

    def dispatch(self, amount: int, context: Context) -> ToolResult | None:
        """The result; None where the process died, or left by an exit."""
        try:
            result = self.dispatcher.dispatch(ToolCall("pay", {"amount": amount}, "c1"), context)
        except Death:
            return None
        except SystemExit:
            assert self.way == "exits"
            return None
        assert result.call_id == "c1"
        return result

    def expected(self, key: tuple[str, str], amount: int) -> tuple[str, str | None] | None:
        """Outcome and boundary of a call that must not run; None where it must."""
        known = self.known.get(key)
        if not self.permitted:
            return "rejected", "authorise"
        if known is not None:
            if known.amount != amount or known.state == "running":
                return "rejected", "ledger"
            return known.state, "result" if known.state == "invalid_result" else None
        if self.must_be_approved and not self.approvals.get((key[0], amount)):
            return "rejected", "approval"
        return None if self.holds else ("rejected", "precondition")

    def learn(
        self, key: tuple[str, str], amount: int, result: ToolResult | None, runs: int, effects: int
    ) -> None:
        """A call that had to run did so, once, unless its process died before."""
        assert runs == (0 if self.dies_at == "after_intent" else 1)
        assert effects == (0 if self.way in ("refuses", "nothing") else 1) * runs
        outcome = {
            "done": "completed",
            "refuses": "failed",
            "lost": "uncertain",
            "nothing": "uncertain",
            "odd": "invalid_result",
            "broken": "invalid_result",
            "begun": "accepted",
            "exits": "uncertain",
        }[self.way]
        value = {"amount": amount} if outcome == "completed" else None
        if self.dies_at in ("after_intent", "before_outcome"):
            self.known[key] = Known(amount, "running", self.now + LEASE)
        elif self.dies_at == "after_outcome" and self.way == "odd":
            # recorded as completed, not yet found to be odd: found at the replay
            self.known[key] = Known(amount, "invalid_result")
        else:
            self.known[key] = Known(amount, outcome, value=value)
        if result is None:
            assert self.dies_at is not None or self.way == "exits"
            return
        assert result.outcome == outcome
        assert not result.replayed
        entry = self.ledger.get(result.entry_id)
        assert entry is not None
        assert entry.state == outcome
        assert result.value == ({"amount": amount} if outcome == "completed" else result.value)

    @rule(amount=st.sampled_from([3, "1", True, None]))
    def a_call_that_is_no_good(self, amount: Any) -> None:
        runs = self.runs
        context = Context(principal="P1", operation_id="O1")
        result = self.dispatcher.dispatch(ToolCall("pay", {"amount": amount}, "c2"), context)
        assert (result.outcome, result.boundary) == ("rejected", "schema")
        assert self.runs == runs

    # ---- what always holds

    @invariant()
    def no_operation_has_two_effects(self) -> None:
        assert all(count <= 1 for count in self.effects.values())

    @invariant()
    def no_effect_is_unknown_to_the_ledger(self) -> None:
        assert set(self.effects) <= set(self.known)

    @precondition(lambda self: self.known)
    @invariant()
    def the_unresolved_are_listed(self) -> None:
        listed = {
            (entry.key.principal, entry.key.operation_id) for entry in self.ledger.unresolved()
        }
        assert listed == {
            key for key, known in self.known.items() if known.state in ("uncertain", "accepted")
        }

    @invariant()
    def approvals_are_counted(self) -> None:
        assert len(self.store) == sum(self.approvals.values())

    @invariant()
    def no_place_is_lost(self) -> None:
        assert self.dispatcher.close(5)
        workers = self.dispatcher._parts.workers
        taken = [workers.reserve("thread") for _ in range(2)]
        for _ in taken:
            workers.release("thread")
        assert taken == [True, True]


TestLife = Life.TestCase
TestLife.settings = settings(
    max_examples=30,
    stateful_step_count=50,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
)
