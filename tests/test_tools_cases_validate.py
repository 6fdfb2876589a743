"""The cases of kind ``validate`` that lie beside the checkout, each by its id.

``violations`` of a case is the set of (pointer, rule, member) that is expected; where a union has a
tag, ``branch`` holds those inside the branch it selects, and these are what is reported.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("jsonschema")
pytest.importorskip("regress")

from gramlock.tools import validate

IDS = """
val-two-missing val-root-not-object val-type-first val-bool-not-number val-one-and-a-half
val-enum-bool-vs-int val-const-nested-bool val-unique-bool val-unique-float val-pattern-search
val-multiple-of val-property-names val-unevaluated val-recursive-ref val-dedupe val-open-by-default
val-format-date val-format-date-time val-union-other-tag val-oneof-two-match val-anyof-two-match
val-big-input-quoted-short
""".split()


@pytest.fixture(scope="module")
def cases(shared: Path) -> dict[str, Any]:
    lines = (shared / "cases" / "tool_cases.jsonl").read_text(encoding="utf-8").strip().split("\n")
    return {case["id"]: case for case in map(json.loads, lines) if case["kind"] == "validate"}


def test_every_case_is_bound(cases: dict[str, Any]) -> None:
    assert set(cases) == set(IDS)


@pytest.mark.parametrize("name", IDS)
def test_case(name: str, cases: dict[str, Any]) -> None:
    case = cases[name]
    expect = case["expect"]
    found = validate(case["input"]["instance"], case["input"]["schema"])
    wanted = expect.get("branch", expect)["violations"]
    names_members = {"required", "additionalProperties", "pattern"}
    triples = {(v.pointer, v.rule, v.property if v.rule in names_members else None) for v in found}
    assert len(triples) == len(found), "each fault once"
    if "branch" in expect:  # the case does not name the member
        triples = {(pointer, rule, None) for pointer, rule, _ in triples}
    assert triples == {(one["pointer"], one["rule"], one.get("property")) for one in wanted}
    for violation in found:
        assert len(str(violation)) <= expect.get("max_chars_per_line", 300)
        assert "\n" not in str(violation)
