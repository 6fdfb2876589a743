"""The public interface around matchers: bitmasks and logits, limits, what handles refuse."""

from __future__ import annotations

import dataclasses
import gc
import pickle
from typing import Any

import numpy as np
import pytest

import gramlock
from gramlock import Grammar, Limits, Vocabulary, _matching

BYTES: list[bytes | None] = [bytes([byte]) for byte in range(256)]
KERNELS = ["portable", "avx2", "avx512"]


@pytest.fixture(scope="module")
def vocabulary() -> Vocabulary:
    return Vocabulary.from_tokens([*BYTES, None], end_ids=[256])


# ---- bitmasks


@pytest.mark.parametrize("size", [0, 1, 31, 32, 33, 64, 257])
def test_a_new_bitmask_allows_everything(size: int) -> None:
    bitmask = gramlock.allocate_token_bitmask(3, size)
    assert bitmask.shape == (3, (size + 31) // 32)
    assert bitmask.dtype == np.int32
    assert (bitmask == -1).all()


def test_fill_writes_its_row_and_nothing_else(vocabulary: Vocabulary) -> None:
    matcher = vocabulary.compile(Grammar.from_choices(["ab"])).matcher()
    bitmask = gramlock.allocate_token_bitmask(3, vocabulary.size)
    matcher.fill_next_token_bitmask(bitmask, 1)
    assert (bitmask[[0, 2]] == -1).all()
    bits = np.unpackbits(bitmask[1].view(np.uint8), bitorder="little")
    assert np.flatnonzero(bits).tolist() == [97]


def expected(logits: Any, bitmask: Any) -> Any:
    """Minus infinity by the definition, one id at a time."""
    out = logits.copy()
    for row in range(logits.shape[0]):
        for id in range(logits.shape[1]):
            word = int(bitmask[row, id // 32]) if id // 32 < bitmask.shape[1] else 0
            if not word >> (id % 32) & 1:
                out[row, id] = -np.inf
    return out


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("dtype", [np.float32, np.float16, np.float64])
@pytest.mark.parametrize("columns", [1, 31, 32, 100, 257, 300])
def test_logits_are_masked_id_by_id(kernel: str, dtype: Any, columns: int) -> None:
    if not _matching.force_logits_kernel(kernel):
        pytest.skip(f"this machine cannot run {kernel}")
    try:
        rng = np.random.default_rng(columns)
        logits = rng.standard_normal((3, columns)).astype(dtype)
        logits[0, 0] = np.nan
        bitmask = rng.integers(-(2**31), 2**31, (3, 9)).astype(np.int32)
        wanted = expected(logits, bitmask)
        gramlock.apply_token_bitmask_inplace(logits, bitmask)
        np.testing.assert_array_equal(logits, wanted)
    finally:
        _matching.force_logits_kernel(None)


def test_one_row_and_views() -> None:
    bitmask = np.array([[0b101], [0b010]], dtype=np.int32)
    row = np.zeros(3, dtype=np.float32)
    gramlock.apply_token_bitmask_inplace(row, bitmask[:1])
    assert row.tolist() == [0, -np.inf, 0]
    wide = np.zeros((2, 8), dtype=np.float32)
    gramlock.apply_token_bitmask_inplace(wide[:, 2:5], bitmask)
    assert np.isinf(wide).sum() == 3
    assert wide[:, 2:5].tolist() == [[0, -np.inf, 0], [-np.inf, 0, -np.inf]]


@pytest.mark.parametrize(
    "logits",
    [
        [0.0, 1.0],
        np.zeros(4, dtype=np.int32),
        np.zeros((1, 1, 4), dtype=np.float32),
        np.zeros((4, 2), dtype=np.float32).T,
        np.zeros((9, 4), dtype=np.float32),
        np.frombuffer(bytes(16), dtype=np.float32),
    ],
    ids=["a list", "integers", "three axes", "columns", "more rows", "read-only"],
)
def test_what_are_no_logits(logits: Any) -> None:
    before = np.array(logits, copy=True)
    with pytest.raises((TypeError, ValueError)):
        gramlock.apply_token_bitmask_inplace(logits, np.zeros((2, 1), dtype=np.int32))
    assert np.array_equal(before, np.asarray(logits))


# ---- limits and errors


def test_limits_are_values() -> None:
    assert Limits() == Limits()
    assert hash(Limits(steps=5)) == hash(Limits(steps=5))
    with pytest.raises(dataclasses.FrozenInstanceError):
        Limits().steps = 3  # type: ignore[misc]


def test_a_limit_error_names_its_budget(vocabulary: Vocabulary) -> None:
    grammar = Grammar.from_regex("(a|b){3,9}c")
    for budget, amount in (("steps", 1), ("program_bytes", 100)):
        with pytest.raises(gramlock.LimitError) as caught:
            vocabulary.compile(grammar, limits=Limits(**{budget: amount}))
        assert caught.value.budget == budget
        assert caught.value.limit == amount
        assert caught.value.asked > amount
        assert budget in str(caught.value)
    vocabulary.compile(grammar)


def test_the_tree_of_errors() -> None:
    for error in (
        gramlock.GrammarError,
        gramlock.LimitError,
        gramlock.MatcherError,
        gramlock.VocabularyError,
        gramlock.SerializationError,
    ):
        assert issubclass(error, gramlock.GramlockError)
    for error in (
        gramlock.InvalidSchemaError,
        gramlock.UnsupportedSchemaError,
        gramlock.UnsatisfiableError,
        gramlock.GrammarSyntaxError,
    ):
        assert issubclass(error, gramlock.GrammarError)


@pytest.mark.parametrize(
    "arguments",
    [
        {"end_ids": [1]},
        {"end_ids": [-1]},
        {"special_ids": [5]},
        {"size": 0},
    ],
)
def test_ids_out_of_range_are_refused(arguments: dict[str, Any]) -> None:
    with pytest.raises(gramlock.VocabularyError):
        Vocabulary.from_tokens([b"a"], **arguments)


def test_ids_past_the_tokens_are_never_allowed() -> None:
    vocabulary = Vocabulary.from_tokens([b"a"], size=70)
    matcher = vocabulary.compile(Grammar.from_regex("a*")).matcher()
    bitmask = gramlock.allocate_token_bitmask(1, vocabulary.size)
    matcher.fill_next_token_bitmask(bitmask)
    assert bitmask.tolist() == [[1, 0, 0]]
    assert not matcher.accept_token(69)


# ---- handles


def test_handles_are_not_pickled(vocabulary: Vocabulary) -> None:
    """They stand for tables of this process: refused, not half done."""
    program = vocabulary.compile(Grammar.from_choices(["a"]))
    for handle in (vocabulary, program, program.grammar, program.matcher()):
        with pytest.raises(TypeError):
            pickle.dumps(handle)


def test_parents_may_die_first() -> None:
    vocabulary = Vocabulary.from_tokens([*BYTES, None], end_ids=[256])
    matcher = vocabulary.compile(Grammar.from_choices(["abc"])).matcher()
    fork = matcher.fork()
    size = vocabulary.size
    del vocabulary, matcher
    gc.collect()
    assert fork.accept_bytes(b"ab")
    bitmask = gramlock.allocate_token_bitmask(1, size)
    fork.fill_next_token_bitmask(bitmask)
    assert bitmask[0, 3] == 1 << (ord("c") - 96)


# ---- grammars


def test_one_text_is_no_list_of_choices() -> None:
    """Or it would be taken for its letters."""
    for wrong in ("yes", b"yes", [1, 2], [b"yes"]):
        with pytest.raises(TypeError, match="choice"):
            Grammar.from_choices(wrong)  # type: ignore[arg-type]
    assert Grammar.from_choices(text for text in ("yes", "no")).accepts("no")  # type: ignore[arg-type]


def test_a_pattern_is_text() -> None:
    with pytest.raises(TypeError, match="a pattern is text, not int"):
        Grammar.from_regex(3)  # type: ignore[arg-type]


def test_what_is_no_schema_says_what_to_do() -> None:
    class Model:
        @classmethod
        def model_json_schema(cls) -> dict[str, str]:
            return {"type": "integer"}

    for wrong, hint in (('{"type": "integer"}', "json.loads"), (Model, "from_type")):
        with pytest.raises(gramlock.InvalidSchemaError, match=hint):
            Grammar.from_json_schema(wrong)  # type: ignore[arg-type]


def test_equal_grammars_have_equal_fingerprints() -> None:
    one, other = Grammar.from_regex("(ab|cd)*"), Grammar.from_regex("(?:cd|ab)*")
    assert one.fingerprint == other.fingerprint
    assert one.fingerprint != Grammar.from_regex("(ab|cd)+").fingerprint
    assert one.dump()["nodes"]
