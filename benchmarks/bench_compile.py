"""How long from a schema that nobody has seen to its first mask?

The vocabulary is warm, as on a server that has answered before; the schema is new in each round.
"""

from __future__ import annotations

import itertools
from typing import Any

import pytest

import gramlock
from benchmarks import corpus

numbers = itertools.count(1000)


@pytest.mark.parametrize("name", corpus.VOCABULARIES)
@pytest.mark.parametrize("case", corpus.CASES, ids=lambda case: case.name)
def test_compile_and_first_mask(benchmark: Any, case: corpus.Case, name: str) -> None:
    benchmark.group = f"compile + first mask, {name}"
    vocabulary = corpus.vocabulary(name)
    bitmask = gramlock.allocate_token_bitmask(1, vocabulary.size)

    def first_mask(schema: dict[str, Any]) -> None:
        grammar = gramlock.Grammar.from_json_schema(schema)
        vocabulary.compile(grammar).matcher().fill_next_token_bitmask(bitmask)

    def setup() -> tuple[tuple[dict[str, Any]], dict[str, Any]]:
        return (case.make(next(numbers)),), {}

    benchmark.pedantic(first_mask, setup=setup, rounds=100, warmup_rounds=2)
