"""Small random schemas and values, dense enough that each schema splits the values.

Names, strings and numbers come from tiny pools, so that bounds, patterns and names collide often.
Every keyword of 2020-12 that says something about values is drawn, alone and inside every other.
"""

from __future__ import annotations

import random
from decimal import Decimal
from typing import Any

from validator import exact, is_huge

NAMES = ["a", "b", "ab", "x1", ""]
STRINGS = ["", "a", "b", "ab", "abc", "ba", "x1", 'q"', "é", "😀"]
NUMBERS = [0, 1, 2, 3, -1, 5, 0.5, 1.5, 2.0, -2.5, 10]
PATTERNS = ["a", "^a", "b$", "^ab?$", "^[^a]*$", "^x\\d", "^$"]
LEAVES: list[Any] = [
    {"type": "integer"},
    {"type": "string"},
    {"type": "boolean"},
    {"const": 1},
    {"enum": [0, 1, "a"]},
    {"minimum": 1},
    {"maxLength": 1},
    {"not": {"type": "integer"}},
    {"type": ["array", "object", "null"]},
    True,
    False,
]
TYPES = ["null", "boolean", "integer", "number", "string", "array", "object"]


SMALL = [None, True, False, 0, 1, 2, 1.5, -1, "", "a", "ab", [], [1], {}, {"a": 1}]
Found = dict[str, Any]


def value(rng: random.Random, depth: int = 3) -> Any:
    """A JSON value of at most *depth* levels; arrays and objects of small values most often."""
    kind = rng.randrange(10 if depth else 5)
    if kind == 0:
        return rng.choice([None, True, False])
    if kind < 3:
        return rng.choice(NUMBERS)
    if kind < 5:
        return rng.choice(STRINGS)
    inner = (lambda: rng.choice(SMALL)) if rng.random() < 0.7 else (lambda: value(rng, depth - 1))
    if kind < 7:
        return [inner() for _ in range(rng.randrange(5))]
    return {name: inner() for name in rng.sample(NAMES, rng.randrange(5))}


def document(rng: random.Random) -> Any:
    """A schema with definitions that refer to each other."""
    root = schema(rng, 3)
    if rng.random() < 0.15:
        root = {"not": root}
    if isinstance(root, dict):
        root["$defs"] = {name: schema(rng, 2) for name in ("p", "q")}
    return root


def schema(rng: random.Random, depth: int, theme: str = "") -> Any:
    """A schema of at most *depth* levels.

    Most of its keywords, and those of the schemas that it is combined with, are about one type, the
    theme; with none of its own it takes one at random.
    """
    if rng.random() < 0.05:
        return rng.random() < 0.7
    if depth <= 1 and not theme and rng.random() < 0.5:
        return rng.choice(LEAVES)
    theme = theme or rng.choice(
        ["object", "object", "object", "array", "array", "number", "string"]
    )
    found: Found = {}
    if rng.random() < 0.5:
        found["type"] = theme if rng.random() < 0.7 else [theme, *rng.sample(TYPES, 1)]
        if isinstance(found["type"], list) and len(set(found["type"])) < 2:
            found["type"] = theme
    parts = rng.sample(THEMES[theme], min(len(THEMES[theme]), rng.randint(1, 2)))
    parts += rng.sample(ANY, rng.choice([0, 1, 1, 2]))
    for part in parts:
        part(rng, found, depth - 1, theme)
    pairs = list(found.items())
    rng.shuffle(pairs)
    return dict(pairs)


def inner(rng: random.Random, depth: int) -> Any:
    """A schema for a member or an item: often one that small values tell apart."""
    return rng.choice(LEAVES) if rng.random() < 0.5 else schema(rng, depth)


def _maybe(rng: random.Random, found: Found, key: str, make: Any, odds: float) -> None:
    if rng.random() < odds:
        found[key] = make()


def _numbers(rng: random.Random, found: Found, depth: int, theme: str) -> None:
    low = rng.choice(NUMBERS)
    _maybe(rng, found, rng.choice(["minimum", "exclusiveMinimum"]), lambda: low, 0.4)
    high = low + rng.choice([0, 0.5, 1, 3])
    _maybe(rng, found, rng.choice(["maximum", "exclusiveMaximum"]), lambda: high, 0.3)
    _maybe(rng, found, "multipleOf", lambda: rng.choice([1, 2, 0.5, 3]), 0.2)


def _strings(rng: random.Random, found: Found, depth: int, theme: str) -> None:
    _maybe(rng, found, "minLength", lambda: rng.randrange(3), 0.3)
    _maybe(rng, found, "maxLength", lambda: rng.randrange(1, 4), 0.3)
    _maybe(rng, found, "pattern", lambda: rng.choice(PATTERNS), 0.4)


def _arrays(rng: random.Random, found: Found, depth: int, theme: str) -> None:
    if depth > 0:
        _maybe(rng, found, "items", lambda: inner(rng, depth), 0.6)
        size = rng.randrange(1, 3)
        _maybe(rng, found, "prefixItems", lambda: [inner(rng, depth) for _ in range(size)], 0.3)
    _maybe(rng, found, "minItems", lambda: rng.randrange(3), 0.3)
    _maybe(rng, found, "maxItems", lambda: rng.randrange(4), 0.3)


def _objects(rng: random.Random, found: Found, depth: int, theme: str) -> None:
    if depth <= 0:
        return
    names = rng.sample(NAMES, rng.randrange(1, 4))
    _maybe(rng, found, "properties", lambda: {n: inner(rng, depth) for n in names}, 0.8)
    _maybe(rng, found, "required", lambda: rng.sample(NAMES, rng.randrange(3)), 0.4)
    _maybe(rng, found, "additionalProperties", lambda: inner(rng, depth), 0.4)
    patterns = rng.sample(PATTERNS, rng.randrange(1, 3))
    _maybe(rng, found, "patternProperties", lambda: {p: inner(rng, depth) for p in patterns}, 0.3)
    _maybe(
        rng, found, "propertyNames", lambda: rng.choice([{"maxLength": 1}, {"pattern": "a"}]), 0.1
    )


def _listed(rng: random.Random, found: Found, depth: int, theme: str) -> None:
    if rng.random() < 0.3:
        found["enum"] = [value(rng, 2) for _ in range(rng.randrange(1, 5))]
    elif rng.random() < 0.2:
        found["const"] = value(rng, 2)


def _combined(rng: random.Random, found: Found, depth: int, theme: str) -> None:
    if depth <= 0:
        return
    if rng.random() < 0.2:
        found["$ref"] = rng.choice(["#", "#/$defs/p", "#/$defs/q"])
    for key, odds in (("anyOf", 0.4), ("allOf", 0.4), ("oneOf", 0.2)):
        branches = range(rng.randrange(1, 4))
        _maybe(
            rng,
            found,
            key,
            lambda branches=branches: [schema(rng, depth, theme) for _ in branches],
            odds,
        )


def _contained(rng: random.Random, found: Found, depth: int, theme: str) -> None:
    """Keywords that count or compare items."""
    if depth > 0 and rng.random() < 0.6:
        found["contains"] = inner(rng, depth)
        _maybe(rng, found, "minContains", lambda: rng.randrange(3), 0.4)
        _maybe(rng, found, "maxContains", lambda: rng.randrange(3), 0.3)
    _maybe(rng, found, "uniqueItems", lambda: rng.random() < 0.8, 0.5)
    _maybe(rng, found, "minItems", lambda: rng.randrange(3), 0.2)
    _maybe(rng, found, "items", lambda: _few(rng), 0.4)


def _few(rng: random.Random) -> Any:
    """A schema of few values, so that different ones run out."""
    kind = rng.randrange(3)
    if kind == 0:
        return {"type": "boolean"}
    if kind == 1:
        return {"enum": [rng.choice([0, 1, 1.0, True, "a", None, [1], [True]]) for _ in range(3)]}
    return {"type": "integer", "minimum": 0, "maximum": rng.randrange(3)}


def _unevaluated(rng: random.Random, found: Found, depth: int, theme: str) -> None:
    """What no sibling looks at, and siblings that look at something under a condition."""
    if depth <= 0:
        return
    key = "unevaluatedItems" if theme == "array" else "unevaluatedProperties"
    keywords = _objects if key == "unevaluatedProperties" else _arrays
    found[key] = inner(rng, depth) if rng.random() < 0.4 else False

    def branch() -> Any:
        some: dict[str, Any] = {}
        keywords(rng, some, depth, theme)
        if rng.random() < 0.3:
            _contained(rng, some, depth, theme)
        return some

    for way in rng.sample(["anyOf", "allOf", "oneOf", "if", "dependentSchemas", "$ref"], 2):
        if way == "if":
            found["if"], found["then"] = branch(), branch()
            _maybe(rng, found, "else", branch, 0.5)
        elif way == "dependentSchemas":
            found[way] = {rng.choice(NAMES): branch()}
        elif way == "$ref":
            found[way] = rng.choice(["#/$defs/p", "#/$defs/q"])
        else:
            found[way] = [branch() for _ in range(rng.randrange(1, 3))]


def _counted(rng: random.Random, found: Found, depth: int, theme: str) -> None:
    """Numbers of members, and which names there may be."""
    _maybe(rng, found, "minProperties", lambda: rng.randrange(4), 0.5)
    _maybe(rng, found, "maxProperties", lambda: rng.randrange(4), 0.4)
    names = [
        {"enum": ["a", "b", "ab"]},
        {"minLength": 1},
        {"pattern": "^[ab]"},
        {"not": {"const": "a"}},
    ]
    _maybe(rng, found, "propertyNames", lambda: rng.choice(names), 0.4)
    if depth > 0:
        patterns = rng.sample(PATTERNS, 2)
        every = {pattern: inner(rng, depth) for pattern in patterns}
        _maybe(rng, found, "patternProperties", lambda: every, 0.3)


def _conditional(rng: random.Random, found: Found, depth: int, theme: str) -> None:
    if depth <= 0:
        return
    _maybe(rng, found, "not", lambda: schema(rng, depth, theme), 0.4)
    if rng.random() < 0.3:
        found["if"] = schema(rng, depth, theme)
        _maybe(rng, found, "then", lambda: schema(rng, depth, theme), 0.7)
        _maybe(rng, found, "else", lambda: schema(rng, depth, theme), 0.7)


def _dependent(rng: random.Random, found: Found, depth: int, theme: str) -> None:
    pairs = [rng.sample(NAMES, 2) for _ in range(rng.randrange(1, 3))]
    _maybe(rng, found, "dependentRequired", lambda: {a: [b] for a, b in pairs}, 0.4)
    if depth > 0:
        a, b = pairs[0]
        _maybe(rng, found, "dependentSchemas", lambda: {a: schema(rng, depth, theme)}, 0.3)
        _maybe(rng, found, "properties", lambda: {a: True, b: inner(rng, depth)}, 0.3)
    if "additionalProperties" not in found and rng.random() < 0.4:
        found["additionalProperties"] = False
    _maybe(rng, found, "minProperties", lambda: rng.randrange(3), 0.2)
    _maybe(rng, found, "maxProperties", lambda: rng.randrange(3), 0.2)


def mutated(rng: random.Random, value: Any) -> Any:
    """The value with one place changed, somewhere in it."""
    if isinstance(value, list) and value and rng.random() < 0.7:
        at = rng.randrange(len(value))
        return [*value[:at], mutated(rng, value[at]), *value[at + 1 :]]
    if isinstance(value, dict) and value and rng.random() < 0.7:
        name = rng.choice(list(value))
        return {**value, name: mutated(rng, value[name])}
    return _changed(rng, value)


def _changed(rng: random.Random, value: Any) -> Any:
    kind = rng.randrange(4)
    if kind == 0:
        return _any_value(rng)
    if isinstance(value, list):
        at = rng.randrange(len(value) + 1)
        other = rng.choice(value) if value and kind == 1 else _any_value(rng)
        return [*value[:at], other, *value[at:]] if kind < 3 else value[:at] + value[at + 1 :]
    if isinstance(value, dict):
        names = list(value)
        if kind == 1 or not names:
            return {**value, rng.choice([*NAMES, "zz"]): _any_value(rng)}
        rng.shuffle(names)
        return {name: value[name] for name in names[kind - 2 :]}  # in another order; one fewer
    if isinstance(value, bool) or value is None:
        return rng.choice([True, False, None, 0, 1, "true"])
    if isinstance(value, str):
        at = rng.randrange(len(value) + 1)
        return value[:at] + rng.choice(["a", "é", " ", "0"]) + value[at + (kind == 1) :]
    if is_huge(value):
        return 0
    return exact(value) + rng.choice([1, -1, Decimal("0.5"), 10, 100])


def _any_value(rng: random.Random) -> Any:
    return value(rng, 1)


THEMES = {
    "number": [_numbers],
    "string": [_strings],
    "array": [_arrays, _contained, _unevaluated],
    "object": [_objects, _dependent, _counted, _unevaluated],
}
ANY = [_listed, _combined, _combined, _conditional, _conditional]
