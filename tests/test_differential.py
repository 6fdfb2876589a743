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
from collections.abc import Callable, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

import gramlock
import schema_fuzz
from gramlock.schema import arrays, conditions, numbers, objects, unevaluated
from gramlock.schema.algebra import Algebra
from gramlock.schema.objects import ObjectSet
from test_schema_suite import rows
from validator import Validator, is_huge, spelled, with_exponent

FREE = {"order": "any", "whitespace": "flexible", "numbers": "any", "formats": "annotate"}
REFUSED = (gramlock.UnsupportedSchemaError, gramlock.LimitError)
WRITTEN = {"order": "any", "numbers": "any", "formats": "annotate"}  # what is sampled: few blanks
LIMITS = gramlock.Limits(sample_bytes=2_000)

#: Schemas on which the validator is wrong: by row, with the reason.
EXPLAINED = {
    "WashingtonPost---wp_6_Normalized": "below a nested $schema jsonschema goes on with its own "
    "class, to which a Decimal such as 1E+9 is no integer (it is one: validation 6.1.1)",
}


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

    def accepts(self, text: str) -> bool | None:
        """None where a budget is passed."""
        try:
            return self.made is not None and self.made.accepts(text)
        except gramlock.LimitError:
            self.counts["limit"] += 1
            return None

    def compare(self, value: Any) -> None:
        """Ask both about a value."""
        if is_huge(value):
            return
        text = spelled(value)
        valid = self.validator.is_valid(value)
        if valid is None:
            self.counts["no opinion"] += 1
            return
        accepted = self.accepts(text)
        if accepted is None:
            return
        self.counts["valid" if valid else "invalid"] += 1
        if accepted != valid:
            verdicts = f"accepted {accepted}, valid {valid}"
            self.wrong.append(f"{json.dumps(self.schema)} on {text}: {verdicts}")
        other = spelled(value, with_exponent(random.Random(text)))
        if not valid and self.accepts(other):  # of a valid one not every spelling need be accepted
            self.wrong.append(f"{json.dumps(self.schema)} accepts {other}")

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


def compared(schema: Any, rng: random.Random, sentences: int, mutants: int) -> Comparison | str:
    """The comparison, or why there is none: "refused", "circular"."""
    try:
        found = Comparison(schema)
    except REFUSED:
        return "refused"
    except gramlock.InvalidSchemaError as error:
        assert "includes itself" in str(error), schema
        return "circular"
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
        if isinstance(found, str):
            counts[found] += 1
            continue
        counts += found.counts + Counter(["decided"])
        wrong += [f"seed {seed}: {each}" for each in found.wrong]
    return counts, wrong


def test_random_schemas(thorough: bool) -> None:
    size = 20_000 if thorough else 300
    counts, wrong = compare_seeds(range(size))
    print(dict(counts))
    assert wrong == []
    assert counts["decided"] > 0.7 * size
    assert counts["refused"] < 0.05 * size
    assert counts["sentences"] > size
    assert min(counts["valid"], counts["invalid"]) > size
    assert counts["limit"] < 0.01 * counts["valid"]


def test_benchmark_schemas(shared: Path, thorough: bool) -> None:
    chosen = list(rows(shared))
    if not thorough:
        chosen = random.Random(3).sample(chosen, 60)
    counts: Counter[str] = Counter()
    wrong: dict[str, str] = {}
    for row in chosen:
        rng = random.Random(row["id"])
        found = compared(row["schema"], rng, *((50, 50) if thorough else (6, 10)))
        if isinstance(found, str):
            counts[found] += 1
            continue
        counts += found.counts + Counter(["decided"])
        if found.wrong:
            wrong[row["id"]] = found.wrong[0][-600:]
    print(dict(counts))
    assert {id: what for id, what in wrong.items() if id not in EXPLAINED} == {}
    assert counts["decided"] >= 0.97 * len(chosen)
    assert counts["sentences"] > 2 * len(chosen)


# ---- faults planted in the algebra: each must lead to a disagreement


def one_less(parts: Sequence[Any]) -> Any:
    """All but the last, where there are several."""
    return type(parts)(parts[:-1]) if len(parts) > 1 else parts


def dropping(real: Callable[..., Sequence[Any]]) -> Callable[..., Any]:
    return lambda *arguments: one_less(real(*arguments))


def objects_one_less(real: Callable[..., Any]) -> Callable[..., Any]:
    """Intersections of objects that may hold one member more than they should."""

    def wrong(a: Any, b: Any, algebra: Any) -> Any:
        both = real(a, b, algebra)
        if both is not None and both.high is not None:
            both = ObjectSet(
                both.members, both.regions, both.low, both.high + 1, both.some, both.clauses
            )
        return both

    return wrong


def arrays_without(real: Callable[..., Any], **changes: Any) -> Callable[..., Any]:
    """Intersections of arrays in which something is forgotten."""

    def wrong(a: Any, b: Any, algebra: Any) -> Any:
        both = real(a, b, algebra)
        if both is None:
            return None
        parts = {name: getattr(both, name) for name in type(both).__slots__}
        return type(both)(**{**parts, **changes})

    return wrong


def forgetting(real: Callable[..., Any]) -> Callable[..., Any]:
    """The first set alone, where the second is one of several alternatives."""
    return lambda one, clause, algebra: one if len(clause) > 1 else real(one, clause, algebra)


def some_members(real: Callable[..., Any]) -> Callable[..., Any]:
    """What at least one member has to satisfy is not asked for."""

    def wrong(self: Any, objects: Any) -> Any:
        bare = ObjectSet(
            objects.members, objects.regions, objects.low, objects.high, (), objects.clauses
        )
        return real(self, bare)

    return wrong


def half(real: Callable[..., Any]) -> Callable[..., Any]:
    """A union of several shapes that has lost one of them."""
    return lambda self, shapes: real(self, one_less(list(shapes)))


FAULTS: dict[str, tuple[Any, str, Callable[..., Any]]] = {
    "a complement of objects drops an alternative": (objects, "complement", dropping),
    "a complement of arrays drops an alternative": (arrays, "complement", dropping),
    "a complement of numbers drops an alternative": (numbers, "complement", dropping),
    "a clause is forgotten": (objects, "constrain", forgetting),
    "a count of members is off by one": (objects, "intersect", objects_one_less),
    "counts of items are forgotten": (
        arrays, "intersect", lambda real: arrays_without(real, counts=())
    ),
    "items may be equal after all": (
        arrays, "intersect", lambda real: arrays_without(real, unique=False)
    ),
    "arrays lose their least length": (
        arrays, "intersect", lambda real: arrays_without(real, low=0)
    ),
    "no member has to be so": (conditions.Container, "_demands", some_members),
    "a union loses its last part": (Algebra, "union", half),
    "what is evaluated under a condition is not": (
        unevaluated, "_settled", lambda real: lambda claimed, node: real([], node)
    ),
}  # fmt: skip


def first_disagreement(most: int) -> str | None:
    """The first thing on which grammar and validator differ; anything that breaks is one."""
    for seed in range(most):
        try:
            _, wrong = compare_seeds(range(seed, seed + 1))
        except (ArithmeticError, AttributeError, TypeError, ValueError, AssertionError) as error:
            return f"seed {seed}: {error}"
        if wrong:
            return wrong[0]
    return None


@pytest.mark.parametrize("fault", FAULTS)
def test_a_planted_fault_is_noticed(fault: str, monkeypatch: pytest.MonkeyPatch) -> None:
    where, name, plant = FAULTS[fault]
    monkeypatch.setattr(where, name, plant(getattr(where, name)))
    assert first_disagreement(600) is not None
