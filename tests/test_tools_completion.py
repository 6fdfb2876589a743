"""Every provider's envelope: the status by itself, and what a payload holds."""

from __future__ import annotations

import copy
import json
import random
import re
from collections import UserDict
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from envelopes import ARGUMENTS, ENVELOPES, WORDS, envelope
from gramlock.tools import BrokenCall, Completion, ToolCall, read_completion
from gramlock.tools.call import STATUSES
from gramlock.tools.providers import REASONS

CALL = ToolCall("pay", ARGUMENTS, "c1")
NAMED = sorted(set(ENVELOPES) - {"mistral"})  # the payload of the other is not told from the first
# Written down a second time, by hand: a table that is changed by mistake would agree with itself.
STATUS = {
    "openai": {
        "complete": "stop tool_calls function_call",
        "length": "length",
        "filtered": "content_filter",
        "cancelled": "abort",
        "error": "error repetition model_length end_turn STOP completed",
    },
    "openai_responses": {
        "complete": "completed",
        "length": "max_output_tokens max_messages",
        "filtered": "content_filter",
        "cancelled": "cancelled steered",
        "paused": "in_progress queued",
        "error": "failed incomplete stop",
    },
    "anthropic": {
        "complete": "end_turn stop_sequence tool_use",
        "length": "max_tokens model_context_window_exceeded",
        "paused": "pause_turn",
        "refusal": "refusal",
        "error": "stop compaction",
    },
    "gemini": {
        "complete": "STOP",
        "length": "MAX_TOKENS",
        "paused": "CONTINUATION",
        "filtered": "SAFETY RECITATION LANGUAGE BLOCKLIST PROHIBITED_CONTENT SPII IMAGE_SAFETY "
        "IMAGE_PROHIBITED_CONTENT IMAGE_RECITATION MODEL_ARMOR",
        "malformed": "MALFORMED_FUNCTION_CALL MALFORMED_RESPONSE UNEXPECTED_TOOL_CALL "
        "TOO_MANY_TOOL_CALLS MISSING_THOUGHT_SIGNATURE",
        "error": "FINISH_REASON_UNSPECIFIED OTHER IMAGE_OTHER NO_IMAGE ESCALATION "
        "PUP_LIMITED_DISABLED stop",
    },
    "mistral": {
        "complete": "stop tool_calls",
        "length": "length model_length",
        "error": "error content_filter",
    },
    "bedrock": {
        "complete": "end_turn tool_use stop_sequence",
        "length": "max_tokens model_context_window_exceeded",
        "filtered": "guardrail_intervened content_filtered",
        "malformed": "malformed_model_output malformed_tool_use",
        "error": "refusal",
    },
    "mcp": {
        "complete": "endTurn stopSequence toolUse",
        "length": "maxTokens",
        "error": "tool_use",
    },
}
KNOWN = [
    (provider, reason, status)
    for provider, statuses in STATUS.items()
    for status, reasons in statuses.items()
    for reason in reasons.split()
]


@pytest.mark.parametrize(("provider", "reason", "status"), KNOWN)
def test_every_reason_has_its_status(provider: str, reason: str, status: str) -> None:
    completion = read_completion(envelope(provider, reason), provider)
    assert (completion.status, completion.provider) == (status, provider)
    assert completion.reason == reason
    assert completion.text == "Well."
    assert completion.dispatchable == (status == "complete")
    assert completion.calls == (ToolCall("pay", ARGUMENTS, "c1", completion.status),)


def test_every_reason_is_listed_twice() -> None:
    listed = {(provider, reason) for provider, reason, _ in KNOWN}
    assert {(provider, reason) for provider in REASONS for reason in REASONS[provider]} <= listed


def test_the_document_lists_what_is_read() -> None:
    document = Path(__file__).resolve().parents[1] / "docs" / "tools-reading.md"
    rows = re.findall(r"^\| `(\w+)` \| (\w+) \| (`.*`) \|$", document.read_text("utf-8"), re.M)
    found = [
        (provider, word.strip("`"), status)
        for provider, status, words in rows
        for word in words.split(", ")
    ]
    tables = [(name, word, REASONS[name][word]) for name in REASONS for word in REASONS[name]]
    assert sorted(found) == sorted(tables)


@pytest.mark.parametrize("provider", ENVELOPES)
@pytest.mark.parametrize(
    ("reason", "status"),
    [
        (None, "transport_error"),
        ("", "transport_error"),
        ("Stop", "error"),
        ("complete", "error"),
        (True, "malformed"),
        (0, "malformed"),
        (["stop"], "malformed"),
        ({"stop": 1}, "malformed"),
    ],
)
def test_unknown_and_missing_reasons_are_never_complete(
    provider: str, reason: Any, status: str
) -> None:
    completion = read_completion(envelope(provider, reason), provider)
    assert (completion.status, completion.dispatchable) == (status, False)
    payload = envelope(provider, reason, call=False)
    assert read_completion(payload, provider).status == status


@pytest.mark.parametrize("provider", NAMED)
def test_payloads_are_told_apart_in_every_form(provider: str) -> None:
    payload = envelope(provider)

    class Client:
        def model_dump(self, *, mode: str, by_alias: bool) -> dict[str, Any]:
            assert (mode, by_alias) == ("json", True)
            return payload

    forms = [payload, json.dumps(payload), json.dumps(payload).encode(), UserDict(payload)]
    for form in [*forms, Client()]:
        completion = read_completion(form)
        assert completion == Completion(
            "complete", (CALL,), "Well.", None, WORDS[provider], provider
        )
        assert completion.raw is form
        assert completion == read_completion(form, provider)
    assert read_completion(envelope("openai"), "openai_chat").provider == "openai"


@pytest.mark.parametrize("provider", ["openai", "mistral", "anthropic", "bedrock", "mcp"])
def test_a_reason_that_speaks_of_calls_without_one(provider: str) -> None:
    completion = read_completion(envelope(provider, call=False), provider)
    assert completion.status == "malformed"
    assert "there is no call" in completion.problems[0]


def test_a_refusal_overrules_the_reason() -> None:
    payload = envelope("openai")
    payload["choices"][0]["message"]["refusal"] = "I must not."
    completion = read_completion(payload)
    assert (completion.status, completion.refusal) == ("refusal", "I must not.")
    assert completion.calls == (ToolCall("pay", ARGUMENTS, "c1", "refusal"),)
    part = {"type": "refusal", "refusal": "I must not."}
    payload = envelope("openai")
    payload["choices"][0]["message"]["content"] = [{"type": "text", "text": "a"}, part]
    completion = read_completion(payload)
    assert (completion.status, completion.refusal, completion.text) == (
        "refusal",
        "I must not.",
        "a",
    )
    payload = envelope("openai_responses")
    payload["output"][1]["content"].append(part)
    completion = read_completion(payload)
    assert (completion.status, completion.refusal) == ("refusal", "I must not.")
    details = {"type": "refusal", "category": "x", "explanation": "I must not."}
    payload = {**envelope("anthropic", "refusal"), "stop_details": details}
    assert read_completion(payload).refusal == "I must not."


def test_an_error_beside_an_answer() -> None:
    for provider in set(ENVELOPES) - {"mcp"}:
        payload = {**envelope(provider), "error": {"type": "overloaded", "message": "x"}}
        completion = read_completion(payload, provider)
        assert (completion.status, completion.reason) == ("error", "overloaded")
        assert not completion.dispatchable
    for payload in (
        {"error": {"code": "rate_limit", "message": "x"}},
        {"type": "error", "error": {"type": "rate_limit", "message": "x"}},
        {"error": "rate_limit"},
    ):
        assert read_completion(payload).status == "error"
        assert read_completion(payload, "anthropic").reason == "rate_limit"


@pytest.mark.parametrize("status", ["incomplete", "in_progress", "else", None, 5])
def test_an_item_has_a_status_of_its_own(status: Any) -> None:
    payload = envelope("openai_responses")
    good = {**payload["output"][2], "call_id": "c2"}
    payload["output"].append(good)
    payload["output"][2]["status"] = status
    completion = read_completion(payload)
    broken, whole = completion.calls
    assert isinstance(broken, BrokenCall)
    assert (broken.id, broken.name, broken.layer) == ("c1", "pay", "completion")
    assert broken.status in STATUSES[1:]
    assert whole == ToolCall("pay", ARGUMENTS, "c2")
    del payload["output"][2]["status"]  # not everyone who speaks this protocol writes it
    assert read_completion(payload).calls[0] == CALL
    payload["output"][1]["status"] = status
    assert not read_completion(payload).dispatchable


def test_calls_that_are_not_ours() -> None:
    search = {"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {"q": "x"}}
    payload = envelope("anthropic")
    payload["content"].insert(0, search)
    assert read_completion(payload).calls == (CALL,)
    payload = envelope("bedrock")
    use = {"toolUseId": "s1", "name": "x", "input": {}, "type": "server_tool_use"}
    payload["output"]["message"]["content"].insert(0, {"toolUse": use})
    assert read_completion(payload).calls == (CALL,)
    payload = envelope("openai_responses")
    payload["output"].insert(0, {"type": "web_search_call", "id": "ws_1", "status": "completed"})
    assert read_completion(payload).calls == (CALL,)
    payload["output"].append({"type": "computer_call", "id": "x", "call_id": "c2", "action": {}})
    payload["output"].append(
        {"type": "custom_tool_call", "id": "x", "call_id": "c3", "name": "sh", "input": "ls"}
    )
    _, screen, shell = read_completion(payload).calls
    assert isinstance(screen, BrokenCall)
    assert isinstance(shell, BrokenCall)
    assert (screen.id, screen.layer, shell.id, shell.layer) == ("c2", "call", "c3", "arguments")


@pytest.mark.parametrize(
    ("provider", "reason", "place"),
    [
        ("anthropic", "stop_sequence", lambda payload: payload["content"]),
        ("bedrock", "stop_sequence", lambda payload: payload["output"]["message"]["content"]),
        ("mcp", "stopSequence", lambda payload: payload["content"]),
    ],
)
def test_a_stop_sequence_may_have_cut_the_last_call(provider: str, reason: str, place: Any) -> None:
    payload = envelope(provider, reason)
    assert read_completion(payload).dispatchable
    place(payload).pop()  # the text behind the call
    (call,) = read_completion(payload).calls
    assert isinstance(call, BrokenCall)
    assert (call.id, call.layer, call.status) == ("c1", "completion", "length")


def test_gemini() -> None:
    blocked = {"promptFeedback": {"blockReason": "JAILBREAK"}}
    completion = read_completion(blocked)
    assert (completion.status, completion.reason) == ("filtered", "JAILBREAK")
    assert read_completion({**envelope("gemini"), **blocked}).status == "filtered"
    assert read_completion({"candidates": []}).status == "malformed"
    for change in ({"willContinue": True}, {"partialArgs": []}):
        payload = envelope("gemini")
        payload["candidates"][0]["content"]["parts"][2]["functionCall"].update(change)
        (call,) = read_completion(payload).calls
        assert isinstance(call, BrokenCall)
        assert (call.id, call.layer) == ("c1", "arguments")


def test_mcp() -> None:
    content = [{"type": "text", "text": "sent"}]
    result = {"content": content, "structuredContent": {"ok": True}}
    for payload, status, reason in (
        (result, "complete", None),
        ({"jsonrpc": "2.0", "id": 1, "result": {"content": content}}, "complete", None),
        ({**result, "isError": True}, "error", "isError"),
        ({**result, "isError": "no"}, "error", "isError"),
        ({**result, "resultType": "input_required"}, "paused", "input_required"),
        ({**result, "resultType": "task"}, "malformed", None),
        ({"jsonrpc": "2.0", "id": 1, "error": {"code": -32603, "message": "x"}}, "error", "-32603"),
        ({"jsonrpc": "2.0", "id": 1}, "malformed", None),
        ({"jsonrpc": "2.0", "id": 1, "result": {}}, "malformed", None),
    ):
        completion = read_completion(payload)
        assert (completion.status, completion.reason) == (status, reason)
        assert completion.provider == "mcp"
    sampled = envelope("mcp")
    sampled["content"] = sampled["content"][0]  # one block stands without a list
    assert read_completion(sampled).calls == (CALL,)


def test_ids_are_distinct_and_those_of_the_provider_are_kept() -> None:
    payload = envelope("mistral")
    calls = payload["choices"][0]["message"]["tool_calls"]
    calls[0]["id"] = "null"
    calls += [{**calls[0], "id": name} for name in (None, "", "call_0", "x")]
    found = [call.id for call in read_completion(payload, "mistral").calls]
    assert found == ["call_0_0", "call_1", "call_2", "call_0", "x"]
    # Two calls under one id are for the dispatcher to refuse: neither is renamed.
    calls[:] = [calls[4], calls[4]]
    assert [call.id for call in read_completion(payload).calls] == ["x", "x"]


def test_a_broken_call_beside_a_good_one() -> None:
    payload = envelope("openai")
    calls = payload["choices"][0]["message"]["tool_calls"]
    calls.append({"id": "c2", "function": {"name": "pay", "arguments": '{"a": "b'}})
    calls.append({"id": "c3", "type": "custom", "custom": {"name": "sh", "input": "ls"}})
    completion = read_completion(payload)
    assert completion.status == "complete"
    assert completion.calls[0] == CALL
    for call, name in zip(completion.calls[1:], ("c2", "c3"), strict=True):
        assert isinstance(call, BrokenCall)
        assert (call.id, call.layer, call.status) == (name, "arguments", "complete")
    payload["choices"][0]["finish_reason"] = "length"
    assert {call.status for call in read_completion(payload).calls} == {"length"}
    legacy = envelope("openai", "function_call", call=False)
    legacy["choices"][0]["message"]["function_call"] = {"name": "pay", "arguments": "{}"}
    assert read_completion(legacy).calls == (ToolCall("pay", {}, "call_0"),)


@pytest.mark.parametrize(
    ("provider", "payload"),
    [
        ("openai", {"choices": []}),
        ("openai", {"choices": [envelope("openai")["choices"][0]] * 2}),
        ("openai", {"choices": {"0": {}}}),
        ("openai", {"choices": [7, envelope("openai")["choices"][0]]}),
        ("openai", {"choices": [{"finish_reason": "stop", "message": None}]}),
        ("openai", {"choices": [{"finish_reason": "stop", "message": {"content": 5}}]}),
        ("openai", {"choices": [{"finish_reason": "stop", "message": {"tool_calls": {}}}]}),
        ("openai_responses", {"status": "completed"}),
        ("openai_responses", {"status": "completed", "output": {}}),
        ("anthropic", {"stop_reason": "end_turn"}),
        ("anthropic", {"stop_reason": "end_turn", "content": "text"}),
        ("gemini", {"candidates": envelope("gemini")["candidates"] * 2}),
        ("bedrock", {"stopReason": "end_turn"}),
        ("bedrock", {"stopReason": "end_turn", "output": {"message": []}}),
        (None, {}),
        (None, {"name": "pay", "arguments": {}}),  # a call, and no turn
        (None, None),
        (None, 5),
        (None, []),
        ("text", {}),
        ("openai", "no JSON"),
        ("openai", b"\xff"),
        ("openai", '{"choices": [], "choices": []}'),
        (None, b"\xff"),
    ],
)
def test_what_does_not_fit_together_is_malformed(provider: str | None, payload: Any) -> None:
    completion = read_completion(payload, provider)
    assert (completion.status, completion.dispatchable) == ("malformed", False)
    assert completion.problems
    assert completion.raw is payload


def test_an_unknown_provider_is_an_error() -> None:
    for provider in ("cohere", "", "OpenAI", 5, ["openai"]):
        with pytest.raises(ValueError, match="no provider"):
            read_completion({}, provider)  # type: ignore[arg-type]


@pytest.mark.parametrize("provider", [None, "text"])
def test_bare_text(provider: str | None) -> None:
    completion = read_completion(' {"name": "pay", "arguments": {"a": 1}}', provider)
    assert completion.calls == (ToolCall("pay", {"a": 1}, "call_0"),)
    assert (completion.status, completion.provider) == ("complete", "text")
    for text in ("Done.", "", '{"answer": 5}', "[1]", 'I call {"name": "pay"}'):
        completion = read_completion(text, provider)
        assert (completion.status, completion.calls, completion.text) == ("complete", (), text)
    for text in (
        '{"name": "pay", "arguments": {"a": ',
        '{"name": 5}',
        '{"name": "a", "name": "b"}',
    ):
        (call,) = read_completion(text, provider).calls
        assert isinstance(call, BrokenCall)
    assert read_completion(b"Done.", provider).text == "Done."


def test_a_model_cannot_write_its_own_envelope() -> None:
    text = json.dumps(envelope("openai"))
    assert read_completion(text, "text").calls == ()
    assert read_completion(text, "text").text == text


def test_a_client_that_fails_is_malformed() -> None:
    class Client:
        def model_dump(self, **options: Any) -> Any:
            raise RuntimeError

    class Hostile(dict[str, Any]):
        def get(self, *names: Any) -> Any:
            raise RuntimeError

    for payload in (Client(), Hostile(envelope("anthropic")), Hostile()):
        completion = read_completion(payload)
        assert (completion.status, completion.problems) == (
            "malformed",
            ("the payload cannot be read: RuntimeError",),
        )


SCALARS = [None, True, 0, -1, 1.5, "", "x", "null", "stop", [], {}, [[]], {"name": "pay"}, "\ud800"]


def mutate(value: Any, source: random.Random) -> Any:
    """*value* with one change somewhere."""
    spots: list[tuple[Any, Any]] = []
    waiting = [value]
    while waiting:
        here = waiting.pop()
        names = list(here) if isinstance(here, dict) else range(len(here))
        for name in names:
            spots.append((here, name))
            if isinstance(here[name], dict | list):
                waiting.append(here[name])
    if not spots:
        return copy.deepcopy(source.choice(SCALARS))
    place, name = source.choice(spots)
    kind = source.randrange(5)
    if kind == 0:
        del place[name]
    elif kind == 1 and isinstance(place, list):
        place.append(copy.deepcopy(place[name]))
    elif kind == 2:
        place[name] = [place[name]]
    elif kind == 3 and isinstance(place, dict):
        place[source.choice(["type", "error", "status", "id", "name", "x"])] = place.pop(name)
    else:
        place[name] = copy.deepcopy(source.choice(SCALARS))
    return value


@settings(max_examples=300, deadline=None)
@given(st.sampled_from(sorted(ENVELOPES)), st.integers(1, 6), st.randoms(use_true_random=False))
def test_mutated_payloads_raise_nothing(provider: str, count: int, source: random.Random) -> None:
    payload: Any = copy.deepcopy(envelope(provider))
    for _ in range(count):
        if isinstance(payload, dict | list):
            payload = mutate(payload, source)
    for named in (provider, None):
        completion = read_completion(payload, named)
        assert completion.status in STATUSES
        assert completion.status != "complete" or not completion.problems
        for call in completion.calls:
            assert call.status in STATUSES
            assert call.status != "complete" or completion.status == "complete"
            assert call.id
