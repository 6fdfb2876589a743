"""Approvals: bound to one call, used once, never by anything but consent."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from typing import Any

import pytest

from gramlock.errors import ApprovalError
from gramlock.tools import Approval, ApprovalStore, Context, approve, request_approval


@dataclass(frozen=True)
class Call:
    name: str = "transfer"
    arguments: dict[str, Any] = field(default_factory=lambda: {"to": "X", "amount": 100})


@dataclass(frozen=True)
class Definition:
    name: str = "transfer"
    description: str = "Moves money."
    digest: str = "d1"


NOW = 500.0


def given(store: ApprovalStore, **changed: Any) -> Approval:
    options: dict[str, Any] = {"seconds": 500, "store": store, "clock": lambda: NOW, **changed}
    return approve(Call(), Definition(), Context(principal="P1"), "boss", **options)


def asked(call: Call | None = None, tool: Definition | None = None, principal: str = "P1") -> Any:
    return request_approval(call or Call(), tool or Definition(), Context(principal=principal))


def test_an_approval_covers_its_call_in_any_order_of_members() -> None:
    store = ApprovalStore()
    approval = given(store)
    assert store.find(asked(), NOW) == approval
    assert store.find(asked(Call(arguments={"amount": 100, "to": "X"})), NOW) == approval
    assert store.find(asked(Call(arguments={"amount": 1e2, "to": "X"})), NOW) == approval
    assert approval.approver == "boss"


@pytest.mark.parametrize(
    "changed",
    [
        {"to": "X", "amount": "100"},
        {"to": "X", "amount": 101},
        {"to": "Y", "amount": 100},
        {"to": "X", "amount": 100, "memo": None},
        {"to": "X"},
        {"to": "X", "amount": True},
    ],
    ids=str,
)
def test_other_arguments_void_it(changed: dict[str, Any]) -> None:
    store = ApprovalStore()
    given(store)
    assert store.take(asked(Call(arguments=changed)), NOW) is None
    assert len(store) == 1


def test_another_principal_tool_or_definition_voids_it() -> None:
    store = ApprovalStore()
    given(store)
    assert store.take(asked(principal="P2"), NOW) is None
    assert store.take(asked(tool=Definition(digest="d2")), NOW) is None
    other = asked(Call(name="delete"), Definition(name="delete"))
    assert store.take(other, NOW) is None
    assert store.take(asked(), NOW) is not None


def test_it_is_void_from_its_expiry_on() -> None:
    store = ApprovalStore()
    given(store)
    assert store.find(asked(), 999.9) is not None
    assert store.find(asked(), 1000.0) is None
    assert store.take(asked(), 1000.0) is None


def test_it_is_used_once_by_one_of_many_threads() -> None:
    store = ApprovalStore()
    given(store)
    taken: list[Approval | None] = []
    start = threading.Barrier(16)

    def take() -> None:
        start.wait()
        taken.append(store.take(asked(), NOW))

    threads = [threading.Thread(target=take) for _ in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len([one for one in taken if one is not None]) == 1
    assert len(taken) == 16
    assert len(store) == 0


def test_two_approvals_of_one_call_are_two_uses() -> None:
    store = ApprovalStore()
    first, second = given(store), given(store)
    assert {store.take(asked(), NOW), store.take(asked(), NOW)} == {first, second}
    assert store.take(asked(), NOW) is None


def test_only_a_taken_one_that_was_not_spent_can_be_given_back() -> None:
    store = ApprovalStore()
    approval = given(store)
    assert store.take(asked(), NOW) == approval
    store.give_back(approval)
    store.give_back(approval)
    assert len(store) == 1
    assert store.take(asked(), NOW) == approval
    store.spend(approval)
    store.give_back(approval)
    assert len(store) == 0


def test_a_used_one_cannot_be_added_again() -> None:
    store = ApprovalStore()
    approval = given(store)
    assert store.take(asked(), NOW) == approval
    with pytest.raises(ApprovalError, match="used"):
        store.add(approval, NOW)
    store.spend(approval)
    with pytest.raises(ApprovalError, match="used"):
        store.add(approval, NOW)
    revoked = given(store)
    store.revoke(revoked.id)
    with pytest.raises(ApprovalError, match="revoked"):
        store.add(revoked, NOW)


def test_a_revoked_one_does_not_come_back() -> None:
    store = ApprovalStore()
    approval = given(store)
    assert store.revoke(approval.id)
    assert not store.revoke(approval.id)
    assert store.find(asked(), NOW) is None
    other = given(store)
    store.take(asked(), NOW)
    store.revoke(other.id)
    store.give_back(other)
    assert len(store) == 0


@pytest.mark.parametrize("decision", [1, "True", {"approved": True}, None, False, [True]], ids=str)
def test_only_true_is_consent(decision: object) -> None:
    store = ApprovalStore()
    with pytest.raises(ApprovalError, match="only True"):
        given(store, decision=decision)
    assert len(store) == 0


def test_what_is_missing_is_named() -> None:
    store = ApprovalStore()
    context = Context(principal="P1")
    with pytest.raises(ApprovalError, match="approver"):
        approve(Call(), Definition(), context, "", store=store)
    with pytest.raises(ApprovalError, match="time"):
        given(store, seconds=0)
    with pytest.raises(ApprovalError, match="time"):
        given(store, seconds=float("nan"))
    with pytest.raises(ApprovalError, match="no store"):
        approve(Call(), Definition(), context, "boss")
    with pytest.raises(ApprovalError, match="not for 'delete'"):
        approve(Call(), Definition(name="delete"), context, "boss", store=store)
    with pytest.raises(ApprovalError, match="JSON"):
        approve(Call(arguments={"x": {1}}), Definition(), context, "boss", store=store)


def test_the_context_brings_the_store_and_the_request_is_a_copy() -> None:
    store = ApprovalStore()
    approve(Call(), Definition(), Context(principal="P1", approvals=store), "boss")
    assert len(store) == 1
    call = Call()
    request = asked(call)
    request.arguments["amount"] = 1
    assert call.arguments["amount"] == 100


def test_a_full_store_drops_the_expired_and_refuses_then() -> None:
    store = ApprovalStore(limit=2)
    given(store)
    given(store)
    with pytest.raises(ApprovalError, match="2 approvals"):
        given(store)
    given(store, clock=lambda: 2000.0)
    assert len(store) == 1
