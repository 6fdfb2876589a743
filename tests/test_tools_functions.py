"""Tools of typed functions: the schema judges first, pydantic builds the values."""

from __future__ import annotations

import asyncio
import datetime
import functools
import math
from dataclasses import dataclass
from decimal import Decimal
from enum import Enum
from typing import Annotated, Any, Literal, Optional

import pytest

from gramlock.errors import JsonTextError, ToolDefinitionError
from gramlock.tools import Accepted, Dispatcher, Tool, ToolCall, ToolSet
from gramlock.tools.canonical import canonical
from gramlock.tools.json_text import loads

pydantic = pytest.importorskip("pydantic")
TypedDict = pytest.importorskip("typing_extensions").TypedDict  # older Pythons lack a part


class Money(pydantic.BaseModel):  # type: ignore[misc, name-defined]
    cents: int
    currency: Literal["EUR", "USD"] = "EUR"

    @pydantic.model_validator(mode="after")
    def _not_too_much(self) -> Any:
        if self.cents > 10_000:
            raise ValueError("more than the limit, 10,000 cents")
        return self


class Colour(Enum):
    RED = "red"


@dataclass
class Receipt:
    order: str
    day: datetime.date
    total: Decimal = Decimal(0)


class Line(TypedDict):  # type: ignore[valid-type, misc]
    sku: str
    count: Annotated[int, pydantic.Field(ge=1, description="How many.")]


def refund(order_id: str, amount: Money, day: datetime.date, note: str | None = None) -> Receipt:
    """Refund an order.

    The whole of it, or a part.

    Args:
        order_id: As printed on
            the receipt.
        amount (Money): How much.
        day: When it was bought.

    Returns:
        What was done.
    """
    assert isinstance(amount, Money)
    return Receipt(order_id, day, Decimal(amount.cents) / 100)


MADE = Tool.from_function(refund)
GOOD = {"order_id": "A-1", "amount": {"cents": 500}, "day": "2026-12-01"}


def call(made: Tool, arguments: dict[str, Any], context: Any = None) -> Any:
    args, kwargs = made.invoke_arguments(arguments, context)
    return made.handler(*args, **kwargs)


def domain(made: Tool, arguments: dict[str, Any]) -> list[str]:
    found = [v for check in made.checks for v in check(arguments, None)]
    assert all(v.boundary == "domain" for v in found)
    return [str(v) for v in found]


def test_names_texts_and_schemas_are_read() -> None:
    assert MADE.name == "refund"
    assert MADE.description == "Refund an order.\n\nThe whole of it, or a part."
    assert MADE.effect == "write"
    properties = MADE.parameters["properties"]
    assert properties["order_id"]["description"] == "As printed on the receipt."
    assert properties["amount"]["description"] == "How much."
    assert properties["day"]["format"] == "date"
    assert "description" not in properties["note"]
    assert MADE.parameters["required"] == ["order_id", "amount", "day"]
    assert MADE.parameters["additionalProperties"] is False
    assert MADE.parameters["$defs"]["Money"]["additionalProperties"] is False
    assert MADE.result is not False
    assert MADE.result is not None
    assert MADE.result["required"] == ["order", "day"]  # type: ignore[index]


def test_values_are_built_and_the_result_is_written_as_json() -> None:
    assert domain(MADE, GOOD) == []
    assert call(MADE, GOOD) == {"order": "A-1", "day": "2026-12-01", "total": "5"}


def test_what_only_pydantic_finds_is_a_violation_of_the_domain() -> None:
    found = domain(MADE, {**GOOD, "amount": {"cents": 10_001}})
    assert found == ["$.amount: more than the limit, 10,000 cents"]


def test_every_violation_is_found_with_its_place() -> None:
    def even(number: int) -> int:
        if number % 2:
            raise AssertionError("must be even")
        return number

    Even = Annotated[int, pydantic.AfterValidator(even)]  # noqa: N806

    @Tool.from_function
    def add(numbers: list[Even], more: dict[str, Even | None]) -> None:
        """Add."""

    found = domain(add, {"numbers": [1, 2, 3], "more": {"a/b": 5, "c": None}})
    assert found[:2] == ["$.numbers[0]: must be even", "$.numbers[2]: must be even"]
    (more,) = [v for check in add.checks for v in check({"numbers": [], "more": {"a/b": 5}}, 0)]
    assert (more.pointer, more.path) == ("/more/a~1b", "$.more['a/b']")


def test_a_validator_that_breaks_is_no_verdict() -> None:
    def broken(value: str) -> str:
        raise KeyError(value)

    def look_up(order: Annotated[str, pydantic.AfterValidator(broken)]) -> None:
        """Look up."""

    (check,) = Tool.from_function(look_up).checks
    with pytest.raises(KeyError):
        check({"order": "A"}, None)


def test_digits_of_a_decimal_are_kept() -> None:
    seen: list[Decimal] = []

    @Tool.from_function(effect="read")
    def convert(amount: Decimal) -> Decimal:
        """Convert."""
        seen.append(amount)
        return amount

    exact = Decimal("0.10000000000000000000000000001")
    assert call(convert, {"amount": exact}) == str(exact)
    assert seen == [exact]
    assert convert.parameters["properties"]["amount"]["type"] == "number"
    assert convert.effect == "read"


def test_a_number_does_not_become_infinite() -> None:
    class Amount(pydantic.BaseModel):  # type: ignore[misc, name-defined]
        value: float

    @Tool.from_function
    def pay(plain: float, inner: list[Amount], exact: Decimal) -> None:
        """Pay."""

    huge, small = Decimal("1e400"), Decimal("1e-400")
    good = {"plain": 1.5, "inner": [{"value": 2}], "exact": huge}
    assert domain(pay, good) == []
    assert domain(pay, {**good, "plain": small}) == []
    assert len(domain(pay, {**good, "plain": huge})) == 2  # which of them cannot be told
    found = domain(pay, {**good, "inner": [{"value": -huge}], "exact": 1})
    assert found == ["$.inner[0].value: a number that a double can hold"]


def test_a_result_that_is_json_already_stays_as_it_is() -> None:
    @Tool.from_function
    def look(a: int):  # type: ignore[no-untyped-def]
        """Look."""
        return (
            {"cents": Decimal("5.10"), "day": datetime.date(2026, 12, 1)} if a else Decimal("5.1")
        )

    assert call(look, {"a": 0}) == Decimal("5.1")
    assert call(look, {"a": 1}) == {"cents": "5.10", "day": "2026-12-01"}
    assert look.result is None


def test_defaults_are_the_functions_own_and_whole_floats_are_integers() -> None:
    @Tool.from_function
    def pick(count: int, of: int = 5, *, colour: Colour = Colour.RED) -> list[Any]:
        """Pick."""
        return [count, of, colour.name]

    assert call(pick, {"count": 3.0}) == [3, 5, "RED"]
    assert call(pick, {"count": 3, "colour": "red"}) == [3, 5, "RED"]


class Context:
    pass


# A stand-in for the package's own class: known by the module that it is defined in.
Context.__module__ = "gramlock.tools.context"


def test_the_context_is_not_shown() -> None:
    def by_name(a: int, context) -> Any:  # type: ignore[no-untyped-def]
        """Do."""
        return [a, context]

    def by_type(trusted: Context, a: int) -> Any:
        """Do."""
        return [a, trusted]

    def optional(a: int, trusted: Optional[Context] = None) -> Any:  # noqa: UP045
        """Do."""
        return [a, trusted]

    def member(a: int, context: str) -> Any:
        """Do."""
        return [a, context]

    for function in (by_name, by_type, optional):
        made = Tool.from_function(function)
        assert list(made.parameters["properties"]) == ["a"]
        assert call(made, {"a": 1}, "trusted") == [1, "trusted"]
        assert domain(made, {"a": 1, "context": "forged"}) != []
    made = Tool.from_function(member)
    assert list(made.parameters["properties"]) == ["a", "context"]
    assert call(made, {"a": 1, "context": "said"}, "trusted") == [1, "said"]


def test_members_without_a_parameter_are_refused_or_passed() -> None:
    @Tool.from_function
    def closed(a: int) -> None:
        """Do."""

    @Tool.from_function
    def open_(a: int, **rest: int) -> dict[str, int]:
        """Do."""
        return rest

    assert domain(closed, {"a": 1, "b": 2}) == ["$.b: Unexpected keyword argument"]
    assert call(open_, {"a": 1, "b": 2}) == {"b": 2}


def test_coroutine_functions() -> None:
    @Tool.from_function
    async def pay(day: datetime.date) -> datetime.date:
        """Pay."""
        await asyncio.sleep(0)
        return day + datetime.timedelta(days=1)

    assert pay.is_async
    assert asyncio.run(call(pay, {"day": "2026-12-31"})) == "2027-01-01"
    assert pay.result == {"format": "date", "type": "string"}


class Desk:
    def close(self, ticket: int) -> None:
        """Close."""

    def __call__(self, ticket: int) -> None:
        """Close."""


def test_methods_partials_and_objects() -> None:
    assert list(Tool.from_function(Desk().close).parameters["properties"]) == ["ticket"]
    made = Tool.from_function(Desk(), name="close", description="Close.")
    assert list(made.parameters["properties"]) == ["ticket"]
    assert made.result == {"type": "null"}
    part = functools.partial(refund, note="n")
    assert "order_id" in Tool.from_function(part, name="refund").parameters["properties"]


def test_options_override_what_was_read() -> None:
    made = Tool.from_function(
        refund, name="pay_back", description="Pay back.", result=True, approval="required"
    )
    assert (made.name, made.description, made.result) == ("pay_back", "Pay back.", True)
    assert made.approval == "required"
    with pytest.raises(TypeError, match="aproval"):
        Tool.from_function(refund, aproval="required")
    with pytest.raises(TypeError, match="aproval"):
        Tool.from_function(aproval="required")(refund)


def bare(a: int, b) -> None:  # type: ignore[no-untyped-def]
    """Do."""


def positional(a: int, /) -> None:
    """Do."""


def variadic(*numbers: int) -> None:
    """Do."""


def undescribed(a: int) -> None: ...


def without_schema(a: asyncio.Event) -> None:
    """Do."""


def strange_result(a: int) -> asyncio.Event:
    """Do."""
    return asyncio.Event()


def dangling(a: "Nowhere") -> None:  # type: ignore[name-defined]  # noqa: F821, UP037
    """Do."""


def two_contexts(a: Context, b: Context) -> None:
    """Do."""


@pytest.mark.parametrize(
    "function, where",
    [
        (bare, "without annotation: b"),
        (positional, "by position"),
        (variadic, "by position"),
        (undescribed, "description"),
        (without_schema, "JSON Schema"),
        (strange_result, "state result="),
        (dangling, "Nowhere"),
        (two_contexts, "two parameters for one context: a, b"),
        ("refund", "not a function"),
    ],
)
def test_what_cannot_be_a_tool_says_why(function: Any, where: str) -> None:
    with pytest.raises(ToolDefinitionError, match=where):
        Tool.from_function(function)


def test_a_result_without_schema_may_be_stated() -> None:
    assert Tool.from_function(strange_result, result=True).result is True


@pytest.mark.parametrize(
    "returned, annotation",
    [(math.nan, float), (object(), dict[str, str]), ({"a": object()}, dict[str, Any])],
)
def test_a_result_that_cannot_be_written_is_handed_on(returned: Any, annotation: Any) -> None:
    def strange(a: int) -> Any:
        """Do."""
        return returned

    strange.__annotations__["return"] = annotation
    got = call(Tool.from_function(strange), {"a": 1})
    assert got is returned or math.isnan(got)


def test_results_of_the_wrong_shape_are_for_the_check_of_results() -> None:
    @Tool.from_function
    def lines(a: int) -> list[Line]:
        """Do."""
        return [{"sku": 3}]  # type: ignore[typeddict-item]

    assert call(lines, {"a": 1}) == [{"sku": 3}]
    assert isinstance(lines.result, dict)
    assert lines.result["$defs"]["Line"]["required"] == ["sku", "count"]


@pytest.mark.parametrize(
    "change, boundary, error",
    [
        ({"amount": {"cents": True}}, "schema", "$.amount.cents: expected integer, got boolean"),
        ({"amount": {"cents": "500"}}, "schema", "$.amount.cents: expected integer, got string"),
        ({"amount": {"cents": 1, "more": 2}}, "schema", "$.amount.more: "),
        ({"day": "2026-02-30"}, "schema", "$.day: "),
        ({"amount": {"cents": 10_001}}, "domain", "$.amount: more than the limit"),
    ],
)
def test_the_schema_judges_before_pydantic(change: Any, boundary: str, error: str) -> None:
    ran: list[Any] = []

    def pay(order_id: str, amount: Money, day: datetime.date) -> str:
        """Pay."""
        ran.append(amount)
        return order_id

    dispatcher = Dispatcher([Tool.from_function(pay)])
    result = dispatcher.dispatch(ToolCall("pay", {**GOOD, **change}))
    assert (result.outcome, result.boundary) == ("rejected", boundary)
    assert str(result.errors[0]).startswith(error)
    assert ran == []
    assert dispatcher.dispatch(ToolCall("pay", GOOD)).value == "A-1"


@pytest.mark.parametrize(
    "returned, outcome",
    [
        (Receipt("A-1", datetime.date(2026, 12, 1)), "completed"),
        (Receipt("A-1", "tomorrow"), "invalid_result"),  # type: ignore[arg-type]
        (Receipt(7, datetime.date(2026, 12, 1)), "invalid_result"),  # type: ignore[arg-type]
        (None, "invalid_result"),
        ({"order": "A-1"}, "invalid_result"),
        (object(), "invalid_result"),
        (Accepted("op-1"), "accepted"),
    ],
)
def test_results_are_checked_by_the_return_annotation(returned: Any, outcome: str) -> None:

    def pay(order_id: str) -> Receipt | Accepted:
        """Pay."""
        return returned  # type: ignore[no-any-return]

    tool = Tool.from_function(pay)
    assert isinstance(tool.result, dict)
    assert tool.result["required"] == ["order", "day"]
    result = Dispatcher([tool]).dispatch(ToolCall("pay", {"order_id": "A-1"}))
    assert result.outcome == outcome


def test_the_grammar_of_a_typed_function_accepts_what_it_takes() -> None:
    report = ToolSet([MADE]).compile(validators=False)["refund"]
    assert report.grammar is not None
    assert report.grammar.accepts(
        '{"order_id": "A-1", "amount": {"cents": 500}, "day": "2026-12-01"}'
    )
    for wrong in ('"cents": "500"', '"cents": true', '"cents": 1, "more": 1'):
        text = '{"order_id": "A-1", "amount": {' + wrong + '}, "day": "2026-12-01"}'
        assert not report.grammar.accepts(text)


@pytest.mark.parametrize(
    "kind",
    [
        int,
        float,
        bool,
        str,
        int | str,
        str | int,
        bool | int,
        float | None,
        Literal[1, "1", True],
        list[int | bool],
        dict[str, float | str],
        tuple[int, str],
        Colour,
        Annotated[int, pydantic.Field(gt=3, multiple_of=7)],
        str | datetime.date,
        Any,
    ],
    ids=str,
)
def test_what_the_grammar_writes_is_built_without_being_changed(kind: Any) -> None:
    def keep(value: Any) -> Any:
        """Keep."""
        return value

    keep.__annotations__ = {"value": kind, "return": kind}
    made = Tool.from_function(keep)
    report = ToolSet([made]).compile()["keep"]
    assert report.grammar is not None
    kept = 0
    for seed in range(40):
        try:
            arguments = loads(report.grammar.sample(seed))
        except JsonTextError:  # a power of ten that no reader takes
            continue
        assert made.validator.validate(arguments) == []
        if any(isinstance(found, Decimal) for found in flat(arguments)):
            continue  # doubles cannot hold it
        assert domain(made, arguments) == []
        assert canonical(call(made, arguments)) == canonical(arguments["value"])
        kept += 1
    assert kept > 10


def flat(value: Any) -> list[Any]:
    """The scalars in JSON data."""
    if isinstance(value, dict):
        return [inner for member in value.values() for inner in flat(member)]
    if isinstance(value, list):
        return [inner for item in value for inner in flat(item)]
    return [value]


def test_parameters_by_position_are_refused_in_words_of_the_function() -> None:
    def pay(amount: int, /) -> int:
        """Pays."""
        return amount

    with pytest.raises(ToolDefinitionError, match="tool 'pay': it takes amount: int by position"):
        Tool.from_function(pay)


def test_a_validator_that_raises_is_told_by_no_internal_name() -> None:
    class Odd(pydantic.BaseModel):  # type: ignore[misc, name-defined]
        amount: int

        @pydantic.field_validator("amount")
        @classmethod
        def look(cls, value: int) -> int:
            raise RuntimeError("secret")

    def pay(odd: Odd) -> int:
        """Pays."""
        return odd.amount

    result = Dispatcher([Tool.from_function(pay)]).dispatch(ToolCall("pay", {"odd": {"amount": 1}}))
    assert (result.outcome, result.boundary) == ("rejected", "domain")
    assert [str(error) for error in result.errors] == ["$: handler could not be checked"]
