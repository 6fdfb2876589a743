"""Random sentences of a grammar, byte by byte.

What may come next is read off a mask over the 256 bytes. A walk that follows them blindly may
never end, so past a soft limit bytes that tend to close things are preferred.
"""

from __future__ import annotations

import contextlib
import random
import string
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from ._core import GrammarHandle
from ._matching import MatcherHandle
from .errors import LimitError

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

__all__ = ["listed_texts", "sample"]

#: Bytes outside of strings in the order in which they tend to finish a text; in an indented one a
#: bracket follows a line break.
_CLOSING = b'}]):\n,0123456789nulltruefalse"'
_RANK = {byte: rank for rank, byte in reversed(list(enumerate(_CLOSING)))}
_RANK |= dict.fromkeys(b"0123456789", _RANK[ord("0")])  # always the same one may never end
_STOP_SHARE = 0.25
#: How often a late byte is drawn freely, so that no preference (digits for ever) traps the walk.
_FREE_SHARE = 0.1
#: What patterns mostly ask for, and how often it is drawn inside a string that cannot end yet.
_PLAIN = [
    frozenset(kind.encode())
    for kind in (string.digits, string.ascii_lowercase, string.ascii_uppercase, "-_./:@")
]
_PLAIN_SHARE = 0.7
#: Terminals of so few texts are listed, and so many texts in all, if they start like a value.
_FEW, _LISTED = 8, 256
_VALUES = [bytes([byte]) for byte in b'"-0123456789tfn']
#: Listed texts that are tried where a container cannot be closed: how many, at most.
_TRIES = 24


def sample(
    matcher: MatcherHandle,
    first: int,
    generator: random.Random,
    soft_limit: int,
    hard_limit: int,
    listed: Callable[[], Sequence[bytes]],
) -> bytes:
    """A sentence from *matcher*, whose byte *b* is token ``first + b``.

    Args:
        matcher: At its start.
        first: Token of the byte 0.
        generator: What draws.
        soft_limit: Bytes from which on it hurries.
        hard_limit: Bytes that are too many.
        listed: Texts that may be needed before an end: names and constants. Asked for once, late.

    Raises:
        LimitError: It did not end within *hard_limit* bytes.
    """
    import numpy as np

    mask = np.zeros((first + 256 + 31) // 32, dtype=np.int32)
    out = bytearray()
    steps = 0
    quotes = _Quotes()
    texts: Sequence[bytes] | None = None
    while True:
        late = len(out) >= soft_limit
        matcher.fill(mask, 0)
        allowed = np.flatnonzero(np.unpackbits(mask.view(np.uint8), bitorder="little"))
        if matcher.can_end() and (not len(allowed) or late or generator.random() < _STOP_SHARE):
            return bytes(out)
        if steps >= hard_limit:
            raise LimitError("sample_bytes", steps + 1, hard_limit)
        if late and generator.random() >= _FREE_SHARE:
            inside = quotes.inside(out)
            if not inside and not _closes(allowed, first):
                texts = listed() if texts is None else texts
                text = _needed(matcher, texts, generator)
                if text:
                    matcher.accept_bytes(text)
                    out += text
                    steps += len(text)
                    continue
            choose = _ending if inside else _closing
            token = choose(allowed, first, generator)
        else:
            token = _weighted(allowed, first, generator)
        matcher.accept_token(token)
        steps += 1
        if token >= first:
            out.append(token - first)


def listed_texts(grammar: GrammarHandle) -> list[bytes]:
    """Names that objects declare, and the texts of terminals that have only a few.

    Cost: that of a dump, and some microseconds a terminal.
    """
    items: dict[int, None] = {}
    for kind, *rest in grammar.dump()["nodes"].values():
        if kind == "container" and rest[0] == "object":
            items.update((key, None) for key, _, _ in rest[2])
        elif kind == "terminal":
            items[rest[0]] = None
    found: dict[bytes, None] = {}
    for item in items:
        if len(found) >= _LISTED:
            break
        with contextlib.suppress(LimitError):  # then it has many
            texts = grammar.expressions.members(item, _FEW) or ()
            found.update((text, None) for text in texts if text[:1] in _VALUES)
    return list(found)[:_LISTED]


class _Quotes:
    """Follows a growing JSON text and tells whether it stops inside a string."""

    def __init__(self) -> None:
        self._seen = 0
        self._inside = self._escaped = False

    def inside(self, text: bytearray) -> bool:
        for byte in text[self._seen :]:
            if self._escaped:
                self._escaped = False
            elif self._inside and byte == 0x5C:
                self._escaped = True
            elif byte == 0x22:
                self._inside = not self._inside
        self._seen = len(text)
        return self._inside


def _closes(allowed: npt.NDArray[np.intp], first: int) -> bool:
    """Whether a container may be closed, or a value has to go on."""
    wanted = set(b"}],:")
    return any(token - first in wanted for token in allowed.tolist())


def _needed(
    matcher: MatcherHandle, texts: Sequence[bytes], generator: random.Random
) -> bytes | None:
    """One of *texts* that may come next, or None."""
    for text in generator.sample(texts, min(len(texts), _TRIES)):
        if text and matcher.fork().accept_bytes(text):
            return text
    return None


def _weighted(allowed: npt.NDArray[np.intp], first: int, generator: random.Random) -> int:
    """One of the allowed tokens, printable ASCII more often than the rest, escapes seldom."""
    kinds: dict[str, list[int]] = {"ascii": [], "other": [], "escape": []}
    for token in allowed.tolist():
        byte = token - first
        plain = 0x20 <= byte < 0x7F or byte < 0
        kinds["escape" if byte == 0x5C else "ascii" if plain else "other"].append(token)
    weights = {"ascii": 0.9, "other": 0.07, "escape": 0.03}
    names = [name for name in kinds if kinds[name]]
    name = generator.choices(names, [weights[name] for name in names])[0]
    return generator.choice(kinds[name])


def _closing(allowed: npt.NDArray[np.intp], first: int, generator: random.Random) -> int:
    """One of the allowed tokens that most likely bring the end nearer."""
    ranks = {token: _RANK.get(token - first, 99) for token in allowed.tolist()}
    best = min(ranks.values())
    return int(generator.choice([token for token, rank in ranks.items() if rank == best]))


def _ending(allowed: npt.NDArray[np.intp], first: int, generator: random.Random) -> int:
    """The quote that ends a string, or else, for patterns, a digit or letter if there is any."""
    tokens = allowed.tolist()
    if first + 0x22 in tokens:
        return first + 0x22
    kinds = [[token for token in tokens if token - first in kind] for kind in _PLAIN]
    kinds = [kind for kind in kinds if kind]
    if kinds and generator.random() < _PLAIN_SHARE:
        return int(generator.choice(generator.choice(kinds)))
    return _weighted(allowed, first, generator)
