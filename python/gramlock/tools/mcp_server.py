"""Serves a :class:`ToolSet` by the Model Context Protocol, through a dispatcher.

Every ``tools/call`` passes the same boundaries as a call of a model: schema, domain, permission,
ledger, approval, preconditions. What a client sees of it:

=====================================  ==========================================================
a tool's outcome                       is
=====================================  ==========================================================
``completed``, ``accepted``            a result
``rejected``, ``failed``,              a result with ``isError``, so that the model sees it and
``invalid_result``, ``uncertain``      can act on it
no such tool                           the protocol's error -32602, which lists the names
=====================================  ==========================================================

Each result says its outcome in ``_meta`` under ``gramlock/outcome``, since ``isError`` alone does
not tell "nothing happened" from "nobody knows". Texts of exceptions never reach a client.

Who calls is never read from the arguments: *context* makes the trusted context from the request
(its access token, its connection); by default the principal is the token's.

Needs the extra ``mcp`` (the official SDK, 2.x). The server's coroutines belong to one event loop;
synchronous handlers run in the dispatcher's threads. Source: modelcontextprotocol.io, revision
2026-07-28, "Tools". Tested by ``tests/test_tools_mcp.py``.
"""

from __future__ import annotations

import inspect
import os
from collections.abc import Awaitable, Callable
from dataclasses import replace
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from ..errors import GramlockError, MissingDependencyError, ToolDefinitionError
from . import exports
from .call import ToolCall
from .canonical import canonical
from .context import Context
from .dispatch import Dispatcher
from .mcp_wire import MAX_BODY, REFUSED, StrictBodies, StrictLines, refuse
from .results import REFERENCE
from .tool import Tool
from .toolset import ToolSet

if TYPE_CHECKING:
    from .outcome import ToolResult

__all__ = ["http_app", "mcp_server", "serve_http", "serve_stdio", "to_wire"]

ContextOf = Callable[[Any], "Context | Awaitable[Context]"]


def mcp_server(
    tools: ToolSet | Dispatcher,
    *,
    name: str = "gramlock",
    version: str = "",
    instructions: str | None = None,
    context: Context | ContextOf | None = None,
    operation_ids: bool = False,
) -> Any:
    """A server of the SDK (``mcp.server.lowlevel.Server``) with these tools.

    Args:
        tools: What to serve: a dispatcher with its ledger, approvals and results, or tools alone,
            which get a dispatcher without any.
        name: What the server calls itself.
        version: Of the server.
        instructions: Told to clients.
        context: The trusted context of every call, or a function of the SDK's request context that
            makes it (may be a coroutine function). If it raises, nothing is executed.
        operation_ids: Take the operation id of a context that has none from the request's ``_meta``
            (``gramlock/operation_id``), which the client's application writes, not its model. With
            a ledger, a client that does not know what became of a write may then ask again, and
            gets the recorded outcome. Ids are scoped to the principal; without authentication all
            clients are one.

    Raises:
        ToolDefinitionError: A tool's name that the protocol does not take, or no tools at all.
        MissingDependencyError: mcp is not installed.
    """
    _sdk()
    from mcp.server.lowlevel import Server

    dispatcher = Dispatcher(tools) if isinstance(tools, ToolSet) else tools
    import mcp_types as types

    served = _Served(dispatcher, context, operation_ids)
    server = Server(
        name,
        version=version,
        instructions=instructions,
        on_list_tools=served.list_tools,
        on_call_tool=served.call_tool,
        on_list_resources=served.list_resources,
        on_read_resource=served.read_resource,
    )
    server.add_request_handler(REFUSED, types.RequestParams, refuse)
    return server


def http_app(server: Any, *, host: str = "127.0.0.1", path: str = "/mcp", **options: Any) -> Any:
    """The ASGI application (Starlette) that serves by streamable HTTP.

    Args:
        server: From :func:`mcp_server`.
        host: Where it will be reached. On loopback, requests that name another host or come from
            another origin are refused (DNS rebinding).
        path: Of its one endpoint.
        **options: As the SDK's ``Server.streamable_http_app`` takes them: ``auth``,
            ``token_verifier``, ``json_response``, ``stateless_http`` ...
    """
    app = server.streamable_http_app(host=host, streamable_http_path=path, **options)
    app.add_middleware(StrictBodies, max_body=options.get("max_request_body_size", MAX_BODY))
    return app


def serve_stdio(server: Any) -> None:
    """Serves one client over standard input and output until it leaves.

    What handlers print goes to standard error, not between the protocol's messages.
    """
    import anyio
    from mcp.server.stdio import stdio_server

    # The SDK keeps handlers from reading its input only where it opens that itself.
    wire, nothing = os.dup(0), os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)

    async def serve(file: Any) -> None:
        lines = StrictLines(anyio.wrap_file(file))
        async with stdio_server(stdin=lines) as (reads, writes):
            await server.run(reads, writes, server.create_initialization_options())

    try:
        with os.fdopen(os.dup(wire), encoding="utf-8", errors="replace") as file:
            anyio.run(serve, file)
    finally:
        os.dup2(wire, 0)
        os.close(wire)


def serve_http(
    server: Any, *, host: str = "127.0.0.1", port: int = 8000, path: str = "/mcp", **options: Any
) -> None:
    """Serves by streamable HTTP until interrupted; see :func:`http_app`."""
    import uvicorn

    uvicorn.run(http_app(server, host=host, path=path, **options), host=host, port=port)


def output_schema(tool: Tool, version: str) -> dict[str, Any] | None:
    """The result's schema as a revision of the protocol can show it.

    Revisions before 2026-07-28 have structured results that are objects, only; and the SDK leaves
    out a result that is null, so that a schema which allows null cannot be promised.
    """
    if not isinstance(tool.result, dict):
        return None
    if tool.result.get("type") == "object":
        return tool.result
    if not _any_value(version):
        return None
    try:
        validator = tool.result_validator
    except GramlockError:  # no result will satisfy it
        return None
    return tool.result if validator is not None and validator.validate(None) else None


def to_wire(value: Any) -> Any:
    """JSON data as the SDK can write it: a ``Decimal``, which it would write as text, becomes an
    integer or the nearest double."""
    if isinstance(value, dict):
        return {name: to_wire(member) for name, member in value.items()}
    if isinstance(value, list):
        return [to_wire(item) for item in value]
    if not isinstance(value, Decimal):
        return value
    whole = value == value.to_integral_value() and value.adjusted() < 400
    return int(value) if whole else float(value)


class _Served:
    """The handlers of one server."""

    def __init__(
        self, dispatcher: Dispatcher, context: Context | ContextOf | None, operation_ids: bool
    ) -> None:
        exports.mcp(dispatcher.tools)  # its names
        if not len(dispatcher.tools):
            raise ToolDefinitionError("a server needs at least one tool")
        if not (context is None or isinstance(context, Context) or callable(context)):
            raise ToolDefinitionError("context must be a Context or a function that makes one")
        self._dispatcher, self._context = dispatcher, context
        self._operation_ids = operation_ids

    async def list_tools(self, request: Any, params: Any) -> Any:
        """All tools on one page."""
        import mcp_types as types

        listed = []
        for tool, shown in zip(
            self._dispatcher.tools, exports.mcp(self._dispatcher.tools), strict=True
        ):
            schema = output_schema(tool, request.protocol_version)
            shown = {key: part for key, part in shown.items() if key != "outputSchema"}
            if schema is not None:
                shown["outputSchema"] = schema
            listed.append(types.Tool.model_validate(shown))
        return types.ListToolsResult(tools=listed)

    async def call_tool(self, request: Any, params: Any) -> Any:
        """Dispatches one call; only a name that does not exist is an error of the protocol."""
        from mcp import MCPError

        tool = self._dispatcher.tools.get(params.name)
        if tool is None:
            names = ", ".join(self._dispatcher.tools.names)
            raise MCPError(-32602, f"Unknown tool; there are: {names}")
        context = await self._trusted(request)
        arguments = {} if params.arguments is None else params.arguments
        call = ToolCall(params.name, arguments, id=str(request.request_id))
        result = await self._dispatcher.dispatch_async(call, context)
        return self._answer(tool, result, request.protocol_version, context)

    async def list_resources(self, request: Any, params: Any) -> Any:
        """None: stored results are read by the reference that a result gave."""
        import mcp_types as types

        return types.ListResourcesResult(resources=[])

    async def read_resource(self, request: Any, params: Any) -> Any:
        """A stored result, for the principal that it belongs to."""
        import mcp_types as types
        from mcp import MCPError

        uri, store = str(params.uri), self._dispatcher.results
        context = await self._trusted(request)
        if store is None or not uri.startswith(REFERENCE):
            raise MCPError(-32602, "No such resource")
        try:
            value = store.get(uri, principal=context.principal)
        except GramlockError:
            raise MCPError(-32602, "No such resource") from None
        text = canonical(value).decode()
        content = types.TextResourceContents(uri=uri, mime_type="application/json", text=text)
        return types.ReadResourceResult(contents=[content])

    async def _trusted(self, request: Any) -> Context:
        made: Any = self._context
        if made is None:
            made = Context(principal=_principal())
        elif not isinstance(made, Context):
            made = made(request)
            made = await made if inspect.isawaitable(made) else made
        named = (request.meta or {}).get(exports.MCP_OPERATION)
        if not self._operation_ids or made.operation_id is not None or named is None:
            return made  # type: ignore[no-any-return]
        if not isinstance(named, str) or not 0 < len(named) <= 200:
            from mcp import MCPError

            raise MCPError(-32602, f"{exports.MCP_OPERATION} must be 1 to 200 characters")
        trusted: Context = replace(made, operation_id=named)
        return trusted

    def _answer(self, tool: Tool, result: ToolResult, version: str, context: Context) -> Any:
        """A result of the protocol."""
        import mcp_types as types

        schema = output_schema(tool, version)
        told = result.to_message("mcp")
        failed = bool(told["isError"])
        structured: dict[str, Any] = {}
        if result.ok:
            value = self._whole(result, context) if schema is not None else result.value
            if value is not None and (isinstance(value, dict) or _any_value(version)):
                structured = {"structured_content": to_wire(value)}
        if schema is not None and not structured:
            failed = True  # a result without isError would have to satisfy the schema
        meta: dict[str, Any] = {exports.MCP_OUTCOME: result.outcome}
        if result.reference is not None:
            meta[exports.MCP_REFERENCE] = result.reference
        content: list[Any] = [types.TextContent(type="text", text=told["content"][0]["text"])]
        return types.CallToolResult(content=content, is_error=failed, _meta=meta, **structured)

    def _whole(self, result: ToolResult, context: Context) -> Any:
        """The value, from the store if need be; None where that has lost it."""
        if result.stored is None:
            return result.value
        try:
            return self._dispatcher.results.get(result.stored.id, principal=context.principal)
        except GramlockError:
            return None


def _any_value(version: str) -> bool:
    """Whether a revision has structured results other than objects."""
    from mcp_types.version import MODERN_PROTOCOL_VERSIONS

    return version in MODERN_PROTOCOL_VERSIONS


def _principal() -> str | None:
    """Whom the access token of this request stands for."""
    from mcp.server.auth.middleware.auth_context import get_access_token

    token = get_access_token()
    if token is None:
        return None
    # A subject is unique only with its issuer, and a client is not a person: say which is meant.
    issuer = (token.claims or {}).get("iss", "")
    if token.subject is not None:
        return f"subject:{issuer}:{token.subject}"
    return f"client:{issuer}:{token.client_id}"


def _sdk() -> None:
    try:
        from mcp.server.lowlevel import Server
    except ImportError:
        raise MissingDependencyError("mcp", "mcp") from None
    if not hasattr(Server, "streamable_http_app"):
        raise MissingDependencyError("mcp>=2", "mcp")
