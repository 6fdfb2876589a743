"""JSON text read strictly and written exactly, against the standard library and by random text."""

from __future__ import annotations

import json
import sys
import threading
from collections import UserDict
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gramlock.errors import GramlockError, JsonTextError, NotJsonError
from gramlock.tools import json_text
from gramlock.tools.canonical import canonical
from gramlock.tools.json_text import dumps, loads, plain_json

REFUSED = {
    "": "no value",
    "  \n": "no value",
    '{"a": 1': "ends too early",
    '"abc': "ends too early",
    "{} x": "text after the value",
    "{}{}": "text after the value",
    "[1,]": "",
    '{"a": 1,}': "",
    "{'a': 1}": "",
    "True": "",
    "01": "text after the value",
    "+1": "",
    ".5": "",
    "1.": "text after the value",
    "NaN": "NaN is no JSON number",
    "[1, -Infinity]": "-Infinity is no JSON number",
    '{"a": 1, "a": 2}': "'a' stands twice",
    '{"a": 1, "\\u0061": 2}': "'a' stands twice",
    '[{"b": {"a": 1, "a": 1}}]': "'a' stands twice",
    '"\\ud800"': "surrogate",
    '"\\uDC00\\ud800"': "surrogate",
    '{"\\udfff": 1}': "surrogate",
    '"\ud800"': "surrogate",
    '"a\nb"': "",
    "\ufeff{}": "",
    "\u00a01": "",
    "1" * 10_000: "10,000 digits",
    "0." + "1" * 10_000: "digits",
    "1e1000000": "power of ten",
    "1e-99999999999999999999": "power of ten",
    "1e" + "9" * 4000: "power of ten",
    "[" * 201 + "]" * 201: "201|200 levels",
    '{"a":' * 100_000: "200 levels",
}


@pytest.mark.parametrize("text", REFUSED, ids=lambda text: ascii(text)[:30])
def test_what_is_no_strict_json_is_refused(text: str) -> None:
    import re

    with pytest.raises(JsonTextError) as caught:
        loads(text)
    assert re.search(REFUSED[text], str(caught.value))
    assert isinstance(caught.value, ValueError)
    assert isinstance(caught.value, GramlockError)
    assert len(str(caught.value)) < 300


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ('{"a": 1,\n "b": 2,\n "a": 3}', (3, 2)),
        ('{"x": "a", "a": ["a", "a"], "b": 1, "b": 2}', (1, 37)),
        ('{"a": 1, "a": {"b": 1, "b": 2}}', (1, 24)),  # the inner object ends first
        ('["NaN",\nNaN]', (2, 1)),
        ('["\\ud83d\\ude00", "\\ud83d"]', (1, 18)),
        ('["\\\\ud800", "\\ud800"]', (1, 13)),
        ("[1]\n]", (2, 1)),
        ('["a\\"[[", ' + "[" * 300, (1, 10 + 200)),
    ],
)
def test_a_refusal_names_the_place(text: str, place: tuple[int, int]) -> None:
    with pytest.raises(JsonTextError) as caught:
        loads(text)
    assert (caught.value.line, caught.value.column) == place
    assert str(caught.value).startswith(f"line {place[0]}, column {place[1]}: ")


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1.5", 1.5),
        ("0.1", 0.1),
        ("1e3", 1000.0),
        ("5e-324", 5e-324),
        ("-0.0", -0.0),
        ("0e999999999", 0.0),
        ("0.10000000000000001", Decimal("0.10000000000000001")),
        ("1e400", Decimal("1e400")),
        ("-1e-400", Decimal("-1e-400")),
        ("9007199254740993.0", Decimal("9007199254740993")),
        ("9007199254740993", 9007199254740993),
        ("1e999999", Decimal("1e999999")),
        ("-0", 0),
    ],
)
def test_numbers_keep_their_value(text: str, value: Any) -> None:
    found = loads(text)
    assert found == value
    assert type(found) is type(value)


def test_long_integers_do_not_depend_on_the_limit_of_the_interpreter() -> None:
    text = "9" * 4300
    before = sys.get_int_max_str_digits()
    sys.set_int_max_str_digits(640)
    try:
        value = loads(text)
        assert dumps(value) == text
    finally:
        sys.set_int_max_str_digits(before)
    assert value == 10**4300 - 1


@pytest.mark.parametrize(
    ("data", "position"), [(b'{"a": "\xff"}', 7), (b'"\xed\xa0\x80"', 1), (b'"\xc3\xa9\xc3', 2)]
)
def test_bytes_are_utf8(data: bytes, position: int) -> None:
    with pytest.raises(JsonTextError) as caught:
        loads(data)
    assert caught.value.position == position
    assert loads('{"é": "😀"}'.encode()) == {"é": "😀"} == loads(bytearray('{"é": "😀"}'.encode()))


def test_budgets_are_named() -> None:
    for text, budget in [
        ("[" * 300, "depth"),
        ("1" * 5000, "digits"),
        ("1e1000000", "exponent"),
        ('"' + "a" * json_text.MAX_CHARACTERS, "characters"),
        ("[" + "[]," * json_text.MAX_VALUES + "[]]", "values"),
    ]:
        with pytest.raises(JsonTextError) as caught:
            loads(text)
        assert caught.value.budget == budget
    assert loads("[[1]]", depth=2) == [[1]]
    with pytest.raises(JsonTextError):
        loads("[[1]]", depth=1)
    commas = "," * json_text.MAX_VALUES  # in a text they are no values
    assert loads(f'"{commas}"') == commas


def test_a_stack_that_is_nearly_full_is_a_refusal() -> None:
    found: list[Any] = []

    def descend(left: int) -> None:
        if left:
            return descend(left - 1)
        try:
            found.append(loads("[" * 150 + "]" * 150))
        except JsonTextError as error:
            found.append(error.budget)

    tries = range(sys.getrecursionlimit() - 160, sys.getrecursionlimit() - 10, 15)

    def run() -> None:
        for left in tries:
            try:
                descend(left)
            except RecursionError:
                found.append("caller's own")

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    assert len(found) == len(tries)
    assert all(item in ("depth", "caller's own") or isinstance(item, list) for item in found)


# ---- against the standard library, by random values and texts

scalars = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.decimals(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(codec="utf-8"))
)
values = st.recursive(
    scalars,
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.text(st.characters(codec="utf-8"), max_size=5), inner, max_size=4)
    ),
    max_leaves=12,
)


@given(values)
def test_what_is_written_is_read_back(value: Any) -> None:
    text = dumps(value)
    assert canonical(loads(text)) == canonical(value)
    assert canonical(loads(text.encode())) == canonical(value)
    json.loads(text)


tokens = st.sampled_from(
    ["{", "}", "[", "]", ":", ",", '"a"', '"b"', '"\\ud83d\\ude00"', '"\\ud83d"', '"\\u0061"']
    + ["1", "-", "1.5e3", "0", "true", "null", "NaN", " ", "\n", '"', "\\", "é", "x"]
)


def twice(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len(dict(pairs)) < len(pairs):
        raise ValueError("twice")
    return dict(pairs)


def constant(text: str) -> Any:
    raise ValueError(text)


def lone(value: Any) -> bool:
    return any(
        "\ud800" <= sign <= "\udfff" for sign in json.dumps(value, ensure_ascii=False, default=str)
    )


@settings(max_examples=400)
@given(
    st.lists(tokens, max_size=14).map("".join)
    | values.map(dumps).flatmap(
        lambda text: st.tuples(st.integers(0, len(text)), tokens).map(
            lambda at: text[: at[0]] + at[1] + text[at[0] :]
        )
    )
)
def test_it_agrees_with_the_standard_library_made_strict(text: str) -> None:
    try:
        expected = json.loads(
            text, object_pairs_hook=twice, parse_constant=constant, parse_float=Decimal
        )
        right = not lone(expected)
    except ValueError:
        right = False
    try:
        found = loads(text)
    except JsonTextError as error:
        assert not right, error
        assert 0 <= error.position <= len(text)
    else:
        assert right
        assert canonical(found) == canonical(expected)


# ---- plain copies


class Odd(UserDict[str, Any]):
    def __iter__(self) -> Iterator[str]:
        return iter(self.data)


def test_copies_are_plain() -> None:
    inner = {"x": (1, 2)}
    copy = plain_json(Odd(a=inner))
    assert copy == {"a": {"x": [1, 2]}}
    assert type(copy) is dict
    inner["x"] = (3,)  # type: ignore[assignment]
    assert copy == {"a": {"x": [1, 2]}}


def ring() -> list[Any]:
    found: list[Any] = []
    found.append(found)
    return found


def doubled() -> list[Any]:
    found: list[Any] = []
    for _ in range(100):
        found = [found, found]
    return found


@pytest.mark.parametrize(
    ("value", "path"),
    [
        ({"a": [1, float("nan")]}, "$.a[1]"),
        ({"a": Decimal("Infinity")}, "$.a"),
        ({"a": {1: 2}}, "$.a"),
        ({"a": {1, 2}}, "$.a"),
        ({"a": ["\udc00"]}, "$.a[0]"),
        ({"\udc00": 1}, "$"),
        (b"bytes", "$"),
        (ring(), "$[0]"),
        (doubled(), "$[0]"),
    ],
)
def test_what_json_cannot_express_is_refused_with_its_place(value: Any, path: str) -> None:
    for function in (plain_json, dumps):
        with pytest.raises(NotJsonError) as caught:
            function(value)
        assert caught.value.path.startswith(path)
