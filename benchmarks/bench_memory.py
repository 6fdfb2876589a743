"""Does memory stay inside the budget, and speed where it was, however long a process lives?

    python -m benchmarks.bench_memory [--grammars 1000] [--tokens 1000000] [--out FILE]

One process compiles grammar after grammar, each different from all before, and writes under each
until the tokens are used up; it holds the last PROGRAMS programs, as a server's cache would. Every
tenth grammar adds a point: the memory of the process, what vocabulary and programs say they hold,
and the time of a step so far. Apart from that, by engine: how much memory a process that asks
everything of the comparison's schemas takes at its peak, the loaded tokenizer included.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import statistics
import sys
import time
from collections import deque
from collections.abc import Callable
from pathlib import Path
from typing import Any

import gramlock
from benchmarks import corpus
from benchmarks.engines import ENGINES
from benchmarks.rounds import SETTINGS, Task, read_rows, visit

PROGRAMS = 32
MIB = 2**20


def resident() -> float:
    """Memory of this process now, in MiB; its peak where the system does not say."""
    try:
        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    except OSError:
        return peak()
    return pages * os.sysconf("SC_PAGE_SIZE") / MIB


def peak() -> float:
    """The most memory that this process has had, in MiB."""
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return most / MIB if sys.platform == "darwin" else most / 1024


def write(program: gramlock.Program, ids: list[int], bitmask: Any, count: int) -> float:
    """Nanoseconds of the thread for *count* steps: the text again and again from its start."""
    matcher = program.matcher()
    fill, accept = matcher.fill_next_token_bitmask, matcher.accept_token
    begin = time.thread_time_ns()
    for done in range(count):
        if done % len(ids) == 0:
            matcher.reset()
        fill(bitmask)
        if not accept(ids[done % len(ids)]):
            raise ValueError(f"token {ids[done % len(ids)]} is refused")
    return time.thread_time_ns() - begin


def long_life(
    name: str, grammars: int, tokens: int, watch: Callable[[str], None] = lambda line: None
) -> dict[str, Any]:
    """The curves of one process's life with the vocabulary of that name."""
    vocabulary = corpus.vocabulary(name)
    bitmask = gramlock.allocate_token_bitmask(1, vocabulary.size)
    families = [case for case, _ in corpus.COMPARISON]
    held: deque[gramlock.Program] = deque(maxlen=PROGRAMS)
    share = tokens // grammars
    points: list[dict[str, float]] = []
    compiling: list[float] = []
    stepping: list[float] = []
    begin = resident()
    for number in range(grammars):
        case = families[number % len(families)]
        ids = corpus.tokenize(name, case.text(number))
        clock = time.thread_time()
        program = vocabulary.compile(gramlock.Grammar.from_json_schema(case.make(number)))
        compiling.append(1000 * (time.thread_time() - clock))
        held.append(program)
        stepping.append(write(program, ids, bitmask, share) / share / 1000)
        if (number + 1) % max(1, grammars // 100) == 0:
            latest = max(len(families), grammars // 100)
            points.append(
                {
                    "grammars": number + 1,
                    "process": resident(),
                    "vocabulary": vocabulary.stats()["bytes"] / MIB,
                    "programs": sum(one.stats()["bytes"] for one in held) / MIB,
                    "compile": statistics.median(compiling[-latest:]),
                    "step": statistics.fmean(stepping[-latest:]),
                }
            )
            watch(f"{number + 1} grammars: {points[-1]['process']:.0f} MiB")
    fifth = max(1, len(stepping) // 5)
    return {
        "vocabulary": name,
        "grammars": grammars,
        "tokens": share * grammars,
        "before": begin,
        "points": points,
        "step_early": statistics.fmean(stepping[:fifth]),
        "step_late": statistics.fmean(stepping[-fifth:]),
        "largest_vocabulary": max(point["vocabulary"] for point in points),
        "largest_process": max(point["process"] for point in points),
    }


def one_engine(task: Task) -> dict[str, float]:
    """Peak memory in MiB after the tokenizer, after the engine's vocabulary, and in the end."""
    tokenizer = corpus.load_tokenizer(task.tokenizer)
    rows = [*read_rows(task, tokenizer)]
    found = {"tokenizer": peak()}
    [name] = task.engines
    options = dict(task.setting.options.get(name, {}))
    engine = ENGINES[name](tokenizer, task.setting.spacing, options)
    found["vocabulary"] = peak()
    for row in rows:
        visit(engine, tokenizer.eos_token_id, row)
    return {**found, "end": peak()}


def task_for(tokenizer: Path, engine: str, data: Path | None, every: int) -> Task:
    return Task(tokenizer, [engine], SETTINGS["one thread"], data, every)


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.bench_memory", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("--vocabulary", choices=corpus.VOCABULARIES, default="synthetic")
    parser.add_argument("--grammars", type=int, default=1000)
    parser.add_argument("--tokens", type=int, default=1_000_000)
    parser.add_argument("--out", type=Path, help="where the record goes, as JSON")
    options = parser.parse_args(arguments)
    result = long_life(
        options.vocabulary,
        options.grammars,
        options.tokens,
        lambda line: print(line, file=sys.stderr, flush=True),
    )
    for point in result["points"][:: max(1, len(result["points"]) // 20)]:
        print(", ".join(f"{key} {value:.5g}" for key, value in point.items()))
    print(f"a step: {result['step_early']:.2f} µs early, {result['step_late']:.2f} µs late")
    if options.out:
        options.out.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
