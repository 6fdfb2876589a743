"""Random sentences of a grammar, byte by byte.

What may come next is read off a mask over the 256 bytes. A walk that follows them blindly may
never end, so past a soft limit bytes that tend to close things are preferred.
"""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

from ._core import MatcherHandle
from .errors import LimitError

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

__all__ = ["sample"]

#: Bytes in the order in which they tend to finish a text.
_CLOSING = b'"}]):\n,0123456789nulltruefalse'  # in an indented text a bracket follows a line break
_RANK = {byte: rank for rank, byte in reversed(list(enumerate(_CLOSING)))}
_RANK |= dict.fromkeys(b"0123456789", _RANK[ord("0")])  # always the same one may never end
_STOP_SHARE = 0.25
#: How often a late byte is drawn freely, so that no preference (digits for ever) traps the walk.
_FREE_SHARE = 0.1


def sample(
    matcher: MatcherHandle, first: int, generator: random.Random, soft_limit: int, hard_limit: int
) -> bytes:
    """A sentence from *matcher*, whose byte *b* is token ``first + b``.

    Raises:
        LimitError: It did not end within *hard_limit* bytes.
    """
    import numpy as np

    mask = np.zeros((first + 256 + 31) // 32, dtype=np.int32)
    out = bytearray()
    steps = 0
    while True:
        late = len(out) >= soft_limit
        matcher.fill(mask, 0)
        allowed = np.flatnonzero(np.unpackbits(mask.view(np.uint8), bitorder="little"))
        if matcher.can_end() and (not len(allowed) or late or generator.random() < _STOP_SHARE):
            return bytes(out)
        if steps >= hard_limit:
            raise LimitError("sample_bytes", steps + 1, hard_limit)
        hurry = late and generator.random() >= _FREE_SHARE
        choose = _closing if hurry else _weighted
        token = choose(allowed, first, generator)
        matcher.accept_token(token)
        steps += 1
        if token >= first:
            out.append(token - first)


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
