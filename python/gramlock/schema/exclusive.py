"""``oneOf``: branches that exclude each other.

A ``oneOf`` is read as a union, and most are no more than that: their branches differ in type, or in
a member that says which one is meant. Of the pairs that may hold at once each branch loses the
other. Unions are too large, so pairs that exclude each other do so for good, unless complements
were taken of them: then the pairs that are left are looked at again, with the sets as they are now.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from .algebra import Algebra
from .model import Reader
from .nodes import Derived, Leaf, Node

__all__ = ["separate"]


def separate(reader: Reader, algebra: Algebra) -> None:
    """Takes out of each branch of a ``oneOf`` what others hold as well.

    Called once, when everything has been read; before, each ``oneOf`` is a union.

    Cost: for k branches k² / 2 looks at pairs, most of which show at once to exclude each other.
    """
    waiting = [(leaf, nodes, tuple(nodes), set[tuple[int, int]]()) for leaf, nodes in reader.one_of]
    falling: bool | None = None
    again = bool(waiting)
    while again:
        found = [list(_overlaps(leaf, read, apart, algebra)) for leaf, _, read, apart in waiting]
        if falling is None:  # asked before the complements below are taken
            falling = algebra.negates() or reader.counts
        again = falling and any(found)
        for (_, nodes, read, apart), pairs in zip(waiting, found, strict=True):
            for i, j in pairs:
                nodes[i] = algebra.conjunction((nodes[i], algebra.negation(read[j])))
                nodes[j] = algebra.conjunction((nodes[j], algebra.negation(read[i])))
            apart.update(pairs)
        if any(found):
            algebra.forget(reader.leaves)
            for node in reader.derived:
                node.shape = None


def _overlaps(
    leaf: Leaf, nodes: Sequence[Node], apart: set[tuple[int, int]], algebra: Algebra
) -> Iterator[tuple[int, int]]:
    """The pairs of branches that may hold at once, without those that are *apart* already."""
    beside: Node | None = None
    narrowed: list[Node] = []
    for j, second in enumerate(nodes):
        for i in range(j):
            if (i, j) in apart or algebra.disjoint(nodes[i], second):
                continue
            if beside is None:
                beside = _beside(leaf, algebra)
                narrowed = [algebra.both(beside, node) for node in nodes]
            if not beside.always and algebra.disjoint(narrowed[i], narrowed[j]):
                continue
            void = algebra.is_void(algebra.conjunction((beside, nodes[i], second)))
            if not void or _has_gap(nodes[i], algebra) or _has_gap(second, algebra):
                yield i, j


def _has_gap(root: Node, algebra: Algebra) -> bool:
    """Whether some value in *root* has a format that is enforced only in part.

    Nothing being left of two such sets says nothing about the sets that are meant.
    """
    stack, seen = [root], {root}
    while stack:
        node = stack.pop()
        if algebra.has_gap(node):
            return True
        shape = algebra.expand(node)
        below: list[Node] = []
        for array in shape.arrays:
            below += [*array.prefix, array.rest, *(each.node for each in array.counts)]
        sets = list(shape.objects)
        while sets:
            one = sets.pop()
            below += [value for value, _ in one.members.values()]
            below += [region.node for region in one.regions]
            below += [some.node for some in one.some]
            sets += [each for clause in one.clauses for each in clause]
        stack += [each for each in below if each not in seen and not each.busy]
        seen.update(below)
    return False


def _beside(leaf: Leaf, algebra: Algebra) -> Node:
    """What *leaf* says without any choice; conditions would be worked out again for each pair."""
    found: list[Node] = []
    for kind, content in leaf.parts:
        if kind == "own":
            found.append(Node(leaf.path, content))
        elif kind == "all" and not isinstance(content, Derived):
            found.append(content)
    return algebra.conjunction(found)
