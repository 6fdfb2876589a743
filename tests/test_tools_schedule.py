"""Several calls of one turn: barriers, references, and one result for each id."""

from __future__ import annotations

import asyncio
import threading
import time
from dataclasses import dataclass, field
from typing import Any

import pytest

from gramlock.tools import (
    BrokenCall,
    Context,
    Dispatcher,
    Reference,
    Tool,
    ToolCall,
    ToolError,
    ToolLimits,
    ToolResult,
    dispatch_all,
    dispatch_all_async,
    with_references,
)


@dataclass
class Service:
    """Tools that write down when they began and ended, and what they were given."""

    returns: dict[str, Any] = field(default_factory=dict)
    seconds: float = 0.02
    log: list[tuple[str, str]] = field(default_factory=list)
    given: dict[str, dict[str, Any]] = field(default_factory=dict)
    most: int = 0
    _now: int = 0
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def run(self, arguments: dict[str, Any]) -> Any:
        name = arguments.get("as", "?")
        with self._lock:
            self.log.append(("begin", name))
            self.given[name] = arguments
            self._now += 1
            self.most = max(self.most, self._now)
        time.sleep(self.seconds)
        with self._lock:
            self._now -= 1
            self.log.append(("end", name))
        value = self.returns.get(name, {"done": name})
        if isinstance(value, BaseException):
            raise value
        return value

    def tools(self, **options: Any) -> list[Tool]:
        schema = {"type": "object", "properties": {"n": {"type": "integer"}}, **options}
        return [
            Tool("look", "Reads.", schema, self.run, effect="read"),
            Tool("do", "Writes.", schema, self.run),
        ]

    def before(self, one: str, other: str) -> bool:
        return self.log.index(("end", one)) < self.log.index(("begin", other))


def look(name: str, **arguments: Any) -> Any:
    return ToolCall("look", {"as": name, **arguments}, name)


def do(name: str, **arguments: Any) -> Any:
    return ToolCall("do", {"as": name, **arguments}, name)


def by_threads(service: Service, calls: Any, context: Any = None, **options: Any) -> Any:
    return dispatch_all(Dispatcher(service.tools()), calls, context, **options)


def by_tasks(service: Service, calls: Any, context: Any = None, **options: Any) -> Any:
    dispatcher = Dispatcher(service.tools())
    return asyncio.run(dispatch_all_async(dispatcher, calls, context, **options))


@pytest.fixture(params=[by_threads, by_tasks])
def run(request: pytest.FixtureRequest) -> Any:
    return request.param


def outcomes(results: list[ToolResult]) -> list[tuple[str | None, str, str | None]]:
    return [(result.call_id, result.outcome, result.boundary) for result in results]


def test_reads_run_at_once_and_keep_their_order(run: Any) -> None:
    service = Service(seconds=0.4)
    results = run(service, [look("r1"), look("r2"), look("r3")])
    assert service.most == 3
    assert [result.call_id for result in results] == ["r1", "r2", "r3"]
    assert [result.value for result in results] == [{"done": name} for name in ("r1", "r2", "r3")]


def test_a_write_is_a_barrier(run: Any) -> None:
    service = Service()
    calls = [look("r1"), look("r2"), do("w1"), look("r3"), look("r4"), do("w2"), do("w3")]
    results = run(service, calls)
    assert all(result.ok for result in results)
    for one, other in [
        *(("r1", "w1"), ("r2", "w1"), ("w1", "r3"), ("w1", "r4")),
        *(("r3", "w2"), ("r4", "w2"), ("w2", "w3")),
    ]:
        assert service.before(one, other), (one, other)


def test_independent_calls_neither_wait_nor_hold(run: Any) -> None:
    service = Service(seconds=0.4)
    results = run(service, [do("w1"), do("w2"), look("r1")], independent=["w1"])
    assert all(result.ok for result in results)
    assert not service.before("w1", "w2")
    assert service.before("w2", "r1")


def test_not_more_at_once_than_allowed(run: Any) -> None:
    service = Service(seconds=0.01)
    results = run(service, [look(f"r{number}") for number in range(20)], at_once=3)
    assert len(results) == 20
    assert 1 < service.most <= 3


# ---- references


def test_a_reference_is_replaced_by_the_real_result(run: Any) -> None:
    service = Service({"r1": {"revision": 4, "rows": [{"id": 7}]}})
    calls = [
        look("r1"),
        do("w1", n=Reference("r1", "/revision"), deep=[{"x": Reference("r1", "/rows/0")}]),
    ]
    results = run(service, calls)
    assert [result.outcome for result in results] == ["completed", "completed"]
    assert service.given["w1"] == {"as": "w1", "n": 4, "deep": [{"x": {"id": 7}}]}
    assert service.before("r1", "w1")


def test_references_may_be_given_beside_the_calls(run: Any) -> None:
    service = Service({"r1": {"revision": 4}})
    references = {"w1": {"/n": Reference("r1", "/revision")}}
    calls = [look("r1"), do("w1")]
    assert all(result.ok for result in run(service, calls, references=references))
    assert service.given["w1"]["n"] == 4
    assert calls[1].arguments == {"as": "w1"}


def test_the_resolved_arguments_are_checked(run: Any) -> None:
    service = Service({"r1": {"revision": "four"}})
    results = run(service, [look("r1"), do("w1", n=Reference("r1", "/revision"))])
    assert outcomes(results)[1] == ("w1", "rejected", "schema")
    assert "w1" not in service.given


@pytest.mark.parametrize(
    "target, pointer",
    [("w1", ""), ("r9", ""), ("r2", ""), ("r1", "/nothing"), ("r1", "no pointer"), ("bad", "")],
)
def test_a_reference_that_leads_nowhere_executes_nothing(
    run: Any, target: str, pointer: str
) -> None:
    service = Service({"bad": KeyError("lost")})
    calls = [look("r1"), look("bad"), do("w1", n=Reference(target, pointer)), look("r2")]
    results = run(service, calls)
    assert outcomes(results)[2] == ("w1", "rejected", "reference")
    assert "w1" not in service.given
    assert [result.call_id for result in results] == ["r1", "bad", "w1", "r2"]


def test_calls_that_refer_to_each_other_end(run: Any) -> None:
    service = Service()
    calls = [
        look("a", n=Reference("b")),
        look("b", n=Reference("a")),
        do("c", n=Reference("b")),
    ]
    assert outcomes(run(service, calls)) == [
        (name, "rejected", "reference") for name in ("a", "b", "c")
    ]
    assert service.log == []


@pytest.mark.parametrize("place", ["/a/b", "/as/0", "x", "/list/3"])
def test_a_reference_without_a_place_executes_nothing(run: Any, place: str) -> None:
    service = Service()
    results = run(
        service,
        [look("r1"), do("w1", list=[1])],
        references={"w1": {place: Reference("r1")}},
    )
    assert outcomes(results)[1] == ("w1", "rejected", "reference")
    assert "w1" not in service.given


def test_what_merely_looks_like_a_reference_is_data(run: Any) -> None:
    service = Service()
    looks = {"ref": "r1", "pointer": ""}
    results = run(service, [look("r1"), do("w1", note="$ref:r1", other=looks)])
    assert all(result.ok for result in results)
    assert service.given["w1"] == {"as": "w1", "note": "$ref:r1", "other": looks}


def test_the_application_opts_in_by_place() -> None:
    refers = {"ref": "r1", "pointer": "/revision"}
    call = do("w1", n=refers, other=refers, list=[refers, {**refers, "more": 1}])
    typed = with_references(call, ["/n", "/list/0", "/list/1", "/missing/x"])
    assert typed.arguments["n"] == Reference("r1", "/revision")
    assert typed.arguments["other"] == refers
    assert typed.arguments["list"] == [Reference("r1", "/revision"), {**refers, "more": 1}]
    assert call.arguments["n"] == refers


def test_an_unresolved_reference_is_no_argument() -> None:
    service = Service()
    result = Dispatcher(service.tools()).dispatch(do("w1", n=Reference("r1")))
    assert (result.outcome, result.boundary) == ("rejected", "parse")


def test_a_reference_reaches_into_a_stored_result(run: Any) -> None:
    service = Service({"r1": {"rows": [{"id": number} for number in range(20_000)]}})
    me = Context(principal="me")
    results = run(service, [look("r1"), do("w1", n=Reference("r1", "/rows/19999/id"))], me)
    assert results[0].stored is not None
    assert results[1].ok
    assert service.given["w1"]["n"] == 19_999


# ---- what is not run


def test_after_an_uncertain_write_nothing_runs(run: Any) -> None:
    calls = [do("w1"), look("r1"), do("w2"), do("w3")]
    for policy, ran in [
        ("stop", ["w1", "w3"]),
        ("reads", ["w1", "r1", "w3"]),
        ("run", ["w1", "r1", "w2", "w3"]),
    ]:
        service = Service({"w1": ConnectionResetError()})
        results = run(service, calls, after_uncertain=policy, independent={"w3"})
        assert sorted(service.given) == sorted(ran)
        assert results[0].outcome == "uncertain"
        for result in results[1:]:
            expected = ("completed", None) if result.call_id in ran else ("rejected", "order")
            assert (result.outcome, result.boundary) == expected


def test_an_uncertain_write_that_is_independent_holds_nothing(run: Any) -> None:
    service = Service({"w1": ConnectionResetError()})
    results = run(service, [do("w1"), do("w2")], independent=["w1"])
    assert [result.outcome for result in results] == ["uncertain", "completed"]


def test_after_a_refused_or_failed_write_the_rest_runs(run: Any) -> None:
    service = Service({"w2": ToolError("no")})
    results = run(service, [do("w1", n="x"), do("w2"), look("r1")])
    assert [result.outcome for result in results] == ["rejected", "failed", "completed"]


def test_equal_writes_of_one_turn_are_not_decided_by_their_ids(run: Any) -> None:
    service = Service()
    same = {"as": "x", "n": 5}
    calls = [ToolCall("do", same, "w1"), ToolCall("do", dict(same), "w2")]
    assert outcomes(run(service, calls)) == [
        ("w1", "completed", None),
        ("w2", "rejected", "duplicate"),
    ]
    assert len(service.log) == 2
    both = {"w1": Context(operation_id="O1"), "w2": Context(operation_id="O2")}
    assert [result.outcome for result in run(service, calls, contexts=both)] == ["completed"] * 2


def test_an_equal_write_is_no_duplicate_of_one_that_was_refused(run: Any) -> None:
    service = Service()
    calls = [ToolCall("do", {"n": "x"}, name) for name in ("w1", "w2")]
    calls += [ToolCall("gone", {}, name) for name in ("u1", "u2")]
    assert [result.boundary for result in run(service, calls)] == ["schema"] * 2 + ["name"] * 2
    cut = [ToolCall("do", {"as": "x"}, name, "length") for name in ("w1", "w2")]
    assert [result.boundary for result in run(service, cut)] == ["completion"] * 2


def test_equal_writes_by_reference_are_seen(run: Any) -> None:
    service = Service({"r1": 5})
    calls = [look("r1")]
    calls += [ToolCall("do", {"n": Reference("r1")}, name) for name in ("w1", "w2")]
    assert [result.boundary for result in run(service, calls)] == [None, None, "duplicate"]


def test_each_id_gets_one_result(run: Any) -> None:
    service = Service()
    calls = [
        look("r1"),
        do("w1"),
        do("w1"),  # the same call twice: one call
        ToolCall("do", {"as": "other"}, "r1"),  # another call under an id that was used
        ToolCall("look", {"as": "n1"}, None),
        ToolCall("look", {"as": "n2"}, None),
        BrokenCall("b1", "do", "arguments", "cut", "complete"),
        ToolCall("unknown", {}, "u1"),
    ]
    results = run(service, calls)
    assert outcomes(results) == [
        ("r1", "rejected", "call_id"),
        ("w1", "completed", None),
        (None, "completed", None),
        (None, "completed", None),
        ("b1", "rejected", "parse"),
        ("u1", "rejected", "name"),
    ]
    assert sorted(service.given) == ["n1", "n2", "w1"]


@pytest.mark.parametrize("raw", [None, 5, "x", {}, object()], ids=str)
def test_what_is_no_call_gets_a_result_too(run: Any, raw: Any) -> None:
    service = Service()
    results = run(service, [raw, look("r1")])
    assert [result.outcome for result in results] == ["rejected", "completed"]


def test_wrong_options_are_named(run: Any) -> None:
    with pytest.raises(ValueError, match="policy"):
        run(Service(), [], after_uncertain="maybe")
    with pytest.raises(ValueError, match="at_once"):
        run(Service(), [], at_once=0)
    with pytest.raises(ValueError, match="independent"):
        run(Service(), [], independent="w1")
    assert run(Service(), []) == []


def test_thousands_of_calls_take_a_moment(run: Any) -> None:
    service = Service(seconds=0)
    calls = [ToolCall("nothing", {}, f"c{number}") for number in range(3_000)]
    began = time.process_time()
    results = run(service, calls)
    assert len(results) == 3_000
    assert time.process_time() - began < 20


# ---- completions and interruptions


@dataclass(frozen=True)
class Ended:
    """A completion, as far as the scheduler looks at it."""

    status: str
    calls: tuple[Any, ...] = ()


def completed(dispatcher: Dispatcher, completion: Any) -> list[ToolResult]:
    return dispatcher.dispatch_completion(completion)


def completed_async(dispatcher: Dispatcher, completion: Any) -> list[ToolResult]:
    return asyncio.run(dispatcher.dispatch_completion_async(completion))


@pytest.mark.parametrize("dispatch", [completed, completed_async])
def test_only_a_complete_completion_leads_to_execution(dispatch: Any) -> None:
    service = Service()
    dispatcher = Dispatcher(service.tools())
    assert dispatch(dispatcher, Ended("complete", (look("r1"),)))[0].ok
    assert dispatch(dispatcher, Ended("complete")) == []
    service.log.clear()
    for status in ("length", "refusal", "filtered"):
        results = dispatch(dispatcher, Ended(status, (look("r1"), do("w1"))))
        assert outcomes(results) == [
            ("r1", "rejected", "completion"),
            ("w1", "rejected", "completion"),
        ]
        (result,) = dispatch(dispatcher, Ended(status))
        assert (result.outcome, result.boundary) == ("rejected", "completion")
        assert status in result.message
    assert service.log == []


def test_a_cancellation_waits_for_the_record_and_passes() -> None:
    started = asyncio.Event()
    ended: list[str] = []

    async def slow(arguments: Any) -> None:
        started.set()
        try:
            await asyncio.sleep(10)
        finally:
            ended.append("cancelled")

    async def main() -> None:
        dispatcher = Dispatcher(
            [Tool("do", "Writes.", {"type": "object"}, slow, limits=ToolLimits(seconds=20))]
        )
        task = asyncio.ensure_future(dispatch_all_async(dispatcher, [do("w1"), do("w2")]))
        await started.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert ended == ["cancelled"]
        assert dispatcher.in_flight() == ()

    asyncio.run(main())


def test_an_exit_passes_and_what_waits_does_not_begin() -> None:
    service = Service({"w1": SystemExit(3)})
    with pytest.raises(SystemExit):
        by_threads(service, [do("w1"), do("w2")])
    assert "w2" not in service.given
