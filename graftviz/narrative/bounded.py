"""Sentences about learning under a bound on inference: steps, and why a pair is not an edge."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from graftviz.complexity import Complexity
from graftviz.counts import PairCounts
from graftviz.fitting.likelihood_fit import Targets
from graftviz.fitting.proportional import edge_residual
from graftviz.inference.exact import JunctionTree, plan_elimination
from graftviz.inference.exact.elimination import (
    MIN_FILL,
    MIN_WEIGHT,
    eliminated,
    greedy_elimination,
)
from graftviz.learners.bounded_choice import MEASURE_NAMES
from graftviz.learners.bounded_inference import BoundedInference
from graftviz.narrative.phrases import Absence, pair, plural, score
from graftviz.runs import Run
from graftviz.trace import Step

_BY_GRAPH = ("treewidth", "circuit-size")
_MOST_ENTRIES = 1 << 22  # of all cliques, up to which the gradient is exact


def bounded_step(step: Step, names: Sequence[str]) -> list[str]:
    """Describe a step under a bound in sentences."""
    complexity = step.complexity
    assert complexity is not None  # every step of the learner has one
    chosen = step.activated[0]
    name, bound = MEASURE_NAMES[complexity.measure], f"{complexity.bound:g}"
    own = pair(names, chosen.source, chosen.target)
    sentences = [
        f"Activated {own}: the largest likelihood gradient ({score(complexity.gradient_norm)}) of "
        f"the pairs that keep the {name} at or below {bound}."
    ]
    if complexity.newly_infeasible:
        pairs = plural(complexity.newly_infeasible, "pair")
        sentences.append(f"{pairs} with a larger gradient would exceed the bound.")
    now = f"The {name} is now {_number(complexity.value)}"
    if complexity.measure != "treewidth":
        now += f", with an elimination order of width {complexity.width}"
    sentences.append(
        f"{now}; the fit changes the objective from {step.previous_objective:.5g} to "
        f"{step.objective:.5g} nats per row."
    )
    return sentences


def bounded_absence(run: Run, learner: BoundedInference, i: int, j: int, t: int) -> Absence:
    """Explain why a pair is not an edge after step `t`, by its gradient and the bound."""
    if t == 0:
        return Absence(None, None, 0, "No step has been made yet.", "gradient")
    complexity = run.steps[t - 1].complexity
    assert complexity is not None  # every step of the learner has one
    own = _gradient(run, learner, i, j, t)
    start = f"Its likelihood gradient has norm {score(own)}"
    name, bound = MEASURE_NAMES[complexity.measure], f"{complexity.bound:g}"
    if complexity.measure in _BY_GRAPH:
        least = _least(run, complexity, i, j, t)
        if least > complexity.bound:
            words = (
                f"{start}, but it would raise the {name} to {_number(least)} with the best order "
                f"found, above {bound}."
            )
            return Absence(own, None, t, words, "gradient")
    if t < len(run.steps):
        after = run.steps[t].activated[0]
        rival = pair(run.table.names, after.source, after.target)
        if after.score >= own:
            words = (
                f"{start}; {rival} has a larger one ({score(after.score)}) and is activated first."
            )
        else:
            words = f"{start}; when tested it exceeded {bound}, so {rival} was activated."
    elif run.outcome is None:
        words = f"{start}; it may be activated later."
    elif own < run.outcome.certificate.threshold:
        words = f"{start}: zero, so it cannot increase the likelihood."
    elif run.outcome.certificate.worst_score is None:
        words = f"{start}, but when tested the {name} exceeded {bound}."
    else:
        words = f"{start}; the run ended before it was tested."
    return Absence(own, None, t, words, "gradient")


def _number(value: float) -> str:
    return f"{value:,.0f}" if value == int(value) else score(value)


def _gradient(run: Run, learner: BoundedInference, i: int, j: int, t: int) -> float:
    """Return ‖p_D − p_w‖ of a pair under the model after step `t`."""
    state = run.steps[t - 1].history.state_at(t)
    model, complexity = state.model, run.steps[t - 1].complexity
    assert complexity is not None
    target = Targets(PairCounts(run.table), float(learner.pseudo_count)).pair(i, j)
    if plan_elimination(model, order=complexity.order).total_entries <= _MOST_ENTRIES:
        belief = JunctionTree(model, order=complexity.order).pair(i, j)
    else:
        nodes = np.split(state.node_beliefs, model.node_offsets[1:-1])
        belief = np.outer(nodes[i], nodes[j])
    gaps, zeros = (belief - target).reshape(-1), np.zeros(belief.size)
    return float(edge_residual(gaps, zeros, zeros, learner.edge_penalty()))


def _least(run: Run, complexity: Complexity, i: int, j: int, t: int) -> float:
    """Return the smallest R found for the graph after step `t` with one more edge."""
    model = run.steps[t - 1].model()
    edges = np.vstack([model.edges, np.array([[i, j]], dtype=np.int64)])
    found = [eliminated(edges, model.cardinalities, complexity.order)]
    for kind in (MIN_FILL, MIN_WEIGHT):
        other = greedy_elimination(edges, model.cardinalities, kind)
        if other is not None:
            found.append(other)
    if complexity.measure == "treewidth":
        return float(min(one.width for one in found))
    return min(one.operations(model.cardinalities, edges) for one in found)
