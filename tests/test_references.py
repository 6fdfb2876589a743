"""What references lead to: dynamic scope, resources, metaschemas, vocabularies, registry."""

from __future__ import annotations

from typing import Any

import pytest
import referencing
import referencing.jsonschema

import gramlock

D2020 = "https://json-schema.org/draft/2020-12/"
D2019 = "https://json-schema.org/draft/2019-09/"
DRAFT7 = "http://json-schema.org/draft-07/schema#"


def grammar(schema: Any, **options: Any) -> gramlock.Grammar:
    return gramlock.Grammar.from_json_schema(schema, order="any", whitespace="compact", **options)


def refused(error: type[gramlock.GrammarError], schema: Any, **options: Any) -> dict[str, str]:
    """The places that are named when *schema* is refused."""
    with pytest.raises(error) as caught:
        grammar(schema, **options)
    return {place.pointer or "": place.message for place in caught.value.places}


# --------------------------------------------------------------------------------- dynamic scope

LIST = {
    "$id": "http://x.test/list",
    "type": "array",
    "items": {"$dynamicRef": "#item"},
    "$defs": {"item": {"$dynamicAnchor": "item", "type": "null"}},
}


def test_a_dynamic_reference_means_the_outermost_anchor() -> None:
    schema = {
        "$id": "http://x.test/numbers",
        "$ref": "list",
        "$defs": {"n": {"$dynamicAnchor": "item", "type": "integer"}, "list": LIST},
    }
    made = grammar(schema)
    assert made.accepts("[1,2]")
    assert not made.accepts("[null]")


def test_one_schema_is_read_once_for_each_way_to_it() -> None:
    def listing(name: str, kind: str) -> dict[str, Any]:
        inner = {"i": {"$dynamicAnchor": "item", "type": kind}}
        return {"$id": f"http://x.test/{name}", "$ref": "list", "$defs": inner}

    schema = {
        "$id": "http://x.test/root",
        "properties": {"a": {"$ref": "as"}, "b": {"$ref": "bs"}, "c": {"$ref": "list"}},
        "$defs": {"x": listing("as", "integer"), "y": listing("bs", "boolean"), "z": LIST},
    }
    made = grammar(schema)
    assert made.accepts('{"a":[1],"b":[true],"c":[null]}')
    for wrong in ('{"a":[true]}', '{"b":[1]}', '{"c":[1]}', '{"a":[null]}'):
        assert not made.accepts(wrong)


def test_a_scope_that_was_left_is_not_looked_into() -> None:
    schema = {
        "$id": "http://x.test/root",
        "allOf": [{"$ref": "other"}, {"$ref": "list"}],
        "$defs": {
            "other": {
                "$id": "http://x.test/other",
                "$defs": {"i": {"$dynamicAnchor": "item", "type": "integer"}},
            },
            "list": LIST,
        },
    }
    made = grammar(schema)
    assert made.accepts("[null]")
    assert not made.accepts("[1]")


def test_recursion_through_a_dynamic_scope_stays_finite() -> None:
    tree = {
        "$id": "http://x.test/tree",
        "$dynamicAnchor": "node",
        "type": "object",
        "properties": {"data": True, "children": {"items": {"$dynamicRef": "#node"}}},
    }
    schema = {
        "$id": "http://x.test/strict",
        "$dynamicAnchor": "node",
        "$ref": "tree",
        "unevaluatedProperties": False,
    }
    made = grammar(schema, registry={"http://x.test/tree": tree})
    assert made.accepts('{"children":[{"children":[{"data":1}]},{}]}')
    assert not made.accepts('{"children":[{"children":[{"daat":1}]}]}')
    assert grammar(tree).accepts('{"children":[{"daat":1}]}')


@pytest.mark.parametrize(
    ("reference", "accepted"),
    [
        ({"$dynamicRef": "#item"}, "1"),
        ({"$ref": "#item"}, "null"),
        ({"$dynamicRef": "#/$defs/i"}, "null"),
    ],
)
def test_only_a_dynamic_reference_by_name_is_dynamic(reference: Any, accepted: str) -> None:
    inner = {
        "$id": "http://x.test/inner",
        **reference,
        "$defs": {"i": {"$dynamicAnchor": "item", "type": "null"}},
    }
    outer = {"$dynamicAnchor": "item", "type": "integer"}
    schema = {"$id": "http://x.test/root", "$ref": "inner", "$defs": {"o": outer, "i": inner}}
    made = grammar(schema)
    assert [text for text in ("1", "null") if made.accepts(text)] == [accepted]


def test_a_plain_anchor_beside_takes_no_part() -> None:
    schema = {
        "$id": "http://x.test/root",
        "$ref": "list",
        "$defs": {"n": {"$anchor": "item", "type": "integer"}, "list": LIST},
    }
    made = grammar(schema)
    assert made.accepts("[null]")
    assert not made.accepts("[1]")


@pytest.mark.parametrize(("anchored", "accepted"), [(True, "[[1]]"), (False, '[["a"]]')])
def test_recursive_references(anchored: bool, accepted: str) -> None:
    inner = {
        "$id": "http://x.test/inner",
        "$recursiveAnchor": True,
        "anyOf": [{"type": "string"}, {"type": "array", "items": {"$recursiveRef": "#"}}],
    }
    schema = {
        "$schema": D2019 + "schema",
        "$id": "http://x.test/outer",
        "$recursiveAnchor": anchored,
        "anyOf": [{"type": "integer"}, {"$ref": "inner"}],
        "$defs": {"inner": inner},
    }
    made = grammar(schema)
    assert made.accepts(accepted)
    assert made.accepts("[[1]]") == anchored


def test_dangling_dynamic_references() -> None:
    found = refused(gramlock.InvalidSchemaError, {"items": {"$dynamicRef": "#nowhere"}})
    assert list(found) == ["/items/$dynamicRef"]
    found = refused(gramlock.UnsupportedSchemaError, {"$dynamicRef": "http://x.test/gone#a"})
    assert "nothing is fetched" in found["/$dynamicRef"]


# ------------------------------------------------------------------------------------- resources


def test_an_embedded_resource_may_be_of_another_draft() -> None:
    old = {
        "$id": "http://x.test/old",
        "$schema": DRAFT7,
        "definitions": {"n": {"type": "integer"}},
        "items": {"$ref": "#/definitions/n", "minimum": 5},
    }
    made = grammar({"$ref": "http://x.test/old", "$defs": {"old": old}})
    assert made.accepts("[1]"), "up to draft 7 $ref hides what stands beside it"
    assert not made.accepts('["a"]')
    new = {**old, "$schema": D2020 + "schema"}
    assert not grammar({"$ref": "http://x.test/old", "$defs": {"old": new}}).accepts("[1]")


def test_a_pointer_into_an_embedded_resource_changes_the_base() -> None:
    inner = {
        "$id": "http://y.test/dir/inner",
        "$defs": {"n": {"$ref": "number"}, "number": {"$id": "number", "type": "integer"}},
    }
    made = grammar({"$id": "http://x.test/", "$ref": "#/$defs/i/$defs/n", "$defs": {"i": inner}})
    assert made.accepts("1")
    assert not made.accepts("null")


def test_up_to_draft_7_a_reference_hides_the_identifier_beside_it() -> None:
    schema = {
        "$schema": DRAFT7,
        "$id": "http://x.test/dir/root",
        "properties": {"a": {"$id": "other/", "$ref": "n"}, "b": {"$ref": "other/n"}},
        "definitions": {
            "near": {"$id": "n", "type": "integer"},
            "far": {"$id": "other/n", "type": "boolean"},
        },
    }
    made = grammar(schema)
    assert made.accepts('{"a":1,"b":true}')
    assert not made.accepts('{"a":true}')


def test_an_identifier_among_values_names_nothing() -> None:
    schema = {
        "$id": "http://x.test/root",
        "enum": [{"$id": "http://x.test/other", "type": "null"}, 1],
        "$ref": "other",
        "$defs": {"o": {"$id": "http://x.test/other", "type": "integer"}},
    }
    made = grammar(schema)
    assert made.accepts("1")
    assert not made.accepts('{"$id":"http://x.test/other","type":"null"}')


def test_two_schemas_of_one_name_are_refused_where_the_name_is_used() -> None:
    schema = {
        "$id": "http://x.test/root",
        "properties": {"a": {"$ref": "twice"}},
        "$defs": {
            "one": {"$id": "http://x.test/twice", "type": "integer"},
            "two": {"$id": "http://x.test/twice", "type": "string"},
        },
    }
    found = refused(gramlock.InvalidSchemaError, schema)
    assert "more than one schema" in found["/properties/a/$ref"]
    schema["properties"] = {}
    assert grammar(schema).accepts("{}")


def test_a_registry_of_the_referencing_library() -> None:
    resource = referencing.jsonschema.DRAFT202012.create_resource({"type": "integer"})
    registry = referencing.Registry().with_resource("http://x.test/n", resource)
    made = grammar({"items": {"$ref": "http://x.test/n"}}, registry=registry)
    assert made.accepts("[1]")
    assert not made.accepts('["a"]')
    found = refused(gramlock.UnsupportedSchemaError, {"$ref": "http://x.test/m"}, registry=registry)
    assert list(found) == ["/$ref"]


def test_a_document_is_found_by_its_own_identifier() -> None:
    registry = {"file:///a.json": {"$id": "http://x.test/n", "type": "integer"}}
    made = grammar({"$ref": "http://x.test/n"}, registry=registry)
    assert made.accepts("1")
    assert not made.accepts("null")


def test_an_object_that_holds_itself_is_a_recursive_schema() -> None:
    inner: dict[str, Any] = {"$id": "http://x.test/inner", "type": "array"}
    inner["items"] = inner
    made = grammar({"properties": {"a": inner, "b": {"$ref": "http://x.test/inner"}}})
    assert made.accepts('{"a":[[],[[]]],"b":[]}')
    assert not made.accepts('{"b":[1]}')


# --------------------------------------------------------------------- metaschemas, vocabularies


@pytest.mark.parametrize(
    "uri",
    [
        "http://json-schema.org/draft-04/schema#",
        "http://json-schema.org/draft-06/schema#",
        DRAFT7,
        D2019 + "schema",
        D2020 + "schema",
    ],
)
def test_metaschemas_are_built_in(uri: str) -> None:
    made = grammar({"$ref": uri}, formats="annotate")
    assert made.accepts('{"properties":{"a":{"minLength":1,"items":{"type":"string"}}}}')
    assert not made.accepts('{"properties":{"a":{"items":{"minLength":-1}}}}')
    assert not made.accepts('{"allOf":[]}')


def vocabularies(*names: str, draft: str = D2020, **others: bool) -> dict[str, Any]:
    listed = {draft + "vocab/" + name: True for name in names} | others
    meta = {"$id": "http://x.test/meta", "$schema": draft + "schema", "$vocabulary": listed}
    return {"http://x.test/meta": meta}


def test_keywords_of_a_vocabulary_that_is_absent_are_annotations() -> None:
    schema = {
        "$schema": "http://x.test/meta",
        "properties": {"a": {"minimum": 5, "type": "integer"}, "b": False},
        "required": ["a"],
    }
    made = grammar(schema, registry=vocabularies("core", "applicator"))
    assert made.accepts('{"a":"x"}')
    assert made.accepts("{}")
    assert not made.accepts('{"b":1}')
    made = grammar(schema, registry=vocabularies("core", "validation"))
    assert made.accepts('{"a":"x","b":1}')
    assert not made.accepts("{}")


def test_the_report_lists_what_a_vocabulary_leaves_out() -> None:
    schema = {"$schema": "http://x.test/meta", "properties": {"a": {"minimum": 5}}}
    report = grammar(schema, registry=vocabularies("core", "applicator")).report
    found = {entry.pointer: entry.status for entry in report.places}
    assert found["/properties/a/minimum"] == "annotation"
    assert found["/properties"] == "enforced"


def test_unevaluated_keywords_are_a_vocabulary_of_2020() -> None:
    schema = {"$schema": "http://x.test/meta", "unevaluatedProperties": False}
    for draft, accepts in ((D2020, True), (D2019, False)):
        registry = vocabularies("core", "applicator", draft=draft)
        assert grammar(schema, registry=registry).accepts('{"a":1}') == accepts


@pytest.mark.parametrize("required", [True, False])
def test_vocabularies_that_nobody_knows(required: bool) -> None:
    registry = vocabularies("core", "validation", **{"http://x.test/colours": required})
    schema = {"$schema": "http://x.test/meta", "type": "integer"}
    if required:
        found = refused(gramlock.UnsupportedSchemaError, schema, registry=registry)
        assert "http://x.test/colours" in found["/$schema"]
    else:
        assert not grammar(schema, registry=registry).accepts("null")


def test_a_vocabulary_can_assert_formats() -> None:
    schema = {"$schema": "http://x.test/meta", "format": "ipv4"}
    for name, accepts in (("format-assertion", False), ("format-annotation", True)):
        registry = vocabularies("core", name)
        made = grammar(schema, registry=registry, formats="annotate")
        assert made.accepts('"1.2.3.4"')
        assert made.accepts('"no address"') == accepts


@pytest.mark.parametrize("required", [True, False])
def test_the_vocabulary_of_2019_asserts_formats_where_it_is_required(required: bool) -> None:
    registry = vocabularies("core", draft=D2019, **{D2019 + "vocab/format": required})
    schema = {"$schema": "http://x.test/meta", "format": "ipv4"}
    made = grammar(schema, registry=registry, formats="annotate")
    assert made.accepts('"no address"') == (not required)


def test_an_unknown_dialect_is_refused_where_it_is_named() -> None:
    found = refused(gramlock.UnsupportedSchemaError, {"$schema": "http://x.test/none"})
    assert list(found) == ["/$schema"]
    registry = {"http://x.test/a": {"$schema": "http://x.test/none", "type": "integer"}}
    assert grammar({"type": "null"}, registry=registry).accepts("null"), "nothing leads to it"
    found = refused(gramlock.UnsupportedSchemaError, {"$ref": "http://x.test/a"}, registry=registry)
    assert found["/$schema"].endswith("(in http://x.test/a)")


def test_dynamic_scopes_are_bounded() -> None:
    """Each of k resources may come first or later: that could be 2**k scopes."""
    count = 14
    inner: dict[str, Any] = {"$id": "http://x.test/end", "type": "null"}
    resources = {"end": inner}
    for index in range(count):
        after = "end" if index == count - 1 else f"r{index + 1}"
        resources[f"r{index}"] = {
            "$id": f"http://x.test/r{index}",
            "anyOf": [{"$ref": f"s{index}"}, {"$ref": after}],
            "$defs": {
                "s": {
                    "$id": f"http://x.test/s{index}",
                    "$dynamicAnchor": f"a{index}",
                    "items": {"$ref": after},
                }
            },
        }
    schema = {"$id": "http://x.test/root", "$ref": "r0", "$defs": resources}
    with pytest.raises(gramlock.LimitError) as caught:
        grammar(schema)
    assert caught.value.budget == "dynamic_scopes"
