"""Sentences of the other learners: steps, and why a pair is not an edge."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import Any

import networkx as nx
import numpy as np

from graftviz.evaluation.tradeoff import Comparison, TradeOff
from graftviz.inference.exact.junction_tree import JunctionTree
from graftviz.inference.exact.ordering import MIN_FILL, MIN_WEIGHT, eliminated, greedy_elimination
from graftviz.inference.exact.structure import plan_elimination
from graftviz.learning.bounded.bounded_inference import MEASURES, BoundedInference
from graftviz.learning.bounded.clique_tables import edge_residual
from graftviz.learning.bounded.likelihood_fit import Targets
from graftviz.learning.bounded.run import BY_GRAPH
from graftviz.learning.counts.pair_counts import PairCounts
from graftviz.learning.features.run import FeatureOptions, feature_units
from graftviz.learning.history import History
from graftviz.learning.nodewise.nodewise_l1 import NodewiseL1
from graftviz.learning.pruning.contributions import contributions_of, gain_of
from graftviz.learning.pruning.structure_fit import rows_of
from graftviz.learning.run import LearningRun
from graftviz.learning.trace import (
    FEATURE_TOLERANCE,
    ActivationTest,
    Complexity,
    Exchange,
    ScoredFeature,
    Step,
)
from graftviz.learning.trees.chow_liu import ChowLiu
from graftviz.reports.texts import catalogue
from graftviz.reports.words.phrases import (
    Absence,
    counted,
    listed_edges,
    pair,
    plural,
    score,
    short,
)
from graftviz.utils.arrays import places_of

# --- Chow–Liu trees and nodewise regression -------------------------------------------------------

_LONGEST_PATH = 5  # variables named of the path between two ends


def tree_step(step: Step, names: Sequence[str]) -> str:
    """Return the sentence of a step of the algorithm of Chow and Liu."""
    texts, chosen, skipped = catalogue("learners"), step.activated[0], step.tests - 1
    own = texts["tree"]
    named = pair(names, chosen.source, chosen.target)
    edge = own["edge"].format(edge=named, score=score(chosen.score))
    kind = "first" if step.index == 1 else "skipped" if skipped else "next"
    pairs = counted(texts["counts"]["pairs"], step.tables_possible if kind == "first" else skipped)
    return str(own[kind].format(pairs=pairs, edge=edge))


def path_step(step: Step, names: Sequence[str]) -> str:
    """Return the sentence of a step of the nodewise path."""
    assert step.test is not None  # every step of a path has its λ
    own = catalogue("learners")["path"]
    text: str = own["fitted"].format(lam=score(step.test.lam))
    if added := step.activated:
        pairs, scores = [edge[:2] for edge in added], [edge.score for edge in added]
        edges = listed_edges(names, pairs, scores)
        text = counted(own["added"], len(added), text=text, edges=edges)
    if count := len(step.removed):
        edges = listed_edges(names, step.removed.tolist())
        text = counted(own["removed"], count, text=text, edges=edges)
    return f"{text}."


def tree_absence(run: LearningRun, learner: ChowLiu, i: int, j: int, t: int) -> Absence:
    """Explain why a pair is no edge of the forest after step `t`."""
    texts: Mapping[str, str] = catalogue("learners")["tree"]
    names, counts = run.table.names, run.table.joint_counts(i, j)
    smoothed = counts + learner.pseudo_count / counts.size
    own = mutual_information(smoothed / smoothed.sum())
    informed = texts["information"].format(score=score(own))
    if t == 0:
        return Absence(own, None, 0, texts["no_step"].format(informed=informed))
    forest = nx.Graph()
    forest.add_nodes_from((i, j))
    for step in run.steps[:t]:
        for edge in step.activated:
            forest.add_edge(edge.source, edge.target, information=edge.score)
    if not nx.has_path(forest, i, j):
        is_over = run.outcome is not None and t == len(run.steps)
        why = texts["empty" if own <= 0.0 else "ended" if is_over else "later"]
        words = texts["apart"].format(informed=informed, why=why)
        return Absence(own, 0.0, 0, words, "least")
    path = nx.shortest_path(forest, i, j)
    weakest = min(forest.edges[a, b]["information"] for a, b in itertools.pairwise(path))
    steps = [short(names[node]) for node in path]
    if len(steps) > _LONGEST_PATH:
        steps = [*steps[: _LONGEST_PATH - 2], "…", steps[-1]]
    reached = int(own >= run.steps[t - 1].activated[0].score)
    words = texts["cycle" if own <= weakest else "cycle_first"].format(
        informed=informed, path=" – ".join(steps), weakest=score(weakest)
    )
    return Absence(own, weakest, reached, words, "weakest of the path")


def path_absence(run: LearningRun, learner: NodewiseL1, i: int, j: int, t: int) -> Absence:
    """Explain why a pair is no edge at the λ of step `t`."""
    texts: Mapping[str, str] = catalogue("learners")["path"]
    if t == 0:
        return Absence(None, None, 0, catalogue("answers")["absence"]["no_step"])
    step = run.steps[t - 1]
    assert step.test is not None  # every step of a path has its λ
    lam = step.test.lam
    tested = step.tested
    at = places_of(tested.edges, i, j)
    if len(at):
        own = float(tested.scores[at[0]])
        text = texts["zero_one_way" if learner.rule == "and" else "zero"]
        return Absence(own, lam, t, text.format(step=t, score=score(own), lam=score(lam)))
    kind = "not_stored" if len(tested.scores) == 0 else "rule" if learner.min_norm else "budget"
    return Absence(None, lam, t, texts[kind].format(lam=score(lam)))


def mutual_information(frequencies: np.ndarray) -> float:
    """Return Σ p(x, y) log(p(x, y) / (p(x) p(y))) in nats; cells that are empty count nothing.

    Parameters
    ----------
    frequencies : float array, shape (s_i, s_j)
        How often each pair of states occurs, as shares that sum to 1.
    """
    independent = np.outer(frequencies.sum(axis=1), frequencies.sum(axis=0))
    seen = frequencies > 0.0
    total = np.sum(frequencies[seen] * np.log(frequencies[seen] / independent[seen]))
    return max(float(total), 0.0)


# --- single features ------------------------------------------------------------------------------


def feature_step(step: Step, learner: FeatureOptions, names: Sequence[str]) -> list[str]:
    """Return the sentences of a step: the feature taken, and the state of its edge."""
    feature, texts = step.features[0], catalogue("learners")
    own, is_first = texts["feature"], step.index == 1
    assert step.test is not None  # a feature is activated because it passed one
    chosen = own["first" if is_first else "scored"].format(
        features=counted(
            texts["counts"]["features" if is_first else "inactive_features"], step.tests
        ),
        score=score(feature.score),
        state=joint_state(names, step.history.start.labels, feature),
        limit=step.test.words,
    )
    if learner.one_step:
        chosen = own["one_step"].format(text=chosen)
    edge = pair(names, feature.source, feature.target)
    active, possible = counts_of(step.history, feature.source, feature.target, step.index)
    share = partly(active, possible)
    reach = own["becomes" if step.activated else "now"].format(edge=edge, partly=share)
    return [f"{chosen}.", reach]


def joint_state(
    names: Sequence[str],
    labels: Sequence[Sequence[str]],
    feature: ScoredFeature,
) -> str:
    """Write "a = yes with b = no"."""
    i, j, a, b, _ = feature
    first, second = (
        f"{short(names[k])} = {short(labels[k][state])}" for k, state in ((i, a), (j, b))
    )
    return str(catalogue("learners")["feature"]["state"].format(a=first, b=second))


def partly(active: int, possible: int) -> str:
    """Write "partially active: 3 of its 25 features", or that all are active."""
    texts = catalogue("learners")
    text = texts["feature"]["full" if active == possible else "part"]
    features = counted(texts["counts"]["features"], possible)
    return str(text.format(active=f"{active:,}", features=features))


def counts_of(history: History, i: int, j: int, t: int) -> tuple[int, int]:
    """Return the numbers of active and of all features of an edge after step `t`."""
    sizes = history.start.cardinalities
    possible = int(sizes[i] * sizes[j])
    taken = history.features[: history.feature_counts[t - 1] if t else 0]
    active = sum(history.activations[e] == (i, j) for e, _ in taken)
    return active, possible


def edge_words(cells: np.ndarray) -> str:
    """Return the share of an edge that is active; `cells` masks its active features."""
    active, possible = int(np.count_nonzero(cells)), cells.size
    kind = "is_full" if active == possible else "is_part"
    text: str = catalogue("learners")["feature"][kind]
    return text.format(partly=partly(active, possible))


def feature_absence(
    run: LearningRun,
    history: History,
    i: int,
    j: int,
    t: int,
    test: ActivationTest,
) -> Absence:
    """Explain why a pair has no active feature after step `t`: the score of its best one."""
    names = run.table.names
    offsets = history.start.node_offsets
    beliefs = history.state_at(t).node_beliefs
    belief_i, belief_j = (beliefs[offsets[k] : offsets[k + 1]] for k in (i, j))
    frequencies = run.table.joint_counts(i, j) / run.table.total_weight
    units = feature_units(PairCounts(run.table), by_noise=test.by_noise)
    gaps = np.abs(np.outer(belief_i, belief_j) - frequencies)
    gaps /= units.of_pair(offsets, i, j)
    a, b = np.unravel_index(int(np.argmax(gaps)), gaps.shape)
    best = ScoredFeature(i, j, int(a), int(b), float(gaps[a, b]))
    violates = best.score > test.lam + FEATURE_TOLERANCE
    texts: Mapping[str, str] = catalogue("learners")["feature"]
    words = texts["largest" if violates else "largest_below"].format(
        step=t,
        score=score(best.score),
        state=joint_state(names, run.table.labels, best),
        lam=f"{test.lam:g}",
    )
    if t == 0:
        words = f"{catalogue('answers')['absence']['no_step']} {words}"
    elif violates:
        chosen = run.steps[t - 1].features[0]
        state = joint_state(names, run.table.labels, chosen)
        words = texts["chosen"].format(step=t, score=score(chosen.score), state=state, text=words)
    return Absence(best.score, test.lam, t, words)


# --- forced pruning -------------------------------------------------------------------------------


def exchange_step(step: Step, names: Sequence[str]) -> list[str]:
    """Describe a step of forced pruning in sentences."""
    exchange, texts = step.exchange, catalogue("learners")
    assert exchange is not None  # every step of the learner has one
    own, counts = texts["exchange"], texts["counts"]
    change = _change(exchange, own)
    if exchange.kind in ("start", "restart"):
        values = counted(counts["values"], len(exchange.centres))
        is_tied = len(exchange.centres) < len(exchange.values)
        sentence = own[exchange.kind].format(
            tree=counted(counts["edges"], exchange.tree),
            others=counted(
                counts["random_edges"], step.n_edges - exchange.tree - exchange.required
            ),
            parameters=counted(counts["parameters"], len(exchange.values)),
            tied=own["tied"].format(values=values) if is_tied else own["not_tied"],
            change=change,
        )
        return [str(sentence)]
    if exchange.kind == "best":
        removed = counted(counts["edges"], len(exchange.removed))
        added = f"{len(exchange.added):,}"
        return [str(own["back"].format(removed=removed, added=added, change=change))]
    removed = listed_edges(names, exchange.removed.tolist(), exchange.contributions.tolist())
    added = listed_edges(names, exchange.added.tolist(), exchange.gains.tolist())
    text = ""
    if removed:
        text = own["removed"].format(edges=removed, rule=_deletion_rule(exchange, texts))
    if added:
        kind = "removed_added" if text else "added"
        text = counted(own[kind], len(exchange.added), text=text, edges=added)
    return [str(own["fit"].format(text=text, change=change))]


def exchange_absence(run: LearningRun, i: int, j: int, t: int) -> Absence:
    """Explain why a pair is not an edge after step `t`: its gain and the smallest contribution."""
    texts: Mapping[str, str] = catalogue("learners")["exchange"]
    if t == 0:
        no_step = catalogue("answers")["absence"]["no_step"]
        return Absence(None, None, 0, no_step, "least contribution")
    state = run.steps[t - 1].history.state_at(t)
    model = state.model
    rows = rows_of(run.table)
    if rows.cardinalities[[i, j]].min() < 2 or not all(np.ptp(run.table.codes[k]) for k in (i, j)):
        return Absence(0.0, None, 0, texts["constant"], "least contribution")
    fit, contributions = contributions_of(model, rows)
    learner: Any = run.learner if run.branch is None or t <= run.branch.at else run.branch.learner
    required = learner.prior(run.table.names).required.tolist()
    removable = [pair not in required for pair in model.edges.tolist()]
    gain, _ = gain_of(fit, learner.weight_penalty(run.table.total_weight), i, j)
    start = texts["gain"].format(gain=score(gain))
    tests = sum(step.tests > 0 for step in run.steps[:t])
    if not any(removable):
        words = texts["fixed"].format(text=start)
        return Absence(gain, None, tests, words, "least contribution")
    least = float(contributions.total[removable].min())
    has_ended = run.outcome is not None and t == len(run.steps)
    kind = "weaker" if gain <= least else "ended" if has_ended else "later"
    words = texts[kind].format(text=start, least=score(least))
    return Absence(gain, least, tests, words, "least contribution")


def _deletion_rule(exchange: Exchange, texts: Mapping[str, Any]) -> str:
    """Describe how the removed edges were chosen."""
    own, counts = texts["exchange"], texts["counts"]
    if exchange.fallback:
        return str(own["none_accepted"].format(tries=f"{exchange.tries:,}"))
    if exchange.tries == 0:
        return counted(own["smallest"], len(exchange.removed))
    if exchange.accepted == 1:
        return str(own["accepted"].format(subsets=counted(counts["subsets"], exchange.tries)))
    share = f"{exchange.acceptance or 0.0:.0%}"
    return str(own["walk"].format(swaps=counted(counts["swaps"], exchange.tries), share=share))


def _change(exchange: Exchange, texts: Mapping[str, str]) -> str:
    """Describe the change of the pseudo-likelihood."""
    before, after, best = (
        f"{value:.5g}".replace("-", "−")
        for value in (exchange.before, exchange.after, exchange.best)
    )
    kind = "change_below"
    if exchange.after >= exchange.best:
        kind = "change" if exchange.kind == "best" else "change_best"
    return texts[kind].format(before=before, after=after, best=best)


# --- bounded inference ----------------------------------------------------------------------------

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


# --- the Budget page ------------------------------------------------------------------------------

QUALITY_NAMES = {
    "nll": "negative log-likelihood",
    "ncmll": "NCMLL (half of the variables hidden)",
    "nlpl": "negative log pseudo-likelihood",
}
COST_NAMES = {"seconds": "inference time", "operations": "operations of inference"}
_EVEN = 0.0005  # nats per row, up to which two models count as equal
_COSTS = {
    "treewidth": "the widest **clique** of the junction tree",
    "circuit-size": "the operations on the **junction tree**",
    "bp-sweeps": "the number of **sweeps** of belief propagation",
    "trbp-sweeps": "the number of **sweeps** of tree-reweighted belief propagation",
    "seconds": "its running **time**",
}


def cost_sentence(measure: str) -> str:
    """Return the introduction of the page for a measure of complexity, as Markdown."""
    return (
        f"Inference has a cost, here {_COSTS[measure]}. Edges are added as long as it is at most "
        "**τ**."
    )


def amount(value: float, measure: str) -> str:
    """Write a complexity or a bound in the unit of its measure."""
    return seconds_text(value) if measure == "seconds" else f"{value:,.4g}"


def seconds_text(seconds: float) -> str:
    """Write a time in milliseconds or seconds."""
    return f"{1000 * seconds:.2g} ms" if seconds < 0.0995 else f"{seconds:.2g} s"


def bounded_start_words(variables: int, measure: str, bound: float) -> str:
    """Describe the start of a run."""
    pairs = variables * (variables - 1) // 2
    return (
        f"No edges yet. Any of the {pairs:,} pairs can be added as long as {MEASURES[measure]} is "
        f"at most {amount(bound, measure)}."
    )


def bounded_step_words(
    edge: tuple[int, int], complexity: Complexity, before: float | None, names: Sequence[str]
) -> str:
    """Describe an added edge, its gradient, and its effect on the complexity.

    Parameters
    ----------
    edge : pair of int
    complexity : Complexity
        After the step.
    before : float or None
        Its value before the step, if known.
    names : sequence of str
        Names of the variables.
    """
    measure = complexity.measure
    value, bound = amount(complexity.value, measure), amount(complexity.bound, measure)
    name = MEASURES[measure]
    first = (
        f"Added {pair(names, *edge)}: largest gradient of all pairs that keep the bound "
        f"({complexity.gradient_norm:.3g})."
    )
    if before is None:
        second = f"{name[:1].upper()}{name[1:]} is {value} (limit {bound})."
    elif complexity.value > before:
        second = f"Cost rises: {name} is {value} (limit {bound})."
    elif complexity.value < before:
        second = f"Cost falls: {name} is {value} (limit {bound})."
    else:
        second = f"No added cost: {name} stays {value} (limit {bound})."
    if complexity.newly_infeasible:
        count = complexity.newly_infeasible
        second += f" {count:,} more {'pair' if count == 1 else 'pairs'} can no longer be added."
    return f"{first} {second}"


def nothing_fits_words(measure: str, bound: float) -> str:
    """Explain that no edge meets the bound."""
    return (
        f"No edge was found that keeps the bound of {amount(bound, measure)} "
        f"({MEASURES[measure]}). Increase τ."
    )


def setting_words(point: TradeOff, measure: str) -> str:
    """Name a model by its bound or its λ."""
    if point.family == "truth":
        return "the true network"
    if point.family == "bounded":
        return f"τ = {amount(point.setting, measure)}"
    return f"λ = {point.setting:.3g}"


def comparison_words(
    comparisons: Sequence[Comparison],
    quality: str,
    cost: str,
    measure: str,
    *,
    is_complete: bool = True,
) -> str:
    """Compare both families at equal cost; empty without bounded models.

    Parameters
    ----------
    comparisons : sequence of Comparison
    quality, cost, measure : str
    is_complete : bool
        Whether all models of the ℓ₁ path have been measured.
    """
    pairs = [found for found in comparisons if found.other is not None]
    if not pairs and not is_complete:
        return "ℓ₁ path still being computed…" if comparisons else ""
    if not pairs:
        return "No ℓ₁ model costs as little as a bounded one." if comparisons else ""
    sentence = f"At equal {COST_NAMES[cost]}, by {QUALITY_NAMES[quality]}: "
    wins = sum(found.gain > _EVEN for found in pairs)
    losses = sum(found.gain < -_EVEN for found in pairs)
    bounds = plural(len(pairs), "bound")
    if losses == 0 and wins == 0:
        sentence += "no difference."
    elif losses == 0 or wins == 0:
        winner = "bounded inference" if wins else "nodewise ℓ₁"
        sentence += f"{winner} is better at {max(wins, losses)} of {bounds}."
    else:
        sentence += (
            f"bounded inference is better at {wins} and nodewise ℓ₁ at {losses} of {bounds}."
        )
    widest = max(pairs, key=lambda found: abs(found.gain))
    assert widest.other is not None
    word = "below" if widest.gain > 0 else "above"
    return (
        f"{sentence} The difference is largest at {setting_words(widest.bounded, measure)}: "
        f"{abs(widest.gain):.3f} nats per row {word} the best ℓ₁ model that costs no more "
        f"({setting_words(widest.other, measure)})."
    )


def error_words(points: Sequence[TradeOff], measure: str) -> str:
    """Report the error of TRBP's log Z for the best and the worst model."""
    learned = [point for point in points if point.family != "truth"]
    if not learned:
        return ""
    best = min(learned, key=lambda point: point.nll)
    worst = max(learned, key=lambda point: point.log_partition_error)
    first = (
        f"For the learned model with the best likelihood ({setting_words(best, measure)}), TRBP's "
        f"log Z has an error of {best.log_partition_error:.2g} %"
    )
    if worst is best:
        return f"{first}, the largest of all."
    return (
        f"{first}; the largest error is {worst.log_partition_error:.2g} % at "
        f"{setting_words(worst, measure)}."
    )


def previous_run_words(bound: float, measure: str, edges: int, nll: float | None) -> str:
    """Describe the run that was shown before: bound, edges, and quality if it is available."""
    quality = "" if nll is None else f", held-out NLL {nll:.3f}"
    text = f"Previous run, τ = {amount(bound, measure)} ({MEASURES[measure]})"
    return f"{text}: {plural(edges, 'edge')}{quality}."
