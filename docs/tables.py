"""Writes the tables of json-schema.md from the tables that the code uses.

    python docs/tables.py            writes them
    python docs/tables.py --check    ends with status 1 if they are out of date

What a keyword means is said here; which dialects know it, what the options leave out of it, what a
format lacks and what the options are is read from the package.
"""

from __future__ import annotations

import dataclasses
import inspect
import re
import sys
from collections.abc import Callable, Iterable
from pathlib import Path

from gramlock.schema.formats import FORMATS
from gramlock.schema.keywords import STRUCTURAL, handlers_of
from gramlock.schema.options import SchemaOptions
from gramlock.schema.report import IDLE, NARROWINGS

DOCUMENT = Path(__file__).with_name("json-schema.md")

DRAFTS = {4: "draft 4", 6: "draft 6", 7: "draft 7", 2019: "2019-09", 2020: "2020-12"}

#: What is worth knowing about each keyword, in the order of the table.
REMARKS = {
    "type": "`1.0` is an integer, in every dialect",
    "enum": "compared as JSON values: `1` is `1.0` and not `true`; siblings filter the list",
    "const": "as `enum`",
    "minimum": "decimals of any size, exactly",
    "maximum": "as `minimum`",
    "exclusiveMinimum": "a number; in draft 4 a flag beside `minimum`",
    "exclusiveMaximum": "a number; in draft 4 a flag beside `maximum`",
    "multipleOf": "decimals, exactly: `0.01` is one hundredth",
    "minLength": "in code points of the decoded string, whatever the escapes",
    "maxLength": "as `minLength`",
    "pattern": "a search in ECMA-262 syntax with the flag `u`; back-references are refused",
    "format": "see below",
    "items": "all items after `prefixItems`; up to 2019-09 a list says what `prefixItems` does",
    "prefixItems": "position by position; counts cost nothing to compile",
    "additionalItems": "items after a list of `items`",
    "contains": "counted item by item while they are written",
    "minContains": "how many items, at least, satisfy `contains`",
    "maxContains": "how many items, at most, satisfy `contains`",
    "minItems": "",
    "maxItems": "",
    "uniqueItems": "by value: `1` is `1.0`, members in any order; the values seen are kept",
    "unevaluatedItems": "what no keyword here or in an applicator evaluates",
    "properties": "",
    "patternProperties": "patterns may overlap each other and `properties`",
    "additionalProperties": 'names are compared as decoded: `"\\u0061"` is `"a"`',
    "propertyNames": "",
    "required": "",
    "minProperties": "",
    "maxProperties": "",
    "dependentRequired": "",
    "dependentSchemas": "",
    "dependencies": "`dependentRequired` and `dependentSchemas` in one; taken from every dialect",
    "unevaluatedProperties": "what no keyword here or in an applicator evaluates",
    "allOf": "intersection",
    "anyOf": "union",
    "oneOf": "union of the branches, each without what the others hold",
    "not": "complement; see below",
    "if": "with its `then` and `else`",
    "then": "",
    "else": "",
    "$ref": "recursive ones, too; up to draft 7 it hides its siblings",
    "$dynamicRef": "followed along every way on which it can be reached",
    "$recursiveRef": "followed along every way on which it can be reached",
}


def table(head: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    """A Markdown table."""
    lines = [list(head)]
    lines += [["---"] * len(lines[0]), *(list(row) for row in rows)]
    return "\n".join(
        "| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines
    )


def dialects_of(keyword: str) -> str:
    """The dialects that know a keyword, in words."""
    years = [year for year in DRAFTS if keyword in handlers_of(year)]
    first, last = min(years), max(years)
    if years != [year for year in DRAFTS if first <= year <= last]:
        return ", ".join(DRAFTS[year] for year in years)
    if (first, last) == (4, 2020):
        return "all"
    if first == last:
        return DRAFTS[first]
    return f"from {DRAFTS[first]}" if last == 2020 else f"{DRAFTS[first]} to {DRAFTS[last]}"


def left_out(keyword: str) -> str:
    """What the options leave out of the texts that a keyword allows."""
    parts = []
    for narrowing in NARROWINGS:
        if keyword in narrowing.keywords:
            option = "" if narrowing.option == "any" else f"`{narrowing.option}`: "
            parts.append(option + narrowing.note)
    if keyword in IDLE:
        needed = " or ".join(f"`{other}`" for other in IDLE[keyword])
        parts.append(f"an annotation without {needed}")
    return "; ".join(parts)


def keywords() -> str:
    known = {keyword for year in DRAFTS for keyword in handlers_of(year)}
    if known != set(REMARKS):
        raise SystemExit(f"no remark, or no such keyword: {sorted(known ^ set(REMARKS))}")
    rows = [
        (f"`{keyword}`", dialects_of(keyword), REMARKS[keyword], left_out(keyword))
        for keyword in REMARKS
    ]
    return table(("keyword", "dialects", "remarks", "not written"), rows)


def structural() -> str:
    return ", ".join(f"`{keyword}`" for keyword in sorted(STRUCTURAL)) + "."


def formats() -> str:
    rows = [
        (f"`{form.name}`", form.source, form.unwritten or "", form.unchecked or "")
        for form in FORMATS.values()
    ]
    return table(("format", "defined by", "not written", "not checked"), rows)


def options() -> str:
    described = inspect.getdoc(SchemaOptions) or ""
    attributes = described.partition("Attributes:\n")[2]
    rows = []
    for field in dataclasses.fields(SchemaOptions):
        found = re.search(rf"^    {field.name}: (.*(?:\n     +.*)*)", attributes, re.MULTILINE)
        if found is None:
            raise SystemExit(f"the option {field.name} is not described")
        text = re.sub(r"\s+", " ", found[1]).replace("``", "`")
        rows.append((f"`{field.name}`", text))
    return table(("option", "choices, the default first"), rows)


TABLES: dict[str, Callable[[], str]] = {
    "keywords": keywords,
    "structural": structural,
    "formats": formats,
    "options": options,
}


def updated(text: str) -> str:
    """The document *text* with every table written anew."""
    for name, write in TABLES.items():
        begin, end = f"<!-- {name}: written by tables.py -->\n", f"\n<!-- end of {name} -->"
        before, opened, rest = text.partition(begin)
        _, closed, after = rest.partition(end)
        if not (opened and closed):
            raise SystemExit(f"{DOCUMENT.name} has no place for the {name}")
        text = before + begin + write() + end + after
    return text


def main() -> int:
    old = DOCUMENT.read_text("utf-8")
    new = updated(old)
    if "--check" in sys.argv[1:]:
        return int(old != new)
    DOCUMENT.write_text(new, "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
