"""Assertions in any position, by running the pattern as an automaton.      Tested by test_regex.py.

The last resort, for patterns whose assertions cross each other or reach out of their loop on both
sides, such as ``a(?=.*b).*(?<=c.)``. It takes any nesting.

The state after a prefix is a formula about the rest of the text (``regex_places.py``). Look-ahead
adds its body as a conjunct, negated or not. A look-behind runs along from every position: for each
of its places, the formula under which some match has come to that place; at its end, that is the
formula of the look-behind itself. Formulas are kept in a normal form, so that there are finitely
many. The automaton is minimised (Moore) and its states are eliminated.

Cost: the states, of which there may be ``MAX_STATES``; counted repeats are counted in states. That
is why ``regex_context.py`` takes whatever it can.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Final, NamedTuple, TypeVar

from gramlock.errors import LimitError
from gramlock.syntax import charclass as cc
from gramlock.syntax.charclass import Ranges
from gramlock.syntax.regex_expr import Translator
from gramlock.syntax.regex_formula import FALSE, TRUE, Formula
from gramlock.syntax.regex_graph import Graph
from gramlock.syntax.regex_places import (
    ENDS_ANYWHERE,
    ENDS_AT_END,
    ENDS_HERE,
    Next,
    Places,
    classes_of,
)
from gramlock.syntax.regex_tree import Look, Node

__all__ = ["Table", "compile_automaton", "explore"]

MAX_STATES: Final = 600

_S = TypeVar("_S", bound=Hashable)


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
        self.places = Places(nodes, classes_of(nodes))
        self.looks = [n for n in nodes if isinstance(n, Look) and not n.ahead]
        self.search = search
        self.root = self.places.place(root, ENDS_ANYWHERE if search else ENDS_AT_END)
        self.starts = [self.places.place(look.item, ENDS_HERE) for look in self.looks]

    def start(self) -> _State:
        """Return the state before any character."""
        return self._advance(_State(FALSE, tuple(frozenset() for _ in self.looks), -1), -1)

    def after(self, state: _State, number: int) -> _State:
        """Return the state after a character of a class."""
        if state.main == TRUE or not (state.main or self.search):
            return state
        return self._advance(state, number)

    def _advance(self, state: _State, last: int) -> _State:
        places, algebra = self.places, self.places.algebra
        places.last = last
        places.truth = {}
        code = places.classes[last][0][0] if last >= 0 else None
        running = []
        for look, start, before in zip(self.looks, self.starts, state.behind, strict=True):
            reached = places.reach(start)
            for place, when in (places.moved(before, code) if code is not None else {}).items():
                reached[place] = algebra.either(reached.get(place, FALSE), when)
            places.truth[look.index] = reached.pop(ENDS_HERE, FALSE)
            running.append(frozenset((p, when) for p, when in reached.items() if when))
        main = state.main if code is None else places.derive(state.main, code, {})
        if self.search or code is None:
            main = algebra.either(main, places.holds(self.root))
        if main == TRUE or not (main or self.search):
            return _State(main, (), -1)
        return _State(main, tuple(running), last)


def _accepts(state: _State) -> bool:
    """Tell whether the text may end here."""
    return any(
        all((isinstance(name, Next) and name.boundary) is sign for name, sign in clause)
        for clause in state.main
    )


class Table:
    """An explored automaton, minimised.

    Attributes:
        moves: For each state and class of characters the next state; the first state is 0.
        labels: What each state was told apart by.
    """

    def __init__(self, moves: list[list[int]], labels: Sequence[Hashable]) -> None:
        block = _minimised(moves, labels)
        chosen = {number: state for state, number in reversed(list(enumerate(block)))}
        states = [chosen[number] for number in range(len(chosen))]
        self.moves = [[block[after] for after in moves[state]] for state in states]
        self.labels = [labels[state] for state in states]

    def graph(self, classes: Sequence[Ranges], translator: Translator) -> Graph:
        """Return the graph of the automaton, with two nodes more."""
        graph = Graph(translator.store, len(self.moves) + 2)
        for state, row in enumerate(self.moves):
            ways: dict[int, list[Ranges]] = {}
            for number, after in enumerate(row):
                ways.setdefault(after, []).append(classes[number])
            for after, sets in ways.items():
                graph.add(state, after, translator.set(cc.union(*sets)))
        return graph


def _minimised(moves: Sequence[Sequence[int]], labels: Sequence[Hashable]) -> list[int]:
    """Return the block of each state (Moore's refinement), numbered in order of first state."""
    numbers = {key: number for number, key in enumerate(dict.fromkeys(labels))}
    block = [numbers[label] for label in labels]
    count = len(numbers)
    while True:
        keys = [(block[s], *(block[t] for t in row)) for s, row in enumerate(moves)]
        found = {key: number for number, key in enumerate(dict.fromkeys(keys))}
        block = [found[key] for key in keys]
        if len(found) == count:
            return block
        count = len(found)


def explore(
    start: _S, after: Callable[[_S, int], _S], classes: int, label: Callable[[_S], Hashable]
) -> Table:
    """Find every state that *start* leads to.

    Raises:
        LimitError: More than ``MAX_STATES`` (``pattern_states``).
    """
    states = [start]
    numbers = {start: 0}
    moves: list[list[int]] = []
    for state in states:
        row = []
        for number in range(classes):
            following = after(state, number)
            if following not in numbers:
                numbers[following] = len(states)
                states.append(following)
                if len(states) > MAX_STATES:
                    raise LimitError("pattern_states", len(states), MAX_STATES)
            row.append(numbers[following])
        moves.append(row)
    return Table(moves, [label(state) for state in states])


def compile_automaton(
    root: Node, nodes: Sequence[Node], translator: Translator, search: bool
) -> int:
    """Return the expression of a pattern; see :func:`regex_expr.compile_tree`.

    Raises:
        LimitError: Too many states, or formulas too large (``pattern_states``).
    """
    automaton = _Automaton(root, nodes, search)
    classes = automaton.places.classes
    table = explore(automaton.start(), automaton.after, len(classes), _accepts)
    graph = table.graph(classes, translator)
    start, end = len(table.moves), len(table.moves) + 1
    graph.add(start, 0, translator.store.EPSILON)
    for state, final in enumerate(table.labels):
        if final:
            graph.add(state, end, translator.store.EPSILON)
    return graph.between(start, end)
