"""What a schema marks as secret does not leave it; in doubt, nothing is shown."""

from __future__ import annotations

import json
import random
from typing import Any

import pytest

from gramlock.tools import Validator, redact
from gramlock.tools.redaction import REDACTED

LOGIN: dict[str, Any] = {
    "type": "object",
    "properties": {
        "user": {"type": "string"},
        "password": {"type": "string", "writeOnly": True},
        "card": {
            "type": "object",
            "properties": {"number": {"x-secret": True}, "brand": {"type": "string"}},
        },
    },
}


def test_marked_members_are_left_out() -> None:
    value = {"user": "u", "password": "p", "card": {"number": [4, 2], "brand": "b"}}
    before = json.dumps(value)
    assert redact(value, LOGIN) == {
        "user": "u",
        "password": REDACTED,
        "card": {"number": REDACTED, "brand": "b"},
    }
    assert json.dumps(value) == before


@pytest.mark.parametrize("mark", [{"writeOnly": True}, {"x-secret": True}, {"format": "password"}])
@pytest.mark.parametrize(
    "wrap",
    [
        lambda secret: secret,
        lambda secret: {"$ref": "#/$defs/s", "$defs": {"s": secret}},
        lambda secret: {"allOf": [{}, secret]},
        lambda secret: {"anyOf": [{"type": "null"}, secret]},
        lambda secret: {"oneOf": [secret, {"type": "integer"}]},
        lambda secret: {"if": {"type": "null"}, "else": secret},
        lambda secret: {"if": secret, "then": {}},
        lambda secret: {"anyOf": [{"allOf": [{"anyOf": [secret]}]}]},
    ],
)
def test_marks_are_found_wherever_they_stand(mark: Any, wrap: Any) -> None:
    wrapped = wrap(mark)
    assert redact("shh", wrapped) == REDACTED
    holders: list[tuple[Any, Any]] = [
        ({"properties": {"s": wrapped}}, {"s": "shh"}),
        ({"additionalProperties": wrapped}, {"s": "shh"}),
        ({"patternProperties": {"^s": wrapped}}, {"s": "shh"}),
        ({"unevaluatedProperties": wrapped}, {"s": "shh"}),
        ({"dependentSchemas": {"s": {"properties": {"s": wrapped}}}}, {"s": "shh"}),
        ({"items": wrapped}, ["shh"]),
        ({"prefixItems": [wrapped]}, ["shh"]),
        ({"contains": wrapped}, ["shh"]),
        ({"unevaluatedItems": wrapped}, ["shh"]),
    ]
    for schema, value in holders:
        if "$defs" in wrapped:
            schema = {**schema, "$defs": wrapped["$defs"]}
        assert "shh" not in json.dumps(redact(value, schema)), schema


def test_doubt_counts_against_showing() -> None:
    assert redact({"passwrod": "p", "user": "u"}, LOGIN) == {"passwrod": REDACTED, "user": "u"}
    assert redact('{"password": "p"}', LOGIN) == REDACTED  # arguments that are a text
    assert redact({"card": "4242"}, LOGIN) == {"card": REDACTED}
    assert redact([{"password": "p"}], LOGIN) == [REDACTED]
    assert redact({"card": None, "user": True}, LOGIN) == {"card": None, "user": True}
    assert redact({"card": {"numbr": "4242"}}, LOGIN) == {"card": {"numbr": REDACTED}}


def test_without_marks_everything_is_shown() -> None:
    value = {"a": [1, {"b": None}], "c": "d"}
    assert redact(value, {"properties": {"a": {"items": True}}}) == value
    assert redact(value, True) == value


def test_recursive_schemas_and_deep_values() -> None:
    schema = {
        "properties": {"kids": {"items": {"$ref": "#"}}, "pin": {"x-secret": True}, "n": {}},
    }
    value: Any = {"pin": "1", "n": 1}
    for _ in range(30):
        value = {"kids": [value], "pin": "secret", "n": 1}
    assert "secret" not in json.dumps(redact(value, schema))
    assert '"n": 1' in json.dumps(redact(value, schema))
    for _ in range(5000):
        value = {"kids": [value], "pin": "secret"}
    shown = redact(value, schema)
    assert shown == REDACTED or "secret" not in repr(shown)
    loop: dict[str, Any] = {"pin": "secret"}
    loop["kids"] = [loop]
    redact(loop, schema)


def test_values_that_are_no_json_do_no_harm() -> None:
    assert redact({1: "a", "password": b"p"}, LOGIN) == {1: REDACTED, "password": REDACTED}
    assert redact({"user": {1, 2}}, LOGIN) == {"user": {1, 2}}


def test_a_secret_never_reaches_a_violation() -> None:
    """Random values of a schema with secrets: no violation quotes the text that marks them."""
    rng = random.Random(1)
    kinds: list[Any] = ["SECRET", ["SECRET"], {"SECRET-": "SECRET"}, "SECRET" * 20, 5]
    schema = {
        **LOGIN,
        "additionalProperties": {"type": "integer"},
        "properties": {
            **LOGIN["properties"],
            "password": {"enum": ["a"], "type": "string", "maxLength": 3, "writeOnly": True},
        },
    }
    checked = Validator(schema)
    for _ in range(200):
        value: Any = {
            name: rng.choice(kinds) for name in rng.sample(["password", "passwrod", "card"], 2)
        }
        if rng.random() < 0.5:
            value = {"card": {"number": "SECRET"}, **value}
        for violation in checked.validate(value):
            if violation.property is None:
                assert "SECRET" not in str(violation), (value, violation)


@pytest.mark.parametrize("keyword", ["additionalProperties", "unevaluatedProperties"])
def test_a_misspelt_secret_is_left_out_where_other_members_are_forbidden(keyword: str) -> None:
    schema = {**LOGIN, keyword: False}
    assert redact({"user": "u", "passwrod": "p"}, schema) == {"user": "u", "passwrod": REDACTED}
    items = {"prefixItems": [{"x-secret": True}], "items": False}
    assert redact(["a", "b"], items) == [REDACTED, REDACTED]
