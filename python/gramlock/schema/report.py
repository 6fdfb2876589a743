"""What became of each keyword: enforced, narrowed, relaxed, or no more than an annotation.

The report holds on to the schemas that were read and is worked out only when somebody looks. What
the options leave out stands in one table, :data:`NARROWINGS`; the formats say themselves what of
their documents is not written or not checked.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any, Literal

from ..errors import Place
from .algebra import Leaf
from .formats import FORMATS
from .keywords import STRUCTURAL, handlers_of
from .layout import DEEPEST
from .load import Path, place_of
from .options import SchemaOptions

__all__ = ["IDLE", "NARROWINGS", "Entry", "Narrowing", "Report", "Status"]

Status = Literal["enforced", "narrowed", "relaxed", "annotation"]

_NUMERIC = ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf")
_SPELLED = frozenset(
    "properties required dependentRequired dependentSchemas dependencies enum const".split()
)
_CONDITIONS = frozenset("if then else not dependentSchemas".split())
_IN_PLACE = frozenset("allOf anyOf oneOf".split())
_BY_NAME = frozenset("properties patternProperties dependentSchemas $defs definitions".split())

_GAPS = {
    "bounded": "white space: at most one blank, or a line break and at most 32 blanks, in each gap",
    "compact": "no white space",
}

#: Keywords that say nothing unless one of these stands beside them.
IDLE = {
    "if": ("then", "else"),
    "then": ("if",),
    "else": ("if",),
    "minContains": ("contains",),
    "maxContains": ("contains",),
    "additionalItems": ("items",),
}


@dataclass(frozen=True)
class Entry:
    """One place of the schema.

    Attributes:
        pointer: JSON pointer of the keyword; ``""`` for what concerns the whole text.
        status: ``enforced``: exactly; ``narrowed``: some valid texts are left out; ``relaxed``:
            left to a validator; ``annotation``: says nothing about values.
        note: Why, where there is something to say.
    """

    pointer: str
    status: Status
    note: str = ""

    def __str__(self) -> str:
        note = f": {self.note}" if self.note else ""
        return f"{self.status:10} #{self.pointer}{note}"


@dataclass(frozen=True)
class Narrowing:
    """Valid texts that the options leave out.

    Attributes:
        keywords: Where.
        note: Which.
        option: With which option, as in code; ``"any"``: with any.
        applies: Whether it concerns a keyword's value in a schema; both come as JSON.
        in_conditions: Whether it concerns schemas that only test others, as ``if`` does.
    """

    keywords: tuple[str, ...]
    note: str
    option: str
    applies: Callable[[SchemaOptions, dict[str, Any], Any], bool]
    in_conditions: bool = True


def _orders_members(options: SchemaOptions, schema: dict[str, Any], value: Any) -> bool:
    closed = schema.get("additionalProperties") is False and "patternProperties" not in schema
    return options.order == "declared" and bool(value) and (len(value) > 1 or not closed)


def _orders_required(options: SchemaOptions, schema: dict[str, Any], value: Any) -> bool:
    declared = schema.get("properties", {})
    return options.order == "declared" and any(name not in declared for name in value)


def _has_spellings(value: Any, options: SchemaOptions) -> bool:
    """Whether a text other than the one that is written means *value*, white space aside."""
    if value is None or isinstance(value, bool):
        return False
    if isinstance(value, str):
        return options.escapes == "unlisted"
    if isinstance(value, list):
        return any(_has_spellings(item, options) for item in value)
    if isinstance(value, dict):
        orders = options.order == "declared" and len(value) > 1
        names = options.escapes == "unlisted" and bool(value)
        return orders or names or any(_has_spellings(item, options) for item in value.values())
    return True


#: What the options leave out; of several that apply to a keyword the first is reported.
NARROWINGS = (
    Narrowing(
        ("type",),
        "integers are written without fraction and exponent",
        'numbers="canonical"',
        lambda options, schema, value: options.numbers == "canonical" and "integer" in value,
    ),
    Narrowing(
        _NUMERIC,
        "numbers with bounds are written in plain decimals",
        'numbers="canonical"',
        lambda options, schema, value: options.numbers == "canonical",
    ),
    Narrowing(
        _NUMERIC,
        "exponents as far as the language stays regular",
        'numbers="any"',
        lambda options, schema, value: options.numbers == "any",
    ),
    Narrowing(
        ("enum",),
        "each value is written in one way",
        "any",
        lambda options, schema, value: any(_has_spellings(item, options) for item in value),
    ),
    Narrowing(
        ("const",),
        "the value is written in one way",
        "any",
        lambda options, schema, value: _has_spellings(value, options),
    ),
    Narrowing(
        ("properties",),
        "members come in the order in which they are declared",
        'order="declared"',
        _orders_members,
        in_conditions=False,
    ),
    Narrowing(
        ("required",),
        "names that are declared nowhere come as listed, after the declared ones",
        'order="declared"',
        _orders_required,
        in_conditions=False,
    ),
)

_NARROWINGS_OF: dict[str, list[Narrowing]] = {}
for _narrowing in NARROWINGS:
    for _keyword in _narrowing.keywords:
        _NARROWINGS_OF.setdefault(_keyword, []).append(_narrowing)


class Report:
    """How a schema was converted.

    >>> print(gramlock.Grammar.from_json_schema({"type": "integer", "title": "n"}).report)
    narrowed   #: white space: at most one blank, or a line break and at most 32 blanks, in each gap
    narrowed   #/type: integers are written without fraction and exponent
    annotation #/title
    """

    def __init__(
        self,
        leaves: Sequence[Leaf] | Callable[[], Sequence[Leaf]],
        options: SchemaOptions,
        relaxed: Sequence[Place],
        annotations: Sequence[Path] = (),
    ) -> None:
        self._read, self._options, self._left_out = leaves, options, relaxed
        self._annotations = annotations  # keywords that a dialect turns into annotations

    @cached_property
    def _leaves(self) -> Sequence[Leaf]:
        """The schemas, read only now where nobody needed them before."""
        return self._read() if callable(self._read) else self._read

    @cached_property
    def places(self) -> tuple[Entry, ...]:
        """One entry for each keyword that was met, in the order of reading."""
        found = [Entry("", "narrowed", note) for note in self._of_whole_texts()]
        left_out = {place.pointer or "": place.message for place in self._left_out}
        for leaf in self._leaves:
            base, where = place_of(leaf.path)
            for key in leaf.schema:
                entry = self._entry(leaf, key, base, where, left_out)
                if entry is not None:
                    found.append(entry)
        for path in self._annotations:
            pointer, where = place_of(path)
            found.append(Entry(pointer, "annotation", "none of this dialect's keywords" + where))
        known = {entry.pointer for entry in found if entry.status == "relaxed"}
        for place in self._left_out:
            if (place.pointer or "") not in known:
                found.append(Entry(place.pointer or "", "relaxed", place.message))
        return tuple(dict.fromkeys(found))

    @property
    def relaxed(self) -> tuple[Entry, ...]:
        """What a validator has to check afterwards; empty where nothing invalid is written."""
        return tuple(entry for entry in self.places if entry.status == "relaxed")

    def to_dict(self) -> dict[str, Any]:
        """The report as plain data."""
        return {"places": [asdict(entry) for entry in self.places]}

    def __str__(self) -> str:
        return "\n".join(str(entry) for entry in self.places)

    def __repr__(self) -> str:
        return f"<Report: {len(self._leaves)} schemas, {len(self._left_out)} places relaxed>"

    def _entry(
        self, leaf: Leaf, key: str, base: str, where: str, left_out: dict[str, str]
    ) -> Entry | None:
        if key in STRUCTURAL:
            return None
        pointer = base + "/" + key.replace("~", "~0").replace("/", "~1")
        if pointer in left_out:
            return Entry(pointer, "relaxed", left_out[pointer])
        dialect = leaf.scope.dialect
        if dialect.ref_hides and "$ref" in leaf.schema and key != "$ref":
            return Entry(pointer, "annotation", "hidden by the $ref beside it" + where)
        if key not in handlers_of(dialect.year):
            return Entry(pointer, "annotation", where.strip())
        status, note = self._judge(leaf, key)
        return Entry(pointer, status, note + where)

    def _of_whole_texts(self) -> Iterator[str]:
        """What is left out of every text."""
        options = self._options
        separators, indent = options.written_separators(), options.written_indent()
        if separators is not None:
            within = "" if indent is None else f" and an indent of {indent!r}"
            yield f"white space: none but in {separators[0]!r} and {separators[1]!r}{within}"
        elif options.whitespace != "flexible":
            yield _GAPS.get(options.whitespace, f"white space: {options.whitespace} in each gap")
        if indent is not None:
            yield f"values lie in at most {DEEPEST} containers"
        if options.escapes == "minimal":
            yield "characters are escaped only where JSON demands it"
        elif options.escapes == "unlisted" and any(
            not _SPELLED.isdisjoint(leaf.schema) for leaf in self._leaves
        ):
            yield "names and listed strings are escaped only where JSON demands it"

    def _judge(self, leaf: Leaf, key: str) -> tuple[Status, str]:
        schema, value = leaf.schema, leaf.schema[key]
        if key == "format":
            asserted = self._options.formats == "assert" or leaf.scope.dialect.asserts_formats
            return _of_format(value, asserted)
        if key in IDLE and _is_idle(key, schema):
            return "annotation", f"says nothing without {' or '.join(IDLE[key])}"
        for narrowing in _NARROWINGS_OF.get(key, ()):
            if not narrowing.in_conditions and _is_condition(leaf.path):
                continue
            if narrowing.applies(self._options, schema, value):
                return "narrowed", narrowing.note
        return "enforced", ""


def _is_condition(path: Path) -> bool:
    """Whether the schema at *path* is one that others depend on; names in it have no place in
    the declared order."""
    tokens: list[str | int] = []
    while isinstance(path, tuple) and len(path) == 2:
        path, token = path
        tokens.append(token)
    found = False
    while tokens:
        keyword = tokens.pop()
        if tokens and (keyword in _BY_NAME or isinstance(tokens[-1], int)):
            tokens.pop()
        if keyword not in _IN_PLACE:
            found = keyword in _CONDITIONS
    return found


def _is_idle(key: str, schema: dict[str, Any]) -> bool:
    if key == "additionalItems":
        return not isinstance(schema.get("items"), list)
    return not any(other in schema for other in IDLE[key])


def _of_format(name: str, asserted: bool) -> tuple[Status, str]:
    form = FORMATS.get(name)
    if form is None:
        return "annotation", f"unknown format {name!r}"
    if not asserted:
        return "annotation", ""
    if form.unchecked is not None:
        return "relaxed", form.gap or ""
    return ("enforced", "") if form.unwritten is None else ("narrowed", form.unwritten)
