"""Tool calls: what a model asks for, as data, and how one is read.

Providers spell a call in several ways (all of them are read by :func:`parse_tool_call`)::

    {"name": …, "arguments": {…}}                                  plain; Responses adds "call_id"
    {"id": …, "type": "function", "function": {"name": …, "arguments": "{…}"}}
    {"type": "tool_use", "id": …, "name": …, "input": {…}}
    {"functionCall": {"name": …, "args": {…}}}      {"toolUse": {"toolUseId": …, "input": {…}}}
    {"name": …, "parameters": {…}}                                 Llama's models, in their text

Arguments come as an object or as the text of one, which is then read a second time, and never a
third. No arguments at all, null and an empty text mean ``{}``: that is how providers spell a call
of a tool without parameters. Nothing is repaired: a call whose arguments stand under another name,
or under two, is refused rather than executed without them.

Thread-safe: immutable values, functions of their arguments. Cost: linear in the text.

Tested by tests/test_tools_call.py.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal, cast, get_args

from ..errors import JsonTextError, NotJsonError, ToolCallError
from .json_text import loads, plain_json
from .violation import type_name

__all__ = [
    "STATUSES",
    "BrokenCall",
    "Layer",
    "Status",
    "ToolCall",
    "call_from",
    "parse_tool_call",
    "read_arguments",
]

#: How a completion, or a call in it, ended. Only ``complete`` may lead to a dispatch.
Status = Literal[
    "complete",
    "length",
    "refusal",
    "filtered",
    "cancelled",
    "paused",
    "malformed",
    "error",
    "transport_error",
]

STATUSES: tuple[Status, ...] = get_args(Status)

#: Which part of a call is wrong: how it ended, the message around it, its name, its arguments.
Layer = Literal["completion", "call", "name", "arguments"]


@dataclass(frozen=True)
class ToolCall:
    """A call that could be read. It is a proposal: nothing in it has been checked.

    Attributes:
        name: Name of the tool, as the model wrote it; perhaps of none that exists.
        arguments: The arguments: JSON data with named members.
        id: The provider's id of the call, which its result must carry; None if there is none.
        status: How the completion that holds it ended, as far as this call is concerned.
    """

    name: str
    arguments: dict[str, Any] = field(default_factory=dict)
    id: str | None = None
    status: Status = "complete"


@dataclass(frozen=True)
class BrokenCall:
    """A call that could not be read. It still has a place among the others, and gets a result.

    Attributes:
        id: The provider's id of the call, if it could be read.
        name: Name of the tool, if it could be read.
        layer: Which part is wrong.
        message: What is wrong, one line that the model can act on.
        status: How the completion that holds it ended, as far as this call is concerned.
    """

    id: str | None
    name: str | None
    layer: Layer
    message: str
    status: Status = "complete"


_WRAPPERS = ("function", "functionCall", "function_call", "toolUse")
_ARGUMENTS = ("arguments", "input", "args", "parameters")
_IDS = ("call_id", "toolUseId", "id")
_TYPES = ("function", "function_call", "tool_use", "toolUse", "tool_call")
# What may stand in a call beside name and arguments: not being told the arguments' name, a reader
# must not take a call that spells it in another way for one without arguments.
_BESIDE = frozenset(
    "name type index status namespace caller toolset_name thought_signature thoughtSignature "
    "cache_control async".split()
) | {*_IDS, *_ARGUMENTS}
_OWN_STATUS: dict[str, Status] = {
    "completed": "complete",
    "incomplete": "length",
    "in_progress": "paused",
}
_SERVER_TOOL = "a server_tool_use is executed by the provider"
_LONGEST_NAME = 1000
_LONGEST_ID = 4000
_SURROGATE = re.compile("[\ud800-\udfff]")


def parse_tool_call(raw: str | bytes | Mapping[str, Any]) -> ToolCall:
    """The call that *raw* spells, strictly.

    Args:
        raw: The text of a call, its UTF-8, or an object from a parser. Text is complete on the
            caller's word: it may be the beginning of something longer that was cut.

    Raises:
        ToolCallError: It is no call; a ValueError. Its ``layer`` says which part is wrong:
            ``"call"`` (the text or object as a whole), ``"name"`` or ``"arguments"``.

    A call that bears a ``status`` of its own, as items of OpenAI's responses do, has that one:
    what is ``incomplete`` or ``in_progress`` is not complete on anyone's word.
    """
    if isinstance(raw, str | bytes | bytearray):
        try:
            raw = loads(raw)
        except JsonTextError as error:
            raise ToolCallError(str(error), "call") from None
    if not isinstance(raw, Mapping):
        raise ToolCallError(f"expected an object, got {type_name(raw)}", "call")
    inner = _unwrapped(raw)
    name = _name(inner)
    return ToolCall(name, _arguments(inner), read_id(inner) or read_id(raw), _own_status(raw))


def _own_status(call: Mapping[str, Any]) -> Status:
    """The status that a call bears itself; without one it is complete on the caller's word."""
    own = call.get("status")
    if own is None:
        return "complete"
    if not isinstance(own, str):
        return "malformed"
    return _OWN_STATUS.get(own, own if own in STATUSES else "error")


def read_id(call: Mapping[str, Any]) -> str | None:
    """The id of a call, or None; the text ``null`` and an empty one are none."""
    for member in _IDS:
        value = call.get(member)
        if isinstance(value, str) and value not in ("", "null"):
            unfit = len(value) > _LONGEST_ID or _SURROGATE.search(value)
            return None if unfit else value
    return None


def call_from(raw: Any, status: Status = "complete") -> ToolCall | BrokenCall:
    """The call that *raw* spells, or why it spells none; raises nothing.

    Args:
        raw: As for :func:`parse_tool_call`.
        status: How the completion that holds it ended.
    """
    try:
        call = parse_tool_call(raw)
        return call if status == "complete" else replace(call, status=status)
    except ToolCallError as error:
        return broken(raw, error, status)


def broken(raw: Any, error: ToolCallError, status: Status) -> BrokenCall:
    """What can be said of a call that :func:`parse_tool_call` refused with *error*."""
    found, name = None, None
    if isinstance(raw, Mapping):
        try:
            inner = _unwrapped(raw)
            found = read_id(inner) or read_id(raw)
            name = _name(inner)
        except ToolCallError:
            found = found or read_id(raw)
    layer = cast("Layer", error.layer)
    return BrokenCall(found, name, layer, str(error), status)


def _unwrapped(raw: Mapping[str, Any]) -> Mapping[str, Any]:
    """The object that holds name and arguments."""
    kind = raw.get("type")
    if kind == "server_tool_use":
        raise ToolCallError(_SERVER_TOOL, "call")
    if kind in ("custom", "custom_tool_call"):
        raise ToolCallError("the input of a custom tool is text, and no arguments", "arguments")
    wrappers = [name for name in _WRAPPERS if name in raw]
    if not wrappers:
        if kind is not None and kind not in _TYPES:
            raise ToolCallError(f"the type {kind!r:.80} is none of a call", "call")
        return raw
    inner = raw[wrappers[0]]
    if len(wrappers) > 1 or "name" in raw or any(name in raw for name in _ARGUMENTS):
        raise ToolCallError("two calls in one object", "call")
    if not isinstance(inner, Mapping):
        message = f"{wrappers[0]!r} should hold an object, not {type_name(inner)}"
        raise ToolCallError(message, "call")
    if inner.get("type") == "server_tool_use":  # Bedrock marks them inside
        raise ToolCallError(_SERVER_TOOL, "call")
    return inner


def _name(call: Mapping[str, Any]) -> str:
    if "name" not in call:
        raise ToolCallError("there is no member 'name'", "name")
    name = call["name"]
    if not isinstance(name, str):
        raise ToolCallError(f"expected a string, got {type_name(name)}", "name")
    if not name:
        raise ToolCallError("it is empty", "name")
    if len(name) > _LONGEST_NAME:
        message = f"it has {len(name):,} characters; {_LONGEST_NAME:,} are allowed"
        raise ToolCallError(message, "name")
    if _SURROGATE.search(name):
        raise ToolCallError("half of a surrogate pair", "name")
    return name


def _arguments(call: Mapping[str, Any]) -> dict[str, Any]:
    spelt = [name for name in _ARGUMENTS if name in call]
    if len(spelt) > 1:
        raise ToolCallError(f"both {spelt[0]!r} and {spelt[1]!r} are given", "arguments")
    others = [name for name in call if name not in _BESIDE]
    if spelt == ["parameters"] and others:
        message = f"'parameters' beside {others[0]!r:.80}: the definition of a tool, and no call"
        raise ToolCallError(message, "call")
    if not spelt:
        if others:
            message = f"there is no member 'arguments', but {others[0]!r:.80}"
            raise ToolCallError(message, "arguments")
        return {}
    return read_arguments(call[spelt[0]])


def read_arguments(value: Any) -> dict[str, Any]:
    """The arguments that *value* spells: an object, or the text of one.

    Raises:
        ToolCallError: Neither, with ``layer`` ``"arguments"``.
    """
    if value is None:
        return {}
    if isinstance(value, str):
        if not value.strip(" \t\r\n"):
            return {}
        try:
            found = loads(value)
        except JsonTextError as error:
            raise ToolCallError(f"in the string: {error}", "arguments") from None
        if not isinstance(found, dict):
            message = f"expected a string that holds an object, it holds {type_name(found)}"
            raise ToolCallError(message, "arguments")
        return found
    if not isinstance(value, Mapping):
        raise ToolCallError(f"expected an object, got {type_name(value)}", "arguments")
    try:
        return cast("dict[str, Any]", plain_json(value))
    except NotJsonError as error:
        raise ToolCallError(str(error), "arguments") from None
    except Exception as error:  # a mapping or a stack that cannot be trusted
        raise ToolCallError(f"unreadable: {type(error).__name__}", "arguments") from None
