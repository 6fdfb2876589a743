"""Boolean formulas in disjunctive normal form, with a budget.             Tested by test_regex.py.

A formula is a set of clauses, any of which may hold; a clause is a set of (atom, sign), all of
which must. No clause contains another or an atom with both signs, so that over finitely many atoms
there are finitely many formulas. The empty set of clauses is false, the one empty clause true.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import Final

from gramlock.errors import LimitError

__all__ = ["FALSE", "TRUE", "Algebra", "Clause", "Formula", "atom"]

Clause = frozenset[tuple[Hashable, bool]]
Formula = frozenset[Clause]

FALSE: Final[Formula] = frozenset()
TRUE: Final[Formula] = frozenset([frozenset()])


def atom(name: Hashable) -> Formula:
    """Return the formula of one atom."""
    return frozenset([frozenset([(name, True)])])


class Algebra:
    """The three operations; each comparison of clauses costs one step of a budget.

    Attributes:
        steps: Steps taken.
        limit: How many may be taken before ``LimitError("pattern_states", ...)``.
    """

    def __init__(self, limit: int) -> None:
        self.steps = 0
        self.limit = limit

    def spend(self, steps: int) -> None:
        """Take steps of the budget."""
        self.steps += steps
        if self.steps > self.limit:
            raise LimitError("pattern_states", self.steps, self.limit)

    def _normal(self, clauses: Iterable[Clause]) -> Formula:
        """Drop clauses that a shorter one implies."""
        kept: list[Clause] = []
        for clause in sorted(set(clauses), key=len):
            self.spend(1 + len(kept))
            if not any(other <= clause for other in kept):
                kept.append(clause)
        return frozenset(kept)

    def either(self, left: Formula, right: Formula) -> Formula:
        """Return *left* or *right*."""
        if not left or right == TRUE or left is right:
            return right
        return left if not right or left == TRUE else self._normal((*left, *right))

    def both(self, left: Formula, right: Formula) -> Formula:
        """Return *left* and *right*."""
        if not left or right == TRUE or left is right:
            return left
        if not right or left == TRUE:
            return right
        self.spend(len(left) * len(right))
        clauses = (one | other for one in left for other in right)
        return self._normal(
            clause
            for clause in clauses
            if not any((name, not sign) in clause for name, sign in clause)
        )

    def negated(self, formula: Formula) -> Formula:
        """Return not *formula*."""
        result = TRUE
        for clause in formula:
            opposite = frozenset(frozenset([(name, not sign)]) for name, sign in clause)
            result = self.both(result, opposite)
        return result
