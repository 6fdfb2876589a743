"""Matchers, batches, drafts and logits of the C extension: what runs once a token.

As in :mod:`gramlock._core`, a handle owns one C object, and statuses become exceptions.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any

from ._core import ProgramHandle, raise_status, scratch
from ._native import ffi, lib
from .errors import LimitError, MatcherError

__all__ = [
    "MatcherHandle",
    "apply_bitmask",
    "copy_allowed",
    "fill_rows",
    "force_logits_kernel",
    "logits_kernel",
]

_OK: int = lib.GLK_OK
_fill = lib.glk_matcher_fill  # the two calls of every token, without a look-up
_accept_token = lib.glk_matcher_accept_token
_NO_PARENT = 0xFFFFFFFF


class MatcherHandle:
    """One sequence; its methods are thin and serve the public matcher. One thread at a time.

    Attributes:
        handle: The C object, for calls that take many.
    """

    __slots__ = ("_count", "_error", "_flag", "_mask", "_row", "_target", "_words", "handle")

    def __init__(self, handle: Any) -> None:
        self.handle = handle
        self._error = ffi.new("glk_error *")
        self._flag = ffi.new("bool *")
        self._count = ffi.new("size_t *")
        self._mask: Any = None
        self._row = -1
        self._target: Any = None
        self._words = 0

    @classmethod
    def new(cls, program: ProgramHandle) -> MatcherHandle:
        """A sequence at its start."""
        out, error = ffi.new("glk_matcher **"), scratch.error
        status = lib.glk_matcher_new(program._handle, out, error)
        if status != _OK:
            raise_status(status, error)
        return cls(ffi.gc(out[0], lib.glk_matcher_release))

    def fork(self) -> MatcherHandle:
        """An independent copy."""
        out = ffi.new("glk_matcher **")
        status = lib.glk_matcher_fork(self.handle, out, self._error)
        if status != _OK:
            raise_status(status, self._error)
        return MatcherHandle(ffi.gc(out[0], lib.glk_matcher_release))

    def accept_token(self, token: int) -> bool:
        """Take a token if it may come next.

        Args:
            token: Its id; ids past the vocabulary are refused like any other.

        Returns:
            Whether it was taken; if not, nothing changes.

        Raises:
            LimitError: A budget was passed. Nothing changes then either.
            OverflowError: The id is negative.
        """
        status = _accept_token(self.handle, token, self._flag, self._error)
        if status != _OK:
            raise_status(status, self._error)
        taken: bool = self._flag[0]
        return taken

    def accept_bytes(self, data: bytes) -> bool:
        """The same for text, as one step."""
        text = ffi.from_buffer("uint8_t[]", data)
        status = lib.glk_matcher_accept_bytes(self.handle, text, len(data), self._flag, self._error)
        if status != _OK:
            raise_status(status, self._error)
        return bool(self._flag[0])

    def validate_tokens(self, tokens: Sequence[int]) -> int:
        """How many could be taken one after the other; takes none."""
        tokens = [int(token) for token in tokens]
        status = lib.glk_matcher_validate_tokens(
            self.handle, tokens, len(tokens), self._count, self._error
        )
        if status != _OK:
            raise_status(status, self._error)
        return int(self._count[0])

    def rollback(self, steps: int) -> None:
        """Undoes the last *steps* accepts."""
        steps = min(steps, (1 << 63))  # more than any history has: the core says so
        status = lib.glk_matcher_rollback(self.handle, steps, self._error)
        if status != _OK:
            raise_status(status, self._error)

    def steps(self) -> int:
        """Accepts that can be undone."""
        return int(lib.glk_matcher_steps(self.handle))

    def can_end(self) -> bool:
        """Whether the text so far is a sentence."""
        status = lib.glk_matcher_can_end(self.handle, self._flag, self._error)
        if status != _OK:
            raise_status(status, self._error)
        return bool(self._flag[0])

    def is_terminated(self) -> bool:
        """Whether the sequence is over."""
        status = lib.glk_matcher_is_terminated(self.handle, self._flag, self._error)
        if status != _OK:
            raise_status(status, self._error)
        return bool(self._flag[0])

    def forced_bytes(self, at_most: int) -> bytes:
        """The bytes that must come next."""
        buffer = ffi.new("uint8_t[]", max(at_most, 1))
        status = lib.glk_matcher_forced_bytes(
            self.handle, buffer, at_most, self._count, self._error
        )
        if status != _OK:
            raise_status(status, self._error)
        return bytes(ffi.buffer(buffer, self._count[0]))

    def fill(self, bitmask: Any, index: int = 0) -> bool:
        """Write the tokens allowed next into one row of *bitmask*.

        Bit *t* is set exactly when token *t* may come now and the text can still be completed
        afterwards. End ids are set exactly where the text is a sentence.

        Args:
            bitmask: From :func:`gramlock.allocate_token_bitmask`, or an int32 CPU torch tensor of
                that shape. Its row is overwritten. The matcher keeps a reference to the last one,
                and remembers where its row lies.
            index: Which row to write.

        Returns:
            True: the mask forbids something and must be applied. (Control tokens are never
            text, so this holds for every real vocabulary.)

        Raises:
            MatcherError: An end id was accepted before.
            LimitError: A budget was passed.
            IndexError: *index* is not a row of *bitmask*.

        Cost: one copy where the state was met before, else a walk of the tokens that leave the
        current terminal. Releases the GIL.
        """
        if bitmask is not self._mask or index != self._row:
            self._attach(bitmask, index)
        status = _fill(self.handle, self._target, self._words, self._error)
        if status != _OK:
            raise_status(status, self._error)
        return True

    def warm(self, size: int) -> None:
        """Computes the mask of a vocabulary of *size* ids, for its tables alone."""
        words = (size + 31) // 32
        status = lib.glk_matcher_fill(self.handle, ffi.new("uint32_t[]", words), words, self._error)
        if status != _OK:
            raise_status(status, self._error)

    def fill_by_walk(self, mask: Any, row: int) -> None:
        """The same by the general walk; what tests compare with."""
        self._attach(mask, row)
        status = lib.glk_matcher_fill_by_walk(self.handle, self._target, self._words, self._error)
        if status != _OK:
            raise_status(status, self._error)

    def fill_draft(
        self, tokens: Sequence[int], parents: Sequence[int] | None, mask: Any
    ) -> list[bool]:
        """Writes the masks of a draft: row 0 of the sequence as it is, row i + 1 behind token i."""
        ids = [int(token) for token in tokens]
        above: Any = ffi.NULL
        if parents is not None:
            if len(parents) != len(ids):
                raise ValueError(f"{len(ids)} draft tokens, but {len(parents)} parents")
            above = ffi.new("uint32_t[]", [_NO_PARENT if p < 0 else int(p) for p in parents])
        address, rows, words, stride = mask_memory(mask)
        if len(ids) >= rows:
            raise IndexError(f"{len(ids)} draft tokens for a bitmask of {rows} rows, one too few")
        valid = ffi.new("bool[]", max(len(ids), 1))
        status = lib.glk_matcher_fill_draft(
            self.handle, ids, above, len(ids), address, stride, words, valid, self._error
        )
        if status != _OK:
            raise_status(status, self._error)
        return [bool(valid[i]) for i in range(len(ids))]

    def _attach(self, mask: Any, row: int) -> None:
        address, rows, words, stride = mask_memory(mask)
        if not 0 <= row < rows:
            raise IndexError(f"row {row} of a bitmask with {rows} rows")
        self._target = address + row * stride
        self._mask, self._row, self._words = mask, row, words


def mask_memory(mask: Any) -> tuple[Any, int, int, int]:
    """Where a bitmask lies: ``(uint32_t pointer, rows, words in a row, stride in words)``.

    Args:
        mask: numpy array or CPU torch tensor, int32, of shape (rows, words) or (words,), with
            contiguous rows.

    Raises:
        TypeError: It is neither, or not of 32-bit integers.
        ValueError: Wrong number of axes, rows that are not contiguous, or a read-only array.
    """
    import numpy as np

    array = mask
    if not isinstance(array, np.ndarray):
        if not hasattr(array, "numpy"):
            raise TypeError(f"a bitmask is a numpy array or torch tensor, not {type(mask)}")
        array = array.numpy()
    if array.dtype not in (np.int32, np.uint32):
        raise TypeError(f"a bitmask holds int32, not {array.dtype}")
    if array.ndim == 1:
        array = array[np.newaxis]
    if array.ndim != 2:
        raise ValueError(f"a bitmask has one or two axes, not {array.ndim}")
    rows, words = array.shape
    if not array.flags.writeable:
        raise ValueError("the bitmask is read-only")
    if not array.flags.aligned:
        raise ValueError("the bitmask does not lie at a multiple of 4 bytes")
    if words > 1 and array.strides[1] != 4:
        raise ValueError("the rows of a bitmask must be contiguous")
    stride = array.strides[0] // 4 if rows > 1 else words
    if rows > 1 and (array.strides[0] % 4 or stride < words):
        raise ValueError("the rows of a bitmask must not overlap")
    address = ffi.cast("uint32_t *", array.ctypes.data)
    return address, rows, words, stride


class _LastMask(threading.local):
    """Where the last bitmask of this thread's batches lies: most callers use one for ever."""

    def __init__(self) -> None:
        self.mask: Any = None
        self.memory: tuple[Any, int, int, int] = (ffi.NULL, 0, 0, 0)

    def memory_of(self, mask: Any) -> tuple[Any, int, int, int]:
        """:func:`mask_memory`, remembered."""
        if mask is not self.mask:
            self.memory = mask_memory(mask)
            self.mask = mask
        return self.memory


_last_mask = _LastMask()


def fill_rows(matchers: Sequence[MatcherHandle], mask: Any, threads: int) -> None:
    """Writes matcher *i*'s mask into row *i*, all in one call.

    Raises:
        MatcherError, LimitError, MemoryError: Of the first row that failed; the others are filled.
        ValueError: A matcher is listed twice, and more than one thread would use it.
    """
    count = len(matchers)
    if count == 1:
        _fill_only_row(matchers[0], mask)
        return
    address, rows, words, stride = _last_mask.memory_of(mask)
    if threads > 1 and len(set(matchers)) < count:
        raise ValueError("a matcher belongs to one thread at a time, but one is listed twice")
    if count > rows:
        raise IndexError(f"{count} matchers for a bitmask with {rows} rows")
    handles = ffi.new("glk_matcher *[]", [matcher.handle for matcher in matchers])
    statuses = ffi.new("glk_status[]", max(count, 1))
    error = scratch.error
    status = lib.glk_matchers_fill(
        handles, count, address, stride, words, max(min(threads, count), 1), statuses, error
    )
    if status != _OK:
        if status == lib.GLK_ERR_STATE:
            text = ffi.string(error.text).decode("utf-8", "replace")
            raise MatcherError(text, row=int(error.row))
        try:
            raise_status(status, error)
        except LimitError as failure:
            failure.row = int(error.row)
            raise


def _fill_only_row(matcher: MatcherHandle, mask: Any) -> None:
    """A batch of one: the matcher's own call, its failures named as a batch names them."""
    try:
        matcher.fill(mask)
    except MatcherError as failure:
        raise MatcherError(failure.reason, row=0) from None
    except LimitError as failure:
        failure.row = 0
        raise


_DTYPES = {
    "float32": lib.GLK_FLOAT32,
    "float16": lib.GLK_FLOAT16,
    "bfloat16": lib.GLK_BFLOAT16,
    "float64": lib.GLK_FLOAT64,
}


def apply_bitmask(logits: int, dtype: str, rows: int, columns: int, stride: int, mask: Any) -> None:
    """Sets logits to −inf where the mask's bit is clear; *logits* is an address, strides in items.

    Raises:
        TypeError: A dtype without kernel.
        ValueError: The mask has fewer rows.
    """
    kind = _kind(dtype)
    address, mask_rows, words, mask_stride = mask_memory(mask)
    if mask_rows < rows:
        raise ValueError(f"{rows} rows of logits, but a bitmask with {mask_rows}")
    lib.glk_logits_apply(
        ffi.cast("void *", logits), kind, rows, columns, stride, address, words, mask_stride
    )


def copy_allowed(
    source: tuple[int, int],
    target: tuple[int, int],
    dtype: str,
    shape: tuple[int, int],
    mask: Any,
    threads: int,
) -> list[bool]:
    """Copies logits, with −inf where the mask's bit is clear; in one pass, without the GIL.

    Args:
        source: Address, and items from row to row.
        target: The same of the copy, which must not overlap.
        dtype: Of both, by its name.
        shape: Rows and columns.
        mask: The bitmask; its place is remembered for the next call of this thread.
        threads: Threads that share big copies.

    Returns:
        By row, whether anything is left that is not −inf.

    Raises:
        TypeError: A dtype without kernel.
        ValueError: The mask has fewer rows.
    """
    kind = _kind(dtype)
    rows, columns = shape
    address, mask_rows, words, mask_stride = _last_mask.memory_of(mask)
    if mask_rows < rows:
        raise ValueError(f"{rows} rows of logits, but a bitmask with {mask_rows}")
    left = ffi.new("bool[]", max(rows, 1))
    lib.glk_logits_copy(
        ffi.cast("void *", source[0]),
        source[1],
        ffi.cast("void *", target[0]),
        target[1],
        kind,
        rows,
        columns,
        address,
        words,
        mask_stride,
        left,
        max(threads, 1),
    )
    return list(left[0:rows])


def _kind(dtype: str) -> int:
    """The core's number of a type of logits."""
    kind: int | None = _DTYPES.get(dtype)
    if kind is None:
        raise TypeError(f"logits of {dtype}; known: {', '.join(_DTYPES)}")
    return kind


def logits_kernel() -> str:
    """Which kernel applies masks: ``"avx512"``, ``"avx2"`` or ``"portable"``."""
    return str(ffi.string(lib.glk_logits_kernel()).decode())


def force_logits_kernel(name: str | None) -> bool:
    """Chooses a kernel for tests (None: the best); False if this machine cannot run it."""
    return bool(lib.glk_logits_force_kernel(ffi.NULL if name is None else name.encode()))
