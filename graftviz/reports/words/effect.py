"""Effect of an activation on its pair: the marginal before the step, after it, and in the data."""

from __future__ import annotations

from typing import Any

import numpy as np

from graftviz.inference.methods import infer
from graftviz.learning.history import History
from graftviz.learning.run import LearningRun
from graftviz.reports.texts import catalogue
from graftviz.reports.words.answers import history_at
from graftviz.reports.words.phrases import pair, score
from graftviz.reports.words.region import cheap_tree
from graftviz.utils.arrays import places_of
from graftviz.utils.errors import InputError

_MOST_CELLS = 6  # pairs of states that are returned
_BP_TOLERANCE, _BP_SWEEPS = 1e-6, 200


def activation_effect(run: LearningRun, i: int, j: int, t: int) -> dict[str, Any]:
    """Return the marginal of a pair that step `t` activated, in both models and in the data.

    Inference is exact where the junction tree of the later model is small, else by belief
    propagation, in whose model without the edge the pair is independent.

    Returns
    -------
    dict
        ``method``, the method of inference; ``cells``, ``[state of i, state of j, before, after,
        data]`` of the pairs of states farthest from the data before the step, farthest first;
        ``left``, the number of the other cells; ``gap``, the total variation distance of the
        marginal from the data, before and after; ``words``.

    Raises
    ------
    InputError
        When there is no such step, or it did not activate the edge.
    """
    i, j = min(i, j), max(i, j)
    history, table = history_at(run, t), run.table
    added = [] if t == 0 else [edge[:2] for edge in run.steps[t - 1].activated]
    if (i, j) not in added:
        raise InputError(f"Step {t} did not activate {pair(table.names, i, j)}.")
    before, after, method = _marginals(history, i, j, t)
    data = table.joint_counts(i, j) / table.total_weight
    order = np.argsort(-np.abs(before - data), axis=None, kind="stable")[:_MOST_CELLS]
    gaps = [0.5 * float(np.abs(marginal - data).sum()) for marginal in (before, after)]
    labels, texts = table.labels, catalogue("answers")["effect"]
    return {
        "method": texts[method],
        "cells": [
            [labels[i][a], labels[j][b], *(float(part[a, b]) for part in (before, after, data))]
            for a, b in zip(*np.unravel_index(order, data.shape), strict=True)
        ],
        "left": data.size - len(order),
        "gap": gaps,
        "words": texts["gap"].format(before=score(gaps[0]), after=score(gaps[1])),
    }


def _marginals(history: History, i: int, j: int, t: int) -> tuple[np.ndarray, np.ndarray, str]:
    """Return the pair marginal before and after step `t`, and the key of the inference."""
    before, after = (history.state_at(s).model for s in (t - 1, t))
    tree = cheap_tree(after)
    if tree is not None:
        earlier = cheap_tree(before)
        if earlier is not None:
            return earlier.pair(i, j), tree.pair(i, j), "exact"
    settings: dict[str, Any] = {"tolerance": _BP_TOLERANCE, "max_sweeps": _BP_SWEEPS}
    first, second = (infer(model, "bp", **settings) for model in (before, after))
    method = "bp" if first.converged and second.converged else "bp_open"
    edge = int(places_of(after.edges, i, j)[0])
    return np.outer(first.node[i], first.node[j]), second.edge[edge], method
