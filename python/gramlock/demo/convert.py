"""A Llama-shaped model out of a GGUF file, as transformers stores models.

GGUF packs weights (here four bits each, in blocks with a scale and an offset), names tensors its
own way, and stores the query and key projections with the halves of each head interleaved; all of
that is undone. The tokenizer is rebuilt from the token list and merges. Reading the file with
transformers itself takes five times as long, needs another package, and loses the rule that digits
are tokens of their own.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import MissingDependencyError

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Array = npt.NDArray[np.float32]

__all__ = ["convert"]

_TENSORS = {
    "attn_q": "self_attn.q_proj",
    "attn_k": "self_attn.k_proj",
    "attn_v": "self_attn.v_proj",
    "attn_output": "self_attn.o_proj",
    "attn_norm": "input_layernorm",
    "ffn_gate": "mlp.gate_proj",
    "ffn_up": "mlp.up_proj",
    "ffn_down": "mlp.down_proj",
    "ffn_norm": "post_attention_layernorm",
}
_OUTER = {"token_embd": "embed_tokens", "output_norm": "norm"}
_CONTROL = 3  # token type of control tokens


def convert(source: Path, target: Path, progress: Callable[[int, int], None]) -> None:
    """Write the model in *source* (a GGUF file) to the folder *target*.

    Args:
        source: The file.
        target: An existing folder; gets weights, configuration, tokenizer and chat template.
        progress: Called with how many tensors are done and how many there are.
    """
    try:
        import gguf
        from safetensors.numpy import save_file
    except ImportError as error:
        raise MissingDependencyError(error.name or "gguf", "hf") from error
    reader = gguf.GGUFReader(source)
    fields = {name: field.contents() for name, field in reader.fields.items()}
    config = _config(fields)
    tensors = {}
    for done, (name, values) in enumerate(_weights(gguf, reader, config)):
        tensors[name] = values
        progress(done + 1, len(reader.tensors))
    save_file(tensors, target / "model.safetensors", metadata={"format": "pt"})
    _write(target / "config.json", config)
    ids = {key: config[key] for key in ("bos_token_id", "eos_token_id", "pad_token_id")}
    _write(target / "generation_config.json", ids)
    _write(target / "tokenizer.json", _tokenizer(fields))
    _write(target / "tokenizer_config.json", _tokenizer_config(fields))
    (target / "chat_template.jinja").write_text(fields["tokenizer.chat_template"], "utf-8")


def _write(path: Path, value: Any) -> None:
    path.write_text(json.dumps(value, indent=2, ensure_ascii=False) + "\n", "utf-8")


def _config(fields: dict[str, Any]) -> dict[str, Any]:
    return {
        "architectures": ["LlamaForCausalLM"],
        "model_type": "llama",
        "dtype": "float32",
        "bos_token_id": fields["tokenizer.ggml.bos_token_id"],
        "eos_token_id": fields["tokenizer.ggml.eos_token_id"],
        "pad_token_id": fields["tokenizer.ggml.padding_token_id"],
        "hidden_act": "silu",
        "hidden_size": fields["llama.embedding_length"],
        "intermediate_size": fields["llama.feed_forward_length"],
        "max_position_embeddings": fields["llama.context_length"],
        "num_attention_heads": fields["llama.attention.head_count"],
        "num_hidden_layers": fields["llama.block_count"],
        "num_key_value_heads": fields["llama.attention.head_count_kv"],
        "rms_norm_eps": fields["llama.attention.layer_norm_rms_epsilon"],
        "rope_theta": fields["llama.rope.freq_base"],
        "tie_word_embeddings": True,
        "vocab_size": fields["llama.vocab_size"],
    }


def _weights(gguf: Any, reader: Any, config: dict[str, Any]) -> Iterator[tuple[str, Array]]:
    """Every tensor under the name that transformers gives it, in float32."""
    import numpy as np

    heads = {"attn_q": config["num_attention_heads"], "attn_k": config["num_key_value_heads"]}
    for tensor in reader.tensors:
        values = gguf.dequantize(tensor.data, tensor.tensor_type).astype(np.float32)
        part = tensor.name.removesuffix(".weight")
        if part.startswith("blk."):
            _, layer, part = part.split(".")
            name = f"layers.{layer}.{_TENSORS[part]}"
        else:
            name = _OUTER[part]
        if part in heads:
            values = _separate_halves(values, heads[part])
        yield f"model.{name}.weight", np.ascontiguousarray(values)


def _separate_halves(values: Array, heads: int) -> Array:
    """Rows of each head from (a0 b0 a1 b1 …) to (a0 a1 … b0 b1 …)."""
    rows, columns = values.shape
    halves = values.reshape(heads, rows // heads // 2, 2, columns)
    apart: Array = halves.swapaxes(1, 2).reshape(rows, columns)
    return apart


def _tokenizer(fields: dict[str, Any]) -> dict[str, Any]:
    """``tokenizer.json``: byte-level pairs, digits apart, control tokens never split."""
    tokens, types = fields["tokenizer.ggml.tokens"], fields["tokenizer.ggml.token_type"]
    flags = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False}
    control = [
        {"id": index, "content": token, **flags, "special": True}
        for index, (token, kind) in enumerate(zip(tokens, types, strict=True))
        if kind == _CONTROL
    ]
    byte_level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True}
    return {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": control,
        "normalizer": None,
        "pre_tokenizer": {
            "type": "Sequence",
            "pretokenizers": [
                {"type": "Digits", "individual_digits": True},
                {**byte_level, "use_regex": True},
            ],
        },
        "post_processor": None,
        "decoder": {**byte_level, "add_prefix_space": True, "use_regex": True},
        "model": {
            "type": "BPE",
            "dropout": None,
            "unk_token": None,
            "continuing_subword_prefix": None,
            "end_of_word_suffix": None,
            "fuse_unk": False,
            "byte_fallback": False,
            "vocab": {token: index for index, token in enumerate(tokens)},
            "merges": [merge.split(" ") for merge in fields["tokenizer.ggml.merges"]],
        },
    }


def _tokenizer_config(fields: dict[str, Any]) -> dict[str, Any]:
    tokens = fields["tokenizer.ggml.tokens"]
    named = {"bos_token": "bos", "eos_token": "eos", "pad_token": "padding", "unk_token": "unknown"}
    return {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "model_max_length": fields["llama.context_length"],
        "clean_up_tokenization_spaces": False,
        **{key: tokens[fields[f"tokenizer.ggml.{name}_token_id"]] for key, name in named.items()},
    }
