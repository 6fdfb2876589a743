"""The keywords of JSON Schema that look at one value and at nothing inside it.

Each is a function of the keyword's value and the instance that returns None where the instance is
right, else what was expected and what is there (None: the instance itself). They are correct where
the ``jsonschema`` package is not: numbers are exact (0.3 is a multiple of 0.1, 10^400 compares with
1e400 at no cost), equality is that of JSON below the surface, too, patterns are ECMA-262.

Both ways to validate use them: the reporting one (:mod:`gramlock.tools.keywords`) and the quick one
(:mod:`gramlock.tools.quick`).

Thread-safe: functions of their arguments. Cost: linear in the instance, ``uniqueItems`` too.

Tested by tests/test_tools_validate.py and test_tools_validate_fuzz.py.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from decimal import Decimal
from typing import Any

from .canonical import canonical, equality_key, exact
from .patterns import format_matcher, matcher
from .violation import QUOTED, quote, type_name

__all__ = ["LEAVES", "TYPES", "Leaf", "Listed", "is_number", "shown", "shown_list"]

#: Of a keyword's value and an instance: what was expected, and what is there instead.
Leaf = Callable[[Any, Any], "tuple[str, str | None] | None"]

_LISTED = 200  # characters that a list of choices takes in a message


def is_number(value: Any) -> bool:
    """Whether a value is a JSON number; ``true`` is none."""
    return isinstance(value, int | float | Decimal) and not isinstance(value, bool)


def _is_integer(value: Any) -> bool:
    """Validation, 6.1.1: any number with a zero fractional part."""
    if isinstance(value, int):
        return not isinstance(value, bool)
    if isinstance(value, float):
        return value.is_integer()
    return isinstance(value, Decimal) and value == value.to_integral_value()


TYPES: dict[str, Callable[[Any], bool]] = {
    "null": lambda value: value is None,
    "boolean": lambda value: isinstance(value, bool),
    "integer": _is_integer,
    "number": is_number,
    "string": lambda value: isinstance(value, str),
    "array": lambda value: isinstance(value, list),
    "object": lambda value: isinstance(value, dict),
}


class Listed(list[Any]):
    """The value of ``enum``, with what its members are found by."""

    __slots__ = ("keys",)

    def __init__(self, values: Iterable[Any]) -> None:
        super().__init__(values)
        self.keys = frozenset(equality_key(value) for value in self)


def shown(value: Any) -> str:
    """A value of the schema, for a message: as JSON if that is short."""
    text = quote(value)
    if text is None:
        data = canonical(value)
        text = data.decode("utf-8", "replace") if len(data) <= QUOTED else type_name(value)
    return text


def shown_list(values: Iterable[str], joint: str = ", ") -> str:
    """Some of a list's texts, and how many more there are."""
    texts = list(values)
    kept: list[str] = []
    length = 0
    for text in texts:
        length += len(text) + 2
        if kept and length > _LISTED:
            return f"{', '.join(kept)} and {len(texts) - len(kept)} more"
        kept.append(text)
    return ", ".join(kept[:-1]) + joint + kept[-1] if len(kept) > 1 else "".join(kept)


def _type(types: Any, value: Any) -> tuple[str, str | None] | None:
    names = (types,) if isinstance(types, str) else types
    for name in names:
        if TYPES[name](value):
            return None
    return " or ".join(names), type_name(value)


def _enum(values: list[Any], value: Any) -> tuple[str, str | None] | None:
    keys = values.keys if isinstance(values, Listed) else Listed(values).keys
    if equality_key(value) in keys:
        return None
    texts = [shown(choice) for choice in values]
    return (shown_list(texts) if len(texts) == 1 else f"one of {shown_list(texts)}"), None


def _const(constant: Any, value: Any) -> tuple[str, str | None] | None:
    if equality_key(constant) == equality_key(value):
        return None
    return shown(constant), None


def _minimum(bound: Any, value: Any) -> tuple[str, str | None] | None:
    if not is_number(value) or exact(value) >= exact(bound):
        return None
    return f"at least {shown(bound)}", None


def _maximum(bound: Any, value: Any) -> tuple[str, str | None] | None:
    if not is_number(value) or exact(value) <= exact(bound):
        return None
    return f"at most {shown(bound)}", None


def _exclusive_minimum(bound: Any, value: Any) -> tuple[str, str | None] | None:
    if not is_number(value) or exact(value) > exact(bound):
        return None
    return f"more than {shown(bound)}", None


def _exclusive_maximum(bound: Any, value: Any) -> tuple[str, str | None] | None:
    if not is_number(value) or exact(value) < exact(bound):
        return None
    return f"less than {shown(bound)}", None


def _multiple_of(divisor: Any, value: Any) -> tuple[str, str | None] | None:
    if not is_number(value) or _is_multiple(exact(value), exact(divisor)):
        return None
    return f"a multiple of {shown(divisor)}", None


def _is_multiple(value: int | Decimal, divisor: int | Decimal) -> bool:
    """Whether value / divisor is whole, whatever the exponents (validation, 6.2.1)."""
    if isinstance(value, int) and isinstance(divisor, int):
        return value % divisor == 0
    top, top_power = _scaled(value)
    bottom, bottom_power = _scaled(divisor)
    if top == 0:
        return True
    power = top_power - bottom_power
    if power >= 0:
        return top * pow(10, power, bottom) % bottom == 0
    # A number of d digits is no multiple of 10^d or more.
    if -power > top.bit_length() * 0.302 + 1:
        return False
    whole: bool = top % (bottom * 10 ** abs(power)) == 0
    return whole


def _scaled(number: int | Decimal) -> tuple[int, int]:
    """A number as a whole one times a power of ten, without its sign."""
    if isinstance(number, int):
        return abs(number), 0
    _, digits, power = number.as_tuple()
    assert isinstance(power, int)
    # int() of digits has a limit that int() of a Decimal has not
    return int(Decimal((0, digits, 0))), power


def _min_length(least: Any, value: Any) -> tuple[str, str | None] | None:
    if not isinstance(value, str) or len(value) >= least:
        return None
    return f"at least {_count(least, 'character')}", _count(len(value), "character")


def _max_length(most: Any, value: Any) -> tuple[str, str | None] | None:
    if not isinstance(value, str) or len(value) <= most:
        return None
    return f"at most {_count(most, 'character')}", _count(len(value), "character")


def _pattern(pattern: str, value: Any) -> tuple[str, str | None] | None:
    if not isinstance(value, str):
        return None
    verdict = matcher(pattern)(value)
    if verdict:
        return None
    text = f"text that matches {pattern:.150}"
    if verdict is None:
        return f"{text}, and that is short enough to check", _count(len(value), "character")
    return text, None


def _format(name: Any, value: Any) -> tuple[str, str | None] | None:
    if not isinstance(value, str) or not isinstance(name, str):
        return None
    search = format_matcher(name)
    verdict = True if search is None else search(value)
    if verdict:
        return None
    if verdict is None:
        expected = f"{name}, and a text that is short enough to check"
        return expected, _count(len(value), "character")
    return _FORMAT_HINTS.get(name, name), None


_FORMAT_HINTS = {
    "date": "date (2024-02-29)",
    "date-time": "date-time with offset (2024-02-29T12:00:00Z)",
    "time": "time with offset (12:00:00Z)",
    "duration": "duration (P1DT2H)",
}


def _min_items(least: Any, value: Any) -> tuple[str, str | None] | None:
    if not isinstance(value, list) or len(value) >= least:
        return None
    return f"at least {_count(least, 'item')}", _count(len(value), "item")


def _max_items(most: Any, value: Any) -> tuple[str, str | None] | None:
    if not isinstance(value, list) or len(value) <= most:
        return None
    return f"at most {_count(most, 'item')}", _count(len(value), "item")


def _unique_items(wanted: Any, value: Any) -> tuple[str, str | None] | None:
    if not wanted or not isinstance(value, list):
        return None
    seen: dict[Any, int] = {}
    for index, item in enumerate(value):
        first = seen.setdefault(equality_key(item), index)
        if first != index:
            return "items that all differ", f"equal items {first} and {index}"
    return None


def _min_properties(least: Any, value: Any) -> tuple[str, str | None] | None:
    if not isinstance(value, dict) or len(value) >= least:
        return None
    return f"at least {_count(least, 'member')}", _count(len(value), "member")


def _max_properties(most: Any, value: Any) -> tuple[str, str | None] | None:
    if not isinstance(value, dict) or len(value) <= most:
        return None
    return f"at most {_count(most, 'member')}", _count(len(value), "member")


def _count(number: Any, what: str) -> str:
    return f"{shown(number)} {what}" + ("" if number == 1 else "s")


LEAVES: dict[str, Leaf] = {
    "type": _type,
    "enum": _enum,
    "const": _const,
    "minimum": _minimum,
    "maximum": _maximum,
    "exclusiveMinimum": _exclusive_minimum,
    "exclusiveMaximum": _exclusive_maximum,
    "multipleOf": _multiple_of,
    "minLength": _min_length,
    "maxLength": _max_length,
    "pattern": _pattern,
    "format": _format,
    "minItems": _min_items,
    "maxItems": _max_items,
    "uniqueItems": _unique_items,
    "minProperties": _min_properties,
    "maxProperties": _max_properties,
}
"""The keywords by name, as 2020-12 has them."""
