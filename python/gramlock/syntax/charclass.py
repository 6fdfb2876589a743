"""Sets of code points as sorted, disjoint, non-adjacent ranges.            Tested by test_regex.py.

A set is a tuple of ``(first, last)`` pairs, both ends included. Canonical form makes equal sets
equal tuples, so that they serve as keys. Every operation is one linear pass.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable
from typing import Final

__all__ = [
    "ALL",
    "DIGIT",
    "EMPTY",
    "LINE_END",
    "NOT_LINE_END",
    "SCALAR",
    "SPACE",
    "TOP",
    "WORD",
    "Ranges",
    "complement",
    "contains",
    "intersection",
    "normalise",
    "scalars",
    "subtract",
    "union",
]

Ranges = tuple[tuple[int, int], ...]

TOP: Final = 0x10FFFF
EMPTY: Final[Ranges] = ()
ALL: Final[Ranges] = ((0, TOP),)
SCALAR: Final[Ranges] = ((0, 0xD7FF), (0xE000, TOP))
DIGIT: Final[Ranges] = ((0x30, 0x39),)
WORD: Final[Ranges] = ((0x30, 0x39), (0x41, 0x5A), (0x5F, 0x5F), (0x61, 0x7A))
LINE_END: Final[Ranges] = ((0x0A, 0x0A), (0x0D, 0x0D), (0x2028, 0x2029))
# ECMA-262 WhiteSpace (TAB VT FF SP NBSP ZWNBSP and category Zs) with LineTerminator.
SPACE: Final[Ranges] = (
    (0x09, 0x0D),
    (0x20, 0x20),
    (0xA0, 0xA0),
    (0x1680, 0x1680),
    (0x2000, 0x200A),
    (0x2028, 0x2029),
    (0x202F, 0x202F),
    (0x205F, 0x205F),
    (0x3000, 0x3000),
    (0xFEFF, 0xFEFF),
)


def normalise(ranges: Iterable[tuple[int, int]]) -> Ranges:
    """Sort and merge ranges that overlap or touch."""
    out: list[tuple[int, int]] = []
    for low, high in sorted(ranges):
        if out and low <= out[-1][1] + 1:
            if high > out[-1][1]:
                out[-1] = (out[-1][0], high)
        else:
            out.append((low, high))
    return tuple(out)


def union(*sets: Ranges) -> Ranges:
    """Return the code points in any of *sets*."""
    if len(sets) == 1:
        return sets[0]
    return normalise([pair for members in sets for pair in members])


def complement(members: Ranges) -> Ranges:
    """Return the code points, surrogates included, that are not in *members*."""
    out: list[tuple[int, int]] = []
    position = 0
    for low, high in members:
        if low > position:
            out.append((position, low - 1))
        position = high + 1
    if position <= TOP:
        out.append((position, TOP))
    return tuple(out)


def intersection(left: Ranges, right: Ranges) -> Ranges:
    """Return the code points in both sets."""
    if left == ALL:
        return right
    if right == ALL:
        return left
    out: list[tuple[int, int]] = []
    i = j = 0
    while i < len(left) and j < len(right):
        low = max(left[i][0], right[j][0])
        high = min(left[i][1], right[j][1])
        if low <= high:
            out.append((low, high))
        if left[i][1] < right[j][1]:
            i += 1
        else:
            j += 1
    return tuple(out)


def subtract(left: Ranges, right: Ranges) -> Ranges:
    """Return the code points of *left* that are not in *right*."""
    return intersection(left, complement(right))


def scalars(members: Ranges) -> Ranges:
    """Drop surrogates, which no text holds."""
    return intersection(members, SCALAR)


def contains(members: Ranges, code: int) -> bool:
    """Tell whether *code* is in *members*."""
    index = bisect_right(members, (code, TOP)) - 1
    return index >= 0 and members[index][1] >= code


NOT_LINE_END: Final[Ranges] = complement(LINE_END)
