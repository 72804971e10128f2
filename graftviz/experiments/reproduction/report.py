"""Files of a reproduction: measured.json and the data of the figure."""

from __future__ import annotations

import importlib.metadata
import json
import os
import platform
from collections.abc import Sequence
from datetime import UTC, datetime

from graftviz._version import __version__
from graftviz.experiments.reproduction.experiment import Held, Reproduction
from graftviz.table.csv_text import csv_text

_PACKAGES = ("numpy", "numba", "plotly")
_WORDS: dict[Held | None, str] = {
    True: "held",
    False: "did not hold",
    "partly": "held in part",
    None: "not judged",
}


def describe_held(held: Held | None) -> str:
    """Return "held", "did not hold", "held in part" or "not judged"."""
    return _WORDS[held]


def measured_json(
    reproduction: Reproduction,
    *,
    command: str,
    missing: str = "",
    interrupted: bool = False,
    files: Sequence[str] = (),
) -> str:
    """Return all measurements and verdicts as JSON.

    Parameters
    ----------
    command : str
        Command line that was run.
    missing : str
        Sentence on missing data sets and where to get them.
    interrupted : bool
    files : sequence of str
        Names of all files of the reproduction.
    """
    experiment = reproduction.experiment
    verdicts = reproduction.verdicts()
    held = reproduction.held()
    content = {
        "experiment": experiment.name,
        "title": experiment.title,
        "place": experiment.place,
        "scale": reproduction.scale,
        "status": "interrupted" if interrupted else reproduction.status,
        "claim": " ".join(claim.words for claim in experiment.claims),
        "held": held,
        "sentence": _sentence(reproduction, missing),
        "claims": [
            {
                "claim": claim.words,
                "held": None if verdict is None else verdict.held,
                "measured": why if verdict is None else verdict.sentence,
                "numbers": {} if verdict is None else verdict.numbers,
            }
            for claim, verdict, why in verdicts
        ],
        "measured": experiment.study.summary(reproduction.results),
        "settings": experiment.study.settings(),
        "notes": list(experiment.notes),
        "missing": missing,
        "seed": reproduction.seed,
        "parts": len(reproduction.parts),
        "parts_measured": len(reproduction.results),
        "parts_kept_from_earlier": len(reproduction.reused),
        "versions": versions(),
        "command": command,
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "files": list(files),
    }
    return json.dumps(content, indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def versions() -> dict[str, str | int | None]:
    """Return versions of the package, libraries and interpreter, and the machine."""
    return {
        "graftviz": __version__,
        **{name: importlib.metadata.version(name) for name in _PACKAGES},
        "python": platform.python_version(),
        "machine": platform.machine(),
        "cores": os.cpu_count(),
    }


def data_csv(reproduction: Reproduction) -> str:
    """Return the data of the figure as CSV."""
    return csv_text(reproduction.experiment.study.rows(reproduction.results))


def _sentence(reproduction: Reproduction, missing: str) -> str:
    """Return a summary of the verdicts in one or more sentences."""
    if not reproduction.results:
        return f"Not run. {missing}".strip()
    verdicts = reproduction.verdicts()
    good = sum(verdict is not None and verdict.held is True for _, verdict, _ in verdicts)
    sentences = [f"{good} of {len(verdicts)} statements held."]
    for claim, verdict, why in verdicts:
        if verdict is None:
            sentences.append(f"Not judged: {claim.words} {why}")
        elif verdict.held is not True:
            word = describe_held(verdict.held).capitalize()
            sentences.append(f"{word}: {claim.words} Measured: {verdict.sentence}")
    return " ".join([*sentences, *([missing] if missing else [])])
