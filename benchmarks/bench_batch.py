"""What does a batch cost: masks for 1, 16 and 256 matchers in one call, on one thread and on two?

    python -m benchmarks.bench_batch [--tokenizer FOLDER] [--engines a,b] [--out FILE]

``cold`` is the first call after compiling a schema that nobody has seen, with matchers at as many
places of a text as there are: each of these states is met for the first time. ``warm`` is every
call after that. Figures are microseconds of wall time a mask, medians over rounds in which engines
take turns. The second table is about threads that share one program and know all its states: each
fills its own batch, in a thread of Python's; the figure is masks a second of all together. The
third is about drafts: all masks along a draft in one call, and the same token by token.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import gramlock
from benchmarks import corpus
from benchmarks.engines import ENGINES, Engine, installed

ROWS = (1, 16, 256)
THREADS = (1, 2)
ROUNDS = 5
MASKS = 20_000  # filled in a warm round
DRAFTS = (1, 8, 64)  # tokens of a draft
CASE = corpus.CASES[1]


def prefixes(ids: list[int], count: int) -> list[list[int]]:
    """As many beginnings of a text, spread over its whole length."""
    return [ids[: row * len(ids) // count] for row in range(count)]


def microseconds(fill: Callable[[], None], calls: int) -> float:
    begin = time.perf_counter_ns()
    for _ in range(calls):
        fill()
    return (time.perf_counter_ns() - begin) / calls / 1000


def visit(
    engine: Engine, encode: Callable[[str], list[int]], rows: int, threads: int, number: int
) -> dict[str, float]:
    """Microseconds a mask, cold and warm, for a schema that is new."""
    ids = encode(CASE.text(number).decode())
    engine.compile(engine.source(CASE.make(number)))
    fill = engine.batch(prefixes(ids, rows), threads)
    cold = microseconds(fill, 1) / rows
    return {"cold": cold, "warm": microseconds(fill, max(1, MASKS // rows // 10)) / rows}


def against(
    tokenizer: Any, names: list[str], watch: Callable[[str], None] = lambda line: None
) -> list[dict[str, Any]]:
    """A row for each number of matchers and of threads: engine by engine, cold and warm."""
    engines = {name: ENGINES[name](tokenizer, "own", {}) for name in names}

    def encode(text: str) -> list[int]:
        return list(tokenizer.encode(text, add_special_tokens=False))

    found, number = [], 70_000
    for rows in ROWS:
        for threads in THREADS:
            watch(f"{rows} matchers, {threads} threads")
            seen: dict[str, list[dict[str, float]]] = {name: [] for name in names}
            for turn in range(ROUNDS):
                number += 1
                order = [*names[turn % len(names) :], *names[: turn % len(names)]]
                for name in order:
                    seen[name].append(visit(engines[name], encode, rows, threads, number))
            for when in ("cold", "warm"):
                medians = {
                    name: statistics.median(one[when] for one in each)
                    for name, each in seen.items()
                }
                found.append({"rows": rows, "threads": threads, "states": when, **medians})
    return found


def sharing(vocabulary: gramlock.Vocabulary, ids: list[int], number: int) -> list[dict[str, float]]:
    """Masks a second of Python threads that use one program: its states are all known."""
    program = vocabulary.compile(gramlock.Grammar.from_json_schema(CASE.make(number)))
    rows = 64

    def batch() -> Callable[[], None]:
        matchers = [program.matcher() for _ in range(rows)]
        for matcher, text in zip(matchers, prefixes(ids, rows), strict=True):
            for token in text:
                matcher.accept_token(token)
        mask = gramlock.allocate_token_bitmask(rows, vocabulary.size)
        fill = gramlock.fill_next_token_bitmasks
        return lambda: fill(matchers, mask, threads=1)

    rates: dict[int, list[float]] = {count: [] for count in THREADS}
    for _ in range(ROUNDS):
        for count in THREADS:
            fills = [batch() for _ in range(count)]
            for fill in fills:
                fill()
            workers = [
                threading.Thread(target=microseconds, args=(fill, MASKS // rows)) for fill in fills
            ]
            begin = time.perf_counter()
            for worker in workers:
                worker.start()
            for worker in workers:
                worker.join()
            spent = time.perf_counter() - begin
            rates[count].append(count * (MASKS // rows) * rows / spent)
    return [{"threads": count, "rate": statistics.median(each)} for count, each in rates.items()]


def drafts(vocabulary: gramlock.Vocabulary, ids: list[int], number: int) -> list[dict[str, float]]:
    """Microseconds a position of a draft whose states are known: in one call, and in many."""
    program = vocabulary.compile(gramlock.Grammar.from_json_schema(CASE.make(number)))
    matcher = program.matcher()
    found = []
    for length in DRAFTS:
        draft, rows = ids[:length], length + 1
        mask = gramlock.allocate_token_bitmask(rows, vocabulary.size)

        def together(draft: list[int] = draft, mask: Any = mask) -> None:
            matcher.fill_draft_bitmasks(draft, mask)

        def one_by_one(draft: list[int] = draft, mask: Any = mask) -> None:
            for row, token in enumerate(draft):
                matcher.fill_next_token_bitmask(mask, row)
                matcher.accept_token(token)
            matcher.fill_next_token_bitmask(mask, len(draft))
            matcher.rollback(len(draft))

        together()
        times: dict[str, list[float]] = {"together": [], "one_by_one": []}
        for _ in range(ROUNDS):
            calls = max(1, MASKS // rows // 10)
            times["together"].append(microseconds(together, calls) / rows)
            times["one_by_one"].append(microseconds(one_by_one, calls) / rows)
        medians = {name: statistics.median(each) for name, each in times.items()}
        found.append({"draft": length, **medians})
    return found


def run(
    tokenizer: Any, names: list[str], watch: Callable[[str], None] = lambda line: None
) -> dict[str, Any]:
    """The three tables, with the vocabulary of *tokenizer*."""
    rows = against(tokenizer, names, watch)
    watch("threads that share a program")
    number = 79_999
    ids = list(tokenizer.encode(CASE.text(number).decode(), add_special_tokens=False))
    vocabulary = gramlock.Vocabulary.from_huggingface(tokenizer)
    shared = sharing(vocabulary, ids, number)
    return {"rows": rows, "sharing": shared, "drafts": drafts(vocabulary, ids, number)}


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.bench_batch", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("--tokenizer", type=Path, help="a folder with a tokenizer.json")
    parser.add_argument("--engines", type=lambda s: s.split(","), default=list(ENGINES))
    parser.add_argument("--out", type=Path, help="where the record goes, as JSON")
    options = parser.parse_args(arguments)
    names, _ = installed(options.engines)
    tokenizer = corpus.load_tokenizer(corpus.chosen_tokenizer(options.tokenizer))
    result = run(tokenizer, names, lambda line: print(line, file=sys.stderr, flush=True))
    for row in [*result["rows"], *result["sharing"], *result["drafts"]]:
        print(", ".join(f"{key} {value}" for key, value in row.items()))
    if options.out:
        options.out.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
