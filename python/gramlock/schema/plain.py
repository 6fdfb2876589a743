"""The fast lane: plain schemas, read by the core in one pass.

Most schemas take no algebra: types, members, items, listed values, references, conditions on
scalars. The core reads those straight into a grammar (``plain.h``), the very one that the general
road makes. Whatever else it meets, and whatever is wrong, it leaves to that road, which is also
where the expressions of scalars with conditions come from, once for each different one.

The schema crosses as ``marshal`` writes it: exact about types, in order, and each shared part once.
"""

from __future__ import annotations

import marshal
from typing import TYPE_CHECKING, Any

from .._core import PlainSchemas, expressions
from ..errors import GramlockError
from . import metaschemas
from .algebra import Algebra
from .formats import FORMATS
from .layout import Layout
from .load import SCHEMA_NODES, Loader
from .model import Reader
from .numbers import NumberSet, from_bounds, number_expression
from .options import SchemaOptions
from .strings import any_characters, from_conditions, scalar_expression, string_expression

if TYPE_CHECKING:
    from .._core import Expressions, GrammarHandle
    from .nodes import Leaf

__all__ = ["leaves_of", "read_plain"]

_FORMAT = 4  # of marshal: shared parts once, short strings short


def read_plain(schema: Any, options: SchemaOptions) -> tuple[GrammarHandle, bytes] | None:
    """The grammar of a plain schema, and the schema as bytes; None where it is not plain.

    Never raises for what is wrong with the schema: the general road says it better.
    Cost: some microseconds, and about one for each subschema.
    """
    key = options.plain_key
    if key is None:
        return None
    store = expressions(options.limits)
    try:
        data = marshal.dumps(schema, _FORMAT)
    except ValueError:  # no plain data, or nested too deep
        return None
    lane: PlainSchemas | None = store.cache.get(key)
    if lane is None:
        lane = store.cache[key] = _lane(store, options)
    found = lane.read(data, store)
    if isinstance(found, list):
        for leaf in found:
            lane.put(leaf, *_resolved(marshal.loads(leaf), options, store))
        found = lane.read(data, store)
    if found is None or isinstance(found, list):  # the table of leaves may have begun again
        return None
    return found, data


def leaves_of(data: bytes, options: SchemaOptions) -> list[Leaf]:
    """The schemas that the general road reads from what :func:`read_plain` gave."""
    schema = marshal.loads(data)
    store = expressions(options.limits)
    algebra = Algebra(store, options.limit("schema_nodes", SCHEMA_NODES))
    reader = Reader(Loader(schema, options), options, algebra)
    reader.read(schema)
    return reader.leaves


def _lane(store: Expressions, options: SchemaOptions) -> PlainSchemas:
    gap = Layout(store, options).edge
    characters, quote = any_characters(store), store.literal(b'"')
    numbers = [number_expression(store, NumberSet(integer_only=whole)) for whole in (True, False)]
    draft = metaschemas.BY_URI[options.dialect].year
    expressions_of = (gap, string_expression(store), characters, quote, *numbers)
    return PlainSchemas(store, (*expressions_of, options.order == "any", draft))


def _resolved(leaf: dict[str, Any], options: SchemaOptions, store: Expressions) -> tuple[int, int]:
    """What the keywords of a leaf come down to: the kind, and the expression."""
    try:
        kind = leaf.get("type")
        if kind is None:
            asserted = options.formats == "assert" and leaf["format"] in FORMATS
            return (PlainSchemas.ASSERTED if asserted else PlainSchemas.IGNORED), 0
        if kind == "string":
            strings = from_conditions(leaf)
            if not strings.is_empty(store):
                return PlainSchemas.TERMINAL, strings.expression(store)
        elif leaf.get("multipleOf", 1) > 0:
            numbers = from_bounds(leaf, kind == "integer")
            if numbers.is_empty():
                return PlainSchemas.DECLINED, 0
            if numbers.lower is not None and numbers.lower == numbers.upper:
                return PlainSchemas.CONSTANT, scalar_expression(store, numbers.lower)
            return PlainSchemas.TERMINAL, number_expression(store, numbers)
    except GramlockError:  # the general road says what is wrong
        return PlainSchemas.DECLINED, 0
    return PlainSchemas.DECLINED, 0
