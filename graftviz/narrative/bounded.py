"""Learning under a bound on inference in words: its steps, and why a pair is no edge."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from graftviz.complexity import Complexity
from graftviz.counts import PairCounts
from graftviz.fitting.likelihood_fit import Targets
from graftviz.inference.exact import JunctionTree, plan_elimination
from graftviz.inference.exact.elimination import (
    MIN_FILL,
    MIN_WEIGHT,
    eliminated,
    greedy_elimination,
)
from graftviz.learners.bounded_choice import MEASURE_NAMES
from graftviz.learners.bounded_inference import BoundedInference
from graftviz.narrative.baselines import Absence
from graftviz.narrative.phrases import pair, plural, score
from graftviz.runs import Run
from graftviz.trace import Step

_BY_GRAPH = ("treewidth", "circuit-size")
_MOST_ENTRIES = 1 << 22  # of all cliques, up to which a question is answered exactly


def bounded_step(step: Step, names: Sequence[str]) -> list[str]:
    """Tell a step under a bound in sentences."""
    known = step.complexity
    assert known is not None  # every step of the learner has one
    chosen = step.activated[0]
    name, bound = MEASURE_NAMES[known.measure], f"{known.bound:g}"
    own = pair(names, chosen.source, chosen.target)
    told = [
        f"{own} has the largest likelihood gradient ({score(known.gradient_norm)}) of the pairs "
        f"that keep the {name} at or below {bound}, and was activated."
    ]
    if known.newly_infeasible:
        told.append(f"{plural(known.newly_infeasible, 'pair')} tried before it would pass that.")
    now = f"The {name} is now {_number(known.value)}"
    if known.measure != "treewidth":
        now += f", along an order of width {known.width}"
    told.append(
        f"{now}; the fit takes the objective from {step.previous_objective:.5g} to "
        f"{step.objective:.5g} nats per row."
    )
    return told


def bounded_absence(run: Run, learner: BoundedInference, i: int, j: int, t: int) -> Absence:
    """Explain why a pair is no edge after step `t`: its gradient, and what the bound says."""
    if t == 0:
        return Absence(None, None, 0, "No step has been made yet.", "gradient")
    known = run.steps[t - 1].complexity
    assert known is not None  # every step of the learner has one
    own = _gradient(run, learner, i, j, t)
    told = f"The likelihood's gradient for it has norm {score(own)}"
    name, bound = MEASURE_NAMES[known.measure], f"{known.bound:g}"
    if known.measure in _BY_GRAPH:
        least = _least(run, known, i, j, t)
        if least > known.bound:
            words = (
                f"{told}, but with it the {name} would be {_number(least)} along the best order "
                f"that was found, above {bound}."
            )
            return Absence(own, None, t, words, "gradient")
    if t < len(run.steps):
        after = run.steps[t].activated[0]
        rival = pair(run.table.names, after.source, after.target)
        if after.score >= own:
            words = f"{told}; {rival} has a larger one ({score(after.score)}) and comes first."
        else:
            words = f"{told}; when it was tried it passed {bound}, and {rival} came next."
    elif run.outcome is None:
        words = f"{told}; its turn may still come."
    elif own < run.outcome.certificate.threshold:
        words = f"{told}: there is nothing for it to gain."
    elif run.outcome.certificate.worst_score is None:
        words = f"{told}, but when it was tried the {name} passed {bound}."
    else:
        words = f"{told}; the run ended before its turn."
    return Absence(own, None, t, words, "gradient")


def _number(value: float) -> str:
    return f"{value:,.0f}" if value == int(value) else score(value)


def _gradient(run: Run, learner: BoundedInference, i: int, j: int, t: int) -> float:
    """Return ‖p_D − p_w‖ of a pair under the model after step `t`."""
    state = run.steps[t - 1].history.state_at(t)
    model, known = state.model, run.steps[t - 1].complexity
    assert known is not None
    target = Targets(PairCounts(run.table), float(learner.pseudo_count)).pair(i, j)
    if plan_elimination(model, order=known.order).total_entries <= _MOST_ENTRIES:
        belief = JunctionTree(model, order=known.order).pair(i, j)
    else:
        nodes = np.split(state.node_beliefs, model.node_offsets[1:-1])
        belief = np.outer(nodes[i], nodes[j])
    return float(np.linalg.norm(belief - target))


def _least(run: Run, known: Complexity, i: int, j: int, t: int) -> float:
    """Return the least R that is found for the graph after step `t` with one more edge."""
    model = run.steps[t - 1].model()
    edges = np.vstack([model.edges, np.array([[i, j]], dtype=np.int64)])
    found = [eliminated(edges, model.cardinalities, known.order)]
    for kind in (MIN_FILL, MIN_WEIGHT):
        other = greedy_elimination(edges, model.cardinalities, kind)
        if other is not None:
            found.append(other)
    if known.measure == "treewidth":
        return float(min(one.width for one in found))
    return min(one.operations(model.cardinalities, edges) for one in found)
