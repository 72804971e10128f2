"""``python -m tests.fuzz``: mutated inputs for some time; exit code 1 with findings."""

from __future__ import annotations

import argparse
import contextlib
import functools
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from tests.browser.served_app import served_app
from tests.fuzz.campaign import Campaign, Finding, case_of
from tests.fuzz.cases import Case
from tests.fuzz.corpus import case_json, read_case, smaller
from tests.fuzz.kinds import KINDS
from tests.fuzz.requests import LOG, PORT, Page
from tests.fuzz.worker import REFUSED, Trouble

_DEFAULT = [name for name, kind in KINDS.items() if not kind.needs_server]
_MOST_SMALLER = 20  # findings that are made smaller
_SLOW = ("hang", "memory", "leak")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a campaign, or one input again; return 0 without findings, else 1."""
    options = _parser().parse_args(arguments)
    if options.replay is not None:
        return _replay(options.replay)
    with served(options.kinds) as environment:
        campaign = Campaign(
            options.kinds, options.seed, workers=options.workers, environment=environment
        )
        campaign.run(options.seconds, options.count)
        lines = [*report(campaign), *_saved(campaign, options.save)]
    text = "\n".join(lines) + "\n"
    print(text)
    if options.out is not None:
        options.out.write_text(text, encoding="utf-8")
    return int(bool(campaign.findings))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("--seconds", type=float, default=60.0, help="in all (default: 60)")
    parser.add_argument("--count", type=int, help="inputs of each kind at most")
    parser.add_argument("--seed", type=int, default=0, help="of all inputs (default: 0)")
    parser.add_argument(
        "--kinds",
        nargs="+",
        choices=list(KINDS),
        default=_DEFAULT,
        help="default: all that need no server",
    )
    parser.add_argument("--workers", type=int, default=2, help="processes (default: 2)")
    parser.add_argument("--out", type=Path, help="report as Markdown")
    parser.add_argument("--save", type=Path, help="folder for inputs that were found")
    parser.add_argument("--replay", metavar="KIND:SEED:NUMBER", help="one input, or a saved file")
    return parser


@contextlib.contextmanager
def served(kinds: Sequence[str]) -> Iterator[Mapping[str, str]]:
    """Serve the app if one of the kinds needs it; yield the environment of workers."""
    if not any(KINDS[name].needs_server for name in kinds):
        yield {}
        return
    with tempfile.TemporaryDirectory(prefix="graftviz-fuzz-server-") as folder:
        log = Path(folder) / "server.log"
        with served_app(log) as address:
            port = address.rstrip("/").rpartition(":")[2]
            Page(int(port), log)  # the first page loads the app, which is no part of a request
            yield {PORT: port, LOG: str(log)}


def _replay(which: str) -> int:
    if which.endswith(".json"):
        kind, case = read_case(Path(which))
    else:
        kind, seed, number = which.split(":")
        case = case_of(kind, int(seed), int(number))
    for name, content in case.files:
        print(f"file {name[:80]!r}, {len(content)} bytes: {content[:200]!r}")
    print(f"target {case.target}, options {str(case.options)[:500]}")
    with served([kind]) as environment:
        outcome = Campaign([kind], 0, environment=environment).outcome(case, kind)
    if isinstance(outcome, Trouble):
        print(f"{outcome.cause}\n{outcome.detail}")
        return 1
    print("refused" if outcome == REFUSED else "accepted")
    return 0


def report(campaign: Campaign) -> list[str]:
    """Return the table of outcomes and the causes of findings, as lines of Markdown."""
    lines = [
        f"Seed {campaign.seed}, {campaign.seconds:.0f} s.",
        "",
        "| kind | inputs | per second and core | accepted | refused | findings | peak | slowest |",
        "| --- | --- | --- | --- | --- | --- | --- | --- |",
    ]
    for name, record in campaign.records.items():
        rate = record.inputs / record.processor if record.processor else 0.0
        seconds, number = record.slowest
        lines.append(
            f"| {name} | {record.inputs:,} | {rate:,.0f} | {record.accepted:,} | "
            f"{record.refused:,} | {sum(record.causes.values()):,} | {record.peak / 1e6:,.0f} MB | "
            f"{seconds:.2f} s (number {number}) |"
        )
    for name, record in campaign.records.items():
        for cause, count in sorted(record.causes.items(), key=lambda pair: -pair[1]):
            first = next(f for f in record.findings if f.trouble.cause == cause)
            detail = first.trouble.detail.strip().splitlines()
            lines += [
                "",
                f"- **{name}: {cause}**, {count} times; "
                f"`python -m tests.fuzz --replay '{first.replay}'`",
                f"  {detail[-1][:300] if detail else ''}",
            ]
    return lines


def _saved(campaign: Campaign, folder: Path | None) -> list[str]:
    """Write one input of every cause, made smaller where that is quick."""
    if folder is None or not campaign.findings:
        return []
    folder.mkdir(parents=True, exist_ok=True)
    lines = ["", "Saved:"]
    seen: set[tuple[str, str]] = set()
    for finding in campaign.findings:
        key = (finding.kind, finding.trouble.cause)
        if key in seen or finding.trouble.cause == "leak":
            continue
        seen.add(key)
        case = case_of(finding.kind, finding.seed, finding.number)
        is_quick = not finding.trouble.cause.startswith(_SLOW) and finding.kind != "request"
        if is_quick and len(seen) <= _MOST_SMALLER:
            case = smaller(case, functools.partial(_fails, campaign, finding))
        path = folder / f"{finding.replay.replace(':', '-')}.json"
        path.write_text(case_json(case, finding.kind, finding.trouble.cause), encoding="utf-8")
        lines.append(f"- {path}")
    return lines


def _fails(campaign: Campaign, finding: Finding, case: Case) -> bool:
    """Whether a case fails for the same cause as a finding."""
    outcome = campaign.outcome(case, finding.kind)
    return isinstance(outcome, Trouble) and outcome.cause == finding.trouble.cause


if __name__ == "__main__":
    sys.exit(main())
