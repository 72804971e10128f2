"""Declared figures of the paper on bounded inference: likelihood against cost and error.

Das Gupta, Srinivasan, Sharma and Greiner, "Learning Markov networks with bounded inference
complexity" (ICML workshop on inferning, 2013).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import plotly.graph_objects as go

from graftviz.experiments.reproduction import bounded_verdicts as judged
from graftviz.experiments.reproduction.bounded_runs import (
    DENSITY,
    MOST_OPERATIONS,
    BoundedPart,
    PathPart,
    RandomNetwork,
)
from graftviz.experiments.reproduction.bounded_verdicts import (
    BOUNDED,
    PATH,
    PENALISED,
    REFITTED,
    networks,
    points,
)
from graftviz.experiments.reproduction.experiment import (
    PAPER,
    REHEARSAL,
    SMALL,
    Cells,
    Claim,
    Experiment,
    Part,
    Results,
    Study,
)
from graftviz.figures.reproduction import Look
from graftviz.figures.reproduction_localized import Chart, Series, series_figure
from graftviz.figures.style import BLUE, GREEN, ORANGE, VERMILION

_PAPER = "Bounded inference complexity"
_NODES, _ROWS = 30, 500
_NAMES = {
    BOUNDED: "bounded",
    PENALISED: "bounded, ℓ₂ penalty",
    PATH: "ℓ₁",
    REFITTED: "ℓ₁, fitted by likelihood",
}
_LOOKS = {
    BOUNDED: Look(BLUE, "solid", "circle"),
    PENALISED: Look(GREEN, "longdash", "triangle-up"),
    PATH: Look(VERMILION, "dash", "diamond"),
    REFITTED: Look(ORANGE, "dot", "square"),
}
_TITLES = {
    "nll": "held-out NLL, nats per row",
    "ncmll": "held-out NCMLL, nats per row",
    "exact_seconds": "junction tree: seconds of all marginals",
    "trbp_seconds": "TRBP: seconds of all marginals",
    "log_partition_error": "error of TRBP's log Z, %",
}
_QUANTITIES = (
    *("edges", "width", "nll", "ncmll", "ncmll_total", "exact_seconds", "exact_operations"),
    *("trbp_seconds", "trbp_operations", "trbp_sweeps", "trbp_converged", "log_partition_error"),
)


class BoundedPlan(NamedTuple):
    """Sizes and bounds at one scale."""

    nodes: int
    rows: int
    networks: int
    widths: tuple[int, ...]
    penalised: tuple[int, ...]
    sweeps: tuple[int, ...]
    path: int


PLANS: Mapping[str, BoundedPlan] = {
    REHEARSAL: BoundedPlan(7, 80, 1, (1, 2, 3), (2,), (10, 30), 4),
    SMALL: BoundedPlan(_NODES, _ROWS, 3, (1, 2, 3, 4, 6), (1, 2, 3), (10, 20, 40, 80), 12),
    PAPER: BoundedPlan(
        _NODES, _ROWS, 5, tuple(range(1, 11)), (1, 2, 3, 4), (10, 15, 20, 30, 40, 60, 80, 120), 40
    ),
}


@dataclass(frozen=True)
class Frontier(Study):
    """Loss against cost for models of bounded inference and of the path of λ.

    Attributes
    ----------
    complexity : str
        Name of the cost measure R, see :class:`graftviz.BoundedInference`.
    loss, cost : str
        Quantities of the axes: keys of a measured point.
    """

    complexity: str
    loss: str
    cost: str

    def parts(self, scale: str, seed: int) -> Sequence[Part]:
        """Return one part for every network and bound, and one for the path of each network."""
        plan = PLANS[scale]
        bounds = plan.widths if self.complexity == "treewidth" else plan.sweeps
        found: list[Part] = []
        for k in range(plan.networks):
            network = RandomNetwork(plan.nodes, plan.rows, plan.rows, seed * plan.networks + k)
            found += [BoundedPart(network, self.complexity, float(bound)) for bound in bounds]
            if self.complexity == "treewidth":
                found += [
                    BoundedPart(network, self.complexity, float(bound), is_penalised=True)
                    for bound in plan.penalised
                ]
            found.append(PathPart(network, plan.path))
        return found

    def needs(self) -> tuple[str, ...]:
        """Return no data sets: networks are generated."""
        return ()

    def settings(self) -> dict[str, Any]:
        """Return the settings that all parts share."""
        return {
            "network": f"binary variables, each pair an edge with probability {DENSITY:g}, all "
            "weights from N(0, 1); as many held-out rows as training rows, sampled exactly",
            "bounded": f"bounded-inference with complexity={self.complexity}, otherwise defaults",
            "path": "nodewise-l1, λ logarithmically spaced from the largest score downwards, as "
            f"long as all marginals by junction trees take at most {MOST_OPERATIONS:,} operations",
            "inference": "all unconditional marginals of one and of two variables",
            "hidden": "5 random halves of the variables",
        }

    def figure(self, title: str, results: Results) -> go.Figure:
        """Draw loss and cost of every model, one panel per network."""
        charts = []
        for network in networks(results):
            series = []
            for which, name in _NAMES.items():
                found = sorted(points(results, network, which), key=lambda p: p[self.loss])
                if found:
                    x, y = ([point[key] for point in found] for key in (self.loss, self.cost))
                    series.append(Series(name, x, y, _LOOKS[which]))
            charts.append(Chart(network.title, _TITLES[self.loss], _TITLES[self.cost], series))
        return series_figure(title, charts, logarithmic=True)

    def rows(self, results: Results) -> Iterator[Cells]:
        """Yield a row for every model."""
        yield ("network", "learner", "bound", "lambda", *_QUANTITIES)
        for network in networks(results):
            for which, name in _NAMES.items():
                for point in points(results, network, which):
                    quantities = (point[key] for key in _QUANTITIES)
                    yield (
                        network.seed,
                        name,
                        point.get("bound"),
                        point.get("lam"),
                        *quantities,
                    )

    def summary(self, results: Results) -> list[dict[str, Any]]:
        """Return the result of every part."""
        return [{"part": part.title, **result} for part, result in results.items()]


def _claims(loss: str, word: str, method: str) -> tuple[Claim, ...]:
    """Return the claims about one loss and the cost of one inference method."""
    seconds, operations = f"{method}_seconds", f"{method}_operations"
    penalised = Claim(
        "Not in the paper's experiments: the same with the ℓ₂ penalty of its section 3.3.",
        judged.better_at_equal_cost(PATH, loss, seconds, operations, ours=PENALISED),
    )
    return (
        Claim(
            f"At the same inference cost, bounded inference learns models of a higher {word} than "
            "ℓ₁-regularised structure learning.",
            judged.better_at_equal_cost(PATH, loss, seconds, operations),
        ),
        *((penalised,) if method == "exact" else ()),
        Claim(
            "Not in the paper: the same if the graphs of ℓ₁ have the weights of maximum "
            "likelihood.",
            judged.better_at_equal_cost(REFITTED, loss, seconds, operations),
        ),
        Claim(
            f"With both, a structure of higher inference time has a higher {word}.",
            judged.likelihood_rises_with(seconds, loss, "inference time"),
        ),
    )


_OPPONENT = (
    "ℓ₁ is nodewise group-ℓ₁ pseudo-likelihood with the weights of the path; the paper's optimiser "
    "couples the two estimates of an edge. Its graphs with maximum-likelihood weights are shown "
    "too, where exact fits are fast enough."
)
_PENALTY = (
    "Without a penalty the learner adds edges until none keeps the bound, also those that only fit "
    "the noise of 500 rows. The ℓ₂ penalty shown too is that of the prior N(0, 1), λ₂ = 1 / (2N)."
)
_COST = (
    "A pair that is not an edge needs inference given each state of one variable: P(X_i, X_j) = "
    "P(X_i) P(X_j | X_i). Times are processor times after a warm-up, the median of five; "
    "operations, which do not depend on the load of the machine, are judged too."
)
_SWEEPS = (
    "R is the number of TRBP sweeps, which the paper uses as the estimate of its time: a bound "
    "on seconds would give different models in every run."
)
_PERCENT = (
    "log Z depends on the parametrisation; its error is given in percent of log Z minus the mean "
    "score of all joint states, which does not."
)
_COSTS = {SMALL: "2 min", PAPER: "1 h"}


def _experiment(number: int, complexity: str, loss: str, cost: str) -> Experiment:
    """Return one of the figures 1 to 4."""
    word = "likelihood" if loss == "nll" else "conditional marginal likelihood"
    method = cost.removesuffix("_seconds")
    by = "treewidth" if complexity == "treewidth" else "TRBP's sweeps"
    return Experiment(
        name=f"bounded-fig{number}",
        title=f"{loss.upper()} against inference time, {by} bounded",
        place=f"{_PAPER}, figure {number} and section 4",
        study=Frontier(complexity, loss, cost),
        claims=_claims(loss, word, method),
        notes=(_OPPONENT, _COST, _PENALTY if complexity == "treewidth" else _SWEEPS),
        cost=_COSTS,
    )


EXPERIMENTS = (
    _experiment(1, "treewidth", "nll", "exact_seconds"),
    _experiment(2, "treewidth", "ncmll", "exact_seconds"),
    _experiment(3, "trbp-sweeps", "nll", "trbp_seconds"),
    _experiment(4, "trbp-sweeps", "ncmll", "trbp_seconds"),
    Experiment(
        name="bounded-fig5",
        title="NLL against the error of TRBP's log Z",
        place=f"{_PAPER}, figure 5 and section 4",
        study=Frontier("trbp-sweeps", "nll", "log_partition_error"),
        claims=(
            Claim(
                "For the same likelihood, models of bounded inference have a smaller error than "
                "those of ℓ₁-regularised structure learning.",
                judged.less_error_at_equal_likelihood(PATH),
            ),
            Claim(
                "Not in the paper: the same if the graphs of ℓ₁ have the weights of maximum "
                "likelihood.",
                judged.less_error_at_equal_likelihood(REFITTED),
            ),
            Claim(
                "With both, complex models of higher likelihood have a higher error.",
                judged.likelihood_rises_with("log_partition_error", "nll", "error"),
            ),
        ),
        notes=(_OPPONENT, _SWEEPS, _PERCENT),
        cost=_COSTS,
    ),
)
