"""Matchers and programs through the public interface: steps, their undoing, ends, errors, budgets.

What the masks say is the business of test_agree.py; here it is what a matcher does around them.
"""

from __future__ import annotations

import collections
import copy
import random
from typing import Any

import numpy as np
import pytest

import gramlock

END, OTHER_END = 260, 261
TOKENS: list[bytes | None] = [bytes([byte]) for byte in range(256)]
TOKENS += [b'{"', b'":', b"true", b"tr", None, None, None]
SCHEMA = {
    "type": "object",
    "properties": {"ok": {"type": "boolean"}, "n": {"type": "integer"}},
    "required": ["ok"],
    "additionalProperties": False,
}


@pytest.fixture(scope="module")
def vocabulary() -> gramlock.Vocabulary:
    return gramlock.Vocabulary.from_tokens(TOKENS, end_ids=[END, OTHER_END])


def regex(vocabulary: gramlock.Vocabulary, pattern: str) -> gramlock.Matcher:
    return vocabulary.compile(gramlock.Grammar.from_regex(pattern)).matcher()


def allowed(matcher: gramlock.Matcher) -> set[int]:
    bitmask = gramlock.allocate_token_bitmask(1, len(TOKENS))
    matcher.fill_next_token_bitmask(bitmask)
    bits = np.unpackbits(bitmask.view(np.uint8), bitorder="little")
    return set(np.flatnonzero(bits).tolist())


def test_a_refused_token_changes_nothing(vocabulary: gramlock.Vocabulary) -> None:
    matcher = vocabulary.compile(SCHEMA, whitespace="compact").matcher()
    assert matcher.accept_token(256)
    before = allowed(matcher)
    for token in set(range(len(TOKENS))) - before:
        assert not matcher.accept_token(token)
    assert matcher.steps == 1
    assert allowed(matcher) == before


def test_ids_outside_the_vocabulary(vocabulary: gramlock.Vocabulary) -> None:
    matcher = regex(vocabulary, ".*")
    for token in (len(TOKENS), 2**31, 2**32 - 1):
        assert not matcher.accept_token(token)
    for number in (-1, 2**32):
        with pytest.raises(OverflowError):
            matcher.accept_token(number)
    assert matcher.steps == 0


def test_holes_and_control_tokens_are_never_text(vocabulary: gramlock.Vocabulary) -> None:
    matcher = regex(vocabulary, r"[^]*")
    assert 262 not in allowed(matcher)
    assert not matcher.accept_token(262)


def test_ends(vocabulary: gramlock.Vocabulary) -> None:
    matcher = regex(vocabulary, "ab?")
    assert not matcher.can_end()
    assert not {END, OTHER_END} & allowed(matcher)
    assert matcher.accept_token(ord("a"))
    assert matcher.can_end()
    assert {END, OTHER_END} <= allowed(matcher)
    assert not matcher.is_terminated()
    assert matcher.accept_token(OTHER_END)
    assert matcher.is_terminated()
    assert not matcher.can_end()
    assert not matcher.accept_token(ord("b"))
    with pytest.raises(gramlock.MatcherError):
        matcher.fill_next_token_bitmask(gramlock.allocate_token_bitmask(1, len(TOKENS)))
    matcher.rollback(1)
    assert matcher.accept_token(ord("b"))
    assert matcher.can_end()


def test_without_end_ids_a_matcher_terminates_where_nothing_can_follow() -> None:
    vocabulary = gramlock.Vocabulary.from_tokens(TOKENS[:256])
    matcher = regex(vocabulary, "ab?")
    assert matcher.accept_token(ord("a"))
    assert not matcher.is_terminated()
    assert matcher.accept_token(ord("b"))
    assert matcher.is_terminated()


def test_text_is_one_step_whatever_its_tokens(vocabulary: gramlock.Vocabulary) -> None:
    matcher = vocabulary.compile(SCHEMA, whitespace="compact").matcher()
    assert matcher.accept_bytes(b'{"ok":tr')
    assert matcher.steps == 1
    assert not matcher.accept_bytes(b"eu")
    assert matcher.accept_bytes(b"ue}")
    assert matcher.can_end()
    matcher.rollback(1)
    assert matcher.find_jump_forward_string() == "ue"


def test_a_draft_may_be_an_array(vocabulary: gramlock.Vocabulary) -> None:
    matcher = regex(vocabulary, "(tr)*")
    assert matcher.validate_tokens(np.array([259, 259, 256])) == 2


def test_validating_a_draft_changes_nothing(vocabulary: gramlock.Vocabulary) -> None:
    matcher = regex(vocabulary, "abc")
    draft = [ord("a"), ord("b"), ord("x"), ord("c")]
    assert matcher.validate_tokens(draft) == 2
    assert matcher.validate_tokens([]) == 0
    assert matcher.validate_tokens([*b"abc", END, ord("a")]) == 4
    assert matcher.steps == 0


def test_rollback(vocabulary: gramlock.Vocabulary) -> None:
    matcher = regex(vocabulary, "[ab]{3}")
    seen = [allowed(matcher)]
    for token in b"aba":
        assert matcher.accept_token(token)
        seen.append(allowed(matcher))
    for count in (1, 2):
        matcher.rollback(count)
        seen = seen[:-count]
        assert allowed(matcher) == seen[-1]
    for wrong in (-1, matcher.steps + 1):
        with pytest.raises(ValueError, match="rollback of"):
            matcher.rollback(wrong)
    assert matcher.steps == 0
    matcher.rollback(0)
    assert matcher.accept_bytes(b"bbb")
    matcher.reset()
    assert matcher.steps == 0


def test_forks_are_independent(vocabulary: gramlock.Vocabulary) -> None:
    matcher = regex(vocabulary, "a(b|c)d")
    assert matcher.accept_token(ord("a"))
    fork = matcher.fork()
    assert fork.accept_token(ord("b"))
    assert matcher.accept_token(ord("c"))
    fork.rollback(2)
    assert fork.steps == 0
    assert matcher.steps == 2
    del matcher
    assert fork.accept_bytes(b"acd")


def test_forced_text_stops_at_a_choice_and_at_whole_characters(
    vocabulary: gramlock.Vocabulary,
) -> None:
    assert regex(vocabulary, "abc(d|e)").find_jump_forward_string() == "abc"
    assert regex(vocabulary, "ab?").find_jump_forward_string() == "a"
    assert regex(vocabulary, "x[éè]").find_jump_forward_string() == "x"
    assert regex(vocabulary, "☃").find_jump_forward_string() == "☃"
    assert regex(vocabulary, "a+").find_jump_forward_string() == "a"


def test_any_row_of_a_bitmask_and_no_other(vocabulary: gramlock.Vocabulary) -> None:
    matcher = regex(vocabulary, "a")
    bitmask = gramlock.allocate_token_bitmask(3, len(TOKENS))
    assert matcher.fill_next_token_bitmask(bitmask, 1) is True
    assert (bitmask[[0, 2]] == -1).all()
    assert bitmask[1, 3] == 1 << (ord("a") - 96)
    for row in (3, -4):
        with pytest.raises(IndexError):
            matcher.fill_next_token_bitmask(bitmask, row)


def test_a_bitmask_may_be_wider_than_the_vocabulary(vocabulary: gramlock.Vocabulary) -> None:
    bitmask = gramlock.allocate_token_bitmask(1, len(TOKENS) + 1000)
    regex(vocabulary, r"[^]*").fill_next_token_bitmask(bitmask)
    bits = np.unpackbits(bitmask.view(np.uint8), bitorder="little")
    assert not bits[len(TOKENS) :].any()


@pytest.mark.parametrize(
    "bitmask",
    [
        np.zeros((1, 9), np.int64),
        np.zeros((1, 2), np.int32),
        np.zeros((2, 18), np.int32)[:, ::2],
        [0] * 9,
    ],
)
def test_what_is_no_bitmask(vocabulary: gramlock.Vocabulary, bitmask: Any) -> None:
    with pytest.raises((TypeError, ValueError)):
        regex(vocabulary, "a").fill_next_token_bitmask(bitmask)


def test_equal_schemas_share_a_program_and_others_do_not(vocabulary: gramlock.Vocabulary) -> None:
    def constant(value: Any) -> gramlock.Program:
        return vocabulary.compile({"const": value})

    schema = copy.deepcopy(SCHEMA)
    first = vocabulary.compile(schema)
    assert vocabulary.compile(copy.deepcopy(SCHEMA)) is first
    subclass = collections.OrderedDict(schema)  # no plain dictionary: told apart by its JSON
    assert vocabulary.compile(subclass) is vocabulary.compile(collections.OrderedDict(schema))
    schema["required"].append("n")  # type: ignore[attr-defined]
    changed = vocabulary.compile(schema)  # the same object, another content
    assert changed is not first
    assert first.matcher().accept_bytes(b'{"ok":true}')
    assert not changed.matcher().accept_bytes(b'{"ok":true}')
    assert vocabulary.compile(schema, whitespace="compact") is not changed
    assert len({constant(value) for value in (1, 1.0, True, "1", [1], None)}) == 6
    names = ["b", "a"]
    both = [{"properties": dict.fromkeys(order, True)} for order in (names, names[::-1])]
    assert vocabulary.compile(both[0]) is not vocabulary.compile(both[1])
    deep: dict[str, Any] = {}
    for _ in range(3000):  # deeper than may be written: not kept, and refused as ever
        deep = {"not": deep}
    with pytest.raises(gramlock.GramlockError):
        vocabulary.compile(deep)


def test_a_sequence_over_budget_says_so_and_stays(vocabulary: gramlock.Vocabulary) -> None:
    schema = {"type": "array", "items": {"type": "object"}}
    limits = gramlock.Limits(program_bytes=40_000)
    program = vocabulary.compile(schema, limits=limits, whitespace="compact")
    matcher, steps = program.matcher(), 0

    def nest() -> None:
        nonlocal steps
        while True:
            steps = matcher.steps
            assert matcher.accept_bytes(b'[{"a":')

    with pytest.raises(gramlock.LimitError) as caught:
        nest()
    assert caught.value.budget == "program_bytes"
    assert matcher.steps == steps
    matcher.rollback(steps)
    assert matcher.accept_bytes(b"[]")


def test_sequences_that_fit_alone_fit_together(vocabulary: gramlock.Vocabulary) -> None:
    """Each one nearly fills the tables; none may fail because of what the others have put in."""
    nodes = [{"type": "null"}, {"type": "array", "items": {"$ref": "#"}}]
    schema = {"anyOf": [*nodes, {"type": "object", "additionalProperties": {"$ref": "#"}}]}
    limits = gramlock.Limits(program_bytes=100_000)

    def step(matcher: gramlock.Matcher, generator: random.Random) -> None:
        assert matcher.accept_bytes(generator.choice([b"[", b'{"a":']))

    def depth_alone(seed: int) -> int:
        program = vocabulary.compile(schema, limits=limits, whitespace="compact")
        matcher, generator = program.matcher(), random.Random(seed)
        try:
            while True:
                step(matcher, generator)
        except gramlock.LimitError:
            return matcher.steps

    seeds = range(4)
    depth = min(map(depth_alone, seeds)) * 9 // 10
    program = vocabulary.compile(schema, limits=limits, whitespace="compact")
    rows = [(program.matcher(), random.Random(seed)) for seed in seeds]
    for _ in range(depth):
        for matcher, generator in rows:
            step(matcher, generator)
    assert program.stats()["epochs"] > depth // 10


def test_rows_of_logits_may_not_share_memory() -> None:
    bitmask = gramlock.allocate_token_bitmask(2, 40)
    logits = np.zeros((2, 40), dtype=np.float32)
    shared = np.lib.stride_tricks.as_strided(logits, shape=(2, 40), strides=(4, 4))
    for bad in (logits[::-1], shared, logits.T):
        with pytest.raises(ValueError, match=r"rows|last axis"):
            gramlock.apply_token_bitmask_inplace(bad, bitmask)
    gramlock.apply_token_bitmask_inplace(logits[:0], bitmask)


def test_handles_may_be_dropped_in_any_order() -> None:
    for seed in range(6):
        vocabulary = gramlock.Vocabulary.from_tokens(TOKENS, end_ids=[END])
        grammar = gramlock.Grammar.from_json_schema(SCHEMA)
        program = vocabulary.compile(grammar)
        matcher = program.matcher()
        handles: list[Any] = [vocabulary, grammar, program, matcher, matcher.fork()]
        del vocabulary, grammar, program, matcher
        random.Random(seed).shuffle(handles)
        while handles:
            handles.pop()
            for handle in handles:
                if isinstance(handle, gramlock.Matcher):
                    assert allowed(handle)


def test_what_programs_and_vocabularies_tell(vocabulary: gramlock.Vocabulary) -> None:
    program = vocabulary.compile(SCHEMA)
    allowed(program.matcher())
    stats = program.stats()
    assert stats["masks"] >= 1
    assert stats["configurations"] >= 1
    assert 0 < stats["bytes"] <= gramlock.Limits().program_bytes
    assert vocabulary.stats()["longest_token"] == 4
    assert program.dump() == vocabulary.compile(dict(SCHEMA)).dump()


def test_bytes_that_cannot_be_spelled() -> None:
    without = [token for token in TOKENS[:256] if token != b"b"]
    vocabulary = gramlock.Vocabulary.from_tokens(without)
    assert vocabulary.missing_bytes == {ord("b")}
    program = vocabulary.compile(gramlock.Grammar.from_regex("a|bc|abd"))
    assert program.missing_bytes == {ord("b")}
    matcher = program.matcher()
    assert matcher.accept_bytes(b"a")
    assert matcher.is_terminated()
    with pytest.raises(gramlock.UnsatisfiableError):
        vocabulary.compile(gramlock.Grammar.from_regex("ab"))


def test_a_copy_is_a_fork() -> None:
    matcher = (
        gramlock.Vocabulary.from_tokens([b"a", b"b"])
        .compile(gramlock.Grammar.from_regex("ab*"))
        .matcher()
    )
    for twin in (copy.copy(matcher), copy.deepcopy(matcher)):
        assert twin.accept_token(0)
        assert twin.program is matcher.program
    assert matcher.steps == 0
