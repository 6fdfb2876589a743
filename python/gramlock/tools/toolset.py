"""A registry of tools: unique names, one report per tool, definitions for every provider.

One schema that cannot be compiled, or a name that one provider does not take, is that tool's fault
alone: the report names it, and the others work. Immutable, so threads may share it.
Tested by ``tests/test_tools_toolset.py`` and ``tests/test_tools_exports.py``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ..errors import GramlockError, MissingDependencyError, ToolDefinitionError
from . import exports
from .tool import Tool

if TYPE_CHECKING:
    from ..compiler import Program
    from ..grammar import Grammar
    from ..schema import Report
    from ..vocabulary import Vocabulary

__all__ = ["ToolReport", "ToolSet"]


@dataclass(frozen=True)
class ToolReport:
    """What became of one tool's schemas.

    Attributes:
        name: The tool's.
        grammar: The texts of valid arguments, or None where the schema could not be compiled.
        program: The grammar for the vocabulary that was given, or None.
        problems: Part of the tool -> what is wrong: ``"parameters"`` (no grammar), ``"program"``
            (none for this vocabulary), ``"validator"`` and ``"result"`` (no check: calls of such a
            tool are rejected). Empty where all is well.
        names: Provider -> why it does not take the tool's name.
    """

    name: str
    grammar: Grammar | None
    program: Program | None
    problems: Mapping[str, GramlockError]
    names: Mapping[str, str]

    @property
    def ok(self) -> bool:
        """Whether the tool can be constrained and checked."""
        return not self.problems

    @property
    def keywords(self) -> Report | None:
        """What became of each keyword of the parameters' schema, or None without a grammar."""
        return self.grammar.report if self.grammar is not None else None

    def __str__(self) -> str:
        lines = [f"{self.name}: {'ok' if self.ok else 'not usable as it stands'}"]
        lines += [f"  {part}: {error}" for part, error in self.problems.items()]
        lines += [f"  name: not for {provider}: {why}" for provider, why in self.names.items()]
        return "\n".join(lines)


class ToolSet:
    """Tools by name, in the order given.

    Args:
        tools: With names that differ.

    Raises:
        ToolDefinitionError: A name that occurs twice, or something that is no :class:`Tool`.

    >>> ping = Tool("ping", "Answers.", {"type": "object"}, lambda arguments: "pong", effect="read")
    >>> tools = ToolSet([ping])
    >>> tools.names, tools["ping"] is ping, "PING" in tools
    (('ping',), True, False)
    """

    def __init__(self, tools: Iterable[Tool] = ()) -> None:
        found: dict[str, Tool] = {}
        for tool in tools:
            if not isinstance(tool, Tool):
                raise ToolDefinitionError(f"a ToolSet holds Tools, not {type(tool).__name__}")
            if tool.name in found:
                raise ToolDefinitionError(f"two tools have the name {tool.name!r}")
            found[tool.name] = tool
        self._tools = found

    @property
    def names(self) -> tuple[str, ...]:
        """Names in order."""
        return tuple(self._tools)

    def __getitem__(self, name: str) -> Tool:
        """The tool of exactly that name; no trimming, no folding, no nearest match.

        Raises:
            KeyError: There is none; the message lists the names.
        """
        try:
            return self._tools[name]
        except (KeyError, TypeError):
            raise KeyError(f"no tool {name!r}; there are: {', '.join(self._tools)}") from None

    def get(self, name: Any) -> Tool | None:
        """The tool of exactly that name, or None."""
        return self._tools.get(name) if isinstance(name, str) else None

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and name in self._tools

    def __iter__(self) -> Iterator[Tool]:
        return iter(self._tools.values())

    def __len__(self) -> int:
        return len(self._tools)

    def __repr__(self) -> str:
        return f"<ToolSet: {', '.join(self._tools)}>"

    def with_tools(self, *tools: Tool) -> ToolSet:
        """A set with *tools* as well; raises as the constructor does."""
        return ToolSet([*self, *tools])

    def only(self, *names: str) -> ToolSet:
        """A set of these tools; KeyError for a name that is not here."""
        return ToolSet([self[name] for name in names])

    def compile(
        self, vocab: Vocabulary | None = None, *, validators: bool = True, **options: Any
    ) -> dict[str, ToolReport]:
        """Compiles each tool's schemas, and says what became of them.

        A tool whose schema cannot be compiled does not keep the others from it.

        Args:
            vocab: Tokenizer to compile the grammars for, or None for the grammars alone.
            validators: Compile the checks of arguments and results, too.
            **options: For the grammars, as :meth:`gramlock.Grammar.from_json_schema` takes them.

        Raises:
            MissingDependencyError: *validators* without jsonschema.
            TypeError: An option that does not exist.

        Cost: a schema's compilation per tool; nothing is kept here but the validators.
        """
        return {tool.name: _compiled(tool, vocab, validators, options) for tool in self}

    def to_openai(self, *, strict: bool = False) -> list[dict[str, Any]]:
        """The ``tools`` of OpenAI's chat completions; raises as :func:`exports.openai`."""
        return exports.openai(self, strict=strict)

    def to_openai_responses(self, *, strict: bool = False) -> list[dict[str, Any]]:
        """The ``tools`` of OpenAI's responses; raises as :func:`exports.openai`."""
        return exports.openai_responses(self, strict=strict)

    def to_anthropic(self) -> list[dict[str, Any]]:
        """The ``tools`` of Anthropic's messages; raises as :func:`exports.anthropic`."""
        return exports.anthropic(self)

    def to_gemini(self) -> list[dict[str, Any]]:
        """The ``tools`` of Gemini; raises as :func:`exports.gemini`."""
        return exports.gemini(self)

    def to_bedrock(self) -> dict[str, Any]:
        """The ``toolConfig`` of Bedrock Converse; raises as :func:`exports.bedrock`."""
        return exports.bedrock(self)

    def to_mcp(self) -> list[dict[str, Any]]:
        """The ``tools`` of an MCP ``tools/list`` result; raises as :func:`exports.mcp`."""
        return exports.mcp(self)

    def to_huggingface(self) -> list[dict[str, Any]]:
        """The ``tools`` of ``apply_chat_template``."""
        return exports.huggingface(self)

    def call_schema(self) -> dict[str, Any]:
        """JSON Schema of a call of any tool, with its name; see :func:`exports.call_schema`."""
        return exports.call_schema(self)

    def to_prompt(self) -> str:
        """The contract as text, for models without tools of their own: :func:`exports.prompt`."""
        return exports.prompt(self)


def _compiled(
    tool: Tool, vocab: Vocabulary | None, validators: bool, options: Mapping[str, Any]
) -> ToolReport:
    from ..grammar import Grammar

    problems: dict[str, GramlockError] = {}
    grammar = program = None
    try:
        grammar = Grammar.from_json_schema(exports.object_schema(tool.parameters), **options)
        if vocab is not None:
            program = vocab.compile(grammar)
    except GramlockError as error:
        problems["program" if grammar is not None else "parameters"] = error
    for part, attribute in (("validator", "validator"), ("result", "result_validator")):
        try:
            if validators:
                getattr(tool, attribute)
        except MissingDependencyError:
            raise
        except GramlockError as error:
            problems[part] = error
    return ToolReport(tool.name, grammar, program, problems, exports.name_problems(tool.name))
