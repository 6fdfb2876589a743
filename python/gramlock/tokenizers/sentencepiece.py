"""SentencePiece models: pieces with a kind, out of the protocol-buffer file.

Only four things of the file matter: the pieces and their kinds, the name of the end piece, and
whether a text is given a leading space before it is cut (``▁``, U+2581, stands for a space). They
are read by hand, so the ``sentencepiece`` package is not needed.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..errors import VocabularyError
from .decoders import byte_of_piece
from .ranks import looks_like_ranks
from .table import TokenTable, assemble, control_ids

__all__ = ["Pieces", "from_sentencepiece", "read_pieces"]

NORMAL, UNKNOWN, CONTROL, USER_DEFINED, UNUSED, BYTE = range(1, 7)
_KINDS = (NORMAL, UNKNOWN, CONTROL, USER_DEFINED, UNUSED, BYTE)

# Field numbers of ModelProto, TrainerSpec and NormalizerSpec.
_MODEL_PIECE, _MODEL_TRAINER, _MODEL_NORMALIZER, _MODEL_DENORMALIZER = 1, 2, 3, 5
_TRAINER_SPACE_AS_SUFFIX, _TRAINER_END_PIECE = 24, 47
_NORMALIZER_CHARACTER_MAP, _NORMALIZER_DUMMY_PREFIX, _NORMALIZER_EXTRA_SPACES = 2, 3, 4


@dataclass(frozen=True)
class Pieces:
    """What a SentencePiece model file says.

    Attributes:
        texts: Spelling of each piece, by id.
        kinds: Kind of each piece: 1 normal, 2 unknown, 3 control, 4 user-defined, 5 unused, 6 byte.
        end_piece: Spelling of the piece that ends a text.
        prefix_space: Decoding drops a space at the start of a text.
    """

    texts: list[str]
    kinds: list[int]
    end_piece: str
    prefix_space: bool

    def bytes_of(self, index: int) -> bytes:
        """What piece *index* adds to a text; nothing if its kind is not one of text."""
        text, kind = self.texts[index], self.kinds[index]
        if kind == BYTE:
            byte = byte_of_piece(text)
            if byte is None:
                raise VocabularyError(f"piece {index} is a byte but is spelled {text!r}")
            return byte
        if kind in (NORMAL, USER_DEFINED):
            return text.replace("▁", " ").encode("utf-8")
        return b""

    def is_control(self, index: int) -> bool:
        """Whether piece *index* is a control token (the unknown piece is one)."""
        return self.kinds[index] in (UNKNOWN, CONTROL)


def from_sentencepiece(
    model: Any,
    *,
    size: int | None = None,
    end_ids: Iterable[int | str] | None = None,
    control: Iterable[int | str] = (),
) -> TokenTable:
    """Read a SentencePiece model.

    Args:
        model: The path of a ``.model`` file, its content as bytes, or a
            ``sentencepiece.SentencePieceProcessor``.
        size: Number of ids of the model's logits, if there are more than pieces.
        end_ids: Ids or spellings of the pieces that end a generation; by default the model's own
            end piece.
        control: Ids or spellings of further control tokens: user-defined pieces such as
            ``<start_of_turn>`` are text otherwise.

    Raises:
        VocabularyError: It is not such a model, or one whose decoding is not a concatenation.
    """
    pieces = read_pieces(_model_bytes(model))
    by_text = {text: index for index, text in enumerate(pieces.texts)}
    marked = {*control_ids(control, by_text)}
    names, texts = {}, {}
    for index, text in enumerate(pieces.texts):
        if index in marked or pieces.is_control(index):
            names[index] = text
        else:
            texts[index] = pieces.bytes_of(index)
    if end_ids is None:
        end = by_text.get(pieces.end_piece)
        end_ids = [end] if end is not None and pieces.kinds[end] == CONTROL else []
    return assemble(
        texts,
        names,
        family="sentencepiece",
        end_ids=control_ids(end_ids, by_text),
        size=len(pieces.texts) if size is None else size,
        prefix_space=pieces.prefix_space,
    )


def _model_bytes(model: Any) -> bytes:
    if isinstance(model, (bytes, bytearray)):
        return bytes(model)
    if hasattr(model, "serialized_model_proto"):
        return bytes(model.serialized_model_proto())
    if not isinstance(model, (str, os.PathLike)):
        raise VocabularyError(f"{type(model).__name__} is no SentencePiece model, path or bytes")
    try:
        data = Path(model).read_bytes()
    except OSError as error:
        raise VocabularyError(f"{Path(model).name}: {error.strerror or error}") from error
    if looks_like_ranks(data[:4096]):
        raise VocabularyError(f"{Path(model).name} holds ranks: read it with from_tiktoken")
    return data


def read_pieces(data: bytes) -> Pieces:
    """Read the content of a SentencePiece model file.

    Raises:
        VocabularyError: The content is not such a model, white space is a suffix of pieces, or the
            model rewrites text when it decodes.
    """
    texts: list[str] = []
    kinds: list[int] = []
    end_piece, dummy_prefix, extra_spaces = "</s>", True, True
    try:
        for number, value in _fields(data):
            if number == _MODEL_PIECE:
                text, kind = _piece(value)
                texts.append(text)
                kinds.append(kind)
            elif number == _MODEL_TRAINER:
                trainer = dict(_fields(value))
                end_piece = trainer.get(_TRAINER_END_PIECE, b"</s>").decode("utf-8")
                if trainer.get(_TRAINER_SPACE_AS_SUFFIX):
                    raise VocabularyError("the SentencePiece model puts white space behind words")
            elif number == _MODEL_NORMALIZER:
                normalizer = dict(_fields(value))
                dummy_prefix = bool(normalizer.get(_NORMALIZER_DUMMY_PREFIX, True))
                extra_spaces = bool(normalizer.get(_NORMALIZER_EXTRA_SPACES, True))
            elif number == _MODEL_DENORMALIZER and _rewrites(value):
                raise VocabularyError("the SentencePiece model rewrites text when it decodes")
    except (IndexError, AttributeError, TypeError, ValueError) as error:
        raise VocabularyError("not a SentencePiece model: its structure is damaged") from error
    if not texts:
        raise VocabularyError("not a SentencePiece model: it has no pieces")
    return Pieces(texts, kinds, end_piece, dummy_prefix or extra_spaces)


def _rewrites(denormalizer: bytes) -> bool:
    return bool(dict(_fields(denormalizer)).get(_NORMALIZER_CHARACTER_MAP))


def _piece(entry: bytes) -> tuple[str, int]:
    """One entry of the piece list: {1: spelling, 2: score, 3: kind}."""
    length = entry[1] if entry[0] == 0x0A else 128
    rest = entry[2 + length :]
    if length < 128 and len(rest) in (5, 7) and rest[0] == 0x15:  # as they are usually written
        if len(rest) == 5:
            return entry[2 : 2 + length].decode("utf-8"), NORMAL
        if rest[5] == 0x18 and rest[6] in _KINDS:
            return entry[2 : 2 + length].decode("utf-8"), rest[6]
    fields = dict(_fields(entry))
    kind = fields.get(3, NORMAL)
    if kind not in _KINDS:
        raise VocabularyError(f"the SentencePiece model has a piece of the unknown kind {kind!r}")
    return fields.get(1, b"").decode("utf-8"), kind


def _fields(data: bytes) -> Iterator[tuple[int, Any]]:
    """The fields of a protocol-buffer message: (number, integer or bytes), in file order."""
    at, end = 0, len(data)
    while at < end:
        key, at = _varint(data, at)
        wire = key & 7
        if wire == 0:
            value, at = _varint(data, at)
            yield key >> 3, value
            continue
        if wire == 2:
            length, at = _varint(data, at)
        elif wire in (1, 5):
            length = 8 if wire == 1 else 4
        else:
            raise ValueError(f"wire type {wire}")
        if at + length > end:
            raise ValueError("a field is cut off")
        yield key >> 3, data[at : at + length]
        at += length


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
        shift += 7
        if shift > 63:
            raise ValueError("a number is too long")
