"""How many values a set has: listed where they are few, known to be endless where that shows.

Both questions are asked about ``uniqueItems``: items of which there are only a few values run out,
and whether two items are equal can be said value by value. Both answers err on the safe side: None
where a set is not plainly small, False where it is not plainly endless.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator
from decimal import Decimal
from fractions import Fraction
from itertools import product
from typing import TYPE_CHECKING, Any

from .digits import decimal_digits
from .numbers import Exact, exact
from .strings import StringSet

if TYPE_CHECKING:
    from .algebra import Algebra
    from .arrays import ArraySet
    from .nodes import Node
    from .objects import ObjectSet

__all__ = ["MAX_VALUES", "has_at_least", "identity", "is_endless", "is_extensible", "values_of"]

MAX_VALUES = 64
MAX_TRIED = 24  # lengths, and first characters, by which strings are told apart
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


def values_of(node: Node, algebra: Algebra, look: int = MAX_LOOK) -> list[Any] | None:
    """All values of *node*, if that plainly are not many; None otherwise."""
    from .algebra import FALSE, NULL, TRUE

    if node.always or look == 0 or node.busy:
        return None
    shape = algebra.expand(node)
    if len(shape.strings) + len(shape.arrays) + len(shape.objects) > MAX_VALUES:
        return None
    flags = ((NULL, None), (TRUE, True), (FALSE, False))
    lists: list[list[Any] | None] = [[value for flag, value in flags if shape.flags & flag]]
    for numbers in shape.numbers:
        found = numbers.listed(MAX_VALUES)
        lists.append(None if found is None else [_decimal(number) for number in found])
    for strings in shape.strings:
        values = strings.values
        lists.append(None if values is None else list(filter(_has_spelling, values)))
    lists += [_arrays_of(array, algebra, look - 1) for array in shape.arrays]
    lists += [_objects_of(item, algebra, look - 1) for item in shape.objects]
    distinct: dict[Hashable, Any] = {}
    for listed in lists:
        if listed is None or len(listed) > 4 * MAX_VALUES:
            return None
        distinct.update((identity(value), value) for value in listed)
    return list(distinct.values()) if len(distinct) <= MAX_VALUES else None


def _decimal(number: Exact) -> int | Decimal:
    """A number as JSON readers give it."""
    if isinstance(number, int):
        return number
    return Decimal(("-" if number < 0 else "") + ".".join(decimal_digits(abs(number))))


def _arrays_of(array: ArraySet, algebra: Algebra, look: int) -> list[Any] | None:
    """All arrays of a set whose length is fixed."""
    if array.high is None or array.low < array.high:
        return [] if array.is_void() else None
    if array.high > MAX_VALUES:
        return None
    found = _tuples([array.item(index) for index in range(array.high)], algebra, look)
    if found is None:
        return None
    return [items for items in map(list, found) if array.contains(items, algebra)]


def _objects_of(item: ObjectSet, algebra: Algebra, look: int) -> list[Any] | None:
    """All objects of a set whose names are fixed."""
    members = item.members.items()
    if item.regions or len(members) > MAX_VALUES:
        return None
    if any(required is None and not node.never for _, (node, required) in members):
        return None
    needed = {name: node for name, (node, required) in members if required is not None}
    found = _tuples(list(needed.values()), algebra, look)
    if found is None:
        return None
    objects = [dict(zip(needed, values, strict=True)) for values in found]
    return [value for value in objects if item.contains(value, algebra)]


def _tuples(nodes: list[Node], algebra: Algebra, look: int) -> list[tuple[Any, ...]] | None:
    """The ways to take a value of each of *nodes*, if they are few."""
    lists = []
    count = 1
    for node in nodes:
        values = values_of(node, algebra, look)
        count *= len(values or ())
        if values is None or count > MAX_VALUES:
            return None
        lists.append(values)
    return list(product(*lists))


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
        _has_strings(strings, count, algebra) for strings in shape.strings
    )


def _has_strings(strings: StringSet, count: int, algebra: Algebra) -> bool:
    """Whether *count* strings of the set differ in length, or in one of their first characters."""
    if strings.values is not None:
        return sum(map(_has_spelling, strings.values)) >= count
    e = algebra.expressions
    key = ("has_strings", strings, count)
    known: bool | None = e.cache.get(key)
    if known is None:
        lengths = (StringSet(None, size, size) for size in range(MAX_TRIED))
        known = _many_meet(strings, lengths, count, algebra) or any(
            _many_meet(strings, _by_character(index), count, algebra) for index in range(MAX_TRIED)
        )
        e.cache[key] = known
    return known


def _by_character(index: int) -> Iterator[StringSet]:
    """Sets of strings, one for each letter and digit that may be the character at *index*."""
    for character in "abcdefghijklmnopqrstuvwxyz0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ":
        yield StringSet(patterns=(f"^[^]{{{index}}}{character}",))


def _many_meet(
    strings: StringSet, parts: Iterable[StringSet], count: int, algebra: Algebra
) -> bool:
    """Whether at least *count* of *parts* have strings in common with *strings*."""
    for part in parts:
        both = strings.intersect(part, algebra.expressions)
        count -= both is not None and not both.is_empty(algebra.expressions)
        if count <= 0:
            return True
    return False


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
    if array.repeats is not None or (array.unique and (array.counts or array.low > 1)):
        return False
    if array.counts and (array.high is not None or any(c.high is not None for c in array.counts)):
        return False
    counted = [algebra.both(array.rest, each.node) for each in array.counts]
    items = [array.item(index) for index in range(min(array.low, len(array.prefix) + 1))]
    if counted:
        items = [*array.prefix, array.rest, *counted]
    return all(_is_inhabited(node, algebra, look) for node in items)


def _endless_array(array: ArraySet, algebra: Algebra, look: int) -> bool:
    if array.high == 0 or not _inhabited_array(array, algebra, look):
        return False
    if array.counts or (array.high is None and not array.unique):
        items = [*array.prefix, array.rest]
        if all(_is_inhabited(node, algebra, look) for node in items):
            return True  # they may be of any length
    items = [array.item(index) for index in range(max(1, min(array.low, len(array.prefix) + 1)))]
    return any(is_endless(node, algebra, look) for node in items) and all(
        _is_inhabited(node, algebra, look) for node in items
    )


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
