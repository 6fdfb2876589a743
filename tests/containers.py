"""Containers, by hand and by seed, and vocabularies whose tokens cross their borders.

A container is an object or an array whose members have choices, a formula over them, and perhaps
must differ; see :mod:`machines` for what that means. The core asks one thing of choices, and all of
these have it: one that asserts fewer literals than another allows every value of the other.

As in :mod:`grammars`, all of it is data that never went through the core's builder.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from typing import Any

from grammars import Random, Spec, grammar
from oracle import Tokens

# ---------------------------------------------------------------- by hand

NOTHING_ELSE: list[Any] = [[None, None]]  # the targets of a condition on all members


def _texts(spec: Spec, *texts: bytes) -> int:
    return spec.terminal(spec.union(*map(spec.literal, texts)))


def _array(
    spec: Spec, items: Sequence[tuple[int, int]], formula: Any = None, flags: Any = (),
    first: Sequence[Sequence[tuple[int, int]]] = (), gap: int | None = None,
) -> int:  # fmt: skip
    layout = [spec.epsilon() if gap is None else gap] * 6
    named = [(None, False, choices) for choices in first]
    free = [(None, False, items)] if items else []
    return spec.container("array", layout, named, free, None, formula, flags)


def _record(
    spec: Spec, members: Mapping[bytes, Sequence[tuple[int, int]]], formula: Any = None,
    free: Sequence[tuple[int, int]] = (), ordered: int | None = None, required: bytes = b"",
    longest: int | None = 2,
) -> int:  # fmt: skip
    """Names are single letters; free keys are other words of a and b."""
    quote = spec.bytes(b'"')
    named = [
        (spec.concat(quote, spec.literal(name), quote), name in required, choices)
        for name, choices in members.items()
    ]
    taken = spec.union(*map(spec.literal, members)) if members else spec.never()
    words = spec.repeat(spec.bytes(b"ab"), 0, longest)
    others = spec.concat(quote, spec.intersect(words, spec.complement(taken)), quote)
    classes = [(others, False, free)] if free else []
    flags = ["unique", "endless" if longest is None else "tight"] if free else []
    layout = [spec.epsilon()] * 6
    return spec.container("object", layout, named, classes, ordered, formula, flags)


def _contains(spec: Spec) -> int:
    """One or two items are 0, and not all of them are."""
    zero, other = spec.terminal(b"0"), _texts(spec, b"1", b'"a"')
    every = [[0, 0]]
    formula = ["and", [["at_least", 1, every], ["all_but", 2, [[0, 1]]], ["at_least", 1, [[0, 1]]]]]
    return _array(spec, [(zero, 1), (other, 2)], formula)


def _unique_few(spec: Spec) -> int:
    """At least two different values of three, some of them spelled in two ways."""
    value = _texts(spec, b"0", b"1", b"1.0", b'"a"', b'"\\u0061"')
    return _array(spec, [(value, 0)], ["at_least", 2, NOTHING_ELSE], ["unique", "tight"])


def _unique_nested(spec: Spec) -> int:
    value = _texts(spec, b"0", b"1", b"1.0")
    inner = _record(spec, {b"a": [(value, 0)], b"b": [(value, 0)]}, ordered=0, required=b"a")
    formula = ["and", [["at_least", 2, NOTHING_ELSE], ["all_but", 2, NOTHING_ELSE]]]
    return _array(spec, [(inner, 0)], formula, ["unique", "tight"])


def _unique_strings(spec: Spec) -> int:
    quote = spec.bytes(b'"')
    text = spec.concat(quote, spec.repeat(spec.bytes(b"ab"), 0), quote)
    return _array(
        spec, [(spec.terminal(text), 0)], ["at_least", 2, NOTHING_ELSE], ["unique", "endless"]
    )


def _unique_numbers(spec: Spec) -> int:
    """Endlessly many, but nothing makes 0 longer."""
    many = spec.concat(spec.bytes(b"1"), spec.repeat(spec.bytes(b"01"), 0))
    value = spec.terminal(spec.union(spec.bytes(b"0"), many))
    return _array(spec, [(value, 0)], ["at_least", 3, NOTHING_ELSE], ["unique"])


def _unique_trees(spec: Spec) -> int:
    """Arrays of different arrays, and so on."""
    rule = spec.rule()
    body = _array(spec, [(rule, 0)], ["all_but", 2, NOTHING_ELSE], ["unique", "tight"])
    return spec.define(rule, body)


def _if_then(spec: Spec) -> int:
    """If a is 0 then b is 1; else there is no b."""
    zero, one = spec.terminal(b"0"), spec.terminal(b"1")
    no_zero = _texts(spec, b"1", b'"a"')
    a = [(spec.choice(zero, no_zero), 0), (no_zero, 1)]
    b = [(spec.choice(one, _texts(spec, b"0", b"[]")), 0), (one, 1)]
    then = ["and", [["at_least", 1, [[1, 0]]]]]
    other = ["and", [["all_but", 0, [[0, 0]]], ["all_but", 0, [[1, None]]]]]
    return _record(spec, {b"a": a, b"b": b}, ["or", [then, other]], ordered=0)


def _counted_members(spec: Spec) -> int:
    formula = ["and", [["at_least", 2, NOTHING_ELSE], ["all_but", 3, NOTHING_ELSE]]]
    value = _texts(spec, b"0", b"1")
    return _record(spec, {b"a": [(value, 0)]}, formula, [(value, 0)])


def _too_few_names(spec: Spec) -> int:
    """Three members, of which at most two have the free names "" and b."""
    value = spec.terminal(b"0")
    formula = ["and", [["at_least", 3, NOTHING_ELSE], ["all_but", 3, NOTHING_ELSE]]]
    named = {b"a": [(value, 0)], b"ab": [(value, 0)]}
    return _record(spec, named, formula, [(value, 0)], 1, longest=1)


def _some_member(spec: Spec) -> int:
    """Some member is 0 whatever its name; free names never end."""
    choices = [(_texts(spec, b"0", b"1", b"{}"), 0), (spec.terminal(b"0"), 1)]
    formula = ["at_least", 1, [[0, 0], [1, 0]]]
    return _record(spec, {b"a": choices}, formula, choices, longest=None)


def _mentioned_only(spec: Spec) -> int:
    """a comes first if at all; b and ab in any order, and one of them needs a."""
    value = [(_texts(spec, b"0", b"1"), 0)]
    formula = ["or", [["all_but", 0, [[1, None]]], ["at_least", 1, [[0, None]]]]]
    return _record(spec, {b"a": value, b"b": value, b"ab": value}, formula, ordered=1)


def _pretty(spec: Spec) -> int:
    """Every gap is another one; an empty object holds none of them."""
    gaps = [spec.repeat(spec.bytes(b" "), low, high) for low, high in ((1, 2), (2, 2), (0, 1))]
    layout = [gaps[0], gaps[1], gaps[2], gaps[0], spec.epsilon(), gaps[2]]
    value = [(_texts(spec, b"0", b"1"), 0)]
    quote = spec.bytes(b'"')
    names = [(spec.concat(quote, spec.literal(n), quote), False, value) for n in (b"a", b"b")]
    return spec.container("object", layout, names, [], 0)


def _positions(spec: Spec) -> int:
    """A pair and more: three items at least, and 1 stands somewhere after the first place."""
    one = spec.terminal(b"1")
    both = [(_texts(spec, b"0", b"1"), 0), (one, 1)]
    formula = ["and", [["at_least", 3, NOTHING_ELSE], ["at_least", 1, [[1, 0], [2, 0]]]]]
    return _array(spec, both, formula, first=[[(_texts(spec, b"0", b"[]"), 0)], both])


CONTAINERS: dict[str, Spec] = {
    "contains": grammar(_contains),
    "different, few": grammar(_unique_few),
    "different, nested": grammar(_unique_nested),
    "different strings": grammar(_unique_strings),
    "different numbers": grammar(_unique_numbers),
    "different trees": grammar(_unique_trees),
    "if then else": grammar(_if_then),
    "counted members": grammar(_counted_members),
    "names run out": grammar(_too_few_names),
    "some member": grammar(_some_member),
    "mentioned only": grammar(_mentioned_only),
    "every gap another": grammar(_pretty),
    "positions": grammar(_positions),
}


# ---------------------------------------------------------------- by seed


class RandomContainers(Random):
    """Objects and arrays of JSON values with choices, formulas and different members, from a seed.

    Values come from a tiny pool in which some texts denote the same value; names are a, b, ab, with
    a second spelling now and then. Where *endless* is false, the language is finite.
    """

    TEXTS = (b"0", b"1", b"1.0", b"10", b'"a"', b'"b"', b'"\\u0061"', b'""', b"[]", b"{}")

    def __init__(self, seed: int, endless: bool = False) -> None:
        super().__init__(seed, b"ab")
        self.endless = endless
        self.gaps: list[int] = []

    def spec_of(self, depth: int = 2) -> Spec:
        for rule in self.rules:
            self.spec.define(rule, self.spec.FAIL)
        blank = self.spec.repeat(self.spec.bytes(b" "), 0, 1)
        self.gaps = [self.spec.epsilon()] * 6
        if self.rng.random() < 0.4:
            self.gaps[self.rng.randrange(6)] = blank
        if self.rng.random() < 0.1:
            self.gaps[:2] = [blank] * 2
        self.spec.root = self.container(depth)
        if self.rng.random() < 0.1:
            self.spec.root = self.spec.choice(self.spec.root, self.container(1))
        return self.spec

    def container(self, depth: int) -> int:
        return self.members(depth) if self.rng.random() < 0.5 else self.items(depth)

    def value(self, depth: int) -> int:
        if depth > 1 and self.rng.random() < 0.25:
            return self.container(depth - 1)
        if self.endless and self.rng.random() < 0.3:
            return self.spec.terminal(self.text())
        return self.spec.terminal(self.spec.literal(self.rng.choice(self.TEXTS)))

    def text(self) -> int:
        """Strings of any length, or numbers."""
        quote, letters = self.spec.bytes(b'"'), self.spec.repeat(self.spec.bytes(b"ab"), 0)
        if self.rng.random() < 0.6:
            return self.spec.concat(quote, letters, quote)
        one = self.spec.concat(self.spec.bytes(b"1"), self.spec.repeat(self.spec.bytes(b"01"), 0))
        return self.spec.union(self.spec.bytes(b"0"), one)

    def choices(self, depth: int) -> list[tuple[int, int]]:
        """Each value satisfies some literals; a choice has the values that satisfy its own."""
        values = [(self.value(depth), self.rng.randrange(4)) for _ in range(self.rng.randint(1, 3))]
        found = []
        for literals in self.rng.sample(range(4), self.rng.choice([1, 2, 2, 3])):
            fitting = [value for value, mask in values if mask & literals == literals]
            if fitting or self.rng.random() < 0.3:
                found.append((self.spec.choice(*fitting), literals))
        return found

    def formula(self, classes: int, depth: int = 2) -> list[Any]:
        kind = self.rng.choice(["and", "or", "at_least", "all_but"] if depth else ["at_least"])
        if kind in ("and", "or"):
            parts = [self.formula(classes, depth - 1) for _ in range(self.rng.randint(2, 3))]
            return [kind, parts]
        count = self.rng.choice([1, 1, 2] if kind == "at_least" else [0, 0, 1])
        if self.rng.random() < 0.3:
            return [kind, count, [[None, None]]]
        places = self.rng.sample(range(classes), self.rng.randint(1, classes))
        return [kind, count, [[at, self.rng.choice([None, 0, 1, 1])] for at in places]]

    def conditions(self, classes: int, bounded: bool) -> list[Any] | None:
        parts = [self.formula(classes)] if classes and self.rng.random() < 0.7 else []
        if bounded:
            parts.append(["all_but", self.rng.choice([2, 3]), [[None, None]]])
        if len(parts) < 2:
            return parts[0] if parts else None
        return ["and", parts]

    def items(self, depth: int) -> int:
        positions = range(self.rng.choice([0, 0, 1, 2]))
        named = [(None, False, self.choices(depth)) for _ in positions]
        free = [(None, False, self.choices(depth))] if self.rng.random() < 0.8 or not named else []
        flags = ["unique", "tight"] if self.rng.random() < 0.6 else []
        formula = self.conditions(len(named) + len(free), not self.endless)
        return self.spec.container("array", self.gaps, named, free, None, formula, flags)

    def name(self, word: bytes) -> int:
        spellings = [b'"' + word + b'"']
        if self.rng.random() < 0.3:
            spellings.append(spellings[0].replace(b"a", b"\\u0061", 1))
        return self.spec.union(*map(self.spec.literal, spellings))

    def members(self, depth: int) -> int:
        spec, rng = self.spec, self.rng
        words = rng.sample([b"a", b"b", b"ab"], rng.randint(0, 3))
        named = [(self.name(word), rng.random() < 0.3, self.choices(depth)) for word in words]
        free, flags = [], ["unique", "tight"]
        if rng.random() < 0.6:
            most = None if self.endless and rng.random() < 0.7 else rng.choice([1, 2])
            if most is None:
                flags = ["unique", "endless"]
            taken = spec.union(*map(spec.literal, words)) if words else spec.never()
            letters = spec.repeat(spec.bytes(b"ab"), 0, most)
            names = spec.intersect(letters, spec.complement(taken))
            quote = spec.bytes(b'"')
            regions = [names]
            if rng.random() < 0.3:
                first = spec.concat(spec.bytes(b"a"), spec.repeat(spec.bytes(b"ab"), 0))
                regions = [spec.intersect(names, part) for part in (first, spec.complement(first))]
            free = [
                (spec.concat(quote, each, quote), False, self.choices(depth)) for each in regions
            ]
            if most is None and len(regions) > 1:
                flags = ["unique", "tight"]  # the empty name is alone in its region
        ordered = rng.choice([0, len(named), rng.randint(0, len(named))])
        formula = self.conditions(len(named) + len(free), bool(free) and not self.endless)
        if not free:
            flags = []
        return spec.container("object", self.gaps, named, free, ordered, formula, flags)


def container_spec(seed: int, endless: bool = False) -> Spec:
    return RandomContainers(seed, endless).spec_of()


# ---------------------------------------------------------------- vocabularies

CONTAINER_BYTES = b'{}[]":, ab01.\\u6'
CROSSING = [
    b'{"', b'":',
    b'","', b'"},{"', b'":"', b',"a":', b",0", b"[0", b"0,", b"0]", b'"]', b'"}', b"}}",
    b"]]", b"],[", b'["', b"1.0", b"1,1", b",1.0", b'"a"', b'"a","b"', b'a"', b'{"a":0', b',"b":1}',
    b":0}", b'"a":', b"{}", b"[]", b'""', b'"b"]', b"0,1]", b'",', b'"\\u0061"', b"\\u0061", b"[{",
    b"}]", b'b"]', b"10", b"1]", b'1,"', b", ", b": ", b'{"ab":', b'{"a":[', b"a",
]  # fmt: skip


CONTAINER_TOKENS = Tokens(
    [bytes([byte]) for byte in CONTAINER_BYTES] + CROSSING + [None],
    [len(CONTAINER_BYTES) + len(CROSSING)],
)


def container_tokens(seed: int) -> Tokens:
    """The bytes of JSON texts (now and then one is missing) and tokens that cross their borders."""
    rng = random.Random(seed)
    texts: list[bytes | None] = [bytes([byte]) for byte in CONTAINER_BYTES]
    if rng.random() < 0.15:
        texts[rng.randrange(len(texts))] = None
    texts += rng.sample(CROSSING, rng.randint(6, 20))
    texts.append(None)
    return Tokens(texts, [len(texts) - 1] if rng.random() < 0.8 else [])
