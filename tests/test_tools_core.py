"""The core in a few lines: a call is read, judged, refused, repaired and executed once."""

from __future__ import annotations

from typing import Any

import pytest

pytest.importorskip("jsonschema")
pytest.importorskip("regress")

from gramlock.tools import (
    Dispatcher,
    Tool,
    ToolCall,
    ToolSet,
    parse_tool_call,
    run_with_repair,
    validate,
)

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
TEXT = '{"name": "issue_refund", "arguments": {"order_id": "A-1", "amount_cents": "5000"}}'
WRONG = ["$.amount_cents: expected integer, got string", "$.reason: required"]


class Payments:
    """Counts what was paid."""

    def __init__(self) -> None:
        self.paid: list[Any] = []

    def pay(self, order_id: str, amount_cents: int, reason: str) -> dict[str, str]:
        self.paid.append((order_id, amount_cents, reason))
        return {"refund": "r1"}


def test_a_call_that_is_wrong_is_rejected_with_all_its_violations() -> None:
    payments = Payments()
    refund = Tool(
        name="issue_refund",
        description="Refund an order.",
        parameters=SCHEMA,
        handler=payments.pay,
        effect="write",
    )
    dispatcher = Dispatcher(ToolSet([refund]))
    call = parse_tool_call(TEXT)
    assert (call.id, call.name) == (None, "issue_refund")
    assert call.arguments == {"order_id": "A-1", "amount_cents": "5000"}
    assert [str(violation) for violation in validate(call.arguments, SCHEMA)] == WRONG
    result = dispatcher.dispatch(call)
    assert (result.ok, result.outcome) == (False, "rejected")
    assert [str(violation) for violation in result.errors] == WRONG
    assert payments.paid == []


@pytest.mark.parametrize("history", [False, True])
def test_and_repaired(history: bool) -> None:
    payments = Payments()
    refund = Tool(
        name="issue_refund",
        description="Refund an order.",
        parameters=SCHEMA,
        handler=payments.pay,
        effect="write",
    )
    dispatcher = Dispatcher(ToolSet([refund]))
    call = parse_tool_call(TEXT)
    asked: list[list[str]] = []

    def corrected(errors: Any, call: ToolCall) -> ToolCall:
        asked.append([str(error) for error in errors])
        arguments = {**call.arguments, "amount_cents": 5000, "reason": "damaged"}
        return ToolCall(call.name, arguments, call.id)

    def with_history(errors: Any, call: ToolCall, history: Any) -> ToolCall:
        return corrected(errors, call)

    fixer: Any = with_history if history else corrected
    outcome = run_with_repair(fixer, dispatcher, call, max_repairs=3)
    assert outcome.result.ok
    assert outcome.repairs_used == 1
    assert outcome.attempts
    assert asked == [WRONG]
    assert payments.paid == [("A-1", 5000, "damaged")]
