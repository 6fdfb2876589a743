"""Writers that may be killed, and a receiver that lives on: what the tests of processes share.

The receiver is a thread of the test's process behind a socket, so that a request of a writer that
was killed after sending it still takes effect, as on any network. It keeps every request and every
effect, and does *not* recognise repeated keys: nothing but the ledger keeps effects single here.
"""

from __future__ import annotations

import json
import multiprocessing
import os
import signal
import socket
import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from multiprocessing.connection import Connection
from typing import Any

from gramlock.tools.ledger import Begun, Ledger, LookUp, OperationKey

__all__ = ["POINTS", "Receiver", "Writer", "key_of", "perform", "processes", "send", "write_all"]

POINTS = ("after_intent", "after_send", "after_effect", "before_outcome", "after_outcome")
DIGEST = "d" * 64


def key_of(number: int) -> OperationKey:
    """The key of a numbered operation."""
    return OperationKey("u-1", "pay", f"operation-{number}")


def processes() -> Any:
    """Processes forked from a clean one that has imported this module."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["effects", "sqlalchemy.dialects.sqlite", "sqlite3"])
    return context


class Receiver:
    """Accepts requests on a socket; each one that arrives whole has an effect."""

    def __init__(self) -> None:
        self.requests: Counter[str] = Counter()
        self.effects: Counter[str] = Counter()
        self._lock = threading.Lock()
        self._busy = 0
        self._idle = threading.Condition(self._lock)
        self._server = socket.create_server(("127.0.0.1", 0))
        self.port = int(self._server.getsockname()[1])
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self) -> None:
        """Accept nothing more."""
        self._server.close()

    def settle(self) -> None:
        """Wait until no connection is open: what arrives later than this was never sent."""
        with self._lock:
            assert self._idle.wait_for(lambda: self._busy == 0, timeout=30)

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._server.accept()
            except OSError:
                return
            with self._lock:
                self._busy += 1
            threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        try:
            with connection, connection.makefile("rw", encoding="ascii") as lines:
                for line in lines:
                    if line.endswith("\n"):  # half a request has no effect
                        self._take(str(json.loads(line)))
                        lines.write("done\n")
                        lines.flush()
        except OSError:  # the writer is gone; what it asked for is done
            return
        finally:
            with self._lock:
                self._busy -= 1
                self._idle.notify_all()

    def _take(self, operation: str) -> None:
        with self._lock:
            self.requests[operation] += 1
        time.sleep(0.002)  # a moment in which the request is under way
        with self._lock:
            self.effects[operation] += 1


def perform(ledger: Ledger, key: OperationKey, handler: Callable[[], Any]) -> tuple[str, Any]:
    """The part of a dispatch that has to do with the ledger: an outcome and its value."""
    answer: Begun | LookUp = ledger.look_up(key, DIGEST)
    if isinstance(answer, LookUp) and answer.kind == "none":
        answer = ledger.begin(key, DIGEST)
    if isinstance(answer, LookUp):
        entry = answer.entry
        assert entry is not None
        return (entry.outcome or answer.kind), entry.value
    value = handler()
    return str(ledger.finish(answer, "completed", value).outcome), value


def send(port: int, operation: str, passed: Callable[[str], None] = lambda name: None) -> str:
    """The write itself, over the network, as a handler does it."""
    with socket.create_connection(("127.0.0.1", port)) as connection:
        connection.sendall((json.dumps(operation) + "\n").encode("ascii"))
        passed("after_send")
        assert connection.recv(100) == b"done\n"
    passed("after_effect")
    return f"done {operation}"


def _die_at(point: str | None) -> Callable[[str], None]:
    def passed(name: str) -> None:
        if name == point:
            os.kill(os.getpid(), signal.SIGKILL)

    return passed


def _write_one(database: str, port: int, number: int, point: str | None, pipe: Connection) -> None:
    """One write in a process of its own, which dies at the point, if it is given."""
    passed = _die_at(point)
    with Ledger(database, fail_point=passed) as ledger:
        pipe.send("ready")
        pipe.recv()
        key = key_of(number)
        result = perform(ledger, key, lambda: send(port, str(key.operation_id), passed))
        pipe.send(result)


class Writer:
    """One write in a process of its own."""

    def __init__(self, database: str, port: int, number: int, point: str | None = None) -> None:
        context = processes()
        self._pipe, theirs = context.Pipe()
        arguments = (database, port, number, point, theirs)
        self._process = context.Process(target=_write_one, args=arguments)
        self._process.start()
        theirs.close()
        assert self._pipe.recv() == "ready"

    def start(self) -> None:
        """Let it begin."""
        self._pipe.send("go")

    def result(self) -> Any:
        """What it reports, or None if it died first."""
        try:
            result = self._pipe.recv()
        except (EOFError, ConnectionResetError):  # reset: it had not even read that it may begin
            result = None
        self._process.join(30)
        return result

    def kill(self) -> Any:
        """End it where it is; what it had reported by then, or None."""
        with suppress(ProcessLookupError):  # it has come to its end
            os.kill(self._process.pid, signal.SIGKILL)
        return self.result()


def _write_many(database: str, numbers: Sequence[int], start: Any, results: Connection) -> None:
    """Writes of one process, begun together with the others'."""
    executed: list[int] = []
    outcomes: Counter[str] = Counter()
    with Ledger(database) as ledger:
        start.wait()
        for number in numbers:
            outcome, _ = perform(
                ledger, key_of(number), lambda number=number: executed.append(number)
            )
            outcomes[outcome] += 1
    results.send((executed, outcomes))


def write_all(database: str, orders: Sequence[Sequence[int]]) -> list[tuple[list[int], Any]]:
    """One process for each list of numbers, all started together: what each executed and saw."""
    context = processes()
    start = context.Barrier(len(orders))
    running = []
    for numbers in orders:
        ours, theirs = context.Pipe(duplex=False)
        process = context.Process(target=_write_many, args=(database, numbers, start, theirs))
        process.start()
        theirs.close()
        running.append((process, ours))
    results = [pipe.recv() for _, pipe in running]
    for process, _ in running:
        process.join(30)
        assert process.exitcode == 0
    return results
