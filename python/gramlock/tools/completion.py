"""A model's answer, whichever provider wraps it: how it ended, apart from what it holds.

A truncated call may well be valid JSON, a refusal may stand beside a call, and a server may say
"tool calls" about a text that was cut. So the *status* is read first and by itself, and only
``complete`` may lead to a dispatch. What no table knows is never ``complete``.

Thread-safe: immutable values, functions of their arguments. Cost: linear in the payload.

Tested by tests/test_tools_completion.py and tests/test_tools_cases_reading.py.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from ..errors import JsonTextError
from .call import BrokenCall, Status, ToolCall, call_from
from .json_text import loads
from .providers import (
    Answer,
    anthropic,
    bedrock,
    gemini,
    mcp,
    mistral,
    openai_chat,
    openai_responses,
)

__all__ = ["PROVIDERS", "Completion", "completed", "known_provider", "read_completion"]


@dataclass(frozen=True)
class Completion:
    """What came back for one turn.

    Attributes:
        status: How it ended; one of :data:`gramlock.tools.call.STATUSES`.
        calls: Tool calls in the order in which they were written, each with an id and the status
            that holds for it; those that cannot be read are :class:`BrokenCall`.
        text: What is meant for people, joined.
        refusal: What the model says instead, where it refuses.
        reason: The provider's own word for how it ended, or None.
        provider: Which reader was used, by the name that :meth:`ToolResult.to_message` takes;
            ``"text"`` for a model's bare text, ``""`` where none was found.
        problems: What does not fit together in the payload, one line each. With one, an answer is
            not complete but ``malformed``.
        raw: The payload.
    """

    status: Status
    calls: tuple[ToolCall | BrokenCall, ...] = ()
    text: str = ""
    refusal: str | None = None
    reason: str | None = None
    provider: str = ""
    problems: tuple[str, ...] = ()
    raw: Any = field(default=None, repr=False, compare=False)

    @property
    def dispatchable(self) -> bool:
        """Whether any of its calls may reach a handler."""
        return self.status == "complete" and any(
            isinstance(call, ToolCall) and call.status == "complete" for call in self.calls
        )


#: Reader of each provider's payloads.
PROVIDERS: dict[str, Callable[[Mapping[str, Any]], Answer]] = {
    "openai": openai_chat,
    "openai_responses": openai_responses,
    "anthropic": anthropic,
    "gemini": gemini,
    "mistral": mistral,
    "bedrock": bedrock,
    "mcp": mcp,
}
_ALIASES = {"openai_chat": "openai"}
# An object without any of these is no attempt at a call: the answer is data, or just words.
_OF_CALLS = ("name", "function", "functionCall", "function_call", "toolUse")
_PROBLEMS = 100


def known_provider(name: str) -> str:
    """The name under which a provider's reader and table stand.

    Raises:
        ValueError: There is none.
    """
    found = _ALIASES.get(name, name) if isinstance(name, str) else ""
    if found not in PROVIDERS:
        raise ValueError(f"no provider {name!r}; known are {', '.join(PROVIDERS)}")
    return found


def read_completion(payload: Any, provider: str | None = None) -> Completion:
    """How a model's answer ended, and what it holds.

    Args:
        payload: What the provider sent, as decoded JSON, as JSON text of an envelope, or as an
            object of its client with ``model_dump``; or a model's bare text, which is complete on
            the caller's word.
        provider: ``"openai"`` (chat; also ``"openai_chat"``), ``"openai_responses"``,
            ``"anthropic"``, ``"gemini"``, ``"mistral"``, ``"bedrock"``, ``"mcp"`` or ``"text"``;
            None: by the payload's shape.

    Returns:
        Never with a status that the payload does not bear out: one without a shape that is known
        is ``malformed``, one without an end ``transport_error``.

    Raises:
        ValueError: There is no such *provider*. Nothing is raised on account of the payload.

    Thread-safe. Cost: linear.
    """
    if provider is not None and provider != "text":
        provider = known_provider(provider)
    bare = isinstance(payload, str | bytes | bytearray)
    if provider == "text":
        return _of_text(payload) if bare else _malformed(payload, "text", "the payload is no text")
    try:
        found = _as_mapping(payload)
        chosen = provider or (None if found is None else _detected(found))
        if bare and chosen is None and not (found and found.get("error")):
            return _of_text(payload)
        if found is None:
            return _malformed(payload, provider or "", "the payload is no object")
        return completed(found, chosen, payload)
    except Exception as error:  # of a mapping or a list that is none of JSON's
        message = f"the payload cannot be read: {type(error).__name__}"
        return _malformed(payload, provider or "", message)


def completed(
    payload: Mapping[str, Any],
    provider: str | None,
    raw: Any,
    problems: Sequence[str] = (),
) -> Completion:
    """The completion in an envelope; *problems* are those that its assembly met."""
    answer = PROVIDERS[provider](payload) if provider else Answer()
    if provider != "mcp" and payload.get("error"):
        answer.status = "error"
        answer.reason = _error_code(payload["error"]) or answer.reason
    elif provider is None:
        answer.problems.append("no known provider's payload")
    return _joined(answer, provider or "", raw, problems)


def _joined(answer: Answer, provider: str, raw: Any, problems: Sequence[str] = ()) -> Completion:
    """The answer with an id and a status for each call; one that does not fit is malformed."""
    found = (*problems, *answer.problems)[:_PROBLEMS]
    status = "malformed" if found and answer.status == "complete" else answer.status
    calls: list[ToolCall | BrokenCall] = []
    taken = {call.id for call in answer.calls}
    for index, call in enumerate(answer.calls):
        name = call.id
        if name is None:
            name = next(name for name in _ids(index) if name not in taken)
            taken.add(name)
        own = status if call.status == "complete" else call.status
        calls.append(replace(call, id=name, status=own))
    return Completion(
        status,
        tuple(calls),
        "".join(answer.texts),
        "".join(answer.refusals) if answer.refusals else None,
        answer.reason,
        provider,
        found,
        raw,
    )


def _ids(index: int) -> Iterator[str]:
    """Ids for a call that has none."""
    yield f"call_{index}"
    count = 0
    while True:
        yield f"call_{index}_{count}"
        count += 1


def _malformed(payload: Any, provider: str, problem: str) -> Completion:
    return Completion("malformed", provider=provider, problems=(problem,), raw=payload)


def _as_mapping(payload: Any) -> Mapping[str, Any] | None:
    if isinstance(payload, str | bytes | bytearray):
        try:
            payload = loads(payload)
        except JsonTextError:
            return None
    dump = getattr(payload, "model_dump", None)
    if dump is not None and not isinstance(payload, Mapping):
        payload = dump(mode="json", by_alias=True)
    return payload if isinstance(payload, Mapping) else None


def _detected(payload: Mapping[str, Any]) -> str | None:
    """Whose payload it is, by the members that only one of them has."""
    if "choices" in payload:
        return "openai"
    if payload.get("object") == "response" or isinstance(payload.get("output"), list):
        return "openai_responses"
    if "candidates" in payload or "promptFeedback" in payload:
        return "gemini"
    if "jsonrpc" in payload or "isError" in payload or "structuredContent" in payload:
        return "mcp"
    if "resultType" in payload or ("model" in payload and "stopReason" in payload):
        return "mcp"
    if "stopReason" in payload:
        return "bedrock"
    if "stop_reason" in payload or payload.get("type") == "message":
        return "anthropic"
    return None


def _error_code(error: Any) -> str | None:
    code = (error.get("type") or error.get("code")) if isinstance(error, Mapping) else error
    return code if isinstance(code, str) else None


def _of_text(text: str | bytes | bytearray) -> Completion:
    """A model's bare text: one call, if it is an object that spells one, or words."""
    try:
        shown = text if isinstance(text, str) else text.decode("utf-8")
    except UnicodeDecodeError:
        return _malformed(text, "text", "bytes that are no UTF-8")
    answer = Answer("complete", texts=[shown])
    if shown.lstrip()[:1] != "{":
        return _joined(answer, "text", text)
    try:
        value = loads(shown)
    except JsonTextError:
        value = None
    # What cannot be read may have been meant as a call: that is for the model to hear.
    if value is None or any(name in value for name in _OF_CALLS):
        answer.calls.append(call_from(shown))
    return _joined(answer, "text", text)
