"""Random systems learned from noisy transitions: figures 2.3 to 2.5 of the thesis."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Any, NamedTuple

import numpy as np
import plotly.graph_objects as go

from graftviz import dynamics
from graftviz.dynamics import LinearSystem, Transitions
from graftviz.experiments.reproduction.data import Data
from graftviz.experiments.reproduction.dobrushin import model_seed
from graftviz.experiments.reproduction.dynamics_methods import (
    FRACTIONS,
    INDUCING,
    MEASURES,
    STRUCTURE,
    DynamicsMethod,
    all_measures,
    dense,
    enforcing,
    inducing,
    learn_single_threaded,
    mean_line,
    options_of,
    scalable,
    with_true_parents,
)
from graftviz.experiments.reproduction.experiment import Cells, NotMeasured, Part, Results, Study
from graftviz.figures.reproduction_dynamics import SpreadPanel, spread_figure

_HELD_OUT = 1  # added to the seed of a system for its held-out transitions
_SEEDS_PER_SYSTEM = 2


class NoisySystems(NamedTuple):
    """Random systems of one size, learned at several noise levels.

    Attributes
    ----------
    n, entries, parents : int
        Series, non-zeros of A, and k.
    rows : int
        Number of training transitions, and of held-out ones.
    levels : tuple of float
        Standard deviation of the noise of training data relative to that of the signal.
    systems : int
        Number of systems.
    """

    n: int
    entries: int
    parents: int
    rows: int
    levels: tuple[float, ...]
    systems: int

    @property
    def methods(self) -> tuple[DynamicsMethod, ...]:
        """Compared methods."""
        return _methods(self.parents)


@cache
def _methods(parents: int) -> tuple[DynamicsMethod, ...]:
    return (
        dense(),
        inducing(parents),
        enforcing(),
        *(scalable(parents, share) for share in FRACTIONS),
        *(scalable(parents, share, common=True) for share in FRACTIONS),
    )


@lru_cache(maxsize=1)
def system_of_number(setup: NoisySystems, seed: int) -> LinearSystem:
    """Return the random system of a seed."""
    return dynamics.random_system(setup.n, entries=setup.entries, seed=seed)


@dataclass(frozen=True)
class NoisePart(Part):
    """One method on one system at all noise levels.

    Attributes
    ----------
    setup : NoisySystems
    number : int
        Index of the system, from 0.
    method : DynamicsMethod
    seed : int
    """

    setup: NoisySystems
    number: int
    method: DynamicsMethod
    seed: int

    @property
    def title(self) -> str:
        """Short description of the measurement."""
        return f"{self.method.name}, system {self.number}"

    @property
    def work(self) -> int:
        """Number of learned systems."""
        return len(self.setup.levels)

    def settings(self, data: Data) -> dict[str, Any]:
        """Return system, learner, levels and seed, without the number of systems."""
        setup = self.setup._asdict()
        del setup["systems"]
        return {
            "part": "noisy transitions",
            **setup,
            **options_of(self.method.learner),
            "number": self.number,
            "seed": self.seed,
        }

    def rehearse(self, data: Data) -> None:
        """Do nothing: times are not compared."""

    def measure(self, data: Data, on_progress: Callable[[int], None]) -> dict[str, Any]:
        """Learn at every level, and return the measures by name and level."""
        setup = self.setup
        seed = model_seed(self.seed, self.number)
        truth = system_of_number(setup, seed)
        learner = with_true_parents(self.method.learner, truth)
        test = dynamics.simulate_transitions(
            truth, setup.rows, seed=_SEEDS_PER_SYSTEM * seed + _HELD_OUT
        )
        found: dict[str, list[float]] = {name: [] for name in MEASURES}
        for k, level in enumerate(setup.levels, start=1):
            result = learn_single_threaded(self._noisy(truth, level, seed), learner, seed)
            for name, value in all_measures(result.system, truth, test).items():
                found[name].append(value)
            on_progress(k)
        return found

    def _noisy(self, truth: LinearSystem, level: float, seed: int) -> Transitions:
        """Return training transitions; states and scaled noise are the same at every level."""
        rows, drawn = self.setup.rows, _SEEDS_PER_SYSTEM * seed
        pure = dynamics.simulate_transitions(truth, rows, seed=drawn)
        noise = level * float(pure.after.std())
        return dynamics.simulate_transitions(truth, rows, noise=noise, seed=drawn)


class NoiseResults(NamedTuple):
    """Results by method and measure, as arrays of shape (systems, levels)."""

    setup: NoisySystems
    of: Mapping[str, Mapping[str, np.ndarray]]

    @property
    def title(self) -> str:
        """Number and sizes of the learned systems, for figures."""
        count = len(next(iter(self.of.values()))[STRUCTURE])
        return (
            f"{count} systems of {self.setup.n} series with {self.setup.entries:,} non-zeros, "
            f"{self.setup.rows:,} transitions"
        )

    @property
    def methods(self) -> list[DynamicsMethod]:
        """Measured methods in the order of the figures."""
        return [method for method in self.setup.methods if method.name in self.of]

    def measure(self, method: str, name: str) -> np.ndarray:
        """Return one measure of one method, shape (systems, levels).

        Raises
        ------
        NotMeasured
            If the method was not measured.
        """
        if method not in self.of:
            raise NotMeasured(f"{method} was not measured.")
        return self.of[method][name]


def collect_noise_results(results: Results) -> NoiseResults:
    """Return the results of the systems that all measured methods have learned."""
    parts = {part: found for part, found in results.items() if isinstance(part, NoisePart)}
    if not parts:
        raise NotMeasured("No system was learned.")
    setup = next(iter(parts)).setup
    seen: dict[int, dict[str, dict[str, Any]]] = {}
    for part, found in parts.items():
        seen.setdefault(part.number, {})[part.method.name] = found
    seen_by = {name for found in seen.values() for name in found}
    names = [method.name for method in setup.methods if method.name in seen_by]
    whole = [found for found in seen.values() if len(found) == len(names)]
    of = {
        name: {key: np.array([found[name][key] for found in whole]) for key in MEASURES}
        for name in names
    }
    return NoiseResults(setup, of)


@dataclass(frozen=True)
class NoiseStudy(Study):
    """Comparison of methods at several noise levels.

    Attributes
    ----------
    setups : dict
        By scale.
    shown : tuple of str
        Keys of :data:`~graftviz.experiments.reproduction.dynamics_methods.MEASURES`, one per panel.
    """

    setups: Mapping[str, NoisySystems]
    shown: tuple[str, ...]

    def parts(self, scale: str, seed: int) -> Sequence[NoisePart]:
        """Return one part for every system and method."""
        setup = self.setups[scale]
        return [
            NoisePart(setup, number, method, seed)
            for number in range(setup.systems)
            for method in setup.methods
        ]

    def needs(self) -> tuple[str, ...]:
        """Return nothing: the systems are generated."""
        return ()

    def settings(self) -> dict[str, Any]:
        """Return the settings that all parts share."""
        return {
            "data": "X′ standard normal, X″ = A X′, X‴ = A X″; noise on X″ and X‴ of training",
            "held out": "as many transitions, without noise",
            "spectral radius": 0.9,
            "parents": "k of all sparse learners; enforcing gets the true parents",
            "common": "series not covered by a seed get common parents of the seeds; otherwise "
            "they get the parents with the largest gradient of their own error",
        }

    def figure(self, title: str, results: Results) -> go.Figure:
        """Draw means and standard deviations over the systems."""
        found = collect_noise_results(results)
        panels = []
        for key in self.shown:
            lines = []
            for method in found.methods:
                by_level = found.measure(method.name, key).T.tolist()
                runs = dict(zip(found.setup.levels, by_level, strict=True))
                lines.append(mean_line(method.name, runs, method.look))
            panels.append(
                SpreadPanel(
                    found.title if key == self.shown[0] else "",
                    "noise (1: as strong as the signal)",
                    MEASURES[key],
                    lines,
                )
            )
        return spread_figure(title, panels)

    def rows(self, results: Results) -> Iterator[Cells]:
        """Yield one row for every method and level, with the StructRec of inducing."""
        spread = tuple(f"{name}_{value}" for name in MEASURES for value in ("mean", "sd"))
        yield ("method", "noise", "systems", *spread, "inducing_structure_recall_mean")
        if not results:
            return
        found = collect_noise_results(results)
        has_inducing = INDUCING in found.of
        beside = found.measure(INDUCING, STRUCTURE).mean(axis=0) if has_inducing else None
        for method in found.methods:
            for k, level in enumerate(found.setup.levels):
                runs = [found.measure(method.name, name)[:, k] for name in MEASURES]
                cells = [float(value) for run in runs for value in (run.mean(), run.std())]
                yield (
                    method.name,
                    level,
                    len(runs[0]),
                    *cells,
                    None if beside is None else float(beside[k]),
                )

    def summary(self, results: Results) -> list[dict[str, Any]]:
        """Return the rows without noise and with the strongest noise."""
        header, *rows = self.rows(results)
        levels = [row[1] for row in rows]
        ends = (levels[0], levels[-1]) if levels else ()
        return [dict(zip(map(str, header), row, strict=True)) for row in rows if row[1] in ends]
