"""JSON Schemas of Python types, by pydantic.

Everything that pydantic describes: its models, dataclasses, ``TypedDict``, ``NamedTuple``,
``Literal``, ``Enum``, unions, containers, dates, ``Annotated`` constraints, and functions, whose
schema is an object of their parameters.
"""

from __future__ import annotations

import functools
import inspect
from typing import Any, get_type_hints

from .errors import GrammarError, MissingDependencyError

__all__ = ["schema_of"]


def schema_of(kind: Any, *, closed: bool = True) -> dict[str, Any]:
    """The JSON Schema (2020-12) of the values that *kind* takes.

    Args:
        kind: A type, or a function whose parameters are meant.
        closed: Objects of declared fields have no others unless the type asks for them
            (``extra="allow"``, ``**kwargs``). pydantic itself would drop them unread.

    Raises:
        GrammarError: It has no JSON Schema, or takes parameters by position only.
        MissingDependencyError: pydantic is not installed.

    >>> schema_of(list[int])
    {'items': {'type': 'integer'}, 'type': 'array'}
    """
    try:
        from pydantic import TypeAdapter
        from pydantic.errors import PydanticUserError
    except ImportError:
        raise MissingDependencyError("pydantic", "types") from None
    _check_parameters(kind)
    try:
        kind = _unwrapped(kind)
        return dict(TypeAdapter(kind).json_schema(schema_generator=_generator(closed)))
    except (PydanticUserError, NameError) as error:
        reason = str(error).partition("\n\nFor further information")[0]
        raise GrammarError(f"{_name(kind)} has no JSON Schema: {reason}") from error


def _name(kind: Any) -> str:
    return str(getattr(kind, "__qualname__", None) or kind)


def _check_parameters(kind: Any) -> None:
    """Refuses functions whose parameters have no names for JSON."""
    if isinstance(kind, type) or not (
        inspect.isroutine(kind) or isinstance(kind, functools.partial)
    ):
        return
    try:
        parameters = inspect.signature(kind).parameters.values()
    except ValueError:
        raise GrammarError(f"{_name(kind)} does not tell what parameters it takes") from None
    for parameter in parameters:
        if parameter.kind in (parameter.POSITIONAL_ONLY, parameter.VAR_POSITIONAL):
            raise GrammarError(
                f"{_name(kind)} takes {parameter} by position, but a JSON object has names only"
            )


def _unwrapped(kind: Any) -> Any:
    """A partial function as a plain one, so that names in its annotations are found."""
    if not isinstance(kind, functools.partial):
        return kind

    def call() -> None: ...

    call.__signature__ = inspect.signature(kind)  # type: ignore[attr-defined]
    call.__annotations__ = get_type_hints(kind.func, include_extras=True)
    return call


@functools.cache
def _generator(closed: bool) -> Any:
    """The class that writes the schemas."""
    from pydantic.json_schema import GenerateJsonSchema

    class Generator(GenerateJsonSchema):  # type: ignore[misc]
        def decimal_schema(self, schema: Any) -> Any:
            """Numbers only: the other branch, strings, says nothing about the value."""
            written = super().decimal_schema(schema)
            branches = written.get("anyOf", [written])
            return next(branch for branch in branches if branch.get("type") != "string")

    class ClosedGenerator(Generator):
        def model_schema(self, schema: Any) -> Any:
            return _closed(super().model_schema(schema))

        def dataclass_schema(self, schema: Any) -> Any:
            return _closed(super().dataclass_schema(schema))

        def typed_dict_schema(self, schema: Any) -> Any:
            return _closed(super().typed_dict_schema(schema))

    return ClosedGenerator if closed else Generator


def _closed(schema: dict[str, Any]) -> dict[str, Any]:
    if schema.get("type") == "object" and "properties" in schema:
        schema.setdefault("additionalProperties", False)
    return schema
