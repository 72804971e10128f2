"""Rows of the benchmark and of the arena as CSV, JSON, Markdown and HTML."""

from __future__ import annotations

import dataclasses
import html
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from graftviz.experiments.arena import COLUMNS as ARENA_COLUMNS, Contest, entry
from graftviz.experiments.bench import LOWER_IS_BETTER, BenchRow
from graftviz.experiments.html_page import html_page, machine
from graftviz.formats.json_values import json_text
from graftviz.options import attributes, format_value
from graftviz.table.csv_text import csv_text

_LIBRARIES = {name: name.lower() for name in ("NumPy", "numba", "pandas", "SciPy", "scikit-learn")}
_SHARES = ("objective gap", "NLPL gap", "share of pairs")
# Columns of the tables of measurements.
_SPEED = ("seconds",)
_LEARNED = ("seconds", "edges", "recall", "precision", "F1", "best F1", "NLPL", "objective gap")
_ARENA_HEAD = ("learner", "test NLPL", "test NLL", "edges", "width", "inference", "by", "learning")
_LEGEND = (
    "NLPL and NLL: nats per held-out row, lower is better. Width: of the best elimination order "
    "found, an upper bound on the treewidth. Inference: seconds for the marginals of all variables "
    "and all edges. Learning: engine seconds without compilation. Both are medians of processor "
    "time."
)
_STYLE = """
table { border-collapse: collapse; width: 100%; }
th, td { padding: 4px 10px; border-bottom: 1px solid #d5dae1; text-align: right; }
th:first-child, td:first-child { text-align: left; }
td.failure { text-align: left; color: #a33c00; }
"""


def bench_files(rows: Sequence[BenchRow]) -> dict[str, str]:
    """Return the files of the benchmark by name."""
    records = [_bench_record(row) for row in rows]
    whole = [record | _details(row) for row, record in zip(rows, records, strict=True)]
    return {
        "bench.csv": csv_text([list(records[0]), *(record.values() for record in records)]),
        "bench.json": json_text({"machine": machine(**_LIBRARIES), "rows": whole}, indent=1),
        "bench.md": bench_markdown(rows),
    }


def bench_markdown(rows: Sequence[BenchRow]) -> str:
    """Return the tables of goals, speed and learners in Markdown."""
    facts = machine(**_LIBRARIES)
    heading = (
        f"graftviz {facts['graftviz']}, {facts['cores']} cores ({facts['processor']}), "
        f"{', '.join(f'{name} {facts[name]}' for name in ('Python', *_LIBRARIES))}. "
        "Times are medians of processor seconds, without compilation. "
        "Data: Barabási–Albert graphs with m = 2 and 5 states, unless stated otherwise."
    )
    tables = {
        "Goals": _goal_lines(rows),
        "Speed": _row_lines(rows, "speed", _SPEED, ("work", "n", "rows", "graftviz")),
        "Learners": _row_lines(rows, "learners", _LEARNED, ("learner", "n", "rows", *_LEARNED)),
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
            **attributes(contest, "name", "split"),
            **{"variables": contest.train.n_variables, "rows": contest.train.n_rows},
            **{"rows_test": contest.test.n_rows, "fingerprint": contest.train.fingerprint},
        }
        for contest in contests
    ]
    whole = {"command": command, "machine": machine(**_LIBRARIES), "data": data, "legend": _LEGEND}
    return {
        "arena.csv": csv_text([ARENA_COLUMNS, *flat]),
        "arena.html": _arena_page(entries, contests, command),
        "measured.json": json_text({**whole, "entries": entries}, indent=1),
    }


def arena_markdown(rows: Sequence[BenchRow], contests: Sequence[Contest]) -> str:
    """Return one Markdown table per contest."""
    parts = []
    for title, own in _by_contest([entry(row) for row in rows], contests):
        parts.append(f"**{title}**\n\n" + "\n".join(_table(_ARENA_HEAD, map(_cells, own))))
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
    """Return the values of a row by column of the CSV; None if not available."""
    measurement, values, theirs = row.measurement, row.values, row.yardstick_values
    goals = [
        f"{goal.quantity} {goal.least:g} (target: {goal.target:g}): {verdict}"
        for goal, _, verdict in row.verdicts()
    ]
    return {
        "work": measurement.name,
        **attributes(measurement.size, "nodes", "rows", "states"),
        "repetitions": row.repetitions,
        **_some(values, "seconds", "wall"),
        "yardstick": measurement.yardstick and measurement.yardstick.name,
        "yardstick_seconds": theirs.get("seconds"),
        **_some(values, "ratio", *_LEARNED[1:-1], "NLPL gap"),
        **_some(values, "objective", "objective gap", "KKT residual", "share of pairs"),
        "yardstick_best_F1": theirs.get("best F1"),
        "goals": "; ".join(goals) or None,
        "missing": row.missing or None,
    }


def _some(values: Mapping[str, Any], *names: str) -> dict[str, Any]:
    return {name: values.get(name) for name in names}


def _details(row: BenchRow) -> dict[str, Any]:
    """Return what the JSON of a row has beyond the CSV: all values, the size and the goals."""
    names = ("quantity", "least", "wanted", "measured", "verdict")
    goals = [dict(zip(names, (*goal, *found), strict=True)) for goal, *found in row.verdicts()]
    size = dataclasses.asdict(row.measurement.size)
    return {**attributes(row, "values", "yardstick_values"), "size": size, "goals": goals}


def _goal_lines(rows: Sequence[BenchRow]) -> list[str]:
    cells = []
    for row in rows:
        yardstick = row.measurement.yardstick
        for goal, value, verdict in row.verdicts():
            sign = "≤ " if goal.quantity in LOWER_IS_BETTER else "≥ "
            name = goal.quantity
            if name == "ratio" and yardstick:
                name = f"ratio to {yardstick.name}"
            limits = (goal.least, goal.target)
            least, target = (sign + _format_quantity(goal.quantity, limit) for limit in limits)
            least = least if math.isfinite(goal.least) else "–"
            outcome = verdict if value is not None else row.missing or verdict
            measured = _value(row.values, goal.quantity)
            cells.append([*_work(row), name, least, target, measured, outcome])
    return _table(("work", "n", "rows", "quantity", "goal", "target", "measured", ""), cells)


def _row_lines(
    rows: Sequence[BenchRow], group: str, quantities: Sequence[str], head: Sequence[str]
) -> list[str]:
    cells = []
    for row in rows:
        theirs, yardstick = row.yardstick_values, row.measurement.yardstick
        name = "–" if yardstick is None else yardstick.name
        if "best F1" in theirs:
            name += f" (best F1 {theirs['best F1']:.3f})"
        if row.missing:
            name += f" ({row.missing})"
        if row.measurement.group == group:
            measured = (_value(row.values, quantity) for quantity in quantities)
            ratio = _value(theirs, "seconds"), _value(row.values, "ratio")
            cells.append([*_work(row), *measured, name, *ratio])
    return _table((*head, "yardstick", "takes", "ratio"), cells)


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
    facts = ", ".join(f"{name} {value}" for name, value in machine(**_LIBRARIES).items())
    footer = (
        f"<p>{html.escape(_LEGEND)}</p><p><code>{html.escape(command)}</code></p>"
        f"<p>{html.escape(facts)}</p>"
    )
    return html_page("Arena", f"<h1>Arena</h1>{''.join(body)}", footer, width=1100, style=_STYLE)


def _page_row(found: dict[str, Any], own: Sequence[dict[str, Any]]) -> str:
    """Return a row of the page's table; the best NLPL and NLL of the contest are bold."""
    cells = [html.escape(cell) for cell in _cells(found)]
    if found["failure"]:
        return (
            f'<tr><td>{cells[0]}</td><td class="failure" colspan="{len(cells) - 1}">'
            f"{cells[1]}</td></tr>"
        )
    for at, score in ((1, "nlpl"), (2, "nll")):
        scores = [e[score] for e in own if e[score] is not None]
        if found[score] == min(scores, default=math.nan):
            cells[at] = f"<b>{cells[at]}</b>"
    text = "".join(f"<td>{cell}</td>" for cell in cells)
    return f'<tr title="{html.escape(found["stop_reason"])}">{text}</tr>'


def _by_contest(
    entries: Sequence[dict[str, Any]], contests: Sequence[Contest]
) -> list[tuple[str, list[dict[str, Any]]]]:
    """Return the titles of the measured contests with their entries."""
    found = []
    for contest in contests:
        train, test = contest.train, contest.test
        title = (
            f"{contest.name}: {train.n_variables} variables, {train.n_rows:,} rows, "
            f"{test.n_rows:,} held out ({contest.split})"
        )
        found.append((title, [e for e in entries if e["data"] == contest.name]))
    return [(title, own) for title, own in found if own]


def _cells(found: dict[str, Any]) -> list[str]:
    """Return the cells of an entry in the order of the header."""
    if found["failure"]:
        return [found["learner"], found["failure"], *[""] * (len(_ARENA_HEAD) - 2)]
    width = "–" if found["width"] is None else f"{'≥ ' * found['width_is_least']}{found['width']}"
    return [
        *(found["learner"], _value(found, "nlpl"), _value(found, "nll"), _value(found, "edges")),
        *(width, _value(found, "inference_seconds"), found["inference"] or "–"),
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
