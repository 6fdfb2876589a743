"""What does the ledger of effects cost: a write recorded, a repeat answered, duplicates at once?

All on SQLite in a temporary folder, so that figures contain the flushes of that disk: two a write.
``$TMPDIR`` chooses the folder; one in memory shows what the processor does. The last benchmark is
10,000 writes of 2,500 operations by four processes that start together; its figure is the time of
all of them divided by 10,000, processes' start included.
"""

from __future__ import annotations

import itertools
import multiprocessing
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("sqlalchemy")
pytest.importorskip("jsonschema")
pytest.importorskip("regress")

from gramlock import tools

SCHEMA = {
    "type": "object",
    "properties": {
        "order_id": {"type": "string", "pattern": "^A-[0-9]+$"},
        "amount_cents": {"type": "integer", "minimum": 1},
        "reason": {"type": "string"},
    },
    "required": ["order_id", "amount_cents", "reason"],
    "additionalProperties": False,
}
ARGUMENTS = {"order_id": "A-1", "amount_cents": 5000, "reason": "a duplicate"}
PROCESSES, OPERATIONS = 4, 2500

numbers = itertools.count()


@pytest.fixture
def ledger(tmp_path: Path) -> Iterator[tools.Ledger]:
    with tools.Ledger(tmp_path / "ledger.db") as opened:
        yield opened


def dispatcher_of(ledger: tools.Ledger | None, executed: list[str]) -> tools.Dispatcher:
    def refund(arguments: dict[str, Any], context: tools.Context) -> dict[str, str]:
        executed.append(str(context.operation_id))
        return {"refund": "r1"}

    tool = tools.Tool("issue_refund", "Refund an order.", SCHEMA, refund)
    return tools.Dispatcher([tool], ledger=ledger)


def dispatch(dispatcher: tools.Dispatcher, operation: str) -> tools.ToolResult:
    call = tools.ToolCall("issue_refund", ARGUMENTS, "c1")
    return dispatcher.dispatch(call, tools.Context(principal="u-1", operation_id=operation))


def test_intent_and_outcome(benchmark: Any, ledger: tools.Ledger) -> None:
    benchmark.group = "ledger, SQLite"

    def write(number: int) -> None:
        key = tools.OperationKey("u-1", "issue_refund", f"operation-{number}")
        assert ledger.look_up(key, "d").kind == "none"
        begun = ledger.begin(key, "d", arguments=ARGUMENTS)
        assert isinstance(begun, tools.Begun)
        ledger.finish(begun, "completed", {"refund": "r1"})

    benchmark.pedantic(write, setup=lambda: ((next(numbers),), {}), rounds=300, warmup_rounds=10)


@pytest.mark.parametrize("recorded", [False, True], ids=["dispatch, no ledger", "dispatch"])
def test_dispatch(benchmark: Any, ledger: tools.Ledger, recorded: bool) -> None:
    benchmark.group = "ledger, SQLite"
    dispatcher = dispatcher_of(ledger if recorded else None, [])

    def write(number: int) -> None:
        assert dispatch(dispatcher, f"operation-{number}").ok

    benchmark.pedantic(write, setup=lambda: ((next(numbers),), {}), rounds=300, warmup_rounds=10)


def test_dispatch_of_a_repeat(benchmark: Any, ledger: tools.Ledger) -> None:
    benchmark.group = "ledger, SQLite"
    executed: list[str] = []
    dispatcher = dispatcher_of(ledger, executed)

    def repeat() -> None:
        assert dispatch(dispatcher, "the same").ok

    benchmark.pedantic(repeat, rounds=300, warmup_rounds=10)
    assert executed == ["the same"]


def _duplicates(path: str, seed: int, start: Any, results: Any) -> None:
    """One process's writes, each operation once, in an order of its own."""
    order = list(range(OPERATIONS))
    random.Random(seed).shuffle(order)
    executed: list[str] = []
    with tools.Ledger(path) as ledger:
        dispatcher = dispatcher_of(ledger, executed)
        start.wait()
        for number in order:
            dispatch(dispatcher, f"operation-{number}")
    results.put(executed)


def test_duplicates_from_four_processes(benchmark: Any, tmp_path: Path) -> None:
    benchmark.group = "ledger, SQLite"
    benchmark.extra_info["per"] = PROCESSES * OPERATIONS
    path = str(tmp_path / "ledger.db")
    tools.Ledger(path).close()
    context: Any = multiprocessing.get_context("spawn")
    start, results = context.Barrier(PROCESSES), context.Queue()

    def run() -> list[str]:
        running = [
            context.Process(target=_duplicates, args=(path, seed, start, results))
            for seed in range(PROCESSES)
        ]
        for process in running:
            process.start()
        executed = [operation for _ in running for operation in results.get()]
        for process in running:
            process.join()
        return executed

    executed = benchmark.pedantic(run, rounds=1)
    assert len(executed) == len(set(executed)) == OPERATIONS
