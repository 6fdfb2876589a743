"""Runs handlers under a time limit, in threads that are counted and never lost sight of.

Python cannot stop a thread. A synchronous handler that passes its limit goes on, and its effect may
land at any time after; so the caller stops waiting, the job stays in :meth:`Workers.jobs` until its
thread returns, its place stays taken, and what it brings in the end is handed to whoever abandoned
it. An asynchronous handler is cancelled at the limit and gets a short grace; one that ignores that
is abandoned in the same way.

Threads are reused (a hand-over costs about 20 us), made on demand, at most *threads* of them, and
daemons: a handler that hangs does not keep the process from ending. A child process begins without
any. Each thread has an event loop of its own for coroutines of synchronous dispatches.

Every method may be called from any thread. Tested by test_tools_invoke.py.
"""

from __future__ import annotations

import asyncio
import contextvars
import inspect
import logging
import os
import queue
import threading
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from typing import Any, Literal

from ..errors import InvalidResultError, ToolError

__all__ = ["Ending", "Job", "Workers"]

_IDLE_SECONDS = 30.0
_LONGEST = 1e6  # seconds that a lock is waited for at once; who waits longer asks again
_LOG = logging.getLogger("gramlock.tools")

Place = Literal["thread", "task"]
EndingKind = Literal["returned", "refused", "broken", "raised", "timed_out"]


@dataclass(frozen=True)
class Ending:
    """How a handler ended, as far as was seen.

    Attributes:
        kind: ``returned``; ``refused``, it raised ToolError; ``broken``, it raised
            InvalidResultError; ``raised``, anything else; ``timed_out``, nobody saw its end.
        value: What it returned.
        error: What it raised.
        late: It ended after it had been cancelled at its limit.
    """

    kind: EndingKind
    value: Any = None
    error: BaseException | None = None
    late: bool = False


TIMED_OUT = Ending("timed_out")


def _ended(error: BaseException, late: bool = False) -> Ending:
    kind: EndingKind = "raised"
    if isinstance(error, ToolError):
        kind = "refused"
    elif isinstance(error, InvalidResultError):
        kind = "broken"
    return Ending(kind, error=error, late=late)


class Job:
    """One invocation of a handler, from its start until it really ends.

    Attributes:
        tool: Name of the tool.
        call_id: Id of the call.
        started: When, by :func:`time.monotonic`.
        begun: The handler may have run, if only to its first line.
        overdue: Nobody waits for it any more.
    """

    def __init__(self, tool: str, call_id: str | None) -> None:
        self.tool, self.call_id = tool, call_id
        self.started = time.monotonic()
        self.begun = False
        self.overdue = False
        self._lock = threading.Lock()
        self._running = threading.Lock()  # held until the end: cheaper than an Event
        self._running.acquire()
        self._ending: Ending | None = None
        self._watcher: Callable[[Ending], None] | None = None

    def wait(self, seconds: float | None) -> Ending | None:
        """The ending, if it comes within *seconds*."""
        if self._running.acquire(timeout=-1 if seconds is None else min(seconds, _LONGEST)):
            self._running.release()
        return self._ending

    def watch(self, watcher: Callable[[Ending], None]) -> Ending | None:
        """Have *watcher* called at the end, or get the ending if it is there. Replaces another."""
        with self._lock:
            if self._ending is None:
                self._watcher = watcher
            return self._ending

    def abandon(self, late: Callable[[Ending], None]) -> Ending | None:
        """Stop waiting: *late* gets the ending when it comes. Returns it if it is there already."""
        with self._lock:
            if self._ending is None:
                self.overdue, self._watcher = True, late
            return self._ending

    @property
    def ended(self) -> bool:
        """Whether :meth:`end` was called."""
        return self._ending is not None

    def end(self, ending: Ending) -> None:
        """Called once, by whoever ran it."""
        with self._lock:
            self._ending = ending
            watcher = self._watcher
        self._running.release()
        try:
            if watcher is not None:
                watcher(ending)
        except Exception as error:  # the watcher's loop or ledger is gone; the thread is not
            _LOG.error("a late ending of %s could not be handed on: %s", self.tool, type(error))


class _State:
    """What one process has: threads do not survive a fork."""

    def __init__(self) -> None:
        self.pid = os.getpid()
        self.changed = threading.Condition()
        self.idle: list[_Worker] = []
        self.taken = {"thread": 0, "task": 0}
        self.jobs: dict[int, Job] = {}


class Workers:
    """A bounded number of places for handlers to run in.

    Args:
        threads: Places for handlers that run in a thread.
        tasks: Places for handlers that run as a task of the caller's event loop.
    """

    def __init__(self, threads: int = 32, tasks: int = 1_000) -> None:
        if threads < 1 or tasks < 1:
            raise ValueError("at least one thread and one task are needed")
        self._limits = {"thread": threads, "task": tasks}
        self._now = _State()

    def _state(self) -> _State:
        if self._now.pid != os.getpid():
            self._now = _State()
        return self._now

    def reserve(self, kind: Place, seconds: float = 0.0) -> bool:
        """Take a place, waiting at most *seconds* for one. :meth:`release` or a job frees it."""
        state = self._state()
        with state.changed:
            free = state.changed.wait_for(
                lambda: state.taken[kind] < self._limits[kind], min(seconds, 1e6)
            )
            if free:
                state.taken[kind] += 1
            return free

    def release(self, kind: Place) -> None:
        """Free a place that was reserved and not used."""
        state = self._state()
        with state.changed:
            state.taken[kind] -= 1
            state.changed.notify()

    def jobs(self) -> tuple[Job, ...]:
        """All that has not ended, overdue ones too."""
        state = self._state()
        with state.changed:
            return tuple(state.jobs.values())

    def wait(self, seconds: float | None = None) -> bool:
        """Wait until no job is left; False if some are after *seconds*."""
        state = self._state()
        with state.changed:
            return state.changed.wait_for(lambda: not state.jobs, seconds)

    def track(self, job: Job) -> None:
        """Count *job*, whose place is reserved, as running."""
        state = self._state()
        job.begun = True
        with state.changed:
            state.jobs[id(job)] = job

    def untrack(self, kind: Place, job: Job) -> None:
        """The job has ended: its place is free."""
        state = self._state()
        with state.changed:
            state.jobs.pop(id(job), None)
            state.taken[kind] -= 1
            state.changed.notify_all()

    def start(
        self,
        job: Job,
        run: Callable[[], Any],
        context: contextvars.Context,
        limit: float | None,
    ) -> None:
        """Run *run* in *context*, in a thread whose place is reserved; *job* tells how it ends.

        What *run* returns may be awaitable; it is then run to its end in the thread's own event
        loop and cancelled after *limit* seconds.
        """
        state = self._state()
        self.track(job)
        with state.changed:
            worker = state.idle.pop() if state.idle else None
        if worker is None:
            worker = _Worker(self, state)
            worker.thread.start()
        worker.inbox.put((job, run, limit, context))

    def rest(self, state: _State, worker: _Worker, job: Job) -> None:
        """Called by a worker whose job has ended."""
        with state.changed:
            state.jobs.pop(id(job), None)
            state.taken["thread"] -= 1
            state.idle.append(worker)
            state.changed.notify_all()

    @staticmethod
    def leave(state: _State, worker: _Worker) -> bool:
        """Called by a worker that was idle for long; False if a job is on its way to it."""
        with state.changed:
            if worker in state.idle:
                state.idle.remove(worker)
                return True
            return False


_Order = tuple[Job, Callable[[], Any], float | None, contextvars.Context]


class _Worker:
    """One thread, its inbox and, if coroutines come, its event loop."""

    def __init__(self, workers: Workers, state: _State) -> None:
        self.inbox: queue.SimpleQueue[_Order] = queue.SimpleQueue()
        self.thread = threading.Thread(target=self._work, name="gramlock-tool", daemon=True)
        self._workers, self._state = workers, state
        self._loop: asyncio.AbstractEventLoop | None = None

    def _work(self) -> None:
        while True:
            try:
                job, run, limit, context = self.inbox.get(timeout=_IDLE_SECONDS)
            except queue.Empty:
                if self._workers.leave(self._state, self):
                    break
                continue
            ending = context.run(self._perform, run, limit)
            if job.overdue:  # tracked until its late result is on record
                job.end(ending)
            self._workers.rest(self._state, self, job)
            if not job.ended:
                job.end(ending)
            del run, context, job, ending
        if self._loop is not None:
            self._loop.close()

    def _perform(self, run: Callable[[], Any], limit: float | None) -> Ending:
        try:
            value = run()
            if not inspect.isawaitable(value):
                return Ending("returned", value)
            return self._await(value, limit)
        except BaseException as error:  # whatever it is, the one who waits decides
            return _ended(error)

    def _await(self, awaitable: Awaitable[Any], limit: float | None) -> Ending:
        if self._loop is None:
            self._loop = asyncio.new_event_loop()
        loop = self._loop
        try:
            return loop.run_until_complete(_within(awaitable, limit))
        finally:
            left = asyncio.all_tasks(loop)
            for task in left:
                task.cancel()
            if left:
                loop.run_until_complete(asyncio.gather(*left, return_exceptions=True))
            loop.run_until_complete(loop.shutdown_asyncgens())


async def ending_of(run: Callable[[], Any]) -> Ending:
    """Runs *run*, and what it returns if that is awaitable; only a cancellation passes."""
    try:
        value = run()
        return Ending("returned", await value if inspect.isawaitable(value) else value)
    except asyncio.CancelledError:
        raise
    except BaseException as error:  # an exit that leaves a task would end the loop unrecorded
        return _ended(error)


def of_task(task: asyncio.Future[Ending], *, late: bool = False) -> Ending:
    """How a task of :func:`ending_of` that is done ended."""
    if task.cancelled():
        return Ending("raised", error=asyncio.CancelledError(), late=late)
    return replace(task.result(), late=late)


async def _within(awaitable: Awaitable[Any], limit: float | None) -> Ending:
    """The end of *awaitable*, however long it takes; cancelled at *limit*."""
    task = asyncio.ensure_future(ending_of(lambda: awaitable))
    done, _ = await asyncio.wait({task}, timeout=limit)
    if not done:
        task.cancel()
        await asyncio.wait({task})
    return of_task(task, late=not done)
