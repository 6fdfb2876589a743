"""The service's HTTP interface, and a server for it on loopback.

=======================================  ====================================================
``GET /tickets/{id}``                    200 with ``ETag``
``PUT /tickets/{id}/assignee``           204 with the new ``ETag``; needs ``If-Match`` and
                                         ``Idempotency-Key``; ``{"user": id or null}``
``GET /projects/{id}/members``           200
``POST /projects/{id}/exports``          202 with ``Location``; needs ``Idempotency-Key``
``GET /operations/{id}``                 200: running, completed or failed
``GET /receipts/{key}``                  200: what became of one's own request; 404 if unknown
=======================================  ====================================================

Who calls is what the bearer token says (401). A 4xx means that nothing was changed: 404 not there
or not visible, 403 not permitted, 428 without ``If-Match``, 412 a stale one, 422 a value that
cannot be, or a key that was used for something else. What was recorded for a key comes with
``Idempotent-Replayed: true``. Preconditions are RFC 9110, 13.1.1; 428 is RFC 6585, 3.
"""

from __future__ import annotations

import asyncio
import re
import socket
import threading
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any
from urllib.parse import quote

import uvicorn
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from gramlock.errors import JsonTextError
from gramlock.tools import validate
from gramlock.tools.json_text import loads

from .store import Answer, Problem, Store

__all__ = ["Server", "application"]

_BODY = 65_536
_KEY = re.compile(r"[\x21-\x7e]{1,200}")
_ETAG = re.compile(r'"([1-9][0-9]{0,15})"')
_NAME = re.compile(r"[\x21-\x7e]{1,200}")
_TICK = 0.05

_ASSIGNEE = {
    "type": "object",
    "properties": {"user": {"type": ["string", "null"], "maxLength": 100}},
    "required": ["user"],
    "additionalProperties": False,
}
_NOTHING = {"type": "object", "additionalProperties": False}


Log = list[tuple[str, str, int]]


def application(store: Store, log: Log | None = None) -> Starlette:
    """The service over *store*, as an ASGI application that also ends exports.

    Args:
        store: The tables.
        log: Gets method, path and status of each request, for audits.
    """
    routes = [
        Route("/tickets/{id}", _answering(store, _ticket, log), methods=["GET"]),
        Route("/tickets/{id}/assignee", _answering(store, _assign, log), methods=["PUT"]),
        Route("/projects/{id}/members", _answering(store, _members, log), methods=["GET"]),
        Route("/projects/{id}/exports", _answering(store, _export, log), methods=["POST"]),
        Route("/operations/{id}", _answering(store, _operation, log), methods=["GET"]),
        Route("/receipts/{id}", _answering(store, _receipt, log), methods=["GET"]),
    ]

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        async def work() -> None:
            while True:
                await run_in_threadpool(store.run_due)
                await asyncio.sleep(_TICK)

        task = asyncio.create_task(work())
        yield
        task.cancel()

    return Starlette(routes=routes, lifespan=lifespan)


class _Call:
    """A request, as the functions below want it."""

    def __init__(self, request: Request, body: bytes, caller: str) -> None:
        self.target = str(request.path_params["id"])
        if not _NAME.fullmatch(self.target):
            raise Problem(404, "not_found", "nothing has such a name")
        self.caller, self._headers, self._body = caller, request.headers, body

    def key(self) -> str:
        key = str(self._headers.get("idempotency-key", ""))
        if not _KEY.fullmatch(key):
            raise Problem(400, "no_key", "Idempotency-Key: 1 to 200 visible ASCII characters")
        return key

    def revision(self) -> int:
        given = self._headers.get("if-match")
        if given is None:
            raise Problem(428, "no_revision", "If-Match: the revision that was read")
        match = _ETAG.fullmatch(given.strip())
        if match is None:  # "*", a list, a weak tag: none says which revision was read
            raise Problem(412, "stale", "If-Match is not the ETag of a revision")
        return int(match[1])

    def body(self, schema: dict[str, Any]) -> Any:
        if len(self._body) > _BODY:
            raise Problem(413, "too_large", f"at most {_BODY:,} bytes")
        try:
            body = loads(self._body) if self._body else {}
        except JsonTextError as error:
            raise Problem(400, "bad_json", str(error)) from None
        wrong = validate(body, schema)
        if wrong:
            raise Problem(422, "bad_body", "; ".join(map(str, wrong)))
        return body


def _ticket(store: Store, call: _Call) -> Answer:
    return store.ticket(call.caller, call.target)


def _members(store: Store, call: _Call) -> Answer:
    return store.members(call.caller, call.target)


def _operation(store: Store, call: _Call) -> Answer:
    return store.operation(call.caller, call.target)


def _receipt(store: Store, call: _Call) -> Answer:
    return store.receipt(call.caller, call.target)


def _assign(store: Store, call: _Call) -> Answer:
    user = call.body(_ASSIGNEE)["user"]
    return store.assign(call.caller, call.target, user, call.revision(), call.key())


def _export(store: Store, call: _Call) -> Answer:
    call.body(_NOTHING)
    return store.start_export(call.caller, call.target, call.key())


def _answering(store: Store, act: Callable[[Store, _Call], Answer], log: Log | None) -> Any:
    """An endpoint: *act* in a thread, its answer or its refusal as a response."""

    def work(request: Request, body: bytes) -> Response:
        scheme, _, token = request.headers.get("authorization", "").partition(" ")
        try:
            if scheme.lower() != "bearer" or not token:
                raise Problem(401, "unauthenticated", "Authorization: Bearer and a token")
            answer = act(store, _Call(request, body, store.caller(token)))
        except Problem as problem:
            return _problem(problem)
        return _response(answer)

    async def endpoint(request: Request) -> Response:
        body = bytearray()
        async for part in request.stream():
            body += part
            if len(body) > _BODY:
                return _problem(Problem(413, "too_large", f"at most {_BODY:,} bytes"))
        response = await run_in_threadpool(work, request, bytes(body))
        if log is not None:
            log.append((request.method, request.url.path, response.status_code))
        return response

    return endpoint


def _response(answer: Answer) -> Response:
    headers = {}
    if answer.revision is not None:
        headers["ETag"] = f'"{answer.revision}"'
    if answer.operation is not None:
        headers["Location"] = f"/operations/{quote(answer.operation, safe='')}"
    if answer.replayed:
        headers["Idempotent-Replayed"] = "true"
    if answer.body is None:
        return Response(status_code=answer.status, headers=headers)
    return JSONResponse(answer.body, answer.status, headers)


def _problem(problem: Problem) -> Response:
    body = {"status": problem.status, "code": problem.code, "detail": problem.message}
    headers = {"WWW-Authenticate": "Bearer"} if problem.status == 401 else {}
    return JSONResponse(body, problem.status, headers, media_type="application/problem+json")


class Server:
    """The service on loopback, in a thread: ``with Server(store) as url``.

    Args:
        store: The tables.
        log: As for :func:`application`.
    """

    def __init__(self, store: Store, log: Log | None = None) -> None:
        self._socket = socket.socket()
        self._socket.bind(("127.0.0.1", 0))
        config = uvicorn.Config(application(store, log), log_level="warning", access_log=False)
        self._server = uvicorn.Server(config)
        self._thread = threading.Thread(
            target=self._server.run, kwargs={"sockets": [self._socket]}, name="ticket-service"
        )

    def __enter__(self) -> str:
        self._thread.start()
        until = time.monotonic() + 30
        while not self._server.started:
            if time.monotonic() > until or not self._thread.is_alive():
                raise RuntimeError("the service did not start")
            time.sleep(0.01)
        return f"http://127.0.0.1:{self._socket.getsockname()[1]}"

    def __exit__(self, *_: object) -> None:
        self._server.should_exit = True
        self._thread.join(30)
        self._socket.close()
