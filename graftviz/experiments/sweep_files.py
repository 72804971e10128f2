"""Rows of the benchmark and of the arena as CSV, JSON, Markdown and HTML."""

from __future__ import annotations

import dataclasses
import html
import math
import os
import platform
from collections.abc import Iterable, Mapping, Sequence
from importlib.metadata import version
from typing import Any

from graftviz._version import __version__
from graftviz.experiments.arena import COLUMNS as ARENA_COLUMNS, Contest, entry
from graftviz.experiments.bench import LOWER_IS_BETTER, BenchRow
from graftviz.formats.json_values import json_text
from graftviz.options import format_value
from graftviz.table.csv_text import csv_text

COLUMNS = (
    *("work", "nodes", "rows", "states", "repetitions", "seconds", "wall"),
    *("yardstick", "yardstick_seconds", "ratio"),
    *("edges", "recall", "precision", "F1", "best F1", "NLPL", "NLPL gap"),
    *("objective", "objective gap", "KKT residual", "share of pairs", "yardstick_best_F1"),
    *("goals", "missing"),
)
_LIBRARIES = {
    "NumPy": "numpy",
    "numba": "numba",
    "pandas": "pandas",
    "SciPy": "scipy",
    "scikit-learn": "scikit-learn",
}
_SHARES = ("objective gap", "NLPL gap", "share of pairs")
_QUANTITIES = {  # columns of the tables of measurements: title and quantity
    "speed": {"graftviz": "seconds"},
    "learners": {
        name: name
        for name in (
            *("seconds", "edges", "recall", "precision"),
            *("F1", "best F1", "NLPL", "objective gap"),
        )
    },
}
_ARENA_HEAD = ("learner", "test NLPL", "test NLL", "edges", "width", "inference", "by", "learning")
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


def machine() -> dict[str, str]:
    """Return processor and versions, without paths or host names."""
    return {
        "graftviz": __version__,
        "cores": str(os.cpu_count()),
        "processor": platform.machine(),
        "system": platform.system(),
        "Python": platform.python_version(),
        **{name: version(package) for name, package in _LIBRARIES.items()},
    }


def bench_files(rows: Sequence[BenchRow]) -> dict[str, str]:
    """Return the files of the benchmark by name."""
    records = [_bench_record(row) for row in rows]
    whole = [record | _details(row) for row, record in zip(rows, records, strict=True)]
    return {
        "bench.csv": csv_text([COLUMNS, *(record.values() for record in records)]),
        "bench.json": json_text({"machine": machine(), "rows": whole}, indent=1),
        "bench.md": bench_markdown(rows),
    }


def bench_markdown(rows: Sequence[BenchRow]) -> str:
    """Return the tables of goals, speed and learners in Markdown."""
    facts = machine()
    heading = (
        f"graftviz {facts['graftviz']}, {facts['cores']} cores ({facts['processor']}), "
        f"{', '.join(f'{name} {facts[name]}' for name in ('Python', *_LIBRARIES))}. "
        "Times are medians of processor seconds, without compilation. "
        "Data: Barabási–Albert graphs with m = 2 and 5 states, unless stated otherwise."
    )
    tables = {
        "Goals": _goal_lines(rows),
        "Speed": _row_lines(rows, "speed", "work"),
        "Learners": _row_lines(rows, "learners", "learner"),
    }
    parts = [f"**{title}**\n\n" + "\n".join(t) for title, t in tables.items() if len(t) > 2]
    return "\n\n".join([heading, *parts]) + "\n"


def arena_files(
    rows: Sequence[BenchRow], contests: Sequence[Contest], command: str
) -> dict[str, str]:
    """Return the files of the arena by name: CSV, self-contained HTML page, and JSON."""
    entries = [entry(row) for row in rows]
    flat = [{**e, "options": _options(e), "notes": " ".join(e["notes"])}.values() for e in entries]
    data = [
        {
            "name": contest.name,
            "variables": contest.train.n_variables,
            "rows": contest.train.n_rows,
            "rows_test": contest.test.n_rows,
            "split": contest.split,
            "fingerprint": contest.train.fingerprint,
        }
        for contest in contests
    ]
    whole = {"command": command, "machine": machine(), "data": data, "legend": _LEGEND}
    return {
        "arena.csv": csv_text([ARENA_COLUMNS, *flat]),
        "arena.html": _arena_page(entries, contests, command),
        "measured.json": json_text({**whole, "entries": entries}, indent=1),
    }


def arena_markdown(rows: Sequence[BenchRow], contests: Sequence[Contest]) -> str:
    """Return one Markdown table per contest."""
    parts = []
    for title, own in _by_contest([entry(row) for row in rows], contests):
        cells = [
            [e["learner"], e["failure"], *[""] * 6] if e["failure"] else _cells(e) for e in own
        ]
        parts.append(f"**{title}**\n\n" + "\n".join(_table(_ARENA_HEAD, cells)))
        parts.append("\n".join(f"- {note}" for note in _notes(own)))
    return "\n\n".join([*parts, _LEGEND]) + "\n"


def bench_line(row: BenchRow) -> str:
    """Return a row of the benchmark as a line of text."""
    title = row.measurement.title
    if "seconds" not in row.values:
        return f"{title}: not measured, {row.missing}"
    parts = [format_seconds(row.values["seconds"])]
    yardstick = row.measurement.yardstick
    if row.missing:
        parts.append(row.missing)
    elif yardstick is not None and "ratio" in row.values:
        theirs = format_seconds(row.yardstick_values["seconds"])
        parts.append(f"{yardstick.name} {theirs} ({row.values['ratio']:.3g} times as long)")
    parts += [f"{name} {row.values[name]:.3f}" for name in ("F1", "NLPL") if name in row.values]
    return f"{title}: {', '.join(parts)}"


def arena_line(row: BenchRow) -> str:
    """Return a row of the arena as a line of text."""
    found = entry(row)
    pairs = zip(_ARENA_HEAD[1:], _cells(found)[1:], strict=True)
    text = found["failure"] or ", ".join(f"{name} {cell}" for name, cell in pairs)
    return f"{found['data']}, {found['learner']}: {text}"


def _bench_record(row: BenchRow) -> dict[str, Any]:
    """Return the values of a row by the names of :data:`COLUMNS`; None if not available."""
    measurement, size = row.measurement, row.measurement.size
    yardstick = measurement.yardstick
    goals = [
        f"{goal.quantity} {goal.least:g} (target: {goal.target:g}): {verdict}"
        for goal, _, verdict in row.verdicts()
    ]
    own = {
        "work": measurement.name,
        "nodes": size.nodes,
        "rows": size.rows,
        "states": size.states,
        "repetitions": row.repetitions,
        "yardstick": yardstick.name if yardstick else None,
        "yardstick_seconds": row.yardstick_values.get("seconds"),
        "yardstick_best_F1": row.yardstick_values.get("best F1"),
        "goals": "; ".join(goals) or None,
        "missing": row.missing or None,
    }
    return {name: own.get(name, row.values.get(name)) for name in COLUMNS}


def _details(row: BenchRow) -> dict[str, Any]:
    """Return what the JSON of a row has beyond the CSV: all values, the size and the goals."""
    names = ("quantity", "least", "wanted", "measured", "verdict")
    return {
        "values": row.values,
        "yardstick_values": row.yardstick_values,
        "size": dataclasses.asdict(row.measurement.size),
        "goals": [
            dict(zip(names, (*goal, value, verdict), strict=True))
            for goal, value, verdict in row.verdicts()
        ],
    }


def _goal_lines(rows: Sequence[BenchRow]) -> list[str]:
    cells = []
    for row in rows:
        yardstick = row.measurement.yardstick
        for goal, value, verdict in row.verdicts():
            sign = "≤ " if goal.quantity in LOWER_IS_BETTER else "≥ "
            ratio = f"ratio to {yardstick.name}" if yardstick else "ratio"
            least = sign + _format_quantity(goal.quantity, goal.least)
            cells.append(
                [
                    *_work(row),
                    ratio if goal.quantity == "ratio" else goal.quantity,
                    least if math.isfinite(goal.least) else "–",
                    sign + _format_quantity(goal.quantity, goal.target),
                    _value(row.values, goal.quantity),
                    verdict if value is not None else row.missing or verdict,
                ]
            )
    return _table(("work", "n", "rows", "quantity", "goal", "target", "measured", ""), cells)


def _row_lines(rows: Sequence[BenchRow], group: str, first: str) -> list[str]:
    quantities = _QUANTITIES[group]
    cells = []
    for row in rows:
        if row.measurement.group != group:
            continue
        yardstick = row.measurement.yardstick
        name = "–" if yardstick is None else yardstick.name
        if "best F1" in row.yardstick_values:
            name += f" (best F1 {row.yardstick_values['best F1']:.3f})"
        cells.append(
            [
                *_work(row),
                *(_value(row.values, quantity) for quantity in quantities.values()),
                f"{name} ({row.missing})" if row.missing else name,
                _value(row.yardstick_values, "seconds"),
                _value(row.values, "ratio"),
            ]
        )
    return _table((first, "n", "rows", *quantities, "yardstick", "takes", "ratio"), cells)


def _table(head: Iterable[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """Return the lines of a Markdown table."""
    lines = [
        "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"
        for cells in (head, *rows)
    ]
    return [lines[0], "|" + " --- |" * len(tuple(head)), *lines[1:]]


def _work(row: BenchRow) -> list[str]:
    size = row.measurement.size
    return [row.measurement.name, *(f"{n:,}" if n else "–" for n in (size.nodes, size.rows))]


def _value(values: Mapping[str, Any], quantity: str) -> str:
    value = values.get(quantity)
    return "–" if value is None else _format_quantity(quantity, value)


def _format_quantity(quantity: str, value: float) -> str:
    """Return a number formatted for its quantity."""
    if not math.isfinite(value):
        return "∞" if value > 0 else "–"
    if quantity.endswith("seconds"):
        return format_seconds(value)
    if quantity == "ratio":
        return f"{value:.1f}×" if value < 10 else f"{value:,.0f}×"
    if quantity in _SHARES:
        return f"{value:.2%}"
    if quantity == "edges":
        return f"{value:,.0f}"
    if quantity == "KKT residual":
        return f"{value:.0e}"
    return f"{value:.3f}"


def format_seconds(seconds: float) -> str:
    """Return a duration with three significant digits in µs, ms or s."""
    for unit, factor in (("µs", 1e-6), ("ms", 1e-3)):
        if seconds < 999.5 * factor:
            return f"{seconds / factor:.3g} {unit}"
    return f"{seconds:.3g} s" if seconds < 999.5 else f"{seconds:,.0f} s"


def _arena_page(
    entries: Sequence[dict[str, Any]], contests: Sequence[Contest], command: str
) -> str:
    head = "".join(f"<th>{name}</th>" for name in _ARENA_HEAD)
    body = []
    for title, own in _by_contest(entries, contests):
        rows = "".join(_page_row(found, own) for found in own)
        notes = "".join(f"<li>{html.escape(note)}</li>" for note in _notes(own))
        body.append(
            f"<h2>{html.escape(title)}</h2>"
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


def _page_row(found: dict[str, Any], own: Sequence[dict[str, Any]]) -> str:
    """Return a row of the page's table; the best NLPL and NLL of the contest are bold."""
    name, *cells = (html.escape(cell) for cell in _cells(found))
    if found["failure"]:
        return (
            f'<tr><td>{name}</td><td class="failure" colspan="{len(cells)}">'
            f"{html.escape(found['failure'])}</td></tr>"
        )
    best = [
        found[score] == min((e[score] for e in own if e[score] is not None), default=math.nan)
        for score in ("nlpl", "nll")
    ]
    marks = ["", *(" class=best" * is_best for is_best in best), *[""] * (len(cells) - len(best))]
    text = "".join(f"<td{m}>{cell}</td>" for m, cell in zip(marks, (name, *cells), strict=True))
    return f'<tr title="{html.escape(found["stop_reason"])}">{text}</tr>'


def _by_contest(
    entries: Sequence[dict[str, Any]], contests: Sequence[Contest]
) -> list[tuple[str, list[dict[str, Any]]]]:
    """Return the titles of the contests with their entries."""
    found = []
    for contest in contests:
        title = (
            f"{contest.name}: {contest.train.n_variables} variables, {contest.train.n_rows:,} "
            f"rows, {contest.test.n_rows:,} held out ({contest.split})"
        )
        own = [e for e in entries if e["data"] == contest.name]
        if own:
            found.append((title, own))
    return found


def _cells(found: dict[str, Any]) -> list[str]:
    """Return the cells of an entry in the order of the header."""
    width = "–" if found["width"] is None else f"{'≥ ' * found['width_is_least']}{found['width']}"
    return [
        found["learner"],
        _value(found, "nlpl"),
        _value(found, "nll"),
        _value(found, "edges"),
        width,
        _value(found, "inference_seconds"),
        found["inference"] or "–",
        _value(found, "learning_seconds"),
    ]


def _notes(entries: Sequence[dict[str, Any]]) -> list[str]:
    """Return the notes of the entries and the options used."""
    notes: dict[str, list[str]] = {}
    options: dict[str, list[str]] = {}
    for found in entries:
        options.setdefault(_options(found) or "its defaults", []).append(found["learner"])
        for note in found["notes"]:
            notes.setdefault(note, []).append(found["learner"])
    used = [f"{', '.join(names)}: {text}" for text, names in options.items()]
    return [
        *(f"{', '.join(names)}: {note}" for note, names in notes.items()),
        f"Options, all others at their defaults: {'; '.join(used)}.",
    ]


def _options(found: dict[str, Any]) -> str:
    return " ".join(f"{name}={format_value(value)}" for name, value in found["options"].items())
