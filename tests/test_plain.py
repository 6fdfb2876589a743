"""The fast lane for plain schemas makes the grammar of the general road, and leaves it the rest."""

from __future__ import annotations

import decimal
import json
import marshal
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import gramlock
import gramlock.schema
from gramlock.schema import SchemaOptions, compile_schema
from gramlock.schema.plain import read_plain

CORPUS = Path(gramlock.__file__).parent / "conformance" / "corpus" / "cases"
OPTIONS = [
    SchemaOptions(),
    SchemaOptions(order="any", whitespace="compact"),
    SchemaOptions(formats="annotate", dialect="draft4"),
    SchemaOptions(on_unsupported="relax", dialect="2019-09", whitespace="flexible"),
]
COUNTING = ["minLength", "maxLength", "minItems", "maxItems"]


def by_general_road(
    schema: Any, options: SchemaOptions, monkeypatch: pytest.MonkeyPatch
) -> tuple[int, tuple[Any, ...]]:
    """The fingerprint and the report that the general road comes to."""
    with monkeypatch.context() as patch:
        patch.setattr(gramlock.schema, "read_plain", lambda schema, options: None)
        grammar, report = compile_schema(schema, options)
    return grammar.fingerprint, report.places


def corpus_schemas() -> Iterator[Any]:
    for path in sorted(CORPUS.glob("*.json")):
        for case in json.loads(path.read_text(encoding="utf-8"))["cases"]:
            yield case["schema"]


class Plain:
    """Random schemas of the kinds that the fast lane reads, and now and then one beyond."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)

    def document(self) -> Any:
        schema = self.schema(4)
        if isinstance(schema, dict) and self.random.random() < 0.5:
            schema = {**schema, "$defs": {"a": self.schema(2), "b/c": self.schema(1)}}
        return schema

    def schema(self, depth: int) -> Any:
        kinds = [self.scalar, self.listed, self.anything]
        if depth > 0:
            kinds += [self.array, self.object, self.object, self.union, self.tagged, self.reference]
        schema = self.random.choice(kinds)(depth)
        if isinstance(schema, dict) and self.random.random() < 0.1:
            schema[self.random.choice(["description", "$id", "$comment"])] = "of-no-effect"
        return schema

    def anything(self, depth: int) -> Any:
        return self.random.choice([True, {}, {"title": "t"}, {"uniqueItems": False}, False])

    def scalar(self, depth: int) -> Any:
        r = self.random
        schema: dict[str, Any] = {}
        if r.random() < 0.9:
            names = ["string", "integer", "number", "boolean", "null"]
            schema["type"] = r.choice([r.choice(names), r.sample(names, r.randint(1, 3))])
        for key in ("minLength", "maxLength"):
            if r.random() < 0.2:
                schema[key] = r.randint(0, 5)
        for key in ("minimum", "maximum", "exclusiveMinimum", "multipleOf"):
            if r.random() < 0.15:
                schema[key] = r.choice([0, 1, 2.5, -3, 10**12, True])
        if r.random() < 0.2:
            schema["pattern"] = r.choice(["^a+$", "b", "[", "(?=x)y"])
        if r.random() < 0.2:
            schema["format"] = r.choice(["date", "int32", "email"])
        return schema

    def listed(self, depth: int) -> Any:
        r = self.random
        values = ["a", "b", 'q"\\\n\x01', "é\U0001f600", 1, 2, -7, None, True, 1.5, "\ud800", [1]]
        some = r.sample(values[: r.randint(2, len(values))], r.randint(1, 2))
        schema: dict[str, Any] = {"enum": some} if r.random() < 0.7 else {"const": some[0]}
        if r.random() < 0.4:
            schema["type"] = r.choice(["string", ["string", "null"], "number", "integer"])
        return schema

    def array(self, depth: int) -> Any:
        schema: dict[str, Any] = {"type": "array"} if self.random.random() < 0.9 else {}
        if self.random.random() < 0.8:
            schema["items"] = self.schema(depth - 1)
        for key in ("minItems", "maxItems"):
            if self.random.random() < 0.3:
                schema[key] = self.random.randint(0, 3)
        return schema

    def object(self, depth: int) -> Any:
        r = self.random
        names = r.sample(["a", "b", "c d", "é", 'x"', "", "id", "$id"], r.randint(0, 4))
        schema: dict[str, Any] = {"type": "object"} if r.random() < 0.9 else {}
        schema["properties"] = {name: self.schema(depth - 1) for name in names}
        if r.random() < 0.5:
            schema["required"] = r.sample([*names, "z"], r.randint(0, len(names)))
        if r.random() < 0.5:
            schema["additionalProperties"] = r.choice([False, True, self.schema(depth - 1)])
        return schema

    def union(self, depth: int) -> Any:
        keyword = self.random.choice(["anyOf", "oneOf", "allOf"])
        count = 1 if keyword == "allOf" else self.random.randint(1, 3)
        schema = {keyword: [self.schema(depth - 1) for _ in range(count)]}
        if self.random.random() < 0.3:
            schema["type"] = self.random.choice(["object", "string", ["array", "null"], "number"])
        return schema

    def tagged(self, depth: int) -> Any:
        """Branches that a member tells apart, or nearly."""
        branches = []
        for tag in self.random.sample(["a", "b", "c", 1], self.random.randint(2, 3)):
            branch = self.object(depth)
            branch["properties"]["tag"] = self.random.choice(
                [{"const": tag}, {"enum": [tag, None]}]
            )
            if self.random.random() < 0.9:
                branch["required"] = ["tag"]
            branches.append(branch)
        return {self.random.choice(["oneOf", "anyOf"]): branches}

    def reference(self, depth: int) -> Any:
        where = self.random.choice(
            ["#", "#/$defs/a", "#/$defs/b~1c", "#/properties/a", "#/$defs/x"]
        )
        return {"$ref": where}


@pytest.mark.parametrize("options", OPTIONS, ids=range(len(OPTIONS)))
def test_both_roads_make_one_grammar(
    options: SchemaOptions, monkeypatch: pytest.MonkeyPatch
) -> None:
    schemas = [*corpus_schemas(), *(Plain(seed).document() for seed in range(3000))]
    read = 0
    for schema in schemas:
        plain = read_plain(schema, options)
        if plain is None:
            continue
        read += 1
        fingerprint, places = by_general_road(schema, options, monkeypatch)
        assert plain[0].fingerprint == fingerprint, schema
        assert compile_schema(schema, options)[1].places == places, schema
    assert read > len(schemas) // 4


def test_plain_schemas_take_the_fast_lane() -> None:
    schema = {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "type": "object",
        "properties": {
            "name": {"type": "string", "minLength": 1, "description": "of the thing"},
            "kind": {"enum": ["a", "b"]},
            "size": {"oneOf": [{"type": "null"}, {"type": "integer", "minimum": 0}]},
            "parts": {"type": "array", "items": {"$ref": "#"}, "maxItems": 5},
            "made": {"$ref": "#/definitions/date", "description": "hidden"},
        },
        "required": ["name"],
        "additionalProperties": False,
        "definitions": {"date": {"type": "string", "format": "date"}},
    }
    assert read_plain(schema, SchemaOptions()) is not None


@pytest.mark.parametrize(
    "options",
    [
        SchemaOptions(numbers="any"),
        SchemaOptions(escapes="any"),
        SchemaOptions(separators=(",", ":")),
        SchemaOptions(indent=2),
        SchemaOptions(limits=gramlock.Limits(schema_depth=9)),
        SchemaOptions(limits=gramlock.Limits(expression_bytes=1 << 20)),
    ],
)
def test_options_of_the_general_road(options: SchemaOptions) -> None:
    assert read_plain({"type": "object"}, options) is None
    assert compile_schema({"type": "object"}, options)


@pytest.mark.parametrize(
    "schema",
    [
        {1: "x"},
        {"properties": {1: {}}},
        {"required": ("a",)},
        {"minimum": decimal.Decimal(1)},
        {"const": float("nan")},
        {"maxItems": 2.0},
        {"enum": [b"x"]},
        type("Mapping", (dict,), {})({"type": "string"}),
        {"properties": {"\ud800": {}}},
    ],
)
def test_what_is_no_plain_data_is_left_alone(schema: Any) -> None:
    assert read_plain(schema, SchemaOptions()) is None


def test_shared_parts_cost_nothing() -> None:
    schema: Any = {"type": "string"}
    for _ in range(30):
        schema = {"type": "object", "properties": {"a": schema, "b": schema}}
    assert gramlock.Grammar.from_json_schema(schema).accepts('{"a": {"b": {}}}')


def test_a_schema_that_holds_itself() -> None:
    schema: dict[str, Any] = {"type": "object", "additionalProperties": False}
    schema["properties"] = {"next": schema}
    grammar = gramlock.Grammar.from_json_schema(schema)
    assert grammar.accepts('{"next": {"next": {}}}')
    assert not grammar.accepts('{"next": 1}')
    schema["required"] = ["next"]
    with pytest.raises(gramlock.UnsatisfiableError):
        gramlock.Grammar.from_json_schema(schema)


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "object", "required": ["a"], "properties": {"a": {"$ref": "#"}}},
        {"type": "object", "required": ["a"], "additionalProperties": {"$ref": "#"}},
        {"type": "array", "minItems": 1, "items": {"$ref": "#"}},
    ],
)
def test_values_without_end(schema: dict[str, Any]) -> None:
    with pytest.raises(gramlock.UnsatisfiableError):
        gramlock.Grammar.from_json_schema(schema)
    either = {**schema, "type": [schema["type"], "null"]}
    assert gramlock.Grammar.from_json_schema(either).accepts("null")


@pytest.mark.parametrize("keyword", COUNTING)
def test_large_counts(keyword: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for count in (0, 1, 2**31 - 1, 2**31, 2**32, 10**30):
        schema = {"type": ["array", "string"], keyword: count}
        plain = read_plain(schema, SchemaOptions())
        if plain is None:
            continue
        expected, _ = by_general_road(schema, SchemaOptions(), monkeypatch)
        assert plain[0].fingerprint == expected


def test_a_changed_schema_is_another_one() -> None:
    schema = {"type": "object", "properties": {"a": {"type": "string"}}}
    grammar = gramlock.Grammar.from_json_schema(schema)
    schema["properties"]["a"]["type"] = "null"  # type: ignore[index]
    assert grammar.report is not None
    assert "integers" not in str(grammar.report)
    assert [entry.pointer for entry in grammar.report.places][-1] == "/properties/a/type"
    assert not gramlock.Grammar.from_json_schema(schema).accepts('{"a": "x"}')


def test_the_bytes_are_those_that_the_core_reads() -> None:
    """Every type of marshal that JSON data takes; a new format of it fails here."""
    values = [None, True, 1, -(2**31), 2**31, 1.5, "a", "é" * 300, "k" * 300, [], {}, [1], {"a": 1}]
    data = {"default": values, "examples": [values, values], "type": "null"}
    assert read_plain(data, SchemaOptions()) is not None
    for value in values:
        assert read_plain({"default": value}, SchemaOptions()) is not None
        assert marshal.loads(marshal.dumps(value, 4)) == value
