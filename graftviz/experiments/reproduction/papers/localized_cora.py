"""Labels of Cora by local and global inference: figures 6 and 7 of localized inference."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, Literal, NamedTuple

import numpy as np
import plotly.graph_objects as go

from graftviz.datasets.labelled_graph import LabelledGraph, bounded_degrees
from graftviz.experiments.reproduction.claims import (
    RISES,
    Cases,
    Check,
    Claim,
    above,
    at_least,
)
from graftviz.experiments.reproduction.data import Data
from graftviz.experiments.reproduction.experiment import (
    PAPER,
    REHEARSAL,
    SMALL,
    Experiment,
    Part,
    Progress,
)
from graftviz.experiments.reproduction.rows import (
    NotMeasured,
    Row,
    Rows,
    group,
    mean,
    panel,
    text_keys,
    where,
)
from graftviz.figures.reproduction import Look
from graftviz.figures.reproduction_lines import lines_figure
from graftviz.figures.style import BLACK, BLUE, GREEN, GREY, ORANGE, VERMILION
from graftviz.inference import infer
from graftviz.model import PairwiseMRF
from graftviz.regions import grow_region, region_marginal
from graftviz.sampling import ising_model

_PAPER = "Efficient localized inference"
_LARGEST_REGION = 16
_ROUNDING = 1e-9
Cut = Literal["drop", "mean-field"]

# --- figures 6 and 7: labels of Cora ------------------------------------------------------------

_POSITIVE = "Neural_Networks"
_LARGEST_DEGREE = 14  # the paper states 15; its 4,325 edges need degrees below 15
_COUPLING = 1.0
GLOBAL, BP = "global mean field", "global belief propagation"
LOCAL, LOCAL_MEAN_FIELD = "local, dropping out", "local, mean field"
METHODS = {
    GLOBAL: "mean-field",
    BP: "bp",
    LOCAL: "local drop",
    LOCAL_MEAN_FIELD: "local mean-field",
}
_TRUTH = "true labels"


class CoraSize(NamedTuple):
    """Field strengths T, and the number of queried papers."""

    fields: tuple[float, ...]
    queries: int


def _cora_parts(size: CoraSize, seed: int) -> Iterator[Part]:
    """Yield one part for every strength and method."""
    for field in size.fields:
        for name, method in METHODS.items():
            numbers = {"field": field, "queries": size.queries, "seed": seed}
            yield Part(
                f"{name}, T = {field:g}",
                size.queries,
                {
                    **{"part": "Cora", "method": method, **numbers},
                    **{"largest degree": _LARGEST_DEGREE, "largest region": _LARGEST_REGION},
                },
                partial(_measure_cora, field, method, size.queries, seed),
                {"T": field, "method": name},
                source="cora",
                digest=lambda data: data.labelled_graph("cora").fingerprint,
            )


def _measure_cora(
    field: float, method: str, queries: int, seed: int, data: Data, on_progress: Progress
) -> Rows:
    """Compute the marginals of the queried papers, the same at every strength."""
    graph = bounded_degrees(data.labelled_graph("cora"), _LARGEST_DEGREE, seed)
    rng = np.random.default_rng(seed)
    count = min(queries, graph.graph.n_nodes)
    queried = np.sort(rng.choice(graph.graph.n_nodes, size=count, replace=False))
    model = _spin_model(graph, field, rng)
    row: Row = {
        **{"papers": graph.graph.n_nodes, "citations": graph.graph.n_edges},
        "truth": graph.spins(_POSITIVE)[queried].astype(int).tolist(),
    }
    if method in ("mean-field", "bp"):
        beliefs = infer(model, method)
        positive = [float(beliefs.node[node][1]) for node in queried]
        return [{**row, "positive": positive, "converged": beliefs.converged}]
    cut: Cut = "drop" if method == "local drop" else "mean-field"
    row |= {"positive": [], "bound": [], "size": []}
    for k, node in enumerate(queried.tolist(), start=1):
        *_, last = grow_region(model, node, tolerance=0.0, max_size=_LARGEST_REGION, cut=cut)
        row["positive"].append(float(region_marginal(model, last.nodes, node, cut)[1]))
        row["bound"].append(float(last.bound))
        row["size"].append(last.size)
        on_progress(k)
    return [row]


def _spin_model(graph: LabelledGraph, field: float, rng: np.random.Generator) -> PairwiseMRF:
    """Draw an Ising model: θ_ij from U[−1, 1], θ_i from U[0, T] times the spin of the paper."""
    couplings = rng.uniform(-_COUPLING, _COUPLING, graph.graph.n_edges)
    strengths = field * rng.uniform(0.0, 1.0, graph.graph.n_nodes)
    fields = graph.spins(_POSITIVE) * strengths
    return ising_model(graph.graph.edges, fields, couplings, graph.graph.names)


def labels(rows: Rows, field: float, name: str) -> np.ndarray:
    """Return whether queried papers are labelled +1 by a method, or by the true labels."""
    here = group(where(rows, T=field), "method")
    if name == _TRUTH:
        return np.array(next(iter(here.values()))[0]["truth"]) > 0
    # Marginals of 1/2, up to rounding, give the label −1.
    return np.array(here[name][0]["positive"]) > 0.5 + _ROUNDING


def quality(found: np.ndarray, target: np.ndarray) -> dict[str, float | None]:
    """Return accuracy, and precision, recall and F of the label +1; None if 0 / 0."""
    both, count, wanted = (int(array.sum()) for array in (found & target, found, target))
    return {
        "accuracy": mean(found == target),
        "precision": both / count if count else None,
        "recall": both / wanted if wanted else None,
        "F": 2 * both / (count + wanted) if count + wanted else None,
    }


def _fields(rows: Rows) -> list[float]:
    """Return the strengths at which all methods were measured, ascending."""
    return sorted(field for field, here in group(rows, "T").items() if len(here) == len(METHODS))


def _over_strengths(rows: Rows, name: str, against: str, quantity: str) -> dict[float, Any]:
    return {
        field: quality(labels(rows, field, name), labels(rows, field, against))[quantity]
        for field in _fields(rows)
    }


_LINES = {
    f"{GLOBAL}, {_TRUTH}": (GLOBAL, _TRUTH, Look(VERMILION, "dash", "square")),
    f"{LOCAL}, {_TRUTH}": (LOCAL, _TRUTH, Look(BLUE, "solid", "diamond")),
    f"{LOCAL}, labels of {GLOBAL}": (LOCAL, GLOBAL, Look(GREEN, "solid", "circle")),
    f"{BP}, {_TRUTH}": (BP, _TRUTH, Look(BLACK, "dot", "x")),
    f"{LOCAL}, labels of {BP}": (LOCAL, BP, Look(GREY, "dashdot", "circle-open")),
    f"{LOCAL_MEAN_FIELD}, labels of {GLOBAL}": (
        *(LOCAL_MEAN_FIELD, GLOBAL),
        Look(ORANGE, "longdash", "triangle-up-open"),
    ),
}
_QUALITY_LOOKS = {
    "precision": Look(BLUE, "dash", "square"),
    "recall": Look(ORANGE, "dot", "triangle-up"),
    "F": Look(GREEN, "solid", "circle"),
}


def _draw_accuracy(title: str, rows: Rows) -> go.Figure:
    lines, looks = {}, {}
    for name, (method, against, look) in _LINES.items():
        values = _over_strengths(rows, method, against, "accuracy")
        lines[name], looks[name] = {field: [value] for field, value in values.items()}, look
    return lines_figure(title, [panel("", "strength of the fields T", "accuracy", lines, looks)])


def _draw_quality(title: str, rows: Rows) -> go.Figure:
    panels = []
    for against in (GLOBAL, BP):
        lines = {}
        for quantity in _QUALITY_LOOKS:
            values = _over_strengths(rows, LOCAL, against, quantity)
            lines[quantity] = {field: [value] for field, value in values.items()}
        words = f"local against {against}"
        panels.append(panel(words, "strength of the fields T", "share", lines, _QUALITY_LOOKS))
    return lines_figure(title, panels, share_y=True)


def _cora_table(rows: Rows) -> Iterator[Row]:
    """Yield one row for every strength and compared pair of labels."""
    pairs = [(name, _TRUTH) for name in METHODS]
    pairs += [(local, whole) for local in (LOCAL, LOCAL_MEAN_FIELD) for whole in (GLOBAL, BP)]
    for field in _fields(rows):
        for name, against in pairs:
            found = quality(labels(rows, field, name), labels(rows, field, against))
            yield {"T": field, "labels": name, "against": against, **found}


def _cora_summary(rows: Rows) -> Iterator[Row]:
    """Yield sizes and error bounds of local inference at every strength."""
    for row in rows:
        if "bound" not in row:
            continue
        bound, positive = np.array(row["bound"]), np.array(row["positive"])
        # Global marginals outside the certified interval.
        wrong = {
            f"proven_wrong_of_{other['method']}": int(
                (np.abs(np.array(other["positive"]) - positive) > bound + _ROUNDING).sum()
            )
            for other in where(rows, T=row["T"])
            if other["method"] in (GLOBAL, BP)
        }
        yield {
            **{key: row[key] for key in ("T", "method", "papers", "citations")},
            "queries": len(positive),
            "mean_size": mean(row["size"]),
            "mean_bound": mean(bound),
            "vacuous_share": mean(bound >= 1.0),
            "share_of_certain_labels": mean(np.abs(positive - 0.5) > bound),
            **wrong,
        }


def _of_labels(
    *pairs: tuple[str, str], quantity: str = "accuracy", of: Callable[[list[float]], Any] = list
) -> Cases:
    """Return a function of a quantity by ascending T, by compared pair of labels."""

    def cases(rows: Rows) -> Row:
        if len(_fields(rows)) < 2:
            raise NotMeasured("Several strengths of the fields are needed for this.")
        found = {}
        for name, against in pairs:
            values = list(_over_strengths(rows, name, against, quantity).values())
            if None in values:
                raise NotMeasured("At some T no paper has the label +1, so there is no precision.")
            found[name if against == _TRUTH else f"{name}, labels of {against}"] = of(values)
        return found

    return cases


def _rise_in_errors(rows: Rows) -> Row:
    """Return the rise of the accuracy from the first to the last T, in standard errors."""
    queries = len(rows[0]["truth"]) if rows else 1

    def rise(values: list[float]) -> float:
        first, last = values[0], values[-1]
        error = ((first * (1 - first) + last * (1 - last)) / queries) ** 0.5
        return (last - first) / max(error, 1e-12)

    return _of_labels((GLOBAL, _TRUTH), (LOCAL, _TRUTH), of=rise)(rows)


def _agreements(rows: Rows) -> dict[str, float]:
    if len(_fields(rows)) < 2:
        raise NotMeasured("Several strengths of the fields are needed for this.")
    return text_keys(_over_strengths(rows, LOCAL, GLOBAL, "accuracy"), "T = {:g}")


_BP_AGREEMENT = Check("agreement by T", _of_labels((LOCAL, BP)))
_CORA: dict[str, Any] = {
    "needs": ("cora",),
    "sizes": {
        PAPER: CoraSize((0.5, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0), 500),
        SMALL: CoraSize((0.5, 2.0, 5.0, 10.0), 60),
        REHEARSAL: CoraSize((1.0, 10.0), 8),
    },
    "parts": _cora_parts,
    "table": _cora_table,
    "summary": _cora_summary,
    "settings": {
        "graph": f"degrees at most {_LARGEST_DEGREE}: random edges deleted, largest component",
        "model": f"θ_ij from U[−{_COUPLING:g}, {_COUPLING:g}]; θ_i from U[0, T] for papers on "
        "neural networks, from U[−T, 0] for others; the same draws, scaled, for all T",
        "labels": "+1 where the marginal of +1 is larger than 1/2",
        "regions": f"greedy, {_LARGEST_REGION} nodes, exact inside",
    },
    "notes": (
        "The potentials are missing in our copy of the text, so these are ours: θ_ij from "
        "U[−1, 1], θ_i from U[0, T] with the sign of the true label. At T = 0 all marginals are "
        "1/2 and give no label; T begins at 0.5.",
        "Degrees are bounded by 14: the 4,325 edges of the paper fit degrees below 15, not of at "
        "most 15. A graph within the bound is taken as it is.",
        "Global belief propagation and the mean-field cut are ours, beside global mean field and "
        "dropping out: mean field is an approximation too, and a poor one for strong couplings.",
        "Figures of the same runs share cached results if they use the same folder.",
    ),
    "cost": {SMALL: "20 s", PAPER: "15 min"},
}

EXPERIMENTS = (
    Experiment(
        name="localized-fig6",
        title="Labels of Cora by local and global inference",
        place=f"{_PAPER}, figure 6 and section 6.2",
        draw=_draw_accuracy,
        claims=(
            Claim(
                "The accuracies of global and local inference against the true labels increase "
                "significantly with the strength of the fields.",
                Check(
                    "accuracy by T",
                    _of_labels((GLOBAL, _TRUTH), (LOCAL, _TRUTH)),
                    RISES,
                ),
                Check("its rise in standard errors", _rise_in_errors, above(2)),
                Check("accuracy of others", _of_labels((BP, _TRUTH), (LOCAL_MEAN_FIELD, _TRUTH))),
            ),
            Claim(
                "Local inference gives similar results as global inference.",
                Check(
                    f"agreement of local labels with those of {GLOBAL}", _agreements, at_least(0.9)
                ),
                _BP_AGREEMENT,
            ),
            Claim(
                "Local and global inference agree more as the strength increases.",
                Check("agreement by T", _of_labels((LOCAL, GLOBAL)), RISES),
                Check("agreement with another method by T", _of_labels((LOCAL, BP))),
            ),
        ),
        **_CORA,
    ),
    Experiment(
        name="localized-fig7",
        title="Precision, recall and F of local against global labels of Cora",
        place=f"{_PAPER}, figure 7 and section 6.2",
        draw=_draw_quality,
        claims=(
            Claim(
                "Precision, recall and F-measure of the local labels, with those of global "
                "inference as the truth and +1 as the positive class, increase with the strength "
                "of the fields.",
                *(
                    Check(f"{name} by T", _of_labels((LOCAL, GLOBAL), quantity=name), RISES)
                    for name in ("precision", "recall", "F")
                ),
            ),
        ),
        **_CORA,
    ),
)
