"""Counted work by factor, compared with the complexities of table 2.1 of the thesis."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import plotly.graph_objects as go

from graftviz import dynamics
from graftviz.dynamics import Dense, DynamicsLearner, ScalableStructure, SparsityInducing
from graftviz.experiments.reproduction.data import Data
from graftviz.experiments.reproduction.dynamics_methods import (
    DENSE,
    DENSE_LOOK,
    INDUCING,
    INDUCING_LOOK,
    learn_single_threaded,
    power,
)
from graftviz.experiments.reproduction.experiment import (
    Cells,
    Claim,
    NotMeasured,
    Part,
    Results,
    Study,
    Verdict,
)
from graftviz.experiments.reproduction.verdicts import verdict
from graftviz.figures.reproduction import scale_look
from graftviz.figures.reproduction_dynamics import SpreadLine, SpreadPanel, spread_figure

Phase = Literal["structure", "coefficients"]
PHASES: tuple[Phase, ...] = ("structure", "coefficients")
WIDE = "dense, fewer rows than series"
SCALABLE = "scalable"
METHODS = (DENSE, WIDE, INDUCING, SCALABLE)
_LOOKS = {
    DENSE: DENSE_LOOK,
    WIDE: scale_look(4),
    INDUCING: INDUCING_LOOK,
    SCALABLE: scale_look(1),
}
_NEAR = 0.15  # tolerance on exponents
_NEVER = 1e-9  # tolerance that is never met, so that all passes are made

FACTORS = {"n": "series n", "rows": "rows N", "passes": "t / N", "k": "parents k", "seeds": "|S|"}
# Stated exponents of n, N, t / N, k and |S|. The number of steps t is passes × N here, and k is
# small compared with t in (t + k) |S| n.
STATED: Mapping[str, Mapping[Phase, Mapping[str, float]]] = {
    DENSE: {"coefficients": {"n": 2, "rows": 1}},
    WIDE: {"coefficients": {"n": 1, "rows": 2}},
    INDUCING: {
        "structure": {"n": 2, "rows": 1, "passes": 1, "k": 0},
        "coefficients": {"n": 1, "rows": 1, "passes": 0, "k": 2},
    },
    SCALABLE: {
        "structure": {"n": 1, "rows": 1, "passes": 1, "k": 0, "seeds": 1},
        "coefficients": {"n": 1, "rows": 1, "passes": 0, "k": 2, "seeds": 0},
    },
}


class Amounts(NamedTuple):
    """Values of all factors of the complexities."""

    n: int
    rows: int
    passes: int
    k: int
    seeds: int

    def times(self, factor: str, multiple: int) -> Amounts:
        """Return the amounts with one factor multiplied."""
        return self._replace(**{factor: getattr(self, factor) * multiple})


@dataclass(frozen=True)
class WorkPart(Part):
    """One method with one factor multiplied.

    Attributes
    ----------
    method : str
        One of :data:`METHODS`.
    base : Amounts
    factor : str
        A key of :data:`FACTORS`.
    multiple : int
    seed : int
    """

    method: str
    base: Amounts
    factor: str
    multiple: int
    seed: int

    @property
    def amounts(self) -> Amounts:
        """Amounts of this part."""
        return self.base.times(self.factor, self.multiple)

    @property
    def title(self) -> str:
        """Short description of the measurement."""
        return f"{self.method}, {self.factor} = {getattr(self.amounts, self.factor)}"

    @property
    def work(self) -> int:
        """Number of series."""
        return self.amounts.n

    def settings(self, data: Data) -> dict[str, Any]:
        """Return method, amounts and seed."""
        return {
            "part": "dynamics, counted work",
            "method": self.method,
            **self.amounts._asdict(),
            "seed": self.seed,
        }

    def rehearse(self, data: Data) -> None:
        """Do nothing: nothing is timed."""

    def measure(self, data: Data, on_progress: Callable[[int], None]) -> dict[str, Any]:
        """Learn, and return the multiplications of both phases."""
        at = self.amounts
        truth = dynamics.random_system(at.n, density=0.1, seed=self.seed)
        seen = dynamics.simulate_transitions(truth, at.rows, noise=0.1, seed=self.seed)
        result = learn_single_threaded(seen, self._learner(), self.seed)
        return dict(result.work._asdict())

    def _learner(self) -> DynamicsLearner:
        at = self.amounts
        exactly: dict[str, Any] = {
            **{"max_passes": at.passes, "tolerance": _NEVER},
            **{"lam": 0.0, "parents": at.k},
        }
        if self.method == INDUCING:
            return SparsityInducing(**exactly)
        if self.method == SCALABLE:
            return ScalableStructure(
                **exactly, two_hop_tolerance=_NEVER, seeds=at.seeds, unspoken="common"
            )
        return Dense()


def exponents(results: Results) -> dict[str, dict[Phase, dict[str, float]]]:
    """Return the exponents by method, phase and factor; phases without work are omitted."""
    found: dict[str, dict[Phase, dict[str, float]]] = {}
    for method in METHODS:
        for phase in PHASES:
            for factor in FACTORS:
                points = _points(results, method, factor, phase)
                if len(points) > 1 and min(count for _, count in points) > 0:
                    value = power([x for x, _ in points], [count for _, count in points])
                    found.setdefault(method, {}).setdefault(phase, {})[factor] = value
    return found


def _points(results: Results, method: str, factor: str, phase: Phase) -> list[tuple[int, int]]:
    """Return amounts and counts of the runs in which only `factor` changes."""
    return sorted(
        (getattr(part.amounts, factor), int(result[phase]))
        for part, result in results.items()
        if isinstance(part, WorkPart) and (part.method, part.factor) == (method, factor)
    )


@dataclass(frozen=True)
class WorkStudy(Study):
    """Counted work of all methods with one factor multiplied at a time.

    Attributes
    ----------
    bases : dict
        Base amounts by scale, with more and with fewer rows than series.
    multiples : tuple of int
    """

    bases: Mapping[str, tuple[Amounts, Amounts]]
    multiples: tuple[int, ...] = (1, 2, 4)

    def parts(self, scale: str, seed: int) -> Sequence[WorkPart]:
        """Return one part for every method, factor and multiple."""
        tall, wide = self.bases[scale]
        return [
            WorkPart(method, wide if method == WIDE else tall, factor, multiple, seed)
            for method in METHODS
            for factor in _factors(method)
            for multiple in self.multiples
        ]

    def needs(self) -> tuple[str, ...]:
        """Return nothing: the systems are generated."""
        return ()

    def settings(self) -> dict[str, Any]:
        """Return the settings that all parts share."""
        return {
            "counted": "multiplications: coefficients updated at each row by gradient descent and "
            "scores added up (structure), k² per row and series by least squares, and "
            "N n min(N, n) by the decomposition (coefficients)",
            "passes": "the same for every size, through all rows: t = passes × N steps",
            "λ": 0.0,
            "unspoken": "common: as in the thesis, series not covered by a seed are not learned",
        }

    def figure(self, title: str, results: Results) -> go.Figure:
        """Draw relative work of both phases and every method against each relative factor."""
        panels = []
        for factor, words in FACTORS.items():
            lines = []
            for method in METHODS:
                for phase in PHASES:
                    points = _points(results, method, factor, phase)
                    if points and points[0][1] > 0:
                        x = [amount / points[0][0] for amount, _ in points]
                        y = [count / points[0][1] for _, count in points]
                        look = _LOOKS[method]
                        if phase == "structure":
                            look = look._replace(dash="dash", symbol=f"{look.symbol}-open")
                        lines.append(SpreadLine(f"{method}: {phase}", x, y, (), look))
            panels.append(SpreadPanel(words, "times as much", "times the work", lines, True, True))
        return spread_figure(title, panels)

    def rows(self, results: Results) -> Iterator[Cells]:
        """Yield one row for every run."""
        yield ("method", "changed", *Amounts._fields, *PHASES)
        for part, result in results.items():
            if isinstance(part, WorkPart):
                counts = (result[phase] for phase in PHASES)
                yield (part.method, part.factor, *part.amounts, *counts)

    def summary(self, results: Results) -> list[dict[str, Any]]:
        """Return every measured exponent with the stated one."""
        return [
            {
                "method": method,
                "phase": phase,
                "factor": factor,
                "exponent": value,
                "stated": STATED[method].get(phase, {}).get(factor),
            }
            for method, phases in exponents(results).items()
            for phase, factors in phases.items()
            for factor, value in factors.items()
        ]


def _factors(method: str) -> list[str]:
    return list(dict.fromkeys(key for phase in STATED[method].values() for key in phase))


def as_stated(*methods: str) -> Callable[[Results], Verdict]:
    """Judge that the exponents of these methods are as stated."""

    def judge(results: Results) -> Verdict:
        found = exponents(results)
        met, phrases, numbers = [], [], {}
        for method in methods:
            if method not in found:
                raise NotMeasured(f"{method} was not measured.")
            for phase, factors in STATED[method].items():
                here = found[method].get(phase, {})
                met += [abs(here[key] - stated) <= _NEAR for key, stated in factors.items()]
                words = " ".join(f"{FACTORS[key]}^{_rounded(here[key])}" for key in factors)
                phrases.append(f"{method}, {phase}: {words}")
                numbers[f"{method}, {phase}"] = here
        return verdict(
            met, f"{'; '.join(phrases)}. Within {_NEAR} of the stated exponent counts.", **numbers
        )

    return judge


def _rounded(value: float) -> str:
    """Return the value with two decimals, and zero without a sign."""
    return f"{round(value, 2) + 0.0:.2f}"


def dense_looks_for_no_structure(results: Results) -> Verdict:
    """Judge that dense learning does no work on structure."""
    spent = [
        int(result["structure"])
        for part, result in results.items()
        if isinstance(part, WorkPart) and part.method in (DENSE, WIDE)
    ]
    return verdict(
        [count == 0 for count in spent],
        f"Dense learning spends {max(spent, default=0)} multiplications on structure.",
        most=max(spent, default=0),
    )


CLAIMS = (
    Claim(
        "Dense learning costs O(min{nN², Nn²}), all of it for the coefficients.",
        as_stated(DENSE, WIDE),
    ),
    Claim("Dense learning has no structure to learn.", dense_looks_for_no_structure),
    Claim(
        "Sparsity inducing learning costs O(tn²) for the structure and O(nNk²) for the "
        "coefficients.",
        as_stated(INDUCING),
    ),
    Claim(
        "Scalable structure learning costs O((t + k)|S|n) for the structure and O(nNk²) for the "
        "coefficients: linear in n and N with |S| held constant.",
        as_stated(SCALABLE),
    ),
)
