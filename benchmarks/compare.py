"""The same schemas, texts and questions put to several engines.

    python -m benchmarks.compare --tokenizer FOLDER [--rows FILE.jsonl[.gz]] [--every N]
                                 [--engines gramlock,llguidance,xgrammar]

FOLDER holds a ``tokenizer.json``. FILE holds one object a line, in the shape of JSONSchemaBench:
``{"schema": ..., "tests": [{"data": ..., "valid": true}, ...]}``; without it the cases of corpus.py
are used.

For each schema: the time from its text to the first mask; then for each instance, token by token,
the time to fill the mask and to accept the token. Engines take turns schema by schema, so that a
busy machine disturbs all of them alike. Times are compared on the schemas that every engine judged
right on every instance.
"""

from __future__ import annotations

import argparse
import gzip
import json
import statistics
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from benchmarks import corpus

Row = dict[str, Any]


class Engine(Protocol):
    """What is asked of an engine; ``words`` is the mask that ``fill`` writes."""

    words: Any

    def compile(self, schema: Row) -> None: ...
    def start(self) -> None: ...
    def fill(self) -> None: ...
    def accept(self, token: int) -> None: ...


class Gramlock:
    def __init__(self, tokenizer: Any) -> None:
        import gramlock

        self.library = gramlock
        self.vocabulary = gramlock.Vocabulary.from_huggingface(tokenizer)
        self.mask = gramlock.allocate_token_bitmask(1, self.vocabulary.size)
        self.words = self.mask[0]

    def compile(self, schema: Row) -> None:
        self.program = self.vocabulary.compile(self.library.Grammar.from_json_schema(schema))

    def start(self) -> None:
        self.matcher = self.program.matcher()

    def fill(self) -> None:
        self.matcher.fill_next_token_bitmask(self.mask)

    def accept(self, token: int) -> None:
        self.matcher.accept_token(token)


class LLGuidance:
    def __init__(self, tokenizer: Any) -> None:
        import llguidance
        import llguidance.hf
        import llguidance.numpy

        self.library, self.write = llguidance, llguidance.numpy.fill_next_token_bitmask
        self.tokenizer = llguidance.hf.from_tokenizer(tokenizer)
        self.mask = llguidance.numpy.allocate_token_bitmask(1, self.tokenizer.vocab_size)
        self.words = self.mask[0]

    def compile(self, schema: Row) -> None:
        source = json.dumps({"grammars": [{"json_schema": schema}]})
        self.compiled = self.library.LLMatcher(self.tokenizer, source)
        if self.compiled.is_error():
            raise ValueError(self.compiled.get_error())

    def start(self) -> None:
        self.matcher = self.compiled.deep_copy()

    def fill(self) -> None:
        self.write(self.matcher, self.mask, 0)

    def accept(self, token: int) -> None:
        self.matcher.consume_token(token)


class XGrammar:
    def __init__(self, tokenizer: Any) -> None:
        import xgrammar

        self.library = xgrammar
        info = xgrammar.TokenizerInfo.from_huggingface(tokenizer, vocab_size=len(tokenizer))
        self.mask = xgrammar.allocate_token_bitmask(1, info.vocab_size)
        self.words = self.mask[0]
        self.compiler = xgrammar.GrammarCompiler(info, max_threads=1)

    def compile(self, schema: Row) -> None:
        self.program = self.compiler.compile_json_schema(json.dumps(schema), strict_mode=False)

    def start(self) -> None:
        self.matcher = self.library.GrammarMatcher(self.program)

    def fill(self) -> None:
        self.matcher.fill_next_token_bitmask(self.mask)

    def accept(self, token: int) -> None:
        self.matcher.accept_token(token)


ENGINES = {"gramlock": Gramlock, "llguidance": LLGuidance, "xgrammar": XGrammar}


@dataclass
class Result:
    """What one engine did with one schema. Times in microseconds."""

    refused: str = ""
    wrong: int = 0
    first_mask: float = 0.0
    steps: list[float] = field(default_factory=list)

    @property
    def right(self) -> bool:
        return not self.refused and not self.wrong


def allows(words: Any, token: int) -> bool:
    return bool(int(words[token >> 5]) >> (token & 31) & 1)


def follow(engine: Engine, ids: list[int], end: int, steps: list[float]) -> bool:
    """Whether the engine lets this text through; one time per step into *steps*."""
    engine.start()
    for token in ids:
        begin = time.perf_counter_ns()
        engine.fill()
        filled = time.perf_counter_ns()
        if not allows(engine.words, token):
            return False
        again = time.perf_counter_ns()
        engine.accept(token)
        steps.append((time.perf_counter_ns() - again + filled - begin) / 1000)
    engine.fill()
    return allows(engine.words, end)


def judge(engine: Engine, tokenizer: Any, row: Row) -> Result:
    result = Result()
    begin = time.perf_counter_ns()
    try:
        engine.compile(row["schema"])
        engine.start()
        engine.fill()
    except Exception as error:  # engines raise what they like
        result.refused = f"{type(error).__name__}: {error}"[:200]
        return result
    result.first_mask = (time.perf_counter_ns() - begin) / 1000
    for test in row["tests"]:
        text = json.dumps(test["data"], ensure_ascii=False)
        ids = tokenizer.encode(text, add_special_tokens=False)
        try:
            taken = follow(engine, ids, tokenizer.eos_token_id, result.steps)
        except Exception as error:
            result.refused = f"while filling: {type(error).__name__}: {error}"[:200]
            break
        result.wrong += taken != test["valid"]
    return result


def corpus_rows() -> Iterator[Row]:
    for case in corpus.CASES:
        for number in range(5):
            tests = [{"data": case.instance(number), "valid": True}]
            yield {"schema": case.make(number), "tests": tests}


def read_rows(path: Path | None, every: int) -> list[Row]:
    if path is None:
        return [*corpus_rows()]
    with gzip.open(path, "rt") if path.suffix == ".gz" else path.open(encoding="utf-8") as lines:
        return [json.loads(line) for line in lines if line.strip()][::every]


def figures(results: list[Result], shared: list[int]) -> dict[str, str]:
    """One engine's column: verdicts on everything, times on the shared schemas."""
    steps = [step for index in shared for step in results[index].steps] or [0.0]
    first = [results[index].first_mask for index in shared] or [0.0]
    return {
        "schemas right": str(sum(result.right for result in results)),
        "refused": str(sum(bool(result.refused) for result in results)),
        "wrong": str(sum(bool(result.wrong) for result in results)),
        "between masks, median µs": f"{statistics.median(steps):,.1f}",
        "between masks, mean µs": f"{statistics.fmean(steps):,.1f}",
        "between masks, 99th µs": f"{np.percentile(steps, 99):,.1f}",
        "compile + first mask, median µs": f"{statistics.median(first):,.0f}",
        "compile + first mask, 99th µs": f"{np.percentile(first, 99):,.0f}",
    }


def report(results: dict[str, list[Result]]) -> str:
    """A Markdown table, an engine a column."""
    count = len(next(iter(results.values())))
    shared = [i for i in range(count) if all(rows[i].right for rows in results.values())]
    columns = {name: figures(rows, shared) for name, rows in results.items()}
    lines = ["| | " + " | ".join(columns) + " |", "|:--|" + "--:|" * len(columns)]
    for key in next(iter(columns.values())):
        lines.append(f"| {key} | " + " | ".join(column[key] for column in columns.values()) + " |")
    return "\n".join(
        [*lines, "", f"{count} schemas; times on the {len(shared)} that all judged right"]
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--tokenizer", type=Path, required=True)
    parser.add_argument("--rows", type=Path)
    parser.add_argument("--every", type=int, default=1)
    parser.add_argument("--engines", default=",".join(ENGINES))
    options = parser.parse_args()
    tokenizer = corpus.load_tokenizer(options.tokenizer)
    engines: dict[str, Engine] = {
        name: ENGINES[name](tokenizer) for name in options.engines.split(",")
    }
    results: dict[str, list[Result]] = {name: [] for name in engines}
    for row in read_rows(options.rows, options.every):
        for name, engine in engines.items():
            results[name].append(judge(engine, tokenizer, row))
    print(report(results))


if __name__ == "__main__":
    main()
