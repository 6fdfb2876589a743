"""Expressions, grammars, vocabularies and programs of the C extension, with Python's manners.

A handle owns one C object and gives it back when it dies; statuses become exceptions. Everything
public is built on these classes, which hold no policy of their own.
"""

from __future__ import annotations

import functools
import json
import struct
import sys
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import accumulate
from typing import Any, Literal

from ._formula import Formula, MemberClass, formula_words
from ._native import ffi, lib
from .errors import (
    GramlockError,
    LimitError,
    MatcherError,
    SerializationError,
    UnsatisfiableError,
)
from .limits import Limits

__all__ = [
    "Expressions",
    "GrammarBuilder",
    "GrammarHandle",
    "ProgramHandle",
    "VocabularyHandle",
    "expressions",
    "fail_allocation",
    "packed",
    "raise_status",
    "scratch",
]

UNBOUNDED = 0xFFFFFFFF
CHECK_STEPS = 2_000_000

_OK: int = lib.GLK_OK


def _bounds(low: int, high: int | None) -> tuple[int, int]:
    """Bounds of a repeat as the core takes them. An upper bound past 32 bits is none: no text is as
    long, whereas a lower one would admit nothing.

    Raises:
        LimitError: So many cannot be counted.
    """
    if low >= UNBOUNDED:
        raise LimitError("repeat_count", min(low, 1 << 64), UNBOUNDED - 1)
    return low, UNBOUNDED if high is None or high > UNBOUNDED else high


class _Scratch(threading.local):
    """Output cells of this thread: calls release the interpreter's lock, so none are shared."""

    def __init__(self) -> None:
        self.error = ffi.new("glk_error *")
        self.id = ffi.new("uint32_t *")
        self.flag = ffi.new("bool *")
        self.size = ffi.new("size_t *")
        self.grammar = ffi.new("glk_grammar **")


scratch = _Scratch()


def raise_status(status: int, error: Any) -> None:
    """The exception of a failed status.

    Raises:
        MemoryError, LimitError, ValueError, MatcherError, UnsatisfiableError, SerializationError:
            As the status says.
    """
    text = ffi.string(error.text).decode("utf-8", "replace")
    if status == lib.GLK_ERR_MEMORY:
        raise MemoryError(text)
    if status == lib.GLK_ERR_LIMIT:
        raise LimitError(ffi.string(error.budget).decode(), int(error.asked), int(error.limit))
    if status == lib.GLK_ERR_ARGUMENT:
        raise ValueError(text)
    if status == lib.GLK_ERR_STATE:
        raise MatcherError(text)
    if status == lib.GLK_ERR_UNSATISFIABLE:
        raise UnsatisfiableError(text)
    if status == lib.GLK_ERR_DAMAGED:
        raise SerializationError(text)
    raise GramlockError(f"unknown status {status}: {text}")


def _text(call: Callable[..., int], handle: Any) -> str:
    """Runs a dump function twice: for the size, then for the text."""
    error, size = scratch.error, scratch.size
    status = call(handle, ffi.NULL, 0, size, error)
    if status == _OK:
        buffer = ffi.new("char[]", size[0] + 1)
        status = call(handle, buffer, size[0] + 1, size, error)
    if status != _OK:
        raise_status(status, error)
    return str(ffi.string(buffer).decode("utf-8"))


def _members(bits: Any) -> frozenset[int]:
    """A set of bytes out of four 64-bit words."""
    return frozenset(b for b in range(256) if bits[b >> 6] >> (b & 63) & 1)


def _budget(name: str, value: int) -> int:
    """A budget as the core takes it; ValueError if it is negative. No count needs more bits."""
    if value < 0:
        raise ValueError(f"the budget {name} is {value}")
    return min(value, (1 << 64) - 1)


_ENCODINGS = {
    "utf8": lib.GLK_UTF8,
    "json": lib.GLK_JSON,
    "json-minimal": lib.GLK_JSON_MINIMAL,
}


class Expressions:
    """A store of hash-consed regular expressions over bytes; an expression is an ``int``.

    Thread-safe. Equal expressions have equal ids.

    Attributes:
        cache: Where front ends keep ids of pieces that they make again and again.
    """

    NEVER = 0
    EPSILON = 1
    ANY = 2

    def __init__(self, max_bytes: int = Limits.expression_bytes) -> None:
        self.cache: dict[object, Any] = {}
        self.max_bytes = max_bytes
        out = ffi.new("glk_exprs **")
        error = scratch.error
        status = lib.glk_exprs_new(max_bytes, out, error)
        if status != _OK:
            raise_status(status, error)
        self._handle = ffi.gc(out[0], lib.glk_exprs_release)

    @property
    def bytes_held(self) -> int:
        """Memory held, in bytes."""
        return int(lib.glk_exprs_bytes(self._handle))

    def _call(self, function: Callable[..., int], *arguments: Any) -> int:
        cells = scratch
        status = function(self._handle, *arguments, cells.id, cells.error)
        if status != _OK:
            raise_status(status, cells.error)
        return int(cells.id[0])

    def byte_class(self, members: Iterable[int]) -> int:
        """One byte out of *members*."""
        bits = 0
        for member in members:
            bits |= 1 << member
        words = [(bits >> (64 * i)) & 0xFFFFFFFFFFFFFFFF for i in range(4)]
        return self._call(lib.glk_exprs_class, ffi.new("uint64_t[4]", words))

    def literal(self, data: bytes) -> int:
        """Exactly *data*."""
        return self._call(lib.glk_exprs_literal, ffi.from_buffer("uint8_t[]", data), len(data))

    def codepoints(
        self,
        ranges: Sequence[tuple[int, int]],
        encoding: Literal["utf8", "json", "json-minimal"] = "utf8",
    ) -> int:
        """One code point out of inclusive *ranges*.

        Args:
            ranges: First and last ones.
            encoding: Written in UTF-8, or inside a JSON string: in every spelling, or in the one
                without needless escapes.
        """
        flat = [bound for pair in ranges for bound in pair]
        kind = _ENCODINGS[encoding]
        return self._call(lib.glk_exprs_codepoints, flat, len(ranges), kind)

    def concat(self, items: Sequence[int]) -> int:
        """One after the other."""
        return self._call(lib.glk_exprs_concat, items, len(items))

    def union(self, items: Sequence[int]) -> int:
        """Any of them."""
        return self._call(lib.glk_exprs_union, items, len(items))

    def intersect(self, items: Sequence[int]) -> int:
        """All of them at once."""
        return self._call(lib.glk_exprs_intersect, items, len(items))

    def complement(self, item: int) -> int:
        """Every byte string that does not match."""
        return self._call(lib.glk_exprs_complement, item)

    def repeat(self, item: int, low: int, high: int | None = None) -> int:
        """*low* to *high* times (None: any number)."""
        return self._call(lib.glk_exprs_repeat, item, *_bounds(low, high))

    def tag(self, label: int) -> int:
        """The empty string with a label, for :meth:`GrammarBuilder.switch`."""
        return self._call(lib.glk_exprs_tag, label)

    def matches(self, item: int, data: bytes) -> bool:
        """Whether *data* matches.

        Raises:
            LimitError: *data* is longer than the budget of steps.
        """
        cells = scratch
        text = ffi.from_buffer("uint8_t[]", data)
        status = lib.glk_exprs_matches(
            self._handle, item, text, len(data), CHECK_STEPS, cells.flag, cells.error
        )
        if status != _OK:
            raise_status(status, cells.error)
        return bool(cells.flag[0])

    def is_empty(self, item: int) -> bool:
        """Whether nothing matches.

        Raises:
            LimitError: Finding out takes more than the budget of steps.
        """
        cells = scratch
        status = lib.glk_exprs_is_empty(self._handle, item, CHECK_STEPS, cells.flag, cells.error)
        if status != _OK:
            raise_status(status, cells.error)
        return bool(cells.flag[0])

    def members(self, item: int, limit: int) -> list[bytes] | None:
        """All texts that match, shortest first, or None if there are more than *limit*.

        Raises:
            LimitError: Finding out takes more than the budget of steps.

        Cost: a derivative for each byte that a beginning of a text may go on with.
        """
        cells, count, capacity = scratch, ffi.new("uint32_t *"), 1000
        lengths = ffi.new("uint32_t[]", limit)
        while True:
            data = ffi.new("uint8_t[]", capacity)
            out = (lengths, data, capacity, cells.size, count, cells.error)
            status = lib.glk_exprs_texts(self._handle, item, limit, CHECK_STEPS, *out)
            if status != _OK:
                raise_status(status, cells.error)
            if cells.size[0] <= capacity:
                break
            capacity = int(cells.size[0])
        if count[0] > limit:
            return None
        text, texts, start = bytes(ffi.buffer(data, cells.size[0])), [], 0
        for length in lengths[0 : count[0]]:
            texts.append(text[start : start + length])
            start += length
        return texts


_shared_lock = threading.Lock()
_shared: Expressions | None = None


def expressions(limits: Limits | None = None) -> Expressions:
    """The process-wide store, so that grammars share their pieces.

    One that has passed half its budget is left to the grammars that use it, and a fresh one is
    handed out. Limits with another ``expression_bytes`` than the default get a store of their own.
    """
    global _shared
    if limits is not None and limits.expression_bytes != Limits.expression_bytes:
        return Expressions(limits.expression_bytes)
    with _shared_lock:
        if _shared is None or _shared.bytes_held > _shared.max_bytes // 2:
            _shared = Expressions()
        return _shared


_ARRAY, _UNIQUE, _ENDLESS, _TIGHT = lib.GLK_ARRAY, lib.GLK_UNIQUE, lib.GLK_ENDLESS, lib.GLK_TIGHT


class GrammarHandle:
    """A finished grammar.

    Attributes:
        expressions: The store that its expressions live in.
        fingerprint: 64-bit hash of its content, 0 if memory ran out.
        tokens_below: One more than the largest token id it names, 0 if it names none.
    """

    def __init__(self, handle: Any, store: Expressions, tokens_below: int) -> None:
        self._handle = handle
        self.expressions = store
        self.tokens_below = tokens_below

    @functools.cached_property
    def fingerprint(self) -> int:
        """Worked out when asked for: it visits the whole grammar."""
        return int(lib.glk_grammar_fingerprint(self._handle))

    def bytes_used(self) -> frozenset[int]:
        """The bytes that occur in its texts."""
        bits, error = ffi.new("uint64_t[4]"), scratch.error
        status = lib.glk_grammar_bytes(self._handle, bits, error)
        if status != _OK:
            raise_status(status, error)
        return _members(bits)

    def dump(self) -> dict[str, Any]:
        """The grammar as data: ``root``, and ``nodes`` and ``exprs`` by id."""
        data: dict[str, Any] = json.loads(_text(lib.glk_grammar_dump, self._handle))
        for key in ("nodes", "exprs"):
            data[key] = {int(name): value for name, value in data[key].items()}
        return data


class GrammarBuilder:
    """One grammar under construction; a node is an ``int``. One thread at a time."""

    FAIL = 0
    EMPTY = 1

    def __init__(self, expressions: Expressions) -> None:
        self.expressions = expressions
        self._tokens_below = 0
        self._error = ffi.new("glk_error *")
        self._out = ffi.new("uint32_t *")
        out = ffi.new("glk_grammar **")
        status = lib.glk_grammar_new(expressions._handle, out, self._error)
        if status != _OK:
            raise_status(status, self._error)
        self._handle = ffi.gc(out[0], lib.glk_grammar_release)

    def _call(self, function: Callable[..., int], *arguments: Any) -> int:
        status = function(self._handle, *arguments, self._out, self._error)
        if status != _OK:
            raise_status(status, self._error)
        return int(self._out[0])

    def terminal(self, expr: int) -> int:
        """A byte string of an expression without tags."""
        return self._call(lib.glk_grammar_terminal, expr)

    def switch(self, expr: int, table: Mapping[int, int]) -> int:
        """A byte string of a tagged expression, then the node of the label that matched."""
        labels, nodes = list(table.keys()), list(table.values())
        return self._call(lib.glk_grammar_switch, expr, labels, nodes, len(labels))

    def sequence(self, nodes: Sequence[int]) -> int:
        """One after the other."""
        return self._call(lib.glk_grammar_sequence, nodes, len(nodes))

    def choice(self, nodes: Sequence[int]) -> int:
        """Any of them."""
        return self._call(lib.glk_grammar_choice, nodes, len(nodes))

    def repetition(self, node: int, low: int, high: int | None = None) -> int:
        """*low* to *high* times (None: any number)."""
        return self._call(lib.glk_grammar_repetition, node, *_bounds(low, high))

    def tokens(self, ids: Sequence[int]) -> int:
        """One of these token ids, as a token and never as its text."""
        if ids:
            self._tokens_below = max(self._tokens_below, max(ids) + 1)
        return self._call(lib.glk_grammar_tokens, ids, len(ids))

    def container(
        self,
        kind: Literal["object", "array"],
        layout: Sequence[int],
        named: Sequence[MemberClass],
        free: Sequence[MemberClass] = (),
        ordered: int | None = None,
        formula: Formula | None = None,
        *,
        unique: bool = False,
        endless: bool = False,
        tight: bool = False,
        bare: bool = False,
    ) -> int:
        """A JSON object, or an array with conditions that a sequence cannot say: see
        ``glk_grammar_container`` in ``gramlock.h``.

        Args:
            kind: ``"object"`` or ``"array"``.
            layout: Expressions of the white space after the opening bracket, before the closing
                one, before and after a comma, before and after a colon.
            named: ``(key expression with its quotes, required, choices)`` for each name of an
                object, each a member at most once; for an array its first positions, of which none
                is skipped (keys are ignored, *required* is false). Choices are ``(value node,
                literals)``: a member is written as one of them; bit j of *literals*: the value is
                known to satisfy the j-th condition of this class (j < 31).
            free: The same for sets of further keys, any number of members each; for an array at
                most one: all further items. Keys are disjoint from each other and from the named.
            ordered: So many of *named* come first, as listed; all other members in any order
                (None: all of *named*). Ignored for arrays.
            formula: ``("at_least", n, pairs)``: at least n members hit one of the pairs;
                ``("all_but", n, pairs)``: at most n miss one; ``("and", formulas)``;
                ``("or", formulas)``. A pair is ``(class, literal)``; classes are counted through
                *named* and *free*. Members of the class hit it if their choice has the literal,
                else they miss it. Literal None: all of them hit it (``at_least``) or miss it
                (``all_but``); class None, with literal None: all members.
            unique: The array's items differ as JSON values, the keys of the free classes as
                strings.
            endless: An item or free key, however it began, can go on in endlessly many ways, so
                that *unique* needs no look-ahead.
            tight: Different items or free keys may run out.
            bare: There is no white space in a container without members. (Nor is there if *layout*
                begins with two different expressions; else it is the first one.)

        Raises:
            ValueError: What is given does not fit together.
            LimitError: More than 2**27 classes, choices or words of the formula.

        Cost: linear; a formula that holds another several times is counted once.
        """
        flags = (
            (_ARRAY if kind == "array" else 0)
            | (_UNIQUE if unique else 0)
            | (_ENDLESS if endless else 0)
            | (_TIGHT if tight else 0)
            | (lib.GLK_BARE if bare else 0)
        )
        count = len(named) if ordered is None else ordered
        shape = [(flags, len(named), len(free), count, *layout)]
        classes: list[tuple[int, bool, int]] = []
        choices: list[tuple[int, int]] = []
        for key, required, options in (*named, *free):
            classes.append((key, required, len(options)))
            choices.extend(options)
        words = [] if formula is None else formula_words(formula)
        return self._call(
            lib.glk_grammar_container, shape, classes, choices, len(choices), words, len(words)
        )

    def object(
        self,
        gap: int,
        members: Sequence[tuple[int, int, bool]],
        free: Sequence[tuple[int, int]] = (),
        order: Literal["declared", "any"] = "declared",
    ) -> int:
        """A JSON object without conditions, with the same white space everywhere.

        Args:
            gap: Expression of the white space after each token and value.
            members: ``(key expression with its quotes, value node, required)``, each at most once.
            free: ``(key expression, value node)``, any number of times, keys disjoint from each
                other and from those of *members*.
            order: ``"declared"`` (members first, as listed) or ``"any"``.
        """
        ordered = 0 if order == "any" else len(members)
        shape = [(0, len(members), len(free), ordered, gap, gap, gap, gap, gap, gap)]
        classes = [(key, required, 1) for key, _, required in members]
        choices = [(value, 0) for _, value, _ in members]
        if free:
            classes += [(key, False, 1) for key, _ in free]
            choices += [(value, 0) for _, value in free]
        return self._call(
            lib.glk_grammar_container, shape, classes, choices, len(choices), ffi.NULL, 0
        )

    def rule(self) -> int:
        """A node to be referred to before :meth:`define` gives it its body."""
        return self._call(lib.glk_grammar_rule)

    def define(self, rule: int, body: int) -> None:
        """Gives a rule its body, once."""
        status = lib.glk_grammar_define(self._handle, rule, body, self._error)
        if status != _OK:
            raise_status(status, self._error)

    def finish(self, root: int) -> GrammarHandle:
        """The grammar that starts at *root*; the builder must not be used afterwards."""
        status = lib.glk_grammar_set_root(self._handle, root, self._error)
        if status != _OK:
            raise_status(status, self._error)
        return GrammarHandle(self._handle, self.expressions, self._tokens_below)


class PlainSchemas:
    """What plain schemas of one store and one set of options share: see ``glk_plain`` in
    ``gramlock.h``. Thread-safe.

    Args:
        store: Where expressions live.
        base: Expressions of the gap, of any string with and without quotes, of a quote, of any
            integer and any number; whether members come in any order; the draft of documents that
            name none.
        max_bytes: Budget of the leaves that are remembered.
    """

    DECLINED, TERMINAL, CONSTANT, ASSERTED, IGNORED = (
        lib.GLK_LEAF_DECLINED,
        lib.GLK_LEAF_TERMINAL,
        lib.GLK_LEAF_CONSTANT,
        lib.GLK_LEAF_ASSERTED,
        lib.GLK_LEAF_IGNORED,
    )

    def __init__(self, store: Expressions, base: Sequence[int], max_bytes: int = 16 << 20) -> None:
        out, error = ffi.new("glk_plain **"), scratch.error
        status = lib.glk_plain_new(
            store._handle, ffi.new("glk_plain_base *", tuple(base)), max_bytes, out, error
        )
        if status != _OK:
            raise_status(status, error)
        self._handle = ffi.gc(out[0], lib.glk_plain_release)

    def read(self, data: bytes, store: Expressions) -> GrammarHandle | list[bytes] | None:
        """The grammar of a schema as ``marshal.dumps(schema, 4)`` writes it, or the keys of leaves
        to :meth:`put` first, or None where the schema is not plain."""
        cells = scratch
        status = lib.glk_plain_read(
            self._handle, data, len(data), ffi.NULL, 0, cells.size, cells.grammar, cells.error
        )
        if status == _OK and cells.grammar[0]:
            handle = ffi.gc(cells.grammar[0], lib.glk_grammar_release)
            return GrammarHandle(handle, store, 0)
        if status == _OK and cells.size[0]:
            return self._needs(data, int(cells.size[0]))
        if status != _OK:
            raise_status(status, cells.error)
        return None

    def _needs(self, data: bytes, size: int) -> list[bytes] | None:
        cells, room = scratch, ffi.new("uint8_t[]", size)
        status = lib.glk_plain_read(
            self._handle, data, len(data), room, size, cells.size, cells.grammar, cells.error
        )
        if status != _OK:
            raise_status(status, cells.error)
        if cells.grammar[0]:  # another thread has put them
            lib.glk_grammar_release(cells.grammar[0])
            return []
        text, keys, at = bytes(ffi.buffer(room, min(size, cells.size[0]))), [], 0
        while at < len(text):
            length = int.from_bytes(text[at : at + 4], sys.byteorder)
            keys.append(text[at + 4 : at + 4 + length])
            at += 4 + length
        return keys

    def put(self, key: bytes, kind: int, expr: int = 0) -> None:
        """Says what the leaf of a key comes down to."""
        error = scratch.error
        status = lib.glk_plain_put(self._handle, key, len(key), kind, expr, error)
        if status != _OK:
            raise_status(status, error)


def packed(tokens: Sequence[bytes | None]) -> tuple[bytes, bytes]:
    """All tokens as one text; as unsigned 64-bit integers where each begins and the last ends."""
    ends = accumulate((len(token) if token else 0 for token in tokens), initial=0)
    return b"".join(token for token in tokens if token), struct.pack(f"={len(tokens) + 1}Q", *ends)


class VocabularyHandle:
    """Tokens as bytes, their trie and the tables that programs share. Thread-safe."""

    @classmethod
    def of(cls, tokens: Sequence[bytes | None], max_bytes: int) -> VocabularyHandle:
        """Of a few tokens, without end ids."""
        return cls(*packed(tokens), len(tokens), (), max_bytes)

    def __init__(
        self, text: Any, offsets: Any, size: int, end_ids: Sequence[int], max_bytes: int
    ) -> None:
        """From buffers as :func:`packed` makes them."""
        out, error = ffi.new("glk_vocab **"), scratch.error
        status = lib.glk_vocab_new(
            ffi.from_buffer("uint8_t[]", text),
            ffi.from_buffer("uint64_t[]", offsets),
            size,
            list(end_ids),
            len(end_ids),
            _budget("vocabulary_bytes", max_bytes),
            out,
            error,
        )
        if status != _OK:
            raise_status(status, error)
        self._handle = ffi.gc(out[0], lib.glk_vocab_release)

    def reachable(self) -> frozenset[int]:
        """The bytes that have a token of their own."""
        bits = ffi.new("uint64_t[4]")
        lib.glk_vocab_reachable(self._handle, bits)
        return _members(bits)

    def stats(self) -> dict[str, int]:
        """Memory in bytes, states, trie nodes, length of the longest token in bytes."""
        out = ffi.new("glk_vocab_stats *")
        lib.glk_vocab_get_stats(self._handle, out)
        return {name: int(getattr(out, name)) for name, _ in ffi.typeof(out).item.fields}


@functools.lru_cache(maxsize=16)
def _limits(program_bytes: int, steps: int) -> Any:
    """A program's budgets as the core takes them; they are few, and it only reads them."""
    return ffi.new(
        "glk_limits *", (_budget("program_bytes", program_bytes), _budget("steps", steps))
    )


class ProgramHandle:
    """A grammar compiled for a vocabulary. Thread-safe."""

    def __init__(
        self, vocabulary: VocabularyHandle, grammar: GrammarHandle, limits: Limits
    ) -> None:
        out, error = ffi.new("glk_program **"), scratch.error
        budget = _limits(limits.program_bytes, limits.steps)
        status = lib.glk_program_new(vocabulary._handle, grammar._handle, budget, out, error)
        if status != _OK:
            raise_status(status, error)
        self._handle = ffi.gc(out[0], lib.glk_program_release)

    def stats(self) -> dict[str, int]:
        """Counters of the program's tables; see ``glk_program_stats`` in ``gramlock.h``."""
        out = ffi.new("glk_program_stats *")
        lib.glk_program_get_stats(self._handle, out)
        return {name: int(getattr(out, name)) for name, _ in ffi.typeof(out).item.fields}

    def memory(self) -> dict[str, int]:
        """Bytes held, by kind; see ``glk_program_bytes`` in ``gramlock.h``."""
        out = ffi.new("glk_program_bytes *")
        lib.glk_program_get_bytes(self._handle, out)
        return {name: int(getattr(out, name)) for name, _ in ffi.typeof(out).item.fields}

    def dump(self) -> str:
        """The flat program as text."""
        return _text(lib.glk_program_dump, self._handle)


def fail_allocation(count: int) -> None:
    """Test hook: the *count*-th allocation of the core from now on fails (negative: never)."""
    lib.glk_test_fail_allocation(count)
