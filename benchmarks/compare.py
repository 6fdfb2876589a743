"""The whole comparison: runs its parts, prints the tables, draws the plots, keeps a record.

    python -m benchmarks.compare [--tokenizer FOLDER] [--data FILE.jsonl[.gz]] [--every N] ...

FOLDER holds a ``tokenizer.json``. FILE holds one object a line, in the shape of JSONSchemaBench:
``{"schema": ..., "tests": [{"data": ..., "valid": true}, ...]}``; without it the cases of corpus.py
are used. Parts, each in processes of its own:

    engines      masks and compiling next to other engines, in the settings of rounds.py
    vocabulary   from a tokenizer, and from a file
    batch        many matchers in a call, and threads
    logits       minus infinity where the mask forbids
    generate     the processor of transformers, and a model with it and without
    memory       a long life, and peaks by engine
    growth       cost against size

The record goes into benchmarks/record, the page with its plots into docs/benchmarks. ``--record``
writes the page from a record that is there. Peers that are not installed are left out.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks import (
    bench_batch,
    bench_generate,
    bench_growth,
    bench_logits,
    bench_memory,
    bench_vocabulary,
    corpus,
    rounds,
)
from benchmarks.engines import ENGINES, SPACING, installed
from benchmarks.page import page, summary, update
from benchmarks.surroundings import HERE, surroundings

PARTS = ("engines", "vocabulary", "batch", "logits", "generate", "memory", "growth")
PAGES = HERE.parent / "docs" / "benchmarks"
Watch = Callable[[str], None]


# ---- in a process of its own


def setting_of(options: argparse.Namespace, name: str) -> rounds.Setting:
    return options.settings_by_name[name]


def task_of(options: argparse.Namespace, setting: rounds.Setting) -> rounds.Task:
    return rounds.Task(options.tokenizer, options.engines, setting, options.data, options.every)


def child(options: argparse.Namespace, watch: Watch) -> Any:
    """One piece of work: ``KIND[:ARGUMENT ...]``."""
    kind, *arguments = options.child.split(":")
    if kind == "engines":
        return rounds.run_round(
            task_of(options, setting_of(options, arguments[0])), int(arguments[1])
        )
    if kind == "vocabulary":
        return bench_vocabulary.run(options.tokenizer, options.engines, watch)
    if kind == "batch":
        return bench_batch.run(corpus.load_tokenizer(options.tokenizer), options.engines, watch)
    if kind == "logits":
        return bench_logits.run(watch)
    if kind == "generate":
        return bench_generate.run(bench_generate.found_model(), watch)
    if kind == "life":
        return bench_memory.long_life("synthetic", options.grammars, options.tokens, watch)
    if kind == "peak":
        task = bench_memory.task_for(options.tokenizer, arguments[0], options.data, options.every)
        return bench_memory.one_engine(task)
    if kind == "growth":
        return bench_growth.run([*bench_growth.AXES], watch)
    raise ValueError(f"no such work: {kind}")


# ---- all of it


def spawn(arguments: list[str], work: str, watch: Watch) -> Any:
    """Does a piece of work in a new process; its lines go to *watch*.

    What engines have to say on the way is shown only if the work fails.
    """
    with tempfile.TemporaryDirectory() as place, tempfile.TemporaryFile("w+") as said:
        out = Path(place) / "out.json"
        command = [sys.executable, "-m", "benchmarks.compare", *arguments]
        command += ["--child", work, "--out", str(out)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=said, text=True) as process:
            assert process.stdout is not None
            for line in process.stdout:
                watch(line.strip())
        if process.returncode:
            said.seek(0)
            raise SystemExit(f"{said.read()[-4000:]}\n{work} failed")
        return json.loads(out.read_text(encoding="utf-8"))


def engines_part(options: argparse.Namespace, work: Callable[[str], Any]) -> dict[str, Any]:
    found = {}
    for name, setting in options.settings_by_name.items():
        done = [work(f"engines:{name}:{number}") for number in range(options.rounds)]
        found[name] = {"title": setting.title, **rounds.combine(done, options.engines)}
    return found


def pieces(options: argparse.Namespace) -> dict[str, int]:
    """How many processes each part takes, for the bar."""
    counts = dict.fromkeys(PARTS, 1)
    counts["engines"] = options.rounds * len(options.settings_by_name)
    counts["memory"] = 1 + len(options.engines)
    return {part: counts[part] for part in options.parts}


def gather(options: argparse.Namespace, arguments: list[str]) -> dict[str, Any]:
    """Runs the parts and shows how far they are."""
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (
        BarColumn(20),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("{task.description}"),
    )
    with Progress(*columns) as progress:
        bar = progress.add_task("", total=sum(pieces(options).values()))

        def work(name: str) -> Any:
            progress.update(bar, description=name)
            result = spawn(
                arguments,
                name,
                lambda line: progress.update(bar, description=f"{name}: {line}"[:110]),
            )
            progress.advance(bar)
            progress.console.print(f"done: {name.replace(':', ' ')}")
            return result

        record: dict[str, Any] = {
            **surroundings(),
            "tokenizer": options.tokenizer.name,
            "data": options.data.name if options.data else "the project's own cases",
            "every": options.every,
            "note": options.note,
        }
        for part in options.parts:
            if part == "engines":
                record[part] = engines_part(options, work)
            elif part == "memory":
                peaks = {name: work(f"peak:{name}") for name in options.engines}
                record[part] = {"life": work("life"), "peaks": peaks}
            else:
                record[part] = work(part)
    return record


def write_record(record: dict[str, Any], out: Path | None) -> Path:
    path = out or HERE / "record" / f"compare-{record['date'][:10]}-{record['commit']}.json"
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps(rounded(record), indent=1) + "\n", encoding="utf-8")
    return path


def rounded(item: Any) -> Any:
    """Floats with five digits: more is noise, and takes room."""
    if isinstance(item, float):
        return float(f"{item:.5g}")
    if isinstance(item, dict):
        return {key: rounded(value) for key, value in item.items()}
    return [rounded(value) for value in item] if isinstance(item, list) else item


def publish(record: dict[str, Any], folder: Path, readme: Path | None) -> None:
    """Prints the page, and writes it with its plots; the README's figures where asked."""
    from rich.console import Console
    from rich.markdown import Markdown

    from benchmarks.plots import draw

    folder.mkdir(parents=True, exist_ok=True)
    plots = draw(record, folder)
    text = page(record, plots)
    (folder / "README.md").write_text(text, encoding="utf-8")
    shown = [line for line in text.splitlines() if not line.startswith("![")]
    Console().print(Markdown("\n".join(shown)))
    if readme and record.get("engines"):
        update(readme, summary(record))


def parse(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.compare",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )

    def file(text: str) -> Path:
        return Path(text).resolve()

    parser.add_argument("--tokenizer", type=file, help="folder")
    parser.add_argument("--data", type=file, help="rows instead of corpus.py")
    parser.add_argument("--every", type=int, default=1, help="take each N-th row")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--parts", type=lambda s: s.split(","), default=[*PARTS])
    parser.add_argument("--engines", type=lambda s: s.split(","), default=list(ENGINES))
    parser.add_argument("--spacing", choices=SPACING, help="white space of a single setting")
    parser.add_argument(
        "--settings", type=json.loads, help='of a single one: {"xgrammar": {"max_threads": 1}}'
    )
    parser.add_argument("--grammars", type=int, default=1000, help="of the long life")
    parser.add_argument("--tokens", type=int, default=1_000_000, help="of the long life")
    parser.add_argument("--note", default="", help="a line for the page's head")
    parser.add_argument("--record", type=Path, help="write the page of this record, run nothing")
    parser.add_argument("--out", type=Path, help="where the record goes")
    parser.add_argument("--page", type=Path, default=PAGES, help="the page's folder")
    parser.add_argument("--readme", action="store_true", help="put the figures into README.md")
    parser.add_argument("--child", help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    for given, known in ((options.engines, ENGINES), (options.parts, PARTS)):
        unknown = set(given) - set(known)
        if unknown:
            parser.error(f"unknown: {', '.join(sorted(unknown))}; known: {', '.join(known)}")
    options.settings_by_name = dict(rounds.SETTINGS)
    if options.spacing or options.settings:
        spacing, given = options.spacing or "own", options.settings or {}
        title = f"white space: {spacing}; options: {json.dumps(given)}"
        chosen = rounds.Setting(title, spacing, given)
        options.settings_by_name = {"chosen": chosen}
    options.engines, missing = installed(options.engines)
    if missing and options.child is None:
        print(f"not installed, left out: {', '.join(missing)}", file=sys.stderr)
    if options.record is None:
        options.tokenizer = corpus.chosen_tokenizer(options.tokenizer)
    return options


def main(arguments: list[str]) -> None:
    options = parse(arguments)
    if options.child is not None:
        result = child(options, lambda line: print(line, flush=True))
        options.out.write_text(json.dumps(result), encoding="utf-8")
        return
    if options.record:
        record = json.loads(options.record.read_text(encoding="utf-8"))
    else:
        record = rounded(gather(options, arguments))
        print(f"recorded in {write_record(record, options.out)}")
    publish(record, options.page, HERE.parent / "README.md" if options.readme else None)


if __name__ == "__main__":
    main(sys.argv[1:])
