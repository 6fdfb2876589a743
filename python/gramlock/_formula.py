"""Containers of a grammar as data, and formulas over their members as the core takes them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

from ._native import lib
from .errors import LimitError

__all__ = ["Choice", "Formula", "MemberClass", "formula_words"]

Choice: TypeAlias = tuple[int, int]
"""Of a class of members: ``(value node, literals)``."""

MemberClass: TypeAlias = tuple[int, bool, Sequence[Choice]]
"""Of a container: ``(key expression, required, choices)``."""

Formula: TypeAlias = tuple[Any, ...]
"""Over a container's members; see :meth:`GrammarBuilder.container`."""

_ATOMS: dict[str, int] = {"at_least": lib.GLK_F_AT_LEAST, "all_but": lib.GLK_F_ALL_BUT}
_CONNECTIVES: dict[str, int] = {"and": lib.GLK_F_AND, "or": lib.GLK_F_OR}
_EVERY = 0xFFFFFFFF
_MOST_MEMBERS = 0xFFFFFF00  # a number that no member count reaches


def _atom_words(atom: Formula) -> tuple[int, ...]:
    kind, count, pairs = atom
    if count < 0:
        raise ValueError(f"{kind} {count} members")
    if count > _MOST_MEMBERS and kind == "at_least":
        raise LimitError("member_count", min(count, 1 << 64), _MOST_MEMBERS)
    words = [_ATOMS[kind], min(count, _MOST_MEMBERS), len(pairs)]
    for class_, literal in pairs:
        words.append(_EVERY if class_ is None else class_)
        words.append(_EVERY if literal is None else literal)
    return tuple(words)


def formula_words(formula: Formula) -> list[int]:
    """A formula as the core takes it; equal parts become one node. No recursion, so that depth
    costs no stack.

    Raises:
        ValueError: It is none.
        LimitError: It asks for more members than can be counted.
    """
    places: dict[int, int] = {}  # by identity, which is cheaper than equality of nested tuples
    nodes: dict[tuple[int, ...], int] = {}
    stack = [formula]
    while stack:
        node = stack[-1]
        kind = node[0]
        if id(node) in places:
            stack.pop()
            continue
        if kind in _ATOMS:
            words = _atom_words(node)
        elif kind in _CONNECTIVES:
            waiting = [part for part in node[1] if id(part) not in places]
            if waiting:
                stack.extend(reversed(waiting))
                continue
            parts = [places[id(part)] for part in node[1]]
            words = (_CONNECTIVES[kind], len(parts), *parts)
        else:
            raise ValueError(f"there is no formula of the kind {kind!r}")
        places[id(node)] = nodes.setdefault(words, len(nodes))
        stack.pop()
    flat = [len(nodes)]
    for words in nodes:
        flat.extend(words)
    return flat
