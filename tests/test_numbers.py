"""Sets of numbers and their spellings, against exact decimal arithmetic."""

from __future__ import annotations

import itertools
import random
import re
from collections.abc import Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Any

import pytest

from byte_expressions import ByteExpressions
from gramlock._core import Expressions
from gramlock.errors import InvalidSchemaError, LimitError
from gramlock.schema.digits import MAX_LOOP, Automaton, decimal_digits, multiples
from gramlock.schema.numbers import (
    MAX_DIGITS,
    MAX_STEP_EXPONENT,
    NumberSet,
    complement,
    exact,
    is_number,
    number_expression,
    number_literal,
    number_node,
)

PLAIN = re.compile(r"-?(0|[1-9][0-9]*)(\.[0-9]+)?")
INTEGER = re.compile(r"-?(0|[1-9][0-9]*)")
RFC_8259 = re.compile(r"-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?")

STEPS = [2, 3, 4, 5, 6, 7, 8, 10, 11, 12, 20, 25, 30, 100]
STEPS += [Fraction(1, 2), Fraction(1, 4), Fraction(1, 100), Fraction(3, 10), Fraction(5, 2)]
HOLES = [1, 1, 2, 3, 5, 7, 10, 12, 100, Fraction(1, 2), Fraction(1, 100), Fraction(3, 10)]


def short_decimals() -> list[str]:
    """All texts of up to three digits with a sign, a point or both, wrong ones included."""
    texts = set()
    for size in (1, 2, 3):
        for digits in map("".join, itertools.product("0123456789", repeat=size)):
            texts.update([digits, digits + ".", digits + ".0", "0.0" + digits])
            texts.update(digits[:cut] + "." + digits[cut:] for cut in range(size))
    return sorted(sign + text for text in texts for sign in ("", "-"))


TEXTS = short_decimals()


def bound(rng: random.Random) -> int | Fraction:
    kind = rng.randrange(4)
    if kind == 0:
        return rng.randrange(-120, 120)
    if kind == 1:
        return exact(Decimal(rng.randrange(-2000, 2000)).scaleb(-2))
    if kind == 2:
        return rng.choice([0, 1, -1, 9, 10, -10, 99, 100, exact(0.1), exact(-9.9)])
    return rng.randrange(-1500, 1500)


def some_set(rng: random.Random) -> NumberSet:
    return NumberSet(
        rng.random() < 0.5,
        rng.choice([None, bound(rng)]),
        rng.choice([None, bound(rng)]),
        rng.random() < 0.4,
        rng.random() < 0.4,
        rng.choice([None, None, *STEPS]),
        frozenset(bound(rng) for _ in range(rng.choice([0, 0, 0, 1, 3]))),
        frozenset(rng.sample(HOLES, rng.choice([0, 0, 0, 1, 2]))),
    )


def expected(numbers: NumberSet, text: str, spelling: str = "canonical") -> bool:
    """What the description of the module says, by arithmetic on the value."""
    if numbers.is_unconstrained and not numbers.integer_only:
        return RFC_8259.fullmatch(text) is not None
    whole = numbers.integer_only and spelling == "canonical"
    if not (INTEGER if whole else PLAIN).fullmatch(text):
        return False
    lower = numbers.tightened().lower
    if text[0] == "-" and spelling == "canonical" and lower is not None and lower >= 0:
        return False
    return numbers.contains(Decimal(text))


@pytest.fixture(params=[ByteExpressions, Expressions], ids=["slow", "core"])
def store(request: pytest.FixtureRequest) -> Any:
    """A store of expressions: the core's, or one that shares no code with it."""
    return request.param()


def wrong(
    store: Any, number: int, numbers: NumberSet, texts: Sequence[str], spelling: str
) -> list[str]:
    return [
        text
        for text in texts
        if store.matches(number, text.encode()) != expected(numbers, text, spelling)
    ]


@pytest.mark.parametrize("seed", range(6))
def test_canonical_spellings_are_exactly_the_members(store: Any, seed: int, thorough: bool) -> None:
    rng = random.Random(seed)
    for _ in range(40 if thorough else 4):
        numbers = some_set(rng)
        found = number_expression(store, numbers)
        assert wrong(store, found, numbers, TEXTS, "canonical") == [], numbers
        assert store.is_empty(found) == numbers.is_empty(), numbers


@pytest.mark.parametrize("seed", range(6))
def test_any_spelling_adds_fractions_and_exponents(store: Any, seed: int, thorough: bool) -> None:
    rng = random.Random(100 + seed)
    for _ in range(20 if thorough else 3):
        numbers = some_set(rng)
        found = number_expression(store, numbers, "any")
        assert wrong(store, found, numbers, rng.sample(TEXTS, 1500), "any") == [], numbers
        for _ in range(800):
            mantissa = rng.choice(TEXTS)
            exponent = rng.choice([0, 1, 2, 3, MAX_STEP_EXPONENT, 25, rng.randrange(45)])
            text = mantissa + rng.choice("eE") + rng.choice(["", "+", "-", "+0"]) + str(exponent)
            member = PLAIN.fullmatch(mantissa) is not None and numbers.contains(Decimal(text))
            matched = store.matches(found, text.encode())
            assert matched <= member, (numbers, text)
            if exponent <= MAX_STEP_EXPONENT:
                assert matched == member, (numbers, text)


@pytest.mark.parametrize(
    ("numbers", "text"),
    [
        (NumberSet(integer_only=True), "1e308"),
        (NumberSet(integer_only=True), "-1.5E+300"),
        (NumberSet(integer_only=True), "0.0e-999"),
        (NumberSet(lower=0), "1e-99999"),
        (NumberSet(lower=1), "1.0e+1000"),
        (NumberSet(upper=1), "123.5e-77"),
        (NumberSet(multiple_of=exact(0.01)), "1e+22"),
        (NumberSet(multiple_of=exact(0.01), lower=0), "12e-2"),
        (NumberSet.point(1), "1000e-3"),
        (NumberSet(lower=0, upper=0), "-0.0E5"),
    ],
)
def test_far_exponents(store: Any, numbers: NumberSet, text: str) -> None:
    assert store.matches(number_expression(store, numbers, "any"), text.encode())


@pytest.mark.parametrize("text", ["0e1", "0.0E6", "-0e7278", "-0.0E-1", "0", "-0.0"])
def test_zero_is_zero_in_every_spelling(store: Any, text: str) -> None:
    without = (
        NumberSet(upper=0, upper_open=True),
        NumberSet(lower=0, lower_open=True),
        NumberSet(excluded=frozenset([0])),
        NumberSet(not_multiples=frozenset([1])),
        NumberSet(integer_only=True, lower=0, lower_open=True),
    )
    for numbers in without:
        assert not store.matches(number_expression(store, numbers, "any"), text.encode())
    for numbers in (NumberSet(upper=0), NumberSet(lower=0), NumberSet.point(0), NumberSet(True)):
        assert store.matches(number_expression(store, numbers, "any"), text.encode())


@pytest.mark.parametrize(
    ("digits", "places"), [(1500, 0), (1998, 0), (300, 0), (1, 1500), (40, 20), (205, 3)]
)
def test_bounds_of_any_size(store: Any, digits: int, places: int) -> None:
    bound = exact(Fraction(10**digits + 12345, 10**places))
    near = [bound, bound + 1, bound * 2, bound + Fraction(1, 10), exact(0), Fraction(bound) / 2]
    near += [-value for value in near]
    for numbers in (
        NumberSet(lower=bound),
        NumberSet(upper=bound, upper_open=True),
        NumberSet(lower=-bound, lower_open=True),
        NumberSet(lower=bound, upper=bound * 2, lower_open=True),
    ):
        found = number_expression(store, numbers)
        for value in near:
            text = ".".join(filter(None, decimal_digits(abs(value))))
            if value < 0:
                text = "-" + text
            assert store.matches(found, text.encode()) == numbers.contains(value)


def test_plain_types(store: Any) -> None:
    integer = number_expression(store, NumberSet(integer_only=True))
    number = number_expression(store, NumberSet())
    texts = ["0", "-0", "12", "-7", "01", "1.0", "1e5", "1E+05", "-1.5e-7", "1.", ".5", "+1", "-"]
    for text in texts:
        assert store.matches(integer, text.encode()) == bool(INTEGER.fullmatch(text)), text
        assert store.matches(number, text.encode()) == bool(RFC_8259.fullmatch(text)), text


# -- steps that need rules ------------------------------------------------------------------------


def read(machine: Automaton, text: str) -> bool:
    state = 0
    for character in text:
        if character not in machine.moves[state]:
            return False
        state = machine.moves[state][character]
    return machine.accepting[state]


@pytest.mark.parametrize(
    ("step", "low", "high"),
    [(77, None, None), (77, 100, 99_999), (33, 5, None), (exact(0.33), 1, None)]
    + [(102, None, 5_000_000), (1300, None, 10**7), (1999, None, None), (1024, 7, None)],
)
def test_automata_read_multiples(step: int | Fraction, low: int | None, high: int | None) -> None:
    numbers = NumberSet(lower=low or 0, upper=high, multiple_of=step).tightened()
    points = (numbers.lower, step * 50)
    machine = multiples(step, numbers.lower, numbers.upper, points, True)
    rng = random.Random(7)
    for _ in range(2000):
        value = step * rng.randrange(10 ** rng.randrange(1, 7))
        value = exact(value + rng.choice([0, 0, 0, 1, exact(0.1)]))
        whole, part = decimal_digits(value)
        text = f"{whole}.{part}00" if part or rng.random() < 0.5 else whole
        member = numbers.contains(value) and value not in points
        assert read(machine, text) == member, text


class Rules:
    """A builder that keeps right-linear rules, and reads with them."""

    FAIL, EMPTY = 0, 1

    def __init__(self) -> None:
        self.expressions: Any = ByteExpressions()
        self.nodes: list[Any] = [("choice", []), ("sequence", [])]

    def _add(self, *node: Any) -> int:
        self.nodes.append(node)
        return len(self.nodes) - 1

    def terminal(self, expression: int) -> int:
        return self._add("terminal", expression)

    def sequence(self, nodes: Sequence[int]) -> int:
        return self._add("sequence", list(nodes))

    def choice(self, nodes: Sequence[int]) -> int:
        return self._add("choice", list(nodes))

    def rule(self) -> int:
        return self._add("choice", [])

    def define(self, rule: int, body: int) -> None:
        self.nodes[rule] = ("choice", [body])

    def ends(self, node: int, text: bytes, at: int) -> set[int]:
        """Where a match of *node* from *at* may end."""
        kind, content = self.nodes[node]
        if kind == "terminal":
            whole = range(at, len(text) + 1)
            return {to for to in whole if self.expressions.matches(content, text[at:to])}
        if kind == "choice":
            return set().union(*(self.ends(item, text, at) for item in content))
        places = {at}
        for item in content:
            places = set().union(*(self.ends(item, text, place) for place in places))
        return places


@pytest.mark.parametrize("spelling", ["canonical", "any"])
def test_large_steps_become_rules(spelling: Any) -> None:
    numbers = NumberSet(lower=-300, multiple_of=51, excluded=frozenset([102]))
    builder: Any = Rules()
    node = number_node(builder, numbers, spelling)
    for value in range(-500, 500):
        for text in (str(value), f"{value}.0", f"{value}.5"):
            encoded = text.encode()
            accepted = len(encoded) in builder.ends(node, encoded, 0)
            assert accepted == expected(numbers, text, spelling), text


def test_a_step_is_an_expression_where_that_is_small(store: Any) -> None:
    for step in (2, 3, 7, 9, 10, 12, 100, 7000, 10**300, exact(0.01), exact(1e-8), exact(0.5)):
        number_expression(store, NumberSet(multiple_of=step))
    with pytest.raises(LimitError, match="number_loop") as caught:
        number_expression(store, NumberSet(multiple_of=101))
    assert caught.value.limit == MAX_LOOP
    with pytest.raises(LimitError, match="number_states"):
        number_node(Rules(), NumberSet(multiple_of=123_456_789), "canonical")  # type: ignore[arg-type]


def test_steps_that_multiply_past_all_bounds_are_refused() -> None:
    with pytest.raises(LimitError, match="number_digits"):
        NumberSet(multiple_of=3**4000).intersect(NumberSet(multiple_of=7**2300))


def test_steps_and_holes_share_an_automaton() -> None:
    rng = random.Random(11)
    for step, holes in ((1, [17]), (None, [19, exact(0.5)]), (6, [4, 21]), (exact(0.2), [13, 1])):
        numbers = NumberSet(lower=2, multiple_of=step, not_multiples=frozenset(holes))
        machine = multiples(step, 2, None, [38], True, holes)
        for _ in range(3000):
            value = exact(
                Decimal(rng.randrange(10 ** rng.randrange(1, 7))).scaleb(-rng.randrange(4))
            )
            whole, part = decimal_digits(value)
            text = f"{whole}.{part}00" if part or rng.random() < 0.5 else whole
            assert read(machine, text) == (numbers.contains(value) and value != 38), text


def test_multiples_that_are_left_out_may_need_rules() -> None:
    numbers = NumberSet(lower=-60, not_multiples=frozenset([17, exact(0.5)]), integer_only=False)
    whole = NumberSet(lower=-60, not_multiples=frozenset([17, 2]), integer_only=True)
    for each in (numbers, whole):
        builder: Any = Rules()
        node = number_node(builder, each, "canonical")
        for value in range(-100, 100):
            for text in (str(value), f"{value}.0", f"{value}.5", f"{value}.25"):
                accepted = len(text) in builder.ends(node, text.encode(), 0)
                assert accepted == expected(each, text), text


# -- sets and values ------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(20))
def test_intersection_and_emptiness(seed: int) -> None:
    rng = random.Random(seed)
    grid = [exact(Decimal(n).scaleb(-2)) for n in range(-3000, 3000, 7)] + list(range(-130, 131))
    for _ in range(10):
        one, other = some_set(rng), some_set(rng)
        both = one.intersect(other)
        tight = both.tightened()
        for value in rng.sample(grid, 200):
            member = one.contains(value) and other.contains(value)
            assert both.contains(value) == member
            assert tight.contains(value) == member
            assert not (member and both.is_empty())


@pytest.mark.parametrize("seed", range(20))
def test_every_number_is_in_a_set_or_in_its_complement(seed: int) -> None:
    rng = random.Random(seed)
    grid = [exact(Decimal(n).scaleb(-2)) for n in range(-3000, 3000, 7)] + list(range(-130, 131))
    for _ in range(20):
        numbers = some_set(rng)
        outside = complement(numbers)
        for value in rng.sample(grid, 200) + list(numbers.excluded):
            assert numbers.contains(value) != any(part.contains(value) for part in outside), value
        for part in outside:
            assert numbers.intersect(part).is_empty(), (numbers, part)


@pytest.mark.parametrize("spelling", ["canonical", "any"])
@pytest.mark.parametrize("seed", range(4))
def test_every_text_is_in_a_set_or_in_its_complement(
    seed: int, spelling: Any, thorough: bool
) -> None:
    rng = random.Random(seed)
    store: Any = Expressions()
    texts = [text for text in TEXTS if PLAIN.fullmatch(text)]
    for _ in range(20 if thorough else 5):
        numbers = some_set(rng)
        inside = number_expression(store, numbers, spelling)
        parts = [number_expression(store, part, spelling) for part in complement(numbers)]
        outside = store.union(parts)
        for text in rng.sample(texts, 1000):
            member = numbers.contains(Decimal(text))
            matched = [store.matches(each, text.encode()) for each in (inside, outside)]
            assert matched[member] is False, (numbers, text)
            if spelling == "any":
                assert matched[not member] is True, (numbers, text)


def test_leaving_out_every_multiple_leaves_nothing() -> None:
    holes = frozenset([2, exact(0.5)])
    assert NumberSet(integer_only=True, not_multiples=holes).is_empty()
    assert NumberSet(True, 4, 6, not_multiples=frozenset([2, 5])).is_empty()
    assert NumberSet(True, 2, 10, not_multiples=frozenset([2, 3, 5, 7])).is_empty()
    assert not NumberSet(True, 2, 11, not_multiples=frozenset([2, 3, 5, 7])).is_empty()
    assert not NumberSet(lower=0, upper=1, not_multiples=holes).is_empty()
    assert NumberSet(lower=0, upper=0, not_multiples=holes).is_empty()
    assert not NumberSet(multiple_of=3, not_multiples=holes - {exact(0.5)}).is_empty()


def test_large_steps_inside_small_bounds_are_listed() -> None:
    store: Any = Expressions()
    numbers = NumberSet(True, 0, 10**12, multiple_of=123_456_789_0)
    found = number_expression(store, numbers)
    for factor in (0, 1, 77, 810):
        assert store.matches(found, str(factor * 1_234_567_890).encode())
    assert not store.matches(found, str(811 * 1_234_567_890).encode())
    assert not store.matches(found, b"1234567891")


def test_excluding_every_member_leaves_nothing() -> None:
    assert NumberSet(True, 1, 3).without(1, 2.0, 3).is_empty()
    assert not NumberSet(True, 1, 3).without(1, 3).is_empty()
    assert not NumberSet(False, 1, 3).without(1, 2, 3).is_empty()
    assert NumberSet(multiple_of=7, lower=1, upper=6).is_empty()
    assert NumberSet(lower=1, upper=1, upper_open=True).is_empty()


def test_exact_values() -> None:
    assert exact(0.1) == Fraction(1, 10)
    assert exact(1.0) == 1
    assert isinstance(exact(1e300), int)
    assert exact(Decimal("-12.50")) == Fraction(-25, 2)
    assert exact(Decimal("1e400")) == 10**400
    assert is_number(1)
    assert is_number(0.5)
    assert not is_number(True)
    assert not is_number("1")


@pytest.mark.parametrize("value", [True, None, "1", float("nan"), float("inf"), Decimal("nan")])
def test_what_is_no_number(value: object) -> None:
    with pytest.raises(InvalidSchemaError):
        exact(value)


@pytest.mark.parametrize(
    "value",
    [pytest.param(10**5000, id="integer"), Decimal("1e999999999"), Decimal("1e-999999999")],
)
def test_huge_numbers_are_refused_before_they_are_expanded(value: object) -> None:
    with pytest.raises(LimitError, match="number_digits") as caught:
        exact(value)
    assert caught.value.limit == MAX_DIGITS


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (1, "1"),
        (1.0, "1"),
        (-0.0, "0"),
        (2.50, "2.5"),
        (-0.001, "-0.001"),
        (1e-6, "0.000001"),
        (1e-7, "1e-07"),
        (1e20, "100000000000000000000"),
        (10**21, "1e+21"),
        (1.5e300, "1.5e+300"),
        (Decimal("-12.5e-390"), "-1.25e-389"),
        (123456789012345678901234567890, "123456789012345678901234567890"),
    ],
)
def test_literals(value: object, text: str) -> None:
    assert number_literal(value) == text.encode()


def test_literals_keep_their_value() -> None:
    rng = random.Random(3)
    for _ in range(500):
        value = rng.choice([-1, 1]) * rng.random() * 10.0 ** rng.randrange(-300, 300)
        assert float(number_literal(value)) == value
        assert Decimal(number_literal(value).decode()) == Decimal(repr(value))
