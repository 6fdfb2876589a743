"""What a run came to: every outcome counted, refusals and unresolved ones too.

A run that reports its successes only is a report of something else. Tested by
test_tools_results.py.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from .outcome import OUTCOMES, ToolResult

if TYPE_CHECKING:
    from .ledger import Ledger

__all__ = ["RunSummary", "summarize"]


@dataclass(frozen=True)
class RunSummary:
    """Counts of a run.

    Attributes:
        results: How many calls got a result.
        outcomes: Outcome -> how many; all six, zeros included.
        boundaries: Boundary -> how many calls it rejected.
        tools: Tool's name -> outcome -> how many, for names that occurred.
        replayed: How many outcomes were recorded ones, of which nothing was executed now.
        completions: Status -> how many turns of the model ended so, where they were given.
        uncertain: Ids of calls whose effect is not known, those of the run.
        accepted: References of operations that were begun and have no outcome yet.
        unresolved: Entries of the ledger that wait for a look-up, this run's or older; None
            where no ledger was given.
    """

    results: int
    outcomes: Mapping[str, int]
    boundaries: Mapping[str, int]
    tools: Mapping[str, Mapping[str, int]]
    replayed: int
    completions: Mapping[str, int]
    uncertain: tuple[str | None, ...]
    accepted: tuple[str | None, ...]
    unresolved: int | None

    @property
    def settled(self) -> bool:
        """Whether nothing of it is still to be found out."""
        return not (self.uncertain or self.accepted or self.unresolved)

    def to_dict(self) -> dict[str, Any]:
        """As JSON data."""
        return {
            "results": self.results,
            "outcomes": dict(self.outcomes),
            "boundaries": dict(self.boundaries),
            "tools": {name: dict(counts) for name, counts in self.tools.items()},
            "replayed": self.replayed,
            "completions": dict(self.completions),
            "uncertain": list(self.uncertain),
            "accepted": list(self.accepted),
            "unresolved": self.unresolved,
        }

    def __str__(self) -> str:
        """A few lines for a person; the zeros are told as well."""
        counts = ", ".join(f"{count:,} {name}" for name, count in self.outcomes.items())
        lines = [f"{self.results:,} calls: {counts}"]
        if self.boundaries:
            refused = ", ".join(f"{name} {count:,}" for name, count in self.boundaries.items())
            lines.append(f"rejected by: {refused}")
        if self.replayed:
            lines.append(f"replayed from the ledger: {self.replayed:,}")
        if self.completions:
            ended = ", ".join(f"{name} {count:,}" for name, count in self.completions.items())
            lines.append(f"turns ended: {ended}")
        if self.unresolved is not None:
            lines.append(f"unresolved in the ledger: {self.unresolved:,}")
        return "\n".join(lines)


def summarize(
    results: Iterable[ToolResult],
    *,
    completions: Iterable[Any] = (),
    ledger: Ledger | None = None,
) -> RunSummary:
    """Count *results*.

    Args:
        results: Of all dispatches of the run.
        completions: The model's turns, for their statuses.
        ledger: Asked for what is unresolved.

    Raises:
        LedgerError: The ledger cannot be read.
    """
    found = list(results)
    outcomes = Counter(result.outcome for result in found)
    boundaries = Counter(result.boundary or "?" for result in found if result.outcome == "rejected")
    tools: dict[str, Counter[str]] = {}
    for result in found:
        tools.setdefault(result.tool or "?", Counter())[result.outcome] += 1
    return RunSummary(
        results=len(found),
        outcomes={name: outcomes[name] for name in OUTCOMES},
        boundaries=dict(boundaries.most_common()),
        tools={name: dict(counts) for name, counts in sorted(tools.items())},
        replayed=sum(result.replayed for result in found),
        completions=dict(Counter(turn.status for turn in completions).most_common()),
        uncertain=tuple(result.call_id for result in found if result.outcome == "uncertain"),
        accepted=tuple(result.reference for result in found if result.outcome == "accepted"),
        unresolved=None if ledger is None else len(ledger.unresolved()),
    )
