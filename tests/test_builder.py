"""The builder of grammars as Python sees it: containers, their formulas, texts of an expression."""

from typing import Any

import pytest

from gramlock import Grammar, LimitError
from gramlock._core import Expressions, GrammarBuilder, expressions
from gramlock._formula import Formula, formula_words

AT_LEAST, ALL_BUT, AND, OR = range(4)
EVERY = 0xFFFFFFFF


def test_atoms() -> None:
    assert formula_words(("at_least", 2, [(0, 3), (1, None), (None, None)])) == [
        *(1, AT_LEAST, 2, 3),
        *(0, 3, 1, EVERY, EVERY, EVERY),
    ]
    assert formula_words(("all_but", 0, ())) == [1, ALL_BUT, 0, 0]


def test_equal_parts_are_one_node() -> None:
    def absent() -> Formula:
        return ("all_but", 0, [(0, None)])

    both = ("and", [absent(), ("or", [absent(), absent()])])
    assert formula_words(both) == [3, ALL_BUT, 0, 1, 0, EVERY, OR, 2, 0, 0, AND, 2, 0, 1]


def test_deep_formulas() -> None:
    formula: Formula = ("all_but", 0, [])
    for _ in range(50_000):
        formula = ("or", [formula, formula])
    assert formula_words(formula)[:5] == [50_001, ALL_BUT, 0, 0, OR]


def test_counts_that_no_object_reaches() -> None:
    assert formula_words(("all_but", 1 << 70, []))[2] == 0xFFFFFF00
    with pytest.raises(LimitError, match="member_count"):
        formula_words(("at_least", 1 << 70, []))


@pytest.mark.parametrize("formula", [("at_least", -1, []), ("xor", []), ("and", [("not", [])])])
def test_what_is_no_formula(formula: Formula) -> None:
    with pytest.raises(ValueError, match=r"members|no formula"):
        formula_words(formula)


class Maker:
    """Containers over members ``"a"``, ``"b"`` and all other names of one letter."""

    def __init__(self) -> None:
        self.store = expressions()
        self.builder = GrammarBuilder(self.store)
        self.one, self.two = (self.text(text) for text in (b"1", b"2"))
        self.either = self.builder.choice([self.one, self.two])

    def text(self, text: bytes) -> int:
        return self.builder.terminal(self.store.literal(text))

    def key(self, letters: bytes) -> int:
        quote = self.store.literal(b'"')
        return self.store.concat([quote, self.store.byte_class(letters), quote])

    def grammar(self, kind: Any, gap: int = Expressions.EPSILON, **arguments: Any) -> Grammar:
        node = self.builder.container(kind, [gap] * 6, **arguments)
        return Grammar(self.builder.finish(node))


def test_objects() -> None:
    make = Maker()
    grammar = make.grammar(
        "object",
        named=[
            (make.key(b"a"), True, [(make.either, 0)]),
            (make.key(b"b"), False, [(make.one, 0)]),
        ],
        free=[(make.key(b"cde"), False, [(make.two, 0)])],
        ordered=1,
        unique=True,
        endless=False,
    )
    for text in ['{"a":1}', '{"a":2,"b":1,"c":2}', '{"a":1,"d":2,"b":1,"c":2}']:
        assert grammar.accepts(text)
    for text in [
        "{}",
        '{"b":1,"a":1}',
        '{"a":1,"c":1}',
        '{"a":1,"c":2,"c":2}',
        '{"a":1,"b":1,"b":1}',
    ]:
        assert not grammar.accepts(text)


def test_literals_and_formulas() -> None:
    make = Maker()
    choices = [(make.either, 0), (make.one, 1)]
    grammar = make.grammar(
        "object",
        named=[(make.key(b"a"), False, choices), (make.key(b"b"), False, choices)],
        formula=("or", [("at_least", 1, [(0, 0)]), ("at_least", 2, [(None, None)])]),
        ordered=0,
    )
    for text in ['{"a":1}', '{"b":2,"a":2}', '{"a":1,"b":2}']:
        assert grammar.accepts(text)
    for text in ["{}", '{"a":2}', '{"b":1}']:
        assert not grammar.accepts(text)


def test_arrays() -> None:
    make = Maker()
    grammar = make.grammar(
        "array",
        named=[(0, False, [(make.one, 0)])],
        free=[(0, False, [(make.either, 0), (make.two, 1)])],
        formula=("and", [("at_least", 1, [(1, 0)]), ("all_but", 3, [(None, None)])]),
    )
    for text in ["[1,2]", "[1,1,2]", "[1,2,2]"]:
        assert grammar.accepts(text)
    for text in ["[]", "[1]", "[2,2]", "[1,1]", "[1,2,2,2]"]:
        assert not grammar.accepts(text)


def test_different_items() -> None:
    make = Maker()
    grammar = make.grammar("array", named=[], free=[(0, False, [(make.either, 0)])], unique=True)
    assert all(grammar.accepts(text) for text in ["[]", "[1]", "[2,1]"])
    assert not any(grammar.accepts(text) for text in ["[1,1]", "[2,1,2]"])


def test_white_space_in_empty_containers() -> None:
    blank = expressions().literal(b" ")
    for bare, empty in [(False, "{ }"), (True, "{}")]:
        make = Maker()
        named = [(make.key(b"a"), False, [(make.one, 0)])]
        grammar = make.grammar("object", blank, named=named, bare=bare)
        assert grammar.accepts('{ "a" : 1 }')
        assert [text for text in ("{}", "{ }", "{  }") if grammar.accepts(text)] == [empty]


def test_plain_objects_are_containers() -> None:
    make = Maker()
    store, builder = make.store, make.builder
    a, c = make.key(b"a"), make.key(b"c")
    for order, ordered in [("declared", 1), ("any", 0)]:
        plain = builder.object(store.EPSILON, [(a, make.one, True)], [(c, make.two)], order)  # type: ignore[arg-type]
        named, free = [(a, True, [(make.one, 0)])], [(c, False, [(make.two, 0)])]
        assert plain == builder.container("object", [store.EPSILON] * 6, named, free, ordered)


def test_dumps() -> None:
    make = Maker()
    key, gap = make.key(b"a"), make.store.EPSILON
    formula = ("and", [("at_least", 1, [(0, 2)]), ("all_but", 1, [(None, None)])])
    named = [(key, False, [(make.one, 5)])]
    grammar = make.grammar("object", named=named, formula=formula, tight=True, bare=True)
    dump = grammar.dump()
    assert dump["nodes"][dump["root"]] == [
        *("container", "object", [gap] * 6, [[key, False, [[make.one, 5]]]], []),
        *(1, ["tight", "bare"]),
        ["and", [["at_least", 1, [[0, 2]]], ["all_but", 1, [[None, None]]]]],
    ]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"ordered": 2}, "2 of 1 named classes"),
        ({"formula": ("at_least", 1, [(1, 0)])}, "names class 1"),
        ({"formula": ("at_least", 1, [(0, 31)])}, "names literal 31"),
        ({"free": [(3, False, [(999, 0)])]}, "node 999"),
        ({"free": [(3, True, [(1, 0)])]}, "class 1 is no name"),
        ({"free": [(3, False, [(1, 1 << 31)])]}, "has the literals"),
        ({"free": [(Expressions.EPSILON, False, [])]}, "must not match the empty string"),
    ],
)
def test_mistakes(arguments: dict[str, Any], words: str) -> None:
    make = Maker()
    named = [(make.key(b"a"), False, [(make.one, 0)])]
    with pytest.raises(ValueError, match=words):
        make.grammar("object", named=named, **arguments)


def test_texts_of_expressions() -> None:
    store = expressions()
    letters = store.repeat(store.byte_class(b"ab"), 0, 2)
    assert store.members(letters, 7) == [b"", b"a", b"b", b"aa", b"ab", b"ba", b"bb"]
    assert store.members(letters, 6) is None
    assert store.members(store.NEVER, 0) == []
    assert store.members(store.ANY, 1000) is None
    assert store.members(store.literal(b"x" * 5000), 1) == [b"x" * 5000]
