"""Families of schemas whose conditions would multiply if nothing were done about it.

The families and how their sizes are taken are those of benchmarks/bench_blowup.py. Sizes are
counted here, times are not: those are for the benchmark.
"""

from __future__ import annotations

import importlib.util
import itertools
import json
from typing import Any

import jsonschema
import pytest

import gramlock
from conftest import ROOT


def load() -> Any:
    path = ROOT / "benchmarks" / "bench_blowup.py"
    spec = importlib.util.spec_from_file_location("bench_blowup", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


bench = load()


@pytest.mark.parametrize("name", bench.FAMILIES)
def test_sizes_grow_at_most_as_the_square(name: str) -> None:
    by_size = {k: bench.sizes(bench.FAMILIES[name](k)) for k in bench.SIZES}
    for what in ("grammar", "program", "states"):
        figures = {k: sizes[what] for k, sizes in by_size.items()}
        assert bench.exponent({k: figures[k] for k in (4, 8, 16)}) <= 2, (what, figures)
        assert figures[16] <= 256 * figures[1], (what, figures)


@pytest.mark.parametrize("name", bench.REACHED)
def test_others_end_in_a_limit(name: str) -> None:
    """Where k conditions meet in one value; small numbers of them are no problem."""
    for k in bench.SIZES:
        try:
            bench.sizes(bench.REACHED[name](k))
        except gramlock.LimitError as error:
            assert k > 2
            assert error.asked > error.limit
            break


def small_documents(k: int) -> list[Any]:
    """Objects with some of the names of a family."""
    every = [*bench.names(k + 1), "a0", "b0", "c0"]
    some = [names for size in range(4) for names in itertools.combinations(every, size)]
    return [dict.fromkeys(names, value) for names in some for value in (1, "x")]


@pytest.mark.parametrize("name", bench.FAMILIES)
def test_they_mean_what_they_say(name: str) -> None:
    schema = {"type": "object", **bench.FAMILIES[name](3)}
    validator = jsonschema.Draft202012Validator(schema)
    made = gramlock.Grammar.from_json_schema(schema, order="any")
    verdicts = set()
    for document in small_documents(3):
        valid = validator.is_valid(document)
        verdicts.add(valid)
        assert made.accepts(json.dumps(document)) == valid, document
    assert verdicts == {True, False}


def test_growth_would_be_noticed() -> None:
    doubling = {k: 2.0**k for k in (4, 8, 16)}
    assert bench.exponent(doubling) > 2
    assert bench.exponent({k: float(k * k) for k in (4, 8, 16)}) == pytest.approx(2)
