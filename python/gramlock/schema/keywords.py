"""What each keyword may hold, and which dialect knows it.

One small function a keyword: it checks the value, reports what is wrong with its place, turns
subschemas into nodes, and leaves what the reader needs in the leaf's ``found`` table. A keyword
that no table of its dialect has is an annotation.

``dependencies`` is enforced in every dialect: from 2019-09 on it is split in two and no keyword any
more, but its name stays reserved for schemas that have not been rewritten yet.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from .numbers import is_number

if TYPE_CHECKING:
    from .algebra import Leaf
    from .model import Reader

__all__ = ["STRUCTURAL", "TYPES", "Found", "handlers_of"]

NULL_TYPE, BOOLEAN_TYPE, NUMBER_TYPE, INTEGER_TYPE = 1, 2, 4, 8
STRING_TYPE, ARRAY_TYPE, OBJECT_TYPE = 16, 32, 64

#: Bits of the type names; a number may be an integer or not.
TYPES = {
    "null": NULL_TYPE,
    "boolean": BOOLEAN_TYPE,
    "integer": INTEGER_TYPE,
    "number": NUMBER_TYPE | INTEGER_TYPE,
    "string": STRING_TYPE,
    "array": ARRAY_TYPE,
    "object": OBJECT_TYPE,
}
ALL_TYPES = 127

#: Keywords that place, name or explain schemas and say nothing about values.
STRUCTURAL = frozenset(
    "$schema $id id $anchor $dynamicAnchor $recursiveAnchor $defs definitions $comment "
    "$vocabulary".split()
)

Found = dict[str, Any]
Handler = Callable[["Reader", "Leaf", Found, str, Any], None]


# -- any type ---------------------------------------------------------------------------------


def _type(reader: Reader, leaf: Leaf, found: Found, key: str, value: Any) -> None:
    names = value if isinstance(value, list) else [value]
    bits = 0
    for name in names:
        if not isinstance(name, str) or name not in TYPES:
            reader.refuse(leaf, key, f"{name!r} is not a type")
            return
        bits |= TYPES[name]
    if not names:
        reader.refuse(leaf, key, "a list of types names at least one")
    found[key] = bits


def _enum(reader: Reader, leaf: Leaf, found: Found, key: str, value: Any) -> None:
    if isinstance(value, list):
        found[key] = value
    else:
        reader.refuse(leaf, key, "enum is a list of values")


def _const(reader: Reader, leaf: Leaf, found: Found, key: str, value: Any) -> None:
    found[key] = value


def _format(reader: Reader, leaf: Leaf, found: Found, key: str, value: Any) -> None:
    if not isinstance(value, str):
        reader.refuse(leaf, key, "format is a string")
    elif reader.asserts_format(leaf, value):
        found[key] = value


# -- numbers and strings ----------------------------------------------------------------------


def _number(reader: Reader, leaf: Leaf, found: Found, key: str, value: Any) -> None:
    if is_number(value) and value == value and abs(value) != float("inf"):
        found[key] = value
    else:
        reader.refuse(leaf, key, f"{key} is a number")


def _flag(reader: Reader, leaf: Leaf, found: Found, key: str, value: Any) -> None:
    if isinstance(value, bool):
        found[key] = value
    else:
        reader.refuse(leaf, key, f"{key} is true or false in this dialect")


def _divisor(reader: Reader, leaf: Leaf, found: Found, key: str, value: Any) -> None:
    _number(reader, leaf, found, key, value)
    if key in found and value <= 0:
        reader.refuse(leaf, key, "multipleOf is greater than 0")
        del found[key]


def _count(reader: Reader, leaf: Leaf, found: Found, key: str, value: Any) -> None:
    if is_number(value) and value == value and value >= 0 and value == value // 1:
        found[key] = int(value)
    else:
        reader.refuse(leaf, key, f"{key} is an integer of at least 0")


def _pattern(reader: Reader, leaf: Leaf, found: Found, key: str, value: Any) -> None:
    if not isinstance(value, str):
        reader.refuse(leaf, key, "pattern is a string")
    elif reader.check_pattern(leaf, (leaf.path, key), value):
        found[key] = value


# -- arrays -----------------------------------------------------------------------------------


def _items(reader: Reader, leaf: Leaf, found: Found, key: str, value: Any) -> None:
    if not isinstance(value, list):
        found["rest"] = reader.node(value, (leaf.path, key), leaf.scope)
    elif leaf.scope.dialect.year >= 2020:
        reader.refuse(leaf, key, "a list of schemas is written prefixItems in this dialect")
    else:
        _prefix_items(reader, leaf, found, key, value)


def _prefix_items(reader: Reader, leaf: Leaf, found: Found, key: str, value: Any) -> None:
    if not isinstance(value, list):
        reader.refuse(leaf, key, f"{key} is a list of schemas")
        return
    path = (leaf.path, key)
    found["prefix"] = tuple(reader.node(v, (path, i), leaf.scope) for i, v in enumerate(value))


def _additional_items(reader: Reader, leaf: Leaf, found: Found, key: str, value: Any) -> None:
    if isinstance(leaf.schema.get("items"), list):
        found["rest"] = reader.node(value, (leaf.path, key), leaf.scope)


def _unique_items(reader: Reader, leaf: Leaf, found: Found, key: str, value: Any) -> None:
    if not isinstance(value, bool):
        reader.refuse(leaf, key, "uniqueItems is true or false")
    elif value:
        found[key] = value


def _contains(reader: Reader, leaf: Leaf, found: Found, key: str, value: Any) -> None:
    found[key] = reader.node(value, (leaf.path, key), leaf.scope)


def _contained(reader: Reader, leaf: Leaf, found: Found, key: str, value: Any) -> None:
    """``minContains``, ``maxContains``: they say nothing without ``contains``."""
    if "contains" in leaf.schema:
        _count(reader, leaf, found, key, value)


# -- objects ----------------------------------------------------------------------------------


def _properties(reader: Reader, leaf: Leaf, found: Found, key: str, value: Any) -> None:
    if not isinstance(value, dict):
        reader.refuse(leaf, key, f"{key} is an object of schemas")
        return
    path, scope, node = (leaf.path, key), leaf.scope, reader.node
    found[key] = {name: node(schema, (path, name), scope) for name, schema in value.items()}


def _pattern_properties(reader: Reader, leaf: Leaf, found: Found, key: str, value: Any) -> None:
    _properties(reader, leaf, found, key, value)
    path = (leaf.path, key)
    for pattern in list(found.get(key, ())):
        if not reader.check_pattern(leaf, (path, pattern), pattern):
            del found[key][pattern]


def _required(reader: Reader, leaf: Leaf, found: Found, key: str, value: Any) -> None:
    if isinstance(value, list) and all(isinstance(name, str) for name in value):
        found[key] = value
    else:
        reader.refuse(leaf, key, "required is a list of strings")


def _additional_properties(reader: Reader, leaf: Leaf, found: Found, key: str, value: Any) -> None:
    found[key] = reader.node(value, (leaf.path, key), leaf.scope)


def _dependencies(reader: Reader, leaf: Leaf, found: Found, key: str, value: Any) -> None:
    """``dependentRequired``, ``dependentSchemas``, and ``dependencies``, which is both."""
    if not isinstance(value, dict):
        reader.refuse(leaf, key, f"{key} is an object")
        return
    for name, wanted in value.items():
        path = ((leaf.path, key), name)
        if isinstance(wanted, list) and key != "dependentSchemas":
            if all(isinstance(other, str) for other in wanted):
                reader.depends(leaf, key, name, reader.holding(leaf, wanted))
            else:
                reader.refuse(leaf, key, "a list of names is wanted")
        elif key == "dependentRequired":
            reader.refuse(leaf, key, "a list of names is wanted")
        else:
            reader.depends(leaf, key, name, reader.node(wanted, path, leaf.scope))


# -- applicators ------------------------------------------------------------------------------


def _branches(reader: Reader, leaf: Leaf, key: str, value: Any) -> list[Any] | None:
    if not isinstance(value, list) or not value:
        reader.refuse(leaf, key, f"{key} is a list of at least one schema")
        return None
    path = (leaf.path, key)
    return [reader.node(v, (path, i), leaf.scope) for i, v in enumerate(value)]


def _all_of(reader: Reader, leaf: Leaf, found: Found, key: str, value: Any) -> None:
    for node in _branches(reader, leaf, key, value) or ():
        leaf.parts.append(("all", node))


def _any_of(reader: Reader, leaf: Leaf, found: Found, key: str, value: Any) -> None:
    nodes = _branches(reader, leaf, key, value)
    if nodes is not None:
        leaf.parts.append(("any", nodes))


def _one_of(reader: Reader, leaf: Leaf, found: Found, key: str, value: Any) -> None:
    nodes = _branches(reader, leaf, key, value)
    if nodes is not None:
        leaf.parts.append(("any", nodes))
        if len(nodes) > 1:
            reader.one_of.append((leaf, nodes))


def _ref(reader: Reader, leaf: Leaf, found: Found, key: str, value: Any) -> None:
    if not isinstance(value, str):
        reader.refuse(leaf, key, f"{key} is a URI reference")
        return
    node = reader.target(leaf, key, value)
    if node is not None:
        leaf.parts.append(("all", node))


def _not(reader: Reader, leaf: Leaf, found: Found, key: str, value: Any) -> None:
    node = reader.node(value, (leaf.path, key), leaf.scope)
    if value is True or value == {}:
        leaf.parts.append(("all", reader.never_at((leaf.path, key))))
    else:
        leaf.parts.append(("all", reader.algebra.negation(node)))


def _if(reader: Reader, leaf: Leaf, found: Found, key: str, value: Any) -> None:
    """``if`` beside ``then`` or ``else``; alone it says nothing."""
    schema, path = leaf.schema, leaf.path
    if "then" not in schema and "else" not in schema:
        return
    test = reader.node(value, (path, key), leaf.scope)
    then, other = (
        reader.node(schema.get(name, True), (path, name), leaf.scope) for name in ("then", "else")
    )
    reader.later.append(("if", (test, then, other)))


def _property_names(reader: Reader, leaf: Leaf, found: Found, key: str, value: Any) -> None:
    leaf.parts.append(("names", reader.node(value, (leaf.path, key), leaf.scope)))


def _unevaluated(reader: Reader, leaf: Leaf, found: Found, key: str, value: Any) -> None:
    reader.unevaluated(leaf, key, value)


def _nothing(reader: Reader, leaf: Leaf, found: Found, key: str, value: Any) -> None:
    """Read together with another keyword."""


_COMMON: dict[str, Handler] = {
    "type": _type,
    "enum": _enum,
    "format": _format,
    "minimum": _number,
    "maximum": _number,
    "multipleOf": _divisor,
    "minLength": _count,
    "maxLength": _count,
    "pattern": _pattern,
    "items": _items,
    "minItems": _count,
    "maxItems": _count,
    "uniqueItems": _unique_items,
    "properties": _properties,
    "patternProperties": _pattern_properties,
    "additionalProperties": _additional_properties,
    "required": _required,
    "minProperties": _count,
    "maxProperties": _count,
    "allOf": _all_of,
    "anyOf": _any_of,
    "oneOf": _one_of,
    "not": _not,
    "$ref": _ref,
    "dependencies": _dependencies,
}
_NUMERIC: dict[str, Handler] = {"exclusiveMinimum": _number, "exclusiveMaximum": _number}
_DRAFT6: dict[str, Handler] = {
    "const": _const,
    "contains": _contains,
    "propertyNames": _property_names,
    **_NUMERIC,
}
_DRAFT7: dict[str, Handler] = {"if": _if, "then": _nothing, "else": _nothing}
_OLD: dict[str, Handler] = {"additionalItems": _additional_items}
_2019: dict[str, Handler] = {
    "dependentRequired": _dependencies,
    "dependentSchemas": _dependencies,
    "unevaluatedItems": _unevaluated,
    "unevaluatedProperties": _unevaluated,
    "minContains": _contained,
    "maxContains": _contained,
}

_BY_YEAR: dict[int, dict[str, Handler]] = {
    4: {**_COMMON, **_OLD, "exclusiveMinimum": _flag, "exclusiveMaximum": _flag},
    6: {**_COMMON, **_OLD, **_DRAFT6},
    7: {**_COMMON, **_OLD, **_DRAFT6, **_DRAFT7},
    2019: {
        **_COMMON,
        **_DRAFT6,
        **_DRAFT7,
        **_2019,
        "additionalItems": _additional_items,
        "$recursiveRef": _ref,
    },
    2020: {
        **_COMMON,
        **_DRAFT6,
        **_DRAFT7,
        **_2019,
        "prefixItems": _prefix_items,
        "$dynamicRef": _ref,
    },
}


def handlers_of(year: int) -> dict[str, Handler]:
    """The keywords of a dialect, in no order."""
    return _BY_YEAR[year]
