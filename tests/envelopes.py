"""The same turn in the envelope of each provider: what the tests of reading share."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

__all__ = ["ARGUMENTS", "ENVELOPES", "WORDS", "envelope"]

ARGUMENTS = {"order_id": "A-1", "lines": [{"n": 9007199254740993}]}
TEXT = json.dumps(ARGUMENTS)


def _chat(reason: Any, call: bool) -> dict[str, Any]:
    called = {"id": "c1", "type": "function", "function": {"name": "pay", "arguments": TEXT}}
    message = {"role": "assistant", "content": "Well.", "refusal": None}
    if call:
        message["tool_calls"] = [called]  # type: ignore[assignment]
    return {"choices": [{"index": 0, "finish_reason": reason, "message": message}]}


def _responses(reason: Any, call: bool) -> dict[str, Any]:
    text = {"type": "output_text", "text": "Well.", "annotations": []}
    output: list[dict[str, Any]] = [
        {"type": "reasoning", "id": "rs_1", "summary": []},
        {"type": "message", "id": "msg_1", "status": "completed", "content": [text]},
    ]
    if call:
        item = {"type": "function_call", "id": "fc_1", "call_id": "c1", "name": "pay"}
        output.append({**item, "arguments": TEXT, "status": "completed"})
    whole = {"object": "response", "error": None, "output": output}
    if reason in ("max_output_tokens", "max_messages", "content_filter", "steered"):
        return {**whole, "status": "incomplete", "incomplete_details": {"reason": reason}}
    return {**whole, "status": reason, "incomplete_details": None}


def _anthropic(reason: Any, call: bool) -> dict[str, Any]:
    content: list[dict[str, Any]] = [{"type": "thinking", "thinking": "…", "signature": "s"}]
    if call:
        content.append({"type": "tool_use", "id": "c1", "name": "pay", "input": ARGUMENTS})
    content.append({"type": "text", "text": "Well."})
    return {"type": "message", "role": "assistant", "stop_reason": reason, "content": content}


def _gemini(reason: Any, call: bool) -> dict[str, Any]:
    parts: list[dict[str, Any]] = [{"text": "Hm.", "thought": True}, {"text": "Well."}]
    if call:
        parts.append({"functionCall": {"id": "c1", "name": "pay", "args": ARGUMENTS}})
    candidate = {"index": 0, "content": {"role": "model", "parts": parts}}
    return {"candidates": [{**candidate, "finishReason": reason}]}


def _bedrock(reason: Any, call: bool) -> dict[str, Any]:
    content: list[dict[str, Any]] = []
    if call:
        use = {"toolUseId": "c1", "name": "pay", "input": ARGUMENTS}
        content.append({"toolUse": use})
    content.append({"text": "Well."})
    message = {"role": "assistant", "content": content}
    return {"stopReason": reason, "output": {"message": message}, "usage": {}}


def _mcp(reason: Any, call: bool) -> dict[str, Any]:
    content: list[dict[str, Any]] = []
    if call:
        content.append({"type": "tool_use", "id": "c1", "name": "pay", "input": ARGUMENTS})
    content.append({"type": "text", "text": "Well."})
    return {"role": "assistant", "model": "m", "stopReason": reason, "content": content}


ENVELOPES: dict[str, Callable[[Any, bool], dict[str, Any]]] = {
    "openai": _chat,
    "openai_responses": _responses,
    "anthropic": _anthropic,
    "gemini": _gemini,
    "mistral": _chat,
    "bedrock": _bedrock,
    "mcp": _mcp,
}
#: What each provider says when a turn that calls a tool has ended as it should.
WORDS = {
    "openai": "tool_calls",
    "openai_responses": "completed",
    "anthropic": "tool_use",
    "gemini": "STOP",
    "mistral": "tool_calls",
    "bedrock": "tool_use",
    "mcp": "toolUse",
}


def envelope(provider: str, reason: Any = ..., *, call: bool = True) -> dict[str, Any]:
    """A turn with the text "Well." and, if so wished, the call ``c1`` of ``pay``."""
    return ENVELOPES[provider](WORDS[provider] if reason is ... else reason, call)
