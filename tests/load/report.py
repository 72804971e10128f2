"""Report of a load test: goals, verdicts, and a page of Markdown."""

from __future__ import annotations

import os
import statistics
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from tests.load.clients import Measurements
from tests.load.mixed_use import Usage
from tests.load.phases import PhaseResult

ROUND_TRIPS = {"playing": 0.2, "mixed": 0.2, "uploads": 0.25}  # seconds, p95
DRAG = 1.0  # seconds, p95
SHARE = 0.8  # of the median's pace, the slowest client
MEMORY = 1.0e9  # bytes, with thirty clients that learn
LEARNING = ("playing", "dragging", "mixed")  # phases with this limit
RETURN = 0.10  # of the start: largest growth of memory when all clients have left
GROWTH = 0.05  # of the memory after the first quarter: largest growth to the end of a soak
AFTER_USE = 0.15  # of the memory after warm-up: largest growth when all sessions have expired
_SHOWN = 5  # pages without an answer that are named


class Goal(NamedTuple):
    """Goal of a test, with its result."""

    text: str
    found: str
    met: bool


def share_of(values: Iterable[float], share: float) -> float:
    """Return the quantile of values at `share`; NaN without values."""
    ordered = sorted(values)
    if not ordered:
        return float("nan")
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


def goals_of(
    phases: Sequence[PhaseResult], start: int | None = None, end: int | None = None
) -> list[Goal]:
    """Return the goals of phases and of the memory before and after."""
    goals = []
    for one in phases:
        if one.phase in ROUND_TRIPS:
            limit = ROUND_TRIPS[one.phase]
            trips = [t for client in one.players for t in client.round_trips]
            p95 = share_of(trips, 0.95)
            text = f"{one.phase}: round trip p95 ≤ {1000 * limit:.0f} ms"
            # A client that has all steps sends no request.
            met = p95 <= limit or not trips
            goals.append(Goal(text, f"{1000 * p95:.0f} ms", met))
            paces = [client.pace for client in one.players]
            share = min(paces) / max(statistics.median(paces), 1e-9)
            text = f"{one.phase}: the slowest client has at least {SHARE:.0%} of the median's pace"
            goals.append(Goal(text, f"{share:.0%}", share >= SHARE))
        if one.phase == "dragging":
            p95 = share_of((t for client in one.players for t in client.drags), 0.95)
            text = f"dragging: α answered within {DRAG:g} s, p95"
            goals.append(Goal(text, f"{p95:.2f} s", p95 <= DRAG))
        troubles = sum(len(client.trouble) for client in [*one.players, *one.others])
        goals.append(
            Goal(f"{one.phase}: every client gets an answer", f"{troubles} did not", not troubles)
        )
        if one.phase in LEARNING:
            text = f"{one.phase}: memory at most {MEMORY / 1e9:g} GB"
            goals.append(Goal(text, _mb(one.memory), one.memory <= MEMORY))
    if start is not None and end is not None:
        text = f"memory back within {RETURN:.0%} of the start when all have left"
        found = f"{_mb(start)} before, {_mb(end)} after ({end / start - 1:+.0%})"
        goals.append(Goal(text, found, end <= (1 + RETURN) * start))
    return goals


def soak_goal(course: Sequence[tuple[float, int]]) -> Goal:
    """Judge the course of memory over a soak, from its first quarter on."""
    after, last = course_levels(course)
    text = f"a soak ends at most {GROWTH:.0%} above its level after a quarter"
    found = f"{_mb(after)} after a quarter, {_mb(last)} at the end ({last / after - 1:+.1%})"
    return Goal(text, found, last <= (1 + GROWTH) * after)


def return_goal(start: float, end: float) -> Goal:
    """Compare the memory after mixed use, all sessions expired, with that after warm-up."""
    text = f"after use and expired sessions, memory within {AFTER_USE:.0%} of that after warm-up"
    return Goal(text, _change(start, end), end <= (1 + AFTER_USE) * start)


def anonymous_line(start: float, end: float) -> str:
    """Return a sentence on the memory that other programs on the machine cannot change."""
    return (
        "Without the files of libraries, of which a part is counted if other programs use them: "
        f"{_change(start, end)}."
    )


def _change(start: float, end: float) -> str:
    return f"{_mb(start)} after warm-up, {_mb(end)} at the end ({end / start - 1:+.1%})"


def usage_goal(usage: Sequence[Usage]) -> Goal:
    """Judge whether all pages of mixed use answered in time."""
    trouble = [sentence for one in usage for sentence in one.trouble]
    first = "; ".join(trouble[:_SHOWN])
    found = f"{len(trouble)} failed" + (f", the first: {first}" if trouble else "")
    return Goal("mixed use: every page answers", found, not trouble)


def usage_line(usage: Sequence[Usage]) -> str:
    """Return a sentence on the actions of clients on all pages."""
    return (
        f"{len(usage)} clients opened {sum(one.pages for one in usage):,} pages in "
        f"{sum(one.sessions for one in usage):,} sessions, changed "
        f"{sum(one.changes for one in usage):,} controls, sent "
        f"{sum(one.messages for one in usage):,} events from views and uploaded "
        f"{sum(one.uploads for one in usage):,} files."
    )


def course_levels(course: Sequence[tuple[float, int]]) -> tuple[float, float]:
    """Return the median memory of the eighth after the first quarter, and of the last eighth."""
    eighth = max(1, len(course) // 8)
    quarter = len(course) // 4
    middle = [held for _, held in course[quarter : quarter + eighth]]
    last = [held for _, held in course[-eighth:]]
    return statistics.median(middle), statistics.median(last)


def write(path: Path, text: str, test: str) -> None:
    """Write a text to a file, or between its marks ``<!-- measured: TEST -->`` and end."""
    mark, end = f"<!-- measured: {test} -->\n", "<!-- end -->"
    page = path.read_text(encoding="utf-8") if path.exists() else ""
    before, found, rest = page.partition(mark)
    if found:
        text = f"{before}{mark}\n{text.strip()}\n\n{end}{rest.partition(end)[2]}"
    path.write_text(text, encoding="utf-8")


def phase_table(phases: Sequence[PhaseResult]) -> str:
    """Return the measurements as a Markdown table, one row per phase."""
    head = (
        "phase", "clients", "seconds", "steps/s min / median / max", "round trip p50 / p95",
        "α p50 / p95", "stalls", "dry", "memory", "server", "test", "sent",
    )  # fmt: skip
    return table(head, [_row(one) for one in phases])


def others_table(phases: Sequence[PhaseResult]) -> str:
    """Return the measurements of clients that learned a large model or uploaded, as Markdown."""
    rows = []
    for one in phases:
        for client in one.others:
            ups = client.uploads
            size = 20 if one.phase == "uploads" else 5
            what = "learns n = 2,000" if client.learned else f"uploads {size} MB"
            read = f"{max(ups):.1f} s" if ups else "not within the phase"
            rows.append((what, str(len(ups)), read, str(client.learned) if client.learned else "–"))
    if not rows:
        return ""
    return table(("beside the players", "files read", "slowest", "steps learned"), rows)


def goal_table(goals: Sequence[Goal]) -> str:
    """Return the goals with their verdicts, as Markdown."""
    rows = [(goal.text, goal.found, "met" if goal.met else "**not met**") for goal in goals]
    return table(("goal", "found", "verdict"), rows)


def course_table(course: Sequence[tuple[float, int]], rows: int = 12) -> str:
    """Return the course of memory as a Markdown table of about `rows` rows."""
    step = max(1, len(course) // rows)
    chosen = [*course[::step]]
    if chosen[-1] != course[-1]:
        chosen.append(course[-1])
    return table(("minute", "memory"), [(f"{t / 60:.1f}", _mb(held)) for t, held in chosen])


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a Markdown table."""
    lines = [head, ["---"] * len(head), *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def machine() -> str:
    """Return a sentence on the machine of the test."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return (
        f"Server and clients shared {cores} cores; load average over the last minute "
        f"{os.getloadavg()[0]:.1f}."
    )


def _row(one: PhaseResult) -> tuple[str, ...]:
    paces = [client.pace for client in one.players]
    trips = [t for client in one.players for t in client.round_trips]
    drags = [t for client in one.players for t in client.drags]
    played = sum(client.seconds for client in one.players)
    dry = sum(client.stalled_seconds for client in one.players)
    return (
        one.phase,
        str(len(one.players) + len(one.others)),
        f"{one.seconds:.0f}",
        f"{min(paces):.1f} / {statistics.median(paces):.1f} / {max(paces):.1f}" if played else "–",
        f"{_ms(trips, 0.5)} / {_ms(trips, 0.95)} ms" if trips else "–",
        f"{share_of(drags, 0.5):.2f} / {share_of(drags, 0.95):.2f} s" if drags else "–",
        str(sum(client.stalls for client in one.players)) if played else "–",
        f"{dry / played:.0%}" if played else "–",
        _mb(one.memory),
        f"{one.cores:.2f} cores",
        f"{one.own_cores:.2f} cores",
        f"{one.received / 1e6:.0f} MB",
    )


def _ms(values: Iterable[float], share: float) -> str:
    return f"{1000 * share_of(values, share):.0f}"


def _mb(held: float) -> str:
    return f"{held / 1e6:.0f} MB"


def soak_line(clients: Sequence[Measurements]) -> str:
    """Return a sentence on the sessions of a soak."""
    trips = [t for one in clients for t in one.round_trips]
    steps = sum(one.steps for one in clients)
    troubles = sum(len(one.trouble) for one in clients)
    return (
        f"{len(clients)} visits played {steps:,} steps; round trip p50 / p95 {_ms(trips, 0.5)} / "
        f"{_ms(trips, 0.95)} ms; {troubles} requests without an answer."
    )
