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
from collections.abc import Awaitable, Callable
from decimal import Decimal
from importlib import import_module
from typing import TYPE_CHECKING, Any

from ..errors import GramlockError, MissingDependencyError, ToolDefinitionError
from . import exports
from .canonical import canonical
from .context import Context
from .dispatch import Dispatcher
from .results import REFERENCE
from .tool import Tool
from .toolset import ToolSet

if TYPE_CHECKING:
    from .outcome import ToolResult

__all__ = ["http_app", "mcp_server", "serve_http", "serve_stdio", "to_wire"]

_calls: Any = import_module(".call", __package__)
ContextOf = Callable[[Any], "Context | Awaitable[Context]"]


def mcp_server(
    tools: ToolSet | Dispatcher,
    *,
    name: str = "gramlock",
    version: str = "",
    instructions: str | None = None,
    context: Context | ContextOf | None = None,
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

    Raises:
        ToolDefinitionError: A tool's name that the protocol does not take, or no tools at all.
        MissingDependencyError: mcp is not installed.
    """
    _sdk()
    from mcp.server.lowlevel import Server

    dispatcher = Dispatcher(tools) if isinstance(tools, ToolSet) else tools
    served = _Served(dispatcher, context)
    return Server(
        name,
        version=version,
        instructions=instructions,
        on_list_tools=served.list_tools,
        on_call_tool=served.call_tool,
        on_list_resources=served.list_resources,
        on_read_resource=served.read_resource,
    )


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
    return server.streamable_http_app(host=host, streamable_http_path=path, **options)


def serve_stdio(server: Any) -> None:
    """Serves one client over standard input and output until it leaves.

    What handlers print goes to standard error, not between the protocol's messages.
    """
    import anyio
    from mcp.server.stdio import stdio_server

    async def serve() -> None:
        async with stdio_server() as (reads, writes):
            await server.run(reads, writes, server.create_initialization_options())

    anyio.run(serve)


def serve_http(
    server: Any, *, host: str = "127.0.0.1", port: int = 8000, path: str = "/mcp", **options: Any
) -> None:
    """Serves by streamable HTTP until interrupted; see :func:`http_app`."""
    import uvicorn

    uvicorn.run(http_app(server, host=host, path=path, **options), host=host, port=port)


def output_schema(tool: Tool, version: str) -> dict[str, Any] | None:
    """The result's schema as a revision of the protocol can show it.

    Revisions before 2026-07-28 have structured results that are objects, only.
    """
    if not isinstance(tool.result, dict):
        return None
    if tool.result.get("type") == "object" or _any_value(version):
        return tool.result
    return None


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

    def __init__(self, dispatcher: Dispatcher, context: Context | ContextOf | None) -> None:
        exports.mcp(dispatcher.tools)  # its names
        if not len(dispatcher.tools):
            raise ToolDefinitionError("a server needs at least one tool")
        if not (context is None or isinstance(context, Context) or callable(context)):
            raise ToolDefinitionError("context must be a Context or a function that makes one")
        self._dispatcher, self._context = dispatcher, context

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
        call = _calls.ToolCall(params.name, arguments, id=str(request.request_id))
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
        if isinstance(self._context, Context):
            return self._context
        if self._context is None:
            return Context(principal=_principal())
        made = self._context(request)
        return await made if inspect.isawaitable(made) else made

    def _answer(self, tool: Tool, result: ToolResult, version: str, context: Context) -> Any:
        """A result of the protocol."""
        import mcp_types as types

        schema = output_schema(tool, version)
        told = result.to_message("mcp")
        failed = bool(told["isError"])
        structured: dict[str, Any] = {}
        if result.ok:
            value = result.value
            if result.stored is not None and schema is not None and self._dispatcher.results:
                value = self._dispatcher.results.get(result.stored.id, principal=context.principal)
            whole = result.stored is None or schema is not None
            if whole and (isinstance(value, dict) or _any_value(version)):
                structured = {"structured_content": to_wire(value)}
        elif schema is not None:
            failed = True  # a result without isError would have to satisfy the schema
        meta: dict[str, Any] = {exports.MCP_OUTCOME: result.outcome}
        if result.reference is not None:
            meta[exports.MCP_REFERENCE] = result.reference
        content: list[Any] = [types.TextContent(type="text", text=told["content"][0]["text"])]
        return types.CallToolResult(content=content, is_error=failed, _meta=meta, **structured)


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
