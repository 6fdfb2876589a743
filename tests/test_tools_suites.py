"""The tool layer's validator on data beside a checkout: official test suite, benchmark rows.

Skipped where that data is absent. Every answer is right, or the schema was refused by name: because
it refers to another document (nothing is fetched), or has a meta-schema of its own.
"""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from gramlock.errors import ToolDefinitionError
from gramlock.tools.validator import Validator
from test_schema_suite import DIALECTS, rows, suite

REFUSED = (
    "nothing is fetched",
    "is not known",
    "another dialect",
    "back-references",
    "includes itself",
)
GAPS = {  # optional files that are not answered rightly as a whole
    "content.json": "contentEncoding, contentMediaType are annotations (2020-12 validation, 8.2)",
    "format/hostname.json": "no draft's hostname has two hyphens third and fourth but in A-labels",
    "format/idn-hostname.json": "the grammar approximates RFC 5892; what it writes is right",
    "zeroTerminatedFloats.json": "1.0 is the integer 1, as all later drafts say (6.3 of draft 6)",
}


def answers(group: dict[str, Any], dialect: str, formats: bool) -> list[bool] | str:
    """The verdicts on a group's tests, by all ways; or why its schema is refused."""
    schema = group["schema"]
    if isinstance(schema, dict):
        schema = {"$schema": dialect, **schema}
    try:
        validator = Validator(schema, formats=formats)
    except ToolDefinitionError as error:
        assert any(reason in str(error) for reason in REFUSED), error
        return str(error)
    found = []
    for test in group["tests"]:
        violations = validator._reported(test["data"])
        assert validator.validate(test["data"]) == violations
        assert all(str(violation).isprintable() for violation in violations)
        if validator._quick is not None:
            assert validator._quick(test["data"]) == (not violations), (schema, test)
        found.append(not violations)
    return found


@pytest.mark.parametrize("dialect", DIALECTS)
def test_official_suite(shared: Path, dialect: str) -> None:
    tally: Counter[str] = Counter()
    wrong = []
    for name, groups in suite(shared).items():
        if not name.startswith(f"tests/{dialect}/"):
            continue
        known = name.partition("/optional/")[2] in GAPS
        for group in groups:
            found = answers(group, DIALECTS[dialect], "/format/" in name)
            if isinstance(found, str):
                tally["refused"] += len(group["tests"])
                continue
            for test, valid in zip(group["tests"], found, strict=True):
                tally["right" if valid == test["valid"] else "known" if known else "wrong"] += 1
                if valid != test["valid"] and not known:
                    wrong.append((name, group["schema"], test["data"]))
    assert wrong == []
    assert tally["right"] > 500
    assert tally["known"] <= 10
    assert tally["refused"] <= 0.05 * tally.total()


def test_benchmark_rows(shared: Path, thorough: bool) -> None:
    """Schemas from the field, with instances that are known to be valid and invalid."""
    found = list(rows(shared))
    chosen = found if thorough else random.Random(8).sample(found, len(found) // 15)
    tally: Counter[str] = Counter()
    wrong = []
    for row in chosen:
        outcome = answers(row, "https://json-schema.org/draft/2020-12/schema", True)
        if isinstance(outcome, str):
            tally["refused"] += 1
            continue
        for test, valid in zip(row["tests"], outcome, strict=True):
            tally["right" if valid == test["valid"] else "wrong"] += 1
            if valid != test["valid"]:
                wrong.append((row.get("id"), test["valid"], str(test["data"])[:200]))
    assert wrong == []
    assert tally["refused"] <= 0.05 * len(chosen)
