"""``gramlock conformance``: what becomes of every JSON Schema keyword in an engine.

One engine or several are asked about every instance of a corpus, each in a process of its own.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime, timezone
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn
from rich.table import Table
from rich.text import Text

from ..conformance import OUTCOMES, Corpus, Run, find_engine, read_corpus, run_engine
from ..conformance.engines import FREE
from ..conformance.page import write_page
from ..errors import GramlockError
from ..schema import SchemaOptions
from .inputs import Formats, Numbers, Order, Whitespace
from .report import BAD, OK, emit, notes, out, reported

__all__ = ["conformance"]

Escapes = Annotated[
    str, typer.Option(help="Spelling of strings and names: unlisted, minimal or any.")
]

_STYLES = {"enforced": "green", "refuses": "yellow", "over-rejects": "magenta"}
_WRONG = frozenset(("over-rejects", "over-accepts", "crashes"))


@reported
def conformance(
    engine: Annotated[
        list[str] | None,
        typer.Option(
            help="gramlock (the default), llguidance, xgrammar or outlines-core; may be repeated.",
            metavar="NAME",
        ),
    ] = None,
    corpus: Annotated[
        Path | None,
        typer.Option(help="Another corpus than the one that comes along.", metavar="DIR"),
    ] = None,
    keyword: Annotated[
        list[str] | None,
        typer.Option(help="Only this keyword; may be repeated.", metavar="NAME"),
    ] = None,
    json_file: Annotated[
        Path | None,
        typer.Option("--json", help="Write every answer as JSON; - is stdout.", metavar="FILE"),
    ] = None,
    html_file: Annotated[
        Path | None, typer.Option("--html", help="Write a page to publish.", metavar="FILE")
    ] = None,
    timeout: Annotated[
        float, typer.Option(help="Seconds that a schema or an instance may take.", min=0.1)
    ] = 60,
    order: Order = FREE["order"],
    whitespace: Whitespace = FREE["whitespace"],
    numbers: Numbers = FREE["numbers"],
    escapes: Escapes = FREE["escapes"],
    formats: Formats = FREE["formats"],
) -> int:
    """Run engines over a conformance corpus of JSON Schema and count, keyword by keyword.

    The options from --order on are Gramlock's. Exit code 1 if an engine accepts or rejects wrongly
    or crashes; refusing a schema is no error.
    """
    engines = [find_engine(name) for name in dict.fromkeys(engine or ["gramlock"])]
    chosen = read_corpus(corpus).select(keyword or [])
    options = dict(zip(FREE, (order, whitespace, numbers, escapes, formats), strict=True))
    _check(options)
    runs = []
    with _watched(chosen.size * len(engines)) as (describe, advance):
        for each in engines:
            describe(each.name)
            own = options if each.name == "gramlock" else {}
            runs.append(run_engine(chosen, each, own, seconds=timeout, advance=advance))
    today = datetime.now(timezone.utc).date().isoformat()
    _print(chosen, runs, notes if json_file == Path("-") else out)
    if json_file is not None:
        _write_json(json_file, _record(chosen, runs, today))
    if html_file is not None:
        _write(html_file, write_page(chosen, runs, today))
    return BAD if any(_WRONG & set(run.total()) for run in runs) else OK


def _check(options: dict[str, str]) -> None:
    try:
        SchemaOptions(**options)  # type: ignore[arg-type]
    except ValueError as error:
        raise GramlockError(str(error)) from error


@contextmanager
def _watched(count: int) -> Iterator[tuple[Callable[[str], None], Callable[[int], None]]]:
    """A progress bar on stderr if that is a terminal: what sets its title, and what moves it."""
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    with Progress(
        *columns, console=notes, transient=True, disable=not notes.is_terminal
    ) as progress:
        task = progress.add_task("", total=count)
        yield (
            lambda title: progress.update(task, description=title),
            lambda step: progress.advance(task, step),
        )


def _print(corpus: Corpus, runs: list[Run], console: Any) -> None:
    several = len(runs) > 1
    for run in runs:
        table = Table(box=None, pad_edge=False, header_style="bold")
        table.add_column(f"{run.engine} {run.version}" if several else "keyword", no_wrap=True)
        for outcome in OUTCOMES:
            table.add_column(outcome, justify="right")
        for keyword in corpus.keywords:
            table.add_row(escape(keyword.name), *_cells(run.counts(keyword)))
        table.add_section()
        table.add_row("[bold]all[/bold]", *_cells(run.total()))
        console.print(table)
        if several:
            console.print()
    if not several:
        _print_wrong(corpus, runs[0], console)


def _cells(counts: Counter[str]) -> list[Text]:
    return [
        Text(str(counts[name]), _STYLES.get(name, "red")) if counts[name] else Text("·", "dim")
        for name in OUTCOMES
    ]


def _print_wrong(corpus: Corpus, run: Run, console: Any) -> None:
    """The first of what is not enforced, with its reason; the files hold all of it."""
    shown = 0
    instances = {
        (keyword.name, case.name, place): (case, instance)
        for keyword in corpus.keywords
        for case in keyword.cases
        for place, instance in enumerate(case.instances)
    }
    for key, answer in run.answers.items():
        if answer.outcome not in _WRONG:
            continue
        shown += 1
        if shown <= 10:
            case, instance = instances[key]
            where = f"{key[0]}, {case.name} ({case.dialect})"
            console.print(f"[red]{answer.outcome}[/red] {escape(where)}: {escape(instance.text)}")
            console.print(f"  {escape(instance.reason)} {escape(answer.message)}".rstrip())
    if shown > 10:
        console.print(f"… and {shown - 10} more (--json and --html list all)")


def _record(corpus: Corpus, runs: list[Run], today: str) -> dict[str, Any]:
    return {
        "format": 1,
        "corpus": {"version": corpus.version, "instances": corpus.size},
        "date": today,
        "engines": [
            {
                "name": run.engine,
                "version": run.version,
                "options": dict(run.options),
                "total": {name: run.total()[name] for name in OUTCOMES},
                "keywords": {
                    keyword.name: {name: run.counts(keyword)[name] for name in OUTCOMES}
                    for keyword in corpus.keywords
                },
                "answers": [
                    {"keyword": keyword, "case": case, "instance": place, "outcome": answer.outcome}
                    | ({"message": answer.message} if answer.message else {})
                    for (keyword, case, place), answer in run.answers.items()
                ],
            }
            for run in runs
        ],
    }


def _write_json(path: Path, record: dict[str, Any]) -> None:
    if path == Path("-"):
        emit(record)
    else:
        _write(path, json.dumps(record, ensure_ascii=False, indent=1) + "\n")


def _write(path: Path, text: str) -> None:
    try:
        path.write_text(text, "utf-8")
    except OSError as error:
        raise GramlockError(f"cannot write {path}: {error.strerror}") from error
