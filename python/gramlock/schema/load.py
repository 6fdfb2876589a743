"""Documents, dialects and references: from a ``$ref`` to the schema it means.

A *path* is where a schema stands in its document, kept as linked pairs ``(parent, token)`` because
almost none is ever printed; ``None`` is the root of the caller's document, and ``(uri,)`` the root
of another one.

A *scope* is what a schema's references are relative to: a resource, and the dynamic scope that it
was reached in, as far as that can matter: for each dynamic anchor the outermost resource that has
it. So schemas are the same node wherever no dynamic reference tells them apart, and a recursive
schema meets finitely many scopes.

Most documents hold no identifiers below their root, so their local references are plain JSON
pointers, resolved here at a fraction of a microsecond. Everything else (embedded resources,
anchors, other documents) takes an index of identifiers, built on first use. Nothing is ever
fetched: other documents come from the caller's registry, a mapping or a ``referencing.Registry``,
and the drafts' own metaschemas are built in.
"""

from __future__ import annotations

from typing import Any, NamedTuple
from urllib.parse import unquote, urljoin

from ..errors import LimitError
from . import metaschemas
from .options import SchemaOptions
from .resources import RECURSIVE, Dialect, Path, Resource, resources_in

__all__ = [
    "Dialect",
    "Loader",
    "Path",
    "Scope",
    "Target",
    "UnresolvedError",
    "place_of",
    "pointer_of",
]

SCHEMA_DEPTH = 256
SCHEMA_NODES = 20_000

MAX_SCOPES = 1024  # resources times dynamic scopes

#: Dynamic anchors by name, each with the outermost resource that has it.
Dynamic = tuple[tuple[str, Resource], ...]


class Scope:
    """What a schema's references are relative to.

    Attributes:
        dialect: Rules of the keywords.
        document: The resource that a fragment points into.
        root: Path of that resource.
        simple: No identifier below the root: local pointers can be followed directly.
        resource: Its identifiers, None until they are needed.
        dynamic: The dynamic scope.
    """

    __slots__ = ("dialect", "document", "dynamic", "resource", "root", "simple")

    def __init__(
        self,
        dialect: Dialect,
        document: Any,
        root: Path,
        simple: bool,
        resource: Resource | None = None,
        dynamic: Dynamic = (),
    ) -> None:
        self.dialect, self.document, self.root = dialect, document, root
        self.simple, self.resource, self.dynamic = simple, resource, dynamic


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
            inner = value
            if isinstance(value, dict):
                if len(value) > members:
                    raise LimitError("schema_nodes", len(value), members)
                if not (found or _NAMING.isdisjoint(value)) and depth and _names_itself(value):
                    found = True
                inner = value.values()
            below += [v for v in inner if isinstance(v, (dict, list))]
        level, depth = below, depth + 1
    return found


_NAMING = frozenset(("$id", "id", "$anchor", "$dynamicAnchor"))


def _names_itself(value: dict[str, Any]) -> bool:
    return any(isinstance(value.get(key), str) for key in _NAMING)


def follow(document: Any, root: Path, fragment: str) -> tuple[Any, Path]:
    """The value at a JSON pointer in URI fragment form.

    Raises:
        UnresolvedError: Nothing is there.
    """
    value, path = document, root
    for token in unquote(fragment).split("/")[1:]:
        value, path = step(value, path, token)
    return value, path


def step(value: Any, path: Path, token: str) -> tuple[Any, Path]:
    """The member or item of *value* that one token of a JSON pointer means.

    Raises:
        UnresolvedError: There is none.
    """
    token = token.replace("~1", "/").replace("~0", "~")
    if isinstance(value, dict) and token in value:
        return value[token], (path, token)
    if isinstance(value, list) and token.isdecimal() and int(token) < len(value):
        return value[int(token)], (path, token)
    raise UnresolvedError(f"the reference leads nowhere at {token!r}")


class Loader:
    """The documents of one conversion, and its references.

    Attributes:
        root: The scope of the caller's document.
        problems: Dialects that cannot be read and were met: a message, and the path of the
            schema that names it.
    """

    def __init__(self, schema: Any, options: SchemaOptions) -> None:
        self.options = options
        self._limit = options.limit("schema_depth", SCHEMA_DEPTH)
        self._schema = schema
        self._members = options.limit("schema_nodes", SCHEMA_NODES)
        nested = survey(schema, self._limit, self._members) if isinstance(schema, dict) else False
        self._dialects: dict[str, Dialect] = {}
        self._cache: dict[tuple[int, str, bool], Target] = {}
        self._by_uri: dict[str, Resource] = {}
        self._ambiguous: set[str] = set()
        self._scopes: dict[tuple[int, Dynamic], Scope] = {}
        self._keys: dict[str, str] | None = None
        self._registered = False
        self.problems: list[tuple[str, Path]] = []
        dialect = self.dialect_of(schema, metaschemas.BY_URI[options.dialect])
        self.root = Scope(dialect, schema, None, not nested)
        if dialect.problem:
            self.problems.append((dialect.problem, None))
        if nested or (isinstance(schema, dict) and _declares_dynamic(schema)):
            self._open()

    def dialect_of(self, schema: Any, default: Dialect) -> Dialect:
        """The dialect that *schema* names, or *default*."""
        uri = schema.get("$schema") if isinstance(schema, dict) else None
        if not isinstance(uri, str):
            return default
        uri = uri[:-1] if uri.endswith("#") else uri
        dialect = metaschemas.BY_URI.get(uri) or self._dialects.get(uri)
        if dialect is None:
            unknown = Dialect(uri, default.year, problem=f"the dialect {uri!r} is not known")
            self._dialects[uri] = unknown  # a metaschema may name itself
            metaschema = self._given(uri)
            if metaschema is None:
                metaschema = metaschemas.document(uri)
            dialect = unknown
            if isinstance(metaschema, dict):
                base = self.dialect_of(metaschema, default)
                vocabulary = metaschema.get("$vocabulary")
                dialect = metaschemas.with_vocabulary(uri, base, vocabulary)
            self._dialects[uri] = dialect
        return dialect

    def enter(self, scope: Scope, schema: dict[str, Any], path: Path) -> Scope:
        """The scope inside *schema*, a subschema met in *scope*; a new one if it has an id."""
        if scope.simple:
            return scope
        outer = self._resource_of(scope)
        resource = outer.nested.get(id(schema))
        if resource is None:
            name = schema.get(scope.dialect.id_keyword)
            if not isinstance(name, str) or name.startswith("#") or schema is scope.document:
                return scope
            if scope.dialect.ref_hides and "$ref" in schema:
                return scope
            # A reference led to where the dialect has no schemas.
            dialect = self.dialect_of(schema, scope.dialect)
            resource = outer.nested[id(schema)] = self._index(schema, outer.uri, path, dialect)
        return self._scope(resource, scope.dynamic)

    def resolve(self, scope: Scope, reference: str, key: str = "$ref") -> Target:
        """The schema that *reference* means in *scope*.

        Args:
            scope: Where the reference stands.
            reference: A URI reference.
            key: The keyword that it is the value of; those of dynamic references look at the
                dynamic scope.

        Raises:
            UnresolvedError: It is dangling, or its document is not here.
        """
        dynamic = key != "$ref"
        known = (id(scope), reference, dynamic)
        target = self._cache.get(known)
        if target is None:
            local = reference == "#" or reference.startswith("#/")
            if scope.simple and local and key != "$recursiveRef":
                value, path = follow(scope.document, scope.root, reference[1:])
                target = Target(value, path, scope)
            else:
                target = self._lookup(scope, reference, dynamic)
            self._cache[known] = target
        return target

    # -- the slow road ------------------------------------------------------------------------

    def _lookup(self, scope: Scope, reference: str, dynamic: bool) -> Target:
        base, _, fragment = reference.partition("#")
        resource = self._resource_of(scope)
        if base:
            try:
                uri = urljoin(resource.uri, base)
            except ValueError:
                message = f"the reference {reference!r} cannot be followed"
                raise UnresolvedError(message) from None
            resource = self._at(uri, reference)
        if fragment and not fragment.startswith("/"):
            name = unquote(fragment)
            if dynamic and name in resource.dynamic:
                resource = dict(scope.dynamic).get(name, resource)
            found = resource.anchors.get(name) if name else None
            if found is None:
                raise UnresolvedError(f"the reference {reference!r} leads nowhere")
            contents, path = found
        elif dynamic and not fragment and RECURSIVE in resource.dynamic:
            resource = dict(scope.dynamic).get(RECURSIVE, resource)
            contents, path = resource.contents, resource.path
        else:
            contents, path, resource = _follow_into(resource, fragment)
        return Target(contents, path, self._scope(resource, scope.dynamic))

    def _resource_of(self, scope: Scope) -> Resource:
        if scope.resource is None:  # only the caller's document starts without
            self._open()
        assert scope.resource is not None
        return scope.resource

    def _scope(self, resource: Resource, dynamic: Dynamic) -> Scope:
        """The scope of *resource* when it is entered from *dynamic*."""
        new = resource.dynamic.difference(name for name, _ in dynamic)
        if new:
            entered = [*dynamic, *((name, resource) for name in new)]
            dynamic = tuple(sorted(entered, key=lambda item: item[0]))
        key = (id(resource), dynamic)
        scope = self._scopes.get(key)
        if scope is None:
            if len(self._scopes) >= MAX_SCOPES:
                raise LimitError("dynamic_scopes", len(self._scopes) + 1, MAX_SCOPES)
            if resource.dialect.problem:
                self.problems.append((resource.dialect.problem, resource.path))
            simple = not resource.nested
            scope = Scope(
                resource.dialect, resource.contents, resource.path, simple, resource, dynamic
            )
            self._scopes[key] = scope
        return scope

    # -- documents ----------------------------------------------------------------------------

    def _open(self) -> None:
        """Indexes the caller's document."""
        resource = self._index(self._schema, "", None, self.root.dialect)
        scope = self.root
        scope.resource = resource
        scope.dynamic = tuple((name, resource) for name in sorted(resource.dynamic))
        self._scopes[id(resource), scope.dynamic] = scope

    def _index(self, contents: Any, uri: str, path: Path, dialect: Dialect) -> Resource:
        """Notes the identifiers of a document; the resource that it is."""
        if contents is not self._schema and isinstance(contents, dict):
            survey(contents, self._limit, self._members)
        first: Resource | None = None
        for resource in resources_in(contents, uri, path, dialect, self.dialect_of):
            if first is None:
                first = resource  # its own URI is known once the iteration goes on
                continue
            self._enlist(resource.uri, resource)
        assert first is not None
        self._enlist(first.uri, first)
        return first

    def _enlist(self, uri: str, resource: Resource) -> None:
        known = self._by_uri.setdefault(uri, resource)
        if known.contents is not resource.contents and known.contents != resource.contents:
            self._ambiguous.add(uri)

    def _at(self, uri: str, reference: str) -> Resource:
        """The resource at *uri*.

        Raises:
            UnresolvedError: There is none, or more than one.
        """
        found = self._by_uri.get(uri)
        if found is None:
            contents = self._given(uri)
            if contents is not None:
                found = self._add(uri, contents)
        if found is None and not self._registered:
            self._registered = True
            for each in self._registry_keys():
                if each not in self._by_uri:
                    self._add(each, self._given(each))
            found = self._by_uri.get(uri)
        if found is None:
            contents = metaschemas.document(uri)
            if contents is not None:
                found = self._add(uri, contents)
        if found is None:
            raise UnresolvedError(
                f"the document of {reference!r} is not in the registry (nothing is fetched)", True
            )
        if uri in self._ambiguous:
            raise UnresolvedError(f"more than one schema has the identifier {uri!r}")
        return found

    def _add(self, uri: str, contents: Any) -> Resource:
        """Indexes another document, which can then be found under *uri*, too."""
        dialect = self.dialect_of(contents, self.root.dialect)
        return self._by_uri.setdefault(uri, self._index(contents, uri, (uri,), dialect))

    def _registry_keys(self) -> dict[str, str]:
        """The registry's URIs without empty fragments, and as they stand there."""
        if self._keys is None:
            self._keys = {
                (uri[:-1] if uri.endswith("#") else uri): uri
                for uri in self.options.registry
                if isinstance(uri, str)
            }
        return self._keys

    def _given(self, uri: str) -> Any:
        """The document that the caller's registry has for *uri*, or None."""
        registry = self.options.registry
        key = self._registry_keys().get(uri)
        if key is not None:
            return _contents(registry[key])
        retrieve = getattr(registry, "get_or_retrieve", None)  # a referencing.Registry
        if retrieve is None:
            return None
        try:
            return _contents(retrieve(uri).value)
        except LookupError:
            return None


def _contents(document: Any) -> Any:
    """The schema in a ``referencing.Resource``, or the document itself."""
    return getattr(document, "contents", document)


def _declares_dynamic(schema: dict[str, Any]) -> bool:
    """Whether the root itself is where dynamic references may lead."""
    return "$dynamicAnchor" in schema or "$recursiveAnchor" in schema


def _follow_into(resource: Resource, fragment: str) -> tuple[Any, Path, Resource]:
    """The value at a JSON pointer, and the resource that it lies in.

    Raises:
        UnresolvedError: Nothing is there.
    """
    value, path = resource.contents, resource.path
    for token in unquote(fragment).split("/")[1:]:
        value, path = step(value, path, token)
        resource = resource.nested.get(id(value), resource)
    return value, path, resource
