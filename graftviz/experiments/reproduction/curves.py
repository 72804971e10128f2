"""Learning curves: objective, NLPL and recall against time and counted work."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import plotly.graph_objects as go

from graftviz.experiments.bench import LAM, LAM2
from graftviz.experiments.reproduction.data import GENERATED
from graftviz.experiments.reproduction.experiment import Cells, NotMeasured, Results, Study
from graftviz.experiments.reproduction.runs import (
    ALPHAS,
    EDGE_GRAFTING,
    FIRST_HIT,
    MEASURES,
    WITHOUT_HUBS,
    Curve,
    LearnerPart,
    Method,
    Panel,
    curve_of,
    curves,
    panels,
    parts_of,
    summaries,
)
from graftviz.figures.reproduction import (
    BASELINE_LOOKS,
    CurvePanel,
    Line,
    Look,
    learning_curves,
    scale_look,
)

QUANTITIES = {
    "objective": "objective (nats per row)",
    "nlpl": "held-out NLPL (nats per row)",
    "recall": "recall of true edges",
}
WHY_LAM = (
    "λ and λ₂ are those of the package's benchmark: with d_g the number of joint states the "
    "paper's grid has hardly a usable point (λ ≥ 0.1 activates nothing, λ₂ ≥ 0.5 hardly predicts "
    "better than no edges)."
)


@dataclass(frozen=True)
class Curves(Study):
    """Learning curves of several methods in several panels.

    Attributes
    ----------
    shown : dict
        Panels by scale.
    methods : tuple of Method
    quantities : tuple of str
        Keys of :data:`QUANTITIES`, one row of plots each.
    held_out : bool
        Whether to measure the NLPL of held-out rows after every step.
    repeats : int
        Number of samples with different seeds.
    axis : str
        Initial horizontal axis, a key of :data:`graftviz.figures.reproduction.AXES`.
    """

    shown: Mapping[str, tuple[Panel, ...]]
    methods: tuple[Method, ...]
    quantities: tuple[str, ...]
    held_out: bool = True
    repeats: int = 1
    axis: str = "ratio"

    def parts(self, scale: str, seed: int) -> Sequence[LearnerPart]:
        """Return one part for every panel, method and seed."""
        return list(
            parts_of(
                self.shown[scale],
                self.methods,
                seed,
                repeats=self.repeats,
                held_out=self.held_out,
            )
        )

    def needs(self) -> tuple[str, ...]:
        """Return the sources of the panels whose data are not generated."""
        sources = [panel.size.source for panel in itertools.chain(*self.shown.values())]
        return tuple(dict.fromkeys(source for source in sources if source != GENERATED))

    def settings(self) -> dict[str, Any]:
        """Return λ, λ₂ and the presets."""
        presets = {getattr(method.learner, "preset", None) for method in self.methods}
        return {
            "presets": sorted(filter(None, presets)),
            "lam": LAM,
            "lam2": LAM2,
            "why": WHY_LAM,
            "times": "processor seconds up to the last activation; ratios are to edge grafting",
        }

    def figure(self, title: str, results: Results) -> go.Figure:
        """Draw the curves of the first seed."""
        charts = []
        for panel in panels(results):
            found = [curve for curve in curves(results) if curve.part.panel == panel]
            first = min(curve.part.seed for curve in found)
            here = [curve for curve in found if curve.part.seed == first]
            lines = {
                QUANTITIES[key]: [
                    _line(curve, key, self._whole(results, panel))
                    for curve in here
                    if curve.points[key][-1] is not None
                ]
                for key in self.quantities
            }
            charts.append(CurvePanel(panel.title, {key: row for key, row in lines.items() if row}))
        return learning_curves(title, charts, axis=self.axis)

    def rows(self, results: Results) -> Iterator[Cells]:
        """Yield one row for every point of every curve."""
        yield ("panel", "method", "seed", *MEASURES, "time_to_edge_grafting")
        for curve in curves(results):
            whole = self._whole(results, curve.part.panel)
            for point in zip(*(curve.points[name] for name in MEASURES), strict=True):
                ratio = point[0] / whole if whole else None
                method = curve.part.method.name
                yield (curve.part.panel.title, method, curve.part.seed, *point, ratio)

    def summary(self, results: Results) -> list[dict[str, Any]]:
        """Return the ends of all runs."""
        return summaries(results)

    @staticmethod
    def _whole(results: Results, panel: Panel) -> float | None:
        """Return the seconds of edge grafting in a panel, or None if not measured."""
        try:
            return float(curve_of(results, panel, EDGE_GRAFTING).end["seconds"]) or None
        except NotMeasured:
            return None


def _line(curve: Curve, quantity: str, whole: float | None) -> Line:
    points = curve.points
    x = {name: points[name] for name in ("seconds", "tests", "tables", "edges")}
    if whole is not None:
        x["ratio"] = [seconds / whole for seconds in points["seconds"]]
    return Line(curve.part.method.name, x, points[quantity], look_of(curve.part.method))


def look_of(method: Method) -> Look:
    """Return the line style of a method, the same in all figures."""
    if method.alpha is None:
        return BASELINE_LOOKS[(EDGE_GRAFTING, FIRST_HIT).index(method.name)]
    return scale_look(ALPHAS.index(method.alpha), faint=method.name.endswith(WITHOUT_HUBS))
