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

import pytest

pytest.importorskip("sqlalchemy")
pytest.importorskip("jsonschema")
pytest.importorskip("regress")

from gramlock.tools import Context, Dispatcher, Tool, ToolCall, ToolResult, digest
from gramlock.tools.ledger import Ledger, OperationKey

__all__ = [
    "POINTS",
    "Receiver",
    "Writer",
    "digest_of",
    "dispatch",
    "dispatcher_of",
    "key_of",
    "processes",
    "send",
    "write_all",
]

POINTS = ("after_intent", "after_send", "after_effect", "before_outcome", "after_outcome")
SCHEMA = {
    "type": "object",
    "properties": {"operation": {"type": "string"}},
    "required": ["operation"],
    "additionalProperties": False,
}


def key_of(number: int) -> OperationKey:
    """The key of a numbered operation."""
    return OperationKey("u-1", "pay", f"operation-{number}")


def digest_of(number: int) -> str:
    """The digest of its arguments."""
    return digest({"operation": f"operation-{number}"})


def dispatcher_of(ledger: Ledger, handler: Callable[[str], Any]) -> Dispatcher:
    """A dispatcher of one tool, ``pay``, whose handler gets the operation's name."""
    tool = Tool("pay", "Pay.", SCHEMA, lambda arguments: handler(arguments["operation"]))
    return Dispatcher([tool], ledger=ledger)


def dispatch(dispatcher: Dispatcher, number: int) -> ToolResult:
    """The numbered operation, called by its key."""
    name = key_of(number).operation_id
    call = ToolCall("pay", {"operation": name}, "c-1")
    return dispatcher.dispatch(call, Context(principal="u-1", operation_id=name))


def processes() -> Any:
    """Processes forked from a clean one that has imported what they need."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["effects", "sqlalchemy.dialects.sqlite", "jsonschema"])
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
        """Wait until no connection is open or waits to be accepted; what is later is new."""
        with socket.create_connection(("127.0.0.1", self.port)) as probe:
            probe.sendall(b'""\n')  # accepted after all that came before it
            assert probe.recv(100) == b"done\n"
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
        if not operation:
            return
        with self._lock:
            self.requests[operation] += 1
        time.sleep(0.002)  # a moment in which the request is under way
        with self._lock:
            self.effects[operation] += 1


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
        dispatcher = dispatcher_of(ledger, lambda operation: send(port, operation, passed))
        pipe.send("ready")
        pipe.recv()
        pipe.send("begun")
        result = dispatch(dispatcher, number)
        pipe.send((result.outcome, result.value))


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
        """Let it begin, and wait until it does."""
        self._pipe.send("go")
        assert self._pipe.recv() == "begun"

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
    executed: list[str] = []
    outcomes: Counter[tuple[str, str | None]] = Counter()
    with Ledger(database) as ledger:
        dispatcher = dispatcher_of(ledger, executed.append)
        start.wait()
        for number in numbers:
            result = dispatch(dispatcher, number)
            outcomes[result.outcome, result.boundary] += 1
    results.send((executed, outcomes))


def write_all(database: str, orders: Sequence[Sequence[int]]) -> list[tuple[list[str], Any]]:
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
