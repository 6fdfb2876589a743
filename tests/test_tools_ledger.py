"""The ledger of effects on both databases: what it stores, answers and refuses."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from gramlock.errors import LedgerError
from gramlock.tools.ledger import Begun, Entry, Ledger, LookUp, OperationKey
from operations import BARE, DIGEST, KEY, OTHER, Clock, begin, claim, current, refused


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def ledger(database: str, clock: Clock) -> Any:
    with Ledger(database, clock=clock, window=1000, lease=60) as opened:
        yield opened


# ---- a write with an operation id


def test_a_write_is_recorded_before_and_after(ledger: Ledger, clock: Clock) -> None:
    assert ledger.look_up(KEY, DIGEST) == LookUp("none")
    begun = begin(ledger, arguments={"order": "A-1", "card": "[redacted]"})
    entry = current(ledger, begun)
    assert entry == begun.entry
    assert (entry.key, entry.digest, entry.state, entry.outcome) == (
        KEY,
        DIGEST,
        "in_progress",
        None,
    )
    assert entry.arguments == {"order": "A-1", "card": "[redacted]"}
    assert entry.lease_until == clock.seconds + 60
    assert entry.expires == clock.seconds + 1000
    clock.seconds += 1
    done = ledger.finish(begun, "completed", {"id": "r1"}, message="paid", reference="ch_1")
    assert done == current(ledger, begun)
    assert (done.outcome, done.value, done.message, done.reference) == (
        "completed",
        {"id": "r1"},
        "paid",
        "ch_1",
    )
    assert done.updated == clock.seconds
    assert done.created == clock.seconds - 1


@pytest.mark.parametrize("outcome", ["completed", "failed", "invalid_result", "accepted"])
def test_a_repeat_gets_what_was_recorded(ledger: Ledger, outcome: Any) -> None:
    ledger.finish(begin(ledger), outcome, [1, "é\0\ud800"], details={"errors": ["x"]})
    answer = refused(ledger)
    assert answer.kind == "recorded"
    assert answer.entry is not None
    assert answer.entry.outcome == outcome
    assert answer.entry.value == [1, "é\0\ud800"]
    assert answer.entry.details == {"errors": ["x"]}


def test_the_record_outlives_the_window(ledger: Ledger, clock: Clock) -> None:
    ledger.finish(begin(ledger), "completed", 5)
    clock.seconds += 5000
    assert refused(ledger).kind == "recorded"


def test_other_arguments_under_a_key_are_refused_and_see_no_result(ledger: Ledger) -> None:
    begun = begin(ledger, arguments={"secret": 1})
    assert refused(ledger, digest=OTHER).kind == "changed_arguments"
    ledger.finish(begun, "completed", "r1", message="m", reference="r", details=[1])
    answer = refused(ledger, digest=OTHER)
    assert answer.kind == "changed_arguments"
    assert answer.entry is not None
    entry = answer.entry
    assert [entry.value, entry.message, entry.reference, entry.details] == [None] * 4
    assert entry.arguments is None


def test_a_key_is_principal_tool_and_operation(ledger: Ledger) -> None:
    keys = [
        KEY,
        OperationKey("u-2", "refund", "order-7"),
        OperationKey(None, "refund", "order-7"),
        OperationKey("u-1", "refund_all", "order-7"),
        OperationKey("u-1", "refund", "order-8"),
        OperationKey("u-1refund", "order", "-7"),
    ]
    ids = {begin(ledger, key).entry_id for key in keys}
    assert len(ids) == len(keys)
    assert all(refused(ledger, key).kind == "in_progress" for key in keys)


@pytest.mark.parametrize("text", ["", "a\0b", "\ud800", "x" * 1001, 7, b"k"])
def test_a_key_that_no_database_holds_is_refused(ledger: Ledger, text: Any) -> None:
    for key in (OperationKey("u", "t", text), OperationKey(text, "t", "o")):
        with pytest.raises(LedgerError, match=r"operation id|principal"):
            ledger.begin(key, DIGEST)
        with pytest.raises(LedgerError):
            ledger.look_up(key, DIGEST)
    with pytest.raises(LedgerError, match="tool"):
        ledger.begin(OperationKey("u", text, "o"), DIGEST)
    assert ledger.unresolved() == []


# ---- leases


def test_a_live_lease_answers_in_progress_and_a_lapsed_one_uncertain(
    ledger: Ledger, clock: Clock
) -> None:
    begun = begin(ledger)
    clock.seconds += 59
    assert refused(ledger).kind == "in_progress"
    assert ledger.unresolved() == []
    assert ledger.renew(begun)
    clock.seconds += 59
    assert refused(ledger).kind == "in_progress"
    clock.seconds += 1
    answer = refused(ledger)
    assert answer.kind == "uncertain"
    assert [entry.id for entry in ledger.unresolved()] == [begun.entry_id]
    assert ledger.unresolved()[0].state == "uncertain"


def test_an_owner_that_was_slow_still_records_its_outcome(ledger: Ledger, clock: Clock) -> None:
    begun = begin(ledger)
    clock.seconds += 600
    assert ledger.finish(begun, "completed", 1).state == "completed"
    assert ledger.unresolved() == []


def test_a_claimed_entry_takes_a_slow_outcome_as_evidence(ledger: Ledger, clock: Clock) -> None:
    begun = begin(ledger)
    assert ledger.claim(begun.entry_id) is None, "its owner is alive"
    clock.seconds += 60
    claimed = claim(ledger, begun)
    assert claimed.entry.state == "uncertain"
    assert ledger.claim(begun.entry_id) is None, "one reconciles at a time"
    assert not ledger.renew(begun)
    after = ledger.finish(begun, "completed", 1)
    assert after.state == "uncertain"
    (late,) = current(ledger, begun).evidence
    assert late.kind == "late_result"
    assert late.data["outcome"] == "completed"
    assert late.data["value"] == 1
    settled = ledger.settle(claimed, "retry_allowed")
    assert settled is not None
    assert settled.state == "uncertain", "there is an effect: no retry"


def test_a_lapsed_claim_settles_nothing(ledger: Ledger, clock: Clock) -> None:
    begun = begin(ledger)
    clock.seconds += 60
    first = claim(ledger, begun)
    clock.seconds += 60
    second = claim(ledger, begun)
    assert ledger.settle(first, "retry_allowed", evidence=[("note", 1)]) is None
    assert current(ledger, begun).state == "uncertain"
    settled = ledger.settle(second, "completed", "v")
    assert settled is not None
    assert settled.state == "completed"
    assert ledger.settle(second, "failed") is None, "settled once"
    assert current(ledger, begun).value == "v"


def test_an_uncertain_outcome_may_leave_the_handler_running(ledger: Ledger, clock: Clock) -> None:
    begun = begin(ledger)
    ledger.finish(begun, "uncertain", message="time limit", running=True)
    assert refused(ledger).kind == "uncertain"
    assert len(ledger.unresolved()) == 1
    assert ledger.claim(begun.entry_id) is None, "its thread may still send"
    clock.seconds += 30
    assert ledger.renew(begun, 60)
    clock.seconds += 59
    assert ledger.claim(begun.entry_id) is None
    ledger.late(begun, "completed", {"id": "r1"})
    claimed = claim(ledger, begun)
    assert claimed.entry.evidence[0].data["value"] == {"id": "r1"}
    assert claimed.entry.state == "uncertain", "evidence is no outcome"


def test_an_uncertain_write_without_a_running_handler_may_be_claimed_at_once(
    ledger: Ledger,
) -> None:
    begun = begin(ledger)
    ledger.finish(begun, "uncertain")
    assert claim(ledger, begun).entry.id == begun.entry_id


# ---- retries


def allow_retry(ledger: Ledger, begun: Begun) -> Entry:
    ledger.finish(begun, "uncertain")
    entry = ledger.settle(claim(ledger, begun), "retry_allowed", evidence=[("not_found", None)])
    assert entry is not None
    return entry


def test_a_retry_that_was_allowed_happens_once(ledger: Ledger) -> None:
    first = begin(ledger)
    assert allow_retry(ledger, first).state == "retry_allowed"
    assert ledger.unresolved() == []
    seen = ledger.look_up(KEY, DIGEST)
    assert seen.kind == "none"
    assert seen.entry is not None
    assert refused(ledger, digest=OTHER).kind == "changed_arguments"
    second = begin(ledger)
    assert (second.entry_id, second.attempt) == (first.entry_id, 2)
    assert refused(ledger).kind == "in_progress"
    assert ledger.finish(first, "failed").state == "in_progress", "an earlier attempt is fenced off"
    assert ledger.finish(second, "completed", 2).value == 2
    kinds = [each.kind for each in current(ledger, second).evidence]
    assert kinds == ["not_found", "retry", "late_result"]


def test_nothing_is_retried_past_the_window(ledger: Ledger, clock: Clock) -> None:
    begun = begin(ledger)
    allow_retry(ledger, begun)
    clock.seconds += 1000
    assert refused(ledger).kind == "expired"


def test_a_promise_made_past_the_window_is_none(ledger: Ledger, clock: Clock) -> None:
    begun = begin(ledger)
    clock.seconds += 1000
    assert allow_retry(ledger, begun).state == "uncertain"
    assert refused(ledger).kind == "expired"
    assert len(ledger.unresolved()) == 1


def test_a_retry_does_not_prolong_the_window(ledger: Ledger, clock: Clock) -> None:
    first = begin(ledger)
    allow_retry(ledger, first)
    clock.seconds += 900
    assert begin(ledger).entry.expires == first.entry.expires


def test_an_accepted_operation_is_never_retried(ledger: Ledger) -> None:
    begun = begin(ledger)
    ledger.finish(begun, "accepted", reference="op-9")
    (entry,) = ledger.unresolved()
    assert (entry.state, entry.reference) == ("accepted", "op-9")
    settled = ledger.settle(claim(ledger, begun), "retry_allowed")
    assert settled is not None
    assert settled.state == "accepted"
    settled = ledger.settle(claim(ledger, begun), "completed", 1)
    assert settled is not None
    assert (settled.state, settled.reference) == ("completed", "op-9")


def test_a_late_effect_withdraws_an_allowed_retry(ledger: Ledger) -> None:
    begun = begin(ledger)
    allow_retry(ledger, begun)
    ledger.late(begun, "completed", 1)
    assert refused(ledger).kind == "uncertain"
    settled = ledger.settle(claim(ledger, begun), "retry_allowed")
    assert settled is not None
    assert settled.state == "uncertain"


def test_a_late_refusal_leaves_an_allowed_retry(ledger: Ledger) -> None:
    begun = begin(ledger)
    allow_retry(ledger, begun)
    ledger.late(begun, "failed", message="card declined")
    assert ledger.look_up(KEY, DIGEST).kind == "none"


def test_an_abandoned_intent_leaves_no_key(ledger: Ledger) -> None:
    begun = begin(ledger)
    ledger.abandon(begun)
    assert ledger.get(begun.entry_id) is None
    again = begin(ledger, digest=OTHER)
    allow_retry(ledger, again)
    retried = begin(ledger, digest=OTHER)
    ledger.abandon(retried)
    assert current(ledger, again).state == "retry_allowed"
    last = begin(ledger, digest=OTHER)
    ledger.finish(last, "completed")
    ledger.abandon(last)
    assert current(ledger, last).state == "completed", "what has an outcome stays"


# ---- without an operation id


def test_an_equal_call_without_operation_id_is_suspected(ledger: Ledger, clock: Clock) -> None:
    begun = begin(ledger, BARE)
    answer = refused(ledger, BARE)
    assert answer.kind == "suspected_duplicate"
    assert answer.entry is not None
    assert answer.entry.id == begun.entry_id
    assert begun.entry_id in answer.message
    ledger.finish(begun, "completed", "secret result")
    answer = refused(ledger, BARE)
    assert answer.entry is not None
    assert answer.entry.value is None, "surfaced, not merged"
    other = begin(ledger, BARE, digest=OTHER)
    assert other.entry_id != begun.entry_id
    meant = begin(ledger, BARE, duplicate_ok=True)
    assert meant.entry_id != begun.entry_id
    clock.seconds += 1000
    assert ledger.look_up(BARE, DIGEST).kind == "none", "the window is over"


def test_an_equal_call_of_another_principal_is_no_duplicate(ledger: Ledger) -> None:
    begin(ledger, BARE)
    begin(ledger, OperationKey("u-2", "refund"))


def test_a_call_without_effect_makes_no_duplicate(ledger: Ledger) -> None:
    ledger.finish(begin(ledger, BARE), "failed")
    begin(ledger, BARE)


def test_equal_content_with_an_operation_id_counts_as_earlier_call(ledger: Ledger) -> None:
    ledger.finish(begin(ledger, KEY), "completed")
    assert refused(ledger, BARE).kind == "suspected_duplicate"
    begin(ledger, OperationKey("u-1", "refund", "order-8"))


# ---- outcomes


def test_a_completed_result_can_turn_out_invalid(ledger: Ledger) -> None:
    begun = begin(ledger)
    ledger.finish(begun, "completed", {"n": "x"}, reference="r")
    entry = ledger.amend(begun, "invalid_result", {"n": "x"}, details=["$.n: expected integer"])
    assert (entry.state, entry.reference) == ("invalid_result", "r")
    answer = refused(ledger)
    assert answer.kind == "recorded"
    assert answer.entry is not None
    assert answer.entry.details == ["$.n: expected integer"]
    with pytest.raises(ValueError, match="invalid result"):
        ledger.amend(begun, "failed")


def test_only_completed_is_amended(ledger: Ledger) -> None:
    begun = begin(ledger)
    ledger.finish(begun, "uncertain")
    assert ledger.amend(begun).state == "uncertain"


def test_an_outcome_is_recorded_once(ledger: Ledger) -> None:
    begun = begin(ledger)
    ledger.finish(begun, "completed", 1)
    assert ledger.finish(begun, "failed", 2).state == "completed"
    entry = current(ledger, begun)
    assert (entry.state, entry.value) == ("completed", 1)
    assert [each.data["outcome"] for each in entry.evidence] == ["failed"]
    with pytest.raises(ValueError, match="rejected"):
        ledger.finish(begun, "rejected")  # type: ignore[arg-type]


@pytest.mark.parametrize("value", [float("nan"), {1, 2}, b"x", "x" * (1 << 20), object()])
def test_a_value_that_cannot_be_kept_does_not_lose_the_outcome(ledger: Ledger, value: Any) -> None:
    entry = ledger.finish(begin(ledger), "completed", value)
    assert (entry.state, entry.value, entry.value_kept) == ("completed", None, False)


def test_a_deep_value_does_not_lose_the_outcome(ledger: Ledger) -> None:
    deep: Any = []
    for _ in range(100_000):
        deep = [deep]
    assert not ledger.finish(begin(ledger), "completed", deep).value_kept


@pytest.mark.parametrize(
    "value",
    [
        Decimal("0.1000000000000000055511151231257827"),
        [Decimal("1e400"), {"é😀\0": Decimal("-12.50")}, 1e22, 0.1, -0.0, 10**30, True],
    ],
    ids=["digits", "mixed"],
)
def test_numbers_keep_their_value(ledger: Ledger, value: Any) -> None:
    begun = begin(ledger)
    assert ledger.finish(begun, "completed", value).value == value
    assert current(ledger, begun).value == value


def test_a_number_that_cannot_be_read_again_is_not_kept(ledger: Ledger) -> None:
    for number, value in enumerate([10**5000, [10**5000, Decimal("0.1")]]):
        begun = begin(ledger, OperationKey("u", "t", str(number)))
        assert not ledger.finish(begun, "completed", value).value_kept
        assert not current(ledger, begun).value_kept


def test_null_is_a_value(ledger: Ledger) -> None:
    assert ledger.finish(begin(ledger), "completed", None).value_kept


def test_an_outcome_of_nothing_is_an_error(ledger: Ledger) -> None:
    begun = begin(ledger)
    ledger.abandon(begun)
    with pytest.raises(LedgerError, match="no entry"):
        ledger.finish(begun, "completed")


# ---- evidence, lists, purging


def test_evidence_seen_again_is_counted(ledger: Ledger, clock: Clock) -> None:
    begun = begin(ledger)
    for _ in range(3):
        clock.seconds += 1
        ledger.add_evidence(begun.entry_id, "state", {"assignee": "U-9"})
    ledger.add_evidence(begun.entry_id, "state", {"assignee": "U-8"})
    clock.seconds += 1
    ledger.add_evidence(begun.entry_id, "state", {"assignee": "U-9"})
    first, second = current(ledger, begun).evidence
    assert (first.times, first.last_at - first.first_at) == (4, 3)
    assert second.data == {"assignee": "U-8"}
    assert current(ledger, begun).to_dict()["evidence"][0]["times"] == 4
    with pytest.raises(LedgerError, match="no entry"):
        ledger.add_evidence("nothing", "state")
    with pytest.raises(LedgerError, match="JSON"):
        ledger.add_evidence(begun.entry_id, "state", object())


def test_unresolved_lists_oldest_first_by_tool_with_evidence(ledger: Ledger, clock: Clock) -> None:
    begun = []
    for number, tool in enumerate(["a", "b", "a", "b"]):
        begun.append(begin(ledger, OperationKey(None, tool, str(number))))
        clock.seconds += 1
    ledger.finish(begun[0], "uncertain")
    ledger.finish(begun[1], "accepted")
    ledger.finish(begun[3], "completed")
    ledger.add_evidence(begun[0].entry_id, "state", 1)
    assert [entry.key.operation_id for entry in ledger.unresolved()] == ["0", "1"]
    clock.seconds += 60
    found = ledger.unresolved()
    assert [entry.key.operation_id for entry in found] == ["0", "1", "2"]
    assert [len(entry.evidence) for entry in found] == [1, 0, 0]
    assert all(entry.unresolved for entry in found)
    assert [entry.key.operation_id for entry in ledger.unresolved(tool="a")] == ["0", "2"]
    assert len(ledger.unresolved(limit=1)) == 1


def test_purging_forgets_results_and_keeps_keys(ledger: Ledger, clock: Clock) -> None:
    done = begin(ledger)
    ledger.finish(done, "completed", "r1")
    ledger.add_evidence(done.entry_id, "note", 1)
    bare = begin(ledger, BARE, duplicate_ok=True)
    ledger.finish(bare, "completed", "r2")
    open_one = begin(ledger, OperationKey("u-1", "refund", "order-9"))
    assert ledger.purge() == 0
    clock.seconds += 1001
    assert ledger.purge(older_than=clock.seconds - 500) == 0
    assert ledger.purge() == 2
    assert ledger.purge() == 0
    answer = refused(ledger)
    assert answer.kind == "expired"
    assert answer.entry is not None
    assert (answer.entry.outcome, answer.entry.value) == ("completed", None)
    assert current(ledger, done).evidence == ()
    assert ledger.get(bare.entry_id) is None
    assert [entry.id for entry in ledger.unresolved()] == [open_one.entry_id]
