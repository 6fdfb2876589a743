"""Whether a conversion has a sentence at all, where neither the algebra nor the emitter can tell.

The emitter notices what has no value of its own accord, except where conditions on several members
or items clash: whether those can be met is a search, which the passes over a program make anyway.
So a program over the 256 bytes is made and thrown away, for the few schemas where it matters.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..errors import LimitError, UnsatisfiableError
from ..limits import Limits
from .arrays import ArraySet
from .nodes import Node
from .objects import ObjectSet

if TYPE_CHECKING:
    from .._core import GrammarHandle
    from .algebra import Algebra

__all__ = ["has_sentence", "is_plain"]

_MEMORY = 64 << 20  # bytes; a vocabulary of 256 tokens takes a small part


def is_plain(root: Node, algebra: Algebra) -> bool:
    """Whether some value is reached without any condition on several members or items.

    *root* has been emitted, so all that it needs has its normal form and the emitter has found
    values for it. Cost: one visit of each node that is needed.
    """
    stack, seen = [root], {root}
    while stack:
        node = stack.pop()
        while node.alias is not None:
            node = node.alias
        shape = node.shape
        if shape is None or shape.flags or shape.numbers or shape.strings:
            continue
        needed = _least_needed((*shape.objects, *shape.arrays), algebra)
        if needed is None:
            return False
        for each in needed:
            if each not in seen:
                seen.add(each)
                stack.append(each)
    return True


def _least_needed(
    containers: tuple[ObjectSet | ArraySet, ...], algebra: Algebra
) -> list[Node] | None:
    """What some value of a set without conditions, or an empty value, needs."""
    for each in containers:
        if isinstance(each, ObjectSet):
            if not each.conditional:
                return each.needed()
            if each.contains({}, algebra):
                return []
        elif not each.counts and not each.unique:
            return each.needed()
        elif each.contains([], algebra):
            return []
    return None


def has_sentence(grammar: GrammarHandle, limits: Limits | None) -> bool:
    """Whether some text is in *grammar*; True where a budget ends the search."""
    from .._core import ProgramHandle, VocabularyHandle

    texts: list[bytes | None] = [bytes([byte]) for byte in range(256)]
    try:
        ProgramHandle(VocabularyHandle(texts, [], _MEMORY), grammar, limits or Limits())
    except UnsatisfiableError:
        return False
    except LimitError:
        return True
    return True
