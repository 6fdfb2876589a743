"""Writes a record down as Markdown: the page in docs/benchmarks, and the summary in the README."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks.bench_growth import FIGURES, UNITS
from benchmarks.rounds import MARKS

BEGIN, END = "<!-- make compare: from here -->", "<!-- make compare: to here -->"
Record = Mapping[str, Any]


def number(value: float | None) -> str:
    """Three digits or so, thousands apart; a dash for what there is none of."""
    if value is None:
        return "–"
    if value >= 100:
        return f"{value:,.0f}"
    if value >= 10:
        return f"{value:.1f}"
    return f"{value:.2f}" if value >= 0.01 or value == 0 else f"{value:.2g}"


def table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """The first column is left-aligned, the others are right-aligned."""
    return [
        "| " + " | ".join(heads) + " |",
        "|:--|" + "--:|" * (len(heads) - 1),
        *("| " + " | ".join(row) + " |" for row in rows),
        "",
    ]


def picture(plots: Mapping[str, str], key: str, words: str) -> list[str]:
    return [f"![{words}]({plots[key]})", ""] if key in plots else []


# ---- the parts


def head(record: Record) -> list[str]:
    machine, versions = record["machine"], record["versions"]
    peers = ", ".join(f"{name} {version}" for name, version in versions.items())
    date = record["date"].replace("T", " ").replace("+00:00", " UTC")
    lines = [
        f"* {date}, commit `{record['commit']}`",
        f"* {machine['cpu']}, {machine['cores']} cores, {machine['memory_gib']:.0f} GiB,"
        f" {machine['system']}, Python {machine['python']}",
        f"* {peers}",
        f"* tokenizer {record['tokenizer']}; schemas and texts: {record['data']}",
    ]
    if record.get("note"):
        lines.append(f"* {record['note']}")
    return [*lines, ""]


def engines_part(record: Record, plots: Mapping[str, str]) -> list[str]:
    lines: list[str] = []
    for setting, one in record["engines"].items():
        names = list(one["verdicts"])
        lines += [f"### {setting.capitalize()}: {one['title']}", ""]
        for question in MARKS:
            lines += picture(plots, f"{question}, {setting}", f"{question} by percentile")
        verdicts = [
            [what, *(str(one["verdicts"][name][what]) for name in names)]
            for what in one["verdicts"][names[0]]
        ]
        lines += table([f"of {one['schemas']} schemas", *names], verdicts)
        for name in names:
            if one["wrong"][name]:
                listed = "; ".join(f"{row}: {what}" for row, what in shortened(one["wrong"][name]))
                lines += [f"{name}: {listed}.", ""]
        for clock in ("wall", "processor"):
            ratio = ["ratio"] if len(names) > 1 else []
            rows = [
                [key.replace(f" {clock},", ""), *(number(v.get(n)) for n in [*names, *ratio])]
                for key, v in one["figures"].items()
                if f", {clock}, " in key
            ]
            empty = number(one["empty_step"][clock])
            lines += table([f"{clock}, µs (an empty step: {empty})", *names, *ratio], rows)
        lines += [
            f"Times on the {one['shared']} of {one['schemas']} schemas that all are right about,"
            f" medians of {one['rounds']} rounds.",
            "",
        ]
    return lines


def shortened(rows: Sequence[Sequence[str]], most: int = 12) -> list[Sequence[str]]:
    """The first few, and how many more there are."""
    more = [("further schemas", str(len(rows) - most))] if len(rows) > most else []
    return [*rows[:most], *more]


def vocabulary_part(record: Record) -> list[str]:
    one = record["vocabulary"]
    names = list(one["seconds"])
    lines = table(
        ["from a loaded tokenizer to a vocabulary", *names],
        [["seconds", *(number(one["seconds"][name]) for name in names)]],
    )
    file = one["file"]
    if not file:
        return lines
    return [
        *lines,
        f"Saved to a file ({file['bytes'] / 2**20:.1f} MiB) in {1000 * file['save']:.0f} ms,"
        f" loaded from it in {1000 * file['load']:.1f} ms.",
        "",
    ]


def batch_part(record: Record) -> list[str]:
    one = record["batch"]
    names = [name for name in one["rows"][0] if name not in ("rows", "threads", "states")]
    rows = [
        [f"{r['rows']}", str(r["threads"]), r["states"], *(number(r[n]) for n in names)]
        for r in one["rows"]
    ]
    drafts = [
        [str(r["draft"]), number(r["together"]), number(r["one_by_one"])] for r in one["drafts"]
    ]
    sharing = [[str(r["threads"]), f"{r['rate']:,.0f}"] for r in one["sharing"]]
    return [
        *table(["matchers", "threads", "states", *(f"{name}, µs a mask" for name in names)], rows),
        "Threads of Python that share one program whose states are known, 64 matchers each:",
        "",
        *table(["threads", "masks a second, together"], sharing),
        "All masks along a draft:",
        "",
        *table(["tokens", "in one call, µs a mask", "one by one, µs a mask"], drafts),
    ]


def logits_part(record: Record) -> list[str]:
    one = record["logits"]
    names = one["engines"]
    ratio = ["ratio"] if len(names) > 1 else []
    rows = []
    for r in one["rows"]:
        cells = [number(r[name]) for name in names]
        if ratio:
            cells.append(number(r[names[0]] / max(r[names[1]], 1e-9)))
        rows.append([f"{100 * r['share']:g} %", *cells])
    heads = [f"allowed of {one['size']:,} float32", *(f"{name}, µs" for name in names), *ratio]
    return table(heads, rows)


def split_of(parts: Mapping[str, float]) -> str:
    return " + ".join(number(value) for value in parts.values())


def generate_part(record: Record) -> list[str]:
    one = record["generate"]
    names = one["engines"]
    rows = []
    for r in one["rows"]:
        parts = r.get("parts")
        split = split_of(parts) if parts else ""
        cells = [f"{r['size']:,}", str(r["batch"]), r["states"], *(number(r[n]) for n in names)]
        rows.append([*cells, number(r.get("ratio")), split])
    heads = ["ids", "batch", "states", *(f"{name}, µs a step" for name in names)]
    lines = table([*heads, "ratio", "follow + mask + apply, means"], rows)
    model = one.get("model")
    if not model:
        return [*lines, "No model was there to run: `gramlock demo` fetches one.", ""]
    return [
        *lines,
        f"{model['model']}, greedy, torch threads: {model['threads']};"
        f" {model['without']:.2f} tokens a second without a constraint,"
        f" {model['with']:.2f} with one ({model['ratio']:.3f} of it);"
        f" the processor's share of a step is {100 * model['share']:.2f} %"
        f" ({model['microseconds']:.0f} µs: {split_of(model['parts'])}).",
        "",
    ]


def memory_part(record: Record, plots: Mapping[str, str]) -> list[str]:
    one = record["memory"]
    life = one["life"]
    rows = [
        [name, number(m["tokenizer"]), number(m["vocabulary"]), number(m["end"])]
        for name, m in one["peaks"].items()
    ]
    return [
        f"One process, {life['grammars']:,} different grammars, {life['tokens']:,} tokens:"
        f" {life['before']:.0f} MiB before the first, {life['largest_process']:.0f} MiB at most, of"
        f" which the vocabulary's tables {life['largest_vocabulary']:.0f}; a step takes"
        f" {life['step_early']:.2f} µs in the first fifth, {life['step_late']:.2f} µs in the last.",
        "",
        *picture(plots, "memory", "memory and speed against grammars met"),
        "Peak memory of a process that asks one engine everything, MiB:",
        "",
        *table(["", "with the tokenizer", "with the vocabulary", "in the end"], rows),
    ]


def growth_part(record: Record, plots: Mapping[str, str]) -> list[str]:
    rows = []
    for one in record["growth"].values():
        sizes = [int(size) for size in one["points"]]
        fits = []
        for figure in FIGURES:
            fit = one["exponents"].get(figure)
            text = "–" if fit is None else f"{fit:.2f}"
            fits.append(f"**{text}**" if figure in one["faster"] else text)
        rows.append([one["title"], f"{sizes[0]:,} to {sizes[-1]:,}", *fits])
    lines = table(["exponent of", "sizes", *(UNITS[figure] for figure in FIGURES)], rows)
    lines += ["0 is flat, 1 is linear; bold: faster than it should be, and no trifle.", ""]
    lines += [
        line
        for one in record["growth"].values()
        if one["limit"]
        for line in (f"* {one['title']}: {one['limit']}",)
    ]
    for stem in ("building", "steps", "memory"):
        lines += ["", *picture(plots, f"growth, {stem}", f"growth: {stem}")]
    return lines


def page(record: Record, plots: Mapping[str, str]) -> str:
    """The whole page; parts that were not run are left out."""
    parts = [
        ("engines", "Next to other engines", lambda: engines_part(record, plots)),
        ("vocabulary", "Vocabularies", lambda: vocabulary_part(record)),
        ("batch", "Batches and threads", lambda: batch_part(record)),
        ("logits", "Minus infinity into logits", lambda: logits_part(record)),
        ("generate", "In generate() of transformers", lambda: generate_part(record)),
        ("memory", "Memory", lambda: memory_part(record, plots)),
        ("growth", "Growth", lambda: growth_part(record, plots)),
    ]
    lines = [
        "# The newest comparison",
        "",
        "Written by `make compare`; [how it is done](../benchmarks.md) and what to keep in mind.",
        "",
        *head(record),
    ]
    for key, title, write in parts:
        if record.get(key):
            lines += [f"## {title}", "", *write()]
    return squeezed(lines)


def squeezed(lines: Iterable[str]) -> str:
    """No two empty lines on end, and one line end at the end."""
    kept: list[str] = []
    for line in lines:
        if line or (kept and kept[-1]):
            kept.append(line)
    return "\n".join(kept).rstrip() + "\n"


# ---- the README


def summary(record: Record) -> str:
    """The engines' figures in brief: as they come, and in the same language."""
    machine, versions = record["machine"], record["versions"]
    lines = [
        f"{record['date'][:10]}, commit `{record['commit']}`, {machine['cpu']},"
        f" {machine['cores']} cores, tokenizer {record['tokenizer']}, {record['data']};"
        " microseconds of wall time, the median of"
        f" {next(iter(record['engines'].values()))['rounds']} rounds that take turns.",
        "",
    ]
    for setting in ("defaults", "same language"):
        one = record["engines"].get(setting)
        if not one:
            continue
        names = list(one["verdicts"])
        heads = [one["title"], *(f"{n} {versions.get(n, '')}".strip() for n in names), "ratio"]
        rows = [
            [what, *(str(one["verdicts"][n][what]) for n in names), ""]
            for what in one["verdicts"][names[0]]
        ]
        for question, words in (("step", "between masks"), ("first mask", "compile + first mask")):
            for when in ("cold", "warm"):
                for mark in ("median", "99th"):
                    values = one["figures"].get(f"{when}, wall, {question}, {mark}")
                    if values:
                        cells = [number(values.get(n)) for n in [*names, "ratio"]]
                        rows.append([f"{words}, {when}, {mark}", *cells])
        lines += table(heads, rows)
    return squeezed(lines)


def put(text: str, between: str) -> str:
    """*text* with what stands between the two marks replaced."""
    start, end = text.index(BEGIN) + len(BEGIN), text.index(END)
    return text[:start] + "\n\n" + between.strip() + "\n\n" + text[end:]


def update(path: Path, between: str) -> None:
    """The same with a file."""
    path.write_text(put(path.read_text(encoding="utf-8"), between), encoding="utf-8")
