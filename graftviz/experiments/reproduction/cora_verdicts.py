"""Judgement of the claims on localized inference about labels of Cora."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from graftviz.experiments.reproduction.cora import (
    GLOBAL,
    LOCAL,
    METHODS,
    TITLES,
    Method,
    accuracy,
    fields,
    labels,
    quality,
)
from graftviz.experiments.reproduction.experiment import NotMeasured, Results, Verdict
from graftviz.experiments.reproduction.region_verdicts import trend
from graftviz.experiments.reproduction.verdicts import verdict

_RISING = 0.9  # rank correlation
_HIGH = 0.9
_STANDARD_ERRORS = 2.0


def accuracies_rise(results: Results) -> Verdict:
    """Judge that accuracy against the true labels rises clearly with T."""
    shown = _several(results)
    met, phrases, numbers = [], [], {}
    for method in (GLOBAL, LOCAL):
        values = [_against_truth(results, field, method) for field in shown]
        first, last = values[0], values[-1]
        queries = len(labels(results, shown[0], method).truth)
        error = np.sqrt((first * (1 - first) + last * (1 - last)) / queries)
        met += [_rises(values), last - first > _STANDARD_ERRORS * error]
        phrases.append(f"{TITLES[method]}: {first:.3f} to {last:.3f}")
        numbers[method] = values
    more = ", ".join(
        f"{_against_truth(results, shown[-1], method):.3f} with {TITLES[method]}"
        for method in METHODS
        if method not in (GLOBAL, LOCAL)
    )
    return verdict(
        met,
        f"Accuracy against the true labels, T = {shown[0]:g} to {shown[-1]:g}: "
        f"{'; '.join(phrases)} ({more}).",
        T=shown,
        accuracy=numbers,
    )


def local_agrees_with_global(results: Results) -> Verdict:
    """Judge that local labels nearly always equal those of global mean field at every T."""
    shown = _several(results)
    values = [_agreement(results, field, GLOBAL) for field in shown]
    low = [f"{field:g}" for field, value in zip(shown, values, strict=True) if value < _HIGH]
    excepted = f"; below {_HIGH:.0%} at T = {', '.join(low)}" if low else ""
    others = [_agreement(results, field, "bp") for field in shown]
    return verdict(
        [value >= _HIGH for value in values],
        f"Local labels are those of global mean field for {min(values):.1%} to {max(values):.1%} "
        f"of the papers{excepted}; those of global belief propagation for {min(others):.1%} to "
        f"{max(others):.1%}.",
        T=shown,
        with_mean_field=values,
        with_belief_propagation=others,
    )


def agreement_rises(results: Results) -> Verdict:
    """Judge that the agreement of local and global labels rises with T."""
    shown = _several(results)
    values = [_agreement(results, field, GLOBAL) for field in shown]
    others = [_agreement(results, field, "bp") for field in shown]
    return verdict(
        [_rises(values)],
        f"Agreement goes from {values[0]:.3f} at T = {shown[0]:g} to {values[-1]:.3f} at T = "
        f"{shown[-1]:g} with global mean field, from {others[0]:.3f} to {others[-1]:.3f} with "
        "global belief propagation.",
        T=shown,
        with_mean_field=values,
        with_belief_propagation=others,
    )


def quality_rises(results: Results) -> Verdict:
    """Judge that precision, recall and F of local against global labels rise with T."""
    shown = _several(results)
    found = [
        quality(labels(results, field, LOCAL).found, labels(results, field, GLOBAL).found)
        for field in shown
    ]
    met, phrases, numbers = [], [], {}
    for name in ("precision", "recall", "f"):
        values = [getattr(one, name) for one in found]
        present = [value for value in values if value is not None]
        if len(present) < len(values):
            raise NotMeasured("At some T no paper has the label +1, so there is no precision.")
        met.append(_rises(present))
        phrases.append(
            f"{name.upper() if name == 'f' else name} {present[0]:.3f} to {present[-1]:.3f}"
        )
        numbers[name] = present
    return verdict(
        met,
        f"From T = {shown[0]:g} to {shown[-1]:g}, local labels against those of global mean field: "
        f"{', '.join(phrases)}.",
        T=shown,
        **numbers,
    )


def _several(results: Results) -> list[float]:
    shown = fields(results)
    if len(shown) < 2:
        raise NotMeasured("Several strengths of the fields are needed for this.")
    return shown


def _against_truth(results: Results, field: float, method: Method) -> float:
    found = labels(results, field, method)
    return accuracy(found.found, found.truth)


def _agreement(results: Results, field: float, whole: Method) -> float:
    return accuracy(labels(results, field, LOCAL).found, labels(results, field, whole).found)


def _rises(values: Sequence[float]) -> bool:
    return values[-1] > values[0] and trend(values) >= _RISING
