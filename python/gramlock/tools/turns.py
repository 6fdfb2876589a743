"""A turn that comes as events: assembled into the payload that the provider would have sent whole.

The payload is then read as :func:`read_completion` reads one, so that there is one table of reasons
and one reader of calls. A stream that breaks off before the reason for its end came is
``transport_error``; one whose events do not fit together is ``malformed``.

Not thread-safe: a reader belongs to one stream. Cost: linear in the events; bounded in memory.

Tested by tests/test_tools_turns.py and tests/test_tools_cases_reading.py.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from ..errors import JsonTextError
from .assemblies import Anthropic, Bedrock, Chat, Gemini, Responses
from .assembly import Assembly, CallPreview
from .completion import Completion, completed, known_provider
from .json_text import loads

__all__ = ["CompletionReader"]

_ASSEMBLIES: dict[str, type[Assembly]] = {
    "openai": Chat,
    "openai_responses": Responses,
    "anthropic": Anthropic,
    "gemini": Gemini,
    "mistral": Chat,
    "bedrock": Bedrock,
}


class CompletionReader:
    """Reads one turn from the events of a provider's stream.

    Args:
        provider: As for :func:`read_completion`, except ``"mcp"`` and ``"text"``, which do not
            stream turns.

    Raises:
        ValueError: There is no such provider, or it has no such stream.
    """

    def __init__(self, provider: str) -> None:
        self._provider = known_provider(provider)
        if self._provider not in _ASSEMBLIES:
            raise ValueError(f"{provider} has no stream of turns")
        self._assembly = _ASSEMBLIES[self._provider]()

    def feed(self, event: Any) -> None:
        """Take the next event. Raises nothing on account of it.

        Args:
            event: As decoded JSON, as an object of the provider's client with ``model_dump``, or
                as the text of a server-sent event's data (``"[DONE]"`` says nothing).
        """
        try:
            found = _event(event)
            if found is not None:
                self._assembly.feed(found)
        except JsonTextError as error:
            self._assembly.problem(f"an event is no JSON: {error}")
        except Exception as error:  # of a client's object, or a mapping that is none of JSON's
            self._assembly.problem(f"an event cannot be read: {type(error).__name__}")

    def previews(self) -> list[CallPreview]:
        """The calls so far, for showing only.

        Raises:
            MissingDependencyError: jiter is not installed.

        Cost: one parse of all arguments that have come.
        """
        return list(self._assembly.calls())

    def finish(self) -> Completion:
        """The turn, now that no event will follow. Its ``raw`` is the assembled payload."""
        payload = self._assembly.payload()
        return completed(payload, self._provider, payload, self._assembly.problems)


def _event(event: Any) -> Mapping[str, Any] | None:
    """An event as an object; None if it says nothing.

    Raises:
        JsonTextError: A text that is no JSON.
        TypeError: It is no object.
    """
    if isinstance(event, str | bytes | bytearray):
        if event.strip() in ("[DONE]", b"[DONE]", "", b""):
            return None
        event = loads(event)
    elif not isinstance(event, Mapping) and hasattr(event, "model_dump"):
        event = event.model_dump(mode="json", by_alias=True)
    if not isinstance(event, Mapping):
        raise TypeError("no object")
    return cast("Mapping[str, Any]", event)
