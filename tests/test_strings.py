"""Spellings of JSON values, and sets of strings compared as decoded."""

from __future__ import annotations

import json
import random
import re
from typing import Any

import pytest

from byte_expressions import ByteExpressions
from gramlock._core import Expressions
from gramlock.errors import UnsatisfiableError
from gramlock.schema.strings import (
    StringSet,
    free_key_expression,
    json_literal,
    scalar_expression,
    string_expression,
    string_literal_expression,
)

TEXTS = ["", "a", "ab", 'say "hi"', "back\\slash", "a/b", "\n\t\b\f\r", "\x00\x1f\x7f", "é", "日本"]
TEXTS += ["😀", "a😀b", "\u2028", "\ufffd", "\U0010ffff", "null", "a\u0301"]


def spellings(rng: random.Random, text: str) -> str:
    """One of the spellings of *text*, chosen character by character."""
    short = {'"': '\\"', "\\": "\\\\", "/": "\\/", "\b": "\\b", "\f": "\\f"}
    short |= {"\n": "\\n", "\r": "\\r", "\t": "\\t"}
    found = []
    for character in text:
        units = character.encode("utf-16-be")
        pairs = [units[at : at + 2].hex() for at in range(0, len(units), 2)]
        ways = ["".join("\\u" + unit for unit in pairs)]
        ways.append("".join("\\u" + unit.upper() for unit in pairs))
        ways += [short[character]] if character in short else []
        ways += [character] if character not in '"\\' and character >= " " else []
        found.append(rng.choice(ways))
    return '"' + "".join(found) + '"'


@pytest.fixture(params=[ByteExpressions, Expressions], ids=["slow", "core"])
def store(request: pytest.FixtureRequest) -> Any:
    """A store of expressions: the core's, or one that shares no code with it."""
    return request.param()


# -- literals -------------------------------------------------------------------------------------


@pytest.mark.parametrize("text", TEXTS)
def test_a_literal_has_one_spelling(store: Any, text: str) -> None:
    literal = string_literal_expression(store, text)
    canonical = json.dumps(text, ensure_ascii=False)
    assert json_literal(text) == canonical.encode()
    assert store.matches(literal, canonical.encode())
    for seed in range(20):
        other = spellings(random.Random(seed), text)
        assert json.loads(other) == text
        assert store.matches(literal, other.encode()) == (other == canonical)


@pytest.mark.parametrize("text", TEXTS)
def test_every_spelling_is_the_same_text(store: Any, text: str) -> None:
    every = string_literal_expression(store, text, every_spelling=True)
    for seed in range(20):
        assert store.matches(every, spellings(random.Random(seed), text).encode())
        for other in TEXTS:
            if other != text:
                assert not store.matches(every, spellings(random.Random(seed), other).encode())


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "null"),
        (True, "true"),
        (False, "false"),
        (0, "0"),
        (1.0, "1"),
        ([], "[]"),
        ({}, "{}"),
        ([1, [2, []], {"a": None}], '[1,[2,[]],{"a":null}]'),
        ({"é": {"b": [1.50, True]}, "c": ""}, '{"é":{"b":[1.5,true]},"c":""}'),
    ],
)
def test_json_literals(value: object, text: str) -> None:
    assert json_literal(value).decode() == text
    assert json.loads(text) == value


def test_deep_values_have_literals() -> None:
    value: object = 0
    for _ in range(5000):
        value = [value]
    assert json_literal(value) == b"[" * 5000 + b"0" + b"]" * 5000


def test_a_lone_surrogate_has_no_spelling(store: Any) -> None:
    for text in ("\ud83d", "a\udc00b"):
        with pytest.raises(UnsatisfiableError, match="surrogate"):
            json_literal(text)
        assert string_literal_expression(store, text) == store.NEVER
        assert string_literal_expression(store, text, every_spelling=True) == store.NEVER


def test_scalars(store: Any) -> None:
    assert store.matches(scalar_expression(store, None), b"null")
    assert store.matches(scalar_expression(store, True), b"true")
    assert not store.matches(scalar_expression(store, True), b"1")
    one = scalar_expression(store, 1.0)
    assert [store.matches(one, text) for text in (b"1", b"1.0", b"10e-1")] == [True, False, False]
    one = scalar_expression(store, 1.0, "any")
    assert all(store.matches(one, text) for text in (b"1", b"1.0", b"1.00", b"1e0", b"10e-1"))
    assert not store.matches(one, b"true")


# -- strings --------------------------------------------------------------------------------------


def test_any_string_is_rfc_8259(store: Any) -> None:
    anything = string_expression(store)
    for seed in range(100):
        rng = random.Random(seed)
        text = "".join(rng.choices(TEXTS, k=3))
        assert store.matches(anything, spellings(rng, text).encode())
    bad = ['"', '"a', 'a"', '"a"b"', '"\\x41"', '"\\u12"', '"\\\'"', '"\n"', '"\\ud83d"', '"\\"']
    for text in bad:
        assert not store.matches(anything, text.encode()), text
    for data in (b'"\xff"', b'"\xc3"', b'"\xed\xa0\x80"', b'"\xc0\xaf"', b'"\xf4\x90\x80\x80"'):
        assert not store.matches(anything, data)


@pytest.mark.parametrize(("low", "high"), [(0, 0), (1, 1), (0, 2), (2, None), (3, 5), (4, 3)])
def test_lengths_count_code_points(store: Any, low: int, high: int | None) -> None:
    found = string_expression(store, min_length=low, max_length=high)
    for seed in range(60):
        rng = random.Random(seed)
        text = "".join(rng.choices('ab"\\\né😀/\x01', k=rng.randrange(7)))
        fits = low <= len(text) and (high is None or len(text) <= high)
        assert store.matches(found, spellings(rng, text).encode()) == fits


PATTERNS = ["^a", "b$", "a.*b", "^[^a]*$", "\\S", "^..$", "\\n", "[é😀]"]


@pytest.mark.parametrize("seed", range(12))
def test_conditions_together(store: Any, seed: int) -> None:
    rng = random.Random(seed)
    patterns = rng.sample(PATTERNS, rng.randrange(3))
    low, high = rng.randrange(3), rng.choice([None, 2, 4])
    excluded = ["ab", "", "é"][: rng.randrange(4)]
    found = string_expression(
        store, min_length=low, max_length=high, patterns=patterns, excluded=excluded
    )
    for _ in range(200):
        text = "".join(rng.choices("ab é😀\n", k=rng.randrange(5)))
        member = (
            low <= len(text)
            and (high is None or len(text) <= high)
            and all(re.search(pattern.replace("$", "\\Z"), text) for pattern in patterns)
            and text not in excluded
        )
        assert store.matches(found, spellings(rng, text).encode()) == member, (text, patterns)


def test_formats_join_the_other_conditions(store: Any) -> None:
    found = string_expression(store, formats=["date"], patterns=["^2024"], excluded=["2024-01-01"])
    texts = ["2024-02-29", "2023-01-01", "2024-01-01", "2024-1-1"]
    verdicts = [store.matches(found, json.dumps(text).encode()) for text in texts]
    assert verdicts == [True, False, False, False]
    assert string_expression(store, formats=["no such format"]) == string_expression(store)


def test_free_keys_are_compared_as_decoded(store: Any) -> None:
    names = ["a", "key", 'q"', "é", ""]
    free = free_key_expression(store, names)
    for seed in range(60):
        rng = random.Random(seed)
        for text in (*names, "b", "ke", "keys", "q", "É", " ", "😀", "aa"):
            assert store.matches(free, spellings(rng, text).encode()) == (text not in names), text


# -- sets -----------------------------------------------------------------------------------------

SETS = [
    StringSet(),
    StringSet(values=("a", "abc", "2024-02-29")),
    StringSet(min_length=2),
    StringSet(max_length=3),
    StringSet(patterns=("^a",)),
    StringSet(patterns=("c$",), max_length=9),
    StringSet(formats=("date",)),
]


@pytest.mark.parametrize("one", SETS)
@pytest.mark.parametrize("other", SETS)
def test_intersection_of_sets(store: Any, one: StringSet, other: StringSet) -> None:
    both = one.intersect(other, store)
    found = store.NEVER if both is None else both.expression(store)
    for text in ("", "a", "ab", "abc", "c", "abcdefghic", "2024-02-29", "2023-02-29", "b"):
        member = one.contains(text, store) and other.contains(text, store)
        assert store.matches(found, json.dumps(text).encode()) == member
        assert (both is not None and both.contains(text, store)) == member
        assert not (member and (both is None or both.is_empty(store)))


def test_empty_sets(store: Any) -> None:
    assert StringSet(values=()).is_empty(store)
    assert StringSet(min_length=3, max_length=2).is_empty(store)
    assert StringSet(patterns=("^a$", "^b$")).is_empty(store)
    assert not StringSet(patterns=("^a", "b$")).is_empty(store)


def test_what_takes_too_long_to_search_counts_as_not_empty() -> None:
    store = Expressions()
    assert not StringSet(patterns=("^/.+/$",), formats=("regex",)).is_empty(store)
    far = ("^................$", "ab1", "b12", "bc1", "c12", "ca1", "a12", "[aA][12].*[zZ]")
    assert not StringSet(None, 10, 90, far).is_empty(store)
    hard = ("^([a-z][0-9])+$", "((c1d3g3).{4,8}){6,6}", "(t|8){10,10}$")
    assert not StringSet(None, 100, None, hard).is_empty(store)


def test_complements_of_formats_leave_out_what_is_only_unwritten(store: Any) -> None:
    host = StringSet(formats=("hostname",))
    other = StringSet(without=(host,))
    twice = StringSet(without=(StringSet(without=(host,), patterns=("o",)),))
    for text, inside, outside in (
        ("a.org", True, False),
        ("xn--o", False, False),
        ("_o", False, True),
    ):
        body = json.dumps(text).encode()
        assert host.contains(text, store) == inside
        assert other.contains(text, store) == outside
        assert store.matches(host.expression(store), body) == inside
        assert store.matches(other.expression(store), body) == outside
        assert host.contains(text, store, wide=True) == (not outside)
        assert store.matches(host.expression(store, wide=True), body) == (not outside)
        assert twice.contains(text, store) == inside
        assert store.matches(twice.expression(store), body) == inside
    assert host.without_superset() is None
    assert StringSet(formats=("date", "idn-hostname")).without_superset() == "idn-hostname"


def test_listed_strings_of_a_format_that_is_written_in_part(store: Any) -> None:
    host = StringSet(formats=("hostname",))
    certain = host.intersect(StringSet(values=("a", "_", "b.c")), store)
    assert certain == StringSet(values=("a", "b.c"))
    perhaps = host.intersect(StringSet(values=("a", "_", "xn--o")), store)
    assert perhaps is not None
    for text, written, possible in (("a", 1, 1), ("_", 0, 0), ("xn--o", 0, 1), ("b", 0, 0)):
        body = json.dumps(text).encode()
        assert store.matches(perhaps.expression(store), body) == bool(written)
        assert store.matches(perhaps.expression(store, wide=True), body) == bool(possible)
    other = StringSet(without=(host,))
    assert other.intersect(StringSet(values=("_", "a")), store) == StringSet(values=("_",))
    rest = other.intersect(StringSet(values=("_", "xn--o")), store)
    assert rest is not None
    assert not store.matches(rest.expression(store), b'"xn--o"')
    assert store.matches(rest.expression(store, wide=True), b'"xn--o"')


def test_a_set_without_what_it_implies_is_none(store: Any) -> None:
    hard = ("^([a-z][0-9])+$", "((c1d3g3).{4,8}){6,6}", "(t|8){10,10}$")
    whole = StringSet(None, 100, 200, hard)
    for part in (
        StringSet(patterns=hard[:1]),
        StringSet(patterns=hard[1:]),
        StringSet(min_length=99),
        StringSet(max_length=200),
        StringSet(),
    ):
        assert whole.intersect(StringSet(without=(part,)), store) is None
    for part in (
        StringSet(patterns=("^a",)),
        StringSet(patterns=hard[:1], min_length=101),
        StringSet(max_length=199),
        StringSet(formats=("date",)),
        StringSet(values=("a",)),
        StringSet(without=(StringSet(values=("a",)),)),
    ):
        assert whole.intersect(StringSet(without=(part,)), store) is not None


def test_a_lone_surrogate_is_in_the_sets_that_it_fits(store: Any) -> None:
    assert StringSet(max_length=1).contains("\ud83d", store)
    assert not StringSet(patterns=("^[a-z]$",)).contains("\ud83d", store)


def test_what_formats_leave_open() -> None:
    assert StringSet(formats=("date", "unknown")).gaps() == []
    assert StringSet(formats=("duration",)).gaps()[0].startswith("duration: ")
