"""The front end on data that lies beside a checkout: official test suite, cases, benchmark rows.

Skipped where that data is absent. Quick runs take a seeded sample of rows, long ones all of them.
The rule is the same everywhere: an answer is right, or the schema was refused by name; and very few
are refused. ``pytest -s`` shows the counts of each file and the reasons of refusals.
"""

from __future__ import annotations

import gzip
import json
import random
import re
import subprocess
import sys
import tarfile
from collections import Counter
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
GAPS = {  # optional files that are not answered rightly as a whole
    "content.json": "contentEncoding, contentMediaType are annotations (2020-12 validation, 8.2)",
    "format/ecmascript-regex.json": "back-references, by number or name, are refused in patterns",
    "format/hostname.json": "no label has hyphens third and fourth, so A-labels are never written",
    "format/idn-hostname.json": "as hostname, and the length of 253 counts the A-label form",
    "zeroTerminatedFloats.json": "1.0 is the integer 1, as all later drafts say (6.3 of draft 6)",
}
PLAIN = re.compile(r"[ -~]*")
TOO_LITTLE, TOO_MUCH = " is rejected and valid", " is accepted and invalid"
REFUSED = (gramlock.UnsupportedSchemaError, gramlock.LimitError)
CIRCULAR = "includes itself without taking anything"  # what no validator comes back from


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


class Tally:
    """What became of tests: how many were answered rightly, which wrongly, why others were not."""

    def __init__(self) -> None:
        self.right = 0
        self.known = 0  # wrong in a way that is known and explained
        self.wrong: list[str] = []
        self.refused: Counter[str] = Counter()

    @property
    def count(self) -> int:
        return self.right + self.known + len(self.wrong) + self.refused.total()

    def add(self, other: Tally) -> None:
        self.right += other.right
        self.wrong += other.wrong
        self.refused += other.refused

    def __str__(self) -> str:
        return f"{self.right:5} right {len(self.wrong):3} wrong {self.refused.total():3} refused"


def judge(group: dict[str, Any], options: dict[str, Any]) -> Tally:
    """The tests of one schema."""
    tally, tests = Tally(), group["tests"]
    try:
        made = gramlock.Grammar.from_json_schema(group["schema"], **options)
    except gramlock.UnsatisfiableError:
        made = None
    except (*REFUSED, gramlock.InvalidSchemaError) as error:
        assert isinstance(error, REFUSED) or CIRCULAR in str(error)
        assert str(error)
        tally.refused[str(error)[:100]] += len(tests)
        return tally
    for test in tests:
        text = json.dumps(test["data"], ensure_ascii=False)
        try:
            accepted = made is not None and made.accepts(text)
        except gramlock.LimitError as error:
            tally.refused[str(error)[:100]] += 1
            continue
        if accepted == test["valid"]:
            tally.right += 1
        else:
            tally.wrong.append(
                f"{group['schema']} on {text}{TOO_LITTLE if test['valid'] else TOO_MUCH}"
            )
    return tally


def judge_files(shared: Path, dialect: str, optional: bool) -> Tally:
    """The files of a dialect; prints a table of them, which ``pytest -s`` shows."""
    prefix, whole = f"tests/{dialect}/", Tally()
    for name, groups in sorted(suite(shared).items()):
        if not name.startswith(prefix) or ("/optional/" in name) != optional:
            continue
        options = {
            **FREE,
            "dialect": DIALECTS[dialect],
            "registry": remotes(shared),
            "formats": "assert" if "/format/" in name else "annotate",
        }
        tally = Tally()
        for group in groups:
            tally.add(judge(group, options))
        print(f"{tally}  {name.removeprefix('tests/')}")
        for reason, count in tally.refused.items():
            print(f"{count:17} times {reason}")
        if optional and name.partition("/optional/")[2] in GAPS:
            tally.wrong, whole.known = [], whole.known + len(tally.wrong)
        whole.add(tally)
    print(f"{whole}  {dialect}, {'optional' if optional else 'required'}")
    return whole


@pytest.mark.parametrize("dialect", DIALECTS)
def test_official_suite(shared: Path, dialect: str) -> None:
    tally = judge_files(shared, dialect, optional=False)
    assert tally.wrong == []
    assert tally.count > 500
    assert tally.right >= 0.98 * tally.count, tally.refused


@pytest.mark.parametrize("dialect", DIALECTS)
def test_official_suite_optional(shared: Path, dialect: str) -> None:
    """What is not required; where it asks for more than a regular language can say, see GAPS."""
    tally = judge_files(shared, dialect, optional=True)
    assert tally.wrong == []
    assert tally.right >= 0.9 * tally.count, tally.refused


def test_a_wrong_answer_would_be_noticed() -> None:
    group = {"schema": {"minimum": 2}, "tests": [{"data": 1, "valid": True}]}
    assert len(judge(group, FREE).wrong) == 1
    assert len(judge({**group, "schema": False}, FREE).wrong) == 1


def test_distilled_cases(shared: Path) -> None:
    command = [sys.executable, str(shared / "cases" / "run.py"), "--format", "json_schema"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def sampled_rows(shared: Path, thorough: bool) -> list[dict[str, Any]]:
    """All rows, or a seeded fifteenth."""
    found = list(rows(shared))
    return found if thorough else random.Random(5).sample(found, len(found) // 15)


def test_benchmark_rows(shared: Path, thorough: bool) -> None:
    """In any order; what canonical numbers reject is accepted when they may be spelled freely."""
    chosen, whole, passing = sampled_rows(shared, thorough), Tally(), 0
    for row in chosen:
        tally = judge(row, {"order": "any"})
        passing += tally.right == tally.count
        assert not any(wrong.endswith(TOO_MUCH) for wrong in tally.wrong), tally.wrong
        if tally.wrong:
            assert judge(row, {"order": "any", "numbers": "any"}).wrong == []
        whole.add(tally)
    print(f"{passing} of {len(chosen)} rows pass; {whole}")
    for reason, count in whole.refused.items():
        print(f"{count:5} times {reason}")
    assert passing >= 0.995 * len(chosen) - (not thorough), (whole.refused, whole.wrong)


def test_benchmark_rows_in_declared_order(shared: Path, thorough: bool) -> None:
    """It rejects some valid instances, which are valid in any order; never the other way round."""
    chosen, narrowed = sampled_rows(shared, thorough), []
    for row in chosen:
        tally = judge(row, {})
        assert not any(wrong.endswith(TOO_MUCH) for wrong in tally.wrong), tally.wrong
        if tally.wrong:
            assert judge(row, {"order": "any", "numbers": "any"}).wrong == []
            narrowed.append(row["id"])
    print(f"{len(narrowed)} of {len(chosen)} rows hold an instance in another order: {narrowed}")
    assert len(narrowed) <= 0.06 * len(chosen)


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
