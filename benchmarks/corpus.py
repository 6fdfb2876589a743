"""What the benchmarks run on: schemas with an instance each, vocabularies, tokenised texts.

Schemas are functions of a number that ends up in a property's name: a compiler may remember what
it has compiled, and ``make(0)``, ``make(1)``, ... are schemas it has not seen.

Vocabularies: ``synthetic`` is made here and always there. Real tokenizers join it: those in
``$GRAMLOCK_TOKENIZERS`` (a folder of folders, each with a ``tokenizer.json``), or else the ones of
REAL that tests/assets.py has fetched.
"""

from __future__ import annotations

import functools
import json
import os
import random
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import gramlock


@dataclass(frozen=True)
class Case:
    """A family of schemas, and a sentence for each."""

    name: str
    make: Callable[[int], dict[str, Any]]
    instance: Callable[[int], object]

    def text(self, number: int) -> bytes:
        return json.dumps(self.instance(number), ensure_ascii=False).encode()


def closed(properties: dict[str, Any]) -> dict[str, Any]:
    """An object schema in which every property is required and no other allowed."""
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def flat(number: int) -> dict[str, Any]:
    return closed(
        {
            f"name{number}": {"type": "string"},
            "age": {"type": "integer", "minimum": 0, "maximum": 150},
            "member": {"type": "boolean"},
            "role": {"enum": ["reader", "writer", "owner"]},
        }
    )


def nested(number: int) -> dict[str, Any]:
    line = closed(
        {
            "sku": {"type": "string", "pattern": "^[A-Z]{2}-[0-9]{4}$"},
            "quantity": {"type": "integer", "minimum": 1, "maximum": 99},
            "price": {"type": "number", "minimum": 0},
        }
    )
    customer = closed(
        {
            "name": {"type": "string", "minLength": 1, "maxLength": 60},
            "email": {"type": "string", "format": "email"},
        }
    )
    return closed(
        {
            f"order{number}": {"type": "string", "format": "date"},
            "customer": customer,
            "lines": {"type": "array", "items": line, "minItems": 1, "maxItems": 20},
        }
    )


def optional(number: int) -> dict[str, Any]:
    """Sixty optional properties and free ones: the shape that multiplies states elsewhere."""
    properties: dict[str, Any] = {f"option{i}": {"type": ["integer", "null"]} for i in range(60)}
    properties[f"last{number}"] = {"type": "string"}
    return {"type": "object", "properties": properties}


def recursive(number: int) -> dict[str, Any]:
    node = closed({f"label{number}": {"type": "string"}, "children": {"type": "array"}})
    node["properties"]["children"]["items"] = {"$ref": "#/$defs/node"}
    return {"$defs": {"node": node}, "$ref": "#/$defs/node"}


def flat_instance(number: int) -> object:
    return {f"name{number}": "Zoë Ångström", "age": 41, "member": True, "role": "writer"}


def nested_instance(number: int) -> object:
    lines = [{"sku": f"AB-{i:04}", "quantity": i + 1, "price": 1.25 * i} for i in range(8)]
    customer = {"name": "Jo van den Berg", "email": "jo@example.org"}
    return {f"order{number}": "2026-02-28", "customer": customer, "lines": lines}


def optional_instance(number: int) -> object:
    some = {f"option{i}": i for i in range(0, 60, 4)}
    return {**some, f"last{number}": "line one\nline two", "extra": [1, 2, {"deep": None}]}


def recursive_instance(number: int) -> object:
    label = f"label{number}"
    leaves = [{label: f"leaf {i}", "children": []} for i in range(5)]
    return {label: "root", "children": [{label: "branch", "children": leaves}] * 2}


CASES = [
    Case("flat", flat, flat_instance),
    Case("nested", nested, nested_instance),
    Case("optional", optional, optional_instance),
    Case("recursive", recursive, recursive_instance),
]


# ---- vocabularies


def synthetic_tokens(size: int = 32768, seed: int = 7) -> list[bytes]:
    """All bytes, JSON's usual runs, then pseudo-words with and without a leading space."""
    chance = random.Random(seed)
    punctuation = ['{"', '":', '": ', '", "', '",', '"}', "},", "}]", "[{", "[]", "\\n", "\\u00"]
    tokens = dict.fromkeys(bytes([byte]) for byte in range(256))
    tokens.update(dict.fromkeys(text.encode() for text in punctuation))
    tokens.update(dict.fromkeys(b"%d" % number for number in range(1000)))
    syllables = [a + b for a in "bcdfghjklmnprstvwz" for b in "aeiouäé"]
    while len(tokens) < size - 1:
        word = "".join(chance.choice(syllables) for _ in range(chance.randint(1, 4)))
        tokens[(chance.choice(["", " ", ' "', "_"]) + word).encode()] = None
    return [*tokens][: size - 1]


def synthetic() -> gramlock.Vocabulary:
    tokens = synthetic_tokens()
    return gramlock.Vocabulary.from_tokens([*tokens, None], end_ids=[len(tokens)])


REAL = ("llama3", "mistral-v3", "smollm2")


def tokenizer_folders() -> dict[str, Path]:
    """Real tokenizers by name."""
    given = os.environ.get("GRAMLOCK_TOKENIZERS")
    cache = Path(os.environ.get("GRAMLOCK_CACHE") or Path.home() / ".cache" / "gramlock")
    root = Path(given) if given else cache / "tokenizers"
    folders = [path.parent for path in sorted(root.glob("*/tokenizer.json"))]
    return {path.name: path for path in folders if given or path.name in REAL}


def load_tokenizer(folder: Path) -> Any:
    from transformers import PreTrainedTokenizerFast

    return PreTrainedTokenizerFast.from_pretrained(folder)


VOCABULARIES = ["synthetic", *tokenizer_folders()]


@functools.cache
def vocabulary(name: str) -> gramlock.Vocabulary:
    """The vocabulary of that name, built once."""
    if name == "synthetic":
        return synthetic()
    return gramlock.Vocabulary.from_huggingface(load_tokenizer(tokenizer_folders()[name]))


@functools.cache
def _ids(name: str) -> tuple[dict[bytes, int], int]:
    tokens = vocabulary(name).tokens
    ids = {token: i for i, token in reversed([*enumerate(tokens)]) if token}
    return ids, max(map(len, ids))


def tokenize(name: str, text: bytes) -> list[int]:
    """The text as ids, longest token first: near enough to what a model writes."""
    ids, longest = _ids(name)
    out, at = [], 0
    while at < len(text):
        sizes = range(min(longest, len(text) - at), 0, -1)
        size = next(size for size in sizes if text[at : at + size] in ids)
        out.append(ids[text[at : at + size]])
        at += size
    return out
