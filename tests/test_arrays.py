"""Sets of arrays: their operations against a plain reading of the conditions, on short arrays."""

from __future__ import annotations

import itertools
import json
import random
from typing import Any

import pytest

from gramlock import Grammar, UnsatisfiableError, UnsupportedSchemaError, Vocabulary
from gramlock._core import Expressions
from gramlock.schema import arrays
from gramlock.schema.algebra import ALL_FLAGS, FALSE, NULL, TRUE, Algebra, Node, Shape
from gramlock.schema.arrays import ArraySet, Contains
from gramlock.schema.cardinality import identity, is_endless, is_extensible, values_of
from gramlock.schema.nodes import ANYTHING
from gramlock.schema.numbers import NumberSet
from gramlock.schema.strings import StringSet
from roads import fill

VALUES = [None, True, 1, 2, "a"]
ARRAYS = [list(items) for size in range(5) for items in itertools.product(VALUES, repeat=size)]


class World:
    """An algebra and some nodes whose members among `VALUES` are known."""

    def __init__(self) -> None:
        self.algebra = Algebra(Expressions(), 10_000)
        self.held: dict[Node, list[Any]] = {ANYTHING: VALUES, self.algebra.never: []}
        self._add(Shape(NULL, (), (), (), ()), None)
        self._add(Shape(NULL | TRUE | FALSE, (), (), (), ()), None, True)
        self._add(Shape(0, (NumberSet(),), (), (), ()), 1, 2)
        self._add(Shape(0, (NumberSet(lower=2),), (StringSet(),), (), ()), 2, "a")
        self._add(Shape(ALL_FLAGS, (NumberSet.point(1),), (), (), ()), None, True, 1)
        self._add(Shape(0, (NumberSet.point(1), NumberSet.point(2)), (), (), ()), 1, 2)
        self._add(Shape(0, (), (StringSet(values=("a", "b")),), (), ()), "a")

    def _add(self, shape: Shape, *values: Any) -> None:
        self.held[Node(None, shape)] = list(values)

    def holds(self, node: Node, value: Any) -> bool:
        return any(identity(value) == identity(member) for member in self.held[node])

    def some_set(self, rng: random.Random) -> tuple[tuple[Any, ...], ArraySet]:
        """The arguments of a set, and the set."""
        nodes = list(self.held)
        counts = [
            Contains(
                rng.choice(nodes), rng.randrange(3), rng.choice([None, 0, 1, 2]), rng.randrange(3)
            )
            for _ in range(rng.choice([0, 0, 1, 1, 2]))
        ]
        made = (
            tuple(rng.choice(nodes) for _ in range(rng.choice([0, 0, 1, 2]))),
            rng.choice([ANYTHING, ANYTHING, *nodes]),
            rng.choice([0, 0, 1, 2]),
            rng.choice([None, None, 1, 2, 3]),
            counts,
            rng.random() < 0.3,
            rng.choice([None, None, None, ANYTHING]),
        )
        return made, ArraySet(*made)

    def expected(self, made: tuple[Any, ...], value: list[Any]) -> bool:
        prefix, rest, low, high, counts, unique, repeats = made
        if len(value) < low or (high is not None and len(value) > high):
            return False
        nodes = [*prefix, *[rest] * len(value)]
        if not all(self.holds(node, item) for node, item in zip(nodes, value, strict=False)):
            return False
        for node, least, most, start in counts:
            count = sum(self.holds(node, item) for item in value[start:])
            if count < least or (most is not None and count > most):
                return False
        pairs = itertools.combinations(value, 2)
        equal = any(identity(one) == identity(other) for one, other in pairs)
        return not (unique and equal) and (repeats is None or equal)


@pytest.fixture(scope="module")
def world() -> World:
    return World()


@pytest.mark.parametrize("seed", range(30))
def test_sets_hold_what_their_conditions_say(world: World, seed: int) -> None:
    rng = random.Random(seed)
    made, array = world.some_set(rng)
    other_made, other = world.some_set(rng)
    both = arrays.intersect(array, other, world.algebra)
    apart = arrays.disjoint(array, other, world.algebra, 4)
    for value in ARRAYS:
        member = world.expected(made, value)
        assert (not array.is_void() and array.contains(value, world.algebra)) == member, value
        shared = member and world.expected(other_made, value)
        assert (both is not None and both.contains(value, world.algebra)) == shared, value
        assert not (apart and shared)


@pytest.mark.parametrize("seed", range(60))
def test_every_array_is_in_a_set_or_in_its_complement(world: World, seed: int) -> None:
    made, array = world.some_set(random.Random(seed))
    if array.is_void():
        return
    outside = arrays.complement(array, world.algebra, ANYTHING)
    for value in ARRAYS:
        found = [part for part in outside if part.contains(value, world.algebra)]
        assert bool(found) != world.expected(made, value), (made, value, found)


def test_conditions_on_all_or_no_items_become_sets_of_items(world: World) -> None:
    node = next(node for node, held in world.held.items() if held == [1, 2])
    none = Contains(node, 0, 0, 1)
    everything = Contains(node, 2, None, 1)
    for condition, high in ((none, None), (everything, 3)):
        array = ArraySet((), ANYTHING, 0, high, [condition])
        assert array.counts
        absorbed = arrays.intersect(array, ArraySet((), ANYTHING, 0, None), world.algebra)
        assert absorbed is not None
        assert absorbed.counts == ()
        assert len(absorbed.prefix) == 1 if high is None else 3


def test_how_many_values_a_set_has(world: World) -> None:
    for node, held in world.held.items():
        listed = values_of(node, world.algebra)
        if listed is not None:
            kept = [value for value in listed if world.holds(ANYTHING, value)]
            assert sorted(map(repr, kept)) == sorted(map(repr, held))
            assert not is_endless(node, world.algebra)
    strings = Node(None, Shape(0, (), (StringSet(min_length=2),), (), ()))
    assert is_extensible(strings, world.algebra)
    assert is_endless(strings, world.algebra)
    assert not is_extensible(ANYTHING, world.algebra)
    assert is_endless(ANYTHING, world.algebra)
    bounded = Node(None, Shape(0, (NumberSet(True, 0, 9),), (), (), ()))
    assert values_of(bounded, world.algebra) == list(range(10))
    assert not is_endless(bounded, world.algebra)
    between = Node(None, Shape(0, (NumberSet(False, 0, 9),), (), (), ()))
    assert values_of(between, world.algebra) is None
    assert is_endless(between, world.algebra)


def test_equal_values_have_one_identity() -> None:
    assert identity(1) == identity(1.0) != identity(True)
    assert identity([1, {"a": 2.0, "b": None}]) == identity([1.0, {"b": None, "a": 2}])
    assert identity("1") != identity(1)
    assert identity([]) != identity({})
    assert identity(0) == identity(-0.0) != identity(False)


# -- grammars -------------------------------------------------------------------------------------


END = 256
BYTES = Vocabulary.from_tokens([*(bytes([byte]) for byte in range(END)), None], end_ids=[END])


def sentences(schema: dict[str, Any], **options: Any) -> set[str]:
    """All sentences, found by following the masks; whatever a mask allows has to lead to one."""
    grammar = Grammar.from_json_schema(schema, whitespace="compact", **options)
    matcher = BYTES.compile(grammar).matcher()
    found: set[str] = set()

    def follow(text: bytes) -> None:
        allowed = fill(matcher, END + 1)
        assert allowed, f"nothing can follow {text!r}"
        for token in allowed:
            if token == END:
                found.add(text.decode())
                continue
            assert matcher.accept_token(token)
            follow(text + bytes([token]))
            matcher.rollback(1)

    follow(b"")
    return found


def arrays_of(values: list[Any], longest: int) -> list[list[Any]]:
    return [
        list(items)
        for size in range(longest + 1)
        for items in itertools.product(values, repeat=size)
    ]


SMALL: list[tuple[dict[str, Any], Any]] = [
    ({"uniqueItems": True}, lambda a: True),
    ({"uniqueItems": True, "minItems": 2}, lambda a: len(a) >= 2),
    ({"uniqueItems": True, "minItems": 3}, lambda a: len(a) >= 3),
    ({"uniqueItems": True, "contains": {"const": 2}}, lambda a: 2 in a),
    ({"uniqueItems": True, "prefixItems": [{}, {"const": 1}]}, lambda a: a[1:2] in ([], [1])),
    (
        {"uniqueItems": True, "minItems": 2, "prefixItems": [{}, {"const": 1}]},
        lambda a: a[1:2] == [1],
    ),
    ({"contains": {"minimum": 2}, "maxItems": 3}, lambda a: max(a, default=0) > 1),
    (
        {"contains": {"minimum": 2}, "minContains": 2, "maxItems": 3},
        lambda a: sum(item > 1 for item in a) >= 2,
    ),
    (
        {"contains": {"const": 1}, "maxContains": 1, "maxItems": 3},
        lambda a: a.count(1) == 1,
    ),
    (
        {"contains": {"const": 1}, "minContains": 0, "maxContains": 1, "maxItems": 3},
        lambda a: a.count(1) <= 1,
    ),
    ({"not": {"contains": {"const": 1}}, "maxItems": 3}, lambda a: 1 not in a),
    ({"not": {"items": {"const": 1}}, "maxItems": 3}, lambda a: a.count(1) < len(a)),
    ({"not": {"uniqueItems": True}, "maxItems": 3}, lambda a: len(set(a)) < len(a)),
    (
        {"not": {"prefixItems": [{}, {"const": 1}], "items": {"const": 2}}, "maxItems": 3},
        lambda a: a[1:2] not in ([], [1]) or a[2:] not in ([], [2]),
    ),
]


@pytest.mark.parametrize(("conditions", "holds"), SMALL)
def test_masks_lead_to_exactly_the_arrays(conditions: dict[str, Any], holds: Any) -> None:
    schema = {"type": "array", "items": {"enum": [1, 2, 3]}, **conditions}
    if "prefixItems" in schema:
        schema["prefixItems"] = [{"enum": [1, 2, 3], **part} for part in schema["prefixItems"]]
    unique = bool(schema.get("uniqueItems"))
    expected = {
        json.dumps(array, separators=(",", ":"))
        for array in arrays_of([1, 2, 3], 3)
        if holds(array) and not (unique and len(set(array)) < len(array))
    }
    assert sentences(schema) == expected


def test_items_that_run_out_leave_no_dead_end() -> None:
    schema = {
        "type": "array",
        "prefixItems": [{"enum": ["a", "b"]}, {"enum": ["a", "b", {"c": 1}]}, {"enum": ["a"]}],
        "items": False,
        "minItems": 3,
        "uniqueItems": True,
    }
    assert sentences(schema) == {'["b",{"c":1},"a"]'}


@pytest.mark.parametrize("numbers", ["canonical", "any"])
def test_equal_values_are_equal_in_every_spelling(numbers: Any) -> None:
    grammar = Grammar.from_json_schema({"type": "array", "uniqueItems": True}, numbers=numbers)
    for text in ("[1,1.0]", "[10e-1,1]", '["a","\\u0061"]', '[{"a":1,"b":2},{"b":2,"a":1.0}]'):
        assert not grammar.accepts(text), text
    for text in ("[1,true]", "[0,false]", '["1",1]', "[[],{}]", '[{"a":1},{"a":2}]', "[[1],[1,1]]"):
        assert grammar.accepts(text), text


@pytest.mark.parametrize(
    ("dialect", "schema", "accepted", "refused"),
    [
        ("draft4", {"contains": {"const": 1}}, "[]", None),
        ("draft6", {"contains": {"const": 1}, "minContains": 2}, "[1]", "[2]"),
        ("2019-09", {"contains": {"const": 1}, "minContains": 2}, "[1,1]", "[1]"),
        ("2020-12", {"minContains": 2, "maxContains": 1}, "[]", None),
        ("2020-12", {"contains": {}, "minContains": 0}, "[]", None),
        ("2020-12", {"contains": {"const": 1}, "minContains": 0, "maxContains": 0}, "[]", "[1]"),
        ("2020-12", {"contains": {"const": 1}, "minContains": 2.0}, "[1,1]", "[1,2]"),
    ],
)
def test_dialects_differ_in_what_counts(
    dialect: str, schema: dict[str, Any], accepted: str, refused: str | None
) -> None:
    grammar = Grammar.from_json_schema({"type": "array", **schema}, dialect=dialect)
    assert grammar.accepts(accepted)
    assert refused is None or not grammar.accepts(refused)


def test_arrays_that_cannot_be_are_refused_with_their_places() -> None:
    for schema in (
        {"contains": False},
        {"contains": {"const": 1}, "minContains": 3, "maxContains": 2},
        {"contains": {"const": 1}, "maxItems": 1, "minContains": 2},
        {"contains": {"type": "null"}, "minContains": 2, "uniqueItems": True},
        {"items": {"enum": [1, 2]}, "minItems": 3, "uniqueItems": True},
        {"prefixItems": [{"const": 1}, {"const": 1}], "minItems": 2, "uniqueItems": True},
        {"items": {"const": 2}, "contains": {"const": 2}, "maxContains": 1, "minItems": 2},
    ):
        with pytest.raises(UnsatisfiableError):
            Grammar.from_json_schema({"type": "array", **schema})


def test_a_repeated_item_of_any_kind_has_no_complement() -> None:
    with pytest.raises(UnsupportedSchemaError, match="two equal items") as caught:
        Grammar.from_json_schema({"not": {"uniqueItems": True}})
    assert [place.pointer for place in caught.value.places] == ["/not"]
    grammar = Grammar.from_json_schema({"not": {"uniqueItems": True, "maxItems": 1}})
    assert grammar.accepts("[1,2]")
    assert not grammar.accepts("[1]")
