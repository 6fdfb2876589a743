"""Where in a JSON value something stands: pointers (RFC 6901) and paths a reader can follow.

A place is a tuple of tokens: names (str) and indexes (int). It is written in two ways::

    ("line_items", 0, "sku")    /line_items/0/sku    $.line_items[0].sku

A path tells names from indexes and a pointer does not, so that reading a pointer as a place needs
the value it points into (:func:`locate`). Paths are written as the normalized paths of RFC 9535
(2.7), with the shorthand ``.name`` (2.5.1) where a name allows it.

Thread-safe: functions of their arguments. Cost: linear in the text.

Tested by tests/test_tools_canonical.py.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from ..errors import PointerError

__all__ = [
    "Place",
    "find",
    "from_path",
    "from_pointer",
    "locate",
    "resolve",
    "to_path",
    "to_pointer",
]

#: A name for each object entered, an index for each array.
Place = tuple["str | int", ...]

# RFC 9535, 2.5.1: member-name-shorthand. RFC 6901, 4: array-index.
_SHORTHAND = re.compile("[A-Za-z_\u0080-\U0010ffff][0-9A-Za-z_\u0080-\U0010ffff]*")
_UNPRINTED = re.compile("[\u0080-\u009f\u2028\u2029\ud800-\udfff]")
_INDEX = re.compile("0|[1-9][0-9]*")
_BAD_TILDE = re.compile("~(?![01])")
_LONGEST_INDEX = 18

_STEP = re.compile(
    r"\.(?P<name>[A-Za-z_\u0080-\U0010ffff][0-9A-Za-z_\u0080-\U0010ffff]*)"
    r"|\[(?P<index>0|[1-9][0-9]{0,17})\]"
    r"|\['(?P<quoted>(?:[^'\\]|\\.)*)'\]",
    re.DOTALL,
)
_ESCAPED = re.compile(r"\\(?:u([0-9a-fA-F]{4})|(.))", re.DOTALL)
_SHORT = {"\b": "\\b", "\t": "\\t", "\n": "\\n", "\f": "\\f", "\r": "\\r", "'": "\\'", "\\": "\\\\"}
_MEANT = {text[1]: sign for sign, text in _SHORT.items()} | {'"': '"', "/": "/"}
_QUOTE = re.compile("[\\x00-\\x1f'\\\\\u007f-\u009f\u2028\u2029\ud800-\udfff]")


def to_pointer(place: Iterable[str | int]) -> str:
    """The pointer to a place: ``("a/b", 0)`` is ``/a~1b/0``; the whole value is ``""``."""
    return "".join(
        f"/{token}" if isinstance(token, int) else "/" + token.replace("~", "~0").replace("/", "~1")
        for token in place
    )


def from_pointer(pointer: str) -> tuple[str, ...]:
    """The tokens of a pointer, indexes as they are written.

    Raises:
        PointerError: It neither is empty nor begins with ``/``, or has a ``~`` before something
            else than 0 or 1 (RFC 6901, 3).
    """
    if not pointer:
        return ()
    if not pointer.startswith("/"):
        raise PointerError(pointer, "a pointer is empty or begins with a slash")
    if _BAD_TILDE.search(pointer):
        raise PointerError(pointer, "after ~ stands 0 or 1")
    return tuple(token.replace("~1", "/").replace("~0", "~") for token in pointer[1:].split("/"))


def locate(value: Any, pointer: str) -> tuple[Place, Any]:
    """The place that a pointer means in *value*, and what stands there.

    Raises:
        PointerError: It is no pointer, or nothing stands there; ``-`` (the place after the last
            item) is nothing, too.
    """
    place: list[str | int] = []
    for token in from_pointer(pointer):
        if isinstance(value, dict):
            if token not in value:
                raise PointerError(pointer, f"{to_path(place)} has no member of that name")
            place.append(token)
            value = value[token]
        elif isinstance(value, list):
            index = int(token) if _is_index(token) else len(value)
            if index >= len(value):
                raise PointerError(pointer, f"{to_path(place)} has no item of that index")
            place.append(index)
            value = value[index]
        else:
            raise PointerError(pointer, f"{to_path(place)} is neither object nor array")
    return tuple(place), value


def resolve(value: Any, pointer: str) -> Any:
    """What stands at a pointer in *value*.

    Raises:
        PointerError: As :func:`locate`.
    """
    return locate(value, pointer)[1]


def _is_index(token: str) -> bool:
    return len(token) <= _LONGEST_INDEX and _INDEX.fullmatch(token) is not None


def to_path(place: Iterable[str | int]) -> str:
    """The path to a place: ``$.line_items[0].sku``, ``$['two words']``; one printable line."""
    found = ["$"]
    for token in place:
        if isinstance(token, int):
            found.append(f"[{token}]")
        elif _SHORTHAND.fullmatch(token) and not _UNPRINTED.search(token):
            found.append(f".{token}")
        else:
            found.append(f"['{_QUOTE.sub(_escape, token)}']")
    return "".join(found)


def _escape(match: re.Match[str]) -> str:
    return _SHORT.get(match[0]) or f"\\u{ord(match[0]):04x}"


def from_path(path: str) -> Place:
    """The place that a path means: what :func:`to_path` writes, read back.

    Raises:
        PointerError: It does not begin with ``$``, or goes on with something else than
            ``.name``, ``[0]`` or ``['name']``.
    """
    if not path.startswith("$"):
        raise PointerError(path, "a path begins with $")
    place: list[str | int] = []
    at = 1
    while at < len(path):
        step = _STEP.match(path, at)
        if step is None:
            raise PointerError(path, f"character {at}: expected .name, [0] or ['name']")
        if step["index"] is not None:
            place.append(int(step["index"]))
        elif step["name"] is not None:
            place.append(step["name"])
        else:
            place.append(_unquoted(path, step["quoted"]))
        at = step.end()
    return tuple(place)


def find(value: Any, path: str) -> list[tuple[Place, Any]]:
    """The places of *value* that a path means, ``[*]`` standing for each item; with what is there.

    Where a member or item is absent, or something else than an object or array, nothing is found.

    Raises:
        PointerError: As :func:`from_path`.
    """
    first, *rest = path.split("[*]")  # in a quoted name it cannot stand
    found: list[tuple[Place, Any]] = _at([((), value)], from_path(first))
    for part in rest:
        items = [
            ((*place, index), item)
            for place, array in found
            if isinstance(array, list)
            for index, item in enumerate(array)
        ]
        found = _at(items, from_path("$" + part))
    return found


def _at(found: list[tuple[Place, Any]], place: Place) -> list[tuple[Place, Any]]:
    for token in place:
        found = [((*before, token), value[token]) for before, value in found if has(value, token)]
    return found


def has(value: Any, token: str | int) -> bool:
    """Whether a value has a member of that name, or an item of that index."""
    if isinstance(value, dict):
        return isinstance(token, str) and token in value
    return isinstance(value, list) and isinstance(token, int) and token < len(value)


def _unquoted(path: str, text: str) -> str:
    def meant(match: re.Match[str]) -> str:
        if match[1] is not None:
            return chr(int(match[1], 16))
        if match[2] not in _MEANT:
            raise PointerError(path, f"no such escape: \\{match[2]}")
        return _MEANT[match[2]]

    return _ESCAPED.sub(meant, text)
