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
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextvars import copy_context
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal

from ..errors import NotJsonError, PointerError, ResultStoreError
from .call import BrokenCall, ToolCall, parse_tool_call
from .canonical import digest
from .context import Context
from .outcome import ToolResult
from .pointer import from_pointer, resolve

if TYPE_CHECKING:
    from .dispatch import Dispatcher

__all__ = [
    "AfterUncertain",
    "Reference",
    "calls_of",
    "dispatch_all",
    "dispatch_all_async",
    "with_references",
]

AfterUncertain = Literal["stop", "reads", "run"]


@dataclass(frozen=True)
class Reference:
    """Stands in a call's arguments for a value of an earlier call's result.

    It is a Python object that only the application can place: text or an object from the model that
    looks like one is data (:func:`with_references` turns objects at named places into references).

    Attributes:
        call_id: The earlier call's id.
        pointer: JSON pointer into its result.
    """

    call_id: str
    pointer: str = ""


def with_references(call: ToolCall, places: Iterable[str]) -> ToolCall:
    """*call* with the objects at *places* (JSON pointers into its arguments) read as references.

    This is how an application lets a model refer to a result: it tells the model that at these
    places ``{"ref": CALL_ID, "pointer": POINTER}`` may stand, and opts in to just them. Whatever is
    not an object of exactly these two texts stays data.
    """
    arguments = call.arguments
    for place in places:
        try:
            value = resolve(arguments, place)
        except PointerError:
            continue
        if isinstance(value, dict) and value.keys() == {"ref", "pointer"}:
            target, pointer = value["ref"], value["pointer"]
            if isinstance(target, str) and isinstance(pointer, str):
                arguments = _placed(arguments, place, Reference(target, pointer))
    return replace(call, arguments=arguments)


def calls_of(completion: Any) -> list[Any]:
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


# ---- the plan


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


class _Plan:
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
            task.references = _references(call, references.get(call_id or "", {}))
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
        if result.outcome == "uncertain":
            self._uncertain = min(
                index, len(self.tasks) if self._uncertain is None else self._uncertain
            )
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
            call = replace(call, arguments=_placed(call.arguments, place, value))
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
        if not (task.writes and ready) or context.operation_id is not None:
            return None
        try:
            key = context.principal, call.name, digest(call.arguments)
        except (NotJsonError, RecursionError):  # the dispatcher refuses it
            return None
        first = self.tasks[self._writes.setdefault(key, index)]
        if first is task:
            return None
        if first.result is not None and first.result.outcome == "rejected":
            self._writes[key] = index
            return None
        return _id(first.call) or call.name

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


def _plan(
    dispatcher: Dispatcher,
    calls: Iterable[Any],
    context: Context | None,
    contexts: Mapping[str, Context] | None,
    independent: Iterable[str],
    references: Mapping[str, Mapping[str, Reference]] | None,
    after_uncertain: AfterUncertain,
    at_once: int,
) -> _Plan:
    if at_once < 1:
        raise ValueError("at_once: at least one call at a time")
    if isinstance(independent, str):
        raise ValueError("independent: ids, not a text")
    return _Plan(
        dispatcher,
        calls,
        context,
        contexts or {},
        frozenset(independent),
        references or {},
        after_uncertain,
    )


# ---- carrying it out


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


# ---- calls and their arguments


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
        return digest(one.arguments) == digest(other.arguments)
    except (NotJsonError, RecursionError):
        return False


def _refusal(call: Any, boundary: str, message: str) -> ToolResult:
    return ToolResult("rejected", _id(call), _name(call), boundary=boundary, message=message)


def _references(call: Any, given: Mapping[str, Reference]) -> dict[str, Reference]:
    """Pointer -> reference, those in the arguments and those given beside them."""
    found: dict[str, Reference] = {}
    if not isinstance(call, ToolCall):
        return found
    waiting: list[tuple[str, Any, int]] = [("", call.arguments, 0)]
    while waiting:
        place, value, depth = waiting.pop()
        if depth > 200:  # refused later by name; a ring must not hold up the plan
            continue
        if isinstance(value, Reference):
            found[place] = value
        elif isinstance(value, dict):
            for name, inner in value.items():
                step = str(name).replace("~", "~0").replace("/", "~1")
                waiting.append((f"{place}/{step}", inner, depth + 1))
        elif isinstance(value, list):
            waiting.extend((f"{place}/{i}", inner, depth + 1) for i, inner in enumerate(value))
    for place, reference in given.items():
        if not isinstance(reference, Reference):
            raise PointerError(place, f"no Reference: {type(reference).__name__}")
        _placed(call.arguments, place, reference)
        found[place] = reference
    return found


def _placed(arguments: Any, place: str, value: Any) -> Any:
    """*arguments* with *value* at *place*: an existing one replaced, or a new member of an object.

    Copies what lies on the way and nothing else.
    """
    tokens = from_pointer(place)
    if not tokens:
        return value
    return _put(arguments, tokens, value, place)


def _put(holder: Any, tokens: Sequence[str], value: Any, place: str) -> Any:
    token, rest = tokens[0], tokens[1:]
    if isinstance(holder, dict):
        if rest and token not in holder:
            raise PointerError(place, "nothing is there")
        inner = _put(holder[token], rest, value, place) if rest else value
        return {**holder, token: inner}
    if isinstance(holder, list) and token.isdecimal() and int(token) < len(holder):
        index = int(token)
        inner = _put(holder[index], rest, value, place) if rest else value
        return [*holder[:index], inner, *holder[index + 1 :]]
    raise PointerError(place, "nothing is there")
