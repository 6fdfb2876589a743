"""The demo's run: prompt, the model's JSON as it comes, a second opinion, and the bill.

Everything is printed in plain text, so that a pipe shows the same as a terminal.
"""

from __future__ import annotations

import json
import sys
import time

from ..errors import MissingDependencyError
from ..grammar import Grammar
from .model import ensure_model
from .refund import PROMPT, SCHEMA

__all__ = ["run"]


def run(prompt: str | None = None, *, temperature: float | None = None, seed: int = 0) -> int:
    """Run the demo; returns its exit code.

    Args:
        prompt: Instead of the demo's own message.
        temperature: Sample; None takes the likeliest token each time.
        seed: Of the sampling.
    """
    from ..integrations.generation import generate, load_model
    from ..integrations.transformers import LogitsProcessor

    folder = ensure_model()
    _note("loading the model")
    loaded = load_model(folder, threads=1)
    started = time.perf_counter()
    grammar = Grammar.from_json_schema(SCHEMA)
    processor = LogitsProcessor(
        grammar, loaded.tokenizer, generation_config=loaded.model.generation_config
    )
    prepared = time.perf_counter() - started
    message = prompt or PROMPT
    print(f"\n{_indented(message)}\n\nThe model answers (SmolLM2, 135 million parameters):\n")
    result = generate(
        loaded,
        processor,
        message,
        max_new_tokens=600,
        temperature=temperature,
        seed=seed,
        show=_show,
    )
    print("\n")
    if not result.finished:
        print(f"It was cut off after {result.tokens} tokens.")
        return 1
    problem, who = _opinion(grammar, result.text)
    print(f"{who}: {problem or 'valid'}")
    stats, rate = result.stats, result.tokens / result.seconds
    print(
        f"the model: {result.tokens} tokens in {result.seconds:.1f} s, {rate:.1f} a second\n"
        f"the constraint: {100 * result.share:.2f} % of the run, {1000 * stats.seconds:.1f} ms: "
        f"{stats.masks} masks, {stats.mean_microseconds:.1f} µs each on average,\n"
        f"    and applying them to the scores; tokenizer and schema were ready after "
        f"{prepared:.2f} s"
    )
    return 1 if problem else 0


def _note(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def _show(piece: str) -> None:
    sys.stdout.write(piece)
    sys.stdout.flush()


def _indented(text: str) -> str:
    return "\n".join(f"> {line}".rstrip() for line in text.splitlines())


def _opinion(grammar: Grammar, text: str) -> tuple[str | None, str]:
    """What is wrong with the text, if anything, and who says so."""
    from ..integrations.jsonschema import judge

    json.loads(text)
    try:
        return judge(SCHEMA)(text), "the jsonschema package"
    except MissingDependencyError:
        verdict = None if grammar.accepts(text) else "not accepted"
        return verdict, "the grammar (jsonschema is not installed)"
