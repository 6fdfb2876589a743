"""Write ``python/gramlock/syntax/unicode_tables.py`` from the Unicode character database.

Run it where the database's text files lie (Debian: ``apt-get install unicode-data``)::

    python scripts/make_unicode_tables.py [--ucd /usr/share/unicode]

The result is one compressed blob: a JSON index of names, then each set of code points as
differences in LEB128 (first, length - 1, gap, length - 1, ...), then the simple case foldings.
``gramlock/syntax/unicode_sets.py`` reads it.
"""

from __future__ import annotations

import argparse
import base64
import json
import zlib
from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TARGET = ROOT / "python" / "gramlock" / "syntax" / "unicode_tables.py"

# The binary properties of ECMA-262 (table "Binary Unicode property aliases"), other than the three
# that need no table: Any, ASCII, Assigned.
PROPERTIES = """
ASCII_Hex_Digit Alphabetic Bidi_Control Bidi_Mirrored Case_Ignorable Cased Changes_When_Casefolded
Changes_When_Casemapped Changes_When_Lowercased Changes_When_NFKC_Casefolded Changes_When_Titlecased
Changes_When_Uppercased Dash Default_Ignorable_Code_Point Deprecated Diacritic Emoji
Emoji_Component Emoji_Modifier Emoji_Modifier_Base Emoji_Presentation Extended_Pictographic
Extender Grapheme_Base Grapheme_Extend Hex_Digit IDS_Binary_Operator IDS_Trinary_Operator
ID_Continue ID_Start Ideographic Join_Control Logical_Order_Exception Lowercase Math
Noncharacter_Code_Point Pattern_Syntax Pattern_White_Space Quotation_Mark Radical
Regional_Indicator Sentence_Terminal Soft_Dotted Terminal_Punctuation Unified_Ideograph Uppercase
Variation_Selector White_Space XID_Continue XID_Start
""".split()

SOURCES = [
    "PropList.txt",
    "DerivedCoreProperties.txt",
    "DerivedNormalizationProps.txt",
    "extracted/DerivedBinaryProperties.txt",
    "emoji/emoji-data.txt",
]


def rows(path: Path) -> Iterator[list[str]]:
    """Yield the ``;``-separated fields of each line, comments removed."""
    for line in path.read_text(encoding="utf-8").splitlines():
        content = line.split("#", 1)[0].strip()
        if content:
            yield [field.strip() for field in content.split(";")]


def span(field: str) -> range:
    """Read ``0041`` or ``0041..005A``."""
    first, _, last = field.partition("..")
    return range(int(first, 16), int(last or first, 16) + 1)


def categories(ucd: Path) -> dict[str, set[int]]:
    """Read the general category of every assigned code point."""
    result: dict[str, set[int]] = defaultdict(set)
    start = 0
    for fields in rows(ucd / "UnicodeData.txt"):
        code = int(fields[0], 16)
        if fields[1].endswith(", First>"):
            start = code
        elif fields[1].endswith(", Last>"):
            result[fields[2]].update(range(start, code + 1))
        else:
            result[fields[2]].add(code)
    return result


def properties(ucd: Path) -> dict[str, set[int]]:
    """Read the binary properties."""
    result: dict[str, set[int]] = {name: set() for name in PROPERTIES}
    for source in SOURCES:
        for fields in rows(ucd / source):
            if fields[1] in result and len(fields) == 2:
                result[fields[1]].update(span(fields[0]))
    missing = [name for name, members in result.items() if not members]
    if missing:
        raise SystemExit(f"no data for {missing}")
    return result


def scripts(ucd: Path, short: dict[str, str]) -> tuple[dict[str, set[int]], dict[str, set[int]]]:
    """Read scripts, and script extensions where they differ, by short name."""
    script: dict[str, set[int]] = defaultdict(set)
    for fields in rows(ucd / "Scripts.txt"):
        script[short[fields[1]]].update(span(fields[0]))
    extended = {name: set(members) for name, members in script.items()}
    for fields in rows(ucd / "ScriptExtensions.txt"):
        for name in ("Zyyy", "Zinh"):
            extended[name].difference_update(span(fields[0]))
        for members in extended.values():
            members.difference_update(span(fields[0]))
        for name in fields[1].split():
            extended[name].update(span(fields[0]))
    return dict(script), {n: m for n, m in extended.items() if m != script[n]}


def aliases(ucd: Path) -> dict[str, dict[str, str]]:
    """Read other names: of categories and scripts to the short one, of properties to the long."""
    result: dict[str, dict[str, str]] = {"gc": {}, "sc": {}, "bp": {}}
    for fields in rows(ucd / "PropertyValueAliases.txt"):
        if fields[0] in ("gc", "sc"):
            for name in fields[1:]:
                result[fields[0]][name] = fields[1]
    for fields in rows(ucd / "PropertyAliases.txt"):
        if fields[1] in PROPERTIES:
            for name in fields:
                result["bp"][name] = fields[1]
    return result


def foldings(ucd: Path) -> list[tuple[int, int]]:
    """Read the simple case foldings (status C and S)."""
    return sorted(
        (int(fields[0], 16), int(fields[2], 16))
        for fields in rows(ucd / "CaseFolding.txt")
        if fields[1] in "CS"
    )


def leb128(numbers: Iterable[int]) -> bytes:
    """Pack numbers of zero and above, seven bits a byte, least significant first."""
    out = bytearray()
    for number in numbers:
        while number > 0x7F:
            out.append(number & 0x7F | 0x80)
            number >>= 7
        out.append(number)
    return bytes(out)


def pack_set(members: set[int]) -> bytes:
    """Pack a set as gaps and lengths of its ranges."""
    numbers: list[int] = []
    position = 0
    for code in sorted(members):
        if numbers and code == position:
            numbers[-1] += 1
        else:
            numbers += [code - position, 0]
        position = code + 1
    return leb128(numbers)


def pack_foldings(pairs: list[tuple[int, int]]) -> bytes:
    """Pack pairs as the gap to the last code and the zigzag of the distance to the target."""
    numbers: list[int] = []
    last = 0
    for code, target in pairs:
        distance = target - code
        numbers += [code - last, distance * 2 if distance >= 0 else -distance * 2 - 1]
        last = code
    return leb128(numbers)


def main() -> None:
    """Read the database and write the module."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--ucd", type=Path, default=Path("/usr/share/unicode"))
    ucd = parser.parse_args().ucd
    names = aliases(ucd)
    script, extended = scripts(ucd, names["sc"])
    names["sc"] = {name: short for name, short in names["sc"].items() if short in script}
    groups = {"gc": categories(ucd), "bp": properties(ucd), "sc": script, "scx": extended}
    index: dict[str, tuple[int, int]] = {}
    body = b""
    for group, sets in groups.items():
        for name, members in sorted(sets.items()):
            data = pack_set(members)
            index[f"{group}={name}"] = (len(body), len(data))
            body += data
    data = pack_foldings(foldings(ucd))
    index["fold"] = (len(body), len(data))
    body += data
    head = json.dumps({"index": index, "aliases": names}, separators=(",", ":")).encode()
    packed = base64.b85encode(zlib.compress(len(head).to_bytes(4, "big") + head + body, 9)).decode()
    line = next(iter((ucd / "PropList.txt").read_text().splitlines()))
    version = line.split("-")[1].removesuffix(".txt")
    lines = [packed[i : i + 90] for i in range(0, len(packed), 90)]
    quoted = "\n".join(f'    "{part}"' for part in lines)
    TARGET.write_text(
        f'"""Unicode {version} character properties, packed; read by ``unicode_sets.py``.\n\n'
        "Written by scripts/make_unicode_tables.py from the Unicode character database\n"
        "(copyright Unicode, Inc., under its data files licence); do not edit.\n"
        '"""\n\n'
        f'VERSION = "{version}"\n\nPACKED = (\n{quoted}\n)\n'
    )
    print(f"{TARGET.name}: {len(packed):,} characters, {len(index)} tables, Unicode {version}")


if __name__ == "__main__":
    main()
