"""Arguments and records that are still being written."""

from __future__ import annotations

import json
import random
import sys
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from envelopes import cut
from gramlock.errors import JsonTextError, MissingDependencyError
from gramlock.tools import ArgumentReader, Preview, RecordReader
from gramlock.tools.call import STATUSES
from gramlock.tools.json_text import dumps, loads

pytest.importorskip("jiter")

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
NAMES = st.text(st.characters(exclude_categories=["Cs"]), max_size=3)
SCALARS = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.sampled_from([Decimal("1e400"), 10**30, 1e22, -0.0])
    | TEXTS
    | st.text('"\\{}[],: \n\t\x00é😀', max_size=6)
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(NAMES, inner, max_size=4),
    max_leaves=12,
)
OBJECTS = st.dictionaries(NAMES, VALUES, max_size=5)


def within(part: Any, whole: Any, partial: bool, last: bool = True) -> bool:
    """Whether *part* is *whole* as far as it had been written."""
    if isinstance(part, dict) and isinstance(whole, dict):
        names = list(whole)[: len(part)]
        return list(part) == names and all(
            within(part[name], whole[name], partial, last and name == names[-1]) for name in names
        )
    if isinstance(part, list) and isinstance(whole, list):
        return len(part) <= len(whole) and all(
            within(item, whole[at], partial, last and at == len(part) - 1)
            for at, item in enumerate(part)
        )
    if partial and last and isinstance(part, str) and isinstance(whole, str):
        return whole.startswith(part)
    return type(part) is type(whole) and part == whole


@settings(max_examples=250, deadline=None)
@given(OBJECTS, st.booleans(), st.booleans(), st.randoms(use_true_random=False))
def test_any_cut_comes_to_the_same(
    value: dict[str, Any], partial: bool, escaped: bool, source: random.Random
) -> None:
    text = source.choice(["", " ", "\n\t"]) + dumps(value) + source.choice(["", " \r\n"])
    if escaped:  # the same text with escapes, pairs of surrogates among them
        text = "".join(sign if sign.isascii() else json.dumps(sign)[1:-1] for sign in text)
    reader = ArgumentReader(partial_strings=partial)
    shown = -1
    for piece in cut(text, source):
        reader.feed(piece)
        preview = reader.preview()
        assert preview.problem is None
        assert within(preview.value, value, partial)
        assert len(preview.value) >= shown  # nothing is taken back
        shown = len(preview.value)
        assert preview.finished <= (preview.value == value)
    end = reader.finish("complete")
    assert (end.arguments, end.finished, end.problem) == (value, True, None)
    assert end.dispatchable
    assert repr(end.arguments) == repr(value)  # -0.0, 1 and 1.0 are different things
    assert reader.preview() == Preview(value, True)


@settings(max_examples=100, deadline=None)
@given(OBJECTS, st.integers(0, 1 << 30))
def test_a_part_is_never_finished(value: dict[str, Any], place: int) -> None:
    text = dumps(value)
    reader = ArgumentReader()
    reader.feed(text[: place % len(text)])
    assert not reader.preview().finished
    end = reader.finish("length")
    assert (end.arguments, end.finished, end.dispatchable) == (None, False, False)
    assert end.problem


@settings(max_examples=300, deadline=None)
@given(OBJECTS, st.integers(1, 3), st.randoms(use_true_random=False))
def test_any_text_is_judged_as_the_strict_reader_judges_it(
    value: dict[str, Any], count: int, source: random.Random
) -> None:
    text = dumps(value)
    for _ in range(count):
        at = source.randrange(len(text) + 1)
        text = (
            text[:at]
            + source.choice('"\\{}[],:0123e-.tn \n\x01')
            + text[at + source.randrange(2) :]
        )
    reader, records = ArgumentReader(partial_strings=bool(source.randrange(2))), RecordReader()
    problems, found = [], []
    for piece in ["", *cut(text, source)]:
        reader.feed(piece)
        problems.append(reader.preview().problem)
        found += records.feed(piece)
    end = reader.finish("complete")
    try:
        expected = loads(text)
    except JsonTextError:
        expected = None
    if text.strip(" \t\r\n") == "" or (expected is None and text.strip() == "null"):
        expected = {}
    assert end.finished == isinstance(expected, dict)
    assert end.arguments == (expected if end.finished else None)
    assert not end.finished or not any(problems)
    array = records.finish("complete")
    assert array.finished == isinstance(expected, list)
    assert not array.finished or found == expected


HELD = [
    ('{"amount": 12', {}),
    ('{"amount": 12 ', {"amount": 12}),
    ('{"amount": 12,', {"amount": 12}),
    ('{"amount": -', {}),
    ('{"a": -5, "b": 1e', {"a": -5}),
    ('{"a": 1.', {}),
    ('{"ok": tr', {}),
    ('{"ok": true', {}),  # nothing says that the literal has ended
    ('{"ok": true}', {"ok": True}),
    ('{"x": n', {}),
    ('{"t": "a\\', {}),
    ('{"t": "a', {}),
    ('{"t": "a"', {"t": "a"}),
    ('{"t": "true', {}),
    ('{"t": "12"', {"t": "12"}),
    ('{"tit', {}),
    ('{"title"', {}),
    ('{"title":', {}),
    ('{"a": {"b": 1', {"a": {}}),
    ('{"a": [1, 2', {"a": [1]}),
    ('{"a": [1, 2]', {"a": [1, 2]}),
    ('{"a": 1.10, "b": 1e400, ', {"a": 1.1, "b": Decimal("1e400")}),
    ("{", {}),
    ("", {}),
    (" \n", {}),
    ("nul", {}),
]


@pytest.mark.parametrize(("text", "value"), HELD)
def test_what_is_not_finished_is_absent(text: str, value: Any) -> None:
    reader = ArgumentReader()
    reader.feed(text)
    assert reader.preview() == Preview(value, text.endswith("}"), None)


PARTIAL = [
    ('{"t": "a\\', {"t": "a"}),
    ('{"t": "a\\u00', {"t": "a"}),
    ('{"t": "a\\ud83d', {"t": "a"}),
    ('{"t": "a\\ud83d\\ude00', {"t": "a😀"}),
    ('{"a": ["x", "y', {"a": ["x", "y"]}),
    ('{"tit', {}),
    ('{"n": 12', {}),
]


@pytest.mark.parametrize(("text", "value"), PARTIAL)
def test_the_beginning_of_a_string_is_shown_where_it_is_wished(text: str, value: Any) -> None:
    reader = ArgumentReader(partial_strings=True)
    reader.feed(text)
    assert reader.preview() == Preview(value)


HOPELESS = [
    '{"a": 1} {"b": 2}',
    '{"a": 1} x',
    '{"a": 1, "a": 2',
    '{"a": 1, "\\u0061": 2,',
    '{"a": NaN,',
    '{"a": NaN}',
    '{"a": Infinity, ',
    '{"a": 01,',
    '{"a": "\\ud800", ',
    '{"a": "\ud800',
    "{'a': 1",
    "[1, 2",
    "[1, 2]",
    '"a", ',
    "5, ",
    "{]",
    "}",
    '{"a": ' + "[" * 100_000,
    '{"a": ' + "1" * 5000 + ", ",
    '{"a": 1.' + "1" * 5000 + ", ",
    '{"a": 1e99999999999, ',
]


@pytest.mark.parametrize("text", HOPELESS, ids=lambda text: repr(text)[:30])
def test_what_is_no_object_is_said(text: str) -> None:
    reader = ArgumentReader()
    for at in range(0, len(text), 7):
        reader.feed(text[at : at + 7])
    preview = reader.preview()
    assert (preview.value, preview.finished) == ({}, False)
    assert preview.problem
    assert "\n" not in preview.problem
    end = reader.finish("complete")
    assert (end.arguments, end.finished, end.dispatchable) == (None, False, False)
    assert end.problem


def test_two_facts() -> None:
    reader = ArgumentReader()
    reader.feed('{"path": "a"}')
    for status in STATUSES:
        end = reader.finish(status)
        assert (end.arguments, end.finished, end.status) == ({"path": "a"}, True, status)
        assert end.dispatchable == (status == "complete")
    for reason, provider, status in (
        (None, None, "transport_error"),
        ("", None, "transport_error"),
        ("stop", None, "error"),
        ("stop", "openai", "complete"),
        ("tool_use", "anthropic", "complete"),
        ("tool_use", "openai_chat", "error"),
        ("STOP", "gemini", "complete"),
        ("max_output_tokens", "openai_responses", "length"),
        (None, "openai", "transport_error"),
    ):
        assert reader.finish(reason, provider).status == status
    with pytest.raises(ValueError, match="no provider"):
        reader.finish("stop", "else")


def test_no_text_is_no_arguments_only_where_the_turn_is_complete() -> None:
    assert ArgumentReader().finish("complete").arguments == {}
    assert ArgumentReader().finish("length").arguments is None
    assert ArgumentReader().finish(None).problem == "nothing had come"


def test_bounds_and_types() -> None:
    reader = ArgumentReader(characters=10)
    for _ in range(1000):
        reader.feed('{"a": "')
    assert len(reader.text) <= 10
    assert reader.preview().problem == "more than 10 characters"
    assert reader.finish("complete").problem == "more than 10 characters"
    for wrong in (b"{", None, 5):
        with pytest.raises(TypeError):
            ArgumentReader().feed(wrong)  # type: ignore[arg-type]
        with pytest.raises(TypeError):
            RecordReader().feed(wrong)  # type: ignore[arg-type]


def test_without_jiter(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "jiter", None)
    reader = ArgumentReader()
    reader.feed('{"a": 1')
    with pytest.raises(MissingDependencyError, match="jiter"):
        reader.preview()
    reader.feed("}")
    assert reader.finish("complete").arguments == {"a": 1}


# -- records


@settings(max_examples=250, deadline=None)
@given(st.lists(VALUES, max_size=6), st.randoms(use_true_random=False))
def test_records_come_one_by_one(values: list[Any], source: random.Random) -> None:
    between = source.choice([",", " ,", ",\n ", " , "])
    text = f" [ {between.join(map(dumps, values))} ] "
    reader = RecordReader()
    found: list[Any] = []
    for piece in cut(text, source):
        found += reader.feed(piece)
        assert found == values[: len(found)]
    assert repr(found) == repr(values)
    end = reader.finish("complete")
    assert (end.count, end.finished, end.status, end.problem) == (
        len(values),
        True,
        "complete",
        None,
    )


@settings(max_examples=100, deadline=None)
@given(st.lists(VALUES, max_size=5), st.integers(0, 1 << 30))
def test_a_cut_array_gives_its_whole_records(values: list[Any], place: int) -> None:
    text = dumps(values)
    reader = RecordReader()
    found = reader.feed(text[: place % len(text)])
    assert found == values[: len(found)]
    end = reader.finish("length")
    assert (end.count, end.finished, end.status) == (len(found), False, "length")


def test_a_record_is_given_when_it_is_whole() -> None:
    reader = RecordReader()
    assert reader.feed('["one", "two", "thr') == ["one", "two"]
    assert reader.feed('ee", 1') == ["three"]
    assert reader.feed("2") == []
    assert reader.feed(",{") == [12]
    assert reader.feed('"a": "}"}') == [{"a": "}"}]
    assert reader.feed(", nul") == []
    assert reader.feed("l ") == [None]
    assert reader.feed("]") == []
    assert reader.finish("complete").finished


@pytest.mark.parametrize(
    ("text", "records"),
    [
        ("{}", []),
        ("5", []),
        ('"[1]"', []),
        ("[1 2]", [1]),
        ("[1,]", [1]),
        ("[,1]", []),
        ("[1,,2]", [1]),
        ("[1}", [1]),
        ("[1]]", [1]),
        ("[1] [2]", [1]),
        ("[1] x", [1]),
        ('[{"a": 1} {"a": 2}]', [{"a": 1}]),
        ('["a" "b"]', ["a"]),
        ('["a": 1]', ["a"]),
        ("[1, NaN, 2]", [1]),
        ("[01]", []),
        ('[{"a": 1, "a": 2}, 3]', []),
        ('["\\ud800"]', []),
        ("[{]}]", []),
        ("[tru, 1]", []),
        ("[" * 100_000 + "]" * 100_000, []),
        ("[1" + "1" * 5000 + "]", []),
    ],
    ids=lambda value: repr(value)[:30],
)
def test_arrays_that_are_none(text: str, records: list[Any]) -> None:
    for step in (1, 7, len(text)):
        reader = RecordReader()
        found: list[Any] = []
        for at in range(0, len(text), step):
            found += reader.feed(text[at : at + step])
        assert found == records
        assert reader.feed("[1, 2]") == []
        end = reader.finish("complete")
        assert (end.count, end.finished) == (len(records), False)
        assert end.problem


def test_a_record_has_a_bound() -> None:
    reader = RecordReader(characters=100)
    assert len(reader.feed("[" + "1, " * 1000)) == 1000
    for _ in range(1000):
        assert reader.feed('"aaaaaaaaaa') in ([], ["aaaaaaaaaa"])
    assert not reader.finish("complete").finished
    reader = RecordReader(characters=100)
    reader.feed('["')
    for _ in range(1000):
        assert reader.feed("a" * 10) == []
    assert reader.finish("complete").problem == "a record of more than 100 characters"


def test_feeding_is_linear() -> None:
    def calls(size: int) -> int:
        count = 0

        def count_calls(frame: Any, event: str, argument: Any) -> None:
            nonlocal count
            count += event in ("call", "c_call")

        text = '[{"t": "' + "\\n x" * size + '"}, ' + "7" * 20 + ", " + '"' + "y" * size
        reader, arguments = RecordReader(), ArgumentReader()
        sys.setprofile(count_calls)
        try:
            for at in range(0, len(text), 8):
                reader.feed(text[at : at + 8])
                arguments.feed(text[at : at + 8])
        finally:
            sys.setprofile(None)
        return count

    assert calls(4000) < 2.2 * calls(2000)
