"""The providers' envelopes: one table of reasons and one small reader each.

A reader never raises on data and never guesses: where a payload has not the shape that its provider
documents it notes a problem, and an answer with a problem is not complete. The tables list the
reasons that are documented; any other is an error, and none at all means that the end was not seen.
So an unknown word is never ``complete``, whatever it means.

Sources: the providers' API references, November 2026; MCP 2026-07-28, "Tools" and "Sampling".

Thread-safe: functions of their arguments. Cost: linear in the payload.

Tested by tests/test_tools_completion.py.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from ..errors import ToolCallError
from .call import BrokenCall, Status, ToolCall, broken, call_from

__all__ = [
    "REASONS",
    "Answer",
    "anthropic",
    "bedrock",
    "gemini",
    "mcp",
    "openai_chat",
    "openai_responses",
    "status_of",
]

_CHAT: dict[str, Status] = {
    "stop": "complete",
    "tool_calls": "complete",
    "function_call": "complete",
    "length": "length",
    "content_filter": "filtered",
    # of vLLM's engine
    "abort": "cancelled",
    "error": "error",
    "repetition": "error",
}
_MISTRAL: dict[str, Status] = {
    "stop": "complete",
    "tool_calls": "complete",
    "length": "length",
    "model_length": "length",
    "error": "error",
}
_RESPONSES: dict[str, Status] = {
    "completed": "complete",
    "failed": "error",
    "cancelled": "cancelled",
    "in_progress": "paused",
    "queued": "paused",
}
# The reasons behind "incomplete"; without one, or with another, it is an error.
_INCOMPLETE: dict[str, Status] = {
    "max_output_tokens": "length",
    "max_messages": "length",
    "content_filter": "filtered",
    "steered": "cancelled",
}
# The status of one item of a response.
_ITEM: dict[str, Status] = {
    "completed": "complete",
    "incomplete": "length",
    "in_progress": "paused",
}
_ANTHROPIC: dict[str, Status] = {
    "end_turn": "complete",
    "stop_sequence": "complete",
    "tool_use": "complete",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "pause_turn": "paused",
    "refusal": "refusal",
}
_GEMINI: dict[str, Status] = {
    "STOP": "complete",
    "MAX_TOKENS": "length",
    "CONTINUATION": "paused",
    "SAFETY": "filtered",
    "RECITATION": "filtered",
    "LANGUAGE": "filtered",
    "BLOCKLIST": "filtered",
    "PROHIBITED_CONTENT": "filtered",
    "SPII": "filtered",
    "IMAGE_SAFETY": "filtered",
    "IMAGE_PROHIBITED_CONTENT": "filtered",
    "IMAGE_RECITATION": "filtered",
    "MODEL_ARMOR": "filtered",
    "MALFORMED_FUNCTION_CALL": "malformed",
    "MALFORMED_RESPONSE": "malformed",
    "UNEXPECTED_TOOL_CALL": "malformed",
    "TOO_MANY_TOOL_CALLS": "malformed",
    "MISSING_THOUGHT_SIGNATURE": "malformed",
    "FINISH_REASON_UNSPECIFIED": "error",
    "OTHER": "error",
    "IMAGE_OTHER": "error",
    "NO_IMAGE": "error",
    "ESCALATION": "error",
    "PUP_LIMITED_DISABLED": "error",
}
_BEDROCK: dict[str, Status] = {
    "end_turn": "complete",
    "tool_use": "complete",
    "stop_sequence": "complete",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "guardrail_intervened": "filtered",
    "content_filtered": "filtered",
    "malformed_model_output": "malformed",
    "malformed_tool_use": "malformed",
}
_SAMPLING: dict[str, Status] = {
    "endTurn": "complete",
    "stopSequence": "complete",
    "toolUse": "complete",
    "maxTokens": "length",
}

#: Provider -> its word for how a turn ended -> the status.
REASONS: dict[str, Mapping[str, Status]] = {
    "openai": _CHAT,
    "openai_responses": {**_RESPONSES, **_INCOMPLETE},
    "anthropic": _ANTHROPIC,
    "gemini": _GEMINI,
    "mistral": _MISTRAL,
    "bedrock": _BEDROCK,
    "mcp": _SAMPLING,
}
_CALLS = frozenset(("tool_calls", "function_call", "tool_use", "toolUse"))
_AT_STOP = "the turn ended at a stop sequence, which may stand inside the arguments"


def status_of(reason: Any, table: Mapping[str, Status]) -> Status:
    """The status that *reason* stands for in one of the :data:`REASONS`.

    No reason at all is ``transport_error``: the end was never seen. One that the table does not
    know is ``error``.
    """
    if reason is None or reason == "":
        return "transport_error"
    if not isinstance(reason, str):
        return "malformed"
    return table.get(reason, "error")


@dataclass
class Answer:
    """What a reader has found so far; see :class:`gramlock.tools.Completion`."""

    status: Status = "malformed"
    calls: list[ToolCall | BrokenCall] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)
    refusals: list[str] = field(default_factory=list)
    reason: str | None = None
    problems: list[str] = field(default_factory=list)

    def ended(self, reason: Any, table: Mapping[str, Status]) -> None:
        """Takes the reason for the end."""
        self.status = status_of(reason, table)
        self.reason = reason if isinstance(reason, str) else None

    def says_calls(self) -> None:
        """Notes a problem where the reason speaks of calls and there is none."""
        if self.reason in _CALLS and not self.calls:
            self.problems.append(f"the reason is {self.reason!r}, and there is no call")

    def cut_at_stop(self) -> None:
        """The last call is not known to be whole: the caller's stop sequence ended the turn."""
        if self.calls and isinstance(self.calls[-1], ToolCall):
            last = self.calls[-1]
            self.calls[-1] = BrokenCall(last.id, last.name, "completion", _AT_STOP, "length")

    def text(self, value: Any, what: str) -> None:
        """Adds text; null is none."""
        if isinstance(value, str):
            self.texts.append(value)
        elif value is not None:
            self.problems.append(f"{what} is no text")

    def refused(self, value: Any) -> None:
        """Adds a refusal, which overrules that the answer is complete."""
        if isinstance(value, str) and value:
            self.refusals.append(value)
            if self.status == "complete":
                self.status = "refusal"

    def objects(self, value: Any, what: str) -> Iterator[Mapping[str, Any]]:
        """The objects of a list; what has not this shape is a problem. Null is an empty list."""
        if value is None:
            return
        if not isinstance(value, list | tuple):
            self.problems.append(f"{what} is no list")
            return
        for item in value:
            if isinstance(item, Mapping):
                yield item
            else:
                self.problems.append(f"{what} holds what is no object")

    def object(self, value: Any, what: str, *, needed: bool = False) -> Mapping[str, Any]:
        """An object, or an empty one and a problem; null is a problem where it is *needed*."""
        if isinstance(value, Mapping):
            return value
        if needed or value is not None:
            self.problems.append(f"{what} is no object")
        return {}


# -- OpenAI: chat completions, and who speaks them (Mistral, vLLM, llama.cpp) ----------------------


def openai_chat(payload: Mapping[str, Any], table: Mapping[str, Status] = _CHAT) -> Answer:
    """``choices[0]``; further choices are a problem, since only one of them was meant."""
    answer = Answer()
    choices = list(answer.objects(payload.get("choices"), "choices"))
    if len(choices) != 1:
        answer.problems.append(f"{len(choices)} choices, where one is wanted")
        return answer
    choice = choices[0]
    answer.ended(choice.get("finish_reason"), table)
    message = answer.object(choice.get("message"), "message", needed=True)
    _content(message.get("content"), answer)
    answer.refused(message.get("refusal"))
    for raw in answer.objects(message.get("tool_calls"), "tool_calls"):
        answer.calls.append(call_from(raw))
    legacy = message.get("function_call")
    if legacy is not None:
        answer.calls.append(call_from(legacy))
    answer.says_calls()
    return answer


def mistral(payload: Mapping[str, Any]) -> Answer:
    """The same envelope; arguments may be objects, and ids the text ``"null"``."""
    return openai_chat(payload, _MISTRAL)


def _content(content: Any, answer: Answer) -> None:
    """A message's content: text, or parts."""
    if not isinstance(content, list):
        answer.text(content, "content")
        return
    for part in answer.objects(content, "content"):
        if part.get("type") == "refusal":
            answer.refused(part.get("refusal"))
        elif "text" in part:
            answer.text(part["text"], "text")


# -- OpenAI: responses -----------------------------------------------------------------------------


def openai_responses(payload: Mapping[str, Any]) -> Answer:
    """``output``; an item's own status counts beside the response's."""
    answer = Answer()
    status = payload.get("status")
    answer.ended(status, _RESPONSES)
    if status == "incomplete":
        details = answer.object(payload.get("incomplete_details"), "incomplete_details")
        answer.ended(details.get("reason") or status, _INCOMPLETE)
    if not isinstance(payload.get("output"), list) and answer.status == "complete":
        answer.problems.append("output is no list")
    for item in answer.objects(payload.get("output"), "output"):
        kind = item.get("type")
        if kind == "message":
            _message_item(item, answer)
        elif kind in ("function_call", "custom_tool_call"):
            answer.calls.append(_item_call(item))
        elif "call_id" in item and isinstance(kind, str) and not kind.endswith("_output"):
            # A computer, a shell: it waits for an answer as well, which nobody here can give.
            error = ToolCallError(f"a call of the kind {kind!r:.80} is not supported", "call")
            answer.calls.append(broken({"id": item["call_id"]}, error, "complete"))
    return answer


def _message_item(item: Mapping[str, Any], answer: Answer) -> None:
    own = status_of(item["status"], _ITEM) if "status" in item else "complete"
    if own != "complete" and answer.status == "complete":
        answer.status = own
    for part in answer.objects(item.get("content"), "content"):
        if part.get("type") == "refusal":
            answer.refused(part.get("refusal"))
        elif part.get("type") == "output_text":
            answer.text(part.get("text"), "text")


def _item_call(item: Mapping[str, Any]) -> ToolCall | BrokenCall:
    call = call_from(item)
    own = status_of(item["status"], _ITEM) if "status" in item else "complete"
    if own == "complete":
        return call
    message = f"the call's own status is {item['status']!r:.80}"
    return BrokenCall(call.id, call.name, "completion", message, own)


# -- Anthropic -------------------------------------------------------------------------------------


def anthropic(payload: Mapping[str, Any]) -> Answer:
    """``content``; ``server_tool_use`` runs at the provider and is no call of ours."""
    answer = Answer()
    answer.ended(payload.get("stop_reason"), _ANTHROPIC)
    if not isinstance(payload.get("content"), list) and answer.status == "complete":
        answer.problems.append("content is no list")
    kind = None
    for block in answer.objects(payload.get("content"), "content"):
        kind = block.get("type")
        if kind == "text":
            answer.text(block.get("text"), "text")
        elif kind == "tool_use":
            answer.calls.append(call_from(block))
    if answer.status == "refusal":
        details = answer.object(payload.get("stop_details"), "stop_details")
        answer.refused(details.get("explanation"))
    if answer.reason == "stop_sequence" and kind == "tool_use":
        answer.cut_at_stop()
    answer.says_calls()
    return answer


# -- Gemini ----------------------------------------------------------------------------------------


def gemini(payload: Mapping[str, Any]) -> Answer:
    """``candidates[0]``; a call ends with STOP, there is no reason of its own for it."""
    answer = Answer()
    candidates = list(answer.objects(payload.get("candidates"), "candidates"))
    blocked = answer.object(payload.get("promptFeedback"), "promptFeedback").get("blockReason")
    if blocked is not None and not candidates:
        answer.status, answer.reason = "filtered", blocked if isinstance(blocked, str) else None
        return answer
    if len(candidates) != 1:
        answer.problems.append(f"{len(candidates)} candidates, where one is wanted")
        return answer
    answer.ended(candidates[0].get("finishReason"), _GEMINI)
    if blocked is not None and answer.status == "complete":
        answer.status = "filtered"
    content = answer.object(candidates[0].get("content"), "content")
    for part in answer.objects(content.get("parts"), "parts"):
        call = part.get("functionCall")
        if call is not None:
            answer.calls.append(_gemini_call(call))
        elif "text" in part and not part.get("thought"):
            answer.text(part["text"], "text")
    return answer


def _gemini_call(call: Any) -> ToolCall | BrokenCall:
    if isinstance(call, Mapping) and (call.get("willContinue") or "partialArgs" in call):
        error = ToolCallError("they come in pieces (partialArgs)", "arguments")
        return broken(call, error, "complete")
    return call_from(call)


# -- Bedrock Converse ------------------------------------------------------------------------------


def bedrock(payload: Mapping[str, Any]) -> Answer:
    """``output.message.content``; a ``server_tool_use`` is marked inside ``toolUse``."""
    answer = Answer()
    answer.ended(payload.get("stopReason"), _BEDROCK)
    output = answer.object(payload.get("output"), "output", needed=answer.status == "complete")
    message = answer.object(output.get("message"), "message", needed=answer.status == "complete")
    last = False
    for block in answer.objects(message.get("content"), "content"):
        use = block.get("toolUse")
        server = isinstance(use, Mapping) and use.get("type") == "server_tool_use"
        last = use is not None and not server
        if last:
            answer.calls.append(call_from(use))
        elif "text" in block:
            answer.text(block["text"], "text")
    if answer.reason == "stop_sequence" and last:
        answer.cut_at_stop()
    answer.says_calls()
    return answer


# -- MCP -------------------------------------------------------------------------------------------


def mcp(payload: Mapping[str, Any]) -> Answer:
    """The result of a tool, or of sampling; in a JSON-RPC message or by itself."""
    if payload.get("error") is not None:
        answer = Answer("error")
        error = answer.object(payload["error"], "error")
        answer.reason = str(error["code"]) if isinstance(error.get("code"), int) else None
        answer.text(error.get("message"), "message")
        return answer
    answer = Answer()
    result = payload
    if "jsonrpc" in payload:
        result = answer.object(payload.get("result"), "result", needed=True)
    kind = result.get("resultType", "complete")
    if "stopReason" in result:
        answer.ended(result["stopReason"], _SAMPLING)
    elif kind == "input_required":
        answer.status, answer.reason = "paused", "input_required"
    elif result.get("isError") not in (None, False):
        answer.status, answer.reason = "error", "isError"
    elif kind == "complete" and isinstance(result.get("content"), list | tuple):
        answer.status = "complete"
    else:
        answer.problems.append("a result of an unknown kind")
    content = result.get("content")
    kind = None
    for block in answer.objects([content] if isinstance(content, Mapping) else content, "content"):
        kind = block.get("type")
        if kind == "text":
            answer.text(block.get("text"), "text")
        elif kind == "tool_use":
            answer.calls.append(call_from(block))
    if answer.reason == "stopSequence" and kind == "tool_use":
        answer.cut_at_stop()
    answer.says_calls()
    return answer
