"""Shared cases of definitions and of MCP, played through real sets of tools and a real wire.

A case's name is its id in ``tool_cases.jsonl`` or ``cases.jsonl`` beside the checkout, and its
expectations are read from there; what it is about is tested without that file in
test_tools_toolset.py, test_tools_functions.py and test_tools_mcp_client.py.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

mcp = pytest.importorskip("mcp")
pytest.importorskip("jsonschema")
pytest.importorskip("regress")

from gramlock.tools import Context, Dispatcher, Tool, ToolCall, ToolSet, approve  # noqa: E402
from gramlock.tools.mcp_client import McpClient  # noqa: E402
from gramlock.tools.mcp_server import mcp_server  # noqa: E402
from test_tools_mcp_client import PAY, Shop, Wire, dispatch, text  # noqa: E402


@pytest.fixture(scope="module")
def case(shared: Path) -> Any:
    """Case by id."""
    found = {}
    for file in ("tool_cases.jsonl", "cases.jsonl"):
        for line in filter(None, (shared / "cases" / file).read_text("utf-8").split("\n")):
            read = json.loads(line)
            found[read["id"]] = read
    return found.__getitem__


@pytest.mark.parametrize(
    "identity",
    [
        "env-mcp-iserror",
        "env-mcp-iserror-not-validated",
        "env-mcp-output-missing",
        "env-mcp-envelope-is-not-the-value",
        "env-mcp-internal-error-write",
    ],
)
def test_answers_of_a_server(case: Any, identity: str) -> None:
    given, expected = case(identity)["input"], case(identity)["expect"]
    payload, schema = given["payload"], given["tool"]["output_schema"]
    definition = PAY if schema is None else {**PAY, "outputSchema": schema}

    def respond(handler: Any, body: Any) -> None:
        answer = {**payload, "id": body["id"]}
        if "result" in answer:
            answer["result"] = {"resultType": "complete", **answer["result"]}
        Wire.answer(handler, answer)

    wire = Wire(respond, definition)
    try:
        with McpClient(wire.url, options={"mode": "2026-07-28"}) as client:
            result = dispatch(client, effect=given["tool"]["effect"])
    finally:
        wire.close()
    assert (result.outcome, wire.calls) == (expected["outcome"], 1)
    assert result.value == expected.get("value", result.value)


def test_a_changed_definition_voids_an_approval(case: Any) -> None:
    given = case("app-definition-changed")["input"]
    approved, expected = given["approved"], case("app-definition-changed")["expect"]
    schema = {"type": "object", "properties": {"to": {}, "amount": {"type": "integer"}}}
    definition = {"name": approved["tool"], "description": "Send.", "inputSchema": schema}
    shop = Shop(definition, answer=text("sent"))
    call = ToolCall(approved["tool"], approved["arguments"])
    context = Context(principal=approved["principal"])
    with McpClient(shop.server()) as client:
        dispatcher = Dispatcher([client.grant(call.name, approval="required")])
        approve(
            call,
            dispatcher.tools[call.name],
            context,
            approver="boss",
            store=dispatcher.approvals,
        )
        shop.tools = [{**definition, "description": "Send all of it."}]
        client.refresh()
        digest = client.definitions[call.name].digest
        again = client.grant(call.name, approval="required", digest=digest)
        changed = Dispatcher([again], approvals=dispatcher.approvals)
        results = [dispatcher.dispatch(call, context), changed.dispatch(call, context)]
    assert [result.ok for result in results] == [expected["allowed"]] * 2
    assert len(shop.calls) == expected["handler_runs"]


def test_arguments_arrive_as_data(case: Any) -> None:
    given = case("dis-handler-gets-plain-data")["input"]
    (described,), call = given["tools"], given["call"]
    seen: list[Any] = []
    tool = Tool.from_dict(
        {"name": described["name"], "description": "Run.", "parameters": described["parameters"]},
        lambda cmd: seen.append({"cmd": cmd}),
        effect=described["effect"],
    )
    expected = case("dis-handler-gets-plain-data")["expect"]
    ways = [Dispatcher([tool])]
    with McpClient(mcp_server(ToolSet([tool]))) as client:
        ways.append(Dispatcher(client.toolset([tool.name])))
        for way in ways:
            result = way.dispatch(ToolCall(call["name"], call["arguments"]))
            assert result.outcome == expected["outcome"]
    assert seen == [expected["handler_saw"]] * 2


def test_one_bad_schema(case: Any) -> None:
    tools = ToolSet(
        Tool.from_dict({"description": "Do.", **definition}, lambda **members: None)
        for definition in case("tool-one-bad-schema")["grammar"]["tools"]
    )
    # This engine takes the look-ahead; the same tool with a keyword that no engine can take.
    odd = {**tools["odd"].parameters, "properties": {"s": {"pattern": "(?<s"}}}
    worse = ToolSet([tools["get_user"], Tool("odd", "Do.", odd, lambda **members: None)])
    for reports in (tools.compile(), worse.compile()):
        grammar = reports["get_user"].grammar
        assert grammar is not None
        for accepted, lines in ((True, "accept"), (False, "reject")):
            for line in case("tool-one-bad-schema")[lines]:
                written = json.loads(line.split("\n")[1])["arguments"]
                assert grammar.accepts(json.dumps(written)) is accepted
    report = worse.compile()["odd"]
    assert not report.ok
    assert "odd" in str(report)
    assert "/properties/s/pattern" in str(report)
