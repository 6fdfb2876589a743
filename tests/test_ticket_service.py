"""The example's ticket service as its clients see it: authorisation, revisions, keys, exports."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import tickets as ticket_tests

httpx = pytest.importorskip("httpx")


@pytest.fixture
def service(tmp_path: Path) -> Iterator[ticket_tests.Tickets]:
    with ticket_tests.running(tmp_path) as found:
        yield found


@pytest.fixture
def client(service: ticket_tests.Tickets) -> Iterator[Any]:
    with service.client() as found:
        yield found


def assign(client: Any, user: Any = "U-9", revision: Any = 1, key: str = "k1", **more: Any) -> Any:
    headers = {"Idempotency-Key": key, "If-Match": f'"{revision}"', **more.pop("headers", {})}
    headers = {name: value for name, value in headers.items() if value is not None}
    path = f"/tickets/{more.pop('ticket', 'T-42')}/assignee"
    return client.put(path, headers=headers, **{"json": {"user": user}, **more})


def test_a_ticket_is_read_with_its_revision_and_the_readers_rights(
    service: ticket_tests.Tickets, client: Any
) -> None:
    response = client.get("/tickets/T-42")
    assert (response.status_code, response.headers["etag"]) == (200, '"1"')
    assert response.json()["rights"] == ["assign", "read"]
    with service.client("token-9") as other:
        assert other.get("/tickets/T-42").json()["rights"] == ["read"]


def test_without_a_known_token_nothing_is_answered(service: ticket_tests.Tickets) -> None:
    for headers in ({}, {"Authorization": "Bearer nobody"}, {"Authorization": "Basic token-1"}):
        response = httpx.get(f"{service.url}/tickets/T-42", headers=headers)
        assert response.status_code == 401
        assert response.headers["www-authenticate"] == "Bearer"


def test_what_is_not_visible_looks_like_what_is_not_there(client: Any) -> None:
    for kind in ("/tickets/{}", "/projects/{}/members", "/operations/{}"):
        hidden, missing = client.get(kind.format("T-77")), client.get(kind.format("T-0"))
        assert hidden.status_code == missing.status_code == 404
        assert hidden.content == missing.content
    hidden = assign(client, ticket="T-77")
    assert (hidden.status_code, hidden.content) == (404, assign(client, ticket="T-0").content)


def test_assigning_answers_204_with_the_new_revision(
    service: ticket_tests.Tickets, client: Any
) -> None:
    response = assign(client)
    assert (response.status_code, response.content) == (204, b"")
    assert response.headers["etag"] == '"2"'
    assert service.changes() == [("T-42", 2, "U-9", "U-1")]
    assert assign(client, None, 2, "k2").headers["etag"] == '"3"'
    assert client.get("/tickets/T-42").json()["assignee"] is None


@pytest.mark.parametrize(
    "options, status, code",
    [
        ({"headers": {"If-Match": None}}, 428, "no_revision"),
        ({"revision": 2}, 412, "stale"),
        ({"headers": {"If-Match": "*"}}, 412, "stale"),
        ({"headers": {"If-Match": 'W/"1"'}}, 412, "stale"),
        ({"headers": {"If-Match": '"1", "2"'}}, 412, "stale"),
        ({"headers": {"Idempotency-Key": None}}, 400, "no_key"),
        ({"headers": {"Idempotency-Key": "k" * 201}}, 400, "no_key"),
        ({"user": "U-2"}, 422, "not_a_member"),
        ({"user": "nobody"}, 422, "not_a_member"),
        ({"json": {}}, 422, "bad_body"),
        ({"json": {"user": 9}}, 422, "bad_body"),
        ({"json": {"user": "U-9", "and": 1}}, 422, "bad_body"),
        ({"json": None, "content": b'{"user": "U-9", "user": "U-1"}'}, 400, "bad_json"),
        ({"json": None, "content": b'{"user": NaN}'}, 400, "bad_json"),
        ({"json": None, "content": b" " * 70_000}, 413, "too_large"),
        ({"ticket": "T%00"}, 404, "not_found"),
    ],
)
def test_a_refusal_changes_nothing_and_leaves_no_receipt(
    service: ticket_tests.Tickets, client: Any, options: dict[str, Any], status: int, code: str
) -> None:
    response = assign(client, **options)
    assert (response.status_code, response.json()["code"]) == (status, code)
    assert service.changes() == []
    assert service.rows("SELECT * FROM receipts") == []
    assert assign(client).status_code == 204  # the key is still free


def test_a_viewer_may_not_assign(service: ticket_tests.Tickets) -> None:
    with service.client("token-9") as viewer:
        response = assign(viewer)
    assert (response.status_code, response.json()["code"]) == (403, "forbidden")
    assert service.changes() == []


def test_a_retry_gets_the_recorded_answer(service: ticket_tests.Tickets, client: Any) -> None:
    first, second = assign(client), assign(client)
    assert second.status_code == 204
    assert second.headers["etag"] == first.headers["etag"] == '"2"'
    assert second.headers["idempotent-replayed"] == "true"
    assert "idempotent-replayed" not in first.headers
    assert len(service.changes()) == 1


@pytest.mark.parametrize("options", [{"user": "U-1"}, {"revision": 2}, {"ticket": "T-43"}])
def test_a_key_with_other_parameters_is_refused(
    service: ticket_tests.Tickets, client: Any, options: dict[str, Any]
) -> None:
    assign(client)
    response = assign(client, **options)
    assert (response.status_code, response.json()["code"]) == (422, "key_reused")
    assert len(service.changes()) == 1


def test_a_key_belongs_to_its_caller(service: ticket_tests.Tickets, client: Any) -> None:
    service.store.set_role("P-1", "U-9", "editor")
    assign(client)
    with service.client("token-9") as other:
        assert other.get("/receipts/k1").status_code == 404
        response = assign(other, "U-1", 2)  # the same key, of another one
        assert response.status_code == 204
        assert "idempotent-replayed" not in response.headers
    assert len(service.changes()) == 2


def test_a_key_is_forgotten_after_its_window(service: ticket_tests.Tickets, client: Any) -> None:
    assign(client)
    service.clock.now += 3599
    assert assign(client).headers["idempotent-replayed"] == "true"
    service.clock.now += 1
    assert client.get("/receipts/k1").status_code == 404
    assert assign(client).status_code == 412  # a new request, and a stale one
    assert assign(client, None, 2).status_code == 204


def test_who_lost_the_right_gets_no_recorded_answer_but_may_ask_what_happened(
    service: ticket_tests.Tickets, client: Any
) -> None:
    assign(client)
    service.store.set_role("P-1", "U-1", None)
    assert assign(client).status_code == 404
    told = client.get("/receipts/k1").json()
    assert told["parameters"] == ["assign", "T-42", "U-9", 1]
    assert told["answer"]["revision"] == 2


def test_an_unknown_key_is_final(client: Any) -> None:
    response = client.get("/receipts/k1")
    assert (response.status_code, response.json()["final"]) == (404, True)


def test_a_change_and_its_receipt_are_one(
    service: ticket_tests.Tickets, client: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    with service.store.connection() as db:
        db.execute(
            "CREATE TRIGGER full BEFORE INSERT ON receipts BEGIN SELECT RAISE(ABORT, 'full'); END"
        )
    assert assign(client).status_code == 500
    assert service.changes() == []
    assert service.rows("SELECT assignee, revision FROM tickets WHERE id = 'T-42'") == [(None, 1)]


def in_parallel(count: int, act: Any) -> list[Any]:
    """What *act* returns in each of several threads that start together."""
    gate, found = threading.Barrier(count), [None] * count

    def work(number: int) -> None:
        gate.wait(30)
        found[number] = act(number)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    return found


def test_duplicates_in_parallel_change_once(service: ticket_tests.Tickets) -> None:
    def act(number: int) -> Any:
        with service.client() as client:
            return assign(client)

    responses = in_parallel(8, act)
    assert [response.status_code for response in responses] == [204] * 8
    replayed = [response for response in responses if "idempotent-replayed" in response.headers]
    assert len(replayed) == 7
    assert service.changes() == [("T-42", 2, "U-9", "U-1")]


def test_of_two_writers_of_one_revision_one_is_stale(service: ticket_tests.Tickets) -> None:
    def act(number: int) -> Any:
        with service.client() as client:
            return assign(client, ("U-1", "U-9")[number % 2], key=f"k{number}").status_code

    assert sorted(in_parallel(6, act)) == [204, 412, 412, 412, 412, 412]
    assert len(service.changes()) == 1


# ---- exports


def wait_for(client: Any, place: str, state: str) -> Any:
    for _ in range(300):
        told = client.get(place).json()
        if told["state"] == state:
            return told
        threading.Event().wait(0.02)
    raise AssertionError(f"never {state}: {told}")


def test_an_export_is_begun_and_ends_later(service: ticket_tests.Tickets, client: Any) -> None:
    headers = {"Idempotency-Key": "k1"}
    response = client.post("/projects/P-1/exports", headers=headers)
    assert response.status_code == 202
    place = response.headers["location"]
    assert client.get(place).json()["state"] == "running"
    again = client.post("/projects/P-1/exports", headers=headers)
    assert again.headers["location"] == place
    assert again.headers["idempotent-replayed"] == "true"
    service.clock.now += 5
    told = wait_for(client, place, "completed")
    assert told["result"] == {"tickets": 2, "assigned": 0}
    assert len(service.rows("SELECT * FROM operations")) == 1


def test_an_export_of_nothing_fails_later(service: ticket_tests.Tickets, client: Any) -> None:
    response = client.post("/projects/P-3/exports", headers={"Idempotency-Key": "k1"})
    assert response.status_code == 202
    service.clock.now += 5
    told = wait_for(client, response.headers["location"], "failed")
    assert told["result"]["code"] == "empty"


def test_an_export_is_visible_to_who_began_it(service: ticket_tests.Tickets, client: Any) -> None:
    place = client.post("/projects/P-1/exports", headers={"Idempotency-Key": "k1"}).headers[
        "location"
    ]
    with service.client("token-9") as other:
        assert other.get(place).status_code == 404
        refused = other.post("/projects/P-2/exports", headers={"Idempotency-Key": "k2"})
    assert refused.status_code == 404
    assert len(service.rows("SELECT * FROM operations")) == 1
