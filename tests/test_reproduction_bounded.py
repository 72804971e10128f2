"""Judges of the paper on bounded inference, on made-up results, and what is measured for them."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from graftviz.counts import PairCounts
from graftviz.experiments.reproduction import bounded_verdicts as judged
from graftviz.experiments.reproduction.bounded import Frontier
from graftviz.experiments.reproduction.bounded_runs import (
    BoundedPart,
    PathPart,
    RandomNetwork,
    mean_score,
    most_likely,
    sample_network,
)
from graftviz.experiments.reproduction.bounded_verdicts import compare_at_cost
from graftviz.experiments.reproduction.data import Data
from graftviz.experiments.reproduction.experiment import NotMeasured
from graftviz.inference import infer
from graftviz.inference.exact import plan_elimination
from graftviz.metrics import nll

HERE = RandomNetwork(7, 150, 100, 2)


def point(cost, loss, error=1.0):
    return {
        **{"exact_seconds": cost, "exact_operations": cost, "log_partition_error": error},
        **{"trbp_seconds": cost, "trbp_operations": cost, "nll": loss, "ncmll": loss},
    }


def results(ours, path, refitted=()):
    found = {
        BoundedPart(HERE, "treewidth", float(k)): {"points": [one]} for k, one in enumerate(ours)
    }
    return found | {PathPart(HERE, 4): {"points": list(path), "refitted": list(refitted)}}


PATH = [point(1.0, 9.0, 1.0), point(10.0, 8.0, 2.0), point(100.0, 7.0, 4.0)]


def test_others_are_interpolated_at_equal_cost_and_never_get_worse():
    ours = [point(0.5, 1.0), point(10.0**0.5, 8.0), point(10.0, 8.2), point(1000.0, 7.5)]
    found = compare_at_cost(ours, [*PATH, point(200.0, 9.5)], "exact_seconds", "nll", scale="log")
    assert found.beyond == 1  # half a second buys nothing of the path
    assert found.gains == pytest.approx([0.5, -0.2, -0.5])
    assert len(compare_at_cost(ours, [], "exact_seconds", "nll", scale="log").gains) == 0


@pytest.mark.parametrize(
    ("losses", "held"), [((8.0, 7.4, 6.0), True), ((8.0, 8.4, 6.0), "partly"), ((9.5, 9.0), False)]
)
def test_higher_likelihood_at_equal_cost(losses, held):
    ours = [point(10.0 ** (k + 0.5), loss) for k, loss in enumerate(losses)]
    for which in ("path", "refitted"):
        judge = judged.better_at_equal_cost(which, "nll", "exact_seconds", "exact_operations")
        other = [] if which == "path" else PATH
        verdict = judge(results(ours, PATH, other))
        assert verdict.held == held
        assert verdict.sentence.count(f"of {len(losses)} models") == 2
        with pytest.raises(NotMeasured):
            judge({})


@pytest.mark.parametrize(("errors", "held"), [((0.5, 1.5), True), ((3.5, 4.5), False)])
def test_less_error_at_equal_likelihood(errors, held):
    ours = [point(1.0, loss, error) for loss, error in zip((8.0, 7.0), errors, strict=True)]
    ours.append(point(1.0, 6.0, 9.0))  # more likely than anything on the path
    verdict = judged.less_error_at_equal_likelihood("path")(results(ours, PATH))
    assert verdict.held is held
    assert "1 are more likely than any" in verdict.sentence


def test_likelihood_and_cost_rise_together():
    judge = judged.likelihood_rises_with("exact_seconds", "nll", "inference time")
    falling = [point(1.0, 7.0), point(2.0, 8.0), point(3.0, 9.0)]
    assert judge(results(PATH, PATH)).held is True
    assert judge(results(falling, PATH)).held == "partly"
    assert judge(results(falling, falling)).held is False
    with pytest.raises(NotMeasured):
        judge(results(PATH[:2], PATH[:2]))


def test_fitted_structures_have_the_marginals_of_the_rows():
    rows = sample_network(HERE)
    edges = np.array([(0, 1), (0, 3), (1, 2), (2, 3), (3, 5), (4, 5)])
    order = plan_elimination(dataclasses.replace(rows.model, edges=edges, weights=_zeros(edges)))
    model = most_likely(rows.train, edges, order.order)
    beliefs, counts = infer(model, "exact"), PairCounts(rows.train)
    for (i, j), pair in zip(model.edges.tolist(), beliefs.edge, strict=True):
        seen = counts.table(i, j) / rows.train.n_rows
        # One imaginary row in 151 is independent.
        assert pair == pytest.approx(seen, abs=1.0 / rows.train.n_rows)
    assert nll(model, rows.train) < nll(rows.model, rows.train) + 1.0


def _zeros(edges):
    return np.zeros(2 * HERE.nodes + 4 * len(edges))


def test_rows_are_the_networks_and_halves_do_not_overlap():
    rows = sample_network(HERE)
    assert (rows.train.n_rows, rows.test.n_rows) == (150, 100)
    shares = infer(rows.model, "exact").node
    seen = (rows.train.codes.mean(axis=1) * 150 + rows.test.codes.mean(axis=1) * 100) / 250
    expected = np.array([share[1] for share in shares])
    assert np.abs(seen - expected).max() < 5 * 0.5 / np.sqrt(250)


def test_the_scale_of_log_z_does_not_depend_on_how_weights_are_written():
    model = sample_network(HERE).model
    shifted = dataclasses.replace(model, weights=model.weights + 3.0)
    scale, same = (infer(one, "exact").log_partition - mean_score(one) for one in (model, shifted))
    assert same == pytest.approx(scale)
    assert scale >= HERE.nodes * np.log(2.0)


def test_what_is_measured_follows_from_the_seed():
    part = BoundedPart(HERE, "treewidth", 2.0)
    first, again = (part.measure(Data(), lambda _: None)["points"][0] for _ in range(2))
    assert first["width"] <= 2
    for quantity in ("nll", "ncmll", "exact_operations", "trbp_operations", "edges"):
        assert first[quantity] == again[quantity]


def test_figures_of_one_bound_share_their_parts():
    nll_parts = Frontier("treewidth", "nll", "exact_seconds").parts("small", 0)
    assert nll_parts == Frontier("treewidth", "ncmll", "exact_seconds").parts("small", 0)
    assert set(nll_parts) & set(Frontier("trbp-sweeps", "nll", "trbp_seconds").parts("small", 0))
