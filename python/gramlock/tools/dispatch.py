"""The dispatcher: the one way from a call to its handler.

:meth:`Dispatcher.dispatch` takes a call through the boundaries of :mod:`gramlock.tools.boundaries`
and returns a :class:`ToolResult`, whatever happens. For what a model may send it raises in three
cases only:
``KeyboardInterrupt``, ``SystemExit`` and, in :meth:`Dispatcher.dispatch_async`, the caller's own
cancellation; a write that was under way is recorded as uncertain first. A hostile call, a rule that
raises, recursion, overflow and a full disk are results.

A dispatcher may be shared by threads and event loops. Cost, without a ledger and with a small
schema: about 0.15 ms, most of it the hand-over to the handler's thread and the validator.
Tested by test_tools_dispatch.py, test_tools_dispatch_machine.py and test_tools_cases_dispatch.py.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Iterable
from typing import TYPE_CHECKING, Any

from ..errors import GramlockError, MissingDependencyError
from .approvals import Approval, ApprovalRequest, ApprovalStore
from .boundaries import Attempt, Parts
from .context import Context
from .invoke import Job, Workers
from .outcome import ToolResult
from .plan import calls_of
from .results import ResultStore
from .steps import drive, drive_async
from .toolset import ToolSet

if TYPE_CHECKING:
    from .completion import Completion
    from .ledger import Ledger
    from .tool import Tool

__all__ = ["Dispatcher"]

AskApproval = Callable[[ApprovalRequest, Context], "Approval | Awaitable[Approval | None] | None"]


def _no_fail_point(name: str) -> None:
    """Nothing stops the process at *name*."""


class Dispatcher:
    """Takes calls to the handlers of *tools*, through every check.

    Args:
        tools: The registry; a name that is not in it cannot be called.
        ledger: The record of effects. Without one a write that is retried is executed again.
        approvals: Where approvals lie; a context may bring its own.
        results: Where large results go; in memory by default.
        clock: Seconds since the epoch, for the expiry of approvals.
        ask_approval: Asked for an approval when a call needs one and none lies ready: shows the
            request to a person, and returns what :func:`approve` gave, or None. May be a coroutine
            function for :meth:`dispatch_async`.
        threads: How many handlers may run in threads, given-up ones included.
        tasks: How many handlers may run as tasks of event loops.
        grace: Seconds that a coroutine gets to clean up after it was cancelled.
        fail_point: For tests of crashes: called with ``"after_intent"``, ``"before_outcome"`` and
            ``"after_outcome"`` of each write.

    Raises:
        MissingDependencyError: The validator's packages are not installed.
        ToolDefinitionError: Two tools have one name.
        TypeError: *ledger*, *approvals* or *results* is something else.
        ValueError: A bound that is not positive.
    """

    def __init__(
        self,
        tools: ToolSet | Iterable[Tool],
        *,
        ledger: Ledger | None = None,
        approvals: ApprovalStore | None = None,
        results: ResultStore | None = None,
        clock: Callable[[], float] = time.time,
        ask_approval: AskApproval | None = None,
        threads: int = 32,
        tasks: int = 1_000,
        grace: float = 1.0,
        fail_point: Callable[[str], None] = _no_fail_point,
    ) -> None:
        parts = (("ledger", ledger, "begin"), ("approvals", approvals, "take"))
        for name, part, method in (*parts, ("results", results, "put")):
            if part is not None and not hasattr(part, method):  # found out only after an effect
                raise TypeError(f"{name} has no method {method}: it is a {type(part).__name__}")
        if not grace >= 0:
            raise ValueError("grace is 0 seconds or more")
        self._tools = tools if isinstance(tools, ToolSet) else ToolSet(tools)
        for tool in self._tools:
            try:
                tool.validator  # noqa: B018 - compiled now, so that the first call does not wait
            except MissingDependencyError:
                raise
            except GramlockError:  # calls of this tool are rejected; the others work
                continue
        self._parts = Parts(
            tools=self._tools,
            ledger=ledger,
            approvals=ApprovalStore() if approvals is None else approvals,
            results=ResultStore() if results is None else results,
            clock=clock,
            fail_point=fail_point,
            ask_approval=ask_approval,
            workers=Workers(threads, tasks),
            grace=grace,
        )

    @property
    def tools(self) -> ToolSet:
        """The registry."""
        return self._tools

    @property
    def ledger(self) -> Ledger | None:
        """The record of effects, if there is one."""
        return self._parts.ledger

    @property
    def approvals(self) -> ApprovalStore:
        """Where approvals lie for contexts that bring no store of their own."""
        return self._parts.approvals

    @property
    def results(self) -> ResultStore:
        """Where large results lie."""
        return self._parts.results

    def dispatch(
        self, call: Any, context: Context | None = None, *, duplicate_ok: bool = False
    ) -> ToolResult:
        """Check *call* and, if every check passes, execute it.

        Args:
            call: A :class:`ToolCall` or :class:`BrokenCall`; text or an object is read as one.
            context: Who acts, and for which operation; from the application.
            duplicate_ok: The application knows that an equal call without an operation id is
                meant once more, and the ledger need not suspect it.

        Returns:
            The one result, with the call's id. Asynchronous handlers run in a thread with an event
            loop of its own; asynchronous rules are refused.

        Raises:
            TypeError: *context* is the application's, and is no :class:`Context`.
        """
        return drive(self._attempt(call, context, duplicate_ok).run())

    async def dispatch_async(
        self, call: Any, context: Context | None = None, *, duplicate_ok: bool = False
    ) -> ToolResult:
        """As :meth:`dispatch`, on the caller's asyncio loop: asynchronous rules are awaited.

        Synchronous handlers and the ledger run in threads; synchronous rules run on the loop and
        should be quick.
        """
        return await drive_async(self._attempt(call, context, duplicate_ok).run())

    def _attempt(self, call: Any, context: Context | None, duplicate_ok: bool) -> Attempt:
        if context is not None and not isinstance(context, Context):
            raise TypeError(f"context is a Context or None, not {type(context).__name__}")
        return Attempt(self._parts, call, context or Context(), duplicate_ok)

    def dispatch_all(
        self, calls: Iterable[Any], context: Context | None = None, **options: Any
    ) -> list[ToolResult]:
        """The results of several calls: :func:`dispatch_all`, whose *options* these are."""
        from .schedule import dispatch_all

        return dispatch_all(self, calls, context, **options)

    async def dispatch_all_async(
        self, calls: Iterable[Any], context: Context | None = None, **options: Any
    ) -> list[ToolResult]:
        """As :meth:`dispatch_all`, on the caller's asyncio loop."""
        from .schedule import dispatch_all_async

        return await dispatch_all_async(self, calls, context, **options)

    def dispatch_completion(
        self, completion: Completion, context: Context | None = None, **options: Any
    ) -> list[ToolResult]:
        """The results of all calls of a :class:`Completion`, as :meth:`dispatch_all` gives them.

        A completion that did not end as ``complete`` leads to no execution. If it holds no call
        either, its status is the one result, without call id: a refusal is not an empty turn.
        """
        return self.dispatch_all(calls_of(completion), context, **options)

    async def dispatch_completion_async(
        self, completion: Completion, context: Context | None = None, **options: Any
    ) -> list[ToolResult]:
        """As :meth:`dispatch_completion`, on the caller's asyncio loop."""
        return await self.dispatch_all_async(calls_of(completion), context, **options)

    def in_flight(self) -> tuple[Job, ...]:
        """Handlers that have not ended; those with ``overdue`` were given up."""
        return self._parts.workers.jobs()

    def close(self, seconds: float | None = None) -> bool:
        """Wait for handlers that have not ended; False if some are left after *seconds*."""
        return self._parts.workers.wait(seconds)
