"""The decoder of a ``tokenizer.json``, as a function on single tokens.

A decoder is a pipeline over the list of tokens of a text. Gramlock needs each token's bytes on
their own, so a pipeline is accepted only if it is a concatenation: what a token contributes must
not depend on its neighbours. The one exception is white space at the very start of a text, which
SentencePiece-like decoders drop and :attr:`TokenTable.prefix_space` reports. The stages:

==============  =================================================================================
``Replace``     a fixed string inside a token (``▁`` to a space), before the tokens are joined
``Metaspace``   the same, and drops the ``▁`` of the first token
``ByteFallback``  ``<0xNN>`` is one byte, any other token its UTF-8
``ByteLevel``   GPT-2's stand-ins
``Strip``       inside each token; after ``Fuse`` only one leading space, the SentencePiece prefix
``Fuse``        joins; what follows sees the whole text
==============  =================================================================================
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from ..errors import VocabularyError
from .byte_level import decode_byte_level

__all__ = ["TokenDecoder", "byte_of_piece", "read_decoder"]

_HEX = frozenset("0123456789abcdefABCDEF")


@dataclass
class TokenDecoder:
    """A decoder pipeline that has been found to be a concatenation.

    Attributes:
        family: ``"byte-level"``, ``"byte-fallback"`` or ``"literal"``.
        prefix_space: White space at the start of a whole text is dropped.
    """

    family: str = "literal"
    prefix_space: bool = False
    _edits: list[Callable[[str], str]] = field(default_factory=list)
    _fused: bool = False

    def decode(self, pieces: Sequence[str]) -> list[bytes]:
        """The bytes of each piece of the model's vocabulary."""
        for edit in self._edits:
            pieces = [edit(piece) for piece in pieces]
        try:
            if self.family == "byte-level":
                return decode_byte_level(pieces)
            decoded = [piece.encode("utf-8") for piece in pieces]
        except UnicodeEncodeError as error:
            raise VocabularyError(f"a token is not valid text: {error.object!r}") from None
        if self.family == "byte-fallback":
            _replace_byte_pieces(pieces, decoded)
        return decoded

    def decode_added(self, content: str) -> bytes:
        """The bytes of an added token, which holds literal text and no stand-ins."""
        if self.family != "byte-level":
            return self.decode([content])[0]
        for edit in self._edits:
            content = edit(content)
        return content.encode("utf-8")


def _replace_byte_pieces(pieces: Sequence[str], decoded: list[bytes]) -> None:
    for index, piece in enumerate(pieces):
        if piece.startswith("<0x") and len(piece) == 6:
            byte = byte_of_piece(piece)
            if byte is not None:
                decoded[index] = byte


def byte_of_piece(piece: str) -> bytes | None:
    """The byte that ``<0xNN>`` stands for, or None if *piece* is not of that form."""
    if len(piece) != 6 or not piece.startswith("<0x") or not piece.endswith(">"):
        return None
    digits = piece[3:5]
    return bytes([int(digits, 16)]) if _HEX.issuperset(digits) else None


def read_decoder(spec: dict[str, Any] | None) -> TokenDecoder:
    """Turn the ``decoder`` object of a ``tokenizer.json`` into a function on tokens.

    Raises:
        VocabularyError: The pipeline is not a concatenation of what single tokens contribute, or
            has a stage that is not known.
    """
    decoder = TokenDecoder()
    if spec is None:
        raise VocabularyError(
            "the tokenizer has no decoder: it puts a space between any two tokens"
        )
    for stage in _stages(spec):
        kind = str(stage.get("type"))
        if kind not in _STAGES:
            reason = _REASONS.get(kind, "")
            raise VocabularyError(f"decoder stage {kind!r} is not supported{reason}")
        _STAGES[kind](decoder, stage)
    return decoder


def _stages(spec: dict[str, Any]) -> list[dict[str, Any]]:
    pending, flat = [spec], []
    while pending:
        stage = pending.pop()
        if stage.get("type") == "Sequence":
            pending.extend(reversed(stage.get("decoders", [])))
        else:
            flat.append(stage)
    return flat


def _edit(decoder: TokenDecoder, name: str, edit: Callable[[str], str]) -> None:
    if decoder._fused or decoder.family != "literal":
        raise VocabularyError(
            f"decoder stage {name!r} edits the whole text: it comes after the tokens are joined"
        )
    decoder._edits.append(edit)


def _add_replace(decoder: TokenDecoder, stage: dict[str, Any]) -> None:
    pattern, content = stage.get("pattern"), stage.get("content")
    old = pattern.get("String") if isinstance(pattern, dict) else None
    if not isinstance(old, str) or not old or not isinstance(content, str):
        raise VocabularyError(
            f"decoder stage 'Replace' has the pattern {pattern!r}: only fixed strings work"
        )
    _edit(decoder, "Replace", lambda piece: piece.replace(old, content))


def _add_metaspace(decoder: TokenDecoder, stage: dict[str, Any]) -> None:
    mark = stage.get("replacement", "▁")
    scheme = stage.get("prepend_scheme") or (
        "always" if stage.get("add_prefix_space", True) else "never"
    )
    _edit(decoder, "Metaspace", lambda piece: piece.replace(mark, " "))
    decoder.prefix_space = decoder.prefix_space or scheme != "never"


def _add_strip(decoder: TokenDecoder, stage: dict[str, Any]) -> None:
    content, start, stop = stage.get("content"), stage.get("start", 0), stage.get("stop", 0)
    if decoder._fused:
        if (content, start, stop) != (" ", 1, 0):
            raise VocabularyError(
                f"decoder stage 'Strip' takes {start} and {stop} of {content!r} from the ends of"
                " the whole text: only one leading space is understood"
            )
        decoder.prefix_space = True
        return
    if not isinstance(content, str) or len(content) != 1:
        raise VocabularyError(f"decoder stage 'Strip' with the content {content!r}")
    _edit(decoder, "Strip", lambda piece: _strip(piece, content, start, stop))


def _strip(piece: str, content: str, start: int, stop: int) -> str:
    lead = len(piece) - len(piece.lstrip(content))
    piece = piece[min(lead, start) :]
    trail = len(piece) - len(piece.rstrip(content))
    return piece[: len(piece) - min(trail, stop)]


def _set_family(decoder: TokenDecoder, family: str, name: str) -> None:
    if decoder.family != "literal" or decoder._fused:
        raise VocabularyError(f"decoder stage {name!r} comes after the tokens are already bytes")
    decoder.family = family


def _add_byte_fallback(decoder: TokenDecoder, stage: dict[str, Any]) -> None:
    _set_family(decoder, "byte-fallback", "ByteFallback")


def _add_byte_level(decoder: TokenDecoder, stage: dict[str, Any]) -> None:
    _set_family(decoder, "byte-level", "ByteLevel")
    decoder._fused = True


def _add_fuse(decoder: TokenDecoder, stage: dict[str, Any]) -> None:
    decoder._fused = True


_STAGES: dict[str, Callable[[TokenDecoder, dict[str, Any]], None]] = {
    "Replace": _add_replace,
    "Metaspace": _add_metaspace,
    "Strip": _add_strip,
    "ByteFallback": _add_byte_fallback,
    "ByteLevel": _add_byte_level,
    "Fuse": _add_fuse,
}

_REASONS = {
    "WordPiece": ": a word's bytes depend on whether it comes first",
    "BPEDecoder": ": a word's last piece depends on whether more text follows",
    "CTC": ": repeated tokens collapse",
}
