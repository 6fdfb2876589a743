"""Tools of a server of the Model Context Protocol, through the same dispatcher as one's own.

Discovery grants nothing. A server says what it offers; the application says which of it may be
called, with what effect and under which rules::

    with McpClient("https://shop.example/mcp", name="shop") as client:
        tools = client.toolset({"get_order": {"effect": "read"}, "issue_refund": {}})
        Dispatcher(tools, ledger=ledger).dispatch(call)

- *Effect.* ``"write"`` unless the application says otherwise: ``readOnlyHint`` is a claim.
- *Definitions are pinned.* A grant is for the definition as it was then: name, texts, schemas and
  claims, by digest. One that is later served differently, or twice, or not at all, is quarantined:
  its calls are rejected until it is granted anew. Definitions are read again when the server says
  that they changed and when they are older than *max_age*.
- *One request a call.* ``tools/call`` is never sent again: not after a lost connection, nor for an
  input that the server asks for, nor for stale headers (the SDK's own client does the latter two).
- *What is not known is uncertain.* What an answer proves is told in
  :mod:`gramlock.tools.mcp_answers`.

The session lives in a thread of its own, so that tools work from any thread and under any event
loop. A call that outlives its tool's limit is not cancelled: its late answer is evidence. Thread-
safe. Needs the extra ``mcp`` (the official SDK, 2.x). Source: modelcontextprotocol.io, revision
2026-07-28, "Tools"; the SDK's client. Tested by ``tests/test_tools_mcp_client.py``.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Iterable, Mapping
from concurrent.futures import CancelledError, Future
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from ..errors import (
    McpError,
    MissingDependencyError,
    ToolDefinitionError,
    ToolError,
)
from .exports import MCP_OPERATION
from .mcp_answers import McpDefinition, ends_session, proves_refusal, sendable, value_of
from .tool import Tool
from .toolset import ToolSet
from .violation import Violation

__all__ = ["McpClient", "McpDefinition"]

_MAX_PAGES = 100
_MAX_TOOLS = 10_000


@dataclass
class _Grant:
    """What was granted under a name, and why it no longer holds."""

    digest: str
    quarantine: str | None = None


class McpClient:
    """A connection to one server, and the tools of it that were granted.

    Args:
        server: URL of a streamable-HTTP endpoint, the SDK's ``StdioServerParameters`` or transport,
            or, in tests, one of its ``Server`` objects.
        name: What the application calls the server; used in messages.
        prefix: Put before each tool's name, so that two servers' tools do not collide.
        pins: Names to digests, as :meth:`pins` gave them once: a definition that differs is
            quarantined from the start.
        max_age: Seconds after which definitions are read again before a call; 0 for before each
            call, None for only when the server says that they changed.
        connect_seconds: For the handshake and for reading definitions.
        late_seconds: How long an answer is waited for, past all limits of tools.
        operation_ids: Send the context's operation id in ``_meta`` (``gramlock/operation_id``), for
            a receiver that keeps outcomes by it.
        options: For the SDK's ``Client``, such as ``mode`` or ``elicitation_callback``.

    Raises:
        MissingDependencyError: mcp is not installed.
    """

    def __init__(
        self,
        server: Any,
        *,
        name: str = "server",
        prefix: str = "",
        pins: Mapping[str, str] | None = None,
        max_age: float | None = 60.0,
        connect_seconds: float = 30.0,
        late_seconds: float = 300.0,
        operation_ids: bool = False,
        options: Mapping[str, Any] | None = None,
    ) -> None:
        try:
            from mcp import Client
        except ImportError:
            raise MissingDependencyError("mcp>=2", "mcp") from None
        self.name, self._prefix = name, prefix
        self._max_age, self._late_seconds = max_age, late_seconds
        self._connect_seconds = connect_seconds
        self._operation_ids = operation_ids
        self._pins = dict(pins or {})
        self._client = Client(server, message_handler=self._notified, **dict(options or {}))
        self._lock = threading.RLock()
        self._refreshing = threading.Lock()
        self._open = contextlib.ExitStack()
        self._portal: Any = None
        self._closing: Any = None
        self._lost: str | None = "it is not open"
        self._stale, self._read_at = False, 0.0
        self._served: dict[str, McpDefinition] = {}
        self._unusable: dict[str, str] = {}
        self._grants: dict[str, _Grant] = {}

    # ------------------------------------------------------------------------------ connection

    def __enter__(self) -> McpClient:
        """Connects and reads the definitions.

        Raises:
            McpError: The server cannot be reached, or is none.
        """
        import anyio.from_thread

        with contextlib.ExitStack() as stack:
            portal = stack.enter_context(anyio.from_thread.start_blocking_portal("asyncio"))
            ready: Future[Any] = Future()
            session = portal.start_task_soon(self._live, ready)
            stack.callback(self._leave, portal, session)
            try:
                self._closing = ready.result(self._connect_seconds)
            except Exception as error:  # of the transport, of the SDK, or the time is over
                session.cancel()
                raise McpError(f"{self.name} cannot be reached") from error
            with self._lock:
                self._portal, self._lost = portal, None
            self.refresh()
            self._open = stack.pop_all()
        return self

    async def _live(self, ready: Future[Any]) -> None:
        """The session's task: it alone enters and leaves the SDK's client."""
        import anyio

        try:
            async with self._client:
                closing = anyio.Event()
                ready.set_result(closing)
                await closing.wait()
        except BaseException as error:
            if ready.done():
                raise
            ready.set_exception(error)
        finally:
            with self._lock:
                self._lost = self._lost or "the connection was lost"

    def _leave(self, portal: Any, session: Any) -> None:
        with self._lock:
            self._lost, self._portal = self._lost or "it was closed", None
        if self._closing is not None:
            with contextlib.suppress(RuntimeError):  # the portal has ended with the session
                portal.call(self._closing.set)
        with contextlib.suppress(Exception, CancelledError):  # the server may have left before
            session.result(self._connect_seconds)
        session.cancel()

    def __exit__(self, *reason: Any) -> None:
        """Ends the session; calls under way end as lost."""
        self._open.close()

    async def __aenter__(self) -> McpClient:
        """As ``with``, without blocking the event loop."""
        import anyio.to_thread

        await anyio.to_thread.run_sync(self.__enter__)
        return self

    async def __aexit__(self, *reason: Any) -> None:
        """Ends the session."""
        import anyio.to_thread

        await anyio.to_thread.run_sync(self.__exit__)

    # ----------------------------------------------------------------------------- definitions

    @property
    def definitions(self) -> Mapping[str, McpDefinition]:
        """What the server offers, by its own names. None of it can be called before a grant."""
        with self._lock:
            return MappingProxyType(dict(self._served))

    @property
    def unusable(self) -> Mapping[str, str]:
        """Names of what the server offers and why it cannot be granted."""
        with self._lock:
            return MappingProxyType(dict(self._unusable))

    @property
    def quarantined(self) -> Mapping[str, str]:
        """Names whose definition is not the pinned one, and what became of it."""
        with self._lock:
            found = {n: g.quarantine for n, g in self._grants.items() if g.quarantine is not None}
            for name, pin in self._pins.items():
                served = self._served.get(name)
                if name not in self._grants and served is not None and served.digest != pin:
                    found[name] = "its definition is not the pinned one"
            return MappingProxyType(found)

    def pins(self) -> dict[str, str]:
        """Digests of all that was granted, to be kept and given to the next client."""
        with self._lock:
            return {**self._pins, **{name: grant.digest for name, grant in self._grants.items()}}

    def refresh(self) -> None:
        """Reads the definitions again, and quarantines what changed.

        Raises:
            McpError: They cannot be read.
        """
        with self._refreshing:
            self._refresh()

    def _refresh(self) -> None:
        self._stale, asked = False, time.monotonic()
        try:
            served, unusable = self._run(self._list)
        except McpError:
            self._stale = True
            raise
        with self._lock:
            self._served, self._unusable, self._read_at = served, unusable, asked
            for name, grant in self._grants.items():
                if grant.quarantine is None:
                    grant.quarantine = _changed(served.get(name), grant.digest)

    def grant(self, name: str, /, *, digest: str | None = None, **options: Any) -> Tool:
        """Makes a tool of a definition that the server offers, as it is now.

        Args:
            name: The server's name of it.
            digest: The definition that was looked at, by :attr:`McpDefinition.digest`; one that
                differs is refused. One that differs from its pin, or from an earlier grant, is
                refused without this: somebody has to have looked at it.
            **options: Of :class:`Tool`: ``effect``, ``permission``, ``approval``, ``checks``,
                ``status_lookup``, ``limits`` ... What the server describes cannot be overridden.

        Raises:
            ToolDefinitionError: There is no such definition, it is unusable or not the pinned one,
                or an option that does not exist.
        """
        taken = {"name", "title", "parameters", "handler", "result", "description"} & set(options)
        if taken:
            raise ToolDefinitionError(f"{name}: {', '.join(sorted(taken))} is the server's to say")
        with self._lock:
            if name in self._unusable:
                raise ToolDefinitionError(f"{name} of {self.name}: {self._unusable[name]}")
            found = self._served.get(name)
            if found is None:
                offered = ", ".join(self._served)
                raise ToolDefinitionError(f"{self.name} has no tool {name!r}; it has: {offered}")
            wanted = digest or self._pins.get(name, found.digest)
            if wanted != found.digest:
                raise ToolDefinitionError(f"{name} of {self.name}: not the pinned definition")
            tool = self._tool(found, options)
            self._pins[name] = found.digest
            self._grants[name] = _Grant(found.digest)
            return tool

    def toolset(self, grants: Mapping[str, Mapping[str, Any]] | Iterable[str]) -> ToolSet:
        """Grants several: names to their options, or names alone, which then all are writes.

        Raises:
            ToolDefinitionError: As :meth:`grant`.
        """
        named = grants if isinstance(grants, Mapping) else {name: {} for name in grants}
        return ToolSet([self.grant(name, **options) for name, options in named.items()])

    def _tool(self, found: McpDefinition, options: Mapping[str, Any]) -> Tool:
        checks, before = options.get("checks", ()), options.get("preconditions", ())
        limits = {key: options[key] for key in options.keys() - {"checks", "preconditions"}}
        call = _Call(self, found)
        return Tool(
            self._prefix + found.name,
            found.description or found.title or f"The tool {found.name} of {self.name}.",
            found.input_schema,
            call,
            title=found.title,
            result=found.output_schema,
            checks=[sendable, *([checks] if callable(checks) else checks)],
            preconditions=[call.allowed, *([before] if callable(before) else before)],
            **limits,
        )

    async def _list(self) -> tuple[dict[str, McpDefinition], dict[str, str]]:
        """All definitions, and those that cannot be used, each with the reason."""
        import anyio

        served: dict[str, McpDefinition] = {}
        unusable: dict[str, str] = {}
        cursor: str | None = None
        with anyio.fail_after(self._connect_seconds):
            for _ in range(_MAX_PAGES):
                page = await self._client.list_tools(cursor=cursor, cache_mode="bypass")
                for tool in page.tools:
                    self._take(tool, served, unusable)
                cursor = page.next_cursor
                if cursor is None:
                    return served, unusable
                if len(served) + len(unusable) > _MAX_TOOLS:
                    break
        raise McpError(f"{self.name} lists more tools than {_MAX_PAGES} pages or {_MAX_TOOLS:,}")

    def _take(self, tool: Any, served: dict[str, McpDefinition], unusable: dict[str, str]) -> None:
        name = tool.name
        if name in served or name in unusable:
            served.pop(name, None)
            unusable[name] = "it is served twice"
            return
        try:
            found = McpDefinition.of(tool)
            self._tool(found, {})
        except (ToolDefinitionError, ValueError) as error:
            unusable[name] = str(error)
        else:
            served[name] = found

    async def _notified(self, message: Any) -> None:
        if getattr(message, "method", None) == "notifications/tools/list_changed":
            self._stale = True

    # ----------------------------------------------------------------------------------- calls

    def why_not(self, found: McpDefinition) -> str | None:
        """Why a granted definition may not be called now, as far as is known without asking."""
        with self._lock:
            if self._lost is not None:
                return f"the session with {self.name} is over: {self._lost}"
            grant = self._grants.get(found.name)
            if grant is None or grant.digest != found.digest:
                return f"{found.name} was granted anew with another definition"
            if grant.quarantine is not None:
                return f"{found.name} is in quarantine: {grant.quarantine}"
            return None

    def call(self, found: McpDefinition, arguments: Mapping[str, Any], context: Any = None) -> Any:
        """One ``tools/call``, sent once; it raises as :func:`value_of` does."""
        operation = getattr(context, "operation_id", None) if self._operation_ids else None
        try:
            self._verify()
        except McpError as error:
            raise ToolError("the tool's definition could not be verified; not called") from error
        reason = self.why_not(found)
        if reason is not None:
            raise ToolError(f"{reason}; not called")
        return value_of(found, self._run(self._send, found.name, dict(arguments), operation))

    def _verify(self) -> None:
        """Reads the definitions again if that is due; of many threads one does it."""
        asked = time.monotonic()
        with self._refreshing:
            old = self._max_age is not None and asked - self._read_at >= self._max_age
            if self._stale or old:
                self._refresh()

    async def _send(self, name: str, arguments: dict[str, Any], operation: str | None) -> Any:
        import mcp_types as types
        from mcp import MCPError
        from pydantic import TypeAdapter

        # Not the SDK's call_tool: that sends again, and it raises away results after their effect.
        request = types.CallToolRequest(
            params=types.CallToolRequestParams(
                name=name,
                arguments=arguments,
                _meta=None if operation is None else {MCP_OPERATION: operation},
            )
        )
        kinds = TypeAdapter(types.CallToolResult | types.InputRequiredResult)
        try:
            return await self._client.session.send_request(
                request, kinds, request_read_timeout_seconds=self._late_seconds
            )
        except MCPError as error:
            if proves_refusal(error):
                raise ToolError(f"{self.name} refused the call (error {error.code})") from error
            raise

    def _note(self, error: Any) -> None:
        """Remembers that an error means the end of the session."""
        if ends_session(error):
            with self._lock:
                self._lost = self._lost or "the connection was lost"

    def _run(self, function: Any, *arguments: Any) -> Any:
        """Runs a coroutine function in the session's thread, and waits for it.

        Raises:
            McpError: Whatever went wrong; ToolError passes.
        """
        with self._lock:
            portal = self._portal
        if portal is None:
            raise McpError(f"the session with {self.name} is over")
        from mcp import MCPError

        async def noted() -> Any:
            try:
                return await function(*arguments)
            except MCPError as error:
                self._note(error)
                raise McpError(f"{self.name}: error {error.code}: {error.message}") from error

        try:
            return portal.start_task_soon(noted).result()
        except (McpError, ToolError):
            raise
        except Exception as error:  # the SDK, the transport, a reply that is none, a cancellation
            raise McpError(f"{self.name}: {type(error).__name__}: {error}") from error


@dataclass(frozen=True)
class _Call:
    """The handler of a granted tool, and its first precondition."""

    client: McpClient
    found: McpDefinition

    def __call__(self, arguments: dict[str, Any], trusted: Any, /) -> Any:
        return self.client.call(self.found, arguments, trusted)

    def allowed(self, arguments: Any, context: Any) -> list[Violation]:
        """Whether the session and the definition are still those of the grant."""
        reason = self.client.why_not(self.found)
        if reason is None:
            return []
        return [Violation("", "definition", reason, boundary="precondition")]


def _changed(served: McpDefinition | None, pin: str) -> str | None:
    if served is None:
        return "the server no longer offers it, or not in a usable way"
    return None if served.digest == pin else "its definition has changed since it was granted"
