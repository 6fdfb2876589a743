"""The logits processor in every mode of ``generate()``, on a tiny model with random weights.

The text that comes out must be a sentence; that the processor's rows are right at every step is
checked apart, against a fresh matcher, over random sequences of calls.
"""

from __future__ import annotations

import math
import random
from typing import Any

import numpy as np
import pytest

import gramlock

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")

import model as tiny  # noqa: E402
from gramlock.integrations import transformers as transformers_integration  # noqa: E402
from gramlock.integrations.transformers import forbid_on_device  # noqa: E402

WORDS = ["yes", "no", "none", '{"a": 12}', '{"a": null}', '{"a": true, "b": "é"}', "1222", "12"]
GREEK = ["αβ", "αγ", "α", "δ"]
LENGTH = 40
WIDTH = tiny.vocabulary().size


def processor(choices: Any = None, **options: Any) -> gramlock.LogitsProcessor:
    grammar = gramlock.Grammar.from_choices(choices or WORDS)
    return gramlock.LogitsProcessor(grammar, tiny.vocabulary(), **options)


def generate(guard: Any, prompts: list[str], *, seed: int = 0, **options: Any) -> list[str | None]:
    """What the tiny model writes after each prompt."""
    model = tiny.tiny_model(seed)
    inputs = tiny.batch(prompts)
    torch.manual_seed(seed)
    output = model.generate(**inputs, max_new_tokens=LENGTH, logits_processor=[guard], **options)
    return [tiny.written(row) for row in output[:, inputs["input_ids"].shape[1] :].tolist()]


def allowed(scores: Any) -> list[set[int]]:
    """By row, the ids that were left."""
    return [set(torch.nonzero(row > -math.inf).flatten().tolist()) for row in scores]


def fresh(text: list[int], choices: list[str], prefix: str = "") -> set[int]:
    """The ids that a new matcher allows after *text*."""
    vocabulary = tiny.vocabulary()
    matcher = vocabulary.compile(gramlock.Grammar.from_choices(choices)).matcher()
    assert not prefix or matcher.accept_bytes(prefix.encode())
    assert all(matcher.accept_token(token) for token in text)
    bitmask = gramlock.allocate_token_bitmask(1, vocabulary.size)
    matcher.fill_next_token_bitmask(bitmask)
    bits = np.unpackbits(bitmask[0].view(np.uint8), bitorder="little")
    return set(np.flatnonzero(bits).tolist())


# ---- modes of generate()


@pytest.mark.parametrize("seed", range(3))
def test_greedy(seed: int) -> None:
    assert generate(processor(), ["hello"], seed=seed, do_sample=False)[0] in WORDS


def test_batch_with_left_padding() -> None:
    texts = generate(processor(), ["a", "a longer prompt", "12"], do_sample=False)
    assert all(text in WORDS for text in texts)
    assert texts[0] == generate(processor(), ["a"], do_sample=False)[0]


@pytest.mark.parametrize("seed", range(5))
def test_sampling_with_several_sequences(seed: int) -> None:
    texts = generate(
        processor(), ["a", "bc"], seed=seed, do_sample=True, num_return_sequences=4, top_k=0
    )
    assert len(texts) == 8
    assert all(text in WORDS for text in texts)


@pytest.mark.parametrize("sample", [False, True])
@pytest.mark.parametrize("seed", range(3))
def test_beams(seed: int, sample: bool) -> None:
    texts = generate(
        processor(), ["a", "bc"], seed=seed, num_beams=4, num_return_sequences=2, do_sample=sample
    )
    assert all(text in WORDS for text in texts)


@pytest.mark.parametrize("sample", [False, True])
@pytest.mark.parametrize("choices", [["ab"], ["ab", "ac"], ["a", "ab"]])
def test_beams_that_run_out_of_candidates(choices: list[str], sample: bool) -> None:
    """Fewer sentences than beams: the others are dead or past their end; none comes back so."""
    options = {"num_beams": 4, "num_return_sequences": 4, "do_sample": sample}
    texts = generate(processor(choices), ["x", "yy"], **options)
    assert len(texts) == 8
    assert set(texts[:4]) == set(texts[4:]) == set(choices)


def test_one_grammar_per_row() -> None:
    grammars = [gramlock.Grammar.from_choices(choices) for choices in (WORDS, GREEK)]
    guard = gramlock.LogitsProcessor(grammars, tiny.vocabulary())
    for options in ({}, {"num_beams": 3}, {"do_sample": True, "num_return_sequences": 3}):
        texts = generate(guard, ["same", "same"], **options)
        half = len(texts) // 2
        assert all(text in WORDS for text in texts[:half])
        assert all(text in GREEK for text in texts[half:])


@pytest.mark.parametrize("sample", [False, True])
@pytest.mark.parametrize("seed", range(3))
def test_assisted(seed: int, sample: bool) -> None:
    guard = processor()
    assistant = tiny.tiny_model(seed + 10)
    text = generate(guard, ["a"], seed=seed, assistant_model=assistant, do_sample=sample)[0]
    assert text in WORDS
    if not sample:
        assert text == generate(guard, ["a"], seed=seed, do_sample=False)[0]


@pytest.mark.parametrize("seed", range(3))
def test_prompt_lookup(seed: int) -> None:
    prompt = 'answers: {"a": 12} {"a": null} yes no 1222'
    guard = processor()
    text = generate(guard, [prompt], seed=seed, prompt_lookup_num_tokens=4, do_sample=False)[0]
    assert text in WORDS
    assert text == generate(guard, [prompt], seed=seed, do_sample=False)[0]


def test_the_same_object_for_several_calls() -> None:
    guard = processor()
    first = generate(guard, ["a", "b"], do_sample=False)
    second = generate(guard, ["a", "b"], do_sample=False)
    third = generate(guard, ["a prompt of another length"], do_sample=False)
    assert first == second
    assert third[0] in WORDS


def test_prefix() -> None:
    texts = generate(processor(prefix='{"a": '), ["x", "y"], do_sample=True, top_k=0)
    assert all('{"a": ' + str(text) in WORDS for text in texts)
    pair = generate(processor(prefix=['{"a": ', "n"]), ["x", "x"], do_sample=True, top_k=0)
    assert '{"a": ' + str(pair[0]) in WORDS
    assert "n" + str(pair[1]) in WORDS


def test_a_prefix_that_does_not_fit() -> None:
    with pytest.raises(gramlock.MatcherError, match=r"row 1: .*no text that begins b'q'"):
        processor(prefix=["y", "q"])


def test_prompts_that_hold_json() -> None:
    prompt = '{"a": 12}'
    assert generate(processor(), [prompt, prompt[:1]], do_sample=False)[0] in WORDS


def test_raw_logits_are_not_touched() -> None:
    model, inputs = tiny.tiny_model(), tiny.batch(["a"])
    options = {"return_dict_in_generate": True, "output_logits": True, "max_new_tokens": LENGTH}
    output = model.generate(**inputs, **options, logits_processor=[processor()])
    assert all(torch.isfinite(logits).all() for logits in output.logits)


# ---- rows, step by step


def rows(*texts: str) -> Any:
    """Prompt ``p`` and what follows, as a tensor of ids; all equally long."""
    return torch.tensor([tiny.encode("p" + text) for text in texts])


def ones(batch: Any, width: int = len(tiny.TOKENS)) -> Any:
    return torch.ones((len(batch), width))


def call(guard: Any, batch: Any) -> list[set[int]]:
    return allowed(guard(batch, ones(batch)))


@pytest.mark.parametrize("seed", range(20))
def test_any_road_gives_the_mask_of_the_ids(seed: int) -> None:
    """Extend, go back, re-order, repeat, start again: what counts is the ids."""
    random_source = random.Random(seed)
    guard = processor()
    prompt = tiny.encode("prompt"[: random_source.randint(1, 6)])
    count = random_source.choice([1, 1, 3])
    texts: list[list[int]] = [[] for _ in range(count)]
    for _ in range(60):
        masks = call(guard, torch.tensor([prompt + text for text in texts]))
        for text, mask in zip(texts, masks, strict=True):
            if tiny.END not in text:
                assert mask == fresh(text, WORDS)
        road = random_source.random()
        if road < 0.1:
            prompt = tiny.encode(str(random_source.random()))
            texts = [[] for _ in texts]
        elif road < 0.35 and len(texts[0]) > 1:
            keep = random_source.randint(1, len(texts[0]) - 1)
            texts = [text[:keep] for text in texts]
        elif road < 0.5 and count > 1:
            texts = [list(random_source.choice(texts)) for _ in texts]
        elif road < 0.9:
            for text, mask in zip(texts, masks, strict=True):
                ended = tiny.END in text
                text.append(tiny.PAD if ended else random_source.choice(sorted(mask)))


def test_a_draft_is_taken_back_and_another_token_follows() -> None:
    guard = processor()
    for text in ("", "1", "12", "122", "", "1", "12", "122"):
        call(guard, rows(text))
    assert call(guard, rows("12\n"[:2])) == [fresh([*tiny.encode("12")[1:]], WORDS)]
    assert call(guard, rows("122")) == [fresh([*tiny.encode("122")[1:]], WORDS)]
    with pytest.raises(gramlock.MatcherError):
        call(guard, rows("1x"))


def ids_of(first: str, second: str) -> Any:
    """Two rows after the prompt ``p``; ``$`` is the end id, ``_`` padding."""
    marks = {ord("$") + 3: tiny.END, ord("_") + 3: tiny.PAD}
    return rows(first, second).apply_(lambda token: marks.get(token, token))


@pytest.mark.parametrize("filler", ["_", "$", "z"])
def test_rows_past_an_end_are_left_alone(filler: str) -> None:
    """Whatever ``generate()`` pads with, the end id itself or an ordinary token included."""
    guard, scores = processor(), torch.randn(2, len(tiny.TOKENS) + 5)
    for length in range(3):
        call(guard, ids_of("no"[:length], "none"[:length]))
    for first, second in (("no$", "non"), ("no$" + filler, "none")):
        result = guard(ids_of(first, second), scores)
        assert torch.equal(result[0], scores[0])
        assert allowed(result)[1] == fresh(tiny.encode(second)[1:], WORDS)


def test_a_caller_that_does_not_stop_at_an_end_is_told() -> None:
    guard = processor()
    for text in ("", "n", "no", "no$", "no$a"):
        guard(ids_of(text, text), torch.zeros(2, 300))
    with pytest.raises(gramlock.MatcherError, match=r"row 0, step 4: .*does not stop at it"):
        guard(ids_of("no$ab", "no$ab"), torch.zeros(2, 300))


def test_rows_may_become_fewer() -> None:
    guard = processor()
    call(guard, rows("", ""))
    call(guard, rows("n", "y"))
    assert call(guard, rows("ye")) == [fresh(tiny.encode("ye")[1:], WORDS)]


def test_reset_makes_known_rows_a_prompt() -> None:
    guard = processor()
    for text in ("", "1", "12"):
        call(guard, rows(text))
    start = fresh([], WORDS)
    assert call(guard, rows("12")) != [start]
    guard.reset()
    assert call(guard, rows("12")) == [start]


def test_no_prompt_at_all() -> None:
    """With ``inputs_embeds`` the ids begin empty."""
    guard = processor()
    assert call(guard, torch.zeros((2, 0), dtype=torch.long)) == [fresh([], WORDS)] * 2
    tokens = tiny.encode("y")[1:]
    assert call(guard, torch.tensor([tokens, tokens])) == [fresh(tokens, WORDS)] * 2


# ---- scores


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16])
@pytest.mark.parametrize("width", [len(tiny.TOKENS), 320, 333])
def test_types_and_widths_of_logits(dtype: Any, width: int) -> None:
    guard, batch = processor(), rows("", "")
    scores = torch.randn(2, width).to(dtype)
    before = scores.clone()
    result = guard(batch, scores)
    assert result.dtype == dtype
    assert torch.equal(scores, before)
    assert allowed(result) == [fresh([], WORDS)] * 2
    kept = result > -math.inf
    assert torch.equal(result[kept], scores[kept])
    assert not result.isnan().any()


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16])
@pytest.mark.parametrize("width", [1, 31, 32, 33, 270, 272])
def test_tensor_operations_forbid_what_the_kernel_forbids(dtype: Any, width: int) -> None:
    mask = np.random.default_rng(width).integers(-(2**31), 2**31, (3, -(-width // 32)), np.int32)
    scores = torch.randn(3, width).to(dtype)
    expected = scores.clone()
    gramlock.apply_token_bitmask_inplace(expected, mask)
    assert torch.equal(forbid_on_device(scores, mask), expected)


def test_a_model_with_more_logits_than_tokens() -> None:
    model, inputs = tiny.tiny_model(width=400), tiny.batch(["a"])
    for options in ({"do_sample": False}, {"do_sample": True, "top_k": 0}, {"num_beams": 3}):
        output = model.generate(
            **inputs, max_new_tokens=LENGTH, logits_processor=[processor()], **options
        )
        assert tiny.written(output[0, inputs["input_ids"].shape[1] :].tolist()) in WORDS


# ---- what cannot go on


def test_a_forced_token_is_an_error_that_names_row_and_step() -> None:
    guard = processor()
    for text in ("", "1", "12"):
        call(guard, rows(text, text))
    with pytest.raises(gramlock.MatcherError) as caught:
        call(guard, rows("122", "12x"))
    assert (caught.value.row, caught.value.step) == (1, 2)
    assert "b'x'" in caught.value.reason
    assert call(guard, rows("122", "122")) == [fresh(tiny.encode("122")[1:], WORDS)] * 2


def test_a_passed_budget_is_an_error_of_its_row(monkeypatch: pytest.MonkeyPatch) -> None:
    """The call can be repeated afterwards: nothing was lost or counted twice."""
    guard = processor()
    for text in ("", "1", "12"):
        call(guard, rows(text, text))

    def passed(matchers: list[gramlock.Matcher], bitmask: Any) -> None:
        error = gramlock.LimitError("steps", 20, 10)
        error.row = 1
        raise error

    with monkeypatch.context() as patch:
        patch.setattr(transformers_integration, "fill_next_token_bitmasks", passed)
        with pytest.raises(gramlock.MatcherError, match="row 1, step 3: the budget steps allows"):
            call(guard, rows("122", "122"))
    assert call(guard, rows("122", "122")) == [fresh(tiny.encode("122")[1:], WORDS)] * 2


# ---- memory of results


def test_results_are_never_overwritten_while_someone_holds_them() -> None:
    """Not even by way of a view, an array or a row of them."""
    guard = processor()
    kept: list[Any] = []
    copies: list[Any] = []
    for length in range(1, 40):
        scores = torch.randn(2, WIDTH)
        result = guard(rows("", ""), scores)
        holders = [result, result[1], result.numpy()[0], result.view(-1)[3:], None]
        holder = holders[length % len(holders)]
        kept.append(holder)
        copies.append(None if holder is None else torch.as_tensor(holder).clone())
        if length % 3 == 0:
            del kept[length % len(kept)], copies[length % len(copies)]
    for holder, copy in zip(kept, copies, strict=True):
        assert holder is None or torch.equal(torch.as_tensor(holder), copy)


def test_memory_of_results_is_used_again() -> None:
    """``generate()`` holds one result while it asks for the next: two pieces of memory serve."""
    guard, result, places = processor(), None, set()
    for _ in range(20):
        result = guard(rows("", ""), torch.zeros(2, WIDTH))
        places.add(result.data_ptr())
    assert len(places) == 2
    assert all(place % 64 == 0 for place in places)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16, torch.float64])
def test_results_of_every_type_and_layout(dtype: Any) -> None:
    wide = torch.randn(2, 2 * WIDTH).to(dtype)
    for scores in (wide[:, :WIDTH], wide[:, ::2], wide[:1, :WIDTH].expand(2, WIDTH)):
        before = scores.clone()
        result = processor()(rows("", ""), scores)
        allowed = result != -math.inf
        assert result.dtype == dtype
        assert result.shape == scores.shape
        assert 0 < allowed.sum() < allowed.numel()
        assert torch.equal(result[allowed], scores[allowed])
        assert torch.equal(scores, before)


def test_a_processor_that_leaves_nothing_is_an_error() -> None:
    """``min_new_tokens`` forbids the end where the grammar allows nothing else."""
    with pytest.raises(gramlock.MatcherError, match="step 2: another processor forbids all"):
        generate(processor(["ab"]), ["x"], min_new_tokens=10, do_sample=False)
    with pytest.raises(gramlock.MatcherError, match="another processor forbids all"):
        generate(processor(["ab"]), ["x"], min_new_tokens=10, num_beams=2)


def test_no_repeated_ngrams_under_beams() -> None:
    """Single beams that another processor kills are no error while others live."""
    texts = generate(processor(["aaab", "abab", "abc"]), ["x"], num_beams=3, no_repeat_ngram_size=1)
    assert texts == ["abc"]


def test_grammars_and_rows_that_do_not_fit() -> None:
    grammar = gramlock.Grammar.from_choices(WORDS)
    guard = gramlock.LogitsProcessor([grammar, grammar], tiny.vocabulary())
    with pytest.raises(gramlock.MatcherError, match="3 rows cannot be shared out evenly"):
        call(guard, rows("", "", ""))
    with pytest.raises(gramlock.MatcherError, match="3 prefixes do not fit 2 grammars"):
        gramlock.LogitsProcessor([grammar] * 2, tiny.vocabulary(), prefix=["", "", ""])
    with pytest.raises(gramlock.MatcherError, match="no grammar is given"):
        gramlock.LogitsProcessor([], tiny.vocabulary())


def test_continuous_batching_is_refused() -> None:
    """It hands over the newest ids without their rows."""
    assert gramlock.LogitsProcessor.supports_continuous_batching is False
    with pytest.raises(gramlock.MatcherError, match="rows of ids"):
        processor()(torch.tensor([1, 2]), torch.zeros(2, 300))


def test_a_vocabulary_without_end_ids_is_refused() -> None:
    vocabulary = gramlock.Vocabulary.from_tokens([b"a", b"b"])
    with pytest.raises(gramlock.VocabularyError, match="no end id"):
        gramlock.LogitsProcessor(gramlock.Grammar.from_choices(["a"]), vocabulary)


def test_statistics() -> None:
    guard = processor()
    generate(guard, ["a", "b"], do_sample=False)
    stats = guard.stats
    assert stats.calls <= LENGTH
    assert stats.calls <= stats.masks <= 2 * stats.calls
    assert 0 < stats.mean_microseconds < 1e5
    assert stats.seconds == stats.seconds_follow + stats.seconds_mask + stats.seconds_apply
