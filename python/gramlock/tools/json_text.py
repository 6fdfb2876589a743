"""JSON text, read strictly and written exactly.

What a model or a service sends decides what is executed, so that nothing in it may be guessed:
two members of one name, text after the value, NaN and half of a surrogate pair are refused, with
the place (RFC 8259 leaves the first to the reader, 4; RFC 7493, 2, does not). Numbers keep their
value: an integer of any size is an int, a fraction that a double holds is a float, every other
number is a Decimal.

The scanner of the standard library does the reading, and hooks see what it would let pass; only a
text that is refused is walked a second time, for the place of the fault.

Thread-safe: functions of their arguments. Cost: linear in the text, for integers of thousands of
digits quadratic in these; no recursion beyond *depth*.

Tested by tests/test_tools_json_text.py.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from decimal import Decimal, InvalidOperation
from json.decoder import scanstring  # type: ignore[attr-defined]
from json.encoder import encode_basestring
from typing import Any

from ..errors import JsonTextError, NotJsonError
from .json_values import MAX_DEPTH
from .pointer import to_path
from .violation import type_name

__all__ = [
    "MAX_CHARACTERS",
    "MAX_DEPTH",
    "MAX_DIGITS",
    "MAX_EXPONENT",
    "MAX_VALUES",
    "dumps",
    "loads",
    "plain_json",
]

#: How long a text may be.
MAX_CHARACTERS = 16 << 20
#: How many digits a number may have.
MAX_DIGITS = 4300
#: The largest power of ten, either way: that of Python's own decimal arithmetic.
MAX_EXPONENT = 999_999
#: How many values, the members of objects and the items of arrays included, one value may hold.
MAX_VALUES = 1_000_000

_SHORT_INTEGER = 600  # below every limit that sys.set_int_max_str_digits() takes
_SIGN = re.compile(r'\\.|["\[\]{},]', re.DOTALL)
_TOKEN = re.compile(r'["\[\]{}:,]|[^\s\[\]{}:,"]+')
_SURROGATE = re.compile("[\ud800-\udfff]")
_SURROGATE_ESCAPE = re.compile(r"\\u[dD][89a-fA-F]")
_EXPONENT = re.compile("[eE]")
_END = object()
_SCALARS = (bool, int, type(None))


class _Refused(ValueError):
    """Raised by the hooks, which do not know the place: the reason, and the budget passed."""

    def __init__(self, reason: str, budget: str | None = None) -> None:
        self.reason, self.budget = reason, budget
        super().__init__(reason)


def _members(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) == len(pairs):
        return found
    seen: set[str] = set()
    for name, _ in pairs:
        if name in seen:
            raise _Refused(_twice(name))
        seen.add(name)
    raise AssertionError("equal names were counted, but none was found")


def _integer(text: str) -> int:
    if len(text) <= _SHORT_INTEGER:
        return int(text)
    _check_digits(text)
    return int(Decimal(text))  # int(text) has a limit of its own, which the program may lower


def _fraction(text: str) -> float | Decimal:
    _check_digits(text)
    power = _EXPONENT.split(text)[-1] if "e" in text or "E" in text else "0"
    try:
        exact = Decimal(text)
        beyond = exact != 0 and abs(exact.adjusted()) > MAX_EXPONENT
    except (InvalidOperation, OverflowError):
        beyond = True
    if beyond:
        raise _Refused(f"a power of ten beyond {MAX_EXPONENT:,}: e{power:.30}", "exponent")
    double = float(text)
    # A double stands for the shortest decimal that is read as it: 0.1, but not 0.10000000000000001.
    if double - double == 0 and Decimal(repr(double)) == exact:
        return double
    return exact


def _check_digits(text: str) -> None:
    digits = sum(map(str.isdigit, text)) if len(text) > MAX_DIGITS else 0
    if digits > MAX_DIGITS:
        raise _Refused(f"a number of {digits:,} digits; {MAX_DIGITS:,} are allowed", "digits")


def _constant(text: str) -> Any:
    raise _Refused(f"{text} is no JSON number")


_DECODER = json.JSONDecoder(
    object_pairs_hook=_members,
    parse_int=_integer,
    parse_float=_fraction,
    parse_constant=_constant,
)


def loads(
    text: str | bytes | bytearray,
    *,
    depth: int = MAX_DEPTH,
    characters: int = MAX_CHARACTERS,
) -> Any:
    """The value of a JSON text: dict, list, str, int, float, Decimal, bool or None.

    Args:
        text: The text, or its UTF-8.
        depth: How many levels of arrays and objects there may be.
        characters: How long the text may be.

    Raises:
        JsonTextError: It is no JSON, holds something after the value, two members of one name in
            one object, NaN or an infinity, or half of a surrogate pair; or it passes a budget
            (:data:`MAX_DIGITS`, :data:`MAX_EXPONENT`, :data:`MAX_VALUES`, *depth*, *characters*).
    """
    if not isinstance(text, str):
        text = _decoded(text, characters)
    if len(text) > characters:
        reason = f"{len(text):,} characters; {characters:,} are allowed"
        raise JsonTextError(reason, text, 0, "characters")
    lone = _SURROGATE.search(text)
    if lone:
        raise JsonTextError("half of a surrogate pair", text, lone.start())
    _check_shape(text, depth)
    try:
        value = _DECODER.decode(text)
    except json.JSONDecodeError as error:
        raise JsonTextError(_reason(error, text), text, error.pos) from None
    except _Refused as error:
        raise JsonTextError(error.reason, text, _find(text, error.reason), error.budget) from None
    except RecursionError:
        reason = "it nests too deeply for the stack that is left"
        raise JsonTextError(reason, text, 0, "depth") from None
    if _SURROGATE_ESCAPE.search(text):
        _check_escapes(text)
    return value


def _decoded(data: bytes | bytearray, characters: int) -> str:
    if len(data) > 4 * characters:
        reason = f"{len(data):,} bytes; {characters:,} characters are allowed"
        raise JsonTextError(reason, "", 0, "characters")
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        before = data[: error.start].decode("utf-8")
        raise JsonTextError("bytes that are no UTF-8", before, len(before)) from None


def _check_shape(text: str, depth: int) -> None:
    """Refuses what nests too deep or holds too many values, before anything is built of it."""
    opened = text.count("[") + text.count("{")
    if opened <= depth and opened + text.count(",") < MAX_VALUES:
        return
    level = values = 0
    inside = False  # of a string
    for match in _SIGN.finditer(text):
        sign = match[0]
        if sign == '"':
            inside = not inside
        elif inside or sign[0] == "\\":
            continue
        elif sign in "]}":
            level -= 1
        else:
            values += 1
            level += sign != ","
            if level > depth:
                reason = f"more than {depth} levels of arrays and objects"
                raise JsonTextError(reason, text, match.start(), "depth")
            if values >= MAX_VALUES:
                reason = f"more than {MAX_VALUES:,} values"
                raise JsonTextError(reason, text, match.start(), "values")


def _reason(error: json.JSONDecodeError, text: str) -> str:
    """What the standard library says, in the words of this module."""
    if error.msg == "Extra data":
        return f"text after the value: {text[error.pos : error.pos + 40]!r}"
    if not text.strip():
        return "no value: the text is empty"
    if error.pos >= len(text) or error.msg.startswith("Unterminated"):
        return f"the text ends too early ({error.msg})"
    return error.msg


def _tokens(text: str) -> Iterator[tuple[int, str, str | None]]:
    """Position, sign or scalar, and for a string its value, as far as *text* is JSON."""
    at = 0
    while match := _TOKEN.search(text, at):
        at, string = match.end(), None
        if match[0] == '"':
            try:
                string, at = scanstring(text, at, True)
            except ValueError:
                return
        yield match.start(), match[0], string


def _find(text: str, reason: str) -> int:
    """Where the fault stands that a hook found: all before it is known to be JSON."""
    names: list[set[str] | None] = [None]  # of the open objects; None for an array
    before = ""
    for position, token, string in _tokens(text):
        seen = names[-1]
        if token in ("{", "["):
            names.append(set() if token == "{" else None)
        elif token in ("}", "]"):
            names.pop()
        elif string is not None:
            if seen is not None and before != ":":
                if string in seen and reason == _twice(string):
                    return position
                seen.add(string)
        elif token not in (":", ","):
            try:
                _DECODER.decode(token)
            except _Refused as error:
                if error.reason == reason:
                    return position
        before = token
    raise AssertionError(f"found in the value, but not in the text: {reason}")


def _twice(name: str) -> str:
    return f"the member {name!r:.80} stands twice in one object"


def _check_escapes(text: str) -> None:
    for position, _, string in _tokens(text):
        if string is not None and _SURROGATE.search(string):
            raise JsonTextError("half of a surrogate pair", text, position)


def plain_json(value: Any, *, depth: int = MAX_DEPTH, values: int = MAX_VALUES) -> Any:
    """A copy of *value* made of dict, list, str, int, float, Decimal, bool and None, if it can be.

    Args:
        value: Anything. Other mappings become dicts, tuples become lists.
        depth: How many levels of arrays and objects there may be; ends values that hold
            themselves.
        values: How many values there may be; ends values that hold others many times over.

    Raises:
        NotJsonError: JSON cannot express it: NaN, a set, a name that is no string, half of a
            surrogate pair; or it passes *depth* or *values*.
    """
    return _Copy(values).of(value, depth, None)


class _Copy:
    """One copying, with its budget. Places are linked pairs: (place of the container, token)."""

    def __init__(self, values: int) -> None:
        self.values = self.left = values

    def of(self, value: Any, depth: int, place: Any) -> Any:
        self.left -= 1
        if self.left < 0:
            raise _not_json(place, f"more than {self.values:,} values")
        if isinstance(value, str):
            return self.text(value, place)
        if isinstance(value, _SCALARS):
            return value
        if isinstance(value, float | Decimal):
            if value - value == 0 if isinstance(value, float) else value.is_finite():
                return value
            raise _not_json(place, f"{value} is no JSON number")
        if not isinstance(value, Mapping | list | tuple):
            raise _not_json(place, f"{type_name(value)} is no JSON value")
        if depth <= 0:
            raise _not_json(place, "it nests too deep, or holds itself")
        if isinstance(value, Mapping):
            return {
                self.name(name, place): self.of(item, depth - 1, (place, name))
                for name, item in value.items()
            }
        return [self.of(item, depth - 1, (place, at)) for at, item in enumerate(value)]

    def text(self, value: str, place: Any) -> str:
        if not value.isascii() and _SURROGATE.search(value):
            raise _not_json(place, "half of a surrogate pair")
        return value

    def name(self, name: Any, place: Any) -> str:
        if not isinstance(name, str):
            raise _not_json(place, f"a member has a {type_name(name)} for its name, no string")
        return self.text(name, place)


def _not_json(place: Any, reason: str) -> NotJsonError:
    tokens: list[str | int] = []
    while place is not None:
        place, token = place
        tokens.append(token)
    return NotJsonError(to_path(tokens[:-21:-1]) + ("…" if len(tokens) > 20 else ""), reason)


def dumps(value: Any) -> str:
    """The shortest JSON text that :func:`loads` reads as *value*, members in their order.

    Numbers are written exactly: a float as the shortest decimal that is read as it, a Decimal with
    its digits, an integer whole.

    Raises:
        NotJsonError: As :func:`plain_json`.
    """
    return "".join(_written(plain_json(value)))


def _written(value: Any) -> Iterator[str]:
    stack: list[tuple[Iterator[Any], bool, bool]] = [(iter([value]), False, False)]
    while stack:
        items, named, begun = stack[-1]
        item: Any = next(items, _END)
        if item is _END:
            stack.pop()
            if stack:
                yield "}" if named else "]"
            continue
        if begun:
            yield ","
        stack[-1] = items, named, len(stack) > 1
        if named:
            yield encode_basestring(item[0]) + ":"
            item = item[1]
        if isinstance(item, dict):
            yield "{"
            stack.append((iter(item.items()), True, False))
        elif isinstance(item, list):
            yield "["
            stack.append((iter(item), False, False))
        else:
            yield _scalar(item)


def _scalar(value: str | int | float | Decimal | None) -> str:
    if isinstance(value, str):
        return encode_basestring(value)
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        small = -(1 << 63) < value < 1 << 63
        return int.__repr__(value) if small else str(Decimal(value))
    return float.__repr__(value) if isinstance(value, float) else str(value)
