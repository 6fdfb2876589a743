"""What became of a tool call: six outcomes that are not to be confused.

===============  ============================================================  ===============
outcome          meaning                                                       effects
===============  ============================================================  ===============
completed        executed, and the result keeps its contract                   as intended
rejected         a check refused it; :attr:`ToolResult.boundary` says which    none
failed           the handler said so with ToolError, or a read raised          none
accepted         begun elsewhere (an HTTP 202), :attr:`ToolResult.reference`   not yet known
invalid_result   executed, but the result breaks its contract                  may exist
uncertain        a write whose end nobody saw                                  may exist
===============  ============================================================  ===============

Only ``rejected`` and ``failed`` may be tried again; ``accepted`` and ``uncertain`` become something
else only by a status look-up. Tested by test_tools_dispatch.py.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, get_args

from ..errors import ToolError
from .json_text import dumps

if TYPE_CHECKING:
    from .results import StoredResult
    from .violation import Violation

__all__ = ["OUTCOMES", "Accepted", "Outcome", "ToolError", "ToolResult"]

Outcome = Literal["completed", "rejected", "failed", "accepted", "invalid_result", "uncertain"]
OUTCOMES: tuple[Outcome, ...] = get_args(Outcome)

_ADVICE: dict[str, str] = {
    "accepted": "begun, not done; its outcome is known only by a status look-up",
    "invalid_result": "executed, effects may exist; do not call it again",
    "uncertain": "effects may exist; do not call it again",
}


@dataclass(frozen=True)
class Accepted:
    """Returned by a handler whose operation was begun elsewhere and goes on there (an HTTP 202).

    Attributes:
        reference: How the receiver names the operation; a status look-up needs it. Not empty.
        value: What the receiver said at the start, JSON data. It is not the operation's result.

    Raises:
        TypeError: The reference is no text, or empty.
    """

    reference: str
    value: Any = None

    def __post_init__(self) -> None:
        if not isinstance(self.reference, str) or not self.reference:
            raise TypeError("an operation begun elsewhere is known by its reference, a str")


@dataclass(frozen=True)
class ToolResult:
    """The one answer to a tool call. Immutable; safe to share.

    Attributes:
        outcome: One of :data:`OUTCOMES`.
        call_id: The call's id, whatever became of it; None where it had none.
        tool: The name that was called, known or not; None where there was none.
        value: The result (JSON data) of a completed call, or what an accepted one said at its
            start. None where *stored* holds it.
        errors: What is wrong with the call, or with the result of an ``invalid_result``.
        boundary: The check that refused: ``"completion"``, ``"name"``, ``"parse"``, ``"schema"``,
            ``"domain"``, ``"authorise"``, ``"ledger"``, ``"approval"``, ``"precondition"``,
            ``"deadline"``, ``"rate"``, ``"capacity"``; of several calls also ``"call_id"``,
            ``"duplicate"``, ``"reference"``, ``"order"``. For ``invalid_result``
            ``"result"`` or ``"postcondition"``. None where nothing refused.
        message: One line for the model. Never the text of an exception.
        reference: The receiver's name for an accepted operation.
        stored: Where a large result lies, and what its shortened view leaves out.
        replayed: The outcome is one that the ledger had recorded; nothing was executed now.
        entry_id: The ledger's entry, where one concerns this call.
        details: Further data of a :class:`~gramlock.errors.ToolError`.
    """

    outcome: Outcome
    call_id: str | None
    tool: str | None
    value: Any = None
    errors: tuple[Violation, ...] = ()
    boundary: str | None = None
    message: str = ""
    reference: str | None = None
    stored: StoredResult | None = None
    replayed: bool = False
    entry_id: Any = None
    details: Any = None

    @property
    def ok(self) -> bool:
        """Whether the call was executed and its result keeps its contract."""
        return self.outcome == "completed"

    def to_dict(self) -> dict[str, Any]:
        """What the model is told, as JSON data: the outcome always, then only what applies."""
        told: dict[str, Any] = {"outcome": self.outcome}
        if self.boundary is not None:
            told["boundary"] = self.boundary
        if self.message:
            told["message"] = self.message
        if self.outcome in _ADVICE:
            told["note"] = _ADVICE[self.outcome]
        if self.errors:
            told["errors"] = [str(error) for error in self.errors]
        if self.details is not None:
            told["details"] = self.details
        if self.reference is not None:
            told["reference"] = self.reference
        if self.replayed:
            told["replayed"] = True
        if not _went_well(self):
            return told
        if self.stored is not None:
            told["stored"] = self.stored.to_dict()
        else:
            told["value"] = self.value
        return told

    def to_text(self) -> str:
        """:meth:`to_dict` as JSON text."""
        return dumps(self.to_dict())

    def to_message(self, provider: str = "openai") -> dict[str, Any]:
        """The message, item or part in which *provider* takes a call's result.

        Args:
            provider: ``"openai"`` (chat), ``"openai_responses"``, ``"anthropic"``, ``"gemini"``,
                ``"mistral"``, ``"bedrock"``, ``"mcp"`` or ``"huggingface"``; also what
                :attr:`Completion.provider` says: ``"text"`` is as ``"huggingface"``.

        Returns:
            For Anthropic, Gemini and Bedrock the block or part that goes into a user's message.

        Raises:
            ValueError: *provider* is none of these.
        """
        form = _MESSAGES.get(provider)
        if form is None:
            raise ValueError(f"no provider {provider!r}; known are {', '.join(_MESSAGES)}")
        return form(self)


def _openai(result: ToolResult) -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": result.call_id, "content": result.to_text()}


def _openai_responses(result: ToolResult) -> dict[str, Any]:
    return {
        "type": "function_call_output",
        "call_id": result.call_id,
        "output": result.to_text(),
    }


def _anthropic(result: ToolResult) -> dict[str, Any]:
    return {
        "type": "tool_result",
        "tool_use_id": result.call_id,
        "content": result.to_text(),
        "is_error": not _went_well(result),
    }


def _gemini(result: ToolResult) -> dict[str, Any]:
    told = result.to_dict()
    part: dict[str, Any] = {
        "name": result.tool,
        "response": {"output" if _went_well(result) else "error": told},
    }
    if result.call_id is not None:
        part["id"] = result.call_id
    return {"functionResponse": part}


def _mistral(result: ToolResult) -> dict[str, Any]:
    return {**_openai(result), "name": result.tool}


def _bedrock(result: ToolResult) -> dict[str, Any]:
    return {
        "toolResult": {
            "toolUseId": result.call_id,
            "content": [{"json": result.to_dict()}],
            "status": "success" if _went_well(result) else "error",
        }
    }


def _mcp(result: ToolResult) -> dict[str, Any]:
    message: dict[str, Any] = {
        "content": [{"type": "text", "text": result.to_text()}],
        "isError": not _went_well(result),
    }
    if result.ok and result.stored is None:
        message["structuredContent"] = result.value
        message["content"][0]["text"] = dumps(result.value)
    return message


def _huggingface(result: ToolResult) -> dict[str, Any]:
    return {"role": "tool", "name": result.tool, "content": result.to_text()}


def _went_well(result: ToolResult) -> bool:
    return result.outcome in ("completed", "accepted")


_MESSAGES: dict[str, Callable[[ToolResult], dict[str, Any]]] = {
    "openai": _openai,
    "openai_responses": _openai_responses,
    "anthropic": _anthropic,
    "gemini": _gemini,
    "mistral": _mistral,
    "bedrock": _bedrock,
    "mcp": _mcp,
    "huggingface": _huggingface,
    "openai_chat": _openai,
    "text": _huggingface,
}
