"""Runs of every learner on two small data sets: ``trace.csv`` and ``result.json``."""

from __future__ import annotations

import csv
import functools
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from graftviz.dynamics.learners import LEARNERS
from graftviz.dynamics.simulation import random_system, simulate
from graftviz.learning.registry import learner_names
from tests.golden.commands import run
from tests.golden.files import folder_values

_USUAL = ("--test-fraction", "0.2", "--seed", "1")
# Data set → limits that keep its runs short.
_DATA: dict[str, tuple[str, ...]] = {"survey": (), "karate": ("--max-edges", "40")}
# Beside its own defaults, by learner: name of the variant → options.
_GRAFTING = {
    "paper": ("preset=paper",),
    "root": ("group_weight=sqrt", "penalise_nodes=true", "lam=0.01"),
}
_VARIANTS: dict[str, dict[str, tuple[str, ...]]] = {
    "best-choice": {
        **_GRAFTING,
        "greedy": ("preset=paper", "alpha=0", "reservoir=20", "t_max=100", "hubs=true"),
    },
    "edge-grafting": _GRAFTING,
    "first-hit": _GRAFTING,
    "feature-grafting": {"few": ("max_features=25", "lam2=0.05")},
    "grafting-light": {"few": ("max_features=25", "lam2=0.05")},
    "chow-liu": {"smoothed": ("pseudo_count=2",)},
    "nodewise-l1": {
        "and": ("rule=and", "path=4"),
        "mean": ("rule=mean", "path=4", "group_weight=sqrt", "lam=0.02"),
    },
    "forced-pruning": {
        "mcmc": ("heuristic=mcmc", "exchange=2", "exchanges=4", "clusters=9"),
        "rejection": ("heuristic=rejection", "exchange=2", "exchanges=4", "tied=false"),
        "sampled": ("sample_additions=true", "exchange=2", "exchanges=3", "restarts=1"),
    },
    "bounded-inference": {
        "bp-sweeps": ("complexity=bp-sweeps", "max_edges=12"),
        "trbp-sweeps": ("complexity=trbp-sweeps", "max_edges=12"),
        "circuit-size": ("complexity=circuit-size", "bound=2000"),
    },
}
_SOLVERS = {
    "": (),
    "coordinate": ("solver=coordinate", "path=3", "centre=true"),
    "sgd": ("lam=0.01", "step=0.3"),
}
_DYNAMICS: dict[str, dict[str, tuple[str, ...]]] = {
    "dense": {"": (), "centred": ("centre=true",)},
    "enforcing": {"": ()},
    "inducing": _SOLVERS,
    "scalable": {
        **_SOLVERS,
        "activity": ("seed_choice=activity", "uncovered=regress", "seeds=4"),
        "spread": ("seed_choice=spread", "uncovered=common", "seeds=4"),
    },
}


def recordings() -> dict[str, Callable[[], Any]]:
    """Return the functions that compute the results of learners, by the name of the recording."""
    found: dict[str, Callable[[], Any]] = {}
    for learner in learner_names():
        for data in _DATA:
            found[f"learners/{learner}.{data}"] = functools.partial(_learned, learner, data)
        for variant, options in _VARIANTS.get(learner, {}).items():
            name = f"learners/{learner}.survey.{variant}"
            found[name] = functools.partial(_learned, learner, "survey", *options)
    for learner in LEARNERS:
        for data in _series():
            for variant, options in _DYNAMICS.get(learner, {"": ()}).items():
                name = ".".join(filter(None, (f"dynamics/{learner}.{data}", variant)))
                found[name] = functools.partial(_learned_dynamics, learner, data, *options)
    return found


def _learned(learner: str, data: str, *options: str) -> dict[str, Any]:
    """Return the trace and the result of ``graftviz learn``."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder)
        given = [word for option in options for word in ("--set", option)]
        run("learn", data, "--learner", learner, *_USUAL, *_DATA[data], *given, "--out", out)
        values = folder_values(out)
        return {"result": values["result.json"], "trace": values["trace.csv"]}


@functools.cache
def _series() -> dict[str, str]:
    """Return two small sets of time series as CSV, by name."""
    system = random_system(10, density=0.2, seed=3)
    drawn = simulate(system, 300, seed=1)
    simulated = [drawn.names, *drawn.values.tolist()]
    city = Path(__file__).parents[2] / "sample_data" / "city" / "series.csv"
    with city.open(encoding="utf-8", newline="") as stream:
        lines = list(csv.reader(stream))[:337]  # two weeks
    return {"simulated": _csv_text(simulated), "city": _csv_text(line[:13] for line in lines)}


def _csv_text(lines: Any) -> str:
    return "".join(",".join(map(str, line)) + "\n" for line in lines)


def _learned_dynamics(learner: str, data: str, *options: str) -> dict[str, Any]:
    """Return the matrix and the result of ``graftviz dynamics``."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        series = folder / "series.csv"
        series.write_text(_series()[data], encoding="utf-8")
        given = [word for option in options for word in ("--set", option)]
        if learner == "enforcing":
            names = next(csv.reader(_series()[data].splitlines()))[-10:]
            parents = folder / "parents.csv"
            pairs = [f"{names[i - step]},{names[i]}" for i in range(10) for step in (1, 3)]
            parents.write_text("\n".join(["source,target", *pairs, ""]), encoding="utf-8")
            given += ["--parents", str(parents)]
        if learner in ("inducing", "scalable"):
            given += ["--set", "parents=3"]
        run("dynamics", series, "--learner", learner, "--seed", 2, *given, "--out", folder / "out")
        values = folder_values(folder / "out")
        return {"result": values["result.json"], "matrix": values["matrix.csv"]}
