"""The same schemas, texts and questions put to several engines, in turns.

A round is a process of its own. It visits the schemas one after another; at each the engines take
turns, in another order each time, so that a busy machine disturbs all of them alike. Everything is
visited twice: ``cold``, the first time this process meets the schema, and ``warm``, when each
engine may use whatever it remembers. Asked is the time from the schema's text to the first mask,
then for each text, token by token, the time to fill the mask and to accept the token: on the wall
clock, and of the processor in all threads of the process, which a busy machine stretches less.

Figures are medians over the rounds, of schemas on which every engine was right about every text,
so that nobody gains by enforcing less. A ratio is the first engine's figure divided by the best of
the others in the same round; the median of the rounds' ratios is what is reported.
"""

from __future__ import annotations

import gzip
import json
import statistics
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks import corpus
from benchmarks.engines import ENGINES, Engine
from benchmarks.figures import RANKS, curve, middle, ratio

Row = dict[str, Any]
PASSES = ("cold", "warm")
CLOCKS: dict[str, Callable[[], int]] = {
    "wall": time.perf_counter_ns,
    "processor": time.process_time_ns,
}
MARKS = {
    "step": {"median": 50, "90th": 90, "99th": 99, "99.9th": 99.9, "worst": 100},
    "first mask": {"median": 50, "90th": 90, "99th": 99, "worst": 100},
}


@dataclass(frozen=True)
class Setting:
    """White space as in engines.SPACING, and options by engine."""

    title: str
    spacing: str = "own"
    options: dict[str, dict[str, Any]] = field(default_factory=dict)


# max_threads is 8 by default. llguidance has no threads below a batch.
ONE_THREAD = {"xgrammar": {"max_threads": 1}}
SETTINGS = {
    "defaults": Setting("every engine as it comes, threads included"),
    "one thread": Setting("every engine's own white space", "own", ONE_THREAD),
    "same language": Setting(
        "any white space between tokens for all, one thread", "flexible", ONE_THREAD
    ),
}


@dataclass(frozen=True)
class Task:
    """What a round needs to know."""

    tokenizer: Path
    engines: list[str]
    setting: Setting
    data: Path | None = None
    every: int = 1


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


def visit(engine: Engine, end: int, row: Row) -> Row:
    """What one engine does with one schema: its verdicts and times."""
    result: Row = {"refused": "", "rejected": 0, "let_through": 0, "first": None, "steps": []}
    watch = Stopwatch()
    try:
        watch(first_mask, engine, engine.source(row["schema"]))
        result["first"] = watch.nanoseconds
        for ids, valid in row["ids"]:
            if follow(engine, ids, end, result["steps"]) != valid:
                result["rejected" if valid else "let_through"] += 1
    except Exception as error:  # engines raise what they like
        result["refused"] = f"{type(error).__name__}: {error}"[:300]
    return result


def is_right(result: Row) -> bool:
    return not (result["refused"] or result["rejected"] or result["let_through"])


def run_round(task: Task, number: int) -> Row:
    """Everything twice; percentiles of the schemas that all engines are right about."""
    tokenizer = corpus.load_tokenizer(task.tokenizer)
    engines: dict[str, Engine] = {}
    for name in task.engines:
        options = dict(task.setting.options.get(name, {}))
        engines[name] = ENGINES[name](tokenizer, task.setting.spacing, options)
    rows = [*read_rows(task, tokenizer)]
    visits: dict[str, list[dict[str, Row]]] = {name: [] for name in PASSES}
    for passing in PASSES:
        for index, row in enumerate(rows):
            names = list(engines)
            turn = (index + number) % len(names)
            order = [*names[turn:], *names[:turn]]
            end = tokenizer.eos_token_id
            visits[passing].append({n: visit(engines[n], end, row) for n in order})
    names = [row["id"] for row in rows]
    return {"empty_step": empty_step(), **summarise(task.engines, names, visits)}


def empty_step() -> dict[str, float]:
    """What a step that does nothing reads as, in microseconds."""
    readings = []
    for _ in range(2000):
        watch = Stopwatch()
        watch(int)
        watch(int, 1)
        readings.append(watch.nanoseconds)
    return {c: statistics.median(reading[c] for reading in readings) / 1000 for c in CLOCKS}


def read_lines(data: Path | None) -> list[Row]:
    """The schemas and texts of a file, or else the project's own."""
    if data is None:
        return [*corpus.comparison_rows()]
    opened = gzip.open if data.suffix == ".gz" else open
    with opened(data, "rt", encoding="utf-8") as file:
        return [json.loads(line) for line in file if line.strip()]


def read_rows(task: Task, tokenizer: Any) -> Iterator[Row]:
    separators = (",", ":") if task.setting.spacing == "compact" else None
    for number, row in enumerate(read_lines(task.data)[:: task.every]):
        texts = [
            json.dumps(test["data"], ensure_ascii=False, separators=separators)
            for test in row["tests"]
        ]
        ids = [tokenizer.encode(text, add_special_tokens=False) for text in texts]
        yield {
            "id": row.get("id", f"row {number}"),
            "schema": row["schema"],
            "ids": [(i, test["valid"]) for i, test in zip(ids, row["tests"], strict=True)],
        }


# ---- figures


def summarise(engines: list[str], names: list[str], visits: dict[str, list[dict[str, Row]]]) -> Row:
    """Verdicts on everything; times, in microseconds, where every engine was right both times."""
    cold, warm = visits["cold"], visits["warm"]
    shared = [
        index
        for index in range(len(cold))
        if all(is_right(r) for seen in (cold[index], warm[index]) for r in seen.values())
    ]
    curves: dict[str, dict[str, list[float]]] = {}
    means: dict[str, dict[str, float]] = {}
    for passing in PASSES:
        for clock in CLOCKS:
            for name in engines:
                results = [visits[passing][index][name] for index in shared]
                steps = [step[clock] / 1000 for result in results for step in result["steps"]]
                first = [result["first"][clock] / 1000 for result in results]
                for question, values in (("step", steps), ("first mask", first)):
                    if values:
                        key = f"{passing}, {clock}, {question}"
                        curves.setdefault(key, {})[name] = curve(values)
                        means.setdefault(key, {})[name] = statistics.fmean(values)
    results = {name: [seen[name] for seen in cold] for name in engines}
    return {
        "schemas": len(cold),
        "shared": len(shared),
        "verdicts": {name: verdict(results[name]) for name in engines},
        "wrong": {name: wrong(names, results[name]) for name in engines},
        "curves": curves,
        "means": means,
    }


def verdict(results: list[Row]) -> dict[str, int]:
    return {
        "right": sum(is_right(result) for result in results),
        "refused": sum(bool(result["refused"]) for result in results),
        "a valid text rejected": sum(result["rejected"] > 0 for result in results),
        "an invalid text let through": sum(result["let_through"] > 0 for result in results),
    }


def wrong(names: list[str], results: list[Row]) -> list[list[str]]:
    """Schema by schema, what an engine refuses or gets wrong."""
    found = []
    for name, result in zip(names, results, strict=True):
        parts = [
            f"refused ({result['refused'].splitlines()[0][:120]})" if result["refused"] else "",
            "a valid text rejected" if result["rejected"] else "",
            "an invalid text let through" if result["let_through"] else "",
        ]
        if any(parts):
            found.append([name, ", ".join(filter(None, parts))])
    return found


def marked(one: Row, key: str, question: str) -> dict[str, dict[str, float]]:
    """Mark by mark each engine's value in one round."""
    curves = one["curves"][key]
    marks = {
        mark: {name: points[RANKS.index(rank)] for name, points in curves.items()}
        for mark, rank in MARKS[question].items()
    }
    return {"mean": one["means"][key], **marks}


def combine(rounds: list[Row], engines: list[str]) -> Row:
    """Medians over the rounds: of curves point by point, of marks and of their ratios."""
    curves, figures = {}, {}
    for key, first in rounds[0]["curves"].items():
        question = key.split(", ")[2]
        curves[key] = {name: middle([one["curves"][key][name] for one in rounds]) for name in first}
        each = [marked(one, key, question) for one in rounds]
        for mark in each[0]:
            values = [one[mark] for one in each]
            row: dict[str, float] = {
                name: statistics.median(value[name] for value in values) for name in engines
            }
            ratios = [ratio(value, engines[0]) for value in values]
            known = [one for one in ratios if one is not None]
            if known:
                row["ratio"] = statistics.median(known)
            figures[f"{key}, {mark}"] = row
    empty = {c: statistics.median(one["empty_step"][c] for one in rounds) for c in CLOCKS}
    kept = {k: rounds[0][k] for k in ("schemas", "shared", "verdicts", "wrong")}
    return {
        **kept,
        "rounds": len(rounds),
        "empty_step": empty,
        "curves": curves,
        "figures": figures,
    }
