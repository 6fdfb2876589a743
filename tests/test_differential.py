"""The grammar of a schema and a validator that shares no code with it have one opinion of values.

Both ways: sentences sampled from the grammar are valid, and values close to them (and others) are
sentences exactly if they are valid. The schemas are random (:mod:`schema_fuzz`) or those of the
benchmark rows that lie beside a checkout; the validator is :mod:`validator`. Property order and
white space are free, numbers may be spelled in any way, and formats are annotations.

The last part plants faults in the algebra: each must lead to a disagreement.
"""

from __future__ import annotations

import decimal
import json
import random
from collections import Counter
from decimal import Decimal
from pathlib import Path
from typing import Any

import gramlock
import schema_fuzz
from test_schema_suite import rows
from validator import Validator, is_huge, spelled

FREE = {"order": "any", "whitespace": "flexible", "numbers": "any", "formats": "annotate"}
REFUSED = (gramlock.UnsupportedSchemaError, gramlock.LimitError)
WRITTEN = {"order": "any", "numbers": "any", "formats": "annotate"}  # what is sampled: few blanks
LIMITS = gramlock.Limits(sample_bytes=2_000)

EXPLAINED: dict[str, str] = {}  # schemas on which the validator is wrong: by row, with the reason


class Comparison:
    """One schema in both worlds, and what came of asking both."""

    def __init__(self, schema: Any) -> None:
        self.schema = schema
        self.validator = Validator(schema)
        self.counts: Counter[str] = Counter()
        self.wrong: list[str] = []
        self.made: gramlock.Grammar | None = None
        try:
            self.made = gramlock.Grammar.from_json_schema(schema, limits=LIMITS, **FREE)
            self.writer = gramlock.Grammar.from_json_schema(schema, limits=LIMITS, **WRITTEN)
            self.made.accepts("")  # where different items run out the core is the first to know
        except gramlock.UnsatisfiableError:
            self.made = None
            self.counts["unsatisfiable"] += 1

    def accepts(self, text: str) -> bool:
        return self.made is not None and self.made.accepts(text)

    def compare(self, value: Any) -> None:
        """Ask both about a value."""
        if is_huge(value):
            return
        text = spelled(value)
        valid = self.validator.is_valid(value)
        if valid is None:
            self.counts["no opinion"] += 1
            return
        try:
            accepted = self.accepts(text)
        except gramlock.LimitError:
            self.counts["limit"] += 1
            return
        self.counts["valid" if valid else "invalid"] += 1
        if accepted != valid:
            verdicts = f"accepted {accepted}, valid {valid}"
            self.wrong.append(f"{json.dumps(self.schema)} on {text}: {verdicts}")

    def sample(self, seed: int) -> Any:
        """The value of a sentence of the grammar, which is compared; None if there is none."""
        if self.made is None:
            return None
        try:
            text = self.writer.sample(seed)
        except gramlock.LimitError:  # a text that the random walk did not end
            return None
        try:
            value = json.loads(text, parse_float=Decimal)
        except decimal.InvalidOperation:  # an exponent of twenty digits
            return None
        if self.validator.is_valid(value) is False:
            self.wrong.append(f"{json.dumps(self.schema)} writes {text.decode()}")
        self.counts["sentences"] += 1
        return value

    def both_ways(self, rng: random.Random, sentences: int, mutants: int) -> None:
        values = [self.sample(rng.randrange(1 << 30)) for _ in range(sentences)]
        for number in range(mutants):
            self.compare(schema_fuzz.mutated(rng, values[number % len(values)] if values else None))
        for value in values[: mutants // 4]:
            self.compare(value)


def compared(schema: Any, rng: random.Random, sentences: int, mutants: int) -> Comparison | None:
    """None where the grammar refuses the schema."""
    try:
        found = Comparison(schema)
    except REFUSED:
        return None
    except gramlock.InvalidSchemaError as error:
        assert "includes itself" in str(error), schema
        return None
    found.both_ways(rng, sentences, mutants)
    for _ in range(mutants // 2):
        found.compare(schema_fuzz.value(rng))
    return found


def compare_seeds(seeds: range) -> tuple[Counter[str], list[str]]:
    """Random schemas: how often what happened, and what disagreed."""
    counts: Counter[str] = Counter()
    wrong: list[str] = []
    for seed in seeds:
        rng = random.Random(seed)
        found = compared(schema_fuzz.document(rng), rng, 4, 12)
        counts["refused" if found is None else "decided"] += 1
        if found is not None:
            counts += found.counts
            wrong += [f"seed {seed}: {each}" for each in found.wrong]
    return counts, wrong


def test_random_schemas(thorough: bool) -> None:
    size = 20_000 if thorough else 300
    counts, wrong = compare_seeds(range(size))
    print(dict(counts))
    assert wrong == []
    assert counts["decided"] > 0.9 * size
    assert counts["sentences"] > size
    assert min(counts["valid"], counts["invalid"]) > size


def test_benchmark_schemas(shared: Path, thorough: bool) -> None:
    chosen = list(rows(shared))
    if not thorough:
        chosen = random.Random(3).sample(chosen, 60)
    counts: Counter[str] = Counter()
    wrong: dict[str, str] = {}
    for row in chosen:
        rng = random.Random(row["id"])
        found = compared(row["schema"], rng, *((50, 50) if thorough else (6, 10)))
        counts["refused" if found is None else "decided"] += 1
        if found is not None:
            counts += found.counts
            if found.wrong:
                wrong[row["id"]] = found.wrong[0][-600:]
    print(dict(counts))
    assert {id: what for id, what in wrong.items() if id not in EXPLAINED} == {}
    assert counts["decided"] >= 0.97 * len(chosen)
    assert counts["sentences"] > 2 * len(chosen)
