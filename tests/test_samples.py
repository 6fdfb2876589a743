"""The sample grammars of grammars/ with the texts that each must accept and refuse."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import pytest

import gramlock

FOLDER = Path(__file__).resolve().parents[1] / "grammars"
FILES = sorted([*FOLDER.glob("*.schema.json"), *FOLDER.glob("*.regex")])


def stem(path: Path) -> str:
    return path.name.partition(".")[0]


def load(path: Path) -> gramlock.Grammar:
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".regex":
        return gramlock.Grammar.from_regex(text.rstrip("\n"))
    return gramlock.Grammar.from_json_schema(json.loads(text))


def lines(path: Path, verdict: str) -> list[str]:
    return (FOLDER / verdict / f"{stem(path)}.txt").read_text(encoding="utf-8").splitlines()


def is_valid(path: Path, text: str) -> bool:
    """What an independent validator says of a text."""
    schema = json.loads(path.read_text(encoding="utf-8"))
    checker = jsonschema.Draft202012Validator.FORMAT_CHECKER
    try:
        return jsonschema.Draft202012Validator(schema, format_checker=checker).is_valid(
            json.loads(text)
        )
    except json.JSONDecodeError:
        return False


@pytest.mark.parametrize("path", FILES, ids=stem)
def test_samples(path: Path) -> None:
    grammar = load(path)
    accepted, refused = lines(path, "accept"), lines(path, "reject")
    assert accepted
    assert refused
    assert [text for text in accepted if not grammar.accepts(text)] == []
    assert [text for text in refused if grammar.accepts(text)] == []


@pytest.mark.parametrize("path", [path for path in FILES if path.suffix == ".json"], ids=stem)
def test_a_validator_agrees(path: Path) -> None:
    assert all(is_valid(path, text) for text in lines(path, "accept"))
    assert not any(is_valid(path, text) for text in lines(path, "reject"))
    grammar = load(path)
    for seed in range(20):
        text = grammar.sample(seed)
        assert is_valid(path, text), text


def test_every_sample_file_has_its_grammar() -> None:
    known = {stem(path) for path in FILES}
    for verdict in ("accept", "reject"):
        assert {path.stem for path in (FOLDER / verdict).iterdir()} == known
