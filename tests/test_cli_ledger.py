"""``gramlock ledger`` as a shell sees it."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("typer")
pytest.importorskip("rich")
pytest.importorskip("sqlalchemy")

from typer.testing import CliRunner

from gramlock.cli.app import app
from gramlock.tools.ledger import Begun, Ledger, OperationKey

MODULE = "tools_of_the_shop"
TOOLS = """
from gramlock.tools.tool import StatusReport, Tool

def look_up(entry, context):
    if entry.key.operation_id == "o-1":
        return StatusReport("completed", {"id": "r1"})
    return StatusReport("unknown")

async def look_up_later(entry, context):
    return StatusReport("not_found", final=True)

def handler(arguments):
    raise AssertionError("never sent")

SCHEMA = {"type": "object"}
TOOLS = [
    Tool("pay", "Pay.", SCHEMA, handler, status_lookup=look_up),
    Tool("mail", "Mail.", SCHEMA, handler, status_lookup=look_up_later),
]

def make():
    return TOOLS

class Holder:
    tools = TOOLS

NOTHING = 5
"""


def run(*arguments: Any) -> tuple[int, str, str]:
    """Exit code, stdout, stderr."""
    result = CliRunner().invoke(app, ["ledger", *map(str, arguments)])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result.exit_code, result.stdout, result.stderr


@pytest.fixture
def where(database: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> str:
    """A ledger with three unresolved writes and a completed one, and a folder with tools."""
    monkeypatch.setenv("GRAMLOCK_LEDGER", database)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.delitem(sys.modules, MODULE, raising=False)
    (tmp_path / f"{MODULE}.py").write_text(TOOLS, "utf-8")
    with Ledger(database) as ledger:
        for tool, operation in [
            ("pay", "o-1"),
            ("pay", "o-2"),
            ("mail", "[b]\x1b[31m"),
            ("pay", "o-4"),
        ]:
            begun = ledger.begin(OperationKey("u-1", tool, operation), "d", arguments={"n": 1})
            assert isinstance(begun, Begun)
            ledger.finish(begun, "completed" if operation == "o-4" else "uncertain", "\ud800")
    return MODULE


def listed() -> list[Any]:
    code, text, _ = run("unresolved", "--json")
    entries = json.loads(text)["unresolved"]
    assert code == (1 if entries else 0)
    return list(entries)


def test_unresolved_lists_what_is_open(where: str) -> None:
    entries = listed()
    assert [entry["key"]["operation_id"] for entry in entries] == ["o-1", "o-2", "[b]\x1b[31m"]
    code, text, _ = run("unresolved")
    assert code == 1
    assert all(entry["id"] in text for entry in entries)
    assert "3 writes unresolved" in text
    assert "\x1b" not in text
    assert "[b]\\x1b" in text
    assert (
        len(json.loads(run("unresolved", "--tool", "pay", "--limit", 1, "--json")[1])["unresolved"])
        == 1
    )


def test_show_tells_all_of_one(where: str) -> None:
    entry = listed()[0]
    with Ledger(os.environ["GRAMLOCK_LEDGER"]) as ledger:
        ledger.add_evidence(entry["id"], "state", {"seen": "[x]"})
    code, text, _ = run("show", entry["id"])
    assert code == 1
    assert "evidence: state" in text
    assert "u-1" in text
    code, text, _ = run("show", entry["id"], "--json")
    record = json.loads(text)
    assert record["evidence"][0]["data"] == {"seen": "[x]"}
    assert record["value"] == "\\ud800"
    code, _, errors = run("show", "nothing")
    assert (code, "no entry nothing" in errors) == (2, True)


def test_reconcile_asks_and_sends_nothing(where: str) -> None:
    code, text, _ = run("reconcile", "--tools", f"{where}:TOOLS")
    assert code == 1
    assert "uncertain → completed" in text
    assert "uncertain → retry_allowed" in text
    assert "3 asked about, 1 still unresolved" in text
    assert [entry["key"]["operation_id"] for entry in listed()] == ["o-2"]
    for name in ("make", "Holder.tools"):
        code, text, _ = run("reconcile", "--tools", f"{where}:{name}", "--json")
        assert code == 1
        (report,) = json.loads(text)["reconciled"]
        assert (report["finding"], report["resolved"]) == ("inconclusive", False)
    code, text, _ = run("reconcile", "--tools", f"{where}:TOOLS", "--tool", "mail")
    assert code == 0


@pytest.mark.parametrize(
    "name", ["", ":", "missing_module:x", "{}:missing", "{}:NOTHING", "json:loads"]
)
def test_tools_that_cannot_be_loaded_are_wrong_usage(where: str, name: str) -> None:
    code, _, errors = run("reconcile", "--tools", name.format(where))
    assert code == 2
    assert "--tools" in errors
    assert len(listed()) == 3


def test_no_ledger_is_made_by_looking(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("GRAMLOCK_LEDGER", raising=False)
    monkeypatch.chdir(tmp_path)
    for arguments in (["unresolved"], ["show", "x"], ["unresolved", "--ledger", "other.db"]):
        code, _, errors = run(*arguments)
        assert (code, "there is no ledger" in errors) == (2, True)
    assert list(tmp_path.iterdir()) == []
