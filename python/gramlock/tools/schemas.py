"""A schema made ready for validation: a copy, its references resolved, nothing fetched.

::

    schema --copy--> plain data --walk--> false to NOTHING, enum to Listed, unions to Union
                                          every $ref looked up; what includes itself found

The copy is what the validator works on, so the caller's object may change afterwards. ``$schema``
is left out of it: ``jsonschema`` would go on with its own, uncorrected classes below one.

References go to the document itself and to the drafts' own metaschemas, and nowhere else.

Thread-safe: a prepared schema is never changed. Cost: about 20 microseconds a reference, 2 a
schema; once a tool.

Tested by tests/test_tools_validate.py.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any
from urllib.parse import unquote

from ..errors import (
    GrammarError,
    LimitError,
    MissingDependencyError,
    PointerError,
    ToolDefinitionError,
)
from ..schema.options import DIALECTS
from .json_values import fault_in
from .leaves import Listed
from .patterns import matcher
from .pointer import Place, from_pointer, to_pointer
from .unions import Union, find_tag

__all__ = [
    "FALSE",
    "IN_PLACE",
    "NOTHING",
    "Prepared",
    "Walk",
    "is_marked",
    "prepare",
    "registry",
    "specification",
    "subschemas",
]

#: Keyword that nothing satisfies.
FALSE = "gramlock:false"
#: What ``false`` becomes.
NOTHING: dict[str, Any] = {FALSE: True}

_SCHEMA_DEPTH = 200
_YEARS = {"draft4": 4, "draft6": 6, "draft7": 7, "2019-09": 2019, "2020-12": 2020}
_BY_URI = {uri: _YEARS[name] for name, uri in DIALECTS.items()}

_SINGLE = frozenset(
    "additionalItems additionalProperties contains contentSchema else if items not propertyNames "
    "then unevaluatedItems unevaluatedProperties".split()
)
_LISTS = frozenset("allOf anyOf items oneOf prefixItems".split())
_DEFINITIONS = frozenset(["$defs", "definitions"])
_MAPS = _DEFINITIONS | set("dependencies dependentSchemas patternProperties properties".split())
#: Keywords whose schemas look at the same value as the schema that they stand in.
IN_PLACE = frozenset("allOf anyOf dependencies dependentSchemas else if not oneOf then".split())
_Visit = tuple[dict[str, Any], Any, Place, bool]  # nested: an identifier moves the resolver
_BESIDE_REFERENCE = frozenset(
    "$ref $comment $defs definitions title description default examples deprecated".split()
)
_REFERENCES = ("$ref", "$dynamicRef", "$recursiveRef")
_SECRET_MARKS = ("writeOnly", "x-secret")


def is_marked(schema: dict[str, Any]) -> bool:
    """Whether a schema itself says that its values are secret."""
    marks = (schema.get(mark) is True for mark in _SECRET_MARKS)
    return schema.get("format") == "password" or any(marks)


@dataclass
class Prepared:
    """A schema that can be validated with.

    Attributes:
        root: The copy.
        year: Its draft: 4, 6, 7, 2019 or 2020.
        targets: What each reference leads to, by identity of the schema it stands in and keyword.
        own: Its schemas by identity, as opposed to those of meta-schemas it refers to.
        with_secrets: Identities of schemas that are annotated as secret, or hold or refer to such.
        dynamic: Whether what a reference means depends on where it is reached from.
        unevaluated: Whether there is a keyword that looks at what others looked at.
    """

    root: Any
    year: int
    targets: dict[tuple[int, str], Any] = field(default_factory=dict)
    own: dict[int, dict[str, Any]] = field(default_factory=dict)
    with_secrets: set[int] = field(default_factory=set)
    dynamic: bool = False
    unevaluated: bool = False


@lru_cache(maxsize=1)
def registry() -> Any:
    """The drafts' metaschemas, without ``$schema``; a registry that never fetches."""
    try:
        from jsonschema_specifications import REGISTRY
        from referencing import Registry
        from referencing.jsonschema import specification_with
    except ImportError as error:
        raise MissingDependencyError("jsonschema", "tools") from error
    found = []
    for uri in REGISTRY:
        contents = _copy(REGISTRY[uri].contents)
        dialect = contents.pop("$schema")
        found.append((uri, specification_with(dialect).create_resource(contents)))
    return Registry().with_resources(found).crawl()


@lru_cache(maxsize=1)
def _shared() -> frozenset[int]:
    """Identities of the schemas in the registry, which no walk may change."""
    found = set()
    stack = [registry()[uri].contents for uri in registry()]
    while stack:
        value = stack.pop()
        if isinstance(value, dict):
            found.add(id(value))
            stack.extend(value.values())
        elif isinstance(value, list):
            stack.extend(value)
    return frozenset(found)


def subschemas(
    schema: dict[str, Any], definitions: bool = False
) -> Iterator[tuple[str, Place, Any, Any, Any]]:
    """What a schema holds at the places where schemas stand.

    Yields:
        Keyword, place, the schema, and the container and key that hold it.
    """
    for keyword, value in schema.items():
        if keyword in _DEFINITIONS and not definitions:
            continue
        if keyword in _MAPS and isinstance(value, dict):
            for name, inner in value.items():
                if not isinstance(inner, list):  # dependencies may list names
                    yield keyword, (keyword, name), inner, value, name
        elif keyword in _LISTS and isinstance(value, list):
            for index, inner in enumerate(value):
                yield keyword, (keyword, index), inner, value, index
        elif keyword in _SINGLE and isinstance(value, dict | bool):
            yield keyword, (keyword,), value, schema, keyword


def prepare(schema: Any) -> Prepared:
    """Copies a schema; :class:`Walk` does the rest.

    Raises:
        ToolDefinitionError: It is no object or boolean, holds what JSON cannot express, nests too
            deep, or names an unknown dialect.
    """
    if not isinstance(schema, dict | bool):
        raise ToolDefinitionError(f"#: a schema is an object or a boolean, not {schema!r:.80}")
    fault = fault_in(schema, _SCHEMA_DEPTH)
    if fault is not None:
        place = to_pointer(fault.place)
        raise ToolDefinitionError(f"#{place}: expected {fault.expected}, got {fault.got}")
    year = _year_of(schema)
    found = Prepared(_copy(schema), year)
    if found.root is False:
        found.root = NOTHING
    return found


def specification(year: int) -> Any:
    """How identifiers and references are read in a draft."""
    from referencing.jsonschema import specification_with

    uri = next(uri for uri, number in _BY_URI.items() if number == year)
    return specification_with(uri)


def _year_of(schema: Any) -> int:
    uri = schema.get("$schema", DIALECTS["2020-12"]) if isinstance(schema, dict) else None
    if uri is None:
        return 2020
    year = _BY_URI.get(uri.removesuffix("#")) if isinstance(uri, str) else None
    if year is None:
        raise ToolDefinitionError(f"#/$schema: the dialect {uri!r:.80} is not known")
    return year


def _copy(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _copy(part) for name, part in value.items()}
    return [_copy(item) for item in value] if isinstance(value, list) else value


class Walk:
    """One visit of every schema of a prepared document, which :meth:`run` completes."""

    def __init__(self, prepared: Prepared) -> None:
        self._prepared = prepared
        self._specification = specification(prepared.year)
        self._holders: dict[int, list[int]] = {}  # schema -> schemas that hold or refer to it
        self._including: dict[int, list[Any]] = {}  # schema -> schemas that see the same value
        self._places: dict[int, Place] = {}
        self._unions: list[tuple[dict[str, Any], Union]] = []
        self.problems: list[str] = []

    def run(self) -> None:
        """Replaces what is replaced, looks references up, finds tags.

        Raises:
            ToolDefinitionError: A reference leads nowhere, a pattern cannot be matched, a schema
                includes itself; every place is listed.
        """
        root = self._prepared.root
        if isinstance(root, dict):
            resource = self._specification.create_resource(root)
            stack: list[_Visit] = [(root, registry().resolver_with_root(resource), (), False)]
            while stack:
                stack.extend(reversed(self._visit(*stack.pop())))
            self._find_inclusions()
            self._spread_secrets()
            for schema, union in self._unions:
                find_tag(union, schema.get("discriminator"), self._target)
        if self.problems:
            raise ToolDefinitionError("; ".join(self.problems[:20]))

    def _visit(
        self, schema: dict[str, Any], resolver: Any, place: Place, nested: bool
    ) -> list[_Visit]:
        """Replaces what is replaced in one schema; the schemas to visit next."""
        if id(schema) in self._prepared.own or id(schema) in _shared():
            return []
        self._prepared.own[id(schema)] = schema
        self._places[id(schema)] = place
        prepared = self._prepared
        if nested:
            resolver = resolver.in_subresource(self._specification.create_resource(schema))
        self._drop_dialect(schema, place)
        found: list[_Visit] = []
        including = self._including.setdefault(id(schema), [])
        # Not the definitions: what nothing refers to says nothing; the grammar ignores it, too.
        hidden = prepared.year <= 7 and "$ref" in schema
        for keyword, more, inner, holder, key in [] if hidden else list(subschemas(schema)):
            if inner is False:
                inner = holder[key] = NOTHING
            if isinstance(inner, dict):
                found.append((inner, resolver, (*place, *more), True))
                if keyword in IN_PLACE:
                    including.append(inner)
        for keyword in _REFERENCES:
            if keyword in schema:
                target, its_resolver = self._look_up(schema, keyword, resolver, place)
                if isinstance(target, dict):
                    including.extend([target] if keyword == "$ref" else [])
                    found.append((target, its_resolver, _place_of(schema[keyword], place), False))
        for inner, *_ in found:
            self._holders.setdefault(id(inner), []).append(id(schema))
        self._replace(schema, place)
        return found

    def _drop_dialect(self, schema: dict[str, Any], place: Place) -> None:
        uri = schema.pop("$schema", None)
        named = "$id" in schema or "id" in schema
        if uri is not None and named and _year_of({"$schema": uri}) != self._prepared.year:
            self.problems.append(f"#{to_pointer(place)}: another dialect inside a schema")

    def _replace(self, schema: dict[str, Any], place: Place) -> None:
        prepared = self._prepared
        if prepared.year <= 7 and "$ref" in schema:
            return
        if isinstance(schema.get("enum"), list):
            schema["enum"] = Listed(schema["enum"])
        for keyword in ("anyOf", "oneOf"):
            if isinstance(schema.get(keyword), list):
                union = schema[keyword] = Union(schema[keyword])
                self._unions.append((schema, union))
        patterns = [schema["pattern"]] if isinstance(schema.get("pattern"), str) else []
        named = schema.get("patternProperties")
        for pattern in [*patterns, *(named if isinstance(named, dict) else ())]:
            self._check_pattern(pattern, place)
        if is_marked(schema):
            prepared.with_secrets.add(id(schema))
        prepared.dynamic |= "$dynamicRef" in schema or "$recursiveRef" in schema
        prepared.unevaluated |= "unevaluatedProperties" in schema or "unevaluatedItems" in schema

    def _check_pattern(self, pattern: str, place: Place) -> None:
        try:
            matcher(pattern)
        except (GrammarError, LimitError) as error:
            where = to_pointer(place)
            self.problems.append(f"#{where}: the pattern {pattern!r:.80} cannot be used: {error}")

    def _look_up(
        self, schema: dict[str, Any], keyword: str, resolver: Any, place: Place
    ) -> tuple[Any, Any]:
        """What a reference leads to, and the resolver there."""
        from referencing.exceptions import Unresolvable

        reference = "#" if keyword == "$recursiveRef" else schema[keyword]
        where = f"#{to_pointer((*place, keyword))}"
        try:
            resolved = resolver.lookup(reference)
        except (Unresolvable, ValueError, TypeError, AttributeError):
            self.problems.append(
                f"{where}: {reference!r:.100} leads to nothing in this schema (nothing is fetched)"
            )
            return None, None
        target = NOTHING if resolved.contents is False else resolved.contents
        if not isinstance(target, dict | bool):
            self.problems.append(f"{where}: what stands at {reference!r:.100} is no schema")
            return None, None
        self._prepared.targets[(id(schema), keyword)] = target
        return target, resolved.resolver

    def _find_inclusions(self) -> None:
        """Schemas that include themselves without taking anything of the value (core, 9.4.1)."""
        state: dict[int, int] = {}  # 1: being visited, 2: done
        for start in self._including:
            if start in state:
                continue
            state[start] = 1
            stack = [(start, iter(self._including[start]))]
            while stack:
                node, inner = stack[-1]
                following = next(inner, None)
                if following is None:
                    state[node] = 2
                    stack.pop()
                elif state.get(id(following)) == 1:
                    where = to_pointer(self._places.get(id(following), ()))
                    self.problems.append(
                        f"#{where}: the schema includes itself without taking anything of the value"
                    )
                    return
                elif id(following) not in state:
                    state[id(following)] = 1
                    stack.append((id(following), iter(self._including.get(id(following), ()))))

    def _target(self, schema: Any) -> Any:
        """The schema itself, or what it only refers to."""
        for _ in range(20):
            if not isinstance(schema, dict) or "$ref" not in schema:
                return schema
            if self._prepared.year > 7 and set(schema) - _BESIDE_REFERENCE:
                return schema
            schema = self._prepared.targets.get((id(schema), "$ref"))
        return None

    def _spread_secrets(self) -> None:
        found = self._prepared.with_secrets
        stack = list(found)
        while stack:
            for holder in self._holders.get(stack.pop(), ()):
                if holder not in found:
                    found.add(holder)
                    stack.append(holder)


def _place_of(reference: Any, place: Place) -> Place:
    """Where a reference leads, for messages; in another resource the place that refers to it."""
    if not isinstance(reference, str) or not reference.startswith("#/"):
        return place
    try:
        return from_pointer(unquote(reference[1:]))
    except PointerError:
        return place
