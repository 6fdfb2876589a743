"""The oracle for long texts: an Earley chart over the machines of :mod:`oracle`.

A chart stands for a text. It holds what waits for a node to be read (and in which earlier chart
that began), and the expressions being read, as derivatives. ``step`` makes the next chart and
leaves this one as it is, so charts of texts with a common beginning share it. (Earley 1970; nothing
is precomputed and nothing merged, so nothing can go wrong there.)

What has been put into a chart can always be completed: parts without a sentence are left out.
test_oracle.py compares it with the oracle, text by text.
"""

from __future__ import annotations

import functools
from typing import Any

from oracle import TOKEN, Grammar, State, Text, Tokens

Goal = tuple[int, State, "Chart"]  # a node, the state it will be in, where it began
ROOT = -1


class Chart:
    """All ways to read one text."""

    def __init__(self, grammar: Grammar) -> None:
        self.grammar = grammar
        self.accepted = False  # the text is a sentence
        self.waiting: dict[int, list[Goal]] = {}
        self.reading: set[tuple[int, Goal]] = set()  # a term and what follows it
        self.tokens: list[tuple[frozenset[int], Goal]] = []
        self.seen: set[Goal] = set()
        self.empty_here: set[int] = set()  # nodes that match nothing at the end of this chart
        self.steps: dict[int, Chart] = {}

    @property
    def is_viable(self) -> bool:
        return self.accepted or bool(self.reading) or bool(self.tokens)

    def step(self, symbol: int) -> Chart:
        """The chart of the text and one more symbol."""
        if symbol not in self.steps:
            self.steps[symbol] = self.successor(symbol)
        return self.steps[symbol]

    def successor(self, symbol: int) -> Chart:
        """The same, made anew and not kept."""
        after = Chart(self.grammar)
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
        both = Chart(self.grammar)
        for chart in ways:
            both.accepted |= chart.accepted
            both.reading |= chart.reading
            both.tokens += chart.tokens
        return both

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
            goal = waiting.pop()
            if goal in self.seen:
                continue
            self.seen.add(goal)
            node, state, origin = goal
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

    def _begin(self, atom: tuple[str, Any], goal: Goal) -> list[Goal]:
        kind, what = atom
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
