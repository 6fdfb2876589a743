"""References from one call's arguments to an earlier call's result.

A reference is a Python object that only the application can place. Text or an object from the model
that looks like one is data, unless the application opts in to the place where it stands.

Thread-safe: immutable values, functions of their arguments. Tested by test_tools_schedule.py.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ..errors import PointerError
from .call import ToolCall
from .json_values import MAX_DEPTH
from .pointer import from_pointer, resolve, to_pointer

__all__ = ["Reference", "placed", "references_in", "with_references"]


@dataclass(frozen=True)
class Reference:
    """Stands in a call's arguments for a value of an earlier call's result.

    It is a Python object that only the application can place: text or an object from the model that
    looks like one is data (:func:`with_references` turns objects at named places into references).

    Attributes:
        call_id: The earlier call's id.
        pointer: JSON pointer into its result.
    """

    call_id: str
    pointer: str = ""


def with_references(call: ToolCall, places: Iterable[str]) -> ToolCall:
    """*call* with the objects at *places* (JSON pointers into its arguments) read as references.

    This is how an application lets a model refer to a result: it tells the model that at these
    places ``{"ref": CALL_ID, "pointer": POINTER}`` may stand, and opts in to just them. Whatever is
    not an object of exactly these two texts stays data.
    """
    arguments = call.arguments
    for place in places:
        try:
            value = resolve(arguments, place)
        except PointerError:
            continue
        if isinstance(value, dict) and value.keys() == {"ref", "pointer"}:
            target, pointer = value["ref"], value["pointer"]
            if isinstance(target, str) and isinstance(pointer, str):
                arguments = placed(arguments, place, Reference(target, pointer))
    return replace(call, arguments=arguments)


def references_in(call: Any, given: Mapping[str, Reference]) -> dict[str, Reference]:
    """Pointer -> reference, those in the arguments and those given beside them."""
    found: dict[str, Reference] = {}
    if not isinstance(call, ToolCall):
        return found
    waiting: list[tuple[str, Any, int]] = [("", call.arguments, 0)]
    while waiting:
        place, value, depth = waiting.pop()
        if depth > MAX_DEPTH:  # refused later by name; a ring must not hold up the plan
            continue
        if isinstance(value, Reference):
            found[place] = value
        elif isinstance(value, dict):
            for name, inner in value.items():
                waiting.append((place + to_pointer([str(name)]), inner, depth + 1))
        elif isinstance(value, list):
            waiting.extend((f"{place}/{i}", inner, depth + 1) for i, inner in enumerate(value))
    for place, reference in given.items():
        if not isinstance(reference, Reference):
            raise PointerError(place, f"no Reference: {type(reference).__name__}")
        placed(call.arguments, place, reference)
        found[place] = reference
    return found


def placed(arguments: Any, place: str, value: Any) -> Any:
    """*arguments* with *value* at *place*: an existing one replaced, or a new member of an object.

    Copies what lies on the way and nothing else.
    """
    tokens = from_pointer(place)
    if not tokens:
        return value
    return _put(arguments, tokens, value, place)


def _put(holder: Any, tokens: Sequence[str], value: Any, place: str) -> Any:
    token, rest = tokens[0], tokens[1:]
    if isinstance(holder, dict):
        if rest and token not in holder:
            raise PointerError(place, "nothing is there")
        inner = _put(holder[token], rest, value, place) if rest else value
        return {**holder, token: inner}
    if isinstance(holder, list) and token.isdecimal() and int(token) < len(holder):
        index = int(token)
        inner = _put(holder[index], rest, value, place) if rest else value
        return [*holder[:index], inner, *holder[index + 1 :]]
    raise PointerError(place, "nothing is there")
