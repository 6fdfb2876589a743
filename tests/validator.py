"""An independent opinion on schemas: the ``jsonschema`` package, corrected where it is wrong.

It shares no code with the front end under test. What is corrected, and by which paragraph of the
2020-12 standard (core or validation) the package is wrong:

===================  ===============================================================================
patterns             it uses Python's ``re``; regular expressions are ECMA-262's, with the ``u``
                     flag (core 6.4). Here: the ``regress`` package, else :func:`translated`.
``multipleOf``       it divides floats, so 0.3 is no multiple of 0.1; values are arbitrary decimals
                     (core 4.2.1, validation 6.2.1). Here: numbers are read as ``Decimal``.
``type: integer``    a ``Decimal`` would not be one; 1.0 is (core 4.2.3, validation 6.1.1).
``uniqueItems``      it compares neighbours of a sorted list in which ``[1]`` and ``[true]`` sort as
                     equals, and so overlooks the pair in ``[[1], [true], [1]]`` (validation 6.4.3).
``dependencies``     it ignores it from 2019-09 on; the meta-schemas still describe it, for schemas
                     of old (2020-12: schema.json, "no longer a keyword, but ... to facilitate").
===================  ===============================================================================

Formats are annotations here. What else it is wrong about is listed where the tests meet it.
"""

from __future__ import annotations

import decimal
import functools
import json
import random
import re
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import jsonschema
from jsonschema import _keywords, _legacy_keywords, _utils, validators

try:
    import regress
except ModuleNotFoundError:  # it needs a compiler where there is no wheel
    regress = None

EXACT = decimal.Context(prec=1200, Emax=decimal.MAX_EMAX, Emin=decimal.MIN_EMIN)
BLANKS = r"\t\n\v\f\r\u0020\u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000\ufeff"
CLASSES = {"d": "0-9", "w": "A-Za-z0-9_", "s": BLANKS}
PIECE = re.compile(r"\\u\{([0-9a-fA-F]+)\}|\\(.)|(\(\?<(?![=!]))|(.)", re.DOTALL)


def translated(pattern: str) -> str:
    """A pattern of ECMA-262 in Python's syntax: what is spelled alike but means something else."""
    found, inside = [], False
    for code, escaped, group, plain in PIECE.findall(pattern):
        if code:
            found.append(re.escape(chr(int(code, 16))))
        elif escaped:
            found.append(_escape(escaped, inside))
        elif group:
            found.append("(?P<")
        elif plain == "[" and not inside:
            inside = True
            found.append(plain)
        elif plain == "]":
            inside = False
            found.append(plain)
        elif inside:
            found.append("\\[" if plain == "[" else plain)
        else:
            found.append({"$": r"\Z", ".": r"[^\n\r\u2028\u2029]"}.get(plain, plain))
    return "".join(found)


def _escape(letter: str, inside: bool) -> str:
    if letter in CLASSES:
        return CLASSES[letter] if inside else f"[{CLASSES[letter]}]"
    if letter.lower() in CLASSES and not inside:
        return f"[^{CLASSES[letter.lower()]}]"
    return "/" if letter == "/" else "\\" + letter


@functools.lru_cache(maxsize=4000)
def compiled(pattern: str) -> Any:
    if regress is not None:
        try:
            return regress.Regex(pattern, "u").find
        except regress.RegressError:
            return regress.Regex(pattern).find
    return re.compile(translated(pattern)).search


class Patterns:
    """Stands in for ``re`` in the modules of the package."""

    @staticmethod
    def search(pattern: str, text: str) -> Any:
        return compiled(pattern)(text)


def plain(value: Any) -> Any:
    """A value in which equal JSON values, and no others, are equal and hash alike."""
    if isinstance(value, list):
        return ("array", *map(plain, value))
    if isinstance(value, dict):
        return ("object", frozenset((key, plain(part)) for key, part in value.items()))
    return (isinstance(value, bool), value)


def all_differ(items: list[Any]) -> bool:
    return len({plain(item) for item in items}) == len(items)


for module in (_utils, _keywords, _legacy_keywords):
    for name, substitute in (("re", Patterns), ("uniq", all_differ)):
        if hasattr(module, name):
            setattr(module, name, substitute)


def exact(value: Any) -> Any:
    """The same value, its fractions as decimals."""
    if isinstance(value, list):
        return [exact(item) for item in value]
    if isinstance(value, dict):
        return {key: exact(part) for key, part in value.items()}
    return Decimal(repr(value)) if isinstance(value, float) else value


def is_number(_: Any, value: Any) -> bool:
    return isinstance(value, int | float | Decimal) and not isinstance(value, bool)


def is_integer(checker: Any, value: Any) -> bool:
    if isinstance(value, Decimal):
        return value.as_tuple().exponent >= 0 or value == value.to_integral_value()
    return is_number(checker, value) and value == int(value)


@functools.cache
def corrected(cls: Any) -> Any:
    checker = cls.TYPE_CHECKER.redefine("number", is_number).redefine("integer", is_integer)
    old = _legacy_keywords.dependencies_draft4_draft6_draft7
    added = {} if "dependencies" in cls.VALIDATORS else {"dependencies": old}
    return validators.extend(cls, added, type_checker=checker)


class Validator:
    """The verdicts of one schema."""

    def __init__(self, schema: Any, dialect: Any = jsonschema.Draft202012Validator) -> None:
        cls = validators.validator_for(schema, dialect) if isinstance(schema, dict) else dialect
        self.validator = corrected(cls)(exact(schema))

    def is_valid(self, value: Any) -> bool | None:
        """None where it cannot say: endless references, patterns it cannot read."""
        try:
            with decimal.localcontext(EXACT):
                return bool(self.validator.is_valid(exact(value)))
        except BaseException as error:  # its native parts panic on deep recursion
            if isinstance(error, (KeyboardInterrupt, SystemExit)):
                raise
            return None


def is_huge(value: Any) -> bool:
    """Whether a number in the value has hundreds of digits when spelled without exponent."""
    if isinstance(value, list | dict):
        return any(map(is_huge, value.values() if isinstance(value, dict) else value))
    return isinstance(value, Decimal) and abs(value.adjusted()) > 300


def spelled(value: Any, number: Callable[[Decimal], str] = "{:f}".format) -> str:
    """A value as JSON without white space, its numbers as *number* writes them."""
    if isinstance(value, list):
        return "[" + ",".join(spelled(item, number) for item in value) + "]"
    if isinstance(value, dict):
        members = (f"{spelled(key)}:{spelled(part, number)}" for key, part in value.items())
        return "{" + ",".join(members) + "}"
    if isinstance(value, int | float | Decimal) and not isinstance(value, bool):
        return number(Decimal(exact(value)))
    return json.dumps(value, ensure_ascii=False)


def with_exponent(rng: random.Random) -> Callable[[Decimal], str]:
    """Writes numbers in other ways: an exponent, zeros at the end, a minus sign before zero."""

    def write(value: Decimal) -> str:
        places = rng.randrange(-3, 4)
        mantissa = f"{value.scaleb(-places, EXACT):f}"
        if value == 0 and not mantissa.startswith("-"):
            mantissa = rng.choice(["", "-"]) + mantissa
        if "." in mantissa:
            mantissa += rng.choice(["", "0", "00"])
        sign = rng.choice(["", "+"]) if places >= 0 else ""
        return f"{mantissa}{rng.choice('eE')}{sign}{places}"

    return write
