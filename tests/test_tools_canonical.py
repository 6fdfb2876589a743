"""Canonical texts, pointers and paths, violations: how values and places are named."""

from __future__ import annotations

import dataclasses
import inspect
import json
import pkgutil
import random
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

import gramlock.tools
from gramlock.errors import GramlockError, NotJsonError, PointerError
from gramlock.tools.canonical import MAX_DEPTH, canonical, digest, equality_key, exact
from gramlock.tools.pointer import (
    from_path,
    from_pointer,
    locate,
    resolve,
    to_path,
    to_pointer,
)
from gramlock.tools.violation import QUOTED, Violation, describe, quote, type_name

SAME: list[list[Any]] = [
    [{"b": 1, "a": 2}, {"a": 2, "b": 1}],
    [1, 1.0, Decimal("1"), Decimal("1.00"), Decimal("10e-1")],
    [100, 1e2, Decimal("1E+2"), Decimal("0.01e4")],
    [0, -0.0, 0.0, Decimal("-0"), Decimal("0e500"), Decimal("-0.000")],
    [0.1, Decimal("0.1"), Decimal("0.10")],
    [10**400, Decimal("1e400"), Decimal("10e399")],
    [10**39, Decimal("1e39")],
    [10**40, Decimal("1e40")],
    [10**41, Decimal("1e41")],
    [-123456789 * 10**50, Decimal("-123456789e50")],
    [1e-7, Decimal("0.0000001")],
    [1e22, 10**22],
    [1e23, 10**23],
    [{"a": [1, {"x": 2.0}]}, {"a": [1.0, {"x": 2}]}],
]
APART: list[Any] = [
    *[1, True, "1", [1], {"1": 1}, {"": 1}, None, "null", "", [], {}, [[]], [{}], {"a": None}],
    *[0, False, 2**53, 2**53 + 1, 0.1, 0.10000000000000002, Decimal("1e400"), Decimal("1e401")],
    *[-1, "true", [1, 2], [2, 1], [[1], 2], "\u00e9", "e\u0301", "\ud83d", "a\u0000", 1.5, "1.5"],
    *[
        {"a": 1, "b": 2},
        {"a": {"b": 2}},
        {"a": [1, "b", 2]},
        "[1]",
        '"',
        "\\",
        '\\"',
        Decimal("1e-400"),
    ],
    *[{'a":1,"b': 1}, 12345678901234567890123456789012345678901, "\n", "\\n"],
]


@pytest.mark.parametrize("values", SAME, ids=lambda values: str(values[0])[:30])
def test_equal_values_have_one_text(values: list[Any]) -> None:
    assert len({canonical(value) for value in values}) == 1
    assert len({digest(value) for value in values}) == 1
    assert len({equality_key(value) for value in values}) == 1


def test_different_values_have_different_texts() -> None:
    assert len({canonical(value) for value in APART}) == len(APART)
    assert len({equality_key(value) for value in APART}) == len(APART)
    assert len({digest(value) for value in APART}) == len(APART)


def test_the_text_is_as_documented() -> None:
    value = {"z": [True, None, 1.50], "a": "é\n", "big": 10**50, "small": Decimal("-0.05")}
    assert canonical(value).decode() == (
        '{"a":"é\\n","big":1e50,"small":-0.05,"z":[true,null,1.5]}'
    )
    assert canonical([[], {}, [[]]]) == b"[[],{},[[]]]"
    assert digest({}) == "44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a"


def test_plain_texts_are_json_with_the_same_value() -> None:
    rng = random.Random(5)
    for _ in range(2000):
        number = Decimal(rng.randrange(-(10**6), 10**6)).scaleb(rng.randrange(-60, 60))
        assert json.loads(canonical(number), parse_float=Decimal, parse_int=Decimal) == number


def test_exponents_do_not_expand_and_digits_have_no_limit() -> None:
    assert canonical(Decimal("1e999999999")) == b"1e999999999"
    assert canonical(Decimal("-1e-999999999")) == b"-1e-999999999"
    assert len(canonical(10**10_000 + 1)) == 10_001 + len("e0")


@pytest.mark.parametrize(
    "value, path",
    [
        (float("nan"), "$"),
        ({"a": [0, float("inf")]}, "$.a[1]"),
        ([Decimal("sNaN")], "$[0]"),
        ({"a": {1: 2}}, "$.a"),
        ({"a": [1, (2,)]}, "$.a[1]"),
        ([{}, {"b": {1}}], "$[1].b"),
        (b"text", "$"),
    ],
)
def test_what_json_cannot_express_is_named(value: Any, path: str) -> None:
    with pytest.raises(NotJsonError) as caught:
        canonical(value)
    assert caught.value.path == path
    assert isinstance(caught.value, GramlockError)
    assert isinstance(caught.value, ValueError)


def test_depth_is_bounded_and_needs_no_recursion() -> None:
    value: Any = 1
    for _ in range(MAX_DEPTH):
        value = [value]
    assert canonical(value) == b"[" * MAX_DEPTH + b"1" + b"]" * MAX_DEPTH
    with pytest.raises(NotJsonError, match="deeper"):
        canonical([value])
    loop: list[Any] = []
    loop.append({"again": loop})
    with pytest.raises(NotJsonError, match="deeper"):
        digest(loop)


def test_exact_numbers_compare_as_they_are_written() -> None:
    assert exact(0.1) == Decimal("0.1")
    assert exact(1e23) == 10**23
    assert exact(2.0) == 2
    assert isinstance(exact(2.0), int)


def test_operations_that_are_the_same(shared: Path) -> None:
    """Pairs of the case led-same-key, and the arguments of the app- cases."""
    lines = (shared / "cases" / "tool_cases.jsonl").read_text(encoding="utf-8").strip().split("\n")
    cases = {case["id"]: case for case in map(json.loads, lines)}
    case = cases["led-same-key"]
    for left, right in case["input"]["same"]:
        assert digest(left) == digest(right)
    for left, right in case["input"]["different"]:
        assert digest(left) != digest(right)
    equal = {"app-same", "app-member-order", "app-other-principal", "app-expired"}
    equal |= {"app-definition-changed"}
    changed = {"app-number-to-text", "app-beyond-2p53", "app-extra-member", "app-null-member"}
    changed |= {"app-nfc-nfd", "app-name-is-not-enough"}
    for name in equal | changed:
        approved, executed = (cases[name]["input"][key] for key in ("approved", "executed"))
        same = digest(approved["arguments"]) == digest(executed["arguments"])
        assert same == (name in equal), name


# -- pointers and paths ---------------------------------------------------------------------------

# RFC 6901, 5.
DOCUMENT: dict[str, Any] = {
    "foo": ["bar", "baz"],
    "": 0,
    "a/b": 1,
    "c%d": 2,
    "e^f": 3,
    "g|h": 4,
    "i\\j": 5,
    'k"l': 6,
    " ": 7,
    "m~n": 8,
}


def test_pointers_of_the_standard() -> None:
    assert resolve(DOCUMENT, "") == DOCUMENT
    assert resolve(DOCUMENT, "/foo") == ["bar", "baz"]
    assert resolve(DOCUMENT, "/foo/0") == "bar"
    for number, pointer in enumerate('/ /a~1b /c%d /e^f /g|h /i\\j /k"l'.split(" ")):
        assert resolve(DOCUMENT, pointer) == number
    assert resolve(DOCUMENT, "/ ") == 7
    assert resolve(DOCUMENT, "/m~0n") == 8


@pytest.mark.parametrize(
    "pointer, reason",
    [
        ("foo", "begins"),
        ("/m~n", "0 or 1"),
        ("/m~", "0 or 1"),
        ("/bar", "no member"),
        ("/foo/2", "no item"),
        ("/foo/-", "no item"),
        ("/foo/01", "no item"),
        ("/foo/-1", "no item"),
        ("/foo/" + "9" * 5000, "no item"),
        ("/foo/0/0", "neither"),
        ("/foo/\u0661", "no item"),
    ],
)
def test_pointers_that_lead_nowhere(pointer: str, reason: str) -> None:
    with pytest.raises(PointerError, match=reason) as caught:
        resolve(DOCUMENT, pointer)
    assert caught.value.pointer == pointer
    assert len(str(caught.value)) < 400


NAMES = ["a", "_b1", "é", "1", "", "a b", "a.b", "a/b", "~", "~1", "'", '"', "\\", "\n", "\u2028"]
NAMES += ["\x7f", "\ud800", "-", "[0]", "$", "😀", "\u0085", "\x00"]


def test_places_survive_both_spellings() -> None:
    rng = random.Random(7)
    for _ in range(2000):
        place = tuple(
            rng.choice(NAMES) if rng.random() < 0.7 else rng.randrange(30)
            for _ in range(rng.randrange(6))
        )
        assert from_path(to_path(place)) == place
        assert to_path(place).isprintable()
        assert from_pointer(to_pointer(place)) == tuple(map(str, place))
        value: Any = "here"
        for token in reversed(place):
            value = {token: value} if isinstance(token, str) else [None] * token + [value]
        assert locate(value, to_pointer(place)) == (place, "here")


def test_paths_are_written_as_readers_know_them() -> None:
    assert to_path(("line_items", 0, "sku")) == "$.line_items[0].sku"
    assert to_path(("two words", "it's")) == r"$['two words']['it\'s']"
    assert to_path(()) == "$"
    assert from_path(r"$['\u00e9\/']") == ("é/",)


@pytest.mark.parametrize("path", ["", "a", "$a", "$.", "$.1", "$[-1]", "$[01]", "$['a", r"$['\q']"])
def test_no_paths(path: str) -> None:
    with pytest.raises(PointerError):
        from_path(path)


# -- violations -----------------------------------------------------------------------------------


def test_a_violation_is_one_line() -> None:
    assert str(Violation("/amount_cents", "type", "integer", "string")) == (
        "$.amount_cents: expected integer, got string"
    )
    missing = Violation("", "required", "required", property="reason")
    assert str(missing) == "$.reason: required"
    assert missing.path == "$.reason"
    assert Violation("/a/0/b~1c", "type", "x", "y").path == "$.a[0]['b/c']"
    assert Violation("/0", "type", "x", path="$['0']").path == "$['0']"
    assert str(Violation("", "rule", "")) == "$: rule"


def test_a_violation_is_short_and_printable() -> None:
    long = Violation("/" + "a" * 1000, "type", "b\n\x1b[31m" * 500, "c\u2028\ud800" * 500)
    assert len(str(long)) < 700 or "\\u" in str(long)
    assert len(str(Violation("/" + "a" * 1000, "type", "b" * 1000, "c" * 1000))) < 700
    assert str(long).isprintable()
    assert long.pointer == "/" + "a" * 1000


def test_a_violation_as_data() -> None:
    some = Violation("/a", "minimum", "at least 1", "0", description="How many.")
    assert some.to_dict() == {
        "path": "$.a",
        "pointer": "/a",
        "rule": "minimum",
        "expected": "at least 1",
        "got": "0",
        "description": "How many.",
        "boundary": "schema",
    }
    assert json.loads(json.dumps(some.to_dict())) == some.to_dict()
    with pytest.raises(dataclasses.FrozenInstanceError):
        some.pointer = "/b"  # type: ignore[misc]


@pytest.mark.parametrize(
    "value, kind, text",
    [
        (None, "null", "null"),
        (True, "boolean", "true"),
        (3, "integer", "3"),
        (2.5, "number", "2.5"),
        (Decimal("1e400"), "number", "1E+400"),
        ('a"b', "string", r'"a\"b"'),
        ("x" * 81, "string", "string of 81 characters"),
        ([1, 2], "array", "array of 2 items"),
        ({"a": 1}, "object", "object of 1 members"),
        (10**2000, "integer", "integer of many digits"),
        ({1}, "Python set", "Python set"),
    ],
)
def test_values_are_described(value: Any, kind: str, text: str) -> None:
    assert type_name(value) == kind
    assert describe(value) == text
    assert describe(value, secret=True) == f"{kind} (not shown)"
    assert len(quote(value) or "") <= QUOTED + 2


def test_no_public_name_is_also_a_module() -> None:
    """Whoever imported the module first would find it in place of the function."""
    modules = {module.name for module in pkgutil.iter_modules(gramlock.tools.__path__)}
    assert not modules & set(gramlock.tools.__all__)
    for name in gramlock.tools.__all__:
        value = getattr(gramlock.tools, name)
        if inspect.isclass(value) or inspect.isfunction(value):
            assert value.__doc__, name
    assert set(gramlock.tools.__all__) <= set(dir(gramlock.tools))
    with pytest.raises(AttributeError):
        gramlock.tools.nothing_of_that_name  # noqa: B018
