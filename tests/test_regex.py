"""Regular expressions: their language, their refusals, their limits.

Covers ``syntax/regex.py`` and the modules behind it. Every case runs on a slow model of expressions
and on the core, as text and as the inside of a JSON string in several spellings. Beyond the listed
cases, all small patterns over a few tokens are compared with Python's ``re``, which reads them
alike.
"""

from __future__ import annotations

import itertools
import json
import random
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from expressions_model import ModelExpressions
from gramlock._core import Expressions
from gramlock.errors import GrammarSyntaxError, LimitError
from gramlock.syntax import charclass as cc
from gramlock.syntax import regex_automaton, regex_context, regex_expr
from gramlock.syntax.regex import parse
from gramlock.syntax.unicode_sets import close_over_case, fold, property_set

try:
    import tomllib
except ModuleNotFoundError:  # Python 3.10; pytest brings tomli there
    import tomli as tomllib  # type: ignore[no-redef]

DATA = tomllib.loads((Path(__file__).parent / "data" / "regex.toml").read_text("utf-8"))

Match = Callable[[int, str], bool]


def spellings(text: str) -> list[bytes]:
    """Ways to write a text inside a JSON string."""
    plain = json.dumps(text, ensure_ascii=False)[1:-1]
    ascii_only = json.dumps(text)[1:-1]
    units = text.encode("utf-16-be")
    escaped = "".join(f"\\u{units[i : i + 2].hex().upper()}" for i in range(0, len(units), 2))
    return [plain.encode(), ascii_only.encode(), escaped.encode()]


class Model:
    """The model of expressions."""

    encoding = "utf8"

    def __init__(self) -> None:
        self.store: Any = ModelExpressions()

    def matches(self, expr: int, text: str) -> bool:
        return bool(self.store.matches(expr, text.encode()))


class Text(Model):
    """The core, over UTF-8."""

    def __init__(self) -> None:
        self.store = Expressions()


class Json(Text):
    """The core, inside a JSON string; all spellings must agree."""

    encoding = "json"

    def matches(self, expr: int, text: str) -> bool:
        verdicts = {bool(self.store.matches(expr, data)) for data in spellings(text)}
        assert len(verdicts) == 1, f"spellings of {text!r} disagree"
        return verdicts.pop()


@pytest.fixture(scope="module", params=[Model, Text, Json], ids=lambda kind: kind.__name__.lower())
def road(request: pytest.FixtureRequest) -> Model:
    made: Model = request.param()
    return made


def verdicts(
    road: Model, pattern: str, flags: str, texts: Sequence[str]
) -> list[tuple[bool, bool]]:
    """Whether each text matches whole, and whether it holds a match."""
    regex = parse(pattern, flags)
    full = regex.full(road.store, road.encoding)
    search = regex.search(road.store, road.encoding)
    return [(road.matches(full, text), road.matches(search, text)) for text in texts]


@pytest.mark.parametrize("case", DATA["case"], ids=lambda case: case["why"])
def test_language(road: Model, case: dict[str, Any]) -> None:
    wanted = {"whole": (True, True), "part": (False, True), "none": (False, False)}
    for kind, verdict in wanted.items():
        texts = case.get(kind, [])
        found = verdicts(road, case["pattern"], case.get("flags", "u"), texts)
        assert found == [verdict] * len(texts), f"{kind}: {list(zip(texts, found, strict=True))}"


@pytest.mark.parametrize("case", DATA["refused"], ids=lambda case: case["why"])
def test_refusals_say_where(case: dict[str, Any]) -> None:
    with pytest.raises(GrammarSyntaxError) as caught:
        parse(case["pattern"], case.get("flags", "u"))
    places = [f"{place.line}:{place.column} {place.message}" for place in caught.value.places]
    assert places == case["places"]


# -- all small patterns, next to Python's re ---------------------------------------------------

ATOMS = ["a", "b", ".", "[^a]", "(?:a|)", "(?:ab|b)"]
EDGES = [
    "^",
    "$",
    r"\b",
    r"\B",
    "(?=a)",
    "(?!b)",
    "(?<=a)",
    "(?<!b)",
    "(?!ab)",
    "(?<!ba)",
    "(?=.*b)",
]
LOOPS = ["(?:a(?!b)|b)", r"(?:a|\b)", "(?:(?!ab).)", "(?:^a|b$)", "(?:(?<=b)a|b)", "(?:(?=ab)a|b)"]
COUNTS = ["", "*", "?", "{1,2}"]
TEXTS = ["".join(t) for size in range(5) for t in itertools.product("ab-", repeat=size)]


def small_patterns() -> list[str]:
    """Sequences of two or three parts, each an edge, an atom or a loop with a count."""
    parts = [*EDGES, *(atom + count for atom in [*ATOMS, *LOOPS] for count in COUNTS)]
    pairs = ["".join(p) for p in itertools.product(parts, repeat=2)]
    triples = ["".join(p) for p in itertools.product(parts, repeat=3)]
    either = [f"{one}|{other}" for one in pairs for other in EDGES]
    return [*pairs, *either, *triples]


def python_verdicts(pattern: str) -> list[tuple[bool, bool]]:
    # Python's $ also stands before a last line end, which no text here has; its \B does not stand
    # in the empty text.
    compiled = re.compile(pattern.replace(r"\B", r"(?!\b)"), re.ASCII)
    return [
        (compiled.fullmatch(text) is not None, compiled.search(text) is not None) for text in TEXTS
    ]


def test_small_patterns_mean_what_they_mean_elsewhere(road: Model, thorough: bool) -> None:
    patterns = small_patterns()
    rng = random.Random(20)
    sample = rng.sample(patterns, 20_000 if thorough else 400)
    for pattern in sample:
        assert verdicts(road, pattern, "u", TEXTS) == python_verdicts(pattern), pattern


def test_the_automaton_agrees_with_the_paths(
    monkeypatch: pytest.MonkeyPatch, thorough: bool
) -> None:
    patterns = random.Random(21).sample(small_patterns(), 5000 if thorough else 300)
    by_paths = {pattern: verdicts(Model(), pattern, "u", TEXTS) for pattern in patterns}
    monkeypatch.setattr(regex_expr, "_anchored", lambda *arguments: None)
    monkeypatch.setattr(regex_context, "compile_asserting", regex_automaton.compile_automaton)
    for pattern in patterns:
        assert verdicts(Model(), pattern, "u", TEXTS) == by_paths[pattern], pattern


# -- limits and hostile input --------------------------------------------------------------------


@pytest.mark.parametrize(
    ("pattern", "budget"),
    [
        ("(" * 2000 + "a" + ")" * 2000, "pattern_depth"),
        ("(?=" * 300 + "a" + ")" * 300, "pattern_depth"),
        ("a{99999999999999999999}", "repeat_count"),
        ("^(?:.(?<!foo)){0,2000}$", "pattern_states"),
        ("(?=a{1,500}b)a*(?<=a{400})b", "pattern_states"),
    ],
    ids=lambda value: value[:20],
)
def test_limits(pattern: str, budget: str) -> None:
    with pytest.raises(LimitError) as caught:
        parse(pattern).search(ModelExpressions())
    assert caught.value.budget == budget


@pytest.mark.parametrize(
    "pattern",
    [
        "(" * 900 + "a" + ")" * 900,
        "(?!" * 90 + "a" + ")" * 90,
        "(a|" * 90 + "^" + ")" * 90,
        "(?:(?:a*)*)*" * 100,
        "a?" * 1000 + r"\b",
        r"\b\w+\b " * 300,
        "|".join(f"w{number}" for number in range(2000)),
        r"\\" * 5000,
        r"(\b|\B|a|b){10}",
        "^(?:(?!foo).){0,100000}$",
        "((((((a{0,30}b){0,30}c){0,30}d){0,30}){0,30}){0,30}){0,1000000}",
    ],
    ids=lambda value: value[:20],
)
def test_hostile_patterns_compile(pattern: str) -> None:
    store = Expressions()
    regex = parse(pattern)
    regex.full(store, "utf8")
    regex.search(store, "json")


# -- the rest --------------------------------------------------------------------------------------


def test_the_leading_flag_is_the_argument(road: Model) -> None:
    texts = ["yes", "YES", "No", "maybe"]
    assert verdicts(road, "(?i)yes|no", "u", texts) == verdicts(road, "yes|no", "iu", texts)
    assert [one for one, _ in verdicts(road, "(?i)yes|no", "u", texts)] == [True, True, True, False]


def test_modifiers_hold_inside_their_group(road: Model) -> None:
    texts = ["aBc", "abc", "aBC", "ABc"]
    assert [one for one, _ in verdicts(road, "a(?i:b)c", "u", texts)] == [True, True, False, False]
    assert [one for one, _ in verdicts(road, "a(?-i:B)c", "iu", texts)] == [
        True,
        False,
        True,
        True,
    ]


def test_named_groups_of_both_spellings(road: Model) -> None:
    assert verdicts(road, "(?<n>a)(?P<m>b)(?:(?<o>c)|(?<o>d))", "u", ["abc", "abd", "ab"]) == [
        (True, True),
        (True, True),
        (False, False),
    ]


@pytest.mark.parametrize(
    ("pattern", "literal", "literals"),
    [
        ("^abc$", "abc", ["abc"]),
        (r"^a\.b\/c$", "a.b/c", ["a.b/c"]),
        ("^(?:abc)$", "abc", ["abc"]),
        ("^$", "", [""]),
        ("^(a|bc|)$", None, ["a", "bc", ""]),
        ("^cat$|^dog$", None, ["cat", "dog"]),
        ("^cat$|^d[oi]g$", None, None),
        ("abc", None, None),
        ("^abc", None, None),
        ("^a|b$", None, None),
        ("^a*$", None, None),
    ],
)
def test_finite_literals(pattern: str, literal: str | None, literals: list[str] | None) -> None:
    assert parse(pattern).finite_literal() == literal
    assert parse(pattern).finite_literals() == literals


def test_results_are_kept_by_store_encoding_and_mode() -> None:
    store = Expressions()
    regex = parse("^a+b?$")
    assert regex is parse("^a+b?$")
    assert regex.full(store, "utf8") == regex.full(store, "utf8")
    keys = [key for key in store.cache if isinstance(key, tuple) and key[0] == "regex"]
    regex.search(store, "json")
    more = [key for key in store.cache if isinstance(key, tuple) and key[0] == "regex"]
    assert (len(keys), len(more)) == (1, 2)


def test_equal_patterns_give_equal_expressions() -> None:
    for pattern in [r"(?:a(?!b)|b(?!c)|c)*\b", "^(?:(?!end).)*$", r"a(?=.*b).*(?<=c.)", r"\bx|y\B"]:
        ids = []
        for _ in range(2):
            parse.cache_clear()
            store = Expressions()
            ids.append((parse(pattern).full(store), parse(pattern).search(store, "json")))
        assert ids[0] == ids[1]


@pytest.mark.parametrize("flags", ["g", "uv", "ii", "x"])
def test_flags_are_checked(flags: str) -> None:
    with pytest.raises(GrammarSyntaxError):
        parse("a", flags)


def test_lone_surrogates_match_nothing_and_pairs_join(road: Model) -> None:
    assert verdicts(road, "\ud83d\ude00|\ud800|[\ud800-\udbff]", "u", ["😀", "a"]) == [
        (True, True),
        (False, False),
    ]


def test_sets_of_code_points() -> None:
    rng = random.Random(5)
    for _ in range(300):
        one, other = ({rng.randrange(12) for _ in range(rng.randrange(8))} for _ in range(2))
        left, right = (cc.normalise((code, code) for code in part) for part in (one, other))
        for members, wanted in [
            (cc.union(left, right), one | other),
            (cc.intersection(left, right), one & other),
            (cc.subtract(left, right), one - other),
            (cc.intersection(cc.complement(left), ((0, 11),)), set(range(12)) - one),
        ]:
            assert {code for low, high in members for code in range(low, high + 1)} == wanted
            assert members == cc.normalise(members)
            assert all(cc.contains(members, code) is (code in wanted) for code in range(12))


def test_properties() -> None:
    everything = property_set("Any", None)
    assert everything == cc.ALL
    categories = (
        "Lu Ll Lt Lm Lo Mn Mc Me Nd Nl No Pc Pd Ps Pe Pi Pf Po Sm Sc Sk So Zs Zl Zp Cc Cf Cs Co Cn"
    )
    sets = [property_set("gc", name) for name in categories.split()]
    assert cc.union(*(one for one in sets if one is not None)) == cc.ALL
    size = sum(high - low + 1 for one in sets if one is not None for low, high in one)
    assert size == 0x110000, "each code point has one category"
    for pair in [("L", "Letter"), ("Nd", "Decimal_Number"), ("Alpha", "Alphabetic")]:
        assert property_set(pair[0], None) == property_set(pair[1], None)
    assert property_set("sc", "Grek") == property_set("Script", "Greek")
    for unknown in [("letter", None), ("L", "yes"), ("sc", "L"), ("Greek", None)]:
        assert property_set(*unknown) is None


def test_case_folding() -> None:
    assert [chr(fold(ord(letter))) for letter in "Aaßẞſ\u212aΣς"] == list("aaßßskσσ")
    assert close_over_case(((0x6B, 0x6B),)) == ((0x4B, 0x4B), (0x6B, 0x6B), (0x212A, 0x212A))
    closed = close_over_case(cc.ALL)
    assert closed == cc.ALL
