"""Local and global inference on Cora for increasing field strength of an Ising model."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np
import plotly.graph_objects as go

from graftviz.datasets.labelled_graph import LabelledGraph, bounded_degrees
from graftviz.experiments.reproduction.data import Data
from graftviz.experiments.reproduction.experiment import Cells, NotMeasured, Part, Results, Study
from graftviz.experiments.reproduction.regions import LARGEST_REGION
from graftviz.figures.reproduction import Look
from graftviz.figures.reproduction_localized import Chart, Series, series_figure
from graftviz.figures.style import BLACK, BLUE, GREEN, GREY, ORANGE, VERMILION
from graftviz.inference import infer
from graftviz.model import PairwiseMRF
from graftviz.regions import grow_region, region_marginal
from graftviz.sampling import ising_model

SOURCE = "cora"
POSITIVE = "Neural_Networks"
LARGEST_DEGREE = 14  # the paper states 15; its 4,325 edges need degrees below 15
COUPLING = 1.0
_DECIDED = 1e-9  # marginals at most this much above 1/2 give the label −1

Method = Literal["mean-field", "bp", "local drop", "local mean-field"]
GLOBAL: Method = "mean-field"
LOCAL: Method = "local drop"
METHODS: tuple[Method, ...] = ("mean-field", "bp", "local drop", "local mean-field")
TITLES: Mapping[Method, str] = {
    "mean-field": "global mean field",
    "bp": "global belief propagation",
    "local drop": "local, dropping out",
    "local mean-field": "local, mean field",
}


@dataclass(frozen=True)
class CoraPart(Part):
    """Marginals of some papers by one method at one field strength.

    Attributes
    ----------
    field : float
        T: the field of a paper is drawn from [0, T] if it is about neural networks, from [−T, 0]
        if not.
    method : str
        One of :data:`METHODS`.
    queries : int
        Number of queried papers; the same at every strength.
    seed : int
    """

    field: float
    method: Method
    queries: int
    seed: int

    @property
    def title(self) -> str:
        """Short description of the measurement."""
        return f"{TITLES[self.method]}, T = {self.field:g}"

    @property
    def work(self) -> int:
        """Number of queried papers."""
        return self.queries

    @property
    def source(self) -> str:
        """Source of the data."""
        return SOURCE

    def settings(self, data: Data) -> dict[str, Any]:
        """Return graph, method, strengths and seed."""
        return {
            "part": "Cora",
            "graph": data.labelled_graph(SOURCE).fingerprint,
            "largest degree": LARGEST_DEGREE,
            "field": self.field,
            "coupling": COUPLING,
            "method": self.method,
            "largest region": LARGEST_REGION,
            "queries": self.queries,
            "seed": self.seed,
        }

    def rehearse(self, data: Data) -> None:
        """Do nothing: times are not compared."""

    def measure(self, data: Data, on_progress: Callable[[int], None]) -> dict[str, Any]:
        """Compute the marginals of all queried papers."""
        graph = bounded_degrees(data.labelled_graph(SOURCE), LARGEST_DEGREE, self.seed)
        rng = np.random.default_rng(self.seed)
        count = min(self.queries, graph.graph.n_nodes)
        queried = np.sort(rng.choice(graph.graph.n_nodes, size=count, replace=False))
        model = spin_model(graph, self.field, rng)
        truth = graph.spins(POSITIVE)[queried].astype(int).tolist()
        about = {
            "papers": graph.graph.n_nodes,
            "citations": graph.graph.n_edges,
            "truth": truth,
        }
        if self.method in ("mean-field", "bp"):
            beliefs = infer(model, self.method)
            positive = [float(beliefs.node[node][1]) for node in queried]
            return {**about, "positive": positive, "converged": beliefs.converged}
        cut: Literal["drop", "mean-field"] = "drop" if self.method == LOCAL else "mean-field"
        positive, bounds, sizes = [], [], []
        for k, node in enumerate(queried.tolist(), start=1):
            *_, last = grow_region(model, node, tolerance=0.0, max_size=LARGEST_REGION, cut=cut)
            positive.append(float(region_marginal(model, last.nodes, node, cut)[1]))
            bounds.append(float(last.bound))
            sizes.append(last.size)
            on_progress(k)
        return {**about, "positive": positive, "bound": bounds, "size": sizes}


def spin_model(graph: LabelledGraph, field: float, rng: np.random.Generator) -> PairwiseMRF:
    """Draw an Ising model: θ_ij from U[−1, 1], θ_i from U[0, T] times the spin of the paper."""
    couplings = rng.uniform(-COUPLING, COUPLING, graph.graph.n_edges)
    strengths = field * rng.uniform(0.0, 1.0, graph.graph.n_nodes)
    fields = graph.spins(POSITIVE) * strengths
    return ising_model(graph.graph.edges, fields, couplings, graph.graph.names)


class Labels(NamedTuple):
    """Labels of the queried papers by one method at one strength.

    Attributes
    ----------
    truth, found : bool array, shape (queries,)
        Whether a paper is about neural networks, and whether its marginal labels it so.
    positive : float array, shape (queries,)
        Marginals of +1.
    bound : float array or None
        Error bounds of local marginals.
    """

    truth: np.ndarray
    found: np.ndarray
    positive: np.ndarray
    bound: np.ndarray | None


def labels(results: Results, field: float, method: Method) -> Labels:
    """Return the labels of a method at one strength.

    Raises
    ------
    NotMeasured
        If they were not measured.
    """
    for part, result in results.items():
        if isinstance(part, CoraPart) and (part.field, part.method) == (field, method):
            positive = np.array(result["positive"])
            bound = np.array(result["bound"]) if "bound" in result else None
            truth = np.array(result["truth"]) > 0
            return Labels(truth, positive > 0.5 + _DECIDED, positive, bound)
    raise NotMeasured(f"{TITLES[method]} was not measured at T = {field:g}.")


def fields(results: Results) -> list[float]:
    """Return the strengths at which all methods were measured, ascending."""
    strengths = {method: set[float]() for method in METHODS}
    for part in results:
        if isinstance(part, CoraPart):
            strengths[part.method].add(part.field)
    return sorted(set.intersection(*strengths.values()))


def accuracy(one: np.ndarray, other: np.ndarray) -> float:
    """Return the share of labels that agree."""
    return float((one == other).mean())


class Quality(NamedTuple):
    """Precision, recall and F (their harmonic mean); None where the denominator is 0."""

    precision: float | None
    recall: float | None
    f: float | None


def quality(found: np.ndarray, target: np.ndarray) -> Quality:
    """Return precision, recall and F of labels, with +1 as the positive class."""
    both = int((found & target).sum())
    precision = both / int(found.sum()) if found.any() else None
    recall = both / int(target.sum()) if target.any() else None
    total = int(found.sum()) + int(target.sum())
    return Quality(precision, recall, 2 * both / total if total else None)


_AGREEMENT = Look(GREEN, "solid", "circle")
_LINES: tuple[tuple[str, Method, Method | None, Look], ...] = (
    ("global mean field, true labels", "mean-field", None, Look(VERMILION, "dash", "square")),
    ("local, dropping out, true labels", "local drop", None, Look(BLUE, "solid", "diamond")),
    ("local, dropping out, labels of global mean field", "local drop", "mean-field", _AGREEMENT),
    ("global belief propagation, true labels", "bp", None, Look(BLACK, "dot", "x")),
    (
        *("local, dropping out, labels of global belief propagation", "local drop", "bp"),
        Look(GREY, "dashdot", "circle-open"),
    ),
    (
        *("local, mean field, labels of global mean field", "local mean-field", "mean-field"),
        Look(ORANGE, "longdash", "triangle-up-open"),
    ),
)


@dataclass(frozen=True)
class CoraLabels(Study):
    """Comparison of all methods at several strengths.

    Attributes
    ----------
    sizes : dict
        Strengths and number of queried papers, by scale.
    shown : {"accuracy", "quality"}
        Quantity in the figure.
    """

    sizes: Mapping[str, tuple[tuple[float, ...], int]]
    shown: Literal["accuracy", "quality"]

    def parts(self, scale: str, seed: int) -> Sequence[CoraPart]:
        """Return one part for every strength and method."""
        strengths, queries = self.sizes[scale]
        return [CoraPart(field, method, queries, seed) for field in strengths for method in METHODS]

    def needs(self) -> tuple[str, ...]:
        """Return the citation graph."""
        return (SOURCE,)

    def settings(self) -> dict[str, Any]:
        """Return the settings that all parts share."""
        return {
            "graph": f"degrees at most {LARGEST_DEGREE}: random edges deleted, largest component",
            "model": f"θ_ij from U[−{COUPLING:g}, {COUPLING:g}]; θ_i from U[0, T] for papers on "
            "neural networks, from U[−T, 0] for others; the same draws, scaled, for all T",
            "labels": "+1 where the marginal of +1 is larger than 1/2",
            "regions": f"greedy, {LARGEST_REGION} nodes, exact inside",
        }

    def figure(self, title: str, results: Results) -> go.Figure:
        """Draw the shares over T."""
        charts = _accuracies(results) if self.shown == "accuracy" else _qualities(results)
        return series_figure(title, charts)

    def rows(self, results: Results) -> Iterator[Cells]:
        """Yield one row for every strength and compared pair of labels."""
        yield ("T", "labels", "against", "accuracy", "precision", "recall", "F")
        for field in fields(results):
            for method in METHODS:
                found = labels(results, field, method)
                yield (field, TITLES[method], "true labels", *_scores(found.found, found.truth))
            for local in METHODS[2:]:
                for whole in METHODS[:2]:
                    one, other = (labels(results, field, m).found for m in (local, whole))
                    yield (field, TITLES[local], TITLES[whole], *_scores(one, other))

    def summary(self, results: Results) -> list[dict[str, Any]]:
        """Return sizes and error bounds of local inference at every strength."""
        summaries = []
        for part, result in results.items():
            if isinstance(part, CoraPart) and "bound" in result:
                bound, positive = np.array(result["bound"]), np.array(result["positive"])
                summaries.append(
                    {
                        **{"T": part.field, "method": TITLES[part.method]},
                        **{name: result[name] for name in ("papers", "citations")},
                        "queries": len(positive),
                        "mean_size": float(np.mean(result["size"])),
                        "mean_bound": float(bound.mean()),
                        "vacuous_share": float((bound >= 1.0).mean()),
                        "share_of_certain_labels": float((np.abs(positive - 0.5) > bound).mean()),
                        **_proven_wrong(results, part.field, positive, bound),
                    }
                )
        return summaries


def _proven_wrong(
    results: Results, field: float, positive: np.ndarray, bound: np.ndarray
) -> dict[str, int]:
    """Return the number of global marginals outside the certified interval, by method."""
    return {
        f"proven_wrong_of_{TITLES[method]}": int(
            (np.abs(found.positive - positive) > bound + _DECIDED).sum()
        )
        for method in METHODS[:2]
        if (found := _labels_or_none(results, field, method)) is not None
    }


def _labels_or_none(results: Results, field: float, method: Method) -> Labels | None:
    try:
        return labels(results, field, method)
    except NotMeasured:
        return None


def _scores(found: np.ndarray, target: np.ndarray) -> tuple[float | None, ...]:
    return accuracy(found, target), *quality(found, target)


def _accuracies(results: Results) -> list[Chart]:
    shown = fields(results)
    series = []
    for name, method, against, look in _LINES:
        values: list[float | None] = []
        for field in shown:
            found = labels(results, field, method)
            other = found.truth if against is None else labels(results, field, against).found
            values.append(accuracy(found.found, other))
        series.append(Series(name, shown, values, look))
    return [Chart("", "strength of the fields T", "accuracy", series)]


def _qualities(results: Results) -> list[Chart]:
    shown = fields(results)
    charts = []
    for against in METHODS[:2]:
        found = [
            quality(labels(results, field, LOCAL).found, labels(results, field, against).found)
            for field in shown
        ]
        looks = (Look(BLUE, "dash", "square"), Look(ORANGE, "dot", "triangle-up"), _AGREEMENT)
        series = [
            Series(name, shown, [one[k] for one in found], look)
            for k, (name, look) in enumerate(zip(("precision", "recall", "F"), looks, strict=True))
        ]
        title = f"local against {TITLES[against]}"
        charts.append(Chart(title, "strength of the fields T", "share", series))
    return charts
