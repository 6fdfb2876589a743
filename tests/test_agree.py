"""All roads to a mask agree, with each other and with the oracle (guarantees 1 and 4).

Small grammars with small vocabularies are explored text by text, see :mod:`roads`; then schemas and
patterns are walked at random with real tokenizers, where the oracle checks a sample of tokens.
"""

from __future__ import annotations

import itertools
import random

import pytest

import gramlock
from chart import Chart, ChartOracle
from containers import CONTAINER_TOKENS, CONTAINERS, container_spec, container_tokens
from grammars import BY_HAND, VOCABULARIES, Spec, build, grammar, random_spec, random_tokens
from oracle import Tokens, TooLargeError
from roads import ROADS, Case, explore, fill, fill_by_walk, replay, successors
from sentences import Branch, Sentences


def agrees(case: Case, states: int, rng: random.Random, longest: int = 8) -> None:
    """Both sides say that there is no sentence, or agree on all texts visited."""
    if case.satisfiable:
        assert explore(case, states, rng, longest) > 0
    else:
        with pytest.raises(gramlock.UnsatisfiableError):
            case.compile()


# ---- by hand and by seed


@pytest.mark.parametrize("vocabulary", VOCABULARIES)
@pytest.mark.parametrize("name", BY_HAND)
def test_by_hand(name: str, vocabulary: str, thorough: bool) -> None:
    case = Case(BY_HAND[name], VOCABULARIES[vocabulary])
    agrees(case, 600 if thorough else 12, random.Random(1), 12 if thorough else 6)


def random_case(seed: int) -> Case:
    tokens = random_tokens(seed)
    return Case(random_spec(seed, token_ids=range(len(tokens.texts))), tokens)


@pytest.mark.parametrize("seed", range(150))
def test_random_grammars(seed: int, thorough: bool) -> None:
    agrees(random_case(seed), 100 if thorough else 12, random.Random(seed))


@pytest.mark.long
@pytest.mark.parametrize("block", range(40))
def test_many_random_grammars(block: int) -> None:
    given_up = 0
    for seed in range(1000 + 100 * block, 1100 + 100 * block):
        try:
            agrees(random_case(seed), 25, random.Random(seed))
        except TooLargeError:
            given_up += 1
    assert given_up <= 2


# ---- containers: by the list of all their sentences where it is short, else by charts


@pytest.mark.parametrize("name", CONTAINERS)
def test_containers_by_hand(name: str, thorough: bool) -> None:
    case = Case(CONTAINERS[name], CONTAINER_TOKENS, listed=True)
    agrees(case, 400 if thorough else 25, random.Random(2), 16 if thorough else 9)


@pytest.mark.parametrize("seed", range(120))
def test_random_containers(seed: int, thorough: bool) -> None:
    case = Case(container_spec(seed), container_tokens(seed), listed=True)
    agrees(case, 100 if thorough else 8, random.Random(seed), 12)


@pytest.mark.parametrize("seed", range(60))
def test_random_endless_containers(seed: int, thorough: bool) -> None:
    case = Case(container_spec(seed, endless=True), container_tokens(seed))
    agrees(case, 60 if thorough else 6, random.Random(seed), 12)


@pytest.mark.long
@pytest.mark.parametrize("block", range(40))
def test_many_random_containers(block: int) -> None:
    given_up = 0
    for seed in range(1000 + 50 * block, 1050 + 50 * block):
        try:
            spec = container_spec(seed, endless=seed % 3 == 0)
            agrees(Case(spec, container_tokens(seed), listed=True), 25, random.Random(seed), 14)
        except TooLargeError:
            given_up += 1
        except gramlock.LimitError as error:  # the core may give up as well, by name
            assert error.budget == "look_ahead"
            given_up += 1
    assert given_up <= 2


@pytest.mark.parametrize("seed", range(0, 60, 2))
def test_containers_are_built_as_they_were_meant(seed: int) -> None:
    spec, tokens = container_spec(seed), container_tokens(seed)
    try:
        meant = Sentences(spec.dump(), tokens)
    except TooLargeError:
        return
    assert Sentences(build(spec).dump(), tokens).texts == meant.texts


@pytest.mark.parametrize("seed", range(0, 120, 3))
def test_all_sentences_and_no_others(seed: int) -> None:
    """Each listed text is accepted, byte by byte and at once; spoilt ones only if listed too."""
    case = Case(container_spec(seed), container_tokens(seed), listed=True)
    if isinstance(case.oracle, ChartOracle) or not case.satisfiable:
        return
    program, rng = case.compile(), random.Random(seed)
    texts, alphabet = sorted(case.oracle.texts), sorted(case.tokens.alphabet())
    for text in rng.sample(texts, min(len(texts), 40)):
        spoilt = bytearray(text)
        spoilt[rng.randrange(len(text))] = rng.choice(alphabet)
        for each in (text, bytes(spoilt), text + b" "):
            matcher = program.matcher()
            assert matcher.accept_bytes(each) == case.oracle.is_prefix(tuple(each)), each
            if matcher.steps:
                assert matcher.can_end() == case.oracle.accepts(tuple(each)), each


def test_every_short_text(thorough: bool) -> None:
    """Not only viable texts: what is refused is refused, byte by byte and at once."""
    tokens = VOCABULARIES["long tokens"]
    for name in ("cycle", "balanced", "counted", "switch", "without ab", "hidden left recursion"):
        oracle = ChartOracle(BY_HAND[name].dump(), tokens)
        case = Case(BY_HAND[name], tokens)
        program = case.compile()
        for text in itertools.product(b"abc", repeat=8 if thorough else 5):
            at_once = program.matcher().accept_bytes(bytes(text))
            assert at_once == oracle.is_prefix(text), (name, bytes(text))
            matcher = program.matcher()
            assert all(matcher.accept_bytes(bytes([byte])) for byte in text) == at_once


@pytest.mark.parametrize("seed", range(0, 150, 6))
def test_what_was_built_is_what_was_meant(seed: int) -> None:
    """The dump of the finished grammar is the grammar: simplifications lose nothing."""
    case = random_case(seed)
    meant = ChartOracle(case.spec.dump(), case.tokens)
    built = ChartOracle(build(case.spec).dump(), case.tokens)
    waiting, visited = [((), meant.start, built.start)], 0
    while waiting and visited < 40:
        text, one, other = waiting.pop(0)
        visited += 1
        assert one.is_viable == other.is_viable, text
        assert one.accepted == other.accepted, text
        if one.is_viable:
            assert meant.mask_of(one) == built.mask_of(other), text
            steps = sorted(case.tokens.alphabet())
            waiting += [((*text, byte), one.step(byte), other.step(byte)) for byte in steps]


# ---- counts near and far from their bounds


@pytest.mark.parametrize("low, high", [(0, 45), (40, 45), (85, None), (3, 100_000), (100, 100)])
def test_counts_near_their_bounds(low: int, high: int | None, thorough: bool) -> None:
    """Tokens of 40 bytes, so that one token can pass a bound from afar."""
    tokens = VOCABULARIES["long tokens"]
    node = grammar(
        lambda g: g.sequence(g.repetition(g.terminal(b"a"), low, high), g.terminal(b"b"))
    )
    expr = grammar(
        lambda g: g.terminal(g.concat(g.repeat(g.bytes(b"a"), low, high), g.literal(b"b")))
    )
    both = grammar(
        lambda g: g.repetition(
            g.sequence(g.repetition(g.terminal(b"a"), low, high), g.terminal(b"b")), 1, 2
        )
    )
    for number, spec in enumerate((node, expr, both)):
        agrees(Case(spec, tokens), 120 if thorough else 25, random.Random(number), 9)


# ASCII of all groups, text of two to four bytes, white space beyond ASCII, escapes, pieces of them.
CHARACTERS = [b"a", b"z", b"Q", b"7", b"-", b" ", b"!", b"\x7f", "é".encode(), "€".encode()]
CHARACTERS += [
    "😀".encode(),
    "\u00a0".encode(),
    b"\\n",
    b"\\u0041",
    b'"',
    b"\xc3",
    b"\xf0\x9f",
    b"\x80",
]


def mixed_vocabulary(rng: random.Random) -> gramlock.Vocabulary:
    """Enough tokens that subtrees are marked with the groups of their characters."""
    texts = {bytes([byte]) for byte in range(256)}
    while len(texts) < 3000:
        count = rng.choice((1, 2, 3, 5, 8, 13, 21))
        pool = CHARACTERS[:10] if rng.random() < 0.5 else CHARACTERS
        text = b"".join(rng.choices(pool, k=count))
        texts.add(text[: rng.randint(1, len(text))] if rng.random() < 0.2 else text)
    return gramlock.Vocabulary.from_tokens([*sorted(texts), None], end_ids=[len(texts)])


@pytest.mark.parametrize("pattern", [None, "^[a-z7 -]*$", "^(é|[^a])*$", "^(a|aa|7)*$"])
def test_lengths_in_characters(pattern: str | None) -> None:
    """Near the end of a limited string the number of a token's characters decides."""
    rng = random.Random(5)
    vocab = mixed_vocabulary(rng)
    for low, high in [(0, 1), (1, 2), (0, 4), (3, 5), (0, 9), (8, 8), (0, 13), (2, 20)]:
        schema = {"type": "string", "minLength": low, "maxLength": high}
        if pattern is not None:
            counted = pattern.replace("*$", f"{{{low},{high}}}$")
            schema = {"type": "string", "pattern": counted}
        program = vocab.compile(gramlock.Grammar.from_json_schema(schema))
        for _ in range(4):
            matcher = program.matcher()
            while not matcher.can_end():
                allowed = fill(matcher, vocab.size)
                assert allowed == fill_by_walk(matcher, vocab.size)
                assert matcher.accept_token(rng.choice(sorted(allowed)))


# ---- budgets


BUDGETED = [
    "ambiguous sums",
    "balanced",
    "object, any order",
    "switch",
    "different, few",
    "contains",
]


def case_of(name: str, vocabulary: str = "objects") -> Case:
    """A grammar by hand; containers have a vocabulary of their own."""
    if name in CONTAINERS:
        return Case(CONTAINERS[name], CONTAINER_TOKENS, listed=True)
    return Case(BY_HAND[name], VOCABULARIES[vocabulary])


@pytest.mark.parametrize("name", BUDGETED)
@pytest.mark.parametrize("budget", ["program_bytes", "steps"])
def test_tiny_budgets_change_nothing_but_raise(name: str, budget: str) -> None:
    """Under any budget a road gives the right mask or raises, and then the matcher is as it was."""
    raised = filled = 0
    for amount in [1 << power for power in range(2, 20)]:
        case = case_of(name)
        limits = gramlock.Limits(**{budget: amount})
        try:
            program = case.compile(limits)
            one, two = walk_within(case, program, budget)
        except gramlock.LimitError as error:
            assert error.budget == budget
            assert error.asked > error.limit
            one, two = 1, 0
        raised, filled = raised + one, filled + two
    assert raised
    assert filled


def walk_within(case: Case, program: gramlock.Program, budget: str) -> tuple[int, int]:
    """How many roads raised and how many gave a mask on one walk."""
    raised = filled = 0
    rng = random.Random(5)
    chart, matcher = case.oracle.start, program.matcher()
    for step in range(12):
        expected = case.oracle.mask_of(chart)
        for name, road in ROADS.items():
            try:
                assert road(matcher, case.size) == expected, name
                filled += 1
            except gramlock.LimitError as error:
                assert error.budget == budget
                raised += 1
            assert matcher.steps == step
        following = list(successors(chart, case.tokens))
        if not following:
            break
        token, chart = rng.choice(following)
        try:
            assert matcher.accept_token(token)
        except gramlock.LimitError:
            raised += 1
            break
    return raised, filled


EPOCH_BYTES = {"object, any order": 28_000, "different, few": 46_000, "counted members": 80_000}


@pytest.mark.parametrize("name", EPOCH_BYTES)
def test_epochs_are_invisible(name: str) -> None:
    """A budget that is full again and again: the tables are dropped, the masks stay right."""
    case = case_of(name)
    program = case.compile(gramlock.Limits(program_bytes=EPOCH_BYTES[name]))
    rng = random.Random(9)
    parked: list[tuple[gramlock.Matcher, set[int]]] = []
    for _ in range(300):
        chart, matcher = case.oracle.start, program.matcher()
        for _ in range(rng.randrange(12)):
            following = list(successors(chart, case.tokens))
            if not following:
                break
            token, chart = rng.choice(following)
            assert matcher.accept_token(token)
            assert fill(matcher, case.size) == case.oracle.mask_of(chart)
        parked.append((matcher, case.oracle.mask_of(chart)))
        old, expected = rng.choice(parked)
        assert fill(old, case.size) == expected
    assert program.stats()["epochs"] > 10


# ---- histories


class History:
    """A matcher, and the charts after each of its steps (None after an end id)."""

    def __init__(
        self, case: Case, matcher: gramlock.Matcher, charts: list[Chart | Branch | None]
    ) -> None:
        self.case, self.matcher, self.charts = case, matcher, charts

    def accept(self, token: int) -> None:
        chart = self.charts[-1]
        after = None
        if chart is not None:
            after = chart.token(token, self.case.tokens.spelled().get(token, b""))
        ends = chart is not None and chart.accepted and token in self.case.tokens.end_ids
        expected = after is not None or ends
        assert self.matcher.accept_token(token) == expected
        if expected:
            self.charts.append(after)

    def accept_bytes(self, text: bytes) -> None:
        after = self.charts[-1]
        for byte in text:
            after = after and after.step(byte)
        expected = after is not None and after.is_viable
        assert self.matcher.accept_bytes(text) == expected
        if expected:
            self.charts.append(after)

    def rollback(self, steps: int) -> None:
        if steps >= len(self.charts):
            with pytest.raises(ValueError, match="rollback"):
                self.matcher.rollback(steps)
        else:
            self.matcher.rollback(steps)
            del self.charts[len(self.charts) - steps :]

    def fork(self) -> History:
        return History(self.case, self.matcher.fork(), list(self.charts))

    def check(self) -> None:
        chart = self.charts[-1]
        assert self.matcher.steps == len(self.charts) - 1
        if chart is None:
            assert self.matcher.is_terminated()
            assert not self.matcher.can_end()
            with pytest.raises(gramlock.MatcherError):
                fill(self.matcher, self.case.size)
        else:
            assert fill(self.matcher, self.case.size) == self.case.oracle.mask_of(chart)


HISTORY_VOCABULARIES = ["objects", "equal bytes, holes, two ends", "no end id"]
HISTORIES = ["object, any order", "cycle", "token inside", "switch", "counted, maybe empty"]
HISTORY_CASES = [
    *((name, vocabulary) for name in HISTORIES for vocabulary in HISTORY_VOCABULARIES),
    *((name, "containers") for name in ("different, few", "counted members", "contains")),
]


@pytest.mark.parametrize("program_bytes", [1 << 26, 60_000])
@pytest.mark.parametrize("name, vocabulary", HISTORY_CASES)
def test_histories(name: str, vocabulary: str, program_bytes: int, thorough: bool) -> None:
    """Any sequence of accepts, rollbacks and forks leads where its net effect leads."""
    case = case_of(name, vocabulary)
    if not case.satisfiable:
        return
    program = case.compile(gramlock.Limits(program_bytes=program_bytes))
    rng = random.Random(name)
    alive = [History(case, program.matcher(), [case.oracle.start])]
    for _ in range(4000 if thorough else 150):
        one = rng.choice(alive)
        try:
            move(one, alive, rng)
            one.check()
        except gramlock.LimitError as error:
            assert error.budget == "program_bytes"
            assert program_bytes < 100_000
        assert one.matcher.steps == len(one.charts) - 1


def move(one: History, alive: list[History], rng: random.Random) -> None:
    """One random thing that can be done to a matcher."""
    kind, chart = rng.random(), one.charts[-1]
    if kind < 0.6:
        good = sorted(one.case.oracle.mask_of(chart)) if chart is not None else []
        one.accept(rng.choice(good) if good and kind < 0.5 else rng.randrange(one.case.size))
    elif kind < 0.7:
        one.accept_bytes(bytes(rng.choices(sorted(one.case.tokens.alphabet()), k=2)))
    elif kind < 0.9:
        one.rollback(rng.randrange(4))
    elif kind < 0.95:
        alive.append(one.fork())
    elif len(alive) > 3:
        alive.remove(one)


# ---- planted faults


def test_a_wrong_grammar_is_noticed() -> None:
    """The core is given one grammar and the oracle another: the comparison must fail."""
    pairs = [
        ("left recursion", "cycle"),
        ("object, declared", "object, any order"),
        ("counted", "nested counts"),
        ("palindromes", "balanced"),
    ]
    for one, other in pairs:
        case = Case(BY_HAND[one], VOCABULARIES["objects"])
        case.oracle = ChartOracle(BY_HAND[other].dump(), case.tokens)
        with pytest.raises((AssertionError, StopIteration)):
            explore(case, 200, random.Random(2))


@pytest.mark.parametrize("road", ROADS)
def test_a_wrong_bit_is_noticed(road: str, monkeypatch: pytest.MonkeyPatch) -> None:
    right = ROADS[road]
    monkeypatch.setitem(ROADS, road, lambda matcher, size: right(matcher, size) ^ {0})
    with pytest.raises(AssertionError):
        explore(Case(BY_HAND["cycle"], VOCABULARIES["bytes"]), 3, random.Random(0))


def test_a_single_differing_byte_is_noticed() -> None:
    """Two grammars that differ after six bytes only."""
    late = Spec()
    late.root = late.terminal(b"abababc")
    other = Spec()
    other.root = other.terminal(b"abababd")
    case = Case(late, Tokens([b"a", b"b", b"c", b"d", b"ab"]))
    case.oracle = ChartOracle(other.dump(), case.tokens)
    with pytest.raises(AssertionError):
        explore(case, 100, random.Random(0))


def test_a_dead_end_would_be_noticed() -> None:
    """Every state that a walk can reach has a token or may end."""
    for name in ("without ab", "dead branches", "object, declared", "mutual left recursion"):
        case = Case(BY_HAND[name], VOCABULARIES["objects"])
        program = case.compile()
        for seed in range(20):
            rng, path = random.Random(seed), []
            while len(path) < 40:
                matcher = replay(program, path)
                allowed = sorted(fill(matcher, case.size))
                assert fill_by_walk(matcher, case.size) == set(allowed)
                assert allowed, path
                path.append(rng.choice(allowed))
                if path[-1] in case.tokens.end_ids:
                    break
