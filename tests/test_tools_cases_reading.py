"""Shared cases of envelopes and calls, read by the public functions.

A case's name is its id in ``tool_cases.jsonl`` beside the checkout, and its expectations are read
from there; what it is about is tested without that file in test_tools_completion.py
and test_tools_call.py. Answers of MCP servers (``env-mcp-…``) are played over
a wire in test_tools_cases_contract.py.
"""

from __future__ import annotations

import json
from math import isinf
from pathlib import Path
from typing import Any

import pytest

from gramlock.errors import ToolCallError
from gramlock.tools import BrokenCall, Completion, ToolCall, parse_tool_call, read_completion

ENVELOPES = [
    "env-chat-relabelled-cut",
    "env-chat-relabelled-one-good-one-cut",
    "env-chat-no-finish",
    "env-chat-abort",
    "env-responses-item-incomplete",
    "env-responses-filter",
    "env-responses-failed",
    "env-anthropic-tool-use",
    "env-anthropic-max-tokens-valid-input",
    "env-anthropic-context-window",
    "env-anthropic-pause-turn",
    "env-bedrock-malformed",
    "env-mistral-object-and-null-ids",
]
CALLS = [
    "parse-string-twice-only",
    "parse-triple-encoded",
    "parse-arguments-array",
    "parse-arguments-boolean",
    "parse-arguments-string-array",
    "parse-arguments-string-not-json",
    "parse-python-literal",
    "parse-outer-not-json",
    "parse-outer-array",
    "parse-outer-trailing",
    "parse-inner-trailing",
    "parse-inner-duplicate",
    "parse-nested-duplicate",
    "parse-duplicate-by-escape",
    "parse-not-duplicate-nfc-nfd",
    "parse-infinity",
    "parse-overflow-float",
    "parse-lone-surrogate",
    "parse-lone-surrogate-key",
    "parse-surrogate-pair",
    "parse-nul",
    "parse-raw-newline-in-string",
    "parse-bigint",
    "parse-2p53-plus-1",
    "parse-id-kept",
    "parse-name-missing",
    "parse-name-empty",
    "parse-deep-nesting",
]


@pytest.fixture(scope="module")
def cases(shared: Path) -> dict[str, Any]:
    """Case by id."""
    lines = (shared / "cases" / "tool_cases.jsonl").read_text("utf-8").split("\n")
    return {case["id"]: case for case in map(json.loads, filter(None, lines))}


def test_every_case_is_here(cases: dict[str, Any]) -> None:
    for kind, listed in (("envelope", ENVELOPES), ("parse_tool_call", CALLS)):
        found = {name for name, case in cases.items() if case["kind"] == kind}
        assert {name for name in found if not name.startswith("env-mcp-")} == set(listed)


def check(completion: Completion, expected: dict[str, Any]) -> None:
    """The expectations about a completion that a case may state."""
    assert completion.status == expected.get("status", completion.status)
    assert completion.status != expected.get("status_not")
    assert completion.dispatchable == expected.get("dispatchable", completion.dispatchable)
    whole = [call for call in completion.calls if isinstance(call, ToolCall)]
    broken = [call for call in completion.calls if isinstance(call, BrokenCall)]
    ids = [call.id for call in completion.calls]
    assert set(expected) <= {
        "status",
        "status_not",
        "dispatchable",
        "calls",
        "call_errors",
        "results_for",
        "distinct_ids",
    }
    if "calls" in expected:
        assert broken == []
        assert len(whole) == len(expected["calls"])
        for call, wanted in zip(whole, expected["calls"], strict=True):
            shown = {"id": call.id, "name": call.name, "arguments": call.arguments}
            assert {name: shown[name] for name in wanted} == wanted
    if "call_errors" in expected:
        assert [{"id": call.id, "layer": call.layer} for call in broken] == expected["call_errors"]
    assert ids == expected.get("results_for", ids)
    if expected.get("distinct_ids"):
        assert len(set(ids)) == len(ids)
        assert None not in ids


@pytest.mark.parametrize("identity", ENVELOPES)
def test_envelopes(cases: dict[str, Any], identity: str) -> None:
    given, expected = cases[identity]["input"], cases[identity]["expect"]
    check(read_completion(given["payload"], given["provider"]), expected)
    if given["provider"] != "mistral":
        check(read_completion(json.dumps(given["payload"])), expected)


@pytest.mark.parametrize("identity", CALLS)
def test_calls(cases: dict[str, Any], identity: str) -> None:
    given, expected = cases[identity]["input"], cases[identity]["expect"]
    raw = given.get("raw")
    if raw is None:
        raw = "".join(text * count for text, count in given["raw_parts"])
    assert set(expected) <= {"call", "error", "never"}
    if "error" in expected:
        assert expected["error"]["type"] == "ValueError"
        with pytest.raises(ToolCallError) as caught:
            parse_tool_call(raw)
        assert isinstance(caught.value, ValueError)
        assert caught.value.layer in expected["error"]["layer_in"]
        return
    call = parse_tool_call(raw)
    if "call" in expected:
        wanted = expected["call"]
        assert (call.name, call.arguments) == (wanted["name"], wanted["arguments"])
        assert call.id == wanted.get("id")
        assert call.status == "complete"
    else:
        assert expected["never"] == "an infinite float in arguments"
        values = call.arguments.values()
        assert not any(isinstance(value, float) and isinf(value) for value in values)
