"""Complements of value sets, as far as the normal form can say them.

The complement of a union is the intersection of the complements, so each part has its own list of
alternatives here, and :mod:`.algebra` pairs them off. Where the normal form has no word for the
result (numbers that are no multiple, an array with one bad item anywhere, an object with one bad
member of any name) :class:`InexpressibleError` says so, and the schema is refused by place.

Absent members, short and long arrays, wrong items at known places, other lengths, other types: all
of these are exact.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from .arrays import ArraySet
from .formats import FORMATS
from .numbers import NumberSet
from .objects import ObjectSet
from .strings import StringSet

if TYPE_CHECKING:
    from .algebra import Algebra, Node

__all__ = ["InexpressibleError", "of_array", "of_numbers", "of_object", "of_strings"]

MAX_PLACES = 64  # items of an array that are looked at one by one


class InexpressibleError(Exception):
    """The complement is no normal form; the message says which part of it."""


def of_numbers(numbers: NumberSet) -> list[NumberSet]:
    """All numbers that are not in the set."""
    if numbers.step is not None:
        raise InexpressibleError("numbers that are no integers, or no multiples")
    if numbers.lower is not None and numbers.lower == numbers.upper:
        return [NumberSet(excluded=frozenset({numbers.lower}))]
    found = [NumberSet.point(point) for point in sorted(numbers.excluded)]
    if numbers.lower is not None:
        found.append(NumberSet(upper=numbers.lower, upper_open=not numbers.lower_open))
    if numbers.upper is not None:
        found.append(NumberSet(lower=numbers.upper, lower_open=not numbers.upper_open))
    return found


def of_strings(strings: StringSet) -> list[StringSet]:
    """All strings that are not in the set."""
    if strings.values is not None:
        return [StringSet(without=(strings,))]
    for name in strings.formats:
        if FORMATS[name].gap:
            raise InexpressibleError(f"strings that are no {name}")
    found = list(strings.without)
    if strings.min_length:
        found.append(StringSet(max_length=strings.min_length - 1))
    if strings.max_length is not None:
        found.append(StringSet(min_length=strings.max_length + 1))
    if strings.patterns or strings.formats:
        bare = replace(strings, min_length=0, max_length=None, without=())
        found.append(StringSet(without=(bare,)))
    return found


def of_array(array: ArraySet, algebra: Algebra) -> list[ArraySet]:
    """All arrays that are not in the set."""
    from .algebra import ANYTHING

    found = []
    if array.low:
        found.append(ArraySet((), ANYTHING, 0, array.low - 1))
    if array.high is not None:
        found.append(ArraySet((), ANYTHING, array.high + 1, None))
    places = list(array.prefix)
    if not array.rest.always and (array.high is None or array.high > len(places)):
        if array.high is None or array.high > MAX_PLACES:
            raise InexpressibleError("arrays with a wrong item")
        places += [array.rest] * (array.high - len(places))
    for index, node in enumerate(places):
        wrong = algebra.negation(node)
        if not wrong.never:
            before = (ANYTHING,) * index
            found.append(ArraySet((*before, wrong), ANYTHING, index + 1, array.high))
    return found


def of_object(objects: ObjectSet, source: Node, algebra: Algebra) -> list[ObjectSet]:
    """All objects that are not in the set; *source* is the node whose complement is asked for."""
    from .algebra import OPEN

    if len(objects.regions) != 1 or not objects.regions[0].node.always:
        raise InexpressibleError("objects with a wrong member of any name")
    if objects.regions[0].inside or objects.regions[0].outside:
        raise InexpressibleError("objects with a member of a wrong name")
    found = []
    for name, (node, required) in objects.members.items():
        if required is not None:
            found.append(ObjectSet({name: (algebra.never, None)}, OPEN))
        wrong = algebra.negation(node)
        if not wrong.never:
            found.append(ObjectSet({name: (wrong, source)}, OPEN))
    return found
