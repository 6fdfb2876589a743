"""Exact sets of JSON numbers, and the texts that spell their members.

A :class:`NumberSet` is a conjunction: an interval whose ends may be open, a step that every member
is a multiple of, steps of which none is one, and points left out.  All of it is exact arithmetic on
``int`` and ``Fraction``; a float of a schema means the decimal that it prints as (``0.01`` is one
hundredth).  Numbers of more than `MAX_DIGITS` digits, exponent included, are refused before they
are expanded.

Which texts spell a set (`numbers=` of the public interface):

``canonical``
    integers without fraction and exponent; a number without any constraint as RFC 8259 has it;
    constrained numbers in plain decimals, where zeros may end the fraction (``5.0``).  ``-0`` is
    written only where the set has negative members or none of its bounds is set.
``any``
    plain decimals for integers too (``1.0``), and exponents.  All exponents would not be a regular
    language (``1000e-3`` is 1 for every count of zeros), so these are taken: every exponent, where
    only the sign of the number is constrained and for zero; otherwise exponents from
    ``-MAX_EXPONENT`` to ``MAX_EXPONENT`` (`MAX_STEP_EXPONENT` where a step is no power of ten);
    beyond them those of which the set holds every number of that size, for mantissas of at least 1
    (large exponents) or of at most `MAX_EXPONENT` integer digits (small ones), with at most
    `MAX_EXPONENT` fraction digits where a step matters.  Steps that need grammar rules (see
    :func:`number_node`) take no exponents.

A union of sets is a union of expressions.  The complement of a set is a union again, one set for
each field (:func:`complement`); multiples that are left out are cut out of the texts by an
intersection, or by one automaton for all steps where that is no small expression.

Tested by tests/test_numbers.py.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction
from itertools import islice
from typing import TYPE_CHECKING, Any, Literal

from gramlock.errors import InvalidSchemaError, LimitError
from gramlock.schema.digits import (
    MAX_LOOP,
    Automaton,
    DigitExpressions,
    decimal_digits,
    multiples,
)

if TYPE_CHECKING:
    from gramlock._core import Expressions, GrammarBuilder

__all__ = [
    "MAX_DIGITS",
    "MAX_EXPONENT",
    "MAX_STEP_EXPONENT",
    "Exact",
    "NumberSet",
    "Spelling",
    "complement",
    "exact",
    "is_number",
    "number_expression",
    "number_literal",
    "number_node",
]

Exact = int | Fraction
Spelling = Literal["canonical", "any"]

MAX_DIGITS = 2_000
"""Digits that a number of a schema may have when it is written out."""

MAX_EXPONENT = 20
"""Exponents up to this size are taken for all constraints but steps (``numbers="any"``)."""

MAX_STEP_EXPONENT = 6
"""The same for steps that are no power of ten."""

_MAX_LISTED = 64  # members up to which a set with a step is spelled one by one
_MAX_LISTED_INSTEAD = 4096  # the same where the automaton would be too large
_FLOAT_DIGITS = 17  # significant digits that a double may need


def is_number(value: object) -> bool:
    """Whether a decoded JSON value is a number (``true`` is not)."""
    return isinstance(value, (int, float, Decimal, Fraction)) and not isinstance(value, bool)


def exact(value: object) -> Exact:
    """The exact value of a JSON number, as an ``int`` where it is one.

    Raises:
        InvalidSchemaError: Not a JSON number (NaN and infinities are none).
        LimitError: Written out it has more than `MAX_DIGITS` digits.
    """
    if isinstance(value, int) and not isinstance(value, bool):
        digits = _digits_of(value)
        if digits > MAX_DIGITS:
            raise LimitError("number_digits", digits, MAX_DIGITS)
        return value
    if isinstance(value, Fraction):
        return value.numerator if value.denominator == 1 else value
    if isinstance(value, float):
        if not math.isfinite(value):
            raise InvalidSchemaError(f"{value!r} is not a JSON number")
        value = Decimal(float.__repr__(value))
    if not isinstance(value, Decimal) or not value.is_finite():
        raise InvalidSchemaError(f"{value!r} is not a JSON number")
    if not value:
        return 0
    exponent = value.as_tuple().exponent
    assert isinstance(exponent, int)  # finite
    digits = max(value.adjusted(), 0) + max(-exponent, 0) + 1
    if digits > MAX_DIGITS:
        raise LimitError("number_digits", digits, MAX_DIGITS)
    fraction = Fraction(value)
    return fraction.numerator if fraction.denominator == 1 else fraction


def _simplest(value: Exact) -> Exact:
    return value.numerator if value.denominator == 1 else value


def _common_multiple(one: Exact | None, other: Exact | None) -> Exact | None:
    """The least common multiple of two positive rationals; None is no condition."""
    if one is None or other is None:
        return one if other is None else other
    top = math.lcm(one.numerator, other.numerator)
    digits = _digits_of(top)
    if digits > MAX_DIGITS:
        raise LimitError("number_digits", digits, MAX_DIGITS)
    return _simplest(Fraction(top, math.gcd(one.denominator, other.denominator)))


def _digits_of(value: int) -> int:
    """About how many digits *value* has, without writing them."""
    return value.bit_length() * 30103 // 100_000 + 1


@dataclass(frozen=True, slots=True)
class NumberSet:
    """The numbers between two bounds, on the grid of a step, off other grids, without some points.

    Attributes:
        integer_only: Integers only; also the type of which the spelling is asked for.
        lower: Least value, or None.
        upper: Greatest value, or None.
        lower_open: *lower* itself is left out.
        upper_open: *upper* itself is left out.
        multiple_of: Every member is a multiple of this positive number; None = no condition.
        excluded: Points left out.
        not_multiples: No member is a multiple of any of these positive numbers (so 0 is none).

    >>> NumberSet(lower=1, upper=5).intersect(NumberSet(integer_only=True)).contains(4.0)
    True
    """

    integer_only: bool = False
    lower: Exact | None = None
    upper: Exact | None = None
    lower_open: bool = False
    upper_open: bool = False
    multiple_of: Exact | None = None
    excluded: frozenset[Exact] = frozenset()
    not_multiples: frozenset[Exact] = frozenset()

    @classmethod
    def point(cls, value: object) -> NumberSet:
        """The set of one number."""
        at = exact(value)
        return cls(lower=at, upper=at)

    @property
    def step(self) -> Exact | None:
        """What every member is a multiple of: `multiple_of`, joined with 1 for integers."""
        return _common_multiple(1 if self.integer_only else None, self.multiple_of)

    @property
    def is_unconstrained(self) -> bool:
        """Whether nothing but `integer_only` is asked."""
        bounds = self.lower is None and self.upper is None
        holes = self.excluded or self.not_multiples
        return bounds and self.multiple_of is None and not holes

    def intersect(self, other: NumberSet) -> NumberSet:
        """The numbers in both sets."""
        lower, lower_open = _higher(self.lower, self.lower_open, other.lower, other.lower_open)
        upper, upper_open = _lower(self.upper, self.upper_open, other.upper, other.upper_open)
        return NumberSet(
            self.integer_only or other.integer_only,
            lower,
            upper,
            lower_open,
            upper_open,
            _common_multiple(self.multiple_of, other.multiple_of),
            self.excluded | other.excluded,
            self.not_multiples | other.not_multiples,
        )

    def without(self, *points: object) -> NumberSet:
        """The set less some numbers."""
        return replace(self, excluded=self.excluded.union(exact(point) for point in points))

    def contains(self, value: object) -> bool:
        """Whether a JSON number is a member."""
        number = exact(value)
        if self.lower is not None and (
            number < self.lower or (self.lower_open and number == self.lower)
        ):
            return False
        if self.upper is not None and (
            number > self.upper or (self.upper_open and number == self.upper)
        ):
            return False
        step = self.step
        on_grid = step is None or Fraction(number) % step == 0
        return on_grid and not self._leaves_out(number)

    def _leaves_out(self, number: Exact) -> bool:
        """Whether *number* is an excluded point or multiple."""
        if number in self.excluded:
            return True
        return any(Fraction(number) % hole == 0 for hole in self.not_multiples)

    def is_empty(self) -> bool:
        """Whether no number is a member."""
        step = self.step
        if step is not None and any(Fraction(step) % hole == 0 for hole in self.not_multiples):
            return True
        if self.lower is None or self.upper is None:
            return False
        tight = self.tightened()
        assert tight.lower is not None
        assert tight.upper is not None
        if tight.lower >= tight.upper:
            return tight.lower > tight.upper or not tight.contains(tight.lower)
        if step is None:
            return False
        return next(_members(tight), None) is None

    def is_finite(self) -> bool:
        """Whether there are finitely many members."""
        if self.lower is None or self.upper is None:
            return self.is_empty()
        return self.step is not None or self.lower >= self.upper

    def listed(self, limit: int) -> list[Exact] | None:
        """All members in order, None if they are more than *limit* or hard to find."""
        if self.lower is None or self.upper is None:
            return [] if self.is_empty() else None
        tight = self.tightened()
        if tight.lower == tight.upper:
            return [] if self.is_empty() else [exact(tight.lower)]
        if self.is_empty():
            return []
        step = tight.step
        if step is None or (self.upper - self.lower) // step > 16 * limit:
            return None
        found = list(islice(_members(tight), limit + 1))
        return found if len(found) <= limit else None

    def has_at_least(self, count: int) -> bool:
        """Whether there certainly are *count* members; may look at as many."""
        if not self.is_finite():
            return True
        if self.is_empty():
            return count <= 0
        tight = self.tightened()
        if tight.lower == tight.upper:
            return count <= 1
        step = tight.step
        if step is not None and tight.lower is not None and tight.upper is not None:
            on_grid = (tight.upper - tight.lower) // step + 1
            if on_grid - len(tight.excluded) < count or not tight.not_multiples:
                return on_grid - len(tight.excluded) >= count
        return count <= _MAX_LISTED_INSTEAD and len(list(islice(_members(tight), count))) >= count

    def tightened(self) -> NumberSet:
        """The same set with bounds that are members of its grid, and no idle points."""
        step = self.step
        if self._is_tight(step):
            return self
        lower, upper = self.lower, self.upper
        if step is not None and lower is not None:
            at = math.ceil(Fraction(lower) / step)
            lower = _simplest((at + (self.lower_open and at * step == lower)) * step)
        if step is not None and upper is not None:
            at = math.floor(Fraction(upper) / step)
            upper = _simplest((at - (self.upper_open and at * step == upper)) * step)
        on_grid = step is not None
        tight = replace(
            self,
            lower=lower,
            upper=upper,
            lower_open=self.lower_open and not on_grid,
            upper_open=self.upper_open and not on_grid,
            excluded=frozenset(),
        )
        points = frozenset(point for point in self.excluded if tight.contains(point))
        holes = frozenset(
            hole
            for hole in self.not_multiples
            if not any(h < hole and Fraction(hole) % h == 0 for h in self.not_multiples)
        )
        return replace(tight, excluded=points, not_multiples=holes)

    def _is_tight(self, step: Exact | None) -> bool:
        """Whether there is plainly nothing to tighten: the common cases, decided cheaply."""
        if self.excluded or self.not_multiples:
            return False
        if step is None:
            return True
        whole = isinstance(self.lower, (int, type(None))) and isinstance(
            self.upper, (int, type(None))
        )
        return step == 1 and whole and not (self.lower_open or self.upper_open)


def _higher(
    one: Exact | None, one_open: bool, other: Exact | None, other_open: bool
) -> tuple[Exact | None, bool]:
    """The stricter of two lower bounds."""
    if one is None or other is None:
        return (other, other_open) if one is None else (one, one_open)
    if one == other:
        return one, one_open or other_open
    return (one, one_open) if one > other else (other, other_open)


def _lower(
    one: Exact | None, one_open: bool, other: Exact | None, other_open: bool
) -> tuple[Exact | None, bool]:
    """The stricter of two upper bounds."""
    if one is None or other is None:
        return (other, other_open) if one is None else (one, one_open)
    if one == other:
        return one, one_open or other_open
    return (one, one_open) if one < other else (other, other_open)


def _members(tight: NumberSet) -> Iterator[Exact]:
    """The members of a tightened set that has two bounds and a step, in order.

    Two neighbours are as far apart as the excluded points and multiples allow: a few steps.
    """
    step = tight.step
    assert step is not None
    assert tight.lower is not None
    assert tight.upper is not None
    count = int((tight.upper - tight.lower) // step) + 1
    for index in range(count):
        member = _simplest(tight.lower + index * step)
        if not tight._leaves_out(member):
            yield member


def complement(numbers: NumberSet) -> list[NumberSet]:
    """All numbers that are not in the set, as a union.

    A number is outside when it breaks one of the conditions, so there is one set for each; they
    may overlap.

    >>> complement(NumberSet(integer_only=True, lower=3))
    [NumberSet(upper=3, upper_open=True), NumberSet(not_multiples=frozenset({1}))]
    """
    if numbers.lower is not None and numbers.lower == numbers.upper:
        if not numbers.contains(numbers.lower):
            return [NumberSet()]
        return [NumberSet(excluded=frozenset({numbers.lower}))]
    found = [NumberSet.point(point) for point in sorted(numbers.excluded)]
    if numbers.lower is not None:
        found.append(NumberSet(upper=numbers.lower, upper_open=not numbers.lower_open))
    if numbers.upper is not None:
        found.append(NumberSet(lower=numbers.upper, lower_open=not numbers.upper_open))
    if numbers.step is not None:
        found.append(NumberSet(not_multiples=frozenset({numbers.step})))
    for hole in sorted(numbers.not_multiples):
        whole = hole == 1
        found.append(NumberSet(integer_only=whole, multiple_of=None if whole else hole))
    return found


def number_literal(value: object) -> bytes:
    """The canonical spelling of one number: it depends on the value only (``1.0`` is ``1``).

    Plain digits, but an exponent where ECMAScript would print one: values of at most 17
    significant digits from 10**21 on or below 10**-6.

    >>> number_literal(2.50), number_literal(1e300)
    (b'2.5', b'1e+300')
    """
    number = exact(value)
    sign = "-" if number < 0 else ""
    whole, part = decimal_digits(-number if number < 0 else number)
    digits = (whole + part).strip("0")
    size = len(whole) if whole != "0" else len(part.lstrip("0")) - len(part)
    if not digits or len(digits) > _FLOAT_DIGITS or -6 < size <= 21:
        return f"{sign}{whole}.{part}".rstrip(".").encode()
    return f"{sign}{digits[0]}.{digits[1:]}".rstrip(".").encode() + f"e{size - 1:+03d}".encode()


# -- texts ----------------------------------------------------------------------------------------


def from_bounds(found: Mapping[str, Any], whole: bool) -> NumberSet:
    """The numbers that the keywords of one schema leave; *whole*: integers only.

    Exclusive bounds are bounds of their own, or flags of the others, as up to draft 4.
    """
    low, high = found.get("minimum"), found.get("maximum")
    below, above = found.get("exclusiveMinimum"), found.get("exclusiveMaximum")
    step = found.get("multipleOf")
    numbers = NumberSet(
        whole,
        None if low is None else exact(low),
        None if high is None else exact(high),
        below is True and low is not None,
        above is True and high is not None,
        None if step is None else exact(step),
    )
    if below is not None and not isinstance(below, bool):
        numbers = numbers.intersect(NumberSet(lower=exact(below), lower_open=True))
    if above is not None and not isinstance(above, bool):
        numbers = numbers.intersect(NumberSet(upper=exact(above), upper_open=True))
    return numbers


def number_expression(
    expressions: Expressions, numbers: NumberSet, spelling: Spelling = "canonical"
) -> int:
    """All texts that spell a member of *numbers*.

    Raises:
        LimitError: The step needs grammar rules; use :func:`number_node`.
    """
    texts = _Texts.of(expressions, numbers, spelling)
    for machine in texts.machines:
        raise LimitError("number_loop", machine.largest_loop(), MAX_LOOP)
    return texts.expression


def number_node(
    builder: GrammarBuilder, numbers: NumberSet, spelling: Spelling = "canonical"
) -> int:
    """All texts that spell a member of *numbers*, as a grammar node.

    A terminal wherever an expression is small; otherwise one rule for each state of the automaton
    that reads multiples (more than `MAX_LOOP` remainders).
    """
    texts = _Texts.of(builder.expressions, numbers, spelling)
    if not texts.machines:
        return builder.terminal(texts.expression)
    parts = [builder.terminal(texts.expression)] if texts.expression else []
    for sign, machine in zip(texts.signs, texts.machines, strict=True):
        node = machine.node(builder)
        minus = builder.terminal(builder.expressions.literal(sign)) if sign else builder.EMPTY
        parts.append(builder.sequence([minus, node]))
    return builder.choice(parts)


@dataclass(frozen=True, slots=True)
class _Texts:
    """The spellings of a set: an expression, and signed automata beside it."""

    expression: int
    signs: tuple[bytes, ...] = ()
    machines: tuple[Automaton, ...] = ()

    @classmethod
    def of(cls, expressions: Expressions, numbers: NumberSet, spelling: Spelling) -> _Texts:
        key = (cls, numbers, spelling)
        known: _Texts | None = expressions.cache.get(key)
        if known is None:
            known = expressions.cache[key] = _spelled(expressions, numbers, spelling)
        return known


def _spelled(e: Expressions, numbers: NumberSet, spelling: Spelling) -> _Texts:
    digits = DigitExpressions.of(e)
    minus = digits.minus
    if numbers.is_unconstrained and not (numbers.integer_only and spelling == "any"):
        body = digits.integers(0)
        if not numbers.integer_only:
            body = e.concat([body, digits.fraction, e.union([e.EPSILON, _any_exponent(e)])])
        return _Texts(e.concat([e.union([e.EPSILON, minus]), body]))
    found: list[int] = []
    signs: list[bytes] = []
    machines: list[Automaton] = []
    for sign, side in _sides(numbers.tightened(), spelling):
        plain = side.plain(digits, spelling == "any" or not numbers.integer_only)
        if isinstance(plain, Automaton):
            signs.append(sign)
            machines.append(plain)
            continue
        if spelling == "any":
            plain = e.union([plain, side.with_exponent(digits)])
        found.append(e.concat([minus, plain]) if sign else plain)
    union = found[0] if len(found) == 1 else e.union(found)
    return _Texts(union, tuple(signs), tuple(machines))


def _sides(tight: NumberSet, spelling: Spelling) -> list[tuple[bytes, _Side]]:
    """The magnitudes behind no sign and behind a minus sign."""
    points, holes = tight.excluded, tight.not_multiples
    upper, lower = tight.upper, tight.lower
    sides: list[tuple[bytes, _Side]] = []
    if upper is None or upper >= 0:
        start, is_open = _higher(0, False, lower, tight.lower_open)
        assert start is not None
        above = frozenset(point for point in points if point >= 0)
        side = _Side(start, is_open, upper, tight.upper_open, tight.step, above, holes)
        sides.append((b"", side))
    if lower is None or lower < 0 or (spelling == "any" and lower == 0):
        negated = None if upper is None else -upper
        start, is_open = _higher(0, False, negated, tight.upper_open)
        assert start is not None
        below = frozenset(-point for point in points if point <= 0)
        least = None if lower is None else -lower
        side = _Side(start, is_open, least, tight.lower_open, tight.step, below, holes)
        sides.append((b"-", side))
    return sides


@dataclass(frozen=True, slots=True)
class _Side:
    """Magnitudes of one sign; the fields are as in :class:`NumberSet`, tightened."""

    low: Exact
    low_open: bool
    high: Exact | None
    high_open: bool
    step: Exact | None
    excluded: frozenset[Exact]
    not_multiples: frozenset[Exact]

    @property
    def is_cone(self) -> bool:
        """Whether multiplying by any positive number stays inside."""
        free = self.high is None or (self.high == 0 and not self.high_open)
        holes = self.excluded or self.not_multiples
        return self.low == 0 and free and self.step is None and not holes

    @property
    def reach(self) -> int:
        """The largest exponent that is taken whatever the bounds are."""
        steps = [*self.not_multiples] if self.step is None else [self.step, *self.not_multiples]
        simple = all(str(step).strip("0") in ("1", "1/1") for step in steps)
        return MAX_EXPONENT if simple else MAX_STEP_EXPONENT

    def plain(self, digits: DigitExpressions, with_fraction: bool) -> int | Automaton:
        """Plain decimals, or integers without fraction."""
        if self.high is not None and self.high < self.low:
            return digits.expressions.NEVER
        if self.not_multiples:
            return self._off_grids(digits, with_fraction)
        if self.step is None or self.step == 1:
            return self._range(digits, with_fraction)
        if self.step.numerator % 10 == 0:
            shorter = self._before_zeros(digits, with_fraction)
            if shorter is not None:
                return shorter
        if self._fewer_than(_MAX_LISTED):
            return self._listed(digits, with_fraction)
        return self._read(digits, with_fraction)

    def _fewer_than(self, count: int) -> bool:
        """Whether there is a step and the bounds leave fewer than *count* multiples of it."""
        if self.step is None or self.high is None:
            return False
        return (self.high - self.low) / self.step < count

    def _read(self, digits: DigitExpressions, with_fraction: bool) -> int | Automaton:
        """By automaton: as an expression where that is small."""
        points = set(self.excluded)
        points |= {self.low} if self.low_open else set()
        points |= {self.high} if self.high_open and self.high is not None else set()
        holes = sorted(self.not_multiples)
        try:
            machine = multiples(
                self.step, self.low, self.high, sorted(points), with_fraction, holes
            )
        except LimitError:
            if self._fewer_than(_MAX_LISTED_INSTEAD):
                return self._listed(digits, with_fraction)
            raise
        if machine.largest_loop() > MAX_LOOP:
            return machine
        return machine.expression(digits.expressions)

    def _off_grids(self, digits: DigitExpressions, with_fraction: bool) -> int | Automaton:
        """Without the multiples of some steps: those inside the bounds are cut out."""
        if self._fewer_than(_MAX_LISTED):
            return self._listed(digits, with_fraction)
        e = digits.expressions
        texts = replace(self, not_multiples=frozenset()).plain(digits, with_fraction)
        outside: list[int] = []
        for hole in sorted(self.not_multiples):
            within = NumberSet(False, self.low, self.high, multiple_of=hole).tightened()
            assert within.lower is not None
            inner = _Side(within.lower, False, within.upper, False, hole, frozenset(), frozenset())
            part = inner.plain(digits, True)
            if isinstance(part, int):
                outside.append(e.complement(part))
        if isinstance(texts, int) and len(outside) == len(self.not_multiples):
            return e.intersect([texts, *outside])
        return self._read(digits, with_fraction)

    def _range(self, digits: DigitExpressions, with_fraction: bool) -> int:
        e = digits.expressions
        if self.step is None:
            texts = digits.decimals(self.low, self.low_open, self.high, self.high_open)
        else:
            texts = digits.integers(int(self.low), None if self.high is None else int(self.high))
            texts = e.concat([texts, digits.zero_fraction]) if with_fraction else texts
        if not self.excluded:
            return texts
        points = [self._point(digits, point, True) for point in sorted(self.excluded)]
        return e.intersect([texts, e.complement(e.union(points))])

    def _before_zeros(self, digits: DigitExpressions, with_fraction: bool) -> int | None:
        """A step that ends in zeros: multiples of the rest, then the zeros."""
        e = digits.expressions
        step = int(self.step or 0)
        zeros = len(str(step)) - len(str(step).rstrip("0"))
        short = self._scaled(-zeros)
        rest = step // 10**zeros
        head = replace(short, low=max(short.low, rest), step=rest).plain(digits, False)
        if isinstance(head, Automaton):
            return None
        texts = e.concat([head, e.literal(b"0" * zeros)])
        if self._holds_zero():
            texts = e.union([texts, e.literal(b"0")])
        return e.concat([texts, digits.zero_fraction]) if with_fraction else texts

    def _listed(self, digits: DigitExpressions, with_fraction: bool) -> int:
        grid = NumberSet(
            False, self.low, self.high, False, False, self.step, self.excluded, self.not_multiples
        )
        return digits.expressions.union(
            [self._point(digits, member, with_fraction) for member in _members(grid)]
        )

    @staticmethod
    def _point(digits: DigitExpressions, point: Exact, with_fraction: bool) -> int:
        """One magnitude, zeros at its end if a fraction may be written."""
        e = digits.expressions
        whole, part = decimal_digits(point)
        text = e.literal(f"{whole}.{part}".rstrip(".").encode())
        if not with_fraction:
            return text
        return e.concat([text, digits.zeros if part else digits.zero_fraction])

    # -- exponents ----------------------------------------------------------------------------

    def with_exponent(self, digits: DigitExpressions) -> int:
        """Spellings with an exponent, as far as the module's description has them."""
        e = digits.expressions
        if self.is_cone:
            all_of_them = digits.decimals(0, self.low_open, self.high, False)
            return e.concat([all_of_them, _any_exponent(e)])
        parts = [self._large(digits), self._small(digits)]
        if self._holds_zero():
            zero = e.concat([e.literal(b"0"), digits.zero_fraction])
            parts.append(e.concat([zero, _any_exponent(e)]))
        for exponent in range(-self.reach, self.reach + 1):
            try:
                mantissa = self._scaled(-exponent).plain(digits, True)
            except LimitError:  # only this exponent is left out
                continue
            if isinstance(mantissa, int):
                parts.append(e.concat([mantissa, _exponent(e, exponent, exponent)]))
        return e.union(parts)

    def _holds_zero(self) -> bool:
        holes = self.not_multiples or 0 in self.excluded
        is_empty = self.high == 0 and self.high_open
        return self.low == 0 and not self.low_open and not holes and not is_empty

    def _scaled(self, places: int) -> _Side:
        """Every member times ``10**places``."""
        factor = Fraction(10) ** places
        return _Side(
            _simplest(self.low * factor),
            self.low_open,
            None if self.high is None else _simplest(self.high * factor),
            self.high_open,
            None if self.step is None else _simplest(self.step * factor),
            frozenset(_simplest(point * factor) for point in self.excluded),
            frozenset(_simplest(hole * factor) for hole in self.not_multiples),
        )

    def _large(self, digits: DigitExpressions) -> int:
        """Mantissas of at least 1 with an exponent past all bounds."""
        e = digits.expressions
        grid = 0 if self.step is None else _power_of_ten_over(self.step)
        if self.high is not None or grid is None or self.not_multiples:
            return e.NEVER
        whole = digits.integers(1)
        largest = max([self.low, *self.excluded])
        least = max(self.reach + 1, len(decimal_digits(largest)[0]))
        if self.step is None:
            return e.concat([whole, digits.fraction, _exponent(e, least, None)])
        parts = [e.concat([whole, _exponent(e, max(least, grid), None)])]
        for places in range(1, MAX_EXPONENT + 1):
            part = e.repeat(digits.digit, places, places)
            body = e.concat([whole, e.literal(b"."), part])
            parts.append(e.concat([body, _exponent(e, max(least, grid + places), None)]))
        return e.union(parts)

    def _small(self, digits: DigitExpressions) -> int:
        """Mantissas that are not zero with an exponent below all bounds."""
        e = digits.expressions
        if self.step is not None or self.low != 0 or self.high == 0:
            return e.NEVER
        limits = [*self.not_multiples, *(point for point in self.excluded if point)]
        limits += [] if self.high is None else [self.high]
        least = MAX_EXPONENT + 1
        if limits:
            whole, part = decimal_digits(min(limits))
            zeros = len(part) - len(part.lstrip("0")) + 1 if whole == "0" else 0
            least = MAX_EXPONENT + zeros + 1
        mantissa = digits.decimals(0, True, 10**MAX_EXPONENT, True)
        return e.concat([mantissa, _exponent(e, -least, None)])


def _power_of_ten_over(step: Exact) -> int | None:
    """The least k such that *step* divides ``10**k``; None if it divides none.

    >>> _power_of_ten_over(8), _power_of_ten_over(Fraction(1, 4)), _power_of_ten_over(3)
    (3, -1, None)
    """
    top, bottom = step.numerator, step.denominator
    twos = _exponent_of(2, top) - _exponent_of(2, bottom)
    fives = _exponent_of(5, top) - _exponent_of(5, bottom)
    if Fraction(step) != Fraction(2) ** twos * Fraction(5) ** fives:
        return None
    return max(twos, fives)


def _exponent_of(prime: int, value: int) -> int:
    count = 0
    while value % prime == 0:
        value, count = value // prime, count + 1
    return count


def _any_exponent(e: Expressions) -> int:
    """``e`` or ``E``, an optional sign, digits."""
    sign = e.union([e.EPSILON, e.byte_class(b"+-")])
    return e.concat([e.byte_class(b"eE"), sign, e.repeat(e.byte_class(b"0123456789"), 1, None)])


def _exponent(e: Expressions, first: int, last: int | None) -> int:
    """The exponent *first*; with *last* None every one from there away from zero."""
    digits = DigitExpressions.of(e)
    signs = b"+-" if first == 0 else b"-" if first < 0 else b"+"
    sign = e.byte_class(signs)
    if first >= 0:
        sign = e.union([e.EPSILON, sign])
    size = abs(first)
    amount = digits.integers(size, None if last is None else size)
    return e.concat([e.byte_class(b"eE"), sign, digits.zeros, amount])
