"""Places of a pattern, and formulas over them.                            Tested by test_regex.py.

A place is a position in the tree before a character, or an end, with what is to be matched after
it: a linked list, numbered so that equal ones are the same number. What the rest of a text must
satisfy is a formula whose atoms are places ("the rest matches from here") and conditions on the
next character. ``regex_automaton.py`` runs a whole pattern on these, ``regex_loop.py`` a loop.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from itertools import pairwise
from typing import Final, NamedTuple

from gramlock.syntax import charclass as cc
from gramlock.syntax.charclass import Ranges
from gramlock.syntax.regex_formula import FALSE, TRUE, Algebra, Formula, atom
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

__all__ = ["ENDS_ANYWHERE", "ENDS_AT_END", "ENDS_HERE", "Next", "Places", "classes_of"]

MAX_STEPS: Final = 400_000


class Next(NamedTuple):
    """An atom: the next character is in *members*, or there is none and *boundary* is true."""

    members: Ranges
    boundary: bool


AT_END = Next(cc.EMPTY, boundary=True)

# A head is a position in one node: (index, offset in a literal) or (index, low, high) of a repeat.
Head = tuple[int, int, int | None]


class Place(NamedTuple):
    head: Head
    rest: int  # number of the place after it, or one of the three ends


ENDS_ANYWHERE: Final = -1  # of a look-ahead, and of a search
ENDS_AT_END: Final = -2  # of a whole match
ENDS_HERE: Final = -3  # of a look-behind


class Places:
    """The places of one tree, at one position of the text.

    Attributes:
        nodes: All nodes of the tree.
        classes: Sets of characters that the tree does not tell apart.
        places: Every place met so far.
        last: Class of the last character, -1 at the start.
        truth: The formula of each look-behind here, by index.
    """

    def __init__(self, nodes: Sequence[Node], classes: Sequence[Ranges]) -> None:
        self.nodes = nodes
        self.classes = classes
        self.places: list[Place] = []
        self.numbers: dict[Place, int] = {}
        self.algebra = Algebra(MAX_STEPS)
        self.last = -1
        self.truth: dict[int, Formula] = {}

    def number(self, head: Head, rest: int) -> int:
        """Return the number of a place."""
        place = Place(head, rest)
        found = self.numbers.get(place)
        if found is None:
            found = self.numbers[place] = len(self.places)
            self.places.append(place)
        return found

    def place(self, node: Node, rest: int) -> int:
        """Return the place before a node."""
        if isinstance(node, Repeat):
            return self.number((node.index, node.low, node.high), rest)
        if isinstance(node, Literal) and not node.text:
            return rest
        return self.number((node.index, 0, 0), rest)

    def reach(self, place: int) -> dict[int, Formula]:
        """Return the places before a character, and ends, to which *place* leads without one.

        Each with the formula under which it does, here and now.
        """
        found: dict[int, Formula] = {}
        seen: set[tuple[int, Formula]] = set()
        stack = [(place, TRUE)]
        while stack:
            now = stack.pop()
            place, when = now
            if not when or now in seen:
                continue
            seen.add(now)
            self.algebra.spend(1)
            node = self.nodes[self.places[place].head[0]] if place >= 0 else None
            if node is None or isinstance(node, (Set, Literal)):
                found[place] = self.algebra.either(found.get(place, FALSE), when)
            elif node.asserts and isinstance(node, (Look, Edge, WordEdge)):
                holds = self._asserted(node)
                stack.append((self.places[place].rest, self.algebra.both(when, holds)))
            else:
                stack += [(after, when) for after in self._step(node, self.places[place])]
        return found

    def _step(self, node: Node, place: Place) -> list[int]:
        """Enter a node that takes no character itself."""
        if isinstance(node, Alternation):
            return [self.place(item, place.rest) for item in node.items]
        if isinstance(node, Concat):
            rest = place.rest
            for item in reversed(node.items):
                rest = self.place(item, rest)
            return [rest]
        assert isinstance(node, Repeat)
        (index, low, high), rest = place
        if high == 0:
            return [rest]
        after = self.number((index, max(0, low - 1), None if high is None else high - 1), rest)
        body = self.place(node.items[0], after)
        return [body] if low else [body, rest]

    def _asserted(self, node: Look | Edge | WordEdge) -> Formula:
        """Return the formula of an assertion at this position."""
        if isinstance(node, Look):
            if node.ahead:
                holds = self.holds(self.place(node.item, ENDS_ANYWHERE))
            else:
                holds = self.truth[node.index]
            return self.algebra.negated(holds) if node.negated else holds
        if isinstance(node, WordEdge):
            after = atom(Next(node.word, boundary=False))
            return (
                self.algebra.negated(after)
                if self._follows(node.word, False) is not node.negated
                else after
            )
        if node.ahead:
            return atom(Next(node.members, node.boundary))
        return TRUE if self._follows(node.members, node.boundary) else FALSE

    def _follows(self, members: Ranges, boundary: bool) -> bool:
        """Tell whether the last character is in *members*."""
        if self.last < 0:
            return boundary
        return cc.contains(members, self.classes[self.last][0][0])

    def holds(self, place: int) -> Formula:
        """Return the formula that the rest of the text matches from *place* on."""
        result = FALSE
        for after, when in self.reach(place).items():
            if after == ENDS_ANYWHERE:
                result = self.algebra.either(result, when)
            elif after == ENDS_AT_END:
                result = self.algebra.either(result, self.algebra.both(when, atom(AT_END)))
            else:
                result = self.algebra.either(result, self.algebra.both(when, atom(after)))
        return result

    def moved(self, places: Iterable[tuple[int, Formula]], code: int) -> dict[int, Formula]:
        """Take *code* at each place; return where that leads, as :meth:`reach` does."""
        reached: dict[int, Formula] = {}
        memo: dict[int, Formula] = {}
        for place, when in places:
            if self._takes(place, code):
                onward = self.derive(when, code, memo)
                for after, also in self.reach(self._behind(place)).items():
                    both = self.algebra.both(onward, also)
                    reached[after] = self.algebra.either(reached.get(after, FALSE), both)
        return reached

    def _takes(self, place: int, code: int) -> bool:
        """Tell whether the character at *place* may be *code*."""
        index, offset, _ = self.places[place].head
        node = self.nodes[index]
        if isinstance(node, Literal):
            return ord(node.text[offset]) == code
        assert isinstance(node, Set)
        return cc.contains(node.members, code)

    def _behind(self, place: int) -> int:
        """Return the place after the character at *place*."""
        (index, offset, _), rest = self.places[place]
        node = self.nodes[index]
        if isinstance(node, Literal) and offset + 1 < len(node.text):
            return self.number((index, offset + 1, 0), rest)
        return rest

    def derive(self, formula: Formula, code: int, memo: dict[int, Formula]) -> Formula:
        """Return what must hold after *code* for *formula* to hold before it."""
        result = FALSE
        for clause in formula:
            part = TRUE
            for name, sign in clause:
                one = self._derive_atom(name, code, memo)
                part = self.algebra.both(part, one if sign else self.algebra.negated(one))
                if not part:
                    break
            result = self.algebra.either(result, part)
        return result

    def _derive_atom(self, name: Hashable, code: int, memo: dict[int, Formula]) -> Formula:
        if isinstance(name, Next):
            return TRUE if cc.contains(name.members, code) else FALSE
        assert isinstance(name, int)
        found = memo.get(name)
        if found is None:
            taken = self._takes(name, code)
            found = memo[name] = self.holds(self._behind(name)) if taken else FALSE
        return found


def classes_of(nodes: Sequence[Node]) -> list[Ranges]:
    """Cut the characters into classes that the tree does not tell apart."""
    wanted: set[Ranges] = set()
    for node in nodes:
        if isinstance(node, (Set, Edge)):
            wanted.add(node.members)
        elif isinstance(node, WordEdge):
            wanted.add(node.word)
        elif isinstance(node, Literal):
            wanted.update(((ord(c), ord(c)),) for c in node.text)
    marks = sorted(
        {0, 0xD800, 0xE000, cc.TOP + 1}
        | {edge for members in wanted for a, b in members for edge in (a, b + 1)}
    )
    by_sets: dict[tuple[bool, ...], list[tuple[int, int]]] = {}
    members_list = sorted(wanted)
    for low, after in pairwise(marks):
        if not 0xD800 <= low <= 0xDFFF:
            key = tuple(cc.contains(members, low) for members in members_list)
            by_sets.setdefault(key, []).append((low, after - 1))
    return [cc.normalise(pairs) for pairs in by_sets.values()]
