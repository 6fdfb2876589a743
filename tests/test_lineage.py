"""Where rows come from, found in any order and against plain list comparison."""

from __future__ import annotations

import math
import random
from dataclasses import replace
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from gramlock.integrations.lineage import Lineage, Step  # noqa: E402


def follow(lineage: Lineage, ids: list[list[int]], groups: list[int] | None = None) -> list[int]:
    """The parents, found both ways."""
    rows, scores = torch.tensor(ids), torch.zeros((len(ids), 3))
    groups = groups or [0] * len(ids)
    found = lineage.follow(rows, groups, scores)
    assert replace(on_device(lineage, rows, groups, scores), banned=[]) == found
    return found.parent


def on_device(lineage: Lineage, rows: Any, groups: list[int], scores: Any) -> Step:
    """What tensor operations find; they run on the CPU as well."""
    known = lineage._ids
    usable = known is not None and 0 < rows.shape[1] <= known.shape[1] + 1
    banned = scores.amin(-1) == -math.inf
    return lineage._on_device(known if usable else None, rows, groups, banned)


def remembering(ids: list[list[int]], groups: list[int] | None = None) -> Lineage:
    lineage = Lineage()
    lineage.remember(torch.tensor(ids), groups or [0] * len(ids))
    return lineage


def test_going_on_going_back_and_starting_again() -> None:
    lineage = remembering([[7, 7, 4, 8, 9]])
    assert follow(lineage, [[7, 7, 4, 8, 9, 2]]) == [0]
    assert follow(lineage, [[7, 7, 4, 8, 3]]) == [0]
    assert follow(lineage, [[7, 7, 4]]) == [0]
    assert follow(lineage, [[7, 5, 4]]) == [-1]
    assert follow(lineage, [[7, 7, 4, 8, 9, 2, 2]]) == [-1]
    lineage.forget()
    assert follow(lineage, [[7, 7, 4, 8, 9, 2]]) == [-1]


def test_equal_rows_keep_their_places() -> None:
    lineage = remembering([[1, 2], [1, 2], [1, 2]])
    assert follow(lineage, [[1, 2, 3], [1, 2, 3], [1, 2, 4]]) == [0, 1, 2]
    assert follow(lineage, [[1, 2, 3], [9, 2, 3], [1, 2, 4]]) == [0, -1, 2]


def test_rows_of_other_groups_are_strangers() -> None:
    lineage = remembering([[1, 2], [1, 2]], [0, 1])
    assert follow(lineage, [[1, 2, 3], [1, 2, 3]], [0, 1]) == [0, 1]
    assert follow(lineage, [[1, 2, 3], [1, 2, 3]], [1, 0]) == [1, 0]
    assert follow(lineage, [[1, 2, 3], [1, 2, 3]], [2, 2]) == [-1, -1]


def test_what_is_remembered_is_a_copy() -> None:
    ids = torch.tensor([[1, 2]])
    lineage = Lineage()
    lineage.remember(ids, [0])
    ids[0, 0] = 9
    assert follow(lineage, [[1, 2, 3]]) == [0]


def test_newest_ids_and_banned_scores() -> None:
    scores = torch.tensor([[0.0, -math.inf], [0.0, 1.0]])
    for rows, last in (
        (torch.tensor([[1, 2], [3, 4]]), [2, 4]),
        (torch.zeros((2, 0), dtype=torch.long), [-1, -1]),
    ):
        step = Lineage().follow(rows, [0, 0], scores)
        assert (step.last, step.parent, step.banned) == (last, [-1, -1], [])
        there = on_device(Lineage(), rows, [0, 0], scores)
        assert (there.last, there.parent, there.banned) == (last, [-1, -1], [True, False])


def test_twins() -> None:
    assert Lineage().twins(torch.tensor([[1, 2], [3, 4], [1, 2], [3, 5]])) == [0, 1, 0, 3]


@pytest.mark.parametrize("seed", range(50))
def test_against_comparison_of_lists(seed: int) -> None:
    source = random.Random(seed)
    width, batch = source.randint(1, 6), source.randint(1, 6)
    known = [[source.randint(0, 1) for _ in range(width)] for _ in range(batch)]
    groups = [source.randint(0, 1) for _ in range(batch)]
    lineage = remembering(known, groups)
    length = source.randint(1, width + 2)
    rows = [[source.randint(0, 1) for _ in range(length)] for _ in range(batch)]
    found = follow(lineage, rows, groups)
    for row, group, parent in zip(rows, groups, found, strict=True):
        matching = [
            index
            for index, other in enumerate(known)
            if length <= width + 1 and other[: length - 1] == row[:-1] and groups[index] == group
        ]
        assert parent in matching if matching else parent == -1


def test_long_rows() -> None:
    ids = torch.randint(0, 2**17, (4, 5000))
    lineage = Lineage()
    lineage.remember(ids, [0] * 4)
    order = [2, 0, 3, 3]
    longer = torch.cat([ids[order], torch.tensor([[1], [2], [3], [4]])], 1)
    found = lineage.follow(longer, [0] * 4, torch.zeros((4, 1)))
    assert found.parent == order
    assert replace(on_device(lineage, longer, [0] * 4, torch.zeros((4, 1))), banned=[]) == found
