"""``python -m tests.cold_start``: times of a first start on this machine."""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
from collections import defaultdict
from pathlib import Path

from tests.cold_start.measuring import (
    APP,
    Times,
    app_times,
    clone,
    learning_seconds,
    warm_up_seconds,
)
from tests.load.report import table, write

# Name of a time → its row in the table, and the most seconds of the goal.
ROWS: dict[str, tuple[str, float | None]] = {
    "plays": ("`streamlit run` → a graph that plays", 6.0),
    "moved": ("→ a run with a moved α on the page", 25.0),
    "compiled": ("→ everything compiled", 110.0),
    "paper": ("`gv.learn`, preset paper, 60 variables, fresh process", 25.0),
    "best": ("the same, preset best", None),
    "warm-up": ("`python -m graftviz warm-up`", None),
    "plays again": ("kernels in the cache: `streamlit run` → a graph that plays", 4.0),
}


def main(arguments: list[str] | None = None) -> int:
    """Measure; 0 when all goals are met, 1 when not."""
    parser = argparse.ArgumentParser(prog="python -m tests.cold_start", description=__doc__)
    parser.add_argument("--runs", type=int, default=3, help="of each measurement")
    parser.add_argument(
        "--only", nargs="+", choices=ROWS, default=list(ROWS), metavar="NAME", help="some rows"
    )
    parser.add_argument("--shots", type=Path, help="folder for screenshots of the page")
    parser.add_argument("--out", type=Path, help="file with marks between which the table goes")
    options = parser.parse_args(arguments)
    found: dict[str, list[float]] = defaultdict(list)
    for run in range(options.runs):
        for name, seconds in _measured(options.only, options.shots).items():
            print(f"run {run + 1}: {name} {seconds:.1f} s", flush=True)
            found[name].append(seconds)
    text = f"\n{_table(found)}\n"
    print(text)
    if options.out is not None:
        write(options.out, text, "cold-start")
    return 0 if all(_is_met(name, seconds) for name, seconds in found.items()) else 1


def _measured(names: list[str], shots: Path | None) -> Times:
    """Return one time of each kind, each from a clone without compiled kernels."""
    times: Times = {}
    needed = [name for name in APP if name in names or "plays again" in names]
    if needed:
        with tempfile.TemporaryDirectory() as folder:
            fresh = clone(Path(folder))
            times |= app_times(fresh, until=needed[-1], shots=shots)
            if "plays again" in names:
                times["plays again"] = app_times(fresh, until="plays")["plays"]
    for preset in ("paper", "best"):
        if preset in names:
            with tempfile.TemporaryDirectory() as folder:
                times[preset] = learning_seconds(clone(Path(folder)), preset)
    if "warm-up" in names:
        with tempfile.TemporaryDirectory() as folder:
            times["warm-up"] = warm_up_seconds(clone(Path(folder)))
    return times


def _table(found: dict[str, list[float]]) -> str:
    rows = []
    for name, (label, goal) in ROWS.items():
        if found[name]:
            each = ", ".join(f"{value:.1f}" for value in found[name])
            at_most = "–" if goal is None else f"{goal:g} s"
            rows.append((label, f"{statistics.median(found[name]):.1f} s", each, at_most))
    return table(("seconds from the command", "median", "each run", "goal"), rows)


def _is_met(name: str, seconds: list[float]) -> bool:
    goal = ROWS[name][1]
    return goal is None or not seconds or statistics.median(seconds) <= goal


if __name__ == "__main__":
    sys.exit(main())
