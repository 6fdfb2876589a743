"""Results as JSON data, the store of large ones, and the summary of a run."""

from __future__ import annotations

import enum
import json
import threading
from collections.abc import Mapping
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from gramlock.errors import ResultStoreError
from gramlock.tools import (
    Context,
    Dispatcher,
    ResultStore,
    StoredResult,
    ToolCall,
    ToolResult,
    result_tool,
)
from gramlock.tools.results import plain, shorten
from gramlock.tools.summary import summarize


class Colour(enum.IntEnum):
    RED = 1


class Text(str):
    __slots__ = ()


def ring() -> list[Any]:
    value: list[Any] = []
    value.append(value)
    return value


def test_plain_copies_all_the_way_down() -> None:
    inner = [1]
    value = {"a": (inner, Colour.RED, Text("x"), 1.5, Decimal("0.1"), None, True)}
    copied = plain(value)
    assert copied == {"a": [[1], 1, "x", 1.5, Decimal("0.1"), None, True]}
    assert [type(one) for one in copied["a"]] == [
        *(list, Colour, Text, float, Decimal, type(None), bool)
    ]
    inner.append(2)
    assert copied["a"][0] == [1]


@pytest.mark.parametrize(
    "value",
    [
        object(),
        {1: 2},
        {"\ud800": 1},
        "\udfff",
        float("nan"),
        Decimal("-Infinity"),
        b"x",
        {1},
        ring(),
        open,
    ],
    ids=repr,
)
def test_what_is_no_json(value: Any) -> None:
    with pytest.raises(ValueError, match=r"\w"):
        plain(value)


def test_a_small_object_with_many_values_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gramlock.tools.results.MAX_VALUES", 1_000)
    value: list[Any] = []
    for _ in range(40):
        value = [value, value]
    with pytest.raises(ValueError, match="1,000 values"):
        plain(value)


# ---- views


def omitted(value: Any, characters: int) -> tuple[Any, list[str]]:
    view, omissions = shorten(value, characters)
    assert bool(omissions) == (view != value)
    return view, omissions


def test_what_fits_is_shown_whole() -> None:
    value = {"a": [1, 2.5, "x", None, True], "b": {}}
    assert omitted(value, 2_000) == (value, [])


def test_each_cut_is_marked_and_listed() -> None:
    value = {"text": "x" * 5_000, "rows": list(range(1_000)), "last": 1}
    view, omissions = omitted(value, 100)
    assert "4,9" in view["text"]
    assert "left out" in view["text"]
    assert any(line.startswith("$.text: ") for line in omissions)
    assert any("members left out" in line for line in omissions)
    view, omissions = omitted(list(range(1_000)), 100)
    assert view[-1] == f"… [{1_000 - len(view) + 1:,} of 1,000 items left out]"
    assert omissions == [f"$: {1_000 - len(view) + 1:,} of 1,000 items left out"]
    assert view[:-1] == list(range(len(view) - 1))


def test_a_number_of_many_digits_is_cut() -> None:
    view, omissions = omitted({"n": 10**9_000}, 100)
    assert isinstance(view["n"], str)
    assert omissions == ["$.n: 1 of 1 number left out"]


def test_a_view_is_bounded_whatever_the_shape() -> None:
    deep: Any = "x" * 100
    for _ in range(150):
        deep = {"k" * 30: deep, "other": [deep]} if not isinstance(deep, dict) else [deep] * 3
    for value in (deep, ["x" * 50] * 10_000, {f"k{i}": {"v": i} for i in range(10_000)}):
        view, _ = omitted(value, 500)
        assert len(json.dumps(view)) < 5_000


# ---- stores


@pytest.fixture(params=["memory", "directory"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> ResultStore:
    return ResultStore(tmp_path / "results" if request.param == "directory" else None)


def test_a_stored_result_comes_back_whole(store: ResultStore) -> None:
    value = {"rows": [{"n": 10**30, "d": Decimal("0.10000000000000000001"), "é": "😀"}] * 500}
    stored = store.put(value, principal="P1")
    assert store.get(stored.id, principal="P1") == value
    assert store.get(stored.reference, principal="P1") == value
    assert stored.omissions
    assert StoredResult.from_dict(stored.to_dict()) == stored


@pytest.mark.parametrize("principal", ["P2", None, "", '"P1"'])
def test_it_is_not_there_for_anyone_else(store: ResultStore, principal: str | None) -> None:
    stored = store.put([1], principal="P1")
    with pytest.raises(ResultStoreError, match="not visible"):
        store.get(stored.id, principal=principal)
    nobodys = store.put([2])
    assert store.get(nobodys.id) == [2]
    with pytest.raises(ResultStoreError):
        store.get(nobodys.id, principal="None")


@pytest.mark.parametrize("name", ["", "../secret", "0" * 32, "0" * 31, "/etc/passwd", "\0" * 32])
def test_names_that_are_none(store: ResultStore, name: str) -> None:
    with pytest.raises(ResultStoreError, match="no such result"):
        store.get(name)


def test_a_result_may_be_too_large() -> None:
    with pytest.raises(ResultStoreError, match="101 bytes"):
        ResultStore(max_result=100).put("x" * 99)


def test_memory_is_bounded_by_dropping_the_oldest() -> None:
    store = ResultStore(max_result=100, max_bytes=250)
    stored = [store.put("x" * 98) for _ in range(3)]
    with pytest.raises(ResultStoreError):
        store.get(stored[0].id)
    assert store.get(stored[2].id) == "x" * 98


def test_a_directory_outlives_its_store(tmp_path: Path) -> None:
    stored = ResultStore(tmp_path).put({"a": 1}, principal="ö\n")
    assert ResultStore(tmp_path).get(stored.id, principal="ö\n") == {"a": 1}
    assert [path.name for path in tmp_path.iterdir()] == [stored.id]


def test_a_directory_that_is_gone_is_a_named_error(tmp_path: Path) -> None:
    store = ResultStore(tmp_path / "there")
    (tmp_path / "there").rmdir()
    with pytest.raises(ResultStoreError, match="written"):
        store.put([1])


def test_threads_share_a_store() -> None:
    store = ResultStore(max_result=1_000, max_bytes=100_000)
    failures: list[Any] = []

    def work(number: int) -> None:
        for index in range(50):
            stored = store.put([number, index], principal=str(number))
            if store.get(stored.id, principal=str(number)) != [number, index]:
                failures.append((number, index))

    threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []


@pytest.mark.parametrize("told", [{}, {"id": "x"}, {"omissions": 5, "id": 1, "size": 2}])
def test_what_is_no_stored_result(told: Mapping[str, Any]) -> None:
    with pytest.raises(ValueError, match="not a stored result"):
        StoredResult.from_dict(told)


# ---- reading on


def reader(value: Any, **options: Any) -> Any:
    """Dispatches the retrieval tool for a stored *value*, as its principal."""
    store = ResultStore()
    stored = store.put(value, principal="P1")
    dispatcher = Dispatcher([result_tool(store, **options)])

    def read(principal: str = "P1", **arguments: Any) -> ToolResult:
        call = ToolCall("read_result", {"reference": stored.reference, **arguments}, "c1")
        return dispatcher.dispatch(call, Context(principal=principal))

    return read


def test_a_model_reads_on_part_by_part() -> None:
    read = reader({"rows": [{"id": number} for number in range(1_000)], "text": "x" * 5_000})
    result = read(pointer="/rows", offset=990, count=4)
    assert result.value == {
        "type": "array",
        "total": 1_000,
        "offset": 990,
        "left": 6,
        "part": [{"id": number} for number in range(990, 994)],
        "omissions": [],
    }
    assert read(pointer="/rows/7/id").value == {"type": "integer", "part": 7, "omissions": []}
    assert read(pointer="/text", offset=4_999).value["part"] == "x"
    assert read(pointer="/rows", offset=2_000).value["part"] == []


def test_a_part_is_bounded_and_says_so() -> None:
    read = reader(["x" * 500] * 100, characters=1_000)
    value = read().value
    assert value["left"] == 0
    assert any("items left out" in line for line in value["omissions"])
    assert len(json.dumps(value)) < 3_000
    value = reader("y" * 9_000, characters=1_000)().value
    assert (len(value["part"]), value["left"], value["omissions"]) == (1_000, 8_000, [])


def test_what_is_not_there_is_told_alike() -> None:
    read = reader([1])
    missing = read(reference="gramlock-result:" + "0" * 32)
    foreign = read("P2")
    assert missing.outcome == foreign.outcome == "failed"
    assert missing.message == foreign.message
    assert read(pointer="/5").outcome == "failed"
    assert read(offset=-1).boundary == "schema"
    with pytest.raises(ValueError, match="characters"):
        reader([1], characters=0)


# ---- summaries


class Turn:
    def __init__(self, status: str) -> None:
        self.status = status


class Unresolved:
    def unresolved(self) -> list[int]:
        return [1, 2]


def test_a_summary_counts_every_outcome() -> None:
    results = [
        ToolResult("completed", "c1", "a"),
        ToolResult("completed", "c2", "a", replayed=True),
        ToolResult("rejected", "c3", "b", boundary="schema"),
        ToolResult("rejected", "c4", None, boundary="name"),
        ToolResult("rejected", "c5", "b", boundary="schema"),
        ToolResult("uncertain", "c6", "a"),
        ToolResult("accepted", "c7", "a", reference="op-1"),
        ToolResult("invalid_result", "c8", "a", boundary="result"),
    ]
    turns = [Turn("complete"), Turn("refusal"), Turn("complete")]
    summary = summarize(results, completions=turns, ledger=Unresolved())  # type: ignore[arg-type]
    assert summary.outcomes == {
        "completed": 2,
        "rejected": 3,
        "failed": 0,
        "accepted": 1,
        "invalid_result": 1,
        "uncertain": 1,
    }
    assert summary.boundaries == {"schema": 2, "name": 1}
    assert summary.tools["?"] == {"rejected": 1}
    assert (summary.replayed, summary.unresolved) == (1, 2)
    assert summary.completions == {"complete": 2, "refusal": 1}
    assert summary.uncertain == ("c6",)
    assert summary.accepted == ("op-1",)
    assert not summary.settled
    assert json.loads(json.dumps(summary.to_dict()))["results"] == 8
    text = str(summary)
    for told in ("0 failed", "1 uncertain", "schema 2", "refusal 1", "unresolved in the ledger: 2"):
        assert told in text


def test_a_run_of_nothing_is_settled() -> None:
    summary = summarize([])
    assert summary.settled
    assert sum(summary.outcomes.values()) == 0
    assert summary.unresolved is None
