"""Nodes: sets of JSON values, symbolic until they are looked into.

A node is everything, nothing, a constant, a schema (:class:`Leaf`), a conjunction of nodes or the
complement of one. Looking into it (:meth:`.algebra.Algebra.expand`) gives its :class:`Shape`. Nodes
have identity, so tables of nodes cost one pointer hash.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .algebra import Algebra
    from .arrays import ArraySet
    from .load import Path, Scope
    from .numbers import NumberSet
    from .objects import ObjectSet
    from .strings import StringSet

__all__ = [
    "ANYTHING",
    "Anything",
    "Conjunction",
    "Derived",
    "InexpressibleError",
    "Leaf",
    "Negation",
    "Never",
    "Node",
    "Shape",
    "Union",
]


class InexpressibleError(Exception):
    """A complement that the normal form has no word for; the message says of which values."""


class Shape:
    """A set of values by type.

    Attributes:
        flags: Which of ``null``, ``true`` and ``false`` are in it.
        numbers, strings, arrays, objects: The union of these sets.
    """

    __slots__ = ("arrays", "flags", "numbers", "objects", "strings")

    def __init__(
        self,
        flags: int,
        numbers: tuple[NumberSet, ...],
        strings: tuple[StringSet, ...],
        arrays: tuple[ArraySet, ...],
        objects: tuple[ObjectSet, ...],
    ) -> None:
        self.flags, self.numbers, self.strings = flags, numbers, strings
        self.arrays, self.objects = arrays, objects

    def is_void(self) -> bool:
        """Whether no alternative of any type is left."""
        return not (self.flags or self.numbers or self.strings or self.arrays or self.objects)


class Node:
    """A set of JSON values.

    Attributes:
        never: Certainly nothing is in it.
        always: Certainly everything is in it.
        path: Where the schema stands that it comes from.
        shape: Its normal form, once asked for.
        alias: The node that it is equal to, once known.
        emitted: Its grammar node, -1 before.
        rule: A grammar rule that stands for it, -1 if none was needed.
    """

    __slots__ = ("alias", "busy", "emitted", "path", "rule", "shape")
    never = False
    always = False

    def __init__(self, path: Path, shape: Shape | None = None) -> None:
        self.path, self.shape = path, shape
        self.alias: Node | None = None
        self.emitted = self.rule = -1
        self.busy = False


class Anything(Node):
    """Every value."""

    __slots__ = ()
    always = True


class Never(Node):
    """No value; *path* is the ``false`` that says so."""

    __slots__ = ()
    never = True


class Negation(Node):
    """The values that are not in *inner*."""

    __slots__ = ("inner",)

    def __init__(self, inner: Node) -> None:
        super().__init__(inner.path)
        self.inner = inner


class Leaf(Node):
    """One schema.

    Attributes:
        schema: The object that it was read from.
        scope: What its references are relative to.
        parts: What it says, in the order of its keywords: ``("own", shape)``, ``("all", node)``,
            ``("any", nodes)``, ``("either", nodes)``, ``("if", (test, then, else))``, ``("names",
            node)``. Of "either" the objects always become a clause.
    """

    __slots__ = ("parts", "schema", "scope")

    def __init__(self, schema: dict[str, Any], path: Path, scope: Scope) -> None:
        super().__init__(path)
        self.schema, self.scope = schema, scope
        self.parts: list[tuple[str, Any]] = []


class Conjunction(Node):
    """The values in all of *members*, none of which is a conjunction."""

    __slots__ = ("members",)

    def __init__(self, members: tuple[Node, ...]) -> None:
        super().__init__(members[0].path)
        self.members = members


class Derived(Node, ABC):
    """A set that is worked out from others, once somebody looks into it."""

    __slots__ = ()

    @abstractmethod
    def derive(self, algebra: Algebra) -> Shape:
        """The normal form; called once."""


class Union(Derived):
    """The values in any of *members*."""

    __slots__ = ("members",)

    def __init__(self, members: tuple[Node, ...]) -> None:
        super().__init__(members[0].path)
        self.members = members

    def derive(self, algebra: Algebra) -> Shape:
        """The union of the members' normal forms."""
        return algebra.union([algebra.expand(member) for member in self.members])


#: Every value; its shape is set by :mod:`.algebra`.
ANYTHING = Anything(None)
