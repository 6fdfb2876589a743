"""Validation: what is reported, in which words and order, and that no input does harm.

Agreement with the grammar is tested in test_tools_validate_fuzz.py, with the standard's own suite
in test_tools_suites.py.
"""

from __future__ import annotations

import copy
import doctest
import importlib
import sys
import threading
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pytest

from gramlock.errors import MissingDependencyError, ToolDefinitionError
from gramlock.tools import Validator, validate
from gramlock.tools.validator import MAX_VIOLATIONS, validator_of

REFUND: dict[str, Any] = {
    "type": "object",
    "properties": {
        "order_id": {"type": "string", "description": "As on the invoice."},
        "amount_cents": {"type": "integer", "minimum": 1},
        "reason": {"type": "string", "description": "Why the money goes back."},
        "line_items": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {"sku": {"type": "string"}, "qty": {"type": "integer"}},
                "required": ["sku", "qty"],
                "additionalProperties": False,
            },
        },
    },
    "required": ["order_id", "amount_cents", "reason"],
}


def lines(instance: Any, schema: Any, **options: Any) -> list[str]:
    return [str(violation) for violation in validate(instance, schema, **options)]


# -- what is said ---------------------------------------------------------------------------------


def test_the_core_in_a_few_lines() -> None:
    assert lines({"order_id": "A-1", "amount_cents": "5000"}, REFUND) == [
        "$.amount_cents: expected integer, got string",
        "$.reason: required",
    ]


def test_places_members_and_descriptions() -> None:
    value = {
        "reason": 5,
        "order_id": "A-1",
        "line_items": [{"sku": "a", "qty": 1}, {"sku": 7, "colour": "red"}],
    }
    found = [(v.pointer, v.rule, v.property, v.path) for v in validate(value, REFUND)]
    assert found == [
        ("/reason", "type", None, "$.reason"),
        ("/line_items/1/sku", "type", None, "$.line_items[1].sku"),
        ("/line_items/1", "additionalProperties", "colour", "$.line_items[1].colour"),
        ("/line_items/1", "required", "qty", "$.line_items[1].qty"),
        ("", "required", "amount_cents", "$.amount_cents"),
    ]
    by_path = {v.path: v for v in validate(value, REFUND)}
    assert by_path["$.reason"].description == "Why the money goes back."
    assert by_path["$.amount_cents"].description is None
    assert str(by_path["$.line_items[1].colour"]) == (
        '$.line_items[1].colour: not allowed; known: "sku", "qty"'
    )
    (missing,) = validate({"amount_cents": 1, "reason": ""}, REFUND)
    assert missing.description == "As on the invoice."


def test_a_description_beside_a_reference_counts() -> None:
    schema = {
        "properties": {
            "a": {"$ref": "#/$defs/n", "description": "Here."},
            "b": {"$ref": "#/$defs/n"},
        },
        "$defs": {"n": {"type": "integer", "description": "d" * 500}},
    }
    first, second = validate({"a": "", "b": ""}, schema)
    assert second.description == "d" * 199 + "…"
    assert first.description in ("Here.", second.description)


MESSAGES: list[tuple[Any, Any, list[str]]] = [
    (5, {"type": ["string", "null"]}, ["$: expected string or null, got integer"]),
    ("c", {"enum": ["a", "b"]}, ['$: expected one of "a", "b", got "c"']),
    ("c", {"enum": ["a"]}, ['$: expected "a", got "c"']),
    ({"a": 1}, {"const": {"a": 2}}, ['$: expected {"a":2}, got object of 1 members']),
    (0, {"minimum": 1}, ["$: expected at least 1, got 0"]),
    (2.5, {"maximum": 2}, ["$: expected at most 2, got 2.5"]),
    (1, {"exclusiveMinimum": 1}, ["$: expected more than 1, got 1"]),
    (1, {"exclusiveMaximum": 1}, ["$: expected less than 1, got 1"]),
    (0.25, {"multipleOf": 0.1}, ["$: expected a multiple of 0.1, got 0.25"]),
    ("a", {"minLength": 2}, ["$: expected at least 2 characters, got 1 character"]),
    ("ab", {"maxLength": 1}, ["$: expected at most 1 character, got 2 characters"]),
    ("ab", {"pattern": "^b$"}, ['$: expected text that matches ^b$, got "ab"']),
    ("x", {"format": "ipv4"}, ['$: expected ipv4, got "x"']),
    ("x", {"format": "date"}, ['$: expected date (2024-02-29), got "x"']),
    ([], {"minItems": 1}, ["$: expected at least 1 item, got 0 items"]),
    ([1, 2], {"maxItems": 1}, ["$: expected at most 1 item, got 2 items"]),
    (
        [0, 1, True, 1.0],
        {"uniqueItems": True},
        ["$: expected items that all differ, got equal items 1 and 3"],
    ),
    ({}, {"minProperties": 1}, ["$: expected at least 1 member, got 0 members"]),
    ({"a": 1, "b": 2}, {"maxProperties": 1}, ["$: expected at most 1 member, got 2 members"]),
    ({"a": 1}, {"dependentRequired": {"a": ["b"]}}, ['$.b: required beside "a"']),
    ({"a": 1}, {"dependencies": {"a": ["b"]}}, ['$.b: required beside "a"']),
    ({"a": 1}, {"dependencies": {"a": {"required": ["b"]}}}, ["$.b: required"]),
    ({"a": 1}, {"dependentSchemas": {"a": {"required": ["b"]}}}, ["$.b: required"]),
    (
        {"B": 1},
        {"propertyNames": {"pattern": "^[a-z]$"}},
        ['$.B: expected as its name text that matches ^[a-z]$, got "B"'],
    ),
    ({"a": 1}, {"properties": {"a": False}}, ["$.a: not allowed"]),
    (1, False, ["$: not allowed"]),
    ({"a": 1}, {"additionalProperties": {"type": "string"}}, ["$.a: expected string, got integer"]),
    (
        {"ab": 1},
        {"patternProperties": {"^a": {"type": "string"}}},
        ["$.ab: expected string, got integer"],
    ),
    ([1, 2], {"prefixItems": [True], "items": False}, ["$: expected at most 1 items, got 2 items"]),
    (
        [1, ""],
        {"prefixItems": [{"type": "string"}], "items": {"type": "integer"}},
        [
            "$[0]: expected string, got integer",
            "$[1]: expected integer, got string",
        ],
    ),
    (
        [1, ""],
        {"contains": {"type": "null"}},
        ["$: expected at least 1 item as contains describes, got 0 of 2"],
    ),
    (
        [1, 1],
        {"contains": {"const": 1}, "maxContains": 1},
        ["$: expected at most 1 item as contains describes, got 2 of 2"],
    ),
    (
        {"a": 1},
        {"not": {"required": ["a"]}},
        ['$: expected anything but required "a", got object of 1 members'],
    ),
    (1, {"not": {"type": "integer"}}, ["$: expected anything but integer, got 1"]),
    (1, {"if": {"type": "integer"}, "then": {"minimum": 2}}, ["$: expected at least 2, got 1"]),
    (
        "",
        {"if": {"type": "integer"}, "else": {"minLength": 1}},
        ["$: expected at least 1 character, got 0 characters"],
    ),
    (
        {"a": 1, "b": 2},
        {"properties": {"a": True}, "unevaluatedProperties": False},
        ["$.b: not allowed"],
    ),
    (
        [1, 2, 3],
        {"prefixItems": [True], "unevaluatedItems": False},
        ["$: expected no other items, got item 1, 2"],
    ),
]


@pytest.mark.parametrize("instance, schema, wanted", MESSAGES, ids=lambda value: str(value)[:40])
def test_messages(instance: Any, schema: Any, wanted: list[str]) -> None:
    assert lines(instance, schema) == wanted


def test_formats_can_be_left_out() -> None:
    schema = {"format": "date"}
    assert lines("x", schema, formats=False) == []
    assert lines("x", schema) != []
    assert lines("x", {"format": "no-such-format"}) == []
    assert lines(5, schema) == []


# -- unions ---------------------------------------------------------------------------------------

PROPOSAL = {
    "type": "object",
    "properties": {"kind": {"const": "proposal"}, "ticket": {"type": "string"}},
    "required": ["kind", "ticket"],
}
QUESTION = {
    "type": "object",
    "properties": {"kind": {"enum": ["question", "doubt"]}, "text": {"type": "string"}},
    "required": ["kind", "text"],
}


@pytest.mark.parametrize("keyword", ["oneOf", "anyOf"])
def test_the_tag_selects_the_branch(keyword: str) -> None:
    schema = {
        keyword: [{"$ref": "#/$defs/p"}, QUESTION, {"type": "null"}],
        "$defs": {"p": PROPOSAL},
    }
    assert lines({"kind": "proposal"}, schema) == ["$.ticket: required"]
    assert lines({"kind": "doubt", "text": 1, "ticket": 2}, schema) == [
        "$.text: expected string, got integer"
    ]
    (unknown,) = validate({"kind": "other"}, schema)
    assert str(unknown) == ('$.kind: expected one of "proposal", "question", "doubt", got "other"')
    assert (unknown.pointer, unknown.rule) == ("/kind", keyword)
    (missing,) = validate({"text": ""}, schema)
    assert (missing.pointer, missing.rule, missing.property) == ("", "required", "kind")
    assert "proposal" in str(missing)
    assert lines(None, schema) == []
    assert lines(5, schema) == ["$: expected object or null, got integer"]


def test_a_hint_changes_nothing_about_validity() -> None:
    """``discriminator`` is no keyword of JSON Schema."""
    one = {"properties": {"kind": {"const": "a"}, "n": {"type": "integer"}}}
    two = {"properties": {"kind": {"const": "b"}}, "required": ["n"]}
    schema = {"anyOf": [one, two], "discriminator": {"propertyName": "kind"}}
    assert lines({}, schema) == []  # kind is not required
    assert lines({"kind": "b"}, schema) == ["$.n: required"]
    both = {"oneOf": [PROPOSAL, PROPOSAL], "discriminator": {"propertyName": "kind"}}
    assert len(lines({"kind": "proposal", "ticket": ""}, both)) == 1


def test_unions_without_a_tag() -> None:
    shape = {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]}
    assert lines({"a": ""}, {"anyOf": [shape, {"type": "null"}]}) == [
        "$.a: expected integer, got string"
    ]
    assert lines(True, {"anyOf": [shape, {"type": "integer"}, {"const": None}]}) == [
        "$: expected object, integer or null, got boolean"
    ]
    (one,) = validate({}, {"anyOf": [{"required": ["a"]}, {"required": ["b"]}]})
    assert one.rule == "anyOf"
    assert ".a required" in str(one)
    assert ".b required" in str(one)
    assert lines(3, {"anyOf": [{"minimum": 5}, {"maximum": 1}]}) == [
        "$: expected at least 5 or at most 1, got 3"
    ]


def test_two_branches_at_once_are_a_fault_of_one_of() -> None:
    schema = {"oneOf": [{"required": ["a"]}, {"required": ["b"]}, {"type": "null"}]}
    assert lines({"a": 1, "b": 1}, schema) == [
        "$: expected exactly one of the alternatives, got 2 of them: 1, 2"
    ]
    assert lines({"a": 1}, schema) == []


def test_unions_do_not_explode() -> None:
    """Each level has three branches that fit; the report stays one line, the work linear."""
    schema = {
        "$ref": "#/$defs/n",
        "$defs": {
            "n": {
                "anyOf": [
                    {"properties": {"c": {"$ref": "#/$defs/n"}}, "required": [name]}
                    for name in ("x", "y", "z")
                ]
            }
        },
    }
    value: Any = {}
    for _ in range(8):
        value = {"c": value, "x": 1}
    found = lines(value, schema)
    assert len(found) == 1
    assert len(found[0]) < 400


# -- order, uniqueness, bounds --------------------------------------------------------------------


def test_order_is_that_of_the_document() -> None:
    schema = {
        "required": ["z", "y"],
        "minProperties": 9,
        "properties": {name: {"type": "string", "const": "x"} for name in "abc"},
    }
    paths = [(v.path, v.rule) for v in validate({"c": 1, "a": 2, "b": 3}, schema)]
    assert paths == [
        ("$", "minProperties"),
        *[(f"$.{name}", rule) for name in "cab" for rule in ("const", "type")],
        ("$.z", "required"),
        ("$.y", "required"),
    ]
    many = {"items": {"type": "integer"}}
    assert [v.pointer for v in validate([""] * 12, many)] == [f"/{i}" for i in range(12)]


def test_a_flood_of_violations_is_bounded() -> None:
    found = validate([0] * 100_000, {"items": {"type": "string"}})
    assert len(found) == MAX_VIOLATIONS + 1
    assert found[-1].rule == "budget"


def test_values_are_quoted_only_if_short() -> None:
    schema = {"properties": {"a": {"const": 1}, "b": {"pattern": "^x$"}}}
    found = validate({"a": "y" * 81, "b": "y" * 50_000}, schema)
    assert [v.got for v in found] == ["string of 81 characters", "string of 50000 characters"]
    assert all(len(str(v)) <= 300 for v in found)
    assert validate({"a": "y" * 80}, schema)[0].got == '"' + "y" * 80 + '"'


def test_secrets_are_not_quoted() -> None:
    secret = {"type": "string", "pattern": "^[0-9]{4}$", "minLength": 9, "enum": ["1"]}
    for mark in ({"writeOnly": True}, {"x-secret": True}, {"format": "password"}):
        found = lines({"pin": "hunter2"}, {"properties": {"pin": {**secret, **mark}}})
        assert len(found) == 3
        assert "hunter2" not in "".join(found)
        assert "7" not in "".join(found)


# -- what it is given -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "value, pointer, rule",
    [
        (float("nan"), "", "type"),
        ({"a": [float("inf")]}, "/a/0", "type"),
        ({"a": {1, 2}}, "/a", "type"),
        ([(1,)], "/0", "type"),
        ({1: 2}, "", "type"),
        ({None: 2}, "", "type"),
        ([b""], "/0", "type"),
        (Decimal("NaN"), "", "type"),
        (object(), "", "type"),
    ],
)
def test_what_is_no_json_is_a_violation(value: Any, pointer: str, rule: str) -> None:
    for schema in ({}, True, {"type": "array"}):
        assert [(v.pointer, v.rule) for v in validate(value, schema)] == [(pointer, rule)]


def nested(depth: int, leaf: Any = 1) -> Any:
    for _ in range(depth):
        leaf = [leaf]
    return leaf


def test_depth_is_looked_at_first() -> None:
    recursive = {"items": {"$ref": "#"}, "type": ["array", "integer"]}
    assert validate(nested(200), recursive) == []
    (one,) = validate(nested(201), recursive)
    assert one.rule == "depth"
    assert [v.rule for v in validate(nested(100_000), True)] == ["depth"]
    loop: list[Any] = []
    loop.append(loop)
    assert [v.rule for v in validate(loop, recursive)] == ["depth"]
    assert [v.rule for v in Validator({}, depth=2).validate([[[1]]])] == ["depth"]


def at_depth(frames: int, call: Callable[[], Any]) -> Any:
    return call() if frames == 0 else at_depth(frames - 1, call)


def test_the_verdict_does_not_depend_on_the_stack_of_the_caller() -> None:
    schema = {"properties": {"v": {"type": "integer"}, "kid": {"$ref": "#"}}, "required": ["v"]}
    value: Any = {"v": "wrong"}
    for _ in range(60):
        value = {"v": 1, "kid": value}
    checked = Validator(schema)
    here = checked.validate(value)
    assert [v.rule for v in here] == ["type"]
    assert at_depth(sys.getrecursionlimit() - 250, lambda: checked.validate(value)) == here
    right = Validator({"items": {"$ref": "#"}})
    assert at_depth(sys.getrecursionlimit() - 250, lambda: right.validate(nested(150))) == []


def test_deep_unions_end_in_a_violation_at_worst() -> None:
    schema = {
        "oneOf": [
            {"properties": {"k": {"const": "leaf"}}, "required": ["k"], "type": "object"},
            {
                "type": "object",
                "properties": {"k": {"const": "node"}, "kids": {"items": {"$ref": "#"}}},
                "required": ["k"],
            },
        ]
    }
    for leaf, valid in (("leaf", True), ("leef", False)):
        value: Any = {"k": leaf}
        for _ in range(99):
            value = {"k": "node", "kids": [value]}
        assert (validate(value, schema) == []) == valid


@pytest.mark.parametrize(
    "number, schema, rules",
    [
        (10**400, {"multipleOf": 0.1, "minimum": 5}, []),
        (10**400, {"multipleOf": 3}, ["multipleOf"]),
        (10**400, {"const": Decimal("1e400"), "maximum": Decimal("1e400")}, []),
        (Decimal("1e400"), {"exclusiveMaximum": 10**400}, ["exclusiveMaximum"]),
        (Decimal("1e999999999"), {"multipleOf": 7, "maximum": 5}, ["maximum", "multipleOf"]),
        (Decimal("1e999999999"), {"multipleOf": Decimal("1e-999999")}, []),
        (Decimal("1e-999999999"), {"type": "integer", "multipleOf": 7}, ["multipleOf", "type"]),
        (10**10_000, {"type": "string", "maximum": 1e308}, ["maximum", "type"]),
        (1e23, {"const": 10**23, "multipleOf": 10**23}, []),
        (2**53 + 1, {"maximum": 2**53}, ["maximum"]),
        (0.3, {"multipleOf": 0.1}, []),
        (1.0, {"type": "integer"}, []),
        (Decimal("1.00"), {"type": "integer"}, []),
        (True, {"type": "integer"}, ["type"]),
        (True, {"minimum": 5, "multipleOf": 7}, []),
        (-0.0, {"const": 0, "multipleOf": 7}, []),
        (Decimal("0.1"), {"minimum": 0.1, "maximum": 0.1, "const": 0.1}, []),
    ],
    ids=lambda value: "" if isinstance(value, int | Decimal) else str(value)[:40],
)
def test_numbers_are_exact_and_never_expand(number: Any, schema: Any, rules: list[str]) -> None:
    assert [v.rule for v in validate(number, schema)] == rules
    assert [v.rule for v in validate([number], {"items": schema})] == rules


@pytest.mark.parametrize(
    "pattern, text, valid",
    [
        ("^(a+)+$", "a" * 60 + "b", False),
        ("^(a|a)*$", "a" * 100_000, True),
        ("^" + "a?" * 40 + "a" * 40 + "$", "a" * 40, True),
        ("(x+x+)+y", "x" * 2000, False),
        ("^(?=(a+)+$)", "a" * 5000, True),
        ("[a-z]+@[a-z]+", "a" * 50_000, False),
    ],
)
def test_patterns_take_bounded_time(pattern: str, text: str, valid: bool) -> None:
    assert (lines(text, {"pattern": pattern}) == []) == valid


def test_a_text_too_long_for_a_pattern_is_a_violation_that_says_so() -> None:
    (one,) = validate("a" * 20_000_000, {"pattern": "^(a|b)*$"})
    assert "short enough to check" in str(one)


def test_patterns_are_ecma_262() -> None:
    assert lines("a\n", {"pattern": "^a$"}) != []
    assert lines("\u0661", {"pattern": "^\\d$"}) != []
    assert lines("é", {"pattern": "^\\p{L}$"}) == []
    assert lines("😀", {"pattern": "^.$"}) == []
    assert lines({"é": 1}, {"patternProperties": {"^\\p{L}$": {"type": "null"}}}) != []
    assert lines("\ud800", {"pattern": "."}) != []


def test_many_items_are_compared_quickly() -> None:
    items: list[Any] = [[i] for i in range(20_000)]
    assert lines(items, {"uniqueItems": True}) == []
    assert lines([*items, [0.0]], {"uniqueItems": True}) != []
    assert lines([[1], [True], [1]], {"uniqueItems": True}) == [
        "$: expected items that all differ, got equal items 0 and 2"
    ]


def test_unevaluated_members_below_each_other_cost_no_more_than_they_should() -> None:
    schema = {
        "anyOf": [{"properties": {"child": {"$ref": "#"}, "v": True}}, {"properties": {"w": True}}],
        "unevaluatedProperties": False,
    }
    value: Any = {"v": 1}
    for _ in range(40):
        value = {"child": value, "v": 1}
    assert validate(value, schema) == []


# -- schemas --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "schema, places",
    [
        (
            {"type": "strnig", "properties": {"a": {"minLength": -1}}},
            ["#/type", "#/properties/a/minLength"],
        ),
        ({"properties": []}, ["#/properties"]),
        ({"properties": {"a": 5}}, ["#/properties/a"]),
        ({"$defs": {"a/b": {"required": "x"}}}, ["#/$defs/a~1b/required"]),
        ({"anyOf": []}, ["#/anyOf"]),
        ({"items": [{}]}, ["#/items"]),
        (
            {
                "$schema": "http://json-schema.org/draft-04/schema#",
                "minimum": 1,
                "exclusiveMinimum": 1,
            },
            ["#/exclusiveMinimum"],
        ),
        ({"properties": {"a": {"$ref": "#/nowhere"}}}, ["#/properties/a/$ref"]),
        ({"$ref": "http://example.org/other.json"}, ["#/$ref"]),
        ({"$ref": "#/title", "title": "t"}, ["#/$ref"]),
        ({"$ref": "http://["}, ["#/$ref"]),
        ({"$ref": "#"}, ["#"]),
        ({"$defs": {"a": {"anyOf": [{"$ref": "#/$defs/a"}]}}, "$ref": "#/$defs/a"}, ["#/$defs/a"]),
        ({"pattern": "("}, ["#"]),
        ({"properties": {"a": {"pattern": "(a)\\1"}}}, ["#/properties/a"]),
        ({"patternProperties": {"[": {}}}, ["#"]),
        ({"$schema": "http://example.org/mine"}, ["#/$schema"]),
        ({"const": float("nan")}, ["#"]),
        ({"enum": [{1: 2}]}, ["#"]),
        ({"default": {1, 2}}, ["#"]),
        (5, ["#"]),
        (None, ["#"]),
        ([], ["#"]),
        ("{}", ["#"]),
    ],
    ids=lambda value: str(value)[:50],
)
def test_what_is_no_schema_is_refused_with_its_places(schema: Any, places: list[str]) -> None:
    for make in (Validator, lambda schema: validate(1, schema)):
        with pytest.raises(ToolDefinitionError) as caught:
            make(schema)
        for place in places:
            assert place in str(caught.value)
        assert isinstance(caught.value, ValueError)


def test_a_schema_that_nests_deep_is_no_trouble() -> None:
    schema: Any = {"type": "integer"}
    for _ in range(150):
        schema = {"items": schema}
    assert validate(nested(150), schema) == []
    for _ in range(150):
        schema = {"items": schema}
    with pytest.raises(ToolDefinitionError, match="levels"):
        Validator(schema)


def test_a_long_chain_of_references_is_no_crash() -> None:
    defs: dict[str, Any] = {f"d{i}": {"$ref": f"#/$defs/d{i + 1}"} for i in range(3000)}
    defs["d3000"] = {"type": "integer"}
    assert validate("x", {"$ref": "#/$defs/d0", "$defs": defs}) != []


def test_references_to_the_meta_schemas_need_no_network() -> None:
    schema = {"properties": {"s": {"$ref": "https://json-schema.org/draft/2020-12/schema"}}}
    assert validate({"s": {"type": "string", "items": {"minItems": 3}}}, schema) == []
    assert [v.pointer for v in validate({"s": {"items": {"minItems": -3}}}, schema)] == [
        "/s/items/minItems"
    ]
    # and the meta-schemas are as they were
    assert validate({"s": {"not": {"required": "x"}}}, schema) != []


@pytest.mark.parametrize(
    "schema, valid, invalid",
    [
        ({"$ref": "other", "$defs": {"o": {"$id": "other", "type": "string"}}}, "", 1),
        ({"$ref": "#here", "$defs": {"o": {"$anchor": "here", "type": "string"}}}, "", 1),
        (
            {
                "$id": "http://e.org/a",
                "$ref": "b#/$defs/x",
                "$defs": {"q": {"$id": "b", "$defs": {"x": {"type": "null"}}}},
            },
            None,
            1,
        ),
        ({"components": {"a": {"type": "string"}}, "$ref": "#/components/a"}, "", 1),
        ({"$defs": {"a b%": {"type": "string"}}, "$ref": "#/$defs/a%20b%25"}, "", 1),
        ({"$defs": {"n": False}, "properties": {"a": {"$ref": "#/$defs/n"}}}, {}, {"a": 1}),
    ],
    ids=str,
)
def test_references_inside_the_document(schema: Any, valid: Any, invalid: Any) -> None:
    assert validate(valid, schema) == []
    assert len(validate(invalid, schema)) == 1


def test_older_drafts() -> None:
    four = "http://json-schema.org/draft-04/schema#"
    assert lines(1, {"$schema": four, "minimum": 1, "exclusiveMinimum": True}) == [
        "$: expected more than 1, got 1"
    ]
    seven = "http://json-schema.org/draft-07/schema#"
    schema = {
        "$schema": seven,
        "properties": {"a": {"$ref": "#/definitions/s", "maxLength": 0}},
        "definitions": {"s": {"type": "string"}},
    }
    assert lines({"a": "text"}, schema) == []  # beside $ref nothing counts
    tuple_form = {"$schema": seven, "items": [{"type": "null"}], "additionalItems": False}
    assert lines([None, 1], tuple_form) == ["$: expected at most 1 items, got 2 items"]


def test_the_caller_may_change_its_schema_afterwards() -> None:
    schema = copy.deepcopy(REFUND)
    before = copy.deepcopy(schema)
    checked = Validator(schema)
    assert schema == before
    schema["properties"].clear()
    schema["required"].clear()
    assert checked.validate({}) == Validator(before).validate({})


def test_validators_are_kept_by_the_meaning_of_their_schema() -> None:
    assert validator_of({"type": "object", "minProperties": 1}) is validator_of(
        {"minProperties": 1.0, "type": "object"}
    )
    assert validator_of({"const": 1}) is not validator_of({"const": True})
    assert validator_of({"format": "date"}, True) is not validator_of({"format": "date"}, False)
    for number in range(200):
        validator_of({"const": number})


def test_only_the_verdict_can_be_had() -> None:
    for schema in (REFUND, {**REFUND, "unevaluatedProperties": False}):
        checked = Validator(schema)
        assert checked.is_valid({"order_id": "A-1", "amount_cents": 1, "reason": "x"})
        assert not checked.is_valid({"order_id": "A-1", "amount_cents": 0, "reason": "x"})
        assert not checked.is_valid(float("nan"))
        assert not checked.is_valid(nested(300))


@pytest.mark.parametrize("name", ["validator", "redaction"])
def test_examples(name: str) -> None:
    module = importlib.import_module(f"gramlock.tools.{name}")
    outcome = doctest.testmod(module)
    assert outcome.attempted > 0
    assert outcome.failed == 0


def test_threads_share_a_validator() -> None:
    checked = Validator({**REFUND, "unevaluatedProperties": False})
    values = [{"order_id": i, "amount_cents": "x" * i, "z": {}} for i in range(20)]
    wanted = [checked.validate(value) for value in values]
    failures = []

    def work() -> None:
        for _ in range(10):
            if [checked.validate(value) for value in values] != wanted:
                failures.append(1)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures


@pytest.mark.parametrize("package", ["jsonschema", "regress"])
def test_a_missing_package_is_named(package: str, monkeypatch: pytest.MonkeyPatch) -> None:
    from gramlock.tools import patterns

    monkeypatch.setitem(sys.modules, package, None)
    for module in ("keywords", "branches", "problems"):
        monkeypatch.delitem(sys.modules, f"gramlock.tools.{module}", raising=False)
    patterns.matcher.cache_clear()
    with pytest.raises(MissingDependencyError) as caught:
        Validator({"pattern": "^only here$"})
    assert caught.value.package == package
    assert caught.value.extra == "tools"


# -- schemas that make much of little -------------------------------------------------------------


def doubling(wrap: Callable[[Any], Any], levels: int = 40) -> Any:
    """Each definition means the next one twice, at the same value or one level down."""
    defs: dict[str, Any] = {
        f"d{i}": {"allOf": [wrap({"$ref": f"#/$defs/d{i + 1}"})] * 2} for i in range(levels)
    }
    defs[f"d{levels}"] = {"type": "integer"}
    return {"$ref": "#/$defs/d0", "$defs": defs}


def chain(levels: int, leaf: Any) -> Any:
    for _ in range(levels):
        leaf = {"x": leaf}
    return leaf


RECURSIVE_TWICE = {
    "allOf": [{"properties": {"x": {"$ref": "#"}}, "maxProperties": most} for most in (2, 3)],
    "type": ["object", "integer"],
}


@pytest.mark.parametrize(
    "schema, valid, invalid",
    [
        (doubling(lambda inner: inner), 1, "text"),
        (doubling(lambda inner: {"properties": {"x": inner}}), chain(40, 1), chain(40, "text")),
        (doubling(lambda inner: {"not": {"not": inner}}, 12), 1, "text"),
        (RECURSIVE_TWICE, chain(60, 1), chain(60, "text")),
    ],
    ids=["in place", "one level down", "under not", "recursive"],
)
def test_few_lines_are_no_endless_work(schema: Any, valid: Any, invalid: Any) -> None:
    assert validate(valid, schema) == []
    assert validate(invalid, schema) != []


def test_the_quick_way_is_taken_where_work_cannot_multiply() -> None:
    def is_quick(schema: Any) -> bool:
        return Validator(schema)._quick is not None

    either = {"$ref": "#/$defs/e"}
    operation = {
        "type": "object",
        "properties": {"left": either, "right": either},
        "required": ["op"],
    }
    tagged = [
        {**operation, "properties": {**operation["properties"], "op": {"const": op}}}
        for op in ("add", "multiply")
    ]
    expression = {**either, "$defs": {"e": {"oneOf": [*tagged, {"type": "number"}]}}}
    assert is_quick(expression)
    value: Any = 1
    for _ in range(50):
        value = {"op": "add", "left": value, "right": {"op": "multiply", "left": 2}}
    assert lines(value, expression) == []
    assert lines({"op": "divide"}, expression) == [
        '$.op: expected one of "add", "multiply", got "divide"'
    ]
    anything = {
        "anyOf": [
            {"type": "array", "items": {"$ref": "#"}},
            {"type": "object", "additionalProperties": {"$ref": "#"}},
            {"type": ["string", "number", "boolean", "null"]},
        ]
    }
    assert is_quick(anything)
    assert lines({"a": [1, {"b": None}]}, anything) == []
    assert is_quick(REFUND)
    assert not is_quick(RECURSIVE_TWICE)
    assert not is_quick(doubling(lambda inner: inner))
