"""Grammars of Python types: what they write is what pydantic reads."""

from __future__ import annotations

import builtins
import dataclasses
import datetime
import decimal
import enum
import functools
import ipaddress
import json
import uuid
from collections.abc import Sequence
from typing import Annotated, Any, Generic, Literal, NamedTuple, TypeVar

import pytest

from gramlock import Grammar, GrammarError, MissingDependencyError

pydantic = pytest.importorskip("pydantic")
typing_extensions = pytest.importorskip("typing_extensions")

Item = TypeVar("Item")


class Colour(enum.Enum):
    RED = "red"
    GREEN = 2


class Level(enum.IntEnum):
    LOW = 1
    HIGH = 2


class Point(NamedTuple):
    x: int
    y: float = 0.0


class Address(typing_extensions.TypedDict, total=False):
    street: typing_extensions.Required[str]
    number: int


@dataclasses.dataclass
class Tree:
    name: str
    children: list[Tree] = dataclasses.field(default_factory=list)


class Cat(pydantic.BaseModel):
    kind: Literal["cat"]
    lives: Annotated[int, pydantic.Field(ge=1, le=9)] = 9


class Dog(pydantic.BaseModel):
    kind: Literal["dog"]
    name: Annotated[str, pydantic.Field(min_length=1, max_length=8, pattern="^[a-z]+$")]


class Page(pydantic.BaseModel, Generic[Item]):
    items: list[Item]
    following: Page[Item] | None = pydantic.Field(None, alias="next")


class Open(pydantic.BaseModel):
    model_config = pydantic.ConfigDict(extra="allow")
    a: int


class Numbers(pydantic.RootModel[list[int]]):
    pass


Animal = Annotated[Cat | Dog, pydantic.Field(discriminator="kind")]


def book(room: int, *, guests: Sequence[str] = (), when: datetime.date | None = None) -> None: ...


class Store:
    def take(self, count: int) -> None: ...

    @classmethod
    def make(cls, name: str = "") -> None: ...


def with_rest(a: Any, **rest: bool) -> None: ...


TYPES = [
    int,
    float,
    bool,
    str,
    type(None),
    bytes,
    Any,
    Colour,
    Level,
    Literal["a", 1, True, None],
    int | str | None,
    float | None,
    list[int],
    dict[str, bool],
    dict[Literal["a", "b"], int],
    tuple[int, str],
    tuple[int, ...],
    Point,
    Address,
    Tree,
    Cat,
    Dog,
    Animal,
    list[Animal],
    Page[int],
    Open,
    Numbers,
    datetime.date,
    uuid.UUID,
    ipaddress.IPv4Address,
    ipaddress.IPv6Address,
    Annotated[decimal.Decimal, pydantic.Field(gt=decimal.Decimal("0.1"), lt=5)],
    Annotated[int, pydantic.Field(gt=3, multiple_of=5)],
    Annotated[list[int], pydantic.Field(min_length=2, max_length=3)],
    set[int],
    frozenset[Literal["a", "b"]],
]


@pytest.mark.parametrize("kind", TYPES, ids=str)
def test_samples_are_values_of_the_type(kind: Any) -> None:
    adapter = pydantic.TypeAdapter(kind)
    grammar = Grammar.from_type(kind)
    for seed in range(40):
        adapter.validate_json(grammar.sample(seed))


ACCEPTED: list[tuple[Any, list[Any], list[Any]]] = [
    (Colour, ["red", 2], ["blue", "RED", "2", 2.5]),
    (Level, [1, 2], [0, "LOW"]),
    (Point, [[1], [1, 2.5]], [[], [1, 2, 3], {"x": 1}]),
    (Address, [{"street": "a"}, {"street": "a", "number": 1}], [{"number": 1}, {"street": 1}]),
    (Tree, [{"name": "a", "children": [{"name": "b"}]}], [{"name": "a", "children": [{}]}]),
    (Animal, [{"kind": "cat", "lives": 3}], [{"kind": "dog", "lives": 3}, {"kind": "cow"}]),
    (Page[int], [{"items": [1], "next": {"items": []}}], [{"items": ["a"]}, {"following": None}]),
    (Numbers, [[], [1, 2]], [{}, ["a"]]),
    (set[Literal[1, 2]], [[], [2, 1]], [[1, 1], [3]]),
    (book, [{"room": 1}, {"room": 1, "guests": ["a"], "when": "2024-02-29"}], [{}, [1], {"a": 1}]),
    (Store().take, [{"count": 1}], [{}, {"self": 1, "count": 1}]),
    (Store.make, [{}, {"name": "a"}], [{"cls": 1}]),
    (with_rest, [{"a": [], "b": True}], [{"a": 1, "b": 2}, {"b": True}]),
    (functools.partial(book, 7), [{}, {"guests": []}], [{"room": 1, "guests": [2]}]),
    (datetime.datetime, ["2024-02-29T12:00:00Z"], ["2023-02-29T12:00:00Z", "12:00"]),
]


@pytest.mark.parametrize("kind,good,bad", ACCEPTED, ids=[str(kind) for kind, _, _ in ACCEPTED])
def test_values(kind: Any, good: list[Any], bad: list[Any]) -> None:
    grammar = Grammar.from_type(kind)
    assert [value for value in good if not grammar.accepts(json.dumps(value))] == []
    assert [value for value in bad if grammar.accepts(json.dumps(value))] == []


def test_objects_are_closed_unless_the_type_or_the_caller_opens_them() -> None:
    more = '{"kind": "cat", "age": 3}'
    assert not Grammar.from_type(Cat).accepts(more)
    assert Grammar.from_type(Cat, closed=False).accepts(more)
    assert Grammar.from_type(Open).accepts('{"a": 1, "age": [3]}')
    assert not Grammar.from_type(list[Address]).accepts('[{"street": "a", "age": 3}]')


def test_options_and_report_are_those_of_schemas() -> None:
    grammar = Grammar.from_type(Cat, separators=(",", ":"), order="any")
    assert grammar.accepts('{"lives":9,"kind":"cat"}')
    assert not grammar.accepts('{"lives": 9, "kind": "cat"}')
    assert grammar.report is not None
    assert "/properties/lives/minimum" in {place.pointer for place in grammar.report.places}


def positional(a: int, /) -> None: ...
def many(*a: int) -> None: ...


@pytest.mark.parametrize("kind", [positional, many, len, max, type(book), 3, list["Nowhere"]])  # noqa: F821
def test_what_has_no_schema_is_refused_by_name(kind: Any) -> None:
    with pytest.raises(GrammarError, match=r"has no JSON Schema|by position|does not tell"):
        Grammar.from_type(kind)


def test_without_pydantic_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def without(name: str, *args: Any, **kwargs: Any) -> Any:
        if name.partition(".")[0] == "pydantic":
            raise ImportError(name)
        return real(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(MissingDependencyError, match=r"gramlock\[types\]"):
        Grammar.from_type(int)
