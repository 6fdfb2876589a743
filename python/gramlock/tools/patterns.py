"""Patterns (ECMA-262, as JSON Schema has them) and formats, matched in bounded time.

Python's ``re`` is another language: ``$`` matches before a final newline, ``\\d`` takes every
script's digits, ``\\p{L}`` is an error. Patterns are matched by ``regress``, an ECMA-262 engine,
with the ``u`` flag. It backtracks, so some patterns take time that doubles with each character.
Hence::

    few ways to match, no loop inside another, a text so short that this is quick    regress
    everything else                                    the expressions of this package: linear

What is in both languages matches alike in both (tests/test_tools_validate_fuzz.py). Back-references
are in no regular language and refused when the schema is read, as the grammar refuses them, too.

Formats are those of the grammar, :data:`gramlock.schema.formats.FORMATS`, each by its RFC, so that
what the grammar writes always passes here. Where the grammar writes less than the document allows,
the wider language counts. Names that are no format of the standard say nothing about a text.

Thread-safe. Cost: a pattern is read once (microseconds to milliseconds); a short text takes under
a microsecond with regress, about ten with expressions. Memory of expressions is bounded.

Tested by tests/test_tools_patterns.py.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Sequence
from functools import lru_cache
from math import prod
from typing import TYPE_CHECKING, Any

from ..errors import LimitError, MissingDependencyError
from ..schema.formats import FORMATS, Format, format_expression
from ..syntax.regex import parse
from ..syntax.regex_parser import parse_tree
from ..syntax.regex_tree import Alternation, Concat, Look, Node, Repeat

if TYPE_CHECKING:
    from .._core import Expressions

__all__ = ["Matcher", "format_matcher", "matcher"]

#: Decides about a text: whether it holds a match; None if that takes more than the budget.
Matcher = Callable[[str], "bool | None"]

_LEAP_SECOND = re.compile(
    r"([0-9]{2}):([0-9]{2}):60(?:\.[0-9]+)?(?:[Zz]|([+-])([0-9]{2}):([0-9]{2}))"
)
_DOTS = (".", "\u3002", "\uff0e", "\uff61")
_LONG_NUMBER = re.compile("[0-9]{10,}")
_LONGEST_NAME = 10_000  # of international names, whose thousands of letters take their time
_LONGEST = 1000  # characters that regress is given
_STEPS = 1e6  # of backtracking, a hundredth of a second
_MANY = 1e9
_STORE_BYTES = 32 << 20


class _Automata:
    """A store of expressions, made anew when it is full."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._store: Expressions | None = None

    def store(self, full: Expressions | None = None) -> Expressions:
        """The store; another one than *full*."""
        from .._core import Expressions

        with self._lock:
            if self._store is None or self._store is full:
                self._store = Expressions(_STORE_BYTES)
            return self._store

    def check(self, expression: Callable[[Expressions], int]) -> None:
        """Builds an expression.

        Raises:
            LimitError: It does not fit, even into an empty store.
        """
        store = self.store()
        try:
            expression(store)
        except LimitError:
            expression(self.store(store))

    def matches(self, expression: Callable[[Expressions], int], text: str) -> bool | None:
        store = None
        for _ in range(2):
            store = self.store(store)
            try:
                return store.matches(expression(store), text.encode("utf-8"))
            except LimitError:
                continue
            except UnicodeEncodeError:  # a lone surrogate is no character of any language
                return False
        return None


_AUTOMATA = _Automata()


def _short_text(nodes: Sequence[Node]) -> int:
    """Up to how many characters a text surely takes few steps, however the pattern backtracks.

    Of each node, from the leaves up: in how many ways it can match at a place, and how many loops
    without bound it takes one after the other. A loop around something that itself can match in
    several ways may take any time.
    """
    ways: list[float] = [1.0] * len(nodes)
    loops = [0] * len(nodes)
    for at, node in enumerate(nodes):
        if isinstance(node, Concat):
            ways[at] = min(_MANY, prod(ways[item.index] for item in node.items))
            loops[at] = sum(loops[item.index] for item in node.items)
        elif isinstance(node, Alternation):
            ways[at] = sum(ways[item.index] for item in node.items)
            loops[at] = max(loops[item.index] for item in node.items)
        elif isinstance(node, Look):
            ways[at], loops[at] = ways[node.item.index], loops[node.item.index]
        elif isinstance(node, Repeat):
            inner = node.items[0].index
            high = node.high
            if ways[inner] == 1 and not loops[inner]:
                ways[at] = 1 if high is None else min(_MANY, 1 + high - node.low)
                loops[at] = int(high is None)
            elif high is None or high > 1:
                ways[at] = _MANY
            else:
                ways[at], loops[at] = ways[inner] + 1, loops[inner]
    steps = _STEPS / (ways[-1] * len(nodes))
    return int(min(_LONGEST, steps ** (1 / (loops[-1] + 1)))) if steps >= 1 else 0


def _native(pattern: str) -> Callable[[str], Any] | None:
    """The pattern for regress; None where it reads it otherwise, or not at all."""
    try:
        import regress
    except ImportError as error:
        raise MissingDependencyError("regress", "tools") from error
    try:
        found: Callable[[str], Any] = regress.Regex(pattern, "u").find
    except (regress.RegressError, UnicodeEncodeError):
        return None
    return found


@lru_cache(maxsize=1024)
def matcher(pattern: str) -> Matcher:
    """Says of a text whether the pattern matches somewhere in it (JSON Schema, 6.3.3).

    Raises:
        GrammarError: It is no pattern, or not a regular language (back-references).
        LimitError: It nests too deep, or its assertions need too many states.
        MissingDependencyError: regress is not installed.
    """
    tree = parse(pattern)
    _AUTOMATA.check(tree.search)  # whether it can be done is known before the first text comes
    find = _native(pattern)
    short = 0 if find is None else _short_text(parse_tree(pattern, "u")[1])

    def search(text: str) -> bool | None:
        if find is not None and len(text) <= short:
            try:
                return find(text) is not None
            except UnicodeEncodeError:
                return False
        return _AUTOMATA.matches(tree.search, text)

    return search


@lru_cache(maxsize=64)
def format_matcher(name: str) -> Matcher | None:
    """Says of a text whether it has a format; None for a name that is no known format.

    Raises:
        MissingDependencyError: jsonschema is not installed.
    """
    form = FORMATS.get(name)
    if form is None:
        return None
    return _OWN.get(name, _by_grammar)(form)


def _by_grammar(form: Format) -> Matcher:
    wide = form.wide is not None

    def expression(store: Expressions) -> int:
        found = format_expression(store, form.name, "utf8", wide)
        assert found is not None
        return found

    return lambda text: _AUTOMATA.matches(expression, text)


def _time(form: Format) -> Matcher:
    """RFC 3339, 5.7: a leap second ends a day of UTC, so it is 23:59:60 there."""
    search = _by_grammar(form)

    def check(text: str) -> bool | None:
        verdict = search(text)
        leap = _LEAP_SECOND.search(text) if verdict else None
        if leap is None:
            return verdict
        hour, minute, sign, hours, minutes = leap.groups()
        ahead = 0 if sign is None else (int(hours) * 60 + int(minutes)) * int(f"{sign}1")
        return (int(hour) * 60 + int(minute) - ahead) % 1440 == 1439

    return check


def _regex(form: Format) -> Matcher:
    """ECMA-262, 22.2.1, back-references included; counts have no limit in the standard."""
    return lambda text: _native(_LONG_NUMBER.sub("999999999", text)) is not None


def _idna_check(domain: str) -> bool | None:
    """What the idna package, by way of jsonschema, says of a name; None where it is missing."""
    try:
        from jsonschema import FormatChecker
    except ImportError as error:
        raise MissingDependencyError("jsonschema", "tools") from error
    if "idn-hostname" not in FormatChecker.checkers or len(domain) > _LONGEST:
        return None
    conforms: bool = FormatChecker(["idn-hostname"]).conforms(domain, "idn-hostname")
    return conforms and not domain.endswith(_DOTS) and domain != ""


def _hostname(form: Format) -> Matcher:
    """Labels with hyphens third and fourth are A-labels (RFC 5891, 4.2.3.1), whose text counts."""
    search = _by_grammar(form)

    def check(text: str) -> bool | None:
        verdict = search(text)
        if verdict and any(label[2:4] == "--" for label in text.split(".")):
            return _idna_check(text) is not False
        return verdict

    return check


def _idn_hostname(form: Format) -> Matcher:
    """What the grammar writes (it approximates RFC 5892), and what the idna package knows."""
    search = _by_grammar(form)

    def check(text: str) -> bool | None:
        if len(text) > _LONGEST_NAME:
            return None
        return True if search(text) else _idna_check(text) is True

    return check


def _idn_email(form: Format) -> Matcher:
    search = _by_grammar(form)

    def check(text: str) -> bool | None:
        if len(text) > _LONGEST_NAME:
            return None
        if search(text):
            return True
        before, at, domain = text.rpartition("@")
        return bool(at and search(f"{before}@example.org")) and _idna_check(domain) is True

    return check


# Formats for which the grammar writes less than their documents allow.
_OWN: dict[str, Callable[[Format], Matcher]] = {
    "date-time": _time,
    "time": _time,
    "hostname": _hostname,
    "idn-hostname": _idn_hostname,
    "idn-email": _idn_email,
    "regex": _regex,
}
