"""What the streams of all providers share: blocks that grow, and what does not fit together.

An assembly never raises on account of an event; it notes a problem, and a turn with a problem is
not complete. The pieces of a block are joined by the index that they carry, never by their arrival.

Not thread-safe: an assembly belongs to one stream. Cost: linear in the events; bounded in memory.

Tested by tests/test_tools_turns.py.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from .json_text import MAX_CHARACTERS
from .stream import ArgumentReader, Preview

__all__ = ["LATE", "MAX_BLOCKS", "Assembly", "Block", "CallPreview"]

#: What is noted of a piece behind the reason for the end.
LATE = "a piece came after the end of the turn"
#: How many blocks, items or calls one turn may have.
MAX_BLOCKS = 10_000
_PROBLEMS = 100


@dataclass(frozen=True)
class CallPreview:
    """What can be shown of a call that is still being written; see :class:`Preview`.

    Attributes:
        id: Its id, if it is known.
        name: The tool's name, if it is known.
        arguments: Its arguments so far.
    """

    id: str | None
    name: str | None
    arguments: Preview


@dataclass
class Block:
    """One part of a turn: what it began with, and its text or arguments."""

    fixed: dict[str, Any] = field(default_factory=dict)
    reader: ArgumentReader | None = None  # of a call's arguments
    texts: list[str] = field(default_factory=list)
    whole: Any = None  # arguments that came in one piece, as an object
    ended: bool = False

    def arguments(self) -> Any:
        """What a call's arguments came to."""
        text = self.reader.text if self.reader else ""
        return self.whole if not text and self.whole is not None else text

    def preview(self, identity: Any, name: Any) -> CallPreview:
        if self.reader is not None and not (isinstance(self.whole, Mapping) and self.whole):
            shown = self.reader.preview()
        else:
            shown = Preview(dict(self.whole) if isinstance(self.whole, Mapping) else {}, True)
        known = [value if isinstance(value, str) else None for value in (identity, name)]
        return CallPreview(known[0], known[1], shown)


class Assembly(ABC):
    """What the readers of all providers share."""

    def __init__(self) -> None:
        self.problems: list[str] = []
        self.error: Any = None
        self.reason: Any = None
        self.blocks: dict[int, Block] = {}
        self._left = MAX_CHARACTERS

    @abstractmethod
    def feed(self, event: Mapping[str, Any]) -> None:
        """Takes one event."""

    @abstractmethod
    def whole(self) -> dict[str, Any]:
        """The payload."""

    @abstractmethod
    def calls(self) -> Iterator[CallPreview]:
        """The calls so far."""

    def payload(self) -> dict[str, Any]:
        """The payload, with the error if one was sent."""
        whole = self.whole()
        return whole if self.error is None else {**whole, "error": self.error}

    def problem(self, message: str) -> None:
        """Notes what does not fit together."""
        if len(self.problems) < _PROBLEMS and message not in self.problems:
            self.problems.append(message)

    def object(self, value: Any, what: str) -> Mapping[str, Any]:
        """An object; null is an empty one."""
        if isinstance(value, Mapping):
            return value
        if value is not None:
            self.problem(f"{what} is no object")
        return {}

    def objects(self, value: Any, what: str) -> list[Mapping[str, Any]]:
        """The objects of a list; null is an empty one."""
        if value is None:
            return []
        items = value if isinstance(value, list | tuple) else [value]
        found = [item for item in items if isinstance(item, Mapping)]
        if len(found) < len(items) or items is not value:
            self.problem(f"{what} is no list of objects")
        return found

    def text(self, value: Any, what: str) -> str:
        """A piece of text, within the budget; null is an empty one."""
        if not isinstance(value, str):
            if value is not None:
                self.problem(f"{what} is no text")
            return ""
        self._left -= len(value)
        if self._left < 0:
            self.problem(f"more than {MAX_CHARACTERS:,} characters")
            return ""
        return value

    def index(self, value: Any, what: str) -> int | None:
        """The index of a piece; None, and a problem, if it has none."""
        if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 1 << 31:
            return value
        self.problem(f"{what} has no index")
        return None

    def begun(self, index: int, fixed: Mapping[str, Any], *, call: bool) -> Block | None:
        """A new block; None, and a problem, if there is one or there are too many."""
        if index in self.blocks:
            self.problem(f"block {index} begins twice")
            return None
        if len(self.blocks) >= MAX_BLOCKS:
            self.problem(f"more than {MAX_BLOCKS:,} blocks")
            return None
        block = self.blocks[index] = Block(dict(fixed), ArgumentReader() if call else None)
        return block

    def fragment(self, block: Block, value: Any, what: str) -> None:
        """A piece of a call's arguments."""
        if block.reader is None:
            self.problem(f"{what} for a block that is no call")
            return
        if block.ended:
            self.problem(f"{what} after the end of its block")
        block.reader.feed(self.text(value, what))

    def in_order(self) -> list[Block]:
        """The blocks by their index."""
        return [self.blocks[index] for index in sorted(self.blocks)]

    def all_ended(self) -> None:
        """Notes blocks without an end where the turn has one."""
        for index, block in self.blocks.items():
            if self.reason is not None and not block.ended:
                self.problem(f"block {index} never ended")
