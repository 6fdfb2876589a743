"""JSON Schema → grammar.

::

    document ──load──▸ scopes ──model──▸ leaves ──algebra──▸ shapes ──emit──▸ grammar
              dialects, $ref   keywords          ∩ ∪ ¬ by type       objects, arrays, terminals

One call, :func:`compile_schema`; everything else is internal. A keyword is enforced, or the schema
is refused with every place that cannot be (or, with ``on_unsupported="relax"``, those places are
left out and listed in the report). Nothing is silent.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ..errors import (
    InvalidSchemaError,
    LimitError,
    Place,
    UnsatisfiableError,
    UnsupportedSchemaError,
)
from .algebra import Algebra
from .emit import Emitter
from .exclusive import separate
from .inhabited import has_sentence, is_plain
from .load import SCHEMA_NODES, Loader, place_of
from .model import Reader
from .options import DEFAULT, SchemaOptions
from .plain import leaves_of, read_plain
from .relax import Dropped, Loose, keyword_of
from .report import Report

if TYPE_CHECKING:
    from .._core import GrammarHandle

__all__ = ["Report", "SchemaOptions", "compile_schema"]

MAX_ATTEMPTS = 4  # each finds places that the complements of the one before had hidden


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
    options = options or DEFAULT
    plain = read_plain(schema, options)
    if plain is not None:
        handle, data = plain
        return handle, Report(lambda: leaves_of(data, options), options, ())
    if options.on_unsupported == "relax":
        return _relaxed(schema, options).result()
    attempt = _Attempt(schema, options)
    if attempt.unsupported:
        raise UnsupportedSchemaError(attempt.unsupported)
    return attempt.result()


def _relaxed(schema: Any, options: SchemaOptions) -> _Attempt:
    """A conversion that leaves out what it has to; in the worst case every complement."""
    known: list[Place] | None = None
    try:
        for _ in range(MAX_ATTEMPTS):
            attempt = _Attempt(schema, options, known)
            if attempt.settled:
                return attempt
            known = attempt.unsupported
    except LimitError as error:
        if error.budget != "schema_alternatives":
            raise
    return _Attempt(schema, options, known or [], negates=False)


class _Attempt:
    """One conversion.

    Args:
        left_out: Places that an earlier attempt could not enforce: no complement is taken of what
            reaches one of them.
        negates: Whether complements are taken of anything else.

    Attributes:
        unsupported: What cannot be enforced.
        settled: Whether the grammar has all values that it should have, and maybe more.
    """

    def __init__(
        self,
        schema: Any,
        options: SchemaOptions,
        left_out: Sequence[Place] | None = None,
        negates: bool = True,
    ) -> None:
        from .._core import GrammarBuilder, expressions

        store = expressions(options.limits)
        self.options = options
        self.algebra = algebra = Algebra(store, options.limit("schema_nodes", SCHEMA_NODES))
        dropped = None if left_out is None else Dropped(left_out, everything=not negates)
        self.reader = reader = Reader(Loader(schema, options), options, algebra, dropped)
        self.root = reader.read(schema)
        if reader.invalid:
            raise InvalidSchemaError(_in_order(reader.invalid + reader.unsupported))
        counts: list[Place] = []
        if dropped is not None:
            algebra.loose = Loose(reader, dropped)
            counts = list(reader.loose_counts(algebra.loose))
        separate(reader, algebra)
        self.emitter = Emitter(GrammarBuilder(store), algebra, options)
        self.node = self.emitter.root(self.root)
        if algebra.invalid:
            raise InvalidSchemaError(_in_order(algebra.invalid))
        places = reader.unsupported + algebra.unsupported
        if dropped is None:
            self.settled = not places or not (algebra.negates() or reader.counts)
        else:
            self.settled = not counts and all(p.pointer in dropped for p in algebra.unsupported)
        for path in algebra.left_out:
            pointer, where = place_of(keyword_of(path))
            message = f"left to a validator, since something in it cannot be enforced{where}"
            places.append(Place(message, pointer))
        self.unsupported = _in_order(places + counts)

    def result(self) -> tuple[GrammarHandle, Report]:
        """The grammar and its report.

        Raises:
            UnsatisfiableError: Nothing is in it.
        """
        emitter, reader = self.emitter, self.reader
        if self.node == emitter.builder.FAIL:
            raise self._nothing()
        if emitter.recursive and not self.algebra.inhabited(self.root):
            raise self._nothing()
        handle = emitter.builder.finish(self.node)
        if not is_plain(self.root, self.algebra) and not has_sentence(handle, self.options.limits):
            raise self._nothing()
        return handle, Report(reader.leaves, self.options, self.unsupported, reader.annotations)

    def _nothing(self) -> UnsatisfiableError:
        return UnsatisfiableError(
            self.algebra.conflicts or Place("no value satisfies the schema", "")
        )


def _in_order(places: list[Place]) -> list[Place]:
    """Each place once."""
    return list(dict.fromkeys(places))
