"""Several calls of one turn: what may run at once, what waits, what is not run at all.

Calls are taken in the order in which the model emitted them:

* reads run concurrently, but none runs across a write;
* a write is a barrier: it waits for all before it, and all after it wait for it;
* a call that the application declares independent neither waits nor is waited for;
* a :class:`Reference` to an earlier call's result waits for that result, and is replaced by it
  before schema, approval and key see the arguments;
* what follows a write that ended ``uncertain`` is not run, unless the application says otherwise.

Every call id gets exactly one result, in the order of first emission. Two equal calls under one id
are one call; two different ones cannot be told apart in the answer, and neither is run. Two equal
writes under two ids, without an operation id of their own each, may be a slip or may both be meant:
the first runs, and the second is refused as a suspected duplicate (``boundary="duplicate"``), for
the application to ask. With the context's operation id and a ledger it gets the first's result.

The plan is made once and carried out by threads or by tasks. Tested by test_tools_schedule.py.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextvars import copy_context
from typing import TYPE_CHECKING, Any

from .context import Context
from .outcome import ToolResult
from .plan import AfterUncertain, Plan
from .references import Reference

if TYPE_CHECKING:
    from .dispatch import Dispatcher

__all__ = ["dispatch_all", "dispatch_all_async"]


def dispatch_all(
    dispatcher: Dispatcher,
    calls: Iterable[Any],
    context: Context | None = None,
    *,
    contexts: Mapping[str, Context] | None = None,
    independent: Iterable[str] = (),
    references: Mapping[str, Mapping[str, Reference]] | None = None,
    after_uncertain: AfterUncertain = "stop",
    at_once: int = 8,
) -> list[ToolResult]:
    """Dispatch several calls of one turn, in an order that is safe.

    Args:
        dispatcher: Checks and executes each.
        calls: In the order of emission; each as :meth:`Dispatcher.dispatch` takes it.
        context: Of all calls.
        contexts: Call id -> context of that call instead; two equal writes that are both meant get
            operation ids of their own here.
        independent: Ids of calls that may run beside anything.
        references: Call id -> JSON pointer into its arguments -> what to put there. References may
            also stand in the arguments themselves.
        after_uncertain: What of the calls after an uncertain write is run: nothing (``"stop"``),
            only reads (``"reads"``) or all (``"run"``).
        at_once: How many calls run at the same time.

    Returns:
        One result for each call id, in order of first emission; calls without an id each get one.

    Raises:
        ValueError: *at_once* is not positive, no such policy, or *independent* is a text.
        KeyboardInterrupt: Calls that run go on and are recorded; the others do not begin.
        SystemExit: Alike.
    """
    plan = _plan(
        dispatcher, calls, context, contexts, independent, references, after_uncertain, at_once
    )
    pool = ThreadPoolExecutor(at_once, thread_name_prefix="gramlock-turn")
    running: dict[Future[ToolResult], int] = {}

    def start(index: int, call: Any) -> None:
        run = copy_context().run
        running[pool.submit(run, dispatcher.dispatch, call, plan.tasks[index].context)] = index

    try:
        plan.begin(start)
        while running:
            for future in wait(running, return_when=FIRST_COMPLETED).done:
                plan.ended(running.pop(future), future.result(), start)
        return plan.results()
    finally:
        pool.shutdown(wait=False, cancel_futures=True)


async def dispatch_all_async(
    dispatcher: Dispatcher,
    calls: Iterable[Any],
    context: Context | None = None,
    *,
    contexts: Mapping[str, Context] | None = None,
    independent: Iterable[str] = (),
    references: Mapping[str, Mapping[str, Reference]] | None = None,
    after_uncertain: AfterUncertain = "stop",
    at_once: int = 8,
) -> list[ToolResult]:
    """As :func:`dispatch_all`, with :meth:`Dispatcher.dispatch_async`.

    The caller's cancellation cancels the calls that run, waits until they have recorded what
    became of them, and is then let through.
    """
    plan = _plan(
        dispatcher, calls, context, contexts, independent, references, after_uncertain, at_once
    )
    places = asyncio.Semaphore(at_once)
    running: dict[asyncio.Task[ToolResult], int] = {}

    async def one(index: int, call: Any) -> ToolResult:
        async with places:
            return await dispatcher.dispatch_async(call, plan.tasks[index].context)

    def start(index: int, call: Any) -> None:
        running[asyncio.ensure_future(one(index, call))] = index

    try:
        plan.begin(start)
        while running:
            done, _ = await asyncio.wait(running, return_when=asyncio.FIRST_COMPLETED)
            for task in done:
                plan.ended(running.pop(task), task.result(), start)
        return plan.results()
    finally:
        await _end(list(running))


async def _end(running: Sequence[asyncio.Task[ToolResult]]) -> None:
    for task in running:
        task.cancel()
    cancelled: asyncio.CancelledError | None = None
    while not all(task.done() for task in running):
        try:
            await asyncio.wait(running)
        except asyncio.CancelledError as error:
            cancelled = error
    if cancelled is not None:
        raise cancelled


def _plan(
    dispatcher: Dispatcher,
    calls: Iterable[Any],
    context: Context | None,
    contexts: Mapping[str, Context] | None,
    independent: Iterable[str],
    references: Mapping[str, Mapping[str, Reference]] | None,
    after_uncertain: AfterUncertain,
    at_once: int,
) -> Plan:
    if at_once < 1:
        raise ValueError("at_once: at least one call at a time")
    if isinstance(independent, str):
        raise ValueError("independent: ids, not a text")
    return Plan(
        dispatcher,
        calls,
        context,
        contexts or {},
        frozenset(independent),
        references or {},
        after_uncertain,
    )
