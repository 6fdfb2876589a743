"""Sets of objects as nodes of a grammar."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .objects import ObjectSet, Region
from .strings import free_key_expression

if TYPE_CHECKING:
    from .._core import Expressions
    from .emit import Emitter

__all__ = ["object_node"]


def object_node(emitter: Emitter, objects: ObjectSet, depth: int) -> int:
    """The objects of a set, inside *depth* containers; ``FAIL`` if there are none."""
    builder, inside = emitter.builder, emitter.inside(depth)
    members: list[tuple[int, int, bool]] = []
    for name, (node, required) in objects.members.items():
        value = emitter.value(node, inside)
        if value != builder.FAIL:
            members.append((emitter.key(name), value, required is not None))
        elif required is not None:
            emitter.algebra.report_forbidden(name, required, node)
            return builder.FAIL
    free: list[tuple[int, int]] = []
    for region in objects.regions:
        value = emitter.value(region.node, inside)
        if value != builder.FAIL:
            free.append((_free_key(emitter.expressions, region, objects), value))
    return builder.object(emitter.layout(depth).open, members, free, emitter.order)


def _free_key(e: Expressions, region: Region, objects: ObjectSet) -> int:
    """The keys of a region: none of the declared names, in any spelling."""
    names = objects.members
    if not region.inside and not region.outside:
        return free_key_expression(e, names)
    parts = [s.expression(e, True) for s in region.inside]
    if names or not parts:
        parts.append(free_key_expression(e, names))
    parts += [e.complement(s.expression(e, True)) for s in region.outside]
    return e.intersect(parts)
