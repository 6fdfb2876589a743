"""The same operation from several processes that start together: executed once."""

from __future__ import annotations

import random
import time

import pytest

pytest.importorskip("sqlalchemy")

import effects
from gramlock.tools.ledger import Ledger


def duplicates(database: str, keys: int, processes: int) -> float:
    """Each process writes every key once, in an order of its own; seconds that it took."""
    Ledger(database).close()
    orders = []
    for seed in range(processes):
        numbers = list(range(keys))
        random.Random(seed).shuffle(numbers)
        orders.append(numbers)
    started = time.perf_counter()
    results = effects.write_all(database, orders)
    seconds = time.perf_counter() - started
    executed = [operation for operations, _ in results for operation in operations]
    wanted = [effects.key_of(number).operation_id for number in range(keys)]
    assert sorted(executed) == sorted(wanted), "exactly one effect a key"
    for _, outcomes in results:
        assert sum(outcomes.values()) == keys
        assert set(outcomes) <= {("completed", None), ("rejected", "ledger")}, "in progress"
    with Ledger(database) as ledger:
        assert ledger.unresolved() == []
    return seconds


def test_duplicates_from_processes_that_start_together(database: str) -> None:
    duplicates(database, keys=50, processes=4)


def test_one_key_at_the_same_moment_in_a_ledger_that_is_not_there_yet(database: str) -> None:
    results = effects.write_all(database, [[7], [7], [7], [7]])
    assert sum(len(executed) for executed, _ in results) == 1


@pytest.mark.long
def test_ten_thousand_duplicates_within_a_minute(database: str) -> None:
    assert duplicates(database, keys=2500, processes=4) < 60
