"""Serving tools by MCP: the SDK's own client against the server, over both transports."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import anyio
import anyio.to_thread
import pytest

from gramlock.errors import ResultStoreError, ToolDefinitionError
from gramlock.tools import (
    Context,
    Dispatcher,
    Ledger,
    ResultStore,
    Tool,
    ToolCall,
    ToolLimits,
    ToolSet,
    approve,
)

mcp = pytest.importorskip("mcp")
for package in ("jsonschema", "regress", "sqlalchemy", "typer", "uvicorn"):
    pytest.importorskip(package)

from mcp.client.stdio import StdioServerParameters, stdio_client  # noqa: E402

import served_tools  # noqa: E402
from gramlock.tools.mcp_server import http_app, mcp_server, to_wire  # noqa: E402

HERE = Path(__file__).parent
MODES = ["auto", "legacy"]


def stdio_parameters(effects: Path, *more: str, module: str = "served_tools:TOOLS") -> Any:
    path = os.pathsep.join([str(HERE), *sys.path])
    return StdioServerParameters(
        command=sys.executable,
        args=["-m", "gramlock.cli", "tools", "serve", module, "--stdio", *more],
        env={"SERVED_EFFECTS": str(effects), "PYTHONPATH": path, "PATH": os.environ["PATH"]},
    )


class HttpServer:
    """The server in a thread of this process, on a port of the loopback interface."""

    def __init__(self, app: Any, port: int = 0) -> None:
        import uvicorn

        self.server = uvicorn.Server(uvicorn.Config(app, port=port, log_level="critical"))
        self.thread = threading.Thread(target=self.server.run, daemon=True)
        self.thread.start()
        deadline = time.monotonic() + 20
        while not self.server.started:
            assert time.monotonic() < deadline
            time.sleep(0.01)
        self.port = self.server.servers[0].sockets[0].getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}/mcp"

    def stop(self) -> None:
        self.server.should_exit = self.server.force_exit = True
        self.thread.join(10)


@pytest.fixture
def effects(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "effects"
    path.touch()
    monkeypatch.setenv("SERVED_EFFECTS", str(path))
    return path


@pytest.fixture
def url(effects: Path) -> Iterator[str]:
    server = HttpServer(http_app(mcp_server(served_tools.TOOLS)))
    yield server.url
    server.stop()


def run(client: Any, use: Callable[[Any], Awaitable[Any]]) -> Any:
    async def session() -> Any:
        with anyio.fail_after(120):
            async with client as connected:
                return await use(connected)

    return anyio.run(session)


def said_text(result: Any) -> str:
    (block,) = result.content
    return str(block.text)


def said(result: Any) -> Any:
    return json.loads(said_text(result))


# One scenario a function: each is run over both transports, with the effects that it left behind.


async def lists_and_calls(client: Any, effects: Path, modern: bool) -> None:
    listed = {tool.name: tool for tool in (await client.list_tools()).tools}
    assert list(listed) == list(served_tools.TOOLS.names)
    tool = listed["issue_refund"]
    assert tool.input_schema == served_tools.REFUND
    assert tool.output_schema == served_tools.RECEIPT
    assert tool.annotations.read_only_hint is False
    assert listed["say"].annotations.read_only_hint is True
    good = await client.call_tool("issue_refund", {"order_id": "A-1", "amount_cents": 5})
    assert (good.is_error, good.structured_content) == (False, {"refund": "r-A-1"})
    assert good.meta["gramlock/outcome"] == "completed"
    assert said(good) == {"refund": "r-A-1"}
    assert effects.read_text() == "A-1 5\n"


async def what_a_model_can_act_on_is_a_result(client: Any, effects: Path, modern: bool) -> None:
    bad = await client.call_tool("issue_refund", {"order_id": "A-1", "amount_cents": "5"})
    assert bad.is_error
    assert bad.meta["gramlock/outcome"] == "rejected"
    assert said(bad)["boundary"] == "schema"
    assert said(bad)["errors"] == ["$.amount_cents: expected integer, got string"]
    no = await client.call_tool("issue_refund", {"order_id": "A-0", "amount_cents": 5})
    assert no.is_error
    assert no.meta["gramlock/outcome"] == "failed"
    assert said(no)["message"] == "order A-0 is refunded already"
    guarded = await client.call_tool("guarded", {"text": "now"})
    assert (guarded.is_error, said(guarded)["boundary"]) == (True, "approval")
    assert effects.read_text() == ""


async def no_such_tool_is_an_error_of_the_protocol(
    client: Any, effects: Path, modern: bool
) -> None:
    for name in ("refund", "Issue_Refund", " issue_refund"):
        with pytest.raises(mcp.MCPError) as caught:
            await client.call_tool(name, {})
        assert caught.value.code == -32602
        assert "there are: issue_refund, say" in caught.value.message
    assert effects.read_text() == ""


async def an_effect_whose_end_is_unknown_is_told_apart(
    client: Any, effects: Path, modern: bool
) -> None:
    for order, outcome in (("A-9", "uncertain"), ("A-8", "invalid_result")):
        answer = await client.call_tool("issue_refund", {"order_id": order, "amount_cents": 1})
        assert answer.is_error
        assert answer.meta["gramlock/outcome"] == outcome
        assert "hunter2" not in answer.model_dump_json()
    assert effects.read_text() == "A-9 1\nA-8 1\n"
    late = await client.call_tool("wait", {"text": "late"})
    assert (late.is_error, late.meta["gramlock/outcome"]) == (True, "uncertain")
    with anyio.fail_after(10):  # the effect that nobody can promise away
        while not effects.read_text().endswith("late\n"):
            await anyio.sleep(0.05)


async def what_handlers_print_is_kept_off_the_wire(
    client: Any, effects: Path, modern: bool
) -> None:
    answer = await client.call_tool("say", {"text": "hello"})
    assert said_text(answer) == '"HELLO"'
    assert answer.structured_content == ("HELLO" if modern else None)


async def results_that_are_no_objects_are_shown_as_the_revision_allows(
    client: Any, effects: Path, modern: bool
) -> None:
    listed = {tool.name: tool for tool in (await client.list_tools()).tools}
    answer = await client.call_tool("odd", {"text": "four"})
    assert said(answer) == [4, 2**70]
    assert not answer.is_error
    assert listed["odd"].output_schema == ({"type": "array"} if modern else None)
    assert answer.structured_content == ([4, 2**70] if modern else None)


async def a_large_result_is_referenced_and_can_be_read(
    client: Any, effects: Path, modern: bool
) -> None:
    answer = await client.call_tool("big", {"text": "ab"})
    reference = said(answer)["stored"]["reference"]
    whole = json.loads((await client.read_resource(reference)).contents[0].text)
    assert whole == {"text": "ab" * 1000}
    assert answer.structured_content == whole  # its schema promises the whole
    assert len(answer.content[0].text) < 5000
    for other in (reference[:-1] + "g", "file:///etc/passwd"):
        with pytest.raises(mcp.MCPError, match="No such resource"):
            await client.read_resource(other)


# Values of amount_cents that the SDK's own parser would take, or take for something else.
UNREADABLE = [
    "NaN",
    "Infinity",
    "1e400",
    "5.00000000000000000001",
    '5, "amount_cents": 900',
    '5, "\\u0061mount_cents": 900',
]

SCENARIOS = [
    lists_and_calls,
    what_a_model_can_act_on_is_a_result,
    no_such_tool_is_an_error_of_the_protocol,
    an_effect_whose_end_is_unknown_is_told_apart,
    what_handlers_print_is_kept_off_the_wire,
    results_that_are_no_objects_are_shown_as_the_revision_allows,
    a_large_result_is_referenced_and_can_be_read,
]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("scenario", SCENARIOS)
def test_over_http(url: str, effects: Path, scenario: Any, mode: str) -> None:
    run(mcp.Client(url, mode=mode), lambda client: scenario(client, effects, mode == "auto"))


@pytest.mark.parametrize("mode", MODES)
def test_over_stdio(effects: Path, mode: str) -> None:
    transport = stdio_client(stdio_parameters(effects), errlog=sys.__stderr__)

    async def use(client: Any) -> None:  # one process: starting one takes seconds
        for scenario in SCENARIOS:
            effects.write_text("")
            await scenario(client, effects, mode == "auto")

    run(mcp.Client(transport, mode=mode), use)


def test_arguments_that_no_json_has_run_nothing(url: str, effects: Path) -> None:
    import httpx

    body = (
        '{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "issue_refund",'
        '"arguments": {"order_id": "A-1", "amount_cents": %s}, "_meta": {'
        '"io.modelcontextprotocol/protocolVersion": "2026-07-28",'
        '"io.modelcontextprotocol/clientInfo": {"name": "t", "version": "1"},'
        '"io.modelcontextprotocol/clientCapabilities": {}}}}'
    )
    headers = {
        "accept": "application/json, text/event-stream",
        "content-type": "application/json",
        "mcp-protocol-version": "2026-07-28",
        "mcp-method": "tools/call",
        "mcp-name": "issue_refund",
    }
    for number in (*UNREADABLE, "[" * 100_000, "1" * 100_000):
        answer = httpx.post(url, content=body % number, headers=headers, timeout=30)
        assert (answer.status_code, answer.json()["error"]["code"]) == (400, -32700)
    huge = httpx.post(url, content=b" " * (5 << 20), headers=headers, timeout=30)
    assert huge.status_code == 413
    assert effects.read_text() == ""
    answer = httpx.post(url, content=body % "7", headers=headers, timeout=30)
    assert '"gramlock/outcome":"completed"' in answer.text.replace(" ", "")
    assert effects.read_text() == "A-1 7\n"


def test_lines_that_no_json_has_run_nothing(effects: Path) -> None:
    parameters = stdio_parameters(effects)
    server = subprocess.Popen(
        [parameters.command, *parameters.args],
        env=parameters.env,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    assert server.stdin is not None
    assert server.stdout is not None
    first = {"protocolVersion": "2025-11-25", "capabilities": {}}
    first["clientInfo"] = {"name": "t", "version": "1"}

    def send(identity: Any, method: str, params: str) -> Any:
        line = f'{{"jsonrpc": "2.0", "id": {json.dumps(identity)}, "method": "{method}", '
        server.stdin.write(line + f'"params": {params}}}\n')  # type: ignore[union-attr]
        server.stdin.flush()  # type: ignore[union-attr]
        answer = json.loads(server.stdout.readline())  # type: ignore[union-attr]
        assert answer["id"] == identity
        return answer

    try:
        send(0, "initialize", json.dumps(first))
        server.stdin.write('{"jsonrpc": "2.0", "method": "notifications/initialized"}\n')
        server.stdin.write("neither JSON nor of an id\n[1, 2]\n{}\n")
        call = '{"name": "issue_refund", "arguments": {"order_id": "A-1", "amount_cents": %s}}'
        for number in UNREADABLE:
            assert send(number, "tools/call", call % number)["error"]["code"] == -32700
        assert effects.read_text() == ""
        assert not send("last", "tools/call", call % 7)["result"]["isError"]
        assert effects.read_text() == "A-1 7\n"
    finally:
        server.stdin.close()
        server.wait(20)
        server.stdout.close()


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("asynchronous", [True, False])
def test_a_write_whose_client_leaves_is_on_record(
    tmp_path: Path, mode: str, asynchronous: bool
) -> None:
    began, go_on = threading.Event(), threading.Event()

    async def slow(text: str) -> str:
        began.set()
        await anyio.sleep(20)
        return text

    def blocking(text: str) -> str:
        began.set()
        go_on.wait(20)
        return text

    async def leave(client: Any) -> None:
        async with anyio.create_task_group() as group:
            group.start_soon(client.call_tool, "echo", {"text": "x"})
            await anyio.to_thread.run_sync(began.wait, 20)
            group.cancel_scope.cancel()

    with Ledger(str(tmp_path / "ledger.db")) as ledger:
        tool = echo(handler=slow if asynchronous else blocking)
        server = HttpServer(http_app(mcp_server(Dispatcher([tool], ledger=ledger))))
        try:
            run(mcp.Client(server.url, mode=mode), leave)
            deadline = time.monotonic() + 20
            while not (entries := ledger.unresolved()) and time.monotonic() < deadline:
                time.sleep(0.05)
        finally:
            go_on.set()
            server.stop()
    assert [entry.state for entry in entries] == ["uncertain"]


def test_another_site_cannot_call_the_loopback_server(url: str, effects: Path) -> None:
    import httpx

    for headers in ({"origin": "https://evil.example"}, {"host": "evil.example"}):
        answer = httpx.post(
            url, json={"jsonrpc": "2.0", "id": 1, "method": "ping"}, headers=headers
        )
        assert answer.status_code in (403, 421)


# ------------------------------------------------------------------------------- in one process


def local(tools: Any, use: Callable[[Any], Awaitable[Any]], **options: Any) -> Any:
    return run(mcp.Client(mcp_server(tools, **options)), use)


def echo(**options: Any) -> Tool:
    schema = {"type": "object", "properties": {"text": {"type": "string"}}}
    given = {"description": "Echo.", "parameters": schema, "handler": lambda text: text}
    return Tool(**{"name": "echo", **given, **options})


def test_the_context_comes_from_the_application() -> None:
    seen: list[Any] = []
    tool = echo(permission=lambda arguments, context: seen.append(context.principal) or True)

    async def use(client: Any) -> Any:
        return await client.call_tool("echo", {"text": "x"})

    async def made(request: Any) -> Context:
        assert request.request_id is not None
        return Context(principal="ann")

    local(ToolSet([tool]), use)
    local(ToolSet([tool]), use, context=Context(principal="bob"))
    local(ToolSet([tool]), use, context=made)
    local(ToolSet([tool]), use, context=lambda request: Context(principal="eve"))
    assert set(seen) == {None, "bob", "ann", "eve"}
    with pytest.raises(ToolDefinitionError, match="context"):
        mcp_server(ToolSet([tool]), context="ann")  # type: ignore[arg-type]


def test_a_context_that_cannot_be_made_runs_nothing() -> None:
    ran: list[str] = []

    def broken(request: Any) -> Context:
        raise KeyError("password=hunter2")

    async def use(client: Any) -> None:
        with pytest.raises(mcp.MCPError) as caught:
            await client.call_tool("echo", {"text": "x"})
        assert caught.value.code == -32603
        assert "hunter2" not in caught.value.message

    local(ToolSet([echo(handler=ran.append)]), use, context=broken)
    assert ran == []


def test_an_approval_of_the_dispatcher_serves_one_call() -> None:
    dispatcher = Dispatcher(ToolSet([echo(approval="required")]))
    approve(
        ToolCall("echo", {"text": "x"}),
        dispatcher.tools["echo"],
        Context(principal="ann"),
        approver="boss",
        store=dispatcher.approvals,
    )

    async def use(client: Any) -> list[str]:
        answers = [await client.call_tool("echo", {"text": text}) for text in ("y", "x", "x")]
        return [answer.meta["gramlock/outcome"] for answer in answers]

    outcomes = local(dispatcher, use, context=Context(principal="ann"))
    assert outcomes == ["rejected", "completed", "rejected"]


def test_a_server_has_tools_whose_names_the_protocol_takes() -> None:
    with pytest.raises(ToolDefinitionError, match="at least one"):
        mcp_server(ToolSet())
    with pytest.raises(ToolDefinitionError, match="a:b"):
        mcp_server(ToolSet([echo(name="a:b")]))


@pytest.mark.parametrize(
    "result, value, shown",
    [
        ({"type": "null"}, None, False),
        ({"type": ["string", "null"]}, "x", False),
        ({"type": "string"}, "x", True),
        ({"type": "strnig"}, "x", False),
        (True, "x", False),
    ],
)
def test_a_schema_is_promised_only_where_every_result_can_be_shown(
    result: Any, value: Any, shown: bool
) -> None:
    async def use(client: Any) -> Any:
        (tool,) = (await client.list_tools()).tools
        answer = await client.call_tool("echo", {"text": "x"})
        return tool.output_schema, answer.meta["gramlock/outcome"], answer

    schema, outcome, answer = local(ToolSet([echo(handler=lambda text: value, result=result)]), use)
    assert schema == (result if shown else None)
    assert outcome == ("rejected" if result == {"type": "strnig"} else "completed")
    assert answer.is_error is (outcome != "completed")


def test_a_stored_result_that_is_gone_is_no_success_without_it() -> None:
    class Forgetful(ResultStore):
        def get(self, result_id: str, *, principal: str | None = None) -> Any:
            raise ResultStoreError("gone")

    schema = {"type": "object", "required": ["text"]}
    tool = echo(
        handler=lambda text: {"text": text * 1000},
        result=schema,
        limits=ToolLimits(result_bytes=100),
    )

    async def use(client: Any) -> Any:
        return await client.call_tool("echo", {"text": "x"})

    answer = local(Dispatcher(ToolSet([tool]), results=Forgetful()), use)
    assert (answer.is_error, answer.meta["gramlock/outcome"]) == (True, "completed")


def test_numbers_are_sent_as_numbers() -> None:
    from decimal import Decimal

    value = {"a": [Decimal("1E2"), Decimal("0.1")], "b": Decimal("1e500"), "c": True}
    sent = to_wire(value)
    assert sent == {"a": [100, 0.1], "b": float("inf"), "c": True}
    assert type(sent["a"][0]) is int


# ------------------------------------------------------------------------------- command line


def command(*arguments: str, timeout: float = 60) -> subprocess.CompletedProcess[str]:
    path = os.pathsep.join([str(HERE), *sys.path])
    return subprocess.run(
        [sys.executable, "-m", "gramlock.cli", "tools", *arguments],
        capture_output=True,
        text=True,
        timeout=timeout,
        env={**os.environ, "PYTHONPATH": path},
        check=False,
    )


@pytest.mark.parametrize(
    "arguments, message",
    [
        (["served_tools:TOOLS"], "either --stdio or --http"),
        (["served_tools:TOOLS", "--stdio", "--http", "127.0.0.1:0"], "either --stdio or --http"),
        (["served_tools:TOOLS", "--http", "8000"], "expected HOST:PORT"),
        (["served_tools:TOOLS", "--http", "localhost:99999"], "expected HOST:PORT"),
        (["served_tools", "--stdio"], "expected MODULE:NAME"),
        (["no_such_module:TOOLS", "--stdio"], "no_such_module"),
        (["served_tools:HERE", "--stdio"], "HERE"),
        (["served_tools:REFUND", "--stdio"], "ToolSet holds Tools"),
    ],
)
def test_wrong_usage_is_named(arguments: list[str], message: str) -> None:
    done = command("serve", *arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert message in done.stderr
    assert "Traceback" not in done.stderr


def test_tools_are_checked() -> None:
    done = command("check", "served_tools:TOOLS", "--json")
    assert done.returncode == 0
    reports = json.loads(done.stdout)["tools"]
    assert [report["name"] for report in reports] == list(served_tools.TOOLS.names)
    assert all(report["usable"] for report in reports)
    assert "issue_refund: ok" in command("check", "served_tools:TOOLS").stdout


def test_the_command_serves_by_http_with_a_ledger(effects: Path, tmp_path: Path) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    path = os.pathsep.join([str(HERE), *sys.path])
    arguments = ["serve", "served_tools:TOOLS", "--http", f"127.0.0.1:{port}"]
    server = subprocess.Popen(
        [
            sys.executable,
            "-m",
            "gramlock.cli",
            "tools",
            *arguments,
            "--ledger",
            str(tmp_path / "l"),
        ],
        env={**os.environ, "PYTHONPATH": path},
        stderr=subprocess.DEVNULL,
    )
    try:
        deadline = time.monotonic() + 60
        while True:
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", port)) == 0:
                    break
            assert server.poll() is None
            assert time.monotonic() < deadline
            time.sleep(0.1)

        async def use(client: Any) -> list[str]:
            call = ("issue_refund", {"order_id": "A-1", "amount_cents": 5})
            answers = [await client.call_tool(*call) for _ in range(2)]
            return [answer.meta["gramlock/outcome"] for answer in answers]

        outcomes = run(mcp.Client(f"http://127.0.0.1:{port}/mcp"), use)
    finally:
        server.terminate()
        server.wait(20)
    assert outcomes == ["completed", "rejected"]  # the second is a suspected duplicate
    assert effects.read_text() == "A-1 5\n"
