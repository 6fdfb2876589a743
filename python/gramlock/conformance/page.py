"""The result of a run as one HTML page that needs nothing else."""

from __future__ import annotations

import json
from collections import Counter
from html import escape

from .cases import Case, Corpus, Keyword
from .runner import OUTCOMES, Run

__all__ = ["write_page"]

_STYLE = """
:root { --back: #fff; --fore: #1c1e21; --soft: #667; --line: #dde1e6; --raised: #f5f7f9;
  --enforced: #1a7f37; --refuses: #9a6700; --over-rejects: #8250df; --over-accepts: #cf222e;
  --crashes: #82071e; }
@media (prefers-color-scheme: dark) { :root { --back: #14171a; --fore: #e3e6e9; --soft: #98a2ad;
  --line: #333a42; --raised: #1d2126; --enforced: #4ac26b; --refuses: #d4a72c;
  --over-rejects: #b392f0; --over-accepts: #ff7b72; --crashes: #ffa198; } }
body { background: var(--back); color: var(--fore); margin: 2.5rem auto; max-width: 74rem;
  padding: 0 1.2rem; font: 15px/1.5 system-ui, sans-serif; }
h1 { font-size: 1.6rem; margin-bottom: .2rem; } h2 { font-size: 1.15rem; margin-top: 2.2rem; }
p { max-width: 48rem; } .soft, caption { color: var(--soft); }
table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; }
th, td { text-align: left; padding: .25rem .6rem; border-bottom: 1px solid var(--line);
  vertical-align: top; }
thead th { position: sticky; top: 0; background: var(--back); white-space: nowrap; }
td.count { white-space: nowrap; } th.group { padding-top: 1rem; color: var(--soft);
  font-weight: 600; } td a, th a { color: inherit; }
code, pre { font: 13px/1.45 ui-monospace, monospace; overflow-wrap: anywhere; }
pre { background: var(--raised); padding: .5rem .7rem; border-radius: 5px; white-space: pre-wrap; }
details { border-bottom: 1px solid var(--line); padding: .45rem 0; }
summary { cursor: pointer; } summary b { margin-right: .6rem; }
h3 { font-size: .95rem; margin: 1rem 0 .3rem; }
.enforced { color: var(--enforced); } .refuses { color: var(--refuses); }
.over-rejects { color: var(--over-rejects); } .over-accepts { color: var(--over-accepts); }
.crashes { color: var(--crashes); font-weight: 600; }
.bar { display: flex; height: .8rem; border-radius: 3px; overflow: hidden; min-width: 12rem; }
.bar i { display: block; background: currentColor; }
body:has(#wrong:checked) tr.fine { display: none; }
"""

_MEANING = {
    "enforced": "judged as the standard says",
    "refuses": "an error: nothing wrong is written, and nothing at all",
    "over-rejects": "rejects a text that is valid",
    "over-accepts": "accepts a text that is invalid",
    "crashes": "the engine panicked, its process died or hung",
}


def write_page(corpus: Corpus, runs: list[Run], today: str) -> str:
    """The page.

    Args:
        corpus: What was asked.
        runs: The answers, one run for each engine.
        today: The date that the page shows.
    """
    names = " · ".join(f"{run.engine} {run.version}" for run in runs)
    legend = "".join(
        f"<tr><td class='{name}'>{name}</td><td>{meaning}</td></tr>"
        for name, meaning in _MEANING.items()
    )
    return "".join(
        (
            "<!doctype html><html lang='en'><head><meta charset='utf-8'>",
            "<meta name='viewport' content='width=device-width, initial-scale=1'>",
            f"<title>JSON Schema conformance</title><style>{_STYLE}</style></head><body>",
            "<h1>JSON Schema conformance of constrained decoding</h1>",
            f"<p class='soft'>{escape(names)}<br>Corpus {escape(corpus.version)}, ",
            f"{corpus.size} instances, {escape(today)}</p>",
            "<p>Each instance is a JSON text with a verdict, a reason and the paragraph that gives",
            " it. An engine compiles the schema and goes through the text byte by byte; every",
            " engine is asked with free white space and, if it has that, free order of members.",
            f"</p><table>{legend}</table>",
            "<h2>Engines</h2>",
            _engines(runs),
            "<h2>Keywords</h2>",
            _keywords(corpus, runs),
            "<h2>Instances</h2>",
            "<p><label><input type='checkbox' id='wrong'> only what some engine does not enforce",
            "</label></p>",
            *(_detail(keyword, runs) for keyword in corpus.keywords),
            "</body></html>\n",
        )
    )


def _engines(runs: list[Run]) -> str:
    heads = "".join(f"<th class='{name}'>{name}</th>" for name in OUTCOMES)
    rows = []
    for run in runs:
        total = run.total()
        bar = "".join(
            f"<i class='{name}' style='flex:{total[name]}'></i>" for name in OUTCOMES if total[name]
        )
        cells = "".join(_share(total[name], total.total(), name) for name in OUTCOMES)
        options = ", ".join(f"{key} {value}" for key, value in run.options.items())
        title = f"{escape(run.engine)} {escape(run.version)}"
        rows.append(
            f"<tr><th>{title}<br><small class='soft'>{escape(options)}</small></th>"
            f"<td><div class='bar'>{bar}</div></td>{cells}</tr>"
        )
    return f"<table><thead><tr><th>engine</th><th></th>{heads}</tr></thead>{''.join(rows)}</table>"


def _share(count: int, total: int, name: str) -> str:
    if not count:
        return "<td class='count soft'>0</td>"
    share = f"{100 * count / total:.1f}"
    return f"<td class='count {name}'>{count} <small>{share} %</small></td>"


def _keywords(corpus: Corpus, runs: list[Run]) -> str:
    heads = "".join(f"<th>{escape(run.engine)}</th>" for run in runs)
    rows, group = [], ""
    for keyword in corpus.keywords:
        if keyword.group != group:
            group = keyword.group
            span = len(runs) + 2
            rows.append(f"<tr><th class='group' colspan='{span}'>{escape(group)}</th></tr>")
        size = sum(1 for _ in keyword.instances())
        cells = "".join(f"<td class='count'>{_counts(run.counts(keyword))}</td>" for run in runs)
        link = f"<a href='#{_anchor(keyword)}'>{escape(keyword.name)}</a>"
        rows.append(f"<tr><td>{link}</td><td class='count soft'>{size}</td>{cells}</tr>")
    head = f"<thead><tr><th>keyword</th><th>instances</th>{heads}</tr></thead>"
    return f"<table>{head}{''.join(rows)}</table>"


def _counts(counts: Counter[str]) -> str:
    return " · ".join(
        f"<span class='{name}'>{counts[name]} {name}</span>" for name in OUTCOMES if counts[name]
    )


def _anchor(keyword: Keyword) -> str:
    kept = (letter if letter.isascii() and letter.isalnum() else "-" for letter in keyword.name)
    return "k-" + "".join(kept)


def _detail(keyword: Keyword, runs: list[Run]) -> str:
    states = " ".join(f"{escape(run.engine)}: {_counts(run.counts(keyword))}" for run in runs)
    cases = "".join(_case(keyword, case, runs) for case in keyword.cases)
    return (
        f"<details id='{_anchor(keyword)}'><summary><b>{escape(keyword.name)}</b> "
        f"<small>{states}</small></summary><p>{escape(keyword.about)}</p>{cases}</details>"
    )


def _case(keyword: Keyword, case: Case, runs: list[Run]) -> str:
    heads = "".join(f"<th>{escape(run.engine)}</th>" for run in runs)
    rows = []
    for place, instance in enumerate(case.instances):
        answers = [run.answers[keyword.name, case.name, place] for run in runs]
        fine = all(answer.outcome == "enforced" for answer in answers)
        cells = "".join(
            f"<td class='{answer.outcome}' title='{escape(answer.message)}'>{answer.outcome}</td>"
            for answer in answers
        )
        rows.append(
            f"<tr{' class=fine' if fine else ''}><td><code>{escape(instance.text)}</code></td>"
            f"<td>{'valid' if instance.valid else 'invalid'}</td><td>{escape(instance.reason)}"
            f"<br><small class='soft'>{escape(instance.paragraph)}</small></td>{cells}</tr>"
        )
    schema = escape(json.dumps(case.schema, ensure_ascii=False))
    others = "".join(
        f"<pre>{escape(uri)} = {escape(json.dumps(document, ensure_ascii=False))}</pre>"
        for uri, document in case.documents.items()
    )
    return (
        f"<h3>{escape(case.name)} <small class='soft'>{escape(case.dialect)}</small></h3>"
        f"<pre>{schema}</pre>{others}<table><thead><tr><th>text</th><th>is</th><th>because</th>"
        f"{heads}</tr></thead>{''.join(rows)}</table>"
    )
