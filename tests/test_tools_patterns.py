"""Patterns and formats of the tool layer: ECMA-262, each format by its document, bounded time.

Agreement with the engine and with the grammar is tested in test_tools_validate_fuzz.py.
"""

from __future__ import annotations

import threading

import pytest

import gramlock
from gramlock.tools import patterns
from gramlock.tools.patterns import format_matcher, matcher


@pytest.mark.parametrize(
    "pattern, yes, no",
    [
        ("b", "abc", "ac"),
        ("^b$", "b", "b\n"),
        ("^\\d+$", "12", "\u0661"),
        ("^\\w$", "_", "é"),
        ("^\\s$", "\ufeff", "\u0085"),
        ("^.$", "😀", "\u2028"),
        ("^\\p{Lu}$", "É", "é"),
        ("^[\\u{1F600}-\\u{1F64F}]$", "😀", "a"),
        ("^a\\-b$", "a-b", "a\\-b"),
        ("", "", None),
        ("$^", "", "a"),
        ("^(?!.*admin)", "user", "an admin"),
        ("(?<=\\$)\\d", "$5", "5"),
    ],
)
def test_patterns(pattern: str, yes: str, no: str | None) -> None:
    search = matcher(pattern)
    assert search(yes) is True
    assert no is None or search(no) is False


def test_a_lone_surrogate_is_no_character() -> None:
    assert matcher("^.$")("\ud800") is False
    assert matcher("(a|b)*")("\ud800" * 5000) is False


@pytest.mark.parametrize(
    "pattern", ["(", "[", "a{2,1}", "(a)\\1", "\\k<n>(?<n>a)", "(?<a>.)\\k<a>"]
)
def test_what_is_no_pattern_or_not_regular_is_refused(pattern: str) -> None:
    with pytest.raises(gramlock.GrammarError):
        matcher(pattern)


def test_patterns_that_nest_too_deep_are_refused() -> None:
    for pattern in ("(" * 100_000 + ")" * 100_000, "(?=" * 3000 + ")" * 3000):
        with pytest.raises((gramlock.LimitError, gramlock.GrammarError)):
            matcher(pattern)


def test_a_full_store_is_made_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    """Thousands of patterns do not add up, and each still works when its turn comes again."""
    monkeypatch.setattr(patterns, "_AUTOMATA", patterns._Automata())
    monkeypatch.setattr(patterns, "_STORE_BYTES", 1 << 18)
    matcher.cache_clear()
    stores = []  # kept, so that no two are one after the other at the same address

    def note() -> None:
        stores.append(patterns._AUTOMATA.store())
        assert stores[-1].bytes_held <= 1 << 18

    searches = []
    for n in range(300):
        searches.append(matcher(f"^({n}|x{n}+)*[a-f]{{3,30}}(foo|bar{n})*$"))
        note()
    built = len({id(store) for store in stores})
    assert built > 1
    for n, search in enumerate(searches):
        assert search(f"x{n}" * 300 + "abcdef" + "foo" * 300) is True
        assert search(f"x{n}" * 300 + "ab" + "foo" * 300) is False
        note()
    assert len({id(store) for store in stores}) > built + 1
    matcher.cache_clear()


def test_threads_share_matchers() -> None:
    search, form = matcher("^(ab|c)*$"), format_matcher("uri")
    assert form is not None
    failures = []

    def work(letter: str) -> None:
        for length in range(300, 340):
            text = letter * length
            if search(text) is not (letter == "c") or not form(f"http://e.org/{text}"):
                failures.append(text)

    threads = [threading.Thread(target=work, args=(letter,)) for letter in "cdc"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures


FORMATS = [
    ("date", "2024-02-29", "2023-02-29"),
    ("date-time", "2024-01-01T00:00:00Z", "2024-01-01T00:00:00"),
    ("date-time", "1998-12-31T23:59:60Z", "1998-12-31T23:58:60Z"),
    ("date-time", "1998-12-31T15:59:60.5-08:00", "1998-12-31T16:59:60-08:00"),
    ("time", "01:29:60+01:30", "01:29:60+01:00"),
    ("time", "12:00:00Z", "24:00:00Z"),
    ("duration", "P1DT2H", "P1D2H"),
    ("email", "a.b@example.org", "a..b@example.org"),
    ("idn-email", "용@bücher.example", "@example"),
    ("idn-email", "a@xn--bcher-kva.example", "a@-a.example"),
    ("hostname", "a-b.example", "-a.example"),
    ("hostname", "xn--bcher-kva.example", "xn--X"),
    ("idn-hostname", "bücher.example", "a..b"),
    ("idn-hostname", "xn--bcher-kva.example", "example."),
    ("ipv4", "127.0.0.1", "127.0.0.01"),
    ("ipv6", "::ffff:1.2.3.4", "1::2::3"),
    ("uri", "urn:a:b", "//a/b"),
    ("uri-reference", "a?b#c", "a b"),
    ("iri", "http://é/", "é"),
    ("iri-reference", "é", "\\"),
    ("uuid", "123e4567-e89b-12d3-a456-426614174000", "123e4567e89b12d3a456426614174000"),
    ("uri-template", "/a{?b*}", "/a{"),
    ("json-pointer", "/a~1b", "a"),
    ("relative-json-pointer", "1/a", "/a"),
    ("regex", "(a)\\1", "("),
    ("regex", "a{99999999999999999999}", "a{2,1}"),
    ("regex", "^x$", "(?<n>a)(?<n>b)"),
]


@pytest.mark.parametrize("name, yes, no", FORMATS)
def test_formats(name: str, yes: str, no: str) -> None:
    search = format_matcher(name)
    assert search is not None
    assert search(yes) is True
    assert search(no) is False


@pytest.mark.parametrize("name", sorted({name for name, _, _ in FORMATS}))
@pytest.mark.parametrize(
    "text", ["", "\ud800", "a" * 100_000, "a." * 50_000, "(" * 100_000, "\x00"]
)
def test_no_text_does_harm(name: str, text: str) -> None:
    search = format_matcher(name)
    assert search is not None
    assert search(text) in (True, False, None)


def test_every_format_of_the_grammar_is_known() -> None:
    from gramlock.schema.formats import FORMATS as KNOWN

    assert set(KNOWN) == {name for name, _, _ in FORMATS}
    assert format_matcher("password") is None
    assert format_matcher("int32") is None
