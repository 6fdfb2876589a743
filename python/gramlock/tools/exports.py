"""Definitions of tools for each provider, and as text.

Every form shows the same schema that the grammar is compiled from and the validator checks; nothing
is dropped or rewritten on the way. Two additions say what already holds: ``"type": "object"`` at
the root, where it was left out, and a ``description`` for Bedrock's wrapper. A name that a provider
does not take is refused by name, never changed: the model would call what does not exist.

Sources: the providers' API references of their ``tools`` parameters; MCP 2026-07-28, "Tools".
Tested by ``tests/test_tools_exports.py``.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from typing import Any

from ..errors import ToolDefinitionError
from .tool import Tool

__all__ = [
    "MCP_OPERATION",
    "MCP_OUTCOME",
    "MCP_REFERENCE",
    "anthropic",
    "bedrock",
    "call_schema",
    "gemini",
    "huggingface",
    "mcp",
    "name_problems",
    "object_schema",
    "openai",
    "openai_responses",
    "prompt",
]

#: Keys of ``_meta`` under which a served result says its outcome, and its operation's reference.
MCP_OUTCOME = "gramlock/outcome"
MCP_REFERENCE = "gramlock/reference"
#: ... and under which a client names the operation that a call belongs to.
MCP_OPERATION = "gramlock/operation_id"

_NAMES = {
    "openai": (re.compile(r"[A-Za-z0-9_-]{1,64}"), "1 to 64 of A-Z a-z 0-9 _ -"),
    "anthropic": (re.compile(r"[A-Za-z0-9_-]{1,128}"), "1 to 128 of A-Z a-z 0-9 _ -"),
    "gemini": (
        re.compile(r"[A-Za-z_][A-Za-z0-9_.:-]{0,63}"),
        "at most 64 of A-Z a-z 0-9 _ . : -, the first a letter or _",
    ),
    "bedrock": (re.compile(r"[A-Za-z0-9_-]{1,64}"), "1 to 64 of A-Z a-z 0-9 _ -"),
    "mcp": (re.compile(r"[A-Za-z0-9_./-]{1,128}"), "1 to 128 of A-Z a-z 0-9 _ . / -"),
}


def name_problems(name: str) -> dict[str, str]:
    """Providers that do not take *name*, with what they take."""
    return {provider: what for provider, (form, what) in _NAMES.items() if not form.fullmatch(name)}


def object_schema(schema: Mapping[str, Any]) -> dict[str, Any]:
    """*schema* with the root type that every provider wants and every call has."""
    return dict(schema) if schema.get("type") == "object" else {**schema, "type": "object"}


def openai(tools: Iterable[Tool], *, strict: bool = False) -> list[dict[str, Any]]:
    """OpenAI's chat completions: ``{"type": "function", "function": {...}}``.

    Args:
        tools: What to show.
        strict: Ask the provider to constrain its model to the schema. It takes few keywords, and
            says so itself.

    Raises:
        ToolDefinitionError: A name that it does not take.
    """
    return [{"type": "function", "function": body} for body in _openai(tools, strict)]


def openai_responses(tools: Iterable[Tool], *, strict: bool = False) -> list[dict[str, Any]]:
    """OpenAI's responses: the same, flat. ``strict`` is always stated, since it is on there by
    default. Raises as :func:`openai`."""
    return [{"type": "function", "strict": strict, **body} for body in _openai(tools, strict)]


def _openai(tools: Iterable[Tool], strict: bool) -> list[dict[str, Any]]:
    shown = []
    for tool in _named(tools, "openai"):
        body = {
            "name": tool.name,
            "description": tool.description,
            "parameters": object_schema(tool.parameters),
        }
        shown.append({**body, "strict": True} if strict else body)
    return shown


def anthropic(tools: Iterable[Tool]) -> list[dict[str, Any]]:
    """Anthropic's messages: ``input_schema``.

    Raises:
        ToolDefinitionError: A name that it does not take.
    """
    return [
        {
            "name": tool.name,
            "description": tool.description,
            "input_schema": object_schema(tool.parameters),
        }
        for tool in _named(tools, "anthropic")
    ]


def gemini(tools: Iterable[Tool]) -> list[dict[str, Any]]:
    """Gemini: ``functionDeclarations`` with ``parametersJsonSchema``.

    The other field, ``parameters``, takes a dialect of its own and would lose keywords.

    Raises:
        ToolDefinitionError: A name that it does not take.
    """
    declarations = []
    for tool in _named(tools, "gemini"):
        declared: dict[str, Any] = {
            "name": tool.name,
            "description": tool.description,
            "parametersJsonSchema": object_schema(tool.parameters),
        }
        if tool.result is not None:
            declared["responseJsonSchema"] = tool.result
        declarations.append(declared)
    return [{"functionDeclarations": declarations}]


def bedrock(tools: Iterable[Tool]) -> dict[str, Any]:
    """Bedrock Converse: the ``toolConfig``.

    Raises:
        ToolDefinitionError: A name that it does not take.
    """
    return {
        "tools": [
            {
                "toolSpec": {
                    "name": tool.name,
                    "description": tool.description,
                    "inputSchema": {"json": object_schema(tool.parameters)},
                }
            }
            for tool in _named(tools, "bedrock")
        ]
    }


def mcp(tools: Iterable[Tool]) -> list[dict[str, Any]]:
    """The tools of an MCP ``tools/list`` result, as plain data.

    ``readOnlyHint`` tells the effect that the application declared. The result's schema is given
    where its values are objects; that of other values, as every version reads it, is
    :func:`gramlock.tools.mcp_server.output_schema`'s business.

    Raises:
        ToolDefinitionError: A name that it does not take.
    """
    shown = []
    for tool in _named(tools, "mcp"):
        definition: dict[str, Any] = {"name": tool.name}
        if tool.title is not None:
            definition["title"] = tool.title
        definition["description"] = tool.description
        definition["inputSchema"] = object_schema(tool.parameters)
        if isinstance(tool.result, dict) and tool.result.get("type") == "object":
            definition["outputSchema"] = tool.result
        definition["annotations"] = {"readOnlyHint": tool.effect == "read"}
        shown.append(definition)
    return shown


def huggingface(tools: Iterable[Tool]) -> list[dict[str, Any]]:
    """What ``tokenizer.apply_chat_template(..., tools=...)`` takes, with ``return`` where known.

    Templates set no rule for names.
    """
    shown = []
    for tool in tools:
        body: dict[str, Any] = {
            "name": tool.name,
            "description": tool.description,
            "parameters": object_schema(tool.parameters),
        }
        if isinstance(tool.result, dict):
            body["return"] = tool.result
        shown.append({"type": "function", "function": body})
    return shown


def call_schema(tools: Iterable[Tool]) -> dict[str, Any]:
    """JSON Schema of a call of any of the tools: ``{"name": ..., "arguments": ...}``.

    For a model that is constrained, or checked, as a whole: its name selects the branch, so that a
    violation is reported for the tool that was meant. Each tool's schema stands in it as a resource
    of its own, unchanged, so that references inside it still lead where they led.

    Raises:
        ToolDefinitionError: There are no tools, or two of their schemas have one ``$id``.
    """
    branches: list[dict[str, Any]] = []
    resources: dict[str, dict[str, Any]] = {}
    for tool in tools:
        schema = object_schema(tool.parameters)
        identity = schema.get("$id", f"tool:{tool.name}")
        if any(other["$id"] == identity for other in resources.values()):
            raise ToolDefinitionError(f"two tools have schemas of one $id: {identity}")
        resources[tool.name] = {"$id": identity, **schema}
        branches.append(
            {
                "type": "object",
                "description": tool.description,
                "properties": {"name": {"const": tool.name}, "arguments": {"$ref": identity}},
                "required": ["name", "arguments"],
                "additionalProperties": False,
            }
        )
    if not branches:
        raise ToolDefinitionError("there are no tools to call")
    return {"anyOf": branches, "$defs": resources}


def prompt(tools: Iterable[Tool]) -> str:
    """The contract as text: what each tool does, its members with their descriptions, its schema.

    The schema itself stands there, on one line, because it is what calls are checked against; the
    list above it says the same in words, for the members of the root.
    """
    parts = [
        'A call is one JSON object: {"name": <tool>, "arguments": <object>}. The arguments must '
        "satisfy the tool's schema; members that it does not list are refused where it says so. A "
        "call is a request: it may be refused, and its result tells what happened."
    ]
    parts += ["\n".join(_described(tool)) for tool in tools]
    return "\n\n".join(parts)


def _described(tool: Tool) -> list[str]:
    effect = "changes something" if tool.effect == "write" else "only reads"
    lines = [f"## {tool.name}", f"{tool.description.strip()} ({effect})"]
    if tool.approval is not None:
        needed = "is needed" if tool.approval == "required" else "may be needed"
        lines.append(f"An approval by a person {needed}.")
    properties = tool.parameters.get("properties")
    required = tool.parameters.get("required", ())
    if isinstance(properties, Mapping) and properties:
        lines.append("Arguments:")
        lines += [_member(name, inner, name in required) for name, inner in properties.items()]
    lines.append(f"Schema: {_line(object_schema(tool.parameters))}")
    if tool.result is not None:
        lines.append(f"Result: {_line(tool.result)}")
    return lines


def _member(name: str, schema: Any, required: bool) -> str:
    """``- amount (integer, required): In cents.``"""
    kind = schema.get("type") if isinstance(schema, Mapping) else None
    kinds = " or ".join(kind) if isinstance(kind, list) else kind
    notes = [str(kinds)] if kinds else []
    notes.append("required" if required else "optional")
    described = schema.get("description", "") if isinstance(schema, Mapping) else ""
    text = " ".join(str(described).split())
    return f"- {name} ({', '.join(notes)})" + (f": {text}" if text else "")


def _line(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(", ", ": "))


def _named(tools: Iterable[Tool], provider: str) -> list[Tool]:
    """The tools, if the provider takes all their names."""
    form, what = _NAMES[provider]
    tools = list(tools)
    bad = [tool.name for tool in tools if not form.fullmatch(tool.name)]
    if bad:
        raise ToolDefinitionError(f"{provider} takes names of {what}, not {', '.join(bad)}")
    return tools
