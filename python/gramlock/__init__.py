"""Gramlock: constrained decoding with exact grammars.

A schema, regular expression or grammar goes in; at every step of a language model's decoding a
bitmask says which tokens may come next, so that the finished text is valid by construction.

>>> import gramlock
>>> grammar = gramlock.Grammar.from_json_schema({"type": "integer", "minimum": 2})
>>> grammar.accepts("3"), grammar.accepts("1")
(True, False)
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .bitmask import (
    allocate_token_bitmask,
    apply_token_bitmask_inplace,
    fill_next_token_bitmasks,
)
from .compiler import Program
from .errors import (
    GramlockError,
    GrammarError,
    GrammarSyntaxError,
    InvalidSchemaError,
    LimitError,
    MatcherError,
    MissingDependencyError,
    Place,
    SerializationError,
    UnsatisfiableError,
    UnsupportedSchemaError,
    VocabularyError,
)
from .grammar import Grammar
from .limits import Limits
from .matcher import Matcher
from .vocabulary import Vocabulary

if TYPE_CHECKING:
    from .integrations.transformers import LogitsProcessor
    from .schema import SchemaOptions

__version__ = "0.1.0"

__all__ = [
    "Grammar",
    "GrammarError",
    "GrammarSyntaxError",
    "GramlockError",
    "InvalidSchemaError",
    "LimitError",
    "Limits",
    "LogitsProcessor",
    "Matcher",
    "MatcherError",
    "MissingDependencyError",
    "Place",
    "Program",
    "SchemaOptions",
    "SerializationError",
    "UnsatisfiableError",
    "UnsupportedSchemaError",
    "Vocabulary",
    "VocabularyError",
    "allocate_token_bitmask",
    "apply_token_bitmask_inplace",
    "fill_next_token_bitmasks",
]


def __getattr__(name: str) -> Any:
    """Names that are imported on first use, so that importing the package stays light."""
    if name == "LogitsProcessor":
        from .integrations.transformers import LogitsProcessor

        return LogitsProcessor
    if name == "SchemaOptions":
        from .schema import SchemaOptions

        return SchemaOptions
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
