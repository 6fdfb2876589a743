"""Random walks on real tokenizers: the fast mask, the general walk, every token and the oracle.

Schemas and patterns whose sentences are bounded are walked to their end, token by token. At every
state the two masks of the core must be equal; at some of them every id is tried, and the oracle
says what it thinks of allowed tokens and of forbidden ones that begin well.
"""

from __future__ import annotations

import functools
import itertools
import json
import os
import random
from typing import Any

import numpy as np
import pytest

import assets
import gramlock
from chart import Chart, ChartOracle
from oracle import Tokens
from roads import fill, fill_by_walk

pytestmark = pytest.mark.tokenizer

NAMES = ["smollm2", "llama3", "mistral-v1"]

SCHEMAS: dict[str, Any] = {
    "record": {
        "type": "object",
        "properties": {
            "name": {"type": "string", "maxLength": 12},
            "age": {"type": "integer", "minimum": 0, "maximum": 130},
            "tags": {"type": "array", "items": {"enum": ["new", "old", "nice"]}, "maxItems": 3},
            "address": {
                "type": "object",
                "properties": {"zip": {"type": "string", "pattern": "^[0-9]{5}$"}},
                "required": ["zip"],
                "additionalProperties": False,
            },
        },
        "required": ["name", "tags"],
        "additionalProperties": False,
    },
    "free keys": {
        "type": "object",
        "properties": {"a": {"type": "boolean"}, "ab": {"type": "null"}},
        "required": ["ab"],
        "additionalProperties": {"enum": [1, 2]},
    },
    "one of several": {
        "anyOf": [
            {"type": "array", "items": {"type": "integer"}, "minItems": 2, "maxItems": 4},
            {"type": "string", "minLength": 2, "maxLength": 4},
            {"type": "null"},
        ]
    },
    "dates": {"type": "array", "items": {"format": "date", "type": "string"}, "maxItems": 2},
    "tree": {
        "$defs": {
            "tree": {
                "type": "object",
                "properties": {
                    "value": {"type": "number"},
                    "left": {"anyOf": [{"type": "null"}, {"$ref": "#/$defs/tree"}]},
                },
                "required": ["value"],
                "additionalProperties": False,
            }
        },
        "$ref": "#/$defs/tree",
    },
    "different items": {
        "type": "array",
        "items": {"enum": ["red", "green", "blue", 1, 2.5]},
        "uniqueItems": True,
        "minItems": 2,
        "maxItems": 4,
    },
    "some items": {
        "type": "array",
        "items": {"enum": ["yes", "no", "maybe"]},
        "contains": {"const": "yes"},
        "maxContains": 2,
        "minItems": 1,
        "maxItems": 4,
    },
    "names that need others": {
        "type": "object",
        "properties": {"a": {"enum": [1, 2]}, "b": {"type": "boolean"}, "c": {"type": "null"}},
        "additionalProperties": False,
        "dependentRequired": {"a": ["b"]},
        "minProperties": 1,
        "not": {"required": ["b", "c"]},
    },
    "if a then b": {
        "type": "object",
        "properties": {
            "kind": {"enum": ["cat", "dog"]},
            "lives": {"type": "integer", "maximum": 9},
        },
        "required": ["kind"],
        "additionalProperties": {"type": "boolean"},
        "maxProperties": 4,
        "if": {"properties": {"kind": {"const": "cat"}}},
        "then": {"required": ["lives"], "properties": {"lives": {"minimum": 1}}},
        "else": {"properties": {"lives": {"const": 1}}},
    },
}
PATTERNS = {
    "date": r"\d{4}-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])",
    "words": r"(?:[a-z]{2,7} ){1,4}[A-Z][a-z]{0,6}[.!?]",
    "no look-alike": r"(?!.*(?:aa|cat))[a-t]{1,12}",
    "any script": r"[\p{L}]{1,5}(?: \p{N}{1,3})?",
}
ROOMY = gramlock.Limits(program_bytes=1 << 30)  # a general walk among items that must differ
CLOSING = [b'"', b"}", b"]"]  # in this order: inside a string the others are text
OPENING = frozenset(b"{[")
GRAMMARS = [*SCHEMAS, *PATTERNS]


def folder(name: str) -> str:
    """A tokenizer's folder; skips where it cannot be fetched, except in CI."""
    try:
        return str(assets.folder(name))
    except assets.AssetError as error:
        if os.environ.get("CI"):
            raise
        pytest.skip(str(error))


@functools.lru_cache(maxsize=3)
def vocabulary(name: str) -> gramlock.Vocabulary:
    return gramlock.Vocabulary.from_huggingface(folder(name))


@functools.lru_cache(maxsize=3)
def tokens(name: str) -> Tokens:
    vocab = vocabulary(name)
    return Tokens(list(vocab.tokens), vocab.end_ids)


def grammar(name: str) -> gramlock.Grammar:
    if name in SCHEMAS:
        return gramlock.Grammar.from_json_schema(SCHEMAS[name])
    return gramlock.Grammar.from_regex(PATTERNS[name])


class Walk:
    """One text being written at random, beside its chart."""

    def __init__(self, tokenizer: str, program: gramlock.Program, seed: int) -> None:
        self.vocab, self.tokens = vocabulary(tokenizer), tokens(tokenizer)
        self.matcher = program.matcher()
        self.text = b""
        self.rng = random.Random(seed)

    def allowed(self) -> set[int]:
        return fill(self.matcher, self.vocab.size)

    def step(self, allowed: set[int], hurry: bool) -> bool:
        """Take a token; False if the text has ended. In a hurry, end where possible."""
        ends = allowed & set(self.vocab.end_ids)
        if ends and (hurry or allowed == ends or self.rng.random() < 0.2):
            assert self.matcher.accept_token(min(ends))
            return False
        token = self.closing(allowed) if hurry else None
        if token is None:
            token = self.rng.choice(sorted(allowed - ends))
        assert self.matcher.accept_token(token)
        self.text += self.vocab.tokens[token] or b""
        return True

    def closing(self, allowed: set[int]) -> int | None:
        """A token that tends to bring the end nearer: closes something, or opens nothing."""
        for token in map(self.vocab.tokens.index, CLOSING):
            if token in allowed:
                return token
        plain = [token for token in allowed if not OPENING.intersection(self.vocab.tokens[token])]
        return self.rng.choice(sorted(plain)) if plain else None


def check_every_token(walk: Walk, allowed: set[int]) -> None:
    """Each id is accepted exactly if its bit is set."""
    matcher = walk.matcher.fork()
    for token in range(walk.vocab.size):
        accepted = matcher.accept_token(token)
        assert accepted == (token in allowed), (walk.text, token, walk.vocab.tokens[token])
        if accepted:
            matcher.rollback(1)
    assert matcher.steps == walk.matcher.steps


def check_sample(walk: Walk, chart: Chart, allowed: set[int], count: int) -> None:
    """The oracle agrees on some allowed tokens and on some that begin like an allowed one."""
    texts = walk.vocab.tokens
    first = {(texts[id] or b"")[:1] for id in allowed}
    some = walk.rng.sample(range(walk.vocab.size), min(100 * count, walk.vocab.size))
    forbidden = [id for id in some if id not in allowed and (texts[id] or b"")[:1] in first]
    for group in (sorted(allowed), forbidden):
        for token in walk.rng.sample(group, min(count, len(group))):
            if token not in walk.vocab.end_ids:
                viable = chart.token(token, texts[token] or b"") is not None
                assert viable == (token in allowed), (walk.text, token, texts[token])
    assert chart.accepted == walk.matcher.can_end()
    assert chart.accepted == bool(allowed & set(walk.vocab.end_ids))


@pytest.mark.parametrize("tokenizer", NAMES)
@pytest.mark.parametrize("name", GRAMMARS)
def test_walks(tokenizer: str, name: str, thorough: bool) -> None:
    program = vocabulary(tokenizer).compile(grammar(name), limits=ROOMY)
    oracle = ChartOracle(program.grammar.dump(), tokens(tokenizer))
    for seed in range(20 if thorough else 2):
        walk = Walk(tokenizer, program, seed)
        for step in itertools.count():
            allowed = walk.allowed()
            assert allowed, ("a dead end", walk.text)
            assert fill_by_walk(walk.matcher, walk.vocab.size) == allowed, walk.text
            chart = oracle.chart(tuple(walk.text))
            check_sample(walk, chart, allowed, 8)
            if thorough or (step == 3 and seed == 0):
                check_every_token(walk, allowed)
            if not walk.step(allowed, hurry=step > 25):
                break
            assert step < 400, walk.text
        assert program.grammar.accepts(walk.text)
        if name in SCHEMAS:
            json.loads(walk.text)


@pytest.mark.parametrize("tokenizer", NAMES)
def test_every_token_by_the_oracle(tokenizer: str, thorough: bool) -> None:
    """The whole mask is the oracle's; 100 states in the long run."""
    states, enough = 0, 34 if thorough else 5
    for name in itertools.cycle(GRAMMARS):
        program = vocabulary(tokenizer).compile(grammar(name), limits=ROOMY)
        oracle = ChartOracle(program.grammar.dump(), tokens(tokenizer))
        walk = Walk(tokenizer, program, 100 + states)
        for _ in range(walk.rng.randrange(1, 12)):
            if not walk.step(walk.allowed(), hurry=False):
                break
        else:
            allowed = walk.allowed()
            assert oracle.mask_of(oracle.chart(tuple(walk.text))) == allowed, walk.text
            check_every_token(walk, allowed)
            states += 1
        if states == enough:
            return


@pytest.mark.parametrize("tokenizer", NAMES)
def test_batches_on_threads(tokenizer: str) -> None:
    """Many rows at once, in the states of as many walks, on one, two and five threads."""
    vocab = vocabulary(tokenizer)
    walks = []
    for seed, name in enumerate(GRAMMARS * 3):
        walk = Walk(tokenizer, vocab.compile(grammar(name), limits=ROOMY), seed)
        for _ in range(seed):
            allowed = walk.allowed() - set(vocab.end_ids)
            if not allowed:
                break
            walk.step(allowed, hurry=False)
        walks.append(walk)
    expected = gramlock.allocate_token_bitmask(len(walks), vocab.size)
    for row, walk in enumerate(walks):
        walk.matcher._fill_by_walk(expected, row)
    for threads in (1, 2, 5):
        bitmask = gramlock.allocate_token_bitmask(len(walks), vocab.size)
        gramlock.fill_next_token_bitmasks(
            [each.matcher for each in walks], bitmask, threads=threads
        )
        assert np.array_equal(bitmask, expected)


def test_a_wrong_bit_is_noticed() -> None:
    walk = Walk("smollm2", vocabulary("smollm2").compile(grammar("record")), 1)
    allowed = walk.allowed()
    wrong = allowed | {walk.vocab.tokens.index(b"a")}
    with pytest.raises(AssertionError):
        check_every_token(walk, wrong)
    oracle = ChartOracle(walk.matcher.program.grammar.dump(), walk.tokens)
    with pytest.raises(AssertionError):
        check_sample(walk, oracle.start, wrong, 10_000)
