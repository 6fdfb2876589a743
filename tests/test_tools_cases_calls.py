"""Cases of kind ``tool`` that lie beside the checkout: what their calls say, each by its id.

A case spells calls in a model's dialect, ``<tool_call>`` around JSON. The envelope is a matter of
dialects; here is what stands inside it: the JSON of a call is read by :func:`parse_tool_call`, its
name and arguments are judged as a dispatcher does, and the grammar of a whole call
(:meth:`ToolSet.call_schema`) is what a model would be constrained by.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

import gramlock
from gramlock.errors import ToolCallError
from gramlock.tools import ArgumentReader, Tool, ToolSet, digest, parse_tool_call, validate

INSIDE = re.compile(r"\A<tool_call>\n(.*)\n</tool_call>\Z", re.DOTALL)
IDS = """
tool-args-double-encoded tool-string-arg-that-looks-like-json tool-unknown-name tool-name-prefix
tool-no-parameters tool-end-marker-in-string tool-stream-any-split
""".split()


@pytest.fixture(scope="module")
def cases(shared: Path) -> dict[str, Any]:
    lines = (shared / "cases" / "cases.jsonl").read_text(encoding="utf-8").strip().split("\n")
    return {case["id"]: case for case in map(json.loads, lines) if case["format"] == "tool"}


def inside(text: str) -> str:
    match = INSIDE.match(text)
    assert match is not None
    return match[1]


def tools_of(case: dict[str, Any]) -> ToolSet:
    return ToolSet(
        Tool(tool["name"], "As in the case.", tool["parameters"], lambda arguments: arguments)
        for tool in case["grammar"]["tools"]
    )


def is_right(tools: ToolSet, text: str) -> bool:
    """Whether a call can be read, names a tool, and its arguments satisfy the tool's schema."""
    try:
        call = parse_tool_call(text)
    except ToolCallError:
        return False
    return call.name in tools and not validate(call.arguments, tools[call.name].parameters)


@pytest.mark.parametrize("name", IDS)
def test_what_may_be_written(name: str, cases: dict[str, Any]) -> None:
    case = cases[name]
    tools = tools_of(case)
    made = gramlock.Grammar.from_json_schema(tools.call_schema())
    for text in case["accept"]:
        assert made.accepts(inside(text))
        assert is_right(tools, inside(text))
    for text in case["reject"]:
        assert not made.accepts(inside(text))
        # the lenient reader decodes a text that holds the arguments once more; nothing else
        assert is_right(tools, inside(text)) == (name == "tool-args-double-encoded")


@pytest.mark.parametrize("name", IDS)
def test_what_is_read(name: str, cases: dict[str, Any]) -> None:
    for parse in cases[name].get("parse", ()):
        call = parse_tool_call(inside(parse["raw"]))
        assert [{"name": call.name, "arguments": call.arguments}] == parse["calls"]


def test_the_same_operation(cases: dict[str, Any]) -> None:
    """The case tool-idempotency-key."""
    for left, right in cases["tool-idempotency-key"]["same_key"]:
        assert digest(left) == digest(right)


def test_a_stream_cut_anywhere(cases: dict[str, Any]) -> None:
    """The case tool-stream-any-split: at each place, and one character at a time."""
    for parse in cases["tool-stream-any-split"]["parse"]:
        _, _, rest = inside(parse["raw"]).partition('"arguments": ')
        text = rest.removesuffix("}")
        assert parse["stream"]
        for pieces in (*([text[:at], text[at:]] for at in range(len(text))), list(text)):
            reader = ArgumentReader()
            for piece in pieces:
                reader.feed(piece)
            end = reader.finish("complete")
            assert end.arguments == parse["calls"][0]["arguments"]
