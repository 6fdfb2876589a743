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
from collections.abc import Callable, Sequence
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


# ---- more, for comparisons: what people ask of a model


def tagged(number: int) -> dict[str, Any]:
    """One of several shapes, told apart by a constant."""
    shapes = {
        f"circle{number}": {"radius": {"type": "number", "minimum": 0}},
        "rectangle": {"width": {"type": "integer"}, "height": {"type": "integer"}},
        "text": {"content": {"type": "string", "maxLength": 200}, "bold": {"type": "boolean"}},
    }
    branches = [closed({"kind": {"const": kind}, **rest}) for kind, rest in shapes.items()]
    return {"type": "array", "items": {"anyOf": branches}, "maxItems": 50}


def formats(number: int) -> dict[str, Any]:
    names = ["date-time", "date", "time", "uuid", "ipv4", "email"]
    listed = {f"{name}{number}": {"type": "string", "format": name} for name in names}
    return closed({**listed, "code": {"type": "string", "pattern": "^[A-Z]{3}-[0-9]{1,6}$"}})


def counted(number: int) -> dict[str, Any]:
    """Bounds on everything that can be counted."""
    return closed(
        {
            f"title{number}": {"type": "string", "minLength": 3, "maxLength": 80},
            "summary": {"type": "string", "maxLength": 1000},
            "ratings": {
                "type": "array",
                "items": {"type": "integer", "minimum": 1, "maximum": 5},
                "minItems": 3,
                "maxItems": 100,
            },
            "percent": {"type": "number", "minimum": 0, "maximum": 100},
        }
    )


def listed(number: int) -> dict[str, Any]:
    """A long list to choose from."""
    codes = [f"{a}{b}-{number}" for a in "ABCDEFGHIJKLMNOP" for b in range(20)]
    return closed({"code": {"enum": codes}, "also": {"type": "array", "items": {"enum": codes}}})


def keyed(number: int) -> dict[str, Any]:
    """Names that the model chooses."""
    entry = closed({"count": {"type": "integer"}, f"unit{number}": {"type": "string"}})
    return {"type": "object", "additionalProperties": entry}


def tagged_instance(number: int) -> object:
    text = {"kind": "text", "content": "as wide as it is high", "bold": False}
    return [
        {"kind": f"circle{number}", "radius": 2.5},
        {"kind": "rectangle", "width": 12, "height": -4},
        text,
        {**text, "content": 'Größe: 3 µm \\ "quoted"'},
    ]


def formats_instance(number: int) -> object:
    values = {
        "date-time": "2026-02-28T23:59:59Z",
        "date": "2024-02-29",
        "time": "08:30:00+02:00",
        "uuid": "123e4567-e89b-12d3-a456-426614174000",
        "ipv4": "192.168.0.254",
        "email": "jo.van.den.berg@example.org",
    }
    return {**{f"{name}{number}": value for name, value in values.items()}, "code": "ABC-1234"}


def counted_instance(number: int) -> object:
    return {
        f"title{number}": "A walk along the harbour, before breakfast",
        "summary": "Gulls, mostly. " * 12,
        "ratings": [5, 4, 4, 3, 5, 1, 2, 5],
        "percent": 87.5,
    }


def listed_instance(number: int) -> object:
    return {"code": f"C7-{number}", "also": [f"A0-{number}", f"P19-{number}", f"H12-{number}"]}


def keyed_instance(number: int) -> object:
    names = ["apples", "pears", "long-grain rice", "crème fraîche"]
    return {name: {"count": i * 7, f"unit{number}": "kg"} for i, name in enumerate(names)}


# With a text for each that must be stopped.
COMPARISON: list[tuple[Case, object]] = [
    (CASES[0], {"name0": "Zoë", "age": 151, "member": True, "role": "writer"}),
    (CASES[1], {"order0": "2026-02-30", "customer": {}, "lines": []}),
    (CASES[2], {"option0": "1"}),
    (CASES[3], {"label0": "root", "children": [{"label0": "leaf"}]}),
    (Case("tagged", tagged, tagged_instance), [{"kind": "rectangle", "radius": 1}]),
    (Case("formats", formats, formats_instance), {"date-time0": "2026-02-28 23:59:59"}),
    (Case("counted", counted, counted_instance), {"title0": "ab"}),
    (Case("listed", listed, listed_instance), {"code": "C20-0", "also": []}),
    (Case("keyed", keyed, keyed_instance), {"apples": {"count": 1.5}}),
]


def comparison_rows(variants: int = 4) -> list[dict[str, Any]]:
    """In the shape of JSONSchemaBench; the first variant of each family has a text to stop."""
    rows = []
    for case, mistake in COMPARISON:
        for number in range(variants):
            tests = [{"data": case.instance(number), "valid": True}]
            if number == 0:
                tests.append({"data": mistake, "valid": False})
            rows.append(
                {"id": f"{case.name} {number}", "schema": case.make(number), "tests": tests}
            )
    return rows


# ---- vocabularies


@functools.cache
def synthetic_tokens(size: int = 32768, seed: int = 7) -> tuple[bytes, ...]:
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
    return tuple(tokens)[: size - 1]


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


def chosen_tokenizer(given: Path | None = None) -> Path:
    """The folder that was given, or else Llama 3's, or else any."""
    folders = tokenizer_folders()
    if given is None and not folders:
        raise SystemExit("no tokenizer: give --tokenizer, or run python tests/assets.py llama3")
    return given or folders.get("llama3") or next(iter(folders.values()))


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
def _index(name: str) -> tuple[dict[bytes, int], int]:
    return index(vocabulary(name).tokens)


def index(tokens: Sequence[bytes | None]) -> tuple[dict[bytes, int], int]:
    """Ids by bytes, the lowest of equals; and the longest token's length."""
    ids = {token: i for i, token in reversed([*enumerate(tokens)]) if token}
    return ids, max(map(len, ids))


def longest_first(ids: dict[bytes, int], longest: int, text: bytes) -> list[int]:
    """The text as ids, longest token first."""
    out, at = [], 0
    while at < len(text):
        sizes = range(min(longest, len(text) - at), 0, -1)
        size = next(size for size in sizes if text[at : at + size] in ids)
        out.append(ids[text[at : at + size]])
        at += size
    return out


def tokenize(name: str, text: bytes) -> list[int]:
    """The text as ids, longest token first: near enough to what a model writes."""
    return longest_first(*_index(name), text)
