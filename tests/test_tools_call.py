"""Calls in every spelling, and what is refused as none."""

from __future__ import annotations

import json
from collections import UserDict
from decimal import Decimal
from types import MappingProxyType
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gramlock.errors import GramlockError, ToolCallError
from gramlock.tools import BrokenCall, ToolCall, parse_tool_call
from gramlock.tools.call import STATUSES, broken, call_from

ARGUMENTS = {"order_id": "A-1", "lines": [{"n": 1}]}
TEXT = json.dumps(ARGUMENTS)

SPELLINGS = [
    {"id": "c1", "name": "pay", "arguments": ARGUMENTS},
    {"id": "c1", "name": "pay", "arguments": TEXT},
    {"id": "c1", "function": {"name": "pay", "arguments": TEXT}},
    {"id": "c1", "type": "function", "function": {"name": "pay", "arguments": ARGUMENTS}},
    {"id": "c1", "type": "function", "index": 0, "function": {"name": "pay", "arguments": TEXT}},
    {"type": "function_call", "id": "fc_1", "call_id": "c1", "name": "pay", "arguments": TEXT},
    {"type": "tool_use", "id": "c1", "name": "pay", "input": ARGUMENTS},
    {"functionCall": {"id": "c1", "name": "pay", "args": ARGUMENTS}},
    {"function_call": {"id": "c1", "name": "pay", "args": ARGUMENTS}, "thought_signature": "x"},
    {"toolUse": {"toolUseId": "c1", "name": "pay", "input": ARGUMENTS}},
    {"id": "c1", "name": "pay", "parameters": ARGUMENTS},
    {"id": "c1", "type": "function", "name": "pay", "parameters": TEXT},
]


@pytest.mark.parametrize("raw", SPELLINGS, ids=lambda raw: "+".join(raw))
def test_every_spelling_is_the_same_call(raw: dict[str, Any]) -> None:
    expected = ToolCall("pay", ARGUMENTS, "c1", "complete")
    for form in (raw, json.dumps(raw), json.dumps(raw).encode(), UserDict(raw)):
        assert parse_tool_call(form) == expected  # type: ignore[arg-type]


@pytest.mark.parametrize("arguments", [{}, None, "", " \n", "{}"])
def test_a_call_without_arguments_has_empty_ones(arguments: Any) -> None:
    assert parse_tool_call({"name": "ping", "arguments": arguments}).arguments == {}
    assert parse_tool_call('{"name": "ping"}') == ToolCall("ping", {})


REFUSED = [
    ("search(q='x')", "call"),
    ("", "call"),
    (b"\xff", "call"),
    (b'{"name": "pay", "arguments": {"a": "\xff"}}', "call"),
    ('[{"name": "pay"}]', "call"),
    ('"pay"', "call"),
    (None, "call"),
    (7, "call"),
    ({"name": "pay", "function": {"name": "refund"}}, "call"),
    ({"functionCall": {"name": "pay"}, "toolUse": {"name": "refund"}}, "call"),
    ({"function": "pay"}, "call"),
    ({"function": [1]}, "call"),
    ({"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {}}, "call"),
    ({"toolUse": {"type": "server_tool_use", "toolUseId": "s1", "name": "x"}}, "call"),
    ({"type": "text", "text": "x"}, "call"),
    ({"type": "message", "name": "pay"}, "call"),
    ({"arguments": {}}, "name"),
    ({"name": None}, "name"),
    ({"name": ""}, "name"),
    ({"name": ["pay"]}, "name"),
    ({"name": "p" * 100_000}, "name"),
    ({"name": "\ud800"}, "name"),
    ({"name": "pay", "arguments": [1]}, "arguments"),
    ({"name": "pay", "arguments": True}, "arguments"),
    ({"name": "pay", "arguments": 0}, "arguments"),
    ({"name": "pay", "arguments": "[1]"}, "arguments"),
    ({"name": "pay", "arguments": "tokyo"}, "arguments"),
    ({"name": "pay", "arguments": json.dumps(TEXT)}, "arguments"),
    ({"name": "pay", "arguments": TEXT + TEXT}, "arguments"),
    ({"name": "pay", "arguments": '{"a": 1, "a": 2}'}, "arguments"),
    ({"name": "pay", "arguments": '{"a": NaN}'}, "arguments"),
    ({"name": "pay", "arguments": '{"a": "\\ud800"}'}, "arguments"),
    ({"name": "pay", "arguments": "[" * 100_000}, "arguments"),
    ({"name": "pay", "arguments": {"a": float("inf")}}, "arguments"),
    ({"name": "pay", "arguments": {"a": {1, 2}}}, "arguments"),
    ({"name": "pay", "arguments": {1: 2}}, "arguments"),
    ({"name": "pay", "arguments": {"a": "\udc00"}}, "arguments"),
    ({"name": "pay", "arguments": {}, "input": {"a": 1}}, "arguments"),
    ({"name": "pay", "kwargs": {"a": 1}}, "arguments"),  # not a call without arguments
    ({"name": "pay", "arguments": {}, "parameters": {"a": 1}}, "arguments"),
    ({"name": "pay", "description": "Pay.", "parameters": {"type": "object"}}, "call"),
    ({"function": {"name": "pay", "parameters": {}, "strict": True}}, "call"),
    ({"type": "custom", "id": "c1", "custom": {"name": "sh", "input": "ls"}}, "arguments"),
    ({"type": "custom_tool_call", "call_id": "c1", "name": "sh", "input": "{}"}, "arguments"),
]


@pytest.mark.parametrize(("raw", "layer"), REFUSED, ids=lambda raw: f"{raw!r:.40}")
def test_what_is_no_call_is_refused_with_its_layer(raw: Any, layer: str) -> None:
    with pytest.raises(ToolCallError) as caught:
        parse_tool_call(raw)
    error = caught.value
    assert error.layer == layer
    assert str(error).startswith(f"{layer}: ")
    assert isinstance(error, ValueError)
    assert isinstance(error, GramlockError)
    assert "\n" not in str(error)
    assert len(str(error)) < 400


def test_reading_without_an_exception() -> None:
    for status in STATUSES:
        assert call_from({"name": "pay"}, status) == ToolCall("pay", {}, None, status)
        found = call_from({"name": "pay", "id": "c1", "arguments": "["}, status)
        assert isinstance(found, BrokenCall)
        assert (found.id, found.name, found.layer, found.status) == (
            "c1",
            "pay",
            "arguments",
            status,
        )
    assert isinstance(call_from(None), BrokenCall)


def test_arguments_that_hold_themselves_are_refused() -> None:
    ring: dict[str, Any] = {}
    ring["a"] = ring
    with pytest.raises(ToolCallError, match=r"arguments: \$\.a\.a"):
        parse_tool_call({"name": "pay", "arguments": ring})


def test_ids() -> None:
    assert parse_tool_call({"name": "x", "id": "null"}).id is None
    assert parse_tool_call({"name": "x", "id": ""}).id is None
    assert parse_tool_call({"name": "x", "id": 5}).id is None
    assert parse_tool_call({"name": "x", "id": "\ud800"}).id is None
    assert parse_tool_call({"name": "x", "call_id": "c", "id": "fc"}).id == "c"


def test_numbers_and_strings_are_kept_as_they_are() -> None:
    text = '{"name": "x", "arguments": {"n": 9007199254740993, "d": 1e400, "s": "{\\"a\\": 1}"}}'
    assert parse_tool_call(text).arguments == {
        "n": 9007199254740993,
        "d": Decimal("1e400"),
        "s": '{"a": 1}',
    }


def test_arguments_are_a_copy() -> None:
    given_ = {"a": [1]}
    call = parse_tool_call({"name": "x", "arguments": MappingProxyType(given_)})
    given_["a"].append(2)
    assert call.arguments == {"a": [1]}
    assert type(call.arguments) is dict


@pytest.mark.parametrize(("raw", "layer"), REFUSED, ids=lambda raw: f"{raw!r:.40}")
def test_a_broken_call_keeps_what_can_be_read_of_it(raw: Any, layer: str) -> None:
    with pytest.raises(ToolCallError) as caught:
        parse_tool_call(raw)
    found = broken(raw, caught.value, "complete")
    assert isinstance(found, BrokenCall)
    assert found.layer == layer
    if layer == "arguments" and "name" in raw and raw["name"] == "pay":
        assert found.name == "pay"
    if isinstance(raw, dict) and "id" in raw:
        assert found.id == raw["id"]


members = st.sampled_from(
    "name arguments input args function functionCall toolUse type id call_id text".split()
)
things = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=4)
    | st.sampled_from(["pay", TEXT, "{", '{"a":1}', "tool_use", "function", "custom"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(members, inner, max_size=4),
    max_leaves=8,
)  # fmt: skip


@settings(max_examples=300)
@given(st.dictionaries(members, things, max_size=5) | things | st.text() | st.binary())
def test_anything_is_a_call_or_refused(raw: Any) -> None:
    try:
        call = parse_tool_call(raw)
    except ToolCallError as error:
        found = broken(raw, error, "complete")
        assert found.message == str(error)
    else:
        assert call.name
        assert isinstance(call.arguments, dict)
        assert parse_tool_call({"name": call.name, "arguments": call.arguments}) == ToolCall(
            call.name, call.arguments
        )


@pytest.mark.parametrize(
    ("own", "status"),
    [
        (None, "complete"),
        ("completed", "complete"),
        ("incomplete", "length"),
        ("in_progress", "paused"),
        ("cancelled", "cancelled"),
        ("new word", "error"),
        (5, "malformed"),
    ],
)
def test_a_call_that_says_itself_that_it_was_cut_is_not_complete(own: Any, status: str) -> None:
    item = {"type": "function_call", "call_id": "c", "name": "pay", "arguments": "{}"}
    assert parse_tool_call({**item, "status": own}).status == status
