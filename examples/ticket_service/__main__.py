"""Runs the service, the agent and the bundled model on loopback, and prints what happens.

``python -m ticket_service`` in the folder ``examples``; ``make demo-tools`` installs what it needs.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import httpx

from gramlock.demo import ensure_model
from gramlock.errors import GramlockError
from gramlock.tools import Dispatcher, Ledger, first_of, respell

from .agent import Agent
from .service import Server
from .store import Store
from .tools import ticket_tools
from .writer import Writer

REQUESTS = [
    "assign T-42 to U-9",
    "assign T-42 to U-9",
    "assign T-99 to U-9",
    "assign T-43",
    "export P-1",
    "what is the weather?",
]


class _Loss:
    """Loses the reply to one assignment when told to; the service has carried it out."""

    armed = False

    def __call__(self, response: httpx.Response) -> None:
        if self.armed and response.request.method == "PUT":
            self.armed = False
            raise httpx.ReadError("the reply was lost", request=response.request)


def _filled(path: Path) -> Store:
    store = Store(path, delay=1.0)
    store.add_user("U-1", "Ada", "token-1")
    store.add_user("U-9", "Eve", "token-9")
    store.set_role("P-1", "U-1", "editor")
    store.set_role("P-1", "U-9", "viewer")
    store.add_ticket("T-42", "P-1", "The printer is on fire")
    store.add_ticket("T-43", "P-1", "The printer is wet")
    return store


def main(requests: list[str]) -> int:
    """Carry out the requests of Ada; returns an exit code."""
    tools = ticket_tools()
    folder = ensure_model()
    print("loading the model", file=sys.stderr, flush=True)
    proposable = ("assign_ticket", "export_project", "get_ticket")
    writer = Writer(folder, tools.only(*proposable))
    with tempfile.TemporaryDirectory() as scratch:
        store = _filled(Path(scratch) / "tickets.db")
        ledger = Ledger(str(Path(scratch) / "ledger.db"))
        loss = _Loss()
        options = {
            "headers": {"Authorization": "Bearer token-1"},
            "event_hooks": {"response": [loss]},
            "timeout": 10,
        }
        with (
            Server(store) as url,
            httpx.Client(base_url=url, **options) as client,
        ):
            agent = Agent(
                writer.choose,
                first_of(respell, writer.fixer),
                Dispatcher(tools, ledger=ledger),
                client,
                "U-1",
                proposable=proposable,
                say=lambda text: print(text, flush=True),
                patience=10.0,
            )
            for number, request in enumerate(requests, 1):
                loss.armed = number == 2
                if loss.armed:
                    print("(the reply to the next assignment will be lost)")
                agent.handle(request, f"wish-{number}")
                print()
        _close(store, ledger)
    return 0


def _close(store: Store, ledger: Ledger) -> None:
    """What really happened, from the service's own tables."""
    with store.connection() as db:
        rows = db.execute("SELECT ticket, revision, assignee, caller FROM changes").fetchall()
    print("changes in the service's tables:")
    for row in rows:
        print(
            f"  {row['ticket']} revision {row['revision']}: {row['assignee']}, by {row['caller']}"
        )
    print(f"writes whose outcome is not known: {len(ledger.unresolved())}")
    ledger.close()


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:] or REQUESTS))
    except GramlockError as error:
        print(f"error: {error}", file=sys.stderr)
        sys.exit(2)
