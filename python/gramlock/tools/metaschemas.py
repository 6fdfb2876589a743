"""What is wrong with a schema by the meta-schema of its dialect, schema by schema.

A meta-schema describes a schema and, through references to itself, all schemas inside. Here these
references are replaced by "an object or a boolean", and each schema inside is checked on its own,
so that no schema nests too deep to be checked, and a problem's place is where it stands.

Definitions are checked, too, whether or not anything refers to them.

Thread-safe. Cost: about 20 microseconds a schema.

Tested by tests/test_tools_validate.py.
"""

from __future__ import annotations

from functools import lru_cache
from itertools import islice
from typing import Any

from .pointer import Place, to_pointer
from .quick import Check, quick_check
from .schemas import Prepared, Walk, registry, subschemas
from .violation import Violation, describe

__all__ = ["problems_of"]

_URI = {
    4: "http://json-schema.org/draft-04/schema",
    6: "http://json-schema.org/draft-06/schema",
    7: "http://json-schema.org/draft-07/schema",
    2019: "https://json-schema.org/draft/2019-09/schema",
    2020: "https://json-schema.org/draft/2020-12/schema",
}
_MOST = 20  # problems that are listed


def problems_of(prepared: Prepared) -> list[str]:
    """The problems of a schema, each with its pointer; at most twenty."""
    quick, judge = _of_dialect(prepared.year)
    found: dict[str, None] = {}
    stack: list[tuple[Any, Place]] = [(prepared.root, ())]
    while stack and len(found) < _MOST:
        schema, place = stack.pop()
        if isinstance(schema, bool):
            continue
        if quick is None or not quick(schema):
            for problem in islice(judge().iter_errors(schema), _MOST):
                found[_told(problem, place)] = None
        if isinstance(schema, dict):
            inner = [(part, (*place, *more)) for _, more, part, _, _ in subschemas(schema, True)]
            stack.extend(reversed(inner))
    return list(found)


def _told(problem: Any, place: Place) -> str:
    member = problem.property
    where = to_pointer((*place, *problem.path, *([] if member is None else [member])))
    got = describe(problem.instance) if problem.got is None else problem.got
    return str(Violation("", str(problem.validator), problem.expected, got, path=f"#{where}"))


@lru_cache(maxsize=8)
def _of_dialect(year: int) -> tuple[Check | None, Any]:
    from .keywords import dialect_class
    from .problems import Run

    flat = Prepared(_flat(registry()[_URI[year]].contents, year), 2020)
    Walk(flat).run()
    kind = dialect_class(2020, False)

    def judge() -> Any:
        return kind(flat.root, registry=registry(), format_checker=Run())

    return quick_check(flat, kind.VALIDATORS), judge


def _flat(contents: Any, year: int) -> dict[str, Any]:
    """One meta-schema without references, of the parts of all its vocabularies."""
    documents = [contents]
    for part in contents.get("allOf", ()):
        base = _URI[year].removesuffix("schema")
        documents.append(registry()[base + part["$ref"]].contents)
    members: dict[str, Any] = {}
    for document in documents:
        for name, schema in document["properties"].items():
            members.setdefault(name, _without_references(schema, document, year))
    types = ["object"] if year == 4 else ["object", "boolean"]
    return {"type": types, "properties": members}


def _without_references(value: Any, document: Any, year: int) -> Any:
    if isinstance(value, list):
        return [_without_references(item, document, year) for item in value]
    if not isinstance(value, dict):
        return value
    target = value.get("$ref")
    if target == "#" or "$dynamicRef" in value or "$recursiveRef" in value:
        return {"type": "object" if year == 4 else ["object", "boolean"]}
    if target is None:
        found = {
            keyword: _without_references(part, document, year)
            for keyword, part in value.items()
            if keyword not in ("$comment", "default", "format", "propertyNames")
        }
        if found.get("exclusiveMinimum") is True:  # in draft 4 a flag
            found["exclusiveMinimum"] = found.pop("minimum")
        return found
    uri, _, pointer = target.partition("#")
    if uri:
        document = registry()[_URI[year].removesuffix("schema") + uri].contents
    at = document
    for token in pointer.split("/")[1:]:
        at = at[token]
    return _without_references(at, document, year)
