"""Sets of objects: declared names, and regions of all other names.

A *region* is the names that lie in every ``inside`` set and in no ``outside`` set of strings; the
regions of one object set are disjoint, and a name that lies in none of them is forbidden. One
region without conditions is the common case (``additionalProperties``); ``patternProperties`` and
``propertyNames`` split it. k patterns can make 2**k regions, but those without any name are dropped
as they arise, so patterns that exclude each other make k + 1; a budget bounds the rest.

Names keep the order in which they were declared; an intersection appends the names that only the
right side declares.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..errors import LimitError

if TYPE_CHECKING:
    from .algebra import Algebra, Node
    from .strings import StringSet

__all__ = ["ObjectSet", "Region"]

MAX_REGIONS = 256


class Region:
    """Names in all of *inside* and none of *outside*, whose values are in *node*."""

    __slots__ = ("inside", "node", "outside")

    def __init__(
        self, inside: tuple[StringSet, ...], outside: tuple[StringSet, ...], node: Node
    ) -> None:
        self.inside, self.outside, self.node = inside, outside, node

    def holds(self, name: str, algebra: Algebra) -> bool:
        """Whether *name* lies in the region."""
        return all(s.contains(name, algebra.expressions) for s in self.inside) and not any(
            s.contains(name, algebra.expressions) for s in self.outside
        )


class ObjectSet:
    """Objects by their members.

    Attributes:
        members: By name, in declared order: the node of its value, and the node whose ``required``
            lists it or None. A value node that is never satisfied forbids the name.
        regions: Of the names that are not in *members*.
    """

    __slots__ = ("members", "regions")

    def __init__(
        self, members: dict[str, tuple[Node, Node | None]], regions: tuple[Region, ...]
    ) -> None:
        self.members, self.regions = members, regions

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ObjectSet) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def _key(self) -> tuple[object, ...]:
        members = tuple((n, node, needed is None) for n, (node, needed) in self.members.items())
        return members, self.regions

    def of(self, name: str, algebra: Algebra) -> Node:
        """The node of a member's value."""
        member = self.members.get(name)
        return member[0] if member is not None else find(self.regions, name, algebra)

    def needed(self) -> list[Node]:
        """The nodes that every object of the set has a member of."""
        return [node for node, required in self.members.values() if required is not None]

    def contains(self, value: dict[str, Any], algebra: Algebra) -> bool:
        """Whether the object is in the set."""
        for name, (_, required) in self.members.items():
            if required is not None and name not in value:
                return False
        return all(algebra.contains(self.of(name, algebra), v) for name, v in value.items())


def find(regions: tuple[Region, ...], name: str, algebra: Algebra) -> Node:
    """The node of *name* among *regions*; never satisfied where it lies in none."""
    for region in regions:
        plain = not region.inside and not region.outside
        if plain or region.holds(name, algebra):
            return region.node
    return algebra.never


def split(
    regions: tuple[Region, ...], names: StringSet, node: Node, algebra: Algebra, first: bool
) -> tuple[Region, ...]:
    """*regions* where those names that are in *names* have their values in *node*, too.

    *first* says that a region without conditions on the inside is the rest so far, whose own
    node does not apply to the names (``additionalProperties`` beside ``patternProperties``).
    """
    result = []
    for region in regions:
        within = region.inside + (names,)
        if algebra.has_name(within, region.outside):
            inner = node if first and not region.inside else algebra.both(region.node, node)
            if not inner.never:
                result.append(Region(within, region.outside, inner))
        without = region.outside + (names,)
        if algebra.has_name(region.inside, without):
            result.append(Region(region.inside, without, region.node))
    if len(result) > MAX_REGIONS:
        raise LimitError("name_regions", len(result), MAX_REGIONS)
    return tuple(result)


def intersect(a: ObjectSet, b: ObjectSet, algebra: Algebra) -> ObjectSet | None:
    """The objects of both, or None."""
    members: dict[str, tuple[Node, Node | None]] = {}
    for name, (node, required) in a.members.items():
        other = b.members.get(name)
        right, needed = other if other is not None else (find(b.regions, name, algebra), None)
        members[name] = (algebra.both(node, right), required or needed)
    for name, (node, required) in b.members.items():
        if name not in members:
            left = find(a.regions, name, algebra)
            members[name] = (algebra.both(left, node), required)
    for name, (node, required) in members.items():
        if node.never and required is not None:
            algebra.report_forbidden(name, required, node)
            return None
    return ObjectSet(members, _product(a.regions, b.regions, algebra))


def _product(a: tuple[Region, ...], b: tuple[Region, ...], algebra: Algebra) -> tuple[Region, ...]:
    if a is b:
        return a
    result = []
    for left in a:
        for right in b:
            node = algebra.both(left.node, right.node)
            if node.never:
                continue
            inside = left.inside + tuple(s for s in right.inside if s not in left.inside)
            outside = left.outside + tuple(s for s in right.outside if s not in left.outside)
            plain = not (right.inside or right.outside) or not (left.inside or left.outside)
            if plain or algebra.has_name(inside, outside):
                result.append(Region(inside, outside, node))
    if len(result) > MAX_REGIONS:
        raise LimitError("name_regions", len(result), MAX_REGIONS)
    return tuple(result)


def disjoint(a: ObjectSet, b: ObjectSet, algebra: Algebra, depth: int) -> bool:
    """Whether no object is in both, as far as a short look shows."""
    for left, right in ((a, b), (b, a)):
        for name, (node, required) in left.members.items():
            if required is not None and algebra.disjoint(node, right.of(name, algebra), depth):
                return True
    return False
