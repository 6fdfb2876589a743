"""Handlers under their limits: time, places, rate, size; interruptions pass, recorded."""

from __future__ import annotations

import asyncio
import contextvars
import os
import signal
import threading
import time
from typing import Any

import pytest

from gramlock.tools import (
    Context,
    Dispatcher,
    ResultStore,
    Tool,
    ToolLimits,
    ToolResult,
)
from tool_fakes import (
    ME,
    Handler,
    asynchronous,
    call,
    raising,
    refund,
    synchronous,
)


@pytest.fixture(params=[synchronous, asynchronous])
def dispatch(request: pytest.FixtureRequest) -> Any:
    return request.param


@pytest.mark.parametrize("effect, outcome", [("write", "uncertain"), ("read", "failed")])
def test_a_thread_past_its_limit_stays_tracked(dispatch: Any, effect: Any, outcome: str) -> None:
    goes_on = threading.Event()
    handler = Handler(lambda arguments: goes_on.wait(10))
    tool = refund(handler, effect=effect, limits=ToolLimits(seconds=0.03))
    dispatcher = Dispatcher([tool], threads=1)
    assert dispatch(dispatcher, call(), ME).outcome == outcome
    (job,) = dispatcher.in_flight()
    assert (job.tool, job.call_id, job.overdue) == ("issue_refund", "c1", True)
    refused = dispatch(dispatcher, call(), ME)  # its place is taken until it ends
    assert (refused.outcome, refused.boundary) == ("rejected", "capacity")
    assert not dispatcher.close(0.01)
    goes_on.set()
    assert dispatcher.close(10)
    assert dispatch(dispatcher, call(), ME).ok
    assert len(handler.seen) == 2


def test_a_coroutine_past_its_limit_gets_a_grace(dispatch: Any) -> None:
    cleaned: list[str] = []

    async def slow(arguments: Any) -> None:
        try:
            await asyncio.sleep(10)
        finally:
            await asyncio.sleep(0.01)
            cleaned.append("up")

    tool = refund(slow, limits=ToolLimits(seconds=0.03))
    dispatcher = Dispatcher([tool], grace=5)
    assert dispatch(dispatcher, call(), ME).outcome == "uncertain"
    assert cleaned == ["up"]
    assert dispatcher.close(5)


def test_a_coroutine_that_will_not_end_is_given_up() -> None:
    async def stubborn(arguments: Any) -> None:
        until = time.monotonic() + 0.4
        while time.monotonic() < until:
            try:
                await asyncio.sleep(0.4)
            except asyncio.CancelledError:
                continue

    tool = refund(stubborn, limits=ToolLimits(seconds=0.02))
    dispatcher = Dispatcher([tool], grace=0.02)
    assert dispatcher.dispatch(call(), ME).outcome == "uncertain"
    assert [job.overdue for job in dispatcher.in_flight()] == [True]
    assert dispatcher.close(5)

    async def both() -> None:
        assert (await dispatcher.dispatch_async(call(), ME)).outcome == "uncertain"
        assert [job.overdue for job in dispatcher.in_flight()] == [True]
        await asyncio.sleep(0.5)
        assert dispatcher.in_flight() == ()

    asyncio.run(both())


def test_asynchronous_handlers_run_either_way(dispatch: Any) -> None:
    async def pay(arguments: Any, context: Context) -> Any:
        await asyncio.sleep(0)
        return {"by": context.principal}

    assert dispatch(Dispatcher([refund(pay)]), call(), ME).value == {"by": "agent-7"}
    later = refund(lambda arguments: pay(arguments, ME))
    assert dispatch(Dispatcher([later]), call(), ME).value == {"by": "agent-7"}


def test_the_deadline_bounds_everything(dispatch: Any) -> None:
    goes_on = threading.Event()
    handler = Handler(lambda arguments: goes_on.wait(10))
    dispatcher = Dispatcher([refund(handler)])
    assert dispatch(dispatcher, call(), ME.within(-1)).boundary == "deadline"
    assert not handler.seen
    began = time.monotonic()
    assert dispatch(dispatcher, call(), ME.within(0.5)).outcome == "uncertain"
    assert time.monotonic() - began < 5
    goes_on.set()
    assert dispatcher.close(5)


def test_the_rate_counts_what_runs(dispatch: Any) -> None:
    handler = Handler()
    dispatcher = Dispatcher([refund(handler, limits=ToolLimits(calls_per_minute=2))])
    assert not dispatch(dispatcher, call({}), ME).ok
    assert dispatch(dispatcher, call(), ME).ok
    assert dispatch(dispatcher, call(), ME).ok
    result = dispatch(dispatcher, call(), ME)
    assert (result.outcome, result.boundary) == ("rejected", "rate")
    assert len(handler.seen) == 2


def test_the_rate_frees_itself() -> None:
    from gramlock.tools.rates import Rates

    now = [0.0]
    rates = Rates(lambda: now[0])
    assert [rates.take("t", 2) for _ in range(3)] == [0.0, 0.0, 60.0]
    now[0] = 59.0
    assert rates.take("t", 2) == 1.0
    now[0] = 60.0
    assert rates.take("t", 2) == 0.0
    assert rates.take("other", 1) == 0.0
    assert rates.take("t", None) == 0.0


def test_a_large_result_is_stored_and_named(dispatch: Any) -> None:
    rows = [{"id": number, "text": "x" * 50} for number in range(2_000)]
    store = ResultStore()
    tool = refund(Handler(lambda arguments: {"rows": rows}), limits=ToolLimits(result_bytes=10_000))
    result = dispatch(Dispatcher([tool], results=store), call(), ME)
    assert result.ok
    assert result.value is None
    assert result.stored is not None
    assert result.stored.size > 100_000
    assert any("2,000 items left out" in line for line in result.stored.omissions)
    assert store.get(result.stored.id, principal="agent-7") == {"rows": rows}
    assert result.stored.reference in result.to_text()
    assert len(result.to_text()) < 6_000


def test_a_result_too_large_for_the_store_is_invalid(dispatch: Any) -> None:
    store = ResultStore(max_result=100)
    tool = refund(Handler(lambda arguments: "x" * 1000), limits=ToolLimits(result_bytes=10))
    assert dispatch(Dispatcher([tool], results=store), call(), ME).outcome == "invalid_result"


# ---- interruptions


@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit])
def test_an_exit_passes(dispatch: Any, error: type[BaseException]) -> None:
    def leave(*arguments: Any) -> Any:
        raise error

    for tool in (
        refund(Handler(), permission=leave),
        refund(Handler(), preconditions=[leave]),
        refund(Handler(raising(error()))),
    ):
        dispatcher = Dispatcher([tool], threads=1)
        with pytest.raises(error):
            dispatch(dispatcher, call(), ME)
        assert dispatcher.close(5)
        assert dispatcher._parts.workers.reserve("thread")  # its place is free again


def test_the_callers_cancellation_passes() -> None:
    started = threading.Event()
    goes_on = threading.Event()

    def wait_here(arguments: Any) -> None:
        started.set()
        goes_on.wait(5)

    async def one(tool: Tool) -> None:
        dispatcher = Dispatcher([tool], grace=0.01)
        task = asyncio.ensure_future(dispatcher.dispatch_async(call(), ME))
        while not started.is_set():
            await asyncio.sleep(0.005)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        goes_on.set()

    asyncio.run(one(refund(wait_here)))
    started.clear()

    async def wait_there(arguments: Any) -> None:
        started.set()
        await asyncio.sleep(5)

    asyncio.run(one(refund(wait_there)))


def test_a_cancellation_while_an_approval_is_pending_executes_nothing() -> None:
    handler = Handler()
    asked = asyncio.Event()

    async def ask(request: Any, context: Any) -> None:
        asked.set()
        await asyncio.sleep(10)

    async def main() -> None:
        dispatcher = Dispatcher([refund(handler, approval="required")], ask_approval=ask)
        task = asyncio.ensure_future(dispatcher.dispatch_async(call(), ME))
        await asked.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(main())
    assert not handler.seen


def test_many_dispatches_at_once() -> None:
    handler = Handler()
    dispatcher = Dispatcher([refund(handler)], threads=4)
    results: list[ToolResult] = []

    def run() -> None:
        for _ in range(25):
            results.append(dispatcher.dispatch(call(), ME))

    threads = [threading.Thread(target=run) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [result.outcome for result in results] == ["completed"] * 200
    assert dispatcher.close(1)


def test_a_signal_while_the_handler_runs_passes() -> None:
    ended = threading.Event()

    def slow(arguments: Any) -> None:
        time.sleep(0.8)
        ended.set()

    dispatcher = Dispatcher([refund(slow)])
    main = threading.main_thread().ident
    assert main is not None
    threading.Timer(0.05, signal.pthread_kill, (main, signal.SIGINT)).start()
    with pytest.raises(KeyboardInterrupt):
        dispatcher.dispatch(call(), ME)
    assert [job.overdue for job in dispatcher.in_flight()] == [True]
    assert dispatcher.close(5)
    assert ended.is_set()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_a_child_process_has_workers_of_its_own() -> None:
    dispatcher = Dispatcher([refund(Handler())], threads=1)
    assert dispatcher.dispatch(call(), ME).ok  # its thread now waits for more
    child = os.fork()
    if child == 0:
        try:
            os._exit(0 if dispatcher.dispatch(call(), ME.within(5)).ok else 1)
        finally:
            os._exit(2)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert dispatcher.dispatch(call(), ME).ok


def test_threads_are_reused_and_few() -> None:
    seen: set[int] = set()
    dispatcher = Dispatcher([refund(Handler(lambda arguments: seen.add(threading.get_ident())))])
    for _ in range(50):
        assert dispatcher.dispatch(call(), ME).ok
    assert len(seen) <= 2


def test_context_variables_reach_the_handler(dispatch: Any) -> None:
    variable: contextvars.ContextVar[str] = contextvars.ContextVar("variable")
    variable.set("here")
    seen: list[str] = []
    tool = refund(Handler(lambda arguments: seen.append(variable.get())))
    assert dispatch(Dispatcher([tool]), call(), ME).ok
    assert seen == ["here"]


def test_a_handler_may_dispatch(dispatch: Any) -> None:
    inner = refund(Handler(), effect="read")
    dispatchers: list[Dispatcher] = []
    outer = Tool(
        "outer",
        "Dispatches.",
        {"type": "object"},
        lambda arguments: dispatchers[0].dispatch(call(), ME).value,
    )
    dispatchers.append(Dispatcher([inner, outer], threads=2))
    result = dispatch(dispatchers[0], call({}, "outer"), ME)
    assert result.value == {"refund": "r1"}


def test_tasks_that_a_coroutine_leaves_behind_are_ended() -> None:
    ended: list[str] = []

    async def leaves(arguments: Any) -> None:
        async def behind() -> None:
            try:
                await asyncio.sleep(10)
            finally:
                ended.append("cancelled")

        left.append(asyncio.ensure_future(behind()))
        await asyncio.sleep(0)

    left: list[Any] = []
    assert Dispatcher([refund(leaves)]).dispatch(call(), ME).ok
    assert ended == ["cancelled"]


@pytest.mark.parametrize("options", [{"threads": 0}, {"tasks": 0}])
def test_bounds_are_positive(options: Any) -> None:
    with pytest.raises(ValueError, match="at least one"):
        Dispatcher([], **options)
