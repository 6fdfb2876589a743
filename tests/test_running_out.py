"""Arrays and objects whose different items or names run out, and what may lead there.

Each case is small, so the oracle lists what may follow: no comma, no white space and no token may
lead to where nothing new is left, whatever the layout, and none that leads on may be missing.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import Any

import pytest

import gramlock
from grammars import Spec, grammar
from oracle import Tokens
from roads import Case, explore

EVERY: list[Any] = [[None, None]]
BYTES = [bytes([byte]) for byte in b'[]{}",: \n123abe-0\\u6']
LONGER = [
    b"1,", b",1", b"1,2", b"1]", b"],", b"],[", b", ", b"[[", b"]]", b'",', b'","', b'"a', b'a"',
    b'":', b":1", b'1,"', b"1,2]", b"2,1", b",2", b" ,", b"\n]", b"\n1", b",\n", b"[\n", b"[1",
    b"[1,1", b"[2,", b"1,1", b"2]", b"12,1", b"1],[1", b"1,1]", b',"a"', b'{"a"', b'"a":1,"',
    b'a"]', b'"]', b"0,1e", b"1e-", b"}]", b"1}", b"},{", b'{"', b"1 ", b"2,", b"2 ,", b"2",
]  # fmt: skip


def texts(spec: Spec, *each: bytes) -> int:
    return spec.terminal(spec.union(*map(spec.literal, each)))


def array(
    spec: Spec, layout: Sequence[int], item: int, most: int | None = None, *flags: str,
    first: Sequence[int] = (),
) -> int:  # fmt: skip
    named, free = ([(None, False, [(node, 0)]) for node in group] for group in (first, [item]))
    formula = None if most is None else ["all_but", most, EVERY]
    return spec.container("array", layout, named, free, None, formula, ["unique", *flags])


def compact(spec: Spec) -> list[int]:
    return [spec.epsilon()] * 6


def indented(spec: Spec) -> list[int]:
    line, none = spec.literal(b"\n"), spec.epsilon()
    return [line, line, none, line, none, none]


def spaced(spec: Spec) -> list[int]:
    return [spec.repeat(spec.bytes(b" "), 0, 1)] * 6


def _two_items(layout: Callable[[Spec], list[int]]) -> Callable[[Spec], int]:
    return lambda spec: array(spec, layout(spec), texts(spec, b"1", b"2"))


def _one_space_before_comma(spec: Spec) -> list[int]:
    none = spec.epsilon()
    return [none, spec.literal(b"\n"), spec.literal(b" "), none, none, none]


def _spaces_before_comma(spec: Spec) -> list[int]:
    none, spaces = spec.epsilon(), spec.repeat(spec.bytes(b" "), 0, 2)
    return [none, spec.repeat(spec.bytes(b"\n"), 0, 1), spaces, none, none, none]


def _spaces_after_comma(spec: Spec) -> list[int]:
    none, spaces = spec.epsilon(), spec.repeat(spec.bytes(b" "), 0, 2)
    return [none, spec.repeat(spec.bytes(b"\n"), 0, 1), none, spaces, none, none]


def _arrays(*flags: str) -> Callable[[Spec], int]:
    """The white space behind an inner bracket or item is a way out."""

    def make(spec: Spec) -> int:
        layout = indented(spec)
        inner = array(spec, layout, texts(spec, b"1", b"2"), 2, *flags)
        return array(spec, layout, inner, 3, *flags)

    return make


def _deeper_arrays(spec: Spec) -> int:
    layout, item = indented(spec), texts(spec, b"1")
    for most in (1, 1, 4):
        item = array(spec, layout, item, most, *(["tight"] if most > 1 else []))
    return item


def _inner_layout(spec: Spec) -> int:
    inner = array(spec, compact(spec), texts(spec, b"1", b"2"), 2)
    return array(spec, spaced(spec), inner)


def _space_inside_items(spec: Spec) -> int:
    return array(spec, compact(spec), texts(spec, b"[1]", b"[ 2]"))


def _numbers(spec: Spec, longest: int | None) -> int:
    return spec.terminal(spec.repeat(spec.bytes(b"12"), 1, longest))


def _two_readings(spec: Spec) -> int:
    """What one reading allows after any item, the other allows after new ones only."""
    return spec.choice(
        array(spec, compact(spec), _numbers(spec, None), 3, "endless"),
        array(spec, compact(spec), _numbers(spec, 2), 3),
    )


def _by_text_or_token(spec: Spec) -> int:
    """A token that repeats an item as a text may be allowed as a token."""
    tokens = spec.sequence(spec.terminal(b"[1,"), spec.tokens(*range(8, 14)))
    return spec.choice(array(spec, compact(spec), _numbers(spec, 1), 3), tokens)


def _exponents(spec: Spec) -> int:
    """1e0 and 1e-0 are equal, 1e02 and 1e-02 are not."""
    sign, end = (spec.repeat(spec.bytes(each), 0, 1) for each in (b"-", b"2"))
    number = spec.concat(spec.literal(b"1e"), sign, spec.literal(b"0"), end)
    return array(spec, compact(spec), spec.terminal(number), 3)


def _counted_items(spec: Spec) -> int:
    """How many values are left depends on how much of a counted item is written."""
    digit = texts(spec, b"1", b"2")
    more = spec.repetition(spec.sequence(spec.terminal(b","), digit), 3, 3)
    item = spec.sequence(spec.terminal(b"["), digit, more, spec.terminal(b"]"))
    return array(spec, compact(spec), item)


def _places(spec: Spec) -> int:
    """After a 1 in the first place there is none left for the second."""
    first = texts(spec, b"1", b"2", b"3")
    return array(spec, compact(spec), first, first=[first, texts(spec, b"1")])


def _escapes(spec: Spec) -> int:
    character = spec.union(spec.bytes(b"ab"), spec.literal(b"\\u0061"))
    quote = spec.literal(b'"')
    item = spec.terminal(spec.concat(quote, spec.repeat(character, 0, 1), quote))
    return array(spec, compact(spec), item)


def _names(spec: Spec) -> int:
    quote, value = spec.literal(b'"'), texts(spec, b"1")
    key = spec.concat(quote, spec.bytes(b"ab"), quote)
    named = [(spec.literal(b'"c"'), False, [(value, 0)])]
    free = [(key, False, [(value, 0)])]
    return spec.container("object", spaced(spec), named, free, 0, None, ["unique"])


CASES: dict[str, Callable[[Spec], int]] = {
    "items": _two_items(compact),
    "items, spaces": _two_items(spaced),
    "items, lines": _two_items(indented),
    "items, a space before the comma": _two_items(_one_space_before_comma),
    "items, spaces before the comma": _two_items(_spaces_before_comma),
    "items, spaces after the comma": _two_items(_spaces_after_comma),
    "arrays": _arrays(),
    "arrays, tight": _arrays("tight"),
    "deeper arrays": _deeper_arrays,
    "inner layout": _inner_layout,
    "space inside items": _space_inside_items,
    "two readings": _two_readings,
    "by text or token": _by_text_or_token,
    "exponents": _exponents,
    "counted items": _counted_items,
    "places": _places,
    "escapes": _escapes,
    "names": _names,
}


@pytest.mark.parametrize("ends", [False, True])
@pytest.mark.parametrize("name", CASES)
def test_nothing_leads_to_where_nothing_is_left(name: str, ends: bool) -> None:
    rng = random.Random(f"{name} {ends}")
    listed = [*BYTES, *rng.sample(LONGER, 14)]
    tokens = Tokens([*listed, None], [len(listed)]) if ends else Tokens(listed)
    explore(Case(grammar(CASES[name]), tokens), 60, rng, longest=14)


PREFIXES = [
    {"enum": [1, 12, 2, 123, 23]},
    {"enum": ["a", "ab", "abc", "b"]},
    {"enum": [[1], [1, 2], [12]]},
    {"anyOf": [{"const": 1}, {"const": 12}, {"type": "boolean"}]},
]


@pytest.mark.parametrize("items", PREFIXES, ids=range(len(PREFIXES)))
def test_a_value_that_begins_another_one(items: dict[str, object]) -> None:
    """Behind 1, when 12 was seen, the item must end, and a token that goes on is no way round."""
    listed = [
        *BYTES,
        b"12",
        b"23",
        b"123",
        b'"a',
        b'"ab',
        b'"ab"',
        b"bc",
        b'b"',
        b"1,",
        b", 12",
        b'c",',
    ]
    vocabulary = gramlock.Vocabulary.from_tokens(listed)
    program = vocabulary.compile({"type": "array", "items": items, "uniqueItems": True})
    rng = random.Random(str(items))
    fast = gramlock.allocate_token_bitmask(1, vocabulary.size)
    slow = fast.copy()
    for _ in range(300):
        matcher = program.matcher()
        for _ in range(16):
            matcher.fill_next_token_bitmask(fast)
            matcher._fill_by_walk(slow)
            assert (fast == slow).all()
            bits = [i for i in range(vocabulary.size) if fast[0, i >> 5] >> (i & 31) & 1]
            if not bits:
                break
            assert matcher.accept_token(rng.choice(bits))
