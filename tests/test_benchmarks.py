"""What the benchmarks do with times; the times themselves are asserted nowhere.

Figures are made up, except for small runs that must end and count right.
"""

from __future__ import annotations

import importlib
import json
import math
import re
import sys
from pathlib import Path
from typing import Any

import pytest

import gramlock
from conftest import ROOT

if str(ROOT) not in sys.path:
    sys.path.insert(0, str(ROOT))

batch, compare, corpus, figures, growth, memory, page, rounds, vocabularies = (
    importlib.import_module(f"benchmarks.{name}")
    for name in (
        *("bench_batch", "compare", "corpus", "figures", "bench_growth", "bench_memory"),
        *("page", "rounds", "bench_vocabulary"),
    )
)

ENGINES = ["gramlock", "other"]


# ---- figures


def test_the_curve_of_a_hundred_numbers() -> None:
    curve = dict(zip(figures.RANKS, figures.curve([*range(101)]), strict=True))
    assert curve[1] == 1
    assert curve[50] == 50
    assert curve[99] == 99
    assert curve[100] == 100
    assert figures.curve([]) == []


def test_every_mark_is_a_point_of_the_curve() -> None:
    assert {rank for marks in rounds.MARKS.values() for rank in marks.values()} <= {*figures.RANKS}
    assert [*figures.RANKS] == sorted(set(figures.RANKS))


@pytest.mark.parametrize("power", [0, 1, 2, 0.5])
def test_exponents(power: float) -> None:
    points = {size: 3 * size**power for size in (10, 100, 1000, 10_000)}
    assert figures.exponent(points) == pytest.approx(power)


def test_what_is_constant_hides_no_growth() -> None:
    points = {size: 1000 + size for size in (1, 10, 100, 1000, 10_000, 100_000, 1_000_000)}
    assert figures.exponent(points) == pytest.approx(1, abs=0.01)


def test_too_few_points_have_no_exponent() -> None:
    assert figures.exponent({}) is None
    assert figures.exponent({10: 5.0}) is None
    assert figures.exponent({10: 0.0, 100: 5.0}) is None


def test_ratios_are_to_the_best_of_the_others() -> None:
    assert figures.ratio({"gramlock": 2.0, "a": 8.0, "b": 4.0}, "gramlock") == 0.5
    assert figures.ratio({"gramlock": 2.0}, "gramlock") is None
    assert figures.ratio({"a": 2.0}, "gramlock") is None


# ---- rounds


def result(first: int, *steps: int, **flaws: Any) -> dict[str, Any]:
    def both(value: int) -> dict[str, int]:
        return dict.fromkeys(rounds.CLOCKS, 1000 * value)

    fine = {"refused": "", "rejected": 0, "let_through": 0}
    return {**fine, "first": both(first), "steps": [both(step) for step in steps], **flaws}


def one_round(scale: int) -> dict[str, Any]:
    """Three schemas: all right; one engine wrong; one engine refuses."""
    seen = [
        {"gramlock": result(scale, scale, 3 * scale), "other": result(10, 10, 30)},
        {"gramlock": result(500, 500), "other": result(500, 500, let_through=1)},
        {"gramlock": result(500, 500), "other": result(1, refused="ValueError: no\nat line 7")},
    ]
    visits = dict.fromkeys(rounds.PASSES, seen)
    summary = rounds.summarise(ENGINES, ["fine", "loose", "refused"], visits)
    return {"empty_step": dict.fromkeys(rounds.CLOCKS, 0.5), **summary}


def test_times_count_where_all_are_right() -> None:
    one = one_round(1)
    assert (one["schemas"], one["shared"]) == (3, 1)
    assert one["means"]["cold, wall, step"] == {"gramlock": 2, "other": 20}
    assert one["verdicts"]["other"] == {
        "right": 1,
        "refused": 1,
        "a valid text rejected": 0,
        "an invalid text let through": 1,
    }
    assert one["wrong"]["gramlock"] == []
    assert one["wrong"]["other"] == [
        ["loose", "an invalid text let through"],
        ["refused", "refused (ValueError: no)"],
    ]


def test_rounds_are_combined_by_their_medians() -> None:
    both = rounds.combine([one_round(scale) for scale in (1, 5, 2)], ENGINES)
    assert both["rounds"] == 3
    row = both["figures"]["warm, processor, first mask, worst"]
    assert row == {"gramlock": 2, "other": 10, "ratio": pytest.approx(0.2)}
    key = "cold, wall, step"
    assert both["curves"][key]["other"] == one_round(1)["curves"][key]["other"]


def test_an_engine_alone_has_no_ratio() -> None:
    visits = {passing: [{"gramlock": result(4, 5)}] for passing in rounds.PASSES}
    one = rounds.summarise(["gramlock"], ["fine"], visits)
    both = rounds.combine([{"empty_step": dict.fromkeys(rounds.CLOCKS, 0), **one}], ["gramlock"])
    assert both["figures"]["cold, wall, step, median"] == {"gramlock": 5}


class Pretender:
    """An engine that allows the ids of one text, then the end id 9."""

    def __init__(self, text: list[int]) -> None:
        self.text, self.words = text, [0]

    def source(self, schema: dict[str, Any]) -> str:
        return json.dumps(schema)

    def compile(self, text: str) -> None:
        if "broken" in text:
            raise ValueError("no such keyword")

    def start(self) -> None:
        self.at = 0

    def fill(self) -> None:
        self.words[0] = 1 << (self.text[self.at] if self.at < len(self.text) else 9)

    def accept(self, token: int) -> None:
        self.at += 1


def test_a_visit_judges_texts() -> None:
    row = {"schema": {}, "ids": [([1, 2], True), ([1], False), ([1, 3], False), ([2], True)]}
    seen = rounds.visit(Pretender([1, 2]), 9, row)
    assert (seen["refused"], seen["rejected"], seen["let_through"]) == ("", 1, 0)
    assert len(seen["steps"]) == 6
    seen = rounds.visit(Pretender([1]), 9, row)
    assert (seen["rejected"], seen["let_through"]) == (2, 1)
    seen = rounds.visit(Pretender([1]), 9, {"schema": {"broken": 1}, "ids": []})
    assert seen["refused"] == "ValueError: no such keyword"
    assert not rounds.is_right(seen)


def test_rows_of_a_file(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    rows = [{"schema": {"const": i}, "tests": [{"data": [i], "valid": True}]} for i in range(5)]
    path.write_text("\n".join(map(json.dumps, rows)) + "\n")

    class Tokenizer:
        def encode(self, text: str, add_special_tokens: bool) -> list[int]:
            return [*text.encode()]

    task = rounds.Task(tmp_path, ENGINES, rounds.Setting("", "compact"), path, every=2)
    read = [*rounds.read_rows(task, Tokenizer())]
    assert [row["schema"]["const"] for row in read] == [0, 2, 4]
    assert read[1]["ids"] == [([*b"[2]"], True)]


# ---- growth


@pytest.mark.parametrize("name", growth.AXES)
def test_the_smallest_of_each_axis(name: str) -> None:
    axis = growth.AXES[name]
    assert [*axis.sizes] == sorted(set(axis.sizes))
    subject = axis.subject(axis.sizes[0], 7)
    assert subject.make().accepts(subject.text) == (name != "min-items")
    small = growth.Axis(axis.title, axis.sizes[:1], axis.subject)
    [(size, point)] = growth.points(small, rounds=1)
    assert size == axis.sizes[0]
    assert set(point) == set(growth.FIGURES)
    assert all(math.isfinite(value) and value > 0 for value in point.values())


def test_a_limit_ends_an_axis() -> None:
    def subject(size: int, salt: int) -> Any:
        if size > 1:
            raise gramlock.LimitError("steps", 10, 20)
        return growth.properties(size, salt)

    one, two = growth.points(growth.Axis("", (1, 2, 3), subject), rounds=1)
    assert one[0] == 1
    assert isinstance(two[1], str)
    assert "steps" in two[1]


def test_what_grows_faster_than_it_should_is_named() -> None:
    found = {
        size: {**dict.fromkeys(growth.FIGURES, 1.0), "worst": float(size), "program": float(size)}
        for size in (10, 100, 1000)
    }
    grown = growth.grown("properties", found)
    assert grown["faster"] == ["worst"]
    assert grown["exponents"]["program"] == pytest.approx(1)
    assert growth.grown("max-items", found)["faster"] == ["program", "worst"]


# ---- memory, batches, corpora


def test_a_short_life() -> None:
    life = memory.long_life("synthetic", grammars=12, tokens=1200)
    assert life["tokens"] == 1200
    assert [point["grammars"] for point in life["points"]] == [*range(1, 13)]
    assert life["largest_process"] >= life["points"][0]["process"] > 0
    assert memory.peak() >= 1


def test_prefixes_are_spread_over_the_text() -> None:
    ids = [*range(10)]
    assert batch.prefixes(ids, 5) == [[], ids[:2], ids[:4], ids[:6], ids[:8]]
    assert batch.prefixes(ids, 1) == [[]]


def test_threads_that_share_a_program(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batch, "MASKS", 640)
    vocabulary = corpus.vocabulary("synthetic")
    rates = batch.sharing(vocabulary, corpus.tokenize("synthetic", batch.CASE.text(1)), 1)
    assert [one["threads"] for one in rates] == [*batch.THREADS]
    assert all(one["rate"] > 0 for one in rates)


class Filed:
    """A vocabulary of which only files matter."""

    def save(self, path: Path) -> None:
        path.write_bytes(bytes(100))

    @classmethod
    def load(cls, path: Path) -> Filed:
        assert path.stat().st_size == 100
        return cls()


def test_a_vocabulary_out_of_a_file() -> None:
    found = vocabularies.from_file(Filed())
    assert found["bytes"] == 100
    assert min(found["save"], found["load"]) > 0
    assert vocabularies.from_file(object()) is None


def test_drafts_of_each_length(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batch, "MASKS", 640)
    vocabulary = corpus.vocabulary("synthetic")
    found = batch.drafts(vocabulary, corpus.tokenize("synthetic", batch.CASE.text(2)), 2)
    assert [one["draft"] for one in found] == [*batch.DRAFTS]


def test_the_longest_token_comes_first() -> None:
    ids = corpus.index([b"a", b"ab", b"a", None, b"b"])
    assert ids == ({b"a": 0, b"ab": 1, b"b": 4}, 2)
    assert corpus.longest_first(*ids, b"aab") == [0, 1]


@pytest.mark.parametrize("row", corpus.comparison_rows(), ids=lambda row: str(row["id"]))
def test_the_cases_are_what_they_say(row: dict[str, Any]) -> None:
    grammar = gramlock.Grammar.from_json_schema(row["schema"])
    for test in row["tests"]:
        assert grammar.accepts(json.dumps(test["data"], ensure_ascii=False)) == test["valid"]


# ---- the page


def made_up() -> dict[str, Any]:
    """A record with every part."""
    both = rounds.combine([one_round(1)], ENGINES)
    points = {
        size: dict.fromkeys(growth.FIGURES, float(size)) for size in growth.AXES["enum"].sizes
    }
    grown = {
        "title": "values of an enum",
        "points": {str(size): point for size, point in points.items()},
        "limit": "at 10: a budget",
        **growth.grown("enum", points),
    }
    life_point = {"grammars": 1, "process": 9.0, "vocabulary": 2.0, "programs": 1.0}
    life = {
        "grammars": 1,
        "tokens": 5,
        "before": 8.0,
        "points": [{**life_point, "step": 1.0, "compile": 2.0}],
        "step_early": 1.25,
        "step_late": 1.5,
        "largest_vocabulary": 2.0,
        "largest_process": 9.0,
    }
    generated = {"size": 49152, "batch": 8, "steps": 9, "differing": 0, "states": "warm"}
    parts = {"follow": 1.0, "mask": 2.0, "apply": 3.0}
    model = {"model": "m", "tokens": 9, "threads": 1, "without": 10.0, "with": 9.9, "ratio": 0.99}
    return {
        "date": "2026-01-02T03:04:05+00:00",
        "commit": "abc1234",
        "machine": {"cpu": "C", "cores": 2, "memory_gib": 4.0, "system": "S", "python": "3.12.0"},
        "versions": {"gramlock": "0.1.0", "other": "7.8.9"},
        "tokenizer": "t",
        "data": "cases",
        "note": "a quiet machine",
        "engines": {"defaults": {"title": "as they come", **both}},
        "vocabulary": {
            "tokenizer": "t",
            "seconds": {"gramlock": 0.25, "other": 4.0},
            "file": {"save": 0.02, "load": 0.0041, "bytes": 3 << 20},
        },
        "batch": {
            "rows": [{"rows": 256, "threads": 2, "states": "warm", "gramlock": 0.7, "other": 4.5}],
            "sharing": [{"threads": 1, "rate": 1234567.0}],
            "drafts": [{"draft": 64, "together": 0.4, "one_by_one": 0.9}],
        },
        "logits": {
            "engines": ENGINES,
            "size": 128256,
            "rows": [{"share": 0.001, "gramlock": 6.0, "other": 30.0}],
        },
        "generate": {
            "engines": ENGINES,
            "rows": [{**generated, "gramlock": 1.0, "other": 4.0, "ratio": 0.25, "parts": parts}],
            "model": {**model, "share": 0.004, "microseconds": 6.0, "parts": parts},
        },
        "memory": {
            "life": life,
            "peaks": {"gramlock": {"tokenizer": 300.0, "vocabulary": 340.0, "end": 341.0}},
        },
        "growth": {"enum": grown},
    }


def test_the_page_has_it_all() -> None:
    text = page.page(made_up(), {"step, defaults": "step.svg", "memory": "memory.svg"})
    for part in (
        "2026-01-02 03:04:05 UTC, commit `abc1234`",
        "C, 2 cores, 4 GiB, S, Python 3.12.0",
        "gramlock 0.1.0, other 7.8.9",
        "a quiet machine",
        "![step by percentile](step.svg)",
        "| cold, step, mean | 2.00 | 20.0 | 0.10 |",
        "other: loose: an invalid text let through; refused: refused (ValueError: no).",
        "| a valid text rejected | 0 | 0 |",
        "Times on the 1 of 3 schemas",
        "loaded from it in 4.1 ms",
        "| 256 | 2 | warm | 0.70 | 4.50 |",
        "| 1 | 1,234,567 |",
        "| 64 | 0.40 | 0.90 |",
        "| 0.1 % | 6.00 | 30.0 | 0.20 |",
        "| 49,152 | 8 | warm | 1.00 | 4.00 | 0.25 | 1.00 + 2.00 + 3.00 |",
        "share of a step is 0.40 % (6 µs: 1.00 + 2.00 + 3.00)",
        "1.25 µs in the first fifth, 1.50 µs in the last",
        "| values of an enum | 10 to 100,000 |",
        "**1.00**",
        "values of an enum: at 10: a budget",
    ):
        assert part in text, part
    assert "\n\n\n" not in text


def test_tables_are_rectangular() -> None:
    columns = 0
    for line in page.page(made_up(), {}).splitlines():
        if not line.startswith("|"):
            columns = 0
            continue
        columns = columns or line.count("|")
        assert line.count("|") == columns, line


def test_parts_that_were_not_run_are_left_out() -> None:
    record = {key: value for key, value in made_up().items() if key != "growth"}
    record["generate"] = {**record["generate"], "model": None}
    text = page.page(record, {})
    assert "## Growth" not in text
    assert "No model was there" in text


@pytest.mark.parametrize(
    "value, text",
    [(None, "–"), (0, "0.00"), (0.0041, "0.0041"), (1.5, "1.50"), (12.34, "12.3"), (1234, "1,234")],
)
def test_numbers(value: float | None, text: str) -> None:
    assert page.number(value) == text


def test_the_readme_takes_the_figures(tmp_path: Path) -> None:
    path = tmp_path / "README.md"
    path.write_text(f"before\n\n{page.BEGIN}\nold\n{page.END}\n\nafter\n", encoding="utf-8")
    page.update(path, page.summary(made_up()))
    text = path.read_text(encoding="utf-8")
    assert text.startswith("before\n")
    assert text.endswith("\nafter\n")
    assert "\nold\n" not in text
    assert "| between masks, cold, median | 2.00 | 20.0 | 0.10 |" in text
    page.update(path, page.summary(made_up()))
    assert path.read_text(encoding="utf-8") == text


def test_the_readme_has_a_place_for_them() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert text.count(page.BEGIN) == text.count(page.END) == 1
    assert text.index(page.BEGIN) < text.index(page.END)


def test_a_record_comes_back_as_it_was(tmp_path: Path) -> None:
    record = compare.rounded({**made_up(), "raw": [1.23456789, {"a": [2.0]}, "text", None, True]})
    assert record["raw"] == [1.2346, {"a": [2.0]}, "text", None, True]
    path = compare.write_record(record, tmp_path / "record.json")
    again = json.loads(path.read_text(encoding="utf-8"))
    assert again == record
    assert page.page(again, {}) == page.page(record, {})


def test_the_surroundings_name_commit_machine_and_versions() -> None:
    from benchmarks.surroundings import surroundings

    found = surroundings()
    assert set(found) == {"date", "commit", "machine", "versions"}
    assert found["versions"]["gramlock"] == gramlock.__version__
    assert found["machine"]["cores"] >= 1
    assert found["commit"]


def test_plots_are_drawn_and_are_the_same_twice(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    plots = importlib.import_module("benchmarks.plots")
    drawn = plots.draw(made_up(), tmp_path)
    first = {name: (tmp_path / name).read_bytes() for name in drawn.values()}
    assert {"step, defaults", "first mask, defaults", "growth, steps", "memory"} <= set(drawn)
    assert all(text.startswith(b"<?xml") for text in first.values())
    plots.draw(made_up(), tmp_path)
    assert first == {name: (tmp_path / name).read_bytes() for name in drawn.values()}


def test_places_of_percentiles() -> None:
    pytest.importorskip("matplotlib")
    plots = importlib.import_module("benchmarks.plots")
    places = [plots.place(rank) for rank in figures.RANKS]
    assert places == sorted(set(places))
    assert plots.place(90) == pytest.approx(1)
    assert plots.place(99.9) == pytest.approx(3)


def test_the_page_that_is_there_links_to_what_is_there() -> None:
    folder = ROOT / "docs/benchmarks"
    links = re.findall(r"\]\(([^)#\s]+)\)", (folder / "README.md").read_text(encoding="utf-8"))
    assert links
    assert all((folder / link).exists() for link in links)


def test_work_in_a_process_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    lines: list[str] = []
    arguments = ["--tokenizer", str(tmp_path), "--engines", "gramlock"]
    short = ["--grammars", "10", "--tokens", "50"]
    life = compare.spawn([*arguments, *short], "life", lines.append)
    assert life["grammars"] == 10
    assert lines[-1].startswith("10 grammars: ")
    with pytest.raises(SystemExit, match=r"(?s)no such work: nothing.*nothing failed"):
        compare.spawn(arguments, "nothing", lines.append)


def test_the_command_line_knows_its_parts(capsys: pytest.CaptureFixture[str]) -> None:
    for wrong in (["--parts", "engines,nothing"], ["--engines", "nobody"]):
        with pytest.raises(SystemExit):
            compare.parse(wrong)
        assert "known: " in capsys.readouterr().err
    chosen = compare.parse(["--tokenizer", ".", "--spacing", "compact", "--engines", "gramlock"])
    assert [*chosen.settings_by_name] == ["chosen"]
    assert compare.pieces(chosen) == {
        **dict.fromkeys(compare.PARTS, 1),
        "engines": 3,
        "memory": 2,
    }
