"""Text of an ECMA-262 regular expression to its tree.                     Tested by test_regex.py.

The grammar is that of the ``u`` flag (or ``v``). Where it says no and Annex B of the standard has
one clear meaning (``\\_``, a lone ``}``, ``[\\w-.]``), that meaning is taken; what other dialects
write and ECMA-262 does not have is refused by name. Reading goes on after a problem, so that all
of them are reported at once. Groups are kept on a stack of our own: no recursion on the pattern.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable
from functools import lru_cache
from itertools import groupby, pairwise
from typing import Final, TypeVar

from gramlock.errors import GrammarSyntaxError, LimitError, Place
from gramlock.syntax import charclass as cc
from gramlock.syntax import unicode_sets as us
from gramlock.syntax.regex_class import (
    ClassValue,
    Mode,
    Source,
    read_class,
    read_escape,
    word_set,
)
from gramlock.syntax.regex_tree import (
    Alternation,
    Concat,
    Edge,
    Literal,
    Look,
    Node,
    Repeat,
    Set,
    WordEdge,
)

__all__ = ["parse_tree"]

MAX_DEPTH: Final = 1000  # nested groups
MAX_ASSERT_DEPTH: Final = 100  # nested nodes with an assertion inside: walked by recursion
MAX_COUNT: Final = 0xFFFFFFFE  # what the core takes as a repeat bound

_RUN = re.compile(r"[^\\^$.*+?()\[{|]+")
_COUNT = re.compile(r"\{([0-9]+)(,?)([0-9]*)\}")
_UPPER_ONLY = re.compile(r"\{,[0-9]+\}")
_SIMPLE_CLASS = re.compile(r"\[(?:[^\\\[\]]|\\.)*\]", re.DOTALL)
_NAMED_REFERENCE = re.compile(r"\\k(?:<[^>]*>|\{[^}]*\})?")
_NAME_OPEN = re.compile(r"\(\?P?<([^>()]*)>")
_NAME = re.compile(r"(?:[\w$]|\\u[0-9A-Fa-f]{4}|\\u\{[0-9A-Fa-f]+\})+")
_MODIFIERS = re.compile(r"\(\?([A-Za-z]*)(-?)([A-Za-z]*)([:)])")
_FOREIGN_GROUPS = [
    ("(?>", "atomic groups are not in ECMA-262"),
    ("(?#", "comments are not in ECMA-262"),
    ("(?P=", "back-references are not regular"),
    ("(?P>", "recursion is not in ECMA-262"),
    ("(?R", "recursion is not in ECMA-262"),
    ("(?&", "recursion is not in ECMA-262"),
    ("(?|", "branch reset groups are not in ECMA-262"),
    ("(?(", "conditional groups are not in ECMA-262"),
    ("(?'", "quoted group names are not in ECMA-262; write (?<name>...)"),
]

_N = TypeVar("_N", bound=Node)


class _Group:
    """A group whose parenthesis is open, or the whole pattern.

    Attributes:
        start: Offset of the parenthesis.
        mode: The flags to return to at its end.
        look: (ahead, negated) of a look-around.
        items: Items of the alternative being read.
        alternatives: Those before it.
        serial: Number of the group, unique in the pattern.
    """

    __slots__ = ("alternatives", "items", "look", "mode", "serial", "start")

    def __init__(self, start: int, mode: Mode, look: tuple[bool, bool] | None, serial: int) -> None:
        self.start = start
        self.mode = mode
        self.look = look
        self.items: list[Node] = []
        self.alternatives: list[list[Node]] = []
        self.serial = serial


@lru_cache(maxsize=2048)
def _simple_class(text: str, mode: Mode) -> tuple[ClassValue, tuple[tuple[int, str], ...]]:
    """Read a class without nesting; cached, for the same classes come again and again."""
    source = Source(text)
    value, end = read_class(source, 0, mode)
    problems = source.problems or ([] if end == len(text) else [(0, "")])
    return value, tuple(problems)


@lru_cache(maxsize=4096)
def _closure(code: int) -> cc.Ranges:
    return us.close_over_case(((code, code),))


class _Parser:
    """One pass over one pattern."""

    def __init__(self, pattern: str, mode: Mode) -> None:
        self.source = Source(pattern)
        self.text = pattern
        self.pos = 0
        self.mode = mode
        self.nodes: list[Node] = []
        self.groups: list[_Group] = [_Group(0, mode, None, 0)]
        self.items: list[Node] = self.groups[0].items
        self.serial = 0
        self.names: dict[str, list[dict[int, int]]] = {}
        self.read: dict[str, Callable[[], None]] = {
            "\\": self._escape,
            "^": self._caret,
            "$": self._dollar,
            ".": self._dot,
            "*": self._nothing_to_repeat,
            "+": self._nothing_to_repeat,
            "?": self._nothing_to_repeat,
            "(": self._open,
            ")": self._close,
            "[": self._class,
            "{": self._brace,
            "|": self._bar,
        }

    def parse(self) -> Node:
        """Read the whole pattern."""
        self._leading_modifiers()
        text, read, run = self.text, self.read, _RUN.match
        size = len(text)
        while self.pos < size:
            match = run(text, self.pos)
            if match is None:
                read[text[self.pos]]()
            else:
                self.pos = match.end()
                self._literal(match[0])
        while len(self.groups) > 1:
            self.source.problem(self.groups[-1].start, "the group is not closed")
            self._pop()
        return self._body(self.groups[0])

    # -- atoms -----------------------------------------------------------------------------------

    def _new(self, node: _N) -> _N:
        node.index = len(self.nodes)
        self.nodes.append(node)
        if node.depth > MAX_ASSERT_DEPTH:
            raise LimitError("pattern_depth", node.depth, MAX_ASSERT_DEPTH)
        return node

    def _quantified(self) -> bool:
        return self.pos < len(self.text) and self.text[self.pos] in "*+?{"

    def _literal(self, run: str) -> None:
        """Take a run of ordinary characters; a quantifier after it applies to the last one."""
        if self.mode.ignore_case:
            for letter in run[:-1]:
                self._append(self._character(ord(letter)))
            self._atom(self._character(ord(run[-1])))
        elif self._quantified():
            if len(run) > 1:
                self._append(self._new(Literal(run[:-1])))
            self._atom(self._new(Literal(run[-1])))
        else:
            self._append(self._new(Literal(run)))

    def _character(self, code: int) -> Node:
        """Make the node of one code point under the flags."""
        if self.mode.ignore_case and not us.is_caseless(code):
            return self._new(Set(_closure(code)))
        return self._new(Literal(chr(code)))

    def _append(self, node: Node) -> None:
        self.items.append(node)

    def _atom(self, node: Node, repeatable: bool = True) -> None:
        """Take a node and the quantifier after it, if there is one."""
        start = self.pos
        bounds = self._quantifier() if self._quantified() else None
        if bounds is not None:
            if not repeatable:
                self.source.problem(start, "there is nothing to repeat")
            low, high = bounds
            if (low, high) == (0, 0):
                node = self._new(Literal(""))
            elif (low, high) != (1, 1):
                node = self._new(Repeat(node, low, high))
        self.items.append(node)

    def _quantifier(self) -> tuple[int, int | None] | None:
        """Read a quantifier; None if there is only a literal brace."""
        start = self.pos
        sign = self.text[start]
        if sign == "{":
            bounds = self._count()
            if bounds is None:
                return None
        else:
            self.pos += 1
            bounds = (1 if sign == "+" else 0), (1 if sign == "?" else None)
        follower = self.text[self.pos : self.pos + 1]
        if follower == "?":
            self.pos += 1
        elif follower == "+":
            self.source.problem(start, "possessive quantifiers are not in ECMA-262")
            self.pos += 1
        return bounds

    def _count(self) -> tuple[int, int | None] | None:
        """Read ``{n}``, ``{n,}`` or ``{n,m}``."""
        match = _COUNT.match(self.text, self.pos)
        if match is None or (match[3] and not match[2]):
            return None
        low = self._bound(match[1])
        high = self._bound(match[3]) if match[3] else None if match[2] else low
        if high is not None and high < low:
            self.source.problem(self.pos, f"the bounds of {match[0]} are out of order")
        self.pos = match.end()
        return low, high

    def _bound(self, digits: str) -> int:
        digits = digits.lstrip("0") or "0"
        if len(digits) > 18 or int(digits) > MAX_COUNT:
            raise LimitError("repeat_count", int(digits[:18]), MAX_COUNT)
        return int(digits)

    def _nothing_to_repeat(self) -> None:
        self.source.problem(self.pos, f"there is nothing to repeat before {self.text[self.pos]}")
        self._quantifier()

    def _brace(self) -> None:
        """Take a ``{`` that is no quantifier, as a literal (Annex B)."""
        if _COUNT.match(self.text, self.pos):
            self._nothing_to_repeat()
            return
        if _UPPER_ONLY.match(self.text, self.pos):
            self.source.problem(self.pos, "{,n} is not a quantifier of ECMA-262; write {0,n}")
        self.pos += 1
        self._atom(self._new(Literal("{")))

    def _dot(self) -> None:
        self.pos += 1
        self._atom(self._new(Set(cc.ALL if self.mode.dot_all else cc.NOT_LINE_END)))

    def _edge(self, ahead: bool) -> None:
        self.pos += 1
        members = cc.LINE_END if self.mode.multiline else cc.EMPTY
        self._atom(self._new(Edge(ahead, members, boundary=True)), repeatable=False)

    def _caret(self) -> None:
        self._edge(ahead=False)

    def _dollar(self) -> None:
        self._edge(ahead=True)

    def _escape(self) -> None:
        letter = self.text[self.pos + 1 : self.pos + 2]
        if letter and letter in "bB":
            self.pos += 2
            edge = WordEdge(word_set(self.mode.ignore_case), letter == "B")
            self._atom(self._new(edge), repeatable=False)
            return
        if letter == "k":
            self.source.problem(self.pos, "back-references are not regular")
            match = _NAMED_REFERENCE.match(self.text, self.pos)
            self.pos = match.end() if match else self.pos + 2
            self._atom(self._new(Literal("")))
            return
        value, self.pos = read_escape(self.source, self.pos, self.mode)
        if isinstance(value, int):
            self._atom(self._character(value))
        else:
            members = us.close_over_case(value) if self.mode.ignore_case else value
            self._atom(self._new(Set(members)))

    def _class(self) -> None:
        simple = _SIMPLE_CLASS.match(self.text, self.pos)
        if simple is not None:
            value, problems = _simple_class(simple[0], self.mode)
            if not problems:
                self.pos = simple.end()
                self._class_value(value)
                return
        value, self.pos = read_class(self.source, self.pos, self.mode)
        self._class_value(value)

    def _class_value(self, value: ClassValue) -> None:
        if not value.strings:
            self._atom(self._new(Set(value.members)))
            return
        options: list[Node] = [self._new(Set(value.members))] if value.members else []
        for text in sorted(value.strings):
            letters = [self._character(ord(letter)) for letter in text]
            options.append(self._sequence(letters))
        self._atom(options[0] if len(options) == 1 else self._new(Alternation(options)))

    # -- groups ----------------------------------------------------------------------------------

    def _bar(self) -> None:
        self.pos += 1
        group = self.groups[-1]
        group.alternatives.append(group.items)
        group.items = self.items = []

    def _open(self) -> None:
        """Read the opening of any kind of group."""
        text, start = self.text, self.pos
        look: tuple[bool, bool] | None = None
        mode = self.mode
        if not text.startswith("(?", start):
            self.pos += 1
        elif text.startswith("(?:", start):
            self.pos += 3
        elif text.startswith(("(?=", "(?!"), start):
            look = (True, text[start + 2] == "!")
            self.pos += 3
        elif text.startswith(("(?<=", "(?<!"), start):
            look = (False, text[start + 3] == "!")
            self.pos += 4
        else:
            mode = self._special_group()
        if len(self.groups) > MAX_DEPTH:
            raise LimitError("pattern_depth", len(self.groups), MAX_DEPTH)
        self.serial += 1
        self.groups.append(_Group(start, self.mode, look, self.serial))
        self.items = self.groups[-1].items
        self.mode = mode

    def _special_group(self) -> Mode:
        """Read ``(?<name>``, ``(?i:`` or something foreign; return the flags inside."""
        start = self.pos
        named = _NAME_OPEN.match(self.text, start)
        if named is not None:
            self.pos = named.end()
            self._name(start, named[1])
            return self.mode
        modifiers = _MODIFIERS.match(self.text, start)
        if modifiers is not None and modifiers[4] == ":":
            self.pos = modifiers.end()
            return self._modified(start, modifiers)
        for opening, message in _FOREIGN_GROUPS:
            if self.text.startswith(opening, start):
                self.source.problem(start, message)
                self.pos += len(opening)
                return self.mode
        if modifiers is not None:
            self.source.problem(start, f"{modifiers[0]} may stand only at the start of a pattern")
            self.pos = modifiers.end() - 1
        else:
            self.source.problem(start, "there is no such kind of group")
            self.pos += 2
        return self.mode

    def _name(self, start: int, name: str) -> None:
        """Check a group's name; two groups may share one only in different alternatives."""
        if not _NAME.fullmatch(name) or name[0].isdigit():
            self.source.problem(start, f"{name!r} is not a group name")
            return
        place = {group.serial: len(group.alternatives) for group in self.groups}
        for other in self.names.get(name, []):
            if all(other[serial] == place[serial] for serial in other if serial in place):
                self.source.problem(start, f"two groups are called {name!r}")
        self.names.setdefault(name, []).append(place)

    def _modified(self, start: int, match: re.Match[str]) -> Mode:
        """Apply the modifiers of ``(?ims-ims:``."""
        on, off = match[1], match[3]
        letters = on + off
        if any(letter not in "ims" for letter in letters):
            self.source.problem(start, f"{match[0]} has a modifier other than i, m and s")
        elif len(set(letters)) < len(letters) or not letters:
            self.source.problem(start, f"{match[0]} repeats a modifier, or has none")
        changes = dict.fromkeys(on, True) | dict.fromkeys(off, False)
        return self.mode._replace(
            ignore_case=changes.get("i", self.mode.ignore_case),
            dot_all=changes.get("s", self.mode.dot_all),
            multiline=changes.get("m", self.mode.multiline),
        )

    def _leading_modifiers(self) -> None:
        """Read ``(?i)`` at the start of the pattern: flags for all of it."""
        match = _MODIFIERS.match(self.text) if self.text.startswith("(?") else None
        if match is not None and match[4] == ")" and match[1] and not match[2]:
            self.pos = match.end()
            self.mode = self.groups[0].mode = self._modified(0, match)

    def _close(self) -> None:
        self.pos += 1
        if len(self.groups) == 1:
            self.source.problem(self.pos - 1, "there is no group to close")
            return
        group = self.groups[-1]
        node = self._pop()
        # Annex B lets a look-ahead be repeated; once is as good as many times.
        self._atom(node, repeatable=group.look is None or group.look[0])

    def _pop(self) -> Node:
        """Leave the innermost group and return its node."""
        group = self.groups.pop()
        self.items = self.groups[-1].items
        self.mode = group.mode
        node = self._body(group)
        if group.look is not None:
            node = self._new(Look(node, *group.look))
        return node

    def _body(self, group: _Group) -> Node:
        if not group.alternatives:
            return self._sequence(group.items)
        options = [self._sequence(items) for items in (*group.alternatives, group.items)]
        return self._new(Alternation(options))

    def _sequence(self, items: list[Node]) -> Node:
        if len(items) > 1:
            items = _merged(items)
        if len(items) == 1:
            return items[0]
        if not items:
            return self._new(Literal(""))
        return self._new(Concat(items))


def _merged(items: list[Node]) -> list[Node]:
    """Merge neighbouring literals into the first of them; the others become empty."""
    if not any(type(a) is Literal and type(b) is Literal for a, b in pairwise(items)):
        return items
    merged: list[Node] = []
    for kind, group in groupby(items, type):
        nodes = list(group)
        if kind is Literal:
            literals = [node for node in nodes if isinstance(node, Literal)]
            text = "".join(node.text for node in literals)
            for node in literals:
                node.text = ""
            literals[0].text = text
            nodes = nodes[:1]
        merged += nodes
    return merged


def _places(pattern: str, problems: list[tuple[int, str]]) -> list[Place]:
    """Turn offsets into lines and columns."""
    starts = [0, *(match.end() for match in re.finditer("\n", pattern))]
    places = []
    for offset, message in sorted(problems):
        line = bisect_right(starts, offset)
        places.append(Place(message, line=line, column=offset - starts[line - 1] + 1))
    return places


@lru_cache(maxsize=64)
def _mode(flags: str) -> Mode:
    unknown = sorted({flag for flag in flags if flag not in "imsuv"})
    if unknown:
        raise GrammarSyntaxError(f"flags other than i, m, s, u and v: {', '.join(unknown)}")
    if len(set(flags)) < len(flags) or ("u" in flags and "v" in flags):
        raise GrammarSyntaxError(f"the flags {flags!r} repeat or exclude each other")
    return Mode("i" in flags, "v" in flags, "s" in flags, "m" in flags)


def parse_tree(pattern: str, flags: str) -> tuple[Node, list[Node]]:
    """Parse *pattern*.

    Returns:
        The root, and all nodes with children before parents.

    Raises:
        GrammarSyntaxError: It does not parse, or uses what is not regular; every place is listed.
        LimitError: Groups nest too deep (``pattern_depth``) or a count is too high.
    """
    if not isinstance(pattern, str):
        raise GrammarSyntaxError(f"a pattern is text, not {type(pattern).__name__}")
    if not pattern.isascii() and any("\ud800" <= letter <= "\udfff" for letter in pattern):
        pattern = pattern.encode("utf-16", "surrogatepass").decode("utf-16", "surrogatepass")
    parser = _Parser(pattern, _mode(flags))
    root = parser.parse()
    if parser.source.problems:
        raise GrammarSyntaxError(_places(pattern, parser.source.problems))
    return root, parser.nodes
