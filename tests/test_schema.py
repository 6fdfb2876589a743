"""The JSON Schema front end: keyword by keyword, against an independent validator, and its limits.

The cases are data (``data/schema.toml``). The random schemas of ``schema_fuzz.py`` are decided
three times: by the ``jsonschema`` package, by the algebra's own membership test, by the grammar.
"""

from __future__ import annotations

import json
import random
import time
from pathlib import Path
from typing import Any

import pytest

import gramlock
import schema_fuzz
from gramlock.schema import SchemaOptions, _Attempt, compile_schema
from validator import Validator

try:
    import tomllib
except ModuleNotFoundError:  # Python 3.10; pytest brings tomli there
    import tomli as tomllib  # type: ignore[no-redef]

CASES = tomllib.loads((Path(__file__).parent / "data" / "schema.toml").read_text())["case"]
EVERYTHING = {"order": "any", "whitespace": "compact", "numbers": "any"}


def grammar(schema: Any, **options: Any) -> gramlock.Grammar:
    return gramlock.Grammar.from_json_schema(schema, **{"whitespace": "compact", **options})


def algebra_of(schema: Any) -> tuple[Any, Any]:
    """The algebra of a schema that is enforced, and the schema's node in it."""
    attempt = _Attempt(schema, SchemaOptions())
    return attempt.algebra, attempt.root


def places(error: gramlock.GrammarError) -> list[str]:
    return sorted({place.pointer or "" for place in error.places})


# ------------------------------------------------------------------------------------- keywords


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_case(case: dict[str, Any]) -> None:
    schema, options = json.loads(case["schema"]), case.get("options", {})
    if "error" in case:
        with pytest.raises(getattr(gramlock, case["error"])) as caught:
            grammar(schema, **options)
        if "places" in case:
            assert places(caught.value) == sorted(case["places"])
        return
    made = grammar(schema, **options)
    assert [text for text in case["accept"] if not made.accepts(text)] == []
    assert [text for text in case["reject"] if made.accepts(text)] == []


def test_registry_documents_refer_to_each_other() -> None:
    registry = {
        "http://x.test/list.json": {"type": "array", "items": {"$ref": "item.json#/$defs/n"}},
        "http://x.test/item.json": {"$defs": {"n": {"type": "integer"}}},
    }
    made = grammar({"$ref": "http://x.test/list.json"}, registry=registry)
    assert made.accepts("[1,2]")
    assert not made.accepts('["a"]')


def test_a_place_in_another_document_names_it() -> None:
    registry = {"http://x.test/item.json": {"items": {"pattern": "(a)\\1"}}}
    with pytest.raises(gramlock.UnsupportedSchemaError) as caught:
        grammar({"$ref": "http://x.test/item.json"}, registry=registry)
    (place,) = caught.value.places
    assert place.pointer == "/items/pattern"
    assert "http://x.test/item.json" in place.message


def test_dialect_argument_gives_way_to_the_schema() -> None:
    tuple_form = {"items": [{"const": 1}]}
    draft7 = "http://json-schema.org/draft-07/schema#"
    assert grammar(tuple_form, dialect=draft7).accepts("[1]")
    latest = {**tuple_form, "$schema": "https://json-schema.org/draft/2020-12/schema"}
    with pytest.raises(gramlock.InvalidSchemaError):
        grammar(latest, dialect=draft7)


def test_unknown_dialect_is_refused_by_place() -> None:
    with pytest.raises(gramlock.UnsupportedSchemaError) as caught:
        grammar({"$schema": "http://x.test/my-dialect"})
    assert places(caught.value) == ["/$schema"]


@pytest.mark.parametrize("schema", [None, 3, "string", [], {"properties": []}, {"items": 1}])
def test_what_is_no_schema_is_invalid(schema: Any) -> None:
    with pytest.raises(gramlock.InvalidSchemaError):
        compile_schema(schema, SchemaOptions())


@pytest.mark.parametrize(
    "wrong",
    [
        {"order": "random"},
        {"numbers": "all"},
        {"formats": True},
        {"on_unsupported": "ignore"},
        {"dialect": "http://x.test/"},
        {"whitespace": "[ "},
        {"whitespace": "[ x]*"},
    ],
    ids=str,
)
def test_unknown_options_are_value_errors(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=next(iter(wrong))):
        grammar(True, **wrong)


# ---------------------------------------------------------------------------- three verdicts agree


def verdicts(schema: Any, values: list[Any]) -> list[bool] | None:
    """What the jsonschema package says; None where it cannot (endless references)."""
    validator = Validator(schema)
    found = [validator.is_valid(value) for value in values]
    return None if None in found else [bool(valid) for valid in found]


def check_relaxed(schema: Any, values: list[Any]) -> None:
    """What a refused schema relaxes to holds every valid value."""
    try:
        made = grammar(schema, **EVERYTHING, on_unsupported="relax")
    except gramlock.UnsatisfiableError:
        made = None
    for value, valid in zip(values, verdicts(schema, values) or [], strict=False):
        text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
        assert not valid or (made is not None and made.accepts(text)), (schema, text)


def check_seed(seed: int) -> str:
    rng = random.Random(seed)
    schema = schema_fuzz.document(rng)
    values = [schema_fuzz.value(rng) for _ in range(25)]
    try:
        made = grammar(schema, **EVERYTHING)
    except gramlock.UnsatisfiableError:
        assert not any(verdicts(schema, values) or ()), schema
        return "unsatisfiable"
    except gramlock.InvalidSchemaError as error:
        assert "includes itself" in str(error), schema
        return "circular"
    except gramlock.UnsupportedSchemaError:
        check_relaxed(schema, values)
        return "refused"
    expected = verdicts(schema, values)
    if expected is None:
        return "circular"
    algebra, root = algebra_of(schema)
    for value, valid in zip(values, expected, strict=True):
        text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
        assert algebra.contains(root, value) == valid, (schema, value)
        assert made.accepts(text) == valid, (schema, text)
    return "decided"


def test_random_schemas(thorough: bool) -> None:
    count = 20_000 if thorough else 400
    outcomes = [check_seed(seed) for seed in range(count)]
    assert outcomes.count("decided") > count // 2


def test_declared_order_is_the_only_thing_it_takes_away() -> None:
    rng = random.Random(11)
    for _ in range(200):
        schema, value = schema_fuzz.document(rng), schema_fuzz.value(rng)
        try:
            declared, free = grammar(schema), grammar(schema, order="any")
        except gramlock.GrammarError:
            continue
        text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
        assert free.accepts(text) or not declared.accepts(text), (schema, text)


# --------------------------------------------------------------------------------------- budgets


def nested(depth: int, key: str) -> Any:
    schema: Any = {"type": "integer"}
    for _ in range(depth):
        schema = {key: schema} if key != "allOf" else {key: [schema]}
    return schema


@pytest.mark.parametrize("key", ["items", "allOf", "not"])
def test_deep_nesting_is_a_limit(key: str) -> None:
    with pytest.raises(gramlock.LimitError) as caught:
        grammar(nested(10_000, key))
    assert caught.value.budget == "schema_depth"


def test_nesting_below_the_limit_works() -> None:
    assert grammar(nested(200, "items")).accepts("[" * 200 + "1" + "]" * 200)


def test_a_long_chain_of_references_costs_no_stack() -> None:
    defs: dict[str, Any] = {f"d{i}": {"$ref": f"#/$defs/d{i + 1}"} for i in range(3000)}
    defs["d3000"] = {"type": "integer"}
    assert grammar({"$ref": "#/$defs/d0", "$defs": defs}).accepts("1")
    lists: dict[str, Any] = {
        f"d{i}": {"type": "array", "items": {"$ref": f"#/$defs/d{i + 1}"}} for i in range(3000)
    }
    lists["d3000"] = {"type": "integer"}
    made = grammar({"$ref": "#/$defs/d0", "$defs": lists})
    assert made.accepts("[[[]]]")
    assert not made.accepts("[[[1]]]")


def test_a_schema_that_holds_itself_in_memory_is_like_a_reference() -> None:
    schema: dict[str, Any] = {"type": "array"}
    schema["items"] = schema
    made = grammar(schema)
    assert made.accepts("[[],[[]]]")
    assert not made.accepts("[1]")


def test_combinations_do_not_multiply() -> None:
    """Six times twelve alternatives stay seventy-two; k conditions on one value may be a limit."""
    every = [
        {"anyOf": [{"properties": {f"k{i}": {"const": i + turn}}} for i in range(12)]}
        for turn in range(6)
    ]
    made = grammar({"type": "object", "allOf": every}, order="any")
    assert made.accepts('{"k0":0}')
    everywhere = {f"k{i}": i for i in range(12)}
    assert made.accepts(json.dumps({**everywhere, "k11": 16}, separators=(",", ":"))) is False
    assert made.accepts(json.dumps(dict(list(everywhere.items())[:11]), separators=(",", ":")))


def test_ten_thousand_strings() -> None:
    values = [f"value {i}" for i in range(10_000)]
    started = time.perf_counter()
    made = grammar({"type": "string", "enum": values})
    assert time.perf_counter() - started < 2
    assert made.accepts('"value 9999"')
    assert not made.accepts('"value 10000"')


def test_counts_cost_nothing() -> None:
    schema = {"type": "array", "items": {"type": "string", "maxLength": 10**9}, "maxItems": 10**9}
    assert grammar(schema).accepts('["a","b"]')


# ---------------------------------------------------------------------------------------- report


def test_report_tells_what_became_of_each_keyword() -> None:
    schema = {
        "type": "object",
        "title": "t",
        "properties": {
            "n": {"type": "integer", "minimum": 1},
            "d": {"type": "string", "format": "date"},
            "f": {"format": "colour"},
            "u": {"type": "string", "pattern": "(a)\\1"},
        },
        "$defs": {"unused": {"type": "null"}},
    }
    made = gramlock.Grammar.from_json_schema(schema, on_unsupported="relax")
    status = {entry.pointer: entry.status for entry in made.report.places}
    assert status == {
        "": "narrowed",
        "/type": "enforced",
        "/title": "annotation",
        "/properties": "narrowed",
        "/properties/n/type": "narrowed",
        "/properties/n/minimum": "narrowed",
        "/properties/d/type": "enforced",
        "/properties/d/format": "enforced",
        "/properties/f/format": "annotation",
        "/properties/u/type": "enforced",
        "/properties/u/pattern": "relaxed",
    }
    assert [entry.pointer for entry in made.report.relaxed] == ["/properties/u/pattern"]
    assert "colour" in str(made.report)
    assert made.report.to_dict()["places"][0]["status"] == "narrowed"


def test_report_of_an_exact_grammar_has_nothing_narrowed() -> None:
    schema = {"type": "object", "properties": {"a": {"type": "string"}, "b": {"type": "null"}}}
    made = gramlock.Grammar.from_json_schema(
        schema, order="any", whitespace="flexible", numbers="any", escapes="any"
    )
    assert {entry.status for entry in made.report.places} == {"enforced"}
