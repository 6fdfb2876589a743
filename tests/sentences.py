"""Every sentence of a grammar, where that is a small number: the plainest oracle of all.

It reads a dump as :mod:`oracle` does, but lists: the strings of an expression, the texts of a node,
and for a container every sequence of members that its rules allow, judged as a whole. There is no
state, no count on the way and no notion of what may still come; what is a prefix follows from the
list. :class:`Sentences` answers as :class:`chart.ChartOracle` does.

Only for grammars without recursion or token ids whose expressions and containers are finite;
anything else is a :class:`oracle.TooLargeError`. Used by test_oracle.py, test_agree.py.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from machines import json_value
from oracle import ALL_BYTES, Expressions, Text, Tokens, TooLargeError

Member = tuple[int, int, bytes, bytes]  # class, literals, the text of the key, of the value
MOST_MEMBERS = 6
MOST_SEQUENCES = 5_000


class Listing:
    """The texts of nodes, each listed once."""

    def __init__(self, dump: Mapping[str, Any], alphabet: frozenset[int], most: int) -> None:
        exprs = {int(id): item for id, item in dump["exprs"].items()}
        self.nodes = {int(id): item for id, item in dump["nodes"].items()}
        self.exprs, self.alphabet, self.most = Expressions(exprs, alphabet), alphabet, most
        self.known: dict[int, frozenset[bytes]] = {}
        self.busy: set[int] = set()

    def of_node(self, node: int) -> frozenset[bytes]:
        if node in self.busy:
            raise TooLargeError("a node inside itself")
        if node not in self.known:
            self.busy.add(node)
            self.known[node] = self._few(self._of_node(*self.nodes[node]))
            self.busy.discard(node)
        return self.known[node]

    def _few(self, texts: Iterable[bytes]) -> frozenset[bytes]:
        found = set()
        for text in texts:
            found.add(text)
            if len(found) > self.most:
                raise TooLargeError("too many sentences to list")
        return frozenset(found)

    def _of_node(self, kind: str, *rest: Any) -> Iterable[bytes]:
        if kind == "terminal":
            return self.of_expr(rest[0])
        if kind == "choice":
            return itertools.chain.from_iterable(map(self.of_node, rest[0]))
        if kind == "sequence":
            return self._joined([self.of_node(part) for part in rest[0]])
        if kind == "repetition":
            part, low, high = rest
            texts = self.of_node(part)
            if high is None and texts - {b""}:
                raise TooLargeError("no bound")
            counts = range(low, (low if high is None else min(high, low + 8)) + 1)
            return itertools.chain.from_iterable(self._joined([texts] * n) for n in counts)
        if kind == "rule":
            return frozenset() if rest[0] is None else self.of_node(rest[0])
        if kind == "container":
            return self._container(*rest)
        if kind in ("fail", "empty"):
            return [b""] if kind == "empty" else []
        raise TooLargeError(f"no list of a {kind}")

    def _joined(self, parts: Sequence[Iterable[bytes]]) -> Iterator[bytes]:
        return map(b"".join, itertools.product(*parts))

    def of_expr(self, expr: int) -> frozenset[bytes]:
        """The strings of an expression, byte by byte along its derivatives."""
        terms = self.exprs.terms
        found, level = set(), {b"": terms.of(expr)}
        for _ in range(40):
            found |= {text for text, term in level.items() if terms.nullable[term]}
            steps = itertools.product(level.items(), self.alphabet)
            after = {text + bytes([b]): terms.derive(term, b) for (text, term), b in steps}
            level = {text: term for text, term in after.items() if terms.is_alive(term)}
            if len(level) + len(found) > self.most:
                break
        if level:
            raise TooLargeError("too many strings to list")
        return frozenset(found)

    def _container(
        self,
        kind: str,
        gaps: Sequence[int],
        named: Sequence[Any],
        free: Sequence[Any],
        ordered: int,
        flags: Sequence[str],
        formula: Any,
    ) -> Iterator[bytes]:
        rules = Rules(kind == "array", named, free, ordered, "unique" in flags, formula)
        members: list[Member] = []
        for index, (key, _, choices) in enumerate([*named, *free]):
            keys = [b""] if rules.is_array else sorted(self.of_expr(key))
            for (value, literals), name in itertools.product(choices, keys):
                members += [(index, literals, name, text) for text in self.of_node(value)]
        texts = [sorted(self.of_expr(gap)) for gap in gaps]
        ends, inner = (b"[]", b"") if rules.is_array else (b"{}", b":")
        if not self.alphabet.issuperset(ends):
            return
        for sequence in rules.sequences(members):
            commas = len(sequence) < 2 or self.alphabet.issuperset(b",")
            colons = not sequence or self.alphabet.issuperset(inner)
            if commas and colons and rules.allow(sequence):
                yield from self._written(rules.is_array, texts, sequence, gaps[0] == gaps[1])

    def _written(
        self, is_array: bool, gaps: Sequence[Sequence[bytes]], sequence: Sequence[Member],
        gap_if_empty: bool,
    ) -> Iterator[bytes]:  # fmt: skip
        opening, closing, before_comma, after_comma, before_colon, after_colon = gaps
        parts: list[Sequence[bytes]] = [[b"[" if is_array else b"{"]]
        if not sequence:
            parts += [opening] if gap_if_empty else []
        for number, (_, _, key, value) in enumerate(sequence):
            parts += [before_comma, [b","], after_comma] if number else [opening]
            parts += [] if is_array else [[key], before_colon, [b":"], after_colon]
            parts.append([value])
        parts += [closing] if sequence else []
        yield from self._joined([*parts, [b"]" if is_array else b"}"]])


class Rules:
    """Which sequences of members make a container; each is judged from scratch."""

    def __init__(self, is_array: bool, named: Sequence[Any], free: Sequence[Any], ordered: int,
                 unique: bool, formula: Any) -> None:  # fmt: skip
        self.is_array, self.named, self.count = is_array, named, len(named) + len(free)
        self.ordered, self.unique, self.formula = ordered, unique, formula

    def sequences(self, members: Sequence[Member]) -> Iterator[tuple[Member, ...]]:
        """All that break no rule on the way, shortest first."""
        level: list[tuple[Member, ...]] = [()]
        for _ in range(MOST_MEMBERS + 1):
            yield from level
            longer = (
                (*sequence, each)
                for sequence in level
                for each in members
                if self.may_follow(sequence, each)
            )
            level = [sequence for sequence in longer if not self.is_over(sequence)]
            if len(level) > MOST_SEQUENCES:
                raise TooLargeError("too many sequences of members")
        if any(self.allow(sequence) for sequence in level):
            raise TooLargeError("too many members")

    def may_follow(self, sequence: Sequence[Member], member: Member) -> bool:
        index, named = member[0], len(self.named)
        if self.is_array:
            if index != min(len(sequence), named):
                return False
            before = [json_value(each[3]) for each in sequence] if self.unique else []
            return json_value(member[3]) not in before
        if index < named and index in [each[0] for each in sequence]:
            return False
        if index < self.ordered and any(each[0] >= index for each in sequence):
            return False
        free = [each for each in sequence if each[0] >= named] if self.unique else []
        return index < named or json_value(member[2]) not in [json_value(each[2]) for each in free]

    def is_over(self, sequence: Sequence[Member]) -> bool:
        """Whether more members miss some condition than ever may: further ones do not mend it."""
        parts = [] if self.formula is None else [self.formula]
        parts = parts[0][1] if parts and parts[0][0] == "and" else parts
        return any(part[0] == "all_but" and not self.holds(part, sequence) for part in parts)

    def allow(self, sequence: Sequence[Member]) -> bool:
        present = {each[0] for each in sequence}
        if not self.is_array and any(
            required and index not in present for index, (_, required, _) in enumerate(self.named)
        ):
            return False
        return self.formula is None or self.holds(self.formula, sequence)

    def holds(self, formula: Any, sequence: Sequence[Member]) -> bool:
        kind = formula[0]
        if kind in ("and", "or"):
            return (all if kind == "and" else any)(self.holds(p, sequence) for p in formula[1])
        counted = [self._counts(kind, formula[2], *each[:2]) for each in sequence].count(True)
        return bool(counted >= formula[1] if kind == "at_least" else counted <= formula[1])

    def _counts(self, kind: str, targets: Sequence[Any], index: int, literals: int) -> bool:
        own = [literal for place, literal in targets if place is None or place == index]
        present = [literal is None for literal in own]
        asserted = [literal is not None and bool(literals & (1 << literal)) for literal in own]
        if kind == "at_least":
            return any(present) or any(asserted)
        return any(not each for each in asserted)


class Branch:
    """A place in the tree of all sentences; the same questions as :class:`chart.Chart`."""

    def __init__(self) -> None:
        self.accepted = False
        self.next: dict[int, Branch] = {}
        self.tokens: list[Any] = []

    @property
    def is_viable(self) -> bool:
        return self.accepted or bool(self.next)

    def step(self, symbol: int) -> Branch:
        return self.next.get(symbol) or Branch()

    def token(self, id: int, spelling: bytes = b"") -> Branch | None:
        branch = self
        for byte in spelling:
            branch = branch.step(byte)
        return branch if spelling and branch.is_viable else None

    def following(self) -> list[int]:
        return sorted(self.next)

    def forced(self, at_most: int) -> bytes:
        branch, out = self, bytearray()
        while len(out) < at_most and not branch.accepted and len(branch.next) == 1:
            (byte,) = branch.next
            out.append(byte)
            branch = branch.next[byte]
        return bytes(out)


class Sentences:
    """Like :class:`chart.ChartOracle`, by the list of all sentences."""

    def __init__(
        self, dump: Mapping[str, Any], tokens: Tokens | None = None, most: int = 5_000
    ) -> None:
        self.tokens = tokens
        alphabet = ALL_BYTES if tokens is None else tokens.alphabet()
        self.texts = Listing(dump, alphabet, most).of_node(dump["root"])
        self.spelled = {} if tokens is None else tokens.spelled()
        self.start = Branch()
        for text in self.texts:
            branch = self.start
            for byte in text:
                branch = branch.next.setdefault(byte, Branch())
            branch.accepted = True

    def chart(self, text: Text) -> Branch:
        branch = self.start
        for symbol in text:
            branch = branch.step(symbol)
        return branch

    def accepts(self, text: Text) -> bool:
        return self.chart(text).accepted

    def is_prefix(self, text: Text) -> bool:
        return self.chart(text).is_viable

    def mask(self, text: Text) -> set[int]:
        return self.mask_of(self.chart(text))

    def mask_of(self, branch: Branch) -> set[int]:
        assert self.tokens is not None
        allowed = set(self.tokens.end_ids) if branch.accepted else set()
        return allowed | {id for id, text in self.spelled.items() if branch.token(id, text)}
