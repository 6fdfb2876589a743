"""One text for each JSON value, so that equal values have equal digests and no others do.

Equality is that of JSON Schema (core, 4.2.2): members in any order; numbers by their exact value,
so 1, 1.0 and 1e0 are one and 2^53 and 2^53+1 are two; ``true`` is no number. Texts are equal
character by character: nothing is normalised, since two spellings of "é" are two names.

RFC 8785 is not it: numbers pass through doubles there, and integers beyond 2^53 are refused.

::

    number  = [-] digits | [-] digits . digits    where that takes at most 40 digits
            | [-] digits e [-] digits             else, with digits that do not end in 0
    string  = JSON, escaped as little as RFC 8259 (7) allows; members in order of code points

A float stands for the shortest decimal that is read as it (``0.1`` is a tenth). Exponents never
expand: ``1e400`` stays four digits long, and so does 10^400.

Thread-safe: functions of their arguments. Cost: linear in the value, for integers of thousands of
digits quadratic in these; no recursion.

Tested by tests/test_tools_canonical.py.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from decimal import Decimal
from json.encoder import encode_basestring
from typing import Any

from ..errors import NotJsonError
from .pointer import to_path

__all__ = ["MAX_DEPTH", "canonical", "digest", "equality_key", "exact"]

#: How deep a value may nest; also ends values that hold themselves.
MAX_DEPTH = 1000
_END = object()
_PLAIN_DIGITS = 40
_PLAIN_INTEGER = 10**_PLAIN_DIGITS


def exact(number: int | float | Decimal) -> int | Decimal:
    """A number by its exact value, for comparisons: a float as the decimal that it is written as.

    Raises:
        NotJsonError: It is NaN or infinite.
    """
    if isinstance(number, int):
        return number
    if isinstance(number, float):
        if number.is_integer() and -9e15 < number < 9e15:
            return int(number)
        number = Decimal(float.__repr__(number))
    if not number.is_finite():
        raise NotJsonError("$", "NaN and infinities are no JSON values")
    return number


def _number(value: int | float | Decimal) -> str:
    value = exact(value)
    if isinstance(value, int) and -_PLAIN_INTEGER < value < _PLAIN_INTEGER:
        return int.__repr__(value)
    # str() of a Decimal has no limit on digits, and writes an exponent where it would expand.
    mantissa, _, power = str(Decimal(value)).upper().partition("E")
    sign, mantissa = ("-", mantissa[1:]) if mantissa.startswith("-") else ("", mantissa)
    whole, _, fraction = mantissa.partition(".")
    exponent = int(power or 0) - len(fraction)
    every = (whole + fraction).lstrip("0")
    digits = every.rstrip("0")
    if not digits:
        return "0"
    exponent += len(every) - len(digits)
    if 0 <= exponent <= _PLAIN_DIGITS - len(digits):
        return sign + digits + "0" * exponent
    if exponent < 0 and max(len(digits), 1 - exponent) <= _PLAIN_DIGITS:
        digits = digits.rjust(1 - exponent, "0")
        return f"{sign}{digits[:exponent]}.{digits[exponent:]}"
    return f"{sign}{digits}e{exponent}"


def _scalar(value: Any, place: list[str | int]) -> str:
    if isinstance(value, str):
        return encode_basestring(value)
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float | Decimal):
        try:
            return _number(value)
        except NotJsonError as error:
            raise NotJsonError(to_path(place), error.reason) from None
    raise NotJsonError(to_path(place), f"{type(value).__name__} is no JSON value")


def _members(value: dict[Any, Any], place: list[str | int]) -> Iterator[tuple[str, Any]]:
    for name in value:
        if not isinstance(name, str):
            raise NotJsonError(to_path(place), f"a member has the name {name!r:.80}, no string")
    return iter([(name, value[name]) for name in sorted(value)])


def canonical(value: Any) -> bytes:
    """The canonical text of a JSON value, in UTF-8.

    Args:
        value: dict with str keys, list, str, bool, int, float, Decimal, None.

    Raises:
        NotJsonError: Something else is in it, or it nests deeper than :data:`MAX_DEPTH`.
    """
    if not isinstance(value, dict | list):
        return _scalar(value, []).encode("utf-8", "surrogatepass")
    found: list[str] = []
    place: list[str | int] = []  # of the value that is written next
    stack: list[tuple[Iterator[Any], bool]] = []  # open containers, and whether they are objects

    def enter(container: Any) -> None:
        if len(stack) == MAX_DEPTH:
            raise NotJsonError(to_path(place[:20]) + "…", f"it nests deeper than {MAX_DEPTH}")
        named = isinstance(container, dict)
        stack.append((_members(container, place) if named else iter(container), named))
        place.append("" if named else -1)
        found.append("{" if named else "[")

    enter(value)
    while stack:
        items, named = stack[-1]
        item: Any = next(items, _END)
        if item is _END:
            stack.pop()
            place.pop()
            found.append("}" if named else "]")
            continue
        if found[-1] not in ("{", "["):
            found.append(",")
        if named:
            name, item = item
            place[-1] = name
            found.append(encode_basestring(name) + ":")
        else:
            place[-1] += 1  # type: ignore[operator]
        if isinstance(item, dict | list):
            enter(item)
        else:
            found.append(_scalar(item, place))
    return "".join(found).encode("utf-8", "surrogatepass")


def digest(value: Any) -> str:
    """SHA-256 of the canonical text, in hexadecimal digits.

    Raises:
        NotJsonError: As :func:`canonical`.
    """
    return hashlib.sha256(canonical(value)).hexdigest()


def equality_key(value: Any) -> Any:
    """Something hashable that is equal for equal JSON values, and for no others.

    Raises:
        NotJsonError: As :func:`canonical`.
    """
    if isinstance(value, str):
        return value
    if isinstance(value, bool) or value is None:
        return (value,)
    if isinstance(value, int) and -_PLAIN_INTEGER < value < _PLAIN_INTEGER:
        return value
    if isinstance(value, int | float | Decimal):
        text = _scalar(value, [])
        return int(text) if text.lstrip("-").isdigit() else (text,)
    # Containers of scalars are common, and quicker to compare than to write.
    if isinstance(value, list) and not any(isinstance(item, list | dict) for item in value):
        return ("[", *map(equality_key, value))
    return canonical(value)
