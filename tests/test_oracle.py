"""The oracle itself: on known languages, against a second oracle, and with planted faults."""

from __future__ import annotations

import itertools
import random
import re
from collections.abc import Callable, Iterator

import pytest

import chart
import machines
import oracle
import sentences
from chart import ChartOracle
from containers import CONTAINER_TOKENS, CONTAINERS, container_spec, container_tokens
from grammars import BY_HAND, VOCABULARIES, Spec, grammar, random_spec, random_tokens, recursive
from oracle import TOKEN, Expressions, Oracle, Text, Tokens, TooLargeError, symbols
from sentences import Sentences

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


# ---- containers


@pytest.mark.parametrize(
    "one, other, same",
    [
        (b"1", b"1.0", True),
        (b"1", b"10e-1", True),
        (b"100", b"1E+2", True),
        (b"-0", b"0.0", True),
        (b"0.10", b"1e-1", True),
        (b"1e400", b"1e401", False),
        (b"1", b"-1", False),
        (b"1", b"true", False),
        (b"0", b"false", False),
        (b"0", b'""', False),
        (b'"a"', b'"\\u0061"', True),
        (b'"\\ud83d\\ude00"', "\"\U0001f600\"".encode(), True),
        (b'"a"', b'"A"', False),
        (b"[1,2]", b"[ 1.0 , 2 ]", True),
        (b"[1,2]", b"[2,1]", False),
        (b"[]", b"{}", False),
        (b'{"a":1,"b":[2]}', b'{"b":[2.0], "a":1}', True),
        (b'{"a":1}', b'{"a":1,"b":1}', False),
    ],
)  # fmt: skip
def test_values_are_compared_as_json(one: bytes, other: bytes, same: bool) -> None:
    assert (machines.json_value(one) == machines.json_value(other)) == same


def record(*members: str) -> str:
    return "{" + ",".join(members) + "}"


IN_FULL = {
    "if then else": {
        "{}", '{"b":1}', record('"a":1'), record('"a":"a"'), '{"a":0,"b":1}',
        '{"b":1,"a":0}', '{"b":1,"a":1}', '{"b":1,"a":"a"}', '{"a":1,"b":1}', '{"a":"a","b":1}',
    },
    "names run out": {
        '{"a":0,"b":0,"":0}', '{"a":0,"":0,"b":0}',
        *(record(*each) for each in itertools.permutations(['"ab":0', '"b":0', '"":0'])),
        *(record('"a":0', *each) for each in itertools.permutations(['"ab":0', '"b":0'])),
        *(record('"a":0', *each) for each in itertools.permutations(['"ab":0', '"":0'])),
    },
}  # fmt: skip


@pytest.mark.parametrize("name", IN_FULL)
def test_known_containers(name: str) -> None:
    found = Sentences(CONTAINERS[name].dump(), CONTAINER_TOKENS).texts
    assert {text.decode() for text in found} == IN_FULL[name]


JUDGED: dict[str, tuple[str, str]] = {
    "contains": ("[0,1] [1,0] [1,0,1,1] [0,0,1]", "[] [0] [1] [1,1] [0,0] [0,0,0,1] [0,0,1,0]"),
    "different, few": ('[0,1] [0,1.0,"a"]', '[] [0] [1,1.0] ["a","\\u0061"] [0,1,"a",0]'),
    "different, nested": (
        '[{"a":0},{"a":1}] [{"a":0},{"b":0,"a":0}]',
        '[{"a":1},{"a":1.0}] [{"a":0,"b":1},{"b":1.0,"a":0}] [{"a":1}] [{"b":0},{"a":0}]',
    ),
    "different strings": ('["a","b"] ["","a","aa"]', '["a"] ["a","a"] ["","b",""]'),
    "different numbers": ("[0,1,10] [1,0,11,100]", "[0,1] [0,1,0] [10,1,10]"),
    "different trees": ("[] [[]] [[],[[]]] [[[],[[]]],[]]", "[[],[]] [[[]],[[]]] [[],[[]],[[[]]]]"),
    "counted members": (
        '{"a":0,"b":0} {"a":1,"b":0,"aa":1}',
        '{} {"a":0} {"b":0,"b":1} {"a":0,"b":0,"":0,"aa":0} {"a":0,"a":1}',
    ),
    "some member": (
        '{"a":0} {"b":1,"aaa":0} {"a":{},"b":0,"":1}',
        '{} {"a":1} {"b":0,"b":1} {"bb":{}}',
    ),
    "mentioned only": (
        '{} {"a":0} {"a":0,"ab":1,"b":0} {"a":1,"b":0,"ab":1} {"ab":1}',
        '{"b":0} {"ab":0,"b":1} {"b":0,"a":1} {"ab":0,"a":0}',
    ),
    "positions": ("[0,1,0] [[],0,1] [0,1,1,0]", "[0,1] [1,1,1] [0,0,0] [0,[],1] []"),
}


@pytest.mark.parametrize("name", JUDGED)
def test_containers_with_known_members(name: str) -> None:
    good, bad = (set(texts.split(" ")) for texts in JUDGED[name])
    dump = CONTAINERS[name].dump()
    for asked in (Oracle(dump), ChartOracle(dump)):
        assert {text for text in good | bad if asked.accepts(symbols(text))} == good


def test_the_gaps_of_a_container() -> None:
    asked = ChartOracle(CONTAINERS["every gap another"].dump())
    for text in ("{}", '{ "a":0  }', '{  "a": 0 , "b":1  }', '{ "b":1 ,  "a":0  }'):
        assert asked.accepts(symbols(text)), text
    for text in ("{ }", '{"a":0  }', '{ "a" :0  }', '{ "a":0 }', '{ "a":0  ,"b":1  }'):
        assert not asked.accepts(symbols(text)), text


def test_what_cannot_be_completed_is_no_prefix() -> None:
    dead = {
        "different, few": ['[0,1,"a",', "[0,0", "[0,1.0,1", '["a","\\u0061"', "[0,1,1]"],
        "different numbers": ["[0,0", "[0,1,0", "[1,1,", "[1,0,1]"],
        "different trees": ["[[],[]", "[[],[[],[]"],
        "names run out": ['{"b":0,"a"', '{"a":0,"a":', '{"b":0}', '{"":0,"":'],
        "if then else": ['{"a":0}', '{"b":0,"a":1', '{"b":[', '{"a":0,"b":0'],
        "contains": ["[0,0,0", "[1,0,0,0"],
    }
    alive = {
        "different, few": ["[0,1,", "[0,1.", "[1.0,0,"],
        "different numbers": ["[1,1", "[0,1,1", "[1,0,10"],
        "different trees": ["[[[", "[[],[["],
        "names run out": ['{"a":0,"b":0,', '{"'],
        "if then else": ['{"a":0,"b":1', '{"b":1,"a":0'],
        "contains": ["[1,1,1,1,1", "[0,0,1,1,"],
    }
    for name, texts in [*dead.items(), *alive.items()]:
        asked = ChartOracle(CONTAINERS[name].dump())
        viable = {text for text in texts if asked.is_prefix(symbols(text))}
        assert viable == (set(texts) if texts is alive[name] else set()), name


def differ(seed_spec: Spec, tokens: Tokens, rng: random.Random, most: int) -> Text | None:
    """A text about which the list of all sentences and the charts differ."""
    listed, quick = Sentences(seed_spec.dump(), tokens), ChartOracle(seed_spec.dump(), tokens)
    slow = Oracle(seed_spec.dump(), tokens)
    waiting: list[Text] = [()]
    for number in range(most):
        if not waiting:
            break
        text = waiting.pop(rng.randrange(len(waiting)))
        viable, accepted = listed.is_prefix(text), listed.accepts(text)
        if quick.is_prefix(text) != viable or quick.accepts(text) != accepted:
            return text
        if number % 8 == 0 and slow.accepts(text) != accepted:
            return text
        if number % 8 == 0 and not slow.grammar.strict and slow.is_prefix(text) != viable:
            return text
        if viable:
            waiting += [(*text, byte) for byte in sorted(tokens.alphabet())]
    return None


@pytest.mark.parametrize("seed", range(60))
def test_charts_agree_with_the_list_of_all_containers(seed: int, thorough: bool) -> None:
    try:
        found = differ(
            container_spec(seed),
            container_tokens(seed),
            random.Random(seed),
            400 if thorough else 40,
        )
    except TooLargeError:
        return
    assert found is None


def test_most_random_containers_can_be_listed() -> None:
    sizes = []
    for seed in range(20):
        try:
            sizes.append(len(Sentences(container_spec(seed).dump(), container_tokens(seed)).texts))
        except TooLargeError:
            continue
    assert len(sizes) > 12
    assert sum(size > 5 for size in sizes) > 8


@pytest.mark.parametrize("seed", range(60))
def test_charts_agree_on_endless_containers(seed: int) -> None:
    spec, tokens = container_spec(seed, endless=True), container_tokens(seed)
    quick, slow = ChartOracle(spec.dump(), tokens), Oracle(spec.dump(), tokens)
    rng = random.Random(seed)
    waiting: list[Text] = [()]
    for _ in range(40):
        if not waiting:
            break
        text = waiting.pop(rng.randrange(len(waiting)))
        assert quick.accepts(text) == slow.accepts(text), text
        if not slow.grammar.strict:
            assert quick.is_prefix(text) == slow.is_prefix(text), text
        if quick.is_prefix(text):
            waiting += [(*text, byte) for byte in sorted(tokens.alphabet())]


# ---- planted faults: each must be noticed


def faulty_high(
    self: machines.Repetition, state: int
) -> list[tuple[machines.Atom, machines.State]]:
    return [(self.atom, min(state + 1, self.low))]


def strict_holds(self: machines.Container, formula: machines.Formula, progress: object) -> bool:
    assert isinstance(progress, machines.Progress)
    if formula[0] in ("and", "or"):
        return all(self.holds(part, progress) for part in formula[1])
    count = progress.counts[self.atoms.index(formula)]
    return bool(count >= formula[1] if formula[0] == "at_least" else count <= formula[1])


def any_order(self: sentences.Rules, sequence: list[sentences.Member], member: object) -> bool:
    return member not in sequence


FAULTS: dict[str, tuple[object, str, object]] = {
    "a repetition without upper bound": (machines.Repetition, "moves", faulty_high),
    "nothing matches nothing": (oracle.Grammar, "is_nullable", lambda self, atom: False),
    "everything has a sentence": (oracle.Grammar, "is_productive", lambda self, atom: True),
    "containers end anywhere": (machines.Container, "is_complete", lambda self, progress: True),
    "an or is an and": (machines.Container, "holds", strict_holds),
    "a miss counts as a hit": (machines, "counts_for", lambda atom, kind, literals: True),
    "nothing was seen": (machines.Progress, "seen", property(lambda self: frozenset())),
    "values are texts": (machines, "json_value", lambda text: ("text", text)),
    "the search finds everything": (chart, "search", lambda chart: True),
    "members in any order": (sentences.Rules, "may_follow", any_order),
    "a complement of everything": (Expressions, "_all_ends", lambda self, text, start: frozenset()),
    "charts forget empty parts": (chart.Chart, "_counts_empty", lambda self, goal: False),
    "every term is alive": (oracle.Terms, "is_alive", lambda self, term: True),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_planted_fault_is_noticed(fault: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(*FAULTS[fault])
    assert any(notices(check) for check in checks())


def checks() -> Iterator[Callable[[], None]]:
    yield test_what_cannot_be_completed_is_no_prefix
    for name in JUDGED:
        yield lambda name=name: test_containers_with_known_members(name)  # type: ignore[misc]
    for name in ("mentioned only", "names run out"):
        yield lambda name=name: check_listed(name)  # type: ignore[misc]
    for name in KNOWN:
        yield lambda name=name: test_known_language(name)  # type: ignore[misc]
    for order in ("declared", "any"):
        yield lambda order=order: test_objects_in_both_orders(order)  # type: ignore[misc]
    for seed in range(20):
        yield lambda seed=seed: test_charts_agree_on_random_grammars(seed)  # type: ignore[misc]


def check_listed(name: str) -> None:
    assert differ(CONTAINERS[name], CONTAINER_TOKENS, random.Random(1), 400) is None


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
