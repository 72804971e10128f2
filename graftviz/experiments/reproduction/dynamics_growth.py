"""Time and counted work against the number of series: figure 2.2 of the thesis."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
import plotly.graph_objects as go

from graftviz import dynamics
from graftviz.dynamics import ScalableStructure, Transitions, has_seeds
from graftviz.experiments.reproduction.data import Data
from graftviz.experiments.reproduction.dobrushin import model_seed
from graftviz.experiments.reproduction.dynamics_methods import (
    PARENTS,
    DynamicsMethod,
    dense,
    inducing,
    learn_single_threaded,
    mean_line,
    options_of,
    power,
    rehearse_all,
    scalable,
)
from graftviz.experiments.reproduction.experiment import (
    Cells,
    NotMeasured,
    Part,
    Results,
    Study,
)
from graftviz.figures.reproduction import scale_look
from graftviz.figures.reproduction_dynamics import SpreadPanel, spread_figure

SECONDS, OPERATIONS = "seconds", "operations"
SHARE = 0.1
_NOISE = 0.5  # relative to the signal; affects only the number of passes


class Sizes(NamedTuple):
    """Sizes of the learned systems.

    Attributes
    ----------
    n : tuple of int
        Numbers of series.
    most_whole : int
        Largest n for methods that regress every series.
    rows : int
        Number of transitions.
    seeds : int
        The fixed number of seeds.
    repeats : int
        Systems per size.
    """

    n: tuple[int, ...]
    most_whole: int
    rows: int
    seeds: int
    repeats: int

    @property
    def methods(self) -> tuple[DynamicsMethod, ...]:
        """Methods: dense, inducing, a tenth as seeds, and a fixed number of seeds."""
        k = min(PARENTS, self.n[0])
        fixed = ScalableStructure(parents=k, seeds=self.seeds, unspoken="common")
        named = DynamicsMethod(fixed_name(self.seeds), fixed, scale_look(2))
        return (dense(), inducing(k), scalable(k, SHARE), named)


def fixed_name(seeds: int) -> str:
    """Return the name of scalable learning with a fixed number of seeds."""
    return f"scalable, {seeds} seeds, common"


@lru_cache(maxsize=1)
def transitions_of(n: int, rows: int, seed: int) -> Transitions:
    """Return noisy transitions of a random system of density 0.1."""
    truth = dynamics.random_system(n, density=0.1, seed=seed)
    spread = float(np.sqrt(np.mean(np.asarray(truth.coefficients.power(2).sum(axis=1)))))
    return dynamics.simulate_transitions(truth, rows, noise=_NOISE * spread, seed=seed)


@dataclass(frozen=True)
class GrowthPart(Part):
    """One method on one system.

    Attributes
    ----------
    n, rows : int
    method : DynamicsMethod
    number : int
        Index of the system among those of its size.
    seed : int
    """

    n: int
    rows: int
    method: DynamicsMethod
    number: int
    seed: int

    @property
    def title(self) -> str:
        """Short description of the measurement."""
        return f"{self.method.name}, {self.n:,} series"

    @property
    def work(self) -> int:
        """Approximate amount of work: proportional to n², or to n for few seeds."""
        looks_at_all = not has_seeds(self.method.learner)
        return self.n * max(self.n, 10) // 10 if looks_at_all else self.n

    def settings(self, data: Data) -> dict[str, Any]:
        """Return size, learner and seed."""
        return {
            "part": "dynamics, growing n",
            "n": self.n,
            "rows": self.rows,
            "noise": _NOISE,
            **options_of(self.method.learner),
            "number": self.number,
            "seed": self.seed,
        }

    def rehearse(self, data: Data) -> None:
        """Learn tiny systems, so that compilation is not timed."""
        rehearse_all()

    def measure(self, data: Data, on_progress: Callable[[int], None]) -> dict[str, Any]:
        """Learn, and return seconds, operations by phase, and passes."""
        seed = model_seed(self.seed, self.number)
        result = learn_single_threaded(
            transitions_of(self.n, self.rows, seed), self.method.learner, seed
        )
        passes = [
            step.passes / (1 if step.two_hop is None else 2) for step in result.steps if step.passes
        ]
        return {
            "seconds": result.seconds,
            "structure": result.work.structure,
            "coefficients": result.work.coefficients,
            "operations": result.work.structure + result.work.coefficients,
            "passes": float(np.mean(passes)) if passes else None,
            "seeds": len(result.seeds),
            "unspoken": len(result.unspoken),
        }


class MethodCosts(NamedTuple):
    """Cost of one method by n; arrays of shape (repeats, sizes)."""

    method: DynamicsMethod
    n: list[int]
    seconds: np.ndarray
    operations: np.ndarray

    def power(self, quantity: str) -> float:
        """Return the best-fitting power of n for the mean.

        Raises
        ------
        NotMeasured
            With a single size.
        """
        if len(self.n) < 2:
            raise NotMeasured("An exponent needs two sizes.")
        return power(self.n, getattr(self, quantity).mean(axis=0))


def method_costs(results: Results) -> dict[str, MethodCosts]:
    """Return the cost of every method by name, for sizes with all repeats only."""
    seen: dict[DynamicsMethod, dict[int, list[dict[str, Any]]]] = {}
    for part, result in results.items():
        if isinstance(part, GrowthPart):
            seen.setdefault(part.method, {}).setdefault(part.n, []).append(result)
    found = {}
    for method, by_size in seen.items():
        most = max(len(runs) for runs in by_size.values())
        sizes = sorted(n for n, runs in by_size.items() if len(runs) == most)
        costs = [
            np.array([[run[key] for run in by_size[n]] for n in sizes]).T
            for key in (SECONDS, OPERATIONS)
        ]
        found[method.name] = MethodCosts(method, sizes, *costs)
    return found


def of_method(results: Results, name: str) -> MethodCosts:
    """Return the cost of a method, or raise :class:`NotMeasured`."""
    found = method_costs(results)
    if name not in found:
        raise NotMeasured(f"{name} was not measured.")
    return found[name]


@dataclass(frozen=True)
class GrowthStudy(Study):
    """Comparison of methods on systems of growing size."""

    sizes: Mapping[str, Sizes]

    def parts(self, scale: str, seed: int) -> Sequence[GrowthPart]:
        """Return one part for every size, system and method."""
        sizes = self.sizes[scale]
        return [
            GrowthPart(n, sizes.rows, method, number, seed)
            for n in sizes.n
            for number in range(sizes.repeats)
            for method in sizes.methods
            if n <= sizes.most_whole or has_seeds(method.learner)
        ]

    def needs(self) -> tuple[str, ...]:
        """Return nothing: the systems are generated."""
        return ()

    def settings(self) -> dict[str, Any]:
        """Return the settings that all parts share."""
        return {
            "data": "X′ standard normal, X″ = A X′ with noise half as strong; density of A 0.1",
            "operations": "multiplications: coefficients updated at each row by gradient descent, "
            "k² per row and series by least squares, and N n min(N, n) by the decomposition",
            "seconds": "wall time of learning on one core, without drawing the data",
            "fixed seeds": "series not covered by a seed get common parents of the seeds "
            "(unspoken=common): learning each of them separately costs O(n)",
        }

    def figure(self, title: str, results: Results) -> go.Figure:
        """Draw seconds and operations against n, with fitted powers."""
        quantities: tuple[tuple[str, str], ...] = (
            (SECONDS, "seconds"),
            (OPERATIONS, "multiplications"),
        )
        panels = []
        for quantity, words in quantities:
            lines = []
            for one in method_costs(results).values():
                name = one.method.name
                if len(one.n) > 1:
                    name += f" (∝ n^{one.power(OPERATIONS):.2f} counted, n^{one.power(SECONDS):.2f}"
                    name += " timed)"
                runs: dict[float, list[float]] = dict(
                    zip(one.n, getattr(one, quantity).T.tolist(), strict=True)
                )
                lines.append(mean_line(name, runs, one.method.look))
            panels.append(SpreadPanel(words, "series n", words, lines, log_x=True, log_y=True))
        return spread_figure(title, panels)

    def rows(self, results: Results) -> Iterator[Cells]:
        """Yield one row for every run."""
        keys = ("seconds", "structure", "coefficients", "operations", "passes", "seeds", "unspoken")
        yield ("method", "n", "rows", "system", *keys)
        for part, result in results.items():
            if isinstance(part, GrowthPart):
                cells = (result[key] for key in keys)
                yield (part.method.name, part.n, part.rows, part.number, *cells)

    def summary(self, results: Results) -> list[dict[str, Any]]:
        """Return the cost of every method at its largest n, and the powers of n."""
        return [
            {
                "method": name,
                "n": one.n[-1],
                "seconds": float(one.seconds[:, -1].mean()),
                "operations": float(one.operations[:, -1].mean()),
                **(
                    {f"power_of_n_{key}": one.power(key) for key in (SECONDS, OPERATIONS)}
                    if len(one.n) > 1
                    else {}
                ),
            }
            for name, one in method_costs(results).items()
        ]
