"""Sets of objects as nodes of a grammar.

Each set is one container. Most have no conditions: a class of members for each name and region, and
no formula. For those that have, :mod:`.conditions` works out the classes.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING

from ..errors import LimitError
from .conditions import LOOK, Container, CrowdedError
from .objects import OBJECTS, ObjectSet, Region, few_names, is_endless, settled, with_clause

if TYPE_CHECKING:
    from .._formula import MemberClass as GrammarClass
    from .emit import Emitter

__all__ = ["object_node", "object_nodes"]

MAX_CONTAINERS = 256  # into which one set of objects is divided


def object_nodes(emitter: Emitter, alternatives: tuple[ObjectSet, ...], depth: int) -> list[int]:
    """The grammar of a union of sets, inside *depth* containers.

    Alternatives that say nothing of values share one container: ``anyOf`` of ``required``.
    """
    if len(alternatives) < 2:
        return [object_node(emitter, objects, depth) for objects in alternatives]
    bare = tuple(one for one in alternatives if _says_no_values(one))
    if len(bare) < 2:
        return [object_node(emitter, objects, depth) for objects in alternatives]
    known = emitter.memo.get(("joined", bare))
    if known is None:
        known = emitter.memo["joined", bare] = settled(with_clause(OBJECTS, bare), emitter.algebra)
    rest = [one for one in alternatives if not _says_no_values(one)]
    return [object_node(emitter, objects, depth) for objects in (known, *rest) if objects]


def _says_no_values(objects: ObjectSet) -> bool:
    nodes = [node for node, _ in objects.members.values()]
    nodes += [region.node for region in objects.regions]
    return all(node.always or node.never for node in nodes)


def object_node(emitter: Emitter, objects: ObjectSet, depth: int) -> int:
    """The objects of a set, inside *depth* containers; ``FAIL`` if there are none."""
    if objects.conditional:
        nodes = _conditional(emitter, objects, depth)
        return nodes[0] if len(nodes) == 1 else emitter.builder.choice(nodes)
    builder, inside = emitter.builder, emitter.inside(depth)
    named: list[GrammarClass] = []
    for name, (node, required) in objects.members.items():
        value = emitter.value(node, inside)
        if value != builder.FAIL:
            named.append((emitter.key(name), required is not None, [(value, 0)]))
        elif required is not None:
            emitter.algebra.report_forbidden(name, required, node)
            return builder.FAIL
    ordered = 0 if emitter.order == "any" else len(named)
    free: list[GrammarClass] = []
    endless = True
    for region in objects.regions:
        value = emitter.value(region.node, inside)
        if value == builder.FAIL:
            continue
        names = few_names(region, objects.members, emitter.algebra)
        if names is not None:
            named += [(emitter.key(name), False, [(value, 0)]) for name in names]
        else:
            endless = endless and is_endless(region)
            free.append((_free_key(emitter, region, objects.members), False, [(value, 0)]))
    return builder.container(
        "object",
        emitter.layout(depth),
        named,
        free,
        ordered,
        unique=bool(free),
        endless=bool(free) and endless,
        bare=emitter.bare,
    )


def _conditional(emitter: Emitter, objects: ObjectSet, depth: int) -> list[int]:
    """Containers that have together the objects of a set with conditions.

    Where the values of a name meet more conditions than a class can have, they are divided.
    """
    found: list[int] = []
    for container in _containers(emitter, objects):
        node = _container(emitter, container, depth)
        if node != emitter.builder.FAIL:
            found.append(node)
    return found or [emitter.builder.FAIL]


def _containers(emitter: Emitter, objects: ObjectSet) -> list[Container]:
    known: tuple[ObjectSet, list[Container]] | None = emitter.memo.get(("containers", id(objects)))
    if known is not None:
        return known[1]
    found: list[Container] = []
    work: list[ObjectSet | None] = [settled(objects, emitter.algebra, LOOK)]
    while work:
        if len(found) + len(work) > MAX_CONTAINERS:
            raise LimitError("schema_alternatives", len(found) + len(work), MAX_CONTAINERS)
        one = work.pop()
        if one is None:
            continue
        try:
            found.append(Container(one, emitter.algebra))
        except CrowdedError as error:
            work += _divided(emitter, one, error)
    emitter.memo["containers", id(objects)] = (objects, found)  # which keeps the id in use
    return found


def _divided(emitter: Emitter, o: ObjectSet, crowded: CrowdedError) -> list[ObjectSet | None]:
    """Parts of a set, by the values of one name."""
    algebra, name = emitter.algebra, crowded.name
    required = o.members[name][1] if name in o.members else None
    found: list[ObjectSet | None] = []
    for start in range(0, len(crowded.values), crowded.together):
        values = crowded.values[start : start + crowded.together]
        node = algebra.either([value for value in values if value is not None])
        needs = None if None in values else required or node
        members = {**o.members, name: (node, needs)}
        part = ObjectSet(members, o.regions, o.low, o.high, o.some, o.clauses)
        found.append(settled(part, algebra, LOOK))
    return found


def _container(emitter: Emitter, container: Container, depth: int) -> int:
    builder, inside = emitter.builder, emitter.inside(depth)
    if container.formula is False:
        return builder.FAIL
    named: list[GrammarClass] = []
    free: list[GrammarClass] = []
    for one in container.classes:
        choices = []
        for node, held in one.choices:
            value = emitter.value(node, inside)
            if value != builder.FAIL:
                choices.append((value, one.bits(held)))
        if one.required is not None and not choices:
            emitter.algebra.report_forbidden(one.name or "", one.required, one.node)
            return builder.FAIL
        if one.name is not None:
            named.append((emitter.key(one.name), one.required is not None, choices))
        else:
            assert one.region is not None
            names = dict.fromkeys(container.names)
            free.append((_free_key(emitter, one.region, names), False, choices))
    endless = bool(free) and all(is_endless(one.region) for one in container.classes if one.region)
    return builder.container(
        "object",
        emitter.layout(depth),
        named,
        free,
        0 if emitter.order == "any" else container.declared,
        container.formula,
        unique=bool(free),
        endless=endless,
        bare=emitter.bare,
    )


def _free_key(emitter: Emitter, region: Region, names: Collection[str]) -> int:
    """The keys of a region: none of *names*, in any spelling."""
    e = emitter.expressions
    if not region.inside and not region.outside:
        return emitter.free_key(names)
    parts = [emitter.strings(s) for s in region.inside]
    if names or not parts:
        parts.append(emitter.free_key(names))
    parts += [e.complement(emitter.strings(s, wide=True)) for s in region.outside]
    return e.intersect(parts)
