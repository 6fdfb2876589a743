"""The conformance corpus, what the engine makes of it, and the command that asks engines."""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

import gramlock
from gramlock.conformance import (
    ENGINES,
    OUTCOMES,
    Case,
    Corpus,
    Instance,
    Keyword,
    find_engine,
    read_corpus,
    run_engine,
)
from gramlock.conformance.engines import FREE

FOLDER = Path(__file__).with_name("conformance")
CORPUS = read_corpus(FOLDER)
CASES = [(keyword, case) for keyword in CORPUS.keywords for case in keyword.cases]
NAMES = [f"{keyword.name}: {case.name}" for keyword, case in CASES]

KEYWORDS = """
    type enum const minimum maximum exclusiveMinimum exclusiveMaximum multipleOf minLength maxLength
    pattern items prefixItems additionalItems minItems maxItems contains minContains maxContains
    uniqueItems unevaluatedItems properties required patternProperties additionalProperties
    propertyNames minProperties maxProperties dependentRequired dependentSchemas dependencies
    unevaluatedProperties allOf anyOf oneOf not $ref $dynamicRef $recursiveRef
""".split()
FORMATS = """
    date time date-time duration email idn-email hostname idn-hostname ipv4 ipv6 uri uri-reference
    iri iri-reference uri-template uuid json-pointer relative-json-pointer regex
""".split()

#: Cases that are refused today, by name; to be removed from here, never added to.
REFUSED: dict[str, str] = {
    "not: unique": "the complement of uniqueItems has no normal form",
}

#: Where jsonschema is wrong: what it does instead.
ODD_VERDICTS = {
    "const: big integer": "rounds to doubles",
    "const: decimal": "rounds to doubles",
    "exclusiveMaximum: number": "rounds to doubles",
    "minimum: integer bound": "rounds to doubles",
    "maximum: integer bound": "rounds to doubles",
    "multipleOf: hundredths": "divides doubles",
    "multipleOf: in draft 4": "divides doubles",
    "pattern: anchored": "Python's dollar matches before a last line feed",
    "pattern: digits and words": "Python's classes are of Unicode",
    "pattern: dot": "Python's dot takes all line terminators but one",
    "pattern: Unicode properties": "Python has no property escapes",
    "pattern: code point escapes": "Python has no such escapes",
    "unevaluatedItems: contains does not evaluate in 2019-09": "lets contains evaluate",
}


# ---- the corpus


def test_files_have_the_format() -> None:
    """Each file satisfies the schema beside it."""
    jsonschema = pytest.importorskip("jsonschema")
    schema = json.loads((FOLDER / "schema.json").read_text("utf-8"))
    jsonschema.Draft202012Validator.check_schema(schema)
    validator = jsonschema.Draft202012Validator(schema)
    for path in sorted((FOLDER / "cases").glob("*.json")):
        errors = list(validator.iter_errors(json.loads(path.read_text("utf-8"))))
        assert not errors, (path.name, errors[0].json_path, errors[0].message)


def test_files_are_sentences_of_their_schema() -> None:
    """The engine reads its own corpus, byte by byte."""
    schema = json.loads((FOLDER / "schema.json").read_text("utf-8"))
    grammar = gramlock.Grammar.from_json_schema(schema, **FREE)
    for path in [FOLDER / "cases" / "minLength.json", FOLDER / "cases" / "ref.json"]:
        text = path.read_text("utf-8")
        assert grammar.accepts(text)
        assert not grammar.accepts(text.replace('"valid": true', '"valid": 1', 1))


def test_size_and_coverage() -> None:
    assert CORPUS.size >= 1600
    names = {keyword.name for keyword in CORPUS.keywords}
    assert set(KEYWORDS) <= names
    assert {f"format {name}" for name in FORMATS} <= names
    dialects = Counter(case.dialect for _, case in CASES)
    assert min(dialects[name] for name in ("draft4", "draft6", "draft7", "2019-09")) >= 10
    assert len(set(NAMES)) == len(NAMES)


@pytest.mark.parametrize("keyword", CORPUS.keywords, ids=lambda keyword: keyword.name)
def test_both_sides(keyword: Keyword) -> None:
    verdicts = {instance.valid for _, instance in keyword.instances()}
    assert verdicts == {True, False}


@pytest.mark.parametrize("keyword, case", CASES, ids=NAMES)
def test_an_independent_validator_agrees(keyword: Keyword, case: Case) -> None:
    """Where it has the means: formats need further packages, and it rounds numbers."""
    jsonschema = pytest.importorskip("jsonschema")
    from referencing import Registry
    from referencing.jsonschema import DRAFT202012

    texts = [instance.text for instance in case.instances]
    assert len(set(texts)) == len(texts)
    if keyword.group == "formats" or f"{keyword.name}: {case.name}" in ODD_VERDICTS:
        return
    documents = [(uri, DRAFT202012.create_resource(d)) for uri, d in case.documents.items()]
    default = jsonschema.Draft202012Validator
    kind = jsonschema.validators.validator_for(case.marked_schema, default)
    validator = kind(
        case.marked_schema,
        registry=Registry().with_resources(documents),
        format_checker=jsonschema.FormatChecker(["uuid", "date", "ipv4"]),
    )
    for instance in case.instances:
        try:
            valid = validator.is_valid(strictly_parsed(instance.text))
        except ValueError:
            valid = False
        assert valid == instance.valid, instance


def strictly_parsed(text: str) -> Any:
    """The value of a text; a ValueError for what is no I-JSON."""

    def members(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        if len(dict(pairs)) < len(pairs):
            raise ValueError("a name twice")
        return dict(pairs)

    def no_number(name: str) -> float:
        raise ValueError(name)

    value = json.loads(text, object_pairs_hook=members, parse_constant=no_number)
    json.dumps(value, ensure_ascii=False).encode()  # fails on lone surrogates
    return value


# ---- the engine


@pytest.mark.parametrize("keyword, case", CASES, ids=NAMES)
def test_every_instance_is_judged_rightly(keyword: Keyword, case: Case) -> None:
    """No text is accepted or rejected wrongly; what is refused is on the list."""
    name = f"{keyword.name}: {case.name}"
    try:
        grammar = gramlock.Grammar.from_json_schema(
            case.marked_schema, dialect=case.dialect, registry=case.documents, **FREE
        )
    except gramlock.UnsatisfiableError:
        assert not any(instance.valid for instance in case.instances)
        return
    except (gramlock.UnsupportedSchemaError, gramlock.LimitError) as error:
        assert name in REFUSED, error
        return
    assert name not in REFUSED, "no longer refused: take it from the list"
    for instance in case.instances:
        assert grammar.accepts(instance.text) == instance.valid, instance


def test_the_list_of_refused_cases_is_about_cases() -> None:
    assert set(REFUSED) | set(ODD_VERDICTS) <= set(NAMES)


# ---- the runner


STUB = """
import os, time

class LLTokenizer:
    def __init__(self, name):
        print("a line that is no answer")

class LLMatcher:
    def __init__(self, tokenizer, grammar):
        self.error = "" if '"integer"' in grammar else "Unsatisfiable schema: of course"
        self.error = "no such thing" if '"null"' in grammar else self.error
        if '"array"' in grammar:
            os.abort()

    def is_error(self):
        return bool(self.error)

    def get_error(self):
        return self.error

    def reset(self):
        pass

    def is_accepting(self):
        return True

    def try_consume_tokens(self, tokens):
        text = bytes(tokens)
        if text == b"1":
            time.sleep(60)
        if text == b"2":
            os._exit(3)
        if text == b"3":
            raise KeyboardInterrupt("a panic")
        return len(text) if text == b"4" else 0
"""


@pytest.fixture
def stub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An engine that misbehaves, installed under the name of a real one."""
    (tmp_path / "llguidance.py").write_text(STUB, "utf-8")
    about = tmp_path / "llguidance-99.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: llguidance\nVersion: 99.0\n")
    package = Path(gramlock.__file__).parents[1]
    monkeypatch.setenv("PYTHONPATH", f"{tmp_path}:{package}")
    monkeypatch.syspath_prepend(str(tmp_path))


def small_corpus(schema: Any, *texts: tuple[str, bool]) -> Corpus:
    instances = tuple(Instance(text, valid, "So.", "RFC 8259, 6") for text, valid in texts)
    case = Case("case", "2020-12", schema, {}, instances)
    return Corpus("0.0.0", (Keyword("type", "types", "Types.", (case,)),))


def outcomes(corpus: Corpus, seconds: float = 5) -> list[tuple[str, str]]:
    run = run_engine(corpus, find_engine("llguidance"), {}, seconds=seconds)
    return [(answer.outcome, answer.message) for answer in run.answers.values()]


@pytest.mark.usefixtures("stub")
def test_what_may_come_of_an_instance() -> None:
    corpus = small_corpus({"type": "integer"}, ("4", True), ("5", False), ("6", True))
    assert [name for name, _ in outcomes(corpus)] == ["enforced", "enforced", "over-rejects"]
    corpus = small_corpus({"type": "integer"}, ("4", False))
    assert [name for name, _ in outcomes(corpus)] == ["over-accepts"]
    corpus = small_corpus({"type": "null"}, ("null", True), ("4", False))
    assert outcomes(corpus) == [("refuses", "ValueError: no such thing")] * 2
    corpus = small_corpus({"type": "string"}, ("4", False), ('""', True))
    assert [name for name, _ in outcomes(corpus)] == ["enforced", "over-rejects"]


@pytest.mark.usefixtures("stub")
def test_a_crash_is_a_result_and_not_the_end() -> None:
    corpus = small_corpus({"type": "integer"}, ("2", True), ("4", True), ("3", True), ("5", False))
    found = outcomes(corpus)
    assert [name for name, _ in found] == ["crashes", "enforced", "crashes", "enforced"]
    assert found[0][1] == "ended with code 3"
    assert "a panic" in found[2][1]
    corpus = small_corpus({"type": "array"}, ("[]", True), ("4", False))
    assert outcomes(corpus) == [("crashes", "ended by SIGABRT")] * 2


@pytest.mark.usefixtures("stub")
def test_a_hang_is_a_result_and_not_the_end() -> None:
    corpus = small_corpus({"type": "integer"}, ("4", True), ("1", True), ("5", False))
    found = outcomes(corpus, seconds=3)
    assert [name for name, _ in found] == ["enforced", "crashes", "enforced"]
    assert found[1][1] == "no answer within 3 seconds"


@pytest.mark.parametrize("name", [name for name in ENGINES if name != "gramlock"])
def test_other_engines_are_asked(name: str) -> None:
    pytest.importorskip(ENGINES[name].module)
    corpus = read_corpus().select(["boolean schemas", "minimum"])
    run = run_engine(corpus, find_engine(name), {})
    assert run.total().total() == corpus.size
    assert run.total()["enforced"] > 0
    assert run.total()["crashes"] == 0


def test_the_corpus_comes_with_the_package() -> None:
    assert read_corpus() == CORPUS


@pytest.mark.parametrize(
    "file, text, message",
    [
        ("corpus.json", "{", "is not JSON"),
        ("corpus.json", '{"format": 2}', "has not the format 1"),
        ("corpus.json", '{"format": 1}', "is no conformance corpus"),
        ("cases/a.json", '{"format": 1}', "has not the format of a case file"),
        ("cases/a.json", "[]", "has not the format 1"),
        ("cases/a.json", None, "it has no cases"),
    ],
)
def test_folders_that_are_no_corpus(
    tmp_path: Path, file: str, text: str | None, message: str
) -> None:
    (tmp_path / "cases").mkdir()
    (tmp_path / "corpus.json").write_text('{"format": 1, "version": "1", "groups": []}', "utf-8")
    if text is not None:
        (tmp_path / file).write_text(text, "utf-8")
    with pytest.raises(gramlock.GramlockError, match=message):
        read_corpus(tmp_path)
    with pytest.raises(gramlock.GramlockError, match="cannot read"):
        read_corpus(tmp_path / "none")


# ---- the command


def run(*arguments: Any) -> tuple[int, str, str]:
    """Exit code, stdout, stderr."""
    pytest.importorskip("typer")
    pytest.importorskip("rich")
    from typer.testing import CliRunner

    from gramlock.cli.app import app

    result = CliRunner().invoke(app, ["conformance", *map(str, arguments)])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result.exit_code, result.stdout, result.stderr


def test_a_table(tmp_path: Path) -> None:
    code, text, notes = run("--keyword", "minimum", "--keyword", "format ipv4")
    assert (code, notes) == (0, "")
    lines = [line.split() for line in text.splitlines()]
    assert lines[0] == ["keyword", *OUTCOMES]
    minimum = sum(len(c.instances) for k, c in CASES if k.name == "minimum")
    assert lines[1] == ["minimum", str(minimum), *"····"]
    assert lines[2][:2] == ["format", "ipv4"]
    assert lines[3][0] == "all"


def test_wrong_answers_are_counted_and_shown() -> None:
    """With the default white space and numbers, valid texts are rejected: that is exit code 1."""
    arguments = ("--keyword", "white space", "--whitespace", "compact")
    code, text, _ = run(*arguments)
    assert code == 1
    assert re.search(r"over-rejects white space, gaps \(2020-12\): \{ \"a\"", text)
    code, text, _ = run(*arguments, "--json", "-")
    record = json.loads(text)
    (engine,) = record["engines"]
    assert code == 1
    assert engine["options"]["whitespace"] == "compact"
    assert engine["total"]["over-rejects"] == engine["keywords"]["white space"]["over-rejects"] > 0
    assert sum(engine["total"].values()) == record["corpus"]["instances"] == len(engine["answers"])


def test_files(tmp_path: Path) -> None:
    page, record = tmp_path / "page.html", tmp_path / "record.json"
    chosen = ("--keyword", "const", "--keyword", "pattern")
    run(*chosen, "--html", page, "--json", record)
    text = page.read_text("utf-8")
    assert not re.search(r"(src|href)=['\"](?!#)|@import|url\(", text)
    for keyword, case in CASES:
        if keyword.name in ("const", "pattern"):
            assert f"{case.name} <small" in text
    assert "&lt;!s)$" in text  # schemas are escaped
    assert json.loads(record.read_text("utf-8"))["corpus"]["version"] == CORPUS.version
    assert run(*chosen, "--html", tmp_path / "none" / "page.html")[0] == 2


@pytest.mark.usefixtures("stub")
def test_engines_side_by_side(tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    arguments = ("--engine", "gramlock", "--engine", "llguidance", "--keyword", "boolean schemas")
    code, text, _ = run(*arguments, "--html", page)
    assert code == 1
    assert "llguidance 99.0" in text
    assert "<th>llguidance</th>" in page.read_text("utf-8")


def test_what_is_not_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    code, _, notes = run("--engine", "nonsense")
    assert code == 2
    assert "no engine is called 'nonsense'" in notes
    code, _, notes = run("--keyword", "nonsense")
    assert code == 2
    assert "no keyword 'nonsense'" in notes
    assert run("--corpus", tmp_path)[0] == 2
    assert run("--order", "odd")[0] == 2
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    code, _, notes = run("--engine", "xgrammar")
    assert code == 2
    assert "pip install 'gramlock[compare]'" in notes
