"""Mutated inputs: earlier failures, a few new inputs, and detection of failures."""

from __future__ import annotations

import datetime
import hashlib
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from tests.fuzz.__main__ import report, served
from tests.fuzz.campaign import Campaign, case_of
from tests.fuzz.corpus import case_json, corpus, read_case, smaller
from tests.fuzz.kinds import KINDS
from tests.fuzz.worker import Limits, Trouble

ROOT = Path(__file__).resolve().parent.parent
NIGHTLY_SECONDS = 300.0
# Inputs of a kind in the ordinary tests: about a second each.
FEW = {"request": 80, "parquet": 1500}
USUAL = 400
STRICT = Limits(seconds=1.0, memory=500_000_000, leak=60_000_000)
CORPUS = corpus()
WITH_SERVER = {name for name, (kind, _) in CORPUS.items() if KINDS[kind].needs_server}


@pytest.fixture(scope="module")
def environment() -> Iterator[Mapping[str, str]]:
    """Serve the app for the requests."""
    with served(["request"]) as variables:
        yield variables


# ------------------------------------------------------------------------------- earlier failures


@pytest.mark.parametrize(
    "name",
    [name for name in CORPUS if name not in WITH_SERVER],
)
def test_earlier_failure_is_read_or_refused(name: str) -> None:
    kind, make = CORPUS[name]
    outcome = Campaign([kind], 0).outcome(make(), kind)
    assert not isinstance(outcome, Trouble), outcome


@pytest.mark.parametrize("name", sorted(WITH_SERVER))
def test_request_that_failed_earlier_is_answered(name: str, environment: Mapping[str, str]) -> None:
    kind, make = CORPUS[name]
    outcome = Campaign([kind], 0, environment=environment).outcome(make(), kind)
    assert not isinstance(outcome, Trouble), outcome


# -------------------------------------------------------------------------------------- new inputs


def check(campaign: Campaign) -> None:
    """Fail with the report if there are findings."""
    assert not campaign.findings, "\n".join(report(campaign))


@pytest.mark.parametrize("kind", [name for name in KINDS if not KINDS[name].needs_server])
def test_mutated_inputs_are_read_or_refused(kind: str) -> None:
    few = FEW.get(kind, USUAL)
    campaign = Campaign([kind], 0)
    campaign.run(60.0, few)
    check(campaign)
    record = campaign.records[kind]
    assert record.inputs == record.accepted + record.refused == few
    assert record.accepted, "some inputs are only slightly mutated"
    assert record.refused, "some inputs are damaged"


def test_mutated_requests_are_answered(environment: Mapping[str, str]) -> None:
    campaign = Campaign(["request"], 0, workers=1, environment=environment)
    campaign.run(60.0, FEW["request"])
    check(campaign)
    record = campaign.records["request"]
    assert record.inputs == FEW["request"]
    assert record.accepted, "some requests are those of a page"


@pytest.mark.nightly
def test_five_minutes_of_new_inputs(environment: Mapping[str, str]) -> None:
    seed = datetime.datetime.now(datetime.UTC).date().toordinal()
    campaign = Campaign(list(KINDS), seed, environment=environment)
    campaign.run(NIGHTLY_SECONDS)
    check(campaign)


# ------------------------------------------------------------------------------ failures are found


@pytest.mark.parametrize(
    ("kind", "cause"),
    [
        ("abort", "abort: SIGABRT at "),
        ("hang", "hang: at "),
        ("exception", "exception: KeyError at "),
        ("memory", "memory: "),
        ("message", "message: too long"),
        ("control characters", "message: control characters"),
        ("exit", "exception: SystemExit at "),
    ],
)
def test_failure_is_found_and_attributed_to_its_input(kind: str, cause: str) -> None:
    # Allocation may be slow on a busy machine.
    limits = STRICT._replace(seconds=10.0) if kind == "memory" else STRICT
    campaign = Campaign([kind], 3, limits=limits, module="tests.fuzz.faulty")
    campaign.run(60.0, 20)
    record = campaign.records[kind]
    numbers = [n for n in range(20) if b"!" in case_of(kind, 3, n, "tests.fuzz.faulty").files[0][1]]
    assert numbers, "some inputs of the seed trigger the fault"
    assert {finding.number for finding in campaign.findings} <= set(numbers)
    assert sum(record.causes.values()) == len(numbers)
    assert all(found.startswith(cause) for found in record.causes), record.causes
    assert record.accepted == 20 - len(numbers)
    assert record.inputs == 20
    assert "--replay" in "\n".join(report(campaign))


def test_memory_leak_is_found() -> None:
    limits = STRICT._replace(memory=2_000_000_000)
    campaign = Campaign(["leak"], 0, limits=limits, module="tests.fuzz.faulty", workers=1)
    campaign.run(60.0, 300)
    assert set(campaign.records["leak"].causes) == {"leak"}


def test_finding_is_minimised_and_saved(tmp_path: Path) -> None:
    number = next(
        n for n in range(100) if b"!" in case_of("exception", 3, n, "tests.fuzz.faulty").files[0][1]
    )
    case = case_of("exception", 3, number, "tests.fuzz.faulty")
    found = smaller(case, lambda other: b"!" in other.files[0][1])
    assert len(found.files[0][1]) < 10
    path = tmp_path / "x.json"
    path.write_text(case_json(found, "exception", "cause"), encoding="utf-8")
    assert read_case(path) == ("exception", found)


# -------------------------------------------------------------------------------- reproducibility


def digest(kind: str) -> str:
    """Return a digest of the first inputs of a kind."""
    cases = "".join(repr(case_of(kind, 5, number)) for number in range(12))
    return hashlib.sha256(cases.encode("utf-8", "surrogatepass")).hexdigest()


def test_input_is_determined_by_kind_seed_and_number() -> None:
    code = "from tests.test_fuzz import *; print(*map(digest, KINDS))"
    other = subprocess.run(
        [sys.executable, "-c", code],
        cwd=ROOT,
        env={**os.environ, "PYTHONHASHSEED": "7"},
        capture_output=True,
        text=True,
        check=True,
    )
    digests = [digest(kind) for kind in KINDS]
    assert other.stdout.split() == digests
    assert len(set(digests)) == len(KINDS)
