"""``unevaluatedProperties`` and ``unevaluatedItems`` against their definition, read literally.

The oracle below validates a value and collects what was evaluated as it goes, which is what the
standard describes; the algebra works it out without any value. Random schemas have to agree.
"""

from __future__ import annotations

import json
import random
from typing import Any

import pytest

import gramlock
from gramlock._core import expressions
from gramlock.schema import SchemaOptions
from gramlock.schema.algebra import Algebra
from gramlock.schema.exclusive import separate
from gramlock.schema.load import Loader
from gramlock.schema.model import Reader

NAMES = ("a", "b", "ab", "c")
VALUES = (1, 2, "x", None)


def grammar(schema: Any, **options: Any) -> gramlock.Grammar:
    return gramlock.Grammar.from_json_schema(schema, order="any", whitespace="compact", **options)


def compact(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"))


def sets(schema: Any) -> tuple[Algebra, Any]:
    options = SchemaOptions()
    algebra = Algebra(expressions(), 20_000)
    reader = Reader(Loader(schema, options), options, algebra)
    root = reader.read(schema)
    assert not reader.invalid + reader.unsupported
    separate(reader, algebra)
    return algebra, root


# -------------------------------------------------------------------------------------- an oracle


def evaluate(schema: Any, value: Any, root: Any) -> set[Any] | None:
    """The names or indexes that a valid *value* has evaluated; None if it is not valid."""
    if isinstance(schema, bool):
        return set() if schema else None
    seen: set[Any] = set()
    if not (_plain(schema, value) and _applied(schema, value, root, seen)):
        return None
    places = dict(value) if isinstance(value, dict) else dict(enumerate(value))
    if isinstance(value, dict):
        found = _members(schema, value, root)
    else:
        found = _items(schema, value, root)
    if found is None:
        return None
    seen |= found
    key = "unevaluatedProperties" if isinstance(value, dict) else "unevaluatedItems"
    if key in schema:
        for place in places.keys() - seen:
            if not holds(schema[key], places[place], root):
                return None
        seen |= places.keys()
    return seen


def holds(schema: Any, value: Any, root: Any) -> bool:
    if isinstance(value, (dict, list)) or isinstance(schema, bool):
        return evaluate(schema, value, root) is not None
    return _plain(schema, value) and _applied(schema, value, root, set())


def _plain(schema: dict[str, Any], value: Any) -> bool:
    if "const" in schema and value != schema["const"]:
        return False
    if schema.get("type") == "integer" and not isinstance(value, int):
        return False
    if isinstance(value, dict):
        return all(name in value for name in schema.get("required", ()))
    return not isinstance(value, list) or len(value) >= schema.get("minItems", 0)


def _applied(schema: dict[str, Any], value: Any, root: Any, seen: set[Any]) -> bool:
    """Applies what concerns the same value; adds what the parts that hold have evaluated."""

    def inner(part: Any) -> set[Any] | None:
        if isinstance(value, (dict, list)):
            return evaluate(part, value, root)
        return set() if holds(part, value, root) else None

    results = [inner(part) for part in schema.get("allOf", ())]
    if "$ref" in schema:
        results.append(inner(root["$defs"][schema["$ref"].rpartition("/")[2]]))
    if isinstance(value, dict):
        cases = schema.get("dependentSchemas", {}).items()
        results += [inner(part) for name, part in cases if name in value]
    if "if" in schema:
        test = inner(schema["if"])
        seen |= test or set()
        results.append(inner(schema.get("else" if test is None else "then", True)))
    for key in ("anyOf", "oneOf"):
        if key in schema:
            good = [found for part in schema[key] if (found := inner(part)) is not None]
            if not good or (key == "oneOf" and len(good) > 1):
                return False
            results += good
    if any(found is None for found in results):
        return False
    for found in results:
        seen |= found or set()
    return "not" not in schema or inner(schema["not"]) is None


def _members(schema: dict[str, Any], value: dict[str, Any], root: Any) -> set[Any] | None:
    seen = set()
    for name, member in value.items():
        parts = []
        if name in schema.get("properties", {}):
            parts.append(schema["properties"][name])
        parts += [
            part
            for prefix, part in schema.get("patternProperties", {}).items()
            if name.startswith(prefix[1:])
        ]
        if not parts and "additionalProperties" in schema:
            parts.append(schema["additionalProperties"])
        if not all(holds(part, member, root) for part in parts):
            return None
        if parts:
            seen.add(name)
    return seen


def _items(schema: dict[str, Any], value: list[Any], root: Any) -> set[Any] | None:
    seen = set()
    prefix = schema.get("prefixItems", [])
    for index, item in enumerate(value):
        if index < len(prefix) or "items" in schema:
            part = prefix[index] if index < len(prefix) else schema["items"]
            if not holds(part, item, root):
                return None
            seen.add(index)
    if "contains" in schema:
        hits = {i for i, item in enumerate(value) if holds(schema["contains"], item, root)}
        if len(hits) < schema.get("minContains", 1):
            return None
        seen |= hits
    return seen


class Schemas:
    """Random schemas about objects, or about arrays."""

    def __init__(self, seed: int, objects: bool) -> None:
        self.random, self.objects = random.Random(seed), objects

    def value(self) -> Any:
        return self.random.choice([True, False, {"type": "integer"}, {"const": 1}, {"const": "x"}])

    def schema(self, depth: int) -> dict[str, Any]:
        rng = self.random
        made: dict[str, Any] = self._own_of_objects() if self.objects else self._own_of_arrays()
        for key in ("allOf", "anyOf", "oneOf"):
            if depth and rng.random() < 0.25:
                made[key] = [self.schema(depth - 1) for _ in range(rng.randint(1, 3))]
        for key in ("not", "if"):
            if depth and rng.random() < 0.2:
                made[key] = self.schema(depth - 1)
        for key in ("then", "else"):
            if "if" in made and rng.random() < 0.6:
                made[key] = self.schema(depth - 1)
        if depth and rng.random() < 0.2:
            made["dependentSchemas"] = {rng.choice(NAMES): self.schema(depth - 1)}
        if depth and rng.random() < 0.2:
            made["$ref"] = "#/$defs/" + rng.choice("xy")
        return made

    def document(self) -> dict[str, Any]:
        made = self.schema(2)
        key = "unevaluatedProperties" if self.objects else "unevaluatedItems"
        made[key] = self.random.choice([False, False, self.value()])
        made["$defs"] = {"x": self.schema(0), "y": self.schema(0)}
        return made

    def instance(self) -> Any:
        rng, size = self.random, self.random.randint(0, 4)
        if self.objects:
            return {name: rng.choice(VALUES) for name in rng.sample(NAMES, size)}
        return [rng.choice(VALUES) for _ in range(size)]

    def _own_of_objects(self) -> dict[str, Any]:
        rng, made = self.random, dict[str, Any]()
        if rng.random() < 0.5:
            made["properties"] = {n: self.value() for n in rng.sample(NAMES, rng.randint(1, 2))}
        if rng.random() < 0.2:
            made["patternProperties"] = {rng.choice(["^a", "^b"]): self.value()}
        if rng.random() < 0.2:
            made["required"] = rng.sample(NAMES, 1)
        for key in ("additionalProperties", "unevaluatedProperties"):
            if rng.random() < 0.1:
                made[key] = self.value()
        return made

    def _own_of_arrays(self) -> dict[str, Any]:
        rng, made = self.random, dict[str, Any]()
        if rng.random() < 0.4:
            made["prefixItems"] = [self.value() for _ in range(rng.randint(1, 2))]
        if rng.random() < 0.2:
            made["contains"] = self.value()
            made["minContains"] = rng.randint(0, 2)
        if rng.random() < 0.15:
            made["minItems"] = rng.randint(1, 3)
        for key in ("items", "unevaluatedItems"):
            if rng.random() < 0.1:
                made[key] = self.value()
        return made


@pytest.mark.parametrize("objects", [True, False], ids=["objects", "arrays"])
def test_random_schemas_agree_with_the_definition(objects: bool, thorough: bool) -> None:
    schemas = Schemas(20, objects)
    verdicts = {True: 0, False: 0}
    for _ in range(4000 if thorough else 300):
        schema = schemas.document()
        try:
            algebra, root = sets(schema)
            for value in (schemas.instance() for _ in range(20)):
                wanted = evaluate(schema, value, schema) is not None
                assert algebra.contains(root, value) == wanted, (json.dumps(schema), value)
                verdicts[wanted] += 1
        except gramlock.LimitError as error:
            assert error.budget == "schema_alternatives"
    assert min(verdicts.values()) > sum(verdicts.values()) // 12, "too one-sided to mean much"


@pytest.mark.parametrize("objects", [True, False], ids=["objects", "arrays"])
def test_random_grammars_agree_with_the_definition(objects: bool, thorough: bool) -> None:
    schemas = Schemas(21, objects)
    for _ in range(800 if thorough else 60):
        schema = schemas.document()
        values = [schemas.instance() for _ in range(12)]
        good = [v for v in values if evaluate(schema, v, schema) is not None]
        try:
            made = grammar(schema)
            assert [v for v in values if made.accepts(compact(v))] == good, json.dumps(schema)
        except gramlock.UnsatisfiableError:
            assert good == [], json.dumps(schema)
        except gramlock.LimitError:
            continue


# ------------------------------------------------------------------------------------------ cases


@pytest.mark.parametrize(
    ("schema", "good", "bad"),
    [
        (
            {"properties": {"a": True}, "allOf": [{"patternProperties": {"^b": True}}]},
            ['{"a":1,"bb":1}'],
            ['{"c":1}'],
        ),
        (
            {
                "anyOf": [
                    {"required": ["a"], "properties": {"a": True}},
                    {"properties": {"b": True}},
                ]
            },
            ['{"a":1}', '{"a":1,"b":1}', '{"b":1}'],
            ['{"a":1,"c":1}', '{"c":1}'],
        ),
        (
            {"anyOf": [{"properties": {"a": {"const": 1}, "b": True}}, True]},
            ['{"a":1,"b":2}', "{}"],
            ['{"a":2}', '{"a":2,"b":2}'],
        ),
        (
            {"if": {"required": ["a"], "properties": {"a": True}}},
            ['{"a":1}', "{}"],
            ['{"b":1}'],
        ),
        (
            {"if": {"properties": {"a": {"const": 1}}}, "else": {"properties": {"a": True}}},
            ['{"a":1}', '{"a":2}'],
            ['{"b":1}'],
        ),
        (
            {"dependentSchemas": {"a": {"properties": {"a": True, "b": True}}}},
            ['{"a":1,"b":1}', "{}"],
            ['{"b":1}'],
        ),
        ({"not": {"not": {"properties": {"a": True}}}}, ["{}"], ['{"a":1}']),
        ({"additionalProperties": {"type": "integer"}}, ['{"a":1}'], ['{"a":"x"}']),
    ],
)
def test_objects(schema: dict[str, Any], good: list[str], bad: list[str]) -> None:
    made = grammar({**schema, "unevaluatedProperties": False})
    assert [text for text in good if not made.accepts(text)] == []
    assert [text for text in bad if made.accepts(text)] == []


@pytest.mark.parametrize("first", [True, False])
def test_cousins_do_not_see_each_other(first: bool) -> None:
    cousins = [{"properties": {"a": True}}, {"unevaluatedProperties": False}]
    made = grammar({"allOf": cousins if first else cousins[::-1]})
    assert made.accepts("{}")
    assert not made.accepts('{"a":1}')


@pytest.mark.parametrize(
    ("draft", "accepts"), [("2020-12", True), ("2019-09", False)], ids=["2020", "2019"]
)
def test_what_contains_finds_is_evaluated_since_2020(draft: str, accepts: bool) -> None:
    schema = {"contains": {"const": 1}, "unevaluatedItems": {"const": 2}}
    made = grammar(schema, dialect=draft)
    assert made.accepts("[1,2,1]") == accepts
    assert not made.accepts("[1,3]")
    assert not made.accepts("[2]")


def test_the_value_of_the_keyword_applies_to_what_is_left() -> None:
    schema = {"prefixItems": [True], "unevaluatedItems": {"type": "integer"}}
    assert grammar(schema).accepts('["x",1,2]')
    assert not grammar(schema).accepts('["x","x"]')


@pytest.mark.parametrize("kind", ["anyOf", "oneOf"])
def test_k_branches_are_k_clauses(kind: str) -> None:
    for count in (2, 4, 8, 16):
        names = [f"n{index}" for index in range(count)]
        branches = [{"properties": {n: {"const": i}}, "required": [n]} for i, n in enumerate(names)]
        algebra, root = sets({kind: branches, "unevaluatedProperties": False})
        derived = [node for kind, node in root.parts if kind == "all"][-1]
        (found,) = algebra.expand(derived).objects
        assert len(found.clauses) == count


@pytest.mark.parametrize(
    "schema",
    [
        {
            "type": "object",
            "required": ["a"],
            "anyOf": [{"properties": {"b": True}, "required": ["b"]}, {"required": ["c"]}],
            "unevaluatedProperties": False,
            "maxProperties": 1,
        },
        {"items": {"enum": [1, 2]}, "uniqueItems": True, "minItems": 3, "type": "array"},
        {
            "type": "object",
            "minProperties": 1,
            "dependentRequired": {"a": ["b"], "b": ["c"], "c": ["a"]},
            "properties": {"a": True, "b": True, "c": False},
            "additionalProperties": False,
        },
    ],
)
def test_what_nothing_satisfies_is_refused_when_it_is_read(schema: dict[str, Any]) -> None:
    for document in (schema, {"type": "object", "properties": {"x": schema}, "required": ["x"]}):
        with pytest.raises(gramlock.UnsatisfiableError) as caught:
            grammar(document)
        assert caught.value.places
    assert grammar({"properties": {"x": schema}}).accepts("{}")


def ladder(length: int, step: Any) -> dict[str, Any]:
    """Schemas that refer to each other, from one to the next by *step*."""
    steps = {f"d{i}": step(f"#/$defs/d{i + 1}") for i in range(length)}
    last = {f"d{length}": {"properties": {"a": True}}}
    return {"$ref": "#/$defs/d0", "unevaluatedProperties": False, "$defs": {**steps, **last}}


def test_many_ways_to_one_schema() -> None:
    twice = ladder(60, lambda ref: {"allOf": [{"$ref": ref}, {"title": "again", "$ref": ref}]})
    made = grammar(twice)
    assert made.accepts('{"a":1}')
    assert not made.accepts('{"b":1}')
    either = ladder(60, lambda ref: {"anyOf": [{"$ref": ref}, {"title": "again", "$ref": ref}]})
    with pytest.raises(gramlock.LimitError) as caught:
        grammar(either)
    assert caught.value.budget == "schema_alternatives"


def test_references_in_place_of_each_other_are_counted() -> None:
    assert grammar(ladder(300, lambda ref: {"$ref": ref})).accepts('{"a":1}')
    with pytest.raises(gramlock.LimitError) as caught:
        grammar(ladder(2000, lambda ref: {"$ref": ref}))
    assert caught.value.budget == "schema_in_place"


def test_one_of_beside_a_complement_of_one_of() -> None:
    """The inner set has to be known before the outer branches are told apart."""
    with pytest.raises(gramlock.UnsatisfiableError):
        grammar({"oneOf": [{}, {"type": "null"}], "not": {"oneOf": [{}, {"type": "null"}]}})


@pytest.mark.parametrize("inside", [False, True])
def test_one_of_where_a_format_is_enforced_in_part(inside: bool) -> None:
    """No A-label is written for a host name, but one that is given is a host name as well."""
    branches: list[Any] = [{"const": "xn--4gbwdl"}, {"type": "string", "format": "hostname"}]
    if inside:
        branches = [{"properties": {"a": each}, "required": ["a"]} for each in branches]
    made = grammar({"oneOf": branches})
    text = '{"a":"%s"}' if inside else '"%s"'
    assert made.accepts(text % "a.b")
    assert not made.accepts(text % "xn--4gbwdl")


def test_many_branches_that_what_stands_beside_tells_apart() -> None:
    branches = [{"properties": {"kind": {"const": f"k{i}"}, f"n{i}": True}} for i in range(250)]
    schema = {"properties": {"kind": True}, "required": ["kind"], "type": "object"}
    made = grammar({**schema, "oneOf": branches})
    assert made.accepts('{"kind":"k7","n8":1}')
    assert not made.accepts('{"kind":"none"}')


# ------------------------------------------------------------------- supersets, where one is asked

BACK = "^(x|y)\\1$"  # no regular expression says this


@pytest.mark.parametrize(
    ("schema", "good"),
    [
        ({"not": {"pattern": BACK}}, ['"xy"', '"xx"']),
        ({"not": {"items": {"not": {"pattern": BACK}}}}, ['["xx"]']),
        ({"oneOf": [{"type": "string"}, {"pattern": BACK}]}, ['"xy"', "1"]),
        ({"if": {"pattern": BACK}, "then": {"const": "xx"}, "else": {"minLength": 3}}, ['"xyz"']),
        ({"patternProperties": {"^(a)\\1?$": True}, "additionalProperties": False}, ['{"aa":1}']),
        ({"patternProperties": {"^(a)\\1?$": True}, "unevaluatedProperties": False}, ['{"aa":1}']),
        ({"contains": {"pattern": BACK}, "maxContains": 1}, ['["xx","xy"]']),
        ({"contains": {"not": {"pattern": BACK}}, "maxContains": 1}, ['["xy","xx"]']),
        (
            {"items": {"enum": ["xx", "xy"]}, "contains": {"pattern": BACK}, "maxContains": 1},
            ['["xx","xy"]'],
        ),
        ({"not": {"patternProperties": {"^(a)\\1?$": False}}}, ['{"aa":1}']),
        ({"not": {"contains": {"pattern": BACK}, "maxContains": 1}}, ['["xy"]', "[]"]),
        ({"not": {"propertyNames": {"pattern": BACK}}}, ['{"xy":1}']),
        (
            {
                "$ref": "#/$defs/a",
                "$defs": {"a": {"not": {"$ref": "#/$defs/b"}}, "b": {"pattern": BACK}},
            },
            ['"xy"'],
        ),
    ],
)
def test_what_is_relaxed_is_a_superset(schema: Any, good: list[str]) -> None:
    with pytest.raises(gramlock.UnsupportedSchemaError):
        grammar(schema)
    made = grammar(schema, on_unsupported="relax")
    assert [text for text in good if not made.accepts(text)] == []
    assert made.report.relaxed


@pytest.mark.parametrize(
    ("schema", "relaxed"),
    [
        ({"contains": {"pattern": BACK}, "maxContains": 1}, ["/contains/pattern", "/maxContains"]),
        ({"contains": {"pattern": BACK}}, ["/contains/pattern"]),
        ({"not": {"items": {"pattern": BACK}}}, ["/not", "/not/items/pattern"]),
        ({"oneOf": [{"pattern": BACK}, {"type": "string"}]}, ["/oneOf", "/oneOf/0/pattern"]),
        ({"not": {"not": {"pattern": BACK}}}, ["/not", "/not/not/pattern"]),
        ({"not": {"uniqueItems": True}}, ["/not"]),
    ],
)
def test_the_report_lists_what_is_relaxed_along(schema: Any, relaxed: list[str]) -> None:
    made = grammar(schema, on_unsupported="relax")
    assert sorted(entry.pointer for entry in made.report.relaxed) == relaxed


def test_what_has_nothing_to_do_with_it_stays_enforced() -> None:
    schema = {
        "properties": {"a": {"pattern": BACK}, "b": {"not": {"const": 1}}},
        "oneOf": [{"required": ["b"]}, {"required": ["c"]}],
    }
    made = grammar(schema, on_unsupported="relax")
    assert [entry.pointer for entry in made.report.relaxed] == ["/properties/a/pattern"]
    assert made.accepts('{"a":"xy","b":2}')
    assert not made.accepts('{"b":1}')
    assert not made.accepts('{"b":2,"c":1}')
