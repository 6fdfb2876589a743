"""A HuggingFace tokenizer while it is being read: texts, control tokens and ends so far.

The sources (an object in memory, the files of a folder) differ in where they keep things and agree
in what they keep: a vocabulary that goes through a decoder, added tokens that hold literal text and
a flag that says whether they are control tokens, and the names of the end, padding and other
tokens.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from ..errors import VocabularyError
from .decoders import TokenDecoder, read_decoder
from .sentencepiece import Pieces
from .table import TokenTable, assemble, check_ids, control_ids, unique_ids

__all__ = ["Reading", "end_ids_of", "read_model", "read_pieces_reading"]


@dataclass
class Reading:
    """Everything known so far about one tokenizer.

    Attributes:
        family: As in :class:`~gramlock.tokenizers.TokenTable`.
        prefix_space: As in :class:`~gramlock.tokenizers.TokenTable`.
        texts: Bytes by id, of control tokens too.
        ids: Id by spelling.
        literal: The bytes of an added token, from its content.
        control: Names of control tokens by id.
        ends: Ids that end a generation.
    """

    family: str
    prefix_space: bool
    texts: dict[int, bytes]
    ids: dict[str, int]
    literal: Callable[[str], bytes]
    control: dict[int, str] = field(default_factory=dict)
    ends: list[int] = field(default_factory=list)

    def add_token(self, index: int, content: str, special: bool) -> None:
        """Take in an added token; it replaces whatever the vocabulary has at that id."""
        self.texts[index] = self.literal(content)
        self.ids[content] = index
        if special:
            self.control[index] = content

    def mark_control(self, content: str | None) -> int | None:
        """Make the token of that spelling a control token, if there is one; returns its id."""
        index = self.ids.get(content) if content else None
        if index is not None and content is not None:
            self.control[index] = content
        return index

    def mark_control_ids(self, indices: Iterable[int]) -> None:
        """Make these ids control tokens; they are named by their spelling."""
        missing = [index for index in indices if index not in self.control]
        if missing:
            spelling = {index: content for content, index in self.ids.items()}
            self.control.update({index: spelling.get(index, f"<{index}>") for index in missing})

    def table(
        self,
        *,
        size: int | None,
        end_ids: Iterable[int | str] | None,
        control: Iterable[int | str],
    ) -> TokenTable:
        """Close the reading; *end_ids* replaces the ends found, *control* adds control tokens."""
        ends = self.ends if end_ids is None else control_ids(end_ids, self.ids)
        marked = unique_ids([*ends, *control_ids(control, self.ids)])
        known = max(max(ids, default=-1) for ids in (self.texts, self.control, self.ids.values()))
        check_ids(marked, max(size or 0, known + 1))
        self.mark_control_ids(marked)
        return assemble(
            self.texts,
            self.control,
            family=self.family,
            end_ids=ends,
            size=size,
            prefix_space=self.prefix_space,
        )


def read_model(
    vocab: Mapping[str, int] | Iterable[tuple[str, int]],
    decoder: Mapping[str, Any] | None,
    *,
    suffix: str | None = None,
) -> Reading:
    """Begin a reading with a model's vocabulary and the decoder of its pipeline.

    Args:
        vocab: Spelling and id of each token of the model.
        decoder: The ``decoder`` object of a ``tokenizer.json``.
        suffix: The mark that the model puts at the end of words, if it has one.

    Raises:
        VocabularyError: The decoder is not a concatenation, or words have an end mark.
    """
    if suffix:
        raise VocabularyError(f"words end in the mark {suffix!r}, which decodes to white space")
    token_decoder: TokenDecoder = read_decoder(None if decoder is None else dict(decoder))
    pairs = vocab.items() if isinstance(vocab, Mapping) else list(vocab)
    decoded = token_decoder.decode([spelling for spelling, _ in pairs])
    texts = {index: data for (_, index), data in zip(pairs, decoded, strict=True)}
    ids = dict(pairs)
    for spelling, index in pairs:
        if spelling.startswith("[PAD") and spelling == f"[PAD{index}]":
            del texts[index]  # a row of the embedding without a token, named by its number
    return Reading(
        token_decoder.family, token_decoder.prefix_space, texts, ids, token_decoder.decode_added
    )


def read_pieces_reading(pieces: Pieces, ids: Mapping[str, int] | None = None) -> Reading:
    """Begin a reading with a SentencePiece model, whose ids are its own or those of *ids*."""
    spellings = pieces.texts
    own = {spelling: index for index, spelling in enumerate(spellings)}
    if ids is None:
        numbered = list(enumerate(range(len(spellings))))
    else:
        numbered = [(own[spelling], index) for spelling, index in ids.items() if spelling in own]
    texts = {index: pieces.bytes_of(piece) for piece, index in numbered}
    control = {index: spellings[piece] for piece, index in numbered if pieces.is_control(piece)}
    reading = Reading(
        "sentencepiece",
        pieces.prefix_space,
        texts,
        dict(own if ids is None else ids),
        lambda content: content.replace("▁", " ").encode("utf-8"),
        control,
    )
    end = reading.ids.get(pieces.end_piece)
    if end in control:
        reading.ends.append(end)
    return reading


def end_ids_of(config: Any) -> list[int]:
    """The end ids in a generation config: an object or a mapping with ``eos_token_id``."""
    if isinstance(config, Mapping):
        ends = config.get("eos_token_id")
    else:
        ends = getattr(config, "eos_token_id", None)
    if ends is None:
        return []
    return list(unique_ids(ends if isinstance(ends, Iterable) else [ends]))
