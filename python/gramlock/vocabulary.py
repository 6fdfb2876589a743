"""Vocabularies: a tokenizer's tokens as bytes, and the tables that all programs share."""

from __future__ import annotations

import contextlib
import json
import marshal
import mmap
import os
import threading
from collections import OrderedDict
from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Any, TypeVar

from ._core import (
    GrammarBuilder,
    ProgramHandle,
    VocabularyHandle,
    expressions,
)
from ._matching import MatcherHandle
from ._serial import Identity, pack_tokens, read_vocabulary, write_vocabulary
from .compiler import Program
from .errors import GramlockError, UnsatisfiableError, VocabularyError
from .grammar import Grammar
from .limits import Limits
from .tokenizers import TokenTable
from .tokenizers import from_huggingface as read_huggingface
from .tokenizers import from_sentencepiece as read_sentencepiece
from .tokenizers import from_tiktoken as read_tiktoken
from .tokenizers.table import MOST_IDS

__all__ = ["Vocabulary"]

_BUDGET = 256 << 20
_WRITTEN_AT_MOST = 20_000  # parts of a schema that is no plain data, to be told from others
_KEPT = 64

_Key = TypeVar("_Key", bound=Hashable)
_Value = TypeVar("_Value")


def _keep(kept: OrderedDict[_Key, _Value], key: _Key, value: _Value) -> None:
    """Keeps the newest few."""
    kept[key] = value
    while len(kept) > _KEPT:
        kept.popitem(last=False)


def _is_small(value: Any) -> bool:
    """Whether written out it has few parts, those that occur again counted again."""
    waiting, left = [value], _WRITTEN_AT_MOST
    while waiting and left:
        inner = waiting.pop()
        left -= 1
        if isinstance(inner, Mapping):
            waiting += inner.values()
        elif isinstance(inner, list | tuple):
            waiting += inner
    return not waiting


def _content(*values: Any) -> str | bytes | None:
    """What tells plain data apart: equal only where the values are. None: there is no telling.

    The caller may have changed a schema since it was compiled, so its identity says nothing.
    :mod:`marshal` writes dictionaries, lists and scalars of these very types, the order of names
    included, four times as fast as :mod:`json`. In its fourth form a part that occurs again is
    written once, so that parts shared many times over stay small; equal schemas of which one
    shares parts and the other does not are told apart, which costs a compilation and no more.
    """
    try:
        return marshal.dumps(values, 4)
    except ValueError:  # other types, or nested too deep
        pass
    try:
        return json.dumps(values) if _is_small(values) else None
    except (TypeError, ValueError, RecursionError):
        return None


class Vocabulary:
    """A tokenizer's tokens as bytes, with control ids and end ids. Immutable, thread-safe.

    Attributes:
        size: Number of ids; a bitmask row covers them.
        tokens: The bytes each id adds to the text; None for control tokens and holes.
        end_ids: Ids that end a sequence, sorted.
        special_ids: Control ids; never allowed unless a grammar names them.
        missing_bytes: Bytes without a token of their own. Nothing that needs one can be written;
            :meth:`compile` cuts grammars accordingly.
    """

    def __init__(self, table: TokenTable, *, max_bytes: int = _BUDGET) -> None:
        self.table = table
        self.tokens = table.tokens
        self.size = len(table.tokens)
        self.end_ids: tuple[int, ...] = tuple(sorted(set(table.end_ids)))
        self.special_ids = frozenset(table.special_ids)
        self._packed = pack_tokens(table.tokens)
        self._handle = VocabularyHandle(
            self._packed.text, self._packed.offsets, self.size, self.end_ids, max_bytes
        )
        self.missing_bytes = frozenset(range(256)) - self._handle.reachable()
        self._identity = Identity(self._packed, self.end_ids)
        self._lock = threading.Lock()
        self._programs: OrderedDict[tuple[int, Limits], Program] = OrderedDict()
        self._grammars: OrderedDict[tuple[str | bytes, Limits | None], Grammar] = OrderedDict()
        self._prepare()

    def _prepare(self) -> None:
        """Builds the tables of JSON strings and free keys, which nearly every schema meets.

        They cover most of the vocabulary, so whoever met them first would wait milliseconds. A
        vocabulary that cannot spell them, or whose budget they pass, does without.
        """
        store = expressions()
        builder = GrammarBuilder(store)
        characters = store.repeat(store.codepoints([(0, 0x10FFFF)], "json"), 0)
        quote = store.literal(b'"')
        string = store.concat([quote, characters, quote])
        root = builder.object(store.EPSILON, [], [(string, builder.terminal(string))])
        try:
            program = ProgramHandle(self._handle, builder.finish(root), Limits())
            matcher = MatcherHandle.new(program)
            for text in (b'{"', b'a":"'):
                if matcher.accept_bytes(text):
                    matcher.warm(self.size)
        except (GramlockError, MemoryError):
            return

    @classmethod
    def from_tokens(
        cls,
        tokens: Sequence[bytes | None],
        *,
        end_ids: Sequence[int] = (),
        special_ids: Iterable[int] = (),
        size: int | None = None,
        max_bytes: int = _BUDGET,
    ) -> Vocabulary:
        """From a list of token bytes.

        Args:
            tokens: By id; None or ``b""`` for an id without text.
            end_ids: Ids that end a sequence; their bytes are not text.
            special_ids: Control ids; their bytes are not text.
            size: Number of ids, if the model's logits are wider; further ids are never allowed.
            max_bytes: Budget of the tables that programs share.

        Raises:
            VocabularyError: An id is out of range, or *size* is smaller than the list.
        """
        specials = frozenset(special_ids)
        count = max(len(tokens), size or 0)
        if count > MOST_IDS:
            raise VocabularyError(f"{count:,} ids; at most {MOST_IDS:,} are supported")
        if size is not None and size < len(tokens):
            raise VocabularyError(f"size={size}, but there are {len(tokens)} tokens")
        for index in [*end_ids, *specials]:
            if not 0 <= index < count:
                raise VocabularyError(f"id {index} is not below the size {count}")
        for i, token in enumerate(tokens):
            if token is not None and not isinstance(token, (bytes, bytearray, memoryview)):
                raise VocabularyError(f"token {i} is {type(token).__name__}, not bytes")
        hidden = specials.union(end_ids)
        texts: list[bytes | None] = [
            None if token is None or i in hidden else bytes(token) for i, token in enumerate(tokens)
        ]
        texts += [None] * (count - len(texts))
        return cls(
            TokenTable(tokens=texts, end_ids=tuple(end_ids), special_ids=specials),
            max_bytes=max_bytes,
        )

    @classmethod
    def from_huggingface(
        cls,
        tokenizer: Any,
        *,
        size: int | None = None,
        end_ids: Iterable[int | str] | None = None,
        generation_config: Any = None,
        control: Iterable[int | str] = (),
        max_bytes: int = _BUDGET,
    ) -> Vocabulary:
        """From a transformers or ``tokenizers`` tokenizer, a model folder or a ``tokenizer.json``.

        Args:
            tokenizer: The object or path.
            size: Number of ids of the model's logits, if they are wider than the tokenizer.
            end_ids: Ids (or texts) that end a generation, instead of those that the tokenizer and
                the generation config name.
            generation_config: The model's, whose end ids are added to the tokenizer's.
            control: Further tokens (ids or texts) that are control tokens and never text.
            max_bytes: Budget of the tables that programs share.

        Raises:
            VocabularyError: Its output is not the concatenation of token bytes, or not understood.

        Cost: a few hundred milliseconds for 128,000 tokens.
        """
        table = read_huggingface(
            tokenizer,
            size=size,
            end_ids=end_ids,
            generation_config=generation_config,
            control=control,
        )
        return cls(table, max_bytes=max_bytes)

    @classmethod
    def from_tiktoken(
        cls,
        encoding: Any,
        special_tokens: Mapping[str, int] | Sequence[str] | None = None,
        *,
        size: int | None = None,
        end_ids: Iterable[int | str] | None = None,
        max_bytes: int = _BUDGET,
    ) -> Vocabulary:
        """From a tiktoken encoding, a rank file or dictionary, or Mistral's ``tekken.json``.

        Args:
            encoding: The object, path or mapping from bytes to ranks.
            special_tokens: Control tokens by text, or a list numbered on from the last rank.
            size: Number of ids of the model's logits, if there are more.
            end_ids: Ids (or texts) that end a generation.
            max_bytes: Budget of the tables that programs share.

        Raises:
            VocabularyError: It is none of these, or damaged.
        """
        table = read_tiktoken(encoding, special_tokens, size=size, end_ids=end_ids)
        return cls(table, max_bytes=max_bytes)

    @classmethod
    def from_sentencepiece(
        cls,
        model: Any,
        *,
        size: int | None = None,
        end_ids: Iterable[int | str] | None = None,
        control: Iterable[int | str] = (),
        max_bytes: int = _BUDGET,
    ) -> Vocabulary:
        """From a SentencePiece ``.model`` file, its content, or a processor.

        Args:
            model: The path, bytes or object.
            size: Number of ids of the model's logits, if there are more than pieces.
            end_ids: Ids (or texts) that end a generation.
            control: Further tokens (ids or texts) that are control tokens and never text.
            max_bytes: Budget of the tables that programs share.

        Raises:
            VocabularyError: It is no such model, or writes what its pieces do not spell.
        """
        table = read_sentencepiece(model, size=size, end_ids=end_ids, control=control)
        return cls(table, max_bytes=max_bytes)

    @classmethod
    def load(cls, path: str | os.PathLike[str], *, max_bytes: int = _BUDGET) -> Vocabulary:
        """From a file that :meth:`save` has written.

        Args:
            path: The file; it stays mapped while the vocabulary lives, so replace it by another
                file rather than write into it.
            max_bytes: Budget of the tables that programs share.

        Raises:
            OSError: The file cannot be read.
            SerializationError: It is no such file, damaged, or of another version or byte order.

        Cost: some tens of milliseconds for 128,000 tokens, for the trie and the first tables.
        """
        with open(path, "rb") as file:
            try:
                data: Any = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
            except ValueError:  # an empty file cannot be mapped
                data = b""
        return cls.from_bytes(data, max_bytes=max_bytes)

    @classmethod
    def from_bytes(cls, data: Any, *, max_bytes: int = _BUDGET) -> Vocabulary:
        """From what :meth:`to_bytes` gave, which the vocabulary keeps.

        Raises:
            SerializationError: *data* is no such thing, damaged, or of another version or byte
                order.
        """
        return cls(TokenTable(**read_vocabulary(data)), max_bytes=max_bytes)

    def to_bytes(self) -> bytes:
        """The vocabulary as bytes, for :meth:`from_bytes` on a machine of the same byte order."""
        table = self.table
        return write_vocabulary(
            self._packed,
            table.end_ids,
            table.special_ids,
            table.names,
            table.prefix_space,
            table.family,
        )

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write :meth:`to_bytes` to a file, for :meth:`load`. A file that is there is replaced at
        once, when all is written.

        Raises:
            OSError: The file cannot be written.
        """
        target = os.fspath(path)
        beside = f"{target}.{os.getpid()}.part"
        try:
            with open(beside, "wb") as file:
                file.write(self.to_bytes())
            os.replace(beside, target)
        except BaseException:
            with contextlib.suppress(OSError):
                os.unlink(beside)
            raise

    @property
    def digest(self) -> bytes:
        """16 bytes that tell vocabularies apart by their tokens and end ids (BLAKE2b).

        Programs are for one vocabulary; their files name it so. Cost: milliseconds, once.
        """
        return self._identity.digest

    def compile(
        self,
        grammar: Grammar | Mapping[str, Any] | bool,
        *,
        limits: Limits | None = None,
        **options: Any,
    ) -> Program:
        """Compile a grammar, or a JSON Schema with its options, for this vocabulary.

        The newest programs are kept, so compiling the same grammar, or an equal schema, again is a
        look-up.

        Args:
            grammar: A grammar or a schema.
            limits: Budgets of the program; by default the grammar's.
            **options: Schema options, as :meth:`gramlock.Grammar.from_json_schema` takes them.

        Raises:
            GrammarError: As :meth:`gramlock.Grammar.from_json_schema` raises it.
            UnsatisfiableError: No sentence can be spelled with this vocabulary.
            LimitError: A budget was passed.
        """
        if not isinstance(grammar, Grammar):
            grammar = self._grammar(grammar, limits, options)
        elif options:
            raise TypeError("schema options belong to a schema, not to a finished grammar")
        limits = limits or grammar.limits
        key = (id(grammar), limits)  # the program keeps its grammar, so the id stays its own
        with self._lock:
            known = self._programs.get(key)
            if known is not None:
                self._programs.move_to_end(key)
                return known
        program = self._program(grammar, limits)
        with self._lock:
            _keep(self._programs, key, program)
        return program

    def _program(self, grammar: Grammar, limits: Limits) -> Program:
        """A fresh program, which nobody else will be given."""
        missing = self.missing_bytes
        if missing:
            missing &= grammar._handle.bytes_used()
        handle = self._compile(grammar, limits)
        return Program(grammar, handle, self._identity, limits, missing)

    def _grammar(
        self, schema: Mapping[str, Any] | bool, limits: Limits | None, options: dict[str, Any]
    ) -> Grammar:
        """The grammar of a schema; equal schemas with equal options share one."""
        key = _content(schema, options)
        if key is None:
            return Grammar.from_json_schema(schema, limits=limits, **options)
        with self._lock:
            known = self._grammars.get((key, limits))
        if known is None:
            known = Grammar.from_json_schema(schema, limits=limits, **options)
            with self._lock:
                _keep(self._grammars, (key, limits), known)
        return known

    def _compile(self, grammar: Grammar, limits: Limits) -> ProgramHandle:
        try:
            return ProgramHandle(self._handle, grammar._handle, limits)
        except UnsatisfiableError as error:
            if not self.missing_bytes:
                raise
            missing = sorted(self.missing_bytes & grammar._handle.bytes_used())
            if not missing:
                raise
            names = " ".join(f"{byte:02x}" for byte in missing)
            raise UnsatisfiableError(
                f"{error}; bytes that it uses and that have no token of their own: {names}"
            ) from None

    def stats(self) -> dict[str, int]:
        """``bytes`` held, terminal ``states``, ``trie_nodes``, ``longest_token`` in bytes."""
        return self._handle.stats()

    def __repr__(self) -> str:
        return f"<Vocabulary of {self.size:,} ids, end ids {list(self.end_ids)}>"
