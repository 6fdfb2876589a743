"""The shared cases of kinds dispatch, approval and parallel, each bound to fakes by its id.

Their scenarios are in plain words; a function here plays each one, and what it observes is compared
with what the line expects. Where a line leaves the choice free, the choice made is asserted too.
"""

from __future__ import annotations

import asyncio
import json
import os
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from gramlock.tools import (
    Accepted,
    ApprovalStore,
    Context,
    Dispatcher,
    Reference,
    Tool,
    ToolCall,
    ToolError,
    ToolLimits,
    Violation,
    approve,
    dispatch_all,
)
from tool_fakes import GOOD, ME, SCHEMA

SHARED = Path(os.environ.get("GRAMLOCK_SHARED") or Path(__file__).resolve().parents[2] / "shared")
FILE = SHARED / "cases" / "tool_cases.jsonl"
KINDS = ("dispatch", "approval", "parallel")


def read_cases() -> dict[str, dict[str, Any]]:
    if not FILE.is_file():
        return {}
    lines = FILE.read_text(encoding="utf-8").splitlines()
    found = [json.loads(line) for line in lines if line.strip()]
    return {case["id"]: case for case in found if case["kind"] in KINDS}


CASES = read_cases()
PLAYED: dict[str, Callable[[dict[str, Any]], None]] = {}


def plays(*ids: str) -> Callable[[Any], Any]:
    def keep(function: Any) -> Any:
        PLAYED.update(dict.fromkeys(ids, function))
        return function

    return keep


@dataclass
class World:
    """A tool whose checks, handler and effects are counted."""

    asked: list[str] = field(default_factory=list)
    saw: list[Any] = field(default_factory=list)
    effects: int = 0

    def rule(self, name: str, answer: Any) -> Callable[..., Any]:
        def asked(*arguments: Any) -> Any:
            self.asked.append(name)
            return answer

        asked.__name__ = name
        return asked

    def tool(self, act: Callable[[Any], Any] | None = None, **options: Any) -> Tool:
        def handler(arguments: dict[str, Any]) -> Any:
            self.asked.append("handler")
            self.saw.append(arguments)
            return act(arguments) if act else self.done(arguments)

        options = {"parameters": SCHEMA, "checks": [self.rule("domain", None)], **options}
        options.setdefault("permission", self.rule("authorise", True))
        return Tool("issue_refund", "Refund an order.", handler=handler, **options)

    def done(self, arguments: Any) -> dict[str, str]:
        self.effects += 1
        return {"refund": "r1"}


def observe(world: World, tool: Tool, call: Any, case: dict[str, Any]) -> Any:
    """Dispatches, and holds the result against the line's expectations."""
    dispatcher = Dispatcher([tool])
    result = dispatcher.dispatch(call, ME)
    expect(world, result, case["expect"])
    return result


def expect(world: World, result: Any, expected: dict[str, Any]) -> None:
    checks: dict[str, Callable[[Any], bool]] = {
        "outcome": lambda x: result.outcome == x,
        "outcome_in": lambda x: result.outcome in x,
        "outcome_not": lambda x: result.outcome != x,
        "boundary": lambda x: result.boundary == x,
        "handler_runs": lambda x: len(world.saw) == x,
        "effects": lambda x: world.effects == x,
        "violations": lambda x: len(result.errors) == x,
        "not_run": lambda x: not set(x) & set(world.asked),
        "error_lists": lambda x: all(name in str(result.errors[0]) for name in x),
        "handler_saw": lambda x: world.saw == [x],
        "value": lambda x: result.value == x,
        "result_has": lambda x: result.reference is not None,
        "never": lambda x: True,  # an exception out of dispatch would have ended the test
    }
    for name, wanted in expected.items():
        assert checks[name](wanted), (name, wanted, result)


def call_of(case: dict[str, Any], **changed: Any) -> Any:
    given = {**case["input"]["call"], **changed}
    return ToolCall(given["name"], given["arguments"], given["id"], given["status"])


def parameters(case: dict[str, Any]) -> Any:
    return case["input"]["tools"][0]["parameters"]


# ---- dispatch


@plays("dis-unknown-name", "dis-name-not-fuzzy", "dis-order-schema-before-auth")
def plain_refusal(case: dict[str, Any]) -> None:
    world = World()
    permitted = case["input"]["context"]["permitted"]
    tool = world.tool(permission=world.rule("authorise", permitted))
    result = observe(world, tool, call_of(case), case)
    assert result.call_id == "c1"


@plays("dis-order-domain-before-auth")
def domain_before_authorise(case: dict[str, Any]) -> None:
    world = World()

    def check(message: str) -> Callable[..., list[Violation]]:
        return lambda arguments, context: [Violation("", "check", message, boundary="domain")]

    checks = [check(message) for message in case["input"]["tools"][0]["domain_checks"]]
    tool = world.tool(checks=checks, permission=world.rule("authorise", False))
    observe(world, tool, call_of(case), case)


@plays("dis-approval-not-from-arguments")
def approval_from_arguments(case: dict[str, Any]) -> None:
    world = World()
    tool = world.tool(parameters=parameters(case), approval="required")
    observe(world, tool, call_of(case), case)


@plays("dis-permission-rule-async")
def async_permission(case: dict[str, Any]) -> None:
    async def deny(arguments: Any, context: Any) -> bool:
        return False

    world = World()
    tool = world.tool(permission=deny)
    observe(world, tool, call_of(case), case)
    result = asyncio.run(Dispatcher([tool]).dispatch_async(call_of(case), ME))
    expect(world, result, case["expect"])


@plays("dis-precondition-stale")
def stale_revision(case: dict[str, Any]) -> None:
    world = World()
    current, expected = 4, case["input"]["expected_revision"]

    def unchanged(arguments: Any, context: Any) -> list[Violation]:
        wrong = Violation("", "revision", str(expected), str(current), boundary="precondition")
        return [] if current == expected else [wrong]

    observe(world, world.tool(preconditions=[unchanged]), call_of(case), case)


@plays("dis-precondition-race")
def race_lost(case: dict[str, Any]) -> None:
    world = World()

    def service(arguments: Any) -> Any:
        raise ToolError("412: the ticket has changed meanwhile")

    tool = world.tool(service, preconditions=[world.rule("precondition", True)])
    observe(world, tool, call_of(case), case)
    assert "precondition" in world.asked


@plays("dis-tool-says-no")
def tool_says_no(case: dict[str, Any]) -> None:
    world = World()

    def service(arguments: Any) -> Any:
        raise ToolError("order already refunded")

    result = observe(world, world.tool(service), call_of(case), case)
    assert result.message == "order already refunded"


@plays("dis-write-unexpected-exception")
def reply_unreadable(case: dict[str, Any]) -> None:
    world = World()

    def service(arguments: Any) -> Any:
        world.done(arguments)
        return {}["refund"]

    result = observe(world, world.tool(service), call_of(case), case)
    assert world.effects == 1
    assert "refund" not in result.to_text()
    read = World()
    assert Dispatcher([read.tool(service, effect="read")]).dispatch(call_of(case), ME).outcome == (
        "failed"
    )


@plays("dis-connection-refused")
def connection_refused(case: dict[str, Any]) -> None:
    world = World()

    def service(arguments: Any) -> Any:
        raise ConnectionRefusedError

    result = observe(world, world.tool(service), call_of(case), case)
    assert result.outcome == "uncertain"  # only ToolError is a proof that nothing happened


@plays("dis-read-timeout")
def read_past_its_limit(case: dict[str, Any]) -> None:
    world = World()
    limit = case["input"]["tools"][0]["time_limit_s"]
    goes_on = threading.Event()
    tool = world.tool(
        lambda arguments: goes_on.wait(5), effect="read", limits=ToolLimits(seconds=limit)
    )
    assert observe(world, tool, call_of(case), case).outcome == "failed"
    goes_on.set()


@plays("dis-cancelled-before-invoke")
def cancelled_while_pending(case: dict[str, Any]) -> None:
    world = World()
    pending = asyncio.Event()

    async def ask(request: Any, context: Any) -> None:
        pending.set()
        await asyncio.sleep(10)

    async def main() -> None:
        dispatcher = Dispatcher([world.tool(approval="required")], ask_approval=ask)
        task = asyncio.ensure_future(dispatcher.dispatch_async(call_of(case), ME))
        await pending.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(main())
    expect(world, None, case["expect"])


@plays("dis-cancelled-in-flight")
def cancelled_in_flight(case: dict[str, Any]) -> None:
    pytest.importorskip("sqlalchemy")
    import tempfile

    from gramlock.tools import Ledger

    world = World()

    async def main(ledger: Any) -> None:
        sent = asyncio.Event()

        async def service(arguments: dict[str, Any]) -> None:
            world.saw.append(arguments)
            sent.set()
            await asyncio.sleep(10)

        tool = Tool("issue_refund", "Refund an order.", SCHEMA, service)
        dispatcher = Dispatcher([tool], ledger=ledger, grace=0.05)
        task = asyncio.ensure_future(dispatcher.dispatch_async(call_of(case), ME))
        await sent.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    with (
        tempfile.TemporaryDirectory() as directory,
        Ledger(Path(directory) / "ledger.db") as ledger,
    ):
        asyncio.run(main(ledger))
        (entry,) = ledger.unresolved()
    assert len(world.saw) == case["expect"]["handler_runs"]
    assert entry.state == case["expect"]["recorded_as"]
    assert case["expect"]["listed_as_unresolved"]


@plays("dis-result-breaks-contract")
def result_of_wrong_shape(case: dict[str, Any]) -> None:
    world = World()

    def service(arguments: Any) -> Any:
        world.done(arguments)
        return {"id": 1}

    schema = case["input"]["tools"][0]["result_schema"]
    observe(world, world.tool(service, result=schema), call_of(case), case)


@plays("dis-result-not-json")
def result_not_json(case: dict[str, Any]) -> None:
    for value in (object(), float("nan"), open(os.devnull)):  # noqa: SIM115
        world = World()
        observe(world, world.tool(lambda arguments, value=value: value), call_of(case), case)
        if hasattr(value, "close"):
            value.close()


@plays("dis-204")
def empty_body(case: dict[str, Any]) -> None:
    world = World()
    schema = case["input"]["tools"][0]["result_schema"]
    observe(world, world.tool(lambda arguments: None, result=schema), call_of(case), case)


@plays("dis-202")
def begun_elsewhere(case: dict[str, Any]) -> None:
    world = World()
    tool = world.tool(lambda arguments: Accepted("op-17"))
    assert observe(world, tool, call_of(case), case).outcome == "accepted"


@plays("dis-handler-gets-plain-data")
def plain_data(case: dict[str, Any]) -> None:
    world = World()
    observe(world, world.tool(parameters=parameters(case)), call_of(case), case)


@plays("dis-deep-arguments")
def deep_arguments(case: dict[str, Any]) -> None:
    value: Any = []
    for _ in range(2_000):
        value = [value]
    world = World()
    tool = world.tool(parameters=parameters(case))
    result = observe(world, tool, call_of(case, arguments={"a": value}), case)
    assert (result.outcome, result.boundary) == ("rejected", "parse")  # a depth limit


@plays("dis-validator-overflows")
def overflow(case: dict[str, Any]) -> None:
    world = World()
    tool = world.tool(parameters={"type": "object", **parameters(case)})
    result = observe(world, tool, call_of(case, arguments={"n": 10**400}), case)
    assert result.outcome == "completed"  # exact arithmetic


# ---- approvals


def transfers(world: World, **options: Any) -> Tool:
    tool = world.tool(parameters={"type": "object"}, approval="required", **options)
    return replace(tool, name="transfer", description="Moves money.")


def approved(case: dict[str, Any], tool: Tool, store: ApprovalStore) -> Any:
    given = case["input"]["approved"]
    return approve(
        ToolCall("transfer", given["arguments"]),
        tool,
        Context(principal=given["principal"], approvals=store),
        "boss",
        seconds=given["expires_at"],
        clock=lambda: 0.0,
    )


@plays(
    *("app-same", "app-member-order", "app-number-to-text", "app-beyond-2p53", "app-extra-member"),
    *("app-null-member", "app-nfc-nfd", "app-other-principal", "app-expired"),
    *("app-name-is-not-enough", "app-definition-changed"),
)
def approval_and_call(case: dict[str, Any]) -> None:
    world, store = World(), ApprovalStore()
    tool = transfers(world)
    approved(case, tool, store)
    if case["input"].get("tool_definition_changed"):
        tool = replace(tool, description="Moves money, all of it.")
    run = case["input"]["executed"]
    dispatcher = Dispatcher([tool], clock=lambda: float(run["now"]))
    context = Context(principal=run["principal"], approvals=store)
    result = dispatcher.dispatch(ToolCall("transfer", run["arguments"], "c1"), context)
    assert result.ok == case["expect"]["allowed"]
    assert len(world.saw) == case["expect"]["handler_runs"]
    assert result.boundary == (None if result.ok else "approval")
    again = dispatcher.dispatch(ToolCall("transfer", run["arguments"], "c2"), context)
    assert again.boundary == "approval"  # once


@plays("app-edit-is-validated")
def edit_is_new_input(case: dict[str, Any]) -> None:
    world, store = World(), ApprovalStore()
    tool = replace(transfers(world), parameters=case["input"]["schema"])
    given = case["input"]["approved"]
    context = Context(principal=given["principal"], approvals=store)
    edited = ToolCall("transfer", case["input"]["approver_edits_arguments_to"], "c1")
    approve(edited, tool, context, "boss")
    expect(world, Dispatcher([tool]).dispatch(edited, context), case["expect"])


@plays("app-edit-to-other-tool")
def edit_of_the_tool(case: dict[str, Any]) -> None:
    world, store = World(), ApprovalStore()
    tool = transfers(world)
    other = replace(tool, name="delete_account")
    approved(case, tool, store)
    given = case["input"]["approved"]
    edited = ToolCall(case["input"]["approver_edits_tool_to"], given["arguments"], "c1")
    context = Context(principal=given["principal"], approvals=store)
    dispatcher = Dispatcher([tool, other], clock=lambda: 1.0)
    result = dispatcher.dispatch(edited, context)
    expect(world, result, case["expect"])
    assert result.boundary == "approval"


@plays("app-shown-is-run")
def shown_is_run(case: dict[str, Any]) -> None:
    """A hook that rewrites the arguments voids the call: they are never run, nor others shown."""
    shown: list[Any] = []
    world = World()
    proposed = ToolCall("transfer", dict(case["input"]["proposed"]), "c1")

    def hook(arguments: Any, context: Any) -> None:
        arguments.update(case["input"]["hook_after_validation_sets"])

    for options in ({"checks": [hook]}, {"preconditions": [hook]}, {}):
        tool, store = transfers(world, **options), ApprovalStore()

        def ask(request: Any, context: Context, tool: Any = tool, store: Any = store) -> Any:
            shown.append(request.arguments)
            return approve(proposed, tool, context, "boss", store=store)

        result = Dispatcher([tool], approvals=store, ask_approval=ask).dispatch(proposed, ME)
        assert result.boundary == ("arguments" if options else None)
    assert case["expect"]["shown_equals_executed"]
    assert world.saw == [case["input"]["proposed"]]
    assert shown == [case["input"]["proposed"]] * 2  # never what the hook made of it


# ---- several calls


@dataclass
class Turn:
    """Plays the calls of a parallel case; writes down when each began and ended."""

    case: dict[str, Any]
    spans: dict[str, tuple[float, float]] = field(default_factory=dict)
    given: dict[str, Any] = field(default_factory=dict)

    def play(self, **options: Any) -> list[Any]:
        tools, calls = [], []
        for told in self.case["input"]["calls"]:
            name = f"tool_{told['id']}"
            tools.append(
                Tool(
                    name,
                    "One call's own tool.",
                    {"type": "object", **told.get("parameters", {})},
                    self.handler(told),
                    effect=told["effect"],
                )
            )
            calls.append(ToolCall(name, self.arguments(told.get("arguments", {})), told["id"]))
        return dispatch_all(Dispatcher(tools), calls, ME, **options)

    def handler(self, told: dict[str, Any]) -> Callable[[dict[str, Any]], Any]:
        def handle(arguments: dict[str, Any]) -> Any:
            self.given[told["id"]] = arguments
            began = time.monotonic()
            time.sleep(0.4 if "may_overlap" in self.case["expect"] else 0.02)
            self.spans[told["id"]] = began, time.monotonic()
            return told.get("returns")

        return handle

    def arguments(self, told: dict[str, Any]) -> dict[str, Any]:
        """The case's references, typed as the application would type them."""
        return {
            name: Reference(value["ref"], value["pointer"]) if isinstance(value, dict) else value
            for name, value in told.items()
        }


@plays("par-reads", "par-writes", "par-read-after-write", "par-real-result")
def ordering(case: dict[str, Any]) -> None:
    turn = Turn(case)
    results = turn.play()
    expected = case["expect"]
    assert [result.call_id for result in results] == [c["id"] for c in case["input"]["calls"]]
    assert all(result.ok for result in results)
    for group in expected.get("may_overlap", []):
        latest = max(turn.spans[name][0] for name in group)
        assert latest < min(turn.spans[name][1] for name in group)
    for one, other in expected.get("ends_before_starts", []):
        assert turn.spans[one][1] <= turn.spans[other][0]
    if "w1_arguments" in expected:
        assert turn.given["w1"] == expected["w1_arguments"]
    if "results_in_order" in expected:
        assert [result.call_id for result in results] == expected["results_in_order"]


@plays("par-ref-then-validate")
def resolved_then_validated(case: dict[str, Any]) -> None:
    turn = Turn(case)
    result = turn.play()[1]
    assert (result.outcome, result.boundary) == tuple(case["expect"]["w1"].values())
    assert "w1" not in turn.given


@plays("par-ref-self")
def refers_to_itself(case: dict[str, Any]) -> None:
    turn = Turn(case)
    results = turn.play()
    assert [result.call_id for result in results] == case["expect"]["results_for"]
    assert results[0].boundary == "reference"
    assert turn.given == {}


@plays("par-ref-lookalike-stays-data")
def lookalike(case: dict[str, Any]) -> None:
    turn = Turn(case)
    assert all(result.ok for result in turn.play())
    assert turn.given["w1"] == case["expect"]["w1_arguments"]


@plays("par-same-write-twice")
def same_write_twice(case: dict[str, Any]) -> None:
    """Surfaced, not decided: the second is a suspected duplicate until the application says."""
    runs: list[Any] = []
    tool = Tool("pay", "Pays.", {"type": "object"}, lambda arguments: runs.append(arguments))
    calls = [ToolCall("pay", c["arguments"], c["id"]) for c in case["input"]["calls"]]
    dispatcher = Dispatcher([tool])
    results = dispatch_all(dispatcher, calls, ME)
    assert [result.call_id for result in results] == case["expect"]["results_for"]
    assert [result.boundary for result in results] == [None, "duplicate"]
    meant = {"w1": Context(operation_id="O1"), "w2": Context(operation_id="O2")}
    results = dispatch_all(dispatcher, calls, ME, contexts=meant)
    assert [result.outcome for result in results] == ["completed", "completed"]
    assert len(runs) == 3


# ---- all of them


@pytest.mark.parametrize("case_id", sorted(CASES))
def test_case(case_id: str) -> None:
    PLAYED[case_id](CASES[case_id])


@pytest.mark.skipif(not CASES, reason="the shared cases are not here")
def test_every_line_is_played() -> None:
    assert sorted(PLAYED) == sorted(CASES)


def test_these_scenarios_stand_without_the_file() -> None:
    """The three kinds in one scenario each, so that they are checked where the file is absent."""
    world = World()
    store = ApprovalStore()
    tool = transfers(world)
    context = Context(principal="P1", approvals=store)
    call = ToolCall("transfer", {"to": "X", "amount": 100}, "c1")
    dispatcher = Dispatcher([tool])
    assert dispatcher.dispatch(ToolCall("transfers", GOOD, "c0"), context).boundary == "name"
    assert dispatcher.dispatch(call, context).boundary == "approval"
    approve(call, tool, context, "boss")
    changed = ToolCall("transfer", {"to": "X", "amount": 101}, "c2")
    results = dispatch_all(dispatcher, [changed, call], context)
    assert [result.boundary for result in results] == ["approval", None]
    assert world.saw == [{"to": "X", "amount": 100}]
