"""Small grammars and small vocabularies, chosen by hand or by seed, and how to build them.

A :class:`Spec` is a grammar in the form of ``GrammarHandle.dump``, written down without the core:
what the oracle reads never went through the builder that is under test.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from oracle import Tokens

SYNTAX = b'{}":,'
ClassItem = tuple[int | None, bool, Sequence[tuple[int, int]]]  # key, required, (value, literals)


class Spec:
    """A grammar under construction, as plain data. Its methods are named as the builder's."""

    FAIL, EMPTY = 0, 1

    def __init__(self) -> None:
        self.nodes: dict[int, list[Any]] = {0: ["fail"], 1: ["empty"]}
        self.exprs: dict[int, list[Any]] = {}
        self.root = 0

    def dump(self) -> dict[str, Any]:
        return {"root": self.root, "nodes": self.nodes, "exprs": self.exprs}

    def _node(self, *item: Any) -> int:
        self.nodes[len(self.nodes)] = list(item)
        return len(self.nodes) - 1

    def _expr(self, *item: Any) -> int:
        self.exprs[len(self.exprs)] = list(item)
        return len(self.exprs) - 1

    # expressions
    def never(self) -> int:
        return self._expr("never")

    def epsilon(self) -> int:
        return self._expr("epsilon")

    def bytes(self, members: Iterable[int]) -> int:
        return self._expr("class", [[byte, byte] for byte in sorted(set(members))])

    def literal(self, text: bytes) -> int:
        return self._expr("concat", [self.bytes([byte]) for byte in text])

    def concat(self, *items: int) -> int:
        return self._expr("concat", list(items))

    def union(self, *items: int) -> int:
        return self._expr("union", list(items))

    def intersect(self, *items: int) -> int:
        return self._expr("intersect", list(items))

    def complement(self, item: int) -> int:
        return self._expr("complement", item)

    def repeat(self, item: int, low: int, high: int | None = None) -> int:
        return self._expr("repeat", item, low, high)

    def tag(self, label: int) -> int:
        return self._expr("tag", label)

    # nodes
    def terminal(self, expr: int | bytes) -> int:
        return self._node("terminal", self.literal(expr) if isinstance(expr, bytes) else expr)

    def sequence(self, *nodes: int) -> int:
        return self._node("sequence", list(nodes))

    def choice(self, *nodes: int) -> int:
        return self._node("choice", list(nodes))

    def repetition(self, node: int, low: int, high: int | None = None) -> int:
        return self._node("repetition", node, low, high)

    def tokens(self, *ids: int) -> int:
        return self._node("tokens", sorted(set(ids)))

    def switch(self, expr: int, table: Mapping[int, int]) -> int:
        return self._node("switch", expr, [[label, node] for label, node in table.items()])

    def object(
        self,
        gap: int,
        members: Sequence[tuple[int, int, bool]],
        free: Sequence[tuple[int, int]] = (),
        order: str = "declared",
    ) -> int:
        """An object whose members have one value each, all gaps alike."""
        named = [(key, required, [(value, 0)]) for key, value, required in members]
        others = [(key, False, [(value, 0)]) for key, value in free]
        ordered = len(named) if order == "declared" else 0
        return self.container("object", [gap] * 6, named, others, ordered)

    def container(
        self,
        kind: str,
        layout: Sequence[int],
        named: Sequence[ClassItem],
        free: Sequence[ClassItem] = (),
        ordered: int | None = None,
        formula: Sequence[Any] | None = None,
        flags: Sequence[str] = (),
    ) -> int:
        """An object or an array; *flags* are of ``unique``, ``endless``, ``tight``."""
        listed, others = (
            [[key, required, [list(each) for each in choices]] for key, required, choices in group]
            for group in (named, free)
        )
        place = len(named) if ordered is None else ordered
        return self._node(
            "container", kind, list(layout), listed, others, place, list(flags), formula
        )

    def rule(self) -> int:
        return self._node("rule", None)

    def define(self, rule: int, body: int) -> int:
        self.nodes[rule][1] = body
        return rule


def grammar(make: Callable[[Spec], int]) -> Spec:
    """The grammar whose root *make* builds."""
    spec = Spec()
    spec.root = make(spec)
    return spec


def recursive(make: Callable[[Spec, int], int]) -> Spec:
    """The grammar of one rule whose body *make* builds from it."""

    def root(spec: Spec) -> int:
        rule = spec.rule()
        return spec.define(rule, make(spec, rule))

    return grammar(root)


# ---------------------------------------------------------------- by hand


def _object(order: str, gap: bytes = b"") -> Callable[[Spec], int]:
    def make(spec: Spec) -> int:
        value = spec.terminal(b"a")
        blank = spec.repeat(spec.bytes(gap), 0, 1) if gap else spec.epsilon()
        members = [
            (spec.literal(b'"a"'), value, False),
            (spec.literal(b'"b"'), spec.choice(value, spec.terminal(b"b")), True),
            (spec.literal(b'"ab"'), value, False),
        ]
        name = spec.repeat(spec.bytes(b"ab"), 0, 3)
        taken = spec.union(*(spec.literal(text) for text in (b"a", b"b", b"ab")))
        free = spec.intersect(name, spec.complement(taken))
        quote = spec.bytes(b'"')
        return spec.object(blank, members, [(spec.concat(quote, free, quote), value)], order)

    return make


def _tree(spec: Spec, rule: int) -> int:
    """Objects inside objects."""
    members = [(spec.literal(b"a"), rule, False), (spec.literal(b"b"), rule, True)]
    return spec.choice(spec.terminal(b"c"), spec.object(spec.epsilon(), members))


def _switch(spec: Spec) -> int:
    word = spec.repeat(spec.bytes(b"ab"), 1, 3)
    keys = spec.union(
        spec.concat(spec.literal(b"ab"), spec.tag(1)),
        spec.concat(word, spec.tag(2)),
        spec.tag(3),
    )
    many = spec.repetition(spec.terminal(b"c"), 1, 2)
    return spec.switch(keys, {1: spec.terminal(b"c"), 2: many, 3: spec.terminal(b"d")})


def _mutual(spec: Spec) -> int:
    first, second = spec.rule(), spec.rule()
    spec.define(first, spec.choice(spec.sequence(second, spec.terminal(b"a")), spec.EMPTY))
    spec.define(second, spec.choice(spec.sequence(first, spec.terminal(b"b")), first))
    return first


def _unproductive(spec: Spec) -> int:
    endless = spec.rule()
    spec.define(endless, spec.sequence(spec.terminal(b"b"), endless))
    never = spec.terminal(spec.intersect(spec.literal(b"b"), spec.literal(b"bb")))
    head = spec.terminal(b"a")
    return spec.choice(
        spec.sequence(head, endless),
        spec.sequence(head, head, never),
        spec.sequence(head, spec.terminal(b"c"), spec.tokens(10_000)),
        spec.sequence(head, head, spec.terminal(b"c")),
    )


def _not_ending(spec: Spec) -> int:
    """Strings of a and b without "ab" inside, up to five bytes."""
    every = spec.repeat(spec.bytes(b"ab"), 0, 5)
    around = spec.complement(spec.never())
    inside = spec.concat(around, spec.literal(b"ab"), around)
    return spec.terminal(spec.intersect(every, spec.complement(inside)))


BY_HAND: dict[str, Spec] = {
    "nothing": grammar(lambda g: g.EMPTY),
    "literal": grammar(lambda g: g.terminal(b"abc")),
    "left recursion": recursive(
        lambda g, s: g.choice(g.sequence(s, g.terminal(b"a")), g.terminal(b"b"))
    ),
    "right recursion": recursive(
        lambda g, s: g.choice(g.sequence(g.terminal(b"a"), s), g.terminal(b"b"))
    ),
    "hidden left recursion": recursive(
        lambda g, s: g.choice(
            g.sequence(g.repetition(g.terminal(b"b"), 0, 1), s, g.terminal(b"a")),
            g.terminal(b"c"),
        )
    ),
    "mutual left recursion": grammar(_mutual),
    "cycle": recursive(lambda g, s: g.choice(s, g.sequence(s, s), g.terminal(b"a"), g.EMPTY)),
    "balanced": recursive(
        lambda g, s: g.choice(g.sequence(g.terminal(b"a"), s, g.terminal(b"b")), g.EMPTY)
    ),
    "palindromes": recursive(
        lambda g, s: g.choice(
            *(g.sequence(g.terminal(each), s, g.terminal(each)) for each in (b"a", b"b")),
            g.terminal(b"a"),
            g.EMPTY,
        )
    ),
    "ambiguous sums": recursive(
        lambda g, s: g.choice(g.sequence(s, g.terminal(b"c"), s), g.terminal(b"a"))
    ),
    "counted": grammar(lambda g: g.repetition(g.terminal(b"ab"), 2, 3)),
    "counted, maybe empty": grammar(
        lambda g: g.repetition(g.choice(g.terminal(b"a"), g.EMPTY, g.terminal(b"bb")), 2, 3)
    ),
    "counted rule that counts itself": recursive(
        lambda g, s: g.choice(g.terminal(b"a"), g.sequence(g.repetition(s, 2, 3), g.terminal(b"b")))
    ),
    "a hundred": grammar(
        lambda g: g.sequence(g.repetition(g.terminal(b"a"), 100, 1_000_000), g.terminal(b"b"))
    ),
    "nested counts": grammar(
        lambda g: g.repetition(
            g.sequence(g.terminal(b"a"), g.repetition(g.terminal(b"b"), 0, 2)), 1, 3
        )
    ),
    "counted expression": grammar(
        lambda g: g.terminal(g.concat(g.repeat(g.literal(b"ab"), 3, 5), g.bytes(b"c")))
    ),
    "long expression": grammar(lambda g: g.terminal(g.repeat(g.bytes(b"ab"), 30, 60))),
    "stars of stars": grammar(
        lambda g: g.terminal(
            g.concat(g.repeat(g.repeat(g.repeat(g.bytes(b"a"), 0), 0), 0), g.bytes(b"b"))
        )
    ),
    "without ab": grammar(_not_ending),
    "switch": grammar(_switch),
    "dead branches": grammar(_unproductive),
    "overlapping terminals": grammar(
        lambda g: g.sequence(
            g.terminal(g.repeat(g.bytes(b"ab"), 0, 3)), g.terminal(g.repeat(g.bytes(b"bc"), 1, 2))
        )
    ),
    "token inside": grammar(
        lambda g: g.sequence(
            g.terminal(g.repeat(g.bytes(b"a"), 0, 2)), g.tokens(3, 5, 6), g.terminal(b"b")
        )
    ),
    "object, declared": grammar(_object("declared")),
    "object, any order": grammar(_object("any", b" ")),
    "objects inside objects": recursive(_tree),
    "pieces of UTF-8": grammar(
        lambda g: g.repetition(g.choice(g.terminal("é".encode()), g.terminal("è".encode())), 1, 2)
    ),
}


# ---------------------------------------------------------------- by seed


class Random:
    """Grammars over a few bytes, from a seed."""

    def __init__(self, seed: int, alphabet: bytes = b"abc", token_ids: Sequence[int] = ()) -> None:
        self.rng = random.Random(seed)
        self.alphabet, self.token_ids = alphabet, token_ids
        self.spec = Spec()
        self.rules = [self.spec.rule() for _ in range(self.rng.randint(1, 3))]

    def spec_of(self, depth: int = 3) -> Spec:
        for rule in self.rules:
            self.spec.define(rule, self.node(depth))
        self.spec.root = self.rules[0] if self.rng.random() < 0.8 else self.node(depth)
        return self.spec

    def bounds(self, most: int = 3) -> tuple[int, int | None]:
        low = self.rng.randint(0, 2)
        kind = self.rng.random()
        if kind < 0.3:
            return low, None
        if kind < 0.4:
            return low, self.rng.choice([40, 1000])
        return low, self.rng.randint(max(low, 1), max(low, most))

    def word(self, longest: int = 3) -> bytes:
        return bytes(self.rng.choices(self.alphabet, k=self.rng.randint(1, longest)))

    def expr(self, depth: int) -> int:
        spec, rng = self.spec, self.rng
        if depth == 0 or rng.random() < 0.2:
            if rng.random() < 0.4:
                return spec.bytes(rng.sample(self.alphabet, rng.randint(1, len(self.alphabet) - 1)))
            return spec.literal(self.word())
        kind = rng.choice(["concat", "union", "repeat", "repeat", "intersect", "complement"])
        if kind == "repeat":
            return spec.repeat(self.expr(depth - 1), *self.bounds())
        if kind == "complement":
            return spec.complement(self.expr(depth - 1))
        parts = [self.expr(depth - 1) for _ in range(rng.randint(2, 3))]
        return {"concat": spec.concat, "union": spec.union, "intersect": spec.intersect}[kind](
            *parts
        )

    def node(self, depth: int) -> int:
        spec, rng = self.spec, self.rng
        if depth == 0 or rng.random() < 0.15:
            return rng.choice([self.leaf, self.leaf, lambda: rng.choice(self.rules)])()
        kind = rng.choice(
            ["sequence"] * 4 + ["choice"] * 4 + ["repetition"] * 2 + ["switch", "object", "leaf"]
        )
        if kind == "repetition":
            return spec.repetition(self.node(depth - 1), *self.bounds())
        if kind == "switch":
            return self.switch(depth - 1)
        if kind == "object":
            return self.object(depth - 1)
        if kind == "leaf":
            return self.leaf()
        parts = [self.node(depth - 1) for _ in range(rng.randint(2, 3))]
        return spec.sequence(*parts) if kind == "sequence" else spec.choice(*parts)

    def leaf(self) -> int:
        kind = self.rng.random()
        if kind < 0.1:
            return self.spec.EMPTY
        if kind < 0.2 and self.token_ids:
            return self.spec.tokens(*self.rng.choices(self.token_ids, k=self.rng.randint(1, 2)))
        if kind < 0.5:
            return self.spec.terminal(self.word())
        return self.spec.terminal(self.expr(self.rng.randint(0, 3)))

    def switch(self, depth: int) -> int:
        labels = list(range(1, self.rng.randint(2, 4)))
        branches = [
            self.spec.concat(self.expr(self.rng.randint(0, 2)), self.spec.tag(label))
            for label in labels
        ]
        if self.rng.random() < 0.3:
            labels.append(9)
            branches.append(self.spec.tag(9))
        return self.spec.switch(
            self.spec.union(*branches), {label: self.node(depth) for label in labels}
        )

    def object(self, depth: int) -> int:
        """Keys are words in quotes, none of them twice; free keys are the other words."""
        spec, rng = self.spec, self.rng
        words = sorted({self.word(2) for _ in range(rng.randint(0, 3))})
        rng.shuffle(words)
        members = [
            (spec.literal(b'"' + word + b'"'), self.node(depth), rng.random() < 0.5)
            for word in words
        ]
        free = []
        if rng.random() < 0.5:
            name = spec.repeat(spec.bytes(self.alphabet), 0, rng.choice([2, None]))
            taken = spec.union(*(spec.literal(word) for word in words)) if words else spec.never()
            quote = spec.bytes(b'"')
            other = spec.intersect(name, spec.complement(taken))
            free = [(spec.concat(quote, other, quote), self.node(depth))]
        gap = spec.epsilon() if rng.random() < 0.6 else spec.repeat(spec.bytes(b" "), 0, 1)
        return spec.object(gap, members, free, rng.choice(["declared", "any"]))


def random_spec(seed: int, alphabet: bytes = b"abc", token_ids: Sequence[int] = ()) -> Spec:
    return Random(seed, alphabet, token_ids).spec_of()


# ---------------------------------------------------------------- vocabularies

VOCABULARIES: dict[str, Tokens] = {
    "bytes": Tokens([bytes([byte]) for byte in b'abcd{}":, \xc3\xa9\xa8'] + [None], [13]),
    "no end id": Tokens([b"a", b"b", b"ab", b"ba", b"c", b"bc", b"abc", b"d", b"aaaa"]),
    "equal bytes, holes, two ends": Tokens(
        [b"a", None, b"b", b"ab", b"a", None, b"ab", b"c", b"", b"bb", b"d", b"abab", None],
        [5, 12],
    ),
    "without c": Tokens([b"a", b"b", b"ac", b"cb", b"aa", b"bab", b"<end>", b"d"], [6]),
    "long tokens": Tokens(
        [b"a", b"b", b"c", b"a" * 5, b"ab" * 4, b"a" * 40, b"b" * 40, b"aab", b"ccb", None, b"d"],
        [9],
    ),
    "objects": Tokens(
        [bytes([byte]) for byte in b'ab{}":, c']
        + [b'{"', b'":', b'"a"', b'","', b'"}', b'a,"', b'a}', b'{"a":a', b',"b":b}', b'{}', b'b"']
        + [None, b'a","a', b' "', b"{a:", b",b:", b"c}"],
        [20],
    ),
    "pieces of UTF-8": Tokens(
        [b"\xc3", b"\xa9", b"\xa8", "é".encode(), "éè".encode(), b"\xa9\xc3", b"a", None], [7]
    ),
}  # fmt: skip


def random_tokens(seed: int, alphabet: bytes = b"abc" + SYNTAX + b" ") -> Tokens:
    """Single bytes (now and then one is missing), longer tokens, equal ones, holes, ends."""
    rng = random.Random(seed)
    texts: list[bytes | None] = [bytes([byte]) for byte in alphabet]
    if rng.random() < 0.2:
        texts[rng.randrange(len(texts))] = None
    for _ in range(rng.randint(2, 12)):
        texts.append(bytes(rng.choices(alphabet, k=rng.choice([1, 2, 2, 2, 3, 3, 4, 6]))))
    texts += [None] * rng.randint(1, 4)
    rng.shuffle(texts)
    without_text = [id for id, text in enumerate(texts) if text is None]
    return Tokens(texts, sorted(rng.sample(without_text, min(rng.randint(0, 2), 1))))


# ---------------------------------------------------------------- through the core


def build(spec: Spec) -> Any:
    """The grammar, built by the core: a ``gramlock._core.GrammarHandle``."""
    from gramlock import _core

    expressions = _core.expressions()
    builder = _core.GrammarBuilder(expressions)
    exprs: dict[int, int] = {}
    for id, item in spec.exprs.items():  # parts stand before the whole
        exprs[id] = _build_expr(expressions, exprs, *item)
    nodes = {id: builder.rule() for id, item in spec.nodes.items() if item[0] == "rule"}
    for id, item in spec.nodes.items():
        if item[0] != "rule":
            nodes[id] = _build_node(builder, exprs, nodes, *item)
    for id, item in spec.nodes.items():
        if item[0] == "rule" and item[1] is not None:
            builder.define(nodes[id], nodes[item[1]])
    return builder.finish(nodes[spec.root])


def _build_expr(expressions: Any, exprs: dict[int, int], kind: str, *rest: Any) -> int:
    if kind == "class":
        members = [byte for low, high in rest[0] for byte in range(low, high + 1)]
        return int(expressions.byte_class(members))
    if kind in ("concat", "union", "intersect"):
        return int(getattr(expressions, kind)([exprs[part] for part in rest[0]]))
    if kind == "complement":
        return int(expressions.complement(exprs[rest[0]]))
    if kind == "repeat":
        return int(expressions.repeat(exprs[rest[0]], rest[1], rest[2]))
    if kind == "tag":
        return int(expressions.tag(rest[0]))
    return {"never": expressions.NEVER, "epsilon": expressions.EPSILON}[kind]


def as_tuples(item: Any) -> Any:
    """Nested lists as nested tuples; the core's builder takes formulas so."""
    return tuple(map(as_tuples, item)) if isinstance(item, list | tuple) else item


def _build_node(
    builder: Any, exprs: dict[int, int], nodes: dict[int, int], kind: str, *rest: Any
) -> int:
    if kind == "terminal":
        return int(builder.terminal(exprs[rest[0]]))
    if kind in ("sequence", "choice"):
        return int(getattr(builder, kind)([nodes[part] for part in rest[0]]))
    if kind == "repetition":
        return int(builder.repetition(nodes[rest[0]], rest[1], rest[2]))
    if kind == "tokens":
        return int(builder.tokens(rest[0]))
    if kind == "switch":
        return int(builder.switch(exprs[rest[0]], {label: nodes[at] for label, at in rest[1]}))
    if kind == "container":
        container, layout, named, free, ordered, flags, formula = rest
        groups = [
            [
                (
                    exprs.get(key, 0),
                    required,
                    [(nodes[value], literals) for value, literals in choices],
                )
                for key, required, choices in group
            ]
            for group in (named, free)
        ]
        gaps = tuple(exprs[gap] for gap in layout)
        set_flags = dict.fromkeys(flags, True)
        return int(
            builder.container(container, gaps, *groups, ordered, as_tuples(formula), **set_flags)
        )
    return {"fail": builder.FAIL, "empty": builder.EMPTY}[kind]
