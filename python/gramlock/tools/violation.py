"""One thing that is wrong with a value: where, by which rule, what was expected.

A violation is data for a program (pointer, rule, property), text for a model (:meth:`__str__`, one
line), and never more of the rejected value than a short quotation.

Immutable, so thread-safe. Cost: constant, but for the length of the path.

Tested by tests/test_tools_canonical.py.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from decimal import Decimal
from json.encoder import encode_basestring
from typing import Any

from .pointer import from_pointer, to_path

__all__ = ["QUOTED", "Violation", "describe", "quote", "type_name"]

#: The longest text, in characters, that is quoted from a value.
QUOTED = 80
_LONGEST_PATH = 160
_LONGEST_PART = 240

_DIGITS = re.compile("0|[1-9][0-9]{0,17}")


@dataclass(frozen=True)
class Violation:
    """One violated rule.

    Attributes:
        pointer: JSON pointer (RFC 6901) of the value; of the object, where the rule is about its
            members (``required``, ``additionalProperties``).
        rule: Keyword of the schema, or name of the check.
        expected: What would be right, as it completes "expected ..."; without `got`, a sentence of
            its own.
        got: What is there instead; ``""`` if there is nothing to say.
        property: The member that such a rule is about.
        path: The same place for a reader, with the member: ``$.line_items[0].sku``. Made from
            pointer and property where it is not given; digits are then read as indexes.
        description: The ``description`` that the schema gives the field, shortened.
        boundary: Which check found it: ``"schema"``, ``"domain"``, ``"permission"`` ...
    """

    pointer: str
    rule: str
    expected: str
    got: str = ""
    property: str | None = None
    path: str = ""
    description: str | None = None
    boundary: str = "schema"

    def __post_init__(self) -> None:
        if not self.path:
            tokens = from_pointer(self.pointer)
            place = [int(token) if _DIGITS.fullmatch(token) else token for token in tokens]
            if self.property is not None:
                place.append(self.property)
            object.__setattr__(self, "path", to_path(place))

    def __str__(self) -> str:
        """One line, e.g. ``$.amount_cents: expected integer, got string``."""
        if self.got:
            text = f"expected {_shortened(self.expected)}, got {_shortened(self.got)}"
        else:
            text = _shortened(self.expected) or self.rule
        path = self.path
        if len(path) > _LONGEST_PATH:
            half = _LONGEST_PATH // 2
            path = f"{path[:half]}…{path[-half:]}"
        line = f"{path}: {text}"
        return line if line.isprintable() else "".join(map(_visible, line))

    def to_dict(self) -> dict[str, str]:
        """The violation as JSON: its attributes, without those that say nothing."""
        found = {
            "path": self.path,
            "pointer": self.pointer,
            "property": self.property,
            "rule": self.rule,
            "expected": self.expected,
            "got": self.got or None,
            "description": self.description,
            "boundary": self.boundary,
        }
        return {key: value for key, value in found.items() if value is not None}


def _shortened(text: str) -> str:
    return text if len(text) <= _LONGEST_PART else text[: _LONGEST_PART - 1] + "…"


def _visible(sign: str) -> str:
    if sign.isprintable():
        return sign
    return " " if sign in "\n\t\r\xa0" else f"\\u{ord(sign):04x}"


def type_name(value: Any) -> str:
    """The JSON type of a value: ``integer`` for a whole number without fraction or exponent."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, int):
        return "integer"
    if isinstance(value, float | Decimal):
        return "number"
    if isinstance(value, str):
        return "string"
    if isinstance(value, list):
        return "array"
    if isinstance(value, dict):
        return "object"
    return f"Python {type(value).__name__}"


def quote(value: Any) -> str | None:
    """A scalar as JSON, if that is at most :data:`QUOTED` characters; else None."""
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, str):
        text = encode_basestring(value) if len(value) <= QUOTED else ""
    elif isinstance(value, int):
        text = int.__repr__(value) if value.bit_length() <= 4 * QUOTED else ""
    elif isinstance(value, float):
        text = float.__repr__(value)
    elif isinstance(value, Decimal):
        text = str(value)
    else:
        return None
    return text if 0 < len(text) <= QUOTED + 2 else None


def describe(value: Any, *, secret: bool = False) -> str:
    """What a message says a value is: a short scalar itself, else its type and size.

    Args:
        secret: Never quote it, nor tell its size.
    """
    kind = type_name(value)
    if secret:
        return f"{kind} (not shown)"
    text = quote(value)
    if text is not None:
        return text
    if isinstance(value, str):
        return f"string of {len(value)} characters"
    if isinstance(value, list):
        return f"array of {len(value)} items"
    if isinstance(value, dict):
        return f"object of {len(value)} members"
    return f"{kind} of many digits" if kind in ("integer", "number") else kind
