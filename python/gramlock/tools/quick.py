"""Whether a value is certainly valid, for schemas of the plain keywords: a few microseconds.

Most calls are valid, and of those only the verdict is wanted. A schema is turned into nested
functions once; a value that they do not accept goes on to the validator that reports. A schema with
any other keyword has no such functions, so that this file stays small.

Invariant: accepts only what the reporting validator accepts (tests/test_tools_validate_fuzz.py).

Thread-safe. Cost: about a microsecond a member.

Tested by tests/test_tools_validate.py and test_tools_validate_fuzz.py.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any

from .growth import multiplies
from .leaves import LEAVES, TYPES
from .schemas import FALSE, NOTHING, Prepared
from .unions import Union

__all__ = ["Check", "quick_check"]

#: Whether a value is valid.
Check = Callable[[Any], bool]

_COMBINED = frozenset("additionalProperties allOf anyOf items oneOf properties required".split())
_HANDLED = LEAVES.keys() | _COMBINED | {"$ref"}


class _UnsupportedError(Exception):
    """A keyword that only the reporting validator knows."""


def quick_check(prepared: Prepared, keywords: Collection[str]) -> Check | None:
    """The check of a schema.

    None if it uses others of the keywords, is of an older draft than 6, or could make much work of
    a small value.
    """
    if prepared.year < 6 or prepared.dynamic or multiplies(prepared):
        return None
    try:
        return _Compiler(prepared, keywords).compile(prepared.root)
    except (_UnsupportedError, RecursionError):
        return None


class _Compiler:
    def __init__(self, prepared: Prepared, keywords: Collection[str]) -> None:
        self._prepared = prepared
        self._keywords = keywords
        self._made: dict[int, list[Check]] = {}

    def compile(self, schema: Any) -> Check:
        """The check of one schema; schemas that refer to each other share theirs."""
        if schema is True:
            return lambda value: True
        cell = self._made.get(id(schema))
        if cell is None:
            cell = self._made[id(schema)] = []
            cell.append(self._checks(schema))
        if cell:
            return cell[0]
        return lambda value: cell[0](value)  # it is being made: a recursive schema

    def _checks(self, schema: dict[str, Any]) -> Check:
        if schema is NOTHING or FALSE in schema:
            return lambda value: False
        found: list[Check] = []
        if "$ref" in schema:
            found.append(self.compile(self._target(schema)))
            if self._prepared.year <= 7:
                return found[0]
        for keyword, param in schema.items():
            if keyword in self._keywords and keyword not in _HANDLED:
                raise _UnsupportedError
            if keyword == "type":  # first, as what excludes the most
                found.insert(0, _types(param))
            elif keyword in LEAVES and keyword in self._keywords:
                found.append(_leaf(LEAVES[keyword], param))
            elif keyword in ("allOf", "anyOf", "oneOf"):
                found.append(_combined(keyword, param, [self.compile(inner) for inner in param]))
        if schema.keys() & {"properties", "required", "additionalProperties"}:
            found.append(self._object(schema))
        if "items" in schema:
            found.append(self._array(schema["items"]))
        return found[0] if len(found) == 1 else _all(found)

    def _target(self, schema: dict[str, Any]) -> Any:
        target = self._prepared.targets[(id(schema), "$ref")]
        if isinstance(target, dict) and id(target) not in self._prepared.own:
            raise _UnsupportedError  # a meta-schema
        return target

    def _object(self, schema: dict[str, Any]) -> Check:
        members = {
            name: self.compile(inner) for name, inner in schema.get("properties", {}).items()
        }
        required = tuple(schema.get("required", ()))
        others = schema.get("additionalProperties", True)
        other = None if others is True else self.compile(others)
        find = members.get

        def check(value: Any) -> bool:
            if not isinstance(value, dict):
                return True
            for name in required:
                if name not in value:
                    return False
            for name, part in value.items():
                member = find(name, other)
                if member is not None and not member(part):
                    return False
            return True

        return check

    def _array(self, inner: Any) -> Check:
        if isinstance(inner, list):
            raise _UnsupportedError
        item = self.compile(inner)

        def check(value: Any) -> bool:
            return not isinstance(value, list) or all(map(item, value))

        return check


def _leaf(leaf: Callable[[Any, Any], Any], param: Any) -> Check:
    return lambda value: leaf(param, value) is None


def _all(checks: list[Check]) -> Check:
    def check(value: Any) -> bool:
        for one in checks:  # noqa: SIM110 - a generator would cost as much as the checks
            if not one(value):
                return False
        return True

    return check


def _types(names: Any) -> Check:
    return TYPES[names] if isinstance(names, str) else _leaf(LEAVES["type"], names)


def _tagged(union: Union, tag: str, checks: list[Check], otherwise: Check) -> Check:
    def check(value: Any) -> bool:
        if not isinstance(value, dict):
            return otherwise(value)
        index = union.branch_of(value[tag]) if tag in value else None
        return index is not None and checks[index](value)

    return check


def _combined(keyword: str, param: Any, checks: list[Check]) -> Check:
    if keyword == "allOf":
        return _all(checks)
    if isinstance(param, Union) and param.tag is not None:
        return _tagged(param, param.tag, checks, _combined(keyword, None, checks))
    if keyword == "anyOf":
        return lambda value: any(check(value) for check in checks)
    return lambda value: sum(check(value) for check in checks) == 1
