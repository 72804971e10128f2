"""Judgement of the claims of the thesis about learning from noisy transitions."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from scipy.stats import spearmanr

from graftviz.experiments.reproduction.dynamics_methods import (
    COEFFICIENTS,
    DENSE,
    FRACTIONS,
    INDUCING,
    MEASURES,
    PREDICTION,
    STRUCTURE,
    TWO_STEPS,
    scalable,
)
from graftviz.experiments.reproduction.dynamics_noise import NoiseResults, collect_noise_results
from graftviz.experiments.reproduction.experiment import Results, Verdict
from graftviz.experiments.reproduction.verdicts import verdict

Judge = Callable[[Results], Verdict]
_MONOTONE = 0.9  # rank correlation
_CLOSE = 1.1  # ratio of errors that counts as close
_AS_WELL = 0.01  # difference of errors that counts as equal


def _families(setup_parents: int) -> dict[str, list[str]]:
    """Return the names of scalable methods by treatment of uncovered series, few seeds first."""
    return {
        words: [scalable(setup_parents, share, common=common).name for share in FRACTIONS]
        for words, common in (
            ("series without a seed grafted", False),
            ("series without a seed in common", True),
        )
    }


def _scalables(found: NoiseResults) -> list[str]:
    return [name for names in _families(found.setup.parents).values() for name in names]


def _ends(found: NoiseResults, name: str, key: str) -> str:
    means = found.measure(name, key).mean(axis=0)
    return f"{name} {means[0]:.3f} to {means[-1]:.3f}"


def _mean_sentence(found: NoiseResults, names: Sequence[str], key: str) -> str:
    levels = found.setup.levels
    listed = "; ".join(_ends(found, name, key) for name in names)
    return f"Mean {MEASURES[key]} at noise {levels[0]:g} to {levels[-1]:g}: {listed}"


def _numbers(found: NoiseResults, names: Sequence[str], key: str) -> dict[str, list[float]]:
    return {name: found.measure(name, key).mean(axis=0).tolist() for name in names}


def inducing_recovers_best(results: Results) -> Verdict:
    """Judge that inducing finds more true parents than scalable at every level."""
    found = collect_noise_results(results)
    best = found.measure(INDUCING, STRUCTURE).mean(axis=0)
    others = _scalables(found)
    met = [
        bool(better)
        for name in others
        for better in best > found.measure(name, STRUCTURE).mean(axis=0)
    ]
    chance = found.setup.parents / found.setup.n
    return verdict(
        met,
        f"{_mean_sentence(found, [INDUCING, *others], STRUCTURE)}; parents at random would give "
        f"{chance:.2f}.",
        structure_recall=_numbers(found, [INDUCING, *others], STRUCTURE),
        at_random=chance,
    )


def inducing_errs_least(results: Results) -> Verdict:
    """Judge that inducing has a smaller coefficient error than dense and scalable."""
    found = collect_noise_results(results)
    best = found.measure(INDUCING, COEFFICIENTS).mean(axis=0)
    others = [DENSE, *_scalables(found)]
    # Without noise, methods with the true parents are exact up to rounding.
    met = [
        bool(better)
        for name in others
        for better in best <= found.measure(name, COEFFICIENTS).mean(axis=0) + 1e-9
    ]
    return verdict(
        met,
        f"{_mean_sentence(found, [INDUCING, *others], COEFFICIENTS)}. Inducing has the "
        f"smallest error in {sum(met)} of {len(met)} comparisons.",
        coefficient_error=_numbers(found, [INDUCING, *others], COEFFICIENTS),
    )


def more_seeds_are_better(key: str) -> Judge:
    """Judge that scalable learning improves with the share of seeds on average."""

    def judge(results: Results) -> Verdict:
        found = collect_noise_results(results)
        sign = 1.0 if key == STRUCTURE else -1.0
        met, phrases = [], []
        for words, names in _families(found.setup.parents).items():
            means = np.array([found.measure(name, key).mean() for name in names])
            rising = sign * np.diff(means) > 0.0
            met += rising.tolist()
            shares = ", ".join(
                f"{mean:.3f} with {share:.0%}" for mean, share in zip(means, FRACTIONS, strict=True)
            )
            phrases.append(f"{words}: {shares}")
        beside = found.measure(INDUCING, key).mean()
        return verdict(
            met,
            f"Mean {MEASURES[key]} over all levels of noise, {'; '.join(phrases)}; {INDUCING}: "
            f"{beside:.3f}.",
            means=_numbers(found, [INDUCING, *_scalables(found)], key),
        )

    return judge


def errors_grow_with_noise(results: Results) -> Verdict:
    """Judge that the coefficient error grows with noise for every method."""
    found = collect_noise_results(results)
    names = list(found.of)
    ranks = {
        name: float(
            spearmanr(found.setup.levels, found.measure(name, COEFFICIENTS).mean(axis=0)).statistic
        )
        for name in names
    }
    least = min(ranks, key=lambda name: ranks[name])
    return verdict(
        [rank >= _MONOTONE for rank in ranks.values()],
        f"Rank correlation of noise and mean CoeffRecError is at least {ranks[least]:.2f} "
        f"({least}). {_mean_sentence(found, names, COEFFICIENTS)}.",
        rank_correlation=ranks,
    )


def dense_is_as_good_without_noise(results: Results) -> Verdict:
    """Judge that dense learning predicts about as well as the best without noise."""
    found = collect_noise_results(results)
    at = {name: float(found.measure(name, PREDICTION)[:, 0].mean()) for name in found.of}
    best = min(at, key=lambda name: at[name])
    return verdict(
        [at[DENSE] <= at[best] + _AS_WELL],
        f"Without noise the mean PredError of dense learning is {at[DENSE]:.2g}, that of inducing "
        f"{at[INDUCING]:.2g}, the least {at[best]:.2g} ({best}).",
        prediction_error=at,
    )


def dense_overfits(key: str = PREDICTION) -> Judge:
    """Judge that dense learning predicts worse than inducing and scalable with noise."""

    def judge(results: Results) -> Verdict:
        found = collect_noise_results(results)
        dense_mean = found.measure(DENSE, key).mean(axis=0)[1:]
        others = [INDUCING, *_scalables(found)]
        worse = {
            name: (dense_mean > found.measure(name, key).mean(axis=0)[1:]).tolist()
            for name in others
        }
        listing = ", ".join(f"{name} at {sum(met)} of {len(met)}" for name, met in worse.items())
        return verdict(
            [one for met in worse.values() for one in met],
            f"Levels of noise at which dense learning has the larger {MEASURES[key]}: than "
            f"{listing}. {_mean_sentence(found, [DENSE, *others], key)}.",
            means=_numbers(found, [DENSE, *others], key),
        )

    return judge


def scalable_reaches_inducing(results: Results) -> Verdict:
    """Judge that scalable learning approaches inducing in prediction as noise grows."""
    found = collect_noise_results(results)
    best = found.measure(INDUCING, PREDICTION).mean(axis=0)
    met, phrases, ratios = [], [], {}
    for name in _scalables(found):
        gaps = found.measure(name, PREDICTION).mean(axis=0) - best
        ratio = float((gaps[-1] + best[-1]) / best[-1])
        met += [bool(gaps[-1] < gaps[0]), ratio <= _CLOSE]
        ratios[name] = ratio
        phrases.append(f"{name} is {gaps[0]:.3f} above without noise, {gaps[-1]:.3f} with the most")
    return verdict(
        met,
        f"Mean PredError against inducing ({best[0]:.3f} to {best[-1]:.3f}): {'; '.join(phrases)}. "
        f"At the end within {_CLOSE - 1:.0%} counts as reached.",
        ratio_at_most_noise=ratios,
    )


def two_steps_alike(results: Results) -> Verdict:
    """Judge that dense learning over-fits two steps ahead as well as one step ahead."""
    return dense_overfits(TWO_STEPS)(results)
