"""A tool: what a model may ask for, and everything that decides whether it happens.

A tool is its definition (name, purpose, schemas: what the model is shown) together with what the
application alone knows (handler, effect, rules, limits). One schema is the predicate everywhere: it
is shown to the model, compiled to the grammar, and checked by the validator.

Nothing here is inferred in favour of running: the effect is ``"write"`` unless the application says
``"read"``, whatever a server's annotations claim; an option that does not exist raises; a rule that
could never be called as it must be raises at construction instead of being skipped later.

Immutable, so threads may share it. Tested by ``tests/test_tools_tool.py``.
"""

from __future__ import annotations

import difflib
import inspect
import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Literal, overload

from ..errors import ToolDefinitionError
from .canonical import digest
from .handler import Handler, is_async

if TYPE_CHECKING:
    from .validator import Validator

__all__ = ["StatusReport", "Tool", "ToolLimits"]

Effect = Literal["read", "write"]
State = Literal["completed", "failed", "running", "not_found", "unknown"]

MAX_DEPTH = 200  # of schemas, as of the JSON reader
_NAME = re.compile(r"[A-Za-z0-9_.:/-]{1,128}")
_STATES = ("completed", "failed", "running", "not_found", "unknown")


@dataclass(frozen=True)
class ToolLimits:
    """What one tool may use; reads have limits, too.

    Attributes:
        seconds: Time a handler may take, or None. A synchronous handler cannot be stopped: at the
            limit a write is ``uncertain``, and its thread stays tracked.
        result_bytes: Size of a result, as JSON, above which the model gets a reference instead; or
            None.
        calls_per_minute: Calls that may begin within any 60 seconds, or None.

    Raises:
        ToolDefinitionError: A limit is not a positive number of its kind.
    """

    seconds: float | None = 30.0
    result_bytes: int | None = 65536
    calls_per_minute: int | None = None

    def __post_init__(self) -> None:
        for name, kind in (("seconds", (int, float)), ("result_bytes", int)):
            self._check(name, kind)
        self._check("calls_per_minute", int)

    def _check(self, name: str, kind: Any) -> None:
        value = getattr(self, name)
        if value is None:
            return
        if isinstance(value, bool) or not isinstance(value, kind) or not 0 < value < math.inf:
            raise ToolDefinitionError(f"limits.{name} must be a positive number or None: {value!r}")


@dataclass(frozen=True)
class StatusReport:
    """What a tool's status look-up found out about an operation whose outcome is not known.

    Attributes:
        state: ``"completed"`` and ``"failed"`` (without effect) settle it; ``"running"`` and
            ``"unknown"`` do not; ``"not_found"`` does only with *final*.
        value: The result, where it completed.
        final: The receiver promises that an operation it does not know never took place and never
            will; without it, not found is inconclusive.
        arguments_digest: Digest of the arguments that the receiver has on record, if it tells; one
            that differs is about another operation.
        reference: The receiver's own name of the operation.
        evidence: ``"record"``, the receiver has this operation on record; ``"state"``, the
            wished-for state merely holds, which another actor may have brought about: weaker, and
            never completion.

    Raises:
        ToolDefinitionError: A state or kind of evidence that does not exist.
    """

    state: State
    value: Any = None
    final: bool = False
    arguments_digest: str | None = None
    reference: str | None = None
    evidence: Literal["record", "state"] = "record"

    def __post_init__(self) -> None:
        if self.state not in _STATES:
            raise ToolDefinitionError(f"state must be one of {', '.join(_STATES)}: {self.state!r}")
        if self.evidence not in ("record", "state"):
            raise ToolDefinitionError(f"evidence must be record or state: {self.evidence!r}")
        if not isinstance(self.final, bool):
            raise ToolDefinitionError(f"final must be True or False: {self.final!r}")


Check = Callable[[Any, Any], Any]
Rule = Callable[[Any, Any], Any]


@dataclass(frozen=True, eq=False, repr=False)
class Tool:
    """One tool.

    Attributes:
        name: 1 to 128 ASCII letters, digits and ``_ . : / -``; providers allow fewer, which
            :class:`ToolSet` checks at export.
        description: What it is for, told to the model. Not empty.
        parameters: JSON Schema of the arguments, an object. Copied; do not change it.
        handler: What does it; see :mod:`gramlock.tools.handler` for how it is called. May be a
            coroutine function. :class:`ToolError` raised by it means "no effect".
        result: JSON Schema of the result, or None for any JSON value.
        effect: ``"read"`` only where the application knows that nothing changes.
        checks: Semantic checks ``(arguments, context) -> violations``; all of them run, after the
            schema. The first is the handler's own: whether it can be called with these members.
        permission: ``(arguments, context) -> bool``; only ``True`` passes. None asks nobody.
        approval: ``"required"``, or ``(arguments, context) -> bool`` that tells whether an approval
            is needed, or None.
        preconditions: ``(arguments, context)`` on current state: violations, or False, refuse.
        postconditions: ``(arguments, result, context)``: violations, or False, mean that the result
            breaks its contract.
        status_lookup: ``(entry, context) -> StatusReport``, for writes that are uncertain.
        limits: Time, size of the result, rate.
        title: A name for people.
        binding: How the handler is called.
        digest: SHA-256, in hex, of what is shown to a model and of the effect. An approval binds to
            it: a changed definition is another tool.

    Raises:
        ToolDefinitionError: It contradicts itself; the message says where.
        TypeError: An option that does not exist.

    >>> ping = Tool("ping", "Answers.", {"type": "object"}, lambda arguments: "pong", effect="read")
    >>> ping
    <Tool ping: read>
    """

    name: str
    description: str
    parameters: dict[str, Any]
    handler: Callable[..., Any]
    result: dict[str, Any] | bool | None = field(default=None, kw_only=True)
    effect: Effect = field(default="write", kw_only=True)
    checks: Sequence[Check] = field(default=(), kw_only=True)
    permission: Rule | None = field(default=None, kw_only=True)
    approval: Literal["required"] | Rule | None = field(default=None, kw_only=True)
    preconditions: Sequence[Rule] = field(default=(), kw_only=True)
    postconditions: Sequence[Callable[[Any, Any, Any], Any]] = field(default=(), kw_only=True)
    status_lookup: Callable[[Any, Any], Any] | None = field(default=None, kw_only=True)
    limits: ToolLimits = field(default_factory=ToolLimits, kw_only=True)
    title: str | None = field(default=None, kw_only=True)
    binding: Handler = field(init=False)
    digest: str = field(init=False)

    def __post_init__(self) -> None:
        try:
            self._check_definition()
            self._check_rules()
            set_field = object.__setattr__
            set_field(self, "parameters", _plain(self.parameters, "parameters"))
            set_field(self, "result", _plain(self.result, "result"))
            set_field(self, "binding", Handler.of(self.handler, self.parameters))
            own = (_CallableWith(self.binding),) if self.binding.may_refuse else ()
            given = tuple(c for c in self.checks if not isinstance(c, _CallableWith))
            set_field(self, "checks", own + given)
            set_field(self, "digest", _digest(self))
        except ToolDefinitionError as error:
            raise ToolDefinitionError(f"tool {self.name!r}: {error}") from None

    @overload
    @classmethod
    def from_function(cls, function: Callable[..., Any], **options: Any) -> Tool: ...

    @overload
    @classmethod
    def from_function(cls, **options: Any) -> Callable[[Callable[..., Any]], Tool]: ...

    @classmethod
    def from_function(cls, function: Callable[..., Any] | None = None, **options: Any) -> Any:
        """A tool of a typed function: schemas from its annotations, texts from its docstring.

        The arguments are checked by the JSON Schema first; then pydantic builds the values that the
        function takes. What only pydantic finds is a violation of the domain. What the function
        returns is written as JSON by its return annotation. A parameter ``context`` without
        annotation, or annotated :class:`Context`, receives the trusted context and is not shown.

        Serves as a decorator, too: ``@Tool.from_function``, or with options
        ``@Tool.from_function(effect="read")``.

        Args:
            function: With an annotation for each parameter that a model fills.
            **options: As for :class:`Tool`; ``name``, ``description``, ``parameters`` and
                ``result`` override what was read.

        Raises:
            ToolDefinitionError: Annotations without JSON Schema, no description, an option that
                does not exist.
            MissingDependencyError: pydantic is not installed.
        """
        from .functions import tool_of

        if function is None:
            return lambda decorated: tool_of(cls, decorated, options)
        return tool_of(cls, function, options)

    @classmethod
    def from_dict(
        cls,
        definition: Mapping[str, Any],
        handler: Callable[..., Any] | None = None,
        **options: Any,
    ) -> Tool:
        """A tool of a definition as plain data: this class's own keys, or a provider's shape.

        Understood are ``{"name", "description", "parameters", ...}`` with any option of this class,
        OpenAI's ``{"type": "function", "function": {...}}`` (and the flat form), Anthropic's
        ``input_schema`` and MCP's ``inputSchema`` and ``outputSchema``. A provider's shape says
        nothing about effect and rules: they come from *options*.

        Raises:
            ToolDefinitionError: A key that does not exist, or as :class:`Tool` raises it.
        """
        return cls(**_options(definition, handler, options))

    @cached_property
    def validator(self) -> Validator:
        """The compiled check of arguments.

        Raises:
            InvalidSchemaError: The parameters are no JSON Schema.
            MissingDependencyError: jsonschema is not installed.
        """
        from .validator import Validator

        return Validator(self.parameters)

    @cached_property
    def result_validator(self) -> Validator | None:
        """The compiled check of results, or None where any result will do; raises alike."""
        from .validator import Validator

        return None if self.result is None else Validator(self.result)

    @property
    def is_async(self) -> bool:
        """Whether the handler is a coroutine function."""
        return self.binding.is_async

    @cached_property
    def async_rules(self) -> tuple[str, ...]:
        """Names of rules that are coroutine functions; a synchronous dispatcher refuses them."""
        rules = [("permission", self.permission), ("approval", self.approval)]
        for name in ("checks", "preconditions", "postconditions"):
            rules += [(f"{name}[{i}]", rule) for i, rule in enumerate(getattr(self, name))]
        rules.append(("status_lookup", self.status_lookup))
        return tuple(name for name, rule in rules if is_async(rule))

    def invoke_arguments(
        self, arguments: Mapping[str, Any], context: Any
    ) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """What the handler is called with: positional and keyword arguments.

        Only for arguments that passed the schema and the checks. Runs no part of the handler, so
        whatever it raises means that nothing was executed. The dicts are the handler's own.
        """
        return self.binding.bind(arguments, context)

    def _check_definition(self) -> None:
        if not isinstance(self.name, str) or not _NAME.fullmatch(self.name):
            raise ToolDefinitionError("the name must be 1 to 128 of A-Z a-z 0-9 _ . : / -")
        if not isinstance(self.description, str) or not self.description.strip():
            raise ToolDefinitionError("the description must be text, and not empty")
        if not (self.title is None or isinstance(self.title, str)):
            raise ToolDefinitionError("the title must be text")
        if self.effect not in ("read", "write"):
            raise ToolDefinitionError(f"effect must be 'read' or 'write', not {self.effect!r}")
        if not isinstance(self.limits, ToolLimits):
            raise ToolDefinitionError("limits must be ToolLimits")
        if not isinstance(self.parameters, Mapping):
            raise ToolDefinitionError("parameters must be a JSON Schema as a dict")
        kind = self.parameters.get("type", "object")
        if kind != "object" and not (isinstance(kind, list) and "object" in kind):
            raise ToolDefinitionError(
                "parameters must describe an object: calls have named members"
            )
        if not (self.result is None or isinstance(self.result, Mapping | bool)):
            raise ToolDefinitionError("result must be a JSON Schema, as a dict, or None")

    def _check_rules(self) -> None:
        if self.permission is not None:
            _check_rule("permission", self.permission, 2)
        if isinstance(self.approval, str) or not callable(self.approval):
            if self.approval not in (None, "required"):
                raise ToolDefinitionError(
                    f"approval must be 'required', a function or None, not {self.approval!r}"
                )
        else:
            _check_rule("approval", self.approval, 2)
        for name, count in (("checks", 2), ("preconditions", 2), ("postconditions", 3)):
            rules = getattr(self, name)
            if callable(rules):
                rules = (rules,)
            if isinstance(rules, str | bytes | Mapping) or not isinstance(rules, Sequence):
                raise ToolDefinitionError(f"{name} must be a list of functions")
            for index, rule in enumerate(rules):
                _check_rule(f"{name}[{index}]", rule, count)
            object.__setattr__(self, name, tuple(rules))
        if self.status_lookup is not None:
            _check_rule("status_lookup", self.status_lookup, 2)

    def __repr__(self) -> str:
        return f"<Tool {self.name}: {self.effect}>"


@dataclass(frozen=True)
class _CallableWith:
    """The check that every tool has: whether its handler can be called with these members."""

    binding: Handler
    name: ClassVar[str] = "handler"  # as violations give it

    def __call__(self, arguments: Mapping[str, Any], context: Any) -> Any:
        return self.binding.check(arguments, context)


def _digest(tool: Tool) -> str:
    shown = ("name", "title", "description", "parameters", "result", "effect")
    return digest({name: getattr(tool, name) for name in shown})


def _check_rule(name: str, rule: Any, count: int) -> None:
    """A rule that cannot be called with *count* arguments would only fail when it matters."""
    if not callable(rule):
        raise ToolDefinitionError(f"{name} must be a function, not {rule!r}")
    try:
        inspect.signature(rule).bind(*range(count))
    except TypeError:
        raise ToolDefinitionError(f"{name} must take {count} arguments") from None
    except ValueError:  # a builtin that does not tell
        return


def _plain(value: Any, where: str) -> Any:
    """A copy of a schema that is plain JSON, so that later changes cannot alter the definition."""
    copied: list[Any] = [None]
    waiting: list[tuple[Any, Any, Any, str, int]] = [(value, copied, 0, where, 0)]
    while waiting:
        here, holder, key, place, depth = waiting.pop()
        if depth > MAX_DEPTH:
            raise ToolDefinitionError(f"{where} is nested deeper than {MAX_DEPTH}")
        if isinstance(here, Mapping):
            holder[key] = made = dict.fromkeys(here)
            for name, member in here.items():
                if not isinstance(name, str):
                    raise ToolDefinitionError(
                        f"{place} has a member name that is no text: {name!r}"
                    )
                waiting.append((member, made, name, f"{place}.{name}", depth + 1))
        elif isinstance(here, list | tuple):
            holder[key] = items = [None] * len(here)
            for index, member in enumerate(here):
                waiting.append((member, items, index, f"{place}[{index}]", depth + 1))
        elif not (here is None or isinstance(here, str | bool | int | float)):
            raise ToolDefinitionError(f"{place} is not JSON: {type(here).__name__}")
        elif isinstance(here, float) and not math.isfinite(here):
            raise ToolDefinitionError(f"{place} is not JSON: {here}")
        else:
            holder[key] = here
    return copied[0]


_PROVIDER_KEYS = {"type", "strict", "annotations", "icons", "_meta", "cache_control"}
_RENAMED = {
    "input_schema": "parameters",
    "inputSchema": "parameters",
    "outputSchema": "result",
    "output_schema": "result",
}


def _options(
    definition: Mapping[str, Any], handler: Callable[..., Any] | None, options: dict[str, Any]
) -> dict[str, Any]:
    """The arguments of :class:`Tool` from a definition of any shape."""
    if not isinstance(definition, Mapping):
        raise ToolDefinitionError(f"a definition is a dict, not {type(definition).__name__}")
    inner, foreign = definition, "type" in definition
    if isinstance(definition.get("function"), Mapping):
        _refuse_unknown(definition, {"type", "function"})
        inner, foreign = definition["function"], True
    foreign = foreign or bool(_RENAMED.keys() & inner.keys())
    own = {f.name for f in fields(Tool) if f.init}
    shown = {"name", "title", "description", "parameters", "result"}
    _refuse_unknown(inner, shown | _PROVIDER_KEYS | _RENAMED.keys() if foreign else own)
    found = {_RENAMED.get(key, key): value for key, value in inner.items()}
    found = {key: value for key, value in found.items() if key not in _PROVIDER_KEYS}
    if isinstance(found.get("limits"), Mapping):
        _refuse_unknown(found["limits"], {f.name for f in fields(ToolLimits)})
        found["limits"] = ToolLimits(**found["limits"])
    _refuse_unknown(options, own)
    found.update(options)
    if handler is not None:
        found["handler"] = handler
    missing = [key for key in ("name", "description", "parameters", "handler") if key not in found]
    if missing:
        raise ToolDefinitionError(f"a definition lacks {', '.join(missing)}")
    return found


def _refuse_unknown(given: Mapping[str, Any], known: set[str]) -> None:
    for key in given:
        if key not in known:
            near = difflib.get_close_matches(str(key), known, 1)
            hint = f"; {near[0]!r} is meant?" if near else ""
            raise ToolDefinitionError(f"no such option: {key!r}{hint}")
