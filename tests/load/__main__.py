"""``python -m tests.load``: load test of the app on this machine."""

from __future__ import annotations

import argparse
import asyncio
import os
import sys
import tempfile
import urllib.parse
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from streamlit import config

from graftviz.serving.limits import limits
from graftviz.ui.streamlit_runtime import LOOK_SECONDS
from tests.browser.served_app import served_app
from tests.load import mixed_use, report
from tests.load.clients import Player
from tests.load.phases import (
    PHASES,
    SETTLE_SECONDS,
    PhaseResult,
    calm,
    closed,
    opened,
    run_phase,
    soak,
)
from tests.load.server import anonymous_bytes, listening_process, memory_bytes
from tests.load.tables import large_table
from tests.load.wire import LOOPBACK

AS_SERVED = {
    "GRAFTVIZ_LIMITS": "docs/serving/limits.toml",
    "PYTHONMALLOC": "malloc",
}  # as in docs/serving.md
MOST_CLIENTS = 100
MOST_SECONDS = 600.0
MOST_SOAK = 6 * 3600.0


def main(arguments: list[str] | None = None) -> int:
    """Run the test; 0 when all goals are met, 1 when not."""
    options = _parser().parse_args(arguments)
    with _server(options.address, ordinary=bool(options.mixed_use)) as address:
        return asyncio.run(_test(options, address))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tests.load", description=__doc__)
    parser.add_argument(
        "--address", help="URL of a running app on this machine (default: start one)"
    )
    parser.add_argument(
        "--clients", type=int, choices=range(1, MOST_CLIENTS + 1), default=30, metavar="N"
    )
    parser.add_argument(
        "--seconds", type=_number(1.0, MOST_SECONDS), default=20.0, help="per phase"
    )
    parser.add_argument("--phase", choices=(*PHASES, "all"), default="all")
    parser.add_argument(
        "--soak",
        type=_number(0.0, MOST_SOAK),
        default=0.0,
        help="seconds of a soak, instead of phases",
    )
    parser.add_argument(
        "--mixed-use",
        type=_number(0.0, MOST_SOAK),
        default=0.0,
        metavar="SECONDS",
        help="use all pages for this time, instead of phases; the server has default settings",
    )
    parser.add_argument("--no-settle", action="store_true", help="do not wait for memory to return")
    parser.add_argument(
        "--out",
        type=Path,
        help="write the results as Markdown, in a file with marks between them",
    )
    return parser


def _number(least: float, most: float):
    def read(text: str) -> float:
        if not least <= float(text) <= most:
            raise argparse.ArgumentTypeError(f"from {least:g} to {most:g}")
        return float(text)

    return read


@contextmanager
def _server(address: str | None, *, ordinary: bool) -> Iterator[str]:
    """Yield the address of the server under test; start one unless `address` is specified.

    An `ordinary` server has this environment and nothing else: no recording of connections.
    """
    if address is None:
        plain = {"PYTHONPATH": os.environ.get("PYTHONPATH", "")}
        with (
            tempfile.TemporaryDirectory() as folder,
            served_app(
                Path(folder) / "server.log", environment=plain if ordinary else AS_SERVED
            ) as own,
        ):
            yield own
    elif urllib.parse.urlsplit(address).hostname in LOOPBACK:
        yield address
    else:
        sys.exit("The load test connects to a server on this machine only.")


async def _test(options: argparse.Namespace, address: str) -> int:
    process = listening_process(urllib.parse.urlsplit(address).port or 80)
    print("Getting the engine ready …", flush=True)
    first = Player(address, 0)
    await first.wire.open()
    await first.open()
    await first.close()
    await calm(process)
    start = memory_bytes(process)
    if options.mixed_use:
        lines, goals = await _mixed(options, address, process)
    elif options.soak:
        lines, goals = await _soaked(options, address, process)
    else:
        lines, goals = await _loaded(options, address, process, start)
    lines.append(report.machine() + "\n")
    lines.append(report.goal_table(goals))
    text = "\n".join(lines)
    print(text)
    if options.out is not None:
        report.write(options.out, text, _name(options))
    return 0 if all(goal.met for goal in goals) else 1


def _name(options: argparse.Namespace) -> str:
    """Return the name of the test, as in the marks of the page that it writes."""
    return "mixed-use" if options.mixed_use else "soak" if options.soak else "load"


async def _loaded(
    options: argparse.Namespace, address: str, process: int, start: int
) -> tuple[list[str], list[report.Goal]]:
    chosen = PHASES if options.phase == "all" else (options.phase,)
    large = large_table() if "mixed" in chosen else b""
    phases: list[PhaseResult] = []
    end = None
    for phase in chosen:
        print(f"{options.clients} clients: {phase} …", flush=True)
        players = await opened(address, options.clients)
        try:
            phases.append(await run_phase(phase, players, process, options.seconds, large))
        finally:
            await closed(players)
        if not options.no_settle:
            # Data of disconnected clients should not count for the next phase.
            print("All have left …", flush=True)
            await asyncio.sleep(limits().gone_seconds + SETTLE_SECONDS)
    if not options.no_settle:
        # Until then, the server keeps uploads of disconnected sessions.
        print("Their sessions end …", flush=True)
        retention = config.get_option("server.disconnectedSessionTTL") + LOOK_SECONDS
        await asyncio.sleep(max(0.0, retention - limits().gone_seconds))
        end = memory_bytes(process)
    lines = [report.phase_table(phases), report.others_table(phases)]
    return lines, report.goals_of(phases, start if end is not None else None, end)


async def _soaked(
    options: argparse.Namespace, address: str, process: int
) -> tuple[list[str], list[report.Goal]]:
    course: list[tuple[float, int]] = []

    def note(seconds: float, held: int) -> None:
        course.append((seconds, held))
        print(f"{seconds:7.0f} s  {held / 1e6:6.0f} MB", flush=True)

    clients = await soak(address, process, options.clients, options.soak, note)
    lines = [report.soak_line(clients) + "\n", report.course_table(course)]
    troubles = sum(len(one.trouble) for one in clients)
    goals = [
        report.soak_goal(course),
        report.Goal("soak: every client gets an answer", f"{troubles} did not", not troubles),
    ]
    return lines, goals


async def _mixed(
    options: argparse.Namespace, address: str, process: int
) -> tuple[list[str], list[report.Goal]]:
    print("Every page once, until that session has expired …", flush=True)
    await mixed_use.warmed_up(address)
    await calm(process)
    start, own = memory_bytes(process), anonymous_bytes(process)
    curve: list[tuple[float, int]] = []

    def note(seconds: float, held: int) -> None:
        curve.append((seconds, held))
        print(f"{seconds:7.0f} s  {held / 1e6:6.0f} MB", flush=True)

    note(0.0, start)
    usage = await mixed_use.mixed_use(address, process, options.clients, options.mixed_use, note)
    lines = [
        report.usage_line(usage) + "\n",
        report.anonymous_line(own, anonymous_bytes(process)) + "\n",
        report.course_table(curve, rows=30),
    ]
    return lines, [report.return_goal(start, curve[-1][1]), report.usage_goal(usage)]


if __name__ == "__main__":
    sys.exit(main())
