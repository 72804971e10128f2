"""Tables of the nodes and edges of a model and of its marginals: data frames and CSV."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from graftviz.inference.beliefs import Beliefs
from graftviz.inference.inspection import (
    STATUS_WORDS,
    ModelDifference,
    degree_ranks,
    entropies,
    mutual_informations,
    strongest_partners,
    total_variations,
)
from graftviz.model.pairwise import PairwiseModel
from graftviz.reports.files.spreadsheet import shown_cell
from graftviz.reports.words.inspection import most_likely_states
from graftviz.utils.files import csv_text

MODEL_EDGE_COLUMNS = ("source", "target", "weight_norm", "mutual_information")
MARGINAL_COLUMNS = ("variable", "state", "probability")
EVIDENCE_COLUMN = "probability_given_evidence"


def model_edges_csv(model: PairwiseModel, beliefs: Beliefs | None = None) -> str:
    """Return one line per edge in the order of the model: two names and zero-sum ‖w_ij‖₂.

    If `beliefs` are passed, a further column holds the mutual information of the two variables, in
    nats.
    """
    columns: list[Sequence[Any]] = [
        [model.names[i] for i, _ in model.edges.tolist()],
        [model.names[j] for _, j in model.edges.tolist()],
        model.edge_norms().tolist(),
    ]
    if beliefs is not None:
        columns.append(mutual_informations(beliefs.edge).tolist())
    return csv_text([MODEL_EDGE_COLUMNS[: len(columns)], *zip(*columns, strict=True)])


def marginals_csv(model: PairwiseModel, before: Beliefs, after: Beliefs | None = None) -> str:
    """Return one line per state of every variable, with its probability, for spreadsheets.

    Parameters
    ----------
    model : PairwiseMRF
    before : Beliefs
        Marginals without evidence.
    after : Beliefs, optional
        Marginals given the evidence, for a fourth column.
    """
    flat = [np.concatenate(beliefs.node) for beliefs in (before, after) if beliefs is not None]
    states = (
        (shown_cell(name), shown_cell(label))
        for name, labels in zip(model.names, model.labels, strict=True)
        for label in labels
    )
    numbers = np.stack(flat, axis=1).tolist()
    rows = ((*state, *values) for state, values in zip(states, numbers, strict=True))
    header = MARGINAL_COLUMNS if after is None else (*MARGINAL_COLUMNS, EVIDENCE_COLUMN)
    return csv_text([header, *rows])


def node_frame(
    model: PairwiseModel, before: Beliefs | None = None, after: Beliefs | None = None
) -> pd.DataFrame:
    """Return the table of variables, in the order of the model."""
    information = None if before is None else mutual_informations(before.edge)
    best = strongest_partners(model, information).tolist()
    norms = _finite(model.edge_norms())
    columns: dict[str, Any] = {
        "variable": model.names,
        "degree": model.degrees(),
        "rank": degree_ranks(model),
    }
    for title, beliefs in (("marginal", before), ("posterior", after)):
        if beliefs is not None:
            likely = most_likely_states(model, beliefs)
            columns[title] = [marginal.tolist() for marginal in beliefs.node]
            columns[f"{title}: most likely"] = [f"{label} ({p:.2f})" for label, p in likely]
    if before is not None and after is not None:
        columns["change"] = total_variations(before.node, after.node)
    latest = before if after is None else after
    if latest is not None:
        columns["entropy"] = entropies(latest.node)
    columns["strongest partner"] = [
        "" if e < 0 else model.names[int(model.edges[e].sum()) - i] for i, e in enumerate(best)
    ]
    columns["partner weight"] = [None if e < 0 else float(norms[e]) for e in best]
    columns["states"] = model.cardinalities
    return pd.DataFrame(columns)


def edge_frame(model: PairwiseModel, beliefs: Beliefs | None = None) -> pd.DataFrame:
    """Return the table of edges, in the order of the model."""
    frame = _ends(model.edges, model.names)
    frame["weight"] = _finite(model.edge_norms())
    if beliefs is not None:
        frame["mutual information"] = mutual_informations(beliefs.edge)
    return frame


def partner_frame(model: PairwiseModel, i: int, beliefs: Beliefs | None = None) -> pd.DataFrame:
    """Return a row per neighbour of a node, strongest first; the index is the edge's number.

    The strength is the mutual information, or the norm of the edge without `beliefs`.
    """
    own = np.flatnonzero((model.edges == i).any(axis=1))
    partners = model.edges[own].sum(axis=1) - i
    strengths = model.edge_norms()[own]
    columns = {"partner": [model.names[j] for j in partners.tolist()], "weight": _finite(strengths)}
    if beliefs is not None:
        strengths = mutual_informations([beliefs.edge[e] for e in own.tolist()])
        columns["information"] = strengths
    return pd.DataFrame(columns, index=own).iloc[np.lexsort((partners, -strengths))]


def difference_frame(difference: ModelDifference, names: Sequence[str]) -> pd.DataFrame:
    """Return a row per edge of either model."""
    frame = _ends(difference.edges, names)
    frame["where"] = [STATUS_WORDS[status] for status in difference.status]
    for title, numbers in zip(("first", "second"), difference.numbers.T, strict=True):
        norms = _finite(getattr(difference, title))
        frame[title] = np.where(numbers >= 0, norms, np.nan)
    return frame


def _ends(edges: np.ndarray, names: Sequence[str]) -> pd.DataFrame:
    pairs = [(names[i], names[j]) for i, j in edges.tolist()]
    return pd.DataFrame(pairs, columns=["source", "target"])


def _finite(norms: np.ndarray) -> np.ndarray:
    """Return norms, with NaN where a zero potential makes them infinite."""
    return np.where(np.isfinite(norms), norms, np.nan)
