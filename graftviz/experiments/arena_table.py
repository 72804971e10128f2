"""Arena results as CSV, HTML, JSON and Markdown."""

from __future__ import annotations

import dataclasses
import html
import json
import math
from collections.abc import Iterable, Sequence

from graftviz.experiments.arena import Contest, Entry
from graftviz.experiments.bench_table import format_seconds, machine
from graftviz.formats.json_values import json_value
from graftviz.options import format_value
from graftviz.table.csv_text import csv_text

COLUMNS = tuple(field.name for field in dataclasses.fields(Entry))
_HEAD = (
    *("learner", "test NLPL", "test NLL", "edges", "width"),
    *("inference", "by", "learning"),
)
_NUMBERS = 7  # columns behind the first, of which the last but one is a word
_LEGEND = (
    "NLPL and NLL: nats per held-out row, lower is better. Width: of the best elimination order "
    "found, an upper bound on the treewidth. Inference: seconds for the marginals of all variables "
    "and all edges. Learning: engine seconds without compilation. Both are medians of processor "
    "time."
)
_STYLE = """
body { margin: 0 auto; max-width: 1100px; padding: 12px clamp(8px, 2vw, 28px) 40px;
  font: 17px/1.5 system-ui, sans-serif; color: #1d2430; background: #fff; }
table { border-collapse: collapse; width: 100%; }
th, td { padding: 4px 10px; border-bottom: 1px solid #d5dae1; text-align: right; }
th:first-child, td:first-child { text-align: left; }
td.best { font-weight: 700; }
td.failure { text-align: left; color: #a33c00; }
footer, .notes { color: #55606e; }
code { overflow-wrap: anywhere; }
"""


def arena_csv(entries: Sequence[Entry]) -> str:
    """Return all entries as CSV, one row per entry."""
    rows: list[Iterable[object]] = [COLUMNS]
    for entry in entries:
        facts = {name: getattr(entry, name) for name in COLUMNS}
        facts["options"] = _options(entry)
        facts["notes"] = " ".join(entry.notes)
        rows.append(facts.values())
    return csv_text(rows)


def arena_json(entries: Sequence[Entry], contests: Sequence[Contest], command: str) -> str:
    """Return entries, data, command and machine as JSON."""
    whole = {
        "command": command,
        "machine": machine(),
        "data": [
            {
                "name": contest.name,
                "variables": contest.train.n_variables,
                "rows": contest.train.n_rows,
                "rows_test": contest.test.n_rows,
                "split": contest.split,
                "fingerprint": contest.train.fingerprint,
            }
            for contest in contests
        ],
        "legend": _LEGEND,
        "entries": [
            {name: getattr(entry, name) for name in COLUMNS} | {"options": dict(entry.options)}
            for entry in entries
        ],
    }
    return json.dumps(json_value(whole), indent=1, ensure_ascii=False, allow_nan=False) + "\n"


def arena_markdown(entries: Sequence[Entry], contests: Sequence[Contest]) -> str:
    """Return one Markdown table per contest."""
    parts = []
    for contest in contests:
        own = [entry for entry in entries if entry.data == contest.name]
        if own:
            parts.append(f"**{_title(contest)}**\n\n" + "\n".join(_lines(own)))
            parts.append("\n".join(f"- {note}" for note in _notes(own)))
    return "\n\n".join([*parts, _LEGEND]) + "\n"


def arena_page(entries: Sequence[Entry], contests: Sequence[Contest], command: str) -> str:
    """Return a self-contained HTML page."""
    body = []
    for contest in contests:
        own = [entry for entry in entries if entry.data == contest.name]
        if not own:
            continue
        best = {column: _best(own, column) for column in ("nlpl", "nll")}
        head = "".join(f"<th>{html.escape(name)}</th>" for name in _HEAD)
        rows = "".join(_page_row(entry, best) for entry in own)
        notes = "".join(f"<li>{html.escape(note)}</li>" for note in _notes(own))
        body.append(
            f"<h2>{html.escape(_title(contest))}</h2>"
            f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>"
            f'<ul class="notes">{notes}</ul>'
        )
    facts = ", ".join(f"{name} {value}" for name, value in machine().items())
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>Arena</title><style>{_STYLE}</style></head><body><h1>Arena</h1>"
        f"{''.join(body)}<footer><p>{html.escape(_LEGEND)}</p>"
        f"<p><code>{html.escape(command)}</code></p><p>{html.escape(facts)}</p></footer>"
        "</body></html>\n"
    )


def entry_line(entry: Entry) -> str:
    """Return one entry as a line of text."""
    if entry.failure:
        return f"{entry.data}, {entry.learner}: {entry.failure}"
    names = _HEAD[1:]
    cells = ", ".join(f"{n} {c}" for n, c in zip(names, _cells(entry)[1:], strict=True))
    return f"{entry.data}, {entry.learner}: {cells}"


def _title(contest: Contest) -> str:
    return (
        f"{contest.name}: {contest.train.n_variables} variables, {contest.train.n_rows:,} rows, "
        f"{contest.test.n_rows:,} held out ({contest.split})"
    )


def _lines(entries: Sequence[Entry]) -> list[str]:
    """Return the lines of a Markdown table."""
    lines = [_line(_HEAD), _line(["---"] * len(_HEAD))]
    for entry in entries:
        cells = [entry.learner, entry.failure] if entry.failure else _cells(entry)
        lines.append(_line([*cells, *[""] * (len(_HEAD) - len(cells))]))
    return lines


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _cells(entry: Entry) -> list[str]:
    """Return the cells of an entry in the order of the header."""
    width = "–" if entry.width is None else f"{'≥ ' * entry.width_is_least}{entry.width}"
    return [
        entry.learner,
        _number(entry.nlpl),
        _number(entry.nll),
        "–" if entry.edges is None else f"{entry.edges:,}",
        width,
        "–" if entry.inference_seconds is None else format_seconds(entry.inference_seconds),
        entry.inference or "–",
        "–" if entry.learning_seconds is None else format_seconds(entry.learning_seconds),
    ]


def _number(value: float | None) -> str:
    if value is None:
        return "–"
    return f"{value:.3f}" if math.isfinite(value) else "∞"


def _notes(entries: Sequence[Entry]) -> list[str]:
    """Return the notes of the entries and the options used."""
    by_note: dict[str, list[str]] = {}
    for entry in entries:
        for note in entry.notes:
            by_note.setdefault(note, []).append(entry.learner)
    notes = [f"{', '.join(names)}: {note}" for note, names in by_note.items()]
    by_options: dict[str, list[str]] = {}
    for entry in entries:
        by_options.setdefault(_options(entry) or "its defaults", []).append(entry.learner)
    used = [f"{', '.join(names)}: {options}" for options, names in by_options.items()]
    return [*notes, f"Options, all others at their defaults: {'; '.join(used)}."]


def _options(entry: Entry) -> str:
    return " ".join(f"{name}={format_value(value)}" for name, value in entry.options.items())


def _best(entries: Sequence[Entry], column: str) -> float:
    return min((v for e in entries if (v := getattr(e, column)) is not None), default=math.nan)


def _page_row(entry: Entry, best: dict[str, float]) -> str:
    if entry.failure:
        return (
            f"<tr><td>{html.escape(entry.learner)}</td>"
            f'<td class="failure" colspan="{_NUMBERS}">{html.escape(entry.failure)}</td></tr>'
        )
    marks = {1: entry.nlpl == best["nlpl"], 2: entry.nll == best["nll"]}
    cells = "".join(
        f"<td{' class=best' * marks.get(k, False)}>{html.escape(cell)}</td>"
        for k, cell in enumerate(_cells(entry))
    )
    return f'<tr title="{html.escape(entry.stop_reason)}">{cells}</tr>'
