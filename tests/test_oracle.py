"""The oracle itself: on known languages, against a second oracle, and with planted faults."""

from __future__ import annotations

import itertools
import random
import re
from collections.abc import Callable, Iterator

import pytest

import chart
import oracle
from chart import ChartOracle
from grammars import BY_HAND, VOCABULARIES, Spec, grammar, random_spec, random_tokens, recursive
from oracle import TOKEN, Expressions, Oracle, Text, Tokens, symbols

ABC = Tokens([b"a", b"b", b"c", b"d"])


def texts(alphabet: bytes, longest: int) -> Iterator[Text]:
    for length in range(longest + 1):
        yield from itertools.product(alphabet, repeat=length)


def language(spec: Spec, longest: int, alphabet: bytes = b"abc") -> set[bytes]:
    asked = Oracle(spec.dump(), ABC)
    return {bytes(text) for text in texts(alphabet, longest) if asked.accepts(text)}


def where(predicate: Callable[[str], object], longest: int, alphabet: bytes = b"abc") -> set[bytes]:
    every = (bytes(text) for text in texts(alphabet, longest))
    return {text for text in every if predicate(text.decode())}


# ---- known languages

KNOWN: dict[str, Callable[[str], object]] = {
    "nothing": lambda text: text == "",
    "literal": lambda text: text == "abc",
    "left recursion": lambda text: re.fullmatch("ba*", text),
    "right recursion": lambda text: re.fullmatch("a*b", text),
    "hidden left recursion": lambda text: (
        re.fullmatch("b*ca*", text) and text.count("b") <= text.count("a")
    ),
    "mutual left recursion": lambda text: re.fullmatch("((b|)a)*", text),
    "cycle": lambda text: re.fullmatch("a*", text),
    "balanced": lambda text: text == "a" * text.count("a") + "b" * text.count("a"),
    "palindromes": lambda text: (
        text == text[::-1]
        and "c" not in text
        and (len(text) % 2 == 0 or text[len(text) // 2] == "a")
    ),
    "ambiguous sums": lambda text: re.fullmatch("a(ca)*", text),
    "counted": lambda text: re.fullmatch("(ab){2,3}", text),
    "counted, maybe empty": lambda text: re.fullmatch("(a|bb|){2,3}", text),
    "nested counts": lambda text: re.fullmatch("(ab{0,2}){1,3}", text),
    "stars of stars": lambda text: re.fullmatch("a*b", text),
    "without ab": lambda text: re.fullmatch("[ab]{0,5}", text) and "ab" not in text,
    "dead branches": lambda text: text == "aac",
    "overlapping terminals": lambda text: re.fullmatch("[ab]{0,3}[bc]{1,2}", text),
}


@pytest.mark.parametrize("name", KNOWN)
def test_known_language(name: str) -> None:
    assert language(BY_HAND[name], 6) == where(KNOWN[name], 6)


def test_switch_takes_the_node_of_the_label_that_matched() -> None:
    found = language(BY_HAND["switch"], 5, b"abcd")
    assert found == where(lambda text: re.fullmatch("abc|[ab]{1,3}c{1,2}|d", text), 5, b"abcd")


def test_large_counts_cost_nothing() -> None:
    asked = Oracle(BY_HAND["a hundred"].dump())
    assert not asked.accepts(symbols(b"a" * 12 + b"b"))
    assert asked.is_prefix(symbols(b"a" * 12))
    quick = ChartOracle(BY_HAND["a hundred"].dump())
    assert not quick.accepts(symbols(b"a" * 99 + b"b"))
    assert quick.accepts(symbols(b"a" * 100 + b"b"))


def members(spec: Spec, order: str) -> set[str]:
    """Every object of the grammar called "object, ...", spelled out by permutations."""
    named = [('"a":a',), ('"b":a', '"b":b'), ('"ab":a',)]
    free = ['"":a', '"aa":a', '"ba":a', '"bb":a']
    found = set()
    for chosen in itertools.product(*[(None, *each) for each in named]):
        if chosen[1] is None:
            continue
        listed = [each for each in chosen if each]
        for others in itertools.chain.from_iterable(
            itertools.product(free, repeat=count) for count in range(2)
        ):
            every = [*listed, *others]
            orders = itertools.permutations(every) if order == "any" else [every]
            found |= {"{" + ",".join(each) + "}" for each in orders}
    return found


@pytest.mark.parametrize("order", ["declared", "any"])
def test_objects_in_both_orders(order: str) -> None:
    spec = BY_HAND["object, declared" if order == "declared" else "object, any order"]
    asked, expected = Oracle(spec.dump()), members(spec, order)
    rng = random.Random(3)
    for text in rng.sample(sorted(expected), 12):
        assert asked.accepts(symbols(text)), text
    for text in rng.sample(sorted(members(spec, "any") - members(spec, "declared")), 6):
        assert asked.accepts(symbols(text)) == (order == "any"), text
    for text in ("{}", '{"a":a}', '{"b":a,"b":b}', '{"b":b,}', '{,"b":b}', '{"b"}', '{"b":b'):
        assert not asked.accepts(symbols(text)), text


def test_gaps_stand_where_the_manual_says() -> None:
    asked = Oracle(BY_HAND["object, any order"].dump())
    assert asked.accepts(symbols('{ "b" : b , "a" : a }'))
    assert not asked.accepts(symbols(' {"b":b}'))
    assert not asked.accepts(symbols('{"b":b} '))
    assert not asked.accepts(symbols('{  "b":b}'))


def test_tokens_are_not_their_text() -> None:
    spec = grammar(lambda g: g.sequence(g.terminal(b"a"), g.tokens(0, 7)))
    asked = Oracle(spec.dump(), ABC)
    assert asked.accepts((97, TOKEN))
    assert not asked.accepts((97, 97))
    assert not asked.is_prefix((97, TOKEN + 7)), "the vocabulary has no such id"
    assert symbols([b"a", 0]) == (97, TOKEN)
    assert asked.mask((97,)) == {0}


def test_bytes_without_a_token_do_not_exist() -> None:
    spec = grammar(lambda g: g.choice(g.terminal(b"ac"), g.terminal(b"ab")))
    tokens = Tokens([b"a", b"b", b"ac", b"ab", None], [4])
    asked = Oracle(spec.dump(), tokens)
    assert asked.mask(()) == {0, 3}
    assert asked.mask((97,)) == {1}
    assert asked.mask((97, 98)) == {4}
    cut = grammar(lambda g: g.terminal(g.complement(g.epsilon())))
    assert not Oracle(cut.dump(), Tokens([None, b"aa"], [0])).is_prefix(())


# ---- expressions by position and by derivatives


@pytest.mark.parametrize("seed", range(150))
def test_expressions_agree_with_their_derivatives(seed: int) -> None:
    spec = random_spec(seed)
    exprs = Expressions(spec.exprs, frozenset(b"abc"))
    for expr in list(spec.exprs)[-6:]:
        for text in texts(b"abc", 4):
            term = exprs.terms.of(expr)
            for byte in text:
                term = exprs.terms.derive(term, byte)
            assert exprs.terms.nullable[term] == (len(text) in exprs.ends(expr, text, 0))
            assert exprs.terms.is_alive(term) == exprs.is_viable(expr, text, 0)


def test_expressions_agree_with_re() -> None:
    exprs: dict[str, Callable[[Spec], int]] = {
        "(ab|c){2,3}a*": lambda g: g.concat(
            g.repeat(g.union(g.literal(b"ab"), g.literal(b"c")), 2, 3),
            g.repeat(g.bytes(b"a"), 0),
        ),
        "(?!.*aa)[abc]*": lambda g: g.intersect(
            g.repeat(g.bytes(b"abc"), 0),
            g.complement(
                g.concat(g.complement(g.never()), g.literal(b"aa"), g.complement(g.never()))
            ),
        ),
        "((a?){3}b?){0,2}": lambda g: g.repeat(
            g.concat(g.repeat(g.repeat(g.bytes(b"a"), 0, 1), 3, 3), g.repeat(g.bytes(b"b"), 0, 1)),
            0,
            2,
        ),
    }
    for pattern, make in exprs.items():
        spec = grammar(lambda g, make=make: g.terminal(make(g)))  # type: ignore[misc]
        assert language(spec, 6) == where(re.compile(pattern).fullmatch, 6), pattern


# ---- prefixes


@pytest.mark.parametrize("seed", range(25))
def test_a_prefix_is_what_a_sentence_begins_with(seed: int) -> None:
    """Every beginning of a sentence is viable, and what is viable can be completed."""
    spec = random_spec(seed)
    asked = ChartOracle(spec.dump(), ABC)
    for text in texts(b"abc", 4):
        if asked.accepts(text):
            assert all(asked.is_prefix(text[:end]) for end in range(len(text) + 1))
        if asked.is_prefix(text):
            assert completes(asked, text), text


def completes(asked: ChartOracle, text: Text) -> bool:
    """Whether some continuation is a sentence; breadth first, over the bytes that are viable."""
    waiting = [asked.chart(text)]
    for _ in range(300):
        if not waiting:
            return False
        at = waiting.pop(0)
        if at.accepted:
            return True
        waiting += [at.step(byte) for byte in at.following()]
    return True  # long sentences only: nothing learned


# ---- the two oracles


def disagreement(spec: Spec, tokens: Tokens, longest: int, most: int = 120) -> Text | None:
    """A text about which the definition and the charts differ."""
    slow, quick = Oracle(spec.dump(), tokens), ChartOracle(spec.dump(), tokens)
    named = {id for kind, *rest in spec.nodes.values() if kind == "tokens" for id in rest[0]}
    viable: list[Text] = [()]
    rng = random.Random(0)
    for _ in range(most):
        if not viable:
            break
        text = viable.pop(rng.randrange(len(viable)))
        if slow.is_prefix(text) != quick.is_prefix(text):
            return text
        if slow.accepts(text) != quick.accepts(text):
            return text
        if slow.is_prefix(text) and len(text) < longest:
            viable += [(*text, byte) for byte in sorted(tokens.alphabet())]
            viable += [(*text, TOKEN + id) for id in {0, *named}]
    return None


SHORT = [name for name in VOCABULARIES if name != "long tokens"]


@pytest.mark.parametrize("name", BY_HAND)
def test_charts_agree_with_the_definition(name: str) -> None:
    spec = BY_HAND[name]
    longest = 5 if "object" in name else 3
    for vocabulary in ("equal bytes, holes, two ends", "without c", "objects"):
        assert disagreement(spec, VOCABULARIES[vocabulary], longest) is None, vocabulary


@pytest.mark.parametrize("seed", range(60))
def test_charts_agree_on_random_grammars(seed: int) -> None:
    tokens = random_tokens(seed, b'ab{}":, ')
    spec = random_spec(seed, b"ab", range(len(tokens.texts)))
    assert disagreement(spec, tokens, 3) is None


@pytest.mark.parametrize("name", ["left recursion", "switch", "token inside", "without ab"])
@pytest.mark.parametrize("vocabulary", SHORT)
def test_masks_agree(name: str, vocabulary: str) -> None:
    tokens = VOCABULARIES[vocabulary]
    slow = Oracle(BY_HAND[name].dump(), tokens)
    quick = ChartOracle(BY_HAND[name].dump(), tokens)
    for text in texts(bytes(sorted(tokens.alphabet())[:3]), 2):
        if slow.is_prefix(text):
            assert slow.mask(text) == quick.mask(text), text


# ---- planted faults: each must be noticed


def faulty_high(self: oracle.Repetition, state: int) -> list[tuple[oracle.Atom, oracle.State]]:
    return [(self.atom, min(state + 1, self.low))]


FAULTS: dict[str, tuple[object, str, object]] = {
    "a repetition without upper bound": (oracle.Repetition, "moves", faulty_high),
    "nothing matches nothing": (oracle.Grammar, "is_nullable", lambda self, atom: False),
    "everything has a sentence": (oracle.Grammar, "is_productive", lambda self, atom: True),
    "required members are not": (oracle.Object, "missing", lambda self, progress, before=0: False),
    "a complement of everything": (Expressions, "_all_ends", lambda self, text, start: frozenset()),
    "charts forget empty parts": (chart.Chart, "_counts_empty", lambda self, goal: False),
    "every term is alive": (oracle.Terms, "is_alive", lambda self, term: True),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_planted_fault_is_noticed(fault: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(*FAULTS[fault])
    assert any(notices(check) for check in checks())


def checks() -> Iterator[Callable[[], None]]:
    for name in KNOWN:
        yield lambda name=name: test_known_language(name)  # type: ignore[misc]
    for order in ("declared", "any"):
        yield lambda order=order: test_objects_in_both_orders(order)  # type: ignore[misc]
    for seed in range(20):
        yield lambda seed=seed: test_charts_agree_on_random_grammars(seed)  # type: ignore[misc]


def notices(check: Callable[[], None]) -> bool:
    try:
        check()
    except (AssertionError, KeyError, RecursionError, oracle.TooLargeError):
        return True
    return False


def test_recursion_of_every_kind_ends() -> None:
    endless = recursive(lambda g, s: g.sequence(s, s))
    assert not Oracle(endless.dump()).is_prefix(())
    itself = recursive(lambda g, s: s)
    assert not ChartOracle(itself.dump()).is_prefix(())
