"""JSON Schema → grammar.

::

    document ──load──▸ scopes ──model──▸ leaves ──algebra──▸ shapes ──emit──▸ grammar
              dialects, $ref   keywords           ∩ ∪ by type        objects, arrays, terminals

One call, :func:`compile_schema`; everything else is internal. A keyword is enforced, or the schema
is refused with every place that cannot be (or, with ``on_unsupported="relax"``, those places are
left out and listed in the report). Nothing is silent.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from ..errors import (
    InvalidSchemaError,
    LimitError,
    Place,
    UnsatisfiableError,
    UnsupportedSchemaError,
)
from .algebra import Algebra, Node
from .emit import Emitter
from .load import SCHEMA_NODES, Loader, place_of
from .model import Reader
from .options import SchemaOptions
from .report import Report

if TYPE_CHECKING:
    from .._core import GrammarHandle

__all__ = ["Report", "SchemaOptions", "compile_schema"]


def compile_schema(
    schema: Any, options: SchemaOptions | None = None
) -> tuple[GrammarHandle, Report]:
    """The grammar of the JSON texts whose values satisfy *schema*, and what became of each keyword.

    Args:
        schema: A schema as ``json.load`` gives it: a dict, True or False. It is read, never kept
            or changed.
        options: How to read it and how values may be written.

    Raises:
        InvalidSchemaError: It is no JSON Schema of its dialect; every place is listed.
        UnsupportedSchemaError: Keywords that cannot be enforced; every place is listed.
        UnsatisfiableError: No value satisfies it; lists places that rule each other out.
        LimitError: It is nested too deep, or its combinations are too many.
    """
    options = options or SchemaOptions()
    try:
        grammar = _compile(schema, options, True)
    except LimitError as error:  # complements multiply: without them the place can be named
        if error.budget != "schema_alternatives":
            raise
        grammar = None
    if grammar is None:  # the complement of what is relaxed, and too large, would be too small
        grammar = _compile(schema, options, False)
    assert grammar is not None
    return grammar


def _compile(
    schema: Any, options: SchemaOptions, exact: bool
) -> tuple[GrammarHandle, Report] | None:
    """One attempt; None if it took complements although something had to be relaxed."""
    from .._core import GrammarBuilder, expressions

    store = expressions(options.limits)
    algebra = Algebra(store, options.limit("schema_nodes", SCHEMA_NODES))
    reader = Reader(Loader(schema, options), options, algebra)
    root = reader.read(schema)
    if reader.invalid:
        raise InvalidSchemaError(_in_order(reader.invalid))
    _separate_branches(reader, algebra, exact)
    emitter = Emitter(GrammarBuilder(store), algebra, options)
    node = emitter.root(root)
    if algebra.invalid:
        raise InvalidSchemaError(_in_order(algebra.invalid))
    unsupported = _in_order(reader.unsupported + algebra.unsupported)
    if unsupported and options.on_unsupported == "error":
        raise UnsupportedSchemaError(unsupported)
    if unsupported and exact and algebra.negates():
        return None
    if node == emitter.builder.FAIL or (emitter.recursive and not algebra.inhabited(root)):
        raise UnsatisfiableError(algebra.conflicts or Place("no value satisfies the schema", ""))
    return emitter.builder.finish(node), Report(reader.leaves, options, unsupported)


def _in_order(places: list[Place]) -> list[Place]:
    """Each place once."""
    return list(dict.fromkeys(places))


def _separate_branches(reader: Reader, algebra: Algebra, exact: bool) -> None:
    """``oneOf`` was read as a union: takes out of each branch what others hold as well."""
    changed = []
    for leaf, nodes in reader.one_of:
        pairs = list(_overlaps(leaf, nodes, algebra))
        if pairs and not exact:
            pointer, where = place_of((leaf.path, "oneOf"))
            first, second = pairs[0]
            message = f"branches {first} and {second} may hold at once{where}"
            reader.unsupported.append(Place(message, pointer))
        elif pairs:
            changed.append((nodes, pairs))
    for nodes, pairs in changed:
        branches = list(nodes)
        for i, j in pairs:
            nodes[i] = algebra.conjunction((nodes[i], algebra.negation(branches[j])))
            nodes[j] = algebra.conjunction((nodes[j], algebra.negation(branches[i])))
    if changed:
        algebra.forget(reader.leaves)
        for node in reader.derived:
            node.shape = None


def _overlaps(leaf: Node, nodes: list[Node], algebra: Algebra) -> Iterator[tuple[int, int]]:
    """The pairs of branches that may hold at once."""
    for j, second in enumerate(nodes):
        for i in range(j):
            if algebra.disjoint(nodes[i], second):
                continue
            if not algebra.is_void(algebra.conjunction((leaf, nodes[i], second))):
                yield i, j
