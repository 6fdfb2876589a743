"""Whether a conversion has a sentence at all, where neither the algebra nor the emitter can tell.

The emitter notices what has no value of its own accord, except where conditions on several members
or items clash: whether those can be met is a search, which the passes over a program make anyway.
So a program over the 256 bytes is made and thrown away, for the few schemas where it matters.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..errors import LimitError, UnsatisfiableError
from ..limits import Limits
from . import objects
from .arrays import ArraySet
from .nodes import Node
from .objects import ObjectSet

if TYPE_CHECKING:
    from .._core import GrammarHandle
    from .algebra import Algebra

__all__ = ["has_sentence", "is_plain"]

MAX_DEPTH = 30  # values inside each other that are looked into
_MEMORY = 64 << 20  # bytes; a vocabulary of 256 tokens takes a small part


def is_plain(root: Node, algebra: Algebra) -> bool:
    """Whether a value shows without a search: no conditions, or the first way to meet them.

    *root* has been emitted, so the emitter has found values for all that it needs.
    Cost: one visit of each node that is needed.
    """
    return _is_plain(root, algebra, set(), MAX_DEPTH)


def _is_plain(node: Node, algebra: Algebra, known: set[Node], depth: int) -> bool:
    shape = algebra.expand(node)
    if shape.flags or shape.numbers or node in known:
        return True
    if not all(strings.is_empty(algebra.expressions) for strings in shape.strings):
        return True
    needed = _least_needed((*shape.objects, *shape.arrays), algebra)
    if needed is None or not depth:  # what needs itself ends here
        return False
    if not all(_is_plain(each, algebra, known, depth - 1) for each in needed):
        return False
    known.add(node)
    return True


def _least_needed(
    containers: tuple[ObjectSet | ArraySet, ...], algebra: Algebra
) -> list[Node] | None:
    """What some value of one of the sets needs and is enough for it; None if none shows."""
    for each in containers:
        if isinstance(each, ArraySet):
            if not each.counts and (not each.unique or each.low < 2):
                return each.needed()
            continue
        chosen = _one_way(each, algebra)
        if chosen is not None and not chosen.some:
            needed = chosen.needed()
            if chosen.low <= len(needed) and (chosen.high is None or chosen.high >= len(needed)):
                return needed
    return None


def _one_way(o: ObjectSet, algebra: Algebra) -> ObjectSet | None:
    """A part of *o* without clauses: the first alternatives that go together, if there are any."""
    chosen = _bare(o)
    for clause in o.clauses:
        for one in clause:
            both = None if one.clauses else objects.intersect(chosen, one, algebra)
            if both is not None:
                chosen = both
                break
        else:
            return None
    return chosen


def _bare(o: ObjectSet) -> ObjectSet:
    """*o* without its clauses."""
    return ObjectSet(o.members, o.regions, o.low, o.high, o.some) if o.clauses else o


def has_sentence(grammar: GrammarHandle, limits: Limits | None) -> bool:
    """Whether some text is in *grammar*; True where a budget ends the search."""
    from .._core import ProgramHandle, VocabularyHandle

    texts: list[bytes | None] = [bytes([byte]) for byte in range(256)]
    try:
        ProgramHandle(VocabularyHandle.of(texts, _MEMORY), grammar, limits or Limits())
    except UnsatisfiableError:
        return False
    except LimitError:
        return True
    return True
