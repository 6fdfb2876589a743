"""The oracle for long texts: an Earley chart over the machines of :mod:`oracle`.

A chart stands for a text. It holds what waits for a node to be read (and in which earlier chart
that began), and the expressions being read, as derivatives. ``step`` makes the next chart and
leaves this one as it is, so charts of texts with a common beginning share it. (Earley 1970; nothing
is precomputed and nothing merged, so nothing can go wrong there.)

What has been put into a chart can always be completed: parts without a sentence are left out. Only
where different values may run out (``Grammar.strict``) is that not so; there a chart is viable when
a search finds a sentence that begins with its text.
test_oracle.py compares it with the oracle, text by text.
"""

from __future__ import annotations

import dataclasses
import functools
import heapq
import itertools
from collections.abc import Iterable, Sequence
from typing import Any

from machines import Atom, Pending, State, resolve, whatever_was_read
from oracle import TOKEN, Grammar, Text, Tokens, TooLargeError

Goal = tuple[int, State, "Chart"]  # a node, the state it will be in, where it began
ROOT = -1
SEARCHED = 4000  # charts that the search for a sentence looks at before it gives up


class Chart:
    """All ways to read one text."""

    def __init__(self, grammar: Grammar, text: Text = ()) -> None:
        self.grammar, self.text = grammar, text
        self.accepted = False  # the text is a sentence
        self.waiting: dict[int, list[Goal]] = {}
        self.reading: set[tuple[int, Goal]] = set()  # a term and what follows it
        self.tokens: list[tuple[frozenset[int], Goal]] = []
        self.seen: set[Goal] = set()
        self.empty_here: set[int] = set()  # nodes that match nothing at the end of this chart
        self.steps: dict[int, Chart] = {}
        self.rests: dict[tuple[int, State], float] = {}
        self.found: bool | None = None  # whether the search found a sentence

    @property
    def is_viable(self) -> bool:
        if self.accepted or not (self.reading or self.tokens):
            return self.accepted
        if not self.grammar.strict:
            return True
        if self.found is None:
            self.found = search(self)
        return self.found

    def step(self, symbol: int) -> Chart:
        """The chart of the text and one more symbol."""
        if symbol not in self.steps:
            self.steps[symbol] = self.successor(symbol)
        return self.steps[symbol]

    def successor(self, symbol: int) -> Chart:
        """The same, made anew and not kept."""
        after = Chart(self.grammar, (*self.text, symbol))
        if symbol >= TOKEN:
            for members, goal in self.tokens:
                if symbol in members:
                    after._reach(goal)
        elif symbol in self.grammar.exprs.alphabet:
            terms = self.grammar.exprs.terms
            for term, goal in self.reading:
                after._read(terms.derive(term, symbol), goal)
        return after

    def token(self, id: int, spelling: bytes = b"") -> Chart | None:
        """The chart after a token, taken by its id or its spelling or both; None if neither."""
        after = [self.step(TOKEN + id)]
        if spelling:
            chart = self
            for byte in spelling:
                chart = chart.step(byte)
            after.append(chart)
        ways = [chart for chart in after if chart.is_viable]
        if len(ways) < 2:
            return ways[0] if ways else None
        return Ways(self.grammar, ways)

    def forced(self, at_most: int) -> bytes:
        """The bytes that must come next."""
        chart, out = self, bytearray()
        while len(out) < at_most and not chart.accepted and not chart.tokens:
            following = chart.following()
            if len(following) != 1:
                break
            out += bytes(following)
            chart = chart.step(following[0])
        return bytes(out)

    def following(self) -> list[int]:
        """The bytes that may come next."""
        alphabet = self.grammar.exprs.alphabet if self.reading else ()
        return [byte for byte in sorted(alphabet) if self.step(byte).is_viable]

    def _read(self, term: int, goal: Goal) -> None:
        terms = self.grammar.exprs.terms
        if (term, goal) in self.reading:
            return
        if terms.nullable[term]:
            self._reach(goal)
        if terms.is_alive(term) and term != terms.EMPTY:
            self.reading.add((term, goal))

    def _reach(self, goal: Goal) -> None:
        """The goal's node is in its state: start every part that may come next, pass on its end."""
        waiting = [goal]
        while waiting:
            node, state, origin = waiting.pop()
            if isinstance(state, Pending):
                state = resolve(state, self.text[state.begin :])
            goal = (node, state, origin)
            if state is None or goal in self.seen:
                continue
            self.seen.add(goal)
            if node == ROOT:
                self.accepted = True
                continue
            machine = self.grammar.machines[node]
            if machine.done(state):
                waiting += self._finish(node, origin)
            for atom, after in machine.moves(state):
                if self.grammar.can_finish(node, after) and self.grammar.is_productive(atom):
                    waiting += self._begin(atom, (node, after, origin))

    def _finish(self, node: int, origin: Chart) -> list[Goal]:
        goals = origin.waiting.get(node, [])
        if origin is not self:
            return goals
        self.empty_here.add(node)
        return [goal for goal in goals if self._counts_empty(goal)]

    def _counts_empty(self, goal: Goal) -> bool:
        return goal[0] == ROOT or self.grammar.machines[goal[0]].counts_empty

    def _begin(self, atom: Atom, goal: Goal) -> list[Goal]:
        kind, what = atom
        node, state, origin = goal
        if isinstance(state, Pending):
            goal = (node, dataclasses.replace(state, begin=len(self.text)), origin)
        if kind == "tokens":
            self.tokens.append((what, goal))
            return []
        if kind == "expr":
            term = self.grammar.exprs.terms.of(what)
            if term != self.grammar.exprs.terms.EMPTY:
                self.reading.add((term, goal))
            return [goal] if self.grammar.is_nullable(atom) and self._counts_empty(goal) else []
        goals = self.waiting.setdefault(what, [])
        goals.append(goal)
        begun: list[Goal] = [(what, self.grammar.machines[what].start, self)]
        return begun + ([goal] if what in self.empty_here and self._counts_empty(goal) else [])


class Ways(Chart):
    """Several charts at once: a token was taken by its id and by its spelling."""

    def __init__(self, grammar: Grammar, ways: Sequence[Chart]) -> None:
        super().__init__(grammar)
        self.ways = ways
        self.accepted = any(way.accepted for way in ways)
        self.reading = set().union(*(way.reading for way in ways))
        self.tokens = [each for way in ways for each in way.tokens]

    @property
    def is_viable(self) -> bool:
        return any(way.is_viable for way in self.ways)

    def successor(self, symbol: int) -> Chart:
        return Ways(self.grammar, [way.step(symbol) for way in self.ways])


# ---------------------------------------------------------------- searching


def search(chart: Chart) -> bool:
    """Whether a sentence begins with the chart's text: best first, by :class:`Lengths`."""
    lengths = lengths_of(chart.grammar)
    numbers = itertools.count()
    waiting = [(lengths.of_chart(chart), next(numbers), chart)]
    while waiting:
        _, number, visited = heapq.heappop(waiting)
        if visited.accepted or visited.found:
            return True
        if number > SEARCHED:
            raise TooLargeError("no sentence found, which proves nothing")
        for symbol in worth_trying(visited):
            after = visited.step(symbol)
            if after.found is not False and (after.accepted or after.reading or after.tokens):
                steps = len(after.text) - len(chart.text)
                waiting_for = steps + lengths.of_chart(after)
                heapq.heappush(waiting, (waiting_for, next(numbers), after))
    return False


def worth_trying(chart: Chart) -> Iterable[int]:
    """The symbols to try: of bytes that nothing tells apart no more than a few.

    One more than the values that may have been seen would do, as each of them rules out only one.
    """
    terms = chart.grammar.exprs.terms
    sets = sorted(frozenset().union(*(terms.sets[term] for term, _ in chart.reading)), key=sorted)
    groups: dict[tuple[bool, ...], list[int]] = {}
    for byte in sorted(terms.alphabet):
        groups.setdefault(tuple(byte in each for each in sets), []).append(byte)
    few = [byte for group in groups.values() for byte in group[:8]]
    return [*few, *{symbol for members, _ in chart.tokens for symbol in members}]


class Lengths:
    """How many bytes it takes at least to get somewhere, were all values different."""

    def __init__(self, grammar: Grammar) -> None:
        self.grammar = grammar
        self.terms: dict[int, float] = {}
        self.endings: dict[tuple[int, State], float] = {}
        self.nodes: dict[int, float] = dict.fromkeys(grammar.machines, float("inf"))
        changed = True
        while changed:
            changed = False
            for node, machine in grammar.machines.items():
                length = self._ending(node, machine.start)
                changed |= length < self.nodes[node]
                self.nodes[node] = min(length, self.nodes[node])

    def of_atom(self, atom: Atom) -> float:
        kind, what = atom
        if kind == "node":
            return self.nodes[what]
        if kind == "tokens":
            return 1 if what else float("inf")
        return self.of_term(self.grammar.exprs.terms.of(what))

    def of_term(self, term: int) -> float:
        """The length of the shortest string of a term: breadth first."""
        terms = self.grammar.exprs.terms
        if term not in self.terms:
            level, seen, length = {term}, {term}, 0
            while level and not any(terms.nullable[each] for each in level):
                after = {
                    terms.derive(each, byte)
                    for each in level
                    for byte in terms.representatives(terms.sets[each])
                }
                level = after - seen
                seen |= level
                length += 1
            self.terms[term] = length if level else float("inf")
        return self.terms[term]

    def _ending(self, node: int, state: State) -> float:
        """The bytes from a state of a node's machine to its end: Dijkstra's way."""
        machine = self.grammar.machines[node]
        numbers = itertools.count()
        waiting: list[tuple[float, int, Any]] = [(0, next(numbers), state)]
        seen: set[State] = set()
        while waiting:
            length, _, at = heapq.heappop(waiting)
            if machine.done(at):
                return length
            if at in seen:
                continue
            seen.add(at)
            for atom, after in machine.moves(at):
                step = self.of_atom(atom)
                if step < float("inf"):
                    reached = whatever_was_read(after)
                    heapq.heappush(waiting, (length + step, next(numbers), reached))
        return float("inf")

    def of_goal(self, goal: Goal) -> float:
        """The bytes from a goal to the end of the text."""
        node, state, origin = goal
        if node == ROOT:
            return 0
        state = whatever_was_read(state)
        if (node, state) not in origin.rests:
            origin.rests[node, state] = float("inf")  # a goal that waits for itself
            if (node, state) not in self.endings:
                self.endings[node, state] = self._ending(node, state)
            above = map(self.of_goal, origin.waiting.get(node, []))
            origin.rests[node, state] = self.endings[node, state] + min(above, default=0)
        return origin.rests[node, state]

    def of_chart(self, chart: Chart) -> float:
        if chart.accepted:
            return 0
        reading = (self.of_term(term) + self.of_goal(goal) for term, goal in chart.reading)
        tokens = (1 + self.of_goal(goal) for _, goal in chart.tokens)
        return min(itertools.chain(reading, tokens), default=float("inf"))


@functools.lru_cache(maxsize=64)
def lengths_of(grammar: Grammar) -> Lengths:
    return Lengths(grammar)


@functools.lru_cache(maxsize=4)
def spelled_in_order(tokens: Tokens) -> list[tuple[int, bytes]]:
    return sorted(tokens.spelled().items(), key=lambda item: item[1])


def chart_of(grammar: Grammar) -> Chart:
    """The chart of the empty text."""
    chart = Chart(grammar)
    if grammar.root in grammar.productive:
        for goal in chart._begin(("node", grammar.root), (ROOT, "end", chart)):
            chart._reach(goal)
    return chart


class ChartOracle:
    """Like :class:`oracle.Oracle`, by charts; ``mask`` walks common beginnings once."""

    def __init__(self, dump: dict[str, Any], tokens: Tokens | None = None) -> None:
        self.tokens = tokens
        if tokens is None:
            self.grammar = Grammar(dump)
        else:
            self.grammar = Grammar(dump, tokens.alphabet(), len(tokens.texts))
            self.spelled = spelled_in_order(tokens)
        self.start = chart_of(self.grammar)

    def chart(self, text: Text) -> Chart:
        chart = self.start
        for symbol in text:
            chart = chart.step(symbol)
        return chart

    def accepts(self, text: Text) -> bool:
        return self.chart(text).accepted

    def is_prefix(self, text: Text) -> bool:
        return self.chart(text).is_viable

    def mask(self, text: Text) -> set[int]:
        return self.mask_of(self.chart(text))

    def mask_of(self, chart: Chart) -> set[int]:
        """The ids that may come after a chart's text."""
        assert self.tokens is not None
        allowed = set(self.tokens.end_ids) if chart.accepted else set()
        allowed |= {symbol - TOKEN for members, _ in chart.tokens for symbol in members}
        path, past = [chart], b""  # the charts along the last spelling
        for id, spelling in self.spelled:
            shared = 0
            while shared < min(len(past), len(spelling)) and past[shared] == spelling[shared]:
                shared += 1
            del path[shared + 1 :]
            while len(path) <= len(spelling) and path[-1].is_viable:
                path.append(self._step(path[-1], spelling[len(path) - 1]))
            past = spelling[: len(path) - 1]
            if path[-1].is_viable:
                allowed.add(id)
        return allowed

    def _step(self, chart: Chart, byte: int) -> Chart:
        """Charts are worth keeping only where tokens are few."""
        return chart.step(byte) if len(self.spelled) < 1000 else chart.successor(byte)
