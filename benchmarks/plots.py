"""Draws a record: percentile curves by engine, growth, memory. SVG, by matplotlib."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import matplotlib as mpl

mpl.use("svg")

import matplotlib.pyplot as plt

from benchmarks.bench_growth import UNITS
from benchmarks.figures import RANKS

# Told apart by colour-blind readers, and by their dashes in grey.
STYLES = {
    "gramlock": {"color": "#0072b2", "linestyle": "-", "linewidth": 2.2},
    "llguidance": {"color": "#d55e00", "linestyle": "--", "linewidth": 1.6},
    "xgrammar": {"color": "#009e73", "linestyle": "-.", "linewidth": 1.6},
}
LINES = (
    {"color": "#0072b2", "linestyle": "-", "marker": "o"},
    {"color": "#d55e00", "linestyle": "--", "marker": "s"},
    {"color": "#009e73", "linestyle": "-.", "marker": "^"},
)
BEYOND = 4.6  # where the worst stands on the axis of percentiles
TICKS = {0: "0", 50: "50", 90: "90", 99: "99", 99.9: "99.9", 99.99: "99.99", 100: "worst"}
SETTINGS = {
    "svg.hashsalt": "gramlock",
    "svg.fonttype": "none",
    "font.size": 9,
    "axes.grid": True,
    "grid.alpha": 0.3,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "legend.frameon": False,
    "lines.markersize": 3.5,
}


def place(rank: float) -> float:
    """Where a percentile stands: as far apart as 90, 99 and 99.9 are in nines."""
    return BEYOND if rank >= 100 else -math.log10(1 - rank / 100)


def save(figure: Any, path: Path) -> Path:
    """Writes the same bytes for the same figure."""
    figure.savefig(path, format="svg", bbox_inches="tight", metadata={"Date": None})
    plt.close(figure)
    text = path.read_text(encoding="utf-8")
    path.write_text("\n".join(line.rstrip() for line in text.splitlines()) + "\n", encoding="utf-8")
    return path


def percentiles(
    panels: Sequence[tuple[str, Mapping[str, Sequence[float]]]], heading: str, path: Path
) -> Path:
    """A panel for each title: time against percentile, a curve for each engine."""
    with plt.rc_context(SETTINGS):
        count = len(panels)
        size = (4.2 * count, 3.4)
        figure, axes = plt.subplots(1, count, figsize=size, squeeze=False, sharey=True)
        for axis, (title, curves) in zip(axes[0], panels, strict=True):
            for name, points in curves.items():
                style = STYLES.get(name, {})
                axis.plot([place(rank) for rank in RANKS], points, label=name, **style)
            axis.set(title=title, xlabel="percentile", yscale="log")
            axis.minorticks_off()
            axis.set_xticks([place(rank) for rank in TICKS], list(TICKS.values()), rotation=45)
        axes[0][0].set_ylabel("microseconds")
        axes[0][0].legend()
        figure.suptitle(heading, y=1.04)
        return save(figure, path)


def growth(axes: Mapping[str, Any], figures: Sequence[str], heading: str, path: Path) -> Path:
    """A panel for each axis of bench_growth with these of its figures, on two log axes.

    The number at the end of a line is its exponent.
    """
    with plt.rc_context(SETTINGS):
        columns = 4
        rows = -(-len(axes) // columns)
        size = (3.0 * columns, 2.5 * rows)
        figure, grid = plt.subplots(rows, columns, figsize=size, squeeze=False)
        panels = [*grid.flat]
        for panel, one in zip(panels, axes.values(), strict=False):
            sizes = [int(size) for size in one["points"]]
            for name, line in zip(figures, LINES, strict=False):
                values = [point[name] for point in one["points"].values()]
                panel.plot(sizes, values, label=UNITS[name], **line)
                fit = one["exponents"].get(name)
                if fit is not None:
                    words = {"xytext": (5, -3), "textcoords": "offset points", "fontsize": 7}
                    panel.annotate(
                        f"{fit:.1f}", (sizes[-1], values[-1]), color=line["color"], **words
                    )
            panel.set(title=one["title"], xscale="log", yscale="log")
            panel.minorticks_off()
            low, high = panel.get_ylim()
            panel.set_ylim(10 ** math.floor(math.log10(low)), 10 ** math.ceil(math.log10(high)))
        for panel in panels[len(axes) :]:
            panel.set_axis_off()
        handles, labels = panels[0].get_legend_handles_labels()
        figure.legend(
            handles, labels, loc="lower center", ncols=len(labels), bbox_to_anchor=(0.5, -0.03)
        )
        figure.suptitle(heading)
        figure.tight_layout()
        return save(figure, path)


def long_life(life: Mapping[str, Any], path: Path) -> Path:
    """Memory and the time of a step while a process meets grammar after grammar."""
    points = life["points"]
    across = [point["grammars"] for point in points]
    with plt.rc_context(SETTINGS):
        figure, (left, right) = plt.subplots(1, 2, figsize=(8.4, 3.2))
        for name, line in zip(("process", "vocabulary", "programs"), LINES, strict=True):
            left.plot(across, [p[name] for p in points], label=name, **{**line, "marker": ""})
        left.set(title="memory", xlabel="grammars met", ylabel="MiB", ylim=(0, None))
        left.legend()
        right.plot(across, [p["step"] for p in points], label="a step, µs", color="#0072b2")
        right.plot(
            across,
            [1000 * p["compile"] for p in points],
            "--",
            label="compile, µs",
            color="#d55e00",
        )
        right.set(title="speed", xlabel="grammars met", ylabel="microseconds", yscale="log")
        right.minorticks_off()
        right.legend()
        return save(figure, path)


def draw(record: Mapping[str, Any], folder: Path) -> dict[str, str]:
    """All plots of a record, as files of *folder*; their names by what they show."""
    drawn = {}
    for setting, one in record.get("engines", {}).items():
        stem = setting.replace(" ", "-")
        for question, words in (
            ("step", "time between masks"),
            ("first mask", "compile + first mask"),
        ):
            panels = [
                (when, one["curves"][f"{when}, wall, {question}"])
                for when in ("cold", "warm")
                if f"{when}, wall, {question}" in one["curves"]
            ]
            if panels:
                name = f"{question.replace(' ', '-')}-{stem}.svg"
                percentiles(panels, f"{words}: {one['title']}", folder / name)
                drawn[f"{question}, {setting}"] = name
    if record.get("growth"):
        for stem, figures, heading in (
            ("building", ("grammar", "program", "first"), "before the first token"),
            ("steps", ("step", "worst", "again"), "a step"),
            ("memory", ("bytes",), "memory of a program"),
        ):
            growth(record["growth"], figures, heading, folder / f"growth-{stem}.svg")
            drawn[f"growth, {stem}"] = f"growth-{stem}.svg"
    if record.get("memory"):
        long_life(record["memory"]["life"], folder / "memory.svg")
        drawn["memory"] = "memory.svg"
    return drawn
