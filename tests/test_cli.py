"""The commands as a shell sees them: what they print where, and their exit codes."""

from __future__ import annotations

import builtins
import json
from pathlib import Path
from typing import Any

import pytest

import gramlock

pytest.importorskip("typer")
pytest.importorskip("rich")
pytest.importorskip("jsonschema")

from typer.testing import CliRunner

from gramlock.cli.app import app
from gramlock.tokenizers.byte_level import STAND_INS

SCHEMA = {
    "type": "object",
    "properties": {"name": {"type": "string", "maxLength": 5}, "age": {"type": "integer"}},
    "required": ["name"],
    "additionalProperties": False,
}


def run(*arguments: Any, stdin: str | None = None) -> tuple[int, str, str]:
    """Exit code, stdout, stderr."""
    result = CliRunner().invoke(app, [str(argument) for argument in arguments], input=stdin)
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result.exit_code, result.stdout, result.stderr


@pytest.fixture
def schema(tmp_path: Path) -> Path:
    path = tmp_path / "schema.json"
    path.write_text(json.dumps(SCHEMA), "utf-8")
    return path


def test_help_and_version() -> None:
    code, text, _ = run("--help")
    assert code == 0
    assert all(command in text for command in ("generate", "mask", "check", "conformance", "demo"))
    for command in ("generate", "mask", "check", "conformance", "demo"):
        assert run(command, "--help")[0] == 0
    assert run("--version")[0] == 0
    assert run("nonsense")[0] == 2


def test_without_its_packages_the_command_says_how_to_get_them(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from gramlock.cli import main

    real_import = builtins.__import__

    def missing(name: str, *rest: Any) -> Any:
        if name.split(".")[0] in {"typer", "rich"}:
            raise ImportError(name)
        return real_import(name, *rest)

    monkeypatch.setattr(builtins, "__import__", missing)
    with pytest.raises(SystemExit) as caught:
        main()
    assert caught.value.code == 2
    assert capsys.readouterr().err.strip() == (
        "the gramlock command needs: pip install 'gramlock[cli]'"
    )


# ---- check


def test_check_shows_the_report(schema: Path) -> None:
    code, text, _ = run("check", schema)
    assert code == 0
    assert "usable" in text
    code, text, _ = run("check", schema, "--json")
    record = json.loads(text)
    assert code == 0
    assert record["usable"]
    assert {"pointer", "status", "note"} <= set(record["report"][0])


def test_check_tests_instances(schema: Path, tmp_path: Path) -> None:
    good, bad = tmp_path / "good.jsonl", tmp_path / "bad.jsonl"
    good.write_text('{"name": "Ada"}\n\n{"name": "Bo", "age": 3}\n', "utf-8")
    bad.write_text('{"name": 3}\n[]\n', "utf-8")
    assert run("check", schema, "--instances", good, "--invalid", bad)[0] == 0
    code, text, _ = run("check", schema, "--instances", bad, "--invalid", good, "--json")
    wrong = json.loads(text)["wrong"]
    assert code == 1
    assert [item["place"] for item in wrong] == [
        "bad.jsonl:1",
        "bad.jsonl:2",
        "good.jsonl:1",
        "good.jsonl:3",
    ]
    assert "validator agrees" in wrong[0]["reason"]
    good.write_text('{"age": 3, "name": "Bo"}\n', "utf-8")
    code, text, _ = run("check", schema, "--instances", good)
    assert code == 1
    assert "though valid" in text
    assert run("check", schema, "--instances", good, "--order", "any")[0] == 0


def test_check_samples_sentences(schema: Path) -> None:
    code, text, _ = run("check", schema, "--samples", 20, "--seed", 5, "--json")
    assert code == 0
    assert json.loads(text)["samples"] == 20
    code, text, notes = run("check", schema, "--samples", 1)
    assert (code, notes) == (0, "")
    assert "1 sentence sampled" in text


def test_check_refuses(tmp_path: Path) -> None:
    path = tmp_path / "schema.json"
    path.write_text('{"type": "nonsense"}', "utf-8")
    code, _, notes = run("check", path)
    assert code == 3
    assert "#/type" in notes
    path.write_text("false", "utf-8")
    assert run("check", path)[0] == 3


def test_a_refusal_is_data_too(tmp_path: Path) -> None:
    path = tmp_path / "schema.json"
    part = {"not": {"uniqueItems": True}}
    path.write_text(json.dumps({"items": part, "properties": {"a": part}}), "utf-8")
    code, text, _ = run("check", path, "--json")
    record = json.loads(text)
    assert (code, record["error"]) == (3, "UnsupportedSchemaError")
    assert {place["pointer"] for place in record["places"]} == {
        "/items/not",
        "/properties/a/not",
    }
    code, text, _ = run("check", tmp_path / "none.json", "--json")
    assert (code, json.loads(text)["error"]) == (2, "GramlockError")


def test_only_a_line_feed_ends_an_instance(tmp_path: Path) -> None:
    path, instances = tmp_path / "schema.json", tmp_path / "instances.jsonl"
    path.write_text('{"type": "string"}', "utf-8")
    instances.write_text('"a\u2028b\u0085c"\n"d"\n', "utf-8")
    code, text, _ = run("check", path, "--instances", instances, "--json")
    assert (code, json.loads(text)["instances"]) == (0, 2)


def test_annotated_formats_are_nobodys_business(tmp_path: Path) -> None:
    path, instances = tmp_path / "schema.json", tmp_path / "instances.jsonl"
    path.write_text('{"type": "string", "format": "ipv4"}', "utf-8")
    instances.write_text('"x"\n', "utf-8")
    assert run("check", path, "--instances", instances)[0] == 1
    assert run("check", path, "--instances", instances, "--formats", "annotate")[0] == 0
    assert run("check", path, "--samples", 5, "--formats", "annotate")[0] == 0


def test_unreadable_files(tmp_path: Path, schema: Path) -> None:
    code, _, notes = run("check", tmp_path / "none.json")
    assert code == 2
    assert "cannot read" in notes
    broken = tmp_path / "broken.json"
    broken.write_text('{"type": ', "utf-8")
    code, _, notes = run("check", broken)
    assert code == 2
    assert "is not JSON" in notes
    broken.write_bytes(b"\xff\xfe")
    assert run("check", broken)[0] == 2
    broken.write_text("[" * 100_000, "utf-8")
    assert run("check", broken)[0] == 2
    assert run("check", schema, "--order", "odd")[0] == 2
    assert run("check", schema, "--instances", tmp_path / "none.jsonl")[0] == 2


# ---- mask


@pytest.fixture
def tokenizer(tmp_path: Path) -> Path:
    """A byte-level tokenizer of the 256 bytes, two words and an end token, as a model folder."""
    folder = tmp_path / "model"
    folder.mkdir()
    vocabulary = {STAND_INS[byte]: byte for byte in range(256)} | {'{"': 256, "true": 257}
    byte_level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True}
    end = {"id": 258, "content": "<end>", "special": True, "normalized": False}
    end |= {"single_word": False, "lstrip": False, "rstrip": False}
    document = {
        "version": "1.0",
        "added_tokens": [end],
        "normalizer": None,
        "pre_tokenizer": byte_level,
        "post_processor": None,
        "decoder": byte_level,
        "model": {"type": "BPE", "vocab": vocabulary, "merges": []},
    }
    (folder / "tokenizer.json").write_text(json.dumps(document), "utf-8")
    (folder / "tokenizer_config.json").write_text('{"eos_token": "<end>"}', "utf-8")
    return folder


def test_mask_lists_what_may_come(schema: Path, tokenizer: Path) -> None:
    arguments = ("mask", "--schema", schema, "--tokenizer", tokenizer, "--json")
    code, text, _ = run(*arguments, "--whitespace", "compact")
    record = json.loads(text)
    assert code == 0
    assert {item["text"] for item in record["examples"]} == {"{", '{"'}
    assert (record["allowed"], record["may_end"]) == (2, False)
    assert record["forced"].startswith('{"name":"')
    record = json.loads(run(*arguments, "--text", '{"name": "Ada"}')[1])
    assert record["may_end"]
    record = json.loads(run(*arguments, "--text", '{"name": "Ada')[1])
    assert record["allowed"] > 100


def test_mask_in_words(tokenizer: Path) -> None:
    code, text, _ = run("mask", "--regex", "[ab]c", "--tokenizer", tokenizer)
    assert code == 0
    assert "2 of 259 tokens" in text
    assert "'a' 'b'" in text


def test_mask_says_where_a_text_goes_wrong(schema: Path, tokenizer: Path) -> None:
    arguments = ("mask", "--schema", schema, "--tokenizer", tokenizer, "--text", '{"nice')
    code, _, notes = run(*arguments)
    assert code == 1
    assert '{"n▸ice' in notes
    code, text, _ = run(*arguments, "--json")
    assert code == 1
    assert json.loads(text)["accepted_bytes"] == 3


def test_mask_needs_one_grammar_and_a_tokenizer(schema: Path, tmp_path: Path) -> None:
    assert run("mask", "--tokenizer", tmp_path)[0] == 2
    code, _, notes = run("mask", "--schema", schema, "--tokenizer", tmp_path / "none")
    assert code == 2
    assert "error:" in notes


# ---- generate


def test_generate_needs_a_model(schema: Path, tmp_path: Path) -> None:
    pytest.importorskip("transformers")
    code, _, notes = run("generate", "--model", tmp_path / "x", "--schema", schema, "--prompt", "p")
    assert code == 2
    assert "no model folder" in notes
    assert run("generate", "--model", tmp_path, "--schema", schema, "--prompt", "p")[0] == 2
    assert run("generate", "--model", tmp_path, "--prompt", "p")[0] == 2


@pytest.mark.model
def test_generate(real: Any, tmp_path: Path) -> None:
    path = tmp_path / "schema.json"
    bounded = {
        "type": "object",
        "properties": {"n": {"type": "integer", "maximum": 9, "minimum": 0}},
    }
    path.write_text(json.dumps({**bounded, "additionalProperties": False}), "utf-8")
    arguments = ("generate", "--model", "demo", "--schema", path, "--prompt", "A number as JSON.")
    code, text, notes = run(*arguments)
    assert code == 0
    assert isinstance(json.loads(text), dict)
    assert "masks" in notes
    code, text, _ = run(*arguments, "--json", "--sample", "--seed", 3)
    assert code == 0
    assert json.loads(text)["valid"]
    code, _, notes = run(*arguments, "--max-new-tokens", 1)
    assert code == 1
    assert "cut off" in notes
    code, text, _ = run(
        "generate", "--model", "demo", "--regex", "(yes|no)", "--prompt", "-", stdin="Is it?"
    )
    assert code == 0
    assert text.strip() in {"yes", "no"}


def test_errors_are_messages(schema: Path, tokenizer: Path, monkeypatch: Any) -> None:
    """A passed budget is one line and exit code 4."""
    from gramlock import Vocabulary

    def passed(*_: Any, **__: Any) -> None:
        raise gramlock.LimitError("steps", 20, 10)

    monkeypatch.setattr(Vocabulary, "compile", passed)
    code, text, notes = run("mask", "--schema", schema, "--tokenizer", tokenizer)
    assert (code, text) == (4, "")
    assert "the budget steps allows 10" in notes
