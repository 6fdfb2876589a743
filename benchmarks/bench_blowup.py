"""Do conditions of size k cost k, k², or 2^k?

For each family of schemas and k = 1, 2, 4, 8, 16: the time from schema to first mask (of the
thread, so that other work on the machine counts little), the sizes of the grammar and the program,
and the states that writing a document with all names takes; and the exponent with which each grows
from k = 4 on. The last families may end in a limit, which is then what the table says: k conditions
on one value can mean 2^k sets of values.

    python -m benchmarks.bench_blowup            the table
    python -m benchmarks.run -k blowup           the times, beside those of the other benchmarks

tests/test_blowup.py asserts the sizes.
"""

from __future__ import annotations

import itertools
import json
import math
import re
import statistics
import time
from collections.abc import Callable
from typing import Any

import pytest

import gramlock

Schema = dict[str, Any]
SIZES = (1, 2, 4, 8, 16)
ROUNDS = 5


def names(count: int) -> list[str]:
    return [f"n{i}" for i in range(count)]


def integers(every: list[str]) -> Schema:
    return {name: {"type": "integer"} for name in every}


def chain(k: int) -> Schema:
    """Each name requires the next."""
    every = names(k + 1)
    needs = {one: [other] for one, other in itertools.pairwise(every)}
    return {"properties": integers(every), "dependentRequired": needs}


def not_both(k: int) -> Schema:
    """k pairs of names that exclude each other."""
    pairs = zip(names(2 * k)[::2], names(2 * k)[1::2], strict=True)
    return {
        "properties": integers(names(2 * k)),
        "allOf": [{"not": {"required": list(pair)}} for pair in pairs],
    }


def any_required(k: int) -> Schema:
    """One of k names, or of k pairs of names."""
    every = names(k + 1)
    return {
        "properties": integers(every),
        "anyOf": [{"required": [one, other]} for one, other in itertools.pairwise(every)],
    }


def conditions(k: int) -> Schema:
    """k conditions that have nothing to do with each other."""
    return {
        "allOf": [
            {
                "if": {"properties": {f"a{i}": {"const": 1}}, "required": [f"a{i}"]},
                "then": {"required": [f"b{i}"]},
                "else": {"properties": {f"c{i}": {"type": "string"}}},
            }
            for i in range(k)
        ]
    }


def unevaluated(k: int) -> Schema:
    """k branches that may each say something about a name, and no other names."""
    branches = [
        {"properties": {name: {"type": "integer"}}, "required": [name]} for name in names(k)
    ]
    return {"anyOf": branches, "unevaluatedProperties": False}


def not_any(k: int) -> Schema:
    """None of k conditions on members."""
    return {"not": {"anyOf": [{"properties": {n: {"type": "string"}}} for n in names(k)]}}


def patterns(k: int) -> Schema:
    """k patterns that overlap."""
    shapes = {f"^.*{chr(97 + i)}": {"minimum": i} for i in range(k)}
    return {"patternProperties": shapes, "additionalProperties": False}


def contains(k: int) -> Schema:
    """An array with k kinds of items at least."""
    return {"allOf": [{"contains": {"multipleOf": i + 2}} for i in range(k)], "type": "array"}


FAMILIES: dict[str, Callable[[int], Schema]] = {
    "dependentRequired, a chain": chain,
    "not both of k pairs": not_both,
    "anyOf of required": any_required,
    "independent ifs": conditions,
    "anyOf, unevaluatedProperties": unevaluated,
    "not of anyOf": not_any,
}
REACHED: dict[str, Callable[[int], Schema]] = {
    "overlapping patterns": patterns,
    "contains, k times": contains,
}
EVERY = {**FAMILIES, **REACHED}


def grammar_of(schema: Schema) -> gramlock.Grammar:
    return gramlock.Grammar.from_json_schema({"type": "object", **schema}, order="any")


def bytes_only() -> gramlock.Vocabulary:
    """A vocabulary that no earlier compilation has warmed."""
    return gramlock.Vocabulary.from_tokens([*(bytes([b]) for b in range(256)), None], end_ids=[256])


def first_mask(vocabulary: gramlock.Vocabulary, schema: Schema) -> gramlock.Program:
    """All that stands between a schema and its first mask."""
    program = vocabulary.compile(grammar_of(schema))
    bitmask = gramlock.allocate_token_bitmask(1, vocabulary.size)
    program.matcher().fill_next_token_bitmask(bitmask)
    return program


def members(schema: Schema) -> list[bytes]:
    """Parts of a document that has every name of the schema; for arrays numbers."""
    if schema.get("type") == "array":
        return [b"%d," % number for number in range(2, 40)]
    listed = dict.fromkeys(re.findall(r'"([abcn]\d+)"', json.dumps(schema)))
    return [b'"%s":1,' % name.encode() for name in listed]


def write(matcher: gramlock.Matcher, text: bytes, bitmask: Any) -> None:
    """Byte by byte, each with its mask; takes back all of it if some byte is refused."""
    for count, byte in enumerate(text):
        if not matcher.accept_token(byte):
            matcher.rollback(count)
            return
        matcher.fill_next_token_bitmask(bitmask)


def words(item: Any) -> int:
    """How much there is of a dump: its numbers, names and flags."""
    if isinstance(item, dict):
        return sum(words(key) + words(value) for key, value in item.items())
    if isinstance(item, list | tuple):
        return sum(map(words, item))
    return 1


def sizes(schema: Schema) -> dict[str, int]:
    """Words of the grammar's nodes, bytes of the program, states of a document."""
    vocabulary = bytes_only()
    program = first_mask(vocabulary, schema)
    found = {
        "grammar": words(program.grammar.dump()["nodes"]),
        "program": program.stats()["bytes"],
    }
    matcher, bitmask = program.matcher(), gramlock.allocate_token_bitmask(1, vocabulary.size)
    write(matcher, b"[" if schema.get("type") == "array" else b"{", bitmask)
    for member in members(schema):
        write(matcher, member, bitmask)
    return {**found, "states": program.stats()["configurations"]}


def seconds(schema: Schema) -> float:
    """The thread's time from a schema to its first mask: the median of a few."""
    vocabulary, times = bytes_only(), []
    for _ in range(ROUNDS):
        begin = time.thread_time()
        first_mask(vocabulary, schema)
        times.append(time.thread_time() - begin)
    return statistics.median(times)


def exponent(figures: dict[int, float]) -> float:
    """The power of k with which figures grow: the slope of their logarithms, least squares."""
    points = [(math.log(k), math.log(value)) for k, value in figures.items() if value > 0]
    mean_x = statistics.fmean(x for x, _ in points)
    mean_y = statistics.fmean(y for _, y in points)
    over = sum((x - mean_x) * (y - mean_y) for x, y in points)
    return over / sum((x - mean_x) ** 2 for x, _ in points)


@pytest.mark.parametrize("k", SIZES)
@pytest.mark.parametrize("name", FAMILIES)
def test_blowup(benchmark: Any, name: str, k: int) -> None:
    benchmark.group = f"compile + first mask, {name}"
    benchmark.pedantic(first_mask, (bytes_only(), FAMILIES[name](k)), rounds=10, warmup_rounds=1)


def figures(make: Callable[[int], Schema]) -> dict[str, dict[int, float]]:
    """Milliseconds and sizes for each k, up to the first limit."""
    found: dict[str, dict[int, float]] = {"milliseconds": {}}
    for k in SIZES:
        try:
            for name, size in sizes(make(k)).items():
                found.setdefault(name, {})[k] = size
            found["milliseconds"][k] = 1000 * seconds(make(k))
        except gramlock.LimitError as error:
            found["milliseconds"].pop(k, None)
            found[str(error)] = {}
            break
    return found


def table() -> str:
    width = max(map(len, EVERY))
    lines = [" " * width + "".join(f"{f'k = {k}':>10}" for k in SIZES) + "  exponent"]
    for name, make in EVERY.items():
        lines.append(name)
        for what, values in figures(make).items():
            if not values:
                lines.append(f"  then {what}")
                continue
            cells = "".join(f"{values[k]:10.1f}" if k in values else " " * 10 for k in SIZES)
            late = {k: value for k, value in values.items() if k >= 4}
            growth = f"{exponent(late):10.2f}" if len(late) > 1 else ""
            lines.append(f"  {what:<{width - 2}}{cells}{growth}")
    return "\n".join(lines)


if __name__ == "__main__":
    print(table())
