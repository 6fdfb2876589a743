"""The dispatcher and the ledger together: leases, late results, secrets, a record that fails."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("sqlalchemy")
pytest.importorskip("jsonschema")
pytest.importorskip("regress")

from gramlock.errors import LedgerError
from gramlock.tools import Accepted, Context, Dispatcher, Tool, ToolCall, ToolError, ToolResult
from gramlock.tools.ledger import Entry, Ledger
from gramlock.tools.reconciliation import reconcile
from gramlock.tools.tool import StatusReport, ToolLimits

SCHEMA = {
    "type": "object",
    "properties": {"to": {"type": "string"}, "pin": {"type": "string", "x-secret": True}},
    "required": ["to"],
}
K = Context(principal="u-1", operation_id="K")


@pytest.fixture
def ledger(database: str) -> Iterator[Ledger]:
    with Ledger(database) as opened:
        yield opened


def pay(handler: Callable[[dict[str, Any]], Any], **options: Any) -> Tool:
    return Tool("pay", "Pay.", SCHEMA, lambda arguments: handler(arguments), **options)


def call(**arguments: Any) -> Any:
    return ToolCall("pay", {"to": "X", **arguments}, "c1")


def entry_of(ledger: Ledger, result: ToolResult) -> Entry:
    assert result.entry_id is not None
    entry = ledger.get(result.entry_id)
    assert entry is not None
    return entry


def wait_for(holds: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 30
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_a_late_result_settles_what_the_time_limit_left_open(ledger: Ledger) -> None:
    go_on = threading.Event()

    def slow(arguments: Any) -> str:
        assert go_on.wait(30)
        return "r1"

    tool = pay(slow, limits=ToolLimits(seconds=0.05))
    dispatcher = Dispatcher([tool], ledger=ledger)
    result = dispatcher.dispatch(call(), K)
    assert result.outcome == "uncertain"
    assert [entry.id for entry in ledger.unresolved()] == [result.entry_id]
    (report,) = reconcile(ledger, [tool])
    assert report.finding == "claimed", "its thread may still send"
    go_on.set()
    wait_for(lambda: bool(entry_of(ledger, result).evidence))
    repeat = dispatcher.dispatch(call(), K)
    assert repeat.outcome == "uncertain", "evidence is no outcome"
    (report,) = reconcile(ledger, [tool])
    assert (report.finding, report.entry.state) == ("late_result", "completed")
    repeat = dispatcher.dispatch(call(), K)
    assert (repeat.outcome, repeat.value, repeat.replayed) == ("completed", "r1", True)


def test_a_handler_longer_than_the_lease_keeps_it(database: str) -> None:
    with Ledger(database, lease=1.5) as ledger:
        seen: list[Any] = []

        def slow(arguments: Any) -> str:
            for _ in range(5):
                time.sleep(0.5)
                seen.append(ledger.unresolved())
            return "r1"

        dispatcher = Dispatcher([pay(slow)], ledger=ledger)
        assert dispatcher.dispatch(call(), K).ok
        assert not any(seen), "an owner at work is never listed"


def test_in_progress_is_no_failure_of_the_tool(ledger: Ledger) -> None:
    inner: list[ToolResult] = []

    def slow(arguments: Any) -> str:
        inner.append(dispatcher.dispatch(call(), K))
        return "r1"

    dispatcher = Dispatcher([pay(slow)], ledger=ledger)
    assert dispatcher.dispatch(call(), K).value == "r1"
    assert [(r.outcome, r.boundary) for r in inner] == [("rejected", "ledger")]


def test_an_equal_call_without_operation_id_has_to_be_meant(ledger: Ledger) -> None:
    runs: list[Any] = []
    dispatcher = Dispatcher([pay(runs.append)], ledger=ledger)
    me = Context(principal="u-1")
    first = dispatcher.dispatch(call(), me)
    second = dispatcher.dispatch(call(), me)
    assert (second.outcome, second.boundary, second.entry_id) == (
        "rejected",
        "ledger",
        first.entry_id,
    )
    assert len(runs) == 1
    assert dispatcher.dispatch(call(), me, duplicate_ok=True).ok
    assert dispatcher.dispatch(call(to="Y"), me).ok
    assert len(runs) == 3


def test_what_was_accepted_ends_by_look_up(ledger: Ledger) -> None:
    answers = [StatusReport("running"), StatusReport("completed", "r1")]
    tool = pay(
        lambda arguments: Accepted("op-9"),
        status_lookup=lambda entry, context: answers.pop(0) if entry.reference == "op-9" else None,
    )
    dispatcher = Dispatcher([tool], ledger=ledger)
    assert dispatcher.dispatch(call(), K).outcome == "accepted"
    assert reconcile(ledger, [tool])[0].entry.state == "accepted"
    again = dispatcher.dispatch(call(), K)
    assert (again.outcome, again.reference, again.replayed) == ("accepted", "op-9", True)
    assert reconcile(ledger, [tool])[0].entry.state == "completed"
    assert dispatcher.dispatch(call(), K).value == "r1"


@pytest.mark.parametrize("error", [ConnectionError("lost"), KeyboardInterrupt(), SystemExit(1)])
def test_whatever_ends_a_handler_is_recorded(ledger: Ledger, error: BaseException) -> None:
    def fail(arguments: Any) -> None:
        raise error

    dispatcher = Dispatcher([pay(fail)], ledger=ledger)
    if isinstance(error, Exception):
        assert dispatcher.dispatch(call(), K).outcome == "uncertain"
    else:
        with pytest.raises(type(error)):
            dispatcher.dispatch(call(), K)
    (entry,) = ledger.unresolved()
    assert entry.state == "uncertain"
    assert reconcile(ledger, [pay(fail)])[0].finding == "no_lookup", "it may be looked up at once"


def test_a_promise_of_no_effect_is_a_recorded_failure(ledger: Ledger) -> None:
    runs: list[Any] = []

    def decline(arguments: Any) -> None:
        runs.append(arguments)
        raise ToolError("declined", details={"code": 51})

    dispatcher = Dispatcher([pay(decline)], ledger=ledger)
    for _ in range(2):
        result = dispatcher.dispatch(call(), K)
        assert (result.outcome, result.message, result.details) == (
            "failed",
            "declined",
            {"code": 51},
        )
    assert len(runs) == 1


def test_no_secret_reaches_the_disk(tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"
    with Ledger(path) as ledger:
        dispatcher = Dispatcher([pay(lambda arguments: None)], ledger=ledger)
        result = dispatcher.dispatch(call(pin="4711-hunter2"), K)
        assert entry_of(ledger, result).arguments == {"to": "X", "pin": "[redacted]"}
        changed = dispatcher.dispatch(call(pin="another"), K)
        assert changed.boundary == "ledger", "its digest is that of the whole arguments"
        for file in tmp_path.iterdir():
            assert b"hunter2" not in file.read_bytes()


def test_an_outcome_that_cannot_be_stored_does_not_hide_what_happened(
    ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*arguments: Any, **options: Any) -> Any:
        raise LedgerError("the disk is full")

    dispatcher = Dispatcher([pay(lambda arguments: "r1")], ledger=ledger)
    monkeypatch.setattr(ledger, "finish", full)
    result = dispatcher.dispatch(call(), K)
    assert (result.outcome, result.value) == ("completed", "r1")
    assert entry_of(ledger, result).state == "in_progress"
    assert dispatcher.dispatch(call(), K).boundary == "ledger", "not executed again"


def test_asynchronous_dispatches_of_one_key(ledger: Ledger) -> None:
    runs: list[Any] = []

    async def handler(arguments: dict[str, Any]) -> str:
        runs.append(arguments)
        await asyncio.sleep(0.05)
        return "r1"

    dispatcher = Dispatcher([Tool("pay", "Pay.", SCHEMA, handler)], ledger=ledger)

    async def main() -> list[ToolResult]:
        return list(await asyncio.gather(*(dispatcher.dispatch_async(call(), K) for _ in range(5))))

    results = asyncio.run(main())
    assert len(runs) == 1
    outcomes = sorted((result.outcome, result.boundary or "") for result in results)
    assert set(outcomes) <= {("completed", ""), ("rejected", "ledger")}
    assert ("completed", "") in outcomes


def test_a_cancelled_dispatch_leaves_an_uncertain_entry(ledger: Ledger) -> None:
    started = threading.Event()

    async def handler(arguments: dict[str, Any]) -> None:
        started.set()
        await asyncio.sleep(3600)

    dispatcher = Dispatcher([Tool("pay", "Pay.", SCHEMA, handler)], ledger=ledger)

    async def main() -> None:
        task = asyncio.ensure_future(dispatcher.dispatch_async(call(), K))
        while not started.is_set():
            await asyncio.sleep(0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(main())
    (entry,) = ledger.unresolved()
    assert entry.state == "uncertain"
