"""What a grammar means, as slowly and plainly as possible; shares no code with the core.

It reads the representation that ``GrammarHandle.dump`` gives (or one written by hand) and answers
by definition:

* which substrings an **expression** matches: a set of end positions, by structural recursion; the
  complement is every end that the child does not have;
* which substrings a **node** matches: the least fixpoint of the sets ``ends(node, start)``, so left
  recursion, empty rules, ambiguity and cycles need no thought;
* whether a text is a **prefix** of a sentence: a second table, ``viable(node, start)``: the text
  from ``start`` to its end can be continued to a match of the node.

Only the question whether an *and* or a *not* can still match after some text has no answer by
position; :class:`Terms` explores the derivatives of the expression for it.

A text is a sequence of symbols: bytes 0 to 255, and ``TOKEN + id`` for a token taken as such. All
of it is relative to an alphabet, the bytes that a vocabulary can spell one by one.

Cost: everything is recomputed for every text. :mod:`chart` answers the same for long texts.
Tested by test_oracle.py.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from machines import (
    LAYOUT,
    Atom,
    Chain,
    Choice,
    Class,
    Container,
    Machine,
    Pending,
    Repetition,
    State,
    Switch,
    read_formula,
    resolve,
)

TOKEN = 256
ALL_BYTES = frozenset(range(256))

Text = tuple[int, ...]


def symbols(text: str | bytes | Iterable[bytes | int]) -> Text:
    """A text as symbols; in a list, an int is a token id."""
    if isinstance(text, str):
        text = text.encode()
    if isinstance(text, bytes):
        return tuple(text)
    parts = [tuple(part) if isinstance(part, bytes) else (TOKEN + part,) for part in text]
    return tuple(symbol for part in parts for symbol in part)


# ---------------------------------------------------------------- expressions


class TooLargeError(Exception):
    """The oracle gives up; a test may count this, but must not take it for an answer."""


class Terms:
    """Derivatives of expressions (Brzozowski 1964), to learn whether anything can still match.

    Terms are interned tuples over smaller terms; unions and intersections are sets, so that an
    expression has finitely many derivatives.
    """

    NEVER, EMPTY, ANY = 0, 1, 2

    def __init__(self, exprs: Mapping[int, Sequence[Any]], alphabet: frozenset[int]) -> None:
        self.exprs, self.alphabet = exprs, alphabet
        self.items: list[tuple[Any, ...]] = []
        self.nullable: list[bool] = []
        self.sets: list[frozenset[frozenset[int]]] = []  # the classes inside a term
        self.ids: dict[tuple[Any, ...], int] = {}
        self.terms: dict[int, int] = {}
        self.derivatives: dict[tuple[int, int], int] = {}
        self.alive: dict[int, bool] = {}
        self._intern(("never",), False, ())
        self._intern(("empty",), True, ())
        self._intern(("not", self.NEVER), True, ())

    def _intern(self, item: tuple[Any, ...], nullable: bool, parts: Iterable[int]) -> int:
        found = self.ids.get(item)
        if found is None:
            found = self.ids[item] = len(self.items)
            self.items.append(item)
            self.nullable.append(nullable)
            inner = [self.sets[part] for part in parts]
            own = [frozenset([item[1]])] if item[0] == "set" else []
            self.sets.append(frozenset().union(*inner, *own))
        return found

    def set(self, members: Iterable[int]) -> int:
        kept = frozenset(members) & self.alphabet
        return self._intern(("set", kept), False, ()) if kept else self.NEVER

    def cat(self, head: int, tail: int) -> int:
        if self.NEVER in (head, tail):
            return self.NEVER
        if head == self.EMPTY:
            return tail
        if tail == self.EMPTY:
            return head
        if self.items[head][0] == "cat":
            return self.cat(self.items[head][1], self.cat(self.items[head][2], tail))
        nullable = self.nullable[head] and self.nullable[tail]
        return self._intern(("cat", head, tail), nullable, (head, tail))

    def _several(self, kind: str, parts: Iterable[int], unit: int, zero: int) -> int:
        members: set[int] = set()
        for part in parts:
            members |= self.items[part][1] if self.items[part][0] == kind else {part}
        members.discard(unit)
        if zero in members:
            return zero
        if len(members) < 2:
            return members.pop() if members else unit
        some = any if kind == "or" else all
        nullable = some(self.nullable[part] for part in members)
        return self._intern((kind, frozenset(members)), nullable, members)

    def either(self, parts: Iterable[int]) -> int:
        return self._several("or", parts, self.NEVER, self.ANY)

    def both(self, parts: Iterable[int]) -> int:
        return self._several("and", parts, self.ANY, self.NEVER)

    def negated(self, part: int) -> int:
        if self.items[part][0] == "not":
            return int(self.items[part][1])
        return self._intern(("not", part), not self.nullable[part], (part,))

    def repeat(self, part: int, low: int, high: int | None) -> int:
        if high == 0 or part == self.EMPTY:
            return self.EMPTY
        if part == self.NEVER:
            return self.EMPTY if low == 0 else self.NEVER
        low = 0 if self.nullable[part] else low
        return self._intern(("repeat", part, low, high), low == 0, (part,))

    def of(self, expr: int) -> int:
        """The term of an expression."""
        found = self.terms.get(expr)
        if found is None:
            found = self.terms[expr] = self._convert(*self.exprs[expr])
        return found

    def _convert(self, kind: str, *rest: Any) -> int:
        if kind == "class":
            return self.set(byte for low, high in rest[0] for byte in range(low, high + 1))
        if kind == "concat":
            term = self.EMPTY
            for part in reversed(rest[0]):
                term = self.cat(self.of(part), term)
            return term
        if kind == "union":
            return self.either(map(self.of, rest[0]))
        if kind == "intersect":
            return self.both(map(self.of, rest[0]))
        if kind == "complement":
            return self.negated(self.of(rest[0]))
        if kind == "repeat":
            return self.repeat(self.of(rest[0]), rest[1], rest[2])
        return {"never": self.NEVER, "epsilon": self.EMPTY, "tag": self.EMPTY}[kind]

    def derive(self, term: int, byte: int) -> int:
        """What may follow the byte."""
        found = self.derivatives.get((term, byte))
        if found is None:
            found = self.derivatives[term, byte] = self._derive(byte, *self.items[term])
        return found

    def _derive(self, byte: int, kind: str, *rest: Any) -> int:
        if kind == "set":
            return self.EMPTY if byte in rest[0] else self.NEVER
        if kind == "cat":
            head, tail = rest
            after = self.cat(self.derive(head, byte), tail)
            return self.either([after, self.derive(tail, byte)]) if self.nullable[head] else after
        if kind in ("or", "and"):
            parts = [self.derive(part, byte) for part in rest[0]]
            return self.either(parts) if kind == "or" else self.both(parts)
        if kind == "not":
            return self.negated(self.derive(rest[0], byte))
        if kind == "repeat":
            part, low, high = rest
            left = self.repeat(part, max(low - 1, 0), None if high is None else high - 1)
            return self.cat(self.derive(part, byte), left)
        return self.NEVER

    def is_alive(self, term: int, budget: int = 50_000) -> bool:
        """Whether the term matches any string, by visiting its derivatives."""
        seen, waiting = {term}, [term]
        while waiting:
            visited = waiting.pop()
            if self.nullable[visited] or self.alive.get(visited):
                self.alive[term] = True
                return True
            if self.alive.get(visited) is False:
                continue
            for byte in self.representatives(self.sets[visited]):
                after = self.derive(visited, byte)
                if after not in seen:
                    seen.add(after)
                    waiting.append(after)
            if len(seen) > budget:
                raise TooLargeError("the expression is too large for the oracle")
        self.alive.update(dict.fromkeys(seen, False))
        return False

    def graph(self, start: int, budget: int = 5_000) -> dict[int, set[int]]:
        """What follows each term that can still match, from *start* on."""
        after: dict[int, set[int]] = {}
        waiting = [start] if self.is_alive(start) else []
        while waiting:
            term = waiting.pop()
            if term not in after:
                steps = {self.derive(term, byte) for byte in self.representatives(self.sets[term])}
                after[term] = {to for to in steps if self.is_alive(to)}
                waiting += after[term]
            if len(after) > budget:
                raise TooLargeError("the expression is too large for the oracle")
        return after

    def representatives(self, sets: frozenset[frozenset[int]]) -> Iterable[int]:
        """One byte of every group that no class of the term tells apart."""
        ordered = sorted(sets, key=sorted)
        groups = {tuple(byte in each for each in ordered): byte for byte in self.alphabet}
        return groups.values()


class Expressions:
    """The expressions of a grammar, read by position."""

    def __init__(self, exprs: Mapping[int, Sequence[Any]], alphabet: frozenset[int]) -> None:
        self.exprs = dict(exprs)
        self.alphabet = alphabet
        self.terms = Terms(self.exprs, alphabet)
        self.added: dict[tuple[int, int] | bytes, int] = {}
        self.known: dict[tuple[int, Text, int], frozenset[int]] = {}
        self.possible: dict[tuple[int, Text, int], bool] = {}

    def literal(self, byte: bytes) -> int:
        """The expression of one byte."""
        return self._add(byte, ["class", [[byte[0], byte[0]]]])

    def labelled(self, expr: int, label: int) -> int:
        """The strings that a tagged expression matches with this label."""
        kind, *rest = self.exprs[expr]
        if kind == "tag":
            return self._add((expr, label), ["epsilon"] if rest[0] == label else ["never"])
        if kind == "union":
            parts = [self.labelled(part, label) for part in rest[0]]
            return self._add((expr, label), ["union", parts])
        if kind == "concat" and rest[0]:
            last = self.labelled(rest[0][-1], label)
            return self._add((expr, label), ["concat", [*rest[0][:-1], last]])
        return self._add((expr, label), ["never"])

    def _add(self, key: tuple[int, int] | bytes, item: Sequence[Any]) -> int:
        if key not in self.added:
            self.added[key] = max(self.exprs, default=0) + 1
            self.exprs[self.added[key]] = item
        return self.added[key]

    def _members(self, ranges: Sequence[Sequence[int]]) -> frozenset[int]:
        every = frozenset(byte for low, high in ranges for byte in range(low, high + 1))
        return every & self.alphabet

    def ends(self, expr: int, text: Text, start: int) -> frozenset[int]:
        """Every ``end`` for which the expression matches ``text[start:end]``."""
        key = (expr, text, start)
        if key not in self.known:
            if len(self.known) > 10_000:
                self.known.clear()
            self.known[key] = self._ends(text, start, *self.exprs[expr])
        return self.known[key]

    def _ends(self, text: Text, start: int, kind: str, *rest: Any) -> frozenset[int]:
        if kind == "never":
            return frozenset()
        if kind in ("epsilon", "tag"):
            return frozenset([start])
        if kind == "class":
            hit = start < len(text) and text[start] in self._members(rest[0])
            return frozenset([start + 1] if hit else [])
        if kind == "concat":
            found = frozenset([start])
            for part in rest[0]:
                found = self._after(part, text, found)
            return found
        if kind == "union":
            return frozenset().union(*(self.ends(part, text, start) for part in rest[0]))
        if kind == "intersect":
            every = self._all_ends(text, start)
            return every.intersection(*(self.ends(part, text, start) for part in rest[0]))
        if kind == "complement":
            return self._all_ends(text, start) - self.ends(rest[0], text, start)
        assert kind == "repeat", kind
        levels = self._levels(rest, text, start)
        return frozenset().union(*(ends for enough, ends in levels if enough))

    def _after(self, expr: int, text: Text, starts: Iterable[int]) -> frozenset[int]:
        return frozenset().union(*(self.ends(expr, text, start) for start in starts))

    def _all_ends(self, text: Text, start: int) -> frozenset[int]:
        stop = start
        while stop < len(text) and text[stop] in self.alphabet:
            stop += 1
        return frozenset(range(start, stop + 1))

    def _levels(
        self, rest: Sequence[Any], text: Text, start: int
    ) -> Iterator[tuple[bool, frozenset[int]]]:
        """The ends after 0, 1, 2, ... parts of a repeat, and whether so many are enough.

        Either parts are never empty, then there are no more than symbols left; or they may be, then
        any number is enough, since empty ones fill it up.
        """
        part, low, high = rest
        if start in self.ends(part, text, start):
            low = 0
        count, ends = 0, frozenset([start])
        while ends and (high is None or count <= high) and count <= low + len(text) - start:
            yield count >= low, ends
            count, ends = count + 1, self._after(part, text, ends)

    def is_endless(self, expr: int) -> bool:
        """Whether every unfinished match can be finished in infinitely many ways."""
        terms = self.terms
        start = terms.of(expr)
        after = terms.graph(start)
        lasting: set[int] = set(after)
        before = -1
        while len(lasting) != before:  # what leads nowhere but to ends, dropped again and again
            before = len(lasting)
            lasting = {term for term in lasting if any(to in lasting for to in after[term])}
        return all(term in lasting or term == terms.EMPTY for term in after) and bool(after)

    def is_viable(self, expr: int, text: Text, start: int) -> bool:
        """Whether ``text[start:]`` begins some string that the expression matches."""
        key = (expr, text, start)
        if key not in self.possible:
            if len(self.possible) > 10_000:
                self.possible.clear()
            self.possible[key] = self._is_viable(expr, text, start, *self.exprs[expr])
        return self.possible[key]

    def _is_viable(self, expr: int, text: Text, start: int, kind: str, *rest: Any) -> bool:
        size = len(text)
        if kind == "never":
            return False
        if kind in ("epsilon", "tag"):
            return start == size
        if kind == "class":
            members = self._members(rest[0])
            fits = start == size or (start == size - 1 and text[start] in members)
            return fits and bool(members)
        if kind == "union":
            return any(self.is_viable(part, text, start) for part in rest[0])
        if kind == "concat":
            return self._is_viable_sequence(rest[0], text, start)
        if kind == "repeat":
            return self._is_viable_repeat(rest, text, start)
        if not self.alphabet.issuperset(text[start:]):
            return False
        term = self.terms.of(expr)
        for symbol in text[start:]:
            term = self.terms.derive(term, symbol)
        return self.terms.is_alive(term)

    def _is_viable_sequence(self, parts: Sequence[int], text: Text, start: int) -> bool:
        starts = frozenset([start])
        for index, part in enumerate(parts):
            rest_exists = all(self.is_viable(later, (), 0) for later in parts[index + 1 :])
            if rest_exists and any(self.is_viable(part, text, at) for at in starts):
                return True
            starts = self._after(part, text, starts)
        return len(text) in starts

    def _is_viable_repeat(self, rest: Sequence[Any], text: Text, start: int) -> bool:
        part, low, high = rest
        if start == len(text) and low == 0:
            return True
        last = None if high is None else high - 1
        for _, starts in self._levels((part, low, last), text, start):
            if any(self.is_viable(part, text, at) for at in starts):
                return True
        return False


# ---------------------------------------------------------------- nodes


class Grammar:
    """Nodes as machines over one alphabet, and which of them have a sentence or match nothing.

    Args:
        dump: ``{"root": id, "nodes": {id: node}, "exprs": {id: expression}}``.
        alphabet: The bytes that exist.
        token_count: How many token ids exist; None if any may come.
    """

    def __init__(
        self,
        dump: Mapping[str, Any],
        alphabet: Collection[int] = ALL_BYTES,
        token_count: int | None = None,
    ) -> None:
        exprs = {int(id): item for id, item in dump["exprs"].items()}
        self.exprs = Expressions(exprs, frozenset(alphabet))
        self.token_count = token_count
        self.root: int = dump["root"]
        self.strict = False  # whether different values may run out somewhere
        items = {int(id): item for id, item in dump["nodes"].items()}
        self.nullable: set[int] = set()
        self.machines = {id: self._machine(*item) for id, item in items.items()}
        self.nullable |= self._fixpoint(lambda atom: self.is_nullable(atom), self.nullable)
        self.productive: set[int] = set()
        self.productive |= self._fixpoint(lambda atom: self.is_productive(atom), self.productive)
        self.endings: dict[tuple[int, State], bool] = {}

    def _machine(self, kind: str, *rest: Any) -> Machine:
        if kind == "terminal":
            return Choice([("expr", rest[0])])
        if kind == "tokens":
            ids = [id for id in rest[0] if self.token_count is None or id < self.token_count]
            return Choice([("tokens", frozenset(TOKEN + id for id in ids))])
        if kind == "choice":
            return Choice(("node", id) for id in rest[0])
        if kind == "rule":
            return Choice([] if rest[0] is None else [("node", rest[0])])
        if kind == "sequence":
            return Chain([("node", id) for id in rest[0]])
        if kind == "repetition":
            return Repetition(("node", rest[0]), rest[1], rest[2], self.is_nullable)
        if kind == "switch":
            expr, table = rest
            keys = [("expr", self.exprs.labelled(expr, label)) for label, _ in table]
            return Switch(zip(keys, [("node", node) for _, node in table], strict=True))
        if kind == "container":
            return self._container(*rest)
        return {"fail": Choice([]), "empty": Chain([])}[kind]

    def _container(
        self,
        kind: str,
        gaps: Sequence[int],
        named: Sequence[Any],
        free: Sequence[Any],
        ordered: int,
        flags: Sequence[str],
        formula: Sequence[Any] | None,
    ) -> Machine:
        layout = {name: ("expr", gap) for name, gap in zip(LAYOUT, gaps, strict=True)}
        unique = "unique" in flags
        if unique and (kind == "array" or not all(self.exprs.is_endless(each[0]) for each in free)):
            self.strict = True
        return Container(
            kind,
            layout,
            lambda byte: ("expr", self.exprs.literal(byte)),
            [self._class(*each) for each in named],
            [self._class(*each) for each in free],
            ordered,
            unique,
            None if formula is None else read_formula(formula),
        )

    def _class(self, key: int, required: bool, choices: Sequence[Sequence[int]]) -> Class:
        taken = tuple((("node", value), literals) for value, literals in choices)
        return Class(("expr", key), bool(required), taken)

    def _fixpoint(self, usable: Callable[[Atom], bool], found: set[int]) -> set[int]:
        before = -1
        while len(found) != before:
            before = len(found)
            for id, machine in self.machines.items():
                if id not in found and machine.reaches_end(machine.start, usable):
                    found.add(id)
        return found

    def is_nullable(self, atom: Atom) -> bool:
        kind, what = atom
        if kind == "node":
            return what in self.nullable
        return kind == "expr" and bool(self.exprs.ends(what, (), 0))

    def is_productive(self, atom: Atom) -> bool:
        kind, what = atom
        if kind == "node":
            return what in self.productive
        return bool(what) if kind == "tokens" else self.exprs.is_viable(what, (), 0)

    def can_finish(self, node: int, state: State) -> bool:
        """Whether some text leads from the state of the node's machine to its end."""
        key = (node, state)
        if key not in self.endings:
            machine = self.machines[node]
            self.endings[key] = machine.reaches_end(state, self.is_productive)
        return self.endings[key]


class Reading:
    """The two tables of one text, filled until nothing changes."""

    def __init__(self, grammar: Grammar, text: Text) -> None:
        self.grammar, self.text = grammar, text
        self.table: dict[tuple[str, int, int], Any] = {}
        self.changed = False

    def ask(self, question: str, node: int, start: int) -> Any:
        self._look(question, node, start)
        self.changed = True
        while self.changed:
            self.changed = False
            for key in reversed(list(self.table)):
                answer = getattr(self, f"_{key[0]}")(key[1], key[2])
                if answer != self.table[key]:
                    self.table[key] = answer
                    self.changed = True
        return self.table[question, node, start]

    def _look(self, question: str, node: int, start: int) -> Any:
        key = (question, node, start)
        if key not in self.table:
            self.table[key] = frozenset() if question == "ends" else False
            self.changed = True
        return self.table[key]

    def _reachable(self, node: int, start: int) -> set[tuple[State, int]]:
        """The states of the node's machine and the positions it can be at in them."""
        machine = self.grammar.machines[node]
        seen: set[tuple[State, int]] = {(machine.start, start)}
        waiting = list(seen)
        while waiting:
            state, at = waiting.pop()
            for atom, after in machine.moves(state):
                for end in self._atom_ends(atom, at):
                    reached = resolve(after, self.text[at:end])
                    skipped = reached is None or (end == at and not machine.counts_empty)
                    if not skipped and (reached, end) not in seen:
                        seen.add((reached, end))
                        waiting.append((reached, end))
        return seen

    def _atom_ends(self, atom: Atom, start: int) -> Iterable[int]:
        kind, what = atom
        if kind == "node":
            found: Iterable[int] = self._look("ends", what, start)
            return found
        if kind == "expr":
            return self.grammar.exprs.ends(what, self.text, start)
        return [start + 1] if self.text[start : start + 1] and self.text[start] in what else []

    def _atom_viable(self, atom: Atom, start: int) -> bool:
        kind, what = atom
        if kind == "node":
            return bool(self._look("viable", what, start))
        if kind == "expr":
            return self.grammar.exprs.is_viable(what, self.text, start)
        rest = self.text[start:]
        return bool(what) and (not rest or (len(rest) == 1 and rest[0] in what))

    def _ends(self, node: int, start: int) -> frozenset[int]:
        machine = self.grammar.machines[node]
        return frozenset(at for state, at in self._reachable(node, start) if machine.done(state))

    def _viable(self, node: int, start: int) -> bool:
        grammar, machine = self.grammar, self.grammar.machines[node]
        for state, at in self._reachable(node, start):
            if at == len(self.text) and grammar.can_finish(node, state):
                return True
            for atom, after in machine.moves(state):
                if isinstance(after, Pending) and len(self.text) in self._atom_ends(atom, at):
                    continue  # nothing makes a whole key longer
                if grammar.can_finish(node, after) and self._atom_viable(atom, at):
                    return True
        return False


# ---------------------------------------------------------------- texts and masks


@dataclass(frozen=True, eq=False)
class Tokens:
    """A vocabulary: the text of every id (None or empty: none), and the ids that end a text.

    End ids have no text. Only bytes that have a token of their own can be spelled, and only tokens
    made of such bytes.
    """

    texts: Sequence[bytes | None]
    end_ids: Sequence[int] = ()

    def spelled(self) -> dict[int, bytes]:
        alphabet = self.alphabet()
        return {id: text for id, text in self._texts().items() if alphabet.issuperset(text)}

    def alphabet(self) -> frozenset[int]:
        return frozenset(text[0] for text in self._texts().values() if len(text) == 1)

    def _texts(self) -> dict[int, bytes]:
        ends = set(self.end_ids)
        return {id: text for id, text in enumerate(self.texts) if text and id not in ends}


class Oracle:
    """Answers about texts of a grammar, each worked out from nothing (and then remembered)."""

    def __init__(self, dump: Mapping[str, Any], tokens: Tokens | None = None) -> None:
        alphabet = ALL_BYTES if tokens is None else tokens.alphabet()
        self.tokens = tokens
        self.grammar = Grammar(dump, alphabet, None if tokens is None else len(tokens.texts))
        self.prefixes: dict[Text, bool] = {}

    def accepts(self, text: Text) -> bool:
        """Whether the text is a sentence."""
        reading = Reading(self.grammar, text)
        return len(text) in reading.ask("ends", self.grammar.root, 0)

    def is_prefix(self, text: Text) -> bool:
        """Whether the text begins some sentence."""
        if text not in self.prefixes:
            if self.grammar.strict:
                raise TooLargeError("different values may run out: ask the sentences or a chart")
            viable = not text or self.is_prefix(text[:-1])
            viable = viable and Reading(self.grammar, text).ask("viable", self.grammar.root, 0)
            self.prefixes[text] = bool(viable)
        return self.prefixes[text]

    def mask(self, text: Text) -> set[int]:
        """The ids that may come after the text."""
        assert self.tokens is not None
        allowed = set(self.tokens.end_ids) if self.accepts(text) else set()
        for id, spelling in self.tokens.spelled().items():
            if self.is_prefix(text + tuple(spelling)):
                allowed.add(id)
        for id in range(len(self.tokens.texts)):
            if self.is_prefix(text + (TOKEN + id,)):
                allowed.add(id)
        return allowed
