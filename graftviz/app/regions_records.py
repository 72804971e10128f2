"""JSON records of a growing region for the view of the Regions page.

The graph is sent once, a region as a whole because its steps are few. Vacuous bounds are null,
never the number 1.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from graftviz.inference.exact.structure import plan_elimination
from graftviz.inference.local.influence import Influence, minimal_radius
from graftviz.inference.local.local_model import Cut, region_marginal, region_model
from graftviz.inference.local.marginal import Bound, Expansion, Growth, RegionStep, grow_region
from graftviz.inference.methods import infer
from graftviz.model.pairwise import PairwiseModel
from graftviz.reports.replay.plain import number, numbers, placed_nodes
from graftviz.reports.words.regions import (
    bound_text,
    change_words,
    coefficient_words,
    headline,
    joining_words,
    meaning,
    shown_bound_words,
    start_words,
    stop_words,
    truth_words,
)
from graftviz.utils.errors import InputError

DIGITS = 7
# Limits of exact inference on the whole graph: about two seconds. A grid of 20 × 20 is within them.
MOST_ENTRIES = 200_000_000
MOST_BYTES = 700_000_000
MOST_REGION_BYTES = 100_000_000
RULES = {"greedy": "greedy", "random": "random", "norm": "strongest edge"}  # of expansion
Rule = tuple[Expansion, Cut]


class RegionQuery(NamedTuple):
    """Arguments of :func:`graftviz.inference.local.grow_region`, after the model."""

    query: int
    expansion: Expansion
    cut: Cut
    tolerance: float
    max_size: int
    seed: int
    growth: Growth = "detours"
    bound: Bound = "tight"


class AnsweredStep(NamedTuple):
    """Step of a growing region, with the marginal of the query computed in it.

    Attributes
    ----------
    step : RegionStep
    marginal : float64 array, shape (s,)
    is_exact : bool
        Whether exact inference in the region was feasible; if not, nothing is certified.
    """

    step: RegionStep
    marginal: np.ndarray
    is_exact: bool

    @property
    def bound(self) -> float | None:
        """Error bound; None if it is vacuous."""
        return None if self.step.is_vacuous or not self.is_exact else float(self.step.bound)

    @property
    def is_useless(self) -> bool:
        """Whether there is a bound, but as written it excludes no probability from 0 to 1."""
        furthest = np.maximum(self.marginal, 1.0 - self.marginal).max()
        return self.bound is not None and float(bound_text(self.bound)) >= float(furthest)


def rule_choices(expansion: Expansion, cut: Cut) -> tuple[Rule, ...]:
    """Return expansion and cut of the four rules that are compared, which include these."""
    other = cut if expansion != "greedy" else "drop"
    return (("greedy", "drop"), ("greedy", "mean-field"), ("random", other), ("norm", other))


def named_rules(expansion: Expansion, cut: Cut) -> dict[Rule, dict[str, Any]]:
    """Return key, name and number of the same rules, by expansion and cut."""
    return {
        (expansion, cut): {
            "key": f"{expansion}:{cut}",
            "name": RULES[expansion] + (", mean field" if cut == "mean-field" else ""),
            "index": index,
        }
        for index, (expansion, cut) in enumerate(rule_choices(expansion, cut))
    }


@dataclass(frozen=True)
class Grown:
    """A region so far.

    Attributes
    ----------
    steps : tuple of AnsweredStep
    stop_reason : str
        Empty until it is complete.
    seconds : float
        Time of its growth and of its last answer.
    """

    steps: tuple[AnsweredStep, ...]
    stop_reason: str = ""
    seconds: float = 0.0


def growing(model: PairwiseModel, question: RegionQuery) -> Iterator[Grown]:
    """Grow a region, and compute the marginal in it after every step."""
    steps: tuple[AnsweredStep, ...] = ()
    spent = 0.0
    began = time.perf_counter()
    for step in grow_region(model, **question._asdict()):
        spent += time.perf_counter() - began
        began = time.perf_counter()
        steps += (_answered(model, step, question),)
        yield Grown(steps, step.reason, spent + time.perf_counter() - began)
        began = time.perf_counter()


def _answered(model: PairwiseModel, step: RegionStep, question: RegionQuery) -> AnsweredStep:
    try:
        marginal = region_marginal(
            model, step.nodes, question.query, question.cut, max_memory=MOST_REGION_BYTES
        )
    except InputError:  # too wide for exact inference: belief propagation proves nothing
        local = region_model(model, step.nodes, question.cut)
        return AnsweredStep(step, infer(local, "bp").node[0], False)
    return AnsweredStep(step, marginal, True)


@dataclass(frozen=True, eq=False)
class Whole:
    """Marginals of every variable from inference on the whole graph.

    Attributes
    ----------
    bp : tuple of arrays
    bp_note : str
    bp_seconds : float
    exact : tuple of arrays, or None
        None until they are computed, or if they are not; then `why` is the reason.
    why : str
    exact_seconds : float
    """

    bp: tuple[np.ndarray, ...]
    bp_note: str
    bp_seconds: float
    exact: tuple[np.ndarray, ...] | None = None
    why: str = ""
    exact_seconds: float = 0.0

    def record(self, query: int) -> dict[str, Any]:
        """Return the record of the marginals of one variable."""
        return {
            "exact": None if self.exact is None else numbers(self.exact[query], 10),
            "exactSeconds": round(self.exact_seconds, 6),
            "exactNote": self.why,
            "bp": numbers(self.bp[query], 10),
            "bpSeconds": round(self.bp_seconds, 6),
            "bpNote": self.bp_note,
        }


def answering(model: PairwiseModel) -> Iterator[Whole]:
    """Compute marginals on the whole graph: by belief propagation, and exactly if affordable."""
    began = time.perf_counter()
    beliefs = infer(model, "bp")
    by_bp = Whole(beliefs.node, " ".join(beliefs.notes), time.perf_counter() - began)
    yield by_bp
    plan = plan_elimination(model, max_memory=MOST_BYTES)
    yield by_bp
    affordable = plan.is_affordable and plan.total_entries <= MOST_ENTRIES
    if affordable and plan.bytes <= MOST_BYTES:
        began = time.perf_counter()
        exact = infer(model, "exact", max_memory=MOST_BYTES).node
        yield replace(by_bp, exact=exact, exact_seconds=time.perf_counter() - began)
    else:
        yield replace(by_bp, why=truth_words(plan.width, plan.total_entries, MOST_ENTRIES))


def graph_record(
    model: PairwiseModel, positions: np.ndarray, key: str, *, has_natural_positions: bool
) -> dict[str, Any]:
    """Return the graph: names, positions (0 … 10000, y downwards), edges and their weight norms.

    Natural positions (a grid, a map) keep their aspect ratio.
    """
    return {
        "id": key,
        **placed_nodes(model.names, positions, has_natural_positions=has_natural_positions),
        "edges": model.edges.tolist(),
        "norms": numbers(np.where(np.isfinite(norms := model.edge_norms()), norms, 0.0), 3),
    }


def step_records(
    model: PairwiseModel, steps: Sequence[AnsweredStep], *, expansion: Expansion
) -> list[dict[str, Any]]:
    """Return every step with its headline and sentences.

    The headline of a step is about the region with the smallest bound so far, number ``best``.
    """
    n = model.n_variables
    records: list[dict[str, Any]] = []
    for k, answered in enumerate(steps):
        step, bound = answered.step, answered.bound
        if k == 0:
            cut = len(step.candidates)
            words = start_words(model.names[int(step.added)], cut)
            words += " The bound is vacuous." if bound is None else ""
        else:
            before = steps[k - 1]
            words = joining_words(
                model.names,
                int(step.added),
                before.step.candidates.tolist(),
                bounds_of(before.step.candidate_bounds),
                expansion=expansion,
            )
            words += f" {change_words(before.bound, bound)}"
        best = best_step(steps[: k + 1])
        used = steps[best]
        size, is_exact, is_useless = int(used.step.size), used.is_exact, used.is_useless
        sub = meaning(used.bound, size, n, is_exact=is_exact, is_useless=is_useless)
        if best < k:
            sub += f" {shown_bound_words(bound, int(step.size))}"
        records.append(
            {
                "added": int(step.added),
                "bound": number(bound, DIGITS),
                "certified": bound is not None and not is_useless,
                "boundary": step.boundary.tolist(),
                "candidates": step.candidates.tolist(),
                "bounds": [number(b, DIGITS) for b in bounds_of(step.candidate_bounds)],
                "marginal": numbers(answered.marginal, 10),
                "best": best,
                "head": headline(used.bound, size, n, is_exact=is_exact, is_useless=is_useless),
                "sub": sub,
                "words": words,
            }
        )
    return records


def region_record(
    model: PairwiseModel,
    question: RegionQuery,
    grown: Grown,
    *,
    state: int | None,
    influence: Influence | None,
    failure: str = "",
) -> dict[str, Any]:
    """Return a region so far, and the settings it follows.

    Parameters
    ----------
    model : PairwiseMRF
    question : RegionQuery
    grown : Grown
    state : int or None
        State whose probability is shown; None for the last one.
    influence : Influence or None
        None until it has been computed.
    failure : str
        Reason if the region could not be completed.
    """
    usual = int(model.cardinalities[question.query]) - 1
    bounds = [step.bound for step in grown.steps]
    return {
        "query": question.query,
        "labels": list(model.labels[question.query]),
        "state": usual if state is None else state,
        "chosen": state,
        "usual": usual,
        "tolerance": question.tolerance,
        "size": question.max_size,
        "steps": step_records(model, grown.steps, expansion=question.expansion),
        "stop": failure or stop_words(grown.stop_reason, bounds),
        "seconds": round(grown.seconds, 6),
        "asksAll": question.expansion == "greedy",  # whether every neighbour's bound is known
        "influence": None if influence is None else influence.halo(question.query),
    }


def coefficient_record(influence: Influence | None, tolerance: float) -> dict[str, Any]:
    """Return c of the whole model with its sentence; empty until it has been computed."""
    if influence is None:
        return {"c": None, "words": ""}
    c = influence.coefficient
    words = coefficient_words(c, minimal_radius(c, tolerance).tail, tolerance)
    return {"c": round(c, 4), "words": words}


def best_step(steps: Sequence[AnsweredStep]) -> int:
    """Return the step with the smallest bound, the last of several; the last step if none has one.

    A larger region may have a larger bound; the bound of a smaller one remains valid.
    """
    proven = [(step.bound, -k) for k, step in enumerate(steps) if step.bound is not None]
    return -min(proven)[1] if proven else len(steps) - 1


def bounds_of(values: np.ndarray) -> list[float | None]:
    """Return bounds, with None for vacuous ones."""
    return [float(b) if math.isfinite(b) and b < 1.0 else None for b in values.tolist()]


def curve_record(
    key: str,
    name: str,
    index: int,
    steps: Sequence[AnsweredStep],
    truth: np.ndarray | None,
    *,
    chosen: bool,
) -> dict[str, Any]:
    """Return bound and actual error after every step of a rule; errors are null without `truth`.

    The error is the largest over the states of the query, because the bound holds for each.
    """
    errors = (
        None
        if truth is None
        else [number(float(np.abs(answered.marginal - truth).max()), DIGITS) for answered in steps]
    )
    return {
        "key": key,
        "name": name,
        "index": index,
        "chosen": chosen,
        "bounds": [number(answered.bound, DIGITS) for answered in steps],
        "errors": errors,
    }
