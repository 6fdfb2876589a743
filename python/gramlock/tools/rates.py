"""How often tools may be called: a sliding minute per tool.

Only calls that are about to run count; what a check refused does not. Thread-safe; memory is one
number for each call that the limit allows. Tested by test_tools_dispatch.py.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable

__all__ = ["Rates"]

_WINDOW = 60.0


class Rates:
    """When the calls of the last minute began.

    Args:
        timer: Seconds from some start; never goes back.
    """

    def __init__(self, timer: Callable[[], float] = time.monotonic) -> None:
        self._timer = timer
        self._lock = threading.Lock()
        self._began: dict[str, deque[float]] = {}

    def take(self, tool: str, limit: int | None) -> float:
        """Count a call of *tool* if it may begin: 0.0, or else the seconds until one may."""
        if limit is None:
            return 0.0
        now = self._timer()
        with self._lock:
            began = self._began.setdefault(tool, deque())
            while began and began[0] <= now - _WINDOW:
                began.popleft()
            if len(began) >= limit:
                return began[-limit] + _WINDOW - now
            began.append(now)
            return 0.0
