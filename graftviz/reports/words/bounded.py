"""Sentences about learning under a bound on inference: steps, and why a pair is not an edge."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from graftviz.inference.exact.junction_tree import JunctionTree
from graftviz.inference.exact.ordering import MIN_FILL, MIN_WEIGHT, eliminated, greedy_elimination
from graftviz.inference.exact.structure import plan_elimination
from graftviz.learning.bounded.bounded_inference import MEASURES, BoundedInference
from graftviz.learning.bounded.clique_tables import edge_residual
from graftviz.learning.bounded.likelihood_fit import Targets
from graftviz.learning.bounded.run import BY_GRAPH
from graftviz.learning.counts.pair_counts import PairCounts
from graftviz.learning.run import LearningRun
from graftviz.learning.trace import Complexity, Step
from graftviz.reports.texts import catalogue
from graftviz.reports.words.phrases import Absence, counted, pair, score

_MOST_ENTRIES = 1 << 22  # of all cliques, up to which the gradient is exact


def bounded_step(step: Step, names: Sequence[str]) -> list[str]:
    """Describe a step under a bound in sentences."""
    complexity = step.complexity
    assert complexity is not None  # every step of the learner has one
    chosen = step.activated[0]
    texts = catalogue("learners")["bounded"]
    name = MEASURES.get(complexity.measure, complexity.measure)
    activated = texts["activated"].format(
        edge=pair(names, chosen.source, chosen.target),
        score=score(complexity.gradient_norm),
        measure=name,
        bound=f"{complexity.bound:g}",
    )
    refused = complexity.newly_infeasible
    now = texts["now" if complexity.measure == "treewidth" else "now_width"].format(
        measure=name,
        value=_number(complexity.value),
        width=complexity.width,
        before=f"{step.previous_objective:.5g}",
        after=f"{step.objective:.5g}",
    )
    return [activated, *([counted(texts["refused"], refused)] if refused else []), now]


def bounded_absence(run: LearningRun, learner: BoundedInference, i: int, j: int, t: int) -> Absence:
    """Explain why a pair is not an edge after step `t`, by its gradient and the bound."""
    texts: Mapping[str, str] = catalogue("learners")["bounded"]
    if t == 0:
        no_step = catalogue("answers")["absence"]["no_step"]
        return Absence(None, None, 0, no_step, "gradient")
    complexity = run.steps[t - 1].complexity
    assert complexity is not None  # every step of the learner has one
    own = _gradient(run, learner, i, j, t)
    facts = {
        "text": texts["gradient"].format(score=score(own)),
        "measure": MEASURES.get(complexity.measure, complexity.measure),
        "bound": f"{complexity.bound:g}",
    }
    if complexity.measure in BY_GRAPH:
        least = _least(run, complexity, i, j, t)
        if least > complexity.bound:
            words = texts["above"].format(**facts, least=_number(least))
            return Absence(own, None, t, words, "gradient")
    if t < len(run.steps):
        after = run.steps[t].activated[0]
        rival = pair(run.table.names, after.source, after.target)
        facts |= {"rival": rival, "score": score(after.score)}
        kind = "rival" if after.score >= own else "exceeded"
    elif run.outcome is None:
        kind = "later"
    elif own < run.outcome.certificate.threshold:
        kind = "zero"
    else:
        kind = "refused_at_end" if run.outcome.certificate.worst_score is None else "untested"
    return Absence(own, None, t, texts[kind].format(**facts), "gradient")


def _number(value: float) -> str:
    return f"{value:,.0f}" if value == int(value) else score(value)


def _gradient(run: LearningRun, learner: BoundedInference, i: int, j: int, t: int) -> float:
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


def _least(run: LearningRun, complexity: Complexity, i: int, j: int, t: int) -> float:
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
