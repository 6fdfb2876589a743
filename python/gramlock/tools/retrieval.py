"""The tool with which a model reads more of a result that was stored.

A stored result is shown in part; :func:`result_tool` gives the model the rest, part by part, and
each part says how much there is and what it leaves out. It reads what its own principal may read
and nothing else. Tested by test_tools_results.py.
"""

from __future__ import annotations

from typing import Any

from ..errors import PointerError, ResultStoreError
from .context import Context
from .outcome import ToolError
from .pointer import resolve
from .results import ResultStore, shorten
from .tool import Tool, ToolLimits
from .violation import type_name

__all__ = ["result_tool"]

_PARAMETERS = {
    "type": "object",
    "properties": {
        "reference": {"type": "string", "description": "The reference of the stored result."},
        "pointer": {
            "type": "string",
            "description": "JSON pointer to the part that is wanted; empty for the whole.",
        },
        "offset": {
            "type": "integer",
            "minimum": 0,
            "description": "Items of an array, or characters of a text, to skip.",
        },
        "count": {
            "type": "integer",
            "minimum": 1,
            "description": "Items or characters that are wanted, at most.",
        },
    },
    "required": ["reference"],
    "additionalProperties": False,
}
_RESULT = {
    "type": "object",
    "required": ["type", "part", "omissions"],
    "properties": {
        "type": {"type": "string"},
        "total": {"type": "integer"},
        "offset": {"type": "integer"},
        "left": {"type": "integer"},
        "omissions": {"type": "array", "items": {"type": "string"}},
    },
}


def result_tool(store: ResultStore, *, name: str = "read_result", characters: int = 8_000) -> Tool:
    """A tool that reads parts of the results in *store*.

    Args:
        store: The dispatcher's; ``dispatcher.results`` of another one, or given to both.
        name: The tool's name.
        characters: About how long a part may be, as JSON text.

    Raises:
        ToolDefinitionError: *name* is no tool's name.
        ValueError: *characters* is not positive.
    """
    if characters < 1:
        raise ValueError("characters: at least one")

    def read(arguments: dict[str, Any], context: Context) -> dict[str, Any]:
        try:
            whole = store.get(arguments["reference"], principal=context.principal)
            value = resolve(whole, arguments.get("pointer", ""))
        except (ResultStoreError, PointerError) as error:
            raise ToolError(str(error)) from None
        told: dict[str, Any] = {"type": type_name(value)}
        if isinstance(value, list | str):
            offset = arguments.get("offset", 0)
            end = offset + arguments.get("count", len(value))
            if isinstance(value, str):  # a text is cut here, where "left" can count it
                end = min(end, offset + characters)
            left = max(0, len(value) - end)
            told |= {"total": len(value), "offset": offset, "left": left}
            value = value[offset:end]
        part, omissions = shorten(value, characters)
        return {**told, "part": part, "omissions": omissions}

    return Tool(
        name,
        "Read a part of a result that was too large to be shown whole.",
        _PARAMETERS,
        read,
        result=_RESULT,
        effect="read",
        limits=ToolLimits(result_bytes=None),
    )
