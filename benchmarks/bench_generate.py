"""What does the processor of transformers cost in a step of ``generate()``?

    python -m benchmarks.bench_generate [--model FOLDER | --no-model] [--out FILE]

First without a model: scores of zeros, ids as if the model had written a given text in each row.
The processors take turns at each step; one step accepts the last ids, makes the masks and forbids.
``cold`` is the first run under a compiled schema, ``warm`` the median of the runs after it. Then
with the demo's model: tokens a second of greedy decoding with a constraint and without one, in
turns in one process, and the constraint's own share of the time.
"""

from __future__ import annotations

import argparse
import copy
import importlib.util
import json
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import gramlock
from benchmarks import corpus

BATCHES = {1: 96, 8: 48, 64: 16}  # rows, and how many steps they take
SIZES = (49_152, 128_256, 256_000)
WARM = 3
PARTS = ("follow", "mask", "apply")
Watch = Callable[[str], None]


def text(row: int) -> bytes:
    """A text for the schema ``corpus.nested(0)``, another for each row."""
    lines = [{"sku": f"AB-{row:04}", "quantity": i + 1, "price": 1.25 * row} for i in range(8)]
    customer = {"name": f"Jo van den Berg {row}", "email": f"jo{row}@example.org"}
    order = {"order0": f"2026-02-{1 + row % 28:02}", "customer": customer, "lines": lines}
    return json.dumps(order).encode()


def of_gramlock(tokens: tuple[bytes, ...]) -> Callable[[], Any]:
    """Makes a processor; all of them share one program."""
    vocabulary = gramlock.Vocabulary.from_tokens([*tokens, None], end_ids=[len(tokens)])
    program = vocabulary.compile(gramlock.Grammar.from_json_schema(corpus.nested(0)))
    return lambda: gramlock.LogitsProcessor(program, vocabulary)


def of_xgrammar(tokens: tuple[bytes, ...]) -> Callable[[], Any]:
    """Makes a processor; all of them share one compiled grammar."""
    import xgrammar
    from xgrammar.contrib.hf import LogitsProcessor

    info = xgrammar.TokenizerInfo(
        [*tokens, b"</s>"], vocab_size=len(tokens) + 1, stop_token_ids=[len(tokens)]
    )
    compiler = xgrammar.GrammarCompiler(info)
    compiled = compiler.compile_json_schema(json.dumps(corpus.nested(0)), strict_mode=False)
    return lambda: LogitsProcessor(compiled)


MAKERS = {"gramlock": of_gramlock, "xgrammar": of_xgrammar}


def one_run(
    processors: dict[str, Any], ids: Any, size: int, turn: int
) -> tuple[dict[str, list[float]], int]:
    """Microseconds of each step by processor; and at how many steps they allow other numbers of
    tokens (looked at in the first turn)."""
    import torch

    zeros = torch.zeros((len(ids), size))
    scores = zeros.clone()
    times: dict[str, list[float]] = {name: [] for name in processors}
    differing = 0
    for step in range(1, ids.shape[1]):
        names = list(processors)
        shift = (turn + step) % len(names)
        results = []
        for name in [*names[shift:], *names[:shift]]:
            scores.copy_(zeros)
            begin = time.perf_counter_ns()
            result = processors[name](ids[:, :step], scores)
            times[name].append((time.perf_counter_ns() - begin) / 1000)
            if turn == 0:
                results.append((result == 0).sum(dim=1))
        differing += any(not torch.equal(results[0], other) for other in results[1:])
    return times, differing


def microseconds(stats: Any) -> dict[str, float]:
    """The parts of a step, on average."""
    return {part: 1e6 * getattr(stats, f"seconds_{part}") / stats.calls for part in PARTS}


def of_size(size: int, names: list[str], watch: Watch) -> list[dict[str, Any]]:
    """Rows of the table for one vocabulary: by batch, cold and warm."""
    import torch

    tokens = corpus.synthetic_tokens(size)
    index = corpus.index(tokens)
    makers = {name: MAKERS[name](tokens) for name in names}
    found = []
    for batch, steps in BATCHES.items():
        watch(f"processors, {size:,} ids, batch {batch}")
        rows = [corpus.longest_first(*index, text(row)) for row in range(batch)]
        length = min(steps, *(len(row) for row in rows))
        ids = torch.tensor([[0, *row[:length]] for row in rows])
        runs, differing = [], 0
        for turn in range(1 + WARM):
            processors = {name: make() for name, make in makers.items()}
            times, unequal = one_run(processors, ids, size, turn)
            differing += unequal
            runs.append({name: statistics.median(each) for name, each in times.items()})
        parts = microseconds(processors["gramlock"].stats)
        warm = {name: statistics.median(run[name] for run in runs[1:]) for name in names}
        head = {"size": size, "batch": batch, "steps": length, "differing": differing}
        # The states are cold in the first batch of a size only.
        if batch == min(BATCHES):
            found.append({**head, "states": "cold", **runs[0]})
        row = {**head, "states": "warm", **warm, "parts": parts}
        if len(names) > 1:
            row["ratio"] = statistics.median(run[names[0]] / run[names[1]] for run in runs[1:])
        found.append(row)
    return found


# ---- with a model


def with_model(folder: Path, watch: Watch, rounds: int = 3, tokens: int = 100) -> dict[str, Any]:
    """Tokens a second with the constraint and without, in turns."""
    import torch

    from gramlock.demo.refund import PROMPT, SCHEMA
    from gramlock.integrations.generation import load_model

    loaded = load_model(folder, threads=1)  # as the demo does; several wait for each other
    config = loaded.model.generation_config
    endless = copy.deepcopy(config)  # without a constraint the model must not end early
    endless.update(eos_token_id=None, pad_token_id=0)
    grammar = gramlock.Grammar.from_json_schema(SCHEMA)
    message = [{"role": "user", "content": PROMPT}]
    inputs = loaded.tokenizer.apply_chat_template(
        message, add_generation_prompt=True, return_tensors="pt", return_dict=True
    )
    length = inputs["input_ids"].shape[1]
    rates: dict[str, list[float]] = {"without": [], "with": []}
    shares, each = [], []
    for number in range(rounds + 1):  # the first warms the model up and does not count
        for kind in ("without", "with") if number % 2 else ("with", "without"):
            watch(f"model, run {number} of {rounds}, {kind} a constraint")
            processor = gramlock.LogitsProcessor(
                grammar, loaded.tokenizer, generation_config=config
            )
            begin = time.perf_counter()
            with torch.inference_mode():
                output = loaded.model.generate(
                    **inputs,
                    generation_config=config if kind == "with" else endless,
                    do_sample=False,
                    max_new_tokens=tokens,
                    logits_processor=[processor] if kind == "with" else [],
                )
            seconds = time.perf_counter() - begin
            if not number:
                continue
            rates[kind].append((output.shape[1] - length) / seconds)
            if kind == "with":
                shares.append(processor.stats.seconds / seconds)
                each.append(microseconds(processor.stats))
    return {
        "model": folder.name,
        "tokens": tokens,
        "threads": torch.get_num_threads(),
        "without": statistics.median(rates["without"]),
        "with": statistics.median(rates["with"]),
        "ratio": statistics.median(
            a / b for a, b in zip(rates["with"], rates["without"], strict=True)
        ),
        "share": statistics.median(shares),
        "microseconds": statistics.median(sum(parts.values()) for parts in each),
        "parts": {part: statistics.median(parts[part] for parts in each) for part in PARTS},
    }


def run(model: Path | None, watch: Watch = lambda line: None) -> dict[str, Any]:
    """Both tables; the second is None without a model."""
    names = [name for name in MAKERS if importlib.util.find_spec(name)]
    rows = [row for size in SIZES for row in of_size(size, names, watch)]
    return {"engines": names, "rows": rows, "model": with_model(model, watch) if model else None}


def found_model() -> Path | None:
    """The demo's model, if it has been fetched."""
    from gramlock.demo.model import cached_model

    return cached_model()


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.bench_generate", description=__doc__
    )
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    chosen = parser.add_mutually_exclusive_group()
    chosen.add_argument("--model", type=Path, default=found_model(), help="a model's folder")
    chosen.add_argument("--no-model", action="store_const", const=None, dest="model")
    parser.add_argument("--out", type=Path, help="where the record goes, as JSON")
    options = parser.parse_args(arguments)
    result = run(options.model, lambda line: print(line, file=sys.stderr, flush=True))
    for row in result["rows"]:
        print(", ".join(f"{key} {value}" for key, value in row.items()))
    print(result["model"] or "no model: gramlock demo fetches one")
    if options.out:
        options.out.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
