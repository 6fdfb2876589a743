"""How does cost grow with the size of what is asked for?

    python -m benchmarks.bench_growth [--axis NAME ...] [--out FILE]

An axis is a family of grammars with one size to turn up. For each size: the time of the front end,
of compiling and of the first mask; of a step (fill and accept) along a text that the grammar
allows, median and worst, in states met for the first time, and the median of the same text again;
and the bytes that the program holds afterwards. Times are those of the thread, so that other work
on the machine counts little. Vocabulary and names are new for each point: nothing is remembered.

The exponent is that of the last one and a half decades of sizes: 0 is flat, 1 is linear. What each
should be is written with the axis; a figure that grows faster is marked in the table.
"""

from __future__ import annotations

import argparse
import gc
import itertools
import json
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import gramlock
from benchmarks import corpus
from benchmarks.figures import exponent
from gramlock._core import GrammarBuilder, expressions

Point = dict[str, float]
FIGURES = ("grammar", "program", "first", "step", "worst", "again", "bytes")
UNITS = {
    "grammar": "front end, ms",
    "program": "compile, ms",
    "first": "first mask, ms",
    "step": "step in a new state, median, µs",
    "worst": "step in a new state, worst, µs",
    "again": "step in a known state, median, µs",
    "bytes": "program, KiB",
}
BUILDING = ("grammar", "program", "first", "bytes")
STEPPING = ("step", "worst", "again")
NOISE = 0.25  # how much a fitted exponent may exceed what it should be
# Nobody minds the growth of what stays below these, and it is mostly noise.
FLOORS = {"grammar": 1, "program": 1, "first": 1, "step": 3, "worst": 100, "again": 3, "bytes": 100}
numbers = itertools.count()


@dataclass(frozen=True)
class Subject:
    """What one point measures: how to make the grammar, and a text that it allows."""

    make: Callable[[], gramlock.Grammar]
    text: bytes
    tokens: int = 32_768


@dataclass(frozen=True)
class Axis:
    """A size to turn up; *building* and *stepping* are the exponents that are in order."""

    title: str
    sizes: tuple[int, ...]
    subject: Callable[[int, int], Subject]
    building: int = 1
    stepping: int = 0


def of_schema(schema: Any, value: object, tokens: int = 32_768) -> Subject:
    text = json.dumps(value, ensure_ascii=False).encode()
    limits = gramlock.Limits(schema_nodes=1_000_000)

    def make() -> gramlock.Grammar:
        return gramlock.Grammar.from_json_schema(schema, limits=limits)

    return Subject(make, text, tokens)


# ---- the families; the second number makes names that no earlier point has used


def vocabulary(size: int, salt: int) -> Subject:
    return of_schema(corpus.nested(salt), corpus.nested_instance(salt), tokens=size)


def depth(size: int, salt: int) -> Subject:
    """Objects in objects, each a schema of its own."""
    schema: Any = {"type": "integer"}
    value: object = 1
    for level in range(size):
        schema = corpus.closed({f"d{salt}_{level}": schema})
        value = {f"d{salt}_{level}": value}
    return of_schema(schema, value)


def text_depth(size: int, salt: int) -> Subject:
    """A recursive schema, and a text that goes down in it."""
    node = {"type": "array", "items": {"$ref": "#/$defs/node"}, "title": str(salt)}
    text = b"[" * size + b"]" * size
    subject = of_schema({"$defs": {"node": node}, "$ref": "#/$defs/node"}, [])
    return Subject(subject.make, text)


def properties(size: int, salt: int) -> Subject:
    names = [f"p{salt}_{i}" for i in range(size)]
    return of_schema(
        corpus.closed({name: {"type": "integer"} for name in names}),
        {name: i for i, name in enumerate(names)},
    )


def optional(size: int, salt: int) -> Subject:
    """None required; every tenth is written."""
    names = [f"o{salt}_{i}" for i in range(size)]
    schema = {"type": "object", "properties": {name: {"type": "integer"} for name in names}}
    return of_schema(schema, {name: i for i, name in enumerate(names[::10])})


def any_order(size: int, salt: int) -> Subject:
    """All required, in any order, and written backwards."""
    names = [f"a{salt}_{i}" for i in range(size)]
    schema = corpus.closed({name: {"type": "integer"} for name in names})
    text = json.dumps({name: i for i, name in enumerate(reversed(names))}).encode()
    limits = gramlock.Limits(schema_nodes=1_000_000)

    def make() -> gramlock.Grammar:
        return gramlock.Grammar.from_json_schema(schema, order="any", limits=limits)

    return Subject(make, text)


def enum(size: int, salt: int) -> Subject:
    listed = [f"value {i * 7919 % 1_000_003} of {salt}" for i in range(size)]
    return of_schema({"type": "array", "items": {"enum": listed}}, listed[:: max(1, size // 40)])


def max_items(size: int, salt: int) -> Subject:
    schema = {"type": "array", "items": {"type": "integer"}, "maxItems": size, "title": str(salt)}
    return of_schema(schema, [*range(min(size, 200))])


def min_items(size: int, salt: int) -> Subject:
    """The beginning of a text, where the size is large."""
    schema = {"type": "array", "items": {"type": "integer"}, "minItems": size, "title": str(salt)}
    subject = of_schema(schema, [*range(min(size, 200))])
    return Subject(subject.make, subject.text[:-1])


def max_length(size: int, salt: int) -> Subject:
    text = ("A walk along the harbour. " * 40)[:size]
    schema = {"type": "string", "maxLength": size, "minLength": 1 + salt % 3}
    return of_schema(schema, text)


def long_text(size: int, salt: int) -> Subject:
    """An array of objects as long as it takes; *size* counts tokens."""
    item = corpus.closed({f"id{salt}": {"type": "integer"}, "name": {"type": "string"}})
    rows, ids = [], 0
    one = len(corpus.tokenize("synthetic", b'{"id0": 100, "name": "Gulls, mostly"}, '))
    while ids < size:
        rows.append({f"id{salt}": 100 + len(rows) % 900, "name": "Gulls, mostly"})
        ids += one
    return of_schema({"type": "array", "items": item}, rows)


def long_string(size: int, salt: int) -> Subject:
    """One string as long as it takes."""
    text = "A walk along the harbour, before breakfast. " * (size // 15 + 1)
    return of_schema({"type": "string", "title": str(salt)}, text)


def ambiguous(size: int, salt: int) -> Subject:
    """E = "x" | E op1 E | E op2 E | ...: *size* rules, each ambiguous by itself."""

    def make() -> gramlock.Grammar:
        store = expressions()
        builder = GrammarBuilder(store)
        rule = builder.rule()
        operators = [builder.terminal(store.literal(b"<%d.%d>" % (salt, i))) for i in range(size)]
        both = [builder.sequence([rule, operator, rule]) for operator in operators]
        builder.define(rule, builder.choice([builder.terminal(store.literal(b"x")), *both]))
        return gramlock.Grammar(builder.finish(rule))

    text = b"x" + b"".join(b"<%d.%d>x" % (salt, i * 7 % size) for i in range(24))
    return Subject(make, text)


def alternatives(size: int, salt: int) -> Subject:
    """anyOf branches that differ in their last member only."""
    shared = {"kind": {"type": "string"}, "note": {"type": "string"}}
    branches = [corpus.closed({**shared, f"b{salt}_{i}": {"type": "integer"}}) for i in range(size)]
    return of_schema(
        {"type": "array", "items": {"anyOf": branches}},
        [{"kind": "a", "note": "b", f"b{salt}_{i * 7 % size}": i} for i in range(10)],
    )


AXES: dict[str, Axis] = {
    "vocabulary": Axis("tokens of the vocabulary", (1000, 4000, 16000, 64000, 256000), vocabulary),
    "depth": Axis("nesting of the schema", (1, 4, 16, 64, 120), depth),
    "text-depth": Axis("nesting of the text", (10, 100, 1000, 10_000, 100_000), text_depth),
    "properties": Axis("properties, all required", (10, 100, 1000, 10_000), properties),
    "optional": Axis("optional properties", (10, 100, 1000, 10_000), optional),
    "any-order": Axis("required properties in any order", (10, 100, 1000, 10_000), any_order),
    "enum": Axis("values of an enum", (10, 100, 1000, 10_000, 100_000), enum),
    "max-items": Axis("maxItems", (10, 1000, 10**5, 10**6, 10**7), max_items, building=0),
    "min-items": Axis("minItems", (10, 1000, 10**5, 10**6, 10**7), min_items, building=0),
    "max-length": Axis("maxLength", (10, 1000, 10**5, 10**6, 10**7), max_length, building=0),
    "text": Axis("tokens of an array", (100, 1000, 10_000, 100_000, 10**6), long_text, 0),
    "string": Axis("tokens of one string", (100, 1000, 10_000, 100_000), long_string, 0),
    "ambiguous": Axis("ambiguous rules", (4, 16, 64, 256, 1024), ambiguous),
    "alternatives": Axis("anyOf branches that begin alike", (4, 16, 64, 256, 1024), alternatives),
}


# ---- one point


def walk(matcher: gramlock.Matcher, ids: list[int], bitmask: Any) -> list[float]:
    """Microseconds of the thread for each step, clock included."""
    clock, fill, accept = time.thread_time_ns, matcher.fill_next_token_bitmask, matcher.accept_token
    times = []
    for token in ids:
        begin = clock()
        fill(bitmask)
        allowed = accept(token)
        times.append((clock() - begin) / 1000)
        if not allowed:
            raise ValueError(f"token {token} is refused after {len(times) - 1} others")
    return times


def measure(axis: Axis, size: int, salt: int) -> Point:
    """All figures of one size. A limit that is passed is raised."""
    subject = axis.subject(size, salt)
    tokens = corpus.synthetic_tokens(subject.tokens)
    vocab = gramlock.Vocabulary.from_tokens([*tokens, None], end_ids=[len(tokens)])
    ids = corpus.longest_first(*corpus.index(tokens), subject.text)
    bitmask = gramlock.allocate_token_bitmask(1, vocab.size)
    gc.collect()
    gc.disable()  # as timeit does: the texts are large, and Python would look through them
    try:
        return timed(subject, vocab, ids, bitmask)
    finally:
        gc.enable()


def timed(subject: Subject, vocab: gramlock.Vocabulary, ids: list[int], bitmask: Any) -> Point:
    """What :func:`measure` measures, with everything ready."""
    clock = [time.thread_time()]
    grammar = subject.make()
    clock.append(time.thread_time())
    program = vocab.compile(grammar)
    clock.append(time.thread_time())
    program.matcher().fill_next_token_bitmask(bitmask)
    clock.append(time.thread_time())
    new = walk(program.matcher(), ids, bitmask)
    known = walk(program.matcher(), ids, bitmask)
    names = ("grammar", "program", "first")
    spent = zip(names, itertools.pairwise(clock), strict=True)
    return {
        **{name: 1000 * (end - begin) for name, (begin, end) in spent},
        "step": statistics.median(new),
        "worst": max(new),
        "again": statistics.median(known),
        "bytes": program.stats()["bytes"] / 1024,
    }


def points(axis: Axis, rounds: int = 3, patience: float = 1.0) -> Iterator[tuple[int, Point | str]]:
    """The figures size by size: medians over rounds, of which slow sizes get one; or the limit."""
    for size in axis.sizes:
        seen: list[Point] = []
        begin = time.perf_counter()
        try:
            while not seen or (len(seen) < rounds and time.perf_counter() - begin < patience):
                seen.append(measure(axis, size, next(numbers)))
        except gramlock.LimitError as error:
            yield size, str(error)
            return
        yield size, {name: statistics.median(one[name] for one in seen) for name in FIGURES}


def grown(name: str, found: dict[int, Point]) -> dict[str, Any]:
    """The exponents of an axis, and which of them are above what they should be."""
    axis = AXES[name]
    fits = {f: exponent({size: one[f] for size, one in found.items()}) for f in FIGURES}
    due = {f: axis.building if f in BUILDING else axis.stepping for f in FIGURES}
    most = {f: max((one[f] for one in found.values()), default=0) for f in FIGURES}
    fast = [
        figure
        for figure, fit in fits.items()
        if fit is not None and fit > due[figure] + NOISE and most[figure] > FLOORS[figure]
    ]
    return {"exponents": fits, "due": due, "faster": fast}


def run(names: list[str], watch: Callable[[str], None] = lambda line: None) -> dict[str, Any]:
    """Axis by axis; *watch* is told of each point."""
    result: dict[str, Any] = {}
    for name in names:
        found: dict[int, Point] = {}
        limit = ""
        for size, point in points(AXES[name]):
            if isinstance(point, str):
                limit = f"at {size:,}: {point}"
                watch(f"{name} {limit}")
            else:
                found[size] = point
                watch(f"{name} {size:,}: " + ", ".join(f"{f} {v:.4g}" for f, v in point.items()))
        result[name] = {
            "title": AXES[name].title,
            "points": {str(size): point for size, point in found.items()},
            "limit": limit,
            **grown(name, found),
        }
    return result


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.bench_growth", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("--axis", action="append", choices=AXES, help="only this; may be repeated")
    parser.add_argument("--out", type=Path, help="where the record goes, as JSON")
    options = parser.parse_args(arguments)
    result = run(options.axis or [*AXES], lambda line: print(line, flush=True))
    for name, one in result.items():
        fits = ", ".join(f"{f} {v:.2f}" for f, v in one["exponents"].items() if v is not None)
        print(
            f"{name}: {fits}" + ("; FASTER: " + ", ".join(one["faster"]) if one["faster"] else "")
        )
    if options.out:
        options.out.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
