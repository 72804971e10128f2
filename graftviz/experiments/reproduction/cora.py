"""Local against global inference on Cora, as the fields of an Ising model grow stronger."""

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
LARGEST_DEGREE = 14  # the paper says 15; its 4,325 edges need degrees below 15
COUPLING = 1.0
_DECIDED = 1e-9  # a marginal that is nearer to 1/2 gives the label −1, as one below does

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
    """The marginals of some papers by one method, at one strength of the fields.

    Attributes
    ----------
    field : float
        T: the field of a paper is drawn from [0, T] if it is about neural networks, from [−T, 0]
        if not.
    method : str
        One of :data:`METHODS`.
    queries : int
        How many papers are asked for, the same ones at every strength.
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
        """How many papers are asked for."""
        return self.queries

    @property
    def source(self) -> str:
        """Where its data come from."""
        return SOURCE

    def settings(self, data: Data) -> dict[str, Any]:
        """Return graph, method, strengths and the seed."""
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
        """Do nothing: times are not compared here."""

    def measure(self, data: Data, on_progress: Callable[[int], None]) -> dict[str, Any]:
        """Ask for all papers, one after the other or all at once."""
        graph = bounded_degrees(data.labelled_graph(SOURCE), LARGEST_DEGREE, self.seed)
        rng = np.random.default_rng(self.seed)
        count = min(self.queries, graph.graph.n_nodes)
        asked = np.sort(rng.choice(graph.graph.n_nodes, size=count, replace=False))
        model = spin_model(graph, self.field, rng)
        truth = graph.spins(POSITIVE)[asked].astype(int).tolist()
        about = {
            "papers": graph.graph.n_nodes,
            "citations": graph.graph.n_edges,
            "truth": truth,
        }
        if self.method in ("mean-field", "bp"):
            beliefs = infer(model, self.method)
            positive = [float(beliefs.node[node][1]) for node in asked]
            return {**about, "positive": positive, "converged": beliefs.converged}
        cut: Literal["drop", "mean-field"] = "drop" if self.method == LOCAL else "mean-field"
        positive, bounds, sizes = [], [], []
        for k, node in enumerate(asked.tolist(), start=1):
            *_, last = grow_region(model, node, tolerance=0.0, max_size=LARGEST_REGION, cut=cut)
            positive.append(float(region_marginal(model, last.nodes, node, cut)[1]))
            bounds.append(float(last.bound))
            sizes.append(last.size)
            on_progress(k)
        return {**about, "positive": positive, "bound": bounds, "size": sizes}


def spin_model(graph: LabelledGraph, field: float, rng: np.random.Generator) -> PairwiseMRF:
    """Draw an Ising model on papers: θ_ij from U[−1, 1], θ_i from U[0, T] with the paper's sign."""
    couplings = rng.uniform(-COUPLING, COUPLING, graph.graph.n_edges)
    strengths = field * rng.uniform(0.0, 1.0, graph.graph.n_nodes)
    fields = graph.spins(POSITIVE) * strengths
    return ising_model(graph.graph.edges, fields, couplings, graph.graph.names)


class Labels(NamedTuple):
    """What a method says about the papers that were asked for, at one strength.

    Attributes
    ----------
    truth, found : bool array, shape (queries,)
        Whether a paper is about neural networks, and whether its marginal says so.
    positive : float array, shape (queries,)
        The marginals.
    bound : float array or None
        Of local answers.
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
        When they were not measured.
    """
    for part, result in results.items():
        if isinstance(part, CoraPart) and (part.field, part.method) == (field, method):
            positive = np.array(result["positive"])
            bound = np.array(result["bound"]) if "bound" in result else None
            truth = np.array(result["truth"]) > 0
            return Labels(truth, positive > 0.5 + _DECIDED, positive, bound)
    raise NotMeasured(f"{TITLES[method]} was not measured at T = {field:g}.")


def fields(results: Results) -> list[float]:
    """Return the strengths at which all methods were measured, rising."""
    known = {method: set[float]() for method in METHODS}
    for part in results:
        if isinstance(part, CoraPart):
            known[part.method].add(part.field)
    return sorted(set.intersection(*known.values()))


def accuracy(one: np.ndarray, other: np.ndarray) -> float:
    """Return the share of labels that agree."""
    return float((one == other).mean())


class Quality(NamedTuple):
    """Precision, recall and their harmonic mean, F; None where nothing is to be divided by."""

    precision: float | None
    recall: float | None
    f: float | None


def quality(found: np.ndarray, wanted: np.ndarray) -> Quality:
    """Return how well labels find those that are wanted, +1 being what is looked for."""
    both = int((found & wanted).sum())
    precision = both / int(found.sum()) if found.any() else None
    recall = both / int(wanted.sum()) if wanted.any() else None
    total = int(found.sum()) + int(wanted.sum())
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
    """All methods at several strengths.

    Attributes
    ----------
    sizes : dict
        By scale: the strengths, and the number of papers asked for.
    shown : {"accuracy", "quality"}
        What the figure shows.
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
        """Say what is drawn and asked."""
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
        """Yield one row for every strength and pair of labels that are compared."""
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
        """Return the sizes, and what the local bounds prove, at every strength."""
        told = []
        for part, result in results.items():
            if isinstance(part, CoraPart) and "bound" in result:
                bound, positive = np.array(result["bound"]), np.array(result["positive"])
                told.append(
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
        return told


def _proven_wrong(
    results: Results, field: float, positive: np.ndarray, bound: np.ndarray
) -> dict[str, int]:
    """Return how many answers of global methods lie where the true marginal cannot be."""
    return {
        f"proven_wrong_of_{TITLES[method]}": int(
            (np.abs(found.positive - positive) > bound + _DECIDED).sum()
        )
        for method in METHODS[:2]
        if (found := _known(results, field, method)) is not None
    }


def _known(results: Results, field: float, method: Method) -> Labels | None:
    try:
        return labels(results, field, method)
    except NotMeasured:
        return None


def _scores(found: np.ndarray, wanted: np.ndarray) -> tuple[float | None, ...]:
    return accuracy(found, wanted), *quality(found, wanted)


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
