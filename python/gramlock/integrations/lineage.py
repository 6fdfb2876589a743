"""Which known row of ids each row of a batch goes on from.

Generation loops hand over whole rows of ids and say nothing about where they come from: beams are
re-ordered, drafts are taken back, the same object serves two models and two prompts in turn. So
nothing here counts calls. A row's past is found by comparing ids::

    known     7 7 4 8 9      row      7 7 4 8 9 2    known row plus one token: goes on
    (prompt   7 7 4)         row      7 7 4 8 3      a known beginning plus one token: goes back
                             row      7 7 4 8        a known beginning: goes back
                             row      7 7 4          as long as the prompt: starts again
                             row      5 5            anything else: a new prompt

The first three are one case, *all ids but the last are the beginning of a known row*, and the rest
is a new prompt. Candidates are found by a hash of the beginning and then compared id by id.

Cost: a handful of tensor operations over the batch on the device where the ids are, and one copy
of four numbers a row to the host, whatever the length. Owner: one logits processor.
Tested by test_lineage.py.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ..errors import MissingDependencyError

if TYPE_CHECKING:
    from torch import Tensor

__all__ = ["Lineage", "Step"]

_SEED = 0x6772616D
_BLOCK = 1024


@dataclass(frozen=True)
class Step:
    """What one call's ids say, on the host.

    Attributes:
        last: By row, the newest id; -1 where the rows are empty.
        parent: By row, the known row whose beginning all ids but the newest are; -1 for none.
        flag: By row, the caller's own number (see :meth:`Lineage.follow`).
    """

    last: list[int]
    parent: list[int]
    flag: list[int]


class Lineage:
    """The rows of the last call, and the search for them in the next one."""

    def __init__(self) -> None:
        try:
            import torch
        except ImportError as error:
            raise MissingDependencyError("torch", "hf") from error
        self._torch: Any = torch
        self._weights: dict[Any, Tensor] = {}
        self._ids: Tensor | None = None
        self._groups: Tensor | None = None

    def forget(self) -> None:
        """Know no rows."""
        self._ids = self._groups = None

    def follow(self, ids: Tensor, groups: list[int], flags: Tensor) -> Step:
        """Find where each row comes from. Nothing is remembered until :meth:`remember`.

        Args:
            ids: The rows, ``(batch, length)``, on any device.
            groups: By row, a number that a known row must share; rows of different groups are
                strangers even if their ids are equal.
            flags: By row, one integer or boolean on the same device, which travels to the host
                in the same copy.
        """
        batch, length = ids.shape
        last = ids[:, -1] if length else ids.new_full((batch,), -1)
        parent = self._parents(ids, groups)
        if parent is None:
            parent = last.new_full((batch,), -1)
        packed = self._torch.stack([last.long(), parent.long(), flags.long()])
        rows = packed.cpu().tolist()
        return Step(*rows)

    def remember(self, ids: Tensor, groups: list[int]) -> None:
        """Make these the known rows. They are copied: callers reuse their buffers."""
        self._ids = ids.clone()
        self._groups = self._torch.tensor(groups, device=ids.device)

    def twins(self, ids: Tensor) -> list[int]:
        """By row, the first row with the same ids (one copy to the host)."""
        hashes = self._hash(ids, ids.shape[1])
        equal = (hashes[:, None] == hashes[None, :]).int()
        found: list[int] = equal.argmax(1).cpu().tolist()
        return found

    def _parents(self, ids: Tensor, groups: list[int]) -> Tensor | None:
        """By row, the index of a known row to go on from, or -1, on the device of *ids*."""
        known, known_groups = self._ids, self._groups
        length = ids.shape[1]
        if known is None or known_groups is None or known.device != ids.device:
            return None
        if not 0 < length <= known.shape[1] + 1:
            return None
        torch, count = self._torch, length - 1
        if len(ids) == len(known) == 1:
            return (ids[:, :count] == known[:, :count]).all(1).long() - 1
        own_groups = torch.tensor(groups, device=ids.device)
        equal = self._hash(ids, count)[:, None] == self._hash(known, count)[None, :]
        score = (equal & (own_groups[:, None] == known_groups[None, :])).int()
        score.diagonal().mul_(2)  # the row's own place first: nothing has to be copied then
        parent = score.argmax(1)
        same = (ids[:, :count] == known[parent, :count]).all(1)
        same &= own_groups == known_groups[parent]
        return torch.where(same, parent, -1)

    def _hash(self, ids: Tensor, count: int) -> Tensor:
        """By row, a hash of the first *count* ids."""
        return (ids[:, :count].long() * self._weight(ids.device, count)).sum(1)

    def _weight(self, device: Any, count: int) -> Tensor:
        """Fixed odd multipliers, one a column."""
        weights = self._weights.get(device)
        if weights is None or len(weights) < count:
            torch = self._torch
            size = -(-max(count, 1) // _BLOCK) * _BLOCK
            source = torch.Generator().manual_seed(_SEED)
            weights = torch.randint(-(2**63), 2**63 - 1, (size,), generator=source) | 1
            weights = self._weights[device] = weights.to(device)
        return weights[:count]
