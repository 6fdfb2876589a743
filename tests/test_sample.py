"""``Grammar.sample`` and ``Grammar.accepts``: what is drawn from a grammar is a sentence of it."""

from __future__ import annotations

import itertools
import json
import re

import pytest

import gramlock
from chart import ChartOracle
from gramlock import Grammar
from grammars import BY_HAND, build, grammar, random_spec
from oracle import TOKEN, symbols

SHORT = gramlock.Limits(sample_bytes=400)
WITH_TOKENS = ("token inside", "dead branches")  # a sample leaves out what is no text


def sample(made: Grammar, seed: int) -> bytes | None:
    """A sentence, or None where the walk strayed too far to end."""
    try:
        return made.sample(seed, soft_limit=20)
    except gramlock.LimitError as error:
        assert error.budget == "sample_bytes"
        return None


@pytest.mark.parametrize("name", [name for name in BY_HAND if name not in WITH_TOKENS])
def test_samples_are_sentences(name: str) -> None:
    made = Grammar(build(BY_HAND[name]), limits=SHORT)
    oracle = ChartOracle(BY_HAND[name].dump())
    texts = [text for text in (sample(made, seed) for seed in range(10)) if text is not None]
    for text in texts:
        assert oracle.accepts(tuple(text)), text
        assert made.accepts(text)
    assert texts or name == "a hundred"


@pytest.mark.parametrize("seed", range(60))
def test_random_grammars(seed: int) -> None:
    """``accepts`` is the oracle's verdict on all short texts, and samples pass both."""
    spec = random_spec(seed, b"ab")
    oracle = ChartOracle(spec.dump())
    made = Grammar(build(spec), limits=SHORT)
    if not oracle.start.is_viable:
        with pytest.raises(gramlock.UnsatisfiableError):
            made.accepts(b"")
        return
    for length in range(4):
        for short in itertools.product(b'ab"{', repeat=length):
            assert made.accepts(bytes(short)) == oracle.accepts(short), short
    for number in range(3):
        text = sample(made, number)
        assert text is None or oracle.accepts(tuple(text)), text


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "object", "required": ["a"], "dependentRequired": {"c": ["c"]}},
        {"type": "object", "required": ["abc", "b"], "minProperties": 3},
        {"type": "array", "contains": {"const": "needle"}},
        {"type": "array", "contains": {"const": 3}, "minContains": 2},
        {"type": "array", "items": {"enum": [1, 2, 3]}, "uniqueItems": True, "minItems": 3},
    ],
)
def test_what_is_needed_for_an_end_is_found_soon(schema: dict[str, object]) -> None:
    for layout in ({}, {"indent": 2}):
        made = Grammar.from_json_schema(schema, order="any", **layout)
        for seed in range(15):
            text = made.sample(seed, soft_limit=30)
            assert len(text) < 1000
            assert made.accepts(text)


def test_a_seed_is_a_sentence() -> None:
    made = Grammar.from_regex("[a-z]{3,9}")
    assert made.sample(7) == made.sample(7)
    assert len({made.sample(seed) for seed in range(20)}) > 10


def test_samples_of_patterns_match_them() -> None:
    for pattern in (r"\d{3}-[A-F]+", r"(?:ab|c)*d?", r"[^x]{2,5}", r"(?!aa)[ab]{2}"):
        made = Grammar.from_regex(pattern)
        for seed in range(20):
            text = made.sample(seed).decode()
            assert re.fullmatch(pattern.replace(r"\d", "[0-9]"), text, re.DOTALL), text


def test_samples_of_schemas_parse() -> None:
    schema = {
        "type": "object",
        "properties": {"n": {"type": "integer"}, "s": {"type": "string"}},
        "required": ["n"],
    }
    made = Grammar.from_json_schema(schema)
    for seed in range(30):
        value = json.loads(made.sample(seed))
        assert isinstance(value["n"], int)
        assert isinstance(value.get("s", ""), str)


def test_a_sentence_that_does_not_end_is_a_limit() -> None:
    spec = grammar(
        lambda g: g.sequence(g.repetition(g.terminal(b"a"), 5000, None), g.terminal(b"b"))
    )
    made = Grammar(build(spec), limits=gramlock.Limits(sample_bytes=1000))
    with pytest.raises(gramlock.LimitError) as caught:
        made.sample(1)
    assert caught.value.budget == "sample_bytes"


def test_accepts_takes_text_bytes_and_lists_with_tokens() -> None:
    spec = grammar(lambda g: g.sequence(g.terminal(b"a"), g.tokens(3, 5), g.terminal("é".encode())))
    made = Grammar(build(spec))
    oracle = ChartOracle(spec.dump())
    assert oracle.accepts(symbols([b"a", 3, "é".encode()]))
    assert made.accepts([b"a", 3, "é".encode()])
    assert made.accepts([b"a", 5, b"\xc3", b"\xa9"])
    for wrong in ([b"a", "é".encode()], [b"a", 4, "é".encode()], [b"a", 3], [b"a", -1], [97]):
        assert not made.accepts(wrong), wrong
    assert not made.accepts([b"a", TOKEN + ord("a"), "é".encode()]), "ids of bytes stay inside"
    accents = Grammar.from_choices(["é", "e"])
    assert accents.accepts("é")
    assert accents.accepts("é".encode())
    assert not accents.accepts(b"\xc3")
