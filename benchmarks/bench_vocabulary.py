"""How long does it take to build a vocabulary, from a loaded tokenizer to the first mask?

    python -m benchmarks.bench_vocabulary [--tokenizer FOLDER] [--out FILE]

Under pytest: this engine, each vocabulary. As a command: next to the other engines, in turns, and
the way a second start takes, from a file that the first has saved.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import gramlock
from benchmarks import corpus
from benchmarks.engines import ENGINES, installed

ROUNDS = 3


@pytest.mark.parametrize("name", corpus.VOCABULARIES)
def test_build(benchmark: Any, name: str) -> None:
    benchmark.group = "vocabulary"
    if name == "synthetic":
        tokens = corpus.synthetic_tokens()
        benchmark.pedantic(gramlock.Vocabulary.from_tokens, (tokens,), rounds=5)
    else:
        tokenizer = corpus.load_tokenizer(corpus.tokenizer_folders()[name])
        benchmark.pedantic(gramlock.Vocabulary.from_huggingface, (tokenizer,), rounds=3)


def seconds(work: Callable[[], Any]) -> tuple[float, Any]:
    begin = time.perf_counter()
    result = work()
    return time.perf_counter() - begin, result


def run(folder: Path, names: list[str], watch: Callable[[str], None] = lambda line: None) -> Any:
    """Seconds by engine, the median over rounds; and of a file, this engine's."""
    loaded = [corpus.load_tokenizer(folder) for _ in range(ROUNDS)]  # nothing kept from the last
    spent: dict[str, list[float]] = {name: [] for name in names}
    for number, tokenizer in enumerate(loaded):
        watch(f"vocabularies, round {number + 1} of {ROUNDS}")
        for name in [*names[number % len(names) :], *names[: number % len(names)]]:
            spent[name].append(seconds(lambda n=name, t=tokenizer: ENGINES[n](t, "own", {}))[0])
    return {
        "tokenizer": folder.name,
        "seconds": {name: statistics.median(each) for name, each in spent.items()},
        "file": from_file(gramlock.Vocabulary.from_huggingface(loaded[0])),
    }


def from_file(vocabulary: Any) -> dict[str, float] | None:
    """Seconds to save and to load again, and the bytes of the file; None of what has no files."""
    if not hasattr(vocabulary, "save"):
        return None
    with tempfile.TemporaryDirectory() as place:
        path = Path(place) / "vocabulary"
        save, load = [], []
        for _ in range(ROUNDS):
            save.append(seconds(lambda: vocabulary.save(path))[0])
            load.append(seconds(lambda: type(vocabulary).load(path))[0])
        size = path.stat().st_size
    return {"save": statistics.median(save), "load": statistics.median(load), "bytes": size}


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.bench_vocabulary", description=__doc__
    )
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("--tokenizer", type=Path, help="a folder with a tokenizer.json")
    parser.add_argument("--engines", type=lambda s: s.split(","), default=list(ENGINES))
    parser.add_argument("--out", type=Path, help="where the record goes, as JSON")
    options = parser.parse_args(arguments)
    names, _ = installed(options.engines)
    result = run(corpus.chosen_tokenizer(options.tokenizer), names)
    print(json.dumps(result, indent=1))
    if options.out:
        options.out.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
