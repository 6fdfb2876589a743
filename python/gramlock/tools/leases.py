"""Keeps the leases of handlers that were given up and still run.

A thread past its limit may send at any time. As long as it lives, its intent is somebody's
business: nobody may reconcile it or allow a retry. One thread for each dispatcher renews them all,
and ends when there are none; a child process begins without any.

Thread-safe. Tested by test_tools_recording.py.
"""

from __future__ import annotations

import os
import threading
from typing import Protocol

from .invoke import Job

__all__ = ["Leases"]


class _Renews(Protocol):
    """What of a recording is needed here."""

    @property
    def every(self) -> float:
        """Seconds between renewals."""

    def renew(self) -> None:
        """Prolong the lease; does not raise."""


class Leases:
    """The handlers whose leases are to be kept."""

    def __init__(self) -> None:
        self._begin()

    def _begin(self) -> None:
        self._pid = os.getpid()
        self._changed = threading.Condition()
        self._kept: list[tuple[Job, _Renews]] = []
        self._works = False

    def keep(self, job: Job, recording: _Renews) -> None:
        """Renew the lease of *recording* until *job* ends."""
        if self._pid != os.getpid():
            self._begin()
        with self._changed:
            self._kept.append((job, recording))
            if self._works:
                self._changed.notify()
                return
            self._works = True
        threading.Thread(target=self._work, name="gramlock-leases", daemon=True).start()

    def _work(self) -> None:
        while True:
            with self._changed:
                self._kept = [one for one in self._kept if not one[0].ended]
                if not self._kept:
                    self._works = False
                    return
                kept = list(self._kept)
                self._changed.wait(min(recording.every for _, recording in kept))
            for job, recording in kept:
                if not job.ended:
                    recording.renew()
