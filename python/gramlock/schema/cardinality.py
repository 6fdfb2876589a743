"""How many values a set has: listed where they are few, known to be endless where that shows.

Both questions are asked about ``uniqueItems``: items of which there are only a few values run out,
and whether two items are equal can be said value by value. Both answers err on the safe side: None
where a set is not plainly small, False where it is not plainly endless.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from .numbers import exact

if TYPE_CHECKING:
    from .algebra import Algebra
    from .arrays import ArraySet
    from .nodes import Node
    from .objects import ObjectSet
    from .strings import StringSet

__all__ = ["MAX_VALUES", "has_at_least", "identity", "is_endless", "is_extensible", "values_of"]

MAX_VALUES = 64
MAX_LOOK = 6  # containers inside each other that are looked into


def identity(value: Any) -> Hashable:
    """What two decoded JSON values share if and only if they are equal (``1`` and ``1.0``)."""
    if isinstance(value, (bool, str)) or value is None:
        return type(value).__name__, value
    if isinstance(value, (int, float, Decimal, Fraction)):
        return "number", exact(value)
    if isinstance(value, dict):
        return "object", frozenset((name, identity(member)) for name, member in value.items())
    return "array", tuple(map(identity, value))


def values_of(node: Node, algebra: Algebra) -> list[Any] | None:
    """All values of *node*, if they are scalars and not many; None otherwise."""
    from .algebra import FALSE, NULL, TRUE

    if node.always:
        return None
    shape = algebra.expand(node)
    if shape.arrays or shape.objects:
        return None
    flags = ((NULL, None), (TRUE, True), (FALSE, False))
    found: list[Any] = [value for flag, value in flags if shape.flags & flag]
    for numbers in shape.numbers:
        some = numbers.listed(MAX_VALUES)
        if some is None:
            return None
        found += some
    for strings in shape.strings:
        if strings.values is None:
            return None
        found += filter(_has_spelling, strings.values)
    if len(found) > 4 * MAX_VALUES:
        return None
    return list({identity(value): value for value in found}.values())


def is_endless(node: Node, algebra: Algebra, look: int = MAX_LOOK) -> bool:
    """Whether *node* certainly has infinitely many values."""
    if node.always:
        return True
    if look == 0 or node.never or node.busy:
        return False
    shape = algebra.expand(node)
    return (
        any(not numbers.is_finite() for numbers in shape.numbers)
        or any(_is_plain(strings) for strings in shape.strings)
        or any(_endless_array(array, algebra, look - 1) for array in shape.arrays)
        or any(_endless_object(item, algebra, look - 1) for item in shape.objects)
    )


def has_at_least(node: Node, count: int, algebra: Algebra) -> bool:
    """Whether *node* certainly has *count* values, a small number."""
    if is_endless(node, algebra) or (count < 2 and _is_inhabited(node, algebra, MAX_LOOK)):
        return True
    listed = values_of(node, algebra)
    if listed is not None:
        return len(listed) >= count
    shape = algebra.expand(node)
    return any(numbers.has_at_least(count) for numbers in shape.numbers) or any(
        sum(map(_has_spelling, strings.values or ())) >= count or _is_long(strings, count)
        for strings in shape.strings
    )


def _is_long(strings: StringSet, count: int) -> bool:
    """Whether the lengths alone leave *count* strings, of 256 characters or more in use."""
    longest = strings.max_length
    return (
        longest is not None
        and 0 < longest >= strings.min_length
        and count <= 256
        and _is_plain(replace(strings, max_length=None))
    )


def is_extensible(node: Node, algebra: Algebra) -> bool:
    """Whether every unfinished text of a value certainly has infinitely many ways to go on.

    So it is of strings of any length, and of nothing that holds ``null`` or numbers: once ``n`` is
    read there is one way left, and ``-0`` is 0 whatever follows.
    """
    from .algebra import ARRAYS, OBJECTS

    if node.always or node.never:
        return False
    shape = algebra.expand(node)
    return (
        not shape.flags
        and not shape.numbers
        and all(_is_plain(strings) for strings in shape.strings)
        and all(array is ARRAYS for array in shape.arrays)
        and all(item is OBJECTS for item in shape.objects)
    )


def _is_inhabited(node: Node, algebra: Algebra, look: int) -> bool:
    """Whether *node* certainly has a value."""
    if node.always:
        return True
    if look == 0 or node.never or node.busy:
        return False
    shape = algebra.expand(node)
    if shape.flags or any(not numbers.is_empty() for numbers in shape.numbers):
        return True
    if any(_is_written(strings, algebra) for strings in shape.strings):
        return True
    return any(_inhabited_array(array, algebra, look - 1) for array in shape.arrays) or any(
        _inhabited_object(item, algebra, look - 1) for item in shape.objects
    )


def _is_plain(strings: StringSet) -> bool:
    """Whether nothing but a least length is asked for."""
    limited = strings.values is not None or strings.max_length is not None
    return not (limited or strings.patterns or strings.formats or strings.without)


def _is_written(strings: StringSet, algebra: Algebra) -> bool:
    """Whether some string is in the set that has a spelling."""
    if strings.values is None:
        return not strings.is_empty(algebra.expressions)
    return any(map(_has_spelling, strings.values))


def _has_spelling(value: str) -> bool:
    return not any("\ud800" <= character <= "\udfff" for character in value)


def _inhabited_array(array: ArraySet, algebra: Algebra, look: int) -> bool:
    if array.counts or array.unique:
        return False
    return all(_is_inhabited(node, algebra, look) for node in array.needed())


def _endless_array(array: ArraySet, algebra: Algebra, look: int) -> bool:
    if not _inhabited_array(array, algebra, look):
        return False
    if any(is_endless(node, algebra, look) for node in array.needed()):
        return True
    items = (*array.prefix, array.rest)
    return array.high is None and all(_is_inhabited(node, algebra, look) for node in items)


def _inhabited_object(item: ObjectSet, algebra: Algebra, look: int) -> bool:
    if item.conditional:
        return False
    return all(_is_inhabited(node, algebra, look) for node in item.needed())


def _endless_object(item: ObjectSet, algebra: Algebra, look: int) -> bool:
    if not _inhabited_object(item, algebra, look):
        return False
    if any(is_endless(node, algebra, look) for node, _ in item.members.values()):
        return True
    free = (region for region in item.regions if not (region.inside or region.outside))
    return any(_is_inhabited(region.node, algebra, look) for region in free)
