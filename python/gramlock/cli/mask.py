"""``gramlock mask``: what may come next after a text.

Reads a schema and a tokenizer, runs the text through the grammar, and lists how many tokens may
follow, some of them, the text that must follow, and whether it may end here.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from rich.markup import escape
from rich.table import Table

from ..bitmask import allocate_token_bitmask
from ..errors import GramlockError
from ..grammar import Grammar
from ..vocabulary import Vocabulary
from .generate import model_folder
from .inputs import DEFAULTS, Formats, JsonOutput, Numbers, Order, Relax, Whitespace, compile_schema
from .report import BAD, OK, emit, notes, out, reported

__all__ = ["mask"]


@reported
def mask(
    tokenizer: Annotated[
        str, typer.Option(help="Model folder or tokenizer.json, or 'demo'.", metavar="DIR")
    ],
    text: Annotated[str, typer.Option(help="What has been written so far.")] = "",
    schema: Annotated[Path | None, typer.Option(help="JSON Schema.", metavar="FILE")] = None,
    regex: Annotated[str | None, typer.Option(help="Regular expression instead.")] = None,
    examples: Annotated[int, typer.Option(help="How many tokens to show.", min=0)] = 20,
    order: Order = DEFAULTS.order,
    whitespace: Whitespace = DEFAULTS.whitespace,
    numbers: Numbers = DEFAULTS.numbers,
    formats: Formats = DEFAULTS.formats,
    relax: Relax = False,
    json_output: JsonOutput = False,
) -> int:
    """List what may come next after a text.

    Exit code 1 if the text is not the beginning of anything that the schema allows.
    """
    if (schema is None) == (regex is None):
        raise GramlockError("give either --schema or --regex")
    if schema is not None:
        _, grammar = compile_schema(schema, order, whitespace, numbers, formats, relax)
    else:
        grammar = Grammar.from_regex(regex or "")
    with notes.status("reading the tokenizer"):
        vocabulary = Vocabulary.from_huggingface(model_folder(tokenizer))
    matcher = vocabulary.compile(grammar).matcher()
    data = text.encode()
    read = advance(matcher, data)
    if read < len(data):
        return _refuse(data, read, matcher, json_output)
    record = _look(vocabulary, matcher, examples)
    if json_output:
        emit(record)
    else:
        _print(record, vocabulary)
    return OK


def advance(matcher: Any, data: bytes) -> int:
    """Read as many of the bytes as the grammar allows; returns how many."""
    if not data or matcher.accept_bytes(data):
        return len(data)
    for count in range(len(data)):
        if not matcher.accept_bytes(data[count : count + 1]):
            return count
    return len(data)


def _refuse(data: bytes, read: int, matcher: Any, json_output: bool) -> int:
    before, after = data[:read].decode(errors="replace"), data[read:].decode(errors="replace")
    forced = matcher.find_jump_forward_string()
    if json_output:
        emit({"accepted": False, "accepted_bytes": read, "rest": after, "forced": forced})
        return BAD
    notes.print(f"[red]not allowed:[/red] {escape(before)}[red]▸{escape(after)}[/red]")
    notes.print(f"the first {read} bytes are fine, the next one is not")
    if forced:
        notes.print(f"what must come there: {escape(forced)}")
    return BAD


def _look(vocabulary: Vocabulary, matcher: Any, examples: int) -> dict[str, Any]:
    bitmask = allocate_token_bitmask(1, vocabulary.size)
    started = time.perf_counter()
    matcher.fill_next_token_bitmask(bitmask)
    seconds = time.perf_counter() - started
    bits = np.unpackbits(bitmask[0].view(np.uint8), bitorder="little")
    allowed = np.flatnonzero(bits[: vocabulary.size])
    ends = set(vocabulary.end_ids)
    texts = [int(token) for token in allowed if int(token) not in ends]
    places = np.linspace(0, len(texts) - 1, min(examples, len(texts))).round().astype(int)
    shown = [texts[place] for place in places]
    return {
        "accepted": True,
        "allowed": len(allowed),
        "vocabulary": vocabulary.size,
        "may_end": matcher.can_end(),
        "forced": matcher.find_jump_forward_string(),
        "mask_microseconds": round(1e6 * seconds, 1),
        "missing_bytes": sorted(matcher.program.missing_bytes),
        "examples": [{"id": token, "text": spell(vocabulary.tokens[token])} for token in shown],
    }


def spell(data: bytes | None) -> str:
    """A token as text; bytes that are not UTF-8 as ``\\xNN``."""
    return (data or b"").decode("utf-8", "backslashreplace")


def _print(record: dict[str, Any], vocabulary: Vocabulary) -> None:
    table = Table(show_header=False, box=None, pad_edge=False)
    share = 100 * record["allowed"] / max(vocabulary.size, 1)
    rounded = "less than 0.1" if 0 < share < 0.05 else f"{share:.1f}"
    table.add_row("allowed", f"{record['allowed']:,} of {vocabulary.size:,} tokens ({rounded} %)")
    table.add_row("may end", "yes" if record["may_end"] else "no")
    table.add_row("forced", escape(repr(record["forced"])) if record["forced"] else "nothing")
    table.add_row("first mask", f"{record['mask_microseconds']} µs")
    names = " ".join(escape(repr(item["text"])) for item in record["examples"])
    table.add_row("examples", names or "none")
    if record["missing_bytes"]:
        missing = " ".join(f"{byte:02x}" for byte in record["missing_bytes"])
        table.add_row("cut off", f"texts with the bytes {missing}: no token spells them alone")
    out.print(table)
