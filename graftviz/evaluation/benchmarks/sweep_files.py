"""Rows of the benchmark as CSV, JSON and Markdown."""

from __future__ import annotations

import dataclasses
import html
import math
import os
import platform
from collections.abc import Iterable, Mapping, Sequence
from importlib.metadata import version
from typing import Any

from graftviz.evaluation.benchmarks.bench import LOWER_IS_BETTER, BenchRow
from graftviz.utils.files import csv_text, json_text
from graftviz.utils.options import attributes
from graftviz.utils.version import __version__

_STYLE = """
body { margin: 0 auto; padding: 12px clamp(8px, 2vw, 28px) 40px;
  font: 17px/1.5 system-ui, sans-serif; color: #1d2430; background: #fff; }
footer, .notes, .measured { color: #55606e; }
code { overflow-wrap: anywhere; }
"""


def html_page(title: str, body: str, footer: str, *, width: int, style: str) -> str:
    """Return a page with a title, a body and a footer of at most some pixels' width."""
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{html.escape(title)}</title>"
        f"<style>{_STYLE}body {{ max-width: {width}px; }}{style}</style></head>"
        f"<body>{body}<footer>{footer}</footer></body></html>\n"
    )


def machine(**packages: str) -> dict[str, str]:
    """Return processor and versions, without paths or host names.

    Parameters
    ----------
    packages : str
        Names of installed packages by their titles.
    """
    facts = {"graftviz": __version__, "cores": str(os.cpu_count())}
    facts |= {"processor": platform.machine(), "system": platform.system()}
    facts |= {"Python": platform.python_version()}
    return facts | {name: version(package) for name, package in packages.items()}


_LIBRARIES = {name: name.lower() for name in ("NumPy", "numba", "pandas", "SciPy", "scikit-learn")}
_SHARES = ("objective gap", "NLPL gap", "share of pairs")
# Columns of the tables of measurements.
_SPEED = ("seconds",)
_LEARNED = ("seconds", "edges", "recall", "precision", "F1", "best F1", "NLPL", "objective gap")


def record_files(
    name: str, records: Sequence[Mapping[str, Any]], legend: str, text: str
) -> dict[str, str]:
    """Return the CSV, JSON and Markdown files of records with the same columns."""
    facts = machine(NumPy="numpy", numba="numba")
    return {
        f"{name}.csv": csv_text([list(records[0]), *(record.values() for record in records)]),
        f"{name}.json": json_text({"machine": facts, "legend": legend, "rows": records}, indent=1),
        f"{name}.md": text,
    }


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
