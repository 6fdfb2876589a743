"""Matchers: one sequence being generated."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ._matching import MatcherHandle

if TYPE_CHECKING:
    from .compiler import Program

__all__ = ["Matcher"]

_FORCED_AT_MOST = 4096


class Matcher:
    """One sequence: what was written so far, and what may come next.

    Made by :meth:`gramlock.Program.matcher`. One thread at a time; matchers of one program may run
    in different threads. After any error the matcher is as it was.

    Attributes:
        program: The program that it follows.
    """

    # The two calls of every token are bound to the object: it saves a call each. ``help()`` reads
    # what is said here, and the whole of it stands at the methods that they are bound to.
    __slots__ = {
        "_handle": "the core's object",
        "accept_token": "accept_token(token) -> bool: take a token if it may come next",
        "fill_next_token_bitmask": "fill_next_token_bitmask(bitmask, index=0) -> bool: write the"
        " mask of the tokens that may come next into a row",
        "program": "the program that it follows",
    }

    def __init__(self, program: Program, handle: MatcherHandle) -> None:
        self.program = program
        self._set(handle)

    def _set(self, handle: MatcherHandle) -> None:
        self._handle = handle
        self.accept_token = handle.accept_token
        self.fill_next_token_bitmask = handle.fill

    def _fill_by_walk(self, bitmask: Any, index: int = 0) -> None:
        """The same by the general walk, without tables; for tests."""
        self._handle.fill_by_walk(bitmask, index)

    def accept_bytes(self, data: bytes) -> bool:
        """Take text as one step; False, and nothing changes, if it cannot come next."""
        return self._handle.accept_bytes(data)

    def accept_string(self, text: str) -> bool:
        """:meth:`accept_bytes` of the text's UTF-8."""
        return self._handle.accept_bytes(text.encode("utf-8"))

    def validate_tokens(self, tokens: Sequence[int]) -> int:
        """How many of these tokens, one after the other, could be accepted; changes nothing.

        Args:
            tokens: Ids, as a list, array or tensor.

        Raises:
            LimitError: A budget was passed.

        Cost: that of accepting them.
        """
        return self._handle.validate_tokens(tokens)

    def fill_draft_bitmasks(
        self, tokens: Sequence[int], bitmask: Any, parents: Sequence[int] | None = None
    ) -> list[bool]:
        """Write the masks of all positions of a draft, a sequence or a tree, in one call.

        Row 0 becomes the mask of the sequence as it is, row *i* + 1 that behind token *i*. Where a
        token, or one before it, cannot come, and behind an end id, the row is all zeros. The
        matcher stays where it was.

        Args:
            tokens: Token ids of the draft.
            bitmask: As for :meth:`fill_next_token_bitmask`, with a row more than tokens, or more.
            parents: For a tree: *parents[i]* is the place of the token that token *i* follows,
                smaller than *i*, or -1 where it follows the sequence as it is. None: each follows
                the one before it.

        Returns:
            For each token, whether it may come there, with all tokens before it.

        Raises:
            MatcherError: An end id was accepted before.
            ValueError: *parents* is not as long as *tokens*, or names a later token.
            IndexError: *bitmask* has too few rows.
            LimitError: A budget was passed.

        Cost: a position costs an accept and a fill; in a tree whose tokens are not in depth-first
        order, the way to a token is accepted again.
        """
        return self._handle.fill_draft(tokens, parents, bitmask)

    def rollback(self, steps: int = 1) -> None:
        """Undo the last *steps* accepts.

        Raises:
            ValueError: Fewer were made.
        """
        if steps < 0:
            raise ValueError(f"rollback of {steps} steps")
        self._handle.rollback(steps)

    def reset(self) -> None:
        """Undo everything."""
        self._handle.rollback(self._handle.steps())

    def fork(self) -> Matcher:
        """An independent copy, history included. Cost: the history's length."""
        return Matcher(self.program, self._handle.fork())

    __copy__ = fork  # a copy that shared the sequence would be no copy

    def __deepcopy__(self, memo: dict[int, Any]) -> Matcher:
        return self.fork()

    @property
    def steps(self) -> int:
        """Accepts that can be undone."""
        return self._handle.steps()

    def can_end(self) -> bool:
        """Whether the text so far is a sentence (False after an end id)."""
        return self._handle.can_end()

    def is_terminated(self) -> bool:
        """True after an end id; without end ids, at a sentence after which nothing can follow."""
        return self._handle.is_terminated()

    def find_jump_forward_string(self) -> str:
        """The text that must come next, in whole characters; empty where there is a choice.

        At most 4,096 bytes at once. The model may spell it in other tokens than the tokenizer
        would; :meth:`accept_string` takes it as one step.

        Raises:
            LimitError: A budget was passed.
        """
        data = self._handle.forced_bytes(_FORCED_AT_MOST)
        return data.decode("utf-8", "ignore") if _is_prefix(data) else ""

    def __repr__(self) -> str:
        return f"<Matcher after {self.steps} steps>"


def _is_prefix(data: bytes) -> bool:
    """Whether *data* is UTF-8 but for an incomplete last character."""
    try:
        data.decode("utf-8")
    except UnicodeDecodeError as error:
        return error.reason == "unexpected end of data"
    return True
