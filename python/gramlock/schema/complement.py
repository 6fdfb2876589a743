"""Complements of value sets, type by type.

The complement of a union is the intersection of the complements, so each alternative has its own
list of alternatives here, and the lists are joined: those of objects as clauses, which never
multiply (:mod:`.objects`), the others in pairs, which mostly exclude each other.

Everything has a complement but two sets, for which :class:`~.nodes.InexpressibleError` is raised
and the schema is refused by place: strings of a format of which only a part is enforced (of a set
that is too large the complement would be too small), and arrays whose items all differ.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from . import arrays, numbers, objects
from .nodes import InexpressibleError, Node, Shape
from .objects import OBJECTS, ObjectSet
from .strings import StringSet

if TYPE_CHECKING:
    from .algebra import Algebra

__all__ = ["of_shape", "of_strings"]


def of_shape(shape: Shape, source: Node, algebra: Algebra) -> Shape:
    """The values that are not in *shape*; *source* is the node that asks for them.

    Raises:
        InexpressibleError: A part of it has no complement.
    """
    from .algebra import ALL_FLAGS, FULL

    flags, f = ALL_FLAGS ^ shape.flags, FULL
    rest = Shape(flags, f.numbers, f.strings, f.arrays, f.objects)
    for number in shape.numbers:
        outside = tuple(numbers.complement(number))
        rest = algebra.intersect(rest, Shape(flags, outside, f.strings, f.arrays, f.objects))
    for string in shape.strings:
        others = tuple(of_strings(string))
        rest = algebra.intersect(rest, Shape(flags, f.numbers, others, f.arrays, f.objects))
    for array in shape.arrays:
        lists = tuple(arrays.complement(array, algebra, source))
        rest = algebra.intersect(rest, Shape(flags, f.numbers, f.strings, lists, f.objects))
    left: ObjectSet | None = OBJECTS
    for item in shape.objects:
        left = left and objects.constrain(left, objects.complement(item, source, algebra), algebra)
    rest.objects = () if left is None else (left,)
    return rest


def of_strings(strings: StringSet) -> list[StringSet]:
    """All strings that are not in the set.

    Raises:
        InexpressibleError: It is larger than its formats say.
    """
    if strings.values is not None:
        return [StringSet(without=(strings,))]
    missing = strings.without_superset()
    if missing is not None:
        raise InexpressibleError(f"strings that are no {missing}")
    found = list(strings.without)
    if strings.min_length:
        found.append(StringSet(max_length=strings.min_length - 1))
    if strings.max_length is not None:
        found.append(StringSet(min_length=strings.max_length + 1))
    if strings.patterns or strings.formats:
        bare = replace(strings, min_length=0, max_length=None, without=())
        found.append(StringSet(without=(bare,)))
    return found
