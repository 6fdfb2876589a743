"""Hostile input: what is deep, huge, ambiguous or broken ends in an answer or in a named error.

Every call runs under budgets small enough for this suite to notice a missing one by its run time.
The last part lets each allocation of the core fail in turn.
"""

from __future__ import annotations

import itertools
import random
from collections import OrderedDict
from collections.abc import Callable
from typing import Any

import pytest

import gramlock
from chart import ChartOracle
from containers import CONTAINER_TOKENS, CONTAINERS
from gramlock import Grammar, LimitError, Limits, Vocabulary, _core
from grammars import BY_HAND, VOCABULARIES, Spec, build, grammar
from roads import Case, fill, fill_by_walk, replay

BYTES = [bytes([byte]) for byte in range(256)]
SIZE = 257
END = 256
SMALL = Limits(steps=2_000_000)


@pytest.fixture(scope="module")
def vocabulary() -> Vocabulary:
    """The bytes, and an end id."""
    return Vocabulary.from_tokens([*BYTES, None], end_ids=[END])


def start(vocabulary: Vocabulary, spec: Spec, limits: Limits = SMALL) -> gramlock.Matcher:
    return vocabulary.compile(Grammar(build(spec)), limits=limits).matcher()


def ends_well(call: Callable[[], object]) -> str | None:
    """The budget that a call passed, None if it needed no more than it had."""
    try:
        call()
    except LimitError as error:
        assert error.asked > error.limit
        return error.budget
    return None


# ---- depth

WRAPPERS: dict[str, Callable[[Spec, int], int]] = {
    "sequence": lambda g, node: g.sequence(g.terminal(b"("), node, g.terminal(b")")),
    "choice": lambda g, node: g.choice(node, g.terminal(b"b")),
    "repetition": lambda g, node: g.repetition(node, 0, 2),
    "object": lambda g, node: g.object(g.epsilon(), [(g.literal(b"k"), node, False)]),
    "rule": lambda g, node: g.define(g.rule(), node),
}


@pytest.mark.parametrize("wrapper", WRAPPERS)
@pytest.mark.parametrize("depth", [1000, 20_000])
def test_deep_grammars(vocabulary: Vocabulary, wrapper: str, depth: int) -> None:
    spec = Spec()
    node = spec.terminal(b"a")
    for _ in range(depth):
        node = WRAPPERS[wrapper](spec, node)
    spec.root = node
    matcher = start(vocabulary, spec)
    if wrapper == "repetition":  # as many counts at once as it is deep
        assert ends_well(lambda: fill(matcher, SIZE)) in (None, "program_bytes", "steps")
        return
    assert fill(matcher, SIZE) == fill_by_walk(matcher, SIZE)
    if wrapper == "sequence":
        text = b"(" * depth + b"a" + b")" * depth
        assert matcher.accept_bytes(text)
        assert fill(matcher, SIZE) == {END}
    if wrapper == "object":
        assert matcher.accept_bytes(b"{k:" * depth)
        assert matcher.accept_bytes(b"a" + b"}" * depth)
        assert fill(matcher, SIZE) == {END}


def test_deep_text_in_a_recursive_grammar(vocabulary: Vocabulary) -> None:
    matcher = start(vocabulary, BY_HAND["balanced"], Limits())
    assert matcher.accept_bytes(b"a" * 100_000)
    assert matcher.accept_bytes(b"b" * 100_000)
    assert fill(matcher, SIZE) == {END}
    matcher.rollback(1)
    assert fill(matcher, SIZE) == {97, 98}


def test_deep_schemas_and_documents() -> None:
    schema: dict[str, object] = {"type": "integer"}
    for _ in range(5000):
        schema = {"type": "array", "items": schema}
    with pytest.raises(LimitError) as caught:
        Grammar.from_json_schema(schema)
    assert caught.value.budget == "schema_depth"
    anything = Grammar.from_json_schema(True)
    assert anything.accepts("[" * 10_000 + "]" * 10_000)
    assert not anything.accepts("[" * 10_000 + "]" * 9_999)


def test_deep_patterns() -> None:
    for pattern in ("(" * 3000 + "a" + ")" * 3000, "(a" * 3000 + "b" + ")*" * 3000, "a|" * 5000):
        try:
            Grammar.from_regex(pattern)
        except (LimitError, gramlock.GrammarSyntaxError):
            continue


EXPRESSIONS: dict[str, Callable[[_core.Expressions, int], int]] = {
    "star": lambda e, inner: e.repeat(inner, 0),
    "star of star": lambda e, inner: e.repeat(e.concat([e.repeat(inner, 0), e.literal(b"b")]), 0),
    "not": lambda e, inner: e.complement(e.concat([inner, e.literal(b"c")])),
    "optional": lambda e, inner: e.concat([e.repeat(e.literal(b"a"), 0, 1), inner]),
    "twice": lambda e, inner: e.concat([inner, inner]),
    "alternatives": lambda e, inner: e.union(
        [e.concat([e.literal(b"ab"), inner]), e.concat([e.literal(b"ac"), inner])]
    ),
    "and": lambda e, inner: e.intersect(
        [e.concat([e.ANY, inner]), e.complement(e.concat([inner, e.literal(b"b")]))]
    ),
}


@pytest.mark.parametrize("wrapper", EXPRESSIONS)
@pytest.mark.parametrize("depth", [20, 500, 5000])
def test_deep_expressions(vocabulary: Vocabulary, wrapper: str, depth: int) -> None:
    store = _core.Expressions(32 << 20)
    builder = _core.GrammarBuilder(store)

    def use() -> None:
        expr = store.literal(b"a")
        for _ in range(depth):
            expr = EXPRESSIONS[wrapper](store, expr)
        program = vocabulary.compile(Grammar(builder.finish(builder.terminal(expr))), limits=SMALL)
        matcher = program.matcher()
        assert fill(matcher, SIZE) == fill_by_walk(matcher, SIZE)
        for _ in range(20):
            if not matcher.accept_token(97):
                break
            fill(matcher, SIZE)

    assert ends_well(use) in (None, "expression_depth", "expression_bytes", "steps")


# ---- counts and ambiguity

PATTERNS = [
    "(a*)*b",
    "((a*)*)*",
    "(a|a)*b",
    "(a|aa)+$",
    "(x+x+)+y",
    "(.*)*",
    "(a?){500}a{500}",
    "(?=(a*)*)b*",
    "([a-z]{0,1000}){0,1000}",
    "a{1000000}",
    "(a{0,1000000}b){0,1000000}",
    "(?!.*(.).*b)[ab]*",
]


@pytest.mark.parametrize("pattern", PATTERNS)
def test_ambiguous_and_counted_patterns(vocabulary: Vocabulary, pattern: str) -> None:
    matcher = vocabulary.compile(Grammar.from_regex(pattern), limits=SMALL).matcher()

    def use() -> None:
        for _ in range(300):
            allowed = fill(matcher, SIZE)
            if 97 not in allowed:
                break
            assert matcher.accept_token(97)

    assert ends_well(use) in (None, "steps")
    assert fill(matcher, SIZE) == fill(matcher.fork(), SIZE)


def test_exponential_automata_are_built_as_far_as_they_are_read(vocabulary: Vocabulary) -> None:
    """The n-th last byte is no "a": 2^n states, of which a text meets one a byte."""

    def tail(spec: Spec) -> int:
        either = spec.bytes(b"ab")
        ending = spec.concat(
            spec.repeat(either, 0), spec.literal(b"a"), spec.repeat(either, 24, 24)
        )
        return spec.terminal(spec.intersect(spec.complement(ending), spec.repeat(either, 25, None)))

    spec = grammar(tail)
    matcher, rng = start(vocabulary, spec, Limits()), random.Random(4)
    text = b""
    for _ in range(200):
        assert fill(matcher, SIZE) - {END} == {97, 98}
        if len(text) >= 25:
            assert matcher.can_end() == (text[-25:-24] == b"b")
        text += bytes([rng.choice(b"ab")])
        assert matcher.accept_token(text[-1])


@pytest.mark.parametrize("name", ["cycle", "ambiguous sums", "counted rule that counts itself"])
def test_ambiguous_grammars_stay_polynomial(vocabulary: Vocabulary, name: str) -> None:
    matcher = start(vocabulary, BY_HAND[name], Limits())
    unit = b"ac" if "sums" in name else b"a"
    for _ in range(1500):
        assert matcher.accept_bytes(unit)
        assert fill(matcher, SIZE)


def test_huge_counts_of_nodes(vocabulary: Vocabulary) -> None:
    most = 0xFFFF_FFFE
    spec = grammar(
        lambda g: g.sequence(
            g.repetition(g.repetition(g.terminal(b"a"), 2, most), 0, most), g.terminal(b"b")
        )
    )
    matcher = start(vocabulary, spec)
    assert matcher.accept_bytes(b"a" * 100)
    assert fill(matcher, SIZE) == {97, 98}


# ---- many keys


@pytest.mark.parametrize("order", ["declared", "any"])
def test_many_keys(vocabulary: Vocabulary, order: str, thorough: bool) -> None:
    count = 1_000_000 if thorough else 20_000
    store = _core.Expressions(4 << 30)
    builder = _core.GrammarBuilder(store)
    value = builder.terminal(store.literal(b"1"))
    members = [(store.literal(b'"key%d"' % number), value, False) for number in range(count)]

    def use() -> None:
        node = builder.object(store.EPSILON, members, (), order)  # type: ignore[arg-type]
        program = vocabulary.compile(Grammar(builder.finish(node)))
        matcher = program.matcher()
        assert fill(matcher, SIZE) == {ord("{")}
        last = b'"key%d":1' % (count - 1)
        assert matcher.accept_bytes(b"{" + last)
        assert fill(matcher, SIZE) == set(b"}" if order == "declared" else b"},")
        if order == "any":
            assert not matcher.accept_bytes(b"," + last)

    assert ends_well(use) in (None, "program_bytes", "steps", "vocabulary_bytes")


# ---- containers


def container(
    spec: Spec, kind: str, choices: list[tuple[int, int]], formula: object, flags: object = ()
) -> int:
    """A free class alone: items, or members with any name of a, b and c."""
    letters = spec.repeat(spec.bytes(b"abc"), 0)
    key = spec.concat(spec.literal(b'"'), letters, spec.literal(b'"')) if kind == "object" else None
    layout = [spec.epsilon()] * 6
    return spec.container(kind, layout, [], [(key, False, choices)], None, formula, flags)  # type: ignore[arg-type]


def digits(spec: Spec) -> int:
    return spec.terminal(
        spec.concat(spec.bytes(b"123456789"), spec.repeat(spec.bytes(b"0123456789"), 0))
    )


def test_many_items_that_differ(vocabulary: Vocabulary, thorough: bool) -> None:
    count = 1000 if thorough else 200
    spec = grammar(lambda g: container(g, "array", [(digits(g), 0)], None, ["unique"]))
    matcher = start(vocabulary, spec, Limits())
    text = b"[" + b",".join(b"%d" % number for number in range(1, count))
    assert matcher.accept_bytes(text)
    assert not matcher.accept_bytes(b",77,")
    assert not matcher.accept_bytes(b",77]")
    assert matcher.accept_bytes(b",77")
    assert fill(matcher, SIZE) == set(b"0123456789"), "77 is there already"
    assert fill(matcher, SIZE) == fill_by_walk(matcher, SIZE)
    assert matcher.accept_bytes(b"777]")
    assert fill(matcher, SIZE) == {END}


def test_many_keys_that_differ(vocabulary: Vocabulary) -> None:
    """Each key is remembered, which is paid from the program's budget; then it is a limit."""
    spec = grammar(
        lambda g: container(g, "object", [(g.terminal(b"1"), 0)], None, ["unique", "endless"])
    )
    program = vocabulary.compile(Grammar(build(spec)), limits=Limits(program_bytes=2 << 20))
    matcher, taken = program.matcher(), 0
    assert matcher.accept_bytes(b"{")
    names = ["".join(letter) for letter in itertools.product("abc", repeat=7)]

    def use() -> None:
        nonlocal taken
        for name in names:
            assert matcher.accept_bytes(b'"%s":1,' % name.encode())
            taken += 1

    assert ends_well(use) in (None, "seen_values", "program_bytes", "steps")
    assert taken > 100
    assert matcher.steps == taken + 1
    matcher.rollback(taken - 100)
    assert not matcher.accept_bytes(b'"%s":' % names[50].encode()), "it was there"
    assert matcher.accept_bytes(b'"%s":' % names[100].encode())


@pytest.mark.parametrize("kind", ["at_least", "all_but"])
def test_counts_of_members_cost_nothing(vocabulary: Vocabulary, kind: str) -> None:
    def make(g: Spec) -> int:
        one = g.terminal(b"1")
        return container(g, "array", [(one, 0)], [kind, 1_000_000, [[None, None]]])

    matcher = start(vocabulary, grammar(make))
    assert matcher.accept_bytes(b"[" + b"1," * 5000 + b"1")
    assert fill(matcher, SIZE) == set(b"," if kind == "at_least" else b",]")


def test_many_conditions_at_once(vocabulary: Vocabulary) -> None:
    """An item for each of 31 literals, 40 conditions on them, in any order."""

    def make(g: Spec) -> int:
        every = [g.terminal(b"%d" % (10 + bit)) for bit in range(31)]
        choices = [(node, 1 << bit) for bit, node in enumerate(every)]
        atoms = [["at_least", 1, [[0, bit]]] for bit in range(31)]
        pairs = [["or", [atoms[bit], ["all_but", 0, [[0, bit + 1]]]]] for bit in range(9)]
        return container(g, "array", choices, ["and", [*atoms, *pairs]])

    matcher = start(vocabulary, grammar(make), Limits())
    numbers = list(range(10, 41))
    random.Random(1).shuffle(numbers)
    for number in numbers[:-1]:
        assert matcher.accept_bytes(b"%d," % number if number != numbers[0] else b"[%d," % number)
        assert fill(matcher, SIZE)
    assert matcher.accept_bytes(b"%d" % numbers[0])
    assert fill(matcher, SIZE) == set(b","), "one is still missing"
    assert matcher.accept_bytes(b",%d" % numbers[-1])
    assert fill(matcher, SIZE) == set(b",]")


def test_deep_values_that_differ(vocabulary: Vocabulary) -> None:
    """Nested deeper than values are compared: a limit, and the matcher is as it was."""
    matcher = start(vocabulary, grammar(nested_arrays), Limits())
    assert matcher.accept_bytes(b"[[[]],[[[]]],")
    depth = 1200
    budget = ends_well(lambda: matcher.accept_bytes(b"[" * depth + b"]" * (depth - 1)))
    assert budget in (None, "value_depth", "steps", "look_ahead", "program_bytes")
    assert matcher.steps == 1 + (budget is None)
    assert fill(matcher, SIZE) == fill_by_walk(matcher, SIZE)


def nested_arrays(spec: Spec) -> int:
    rule = spec.rule()
    return spec.define(rule, container(spec, "array", [(rule, 0)], None, ["unique"]))


# ---- bytes


def test_nul_and_invalid_utf8(vocabulary: Vocabulary) -> None:
    spec = grammar(lambda g: g.terminal(g.repeat(g.bytes(b"\x00\xff\xc0\x80"), 1, 3)))
    matcher = start(vocabulary, spec)
    assert fill(matcher, SIZE) == {0x00, 0xFF, 0xC0, 0x80}
    assert matcher.accept_bytes(b"\x00\xff")
    assert not matcher.accept_bytes(b"\x00\x00")
    assert matcher.find_jump_forward_string() == ""
    forced = start(vocabulary, grammar(lambda g: g.terminal(b"\x00\xff\xc0")))
    assert forced._handle.forced_bytes(10) == b"\x00\xff\xc0"
    assert forced.find_jump_forward_string() == ""


def test_strings_are_valid_utf8(vocabulary: Vocabulary) -> None:
    matcher = vocabulary.compile({"type": "string"}).matcher()
    assert matcher.accept_bytes(b'"')
    for wrong in (b"\x00", b"\n", b"\xff", b"\xc0\x80", b"\xed\xa0\x80", b"\xf4\x90", b"\x80"):
        assert not matcher.accept_bytes(wrong), wrong
    assert matcher.accept_bytes("é€😀\x7f".encode())
    allowed = fill(matcher, SIZE)
    assert not allowed.intersection([*range(32), 0xC0, 0xC1, *range(0x80, 0xC0), *range(0xF5, 256)])


# ---- vocabularies


def test_empty_vocabularies() -> None:
    nothing = grammar(lambda g: g.choice(g.EMPTY, g.terminal(b"a")))
    letter = grammar(lambda g: g.terminal(b"a"))
    for tokens, ends in ([], []), ([b"<s>", b"</s>"], [1]), ([None, b"", None], []):
        vocabulary = Vocabulary.from_tokens(tokens, end_ids=ends, special_ids=range(len(tokens)))
        with pytest.raises(gramlock.UnsatisfiableError):
            vocabulary.compile(Grammar(build(letter)))
        matcher = vocabulary.compile(Grammar(build(nothing))).matcher()
        assert fill(matcher, len(tokens)) == set(ends)
        assert matcher.can_end()
        assert matcher.is_terminated() == (not ends)


def test_many_equal_and_very_long_tokens() -> None:
    tokens = [b"a"] * 5000 + [b"a" * length for length in range(1, 3000, 7)] + [b"b"]
    vocabulary = Vocabulary.from_tokens(tokens)
    matcher = vocabulary.compile(
        Grammar(build(grammar(lambda g: g.repetition(g.terminal(b"a"), 3, 1000))))
    ).matcher()
    expected = {id for id, text in enumerate(tokens) if set(text) == {97} and len(text) <= 1000}
    assert fill(matcher, len(tokens)) == expected
    assert fill_by_walk(matcher, len(tokens)) == expected


# ---- budgets


def test_the_budget_of_expressions() -> None:
    store = _core.Expressions(400_000)
    with pytest.raises(LimitError) as caught:
        [store.literal(b"%d" % number) for number in range(100_000)]
    assert caught.value.budget == "expression_bytes"
    before = store.bytes_held
    assert store.matches(store.literal(b"1"), b"1"), "what was there is as it was"
    assert store.bytes_held == before


def test_the_budget_of_a_vocabulary() -> None:
    tokens = [*BYTES, None]
    small = Vocabulary.from_tokens(tokens, end_ids=[END], max_bytes=300_000)
    pattern = "(?:" + "|".join(f"{number:06d}x{{0,9}}" for number in range(0, 900_000, 999)) + ")"
    with pytest.raises(LimitError) as caught:
        fill(small.compile(Grammar.from_regex(pattern)).matcher(), SIZE)
    assert caught.value.budget == "vocabulary_bytes"
    matcher = small.compile(Grammar.from_regex("ab")).matcher()
    assert fill(matcher, SIZE) == {97}, "later programs are not harmed"


def test_a_step_over_budget_leaves_the_matcher_alone(vocabulary: Vocabulary) -> None:
    pattern = "([a-z]{0,1000}){0,1000}"
    matcher = vocabulary.compile(Grammar.from_regex(pattern), limits=Limits(steps=20_000)).matcher()
    taken, budget = 0, None
    while budget is None and taken < 5000:
        budget = ends_well(lambda: matcher.accept_bytes(b"abcdefgh"))
        taken += budget is None
    assert budget == "steps"
    assert matcher.steps == taken > 1
    matcher.rollback(taken - 1)
    assert matcher.accept_bytes(b"abcdefgh"), "the beginning is as cheap as it was"


# ---- failing allocations


@pytest.fixture
def allocations() -> Callable[[int], None]:
    """Sets which allocation fails next; none at the end."""
    yield _core.fail_allocation
    _core.fail_allocation(-1)


def work(name: str) -> None:
    """Everything from the expressions to the masks, compared with the oracle."""
    if name in CONTAINERS:
        case = Case(CONTAINERS[name], CONTAINER_TOKENS, listed=True)
    else:
        case = Case(BY_HAND[name], VOCABULARIES["objects"])
    matcher = case.compile().matcher()
    for token in sorted(fill(matcher, case.size))[:2]:
        fork = matcher.fork()
        assert fork.accept_token(token)
        fill(fork, case.size)
        fill_by_walk(fork, case.size)
        fork.find_jump_forward_string()
        fork.rollback(1)
        assert fill(fork, case.size) == case.oracle.mask_of(case.oracle.start)


@pytest.mark.parametrize(
    "name",
    ["object, any order", "hidden left recursion", "without ab", "different, few", "if then else"],
)
def test_any_allocation_may_fail(
    name: str, allocations: Callable[[int], None], thorough: bool
) -> None:
    failures = 0
    for count in range(1, 1000 if thorough else 150):
        allocations(count)
        try:
            work(name)
        except MemoryError:
            failures += 1
        finally:
            allocations(-1)
    assert failures > 20
    work(name)


def test_a_matcher_survives_failing_allocations(allocations: Callable[[int], None]) -> None:
    """One matcher, one program: after every failure the same call succeeds and is right."""
    tokens = VOCABULARIES["objects"]
    case = Case(BY_HAND["object, any order"], tokens)
    oracle = ChartOracle(BY_HAND["object, any order"].dump(), tokens)
    rng = random.Random(6)
    failures = 0
    for round_ in range(30):
        program = case.compile()
        path: list[int] = []
        matcher = program.matcher()
        chart = oracle.start
        for _ in range(10):
            expected = oracle.mask_of(chart)
            for road in (fill, fill_by_walk):
                allocations(rng.randrange(1, 4 + round_))
                try:
                    assert road(matcher, case.size) == expected
                except MemoryError:
                    failures += 1
                allocations(-1)
                assert road(matcher, case.size) == expected
            choices = sorted(expected - set(tokens.end_ids))
            if not choices:
                break
            token = rng.choice(choices)
            allocations(rng.randrange(1, 4 + round_))
            try:
                assert matcher.accept_token(token)
            except MemoryError:
                failures += 1
                allocations(-1)
                assert matcher.steps == len(path)
                assert matcher.accept_token(token)
            allocations(-1)
            path.append(token)
            after = chart.token(token, tokens.spelled().get(token, b""))
            assert after is not None
            chart = after
        assert fill(replay(program, path), case.size) == oracle.mask_of(chart)
    assert failures > 30


def test_parts_shared_many_times_over_are_compiled_as_they_are() -> None:
    vocabulary = gramlock.Vocabulary.from_tokens([bytes([byte]) for byte in range(256)])
    for kind in (dict, OrderedDict):
        schema: Any = kind({"type": "string"})
        for _ in range(30):
            schema = kind({"type": "object", "properties": kind({"a": schema, "b": schema})})
        program = vocabulary.compile(schema)
        assert program.grammar.accepts('{"b": {"a": {}}}')
