"""``gramlock demo``: a small real model writes a refund record, on this machine."""

from __future__ import annotations

from typing import Annotated

import typer

from .report import reported

__all__ = ["demo"]


@reported
def demo(
    prompt: Annotated[str | None, typer.Option(help="Another message to answer.")] = None,
    sample: Annotated[
        bool, typer.Option("--sample", help="Sample instead of the likeliest.")
    ] = False,
    seed: Annotated[int, typer.Option(help="Of the sampling.")] = 0,
) -> int:
    """Let a small model (fetched once, 93 MB) write a refund record under a schema."""
    from ..demo import run

    return run(prompt, temperature=0.7 if sample else None, seed=seed)
