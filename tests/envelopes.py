"""The same turn in the envelope of each provider: what the tests of reading share."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from typing import Any

__all__ = ["ARGUMENTS", "ENVELOPES", "STREAMS", "WORDS", "cut", "envelope", "stream"]

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


# -- the same turns as streams


def cut(text: str, source: random.Random) -> list[str]:
    """*text* in pieces, some of them empty."""
    at = sorted(source.randrange(len(text) + 1) for _ in range(source.randrange(6)))
    return [text[a:b] for a, b in zip([0, *at], [*at, len(text)], strict=True)]


def _chat_events(reason: Any, call: bool, source: random.Random) -> list[dict[str, Any]]:
    deltas: list[dict[str, Any]] = [{"role": "assistant", "content": ""}]
    deltas += [{"content": piece} for piece in cut("Well.", source)]
    if call:
        begun = {"index": 0, "id": "c1", "type": "function"}
        deltas.append({"tool_calls": [{**begun, "function": {"name": "pay", "arguments": ""}}]})
        for piece in cut(TEXT, source):
            deltas.append({"tool_calls": [{"index": 0, "function": {"arguments": piece}}]})
    chunks: list[dict[str, Any]] = [
        {"choices": [{"index": 0, "delta": delta, "finish_reason": None}]} for delta in deltas
    ]
    chunks.append({"choices": [{"index": 0, "delta": {}, "finish_reason": reason}]})
    return [*chunks, {"choices": [], "usage": {"total_tokens": 1}}]


def _responses_events(reason: Any, call: bool, source: random.Random) -> list[dict[str, Any]]:
    whole = _responses(reason, call)
    events: list[dict[str, Any]] = [
        {"type": "response.created", "response": {"status": "in_progress", "output": []}}
    ]
    for index, item in enumerate(whole["output"]):
        at = {"output_index": index, "item_id": item["id"]}
        empty = {**item, "status": "in_progress"}
        empty.update(
            {name: type(item[name])() for name in ("arguments", "content") if name in item}
        )
        events.append({"type": "response.output_item.added", **at, "item": empty})
        if item["type"] == "function_call":
            kind = "response.function_call_arguments"
            for piece in cut(TEXT, source):
                events.append({"type": f"{kind}.delta", **at, "delta": piece})
            events.append({"type": f"{kind}.done", **at, "arguments": TEXT})
        elif item["type"] == "message":
            for piece in cut("Well.", source):
                events.append({"type": "response.output_text.delta", **at, "delta": piece})
        events.append({"type": "response.output_item.done", **at, "item": item})
    kept = whole if source.randrange(2) else {**whole, "output": []}
    return [*events, {"type": f"response.{whole['status']}", "response": kept}]


def _anthropic_events(reason: Any, call: bool, source: random.Random) -> list[dict[str, Any]]:
    whole = _anthropic(reason, call)
    message = {**whole, "content": [], "stop_reason": None}
    events: list[dict[str, Any]] = [{"type": "message_start", "message": message}]
    for index, block in enumerate(whole["content"]):
        empty, name, text = {
            "thinking": ({"thinking": "", "signature": ""}, "thinking_delta", "…"),
            "tool_use": ({"input": {}}, "input_json_delta", TEXT),
            "text": ({"text": ""}, "text_delta", "Well."),
        }[block["type"]]
        member = {"input_json_delta": "partial_json"}.get(name, block["type"])
        begun = {**block, **empty}
        events.append({"type": "content_block_start", "index": index, "content_block": begun})
        for piece in cut(text, source):
            delta = {"type": name, member: piece}
            events.append({"type": "content_block_delta", "index": index, "delta": delta})
        events.append({"type": "ping"})
        events.append({"type": "content_block_stop", "index": index})
    delta = {"stop_reason": reason, "stop_sequence": None}
    return [*events, {"type": "message_delta", "delta": delta}, {"type": "message_stop"}]


def _gemini_events(reason: Any, call: bool, source: random.Random) -> list[dict[str, Any]]:
    parts: list[dict[str, Any]] = [{"text": "Hm.", "thought": True}]
    parts += [{"text": piece} for piece in cut("Well.", source)]
    if call:
        parts.append({"functionCall": {"id": "c1", "name": "pay", "args": ARGUMENTS}})
    chunks: list[dict[str, Any]] = [
        {"candidates": [{"index": 0, "content": {"role": "model", "parts": [part]}}]}
        for part in parts
    ]
    chunks.append({"candidates": [{"index": 0, "finishReason": reason}], "usageMetadata": {}})
    return chunks


def _bedrock_events(reason: Any, call: bool, source: random.Random) -> list[dict[str, Any]]:
    events: list[dict[str, Any]] = [{"messageStart": {"role": "assistant"}}]
    for index, text in enumerate([TEXT, "Well."] if call else ["Well."]):
        at = {"contentBlockIndex": index}
        if text is TEXT:
            start = {"toolUse": {"toolUseId": "c1", "name": "pay"}}
            events.append({"contentBlockStart": {**at, "start": start}})
        for piece in cut(text, source):
            delta = {"toolUse": {"input": piece}} if text is TEXT else {"text": piece}
            events.append({"contentBlockDelta": {**at, "delta": delta}})
        events.append({"contentBlockStop": at})
    return [*events, {"messageStop": {"stopReason": reason}}, {"metadata": {"usage": {}}}]


STREAMS: dict[str, Callable[[Any, bool, random.Random], list[dict[str, Any]]]] = {
    "openai": _chat_events,
    "openai_responses": _responses_events,
    "anthropic": _anthropic_events,
    "gemini": _gemini_events,
    "mistral": _chat_events,
    "bedrock": _bedrock_events,
}


def stream(
    provider: str, reason: Any = ..., *, call: bool = True, seed: int = 0
) -> list[dict[str, Any]]:
    """The turn of :func:`envelope` as events, its texts cut at random."""
    reason = WORDS[provider] if reason is ... else reason
    return STREAMS[provider](reason, call, random.Random(seed))
