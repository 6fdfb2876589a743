"""Using a server's tools: what is granted, what is pinned, and what an answer proves."""

from __future__ import annotations

import asyncio
import json
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from gramlock.errors import McpError, ToolDefinitionError
from gramlock.tools import Context, Dispatcher, Ledger, ToolCall, ToolLimits

mcp = pytest.importorskip("mcp")
for package in ("jsonschema", "regress", "sqlalchemy", "typer", "uvicorn"):
    pytest.importorskip(package)

import mcp_types as types  # noqa: E402
from mcp.client.stdio import StdioServerParameters, stdio_client  # noqa: E402
from mcp.server.lowlevel import Server  # noqa: E402

import served_tools  # noqa: E402
from gramlock.tools.mcp_client import McpClient  # noqa: E402
from gramlock.tools.mcp_server import http_app, mcp_server  # noqa: E402

PAY: dict[str, Any] = {
    "name": "pay",
    "description": "Pay.",
    "inputSchema": {
        "type": "object",
        "properties": {"cents": {"type": "number"}},
        "required": ["cents"],
    },
}
RECEIPT = {"type": "object", "properties": {"id": {"type": "string"}}, "required": ["id"]}


class Shop:
    """A server whose every answer a test decides; it counts what reaches it."""

    def __init__(self, *tools: dict[str, Any], answer: Any = None) -> None:
        self.tools, self.answer = list(tools) or [PAY], answer
        self.calls: list[Any] = []
        self.listed = 0

    def server(self) -> Any:
        return Server("shop", on_list_tools=self.list_tools, on_call_tool=self.call_tool)

    async def list_tools(self, request: Any, params: Any) -> Any:
        self.listed += 1
        return types.ListToolsResult(tools=[types.Tool.model_validate(t) for t in self.tools])

    async def call_tool(self, request: Any, params: Any) -> Any:
        self.calls.append(params.arguments)
        if isinstance(self.answer, BaseException):
            raise self.answer
        return self.answer(request) if callable(self.answer) else self.answer


def text(*texts: str, **more: Any) -> Any:
    content: list[Any] = [types.TextContent(type="text", text=one) for one in texts]
    return types.CallToolResult(content=content, **more)


def dispatch(client: McpClient, arguments: Any = None, **options: Any) -> Any:
    """One call of the shop's tool, through a dispatcher."""
    dispatcher = Dispatcher(client.toolset({"pay": options}))
    return dispatcher.dispatch(ToolCall("pay", {"cents": 5} if arguments is None else arguments))


def outcome(shop: Shop, **options: Any) -> Any:
    with McpClient(shop.server(), name="shop") as client:
        result = dispatch(client, **options)
    assert len(shop.calls) == 1
    return result


# ------------------------------------------------------------------------------------- grants


def test_discovery_grants_nothing() -> None:
    shop = Shop(PAY, {**PAY, "name": "steal"}, answer=text("paid"))
    with McpClient(shop.server(), name="shop") as client:
        assert list(client.definitions) == ["pay", "steal"]
        tools = client.toolset(["pay"])
        assert tools.names == ("pay",)
        result = Dispatcher(tools).dispatch(ToolCall("steal", {"cents": 5}))
        assert (result.outcome, result.boundary) == ("rejected", "name")
        with pytest.raises(ToolDefinitionError, match="has no tool 'lend'; it has: pay, steal"):
            client.grant("lend")
    assert shop.calls == []


def test_the_effect_is_the_applications_word() -> None:
    claims = {"readOnlyHint": True, "idempotentHint": True, "destructiveHint": False}
    shop = Shop({**PAY, "annotations": claims}, answer=KeyError("x"))
    with McpClient(shop.server()) as client:
        assert client.definitions["pay"].claims["readOnlyHint"] is True
        assert client.grant("pay").effect == "write"
        assert client.grant("pay", effect="read").effect == "read"
        assert dispatch(client).outcome == "uncertain"
        assert dispatch(client, effect="read").outcome == "failed"


@pytest.mark.parametrize("option", ["aproval", "readonly"])
def test_an_option_that_does_not_exist_raises(option: str) -> None:
    with McpClient(Shop().server()) as client, pytest.raises(TypeError, match=option):
        client.grant("pay", **{option: "required"})


@pytest.mark.parametrize("option", ["handler", "parameters", "result", "name", "description"])
def test_what_the_server_describes_cannot_be_overridden(option: str) -> None:
    with McpClient(Shop().server()) as client, pytest.raises(ToolDefinitionError, match=option):
        client.toolset({"pay": {option: None}})


def test_rules_of_the_application_hold() -> None:
    shop = Shop(answer=text("paid"))
    seen: list[Any] = []
    with McpClient(shop.server()) as client:
        refused = {
            "permission": lambda arguments, context: context.principal == "ann",
            "approval": "required",
            "preconditions": [lambda arguments, context: False],
            "checks": lambda arguments, context: seen.append(arguments) or [],
        }
        assert dispatch(client, permission=refused["permission"]).boundary == "authorise"
        assert dispatch(client, approval=refused["approval"]).boundary == "approval"
        assert dispatch(client, preconditions=refused["preconditions"]).boundary == "precondition"
        assert dispatch(client, checks=refused["checks"]).ok
    assert seen == [{"cents": 5}]
    assert len(shop.calls) == 1


def test_a_tool_that_cannot_be_used_does_not_sink_the_rest() -> None:
    endless: dict[str, Any] = {"type": "object"}
    for _ in range(110):
        endless = {"type": "object", "properties": {"a": endless}}
    shop = Shop(
        PAY,
        {**PAY, "name": "no good"},
        {**PAY, "name": "deep", "inputSchema": endless},
        {**PAY, "name": "twice"},
        {**PAY, "name": "twice", "description": "Another."},
        {"name": "bare", "inputSchema": {"type": "object"}},
        {**PAY, "name": "invalid", "inputSchema": {"type": "object", "required": 3}},
    )
    with McpClient(shop.server(), name="shop", prefix="shop_") as client:
        assert list(client.definitions) == ["pay", "bare", "invalid"]
        assert set(client.unusable) == {"no good", "deep", "twice"}
        assert "twice" in client.unusable["twice"]
        with pytest.raises(ToolDefinitionError, match="served twice"):
            client.grant("twice")
        tools = client.toolset(["pay", "bare", "invalid"])
        assert tools.names == ("shop_pay", "shop_bare", "shop_invalid")
        assert tools["shop_bare"].description == "The tool bare of shop."
        assert [name for name, report in tools.compile().items() if not report.ok] == [
            "shop_invalid"
        ]


def test_a_server_without_end_is_given_up() -> None:
    async def endless(request: Any, params: Any) -> Any:
        page = "0" if params is None or params.cursor is None else str(int(params.cursor) + 1)
        tool = types.Tool.model_validate({**PAY, "name": f"pay{page}"})
        return types.ListToolsResult(tools=[tool], next_cursor=page)

    with (
        pytest.raises(McpError, match="more tools than"),
        McpClient(Server("endless", on_list_tools=endless)),
    ):
        pytest.fail("it was opened")


# --------------------------------------------------------------------------------------- pins

CHANGES: list[dict[str, Any]] = [
    {"description": "Pay twice."},
    {"title": "Pay at once"},
    {"inputSchema": {"type": "object"}},
    {"outputSchema": RECEIPT},
    {"annotations": {"readOnlyHint": True}},
]


@pytest.mark.parametrize("change", CHANGES, ids=lambda change: next(iter(change)))
def test_a_changed_definition_is_quarantined_until_it_is_granted_anew(change: Any) -> None:
    shop = Shop(answer=text("paid", structured_content={"id": "1"}))
    with McpClient(shop.server(), name="shop", max_age=None) as client:
        tool = client.grant("pay")
        dispatcher = Dispatcher([tool])
        call = ToolCall("pay", {"cents": 5})
        assert dispatcher.dispatch(call).ok
        shop.tools = [{**PAY, **change}]
        client.refresh()
        assert "changed" in client.quarantined["pay"]
        result = dispatcher.dispatch(call)
        assert (result.outcome, result.boundary) == ("rejected", "precondition")
        assert "quarantine" in str(result.errors[0])
        shop.tools = [PAY]  # back again: that it was changed has not been explained by that
        client.refresh()
        assert dispatcher.dispatch(call).outcome == "rejected"
        assert len(shop.calls) == 1
        again = client.grant("pay")
        assert client.quarantined == {}
        assert Dispatcher([again]).dispatch(call).ok
        assert dispatcher.dispatch(call).ok  # the same definition again, so the same grant


def test_a_definition_that_vanishes_is_quarantined() -> None:
    shop = Shop(answer=text("paid"))
    with McpClient(shop.server(), max_age=None) as client:
        dispatcher = Dispatcher(client.toolset(["pay"]))
        shop.tools = [{**PAY, "name": "other"}]
        client.refresh()
        assert dispatcher.dispatch(ToolCall("pay", {"cents": 5})).boundary == "precondition"
        assert "no longer" in client.quarantined["pay"]


def test_an_old_tool_does_not_run_under_a_new_grant() -> None:
    shop = Shop(answer=text("paid"))
    with McpClient(shop.server(), max_age=None) as client:
        old = Dispatcher(client.toolset(["pay"]))
        shop.tools = [{**PAY, "inputSchema": {"type": "object"}}]
        client.refresh()
        with pytest.raises(ToolDefinitionError, match="not the pinned definition"):
            client.grant("pay")
        client.grant("pay", digest=client.definitions["pay"].digest)
        assert old.dispatch(ToolCall("pay", {"cents": 5})).boundary == "precondition"
    assert shop.calls == []


def test_definitions_are_read_again_before_a_call_when_they_are_old() -> None:
    shop = Shop(answer=text("paid"))
    with McpClient(shop.server(), max_age=0) as client:
        dispatcher = Dispatcher(client.toolset(["pay"]))
        assert dispatcher.dispatch(ToolCall("pay", {"cents": 5})).ok
        shop.tools = [{**PAY, "description": "Pay twice."}]
        result = dispatcher.dispatch(ToolCall("pay", {"cents": 5}))
        assert (result.outcome, len(shop.calls)) == ("failed", 1)
        assert "not called" in result.message
        shop.list_tools = None  # type: ignore[assignment, method-assign]
    assert shop.listed == 3


def test_a_definition_that_cannot_be_verified_is_not_called() -> None:
    shop = Shop(answer=text("paid"))
    with McpClient(shop.server(), max_age=0) as client:
        dispatcher = Dispatcher(client.toolset(["pay"]))
        shop.tools = [{"name": "pay"}]  # no longer a tool at all: the listing raises
        result = dispatcher.dispatch(ToolCall("pay", {"cents": 5}))
        assert (result.outcome, shop.calls) == ("failed", [])


def test_the_servers_word_that_its_tools_changed_is_heard() -> None:
    async def announces(request: Any) -> None:
        await request.session.send_tool_list_changed()

    class Announcing(Shop):
        async def call_tool(self, request: Any, params: Any) -> Any:
            self.tools = [{**PAY, "description": "Pay twice."}]
            await announces(request)
            return await super().call_tool(request, params)

    shop = Announcing(answer=text("paid"))
    options = {"mode": "legacy"}
    with McpClient(shop.server(), max_age=None, options=options) as client:
        dispatcher = Dispatcher(client.toolset(["pay"]))
        assert dispatcher.dispatch(ToolCall("pay", {"cents": 5})).ok
        result = dispatcher.dispatch(ToolCall("pay", {"cents": 5}))
        assert (result.outcome, len(shop.calls)) == ("failed", 1)
        assert "changed" in client.quarantined["pay"]


def test_pins_outlive_the_client() -> None:
    shop = Shop(answer=text("paid"))
    with McpClient(shop.server()) as client:
        client.grant("pay", digest=client.definitions["pay"].digest)
        pins = client.pins()
    assert pins == {"pay": client.definitions["pay"].digest}
    with McpClient(shop.server(), pins=pins) as client:
        assert dispatch(client).ok
        assert client.quarantined == {}
    shop.tools = [{**PAY, "description": "Pay twice."}]
    with McpClient(shop.server(), pins=pins) as client:
        assert set(client.quarantined) == {"pay"}
        with pytest.raises(ToolDefinitionError, match="not the pinned definition"):
            client.grant("pay")
        with pytest.raises(ToolDefinitionError, match="not the pinned definition"):
            client.grant("pay", digest=pins["pay"])
        client.grant("pay", digest=client.definitions["pay"].digest)
        assert client.quarantined == {}
        assert client.pins() != pins


# ------------------------------------------------------------------------------------ answers


@pytest.mark.parametrize(
    "answer, value",
    [
        (text("paid"), "paid"),
        (text("paid", "twice"), "paid\ntwice"),
        (text(), ""),
        (text("{}", structured_content={"id": "1"}), {"id": "1"}),
        (text("3", structured_content=3), 3),
    ],
)
def test_results_are_values(answer: Any, value: Any) -> None:
    result = outcome(Shop(answer=answer))
    assert (result.outcome, result.value) == ("completed", value)


def test_a_result_of_other_blocks_is_kept_whole() -> None:
    image = types.ImageContent(type="image", data="AAAA", mime_type="image/png")
    result = outcome(Shop(answer=types.CallToolResult(content=[image])))
    assert result.value == [{"type": "image", "data": "AAAA", "mimeType": "image/png"}]


def test_a_result_that_breaks_its_schema_is_invalid_although_the_effect_is_there() -> None:
    # The SDK's own call_tool raises a bare RuntimeError here, and the result is lost.
    shop = Shop({**PAY, "outputSchema": RECEIPT}, answer=text("1", structured_content={"id": 1}))
    result = outcome(shop)
    assert (result.outcome, result.boundary) == ("invalid_result", "result")
    assert [str(error) for error in result.errors] == ["$.id: expected string, got integer"]


def test_a_result_without_its_structured_content_is_invalid() -> None:
    result = outcome(Shop({**PAY, "outputSchema": RECEIPT}, answer=text('{"id": "1"}')))
    assert result.outcome == "invalid_result"


def test_a_null_that_the_sdk_leaves_out_is_a_null() -> None:
    nothing = {**PAY, "outputSchema": {"type": ["null", "string"]}}
    assert outcome(Shop(nothing, answer=text("null"))).ok
    something = {**PAY, "outputSchema": {"type": ["string", "integer"]}}
    assert outcome(Shop(something, answer=text("null"))).outcome == "invalid_result"


def test_an_error_is_a_result_and_no_schema_applies_to_it() -> None:
    shop = Shop({**PAY, "outputSchema": RECEIPT}, answer=text("no such order", is_error=True))
    result = outcome(shop)
    assert (result.outcome, result.message) == ("failed", "no such order")
    long = outcome(Shop(answer=text("x" * 100_000, is_error=True)))
    assert len(long.message) < 3000


@pytest.mark.parametrize("code", [-32601, -32602, -32020, -32021, -32022])
def test_a_refusal_before_the_call_is_failed(code: int) -> None:
    result = outcome(Shop(answer=mcp.MCPError(code, "password=hunter2")))
    assert result.outcome == "failed"
    assert "hunter2" not in result.to_text()


@pytest.mark.parametrize("code", [-32603, -32600, -32700, -32000, -32001, -32099, 0, 1])
def test_any_other_error_during_a_write_is_uncertain(code: int) -> None:
    result = outcome(Shop(answer=mcp.MCPError(code, "password=hunter2")))
    assert result.outcome == "uncertain"
    assert "hunter2" not in result.to_text()
    read = outcome(Shop(answer=mcp.MCPError(code, "x")), effect="read")
    assert read.outcome == "failed"


def test_invalid_parameters_that_hide_a_broken_handler_are_uncertain() -> None:
    # The SDK's server answers -32602 to a ValidationError that a handler raises after its effect.
    def broken(request: Any) -> Any:
        return types.Tool.model_validate({})

    assert outcome(Shop(answer=broken)).outcome == "uncertain"


def test_a_request_for_input_is_not_answered_and_the_call_not_sent_again() -> None:
    state = types.InputRequiredResult(request_state="again")
    assert outcome(Shop(answer=state)).outcome == "uncertain"


@pytest.mark.parametrize(
    "answer, becomes",
    [
        (text("?", is_error=True, _meta={"gramlock/outcome": "uncertain"}), "uncertain"),
        (text("?", _meta={"gramlock/outcome": "uncertain"}), "uncertain"),
        (text("?", is_error=True, _meta={"gramlock/outcome": "invalid_result"}), "invalid_result"),
        (text("?", is_error=True, _meta={"gramlock/outcome": "completed"}), "invalid_result"),
        (text("?", is_error=True, _meta={"gramlock/outcome": "rejected"}), "failed"),
        (text("?", _meta={"gramlock/outcome": "accepted"}), "uncertain"),
        (
            text("?", _meta={"gramlock/outcome": "accepted", "gramlock/reference": "op-1"}),
            "accepted",
        ),
    ],
)
def test_an_outcome_that_the_server_names_makes_nothing_better(answer: Any, becomes: str) -> None:
    result = outcome(Shop(answer=answer))
    assert result.outcome == becomes
    assert result.reference == ("op-1" if becomes == "accepted" else None)


def test_numbers_that_the_sdk_would_send_as_text_are_refused_before() -> None:
    from decimal import Decimal

    shop = Shop(answer=text("paid"))
    with McpClient(shop.server()) as client:
        result = dispatch(
            client, {"cents": Decimal("0.10000000000000000000000001"), "x": [10**5000]}
        )
        assert (result.outcome, result.boundary) == ("rejected", "domain")
        assert {error.pointer for error in result.errors} == {"/cents", "/x/0"}
        assert dispatch(client, {"cents": 2**70}).ok
    assert shop.calls == [{"cents": 2**70}]


def test_a_call_that_outlives_its_limit_is_uncertain_and_its_answer_is_evidence(
    tmp_path: Path,
) -> None:
    class Slow(Shop):
        async def call_tool(self, request: Any, params: Any) -> Any:
            await asyncio.sleep(0.6)
            return await super().call_tool(request, params)

    shop = Slow(answer=text("paid"))
    with McpClient(shop.server()) as client, Ledger(str(tmp_path / "ledger.db")) as ledger:
        tools = client.toolset({"pay": {"limits": ToolLimits(seconds=0.1)}})
        dispatcher = Dispatcher(tools, ledger=ledger)
        context = Context(principal="ann", operation_id="op")
        result = dispatcher.dispatch(ToolCall("pay", {"cents": 5}), context)
        assert result.outcome == "uncertain"
        deadline = time.monotonic() + 20
        while not (entry := ledger.get(result.entry_id)) or not entry.evidence:
            assert time.monotonic() < deadline
            time.sleep(0.05)
    assert len(shop.calls) == 1


def test_many_threads_may_call_at_once() -> None:
    class Slow(Shop):
        async def call_tool(self, request: Any, params: Any) -> Any:
            await asyncio.sleep(0.2)
            return text(str(params.arguments["cents"]))

    with McpClient(Slow().server()) as client:
        dispatcher = Dispatcher(client.toolset({"pay": {"effect": "read"}}))

        async def several() -> list[Any]:
            calls = [ToolCall("pay", {"cents": n}, id=str(n)) for n in range(20)]
            return await asyncio.gather(*(dispatcher.dispatch_async(call) for call in calls))

        assert [result.value for result in asyncio.run(several())] == [str(n) for n in range(20)]


# ------------------------------------------------------------------------------ lost sessions


def parameters(effects: Path, module: str = "served_tools:TOOLS") -> Any:
    path = os.pathsep.join([str(Path(__file__).parent), *sys.path])
    return StdioServerParameters(
        command=sys.executable,
        args=["-m", "gramlock.cli", "tools", "serve", module, "--stdio"],
        env={"SERVED_EFFECTS": str(effects), "PYTHONPATH": path, "PATH": os.environ["PATH"]},
    )


def test_a_server_that_dies_during_a_write_leaves_it_uncertain_and_is_not_asked_again(
    tmp_path: Path,
) -> None:
    effects = tmp_path / "effects"
    transport = stdio_client(parameters(effects), errlog=sys.__stderr__)
    with McpClient(transport, name="shop") as client:
        dispatcher = Dispatcher(client.toolset({"issue_refund": {}, "say": {"effect": "read"}}))
        good = dispatcher.dispatch(ToolCall("issue_refund", {"order_id": "A-1", "amount_cents": 5}))
        assert good.value == {"refund": "r-A-1"}
        lost = dispatcher.dispatch(ToolCall("issue_refund", {"order_id": "A-7", "amount_cents": 5}))
        assert lost.outcome == "uncertain"
        after = dispatcher.dispatch(ToolCall("say", {"text": "still there?"}))
        assert (after.outcome, after.boundary) == ("rejected", "precondition")
        assert "connection was lost" in str(after.errors[0])
    assert effects.read_text() == "A-1 5\nA-7 5\n"


def test_a_session_that_a_restarted_server_does_not_know_is_not_made_anew(
    tmp_path: Path, monkeypatch: Any
) -> None:
    from test_tools_mcp import HttpServer

    effects = tmp_path / "effects"
    monkeypatch.setenv("SERVED_EFFECTS", str(effects))
    first = HttpServer(http_app(mcp_server(served_tools.TOOLS)))
    call = ToolCall("issue_refund", {"order_id": "A-1", "amount_cents": 5})
    with McpClient(first.url, name="shop", options={"mode": "legacy"}) as client:
        dispatcher = Dispatcher(client.toolset(["issue_refund"]))
        assert dispatcher.dispatch(call).ok
        first.stop()
        second = HttpServer(http_app(mcp_server(served_tools.TOOLS)), first.port)
        try:
            outcomes = [dispatcher.dispatch(call).outcome for _ in range(3)]
        finally:
            second.stop()
    assert outcomes == ["uncertain", "rejected", "rejected"]
    assert effects.read_text() == "A-1 5\n"


def test_outcomes_survive_two_dispatchers(tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.setenv("SERVED_EFFECTS", str(tmp_path / "effects"))
    with McpClient(mcp_server(served_tools.TOOLS), name="shop") as client:
        dispatcher = Dispatcher(client.toolset(["issue_refund"]))
        for order, expected in {
            "A-1": "completed",
            "A-0": "failed",
            "A-9": "uncertain",
            "A-8": "invalid_result",
        }.items():
            arguments = {"order_id": order, "amount_cents": 5}
            result = dispatcher.dispatch(ToolCall("issue_refund", arguments))
            assert (order, result.outcome) == (order, expected)


def test_a_receiver_that_keeps_outcomes_is_asked_again_by_the_operations_id(
    tmp_path: Path, monkeypatch: Any
) -> None:
    effects = tmp_path / "effects"
    monkeypatch.setenv("SERVED_EFFECTS", str(effects))
    call = ToolCall("issue_refund", {"order_id": "A-1", "amount_cents": 5})
    with Ledger(str(tmp_path / "ledger.db")) as ledger:
        receiver = Dispatcher(served_tools.TOOLS, ledger=ledger)

        def ask(operation: str | None, served: bool, sent: bool) -> Any:
            server = mcp_server(receiver, operation_ids=served)
            with McpClient(server, operation_ids=sent) as client:
                dispatcher = Dispatcher(client.toolset(["issue_refund"]))
                return dispatcher.dispatch(call, Context(operation_id=operation))

        first, again = ask("op-1", True, True), ask("op-1", True, True)
        assert first.value == again.value == {"refund": "r-A-1"}
        assert effects.read_text() == "A-1 5\n"
        assert ask("op-2", True, True).ok
        assert effects.read_text() == "A-1 5\nA-1 5\n"
        # Without an id that both sides want to speak of, an equal call is a suspected duplicate.
        for served, sent in ((True, False), (False, True)):
            assert ask("op-1", served, sent).outcome == "failed"
        assert ask("x" * 201, True, True).outcome == "failed"
    assert effects.read_text() == "A-1 5\nA-1 5\n"


class Wire:
    """An HTTP endpoint that answers ``tools/call`` as a test wants, and counts it."""

    def __init__(self, respond: Callable[[Any, Any], None], tool: Any = PAY) -> None:
        self.calls, self.lists = 0, 0
        wire = self

        class Handler(BaseHTTPRequestHandler):
            def log_message(self, *anything: Any) -> None:
                """Nothing."""

            def do_GET(self) -> None:
                self.send_error(405)

            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["content-length"])))
                if body["method"] == "tools/list":
                    wire.lists += 1
                    listing = {"tools": [tool], "resultType": "complete"}
                    listing |= {"ttlMs": 0, "cacheScope": "private"}
                    wire.answer(self, {"jsonrpc": "2.0", "id": body["id"], "result": listing})
                elif body["method"] == "tools/call":
                    wire.calls += 1
                    respond(self, body)
                else:
                    self.send_error(404)

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.thread = threading.Thread(target=self.server.serve_forever, daemon=True)
        self.thread.start()
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}/mcp"

    @staticmethod
    def answer(handler: Any, value: Any, kind: str = "application/json", status: int = 200) -> None:
        data = value if isinstance(value, bytes) else json.dumps(value).encode()
        handler.send_response(status)
        handler.send_header("content-type", kind)
        handler.send_header("content-length", str(len(data)))
        handler.end_headers()
        handler.wfile.write(data)

    def close(self) -> None:
        self.server.shutdown()
        self.server.server_close()


def _drop(handler: Any, body: Any) -> None:
    handler.close_connection = True
    handler.connection.close()


def _cut(handler: Any, body: Any) -> None:
    handler.send_response(200)
    handler.send_header("content-type", "application/json")
    handler.send_header("content-length", "1000")
    handler.end_headers()
    handler.wfile.write(b'{"jsonrpc": "2.0", "id"')
    handler.close_connection = True


def _redirect(handler: Any, body: Any) -> None:
    handler.send_response(302)
    handler.send_header("location", "/elsewhere")
    handler.send_header("content-length", "0")
    handler.end_headers()


def _with(value: Any, kind: str = "application/json", status: int = 200) -> Callable[..., None]:
    return lambda handler, body: Wire.answer(handler, value, kind, status)


def _result(value: Any) -> Callable[..., None]:
    return lambda handler, body: Wire.answer(
        handler, {"jsonrpc": "2.0", "id": body["id"], "result": value}
    )


BROKEN: dict[str, Callable[..., None]] = {
    "the connection is dropped": _drop,
    "the answer is cut": _cut,
    "no JSON": _with(b"<html>Bad gateway</html>"),
    "another content type": _with(b"hello", "text/html"),
    "internal server error": _with(b"oops", "text/plain", 500),
    "bad gateway": _with(b"oops", "text/plain", 502),
    "gone": _with(b"oops", "text/plain", 410),
    "accepted, and nothing more": _with(b"", "text/plain", 202),
    "a stream that ends": _with(b": nothing\n\n", "text/event-stream"),
    "a redirection": _redirect,
    "a result that is none": _result({"content": "paid", "resultType": "complete"}),
    "a result without content": _result({}),
    "a list": _with(b"[]"),
}


@pytest.fixture
def wires() -> Iterator[list[Wire]]:
    made: list[Wire] = []
    yield made
    for wire in made:
        wire.close()


def over_http(wire: Wire, **options: Any) -> McpClient:
    return McpClient(wire.url, name="shop", options={"mode": "2026-07-28"}, **options)


@pytest.mark.parametrize("broken", BROKEN)
def test_a_reply_that_proves_nothing_leaves_a_write_uncertain(
    broken: str, wires: list[Wire]
) -> None:
    wires.append(wire := Wire(BROKEN[broken]))
    with over_http(wire, late_seconds=5) as client:
        result = dispatch(client)
    assert (result.outcome, wire.calls) == ("uncertain", 1)


def test_no_answer_is_uncertain_too(wires: list[Wire]) -> None:
    go_on = threading.Event()
    wires.append(wire := Wire(lambda handler, body: go_on.wait(20) and None))
    with over_http(wire, late_seconds=0.3) as client:
        result = dispatch(client)
        go_on.set()
    assert (result.outcome, wire.calls) == ("uncertain", 1)


def test_headers_that_a_server_calls_stale_do_not_make_the_call_be_sent_again(
    wires: list[Wire],
) -> None:
    # The SDK's Client.call_tool lists the tools again here and resends the call.
    def stale(handler: Any, body: Any) -> None:
        error = {"code": -32020, "message": "header mismatch"}
        Wire.answer(handler, {"jsonrpc": "2.0", "id": body["id"], "error": error}, status=400)

    wires.append(wire := Wire(stale))
    with over_http(wire) as client:
        result = dispatch(client)
    assert (result.outcome, wire.calls, wire.lists) == ("failed", 1, 1)


def test_a_good_answer_over_the_same_wire_completes(wires: list[Wire]) -> None:
    content = [{"type": "text", "text": "paid"}]
    wires.append(wire := Wire(_result({"content": content, "resultType": "complete"})))
    with over_http(wire) as client:
        assert dispatch(client).value == "paid"
    assert wire.calls == 1


def test_a_server_that_is_not_there_is_named() -> None:
    with (
        pytest.raises(McpError, match="shop cannot be reached"),
        McpClient(StdioServerParameters(command=sys.executable, args=["-c", "pass"]), name="shop"),
    ):
        pytest.fail("it was opened")
    with pytest.raises(McpError, match="shop"), McpClient("http://127.0.0.1:9/mcp", name="shop"):
        pytest.fail("it was opened")


def test_a_server_that_does_not_answer_is_given_up() -> None:
    silent = StdioServerParameters(
        command=sys.executable, args=["-c", "import sys\nfor line in sys.stdin: pass"]
    )
    with (
        pytest.raises(McpError, match="cannot be reached"),
        McpClient(silent, name="shop", connect_seconds=0.5),
    ):
        pytest.fail("it was opened")


def test_a_closed_client_calls_nothing() -> None:
    shop = Shop(answer=text("paid"))
    client = McpClient(shop.server(), name="shop")
    with pytest.raises(McpError, match="is over"):
        client.refresh()
    with client:
        dispatcher = Dispatcher(client.toolset(["pay"]))
    result = dispatcher.dispatch(ToolCall("pay", {"cents": 5}))
    assert (result.outcome, result.boundary) == ("rejected", "precondition")
    assert "closed" in str(result.errors[0])
    assert shop.calls == []
    with pytest.raises(McpError):
        client.__enter__()


def test_an_event_loop_may_open_it() -> None:
    shop = Shop(answer=text("paid"))

    async def use() -> Any:
        async with McpClient(shop.server()) as client:
            dispatcher = Dispatcher(client.toolset(["pay"]))
            return await dispatcher.dispatch_async(ToolCall("pay", {"cents": 5}))

    assert asyncio.run(use()).ok
