"""The example's ticket service, running on loopback, and faults that a test puts in its way."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("httpx")
pytest.importorskip("starlette")
pytest.importorskip("uvicorn")
pytest.importorskip("jsonschema")
pytest.importorskip("sqlalchemy")

import httpx

from ticket_service.service import Server
from ticket_service.store import Store


class Clock:
    """A clock that a test moves."""

    def __init__(self) -> None:
        self.now = 1_000_000.0

    def __call__(self) -> float:
        return self.now


class Line(httpx.BaseTransport):
    """The way to the service. A test may break it: before a request is sent, or after the reply."""

    def __init__(self) -> None:
        self._inner = httpx.HTTPTransport()
        self.before: Callable[[httpx.Request], None] = lambda request: None
        self.after: Callable[[httpx.Request, httpx.Response], httpx.Response | None] = (
            lambda request, response: response
        )

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        self.before(request)
        response = self._inner.handle_request(request)
        response.read()
        answer = self.after(request, response)
        if answer is None:
            raise httpx.ReadError("the connection was lost", request=request)
        return answer

    def close(self) -> None:
        self._inner.close()

    def lose_replies(self, method: str, times: int = 1) -> None:
        """Of the next requests of a method the service sees everything, the client no reply."""
        left = [times]

        def after(request: httpx.Request, response: httpx.Response) -> httpx.Response | None:
            if request.method == method and left[0]:
                left[0] -= 1
                return None
            return response

        self.after = after

    def just_before(self, method: str, act: Callable[[], Any]) -> None:
        """Something happens between the last check and the next request of a method."""
        left = [1]

        def before(request: httpx.Request) -> None:
            if request.method == method and left[0]:
                left[0] = 0
                act()

        self.before = before


@dataclass
class Tickets:
    """A running service with some tickets, and what tests ask of it."""

    store: Store
    url: str
    clock: Clock
    log: list[tuple[str, str, int]] = field(default_factory=list)
    lines: list[Line] = field(default_factory=list)

    def client(self, token: str = "token-1") -> httpx.Client:
        line = Line()
        self.lines.append(line)
        headers = {"Authorization": f"Bearer {token}"}
        return httpx.Client(base_url=self.url, headers=headers, transport=line, timeout=30)

    def rows(self, query: str, *parameters: Any) -> list[tuple[Any, ...]]:
        """What stands in the service's tables."""
        with self.store.connection() as db:
            return [tuple(row) for row in db.execute(query, parameters)]

    def changes(self) -> list[tuple[Any, ...]]:
        """Every change that was ever made: ticket, revision, assignee, caller."""
        query = "SELECT ticket, revision, assignee, caller FROM changes ORDER BY number"
        return self.rows(query)


def filled(path: Path) -> None:
    """U-1 may assign in P-1, U-9 reads there; T-77 and P-2 are none of their business."""
    store = Store(path)
    store.add_user("U-1", "Ada", "token-1")
    store.add_user("U-2", "Ben", "token-2")
    store.add_user("U-9", "Eve", "token-9")
    store.set_role("P-1", "U-1", "editor")
    store.set_role("P-1", "U-9", "viewer")
    store.set_role("P-2", "U-2", "editor")
    store.set_role("P-3", "U-1", "editor")
    store.add_ticket("T-42", "P-1", "The printer is on fire")
    store.add_ticket("T-43", "P-1", "The printer is wet")
    store.add_ticket("T-77", "P-2", "A secret")


_filled: list[bytes] = []  # the file, made once: each commit waits for the disk


@contextmanager
def running(path: Path) -> Iterator[Tickets]:
    """The service over the tables of :func:`filled`."""
    file = path / "tickets.db"
    if not _filled:
        filled(path / "first.db")
        _filled.append((path / "first.db").read_bytes())
    file.write_bytes(_filled[0])
    clock = Clock()
    store = Store(file, window=3600, delay=5, clock=clock)
    log: list[tuple[str, str, int]] = []
    with Server(store, log) as url:
        tickets = Tickets(store, url, clock, log)
        try:
            yield tickets
        finally:
            for line in tickets.lines:
                line.close()
