"""Judgement of the claims on localized inference about errors and bounds on grids."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import Any

import numpy as np
from scipy.stats import spearmanr

from graftviz.experiments.reproduction.experiment import NotMeasured, Results, Verdict
from graftviz.experiments.reproduction.regions import (
    BASELINES,
    GREEDY,
    MEAN_FIELD,
    GridPanel,
    RegionErrors,
    largest_ratio,
    panels,
    region_errors,
    rules,
)
from graftviz.experiments.reproduction.verdicts import verdict

_STANDARD_ERRORS = 2.0  # above which a mean difference counts
_ABOUT_THE_SAME = 1.25  # largest ratio that counts as about the same
_TIGHT = 0.05
_MONOTONE = -0.9  # rank correlation
_ROUNDING = 1e-9


def bounds_hold(results: Results) -> Verdict:
    """Judge that no true error exceeds its bound."""
    checked = exceeded = 0
    worst = 0.0
    for panel in panels(results):
        for rule in rules(results, panel):
            found = region_errors(results, panel, rule)
            checked += found.errors.size
            exceeded += int((found.errors > found.bounds + _ROUNDING).sum())
            worst = max(worst, largest_ratio(found.errors, found.bounds))
    return verdict(
        [exceeded == 0] if checked else [],
        f"Of {checked:,} regions {exceeded:,} have an error above their bound; the largest error "
        f"is {worst:.4g} of its bound.",
        regions=checked,
        exceeded=exceeded,
        largest_error_to_bound=worst,
    )


def greedy_beats_baselines(results: Results) -> Verdict:
    """Judge that greedy expansion has clearly smaller bounds and errors than both baselines."""
    met: list[bool] = []
    phrases, numbers = [], {}
    for panel in panels(results):
        greedy = region_errors(results, panel, GREEDY)
        for baseline in BASELINES:
            other = region_errors(results, panel, baseline)
            clear = {
                "bound": _clearly_less(greedy.bounds, other.bounds),
                "error": _clearly_less(greedy.errors, other.errors),
            }
            met += clear.values()
            bounds, errors = (
                _at_the_end(greedy, other, quantity) for quantity in ("bounds", "errors")
            )
            unclear = [quantity for quantity, is_clear in clear.items() if not is_clear]
            excepted = f" (not clearly less: {' and '.join(unclear)})" if unclear else ""
            phrases.append(
                f"against {baseline.name} on {panel.title}: bound {bounds[0]:.3g} and "
                f"{bounds[1]:.3g}, error {errors[0]:.2g} and {errors[1]:.2g}{excepted}"
            )
            numbers[f"{panel.title}, {baseline.name}"] = {
                "bounds": bounds,
                "errors": errors,
                "clear": clear,
            }
    return verdict(
        met,
        f"Greedy {'; '.join(phrases)}; means at the largest size. Clear is a mean paired "
        "difference over all sizes of two standard errors.",
        panels=numbers,
    )


def same_error_with_mean_field(results: Results) -> Verdict:
    """Judge that the errors of mean field and dropping out agree, overall and at the end."""
    met, phrases, numbers = [], [], {}
    for panel in panels(results):
        drop, field = (
            region_errors(results, panel, rule).errors.mean(axis=0) for rule in (GREEDY, MEAN_FIELD)
        )
        overall = _times_as_much(field.mean(), drop.mean())
        largest = _times_as_much(field[-1], drop[-1])
        met += [1 / _ABOUT_THE_SAME <= ratio <= _ABOUT_THE_SAME for ratio in (overall, largest)]
        phrases.append(f"{overall:.2f} ({largest:.2f}) times on {panel.title}")
        numbers[panel.title] = {"over_all_sizes": overall, "largest_size": largest}
    return verdict(
        met,
        f"Its mean error over all sizes (and at the largest) is that of dropping out "
        f"{', '.join(phrases)}.",
        ratio_of_errors=numbers,
    )


def tighter_bound_with_mean_field(results: Results) -> Verdict:
    """Judge that the mean-field cut has a clearly smaller bound than dropping out."""
    met, phrases, numbers = [], [], {}
    for panel in panels(results):
        drop, field = (region_errors(results, panel, rule).bounds for rule in (GREEDY, MEAN_FIELD))
        met.append(_clearly_less(field, drop))
        at_sizes = field.mean(axis=0) < drop.mean(axis=0)
        phrases.append(
            f"{field.mean():.3g} against {drop.mean():.3g} on {panel.title}, smaller at "
            f"{int(at_sizes.sum())} of {len(at_sizes)} sizes"
        )
        numbers[panel.title] = {
            "mean_field": field.mean(axis=0).tolist(),
            "dropping_out": drop.mean(axis=0).tolist(),
        }
    return verdict(
        met,
        f"Mean bound over all sizes: {'; '.join(phrases)}. Dropping out places the influence of "
        "outside neighbours in the middle of its range; the bound is a supremum over that range, "
        "and moving away from the middle usually increases it.",
        bounds=numbers,
    )


def errors_beyond_greedy_bounds(results: Results) -> Verdict:
    """Judge that baselines exceed greedy's bounds in the mean and in single models."""
    met, phrases, numbers = [], [], {}
    for panel in panels(results):
        best = np.minimum(
            *(region_errors(results, panel, rule).bounds for rule in (GREEDY, MEAN_FIELD))
        )
        curve = np.minimum(
            *(
                region_errors(results, panel, rule).bounds.mean(axis=0)
                for rule in (GREEDY, MEAN_FIELD)
            )
        )
        for baseline in BASELINES:
            errors = region_errors(results, panel, baseline).errors
            sizes = np.flatnonzero(errors.mean(axis=0) > curve) + 1
            share = float((errors > best).mean())
            met += [len(sizes) > 0, share > 0]
            at = f"at {len(sizes)} sizes" if len(sizes) else "at no size"
            phrases.append(
                f"{baseline.name} on {panel.title}: {at} in the mean, {share:.1%} of single regions"
            )
            numbers[f"{panel.title}, {baseline.name}"] = {
                "sizes": sizes.tolist(),
                "share_of_regions": share,
            }
    return verdict(
        met,
        f"True errors above the smaller of greedy's two bounds for the same model and size, "
        f"{'; '.join(phrases)}.",
        panels=numbers,
    )


def tight_for_strong_fields(results: Results) -> Verdict:
    """Judge that bounds are close to errors at the largest T₁, and closer than at the smallest.

    Closer means a smaller difference, and a smaller ratio unless the error is zero.
    """
    met, phrases, numbers = [], [], {}
    for name, row in _rows_of_fields(results):
        for rule in rules(results, row[0]):
            found = [region_errors(results, panel, rule) for panel in row]
            gaps, ratios = [_gap(one) for one in found], [_ratio(one) for one in found]
            met += [gaps[-1] < gaps[0], gaps[-1] <= _TIGHT]
            if ratios[0] is not None and ratios[-1] is not None:
                met.append(ratios[-1] < ratios[0])
            phrases.append(
                f"{rule.name}, {name}: {gaps[0]:.2g} at T₁ = {row[0].field:g} "
                f"({_times(ratios[0])}), {gaps[-1]:.2g} at T₁ = {row[-1].field:g} "
                f"({_times(ratios[-1])})"
            )
            numbers[f"{rule.name}, {name}"] = {"gaps": gaps, "bound_to_error": ratios}
    return verdict(met, f"Mean bound less mean error: {'; '.join(phrases)}.", series=numbers)


def fall_with_stronger_fields(results: Results) -> Verdict:
    """Judge that bounds and errors decrease with T₁."""
    met, phrases, numbers = [], [], {}
    for name, row in _rows_of_fields(results):
        for rule in rules(results, row[0]):
            for quantity in ("bounds", "errors"):
                means = [
                    float(getattr(region_errors(results, panel, rule), quantity)[:, -1].mean())
                    for panel in row
                ]
                falls = _falls(means)
                met.append(falls)
                peak = row[int(np.argmax(means))].field
                risen = "" if falls else f", rising up to T₁ = {peak:g}"
                phrases.append(
                    f"{quantity} of {rule.name}, {name}: {means[0]:.2g} to {means[-1]:.2g}{risen}"
                )
                numbers[f"{quantity}, {rule.name}, {name}"] = means
    return verdict(
        met, f"From the smallest to the largest T₁: {'; '.join(phrases)}.", means=numbers
    )


def _clearly_less(one: np.ndarray, other: np.ndarray) -> bool:
    """Return whether the mean paired difference is negative by two standard errors."""
    difference = (one - other).mean(axis=1)
    error = difference.std(ddof=1) / np.sqrt(len(difference)) if len(difference) > 1 else np.inf
    return bool(difference.mean() < -_STANDARD_ERRORS * error)


def _times_as_much(one: float, other: float) -> float:
    return float(one / other) if other > _ROUNDING else 1.0


def _at_the_end(one: RegionErrors, other: RegionErrors, quantity: str) -> list[float]:
    return [float(getattr(found, quantity)[:, -1].mean()) for found in (one, other)]


def _rows_of_fields(results: Results) -> list[tuple[str, Sequence[GridPanel]]]:
    """Return groups of panels that differ in T₁ only, by increasing T₁."""

    def others(panel: GridPanel) -> tuple[Any, ...]:
        return panel.side, panel.coupling

    rows = []
    for (side, coupling), row in groupby(sorted(panels(results), key=others), others):
        rows.append((f"{side} × {side}, T₂ = {coupling:g}", sorted(row, key=lambda p: p.field)))
    if not any(len(row) > 1 for _, row in rows):
        raise NotMeasured("At least two values of T₁ are needed.")
    return [(name, row) for name, row in rows if len(row) > 1]


def _gap(found: RegionErrors) -> float:
    return float((found.bounds - found.errors)[:, -1].mean())


def _ratio(found: RegionErrors) -> float | None:
    error = float(found.errors[:, -1].mean())
    return float(found.bounds[:, -1].mean()) / error if error > _ROUNDING else None


def _times(ratio: float | None) -> str:
    return "no error" if ratio is None else f"the bound is {ratio:.0f} times the error"


def _falls(values: Sequence[float]) -> bool:
    return trend(values) <= _MONOTONE


def trend(values: Sequence[float]) -> float:
    """Return the rank correlation of values with their positions, or 0 if all are equal."""
    if min(values) == max(values):
        return 0.0
    return float(spearmanr(np.arange(len(values)), values).statistic)
