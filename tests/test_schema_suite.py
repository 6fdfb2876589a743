"""The front end on data that lies beside a checkout: official test suite, cases, benchmark rows.

Skipped where that data is absent. Quick runs take a seeded sample, long ones everything. The rule
is the same everywhere: an answer is right, or the schema was refused by name.
"""

from __future__ import annotations

import gzip
import json
import random
import re
import subprocess
import sys
import tarfile
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import jsonschema
import pytest

import gramlock

DIALECTS = {
    "draft4": "http://json-schema.org/draft-04/schema#",
    "draft6": "http://json-schema.org/draft-06/schema#",
    "draft7": "http://json-schema.org/draft-07/schema#",
    "draft2019-09": "https://json-schema.org/draft/2019-09/schema",
    "draft2020-12": "https://json-schema.org/draft/2020-12/schema",
}
FREE = {"order": "any", "whitespace": "flexible", "numbers": "any"}
PLAIN = re.compile(r"[ -~]*")
REFUSED = (gramlock.UnsupportedSchemaError, gramlock.LimitError)


@cache
def suite(shared: Path) -> dict[str, Any]:
    """Every JSON file of the official suite by its path."""
    with tarfile.open(shared / "json-schema-test-suite.tar.gz") as archive:
        members = [m for m in archive.getmembers() if m.name.endswith(".json")]
        return {
            m.name.removeprefix("./"): json.load(archive.extractfile(m))  # type: ignore[arg-type]
            for m in members
        }


@cache
def remotes(shared: Path) -> dict[str, Any]:
    return {
        "http://localhost:1234/" + name.removeprefix("remotes/"): contents
        for name, contents in suite(shared).items()
        if name.startswith("remotes/")
    }


def rows(shared: Path) -> Iterator[dict[str, Any]]:
    with gzip.open(shared / "maskbench" / "sample.jsonl.gz", "rt", encoding="utf-8") as lines:
        for line in lines:
            yield json.loads(line)


def check_group(group: dict[str, Any], options: dict[str, Any]) -> tuple[int, int]:
    """How many tests were decided (rightly) and refused."""
    tests = group["tests"]
    try:
        made = gramlock.Grammar.from_json_schema(group["schema"], **options)
    except gramlock.UnsatisfiableError:
        assert not any(test["valid"] for test in tests), group
        return len(tests), 0
    except REFUSED as error:
        assert str(error)
        return 0, len(tests)
    for test in tests:
        text = json.dumps(test["data"], ensure_ascii=False)
        assert made.accepts(text) == test["valid"], (group["schema"], test)
    return len(tests), 0


@pytest.mark.parametrize("dialect", DIALECTS)
def test_official_suite(shared: Path, dialect: str, thorough: bool) -> None:
    prefix = f"tests/{dialect}/"
    files = {n: g for n, g in suite(shared).items() if n.startswith(prefix) and n.count("/") == 2}
    options = {
        **FREE,
        "dialect": DIALECTS[dialect],
        "registry": remotes(shared),
        "formats": "annotate",
    }
    groups = [group for name in sorted(files) for group in files[name]]
    if not thorough:
        groups = random.Random(dialect).sample(groups, len(groups) // 3)
    counts = [check_group(group, options) for group in groups]
    decided, refused = (sum(column) for column in zip(*counts, strict=True))
    assert decided > 1.5 * refused


def test_distilled_cases(shared: Path) -> None:
    command = [sys.executable, str(shared / "cases" / "run.py"), "--format", "json_schema"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def sampled_rows(shared: Path, thorough: bool) -> list[dict[str, Any]]:
    """All rows, or a seeded fifteenth."""
    found = list(rows(shared))
    return found if thorough else random.Random(5).sample(found, len(found) // 15)


def test_benchmark_rows(shared: Path, thorough: bool) -> None:
    refused = 0
    chosen = sampled_rows(shared, thorough)
    for row in chosen:
        refused += bool(check_group(row, {"order": "any"})[1])
    assert refused < len(chosen) * 0.2


def complaints(validator: Any, value: Any) -> list[str]:
    """What the validator has against *value*.

    It searches patterns by Python's rules, in which ``\\s``, ``\\w``, ``\\d`` and ``$`` differ from
    ECMA-262 outside printable ASCII; what it says of a pattern counts only there.
    """
    return [
        error.message
        for error in validator.iter_errors(value)
        if error.validator != "pattern" or PLAIN.fullmatch(error.instance)
    ]


def test_sentences_are_valid(shared: Path, thorough: bool) -> None:
    """What the grammar writes satisfies the schema, says a validator that shares no code."""
    checked = 0
    for row in sampled_rows(shared, thorough):
        try:
            made = gramlock.Grammar.from_json_schema(row["schema"])
        except gramlock.GramlockError:
            continue
        default = jsonschema.Draft202012Validator
        validator = jsonschema.validators.validator_for(row["schema"], default)(row["schema"])
        for seed in range(10 if thorough else 2):
            try:
                value = json.loads(made.sample(seed))
            except gramlock.LimitError:  # a text that the random walk did not end
                continue
            assert complaints(validator, value) == [], (row["id"], value)
            checked += 1
    assert checked > 100
