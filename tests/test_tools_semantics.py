"""Checks beyond the schema: they run on valid values only, all of them, and never fail open."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from gramlock.errors import PointerError, ToolDefinitionError
from gramlock.tools import (
    Dispatcher,
    Tool,
    ToolSet,
    Violation,
    examine,
    invariant,
    parse_tool_call,
    reference,
)
from gramlock.tools.context import Context
from gramlock.tools.pointer import find
from gramlock.tools.semantics import MAX_LOOK_UPS

TRIP: dict[str, Any] = {
    "type": "object",
    "properties": {
        "from": {"type": "integer"},
        "to": {"type": "integer"},
        "guests": {"type": "array", "items": {"type": "object", "properties": {"id": {}}}},
    },
    "required": ["from"],
}
in_order = invariant(
    lambda trip: trip["from"] <= trip.get("to", trip["from"]),
    at=["$.from", "$.to"],
    expected="from not later than to",
)


def lines(violations: list[Violation]) -> list[str]:
    return [str(violation) for violation in violations]


def test_an_invariant_names_each_field_that_could_change() -> None:
    found = examine({"from": 3, "to": 1}, TRIP, [in_order])
    assert lines(found) == [
        "$.from: expected from not later than to, got 3",
        "$.to: expected from not later than to, got 1",
    ]
    assert [(v.pointer, v.rule, v.boundary) for v in found] == [
        ("/from", "invariant", "domain"),
        ("/to", "invariant", "domain"),
    ]
    assert examine({"from": 1, "to": 3}, TRIP, [in_order]) == []


def test_a_field_that_is_not_there_is_named_as_a_member() -> None:
    def needs_an_end(trip: Any, context: Any) -> bool:
        return "to" in trip or bool(context)

    check = invariant(needs_an_end, at="$.to", expected="an end of the trip")
    (one,) = examine({"from": 1}, TRIP, [check])
    assert (one.pointer, one.property, one.path) == ("", "to", "$.to")
    assert one.rule == "needs_an_end"
    assert str(one) == "$.to: an end of the trip"
    assert examine({"from": 1}, TRIP, [check], context="a context") == []
    (whole,) = examine({"from": 1}, TRIP, [invariant(lambda v: False, expected="more")])
    assert str(whole) == "$: more"
    deep = invariant(lambda v: False, at="$.guests[0].id", expected="a guest")
    assert examine({"from": 1}, TRIP, [deep])[0].path == "$.guests[0].id"


@pytest.mark.parametrize("answer", [None, 1, "yes", [], object(), False])
def test_only_true_holds(answer: Any) -> None:
    assert len(examine({"from": 1}, TRIP, [invariant(lambda v: answer, expected="x")])) == 1


def test_checks_wait_for_the_schema_and_then_all_run() -> None:
    asked: list[str] = []

    def first(value: Any, context: Any) -> Any:
        asked.append("first")
        yield Violation("/from", "first", "something else", boundary="domain")

    def second(value: Any, context: Any) -> Any:
        asked.append("second")

    def third(value: Any, context: Any) -> Any:
        asked.append("third")
        raise RuntimeError("password=hunter2")

    def fourth(value: Any, context: Any) -> Any:
        asked.append("fourth")
        return False

    checks = [first, second, third, fourth]
    assert lines(examine({"from": "x"}, TRIP, checks)) == ["$.from: expected integer, got string"]
    assert asked == []
    failures: list[tuple[Any, str]] = []
    found = examine(
        {"from": 1},
        TRIP,
        checks,
        on_failure=lambda check, error: failures.append((check, str(error))),
    )
    assert asked == ["first", "second", "third", "fourth"]
    assert [v.rule for v in found] == ["first", "third", "fourth"]
    assert failures == [(third, "password=hunter2")]
    assert "hunter2" not in "".join(lines(found))


@pytest.mark.parametrize("answer", [5, "text", {"a": 1}, [1], b"x"])
def test_an_answer_that_is_none_fails_closed(answer: Any) -> None:
    found = examine({"from": 1}, TRIP, [lambda value, context: answer])
    assert len(found) == 1
    assert "could not be checked" in str(found[0])


def test_a_coroutine_is_no_answer(recwarn: pytest.WarningsRecorder) -> None:
    async def later(value: Any, context: Any = None) -> Any:
        return True

    for check in (
        later,
        invariant(lambda value: later(value), expected="x"),
        invariant(later, expected="x"),
        reference("$.from", lambda identifier: later(identifier), what="day"),
        reference("$.from", later, what="day"),
    ):
        (one,) = examine({"from": 1}, TRIP, [check])
        assert "could not be checked" in str(one)
    assert not [w for w in recwarn if "never awaited" in str(w.message)]


def test_interruptions_are_let_through() -> None:
    def interrupted(value: Any, context: Any) -> Any:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        examine({"from": 1}, TRIP, [interrupted])


# -- references -----------------------------------------------------------------------------------

OWNERS = {"G-1": "ann", "G-2": "bob"}


def guest(identifier: str, context: Context) -> str | None:
    owner = OWNERS.get(identifier)
    return identifier if owner == context.principal else None


def test_what_is_not_there_and_what_is_not_visible_read_alike() -> None:
    check = reference("$.guests[*].id", guest, what="guest")
    value = {"from": 1, "guests": [{"id": "G-1"}, {"id": "G-2"}, {}, {"id": None}, {"id": "G-9"}]}
    found = examine(value, TRIP, [check], Context(principal="ann"))
    assert lines(found) == [
        '$.guests[1].id: expected an existing guest that you may use, got "G-2"',
        '$.guests[4].id: expected an existing guest that you may use, got "G-9"',
    ]
    hidden, missing = found
    assert hidden.expected == missing.expected
    assert hidden.rule == missing.rule == "reference"
    assert set(hidden.to_dict()) == set(missing.to_dict())
    secret = reference("$.guests[*].id", guest, what="guest", show=False)
    assert "G-" not in "".join(lines(examine(value, TRIP, [secret], Context(principal="ann"))))


def test_each_thing_is_looked_up_once() -> None:
    asked: list[Any] = []
    check = reference("$.guests[*].id", lambda identifier: asked.append(identifier), what="guest")
    value = {"from": 1, "guests": [{"id": n % 3} for n in range(30)]}
    assert len(examine(value, TRIP, [check])) == 30
    assert asked == [0, 1, 2]


@pytest.mark.parametrize("answer, found", [(True, 0), ({}, 0), (0, 0), (None, 1), (False, 1)])
def test_what_counts_as_found(answer: Any, found: int) -> None:
    check = reference("$.from", lambda identifier: answer, what="day")
    assert len(examine({"from": 1}, TRIP, [check])) == found


def test_too_many_references_fail_closed() -> None:
    check = reference("$.guests[*].id", lambda identifier: True, what="guest")
    value = {"from": 1, "guests": [{"id": n} for n in range(MAX_LOOK_UPS + 1)]}
    assert [v.rule for v in examine(value, TRIP, [check])] == ["reference"]


def test_asynchronous_checks_are_awaited_by_who_can() -> None:
    async def known(identifier: Any, context: Any) -> Any:
        await asyncio.sleep(0)
        return identifier in context

    async def holds(value: Any) -> bool:
        await asyncio.sleep(0)
        return value["from"] == 1

    check, other = reference("$.from", known, what="day"), invariant(holds, expected="the first")

    async def main() -> tuple[Any, ...]:
        value = {"from": 1}
        return (
            await check(value, [1]),
            await check(value, [2]),
            await other(value, None),
            await other({"from": 2}, None),
        )

    right, wrong, first, second = asyncio.run(main())
    assert (right, first) == ([], [])
    assert len(wrong) == len(second) == 1


def test_what_cannot_be_a_check_is_refused_when_it_is_made() -> None:
    with pytest.raises(ToolDefinitionError):
        invariant(lambda: True, expected="x")
    with pytest.raises(ToolDefinitionError):
        reference("$.a", lambda a, b, c: True, what="x")
    with pytest.raises(ToolDefinitionError):
        invariant(5, expected="x")  # type: ignore[arg-type]
    with pytest.raises(PointerError):
        invariant(lambda v: True, expected="x", at="a")
    with pytest.raises(PointerError):
        reference("$.a[*", lambda v: True, what="x")


def test_paths_with_all_items() -> None:
    value = {"a": [{"b": [1, 2]}, {"b": [3]}, {"b": 4}, 5], "c": {"b": [6]}}
    assert find(value, "$.a[*].b[*]") == [
        (("a", 0, "b", 0), 1),
        (("a", 0, "b", 1), 2),
        (("a", 1, "b", 0), 3),
    ]
    assert find(value, "$.a[1].b") == [(("a", 1, "b"), [3])]
    assert find(value, "$.a[9]") == find(value, "$.x.y") == find(value, "$[0]") == []
    assert find([1, 2], "$[*]") == [((0,), 1), ((1,), 2)]
    assert find(value, "$") == [((), value)]


def test_a_dispatcher_runs_them_as_domain_checks() -> None:
    booked: list[Any] = []
    tool = Tool(
        name="book",
        description="Book a trip.",
        parameters=TRIP,
        handler=lambda arguments: booked.append(arguments),
        checks=[in_order, reference("$.guests[*].id", guest, what="guest")],
    )
    dispatcher = Dispatcher(ToolSet([tool]))
    value = {"from": 3, "to": 1, "guests": [{"id": "G-2"}]}
    call = parse_tool_call({"name": "book", "arguments": value})
    result = dispatcher.dispatch(call, Context(principal="ann"))
    assert (result.outcome, result.boundary) == ("rejected", "domain")
    assert [v.path for v in result.errors] == ["$.from", "$.to", "$.guests[0].id"]
    assert booked == []
