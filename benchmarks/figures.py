"""What becomes of raw times: percentile curves, ratios, exponents of growth. Reads no clock."""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence

import numpy as np

# Close together where the tail begins: these are the points of a drawn curve.
RANKS = (
    *(1, 5, *range(10, 90, 5), *range(90, 99)),
    *(99, 99.2, 99.4, 99.6, 99.8, 99.9, 99.95, 99.99, 100),
)
DECADES = 1.5


def curve(values: Sequence[float]) -> list[float]:
    """The percentiles of RANKS, in that order; nothing of nothing."""
    if not len(values):
        return []
    return [float(f"{value:.4g}") for value in np.percentile(np.asarray(values), RANKS)]


def middle(curves: Sequence[Sequence[float]]) -> list[float]:
    """Point by point the median of some curves of one length."""
    return [statistics.median(points) for points in zip(*curves, strict=True)]


def ratio(values: Mapping[str, float], first: str) -> float | None:
    """The first one's value by the best of the others; None where it stands alone."""
    others = [value for name, value in values.items() if name != first]
    if first not in values or not others:
        return None
    return values[first] / max(min(others), 1e-9)


def exponent(points: Mapping[int, float], decades: float = DECADES) -> float | None:
    """The power of the size with which a figure grows, where it is large.

    The slope of the logarithms, by least squares, over the last *decades* of sizes: what is
    constant hides growth at the small end. None for fewer than two points above zero.
    """
    if not points:
        return None
    least = max(points) / 10**decades * 0.999
    logs = [(math.log(x), math.log(y)) for x, y in points.items() if x >= least and y > 0]
    if len(logs) < 2:
        return None
    mean_x = statistics.fmean(x for x, _ in logs)
    mean_y = statistics.fmean(y for _, y in logs)
    over = sum((x - mean_x) * (y - mean_y) for x, y in logs)
    return over / sum((x - mean_x) ** 2 for x, _ in logs)
