"""The logits processor for ``model.generate()`` of transformers.

``generate()`` calls a processor with all ids so far and the scores of the next token. The processor
finds where each row comes from (:mod:`.lineage`), takes that row's matcher one token further, and
forbids every token that its grammar does not allow. Greedy search, sampling, beams, several
sequences per prompt, assisted and prompt-lookup decoding differ only in where rows come from, so
none of them is a special case, with one exception. Beam search keeps rows it has given up on: with
no better candidate left it carries on with forbidden tokens at a score of minus infinity, or past
an end at -1e9. Such rows are recognised (log-probabilities, several rows of one prompt) and can
only stay what they are; in any other mode a forbidden token is an error.

Rows past an end id are left alone, because ``generate()`` overwrites them with padding.

Scores are never changed in place: ``generate(output_logits=True)`` keeps the tensor it passes in,
and prompt lookup passes the same one several times. Copying and forbidding is one pass over memory,
and the memory of the last two results is used again once nobody holds them (``generate()`` holds
one while it asks for the next).

Invariants  a row's matcher has accepted exactly the row's ids from its prompt's end on; nothing is
            remembered of a call that failed, so it can be repeated.
Cost        per row one matcher step and one mask; per call one copy of ids to the host and, on an
            accelerator, one copy of packed masks to the device. Tested by test_transformers.py.
"""

from __future__ import annotations

import math
import time
import weakref
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from .._matching import copy_allowed
from ..bitmask import allocate_token_bitmask, fill_next_token_bitmasks
from ..compiler import Program
from ..errors import LimitError, MatcherError, VocabularyError
from ..matcher import Matcher
from ..vocabulary import Vocabulary
from .lineage import Lineage, Step

if TYPE_CHECKING:
    import numpy.typing as npt
    from torch import Tensor

__all__ = ["LogitsProcessor", "ProcessorStats", "forbid_on_device"]

_BEAM_SLACK = 1e-3
_ALIGNMENT = 64
_vocabularies: weakref.WeakKeyDictionary[Any, dict[Any, Vocabulary]] = weakref.WeakKeyDictionary()


@dataclass
class ProcessorStats:
    """What the constraint has cost since the processor was made.

    Attributes:
        calls: How often ``generate()`` asked.
        masks: Masks written; one a row, rows that had ended not counted.
        seconds_follow: Finding where rows come from, the copy of new ids to the host included.
        seconds_mask: Matcher steps and masks.
        seconds_apply: Forbidding tokens in the scores. On an accelerator only the launch.
    """

    calls: int = 0
    masks: int = 0
    seconds_follow: float = 0.0
    seconds_mask: float = 0.0
    seconds_apply: float = 0.0

    @property
    def seconds(self) -> float:
        """All three together."""
        return self.seconds_follow + self.seconds_mask + self.seconds_apply

    @property
    def mean_microseconds(self) -> float:
        """Mean time of one mask with its matcher step, in microseconds."""
        return 1e6 * self.seconds_mask / self.masks if self.masks else 0.0


@dataclass
class _Row:
    """One sequence. *steps* ids after *start* are in the matcher; any further ones are ignored."""

    matcher: Matcher
    start: int  # columns of the prompt
    steps: int = 0
    state: Literal["live", "ended", "dead"] = "live"  # dead: a beam that was given up
    leader: int = -1  # beam search: which beams belong together


class LogitsProcessor:
    """Keep ``model.generate()`` inside a grammar.

    ::

        processor = gramlock.LogitsProcessor(schema, tokenizer)
        model.generate(**inputs, logits_processor=[processor])

    One object may be used for any number of calls, one after the other, and by an assistant model
    and its target together. Everything is derived from the ids that ``generate()`` passes: a
    known row plus one token goes on, a beginning of a known row (not shorter than its prompt) goes
    back, anything else is a new prompt; :meth:`reset` says so explicitly.

    Args:
        grammar: A JSON Schema, a :class:`~gramlock.Grammar` or a compiled
            :class:`~gramlock.Program` for all rows; or a list of them, shared out evenly and in
            order: with ``n`` sequences or beams a prompt, the first grammar gets the first ``n``
            rows.
        tokenizer: The model's tokenizer, or its :class:`~gramlock.Vocabulary`.
        prefix: Text that has been generated already, that is the end of the prompt: the grammar
            counts it. One for all rows, or a list, shared out like grammars.
        generation_config: The model's, for its end ids and padding. Tokenizer and configuration
            of many chat models name different end ids; ``generate()`` stops at those of the
            configuration.
        end_ids: End ids, instead of those of the tokenizer and *generation_config*.
        pad_token_id: What ``generate()`` fills ended rows with, if it is an ordinary token.
        limits: Budgets, see :class:`gramlock.Limits`.
        **schema_options: As for :meth:`gramlock.Grammar.from_json_schema`.

    Raises:
        GrammarError: A schema cannot be used.
        VocabularyError: The tokenizer cannot be read, or nothing tells where a text ends.
        MatcherError: A prefix that the grammar does not allow (``row`` counts the grammars).

    Attributes:
        stats: What it has cost so far.
        vocabulary: The tokenizer as bytes.
    """

    supports_continuous_batching = False

    def __init__(
        self,
        grammar: Any,
        tokenizer: Any,
        *,
        prefix: str | bytes | Sequence[str | bytes] = "",
        generation_config: Any = None,
        end_ids: Sequence[int] | None = None,
        pad_token_id: int | None = None,
        limits: Any = None,
        **schema_options: Any,
    ) -> None:
        self._lineage = Lineage()
        self.vocabulary = _vocabulary(tokenizer, generation_config, end_ids)
        if not self.vocabulary.end_ids:
            raise VocabularyError("no end id is known; pass end_ids or generation_config")
        self._padding = set(self.vocabulary.end_ids) | set(self.vocabulary.special_ids)
        sources = (tokenizer, generation_config)
        pads = [pad_token_id, *(getattr(source, "pad_token_id", None) for source in sources)]
        self._padding |= {pad for pad in pads if isinstance(pad, int)}
        grammars = list(grammar) if isinstance(grammar, list | tuple) else [grammar]
        prefixes = [prefix] if isinstance(prefix, str | bytes) else list(prefix)
        self._starts = self._begin(grammars, prefixes, limits, schema_options)
        bits = np.zeros(-(-self.vocabulary.size // 32) * 32, dtype=np.uint8)
        bits[list(self.vocabulary.end_ids)] = 1
        self._ends = np.packbits(bits, bitorder="little").view(np.int32)
        self._mask = allocate_token_bitmask(0, 0)
        self.stats = ProcessorStats()
        self.reset()

    def reset(self) -> None:
        """Forget all rows: whatever comes next is a new prompt. Frees the memory of results."""
        self._lineage.forget()
        self._results = _Results()
        self._rows: list[_Row] = []
        self._filler: int | None = None

    def __call__(self, input_ids: Tensor, scores: Tensor) -> Tensor:
        """Forbid what the grammar does not allow next.

        Args:
            input_ids: All ids so far, ``(batch, length)``.
            scores: Logits or log-probabilities, ``(batch, width)``, of any floating type. Ids past
                the vocabulary are forbidden. Not changed.

        Returns:
            Scores of the same shape, type and device.

        Raises:
            MatcherError: A row cannot go on: the caller or another processor insists on tokens
                that the grammar forbids, or a budget was passed. Nothing has changed then.
        """
        if input_ids.ndim != 2 or scores.ndim != 2 or len(input_ids) != len(scores):
            raise MatcherError(
                "rows of ids and rows of scores are needed, equally many"
                f" (got shapes {tuple(input_ids.shape)} and {tuple(scores.shape)})"
            )
        clock = [time.perf_counter()]
        groups = self._groups(len(input_ids))
        step = self._lineage.follow(input_ids, groups, scores)
        clock.append(time.perf_counter())
        accepted: list[Matcher] = []
        try:
            rows = self._advance(step, input_ids, scores, groups, accepted)
            mask = self._fill(rows, scores.shape[1])
            clock.append(time.perf_counter())
            result, left = self._forbid(scores, mask, any(step.banned))
            if not all(left):
                self._check_choice(rows, left, mask, scores.shape[1])
        except BaseException:
            for matcher in accepted:
                matcher.rollback(1)
            raise
        self._lineage.remember(input_ids, groups)
        self._rows = rows
        clock.append(time.perf_counter())
        self._count(rows, clock)
        return result

    # ---- set-up

    def _begin(
        self, grammars: list[Any], prefixes: list[str | bytes], limits: Any, options: dict[str, Any]
    ) -> list[Matcher]:
        """By group of rows, a matcher that has read the prefix; rows start as forks of it."""
        count = max(len(grammars), len(prefixes))
        if not grammars:
            raise MatcherError("no grammar is given: the list is empty")
        if {len(grammars), len(prefixes)} - {1, count}:
            raise MatcherError(f"{len(prefixes)} prefixes do not fit {len(grammars)} grammars")
        programs = [self._compile(item, limits, options) for item in grammars]
        starts = []
        for group in range(count):
            text = prefixes[group % len(prefixes)]
            data = text.encode() if isinstance(text, str) else bytes(text)
            matcher = programs[group % len(programs)].matcher()
            if data and not matcher.accept_bytes(data):
                raise MatcherError(f"the grammar allows no text that begins {data!r}", row=group)
            starts.append(matcher)
        return starts

    def _compile(self, grammar: Any, limits: Any, options: dict[str, Any]) -> Program:
        if isinstance(grammar, Program):
            return grammar
        return self.vocabulary.compile(grammar, limits=limits, **options)

    def _groups(self, rows: int) -> list[int]:
        """By row, which of the grammars it follows."""
        count = len(self._starts)
        if rows % count:
            raise MatcherError(f"{rows} rows cannot be shared out evenly to {count} grammars")
        share = rows // count
        return [row // share for row in range(rows)] if count > 1 else [0] * rows

    # ---- following the rows

    def _advance(
        self,
        step: Step,
        ids: Tensor,
        scores: Tensor,
        groups: list[int],
        accepted: list[Matcher],
    ) -> list[_Row]:
        """The rows after this call's ids. *accepted*: matchers that were moved, for undoing."""
        length = ids.shape[1]
        rows: list[_Row | None] = []
        waiting = Counter(step.parent)
        for index, parent in enumerate(step.parent):
            before = self._rows[parent] if parent >= 0 else None
            waiting[parent] -= 1
            if before is None or length <= before.start:
                rows.append(None)
                continue
            count, shared = length - 1 - before.start, waiting[parent] > 0
            rows.append(self._child(before, step.last[index], index, count, shared, accepted))
        new = [index for index, row in enumerate(rows) if row is None]
        leaders = [-1] * len(rows)
        if len(new) == len(rows):
            self._filler = None
            leaders = self._leaders(ids, scores, groups)
        for index in new:
            start = self._starts[groups[index]].fork()
            rows[index] = _Row(start, length, leader=leaders[index])
        found = [row for row in rows if row is not None]
        self._check_beams(found)
        return found

    def _child(
        self,
        before: _Row,
        token: int,
        index: int,
        count: int,
        shared: bool,
        accepted: list[Matcher],
    ) -> _Row:
        """The row made of the first *count* ids of *before* and *token*.

        The last child takes over the matcher of its parent; those before it (*shared*), and any
        child that goes back, get a fork.
        """
        if before.state == "ended" and count >= before.steps:
            if before.leader >= 0 and token not in self._padding:
                return replace(before, state="dead")
            self._check_filler(token, index, count)
            return before
        if before.state == "dead" and count > before.steps:
            return before
        back = before.steps - count
        matcher = before.matcher.fork() if shared or back else before.matcher
        if back:
            matcher.rollback(back)
        row = _Row(matcher, before.start, count, "live", before.leader)
        if not self._accept(matcher, token, index, count):
            if before.leader < 0:
                reason = f"{self._name(token)} was chosen, which the grammar does not allow here"
                raise MatcherError(reason, index, count)
            row.state = "dead"
            return row
        if matcher is before.matcher:
            accepted.append(matcher)
        row.steps += 1
        if token in self.vocabulary.end_ids and matcher.is_terminated():
            row.state = "ended"
        return row

    def _accept(self, matcher: Matcher, token: int, index: int, count: int) -> bool:
        try:
            return token >= 0 and matcher.accept_token(token)
        except LimitError as error:
            raise MatcherError(str(error), index, count) from error

    def _name(self, token: int) -> str:
        """A token for a person to recognise."""
        known = 0 <= token < self.vocabulary.size
        data = self.vocabulary.tokens[token] if known else None
        return f"token {token} ({data!r})" if data else f"token {token}"

    def _check_filler(self, token: int, index: int, count: int) -> None:
        """After an end only padding may come: one and the same token, whichever it is."""
        if token in self._padding or token == self._filler:
            return
        if self._filler is not None:
            raise MatcherError(
                f"{self._name(token)} follows an end id: the caller does not stop at it; pass"
                " generation_config=model.generation_config or end_ids",
                index,
                count,
            )
        self._filler = token

    # ---- beam search

    def _leaders(self, ids: Tensor, scores: Tensor, groups: list[int]) -> list[int]:
        """By row, its first beam if these are the first scores of a beam search, else -1.

        Beams of one prompt begin with equal ids and get log-probabilities, whose sum is 1, or less
        if another processor has forbidden some.
        """
        alone = [-1] * len(ids)
        if len(ids) == 1:
            return alone
        pairs = list(zip(groups, self._lineage.twins(ids), strict=True))
        if 1 in Counter(pairs).values():
            return alone
        totals = scores.float().logsumexp(-1)
        low, high = float(totals.amin()), float(totals.amax())
        banned = float(scores.amin()) == -math.inf
        least = math.log(_BEAM_SLACK) if banned else -_BEAM_SLACK
        if not least <= low <= high <= _BEAM_SLACK:
            return alone
        return [pairs.index(pair) for pair in pairs]

    def _check_beams(self, rows: list[_Row]) -> None:
        """Of the beams of one prompt at least one must go on."""
        alive = {row.leader for row in rows if row.state != "dead"}
        for index, row in enumerate(rows):
            if row.state == "dead" and row.leader not in alive:
                raise MatcherError(
                    "no beam can go on: all chose forbidden tokens", index, row.steps
                )

    def _check_choice(
        self, rows: list[_Row], left: list[bool], mask: npt.NDArray[np.int32], width: int
    ) -> None:
        """Something is left to choose from (*left*, by row), if another processor forbade, too."""
        open_leaders = {row.leader for row, some in zip(rows, left, strict=True) if some}
        for index, (row, some) in enumerate(zip(rows, left, strict=True)):
            if some or row.state != "live" or (row.leader >= 0 and row.leader in open_leaders):
                continue
            words = np.ascontiguousarray(mask[index]).view(np.uint8)
            allowed = np.flatnonzero(np.unpackbits(words, bitorder="little")[:width])
            if not len(allowed):  # the model has no column for what comes next
                continue
            names = ", ".join(self._name(int(token)) for token in allowed[:3])
            more = ", …" if len(allowed) > 3 else ""
            reason = f"another processor forbids all that the grammar allows: {names}{more}"
            raise MatcherError(reason, index, row.steps)

    # ---- masks

    def _fill(self, rows: list[_Row], width: int) -> npt.NDArray[np.int32]:
        """One mask a row, as wide as the scores; the array is used again by the next call."""
        width = max(width, self.vocabulary.size)
        if self._mask.shape != (len(rows), -(-width // 32)):
            self._mask = allocate_token_bitmask(len(rows), width)
        mask = self._mask
        if len(rows) > 1 and all(row.state == "live" for row in rows):
            try:
                fill_next_token_bitmasks([row.matcher for row in rows], mask)
            except LimitError as error:
                at = error.row or 0
                raise MatcherError(str(error), at, rows[at].steps) from error
            return mask
        for index, row in enumerate(rows):
            if row.state == "live":
                try:
                    row.matcher.fill_next_token_bitmask(mask, index)
                except LimitError as error:
                    raise MatcherError(str(error), index, row.steps) from error
            elif row.state == "ended" and row.leader < 0:
                mask[index] = -1
            else:
                mask[index] = 0
                if row.state == "ended":
                    mask[index, : len(self._ends)] = self._ends
        return mask

    # ---- scores

    def _forbid(
        self, scores: Tensor, mask: npt.NDArray[np.int32], banned: bool
    ) -> tuple[Tensor, list[bool]]:
        """A copy of the scores with minus infinity wherever the mask's bit is clear.

        With it, by row, whether anything else is left; where the scores are on an accelerator, only
        if some were minus infinity before (*banned*), since it costs a wait.
        """
        if scores.device.type != "cpu":
            result = forbid_on_device(scores, mask)
            left = (result.amax(-1) != -math.inf).cpu().tolist() if banned else [True] * len(mask)
            return result, left
        import torch

        if scores.stride(1) != 1:
            scores = scores.contiguous()
        result = self._results.like(scores)
        left = copy_allowed(
            (scores.data_ptr(), scores.stride(0)),
            (result.data_ptr(), result.stride(0)),
            str(scores.dtype).removeprefix("torch."),
            (len(scores), scores.shape[1]),
            mask,
            torch.get_num_threads(),
        )
        return result, left

    def _count(self, rows: list[_Row], clock: list[float]) -> None:
        stats = self.stats
        stats.calls += 1
        stats.masks += sum(row.state == "live" for row in rows)
        stats.seconds_follow += clock[1] - clock[0]
        stats.seconds_mask += clock[2] - clock[1]
        stats.seconds_apply += clock[3] - clock[2]


def _vocabulary(
    tokenizer: Any, generation_config: Any, end_ids: Sequence[int] | None
) -> Vocabulary:
    """The tokenizer's vocabulary, built once per tokenizer and end ids."""
    if isinstance(tokenizer, Vocabulary):
        return tokenizer
    options = {"end_ids": end_ids, "generation_config": generation_config}
    try:
        known = _vocabularies.setdefault(tokenizer, {})
        size = len(tokenizer)
    except TypeError:  # a path, or an object without a length
        return Vocabulary.from_huggingface(tokenizer, **options)
    ends = (getattr(tokenizer, "eos_token_id", None), str(generation_config), str(end_ids))
    if (size, ends) not in known:
        known[size, ends] = Vocabulary.from_huggingface(tokenizer, **options)
    return known[size, ends]


class _Results:
    """Memory for results: the last two pieces are used again as soon as no tensor holds them.

    A result of many rows is tens of megabytes, and fresh memory costs more than what is written to
    it. A tensor made from an array keeps that array alive for as long as any tensor shares its
    memory, so a weak reference to the array tells when the memory is free.
    """

    def __init__(self) -> None:
        self._pieces: list[tuple[npt.NDArray[Any], weakref.ref[Any]]] = []

    def like(self, scores: Tensor) -> Tensor:
        """A tensor of this shape and type, contiguous, its content left open."""
        import torch

        name = str(scores.dtype).removeprefix("torch.")
        kind = np.dtype("int16" if name == "bfloat16" else name)  # which numpy has no name for
        shape = tuple(scores.shape)
        for memory, user in self._pieces:
            if user() is None and memory.shape == shape and memory.dtype == kind:
                break
        else:
            size = scores.numel() * kind.itemsize
            space = np.empty(size + _ALIGNMENT, dtype=np.uint8)
            memory = space[-space.ctypes.data % _ALIGNMENT :][:size].view(kind).reshape(shape)
        held = memory[:]  # an object of its own, which only the tensor keeps
        self._pieces = [one for one in self._pieces if one[0] is not memory][-1:]
        self._pieces.append((memory, weakref.ref(held)))
        result = torch.from_numpy(held)
        return result if result.dtype == scores.dtype else result.view(scores.dtype)


def forbid_on_device(scores: Tensor, mask: npt.NDArray[np.int32]) -> Tensor:
    """The same by tensor operations where the scores are; only the packed mask travels.

    Args:
        scores: ``(batch, width)``.
        mask: ``(batch, words)``; at least one bit a column.
    """
    import torch

    packed = torch.from_numpy(mask).to(scores.device)
    shifts = torch.arange(32, dtype=torch.int32, device=scores.device)
    bits = (packed.unsqueeze(-1) >> shifts) & 1
    forbidden = bits.view(len(mask), -1)[:, : scores.shape[1]] == 0
    return scores.masked_fill(forbidden, -math.inf)
