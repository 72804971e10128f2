"""Local regions on Ising grids: true errors and bounds by expansion rule and cut."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np
import plotly.graph_objects as go

from graftviz.experiments.reproduction.data import Data
from graftviz.experiments.reproduction.dobrushin import model_seed
from graftviz.experiments.reproduction.experiment import Cells, NotMeasured, Part, Results, Study
from graftviz.figures.reproduction import Look
from graftviz.figures.reproduction_localized import Chart, Series, series_figure
from graftviz.figures.style import BLUE, GREEN, ORANGE, VERMILION
from graftviz.inference import infer
from graftviz.model import PairwiseMRF
from graftviz.regions import grow_region, region_marginal
from graftviz.sampling import ising_grid

LARGEST_REGION = 16


class Rule(NamedTuple):
    """Expansion rule and cut of regions, and their colour and symbol in figures.

    Attributes
    ----------
    name : str
    expansion : {"greedy", "random", "norm"}
    cut : {"drop", "mean-field"}
    color, symbol : str
    """

    name: str
    expansion: Literal["greedy", "random", "norm"]
    cut: Literal["drop", "mean-field"]
    color: str
    symbol: str


GREEDY = Rule("greedy, dropping out", "greedy", "drop", BLUE, "circle")
MEAN_FIELD = Rule("greedy, mean field", "greedy", "mean-field", VERMILION, "diamond")
RANDOM = Rule("random, dropping out", "random", "drop", ORANGE, "square")
NORM = Rule("largest norm, dropping out", "norm", "drop", GREEN, "triangle-up")
RULES = (GREEDY, MEAN_FIELD, RANDOM, NORM)
BASELINES = (RANDOM, NORM)


class GridPanel(NamedTuple):
    """Models on a square grid, and their number.

    Attributes
    ----------
    side : int
    field, coupling : float
        T₁ and T₂.
    trials : int
    """

    side: int
    field: float
    coupling: float
    trials: int

    @property
    def title(self) -> str:
        """Size and strengths, for figures."""
        return f"{self.side} × {self.side}, T₁ = {self.field:g}, T₂ = {self.coupling:g}"

    @property
    def query(self) -> int:
        """Node in the middle, or the first of four."""
        middle = (self.side - 1) // 2
        return middle * self.side + middle


@dataclass(frozen=True)
class RegionsPart(Part):
    """Regions of one node in many models by one rule.

    Attributes
    ----------
    panel : GridPanel
    rule : Rule
    seed : int
    """

    panel: GridPanel
    rule: Rule
    seed: int

    @property
    def title(self) -> str:
        """Short description of the measurement."""
        return f"{self.rule.name}, {self.panel.title}"

    @property
    def work(self) -> int:
        """Number of regions."""
        return self.panel.trials * LARGEST_REGION

    def settings(self, data: Data) -> dict[str, Any]:
        """Return models, rule and seed."""
        return {
            "part": "regions on a grid",
            "panel": self.panel._asdict(),
            "expansion": self.rule.expansion,
            "cut": self.rule.cut,
            "largest": LARGEST_REGION,
            "seed": self.seed,
        }

    def rehearse(self, data: Data) -> None:
        """Do nothing: times are not compared."""

    def measure(self, data: Data, on_progress: Callable[[int], None]) -> dict[str, Any]:
        """Grow a region in every model, and return errors and bounds by model and size."""
        errors, bounds = [], []
        for trial in range(self.panel.trials):
            model = ising_grid(
                self.panel.side,
                self.panel.side,
                field=self.panel.field,
                coupling=self.panel.coupling,
                seed=model_seed(self.seed, trial),
            )
            error, bound = self._errors_and_bounds(model, trial)
            errors.append(error)
            bounds.append(bound)
            on_progress((trial + 1) * LARGEST_REGION)
        return {"errors": errors, "bounds": bounds}

    def _errors_and_bounds(self, model: PairwiseMRF, trial: int) -> tuple[list[float], list[float]]:
        """Return true errors and bounds of the regions of one model, by size."""
        query = self.panel.query
        truth = infer(model, "exact").node[query]
        errors, bounds = [], []
        steps = grow_region(
            model,
            query,
            tolerance=0.0,
            max_size=LARGEST_REGION,
            cut=self.rule.cut,
            expansion=self.rule.expansion,
            seed=trial,
        )
        for step in steps:
            answer = region_marginal(model, step.nodes, query, self.rule.cut)
            errors.append(float(np.abs(answer - truth).max()))
            bounds.append(float(step.bound))
        return errors, bounds


class RegionErrors(NamedTuple):
    """Errors and bounds of one rule in one panel, by model (rows) and size of the region."""

    errors: np.ndarray
    bounds: np.ndarray

    @property
    def sizes(self) -> np.ndarray:
        """Sizes of the regions, from 1."""
        return np.arange(1, self.errors.shape[1] + 1)


def panels(results: Results) -> list[GridPanel]:
    """Return the measured panels in order."""
    return list(dict.fromkeys(part.panel for part in results if isinstance(part, RegionsPart)))


def region_errors(results: Results, panel: GridPanel, rule: Rule) -> RegionErrors:
    """Return the errors and bounds of a rule in a panel.

    Raises
    ------
    NotMeasured
        If the rule was not measured there.
    """
    for part, result in results.items():
        if isinstance(part, RegionsPart) and (part.panel, part.rule) == (panel, rule):
            return RegionErrors(np.array(result["errors"]), np.array(result["bounds"]))
    raise NotMeasured(f"{rule.name} was not measured on {panel.title}.")


def rules(results: Results, panel: GridPanel) -> list[Rule]:
    """Return the measured rules of a panel."""
    return [part.rule for part in results if isinstance(part, RegionsPart) and part.panel == panel]


_COLUMNS = (
    *("side", "T1", "T2", "rule", "size", "mean_error", "largest_error", "mean_bound"),
    *("least_bound", "vacuous_share", "largest_error_to_bound"),
)


@dataclass(frozen=True)
class Regions(Study):
    """Comparison of rules in several panels.

    Attributes
    ----------
    panels : dict
        By scale.
    rules : tuple of Rule
    axis : {"size", "field"}
        Horizontal axis: the size of the region, or T₁ at the largest size.
    """

    panels: Mapping[str, tuple[GridPanel, ...]]
    rules: tuple[Rule, ...]
    axis: Literal["size", "field"]

    def parts(self, scale: str, seed: int) -> Sequence[RegionsPart]:
        """Return one part for every panel and rule."""
        return [
            RegionsPart(panel, rule, seed) for panel in self.panels[scale] for rule in self.rules
        ]

    def needs(self) -> tuple[str, ...]:
        """Return nothing: the models are generated."""
        return ()

    def settings(self) -> dict[str, Any]:
        """Return the settings that all parts share."""
        return {
            "model": "θ_i from U[−T₁, T₁], θ_ij from U[−T₂, T₂], spins −1 and +1, no wrap-around",
            "query": "the node in the middle of the grid",
            "error": "largest difference of the query's marginal from exact inference on the grid",
            "bound": "Corollary 2; 1 where it is vacuous",
            "largest region": LARGEST_REGION,
        }

    def figure(self, title: str, results: Results) -> go.Figure:
        """Draw mean errors and mean bounds."""
        charts = _by_size(results) if self.axis == "size" else _by_field(results)
        return series_figure(title, charts, logarithmic=True)

    def rows(self, results: Results) -> Iterator[Cells]:
        """Yield one row for every panel, rule and size."""
        yield _COLUMNS
        for panel in panels(results):
            for rule in rules(results, panel):
                found = region_errors(results, panel, rule)
                for k, size in enumerate(found.sizes.tolist()):
                    yield tuple(_cells(panel, rule, found, k, size).values())

    def summary(self, results: Results) -> list[dict[str, Any]]:
        """Return the results of every panel and rule at the largest size."""
        rows = []
        for panel in panels(results):
            for rule in rules(results, panel):
                found = region_errors(results, panel, rule)
                last = len(found.sizes) - 1
                rows.append(_cells(panel, rule, found, last, int(found.sizes[last])))
        return rows


def _cells(panel: GridPanel, rule: Rule, found: RegionErrors, k: int, size: int) -> dict[str, Any]:
    errors, bounds = found.errors[:, k], found.bounds[:, k]
    values = (
        *(panel.side, panel.field, panel.coupling, rule.name, size),
        *(float(errors.mean()), float(errors.max()), float(bounds.mean()), float(bounds.min())),
        *(float((bounds >= 1.0).mean()), float(largest_ratio(errors, bounds))),
    )
    return dict(zip(_COLUMNS, values, strict=True))


def largest_ratio(errors: np.ndarray, bounds: np.ndarray) -> float:
    """Return the largest ratio of error to bound, ignoring bounds of 0."""
    nonzero = bounds > 0.0
    return float((errors[nonzero] / bounds[nonzero]).max(initial=0.0))


def _by_size(results: Results) -> list[Chart]:
    charts = []
    for panel in panels(results):
        series = []
        for rule in rules(results, panel):
            found = region_errors(results, panel, rule)
            sizes = found.sizes.tolist()
            series += _pair(rule, sizes, found.errors.mean(axis=0), found.bounds.mean(axis=0))
        charts.append(Chart(panel.title, "nodes in the region", "mean of the models", series))
    return charts


def _by_field(results: Results) -> list[Chart]:
    shown = panels(results)
    charts = []
    for side, coupling in dict.fromkeys((panel.side, panel.coupling) for panel in shown):
        row = [panel for panel in shown if (panel.side, panel.coupling) == (side, coupling)]
        fields = [panel.field for panel in row]
        series = []
        for rule in rules(results, row[0]):
            found = [region_errors(results, panel, rule) for panel in row]
            errors, bounds = (
                np.array([getattr(one, quantity)[:, -1].mean() for one in found])
                for quantity in ("errors", "bounds")
            )
            series += _pair(rule, fields, errors, bounds)
        title = f"{side} × {side}, T₂ = {coupling:g}, {LARGEST_REGION} nodes"
        charts.append(Chart(title, "strength of the fields T₁", "mean of the models", series))
    return charts


def _pair(rule: Rule, x: list[Any], errors: np.ndarray, bounds: np.ndarray) -> list[Series]:
    """Return two lines: dashed bounds with open symbols, solid errors with filled symbols."""
    look = Look(rule.color, "dash", f"{rule.symbol}-open")
    error_look = look._replace(dash="solid", symbol=rule.symbol)
    return [
        Series(f"bound: {rule.name}", x, bounds.tolist(), look),
        Series(f"error: {rule.name}", x, errors.tolist(), error_look),
    ]
