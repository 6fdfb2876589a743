"""From a set of objects with conditions to the classes, choices and formula of one container.

Every name that is mentioned anywhere is a class of its own; all other names fall into *cells*, the
parts into which the regions of all conditions cut them. A condition of a clause is an atom of the
formula: "the member ``a`` has a value in V", "every member of these classes has". V is then a
*literal* of the class, and each *choice* of the class is a set of values together with the literals
that hold for all of them::

    {"properties": {"a": {"type": ["integer", "string"]}},
     "if": {"properties": {"a": {"const": 1}}}, "then": {"required": ["b"]}}

    a: 1 {}   any other integer, or a string {0}
    formula: all_but(0, a literal 0) or at_least(1, b)

Two kinds of literals make choices. Those on scalars *split* the values: each choice is what is in
some of them and in no other, so k constants make k + 1 choices. Of the others, whose complements
may be large, only those combinations are made that a witness of the formula can need: it takes one
alternative of each clause. Combinations that nothing satisfies are dropped as they arise; a budget
bounds the rest.

Cost: linear in the conditions, times the classes for those that concern all names.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from typing import TYPE_CHECKING, Any

from ..errors import LimitError
from . import complement
from . import objects as sets
from .nodes import Node, Shape
from .objects import Clause, ObjectSet, Region, Some
from .strings import StringSet

if TYPE_CHECKING:
    from .algebra import Algebra

__all__ = ["Container", "CrowdedError", "MemberClass"]

MAX_CHOICES = 256  # of one class
MAX_PARTS = 64  # of a class's values, if conditions overlap; k that exclude each other make k + 1
MAX_STEPPED = 16  # the same where multiples are asked for, whose automata multiply
MAX_LITERALS = 31  # of one class; as many as the grammar's node has bits
TOGETHER = 12  # parts of a class's values that surely have few enough literals, mostly
LOOK = 3  # how deep values are looked into for whether there are any

Formula = Any  # True, False, ("at_least" | "all_but", n, pairs) or ("and" | "or", formulas)
Choice = tuple[Node, frozenset[Node]]


class CrowdedError(Exception):
    """The values of the member *name* meet more conditions than a class can have.

    Attributes:
        name: The member.
        values: Its values in disjoint parts; None among them: it may be absent.
        together: How many of these a class can have.
    """

    def __init__(self, name: str, values: list[Node | None], together: int) -> None:
        super().__init__(name)
        self.name, self.values, self.together = name, values, together


class MemberClass:
    """A declared name, or a cell of all other names.

    Attributes:
        name: The name, or None.
        region: Of the other names: which these are; its node is not in use.
        node: What every value is in.
        required: The node that asks for the member, or None.
        literals: Conditions on its values that the formula refers to, and their bits.
        choices: Sets of values with the conditions that hold for them.
    """

    __slots__ = ("choices", "literals", "name", "node", "region", "required")

    def __init__(
        self, name: str | None, region: Region | None, node: Node, required: Node | None
    ) -> None:
        self.name, self.region, self.node, self.required = name, region, node, required
        self.literals: dict[Node, int] = {}
        self.choices: list[Choice] = [(node, frozenset())]

    def bits(self, asserted: Iterable[Node]) -> int:
        """The literals of a choice as the grammar has them."""
        found = {self.literals[node] for node in asserted if node in self.literals}
        return sum(1 << bit for bit in found)


class Container:
    """The classes and the formula of one set of objects.

    Attributes:
        classes: Those that may have members: declared names in order, names that only conditions
            mention, the names of cells that have few, cells.
        declared: How many of *classes* are declared names.
        named: How many of *classes* are names.
        formula: Over the indices of *classes*; see :meth:`.GrammarBuilder.container`. None for no
            condition, False where nothing satisfies it.

    Raises:
        CrowdedError: A name has too many conditions; its values have to be divided.
        LimitError: Too many choices, or too many cells.
    """

    def __init__(self, objects: ObjectSet, algebra: Algebra) -> None:
        self._objects, self._algebra = objects, algebra
        names: dict[str, None] = {}
        regions: list[Region | Some] = []
        for one in _within(objects):
            names.update(dict.fromkeys(one.members))
            regions += (*one.regions, *one.some)
            for some in one.some:
                names.update(dict.fromkeys(sorted(some.names)))
        self.names = list(names)
        self.classes: list[MemberClass] = []
        self._index: dict[str, int] = {}
        self.declared = 0
        for name in names:
            node = objects.of(name, algebra)
            required = objects.members[name][1] if name in objects.members else None
            if not node.never:
                self._index[name] = len(self.classes)
                self.classes.append(MemberClass(name, None, node, required))
                self.declared += name in objects.members
        least = objects.low + len(objects.members)
        cells = _cells(objects.regions, regions, algebra)
        listed = [sets.few_names(cell, names, algebra, least) for cell in cells]
        for cell, few in zip(cells, listed, strict=True):
            for name in few or ():
                self.names.append(name)
                self._index[name] = len(self.classes)
                self.classes.append(MemberClass(name, None, cell.node, None))
        self.named = len(self.classes)
        for cell, few in zip(cells, listed, strict=True):
            if few is None:
                self.classes.append(MemberClass(None, cell, cell.node, None))
        self._formulas: dict[int, Formula] = {}
        self._possible: set[tuple[int, Node]] = set()
        self._plain: dict[int, tuple[Node, ...]] = {}
        self.formula: Formula = self._resolve(_join("and", list(self._demands(objects))))

    # -- the formula over nodes ---------------------------------------------------------------

    def _of(self, objects: ObjectSet) -> Formula:
        """That an object is in the set, beside what is certain of it here."""
        known = self._formulas.get(id(objects))
        if known is None:
            parts = chain(self._of_members(objects), self._demands(objects))
            known = self._formulas[id(objects)] = _join("and", list(parts))
        return known

    def _of_members(self, objects: ObjectSet) -> Iterator[Formula]:
        for name, (node, required) in objects.members.items():
            index = self._index.get(name)
            if index is None:
                if required is not None:
                    yield False
            elif required is not None:
                yield self._hits([(index, node)])
            elif not node.always:
                yield self._misses([(index, node)])
        if not sets.is_open(objects.regions):
            others = (
                (index, self._under(objects.regions, one))
                for index, one in enumerate(self.classes)
                if one.name is None or one.name not in objects.members
            )
            yield self._misses((index, node) for index, node in others if not node.always)

    def _demands(self, objects: ObjectSet) -> Iterator[Formula]:
        if objects.low:
            yield ("at_least", objects.low, ((None, None),))
        if objects.high is not None:
            yield ("all_but", objects.high, ((None, None),))
        for some in objects.some:
            pairs = [
                (index, some.node)
                for index, one in enumerate(self.classes)
                if self._counts(some, one)
            ]
            yield self._hits(pairs)
        for clause in objects.clauses:
            yield self._either(clause)

    def _either(self, clause: Clause) -> Formula:
        known = self._formulas.get(id(clause))
        if known is None:
            known = _join("or", [self._of(one) for one in clause])
            self._formulas[id(clause)] = known
        return known

    def _hits(self, pairs: Iterable[tuple[int, Node]]) -> Formula:
        """Some member of these classes has a value in the node beside its class."""
        found: list[tuple[int | None, Node | None]] = []
        for index, node in pairs:
            status = self._condition(index, node)
            if status is not False:
                found.append((index, None if status is True else node))
        return self._atom("at_least", 1, tuple(found))

    def _misses(self, pairs: Iterable[tuple[int, Node]]) -> Formula:
        """No member of these classes has a value that is not in the node beside its class."""
        found: list[tuple[int | None, Node | None]] = []
        for index, node in pairs:
            status = self._condition(index, node)
            if status is not True:
                found.append((index, None if status is False else node))
        return self._atom("all_but", 0, tuple(found))

    def _condition(self, index: int, node: Node) -> Node | bool:
        """Whether values of a class are in *node*: always, never, or the node itself."""
        if node.always or node is self.classes[index].node:
            return True
        return False if node.never else node

    def _under(self, regions: tuple[Region, ...], one: MemberClass) -> Node:
        if one.name is not None:
            return sets.find(regions, one.name, self._algebra)
        for region in regions:
            if _covers(region, one):
                return region.node
        return self._algebra.never

    def _counts(self, some: Some, one: MemberClass) -> bool:
        if one.name is not None:
            return some.holds(one.name, self._algebra)
        return _covers(some, one)

    # -- choices ------------------------------------------------------------------------------

    def _resolve(self, formula: Formula) -> Formula:
        """*formula* over bits instead of nodes, once each class has its choices."""
        parts: dict[int, list[Choice]] = {}
        wanted: dict[int, list[Node]] = {}
        grown = True
        while grown and not isinstance(formula, bool):  # what is certain may settle further parts
            wanted = _wanted(formula)
            formula, grown = self._split(formula, wanted, parts)
        if isinstance(formula, bool):
            return None if formula else False
        try:
            needs = self._needs(formula, wanted, parts)
        except LimitError:
            self._divide(parts, 1)
            raise
        try:
            bits = self._choose(wanted, needs)
        except LimitError:
            self._divide(parts, TOGETHER)
            raise
        return self._without_units(self._replaced(formula, bits))

    def _split(
        self, formula: Formula, wanted: dict[int, list[Node]], parts: dict[int, list[Choice]]
    ) -> tuple[Formula, bool]:
        """Splits values by plain conditions; *formula* without what is certain then."""
        algebra = self._algebra
        certain: dict[tuple[int, Node], int | bool] = {}
        for index, nodes in wanted.items():
            plain = tuple(node for node in nodes if algebra.is_plain(node))
            if self._plain.get(index) != plain:
                self._plain[index] = plain
                parts[index] = _parts(self.classes[index].node, plain, algebra)
            for node in plain:
                held = [node in asserted for _, asserted in parts[index]]
                if all(held) or not any(held):
                    certain[index, node] = all(held)
        if certain:
            return self._replaced(formula, certain), True
        for index, nodes in wanted.items():  # only now, when most that cannot matter are gone
            base = self.classes[index].node
            for node in nodes:
                if (index, node) not in self._possible:
                    both = algebra.both(base, node)
                    if both is base or both.never or algebra.is_void(both, LOOK):
                        certain[index, node] = both is base
                    else:
                        self._possible.add((index, node))
        return (self._replaced(formula, certain), True) if certain else (formula, False)

    def _needs(
        self, formula: Formula, wanted: dict[int, list[Node]], parts: dict[int, list[Choice]]
    ) -> dict[int, list[tuple[Choice, list[frozenset[Node]]]]]:
        """For each part of each class the conditions beside the plain ones that it may need.

        Raises:
            LimitError: They are too many.
        """
        is_plain = self._algebra.is_plain
        found = {}
        for index, nodes in wanted.items():
            plain = frozenset(node for node in nodes if is_plain(node))
            if len(plain) == len(nodes):
                found[index] = [(part, [frozenset[Node]()]) for part in parts[index]]
                continue
            single = self.classes[index].name is not None
            found[index] = [
                (part, _needed(formula, index, single, part[1], plain)) for part in parts[index]
            ]
            count = sum(len(sets_of_part) for _, sets_of_part in found[index])
            if count > MAX_CHOICES:
                raise LimitError("schema_alternatives", count, MAX_CHOICES)
        return found

    def _choose(
        self,
        wanted: dict[int, list[Node]],
        needs: dict[int, list[tuple[Choice, list[frozenset[Node]]]]],
    ) -> dict[tuple[int, Node], int | bool]:
        """Gives each class its choices; the bits of its conditions, or whether all choices hold.

        Raises:
            LimitError: They are too many.
        """
        algebra = self._algebra
        bits: dict[tuple[int, Node], int | bool] = {}
        for index, nodes in wanted.items():
            one = self.classes[index]
            one.choices = []
            for (value, held), needed_sets in needs[index]:
                for needed in needed_sets:
                    node = algebra.conjunction((value, *sorted(needed, key=nodes.index)))
                    if not (needed and algebra.is_void(node, LOOK)):
                        one.choices.append((node, held | needed))
            same: dict[tuple[bool, ...], int] = {}
            for node in nodes:
                asserting = tuple(node in asserted for _, asserted in one.choices)
                if all(asserting) or not any(asserting):
                    bits[index, node] = all(asserting)
                else:
                    bits[index, node] = one.literals[node] = same.setdefault(asserting, len(same))
            if len(same) > MAX_LITERALS:
                raise LimitError("schema_alternatives", len(same), MAX_LITERALS)
        return bits

    def _divide(self, parts: dict[int, list[Choice]], together: int) -> None:
        """Raises :class:`CrowdedError` for the name whose values are split most, if any is."""
        best, count = None, 1
        for index in range(self.named):
            values = len(parts.get(index, ())) + (self.classes[index].required is None)
            if index in parts and values > count:
                best, count = index, values
        if best is not None:
            one = self.classes[best]
            values_of: list[Node | None] = [] if one.required is not None else [None]
            values_of += [node for node, _ in parts[best]]
            raise CrowdedError(one.name or "", values_of, min(together, count // 2))

    def _replaced(self, formula: Formula, bits: dict[tuple[int, Node], int | bool]) -> Formula:
        """*formula* with bits for conditions; True: all members meet it, False: none does."""
        memo: dict[int, Formula] = {}
        for node in _nodes(formula):
            kind = node[0]
            if kind in ("and", "or"):
                memo[id(node)] = _join(kind, [memo[id(part)] for part in node[1]])
                continue
            pairs: list[tuple[int | None, Node | int | None]] = []
            for index, condition in node[2]:
                bit = None if condition is None else bits.get((index, condition), condition)
                if not isinstance(bit, bool):
                    pairs.append((index, bit))
                elif bit == (kind == "at_least"):  # hits always, or misses always
                    pairs.append((index, None))
            memo[id(node)] = self._atom(kind, node[1], tuple(pairs))
        return memo[id(formula)]

    def _atom(self, kind: str, count: int, pairs: tuple[tuple[int | None, Any], ...]) -> Formula:
        """An atom, or whether it holds, as far as that is certain."""
        if not pairs:
            return kind == "all_but"
        if kind == "at_least" and count == 1:
            for index, literal in pairs:
                if literal is None and index is not None and self.classes[index].required:
                    return True
        return (kind, count, pairs)

    def _without_units(self, formula: Formula) -> Formula:
        """*formula* without its demands for single members, which are noted beside their names."""
        if isinstance(formula, bool):
            return None if formula else False
        left = []
        for part in formula[1] if formula[0] == "and" else (formula,):
            kind, count, pairs = (*part, ())[:3]
            if kind == "at_least" and count == 1 and len(pairs) == 1 and pairs[0][1] is None:
                index = pairs[0][0]
                if index is not None and index < self.named:
                    one = self.classes[index]
                    one.required = one.required or one.node
                    continue
            left.append(part)
        return _join("and", left) if left else None


def _parts(base: Node, conditions: Sequence[Node], algebra: Algebra) -> list[Choice]:
    """The values of *base*, divided by which of the *conditions* hold.

    Cost: of values that are listed one look for each condition, which is what makes hundreds of
    constants cheap; otherwise an intersection and a complement for each part and condition.
    """
    listed, other = _listed(algebra.expand(base))
    found: dict[frozenset[Node], Shape] = {}
    for value in listed:
        met = frozenset(node for node in conditions if algebra.contains(node, value))
        shape = algebra.constant_shape(value, base.path)
        found[met] = algebra.union([found[met], shape]) if met in found else shape
    for shape, met in _split_shapes(other, conditions, algebra):
        found[met] = algebra.union([found[met], shape]) if met in found else shape
    result = []
    for met, shape in found.items():
        sides = (node if node in met else algebra.negation(node) for node in conditions)
        node = algebra.conjunction((base, *sides))
        if node.shape is None:
            node.shape = shape
        result.append((node, met))
    return result


def _split_shapes(
    whole: Shape, conditions: Sequence[Node], algebra: Algebra
) -> list[tuple[Shape, frozenset[Node]]]:
    if whole.is_void():
        return []
    found: list[tuple[Shape, frozenset[Node]]] = [(whole, frozenset())]
    stepped = False
    for condition in conditions:
        inner = algebra.expand(condition)
        outer = complement.of_shape(inner, condition, algebra)
        further = []
        for shape, met in found:
            listed, other = _listed(shape)
            if len(listed) == 1 and other.is_void():
                holds = algebra.contains(condition, listed[0])
                further.append((shape, met | {condition} if holds else met))
                continue
            for part, more in ((inner, met | {condition}), (outer, met)):
                both = algebra.intersect(shape, part)
                if not algebra.is_void_shape(both, LOOK):
                    further.append((both, more))
        found = further
        stepped = stepped or any(part.step or part.not_multiples for part in inner.numbers)
        most = max(MAX_STEPPED if stepped else MAX_PARTS, 2 * len(conditions) + 2)
        if len(found) > most:
            raise LimitError("schema_alternatives", len(found), most)
    return found


def _listed(shape: Shape) -> tuple[list[Any], Shape]:
    """The numbers and strings that are listed one by one, and all other values."""
    points = [n for n in shape.numbers if n.lower is not None and n.lower == n.upper]
    values: list[Any] = [number.lower for number in points if not number.is_empty()]
    for strings in shape.strings:
        values += strings.values or ()
    other = Shape(
        shape.flags,
        tuple(number for number in shape.numbers if number not in points),
        tuple(strings for strings in shape.strings if strings.values is None),
        shape.arrays,
        shape.objects,
    )
    return values, other


def _needed(
    formula: Formula,
    index: int,
    single: bool,
    asserted: frozenset[Node],
    plain: frozenset[Node],
) -> list[frozenset[Node]]:
    """What a member of a class may have to assert for *formula*, beside the *plain* conditions.

    Of the plain ones exactly *asserted* hold. *single*: the class has at most one member. The
    result has no set at all where no witness of the formula has such a member.
    """
    nothing = [frozenset[Node]()]
    memo: dict[int, list[frozenset[Node]]] = {}

    def atom(node: Formula) -> list[frozenset[Node]]:
        kind, count, pairs = node
        mine = [condition for at, condition in pairs if at == index]
        if not mine:
            return nothing
        condition = mine[0]
        alone = single and count == 1 and len(pairs) == 1
        certain = not count if kind == "all_but" else alone  # the member has to hit
        if condition in plain or condition is None:
            hits = (kind == "at_least") if condition is None else condition in asserted
            return nothing if hits or not certain else []
        return [frozenset({condition})] if certain else [*nothing, frozenset({condition})]

    for node in _nodes(formula):
        kind = node[0]
        if kind == "or":
            found = list(dict.fromkeys(one for part in node[1] for one in memo[id(part)]))
        elif kind == "and":
            found = nothing
            for part in node[1]:
                sets_of_part = memo[id(part)]
                if sets_of_part is not nothing:
                    found = list(dict.fromkeys(a | b for a in found for b in sets_of_part))
                if len(found) > MAX_CHOICES:
                    raise LimitError("schema_alternatives", len(found), MAX_CHOICES)
        else:
            found = atom(node)
        memo[id(node)] = nothing if found == nothing else found
    return memo[id(formula)]


# -- formulas -------------------------------------------------------------------------------------


def _join(kind: str, parts: list[Formula]) -> Formula:
    """``and`` or ``or`` of *parts*, without those that are certain."""
    absorbing = kind == "or"
    found: list[Formula] = []
    for part in parts:
        if part is absorbing:
            return absorbing
        if part is (not absorbing):
            continue
        found += part[1] if part[0] == kind else (part,)
    if len(found) < 2:
        return found[0] if found else not absorbing
    return (kind, tuple({id(part): part for part in found}.values()))


def _nodes(formula: Formula) -> Iterator[Formula]:
    """Every part of a formula once, parts before wholes."""
    seen: set[int] = set()
    stack = [(formula, False)]
    while stack:
        node, ready = stack.pop()
        if ready:
            yield node
        elif id(node) not in seen:
            seen.add(id(node))
            stack.append((node, True))
            if node[0] in ("and", "or"):
                stack.extend((part, False) for part in node[1])


def _atoms(formula: Formula) -> Iterator[Formula]:
    return (node for node in _nodes(formula) if node[0] not in ("and", "or"))


def _wanted(formula: Formula) -> dict[int, list[Node]]:
    """The conditions of each class that the formula refers to."""
    found: dict[int, dict[Node, None]] = {}
    for atom in _atoms(formula):
        for index, node in atom[2]:
            if node is not None:
                found.setdefault(index, {})[node] = None
    return {index: list(nodes) for index, nodes in found.items()}


# -- what a set mentions --------------------------------------------------------------------------


def _within(objects: ObjectSet) -> Iterator[ObjectSet]:
    """A set, and each that its clauses hold at any depth, once."""
    seen: set[int] = set()
    stack = [objects]
    while stack:
        one = stack.pop()
        if id(one) not in seen:
            seen.add(id(one))
            yield one
            for clause in reversed(one.clauses):
                if id(clause) not in seen:
                    seen.add(id(clause))
                    stack.extend(reversed(clause))


def _cells(
    regions: tuple[Region, ...], others: list[Region | Some], algebra: Algebra
) -> list[Region]:
    """*regions*, cut so that each of the *others* covers a part or has no name of it."""
    names: dict[StringSet, None] = {}
    for other in others:
        names.update(dict.fromkeys((*other.inside, *other.outside)))
    cells = list(regions)
    for string in names:
        cut = []
        for cell in cells:
            if string in cell.inside or string in cell.outside:
                cut.append(cell)
                continue
            for inside, outside in (
                ((*cell.inside, string), cell.outside),
                (cell.inside, (*cell.outside, string)),
            ):
                if algebra.has_name(inside, outside):
                    cut.append(Region(inside, outside, cell.node))
        cells = cut
        if len(cells) > sets.MAX_REGIONS:
            raise LimitError("name_regions", len(cells), sets.MAX_REGIONS)
    return cells


def _covers(region: Region | Some, one: MemberClass) -> bool:
    cell = one.region
    assert cell is not None
    return all(names in cell.inside for names in region.inside) and all(
        names in cell.outside for names in region.outside
    )
