"""A dispatcher with a ledger: what is recorded, replayed, and what comes late."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("sqlalchemy")

from gramlock.errors import LedgerError
from gramlock.tools import (
    Accepted,
    Context,
    Dispatcher,
    Ledger,
    Tool,
    ToolCall,
    ToolError,
    ToolLimits,
    ToolResult,
    approve,
)
from tool_fakes import GOOD, Handler, asynchronous, call, raising, refund, synchronous

O1 = Context(principal="P1", operation_id="O1")


@pytest.fixture
def ledger(tmp_path: Path) -> Iterator[Ledger]:
    with Ledger(tmp_path / "ledger.db", lease=60.0) as opened:
        yield opened


@pytest.fixture(params=[synchronous, asynchronous])
def dispatch(request: pytest.FixtureRequest) -> Any:
    return request.param


def only(ledger: Ledger, result: ToolResult) -> Any:
    entry = ledger.get(result.entry_id)
    assert entry is not None
    return entry


# ---- replays


@pytest.mark.parametrize(
    "answer, outcome",
    [
        ({"refund": "r1"}, "completed"),
        (None, "completed"),
        (ToolError("already refunded", details={"refund": "r0"}), "failed"),
        (Accepted("op-17", {"position": 3}), "accepted"),
        ([1], "invalid_result"),
        (object(), "invalid_result"),
        (KeyError("lost"), "uncertain"),
    ],
    ids=str,
)
def test_a_repeat_gets_what_was_recorded(
    dispatch: Any, ledger: Ledger, answer: Any, outcome: str
) -> None:
    act = raising(answer) if isinstance(answer, Exception) else lambda arguments: answer
    handler = Handler(act)
    tool = refund(handler, result={"type": ["object", "null"]})
    first = dispatch(Dispatcher([tool], ledger=ledger), call(), O1)
    again = dispatch(Dispatcher([tool], ledger=ledger), call(id="c2"), O1)
    assert (first.outcome, first.replayed) == (outcome, False)
    assert (again.outcome, again.replayed) == (outcome, True)
    assert again.call_id == "c2"
    assert again.entry_id == first.entry_id
    for name in ("value", "boundary", "reference", "details", "errors"):
        assert getattr(again, name) == getattr(first, name), name
    assert len(handler.seen) == 1
    assert only(ledger, first).state == outcome


def test_a_postcondition_that_failed_is_replayed_with_its_errors(
    dispatch: Any, ledger: Ledger
) -> None:
    asked: list[Any] = []
    tool = refund(Handler(), postconditions=[lambda a, r, c: asked.append(r) or False])
    dispatcher = Dispatcher([tool], ledger=ledger)
    first = dispatch(dispatcher, call(), O1)
    again = dispatch(dispatcher, call(), O1)
    assert first.outcome == again.outcome == "invalid_result"
    assert first.errors == again.errors
    assert len(first.errors) == len(asked) == 1


def test_a_large_result_is_replayed_by_reference(dispatch: Any, ledger: Ledger) -> None:
    tool = refund(lambda arguments: "x" * 5_000, limits=ToolLimits(result_bytes=100))
    dispatcher = Dispatcher([tool], ledger=ledger)
    first, again = (dispatch(dispatcher, call(), O1) for _ in range(2))
    assert first.ok
    assert again.ok
    assert again.stored == first.stored
    assert again.stored is not None
    assert dispatcher.results.get(again.stored.id, principal="P1") == "x" * 5_000


def test_a_recorded_value_that_breaks_the_contract_is_not_completed(
    dispatch: Any, ledger: Ledger
) -> None:
    """The process died between the record and the check of the result."""

    class Death(BaseException):
        pass

    def die(name: str) -> None:
        if name == "after_outcome":
            raise Death

    tool = refund(lambda arguments: [1], result={"type": "object"})
    with pytest.raises(Death):
        dispatch(Dispatcher([tool], ledger=ledger, fail_point=die), call(), O1)
    again = dispatch(Dispatcher([tool], ledger=ledger), call(), O1)
    assert (again.outcome, again.boundary, again.replayed) == ("invalid_result", "result", True)


def test_reads_are_not_recorded(dispatch: Any, ledger: Ledger) -> None:
    handler = Handler()
    dispatcher = Dispatcher([refund(handler, effect="read")], ledger=ledger)
    results = [dispatch(dispatcher, call(), O1) for _ in range(2)]
    assert [result.entry_id for result in results] == [None, None]
    assert len(handler.seen) == 2


def test_other_arguments_under_one_operation_are_refused(dispatch: Any, ledger: Ledger) -> None:
    handler = Handler()
    dispatcher = Dispatcher([refund(handler)], ledger=ledger)
    assert dispatch(dispatcher, call(), O1).ok
    other = dispatch(dispatcher, call({**GOOD, "amount_cents": 1}), O1)
    assert (other.outcome, other.boundary, other.value) == ("rejected", "ledger", None)
    assert len(handler.seen) == 1


def test_an_equal_call_without_an_operation_is_surfaced(dispatch: Any, ledger: Ledger) -> None:
    handler = Handler()
    dispatcher = Dispatcher([refund(handler)], ledger=ledger)
    me = Context(principal="P1")
    first = dispatch(dispatcher, call(), me)
    second = dispatch(dispatcher, call(), me)
    assert (second.outcome, second.boundary) == ("rejected", "ledger")
    assert second.entry_id == first.entry_id
    assert second.value is None
    assert dispatch(dispatcher, call(), me, duplicate_ok=True).ok
    assert len(handler.seen) == 2


def test_a_refusal_leaves_no_key(dispatch: Any, ledger: Ledger) -> None:
    answers = iter([False, True, False, True, True])
    tool = refund(Handler(), permission=lambda arguments, context: next(answers))
    dispatcher = Dispatcher([tool], ledger=ledger)
    outcomes = [dispatch(dispatcher, call(), O1).outcome for _ in range(3)]
    assert outcomes == ["rejected", "rejected", "completed"]


def test_the_ledger_keeps_redacted_arguments(dispatch: Any, ledger: Ledger) -> None:
    schema = {"type": "object", "properties": {"pin": {"type": "string", "x-secret": True}}}
    tool = refund(Handler(raising(KeyError())), parameters=schema)
    result = dispatch(Dispatcher([tool], ledger=ledger), call({"pin": "4711", "n": 1}), O1)
    assert "4711" not in str(only(ledger, result).arguments)


# ---- when the ledger fails


class Failing:
    """A ledger of which one method fails."""

    def __init__(self, ledger: Ledger, method: str, error: BaseException) -> None:
        self._ledger, self._method, self._error = ledger, method, error

    def __getattr__(self, name: str) -> Any:
        if name == self._method:
            return self._fail
        return getattr(self._ledger, name)

    def _fail(self, *arguments: Any, **options: Any) -> Any:
        raise self._error


@pytest.mark.parametrize("error", [LedgerError("disk full"), RuntimeError("odd")], ids=str)
@pytest.mark.parametrize("method", ["look_up", "begin"])
def test_no_record_no_write(dispatch: Any, ledger: Ledger, method: str, error: Any) -> None:
    handler = Handler()
    tool = refund(handler, approval="required")
    dispatcher = Dispatcher([tool], ledger=Failing(ledger, method, error))  # type: ignore[arg-type]
    approve(call(), tool, O1, "boss", store=dispatcher.approvals)
    result = dispatch(dispatcher, call(), O1)
    assert (result.outcome, result.boundary) == ("rejected", "ledger")
    assert "full" not in result.to_text()
    assert not handler.seen
    assert len(dispatcher.approvals) == 1


@pytest.mark.parametrize("method", ["finish", "amend"])
def test_what_happened_is_told_though_it_is_not_recorded(
    dispatch: Any, ledger: Ledger, method: str
) -> None:
    tool = refund(Handler(), result={"type": "array"} if method == "amend" else None)
    failing = Failing(ledger, method, LedgerError("disk full"))
    result = dispatch(Dispatcher([tool], ledger=failing), call(), O1)  # type: ignore[arg-type]
    assert result.outcome == ("invalid_result" if method == "amend" else "completed")
    state = only(ledger, result).state  # a process that goes on would find it uncertain
    assert state == ("completed" if method == "amend" else "in_progress")


def test_what_the_dispatcher_fails_at_after_the_handler_is_uncertain(
    dispatch: Any, ledger: Ledger
) -> None:
    def fail(name: str) -> None:
        if name == "before_outcome" and not failed:
            failed.append(name)
            raise RuntimeError("odd")

    failed: list[str] = []
    dispatcher = Dispatcher([refund(Handler())], ledger=ledger, fail_point=fail)
    result = dispatch(dispatcher, call(), O1)
    assert result.outcome == "uncertain"
    assert only(ledger, result).state == "uncertain"


def test_what_the_dispatcher_fails_at_before_the_handler_leaves_no_key(
    dispatch: Any, ledger: Ledger
) -> None:
    def fail(name: str) -> None:
        raise RuntimeError("odd")

    handler = Handler()
    result = dispatch(Dispatcher([refund(handler)], ledger=ledger, fail_point=fail), call(), O1)
    assert (result.outcome, result.boundary) == ("rejected", "dispatch")
    assert not handler.seen
    assert dispatch(Dispatcher([refund(handler)], ledger=ledger), call(), O1).ok


# ---- interruptions, limits, late results


@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit])
def test_an_exit_in_the_handler_is_recorded(dispatch: Any, ledger: Ledger, error: Any) -> None:
    tool = refund(Handler(raising(error())))
    with pytest.raises(error):
        dispatch(Dispatcher([tool], ledger=ledger), call(), O1)
    (entry,) = ledger.unresolved()
    assert entry.state == "uncertain"


def test_an_exit_before_the_handler_leaves_no_key(dispatch: Any, ledger: Ledger) -> None:
    asked: list[int] = []

    def leaves_at_the_second(arguments: Any, context: Any) -> bool:
        asked.append(1)
        if len(asked) == 2:
            raise KeyboardInterrupt
        return True

    tool = refund(Handler(), permission=leaves_at_the_second, approval="required")
    dispatcher = Dispatcher([tool], ledger=ledger)
    approve(call(), tool, O1, "boss", store=dispatcher.approvals)
    with pytest.raises(KeyboardInterrupt):
        dispatch(dispatcher, call(), O1)
    assert ledger.unresolved() == []
    assert len(dispatcher.approvals) == 1
    assert dispatch(dispatcher, call(), O1).ok


@pytest.mark.parametrize("kind", ["thread", "task"])
def test_the_callers_cancellation_is_recorded(ledger: Ledger, kind: str) -> None:
    started, goes_on = threading.Event(), threading.Event()

    def in_thread(arguments: Any) -> str:
        started.set()
        goes_on.wait(5)
        return "after all"

    async def as_task(arguments: Any) -> None:
        started.set()
        await asyncio.sleep(5)

    async def main() -> None:
        tool = refund(in_thread if kind == "thread" else as_task)
        dispatcher = Dispatcher([tool], ledger=ledger, grace=0.05)
        task = asyncio.ensure_future(dispatcher.dispatch_async(call(), O1))
        while not started.is_set():
            await asyncio.sleep(0.005)
        for _ in range(3):  # a scope may cancel again and again: the record is made all the same
            task.cancel()
            await asyncio.sleep(0)
        with pytest.raises(asyncio.CancelledError):
            await task
        (entry,) = ledger.unresolved()
        assert entry.state == "uncertain"
        again = await dispatcher.dispatch_async(call(), O1)
        assert (again.outcome, again.replayed) == ("uncertain", True)
        goes_on.set()
        assert dispatcher.close(5)

    asyncio.run(main())
    (entry,) = ledger.unresolved()
    if kind == "thread":
        (late,) = [one for one in entry.evidence if one.kind == "late_result"]
        assert late.data["outcome"] == "completed"
        assert late.data["value"] == "after all"


@pytest.mark.parametrize(
    "ending, outcome",
    [("after all", "completed"), (ToolError("no"), "failed"), (KeyError(), "uncertain")],
    ids=str,
)
def test_a_late_result_is_evidence(
    dispatch: Any, ledger: Ledger, ending: Any, outcome: str
) -> None:
    goes_on = threading.Event()

    def slow(arguments: Any) -> Any:
        goes_on.wait(5)
        if isinstance(ending, Exception):
            raise ending
        return ending

    dispatcher = Dispatcher([refund(slow, limits=ToolLimits(seconds=0.03))], ledger=ledger)
    result = dispatch(dispatcher, call(), O1)
    assert result.outcome == "uncertain"
    assert only(ledger, result).state == "uncertain"
    assert only(ledger, result).lease_until > time.time() + 30  # it may still send
    goes_on.set()
    assert dispatcher.close(5)
    entry = only(ledger, result)
    assert entry.state == "uncertain"  # evidence, not an outcome
    (late,) = [one for one in entry.evidence if one.kind == "late_result"]
    assert late.data["outcome"] == outcome
    assert dispatch(dispatcher, call(), O1).outcome == "uncertain"


def test_a_coroutine_that_ends_within_its_grace_is_evidence(dispatch: Any, ledger: Ledger) -> None:
    async def slow(arguments: Any) -> Any:
        try:
            await asyncio.sleep(5)
        except asyncio.CancelledError:
            return {"refund": "r1"}

    tool = refund(slow, limits=ToolLimits(seconds=0.03))
    result = dispatch(Dispatcher([tool], ledger=ledger), call(), O1)
    assert result.outcome == "uncertain"
    (late,) = [one for one in only(ledger, result).evidence if one.kind == "late_result"]
    assert late.data["value"] == {"refund": "r1"}
    assert only(ledger, result).lease_until <= time.time()


def test_what_a_cancelled_coroutine_brings_is_evidence(ledger: Ledger) -> None:
    started = asyncio.Event()

    async def ends_in_order(arguments: Any) -> Any:
        started.set()
        try:
            await asyncio.sleep(5)
        except asyncio.CancelledError:
            return {"refund": "r1"}

    async def main() -> None:
        dispatcher = Dispatcher([refund(ends_in_order)], ledger=ledger)
        task = asyncio.ensure_future(dispatcher.dispatch_async(call(), O1))
        await started.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(main())
    (entry,) = ledger.unresolved()
    (late,) = [one for one in entry.evidence if one.kind == "late_result"]
    assert late.data["value"] == {"refund": "r1"}


@pytest.mark.parametrize("method", ["look_up", "begin", "finish"])
def test_a_cancellation_while_the_ledger_works_waits_for_it(ledger: Ledger, method: str) -> None:
    at_work, goes_on = threading.Event(), threading.Event()

    class Slow:
        def __getattr__(self, name: str) -> Any:
            if name != method:
                return getattr(ledger, name)

            def slow(*arguments: Any, **options: Any) -> Any:
                at_work.set()
                goes_on.wait(5)
                return getattr(ledger, name)(*arguments, **options)

            return slow

    handler = Handler()

    async def main() -> None:
        dispatcher = Dispatcher([refund(handler)], ledger=Slow())  # type: ignore[arg-type]
        task = asyncio.ensure_future(dispatcher.dispatch_async(call(), O1))
        while not at_work.is_set():
            await asyncio.sleep(0.005)
        task.cancel()
        await asyncio.sleep(0.02)
        assert not task.done()
        goes_on.set()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(main())
    assert len(handler.seen) == (1 if method == "finish" else 0)
    assert ledger.unresolved() == []
    again = Dispatcher([refund(handler)], ledger=ledger).dispatch(call(), O1)
    assert (again.outcome, again.replayed) == ("completed", method == "finish")


def test_the_lease_is_renewed_while_the_handler_runs(dispatch: Any, tmp_path: Path) -> None:
    goes_on = threading.Event()
    with Ledger(tmp_path / "ledger.db", lease=1.0) as ledger:
        dispatcher = Dispatcher([refund(lambda arguments: goes_on.wait(5))], ledger=ledger)
        results: list[ToolResult] = []
        thread = threading.Thread(target=lambda: results.append(dispatch(dispatcher, call(), O1)))
        thread.start()
        until = time.monotonic() + 1.8
        while time.monotonic() < until:  # longer than the lease
            assert ledger.unresolved() == []
            time.sleep(0.02)
        second = dispatch(dispatcher, call(), O1)
        assert (second.outcome, second.boundary) == ("rejected", "ledger")
        goes_on.set()
        thread.join()
        assert [result.outcome for result in results] == ["completed"]


def test_a_handler_that_was_given_up_keeps_its_lease(dispatch: Any, tmp_path: Path) -> None:
    goes_on = threading.Event()
    with Ledger(tmp_path / "ledger.db", lease=1.0) as ledger:
        tool = refund(lambda arguments: goes_on.wait(5), limits=ToolLimits(seconds=0.05))
        dispatcher = Dispatcher([tool], ledger=ledger)
        result = dispatch(dispatcher, call(), O1)
        assert result.outcome == "uncertain"
        for _ in range(2):
            time.sleep(0.9)
            assert only(ledger, result).lease_until > time.time()
        goes_on.set()
        assert dispatcher.close(5)
        time.sleep(1.2)
        assert only(ledger, result).lease_until <= time.time()


def test_one_of_many_at_once_runs(dispatch: Any, ledger: Ledger) -> None:
    handler = Handler(lambda arguments: time.sleep(0.05))
    dispatcher = Dispatcher([refund(handler)], ledger=ledger)
    results: list[ToolResult] = []
    start = threading.Barrier(8)

    def run() -> None:
        start.wait()
        results.append(dispatch(dispatcher, call(), O1))

    threads = [threading.Thread(target=run) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(handler.seen) == 1
    done = [result for result in results if result.outcome == "completed"]
    others = [result for result in results if result.outcome != "completed"]
    assert len([result for result in done if not result.replayed]) == 1
    assert {(result.outcome, result.boundary) for result in others} <= {("rejected", "ledger")}


def test_one_operation_of_two_equal_calls_in_one_turn(ledger: Ledger) -> None:
    handler = Handler()
    dispatcher = Dispatcher([refund(handler)], ledger=ledger)
    results = dispatcher.dispatch_all([call(id="w1"), call(id="w2")], O1)
    assert [(result.outcome, result.replayed) for result in results] == [
        ("completed", False),
        ("completed", True),
    ]
    assert len(handler.seen) == 1


def test_the_entry_is_known_to_a_status_look_up(ledger: Ledger) -> None:
    tool = Tool(
        "slow",
        "Begins elsewhere.",
        {"type": "object"},
        lambda arguments: Accepted("op-5"),
    )
    dispatcher = Dispatcher([tool], ledger=ledger)
    result = dispatcher.dispatch(ToolCall("slow", {}, "c1"), O1)
    assert result.outcome == "accepted"
    (entry,) = ledger.unresolved()
    assert (entry.id, entry.reference, entry.key.operation_id) == (result.entry_id, "op-5", "O1")


@pytest.mark.parametrize(
    ("operation", "words"), [("", "nothing"), ("a\0", "U+0000"), ("x" * 5_000, "at most 1,000")]
)
def test_an_operation_id_that_cannot_be_kept_is_named(
    tmp_path: Path, operation: str, words: str
) -> None:
    handler = Handler()
    with Ledger(tmp_path / "ledger.db") as ledger:
        dispatcher = Dispatcher([refund(handler)], ledger=ledger)
        result = dispatcher.dispatch(call(), Context(principal="p", operation_id=operation))
    assert (result.outcome, result.boundary) == ("rejected", "ledger")
    assert "operation id" in result.message
    assert words in result.message
    assert handler.seen == []


def test_a_result_that_the_record_could_not_hold_does_not_read_as_null(ledger: Ledger) -> None:
    tool = refund(lambda arguments: "x" * 2_000_000, limits=ToolLimits(result_bytes=None))
    dispatcher = Dispatcher([tool], ledger=ledger)
    assert len(dispatcher.dispatch(call(), O1).value) == 2_000_000
    again = dispatcher.dispatch(call(), O1)
    assert (again.outcome, again.replayed, again.value) == ("completed", True, None)
    assert "not on record" in again.to_text()
