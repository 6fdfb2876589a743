"""Grammars: what may be written, independent of any tokenizer."""

from __future__ import annotations

import random
import threading
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ._core import (
    GrammarBuilder,
    GrammarHandle,
    ProgramHandle,
    VocabularyHandle,
    expressions,
)
from ._matching import MatcherHandle
from .errors import GrammarError
from .limits import Limits

if TYPE_CHECKING:
    from .schema import Report

__all__ = ["Grammar"]

_BYTES = [bytes([b]) for b in range(256)]
_BUDGET = 256 << 20


class Grammar:
    """A language: a JSON Schema, a regular expression, a set of choices.

    Immutable and thread-safe. Compile it for a tokenizer with
    :meth:`gramlock.Vocabulary.compile`.

    Attributes:
        report: What became of each keyword of the schema it came from, or None.
    """

    def __init__(
        self, handle: GrammarHandle, report: Report | None = None, limits: Limits | None = None
    ) -> None:
        self._handle = handle
        self.report = report
        self.limits = limits or Limits()
        self._lock = threading.Lock()
        self._program: ProgramHandle | None = None
        self._listed: list[bytes] | None = None

    @property
    def fingerprint(self) -> int:
        """64-bit hash of the content; equal grammars have equal ones."""
        return self._handle.fingerprint

    @classmethod
    def from_json_schema(
        cls,
        schema: Mapping[str, Any] | bool,
        *,
        limits: Limits | None = None,
        **options: Any,
    ) -> Grammar:
        """The JSON texts whose values satisfy a schema.

        Args:
            schema: As ``json.load`` gives it.
            limits: Budgets.
            **options: ``order``, ``whitespace``, ``separators``, ``indent``, ``numbers``,
                ``escapes``, ``formats``, ``on_unsupported``, ``dialect``, ``registry``: see
                :class:`gramlock.SchemaOptions`.

        Raises:
            InvalidSchemaError: It is no JSON Schema.
            UnsupportedSchemaError: It uses keywords that are not enforced; all are listed.
            UnsatisfiableError: No value satisfies it.
            LimitError: A budget was passed.

        Cost: some tens of microseconds a subschema.

        >>> Grammar.from_json_schema({"type": "integer", "minimum": 2}).accepts("3")
        True
        """
        from .schema import SchemaOptions, compile_schema

        chosen = SchemaOptions(limits=limits, **options) if options or limits else None
        handle, report = compile_schema(schema, chosen)
        return cls(handle, report, limits)

    @classmethod
    def from_type(
        cls, kind: Any, *, closed: bool = True, limits: Limits | None = None, **options: Any
    ) -> Grammar:
        """The JSON texts whose values a Python type takes; needs pydantic.

        Args:
            kind: A pydantic model, dataclass, ``TypedDict``, ``NamedTuple``, ``Enum``,
                ``Literal``, union, container, plain or ``Annotated`` type; or a function, which
                stands for an object of its parameters.
            closed: Objects of declared fields have no others unless the type asks for them
                (``extra="allow"``, ``**kwargs``).
            limits: Budgets.
            **options: As for :meth:`from_json_schema`.

        Raises:
            GrammarError: The type has no JSON Schema, a function takes parameters by position
                only, or as :meth:`from_json_schema` raises it.
            MissingDependencyError: pydantic is not installed.
            LimitError: A budget was passed.

        >>> Grammar.from_type(dict[str, int]).accepts('{"a": 1}')
        True
        """
        from .types import schema_of

        return cls.from_json_schema(schema_of(kind, closed=closed), limits=limits, **options)

    @classmethod
    def from_regex(cls, pattern: str, *, flags: str = "u", limits: Limits | None = None) -> Grammar:
        """The texts that a regular expression matches as a whole (ECMA-262, UTF-8).

        Raises:
            GrammarSyntaxError: The pattern does not parse; every problem is listed.
            UnsatisfiableError: Nothing matches it.
            LimitError: It is nested too deep.
            TypeError: It is not text.

        >>> Grammar.from_regex(r"\\d{2}").accepts("42")
        True
        """
        from .syntax.regex import parse

        if not isinstance(pattern, str):
            raise TypeError(f"a pattern is text, not {type(pattern).__name__}")
        store = expressions(limits)
        builder = GrammarBuilder(store)
        expr = parse(pattern, flags).full(store, "utf8")
        return cls(builder.finish(builder.terminal(expr)), None, limits)._satisfiable()

    @classmethod
    def from_choices(cls, choices: Sequence[str], *, limits: Limits | None = None) -> Grammar:
        """Exactly one of these texts.

        Raises:
            GrammarError: One holds a lone surrogate, which is no text.
            UnsatisfiableError: There are none.
            TypeError: A single text instead of a list of them, or a choice that is not text.
        """
        if isinstance(choices, str | bytes):
            raise TypeError(f"choices are a list of texts, not one {type(choices).__name__}")
        choices = list(choices)
        for choice in choices:
            if not isinstance(choice, str):
                raise TypeError(f"the choice {choice!r} is not text")
        store = expressions(limits)
        builder = GrammarBuilder(store)
        try:
            texts = [store.literal(choice.encode("utf-8")) for choice in choices]
        except UnicodeEncodeError as error:
            raise GrammarError(f"a choice is not text: {error}") from None
        root = builder.terminal(store.union(texts))
        return cls(builder.finish(root), None, limits)._satisfiable()

    def _satisfiable(self) -> Grammar:
        self._matcher()
        return self

    def _matcher(self) -> MatcherHandle:
        """A matcher on an internal vocabulary of the 256 bytes, whose ids lie above every token
        that the grammar names, so that named tokens are tokens without text here."""
        with self._lock:
            if self._program is None:
                texts: list[bytes | None] = [None] * self._handle.tokens_below
                vocabulary = VocabularyHandle.of([*texts, *_BYTES], _BUDGET)
                self._program = ProgramHandle(vocabulary, self._handle, self.limits)
            return MatcherHandle.new(self._program)

    def accepts(self, text: str | bytes | Sequence[bytes | int]) -> bool:
        """Whether *text* is a sentence of the grammar; needs no tokenizer.

        Args:
            text: Text, bytes (a ``bytearray`` or ``memoryview`` will do), or a list of bytes and
                token ids (for grammars that name tokens).

        Raises:
            UnsatisfiableError: The grammar has no sentence at all.
            LimitError: A budget was passed.
        """
        if isinstance(text, str):
            text = text.encode("utf-8", "surrogatepass")
        elif isinstance(text, bytearray | memoryview):
            text = bytes(text)
        matcher = self._matcher()
        for part in [text] if isinstance(text, bytes) else text:
            if isinstance(part, bytes):
                if not matcher.accept_bytes(part):
                    return False
            elif not 0 <= part < self._handle.tokens_below or not matcher.accept_token(part):
                return False
        return matcher.can_end()

    def sample(self, seed: int | None = None, *, soft_limit: int = 120) -> bytes:
        """A random sentence.

        Bytes are drawn from those that may come next; past *soft_limit* bytes it ends as soon as
        it may and prefers closing characters. Grammars that name tokens yield their text parts.

        Raises:
            LimitError: It did not end within ``limits.sample_bytes``.
        """
        from .sampling import listed_texts, sample

        generator = random.Random(seed)
        first = self._handle.tokens_below
        hard_limit = self.limits.sample_bytes

        def listed() -> list[bytes]:
            with self._lock:
                if self._listed is None:
                    self._listed = listed_texts(self._handle)
                return self._listed

        return sample(self._matcher(), first, generator, soft_limit, hard_limit, listed)

    def dump(self) -> dict[str, Any]:
        """The grammar as plain data: ``root``, ``nodes`` and ``exprs`` by id."""
        return self._handle.dump()

    def __repr__(self) -> str:
        return f"<Grammar {self.fingerprint:016x}>"
