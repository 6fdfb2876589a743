"""Shared cases of envelopes, calls and streams, read by the public functions.

A case's name is its id in ``tool_cases.jsonl`` beside the checkout, and its expectations are read
from there; what it is about is tested without that file in test_tools_completion.py,
test_tools_call.py, test_tools_stream.py and test_tools_turns.py. Answers of MCP servers
(``env-mcp-…``) are played over a wire in test_tools_cases_contract.py.
"""

from __future__ import annotations

import json
from math import isinf
from pathlib import Path
from typing import Any

import pytest

from gramlock.errors import ToolCallError
from gramlock.tools import (
    ArgumentReader,
    BrokenCall,
    Completion,
    CompletionReader,
    Dispatcher,
    RecordReader,
    Tool,
    ToolCall,
    parse_tool_call,
    read_completion,
)

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
STREAMS = [
    "stream-number-cut",
    "stream-number-minus",
    "stream-literal-cut",
    "stream-escape-cut",
    "stream-surrogates-cut",
    "stream-defaults-stay-out",
    "stream-value-done-response-not",
    "stream-dropped",
    "stream-second-object",
]
RECORDS = ["stream-list-of-strings-cut"]
EVENTS = [
    "stream-chat-interleaved",
    "stream-chat-gap-in-index",
    "stream-anthropic-block-stop-is-not-the-end",
    "stream-anthropic-fragments",
]


@pytest.fixture(scope="module")
def cases(shared: Path) -> dict[str, Any]:
    """Case by id."""
    lines = (shared / "cases" / "tool_cases.jsonl").read_text("utf-8").split("\n")
    return {case["id"]: case for case in map(json.loads, filter(None, lines))}


def test_every_case_is_here(cases: dict[str, Any]) -> None:
    streams = STREAMS + RECORDS + EVENTS
    kinds = (("envelope", ENVELOPES), ("parse_tool_call", CALLS), ("stream", streams))
    for kind, listed in kinds:
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


@pytest.mark.parametrize("identity", ENVELOPES)
def test_envelopes_dispatched(cases: dict[str, Any], identity: str) -> None:
    pytest.importorskip("jsonschema")
    pytest.importorskip("regress")
    given, expected = cases[identity]["input"], cases[identity]["expect"]
    ran: list[Any] = []

    def handler(arguments: dict[str, Any]) -> None:
        ran.append(arguments)

    tools = [Tool(name, "Do.", {"type": "object"}, handler) for name in ("get_user", "write_file")]
    completion = read_completion(given["payload"], given["provider"])
    results = Dispatcher(tools).dispatch_completion(completion)
    assert bool(ran) == completion.dispatchable
    assert len(ran) == sum(result.ok for result in results)
    assert results  # each of these turns calls, or ended as it should not
    ids = [result.call_id for result in results]
    assert ids == ([call.id for call in completion.calls] or [None])
    assert ids == expected.get("results_for", ids)
    if not completion.dispatchable:
        assert {result.outcome for result in results} == {"rejected"}
        assert {result.boundary for result in results} <= {"completion", "parse"}


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


@pytest.mark.parametrize("partial", [False, True])
@pytest.mark.parametrize("identity", STREAMS)
def test_streams(cases: dict[str, Any], identity: str, partial: bool) -> None:
    pytest.importorskip("jiter")
    given, expected = cases[identity]["input"], cases[identity]["expect"]
    assert set(given) <= {"chunks", "end", "schema"}
    reader = ArgumentReader(partial_strings=partial)
    shown: list[Any] = []
    for chunk in given["chunks"]:
        reader.feed(chunk)
        shown.append(reader.preview().value)
    end = reader.finish(given.get("end", "complete"))
    for name, wanted in expected.items():
        if name == "final":
            assert end.arguments == wanted
            assert end.dispatchable
            assert shown[-1] == wanted
        elif name == "previews_never":
            pairs = [pair for value in shown for pair in value.items()]
            assert not any(pair in pairs for never in wanted for pair in never.items())
        elif name == "previews_never_substrings":
            assert not any(part in str(value) for value in shown for part in wanted)
        elif name == "previews_never_lone_surrogates":
            assert all(str(value).encode() for value in shown)
        elif name == "previews_never_keys":
            assert not any(key in value for value in [*shown, end.arguments] for key in wanted)
        elif name == "error":
            assert (end.arguments, end.finished) == (None, False)
            assert end.problem
        else:
            assert name in ("value_finished", "dispatchable", "status")
            found = {"value_finished": end.finished, "dispatchable": end.dispatchable}
            assert found.get(name, end.status) == wanted


@pytest.mark.parametrize("identity", RECORDS)
def test_records(cases: dict[str, Any], identity: str) -> None:
    given, expected = cases[identity]["input"], cases[identity]["expect"]
    reader = RecordReader()
    records = [record for chunk in given["chunks"] for record in reader.feed(chunk)]
    assert given["mode"] == "records"
    assert records == expected["records"]
    end = reader.finish(given["end"])
    assert (end.finished, end.status) == (expected["final"] is not None, given["end"])


@pytest.mark.parametrize("identity", EVENTS)
def test_events(cases: dict[str, Any], identity: str) -> None:
    given, expected = cases[identity]["input"], cases[identity]["expect"]
    reader = CompletionReader(given["provider"])
    events = given.get("events")
    if events is None:
        deltas: list[dict[str, Any]] = [{"tool_calls": [d]} for d in given["tool_call_deltas"]]
        events = [{"choices": [{"index": 0, "delta": delta}]} for delta in deltas]
        end = {"index": 0, "delta": {}, "finish_reason": given["finish_reason"]}
        events.append({"choices": [end]})
    for event in events:
        reader.feed(event)
    check(reader.finish(), expected)
