"""The plan of several calls: who waits for whom, what is not run, and what became of each.

Made once, in the order of emission; every call waits for earlier ones only, so that nothing waits
in a ring. :mod:`gramlock.tools.schedule` states the rules and carries the plan out.

Used by one dispatch of several calls, from one thread or event loop. Cost: linear in the calls,
their references and the reads before each write. Tested by test_tools_schedule.py.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal

from ..errors import NotJsonError, PointerError, ResultStoreError
from .call import BrokenCall, ToolCall, parse_tool_call
from .canonical import digest
from .context import Context
from .outcome import ToolResult
from .pointer import resolve
from .references import Reference, placed, references_in

if TYPE_CHECKING:
    from .completion import Completion
    from .dispatch import Dispatcher

__all__ = ["AfterUncertain", "Plan", "calls_of"]

AfterUncertain = Literal["stop", "reads", "run"]


def calls_of(completion: Completion) -> list[ToolCall | BrokenCall]:
    """The calls of a completion, each with the worse of its own status and the completion's.

    A completion that is not ``complete`` and holds no call yields one that carries its status.
    """
    if completion.status == "complete":
        return list(completion.calls)
    if not completion.calls:
        message = f"the completion ended as {completion.status!r}"
        return [BrokenCall(None, None, "call", message, completion.status)]
    return [
        call if call.status != "complete" else replace(call, status=completion.status)
        for call in completion.calls
    ]


@dataclass
class _Task:
    """One call to be answered.

    Attributes:
        call: As it came.
        context: Whose.
        writes: Its effect is not known to be a read.
        barred: Independent calls are not.
        after: Places in the plan that must have ended before it begins.
        missing: How many of them have not.
        before: Places in the plan that wait for it.
        references: Where in its arguments which reference stands.
        refusal: Why it is not run, known beforehand.
        result: When it has one.
    """

    call: Any
    context: Context | None
    writes: bool
    barred: bool
    after: set[int] = field(default_factory=set)
    missing: int = 0
    before: list[int] = field(default_factory=list)
    references: dict[str, Reference] = field(default_factory=dict)
    refusal: ToolResult | None = None
    result: ToolResult | None = None


class Plan:
    """Who waits for whom, and what became of them."""

    def __init__(
        self,
        dispatcher: Dispatcher,
        calls: Iterable[Any],
        context: Context | None,
        contexts: Mapping[str, Context],
        independent: frozenset[str],
        references: Mapping[str, Mapping[str, Reference]],
        after_uncertain: AfterUncertain,
    ) -> None:
        if after_uncertain not in ("stop", "reads", "run"):
            raise ValueError(f"after_uncertain: no policy {after_uncertain!r}")
        self._dispatcher, self._policy = dispatcher, after_uncertain
        self.tasks: list[_Task] = []
        self._by_id: dict[str, int] = {}
        self._writes: dict[tuple[Any, ...], int] = {}  # the first of equal ones
        self._uncertain: int | None = None  # the first
        for raw in calls:
            call = _read(raw)
            self._add(call, contexts.get(_id(call) or "", context), independent, references)
        self._order()

    def _add(
        self,
        call: Any,
        context: Context | None,
        independent: frozenset[str],
        references: Mapping[str, Mapping[str, Reference]],
    ) -> None:
        call_id = _id(call)
        tool = self._dispatcher.tools.get(_name(call))
        writes = tool is None or tool.effect != "read"
        task = _Task(call, context, writes, call_id not in independent)
        if call_id is not None and call_id in self._by_id:
            first = self.tasks[self._by_id[call_id]]
            if not _same(first.call, call):
                message = "several different calls have this id: none was executed"
                first.refusal = _refusal(first.call, "call_id", message)
            return
        try:
            task.references = references_in(call, references.get(call_id or "", {}))
        except (PointerError, RecursionError) as error:
            task.refusal = _refusal(call, "reference", f"a reference has no place: {error}")
        if call_id is not None:
            self._by_id[call_id] = len(self.tasks)
        self.tasks.append(task)

    def _order(self) -> None:
        """Barriers and references: each waits for earlier ones only, so nothing waits in a ring."""
        reads: list[int] = []
        barrier: int | None = None
        for index, task in enumerate(self.tasks):
            for reference in task.references.values():
                target = self._by_id.get(reference.call_id, index)
                if target >= index:
                    message = f"{reference.call_id!r} is no earlier call"
                    task.refusal = task.refusal or _refusal(task.call, "reference", message)
                else:
                    task.after.add(target)
            if not task.barred:
                continue
            if barrier is not None:
                task.after.add(barrier)
            if task.writes:
                task.after.update(reads)
                reads, barrier = [], index
            else:
                reads.append(index)

        for index, task in enumerate(self.tasks):
            task.missing = len(task.after)
            for earlier in task.after:
                self.tasks[earlier].before.append(index)

    # ---- while it is carried out

    def begin(self, start: Callable[[int, Any], None]) -> None:
        """Start all that wait for nothing."""
        self._start([i for i, task in enumerate(self.tasks) if not task.missing], start)

    def ended(self, index: int, result: ToolResult, start: Callable[[int, Any], None]) -> None:
        """Keep a result, and start what waited for it."""
        self._start(self._settle(index, result), start)

    def _settle(self, index: int, result: ToolResult) -> list[int]:
        task = self.tasks[index]
        task.result = result
        if result.outcome == "uncertain" and task.barred:
            self._uncertain = index if self._uncertain is None else min(index, self._uncertain)
        free = []
        for waiting in task.before:
            self.tasks[waiting].missing -= 1
            if not self.tasks[waiting].missing:
                free.append(waiting)
        return free

    def _start(self, ready: list[int], start: Callable[[int, Any], None]) -> None:
        """Start *ready*; what is not to be run gets its result at once, which may free others."""
        waiting = deque(ready)
        while waiting:
            index = waiting.popleft()
            prepared = self.prepare(index)
            if isinstance(prepared, ToolResult):
                waiting.extend(self._settle(index, prepared))
            else:
                start(index, prepared)

    def prepare(self, index: int) -> Any:
        """The call to dispatch, its references resolved; or its result, if it is not to be run."""
        task = self.tasks[index]
        if task.refusal is not None:
            return task.refusal
        held = self._held_by(index)
        if held is not None:
            message = f"not run: whether the earlier write {held!r} happened is not known"
            return _refusal(task.call, "order", message)
        call: Any = task.call
        for place, reference in task.references.items():
            source = self.tasks[self._by_id[reference.call_id]].result
            assert source is not None
            try:
                value = self._value(source, reference, task.context)
            except (PointerError, ResultStoreError) as error:
                message = f"{reference.call_id!r} has no such result: {error}"
                return _refusal(call, "reference", message)
            call = replace(call, arguments=placed(call.arguments, place, value))
        twin = self._twin(index, call)
        if twin is not None:
            message = f"equal to {twin!r} of this turn: if both are meant, say so"
            return _refusal(call, "duplicate", message)
        return call

    def _twin(self, index: int, call: Any) -> str | None:
        """An equal write of this turn, where nothing tells whether both are meant."""
        task = self.tasks[index]
        context = task.context or Context()
        ready = isinstance(call, ToolCall) and call.status == "complete"
        name = _name(call)
        if name is None or not (task.writes and ready) or context.operation_id is not None:
            return None
        try:
            key = context.principal, name, digest(call.arguments)
        except (NotJsonError, RecursionError):  # the dispatcher refuses it
            return None
        first = self.tasks[self._writes.setdefault(key, index)]
        if first is task:
            return None
        if first.result is not None and first.result.outcome == "rejected":
            self._writes[key] = index
            return None
        return _id(first.call) or name

    def _value(self, source: ToolResult, reference: Reference, context: Context | None) -> Any:
        if source.outcome != "completed":
            raise PointerError(reference.pointer, f"it ended as {source.outcome}")
        value = source.value
        if source.stored is not None:
            principal = (context or Context()).principal
            value = self._dispatcher.results.get(source.stored.id, principal=principal)
        return resolve(value, reference.pointer)

    def _held_by(self, index: int) -> str | None:
        """The uncertain write before this call that it must not follow, by the policy."""
        task = self.tasks[index]
        if not task.barred or self._policy == "run":
            return None
        if self._policy == "reads" and not task.writes:
            return None
        if self._uncertain is None or self._uncertain > index:
            return None
        result = self.tasks[self._uncertain].result
        assert result is not None
        return result.call_id or result.tool

    def results(self) -> list[ToolResult]:
        """One for each call id, in order."""
        return [task.result for task in self.tasks if task.result is not None]


def _read(raw: Any) -> Any:
    """A call as an object; what cannot be read is left for the dispatcher to refuse."""
    if isinstance(raw, ToolCall | BrokenCall):
        return raw
    try:
        return parse_tool_call(raw)
    except Exception:
        return raw


def _id(call: Any) -> str | None:
    value = getattr(call, "id", None)
    return value if isinstance(value, str) else None


def _name(call: Any) -> str | None:
    value = getattr(call, "name", None)
    return value if isinstance(value, str) else None


def _same(one: Any, other: Any) -> bool:
    """Whether two calls under one id are one: equal in name, arguments and status."""
    if type(one) is not type(other) or (one.name, one.status) != (other.name, other.status):
        return False
    if isinstance(one, BrokenCall):
        return bool(one == other)
    try:
        return _content(one) == _content(other)
    except (NotJsonError, RecursionError):
        return False


def _content(call: ToolCall) -> tuple[str, dict[str, Reference]]:
    """Digest of the arguments without their references, and these."""
    references, arguments = references_in(call, {}), call.arguments
    for place in references:
        arguments = placed(arguments, place, None)
    return digest(arguments), references


def _refusal(call: Any, boundary: str, message: str) -> ToolResult:
    return ToolResult("rejected", _id(call), _name(call), boundary=boundary, message=message)
