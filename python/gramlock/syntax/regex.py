"""ECMA-262 regular expressions (``u`` flag) as expressions.               Tested by test_regex.py.

::

    pattern text --regex_parser--> tree --regex_expr--> expression
                 regex_class       regex_tree   regex_context, regex_path   assertions
                 unicode_sets, charclass        regex_loop, regex_far_loop  those inside a loop
                                                regex_automaton             all that remains

The language is exact: what ECMA-262 matches is what the expression holds. Back-references, which
no regular language can say, are refused. Cost: about 2 microseconds a character of pattern, once;
a tree is kept for a pattern that comes again, an expression for as long as its store.

>>> from gramlock._core import expressions
>>> store = expressions()
>>> whole = parse("(?!foo)[a-z]+").full(store, "utf8")
>>> store.matches(whole, b"bar"), store.matches(whole, b"foobar")
(True, False)
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

from gramlock.syntax.regex_expr import Encoding, compile_tree, strip_anchors
from gramlock.syntax.regex_parser import parse_tree
from gramlock.syntax.regex_tree import Alternation, Literal, Node

if TYPE_CHECKING:
    from gramlock._core import Expressions

__all__ = ["Regex", "parse"]


class Regex:
    """A parsed pattern.

    Attributes:
        pattern: Its text.
        flags: Its flags.
    """

    def __init__(self, pattern: str, flags: str, root: Node, nodes: Sequence[Node]) -> None:
        self.pattern = pattern
        self.flags = flags
        self._root = root
        self._nodes = nodes

    def full(self, expressions: Expressions, encoding: Encoding = "utf8") -> int:
        """Return the expression of all texts that match from end to end.

        Raises:
            LimitError: Assertions that cross each other or reach out of a loop need more than some
                hundred states (``pattern_states``).
        """
        return self._compile(expressions, encoding, search=False)

    def search(self, expressions: Expressions, encoding: Encoding = "utf8") -> int:
        """Return the expression of all texts that hold a match, as JSON Schema's ``pattern`` asks.

        Raises as :meth:`full` does.
        """
        return self._compile(expressions, encoding, search=True)

    def _compile(self, expressions: Expressions, encoding: Encoding, search: bool) -> int:
        key = ("regex", self.pattern, self.flags, encoding, search)
        found = expressions.cache.get(key)
        if found is None:
            found = compile_tree(self._root, self._nodes, expressions, encoding, search)
            expressions.cache[key] = found
        return int(found)

    def finite_literal(self) -> str | None:
        """Return *text* if the pattern is ``^text$`` for one text, else None."""
        literals = self.finite_literals()
        return literals[0] if literals is not None and len(literals) == 1 else None

    def finite_literals(self) -> list[str] | None:
        """Return the texts if the pattern is ``^(one|two|...)$`` or ``^one$|^two$``, else None."""
        root = self._root
        texts: list[str] = []
        for option in root.items if isinstance(root, Alternation) else (root,):
            start, items, end = strip_anchors(option) or (False, (), False)
            if not (start and end) or len(items) > 1:
                return None
            for item in items:
                leaves = item.items if isinstance(item, Alternation) else (item,)
                for leaf in leaves:
                    if not isinstance(leaf, Literal):
                        return None
                    texts.append(leaf.text)
            if not items:
                texts.append("")
        return texts


@lru_cache(maxsize=512)
def parse(pattern: str, flags: str = "u") -> Regex:
    """Parse an ECMA-262 regular expression.

    Args:
        pattern: Its text, without slashes. ``(?i)`` and the like may stand at its start.
        flags: Any of ``i``, ``m``, ``s``, and ``u`` or ``v``; ``u`` is meant if neither is given.

    Raises:
        GrammarSyntaxError: It does not parse, or is not regular; all places are listed.
        LimitError: Groups nest too deep (``pattern_depth``), or a count is over 4,294,967,294.
    """
    root, nodes = parse_tree(pattern, flags)
    return Regex(pattern, flags, root, nodes)
