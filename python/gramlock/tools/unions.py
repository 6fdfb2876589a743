"""What tells the branches of ``oneOf`` and ``anyOf`` apart: a tag, or the types they take.

A *tag* is a member that every branch for objects requires, and whose ``const`` or ``enum`` values
no two branches share. So at most one branch can hold for an object, and it is known which before
any is tried. ``discriminator`` (OpenAPI 3.1, 4.8.25) says which member to look at first, and
nothing about validity.

Thread-safe: a union is never changed once its schema has been read.

Tested by tests/test_tools_validate.py.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .canonical import equality_key

__all__ = ["Union", "are_exclusive", "find_tag"]

_EVERY_TYPE = frozenset("null boolean integer number string array object".split())


class Union(list[Any]):
    """The value of ``oneOf`` or ``anyOf``, with its tag, if it has one.

    Attributes:
        tag: Name of the member, or None.
        values: Its values, in the order of the branches.
        exclusive: Whether at most one branch can hold that looks into the value.
    """

    __slots__ = ("_branches", "exclusive", "tag", "values")

    def __init__(self, branches: list[Any]) -> None:
        super().__init__(branches)
        self.tag: str | None = None
        self.values: list[Any] = []
        self.exclusive = False
        self._branches: dict[Any, int] = {}

    def branch_of(self, value: Any) -> int | None:
        """The branch that a value of the tag selects."""
        return self._branches.get(equality_key(value))

    def set_tag(self, name: str, values: list[tuple[Any, int]]) -> bool:
        """Takes a member and its values, each with a branch; False if two branches share one."""
        branches: dict[Any, int] = {}
        for value, index in values:
            if branches.setdefault(equality_key(value), index) != index:
                return False
        self.tag, self._branches = name, branches
        self.values = [value for value, _ in values]
        return True


def find_tag(union: Union, hint: Any, target: Callable[[Any], Any]) -> None:
    """Finds out what tells the branches apart.

    Args:
        union: Gets the tag.
        hint: Value of ``discriminator`` beside it, or None.
        target: Follows a schema that is only a reference.
    """
    branches = [target(branch) for branch in union]
    union.exclusive = are_exclusive(branches)
    objects = [index for index, branch in enumerate(branches) if "object" in _types(branch)]
    if len(objects) < 2 or not all(isinstance(branches[index], dict) for index in objects):
        return
    first = hint.get("propertyName") if isinstance(hint, dict) else None
    names = branches[objects[0]].get("required", ())
    for name in sorted(names, key=lambda name: bool(name != first)):
        values = _values(name, [(branches[index], index) for index in objects], target)
        if values is not None and union.set_tag(name, values):
            union.exclusive = True
            return


def _values(
    name: str, branches: list[tuple[dict[str, Any], int]], target: Callable[[Any], Any]
) -> list[tuple[Any, int]] | None:
    """The values that a member has in each branch; None if a branch does not list them."""
    found: list[tuple[Any, int]] = []
    for branch, index in branches:
        member = target(branch.get("properties", {}).get(name))
        if name not in branch.get("required", ()) or not isinstance(member, dict):
            return None
        if "enum" not in member and "const" not in member:
            return None
        listed = member["enum"] if "enum" in member else [member["const"]]
        found.extend((value, index) for value in listed)
    return found


def are_exclusive(branches: list[Any]) -> bool:
    """Whether no two branches look into values of the same type."""
    seen: set[str] = set()
    for branch in branches:
        types = _types(branch) & {"array", "object"}
        if types & seen:
            return False
        seen |= types
    return True


def _types(schema: Any) -> frozenset[str]:
    """The types of value that a schema may hold for."""
    if schema is True or not isinstance(schema, dict):
        return _EVERY_TYPE
    types = schema.get("type", _EVERY_TYPE)
    found = frozenset([types] if isinstance(types, str) else types)
    listed = [schema["const"]] if "const" in schema else schema.get("enum")
    if listed is not None:
        kinds = {"object" if isinstance(value, dict) else "array" for value in listed}
        kinds |= {"number" for value in listed if not isinstance(value, dict | list)}
        if not any(isinstance(value, list) for value in listed):
            kinds.discard("array")
        found = found & kinds if "type" in schema else frozenset(kinds)
    return found
