"""What a correction changed, which of it an error had named, and whether marked facts still stand.

A model that is told "amount_cents: expected integer" may correct the amount, and another order with
it. Both calls are valid; one of them is about something else. So each correction is compared with
the call that it corrects, field by field, and what no error had named is *collateral*::

    error                                    names
    type, enum, minimum, ... at /a/b         the value /a/b, as it stands
    required, additionalProperties, ...      the listed member
    minItems, minProperties, contains        items or members that are added there
    maxItems, maxProperties, uniqueItems     those that are removed there; of equal items each
    an unknown or unreadable name            the tool's name
    arguments that could not be read         all of them: there is nothing to compare

An error about an object or array never names what is inside: that ``/items/0/qty`` is wrong says
nothing of ``/items/1``. Arrays are compared after their equal items are laid beside each other, so
that removing the first item is one difference.

Facts that the caller marks are compared by meaning: a number is its numeral (5000, 5e3 and "5000"
are one), any other text is compared character by character.

Immutable values, functions of their arguments; thread-safe. Cost: linear in the values, but for the
alignment of arrays of at most 100 items. Tested by tests/test_tools_changes.py.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from difflib import SequenceMatcher
from typing import Any, Literal

from ..errors import JsonTextError, NotJsonError, PointerError
from .canonical import equality_key
from .json_text import loads
from .pointer import from_pointer, locate, to_pointer
from .violation import Violation

__all__ = ["NAME", "Changes", "Difference", "Facts", "changes_of", "differences", "same_meaning"]

#: How the tool's name is written among pointers, which are empty or begin with a slash.
NAME = "name"

_ADDING = frozenset(("minItems", "minProperties", "contains", "minContains"))
_REMOVING = frozenset(("maxItems", "maxProperties", "uniqueItems", "maxContains"))
_ALIGNED = 100
_LONGEST_NUMERAL = 5000

Kind = Literal["added", "removed", "replaced"]


@dataclass(frozen=True)
class Difference:
    """One field in which two values differ.

    Attributes:
        pointer: Where: of what was added in the later value, of anything else in the earlier one.
            A member or item that is added, removed, or becomes something of another kind is one
            difference, whatever is in it.
        kind: What became of it.
    """

    pointer: str
    kind: Kind


@dataclass(frozen=True)
class Changes:
    """What one correction changed. Fields are JSON pointers into the arguments, or ``"name"``.

    Attributes:
        changed: All fields that differ, in order.
        named: Those of them that an error had named.
        collateral: The rest.
    """

    changed: tuple[str, ...] = ()
    named: tuple[str, ...] = ()
    collateral: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.changed)


# ---- differences


def differences(before: Any, after: Any) -> list[Difference]:
    """The fields in which two JSON values differ, in the order of the earlier one.

    Values are equal as JSON Schema compares them (1 and 1.0 are one number, ``true`` is none).

    Raises:
        NotJsonError: One of them is no JSON value.
        RecursionError: They nest deeper than the stack that is left.

    >>> differences({"a": 1, "b": [1, 2, 3]}, {"a": 1.0, "b": [2, 3], "c": {}})
    [Difference(pointer='/b/0', kind='removed'), Difference(pointer='/c', kind='added')]
    """
    return list(_Comparison().between(before, after, "", ""))


class _Comparison:
    """One comparison, with a number for each value that occurs: equal values have equal numbers."""

    def __init__(self) -> None:
        self._numbers: dict[Any, int] = {}
        self._known: dict[int, int] = {}  # by id of a container, which the caller keeps alive

    def number(self, value: Any) -> int:
        """The number of a value. Each container is read once."""
        if not isinstance(value, dict | list):
            return self._of(equality_key(value))
        known = self._known.get(id(value))
        if known is None:
            if isinstance(value, dict):
                pairs = sorted((name, self.number(item)) for name, item in value.items())
                known = self._of(("{", *pairs))
            else:
                known = self._of(("[", *map(self.number, value)))
            self._known[id(value)] = known
        return known

    def _of(self, key: Any) -> int:
        return self._numbers.setdefault((type(key), key), len(self._numbers))

    def between(self, before: Any, after: Any, old: str, new: str) -> Iterator[Difference]:
        """Differences of two values that stand at *old* and *new*."""
        if self.number(before) == self.number(after):
            return
        if isinstance(before, dict) and isinstance(after, dict):
            yield from self._members(before, after, old, new)
        elif isinstance(before, list) and isinstance(after, list):
            yield from self._items(before, after, old, new)
        else:
            yield Difference(old, "replaced")

    def _members(
        self, before: dict[str, Any], after: dict[str, Any], old: str, new: str
    ) -> Iterator[Difference]:
        for name, value in before.items():
            token = to_pointer((name,))
            if name not in after:
                yield Difference(old + token, "removed")
            else:
                yield from self.between(value, after[name], old + token, new + token)
        for name in after:
            if name not in before:
                yield Difference(new + to_pointer((name,)), "added")

    def _items(
        self, before: list[Any], after: list[Any], old: str, new: str
    ) -> Iterator[Difference]:
        for first, last, start, end in self._unequal(before, after):
            shared = min(last - first, end - start)
            for at in range(shared):
                yield from self.between(
                    before[first + at],
                    after[start + at],
                    f"{old}/{first + at}",
                    f"{new}/{start + at}",
                )
            for at in range(first + shared, last):
                yield Difference(f"{old}/{at}", "removed")
            for at in range(start + shared, end):
                yield Difference(f"{new}/{at}", "added")

    def _unequal(self, before: list[Any], after: list[Any]) -> Iterator[tuple[int, int, int, int]]:
        """The stretches of both that differ, with equal items between them."""
        left, right = [self.number(item) for item in before], [self.number(item) for item in after]
        head, shorter = 0, min(len(left), len(right))
        while head < shorter and left[head] == right[head]:
            head += 1
        tail = 0
        while tail < shorter - head and left[-1 - tail] == right[-1 - tail]:
            tail += 1
        left, right = left[head : len(left) - tail], right[head : len(right) - tail]
        if len(left) == len(right) or max(len(left), len(right)) > _ALIGNED:
            yield head, head + len(left), head, head + len(right)
            return
        for kind, *places in SequenceMatcher(None, left, right, autojunk=False).get_opcodes():
            if kind != "equal":
                first, last, start, end = (head + place for place in places)
                yield first, last, start, end


# ---- what errors name


class _Named:
    """The fields of a call's arguments that its errors name."""

    def __init__(self, errors: Iterable[Violation], arguments: Any) -> None:
        self.values: set[str] = set()
        self.members: set[str] = set()
        self.adding: set[str] = set()
        self.removing: set[str] = set()
        self.tool = False
        for error in errors:
            self._read(error, arguments)

    def _read(self, error: Violation, arguments: Any) -> None:
        if error.boundary == NAME:
            self.tool = True
        elif error.property is not None:
            self.members.add(error.pointer + to_pointer((error.property,)))
        elif error.rule in _ADDING:
            self.adding.add(error.pointer)
        elif error.rule in _REMOVING:
            self.removing.add(error.pointer)
            if error.rule == "uniqueItems":
                self.values.update(_equal_items(arguments, error.pointer))
        else:
            self.values.add(error.pointer)

    def covers(self, difference: Difference) -> bool:
        pointer = difference.pointer
        if pointer in self.members:
            return True
        holder = pointer.rpartition("/")[0]
        if difference.kind == "added":
            return holder in self.adding
        return pointer in self.values or (difference.kind == "removed" and holder in self.removing)


def _equal_items(arguments: Any, pointer: str) -> Iterator[str]:
    """Pointers of the items of an array that are equal to another one."""
    try:
        array = locate(arguments, pointer)[1]
    except PointerError:
        return
    places: dict[int, list[int]] = {}
    numbers = _Comparison()
    for index, item in enumerate(array if isinstance(array, list) else ()):
        places.setdefault(numbers.number(item), []).append(index)
    for equal in places.values():
        if len(equal) > 1:
            yield from (f"{pointer}/{index}" for index in equal)


def changes_of(
    before: tuple[str | None, Any],
    after: tuple[str, Any],
    errors: Iterable[Violation],
    *,
    name_unread: bool = False,
) -> Changes:
    """What a correction changed, seen against the errors that led to it.

    Args:
        before: Name and arguments of the call that is corrected; None for a part that could not
            be read, which leaves nothing to compare it with.
        after: Name and arguments of the correction.
        errors: What was wrong with the call.
        name_unread: The refusal was about the name, though no error says so.

    Raises:
        NotJsonError: The arguments are no JSON.
        RecursionError: They nest deeper than the stack that is left.
    """
    name, arguments = before
    named = _Named(errors, arguments)
    found: dict[str, bool] = {}
    if name != after[0]:
        found[NAME] = named.tool or name_unread or name is None
    if arguments is None:
        found[""] = True
    else:
        for difference in differences(arguments, after[1]):
            covered = named.covers(difference)
            found[difference.pointer] = found.get(difference.pointer, True) and covered
    fields = sorted(found)
    return Changes(
        changed=tuple(fields),
        named=tuple(field for field in fields if found[field]),
        collateral=tuple(field for field in fields if not found[field]),
    )


# ---- facts that may not change


def same_meaning(one: Any, other: Any) -> bool:
    """Whether two JSON values say the same: a number as its numeral does, a text as it stands.

    >>> same_meaning(5000, "5e3"), same_meaning("5000", "5e3"), same_meaning(True, "true")
    (True, False, False)
    """
    if isinstance(one, str) != isinstance(other, str):
        text, number = (one, other) if isinstance(one, str) else (other, one)
        if isinstance(number, bool) or not isinstance(number, int | float | Decimal):
            return False
        read = _numeral(text)
        return read is not None and equality_key(read) == equality_key(number)
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(same_meaning(one[k], other[k]) for k in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(same_meaning, one, other))
    numbers = _Comparison()
    return numbers.number(one) == numbers.number(other)


def _numeral(text: str) -> Any:
    """The number that a text spells as JSON, nothing around it; None if it does not."""
    if len(text) > _LONGEST_NUMERAL or not text[-1:].isdigit() or text[:1].isspace():
        return None
    try:
        found = loads(text)
    except JsonTextError:
        return None
    return (
        None if isinstance(found, bool) or not isinstance(found, int | float | Decimal) else found
    )


_ABSENT = object()


class Facts:
    """Fields whose meaning a correction may not change.

    Args:
        marked: Pointers into the arguments, or ``"name"``, whose values the original call gives;
            or a mapping of them to the values that the caller vouches for.
        name: The original call's name; None if it could not be read.
        arguments: The original call's arguments; None if they could not be read.

    Raises:
        TypeError: *marked* is a single text, or something else that is no collection of pointers.
        PointerError: One of them is no JSON pointer.
        NotJsonError: A value that is vouched for is no JSON.
    """

    def __init__(
        self, marked: Iterable[str] | Mapping[str, Any], name: str | None, arguments: Any
    ) -> None:
        if isinstance(marked, str | bytes):
            raise TypeError("evidence is a collection of pointers, or maps them to values")
        self.expected: dict[str, Any] = {}
        self._unknown: set[str] = set()
        for field in marked:
            if not isinstance(field, str):
                raise TypeError(f"evidence is marked by pointers, not by {type(field).__name__}")
            if field != NAME:
                from_pointer(field)
            if isinstance(marked, Mapping):
                self.expected[field] = marked[field]
                _Comparison().number(marked[field])
            elif (name if field == NAME else arguments) is None:
                self._unknown.add(field)
            else:
                self.expected[field] = _at(field, name, arguments)

    def contradicted(self, name: str | None, arguments: Any) -> tuple[str, ...]:
        """The fields where something else stands than the fact, in order. Absence is no lie."""
        return tuple(
            sorted(
                field
                for field, fact in self.expected.items()
                for found in (_at(field, name, arguments),)
                if found is not _ABSENT and not _says(found, fact)
            )
        )

    def broken(
        self, before: tuple[str | None, Any], after: tuple[str | None, Any]
    ) -> tuple[str, ...]:
        """The fields that a correction may not have: contradicted, or removed, or not known."""
        lost = {
            field
            for field in self.expected
            if _at(field, *after) is _ABSENT and _at(field, *before) is not _ABSENT
        }
        return tuple(sorted(lost | self._unknown | set(self.contradicted(*after))))


def _at(field: str, name: str | None, arguments: Any) -> Any:
    if field == NAME:
        return _ABSENT if name is None else name
    if arguments is None:
        return _ABSENT
    try:
        return locate(arguments, field)[1]
    except PointerError:
        return _ABSENT


def _says(found: Any, fact: Any) -> bool:
    if fact is _ABSENT:
        return False
    try:
        return same_meaning(found, fact)
    except NotJsonError:
        return False
