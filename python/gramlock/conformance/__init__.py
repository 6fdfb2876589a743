"""A conformance corpus for JSON Schema as engines of constrained decoding meet it, and its runner.

============  =======================================================================
``cases``     the corpus as objects: keywords, cases, instances
``engines``   what the runner can ask, each behind the same two questions
``worker``    the process in which an engine answers
``runner``    asks engines, each in a process of its own, and sorts the answers
``page``      the result as one HTML page
``corpus/``   the data: plain JSON, also for other runners (its README has the format)
============  =======================================================================

An instance is a JSON *text*, not a value: how numbers, strings and members are spelled matters to
an engine that goes through the text byte by byte.
"""

from __future__ import annotations

from .cases import Case, Corpus, Instance, Keyword, read_corpus
from .engines import ENGINES, EngineInfo, find_engine
from .runner import OUTCOMES, Answer, Run, run_engine

__all__ = [
    "ENGINES",
    "OUTCOMES",
    "Answer",
    "Case",
    "Corpus",
    "EngineInfo",
    "Instance",
    "Keyword",
    "Run",
    "find_engine",
    "read_corpus",
    "run_engine",
]
