"""Fixers for :func:`gramlock.tools.run_with_repair`: spellings, chat clients, a local model.

===============  =================================================================================
``respell``      a pure function: a number that is written as a text, and the like; no model
``ChatFixer``    any chat client, as a function from messages to a reply
``ModelFixer``   a model of transformers, constrained by the same schema that checks the call
``first_of``     several of them: the first that knows a correction
===============  =================================================================================

A model is shown the tool's contract, the call as it is, and what is wrong with it now: nothing of
the rounds before but their number and, if the same errors came back, that. So a prompt is as long
in the tenth round as in the first, and a run costs the rounds times one prompt.

What a fixer returns is read as strictly as any call: constrained output, too.

``respell`` and ``first_of`` are thread-safe; a :class:`ChatFixer` is as far as its client is; a
:class:`ModelFixer` answers one thread at a time. Tested by tests/test_tools_fixers.py.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from ..errors import JsonTextError, NotJsonError, PointerError, ToolCallError, ToolDefinitionError
from .call import BrokenCall, ToolCall, parse_tool_call
from .changes import NAME
from .json_text import dumps, loads
from .pointer import Place, locate
from .repair import RepairAttempt, takes_history
from .toolset import ToolSet
from .violation import Violation

if TYPE_CHECKING:
    from ..integrations.generation import Model
    from .tool import Tool

__all__ = ["ChatFixer", "ModelFixer", "correction_prompt", "first_of", "respell"]

_SHOWN = 20
_FENCED = re.compile(r"\s*```[a-z]*\n(.*?)\n```\s*", re.DOTALL)
_LONGEST_NUMERAL = 400

Fixer = Callable[..., Any]


# ---- without a model


def respell(errors: Sequence[Violation], call: ToolCall | BrokenCall) -> ToolCall | None:
    """Write scalars of the wrong type as the type that is expected, where they mean the same.

    ``"5000"`` becomes 5000 where a number is expected and 5000 becomes ``"5000"`` where a text is;
    ``"true"`` becomes true. Nothing is guessed: ``"5,000"``, ``"yes"`` and an empty text stay.

    Returns:
        The corrected call, or None if there is nothing of that kind.
    """
    if not isinstance(call, ToolCall):
        return None
    arguments: Any = call.arguments
    changed = False
    for error in errors:
        if error.rule != "type" or error.property is not None:
            continue
        try:
            place, value = locate(arguments, error.pointer)
        except PointerError:
            continue
        spelled = _as(error.expected, value)
        if spelled is not None:
            arguments = _with(arguments, place, spelled)
            changed = True
    return replace(call, arguments=arguments) if changed and isinstance(arguments, dict) else None


def _as(kind: str, value: Any) -> Any:
    """The value as another type's, or None."""
    if kind == "boolean":
        return {"true": True, "false": False}.get(value) if isinstance(value, str) else None
    if kind == "string":
        number = isinstance(value, int | float | Decimal) and not isinstance(value, bool)
        return dumps(value) if number else None
    if kind not in ("integer", "number") or not isinstance(value, str):
        return None
    if len(value) > _LONGEST_NUMERAL or value != value.strip():
        return None
    try:
        found = loads(value)
    except JsonTextError:
        return None
    if isinstance(found, bool) or not isinstance(found, int | float | Decimal):
        return None
    return found if kind == "number" or isinstance(found, int) else None


def _with(value: Any, place: Place, part: Any) -> Any:
    """A copy of a value with something else at a place."""
    if not place:
        return part
    made: Any = dict(value) if isinstance(value, dict) else list(value)
    made[place[0]] = _with(value[place[0]], place[1:], part)
    return made


def first_of(*fixers: Fixer) -> Fixer:
    """A fixer that asks several, and returns the first correction that is none of the call itself.

    Raises:
        TypeError: One of them can be called neither with (errors, call) nor with a history.
    """
    known = [(fixer, takes_history(fixer)) for fixer in fixers]

    def fixer(errors: Any, call: Any, history: Any) -> Any:
        for one, wants_history in known:
            found = one(errors, call, history) if wants_history else one(errors, call)
            if found is not None and found != call:
                return found
        return None

    return fixer


# ---- what a model is told


def correction_prompt(
    tools: ToolSet,
    errors: Sequence[Violation],
    call: ToolCall | BrokenCall,
    history: Sequence[RepairAttempt] = (),
) -> str:
    """What a model is told that shall correct a call; as long in any round.

    Args:
        tools: What may be called; shown is the tool that the call names, or all if there is none.
        errors: What is wrong with the call.
        call: The call.
        history: The attempts so far.

    Returns:
        The contract, the call, the errors (at most 20 lines), and how to answer.
    """
    told = [
        _shown(tools, errors, call).to_prompt(),
        f"This call was refused:\n{_text(call)}",
        "What is wrong with it:\n" + "\n".join(_lines(errors)),
    ]
    if len(history) > 1:
        told.append(_remark(errors, history))
    told.append(
        "Write the corrected call as one JSON object and nothing else. Change only what is listed "
        "as wrong; copy everything else exactly."
    )
    return "\n\n".join(told)


def _shown(tools: ToolSet, errors: Iterable[Violation], call: ToolCall | BrokenCall) -> ToolSet:
    """The tools that a correction may call: that of the call, unless the name was the error."""
    about_name = any(error.boundary == NAME for error in errors)
    known = call.name is not None and call.name in tools
    return tools.only(call.name) if known and not about_name and call.name else tools


def _text(call: ToolCall | BrokenCall) -> str:
    if isinstance(call, BrokenCall):
        return f"(it could not be read: {call.message})"
    try:
        return dumps({"name": call.name, "arguments": call.arguments})
    except NotJsonError as error:
        return f"(it could not be read: {error})"


def _lines(errors: Sequence[Violation]) -> list[str]:
    lines = []
    for error in errors[:_SHOWN]:
        about = f" ({error.description})" if error.description else ""
        lines.append(f"- {error}{about}")
    if len(errors) > _SHOWN:
        lines.append(f"- and {len(errors) - _SHOWN} more")
    return lines


def _remark(errors: Sequence[Violation], history: Sequence[RepairAttempt]) -> str:
    count = len(history) - 1
    before = history[-2].errors
    same = bool(before) and [str(error) for error in before] == [
        str(error) for error in history[-1].errors
    ]
    more = " The last one left the same errors." if same else ""
    return f"Corrections refused so far: {count}.{more}"


# ---- chat clients


class ChatFixer:
    """A fixer that asks a chat client.

    Args:
        chat: Called with messages ``[{"role": ..., "content": ...}]``; returns the reply: its
            text, a call, or a :class:`Completion`. What it raises ends the run.
        tools: What may be called.
        system: A system message before the prompt.

    A text may stand in one code fence, as chat models like to write; nothing else may be around the
    call. Cost: one call of *chat*.
    """

    def __init__(
        self,
        chat: Callable[[list[dict[str, str]]], Any],
        tools: ToolSet | Iterable[Tool],
        *,
        system: str | None = None,
    ) -> None:
        self._chat = chat
        self._tools = tools if isinstance(tools, ToolSet) else ToolSet(tools)
        self._system = system

    def __call__(
        self,
        errors: Sequence[Violation],
        call: ToolCall | BrokenCall,
        history: Sequence[RepairAttempt] = (),
    ) -> ToolCall | BrokenCall:
        """The correction that the client proposes."""
        messages = [{"role": "system", "content": self._system}] if self._system else []
        messages.append(
            {
                "role": "user",
                "content": correction_prompt(self._tools, errors, call, history),
            }
        )
        return _read(self._chat(messages))


def _read(reply: Any) -> ToolCall | BrokenCall:
    """The one call of a reply."""
    if isinstance(reply, ToolCall | BrokenCall):
        return reply
    calls = getattr(reply, "calls", None)
    if calls is not None:
        if len(calls) == 1 and reply.status == "complete" and not isinstance(calls[0], BrokenCall):
            return parse_tool_call({"name": calls[0].name, "arguments": calls[0].arguments})
        message = f"a completion with {len(calls)} calls that ended as {reply.status!r:.40}"
        return BrokenCall(None, None, "call", message)
    if isinstance(reply, str):
        fenced = _FENCED.fullmatch(reply)
        reply = fenced[1] if fenced else reply
    try:
        return parse_tool_call(reply)
    except ToolCallError as error:
        return BrokenCall(None, None, "call", str(error))


# ---- a local model


class ModelFixer:
    """A fixer that asks a model of transformers, under the schema that the call is checked with.

    The correction is a call of the same tool, unless the name was the error: then of any. That it
    fits the schema is certain; that it is right is not, which the dispatcher's other checks and the
    comparison with the call decide.

    Args:
        model: From :func:`gramlock.integrations.generation.load_model`.
        tools: What may be called.
        max_new_tokens: Where an unfinished correction is cut off, which ends the run.
        temperature: Sample; None takes the likeliest token each time.
        seed: Of the sampling; each further round takes the next.
        prompt: Instead of :func:`correction_prompt`, with its arguments.

    Raises:
        MissingDependencyError: torch or transformers is not installed.

    Cost: the model's; a grammar is compiled once for each tool.
    """

    def __init__(
        self,
        model: Model,
        tools: ToolSet | Iterable[Tool],
        *,
        max_new_tokens: int = 512,
        temperature: float | None = None,
        seed: int | None = None,
        prompt: Callable[..., str] = correction_prompt,
    ) -> None:
        self._model = model
        self._tools = tools if isinstance(tools, ToolSet) else ToolSet(tools)
        self._max_new_tokens, self._temperature = max_new_tokens, temperature
        self._seed, self._prompt = seed, prompt
        self._processors: dict[tuple[str, ...], Any] = {}
        self._lock = threading.Lock()

    def __call__(
        self,
        errors: Sequence[Violation],
        call: ToolCall | BrokenCall,
        history: Sequence[RepairAttempt] = (),
    ) -> ToolCall | BrokenCall:
        """The correction that the model writes."""
        from ..integrations.generation import generate

        shown = _shown(self._tools, errors, call)
        prompt = self._prompt(self._tools, errors, call, history)
        seed = None if self._seed is None else self._seed + max(0, len(history) - 1)
        with self._lock:
            written = generate(
                self._model,
                self._processor(shown),
                prompt,
                max_new_tokens=self._max_new_tokens,
                temperature=self._temperature,
                seed=seed,
            )
        if not written.finished:
            message = f"the model did not end within {self._max_new_tokens} tokens"
            return BrokenCall(None, None, "call", message, "length")
        return _read(written.text)

    def _processor(self, tools: ToolSet) -> Any:
        """The constraint for a call of one of *tools*; made once, used again for each prompt."""
        from ..integrations.transformers import LogitsProcessor

        known = self._processors.get(tools.names)
        if known is None:
            known = self._processors[tools.names] = LogitsProcessor(
                _grammar(tools),
                self._model.tokenizer,
                generation_config=self._model.model.generation_config,
            )
        known.reset()
        return known


def _grammar(tools: ToolSet) -> Any:
    from ..grammar import Grammar

    if not len(tools):
        raise ToolDefinitionError("there are no tools to call")
    return Grammar.from_json_schema(tools.call_schema())
