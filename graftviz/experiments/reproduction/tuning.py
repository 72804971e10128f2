"""The paper's tuning grid of λ and λ₂ for edge grafting, and a more useful one."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import plotly.graph_objects as go

from graftviz.experiments.bench import Size
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
from graftviz.figures.reproduction import Grid, grid_figure
from graftviz.learners.edge_grafting import EdgeGrafting
from graftviz.tuning import PAPER_GRID, USEFUL_GRID, tuning_grid

GRIDS = {"the paper's grid": PAPER_GRID, "a more useful grid": USEFUL_GRID}
PAPERS, USEFUL = GRIDS
COLUMNS = ("lam", "lam2", "edges", "recall", "precision", "f1", "nlpl_test", "objective", "tests")
_INSENSITIVE = 0.1  # share of the decrease of the NLPL
_AS_GOOD = 0.9
_QUANTITIES = {"recall": False, "nlpl_test": True}


@dataclass(frozen=True)
class TuningPart(Part):
    """Edge grafting at one λ and every λ₂ of a grid.

    Attributes
    ----------
    size : Size
    grid : str
        A key of :data:`GRIDS`.
    lam : float
    seed : int
    """

    size: Size
    grid: str
    lam: float
    seed: int

    @property
    def title(self) -> str:
        """Short description of the measurement."""
        return f"λ = {self.lam:g} of {self.grid}"

    @property
    def work(self) -> int:
        """Approximate number of edges to be learned."""
        return 3 * self.size.nodes * len(GRIDS[self.grid]["lam2"])

    def settings(self, data: Data) -> dict[str, Any]:
        """Return data, learner and grid values."""
        return {
            "part": "tuning",
            "data": dataclasses.asdict(self.size),
            "learner": "edge-grafting, preset paper, 3n edges",
            "lam": self.lam,
            "lam2": list(GRIDS[self.grid]["lam2"]),
            "seed": self.seed,
        }

    def rehearse(self, data: Data) -> None:
        """Do nothing: times are not compared."""

    def measure(self, data: Data, on_progress: Callable[[int], None]) -> dict[str, Any]:
        """Learn at every λ₂ of the grid."""
        problem = data.problem(self.size)
        most = min(3 * self.size.nodes, math.comb(self.size.nodes, 2))
        share = self.work // len(GRIDS[self.grid]["lam2"])
        tuning = tuning_grid(
            problem.train,
            EdgeGrafting(preset="paper", max_edges=most),
            {"lam": (self.lam,), "lam2": GRIDS[self.grid]["lam2"]},
            test=problem.test,
            truth=problem.truth,
            seed=self.seed,
            jobs=1,
            on_done=lambda done, _: on_progress(done * share),
        )
        return {"points": [{name: row[name] for name in COLUMNS} for row in tuning.rows()]}


@dataclass(frozen=True)
class TuningGrid(Study):
    """Comparison of both grids on data of one size per scale."""

    sizes: Mapping[str, Size]

    def parts(self, scale: str, seed: int) -> Sequence[TuningPart]:
        """Return one part for every λ of both grids."""
        size = dataclasses.replace(self.sizes[scale], seed=seed)
        return [
            TuningPart(size, name, lam, seed) for name, grid in GRIDS.items() for lam in grid["lam"]
        ]

    def needs(self) -> tuple[str, ...]:
        """Return nothing: the data are generated."""
        return ()

    def settings(self) -> dict[str, Any]:
        """Return the grids."""
        grids = {
            name: {option: list(grid[option]) for option in ("lam", "lam2")}
            for name, grid in GRIDS.items()
        }
        return {"learner": "edge grafting, preset paper, 3n edges", "grids": grids}

    def figure(self, title: str, results: Results) -> go.Figure:
        """Draw recall and held-out NLPL on both grids."""
        words = {"recall": "recall", "nlpl_test": "held-out NLPL"}
        grids = [
            _grid(points, f"{words[quantity]}, {name}", quantity, lower_is_better=lower)
            for name in GRIDS
            for quantity, lower in _QUANTITIES.items()
            if (points := _points(results, name))
        ]
        return grid_figure(title, grids, "λ", "λ₂")

    def rows(self, results: Results) -> Iterator[Cells]:
        """Yield one row for every point."""
        yield ("grid", *COLUMNS)
        for name in GRIDS:
            for point in _points(results, name):
                yield (name, *(point[column] for column in COLUMNS))

    def summary(self, results: Results) -> list[dict[str, Any]]:
        """Return the best points of both grids."""
        rows = []
        for name in GRIDS:
            points = _points(results, name)
            if points:
                rows.append({"grid": name, "best_by": "nlpl_test", **_best(points, "nlpl_test")})
                rows.append({"grid": name, "best_by": "recall", **_best(points, "recall")})
        return rows


def _points(results: Results, grid: str) -> list[dict[str, Any]]:
    return [
        point
        for part, result in results.items()
        if isinstance(part, TuningPart) and part.grid == grid
        for point in result["points"]
    ]


def _best(points: Sequence[dict[str, Any]], by: str) -> dict[str, Any]:
    sign = 1.0 if _QUANTITIES[by] else -1.0
    return min(points, key=lambda point: sign * point[by])


def _grid(
    points: Sequence[dict[str, Any]], title: str, quantity: str, *, lower_is_better: bool
) -> Grid:
    rows = sorted({point["lam"] for point in points})
    columns = sorted({point["lam2"] for point in points})
    by_pair = {(point["lam"], point["lam2"]): point[quantity] for point in points}
    values = [[by_pair.get((lam, lam2)) for lam2 in columns] for lam in rows]
    return Grid(title, rows, columns, values, lower_is_better)


def _both(results: Results) -> tuple[list[dict[str, Any]], list[dict[str, Any]], float]:
    """Return the points of both grids, and the NLPL without edges.

    Raises
    ------
    NotMeasured
        If a grid was not measured.
    """
    papers, useful = (_points(results, name) for name in GRIDS)
    empty = [point["nlpl_test"] for point in papers if point["edges"] == 0]
    if not papers or not useful or not empty:
        raise NotMeasured("Both grids, with a λ that activates nothing, are needed for this.")
    return papers, useful, float(empty[0])


def _has_a_good_pair(results: Results) -> Verdict:
    papers, useful, alone = _both(results)
    best, reference = _best(papers, "nlpl_test"), _best(useful, "nlpl_test")
    share = (alone - best["nlpl_test"]) / (alone - reference["nlpl_test"])
    idle = sum(point["edges"] == 0 for point in papers)
    return verdict(
        [share >= _AS_GOOD],
        f"{idle} of its {len(papers)} points activate nothing. The best by NLPL (λ = "
        f"{best['lam']:g}, λ₂ = {best['lam2']:g}) takes it from {alone:.1f} without edges to "
        f"{best['nlpl_test']:.1f}; λ = {reference['lam']:g}, λ₂ = {reference['lam2']:g} to "
        f"{reference['nlpl_test']:.1f}. Best recall: {_best(papers, 'recall')['recall']:.3f} "
        f"against {_best(useful, 'recall')['recall']:.3f}.",
        idle_points=idle,
        share_of_the_fall_of_nlpl=share,
        best_of_the_papers=best,
        best_of_the_useful=reference,
    )


def _not_sensitive(results: Results) -> Verdict:
    papers, useful, alone = _both(results)
    met, spreads = [], {}
    for name, points in ((PAPERS, papers), (USEFUL, useful)):
        fall = alone - _best(points, "nlpl_test")["nlpl_test"]
        for lam in sorted({point["lam"] for point in points}):
            here = [point["nlpl_test"] for point in points if point["lam"] == lam]
            if any(point["edges"] > 0 for point in points if point["lam"] == lam):
                spread = (max(here) - min(here)) / max(fall, 1e-12)
                spreads[f"{name}, λ = {lam:g}"] = spread
                met.append(spread <= _INSENSITIVE)
    worst = max(spreads, key=lambda key: spreads[key])
    return verdict(
        met,
        f"Over λ₂ the held-out NLPL varies by up to {spreads[worst]:.0%} of what the best pair of "
        f"the grid gains ({worst}).",
        spreads=spreads,
    )


def _small_lam_is_spurious(results: Results) -> Verdict:
    papers, useful, _ = _both(results)
    found: dict[float, list[float]] = {}
    for point in (*papers, *useful):
        if point["edges"]:
            found.setdefault(point["lam"], []).append(point["precision"])
    means = {lam: float(np.mean(found[lam])) for lam in sorted(found)}
    least, largest = min(means), max(means)
    edges = {lam: max(p["edges"] for p in (*papers, *useful) if p["lam"] == lam) for lam in means}
    listing = ", ".join(
        f"{mean:.3f} at λ = {lam:g} ({edges[lam]:,})" for lam, mean in means.items()
    )
    return verdict(
        [means[least] < means[largest]],
        f"Mean precision (and most edges) is {listing}; 3n edges are the budget.",
        mean_precision={f"{lam:g}": value for lam, value in means.items()},
    )


CLAIMS = (
    Claim(
        "A grid of λ from 10⁻⁴ to 1 and λ₂ from 0.5 to 1.5 holds the pair with the best recall and "
        "held-out NLPL of edge grafting.",
        _has_a_good_pair,
    ),
    Claim("The methods are not very sensitive to λ₂.", _not_sensitive),
    Claim("Smaller values of λ produce spurious edges.", _small_lam_is_spurious),
)
