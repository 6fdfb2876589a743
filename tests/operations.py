"""One operation on a ledger, and a clock: what the tests of the ledger share."""

from __future__ import annotations

from typing import Any

import pytest

pytest.importorskip("sqlalchemy")

from gramlock.tools.ledger import Begun, Claim, Entry, Ledger, LookUp, OperationKey

__all__ = [
    "BARE",
    "DIGEST",
    "KEY",
    "OTHER",
    "Clock",
    "begin",
    "claim",
    "current",
    "refused",
]

KEY = OperationKey("u-1", "refund", "order-7")
BARE = OperationKey("u-1", "refund")
DIGEST = "d" * 64
OTHER = "e" * 64


class Clock:
    """A clock that stands still until it is moved."""

    def __init__(self) -> None:
        self.seconds = 1_000_000.0

    def __call__(self) -> float:
        return self.seconds


def begin(ledger: Ledger, key: OperationKey = KEY, digest: str = DIGEST, **options: Any) -> Begun:
    begun = ledger.begin(key, digest, **options)
    assert isinstance(begun, Begun), begun
    return begun


def refused(ledger: Ledger, key: OperationKey = KEY, digest: str = DIGEST) -> LookUp:
    """The same answer from the look-up and from the attempt to begin."""
    seen, answer = ledger.look_up(key, digest), ledger.begin(key, digest)
    assert isinstance(answer, LookUp)
    assert (seen.kind, seen.message) == (answer.kind, answer.message)
    return answer


def claim(ledger: Ledger, begun: Begun) -> Claim:
    claimed = ledger.claim(begun.entry_id)
    assert claimed is not None
    return claimed


def current(ledger: Ledger, begun: Begun) -> Entry:
    entry = ledger.get(begun.entry_id)
    assert entry is not None
    return entry
