"""A regular expression's tree to an expression.                           Tested by test_regex.py.

Nodes without assertions are translated one by one, in the order in which the parser made them:
children first, no recursion. Anchors at the two ends of an alternative, which nearly every pattern
with an assertion has and no more, only decide whether any text may stand there. The rest goes to
``regex_context.py``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING
from typing import Literal as OneOf

from gramlock.syntax import charclass as cc
from gramlock.syntax.charclass import Ranges
from gramlock.syntax.regex_tree import Alternation, Concat, Edge, Literal, Node, Repeat, Set

if TYPE_CHECKING:
    from gramlock._core import Expressions

__all__ = ["Encoding", "Translator", "compile_tree"]

Encoding = OneOf["utf8", "json", "json-minimal"]


class Translator:
    """Makes the expressions of nodes that hold no assertion.

    Attributes:
        store: Where expressions live.
        encoding: How characters are written.
        any: Every sequence of characters.
        ids: Expression of each node by its index; -1 for a node that asserts.
    """

    def __init__(self, store: Expressions, encoding: Encoding, nodes: Sequence[Node]) -> None:
        self.store = store
        self.encoding = encoding
        found = store.cache.get(("regex any", encoding))
        if found is None:
            found = store.cache["regex any", encoding] = store.repeat(self.set(cc.ALL), 0, None)
        self.any: int = found
        self.ids: list[int] = []
        for node in nodes:
            self.ids.append(-1 if node.asserts else self._translate(node))

    def set(self, members: Ranges) -> int:
        """Return the expression of one character out of *members*."""
        key = (self.encoding, members)
        found = self.store.cache.get(key)
        if found is None:
            ranges = cc.scalars(members)
            found = self.store.codepoints(ranges, self.encoding) if ranges else self.store.NEVER
            self.store.cache[key] = found
        return int(found)

    def literal(self, text: str) -> int:
        """Return the expression of a string."""
        if not text:
            return self.store.EPSILON
        if self.encoding == "utf8":
            try:
                return self.store.literal(text.encode())
            except UnicodeEncodeError:  # a lone surrogate, which no text holds
                return self.store.NEVER
        return self.store.concat([self.set(((ord(c), ord(c)),)) for c in text])

    def _translate(self, node: Node) -> int:
        ids = self.ids
        if isinstance(node, Literal):
            return self.literal(node.text)
        if isinstance(node, Set):
            return self.set(node.members)
        if isinstance(node, Repeat):
            return self.store.repeat(ids[node.items[0].index], node.low, node.high)
        if isinstance(node, Concat):
            return self.store.concat([ids[item.index] for item in node.items])
        assert isinstance(node, Alternation)
        return self.store.union([ids[item.index] for item in node.items])


def _is_end(node: Node, ahead: bool) -> bool:
    """Tell whether *node* is a plain ``$`` (or ``^``)."""
    return isinstance(node, Edge) and node.ahead is ahead and not node.members and node.boundary


def strip_anchors(node: Node) -> tuple[bool, Sequence[Node], bool] | None:
    """Split an alternative into ``^``, assertion-free items and ``$``; None if it has no such form.

    Returns:
        Whether ``^`` stands first, the items between, whether ``$`` stands last.
    """
    items = node.items if isinstance(node, Concat) else (node,)
    start = _is_end(items[0], ahead=False)
    end = _is_end(items[-1], ahead=True)
    items = items[start : len(items) - end]
    if any(item.asserts for item in items):
        return None
    return start, items, end


def _is_run(node: Node) -> bool:
    """Tell whether *node* is ``.*`` or the like, which any text before or after it swallows."""
    if not isinstance(node, Repeat) or node.low > 0 or node.high is not None:
        return False
    return isinstance(node.items[0], Set)


def _anchored(root: Node, translator: Translator, search: bool) -> int | None:
    """Translate a pattern whose assertions are ``^`` first and ``$`` last in an alternative."""
    store, ids = translator.store, translator.ids
    options = []
    for option in root.items if isinstance(root, Alternation) else (root,):
        parts = strip_anchors(option)
        if parts is None:
            return None
        start, items, end = parts
        first, last = 0, len(items)
        if search and not start:
            while first < last and _is_run(items[first]):
                first += 1
        if search and not end:
            while first < last and _is_run(items[last - 1]):
                last -= 1
        expr = [ids[item.index] for item in items[first:last]]
        if search and not start:
            expr.insert(0, translator.any)
        if search and not end:
            expr.append(translator.any)
        options.append(expr[0] if len(expr) == 1 else store.concat(expr))
    return options[0] if len(options) == 1 else store.union(options)


def compile_tree(
    root: Node, nodes: Sequence[Node], store: Expressions, encoding: Encoding, search: bool
) -> int:
    """Return the expression of the texts that *root* matches whole, or that hold a match."""
    translator = Translator(store, encoding, nodes)
    found = _anchored(root, translator, search)
    if found is None:
        from gramlock.syntax.regex_context import compile_asserting

        found = compile_asserting(root, nodes, translator, search)
    return found
