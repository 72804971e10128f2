"""Benchmark rows as CSV, JSON and Markdown."""

from __future__ import annotations

import csv
import dataclasses
import io
import json
import math
import os
import platform
from collections.abc import Sequence
from typing import Any

import numba
import numpy as np
import pandas as pd
import scipy
import sklearn

from graftviz._version import __version__
from graftviz.experiments.bench import LOWER_IS_BETTER, Row
from graftviz.formats.json_values import json_value

COLUMNS = (
    *("work", "nodes", "rows", "states", "repetitions", "seconds", "wall"),
    *("yardstick", "yardstick_seconds", "ratio"),
    *("edges", "recall", "precision", "F1", "best F1", "NLPL", "NLPL gap"),
    *("objective", "objective gap", "KKT residual", "share of pairs", "yardstick_best_F1"),
    *("goals", "missing"),
)
_SHARES = ("objective gap", "NLPL gap", "share of pairs")


def machine() -> dict[str, str]:
    """Return processor and versions, without paths or host names."""
    return {
        "graftviz": __version__,
        "cores": str(os.cpu_count()),
        "processor": platform.machine(),
        "system": platform.system(),
        "Python": platform.python_version(),
        "NumPy": np.__version__,
        "numba": numba.__version__,
        "pandas": pd.__version__,
        "SciPy": scipy.__version__,
        "scikit-learn": sklearn.__version__,
    }


def record(row: Row) -> dict[str, Any]:
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


def bench_csv(rows: Sequence[Row]) -> str:
    """Return all rows as CSV."""
    text = io.StringIO()
    writer = csv.DictWriter(text, COLUMNS, lineterminator="\n")
    writer.writeheader()
    for row in rows:
        writer.writerow({k: "" if v is None else v for k, v in record(row).items()})
    return text.getvalue()


def bench_json(rows: Sequence[Row]) -> str:
    """Return machine and rows as JSON, with all values of each row."""
    records = []
    for row in rows:
        facts: dict[str, Any] = record(row)
        facts["values"] = dict(row.values)
        facts["yardstick_values"] = dict(row.yardstick_values)
        facts["size"] = dataclasses.asdict(row.measurement.size)
        facts["goals"] = [
            {
                "quantity": goal.quantity,
                "least": goal.least,
                "wanted": goal.target,
                "measured": value,
                "verdict": verdict,
            }
            for goal, value, verdict in row.verdicts()
        ]
        records.append(facts)
    whole = {"machine": machine(), "rows": records}
    return json.dumps(json_value(whole), indent=1, ensure_ascii=False, allow_nan=False) + "\n"


def bench_markdown(rows: Sequence[Row]) -> str:
    """Return the tables in Markdown."""
    facts = machine()
    heading = (
        f"graftviz {facts['graftviz']}, {facts['cores']} cores ({facts['processor']}), "
        f"Python {facts['Python']}, NumPy {facts['NumPy']}, numba {facts['numba']}, "
        f"pandas {facts['pandas']}, SciPy {facts['SciPy']}, scikit-learn {facts['scikit-learn']}. "
        "Times are medians of processor seconds, without compilation. "
        "Data: Barabási–Albert graphs with m = 2 and 5 states, unless stated otherwise."
    )
    parts = [heading]
    tables = (("Goals", _goal_lines(rows)), ("Speed", _speed_lines(rows)))
    for title, lines in (*tables, ("Learners", _learner_lines(rows))):
        if len(lines) > 2:
            parts.append(f"**{title}**\n\n" + "\n".join(lines))
    return "\n\n".join(parts) + "\n"


def _goal_lines(rows: Sequence[Row]) -> list[str]:
    lines = _head("work", "n", "rows", "quantity", "goal", "target", "measured", "")
    for row in rows:
        size = row.measurement.size
        for goal, value, verdict in row.verdicts():
            sign = "≤ " if goal.quantity in LOWER_IS_BETTER else "≥ "
            yardstick = row.measurement.yardstick
            ratio = f"ratio to {yardstick.name}" if yardstick else "ratio"
            lines.append(
                _line(
                    row.measurement.name,
                    _count(size.nodes),
                    _count(size.rows),
                    ratio if goal.quantity == "ratio" else goal.quantity,
                    sign + _format_quantity(goal.quantity, goal.least)
                    if math.isfinite(goal.least)
                    else "–",
                    sign + _format_quantity(goal.quantity, goal.target),
                    "–" if value is None else _format_quantity(goal.quantity, value),
                    verdict if value is not None else row.missing or verdict,
                )
            )
    return lines


def _speed_lines(rows: Sequence[Row]) -> list[str]:
    lines = _head("work", "n", "rows", "graftviz", "yardstick", "takes", "ratio")
    for row in rows:
        if row.measurement.group != "speed":
            continue
        size, yardstick = row.measurement.size, row.measurement.yardstick
        name = "–" if yardstick is None else yardstick.name
        lines.append(
            _line(
                row.measurement.name,
                _count(size.nodes),
                _count(size.rows),
                _value(row.values, "seconds"),
                f"{name} ({row.missing})" if row.missing else name,
                _value(row.yardstick_values, "seconds"),
                _value(row.values, "ratio"),
            )
        )
    return lines


def _learner_lines(rows: Sequence[Row]) -> list[str]:
    shown = ("seconds", "edges", "recall", "precision", "F1", "best F1", "NLPL", "objective gap")
    lines = _head("learner", "n", "rows", *shown, "yardstick", "takes", "ratio")
    for row in rows:
        if row.measurement.group != "learners":
            continue
        size, yardstick = row.measurement.size, row.measurement.yardstick
        name = "–" if yardstick is None else yardstick.name
        if "best F1" in row.yardstick_values:
            name += f" (best F1 {row.yardstick_values['best F1']:.3f})"
        lines.append(
            _line(
                row.measurement.name,
                _count(size.nodes),
                _count(size.rows),
                *(_value(row.values, quantity) for quantity in shown),
                f"{name} ({row.missing})" if row.missing else name,
                _value(row.yardstick_values, "seconds"),
                _value(row.values, "ratio"),
            )
        )
    return lines


def _head(*cells: str) -> list[str]:
    return [_line(*cells), "|" + " --- |" * len(cells)]


def _line(*cells: str) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def _count(number: int) -> str:
    return f"{number:,}" if number else "–"


def _value(values: dict[str, float], quantity: str) -> str:
    return _format_quantity(quantity, values[quantity]) if quantity in values else "–"


def _format_quantity(quantity: str, value: float) -> str:
    """Return a number formatted for its quantity."""
    if not math.isfinite(value):
        return "∞" if value > 0 else "–"
    if quantity == "seconds":
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
