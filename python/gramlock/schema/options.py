"""How a JSON Schema is read and written out: the options, their choices and their defaults.

Every field's first choice is its default; an unknown choice is a :class:`ValueError` that lists
the known ones.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from ..limits import Limits

__all__ = ["DEFAULT", "DIALECTS", "SchemaOptions"]

#: Short names of the dialects and the URIs that ``$schema`` has for them.
DIALECTS = {
    "2020-12": "https://json-schema.org/draft/2020-12/schema",
    "2019-09": "https://json-schema.org/draft/2019-09/schema",
    "draft7": "http://json-schema.org/draft-07/schema",
    "draft6": "http://json-schema.org/draft-06/schema",
    "draft4": "http://json-schema.org/draft-04/schema",
}

_WHITE_SPACE = " \t\n\r"

_CHOICES = {
    "order": ("declared", "any"),
    "numbers": ("canonical", "any"),
    "escapes": ("unlisted", "minimal", "any"),
    "formats": ("assert", "annotate"),
    "on_unsupported": ("error", "relax"),
}


@dataclass(frozen=True)
class SchemaOptions:
    """Options of a schema's conversion.

    Attributes:
        order: ``"declared"``: members in the order of ``properties``, then required names that
            are declared nowhere, then all others; ``"any"``: every order.
        whitespace: ``"bounded"``: at most one blank, or a line break with at most 32 blanks, in
            each gap; ``"compact"``: none; ``"flexible"``: any; or a pattern (ECMA-262) that a
            whole gap matches.
        separators: ``(between items, between key and value)``, as ``json.dumps`` has it: with them
            the layout is fixed, and ``whitespace`` keeps its default.
        indent: Blanks (a number of them, or a text) for each container around a line, as
            ``json.dumps`` has it; fixes the layout, too, and values nest at most 32 deep.
        numbers: ``"canonical"``: one plain spelling for constrained numbers; ``"any"``: also
            ``1.0`` for 1, and exponents where the language stays regular.
        escapes: ``"unlisted"``: strings that the schema does not list may be written in every
            way, so also as ``"\\u0041"``, while declared names, ``enum`` and ``const`` are written
            as by ``json.dumps(..., ensure_ascii=False)``; ``"minimal"``: all are written so;
            ``"any"``: none has to be.
        formats: ``"assert"``: known formats are enforced; ``"annotate"``: none is.
        on_unsupported: ``"error"``: a keyword that cannot be enforced refuses the schema;
            ``"relax"``: it is left out, and the report says so.
        dialect: URI (or short name) of the dialect of a schema without ``$schema``.
        registry: Other documents by URI, for references; nothing is ever fetched.
        limits: Budgets; ``schema_depth`` and ``schema_nodes`` are read here.
    """

    order: str = "declared"
    whitespace: str = "bounded"
    separators: tuple[str, str] | None = None
    indent: int | str | None = None
    numbers: str = "canonical"
    escapes: str = "unlisted"
    formats: str = "assert"
    on_unsupported: str = "error"
    dialect: str = DIALECTS["2020-12"]
    registry: Mapping[str, Any] = field(default_factory=dict)
    limits: Any = None

    def __post_init__(self) -> None:
        for name, choices in _CHOICES.items():
            value = getattr(self, name)
            if value not in choices:
                known = ", ".join(repr(choice) for choice in choices)
                raise ValueError(f"{name} is one of {known}, not {value!r}")
        if not isinstance(self.whitespace, str):
            raise ValueError("whitespace is 'bounded', 'compact', 'flexible' or a pattern")
        self._check_layout()
        uri = DIALECTS.get(self.dialect, self.dialect)
        uri = uri[:-1] if isinstance(uri, str) and uri.endswith("#") else uri
        if uri not in DIALECTS.values():
            known = ", ".join(repr(choice) for choice in DIALECTS.values())
            raise ValueError(f"dialect is one of {known}, not {self.dialect!r}")
        object.__setattr__(self, "dialect", uri)
        object.__setattr__(self, "registry", {} if self.registry is None else self.registry)

    def _check_layout(self) -> None:
        """Raises ValueError if ``separators`` or ``indent`` would not write JSON."""
        if self.separators is None and self.indent is None:
            return
        if self.whitespace != "bounded":
            raise ValueError("separators and indent fix the layout: whitespace has no say then")
        indent = self.indent
        if isinstance(indent, bool) or not isinstance(indent, int | str | None):
            raise ValueError(f"indent is a count of blanks, white space or None, not {indent!r}")
        if isinstance(indent, int) and indent < 0:
            raise ValueError(f"indent is at least 0, not {indent}")
        if isinstance(indent, str) and indent.strip(_WHITE_SPACE):
            raise ValueError(f"indent is white space (blank, tab, line break), not {indent!r}")
        pair = self.separators
        if pair is None:
            return
        if not isinstance(pair, tuple | list) or [type(part) for part in pair] != [str, str]:
            raise ValueError(f"separators are a pair of texts, not {pair!r}")
        for text, sign in zip(pair, ",:", strict=True):
            if text.strip(_WHITE_SPACE) != sign:
                raise ValueError(f"a separator is {sign!r} and white space around it, not {text!r}")

    @cached_property
    def plain_key(self) -> tuple[str, ...] | None:
        """What plain schemas depend on, None where the fast lane does not know the options."""
        limits = Limits() if self.limits is None else self.limits
        free = self.separators is None and self.indent is None
        usual = self.escapes == "unlisted" and self.numbers == "canonical"
        budgets = ("schema_depth", "schema_nodes", "expression_bytes")
        if free and usual and all(getattr(limits, b) == getattr(Limits, b) for b in budgets):
            return ("plain", self.whitespace, self.order, self.formats, self.dialect)
        return None

    def written_separators(self) -> tuple[str, str] | None:
        """The two separators of a fixed layout, or None."""
        if self.separators is not None:
            return self.separators[0], self.separators[1]
        return None if self.indent is None else (",", ": ")

    def written_indent(self) -> str | None:
        """What a line begins with for each container around it, or None."""
        return " " * self.indent if isinstance(self.indent, int) else self.indent

    def limit(self, name: str, default: int) -> int:
        """The budget *name*, or *default* where the caller set none."""
        value = getattr(self.limits, name, None)
        return default if value is None else int(value)


#: Those of a caller who asks for none.
DEFAULT = SchemaOptions()
