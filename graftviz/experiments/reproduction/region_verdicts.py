"""What the paper on localized inference says about errors and bounds on grids, judged."""

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
    Grown,
    grown,
    largest_ratio,
    panels,
    rules,
)
from graftviz.experiments.reproduction.verdicts import verdict

_STANDARD_ERRORS = 2.0  # beyond which a mean difference is taken for one
_ABOUT_THE_SAME = 1.25  # times as much or as little
_TIGHT = 0.05
_MONOTONE = -0.9  # rank correlation
_ROUNDING = 1e-9


def bounds_hold(results: Results) -> Verdict:
    """Judge that no true error exceeds its bound, in any model at any size."""
    checked = exceeded = 0
    worst = 0.0
    for panel in panels(results):
        for rule in rules(results, panel):
            found = grown(results, panel, rule)
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
    told, numbers = [], {}
    for panel in panels(results):
        greedy = grown(results, panel, GREEDY)
        for baseline in BASELINES:
            other = grown(results, panel, baseline)
            clear = {
                "bound": _clearly_less(greedy.bounds, other.bounds),
                "error": _clearly_less(greedy.errors, other.errors),
            }
            met += clear.values()
            bounds, errors = (_at_the_end(greedy, other, what) for what in ("bounds", "errors"))
            unclear = [what for what, is_clear in clear.items() if not is_clear]
            excepted = f" (not clearly less: {' and '.join(unclear)})" if unclear else ""
            told.append(
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
        f"Greedy {'; '.join(told)}; means at the largest size. Clear is a mean paired difference "
        "over all sizes of two standard errors.",
        panels=numbers,
    )


def same_error_with_mean_field(results: Results) -> Verdict:
    """Judge that the mean-field cut has about the error of dropping out: overall and at the end."""
    met, told, numbers = [], [], {}
    for panel in panels(results):
        drop, field = (
            grown(results, panel, rule).errors.mean(axis=0) for rule in (GREEDY, MEAN_FIELD)
        )
        overall = _times_as_much(field.mean(), drop.mean())
        largest = _times_as_much(field[-1], drop[-1])
        met += [1 / _ABOUT_THE_SAME <= ratio <= _ABOUT_THE_SAME for ratio in (overall, largest)]
        told.append(f"{overall:.2f} ({largest:.2f}) times on {panel.title}")
        numbers[panel.title] = {"over_all_sizes": overall, "largest_size": largest}
    return verdict(
        met,
        f"Its mean error over all sizes (and at the largest) is that of dropping out "
        f"{', '.join(told)}.",
        ratio_of_errors=numbers,
    )


def tighter_bound_with_mean_field(results: Results) -> Verdict:
    """Judge that the mean-field cut has a clearly smaller bound than dropping out."""
    met, told, numbers = [], [], {}
    for panel in panels(results):
        drop, field = (grown(results, panel, rule).bounds for rule in (GREEDY, MEAN_FIELD))
        met.append(_clearly_less(field, drop))
        at_sizes = field.mean(axis=0) < drop.mean(axis=0)
        told.append(
            f"{field.mean():.3g} against {drop.mean():.3g} on {panel.title}, smaller at "
            f"{int(at_sizes.sum())} of {len(at_sizes)} sizes"
        )
        numbers[panel.title] = {
            "mean_field": field.mean(axis=0).tolist(),
            "dropping_out": drop.mean(axis=0).tolist(),
        }
    return verdict(
        met,
        f"Mean bound over all sizes: {'; '.join(told)}. Dropping out puts what outside neighbours "
        "do in the middle of what they can do; the bound is a supremum over that, and moving away "
        "from the middle makes it larger more often than not.",
        bounds=numbers,
    )


def errors_beyond_greedy_bounds(results: Results) -> Verdict:
    """Judge that baselines err by more than greedy's bounds: in the mean, and in single models."""
    met, told, numbers = [], [], {}
    for panel in panels(results):
        best = np.minimum(*(grown(results, panel, rule).bounds for rule in (GREEDY, MEAN_FIELD)))
        curve = np.minimum(
            *(grown(results, panel, rule).bounds.mean(axis=0) for rule in (GREEDY, MEAN_FIELD))
        )
        for baseline in BASELINES:
            errors = grown(results, panel, baseline).errors
            sizes = np.flatnonzero(errors.mean(axis=0) > curve) + 1
            share = float((errors > best).mean())
            met += [len(sizes) > 0, share > 0]
            at = f"at {len(sizes)} sizes" if len(sizes) else "at no size"
            told.append(
                f"{baseline.name} on {panel.title}: {at} in the mean, {share:.1%} of single regions"
            )
            numbers[f"{panel.title}, {baseline.name}"] = {
                "sizes": sizes.tolist(),
                "share_of_regions": share,
            }
    return verdict(
        met,
        f"True errors above the smaller of greedy's two bounds for the same model and size, "
        f"{'; '.join(told)}.",
        panels=numbers,
    )


def tight_for_strong_fields(results: Results) -> Verdict:
    """Judge that bounds lie close to errors at the largest T₁, and closer than at the smallest.

    Closer is a smaller difference, and a smaller ratio where there is an error to compare with.
    """
    met, told, numbers = [], [], {}
    for name, row in _rows_of_fields(results):
        for rule in rules(results, row[0]):
            found = [grown(results, panel, rule) for panel in row]
            gaps, ratios = [_gap(one) for one in found], [_ratio(one) for one in found]
            met += [gaps[-1] < gaps[0], gaps[-1] <= _TIGHT]
            if ratios[0] is not None and ratios[-1] is not None:
                met.append(ratios[-1] < ratios[0])
            told.append(
                f"{rule.name}, {name}: {gaps[0]:.2g} at T₁ = {row[0].field:g} "
                f"({_times(ratios[0])}), {gaps[-1]:.2g} at T₁ = {row[-1].field:g} "
                f"({_times(ratios[-1])})"
            )
            numbers[f"{rule.name}, {name}"] = {"gaps": gaps, "bound_to_error": ratios}
    return verdict(met, f"Mean bound less mean error: {'; '.join(told)}.", series=numbers)


def fall_with_stronger_fields(results: Results) -> Verdict:
    """Judge that bounds and errors fall as T₁ grows."""
    met, told, numbers = [], [], {}
    for name, row in _rows_of_fields(results):
        for rule in rules(results, row[0]):
            for what in ("bounds", "errors"):
                means = [
                    float(getattr(grown(results, panel, rule), what)[:, -1].mean()) for panel in row
                ]
                falls = _falls(means)
                met.append(falls)
                peak = row[int(np.argmax(means))].field
                risen = "" if falls else f", rising up to T₁ = {peak:g}"
                told.append(
                    f"{what} of {rule.name}, {name}: {means[0]:.2g} to {means[-1]:.2g}{risen}"
                )
                numbers[f"{what}, {rule.name}, {name}"] = means
    return verdict(met, f"From the smallest to the largest T₁: {'; '.join(told)}.", means=numbers)


def _clearly_less(one: np.ndarray, other: np.ndarray) -> bool:
    """Return whether values are less in the mean by two standard errors, model by model."""
    difference = (one - other).mean(axis=1)
    error = difference.std(ddof=1) / np.sqrt(len(difference)) if len(difference) > 1 else np.inf
    return bool(difference.mean() < -_STANDARD_ERRORS * error)


def _times_as_much(one: float, other: float) -> float:
    return float(one / other) if other > _ROUNDING else 1.0


def _at_the_end(one: Grown, other: Grown, what: str) -> list[float]:
    return [float(getattr(found, what)[:, -1].mean()) for found in (one, other)]


def _rows_of_fields(results: Results) -> list[tuple[str, Sequence[GridPanel]]]:
    """Return panels that differ in T₁ alone, by rising T₁."""

    def others(panel: GridPanel) -> tuple[Any, ...]:
        return panel.side, panel.coupling

    rows = []
    for (side, coupling), row in groupby(sorted(panels(results), key=others), others):
        rows.append((f"{side} × {side}, T₂ = {coupling:g}", sorted(row, key=lambda p: p.field)))
    if not any(len(row) > 1 for _, row in rows):
        raise NotMeasured("One T₁ alone cannot show what its strength does.")
    return [(name, row) for name, row in rows if len(row) > 1]


def _gap(found: Grown) -> float:
    return float((found.bounds - found.errors)[:, -1].mean())


def _ratio(found: Grown) -> float | None:
    error = float(found.errors[:, -1].mean())
    return float(found.bounds[:, -1].mean()) / error if error > _ROUNDING else None


def _times(ratio: float | None) -> str:
    return "no error" if ratio is None else f"the bound is {ratio:.0f} times the error"


def _falls(values: Sequence[float]) -> bool:
    return trend(values) <= _MONOTONE


def trend(values: Sequence[float]) -> float:
    """Return the rank correlation of values with their places; 0 where all are the same."""
    if min(values) == max(values):
        return 0.0
    return float(spearmanr(np.arange(len(values)), values).statistic)
