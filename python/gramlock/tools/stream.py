"""JSON that is still being written: what can be shown of it, and what can be relied on.

A *preview* is provisional: it shows the members that are whole so far. Defaults are not filled in,
and a number or literal at the end of the buffer is held back, since ``12`` may become ``1234``. A
*record* of an array and a *finished* object are read again by the strict reader, and that alone is
what may be used. That a value is finished says nothing about the response around it: one that was
cut may hold a whole object. So :meth:`ArgumentReader.finish` states both.

    >>> reader = ArgumentReader()
    >>> reader.feed('{"to": "U-9", "amount": 12')
    >>> reader.preview().value
    {'to': 'U-9'}
    >>> reader.feed('34}')
    >>> end = reader.finish("length")
    >>> end.arguments, end.finished, end.status, end.dispatchable
    ({'to': 'U-9', 'amount': 1234}, True, 'length', False)

Not thread-safe: a reader belongs to one stream. Cost: feeding and records are linear in the text; a
preview parses the whole buffer, so ask for one as often as a screen changes, and not at each token.

Tested by tests/test_tools_stream.py and tests/test_tools_cases_reading.py.
"""

from __future__ import annotations

import re
import string
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from ..errors import JsonTextError, MissingDependencyError, ToolCallError
from .call import STATUSES, Status, read_arguments
from .completion import known_provider
from .json_text import MAX_CHARACTERS, loads
from .providers import REASONS, status_of

__all__ = ["ArgumentReader", "FinishedArguments", "FinishedRecords", "Preview", "RecordReader"]

_SPACE = " \t\r\n"
_BLANK = re.compile(f"[{_SPACE}]*")
_IN_STRING = re.compile(r'["\\]')
_OUTSIDE = re.compile(r'["\[\]{}]')
_SCALAR_END = re.compile(rf'[{_SPACE},:"\[\]{{}}]')
_OF_SCALARS = string.ascii_letters + string.digits + "+-."
_STATUS: dict[str, Status] = {status: status for status in STATUSES}


@dataclass(frozen=True)
class Preview:
    """What can be shown of an object that is still being written. It is provisional.

    Attributes:
        value: The members that are there so far; one that is not finished is absent.
        finished: The object has been closed and is strictly JSON. The response has not ended.
        problem: Why nothing can be shown, one line: it is no JSON, and will be none.
    """

    value: dict[str, Any] = field(default_factory=dict)
    finished: bool = False
    problem: str | None = None


@dataclass(frozen=True)
class FinishedArguments:
    """What a stream of arguments came to.

    Attributes:
        arguments: The arguments, strictly read, or None.
        finished: Whether they are whole.
        status: How the response ended: another fact.
        problem: Why there are none, one line.
    """

    arguments: dict[str, Any] | None
    finished: bool
    status: Status
    problem: str | None = None

    @property
    def dispatchable(self) -> bool:
        """Whether they may lead to a dispatch: both are as they should be."""
        return self.finished and self.status == "complete"


@dataclass(frozen=True)
class FinishedRecords:
    """What a stream of records came to.

    Attributes:
        count: How many records were given.
        finished: Whether the array was closed after them.
        status: How the response ended.
        problem: Why the array is not finished, one line.
    """

    count: int
    finished: bool
    status: Status
    problem: str | None = None


class _Outline:
    """Where strings and containers begin and end, in text that comes in pieces."""

    def __init__(self) -> None:
        self.inside = False  # of a string
        self._escaped = False  # the last piece ended in a backslash

    def signs(self, text: str, at: int) -> Iterator[tuple[int, str]]:
        """Position and sign of each quote at an end of a string, and of each bracket, from *at*.

        Whoever stops before the end must go on from behind the last sign.
        """
        if self._escaped and at < len(text):
            at, self._escaped = at + 1, False
        while match := (_IN_STRING if self.inside else _OUTSIDE).search(text, at):
            at = match.end()
            if match[0] == "\\":
                self._escaped = at == len(text)
                at += 1
                continue
            if match[0] == '"':
                self.inside = not self.inside
            yield match.start(), match[0]


class ArgumentReader:
    """Reads the arguments of one call, or one object of structured output, as it is written.

    Args:
        partial_strings: Whether previews show the beginning of a string that is still being
            written. Without it a string is absent until it is whole.
        characters: How long the text may be.
    """

    def __init__(self, *, partial_strings: bool = False, characters: int = MAX_CHARACTERS) -> None:
        self._partial = partial_strings
        self._limit = characters
        self._parts: list[str] = []
        self._length = 0
        self._outline = _Outline()
        self._depth = 0
        self._closed = False

    def feed(self, text: str) -> None:
        """Take the next piece. What is wrong with it is said by preview and finish.

        Raises:
            TypeError: It is no str.
        """
        if not isinstance(text, str):
            raise TypeError(f"a piece of text is a str, not {type(text).__name__}")
        self._length += len(text)
        if not text or self._length > self._limit:
            return
        self._parts.append(text)
        if self._closed:
            return
        for _, sign in self._outline.signs(text, 0):
            if sign in "{[":
                self._depth += 1
            elif sign != '"':
                self._depth -= 1
                if self._depth <= 0:
                    self._closed = True
                    return

    @property
    def text(self) -> str:
        """What has come so far, up to the limit."""
        whole = "".join(self._parts)
        self._parts = [whole]
        return whole

    def preview(self) -> Preview:
        """What can be shown now.

        Raises:
            MissingDependencyError: jiter is not installed.

        Cost: one parse of all that has come.
        """
        text = self.text
        if self._length > self._limit:
            return Preview(problem=self._too_long())
        if not text.strip(_SPACE):
            return Preview()
        try:
            if self._closed:
                return Preview(read_arguments(text), True)
            return self._of_part(text)
        except (JsonTextError, ToolCallError) as error:
            return Preview(problem=str(error))

    def _of_part(self, text: str) -> Preview:
        try:
            import jiter
        except ImportError as error:
            raise MissingDependencyError("jiter", "tools") from error
        if not self._outline.inside:
            # jiter would show a number or a literal that may go on.
            text = text.rstrip(_OF_SCALARS)
            if not text.strip(_SPACE):
                return Preview()
        mode: Any = "trailing-strings" if self._partial else "on"
        try:
            value = jiter.from_json(
                text.encode(),
                allow_inf_nan=False,
                partial_mode=mode,
                catch_duplicate_keys=True,
                float_mode="lossless-float",
            )
        except ValueError as error:  # a lone surrogate's among them
            return Preview(problem=f"no JSON: {error}")
        if not isinstance(value, dict):
            return Preview(problem="no object")
        return Preview(_exact(value))

    def finish(self, reason: str | None, provider: str | None = None) -> FinishedArguments:
        """What the text comes to, now that nothing more will follow.

        Args:
            reason: How the response ended; None if its end was not seen. One of
                :data:`gramlock.tools.call.STATUSES`, or the *provider*'s own word. Any other is
                an error, and so not complete.
            provider: Whose word it is, as for :func:`read_completion`.

        Raises:
            ValueError: There is no such provider.
        """
        status = _status(reason, provider)
        if self._length > self._limit:
            return FinishedArguments(None, False, status, self._too_long())
        text = self.text
        if status != "complete" and not text.strip(_SPACE):
            # No arguments are spelt as no text; but here the text did not come to its end.
            return FinishedArguments(None, False, status, "nothing had come")
        try:
            return FinishedArguments(read_arguments(text), True, status)
        except ToolCallError as error:
            return FinishedArguments(None, False, status, str(error))

    def _too_long(self) -> str:
        return f"more than {self._limit:,} characters"


def _status(reason: str | None, provider: str | None) -> Status:
    table = _STATUS if provider is None else REASONS[known_provider(provider)]
    return status_of(reason, table)


def _exact(value: Any) -> Any:
    """*value* with its fractions as the strict reader reads them. It nests as deep as jiter lets.

    Raises:
        JsonTextError: A number passes a budget.
    """
    if isinstance(value, dict):
        return {name: _exact(item) for name, item in value.items()}
    if isinstance(value, list):
        return [_exact(item) for item in value]
    if value is None or isinstance(value, str | int):
        return value
    return loads(str(value))


class RecordReader:
    """Reads the items of one array, each as soon as it is whole.

    Args:
        characters: How long one record may be.
    """

    def __init__(self, *, characters: int = MAX_CHARACTERS) -> None:
        self._limit = characters
        self._outline = _Outline()
        self._expected = "["  # or "first", "item", "within" one, "," or "end"
        self._scalar = False  # the record is a number or a literal
        self._depth = 0
        self._parts: list[str] = []
        self._length = 0
        self._count = 0
        self._problem: str | None = None

    def feed(self, text: str) -> list[Any]:
        """The records that this piece completes, strictly read.

        After something that is no JSON array nothing more is given; :meth:`finish` says why.

        Raises:
            TypeError: It is no str.
        """
        if not isinstance(text, str):
            raise TypeError(f"a piece of text is a str, not {type(text).__name__}")
        found: list[Any] = []
        at = 0
        while at < len(text) and self._problem is None:
            if self._expected == "within":
                at = self._within(text, at, found)
                continue
            blank = _BLANK.match(text, at)
            at = blank.end() if blank else at
            if at < len(text):
                at = self._between(text[at], at)
        return found

    def _between(self, sign: str, at: int) -> int:
        """One sign outside of the records; where to go on."""
        expected = self._expected
        if expected == "[" and sign == "[":
            self._expected = "first"
        elif (expected == "," or expected == "first") and sign == "]":
            self._expected = "end"
        elif expected == "," and sign == ",":
            self._expected = "item"
        elif expected in ("first", "item") and sign not in ",]}:":
            self._expected = "within"
            self._scalar = sign not in '"[{'
            return at
        elif expected == "end":
            self._problem = "text after the array"
        else:
            wanted = {"[": "an array", ",": "a comma or the end of the array"}
            self._problem = f"expected {wanted.get(expected, 'a value')}, got {sign!r}"
            if self._count:
                self._problem += f", after {self._count:,} records"
        return at + 1

    def _within(self, text: str, at: int, found: list[Any]) -> int:
        """Takes the record's part of *text* from *at*; where to go on."""
        end = self._end(text, at)
        part = text[at : len(text) if end is None else end]
        self._length += len(part)
        if self._length > self._limit:
            self._problem = f"a record of more than {self._limit:,} characters"
            return len(text)
        self._parts.append(part)
        if end is None:
            return len(text)
        record = "".join(self._parts)
        self._parts, self._length, self._expected = [], 0, ","
        try:
            found.append(loads(record))
            self._count += 1
        except JsonTextError as error:
            self._problem = f"record {self._count + 1:,}: {error}"
        return end

    def _end(self, text: str, at: int) -> int | None:
        if self._scalar:
            match = _SCALAR_END.search(text, at)
            return match.start() if match else None
        for position, sign in self._outline.signs(text, at):
            if sign in "{[":
                self._depth += 1
            elif sign in "}]":
                self._depth -= 1
            if self._depth <= 0 and not self._outline.inside:
                self._depth = 0
                return position + 1
        return None

    def finish(self, reason: str | None, provider: str | None = None) -> FinishedRecords:
        """How the array ended, now that nothing more will follow.

        Args:
            reason: As for :meth:`ArgumentReader.finish`.
            provider: Likewise.

        Raises:
            ValueError: There is no such provider.
        """
        status = _status(reason, provider)
        problem = self._problem
        if problem is None and self._expected != "end":
            problem = f"the text ended before the array, after {self._count:,} records"
        return FinishedRecords(self._count, problem is None, status, problem)
