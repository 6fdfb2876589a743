"""The same schemas, texts and questions put to several engines.

    python -m benchmarks.compare [--tokenizer FOLDER] [--data FILE.jsonl[.gz]] [--every N] ...

FOLDER holds a ``tokenizer.json``. FILE holds one object a line, in the shape of JSONSchemaBench:
``{"schema": ..., "tests": [{"data": ..., "valid": true}, ...]}``; without it the cases of corpus.py
are used.

A round is a process of its own. It visits the schemas one after another; at each the engines take
turns, in another order each time, so that a busy machine disturbs all of them alike. Everything is
visited twice: ``cold``, the first time this process meets the schema, and ``warm``, when each
engine may use whatever it remembers. Asked is the time from the schema's text to the first mask,
then for each text, token by token, the time to fill the mask and to accept the token: on the wall
clock, and of the processor in all threads of the process, which a busy machine stretches less.

Figures are medians over the rounds, of schemas on which every engine was right about every text.
The last column is the first engine's figure divided by the best of the others, again the median
over the rounds.
"""

from __future__ import annotations

import argparse
import datetime
import gzip
import json
import os
import platform
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import corpus
from benchmarks.engines import ENGINES, SPACING, Engine, installed, version
from benchmarks.run import HERE, commit

Row = dict[str, Any]
Figures = dict[str, dict[str, float]]  # figure -> engine -> value
PASSES = ("cold", "warm")
CLOCKS: dict[str, Callable[[], int]] = {
    "processor": time.process_time_ns,
    "wall": time.perf_counter_ns,
}


# ---- one round


class Stopwatch:
    """Both clocks around a call; the wall clock innermost."""

    def __init__(self) -> None:
        self.nanoseconds = dict.fromkeys(CLOCKS, 0)

    def __call__(self, work: Callable[..., None], *arguments: Any) -> None:
        processor, wall = time.process_time_ns(), time.perf_counter_ns()
        work(*arguments)
        wall_end, processor_end = time.perf_counter_ns(), time.process_time_ns()
        self.nanoseconds["wall"] += wall_end - wall
        self.nanoseconds["processor"] += processor_end - processor


def allows(words: Any, token: int) -> bool:
    return bool(int(words[token >> 5]) >> (token & 31) & 1)


def follow(engine: Engine, ids: list[int], end: int, steps: list[dict[str, int]]) -> bool:
    """Whether the engine lets this text through; the times of each step into *steps*."""
    engine.start()
    for token in ids:
        watch = Stopwatch()
        steps.append(watch.nanoseconds)
        watch(engine.fill)
        if not allows(engine.words, token):
            return False
        watch(engine.accept, token)
    engine.fill()
    return allows(engine.words, end)


def first_mask(engine: Engine, text: str) -> None:
    engine.compile(text)
    engine.start()
    engine.fill()


def visit(engine: Engine, tokenizer: Any, row: Row) -> Row:
    """What one engine does with one schema: its verdicts and times."""
    result: Row = {"refused": "", "rejected": 0, "let_through": 0, "first": None, "steps": []}
    watch = Stopwatch()
    try:
        watch(first_mask, engine, engine.source(row["schema"]))
        result["first"] = watch.nanoseconds
        for ids, valid in row["ids"]:
            if follow(engine, ids, tokenizer.eos_token_id, result["steps"]) != valid:
                result["rejected" if valid else "let_through"] += 1
    except Exception as error:  # engines raise what they like
        result["refused"] = f"{type(error).__name__}: {error}"[:300]
    return result


def is_right(result: Row) -> bool:
    return not (result["refused"] or result["rejected"] or result["let_through"])


def run_round(options: argparse.Namespace, number: int) -> Row:
    """Everything twice; raw times of the schemas that all engines are right about."""
    tokenizer = corpus.load_tokenizer(options.tokenizer)
    engines: dict[str, Engine] = {}
    vocabulary: dict[str, float] = {}
    for name in options.engines:
        begin = time.perf_counter_ns()
        engines[name] = ENGINES[name](tokenizer, options.spacing, options.settings.get(name, {}))
        vocabulary[name] = (time.perf_counter_ns() - begin) / 1e9
    rows = [*read_rows(options, tokenizer)]
    visits: dict[str, list[dict[str, Row]]] = {name: [] for name in PASSES}
    for passing in PASSES:
        for index, row in enumerate(rows):
            names = list(engines)
            turn = (index + number) % len(names)
            order = [*names[turn:], *names[:turn]]
            visits[passing].append({n: visit(engines[n], tokenizer, row) for n in order})
    return {"vocabulary": vocabulary, "empty_step": empty_step(), **summarise(options, visits)}


def empty_step() -> dict[str, float]:
    """What a step that does nothing reads as, in microseconds."""
    readings = []
    for _ in range(2000):
        watch = Stopwatch()
        watch(int)
        watch(int, 1)
        readings.append(watch.nanoseconds)
    return {c: statistics.median(reading[c] for reading in readings) / 1000 for c in CLOCKS}


def read_rows(options: argparse.Namespace, tokenizer: Any) -> Iterator[Row]:
    separators = (",", ":") if options.spacing == "compact" else None
    if options.data is None:
        lines: list[Row] = [*corpus.comparison_rows()]
    else:
        opened = gzip.open if options.data.suffix == ".gz" else open
        with opened(options.data, "rt", encoding="utf-8") as file:
            lines = [json.loads(line) for line in file if line.strip()]
    for row in lines[:: options.every]:
        texts = [
            json.dumps(test["data"], ensure_ascii=False, separators=separators)
            for test in row["tests"]
        ]
        ids = [tokenizer.encode(text, add_special_tokens=False) for text in texts]
        yield {
            "schema": row["schema"],
            "ids": [(i, test["valid"]) for i, test in zip(ids, row["tests"], strict=True)],
        }


# ---- figures


RANKS = {
    "step": {"median": 50, "90th": 90, "99th": 99, "99.9th": 99.9, "worst": 100},
    "first mask": {"median": 50, "99th": 99, "worst": 100},
}


def marks(question: str, values: list[float]) -> dict[str, float]:
    """The mean and the percentiles that are of interest; nothing of nothing."""
    if not values:
        return {}
    ranks = RANKS[question].items()
    return {
        "mean": statistics.fmean(values),
        **{name: float(np.percentile(values, rank)) for name, rank in ranks},
    }


def summarise(options: argparse.Namespace, visits: dict[str, list[dict[str, Row]]]) -> Row:
    """Verdicts on everything; times, in microseconds, where every engine was right both times."""
    cold, warm = visits["cold"], visits["warm"]
    shared = [
        index
        for index in range(len(cold))
        if all(is_right(r) for seen in (cold[index], warm[index]) for r in seen.values())
    ]
    verdicts = {name: verdict([seen[name] for seen in cold]) for name in options.engines}
    figures: Figures = {}
    for passing in PASSES:
        for clock in CLOCKS:
            for name in options.engines:
                results = [visits[passing][index][name] for index in shared]
                steps = [step[clock] / 1000 for result in results for step in result["steps"]]
                first = [result["first"][clock] / 1000 for result in results]
                for question, values in (("step", steps), ("first mask", first)):
                    for mark, value in marks(question, values).items():
                        key = f"{passing}, {clock}, {question}, {mark}"
                        figures.setdefault(key, {})[name] = value
    return {"schemas": len(cold), "shared": len(shared), "verdicts": verdicts, "figures": figures}


def verdict(results: list[Row]) -> dict[str, int]:
    return {
        "right": sum(is_right(result) for result in results),
        "refused": sum(bool(result["refused"]) for result in results),
        "a valid text rejected": sum(result["rejected"] > 0 for result in results),
        "an invalid text let through": sum(result["let_through"] > 0 for result in results),
    }


def ratio(values: dict[str, float], engines: list[str]) -> float:
    """The first engine's value by the best of the others."""
    return values[engines[0]] / max(min(values[name] for name in engines[1:]), 1e-9)


def combine(rounds: list[Row], engines: list[str]) -> Row:
    """Medians over the rounds."""
    figures: dict[str, dict[str, float]] = {}
    for key in rounds[0]["figures"]:
        each = [one["figures"][key] for one in rounds]
        figures[key] = {name: statistics.median(v[name] for v in each) for name in engines}
        if len(engines) > 1:
            figures[key]["ratio"] = statistics.median(ratio(v, engines) for v in each)
    medians = {
        key: {n: statistics.median(one[key][n] for one in rounds) for n in rounds[0][key]}
        for key in ("vocabulary", "empty_step")
    }
    return {**rounds[0], **medians, "figures": figures}


def table(result: Row, engines: list[str]) -> str:
    """Markdown: verdicts, then times by clock."""
    heads = [*engines, *(["ratio"] if len(engines) > 1 else [])]
    lines = []

    def head(title: str) -> None:
        lines.extend([f"| {title} | " + " | ".join(heads) + " |", "|:--|" + "--:|" * len(heads)])

    def line(title: str, cells: list[str]) -> None:
        cells += [""] * (len(heads) - len(cells))
        lines.append(f"| {title} | " + " | ".join(cells) + " |")

    head(f"{result['schemas']} schemas")
    for key in result["verdicts"][engines[0]]:
        line(key, [str(result["verdicts"][name][key]) for name in engines])
    line("vocabulary, seconds", [f"{result['vocabulary'][name]:.2f}" for name in engines])
    for clock in CLOCKS:
        empty = result["empty_step"][clock]
        lines.append("")
        head(f"{clock}, µs (an empty step reads as {empty:.1f})")
        for key, values in result["figures"].items():
            if f", {clock}, " in key:
                cells = [f"{values[name]:,.1f}" for name in engines]
                cells += [f"{values['ratio']:.2f}"] if "ratio" in values else []
                line(key.replace(f" {clock},", ""), cells)
    where = f"{result['shared']} of {result['schemas']} schemas"
    return "\n".join([*lines, "", f"Times on the {where} that all engines are right about."])


# ---- all rounds


def machine() -> Row:
    names = [
        line.split(":", 1)[1].strip()
        for line in (
            Path("/proc/cpuinfo").read_text() if os.path.exists("/proc/cpuinfo") else ""
        ).splitlines()
        if line.startswith("model name")
    ]
    return {
        "cpu": names[0] if names else platform.processor(),
        "cores": os.cpu_count(),
        "system": platform.system(),
        "python": platform.python_version(),
    }


def rounds_in_processes(options: argparse.Namespace, arguments: list[str]) -> list[Row]:
    rounds = []
    for number in range(options.rounds):
        command = [sys.executable, "-m", "benchmarks.compare", *arguments, "--round", str(number)]
        done = subprocess.run(command, stdout=subprocess.PIPE, text=True)
        if done.returncode:
            raise SystemExit(f"round {number + 1} failed")
        rounds.append(json.loads(done.stdout.splitlines()[-1]))
        print(f"round {number + 1} of {options.rounds} done", file=sys.stderr)
    return rounds


def record(options: argparse.Namespace, result: Row) -> Path:
    now = datetime.datetime.now(datetime.timezone.utc)
    content = {
        "date": now.isoformat(timespec="seconds"),
        "commit": commit(),
        "machine": machine(),
        "versions": {name: version(name) for name in options.engines},
        "tokenizer": options.tokenizer.name,
        "data": options.data.name if options.data else "benchmarks/corpus.py",
        "every": options.every,
        "rounds": options.rounds,
        "spacing": options.spacing,
        "settings": options.settings,
        **result,
    }
    path = options.out or HERE / "record" / f"compare-{now:%Y-%m-%d}-{content['commit']}.json"
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")
    return path


def parse(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.compare",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--tokenizer", type=lambda p: Path(p).resolve(), help="folder")
    parser.add_argument(
        "--data", type=lambda p: Path(p).resolve(), help="rows instead of corpus.py"
    )
    parser.add_argument("--every", type=int, default=1, help="take each N-th row")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--spacing", choices=SPACING, default="own", help="white space allowed")
    parser.add_argument("--engines", type=lambda s: s.split(","), default=list(ENGINES))
    parser.add_argument(
        "--settings", type=json.loads, default={}, help='as {"xgrammar": {"max_threads": 1}}'
    )
    parser.add_argument("--out", type=Path, help="where the record goes")
    parser.add_argument("--round", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    unknown = set(options.engines) - set(ENGINES)
    if unknown:
        parser.error(f"unknown: {', '.join(sorted(unknown))}; known: {', '.join(ENGINES)}")
    options.engines, missing = installed(options.engines)
    if missing and options.round is None:
        print(f"not installed, left out: {', '.join(missing)}", file=sys.stderr)
    if options.tokenizer is None:
        folders = corpus.tokenizer_folders()
        if not folders:
            parser.error("no tokenizer: give --tokenizer, or run python tests/assets.py llama3")
        options.tokenizer = folders.get("llama3") or next(iter(folders.values()))
    return options


def main(arguments: list[str]) -> None:
    options = parse(arguments)
    if options.round is not None:
        print(json.dumps(run_round(options, options.round)))
        return
    result = combine(rounds_in_processes(options, arguments), options.engines)
    print(table(result, options.engines))
    print(f"\nrecorded in {record(options, result)}")


if __name__ == "__main__":
    main(sys.argv[1:])
