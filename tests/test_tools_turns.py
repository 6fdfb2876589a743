"""Turns that come as events, from every provider that streams them."""

from __future__ import annotations

import copy
import json
import random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from envelopes import ARGUMENTS, STREAMS, WORDS, envelope, stream
from gramlock.tools import BrokenCall, Completion, CompletionReader, ToolCall, read_completion
from gramlock.tools.assembly import MAX_BLOCKS
from gramlock.tools.call import STATUSES
from test_tools_completion import mutate

pytest.importorskip("jiter")
CALL = ToolCall("pay", ARGUMENTS, "c1")


def read(provider: str, events: list[Any]) -> Completion:
    reader = CompletionReader(provider)
    for event in events:
        reader.feed(event)
    return reader.finish()


def same(one: Completion, other: Completion) -> bool:
    return (one.status, one.calls, one.text, one.refusal, one.reason, one.provider) == (
        other.status,
        other.calls,
        other.text,
        other.refusal,
        other.reason,
        other.provider,
    )


@pytest.mark.parametrize("provider", STREAMS)
def test_any_cut_is_read_as_the_whole_payload(provider: str) -> None:
    for seed in range(30):
        for call in (True, False):
            events = stream(provider, call=call, seed=seed)
            whole = read_completion(envelope(provider, call=call), provider)
            completion = read(provider, events)
            assert same(completion, whole), completion
            assert same(read(provider, [json.dumps(event) for event in events]), whole)
            if call:
                assert completion.calls == (CALL,)
                assert completion.dispatchable
                assert read_completion(completion.raw).provider in (provider, "openai")


@pytest.mark.parametrize("provider", STREAMS)
def test_a_stream_that_breaks_off_is_never_complete(provider: str) -> None:
    events = stream(provider, seed=5)
    ends = {"openai": 2, "mistral": 2, "bedrock": 2, "anthropic": 2}.get(provider, 1)
    for count in range(len(events) - ends + 1):
        completion = read(provider, events[:count])
        assert (completion.status, completion.dispatchable) == ("transport_error", False)
        assert {call.status for call in completion.calls} <= {"transport_error", "paused"}
    assert read(provider, []).status == "transport_error"
    assert read(provider, events[: len(events) - ends + 1]).status == "complete"


@pytest.mark.parametrize("provider", STREAMS)
def test_the_reason_counts(provider: str) -> None:
    cuts = {
        "openai": "length",
        "openai_responses": "max_output_tokens",
        "anthropic": "max_tokens",
        "gemini": "MAX_TOKENS",
        "mistral": "length",
        "bedrock": "max_tokens",
    }
    completion = read(provider, stream(provider, cuts[provider]))
    assert (completion.status, completion.reason) == ("length", cuts[provider])
    assert completion.calls == (ToolCall("pay", ARGUMENTS, "c1", "length"),)
    if provider != "openai_responses":
        assert read(provider, stream(provider, "else")).status == "error"


@pytest.mark.parametrize("provider", STREAMS)
def test_previews(provider: str) -> None:
    reader = CompletionReader(provider)
    assert reader.previews() == []
    seen: list[Any] = []
    for event in stream(provider, seed=11):
        reader.feed(event)
        for call in reader.previews():
            assert (call.id, call.name) == ("c1", "pay")
            assert call.arguments.problem is None
            assert call.arguments.finished <= (call.arguments.value == ARGUMENTS)
            seen.append(call.arguments)
    assert seen[-1].finished
    assert seen[-1].value == ARGUMENTS


def test_responses_with_lost_doubled_or_moved_events_execute_nothing_else() -> None:
    # Elsewhere a lost piece inside of a string cannot be noticed; here all is said several times.
    source = random.Random(7)
    events = stream("openai_responses", seed=3)
    statuses = set()
    for _ in range(500):
        changed = list(events)
        for _ in range(source.randrange(1, 4)):
            kind, at = source.randrange(3), source.randrange(len(changed))
            if kind == 0:
                del changed[at]
            elif kind == 1:
                changed.insert(source.randrange(len(changed)), changed[at])
            else:
                changed.insert(source.randrange(len(changed)), changed.pop(at))
        completion = read("openai_responses", changed)
        statuses.add(completion.status)
        for call in completion.calls:
            assert call == CALL or isinstance(call, BrokenCall) or call.status != "complete"
    assert statuses <= {"complete", "malformed", "transport_error", "paused"}
    assert len(statuses) > 2


@settings(max_examples=300, deadline=None)
@given(st.sampled_from(sorted(STREAMS)), st.integers(1, 6), st.randoms(use_true_random=False))
def test_mutated_events_raise_nothing(provider: str, count: int, source: random.Random) -> None:
    events = copy.deepcopy(stream(provider, seed=source.randrange(1000)))
    for _ in range(count):
        mutate(events, source)
        if not events:
            break
    reader = CompletionReader(provider)
    for event in events:
        reader.feed(event)
        for call in reader.previews():
            assert isinstance(call.arguments.value, dict)
    completion = reader.finish()
    assert completion.status in STATUSES
    assert completion.status != "complete" or not completion.problems
    for problem in completion.problems:
        assert "cannot be read" not in problem or not all(isinstance(e, dict) for e in events)


def test_what_is_no_event() -> None:
    class Client:
        def model_dump(self, **options: Any) -> Any:
            raise RuntimeError

    for event in (None, 5, [], "[]", "no", b"\xff", '{"a": 1, "a": 2}', Client()):
        completion = read("openai", [*stream("openai"), event])
        assert (completion.status, len(completion.problems)) == ("malformed", 1)
    for event in ("[DONE]", b"[DONE]", "", "\n"):
        assert read("openai", [*stream("openai"), event]).status == "complete"


def test_client_objects() -> None:
    class Client:
        def __init__(self, event: Any) -> None:
            self.event = event

        def model_dump(self, **options: Any) -> Any:
            return self.event

    completion = read("anthropic", [Client(event) for event in stream("anthropic")])
    assert completion.calls == (CALL,)


def test_providers_without_streams() -> None:
    for provider in ("mcp", "text", "else", ""):
        with pytest.raises(ValueError, match=r"no stream|no provider"):
            CompletionReader(provider)
    assert CompletionReader("openai_chat").finish().provider == "openai"
    assert WORDS.keys() - STREAMS.keys() == {"mcp"}


# -- chat


def chat(*deltas: dict[str, Any], reason: Any = "tool_calls") -> list[dict[str, Any]]:
    chunks: list[dict[str, Any]] = [{"choices": [{"index": 0, "delta": delta}]} for delta in deltas]
    return [*chunks, {"choices": [{"index": 0, "delta": {}, "finish_reason": reason}]}]


def piece(index: Any, arguments: Any, **more: Any) -> dict[str, Any]:
    name = more.pop("name", None)
    function = {"arguments": arguments, **({"name": name} if name else {})}
    return {"tool_calls": [{"index": index, **more, "function": function}]}


def test_pieces_are_joined_by_index() -> None:
    events = chat(
        piece(2, "", id="c2", name="a"),
        piece(1, '{"n"', id="c1", name="b"),
        piece(2, '{"n": '),
        piece(1, ": 2}"),
        piece(2, "1}"),
    )
    assert read("openai", events).calls == (
        ToolCall("b", {"n": 2}, "c1"),
        ToolCall("a", {"n": 1}, "c2"),
    )


@pytest.mark.parametrize(
    "deltas",
    [
        [piece(0, "{}", id="c1", name="a"), piece(0, "{}", id="c2", name="a")],
        [piece(0, '{"a":', id="c1", name="a"), piece(0, " 1}", id="c2")],
        [piece(0, "{}", id="c1", name="a"), piece(0, "", name="b")],
        [piece(0, {"a": 1}, id="c1", name="a"), piece(0, {"a": 2})],
        [piece(0, {"a": 1}, id="c1", name="a"), piece(0, '{"a": 2}')],
        [piece(0, "{}", id="c1", name="a"), piece(None, "{}", id="c2", name="a")],
        [piece(True, "{}", id="c1", name="a")],
        [piece(-1, "{}", id="c1", name="a")],
        [piece(1 << 80, "{}", id="c1", name="a")],
        [piece(0, ["{}"], id="c1", name="a")],
        [piece(0, "{}", id=5, name="a")],
        [{"tool_calls": {"index": 0, "function": {"name": "a", "arguments": "{}"}}}],
        [piece(0, "{}", id="c1", name="a"), {"content": 5}],
    ],
)
def test_pieces_that_do_not_fit_together(deltas: list[dict[str, Any]]) -> None:
    completion = read("openai", chat(*deltas))
    assert (completion.status, completion.dispatchable) == ("malformed", False)
    assert completion.problems


def test_chat() -> None:
    whole = chat(piece(0, {"a": 1}, id="null", name="a"))  # Mistral's calls come whole
    assert read("mistral", whole).calls == (ToolCall("a", {"a": 1}, "call_0"),)
    again = chat(piece(0, '{"a"', id="c", name="a"), piece(0, ": 1}", id="c", name="a"))
    assert read("openai", again).calls == (ToolCall("a", {"a": 1}, "c"),)
    late = [*chat(piece(0, "{}", id="c", name="a")), *chat({"content": "more"})]
    assert read("openai", late).status == "malformed"
    for reasons in (("stop", "length"), ("length", "stop")):
        both = [*chat({"content": "a"}, reason=reasons[0]), *chat(reason=reasons[1])]
        assert read("openai", both).status in ("length", "malformed")
    second = {"choices": [{"index": 1, "delta": {"content": "b"}}]}
    assert read("openai", [second, *chat({"content": "a"}, reason="stop")]).status == "malformed"
    refused = read("openai", chat({"refusal": "I "}, {"refusal": "won't."}, reason="stop"))
    assert (refused.status, refused.refusal) == ("refusal", "I won't.")
    parts = [{"type": "text", "text": "a"}, {"type": "thinking", "thinking": []}]
    assert read("mistral", chat({"content": parts}, {"content": "b"}, reason="stop")).text == "ab"
    legacy = chat(
        {"function_call": {"name": "a", "arguments": '{"a"'}},
        {"function_call": {"arguments": ": 1}"}},
        reason="function_call",
    )
    assert read("openai", legacy).calls == (ToolCall("a", {"a": 1}, "call_0"),)
    custom = {"tool_calls": [{"index": 0, "id": "c", "custom": {"name": "sh", "input": "ls"}}]}
    (call,) = read("openai", chat(custom)).calls
    assert isinstance(call, BrokenCall)
    failed = read("openai", [*chat({"content": "a"}, reason="stop"), {"error": {"code": "busy"}}])
    assert (failed.status, failed.reason) == ("error", "busy")


def test_there_are_bounds() -> None:
    many = read("openai", chat(*[piece(at, "", name="a") for at in range(MAX_BLOCKS + 5)]))
    assert len(many.calls) == MAX_BLOCKS
    assert many.status == "malformed"


# -- the others


def test_an_anthropic_block_that_does_not_end() -> None:
    events = stream("anthropic")
    stops = [at for at, event in enumerate(events) if event["type"] == "content_block_stop"]
    for at in stops:
        assert read("anthropic", events[:at] + events[at + 1 :]).status == "malformed"
    overloaded = {"type": "error", "error": {"type": "overloaded_error", "message": "x"}}
    completion = read("anthropic", [*events[:5], overloaded])
    assert (completion.status, completion.reason) == ("error", "overloaded_error")


def test_an_anthropic_input_that_came_with_the_beginning() -> None:
    events = stream("anthropic")
    for event in events:
        if event.get("content_block", {}).get("type") == "tool_use":
            event["content_block"]["input"] = {"order_id": "B"}
    assert read("anthropic", events).status == "malformed"
    alone = [event for event in events if event.get("delta", {}).get("type") != "input_json_delta"]
    assert read("anthropic", alone).calls == (ToolCall("pay", {"order_id": "B"}, "c1"),)


def test_server_tools_are_not_ours() -> None:
    begun = {"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {}}
    delta = {"type": "input_json_delta", "partial_json": '{"q": "x"}'}
    search = [
        {"type": "content_block_start", "index": 9, "content_block": begun},
        {"type": "content_block_delta", "index": 9, "delta": delta},
        {"type": "content_block_stop", "index": 9},
    ]
    assert read("anthropic", [*search, *stream("anthropic")]).calls == (CALL,)
    use = {"toolUseId": "s1", "name": "x", "type": "server_tool_use"}
    at = {"contentBlockIndex": 9}
    code: list[dict[str, Any]] = [
        {"contentBlockStart": {**at, "start": {"toolUse": use}}},
        {"contentBlockDelta": {**at, "delta": {"toolUse": {"input": "{}"}}}},
        {"contentBlockStop": at},
    ]
    reader = CompletionReader("bedrock")
    for event in [*code, *stream("bedrock")]:
        reader.feed(event)
    assert [call.id for call in reader.previews()] == ["c1"]
    assert reader.finish().calls == (CALL,)


def test_bedrock() -> None:
    failed = {"throttlingException": {"message": "x"}}
    completion = read("bedrock", [*stream("bedrock"), failed])
    assert (completion.status, completion.reason) == ("error", "throttlingException")
    delta = {"contentBlockIndex": 7, "delta": {"toolUse": {"input": "{}"}}}
    assert read("bedrock", [{"contentBlockDelta": delta}, *stream("bedrock")]).problems
    twice = [*stream("bedrock"), {"messageStop": {"stopReason": "end_turn"}}]
    assert read("bedrock", twice).status == "malformed"


def test_gemini() -> None:
    blocked = read("gemini", [{"promptFeedback": {"blockReason": "SAFETY"}}])
    assert (blocked.status, blocked.reason) == ("filtered", "SAFETY")
    late = {"candidates": [{"content": {"parts": [{"functionCall": {"name": "a"}}]}}]}
    assert read("gemini", [*stream("gemini"), late]).status == "malformed"


def change(events: list[dict[str, Any]], kind: str, **members: Any) -> list[dict[str, Any]]:
    changed = copy.deepcopy(events)
    for event in changed:
        if event["type"] == kind:
            event.update(members)
    return changed


def test_responses_say_everything_several_times_and_have_to_agree() -> None:
    for seed in range(6):
        events = stream("openai_responses", seed=seed)
        done = "response.function_call_arguments.done"
        assert read("openai_responses", change(events, done, arguments="{}")).status == "malformed"
        other = copy.deepcopy(events)
        item = next(e["item"] for e in other[::-1] if e.get("item", {}).get("name"))
        item["arguments"] = "{}"
        assert read("openai_responses", other).status == "malformed"
        item["arguments"], item["name"] = json.dumps(ARGUMENTS), "refund"
        assert read("openai_responses", other).status == "malformed"
        alone = [event for event in events if "arguments" not in event["type"]]
        assert read("openai_responses", alone).calls == (CALL,)
        cut_short = [e for e in events if e["type"] != "response.output_item.done"]
        completion = read("openai_responses", cut_short)
        assert completion.status == "complete" or not completion.dispatchable
    events = stream("openai_responses")
    assert read("openai_responses", change(events, "response.completed", type="x")).status == (
        "transport_error"
    )
    failed = read("openai_responses", [*events[:4], {"type": "error", "code": "server_error"}])
    assert (failed.status, failed.reason) == ("error", "server_error")
    contrary = change(events, "response.completed", type="response.incomplete")
    assert not read("openai_responses", contrary).dispatchable
