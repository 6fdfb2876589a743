"""Registries: names, one report per tool."""

from __future__ import annotations

from typing import Any

import pytest

import gramlock
from gramlock.errors import InvalidSchemaError, ToolDefinitionError
from gramlock.tools import Tool, ToolSet

ORDER = {
    "type": "object",
    "properties": {"order_id": {"type": "string", "pattern": "^[A-Z]-[0-9]+$"}},
    "required": ["order_id"],
    "additionalProperties": False,
}


def tool(name: str, schema: Any = ORDER, **options: Any) -> Tool:
    return Tool(name, "Does it.", schema, lambda **members: members, **options)


def test_tools_are_found_by_exactly_their_name() -> None:
    tools = ToolSet([tool("b"), tool("a")])
    assert tools.names == ("b", "a")
    assert [t.name for t in tools] == ["b", "a"]
    assert len(tools) == 2
    assert tools["a"].name == "a"
    for near in ("A", " a", "a\n", "ab", ""):
        assert near not in tools
        assert tools.get(near) is None
    with pytest.raises(KeyError, match="there are: b, a"):
        tools["c"]
    for odd in (None, 1, ["a"], {"a": 1}):
        assert odd not in tools
        assert tools.get(odd) is None
        with pytest.raises(KeyError):
            tools[odd]  # type: ignore[index]


def test_names_are_unique() -> None:
    with pytest.raises(ToolDefinitionError, match="two tools have the name 'a'"):
        ToolSet([tool("a"), tool("a")])
    with pytest.raises(ToolDefinitionError, match="two tools"):
        ToolSet([tool("a")]).with_tools(tool("a"))
    with pytest.raises(ToolDefinitionError, match="holds Tools, not dict"):
        ToolSet([{"name": "a"}])  # type: ignore[list-item]


def test_a_set_can_be_narrowed_and_widened() -> None:
    tools = ToolSet([tool("a"), tool("b"), tool("c")])
    assert tools.only("c", "a").names == ("c", "a")
    assert tools.with_tools(tool("d")).names == ("a", "b", "c", "d")
    assert tools.names == ("a", "b", "c")
    with pytest.raises(KeyError):
        tools.only("e")


def test_one_bad_schema_does_not_sink_the_rest() -> None:
    tools = ToolSet(
        [
            tool("good"),
            tool("invalid", {"type": "object", "properties": {"a": {"type": "strnig"}}}),
            tool("dangling", {"$ref": "#/$defs/nowhere"}),
            tool("impossible", {"required": ["a"], "properties": {"a": False}}),
            tool("bad_result", result={"type": "strnig"}),
            tool("also_good", {}),
        ]
    )
    reports = tools.compile(validators=False)
    assert list(reports) == list(tools.names)
    assert [name for name, report in reports.items() if report.ok] == [
        "good",
        "bad_result",
        "also_good",
    ]
    assert isinstance(reports["invalid"].problems["parameters"], InvalidSchemaError)
    assert "#/properties/a/type" in str(reports["invalid"])
    assert reports["invalid"].grammar is None
    assert reports["invalid"].keywords is None


def test_a_bad_schema_has_no_validator_either() -> None:
    reports = ToolSet(
        [
            tool("good", result={"type": "null"}),
            tool("invalid", {"type": "object", "properties": {"a": {"type": "strnig"}}}),
            tool("bad_result", result={"type": "strnig"}),
        ]
    ).compile()
    assert reports["good"].ok
    assert set(reports["invalid"].problems) == {"parameters", "validator"}
    assert set(reports["bad_result"].problems) == {"result"}
    assert reports["bad_result"].grammar is not None


def test_the_grammar_is_of_the_schema_that_is_checked() -> None:
    report = ToolSet([tool("a")]).compile()["a"]
    assert report.grammar is not None
    assert report.grammar.accepts('{"order_id": "A-1"}')
    assert not report.grammar.accepts('{"order_id": "a-1"}')
    assert not report.grammar.accepts("{}")
    assert report.keywords is not None
    assert report.keywords.relaxed == ()
    assert report.program is None


def test_arguments_are_objects_although_the_schema_leaves_it_open() -> None:
    report = ToolSet([tool("a", {"properties": {"a": {"type": "string"}}})]).compile(
        validators=False
    )["a"]
    assert report.grammar is not None
    assert report.grammar.accepts('{"a": "b"}')
    assert not report.grammar.accepts("3")


def test_grammars_are_compiled_for_a_vocabulary() -> None:
    vocabulary = gramlock.Vocabulary.from_tokens([bytes([b]) for b in range(256)])
    reports = ToolSet([tool("a"), tool("b", {"type": "object", "minProperties": -1})]).compile(
        vocabulary, validators=False
    )
    assert reports["a"].program is not None
    assert reports["b"].program is None
    assert not reports["b"].ok


def test_options_reach_the_grammar_and_unknown_ones_raise() -> None:
    tools = ToolSet([tool("a")])
    strict = tools.compile(whitespace="compact", validators=False)["a"].grammar
    assert strict is not None
    assert not strict.accepts('{ "order_id" : "A-1"}')
    with pytest.raises(TypeError, match="whitespcae"):
        tools.compile(whitespcae="compact")


def test_a_report_says_which_providers_do_not_take_the_name() -> None:
    reports = ToolSet([tool("repo.search"), tool("x" * 65), tool("9lives")]).compile(
        validators=False
    )
    assert set(reports["repo.search"].names) == {"openai", "anthropic", "bedrock"}
    assert set(reports["x" * 65].names) == {"openai", "gemini", "bedrock"}
    assert set(reports["9lives"].names) == {"gemini"}
    assert reports["repo.search"].ok
    assert "not for openai" in str(reports["repo.search"])
