"""Masks of drafts: one call says what accepting token by token, and forking, would say."""

import random

import numpy as np
import pytest

import gramlock
from gramlock import Grammar, MatcherError, Vocabulary, _core

SCHEMA = {
    "type": "object",
    "properties": {
        "name": {"type": "string"},
        "list": {"type": "array", "items": {"enum": [1, 12, 123]}, "uniqueItems": True},
    },
    "required": ["name"],
}
LISTED = [bytes([b]) for b in range(256)] + [
    *(b'{"', b'":', b'": "', b'","', b'", "', b"name", b'name":', b'{"name', b"ab", b'a"', b'"}'),
    *(b"12", b"123", b", ", b"[1", b"1,", b"]}", b'"list', b'":["', b": [", None),
]
END = len(LISTED) - 1


@pytest.fixture(scope="module")
def program() -> gramlock.Program:
    vocabulary = Vocabulary.from_tokens(LISTED, end_ids=[END])
    return vocabulary.compile(Grammar.from_json_schema(SCHEMA))


def walk(program: gramlock.Program, rng: random.Random, steps: int) -> gramlock.Matcher:
    matcher = program.matcher()
    for _ in range(steps):
        choices = allowed(matcher)
        if choices:
            matcher.accept_token(rng.choice(choices))
        if matcher.is_terminated():
            matcher.rollback(1)
            break
    return matcher


def mask_of(matcher: gramlock.Matcher) -> np.ndarray:
    mask = gramlock.allocate_token_bitmask(1, len(LISTED))
    matcher.fill_next_token_bitmask(mask)
    return mask[0]


def allowed(matcher: gramlock.Matcher) -> list[int]:
    bits = np.unpackbits(mask_of(matcher).view(np.uint8), bitorder="little")
    return [int(i) for i in np.flatnonzero(bits[: len(LISTED)])]


def token_for(matcher: gramlock.Matcher | None, rng: random.Random) -> int:
    """Mostly one that may come."""
    if matcher is None or matcher.is_terminated() or rng.random() < 0.2:
        return rng.choice([*range(len(LISTED)), len(LISTED) + 5])
    return rng.choice(allowed(matcher))


def naive(
    matcher: gramlock.Matcher, parents: list[int], rng: random.Random
) -> tuple[list[int], list[bool], list[np.ndarray]]:
    """Tokens for a tree of this shape, and by forks: which of them may come, and all masks."""
    nothing = np.zeros_like(mask_of(matcher))
    forks: list[gramlock.Matcher | None] = []
    tokens, rows = [], [mask_of(matcher)]
    for parent in parents:
        start = matcher if parent < 0 else forks[parent]
        tokens.append(token_for(start, rng))
        fork = start.fork() if start is not None else None
        good = fork is not None and not fork.is_terminated() and fork.accept_token(tokens[-1])
        forks.append(fork if good else None)
        ended = not good or fork is None or fork.is_terminated()
        rows.append(nothing if ended or fork is None else mask_of(fork))
    return tokens, [fork is not None for fork in forks], rows


@pytest.mark.parametrize("seed", range(30))
def test_drafts_agree_with_forks(program: gramlock.Program, seed: int) -> None:
    rng = random.Random(seed)
    matcher = walk(program, rng, rng.randrange(12))
    count = rng.randrange(14)
    chain = seed % 3 == 0
    parents = [i - 1 if chain else rng.randrange(-1, i) for i in range(count)]
    tokens, valid, rows = naive(matcher, parents, rng)
    before = mask_of(matcher)
    bitmask = gramlock.allocate_token_bitmask(count + 3, len(LISTED))
    given = None if chain and seed % 2 == 0 else parents
    assert matcher.fill_draft_bitmasks(tokens, bitmask, given) == valid
    assert np.array_equal(bitmask[: count + 1], np.array(rows))
    assert (bitmask[count + 1 :] == -1).all(), "further rows are left alone"
    assert np.array_equal(mask_of(matcher), before)


def test_a_draft_may_end(program: gramlock.Program) -> None:
    matcher = program.matcher()
    assert matcher.accept_string('{"name": "ab"}')
    bitmask = gramlock.allocate_token_bitmask(3, len(LISTED))
    assert matcher.fill_draft_bitmasks([END, END], bitmask) == [True, False]
    assert bitmask[0].any()
    assert not bitmask[1:].any()
    assert matcher.steps == 1
    assert not matcher.is_terminated()


def test_wrong_drafts_are_refused(program: gramlock.Program) -> None:
    matcher = program.matcher()
    bitmask = gramlock.allocate_token_bitmask(3, len(LISTED))
    with pytest.raises(ValueError, match="parent of draft token 1"):
        matcher.fill_draft_bitmasks([1, 2], bitmask, [-1, 1])
    with pytest.raises(ValueError, match="parent of draft token 0"):
        matcher.fill_draft_bitmasks([1, 2], bitmask, [7, -1])
    with pytest.raises(ValueError, match="2 draft tokens, but 1 parents"):
        matcher.fill_draft_bitmasks([1, 2], bitmask, [-1])
    with pytest.raises(IndexError, match="one too few"):
        matcher.fill_draft_bitmasks([1, 2, 3], bitmask)
    with pytest.raises(OverflowError):
        matcher.fill_draft_bitmasks([-1], bitmask)
    assert matcher.accept_string('{"name":""}')
    assert matcher.accept_token(END)
    with pytest.raises(MatcherError):
        matcher.fill_draft_bitmasks([1], bitmask)


def test_a_failed_allocation_leaves_the_matcher_alone(program: gramlock.Program) -> None:
    matcher = program.matcher()
    assert matcher.accept_string('{"name": "')
    bitmask = gramlock.allocate_token_bitmask(40, len(LISTED))
    draft, failures = list(b'ab","list":[12,1'), 0
    before = mask_of(matcher)
    for count in range(400):
        _core.fail_allocation(count)
        try:
            matcher.fill_draft_bitmasks(draft, bitmask)
        except MemoryError:
            failures += 1
        else:
            break
        finally:
            _core.fail_allocation(-1)
            assert matcher.steps == 1
    assert failures > 0
    assert np.array_equal(mask_of(matcher), before)


def test_hits_are_counted(program: gramlock.Program) -> None:
    before = program.stats()
    matcher = program.matcher()
    for _ in range(7):
        mask_of(matcher)
    del matcher
    after = program.stats()
    assert after["hits"] + after["masks"] == before["hits"] + before["masks"] + 7
    memory = program.memory()
    assert set(memory) == {"code", "configurations", "masks", "shared"}
    assert all(value > 0 for value in memory.values())
