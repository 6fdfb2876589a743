"""A tool, its handler and both ways to dispatch: what the tests of the tool layer share."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from gramlock import tools

pytest.importorskip("jsonschema")
pytest.importorskip("regress")

SCHEMA = {
    "type": "object",
    "properties": {
        "order_id": {"type": "string"},
        "amount_cents": {"type": "integer", "minimum": 1},
        "reason": {"type": "string"},
    },
    "required": ["order_id", "amount_cents", "reason"],
    "additionalProperties": False,
}
GOOD = {"order_id": "A-1", "amount_cents": 5000, "reason": "dup"}
ME = tools.Context(principal="agent-7")


class Handler:
    """Counts its runs, and does what the test says."""

    def __init__(self, act: Callable[[dict[str, Any]], Any] | None = None) -> None:
        self.seen: list[dict[str, Any]] = []
        self._act = act or (lambda arguments: {"refund": "r1"})

    def __call__(self, arguments: dict[str, Any]) -> Any:
        self.seen.append(arguments)
        return self._act(arguments)


def raising(error: BaseException) -> Callable[[Any], Any]:
    def act(arguments: Any) -> Any:
        raise error

    return act


def refund(handler: Any, **options: Any) -> tools.Tool:
    options = {"parameters": SCHEMA, **options}
    return tools.Tool("issue_refund", "Refund an order.", handler=handler, **options)


def call(arguments: Any = None, name: Any = "issue_refund", **options: Any) -> tools.ToolCall:
    return tools.ToolCall(name, GOOD if arguments is None else arguments, **{"id": "c1", **options})


#: Both ways to dispatch; every outcome is the same by either.
def synchronous(dispatcher: tools.Dispatcher, *arguments: Any, **options: Any) -> tools.ToolResult:
    return dispatcher.dispatch(*arguments, **options)


def asynchronous(dispatcher: tools.Dispatcher, *arguments: Any, **options: Any) -> tools.ToolResult:
    return asyncio.run(dispatcher.dispatch_async(*arguments, **options))
