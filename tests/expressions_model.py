"""A slow stand-in for the core's expressions, over code points: tuples and derivatives.

Front ends are tested on it as well as on the core, so that a wrong answer tells whose fault it is.
An expression is an index into a list of tuples:

    ("never",) ("epsilon",) ("set", ranges) ("concat", head, tail) ("union", ids)
    ("intersect", ids) ("complement", id) ("repeat", id, low, high)

Texts are matched by Brzozowski derivatives, one code point at a time.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

Ranges = Sequence[tuple[int, int]]


class ModelExpressions:
    """Has the methods of ``gramlock._core.Expressions`` that the front ends use."""

    NEVER = 0
    EPSILON = 1
    ANY = 2

    def __init__(self) -> None:
        self.cache: dict[object, Any] = {}
        self.items: list[tuple[Any, ...]] = []
        self.ids: dict[tuple[Any, ...], int] = {}
        self.memo: dict[tuple[int, int], int] = {}
        self.empties: list[bool] = []
        for item in (("never",), ("epsilon",), ("complement", 0)):
            self._intern(item)

    def _intern(self, item: tuple[Any, ...]) -> int:
        found = self.ids.get(item)
        if found is None:
            found = self.ids[item] = len(self.items)
            self.items.append(item)
            self.empties.append(self._empty(item))
        return found

    def _empty(self, item: tuple[Any, ...]) -> bool:
        """Tell whether the empty text matches."""
        kind = item[0]
        if kind == "concat":
            return self.empties[item[1]] and self.empties[item[2]]
        if kind == "union":
            return any(self.empties[one] for one in item[1])
        if kind == "intersect":
            return all(self.empties[one] for one in item[1])
        if kind == "complement":
            return not self.empties[item[1]]
        if kind == "repeat":
            return item[2] == 0 or self.empties[item[1]]
        return kind == "epsilon"

    def codepoints(self, ranges: Ranges, encoding: str = "utf8") -> int:
        return self._intern(("set", tuple(tuple(pair) for pair in ranges)))

    def literal(self, data: bytes) -> int:
        return self.concat([self.codepoints(((ord(c), ord(c)),)) for c in data.decode()])

    def concat(self, items: Sequence[int]) -> int:
        result = self.EPSILON
        for item in reversed(items):
            result = self._pair(item, result)
        return result

    def _pair(self, head: int, tail: int) -> int:
        if head == self.NEVER or tail == self.NEVER:
            return self.NEVER
        if head == self.EPSILON:
            return tail
        if self.items[head][0] == "concat":
            _, first, rest = self.items[head]
            return self._pair(first, self._pair(rest, tail))
        return head if tail == self.EPSILON else self._intern(("concat", head, tail))

    def _many(self, kind: str, items: Iterable[int], unit: int, zero: int) -> int:
        found: set[int] = set()
        for item in items:
            if item == zero:
                return zero
            if self.items[item][0] == kind:
                found.update(self.items[item][1])
            elif item != unit:
                found.add(item)
        if not found:
            return unit
        return found.pop() if len(found) == 1 else self._intern((kind, tuple(sorted(found))))

    def union(self, items: Sequence[int]) -> int:
        return self._many("union", items, self.NEVER, self.ANY)

    def intersect(self, items: Sequence[int]) -> int:
        return self._many("intersect", items, self.ANY, self.NEVER)

    def complement(self, item: int) -> int:
        inner = self.items[item]
        return inner[1] if inner[0] == "complement" else self._intern(("complement", item))

    def repeat(self, item: int, low: int, high: int | None = None) -> int:
        if high == 0 or item == self.EPSILON or (item == self.NEVER and low == 0):
            return self.EPSILON
        if item == self.NEVER:
            return self.NEVER
        return item if (low, high) == (1, 1) else self._intern(("repeat", item, low, high))

    def _derive(self, item: int, code: int) -> int:
        key = (item, code)
        found = self.memo.get(key)
        if found is None:
            found = self.memo[key] = self._derivative(self.items[item], code)
        return found

    def _derivative(self, item: tuple[Any, ...], code: int) -> int:
        kind = item[0]
        if kind == "set":
            return self.EPSILON if any(a <= code <= b for a, b in item[1]) else self.NEVER
        if kind == "concat":
            first = self._pair(self._derive(item[1], code), item[2])
            if self.empties[item[1]]:
                return self.union([first, self._derive(item[2], code)])
            return first
        if kind == "union":
            return self.union([self._derive(one, code) for one in item[1]])
        if kind == "intersect":
            return self.intersect([self._derive(one, code) for one in item[1]])
        if kind == "complement":
            return self.complement(self._derive(item[1], code))
        if kind == "repeat":
            _, body, low, high = item
            low = 0 if self.empties[body] else max(0, low - 1)
            rest = self.repeat(body, low, None if high is None else high - 1)
            return self._pair(self._derive(body, code), rest)
        return self.NEVER

    def matches(self, item: int, data: bytes) -> bool:
        for letter in data.decode():
            item = self._derive(item, ord(letter))
        return self.empties[item]
