"""What a correction changed: differences, what errors name, facts compared by meaning."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gramlock.errors import NotJsonError, PointerError
from gramlock.tools.changes import (
    Difference,
    Facts,
    changes_of,
    differences,
    same_meaning,
)
from gramlock.tools.violation import Violation


def pairs(before: Any, after: Any) -> list[tuple[str, str]]:
    return [(found.pointer, found.kind) for found in differences(before, after)]


@pytest.mark.parametrize(
    "before, after, expected",
    [
        ({"a": 1}, {"a": 1.0}, []),
        ({"a": Decimal("0.1")}, {"a": 0.1}, []),
        ({"a": 1}, {"a": True}, [("/a", "replaced")]),
        ({"a": "1"}, {"a": 1}, [("/a", "replaced")]),
        ({"a": "é"}, {"a": "e\u0301"}, [("/a", "replaced")]),
        ({"a": 2**53}, {"a": 2**53 + 1}, [("/a", "replaced")]),
        ({"a": {"b": 1, "c": 2}}, {"a": {"b": 1, "c": 3}}, [("/a/c", "replaced")]),
        ({"a": {"b": 1}}, {}, [("/a", "removed")]),
        ({}, {"a": {"b": {"c": 1}}}, [("/a", "added")]),
        ({"a": {"b": 1}}, {"a": [1]}, [("/a", "replaced")]),
        ({"a/b": 1, "~": 1}, {"a/b": 2, "~": 2}, [("/a~1b", "replaced"), ("/~0", "replaced")]),
        ([1, 2, 3], [2, 3], [("/0", "removed")]),
        ([1, 2, 3, 4], [2, 4], [("/0", "removed"), ("/2", "removed")]),
        ([1, 3], [1, 2, 3], [("/1", "added")]),
        ([1, 2], [1, 2, 3, 4], [("/2", "added"), ("/3", "added")]),
        ([{"q": 0}, {"q": 2}], [{"q": 1}, {"q": 2}], [("/0/q", "replaced")]),
        ([{"q": 0}, 7], [7, {"q": 0}], [("/0", "replaced"), ("/1", "replaced")]),
        ([1, {"q": 0}, 3], [{"q": 0}, 4, 5, 6], None),
        (1, 1, []),
        (1, 2, [("", "replaced")]),
    ],
)
def test_differences(before: Any, after: Any, expected: list[tuple[str, str]] | None) -> None:
    found = pairs(before, after)
    if expected is None:
        assert ("/0", "removed") in found
        assert all(kind == "added" or "/2" in pointer for pointer, kind in found[1:])
    else:
        assert found == expected


def test_a_long_array_that_shifts_is_compared_place_by_place() -> None:
    before = list(range(1000))
    assert pairs(before, before[1:]) == [("/0", "removed")]  # by its common end
    shifted = [*before[1:500], -1, *before[500:], -2]
    assert len(pairs(before, shifted)) > 500


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 3) | st.sampled_from(["", "a", "1"]),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.sampled_from(["a", "b", "/", "~"]), inner, max_size=3)
    ),
    max_leaves=10,
)


@given(JSON, JSON)
def test_no_difference_means_equal_and_each_has_its_own_place(before: Any, after: Any) -> None:
    found = differences(before, after)
    assert bool(found) == (repr(_normal(before)) != repr(_normal(after)))
    kept = [difference for difference in found if difference.kind != "added"]
    assert len({difference.pointer for difference in kept}) == len(kept)
    assert differences(before, before) == []


def _normal(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _normal(value[name]) for name in sorted(value)}
    return [_normal(item) for item in value] if isinstance(value, list) else value


def test_what_is_no_json_is_a_named_error() -> None:
    with pytest.raises(NotJsonError):
        differences({"a": {1, 2}}, {"a": 1})
    with pytest.raises(NotJsonError):
        differences({"a": float("nan")}, {"a": 1})


# ---- what errors name


def collateral(before: Any, after: Any, *errors: Violation) -> tuple[str, ...]:
    return changes_of(("t", before), ("t", after), errors).collateral


def test_a_value_rule_names_its_value() -> None:
    error = Violation("/a", "type", "integer", "string")
    assert collateral({"a": "1"}, {"a": 1}, error) == ()
    assert collateral({"a": "1"}, {}, error) == ()
    assert collateral({"a": "1", "b": 1}, {"a": 1, "b": 2}, error) == ("/b",)


def test_an_object_rule_names_the_listed_member_only() -> None:
    missing = Violation("", "required", "required", property="a")
    assert collateral({}, {"a": {"deep": [1]}}, missing) == ()
    assert collateral({}, {"a": 1, "b": 1}, missing) == ("/b",)
    unknown = Violation("/o", "additionalProperties", "not allowed", property="x")
    assert collateral({"o": {"x": 1, "y": 2}}, {"o": {"y": 2}}, unknown) == ()
    assert collateral({"o": {"x": 1, "y": 2}}, {"o": {}}, unknown) == ("/o/y",)
    assert collateral({"o": {"x": 1, "y": 2}}, {}, unknown) == ("/o",)


def test_an_error_about_a_container_does_not_name_what_is_inside() -> None:
    before = {"items": [{"sku": "b"}, {"sku": "a"}]}
    few = Violation("/items", "minItems", "at least 3 items")
    assert collateral(before, {"items": [*before["items"], {"sku": "c"}]}, few) == ()
    changed = {"items": [{"sku": "z"}, {"sku": "a"}, {"sku": "c"}]}
    assert collateral(before, changed, few) == ("/items/0/sku",)
    assert collateral(before, {"items": [{"sku": "b"}]}, few) == ("/items/1",)
    many = Violation("/items", "maxItems", "at most 1 item")
    assert collateral(before, {"items": [{"sku": "a"}]}, many) == ()
    assert collateral(before, {"items": [{"sku": "c"}]}, many) == ("/items/0/sku",)
    whole = Violation("/items", "anyOf", "one of 2 forms")
    assert collateral(before, {"items": [{"sku": "b"}, {"sku": "z"}]}, whole) == ("/items/1/sku",)


def test_of_equal_items_each_may_be_changed() -> None:
    twice = Violation("/a", "uniqueItems", "items that differ")
    assert collateral({"a": [1, 2, 1.0]}, {"a": [1, 2]}, twice) == ()
    assert collateral({"a": [1, 2, 1.0]}, {"a": [1, 2, 3]}, twice) == ()
    assert collateral({"a": [1, 2, 1.0]}, {"a": [1, 5, 3]}, twice) == ("/a/1",)


def test_an_item_put_in_front_is_not_the_named_one() -> None:
    error = Violation("/a/0", "type", "integer", "string")
    assert collateral({"a": ["x", 2]}, {"a": [1, 2]}, error) == ()
    assert collateral({"a": ["x", 2]}, {"a": [1, "x", 2]}, error) == ("/a/0",)


def test_the_name_is_a_field_too() -> None:
    wrong = Violation("", "name", "one of t", "u", path="name", boundary="name")
    found = changes_of(("u", {"a": 1}), ("t", {"a": 1}), [wrong])
    assert (found.changed, found.named, found.collateral) == (("name",), ("name",), ())
    found = changes_of(("u", {"a": 1}), ("t", {"a": 2}), [wrong])
    assert found.collateral == ("/a",)
    found = changes_of(("u", {"a": 1}), ("t", {"a": 1}), [Violation("/a", "type", "string")])
    assert found.collateral == ("name",)
    assert changes_of((None, {}), ("t", {}), []).collateral == ()


def test_arguments_that_could_not_be_read_cannot_be_compared() -> None:
    found = changes_of(("t", None), ("t", {"a": 1}), [])
    assert (found.changed, found.collateral) == (("",), ())
    assert not changes_of(("t", {}), ("t", {}), [])


# ---- meaning


@pytest.mark.parametrize(
    "one, other, same",
    [
        (5000, "5000", True),
        ("5000", 5000.0, True),
        (5000, Decimal("5e3"), True),
        ("0.10", Decimal("0.1"), True),
        ("5000", "5000.0", False),
        (5000, "5,000", False),
        (5000, " 5000", False),
        (5000, "5000 ", False),
        (7, "007", False),
        (5000, "0x1388", False),
        (5000, "٥٠٠٠", False),
        (1, True, False),
        (True, "true", False),
        (None, "null", False),
        ("A-1", "a-1", False),
        ("e\u0301", "é", False),
        ({"a": [1, "2"]}, {"a": ["1", 2]}, True),
        ({"a": 1}, {"a": 1, "b": 2}, False),
        ([1], [1, 2], False),
        ("1e999999999", 10**400, False),
        ("", 0, False),
    ],
)
def test_a_number_means_its_numeral_and_a_text_itself(one: Any, other: Any, same: bool) -> None:
    assert same_meaning(one, other) is same
    assert same_meaning(other, one) is same


def test_facts_come_from_the_call_or_from_the_caller() -> None:
    facts = Facts(["/a", "name"], "t", {"a": "5"})
    before = ("t", {"a": "5"})
    assert facts.broken(before, ("t", {"a": 5})) == ()
    assert facts.broken(before, ("u", {"a": 6})) == ("/a", "name")
    assert facts.broken(before, ("t", {})) == ("/a",)
    told = Facts({"/a": 5, "/b": "x"}, "t", {"a": 5})
    assert told.broken(("t", {"a": 5}), ("t", {"a": 5})) == ()  # b was never there
    assert told.broken(("t", {"a": 5}), ("t", {"a": 5, "b": "y"})) == ("/b",)
    assert told.contradicted("t", {"a": 6}) == ("/a",)
    assert told.contradicted("t", None) == ()


def test_a_mark_on_what_could_not_be_read_lets_nothing_pass() -> None:
    facts = Facts(["/a"], "t", None)
    assert facts.broken(("t", None), ("t", {"a": 1})) == ("/a",)


def test_a_mark_on_an_absent_field_keeps_it_absent() -> None:
    facts = Facts(["/a"], "t", {})
    assert facts.broken(("t", {}), ("t", {})) == ()
    assert facts.broken(("t", {}), ("t", {"a": 1})) == ("/a",)


def test_marks_that_are_no_pointers_are_refused() -> None:
    with pytest.raises(PointerError):
        Facts(["a"], "t", {})
    with pytest.raises(TypeError):
        Facts("/a", "t", {})
    with pytest.raises(TypeError):
        Facts([1], "t", {})  # type: ignore[list-item]
    with pytest.raises(NotJsonError):
        Facts({"/a": {1}}, "t", {})


def test_differences_are_values() -> None:
    assert Difference("/a", "added") == Difference("/a", "added")
