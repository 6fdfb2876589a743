"""A pure-Python expression store with the interface of ``gramlock._core.Expressions``.

Only for tests of the front ends: slow, obvious, and free of any code of the core.  Expressions are
nested tuples, interned to ids; matching is by derivative.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

Node = tuple[Any, ...]


class ByteExpressions:
    """Has the methods of ``gramlock._core.Expressions`` that front ends use."""

    NEVER = 0
    EPSILON = 1
    ANY = 2

    def __init__(self) -> None:
        self.cache: dict[object, Any] = {}
        self._nodes: list[Node] = []
        self._ids: dict[Node, int] = {}
        self._derived: dict[tuple[int, int], int] = {}
        self._nullable: dict[int, bool] = {}
        for node in (("never",), ("epsilon",), ("complement", 0)):
            self._intern(node)

    def _intern(self, node: Node) -> int:
        number = self._ids.get(node)
        if number is None:
            number = self._ids[node] = len(self._nodes)
            self._nodes.append(node)
        return number

    def byte_class(self, members: Iterable[int]) -> int:
        found = frozenset(members)
        return self._intern(("class", found)) if found else self.NEVER

    def literal(self, data: bytes) -> int:
        return self.concat([self.byte_class([byte]) for byte in data])

    def concat(self, items: Sequence[int]) -> int:
        result = self.EPSILON
        for item in reversed(list(items)):
            result = self._cat(item, result)
        return result

    def _cat(self, head: int, tail: int) -> int:
        if self.NEVER in (head, tail):
            return self.NEVER
        if head == self.EPSILON:
            return tail
        if tail == self.EPSILON:
            return head
        heads = []
        while self._nodes[head][0] == "concat":
            heads.append(self._nodes[head][1])
            head = self._nodes[head][2]
        for item in [head, *reversed(heads)]:
            tail = self._intern(("concat", item, tail))
        return tail

    def union(self, items: Sequence[int]) -> int:
        flat: set[int] = set()
        for item in items:
            node = self._nodes[item]
            flat.update(node[1] if node[0] == "union" else [item])
        flat.discard(self.NEVER)
        classes = [item for item in flat if self._nodes[item][0] == "class"]
        if len(classes) > 1:
            flat.difference_update(classes)
            flat.add(self.byte_class(b for item in classes for b in self._nodes[item][1]))
        if self.ANY in flat:
            return self.ANY
        if len(flat) < 2:
            return next(iter(flat), self.NEVER)
        return self._intern(("union", frozenset(flat)))

    def intersect(self, items: Sequence[int]) -> int:
        flat: set[int] = set()
        for item in items:
            node = self._nodes[item]
            flat.update(node[1] if node[0] == "intersect" else [item])
        flat.discard(self.ANY)
        if self.NEVER in flat:
            return self.NEVER
        if len(flat) < 2:
            return next(iter(flat), self.ANY)
        return self._intern(("intersect", frozenset(flat)))

    def complement(self, item: int) -> int:
        node = self._nodes[item]
        return int(node[1]) if node[0] == "complement" else self._intern(("complement", item))

    def repeat(self, item: int, low: int, high: int | None = None) -> int:
        if high == 0 or item == self.EPSILON:
            return self.EPSILON
        if item == self.NEVER:
            return self.EPSILON if low == 0 else self.NEVER
        if (low, high) == (1, 1):
            return item
        return self._intern(("repeat", item, low, high))

    def codepoints(self, ranges: Sequence[tuple[int, int]], encoding: str = "utf8") -> int:
        return self.union([self._range(lo, hi, encoding) for lo, hi in ranges])

    def nullable(self, item: int) -> bool:
        known = self._nullable.get(item)
        if known is None:
            node = self._nodes[item]
            kind = node[0]
            if kind == "concat":
                known = self.nullable(node[1]) and self.nullable(node[2])
            elif kind == "union":
                known = any(self.nullable(i) for i in node[1])
            elif kind == "intersect":
                known = all(self.nullable(i) for i in node[1])
            elif kind == "complement":
                known = not self.nullable(node[1])
            elif kind == "repeat":
                known = node[2] == 0 or self.nullable(node[1])
            else:
                known = kind == "epsilon"
            self._nullable[item] = known
        return known

    def derive(self, item: int, byte: int) -> int:
        key = (item, byte)
        known = self._derived.get(key)
        if known is None:
            known = self._derived[key] = self._derive(self._nodes[item], byte)
        return known

    def _derive(self, node: Node, byte: int) -> int:
        kind = node[0]
        if kind == "class":
            return self.EPSILON if byte in node[1] else self.NEVER
        if kind == "concat":
            first = self._cat(self.derive(node[1], byte), node[2])
            if not self.nullable(node[1]):
                return first
            return self.union([first, self.derive(node[2], byte)])
        if kind == "union":
            return self.union([self.derive(i, byte) for i in node[1]])
        if kind == "intersect":
            return self.intersect([self.derive(i, byte) for i in node[1]])
        if kind == "complement":
            return self.complement(self.derive(node[1], byte))
        if kind == "repeat":
            _, child, low, high = node
            rest = self.repeat(child, max(low - 1, 0), None if high is None else high - 1)
            return self._cat(self.derive(child, byte), rest)
        return self.NEVER

    def matches(self, item: int, data: bytes) -> bool:
        for byte in data:
            item = self.derive(item, byte)
            if item == self.NEVER:
                return False
        return self.nullable(item)

    def is_empty(self, item: int) -> bool:
        seen = {item}
        queue = [item]
        while queue:
            at = queue.pop()
            if self.nullable(at):
                return False
            for byte in range(256):
                after = self.derive(at, byte)
                if after != self.NEVER and after not in seen:
                    seen.add(after)
                    queue.append(after)
        return True

    # -- code points ------------------------------------------------------------------------

    def _range(self, low: int, high: int, encoding: str) -> int:
        parts: list[int] = []
        for lo, hi in ((0, 0xD7FF), (0xE000, 0x10FFFF)):
            lo, hi = max(lo, low), min(hi, high)
            if lo <= hi:
                parts.append(self._json(lo, hi) if encoding == "json" else self._utf8(lo, hi))
        return self.union(parts)

    def _utf8(self, low: int, high: int) -> int:
        parts = []
        for lo, hi in ((0, 0x7F), (0x80, 0x7FF), (0x800, 0xFFFF), (0x10000, 0x10FFFF)):
            lo, hi = max(lo, low), min(hi, high)
            if lo <= hi:
                parts.append(self._span(chr(lo).encode(), chr(hi).encode(), 0x80, 0xBF))
        return self.union(parts)

    def _span(self, low: bytes, high: bytes, least: int, most: int) -> int:
        """Byte strings of one length between *low* and *high*, later bytes in [least, most]."""
        if not low:
            return self.EPSILON
        size = len(low) - 1
        if low[0] == high[0]:
            return self._cat(self.byte_class([low[0]]), self._span(low[1:], high[1:], least, most))
        top, bottom = bytes([most] * size), bytes([least] * size)
        middle = self.byte_class(range(low[0] + 1, high[0]))
        rest = self.concat([self.byte_class(range(least, most + 1))] * size)
        return self.union(
            [
                self._cat(self.byte_class([low[0]]), self._span(low[1:], top, least, most)),
                self._cat(middle, rest),
                self._cat(self.byte_class([high[0]]), self._span(bottom, high[1:], least, most)),
            ]
        )

    def _hex(self, low: int, high: int) -> int:
        """Four hex digits, either case, between *low* and *high*."""

        def walk(lo: str, hi: str) -> int:
            if not lo:
                return self.EPSILON
            first, last = int(lo[0], 16), int(hi[0], 16)
            if first == last:
                return self._cat(digit(first, first), walk(lo[1:], hi[1:]))
            size = len(lo) - 1
            return self.union(
                [
                    self._cat(digit(first, first), walk(lo[1:], "f" * size)),
                    self._cat(digit(first + 1, last - 1), self.concat([digit(0, 15)] * size)),
                    self._cat(digit(last, last), walk("0" * size, hi[1:])),
                ]
            )

        def digit(lo: int, hi: int) -> int:
            text = "0123456789abcdef"[lo : hi + 1]
            return self.byte_class((text + text.upper()).encode())

        return walk(f"{low:04x}", f"{high:04x}")

    def _json(self, low: int, high: int) -> int:
        parts = []
        start = low
        for special in (0x22, 0x5C):
            if low <= special <= high:
                parts.append(self._utf8(max(start, 0x20), special - 1) if special > 0x20 else 0)
                start = special + 1
        if max(start, 0x20) <= high:
            parts.append(self._utf8(max(start, 0x20), high))
        for code, letter in zip(b'"\\/\b\f\n\r\t', b'"\\/bfnrt', strict=True):
            if low <= code <= high:
                parts.append(self.literal(b"\\" + bytes([letter])))
        escape = self.literal(b"\\u")
        if low <= 0xFFFF:
            parts.append(self._cat(escape, self._hex(low, min(high, 0xFFFF))))
        if high >= 0x10000:
            lo, hi = max(low, 0x10000) - 0x10000, high - 0x10000
            for lead in range(lo >> 10, (hi >> 10) + 1):
                first = lo & 0x3FF if lead == lo >> 10 else 0
                last = hi & 0x3FF if lead == hi >> 10 else 0x3FF
                if first == 0 and last == 0x3FF and lead not in (lo >> 10, hi >> 10):
                    continue
                parts.append(self._pair(escape, lead, lead, first, last))
            inner = ((lo >> 10) + 1, (hi >> 10) - 1)
            if inner[0] <= inner[1]:
                parts.append(self._pair(escape, *inner, 0, 0x3FF))
        return self.union(parts)

    def _pair(self, escape: int, lead: int, last_lead: int, trail: int, last_trail: int) -> int:
        return self.concat(
            [
                escape,
                self._hex(0xD800 + lead, 0xD800 + last_lead),
                escape,
                self._hex(0xDC00 + trail, 0xDC00 + last_trail),
            ]
        )
