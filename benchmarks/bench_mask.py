"""What does one step cost: fill the mask, accept a token?

``cached``: the states have been met before, as from the second answer under a schema on.
``new``: the program has just been compiled, each state is met for the first time.
``batch``: one call fills 64 rows that stand at different places.
The figures of the first two are divided by the number of steps.
"""

from __future__ import annotations

import itertools
import os
from typing import Any

import pytest

import gramlock
from benchmarks import corpus

numbers = itertools.count(5000)
ROWS = 64


def threads() -> list[int]:
    cores = os.cpu_count() or 1
    return sorted({1, *(count for count in (2, 4, 8, 16) if count <= cores)})


def walk(matcher: gramlock.Matcher, ids: list[int], bitmask: Any) -> None:
    for token in ids:
        matcher.fill_next_token_bitmask(bitmask)
        if not matcher.accept_token(token):
            raise ValueError(f"token {token} of the instance is refused")


@pytest.mark.parametrize("name", corpus.VOCABULARIES)
@pytest.mark.parametrize("case", corpus.CASES, ids=lambda case: case.name)
def test_cached(benchmark: Any, case: corpus.Case, name: str) -> None:
    benchmark.group = f"fill + accept, cached, {name}"
    vocabulary, ids = corpus.vocabulary(name), corpus.tokenize(name, case.text(0))
    program = vocabulary.compile(gramlock.Grammar.from_json_schema(case.make(0)))
    bitmask = gramlock.allocate_token_bitmask(1, vocabulary.size)
    walk(program.matcher(), ids, bitmask)
    benchmark.extra_info["per"] = len(ids)

    def setup() -> tuple[tuple[Any, ...], dict[str, Any]]:
        return (program.matcher(), ids, bitmask), {}

    benchmark.pedantic(walk, setup=setup, rounds=300, warmup_rounds=5)


@pytest.mark.parametrize("name", corpus.VOCABULARIES)
@pytest.mark.parametrize("case", corpus.CASES, ids=lambda case: case.name)
def test_new(benchmark: Any, case: corpus.Case, name: str) -> None:
    benchmark.group = f"fill + accept, new states, {name}"
    vocabulary = corpus.vocabulary(name)
    bitmask = gramlock.allocate_token_bitmask(1, vocabulary.size)
    benchmark.extra_info["per"] = len(corpus.tokenize(name, case.text(5000)))

    def setup() -> tuple[tuple[Any, ...], dict[str, Any]]:
        number = next(numbers)
        program = vocabulary.compile(gramlock.Grammar.from_json_schema(case.make(number)))
        return (program.matcher(), corpus.tokenize(name, case.text(number)), bitmask), {}

    benchmark.pedantic(walk, setup=setup, rounds=50, warmup_rounds=2)


@pytest.mark.parametrize("name", corpus.VOCABULARIES)
@pytest.mark.parametrize("count", threads())
def test_batch(benchmark: Any, count: int, name: str) -> None:
    benchmark.group = f"fill {ROWS} rows, {name}"
    case = corpus.CASES[1]
    vocabulary, ids = corpus.vocabulary(name), corpus.tokenize(name, case.text(0))
    program = vocabulary.compile(gramlock.Grammar.from_json_schema(case.make(0)))
    matchers = [program.matcher() for _ in range(ROWS)]
    for row, matcher in enumerate(matchers):
        for token in ids[: row % len(ids)]:
            matcher.accept_token(token)
    bitmask = gramlock.allocate_token_bitmask(ROWS, vocabulary.size)
    gramlock.fill_next_token_bitmasks(matchers, bitmask, threads=count)
    benchmark(gramlock.fill_next_token_bitmasks, matchers, bitmask, threads=count)
