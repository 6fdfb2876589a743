"""Leaving out what cannot be enforced, so that a grammar has too many values and never too few.

A keyword that is left out makes the set of its schema larger, and with it every set that is built
from it by intersection, union and nesting. Only a complement turns that round. So one is taken only
of schemas that reach nothing that was left out; any other complement is everything, and its place
is listed as well.
"""

from __future__ import annotations

from collections.abc import Iterable

from ..errors import Place
from .load import Path, place_of
from .model import Reader
from .nodes import Conjunction, Leaf, Negation, Node, Union
from .unevaluated import Unevaluated

__all__ = ["Dropped", "Loose", "keyword_of"]


class Dropped:
    """JSON pointers of what is left out.

    Attributes:
        pointers: Those that are known one by one.
        everything: Whether all others are left out, too.
    """

    def __init__(self, places: Iterable[Place], everything: bool) -> None:
        self.pointers = {place.pointer or "" for place in places}
        self.everything = everything

    def __contains__(self, pointer: object) -> bool:
        return self.everything or pointer in self.pointers


class Loose:
    """Which sets may be larger than their schemas say.

    Args:
        reader: Has read all schemas, and kept which schema leads to which.
        dropped: Further places whose complement is not known.

    Cost: one visit of each schema.
    """

    def __init__(self, reader: Reader, dropped: Dropped) -> None:
        self._everything = dropped.everything
        wanted = dropped.pointers | {place.rpartition("/")[0] for place in dropped.pointers}
        found = {
            leaf
            for leaf in reader.leaves
            if leaf in reader.inexact
            or leaf.scope.dialect.problem
            or place_of(leaf.path)[0] in wanted
        }
        users: dict[Leaf, list[Leaf]] = {}
        for user, used in reader.edges or ():
            users.setdefault(used, []).append(user)
        stack = list(found)
        while stack:
            for user in users.get(stack.pop(), ()):
                if user not in found:
                    found.add(user)
                    stack.append(user)
        self._found = found

    def __call__(self, node: Node) -> bool:
        """Whether *node* may hold values that its schema does not allow."""
        if self._everything:
            return True
        if isinstance(node, Leaf):
            return node in self._found
        if isinstance(node, (Conjunction, Union)):
            return any(self(member) for member in node.members)
        if isinstance(node, Negation):
            return self(node.inner)
        return isinstance(node, Unevaluated) and node.leaf in self._found


def keyword_of(path: Path) -> Path:
    """The keyword that applies the schema at *path*: that of a list is one step up."""
    if path is not None and len(path) == 2 and isinstance(path[1], int):
        return path[0]
    return path
