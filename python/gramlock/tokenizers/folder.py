"""Tokenizer files as a model folder holds them, read with the standard library alone.

``tokenizer.json`` is the whole tokenizer; the files beside it add to it:

* ``tokenizer_config.json`` (and ``special_tokens_map.json``, ``added_tokens.json``) names the end,
  padding and other control tokens, and has added tokens with their flags;
* ``generation_config.json``, or ``config.json`` where there is none, has further end ids.

A folder without ``tokenizer.json`` is read from Mistral's ``tekken.json``, from a rank file, or
from a SentencePiece ``tokenizer.model`` whose ids are the tokenizer's own.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from ..errors import VocabularyError
from .ranks import from_tekken, from_tiktoken, looks_like_ranks
from .reading import Reading, end_ids_of, read_model, read_pieces_reading
from .sentencepiece import read_pieces
from .table import TokenTable, revise, unique_ids

__all__ = ["folder_ends", "from_folder", "read_document"]

_NAMED = [f"{role}_token" for role in ("bos", "eos", "unk", "sep", "pad", "cls", "mask")]
_LISTED = ("additional_special_tokens", "extra_special_tokens")
# Classes that number their tokens as the SentencePiece file does, and then the added ones.
_SAME_IDS = ("Llama", "CodeLlama", "Gemma", "Mistral", "InternLM", "Baichuan", "PreTrained", "")


def from_folder(
    path: Path,
    *,
    size: int | None,
    end_ids: Iterable[int | str] | None,
    generation_ends: Iterable[int] | None,
    control: Iterable[int | str],
) -> TokenTable:
    """Read a model folder, or one tokenizer file (its neighbours are read as well).

    Args:
        path: A folder, or a ``tokenizer.json``, ``tekken.json``, rank file or ``.model``.
        size: As in :func:`gramlock.tokenizers.from_huggingface`.
        end_ids: Likewise.
        generation_ends: End ids to use instead of those of the folder's generation config.
        control: As in :func:`gramlock.tokenizers.from_huggingface`.

    Raises:
        VocabularyError: There is no tokenizer that is understood.
    """
    file = _tokenizer_file(path)
    more_ends = folder_ends(file.parent) if generation_ends is None else list(generation_ends)
    if file.name != "tokenizer.json" and file.suffix != ".model" and _is_tekken_or_ranks(file):
        table = (from_tekken if file.suffix == ".json" else from_tiktoken)(file, size=size)
        ends = [*table.end_ids, *more_ends] if end_ids is None else end_ids
        return revise(table, ends, control)
    reading = _read_pieces_file(file) if file.suffix == ".model" else _read_json_file(file)
    _read_neighbours(reading, file.parent)
    reading.ends.extend(more_ends)
    return reading.table(size=size, end_ids=end_ids, control=control)


def _tokenizer_file(path: Path) -> Path:
    if path.is_file():
        return path
    if not path.is_dir():
        raise VocabularyError(f"{path}: there is no such file or folder")
    for name in ("tokenizer.json", "tekken.json", "tokenizer.model"):
        if (path / name).is_file():
            return path / name
    ranks = sorted(path.glob("*.tiktoken"))
    if len(ranks) == 1:
        return ranks[0]
    raise VocabularyError(
        f"{path} has no tokenizer.json, tekken.json, tokenizer.model or .tiktoken file"
        " (a tokenizer that transformers can load writes one with save_pretrained)"
    )


def _is_tekken_or_ranks(file: Path) -> bool:
    if file.suffix == ".json":
        return "default_num_special_tokens" in _json(file).get("config", {})
    return True


def _json(path: Path) -> dict[str, Any]:
    try:
        document = json.loads(path.read_bytes())
    except OSError as error:
        raise VocabularyError(f"{path.name}: {error.strerror or error}") from error
    except ValueError as error:
        raise VocabularyError(f"{path.name} is not JSON: {error}") from error
    if not isinstance(document, dict):
        raise VocabularyError(f"{path.name} is not a JSON object")
    return document


def _json_if_present(path: Path) -> dict[str, Any]:
    return _json(path) if path.is_file() else {}


def folder_ends(folder: Path) -> list[int]:
    """End ids of the generation config in *folder*, or of the model's config if it has none."""
    ends = end_ids_of(_json_if_present(folder / "generation_config.json"))
    if ends:
        return ends
    config = _json_if_present(folder / "config.json")
    return end_ids_of(config) or end_ids_of(config.get("text_config"))


def _read_json_file(file: Path) -> Reading:
    return read_document(_json(file))


def read_document(document: Mapping[str, Any]) -> Reading:
    """Read the content of a ``tokenizer.json``.

    Raises:
        VocabularyError: It has another structure, or a decoder that is not a concatenation.
    """
    try:
        model = document["model"]
        vocab = model["vocab"]
        if isinstance(vocab, Mapping):
            pairs: Any = vocab
            unknown = model.get("unk_token")
        else:  # Unigram: a list of (spelling, score)
            pairs = [(entry[0], index) for index, entry in enumerate(vocab)]
            unknown = None if model.get("unk_id") is None else vocab[model["unk_id"]][0]
        reading = read_model(pairs, document.get("decoder"), suffix=model.get("end_of_word_suffix"))
        for token in document.get("added_tokens") or ():
            reading.add_token(token["id"], token["content"], bool(token.get("special")))
    except (KeyError, TypeError, IndexError, AttributeError) as error:
        raise VocabularyError(f"not the structure of a tokenizer.json: {error!r}") from error
    reading.mark_control(unknown)
    return reading


def _read_pieces_file(file: Path) -> Reading:
    data = file.read_bytes()
    if looks_like_ranks(data[:4096]):
        raise VocabularyError(
            f"{file.name} holds tiktoken ranks, which say nothing of control tokens:"
            " read it with from_tiktoken and name them"
        )
    name = _json_if_present(file.parent / "tokenizer_config.json").get("tokenizer_class") or ""
    family = name.removesuffix("Fast").removesuffix("Tokenizer")
    if family not in _SAME_IDS:
        raise VocabularyError(
            f"{name} may number its tokens unlike {file.name}: save it with its tokenizer.json"
        )
    return read_pieces_reading(read_pieces(data))


def _read_neighbours(reading: Reading, folder: Path) -> None:
    """Take in added tokens and control tokens from the files beside the tokenizer."""
    config = _json_if_present(folder / "tokenizer_config.json")
    named = _json_if_present(folder / "special_tokens_map.json")
    known = set(reading.ids)
    for added, index in _json_if_present(folder / "added_tokens.json").items():
        if added not in known:
            reading.add_token(int(index), added, False)
    for index, token in (config.get("added_tokens_decoder") or {}).items():
        added, special = token["content"], bool(token.get("special"))
        if added not in known:
            reading.add_token(int(index), added, special)
        elif special:
            reading.mark_control(added)
    for source in (named, config):
        for content in _control_contents(source):
            reading.mark_control(content)
    end = reading.mark_control(_content(config.get("eos_token") or named.get("eos_token")))
    if end is not None:
        reading.ends = list(unique_ids([end, *reading.ends]))


def _control_contents(source: Mapping[str, Any]) -> Iterable[str | None]:
    for key in _NAMED:
        yield _content(source.get(key))
    for key in _LISTED:
        listed = source.get(key) or ()
        for token in listed.values() if isinstance(listed, Mapping) else listed:
            yield _content(token)


def _content(token: Any) -> str | None:
    """The spelling of a token that is given as text or as an object with ``content``."""
    if isinstance(token, Mapping):
        token = token.get("content")
    return token if isinstance(token, str) else None
