"""Assertions in any position, by running the pattern as an automaton.      Tested by test_regex.py.

The last resort, for patterns whose assertions cross each other or reach out of their loop by more
than a character, such as ``(?:(?!foo).)*`` or ``a(?=.*b).*(?<=c.)``. It takes any nesting.

The state after a prefix is a formula about the rest of the text. Its atoms are *places*: a position
in the tree before a character, with what is to be matched after it. Look-ahead adds its body as a
conjunct, negated or not. A look-behind runs along from every position: for each of its places, the
formula under which some match has come to that place; at its end, that is the formula of the
look-behind itself. Formulas are kept in a normal form, so that there are finitely many. The
automaton is minimised (Moore) and its states are eliminated.

Cost: the states, of which there may be ``MAX_STATES``; counted repeats are counted in states. That
is why ``regex_context.py`` takes whatever it can.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from itertools import pairwise
from typing import Final, NamedTuple

from gramlock.errors import LimitError
from gramlock.syntax import charclass as cc
from gramlock.syntax.charclass import Ranges
from gramlock.syntax.regex_expr import Translator
from gramlock.syntax.regex_formula import FALSE, TRUE, Algebra, Formula, atom
from gramlock.syntax.regex_graph import Graph
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

__all__ = ["compile_automaton"]

MAX_STATES: Final = 600
MAX_STEPS: Final = 3_000_000


class Next(NamedTuple):
    """An atom: the next character is in *members*, or there is none and *boundary* is true."""

    members: Ranges
    boundary: bool


AT_END = Next(cc.EMPTY, boundary=True)

# A head is a position in one node: (index, offset in a literal) or (index, low, high) of a repeat.
Head = tuple[int, int, int | None]


class _Place(NamedTuple):
    head: Head
    rest: int  # number of the place after it, or one of the three ends


ENDS_ANYWHERE: Final = -1  # of a look-ahead, and of a search
ENDS_AT_END: Final = -2  # of a whole match
ENDS_HERE: Final = -3  # of a look-behind


class _State(NamedTuple):
    """What the text so far leaves open.

    Attributes:
        main: What the rest must satisfy.
        behind: For each look-behind, its places and the formulas under which they are reached.
        last: Class of the last character, -1 at the start.
    """

    main: Formula
    behind: tuple[frozenset[tuple[int, Formula]], ...]
    last: int


class _Automaton:
    """The automaton of one tree."""

    def __init__(self, root: Node, nodes: Sequence[Node], search: bool) -> None:
        self.nodes = nodes
        self.places: list[_Place] = []
        self.numbers: dict[_Place, int] = {}
        self.algebra = Algebra(MAX_STEPS)
        self.looks = [n for n in nodes if isinstance(n, Look) and not n.ahead]
        self.classes = _classes(nodes)
        self.truth: dict[int, Formula] = {}
        self.last = -1
        self.search = search
        self.root = self._place(root, ENDS_ANYWHERE if search else ENDS_AT_END)
        self.starts = [self._place(look.item, ENDS_HERE) for look in self.looks]

    # -- places ----------------------------------------------------------------------------------

    def _number(self, head: Head, rest: int) -> int:
        place = _Place(head, rest)
        found = self.numbers.get(place)
        if found is None:
            found = self.numbers[place] = len(self.places)
            self.places.append(place)
        return found

    def _place(self, node: Node, rest: int) -> int:
        if isinstance(node, Repeat):
            return self._number((node.index, node.low, node.high), rest)
        if isinstance(node, Literal) and not node.text:
            return rest
        return self._number((node.index, 0, 0), rest)

    def _reach(self, place: int) -> dict[int, Formula]:
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

    def _step(self, node: Node, place: _Place) -> list[int]:
        """Enter a node that takes no character itself."""
        if isinstance(node, Alternation):
            return [self._place(item, place.rest) for item in node.items]
        if isinstance(node, Concat):
            rest = place.rest
            for item in reversed(node.items):
                rest = self._place(item, rest)
            return [rest]
        assert isinstance(node, Repeat)
        (index, low, high), rest = place
        if high == 0:
            return [rest]
        after = self._number((index, max(0, low - 1), None if high is None else high - 1), rest)
        body = self._place(node.items[0], after)
        return [body] if low else [body, rest]

    def _asserted(self, node: Look | Edge | WordEdge) -> Formula:
        """Return the formula of an assertion at this position."""
        if isinstance(node, Look):
            if node.ahead:
                holds = self._holds(self._place(node.item, ENDS_ANYWHERE))
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

    def _holds(self, place: int) -> Formula:
        """Return the formula that the rest of the text matches from *place* on."""
        result = FALSE
        for after, when in self._reach(place).items():
            if after == ENDS_ANYWHERE:
                result = self.algebra.either(result, when)
            elif after == ENDS_AT_END:
                result = self.algebra.either(result, self.algebra.both(when, atom(AT_END)))
            else:
                result = self.algebra.either(result, self.algebra.both(when, atom(after)))
        return result

    # -- states ----------------------------------------------------------------------------------

    def start(self) -> _State:
        """Return the state before any character."""
        return self._advance(FALSE, tuple(frozenset() for _ in self.looks), -1, None)

    def after(self, state: _State, number: int) -> _State:
        """Return the state after a character of a class."""
        if state.main == TRUE or not (state.main or self.search):
            return state
        return self._advance(state.main, state.behind, number, self.classes[number][0][0])

    def _advance(
        self,
        main: Formula,
        behind: Sequence[frozenset[tuple[int, Formula]]],
        last: int,
        code: int | None,
    ) -> _State:
        self.last = last
        self.truth = {}
        memo: dict[int, Formula] = {}
        running = []
        for look, start, places in zip(self.looks, self.starts, behind, strict=True):
            reached = dict(self._reach(start))
            for place, when in places:
                if code is not None and self._takes(place, code):
                    onward = self._derive(when, code, {})
                    for after, also in self._reach(self._behind(place)).items():
                        both = self.algebra.both(onward, also)
                        reached[after] = self.algebra.either(reached.get(after, FALSE), both)
            self.truth[look.index] = reached.pop(ENDS_HERE, FALSE)
            running.append(frozenset((p, when) for p, when in reached.items() if when))
        if code is not None:
            main = self._derive(main, code, memo)
        if self.search or code is None:
            main = self.algebra.either(main, self._holds(self.root))
        if main == TRUE or not (main or self.search):
            return _State(main, (), -1)
        return _State(main, tuple(running), last)

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
            return self._number((index, offset + 1, 0), rest)
        return rest

    def _derive(self, formula: Formula, code: int, memo: dict[int, Formula]) -> Formula:
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
            found = memo[name] = self._holds(self._behind(name)) if taken else FALSE
        return found

    def accepts(self, state: _State) -> bool:
        """Tell whether the text may end here."""
        return any(
            all((isinstance(name, Next) and name.boundary) is sign for name, sign in clause)
            for clause in state.main
        )


def _classes(nodes: Sequence[Node]) -> list[Ranges]:
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


def _minimised(table: Sequence[Sequence[int]], final: Sequence[bool]) -> list[int]:
    """Return the block of each state (Moore's refinement)."""
    block = [int(one) for one in final]
    count = len(set(block))
    while True:
        keys = [(block[s], *(block[t] for t in row)) for s, row in enumerate(table)]
        numbers = {key: number for number, key in enumerate(dict.fromkeys(keys))}
        block = [numbers[key] for key in keys]
        if len(numbers) == count:
            return block
        count = len(numbers)


def _explore(automaton: _Automaton) -> tuple[list[list[int]], list[bool]]:
    """Return the transitions of every state, by class, and whether the text may end there."""
    states = [automaton.start()]
    numbers = {states[0]: 0}
    table: list[list[int]] = []
    for state in states:
        row = []
        for number in range(len(automaton.classes)):
            after = automaton.after(state, number)
            if after not in numbers:
                numbers[after] = len(states)
                states.append(after)
                if len(states) > MAX_STATES:
                    raise LimitError("pattern_states", len(states), MAX_STATES)
            row.append(numbers[after])
        table.append(row)
    return table, [automaton.accepts(state) for state in states]


def compile_automaton(
    root: Node, nodes: Sequence[Node], translator: Translator, search: bool
) -> int:
    """Return the expression of a pattern; see :func:`regex_expr.compile_tree`.

    Raises:
        LimitError: Over ``MAX_STATES`` or ``MAX_STEPS`` (``pattern_states``).
    """
    automaton = _Automaton(root, nodes, search)
    table, final = _explore(automaton)
    block = _minimised(table, final)
    count = max(block) + 1
    graph = Graph(translator.store, count + 2)
    graph.add(count, block[0], translator.store.EPSILON)
    seen: set[int] = set()
    for state, row in enumerate(table):
        if block[state] in seen:
            continue
        seen.add(block[state])
        if final[state]:
            graph.add(block[state], count + 1, translator.store.EPSILON)
        ways: dict[int, list[Ranges]] = {}
        for number, after in enumerate(row):
            ways.setdefault(block[after], []).append(automaton.classes[number])
        for after, sets in ways.items():
            graph.add(block[state], after, translator.set(cc.union(*sets)))
    return graph.between(count, count + 1)
