"""The process in which one engine answers: ``python -m gramlock.conformance.worker NAME OPTIONS``.

It reads one question a line on standard input and writes one answer a line, all JSON. A question is
a case; its answers are one for the schema (``{}``) and, if it compiles, one for each text
(``accepts``). Instead of either there may be ``refused``, an error that the engine raised, or
``failed``, a panic that it did not mean to. A schema that the engine knows to have no sentence is
not refused: nothing is accepted.
"""

from __future__ import annotations

import json
import os
import resource
import sys
from typing import Any, TextIO

from ..errors import UnsatisfiableError
from .cases import Case
from .engines import ENGINES, Compile

__all__ = ["main"]

_MEMORY = 24 << 30  # of address space: an engine that explodes must not take the machine with it


def main() -> None:
    name, options = sys.argv[1], json.loads(sys.argv[2])
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # what an engine prints is no answer
    _, most = resource.getrlimit(resource.RLIMIT_AS)
    limit = _MEMORY if most == resource.RLIM_INFINITY else min(_MEMORY, most)
    resource.setrlimit(resource.RLIMIT_AS, (limit, most))
    engine = ENGINES[name].start(options)
    _say(answers, {"ready": True})
    for line in sys.stdin:
        _answer(engine, json.loads(line), answers)


def _answer(engine: Compile, question: dict[str, Any], answers: TextIO) -> None:
    case = Case("", question["dialect"], question["schema"], question["documents"], ())
    texts: list[str] = question["texts"]
    try:
        accepts = engine(case)
    except UnsatisfiableError:
        accepts = _nothing
    except BaseException as error:
        _say(answers, _failure(error))
        return
    _say(answers, {})
    for text in texts:
        try:
            _say(answers, {"accepts": bool(accepts(text.encode()))})
        except BaseException as error:
            _say(answers, _failure(error))


def _nothing(text: bytes) -> bool:
    return False


def _failure(error: BaseException) -> dict[str, Any]:
    """What an error says; panics of native code are errors, but no :class:`Exception`."""
    message = f"{type(error).__name__}: {error}".strip()[:500]
    return {"refused" if isinstance(error, Exception) else "failed": message}


def _say(answers: TextIO, answer: dict[str, Any]) -> None:
    answers.write(json.dumps(answer) + "\n")
    answers.flush()


if __name__ == "__main__":
    main()
