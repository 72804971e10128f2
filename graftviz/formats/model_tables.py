"""CSV tables of the edges of a model and of its marginal probabilities."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from graftviz.formats.spreadsheet import shown_cell
from graftviz.inference import Beliefs
from graftviz.inspection import mutual_informations
from graftviz.model import PairwiseMRF
from graftviz.table.csv_text import csv_text

MODEL_EDGE_COLUMNS = ("source", "target", "weight_norm", "mutual_information")
MARGINAL_COLUMNS = ("variable", "state", "probability")
EVIDENCE_COLUMN = "probability_given_evidence"


def model_edges_csv(model: PairwiseMRF, beliefs: Beliefs | None = None) -> str:
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


def marginals_csv(model: PairwiseMRF, before: Beliefs, after: Beliefs | None = None) -> str:
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
