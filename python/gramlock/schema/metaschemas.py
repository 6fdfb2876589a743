"""The drafts' own metaschemas, and the vocabularies that a metaschema can name.

The documents come from the ``jsonschema-specifications`` package, which is imported only when a
reference leads to one of them: they are part of every dialect, so naming one fetches nothing.
"""

from __future__ import annotations

from typing import Any

from .options import DIALECTS
from .resources import Dialect

__all__ = ["BY_URI", "document", "with_vocabulary"]

_YEARS = {"draft4": 4, "draft6": 6, "draft7": 7, "2019-09": 2019, "2020-12": 2020}

#: The dialects that are built in.
BY_URI = {uri: Dialect(uri, _YEARS[name]) for name, uri in DIALECTS.items()}

_UNEVALUATED = frozenset("unevaluatedItems unevaluatedProperties".split())
_APPLICATOR = frozenset(
    "prefixItems items additionalItems contains properties patternProperties additionalProperties "
    "propertyNames dependentSchemas allOf anyOf oneOf not if then else".split()
)
_VALIDATION = frozenset(
    "type const enum multipleOf maximum exclusiveMaximum minimum exclusiveMinimum maxLength "
    "minLength pattern maxItems minItems uniqueItems maxContains minContains maxProperties "
    "minProperties required dependentRequired".split()
)
_FORMAT = frozenset(["format"])

#: By draft: the vocabularies and the keywords in them that say something about values.
_VOCABULARIES: dict[int, dict[str, frozenset[str]]] = {
    2019: {
        "core": frozenset(),
        "applicator": _APPLICATOR | _UNEVALUATED,
        "validation": _VALIDATION,
        "meta-data": frozenset(),
        "format": _FORMAT,
        "content": frozenset(),
    },
    2020: {
        "core": frozenset(),
        "applicator": _APPLICATOR,
        "unevaluated": _UNEVALUATED,
        "validation": _VALIDATION,
        "meta-data": frozenset(),
        "format-annotation": _FORMAT,
        "format-assertion": _FORMAT,
        "content": frozenset(),
    },
}


def with_vocabulary(uri: str, base: Dialect, vocabulary: Any) -> Dialect:
    """The dialect of a metaschema that is itself written in *base*.

    Args:
        uri: Of the metaschema.
        base: The dialect whose keywords are chosen from.
        vocabulary: Its ``$vocabulary``; without one, all keywords of *base* are known.
    """
    if base.year < 2019 or not isinstance(vocabulary, dict):
        return Dialect(uri, base.year, base.annotations, base.asserts_formats, base.problem)
    prefix = DIALECTS["2019-09" if base.year == 2019 else "2020-12"].removesuffix("schema")
    known = {prefix + "vocab/" + name: keys for name, keys in _VOCABULARIES[base.year].items()}
    for name, required in vocabulary.items():
        if required is True and name not in known:
            return Dialect(uri, base.year, problem=f"the vocabulary {name!r} is not known")
    chosen = {name for name in vocabulary if name in known}
    enforced = frozenset[str]().union(*(known[name] for name in chosen))
    every = frozenset[str]().union(*known.values())
    asserts = prefix + "vocab/format-assertion" in chosen
    asserts = asserts or vocabulary.get(prefix + "vocab/format") is True
    return Dialect(uri, base.year, every - enforced, asserts)


def document(uri: str) -> Any:
    """The metaschema at *uri*, or None."""
    if not uri.startswith(("http://json-schema.org/draft-", "https://json-schema.org/draft/")):
        return None
    from jsonschema_specifications import REGISTRY

    found = REGISTRY.get(uri) or REGISTRY.get(uri + "#")
    return None if found is None else found.contents
