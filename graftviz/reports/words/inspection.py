"""Sentences about a model, its nodes and edges, evidence, and the difference of two runs."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np

from graftviz.inference.beliefs import Beliefs
from graftviz.inference.inspection import (
    COMMON,
    GAINED,
    LOST,
    Change,
    Communities,
    ModelDifference,
    degree_ranks,
)
from graftviz.inference.local.marginal import LocalMarginal
from graftviz.inference.queries import Answer
from graftviz.learning.run import LearningResult
from graftviz.learning.settings import Settings
from graftviz.model.pairwise import PairwiseModel
from graftviz.reports.texts import catalogue
from graftviz.reports.words.phrases import counted, plural, short

METHOD_NAMES = {
    "exact": "exact inference (junction tree)",
    "bp": "belief propagation",
    "trbp": "tree-reweighted belief propagation",
    "mean-field": "mean field",
}


def model_words(model: PairwiseModel) -> str:
    """Return "34 variables with 2 to 5 states, 78 edges"."""
    low, high = int(model.cardinalities.min()), int(model.cardinalities.max())
    states = plural(low, "state") if low == high else f"{low} to {high} states"
    return f"{plural(model.n_variables, 'variable')} with {states}, {plural(model.n_edges, 'edge')}"


def node_words(model: PairwiseModel, i: int) -> str:
    """Return the states, neighbours and degree rank of a node."""
    degree = int(model.degrees()[i])
    rank = int(degree_ranks(model)[i])
    neighbours = plural(degree, "neighbour") if degree else "no neighbours"
    return (
        f"{plural(int(model.cardinalities[i]), 'state')}, {neighbours}, degree rank {rank:,} of "
        f"{model.n_variables:,}"
    )


def edge_words(model: PairwiseModel, e: int, information: float | None) -> str:
    """Return the norm of an edge, its rank, and the mutual information of its variables."""
    norms = model.edge_norms()
    rank = 1 + int((norms > norms[e]).sum())
    strength = "has zero potentials" if np.isinf(norms[e]) else f"‖w‖ = {norms[e]:.3g}"
    suffix = "" if information is None else f"; mutual information {information:.3g} nats"
    return f"{strength}, rank {rank:,} of {plural(model.n_edges, 'edge')}{suffix}"


def marginal_words(model: PairwiseModel, i: int, marginal: np.ndarray) -> str:
    """Return the most probable state of a node: "Valjean is most likely 2 (p = 0.71)"."""
    best = int(np.argmax(marginal))
    label = short(model.labels[i][best])
    return f"{short(model.names[i])} is most likely {label} (p = {marginal[best]:.2f})"


def most_likely_states(model: PairwiseModel, beliefs: Beliefs) -> list[tuple[str, float]]:
    """Return label and probability of the most likely state of every variable."""
    states = [int(np.argmax(marginal)) for marginal in beliefs.node]
    marginals = zip(model.labels, beliefs.node, states, strict=True)
    return [(short(labels[k]), float(marginal[k])) for labels, marginal, k in marginals]


def region_words(model: PairwiseModel, found: LocalMarginal) -> str:
    """Return the marginal from a local region, with its certified bound if there is one."""
    best = int(np.argmax(found.marginal))
    size = f"A region of {len(found.nodes):,} of {plural(model.n_variables, 'variable')}"
    label = short(model.labels[found.query][best])
    if not found.nontrivial_bound:
        estimate = f"p({label}) = {found.marginal[best]:.3f}"
        return f"{size} gives {estimate}, not certified. {found.stop_reason}"
    digits = max(2, 1 - math.floor(math.log10(found.bound))) if found.bound > 0 else 12
    # The bound includes the rounding of the number, and is itself rounded up.
    unit = 10.0**-digits
    bound = math.ceil(found.bound / unit + 0.5) * unit
    return (
        f"{size} certifies p({label}) = {found.marginal[best]:.{digits}f} ± {bound:.{digits}f}. "
        f"{found.stop_reason}"
    )


def evidence_words(model: PairwiseModel, evidence: Mapping[int, int]) -> str:
    """Return "a = yes, b = no"."""
    return ", ".join(
        f"{short(model.names[i])} = {short(model.labels[i][k])}" for i, k in evidence.items()
    )


def contradiction_words(model: PairwiseModel, i: int, state: int, others: int) -> str:
    """Return the warning about an observation of probability zero."""
    text = f"{short(model.names[i])} = {short(model.labels[i][state])}"
    context = " given the other evidence" if others else ""
    return f"{text} has probability zero{context} and was removed."


def change_words(model: PairwiseModel, changes: Sequence[Change]) -> str:
    """Return the number of changed nodes, and the largest change of a probability."""
    i, k, before, after = changes[0]
    return (
        f"{plural(len(changes), 'variable')} changed. Largest change: {short(model.names[i])}, "
        f"p({short(model.labels[i][k])}) from {before:.2f} to {after:.2f}."
    )


def answer_words(before: Answer | None, after: Answer | None = None) -> str:
    """Return the method of the marginals, why it was chosen, and the probability of the evidence.

    Parameters
    ----------
    before, after : Answer or None
        Without and with the evidence.
    """
    answer = before if after is None else after
    if answer is None or answer.beliefs is None:
        return ""
    method = method_words(answer.beliefs, answer.width)
    sentences = [f"Marginals: {'; '.join(filter(None, [method, answer.reason]))}."]
    if after is not None and before is not None and before.beliefs is not None:
        chance = answer.beliefs.log_partition - before.beliefs.log_partition
        share = np.exp(min(0.0, chance))
        about = "" if answer.beliefs.method == "exact" else "about "
        sentences.append(f"The evidence has probability {about}{share:.3g}.")
    return " ".join((*sentences, *answer.beliefs.notes))


def method_words(beliefs: Beliefs, width: int | None) -> str:
    """Return the inference method, with its width or convergence."""
    name = METHOD_NAMES.get(beliefs.method, beliefs.method)
    text = f"{name[0].upper()}{name[1:]}"
    if beliefs.method == "exact":
        return f"{text}, width {width}" if width is not None else text
    sweeps = plural(beliefs.sweeps, "sweep")
    if not beliefs.converged:
        return f"{text}: not converged after {sweeps} (residual {beliefs.residual:.1g})"
    return f"{text}, converged after {sweeps}"


def difference_words(difference: ModelDifference) -> str:
    """Return the numbers of common and differing edges of two models."""
    common, lost, gained = (difference.count(status) for status in (COMMON, LOST, GAINED))
    return (
        f"{plural(common, 'edge')} in both, {lost:,} only in the first model, {gained:,} only in "
        "the second."
    )


def community_words(communities: Communities, n_edges: int) -> str:
    """Return sentences on the communities of a graph and its matrix with `n_edges` edges."""
    sizes = np.diff(communities.starts)
    several = int((sizes > 1).sum())
    if several == 0:
        return "Without edges there are no communities."
    return (
        f"{several:,} {'community' if several == 1 else 'communities'} of more than one variable; "
        f"the largest has {int(sizes[0]):,}. Modularity {communities.modularity:.2f}. The matrix "
        f"shows {plural(n_edges, 'edge')}."
    )


# --- difference between a run and that of preset best ---------------------------------------------

_QUANTITIES = (
    ("edges", "n_edges", ",d"),
    ("precision", "precision", ".2f"),
    ("recall", "recall", ".2f"),
    ("nlpl", "nlpl_test", ".3f"),
)


def quantity_rows(runs: Sequence[LearningResult]) -> list[tuple[str, ...]]:
    """Return the rows of a table: quantity and its values; rows without values are omitted."""
    rows, texts = [], catalogue("grow")["comparison"]
    for key, name, form in _QUANTITIES:
        numbers = [getattr(run, name) for run in runs]
        if any(number is not None for number in numbers):
            cells = ("–" if number is None else format(number, form) for number in numbers)
            rows.append((texts[key], *cells))
    return rows


def false_edges(result: LearningResult, truth: np.ndarray) -> tuple[int, int]:
    """Return the number of false edges, and of those between neighbours of a common variable."""
    neighbours: list[set[int]] = [set() for _ in range(result.n_variables)]
    for i, j in truth.tolist():
        neighbours[i].add(j)
        neighbours[j].add(i)
    wrong = [(i, j) for i, j in result.model.edges.tolist() if j not in neighbours[i]]
    return len(wrong), sum(bool(neighbours[i] & neighbours[j]) for i, j in wrong)


def reasons_for_difference(
    name: str,
    other: LearningResult,
    best: LearningResult,
    truth: np.ndarray | None,
    settings: Settings | None,
) -> list[tuple[str, str]]:
    """Return titles and explanations of the differences between a run and that of preset best.

    Parameters
    ----------
    name : str
        Name of the method of the first run.
    other, best : LearningResult
    truth : int array, shape (k, 2), or None
    settings : Settings or None
        Settings of preset best.
    """
    texts = catalogue("grow")["comparison"]
    owner, rule = f"{name[:1].upper()}{name[1:]}", texts["rule"]
    wrong, indirect = (0, 0) if truth is None else false_edges(other, truth)
    text = texts["raw"].format(name=owner, rule=rule)
    if truth is not None and indirect:
        numbers = {"indirect": f"{indirect:,}", "wrong": f"{wrong:,}"}
        shared = false_edges(best, truth)[1]
        text = counted(texts["indirect"], shared, name=owner, rule=rule, **numbers)
    lines = [(texts["explains"], text)]
    if settings is not None and settings.significance > 0:
        text = texts["noise_rule"].format(kappa=f"{settings.significance:g}")
        lines.append((texts["noise"], text))
    outcome = best.trace.outcome
    if removed := 0 if outcome is None else sum(map(len, outcome.history.removals)):
        lines.append((texts["pruning"], counted(texts["pruned"], removed)))
    elif settings is not None and settings.refit:
        lines.append((texts["pruning"], texts["none_pruned"]))
    return lines
