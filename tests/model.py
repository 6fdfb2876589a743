"""Models for tests: a tiny one with random weights, made in milliseconds, and the demo's real one.

The tiny model's vocabulary is every byte, a few longer tokens, and three control tokens. What it
writes is noise, which is what a constraint is for.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from gramlock import Vocabulary

PAD, BEGIN, END = 0, 1, 2
WORDS = [b'{"', b'":', b'": ', b'",', b'"}', b"}}", b"true", b"null", b"12", b"  ", "é".encode()]
TOKENS: list[bytes | None] = [None, None, None, *(bytes([b]) for b in range(256)), *WORDS]


@cache
def vocabulary() -> Vocabulary:
    """The tiny model's tokens."""
    return Vocabulary.from_tokens(TOKENS, end_ids=[END], special_ids=[PAD, BEGIN, END])


@cache
def tiny_model(seed: int = 0, width: int = len(TOKENS)) -> Any:
    """A Llama of two small layers; *width* is that of its logits."""
    import torch
    from transformers import LlamaConfig, LlamaForCausalLM

    torch.manual_seed(seed)
    config = LlamaConfig(
        vocab_size=width,
        hidden_size=32,
        intermediate_size=64,
        num_hidden_layers=2,
        num_attention_heads=2,
        num_key_value_heads=2,
        max_position_embeddings=512,
        initializer_range=0.5,
        pad_token_id=PAD,
        bos_token_id=BEGIN,
        eos_token_id=END,
    )
    return LlamaForCausalLM(config).eval()


def encode(text: str) -> list[int]:
    """A prompt, byte by byte."""
    return [BEGIN, *(byte + 3 for byte in text.encode())]


def batch(prompts: list[str]) -> dict[str, Any]:
    """Prompts padded on the left, as ``generate()`` takes them."""
    import torch

    rows = [encode(prompt) for prompt in prompts]
    width = max(map(len, rows))
    ids = [[PAD] * (width - len(row)) + row for row in rows]
    mask = [[0] * (width - len(row)) + [1] * len(row) for row in rows]
    return {"input_ids": torch.tensor(ids), "attention_mask": torch.tensor(mask)}


def written(ids: list[int]) -> str | None:
    """The text of generated ids up to the end id; None if there is no end or rubbish after it."""
    if END not in ids:
        return None
    end = ids.index(END)
    if any(token not in (PAD, END) for token in ids[end:]):
        return None
    return b"".join(TOKENS[token] or b"?" for token in ids[:end]).decode()


@cache
def real_model() -> Any:
    """The demo's model, fetched if need be; one CPU thread, since the tests share the machine."""
    from gramlock.demo import ensure_model
    from gramlock.integrations.generation import load_model

    return load_model(ensure_model(), threads=1)
