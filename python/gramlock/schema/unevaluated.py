"""``unevaluatedProperties`` and ``unevaluatedItems``: the members and items that nothing else saw.

Which members a schema evaluates is known from its text, except where a branch has to hold first
(``anyOf``, ``oneOf``, ``if``, ``dependentSchemas``): such a branch evaluates its members exactly
for the values that are in it. So the schema is read once into a list of *claims*, "where these
nodes hold, those names (or items) are evaluated", and the keyword becomes sets:

* objects: names that the same conditions claim form a group, and each group is one clause: all of
  its members are in the keyword's schema, or one of the conditions holds. k branches cost k
  clauses, never 2**k alternatives.
* arrays: what is evaluated is a prefix, so of all conditions without ``contains`` the one that
  reaches furthest decides: one alternative for each. Items that a ``contains`` finds (from
  2020-12) are evaluated wherever they stand: they may be in its schema instead.

``not`` evaluates nothing, and neither does a schema beside (a "cousin"): only what is applied to
the same value from within is looked at.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import combinations
from typing import TYPE_CHECKING, Any, NamedTuple

from ..errors import LimitError
from . import algebra as sets
from . import objects
from .arrays import ArraySet
from .nodes import ANYTHING, Derived, Leaf, Node, Shape
from .objects import ObjectSet, Region
from .strings import StringSet

if TYPE_CHECKING:
    from .algebra import Algebra
    from .model import Reader

__all__ = ["Unevaluated", "items", "properties"]

MAX_FINDERS = 6  # conditions with ``contains``: each may hold or not, whatever the others do
MAX_IN_PLACE = 400  # schemas that apply in place of each other
MAX_VISITS = 10_000  # ways on which schemas are reached in place

#: Nodes all of which hold; none where a claim is unconditional.
Conditions = tuple[Node, ...]


class Names(NamedTuple):
    """Member names: those listed, those that match a pattern, or all."""

    listed: tuple[str, ...]
    patterns: tuple[StringSet, ...] = ()
    every: bool = False

    def matches(self, name: str, algebra: Algebra) -> bool:
        """Whether *name* is among them, listed or not."""
        return self.every or any(
            names.contains(name, algebra.expressions) for names in self.patterns
        )


class Items(NamedTuple):
    """Items of an array: the first *reach* (None: all), and those in one of *found*."""

    reach: int | None
    found: tuple[Node, ...] = ()


class Claim(NamedTuple):
    """What is evaluated where all *conditions* hold."""

    conditions: Conditions
    what: Any


class Unevaluated(Derived):
    """The values whose unevaluated members (or items) are in *rest*.

    Attributes:
        leaf: The schema that has the keyword.
        rest: The value of the keyword.
        claims: What the schema around it evaluates.
        choices: Conditions of which one always holds, after those that this hangs on.
    """

    __slots__ = ("choices", "claims", "leaf", "rest")

    def __init__(self, leaf: Leaf, key: str, rest: Node) -> None:
        super().__init__((leaf.path, key))
        self.leaf, self.rest = leaf, rest
        self.claims: list[Claim] = []
        self.choices: list[tuple[Conditions, list[Conditions]]] = []


class _Properties(Unevaluated):
    __slots__ = ()

    def derive(self, algebra: Algebra) -> Shape:
        """Objects with one clause for each group of names that hang on the same conditions."""
        if any(claim.what.every for claim in self.claims if not claim.conditions):
            return sets.FULL
        found: ObjectSet | None = objects.OBJECTS
        for conditions, unclaimed in _groups(self, algebra):
            if not conditions:
                found = found and objects.intersect(found, unclaimed, algebra)
            else:
                held = [algebra.expand(algebra.conjunction(each)).objects for each in conditions]
                clause = (unclaimed, *(one for each in held for one in each))
                found = found and objects.constrain(found, clause, algebra)
        if found is objects.OBJECTS:
            return sets.FULL
        kept = () if found is None else (found,)
        return Shape(sets.ALL_FLAGS, (sets.NUMBERS,), (sets.STRINGS,), (sets.ARRAYS,), kept)


class _Items(Unevaluated):
    __slots__ = ()

    def derive(self, algebra: Algebra) -> Shape:
        """Arrays with one alternative for each set of conditions that reaches further."""
        found: list[ArraySet] = []
        for conditions, seen in _reaches(self.claims):
            if seen.reach is None:
                left = sets.ARRAYS
            else:
                rest = algebra.either([self.rest, *seen.found])
                left = ArraySet((ANYTHING,) * seen.reach, rest, 0, None)
            if not conditions and left == sets.ARRAYS:
                return sets.FULL
            kept = Shape(0, (), (), (left,), ())
            held = algebra.expand(algebra.conjunction(conditions))
            found += algebra.intersect(held, kept).arrays
        arrays = tuple(dict.fromkeys(found))
        return Shape(sets.ALL_FLAGS, (sets.NUMBERS,), (sets.STRINGS,), arrays, (objects.OBJECTS,))


def properties(reader: Reader, leaf: Leaf, rest: Node) -> Unevaluated:
    """The objects of *leaf*'s keyword ``unevaluatedProperties``, whose value is *rest*.

    Cost: one visit of each schema that applies in place; called while the schemas are read.
    """
    node = _Properties(leaf, "unevaluatedProperties", rest)
    _Walk(reader, node, _names).visit(leaf, (), ())
    return node


def items(reader: Reader, leaf: Leaf, rest: Node) -> Unevaluated:
    """The arrays of *leaf*'s keyword ``unevaluatedItems``, whose value is *rest*."""
    node = _Items(leaf, "unevaluatedItems", rest)
    _Walk(reader, node, _positions).visit(leaf, (), ())
    return node


# -- what a schema evaluates ----------------------------------------------------------------------


def _names(reader: Reader, leaf: Leaf, outer: bool) -> Names | None:
    """The names that the keywords of one schema evaluate by themselves."""
    schema, year = leaf.schema, leaf.scope.dialect.year
    nested = not outer and year >= 2019 and "unevaluatedProperties" in schema
    every = nested or "additionalProperties" in schema
    listed, patterns = schema.get("properties"), []
    for pattern in _keys(schema.get("patternProperties")):
        if reader.is_pattern(pattern):
            patterns.append(reader.pattern_set(pattern))
        else:
            every = True  # noted by its keyword; what is left out may only enlarge the set
    found = Names(tuple(_keys(listed)), tuple(patterns), every)
    return found if found.listed or found.patterns or every else None


def _positions(reader: Reader, leaf: Leaf, outer: bool) -> Items | None:
    """The items that the keywords of one schema evaluate by themselves."""
    schema, year = leaf.schema, leaf.scope.dialect.year
    listed = schema.get("prefixItems" if year >= 2020 else "items")
    reach: int | None = len(listed) if isinstance(listed, list) else 0
    if not isinstance(schema.get("items", []), list):
        reach = None
    if year < 2020 and isinstance(listed, list) and "additionalItems" in schema:
        reach = None
    if not outer and year >= 2019 and "unevaluatedItems" in schema:
        reach = None
    found: tuple[Node, ...] = ()
    if year >= 2020 and "contains" in schema:
        found = (reader.node(schema["contains"], (leaf.path, "contains"), leaf.scope),)
    return Items(reach, found) if reach != 0 or found else None


def _keys(value: Any) -> Iterable[str]:
    return value if isinstance(value, dict) else ()


class _Walk:
    """One visit of all schemas that apply to the same value."""

    def __init__(self, reader: Reader, node: Unevaluated, evaluates: Any) -> None:
        self.reader, self.node, self._evaluates = reader, node, evaluates
        self._seen: set[tuple[Node, Conditions]] = set()

    def visit(self, node: Node, conditions: Conditions, above: tuple[Node, ...]) -> None:
        """Notes what *node* claims under *conditions*; *above* is how it was reached."""
        if not isinstance(node, Leaf) or node in above or (node, conditions) in self._seen:
            return  # a schema that includes itself is refused when it is looked into
        self._seen.add((node, conditions))
        if len(self._seen) > MAX_VISITS:
            raise LimitError("schema_alternatives", len(self._seen), MAX_VISITS)
        if len(above) >= MAX_IN_PLACE:
            raise LimitError("schema_in_place", len(above) + 1, MAX_IN_PLACE)
        hides = node.scope.dialect.ref_hides and "$ref" in node.schema
        what = None if hides else self._evaluates(self.reader, node, not above)
        if what is not None:
            self.node.claims.append(Claim(conditions, what))
        above = (*above, node)
        for part in self._always(node):
            self.visit(part, conditions, above)
        if hides:
            return
        for branches, certain in self._sometimes(node):
            options = []
            for held, inner in branches:
                if held.never:
                    continue
                option = conditions if held.always else (*conditions, held)
                options.append(option)
                self.visit(inner, option, above)
            if certain:
                self.node.choices.append((conditions, options))

    def _always(self, leaf: Leaf) -> Iterator[Node]:
        """Schemas that apply wherever *leaf* does."""
        schema, dialect = leaf.schema, leaf.scope.dialect
        for key, since in (("$ref", 4), ("$recursiveRef", 2019), ("$dynamicRef", 2020)):
            known = dialect.year >= since and (key != "$recursiveRef" or dialect.year == 2019)
            if known and isinstance(schema.get(key), str):
                target = self.reader.target(leaf, key, schema[key])
                if target is not None:
                    yield target
        if not (dialect.ref_hides and "$ref" in schema):
            yield from self._listed(leaf, "allOf")

    def _sometimes(self, leaf: Leaf) -> Iterator[tuple[list[tuple[Node, Node]], bool]]:
        """Schemas that apply where conditions hold: pairs, and whether one of them always does."""
        schema, year = leaf.schema, leaf.scope.dialect.year
        for key in ("anyOf", "oneOf"):
            nodes = list(self._listed(leaf, key))
            if nodes:
                yield [(node, node) for node in nodes], True
        if year >= 7 and "if" in schema:
            test = self._child(leaf, "if")
            branches = [(test, test)]
            if "then" in schema:
                branches.append((test, self._child(leaf, "then")))
            other = self._child(leaf, "else") if "else" in schema else ANYTHING
            branches.append((self.reader.algebra.negation(test), other))
            yield branches, True
        for key in ("dependentSchemas", "dependencies"):
            known = year >= 2019 if key == "dependentSchemas" else True
            for name in _keys(schema.get(key)) if known else ():
                value = schema[key][name]
                if isinstance(value, (dict, bool)):
                    path = ((leaf.path, key), name)
                    inner = self.reader.node(value, path, leaf.scope)
                    yield [(_having(leaf, name), inner)], False

    def _child(self, leaf: Leaf, key: str) -> Node:
        return self.reader.node(leaf.schema[key], (leaf.path, key), leaf.scope)

    def _listed(self, leaf: Leaf, key: str) -> Iterator[Node]:
        values = leaf.schema.get(key)
        for index, value in enumerate(values if isinstance(values, list) else ()):
            yield self.reader.node(value, ((leaf.path, key), index), leaf.scope)


def _having(leaf: Leaf, name: str) -> Node:
    """Objects with a member *name*."""
    present = ObjectSet({name: (ANYTHING, leaf)}, objects.OPEN)
    return Node(leaf.path, Shape(0, (), (), (), (present,)))


# -- objects --------------------------------------------------------------------------------------


def _groups(node: Unevaluated, algebra: Algebra) -> list[tuple[list[Conditions], ObjectSet]]:
    """Conditions that claim the same names, each with the objects in which all of these names have
    values in the keyword's schema; without conditions where nothing claims them."""
    names: dict[str, list[Conditions]] = {}
    for claim in node.claims:
        for name in claim.what.listed:
            names.setdefault(name, []).append(claim.conditions)
    matching = [claim for claim in node.claims if claim.what.every or claim.what.patterns]
    groups: dict[tuple[Conditions, ...], tuple[list[str], set[int]]] = {}
    for name, listing in names.items():
        claimed = [c.conditions for c in matching if c.what.matches(name, algebra)]
        held = _settled(listing + claimed, node)
        if held is not None:
            groups.setdefault(held, ([], set()))[0].append(name)
    cells = _cells(node, algebra)
    for index, cell in enumerate(cells):
        held = _settled(cell.claimed, node)
        if held is not None:
            groups.setdefault(held, ([], set()))[1].add(index)
    found = []
    for held, (mine, places) in groups.items():
        regions: tuple[Region, ...] = objects.OPEN
        others: objects.Members = {}
        if places:
            others = dict.fromkeys(names, (ANYTHING, None))
            regions = tuple(
                Region(cell.inside, cell.outside, node.rest if i in places else ANYTHING)
                for i, cell in enumerate(cells)
                if i not in places or not node.rest.never
            )
        members: objects.Members = {**others, **dict.fromkeys(mine, (node.rest, None))}
        found.append((list(held), ObjectSet(members, regions)))
    return found


class _Cell(NamedTuple):
    """Names that are not listed anywhere: what they match, and the claims on them."""

    inside: tuple[StringSet, ...]
    outside: tuple[StringSet, ...]
    claimed: list[Conditions]


def _cells(node: Unevaluated, algebra: Algebra) -> list[_Cell]:
    """All names, by the patterns that they match; those that are claimed anyway stay whole."""
    every = [claim.conditions for claim in node.claims if claim.what.every]
    by_pattern: dict[StringSet, list[Conditions]] = {}
    for claim in node.claims:
        for names in claim.what.patterns:
            by_pattern.setdefault(names, []).append(claim.conditions)
    cells = [_Cell((), (), every)]
    for names, claims in by_pattern.items():
        parts: list[_Cell] = []
        for cell in cells:
            if _settled(cell.claimed, node) is None:
                parts.append(cell)
                continue
            within, without = (*cell.inside, names), (*cell.outside, names)
            if algebra.has_name(within, cell.outside):
                parts.append(_Cell(within, cell.outside, cell.claimed + claims))
            if algebra.has_name(cell.inside, without):
                parts.append(_Cell(cell.inside, without, cell.claimed))
        cells = parts
        if len(cells) > objects.MAX_REGIONS:
            raise LimitError("name_regions", len(cells), objects.MAX_REGIONS)
    return cells


def _settled(claimed: list[Conditions], node: Unevaluated) -> tuple[Conditions, ...] | None:
    """The conditions one of which has to hold; None where one certainly does."""
    held = dict.fromkeys(claimed)
    for before, options in node.choices:  # inner choices come first
        if all(option in held for option in options):
            for option in options:
                held.pop(option, None)
            held[before] = None
    return None if () in held else tuple(held)


# -- arrays ---------------------------------------------------------------------------------------


def _reaches(claims: list[Claim]) -> Iterator[tuple[Conditions, Items]]:
    """Sets of conditions, and what they evaluate together."""
    always = _together([claim.what for claim in claims if not claim.conditions])
    by_conditions: dict[Conditions, list[Items]] = {}
    for claim in claims:
        if claim.conditions:
            by_conditions.setdefault(claim.conditions, []).append(claim.what)
    given = [Claim(held, _together(what)) for held, what in by_conditions.items()]
    finders = [claim for claim in given if claim.what.found and claim.what.reach is not None]
    if len(finders) > MAX_FINDERS:
        raise LimitError("schema_alternatives", 2 ** len(finders), 2**MAX_FINDERS)
    for size in range(len(finders) + 1):
        for chosen in combinations(finders, size):
            base = _together([always, *(claim.what for claim in chosen)])
            held = tuple(node for claim in chosen for node in claim.conditions)
            yield held, base
            for claim in given:
                further = _together([base, claim.what])
                if claim not in finders and further.reach != base.reach:
                    yield (*held, *claim.conditions), further


def _together(parts: list[Items]) -> Items:
    """Everything that one of *parts* evaluates."""
    if any(part.reach is None for part in parts):
        return Items(None)
    reach = max((part.reach or 0 for part in parts), default=0)
    return Items(reach, tuple(dict.fromkeys(node for part in parts for node in part.found)))
