"""Dobrushin coefficient c of Ising grids by field and coupling strength."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import plotly.graph_objects as go

from graftviz.experiments.reproduction.data import Data
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
from graftviz.figures.reproduction_localized import Plane, plane_figure
from graftviz.regions import dobrushin_coefficient
from graftviz.sampling import ising_grid

_MOST = 0.5  # share of the cells that counts as most
MODELS_PER_SEED = 10_000  # seeds of models are disjoint between experiment seeds


def model_seed(seed: int, trial: int) -> int:
    """Return the seed of model number `trial` of an experiment's seed."""
    return seed * MODELS_PER_SEED + trial


@dataclass(frozen=True)
class PlanePart(Part):
    """Coefficients of models of one coupling strength and several field strengths.

    Attributes
    ----------
    rows, columns : int
        Size of the grid.
    coupling : float
        T₂.
    fields : tuple of float
        The T₁.
    trials : int
        Models per pair of strengths; those of one trial are the same draws, scaled.
    seed : int
    """

    rows: int
    columns: int
    coupling: float
    fields: tuple[float, ...]
    trials: int
    seed: int

    @property
    def title(self) -> str:
        """Short description of the measurement."""
        return f"c of {self.rows} × {self.columns} grids with T₂ = {self.coupling:g}"

    @property
    def work(self) -> int:
        """Number of models."""
        return self.trials * len(self.fields)

    def settings(self, data: Data) -> dict[str, Any]:
        """Return sizes, strengths and seed."""
        return {"part": "Dobrushin coefficient", **dataclasses.asdict(self)}

    def rehearse(self, data: Data) -> None:
        """Do nothing: times are not compared."""

    def measure(self, data: Data, on_progress: Callable[[int], None]) -> dict[str, Any]:
        """Draw the models and compute the coefficient of each."""
        found = []
        for k, field in enumerate(self.fields):
            models = (
                ising_grid(
                    self.rows,
                    self.columns,
                    field=field,
                    coupling=self.coupling,
                    seed=model_seed(self.seed, trial),
                )
                for trial in range(self.trials)
            )
            found.append([float(dobrushin_coefficient(model)) for model in models])
            on_progress((k + 1) * self.trials)
        return {"coefficients": found}


@dataclass(frozen=True)
class DobrushinPlane(Study):
    """Coefficients by strengths: side of the grid, T₁, T₂ and models per point, by scale."""

    sizes: Mapping[str, tuple[int, tuple[float, ...], tuple[float, ...], int]]

    def parts(self, scale: str, seed: int) -> Sequence[PlanePart]:
        """Return one part for every coupling strength."""
        side, fields, couplings, trials = self.sizes[scale]
        return [PlanePart(side, side, coupling, fields, trials, seed) for coupling in couplings]

    def needs(self) -> tuple[str, ...]:
        """Return nothing: the models are generated."""
        return ()

    def settings(self) -> dict[str, Any]:
        """Return the settings that all parts share."""
        return {
            "model": "θ_i from U[−T₁, T₁], θ_ij from U[−T₂, T₂], spins −1 and +1, no wrap-around",
            "coefficient": "largest row sum of the matrix, the mean of all models of a point",
        }

    def figure(self, title: str, results: Results) -> go.Figure:
        """Draw the mean c over both strengths, and the contour c = 1."""
        plane = _plane(results)
        return plane_figure(
            title,
            Plane(plane.fields, plane.couplings, plane.means.tolist()),
            x_title="strength of the fields T₁",
            y_title="strength of the couplings T₂",
            name="c",
            border=1.0,
        )

    def rows(self, results: Results) -> Iterator[Cells]:
        """Yield one row for every point of the plane."""
        yield ("T1", "T2", "mean_c", "least_c", "largest_c", "share_below_1")
        if not results:
            return
        plane = _plane(results)
        for coupling, values in zip(plane.couplings, plane.values, strict=True):
            for field, found in zip(plane.fields, values, strict=True):
                least, largest = float(found.min()), float(found.max())
                below = float((found < 1.0).mean())
                yield (field, coupling, float(found.mean()), least, largest, below)

    def summary(self, results: Results) -> list[dict[str, Any]]:
        """Return for every T₁ the T₂ at which the mean c reaches 1."""
        if not results:
            return []
        plane = _plane(results)
        return [
            {"T1": field, "T2_at_which_c_is_1": plane.border(k)}
            for k, field in enumerate(plane.fields)
        ]


@dataclass(frozen=True)
class _Measured:
    """Coefficients by coupling (rows), field (columns) and model."""

    fields: tuple[float, ...]
    couplings: tuple[float, ...]
    values: np.ndarray

    @property
    def means(self) -> np.ndarray:
        means: np.ndarray = self.values.mean(axis=2)
        return means

    def border(self, field: int) -> float | None:
        """Return the interpolated T₂ at which c reaches 1, or None if it does not."""
        means = self.means[:, field]
        above = np.flatnonzero(means >= 1.0)
        if not len(above) or above[0] == 0:
            return None
        k = int(above[0])
        return float(np.interp(1.0, means[k - 1 : k + 1], self.couplings[k - 1 : k + 1]))


def _plane(results: Results) -> _Measured:
    found = {
        part.coupling: (part.fields, result["coefficients"])
        for part, result in results.items()
        if isinstance(part, PlanePart)
    }
    if not found:
        raise NotMeasured("No coefficient was measured.")
    couplings = tuple(sorted(found))
    fields = found[couplings[0]][0]
    values = np.array([found[coupling][1] for coupling in couplings])
    return _Measured(fields, couplings, values)


def _mostly_below_one(results: Results) -> Verdict:
    plane = _plane(results)
    share = float((plane.means < 1.0).mean())
    borders = [plane.border(k) for k in range(len(plane.fields))]
    reached = [
        (field, at) for field, at in zip(plane.fields, borders, strict=True) if at is not None
    ]
    listed = ", ".join(f"{at:.2f} at T₁ = {field:g}" for field, at in (reached[:1] + reached[-1:]))
    sentence = f" The mean c reaches 1 at T₂ = {listed}." if reached else ""
    return verdict(
        [share > _MOST],
        f"c < 1 at {share:.0%} of the points with T₁ up to {plane.fields[-1]:g} and T₂ up to "
        f"{plane.couplings[-1]:g}; that share depends on these limits, which the text has lost."
        f"{sentence}",
        share_below_one=share,
        border=dict(zip(map(str, plane.fields), borders, strict=True)),
    )


def _above_one_at_strong_couplings(results: Results) -> Verdict:
    plane = _plane(results)
    strong, weak = plane.means[-1], plane.means[0]
    falls = float(strong[-1]) < float(strong[0])
    return verdict(
        [float(strong[0]) > 1.0, bool((weak < 1.0).all()), falls],
        f"At T₂ = {plane.couplings[-1]:g} c is {strong[0]:.2f} for T₁ = {plane.fields[0]:g} and "
        f"{strong[-1]:.2f} for T₁ = {plane.fields[-1]:g}; at T₂ = {plane.couplings[0]:g} at most "
        f"{weak.max():.2f}. The largest row sum of all nodes is that of a node whose own field "
        "happens to be weak, so strong fields hardly lower c.",
        strong_couplings=strong.tolist(),
        weak_couplings=weak.tolist(),
    )


CLAIMS = (
    Claim("c is smaller than one in most of the plane of T₁ and T₂.", _mostly_below_one),
    Claim(
        "c is larger than one where T₂ is very large and T₁ very small: strongly coupled nodes "
        "without correlation decay.",
        _above_one_at_strong_couplings,
    ),
)
