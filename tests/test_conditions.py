"""Objects under conditions: what one container says, and how large it gets."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import gramlock
import schema_fuzz
import validator
from gramlock._core import GrammarBuilder, expressions
from gramlock.schema.algebra import Algebra
from gramlock.schema.conditions import Container
from gramlock.schema.emit import Emitter
from gramlock.schema.emit_objects import _containers
from gramlock.schema.exclusive import separate
from gramlock.schema.load import Loader
from gramlock.schema.model import Reader
from gramlock.schema.nodes import ANYTHING
from gramlock.schema.objects import Region, is_endless
from gramlock.schema.options import SchemaOptions
from gramlock.schema.strings import StringSet

Schema = dict[str, Any]


def grammar(schema: Any, **options: Any) -> gramlock.Grammar:
    return gramlock.Grammar.from_json_schema(schema, whitespace="compact", **options)


def name(i: int) -> str:
    return f"p{i}"


def has(i: int) -> Schema:
    return {"required": [name(i)]}


def const(key: str, value: Any) -> Schema:
    return {"properties": {key: {"const": value}}, "required": [key]}


def else_if(k: int) -> Schema | bool:
    schema: Schema | bool = True
    for i in range(k):
        schema = {"if": const("kind", i), "then": has(i), "else": schema}
    return schema


# ------------------------------------------------------------------------------------------ size

FAMILIES: dict[str, Callable[[int], Any]] = {
    "dependentRequired": lambda k: {
        "dependentRequired": {name(i): [name(i + 1)] for i in range(k)}
    },
    "pairs of not-required": lambda k: {
        "allOf": [{"not": {"required": [name(2 * i), name(2 * i + 1)]}} for i in range(k)]
    },
    "anyOf of required": lambda k: {"anyOf": [has(i) for i in range(k)]},
    "anyOf in allOf": lambda k: {"allOf": [{"anyOf": [has(i), has(i + 1)]} for i in range(k)]},
    "oneOf of required": lambda k: {"oneOf": [has(i) for i in range(k)]},
    "independent ifs": lambda k: {
        "allOf": [{"if": const(name(i), 1), "then": has(k + i), "else": has(2 * k)}
                  for i in range(k)]
    },
    "ifs on one name": lambda k: {
        "allOf": [{"if": const("kind", i), "then": has(i)} for i in range(k)]
    },
    "else if": else_if,
    "anyOf with unevaluatedProperties": lambda k: {
        "anyOf": [{"properties": {name(i): {"type": "integer"}}} for i in range(k)],
        "unevaluatedProperties": False,
    },
    "not of anyOf": lambda k: {"not": {"anyOf": [const(name(i), i) for i in range(k)]}},
    "dependentSchemas": lambda k: {
        "dependentSchemas": {name(i): {"properties": {name(i + 1): {"type": "null"}}}
                             for i in range(k)}
    },
    "anyOf that declare": lambda k: {
        "allOf": [{"anyOf": [{"properties": {name(i): {"type": "null"}}},
                             {"properties": {name(k + i): {"type": "null"}}}]} for i in range(k)]
    },
}  # fmt: skip


def size(item: Any) -> int:
    if isinstance(item, dict):
        return sum(map(size, item.values()))
    return 1 + sum(map(size, item)) if isinstance(item, list | tuple) else 1


@pytest.mark.parametrize("family", FAMILIES)
def test_no_family_of_conditions_explodes(family: str) -> None:
    base, once, twice = (size(grammar(FAMILIES[family](k))._handle.dump()) for k in (1, 12, 24))
    assert twice - base <= 4.5 * (once - base)


def test_constants_on_one_name_make_a_choice_each() -> None:
    schema = {"allOf": [{"if": const("kind", i), "then": has(i)} for i in range(20)]}
    (container,) = containers(schema)
    (kind,) = (one for one in container.classes if one.name == "kind")
    assert len(kind.choices) == 21


def test_a_name_with_more_conditions_than_bits_divides_its_container() -> None:
    schema = {"allOf": [{"if": const("kind", i), "then": has(i)} for i in range(50)]}
    assert 1 < len(containers(schema)) < 10
    made = grammar(schema, order="any")
    for i in (0, 25, 49, 50):
        assert made.accepts(f'{{"kind":{i}}}') == (i == 50)
        assert made.accepts(f'{{"p{i}":1,"kind":{i}}}')


def test_schemas_that_a_constant_chooses_do_not_multiply() -> None:
    branches = [
        {"if": {"properties": {"kind": {"const": i}}},
         "then": {"properties": {"data": {"required": [f"d{i}"]}}}}
        for i in range(20)
    ]  # fmt: skip
    made = grammar({"allOf": branches})
    assert made.accepts('{"kind":3,"data":{"d3":0}}')
    assert not made.accepts('{"kind":3,"data":{"d4":0}}')
    assert not made.accepts('{"data":{"d3":0}}')  # without a kind each if holds


@pytest.mark.parametrize(
    "tests",
    [
        [{"pattern": letter} for letter in "abcdefghijkl"],
        [{"multipleOf": step} for step in (2, 3, 5, 7, 11, 13)],
        [{"required": [letter]} for letter in "abcdefghijkl"],
    ],
    ids=["patterns", "steps", "objects"],
)
def test_conditions_that_overlap_end_in_a_limit(tests: list[Schema]) -> None:
    branches = [{"if": {"properties": {"x": test}}, "then": has(i)} for i, test in enumerate(tests)]
    schema = {"allOf": branches}
    with pytest.raises(gramlock.LimitError) as caught:
        grammar(schema)
    assert caught.value.budget == "schema_alternatives"


# ----------------------------------------------------------------------------------------- order


def test_names_that_only_conditions_mention_have_no_order() -> None:
    schema = {
        "properties": {"a": {}, "b": {}},
        "if": {"required": ["x"]},
        "then": {"required": ["y"]},
    }
    made = grammar(schema)
    assert made.accepts('{"a":1,"b":1,"y":1,"x":1}')
    assert made.accepts('{"a":1,"b":1,"x":1,"y":1}')
    assert not made.accepts('{"b":1,"a":1}')
    assert not made.accepts('{"x":1,"a":1,"y":1}')
    assert not made.accepts('{"a":1,"x":1}')


def test_alternatives_that_declare_names_keep_their_order() -> None:
    schema = {
        "properties": {"kind": {"enum": [1, 2]}},
        "anyOf": [
            {"properties": {"kind": {"const": 1}, "a": {"type": "null"}, "b": {"type": "null"}}},
            {"properties": {"kind": {"const": 2}, "b": {"type": "null"}, "a": {"type": "null"}}},
        ],
    }
    made = grammar(schema)
    assert made.accepts('{"kind":1,"a":null,"b":null}')
    assert made.accepts('{"kind":2,"b":null,"a":null}')
    assert not made.accepts('{"kind":2,"a":null,"b":null}')


# ----------------------------------------------------------------------------------------- names


def test_the_names_of_a_small_region_are_counted() -> None:
    schema = {
        "type": "object",
        "patternProperties": {"^[ab]$": {"type": "null"}},
        "additionalProperties": False,
        "minProperties": 2,
    }
    made = grammar(schema)
    assert made.accepts('{"b":null,"a":null}')
    assert not made.accepts('{"b":null}')
    assert made.sample(seed=1) in (b'{"b":null,"a":null}', b'{"a":null,"b":null}')
    with pytest.raises(gramlock.UnsatisfiableError):
        grammar({**schema, "minProperties": 3}).sample(seed=1)


@pytest.mark.parametrize(
    ("inside", "outside", "expected"),
    [
        (["^x-"], [], True),
        (["a"], ["^x"], True),
        (["^[a-z]+$"], [], True),
        (["^.*$"], [], True),
        (["(?:a)b"], [], True),
        (["a$"], [], False),
        (["(?=a)b"], [], False),
        (["^[a]b]+$"], [], False),
        (["^[a-z]+$"], ["^a"], False),
        ([], ["."], False),
        (["^a$", "b"], [], False),
    ],
)
def test_regions_whose_names_never_run_out(
    inside: list[str], outside: list[str], expected: bool
) -> None:
    sets = [tuple(StringSet(patterns=(text,)) for text in part) for part in (inside, outside)]
    assert is_endless(Region(sets[0], sets[1], ANYTHING)) == expected


def test_no_free_name_is_written_twice() -> None:
    made = grammar({"additionalProperties": {"type": "null"}, "minProperties": 2})
    assert made.accepts('{"a":null,"aa":null}')
    assert not made.accepts('{"a":null,"a":null}')
    assert not made.accepts('{"a":null,"\\u0061":null}')


# ------------------------------------------------------------------------- the formula, read anew


def containers(schema: Any) -> list[Container]:
    """The containers of the objects of a schema."""
    emitter, root = emitter_of(schema)
    (objects,) = emitter.algebra.expand(root).objects
    return _containers(emitter, objects)


def emitter_of(schema: Any) -> tuple[Emitter, Any]:
    options = SchemaOptions()
    store = expressions()
    algebra = Algebra(store, 20_000)
    reader = Reader(Loader(schema, options), options, algebra)
    root = reader.read(schema)
    separate(reader, algebra)
    return Emitter(GrammarBuilder(store), algebra, options), root


def holds(formula: Any, members: tuple[tuple[int, int], ...]) -> bool:
    """A formula by its meaning, for the class and the literals of each member."""
    if formula is None or formula is False:
        return formula is None
    kind = formula[0]
    if kind in ("and", "or"):
        return (all if kind == "and" else any)(holds(part, members) for part in formula[1])
    _, count, pairs = formula
    counted = sum(
        any(
            at in (None, index)
            and (bit is None or bool(literals >> bit & 1) == (kind == "at_least"))
            for at, bit in pairs
        )
        for index, literals in members
    )
    return counted >= count if kind == "at_least" else counted <= count


def written(emitter: Emitter, node: Any, value: Any) -> bool:
    """Whether a value has a text: containers choose, all other values ask the algebra."""
    if not isinstance(value, dict):
        return emitter.algebra.contains(node, value)
    return any(
        in_container(emitter, container, value)
        for objects in emitter.algebra.expand(node).objects
        for container in _containers(emitter, objects)
    )


def in_container(emitter: Emitter, container: Container, value: Schema) -> bool:
    if any(one.required and one.name not in value for one in container.classes):
        return False
    ways: list[list[tuple[int, int]]] = []
    for key, member in value.items():
        index = next(_classes(emitter, container, key), None)
        if index is None:
            return False
        one = container.classes[index]
        found = [one.bits(held) for node, held in one.choices if written(emitter, node, member)]
        ways.append([(index, literals) for literals in dict.fromkeys(found)])
    return any(holds(container.formula, members) for members in itertools.product(*ways))


def _classes(emitter: Emitter, container: Container, key: str) -> Iterator[int]:
    listed = key in container.names
    for index, one in enumerate(container.classes):
        if one.region is None:
            if one.name == key:
                yield index
        elif not listed and one.region.holds(key, emitter.algebra):
            yield index


def test_containers_say_what_the_schema_says(thorough: bool) -> None:
    verdicts = {True: 0, False: 0}
    for seed in range(5_000 if thorough else 150):
        rng = random.Random(seed)
        schema = schema_fuzz.document(rng)
        judge = validator.Validator(schema)
        try:
            emitter, root = emitter_of(schema)
            values = [schema_fuzz.value(rng) for _ in range(12)]
            for value in values:
                valid = judge.is_valid(value)
                if isinstance(value, dict) and valid is not None:
                    said = written(emitter, root, value)
                    if emitter.algebra.unsupported or emitter.algebra.invalid:
                        break
                    assert said == valid, (schema, value)
                    verdicts[valid] += 1
        except gramlock.LimitError:
            continue
    assert min(verdicts.values()) > 50
