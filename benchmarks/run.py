"""Runs the benchmarks, prints one table, keeps one record.

    python -m benchmarks.run [arguments for pytest, such as -k cached]

The record, benchmarks/record/DATE-COMMIT.json, holds the machine, the versions and for each
benchmark the number of rounds and the median, mean, 90th percentile and minimum in microseconds.
"""

from __future__ import annotations

import datetime
import json
import sys
import tempfile
from pathlib import Path
from typing import Any

import pytest

import gramlock
from benchmarks.surroundings import HERE, commit

QUIET = ["-q", "-p", "no:cacheprovider", "--benchmark-only", "--benchmark-quiet"]
Row = dict[str, Any]


def measure(arguments: list[str]) -> Row:
    """What pytest-benchmark writes of one run."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "out.json"
        options = [*QUIET, f"--benchmark-json={out}"]
        code = pytest.main([str(HERE), *options, *arguments])
        if code != pytest.ExitCode.OK:
            raise SystemExit(int(code))
        return dict(json.loads(out.read_text(encoding="utf-8")))


def condense(benchmark: Row) -> Row:
    """One benchmark in microseconds, divided by the steps that a round takes."""
    scale = 1e6 / benchmark["extra_info"].get("per", 1)
    rounds = sorted(benchmark["stats"]["data"])
    times = {
        "median": benchmark["stats"]["median"],
        "mean": benchmark["stats"]["mean"],
        "p90": rounds[min(len(rounds) - 1, len(rounds) * 9 // 10)],
        "min": rounds[0],
    }
    row = {"group": benchmark["group"], "name": benchmark["param"] or benchmark["name"]}
    return {
        **row,
        **{key: round(value * scale, 3) for key, value in times.items()},
        "rounds": len(rounds),
    }


def table(rows: list[Row]) -> str:
    """The rows as text, a heading for each group."""
    width = max(len(row["name"]) for row in rows)
    lines, group = [], None
    for row in rows:
        if row["group"] != group:
            group = row["group"]
            heading = "".join(f"{title:>12}" for title in ("median", "mean", "p90", "min"))
            lines += ["", f"{group} (microseconds)", " " * width + heading]
        figures = "".join(f"{row[key]:12,.2f}" for key in ("median", "mean", "p90", "min"))
        lines.append(f"{row['name']:<{width}}{figures}")
    return "\n".join(lines)


def main(arguments: list[str]) -> None:
    raw = measure(arguments)
    rows = [condense(benchmark) for benchmark in raw["benchmarks"]]
    groups = list(dict.fromkeys(row["group"] for row in rows))
    rows.sort(key=lambda row: groups.index(row["group"]))
    print(table(rows))
    now = datetime.datetime.now(datetime.timezone.utc)
    record = {
        "date": now.isoformat(timespec="seconds"),
        "commit": commit(),
        "gramlock": gramlock.__version__,
        "python": raw["machine_info"]["python_version"],
        "cpu": raw["machine_info"]["cpu"].get("brand_raw", "unknown"),
        "cores": raw["machine_info"]["cpu"].get("count"),
        "rows": rows,
    }
    path = HERE / "record" / f"{now:%Y-%m-%d}-{record['commit']}.json"
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
    print(f"\nrecorded in {path.relative_to(HERE.parent)}")


if __name__ == "__main__":
    main(sys.argv[1:])
