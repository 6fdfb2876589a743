"""The dispatcher: one order of checks, six outcomes, never an exception."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gramlock.errors import InvalidResultError
from gramlock.tools import (
    Accepted,
    ApprovalStore,
    BrokenCall,
    Context,
    Dispatcher,
    Tool,
    ToolCall,
    ToolError,
    ToolLimits,
    ToolResult,
    Violation,
    approve,
)
from tool_fakes import (
    GOOD,
    ME,
    Handler,
    asynchronous,
    call,
    raising,
    refund,
    synchronous,
)


@pytest.fixture(params=[synchronous, asynchronous])
def dispatch(request: pytest.FixtureRequest) -> Any:
    return request.param


# ---- the order


class Log:
    """Rules that write down that they were asked."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    def rule(self, name: str, answer: Any) -> Callable[..., Any]:
        def asked(*arguments: Any) -> Any:
            self.asked.append(name)
            return answer

        asked.__name__ = name
        return asked


def ordered(log: Log, **answers: Any) -> Tool:
    return refund(
        log.rule("handler", {"refund": "r1"}),
        checks=[log.rule("domain", answers.get("domain"))],
        permission=log.rule("authorise", answers.get("authorise", True)),
        approval=log.rule("approval", answers.get("approval", True)),
        preconditions=[log.rule("precondition", answers.get("precondition"))],
        postconditions=[log.rule("postcondition", answers.get("postcondition"))],
    )


def test_the_order_is_fixed(dispatch: Any) -> None:
    log = Log()
    tool = ordered(log)
    dispatcher = Dispatcher([tool])
    approve(call(), tool, ME, "boss", store=dispatcher.approvals)
    assert dispatch(dispatcher, call(), ME).ok
    assert log.asked == [
        *("domain", "authorise", "approval", "precondition", "authorise"),
        *("handler", "postcondition"),
    ]


@pytest.mark.parametrize(
    "refusing, answer, asked",
    [
        ("domain", False, ["domain"]),
        ("authorise", False, ["domain", "authorise"]),
        ("approval", True, ["domain", "authorise", "approval"]),
        ("precondition", False, ["domain", "authorise", "approval", "precondition"]),
    ],
)
def test_what_refuses_ends_the_passage(
    dispatch: Any, refusing: str, answer: bool, asked: list[str]
) -> None:
    log = Log()
    dispatcher = Dispatcher([ordered(log, **{"approval": False, refusing: answer})])
    result = dispatch(dispatcher, call(), ME)
    assert (result.outcome, result.boundary) == ("rejected", refusing)
    assert log.asked == asked
    assert result.call_id == "c1"


@pytest.mark.parametrize(
    "status", ["length", "refusal", "filtered", "cancelled", "paused", "malformed", "error"]
)
def test_only_a_complete_completion_is_dispatched(dispatch: Any, status: Any) -> None:
    handler = Handler()
    result = dispatch(Dispatcher([refund(handler)]), call(status=status), ME)
    assert (result.outcome, result.boundary) == ("rejected", "completion")
    assert status in result.message
    assert not handler.seen


def test_an_unknown_name_lists_the_known_ones(dispatch: Any) -> None:
    handler = Handler()
    dispatcher = Dispatcher([refund(handler)])
    for name in ("issue_refunds", " Issue_Refund", "ISSUE_REFUND", "", "issue_refund\x00"):
        result = dispatch(dispatcher, call({}, name), ME)
        assert (result.outcome, result.boundary) == ("rejected", "name")
        assert "issue_refund" in str(result.errors[0])
        assert result.tool == name
    assert not handler.seen


def test_all_violations_come_at_once(dispatch: Any) -> None:
    result = dispatch(
        Dispatcher([refund(Handler())]), call({"order_id": "A-1", "amount_cents": "5000"}), ME
    )
    assert result.boundary == "schema"
    assert sorted(error.path for error in result.errors) == ["$.amount_cents", "$.reason"]


def test_all_semantic_checks_run(dispatch: Any) -> None:
    def unknown(value: Any, context: Any) -> list[Violation]:
        return [Violation("/order_id", "order", "a known order", boundary="domain")]

    def too_much(value: Any, context: Any) -> Iterator[Violation]:
        yield Violation("/amount_cents", "limit", "at most 1000", boundary="domain")

    def broken(value: Any, context: Any) -> Iterator[Violation]:
        raise RuntimeError("the password is hunter2")
        yield

    tool = refund(Handler(), checks=[unknown, too_much, broken])
    result = dispatch(Dispatcher([tool]), call(), ME)
    assert [error.rule for error in result.errors] == ["order", "limit", "broken"]
    assert "hunter2" not in result.to_text()


# ---- calls that are none


@pytest.mark.parametrize(
    "raw",
    [None, 5, "not json", b"\xff", [], object(), {"name": 5}, '{"name": "issue_refund"', ()],
    ids=str,
)
def test_what_is_no_call_is_a_result(dispatch: Any, raw: Any) -> None:
    handler = Handler()
    result = dispatch(Dispatcher([refund(handler)]), raw, ME)
    assert result.outcome == "rejected"
    assert result.boundary in ("parse", "name")
    assert not handler.seen


def test_text_is_read_as_a_call(dispatch: Any) -> None:
    text = json.dumps({"name": "issue_refund", "arguments": GOOD})
    assert dispatch(Dispatcher([refund(Handler())]), text, ME).ok


@pytest.mark.parametrize(
    "arguments",
    [
        "text",
        None,
        ["a"],
        {1: 2},
        {"n": float("nan")},
        {"n": float("inf")},
        {"s": "\ud800"},
        {"s": {1, 2}},
        {"f": open},
    ],
    ids=str,
)
def test_arguments_are_json_data(dispatch: Any, arguments: Any) -> None:
    handler = Handler()
    result = dispatch(
        Dispatcher([refund(handler, parameters={"type": "object"})]),
        ToolCall("issue_refund", arguments, "c1"),
        ME,
    )
    assert (result.outcome, result.boundary) == ("rejected", "parse")
    assert not handler.seen


def nested(levels: int) -> Any:
    value: Any = []
    for _ in range(levels):
        value = [value]
    return value


def ring() -> Any:
    value: dict[str, Any] = {}
    value["self"] = value
    return value


def bomb() -> Any:
    value: Any = ["x"]
    for _ in range(60):
        value = [value, value]
    return {"a": value}


@pytest.mark.parametrize(
    "arguments",
    [{"a": nested(2_000)}, {"a": nested(100_000)}, ring(), bomb(), {"n": 10**400}, {"n": 10**5000}],
    ids=["deep", "deeper", "ring", "bomb", "overflow", "digits"],
)
def test_hostile_arguments_are_a_result(dispatch: Any, arguments: Any) -> None:
    schema = {
        "type": "object",
        "properties": {"n": {"multipleOf": 0.5}},
        "additionalProperties": {"$ref": "#/$defs/a"},
        "$defs": {"a": {"type": ["object", "array", "string"], "items": {"$ref": "#/$defs/a"}}},
    }
    tool = refund(Handler(), parameters=schema)
    result = dispatch(Dispatcher([tool]), ToolCall("issue_refund", arguments, "c1"), ME)
    assert result.outcome in ("rejected", "completed")
    assert result.call_id == "c1"


def test_a_broken_call_is_rejected_with_what_is_wrong(dispatch: Any) -> None:
    dispatcher = Dispatcher([refund(Handler())])
    for layer, name, boundary in [
        ("arguments", "issue_refund", "parse"),
        ("arguments", "other", "name"),
        ("name", None, "name"),
        ("call", None, "parse"),
    ]:
        broken = BrokenCall("c9", name, layer, "duplicate key 'a'", "complete")  # type: ignore[arg-type]
        result = dispatch(dispatcher, broken, ME)
        assert (result.outcome, result.boundary, result.call_id) == ("rejected", boundary, "c9")
    cut = BrokenCall("c9", "issue_refund", "arguments", "cut", "length")
    assert dispatch(dispatcher, cut, ME).boundary == "completion"


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.decimals(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)
NAMES = st.sampled_from(["issue_refund", "look", "other"]) | st.text(max_size=5)
STATUSES = st.sampled_from(["complete", "length", "nonsense"]) | JSON
CALLS = (
    st.builds(ToolCall, NAMES | JSON, JSON, st.none() | st.text() | JSON, STATUSES)
    | st.builds(BrokenCall, JSON, NAMES, st.sampled_from(["call", "name", "arguments"]), st.text())
    | st.text()
    | st.binary()
    | JSON
)


@settings(max_examples=150, deadline=None)
@given(given_call=CALLS)
def test_nothing_a_model_says_raises(given_call: Any) -> None:
    handler = Handler()
    tool = refund(handler)
    dispatcher = Dispatcher([tool])
    result = dispatcher.dispatch(given_call, ME)
    assert result.outcome in ("rejected", "completed")
    assert result.ok == bool(handler.seen)
    if result.ok:
        assert not tool.validator.validate(handler.seen[0])
    (again,) = dispatcher.dispatch_all([given_call], ME)
    assert again.outcome == result.outcome
    assert result.to_text()
    result.to_message("anthropic")


# ---- rules


def rule_raising(*arguments: Any) -> Any:
    raise RuntimeError("the password is hunter2")


def rule_too_deep(*arguments: Any) -> Any:
    return rule_too_deep(*arguments)


def rule_of_no_memory(*arguments: Any) -> Any:
    raise MemoryError


def rule_exiting_its_generator(*arguments: Any) -> Any:
    raise GeneratorExit


def rule_cancelling(*arguments: Any) -> Any:
    raise asyncio.CancelledError


BAD_RULES = [
    rule_raising,
    rule_too_deep,
    rule_of_no_memory,
    rule_exiting_its_generator,
    rule_cancelling,
]


@pytest.mark.parametrize("rule", BAD_RULES, ids=lambda rule: rule.__name__)
@pytest.mark.parametrize(
    "option, boundary",
    [
        ("permission", "authorise"),
        ("approval", "approval"),
        ("checks", "domain"),
        ("preconditions", "precondition"),
    ],
)
def test_a_rule_that_fails_is_closed(dispatch: Any, rule: Any, option: str, boundary: str) -> None:
    handler = Handler()
    many = option in ("checks", "preconditions")
    tool = refund(handler, **{option: [rule] if many else rule})
    result = dispatch(Dispatcher([tool]), call(), ME)
    assert (result.outcome, result.boundary) == ("rejected", boundary)
    assert "hunter2" not in result.to_text()
    assert not handler.seen


@pytest.mark.parametrize("answer", [1, "yes", [True], object(), None, {"allowed": True}], ids=str)
def test_only_true_is_permission(dispatch: Any, answer: Any) -> None:
    handler = Handler()
    tool = refund(handler, permission=lambda arguments, context: answer)
    result = dispatch(Dispatcher([tool]), call(), ME)
    assert (result.outcome, result.boundary) == ("rejected", "authorise")
    assert not handler.seen


@pytest.mark.parametrize("answer", [1, "no", 0, None, {}], ids=str)
def test_only_true_or_false_tell_whether_approval_is_needed(dispatch: Any, answer: Any) -> None:
    handler = Handler()
    tool = refund(handler, approval=lambda arguments, context: answer)
    assert dispatch(Dispatcher([tool]), call(), ME).boundary == "approval"
    assert not handler.seen


@pytest.mark.parametrize("answer", ["bad", 1, {"a": 1}, [1], object()], ids=str)
def test_an_answer_that_is_no_violation_is_closed(dispatch: Any, answer: Any) -> None:
    tool = refund(Handler(), preconditions=[lambda arguments, context: answer])
    assert dispatch(Dispatcher([tool]), call(), ME).boundary == "precondition"


def test_an_asynchronous_rule_is_closed_in_synchronous_code(recwarn: Any) -> None:
    handler = Handler()

    async def allow(arguments: Any, context: Any) -> bool:
        return True

    tool = refund(handler, permission=allow)
    result = Dispatcher([tool]).dispatch(call(), ME)
    assert (result.outcome, result.boundary) == ("rejected", "authorise")
    assert not handler.seen
    assert not [warning for warning in recwarn if "never awaited" in str(warning.message)]
    assert asynchronous(Dispatcher([tool]), call(), ME).ok


def test_an_asynchronous_rule_is_asked_in_asynchronous_code() -> None:
    handler = Handler()

    async def deny(arguments: Any, context: Any) -> bool:
        await asyncio.sleep(0)
        return False

    async def fail(arguments: Any, context: Any) -> bool:
        raise asyncio.CancelledError

    for rule in (deny, fail):
        result = asynchronous(Dispatcher([refund(handler, permission=rule)]), call(), ME)
        assert (result.outcome, result.boundary) == ("rejected", "authorise")
    assert not handler.seen


def test_permission_is_asked_again_before_the_handler(dispatch: Any) -> None:
    answers = [True, False]
    handler = Handler()
    tool = refund(handler, permission=lambda arguments, context: answers.pop(0))
    assert dispatch(Dispatcher([tool]), call(), ME).boundary == "authorise"
    assert answers == []
    assert not handler.seen


def test_arguments_that_a_rule_changes_are_not_executed(dispatch: Any) -> None:
    handler = Handler()

    def change(arguments: Any, context: Any) -> None:
        arguments["amount_cents"] = 1

    given = dict(GOOD)
    tool = refund(handler, preconditions=[change])
    result = dispatch(Dispatcher([tool]), call(given), ME)
    assert (result.outcome, result.boundary) == ("rejected", "arguments")
    assert given == GOOD
    assert not handler.seen


def test_the_handler_has_its_own_copy(dispatch: Any) -> None:
    seen: list[Any] = []

    def change(arguments: dict[str, Any]) -> None:
        arguments["amount_cents"] = 1

    tool = refund(Handler(change), postconditions=[lambda a, r, c: seen.append(a["amount_cents"])])
    given = dict(GOOD)
    assert dispatch(Dispatcher([tool]), call(given), ME).ok
    assert seen == [5000]
    assert given == GOOD


# ---- approvals


def test_an_approval_is_used_once(dispatch: Any) -> None:
    handler = Handler()
    tool = refund(handler, approval="required")
    store = ApprovalStore()
    context = Context(principal="P1", approvals=store)
    dispatcher = Dispatcher([tool])
    approve(call(), tool, context, "boss")
    assert dispatch(dispatcher, call(), context).ok
    assert dispatch(dispatcher, call(), context).boundary == "approval"
    assert len(handler.seen) == 1


def test_a_refusal_after_taking_gives_the_approval_back(dispatch: Any) -> None:
    answers = iter([True, False, True, True])
    tool = refund(
        Handler(), approval="required", permission=lambda arguments, context: next(answers)
    )
    dispatcher = Dispatcher([tool])
    approve(call(), tool, ME, "boss", store=dispatcher.approvals)
    assert dispatch(dispatcher, call(), ME).boundary == "authorise"
    assert len(dispatcher.approvals) == 1
    assert dispatch(dispatcher, call(), ME).ok
    assert len(dispatcher.approvals) == 0


def test_what_was_taken_is_given_back_or_spent(dispatch: Any) -> None:
    tool = refund(Handler(), approval="required", limits=ToolLimits(calls_per_minute=1))
    dispatcher = Dispatcher([tool])
    store = dispatcher.approvals
    given = [approve(call(), tool, ME, "boss", store=store) for _ in range(2)]
    assert dispatch(dispatcher, call(), ME).ok
    assert len(store) == 1
    assert dispatch(dispatcher, call(), ME).boundary == "rate"  # it had been taken by then
    assert len(store) == 1
    for approval in given:
        store.give_back(approval)  # the one that was used does not come back
    assert len(store) == 1


def test_an_approval_revoked_between_check_and_use_is_void(dispatch: Any) -> None:
    store = ApprovalStore()
    given: list[Any] = []
    handler = Handler()

    def revoke(arguments: Any, context: Any) -> None:
        store.revoke(given[0].id)

    tool = refund(handler, approval="required", preconditions=[revoke])
    context = Context(principal="P1", approvals=store)
    given.append(approve(call(), tool, context, "boss"))
    assert dispatch(Dispatcher([tool]), call(), context).boundary == "approval"
    assert not handler.seen


def test_the_application_can_be_asked_for_an_approval(dispatch: Any) -> None:
    handler = Handler()
    tool = refund(handler, approval="required")
    store = ApprovalStore()
    shown: list[Any] = []
    answers: list[Any] = [None, True, 1]

    def ask(request: Any, context: Context) -> Any:
        shown.append(request.arguments)
        request.arguments["amount_cents"] = 1
        answer = answers.pop(0)
        if answer is True:
            return approve(call(), tool, context, "boss", store=store)
        return answer

    dispatcher = Dispatcher([tool], approvals=store, ask_approval=ask)
    outcomes = [dispatch(dispatcher, call(), ME).outcome for _ in range(3)]
    assert outcomes == ["rejected", "completed", "rejected"]
    assert handler.seen == [GOOD]
    assert len(shown) == 3


def test_the_contexts_store_counts_even_if_it_is_empty(dispatch: Any) -> None:
    tool = refund(Handler(), approval="required")
    dispatcher = Dispatcher([tool])
    approve(call(), tool, ME, "boss", store=dispatcher.approvals)
    own = replace(ME, approvals=ApprovalStore())
    assert dispatch(dispatcher, call(), own).boundary == "approval"
    approve(call(), tool, own, "boss")
    answers = iter([True, False])
    refusing = replace(tool, permission=lambda arguments, context: next(answers))
    approve(call(), refusing, own, "boss")
    assert dispatch(Dispatcher([refusing]), call(), own).boundary == "authorise"
    assert dispatch(dispatcher, call(), own).ok
    assert len(dispatcher.approvals) == 1


def test_an_application_cannot_hand_in_one_approval_twice(dispatch: Any) -> None:
    handler = Handler()
    tool = refund(handler, approval="required")
    elsewhere = ApprovalStore()
    given = approve(call(), tool, ME, "boss", store=elsewhere)
    other = approve(call({**GOOD, "amount_cents": 1}), tool, ME, "boss", store=elsewhere)
    answers = iter([other, given, given])
    dispatcher = Dispatcher([tool], ask_approval=lambda request, context: next(answers))
    outcomes = [dispatch(dispatcher, call(), ME).outcome for _ in range(3)]
    assert outcomes == ["rejected", "completed", "rejected"]
    assert len(dispatcher.approvals) == 0


def test_a_store_that_fails_is_closed(dispatch: Any) -> None:
    class Broken(ApprovalStore):
        def find(self, request: Any, now: float) -> Any:
            raise OSError("gone")

    handler = Handler()
    dispatcher = Dispatcher([refund(handler, approval="required")], approvals=Broken())
    assert dispatch(dispatcher, call(), ME).boundary == "approval"
    assert not handler.seen


def test_a_violation_that_cannot_be_told_is_closed(dispatch: Any) -> None:
    odd = Violation("", "rule", None)  # type: ignore[arg-type]
    for options in ({"checks": [lambda a, c: [odd]]}, {"preconditions": [lambda a, c: odd]}):
        result = dispatch(Dispatcher([refund(Handler(), **options)]), call(), ME)
        assert result.outcome == "rejected"
        assert "could not be checked" in result.to_text()


# ---- outcomes


@pytest.mark.parametrize(
    "effect, error, outcome",
    [
        ("write", ToolError("order already refunded"), "failed"),
        ("read", ToolError("no such order"), "failed"),
        ("write", KeyError("secret"), "uncertain"),
        ("read", KeyError("secret"), "failed"),
        ("write", ConnectionResetError("secret"), "uncertain"),
        ("write", MemoryError(), "uncertain"),
        ("write", RecursionError(), "uncertain"),
        ("write", GeneratorExit(), "uncertain"),
        ("write", asyncio.CancelledError(), "uncertain"),
        ("write", StopIteration(), "uncertain"),
        ("write", InvalidResultError("no refund id"), "invalid_result"),
        ("read", InvalidResultError("no refund id"), "invalid_result"),
    ],
    ids=lambda value: value if isinstance(value, str) else type(value).__name__,
)
def test_what_a_handler_raises(
    dispatch: Any, effect: Any, error: BaseException, outcome: str
) -> None:
    handler = Handler(raising(error))
    result = dispatch(Dispatcher([refund(handler, effect=effect)]), call(), ME)
    assert result.outcome == outcome
    assert "secret" not in result.to_text()
    assert len(handler.seen) == 1


def test_a_tool_errors_own_words_reach_the_model(dispatch: Any) -> None:
    error = ToolError("order already refunded", details={"refund": "r0"})
    result = dispatch(Dispatcher([refund(Handler(raising(error)))]), call(), ME)
    assert result.message == "order already refunded"
    assert result.details == {"refund": "r0"}
    odd = ToolError("x" * 10_000 + "\ud800", details=object())
    result = dispatch(Dispatcher([refund(Handler(raising(odd)))]), call(), ME)
    assert result.outcome == "failed"
    assert len(result.message) <= 2_000
    assert result.details is None


def test_accepted_is_not_completed(dispatch: Any) -> None:
    tool = refund(
        Handler(lambda arguments: Accepted("op-17", {"position": 3})), result={"type": "null"}
    )
    result = dispatch(Dispatcher([tool]), call(), ME)
    assert (result.outcome, result.reference, result.ok) == ("accepted", "op-17", False)
    assert result.value == {"position": 3}
    with pytest.raises(TypeError):
        Accepted("")


@pytest.mark.parametrize(
    "value", [{"id": 1}, object(), float("nan"), {1: 2}, nested(3_000), "\udfff", ring(), b"x"]
)
def test_a_result_that_breaks_its_contract(dispatch: Any, value: Any) -> None:
    handler = Handler(lambda arguments: value)
    tool = refund(handler, result={"type": "object", "required": ["refund"]})
    result = dispatch(Dispatcher([tool]), call(), ME)
    assert (result.outcome, result.boundary) == ("invalid_result", "result")
    assert len(handler.seen) == 1


def test_postconditions_are_part_of_the_contract(dispatch: Any) -> None:
    def wrong(arguments: Any, result: Any, context: Any) -> bool:
        result["refund"] = "forged"
        return False

    tool = refund(Handler(), postconditions=[wrong, rule_raising])
    result = dispatch(Dispatcher([tool]), call(), ME)
    assert (result.outcome, result.boundary) == ("invalid_result", "postcondition")
    assert [error.rule for error in result.errors] == ["wrong", "rule_raising"]
    assert result.value == {"refund": "r1"}


def test_an_empty_result_may_be_right(dispatch: Any) -> None:
    tool = refund(Handler(lambda arguments: None), result={"type": "null"})
    result = dispatch(Dispatcher([tool]), call(), ME)
    assert result.ok
    assert result.to_dict() == {"outcome": "completed", "value": None}


def test_bad_schemas_close_their_tool_and_no_other(dispatch: Any) -> None:
    handler = Handler()
    bad = Tool("bad", "Bad.", {"type": "object", "properties": {"a": {"type": "no"}}}, handler)
    worse = Tool("worse", "Worse.", {"type": "object"}, handler, result={"type": "no"})
    dispatcher = Dispatcher([bad, worse, refund(Handler())])
    assert dispatch(dispatcher, call({}, "bad"), ME).boundary == "schema"
    assert dispatch(dispatcher, call({}, "worse"), ME).boundary == "schema"  # of its result
    assert not handler.seen
    assert dispatch(dispatcher, call(), ME).ok


# ---- what the model is told


@pytest.mark.parametrize(
    "provider",
    [
        *("openai", "openai_responses", "anthropic", "gemini"),
        *("mistral", "bedrock", "mcp", "huggingface"),
    ],
)
def test_each_provider_is_told_the_outcome(provider: str) -> None:
    good = ToolResult("completed", "c1", "t", value={"a": 1})
    bad = ToolResult("uncertain", "c1", "t", message="lost")
    assert "uncertain" in str(bad.to_message(provider))
    assert "a" in str(good.to_message(provider))
    if provider != "huggingface" and provider != "mcp":
        assert "c1" in str(good.to_message(provider))
    with pytest.raises(ValueError, match="no provider"):
        good.to_message("nobody")


def test_a_rejection_tells_the_model_what_to_mend() -> None:
    result = Dispatcher([refund(Handler())]).dispatch(call({"order_id": "A-1", "reason": "x"}), ME)
    told = result.to_dict()
    assert told["outcome"] == "rejected"
    assert told["boundary"] == "schema"
    assert told["errors"] == [str(error) for error in result.errors]


def test_a_context_is_of_the_application() -> None:
    with pytest.raises(TypeError):
        Context(principal=5)  # type: ignore[arg-type]
    data = {"a": 1}
    context = Context(data=data)
    data["a"] = 2
    assert context.data["a"] == 1
    with pytest.raises(TypeError):
        context.data["a"] = 3  # type: ignore[index]
    assert context.seconds_left() is None
    near = context.within(5)
    assert near.within(60).deadline == near.deadline


@pytest.mark.parametrize("context", [{"principal": "agent"}, "agent", 0, {}])
def test_who_acts_is_told_by_a_context_or_nobody(context: Any) -> None:
    handler = Handler()
    with pytest.raises(TypeError, match="context is a Context or None"):
        Dispatcher([refund(handler)]).dispatch(call(), context)
    assert handler.seen == []


class _Mute(InvalidResultError):
    def __str__(self) -> str:
        raise RuntimeError("no words")


@pytest.mark.parametrize(
    ("error", "outcome"),
    [(ToolError(5), "failed"), (ToolError(None), "failed"), (_Mute(), "invalid_result")],  # type: ignore[arg-type]
)
def test_words_that_are_none_change_no_outcome(error: Exception, outcome: str) -> None:
    assert Dispatcher([refund(Handler(raising(error)))]).dispatch(call(), ME).outcome == outcome


@pytest.mark.parametrize("deadline", [float("nan"), "5", True])
def test_a_deadline_is_a_time(deadline: Any) -> None:
    with pytest.raises(TypeError, match="deadline"):
        Context(deadline=deadline)


@pytest.mark.parametrize(
    "options", [{"ledger": "x.db"}, {"approvals": {}}, {"results": "directory"}]
)
def test_parts_that_would_fail_after_an_effect_are_refused_before(options: Any) -> None:
    with pytest.raises(TypeError, match="has no method"):
        Dispatcher([refund(Handler())], **options)
    for grace in (-1.0, float("nan")):
        with pytest.raises(ValueError, match="grace"):
            Dispatcher([refund(Handler())], grace=grace)
