"""What a dispatch needs from outside itself, as steps that one of two drivers performs.

The order of the boundaries is written once, as a generator (:mod:`gramlock.tools.boundaries`). It
yields a step where an application's rule, the ledger or the handler is to be called; :func:`drive`
performs steps in the calling thread, :func:`drive_async` on the caller's event loop. Whatever a
step raises is raised at the generator's ``yield``, so that an interruption or the caller's own
cancellation passes through the boundaries, which record it, on its way out.

A rule's answer that is awaitable is awaited only by :func:`drive_async`. In synchronous code it is
closed and counts as no answer: a coroutine is truthy, and must not pass for consent.

Tested by test_tools_dispatch.py.
"""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import inspect
import time
from collections.abc import Callable, Generator
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol, TypeVar

from ..errors import ToolLayerError
from .invoke import TIMED_OUT, Ending, Job, Place, Workers, ending_of, of_task

__all__ = ["Ask", "Block", "Invoke", "Reserve", "RuleError", "Step", "Steps", "drive"]

T = TypeVar("T")

_POLL_SECONDS = 0.01


class RuleError(ToolLayerError):
    """A rule gave no answer that may count: asynchronous in synchronous code, or of no use."""


class Step(Protocol):
    """Something to be done outside the boundaries."""

    def now(self) -> Any:
        """Do it in this thread."""

    async def later(self) -> Any:
        """Do it on this event loop."""


Steps = Generator[Step, Any, T]


@dataclass(frozen=True)
class Ask:
    """Call a rule of the application's."""

    rule: Callable[..., Any]
    arguments: tuple[Any, ...]

    def now(self) -> Any:
        """The answer; an awaitable is refused."""
        answer = self._asked()
        if inspect.isawaitable(answer):
            _close(answer)
            raise RuleError("an asynchronous rule in a synchronous dispatch")
        return answer

    async def later(self) -> Any:
        """The answer, awaited if need be. A rule's own cancellation is its failure."""
        answer = self._asked()
        if not inspect.isawaitable(answer):
            return answer
        task = asyncio.ensure_future(ending_of(lambda: answer))
        try:
            await asyncio.wait({task})
        except asyncio.CancelledError:
            task.cancel()
            raise
        ending = of_task(task)
        if ending.error is not None:
            _let_through(ending.error)
            raise RuleError("the rule raised") from ending.error
        return ending.value

    def _asked(self) -> Any:
        try:
            return self.rule(*self.arguments)
        except Exception:
            raise
        except BaseException as error:
            _let_through(error)
            raise RuleError("the rule raised") from error


def _let_through(error: BaseException) -> None:
    if isinstance(error, KeyboardInterrupt | SystemExit):
        raise error


def _close(awaitable: Any) -> None:
    """End an awaitable that will not be awaited, so that nobody warns about it."""
    for name in ("close", "cancel"):
        ending = getattr(awaitable, name, None)
        if callable(ending):
            ending()
            return


@dataclass(frozen=True)
class Block:
    """Call something that waits for a disk or a network: the ledger, the store of results."""

    function: Callable[..., Any]
    arguments: tuple[Any, ...] = ()
    options: tuple[tuple[str, Any], ...] = ()

    def now(self) -> Any:
        """What it returns."""
        return self.function(*self.arguments, **dict(self.options))

    async def later(self) -> Any:
        """What it returns, from a thread. A cancellation waits until it is done."""
        loop = asyncio.get_running_loop()
        future = loop.run_in_executor(None, self.now)
        cancelled: asyncio.CancelledError | None = None
        while not future.done():
            try:
                await asyncio.wait({future})
            except asyncio.CancelledError as error:
                cancelled = error
        return _Done(future, cancelled)


@dataclass(frozen=True)
class _Done:
    """What came of a step that was not to be interrupted, and the cancellation that waited."""

    future: asyncio.Future[Any]
    cancelled: asyncio.CancelledError | None


@dataclass(frozen=True)
class Reserve:
    """Wait for a place to run a handler in; the answer is the place's kind, None without one."""

    workers: Workers
    kind: Place
    seconds: float

    def now(self) -> Place | None:
        """Without an event loop of the caller's, coroutines run in a thread as well."""
        return "thread" if self.workers.reserve("thread", self.seconds) else None

    async def later(self) -> Place | None:
        """As :meth:`now`, on the event loop."""
        until = time.monotonic() + self.seconds
        while not self.workers.reserve(self.kind):
            if time.monotonic() >= until:
                return None
            await asyncio.sleep(_POLL_SECONDS)
        return self.kind


@dataclass(frozen=True)
class Invoke:
    """Run a handler in a place that is reserved, under its limit.

    Attributes:
        workers: Where the place is.
        job: What is tracked.
        run: Calls the handler.
        context: Context variables that it runs with.
        kind: Where an event loop would run it.
        limit: Seconds, or None.
        grace: Seconds that a cancelled coroutine gets to clean up.
        beat: Called every *every* seconds while the handler runs; renews the intent's lease.
        every: Seconds.
        late: Gets the ending of a handler that was given up, in some thread.
    """

    workers: Workers
    job: Job
    run: Callable[[], Any]
    context: contextvars.Context
    kind: Place
    limit: float | None
    grace: float
    beat: Callable[[], None] | None
    every: float
    late: Callable[[Ending], None]

    def now(self) -> Ending:
        """The ending, or that the limit was passed."""
        self.workers.start(self.job, self.run, self.context, self.limit)
        try:
            ending = self._wait(time.monotonic())
            if ending is None and self.kind == "task":
                ending = self.job.wait(self.grace)
            return ending or self.job.abandon(self.late) or TIMED_OUT
        except BaseException:
            self._give_up()
            raise

    def _wait(self, began: float) -> Ending | None:
        while True:
            left, slice_ = self._left(began)
            ending = self.job.wait(slice_)
            if ending is not None or (left is not None and left <= 0):
                return ending
            if self.beat is not None:
                self.beat()

    def _left(self, began: float) -> tuple[float | None, float | None]:
        """Seconds to the limit, and seconds to wait before the next beat."""
        left = None if self.limit is None else max(0.0, began + self.limit - time.monotonic())
        if self.beat is None:
            return left, left
        return left, self.every if left is None else min(left, self.every)

    def _give_up(self) -> None:
        """Nobody waits any more: an ending that is there, or comes, is evidence."""
        ending = self.job.abandon(self.late)
        if ending is not None:
            self.late(ending)

    async def later(self) -> Ending:
        """The ending, or that the limit was passed."""
        if self.kind == "task":
            return await self._as_task()
        return await self._in_thread()

    async def _in_thread(self) -> Ending:
        loop = asyncio.get_running_loop()
        future: asyncio.Future[Ending] = loop.create_future()

        def done(ending: Ending) -> None:
            loop.call_soon_threadsafe(_settle, future, ending)

        self.workers.start(self.job, self.run, self.context, self.limit)
        try:
            ending = self.job.watch(done)
            if ending is None and await self._watched(future):
                ending = future.result()
            return ending or self.job.abandon(self.late) or TIMED_OUT
        except BaseException:
            self._give_up()
            raise

    async def _as_task(self) -> Ending:
        task = self.context.run(asyncio.ensure_future, ending_of(self.run))
        loop = asyncio.get_running_loop()
        self.workers.track(self.job)
        task.add_done_callback(partial(_task_done, self.workers, self.job))

        def late(ending: Ending) -> None:  # asks the ledger: not on the loop
            loop.run_in_executor(None, partial(self.late, ending))

        try:
            if await self._watched(task):
                return of_task(task)
            task.cancel()
            if (await asyncio.wait({task}, timeout=self.grace))[0]:
                return of_task(task, late=True)
            return self.job.abandon(late) or TIMED_OUT
        except BaseException:
            await self._cancelled(task, late)
            raise

    async def _cancelled(
        self, task: asyncio.Future[Ending], late: Callable[[Ending], None]
    ) -> None:
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):  # cancelled once more: no grace, then
            await asyncio.wait({task}, timeout=self.grace)
        if task.done():
            late(of_task(task))
        else:
            self.job.abandon(late)

    async def _watched(self, future: asyncio.Future[Ending]) -> bool:
        """Whether it is done within the limit; beats meanwhile."""
        began, loop = time.monotonic(), asyncio.get_running_loop()
        while True:
            left, slice_ = self._left(began)
            done, _ = await asyncio.wait({future}, timeout=slice_)
            if done or (left is not None and left <= 0):
                return bool(done)
            if self.beat is not None:
                await loop.run_in_executor(None, self.beat)


def _settle(future: asyncio.Future[Ending], ending: Ending) -> None:
    if not future.done():
        future.set_result(ending)


def _task_done(workers: Workers, job: Job, task: asyncio.Future[Ending]) -> None:
    workers.untrack("task", job)
    job.end(of_task(task))


def drive(steps: Steps[T]) -> T:
    """Perform all steps in this thread; returns what the generator returns."""
    answer, error = None, None
    while True:
        try:
            step = steps.send(answer) if error is None else steps.throw(error)
        except StopIteration as stop:
            result: T = stop.value
            return result
        answer, error = None, None
        try:
            answer = step.now()
        except BaseException as raised:
            error = raised


async def drive_async(steps: Steps[T]) -> T:
    """Perform all steps on this event loop; returns what the generator returns."""
    answer: Any = None
    error: BaseException | None = None
    waiting: asyncio.CancelledError | None = None
    while True:
        try:
            step = steps.send(answer) if error is None else steps.throw(error)
        except StopIteration as stop:
            result: T = stop.value
            if waiting is not None:
                raise waiting from None
            return result
        answer, error = None, None
        if waiting is not None and not isinstance(step, Block):
            error, waiting = waiting, None
            continue
        try:
            answer = await step.later()
            if isinstance(answer, _Done):
                waiting = answer.cancelled or waiting
                answer = answer.future.result()
        except BaseException as raised:
            error = raised
