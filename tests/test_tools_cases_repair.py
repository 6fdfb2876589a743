"""The shared cases of kind repair, each played with fakes and compared with what its line expects.

The scenarios lie outside the project; without them the test is skipped. The same kinds of cases,
with data of the project's own, are in test_tools_repair.py and test_tools_changes.py.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from gramlock.tools import (
    ApprovalStore,
    Context,
    Dispatcher,
    RepairOutcome,
    Tool,
    approve,
    run_with_repair,
)
from gramlock.tools.call import ToolCall

pytest.importorskip("jsonschema")
pytest.importorskip("regress")


SHARED = Path(os.environ.get("GRAMLOCK_SHARED") or Path(__file__).resolve().parents[2] / "shared")
FILE = SHARED / "cases" / "tool_cases.jsonl"

#: Every case.
IDS = [
    "rep-one-at-a-time",
    "rep-flip-flop",
    "rep-collateral-reported",
    "rep-collateral-refused",
    "rep-added-optional-is-collateral",
    "rep-sibling-not-named-by-parent",
    "rep-name-swap",
    "rep-name-was-the-error",
    "rep-evidence-against-schema",
    "rep-not-after-uncertain",
    "rep-not-after-invalid-result",
    "rep-approval-void",
    "rep-fixer-raises",
    "rep-fixer-duplicate-keys",
]
#: The one end that each of them has, besides what its line expects.
ENDS = {
    "rep-flip-flop": "max_repairs",
    "rep-collateral-refused": "collateral",
    "rep-added-optional-is-collateral": "collateral",
    "rep-sibling-not-named-by-parent": "collateral",
    "rep-name-swap": "collateral",
    "rep-evidence-against-schema": "evidence",
    "rep-not-after-uncertain": "uncertain",
    "rep-not-after-invalid-result": "invalid_result",
    "rep-approval-void": "refused",
    "rep-fixer-raises": "fixer_error",
    "rep-fixer-duplicate-keys": "fixer_reply",
}


def read_cases() -> dict[str, dict[str, Any]]:
    if not FILE.is_file():
        return {}
    found = [json.loads(line) for line in FILE.read_text("utf-8").splitlines() if line.strip()]
    return {case["id"]: case for case in found if case["kind"] == "repair"}


CASES = read_cases()


class Play:
    """One case with its fakes: the tools, a handler and a fixer that count."""

    def __init__(self, case: dict[str, Any]) -> None:
        self.given = case["input"]
        self.runs = 0
        self.asked: list[Any] = []
        known = {"schema", "name", "arguments", "fixer_replies", "max_repairs", "repeat"}
        known |= {"collateral", "other_tools", "called_name", "evidence", "handler"}
        known |= {"approval", "approval_for"}
        assert not set(self.given) - known, "a field that this test does not play"

    def handler(self, arguments: dict[str, Any]) -> Any:
        self.runs += 1
        act = self.given.get("handler", "")
        if "lost" in act:
            raise ConnectionError("the reply was lost")
        return {"refund": "r1"} if "breaks" not in act else ["no", "object"]

    def fixer(self, errors: Any, wrong: Any) -> Any:
        self.asked.append(errors)
        replies = self.given["fixer_replies"]
        place = len(self.asked) - 1
        alternate = self.given.get("repeat") == "alternate"
        reply = replies[place % len(replies) if alternate else min(place, len(replies) - 1)]
        if reply == "raise RuntimeError":
            raise RuntimeError("fixer")
        if isinstance(reply, str):
            return f'{{"name": "{self.given["name"]}", "arguments": {reply}}}'
        name = self.given["name"]
        if set(reply) == {"name", "arguments"}:
            name, reply = reply["name"], reply["arguments"]
        return ToolCall(name, reply)

    def outcome(self) -> RepairOutcome:
        given = self.given
        name = given["name"]
        options = {"approval": given.get("approval"), "result": {"type": "object"}}
        tool = Tool(name, "Does it.", given["schema"], self.handler, **options)
        others = [
            Tool(other, "Does something else.", {"type": "object"}, self.handler)
            for other in given.get("other_tools", ())
        ]
        store = ApprovalStore()
        context = Context(principal="agent-7", operation_id="op-1", approvals=store)
        if "approval_for" in given:
            approve(ToolCall(name, given["approval_for"]), tool, context, "boss")
        return run_with_repair(
            self.fixer,
            Dispatcher([tool, *others]),
            ToolCall(given.get("called_name", name), given["arguments"], id="c1"),
            context,
            max_repairs=given["max_repairs"],
            collateral=given.get("collateral", "report"),
            evidence=given.get("evidence", ()),
        )


@pytest.mark.skipif(not CASES, reason="the shared cases are not there")
@pytest.mark.parametrize("case_id", IDS)
def test_case(case_id: str) -> None:
    case = CASES[case_id]
    play = Play(case)
    outcome = play.outcome()
    seen = {
        "outcome": outcome.result.outcome,
        "boundary": outcome.result.boundary,
        "repairs_used": outcome.repairs_used,
        "attempts": len(outcome.attempts),
        "handler_runs": play.runs,
        "exhausted": outcome.exhausted,
        "changed": list(outcome.changed),
        "collateral": list(outcome.collateral),
        "evidence_broken": list(outcome.evidence_broken),
        "fixer_calls": len(play.asked),
        "attempts_kept": outcome.attempts[0].call is not None and bool(outcome.result.errors),
    }
    expected = {key: value for key, value in case["expect"].items() if key != "never"}
    assert {key: seen[key] for key in expected} == expected
    assert outcome.end == ENDS.get(case_id, "completed")
    assert outcome.original.arguments == case["input"]["arguments"]
    assert outcome.result.call_id == "c1"


@pytest.mark.skipif(not CASES, reason="the shared cases are not there")
def test_every_case_is_played() -> None:
    assert sorted(CASES) == sorted(IDS)
