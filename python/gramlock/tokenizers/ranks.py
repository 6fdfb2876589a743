"""Tokenizers given as ranks: raw bytes in order of merging, and control tokens beside them.

That is what tiktoken has in memory, what ``.tiktoken`` files (and Llama 3's ``tokenizer.model``)
hold one line a token, and what Mistral's ``tekken.json`` holds behind a block of control tokens.
"""

from __future__ import annotations

import base64
import binascii
import json
import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from ..errors import VocabularyError
from .table import TokenTable, assemble, control_ids

__all__ = ["from_tekken", "from_tiktoken", "looks_like_ranks", "read_ranks"]

# Control tokens of the first tekken files, which do not list them. The format fixes their ids.
_TEKKEN_CONTROL = [
    *("<unk>", "<s>", "</s>", "[INST]", "[/INST]", "[AVAILABLE_TOOLS]", "[/AVAILABLE_TOOLS]"),
    *("[TOOL_RESULTS]", "[/TOOL_RESULTS]", "[TOOL_CALLS]", "[IMG]", "<pad>", "[IMG_BREAK]"),
    *("[IMG_END]", "[PREFIX]", "[MIDDLE]", "[SUFFIX]", "[SYSTEM_PROMPT]", "[/SYSTEM_PROMPT]"),
    "[TOOL_CONTENT]",
]
_TEKKEN_END = "</s>"


def from_tiktoken(
    encoding: Any,
    special_tokens: Mapping[str, int] | Sequence[str] | None = None,
    *,
    size: int | None = None,
    end_ids: Iterable[int | str] | None = None,
) -> TokenTable:
    """Read a tiktoken encoding, a rank file, a dictionary of ranks, or a ``tekken.json``.

    Args:
        encoding: A ``tiktoken.Encoding``; a mapping from bytes to id; or the path of a rank file
            (``base64(token) rank`` per line) or of a ``tekken.json``.
        special_tokens: Control tokens by text, or a list of them that is numbered upwards from the
            first id after the ranks. They are added to those of an encoding.
        size: Number of ids of the model's logits, if there are more than tokens.
        end_ids: Ids or texts of the control tokens that end a generation. By default an encoding's
            ``<|endoftext|>`` and a tekken file's ``</s>``; a rank file has none.

    Raises:
        VocabularyError: It is none of these, or the file is damaged.

    >>> from_tiktoken({b"a": 0, b"b": 1}, {"<|end|>": 3}, end_ids=["<|end|>"]).tokens
    [b'a', b'b', None, None]
    """
    names: dict[str, int] = {}
    ends: Iterable[int | str] = ()
    if hasattr(encoding, "_mergeable_ranks"):
        ranks: Mapping[bytes, int] = encoding._mergeable_ranks
        names.update(getattr(encoding, "_special_tokens", {}))
        ends = [names["<|endoftext|>"]] if "<|endoftext|>" in names else []
    elif isinstance(encoding, Mapping):
        ranks = encoding
    elif isinstance(encoding, (str, os.PathLike)):
        path = Path(encoding)
        if _is_json(path):
            return from_tekken(path, size=size, end_ids=end_ids)
        ranks = read_ranks(path)
    else:
        raise VocabularyError(f"{type(encoding).__name__} is no tiktoken encoding, path or mapping")
    texts = _texts(ranks)
    names.update(_numbered(special_tokens, max(texts, default=-1) + 1))
    return assemble(
        texts,
        {index: name for name, index in names.items()},
        family="ranks",
        end_ids=control_ids(ends if end_ids is None else end_ids, names),
        size=size,
    )


def _texts(ranks: Mapping[bytes, int]) -> dict[int, bytes]:
    texts: dict[int, bytes] = {index: data for data, index in ranks.items()}
    for data in texts.values():
        if not isinstance(data, bytes):
            raise VocabularyError(f"ranks must be given for bytes, not for {data!r}")
    return texts


def _numbered(special: Mapping[str, int] | Sequence[str] | None, start: int) -> dict[str, int]:
    if special is None:
        return {}
    if isinstance(special, Mapping):
        return dict(special)
    return {name: start + offset for offset, name in enumerate(special)}


def _is_json(path: Path) -> bool:
    try:
        with path.open("rb") as file:
            return file.read(64).lstrip()[:1] == b"{"
    except OSError as error:
        raise VocabularyError(f"{path.name}: {error.strerror or error}") from error


def looks_like_ranks(head: bytes) -> bool:
    """Whether a file that begins with *head* is a rank file (it holds at least one whole line)."""
    fields = head.split(b"\n", 1)[0].split()
    return len(fields) == 2 and fields[1].isdigit() and fields[0].isascii()


def read_ranks(path: Path) -> dict[bytes, int]:
    """Read a rank file: one ``base64(token) rank`` per line.

    Raises:
        VocabularyError: A line is not of that form; the message has its number.
    """
    try:
        lines = path.read_bytes().splitlines()
    except OSError as error:
        raise VocabularyError(f"{path.name}: {error.strerror or error}") from error
    ranks: dict[bytes, int] = {}
    for number, line in enumerate(lines, 1):
        text, _, rank = line.partition(b" ")
        try:
            if line:
                ranks[binascii.a2b_base64(text)] = int(rank)
        except ValueError as error:
            raise VocabularyError(f"{path.name}, line {number}: not a token and rank") from error
    return ranks


def from_tekken(
    path: Path, *, size: int | None = None, end_ids: Iterable[int | str] | None = None
) -> TokenTable:
    """Read Mistral's ``tekken.json``: control tokens first, then ranks shifted by their number.

    The file may hold more ranks than the model has rows; those are not tokens.

    Raises:
        VocabularyError: The file has another structure.
    """
    try:
        document = json.loads(path.read_bytes())
        config = document["config"]
        control = int(config["default_num_special_tokens"])
        kept = int(config["default_vocab_size"]) - control
        texts = {
            entry["rank"] + control: base64.b64decode(entry["token_bytes"])
            for entry in document["vocab"]
            if entry["rank"] < kept
        }
        names = {index: f"<SPECIAL_{index}>" for index in range(control)}
        listed = document.get("special_tokens")
        if listed is None:
            names.update(enumerate(_TEKKEN_CONTROL[:control]))
        else:
            names.update({entry["rank"]: entry["token_str"] for entry in listed})
    except OSError as error:
        raise VocabularyError(f"{path.name}: {error.strerror or error}") from error
    except (KeyError, TypeError, ValueError) as error:
        raise VocabularyError(f"{path.name} is not a tekken file: {error!r}") from error
    by_text = {name: index for index, name in names.items()}
    default = [by_text[_TEKKEN_END]] if _TEKKEN_END in by_text else []
    ends = control_ids(default if end_ids is None else end_ids, by_text)
    return assemble(texts, names, family="ranks", end_ids=ends, size=size)
