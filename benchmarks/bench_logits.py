"""What does it cost to forbid: minus infinity into the logits where the mask's bit is clear?"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import gramlock

SIZE = 128256


def make_logits(dtype: str, rows: int) -> Any:
    if dtype == "bfloat16":
        torch = pytest.importorskip("torch", reason="numpy has no bfloat16")
        return torch.zeros((rows, SIZE), dtype=torch.bfloat16)
    return np.zeros((rows, SIZE), dtype)


@pytest.mark.parametrize("rows", [1, 8])
@pytest.mark.parametrize("share", [0.001, 0.5, 0.999])
@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
def test_apply(benchmark: Any, dtype: str, share: float, rows: int) -> None:
    benchmark.group = f"minus infinity, {SIZE:,} ids, {rows} row{'s' * (rows > 1)}"
    logits = make_logits(dtype, rows)
    bitmask = gramlock.allocate_token_bitmask(rows, SIZE)
    allowed = np.random.default_rng(3).random((rows, bitmask.shape[1] * 32)) < share
    bitmask[:] = np.packbits(allowed, axis=1, bitorder="little").view(np.int32)
    benchmark(gramlock.apply_token_bitmask_inplace, logits, bitmask)
