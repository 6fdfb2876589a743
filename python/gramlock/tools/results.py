"""Results as JSON data, and a store for those too large to show a model.

A result above its tool's limit is stored whole and shown in part. What the model gets then is a
:class:`StoredResult`: identifier, size, where to fetch it, a shortened view, and one line for each
thing the view leaves out. Every cut is marked inside the view as well, so that a part never reads
as the whole.

A stored result is readable by the principal it was made for; for anyone else it is not there.
Tested by test_tools_results.py.
"""

from __future__ import annotations

import hmac
import json
import os
import re
import secrets
import tempfile
import threading
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from math import isfinite
from pathlib import Path
from typing import Any

from ..errors import ResultStoreError
from .json_text import dumps, plain_json
from .pointer import to_path

__all__ = ["ResultStore", "StoredResult", "plain", "shorten"]

MAX_VALUES = 5_000_000  # of one result: a small object that holds one list many times is not small
VIEW_CHARACTERS = 2_000
REFERENCE = "gramlock-result:"
_ID = re.compile(r"[0-9a-f]{32}")
_Place = tuple[str | int, ...]


def plain(value: Any) -> Any:
    """A copy of a handler's result as JSON data, of at most :data:`MAX_VALUES` values.

    Raises:
        NotJsonError: It is none; see :func:`gramlock.tools.json_text.plain_json`.
    """
    return plain_json(value, values=MAX_VALUES)


@dataclass(frozen=True)
class StoredResult:
    """A result that lies in a store.

    Attributes:
        id: Random; names it in its store.
        size: Of the whole, in bytes of JSON text.
        reference: How to ask for it: ``gramlock-result:`` and the id.
        omissions: One line for each thing that *view* leaves out, by path; never empty.
        view: The shortened value, each cut marked in place.
    """

    id: str
    size: int
    reference: str
    omissions: tuple[str, ...]
    view: Any = field(default=None, compare=False)

    def to_dict(self) -> dict[str, Any]:
        """As JSON data, the view under the name ``excerpt``."""
        return {
            "id": self.id,
            "size": self.size,
            "reference": self.reference,
            "omissions": list(self.omissions),
            "excerpt": self.view,
        }

    @classmethod
    def from_dict(cls, told: Mapping[str, Any]) -> StoredResult:
        """The reverse of :meth:`to_dict`.

        Raises:
            ValueError: *told* is not of that form.
        """
        try:
            omissions = tuple(str(line) for line in told["omissions"])
            return cls(told["id"], told["size"], told["reference"], omissions, told.get("excerpt"))
        except (KeyError, TypeError) as error:
            raise ValueError("not a stored result") from error


class ResultStore:
    """Keeps large results. Every method may be called from any thread.

    Args:
        directory: Where to keep them, one file each, which outlives the process and may be shared
            by several; None keeps them in memory.
        max_result: Bytes of the largest result it takes.
        max_bytes: Bytes that it holds in memory; the oldest are dropped first. Files are never
            dropped: their removal is the application's own.
    """

    def __init__(
        self,
        directory: str | os.PathLike[str] | None = None,
        *,
        max_result: int = 1 << 26,
        max_bytes: int = 1 << 28,
    ) -> None:
        self._directory = None if directory is None else Path(directory)
        if self._directory is not None:
            self._directory.mkdir(parents=True, exist_ok=True)
        self._max_result, self._max_bytes = max_result, max(max_bytes, max_result)
        self._lock = threading.Lock()
        self._kept: OrderedDict[str, tuple[str, bytes]] = OrderedDict()
        self._bytes = 0

    def put(
        self, value: Any, *, principal: str | None = None, text: str | None = None
    ) -> StoredResult:
        """Keep *value* (JSON data) for *principal*.

        Args:
            value: What to keep.
            principal: Who may read it.
            text: *value* as JSON text, where the caller has it already.

        Raises:
            ResultStoreError: It is too large, or cannot be written.
        """
        data = (dumps(value) if text is None else text).encode()
        if len(data) > self._max_result:
            raise ResultStoreError(
                f"a result of {len(data):,} bytes; the store takes {self._max_result:,}"
            )
        view, omissions = shorten(value)
        if not omissions:
            omissions = ["$: nothing left out"]
        result_id = secrets.token_hex(16)
        self._write(result_id, _owner(principal), data)
        return StoredResult(result_id, len(data), REFERENCE + result_id, tuple(omissions), view)

    def get(self, result_id: str, *, principal: str | None = None) -> Any:
        """The whole value of a result, by its id or its reference.

        Raises:
            ResultStoreError: There is none that *principal* may read.
        """
        name = result_id.removeprefix(REFERENCE)
        found = self._read(name) if _ID.fullmatch(name) else None
        if found is None or not hmac.compare_digest(found[0], _owner(principal)):
            raise ResultStoreError("no such result, or not visible")
        return json.loads(found[1], parse_float=_number, parse_int=_integer)

    def _write(self, name: str, owner: str, data: bytes) -> None:
        if self._directory is not None:
            self._write_file(self._directory, name, owner, data)
            return
        with self._lock:
            self._kept[name] = owner, data
            self._bytes += len(data)
            while self._bytes > self._max_bytes:
                _, (_, dropped) = self._kept.popitem(last=False)
                self._bytes -= len(dropped)

    @staticmethod
    def _write_file(directory: Path, name: str, owner: str, data: bytes) -> None:
        """Owner on the first line, then the text; whole or not at all."""
        try:
            handle, temporary = tempfile.mkstemp(dir=directory, prefix=".new-")
            try:
                with os.fdopen(handle, "wb") as file:
                    file.write(owner.encode() + b"\n" + data)
                    file.flush()
                    os.fsync(file.fileno())
                os.replace(temporary, directory / name)
            except BaseException:
                os.unlink(temporary)
                raise
        except OSError as error:
            raise ResultStoreError("the result cannot be written") from error

    def _read(self, name: str) -> tuple[str, bytes] | None:
        if self._directory is None:
            with self._lock:
                return self._kept.get(name)
        try:
            owner, _, data = (self._directory / name).read_bytes().partition(b"\n")
        except FileNotFoundError:
            return None
        except OSError as error:
            raise ResultStoreError("the result cannot be read") from error
        return owner.decode("ascii", "replace"), data


def _number(text: str) -> float | Decimal:
    """A float where that is the number exactly, as its shortest spelling tells."""
    exact, short = Decimal(text), float(text)
    return short if isfinite(short) and Decimal(repr(short)) == exact else exact


def _integer(text: str) -> int:
    return int(text) if len(text) < 4_000 else int(Decimal(text))  # int() refuses long texts


def _owner(principal: str | None) -> str:
    """The principal in ASCII; nobody in particular is someone of their own."""
    return json.dumps(principal)


def shorten(value: Any, characters: int = VIEW_CHARACTERS) -> tuple[Any, list[str]]:
    """A part of *value* of about *characters*, and a line for each thing left out."""
    cut = _Cut(characters)
    return cut.of(value, ()), cut.omissions


class _Cut:
    """One shortening: what is left of the budget, and what had to go."""

    def __init__(self, characters: int) -> None:
        self.left = characters
        self.omissions: list[str] = []

    def of(self, value: Any, place: _Place) -> Any:
        if isinstance(value, str):
            return self._text(value, place)
        if isinstance(value, dict):
            return self._object(value, place)
        if isinstance(value, list):
            return self._array(value, place)
        return self._scalar(value, place)

    def _omit(self, place: _Place, count: int, total: int, unit: str) -> str:
        said = f"{count:,} of {total:,} {unit} left out"
        self.omissions.append(f"{to_path(place)}: {said}")
        return f"… [{said}]"

    def _text(self, value: str, place: _Place) -> str:
        kept = max(0, min(len(value), self.left))
        self.left -= kept + 2
        if kept == len(value):
            return value
        return value[:kept] + self._omit(place, len(value) - kept, len(value), "characters")

    def _scalar(self, value: Any, place: _Place) -> Any:
        digits = value.bit_length() // 3 if isinstance(value, int) else len(str(value))
        if digits > max(40, self.left):
            return self._omit(place, 1, 1, "number")
        self.left -= digits + 1
        return value

    def _array(self, value: list[Any], place: _Place) -> list[Any]:
        shown: list[Any] = []
        for index, inner in enumerate(value):
            if self.left <= 0:
                shown.append(self._omit(place, len(value) - index, len(value), "items"))
                break
            shown.append(self.of(inner, (*place, index)))
            self.left -= 2
        return shown

    def _object(self, value: dict[str, Any], place: _Place) -> dict[str, Any]:
        shown: dict[str, Any] = {}
        for index, (name, inner) in enumerate(value.items()):
            if self.left <= len(name):
                shown["…"] = self._omit(place, len(value) - index, len(value), "members")
                break
            self.left -= len(name) + 4
            shown[name] = self.of(inner, (*place, name))
        return shown
