"""Runs: steps, results, branches, interruptions and refused arguments."""

from __future__ import annotations

import numpy as np
import pytest
from fakes import finished_run, random_pairs, random_table

from graftviz import DiscreteTable, EdgeGrafting, FirstHit, InputError, Run, learn
from graftviz.inference.likelihood import nlpl
from graftviz.learning.observer import recall_precision_f1
from graftviz.reports.words.outcomes import remark_words

TABLE = random_table(5, 9, 120)
TRUTH = [(1, 0), (2, 3), (4, 8)]


def activated(run: Run) -> list[list[tuple[int, int]]]:
    return [[edge[:2] for edge in step.activated] for step in run.steps]


def weights(run: Run) -> list[list[float]]:
    return [step.model().weights.tolist() for step in run.steps]


def test_run_advances_one_step_at_a_time_until_its_end():
    run = Run(TABLE, random_pairs(max_edges=3))
    assert run.start is None
    for count in (1, 2, 3):
        assert run.advance()
        assert len(run.steps) == len(run.metrics) == count
        assert run.outcome is None
    for _ in range(2):
        assert not run.advance()
        assert run.outcome is not None
        assert len(run.steps) == 3


def test_learn_equals_finished_run():
    train, test = TABLE.split(0.25, seed=1)
    seen = []
    result = learn(train, random_pairs(), seed=3, test=test, truth=TRUTH, callback=seen.append)
    run = finished_run(train, random_pairs(), seed=3, test=test, truth=TRUTH)
    assert [step.index for step in seen] == list(range(1, 13))
    assert tuple(seen) == result.trace.steps
    assert result.metrics == tuple(run.metrics)
    assert np.array_equal(result.model.weights, run.outcome.model().weights)
    assert (result.n_variables, result.n_rows, result.n_rows_test) == (9, 90, 30)
    assert result.fingerprint == train.fingerprint
    assert result.n_edges == result.model.n_edges == 12
    assert result.stop_reason == remark_words(run.outcome.stop_reason)
    assert result.certificate == run.outcome.certificate
    found = recall_precision_f1(result.model.edges, TRUTH)
    assert (result.recall, result.precision, result.f1) == found
    assert result.nlpl_train == nlpl(result.model, train)
    assert result.nlpl_test == pytest.approx(nlpl(result.model, test))
    # The final polish moved the weights, so the last step's metrics are not the result's.
    assert result.nlpl_test != result.metrics[-1].nlpl_test


def test_the_result_of_an_ended_run_is_computed_once():
    run = Run(TABLE, random_pairs())
    run.advance()
    assert run.result() is not run.result()
    while run.advance():
        pass
    assert run.result() is run.result()


def test_interrupted_run_has_model_of_its_last_step():
    run = Run(TABLE, random_pairs(), test=TABLE, truth=TRUTH)
    with pytest.raises(ValueError, match="before its first step"):
        run.result()
    run.advance()
    run.advance()
    result = run.result()
    assert result.stop_reason == "Interrupted after step 2."
    assert not result.converged
    assert result.certificate is None
    assert result.trace.outcome is None
    assert result.model.edges.tolist() == run.steps[1].active_edges().tolist()
    assert result.nlpl_test == run.metrics[1].nlpl_test
    assert result.objective == run.steps[1].objective
    assert result.tests == run.steps[1].tests_total


def test_run_without_steps_has_a_result():
    run = Run(TABLE, FirstHit(preset="paper", lam=0.9), test=TABLE)
    assert not run.advance()
    result = run.result()
    assert result.n_edges == len(result.trace) == 0
    assert result.nlpl_test == run.start.nlpl_test == pytest.approx(result.nlpl_train)


@pytest.mark.parametrize("at", [0, 1, 4, 99])
def test_branch_equals_base_up_to_its_step_and_differs_after(at):
    old, new = random_pairs(max_edges=15), random_pairs(max_edges=10, lam2=0.5)
    plain = finished_run(TABLE, old, seed=2)
    branched = finished_run(TABLE, old, seed=2, branch=(at, new))
    shared = min(at, len(plain.steps))
    assert activated(branched)[:shared] == activated(plain)[:shared]
    assert weights(branched)[:shared] == weights(plain)[:shared]
    if at == 99:
        assert activated(branched) == activated(plain)
        assert branched.result().branch is None
    else:
        assert len(branched.steps) == 10
        assert weights(branched)[at] != weights(plain)[at]
        assert branched.result().branch == (at, new)
    if at == 0:
        assert weights(branched) == weights(finished_run(TABLE, new, seed=2))


def test_failed_run_is_over_and_has_a_result():
    other = Run(TABLE, random_pairs())
    other.advance()
    with pytest.raises(RuntimeError, match="engine"):
        other._generator.throw(RuntimeError("engine"))
    assert not other.advance()
    assert other.result().stop_reason == "Interrupted after step 1."


def _coded(**changes) -> DiscreteTable:
    facts = {"codes": TABLE.codes, "names": TABLE.names, "labels": TABLE.labels} | changes
    return DiscreteTable(**facts)


REFUSED = {
    "one row": ({"table": TABLE.rows([0])}, "only one row"),
    "one variable": ({"table": random_table(0, 1, 9)}, "only one variable, 'x0'"),
    "test of other names": (
        {"test": _coded(names=("x0", "y", *TABLE.names[2:]))},
        "number 2 is 'y' instead of 'x1'",
    ),
    "test of fewer columns": (
        {"test": _coded(codes=TABLE.codes[:8], names=TABLE.names[:8], labels=TABLE.labels[:8])},
        "there are 8 instead of 9",
    ),
    "test of other labels": (
        {"test": _coded(labels=(tuple("abcd"[: len(TABLE.labels[0])]), *TABLE.labels[1:]))},
        "Column 'x0' of the test rows is coded differently .* number 1 is 'a' instead of '0'",
    ),
    "truth out of range": (
        {"truth": [(0, 1), (2, 9)]},
        r"True edges: number 2, \(2, 9\), is no pair of variables 0 … 8",
    ),
    "negative truth": ({"truth": [(-1, 1)]}, r"\(-1, 1\)"),
    "loop in the truth": ({"truth": [(3, 3)]}, "joins a variable with itself"),
    "truth of three": ({"truth": [(1, 2, 3)]}, "pairs"),
    "flat truth": ({"truth": np.array([1, 2])}, "pairs"),
    "truth of an unknown name": ({"truth": [("x0", "y")]}, "no variable"),
    "fractional truth": ({"truth": np.array([[0.5, 1]])}, "whole numbers"),
    "too many edges": (
        {"learner": EdgeGrafting(max_edges=37)},
        "37 edges were requested, but 9 variables have only 36 pairs",
    ),
    "too many edges later": (
        {"learner": EdgeGrafting(), "branch": (1, EdgeGrafting(max_edges=37))},
        "37 edges were requested",
    ),
    "branch to another learner": (
        {"branch": (1, EdgeGrafting())},
        "can only continue as First hit",
    ),
    "branch without a learner": ({"branch": 3}, "A branch is a pair"),
    "branch before the start": ({"branch": (-1, random_pairs())}, "count from 0"),
    "negative seed": ({"seed": -1}, "at least 0"),
    "fractional seed": ({"seed": 0.5}, "whole number"),
}


@pytest.mark.parametrize(("arguments", "sentence"), REFUSED.values(), ids=REFUSED)
def test_mismatched_arguments_are_refused_in_one_sentence(arguments, sentence):
    arguments = {"table": TABLE, "learner": random_pairs()} | arguments
    with pytest.raises(InputError, match=sentence):
        Run(**arguments)
