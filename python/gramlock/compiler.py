"""Programs: a grammar compiled for a vocabulary."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ._core import ProgramHandle
from ._matching import MatcherHandle
from ._serial import Identity, read_program, write_program
from .grammar import Grammar
from .limits import Limits
from .matcher import Matcher

if TYPE_CHECKING:
    from .vocabulary import Vocabulary

__all__ = ["Program"]


class Program:
    """A grammar compiled for a vocabulary, with the tables that grow as it is used.

    Made by :meth:`gramlock.Vocabulary.compile`. Thread-safe: any number of matchers may use it at
    once, and share what they find out.

    Attributes:
        grammar: What was compiled.
        missing_bytes: Bytes that occur in the grammar's texts but have no token of their own in
            the vocabulary: texts that need one are cut from the language. Empty for most
            vocabularies.
    """

    def __init__(
        self,
        grammar: Grammar,
        handle: ProgramHandle,
        identity: Identity,
        limits: Limits,
        missing_bytes: frozenset[int] = frozenset(),
    ) -> None:
        self.grammar = grammar
        self._identity, self._limits = identity, limits
        self.missing_bytes = missing_bytes
        self._handle = handle

    def matcher(self) -> Matcher:
        """A sequence at its start. Cost: under a microsecond in C."""
        return Matcher(self, MatcherHandle.new(self._handle))

    def stats(self) -> dict[str, int]:
        """Counters: ``bytes`` held, ``nodes``, and since compilation ``configurations``,
        ``continuations``, ``masks`` computed, ``hits`` (masks that were there), ``walks`` of tries,
        trie nodes ``visited``, ``epochs`` begun because the byte budget was full.

        A matcher counts its hits by itself, so that threads do not meet on the way to a mask; they
        are added to the sum a few thousand at a time, at each mask computed and when it dies.
        """
        return self._handle.stats()

    def memory(self) -> dict[str, int]:
        """Bytes held, by kind.

        ``code`` is the flat program, ``configurations`` and ``masks`` are the tables that grow as
        it is used, within ``Limits.program_bytes``, and ``shared`` are the terminals that all
        programs of the vocabulary share, which each of them reports.
        """
        return self._handle.memory()

    def to_bytes(self) -> bytes:
        """The program as bytes, for :meth:`from_bytes` on a machine of the same byte order.

        They hold the finished grammar, the budgets, and the digest of the vocabulary; neither
        the schema nor its report, nor the tables that grew in use.
        """
        return write_program(self.grammar._handle, self._limits, self._identity.digest)

    @classmethod
    def from_bytes(cls, data: Any, vocabulary: Vocabulary) -> Program:
        """The program that :meth:`to_bytes` has written, for the same vocabulary.

        Args:
            data: The bytes, or anything that holds them; not kept.
            vocabulary: One of the same tokens and end ids; the file says which.

        Raises:
            SerializationError: *data* is no such thing, damaged, of another version or byte order,
                or of another vocabulary.
            LimitError: A budget was passed.

        Cost: that of compiling a finished grammar: the schema is not looked at again.
        """
        grammar, limits = read_program(data, vocabulary.digest)
        return vocabulary._program(Grammar(grammar, None, limits), limits)

    def dump(self) -> str:
        """The flat program as text, for people and tests."""
        return self._handle.dump()

    def __repr__(self) -> str:
        return f"<Program of {self.grammar!r}>"
