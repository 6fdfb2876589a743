"""What the application knows and vouches for: who acts, for which operation, until when.

Nothing in a :class:`Context` comes from the model. The principal that permission is asked for, the
operation id that makes a retry a retry, the approvals: a model that could write one of them could
act as someone else, so none of them is ever read from a call's arguments.

A context is immutable and may be shared by threads. Tested by test_tools_dispatch.py.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .approvals import ApprovalStore

__all__ = ["Context"]


def _nothing() -> Mapping[str, Any]:
    return MappingProxyType({})


@dataclass(frozen=True)
class Context:
    """The trusted side of a dispatch.

    Attributes:
        principal: On whose behalf the call runs; permission, approvals, the ledger's keys and
            stored results are bound to it. None is a principal of its own, "nobody in particular".
        operation_id: Names the logical operation, so that a retry of it is known as one. From the
            application (a request id, a form's token), never the model's call id, which is fresh
            on every retry.
        approvals: Where approvals for this context lie; None: those of the dispatcher.
        data: Whatever rules, checks and handlers need (a database session, the tenant). Read-only.
        deadline: When the whole must be over, in seconds of :func:`time.monotonic`. No call
            begins after it, and no handler gets more time than is left.
    """

    principal: str | None = None
    operation_id: str | None = None
    approvals: ApprovalStore | None = None
    data: Mapping[str, Any] = field(default_factory=_nothing)
    deadline: float | None = None

    def __post_init__(self) -> None:
        for name in ("principal", "operation_id"):
            value = getattr(self, name)
            if value is not None and not isinstance(value, str):
                raise TypeError(f"{name} is a str or None, not {type(value).__name__}")
        if self.deadline is not None:
            known = isinstance(self.deadline, int | float) and not isinstance(self.deadline, bool)
            if not known or self.deadline != self.deadline:  # NaN is later than any time
                raise TypeError(f"deadline is a number of seconds or None, not {self.deadline!r}")
        if not isinstance(self.data, MappingProxyType):
            object.__setattr__(self, "data", MappingProxyType(dict(self.data)))

    def within(self, seconds: float) -> Context:
        """The same context with a deadline *seconds* from now, or the present one if earlier."""
        deadline = time.monotonic() + seconds
        if self.deadline is not None:
            deadline = min(deadline, self.deadline)
        return replace(self, deadline=deadline)

    def seconds_left(self) -> float | None:
        """Seconds until the deadline (negative after it), or None without one."""
        return None if self.deadline is None else self.deadline - time.monotonic()
