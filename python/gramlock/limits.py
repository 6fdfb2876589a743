"""Budgets: how much memory and work a grammar, a program or one call may take.

Passing one is an ordinary :class:`~gramlock.errors.LimitError` that names the field below.
"""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Limits"]


@dataclass(frozen=True)
class Limits:
    """Budgets and their defaults.

    Attributes:
        expression_bytes: Memory of the store that a front end builds its expressions in. All
            grammars with the default share one store, and its successor when it is half full.
        program_bytes: Memory of one program's tables (configurations, masks). When it is full the
            tables are dropped and live matchers rebuild what they need; the error comes only when
            one sequence alone does not fit.
        steps: Work of one call (compile, accept, fill): derivatives, closures, trie nodes.
        schema_depth: Nesting of a JSON Schema document.
        schema_nodes: Subschemas after combining, so that products of schemas stay bounded; also
            the members of one object in the document.
        sample_bytes: Length of a sampled sentence.
    """

    expression_bytes: int = 256 << 20
    program_bytes: int = 64 << 20
    steps: int = 20_000_000
    schema_depth: int = 256
    schema_nodes: int = 20_000
    sample_bytes: int = 100_000
