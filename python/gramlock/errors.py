"""Every error Gramlock raises, as one tree.

::

    GramlockError
    ├── GrammarError                  a grammar that cannot be used; lists every place
    │   ├── InvalidSchemaError        not a JSON Schema (an unknown ``type``, a dangling ``$ref``)
    │   ├── UnsupportedSchemaError    a JSON Schema keyword that this version does not enforce
    │   ├── UnsatisfiableError        nothing can satisfy it
    │   └── GrammarSyntaxError        text that does not parse (line and column)
    ├── VocabularyError               a tokenizer that cannot be read
    ├── LimitError                    a budget was passed: which one, how much was asked
    ├── MatcherError                  a sequence that cannot go on: row, step, reason
    ├── SerializationError            bytes that are damaged or foreign
    ├── ToolLayerError                the tool layer: calls, definitions, records
    │   ├── ToolCallError             text or object that is no tool call; names the layer
    │   ├── ToolDefinitionError       a tool that contradicts itself
    │   ├── JsonTextError             text that is no JSON, or not strictly; where
    │   ├── NotJsonError              a value that JSON cannot express
    │   ├── PointerError              no JSON pointer or path, or one that leads nowhere
    │   ├── ToolError                 a handler says: not done, and nothing has changed
    │   ├── InvalidResultError        a handler says: done, but the reply breaks its contract
    │   ├── ApprovalError             an approval that cannot be given
    │   ├── ResultStoreError          a stored result that is not there, or too large to store
    │   ├── McpError                  a session with an MCP server that failed
    │   └── LedgerError               the record of effects cannot be read or written
    └── MissingDependencyError        an optional package is needed; says how to install it
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

__all__ = [
    "ApprovalError",
    "GrammarError",
    "GrammarSyntaxError",
    "GramlockError",
    "InvalidResultError",
    "InvalidSchemaError",
    "JsonTextError",
    "LedgerError",
    "LimitError",
    "MatcherError",
    "McpError",
    "MissingDependencyError",
    "NotJsonError",
    "Place",
    "PointerError",
    "ResultStoreError",
    "SerializationError",
    "ToolCallError",
    "ToolDefinitionError",
    "ToolError",
    "ToolLayerError",
    "UnsatisfiableError",
    "UnsupportedSchemaError",
    "VocabularyError",
]


class GramlockError(Exception):
    """Base of all errors raised by this package."""


@dataclass(frozen=True)
class Place:
    """One thing that is wrong, and where.

    Attributes:
        message: What is wrong, one line.
        pointer: JSON pointer into the schema (RFC 6901), ``""`` for its root; None where the
            source is text.
        line: 1-based line in the source text, or None.
        column: 1-based column, in characters, or None.
    """

    message: str
    pointer: str | None = None
    line: int | None = None
    column: int | None = None

    def __str__(self) -> str:
        if self.pointer is not None:
            return f"#{self.pointer}: {self.message}"
        if self.line is not None:
            return f"line {self.line}, column {self.column}: {self.message}"
        return self.message


class GrammarError(GramlockError):
    """A grammar that cannot be used.

    Attributes:
        places: Everything that is wrong, in source order; never empty.
    """

    def __init__(self, places: str | Place | Sequence[Place]) -> None:
        if isinstance(places, str):
            places = Place(places)
        if isinstance(places, Place):
            places = [places]
        self.places: tuple[Place, ...] = tuple(places)
        super().__init__("; ".join(str(place) for place in self.places))


class InvalidSchemaError(GrammarError):
    """The document is not a JSON Schema of its dialect."""


class UnsupportedSchemaError(GrammarError):
    """The schema uses keywords that cannot be enforced; every one is listed."""


class UnsatisfiableError(GrammarError):
    """No text satisfies the grammar (that the vocabulary can spell)."""


class GrammarSyntaxError(GrammarError):
    """The text of a regular expression or grammar does not parse."""


class VocabularyError(GramlockError):
    """A tokenizer or token list that cannot be read."""


class LimitError(GramlockError):
    """A budget was passed.

    Attributes:
        budget: Name of the budget: a field of :class:`gramlock.Limits`, or a fixed one such as
            ``pattern_states`` (docs/architecture.md lists them).
        asked: How much was wanted.
        limit: How much the budget allows.
        row: Row of the batch, or None for a single sequence.
    """

    row: int | None = None

    def __init__(self, budget: str, asked: int, limit: int) -> None:
        self.budget, self.asked, self.limit = budget, asked, limit
        super().__init__(f"the budget {budget} allows {limit:,}, but {asked:,} were needed")


class MatcherError(GramlockError):
    """A sequence that cannot go on.

    Attributes:
        row: Row of the batch, or None for a single sequence.
        step: How many steps the sequence had taken, or None.
        reason: Why, one line.
    """

    def __init__(self, reason: str, row: int | None = None, step: int | None = None) -> None:
        self.reason, self.row, self.step = reason, row, step
        where = [f"row {row}"] if row is not None else []
        where += [f"step {step}"] if step is not None else []
        super().__init__(f"{', '.join(where)}: {reason}" if where else reason)


class SerializationError(GramlockError):
    """Serialised bytes that are damaged, foreign or of another version."""


class MissingDependencyError(GramlockError, ImportError):
    """An optional package is not installed.

    Attributes:
        package: The package that could not be imported.
        extra: The extra of ``gramlock`` that brings it.
    """

    def __init__(self, package: str, extra: str) -> None:
        self.package, self.extra = package, extra
        super().__init__(f"{package} is not installed; pip install 'gramlock[{extra}]'")


class ToolLayerError(GramlockError):
    """Base of the errors of :mod:`gramlock.tools`."""


class ToolCallError(ToolLayerError, ValueError):
    """Text or an object that is not a tool call.

    Attributes:
        layer: Which part is wrong: ``"call"`` (the message around it), ``"name"`` or
            ``"arguments"``.
    """

    def __init__(self, message: str, layer: str) -> None:
        self.layer = layer
        super().__init__(f"{layer}: {message}")


class ToolDefinitionError(ToolLayerError, ValueError):
    """A tool's definition that contradicts itself, or an option that does not exist."""


class JsonTextError(ToolLayerError, ValueError):
    """Text that is no JSON, or not strictly: two members of one name, NaN, text after the value.

    Attributes:
        reason: Why, one line.
        position: Where in the text, in characters from 0.
        line: The same as line, from 1.
        column: And column, from 1.
        budget: Which budget was passed (``"depth"``, ``"digits"``, ``"exponent"``,
            ``"characters"``, ``"values"``), or None.
    """

    def __init__(self, reason: str, text: str, position: int, budget: str | None = None) -> None:
        self.reason, self.position, self.budget = reason, position, budget
        self.line = text.count("\n", 0, position) + 1
        self.column = position - text.rfind("\n", 0, position)
        super().__init__(f"line {self.line}, column {self.column}: {reason}")


class NotJsonError(ToolLayerError, ValueError):
    """A value that JSON cannot express: NaN, a set, a member's name that is no string, a cycle.

    Attributes:
        path: Where in the value, as ``$.a[0]``.
        reason: Why, one line.
    """

    def __init__(self, path: str, reason: str) -> None:
        self.path, self.reason = path, reason
        super().__init__(f"{path}: {reason}")


class PointerError(ToolLayerError, ValueError):
    """Text that is no JSON pointer or path, or one that leads nowhere in a value.

    Attributes:
        pointer: The text.
        reason: Why, one line.
    """

    def __init__(self, pointer: str, reason: str) -> None:
        self.pointer, self.reason = pointer, reason
        super().__init__(f"{pointer[:200]!r}: {reason}")


class ToolError(ToolLayerError):
    """Raised by a tool's handler: the operation was not done, and nothing has changed.

    It is a promise about the world, the only way for a write to end as ``failed``: whatever else
    a write raises is ``uncertain``. The message and the details are written for the model and
    reach it as they are; any other exception's text does not.

    Attributes:
        message: What went wrong, in words the model can act on.
        details: Further JSON data for the model, or None.
    """

    def __init__(self, message: str, *, details: object = None) -> None:
        self.message, self.details = message, details
        super().__init__(message)


class InvalidResultError(ToolLayerError):
    """Raised by a tool's handler: the operation was executed, but its reply breaks its contract.

    The call ends as ``invalid_result``: effects may exist. The message reaches the model.
    """


class ApprovalError(ToolLayerError):
    """An approval that cannot be given: no plain consent, no approver, or a store that is full."""


class ResultStoreError(ToolLayerError):
    """A stored result that is not there or not visible to who asks, or one too large to store."""


class McpError(ToolLayerError):
    """A session with an MCP server that failed, or an answer that says nothing certain.

    Raised by a call of a tool, it does not show that nothing happened: a write is uncertain.
    """


class LedgerError(ToolLayerError):
    """The record of effects cannot be read or written; before a write: nothing was executed."""
