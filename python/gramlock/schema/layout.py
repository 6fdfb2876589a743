"""Where white space may stand in a JSON text, and which.

A *gap* is an expression of white space. A container has six places for one::

    [ open item before_comma , after_comma item close ]
    { open "key" before_colon : after_colon value before_comma , after_comma ... close }

A layout is one of two kinds. With ``whitespace`` every gap is the same expression, the empty
container's and the edges of the text included. With ``separators`` or ``indent`` each gap is one
fixed text, so that the sentences are what ``json.dumps`` writes; under ``indent`` it depends on the
number of containers around it, and values nest :data:`DEEPEST` deep at most, since each depth has
nodes of its own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from ..errors import GrammarSyntaxError
from ..syntax import regex

if TYPE_CHECKING:
    from .._core import Expressions
    from .options import SchemaOptions

__all__ = ["DEEPEST", "Gaps", "Layout", "gap_expression"]

BOUNDED = r"[ \t]?|\r?\n[ \t]{0,32}"
FLEXIBLE = r"[ \t\n\r]*"

#: Containers around a value under ``indent``.
DEEPEST = 32


class Gaps(NamedTuple):
    """Expressions of the white space in one container.

    An empty container has ``open`` between its brackets, or nothing in a fixed layout.
    """

    open: int
    close: int
    before_comma: int
    after_comma: int
    before_colon: int
    after_colon: int


class Layout:
    """The gaps of all containers.

    Attributes:
        edge: Expression of the gap before and after the whole text.
        fixed: Whether each gap is one text.
        deepest: Greatest number of containers around a value where gaps depend on it, else None.
    """

    def __init__(self, expressions: Expressions, options: SchemaOptions) -> None:
        self._expressions = expressions
        self._separators = options.written_separators()
        self._indent = options.written_indent()
        self._at: dict[int, Gaps] = {}
        self.fixed = self._separators is not None
        self.deepest = None if self._indent is None else DEEPEST
        self.edge = expressions.EPSILON
        if self._separators is None:
            self.edge = gap_expression(expressions, options.whitespace)
            self._at[0] = Gaps(*[self.edge] * 6)

    def gaps(self, depth: int) -> Gaps:
        """The gaps of a container inside *depth* others (always 0 unless `deepest` is set)."""
        known = self._at.get(depth)
        if known is None:
            known = self._at[depth] = self._fixed(depth)
        return known

    def _fixed(self, depth: int) -> Gaps:
        assert self._separators is not None
        item, colon = self._separators
        before_comma, after_comma = item.split(",")
        before_colon, after_colon = colon.split(":")
        inner = outer = ""
        if self._indent is not None:
            inner, outer = ("\n" + self._indent * level for level in (depth + 1, depth))
        texts = (inner, outer, before_comma, after_comma + inner, before_colon, after_colon)
        return Gaps(*(self._expressions.literal(text.encode()) for text in texts))


def gap_expression(expressions: Expressions, whitespace: str) -> int:
    """The expression of every gap.

    Raises:
        ValueError: The pattern does not parse, or matches more than JSON white space.
    """
    if whitespace == "compact":
        return expressions.EPSILON
    key = ("gap", whitespace)
    known: int | None = expressions.cache.get(key)
    if known is None:
        pattern = {"bounded": BOUNDED, "flexible": FLEXIBLE}.get(whitespace, whitespace)
        try:
            known = regex.parse(pattern).full(expressions, "utf8")
        except GrammarSyntaxError as error:
            raise ValueError(f"whitespace is no regular expression: {error}") from None
        blanks = expressions.repeat(expressions.byte_class(b" \t\n\r"), 0, None)
        if not expressions.is_empty(expressions.intersect([known, expressions.complement(blanks)])):
            raise ValueError(f"the whitespace pattern {whitespace!r} matches more than white space")
        expressions.cache[key] = known
    return known
