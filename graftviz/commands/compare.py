"""``graftviz compare``: the edges and marginals of two models of the same variables."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from typing import Any

import numpy as np

from graftviz.commands.arguments import checked_model, path
from graftviz.formats.json_values import json_text
from graftviz.inference import infer
from graftviz.inference.exact.plan import plan_elimination, too_expensive
from graftviz.inference.methods import Method
from graftviz.inspection.difference import (
    COMMON,
    GAINED,
    LOST,
    compare_models,
    marginal_distances,
)

NAME = "compare"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of ``compare`` to `parser`."""
    parser.add_argument("first", type=path, metavar="FIRST", help="a model, or a folder of learn")
    parser.add_argument(
        "second",
        type=path,
        metavar="SECOND",
        help="another; recall and precision are those of the first if the second is the truth",
    )


def run(arguments: argparse.Namespace) -> int:
    """Print the comparison as JSON; return the exit code."""
    models = checked_model(arguments.first), checked_model(arguments.second)
    found = compare_models(*models)
    if found.note:
        print(f"Note: {found.note}", file=sys.stderr)
    methods: list[Method] = [
        "bp" if too_expensive(plan_elimination(model)) else "exact" for model in models
    ]
    marginals = [infer(model, how).node for model, how in zip(models, methods, strict=True)]
    distances = marginal_distances(found, models, (marginals[0], marginals[1]))
    names = models[0].names
    edges = zip(found.edges.tolist(), found.status, found.first, found.second, strict=True)
    text = json_text(
        {
            **{status: found.count(status) for status in (COMMON, LOST, GAINED)},
            "recall": found.recall,
            "precision": found.precision,
            "f1": found.f1,
            "marginals": {"methods": methods, **_summary(distances, names)},
            "edges": [
                {"source": names[i], "target": names[j], "status": status, "first": a, "second": b}
                for (i, j), status, a, b in edges
            ],
        }
    )
    print(text, end="")
    return 0


def _summary(distances: np.ndarray, names: Sequence[str]) -> dict[str, Any]:
    """Return mean and maximum of the distances, and the variable of the maximum."""
    finite = np.flatnonzero(np.isfinite(distances))
    if len(finite) == 0:
        return {"mean_total_variation": None, "largest_total_variation": None, "variable": None}
    largest = int(finite[np.argmax(distances[finite])])
    return {
        "mean_total_variation": float(distances[finite].mean()),
        "largest_total_variation": float(distances[largest]),
        "variable": names[largest],
    }
