"""How the nodes of a grammar read their parts, one small machine for each kind of node.

A machine has states; from a state it *moves* by reading an atom, a part of the grammar. The oracles
(:mod:`oracle`, :mod:`chart`) know how to read atoms; what follows what is said here and nowhere
else. :mod:`sentences` says the same of containers once more, without machines.

A container that wants its items (or free keys) to differ depends on the text that was read, not
only on the part: such a move leads to a :class:`Pending` state, which the piece of text that was
read turns into a state, or into nothing.
"""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

Atom = tuple[str, Any]  # ("expr", id), ("node", id) or ("tokens", frozenset of symbols)
State = Hashable
LAYOUT = ("open", "close", "before_comma", "after_comma", "before_colon", "after_colon")


class Machine:
    """How a node reads its parts: from ``start`` by ``moves`` to a state that is ``done``."""

    start: State = "start"
    counts_empty = True  # whether a part that matches nothing is a step of its own

    def moves(self, state: State) -> list[tuple[Atom, State]]:
        raise AssertionError

    def done(self, state: State) -> bool:
        return state == "end"

    def reaches_end(self, state: State, usable: Callable[[Atom], bool]) -> bool:
        """Whether usable parts lead from the state to a done one, were all pieces different."""
        state = whatever_was_read(state)
        seen, waiting = {state}, [state]
        while waiting:
            state = waiting.pop()
            if self.done(state):
                return True
            for atom, reached in self.moves(state):
                after = whatever_was_read(reached)
                if after not in seen and usable(atom):
                    seen.add(after)
                    waiting.append(after)
        return False


class Choice(Machine):
    """One of several parts: also a terminal, tokens, a rule, nothing at all."""

    def __init__(self, atoms: Iterable[Atom]) -> None:
        self.atoms = list(atoms)

    def moves(self, state: State) -> list[tuple[Atom, State]]:
        return [(atom, "end") for atom in self.atoms] if state == "start" else []


class Chain(Machine):
    """One part after the other; ``state`` counts those read."""

    start: State = 0

    def __init__(self, atoms: Sequence[Atom]) -> None:
        self.atoms = atoms

    def moves(self, state: Any) -> list[tuple[Atom, State]]:
        return [(self.atoms[state], state + 1)] if state < len(self.atoms) else []

    def done(self, state: State) -> bool:
        return state == len(self.atoms)


class Switch(Machine):
    """A string of a tagged expression, then the node of its label."""

    def __init__(self, by_label: Iterable[tuple[Atom, Atom]]) -> None:
        self.by_label = list(by_label)

    def moves(self, state: Any) -> list[tuple[Atom, State]]:
        if state == "start":
            return [(key, index) for index, (key, _) in enumerate(self.by_label)]
        return [] if state == "end" else [(self.by_label[state][1], "end")]


class Repetition(Machine):
    """``low`` to ``high`` parts; ``state`` counts the ones that are not empty.

    If the part may be empty, any number of them can be filled up with empty ones: low is 0.
    """

    start: State = 0
    counts_empty = False

    def __init__(self, atom: Atom, low: int, high: int | None, is_nullable: Any) -> None:
        self.atom, self.low, self.high, self.is_nullable = atom, low, high, is_nullable

    def moves(self, state: Any) -> list[tuple[Atom, State]]:
        if self.high is not None:
            return [(self.atom, state + 1)] if state < self.high else []
        return [(self.atom, min(state + 1, self.low))]

    def done(self, state: Any) -> bool:
        return bool(state >= self.low or self.is_nullable(self.atom))

    def reaches_end(self, state: Any, usable: Callable[[Atom], bool]) -> bool:
        return bool(state >= self.low) or usable(self.atom)


# ---------------------------------------------------------------- JSON values

Value = tuple[Any, ...]
NUMBER = re.compile(r"-?(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?")


def number(text: str) -> Value:
    """A number by its mathematical value: ``1``, ``1.0`` and ``10e-1`` are one."""
    found = NUMBER.fullmatch(text)
    assert found is not None, text
    whole, fraction, exponent = found[1], found[2] or "", int(found[3] or 0)
    digits = (whole + fraction).lstrip("0")
    short = digits.rstrip("0")
    if not short:
        return ("number", 0)
    place = exponent - len(fraction) + len(digits) - len(short)
    return ("number", text.startswith("-"), short, place)


@functools.lru_cache(maxsize=10_000)
def json_value(text: bytes) -> Value:
    """The value that a JSON text denotes: equal exactly for equal values."""

    def canonical(value: Any) -> Value:
        if isinstance(value, list):
            return ("array", *map(canonical, value))
        if isinstance(value, dict):
            return ("object", frozenset((key, canonical(value[key])) for key in value))
        return value if isinstance(value, tuple) else (type(value).__name__, value)

    return canonical(json.loads(text, parse_int=number, parse_float=number))


# ---------------------------------------------------------------- containers

Target = tuple[int | None, int | None]  # class (None: every one), literal (None: being there)
Formula = tuple[Any, ...]  # (at_least | all_but, n, targets) or (and | or, formulas)


def read_formula(item: Sequence[Any]) -> Formula:
    """A formula of a dump; lists become tuples."""
    if item[0] in ("and", "or"):
        return (item[0], tuple(map(read_formula, item[1])))
    return (item[0], item[1], tuple(tuple(target) for target in item[2]))


def atoms_of(formula: Formula) -> Iterator[Formula]:
    if formula[0] in ("and", "or"):
        for part in formula[1]:
            yield from atoms_of(part)
    else:
        yield formula


def counts_for(atom: Formula, kind: int, literals: int) -> bool:
    """Whether a member of a class is one that the atom counts: a hit, or a miss for all_but."""
    targets = [literal for place, literal in atom[2] if place in (None, kind)]
    asserted = [literal is not None and literals >> literal & 1 for literal in targets]
    if atom[0] == "at_least":
        return any(literal is None for literal in targets) or any(asserted)
    return not all(asserted)


class Class(NamedTuple):
    """The members that one key expression (or one place) stands for."""

    key: Atom
    required: bool
    choices: tuple[tuple[Atom, int], ...]


class Progress(NamedTuple):
    """What has been read of a container."""

    place: int  # next in order: of the ordered classes, or of an array's positions
    taken: frozenset[int]  # the other named classes that are there
    counts: tuple[int, ...]  # for each atom of the formula, no further than it matters
    seen: frozenset[Value]  # the items or free keys that must not come again


@dataclass(frozen=True)
class Pending:
    """A state that waits for the text of what was read: it must not have been seen before."""

    name: str
    progress: Progress
    rest: tuple[Any, ...]
    begin: int = 0  # where the piece begins, if a chart asks


def whatever_was_read(state: State) -> State:
    """The state that follows, if the piece is a new one."""
    return (state.name, state.progress, *state.rest) if isinstance(state, Pending) else state


def resolve(state: State, piece: tuple[int, ...]) -> State | None:
    """The state after a piece of text; None if it must not be."""
    if not isinstance(state, Pending):
        return state
    value = json_value(bytes(piece))
    if value in state.progress.seen:
        return None
    progress = state.progress._replace(seen=state.progress.seen | {value})
    return (state.name, progress, *state.rest)


class Container(Machine):
    """An object or an array whose members have classes, choices and a formula.

    ``{ open (member (before_comma , after_comma member)* close)? }``; a member of an object is
    ``key before_colon : after_colon value``. An empty one holds ``open`` if that equals ``close``,
    else nothing.
    """

    def __init__(
        self,
        kind: str,
        layout: Mapping[str, Atom],
        mark: Callable[[bytes], Atom],
        named: Sequence[Class],
        free: Sequence[Class],
        ordered: int,
        unique: bool,
        formula: Formula | None,
    ) -> None:
        self.is_array = kind == "array"
        self.layout, self.mark = layout, mark
        self.classes, self.named = [*named, *free], len(named)
        self.ordered = self.named if self.is_array else ordered
        self.unique, self.formula = unique, formula
        self.atoms = list(dict.fromkeys(atoms_of(formula))) if formula else []

    # what may follow

    def allowed(self, progress: Progress) -> Iterator[tuple[int, Progress]]:
        """The classes that the next member may have."""
        if self.is_array:
            if progress.place < len(self.classes):
                place = min(progress.place + 1, self.named)
                yield progress.place, progress._replace(place=place)
            return
        for index in range(progress.place, self.ordered):
            yield index, progress._replace(place=index + 1)
            if self.classes[index].required:
                return
        for index in range(self.ordered, len(self.classes)):
            if index >= self.named:
                yield index, progress._replace(place=self.ordered)
            elif index not in progress.taken:
                taken = progress.taken | {index}
                yield index, progress._replace(place=self.ordered, taken=taken)

    def counted(self, progress: Progress, index: int, literals: int) -> Progress:
        counts = list(progress.counts)
        for place, atom in enumerate(self.atoms):
            most = atom[1] + (atom[0] == "all_but")
            if counts_for(atom, index, literals) and counts[place] < most:
                counts[place] += 1
        return progress._replace(counts=tuple(counts))

    def is_complete(self, progress: Progress) -> bool:
        if not self.is_array:
            later = self.classes[progress.place : self.ordered]
            others = range(self.ordered, self.named)
            if any(each.required for each in later):
                return False
            if any(self.classes[at].required and at not in progress.taken for at in others):
                return False
        return self.formula is None or self.holds(self.formula, progress)

    def holds(self, formula: Formula, progress: Progress) -> bool:
        if formula[0] == "and":
            return all(self.holds(part, progress) for part in formula[1])
        if formula[0] == "or":
            return any(self.holds(part, progress) for part in formula[1])
        count: int = progress.counts[self.atoms.index(formula)]
        return bool(count >= formula[1] if formula[0] == "at_least" else count <= formula[1])

    # states: (name, progress), and the class in the middle of a member of an object

    def moves(self, state: Any) -> list[tuple[Atom, State]]:
        if state == "start":
            begin = Progress(0, frozenset(), (0,) * len(self.atoms), frozenset())
            return [(self.mark(b"[" if self.is_array else b"{"), ("opened", begin))]
        if state == "end":
            return []
        name, progress, *rest = state
        found: list[tuple[Atom, State]] = getattr(self, "_" + name)(progress, *rest)
        return found

    def _opened(self, progress: Progress) -> list[tuple[Atom, State]]:
        found: list[tuple[Atom, State]] = [(self.layout["open"], ("member", progress))]
        if not self.is_complete(progress):
            return found
        if self.layout["open"] == self.layout["close"]:
            return [*found, (self.layout["open"], ("shut", progress))]
        return found + self._shut(progress)

    def _member(self, progress: Progress) -> list[tuple[Atom, State]]:
        found: list[tuple[Atom, State]] = []
        for index, after in self.allowed(progress):
            if self.is_array:
                found += self._values(after, index)
            elif self.unique and index >= self.named:
                found.append((self.classes[index].key, Pending("key", after, (index,))))
            else:
                found.append((self.classes[index].key, ("key", after, index)))
        return found

    def _key(self, progress: Progress, index: int) -> list[tuple[Atom, State]]:
        return [(self.layout["before_colon"], ("colon", progress, index))]

    def _colon(self, progress: Progress, index: int) -> list[tuple[Atom, State]]:
        return [(self.mark(b":"), ("gap", progress, index))]

    def _gap(self, progress: Progress, index: int) -> list[tuple[Atom, State]]:
        return [(self.layout["after_colon"], ("values", progress, index))]

    def _values(self, progress: Progress, index: int) -> list[tuple[Atom, State]]:
        found: list[tuple[Atom, State]] = []
        for value, literals in self.classes[index].choices:
            after = self.counted(progress, index, literals)
            waits = self.is_array and self.unique
            found.append((value, Pending("read", after, ()) if waits else ("read", after)))
        return found

    def _read(self, progress: Progress) -> list[tuple[Atom, State]]:
        found: list[tuple[Atom, State]] = [(self.layout["before_comma"], ("comma", progress))]
        if self.is_complete(progress):
            found.append((self.layout["close"], ("shut", progress)))
        return found

    def _comma(self, progress: Progress) -> list[tuple[Atom, State]]:
        return [(self.mark(b","), ("next", progress))]

    def _next(self, progress: Progress) -> list[tuple[Atom, State]]:
        return [(self.layout["after_comma"], ("member", progress))]

    def _shut(self, progress: Progress) -> list[tuple[Atom, State]]:
        return [(self.mark(b"]" if self.is_array else b"}"), "end")]
