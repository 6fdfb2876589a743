"""What does a dispatch cost with all its checks: executed, refused, asynchronous, several at once?

Without a ledger; what recording a write adds stands in bench_tools_ledger.py. The handler does
nothing, so that the figures are the layer's own: two digests and three copies of the arguments, the
validator, eight rules, and the hand-over to the handler's thread, which is most of it. The bar is
0.3 ms for one executed call.
"""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

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
RESULT = {"type": "object", "required": ["refund"], "properties": {"refund": {"type": "string"}}}
GOOD = {"order_id": "A-1", "amount_cents": 5000, "reason": "a duplicate"}
BAD = {"order_id": "A-1", "amount_cents": "5000"}
CONTEXT = tools.Context(principal="u-1")


def refund(order_id: str, amount_cents: int, reason: str) -> dict[str, str]:
    return {"refund": "r1"}


async def refund_later(order_id: str, amount_cents: int, reason: str) -> dict[str, str]:
    return {"refund": "r1"}


def holds(*arguments: Any) -> bool:
    return True


def tool(handler: Any, **options: Any) -> tools.Tool:
    """A tool of which every kind of check is used."""
    options = {
        "result": RESULT,
        "checks": [holds],
        "permission": holds,
        "preconditions": [holds],
        "postconditions": [holds],
        **options,
    }
    return tools.Tool("issue_refund", "Refund an order.", SCHEMA, handler, **options)


def call(arguments: dict[str, Any], call_id: str = "c1") -> Any:
    return tools.ToolCall("issue_refund", arguments, call_id)


def test_dispatch_with_all_checks(benchmark: Any) -> None:
    benchmark.group = "dispatch, no ledger"
    dispatcher = tools.Dispatcher([tool(refund)])
    good = call(GOOD)
    assert benchmark(dispatcher.dispatch, good, CONTEXT).ok


def test_dispatch_with_an_approval(benchmark: Any) -> None:
    benchmark.group = "dispatch, no ledger"
    approved = tool(refund, approval="required")
    dispatcher = tools.Dispatcher([approved])
    good = call(GOOD)

    def run() -> None:
        tools.approve(good, approved, CONTEXT, "boss", store=dispatcher.approvals)
        assert dispatcher.dispatch(good, CONTEXT).ok

    benchmark(run)


def test_dispatch_refused_by_the_schema(benchmark: Any) -> None:
    benchmark.group = "dispatch, no ledger"
    dispatcher = tools.Dispatcher([tool(refund)])
    bad = call(BAD)
    assert benchmark(dispatcher.dispatch, bad, CONTEXT).boundary == "schema"


@pytest.mark.parametrize("handler", [refund, refund_later], ids=["thread", "task"])
def test_dispatch_async(benchmark: Any, handler: Any) -> None:
    benchmark.group = "dispatch, no ledger"
    dispatcher = tools.Dispatcher([tool(handler)])
    good = call(GOOD)

    async def run(rounds: int) -> None:
        for _ in range(rounds):
            assert (await dispatcher.dispatch_async(good, CONTEXT)).ok

    benchmark.extra_info["per"] = 100
    benchmark(lambda: asyncio.run(run(100)))


def test_eight_reads_at_once(benchmark: Any) -> None:
    benchmark.group = "dispatch, no ledger"
    dispatcher = tools.Dispatcher([tool(refund, effect="read")])
    turn = [call(GOOD, f"c{number}") for number in range(8)]
    benchmark.extra_info["per"] = 8
    assert all(result.ok for result in benchmark(dispatcher.dispatch_all, turn, CONTEXT))
