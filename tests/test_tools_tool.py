"""Tools: definitions that hold, and how handlers are called."""

from __future__ import annotations

import functools
from typing import Any
from unittest.mock import Mock

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gramlock.errors import ToolDefinitionError
from gramlock.tools import StatusReport, Tool, ToolLimits

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {"order_id": {"type": "string"}, "amount_cents": {"type": "integer"}},
    "required": ["order_id", "amount_cents"],
    "additionalProperties": False,
}


def tool(handler: Any = None, schema: Any = SCHEMA, **options: Any) -> Tool:
    def pay(order_id: str, amount_cents: int) -> dict[str, str]:
        return {"refund": order_id}

    return Tool(
        name="issue_refund",
        description="Refund an order.",
        parameters=schema,
        handler=pay if handler is None else handler,
        **options,
    )


def call(made: Tool, arguments: dict[str, Any], context: Any = "trusted") -> Any:
    args, kwargs = made.invoke_arguments(arguments, context)
    return made.handler(*args, **kwargs)


def test_the_four_parts_make_a_tool_that_writes() -> None:
    made = tool(effect="write")
    assert (made.name, made.effect, made.limits) == ("issue_refund", "write", ToolLimits())
    assert tool().effect == "write"
    assert call(made, {"order_id": "A-1", "amount_cents": 5}) == {"refund": "A-1"}


@pytest.mark.parametrize("option", ["aproval", "permision", "check", "read_only", "timeout"])
def test_an_option_that_does_not_exist_raises(option: str) -> None:
    with pytest.raises(TypeError, match=option):
        tool(**{option: None})


@pytest.mark.parametrize(
    "options, where",
    [
        ({"approval": 1}, "approval"),
        ({"approval": True}, "approval"),
        ({"approval": False}, "approval"),
        ({"approval": "requierd"}, "approval"),
        ({"approval": lambda arguments: True}, "approval must take 2"),
        ({"permission": True}, "permission"),
        ({"permission": False}, "permission"),
        ({"permission": "admin"}, "permission"),
        ({"permission": lambda: True}, "permission must take 2"),
        ({"checks": ["positive"]}, r"checks\[0\]"),
        ({"checks": "positive"}, "checks must be a list"),
        ({"checks": None}, "checks must be a list"),
        ({"checks": [lambda value: []]}, r"checks\[0\] must take 2"),
        ({"preconditions": [None]}, r"preconditions\[0\]"),
        ({"postconditions": [lambda arguments, result: True]}, r"postconditions\[0\] must take 3"),
        ({"status_lookup": "GET /status"}, "status_lookup"),
        ({"effect": "readonly"}, "effect"),
        ({"effect": None}, "effect"),
        ({"limits": {"seconds": 1}}, "limits"),
        ({"result": "object"}, "result"),
        ({"title": 3}, "title"),
    ],
)
def test_a_rule_that_cannot_hold_raises_when_the_tool_is_made(options: Any, where: str) -> None:
    with pytest.raises(ToolDefinitionError, match=where) as caught:
        tool(**options)
    assert "issue_refund" in str(caught.value)


@pytest.mark.parametrize("name", ["", " a", "a b", "é", "a\n", "x" * 129, None, 3])
def test_names_are_plain(name: Any) -> None:
    with pytest.raises(ToolDefinitionError, match="name must be"):
        Tool(name, "Does it.", {}, print)


@pytest.mark.parametrize("description", ["", "  ", None])
def test_a_tool_says_what_it_is_for(description: Any) -> None:
    with pytest.raises(ToolDefinitionError, match="description"):
        Tool("a", description, {}, print)


@pytest.mark.parametrize(
    "schema, where",
    [
        (True, "parameters"),
        ("object", "parameters"),
        ({"type": "string"}, "named members"),
        ({"type": ["string", "null"]}, "named members"),
        ({"properties": {1: {}}}, "no text"),
        ({"const": {1, 2}}, "not JSON: set"),
        ({"minimum": float("nan")}, "not JSON: nan"),
    ],
)
def test_parameters_are_a_schema_of_an_object(schema: Any, where: str) -> None:
    with pytest.raises(ToolDefinitionError, match=where):
        Tool("a", "Does it.", schema, lambda **members: None)


def test_a_schema_that_contains_itself_is_refused() -> None:
    schema: dict[str, Any] = {"type": "object"}
    schema["not"] = schema
    with pytest.raises(ToolDefinitionError, match="deeper"):
        tool(lambda **members: None, schema)


def test_the_schema_is_copied() -> None:
    given = {"type": "object", "properties": {"a": {"type": "string"}}}
    made = tool(lambda a: a, given)
    before = made.digest
    given["properties"]["a"]["type"] = "integer"  # type: ignore[index]
    assert made.parameters["properties"] == {"a": {"type": "string"}}
    assert made.digest == before == tool(lambda a: a, made.parameters).digest


def test_a_tool_cannot_be_changed() -> None:
    with pytest.raises(AttributeError):
        tool(approval="required").approval = None  # type: ignore[misc]


@pytest.mark.parametrize(
    "changed",
    [
        {"description": "Refund an order at once."},
        {"name": "issue_refunds"},
        {"title": "Refund"},
        {"effect": "read"},
        {"result": {"type": "null"}},
        {"parameters": {**SCHEMA, "required": []}},
    ],
)
def test_the_digest_is_of_the_definition(changed: dict[str, Any]) -> None:
    given: dict[str, Any] = {"name": "issue_refund", "description": "Refund an order."}
    given |= {"parameters": SCHEMA, "handler": lambda **members: None}
    same = Tool(**{**given, "limits": ToolLimits(seconds=1), "permission": lambda a, c: True})
    assert Tool(**given).digest == same.digest
    assert Tool(**{**given, **changed}).digest != same.digest


@pytest.mark.parametrize("value", [0, -1, True, float("nan"), float("inf"), "30"])
@pytest.mark.parametrize("limit", ["seconds", "result_bytes", "calls_per_minute"])
def test_limits_are_positive_numbers(limit: str, value: Any) -> None:
    with pytest.raises(ToolDefinitionError, match=limit):
        ToolLimits(**{limit: value})
    assert getattr(ToolLimits(**{limit: None}), limit) is None


@pytest.mark.parametrize(
    "report", [{"state": "done"}, {"state": "completed", "evidence": "hearsay"},
               {"state": "not_found", "final": "yes"}]
)  # fmt: skip
def test_a_status_report_has_known_states(report: dict[str, Any]) -> None:
    with pytest.raises(ToolDefinitionError):
        StatusReport(**report)


# ------------------------------------------------------------------- how handlers are called


class Pays:
    def __call__(self, order_id: str, amount_cents: int) -> list[Any]:
        return [order_id, amount_cents]

    def method(self, arguments: dict[str, Any], context: Any) -> list[Any]:
        return [arguments, context]


ARGUMENTS = {"order_id": "A-1", "amount_cents": 5}


@pytest.mark.parametrize(
    "handler, received",
    [
        (lambda order_id, amount_cents: [order_id, amount_cents], ["A-1", 5]),
        (lambda *, amount_cents, order_id: [order_id, amount_cents], ["A-1", 5]),
        (lambda order_id, amount_cents, retries=3: [order_id, retries], ["A-1", 3]),
        (lambda order_id, amount_cents, context: [order_id, context], ["A-1", "trusted"]),
        (lambda **members: members, ARGUMENTS),
        (lambda order_id, **rest: [order_id, rest], ["A-1", {"amount_cents": 5}]),
        (lambda context, **members: [context, members], ["trusted", ARGUMENTS]),
        (lambda arguments: arguments, ARGUMENTS),
        (lambda request, /: request, ARGUMENTS),
        (lambda arguments, context: [arguments, context], [ARGUMENTS, "trusted"]),
        (lambda request, trusted: [request, trusted], [ARGUMENTS, "trusted"]),
        (lambda request, *, context: [request, context], [ARGUMENTS, "trusted"]),
        (lambda context, request: [request, context], [ARGUMENTS, "trusted"]),
        (lambda *requests: list(requests), [ARGUMENTS]),
        (lambda *requests, context: [*requests, context], [ARGUMENTS, "trusted"]),
        (lambda request, client="http": [request, client], [ARGUMENTS, "http"]),
        (Pays(), ["A-1", 5]),
        (Pays().method, [ARGUMENTS, "trusted"]),
        (
            functools.partial(lambda shop, order_id, amount_cents: [shop, order_id], "s"),
            ["s", "A-1"],
        ),
        (dict, ARGUMENTS),
    ],
)
def test_a_handler_gets_its_arguments_by_its_signature(handler: Any, received: Any) -> None:
    made = tool(handler)
    assert call(made, dict(ARGUMENTS)) == received
    assert [v for check in made.checks for v in check(ARGUMENTS, None)] == []


def test_a_property_called_context_is_a_property() -> None:
    schema = {"type": "object", "properties": {"context": {"type": "string"}}}
    assert call(tool(lambda context: context, schema), {"context": "untrusted"}) == "untrusted"


def test_a_member_cannot_stand_for_the_trusted_context() -> None:
    made = tool(lambda context, **members: context, {"type": "object"})
    (check,) = made.checks
    (violation,) = check({"context": "forged"}, None)
    assert (violation.property, violation.boundary) == ("context", "domain")


@pytest.mark.parametrize(
    "handler, where",
    [
        (lambda order_id: None, "cannot take amount_cents"),
        (lambda order_id, amount_cents, reason: None, "needs reason"),
        (lambda a, b, c: None, "needs a, b, c"),
        (lambda context, *rest: None, "after the context"),
        (lambda order_id, /, amount_cents: None, "order_id by position"),
        (lambda a, *, client: None, "needs a, client"),
        (lambda: None, "cannot take amount_cents, order_id"),
        ("pay", "callable"),
        (None, "callable"),
    ],
)
def test_a_handler_that_contradicts_the_schema_is_refused(handler: Any, where: str) -> None:
    with pytest.raises(ToolDefinitionError, match=where):
        Tool("pay", "Pays.", SCHEMA, handler)


def test_members_that_the_handler_has_no_parameter_for_are_found_before_it_runs() -> None:
    handler = Mock()
    made = tool(lambda order_id, note: handler(), {"properties": {"order_id": {}, "note": {}}})
    (check,) = made.checks
    found = check({"order_id": "A-1", "urgent": True}, None)
    assert [(v.rule, v.property, v.boundary) for v in found] == [
        ("required", "note", "domain"),
        ("additionalProperties", "urgent", "domain"),
    ]
    assert not handler.called


def test_names_of_properties_are_found_through_references_and_combinators() -> None:
    schema = {
        "$ref": "#/$defs/order",
        "allOf": [{"properties": {"note": {}}}],
        "anyOf": [{"if": {"properties": {"a": {}}}, "then": {"properties": {"b": {}}}}],
        "$defs": {"order": {"$ref": "#/$defs/order", "properties": {"order_id": {}}}},
    }
    made = tool(lambda order_id, note="", a=0, b=0: order_id, schema)
    assert call(made, {"order_id": "A-1"}) == "A-1"


def test_a_handler_cannot_change_the_call() -> None:
    given = {"lines": [{"sku": "a"}]}
    schema = {"properties": {"lines": {"type": "array"}}}
    call(tool(lambda arguments: arguments.pop("lines")[0].clear(), schema), given)
    call(tool(lambda lines: lines[0].clear(), schema), given)
    assert given == {"lines": [{"sku": "a"}]}


def _yields(arguments: dict[str, Any]) -> Any:
    yield arguments


async def _yields_later(arguments: dict[str, Any]) -> Any:
    yield arguments


class _Yields:
    def __call__(self, arguments: dict[str, Any]) -> Any:
        yield arguments


@pytest.mark.parametrize("handler", [_yields, _yields_later, _Yields(), functools.partial(_yields)])
def test_a_handler_that_would_run_nothing_is_refused(handler: Any) -> None:
    with pytest.raises(ToolDefinitionError, match="generator"):
        tool(handler)


NAMES = ["a", "b", "context", "kind"]


@given(st.data())
def test_a_call_that_passes_the_check_never_fails_for_its_arguments(data: st.DataObject) -> None:
    properties = data.draw(st.lists(st.sampled_from(NAMES), unique=True))
    plain = data.draw(st.lists(st.sampled_from(NAMES), unique=True))
    named = data.draw(st.lists(st.sampled_from(NAMES), unique=True))
    parts = [f"{name}=None" for name in plain if data.draw(st.booleans())]
    needed = [name for name in plain if f"{name}=None" not in parts]
    parts = needed + parts + data.draw(st.sampled_from([["*rest"], ["*"], []]))
    if "*rest" in parts or "*" in parts:
        parts += [name for name in named if name not in plain]
    if parts[-1:] == ["*"]:
        parts.pop()
    parts += data.draw(st.sampled_from([["**more"], []]))
    if needed and data.draw(st.booleans()):
        parts.insert(data.draw(st.integers(1, len(needed))), "/")
    scope: dict[str, Any] = {}
    exec(f"def handler({', '.join(parts)}): return 'ran'", scope)
    schema = {"type": "object", "properties": {name: {} for name in properties}}
    try:
        made = Tool("a", "Does it.", schema, scope["handler"])
    except ToolDefinitionError:
        return
    arguments = data.draw(st.dictionaries(st.sampled_from([*NAMES, "other"]), st.integers()))
    if not [v for check in made.checks for v in check(arguments, None)]:
        assert call(made, arguments) == "ran"


async def _later(arguments: dict[str, Any]) -> None: ...


class _Later:
    async def __call__(self, arguments: dict[str, Any], context: Any) -> None: ...


def test_coroutine_functions_are_known_as_such() -> None:
    assert tool(_later).is_async
    assert tool(_Later()).is_async
    assert tool(functools.partial(_later)).is_async
    assert not tool().is_async
    rules = tool(permission=_Later(), checks=[lambda a, c: [], _Later()], approval="required")
    assert rules.async_rules == ("permission", "checks[2]")  # checks[0] is the handler's own


def test_one_check_needs_no_list() -> None:
    check = lambda value, context: []  # noqa: E731
    assert tool(checks=check).checks[-1:] == (check,)


# ------------------------------------------------------------------------ definitions as data


@pytest.mark.parametrize(
    "definition",
    [
        {"name": "a", "description": "Does it.", "parameters": SCHEMA},
        {"type": "function", "function": {"name": "a", "description": "Does it.",
                                          "parameters": SCHEMA, "strict": True}},
        {"type": "function", "name": "a", "description": "Does it.", "parameters": SCHEMA},
        {"name": "a", "description": "Does it.", "input_schema": SCHEMA},
        {"name": "a", "description": "Does it.", "inputSchema": SCHEMA,
         "annotations": {"readOnlyHint": True}},
    ],
)  # fmt: skip
def test_a_tool_from_a_dict_of_any_shape_writes(definition: dict[str, Any]) -> None:
    made = Tool.from_dict(definition, lambda **members: members)
    assert (made.name, made.parameters, made.effect) == ("a", SCHEMA, "write")


def test_an_own_definition_may_state_rules_and_limits() -> None:
    made = Tool.from_dict(
        {"name": "a", "description": "Does it.", "parameters": {}, "effect": "read",
         "approval": "required", "limits": {"seconds": 2}},
        lambda **members: members,
        title="A",
    )  # fmt: skip
    assert (made.effect, made.approval, made.title) == ("read", "required", "A")
    assert made.limits == ToolLimits(seconds=2)


@pytest.mark.parametrize(
    "definition, where",
    [
        ({"aproval": "required"}, "'aproval'; 'approval' is meant"),
        ({"limits": {"second": 2}}, "'second'; 'seconds' is meant"),
        ({"approval": "yes"}, "approval"),
        ({"type": "function", "effect": "read"}, "effect"),
        ({"annotations": {"readOnlyHint": True}}, "annotations"),
        ({"binding": None}, "binding"),
    ],
)
def test_a_misspelt_key_is_not_ignored(definition: dict[str, Any], where: str) -> None:
    base = {"name": "a", "description": "Does it.", "parameters": {}}
    with pytest.raises(ToolDefinitionError, match=where):
        Tool.from_dict({**base, **definition}, lambda **members: None)


def test_a_definition_names_what_it_lacks() -> None:
    with pytest.raises(ToolDefinitionError, match="lacks description, handler"):
        Tool.from_dict({"name": "a", "parameters": {}})
    with pytest.raises(ToolDefinitionError, match="a dict, not list"):
        Tool.from_dict([])  # type: ignore[arg-type]
