"""Sets of objects: declared names, regions of all other names, counts, and conditions.

A *region* is the names that lie in every ``inside`` set and in no ``outside`` set of strings; the
regions of one object set are disjoint, and a name that lies in none of them is forbidden. One
region without conditions is the common case (``additionalProperties``); ``patternProperties`` and
``propertyNames`` split it. k patterns can make 2**k regions, but those without any name are dropped
as they arise, so patterns that exclude each other make k + 1; a budget bounds the rest.

*Conditions* keep sets closed under all set operations without multiplying alternatives: a *clause*
is a choice between object sets, one of which holds as well (``if``, ``dependentRequired``, the
complement of an object set); *some* says that a member with a name of a region has a value in a
node (the complement of a region's own rule). A complement has one alternative for each member and
region, and k clauses stay k clauses whatever they are joined with; none is ever multiplied out
here. :mod:`.conditions` turns them into the formula of one grammar node.

Names keep the order in which they were declared; an intersection appends the names that only the
right side declares. Names that only clauses mention have no order.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

from ..errors import LimitError
from .nodes import ANYTHING, InexpressibleError, Leaf, Node

if TYPE_CHECKING:
    from .algebra import Algebra
    from .keywords import Found
    from .model import Reader
    from .strings import StringSet

__all__ = ["Clause", "ObjectSet", "Region", "Some", "with_clause"]

MAX_REGIONS = 64
FEW_NAMES, MAX_NAMES = 32, 4096  # of a region, up to which they are listed
MAX_PRODUCT = 16  # alternatives up to which unions are multiplied out to keep each one's order
MAX_COPIES = 64  # alternatives up to which each gets what is certain beside them

_PREFIX = re.compile(r"\^[A-Za-z0-9_-]+\$?")  # or a single name
_RUN = re.compile(r"\^(\[\^?([^\]\\^]|\\.)+\]|\.|\\[wd])[+*]\$")
_TAIL = re.compile(r"^[^|($\\]*\.\*\$$")  # whatever this matches may go on, but not in a new line
_AT_END = re.compile(r"\$|\\[bB]|\(\?(?!:)")  # what may look at the end, or what follows

Members = dict[str, tuple["Node", "Node | None"]]


class Region(NamedTuple):
    """Names in all of *inside* and none of *outside*, whose values are in *node*."""

    inside: tuple[StringSet, ...]
    outside: tuple[StringSet, ...]
    node: Node

    def holds(self, name: str, algebra: Algebra) -> bool:
        """Whether *name* lies in the region."""
        return _lies(name, self.inside, self.outside, algebra)


class Some(NamedTuple):
    """A member with a name in all of *inside*, none of *outside*, not in *names*, is in *node*."""

    inside: tuple[StringSet, ...]
    outside: tuple[StringSet, ...]
    names: frozenset[str]
    node: Node

    def holds(self, name: str, algebra: Algebra) -> bool:
        """Whether *name* is one of those that count."""
        return name not in self.names and _lies(name, self.inside, self.outside, algebra)


class ObjectSet:
    """Objects by their members.

    Attributes:
        members: By name, in declared order: the node of its value, and the node whose ``required``
            lists it or None. A value node that is never satisfied forbids the name.
        regions: Of the names that are not in *members*.
        low, high: Least and greatest number of members; None without bound.
        some: What some member has to satisfy; one entry for each demand.
        clauses: Of each clause at least one alternative holds. They are compared by identity.
    """

    __slots__ = ("_hash", "clauses", "complement", "high", "low", "members", "regions", "some")

    def __init__(
        self,
        members: Members,
        regions: tuple[Region, ...],
        low: int = 0,
        high: int | None = None,
        some: tuple[Some, ...] = (),
        clauses: tuple[Clause, ...] = (),
    ) -> None:
        self.members, self.regions = members, regions
        self.low, self.high = low, high
        self.some, self.clauses = some, clauses
        self.complement: Clause | None = None
        self._hash: int | None = None

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        return isinstance(other, ObjectSet) and self._key() == other._key()

    def __hash__(self) -> int:
        if self._hash is None:
            self._hash = hash(self._key())
        return self._hash

    def _key(self) -> tuple[object, ...]:
        members = tuple((n, node, needed is None) for n, (node, needed) in self.members.items())
        clauses = tuple(map(id, self.clauses))
        return members, self.regions, self.low, self.high, self.some, clauses

    @property
    def conditional(self) -> bool:
        """Whether anything beside members and regions is asked for."""
        return bool(self.clauses or self.low or self.some) or self.high is not None

    def of(self, name: str, algebra: Algebra) -> Node:
        """The node of a member's value."""
        member = self.members.get(name)
        return member[0] if member is not None else find(self.regions, name, algebra)

    def needed(self) -> list[Node]:
        """The nodes that every object of the set has a member of."""
        found = [node for node, required in self.members.values() if required is not None]
        return found + [some.node for some in self.some]

    def contains(self, value: dict[str, Any], algebra: Algebra) -> bool:
        """Whether the object is in the set."""
        if len(value) < self.low or (self.high is not None and len(value) > self.high):
            return False
        for name, (_, required) in self.members.items():
            if required is not None and name not in value:
                return False
        for name, member in value.items():
            if not algebra.contains(self.of(name, algebra), member):
                return False
        return all(_has(some, value, algebra) for some in self.some) and all(
            any(one.contains(value, algebra) for one in clause) for clause in self.clauses
        )


Clause = tuple[ObjectSet, ...]

OPEN = (Region((), (), ANYTHING),)
OBJECTS = ObjectSet({}, OPEN)


def _has(some: Some, value: dict[str, Any], algebra: Algebra) -> bool:
    return any(some.holds(n, algebra) and algebra.contains(some.node, v) for n, v in value.items())


def _lies(
    name: str, inside: tuple[StringSet, ...], outside: tuple[StringSet, ...], algebra: Algebra
) -> bool:
    return all(s.contains(name, algebra.expressions) for s in inside) and not any(
        s.contains(name, algebra.expressions, wide=True) for s in outside
    )


def find(regions: tuple[Region, ...], name: str, algebra: Algebra) -> Node:
    """The node of *name* among *regions*; never satisfied where it lies in none."""
    for region in regions:
        plain = not region.inside and not region.outside
        if plain or region.holds(name, algebra):
            return region.node
    return algebra.never


# -- regions --------------------------------------------------------------------------------------


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
    return _bounded(result)


def beyond(regions: Sequence[Region | Some], node: Node, algebra: Algebra) -> tuple[Region, ...]:
    """Regions, with values in *node*, of the names that lie in none of *regions*.

    Raises:
        InexpressibleError: Of a format that they ask for it is not known what does not have it.
    """
    for region in regions:
        for names in region.inside:
            missing = names.without_superset()
            if missing is not None:
                raise InexpressibleError(f"names that are no {missing}")
    left = [Region((), (), node)]
    for region in regions:
        left = [cell for part in left for cell in _minus(part, region, algebra)]
        _bounded(left)
    return tuple(left)


def _minus(cell: Region, region: Region | Some, algebra: Algebra) -> Iterator[Region]:
    """The parts of *cell* outside of *region*: where its first, second ... condition fails."""
    within, without = cell.inside, cell.outside
    for names in region.inside:
        if names in without:
            yield Region(within, without, cell.node)
            return
        if names not in within:
            if algebra.has_name(within, (*without, names)):
                yield Region(within, (*without, names), cell.node)
            within = (*within, names)
    for names in region.outside:
        if names in within:
            yield Region(within, without, cell.node)
            return
        if names not in without:
            if algebra.has_name((*within, names), without):
                yield Region((*within, names), without, cell.node)
            without = (*without, names)


def is_endless(region: Region) -> bool:
    """Whether each unfinished name of a region goes on in endlessly many ways, as far as is clear.

    That is so where no condition looks at the end: whatever follows a name is another one, but for
    a few beginnings that are left out. And where a name is any run of some characters.
    """
    inside, outside = region.inside, region.outside
    if all(map(_is_open, inside)) and all(map(_is_prefix, outside)):
        return True
    return not outside and len(inside) == 1 and _has_form(_RUN, inside[0])


def _is_open(strings: StringSet) -> bool:
    """Whether a text of the set may go on with anything."""
    if strings.values is not None or strings.max_length is not None:
        return False
    if strings.formats or strings.without:
        return False
    return not any(_AT_END.search(_TAIL.sub("", pattern)) for pattern in strings.patterns)


def _is_prefix(strings: StringSet) -> bool:
    return not strings.min_length and _has_form(_PREFIX, strings)


def _has_form(form: re.Pattern[str], strings: StringSet) -> bool:
    """Whether one pattern of this form is all that is asked for, beside a least length."""
    return (
        _is_open(replace(strings, patterns=()))
        and len(strings.patterns) == 1
        and form.fullmatch(strings.patterns[0]) is not None
    )


def few_names(
    region: Region, declared: Collection[str], algebra: Algebra, least: int = 0
) -> list[str] | None:
    """All names of a region but *declared* ones, or None if there are more than some.

    With more than *least* names, and no list of them, no object of *least* members runs out.
    """
    if is_endless(region):
        return None
    limit = min(max(FEW_NAMES, least), MAX_NAMES)
    names = algebra.names(region.inside, region.outside, limit + len(declared))
    return None if names is None else [name for name in names if name not in declared]


def _bounded(regions: list[Region]) -> tuple[Region, ...]:
    if len(regions) > MAX_REGIONS:
        raise LimitError("name_regions", len(regions), MAX_REGIONS)
    return tuple(regions)


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
    return _bounded(result)


# -- intersection ---------------------------------------------------------------------------------


def intersect(a: ObjectSet, b: ObjectSet, algebra: Algebra) -> ObjectSet | None:
    """The objects of both, or None."""
    both = _joined(a, b, algebra)
    if both is None or not both.clauses:
        return both
    fresh = len(both.clauses) - len(a.clauses) if _is_clauses(b) else None
    return settled(both, algebra, fresh=fresh)


def _is_clauses(objects: ObjectSet) -> bool:
    """Whether a set is no more than its clauses."""
    o = objects
    return not (o.members or o.low or o.some) and o.high is None and is_open(o.regions)


def _joined(a: ObjectSet, b: ObjectSet, algebra: Algebra) -> ObjectSet | None:
    members: Members = {}
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
    regions = _product(a.regions, b.regions, algebra)
    if not (a.conditional or b.conditional):
        return ObjectSet(members, regions)
    high = a.high if b.high is None else b.high if a.high is None else min(a.high, b.high)
    some = a.some + tuple(s for s in b.some if s not in a.some)
    known = set(map(id, a.clauses))
    clauses = a.clauses + tuple(c for c in b.clauses if id(c) not in known)
    both = ObjectSet(members, regions, max(a.low, b.low), high, some, clauses)
    return None if too_few(both) else both


def join(parts: list[ObjectSet], algebra: Algebra) -> ObjectSet | None:
    """The objects in all of *parts*, whose clauses are kept as they are, or None.

    Many sets at once make one conjunction for each name, not one for each name and set.
    """
    if len(parts) < 3:
        return _joined(parts[0], parts[1], algebra) if len(parts) == 2 else parts[0]
    nodes: dict[str, list[Node]] = {}
    required: dict[str, Node | None] = {}
    for part in parts:
        for name, (node, needed) in part.members.items():
            nodes.setdefault(name, []).append(node)
            required[name] = required.get(name) or needed
    closed = [part for part in parts if not is_open(part.regions)]
    for name, found in nodes.items():
        found += [part.of(name, algebra) for part in closed if name not in part.members]
    members: Members = {
        name: (algebra.conjunction(found), required[name]) for name, found in nodes.items()
    }
    for name, (node, needed) in members.items():
        if node.never and needed is not None:
            algebra.report_forbidden(name, needed, node)
            return None
    both: ObjectSet | None = ObjectSet(members, OPEN)
    for part in parts:  # the rest of each: regions, counts, demands and clauses
        if both is None:
            break
        o = part
        known: Members = dict.fromkeys(nodes, (ANYTHING, None))
        rest = ObjectSet(known, o.regions, o.low, o.high, o.some, o.clauses)
        if part in closed or rest.conditional:
            both = _joined(both, rest, algebra)
    return both


def with_clause(objects: ObjectSet, alternatives: Clause) -> ObjectSet:
    """Those of *objects* that are in one of *alternatives*, too; never multiplied out."""
    o = objects
    return ObjectSet(o.members, o.regions, o.low, o.high, o.some, (*o.clauses, alternatives))


def constrain(objects: ObjectSet, clause: Clause, algebra: Algebra) -> ObjectSet | None:
    """:func:`with_clause`, or None where that shows to be empty; a single alternative is joined."""
    if any(is_full(one) for one in clause):
        return objects
    return settled(with_clause(objects, clause), algebra, fresh=1)


def meet(a: Clause, b: Clause, algebra: Algebra) -> Clause:
    """The intersection of two unions.

    Multiplied out where that is cheap and gives alternatives that declare names of their own, so
    that each keeps its order; otherwise the longer one becomes a clause.
    """
    if not a or not b:
        return ()
    if a is b or (len(b) == 1 and b[0] is OBJECTS):
        return a
    if len(a) == 1 and a[0] is OBJECTS:
        return b
    if len(a) == 1 and len(b) == 1:
        both = intersect(a[0], b[0], algebra)
        return () if both is None else (both,)
    if _keeps_orders(a, b):
        pairs = (intersect(one, other, algebra) for one in a for other in b)
        return tuple(dict.fromkeys(pair for pair in pairs if pair is not None))
    base: ObjectSet | None
    if len(a) == 1:
        base = constrain(a[0], b, algebra)
    elif len(b) == 1:
        base = constrain(b[0], a, algebra)
    else:
        base = constrain(OBJECTS, a, algebra)
        base = base and constrain(base, b, algebra)
    return () if base is None else (base,)


def is_full(objects: ObjectSet) -> bool:
    """Whether certainly every object is in the set."""
    if objects.conditional or not all(
        node.always and required is None for node, required in objects.members.values()
    ):
        return False
    return is_open(objects.regions)


def is_open(regions: tuple[Region, ...]) -> bool:
    """Whether every name may have every value."""
    return len(regions) == 1 and regions[0][:2] == ((), ()) and regions[0].node.always


def _keeps_orders(a: Clause, b: Clause) -> bool:
    """Whether to multiply out two unions."""
    few, many = (a, b) if len(a) < len(b) else (b, a)
    if len(few) * len(many) > (MAX_COPIES if len(few) == 1 else MAX_PRODUCT):
        return False
    if any(one.clauses for one in few):
        return False
    return _declares(a, b) or _declares(b, a)


def _declares(a: Clause, b: Clause) -> bool:
    """Whether several alternatives *a* say something of names that *b* does not declare."""
    return len(a) > 1 and any(
        not (node.always or node.never) and any(name not in other.members for other in b)
        for one in a
        for name, (node, _) in one.members.items()
    )


def settled(
    objects: ObjectSet, algebra: Algebra, depth: int = 0, fresh: int | None = None
) -> ObjectSet | None:
    """*objects* without alternatives that clash with its members; None where no others are left.

    A clause with one alternative becomes part of the members, which may settle further ones.
    *depth* is how deep values may be looked into. Only the last *fresh* clauses, None for all, have
    not been settled with these members before.
    """
    base: ObjectSet | None = objects
    while base is not None:
        known = 0 if fresh is None else len(base.clauses) - fresh
        clauses: list[Clause] = list(base.clauses[:known])
        alone: list[ObjectSet] = []
        for clause in base.clauses[known:]:
            left = tuple(one for one in clause if not clash(base, one, algebra, depth))
            if not left:
                return None
            if len(left) == 1:
                alone.append(left[0])
            elif not depth or not any(_implied(base, one, algebra, depth) for one in left):
                clauses.append(clause if len(left) == len(clause) else left)
        o = base
        base = ObjectSet(o.members, o.regions, o.low, o.high, o.some, tuple(clauses))
        if not alone:
            break
        base, fresh = join([base, *alone], algebra), None
    return base


def _implied(base: ObjectSet, other: ObjectSet, algebra: Algebra, depth: int) -> bool:
    """Whether every object of *base* is in *other*, as far as single members show."""
    if other.conditional or not is_open(other.regions):
        return False
    for name, (node, required) in other.members.items():
        if required is not None and base.members.get(name, (node, None))[1] is None:
            return False
        if node.always:
            continue
        if not algebra.is_plain(node):  # others may have no complement
            return False
        if not algebra.disjoint(base.of(name, algebra), algebra.negation(node), depth):
            return False
    return True


def clash(a: ObjectSet, b: ObjectSet, algebra: Algebra, depth: int = 0) -> bool:
    """Whether no object is in both, as far as names, counts and ready-made values show.

    *depth* is how deep values may be looked into; 0 looks at none that nobody has looked at yet.
    """
    low = max(a.low, b.low)
    if (a.high is not None and low > a.high) or (b.high is not None and low > b.high):
        return True
    for left, right in ((a, b), (b, a)):
        for name, (node, required) in left.members.items():
            if required is None:
                continue
            other = right.of(name, algebra)
            if other.always:
                continue
            if other.never or node.never:
                return True
            ready = node.shape is not None and other.shape is not None
            if (depth or ready) and algebra.disjoint(node, other, max(depth, 1)):
                return True
    return False


# -- questions ------------------------------------------------------------------------------------


def too_few(objects: ObjectSet) -> bool:
    """Whether the counts contradict each other or the names."""
    members = objects.members.values()
    if objects.high is not None:
        least = sum(required is not None for _, required in members)
        if max(least, objects.low) > objects.high:
            return True
    if objects.some and not objects.regions and not objects.members:
        return True
    if objects.regions or not objects.low:
        return False
    return sum(not node.never for node, _ in members) < objects.low


def disjoint(a: ObjectSet, b: ObjectSet, algebra: Algebra, depth: int) -> bool:
    """Whether no object is in both, as far as a short look shows."""
    if clash(a, b, algebra, depth):
        return True
    if depth <= 0:
        return False
    for left, right in ((a, b), (b, a)):
        for clause in left.clauses:
            if all(disjoint(one, right, algebra, depth - 1) for one in clause):
                return True
    return False


def is_void(objects: ObjectSet, algebra: Algebra, depth: int) -> bool:
    """Whether certainly no object is in the set; False may also mean "unknown"."""
    if any(algebra.is_void(node, depth) for node in objects.needed()):
        return True
    if not objects.conditional:
        return False
    if too_few(objects):
        return True
    if depth <= 0:
        return False
    return any(
        all(
            clash(objects, one, algebra, depth) or is_void(one, algebra, depth - 1)
            for one in clause
        )
        for clause in objects.clauses
    )


# -- complement -----------------------------------------------------------------------------------


def complement(objects: ObjectSet, source: Node, algebra: Algebra) -> Clause:
    """The objects that are not in the set, as alternatives; *source* is what asks for them.

    A required member fails where it is absent or has a wrong value, which is an optional member
    with the complement as its value; an optional one fails where it is there with a wrong value.

    Cost: one alternative for each member, region, count, demand and clause; worked out once.
    """
    if objects.complement is None:
        objects.complement = tuple(_complement(objects, source, algebra))
    return objects.complement


def _complement(objects: ObjectSet, source: Node, algebra: Algebra) -> Iterator[ObjectSet]:
    for name, (node, required) in objects.members.items():
        wrong = algebra.negation(node)
        if required is not None:
            yield ObjectSet({name: (wrong, None)}, OPEN)
        elif not wrong.never:
            yield ObjectSet({name: (wrong, source)}, OPEN)
    names = frozenset(objects.members)
    for region in objects.regions:
        wrong = algebra.negation(region.node)
        if not wrong.never:
            yield _having(Some(region.inside, region.outside, names, wrong))
    for region in beyond(objects.regions, ANYTHING, algebra):
        yield _having(Some(region.inside, region.outside, names, ANYTHING))
    if objects.low:
        yield ObjectSet({}, OPEN, high=objects.low - 1)
    if objects.high is not None:
        yield ObjectSet({}, OPEN, objects.high + 1)
    for some in objects.some:
        wrong = algebra.negation(some.node)
        inner = () if wrong.never else (Region(some.inside, some.outside, wrong),)
        members: Members = dict.fromkeys(some.names, (ANYTHING, None))
        yield ObjectSet(members, inner + beyond((some,), ANYTHING, algebra))
    for clause in objects.clauses:
        outside: ObjectSet | None = OBJECTS
        for one in clause:
            outside = outside and constrain(outside, complement(one, source, algebra), algebra)
        if outside is not None:
            yield outside


def _having(some: Some) -> ObjectSet:
    return ObjectSet({}, OPEN, some=(some,))


# -- reading --------------------------------------------------------------------------------------


def from_keywords(reader: Reader, leaf: Leaf, found: Found) -> Clause:
    """The objects that the keywords of one schema describe; notes why where there are none."""
    algebra = reader.algebra
    patterns = found.get("patternProperties") or {}
    regions = _regions(reader, patterns, found.get("additionalProperties"))
    members: Members = {}
    required = dict.fromkeys(found.get("required", ()))
    for name, node in found.get("properties", {}).items():
        if patterns:
            node = algebra.conjunction([node, *_matching(reader, patterns, name)])
        members[name] = (node, leaf if name in required else None)
    for name in required:
        if name not in members:
            node = find(regions, name, algebra)
            members[name] = (node, leaf)
        if members[name][0].never:
            node = members[name][0]
            if node.path is None:
                node = found.get("additionalProperties", node)
            algebra.report_forbidden(name, leaf, node)
            return ()
    low, high = found.get("minProperties", 0), found.get("maxProperties")
    objects = ObjectSet(members, regions, low, high)
    if objects.conditional and too_few(objects):
        _note_counts(leaf, objects, algebra)
        return ()
    return (objects,)


def _note_counts(leaf: Leaf, objects: ObjectSet, algebra: Algebra) -> None:
    least = len(objects.needed())
    if objects.high is not None and max(objects.low, least) > objects.high:
        algebra.conflict((leaf.path, "maxProperties"), f"at most {objects.high} members")
        which = "minProperties" if objects.low > objects.high else "required"
        algebra.conflict((leaf.path, which), f"at least {max(objects.low, least)} members")
    else:
        possible = sum(not node.never for node, _ in objects.members.values())
        algebra.conflict((leaf.path, "minProperties"), f"at least {objects.low} members")
        algebra.conflict((leaf.path, "additionalProperties"), f"only {possible} names")


def _regions(reader: Reader, patterns: dict[str, Node], rest: Node | None) -> tuple[Region, ...]:
    rest = ANYTHING if rest is None else rest
    if not patterns:
        if rest.always:
            return OPEN
        return () if rest.never else (Region((), (), rest),)
    regions: tuple[Region, ...] = (Region((), (), rest),)
    for pattern, node in patterns.items():
        regions = split(regions, reader.pattern_set(pattern), node, reader.algebra, True)
    return tuple(region for region in regions if not region.node.never)


def _matching(reader: Reader, patterns: dict[str, Node], name: str) -> list[Node]:
    expressions = reader.algebra.expressions
    return [
        node
        for pattern, node in patterns.items()
        if reader.pattern_set(pattern).contains(name, expressions)
    ]
