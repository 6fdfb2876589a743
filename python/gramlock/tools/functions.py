"""Tools from typed functions: JSON Schema first, then pydantic.

::

    arguments ──schema──▸ right in shape ──pydantic──▸ values ──▸ function ──▸ result as JSON
              (schema violations)     (domain violations)

pydantic alone would take ``true`` and ``"5000"`` for an integer. Here the schema has refused every
such value before; what is left for pydantic is to build dates, models and the like, and to run
the validators that no schema can express. What it then finds is a violation of the domain, not of
the schema. Values are built from the parsed arguments, not from text again, since pydantic reads
numbers in text as doubles and would lose digits of a ``Decimal``.

Values are built twice, by the check and for the call, so validators must not have effects.
Immutable, thread-safe as far as the function is. Tested by ``tests/test_tools_functions.py``.
"""

from __future__ import annotations

import dataclasses
import functools
import inspect
import math
import re
import types
import typing
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Any, get_type_hints

from ..errors import GrammarError, MissingDependencyError, ToolDefinitionError
from .handler import Handler, is_async, is_generator
from .json_values import fault_in
from .pointer import to_path, to_pointer
from .violation import Violation

if TYPE_CHECKING:
    from .tool import Tool

__all__ = ["TypedFunction", "tool_of"]

_MAX_VALUES = 1_000_000  # looked at for an infinity
_SECTION = re.compile(r"^(Args|Arguments|Parameters|Returns|Yields|Raises|Examples?|Notes?):\s*$")
_ENTRY = re.compile(r"^(\s+)\*{0,2}(\w+)(?:\s*\([^)]*\))?:\s*(.*)$")


@dataclass(frozen=True)
class TypedFunction(Handler):
    """A function whose parameters and result pydantic knows.

    Attributes:
        values: pydantic's adapter from a dict of members to a dict of values.
        results: pydantic's adapter that writes results as JSON, or None where the function does
            not say what it returns.
    """

    values: Any
    results: Any

    @property
    def may_refuse(self) -> bool:
        """Always: pydantic's validators may refuse what the schema allows."""
        return True

    def check(self, arguments: Mapping[str, Any], context: Any = None) -> list[Violation]:
        """What pydantic finds wrong with arguments that satisfy the schema.

        An error of a validator that is none of pydantic's passes through: a check that raises.
        """
        from pydantic import ValidationError

        try:
            built = self.values.validate_python(dict(arguments))
        except ValidationError as error:
            return [
                _violation(found, arguments)
                for found in error.errors(include_url=False, include_context=False)
            ]
        huge = [to_pointer(place) for place, number in _decimals(arguments) if _is_huge(number)]
        if not huge or not _holds_infinity(built):
            return []
        return [
            Violation(place, "float_overflow", "a number that a double can hold", boundary="domain")
            for place in huge
        ]

    def bind(
        self, arguments: Mapping[str, Any], context: Any
    ) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """The values, by keyword.

        Raises:
            pydantic.ValidationError: The check would have found it.
        """
        (_, members) = super().bind(arguments, context)
        trusted = {"context": members.pop("context")} if self.context else {}
        return (), {**self.values.validate_python(members), **trusted}

    def __call__(self, **values: Any) -> Any:
        """Calls the function; its result as JSON, or as it is where it cannot be written so."""
        if self.is_async:
            return self._later(values)
        return self._written(self.function(**values))

    async def _later(self, values: dict[str, Any]) -> Any:
        return self._written(await self.function(**values))

    def _written(self, value: Any) -> Any:
        # The effect has happened: a result that cannot be written is for the check of results.
        if type(value).__module__ == "gramlock.tools.outcome":
            return value
        if self.results is None and fault_in(value) is None:
            return value  # JSON already, and nobody said that its numbers should be text
        try:
            return (self.results or _anything()).dump_python(value, mode="json", warnings=False)
        except Exception:
            return value


def tool_of(kind: type[Tool], function: Callable[..., Any], options: dict[str, Any]) -> Tool:
    """See :meth:`Tool.from_function`."""
    if not callable(function):
        raise ToolDefinitionError(f"not a function: {function!r}")
    name = options.get("name", getattr(function, "__name__", None))
    try:
        signature, hints = _read(function)
        context = _context_parameter(signature, hints)
        values, parameters = _parameters(signature, hints, context)
        result, results = _result(hints, "result" in options)
    except ToolDefinitionError as error:
        raise ToolDefinitionError(f"tool {name!r}: {error}") from error.__cause__
    described, members = _docstring(function)
    for member, text in members.items():
        schema = parameters.get("properties", {}).get(member)
        if isinstance(schema, dict):
            schema.setdefault("description", text)
    if is_generator(function):
        raise ToolDefinitionError(f"tool {name!r}: a generator: calling it would run nothing")
    typed = TypedFunction(
        function=_renamed_context(function, context),
        style="members",
        takes=None,
        needs=frozenset(),
        context=context is not None,
        is_async=is_async(function),
        whole=None,
        values=values,
        results=results,
    )
    read = {
        "name": name,
        "description": described,
        "parameters": parameters,
        "result": result,
    }
    return kind(**{**read, "handler": typed, **options})


def _read(function: Callable[..., Any]) -> tuple[inspect.Signature, dict[str, Any]]:
    """Signature and annotations, the latter as objects."""
    source = function if inspect.isroutine(function) else getattr(function, "func", function)
    if not inspect.isroutine(source):
        source = type(source).__call__
    try:
        return inspect.signature(function), _hints(source)
    except (NameError, TypeError, ValueError) as error:
        raise ToolDefinitionError(f"its annotations cannot be read: {error}") from error


def _hints(source: Any) -> dict[str, Any]:
    """Annotations as objects. Written as text, they may name what is local to the function that
    makes the tool; as pydantic does, the callers' names are tried, the nearest first."""
    frame: Any = inspect.currentframe()
    names: dict[str, Any] | None = None
    while True:
        try:
            return get_type_hints(source, localns=names, include_extras=True)
        except NameError:
            while frame is not None and frame.f_globals.get("__package__") == __package__:
                frame = frame.f_back
            if frame is None:
                raise
            frame, names = frame.f_back, {**frame.f_locals, **(names or {})}


def _context_parameter(signature: inspect.Signature, hints: Mapping[str, Any]) -> str | None:
    """Name of the parameter that receives the trusted context."""
    found = [
        p.name
        for p in signature.parameters.values()
        if (p.name not in hints and p.name == "context") or _is_context(hints.get(p.name))
    ]
    if len(found) > 1:
        raise ToolDefinitionError(f"two parameters for one context: {', '.join(found)}")
    return found[0] if found else None


def _is_context(hint: Any) -> bool:
    # By name: this module stands below the one that defines it.
    if getattr(hint, "__module__", "") == "gramlock.tools.context":
        return getattr(hint, "__name__", "") == "Context"
    return _is_union(hint) and any(_is_context(inner) for inner in typing.get_args(hint))


def _is_union(hint: Any) -> bool:
    return typing.get_origin(hint) in (typing.Union, types.UnionType)


def _renamed_context(function: Callable[..., Any], name: str | None) -> Callable[..., Any]:
    """*function*, taking its context as ``context``."""
    if name in (None, "context"):
        return function

    def renamed(context: Any, **values: Any) -> Any:
        return function(**{str(name): context}, **values)

    return renamed


def _parameters(
    signature: inspect.Signature, hints: Mapping[str, Any], context: str | None
) -> tuple[Any, dict[str, Any]]:
    """The adapter that builds the values, and the schema of the members."""
    try:
        from pydantic import TypeAdapter
    except ImportError:
        raise MissingDependencyError("pydantic", "types") from None
    from ..types import schema_of

    shown = [p for p in signature.parameters.values() if p.name != context]
    bare = [p.name for p in shown if p.name not in hints]
    if bare:
        raise ToolDefinitionError(f"parameters without annotation: {', '.join(bare)}")

    def members(**values: Any) -> dict[str, Any]:
        return values

    members.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
        [p.replace(annotation=hints[p.name]) for p in shown]
    )
    members.__name__ = members.__qualname__ = "it"  # as messages say, after the tool's name
    members.__annotations__ = {p.name: hints[p.name] for p in shown}
    try:
        schema = schema_of(members)
        return TypeAdapter(members), schema
    except GrammarError as error:
        raise ToolDefinitionError(str(error)) from error


def _result(hints: Mapping[str, Any], stated: bool) -> tuple[dict[str, Any] | None, Any]:
    """The schema of results by the return annotation, and the adapter that writes them."""
    from pydantic import TypeAdapter
    from pydantic.errors import PydanticUserError

    if "return" not in hints:
        return None, None
    hint = hints["return"]
    if _is_union(hint):  # an operation that was merely accepted has no result yet
        kept = [inner for inner in typing.get_args(hint) if not _is_accepted(inner)]
        hint = typing.Union[tuple(kept)] if kept else Any  # noqa: UP007
    elif _is_accepted(hint):
        return None, None
    try:
        adapter = TypeAdapter(hint)
        return dict(adapter.json_schema(mode="serialization")), adapter
    except PydanticUserError as error:
        if stated:
            return None, None
        reason = str(error).partition("\n")[0]
        raise ToolDefinitionError(
            f"the return annotation has no JSON Schema ({reason}); state result="
        ) from error


@functools.cache
def _anything() -> Any:
    from pydantic import TypeAdapter

    return TypeAdapter(Any)


def _decimals(value: Any) -> Iterator[tuple[tuple[str | int, ...], Decimal]]:
    """The numbers in JSON data that no double holds, and where."""
    waiting: list[tuple[tuple[str | int, ...], Any]] = [((), value)]
    while waiting:
        place, here = waiting.pop()
        if isinstance(here, dict):
            waiting += [((*place, name), member) for name, member in here.items()]
        elif isinstance(here, list):
            waiting += [((*place, index), item) for index, item in enumerate(here)]
        elif isinstance(here, Decimal):
            yield place, here


def _is_huge(number: Decimal) -> bool:
    return number.adjusted() >= 308 and math.isinf(float(number))


def _holds_infinity(values: Any) -> bool:
    """Whether a number became infinite in the values that were built, inside models, too."""
    waiting, seen = [values], 0
    while waiting and seen < _MAX_VALUES:
        seen += 1
        here = waiting.pop()
        if isinstance(here, float) and math.isinf(here):
            return True
        if isinstance(here, dict):
            waiting.extend(here.values())
        elif isinstance(here, list | tuple | set | frozenset):
            waiting.extend(here)
        elif hasattr(type(here), "__pydantic_fields__") or dataclasses.is_dataclass(here):
            waiting.extend(vars(here).values())
    return bool(waiting)


def _is_accepted(hint: Any) -> bool:
    return (getattr(hint, "__module__", ""), getattr(hint, "__name__", "")) == (
        "gramlock.tools.outcome",
        "Accepted",
    )


def _violation(found: Mapping[str, Any], arguments: Mapping[str, Any]) -> Violation:
    """One of pydantic's errors. Its location also names branches and validators: what the
    arguments do not have ends the pointer."""
    parts: list[str | int] = []
    here: Any = arguments
    for part in found["loc"]:
        known = isinstance(here, Mapping) and part in here
        if known or (isinstance(here, list) and isinstance(part, int) and part < len(here)):
            here = here[part]
            parts.append(part)
    kind, message = str(found["type"]), str(found["msg"])
    if kind in ("value_error", "assertion_error"):
        message = message.partition(", ")[2] or message
    missing = str(found["loc"][-1]) if kind.startswith("missing") and found["loc"] else None
    return Violation(
        to_pointer(parts),
        kind,
        message,
        property=missing,
        path=to_path(parts if missing is None else [*parts, missing]),
        boundary="domain",
    )


def _docstring(function: Any) -> tuple[str, dict[str, str]]:
    """The text before the first section, and what ``Args:`` says of each parameter."""
    lines = (inspect.getdoc(function) or "").splitlines()
    starts = [index for index, line in enumerate(lines) if _SECTION.match(line)]
    described = "\n".join(lines[: starts[0]] if starts else lines).strip()
    members: dict[str, str] = {}
    for start in starts:
        if not lines[start].startswith(("Args", "Arguments", "Parameters")):
            continue
        members.update(_entries(lines[start + 1 :]))
    return described, members


def _entries(lines: list[str]) -> dict[str, str]:
    """``name: text`` entries of one section, with the lines that go on."""
    found: dict[str, str] = {}
    name, indent = "", -1
    for line in lines:
        if line.strip() and not line[0].isspace():
            break
        entry = _ENTRY.match(line)
        if entry and (indent < 0 or len(entry[1]) == indent):
            name, indent = entry[2], len(entry[1])
            found[name] = entry[3].strip()
        elif name and line.strip():
            found[name] = f"{found[name]} {line.strip()}".strip()
    return {name: text for name, text in found.items() if text}
