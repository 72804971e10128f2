"""Sentences that describe steps and the end of a run, with reasons and numbers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from graftviz.evaluation.reservoir import RankedStep, RankSimulation
from graftviz.learning.base import Learner
from graftviz.learning.grafting.best_choice import BestChoice
from graftviz.learning.grafting.reservoir import Activation
from graftviz.learning.run import LearningRun
from graftviz.learning.trace import (
    ADMITTED,
    DISPLACED_MINIMUM,
    TOO_WEAK,
    Outcome,
    ReservoirView,
    Screening,
    Step,
)
from graftviz.reports.texts import catalogue
from graftviz.reports.words.learners import (
    bounded_step,
    exchange_step,
    feature_step,
    path_step,
    tree_step,
)
from graftviz.reports.words.outcomes import remark_words
from graftviz.reports.words.phrases import (
    counted,
    listed,
    listed_edges,
    pair,
    plural,
    score,
    short,
    was,
)

_FEW_HUBS = 3
Texts = Mapping[str, Any]  # the catalogue "steps"


def learner_at(run: LearningRun, t: int) -> Learner:
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
    texts = catalogue("steps")
    if step.required:
        edges = listed_edges(names, [edge[:2] for edge in step.activated])
        sentences = [counted(texts["step"]["required"], len(step.activated), edges=edges)]
    else:
        write = _SENTENCES.get(learner.sentences, _plain_step)
        sentences = write(step, learner, names)
    if len(step.removed) and learner.sentences not in _NAMES_REMOVED:
        gone = listed_edges(names, step.removed.tolist())
        sentences.insert(0, counted(texts["step"]["removed"], len(step.removed), edges=gone))
    budget = _budget(step, learner)
    if budget is not None and step.n_edges >= budget:
        sentences.append(counted(texts["step"]["budget"], budget))
    return " ".join(sentences)


def screening_words(screening: Screening) -> str:
    """Return what a screening compared."""
    if screening.candidates == 0:
        return f"None of the {screening.pairs:,} pairs varies on {screening.rows:,} rows."
    return (
        f"The other {screening.pairs - screening.candidates:,} of {screening.pairs:,} pairs were "
        f"only compared by their χ² on {screening.rows:,} rows."
    )


def outcome_words(outcome: Outcome) -> str:
    """Return how a run ended, and the certificate of the edges that are not in the model."""
    certificate = outcome.certificate
    kind = certificate.unit if certificate.screening is None else "candidate"
    inactive, edges = f"inactive {kind}", certificate.unit == "edge"
    sentences = [remark_words(outcome.stop_reason)]
    if certificate.scored < certificate.possible:
        sentences.append(
            f"Only {certificate.scored:,} of {plural(certificate.possible, inactive)} "
            f"{was(certificate.scored)} scored at the final weights, so more may violate."
        )
    elif certificate.none_violates or certificate.worst_score is None:
        pass
    elif certificate.symbol == "gain":
        sentences.append(
            f"Another edge, or an exchange, would still gain up to "
            f"{score(certificate.worst_score)} nats."
        )
    elif certificate.symbol == "κ":
        # What violates is ranked by the score, which is no share of a threshold.
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


def path_words(run: LearningRun) -> str:
    """Return what the order of activations changed, at the end of a run as in the paper.

    With one score, objective and λ, all orders end at the same optimum unless a budget ends them.
    """
    outcome = run.outcome
    learner: Any = learner_at(run, len(run.steps))
    if outcome is None or learner.sentences not in _SEARCHES or learner.preset == "best":
        return ""
    texts: Mapping[str, str] = catalogue("steps")["end"]
    if outcome.converged:
        return texts["optimum"]
    if len(outcome.history.ids_at(len(run.steps))) < learner.edge_budget(run.table.n_variables):
        return ""
    return texts["budget"]


def overfitting_words(run: LearningRun) -> str:
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
    texts: Mapping[str, str] = catalogue("steps")["end"]
    when = texts["after_step" if best else "without_edges"].format(step=best)
    lowest, last = f"{losses[best]:.4g}", f"{losses[-1]:.4g}"
    return texts["overfitting"].format(when=when, lowest=lowest, last=last)


def _limit(step: Step, texts: Texts, *, count: int = 1) -> str:
    """Return the threshold of a score as text: "λ = 0.001", "κ = 3.35 standard deviations"."""
    if step.test is None:
        return counted(texts["limit"]["unknown"], count)
    if step.test.significance > 0.0:
        return str(texts["limit"]["noise"].format(kappa=f"{step.test.significance:g}"))
    return step.test.words


def _budget(step: Step, learner: Learner) -> int | None:
    """Return the edge budget if one was set."""
    if not learner.has_budget:
        return None
    n = step.history.start.n_variables
    budget = learner.edge_budget(n)
    return budget if budget < n * (n - 1) // 2 else None


def _activated(step: Step, names: Sequence[str], texts: Texts) -> str:
    """Write "a – b (0.0122) and c – d (0.0110) were activated"."""
    edges, scores = [edge[:2] for edge in step.activated], [edge.score for edge in step.activated]
    listed = listed_edges(names, edges, scores)
    return counted(texts["step"]["activated"], len(edges), edges=listed)


def _entered(step: Step) -> tuple[int, int, int]:
    """Count the tested edges that entered R, those of them that replaced one, and the too weak."""
    tally = np.bincount(step.tested.verdicts, minlength=4)
    replacing = int(tally[DISPLACED_MINIMUM])
    return int(tally[ADMITTED]) + replacing, replacing, int(tally[TOO_WEAK])


def _filling(step: Step, reservoir: ReservoirView, texts: Texts) -> str:
    """Return the sentence about the first filling of the reservoir."""
    entered, _, _ = _entered(step)
    if step.tests >= step.tables_possible:
        kind = "all"
    elif entered >= reservoir.capacity:
        kind = "full"
    elif step.test_limit is not None and step.tests > step.test_limit:
        kind = "first"
    else:
        kind = "part"
    return counted(
        texts["filling"][kind],
        entered,
        pairs=counted(texts["lists"]["pairs"], step.tests),
        tested=counted(texts["filling"]["tested"], step.tests),
        limit=_limit(step, texts, count=entered),
        places=counted(texts["lists"]["places"], reservoir.capacity),
    )


def _testing(step: Step, reservoir: ReservoirView, names: Sequence[str], texts: Texts) -> str:
    """Return the sentence about the tests of a later step and the reservoir after them."""
    own = texts["testing"]
    if step.tests == 0:
        return str(own["nothing"].format(count=f"{len(reservoir.scores):,}"))
    entered, replacing, too_weak = _entered(step)
    if entered and 0 < replacing < entered:
        result = own["some_replacing"].format(n=f"{entered:,}", replacing=f"{replacing:,}")
    elif entered:
        result = counted(own["replacing" if replacing else "entered"], entered)
    else:
        result = counted(own["too_weak"], too_weak) if too_weak else own["none"]
    if dropped := len(step.dropped):
        result = counted(own["dropped" if entered else "only_dropped"], dropped, result=result)
    pairs = counted(texts["lists"]["pairs"], step.tests)
    return str(own["tested"].format(pairs=pairs, hubs=_hubs(step, names, texts), result=result))


def _hubs(step: Step, names: Sequence[str], texts: Texts) -> str:
    count = len(step.hubs)
    if count == 0:
        return ""
    if count > _FEW_HUBS:
        return str(texts["testing"]["many_hubs"].format(count=f"{count:,}"))
    which = listed([short(names[hub]) for hub in step.hubs])
    return str(texts["testing"]["hubs"].format(names=which))


def _choosing(
    step: Step, learner: BestChoice, reservoir: ReservoirView, names: Sequence[str], texts: Texts
) -> str:
    """Return the sentence about the edges chosen from the reservoir."""
    own, activated = texts["choosing"], _activated(step, names, texts)
    if len(reservoir.scores) == 1:
        return str(own["single"].format(activated=activated))
    chosen = own[{0.0: "zero", 1.0: "one"}.get(learner.alpha, "between")].format(
        mean=score(reservoir.mean),
        best=score(reservoir.maximum),
        tau=score(reservoir.tau),
        alpha=f"{learner.alpha:g}",
        activated=activated,
    )
    if skipped := len(step.skipped_adjacent):
        edges = listed_edges(names, step.skipped_adjacent.tolist())
        chosen = counted(own["skipped"], skipped, chosen=chosen, edges=edges)
    return f"{chosen}."


def _scoring_all(step: Step, learner: Any, names: Sequence[str]) -> str:
    """Return the sentence about a step of edge grafting, which takes the best of all edges."""
    texts = catalogue("steps")
    own, chosen = texts["scoring"], step.activated[0]
    kind = "all" if learner.rescoring == "all" else "some"
    if step.tests_total == step.tests:
        kind = "first"
    is_noisy = step.test is not None and step.test.significance > 0.0
    sentence = own["significant" if is_noisy else "largest"].format(
        scored=counted(own[kind], step.tests),
        limit=_limit(step, texts, count=2 if is_noisy else 1),
        score=score(chosen.score),
        edge=pair(names, chosen.source, chosen.target),
    )
    return str(sentence)


def _first_violation(step: Step, names: Sequence[str]) -> str:
    """Return the sentence about a step of first hit, which tests until an edge violates."""
    texts, chosen = catalogue("steps"), step.activated[0]
    return counted(
        texts["scoring"]["hit"],
        step.tests,
        edge=pair(names, chosen.source, chosen.target),
        score=score(chosen.score),
        limit=_limit(step, texts),
    )


def _reservoir_step(step: Step, learner: Any, names: Sequence[str]) -> list[str]:
    """Return the sentences about a step that fills the reservoir and chooses from it."""
    if step.reservoir is None:
        return _plain_step(step, learner, names)
    texts = catalogue("steps")
    tests = _filling(step, step.reservoir, texts)
    if step.tests_total > step.tests:
        tests = _testing(step, step.reservoir, names, texts)
    return [tests, _choosing(step, learner, step.reservoir, names, texts)]


def _plain_step(step: Step, _learner: Any, names: Sequence[str]) -> list[str]:
    """Return the sentence about a step of a learner without sentences of its own."""
    return [f"{_activated(step, names, catalogue('steps'))}."]


_RISE = 0.02  # nats per row, from which the held-out loss counts as risen
_SEARCHES = ("reservoir", "best of all", "first hit")  # sentences of learners that search pairs
_NAMES_REMOVED = ("path", "exchange")  # sentences that name the removed edges themselves
_SENTENCES: Mapping[str, Callable[[Step, Any, Sequence[str]], list[str]]] = {
    "reservoir": _reservoir_step,
    "best of all": lambda *about: [_scoring_all(*about)],
    "first hit": lambda step, _, *about: [_first_violation(step, *about)],
    "feature": feature_step,
    "tree": lambda step, _, *about: [tree_step(step, *about)],
    "path": lambda step, _, *about: [path_step(step, *about)],
    "exchange": lambda step, _, *about: exchange_step(step, *about),
    "bound": lambda step, _, *about: bounded_step(step, *about),
}


# --- figures of the reservoir ---------------------------------------------------------------------


def share_words(share: float) -> str:
    """Return a share in percent, with two digits where it is small: "51%", "4.8%"."""
    percent = 100.0 * share
    return f"{percent:.2g}%" if percent < 10 else f"{percent:.0f}%"


def simulation_words(simulation: RankSimulation, size: int) -> str:
    """Compare a reservoir of `size` with a single draw and with all pairs."""
    at = min(size, len(simulation.sizes)) - 1
    size = int(simulation.sizes[at])
    trials = plural(len(simulation.ranks), "trial")
    if size == 1:
        return (
            f"In {trials} a single draw ranks {_top(simulation, 0)} of all pairs on average, as "
            "expected by chance. Increase the reservoir to compare."
        )
    return (
        f"A single draw ranks {_top(simulation, 0)} of all {simulation.pairs:,} pairs on average "
        "(first hit continues drawing until an edge scores above λ, so it ranks higher: see "
        f"the ranks in a run). The best of {size} draws ranks "
        f"{_top(simulation, at)} ({share_words(simulation.lowest[at])} to "
        f"{share_words(simulation.highest[at])} in {trials}); scoring all pairs, as edge "
        f"grafting does, can gain at most the remaining {share_words(simulation.mean[at])}."
    )


def _top(simulation: RankSimulation, at: int) -> str:
    return f"in the top {share_words(float(simulation.mean[at]))}"


def run_words(first_hit: Sequence[RankedStep], best_choice: Sequence[RankedStep]) -> str:
    """Compare the ranks of the edges activated by first hit and by best-choice."""
    if not first_hit or not best_choice:
        return "No pair violates at this λ, so neither run takes a step."
    theirs, ours = (
        float(np.median([step.rank for step in steps])) for steps in (first_hit, best_choice)
    )
    of_theirs, of_ours = (
        f"{median:.3g} in {plural(len(steps), 'step')}"
        for median, steps in ((theirs, first_hit), (ours, best_choice))
    )
    best = sum(step.rank == 1 for step in best_choice)
    tests = round(float(np.median([step.tests for step in best_choice])))
    return (
        f"Median rank of the best candidate: {of_ours} with the reservoir, {of_theirs} with "
        f"first hit. In {best:,} of {len(best_choice):,} steps the reservoir held the best of all "
        f"inactive pairs, with {plural(tests, 'test')} per step instead of the "
        f"{best_choice[0].inactive:,} of edge grafting."
    )


def activation_words(picked: Activation, size: int, alpha: float) -> str:
    """Return which edges of a reservoir a step would activate."""
    eligible = len(picked.chosen) + len(picked.skipped)
    numbers = f"μ = {picked.mean:.3g}, τ(α) = {picked.tau:.3g}, maximum {picked.maximum:.3g}"
    if size == 1:
        return f"With one edge in the reservoir, α has no effect: the edge is taken ({numbers})."
    rule = {0.0: "α = 0 takes all above the mean", 1.0: "α = 1 takes the maximum only"}.get(
        alpha,
        f"α = {alpha:g} puts τ(α) {share_words(alpha)} of the way from the mean to the maximum",
    )
    passed = (
        f"; {plural(len(picked.skipped), 'edge')} above τ(α) skipped because of a variable shared "
        "with a stronger edge"
        if picked.skipped
        else ""
    )
    return (
        f"{rule[:1]}{rule[1:]}: {numbers}. {plural(eligible, 'edge')} of {size} "
        f"{'is' if eligible == 1 else 'are'} eligible, and {len(picked.chosen)} "
        f"{'is' if len(picked.chosen) == 1 else 'are'} activated at once{passed}."
    )
