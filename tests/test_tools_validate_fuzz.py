"""The tool layer's validator and the grammar of the same schema agree on every value.

Three opinions on random schemas and values: :func:`gramlock.tools.validate` (by its quick way and
by the one that reports), :meth:`gramlock.Grammar.accepts`, and the ``jsonschema`` package as
``validator.py`` corrects it, which shares no keyword with either. If they disagreed, a call that
was repaired until the validator is content could not be one that the grammar writes.
"""

from __future__ import annotations

import json
import random
from decimal import Decimal
from typing import Any

import pytest
import regress

import gramlock
import schema_fuzz
import validator as independent
from gramlock.errors import ToolDefinitionError
from gramlock.schema.formats import FORMATS
from gramlock.tools.patterns import format_matcher, matcher
from gramlock.tools.pointer import from_path, resolve
from gramlock.tools.validator import Validator
from gramlock.tools.violation import Violation

EVERYTHING = {"order": "any", "whitespace": "compact", "numbers": "any", "escapes": "any"}


def is_valid(checked: Validator, value: Any) -> bool:
    """By both ways, which must agree; the violations must be what they promise."""
    found = checked._reported(value)
    quick = checked._quick
    if quick is not None:
        assert quick(value) == (not found), value
    assert checked.validate(value) == found
    assert checked.is_valid(value) == (not found)
    for violation in found:
        is_well_formed(violation, value)
    assert len({(v.pointer, v.rule, v.property, v.expected) for v in found}) == len(found)
    return not found


def is_well_formed(violation: Violation, value: Any) -> None:
    line = str(violation)
    assert line.isprintable()
    assert len(line) < 500
    holder = resolve(value, violation.pointer)
    if violation.property is not None:
        assert isinstance(holder, dict)
    assert from_path(violation.path)[-1:] != (None,)
    assert violation.rule
    assert violation.expected


def decided(seed: int) -> str:
    rng = random.Random(seed)
    schema = schema_fuzz.document(rng)
    values = [schema_fuzz.value(rng) for _ in range(15)]
    try:
        checked = Validator(schema)
    except ToolDefinitionError as error:
        assert "includes itself" in str(error), schema
        try:
            gramlock.Grammar.from_json_schema(schema, **EVERYTHING)
        except gramlock.GrammarError:
            return "circular"
        return "circular where the grammar need not look"
    third = independent.Validator(schema)
    try:
        made = gramlock.Grammar.from_json_schema(schema, **EVERYTHING)
    except gramlock.UnsatisfiableError:
        made = None
    except (gramlock.UnsupportedSchemaError, gramlock.InvalidSchemaError, gramlock.LimitError):
        for value in values:
            assert is_valid(checked, value) == third.is_valid(value), (schema, value)
        return "refused"
    for value in values:
        text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
        valid = is_valid(checked, value)
        assert valid == third.is_valid(value), (schema, text)
        try:
            assert valid == (made is not None and made.accepts(text)), (schema, text)
        except gramlock.LimitError:
            return "refused"
    return "quick" if checked._quick is not None else "reported"


def test_random_schemas(thorough: bool) -> None:
    outcomes = [decided(seed) for seed in range(3000 if thorough else 150)]
    assert outcomes.count("circular where the grammar need not look") < len(outcomes) // 50
    assert outcomes.count("reported") > len(outcomes) // 3
    assert outcomes.count("quick") > len(outcomes) // 20


@pytest.mark.long
@pytest.mark.parametrize("block", range(10))
def test_many_random_schemas(block: int) -> None:
    for seed in range(50_000 + 500 * block, 50_500 + 500 * block):
        decided(seed)


# -- numbers --------------------------------------------------------------------------------------

NUMBERS = "0 1 -1 0.1 0.3 -0.25 2.5 7 12 1e2 1e-3 3e5 0.07 1.10 99999999999999999999 1e30 -3e-7"
BOUNDS = [Decimal(text) for text in NUMBERS.split()]


def a_number(rng: random.Random) -> Any:
    number = rng.choice(BOUNDS)
    if rng.random() < 0.5:
        number += rng.choice([0, 1, Decimal("0.1"), Decimal("1e-9")])
    kind = rng.randrange(3)
    if kind == 0 and number == int(number):
        return int(number)
    as_float = float(number)
    return as_float if kind == 1 and Decimal(repr(as_float)) == number else number


def test_numbers_are_exact(thorough: bool) -> None:
    """Floats, decimals and integers of every size against the grammar's arithmetic."""
    rng = random.Random(3)
    keywords = ["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "const", "multipleOf"]
    count = 0
    for _ in range(600 if thorough else 60):
        schema: dict[str, Any] = {"type": rng.choice(["number", "number", "integer"])}
        for keyword in rng.sample(keywords, rng.randrange(1, 3)):
            schema[keyword] = abs(a_number(rng)) or 1 if keyword == "multipleOf" else a_number(rng)
        checked = Validator(schema)
        try:
            made = gramlock.Grammar.from_json_schema(schema, **EVERYTHING)
        except gramlock.UnsatisfiableError:
            made = None
        except (gramlock.UnsupportedSchemaError, gramlock.LimitError):
            continue
        for _ in range(20):
            value = a_number(rng)
            text = independent.spelled(value)
            valid = is_valid(checked, value)
            assert valid == (made is not None and made.accepts(text)), (schema, text)
            count += valid
    assert count > 50


# -- patterns -------------------------------------------------------------------------------------

ATOMS = ["a", "b", "[ab]", "[^a]", ".", "\\d", "\\w", "\\s", "(?:ab)", "(?:a|b)", "\\b", "é", "😀"]
ATOMS += ["\\p{L}", "[\\s\\S]", "\\u{61}", "\\.", "(?=a)", "(?!b)", "(?<=a)", "\\-"]
COUNTS = ["", "", "", "*", "+", "?", "{2}", "{1,3}", "{2,}", "*?"]
TEXTS = ["", "a", "b", "ab", "aab", "ba", "b\n", "\n", "1", "é", "😀", "a b", "\u0661", "a.b", "-"]


def a_pattern(rng: random.Random, depth: int = 2) -> str:
    parts = []
    for _ in range(rng.randrange(1, 4)):
        inner = depth and rng.random() < 0.3
        atom = f"({a_pattern(rng, depth - 1)})" if inner else rng.choice(ATOMS)
        assertion = atom in ("\\b",) or atom.startswith(("(?=", "(?!", "(?<"))
        parts.append(atom + ("" if assertion else rng.choice(COUNTS)))
    text = "".join(parts)
    if rng.random() < 0.2:
        text += "|" + rng.choice(ATOMS)
    return rng.choice(["", "", "^"]) + text + rng.choice(["", "", "$"])


def test_patterns_are_those_of_ecma_262(thorough: bool) -> None:
    """A matcher, the engine that it prefers, and the grammar that would write the text."""
    rng = random.Random(4)
    compared = 0
    for _ in range(3000 if thorough else 250):
        pattern = a_pattern(rng)
        try:
            search = matcher(pattern)
        except (gramlock.GrammarError, gramlock.LimitError):
            continue
        try:
            native = regress.Regex(pattern, "u").find
        except regress.RegressError:
            native = None
        made = Validator({"pattern": pattern})
        for text in rng.sample(TEXTS, 6):
            verdict = search(text)
            if native is not None:
                assert verdict == (native(text) is not None), (pattern, text)
                compared += 1
            long = text + " " * 1200  # past what the backtracking engine is given
            if native is not None and len(pattern) < 8:
                assert search(long) == (native(long) is not None), (pattern, text)
            assert is_valid(made, text) == verdict
    assert compared > 500


# -- formats --------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", sorted(FORMATS))
def test_what_the_grammar_writes_has_its_format(name: str, thorough: bool) -> None:
    schema = {"type": "string", "format": name}
    made = gramlock.Grammar.from_json_schema(schema, whitespace="compact")
    checked = Validator(schema)
    search = format_matcher(name)
    assert search is not None
    rng = random.Random(6)
    same = FORMATS[name].gap is None
    for seed in range(40 if thorough else 8):
        text = json.loads(made.sample(seed, soft_limit=40))
        assert is_valid(checked, text), text
        for _ in range(5):
            at = rng.randrange(len(text) + 1)
            other = text[:at] + rng.choice("a0:-.@/é%{") + text[at + rng.randrange(2) :]
            written = made.accepts(json.dumps(other, ensure_ascii=False))
            assert is_valid(checked, other) == written or (not same and not written), other
