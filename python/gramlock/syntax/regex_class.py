"""Escapes and character classes of ECMA-262 regular expressions.          Tested by test_regex.py.

Both are read here because a class is made of escapes. Under ``v`` with ``i`` sets live in folded
space (the standard's MaybeSimpleCaseFolding), under ``u`` with ``i`` they are closed over case at
the end; so ``\\P{Lu}`` means different things under the two, as the standard has it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Final, NamedTuple

from gramlock.syntax import charclass as cc
from gramlock.syntax import unicode_sets as us
from gramlock.syntax.charclass import Ranges

__all__ = ["ClassValue", "Mode", "Source", "read_class", "read_escape", "word_set"]

MAX_CLASS_NESTING: Final = 100

_CONTROL = {"t": 9, "n": 10, "v": 11, "f": 12, "r": 13}
_HEX2 = re.compile(r"[0-9A-Fa-f]{2}")
_HEX4 = re.compile(r"[0-9A-Fa-f]{4}")
_TRAIL = re.compile(r"\\u([Dd][C-Fc-f][0-9A-Fa-f]{2})")
_BRACED = re.compile(r"\{([0-9A-Fa-f]+)\}")
_PROPERTY = re.compile(r"\{([A-Za-z0-9_]+)(?:=([A-Za-z0-9_]+))?\}")
_POSIX = re.compile(r"\[([:.=])\^?[A-Za-z]*\1\]")
_WORD_FOLDED = cc.union(cc.WORD, ((0x17F, 0x17F), (0x212A, 0x212A)))
_FOREIGN = {
    "A": "the start is written ^",
    "Z": "the end is written $",
    "z": "the end is written $",
    "a": "a bell is written \\x07",
    "e": "an escape character is written \\x1b",
    "G": "",
    "K": "",
    "Q": "",
    "E": "",
    "R": "a line break is written (?:\\r\\n|[\\n\\r\\u2028\\u2029])",
    "X": "",
    "h": "horizontal space is written [\\t\\p{Zs}]",
    "H": "",
    "N": "anything but a line break is written .",
    "V": "",
}
_SET_SYNTAX = "()[]{}/-|"
_SET_DOUBLE = "&!#$%*+,.:;<=>?@^`~"


class Mode(NamedTuple):
    """The flags in force at some place: i, v, s and m."""

    ignore_case: bool = False
    sets: bool = False
    dot_all: bool = False
    multiline: bool = False


@dataclass
class Source:
    """The text being read and what was found wrong with it.

    Attributes:
        text: The pattern.
        problems: (offset, message) of each problem, in the order found.
    """

    text: str
    problems: list[tuple[int, str]] = field(default_factory=list)

    def problem(self, offset: int, message: str) -> None:
        """Note something wrong; reading goes on."""
        self.problems.append((offset, message))


class ClassValue(NamedTuple):
    """What a class matches: code points, and under ``v`` also strings of other lengths than 1."""

    members: Ranges
    strings: frozenset[str] = frozenset()


@lru_cache(maxsize=1)
def _foldings() -> Ranges:
    return us.folded(cc.ALL)


def _negate(members: Ranges, mode: Mode) -> Ranges:
    """Return the complement; among foldings where sets live in folded space."""
    if mode.ignore_case and mode.sets:
        return cc.subtract(_foldings(), members)
    return cc.complement(members)


def _fold_sets(members: Ranges, mode: Mode) -> Ranges:
    return us.folded(members) if mode.ignore_case and mode.sets else members


def word_set(ignore_case: bool) -> Ranges:
    """Return what ``\\w`` matches."""
    return _WORD_FOLDED if ignore_case else cc.WORD


def _class_escape(letter: str, mode: Mode) -> Ranges:
    """Return the set of ``\\d \\D \\s \\S \\w \\W``."""
    members = {"d": cc.DIGIT, "s": cc.SPACE, "w": word_set(mode.ignore_case)}[letter.lower()]
    return members if letter.islower() else _negate(members, mode)


def _read_property(source: Source, pos: int, mode: Mode) -> tuple[Ranges, int]:
    """Read ``\\p{...}`` or ``\\P{...}``, whose backslash is at *pos*."""
    match = _PROPERTY.match(source.text, pos + 2)
    if match is None:
        source.problem(pos, f"\\{source.text[pos + 1]} needs a property in braces")
        return cc.EMPTY, pos + 2
    members = us.property_set(match[1], match[2])
    if members is None:
        source.problem(pos, f"no Unicode property of one code point is called {match[0][1:-1]!r}")
        return cc.EMPTY, match.end()
    members = _fold_sets(members, mode)
    if source.text[pos + 1] == "P":
        members = _negate(members, mode)
    return members, match.end()


def _read_unicode(source: Source, pos: int) -> tuple[int, int]:
    """Read ``\\uXXXX``, a surrogate pair of two, or ``\\u{X...}``."""
    text = source.text
    braced = _BRACED.match(text, pos + 2)
    if braced is not None:
        digits = braced[1].lstrip("0")
        if len(digits) > 6 or int(digits or "0", 16) > cc.TOP:
            source.problem(pos, "the code point is above U+10FFFF")
            return 0, braced.end()
        return int(digits or "0", 16), braced.end()
    plain = _HEX4.match(text, pos + 2)
    if plain is None:
        source.problem(pos, "\\u needs four hexadecimal digits, or some in braces")
        return 0, pos + 2
    code = int(plain[0], 16)
    if 0xD800 <= code <= 0xDBFF:
        trail = _TRAIL.match(text, plain.end())
        if trail is not None:
            low = int(trail[1], 16)
            return 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00), trail.end()
    return code, plain.end()


def _read_digit_escape(source: Source, pos: int, in_class: bool) -> tuple[int, int]:
    """Read ``\\0``; refuse back-references and octal escapes."""
    text = source.text
    end = pos + 1
    while end < len(text) and text[end].isascii() and text[end].isdigit():
        end += 1
    if end == pos + 2 and text[pos + 1] == "0":
        return 0, end
    if text[pos + 1] == "0" or in_class:
        source.problem(pos, f"octal escapes such as {text[pos:end]} are not supported; use \\xHH")
    else:
        source.problem(pos, "back-references are not regular")
    return 0, end


def read_escape(
    source: Source, pos: int, mode: Mode, in_class: bool = False
) -> tuple[int | Ranges, int]:
    """Read the escape whose backslash is at *pos*; other than ``\\b`` and ``\\k``.

    Returns:
        The code point or the set, and where to read on.
    """
    text = source.text
    letter = text[pos + 1 : pos + 2]
    if letter in _CONTROL:
        return _CONTROL[letter], pos + 2
    if letter and letter in "dDsSwW":
        return _class_escape(letter, mode), pos + 2
    if not letter:
        source.problem(pos, "the pattern ends in a backslash")
        return 0, pos + 1
    if not (letter.isascii() and letter.isalnum()):
        return ord(letter), pos + 2
    if letter in "pP":
        return _read_property(source, pos, mode)
    if letter == "u":
        return _read_unicode(source, pos)
    if letter.isdigit():
        return _read_digit_escape(source, pos, in_class)
    return _read_letter(source, pos, letter)


def _read_letter(source: Source, pos: int, letter: str) -> tuple[int, int]:
    """Read ``\\xHH`` and ``\\cX``; refuse the letters that mean nothing in ECMA-262."""
    if letter == "x":
        match = _HEX2.match(source.text, pos + 2)
        if match is not None:
            return int(match[0], 16), match.end()
        source.problem(pos, "\\x needs two hexadecimal digits")
    elif letter == "c":
        control = source.text[pos + 2 : pos + 3]
        if control.isascii() and control.isalpha():
            return ord(control) % 32, pos + 3
        source.problem(pos, "\\c needs a letter")
    else:
        hint = _FOREIGN.get(letter, "")
        message = f"\\{letter} is not an escape of ECMA-262"
        source.problem(pos, f"{message}; {hint}" if hint else message)
    return 0, pos + 2


def read_class(source: Source, pos: int, mode: Mode) -> tuple[ClassValue, int]:
    """Read the class whose ``[`` is at *pos*: what it matches, case folding done."""
    if mode.sets:
        value, end = _SetReader(source, mode).read(pos, 0)
        if mode.ignore_case:
            value = ClassValue(us.close_over_case(value.members), value.strings)
        return value, end
    negated = source.text.startswith("^", pos + 1)
    members, end = _read_ranges(source, pos, pos + 1 + negated, mode)
    if mode.ignore_case:
        members = us.close_over_case(members)
    return ClassValue(cc.complement(members) if negated else members), end


def _read_ranges(source: Source, start: int, pos: int, mode: Mode) -> tuple[Ranges, int]:
    """Read the contents of a class without the v flag, up to and with its ``]``."""
    text = source.text
    pairs: list[tuple[int, int]] = []
    while True:
        if pos >= len(text):
            source.problem(start, "the class is not closed")
            return cc.normalise(pairs), pos
        if text[pos] == "]":
            return cc.normalise(pairs), pos + 1
        here = pos
        low, pos = _read_member(source, pos, mode)
        if text.startswith("-", pos) and not text.startswith("-]", pos) and pos + 1 < len(text):
            high, end = _read_member(source, pos + 1, mode)
            if isinstance(low, int) and isinstance(high, int):
                if low > high:
                    source.problem(here, f"the range {text[here:end]} is out of order")
                pairs.append((low, high))
                pos = end
                continue
            # Annex B: a set at either end of a dash makes the dash a member.
            pairs += [(0x2D, 0x2D), *(((high, high),) if isinstance(high, int) else high)]
            pos = end
        pairs += ((low, low),) if isinstance(low, int) else low


def _read_member(source: Source, pos: int, mode: Mode) -> tuple[int | Ranges, int]:
    """Read one member of a class without the v flag."""
    text = source.text
    if text[pos] == "\\":
        if text.startswith("b", pos + 1):
            return 8, pos + 2
        if text[pos + 1 : pos + 2] in ("B", "k"):
            source.problem(pos, f"{text[pos : pos + 2]} has no meaning in a class")
            return 0, pos + 2
        return read_escape(source, pos, mode, in_class=True)
    if text[pos] == "[":
        posix = _POSIX.match(text, pos)
        if posix is not None:
            source.problem(pos, f"{posix[0]} is not a class of ECMA-262; use \\p{{...}} or ranges")
            return 0, posix.end()
    return ord(text[pos]), pos + 1


class _SetReader:
    """Reads classes under the v flag: nested, with ``--``, ``&&`` and ``\\q{...}``."""

    def __init__(self, source: Source, mode: Mode) -> None:
        self.source = source
        self.text = source.text
        self.mode = mode

    def read(self, start: int, depth: int) -> tuple[ClassValue, int]:
        """Read the class whose ``[`` is at *start*."""
        if depth >= MAX_CLASS_NESTING:
            self.source.problem(start, f"classes nest more than {MAX_CLASS_NESTING} deep")
            return ClassValue(cc.EMPTY), len(self.text)
        negated = self.text.startswith("^", start + 1)
        value, end = self._contents(start, start + 1 + negated, depth)
        if negated and value.strings:
            self.source.problem(start, "a negated class cannot hold strings")
        return (ClassValue(_negate(value.members, self.mode)) if negated else value), end

    def _contents(self, start: int, pos: int, depth: int) -> tuple[ClassValue, int]:
        pairs: list[tuple[int, int]] = []
        strings: frozenset[str] = frozenset()
        operator = None
        count = 0
        while pos < len(self.text) and self.text[pos] != "]":
            here = pos
            found = self.text[pos : pos + 2]
            if found in ("--", "&&"):
                if count != 1 and operator != found:
                    self.source.problem(pos, f"{found} cannot be mixed with other members")
                operator, pos = found, pos + 2
            elif operator is not None:
                self.source.problem(pos, f"{operator} cannot be mixed with other members")
            if pos >= len(self.text) or self.text[pos] == "]":
                self.source.problem(here, f"{operator} needs an operand")
                break
            value, pos = self._operand(pos, depth, ranges=operator is None)
            count += 1
            if operator is None:
                pairs += value.members
                strings |= value.strings
            else:
                members = cc.normalise(pairs)
                members, strings = _combine(operator, members, strings, value)
                pairs = list(members)
        if pos >= len(self.text):
            self.source.problem(start, "the class is not closed")
        return ClassValue(cc.normalise(pairs), strings), pos + 1

    def _operand(self, pos: int, depth: int, ranges: bool) -> tuple[ClassValue, int]:
        """Read a nested class, an escape, a string disjunction, a character or a range."""
        if self.text[pos] == "[":
            return self.read(pos, depth + 1)
        if self.text.startswith("\\q{", pos):
            return self._strings(pos)
        here = pos
        low, pos = self._member(pos)
        if not isinstance(low, int):
            return ClassValue(low), pos
        high = low
        dash = self.text.startswith("-", pos) and not self.text.startswith("--", pos)
        if ranges and dash and pos + 1 < len(self.text):
            end, pos = self._member(pos + 1)
            if not isinstance(end, int) or end < low:
                self.source.problem(here, f"the range {self.text[here:pos]} is out of order")
            else:
                high = end
        return ClassValue(_fold_sets(((low, high),), self.mode)), pos

    def _member(self, pos: int) -> tuple[int | Ranges, int]:
        letter = self.text[pos]
        if letter == "\\":
            if self.text.startswith("b", pos + 1):
                return 8, pos + 2
            return read_escape(self.source, pos, self.mode, in_class=True)
        if letter in _SET_SYNTAX:
            self.source.problem(pos, f"{letter} must be escaped in a class under the v flag")
        elif letter in _SET_DOUBLE and self.text.startswith(letter, pos + 1):
            self.source.problem(pos, f"{letter}{letter} is reserved under the v flag")
            return 0, pos + 2
        return ord(letter), pos + 1

    def _strings(self, pos: int) -> tuple[ClassValue, int]:
        """Read ``\\q{one|two}``."""
        codes: list[tuple[int, int]] = []
        strings: set[str] = set()
        current: list[int] = []
        start, pos = pos, pos + 3
        while pos < len(self.text):
            letter = self.text[pos]
            if letter in "|}":
                if len(current) == 1:
                    codes.append((current[0], current[0]))
                else:
                    strings.add("".join(map(chr, current)))
                current = []
                pos += 1
                if letter == "}":
                    members = _fold_sets(cc.normalise(codes), self.mode)
                    return ClassValue(members, self._fold_strings(strings)), pos
                continue
            code, pos = self._member(pos)
            if isinstance(code, int):
                current.append(code)
            else:
                self.source.problem(start, "\\q{...} holds only characters")
        self.source.problem(start, "\\q{...} is not closed")
        return ClassValue(cc.EMPTY), pos

    def _fold_strings(self, strings: set[str]) -> frozenset[str]:
        if not self.mode.ignore_case:
            return frozenset(strings)
        return frozenset("".join(chr(us.fold(ord(c))) for c in text) for text in strings)


def _combine(
    operator: str, members: Ranges, strings: frozenset[str], value: ClassValue
) -> tuple[Ranges, frozenset[str]]:
    """Apply ``--`` or ``&&``."""
    if operator == "--":
        return cc.subtract(members, value.members), strings - value.strings
    return cc.intersection(members, value.members), strings & value.strings
