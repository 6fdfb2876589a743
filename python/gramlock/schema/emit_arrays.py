"""Sets of arrays as nodes of a grammar."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from .arrays import ArraySet

if TYPE_CHECKING:
    from .._core import GrammarBuilder
    from .emit import Emitter
    from .layout import Gaps

__all__ = ["array_node"]


def array_node(emitter: Emitter, array: ArraySet, depth: int) -> int:
    """The arrays of a set, inside *depth* containers; ``FAIL`` if there are none."""
    builder, inside = emitter.builder, emitter.inside(depth)
    low, high = array.low, array.high
    items: list[int] = []
    for node in array.prefix:
        item = emitter.value(node, inside)
        if item == builder.FAIL:
            high = len(items)
            break
        items.append(item)
    rest = builder.FAIL
    if high is None or high > len(items):
        rest = emitter.value(array.rest, inside)
        if rest == builder.FAIL:
            high = len(items)
    if high is not None and low > high:
        return builder.FAIL
    gaps = emitter.layout(depth)
    listing: _Listing | None = emitter.memo.get(gaps)
    if listing is None:
        listing = emitter.memo[gaps] = _Listing(builder, gaps)
    return listing.node(items[:high], rest, low, high)


class _Listing:
    """Items between brackets, one by one where they differ.

    Where the same gap follows an item before a comma and before the bracket it is a node of its
    own, so that nothing has to be decided before what comes after it::

        [ open ( item gap ( , after_comma item gap )* )? ]
    """

    def __init__(self, builder: GrammarBuilder, gaps: Gaps) -> None:
        e, terminal, sequence = builder.expressions, builder.terminal, builder.sequence
        comma, close = e.literal(b","), e.literal(b"]")
        self.builder = builder
        self.after = builder.EMPTY
        if gaps.before_comma == gaps.close:
            self.after = terminal(gaps.close)
        else:
            comma = e.concat([gaps.before_comma, comma])
            close = e.concat([gaps.close, close])
        self.comma = sequence([terminal(comma), terminal(gaps.after_comma)])
        self.open = sequence([terminal(e.literal(b"[")), terminal(gaps.open)])
        self.close = terminal(close)
        # The empty array has the gap of a free layout, and none in a layout of fixed texts.
        self.empty = -1
        if gaps.open != e.EPSILON and gaps.open != gaps.before_comma:
            self.empty = terminal(e.literal(b"[]"))

    def node(self, items: Sequence[int], rest: int, low: int, high: int | None) -> int:
        """*low* to *high* items, those of *items* first."""
        builder = self.builder
        if self.empty < 0:
            return builder.sequence([self.open, self._items(items, rest, low, high), self.close])
        if high == 0:
            return self.empty
        body = self._items(items, rest, max(low, 1), high)
        some = builder.sequence([self.open, body, self.close])
        return builder.choice([self.empty, some]) if low == 0 else some

    def _items(self, items: Sequence[int], rest: int, low: int, high: int | None) -> int:
        builder = self.builder
        count = len(items)
        tail = builder.EMPTY
        if high is None or high > count:
            more = builder.sequence([self.comma, rest, self.after])
            upper = None if high is None else high - count
            if count:
                tail = builder.repetition(more, max(low - count, 0), upper)
            else:
                upper = None if upper is None else upper - 1
                repeated = builder.repetition(more, max(low - 1, 0), upper)
                return self._optional([rest, self.after, repeated], low == 0)
        for index in range(count - 1, -1, -1):
            if index < low:
                return self._fixed(items[: index + 1], tail)
            tail = self._optional([*self._item(items, index), tail], True)
        return tail

    def _item(self, items: Sequence[int], index: int) -> list[int]:
        comma = [self.comma] if index else []
        return [*comma, items[index], self.after]

    def _fixed(self, items: Sequence[int], tail: int) -> int:
        """All of *items*, then *tail*."""
        nodes = [node for index in range(len(items)) for node in self._item(items, index)]
        return self.builder.sequence([*nodes, tail])

    def _optional(self, nodes: Sequence[int], optional: bool) -> int:
        body = self.builder.sequence(nodes)
        return self.builder.choice([self.builder.EMPTY, body]) if optional else body
