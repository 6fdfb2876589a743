"""Documents, dialects and references: from a ``$ref`` to the schema it means.

A *path* is where a schema stands in its document, kept as linked pairs ``(parent, token)`` because
almost none is ever printed; ``None`` is the root of the caller's document, and ``(uri,)`` the root
of another one.

A *scope* is what a schema's references are relative to: a dialect and a base URI. Most documents
hold no identifiers below their root, so their local references are plain JSON pointers, resolved
here at a fraction of a microsecond. Everything else (embedded resources, anchors, other documents)
goes through the ``referencing`` library, built on first use. Nothing is ever fetched.
"""

from __future__ import annotations

from typing import Any, NamedTuple
from urllib.parse import unquote

from ..errors import LimitError
from .options import DIALECTS, SchemaOptions

__all__ = ["Dialect", "Loader", "Path", "Scope", "Target", "UnresolvedError", "place_of"]

Path = Any  # None | (uri,) | (Path, token): a recursive type that costs nothing to build

SCHEMA_DEPTH = 256
SCHEMA_NODES = 20_000


class Dialect:
    """What differs between the drafts.

    Attributes:
        uri: As in ``$schema``, without a trailing ``#``.
        year: 4, 6, 7, 2019 or 2020, so that dialects compare in time.
        ref_hides: Whether ``$ref`` hides its siblings.
        id_keyword: The keyword that names a resource.
    """

    __slots__ = ("id_keyword", "ref_hides", "uri", "year")

    def __init__(self, uri: str, year: int) -> None:
        self.uri, self.year = uri, year
        self.ref_hides = year <= 7
        self.id_keyword = "id" if year == 4 else "$id"


_YEARS = {"draft4": 4, "draft6": 6, "draft7": 7, "2019-09": 2019, "2020-12": 2020}
_BY_URI = {uri: Dialect(uri, _YEARS[name]) for name, uri in DIALECTS.items()}


class Scope:
    """What a schema's references are relative to.

    Attributes:
        dialect: Rules of the keywords.
        document: The resource that a fragment points into.
        root: Path of that resource.
        simple: No identifier below the root: local pointers can be followed directly.
        resolver: The ``referencing`` resolver, None until it is needed.
    """

    __slots__ = ("dialect", "document", "resolver", "root", "simple")

    def __init__(
        self, dialect: Dialect, document: Any, root: Path, simple: bool, resolver: Any = None
    ) -> None:
        self.dialect, self.document, self.root = dialect, document, root
        self.simple, self.resolver = simple, resolver


class Target(NamedTuple):
    """A resolved reference."""

    contents: Any
    path: Path
    scope: Scope


class UnresolvedError(Exception):
    """A reference without a target; *missing* tells an absent document from a dangling pointer."""

    def __init__(self, message: str, missing: bool = False) -> None:
        self.missing = missing
        super().__init__(message)


def pointer_of(path: Path) -> str:
    """The JSON pointer of *path* in its document."""
    tokens = []
    while path is not None and len(path) == 2:
        path, token = path
        tokens.append(str(token).replace("~", "~0").replace("/", "~1"))
    return "".join("/" + token for token in reversed(tokens))


def place_of(path: Path) -> tuple[str, str]:
    """The JSON pointer, and a remark if it is one into another document."""
    pointer = pointer_of(path)
    while path is not None and len(path) == 2:
        path = path[0]
    return pointer, "" if path is None else f" (in {path[0]})"


def survey(document: Any, limit: int, members: int) -> bool:
    """Whether identifiers occur below the root; refuses nesting beyond *limit*, and an object of
    more than *members* members before any work is spent on them.

    Raises:
        LimitError: ``schema_depth``, ``schema_nodes``.
    """
    found = False
    seen: set[int] = set()
    level, depth = [document], 0
    while level:
        if depth > limit:
            raise LimitError("schema_depth", depth, limit)
        below: list[Any] = []
        for value in level:
            if id(value) in seen:
                continue
            seen.add(id(value))
            if isinstance(value, dict):
                if len(value) > members:
                    raise LimitError("schema_nodes", len(value), members)
                if not found and depth and _names_itself(value):
                    found = True
                below.extend(v for v in value.values() if isinstance(v, (dict, list)))
            else:
                below.extend(v for v in value if isinstance(v, (dict, list)))
        level, depth = below, depth + 1
    return found


def _names_itself(value: dict[str, Any]) -> bool:
    return (
        ("$id" in value and isinstance(value["$id"], str))
        or ("id" in value and isinstance(value["id"], str))
        or ("$anchor" in value and isinstance(value["$anchor"], str))
        or ("$dynamicAnchor" in value and isinstance(value["$dynamicAnchor"], str))
    )


def follow(document: Any, root: Path, fragment: str) -> tuple[Any, Path]:
    """The value at a JSON pointer in URI fragment form.

    Raises:
        UnresolvedError: Nothing is there.
    """
    value, path = document, root
    for token in unquote(fragment).split("/")[1:]:
        token = token.replace("~1", "/").replace("~0", "~")
        if isinstance(value, dict) and token in value:
            value = value[token]
        elif isinstance(value, list) and token.isdecimal() and int(token) < len(value):
            value = value[int(token)]
        else:
            raise UnresolvedError(f"the reference leads nowhere at {token!r}")
        path = (path, token)
    return value, path


class Loader:
    """The documents of one conversion, and its references."""

    def __init__(self, schema: Any, options: SchemaOptions) -> None:
        self.options = options
        self._limit = options.limit("schema_depth", SCHEMA_DEPTH)
        self._schema = schema
        self._members = options.limit("schema_nodes", SCHEMA_NODES)
        nested = survey(schema, self._limit, self._members) if isinstance(schema, dict) else False
        self.unknown_dialect: str | None = None
        dialect = self.dialect_of(schema, _BY_URI[options.dialect])
        self.root = Scope(dialect, schema, None, not nested)
        self._cache: dict[tuple[int, str], Target] = {}
        self._registry: Any = None
        self._scopes: dict[int, Scope] = {}
        self._paths: dict[int, Path] = {}

    def dialect_of(self, schema: Any, default: Dialect) -> Dialect:
        """The dialect that *schema* names, or *default*."""
        uri = schema.get("$schema") if isinstance(schema, dict) else None
        if not isinstance(uri, str):
            return default
        dialect = _BY_URI.get(uri[:-1] if uri.endswith("#") else uri)
        if dialect is None:
            self.unknown_dialect = uri
            return default
        return dialect

    def enter(self, scope: Scope, schema: dict[str, Any], path: Path) -> Scope:
        """The scope inside *schema*, a subschema met in *scope*; a new one if it has an id."""
        if scope.simple:
            return scope
        name = schema.get(scope.dialect.id_keyword)
        if not isinstance(name, str) or name.startswith("#") or schema is scope.document:
            return scope
        if scope.dialect.ref_hides and "$ref" in schema:
            return scope
        known = self._scopes.get(id(schema))
        if known is not None:
            return known
        dialect = self.dialect_of(schema, scope.dialect)
        resolver = self._resolver(scope).in_subresource(self._resource(schema, dialect))
        inner = Scope(dialect, schema, path, False, resolver)
        self._scopes[id(schema)] = inner
        return inner

    def resolve(self, scope: Scope, reference: str) -> Target:
        """The schema that *reference* means in *scope*.

        Raises:
            UnresolvedError: It is dangling, or its document is not here.
        """
        key = (id(scope), reference)
        target = self._cache.get(key)
        if target is None:
            if scope.simple and (reference == "#" or reference.startswith("#/")):
                value, path = follow(scope.document, scope.root, reference[1:])
                target = Target(value, path, scope)
            else:
                target = self._lookup(scope, reference)
            self._cache[key] = target
        return target

    def count(self, keyword: str, value: Any) -> int:
        """How often *keyword* has *value* in all documents."""
        found = 0
        stack: list[Any] = [self._schema, *self.options.registry.values()]
        seen: set[int] = set()
        while stack:
            item = stack.pop()
            if id(item) in seen:
                continue
            seen.add(id(item))
            item = getattr(item, "contents", item)  # a referencing.Resource
            if isinstance(item, dict):
                found += item.get(keyword) == value
                stack.extend(v for v in item.values() if isinstance(v, (dict, list)))
            elif isinstance(item, list):
                stack.extend(v for v in item if isinstance(v, (dict, list)))
        return found

    # The rest is the slow road, through the referencing library.

    def _lookup(self, scope: Scope, reference: str) -> Target:
        from referencing import exceptions

        resolver = self._resolver(scope)
        try:
            found = resolver.lookup(reference)
            base = found.resolver.lookup("#").contents
        except (exceptions.PointerToNowhere, exceptions.NoSuchAnchor, exceptions.InvalidAnchor):
            raise UnresolvedError(f"the reference {reference!r} leads nowhere") from None
        except exceptions.Unresolvable:
            raise UnresolvedError(
                f"the document of {reference!r} is not in the registry (nothing is fetched)", True
            ) from None
        except (ValueError, TypeError, LookupError, AttributeError):
            raise UnresolvedError(f"the reference {reference!r} cannot be followed") from None
        contents = found.contents
        inner = self._scope_at(base, scope, found.resolver)
        fragment = reference.partition("#")[2]
        path = self._paths.get(id(contents), (inner.root, "#" + fragment))
        return Target(contents, path, inner)

    def _scope_at(self, base: Any, scope: Scope, resolver: Any) -> Scope:
        if base is self._schema:
            return self.root
        inner = self._scopes.get(id(base))
        if inner is None:
            dialect = self.dialect_of(base, scope.dialect)
            inner = Scope(dialect, base, self._paths.get(id(base)), False, resolver)
            self._scopes[id(base)] = inner
        return inner

    def _resolver(self, scope: Scope) -> Any:
        if scope.resolver is None:
            if self._registry is None:
                self._open()
            resource = self._resource(scope.document, scope.dialect)
            uri = resource.id() or ""
            scope.resolver = self._registry.resolver(base_uri=uri.rstrip("#"))
        return scope.resolver

    def _resource(self, contents: Any, dialect: Dialect) -> Any:
        from referencing.jsonschema import specification_with

        return specification_with(dialect.uri).create_resource(contents)

    def _open(self) -> None:
        """Collects all documents and the identifiers in them."""
        from referencing import Registry

        given = self.options.registry
        if isinstance(given, Registry):
            registry: Any = given
        else:
            registry = Registry()
            for uri, contents in given.items():
                contents = getattr(contents, "contents", contents)  # a referencing.Resource
                if isinstance(contents, dict):
                    survey(contents, self._limit, self._members)
                self._note(contents, (uri,))
                dialect = self.dialect_of(contents, self.root.dialect)
                registry = _crawled(registry, uri, self._resource(contents, dialect))
        self._note(self._schema, None)
        self._registry = _crawled(registry, "", self._resource(self._schema, self.root.dialect))

    def _note(self, document: Any, root: Path) -> None:
        """Remembers the path of everything in *document*."""
        stack = [(document, root)]
        while stack:
            value, path = stack.pop()
            if id(value) in self._paths:
                continue
            if isinstance(value, dict):
                self._paths[id(value)] = path
                stack.extend((v, (path, k)) for k, v in value.items())
            elif isinstance(value, list):
                self._paths[id(value)] = path
                stack.extend((v, (path, i)) for i, v in enumerate(value))


def _crawled(registry: Any, uri: str, resource: Any) -> Any:
    """*registry* with a document and its identifiers; those of a malformed one are not found.

    What is malformed about it the checks of the keywords will say, if it is ever used.
    """
    registry = registry.crawl()
    try:
        return registry.with_resource(uri, resource).crawl()
    except Exception:
        return registry
