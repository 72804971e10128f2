"""Evidence: a conditioned model is the original one restricted to the observed states."""

from __future__ import annotations

import itertools

import naive
import numpy as np
import pytest
from inference_cases import random_model, random_tree

from graftviz import InputError, PairwiseMRF, infer
from graftviz.inference.evidence import checked_evidence, conditioned


def random_evidence(model: PairwiseMRF, seed: int) -> dict[int, int]:
    rng = np.random.default_rng(seed)
    some = rng.permutation(model.n_variables)[: rng.integers(0, model.n_variables + 1)]
    return {int(i): int(rng.integers(model.cardinalities[i])) for i in sorted(some)}


def restricted(model: PairwiseMRF, evidence: dict[int, int]) -> np.ndarray:
    """Return all joint scores, with −inf for states that contradict the evidence."""
    states = list(itertools.product(*(range(s) for s in model.cardinalities)))
    scores = model.log_scores(np.array(states).T)
    agrees = [all(state[i] == k for i, k in evidence.items()) for state in states]
    return np.where(agrees, scores, -np.inf)


@pytest.mark.parametrize("seed", range(60))
def test_conditioned_model_has_scores_of_states_that_agree_with_evidence(seed):
    model = random_model(seed, scale=1.5, zeros=0.1, states=(1, 4))
    evidence = random_evidence(model, seed)
    given = conditioned(model, evidence)
    rest = list(itertools.product(*(range(s) for s in given.model.cardinalities)))
    scores = np.sort(given.model.log_scores(np.array(rest).T))
    wanted = restricted(model, evidence)
    agreeing = np.sort(wanted[np.isfinite(wanted)])
    finite = scores[np.isfinite(scores)]
    np.testing.assert_allclose(finite, agreeing, rtol=1e-12, atol=1e-12)
    assert given.model.names == model.names


@pytest.mark.parametrize("seed", range(40))
def test_posteriors_on_trees_match_enumeration(seed):
    model = random_tree(seed, scale=1.5, zeros=0.1)
    evidence = random_evidence(model, seed + 1)
    scores = restricted(model, evidence)
    if not np.isfinite(scores).any():
        assert infer(model, evidence=evidence).log_partition == -np.inf
        return
    beliefs = infer(model, evidence=evidence, max_sweeps=2000)
    joint = np.exp(scores - naive.log_sum(scores, None)).reshape(model.cardinalities)
    assert beliefs.log_partition == pytest.approx(float(naive.log_sum(scores, None)), abs=1e-8)
    assert beliefs.evidence == evidence
    everything = range(model.n_variables)
    for i, belief in enumerate(beliefs.node):
        others = tuple(k for k in everything if k != i)
        np.testing.assert_allclose(belief, joint.sum(axis=others), atol=1e-8)
    for (i, j), belief in zip(model.edges.tolist(), beliefs.edge, strict=True):
        others = tuple(k for k in everything if k not in (i, j))
        np.testing.assert_allclose(belief, joint.sum(axis=others), atol=1e-8)


def named() -> PairwiseMRF:
    return PairwiseMRF.from_tables(
        [np.zeros(2), np.zeros(3)],
        {(0, 1): np.zeros((2, 3))},
        names=("rain", "grass"),
        labels=(("no", "yes"), ("dry", "damp", "wet")),
    )


def test_variables_and_states_are_given_by_index_or_name():
    model = named()
    assert checked_evidence(model, {"grass": "wet", 0: 1}) == {0: 1, 1: 2}
    assert checked_evidence(model, {np.int64(1): np.int64(2), "grass": "wet"}) == {1: 2}
    assert checked_evidence(model, None) == {}
    assert list(checked_evidence(model, {1: 0, 0: 0})) == [0, 1]


REFUSED = {
    "unknown name": ({"gras": 0}, "no variable named 'gras'; did you mean 'grass'"),
    "unknown index": ({2: 0}, r"variables 0 … 1; 2 is not one"),
    "negative index": ({-1: 0}, "-1 is not one"),
    "unknown label": ({"grass": "moist"}, "'grass' has no state 'moist'"),
    "unknown state": ({"rain": 2}, r"'rain' has the states 0 … 1; 2 is not one"),
    "truth value": ({"rain": True}, "not by True"),
    "fraction": ({0.5: 1}, "not by 0.5"),
    "two states": ({"rain": 0, 0: 1}, "'rain' two different states"),
}


@pytest.mark.parametrize(("evidence", "sentence"), REFUSED.values(), ids=REFUSED)
def test_invalid_evidence_is_refused(evidence, sentence):
    with pytest.raises(InputError, match=sentence):
        checked_evidence(named(), evidence)


@pytest.mark.parametrize("seed", range(20))
def test_incidence_lists_every_edge_at_both_ends(seed):
    model = random_model(seed, scale=1.5, zeros=0.1, states=(1, 4))
    starts, neighbours, edges = model.incidence
    for i in range(model.n_variables):
        at_node = slice(starts[i], starts[i + 1])
        assert (np.diff(neighbours[at_node]) > 0).all()
        for j, e in zip(neighbours[at_node], edges[at_node], strict=True):
            assert sorted((i, int(j))) == model.edges[e].tolist()
    assert len(neighbours) == 2 * model.n_edges
    assert not neighbours.flags.writeable


@pytest.mark.parametrize(
    ("evidence", "states"),
    [
        ({"score": 1}, {0: 0}),  # a value of the column, as in predict
        ({"score": "3"}, {0: 2}),
        ({"score": 2.0}, {0: 1}),
        ({0: 1}, {0: 1}),  # by index: the second state
        ({"age": 33}, {1: 1}),
        ({"age": "12.5"}, {1: 0}),
        ({"age": "< 20"}, {1: 0}),
        ({1: 2}, {1: 2}),
        ({"town": 1}, {2: 1}),  # texts: by index
    ],
)
def test_values_of_columns_are_mapped_to_states(evidence, states):
    labels = (("1", "2", "3"), ("< 20", "[20, 40)", ">= 40"), ("A", "B"))
    model = PairwiseMRF(
        [3, 3, 2], np.zeros((0, 2), int), np.zeros(8), ("score", "age", "town"), labels
    )
    assert checked_evidence(model, evidence) == states
