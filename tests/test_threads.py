"""Threads: one program used from many, batches on the pool, forked processes.

Every thread must read the masks that one thread alone reads, while the tables grow under it and,
with a small budget, are dropped under it.
"""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import threading
from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import pytest

import gramlock

TOKENS: list[bytes | None] = [bytes([byte]) for byte in range(256)]
TOKENS += [b'{"', b'":', b'",', b'"}', b"}}", b"true", b"[[", b"]]", b'"a', b"12", b", ", None]
END = len(TOKENS) - 1
SCHEMA = {
    "$defs": {
        "tree": {
            "type": "object",
            "properties": {"name": {"type": "string"}, "size": {"type": "integer"}},
            "additionalProperties": {"type": "array", "items": {"$ref": "#/$defs/tree"}},
        }
    },
    "$ref": "#/$defs/tree",
}
Masks = list[npt.NDArray[np.int32]]


def program(limits: gramlock.Limits | None = None) -> gramlock.Program:
    vocabulary = gramlock.Vocabulary.from_tokens(TOKENS, end_ids=[END])
    return vocabulary.compile(SCHEMA, limits=limits)


def text(seed: int) -> bytes:
    chance = random.Random(seed)

    def tree(depth: int) -> dict[str, object]:
        made: dict[str, object] = {"name": "n" * chance.randint(0, 5)}
        made |= {"size": chance.randint(0, 999)} if chance.random() < 0.5 else {}
        for index in range(chance.randint(0, 2) if depth < 3 else 0):
            made[f"k{index}"] = [tree(depth + 1) for _ in range(chance.randint(0, 2))]
        return made

    return json.dumps(tree(0)).encode()


def walk(matcher: gramlock.Matcher, data: bytes) -> Masks:
    """The masks before each byte of *data*, and after the last."""
    bitmask = gramlock.allocate_token_bitmask(1, len(TOKENS))
    masks = []
    for byte in data:
        matcher.fill_next_token_bitmask(bitmask)
        masks.append(bitmask[0].copy())
        if not matcher.accept_token(byte):
            raise AssertionError(data)
    matcher.fill_next_token_bitmask(bitmask)
    return [*masks, bitmask[0].copy()]


def run_all(tasks: list[Callable[[], None]]) -> None:
    """Each task in a thread of its own; the first error is raised here."""
    errors: list[BaseException] = []

    def guarded(task: Callable[[], None]) -> None:
        try:
            task()
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=guarded, args=(task,)) for task in tasks]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]


@pytest.mark.parametrize("budget", [64 << 20, 150_000], ids=["roomy", "tight"])
def test_one_program_in_many_threads(budget: int, thorough: bool) -> None:
    texts = [text(seed) for seed in range(60 if thorough else 12)]
    expected = [walk(program().matcher(), data) for data in texts]
    shared = program(gramlock.Limits(program_bytes=budget))

    def task(first: int) -> None:
        for index in range(first, first + len(texts)):
            at = index % len(texts)
            for got, wanted in zip(walk(shared.matcher(), texts[at]), expected[at], strict=True):
                assert (got == wanted).all()

    run_all([lambda first=first: task(first) for first in range(6)])
    if budget < 1 << 20:
        assert shared.stats()["epochs"] > 0


@pytest.mark.parametrize("threads", [1, 2, 3, 8])
def test_batches(threads: int) -> None:
    shared, chance = program(), random.Random(threads)
    matchers = []
    for seed in range(100):
        data = text(seed)
        matcher = shared.matcher()
        assert matcher.accept_bytes(data[: chance.randint(0, len(data))])
        matchers.append(matcher)
    bitmask = gramlock.allocate_token_bitmask(len(matchers), len(TOKENS))
    gramlock.fill_next_token_bitmasks(matchers, bitmask, threads=threads)
    single = gramlock.allocate_token_bitmask(1, len(TOKENS))
    for row, matcher in enumerate(matchers):
        matcher.fill_next_token_bitmask(single)
        assert (single[0] == bitmask[row]).all()


@pytest.mark.parametrize("threads", [1, 4])
def test_a_failing_row_fails_alone(threads: int) -> None:
    shared = program()
    matchers = [shared.matcher() for _ in range(20)]
    for row in (7, 13):
        assert matchers[row].accept_bytes(b"{}")
        assert matchers[row].accept_token(END)
    bitmask = gramlock.allocate_token_bitmask(20, len(TOKENS))
    with pytest.raises(gramlock.MatcherError) as caught:
        gramlock.fill_next_token_bitmasks(matchers, bitmask, threads=threads)
    assert caught.value.row == 7
    single = gramlock.allocate_token_bitmask(1, len(TOKENS))
    matchers[0].fill_next_token_bitmask(single)
    for row in set(range(20)) - {7, 13}:
        assert (bitmask[row] == single[0]).all()


def test_a_batch_of_one_fails_as_any_other() -> None:
    matcher = program().matcher()
    bitmask = gramlock.allocate_token_bitmask(1, len(TOKENS))
    assert matcher.accept_bytes(b"{}")
    assert matcher.accept_token(END)
    with pytest.raises(gramlock.MatcherError, match="row 0: the sequence has ended") as caught:
        gramlock.fill_next_token_bitmasks([matcher], bitmask)
    assert caught.value.row == 0
    starved = program(gramlock.Limits(steps=500)).matcher()
    with pytest.raises(gramlock.LimitError) as passed:
        gramlock.fill_next_token_bitmasks([starved], bitmask)
    assert passed.value.row == 0


def test_threads_of_a_batch_do_not_outlive_the_process() -> None:
    """Idle ones, and their memory, keep nobody waiting at the end."""
    code = (
        "import gramlock\n"
        "vocabulary = gramlock.Vocabulary.from_tokens([bytes([b]) for b in range(256)])\n"
        "new = [vocabulary.compile({'minLength': n}).matcher() for n in range(64)]\n"
        "bitmask = gramlock.allocate_token_bitmask(64, 256)\n"
        "gramlock.fill_next_token_bitmasks(new, bitmask, threads=4)\n"
        "print('filled')\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=120
    )
    assert done.stdout == "filled\n"


def test_batches_at_the_same_time() -> None:
    shared = program()

    def task() -> None:
        matchers = [shared.matcher() for _ in range(32)]
        bitmask = gramlock.allocate_token_bitmask(32, len(TOKENS))
        for byte in text(3):
            gramlock.fill_next_token_bitmasks(matchers, bitmask, threads=2)
            assert (bitmask == bitmask[0]).all()
            assert all(matcher.accept_token(byte) for matcher in matchers)

    run_all([task] * 4)


def test_compiling_in_many_threads() -> None:
    vocabulary = gramlock.Vocabulary.from_tokens(TOKENS, end_ids=[END])

    def task(number: int) -> None:
        for index in range(20):
            schema = {
                "properties": {f"p{number}": {"maxLength": index}},
                "required": [f"p{number}"],
            }
            matcher = vocabulary.compile(schema | {"type": "object"}).matcher()
            assert matcher.accept_bytes(f'{{"p{number}":"'.encode() + b"x" * index + b'"}')

    run_all([lambda number=number: task(number) for number in range(6)])


@pytest.mark.skipif(sys.platform == "win32", reason="there is no fork")
@pytest.mark.filterwarnings("ignore:.*fork.*")
def test_a_forked_child_has_a_pool_of_its_own() -> None:
    known, new = ([program().matcher() for _ in range(16)] for _ in range(2))
    bitmask = gramlock.allocate_token_bitmask(16, len(TOKENS))
    gramlock.fill_next_token_bitmasks(known, bitmask, threads=4)
    child = os.fork()
    if child == 0:
        again = gramlock.allocate_token_bitmask(16, len(TOKENS))
        for matchers in (known, new):  # new states take long enough for more threads to be woken
            again[:] = 0
            gramlock.fill_next_token_bitmasks(matchers, again, threads=4)
            if not (again == bitmask).all():
                os._exit(1)
        os._exit(0)
    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == 0
