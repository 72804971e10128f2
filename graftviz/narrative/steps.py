"""Sentences that describe steps and the end of a run, with reasons and numbers."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from graftviz.learners.base import Learner
from graftviz.learners.best_choice import BestChoice
from graftviz.narrative.baselines import path_step, tree_step
from graftviz.narrative.bounded import bounded_step
from graftviz.narrative.features import feature_step
from graftviz.narrative.phrases import listed, listed_edges, pair, plural, score, short, was
from graftviz.narrative.pruning import exchange_step
from graftviz.runs import Run
from graftviz.trace import (
    ADMITTED,
    DISPLACED_MINIMUM,
    TOO_WEAK,
    Outcome,
    ReservoirView,
    Screening,
    Step,
)

_FEW_HUBS = 3


def learner_at(run: Run, t: int) -> Learner:
    """Return the learner with the options that step `t` was made with (0: the start)."""
    branch = run.branch
    if branch is not None and (t > branch.at or branch.at == 0):
        return branch.learner
    return run.learner


def step_words(step: Step, learner: Learner, names: Sequence[str]) -> str:
    """Describe a step and its reason in one or two sentences.

    Parameters
    ----------
    step : Step
    learner : Learner
        With the options that were in force.
    names : sequence of str
        Names of the variables.
    """
    sentences = _SENTENCES.get(learner.sentences, _plain_step)(step, learner, names)
    if len(step.removed) and learner.sentences not in _NAMES_REMOVED:
        sentences.insert(0, _removed(step, names))
    budget = _budget(step, learner)
    if budget is not None and step.edges >= budget:
        sentences.append(f"That uses up the edge budget of {plural(budget, 'edge')}.")
    return " ".join(sentences)


def screening_words(screening: Screening) -> str:
    """Return what a screening compared, and what it may have missed."""
    others = screening.pairs - screening.candidates
    words = (
        f"The other {others:,} of {screening.pairs:,} pairs were compared on {screening.rows:,} "
        "rows only"
    )
    if not math.isfinite(screening.overlooked):
        return f"{words}, and strong pairs may be missed."
    return (
        f"{words}: one with φ² above {screening.overlooked:.2g} was missed with a probability of "
        f"at most {screening.risk:.0%} ({screening.at_hubs:.2g} between two of the variables with "
        "the most strong partners)."
    )


def outcome_words(outcome: Outcome) -> str:
    """Return how a run ended, and the certificate of the edges that are not in the model."""
    certificate = outcome.certificate
    kind = certificate.unit if certificate.screening is None else "candidate"
    inactive, edges = f"inactive {kind}", certificate.unit == "edge"
    sentences = [outcome.stop_reason]
    if certificate.scored < certificate.possible:
        sentences.append(
            f"Only {certificate.scored:,} of {plural(certificate.possible, inactive)} "
            f"{was(certificate.scored)} scored at the final weights, so more may violate."
        )
    elif certificate.proves_optimality or certificate.worst_score is None:
        pass
    elif certificate.symbol == "gain":
        sentences.append(
            f"Another edge, or an exchange, would still gain up to "
            f"{score(certificate.worst_score)} nats."
        )
    elif certificate.symbol == "κ":
        # What violates is ranked by the score, which is no multiple of its noise.
        sentences.append("At the final weights some inactive edges still violate.")
    else:
        sentences.append(
            f"At the final weights the largest score of an {inactive} is "
            f"{score(certificate.worst_score)}, still above {certificate.symbol} = "
            f"{certificate.threshold:g}."
        )
    if certificate.screening is not None:
        sentences.append(screening_words(certificate.screening))
    if outcome.bp_restart_gap is not None and outcome.bp_restart_gap > 0.01:
        gap = score(outcome.bp_restart_gap)
        if outcome.objective_name in ("pseudo-likelihood", "exact likelihood"):
            sentences.append(
                f"Belief propagation on this model is off by up to {gap} in a node's belief: use "
                "exact inference for this model if feasible. The fit itself is not affected."
            )
        else:
            refit = "a refit by pseudo-likelihood (refit=true, with the rows in memory), "
            cure = refit if edges else ""
            sentences.append(
                "Belief propagation restarted on this model converges to other beliefs (they "
                f"differ by up to {gap}): an unstable fixed point. Use {cure}a larger λ₂ or "
                "fewer edges."
            )
    dropped = len(outcome.dropped_at_the_end)
    if dropped:
        sentences.append(
            f"The final fit removed {plural(dropped, 'edge')} that would not pass the test."
        )
    return " ".join(sentences)


def path_words(run: Run) -> str:
    """Return what the order of activations changed, at the end of a run as in the paper.

    With one score, objective and λ, all orders end at the same optimum unless a budget ends them.
    """
    outcome = run.outcome
    learner: Any = learner_at(run, len(run.steps))
    if outcome is None or learner.sentences not in _SEARCHES or learner.preset == "best":
        return ""
    if outcome.converged:
        return (
            "Another α or |R|, or another order of the tests, changes the path and its cost, not "
            "this optimum."
        )
    if len(outcome.history.ids_at(len(run.steps))) < learner.edge_budget(run.table.n_variables):
        return ""
    return (
        "The budget cuts the path short, so α, |R| and the order of the tests decide which edges "
        "are in the model. Without a budget they change the path and its cost, not the optimum."
    )


def overfitting_words(run: Run) -> str:
    """Return since when the NLPL on held-out rows has risen; empty if it has hardly risen."""
    if run.start is None:
        return ""
    found = (each.nlpl_test for each in (run.start, *run.metrics))
    losses = [loss for loss in found if loss is not None]
    if len(losses) < 2:
        return ""
    best = min(range(len(losses)), key=losses.__getitem__)
    if losses[-1] < losses[best] + _RISE:
        return ""
    when = f"after step {best}" if best else "without edges"
    return (
        f"The NLPL on held-out rows was lowest {when} ({losses[best]:.4g}) and has risen to "
        f"{losses[-1]:.4g}, while the objective fell: later edges fit noise of the training rows. "
        "This is overfitting, which these rows cannot show, as they contain the noise."
    )


def _limit(step: Step, *, count: int = 1) -> str:
    """Return the threshold of a score as text: "λ = 0.001", "κ = 3 times its noise"."""
    if step.test is None:
        return "its threshold" if count == 1 else "their threshold"
    return step.test.words if count == 1 else step.test.words.replace("its", "their")


def _removed(step: Step, names: Sequence[str]) -> str:
    """Return the sentence about the edges removed before the step."""
    gone, count = listed_edges(names, step.removed.tolist()), len(step.removed)
    they = "it" if count == 1 else "them"
    return f"{gone} {was(count)} removed, as the fit does not need {they}."


def _budget(step: Step, learner: Learner) -> int | None:
    """Return the edge budget if one was set."""
    if not learner.has_budget:
        return None
    n = step.history.start.n_variables
    budget = learner.edge_budget(n)
    return budget if budget < n * (n - 1) // 2 else None


def _activated(step: Step, names: Sequence[str]) -> str:
    """Write "a – b (0.0122) and c – d (0.0110) were"."""
    edges, scores = [edge[:2] for edge in step.activated], [edge.score for edge in step.activated]
    return f"{listed_edges(names, edges, scores)} {was(len(edges))}"


def _entered(step: Step) -> tuple[int, int, int]:
    """Count the tested edges that entered R, those of them that replaced one, and the too weak."""
    tally = np.bincount(step.tested.verdicts, minlength=4)
    replacing = int(tally[DISPLACED_MINIMUM])
    return int(tally[ADMITTED]) + replacing, replacing, int(tally[TOO_WEAK])


def _filling(step: Step, reservoir: ReservoirView) -> str:
    """Return the sentence about the first filling of the reservoir."""
    entered, _, _ = _entered(step)
    violating = f"{entered:,} {was(entered)} above {_limit(step, count=entered)}"
    if step.tests >= step.tables_possible:
        tested = f"all {plural(step.tests, 'pair')} were tested"
        return f"For the first filling of the reservoir {tested}; {violating} and entered."
    tested = f"{plural(step.tests, 'pair')} {was(step.tests)} tested"
    if entered >= reservoir.capacity:
        return f"To fill the reservoir {tested}; {violating}, which filled it."
    if step.test_limit is not None and step.tests > step.test_limit:
        return f"To find a first violating edge {tested}; {violating} and entered the reservoir."
    return (
        f"To fill the reservoir {tested}, the limit of the first filling; {violating} and filled "
        f"{entered:,} of {plural(reservoir.capacity, 'place')}."
    )


def _testing(step: Step, reservoir: ReservoirView, names: Sequence[str]) -> str:
    """Return the sentence about the tests of a later step and the reservoir after them."""
    if step.tests == 0:
        return f"No pair was left to test; the reservoir holds {len(reservoir.scores):,}."
    entered, replacing, too_weak = _entered(step)
    if entered:
        result = f"{entered:,} entered the reservoir"
        if replacing == entered:
            result += " in place of weaker ones" if entered > 1 else " in place of a weaker one"
        elif replacing:
            result += f", {replacing:,} of them in place of weaker ones"
    elif too_weak:
        result = f"{too_weak:,} violated, but none exceeded the weakest edge of the full reservoir"
    else:
        result = "none violated"
    dropped = len(step.dropped)
    if dropped:
        they = "it" if dropped == 1 else "they"
        result += (
            f"; {dropped:,} had left it because {they} no longer violated after the last refit"
        )
        if not entered:
            result = result.replace("had left it", "had left the reservoir")
    return f"Tested {plural(step.tests, 'pair')}{_hubs(step, names)}; {result}."


def _hubs(step: Step, names: Sequence[str]) -> str:
    count = len(step.hubs)
    if count == 0:
        return ""
    which = f"the {count:,} variables"
    if count <= _FEW_HUBS:
        which = listed([short(names[hub]) for hub in step.hubs])
    return f", starting at {which} of the hub rule"


def _choosing(
    step: Step, learner: BestChoice, reservoir: ReservoirView, names: Sequence[str]
) -> str:
    """Return the sentence about the edges chosen from the reservoir."""
    if len(reservoir.scores) == 1:
        return f"The reservoir held a single edge: {_activated(step, names)} activated."
    mean, best = score(reservoir.mean), score(reservoir.maximum)
    numbers = f"The scores in the reservoir average {mean} and reach {best}"
    if learner.alpha == 1.0:
        rule = "with α = 1 only the best edge is taken"
    elif learner.alpha == 0.0:
        rule = f"with α = 0 every edge from the average τ = {score(reservoir.tau)} up qualifies"
    else:
        rule = f"with α = {learner.alpha:g} an edge needs at least τ = {score(reservoir.tau)}"
    clauses = [f"{numbers}, so {rule}: {_activated(step, names)} activated"]
    skipped = len(step.skipped_adjacent)
    if skipped:
        named = listed_edges(names, step.skipped_adjacent.tolist())
        touch = "it touches" if skipped == 1 else "they touch"
        clauses.append(
            f"{named} {was(skipped)} skipped because {touch} an edge chosen in this step"
        )
    return "; ".join(clauses) + "."


def _scoring_all(step: Step, learner: Any, names: Sequence[str]) -> str:
    """Return the sentence about a step of edge grafting, which takes the best of all edges."""
    chosen = step.activated[0]
    if step.index == 1:
        scored = f"Counted and scored all {plural(step.tests, 'pair')}"
    elif learner.rescoring == "all":
        scored = f"Scored all {plural(step.tests, 'inactive edge')}"
    else:
        scored = f"Scored {plural(step.tests, 'inactive edge')}, all that could be the best"
    best = f"{score(chosen.score)} of {pair(names, chosen.source, chosen.target)}"
    if step.test is not None and step.test.significance > 0.0:
        return (
            f"{scored}; of those above {_limit(step, count=2)} the largest, {best}, was activated."
        )
    return (
        f"{scored}; the largest score, {best}, is above {_limit(step)}, so this edge was activated."
    )


def _first_violation(step: Step, names: Sequence[str]) -> str:
    """Return the sentence about a step of first hit, which tests until an edge violates."""
    chosen = step.activated[0]
    edge = pair(names, chosen.source, chosen.target)
    if step.tests == 1:
        found = f"The first pair tested, {edge}, violates"
    else:
        found = f"Tested {plural(step.tests, 'pair')} until one violated: {edge}"
    verdict = f"its score {score(chosen.score)} is above {_limit(step)}"
    return f"{found}; {verdict}, so it was activated."


def _reservoir_step(step: Step, learner: Any, names: Sequence[str]) -> list[str]:
    """Return the sentences about a step that fills the reservoir and chooses from it."""
    if step.reservoir is None:
        return _plain_step(step, learner, names)
    tests = _filling(step, step.reservoir)
    if step.index > 1:
        tests = _testing(step, step.reservoir, names)
    return [tests, _choosing(step, learner, step.reservoir, names)]


def _plain_step(step: Step, _learner: Any, names: Sequence[str]) -> list[str]:
    """Return the sentence about a step of a learner without sentences of its own."""
    return [f"{_activated(step, names)} activated."]


_RISE = 0.02  # nats per row, from which the held-out loss counts as risen
_SEARCHES = ("reservoir", "best of all", "first hit")  # sentences of learners that search pairs
_NAMES_REMOVED = ("path", "exchange")  # sentences that name the removed edges themselves
_SENTENCES: Mapping[str, Callable[[Step, Any, Sequence[str]], list[str]]] = {
    "reservoir": _reservoir_step,
    "best of all": lambda step, learner, names: [_scoring_all(step, learner, names)],
    "first hit": lambda step, _, names: [_first_violation(step, names)],
    "feature": feature_step,
    "tree": lambda step, _, names: [tree_step(step, names)],
    "path": lambda step, _, names: [path_step(step, names)],
    "exchange": lambda step, _, names: exchange_step(step, names),
    "bound": lambda step, _, names: bounded_step(step, names),
}
