"""JSON strings: how texts are spelled, and sets of strings as expressions.

A string is compared *as decoded*: length in code points, patterns and names see the text, whatever
escapes spell it.  The set operations are therefore done on expressions over characters, each of
which matches every spelling of that character (or, with the encoding ``"json-minimal"``, its one
shortest spelling), and the quotes are put around the result::

    "  characters{min,max} & search(pattern) & full(format) & ~(name1 | name2)  "

Texts that the schema itself holds (declared names, ``enum``, ``const``) are written in one
spelling, that of ``json.dumps(text, ensure_ascii=False)``.  Where such a text is *excluded* (names
that are declared elsewhere, in a set of other names) all its spellings are.  All sets that are
joined have the same encoding.

A lone surrogate cannot be written in UTF-8 and is never written as an escape, so a text that holds
one has no spelling: its expression matches nothing.

Tested by tests/test_strings.py.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from json.encoder import encode_basestring  # what json.dumps(..., ensure_ascii=False) calls
from typing import TYPE_CHECKING, Any

from gramlock.errors import LimitError, UnsatisfiableError
from gramlock.schema.formats import FORMATS, format_expression
from gramlock.schema.numbers import (
    NumberSet,
    Spelling,
    is_number,
    number_expression,
    number_literal,
)
from gramlock.syntax.regex import parse
from gramlock.syntax.regex_expr import Encoding

if TYPE_CHECKING:
    from gramlock._core import Expressions

__all__ = [
    "StringSet",
    "free_key_expression",
    "json_literal",
    "scalar_expression",
    "string_expression",
    "string_literal_expression",
]


def json_literal(value: object) -> bytes:
    """The canonical spelling of a JSON value, without white space.

    Raises:
        UnsatisfiableError: A string holds a lone surrogate, which has no spelling.

    >>> json_literal({"a": [1.0, "é", None]})
    b'{"a":[1,"\\xc3\\xa9",null]}'
    """
    pieces: list[bytes] = []
    work: list[object] = [value]
    while work:
        item = work.pop()
        if isinstance(item, bytes):
            pieces.append(item)
        elif isinstance(item, Mapping):
            work.extend(reversed(_spaced(b"{", item.items(), b"}", _member)))
        elif isinstance(item, (list, tuple)):
            work.extend(reversed(_spaced(b"[", item, b"]", lambda child: [child])))
        else:
            pieces.append(_scalar_literal(item))
    return b"".join(pieces)


def _member(pair: tuple[str, object]) -> list[object]:
    return [pair[0], b":", pair[1]]


def _spaced(
    opening: bytes, items: Iterable[object], closing: bytes, parts: Callable[..., list[object]]
) -> list[object]:
    """The parts of *items* between brackets, a comma between each two."""
    found: list[object] = []
    for item in items:
        found += [b"," if found else opening, *parts(item)]
    return [*(found or [opening]), closing]


def _scalar_literal(value: object) -> bytes:
    if value is None or value is True or value is False:
        return json.dumps(value).encode()
    if isinstance(value, str):
        try:
            return encode_basestring(value).encode()
        except UnicodeEncodeError:
            raise UnsatisfiableError(f"{value!r} holds a lone surrogate") from None
    return number_literal(value)


def scalar_expression(
    expressions: Expressions, value: object, numbers: Spelling = "canonical"
) -> int:
    """The texts of one null, boolean, number or string."""
    if isinstance(value, str):
        return string_literal_expression(expressions, value)
    if numbers == "any" and is_number(value):
        return number_expression(expressions, NumberSet.point(value), "any")
    return expressions.literal(_scalar_literal(value))


# -- expressions of strings -----------------------------------------------------------------------


def string_literal_expression(
    expressions: Expressions, text: str, every_spelling: bool = False, encoding: Encoding = "json"
) -> int:
    """The string *text* with its quotes: its canonical spelling, or all of *encoding*."""
    if every_spelling:
        return _quoted(expressions, _spellings(expressions, text, encoding))
    try:
        return expressions.literal(encode_basestring(text).encode())
    except UnicodeEncodeError:
        return expressions.NEVER


def _spellings(e: Expressions, text: str, encoding: Encoding) -> int:
    """Every spelling of *text*, without quotes; nothing if it has a lone surrogate."""
    if any("\ud800" <= character <= "\udfff" for character in text):
        return e.NEVER
    return e.concat([e.codepoints([(ord(c), ord(c))], encoding) for c in text])


def _one_of(texts: Iterable[str]) -> str:
    """A pattern that these texts match, and no others."""
    spelled = ("".join(f"\\u{{{ord(character):x}}}" for character in text) for text in texts)
    return f"^(?:{'|'.join(spelled)})$"


def _quoted(e: Expressions, body: int) -> int:
    quote = e.literal(b'"')
    return e.concat([quote, body, quote])


def _characters(e: Expressions, low: int, high: int | None, encoding: Encoding) -> int:
    """*low* to *high* characters, any spelling of each."""
    key = ("character", encoding)
    one = e.cache.get(key)
    if one is None:
        one = e.cache[key] = e.codepoints([(0, 0x10FFFF)], encoding)
    return e.repeat(one, low, high)


def any_characters(expressions: Expressions) -> int:
    """Any string, without quotes."""
    return _characters(expressions, 0, None, "json")


def free_key_expression(
    expressions: Expressions, excluded_names: Iterable[str], encoding: Encoding = "json"
) -> int:
    """Any string, with its quotes, but these names as decoded."""
    return string_expression(expressions, excluded=excluded_names, encoding=encoding)


def string_expression(
    expressions: Expressions,
    *,
    min_length: int = 0,
    max_length: int | None = None,
    patterns: Sequence[str] = (),
    formats: Sequence[str] = (),
    excluded: Iterable[str] = (),
    encoding: Encoding = "json",
    wide: bool = False,
) -> int:
    """The strings, with their quotes, of which all of this holds.

    Args:
        expressions: The store that the result lives in.
        min_length: Least number of code points.
        max_length: Greatest number of code points, or None.
        patterns: ECMA-262 expressions (flag ``u``), each of which is found somewhere in the text.
        formats: Names of formats; unknown ones say nothing.
        excluded: Texts left out, in every spelling.
        encoding: ``"json"``: every spelling of a character; ``"json-minimal"``: the shortest one.
        wide: Formats by a superset, see :class:`gramlock.schema.formats.Format`.

    Raises:
        GrammarSyntaxError: A pattern does not parse.

    Cost: memoised; one expression a constraint, joined by an intersection if there are several.
    """
    names = tuple(excluded)
    key = ("string", min_length, max_length, tuple(patterns), tuple(formats), names, encoding, wide)
    known: int | None = expressions.cache.get(key)
    if known is None:
        body = _body(expressions, min_length, max_length, patterns, formats, names, encoding, wide)
        known = expressions.cache[key] = _quoted(expressions, body)
    return known


def _body(
    e: Expressions,
    low: int,
    high: int | None,
    patterns: Sequence[str],
    formats: Sequence[str],
    excluded: Sequence[str],
    encoding: Encoding,
    wide: bool,
) -> int:
    if high is not None and low > high:
        return e.NEVER
    parts = [parse(pattern).search(e, encoding) for pattern in patterns]
    named = [format_expression(e, name, encoding, wide) for name in formats]
    parts += [part for part in named if part is not None]
    if low or high is not None or not parts:
        parts.append(_characters(e, low, high, encoding))
    if excluded:
        parts.append(e.complement(e.union([_spellings(e, text, encoding) for text in excluded])))
    return parts[0] if len(parts) == 1 else e.intersect(parts)


@dataclass(frozen=True, slots=True)
class StringSet:
    """A set of strings: a list of them, or those of which all the conditions hold.

    Attributes:
        values: Exactly these, in order; the other fields are then not in use.  None = no list.
        min_length: Least number of code points.
        max_length: Greatest number of code points, or None.
        patterns: ECMA-262 expressions to be found in the text.
        formats: Formats (of :data:`gramlock.schema.formats.FORMATS`) that the text has.
        without: Sets of strings that are left out.
    """

    values: tuple[str, ...] | None = None
    min_length: int = 0
    max_length: int | None = None
    patterns: tuple[str, ...] = ()
    formats: tuple[str, ...] = ()
    without: tuple[StringSet, ...] = ()

    def intersect(self, other: StringSet, expressions: Expressions) -> StringSet | None:
        """The strings in both sets, or None where certainly there are none."""
        if self.values is not None or other.values is not None:
            listed, rest = (self, other) if self.values is not None else (other, self)
            if rest.values is not None:
                others = frozenset(rest.values)
                kept = tuple(v for v in listed.values or () if v in others)
            else:
                kept = tuple(v for v in listed.values or () if rest.contains(v, expressions))
                if rest._is_narrow():
                    may = [v for v in listed.values or () if rest.contains(v, expressions, True)]
                    if len(may) > len(kept):
                        return replace(rest, patterns=(*rest.patterns, _one_of(may)))
            return StringSet(values=kept) if kept else None
        longest = [n for n in (self.max_length, other.max_length) if n is not None]
        low, high = max(self.min_length, other.min_length), min(longest, default=None)
        if high is not None and low > high:
            return None
        patterns = tuple(dict.fromkeys(self.patterns + other.patterns))
        formats = tuple(dict.fromkeys(self.formats + other.formats))
        without = tuple(dict.fromkeys(self.without + other.without))
        both = StringSet(None, low, high, patterns, formats, without)
        return None if any(both._implies(part) for part in without) else both

    def _is_narrow(self) -> bool:
        """Whether some strings of the set may never be written."""
        gaps = any(FORMATS[name].gap for name in self.formats if name in FORMATS)
        return gaps or any(part._is_narrow() for part in self.without)

    def _implies(self, other: StringSet) -> bool:
        """Whether every condition of *other* is one of this set, so that its strings are there."""
        if other.values is not None:
            return False
        longest = other.max_length is None or (
            self.max_length is not None and self.max_length <= other.max_length
        )
        return (
            longest
            and self.min_length >= other.min_length
            and set(self.patterns).issuperset(other.patterns)
            and set(self.formats).issuperset(other.formats)
            and set(self.without).issuperset(other.without)
        )

    def contains(self, value: str, expressions: Expressions, wide: bool = False) -> bool:
        """Whether the decoded string *value* is a member, or of the superset (*wide*)."""
        if self.values is not None:
            return value in self.values
        if len(value) < self.min_length:
            return False
        if self.max_length is not None and len(value) > self.max_length:
            return False
        if any(part.contains(value, expressions, not wide) for part in self.without):
            return False
        if not (self.patterns or self.formats):
            return True
        text = json.dumps(value).encode()  # only escapes, so a lone surrogate cannot fail here
        free = string_expression(
            expressions, patterns=self.patterns, formats=self.formats, wide=wide
        )
        return expressions.matches(free, text)

    def is_empty(self, expressions: Expressions) -> bool:
        """Whether no string is a member, as far as a search within the budget shows."""
        if self.values is not None:
            return not self.values
        if not (self.patterns or self.formats or self.without):
            return self.max_length is not None and self.min_length > self.max_length
        try:  # one spelling of each string is enough, and much less to search
            return expressions.is_empty(self.expression(expressions, True, "json-minimal"))
        except LimitError:
            return False

    def expression(
        self,
        expressions: Expressions,
        every_spelling: bool = False,
        encoding: Encoding = "json",
        wide: bool = False,
    ) -> int:
        """The members with their quotes; listed ones in one spelling unless *every_spelling*.

        Of a format not all texts may be written. What is taken the complement of is therefore a
        superset (*wide*): then whatever is left is certainly no member.
        """
        if self.values is not None:
            return expressions.union(
                [
                    string_literal_expression(expressions, value, every_spelling, encoding)
                    for value in self.values
                ]
            )
        found = string_expression(
            expressions,
            min_length=self.min_length,
            max_length=self.max_length,
            patterns=self.patterns,
            formats=self.formats,
            encoding=encoding,
            wide=wide,
        )
        if not self.without:
            return found
        outside = [part.expression(expressions, True, encoding, not wide) for part in self.without]
        return expressions.intersect([found, *map(expressions.complement, outside)])

    def without_superset(self) -> str | None:
        """A format of this set of which no superset is known, so that it has no complement."""
        for name in self.formats:
            if name in FORMATS and not FORMATS[name].has_superset:
                return name
        return None

    def gaps(self) -> list[str]:
        """What the formats of this set demand beyond what is enforced, one line each."""
        known = [(name, FORMATS[name].gap) for name in self.formats if name in FORMATS]
        return [f"{name}: {gap}" for name, gap in known if gap]


def from_conditions(found: Mapping[str, Any]) -> StringSet:
    """The strings that the keywords of one schema leave."""
    patterns = (found["pattern"],) if "pattern" in found else ()
    formats = (found["format"],) if "format" in found else ()
    low, high = found.get("minLength", 0), found.get("maxLength")
    return StringSet(None, low, high, patterns, formats)
