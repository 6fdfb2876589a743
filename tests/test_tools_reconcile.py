"""Reconciliation: what a receiver's answers decide, and what they must not."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from typing import Any

import pytest

pytest.importorskip("sqlalchemy")

from gramlock.tools.ledger import Begun, Entry, Ledger, LookUp, OperationKey
from gramlock.tools.reconciliation import Reconciliation, reconcile, reconcile_async
from gramlock.tools.tool import StatusReport, Tool, ToolLimits
from operations import DIGEST, KEY, OTHER, Clock

FOUND = StatusReport("completed", {"id": "r1"}, arguments_digest=DIGEST, reference="ch_1")
GONE = StatusReport("not_found", final=True)


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def ledger(database: str, clock: Clock) -> Iterator[Ledger]:
    with Ledger(database, clock=clock, window=1000, lease=60) as opened:
        yield opened


class Receiver:
    """A tool whose status look-up gives fixed answers, and which must never be invoked."""

    def __init__(self, *answers: Any, **options: Any) -> None:
        self.answers = list(answers)
        self.asked: list[tuple[Entry, Any]] = []
        self.tool = Tool(
            "refund",
            "Refund an order.",
            {"type": "object"},
            self.handler,
            status_lookup=self.look_up if answers else None,
            **options,
        )

    def handler(self, arguments: Any) -> Any:
        raise AssertionError("reconciliation must not send anything")

    def look_up(self, entry: Entry, context: Any) -> Any:
        self.asked.append((entry, context))
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if isinstance(answer, BaseException):
            raise answer
        return answer() if callable(answer) else answer


def uncertain(ledger: Ledger, key: OperationKey = KEY, outcome: Any = "uncertain") -> Begun:
    begun = ledger.begin(key, DIGEST)
    assert isinstance(begun, Begun)
    ledger.finish(begun, outcome)
    return begun


def one(ledger: Ledger, receiver: Receiver, **options: Any) -> Reconciliation:
    (report,) = reconcile(ledger, [receiver.tool], **options)
    assert report.entry == ledger.get(report.entry.id)
    return report


def answer(ledger: Ledger) -> LookUp:
    return ledger.look_up(KEY, DIGEST)


# ---- the table


def test_found_is_completed_without_another_mutation(ledger: Ledger) -> None:
    uncertain(ledger)
    receiver = Receiver(FOUND)
    report = one(ledger, receiver)
    assert (report.finding, report.resolved, report.entry.state) == ("record", True, "completed")
    assert report.before.state == "uncertain"
    assert (report.entry.value, report.entry.reference) == ({"id": "r1"}, "ch_1")
    repeat = answer(ledger)
    assert repeat.kind == "recorded"
    assert repeat.entry is not None
    assert repeat.entry.value == {"id": "r1"}
    assert reconcile(ledger, [receiver.tool]) == []
    assert len(receiver.asked) == 1


def test_a_crashed_intent_is_reconciled_only_after_its_lease(ledger: Ledger, clock: Clock) -> None:
    assert isinstance(ledger.begin(KEY, DIGEST), Begun)
    receiver = Receiver(FOUND)
    assert reconcile(ledger, [receiver.tool]) == []
    assert receiver.asked == []
    clock.seconds += 60
    assert one(ledger, receiver).entry.state == "completed"


def test_a_handler_that_still_runs_is_not_asked_about(ledger: Ledger, clock: Clock) -> None:
    begun = ledger.begin(KEY, DIGEST)
    assert isinstance(begun, Begun)
    ledger.finish(begun, "uncertain", running=True)
    receiver = Receiver(GONE)
    report = one(ledger, receiver)
    assert (report.finding, receiver.asked) == ("claimed", [])
    clock.seconds += 60
    assert one(ledger, receiver).entry.state == "retry_allowed"


def test_not_found_for_good_allows_a_retry(ledger: Ledger) -> None:
    uncertain(ledger)
    report = one(ledger, Receiver(GONE))
    assert (report.finding, report.entry.state) == ("not_found", "retry_allowed")
    assert report.resolved
    begun = ledger.begin(KEY, DIGEST)
    assert isinstance(begun, Begun)
    assert begun.attempt == 2


def test_a_failure_on_record_is_failed(ledger: Ledger) -> None:
    uncertain(ledger)
    assert one(ledger, Receiver(StatusReport("failed"))).entry.state == "failed"
    assert answer(ledger).kind == "recorded"


@pytest.mark.parametrize(
    "report, finding",
    [
        (StatusReport("not_found"), "not_found"),
        (StatusReport("unknown"), "inconclusive"),
        (StatusReport("running"), "running"),
        (StatusReport("running", final=True), "running"),
        (StatusReport("completed", 1, evidence="state"), "state"),
        (StatusReport("not_found", final=True, evidence="state"), "state"),
        (StatusReport("completed", 1, arguments_digest=OTHER), "other_arguments"),
        (StatusReport("failed", arguments_digest=OTHER), "other_arguments"),
        (StatusReport("not_found", final=True, arguments_digest=OTHER), "other_arguments"),
        (ConnectionError("secret text"), "lookup_failed"),
        (RecursionError(), "lookup_failed"),
        ({"state": "completed"}, "lookup_failed"),
        (True, "lookup_failed"),
        (None, "lookup_failed"),
    ],
    ids=str,
)
def test_anything_else_leaves_it_open_and_sends_nothing(
    ledger: Ledger, report: Any, finding: str
) -> None:
    begun = uncertain(ledger)
    receiver = Receiver(report)
    for times in (1, 2):
        found = one(ledger, receiver)
        assert (found.finding, found.resolved, found.entry.state) == (finding, False, "uncertain")
        (evidence,) = found.entry.evidence
        assert (evidence.kind, evidence.times) == (finding, times)
        assert "secret text" not in repr(evidence)
        assert answer(ledger).kind == "uncertain"
        assert isinstance(ledger.begin(KEY, DIGEST), LookUp)
    assert [entry.id for entry in ledger.unresolved()] == [begun.entry_id]
    receiver.answers = [FOUND]
    assert one(ledger, receiver).entry.state == "completed", "a later look-up may still tell"


def test_without_a_look_up_it_stays_open(ledger: Ledger) -> None:
    uncertain(ledger)
    assert one(ledger, Receiver()).finding == "no_lookup"
    (report,) = reconcile(ledger, [])
    assert report.finding == "no_lookup"
    assert not report.resolved


def test_past_the_window_not_found_allows_nothing(ledger: Ledger, clock: Clock) -> None:
    uncertain(ledger)
    clock.seconds += 1000
    receiver = Receiver(GONE)
    report = one(ledger, receiver)
    assert (report.entry.state, report.resolved) == ("uncertain", False)
    assert "window is over" in report.message
    assert answer(ledger).kind == "expired"
    receiver.answers = [FOUND]
    assert one(ledger, receiver).entry.state == "completed", "a record is a record at any time"


# ---- accepted


def test_an_accepted_operation_ends_by_look_up(ledger: Ledger) -> None:
    uncertain(ledger, outcome="accepted")
    receiver = Receiver(StatusReport("running"), GONE, FOUND)
    assert one(ledger, receiver).entry.state == "accepted"
    assert one(ledger, receiver).finding == "contradiction"
    assert answer(ledger).kind == "recorded"
    report = one(ledger, receiver)
    assert (report.before.state, report.entry.state) == ("accepted", "completed")


def test_an_accepted_operation_may_fail_later(ledger: Ledger) -> None:
    uncertain(ledger, outcome="accepted")
    assert one(ledger, Receiver(StatusReport("failed"))).entry.state == "failed"


# ---- late results


@pytest.mark.parametrize("report", [None, StatusReport("unknown"), StatusReport("not_found")])
@pytest.mark.parametrize("outcome", ["completed", "failed", "invalid_result"])
def test_the_handlers_own_late_word_settles_it(ledger: Ledger, report: Any, outcome: Any) -> None:
    begun = uncertain(ledger)
    ledger.late(begun, outcome, [1], details={"why": 2})
    assert answer(ledger).kind == "uncertain", "only reconciliation weighs it"
    found = one(ledger, Receiver(report) if report else Receiver())
    assert (found.finding, found.entry.state) == ("late_result", outcome)
    assert found.entry.value == [1]


def test_a_late_effect_forbids_a_retry(ledger: Ledger) -> None:
    begun = uncertain(ledger)
    ledger.late(begun, "completed", 1)
    report = one(ledger, Receiver(GONE))
    assert (report.finding, report.entry.state) == ("contradiction", "uncertain")
    assert one(ledger, Receiver(StatusReport("failed"))).finding == "contradiction"
    assert one(ledger, Receiver(FOUND)).entry.value == {"id": "r1"}


def test_the_receivers_record_stands_above_a_late_failure(ledger: Ledger) -> None:
    begun = uncertain(ledger)
    ledger.late(begun, "failed")
    assert one(ledger, Receiver(FOUND)).entry.state == "completed"


def test_a_late_result_of_an_earlier_attempt_settles_nothing(ledger: Ledger) -> None:
    first = uncertain(ledger)
    one(ledger, Receiver(GONE))
    second = uncertain(ledger)
    assert second.attempt == 2
    ledger.late(first, "failed")
    assert one(ledger, Receiver()).entry.state == "uncertain"
    ledger.late(first, "completed", 1)
    assert one(ledger, Receiver()).entry.state == "uncertain"
    assert one(ledger, Receiver(GONE)).finding == "contradiction"


@pytest.mark.parametrize("data", [None, 5, "x", [], {"outcome": []}, {"outcome": "rejected"}])
def test_late_results_of_another_form_are_ignored(ledger: Ledger, data: Any) -> None:
    begun = uncertain(ledger)
    ledger.add_evidence(begun.entry_id, "late_result", data)
    assert one(ledger, Receiver(StatusReport("unknown"))).entry.state == "uncertain"
    assert one(ledger, Receiver(GONE)).entry.state == "retry_allowed"


def test_a_late_value_that_was_not_kept_is_not_null(ledger: Ledger) -> None:
    begun = uncertain(ledger)
    ledger.late(begun, "completed", object())
    report = one(ledger, Receiver())
    assert (report.entry.state, report.entry.value_kept) == ("completed", False)


# ---- contracts of results


def test_a_value_that_breaks_the_contract_is_an_invalid_result(ledger: Ledger) -> None:
    pytest.importorskip("jsonschema")
    pytest.importorskip("regress")
    schema = {"type": "object", "properties": {"id": {"type": "string"}}, "required": ["id"]}
    uncertain(ledger)
    report = one(ledger, Receiver(StatusReport("completed", {"id": 5}), result=schema))
    assert report.entry.state == "invalid_result"
    assert report.entry.details["errors"][0]["rule"] == "type"


def test_a_record_without_a_value_is_completed_all_the_same(ledger: Ledger) -> None:
    pytest.importorskip("jsonschema")
    pytest.importorskip("regress")
    uncertain(ledger)
    receiver = Receiver(StatusReport("completed"), result={"type": "object"})
    report = one(ledger, receiver)
    assert (report.entry.state, report.entry.value_kept) == ("completed", False)


# ---- who asks, and about what


def test_look_ups_get_the_entry_and_its_principals_context(ledger: Ledger) -> None:
    begun = ledger.begin(KEY, DIGEST, arguments={"order": "A-1"})
    assert isinstance(begun, Begun)
    ledger.finish(begun, "uncertain", reference="op-3")
    receiver = Receiver(StatusReport("unknown"))
    one(ledger, receiver)
    ((entry, context),) = receiver.asked
    assert (entry.key, entry.digest, entry.reference) == (KEY, DIGEST, "op-3")
    assert entry.arguments == {"order": "A-1"}
    assert (context.principal, context.operation_id) == ("u-1", "order-7")
    given = object()
    one(ledger, receiver, context=given)
    assert receiver.asked[1][1] is given


def test_only_the_chosen_entries_are_asked_about(ledger: Ledger, clock: Clock) -> None:
    begun = []
    for number in range(3):
        begun.append(uncertain(ledger, OperationKey("u", "refund", str(number))))
        clock.seconds += 1
    other = uncertain(ledger, OperationKey("u", "other", "1"))
    receiver = Receiver(FOUND)
    assert one(ledger, receiver, entries=[begun[1].entry_id]).entry.id == begun[1].entry_id
    chosen = (entry for entry in ledger.unresolved() if entry.id == begun[0].entry_id)
    assert one(ledger, receiver, entries=chosen).entry.id == begun[0].entry_id
    reports = reconcile(ledger, [receiver.tool], tool="refund")
    assert [report.entry.id for report in reports] == [begun[2].entry_id]
    assert [entry.id for entry in ledger.unresolved()] == [other.entry_id]
    assert reports[0].to_dict()["entry"]["key"]["operation_id"] == "2"


def test_a_look_up_interrupted_gives_its_claim_back(ledger: Ledger) -> None:
    uncertain(ledger)
    receiver = Receiver(KeyboardInterrupt(), FOUND)
    with pytest.raises(KeyboardInterrupt):
        one(ledger, receiver)
    assert one(ledger, receiver).entry.state == "completed"


def test_a_look_up_that_outlives_its_claim_settles_nothing(ledger: Ledger, clock: Clock) -> None:
    uncertain(ledger)

    def slow() -> StatusReport:
        clock.seconds += 60 + 31  # the lease, and the time that a look-up gets
        assert one(ledger, Receiver(StatusReport("running"))).finding == "running"
        claimed = ledger.claim(ledger.unresolved()[0].id)
        assert claimed is not None
        return GONE

    report = one(ledger, Receiver(slow))
    assert (report.finding, report.entry.state) == ("claimed", "uncertain")


def test_a_second_process_leaves_a_claimed_entry_alone(database: str, ledger: Ledger) -> None:
    uncertain(ledger)
    inner: list[Reconciliation] = []

    def meanwhile() -> StatusReport:
        inner.append(one(ledger, Receiver(GONE)))
        return FOUND

    assert one(ledger, Receiver(meanwhile)).entry.state == "completed"
    assert [report.finding for report in inner] == ["claimed"]


def test_a_look_up_that_hangs_has_failed(ledger: Ledger) -> None:
    uncertain(ledger)
    go_on = threading.Event()

    def hang() -> StatusReport:
        go_on.wait(30)
        return FOUND

    report = one(ledger, Receiver(hang, limits=ToolLimits(seconds=0.05)))
    assert (report.finding, report.entry.state) == ("lookup_failed", "uncertain")
    assert report.entry.evidence[0].data == {"error": "TimeoutError"}
    go_on.set()
    assert one(ledger, Receiver(FOUND, limits=ToolLimits(seconds=None))).resolved


# ---- asynchronous look-ups


def test_an_asynchronous_look_up_decides_nothing_in_synchronous_code(
    ledger: Ledger, recwarn: pytest.WarningsRecorder
) -> None:
    uncertain(ledger)

    async def look_up() -> StatusReport:
        return GONE

    assert one(ledger, Receiver(look_up)).finding == "lookup_failed"
    assert not [w for w in recwarn if issubclass(w.category, RuntimeWarning)]


def test_asynchronous_look_ups_are_awaited(ledger: Ledger) -> None:
    for number in range(3):
        uncertain(ledger, OperationKey("u", "refund", str(number)))

    async def found() -> StatusReport:
        await asyncio.sleep(0)
        return FOUND

    async def broken() -> StatusReport:
        raise OSError("gone")

    receiver = Receiver(found, broken, GONE)
    reports = asyncio.run(reconcile_async(ledger, [receiver.tool]))
    assert [report.finding for report in reports] == ["record", "lookup_failed", "not_found"]


def test_coroutine_functions_stay_on_the_loop_and_within_the_limit(ledger: Ledger) -> None:
    threads: list[Any] = []

    async def look_up(entry: Entry, context: Any) -> StatusReport:
        threads.append(threading.current_thread())
        if len(threads) == 1:
            await asyncio.sleep(3600)
        if len(threads) == 2:
            raise asyncio.CancelledError
        return FOUND

    limits = ToolLimits(seconds=0.2)
    schema = {"type": "object"}
    tool = Tool("refund", "Refund.", schema, max, status_lookup=look_up, limits=limits)
    uncertain(ledger)
    findings = []
    for _ in range(3):
        (report,) = asyncio.run(reconcile_async(ledger, [tool]))
        findings.append(report.finding)
    assert findings == ["lookup_failed", "lookup_failed", "record"]
    assert set(threads) == {threading.main_thread()}


def test_a_cancelled_look_up_gives_its_claim_back(ledger: Ledger) -> None:
    uncertain(ledger)

    async def never() -> StatusReport:
        await asyncio.sleep(3600)
        return GONE

    async def main() -> None:
        task = asyncio.ensure_future(reconcile_async(ledger, [Receiver(never).tool]))
        await asyncio.sleep(0.05)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(main())
    assert one(ledger, Receiver(FOUND)).entry.state == "completed"
