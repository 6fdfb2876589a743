"""How a tool's handler takes its arguments, decided once, when the tool is made.

A call that the handler cannot take would raise ``TypeError`` after the intent to write was
recorded, and nobody could tell whether something had happened. So a signature that contradicts the
schema is refused at construction, and what only a call can show (a member that the schema allows
and the handler has no parameter for) is found by :meth:`Handler.check`, before anything runs.

Conventions, by the parameters of the function:

==================================  ============================================================
parameters                          receive
==================================  ============================================================
named like properties, or ``**kw``  the members, by keyword
one that is no property             the arguments as one dict, by position
two that are no properties          the arguments and the context, by position
``context``, if no property         the trusted context, besides any of the above
==================================  ============================================================

Parameters with a default that are no properties keep their default. Immutable, thread-safe.
Tested by ``tests/test_tools_tool.py``.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from ..errors import ToolDefinitionError
from .violation import Violation

__all__ = ["Handler", "is_async", "is_generator", "property_names"]

_POSITIONAL = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
_NAMED = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
_MAX_SCHEMAS = 1000  # looked at for names of properties


def is_async(function: Any) -> bool:
    """Whether calling *function* gives a coroutine, as far as its definition tells."""
    while isinstance(function, functools.partial):
        function = function.func
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(
        getattr(function, "__call__", None)  # noqa: B004 - its kind is asked for, not whether it is
    )


def is_generator(function: Any) -> bool:
    """Whether calling *function* runs nothing of it, since it is a generator."""
    while isinstance(function, functools.partial):
        function = function.func
    kinds = (inspect.isgeneratorfunction, inspect.isasyncgenfunction)
    called = getattr(function, "__call__", None)  # noqa: B004 - as above
    return any(kind(function) or kind(called) for kind in kinds)


def property_names(schema: Any) -> frozenset[str]:
    """Names of members that *schema* speaks of at its root, through ``$ref`` and combinators."""
    names: set[str] = set()
    waiting, seen = [schema], 0
    while waiting and seen < _MAX_SCHEMAS:
        seen += 1
        here = waiting.pop()
        if not isinstance(here, Mapping):
            continue
        properties = here.get("properties")
        names.update(properties if isinstance(properties, Mapping) else ())
        for key in ("allOf", "anyOf", "oneOf"):
            branches = here.get(key)
            waiting.extend(branches if isinstance(branches, list) else ())
        waiting.extend(here[key] for key in ("if", "then", "else") if key in here)
        waiting.extend(_target(schema, here.get("$ref")))
    return frozenset(names)


def _target(schema: Any, reference: Any) -> Iterator[Any]:
    """What a reference inside the document points to."""
    if not isinstance(reference, str) or not reference.startswith("#/"):
        return
    for part in reference[2:].split("/"):
        part = part.replace("~1", "/").replace("~0", "~")
        if not isinstance(schema, Mapping) or part not in schema:
            return
        schema = schema[part]
    yield schema


@dataclass(frozen=True)
class Handler:
    """A function and how to call it.

    Attributes:
        function: What the application gave.
        style: ``"members"`` (by keyword), ``"arguments"`` (one dict) or ``"both"`` (dict, context).
        takes: Names that may be passed by keyword; None for any (``**kwargs``).
        needs: Names of parameters without a default.
        context: Whether the context is passed by the keyword ``context``.
        is_async: Whether it is a coroutine function.
        whole: Name of the parameter that gets the one dict, where it cannot go by position since
            the context stands before it; else None.
    """

    function: Callable[..., Any]
    style: str
    takes: frozenset[str] | None
    needs: frozenset[str]
    context: bool
    is_async: bool
    whole: str | None

    @property
    def may_refuse(self) -> bool:
        """Whether :meth:`check` can find anything."""
        return self.style == "members" and (
            self.takes is not None or self.context or bool(self.needs)
        )

    @classmethod
    def of(cls, function: Any, schema: Mapping[str, Any]) -> Handler:
        """Reads the signature of *function*.

        Raises:
            ToolDefinitionError: It is not callable, needs what the schema does not name, or cannot
                take what the schema names.
        """
        if isinstance(function, Handler):
            return function
        if not callable(function):
            raise ToolDefinitionError(f"handler must be callable, not {type(function).__name__}")
        if is_generator(function):
            raise ToolDefinitionError("the handler is a generator: calling it would run nothing")
        properties = property_names(schema)
        try:
            parameters = list(inspect.signature(function).parameters.values())
        except (TypeError, ValueError):  # a builtin that does not tell
            asynchronous = is_async(function)
            return cls(function, "arguments", frozenset(), frozenset(), False, asynchronous, None)
        context = "context" not in properties and any(
            p.name == "context" and p.kind in _NAMED for p in parameters
        )
        others = [p for p in parameters if not (context and p.name == "context")]
        named = {p.name for p in others}
        free = [p for p in others if p.kind in _POSITIONAL and p.default is p.empty]
        free = [p for p in free if p.name not in properties]
        optional = [p for p in others if p.kind is p.VAR_POSITIONAL]
        kwargs = any(p.kind is p.VAR_KEYWORD for p in others)
        if not kwargs and (free or optional) and not named & properties:
            return cls._of_whole(function, free, parameters, context)
        return cls._of_members(function, others, kwargs, properties, context)

    @classmethod
    def _of_whole(
        cls,
        function: Callable[..., Any],
        free: list[inspect.Parameter],
        parameters: list[inspect.Parameter],
        context: bool,
    ) -> Handler:
        """One dict, perhaps with the context."""
        others = [p for p in parameters if not (context and p.name == "context")]
        needed = [p.name for p in others if p.kind is p.KEYWORD_ONLY and p.default is p.empty]
        if len(free) > (1 if context else 2) or needed:
            names = ", ".join([p.name for p in free] + needed)
            raise ToolDefinitionError(f"the handler needs {names}: no properties of the schema")
        style = "both" if len(free) == 2 else "arguments"
        whole = None
        if context and parameters[0].name == "context":
            if not free or free[0].kind is inspect.Parameter.POSITIONAL_ONLY:
                raise ToolDefinitionError("the handler takes the arguments after the context")
            whole = free[0].name
        nothing: frozenset[str] = frozenset()
        return cls(function, style, nothing, nothing, context, is_async(function), whole)

    @classmethod
    def _of_members(
        cls,
        function: Callable[..., Any],
        others: list[inspect.Parameter],
        kwargs: bool,
        properties: frozenset[str],
        context: bool,
    ) -> Handler:
        """Each member by keyword."""
        named = frozenset(p.name for p in others if p.kind in _NAMED)
        needs = frozenset(
            p.name
            for p in others
            if p.default is p.empty and p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)
        )
        by_position = [p.name for p in others if p.kind is p.POSITIONAL_ONLY]
        if by_position:
            raise ToolDefinitionError(
                f"the handler takes {', '.join(by_position)} by position, but members have names"
            )
        strange = sorted(needs - properties) if properties or not kwargs else []
        if strange:
            raise ToolDefinitionError(
                f"the handler needs {', '.join(strange)}: no properties of the schema"
            )
        lacking = [] if kwargs else sorted(properties - named)
        if lacking:
            raise ToolDefinitionError(
                f"the handler cannot take {', '.join(lacking)}, which the schema names"
            )
        takes = None if kwargs else named & properties
        return cls(function, "members", takes, needs, context, is_async(function), None)

    def check(self, arguments: Mapping[str, Any], context: Any = None) -> list[Violation]:
        """Whether a call can be made at all: members without a parameter, and the reverse."""
        if self.style != "members":
            return []
        found = [
            Violation("", "required", "required", property=name, boundary="domain")
            for name in sorted(self.needs - arguments.keys())
        ]
        if self.takes is not None:
            extra = sorted(arguments.keys() - self.takes)
        else:  # a member of that name must not stand for the trusted context
            extra = ["context"] if self.context and "context" in arguments else []
        found += [
            Violation(
                "", "additionalProperties", "no such member", property=name, boundary="domain"
            )
            for name in extra
        ]
        return found

    def bind(
        self, arguments: Mapping[str, Any], context: Any
    ) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Positional and keyword arguments of one call."""
        given = _copied(dict(arguments))
        trusted = {"context": context} if self.context else {}
        if self.style == "members":
            return (), {**given, **trusted}
        if self.whole is not None:
            return (), {self.whole: given, **trusted}
        if self.style == "both":
            return (given, context), trusted
        return (given,), trusted


def _copied(value: Any) -> Any:
    """Containers anew, so that a handler cannot change the call; depth is limited by the reader."""
    if isinstance(value, dict):
        return {name: _copied(member) for name, member in value.items()}
    return [_copied(item) for item in value] if isinstance(value, list) else value
