"""A graph of expressions to one expression, by eliminating its nodes.     Tested by test_regex.py.

McNaughton and Yamada's construction (1960): a node between others is replaced by the ways through
it, ``in . loop* . out``; those with the fewest ways go first.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from gramlock.errors import LimitError

if TYPE_CHECKING:
    from gramlock._core import Expressions

__all__ = ["Graph"]

MAX_WAYS: Final = 20_000


class Graph:
    """Nodes are numbers from 0 up; an edge carries an expression.

    Attributes:
        store: Where the expressions live.
        out: For each node its successors and what leads there.
        into: For each node its predecessors.
    """

    def __init__(self, store: Expressions, count: int) -> None:
        self.store = store
        self.out: list[dict[int, int]] = [{} for _ in range(count)]
        self.into: list[set[int]] = [set() for _ in range(count)]
        self.ways = 0

    def add(self, start: int, end: int, expr: int) -> None:
        """Add a way from *start* to *end*, besides those already there."""
        if expr == self.store.NEVER:
            return
        found = self.out[start].get(end)
        self.out[start][end] = expr if found is None else self.store.union([found, expr])
        self.into[end].add(start)

    def between(self, start: int, end: int) -> int:
        """Return all ways from *start* (which nothing enters) to *end* (which nothing leaves).

        The graph is used up.

        Raises:
            LimitError: More than 20,000 ways had to be joined (``pattern_states``).
        """
        left = set(range(len(self.out))) - {start, end}
        while left:
            node = min(left, key=self._cost)
            left.remove(node)
            self._eliminate(node)
        return self.out[start].get(end, self.store.NEVER)

    def _cost(self, node: int) -> int:
        return len(self.into[node]) * len(self.out[node])

    def _eliminate(self, node: int) -> None:
        store = self.store
        ahead = self.out[node]
        again = ahead.pop(node, None)
        self.into[node].discard(node)
        self.ways += len(ahead) * len(self.into[node])
        if self.ways > MAX_WAYS:
            raise LimitError("pattern_states", self.ways, MAX_WAYS)
        loop = [] if again is None else [store.repeat(again, 0, None)]
        tails = {end: store.concat([*loop, expr]) for end, expr in ahead.items()}
        for start in self.into[node]:
            head = self.out[start].pop(node)
            for end, tail in tails.items():
                self.add(start, end, store.concat([head, tail]))
        for end in ahead:
            self.into[end].discard(node)
