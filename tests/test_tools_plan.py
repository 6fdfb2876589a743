"""Random turns of several calls against the rules of their order, stated independently."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from gramlock.tools import Reference, ToolCall, ToolResult, dispatch_all_async


@dataclass
class Emitted:
    """One call of a turn: its tool tells effect and outcome."""

    id: str
    effect: str
    outcome: str
    refers_to: str | None

    @property
    def call(self) -> ToolCall:
        reference = None if self.refers_to is None else Reference(self.refers_to)
        arguments = {"own": self.id} if reference is None else {"own": self.id, "value": reference}
        return ToolCall(f"{self.effect} {self.outcome}", arguments, self.id)


@dataclass
class Fake:
    """A dispatcher that executes whatever reaches it, and writes down when."""

    events: list[tuple[str, str]] = field(default_factory=list)
    values: dict[str, Any] = field(default_factory=dict)

    @property
    def tools(self) -> Any:
        return SimpleNamespace(get=lambda name: SimpleNamespace(effect=name.split()[0]))

    async def dispatch_async(self, call: ToolCall, context: Any) -> ToolResult:
        assert call.id is not None
        self.events.append(("begin", call.id))
        self.values[call.id] = call.arguments.get("value")
        for _ in range(len(call.id) % 3 + 1):
            await asyncio.sleep(0)
        self.events.append(("end", call.id))
        outcome: Any = call.name.split()[1]
        return ToolResult(outcome, call.id, call.name, value=f"value of {call.id}")


IDS = [f"c{'x' * number}" for number in range(7)]


@st.composite
def turns(draw: Any) -> list[Emitted]:
    """Mostly different ids and rare references, so that most calls run."""
    turn = []
    for number in range(draw(st.integers(0, 7))):
        odd = draw(st.integers(0, 7))
        turn.append(
            Emitted(
                id=draw(st.sampled_from(IDS)) if odd == 0 else IDS[number % 7],
                effect=draw(st.sampled_from(["read", "write"])),
                outcome=draw(st.sampled_from(["completed", "completed", "failed", "uncertain"])),
                refers_to=draw(st.sampled_from(IDS)) if odd in (1, 2) else None,
            )
        )
    if turn and draw(st.integers(0, 7)) == 0:
        turn.append(draw(st.sampled_from(turn)))
    return turn


@settings(max_examples=300, deadline=None)
@given(
    turn=turns(),
    independent=st.sets(st.sampled_from(IDS), max_size=3),
    policy=st.sampled_from(["stop", "reads", "run"]),
    at_once=st.integers(1, 4),
)
def test_the_order_of_a_turn(
    turn: list[Emitted], independent: set[str], policy: Any, at_once: int
) -> None:
    fake = Fake()
    results = asyncio.run(
        dispatch_all_async(
            fake,  # type: ignore[arg-type]
            [emitted.call for emitted in turn],
            independent=independent,
            after_uncertain=policy,
            at_once=at_once,
        )
    )
    firsts = list({emitted.id: emitted for emitted in reversed(turn)}.values())[::-1]
    firsts.sort(key=lambda emitted: [one.id for one in turn].index(emitted.id))
    assert [result.call_id for result in results] == [emitted.id for emitted in firsts]
    by_id = {result.call_id: result for result in results}
    at = {event: place for place, event in enumerate(fake.events)}
    assert len(at) == len(fake.events)  # nothing ran twice
    ran = [emitted for emitted in firsts if ("begin", emitted.id) in at]

    for emitted in firsts:  # two different calls under one id: none of them
        variants = {repr(one) for one in turn if one.id == emitted.id}
        if len(variants) > 1:
            assert by_id[emitted.id].boundary == "call_id"
            assert emitted not in ran

    place = {emitted.id: number for number, emitted in enumerate(firsts)}
    for emitted in ran:
        if emitted.refers_to is not None:
            target = by_id[emitted.refers_to]
            assert place[emitted.refers_to] < place[emitted.id]
            assert target.outcome == "completed"
            assert fake.values[emitted.id] == f"value of {emitted.refers_to}"
            assert at["end", emitted.refers_to] < at["begin", emitted.id]

    barred = [emitted for emitted in ran if emitted.id not in independent]
    for number, earlier in enumerate(barred):
        for later in barred[number + 1 :]:
            if "write" in (earlier.effect, later.effect):
                assert at["end", earlier.id] < at["begin", later.id]
            if earlier.outcome == "uncertain" and policy != "run":
                # a read that ends so is no barrier, and may end after the other began
                unseen = earlier.effect == "read" and later.effect == "read"
                assert unseen or (policy == "reads" and later.effect == "read")

    running = most = 0
    for kind, _ in fake.events:
        running += 1 if kind == "begin" else -1
        most = max(most, running)
    assert most <= at_once

    for emitted in firsts:  # whatever did not run says why, and had a reason
        result = by_id[emitted.id]
        if emitted in ran:
            continue
        assert result.outcome == "rejected"
        held = [
            one.id
            for one in firsts[: place[emitted.id]]
            if by_id[one.id].outcome == "uncertain" and one.id not in independent
        ]
        reasons = {
            "call_id": len({repr(one) for one in turn if one.id == emitted.id}) > 1,
            "reference": emitted.refers_to is not None,
            "order": bool(held) and policy != "run" and emitted.id not in independent,
        }
        assert reasons[str(result.boundary)]
