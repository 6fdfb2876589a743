"""The result of reading a tokenizer: bytes by id, control tokens, end ids.

Three kinds of id are told apart. A *text* token appends its bytes to the output. A *control* token
(``<|im_end|>``, ``<s>``) has a name and a meaning but never stands for text, not even for the text
that spells its name. A *hole* is an id without a token: a gap in the numbering, padding up to the
width of the model's logits, or a token that would append nothing. Two text tokens may have the
same bytes; both keep their ids.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from ..errors import VocabularyError

__all__ = ["TokenTable", "assemble", "check_ids", "control_ids", "revise", "unique_ids"]

MOST_IDS = 1 << 24


@dataclass(frozen=True)
class TokenTable:
    """A tokenizer as the rest of the package sees it.

    Attributes:
        tokens: By id, the bytes a token appends to the output; None for control tokens and holes.
        end_ids: Ids that end a generation, without repeats; all of them are control tokens.
        special_ids: Ids of all control tokens.
        names: The text that a control token is known by, for every id in *special_ids*.
        prefix_space: Decoding a text drops white space at its very start (SentencePiece writes a
            space before the first word and takes it away again). The bytes in *tokens* keep it,
            so text that continues other text is exact; whoever decodes generated ids on their own
            loses it.
        family: Which kind of tokenizer this is, for reports: ``"byte-level"``, ``"byte-fallback"``,
            ``"literal"``, ``"ranks"``, ``"sentencepiece"``.
    """

    tokens: Sequence[bytes | None]
    end_ids: tuple[int, ...] = ()
    special_ids: frozenset[int] = frozenset()
    names: dict[int, str] = field(default_factory=dict)
    prefix_space: bool = False
    family: str = ""


def assemble(
    texts: Mapping[int, bytes],
    names: Mapping[int, str],
    *,
    family: str,
    end_ids: Iterable[int] = (),
    size: int | None = None,
    prefix_space: bool = False,
) -> TokenTable:
    """Build a table from the bytes of the text tokens and the names of the control tokens.

    Args:
        texts: Bytes by id. An id that is also in *names* is a control token.
        names: Names of control tokens by id.
        family: As in :class:`TokenTable`.
        end_ids: Ids that end a generation. One that is in *texts* becomes a control token.
        size: Number of ids, at least as many as text tokens need; None for just enough.
        prefix_space: As in :class:`TokenTable`.

    Raises:
        VocabularyError: There is no token, an id is negative, *size* cuts off a text token, or an
            end id is not an id of this vocabulary.
    """
    ends = unique_ids(end_ids)
    if not texts and not names:
        raise VocabularyError("the tokenizer has no tokens")
    if min(*texts, *names, 0) < 0:
        raise VocabularyError(f"token id {min(*texts, *names)} is negative")
    width = _width(texts, names, size)
    tokens: list[bytes | None] = [None] * width
    for index, data in texts.items():
        tokens[index] = data or None
    control = {index: name for index, name in names.items() if index < width}
    check_ids(ends, width)
    for index in ends:
        if index not in control:
            control[index] = (tokens[index] or b"").decode("utf-8", "replace") or f"<{index}>"
    for index in control:
        tokens[index] = None
    return TokenTable(tokens, ends, frozenset(control), control, prefix_space, family)


def revise(
    table: TokenTable, end_ids: Iterable[int | str], control: Iterable[int | str] = ()
) -> TokenTable:
    """The same table with other end ids and with more control tokens.

    Raises:
        VocabularyError: An id is not among the table's, or a text is not that of a control token.
    """
    ids = {name: index for index, name in table.names.items()}
    ends, names = control_ids(end_ids, ids), dict(table.names)
    texts = {index: data for index, data in enumerate(table.tokens) if data is not None}
    marked = control_ids(control, ids)
    check_ids(marked, len(table.tokens))
    for index in marked:
        names.setdefault(index, texts.get(index, b"").decode("utf-8", "replace") or f"<{index}>")
    return assemble(
        texts,
        names,
        family=table.family,
        end_ids=ends,
        size=len(table.tokens),
        prefix_space=table.prefix_space,
    )


def _width(texts: Mapping[int, bytes], names: Mapping[int, str], size: int | None) -> int:
    text_width = max((index for index in texts if index not in names), default=-1) + 1
    if size is None:
        return max(text_width, max(names, default=-1) + 1)
    if size > MOST_IDS:
        raise VocabularyError(f"size={size:,}, but at most {MOST_IDS:,} ids are supported")
    if size < text_width:
        raise VocabularyError(
            f"size={size:,} leaves out text tokens: the highest id of one is {text_width - 1:,}"
        )
    return size


def check_ids(indices: Iterable[int], width: int) -> None:
    """Raise a VocabularyError for an id that is not below *width*."""
    for index in indices:
        if not 0 <= index < width:
            raise VocabularyError(f"id {index} is not among the {width:,} ids of the tokenizer")


def unique_ids(ids: Iterable[int]) -> tuple[int, ...]:
    """The ids in order of first appearance, as plain integers."""
    return tuple(dict.fromkeys(int(index) for index in ids))


def control_ids(control: Iterable[str | int], ids_by_text: Mapping[str, int]) -> list[int]:
    """Resolve a caller's list of control tokens, given by id or by text.

    Raises:
        VocabularyError: A text is not the spelling of any token.
    """
    if isinstance(control, str):
        control = [control]
    found: list[int] = []
    for item in control:
        if not isinstance(item, str):
            found.append(int(item))
        elif item in ids_by_text:
            found.append(ids_by_text[item])
        else:
            raise VocabularyError(f"control token {item!r} is not in the tokenizer")
    return found
