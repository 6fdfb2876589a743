"""How long does it take to build a vocabulary, from a loaded tokenizer to the first mask?"""

from __future__ import annotations

from typing import Any

import pytest

import gramlock
from benchmarks import corpus


@pytest.mark.parametrize("name", corpus.VOCABULARIES)
def test_build(benchmark: Any, name: str) -> None:
    benchmark.group = "vocabulary"
    if name == "synthetic":
        tokens = corpus.synthetic_tokens()
        benchmark.pedantic(gramlock.Vocabulary.from_tokens, (tokens,), rounds=5)
    else:
        tokenizer = corpus.load_tokenizer(corpus.tokenizer_folders()[name])
        benchmark.pedantic(gramlock.Vocabulary.from_huggingface, (tokenizer,), rounds=3)
