"""The real model: whatever the way of generating, every text parses and validates.

All schemas here are bounded in length, so a model cannot go on for ever inside one of them.
"""

from __future__ import annotations

import json
from typing import Any

import pytest

import gramlock

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")
pytest.importorskip("jsonschema")

from gramlock.integrations.generation import Model, generate  # noqa: E402
from gramlock.integrations.jsonschema import judge  # noqa: E402

pytestmark = pytest.mark.model

PERSON = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "minLength": 1, "maxLength": 12},
        "age": {"type": "integer", "minimum": 0, "maximum": 120},
        "tags": {"type": "array", "items": {"enum": ["new", "vip", "staff"]}, "maxItems": 2},
    },
    "required": ["name", "age"],
    "additionalProperties": False,
}
DATE = {
    "type": "object",
    "properties": {"day": {"type": "string", "format": "date"}, "sure": {"type": "boolean"}},
    "required": ["day", "sure"],
    "additionalProperties": False,
}
ASK = "Describe a person as JSON."
ASK_DATE = "When was the first landing on the moon? Answer as JSON."


def inputs(real: Model, prompts: list[str]) -> Any:
    """Chats, padded on the left."""
    real.tokenizer.padding_side = "left"
    chats = [[{"role": "user", "content": prompt}] for prompt in prompts]
    return real.tokenizer.apply_chat_template(
        chats, add_generation_prompt=True, return_dict=True, return_tensors="pt", padding=True
    )


def texts(real: Model, guard: Any, prompts: list[str], **options: Any) -> list[str]:
    torch.manual_seed(0)
    given = inputs(real, prompts)
    with torch.inference_mode():
        output = real.model.generate(
            **given, max_new_tokens=120, logits_processor=[guard], **options
        )
    start = given["input_ids"].shape[1]
    written = output[:, start:].tolist()
    assert all(real.tokenizer.eos_token_id in row for row in written), "cut off"
    return real.tokenizer.batch_decode(written, skip_special_tokens=True)


def check(schema: Any, *answers: str) -> None:
    for answer in answers:
        assert judge(schema)(answer) is None, answer


def guard(real: Model, schemas: Any, **options: Any) -> gramlock.LogitsProcessor:
    config = real.model.generation_config
    return gramlock.LogitsProcessor(schemas, real.tokenizer, generation_config=config, **options)


def test_greedy(real: Model) -> None:
    check(PERSON, *texts(real, guard(real, PERSON), [ASK], do_sample=False))


def test_batch_of_two_schemas(real: Model) -> None:
    person, date = texts(real, guard(real, [PERSON, DATE]), [ASK, ASK_DATE], do_sample=False)
    check(PERSON, person)
    check(DATE, date)


def test_sampling(real: Model) -> None:
    answers = texts(
        real,
        guard(real, PERSON),
        [ASK],
        do_sample=True,
        temperature=1.5,
        top_k=0,
        num_return_sequences=4,
    )
    assert len(answers) == 4
    check(PERSON, *answers)


def test_beams(real: Model) -> None:
    check(DATE, *texts(real, guard(real, DATE), [ASK_DATE], num_beams=3, num_return_sequences=2))


def test_drafts(real: Model) -> None:
    """An assistant (here the model itself) and prompt lookup write what the model alone writes."""
    shared = guard(real, DATE)
    alone = texts(real, shared, [ASK_DATE], do_sample=False)
    assisted = texts(real, shared, [ASK_DATE], do_sample=False, assistant_model=real.model)
    looked_up = texts(real, shared, [ASK_DATE], do_sample=False, prompt_lookup_num_tokens=3)
    assert alone == assisted == looked_up
    check(DATE, *alone)


def test_a_prefix_that_was_written_already(real: Model) -> None:
    prefix = '{"name": "Ad'
    shared = guard(real, PERSON, prefix=prefix)
    given = inputs(real, [ASK])
    ids = real.tokenizer(prefix, return_tensors="pt")["input_ids"]
    given["input_ids"] = torch.cat([given["input_ids"], ids], 1)
    given["attention_mask"] = torch.ones_like(given["input_ids"])
    output = real.model.generate(**given, max_new_tokens=120, logits_processor=[shared])
    rest = output[0, given["input_ids"].shape[1] :]
    check(PERSON, prefix + real.tokenizer.decode(rest, skip_special_tokens=True))


def test_what_the_constraint_costs_is_counted(real: Model) -> None:
    """The share is the processor's own time in the run; how large it may be is for benchmarks."""
    shown: list[str] = []
    result = generate(real, guard(real, PERSON), ASK, show=shown.append)
    assert result.finished
    assert "".join(shown) == result.text
    assert json.loads(result.text)
    assert 0 < result.share < 1
    assert result.stats.masks == result.tokens
