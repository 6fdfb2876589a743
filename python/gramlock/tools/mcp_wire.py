"""Messages of the Model Context Protocol, read strictly before the SDK sees them.

The SDK's parser takes what decides over effects without a word: of two members with one name the
last, NaN, and numbers cut to a double. A message of which that would change the meaning is answered
with the protocol's error -32700 and goes no further.

- HTTP: :class:`StrictBodies`, an ASGI middleware, reads each body before the application.
- Standard input: :class:`StrictLines` hands on the lines; in place of one that is refused it gives
  a request of the same id that :func:`refuse` answers.

Cost: each message is parsed twice. A body is held whole, up to a limit. Source: RFC 8259, section
4; JSON-RPC 2.0, section 5.1. Tested by ``tests/test_tools_mcp.py``.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Awaitable, Callable
from decimal import Decimal
from typing import Any

from ..errors import GramlockError
from .json_text import loads

__all__ = ["MAX_BODY", "REFUSED", "StrictBodies", "StrictLines", "fault_of", "refuse"]

#: The method of the request that stands for a refused line.
REFUSED = "gramlock/refused"

PARSE_ERROR = -32700
MAX_BODY = 4 << 20  # bytes, as the SDK's own limit

Message = dict[str, Any]


def fault_of(text: str | bytes) -> str | None:
    """Why a message must not be read as the SDK would read it; None if it may."""
    try:
        waiting = [loads(text)]
    except GramlockError as error:
        return str(error)
    while waiting:
        here = waiting.pop()
        if isinstance(here, dict):
            waiting.extend(here.values())
        elif isinstance(here, list):
            waiting.extend(here)
        elif isinstance(here, Decimal):
            return f"a number that no double holds: {str(here)[:40]}"
    return None


class StrictBodies:
    """ASGI middleware: POSTs whose body is no strict JSON get status 400 and an error.

    Args:
        app: The application.
        max_body: Bytes that a body may have; a larger one gets status 413.
    """

    def __init__(self, app: Any, max_body: int = MAX_BODY) -> None:
        self._app, self._max_body = app, max_body

    async def __call__(
        self,
        scope: Message,
        receive: Callable[[], Awaitable[Message]],
        send: Callable[[Message], Awaitable[None]],
    ) -> None:
        """One request."""
        if scope["type"] != "http" or scope["method"] != "POST":
            await self._app(scope, receive, send)
            return
        body = bytearray()
        more = True
        while more:
            message = await receive()
            if message["type"] != "http.request":  # the client has left
                return
            body += message.get("body", b"")
            more = message.get("more_body", False)
            if len(body) > self._max_body:
                await _answer(send, 413, f"more than {self._max_body:,} bytes")
                return
        fault = fault_of(bytes(body))
        if fault is not None:
            await _answer(send, 400, fault)
            return
        read = False

        async def again() -> Message:
            nonlocal read
            if read:
                return await receive()
            read = True
            return {"type": "http.request", "body": bytes(body), "more_body": False}

        await self._app(scope, again, send)


async def _answer(send: Callable[[Message], Awaitable[None]], status: int, fault: str) -> None:
    error = {"code": PARSE_ERROR, "message": f"Parse error: {fault}"}
    body = json.dumps({"jsonrpc": "2.0", "id": None, "error": error}).encode()
    headers = [(b"content-type", b"application/json"), (b"content-length", b"%d" % len(body))]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})


class StrictLines:
    """Lines of a text file, for the SDK's ``stdio_server`` to iterate.

    Args:
        lines: Where they come from: anything with asynchronous iteration, as ``anyio.wrap_file``.
    """

    def __init__(self, lines: Any) -> None:
        self._lines = lines

    async def __aiter__(self) -> AsyncIterator[str]:
        async for line in self._lines:
            fault = fault_of(line)
            yield line if fault is None else _stand_in(line, fault)


def _stand_in(line: str, fault: str) -> str:
    """A request of the same id, where the line has one; else what nobody can read."""
    try:
        message = json.loads(line)
        identity, params = message["id"], message.get("params")
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return "\n"
    if not isinstance(identity, str | int):
        return "\n"
    meta = params.get("_meta") if isinstance(params, dict) else None
    shown = {"fault": fault, **({"_meta": meta} if isinstance(meta, dict) else {})}
    request = {"jsonrpc": "2.0", "id": identity, "method": REFUSED, "params": shown}
    return json.dumps(request) + "\n"


async def refuse(request: Any, params: Any) -> Any:
    """The server's answer to a stand-in."""
    from mcp import MCPError

    fault = (request.params or {}).get("fault", "")
    raise MCPError(PARSE_ERROR, f"Parse error: {fault}")
