"""Internationalised host names: the labels of RFC 5890 as far as they are regular.

A name is labels between dots.  A label is made of *units*, with single hyphens between them: a
letter, digit or mark that RFC 5892 lets stand anywhere, or one of the characters that it allows
only beside certain others, together with these (``l·l``, Greek after a keraia, a joiner after a
virama ...).  By the Bidi rule of RFC 5893 a name with a right-to-left label has no label that
starts with a digit, and a right-to-left label has European or Arabic digits, not both::

    name   = word after-words | number ( dot ( word | number ) )* | rtl after-rtl
    after-words = ( dot word )* ( dot number ( dot ( word | number ) )* | dot rtl after-rtl )?
    after-rtl   = ( dot ( word | rtl ) )*

Written this way every character leads to one expression: a union of whole names, each with its
sets of thousands of letters, would be followed in all its branches at once.

What is approximated is in `UNWRITTEN` and `UNCHECKED`: the table of RFC 5892 by general category,
exceptions and blocks; right-to-left by blocks; some contexts by a stricter rule; no A-labels, whose
Punycode is not regular, and of the limit on their length no more than this: a label that needs one
has at most 59 characters, since ``xn--`` goes before it.

Tested by tests/test_formats.py.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from gramlock.syntax.charclass import Ranges, intersection, normalise, subtract, union
from gramlock.syntax.regex_expr import Encoding
from gramlock.syntax.unicode_sets import property_set

if TYPE_CHECKING:
    from gramlock._core import Expressions

__all__ = ["UNCHECKED", "UNWRITTEN", "host_name"]

UNWRITTEN = (
    "rules for single characters are stricter than RFC 5892 has them; no capital letters beside "
    "others than ASCII, no two hyphens in a row, and so no A-labels"
)
UNCHECKED = (
    "the table of RFC 5892 is approximated by categories and blocks; the length of a label is "
    "counted as written, and not in Punycode; the length of the whole name is not checked"
)

_BANNED = [(0x640, 0x640), (0x7FA, 0x7FA), (0x302E, 0x302F), (0x3031, 0x3035), (0x303B, 0x303B)]
# Blocks of characters that normalisation (NFKC) changes, and of old Hangul.
_UNSTABLE = [(0x1100, 0x11FF), (0x3131, 0x318E), (0xA960, 0xA97F), (0xD7B0, 0xD7FF)]
_UNSTABLE += [(0x1D2C, 0x1D6A), (0x2C7C, 0x2C7D), (0xF900, 0xFDFF), (0xFE70, 0xFEFF)]
_UNSTABLE += [(0xFF00, 0xFFEF), (0x1D400, 0x1D7FF), (0x1EE00, 0x1EEFF), (0x2F800, 0x2FA1F)]
_UNSTABLE += [(0x2B0, 0x2B8), (0x2E0, 0x2E4), (0x340, 0x341), (0x343, 0x345)]
_EXCEPTIONS = [(0x6FD, 0x6FE), (0xF0B, 0xF0B), (0x3007, 0x3007)]
_RIGHT_TO_LEFT = [(0x590, 0x8FF), (0xFB1D, 0xFDFF), (0x10800, 0x10FFF), (0x1E800, 0x1EFFF)]
_FIGURES = [(0x30, 0x39)]
_ASCII_LETTERS = [(0x41, 0x5A), (0x61, 0x7A)]
_EUROPEAN = [*_FIGURES, (0x6F0, 0x6F9)]
_ARABIC = [(0x660, 0x669)]
_VIRAMAS = [0x94D, 0x9CD, 0xA4D, 0xACD, 0xB4D, 0xBCD, 0xC4D, 0xCCD, 0xD4D, 0xDCA, 0x1039]
# Letters of Arabic scripts that join on both sides, and to the right: between them a word may have
# a zero-width non-joiner (appendix A.1 of RFC 5892). Not all: those of common words.
_JOIN_BOTH = [(0x628, 0x628), (0x62A, 0x62E), (0x633, 0x63A), (0x641, 0x647), (0x649, 0x64A)]
_JOIN_BOTH += [(code, code) for code in (0x67E, 0x686, 0x6A9, 0x6AF, 0x6CC)]
_JOIN_RIGHT = [(0x622, 0x625), (0x627, 0x627), (0x629, 0x629), (0x62F, 0x632), (0x648, 0x648)]
_DOTS = [(0x2E, 0x2E), (0x3002, 0x3002), (0xFF0E, 0xFF0E), (0xFF61, 0xFF61)]


def _categories(*names: str) -> Ranges:
    return union(*(property_set(name, None) or () for name in names))


def _scripts(*names: str) -> Ranges:
    return union(*(property_set("Script", name) or () for name in names))


@dataclass(frozen=True)
class _Characters:
    """The sets that labels are made of."""

    letters: Ranges  # of both directions, without the digits of _EUROPEAN and _ARABIC
    marks: Ranges

    @classmethod
    def read(cls) -> _Characters:
        out = normalise([*_BANNED, *_UNSTABLE])
        digits = normalise([*_EUROPEAN, *_ARABIC])
        stable = subtract(_categories("Ll", "Lo", "Lm", "Nd"), union(out, digits))
        return cls(union(stable, normalise(_EXCEPTIONS)), subtract(_categories("Mn", "Mc"), out))


class _Names:
    """Builds the expressions of labels and names in one store and encoding."""

    def __init__(self, e: Expressions, encoding: Encoding) -> None:
        self.e, self.encoding = e, encoding
        found = _Characters.read()
        right = normalise(_RIGHT_TO_LEFT)
        self.left = subtract(found.letters, right)
        self.right = intersection(found.letters, right)
        self.hyphen = e.union([e.EPSILON, self.of([(0x2D, 0x2D)])])
        self.dot = self.of(_DOTS)
        viramas = normalise([(code, code) for code in _VIRAMAS])
        joiner = e.union([e.EPSILON, self.of([(0x200C, 0x200D)])])
        self.mark = e.union(
            [self.of(subtract(found.marks, viramas)), e.concat([self.of(viramas), joiner])]
        )

    def of(self, ranges: Sequence[tuple[int, int]]) -> int:
        return self.e.codepoints(list(ranges), self.encoding)

    def one(self, code: int) -> int:
        return self.of([(code, code)])

    def some(self, item: int, low: int = 0) -> int:
        return self.e.repeat(item, low, None)

    def left_unit(self) -> int:
        """A left-to-right letter with what depends on it."""
        e = self.e
        small_l, dots = (0x6C, 0x6C), self.one(0x30FB)
        kana = intersection(self.left, _scripts("Hiragana", "Katakana", "Han"))
        greek = intersection(self.left, _scripts("Greek"))
        syllable = e.concat([self.of(kana), self.some(dots)])
        return e.union(
            [
                self.of(subtract(self.left, union(kana, (small_l,)))),
                e.concat([self.one(0x6C), self.some(self._middle())]),
                e.concat([self.one(0x375), self.of(greek)]),
                syllable,
                e.concat([self.some(dots, 1), syllable]),
            ]
        )

    def _middle(self) -> int:
        """A middle dot and the l after it."""
        return self.e.concat([self.one(0xB7), self.one(0x6C)])

    def right_unit(self) -> int:
        """A right-to-left letter; in Hebrew geresh or gershayim may follow, in Arabic scripts a
        non-joiner and one more letter."""
        e = self.e
        hebrew = intersection(self.right, _scripts("Hebrew"))
        sign = e.union([e.EPSILON, self.of([(0x5F3, 0x5F4)])])
        both = intersection(self.right, normalise(_JOIN_BOTH))
        joined, gap = self.of(both), self.one(0x200C)
        last = e.union([e.EPSILON, e.concat([gap, self.of(_JOIN_RIGHT)])])
        return e.union(
            [
                self.of(subtract(self.right, union(hebrew, both))),
                e.concat([self.of(hebrew), sign]),
                e.concat([joined, self.some(e.concat([gap, joined])), last]),
            ]
        )

    def limited(self, label: int) -> int:
        """The labels of at most 63 characters, 59 if one is not ASCII."""
        e = self.e
        plain, any_one = self.of([(0, 0x7F)]), self.of([(0, 0x10FFFF)])
        return e.intersect([label, e.union([e.repeat(plain, 1, 63), e.repeat(any_one, 1, 59)])])

    def later(self, *units: int) -> int:
        """Any number of units, a hyphen before any."""
        return self.some(self.e.concat([self.hyphen, self.e.union([*units, self.mark])]))

    def right_label(self) -> int:
        e = self.e
        unit = self.right_unit()
        digits = [
            e.concat([self.hyphen, digit, self.later(unit, digit)])
            for digit in (self.of(_EUROPEAN), self.of(_ARABIC))
        ]
        return self.limited(e.concat([unit, self.later(unit), e.union([e.EPSILON, *digits])]))

    def name(self) -> int:
        e = self.e
        letter, digit = self.left_unit(), self.of(_EUROPEAN)
        rest = self.later(letter, digit)
        plain = self.of([*_FIGURES, *_ASCII_LETTERS])
        plain_rest = self.some(e.concat([self.hyphen, plain]))  # capitals, if all is ASCII
        capital, figure = self.of(_ASCII_LETTERS), self.of(_FIGURES)
        word = self.limited(e.union([e.concat([letter, rest]), e.concat([capital, plain_rest])]))
        number = self.limited(e.union([e.concat([digit, rest]), e.concat([figure, plain_rest])]))
        numbers = e.concat([number, self._dotted(e.union([word, number]))])
        rtl = self.right_label()
        mixed = e.concat([rtl, self._dotted(e.union([word, rtl]))])
        ends = e.concat([self.dot, e.union([numbers, mixed])])
        words = e.concat([word, self._dotted(word), e.union([e.EPSILON, ends])])
        return e.union([words, numbers, mixed])

    def _dotted(self, label: int) -> int:
        return self.some(self.e.concat([self.dot, label]))


def host_name(expressions: Expressions, encoding: Encoding) -> int:
    """Internationalised host names, their characters written as *encoding* says."""
    return _Names(expressions, encoding).name()
