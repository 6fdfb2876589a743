"""The keywords of JSON Schema for ``jsonschema``, each corrected, so that every fault is named.

``jsonschema`` gives the frame: dialects, the descent into a value, references by ``referencing``.
The keywords are this package's own (leaves, branches and what stands below), because its own
disagree with the standard, and so with the grammar, on patterns, decimals, huge numbers and nested
equality; the repair of a call could then never end.

This module is imported when the first validator is made, since it needs the package.
Thread-safe: classes are made once. Cost: microseconds a schema and value.

Tested by tests/test_tools_validate.py and test_tools_validate_fuzz.py.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from functools import lru_cache
from typing import Any

from .branches import union_keyword
from .leaves import LEAVES, Leaf, shown, shown_list
from .patterns import matcher
from .problems import KEPT, Evaluating, Keyword, Problem, Run, Seen, holds
from .schemas import FALSE, NOTHING
from .violation import quote

__all__ = ["dialect_class"]


def _from_leaf(leaf: Leaf) -> Keyword:
    def keyword(validator: Any, param: Any, instance: Any, schema: Any) -> Iterator[Any]:
        if instance.__class__ is not Evaluating:
            found = leaf(param, instance)
            if found is not None:
                yield Problem(*found)

    return keyword


# -- objects --------------------------------------------------------------------------------------


def _properties(validator: Any, members: Any, instance: Any, schema: Any) -> Iterator[Any]:
    if instance.__class__ is Evaluating:
        if isinstance(instance.value, dict):
            yield Seen(members.keys() & instance.value.keys())
    elif isinstance(instance, dict):
        for name, inner in members.items():
            if name in instance:
                yield from _described(
                    validator.descend(instance[name], inner, path=name, schema_path=name), inner
                )


def _described(problems: Iterator[Any], schema: Any) -> Iterator[Any]:
    """Problems of a member, with the description that stands beside a reference, if any."""
    for problem in problems:
        if len(problem.path) == 1 and problem.property is None and problem.description is None:
            problem.description = _description(schema)
        yield problem


def _description(schema: Any) -> str | None:
    found = schema.get("description") if isinstance(schema, dict) else None
    return found if isinstance(found, str) else None


def _pattern_properties(validator: Any, patterns: Any, instance: Any, schema: Any) -> Iterator[Any]:
    value = instance.value if instance.__class__ is Evaluating else instance
    if not isinstance(value, dict):
        return
    for pattern, inner in patterns.items():
        search = matcher(pattern)
        matching = [name for name in value if search(name) is not False]
        if value is not instance:
            yield Seen(matching)
            continue
        for name in matching:
            if search(name) is None:
                yield Problem(f"a name that is short enough to check with {pattern:.100}", "", name)
            yield from validator.descend(value[name], inner, path=name, schema_path=pattern)


def _extras(value: dict[str, Any], schema: Any) -> list[str]:
    """The members that ``properties`` and ``patternProperties`` beside a keyword do not name."""
    named = schema.get("properties", ())
    searches = [matcher(pattern) for pattern in schema.get("patternProperties", ())]
    return [
        name
        for name in value
        if name not in named and not any(search(name) is not False for search in searches)
    ]


def _additional_properties(validator: Any, inner: Any, instance: Any, schema: Any) -> Iterator[Any]:
    value = instance.value if instance.__class__ is Evaluating else instance
    if isinstance(value, dict):
        extras = _extras(value, schema)
        if value is not instance:
            yield Seen(extras)
        elif inner is NOTHING:
            for name in extras:
                yield _not_allowed(name, schema.get("properties", ()))
        else:
            for name in extras:
                yield from validator.descend(value[name], inner, path=name)


def _not_allowed(name: str, known: Collection[str]) -> Problem:
    text = f"not allowed; known: {shown_list(quote(one) or '…' for one in known)}"
    return Problem(text if known else "not allowed", "", name)


def _property_names(validator: Any, inner: Any, instance: Any, schema: Any) -> Iterator[Any]:
    if isinstance(instance, dict):
        for name in instance:
            for problem in validator.descend(name, inner):
                problem.property = name
                problem.expected = f"as its name {problem.expected}"
                yield problem


def _required(validator: Any, names: Any, instance: Any, schema: Any) -> Iterator[Any]:
    if isinstance(instance, dict):
        for name in names:
            if name not in instance:
                yield _missing(name, schema, "required")


def _missing(name: str, schema: Any, text: str) -> Problem:
    problem = Problem(text, "", name)
    members = schema.get("properties")
    if isinstance(members, dict):
        problem.description = _description(members.get(name))
    return problem


def _dependent_required(validator: Any, names: Any, instance: Any, schema: Any) -> Iterator[Any]:
    if isinstance(instance, dict):
        for name, others in names.items():
            if name in instance:
                for other in others:
                    if other not in instance:
                        beside = quote(name) or "another member"
                        yield _missing(other, schema, f"required beside {beside}")


def _dependent_schemas(validator: Any, schemas: Any, instance: Any, schema: Any) -> Iterator[Any]:
    value = instance.value if instance.__class__ is Evaluating else instance
    if isinstance(value, dict):
        for name, inner in schemas.items():
            if name in value:
                yield from validator.descend(instance, inner, schema_path=name)


def _dependencies(validator: Any, members: Any, instance: Any, schema: Any) -> Iterator[Any]:
    """Of drafts up to 7; the meta-schemas of the later ones still describe it."""
    value = instance.value if instance.__class__ is Evaluating else instance
    if isinstance(value, dict):
        for name, inner in members.items():
            if name in value and isinstance(inner, list):
                yield from _dependent_required(validator, {name: inner}, instance, schema)
            elif name in value:
                yield from validator.descend(instance, inner, schema_path=name)


# -- arrays ---------------------------------------------------------------------------------------


def _each(validator: Any, instance: list[Any], start: int, inner: Any) -> Iterator[Any]:
    """The items from *start* on, all by one schema."""
    if inner is NOTHING:
        if len(instance) > start:
            yield Problem(f"at most {start} items", f"{len(instance)} items")
        return
    for index in range(start, len(instance)):
        yield from validator.descend(instance[index], inner, path=index)


def _prefix_items(validator: Any, schemas: Any, instance: Any, schema: Any) -> Iterator[Any]:
    if instance.__class__ is Evaluating:
        if isinstance(instance.value, list):
            yield Seen(range(min(len(schemas), len(instance.value))))
    elif isinstance(instance, list):
        for index, (item, inner) in enumerate(zip(instance, schemas, strict=False)):
            yield from validator.descend(item, inner, path=index, schema_path=index)


def _items(validator: Any, inner: Any, instance: Any, schema: Any) -> Iterator[Any]:
    if isinstance(inner, list):  # up to 2019-09
        yield from _prefix_items(validator, inner, instance, schema)
        return
    start = len(schema.get("prefixItems", ()))
    if instance.__class__ is Evaluating:
        if isinstance(instance.value, list):
            yield Seen(range(start, len(instance.value)))
    elif isinstance(instance, list):
        yield from _each(validator, instance, start, inner)


def _additional_items(validator: Any, inner: Any, instance: Any, schema: Any) -> Iterator[Any]:
    listed = schema.get("items")
    if not isinstance(listed, list):
        return
    if instance.__class__ is Evaluating:
        if isinstance(instance.value, list):
            yield Seen(range(len(listed), len(instance.value)))
    elif isinstance(instance, list):
        yield from _each(validator, instance, len(listed), inner)


def _contains(counts: bool, evaluates: bool) -> Keyword:
    """``contains`` of a draft: whether it counts, whether what it finds is evaluated."""

    def keyword(validator: Any, inner: Any, instance: Any, schema: Any) -> Iterator[Any]:
        value = instance.value if instance.__class__ is Evaluating else instance
        if not isinstance(value, list):
            return
        if value is not instance:
            if evaluates:
                yield Seen([i for i, item in enumerate(value) if holds(validator, item, inner)])
            return
        found = sum(holds(validator, item, inner) for item in value)
        least = schema.get("minContains", 1) if counts else 1
        most = schema.get("maxContains", len(value)) if counts else len(value)
        if found < least:
            text = f"at least {shown(least)} item{'s' * (least != 1)} as contains describes"
            yield Problem(text, f"{found} of {len(value)}")
        elif found > most:
            text = f"at most {shown(most)} item{'s' * (most != 1)} as contains describes"
            yield Problem(text, f"{found} of {len(value)}")

    return keyword


# -- what nothing else looked at ------------------------------------------------------------------


def _seen(validator: Any, value: Any, schema: Any, keyword: str) -> set[Any]:
    """The members or items that the other keywords of a schema look at."""
    others = {key: part for key, part in schema.items() if key not in (keyword, "$id")}
    found: set[Any] = set()
    for mark in validator.descend(Evaluating(value), others):
        found.update(mark.parts)
    return found


def _unevaluated_properties(
    validator: Any, inner: Any, instance: Any, schema: Any
) -> Iterator[Any]:
    if instance.__class__ is Evaluating:
        if isinstance(instance.value, dict):
            yield Seen(instance.value)
    elif isinstance(instance, dict):
        seen = _seen(validator, instance, schema, "unevaluatedProperties")
        for name, value in instance.items():
            if name not in seen and inner is NOTHING:
                yield Problem("not allowed", "", name)
            elif name not in seen:
                yield from validator.descend(value, inner, path=name)


def _unevaluated_items(validator: Any, inner: Any, instance: Any, schema: Any) -> Iterator[Any]:
    if instance.__class__ is Evaluating:
        if isinstance(instance.value, list):
            yield Seen(range(len(instance.value)))
    elif isinstance(instance, list):
        seen = _seen(validator, instance, schema, "unevaluatedItems")
        rest = [index for index in range(len(instance)) if index not in seen]
        if rest and inner is NOTHING:
            yield Problem("no other items", f"item {shown_list(map(str, rest))}")
            return
        for index in rest:
            yield from validator.descend(instance[index], inner, path=index)


# -- schemas about the same value -----------------------------------------------------------------


def _all_of(validator: Any, schemas: Any, instance: Any, schema: Any) -> Iterator[Any]:
    for index, inner in enumerate(schemas):
        yield from validator.descend(instance, inner, schema_path=index)


def _not(validator: Any, inner: Any, instance: Any, schema: Any) -> Iterator[Any]:
    if instance.__class__ is not Evaluating and holds(validator, instance, inner):
        yield Problem(f"anything but {_summary(inner)}")


def _summary(schema: Any) -> str:
    """A schema in a few words."""
    if isinstance(schema, dict):
        for keyword in ("title", "const", "enum", "type", "required", "pattern"):
            if keyword in schema:
                value = schema[keyword]
                if isinstance(value, list):
                    return f"{keyword} {shown_list(map(shown, value))}"
                return value if keyword in ("title", "type") else f"{keyword} {shown(value)}"
    return "what the schema excludes"


def _if(validator: Any, condition: Any, instance: Any, schema: Any) -> Iterator[Any]:
    value = instance.value if instance.__class__ is Evaluating else instance
    met = holds(validator, value, condition)
    if met and value is not instance:
        yield from validator.descend(instance, condition)
    branch = "then" if met else "else"
    if branch in schema:
        yield from validator.descend(instance, schema[branch], schema_path=branch)


def _false(validator: Any, nothing: Any, instance: Any, schema: Any) -> Iterator[Any]:
    if instance.__class__ is not Evaluating:
        yield Problem("not allowed", "", validator="false")


def _reference(name: str, base: Keyword) -> Keyword:
    """``jsonschema`` resolves it; what it says itself about ``false`` is put in our terms.

    What a schema had to say about a value is not found out again: references can reach the same
    schema in more ways than could ever be followed.
    """

    def keyword(validator: Any, reference: Any, instance: Any, schema: Any) -> Iterator[Any]:
        run: Run = validator.format_checker
        run.step()
        target = run.targets.get((id(schema), name))
        keeps = run.keeps and target is not None and instance.__class__ is not Evaluating
        key = (id(target), id(instance))
        if keeps and key in run.told:
            for problem, place in run.told[key]:
                yield problem.again(place)
            return
        told: list[tuple[Problem, tuple[Any, ...]]] = []
        for problem in base(validator, reference, instance, schema):
            if not isinstance(problem, Problem | Seen):
                if instance.__class__ is Evaluating:
                    continue
                problem = Problem("not allowed", "", validator="false")
            if keeps and len(told) < KEPT:
                told.append((problem, tuple(problem.path)))
            yield problem
        # Equal scalars at several places may be one object, and problems have a place.
        if keeps and (not told or isinstance(instance, dict | list)):
            run.told[key] = told

    return keyword


# -- dialects -------------------------------------------------------------------------------------


def _minimum_of_4(leaf: str, exclusive: str, flag: str) -> Keyword:
    """Draft 4 has a flag where later ones have a bound of its own."""

    def keyword(validator: Any, bound: Any, instance: Any, schema: Any) -> Iterator[Any]:
        name = exclusive if schema.get(flag) is True else leaf
        yield from _from_leaf(LEAVES[name])(validator, bound, instance, schema)

    return keyword


_COMMON: dict[str, Keyword] = {
    **{name: _from_leaf(leaf) for name, leaf in LEAVES.items()},
    FALSE: _false,
    "additionalProperties": _additional_properties,
    "allOf": _all_of,
    "anyOf": union_keyword("anyOf"),
    "dependencies": _dependencies,
    "items": _items,
    "not": _not,
    "oneOf": union_keyword("oneOf"),
    "patternProperties": _pattern_properties,
    "properties": _properties,
    "required": _required,
}
_OF_2019: dict[str, Keyword] = {
    "dependentRequired": _dependent_required,
    "dependentSchemas": _dependent_schemas,
    "unevaluatedItems": _unevaluated_items,
    "unevaluatedProperties": _unevaluated_properties,
}


def _keywords(year: int) -> dict[str, Keyword]:
    found = dict(_COMMON)
    if year < 2020:
        found["additionalItems"] = _additional_items
    if year == 4:
        del found["const"], found["exclusiveMinimum"], found["exclusiveMaximum"]
        found["minimum"] = _minimum_of_4("minimum", "exclusiveMinimum", "exclusiveMinimum")
        found["maximum"] = _minimum_of_4("maximum", "exclusiveMaximum", "exclusiveMaximum")
        return found
    found["contains"] = _contains(counts=year >= 2019, evaluates=year >= 2020)
    found["propertyNames"] = _property_names
    if year >= 7:
        found["if"] = _if
    if year >= 2019:
        found.update(_OF_2019)
    if year >= 2020:
        found["prefixItems"] = _prefix_items
    return found


def _reference_alone(schema: Any) -> Any:
    """Up to draft 7, ``$ref`` hides what stands beside it."""
    return [("$ref", schema["$ref"])] if "$ref" in schema else schema.items()


@lru_cache(maxsize=16)
def dialect_class(year: int, formats: bool) -> Any:
    """The validator class of a draft."""
    import jsonschema

    base = {
        4: jsonschema.Draft4Validator,
        6: jsonschema.Draft6Validator,
        7: jsonschema.Draft7Validator,
        2019: jsonschema.Draft201909Validator,
        2020: jsonschema.Draft202012Validator,
    }[year]
    found = _keywords(year)
    if not formats:
        del found["format"]
    for name in ("$ref", "$dynamicRef", "$recursiveRef"):
        if name in base.VALIDATORS:
            found[name] = _reference(name, base.VALIDATORS[name])
    more: dict[str, Any] = {"applicable_validators": _reference_alone} if year <= 7 else {}
    return jsonschema.validators.create(
        meta_schema=base.META_SCHEMA, validators=found, id_of=base.ID_OF, **more
    )
