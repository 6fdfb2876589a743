"""What became of each keyword: enforced, narrowed, relaxed, or no more than an annotation.

The report holds on to the schemas that were read and is worked out only when somebody looks.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any, Literal

from ..errors import Place
from .algebra import Leaf
from .formats import FORMATS
from .keywords import STRUCTURAL, handlers_of
from .load import place_of
from .options import SchemaOptions

__all__ = ["Entry", "Report", "Status"]

Status = Literal["enforced", "narrowed", "relaxed", "annotation"]

_NUMERIC = ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf")

_GAPS = {
    "bounded": "white space: at most one blank, or a line break and at most 32 blanks, in each gap",
    "compact": "no white space",
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


class Report:
    """How a schema was converted.

    >>> print(gramlock.Grammar.from_json_schema({"type": "integer", "title": "n"}).report)
    narrowed   #: white space: at most one blank, or a line break and at most 32 blanks, in each gap
    narrowed   #/type: integers are written without fraction and exponent
    annotation #/title
    """

    def __init__(
        self, leaves: Sequence[Leaf], options: SchemaOptions, relaxed: Sequence[Place]
    ) -> None:
        self._leaves, self._options, self._left_out = leaves, options, relaxed

    @cached_property
    def places(self) -> tuple[Entry, ...]:
        """One entry for each keyword that was met, in the order of reading."""
        found: list[Entry] = []
        whitespace = self._options.whitespace
        if whitespace != "flexible":
            note = _GAPS.get(whitespace, f"white space: {whitespace} in each gap")
            found.append(Entry("", "narrowed", note))
        left_out = {place.pointer or "": place.message for place in self._left_out}
        for leaf in self._leaves:
            base, where = place_of(leaf.path)
            for key in leaf.schema:
                entry = self._entry(leaf, key, base, where, left_out)
                if entry is not None:
                    found.append(entry)
        return tuple(found)

    @property
    def relaxed(self) -> tuple[Entry, ...]:
        """What a validator has to check afterwards; empty where the grammar is exact."""
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
            return Entry(pointer, "relaxed", left_out[pointer] + where)
        dialect = leaf.scope.dialect
        if dialect.ref_hides and "$ref" in leaf.schema and key != "$ref":
            return Entry(pointer, "annotation", "hidden by the $ref beside it" + where)
        if key not in handlers_of(dialect.year):
            return Entry(pointer, "annotation", where.strip())
        status, note = self._judge(leaf, key)
        return Entry(pointer, status, note + where)

    def _judge(self, leaf: Leaf, key: str) -> tuple[Status, str]:
        value, options = leaf.schema[key], self._options
        if key == "format":
            if options.formats == "annotate" or value not in FORMATS:
                return "annotation", "" if value in FORMATS else f"unknown format {value!r}"
            return "enforced", FORMATS[value].gap or ""
        if key == "properties" and options.order == "declared" and len(value) > 1:
            return "narrowed", "members come in the order in which they are declared"
        if key == "type" and options.numbers == "canonical" and "integer" in value:
            return "narrowed", "integers are written without fraction and exponent"
        if key in _NUMERIC and options.numbers == "canonical":
            return "narrowed", "numbers with bounds are written in plain decimals"
        if key in ("enum", "const"):
            return "narrowed", "each value is written in one way"
        return "enforced", ""
