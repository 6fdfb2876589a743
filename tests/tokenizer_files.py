"""File formats that the test tokenizers come in, and how to write a ``tokenizer.json``.

Everything here works from the published description of a format, with the standard library, so that
what the readers of the package say can be compared with something.
"""

from __future__ import annotations

import base64
import json
import struct
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, BinaryIO

GPT2_STAND_INS = {
    byte: chr(byte) if 33 <= byte <= 126 or (161 <= byte <= 255 and byte != 173) else ""
    for byte in range(256)
}
for _number, _byte in enumerate(byte for byte in range(256) if not GPT2_STAND_INS[byte]):
    GPT2_STAND_INS[_byte] = chr(256 + _number)

_LETTERS = r"[^\r\n\p{L}\p{N}]?\p{L}+"
_REST = r"\s*[\r\n]+|\s+(?!\S)|\s+"
_CONTRACTIONS = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)"
_UPPER, _LOWER = r"\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}", r"\p{Ll}\p{Lm}\p{Lo}\p{M}"
_START = r"[^\r\n\p{L}\p{N}]?"

CL100K_SPLIT = rf"{_CONTRACTIONS}|{_LETTERS}|\p{{N}}{{1,3}}| ?[^\s\p{{L}}\p{{N}}]+[\r\n]*|{_REST}"
QWEN_SPLIT = CL100K_SPLIT.replace(r"\p{N}{1,3}", r"\p{N}")
O200K_SPLIT = (
    rf"{_START}[{_UPPER}]*[{_LOWER}]+{_CONTRACTIONS}?|{_START}[{_UPPER}]+[{_LOWER}]*{_CONTRACTIONS}?"
    rf"|\p{{N}}{{1,3}}| ?[^\s\p{{L}}\p{{N}}]+[\r\n/]*|{_REST}"
)


def stand_ins(data: bytes) -> str:
    """A token as byte-level BPE spells it."""
    return "".join(GPT2_STAND_INS[byte] for byte in data)


# ---- reading


def packed_ranks(data: bytes) -> dict[bytes, int]:
    """A count, then per token: length (16 bits), the bytes, id (32 bits)."""
    ranks, at = {}, 4
    for _ in range(struct.unpack_from("<I", data)[0]):
        end = at + 2 + int.from_bytes(data[at : at + 2], "little")
        ranks[data[at + 2 : end]] = int.from_bytes(data[end : end + 4], "little")
        at = end + 4
    return ranks


def packed_names(data: bytes) -> dict[str, int]:
    """A count, then per control token: id (32 bits), length (16 bits), the text."""
    names, at = {}, 4
    for _ in range(struct.unpack_from("<I", data)[0]):
        index, length = struct.unpack_from("<IH", data, at)
        names[data[at + 6 : at + 6 + length].decode()] = index
        at += 6 + length
    return names


def rank_lines(data: bytes) -> dict[bytes, int]:
    """A rank file: base64 of the token, a space, its rank."""
    pairs = (line.split() for line in data.splitlines())
    return {base64.b64decode(text): int(rank) for text, rank in pairs}


def sentencepiece_pieces(data: bytes) -> list[tuple[str, float, int]]:
    """Spelling, score and kind of the pieces of a SentencePiece model, in order of their ids."""
    pieces, at = [], 0
    while at < len(data):
        tag, length, at = data[at], data[at + 1], at + 2
        shift = 7
        while length >> shift:  # the length continues in further bytes
            length = length - (1 << shift) + (data[at] << shift)
            shift, at = shift + 7, at + 1
        if tag == 0x0A:
            entry = data[at : at + length]
            text, score = entry[2 : 2 + entry[1]], entry[3 + entry[1] : 7 + entry[1]]
            kind = entry[-1] if entry[-2:-1] == b"\x18" and len(entry) == 9 + len(text) else 1
            pieces.append((text.decode(), struct.unpack("<f", score)[0], kind))
        at += length
    return pieces


_GGUF_NUMBERS = dict(enumerate("BbHhIif?")) | {10: "Q", 11: "q", 12: "d"}


def gguf_metadata(file: BinaryIO) -> dict[str, Any]:
    """The key-value section at the start of a GGUF model file."""

    def number(code: str) -> Any:
        return struct.unpack("<" + code, file.read(struct.calcsize(code)))[0]

    def value(kind: int) -> Any:
        if kind == 8:
            return file.read(number("Q")).decode("utf-8")
        if kind == 9:
            item, count = number("I"), number("Q")
            return [value(item) for _ in range(count)]
        return number(_GGUF_NUMBERS[kind])

    if file.read(4) != b"GGUF" or number("I") not in (2, 3):
        raise ValueError("not a GGUF file of version 2 or 3")
    number("Q")  # tensors
    count = number("Q")
    metadata = {}
    for _ in range(count):
        key = value(8)
        metadata[key] = value(number("I"))
    return metadata


# ---- writing


def write_folder(
    folder: Path,
    model: Mapping[str, Any],
    *,
    added: Iterable[tuple[int, str, bool]],
    split: Sequence[Mapping[str, Any]] = (),
    end: str | None = None,
    pipeline: Mapping[str, Any] | None = None,
    config: Mapping[str, Any] | None = None,
) -> None:
    """Write ``tokenizer.json`` and ``tokenizer_config.json``.

    Args:
        folder: Where to; it exists.
        model: The ``model`` object.
        added: Id, text and special flag of each added token.
        split: Pre-tokenizers of a byte-level tokenizer, before the one that maps bytes.
        end: The end token.
        pipeline: Normalizer, pre-tokenizer and decoder; by default those of byte-level BPE.
        config: More for ``tokenizer_config.json``.
    """
    byte_level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True}
    byte_level["use_regex"] = all(stage["type"] != "Split" for stage in split)
    document = {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [_added(*token) for token in sorted(added)],
        "normalizer": None,
        "pre_tokenizer": {"type": "Sequence", "pretokenizers": [*split, byte_level]},
        "post_processor": None,
        "decoder": byte_level,
        "model": dict(model),
        **(pipeline or {}),
    }
    settings = {"tokenizer_class": "PreTrainedTokenizerFast", **(config or {})}
    settings["clean_up_tokenization_spaces"] = False
    if end is not None:
        settings["eos_token"] = end
    _write(folder / "tokenizer.json", document)
    _write(folder / "tokenizer_config.json", settings)


def _added(index: int, content: str, special: bool) -> dict[str, Any]:
    flags = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False}
    return {"id": index, "content": content, **flags, "special": special}


def _write(path: Path, document: object) -> None:
    path.write_text(json.dumps(document, ensure_ascii=False), encoding="utf-8")


def bpe_model(vocab: Mapping[str, int], merges: list[list[str]], **flags: Any) -> dict[str, Any]:
    """The ``model`` object of a BPE tokenizer."""
    flags = {"dropout": None, "unk_token": None, "fuse_unk": False, "byte_fallback": False} | flags
    return {"type": "BPE", **flags, "vocab": dict(vocab), "merges": merges}


def write_ranks(
    folder: Path, ranks: Mapping[bytes, int], names: Mapping[str, int], split: str, end: str
) -> None:
    """Write ranks as byte-level BPE: every way to split a token into two is a merge."""
    merges = []
    for token, _ in sorted(ranks.items(), key=lambda pair: pair[1]):
        halves = [(token[:cut], token[cut:]) for cut in range(1, len(token))]
        known = [pair for pair in halves if pair[0] in ranks and pair[1] in ranks]
        known.sort(key=lambda pair: (ranks[pair[0]], ranks[pair[1]]))
        merges += [[stand_ins(left), stand_ins(right)] for left, right in known]
    vocab = {stand_ins(token): index for token, index in ranks.items()}
    vocab |= names  # or the library would number them on from the last rank
    pattern = {"type": "Split", "pattern": {"Regex": split}, "behavior": "Isolated"}
    write_folder(
        folder,
        bpe_model(vocab, merges, ignore_merges=True),
        added=[(index, name, True) for name, index in names.items()],
        split=[{**pattern, "invert": False}],
        end=end,
    )


def write_pieces(folder: Path, pieces: list[tuple[str, float, int]], end: str) -> None:
    """Write a SentencePiece BPE model (spelling, score, kind): merges in order of score."""
    vocab = {spelling: index for index, (spelling, _, _) in enumerate(pieces)}
    scores = {spelling: score for spelling, score, kind in pieces if kind == 1}
    merges = []
    for token in sorted(scores, key=lambda spelling: -scores[spelling]):
        halves = [[token[:cut], token[cut:]] for cut in range(1, len(token))]
        known = [pair for pair in halves if pair[0] in scores and pair[1] in scores]
        merges += sorted(known, key=lambda pair: (vocab[pair[0]], vocab[pair[1]]))
    space = {"type": "Replace", "pattern": {"String": " "}, "content": "▁"}
    prefix = {"type": "Prepend", "prepend": "▁"}
    back = {"type": "Replace", "pattern": {"String": "▁"}, "content": " "}
    strip = {"type": "Strip", "content": " ", "start": 1, "stop": 0}
    stages = [back, {"type": "ByteFallback"}, {"type": "Fuse"}, strip]
    write_folder(
        folder,
        bpe_model(vocab, merges, unk_token="<unk>", fuse_unk=True, byte_fallback=True),
        added=[(vocab[text], text, True) for text, _, kind in pieces if kind in (2, 3)],
        end=end,
        pipeline={
            "normalizer": {"type": "Sequence", "normalizers": [prefix, space]},
            "pre_tokenizer": None,
            "decoder": {"type": "Sequence", "decoders": stages},
        },
        config={"unk_token": "<unk>", "bos_token": "<s>"},
    )


def write_gguf(folder: Path, metadata: Mapping[str, Any]) -> None:
    """Write the byte-level tokenizer of a GGUF file; digits are split one by one (SmolLM2)."""
    tokens, kinds = metadata["tokenizer.ggml.tokens"], metadata["tokenizer.ggml.token_type"]
    special = [index for index, kind in enumerate(kinds) if kind == 3]
    config = {"chat_template": metadata["tokenizer.chat_template"]}
    write_folder(
        folder,
        bpe_model(
            {text: index for index, text in enumerate(tokens)},
            [line.split(" ") for line in metadata["tokenizer.ggml.merges"]],
        ),
        added=[(index, tokens[index], True) for index in special],
        split=[{"type": "Digits", "individual_digits": True}],
        end=tokens[metadata["tokenizer.ggml.eos_token_id"]],
        config=config,
    )
