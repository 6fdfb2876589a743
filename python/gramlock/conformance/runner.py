"""Asks an engine about the corpus, in a process that may crash or hang without ending the run."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from ..errors import GramlockError
from .cases import Case, Corpus, Keyword
from .engines import EngineInfo

__all__ = ["OUTCOMES", "Answer", "Run", "run_engine"]

#: What may come of an instance, best first.
OUTCOMES = ("enforced", "refuses", "over-rejects", "over-accepts", "crashes")


@dataclass(frozen=True)
class Answer:
    """What came of one instance.

    Attributes:
        outcome: ``enforced``: judged as the corpus says; ``refuses``: an error, mostly about the
            schema; ``over-rejects``, ``over-accepts``: judged wrongly; ``crashes``: the engine
            panicked, its process ended or gave no answer in time.
        message: The engine's own words, for ``refuses`` and ``crashes``.
    """

    outcome: str
    message: str = ""


@dataclass
class Run:
    """One engine's answers.

    Attributes:
        engine: Name of the engine.
        version: Of its package.
        options: Those it was asked with; empty for engines without options.
        answers: By keyword, case and place of the instance in its case.
    """

    engine: str
    version: str
    options: Mapping[str, Any]
    answers: dict[tuple[str, str, int], Answer] = field(default_factory=dict)

    def counts(self, keyword: Keyword) -> Counter[str]:
        """How often each outcome came of a keyword's instances."""
        return Counter(
            self.answers[keyword.name, case.name, place].outcome
            for case in keyword.cases
            for place in range(len(case.instances))
        )

    def total(self) -> Counter[str]:
        """How often each outcome came of all instances."""
        return Counter(answer.outcome for answer in self.answers.values())


class _Process:
    """A worker that is started when it is needed and again after it died."""

    def __init__(self, engine: EngineInfo, options: Mapping[str, Any], seconds: float) -> None:
        self._command = [sys.executable, "-m", f"{__package__}.worker", engine.name]
        self._command.append(json.dumps(dict(options)))
        self._seconds = seconds
        self._worker: subprocess.Popen[str] | None = None
        self._expired = False

    def ask(self, question: dict[str, Any]) -> Iterator[dict[str, Any]]:
        """The answers; a last one ``died`` says why there are no more."""
        worker = self._worker or self._start()
        assert worker.stdin is not None
        try:
            worker.stdin.write(json.dumps(question) + "\n")
            worker.stdin.flush()
        except OSError:
            yield {"died": self._bury()}
            return
        while True:
            answer = self._read(worker)
            yield answer
            if "died" in answer:
                return

    def close(self) -> None:
        if self._worker is not None:
            self._bury()

    def _start(self) -> subprocess.Popen[str]:
        worker = self._worker = subprocess.Popen(
            self._command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            encoding="utf-8",
        )
        if "ready" not in self._read(worker, 60 + self._seconds):  # heavy packages to import
            raise GramlockError(f"cannot start the engine: {' '.join(self._command[1:4])}")
        return worker

    def _read(self, worker: subprocess.Popen[str], seconds: float = 0) -> dict[str, Any]:
        assert worker.stdout is not None
        self._expired = False
        timer = threading.Timer(seconds or self._seconds, self._expire, [worker])
        timer.start()
        line = worker.stdout.readline()
        timer.cancel()
        if not line.endswith("\n"):
            return {"died": self._bury()}
        answer: dict[str, Any] = json.loads(line)
        return answer

    def _expire(self, worker: subprocess.Popen[str]) -> None:
        self._expired = True
        worker.kill()

    def _bury(self) -> str:
        """End the worker; why it ended."""
        worker, self._worker = self._worker, None
        assert worker is not None
        worker.kill()
        worker.communicate()
        if self._expired:
            return f"no answer within {self._seconds:g} seconds"
        code = worker.returncode
        return f"ended by {signal.Signals(-code).name}" if code < 0 else f"ended with code {code}"


def run_engine(
    corpus: Corpus,
    engine: EngineInfo,
    options: Mapping[str, Any],
    *,
    seconds: float = 60,
    advance: Callable[[int], None] = lambda count: None,
) -> Run:
    """Ask an engine about every instance.

    Args:
        corpus: The questions.
        engine: Whom to ask.
        options: How to compile; only Gramlock takes any.
        seconds: How long a schema or a text may take.
        advance: Told how many instances were just answered.

    Raises:
        GramlockError: The engine does not start.
    """
    run = Run(engine.name, engine.version, options)
    process = _Process(engine, options, seconds)
    try:
        for keyword in corpus.keywords:
            for case in keyword.cases:
                for place, answer in enumerate(_judge(process, case)):
                    run.answers[keyword.name, case.name, place] = answer
                advance(len(case.instances))
    finally:
        process.close()
    return run


def _judge(process: _Process, case: Case) -> list[Answer]:
    """One answer for each instance; after a crash the rest is asked again."""
    found: list[Answer] = []
    while len(found) < len(case.instances):
        question = {
            "dialect": case.dialect,
            "schema": case.schema,
            "documents": dict(case.documents),
            "texts": [instance.text for instance in case.instances[len(found) :]],
        }
        answers = process.ask(question)
        first = next(answers)
        if first:
            found += [_sorted(True, first)] * (len(case.instances) - len(found))
            break
        for instance in case.instances[len(found) :]:
            answer = next(answers)
            found.append(_sorted(instance.valid, answer))
            if "died" in answer:
                break
    return found


def _sorted(valid: bool, answer: dict[str, Any]) -> Answer:
    if "refused" in answer:
        return Answer("refuses", answer["refused"])
    accepts = answer.get("accepts")
    if accepts is None:
        return Answer("crashes", answer.get("failed") or answer.get("died") or "")
    if accepts == valid:
        return Answer("enforced")
    return Answer("over-accepts" if accepts else "over-rejects")
