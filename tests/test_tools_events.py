"""Events: one per boundary, secrets left out, and never a fault of their own."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator
from typing import Any

import pytest

from gramlock.tools import (
    Accepted,
    Context,
    Dispatcher,
    Tool,
    ToolCall,
    ToolError,
    ToolLimits,
    Violation,
    invariant,
    reference,
)
from tool_fakes import GOOD, ME, Handler, asynchronous, call, raising, refund, synchronous

SECRET = {
    "type": "object",
    "properties": {
        "user": {"type": "string"},
        "password": {"type": "string", "writeOnly": True},
        "pin": {"type": "integer", "x-secret": True},
        "notes": {"type": "array", "items": {"type": "string"}},
    },
}
ARGUMENTS = {"user": "ann", "password": 'hun"ter2', "pin": 47119, "notes": ["n"]}


class Kept(logging.Handler):
    """Keeps what is logged."""

    def __init__(self) -> None:
        super().__init__(logging.DEBUG)
        self.records: list[logging.LogRecord] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.records.append(record)

    @property
    def events(self) -> list[dict[str, Any]]:
        return [record.event for record in self.records]  # type: ignore[attr-defined]

    def text(self) -> str:
        told = [record.getMessage() for record in self.records]
        return "\n".join(told) + json.dumps(self.events, default=str)


@pytest.fixture
def kept() -> Iterator[Kept]:
    logger = logging.getLogger("gramlock.tools")
    handler, level = Kept(), logger.level
    logger.addHandler(handler)
    logger.setLevel(logging.DEBUG)
    yield handler
    logger.removeHandler(handler)
    logger.setLevel(level)


@pytest.fixture(params=[synchronous, asynchronous])
def dispatch(request: pytest.FixtureRequest) -> Any:
    return request.param


def login(handler: Any, **options: Any) -> Tool:
    return Tool("login", "Logs in.", SECRET, handler, **options)


def attempt() -> Any:
    return ToolCall("login", ARGUMENTS, "c1")


def test_each_boundary_has_its_event(dispatch: Any, kept: Kept) -> None:
    assert dispatch(Dispatcher([refund(Handler())]), call(), ME).ok
    told = [(event["boundary"], event["verdict"]) for event in kept.events]
    assert told == [
        *((name, "passed") for name in ("completion", "name", "parse", "schema", "domain")),
        *((name, "passed") for name in ("authorise", "precondition", "authorise", "arguments")),
        ("outcome", "completed"),
    ]
    last = kept.events[-1]
    assert (last["tool"], last["call_id"], last["principal"]) == ("issue_refund", "c1", "agent-7")
    assert last["arguments"] == GOOD
    assert json.loads(kept.records[-1].getMessage())["outcome"] == "completed"


def test_a_refusal_says_where_and_what(kept: Kept) -> None:
    Dispatcher([refund(Handler())]).dispatch(call({"order_id": "A-1"}), ME)
    last = kept.events[-1]
    assert (last["boundary"], last["outcome"]) == ("schema", "rejected")
    assert any("amount_cents" in line for line in last["errors"])
    assert kept.records[-1].levelno == logging.INFO


def test_secrets_are_left_out(dispatch: Any, kept: Kept) -> None:
    assert dispatch(Dispatcher([login(lambda arguments: "in")]), attempt(), ME).ok
    shown = kept.events[-1]["arguments"]
    assert shown["user"] == "ann"
    assert shown["password"] != ARGUMENTS["password"]
    assert "ter2" not in kept.text()
    assert "47119" not in kept.text()


def test_exception_texts_are_told_here_without_secrets(dispatch: Any, kept: Kept) -> None:
    text = f"no route for ann with {ARGUMENTS['password']} / {ARGUMENTS!r} / 47119"
    result = dispatch(Dispatcher([login(Handler(raising(ConnectionError(text))))]), attempt(), ME)
    assert result.outcome == "uncertain"
    assert "route" not in result.to_text()
    (fault,) = [event for event in kept.events if event["verdict"] == "raised"]
    assert fault["error"]["type"] == "builtins.ConnectionError"
    assert "no route for ann" in fault["error"]["text"]
    assert any("test_tools" in frame or "tool_fakes" in frame for frame in fault["error"]["frames"])
    assert "ter2" not in kept.text()
    assert "47119" not in kept.text()
    assert kept.records[-1].levelno == logging.WARNING


def test_what_a_handler_says_of_a_secret_is_left_out_of_events(dispatch: Any, kept: Kept) -> None:
    words = f"no login as {ARGUMENTS['password']}"
    refused = dispatch(Dispatcher([login(Handler(raising(ToolError(words))))]), attempt(), ME)
    assert (refused.outcome, refused.message) == ("failed", words)
    begun = login(lambda arguments: Accepted(f"logins/{arguments['pin']}"))
    assert dispatch(Dispatcher([begun]), attempt(), ME).reference == "logins/47119"
    assert "no login as" in kept.text()
    assert "ter2" not in kept.text()
    assert "47119" not in kept.text()


@pytest.mark.parametrize("rules", ["checks", "preconditions"])
def test_what_a_check_quotes_of_a_secret_is_shown_to_nobody(rules: str, kept: Kept) -> None:
    wrong = [
        invariant(lambda value: False, at=["$.user", "$.password"], expected="another"),
        reference("$.pin", lambda pin: None, what="pin"),
        lambda arguments, context: Violation("/nothing", "odd", "another", "47119"),
    ]
    result = Dispatcher([login(Handler(), **{rules: wrong})]).dispatch(attempt(), ME)
    assert [(error.pointer, error.got) for error in result.errors] == [
        ("/user", '"ann"'),
        ("/password", "something else (not shown)"),
        ("/pin", "something else (not shown)"),
        ("/nothing", "something else (not shown)"),
    ]
    assert "ter2" not in kept.text() + result.to_text()
    assert "47119" not in kept.text() + result.to_text()


def test_secrets_of_a_result_are_left_out_of_later_faults(kept: Kept) -> None:
    def check(arguments: Any, result: Any, context: Any) -> bool:
        raise ValueError(f"odd token {result['token']}")

    schema = {"type": "object", "properties": {"token": {"type": "string", "x-secret": True}}}
    tool = refund(lambda arguments: {"token": "tk-5"}, result=schema, postconditions=[check])
    assert Dispatcher([tool]).dispatch(call(), ME).outcome == "invalid_result"
    assert "odd token" in kept.text()
    assert "tk-5" not in kept.text()


def test_a_text_that_cannot_be_cleared_is_not_shown(kept: Kept) -> None:
    class Odd(Exception):
        def __str__(self) -> str:
            raise RuntimeError("hun")

    Dispatcher([login(Handler(raising(Odd())))]).dispatch(attempt(), ME)
    (fault,) = [event for event in kept.events if event["verdict"] == "raised"]
    assert fault["error"]["text"] == "[not shown]"


def test_a_stored_result_is_told_without_its_excerpt(kept: Kept) -> None:
    tool = refund(lambda arguments: "x" * 5_000, limits=ToolLimits(result_bytes=100))
    result = Dispatcher([tool]).dispatch(call(), ME)
    assert result.stored is not None
    told = kept.events[-1]["stored"]
    assert (told["id"], told["size"]) == (result.stored.id, 5_002)
    assert told["omissions"]
    assert "xxxx" not in kept.text()


def test_names_from_the_model_cannot_forge_lines(kept: Kept) -> None:
    Dispatcher([refund(Handler())]).dispatch(ToolCall("x\nERROR root: " + "y" * 999, {}, "\n"), ME)
    for record in kept.records:
        assert "\n" not in record.getMessage()
        assert len(record.getMessage()) < 2_000


def test_a_listener_that_fails_fails_no_call(dispatch: Any) -> None:
    class Failing(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            raise OSError("disk full")

    logger = logging.getLogger("gramlock.tools")
    failing = Failing()
    logger.addHandler(failing)
    try:
        tool = refund(Handler(raising(KeyError("x"))))
        assert dispatch(Dispatcher([tool]), call(), ME).outcome == "uncertain"
    finally:
        logger.removeHandler(failing)


def test_an_interruption_leaves_an_event(kept: Kept) -> None:
    with pytest.raises(KeyboardInterrupt):
        Dispatcher([refund(Handler(raising(KeyboardInterrupt())))]).dispatch(call(), ME)
    assert kept.events[-1]["outcome"] == "uncertain"
    assert kept.events[-1]["boundary"] == "interrupted"


def test_what_comes_late_is_told(kept: Kept) -> None:
    import threading

    goes_on = threading.Event()
    tool = refund(lambda arguments: goes_on.wait(5), limits=ToolLimits(seconds=0.02))
    dispatcher = Dispatcher([tool])
    assert dispatcher.dispatch(call(), ME).outcome == "uncertain"
    goes_on.set()
    assert dispatcher.close(5)
    late = [event for event in kept.events if event["boundary"] == "late_result"]
    assert [event["verdict"] for event in late] == ["completed"]


def test_a_dispatch_is_a_span(dispatch: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    trace = pytest.importorskip("opentelemetry.trace")
    from gramlock.tools import events

    spans: list[Any] = []
    inside: list[bool] = []

    class Span(trace.NonRecordingSpan):  # type: ignore[misc, name-defined]
        def __init__(self, name: str) -> None:
            super().__init__(trace.INVALID_SPAN_CONTEXT)
            self.name, self.attributes, self.events, self.ends = name, {}, [], 0
            spans.append(self)

        def is_recording(self) -> bool:
            return True

        def update_name(self, name: str) -> None:
            self.name = name

        def set_attributes(self, attributes: Any) -> None:
            self.attributes.update(attributes)

        def set_attribute(self, key: str, value: Any) -> None:
            self.attributes[key] = value

        def add_event(self, name: str, attributes: Any = None, timestamp: Any = None) -> None:
            self.events.append((name, attributes))

        def end(self, end_time: Any = None) -> None:
            self.ends += 1

    class Tracer:
        def start_span(self, name: str) -> Span:
            return Span(name)

    monkeypatch.setattr(events, "_tracer", lambda: Tracer())
    tool = login(lambda arguments: inside.append(trace.get_current_span() is spans[0]))
    assert dispatch(Dispatcher([tool]), attempt(), Context(principal="P1")).ok
    (span,) = spans
    assert inside == [True]
    assert span.name == "execute_tool login"
    assert span.attributes["gen_ai.tool.call.id"] == "c1"
    assert span.attributes["gramlock.outcome"] == "completed"
    assert [name for name, _ in span.events][:2] == ["gramlock.completion", "gramlock.name"]
    assert span.ends == 1
    assert "ter2" not in str(span.events)
    assert not trace.get_current_span().is_recording()
