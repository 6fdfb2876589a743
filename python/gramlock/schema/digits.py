"""Digit by digit: ranges and multiples of decimal numbers as expressions over their digits.

A *magnitude* is a number without its sign, written ``0 | [1-9][0-9]*`` with an optional fraction.
Two constructions, both exact for numbers of any size and precision:

* **Ranges** compare with a bound from the left.  While all digits were equal the next one decides:
  smaller, larger (any digits may follow), or equal (compare on).  An integer with more digits is
  larger.  For ``>= 274`` among three digits::

      2 ( 7 ( 4 | [5-9] ) | [8-9] D ) | [3-9] D D

* **Multiples** of a step are read by an automaton whose state is the remainder so far, joined with
  the comparison for each bound.  The step is brought to ``modulus * 10**-scale``: fraction digits
  up to `scale` count, others must be zero; a negative scale asks for that many final zeros.  The
  automaton is minimised.  Steps whose multiples are left out share the remainder: it is taken
  modulo the least common multiple of all steps.  Where the loops are small the automaton becomes
  an expression, solved like linear equations (Arden's rule: ``X = aX | b`` has the solution
  ``a* b``); otherwise the caller turns it into grammar rules, since an expression would be
  exponential in the size of a loop.

Cost        a range has O(digits) expressions, an automaton O(modulus * digits of its bounds)
            states before it is minimised.
Not taken   one expression per digit count (quadratic in the digits); enumerating suffixes for
            divisors of powers of ten (10**k / m of them; minimising finds the k * few states).

Tested by tests/test_numbers.py.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import lcm
from typing import TYPE_CHECKING

from gramlock.errors import LimitError

if TYPE_CHECKING:
    from gramlock._core import Expressions, GrammarBuilder

__all__ = ["MAX_LOOP", "MAX_STATES", "Automaton", "DigitExpressions", "decimal_digits", "multiples"]

MAX_STATES = 10_000
"""States of a multiples automaton, before it is minimised."""

MAX_PLACES = 128
"""Fraction digits that such an automaton reads."""

MAX_LOOP = 12
"""Largest strongly connected part of an automaton that is still solved into an expression."""

_NESTED = 200  # digits up to which each takes one level of nesting; longer bounds use blocks


def decimal_digits(value: int | Fraction) -> tuple[str, str]:
    """Integer and fraction digits of a terminating decimal, without trailing zeros.

    >>> decimal_digits(Fraction(5, 4))
    ('1', '25')
    """
    whole, rest = divmod(value.numerator, value.denominator)
    if not rest:
        return str(whole), ""
    scale = _decimal_places(value.denominator)
    digits = rest * 10**scale // value.denominator
    return str(whole), f"{digits:0{scale}d}"


def _decimal_places(denominator: int) -> int:
    """How many fraction digits 1 / denominator has; the denominator divides a power of ten."""
    twos = (denominator & -denominator).bit_length() - 1
    odd, fives = denominator >> twos, 0
    while odd % 5 == 0:
        odd, fives = odd // 5, fives + 1
    if odd != 1:
        raise ValueError(f"1/{denominator} is no terminating decimal")
    return max(twos, fives)


class DigitExpressions:
    """Range expressions in one expression store.

    Attributes:
        minus: The sign.
        digit: One decimal digit.
        digits: Any number of them, none included.
        fraction: An optional fraction, ``(.D+)?``.
        zero_fraction: An optional fraction of value zero, ``(.0+)?``.
    """

    def __init__(self, expressions: Expressions) -> None:
        self.expressions = expressions
        self._classes: dict[tuple[int, int], int] = {}
        self._counts: dict[int, int] = {}
        self.minus = expressions.literal(b"-")
        self._point = expressions.literal(b".")
        self.digit = self.one_of(0, 9)
        self.digits = expressions.repeat(self.digit, 0, None)
        self.zeros = expressions.repeat(self.one_of(0, 0), 0, None)
        self.fraction = self._optional_fraction(expressions.repeat(self.digit, 1, None))
        self.zero_fraction = self._optional_fraction(expressions.repeat(self.one_of(0, 0), 1, None))

    @classmethod
    def of(cls, expressions: Expressions) -> DigitExpressions:
        """The one instance of a store."""
        known: DigitExpressions | None = expressions.cache.get(cls)
        if known is None:
            known = expressions.cache[cls] = cls(expressions)
        return known

    def one_of(self, low: int, high: int) -> int:
        """One digit between *low* and *high*; nothing if they cross."""
        known = self._classes.get((low, high))
        if known is None:
            known = self.expressions.byte_class(range(48 + low, 49 + high))
            self._classes[low, high] = known
        return known

    def _some(self, count: int) -> int:
        known = self._counts.get(count)
        if known is None:
            known = self._counts[count] = self.expressions.repeat(self.digit, count, count)
        return known

    def _text(self, digits: str) -> int:
        if len(digits) == 1:
            value = int(digits)
            return self.one_of(value, value)
        return self.expressions.literal(digits.encode()) if digits else self.expressions.EPSILON

    def _optional_fraction(self, digits: int) -> int:
        e = self.expressions
        return e.union([e.EPSILON, e.concat([self._point, digits])])

    def _ladder(self, digits: str, tail: int, aside: Callable[[int], int]) -> int:
        """*digits* then *tail*; or, leaving them before digit i, what ``aside(i)`` matches."""
        e = self.expressions
        if len(digits) <= _NESTED:
            for at in range(len(digits) - 1, -1, -1):
                tail = e.union([e.concat([self._text(digits[at]), tail]), aside(at)])
            return tail
        size = len(digits) // (_NESTED // 2)
        for start in reversed(range(0, len(digits), size)):
            block = digits[start : start + size]
            exits = [e.concat([self._text(block[:i]), aside(start + i)]) for i in range(len(block))]
            tail = e.union([e.concat([self._text(block), tail]), *exits])
        return tail

    # -- integers ---------------------------------------------------------------------------

    def integers(self, low: int, high: int | None = None) -> int:
        """Integers between *low* >= 0 and *high* (None = no bound), without leading zeros."""
        e = self.expressions
        if high is not None and low > high:
            return e.NEVER
        if low == 0:
            rest = self.integers(1, high) if high is None or high > 0 else e.NEVER
            return e.union([self.one_of(0, 0), rest])
        first, last = str(low), None if high is None else str(high)
        if last is not None and len(first) == len(last):
            return self._same_length(first, last)
        parts, shortest = [], len(first)
        if low != 10 ** (shortest - 1):
            parts.append(self._same_length(first, "9" * shortest))
            shortest += 1
        if last is None:
            parts.append(self._lengths(shortest, None))
        elif last.strip("9"):
            parts.append(self._lengths(shortest, len(last) - 1))
            parts.append(self._same_length("1" + "0" * (len(last) - 1), last))
        else:
            parts.append(self._lengths(shortest, len(last)))
        return e.union(parts)

    def _lengths(self, low: int, high: int | None) -> int:
        """Positive integers of *low* to *high* digits."""
        e = self.expressions
        if high is not None and low > high:
            return e.NEVER
        rest = e.repeat(self.digit, low - 1, None if high is None else high - 1)
        return e.concat([self.one_of(1, 9), rest])

    def _same_length(self, low: str, high: str) -> int:
        """Digit strings between two of equal length."""
        e = self.expressions
        at = _common_prefix(low, high)
        if at == len(low):
            return self._text(low)
        rest = len(low) - at - 1
        first, last = int(low[at]), int(high[at])
        parts = []
        if low[at + 1 :].strip("0"):
            tail = self._ladder(
                low[at + 1 :],
                e.EPSILON,
                lambda i: e.concat(
                    [self.one_of(int(low[at + 1 + i]) + 1, 9), self._some(rest - i - 1)]
                ),
            )
            parts.append(e.concat([self.one_of(first, first), tail]))
            first += 1
        if high[at + 1 :].strip("9"):
            tail = self._ladder(
                high[at + 1 :],
                e.EPSILON,
                lambda i: e.concat(
                    [self.one_of(0, int(high[at + 1 + i]) - 1), self._some(rest - i - 1)]
                ),
            )
            parts.append(e.concat([self.one_of(last, last), tail]))
            last -= 1
        if first <= last:
            inner = self.one_of(first, last)
            parts.append(e.concat([inner, self._some(rest)]) if rest else inner)
        same = e.union(parts)
        return e.concat([self._text(low[:at]), same]) if at else same

    # -- decimals ---------------------------------------------------------------------------

    def decimals(
        self,
        low: int | Fraction,
        low_open: bool,
        high: int | Fraction | None = None,
        high_open: bool = False,
    ) -> int:
        """Plain decimals between *low* >= 0 and *high*; an open bound is itself left out."""
        e = self.expressions
        if high is not None and (low > high or (low == high and (low_open or high_open))):
            return e.NEVER
        whole, digits = decimal_digits(low)
        start = int(whole)
        parts = []
        if high is not None:
            top, top_digits = decimal_digits(high)
            if top == whole:
                between = self._between(digits, low_open, top_digits, high_open)
                return e.concat([self._text(whole), between])
            parts.append(e.concat([self._text(top), self._up_to(top_digits, high_open)]))
        if digits or low_open:
            parts.append(e.concat([self._text(whole), self._from(digits, low_open)]))
            start += 1
        inner = self.integers(start, None if high is None else int(top) - 1)
        inner = e.concat([inner, self.fraction])
        return e.union([*parts, inner]) if parts else inner

    def _from(self, digits: str, is_open: bool) -> int:
        """Fractions, or none, of at least ``.digits`` (not all zero, or the bound is open)."""
        return self.expressions.concat([self._point, self._digits_from(digits, is_open, True)])

    def _digits_from(self, digits: str, is_open: bool, need_one: bool) -> int:
        """Fraction digits of at least *digits*; *need_one*: at least one digit."""
        e = self.expressions
        if is_open:
            tail = e.concat([self.zeros, self.one_of(1, 9), self.digits])
        elif digits or not need_one:
            tail = self.digits
        else:
            tail = e.repeat(self.digit, 1, None)
        return self._ladder(
            digits, tail, lambda i: e.concat([self.one_of(int(digits[i]) + 1, 9), self.digits])
        )

    def _up_to(self, digits: str, is_open: bool) -> int:
        """Fractions of at most ``.digits``; none where zero is allowed."""
        e = self.expressions
        if not digits:
            return e.NEVER if is_open else self.zero_fraction
        return e.union(
            [e.EPSILON, e.concat([self._point, self._digits_up_to(digits, is_open, True)])]
        )

    def _digits_up_to(self, digits: str, is_open: bool, need_one: bool) -> int:
        """Fraction digits of at most *digits*; *need_one*: at least one (then *digits* has one)."""
        e = self.expressions

        def aside(i: int) -> int:
            below = e.concat([self.one_of(0, int(digits[i]) - 1), self.digits])
            return below if need_one and i == 0 else e.union([e.EPSILON, below])

        return self._ladder(digits, e.NEVER if is_open else self.zeros, aside)

    def _between(self, low: str, low_open: bool, high: str, high_open: bool) -> int:
        """Fractions, or none, between two of the same integer part, ``.low`` <= ``.high``."""
        e = self.expressions
        size = max(len(low), len(high))
        low, high = low.ljust(size, "0"), high.ljust(size, "0")
        at = _common_prefix(low, high)

        def stop(i: int) -> int:
            """The end before digit i: the value is ``.low[:i]``, of which all digits are shared."""
            inside = not (low_open or low[i:].strip("0")) and (
                not high_open or bool(high[i:].strip("0"))
            )
            return e.EPSILON if inside else e.NEVER

        if at < size:
            body = self._parted(low[at:], low_open, high[at:], high_open)
            body = e.union([body, stop(at) if at else e.NEVER])
        else:
            body = e.repeat(self.one_of(0, 0), 0 if size else 1, None)
            body = e.NEVER if low_open or high_open else body
        body = self._ladder(low[:at], body, lambda i: stop(i) if i else e.NEVER)
        return e.union([stop(0), e.concat([self._point, body])])

    def _parted(self, low: str, low_open: bool, high: str, high_open: bool) -> int:
        """Fraction digits between two whose first digits differ; at least one digit."""
        e = self.expressions
        first, last = int(low[0]), int(high[0])
        above = self._digits_from(low[1:].rstrip("0"), low_open, False)
        below = self._digits_up_to(high[1:].rstrip("0"), high_open, False)
        return e.union(
            [
                e.concat([self.one_of(first, first), above]),
                e.concat([self.one_of(first + 1, last - 1), self.digits]),
                e.concat([self.one_of(last, last), below]),
            ]
        )


def _common_prefix(one: str, other: str) -> int:
    """How many first characters two strings of equal length share."""
    return next((i for i, (a, b) in enumerate(zip(one, other, strict=True)) if a != b), len(one))


# -- automata -----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Automaton:
    """A deterministic automaton over digits and the point; state 0 is the start.

    Attributes:
        moves: Per state, the next state by character (a key of ``"0123456789."``).
        accepting: Per state, whether what was read is a member.
    """

    moves: tuple[dict[str, int], ...]
    accepting: tuple[bool, ...]

    def edges(self, state: int) -> dict[int, list[int]]:
        """The bytes that lead to each next state."""
        found: dict[int, list[int]] = {}
        for character, target in self.moves[state].items():
            found.setdefault(target, []).append(ord(character))
        return found

    def largest_loop(self) -> int:
        """States of the largest strongly connected part."""
        return max((len(part) for part in self._components()), default=0)

    def expression(self, expressions: Expressions) -> int:
        """The same language as an expression; its size is exponential in `largest_loop`."""
        solved: dict[int, int] = {}
        for part in self._components():
            self._solve(expressions, part, solved)
        return solved[0] if solved else expressions.NEVER

    def node(self, builder: GrammarBuilder) -> int:
        """The same language as right-linear rules, one a state."""
        if not self.moves:
            return builder.FAIL
        expressions = builder.expressions
        rules = [builder.rule() for _ in self.moves]
        for state, rule in enumerate(rules):
            ways = [builder.EMPTY] if self.accepting[state] else []
            for target, members in self.edges(state).items():
                step = builder.terminal(expressions.byte_class(members))
                ways.append(builder.sequence([step, rules[target]]))
            builder.define(rule, builder.choice(ways))
        return rules[0]

    def _solve(self, e: Expressions, part: Sequence[int], solved: dict[int, int]) -> None:
        """Solve the equations of one component, those it leads to being solved."""
        inside = set(part)
        constant: dict[int, int] = {}
        factor: dict[tuple[int, int], int] = {}
        for state in part:
            ways = [e.EPSILON] if self.accepting[state] else []
            for target, members in self.edges(state).items():
                step = e.byte_class(members)
                if target in inside:
                    factor[state, target] = step
                else:
                    ways.append(e.concat([step, solved[target]]))
            constant[state] = e.union(ways)
        for at, state in enumerate(part):
            self._eliminate(e, state, part[at + 1 :], factor, constant)
        for at in reversed(range(len(part))):
            state = part[at]
            ways = [
                e.concat([factor[state, other], solved[other]])
                for other in part[at + 1 :]
                if (state, other) in factor
            ]
            solved[state] = e.union([constant[state], *ways])

    @staticmethod
    def _eliminate(
        e: Expressions,
        state: int,
        later: Sequence[int],
        factor: dict[tuple[int, int], int],
        constant: dict[int, int],
    ) -> None:
        """Arden's rule for *state*, then its substitution into the equations of *later* ones."""
        loop = factor.pop((state, state), None)
        outgoing = [other for other in later if (state, other) in factor]
        if loop is not None:
            star = e.repeat(loop, 0, None)
            constant[state] = e.concat([star, constant[state]])
            for other in outgoing:
                factor[state, other] = e.concat([star, factor[state, other]])
        for row in later:
            into = factor.pop((row, state), None)
            if into is None:
                continue
            constant[row] = e.union([constant[row], e.concat([into, constant[state]])])
            for other in outgoing:
                way = e.concat([into, factor[state, other]])
                factor[row, other] = e.union([factor.get((row, other), e.NEVER), way])

    def _components(self) -> list[list[int]]:
        """Strongly connected components, each after those it leads to (Tarjan)."""
        order: dict[int, int] = {}
        low: dict[int, int] = {}
        stack: list[int] = []
        open_states: set[int] = set()
        found: list[list[int]] = []
        work: list[tuple[int, Iterator[int]]] = []

        def enter(state: int) -> None:
            order[state] = low[state] = len(order)
            stack.append(state)
            open_states.add(state)
            work.append((state, iter(sorted(set(self.moves[state].values())))))

        if self.moves:
            enter(0)
        while work:
            state, targets = work[-1]
            target = next(targets, None)
            if target is None:
                work.pop()
                if work:
                    low[work[-1][0]] = min(low[work[-1][0]], low[state])
                if low[state] == order[state]:
                    cut = stack.index(state)
                    found.append(stack[cut:])
                    open_states.difference_update(stack[cut:])
                    del stack[cut:]
            elif target not in order:
                enter(target)
            elif target in open_states:
                low[state] = min(low[state], order[target])
        return found


_Orders = tuple[int, ...]
_State = tuple[str, int, _Orders, int, int]
_SETTLED, _FAILED = 2, 3
_OFF = -1  # remainder of a number with more fraction digits than any step has
_Bound = tuple[str, str, str]  # integer digits, fraction digits, and ">=", "<=" or "!="


@dataclass(frozen=True)
class _Reader:
    """The steps of the multiples automaton.

    A state is (phase, places, comparisons, remainder, zeros).  Phases: ``start``, ``zero`` (the
    integer part is a single 0), ``whole``, ``point`` (the point was just read), ``part``.
    `places` counts the digits read of the current part, as far as they matter.  A comparison is
    the order of what was read against the same places of a bound: -1, 0, 1, or `_SETTLED` once the
    bound holds whatever follows.  `zeros` counts the final zeros not yet in the remainder (only
    with padding).
    """

    modulus: int  # a multiple of the grid and of all holes
    grid: int  # what members are multiples of; 0 = no condition
    holes: tuple[int, ...]  # what members are no multiples of
    scale: int  # fraction digits that count in the remainder
    longest: int  # fraction digits that count at all
    padding: int  # final zeros that are asked for; 0 unless scale is 0
    bounds: tuple[_Bound, ...]
    with_fraction: bool

    @property
    def start(self) -> _State:
        return ("start", 0, (0,) * len(self.bounds), 0, 0)

    def move(self, state: _State, character: str) -> _State | None:
        phase, places, compared, remainder, zeros = state
        if character == ".":
            if phase not in ("zero", "whole") or not self.with_fraction:
                return None
            if self.padding and not (phase == "zero" or self._ends(remainder, zeros)):
                return None
            found = self._whole_read(places, compared)
            if found is None:
                return None
            return ("point", 0, found, 0 if self.padding else remainder, 0)
        if phase == "zero":
            return None
        if phase in ("start", "whole"):
            return self._whole_digit(state, int(character))
        return self._part_digit(state, int(character))

    def _whole_digit(self, state: _State, digit: int) -> _State | None:
        phase, places, compared, remainder, zeros = state
        compared = tuple(
            _whole_order(order, bound, places, digit)
            for order, bound in zip(compared, self.bounds, strict=True)
        )
        if _FAILED in compared:
            return None
        places = 0 if all(order == _SETTLED for order in compared) else places + 1
        if phase == "start" and digit == 0:
            return ("zero", places, compared, 0, 0)
        if digit == 0 and zeros < self.padding:
            return ("whole", places, compared, remainder, zeros + 1)
        if digit == 0:
            return ("whole", places, compared, remainder * 10 % self.modulus, zeros)
        remainder = (remainder * 10 ** (zeros + 1) + digit) % self.modulus
        return ("whole", places, compared, remainder, 0)

    def _part_digit(self, state: _State, digit: int) -> _State | None:
        _, places, compared, remainder, _ = state
        if places < self.scale:
            remainder = (remainder * 10 + digit) % self.modulus
        elif digit:
            if self.grid:
                return None
            remainder = _OFF
        compared = tuple(
            _decided(order or _order(digit, part[places : places + 1] or "0"), relation)
            for order, (_, part, relation) in zip(compared, self.bounds, strict=True)
        )
        if _FAILED in compared:
            return None
        return ("part", min(places + 1, self.longest), compared, remainder, 0)

    def _is_member(self, value: int) -> bool:
        """Whether a number of this remainder is on the grid and in no hole."""
        if value == _OFF:
            return True
        return not (self.grid and value % self.grid) and all(value % hole for hole in self.holes)

    def _ends(self, remainder: int, zeros: int) -> bool:
        return remainder == 0 and zeros == self.padding

    def _whole_read(self, places: int, compared: _Orders) -> _Orders | None:
        """Comparisons of whole integer parts (a shorter one is smaller); None if one fails."""
        found = tuple(
            order if order == _SETTLED else _decided(-1 if places < len(whole) else order, relation)
            for order, (whole, _, relation) in zip(compared, self.bounds, strict=True)
        )
        return None if _FAILED in found else found

    def accepts(self, state: _State) -> bool:
        phase, places, compared, remainder, zeros = state
        if phase in ("start", "point"):
            return False
        if phase != "part":
            found = self._whole_read(places, compared)
            if found is None or (
                self.padding and phase == "whole" and not self._ends(remainder, zeros)
            ):
                return False
            compared, places = found, 0
        if remainder != _OFF:
            remainder *= 10 ** max(self.scale - places, 0)
        if not self._is_member(remainder):
            return False
        return all(
            order == _SETTLED or _holds(-1 if part[places:].strip("0") else 0, relation)
            for order, (_, part, relation) in zip(compared, self.bounds, strict=True)
        )


def _whole_order(order: int, bound: _Bound, places: int, digit: int) -> int:
    """The comparison after one more digit of the integer part, of which *places* were read."""
    whole, _, relation = bound
    if order == _SETTLED:
        return order
    if places == len(whole):
        return _FAILED if relation == "<=" else _SETTLED
    order = order or _order(digit, whole[places])
    return _SETTLED if order and relation == "!=" else order


def _decided(order: int, relation: str) -> int:
    """What an order means that no later digit changes; 0 stays open."""
    if order in (0, _SETTLED):
        return order
    return _SETTLED if _holds(order, relation) else _FAILED


def _holds(order: int, relation: str) -> bool:
    return {">=": order >= 0, "<=": order <= 0, "!=": order != 0}[relation]


def _order(digit: int, other: str) -> int:
    return (digit > int(other)) - (digit < int(other))


def multiples(
    step: int | Fraction | None,
    low: int | Fraction | None,
    high: int | Fraction | None,
    excluded: Sequence[int | Fraction],
    with_fraction: bool,
    holes: Sequence[int | Fraction] = (),
) -> Automaton:
    """The magnitudes that are multiples of *step* between *low* and *high* (both included).

    *excluded* are points that are left out, *holes* are steps whose multiples are.  *with_fraction*
    also takes plain decimals, otherwise only integers without fraction.

    Raises:
        LimitError: More than `MAX_STATES` states, or more than `MAX_PLACES` decimals, since
            merging equal states takes a round a decimal.
    """
    steps = [*holes] if step is None else [step, *holes]
    bounds: list[_Bound] = [(*decimal_digits(value), "!=") for value in excluded]
    if low:
        bounds.append((*decimal_digits(low), ">="))
    if high is not None:
        bounds.append((*decimal_digits(high), "<="))
    scale = max(_decimal_places(each.denominator) for each in steps)
    longest = max([scale, *(len(part) for _, part, _ in bounds)]) if step is None else scale
    if longest > MAX_PLACES:
        raise LimitError("number_digits", longest, MAX_PLACES)
    moduli = [each.numerator * (10**scale // each.denominator) for each in steps]
    modulus, padding = lcm(*moduli), 0
    while scale == 0 and not holes and modulus % 10 == 0:
        modulus, padding = modulus // 10, padding + 1
    if modulus * (padding + 1) > MAX_STATES:
        raise LimitError("number_states", modulus * (padding + 1), MAX_STATES)
    grid = 0 if step is None else modulus if not holes else moduli[0]
    without = tuple(moduli[len(moduli) - len(holes) :])
    reader = _Reader(modulus, grid, without, scale, longest, padding, tuple(bounds), with_fraction)
    return _minimised(*_explored(reader))


def _explored(reader: _Reader) -> tuple[list[dict[str, int]], list[bool]]:
    numbers = {reader.start: 0}
    states = [reader.start]
    moves: list[dict[str, int]] = []
    for state in states:
        row = {}
        for character in "0123456789.":
            after = reader.move(state, character)
            if after is None:
                continue
            if after not in numbers:
                numbers[after] = len(states)
                states.append(after)
                if len(states) > MAX_STATES:
                    raise LimitError("number_states", len(states), MAX_STATES)
            row[character] = numbers[after]
        moves.append(row)
    return moves, [reader.accepts(state) for state in states]


def _minimised(moves: list[dict[str, int]], accepting: list[bool]) -> Automaton:
    """Drop states that accept nothing, merge equal ones (Moore's refinement)."""
    alive = _alive(moves, accepting)
    if 0 not in alive:
        return Automaton((), ())
    moves = [{c: t for c, t in row.items() if t in alive} for row in moves]
    order = sorted(alive)
    block = [int(flag) for flag in accepting]
    count = 0
    while True:
        names: dict[object, int] = {}
        refined = block.copy()
        for state in order:
            shape = (block[state], tuple((c, block[t]) for c, t in moves[state].items()))
            refined[state] = names.setdefault(shape, len(names))
        block = refined
        if len(names) == count:
            break
        count = len(names)
    first: dict[int, int] = {}
    for state in order:
        first.setdefault(block[state], state)
    return Automaton(
        tuple({c: block[t] for c, t in moves[first[b]].items()} for b in range(count)),
        tuple(accepting[first[b]] for b in range(count)),
    )


def _alive(moves: list[dict[str, int]], accepting: list[bool]) -> set[int]:
    """States from which an accepting one can be reached."""
    before: list[list[int]] = [[] for _ in moves]
    for state, row in enumerate(moves):
        for target in row.values():
            before[target].append(state)
    queue = [state for state, flag in enumerate(accepting) if flag]
    alive = set(queue)
    while queue:
        for state in before[queue.pop()]:
            if state not in alive:
                alive.add(state)
                queue.append(state)
    return alive
