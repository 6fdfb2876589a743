"""Token bitmasks: one bit a token id, 32 ids a word, least significant bit first.

The layout is the one that the engines of the field share, so a bitmask can be handed to any
kernel that reads it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ._matching import apply_bitmask, fill_rows
from .matcher import Matcher

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

__all__ = [
    "allocate_token_bitmask",
    "apply_token_bitmask_inplace",
    "fill_next_token_bitmasks",
]


def allocate_token_bitmask(batch_size: int, vocabulary_size: int) -> npt.NDArray[np.int32]:
    """A bitmask in which every token is allowed.

    Args:
        batch_size: Rows.
        vocabulary_size: Ids a row, :attr:`gramlock.Vocabulary.size`.

    Returns:
        int32 array of shape ``(batch_size, ceil(vocabulary_size / 32))``;
        ``torch.from_numpy`` shares its memory.
    """
    import numpy as np

    return np.full((batch_size, (vocabulary_size + 31) // 32), -1, dtype=np.int32)


def fill_next_token_bitmasks(
    matchers: Sequence[Matcher], bitmask: Any, *, threads: int = 1
) -> None:
    """Write the masks of many matchers, matcher *i* into row *i*, in one call.

    Args:
        matchers: At most as many as *bitmask* has rows, none twice.
        bitmask: int32 numpy array or CPU torch tensor of shape (rows, words).
        threads: Threads to use, the caller's among them.

    Raises:
        MatcherError: A sequence has ended (names its row).
        LimitError: A budget was passed (``row`` says in which). In both cases all other rows are
            filled.
        ValueError: A matcher is listed twice, and more than one thread would use it.
        IndexError: There are more matchers than rows.

    Releases the GIL. Cost: as :meth:`Matcher.fill_next_token_bitmask` for each row.
    """
    fill_rows([matcher._handle for matcher in matchers], bitmask, threads)


def apply_token_bitmask_inplace(logits: Any, bitmask: Any) -> None:
    """Set the logits of forbidden tokens to minus infinity, in place.

    Args:
        logits: numpy array or CPU torch tensor of shape (rows, ids) or (ids,), float16, bfloat16,
            float32 or float64, whose last axis is contiguous. Ids past the bitmask are forbidden.
        bitmask: As :func:`allocate_token_bitmask` makes it, with at least as many rows.

    Raises:
        TypeError: Not such an array, or not on the CPU.
        ValueError: Wrong shape or strides.

    Cost: memory traffic over the forbidden entries. Thread-safe for different logits.
    """
    import numpy as np

    if isinstance(logits, np.ndarray):
        if not logits.flags.writeable:
            raise ValueError("the logits are read-only")
        if not logits.flags.aligned:
            raise ValueError("the logits do not lie at multiples of their size")
        address, dtype = logits.ctypes.data, str(logits.dtype)
        strides = [stride // logits.itemsize for stride in logits.strides]
    elif hasattr(logits, "data_ptr"):
        if logits.device.type != "cpu":
            raise TypeError(f"logits on {logits.device}; the native kernel works on the CPU")
        address, dtype = logits.data_ptr(), str(logits.dtype).removeprefix("torch.")
        strides = list(logits.stride())
    else:
        raise TypeError(f"logits are a numpy array or torch tensor, not {type(logits)}")
    shape = tuple(logits.shape)
    if len(shape) == 1:
        shape, strides = (1, *shape), [shape[0], *strides]
    if len(shape) != 2:
        raise ValueError(f"logits have one or two axes, not {len(shape)}")
    if 0 in shape:
        return
    if shape[1] > 1 and strides[1] != 1:
        raise ValueError("the last axis of the logits must be contiguous")
    stride = strides[0] if shape[0] > 1 else shape[1]
    if stride < shape[1]:
        raise ValueError("the rows of the logits must not overlap or run backwards")
    apply_bitmask(address, dtype, shape[0], shape[1], stride, bitmask)
