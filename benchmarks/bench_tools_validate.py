"""What does it cost to validate a call: valid, refused with its report, in a tagged union?

Next to it the ``jsonschema`` package by itself, which says less and is wrong about decimals and
patterns, on the same valid call; the reading of a schema; a digest. The bar is 0.1 ms for a small
call.
"""

from __future__ import annotations

from typing import Any

import jsonschema
import pytest

from gramlock.tools.canonical import digest
from gramlock.tools.validator import Validator

REFUND = {
    "type": "object",
    "properties": {
        "order_id": {"type": "string", "pattern": "^A-[0-9]+$"},
        "amount_cents": {"type": "integer", "minimum": 1},
        "reason": {"enum": ["duplicate", "damaged", "other"]},
        "on": {"type": "string", "format": "date"},
    },
    "required": ["order_id", "amount_cents", "reason"],
    "additionalProperties": False,
}
GOOD = {"order_id": "A-1", "amount_cents": 5000, "reason": "duplicate", "on": "2024-02-29"}
BAD = {"order_id": "A-1", "amount_cents": "5000"}


def branch(kind: str, **members: Any) -> dict[str, Any]:
    properties = {"kind": {"const": kind}, **members}
    return {"type": "object", "properties": properties, "required": [*properties]}


UNION = {
    "oneOf": [
        branch("proposal", ticket={"type": "string"}, assignee={"type": "string"}),
        branch("needs_input", fields={"type": "array", "items": {"type": "string"}, "minItems": 1}),
        branch("unknown", why={"type": "string"}),
    ],
    "unevaluatedProperties": False,
}


def test_a_valid_call(benchmark: Any) -> None:
    benchmark.group = "validation"
    assert benchmark(Validator(REFUND).validate, GOOD) == []


def test_a_refused_call_with_its_report(benchmark: Any) -> None:
    benchmark.group = "validation"
    assert len(benchmark(Validator(REFUND).validate, BAD)) == 2


@pytest.mark.parametrize("fields", [["a"], []], ids=["valid", "refused"])
def test_a_union_by_its_tag(benchmark: Any, fields: list[str]) -> None:
    benchmark.group = "validation"
    value = {"kind": "needs_input", "fields": fields}
    assert bool(benchmark(Validator(UNION).validate, value)) == (not fields)


def test_the_package_by_itself(benchmark: Any) -> None:
    benchmark.group = "validation"
    plain = jsonschema.Draft202012Validator(REFUND, format_checker=jsonschema.FormatChecker())
    assert benchmark(lambda: list(plain.iter_errors(GOOD))) == []


def test_reading_a_schema(benchmark: Any) -> None:
    benchmark.group = "validation, once a tool"
    benchmark(Validator, REFUND)


def test_a_digest(benchmark: Any) -> None:
    benchmark.group = "validation"
    assert len(benchmark(digest, GOOD)) == 64
