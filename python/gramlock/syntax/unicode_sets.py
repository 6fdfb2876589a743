"""Unicode properties and simple case folding, as ECMA-262 names and uses them.

The tables (``unicode_tables.py``) are unpacked on first use, a set when it is first asked for.
Tested by test_regex.py.
"""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Iterator
from functools import lru_cache

from gramlock.syntax.charclass import (
    ALL,
    Ranges,
    complement,
    contains,
    intersection,
    normalise,
    union,
)

__all__ = ["close_over_case", "fold", "folded", "is_caseless", "property_set"]

_GROUPS = {
    "LC": ("Lu", "Ll", "Lt"),
    "L": ("Lu", "Ll", "Lt", "Lm", "Lo"),
    "M": ("Mn", "Mc", "Me"),
    "N": ("Nd", "Nl", "No"),
    "P": ("Pc", "Pd", "Ps", "Pe", "Pi", "Pf", "Po"),
    "S": ("Sm", "Sc", "Sk", "So"),
    "Z": ("Zs", "Zl", "Zp"),
    "C": ("Cc", "Cf", "Cs", "Co", "Cn"),
}


class _Tables:
    """The unpacked file: where each set lies, other names, and the bytes."""

    def __init__(self) -> None:
        from gramlock.syntax.unicode_tables import PACKED

        data = zlib.decompress(base64.b85decode(PACKED))
        size = int.from_bytes(data[:4], "big")
        head = json.loads(data[4 : 4 + size])
        self.index: dict[str, tuple[int, int]] = {k: (v[0], v[1]) for k, v in head["index"].items()}
        self.aliases: dict[str, dict[str, str]] = head["aliases"]
        self.body = data[4 + size :]

    def numbers(self, name: str) -> Iterator[int]:
        """Yield the LEB128 numbers of one table."""
        start, length = self.index[name]
        number = shift = 0
        for byte in self.body[start : start + length]:
            number |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                yield number
                number = shift = 0


@lru_cache(maxsize=1)
def _tables() -> _Tables:
    return _Tables()


@lru_cache(maxsize=256)
def _set(name: str) -> Ranges:
    """Unpack one set of code points."""
    out: list[tuple[int, int]] = []
    position = 0
    numbers = _tables().numbers(name)
    for gap in numbers:
        low = position + gap
        position = low + next(numbers) + 1
        out.append((low, position - 1))
    return tuple(out)


@lru_cache(maxsize=64)
def _category(short: str) -> Ranges:
    """Return a general category by its short name; Cn is what no other one holds."""
    if short in _GROUPS:
        return union(*(_category(part) for part in _GROUPS[short]))
    if short == "Cn":
        held = [_set(name) for name in _tables().index if name.startswith("gc=")]
        return complement(union(*held))
    return _set(f"gc={short}")


def _script(value: str, extensions: bool) -> Ranges | None:
    short = _tables().aliases["sc"].get(value)
    if short is None:
        return None
    if extensions and f"scx={short}" in _tables().index:
        return _set(f"scx={short}")
    return _set(f"sc={short}")


def property_set(name: str, value: str | None) -> Ranges | None:
    """Return the code points of ``\\p{name=value}``, or of ``\\p{name}`` when *value* is None.

    Names are matched exactly, as ECMA-262 asks. None if there is no such property or value.
    """
    aliases = _tables().aliases
    if value is not None:
        if name in ("General_Category", "gc"):
            return _category(aliases["gc"][value]) if value in aliases["gc"] else None
        if name in ("Script", "sc"):
            return _script(value, extensions=False)
        if name in ("Script_Extensions", "scx"):
            return _script(value, extensions=True)
        return None
    if name in aliases["gc"]:
        return _category(aliases["gc"][name])
    if name in aliases["bp"]:
        return _set(f"bp={aliases['bp'][name]}")
    if name == "Any":
        return ALL
    if name == "ASCII":
        return ((0, 0x7F),)
    if name == "Assigned":
        return complement(_category("Cn"))
    return None


class _Folding:
    """Simple case folding in both directions."""

    def __init__(self) -> None:
        self.target: dict[int, int] = {}
        self.sources: dict[int, list[int]] = {}
        code = 0
        numbers = _tables().numbers("fold")
        for gap in numbers:
            code += gap
            zigzag = next(numbers)
            target = code + (zigzag // 2 if zigzag % 2 == 0 else -(zigzag + 1) // 2)
            self.target[code] = target
            self.sources.setdefault(target, []).append(code)
        self.changed = normalise((code, code) for code in self.target)
        self.reached = normalise((code, code) for code in self.sources)


@lru_cache(maxsize=1)
def _folding() -> _Folding:
    return _Folding()


def _codes(members: Ranges) -> Iterator[int]:
    for low, high in members:
        yield from range(low, high + 1)


def fold(code: int) -> int:
    """Return the simple case folding of one code point (ECMA-262 Canonicalize)."""
    return _folding().target.get(code, code)


def folded(members: Ranges) -> Ranges:
    """Return the foldings of a set's members."""
    table = _folding()
    moved = intersection(members, table.changed)
    if not moved:
        return members
    kept = intersection(members, complement(table.changed))
    return union(kept, normalise((table.target[c], table.target[c]) for c in _codes(moved)))


def close_over_case(members: Ranges) -> Ranges:
    """Return every code point whose folding is that of a member."""
    table = _folding()
    base = folded(members)
    grown = [
        (code, code)
        for target in _codes(intersection(base, table.reached))
        for code in table.sources[target]
    ]
    return union(base, normalise(grown)) if grown else base


def is_caseless(code: int) -> bool:
    """Tell whether no other code point has the same folding."""
    table = _folding()
    return not contains(table.changed, code) and not contains(table.reached, code)
