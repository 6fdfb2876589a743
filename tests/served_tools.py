"""Tools that the tests serve: by ``gramlock tools serve served_tools:TOOLS``, and within them.

Effects are lines in the file that ``$SERVED_EFFECTS`` names, so that a test sees what really
happened in another process.
"""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any

from gramlock.errors import ToolError
from gramlock.tools import Tool, ToolLimits, ToolSet

REFUND = {
    "type": "object",
    "properties": {
        "order_id": {"type": "string", "description": "As printed on the receipt."},
        "amount_cents": {"type": "integer", "minimum": 1},
    },
    "required": ["order_id", "amount_cents"],
    "additionalProperties": False,
}
RECEIPT = {
    "type": "object",
    "properties": {"refund": {"type": "string"}},
    "required": ["refund"],
    "additionalProperties": False,
}
TEXT = {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}


def effect(line: str) -> None:
    """One effect, durable at once."""
    with Path(os.environ["SERVED_EFFECTS"]).open("a", encoding="utf-8") as file:
        file.write(line + "\n")


def refund(order_id: str, amount_cents: int) -> dict[str, Any]:
    """The write: refuses one order, breaks on another, breaks its contract on a third."""
    if order_id == "A-0":
        raise ToolError("order A-0 is refunded already", details={"order_id": order_id})
    effect(f"{order_id} {amount_cents}")
    if order_id == "A-9":
        raise KeyError("password=hunter2")
    if order_id == "A-8":
        return {"refund": 8}
    if order_id == "A-7":
        os._exit(7)  # the server dies after the effect
    return {"refund": f"r-{order_id}"}


def say(text: str) -> str:
    """The read: prints on standard output as well, where the protocol runs."""
    print("noise on standard output", flush=True)
    os.write(1, b"more noise\n")
    return text.upper()


def wait(text: str) -> str:
    """Longer than its limit."""
    time.sleep(1.0)
    effect(text)
    return text


def big(text: str) -> dict[str, Any]:
    """A result above its limit."""
    return {"text": text * 1000}


def odd(text: str) -> list[int]:
    """A result that is no object."""
    return [len(text), 2**70]


TOOLS = ToolSet(
    [
        Tool("issue_refund", "Refund an order.", REFUND, refund, result=RECEIPT),
        Tool("say", "Say it.", TEXT, say, effect="read", result={"type": "string"}),
        Tool("wait", "Wait.", TEXT, wait, limits=ToolLimits(seconds=0.2)),
        Tool(
            "big",
            "Much text.",
            TEXT,
            big,
            effect="read",
            result={"type": "object", "required": ["text"]},
            limits=ToolLimits(result_bytes=500),
        ),
        Tool("odd", "Count.", TEXT, odd, effect="read", result={"type": "array"}),
        Tool("guarded", "Needs consent.", TEXT, lambda text: text, approval="required"),
    ]
)
