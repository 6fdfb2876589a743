"""JSON Schema → grammar.

::

    document ──load──▸ scopes ──model──▸ leaves ──algebra──▸ shapes ──emit──▸ grammar
              dialects, $ref   keywords           ∩ ∪ by type        objects, arrays, terminals

One call, :func:`compile_schema`; everything else is internal. A keyword is enforced, or the schema
is refused with every place that cannot be (or, with ``on_unsupported="relax"``, those places are
left out and listed in the report). Nothing is silent.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..errors import (
    InvalidSchemaError,
    Place,
    UnsatisfiableError,
    UnsupportedSchemaError,
)
from .algebra import Algebra, Node
from .emit import Emitter
from .load import Loader, place_of
from .model import Reader
from .options import SchemaOptions
from .report import Report

if TYPE_CHECKING:
    from .._core import GrammarHandle

__all__ = ["Report", "SchemaOptions", "compile_schema"]

MAX_NODES = 20_000


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
    from .._core import GrammarBuilder, expressions

    options = options or SchemaOptions()
    store = expressions()
    algebra = Algebra(store, options.limit("schema_nodes", MAX_NODES))
    reader = Reader(Loader(schema, options), options, algebra)
    root = reader.read(schema)
    if reader.invalid:
        raise InvalidSchemaError(_in_order(reader.invalid))
    _check_one_of(reader, algebra)
    emitter = Emitter(GrammarBuilder(store), algebra, options)
    node = emitter.root(root)
    if algebra.invalid:
        raise InvalidSchemaError(_in_order(algebra.invalid))
    if reader.unsupported and options.on_unsupported == "error":
        raise UnsupportedSchemaError(_in_order(reader.unsupported))
    if node == emitter.builder.FAIL or (emitter.recursive and not algebra.inhabited(root)):
        raise UnsatisfiableError(
            algebra.conflicts or Place("no value satisfies the schema", "")
        )
    return emitter.builder.finish(node), Report(reader.leaves, options, reader.unsupported)


def _in_order(places: list[Place]) -> list[Place]:
    """Each place once."""
    return list(dict.fromkeys(places))


def _check_one_of(reader: Reader, algebra: Algebra) -> None:
    """``oneOf`` was read as a union: right where its branches exclude each other."""
    for leaf, nodes in reader.one_of:
        pair = _overlap(leaf, nodes, algebra)
        if pair is not None:
            first, second = pair
            pointer, where = place_of((leaf.path, "oneOf"))
            message = f"branches {first} and {second} may hold at once{where}"
            reader.unsupported.append(Place(message, pointer))


def _overlap(leaf: Node, nodes: list[Node], algebra: Algebra) -> tuple[int, int] | None:
    """Two branches that may hold at once, if there are any."""
    for j, second in enumerate(nodes):
        for i in range(j):
            if algebra.disjoint(nodes[i], second):
                continue
            if not algebra.is_void(algebra.conjunction((leaf, nodes[i], second))):
                return i, j
    return None
