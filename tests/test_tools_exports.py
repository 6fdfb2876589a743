"""Definitions for providers, and the contract as text."""

from __future__ import annotations

import json
from typing import Any

import pytest

import gramlock
from gramlock.errors import ToolDefinitionError
from gramlock.tools import Tool, ToolSet, validate

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "order_id": {"type": "string", "description": "As printed on\n the receipt."},
        "amount_cents": {"type": "integer", "minimum": 1},
        "note": {"type": ["string", "null"]},
        "anything": True,
    },
    "required": ["order_id", "amount_cents"],
    "additionalProperties": False,
}
RESULT = {"type": "object", "properties": {"refund": {"type": "string"}}}


def refund(name: str = "issue_refund", schema: Any = SCHEMA, **options: Any) -> Tool:
    return Tool(name, "Refund an order.", schema, lambda **members: members, **options)


TOOLS = ToolSet([refund(result=RESULT, title="Refund")])


def test_openai() -> None:
    body = {"name": "issue_refund", "description": "Refund an order.", "parameters": SCHEMA}
    assert TOOLS.to_openai() == [{"type": "function", "function": body}]
    strict = {"type": "function", "function": {**body, "strict": True}}
    assert TOOLS.to_openai(strict=True) == [strict]
    flat = {"type": "function", **body}
    assert TOOLS.to_openai_responses() == [{**flat, "strict": False}]
    assert TOOLS.to_openai_responses(strict=True) == [{**flat, "strict": True}]


def test_anthropic() -> None:
    assert TOOLS.to_anthropic() == [
        {"name": "issue_refund", "description": "Refund an order.", "input_schema": SCHEMA}
    ]


def test_gemini() -> None:
    (group,) = TOOLS.to_gemini()
    assert group["functionDeclarations"] == [
        {
            "name": "issue_refund",
            "description": "Refund an order.",
            "parametersJsonSchema": SCHEMA,
            "responseJsonSchema": RESULT,
        }
    ]


def test_bedrock() -> None:
    (tool,) = TOOLS.to_bedrock()["tools"]
    assert tool["toolSpec"]["inputSchema"] == {"json": SCHEMA}


def test_mcp() -> None:
    assert TOOLS.to_mcp() == [
        {
            "name": "issue_refund",
            "title": "Refund",
            "description": "Refund an order.",
            "inputSchema": SCHEMA,
            "outputSchema": RESULT,
            "annotations": {"readOnlyHint": False},
        }
    ]
    (plain,) = ToolSet([refund(effect="read", result={"type": "string"})]).to_mcp()
    assert plain["annotations"] == {"readOnlyHint": True}
    assert "outputSchema" not in plain


def test_huggingface() -> None:
    (tool,) = TOOLS.to_huggingface()
    assert tool["type"] == "function"
    assert tool["function"]["parameters"] == SCHEMA
    assert tool["function"]["return"] == RESULT


FORMS = ["openai", "openai_responses", "anthropic", "gemini", "bedrock", "mcp", "huggingface"]


@pytest.mark.parametrize("form", FORMS)
def test_every_form_is_json_and_shows_the_schema_that_is_checked(form: str) -> None:
    text = json.dumps(getattr(TOOLS, f"to_{form}")())
    assert json.dumps(SCHEMA) in text


@pytest.mark.parametrize("form", FORMS)
def test_the_root_type_is_stated(form: str) -> None:
    tools = ToolSet([refund("a", {"properties": {}}), refund("b", {"type": ["null", "object"]})])
    text = json.dumps(getattr(tools, f"to_{form}")())
    assert text.count('"properties": {}, "type": "object"') == 1
    assert "null" not in text


@pytest.mark.parametrize(
    "form, name",
    [
        ("openai", "repo.search"),
        ("openai_responses", "x" * 65),
        ("anthropic", "repo/search"),
        ("gemini", "9lives"),
        ("bedrock", "a.b"),
        ("mcp", "a:b"),
    ],
)
def test_a_name_that_the_provider_does_not_take_is_refused_by_name(form: str, name: str) -> None:
    tools = ToolSet([refund(), refund(name)])
    with pytest.raises(ToolDefinitionError, match=name):
        getattr(tools, f"to_{form}")()
    assert len(tools.to_huggingface()) == 2


def test_the_prompt_states_the_contract_with_its_descriptions() -> None:
    text = ToolSet(
        [
            refund(result=RESULT, approval="required"),
            refund("look_up", {}, effect="read"),
            refund("close", {}, approval=lambda arguments, context: False),
        ]
    ).to_prompt()
    assert '{"name": <tool>, "arguments": <object>}' in text
    assert "## issue_refund\nRefund an order. (changes something)" in text
    assert "- order_id (string, required): As printed on the receipt." in text
    assert "- amount_cents (integer, required)\n" in text
    assert "- note (string or null, optional)\n" in text
    assert "- anything (optional)\n" in text
    assert f"Schema: {json.dumps(SCHEMA)}" in text
    assert f"Result: {json.dumps(RESULT)}" in text
    assert "An approval by a person is needed." in text
    assert "An approval by a person may be needed." in text
    assert "## look_up\nRefund an order. (only reads)" in text


def test_the_schema_of_a_call_holds_each_tools_schema_with_its_references() -> None:
    def of(kind: str) -> dict[str, Any]:
        return {
            "properties": {"x": {"$ref": "#/$defs/inner"}},
            "required": ["x"],
            "$defs": {"inner": {"type": kind}},
        }

    tools = ToolSet([refund("a", of("integer")), refund("b/c", {"$id": "urn:b", **of("string")})])
    schema = tools.call_schema()
    grammar = gramlock.Grammar.from_json_schema(schema)
    pytest.importorskip("jsonschema")
    pytest.importorskip("regress")
    for name, value, valid in (("a", 1, True), ("a", "1", False), ("b/c", "1", True)):
        call = {"name": name, "arguments": {"x": value}}
        assert grammar.accepts(json.dumps(call)) is valid
        assert (validate(call, schema) == []) is valid
    wrong = validate({"name": "b/c", "arguments": {"x": 1}}, schema)
    assert [str(v) for v in wrong] == ["$.arguments.x: expected string, got integer"]
    assert not grammar.accepts('{"name": "c", "arguments": {"x": 1}}')


def test_the_schema_of_a_call_needs_tools_whose_schemas_differ() -> None:
    with pytest.raises(ToolDefinitionError, match="no tools"):
        ToolSet().call_schema()
    with pytest.raises(ToolDefinitionError, match="urn:x"):
        ToolSet([refund("a", {"$id": "urn:x"}), refund("b", {"$id": "urn:x"})]).call_schema()
