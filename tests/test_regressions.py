"""What once went wrong with odd input, one test each."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import gramlock

BYTES = [bytes([b]) for b in range(256)]
VOCABULARY = gramlock.Vocabulary.from_tokens([*BYTES, None], end_ids=[256])


@pytest.mark.parametrize("count", [2**32 - 1, 2**32, 2**63, 10**400])
@pytest.mark.parametrize("kind", ["Length", "Items"])
def test_counts_past_32_bits(kind: str, count: int) -> None:
    """No text reaches such an upper bound; such a lower one cannot be counted."""
    grammar = gramlock.Grammar.from_json_schema({"max" + kind: count})
    assert grammar.accepts('"a"')
    assert grammar.accepts("[1, 2]")
    with pytest.raises(gramlock.LimitError):
        gramlock.Grammar.from_json_schema({"min" + kind: count + 1})


def test_a_rollback_of_any_size() -> None:
    matcher = VOCABULARY.compile(gramlock.Grammar.from_regex("a*")).matcher()
    with pytest.raises(ValueError, match=r"rollback|steps"):
        matcher.rollback(2**64)


def test_budgets_and_threads_of_any_size() -> None:
    grammar = gramlock.Grammar.from_regex("a*")
    for limits in (gramlock.Limits(steps=-1), gramlock.Limits(program_bytes=-1)):
        with pytest.raises(ValueError, match="budget"):
            VOCABULARY.compile(grammar, limits=limits)
    with pytest.raises(ValueError, match="budget"):
        gramlock.Vocabulary.from_tokens(BYTES, max_bytes=-1)
    matcher = VOCABULARY.compile(grammar, limits=gramlock.Limits(steps=2**70)).matcher()
    mask = gramlock.allocate_token_bitmask(1, VOCABULARY.size)
    gramlock.fill_next_token_bitmasks([matcher], mask, threads=2**64)
    assert mask[0, 3] & 2


def test_arrays_off_their_alignment() -> None:
    matcher = VOCABULARY.compile(gramlock.Grammar.from_regex("a*")).matcher()
    with pytest.raises(ValueError, match="multiple"):
        matcher.fill_next_token_bitmask(np.frombuffer(bytearray(37), np.int32, 9, offset=1))
    logits = np.frombuffer(bytearray(4 * 257 + 1), np.float32, 257, offset=1)
    with pytest.raises(ValueError, match="multiple"):
        gramlock.apply_token_bitmask_inplace(logits, gramlock.allocate_token_bitmask(1, 257))


@pytest.mark.parametrize(
    "schema", [{"const": b"a"}, {"enum": [b"a", object()]}, {"patternProperties": {1: {}}}]
)
def test_python_values_without_json_type(schema: dict[str, Any]) -> None:
    with pytest.raises(gramlock.GrammarError):
        gramlock.Grammar.from_json_schema(schema)


def test_numpy_numbers_in_schemas() -> None:
    assert gramlock.Grammar.from_json_schema({"const": np.float64(2.5)}).accepts("2.5")


def test_finding_classes_of_bytes_is_work_too() -> None:
    """Look-aheads in a counted loop: states so large that few of them took minutes."""
    grammar = gramlock.Grammar.from_regex(
        r"(?:[a-c]abc|abc\\)(?:(?:.|c)(?!.*\\)1+){47}",
        limits=gramlock.Limits(steps=1_000_000),
    )
    matcher = VOCABULARY.compile(grammar).matcher()
    text = b"aabc" + b"x1" * 20
    try:
        assert matcher.accept_bytes(text)
    except gramlock.LimitError as error:
        assert error.budget == "steps"
        assert matcher.steps == 0


def test_zero_among_numbers_that_must_differ() -> None:
    """Behind ``0e`` every number is 0: looking for another one had no end."""
    grammar = gramlock.Grammar.from_json_schema(
        {"type": "array", "items": {"type": "number"}, "uniqueItems": True}
    )
    matcher = VOCABULARY.compile(grammar).matcher()
    assert matcher.accept_bytes(b"[0,0")
    assert not matcher.accept_bytes(b"e")
    assert matcher.accept_bytes(b".5]")


def test_many_integers_that_must_differ() -> None:
    """The search for an integer that was not seen went through all that were."""
    grammar = gramlock.Grammar.from_json_schema(
        {"type": "array", "items": {"type": "integer"}, "uniqueItems": True},
        limits=gramlock.Limits(steps=2_000_000),
    )
    text = "[" + ", ".join(map(str, range(1, 2000)))
    assert grammar.accepts(text + "]")
    assert grammar.accepts(text + ", 2000]")
    assert not grammar.accepts(text + ", 1999]")
