"""``gramlock check``: can a schema be enforced, and does its grammar mean what it should?

Three questions, each optional but the first: what became of every keyword; are the given instances
judged as they should be; does an independent validator accept sentences sampled from the grammar.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn
from rich.table import Table

from ..errors import MissingDependencyError
from ..grammar import Grammar
from .inputs import (
    DEFAULTS,
    Formats,
    JsonOutput,
    Numbers,
    Order,
    Relax,
    Whitespace,
    compile_schema,
    read_lines,
)
from .report import BAD, OK, emit, notes, out, reported

__all__ = ["check"]

_SHOWN = 10

Judge = Callable[[str], str | None]


@dataclass
class Findings:
    """What was tried and what was wrong."""

    instances: int = 0
    samples: int = 0
    wrong: list[dict[str, Any]] = field(default_factory=list)


@reported
def check(
    file: Annotated[Path, typer.Argument(help="JSON Schema.", metavar="FILE")],
    instances: Annotated[
        Path | None,
        typer.Option(
            help="Instances that must be accepted, one JSON value a line.", metavar="JSONL"
        ),
    ] = None,
    invalid: Annotated[
        Path | None,
        typer.Option(
            help="Instances that must be rejected, one JSON value a line.", metavar="JSONL"
        ),
    ] = None,
    samples: Annotated[int, typer.Option(help="Sentences to sample and validate.", min=0)] = 0,
    seed: Annotated[int, typer.Option(help="Of the first sample.")] = 0,
    everything: Annotated[
        bool, typer.Option("--all", help="List keywords that are enforced as they stand, too.")
    ] = False,
    order: Order = DEFAULTS.order,
    whitespace: Whitespace = DEFAULTS.whitespace,
    numbers: Numbers = DEFAULTS.numbers,
    formats: Formats = DEFAULTS.formats,
    relax: Relax = False,
    json_output: JsonOutput = False,
) -> int:
    """Compile a schema, show what is enforced, test instances and sampled sentences.

    Exit code 1 if an instance or a sentence is judged wrongly, 3 if the schema is refused.
    """
    started = time.perf_counter()
    schema, grammar = compile_schema(file, order, whitespace, numbers, formats, relax)
    seconds = time.perf_counter() - started
    judge = _judge(schema, samples, formats != "annotate")
    findings = Findings()
    for path, wanted in ((instances, True), (invalid, False)):
        if path is not None:
            _test_instances(path, wanted, grammar, judge, findings)
    if samples:
        _test_samples(samples, seed, grammar, judge, findings)
    if json_output:
        emit(_record(grammar, seconds, findings))
    else:
        _print(file, grammar, seconds, findings, everything)
    return BAD if findings.wrong else OK


def _judge(schema: Any, samples: int, formats: bool) -> Judge | None:
    from ..integrations.jsonschema import judge

    try:
        return judge(schema, formats=formats)
    except MissingDependencyError:
        if samples:
            raise
        return None


def _test_instances(
    path: Path, wanted: bool, grammar: Grammar, judge: Judge | None, findings: Findings
) -> None:
    """Whether the grammar accepts each line, or rejects it; if it does not, why."""
    for number, line in _watched(list(read_lines(path)), f"instances of {path.name}"):
        findings.instances += 1
        if grammar.accepts(line) == wanted:
            continue
        problem = judge(line) if judge else None
        if not wanted:
            reason = "accepted, but should not be"
        elif problem:
            reason = f"rejected, and the validator agrees: {problem}"
        elif judge:
            reason = "rejected, though valid (the order of members, white space, or a spelling?)"
        else:
            reason = "rejected"
        place = f"{path.name}:{number}"
        findings.wrong.append({"kind": "instance", "place": place, "text": line, "reason": reason})


def _test_samples(
    samples: int, seed: int, grammar: Grammar, judge: Judge | None, findings: Findings
) -> None:
    """Whether the validator accepts sentences of the grammar."""
    for number in _watched(range(seed, seed + samples), "sampled sentences"):
        findings.samples += 1
        text = grammar.sample(number).decode()
        problem = judge(text) if judge else None
        if problem:
            place = f"seed {number}"
            findings.wrong.append(
                {"kind": "sample", "place": place, "text": text, "reason": problem}
            )


def _watched(items: Any, what: str) -> Iterator[Any]:
    """The items, with a progress bar on stderr if that is a terminal."""
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    with Progress(
        *columns, console=notes, transient=True, disable=not notes.is_terminal
    ) as progress:
        yield from progress.track(items, description=what)


def _counted(count: int, what: str) -> str:
    return f"{count} {what}{'' if count == 1 else 's'}"


def _record(grammar: Grammar, seconds: float, findings: Findings) -> dict[str, Any]:
    return {
        "usable": True,
        "compile_milliseconds": round(1000 * seconds, 3),
        "report": grammar.report.to_dict()["places"] if grammar.report else [],
        "instances": findings.instances,
        "samples": findings.samples,
        "wrong": findings.wrong,
    }


def _print(
    file: Path, grammar: Grammar, seconds: float, findings: Findings, everything: bool
) -> None:
    entries = grammar.report.places if grammar.report else ()
    exact = sum(entry.status == "enforced" and not entry.note for entry in entries)
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("keyword", no_wrap=True, overflow="fold")
    table.add_column("is")
    table.add_column("note")
    for entry in entries:
        if everything or entry.status != "enforced" or entry.note:
            table.add_row(escape("#" + entry.pointer), entry.status, escape(entry.note))
    if table.row_count:
        out.print(table)
    if exact and not everything:
        out.print(f"{_counted(exact, 'keyword')} enforced as written (--all lists them)")
    out.print(f"[green]usable[/green]: {escape(str(file))}, compiled in {1000 * seconds:.1f} ms")
    if findings.instances:
        out.print(f"{_counted(findings.instances, 'instance')} tested")
    if findings.samples:
        out.print(f"{_counted(findings.samples, 'sentence')} sampled and validated")
    for wrong in findings.wrong[:_SHOWN]:
        out.print(f"[red]{wrong['kind']} {escape(wrong['place'])}[/red]: {escape(wrong['reason'])}")
        out.print(f"  {escape(wrong['text'][:500])}")
    if len(findings.wrong) > _SHOWN:
        out.print(f"… and {len(findings.wrong) - _SHOWN} more")
