"""Repair: what is corrected and what is not, bounds, reports, fixers that misbehave."""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gramlock.tools import (
    Accepted,
    ApprovalStore,
    Context,
    Dispatcher,
    RepairOutcome,
    ToolError,
    Violation,
    approve,
    invariant,
    run_with_repair,
    run_with_repair_async,
)
from gramlock.tools.call import BrokenCall, ToolCall
from tool_fakes import GOOD, ME, Handler, call, refund

WRONG = {"order_id": "A-1", "amount_cents": "5000"}
RIGHT = {"order_id": "A-1", "amount_cents": 5000, "reason": "dup"}


class Fixer:
    """Answers with the given replies in turn, the last one for ever; keeps what it was asked."""

    def __init__(self, *replies: Any) -> None:
        self.replies, self.asked = replies, []  # type: tuple[Any, ...], list[Any]

    def __call__(self, errors: Any, wrong: Any) -> Any:
        self.asked.append((errors, wrong))
        reply = self.replies[min(len(self.asked), len(self.replies)) - 1]
        return call(reply) if isinstance(reply, dict) and "arguments" not in reply else reply


Run = Callable[..., RepairOutcome]


def asynchronous(*arguments: Any, **options: Any) -> RepairOutcome:
    return asyncio.run(run_with_repair_async(*arguments, **options))


@pytest.fixture(params=[run_with_repair, asynchronous], ids=["sync", "async"])
def run(request: pytest.FixtureRequest) -> Run:
    function: Run = request.param
    return function


def test_the_lines_of_the_core() -> None:
    handler = Handler()
    dispatcher = Dispatcher([refund(handler)])
    fixer = Fixer(RIGHT)
    outcome = run_with_repair(fixer, dispatcher, call(WRONG), max_repairs=3)
    assert outcome.result.ok
    assert outcome.ok
    assert outcome.repairs_used == 1
    assert outcome.end == "completed"
    assert [str(error) for error in fixer.asked[0][0]] == [
        "$.amount_cents: expected integer, got string",
        "$.reason: required",
    ]
    assert handler.seen == [RIGHT]
    assert len(outcome.attempts) == 2
    assert outcome.attempts[0].call.arguments == WRONG
    assert outcome.attempts[0].result.outcome == "rejected"
    assert outcome.attempts[1].changes.changed == ("/amount_cents", "/reason")
    assert outcome.collateral == ()


def test_a_call_that_passes_asks_no_fixer(run: Run) -> None:
    fixer = Fixer(RIGHT)
    outcome = run(fixer, Dispatcher([refund(Handler())]), call(RIGHT))
    assert (outcome.end, outcome.repairs_used, fixer.asked) == ("completed", 0, [])


def test_text_that_is_no_call_can_be_corrected(run: Run) -> None:
    handler = Handler()
    text = '{"name": "issue_refund", "arguments": {"order_id": "A-1", "order_id": "B-9"}}'
    fixer = Fixer({"name": "issue_refund", "arguments": RIGHT})
    outcome = run(fixer, Dispatcher([refund(handler)]), text)
    assert outcome.ok
    assert outcome.original == text
    errors, wrong = fixer.asked[0]
    assert isinstance(wrong, BrokenCall)
    assert "order_id" in str(errors[0])
    assert outcome.changed == ("", "name")  # there is nothing to compare with
    assert outcome.collateral == ()


@pytest.mark.parametrize(
    "status", ["length", "refusal", "filtered", "cancelled", "paused", "malformed", "error"]
)
def test_a_completion_that_did_not_end_well_is_not_corrected(run: Run, status: Any) -> None:
    fixer = Fixer(RIGHT)
    outcome = run(fixer, Dispatcher([refund(Handler())]), call(WRONG, status=status))
    assert (outcome.end, outcome.result.boundary, fixer.asked) == ("refused", "completion", [])


def test_repair_grants_no_permission(run: Run) -> None:
    handler, fixer = Handler(), Fixer(RIGHT, dict(RIGHT, reason="please"))
    tool = refund(handler, permission=lambda arguments, context: context.principal == "boss")
    outcome = run(fixer, Dispatcher([tool]), call(WRONG), ME)
    assert (outcome.end, outcome.result.boundary) == ("refused", "authorise")
    assert len(fixer.asked) == 1
    assert not handler.seen


def test_an_approval_covers_no_other_arguments(run: Run) -> None:
    store, handler = ApprovalStore(), Handler()
    tool = refund(handler, approval="required")
    context = replace(ME, approvals=store)
    approve(call(RIGHT), tool, context, "boss")
    fixer = Fixer(dict(RIGHT, amount_cents=4000))
    outcome = run(fixer, Dispatcher([tool]), call(WRONG), context)
    assert (outcome.end, outcome.result.boundary, handler.seen) == ("refused", "approval", [])
    assert len(store) == 1
    outcome = run(Fixer(RIGHT), Dispatcher([tool]), call(WRONG), context)
    assert outcome.ok  # these very arguments were approved


def test_a_precondition_is_no_fault_in_the_data(run: Run) -> None:
    tool = refund(Handler(), preconditions=[lambda arguments, context: False])
    fixer = Fixer(RIGHT)
    outcome = run(fixer, Dispatcher([tool]), call(RIGHT))
    assert (outcome.end, outcome.result.boundary, fixer.asked) == ("refused", "precondition", [])


def test_domain_errors_are_corrected(run: Run) -> None:
    check = invariant(
        lambda value: value["amount_cents"] <= 1000, expected="at most 1000", at="$.amount_cents"
    )
    tool = refund(Handler(), checks=[check])
    outcome = run(Fixer(dict(RIGHT, amount_cents=1000)), Dispatcher([tool]), call(RIGHT))
    assert outcome.ok
    assert (outcome.changed, outcome.collateral) == (("/amount_cents",), ())


def lost(arguments: Any) -> Any:
    raise ConnectionError("lost")


def refused(arguments: Any) -> Any:
    raise ToolError("no such order")


@pytest.mark.parametrize(
    "act, options, expected",
    [
        (lost, {}, "uncertain"),
        (lambda arguments: "nothing", {"result": {"type": "object"}}, "invalid_result"),
        (lambda arguments: Accepted("op-1"), {}, "accepted"),
        (refused, {}, "failed"),
        (lost, {"effect": "read"}, "failed"),
    ],
)
def test_nothing_follows_a_call_that_ran(
    run: Run, act: Any, options: dict[str, Any], expected: str
) -> None:
    handler, fixer = Handler(act), Fixer(RIGHT)
    outcome = run(fixer, Dispatcher([refund(handler, **options)]), call(WRONG))
    assert (outcome.end, outcome.result.outcome) == (expected, expected)
    assert len(fixer.asked) == 1  # for the data of the original, and not again
    assert len(handler.seen) == 1


# ---- bounds


def test_a_fixer_that_loops_is_exhausted(run: Run) -> None:
    fixer = Fixer(WRONG)
    outcome = run(fixer, Dispatcher([refund(Handler())]), call(WRONG), max_repairs=4)
    assert (outcome.end, outcome.exhausted, outcome.repairs_used) == ("max_repairs", True, 4)
    assert len(fixer.asked) == 4
    assert len(outcome.attempts) == 5
    assert len(outcome.result.errors) == 2


def test_no_repairs_at_all(run: Run) -> None:
    fixer = Fixer(RIGHT)
    outcome = run(fixer, Dispatcher([refund(Handler())]), call(WRONG), max_repairs=0)
    assert (outcome.end, fixer.asked, len(outcome.attempts)) == ("max_repairs", [], 1)


def test_a_fixer_that_hangs_is_left_alone(run: Run) -> None:
    gate, handler = threading.Event(), Handler()

    def fixer(errors: Any, wrong: Any) -> Any:
        gate.wait(60)
        return call(RIGHT)

    began = time.monotonic()
    outcome = run(fixer, Dispatcher([refund(handler)]), call(WRONG), max_seconds=0.1)
    assert time.monotonic() - began < 30
    gate.set()
    assert (outcome.end, outcome.exhausted, outcome.repairs_used) == ("max_seconds", True, 0)
    assert not handler.seen


def test_a_deadline_of_the_context_bounds_fixers_too() -> None:
    gate = threading.Event()
    context = Context().within(0.2)
    dispatcher = Dispatcher([refund(Handler())])
    outcome = run_with_repair(lambda errors, wrong: gate.wait(60), dispatcher, call(WRONG), context)
    gate.set()
    assert outcome.end == "max_seconds"


def test_a_fixer_in_time_runs_with_the_callers_variables() -> None:
    outcome = run_with_repair(
        Fixer(RIGHT), Dispatcher([refund(Handler())]), call(WRONG), max_seconds=60
    )
    assert outcome.ok


# ---- fixers that misbehave


def raising(errors: Any, wrong: Any) -> Any:
    raise RuntimeError("hunter2")


def test_a_fixer_that_raises_ends_the_run(run: Run, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG, "gramlock.tools"):
        outcome = run(raising, Dispatcher([refund(Handler())]), call(WRONG))
    assert (outcome.end, outcome.result.outcome) == ("fixer_error", "rejected")
    assert len(outcome.attempts) == 1
    assert len(outcome.result.errors) == 2
    assert "hunter2" not in outcome.message
    assert "hunter2" in caplog.text


@pytest.mark.parametrize("kind", [KeyboardInterrupt, SystemExit])
@pytest.mark.parametrize("seconds", [None, 60])
def test_an_interruption_is_let_through(kind: Any, seconds: Any) -> None:
    def fixer(errors: Any, wrong: Any) -> Any:
        raise kind

    with pytest.raises(kind):
        run_with_repair(fixer, Dispatcher([refund(Handler())]), call(WRONG), max_seconds=seconds)


DEEP: Any = []
for _ in range(100_000):
    DEEP = [DEEP]
CYCLE: dict[str, Any] = {}
CYCLE["again"] = CYCLE


@pytest.mark.parametrize(
    "reply",
    [
        "",
        "I am sorry, I cannot do that.",
        '{"name": "issue_refund", "arguments": {"order_id": "A-1", "order_id": "B-9"}}',
        '{"order_id": "A-1", "order_id": "B-9", "amount_cents": 5000, "reason": "x"}',
        '{"name": "issue_refund", "arguments": {"amount_cents": NaN}}',
        '{"name": "issue_refund", "arguments": {}} and more',
        "```json\n{}\n```",
        b"\xff",
        17,
        [call(RIGHT)],
        {"arguments": RIGHT},
        BrokenCall("c1", "issue_refund", "arguments", "cut"),
        call(RIGHT, status="length"),
        call(RIGHT, name=None),
        call(RIGHT, name=""),
        call({"order_id": float("nan")}),
        call({"order_id": {1, 2}}),
        ToolCall("issue_refund", [1]),
        ToolCall("issue_refund", {"order_id": DEEP}),
        ToolCall("issue_refund", CYCLE),
    ],
    ids=lambda reply: repr(type(reply).__name__),
)
def test_a_reply_that_is_no_call_ends_the_run(run: Run, reply: Any) -> None:
    handler = Handler()
    outcome = run(lambda errors, wrong: reply, Dispatcher([refund(handler)]), call(WRONG))
    assert (outcome.end, outcome.result.outcome) == ("fixer_reply", "rejected")
    assert outcome.attempts[-1].refused == "fixer_reply"
    assert outcome.repairs_used == 0
    assert not handler.seen


def test_a_fixer_may_give_up(run: Run) -> None:
    outcome = run(lambda errors, wrong: None, Dispatcher([refund(Handler())]), call(WRONG))
    assert (outcome.end, outcome.exhausted) == ("no_correction", False)


def test_a_fixer_that_writes_into_the_call_hides_nothing(run: Run) -> None:
    handler = Handler()

    def fixer(errors: Any, wrong: Any, history: Any) -> Any:
        wrong.arguments.update(RIGHT, order_id="B-9")
        history[0].call.arguments.clear()
        return wrong

    original = call(dict(WRONG))
    outcome = run(fixer, Dispatcher([refund(handler)]), original, collateral="reject")
    assert outcome.collateral == ("/order_id",)
    assert outcome.original.arguments == WRONG
    assert outcome.attempts[0].call.arguments == WRONG
    assert not handler.seen


def test_the_calls_id_is_the_results_id(run: Run) -> None:
    fixer = Fixer(ToolCall("issue_refund", RIGHT, id="other"))
    outcome = run(fixer, Dispatcher([refund(Handler())]), call(WRONG, id="c7"))
    assert outcome.ok
    assert outcome.result.call_id == "c7"


@pytest.mark.parametrize("bad", [{"order_id": float("inf")}, [1], None, CYCLE])
def test_a_call_whose_arguments_cannot_be_read(run: Run, bad: Any) -> None:
    fixer = Fixer(RIGHT)
    outcome = run(fixer, Dispatcher([refund(Handler())]), ToolCall("issue_refund", bad, id="c1"))
    assert outcome.ok
    assert isinstance(fixer.asked[0][1], BrokenCall)


def test_a_coroutine_function_is_a_fixer_on_an_event_loop_only() -> None:
    async def fixer(errors: Any, wrong: Any) -> Any:
        await asyncio.sleep(0)
        return call(RIGHT)

    dispatcher = Dispatcher([refund(Handler())])
    assert asynchronous(fixer, dispatcher, call(WRONG)).ok
    assert asynchronous(lambda *both: fixer(*both), dispatcher, call(WRONG)).ok
    assert run_with_repair(fixer, dispatcher, call(WRONG)).end == "fixer_reply"

    async def hanging(errors: Any, wrong: Any) -> Any:
        await asyncio.sleep(60)

    assert asynchronous(hanging, dispatcher, call(WRONG), max_seconds=0.05).end == "max_seconds"

    async def cancelled(errors: Any, wrong: Any) -> Any:
        raise asyncio.CancelledError

    assert asynchronous(cancelled, dispatcher, call(WRONG)).end == "fixer_error"


def test_the_callers_own_cancellation_is_let_through() -> None:
    stopped = []

    async def hanging(errors: Any, wrong: Any) -> Any:
        try:
            await asyncio.sleep(60)
        finally:
            stopped.append(True)

    async def main() -> None:
        dispatcher = Dispatcher([refund(Handler())])
        task = asyncio.ensure_future(run_with_repair_async(hanging, dispatcher, call(WRONG)))
        await asyncio.sleep(0.05)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await asyncio.sleep(0)

    asyncio.run(main())
    assert stopped == [True]


# ---- history


def test_history_is_for_fixers_that_ask_for_it(run: Run) -> None:
    seen: list[Any] = []

    def third(errors: Any, wrong: Any, before: Any) -> Any:
        seen.append(len(before))
        return call(WRONG)

    def named(errors: Any, wrong: Any, history: Any = ()) -> Any:
        seen.append(len(history))
        return call(WRONG)

    def other(errors: Any, wrong: Any, temperature: float = 0.5) -> Any:
        seen.append(temperature)
        return call(WRONG)

    dispatcher = Dispatcher([refund(Handler())])
    for fixer in (third, named, other):
        run(fixer, dispatcher, call(WRONG), max_repairs=2)
    assert seen == [1, 2, 1, 2, 0.5, 0.5]


@pytest.mark.parametrize("fixer", [lambda: 1, lambda a: 1, lambda a, b, c, d: 1])
def test_a_fixer_that_cannot_be_called_is_refused_at_once(fixer: Any) -> None:
    handler = Handler()
    with pytest.raises(TypeError, match="errors, call"):
        run_with_repair(fixer, Dispatcher([refund(handler)]), call(RIGHT))
    assert not handler.seen


@pytest.mark.parametrize(
    "options",
    [
        {"max_repairs": -1},
        {"max_repairs": True},
        {"max_repairs": 1.5},
        {"max_seconds": 0},
        {"max_seconds": float("inf")},
        {"max_seconds": "1"},
        {"collateral": "ignore"},
        {"evidence": ["order_id"]},
    ],
)
def test_options_of_no_use_are_refused_before_anything_runs(options: dict[str, Any]) -> None:
    handler = Handler()
    with pytest.raises(ValueError, match=r"max_|collateral|pointer"):
        run_with_repair(Fixer(RIGHT), Dispatcher([refund(handler)]), call(RIGHT), **options)
    assert not handler.seen


# ---- meaning


def test_a_refused_correction_goes_back_and_does_not_license_itself(run: Run) -> None:
    handler = Handler()
    fixer = Fixer(dict(RIGHT, order_id="B-9"), dict(RIGHT, order_id="C-9"), RIGHT)
    outcome = run(fixer, Dispatcher([refund(handler)]), call(WRONG), collateral="reject")
    assert outcome.ok
    assert handler.seen == [RIGHT]
    assert [attempt.refused for attempt in outcome.attempts] == [
        None,
        "collateral",
        "collateral",
        None,
    ]
    assert outcome.repairs_used == 3
    errors, wrong = fixer.asked[1]
    assert [str(error) for error in errors][2:] == [
        "$.order_id: should stay as it was: no error named it"
    ]
    assert wrong.arguments == WRONG


def test_rounds_that_run_out_on_collateral_say_so(run: Run) -> None:
    fixer = Fixer(dict(RIGHT, order_id="B-9"))
    outcome = run(
        fixer, Dispatcher([refund(Handler())]), call(WRONG), collateral="reject", max_repairs=2
    )
    assert (outcome.end, outcome.exhausted) == ("collateral", True)
    assert outcome.result.outcome == "rejected"


def test_collateral_is_told_from_round_to_round(run: Run) -> None:
    fixer = Fixer({"order_id": "A-1", "amount_cents": 5000}, dict(RIGHT, amount_cents=6000))
    outcome = run(fixer, Dispatcher([refund(Handler())]), call(WRONG))
    assert outcome.ok
    assert [attempt.changes.collateral for attempt in outcome.attempts] == [
        (),
        (),
        ("/amount_cents",),
    ]


def test_evidence_may_change_its_spelling_and_not_its_meaning(run: Run) -> None:
    dispatcher = Dispatcher([refund(Handler())])
    marks = ["/amount_cents", "/order_id"]
    assert run(Fixer(RIGHT), dispatcher, call(WRONG), evidence=marks).ok
    fixer = Fixer(dict(RIGHT, amount_cents=50))
    outcome = run(fixer, dispatcher, call(WRONG), evidence=marks, max_repairs=2)
    assert (outcome.end, outcome.evidence_broken) == ("evidence", ("/amount_cents",))
    assert "marked evidence" in str(fixer.asked[1][0][-1])


def test_a_call_that_contradicts_evidence_is_not_sent(run: Run) -> None:
    handler = Handler()
    dispatcher = Dispatcher([refund(handler)])
    fixer = Fixer(RIGHT)
    wrong = call(dict(RIGHT, amount_cents=50))
    outcome = run(fixer, dispatcher, wrong, evidence={"/amount_cents": 5000}, collateral="reject")
    assert outcome.ok
    assert handler.seen == [RIGHT]
    assert outcome.attempts[0].evidence_broken == ("/amount_cents",)
    assert outcome.collateral == ()  # the error was about this field
    none = run(fixer, dispatcher, wrong, evidence={"/amount_cents": 5000}, max_repairs=0)
    assert (none.end, none.result.boundary) == ("evidence", "evidence")


def test_a_name_that_is_marked_may_not_change(run: Run) -> None:
    dispatcher = Dispatcher([refund(Handler())])
    fixer = Fixer(call(RIGHT))
    outcome = run(fixer, dispatcher, call(RIGHT, name="other"), evidence=["name"], max_repairs=1)
    assert (outcome.end, outcome.evidence_broken) == ("evidence", ("name",))


def test_events_name_fields_and_no_values(caplog: pytest.LogCaptureFixture) -> None:
    fixer = Fixer(dict(RIGHT, order_id="B-9"))
    with caplog.at_level(logging.INFO, "gramlock.tools"):
        run_with_repair(fixer, Dispatcher([refund(Handler())]), call(WRONG), ME)
    event = next(r.event for r in caplog.records if r.event["boundary"] == "repair")  # type: ignore[attr-defined]
    assert event["collateral"] == ["/order_id"]
    assert event["changed"] == ["/amount_cents", "/order_id", "/reason"]
    assert event["round"] == 1
    assert "B-9" not in str(event)


def test_a_run_of_many_rounds_keeps_every_attempt() -> None:
    replies = [dict(WRONG, order_id=f"A-{number}") for number in range(200)]
    fixer = Fixer(*replies)
    outcome = run_with_repair(fixer, Dispatcher([refund(Handler())]), call(WRONG), max_repairs=200)
    assert [attempt.call.arguments for attempt in outcome.attempts[1:]] == replies  # type: ignore[union-attr]
    assert outcome.end == "max_repairs"


def test_a_check_that_finds_an_error_elsewhere_names_that_place() -> None:
    def check(value: Any, context: Any) -> Any:
        if value["reason"] != "ok":
            yield Violation("/reason", "ok", "ok", boundary="domain")

    tool = refund(Handler(), checks=[check])
    outcome = run_with_repair(
        Fixer(dict(GOOD, reason="ok")), Dispatcher([tool]), call(GOOD), collateral="reject"
    )
    assert outcome.ok


REPLIES = st.one_of(
    st.none(),
    st.sampled_from(["no JSON", b"\xff", 7, {"name": "issue_refund"}]),
    st.fixed_dictionaries(
        {},
        optional={
            "order_id": st.sampled_from(["A-1", "B-9"]),
            "amount_cents": st.sampled_from(["5000", 5000, 50, True, "50"]),
            "reason": st.sampled_from(["dup", 7]),
            "note": st.just("hi"),
        },
    ),
)


@settings(max_examples=150, deadline=None)
@given(st.lists(REPLIES, min_size=1, max_size=6), st.integers(0, 6))
def test_whatever_a_fixer_says_only_named_fields_change(replies: list[Any], rounds: int) -> None:
    handler = Handler()
    fixer = Fixer(*replies)
    outcome = run_with_repair(
        fixer,
        Dispatcher([refund(handler)]),
        call(WRONG),
        collateral="reject",
        evidence=["/amount_cents"],
        max_repairs=rounds,
    )
    assert len(fixer.asked) <= rounds
    assert outcome.repairs_used <= rounds
    assert handler.seen in ([], [RIGHT])  # order and amount are as they were, spelling apart
    assert outcome.ok == bool(handler.seen)
    assert outcome.end in ("completed", "no_correction", "fixer_reply") or outcome.exhausted
    assert len(outcome.attempts) == 1 + outcome.repairs_used + (outcome.end == "fixer_reply")
