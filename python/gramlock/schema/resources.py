"""The identifiers of a document: the resources in it, their base URIs and their anchors.

A *resource* is a schema that names itself (``$id``; ``id`` in draft 4), or a whole document. Only
places where the dialect has schemas are looked at: an ``$id`` in an ``enum`` names nothing. What
is malformed is passed over here; the checks of the keywords name it, if it is ever used.

Cost: one visit of each schema of the document.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any
from urllib.parse import urljoin

__all__ = ["RECURSIVE", "Dialect", "Path", "Resource", "resources_in"]

Path = Any  # None | (uri,) | (Path, token): a recursive type that costs nothing to build

#: The name under which ``$recursiveAnchor`` is kept; no anchor has it.
RECURSIVE = ""


class Dialect:
    """What differs between the drafts, and between metaschemas of one draft.

    Attributes:
        uri: As in ``$schema``, without a trailing ``#``.
        year: 4, 6, 7, 2019 or 2020, so that dialects compare in time.
        ref_hides: Whether ``$ref`` hides its siblings.
        id_keyword: The keyword that names a resource.
        annotations: Keywords of the draft that are none of this dialect (``$vocabulary``).
        asserts_formats: Whether the dialect itself wants formats enforced.
        problem: Why schemas of this dialect cannot be read; ``""`` where they can.
    """

    __slots__ = (
        "annotations",
        "asserts_formats",
        "id_keyword",
        "problem",
        "ref_hides",
        "uri",
        "year",
    )

    def __init__(
        self,
        uri: str,
        year: int,
        annotations: frozenset[str] = frozenset(),
        asserts_formats: bool = False,
        problem: str = "",
    ) -> None:
        self.uri, self.year = uri, year
        self.ref_hides = year <= 7
        self.id_keyword = "id" if year == 4 else "$id"
        self.annotations, self.asserts_formats = annotations, asserts_formats
        self.problem = problem


class Resource:
    """One resource of a document.

    Attributes:
        contents: The schema.
        dialect: Its rules.
        uri: Absolute, as far as the document says; without fragment.
        path: Where it stands.
        anchors: Schemas by plain name, each with its path.
        dynamic: Names among *anchors* that ``$dynamicRef`` looks for, and :data:`RECURSIVE`.
        nested: Resources right below it, by the identity of their contents.
    """

    __slots__ = ("anchors", "contents", "dialect", "dynamic", "nested", "path", "uri")

    def __init__(self, contents: Any, dialect: Dialect, uri: str, path: Path) -> None:
        self.contents, self.dialect, self.uri, self.path = contents, dialect, uri, path
        self.anchors: dict[str, tuple[Any, Path]] = {}
        self.dynamic: set[str] = set()
        self.nested: dict[int, Resource] = {}


_SINGLE_4 = frozenset("additionalItems additionalProperties items not".split())
_SINGLE_6 = _SINGLE_4 | {"contains", "propertyNames"}
_SINGLE_7 = _SINGLE_6 | {"if", "then", "else"}
_SINGLE_2019 = _SINGLE_7 | {"unevaluatedItems", "unevaluatedProperties", "contentSchema"}
_LISTS = frozenset("allOf anyOf oneOf items".split())
_MAPS = frozenset("definitions dependencies patternProperties properties".split())
_MAPS_2019 = _MAPS | {"$defs", "dependentSchemas"}

#: By draft: keywords that hold a schema, a list of schemas, schemas by name.
_SUBSCHEMAS = {
    4: (_SINGLE_4, _LISTS, _MAPS),
    6: (_SINGLE_6, _LISTS, _MAPS),
    7: (_SINGLE_7, _LISTS, _MAPS),
    2019: (_SINGLE_2019, _LISTS, _MAPS_2019),
    2020: (_SINGLE_2019 - {"additionalItems"}, _LISTS | {"prefixItems"}, _MAPS_2019),
}


def _subschemas(schema: dict[str, Any], path: Path, year: int) -> Iterator[tuple[Any, Path]]:
    """What a schema holds at the places where schemas stand, and where."""
    single, lists, maps = _SUBSCHEMAS[year]
    for key, value in schema.items():
        if isinstance(value, dict):
            if key in single:
                yield value, (path, key)
            elif key in maps:
                for name, inner in value.items():
                    yield inner, ((path, key), name)
        elif isinstance(value, list) and key in lists:
            for index, inner in enumerate(value):
                yield inner, ((path, key), index)


def resources_in(
    contents: Any,
    uri: str,
    path: Path,
    dialect: Dialect,
    dialect_of: Callable[[Any, Dialect], Dialect],
) -> Iterator[Resource]:
    """The resources of a document that stands at *uri*, the document itself first.

    *dialect* is that of the document; *dialect_of* tells the dialect that a schema names.
    """
    root = Resource(contents, dialect, uri, path)
    yield root
    stack: list[tuple[Any, Path, Resource]] = [(contents, path, root)]
    seen: set[tuple[int, int]] = set()  # an object may hold itself
    while stack:
        schema, here, resource = stack.pop()
        key = (id(schema), id(resource.contents))
        if not isinstance(schema, dict) or key in seen:
            continue
        seen.add(key)
        own = resource.dialect
        if schema is not contents and "$schema" in schema:
            own = dialect_of(schema, own)
        name = schema.get(own.id_keyword)
        if isinstance(name, str) and not (own.ref_hides and "$ref" in schema):
            base, _, fragment = name.partition("#")
            if schema is contents:
                root.uri = urljoin(uri, base)
            elif base:
                outer, resource = resource, Resource(schema, own, urljoin(resource.uri, base), here)
                outer.nested[id(schema)] = resource
                yield resource
            if fragment and own.year <= 7:
                resource.anchors.setdefault(fragment, (schema, here))
        _note_anchors(resource, schema, here)
        children = list(_subschemas(schema, here, resource.dialect.year))
        stack.extend((inner, where, resource) for inner, where in reversed(children))


def _note_anchors(resource: Resource, schema: dict[str, Any], path: Path) -> None:
    year = resource.dialect.year
    if year < 2019:
        return
    if year == 2019:
        if schema is resource.contents and schema.get("$recursiveAnchor") is True:
            resource.dynamic.add(RECURSIVE)
            resource.anchors[RECURSIVE] = (schema, path)
    elif isinstance(name := schema.get("$dynamicAnchor"), str) and name:
        resource.dynamic.add(name)
        resource.anchors.setdefault(name, (schema, path))
    if isinstance(name := schema.get("$anchor"), str) and name:
        resource.anchors.setdefault(name, (schema, path))
