"""What a schema marks as secret, left out of events, logs and messages.

Marks: ``"writeOnly": true``, ``"x-secret": true``, ``"format": "password"``, at a schema that may
be about the value: in any branch of a union, behind any reference, under any condition. Where a
schema has secrets, doubt counts against showing: a member that it does not name (a misspelt
``passwrod``) is left out beside named secrets, and so is a text in place of an object that has
some.

Thread-safe. Cost: one visit of the value and of the schemas about it.

Tested by tests/test_tools_redaction.py.
"""

from __future__ import annotations

from typing import Any

from .json_values import MAX_DEPTH
from .patterns import matcher
from .pointer import Place
from .schemas import FALSE, Prepared, is_marked

__all__ = ["REDACTED", "Redactor", "redact"]

#: What stands in place of a value that is not shown.
REDACTED = "[redacted]"

_IN_PLACE_LISTS = ("allOf", "anyOf", "oneOf")
_IN_PLACE_SCHEMAS = ("if", "then", "else", "not")
_IN_PLACE_MAPS = ("dependentSchemas", "dependencies")
_OTHER_MEMBERS = ("additionalProperties", "unevaluatedProperties")
_OTHER_ITEMS = ("items", "additionalItems", "contains", "unevaluatedItems")

Schemas = list[dict[str, Any]]


class Redactor:
    """Knows which parts of a value are secret by a schema.

    Args:
        prepared: A schema that a validator has read.
    """

    def __init__(self, prepared: Prepared) -> None:
        self._root = prepared.root
        self._targets = prepared.targets
        self._below = prepared.with_secrets

    def redact(self, value: Any) -> Any:
        """A copy of the value, :data:`REDACTED` in place of what is secret.

        Never raises: what nests too deep to be looked through is left out as a whole.
        """
        try:
            return self._redacted(value, self._about([self._root]), 0)
        except RecursionError:
            return REDACTED

    def is_secret(self, place: Place) -> bool:
        """Whether what stands at a place is secret, or anything that it stands in."""
        schemas = self._about([self._root])
        for token in place:
            if any(map(is_marked, schemas)):
                return True
            inner = self._inside(schemas, token)
            if not inner and self._have_secrets(schemas):
                return True
            schemas = self._about(inner)
        return any(map(is_marked, schemas))

    def _redacted(self, value: Any, schemas: Schemas, depth: int) -> Any:
        if depth > MAX_DEPTH or any(map(is_marked, schemas)):
            return REDACTED
        if isinstance(value, dict):
            return {
                name: self._part(part, schemas, str(name), depth) for name, part in value.items()
            }
        if isinstance(value, list | tuple):
            return [self._part(part, schemas, index, depth) for index, part in enumerate(value)]
        if value is None or isinstance(value, bool) or not self._have_secrets(schemas):
            return value
        return REDACTED  # in place of an object or array with secrets, perhaps spelled out

    def _part(self, part: Any, schemas: Schemas, token: str | int, depth: int) -> Any:
        inner = self._inside(schemas, token)
        if not inner and self._have_secrets(schemas):
            return REDACTED
        return self._redacted(part, self._about(inner), depth + 1)

    def _have_secrets(self, schemas: Schemas) -> bool:
        return any(id(schema) in self._below for schema in schemas)

    def _about(self, schemas: Schemas) -> Schemas:
        """All schemas that may be about the same value as one of these."""
        found: Schemas = []
        seen: set[int] = set()
        stack: list[Any] = list(reversed(schemas))
        while stack:
            schema = stack.pop()
            if not isinstance(schema, dict) or id(schema) in seen:
                continue
            seen.add(id(schema))
            found.append(schema)
            for keyword in ("$ref", "$dynamicRef", "$recursiveRef"):
                stack.append(self._targets.get((id(schema), keyword)))
            for keyword in _IN_PLACE_LISTS:
                stack.extend(schema.get(keyword, ()))
            for keyword in _IN_PLACE_SCHEMAS:
                stack.append(schema.get(keyword))
            for keyword in _IN_PLACE_MAPS:
                stack.extend(schema.get(keyword, {}).values())
        return found

    def _inside(self, schemas: Schemas, token: str | int) -> Schemas:
        """The schemas about one member or item of the value that these are about."""
        find = _of_item if isinstance(token, int) else _of_member
        return [
            inner
            for schema in schemas
            for inner in find(schema, token)
            if isinstance(inner, dict) and FALSE not in inner  # false names nothing
        ]


def _of_member(schema: dict[str, Any], name: Any) -> list[Any]:
    found = []
    members = schema.get("properties", {})
    if name in members:
        found.append(members[name] if members[name] is not True else {})
    for pattern, inner in schema.get("patternProperties", {}).items():
        if matcher(pattern)(name) is not False:
            found.append(inner if inner is not True else {})
    return found or [schema[keyword] for keyword in _OTHER_MEMBERS if keyword in schema]


def _of_item(schema: dict[str, Any], index: Any) -> list[Any]:
    found = [schema[keyword] for keyword in _OTHER_ITEMS if keyword in schema]
    for listed in (schema.get("prefixItems"), schema.get("items")):
        if isinstance(listed, list) and index < len(listed):
            found.append(listed[index] if listed[index] is not True else {})
    return found


def redact(value: Any, schema: Any) -> Any:
    """A copy of *value* without what *schema* marks as secret; :data:`REDACTED` in its place.

    Raises:
        ToolDefinitionError: It is no schema.
        MissingDependencyError: ``jsonschema`` or ``regress`` is not installed.

    >>> schema = {"properties": {"user": {}, "pin": {"x-secret": True}}}
    >>> redact({"user": "u", "pin": "1234"}, schema)
    {'user': 'u', 'pin': '[redacted]'}
    """
    from .validator import validator_of

    return validator_of(schema).redact(value)
