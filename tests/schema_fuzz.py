"""Small random schemas and values, dense enough that each schema splits the values.

Names, strings and numbers come from tiny pools, so that bounds, patterns and names collide often.
Only keywords that the front end knows how to enforce are drawn; where a complement is no normal
form the schema may still be refused.
"""

from __future__ import annotations

import random
from typing import Any

NAMES = ["a", "b", "ab", "x1", ""]
STRINGS = ["", "a", "b", "ab", "abc", "ba", "x1", 'q"', "é", "😀"]
NUMBERS = [0, 1, 2, 3, -1, 5, 0.5, 1.5, 2.0, -2.5, 10]
PATTERNS = ["a", "^a", "b$", "^ab?$", "^[^a]*$", "^x\\d", "^$"]
TYPES = ["null", "boolean", "integer", "number", "string", "array", "object"]


def value(rng: random.Random, depth: int = 3) -> Any:
    """A JSON value of at most *depth* levels."""
    kind = rng.randrange(7 if depth else 5)
    if kind == 0:
        return rng.choice([None, True, False])
    if kind < 3:
        return rng.choice(NUMBERS)
    if kind < 5:
        return rng.choice(STRINGS)
    if kind == 5:
        return [value(rng, depth - 1) for _ in range(rng.randrange(4))]
    return {rng.choice(NAMES): value(rng, depth - 1) for _ in range(rng.randrange(4))}


def document(rng: random.Random) -> Any:
    """A schema with definitions that refer to each other."""
    root = schema(rng, 3)
    if isinstance(root, dict):
        root["$defs"] = {name: schema(rng, 2) for name in ("p", "q")}
    return root


def schema(rng: random.Random, depth: int) -> Any:
    """A schema of at most *depth* levels."""
    if rng.random() < 0.06:
        return rng.random() < 0.7
    found: dict[str, Any] = {}
    if rng.random() < 0.6:
        found["type"] = rng.choice(TYPES) if rng.random() < 0.7 else rng.sample(TYPES, 2)
    for part in rng.sample(PARTS, 2):
        part(rng, found, depth - 1)
    pairs = list(found.items())
    rng.shuffle(pairs)
    return dict(pairs)


def _maybe(rng: random.Random, found: dict[str, Any], key: str, make: Any, odds: float) -> None:
    if rng.random() < odds:
        found[key] = make()


def _numbers(rng: random.Random, found: dict[str, Any], depth: int) -> None:
    low = rng.choice(NUMBERS)
    _maybe(rng, found, rng.choice(["minimum", "exclusiveMinimum"]), lambda: low, 0.4)
    high = low + rng.choice([0, 0.5, 1, 3])
    _maybe(rng, found, rng.choice(["maximum", "exclusiveMaximum"]), lambda: high, 0.3)
    _maybe(rng, found, "multipleOf", lambda: rng.choice([1, 2, 0.5, 3]), 0.2)


def _strings(rng: random.Random, found: dict[str, Any], depth: int) -> None:
    _maybe(rng, found, "minLength", lambda: rng.randrange(3), 0.3)
    _maybe(rng, found, "maxLength", lambda: rng.randrange(1, 4), 0.3)
    _maybe(rng, found, "pattern", lambda: rng.choice(PATTERNS), 0.4)


def _arrays(rng: random.Random, found: dict[str, Any], depth: int) -> None:
    if depth > 0:
        _maybe(rng, found, "items", lambda: schema(rng, depth), 0.6)
        size = rng.randrange(1, 3)
        _maybe(rng, found, "prefixItems", lambda: [schema(rng, depth) for _ in range(size)], 0.3)
    _maybe(rng, found, "minItems", lambda: rng.randrange(3), 0.3)
    _maybe(rng, found, "maxItems", lambda: rng.randrange(4), 0.3)


def _objects(rng: random.Random, found: dict[str, Any], depth: int) -> None:
    if depth <= 0:
        return
    names = rng.sample(NAMES, rng.randrange(1, 4))
    _maybe(rng, found, "properties", lambda: {n: schema(rng, depth) for n in names}, 0.8)
    _maybe(rng, found, "required", lambda: rng.sample(NAMES, rng.randrange(3)), 0.4)
    _maybe(rng, found, "additionalProperties", lambda: schema(rng, depth), 0.4)
    patterns = rng.sample(PATTERNS, rng.randrange(1, 3))
    _maybe(rng, found, "patternProperties", lambda: {p: schema(rng, depth) for p in patterns}, 0.3)
    _maybe(
        rng, found, "propertyNames", lambda: rng.choice([{"maxLength": 1}, {"pattern": "a"}]), 0.1
    )


def _listed(rng: random.Random, found: dict[str, Any], depth: int) -> None:
    if rng.random() < 0.3:
        found["enum"] = [value(rng, 2) for _ in range(rng.randrange(1, 5))]
    elif rng.random() < 0.2:
        found["const"] = value(rng, 2)


def _combined(rng: random.Random, found: dict[str, Any], depth: int) -> None:
    if depth <= 0:
        return
    if rng.random() < 0.4:
        found["$ref"] = rng.choice(["#", "#/$defs/p", "#/$defs/q"])
    for key, odds in (("anyOf", 0.4), ("allOf", 0.4), ("oneOf", 0.2)):
        branches = range(rng.randrange(1, 4))
        _maybe(
            rng, found, key, lambda branches=branches: [schema(rng, depth) for _ in branches], odds
        )


def _conditional(rng: random.Random, found: dict[str, Any], depth: int) -> None:
    if depth <= 0:
        return
    _maybe(rng, found, "not", lambda: schema(rng, depth), 0.4)
    if rng.random() < 0.3:
        found["if"] = schema(rng, depth)
        _maybe(rng, found, "then", lambda: schema(rng, depth), 0.7)
        _maybe(rng, found, "else", lambda: schema(rng, depth), 0.7)


def _dependent(rng: random.Random, found: dict[str, Any], depth: int) -> None:
    pairs = [rng.sample(NAMES, 2) for _ in range(rng.randrange(1, 3))]
    _maybe(rng, found, "dependentRequired", lambda: {a: [b] for a, b in pairs}, 0.4)
    if depth > 0:
        a, b = pairs[0]
        _maybe(rng, found, "dependentSchemas", lambda: {a: schema(rng, depth)}, 0.3)
        _maybe(rng, found, "properties", lambda: {a: True, b: schema(rng, depth)}, 0.3)
    if "additionalProperties" not in found and rng.random() < 0.4:
        found["additionalProperties"] = False
    _maybe(rng, found, "minProperties", lambda: rng.randrange(3), 0.2)
    _maybe(rng, found, "maxProperties", lambda: rng.randrange(3), 0.2)


PARTS = [_numbers, _strings, _arrays, _objects, _listed, _combined, _conditional, _dependent]
