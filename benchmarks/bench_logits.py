"""What does it cost to forbid: minus infinity into the logits where the mask's bit is clear?

    python -m benchmarks.bench_logits [--out FILE]

Under pytest: this engine, by number type and share of allowed tokens. As a command: next to
xgrammar's, float32 on the CPU, in turns.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gramlock

SIZE = 128256
SHARES = (0.0001, 0.001, 0.01, 0.1, 0.5, 0.9, 0.99, 0.999)
ROUNDS = 301


def make_logits(dtype: str, rows: int) -> Any:
    if dtype == "bfloat16":
        torch = pytest.importorskip("torch", reason="numpy has no bfloat16")
        return torch.zeros((rows, SIZE), dtype=torch.bfloat16)
    return np.zeros((rows, SIZE), dtype)


def make_mask(rows: int, share: float) -> Any:
    """A mask that allows that share of the tokens, anywhere."""
    bitmask = gramlock.allocate_token_bitmask(rows, SIZE)
    allowed = np.random.default_rng(3).random((rows, bitmask.shape[1] * 32)) < share
    bitmask[:] = np.packbits(allowed, axis=1, bitorder="little").view(np.int32)
    return bitmask


@pytest.mark.parametrize("rows", [1, 8])
@pytest.mark.parametrize("share", [0.001, 0.5, 0.999])
@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
def test_apply(benchmark: Any, dtype: str, share: float, rows: int) -> None:
    benchmark.group = f"minus infinity, {SIZE:,} ids, {rows} row{'s' * (rows > 1)}"
    logits, bitmask = make_logits(dtype, rows), make_mask(rows, share)
    benchmark(gramlock.apply_token_bitmask_inplace, logits, bitmask)


def appliers() -> dict[str, Callable[[Any, Any], Any]]:
    """By engine what it applies a mask with; both take torch tensors."""
    found: dict[str, Callable[[Any, Any], Any]] = {"gramlock": gramlock.apply_token_bitmask_inplace}
    if importlib.util.find_spec("xgrammar"):
        import xgrammar

        found["xgrammar"] = xgrammar.apply_token_bitmask_inplace
    return found


def run(watch: Callable[[str], None] = lambda line: None) -> dict[str, Any]:
    """Microseconds for one row, by share of allowed tokens: medians of calls in turns."""
    import torch

    apply = appliers()
    names, rows = [*apply], []
    fresh = torch.zeros((1, SIZE))
    for share in SHARES:
        watch(f"one row, {100 * share:g} % allowed")
        mask = torch.from_numpy(make_mask(1, share))
        times: dict[str, list[float]] = {name: [] for name in names}
        for number in range(ROUNDS):
            for name in names if number % 2 else names[::-1]:
                logits = fresh.clone()
                begin = time.perf_counter_ns()
                apply[name](logits, mask)
                times[name].append((time.perf_counter_ns() - begin) / 1000)
        medians = {name: statistics.median(each) for name, each in times.items()}
        rows.append({"share": share, **medians})
    return {"engines": names, "size": SIZE, "rows": rows}


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.bench_logits", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("--out", type=Path, help="where the record goes, as JSON")
    options = parser.parse_args(arguments)
    result = run()
    for row in result["rows"]:
        print(", ".join(f"{key} {value:g}" for key, value in row.items()))
    if options.out:
        options.out.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
