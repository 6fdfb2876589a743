"""The report: each status it gives is true of the grammar, and of the documentation."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import gramlock
from gramlock import Grammar
from gramlock.schema.formats import FORMATS

ROOT = Path(__file__).parent.parent
LOOSE = {"order": "any", "whitespace": "flexible", "numbers": "any"}


def statuses(schema: Any, **options: Any) -> dict[str, str]:
    report = Grammar.from_json_schema(schema, **options).report
    assert report is not None
    return {entry.pointer: entry.status for entry in report.places if entry.pointer}


def notes(schema: Any, **options: Any) -> list[str]:
    """What is left out of every text."""
    report = Grammar.from_json_schema(schema, **options).report
    assert report is not None
    return [entry.note for entry in report.places if not entry.pointer]


# -- whole texts ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "options,said",
    [
        ({"whitespace": "flexible"}, []),
        ({"whitespace": "compact"}, ["no white space"]),
        ({"whitespace": " ?"}, ["white space:  ? in each gap"]),
        ({"separators": (", ", ": ")}, ["white space: none but in ', ' and ': '"]),
        (
            {"indent": 2},
            [
                "white space: none but in ',' and ': ' and an indent of '  '",
                "values lie in at most 32 containers",
            ],
        ),
        (
            {"escapes": "minimal", "whitespace": "flexible"},
            ["characters are escaped only where JSON demands it"],
        ),
    ],
    ids=str,
)
def test_what_every_text_lacks(options: dict[str, Any], said: list[str]) -> None:
    assert notes({"type": "string"}, **options) == said


@pytest.mark.parametrize("schema", [{"const": "a"}, {"properties": {"a": {}}}, {"required": ["a"]}])
def test_names_and_listed_strings_have_one_spelling(schema: Any) -> None:
    assert len(notes(schema, whitespace="flexible")) == 1
    made = Grammar.from_json_schema(schema)
    texts = ['"\\u0061"', '{"\\u0061": 1}']
    assert not all(made.accepts(text) for text in texts)
    assert notes(schema, whitespace="flexible", escapes="any") == []
    assert any(Grammar.from_json_schema(schema, escapes="any").accepts(text) for text in texts)


# -- keywords -------------------------------------------------------------------------------------

# schema, options, the pointer looked at, its status, a valid text that is left out (if narrowed)
CASES: list[tuple[Any, dict[str, Any], str, str, str | None]] = [
    ({"type": "integer"}, {}, "/type", "narrowed", "1.0"),
    ({"type": ["null", "integer"]}, {}, "/type", "narrowed", "1.0"),
    ({"type": "number"}, {}, "/type", "enforced", None),
    ({"type": "integer"}, LOOSE, "/type", "enforced", None),
    ({"type": "number", "minimum": 1}, {}, "/minimum", "narrowed", "1e2"),
    ({"multipleOf": 0.5}, LOOSE, "/multipleOf", "narrowed", "5" + "0" * 1000 + "e-1000"),
    ({"enum": ["a", 1]}, {}, "/enum", "narrowed", "1.0"),
    ({"enum": [None, True]}, {}, "/enum", "enforced", None),
    ({"enum": ["a"]}, {"escapes": "minimal"}, "/enum", "enforced", None),
    ({"enum": ["a"]}, {"escapes": "any"}, "/enum", "enforced", None),
    ({"enum": [[None, "a"]]}, LOOSE, "/enum", "narrowed", '[null, "\\u0061"]'),
    ({"const": [1]}, {}, "/const", "narrowed", "[1.0]"),
    ({"const": {"a": None, "b": None}}, {}, "/const", "narrowed", '{"b": null, "a": null}'),
    (
        {"const": {"a": None, "b": None}},
        {**LOOSE, "escapes": "minimal"},
        "/const",
        "enforced",
        None,
    ),
    ({"properties": {"a": {}, "b": {}}}, {}, "/properties", "narrowed", '{"b": 1, "a": 1}'),
    ({"properties": {"a": {}}}, {}, "/properties", "narrowed", '{"b": 1, "a": 1}'),
    ({"properties": {"a": {}}, "additionalProperties": False}, {}, "/properties", "enforced", None),
    ({"properties": {"a": {}, "b": {}}}, LOOSE, "/properties", "enforced", None),
    ({"required": ["a", "b"]}, {}, "/required", "narrowed", '{"b": 1, "a": 1}'),
    ({"properties": {"a": {}}, "required": ["a"]}, {}, "/required", "enforced", None),
    ({"if": {"required": ["a"]}, "then": {}}, {}, "/if/required", "enforced", None),
    ({"if": {"required": ["a"]}}, {}, "/if", "annotation", None),
    ({"then": {"required": ["a"]}}, {}, "/then", "annotation", None),
    ({"minContains": 2}, {}, "/minContains", "annotation", None),
    ({"contains": {}, "minContains": 2}, {}, "/minContains", "enforced", None),
    ({"uniqueItems": True}, {}, "/uniqueItems", "enforced", None),
    ({"minProperties": 2}, {}, "/minProperties", "enforced", None),
    ({"not": {"items": {"type": "null"}}}, {}, "/not", "enforced", None),
    ({"unevaluatedItems": False}, {}, "/unevaluatedItems", "enforced", None),
    ({"unevaluatedProperties": False}, {}, "/unevaluatedProperties", "enforced", None),
    ({"dependentRequired": {"a": ["b"]}}, {}, "/dependentRequired", "enforced", None),
    ({"title": "t"}, {}, "/title", "annotation", None),
    ({"$comment": "c", "a/b~c": 1}, {}, "/a~1b~0c", "annotation", None),
    ({"format": "date"}, {}, "/format", "enforced", None),
    ({"format": "date"}, {"formats": "annotate"}, "/format", "annotation", None),
    ({"format": "zip"}, {}, "/format", "annotation", None),
    ({"format": "duration"}, {}, "/format", "narrowed", None),
    ({"format": "email"}, {}, "/format", "enforced", None),
    ({"format": "idn-hostname"}, {}, "/format", "relaxed", None),
]


@pytest.mark.parametrize("schema,options,pointer,status,lost", CASES, ids=str)
def test_statuses(
    schema: Any, options: dict[str, Any], pointer: str, status: str, lost: str | None
) -> None:
    assert statuses(schema, **options)[pointer] == status
    if lost is not None:
        assert not Grammar.from_json_schema(schema, **options).accepts(lost)
        assert Grammar.from_json_schema(True).accepts(lost)


def test_names_that_are_like_keywords_are_names() -> None:
    schema = {"properties": {"if": {"properties": {"a": {}, "b": {}}}}}
    assert statuses(schema)["/properties/if/properties"] == "narrowed"
    assert statuses({"then": schema, "if": {}})["/then/properties"] == "enforced"


def test_every_format_says_what_it_lacks() -> None:
    for name, form in FORMATS.items():
        entry = Grammar.from_json_schema({"format": name}).report.places[-1]  # type: ignore[union-attr]
        assert entry.note == (form.gap or "")
        assert (entry.status == "enforced") == (form.gap is None)
        assert (entry.status == "relaxed") == (form.unchecked is not None)


def test_old_references_hide_their_siblings() -> None:
    schema = {
        "definitions": {"a": {"type": "null"}},
        "properties": {"x": {"$ref": "#/definitions/a", "minimum": 1}},
    }
    found = statuses(schema, dialect="draft7")
    assert found["/properties/x/minimum"] == "annotation"
    assert found["/definitions/a/type"] == "enforced"


def vocabularies(*names: str) -> dict[str, Any]:
    """A registry with a metaschema that has these vocabularies only."""
    base = "https://json-schema.org/draft/2020-12/vocab/"
    meta = {
        "$id": "http://x.test/meta",
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$vocabulary": {base + name: True for name in ("core", *names)},
    }
    return {"http://x.test/meta": meta}


def test_keywords_without_their_vocabulary_are_annotations() -> None:
    schema = {"$schema": "http://x.test/meta", "properties": {"a": {"minimum": 3}}}
    found = statuses(schema, registry=vocabularies("applicator"))
    assert found == {"/properties": "narrowed", "/properties/a/minimum": "annotation"}


def test_a_dialect_may_want_formats_asserted() -> None:
    schema = {"$schema": "http://x.test/meta", "format": "ipv4"}
    for names, status in (
        (["format-annotation"], "annotation"),
        (["format-assertion"], "enforced"),
    ):
        registry = vocabularies(*names)
        assert statuses(schema, registry=registry, formats="annotate") == {"/format": status}


@pytest.mark.parametrize(
    "schema,places",
    [
        ({"pattern": "(a)\\1"}, ["/pattern"]),
        ({"patternProperties": {"(a)\\1": {}}}, ["/patternProperties/(a)\\1"]),
        ({"not": {"uniqueItems": True}, "$schema": "http://x.test/d"}, ["/$schema"]),
    ],
)
def test_everything_left_out_is_listed(schema: Any, places: list[str]) -> None:
    with pytest.raises(gramlock.UnsupportedSchemaError) as caught:
        Grammar.from_json_schema(schema)
    refused = {place.pointer for place in caught.value.places}
    assert refused >= set(places)
    report = Grammar.from_json_schema(schema, on_unsupported="relax").report
    assert report is not None
    assert {entry.pointer for entry in report.relaxed} >= set(places)


def test_report_as_text_and_as_data() -> None:
    report = Grammar.from_json_schema({"type": "null", "title": "t"}).report
    assert report is not None
    assert str(report).splitlines()[1:] == ["enforced   #/type", "annotation #/title"]
    assert json.loads(json.dumps(report.to_dict()))["places"][1]["pointer"] == "/type"


# -- documentation --------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def tables() -> ModuleType:
    spec = importlib.util.spec_from_file_location("tables", ROOT / "docs" / "tables.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_tables_of_the_documentation_are_those_of_the_code(tables: ModuleType) -> None:
    text = tables.DOCUMENT.read_text("utf-8")
    assert tables.updated(text) == text


def test_a_keyword_without_remark_is_noticed(
    tables: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delitem(tables.REMARKS, "contains")
    with pytest.raises(SystemExit, match="contains"):
        tables.keywords()
