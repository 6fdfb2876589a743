"""Scenarios of uncertain effects: each is played through the dispatcher and observed.

A scenario's name is its id in ``tool_cases.jsonl`` beside the checkout, where the file's own
expectations are checked as well. A crash is an exception that nothing in the package catches: what
it interrupts records nothing more. Crashes of real processes are in test_tools_kills.py.
"""

from __future__ import annotations

import json
import random
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("sqlalchemy")
pytest.importorskip("jsonschema")
pytest.importorskip("regress")

import effects
from gramlock.tools import Context, Dispatcher, Tool, ToolCall, ToolResult, approve, digest
from gramlock.tools.ledger import Ledger
from gramlock.tools.reconciliation import reconcile
from gramlock.tools.tool import StatusReport, ToolLimits
from test_tools_kills import Killing, kill_at_random, write_time

WINDOW = 1000.0
SCHEMA = {
    "type": "object",
    "properties": {"to": {"type": "string"}, "amount": {"type": "integer"}, "note": {}},
    "required": ["to", "amount"],
    "additionalProperties": False,
}
A = {"to": "X", "amount": 5}
B = {"to": "X", "amount": 6}


class Crash(BaseException):
    """The process is gone."""


class Scene:
    """A ledger, a receiver, and a dispatcher that can be replaced by that of a new process."""

    def __init__(self, database: str) -> None:
        self.database = database
        self.now = 1_000_000.0
        self.dedupes = True
        self.fault: Callable[[], None] = lambda: None  # after the effect
        self.crash_at: str | None = None
        self.runs = 0  # of the handler
        self.requests = 0
        self.records: dict[str, tuple[str, dict[str, Any]]] = {}  # the receiver's, by key
        self.effects: list[tuple[str, dict[str, Any]]] = []
        self.say: Callable[[Any], Any] = self.truth
        self.options: dict[str, Any] = {}
        self.ledger = self.open()

    def open(self) -> Ledger:
        def fail_point(name: str) -> None:
            if name == self.crash_at:
                self.crash_at = None
                raise Crash

        return Ledger(
            self.database,
            clock=lambda: self.now,
            window=WINDOW,
            lease=60,
            fail_point=fail_point,
        )

    def tool(self) -> Tool:
        options = {"status_lookup": lambda entry, context: self.say(entry), **self.options}
        return Tool("pay", "Pay.", SCHEMA, self.handle, **options)

    def handle(self, arguments: dict[str, Any], context: Context) -> Any:
        self.runs += 1
        value = self.receive(f"{context.principal}:{context.operation_id}", arguments)
        self.fault()
        return value

    def receive(self, key: str, arguments: dict[str, Any]) -> str:
        self.requests += 1
        known = self.records.get(key) if self.dedupes else None
        if known is None:
            self.effects.append((key, arguments))
            known = self.records[key] = (f"r{len(self.effects)}", arguments)
        return known[0]

    # ---- what a look-up may say

    def truth(self, entry: Any) -> StatusReport:
        known = self.records.get(f"{entry.key.principal}:{entry.key.operation_id}")
        if known is None:
            return StatusReport("not_found", final=True)
        return StatusReport("completed", known[0], arguments_digest=digest(known[1]))

    # ---- what happens

    def dispatch(
        self,
        arguments: Any = None,
        operation: str | None = "K",
        principal: str = "P1",
        id: str = "c1",
    ) -> ToolResult:
        dispatcher = Dispatcher([self.tool()], ledger=self.ledger)
        call = ToolCall("pay", A if arguments is None else arguments, id)
        return dispatcher.dispatch(call, Context(principal=principal, operation_id=operation))

    def crash(self, point: str) -> None:
        self.crash_at = point
        with pytest.raises(Crash):
            self.dispatch()
        self.restart()

    def restart(self) -> None:
        """A new process, after the old one's lease has lapsed."""
        self.now += 60
        self.ledger.close()
        self.ledger = self.open()

    def lose_reply(self) -> ToolResult:
        """A dispatch whose answer never comes."""

        def fault() -> None:
            raise ConnectionError("reset by peer")

        self.fault = fault
        result = self.dispatch()
        self.fault = lambda: None
        assert result.outcome == "uncertain"
        return result

    def reconcile(self, report: Any = None) -> Any:
        if report is not None:
            self.say = lambda entry: report
        (found,) = reconcile(self.ledger, [self.tool()])
        return found

    def listed(self) -> bool:
        return len(self.ledger.unresolved()) == 1


Seen = dict[str, Any]
Play = Callable[[Scene], Seen]
SCENARIOS: dict[str, Play] = {}


def scenario(name: str) -> Callable[[Play], Play]:
    def add(play: Play) -> Play:
        SCENARIOS[name] = play
        return play

    return add


def told(scene: Scene, result: ToolResult, **more: Any) -> Seen:
    """The usual observations."""
    return {
        "effects": len(scene.effects),
        "handler_runs": scene.runs,
        "sent_again": max(0, scene.requests - 1),
        "outcome": result.outcome,
        "value": result.value,
        "boundary": result.boundary,
        **more,
    }


# ---- crashes


@scenario("led-crash-before-intent")
def crash_before_intent(scene: Scene) -> Seen:
    def gone(*arguments: Any, **options: Any) -> Any:
        raise Crash

    scene.ledger.begin = gone  # type: ignore[method-assign]
    with pytest.raises(Crash):
        scene.dispatch()
    scene.restart()
    assert scene.ledger.unresolved() == []
    return told(scene, scene.dispatch())


@scenario("led-crash-after-effect-inconclusive")
def crash_after_effect(scene: Scene) -> Seen:
    scene.crash("before_outcome")
    assert scene.listed()
    assert not scene.reconcile(StatusReport("unknown")).resolved
    seen = told(scene, scene.dispatch())
    assert scene.listed(), "stays unresolved"
    return seen


@scenario("led-crash-after-outcome")
def crash_after_outcome(scene: Scene) -> Seen:
    scene.crash("after_outcome")
    assert scene.ledger.unresolved() == []
    return told(scene, scene.dispatch())


# ---- reconciliation


@scenario("led-lookup-lies-still-dedupe")
def look_up_lies(scene: Scene) -> Seen:
    scene.lose_reply()
    assert scene.reconcile(StatusReport("not_found", final=True)).entry.state == "retry_allowed"
    return told(scene, scene.dispatch())


@scenario("led-lookup-in-progress")
def look_up_says_running(scene: Scene) -> Seen:
    scene.lose_reply()
    found = scene.reconcile(StatusReport("running"))
    assert found.finding == "running"
    return told(scene, scene.dispatch())


@scenario("led-lookup-other-arguments")
def look_up_finds_other_arguments(scene: Scene) -> Seen:
    scene.lose_reply()
    scene.records["P1:K"] = ("r9", B)
    found = scene.reconcile()
    assert found.finding == "other_arguments"
    return told(scene, scene.dispatch())


@scenario("led-wished-state-only")
def wished_state_only(scene: Scene) -> Seen:
    scene.dedupes = False
    scene.lose_reply()
    found = scene.reconcile(StatusReport("completed", "assigned", evidence="state"))
    (evidence,) = found.entry.evidence
    assert evidence.kind == "state"
    weaker = evidence.data["evidence"] == "state" and not found.resolved
    return told(scene, scene.dispatch(), evidence="weaker" if weaker else "record")


@scenario("led-owner-alive-not-reconciled")
def owner_is_alive(scene: Scene) -> Seen:
    sending, go_on = threading.Event(), threading.Event()

    def slow() -> None:
        sending.set()
        assert go_on.wait(30)

    scene.fault = slow
    results: list[ToolResult] = []
    first = threading.Thread(target=lambda: results.append(scene.dispatch()))
    first.start()
    assert sending.wait(30)
    with scene.open() as other:
        assert other.unresolved() == []
        assert reconcile(other, [scene.tool()]) == []
    by_others = scene.requests - 1
    go_on.set()
    first.join()
    return told(scene, results[0], sent_by_process_2=by_others)


@scenario("led-retry-past-retention")
def retry_past_retention(scene: Scene) -> Seen:
    scene.lose_reply()
    before = scene.requests
    scene.now += WINDOW
    found = scene.reconcile(StatusReport("not_found", final=True))
    assert not found.resolved, "it may have been forgotten"
    result = scene.dispatch()
    return told(scene, result, sent_after_retention=scene.requests - before)


# ---- repeats


@scenario("led-replay-inside-window")
def replay_inside_window(scene: Scene) -> Seen:
    first = scene.dispatch()
    second = scene.dispatch()
    assert (first.value, first.replayed, second.replayed) == ("r1", False, True)
    return told(scene, second)


@scenario("led-key-other-arguments")
def key_with_other_arguments(scene: Scene) -> Seen:
    scene.dispatch(A)
    second = scene.dispatch(B)
    assert (second.value, second.boundary) == (None, "ledger")
    return told(scene, second, second=second.outcome)


@scenario("led-key-other-principal")
def key_of_other_principal(scene: Scene) -> Seen:
    first = scene.dispatch(principal="P1")
    second = scene.dispatch(principal="P2")
    return told(scene, second, second_sees_first_result=second.value == first.value)


@scenario("led-new-call-id-same-operation")
def new_call_id(scene: Scene) -> Seen:
    scene.dispatch(id="c1")
    second = scene.dispatch(id="c2")
    assert (second.call_id, second.outcome) == ("c2", "completed")
    return told(scene, second)


@scenario("led-two-meant-twice")
def two_meant_twice(scene: Scene) -> Seen:
    scene.dispatch(operation="O1")
    second = scene.dispatch(operation="O2")
    assert second.value == "r2"
    return told(scene, second)


@scenario("led-reworded-retry")
def reworded_retry(scene: Scene) -> Seen:
    scene.lose_reply()
    second = scene.dispatch({**A, "note": "the rent"})
    return told(scene, second, second=second.outcome)


@scenario("led-invalid-result-replay")
def invalid_result_replay(scene: Scene) -> Seen:
    scene.options = {"result": {"type": "integer"}}
    assert scene.dispatch().outcome == "invalid_result"
    second = scene.dispatch()
    assert second.errors, "the replay says what is wrong, too"
    return told(scene, second)


@scenario("led-rejected-leaves-no-key")
def rejected_leaves_no_key(scene: Scene) -> Seen:
    first = scene.dispatch({"to": "X", "amount": "5"})
    assert (first.outcome, first.boundary) == ("rejected", "schema")
    return told(scene, scene.dispatch())


@scenario("led-intent-cannot-be-stored")
def intent_cannot_be_stored(scene: Scene) -> Seen:
    def full(*arguments: Any, **options: Any) -> Any:
        raise OSError(28, "No space left on device")

    scene.ledger._store.insert = full  # type: ignore[method-assign]
    result = scene.dispatch()
    scene.restart()
    assert scene.ledger.unresolved() == []
    return told(scene, result)


@scenario("led-replay-before-precondition")
def replay_before_precondition(scene: Scene) -> Seen:
    scene.options = {"preconditions": [lambda arguments, context: not scene.effects]}
    assert scene.dispatch().outcome == "completed"
    refused = scene.dispatch(operation="other")
    assert refused.boundary == "precondition", "today's state would not allow it"
    return told(scene, scene.dispatch())


@scenario("led-replay-approval-consumed")
def replay_with_used_approval(scene: Scene) -> Seen:
    scene.options = {"approval": "required"}
    tool = scene.tool()
    dispatcher = Dispatcher([tool], ledger=scene.ledger)
    context = Context(principal="P1", operation_id="K")
    call = ToolCall("pay", A, "c1")
    approve(call, tool, context, "boss", store=dispatcher.approvals)
    assert dispatcher.dispatch(call, context).outcome == "completed"
    other = Context(principal="P1", operation_id="other")
    assert dispatcher.dispatch(call, other).boundary == "approval", "it is used up"
    return told(scene, dispatcher.dispatch(call, context))


@scenario("led-replay-permission-revoked")
def replay_without_permission(scene: Scene) -> Seen:
    allowed = [True]
    scene.options = {"permission": lambda arguments, context: allowed[0]}
    assert scene.dispatch().value == "r1"
    allowed[0] = False
    second = scene.dispatch()
    return told(scene, second, gets_recorded_result=second.value is not None)


# ---- at the same time


@scenario("led-parallel-same-key")
def parallel_same_key(scene: Scene) -> Seen:
    results = effects.write_all(scene.database, [[1, 1]] * 4)
    runs = sum(len(executed) for executed, _ in results)
    outcomes = sum((outcomes for _, outcomes in results), Counter())
    assert sum(outcomes.values()) == 8
    fine = set(outcomes) <= {("completed", None), ("rejected", "ledger")}
    return {"effects": runs, "handler_runs": runs, "each_gets": fine}


@scenario("led-parallel-loser-times-out")
def loser_times_out(scene: Scene) -> Seen:
    scene.options = {"limits": ToolLimits(seconds=0.2)}
    sending, go_on = threading.Event(), threading.Event()

    def slow() -> None:
        sending.set()
        assert go_on.wait(30)

    scene.fault = slow
    winners: list[ToolResult] = []
    winner = threading.Thread(target=lambda: winners.append(scene.dispatch()))
    winner.start()
    assert sending.wait(30)
    first = scene.dispatch()
    time.sleep(0.3)
    second = scene.dispatch()
    winner.join()
    go_on.set()
    assert winners[0].outcome == "uncertain"
    assert {first.outcome, second.outcome} <= {"rejected", "uncertain"}
    return {"effects": len(scene.effects), "loser": second.outcome}


@scenario("led-kill-random")
def kill_random(scene: Scene) -> Seen:
    """A few here; 200 in the long run of test_tools_kills.py, which checks the same."""
    killing = Killing(scene.database)
    longest, source = write_time(killing), random.Random(3)
    for _ in range(3):
        kill_at_random(killing, source, longest)
    killing.receiver.close()
    killing.later.close()
    counts = [(count, state) for _, state, count, _ in killing.seen]
    return {
        "effects_per_key": max(killing.receiver.effects.values()),
        "completed_without_effect": sum(not c and s == "completed" for c, s in counts),
        "effect_without_ledger_row": sum(bool(c) and s == "none" for c, s in counts),
    }


#: What the scenarios show, whether or not the file of cases is there.
SHOWN: dict[str, Seen] = {
    "led-crash-before-intent": {"effects": 1, "outcome": "completed"},
    "led-crash-after-effect-inconclusive": {"effects": 1, "outcome": "uncertain", "sent_again": 0},
    "led-crash-after-outcome": {"effects": 1, "outcome": "completed", "handler_runs": 1},
    "led-lookup-lies-still-dedupe": {"effects": 1, "outcome": "completed"},
    "led-lookup-in-progress": {"outcome": "uncertain", "sent_again": 0},
    "led-lookup-other-arguments": {"outcome": "uncertain", "sent_again": 0},
    "led-wished-state-only": {"outcome": "uncertain", "evidence": "weaker", "sent_again": 0},
    "led-owner-alive-not-reconciled": {"effects": 1, "sent_by_process_2": 0},
    "led-retry-past-retention": {"sent_after_retention": 0, "outcome": "uncertain"},
    "led-replay-inside-window": {"effects": 1, "value": "r1", "handler_runs": 1},
    "led-key-other-arguments": {"effects": 1, "second": "rejected", "handler_runs": 1},
    "led-key-other-principal": {"effects": 2, "second_sees_first_result": False},
    "led-new-call-id-same-operation": {"effects": 1, "handler_runs": 1},
    "led-two-meant-twice": {"effects": 2},
    "led-reworded-retry": {"effects": 1, "second": "rejected"},
    "led-invalid-result-replay": {"effects": 1, "handler_runs": 1, "outcome": "invalid_result"},
    "led-rejected-leaves-no-key": {"effects": 1, "outcome": "completed"},
    "led-intent-cannot-be-stored": {"effects": 0, "handler_runs": 0, "outcome": "rejected"},
    "led-replay-before-precondition": {"effects": 1, "handler_runs": 1, "outcome": "completed"},
    "led-replay-approval-consumed": {"effects": 1, "handler_runs": 1, "outcome": "completed"},
    "led-replay-permission-revoked": {"effects": 1, "outcome": "rejected", "boundary": "authorise"},
    "led-parallel-same-key": {"effects": 1, "handler_runs": 1, "each_gets": True},
    "led-parallel-loser-times-out": {"effects": 1},
    "led-kill-random": {"effects_per_key": 1, "effect_without_ledger_row": 0},
}


@pytest.fixture
def scene(database: str) -> Iterator[Scene]:
    made = Scene(database)
    yield made
    made.ledger.close()


@pytest.fixture(scope="session")
def cases(shared: Path) -> dict[str, Any]:
    file = shared / "cases" / "tool_cases.jsonl"
    if not file.is_file():
        pytest.skip("there is no file of cases beside the checkout")
    lines = [json.loads(line) for line in file.read_text("utf-8").splitlines() if line.strip()]
    return {line["id"]: line["expect"] for line in lines if line["kind"] == "ledger"}


def check(seen: Seen, expect: Seen) -> None:
    """The legend of the cases: exact, ``_in``, ``_not``, ``_max``."""
    for name, wanted in expect.items():
        if name == "each_gets":  # described in words
            wanted = True
        for suffix, holds in (
            ("_in", lambda value, wanted=wanted: value in wanted),
            ("_not", lambda value, wanted=wanted: value not in wanted and value != wanted),
            ("_max", lambda value, wanted=wanted: value <= wanted),
        ):
            if name.endswith(suffix):
                assert holds(seen[name.removesuffix(suffix)]), (name, seen)
                break
        else:
            assert seen[name] == wanted, (name, seen)


@pytest.mark.parametrize("name", SCENARIOS)
def test_scenario(scene: Scene, name: str) -> None:
    check(SCENARIOS[name](scene), SHOWN[name])


@pytest.mark.parametrize("database", ["sqlite"], indirect=True)
@pytest.mark.parametrize("name", SCENARIOS)
def test_case(scene: Scene, cases: dict[str, Any], name: str) -> None:
    check(SCENARIOS[name](scene), cases[name])


def test_every_case_of_its_kind_is_bound(cases: dict[str, Any]) -> None:
    elsewhere = {"led-same-key"}  # test_tools_canonical.py
    assert set(cases) - elsewhere == set(SCENARIOS) == set(SHOWN)
