"""Masks next to llguidance's, bit for bit, under schemas that mean the same texts to both.

What the engines agree on is narrow: white space off, one spelling for constants and names, members
in the declared order. Left out are free strings (this engine lets every escape through, llguidance
a few) and free names. Two engines that share no code and agree on every bit of every mask, along
given texts and along random walks over whatever is allowed, are hard to get wrong together.
"""

from __future__ import annotations

import functools
import json
import os
import random
from typing import Any, NamedTuple

import numpy as np
import pytest

import assets
import gramlock

llguidance = pytest.importorskip("llguidance", reason="needs llguidance (the extra compare)")
transformers = pytest.importorskip("transformers")

from llguidance.hf import from_tokenizer  # noqa: E402
from llguidance.numpy import fill_next_token_bitmask  # noqa: E402

pytestmark = pytest.mark.tokenizer

VOCABULARIES = ["llama3", "mistral-v3", "smollm2"]
PEER_STYLE = {"whitespace_flexible": False, "item_separator": ",", "key_separator": ":"}
# Where text is forced, llguidance by default leaves only the token that its tokenizer writes.
WHOLE_MASKS = '%llguidance {"no_forcing": true}'
Schema = dict[str, Any]


def closed(properties: Schema, *, optional: str = "") -> Schema:
    """An object without free names."""
    return {
        "type": "object",
        "properties": properties,
        "required": [name for name in properties if name not in optional.split()],
        "additionalProperties": False,
    }


INTEGER: Schema = {"type": "integer"}
BOOLEAN: Schema = {"type": "boolean"}
UNIT: Schema = {"enum": ["kg", "g", "lb", "oz", "gram", "kilogram"]}
LINE = closed({"unit": UNIT, "count": {"type": "integer", "minimum": 1, "maximum": 300}})
NODE = closed({"value": INTEGER, "next": {"anyOf": [{"type": "null"}, {"$ref": "#/$defs/node"}]}})

CASES: dict[str, tuple[Schema, list[Any]]] = {
    "integer": (INTEGER, [0, -7, 41, 123456789012345678901234567890]),
    "range": ({"type": "integer", "minimum": -120, "maximum": 4096}, [-120, -8, 0, 99, 4096]),
    "number": ({"type": "number"}, [0, -1.5, 1e30, 2.5e-07, 100]),
    "boolean": (BOOLEAN, [True, False]),
    "scalars": ({"type": ["integer", "boolean", "null"]}, [12, True, None]),
    "enum": (
        {"enum": ["red", "red-hot", "green", 'a "quoted" one', "back\\slash", "", 12, 1.5, None]},
        ["red", "red-hot", 'a "quoted" one', "back\\slash", "", 12, 1.5, None],
    ),
    "const": (
        {"const": {"kind": "refund", "tags": [1, "two", None, True], "deep": {"er": {}}}},
        [{"kind": "refund", "tags": [1, "two", None, True], "deep": {"er": {}}}],
    ),
    "flat": (
        closed({"id": INTEGER, "identity": BOOLEAN, "unit": UNIT, "none": {"type": "null"}}),
        [{"id": 7, "identity": True, "unit": "kilogram", "none": None}],
    ),
    "optional": (
        closed({"a": INTEGER, "ab": BOOLEAN, "abc": UNIT, "b": INTEGER}, optional="a abc b"),
        [{"ab": True}, {"a": 1, "ab": False, "b": 2}, {"ab": True, "abc": "g", "b": -3}],
    ),
    "all optional": (
        closed({"a": INTEGER, "ab": BOOLEAN, "abc": UNIT}, optional="a ab abc"),
        [{}, {"a": 1}, {"ab": False}, {"a": 0, "abc": "lb"}],
    ),
    "array": ({"type": "array", "items": UNIT}, [[], ["kg"], ["g", "gram", "oz", "g"]]),
    "bounded array": (
        {"type": "array", "items": INTEGER, "minItems": 2, "maxItems": 5},
        [[1, 2], [10, -20, 30], [0, 0, 0, 0, 0]],
    ),
    "tuple": (
        {"type": "array", "prefixItems": [INTEGER, UNIT], "items": BOOLEAN, "minItems": 2},
        [[1, "kg"], [-1, "oz", True], [0, "g", True, False]],
    ),
    "matrix": (
        {"type": "array", "items": {"type": "array", "items": INTEGER}, "maxItems": 3},
        [[], [[]], [[1, 2], [], [3, 4, 5]]],
    ),
    "nested": (
        closed(
            {
                "order": closed({"paid": BOOLEAN, "total": {"type": "integer", "minimum": 0}}),
                "lines": {"type": "array", "items": LINE, "minItems": 1, "maxItems": 4},
                "note": {"const": "end"},
            }
        ),
        [
            {
                "order": {"paid": True, "total": 1999},
                "lines": [{"unit": "kg", "count": 12}, {"unit": "gram", "count": 300}],
                "note": "end",
            }
        ],
    ),
    "either": (
        {
            "anyOf": [
                closed({"kind": {"const": "a"}, "n": INTEGER}),
                {"type": "array", "items": UNIT},
            ]
        },
        [{"kind": "a", "n": 3}, ["kg", "lb"]],
    ),
    "recursive": (
        {"$ref": "#/$defs/node", "$defs": {"node": NODE}},
        [{"value": 1, "next": {"value": 2, "next": {"value": 3, "next": None}}}],
    ),
}


class Engines(NamedTuple):
    """A tokenizer as both engines see it."""

    tokenizer: Any
    own: gramlock.Vocabulary
    peer: Any


@functools.cache
def engines(name: str) -> Engines:
    """Both with the tokenizer's one end token; skips where the tokenizer cannot be fetched."""
    try:
        folder = assets.folder(name)
    except assets.AssetError as error:
        if os.environ.get("CI"):
            raise
        pytest.skip(str(error))
    tokenizer = transformers.PreTrainedTokenizerFast.from_pretrained(folder)
    own = gramlock.Vocabulary.from_huggingface(tokenizer, end_ids=[tokenizer.eos_token_id])
    return Engines(tokenizer, own, from_tokenizer(tokenizer))


class Pair:
    """One schema in both engines, at the same place of the same text."""

    def __init__(self, name: str, schema: Schema) -> None:
        self.engines = engines(name)
        self.own = self.engines.own.compile(schema, whitespace="compact").matcher()
        source = json.dumps({**schema, "x-guidance": PEER_STYLE})
        self.peer = llguidance.LLMatcher(self.engines.peer, f"{WHOLE_MASKS}\nstart: %json {source}")
        assert not self.peer.is_error(), self.peer.get_error()
        size = max(self.engines.own.size, self.engines.peer.vocab_size)
        self.masks = [gramlock.allocate_token_bitmask(1, size) for _ in range(2)]

    def restart(self) -> None:
        self.own.reset()
        self.peer.reset()

    def allowed(self) -> list[int]:
        """What both allow; fails if they differ, with the tokens in question."""
        own, peer = self.masks
        own.fill(0)
        peer.fill(0)
        self.own.fill_next_token_bitmask(own)
        fill_next_token_bitmask(self.peer, peer, 0)
        if not np.array_equal(own, peer):
            texts = {
                title: [self.engines.own.tokens[i] for i in ids_of(mask)[:20]]
                for title, mask in (("only here", own & ~peer), ("only there", peer & ~own))
            }
            pytest.fail(f"masks differ: {texts}")
        return ids_of(own)

    def accept(self, token: int) -> None:
        assert self.own.accept_token(token)
        assert self.peer.consume_token(token)


def ids_of(mask: np.ndarray[Any, Any]) -> list[int]:
    return [int(i) for i in np.flatnonzero(np.unpackbits(mask.view(np.uint8), bitorder="little"))]


def split(engines: Engines, data: bytes, allowed: list[int], chance: random.Random) -> int:
    """One of the allowed tokens with which the text goes on."""
    tokens = engines.own.tokens
    fitting = [i for i in allowed if tokens[i] and data.startswith(tokens[i] or b"")]
    assert fitting, f"no token for {data!r}"
    return chance.choice(fitting)


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("name", VOCABULARIES)
def test_masks_along_instances(name: str, case: str) -> None:
    """As the tokenizer writes each instance, then cut at random."""
    schema, instances = CASES[case]
    pair, chance = Pair(name, schema), random.Random(case)
    end = pair.engines.tokenizer.eos_token_id
    for instance in instances:
        data = json.dumps(instance, separators=(",", ":")).encode()
        pair.restart()
        ids = tokenized(pair.engines, data)
        for token in ids:
            assert token in pair.allowed()
            pair.accept(token)
        assert not ids or end in pair.allowed()
        pair.restart()
        while data:
            token = split(pair.engines, data, pair.allowed(), chance)
            pair.accept(token)
            data = data.removeprefix(pair.engines.own.tokens[token] or b"")
        assert end in pair.allowed()


def tokenized(engines: Engines, data: bytes) -> list[int]:
    """The tokenizer's own ids, if put together they are this text and no blank before it."""
    ids = engines.tokenizer.encode(data.decode(), add_special_tokens=False)
    tokens = [engines.own.tokens[i] or b"" for i in ids]
    return list(ids) if b"".join(tokens) == data else []


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("name", VOCABULARIES)
def test_masks_along_random_walks(name: str, case: str, thorough: bool) -> None:
    """Whatever is allowed may be taken, also what no tokenizer writes."""
    pair, chance = Pair(name, CASES[case][0]), random.Random(case)
    end = pair.engines.tokenizer.eos_token_id
    for _ in range(40 if thorough else 4):
        pair.restart()
        for _ in range(60):
            token = chance.choice(pair.allowed())
            if token == end:
                break
            pair.accept(token)
