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
is a new prompt. On the CPU rows are compared as bytes; on an accelerator candidates are found by a
hash of the beginning, then compared id by id, and the answers of all rows travel in one copy.

Cost: comparisons of whole rows, in one operation whatever their length; on an accelerator a handful
of tensor operations and one copy of three numbers a row. Owner: one logits processor.
Tested by test_lineage.py.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

from ..errors import MissingDependencyError

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    from torch import Tensor

    Rows: TypeAlias = npt.NDArray[np.int64]

__all__ = ["Lineage", "Step"]

_SEED = 0x6772616D
_BLOCK = 1024


@dataclass(frozen=True)
class Step:
    """What one call's ids say, on the host.

    Attributes:
        last: By row, the newest id; -1 where the rows are empty.
        parent: By row, the known row whose beginning all ids but the newest are; -1 for none.
        banned: By row, whether some score is minus infinity; empty on the host, where whoever
            copies the scores sees it for nothing.
    """

    last: list[int]
    parent: list[int]
    banned: list[bool]


class Lineage:
    """The rows of the last call, and the search for them in the next one."""

    def __init__(self) -> None:
        try:
            import torch
        except ImportError as error:
            raise MissingDependencyError("torch", "hf") from error
        self._torch: Any = torch
        self._weights: dict[Any, Tensor] = {}
        self.forget()

    def forget(self) -> None:
        """Know no rows."""
        self._ids: Tensor | None = None
        self._groups: list[int] = []

    def remember(self, ids: Tensor, groups: list[int]) -> None:
        """Make these the known rows. They are copied: callers reuse their buffers."""
        self._ids, self._groups = ids.clone(), groups

    def follow(self, ids: Tensor, groups: list[int], scores: Tensor) -> Step:
        """Find where each row comes from. Nothing is remembered until :meth:`remember`.

        Args:
            ids: The rows, ``(batch, length)``, on any device.
            groups: By row, a number that a known row must share; rows of different groups are
                strangers even if their ids are equal.
            scores: Scores of the next ids, on the same device.
        """
        known, length = self._ids, ids.shape[1]
        if known is not None and (
            known.device != ids.device or not 0 < length <= known.shape[1] + 1
        ):
            known = None
        if ids.device.type == "cpu":
            # As arrays: an operation of torch's costs several times as much on so little.
            rows = ids.numpy()
            last = rows[:, -1].tolist() if length else [-1] * len(rows)
            parent = self._on_host(None if known is None else known.numpy(), rows, groups)
            return Step(last, parent, [])
        return self._on_device(known, ids, groups, scores.amin(-1) == -math.inf)

    def twins(self, ids: Tensor) -> list[int]:
        """By row, the first row with the same ids (one copy to the host)."""
        hashes = self._hash(ids, ids.shape[1])
        equal = (hashes[:, None] == hashes[None, :]).int()
        found: list[int] = equal.argmax(1).cpu().tolist()
        return found

    def _on_host(self, known: Rows | None, ids: Rows, groups: list[int]) -> list[int]:
        """By row, the known row to go on from, its own place first; -1 for none."""
        if known is None:
            return [-1] * len(ids)
        begin, known_begin = ids[:, :-1], known[:, : ids.shape[1] - 1]
        if groups == self._groups and (begin == known_begin).all():
            return list(range(len(ids)))
        texts = [row.tobytes() for row in begin]
        known_texts = [row.tobytes() for row in known_begin]
        known_pairs = list(zip(self._groups, known_texts, strict=True))
        first = {pair: index for index, pair in reversed(list(enumerate(known_pairs)))}
        return [
            index if known_pairs[index : index + 1] == [pair] else first.get(pair, -1)
            for index, pair in enumerate(zip(groups, texts, strict=True))
        ]

    def _on_device(
        self, known: Tensor | None, ids: Tensor, groups: list[int], banned: Tensor
    ) -> Step:
        """The same by tensor operations where the ids are, and one copy."""
        torch = self._torch
        last = ids[:, -1] if ids.shape[1] else ids.new_full((len(ids),), -1)
        parent = last.new_full((len(ids),), -1)
        if known is not None:
            count = ids.shape[1] - 1
            own_groups = torch.tensor(groups, device=ids.device)
            known_groups = torch.tensor(self._groups, device=ids.device)
            equal = self._hash(ids, count)[:, None] == self._hash(known, count)[None, :]
            score = (equal & (own_groups[:, None] == known_groups[None, :])).int()
            score.diagonal().mul_(2)  # the row's own place first: nothing has to be copied then
            found = score.argmax(1)
            same = (ids[:, :count] == known[found, :count]).all(1)
            same &= own_groups == known_groups[found]
            parent = torch.where(same, found, parent)
        packed = torch.stack([last.long(), parent.long(), banned.long()]).cpu().tolist()
        return Step(packed[0], packed[1], [bool(flag) for flag in packed[2]])

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
