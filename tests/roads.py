"""All roads to a mask, and the walk that compares them: guarantee 4 of the design, as code.

:func:`explore` visits texts of one grammar with one vocabulary, token by token, and asks at each of
them for the mask by every road, for the verdict on every single token, and for everything else that
a matcher says about its text. What it compares with is a :class:`chart.ChartOracle`.
"""

from __future__ import annotations

import contextlib
import random
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

import gramlock
from chart import Chart, ChartOracle
from grammars import Spec, build
from oracle import Tokens, TooLargeError
from sentences import Branch, Sentences

FORCED_AT_MOST = 64


def vocabulary(tokens: Tokens) -> gramlock.Vocabulary:
    return gramlock.Vocabulary.from_tokens(tokens.texts, end_ids=tokens.end_ids)


def ids(row: Any) -> set[int]:
    """The set bits of one row of a bitmask."""
    return set(np.flatnonzero(np.unpackbits(row.view(np.uint8), bitorder="little")).tolist())


def fill(matcher: gramlock.Matcher, size: int) -> set[int]:
    bitmask = gramlock.allocate_token_bitmask(1, size)
    matcher.fill_next_token_bitmask(bitmask)
    return ids(bitmask[0])


def fill_by_walk(matcher: gramlock.Matcher, size: int) -> set[int]:
    bitmask = gramlock.allocate_token_bitmask(1, size)
    matcher._fill_by_walk(bitmask)
    return ids(bitmask[0])


def fill_batch(matcher: gramlock.Matcher, size: int, threads: int) -> set[int]:
    """Three rows, the first and the last for the same text."""
    rows = [matcher.fork(), matcher.program.matcher(), matcher]
    bitmask = gramlock.allocate_token_bitmask(3, size)
    gramlock.fill_next_token_bitmasks(rows, bitmask, threads=threads)
    assert ids(bitmask[0]) == ids(bitmask[2])
    return ids(bitmask[2])


def fill_after_rollback(matcher: gramlock.Matcher, size: int) -> set[int]:
    allowed = sorted(fill(matcher, size))
    for token in allowed[:1] + allowed[-1:]:
        assert matcher.accept_token(token)
        matcher.rollback(1)
    return fill(matcher, size)


def fill_after_refusal(matcher: gramlock.Matcher, size: int) -> set[int]:
    for token in range(size):
        fork = matcher.fork()
        if not fork.accept_token(token):
            assert not matcher.accept_token(token)
    assert not matcher.accept_bytes(b"\x00\xff")
    return fill(matcher, size)


ROADS: dict[str, Callable[[gramlock.Matcher, int], set[int]]] = {
    "walk": fill_by_walk,
    "fill": fill,
    "fill again": fill,
    "batch": lambda matcher, size: fill_batch(matcher, size, 1),
    "batch, two threads": lambda matcher, size: fill_batch(matcher, size, 2),
    "after rollback": fill_after_rollback,
    "after refusal": fill_after_refusal,
    "fork": lambda matcher, size: fill(matcher.fork(), size),
}


class Case:
    """One grammar with one vocabulary, in the oracle and in the core."""

    def __init__(self, spec: Spec, tokens: Tokens, listed: bool = False) -> None:
        """*listed* asks the list of all sentences if there are not too many, else the charts."""
        self.spec, self.tokens = spec, tokens
        self.oracle: ChartOracle | Sentences = ChartOracle(spec.dump(), tokens)
        if listed:
            with contextlib.suppress(TooLargeError):
                self.oracle = Sentences(spec.dump(), tokens)
        self.size = len(tokens.texts)

    def compile(self, limits: gramlock.Limits | None = None) -> gramlock.Program:
        """A new program, with a vocabulary of its own."""
        return vocabulary(self.tokens).compile(gramlock.Grammar(build(self.spec)), limits=limits)

    @property
    def satisfiable(self) -> bool:
        return self.oracle.start.is_viable


def successors(chart: Chart | Branch, tokens: Tokens) -> Iterator[tuple[int, Any]]:
    """The tokens that may come next, end ids left out where they only end, and where they lead."""
    spelled = tokens.spelled()
    for token in range(len(tokens.texts)):
        after = chart.token(token, spelled.get(token, b""))
        if after is not None:
            yield token, after


def explore(case: Case, states: int, rng: random.Random, longest: int = 8) -> int:
    """Compare everything at up to *states* texts; the number of texts visited."""
    first, second = case.compile(), case.compile()
    waiting: list[tuple[list[int], Any]] = [([], case.oracle.start)]
    visited = 0
    while waiting and visited < states:
        path, chart = waiting.pop(rng.randrange(len(waiting)))
        visited += 1
        compare(case, first, second, path, chart)
        if len(path) < longest:
            waiting += [([*path, token], after) for token, after in successors(chart, case.tokens)]
    return visited


def compare(
    case: Case,
    first: gramlock.Program,
    second: gramlock.Program,
    path: Sequence[int],
    chart: Chart | Branch,
) -> None:
    """Assert that all roads agree with the oracle after the tokens of *path*."""
    matcher = replay(first, path)
    expected = case.oracle.mask_of(chart)
    for name, road in ROADS.items():
        assert road(matcher, case.size) == expected, (name, path)
    assert fill(replay(second, path), case.size) == expected, ("another program", path)
    for token in range(case.size):
        fork = matcher.fork()
        assert fork.accept_token(token) == (token in expected), ("accept", path, token)
    compare_rest(case, matcher, path, chart, expected)


def compare_rest(
    case: Case,
    matcher: gramlock.Matcher,
    path: Sequence[int],
    chart: Chart | Branch,
    expected: set[int],
) -> None:
    """What a matcher says beside its mask."""
    assert matcher.steps == len(path)
    assert matcher.can_end() == chart.accepted, ("can_end", path)
    over = chart.accepted and not chart.tokens and not chart.following()
    assert matcher.is_terminated() == (over and not case.tokens.end_ids), ("terminated", path)
    forced = matcher._handle.forced_bytes(FORCED_AT_MOST)
    assert forced == chart.forced(FORCED_AT_MOST), ("forced", path)
    if forced:
        assert matcher.fork().accept_bytes(forced)
    start = matcher.program.matcher()
    refused = next(id for id in range(case.size + 1) if id not in expected)
    assert start.validate_tokens([*path, refused, 0]) == len(path), ("validate", path)
    assert start.steps == 0


def replay(program: gramlock.Program, path: Sequence[int]) -> gramlock.Matcher:
    matcher = program.matcher()
    for token in path:
        assert matcher.accept_token(token), ("replay", path, token)
    return matcher
