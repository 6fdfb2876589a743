"""Tokenizers of the HuggingFace libraries: in memory, or as files.

An object is recognised by what it offers, in this order:

1. ``backend_tokenizer``: a fast tokenizer of transformers around a ``tokenizers.Tokenizer``;
2. ``get_vocab``, ``decoder`` and ``to_str``: a ``tokenizers.Tokenizer`` itself;
3. tiktoken ranks, its own or inside (older Qwen, Kimi);
4. a SentencePiece model (slow tokenizers);
5. GPT-2's stand-ins (slow byte-level tokenizers);
6. ``tokenizer``: a processor around one of these.

Which ids end a generation is known from two places, and both count: the tokenizer has one, the
generation config of the model may have more. Chat models often end their turns with a token that
only the latter lists.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from ..errors import VocabularyError
from .byte_level import STAND_INS
from .folder import folder_ends, from_folder, read_document
from .ranks import from_tiktoken
from .reading import Reading, end_ids_of, read_model, read_pieces_reading
from .sentencepiece import read_pieces
from .table import TokenTable, unique_ids

__all__ = ["from_huggingface"]


def from_huggingface(
    tokenizer: Any,
    *,
    size: int | None = None,
    end_ids: Iterable[int | str] | None = None,
    generation_config: Any = None,
    control: Iterable[int | str] = (),
) -> TokenTable:
    """Read a HuggingFace tokenizer.

    Args:
        tokenizer: A tokenizer (fast or slow) or processor of transformers, a
            ``tokenizers.Tokenizer``, or the path of a model folder or of a ``tokenizer.json``.
        size: Number of ids of the model's logits (``model.config.vocab_size``), which is often
            larger than the tokenizer; the ids added this way are never allowed.
        end_ids: Ids or texts of the tokens that end a generation, instead of those found.
        generation_config: ``model.generation_config``, a mapping, or the path of its folder or
            file: its ``eos_token_id`` adds to the tokenizer's. By default it is read from where
            the tokenizer was loaded from: a folder, or the hub's cache on this machine.
        control: Ids or texts of further control tokens. Tokens such as ``<think>`` and
            ``<tool_call>`` are text unless the tokenizer itself marks them as special.

    Raises:
        VocabularyError: The tokenizer is of an unknown kind, or what it decodes is not the
            concatenation of what its tokens stand for; the message says which.

    Cost: a fast tokenizer of 128,000 tokens takes about 0.25 s, most of it the copy of its
    vocabulary into Python.
    """
    given = None if generation_config is None else _generation_ends(generation_config)
    if isinstance(tokenizer, (str, os.PathLike)):
        return from_folder(
            Path(tokenizer), size=size, end_ids=end_ids, generation_ends=given, control=control
        )
    reading = _read_object(tokenizer)
    _read_ends(reading, tokenizer, given)
    return reading.table(size=size, end_ids=end_ids, control=control)


def _generation_ends(config: Any) -> list[int]:
    if not isinstance(config, (str, os.PathLike)):
        return end_ids_of(config)
    path = Path(config)
    if path.is_dir():
        return folder_ends(path)
    try:
        return end_ids_of(json.loads(path.read_bytes()))
    except (OSError, ValueError) as error:
        raise VocabularyError(f"{path} is not a generation config: {error}") from error


def _read_object(tokenizer: Any) -> Reading:
    if hasattr(tokenizer, "backend_tokenizer"):
        return _read_backend(tokenizer.backend_tokenizer)
    if hasattr(tokenizer, "to_str") and hasattr(tokenizer, "decoder"):
        return _read_backend(tokenizer)
    encoding = _tiktoken_inside(tokenizer)
    if encoding is not None:
        return _read_ranks(tokenizer, encoding)
    file = str(getattr(tokenizer, "vocab_file", ""))
    if hasattr(tokenizer, "sp_model") or file.endswith(".model"):
        return _read_slow_pieces(tokenizer)
    if hasattr(tokenizer, "byte_decoder") and hasattr(tokenizer, "get_vocab"):
        return _read_slow_byte_level(tokenizer)
    inner = getattr(tokenizer, "tokenizer", None)
    if inner is not None and hasattr(inner, "backend_tokenizer"):
        return _read_object(inner)
    raise VocabularyError(
        f"{type(tokenizer).__name__} is not a tokenizer of a known kind (fast, SentencePiece,"
        " tiktoken or byte-level)"
    )


def _read_ends(reading: Reading, tokenizer: Any, given: list[int] | None) -> None:
    """Take in the end ids and control tokens that a transformers object knows of."""
    if not hasattr(tokenizer, "eos_token_id") and hasattr(tokenizer, "tokenizer"):
        tokenizer = tokenizer.tokenizer
    reading.mark_control_ids(unique_ids(getattr(tokenizer, "all_special_ids", ())))
    if given is None:
        folder = _home(str(getattr(tokenizer, "name_or_path", None) or ""))
        given = [] if folder is None else folder_ends(folder)
    reading.ends = list(unique_ids([*end_ids_of(tokenizer), *reading.ends, *given]))


def _home(name: str) -> Path | None:
    """The folder that a tokenizer was loaded from: itself, or its place in the hub's cache.

    Only what is on this machine already is looked at, and only if the hub's client is loaded.
    """
    if not name or Path(name).is_dir():
        return Path(name) if name else None
    hub = sys.modules.get("huggingface_hub")
    for file in ("generation_config.json", "config.json"):
        try:
            found = hub.try_to_load_from_cache(name, file) if hub is not None else None
        except ValueError:  # not the name of a repository
            return None
        if isinstance(found, str):
            return Path(found).parent
    return None


def _read_backend(backend: Any) -> Reading:
    """Read a ``tokenizers.Tokenizer``, without the detour over its merges where possible."""
    model = backend.model
    if not hasattr(model, "unk_token"):  # Unigram: spellings may repeat, only the list has them all
        return read_document(json.loads(backend.to_str()))
    reading = read_model(
        backend.get_vocab(with_added_tokens=False),
        _decoder_spec(backend),
        suffix=getattr(model, "end_of_word_suffix", None),
    )
    _add_tokens(reading, backend.get_added_tokens_decoder())
    reading.mark_control(model.unk_token)
    return reading


def _decoder_spec(backend: Any) -> dict[str, Any] | None:
    if backend.decoder is None:
        return None
    try:
        spec = json.loads(backend.decoder.__getstate__())
    except Exception as error:  # a decoder written in Python has no description
        raise VocabularyError(f"the tokenizer's decoder cannot be inspected: {error}") from error
    return spec if isinstance(spec, dict) else None


def _add_tokens(reading: Reading, added: Mapping[int, Any]) -> None:
    for index, token in added.items():
        reading.add_token(index, str(token.content), bool(token.special))


def _tiktoken_inside(tokenizer: Any) -> Any:
    """The object that has the ranks: the tokenizer, or an encoding that it keeps."""
    if hasattr(tokenizer, "mergeable_ranks"):
        return tokenizer
    for name in ("tokenizer", "model", "encoder"):
        inner = getattr(tokenizer, name, None)
        if hasattr(inner, "_mergeable_ranks"):
            return inner
    return None


def _read_ranks(tokenizer: Any, encoding: Any) -> Reading:
    special = dict(getattr(tokenizer, "special_tokens", None) or {})
    if hasattr(encoding, "mergeable_ranks"):
        table = from_tiktoken(encoding.mergeable_ranks, special, end_ids=())
    else:
        table = from_tiktoken(encoding, special)
    reading = Reading(
        table.family,
        table.prefix_space,
        {index: data for index, data in enumerate(table.tokens) if data is not None},
        {name: index for index, name in table.names.items()},
        str.encode,
        dict(table.names),
        list(table.end_ids),
    )
    _add_tokens(reading, getattr(tokenizer, "added_tokens_decoder", {}))
    return reading


def _read_slow_pieces(tokenizer: Any) -> Reading:
    """Read a slow SentencePiece tokenizer: the file has the kinds, the tokenizer the ids."""
    file = str(getattr(tokenizer, "vocab_file", None) or "")
    if os.path.isfile(file):
        data = Path(file).read_bytes()
    elif hasattr(tokenizer, "sp_model"):
        data = bytes(tokenizer.sp_model.serialized_model_proto())
    else:
        raise VocabularyError(f"{type(tokenizer).__name__} has lost its file {file!r}")
    reading = read_pieces_reading(read_pieces(data), tokenizer.get_vocab())
    _add_tokens(reading, getattr(tokenizer, "added_tokens_decoder", {}))
    return reading


def _read_slow_byte_level(tokenizer: Any) -> Reading:
    standard = {character: byte for byte, character in enumerate(STAND_INS)}
    if dict(tokenizer.byte_decoder) != standard:
        raise VocabularyError(f"{type(tokenizer).__name__} has stand-ins for bytes of its own")
    added = getattr(tokenizer, "added_tokens_decoder", {})
    vocab = {text: index for text, index in tokenizer.get_vocab().items() if index not in added}
    reading = read_model(vocab, {"type": "ByteLevel"})
    _add_tokens(reading, added)
    return reading
