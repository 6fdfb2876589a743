"""Files of vocabularies and programs: a header that says what they are, and checked content.

A file begins with a header of 64 bytes: what it is, the version of its form, the byte order of the
machine that wrote it, how long its content is, and a digest of that content (BLAKE2b, RFC 7693).
The digest finds damage, not malice: whoever can write the file can write its digest. So the
content is checked as well, item by item, while it is read.
"""

from __future__ import annotations

import functools
import hashlib
import json
import struct
import sys
from collections.abc import Iterator, Sequence
from dataclasses import fields
from itertools import islice
from operator import gt
from typing import Any, overload

from ._core import Expressions, GrammarHandle, expressions, packed, raise_status, scratch
from ._native import ffi, lib
from .errors import SerializationError
from .limits import Limits

__all__ = [
    "Identity",
    "PackedTokens",
    "pack_tokens",
    "read_program",
    "read_vocabulary",
    "write_program",
    "write_vocabulary",
]

_MAGIC = b"GRAMLOCK"
_VERSION = 1
_KINDS = {b"voc\n": "a vocabulary", b"prg\n": "a program"}
_HEADER = struct.Struct("=8s4sII12sQ24s")  # magic, kind, version, byte order, zeros, length, digest
_ORDER = 0x01020304
_SECTION = struct.Struct("=Q")
_ALIGNED = 8


class PackedTokens(Sequence["bytes | None"]):
    """Tokens as one text and where each begins: what a file holds, and what the core takes.

    Attributes:
        text: All tokens, one after the other.
        offsets: ``offsets[i]`` to ``offsets[i + 1]`` is token *i*; empty: it has no text. Unsigned
            64-bit integers, one more than tokens.
    """

    __slots__ = ("offsets", "text")

    def __init__(self, text: memoryview, offsets: memoryview) -> None:
        self.text, self.offsets = text, offsets

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @overload
    def __getitem__(self, index: int) -> bytes | None: ...

    @overload
    def __getitem__(self, index: slice) -> list[bytes | None]: ...

    def __getitem__(self, index: int | slice) -> bytes | list[bytes | None] | None:
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(len(self)))]
        if index < 0:
            index += len(self)
        if not 0 <= index < len(self):
            raise IndexError(f"token {index} of {len(self)}")
        return bytes(self.text[self.offsets[index] : self.offsets[index + 1]]) or None

    def __iter__(self) -> Iterator[bytes | None]:
        offsets = self.offsets.tolist()
        text = self.text.tobytes()
        start = offsets[0]
        for end in offsets[1:]:
            yield text[start:end] or None
            start = end


def pack_tokens(tokens: Sequence[bytes | None]) -> PackedTokens:
    """The same tokens, packed."""
    if isinstance(tokens, PackedTokens):
        return tokens
    text, offsets = packed(tokens)
    return PackedTokens(memoryview(text), memoryview(offsets).cast("Q"))


class Identity:
    """What tells a vocabulary from others; its programs keep this, and need not keep it."""

    def __init__(self, tokens: PackedTokens, end_ids: Sequence[int]) -> None:
        self.tokens, self.end_ids = tokens, end_ids

    @functools.cached_property
    def digest(self) -> bytes:
        """16 bytes of its tokens and end ids, with numbers as on disk."""
        digest = hashlib.blake2b(self.tokens.text, digest_size=16)
        digest.update(self.tokens.offsets)
        digest.update(repr(sorted(self.end_ids)).encode())
        return digest.digest()


# ---- the header


def _seal(kind: bytes, content: bytes) -> bytes:
    digest = hashlib.blake2b(content, digest_size=24).digest()
    return _HEADER.pack(_MAGIC, kind, _VERSION, _ORDER, b"", len(content), digest) + content


def _open(data: Any, kind: bytes) -> memoryview:
    """The content of a file of this kind.

    Raises:
        SerializationError: It is not one, or damaged.
    """
    view = memoryview(data).cast("B")
    wanted = _KINDS[kind]
    if view[: len(_MAGIC)] != _MAGIC[: len(view)] or len(view) < len(_MAGIC):
        raise SerializationError(f"not {wanted} that gramlock has written")
    if len(view) < _HEADER.size:
        raise SerializationError(f"{wanted} cut off in its header")
    _, found, version, order, unused, length, digest = _HEADER.unpack_from(view)
    if order != _ORDER:
        machine = f"a {sys.byteorder}-endian one"
        raise SerializationError(f"written on a machine of another byte order; this is {machine}")
    if found != kind:
        known = _KINDS.get(found, "something else")
        raise SerializationError(f"this is {known}, not {wanted}")
    if version != _VERSION:
        raise SerializationError(f"of version {version}; this gramlock reads {_VERSION}")
    if any(unused):
        raise SerializationError(f"{wanted} whose header is damaged")
    content = view[_HEADER.size :]
    if len(content) != length:
        raise SerializationError(f"{wanted} of {length} bytes, but {len(content)} are here")
    if hashlib.blake2b(content, digest_size=24).digest() != digest:
        raise SerializationError(f"{wanted} whose content is damaged")
    return content


def _join(sections: Sequence[bytes | memoryview]) -> bytes:
    """Sections one after the other, each behind its length and at a multiple of eight bytes."""
    parts: list[bytes | memoryview] = []
    for section in sections:
        size = memoryview(section).nbytes
        parts += [_SECTION.pack(size), section, bytes(-size % _ALIGNED)]
    return b"".join(parts)


def _split(content: memoryview, count: int) -> list[memoryview]:
    sections: list[memoryview] = []
    at = 0
    for _ in range(count):
        if at + _SECTION.size > len(content):
            raise SerializationError("a section is missing")
        (size,) = _SECTION.unpack_from(content, at)
        at += _SECTION.size
        if size > len(content) - at:
            raise SerializationError("a section is longer than the file")
        sections.append(content[at : at + size])
        at += size + -size % _ALIGNED
    if at != len(content):
        raise SerializationError("there is more than the sections")
    return sections


def _record(section: memoryview) -> dict[str, Any]:
    try:
        record = json.loads(section.tobytes())
    except (ValueError, RecursionError):
        record = None
    if not isinstance(record, dict):
        raise SerializationError("its description is no JSON object")
    return record


def _field(record: dict[str, Any], name: str, kind: type) -> Any:
    value = record.get(name)
    if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
        raise SerializationError(f"its {name} is missing or no {kind.__name__}")
    return value


def _ids(record: dict[str, Any], name: str, below: int) -> list[int]:
    ids: list[Any] = _field(record, name, list)
    if not all(type(index) is int and 0 <= index < below for index in ids):
        raise SerializationError(f"its {name} are not ids")
    return ids


# ---- vocabularies


def write_vocabulary(
    tokens: PackedTokens,
    end_ids: Sequence[int],
    special_ids: frozenset[int],
    names: dict[int, str],
    prefix_space: bool,
    family: str,
) -> bytes:
    """A vocabulary as bytes."""
    record = {
        "end_ids": list(end_ids),
        "special_ids": sorted(special_ids),
        "name_ids": list(names),
        "names": list(names.values()),
        "prefix_space": prefix_space,
        "family": family,
    }
    description = json.dumps(record, separators=(",", ":")).encode()
    return _seal(b"voc\n", _join([description, tokens.offsets, tokens.text]))


def read_vocabulary(data: Any) -> dict[str, Any]:
    """What :func:`write_vocabulary` was given, the tokens packed; it refers to *data*.

    Raises:
        SerializationError: *data* is not such a file, or damaged.
    """
    description, places, text = _split(_open(data, b"voc\n"), 3)
    if places.nbytes < _ALIGNED or places.nbytes % _ALIGNED:
        raise SerializationError("its offsets are cut off")
    offsets = places.cast("Q")
    size = len(offsets) - 1
    if size >= 1 << 24:
        raise SerializationError(f"{size:,} ids are more than there can be")
    if offsets[0] != 0 or offsets[size] != text.nbytes:
        raise SerializationError("its offsets do not fit its text")
    starts = offsets.tolist()
    if any(map(gt, starts, islice(starts, 1, None))):
        raise SerializationError("its offsets run backwards")
    record = _record(description)
    names = _field(record, "names", list)
    name_ids = _ids(record, "name_ids", size)
    if len(names) != len(name_ids) or not all(isinstance(name, str) for name in names):
        raise SerializationError("its names are not those of ids")
    return {
        "tokens": PackedTokens(text, offsets),
        "end_ids": tuple(_ids(record, "end_ids", size)),
        "special_ids": frozenset(_ids(record, "special_ids", size)),
        "names": dict(zip(name_ids, names, strict=True)),
        "prefix_space": _field(record, "prefix_space", bool),
        "family": _field(record, "family", str),
    }


# ---- programs


def _words_of(grammar: GrammarHandle) -> bytes:
    size, error, capacity = scratch.size, scratch.error, 4096  # enough for most schemas
    while True:
        words = ffi.new("uint32_t[]", capacity)
        status = lib.glk_grammar_write(grammar._handle, words, capacity, size, error)
        if status != lib.GLK_OK:
            raise_status(status, error)
        if size[0] <= capacity:
            return bytes(ffi.buffer(words, size[0] * 4))
        capacity = int(size[0])


def _grammar_of(section: memoryview, store: Expressions, tokens_below: int) -> GrammarHandle:
    if section.nbytes % 4:
        raise SerializationError("its grammar is cut off")
    out, error = ffi.new("glk_grammar **"), scratch.error
    # A copy is aligned, and stays as it was checked.
    words = ffi.new("uint32_t[]", section.nbytes // 4)
    ffi.memmove(words, section, section.nbytes)
    status = lib.glk_grammar_read(store._handle, words, section.nbytes // 4, out, error)
    if status != lib.GLK_OK:
        raise_status(status, error)
    return GrammarHandle(ffi.gc(out[0], lib.glk_grammar_release), store, tokens_below)


def write_program(grammar: GrammarHandle, limits: Limits, digest: bytes) -> bytes:
    """A program as bytes: its grammar, its budgets, and the digest of its vocabulary."""
    record = {
        "limits": {field.name: getattr(limits, field.name) for field in fields(Limits)},
        "tokens_below": grammar.tokens_below,
        "vocabulary": digest.hex(),
    }
    return _seal(b"prg\n", _join([json.dumps(record).encode(), _words_of(grammar)]))


def read_program(data: Any, digest: bytes) -> tuple[GrammarHandle, Limits]:
    """What :func:`write_program` was given.

    Raises:
        SerializationError: *data* is not such a file, damaged, or of another vocabulary.
        LimitError: The grammar passes the budget of its expressions.
    """
    description, words = _split(_open(data, b"prg\n"), 2)
    record = _record(description)
    if _field(record, "vocabulary", str) != digest.hex():
        raise SerializationError("a program that was compiled for another vocabulary")
    given = _field(record, "limits", dict)
    names = [field.name for field in fields(Limits)]
    if sorted(given) != sorted(names) or any(
        not 0 <= _field(given, name, int) < 1 << 64 for name in names
    ):
        raise SerializationError("its limits are not those of this version")
    tokens_below = _field(record, "tokens_below", int)
    if not 0 <= tokens_below <= 1 << 24:
        raise SerializationError("its tokens are no ids")
    limits = Limits(**given)
    store = expressions(limits)
    return _grammar_of(words, store, tokens_below), limits
