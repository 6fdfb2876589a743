"""What a server of the Model Context Protocol says, and what that proves.

=============================================  =====================================
the server's answer                            the call is, for a write
=============================================  =====================================
a result                                       ``completed``, or ``invalid_result``
a result without its structured content        ``invalid_result``
``isError``                                    ``failed``
``isError`` of an outcome that it names        that outcome, never a better one
-32601, -32602, -32020 to -32022, -32042       ``failed``: refused before it began
anything else, or nothing                      ``uncertain``
=============================================  =====================================

Of a write, a lost session, a time-out, an internal error, or a reply that cannot be read do not
show that nothing happened. The same holds for -32600 and -32700, which the SDK's client also makes
up itself when it cannot read a reply. A read fails where a write is uncertain.

Functions of their arguments, thread-safe. Source: modelcontextprotocol.io, revision 2026-07-28,
"Tools"; JSON-RPC 2.0, section 5.1. Tested by ``tests/test_tools_mcp_client.py``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from ..errors import InvalidResultError, McpError, ToolError
from .canonical import digest
from .exports import MCP_OUTCOME, MCP_REFERENCE
from .outcome import Accepted
from .pointer import to_pointer
from .violation import Violation

__all__ = ["McpDefinition", "ends_session", "proves_refusal", "sendable", "value_of"]

_SHOWN = 2_000  # characters of a server's error text
_BITS = 10_000  # of integers: Python writes about 4,300 digits at most
_CONNECTION_CLOSED = -32000
_INVALID_PARAMS = -32602
_INVALID_REQUEST = -32600
# Refused before the tool was called: no such method, bad parameters, headers, capability, version,
# and a page that the user would have to visit first.
_REFUSED = frozenset({-32601, _INVALID_PARAMS, -32020, -32021, -32022, -32042})


@dataclass(frozen=True)
class McpDefinition:
    """A tool as a server describes it; nothing in it is trusted.

    Attributes:
        name: The server's name of it.
        title: A name for people, or None.
        description: What it is said to be for; ``""`` where the server says nothing.
        input_schema: Of its arguments.
        output_schema: Of its structured result, or None.
        claims: Its annotations, as the server wrote them: hints that decide nothing here.
        digest: SHA-256, in hex, of all of that.
    """

    name: str
    title: str | None
    description: str
    input_schema: dict[str, Any]
    output_schema: dict[str, Any] | None
    claims: Mapping[str, Any]
    digest: str = field(default="", compare=False)

    @classmethod
    def of(cls, tool: Any) -> McpDefinition:
        """Reads one of the SDK's ``Tool``.

        Raises:
            NotJsonError: Its schemas are nested too deep to be compared.
        """
        claims = (
            tool.annotations.model_dump(by_alias=True, exclude_none=True, mode="json")
            if (tool.annotations is not None)
            else {}
        )
        parts = {
            "name": tool.name,
            "title": tool.title,
            "description": tool.description or "",
            "input_schema": tool.input_schema,
            "output_schema": tool.output_schema,
            "claims": claims,
        }
        return cls(**parts, digest=digest(parts))


def proves_refusal(error: Any) -> bool:
    """Whether an error of the protocol shows that the tool was not called.

    Args:
        error: The SDK's ``MCPError``.
    """
    # The SDK's server answers so, too, when a handler has failed in the midst of its work.
    hidden = (_INVALID_PARAMS, "Invalid request parameters", "")
    return error.code in _REFUSED and (error.code, error.message, error.data) != hidden


def ends_session(error: Any) -> bool:
    """Whether an error means that the session is over: nothing more can be sent in it."""
    # Servers say "Session not found", the SDK's client "Session terminated".
    unknown = error.code == _INVALID_REQUEST and "session" in error.message.lower()
    return unknown or bool(error.code == _CONNECTION_CLOSED)


def value_of(found: McpDefinition, answer: Any) -> Any:
    """What a handler returns for a result of the protocol.

    Args:
        found: The tool's definition.
        answer: The SDK's ``CallToolResult`` or ``InputRequiredResult``.

    Raises:
        ToolError: It says that nothing was done.
        InvalidResultError: It was executed, and the result lacks what was promised.
        McpError: It does not tell what happened.
    """
    if getattr(answer, "result_type", "complete") == "input_required":
        raise McpError("the server asks for further input; the call is not sent again")
    meta = answer.meta or {}
    said = meta.get(MCP_OUTCOME)
    text = "\n".join(block.text for block in answer.content if block.type == "text")
    if said == "uncertain":
        raise McpError(f"the server does not know whether it happened: {text[:_SHOWN]}")
    if said == "invalid_result" or (said == "completed" and answer.is_error):
        raise InvalidResultError("executed, but the server cannot give the result that it promised")
    if said == "accepted":
        reference = meta.get(MCP_REFERENCE)
        if not isinstance(reference, str) or not reference:
            raise McpError("the server began it, and gave no reference")
        return Accepted(reference, answer.structured_content)
    if answer.is_error:
        shown = text if len(text) <= _SHOWN else text[:_SHOWN] + " (cut)"
        raise ToolError(shown or "the tool reported an error without text")
    if "structured_content" in answer.model_fields_set:
        return answer.structured_content
    if found.output_schema is not None:
        if found.output_schema.get("type") == "object":
            raise InvalidResultError("the result lacks the structured content that it promised")
        return None  # the SDK's server leaves out a null; the check of results knows if it will do
    if all(block.type == "text" for block in answer.content):
        return text
    return [
        block.model_dump(by_alias=True, exclude_none=True, mode="json") for block in answer.content
    ]


def sendable(arguments: Any, context: Any) -> list[Violation]:
    """Numbers that the SDK would send as text: those with more digits than a double has."""
    found: list[Violation] = []
    waiting: list[tuple[Any, tuple[str | int, ...]]] = [(arguments, ())]
    while waiting:
        here, place = waiting.pop()
        if isinstance(here, dict):
            waiting += [(member, (*place, name)) for name, member in here.items()]
        elif isinstance(here, list):
            waiting += [(item, (*place, index)) for index, item in enumerate(here)]
        elif isinstance(here, Decimal) or (isinstance(here, int) and here.bit_length() > _BITS):
            found.append(
                Violation(
                    to_pointer(place),
                    "precision",
                    "a number that a double holds, or a shorter integer",
                    "one with more digits",
                    boundary="domain",
                )
            )
    return found
