"""Points of quality against cost: measurements and comparisons."""

from __future__ import annotations

from collections import deque

import numpy as np
import pytest

from graftviz import InputError, ncmll, nll
from graftviz.data.synthetic.graphs import grid_graph
from graftviz.data.synthetic.potentials import random_model, sample_exact
from graftviz.evaluation.tradeoff import TradeOff, at_equal_cost, measuring
from graftviz.inference.likelihood import nlpl
from graftviz.reports.words.learners import comparison_words


def point(family: str, setting: float, quality: float, cost: int, error: float = 0.0) -> TradeOff:
    return TradeOff(
        family=family,
        setting=setting,
        edges=1,
        width=1,
        nll=quality,
        ncmll=quality,
        nlpl=quality,
        seconds=cost / 1000,
        operations=cost,
        method="exact",
        log_partition=10.0,
        bound_on_log_partition=10.0 * (1 + error / 100),
    )


def test_point_has_values_of_the_metrics() -> None:
    model = random_model(grid_graph(2, 3).edges, [2, 3, 2, 2, 3, 2], seed=1)
    rows = sample_exact(model, 60, seed=2)
    found = deque(measuring(model, rows, "bounded", 2.0), maxlen=1)[0]
    assert found.nll == pytest.approx(nll(model, rows), rel=1e-12)
    assert found.ncmll == pytest.approx(ncmll(model, rows, halves=2), rel=1e-12)
    assert found.nlpl == pytest.approx(nlpl(model, rows), rel=1e-12)
    assert found.bound_on_log_partition >= found.log_partition - 1e-9
    assert (found.edges, found.width) == (7, 2)


def test_infeasible_measurement_is_refused() -> None:
    n = 40
    pairs = np.array([(i, j) for i in range(n) for j in range(i + 1, n)])
    model = random_model(pairs, [2] * n, edge_sigma=0.01, seed=0)
    rows = sample_exact(random_model(pairs[:0], [2] * 4, seed=0), 4, seed=0)
    with pytest.raises(InputError, match="not measured"):
        next(measuring(model, rows, "l1", 0.1))


def test_rival_is_best_point_of_at_most_equal_cost() -> None:
    bounded = [point("bounded", 1, 5.0, 10), point("bounded", 2, 4.0, 100)]
    others = [point("l1", 0.5, 9.0, 5), point("l1", 0.1, 4.5, 60), point("l1", 0.01, 1.0, 101)]
    truth = point("truth", 0, 0.5, 1)
    for cost in ("operations", "seconds"):
        cheap, dear = at_equal_cost([*bounded, *others, truth], "nll", cost)
        assert cheap == (bounded[0], others[0], 4.0)
        assert dear == (bounded[1], others[1], 0.5)
    text = comparison_words((cheap, dear), "nll", "seconds", "treewidth")
    assert "bounded inference is better at 2 of 2 bounds" in text
    assert "τ = 1: 4.000 nats per row below" in text
    assert at_equal_cost([bounded[0], others[2]])[0].other is None
    with pytest.raises(InputError, match="beauty"):
        at_equal_cost(bounded, "beauty")
