"""``gramlock generate``: a local model writes text under a schema or a pattern.

The text goes to stdout as it is, so it can be piped on; what it cost goes to stderr.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from ..errors import GramlockError, MissingDependencyError
from ..grammar import Grammar
from .inputs import DEFAULTS, Formats, JsonOutput, Numbers, Order, Relax, Whitespace, compile_schema
from .report import BAD, OK, emit, notes, reported

__all__ = ["cost_line", "generate"]


@reported
def generate(
    model: Annotated[
        str, typer.Option(help="Model folder as transformers saves it, or 'demo'.", metavar="DIR")
    ],
    prompt: Annotated[str, typer.Option(help="What to ask; '-' reads it from stdin.")],
    schema: Annotated[
        Path | None, typer.Option(help="JSON Schema that the answer must obey.", metavar="FILE")
    ] = None,
    regex: Annotated[
        str | None, typer.Option(help="Regular expression instead of a schema.")
    ] = None,
    sample: Annotated[
        bool, typer.Option("--sample", help="Sample instead of the likeliest.")
    ] = False,
    temperature: Annotated[float, typer.Option(help="Of the sampling.", min=0.01)] = 1.0,
    seed: Annotated[int, typer.Option(help="Of the sampling.")] = 0,
    max_new_tokens: Annotated[int, typer.Option(help="Cut the text off here.", min=1)] = 512,
    device: Annotated[str, typer.Option(help="Where the model runs: cpu, cuda, mps, …")] = "cpu",
    threads: Annotated[
        int | None,
        typer.Option(
            help="CPU threads of the model; default: torch's own, 1 for the demo's.", min=1
        ),
    ] = None,
    order: Order = DEFAULTS.order,
    whitespace: Whitespace = DEFAULTS.whitespace,
    numbers: Numbers = DEFAULTS.numbers,
    formats: Formats = DEFAULTS.formats,
    relax: Relax = False,
    json_output: JsonOutput = False,
) -> int:
    """Let a local model write text that obeys a JSON Schema (or a regular expression).

    Exit code 0 if the text is complete and valid, 1 if it was cut off or is judged invalid.
    """
    if (schema is None) == (regex is None):
        raise GramlockError("give either --schema or --regex")
    document: Any = None
    if schema is not None:
        document, grammar = compile_schema(schema, order, whitespace, numbers, formats, relax)
    else:
        grammar = Grammar.from_regex(regex or "")
    from ..integrations import generation
    from ..integrations.transformers import LogitsProcessor

    with notes.status("loading the model"):
        folder = model_folder(model)
        if folder != model:  # the demo's model is too small to gain from more than one
            threads = threads or 1
        loaded = generation.load_model(folder, device=device, threads=threads)
        processor = LogitsProcessor(
            grammar, loaded.tokenizer, generation_config=loaded.model.generation_config
        )
    live = sys.stdout.isatty() and not json_output
    result = generation.generate(
        loaded,
        processor,
        sys.stdin.read() if prompt == "-" else prompt,
        max_new_tokens=max_new_tokens,
        temperature=temperature if sample else None,
        seed=seed,
        show=_show if live else None,
    )
    problem = None
    if result.finished:
        problem = _judge(document, grammar, result.text, formats != "annotate")
    if json_output:
        emit(_record(result, problem))
    elif live:
        print()
    else:
        print(result.text)
    if not json_output:
        _remark(result, problem, max_new_tokens)
    return OK if result.finished and problem is None else BAD


def model_folder(model: str) -> str:
    """The folder that ``--model`` or ``--tokenizer`` means; ``demo`` is fetched if need be."""
    if model != "demo" or Path(model).is_dir():
        return model
    from ..demo import ensure_model

    return str(ensure_model())


def _show(piece: str) -> None:
    sys.stdout.write(piece)
    sys.stdout.flush()


def _judge(schema: Any, grammar: Grammar, text: str, formats: bool) -> str | None:
    """What is wrong with a finished text, by jsonschema if there is one, else by the grammar."""
    if schema is not None:
        from ..integrations.jsonschema import judge

        try:
            return judge(schema, formats=formats)(text)
        except MissingDependencyError:
            pass
    return None if grammar.accepts(text) else "the grammar does not accept it"


def _record(result: Any, problem: str | None) -> dict[str, Any]:
    return {
        "text": result.text,
        "finished": result.finished,
        "valid": result.finished and problem is None,
        "problem": problem,
        "tokens": result.tokens,
        "seconds": round(result.seconds, 4),
        "masks": result.stats.masks,
        "mask_microseconds": round(result.stats.mean_microseconds, 2),
        "constraint_share": round(result.share, 6),
    }


def _remark(result: Any, problem: str | None, limit: int) -> None:
    if not result.finished:
        notes.print(f"[red]cut off[/red] after {limit} tokens; --max-new-tokens allows more")
    elif problem is not None:
        notes.print("[red]not valid:[/red]", problem, markup=True)
    notes.print(cost_line(result), style="dim")


def cost_line(result: Any) -> str:
    """Tokens, time, and what the constraint cost, in one line."""
    stats, rate = result.stats, result.tokens / result.seconds if result.seconds else 0.0
    return (
        f"{result.tokens} tokens in {result.seconds:.1f} s ({rate:.1f} a second); "
        f"{stats.masks} masks, {stats.mean_microseconds:.1f} µs each; "
        f"constraint {100 * result.share:.2f} % of the run"
    )
