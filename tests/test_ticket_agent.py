"""The example's agent with a model that says what the test wants: effects, paths, and claims.

Effects are looked up in the service's own tables, required reading in its log.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import tickets as ticket_tests
from gramlock.tools import Context, Dispatcher, Ledger, reconcile
from gramlock.tools.call import ToolCall
from ticket_service.agent import Agent, Report, choice_schema
from ticket_service.tools import idempotency_key, ticket_tools

httpx = pytest.importorskip("httpx")

WISH = "assign T-42 to U-9"


@pytest.fixture
def service(tmp_path: Path) -> Iterator[ticket_tests.Tickets]:
    with ticket_tests.running(tmp_path) as found:
        yield found


def proposal(name: str = "assign_ticket", **arguments: Any) -> str:
    arguments = arguments or {"ticket": "T-42", "assignee": "U-9"}
    return json.dumps({"kind": "proposal", "call": {"name": name, "arguments": arguments}})


class Desk:
    """An agent for U-1, whose model answers with a fixed text."""

    def __init__(self, service: ticket_tests.Tickets, path: Path, token: str = "token-1") -> None:
        self.service = service
        self.client = service.client(token)
        self.line = service.lines[-1]
        self.ledger = Ledger(str(path / f"ledger-{token}.db"))
        self.dispatcher = Dispatcher(ticket_tools(), ledger=self.ledger)
        self.trace: list[str] = []
        self.asked: list[Any] = []
        self.principal = f"U-{token[-1]}"

    def ask(
        self,
        text: str = "",
        request: str = WISH,
        operation: str = "op-1",
        *fixes: Any,
        patience: float = 0.0,
    ) -> Report:
        replies = list(fixes)

        def fixer(errors: Any, call: Any) -> Any:
            self.asked.append(errors)
            reply = replies.pop(0) if replies else None
            return reply and ToolCall(call.name, reply)

        agent = Agent(
            lambda request: text or proposal(),
            fixer,
            self.dispatcher,
            self.client,
            self.principal,
            say=self.trace.append,
            patience=patience,
        )
        return agent.handle(request, operation)


@pytest.fixture
def desk(service: ticket_tests.Tickets, tmp_path: Path) -> Iterator[Desk]:
    found = Desk(service, tmp_path)
    yield found
    found.client.close()
    found.ledger.close()


def methods(service: ticket_tests.Tickets) -> list[str]:
    return [f"{method} {path}" for method, path, _ in service.log]


# ---- done


def test_a_wish_is_carried_out_after_the_ticket_was_read(desk: Desk) -> None:
    report = desk.ask()
    assert (report.outcome, report.basis) == ("completed", "answer")
    assert "T-42 is assigned to U-9, revision 2" in report.text
    assert desk.service.changes() == [("T-42", 2, "U-9", "U-1")]
    seen = methods(desk.service)
    write = seen.index("PUT /tickets/T-42/assignee")
    assert "GET /tickets/T-42" in seen[:write]
    assert "GET /projects/P-1/members" in seen[:write]
    assert sum(line.startswith("PUT") for line in seen) == 1
    assert not desk.asked


def test_without_reading_there_is_no_writing(desk: Desk) -> None:
    data = {"client": desk.client, "request": WISH, "seen": {}}
    context = Context("U-1", "op-1", data=data)
    call = ToolCall("assign_ticket", {"ticket": "T-42", "assignee": "U-9"})
    result = desk.dispatcher.dispatch(call, context)
    assert (result.outcome, result.boundary) == ("rejected", "precondition")
    assert desk.service.changes() == []
    desk.dispatcher.dispatch(ToolCall("get_ticket", {"ticket": "T-42"}), context)
    assert desk.dispatcher.dispatch(call, context).ok


def test_the_same_wish_again_is_answered_from_the_record(desk: Desk) -> None:
    desk.ask()
    report = desk.ask()
    assert (report.outcome, report.basis) == ("completed", "recorded")
    assert "revision 2" in report.text
    assert len(desk.service.changes()) == 1


def test_another_wish_is_another_operation(desk: Desk) -> None:
    desk.ask()
    report = desk.ask(operation="op-2")
    assert (report.outcome, "revision 3" in report.text) == ("completed", True)
    assert len(desk.service.changes()) == 2


def test_a_ticket_can_be_shown(desk: Desk) -> None:
    report = desk.ask(proposal("get_ticket", ticket="T-42"), "show T-42")
    assert "T-42, 'The printer is on fire', is assigned to nobody" in report.text


# ---- not done


@pytest.mark.parametrize(
    "text, outcome",
    [
        (json.dumps({"kind": "needs_input", "question": "To whom?"}), "needs_input"),
        (json.dumps({"kind": "unknown", "reason": "That is not about tickets."}), "unknown"),
        ("I will assign it right away!", "rejected"),
        ('{"kind": "proposal"}', "rejected"),
        (proposal("delete_everything", ticket="T-42"), "rejected"),
        (proposal("list_members", project="P-1"), "rejected"),  # not to be proposed
        (proposal(ticket="T-42", assignee="U-9", revision=1), "rejected"),
        ('{"kind": "unknown", "kind": "proposal", "reason": "x"}', "rejected"),
    ],
)
def test_what_is_no_proposal_does_nothing(desk: Desk, text: str, outcome: str) -> None:
    report = desk.ask(text)
    assert (report.outcome, report.basis, report.result) == (outcome, "", None)
    assert report.text.startswith("Nothing was done")
    assert desk.service.log == []


def test_a_name_that_the_user_did_not_write_goes_back(desk: Desk) -> None:
    right = {"ticket": "T-42", "assignee": "U-9"}
    wish = "take T-42 from U-1 and assign it to U-9"
    report = desk.ask(proposal(ticket="T-42", assignee="U-5"), wish, "op-1", right)
    assert report.outcome == "completed"
    assert next(str(error) for error in desk.asked[0]) == (
        "$.assignee: expected one that the request names: U-1, U-9, got U-5"
    )
    assert report.repair is not None
    assert report.repair.changed == ("/assignee",)
    assert desk.service.changes() == [("T-42", 2, "U-9", "U-1")]


def test_the_only_name_that_the_user_wrote_is_meant(desk: Desk) -> None:
    report = desk.ask(proposal(ticket="T-99", assignee="U-9"))
    assert report.outcome == "completed"
    assert report.repair is not None
    assert (report.repair.repairs_used, report.repair.changed) == (1, ("/ticket",))
    assert not desk.asked
    assert not any("T-99/assignee" in line for line in methods(desk.service))


def test_a_correction_may_not_touch_what_the_user_wrote(desk: Desk) -> None:
    wrong = {"ticket": "T-43", "assignee": "U-9"}
    wish = "take T-42 from U-1 and assign it to U-9"
    report = desk.ask(proposal(ticket="T-42", assignee="U-5"), wish, "op-1", wrong, wrong)
    assert report.repair is not None
    assert (report.outcome, report.repair.end) == ("rejected", "evidence")
    assert report.repair.evidence_broken == ("/ticket",)
    assert desk.service.changes() == []
    assert not any("T-43" in line for line in methods(desk.service))


@pytest.mark.parametrize("ticket", ["T-77", "T-99"])
def test_a_hidden_ticket_and_none_are_refused_alike(desk: Desk, ticket: str) -> None:
    report = desk.ask(proposal(ticket=ticket, assignee="U-9"), f"assign {ticket} to U-9")
    assert report.outcome == "rejected"
    assert report.result is not None
    assert report.result.boundary == "domain"
    assert "an existing ticket that you may use" in report.text
    assert "secret" not in report.text
    assert not any(line.startswith("PUT") for line in methods(desk.service))


def test_somebody_outside_the_project_cannot_be_assigned(desk: Desk) -> None:
    report = desk.ask(proposal(ticket="T-42", assignee="U-2"), "assign T-42 to U-2")
    assert (report.outcome, "a member of project P-1" in report.text) == ("rejected", True)
    assert desk.service.changes() == []


def test_a_reader_is_refused_before_the_service_is_asked(
    service: ticket_tests.Tickets, tmp_path: Path
) -> None:
    desk = Desk(service, tmp_path, "token-9")
    report = desk.ask()
    assert report.result is not None
    assert (report.outcome, report.result.boundary) == ("rejected", "authorise")
    assert not any(line.startswith("PUT") for line in methods(service))
    desk.client.close()


# ---- between check and use


def test_a_right_that_is_revoked_after_the_check_stops_the_change(desk: Desk) -> None:
    revoke = desk.service.store.set_role
    desk.line.just_before("PUT", lambda: revoke("P-1", "U-1", "viewer"))
    report = desk.ask()
    assert report.outcome == "failed"
    assert "403" in report.text
    assert "nothing was changed" in report.text
    assert desk.service.changes() == []


def test_a_revision_that_becomes_stale_after_the_check_stops_the_change(desk: Desk) -> None:
    store = desk.service.store
    desk.line.just_before("PUT", lambda: store.assign("U-1", "T-42", "U-1", 1, "other"))
    report = desk.ask()
    assert (report.outcome, "412" in report.text) == ("failed", True)
    assert desk.service.changes() == [("T-42", 2, "U-1", "U-1")]


def test_a_ticket_that_changed_after_it_was_read_is_not_written(desk: Desk) -> None:
    data = {"client": desk.client, "request": WISH, "seen": {}}
    context = Context("U-1", "op-1", data=data)
    desk.dispatcher.dispatch(ToolCall("get_ticket", {"ticket": "T-42"}), context)
    desk.service.store.assign("U-1", "T-42", "U-1", 1, "other")
    call = ToolCall("assign_ticket", {"ticket": "T-42", "assignee": "U-9"})
    result = desk.dispatcher.dispatch(call, context)
    assert (result.outcome, result.boundary) == ("rejected", "precondition")
    assert len(desk.service.changes()) == 1


# ---- lost answers


def test_a_lost_answer_is_looked_up_and_nothing_sent_again(desk: Desk) -> None:
    desk.line.lose_replies("PUT")
    report = desk.ask(patience=10)
    assert (report.outcome, report.basis) == ("completed", "looked_up")
    assert report.repair is not None
    assert report.repair.end == "uncertain"
    assert not desk.asked
    assert desk.service.changes() == [("T-42", 2, "U-9", "U-1")]
    assert sum(line.startswith("PUT") for line in methods(desk.service)) == 1
    assert desk.ledger.unresolved() == []


def test_a_lost_request_is_sent_once_more_when_that_is_safe(desk: Desk) -> None:
    def break_line() -> None:
        raise httpx.WriteError("the connection broke")

    desk.line.just_before("PUT", break_line)
    report = desk.ask(patience=10)
    assert report.outcome == "completed"
    assert desk.service.changes() == [("T-42", 2, "U-9", "U-1")]
    assert any(line.startswith("retry") for line in desk.trace)


def test_without_an_answer_nothing_is_claimed(desk: Desk) -> None:
    desk.line.lose_replies("PUT")
    inner = desk.line.after

    def after(request: Any, response: Any) -> Any:
        return None if "/receipts/" in str(request.url) else inner(request, response)

    desk.line.after = after
    report = desk.ask()
    assert (report.outcome, report.basis) == ("uncertain", "")
    assert "not known" in report.text
    assert len(desk.service.changes()) == 1
    (entry,) = desk.ledger.unresolved()
    again = desk.ask()  # the same wish: still not sent
    assert again.outcome == "uncertain"
    assert sum(line.startswith("PUT") for line in methods(desk.service)) == 1
    desk.line.after = lambda request, response: response
    data = {"client": desk.client, "request": WISH, "seen": {}}
    (found,) = reconcile(
        desk.ledger, desk.dispatcher.tools, Context("U-1", data=data), entries=[entry.id]
    )
    assert found.entry.state == "completed"


def test_a_record_of_other_arguments_settles_nothing(desk: Desk) -> None:
    desk.line.just_before(
        "PUT",
        lambda: desk.service.store.assign(
            "U-1", "T-43", "U-9", 1, idempotency_key("assign_ticket", "op-1")
        ),
    )
    desk.line.lose_replies("PUT")
    report = desk.ask()
    assert (report.outcome, report.basis) == ("uncertain", "")
    assert [change[0] for change in desk.service.changes()] == ["T-43"]


def test_a_service_that_is_not_there_changed_nothing(desk: Desk) -> None:
    def refuse() -> None:
        raise httpx.ConnectError("refused")

    desk.line.just_before("PUT", refuse)
    report = desk.ask()
    assert (report.outcome, "nothing was sent" in report.text) == ("failed", True)


def test_a_reply_without_the_revision_is_told_from_success(desk: Desk) -> None:
    def after(request: Any, response: Any) -> Any:
        return httpx.Response(204) if request.method == "PUT" else response

    desk.line.after = after
    report = desk.ask()
    assert (report.outcome, report.basis) == ("invalid_result", "")
    assert "Done" not in report.text
    assert len(desk.service.changes()) == 1


def test_a_server_error_is_no_word_that_nothing_happened(desk: Desk) -> None:
    def after(request: Any, response: Any) -> Any:
        return httpx.Response(503) if request.method == "PUT" else response

    desk.line.after = after
    report = desk.ask(patience=10)
    assert (report.outcome, report.basis) == ("completed", "looked_up")
    assert len(desk.service.changes()) == 1


def test_duplicates_in_parallel_have_one_effect(
    service: ticket_tests.Tickets, tmp_path: Path
) -> None:
    desks = [Desk(service, tmp_path) for _ in range(4)]  # one ledger file, four processes' worth
    gate, reports = threading.Barrier(4), []

    def work(desk: Desk) -> None:
        gate.wait(30)
        reports.append(desk.ask())

    threads = [threading.Thread(target=work, args=(desk,)) for desk in desks]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert len(reports) == 4
    assert service.changes() == [("T-42", 2, "U-9", "U-1")]
    assert {report.outcome for report in reports} <= {"completed", "rejected"}
    assert any(report.outcome == "completed" for report in reports)
    for desk in desks:
        desk.client.close()
        desk.ledger.close()


# ---- work that ends later


def test_an_export_is_reported_when_it_has_ended(desk: Desk) -> None:
    desk.service.store.delay = 0
    report = desk.ask(proposal("export_project", project="P-1"), "export P-1", patience=10)
    assert (report.outcome, report.basis) == ("completed", "looked_up")
    assert "2 tickets, 0 of them assigned" in report.text


def test_an_export_that_goes_on_is_not_called_done(desk: Desk) -> None:
    report = desk.ask(proposal("export_project", project="P-1"), "export P-1")
    assert (report.outcome, report.basis) == ("accepted", "")
    assert "not done yet" in report.text
    again = desk.ask(proposal("export_project", project="P-1"), "export P-1")
    assert again.outcome == "accepted"
    assert len(desk.service.rows("SELECT * FROM operations")) == 1


def test_an_export_that_fails_is_not_called_done(desk: Desk) -> None:
    desk.service.store.delay = 0
    report = desk.ask(proposal("export_project", project="P-3"), "export P-3", patience=10)
    assert (report.outcome, report.basis) == ("failed", "looked_up")
    assert "Done" not in report.text
    assert "on record as failed" in report.text


# ---- the parts


def test_a_key_is_one_operation_of_one_tool() -> None:
    keys = {idempotency_key(tool, operation) for tool in ("a", "b") for operation in ("x", "ü\n")}
    assert len(keys) == 4
    assert all(key.isascii() for key in keys)
    assert idempotency_key("a", "x") == idempotency_key("a", "x")


def test_every_choice_fits_the_grammar_and_the_validator() -> None:
    import gramlock
    from gramlock.tools import validate

    schema = choice_schema(ticket_tools().only("assign_ticket", "export_project", "get_ticket"))
    grammar = gramlock.Grammar.from_json_schema(schema)
    texts = [
        '{"kind":"proposal","call":{"name":"assign_ticket","arguments":{"ticket":"T-42","assignee":"U-9"}}}',
        '{"kind":"needs_input","question":"To whom?"}',
        '{"kind":"unknown","reason":"No."}',
    ]
    for text in texts:
        assert grammar.accepts(text)
        assert validate(json.loads(text), schema) == []
    assert not grammar.accepts('{"kind":"proposal","call":{"name":"list_members","arguments":{}}}')
    for seed in range(20):
        assert validate(json.loads(grammar.sample(seed)), schema) == []


@pytest.mark.model
def test_the_demo(real: Any, capsys: pytest.CaptureFixture[str]) -> None:
    """Whatever the model proposes: nothing is changed twice, and nothing unknown is left."""
    from ticket_service.__main__ import main

    assert main(["assign T-42 to U-9", "assign T-42 to U-9", "assign T-43", "export P-1"]) == 0
    shown = capsys.readouterr().out
    requests, (_, _, tables) = shown.split("\n\n")[:4], shown.partition("changes in the service")
    assert "Done: T-42 is assigned to U-9, revision 2 (the service said so)" in requests[0]
    assert "uncertain" in requests[1]
    assert "revision 3 (the service has the operation on record)" in requests[1]
    assert "Nothing was done" in requests[2]
    assert "accepted" in requests[3]
    assert "Done: the export counts 2 tickets" in requests[3]
    assert [line.split(",")[0] for line in tables.splitlines()[1:-1]] == [
        "  T-42 revision 2: U-9",
        "  T-42 revision 3: U-9",
    ]
    assert tables.endswith("not known: 0\n")
