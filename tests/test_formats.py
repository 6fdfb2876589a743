"""Formats against the texts of ``data/formats.toml`` and against other readers of the same RFCs."""

from __future__ import annotations

import calendar
import datetime
import ipaddress
import json
import random
import re
import sys
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from byte_expressions import ByteExpressions
from gramlock import Grammar
from gramlock._core import Expressions
from gramlock.errors import GrammarSyntaxError, UnsupportedSchemaError
from gramlock.schema.formats import FORMATS, format_expression
from gramlock.syntax.regex import parse

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

CASES = tomllib.loads((Path(__file__).parent / "data" / "formats.toml").read_text("utf-8"))

STANDARD = """
    date-time date time duration email idn-email hostname idn-hostname ipv4 ipv6 uri uri-reference
    iri iri-reference uuid uri-template json-pointer relative-json-pointer regex
""".split()


@pytest.fixture(scope="module", params=[ByteExpressions, Expressions], ids=["slow", "core"])
def store(request: pytest.FixtureRequest) -> Any:
    """A store of expressions: the core's, or one that shares no code with it."""
    return request.param()


def has(store: Any, name: str, text: str) -> bool:
    found = format_expression(store, name, "utf8")
    assert found is not None
    return bool(store.matches(found, text.encode()))


def test_all_standard_formats_are_there() -> None:
    assert sorted(FORMATS) == sorted(STANDARD) == sorted(CASES)
    for name, form in FORMATS.items():
        assert form.name == name
        assert form.source
        assert form.gap is None or "\n" not in form.gap


@pytest.mark.parametrize("name", STANDARD)
def test_accepted(store: Any, name: str) -> None:
    assert [text for text in CASES[name]["accept"] if not has(store, name, text)] == []


@pytest.mark.parametrize("name", STANDARD)
def test_rejected(store: Any, name: str) -> None:
    assert [text for text in CASES[name]["reject"] if has(store, name, text)] == []


@pytest.mark.parametrize("name", STANDARD)
def test_inside_json_every_spelling_counts(store: Any, name: str) -> None:
    found = format_expression(store, name, "json")
    assert found is not None
    for verdict in ("accept", "reject"):
        for text in CASES[name][verdict]:
            for ascii_only in (False, True):
                body = json.dumps(text, ensure_ascii=ascii_only)[1:-1]
                assert store.matches(found, body.encode()) == (verdict == "accept"), text


def test_unknown_names_say_nothing(store: Any) -> None:
    assert format_expression(store, "int32", "json") is None
    assert format_expression(store, "Date", "json") is None


UNWRITTEN = {
    "date-time": ["2016-12-31T23:59:60Z", "2017-01-01T05:06:60+05:07", "2024-02-29t12:30:45z"],
    "time": ["23:59:60Z", "05:06:60+05:07", "12:30:45.5-23:59"],
    "duration": ["p1y2m3dT4h5M6s", "P1W", "pt0S"],
    "hostname": ["xn--4gbwdl.xn--wgbh1c", "ab--cd.example", "a", "x" * 63],
}


def test_supersets_have_what_is_not_written() -> None:
    store = Expressions()
    assert {name for name, form in FORMATS.items() if form.wide} == set(UNWRITTEN)
    for name, texts in UNWRITTEN.items():
        exact = format_expression(store, name, "utf8")
        wide = format_expression(store, name, "utf8", wide=True)
        assert exact is not None
        assert wide is not None
        assert [text for text in texts if not store.matches(wide, text.encode())] == []
        accepted = [text for text in CASES[name]["accept"] if has(store, name, text)]
        assert [text for text in accepted if not store.matches(wide, text.encode())] == []
        if name != "hostname":  # whose two counts make too many states
            assert store.is_empty(store.intersect([exact, store.complement(wide)]))
        assert not store.matches(wide, b"-")


def test_formats_without_gap_are_their_own_supersets(store: Any) -> None:
    for name, form in FORMATS.items():
        assert form.has_superset == (form.gap is None or name in UNWRITTEN)
        if form.gap is None:
            exact = format_expression(store, name, "json")
            assert exact == format_expression(store, name, "json", wide=True)


HOST = {"format": "hostname"}


@pytest.mark.parametrize(
    "schema,good,bad",
    [
        ({"not": HOST}, ['"_"', '""'], ['"a"', '"xn--o"', "1"]),
        ({"not": {"not": HOST}}, ['"a"', "1"], ['"_"', '"xn--o"']),
        ({"not": {"format": "time"}}, ['"x"'], ['"12:00:00Z"', '"05:06:60+05:07"']),
        ({"not": {"const": "xn--o", **HOST}}, ['"_"', '"a"'], ['"xn--o"']),
        ({"not": {"enum": ["p1d", "q"], "format": "duration"}}, ['"q"'], ['"p1d"']),
        ({"enum": ["_", "a", "xn--o"], "not": HOST}, ['"_"'], ['"a"', '"xn--o"']),
        ({"oneOf": [HOST, {"pattern": "^x"}], "type": "string"}, ['"x_"', '"a"'], ['"xn--o"']),
        ({"not": {"propertyNames": HOST}}, ['{"_": 1}'], ['{"a": 1}', '{"xn--o": 1}']),
        ({"if": HOST, "then": {"maxLength": 1}}, ['"a"', '"__"'], ['"ab"', '"xn--o"']),
    ],
    ids=str,
)
def test_what_is_not_written_is_never_taken_for_invalid(
    schema: Any, good: list[str], bad: list[str]
) -> None:
    made = Grammar.from_json_schema(schema)
    assert [text for text in good if not made.accepts(text)] == []
    assert [text for text in bad if made.accepts(text)] == []


@pytest.mark.parametrize("name", [n for n, form in FORMATS.items() if not form.has_superset])
@pytest.mark.parametrize("place", ["not", "names"])
def test_formats_without_superset_have_no_complement(name: str, place: str) -> None:
    inner: Any = {"format": name}
    with pytest.raises(UnsupportedSchemaError, match=f"no {name}"):
        Grammar.from_json_schema({"not": {"propertyNames": inner} if place == "names" else inner})


# -- other readers --------------------------------------------------------------------------------


def mutated(rng: random.Random, text: str, alphabet: str) -> str:
    """*text* with a character replaced, dropped, added or doubled."""
    at = rng.randrange(len(text) + 1)
    middle = rng.choice(["", rng.choice(alphabet), text[at : at + 1] * 2])
    return text[:at] + middle + text[at + rng.randrange(2) :]


def agrees(store: Any, name: str, reader: Callable[[str], bool], texts: list[str]) -> None:
    wrong = [text for text in texts if has(store, name, text) != reader(text)]
    assert wrong == []


def test_every_day_of_some_years(store: Any) -> None:
    for year in (1, 4, 100, 400, 1900, 1999, 2000, 2023, 2024, 2100, 9999):
        for month in range(14):
            last = calendar.monthrange(year, month)[1] if 1 <= month <= 12 else 0
            for day in range(33):
                text = f"{year:04}-{month:02}-{day:02}"
                assert has(store, "date", text) == (1 <= day <= last), text


def test_leap_years(store: Any) -> None:
    for year in range(10_000):
        assert has(store, "date", f"{year:04}-02-29") == calendar.isleap(year), year


def test_leap_seconds_are_the_last_of_a_utc_day(store: Any) -> None:
    midnight = datetime.datetime(2020, 1, 1, 23, 59)
    for minutes in range(-23 * 60 - 45, 24 * 60, 15):
        local = midnight + datetime.timedelta(minutes=minutes)
        offset = f"{'+' if minutes >= 0 else '-'}{abs(minutes) // 60:02}:{abs(minutes) % 60:02}"
        assert has(store, "time", f"{local:%H:%M}:60{offset}"), (local, offset)
        assert not has(store, "time", f"{local + datetime.timedelta(minutes=1):%H:%M}:60{offset}")
        assert not has(store, "time", f"{local + datetime.timedelta(hours=1):%H:%M}:60{offset}")


def test_date_times_against_datetime(store: Any) -> None:
    shape = re.compile(r"[0-9]{4}-..-..T..:..:..(\.[0-9]+)?(Z|[+-][0-9]{2}:[0-9]{2})")

    def reader(text: str) -> bool:
        if not shape.fullmatch(text):
            return False
        try:
            datetime.datetime.strptime(text[:19], "%Y-%m-%dT%H:%M:%S")
        except ValueError:
            return False
        plain = text[17:19] < "60" and text[:4] > "0000" and re.fullmatch(r"[0-9T:-]*", text[:19])
        zone = text[-1] == "Z" or (text[-5:-3] < "24" and text[-2:] < "60")
        return bool(plain) and zone

    rng = random.Random(5)
    texts = ["2024-02-29T12:30:45Z", "1999-11-30T00:00:00.125+09:30", "2001-01-31T23:59:59-00:00"]
    for _ in range(1500):
        texts.append(mutated(rng, rng.choice(texts[:60]), "0123456789:-+.TZ "))
    agrees(store, "date-time", reader, [t for t in texts if ":60" not in t and t[:4] != "0000"])


def test_addresses_against_ipaddress(store: Any) -> None:
    def reader(kind: type) -> Callable[[str], bool]:
        def read(text: str) -> bool:
            try:
                kind(text)
            except ValueError:
                return False
            return "%" not in text

        return read

    rng = random.Random(6)
    four, six = ["192.0.2.1", "255.249.10.0"], ["1:2:3:4:5:6:7:8", "1:22::192.0.2.1", "::", "f::b"]
    for _ in range(2500):
        four.append(mutated(rng, rng.choice(four[:80]), "0123456789."))
        six.append(mutated(rng, rng.choice(six[:200]), "0123456789abF:."))
    agrees(store, "ipv4", reader(ipaddress.IPv4Address), four)
    agrees(store, "ipv6", reader(ipaddress.IPv6Address), six)


def test_every_shape_of_ipv6(store: Any) -> None:
    def reader(text: str) -> bool:
        try:
            ipaddress.IPv6Address(text)
        except ValueError:
            return False
        return True

    texts = []
    for before in range(9):
        for after in range(9):
            for tail in ("", "1.2.3.4"):
                groups = ["a"] * after + ([tail] if tail else [])
                texts.append("::".join([":".join(["b"] * before), ":".join(groups)]))
                texts.append(":".join(["b"] * before + groups))
    agrees(store, "ipv6", reader, texts)


def test_uuids_against_uuid(store: Any) -> None:
    rng = random.Random(8)
    for _ in range(200):
        text = str(uuid.UUID(int=rng.getrandbits(128)))
        assert has(store, "uuid", text)
        assert has(store, "uuid", text.upper())
        changed = mutated(rng, text, "0123456789abcdefg-")
        hexadecimal = re.sub("[^0-9a-f]", "", changed)
        same = len(hexadecimal) == 32 and str(uuid.UUID(hexadecimal)) == changed
        assert has(store, "uuid", changed) == same, changed


def test_identifiers_nest(store: Any) -> None:
    """A URI is an IRI and a URI reference, and splits as it should."""
    for text in CASES["uri"]["accept"]:
        for wider in ("uri-reference", "iri", "iri-reference"):
            assert has(store, wider, text), (wider, text)
        assert urlsplit(text).scheme == text.partition(":")[0].lower()
    for text in CASES["uri-reference"]["reject"]:
        assert not has(store, "uri", text)


def test_what_passes_as_a_pattern_compiles(store: Any) -> None:
    rng = random.Random(9)
    texts = [text for text in CASES["regex"]["accept"] if text]
    for _ in range(3000):
        texts.append(mutated(rng, rng.choice(texts[:400]), "ab09()[]{}|*+?^$\\.-,=!:<dpuLx"))
    passed = [text for text in texts if has(store, "regex", text)]
    assert len(passed) > 300
    wrong = []
    for text in passed:
        try:
            parse(text)
        except GrammarSyntaxError:
            wrong.append(text)
    assert wrong == []


def test_lengths(store: Any) -> None:
    assert has(store, "hostname", "a" * 63 + "." + "b" * 63)
    assert not has(store, "hostname", "a" * 64)
    assert has(store, "email", "a" * 64 + "@b")
    assert not has(store, "email", "a" * 65 + "@b")
    assert has(store, "email", '"' + "a" * 62 + '"@b')
    assert not has(store, "email", '"' + "a" * 63 + '"@b')
