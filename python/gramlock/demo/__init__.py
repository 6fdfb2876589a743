"""A small real model writes JSON under a schema, on this machine's CPU.

===========  ======================================================
``model``    the model: fetched once, converted once
``convert``  GGUF to what transformers loads
``refund``   the schema and the message
``show``     the run, and what it says
===========  ======================================================

``python -m gramlock.demo``, ``gramlock demo`` and ``make demo`` are the same.
"""

from __future__ import annotations

from .model import cache_folder, cached_model, ensure_model
from .show import run

__all__ = ["cache_folder", "cached_model", "ensure_model", "run"]
