"""Fixers: spellings, chat clients, a model under the schema; what they are shown, and how much."""

from __future__ import annotations

import json
from dataclasses import replace
from decimal import Decimal
from types import SimpleNamespace
from typing import Any

import pytest

from gramlock.tools import (
    ChatFixer,
    Dispatcher,
    ModelFixer,
    Tool,
    ToolSet,
    Violation,
    first_of,
    respell,
    run_with_repair,
    validate,
)
from gramlock.tools.call import BrokenCall, ToolCall
from gramlock.tools.fixers import correction_prompt
from tool_fakes import SCHEMA, Handler, call, refund

WRONG = {"order_id": "A-1", "amount_cents": "5000"}
RIGHT = {"order_id": "A-1", "amount_cents": 5000, "reason": "dup"}
TYPES = {
    "properties": {
        "i": {"type": "integer"},
        "n": {"type": "number"},
        "s": {"type": "string"},
        "b": {"type": "boolean"},
        "list": {"items": {"properties": {"q": {"type": "integer"}}}},
    }
}


def respelled(arguments: Any) -> Any:
    fixed = respell(validate(arguments, TYPES), ToolCall("t", arguments))
    return None if fixed is None else fixed.arguments


@pytest.mark.parametrize(
    "wrong, right",
    [
        ({"i": "5000"}, {"i": 5000}),
        ({"i": "-7", "other": "8"}, {"i": -7, "other": "8"}),
        ({"n": "0.1"}, {"n": 0.1}),
        ({"n": "0.10000000000000000001"}, {"n": Decimal("0.10000000000000000001")}),
        ({"s": 5}, {"s": "5"}),
        ({"s": 0.5}, {"s": "0.5"}),
        ({"b": "true"}, {"b": True}),
        ({"b": "false"}, {"b": False}),
        ({"list": [{"q": 1}, {"q": "2"}]}, {"list": [{"q": 1}, {"q": 2}]}),
    ],
)
def test_a_value_is_spelled_as_the_type_that_is_expected(wrong: Any, right: Any) -> None:
    before = json.dumps(wrong)
    assert respelled(wrong) == right
    assert json.dumps(wrong) == before


@pytest.mark.parametrize(
    "wrong",
    [
        {"i": "5,000"},
        {"i": " 5"},
        {"i": "5.5"},
        {"i": "NaN"},
        {"i": "0x5"},
        {"i": ""},
        {"i": "9" * 5000},
        {"i": None},
        {"i": True},
        {"i": [5]},
        {"b": "yes"},
        {"b": 1},
        {"s": True},
        {"s": None},
        {"n": "1e99999999999"},
    ],
)
def test_nothing_is_guessed(wrong: Any) -> None:
    assert validate(wrong, TYPES)
    assert respelled(wrong) is None


def test_what_is_not_there_or_not_read_is_not_respelled() -> None:
    assert respell([Violation("/x/y", "type", "integer")], ToolCall("t", {})) is None
    assert respell([Violation("", "type", "integer")], BrokenCall(None, "t", "call", "no")) is None
    assert respell([], call(RIGHT)) is None


def test_the_first_that_knows_a_correction() -> None:
    asked: list[int] = []

    def last(errors: Any, wrong: Any, history: Any) -> Any:
        asked.append(len(history))
        return replace(wrong, arguments={**wrong.arguments, "reason": "dup"})

    fixer = first_of(lambda errors, wrong: wrong, respell, last)
    outcome = run_with_repair(fixer, Dispatcher([refund(Handler())]), call(WRONG))
    assert outcome.ok
    assert (outcome.repairs_used, asked) == (2, [2])
    nobody = first_of(lambda errors, wrong: None)
    outcome = run_with_repair(nobody, Dispatcher([refund(Handler())]), call(WRONG))
    assert outcome.end == "no_correction"


# ---- chat


class Chat:
    """Answers in turn; keeps the messages."""

    def __init__(self, *replies: Any) -> None:
        self.replies, self.messages = list(replies), []  # type: list[Any], list[Any]

    def __call__(self, messages: Any) -> Any:
        self.messages.append(messages)
        return self.replies.pop(0) if len(self.replies) > 1 else self.replies[0]


TEXT = json.dumps({"name": "issue_refund", "arguments": RIGHT})


@pytest.mark.parametrize(
    "reply",
    [
        TEXT,
        f"```json\n{TEXT}\n```",
        {"name": "issue_refund", "arguments": RIGHT},
        call(RIGHT),
        SimpleNamespace(calls=(call(RIGHT),), status="complete"),
    ],
)
def test_a_chat_client_corrects(reply: Any) -> None:
    chat, tools = Chat(reply), ToolSet([refund(Handler())])
    fixer = ChatFixer(chat, tools, system="You correct calls.")
    outcome = run_with_repair(fixer, Dispatcher(tools), call(WRONG))
    assert outcome.ok
    system, user = chat.messages[0]
    assert system == {"role": "system", "content": "You correct calls."}
    assert "$.amount_cents: expected integer, got string" in user["content"]
    assert "$.reason: required" in user["content"]
    assert '"amount_cents":"5000"' in user["content"]


@pytest.mark.parametrize(
    "reply",
    [
        "Sure! " + TEXT,
        TEXT + TEXT,
        f"```json\n{TEXT}\n```\n```json\n{TEXT}\n```",
        '{"name": "issue_refund", "arguments": {"order_id": "A-1", "order_id": "B-9"}}',
        None,
        SimpleNamespace(calls=(), status="complete"),
        SimpleNamespace(calls=(call(RIGHT),), status="length"),
        SimpleNamespace(calls=(call(RIGHT), call(RIGHT)), status="complete"),
        SimpleNamespace(calls=(BrokenCall(None, None, "call", "no"),), status="complete"),
    ],
)
def test_a_reply_that_is_no_single_call_ends_the_run(reply: Any) -> None:
    handler = Handler()
    tools = ToolSet([refund(handler)])
    outcome = run_with_repair(ChatFixer(Chat(reply), tools), Dispatcher(tools), call(WRONG))
    assert (outcome.end, handler.seen) == ("fixer_reply", [])


def test_prompts_do_not_grow_with_the_rounds() -> None:
    tools = ToolSet([refund(Handler())])
    same = json.dumps({"name": "issue_refund", "arguments": WRONG})
    chat = Chat(same)
    run_with_repair(ChatFixer(chat, tools), Dispatcher(tools), call(WRONG), max_repairs=60)
    sizes = [len(messages[-1]["content"]) for messages in chat.messages]
    assert len(sizes) == 60
    assert max(sizes[1:]) - min(sizes[1:]) <= 1  # a digit more
    assert "left the same errors" in chat.messages[1][-1]["content"]


def test_many_errors_are_not_all_listed() -> None:
    errors = [Violation(f"/{number}", "type", "integer", "string") for number in range(500)]
    text = correction_prompt(ToolSet([refund(Handler())]), errors, call(WRONG))
    assert "and 480 more" in text
    assert text.count("expected integer") == 20


def test_only_the_tool_that_is_called_is_shown_unless_its_name_was_wrong() -> None:
    other = Tool("delete_order", "Delete it.", SCHEMA, Handler())
    tools = ToolSet([refund(Handler()), other])
    wrong = [Violation("/a", "type", "integer", "string")]
    assert "delete_order" not in correction_prompt(tools, wrong, call(WRONG))
    name = [Violation("", "name", "one of ...", "x", path="name", boundary="name")]
    assert "delete_order" in correction_prompt(tools, name, call(WRONG, name="x"))
    broken = BrokenCall(None, None, "call", "no JSON")
    text = correction_prompt(tools, wrong, broken)
    assert "no JSON" in text
    assert "delete_order" in text


# ---- a model


@pytest.fixture
def model() -> Any:
    """A model of random weights: whatever it writes, the schema is kept."""
    torch = pytest.importorskip("torch")
    transformers = pytest.importorskip("transformers")
    tokenizers = pytest.importorskip("tokenizers")
    from gramlock.integrations.generation import Model

    signs = [chr(code) for code in range(32, 127)]
    words = {"<end>": 0, **{sign: index + 1 for index, sign in enumerate(signs)}}
    inner = tokenizers.Tokenizer(tokenizers.models.BPE(vocab=words, merges=[]))
    inner.decoder = tokenizers.decoders.ByteLevel()
    inner.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer = transformers.PreTrainedTokenizerFast(tokenizer_object=inner, eos_token="<end>")
    torch.manual_seed(0)
    config = transformers.LlamaConfig(
        vocab_size=len(words),
        hidden_size=16,
        intermediate_size=16,
        num_hidden_layers=1,
        num_attention_heads=2,
        num_key_value_heads=2,
        eos_token_id=0,
        bos_token_id=None,
        pad_token_id=0,
    )
    return Model(transformers.LlamaForCausalLM(config).eval(), tokenizer)


BOUNDED = {
    "type": "object",
    "properties": {
        "kind": {"enum": ["a", "b"]},
        "count": {"type": "integer", "minimum": 1, "maximum": 99},
    },
    "required": ["kind", "count"],
    "additionalProperties": False,
}


def test_a_model_corrects_under_the_schema(model: Any) -> None:
    handler = Handler()
    tools = ToolSet([Tool("count", "Count.", BOUNDED, handler), refund(Handler())])
    fixer = ModelFixer(model, tools, max_new_tokens=200, temperature=1.0, seed=1)
    for wrong in ({"kind": "c"}, {"kind": "a", "count": "1"}, {}):
        outcome = run_with_repair(fixer, Dispatcher(tools), ToolCall("count", wrong))
        assert outcome.ok, outcome
        assert outcome.repairs_used == 1
    assert len(handler.seen) == 3


def test_a_model_that_does_not_end_ends_the_run(model: Any) -> None:
    handler = Handler()
    tools = ToolSet([Tool("count", "Count.", BOUNDED, handler)])
    fixer = ModelFixer(model, tools, max_new_tokens=5)
    outcome = run_with_repair(fixer, Dispatcher(tools), ToolCall("count", {}))
    assert outcome.end == "fixer_reply"
    assert "5 tokens" in outcome.message
    assert not handler.seen


def test_a_wrong_name_lets_the_model_choose_another(model: Any) -> None:
    tools = ToolSet([Tool("count", "Count.", BOUNDED, Handler())])
    fixer = ModelFixer(model, tools, max_new_tokens=200)
    outcome = run_with_repair(
        fixer, Dispatcher(tools), ToolCall("cuont", {"kind": "a", "count": 1})
    )
    assert outcome.ok
    assert "name" in outcome.changed
