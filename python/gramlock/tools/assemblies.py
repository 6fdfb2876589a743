"""The providers' streams: each kind of event, and the payload that they come to.

Each reader keeps what it needs for the payload that the provider would have sent whole, with the
arguments as text, so that the strict reader sees what was written. A reason for the end, once
given, ends the turn: a piece behind it, a block that never ended, two names under one index are
problems.

Not thread-safe. Cost: linear in the events.

Sources: the providers' API references of their streams, November 2026.
Tested by tests/test_tools_turns.py and tests/test_tools_cases_reading.py.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from .assembly import LATE, MAX_BLOCKS, Assembly, Block, CallPreview
from .stream import ArgumentReader

__all__ = ["Anthropic", "Bedrock", "Chat", "Gemini", "Responses"]


class Chat(Assembly):
    """OpenAI's chat completions, and who speaks them: ``choices[].delta``."""

    def __init__(self) -> None:
        super().__init__()
        self._texts: list[Any] = []
        self._refusals: list[str] = []
        self._legacy: Block | None = None
        self._other = False

    def feed(self, event: Mapping[str, Any]) -> None:
        self.error = event.get("error") or self.error
        for choice in self.objects(event.get("choices"), "choices"):
            if choice.get("index", 0) != 0:
                self.problem("several choices, where one is wanted")
                continue
            self._delta(self.object(choice.get("delta"), "delta"))
            reason = choice.get("finish_reason")
            if reason is not None and reason != "":
                if self.reason not in (None, reason):
                    self.problem("two reasons for the end")
                self.reason = reason

    def _delta(self, delta: Mapping[str, Any]) -> None:
        content, refusal = delta.get("content"), delta.get("refusal")
        calls, legacy = delta.get("tool_calls"), delta.get("function_call")
        if self.reason is not None and (content or refusal or calls or legacy):
            self.problem(LATE)
        if isinstance(content, list):
            for part in self.objects(content, "content"):
                if part.get("type") == "refusal":
                    self._refusals.append(self.text(part.get("refusal"), "refusal"))
                elif "text" in part:
                    self._texts.append(self.text(part["text"], "text"))
        elif content is not None:
            self._texts.append(self.text(content, "content"))
        if refusal is not None:
            self._refusals.append(self.text(refusal, "refusal"))
        for piece in self.objects(calls, "tool_calls"):
            self._call(piece)
        if legacy is not None:
            self._legacy = self._legacy or Block(reader=ArgumentReader())
            self._merge(self._legacy, self.object(legacy, "function_call"))

    def _call(self, piece: Mapping[str, Any]) -> None:
        index = self.index(piece.get("index"), "a piece of a call")
        if index is None:
            return
        block = self.blocks.get(index) or self.begun(index, {}, call=True)
        if block is None:
            return
        self._once(block, "id", None if piece.get("id") == "null" else piece.get("id"))
        self._once(block, "type", piece.get("type"))
        if piece.get("custom") is not None:
            block.fixed["type"] = "custom"
        self._merge(block, self.object(piece.get("function"), "function"))

    def _merge(self, block: Block, function: Mapping[str, Any]) -> None:
        self._once(block, "name", function.get("name"))
        arguments = function.get("arguments")
        if isinstance(arguments, Mapping):
            if block.whole is not None:
                self.problem("arguments came twice")
            block.whole = arguments
        elif arguments is not None:
            self.fragment(block, arguments, "arguments")
        if block.whole is not None and block.reader and block.reader.text:
            self.problem("arguments came as an object and as text")

    def _once(self, block: Block, name: str, value: Any) -> None:
        """Keeps what comes once, or again and again the same."""
        if value is None or value == "":
            return
        if not isinstance(value, str):
            self.problem(f"the {name} of a call is no text")
        elif block.fixed.setdefault(name, self.text(value, name)) != value:
            self.problem(f"two calls under one index: their {name} differs")

    def whole(self) -> dict[str, Any]:
        message: dict[str, Any] = {"role": "assistant", "content": "".join(self._texts) or None}
        if self._refusals:
            message["refusal"] = "".join(self._refusals)
        if self.blocks:
            message["tool_calls"] = [self._shown(block) for block in self.in_order()]
        if self._legacy is not None:
            message["function_call"] = self._function(self._legacy)
        return {"choices": [{"index": 0, "finish_reason": self.reason, "message": message}]}

    def _shown(self, block: Block) -> dict[str, Any]:
        fixed = {name: block.fixed[name] for name in ("id", "type") if name in block.fixed}
        return {"type": "function"} | fixed | {"function": self._function(block)}

    @staticmethod
    def _function(block: Block) -> dict[str, Any]:
        named = {"name": block.fixed["name"]} if "name" in block.fixed else {}
        return {**named, "arguments": block.arguments()}

    def calls(self) -> Iterator[CallPreview]:
        for block in self.in_order() + ([self._legacy] if self._legacy else []):
            yield block.preview(block.fixed.get("id"), block.fixed.get("name"))


class Anthropic(Assembly):
    """Anthropic's messages: blocks that begin and end, and the reason behind them."""

    def __init__(self) -> None:
        super().__init__()
        self._details: Any = None

    def feed(self, event: Mapping[str, Any]) -> None:
        kind = event.get("type")
        if kind == "error":
            self.error = event.get("error") or "error"
        elif kind == "message_delta":
            delta = self.object(event.get("delta"), "delta")
            reason = delta.get("stop_reason")
            if reason is not None:
                if self.reason not in (None, reason):
                    self.problem("two reasons for the end")
                self.reason = reason
            self._details = delta.get("stop_details") or self._details
        elif kind in ("content_block_start", "content_block_delta", "content_block_stop"):
            index = self.index(event.get("index"), "an event of a block")
            if self.reason is not None:
                self.problem(LATE)
            if index is not None:
                self._of_block(kind, index, event)

    def _of_block(self, kind: Any, index: int, event: Mapping[str, Any]) -> None:
        if kind == "content_block_start":
            fixed = self.object(event.get("content_block"), "content_block")
            block = self.begun(index, fixed, call=fixed.get("type") == "tool_use")
            if block is not None:
                block.texts.append(self.text(fixed.get("text"), "text"))
                block.whole = fixed.get("input")
            return
        block = self.blocks.get(index)
        if block is None:
            self.problem(f"block {index} never began")
        elif kind == "content_block_stop":
            block.ended = True
        else:
            delta = self.object(event.get("delta"), "delta")
            if delta.get("type") == "text_delta":
                block.texts.append(self.text(delta.get("text"), "text"))
            elif delta.get("type") == "input_json_delta" and self._is_ours(block):
                self.fragment(block, delta.get("partial_json"), "partial_json")

    @staticmethod
    def _is_ours(block: Block) -> bool:
        return block.fixed.get("type") not in ("server_tool_use", "mcp_tool_use")

    def whole(self) -> dict[str, Any]:
        self.all_ended()
        content = []
        for block in self.in_order():
            shown = dict(block.fixed)
            if block.reader is not None:
                shown["input"] = block.arguments()
                if block.whole and block.reader.text:
                    self.problem("input came with the block's beginning and in pieces")
            elif shown.get("type") == "text":
                shown["text"] = "".join(block.texts)
            content.append(shown)
        ended = {"stop_reason": self.reason, "stop_details": self._details}
        return {"type": "message", "role": "assistant", "content": content, **ended}

    def calls(self) -> Iterator[CallPreview]:
        for block in self.in_order():
            if block.reader is not None:
                yield block.preview(block.fixed.get("id"), block.fixed.get("name"))


class Bedrock(Assembly):
    """Bedrock's ConverseStream: events with one member each; text blocks have no beginning."""

    def feed(self, event: Mapping[str, Any]) -> None:
        for kind, value in event.items():
            body = self.object(value, str(kind)[:40])
            if kind == "messageStop":
                if self.reason is not None:
                    self.problem("two reasons for the end")
                self.reason = body.get("stopReason")
            elif isinstance(kind, str) and kind.endswith("Exception"):
                self.error = {"type": kind, "message": body.get("message")}
            elif kind in ("contentBlockStart", "contentBlockDelta", "contentBlockStop"):
                index = self.index(body.get("contentBlockIndex"), "an event of a block")
                if self.reason is not None:
                    self.problem(LATE)
                if index is not None:
                    self._of_block(kind, index, body)

    def _of_block(self, kind: str, index: int, body: Mapping[str, Any]) -> None:
        if kind == "contentBlockStart":
            use = self.object(body.get("start"), "start").get("toolUse")
            fixed = {} if use is None else {"toolUse": dict(self.object(use, "toolUse"))}
            self.begun(index, fixed, call=use is not None)
            return
        delta = self.object(body.get("delta"), "delta")
        block = self.blocks.get(index)
        if block is None:
            if "toolUse" in delta or kind == "contentBlockStop":
                self.problem(f"block {index} never began")
                return
            block = self.begun(index, {}, call=False)
            if block is None:
                return
        if kind == "contentBlockStop":
            block.ended = True
        elif "toolUse" in delta:
            self.fragment(block, self.object(delta["toolUse"], "toolUse").get("input"), "input")
        elif "text" in delta:
            block.texts.append(self.text(delta["text"], "text"))

    def whole(self) -> dict[str, Any]:
        self.all_ended()
        content: list[dict[str, Any]] = []
        for block in self.in_order():
            if block.reader is not None:
                content.append({"toolUse": {**block.fixed["toolUse"], "input": block.arguments()}})
            elif block.texts:
                content.append({"text": "".join(block.texts)})
        message = {"role": "assistant", "content": content}
        return {"stopReason": self.reason, "output": {"message": message}}

    def calls(self) -> Iterator[CallPreview]:
        for block in self.in_order():
            use = block.fixed.get("toolUse", {})
            if block.reader is not None and use.get("type") != "server_tool_use":
                yield block.preview(use.get("toolUseId"), use.get("name"))


class Gemini(Assembly):
    """Gemini: each chunk is a response with the next parts; calls come whole."""

    def __init__(self) -> None:
        super().__init__()
        self._parts: list[Mapping[str, Any]] = []
        self._feedback: Any = None

    def feed(self, event: Mapping[str, Any]) -> None:
        self.error = event.get("error") or self.error
        self._feedback = event.get("promptFeedback") or self._feedback
        for candidate in self.objects(event.get("candidates"), "candidates"):
            if candidate.get("index", 0) not in (0, None):
                self.problem("several candidates, where one is wanted")
                continue
            content = self.object(candidate.get("content"), "content")
            for part in self.objects(content.get("parts"), "parts"):
                self._part(part)
            reason = candidate.get("finishReason")
            if reason is not None:
                if self.reason not in (None, reason):
                    self.problem("two reasons for the end")
                self.reason = reason

    def _part(self, part: Mapping[str, Any]) -> None:
        if self.reason is not None and (part.get("text") or "functionCall" in part):
            self.problem(LATE)
        if len(self._parts) >= 100 * MAX_BLOCKS:
            self.problem(f"more than {100 * MAX_BLOCKS:,} parts")
            return
        if "text" in part:
            part = {**part, "text": self.text(part["text"], "text")}
        self._parts.append(part)

    def whole(self) -> dict[str, Any]:
        content = {"role": "model", "parts": self._parts}
        feedback = {} if self._feedback is None else {"promptFeedback": self._feedback}
        if feedback and not self._parts and self.reason is None:
            return feedback  # the prompt was blocked: there is no candidate
        return {"candidates": [{"content": content, "finishReason": self.reason}], **feedback}

    def calls(self) -> Iterator[CallPreview]:
        for part in self._parts:
            call = part.get("functionCall")
            if isinstance(call, Mapping):
                yield Block(whole=call.get("args")).preview(call.get("id"), call.get("name"))


_ARGUMENTS = "response.function_call_arguments"
_TERMINAL = {
    "response.completed": "completed",
    "response.incomplete": "incomplete",
    "response.failed": "failed",
    "response.cancelled": "cancelled",
}


class Responses(Assembly):
    """OpenAI's responses: items that are added, grow and are done; the response comes last.

    Calls come up to four times: in pieces, as their text, as the item, in the response. All have to
    agree.
    """

    def __init__(self) -> None:
        super().__init__()
        self._response: Mapping[str, Any] = {}
        self._texts: dict[int, str] = {}  # arguments as they were said to be whole

    def feed(self, event: Mapping[str, Any]) -> None:
        kind = event.get("type")
        if kind == "error":
            code = event.get("code")
            self.error = event.get("error") or {"type": code, "message": event.get("message")}
        elif isinstance(kind, str) and kind in _TERMINAL:
            self._ended(kind, self.object(event.get("response"), "response"))
        elif kind in ("response.output_item.added", "response.output_item.done"):
            self._item(kind, event)
        elif kind in (f"{_ARGUMENTS}.delta", f"{_ARGUMENTS}.done", "response.output_text.delta"):
            self._piece(kind, event)

    def _ended(self, kind: str, response: Mapping[str, Any]) -> None:
        if self.reason is not None:
            self.problem("two ends of the response")
        if response.get("status") != _TERMINAL[kind]:
            self.problem(f"the event {kind} and the response's status do not agree")
        self.reason, self._response = kind, response

    def _item(self, kind: Any, event: Mapping[str, Any]) -> None:
        index = self.index(event.get("output_index"), "an item")
        item = self.object(event.get("item"), "item")
        if self.reason is not None:
            self.problem(LATE)
        if index is None:
            return
        block = self.blocks.get(index)
        if block is None or kind == "response.output_item.added":
            block = self.begun(index, item, call=item.get("type") == "function_call")
        elif block.ended or _identity(block.fixed) != _identity(item):
            self.problem(f"the items under index {index} do not agree")
        if block is not None and kind == "response.output_item.done":
            block.fixed, block.ended = dict(item), True

    def _piece(self, kind: Any, event: Mapping[str, Any]) -> None:
        index = self.index(event.get("output_index"), "a piece of an item")
        block = None if index is None else self.blocks.get(index)
        if self.reason is not None:
            self.problem(LATE)
        if block is None or index is None:
            self.problem("a piece of an item that was not added")
        elif kind == f"{_ARGUMENTS}.delta":
            self.fragment(block, event.get("delta"), "delta")
        elif kind == f"{_ARGUMENTS}.done":
            self._texts[index] = self.text(event.get("arguments"), "arguments")
        else:
            block.texts.append(self.text(event.get("delta"), "delta"))

    def whole(self) -> dict[str, Any]:
        given = self._response.get("output")
        output = [self._shown(index) for index in sorted(self.blocks)]
        if isinstance(given, list) and given:
            if output and not _agree(output, given):
                self.problem("the response and its events do not agree")
            output = given
        elif self.reason is not None and any(not block.ended for block in self.blocks.values()):
            self.problem("an item never ended")
        kept = {
            name: self._response[name]
            for name in ("status", "incomplete_details", "error")
            if name in self._response
        }
        return {"object": "response", **kept, "output": output}

    def _shown(self, index: int) -> dict[str, Any]:
        block = self.blocks[index]
        shown = dict(block.fixed)
        if block.reader is not None:
            said = [block.reader.text, self._texts.get(index)]
            said.append(shown.get("arguments") if block.ended else None)
            texts = {text for text in said if isinstance(text, str) and text}
            if len(texts) > 1:
                self.problem(f"the arguments under index {index} came in two versions")
            shown["arguments"] = max(texts, key=len, default="")
        elif shown.get("type") == "message" and not block.ended:
            shown["content"] = [{"type": "output_text", "text": "".join(block.texts)}]
        return shown

    def calls(self) -> Iterator[CallPreview]:
        for block in self.in_order():
            if block.reader is not None:
                fixed = block.fixed
                if block.ended and not block.reader.text:
                    reader = ArgumentReader()
                    reader.feed(fixed["arguments"] if _is_text(fixed.get("arguments")) else "")
                    block = Block(fixed, reader)
                yield block.preview(fixed.get("call_id"), fixed.get("name"))


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _identity(item: Mapping[str, Any]) -> list[Any]:
    return [item.get(name) for name in ("type", "call_id", "name")]


def _agree(ours: list[dict[str, Any]], given: list[Any]) -> bool:
    """Whether the calls are the same in what is executed."""
    found = []
    for items in (ours, given):
        calls = [item for item in items if isinstance(item, Mapping)]
        calls = [item for item in calls if item.get("type") == "function_call"]
        found.append([[*_identity(item), item.get("arguments") or ""] for item in calls])
    return found[0] == found[1]
