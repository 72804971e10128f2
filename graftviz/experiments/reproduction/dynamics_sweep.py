"""Prediction error by number of parents and of seeds: figures 2.6 and 2.7 of the thesis."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np
import plotly.graph_objects as go

from graftviz.dynamics import Dense, ScalableStructure, SparsityInducing, has_seeds
from graftviz.experiments.reproduction.dynamics_city import (
    HORIZONS,
    CityPart,
    CitySize,
    CityStudy,
    city_results,
    data_title,
)
from graftviz.experiments.reproduction.dynamics_methods import (
    DENSE,
    DENSE_LOOK,
    INDUCING,
    INDUCING_LOOK,
    mean_line,
)
from graftviz.experiments.reproduction.experiment import (
    Cells,
    Claim,
    NotMeasured,
    Results,
    Verdict,
)
from graftviz.experiments.reproduction.verdicts import verdict
from graftviz.figures.reproduction import Look, scale_look
from graftviz.figures.reproduction_dynamics import SpreadLine, SpreadPanel, spread_figure

SHARE = 0.15  # of seeds, in the caption of figure 2.6
CITY_PARENTS = 50
SCALABLE, COMMON = "scalable", "scalable, common"
_LOOKS: Mapping[str, Look] = {
    INDUCING: INDUCING_LOOK,
    SCALABLE: scale_look(1),
    COMMON: scale_look(1, faint=True),
    DENSE: DENSE_LOOK,
}
_CLOSE, _SAME = 0.05, 0.02  # relative excess of an error that counts as close, as the same
_NEAR_BEST = 0.02
_FAR_APART = 2.0  # times as large
_ABOUT = 0.8  # ratio of two numbers that counts as about equal


class Sweep(NamedTuple):
    """Sizes and values of a sweep at one scale.

    Attributes
    ----------
    size : CitySize
    values : tuple of float
        Numbers of parents, or shares of seeds.
    draws : int
        Number of draws of random seeds.
    """

    size: CitySize
    values: tuple[float, ...]
    draws: int


@dataclass(frozen=True)
class SweepStudy(CityStudy):
    """Comparison of methods on a city for several values of one option.

    Attributes
    ----------
    sweeps : dict
        By scale.
    axis : {"parents", "seeds"}
    """

    sweeps: Mapping[str, Sweep]
    axis: Literal["parents", "seeds"]

    def parts(self, scale: str, seed: int) -> Sequence[CityPart]:
        """Return one part for every method, value and draw."""
        size, values, draws = self.sweeps[scale]
        parts = [CityPart(size, DENSE, Dense(), 0, seed)]
        if self.axis == "seeds":
            learner = SparsityInducing(parents=CITY_PARENTS)
            parts.append(CityPart(size, INDUCING, learner, 0, seed))
        for value in values:
            k = int(value) if self.axis == "parents" else CITY_PARENTS
            share = SHARE if self.axis == "parents" else value
            if self.axis == "parents":
                parts.append(CityPart(size, INDUCING, SparsityInducing(parents=k), 0, seed))
            for draw in range(draws):
                some = ScalableStructure(parents=k, seeds=share)
                parts.append(CityPart(size, SCALABLE, some, draw, seed))
                if self.axis == "seeds":
                    plain = ScalableStructure(parents=k, seeds=share, unspoken="common")
                    parts.append(CityPart(size, COMMON, plain, draw, seed))
        return parts

    def settings(self) -> dict[str, Any]:
        """Return the settings that all parts share."""
        return {
            "series": "each divided by its largest hour; counts with a sum below 100 left out",
            "held out": "the last fifth of the rows, and of three weeks or more at least a week",
            "seeds": f"{SHARE:.0%}" if self.axis == "parents" else "along the axis",
            "parents": "along the axis" if self.axis == "parents" else CITY_PARENTS,
            "horizons": list(HORIZONS),
        }

    def figure(self, title: str, results: Results) -> go.Figure:
        """Draw PredError at every horizon; methods without the option are horizontal lines."""
        words = "parents k" if self.axis == "parents" else "share of the series that are seeds"
        panels = []
        for steps in HORIZONS:
            lines = []
            along = (SCALABLE, INDUCING) if self.axis == "parents" else (SCALABLE,)
            places = sorted({x for name in along for x in self._by_x(results, name)})
            for name, look in _LOOKS.items():
                by_x = self._by_x(results, name, steps)
                level = [value for values in by_x.values() for value in values]
                if level and (name == DENSE or (name == INDUCING and self.axis == "seeds")):
                    by_x = dict.fromkeys(places, level)
                if by_x:
                    lines.append(mean_line(name, by_x, look))
            ahead = "one hour ahead" if steps == 1 else f"{steps} hours ahead"
            panels.append(
                SpreadPanel(
                    data_title(results) if steps == HORIZONS[0] else ahead,
                    words,
                    f"PredError {ahead}",
                    lines,
                    log_x=self.axis == "parents",
                    log_y=_far_apart(lines),
                )
            )
        return spread_figure(title, panels)

    def _by_x(self, results: Results, name: str, steps: int = 1) -> dict[float, list[float]]:
        return errors(results, name, self.axis, steps)

    def rows(self, results: Results) -> Iterator[Cells]:
        """Yield one row for every run."""
        keys = ("n", "parents", "seeds", "unspoken", "spectral_radius", "persistence", "train")
        ahead = (f"test_{steps}" for steps in HORIZONS)
        yield ("method", "share_of_seeds", "draw", *keys, *ahead)
        for part, found in city_results(results):
            share = part.learner.seeds if has_seeds(part.learner) else None
            tests = (found["test"][str(steps)] for steps in HORIZONS)
            yield (part.name, share, part.draw, *(found[key] for key in keys), *tests)

    def summary(self, results: Results) -> list[dict[str, Any]]:
        """Return the mean one-hour error of every method and value."""
        phrases = []
        for name in _LOOKS:
            for x, values in errors(results, name, self.axis).items():
                phrases.append(
                    {
                        "method": name,
                        self.axis: x,
                        "prediction_error": float(np.mean(values)),
                        "sd": float(np.std(values)),
                        "draws": len(values),
                        "data": data_title(results),
                    }
                )
        return phrases


def _far_apart(lines: Sequence[SpreadLine]) -> bool:
    """Return whether errors differ so much that a logarithmic axis is needed."""
    finite = [value for line in lines for value in line.y if value is not None]
    return bool(finite) and max(finite) > _FAR_APART * min(finite)


def errors(
    results: Results, name: str, axis: Literal["parents", "seeds"], steps: int = 1
) -> dict[float, list[float]]:
    """Return the PredErrors of a method by value of the option, ascending.

    Methods without the option have the number of parents as key, or 0 as share of seeds. Non-finite
    errors of unstable systems are infinite.
    """
    found: dict[float, list[float]] = {}
    for part, result in city_results(results):
        if part.name != name:
            continue
        learner = part.learner
        share = learner.seeds if has_seeds(learner) else 0.0
        x = float(result["parents"]) if axis == "parents" else share
        error = result["test"][str(steps)]
        found.setdefault(x, []).append(float("inf") if error is None else float(error))
    return dict(sorted(found.items()))


def _means(results: Results, name: str, axis: Literal["parents", "seeds"]) -> dict[float, float]:
    means = {x: float(np.mean(values)) for x, values in errors(results, name, axis).items()}
    if not means:
        raise NotMeasured(f"{name} was not measured.")
    return means


def some_parents_are_best(results: Results) -> Verdict:
    """Judge that the best number of parents is neither the smallest, the largest, nor all."""
    met, phrases, numbers = [], [], {}
    whole = next(iter(_means(results, DENSE, "parents").values()))
    for name in (INDUCING, SCALABLE):
        means = _means(results, name, "parents")
        if len(means) < 3:
            raise NotMeasured("The best number of parents needs three numbers to choose from.")
        best = min(means, key=lambda k: means[k])
        met += [best not in (min(means), max(means)), means[best] < whole]
        phrases.append(f"{name} is best with k = {best:g} ({means[best]:.4f}; {_listed(means)})")
        numbers[name] = {"best": best, "errors": _keyed(means)}
    return verdict(
        met,
        f"PredError one hour ahead on {data_title(results)}: {'; '.join(phrases)}; dense learning, "
        f"with all as parents: {whole:.4f}.",
        **numbers,
        dense=whole,
    )


def fifty_parents_are_best(results: Results) -> Verdict:
    """Judge that fifty parents are as good as the best number."""
    met, phrases, numbers = [], [], {}
    for name in (INDUCING, SCALABLE):
        means = _means(results, name, "parents")
        at = min(means, key=lambda k: abs(k - CITY_PARENTS))
        if at < _ABOUT * CITY_PARENTS or at > CITY_PARENTS / _ABOUT:
            raise NotMeasured(f"No run of {name} had about {CITY_PARENTS} parents.")
        best = min(means, key=lambda k: means[k])
        above = means[at] / means[best] - 1.0
        met.append(above <= _NEAR_BEST)
        phrases.append(f"{name} {above:.1%} above its best, k = {best:g}")
        numbers[name] = {"parents": at, "above_best": above, "best": best}
    shown = ", ".join(sorted({f"k = {found['parents']:g}" for found in numbers.values()}))
    return verdict(
        met,
        f"{shown}: {'; '.join(phrases)} ({_NEAR_BEST:.0%} counts as equal). On "
        f"{data_title(results)}; the thesis has 4,057.",
        **numbers,
    )


def dense_overfits(results: Results) -> Verdict:
    """Judge that dense learning has the smallest training and the largest held-out error."""
    train: dict[str, list[float]] = {}
    for part, found in city_results(results):
        train.setdefault(part.name, []).append(float(found["train"]))
    if DENSE not in train or len(train) < 2:
        raise NotMeasured("Dense learning and another method are needed.")
    whole = next(iter(_means(results, DENSE, "seeds").values()))
    met, phrases = [], []
    for name in (INDUCING, SCALABLE, COMMON):
        if name in train:
            worst = max(_means(results, name, "seeds").values())
            met += [worst < whole, min(train[name]) > train[DENSE][0]]
            phrases.append(f"{name} at least {min(train[name]):.3f} and at most {worst:.3f}")
    return verdict(
        met,
        f"PredError in training and on held-out rows of {data_title(results)}: dense "
        f"{train[DENSE][0]:.3f} and {whole:.3f}; {'; '.join(phrases)}.",
        dense={"train": train[DENSE][0], "test": whole},
    )


def _near_inducing(share: float, allowed: float) -> Any:
    def judge(results: Results) -> Verdict:
        whole = next(iter(_means(results, INDUCING, "seeds").values()))
        met, phrases, numbers = [], [], {}
        for name in (SCALABLE, COMMON):
            runs = errors(results, name, "seeds").get(share)
            if runs is None:
                raise NotMeasured(f"{name} was not measured with {share:.0%} seeds.")
            above = float(np.mean(runs)) / whole - 1.0
            met.append(above <= allowed)
            phrases.append(f"{name} {np.mean(runs):.4f} ± {np.std(runs):.4f} ({above:+.1%})")
            numbers[name] = {"error": float(np.mean(runs)), "above": above, "draws": len(runs)}
        return verdict(
            met,
            f"PredError one hour ahead with {share:.0%} seeds on {data_title(results)}: "
            f"{'; '.join(phrases)}, inducing {whole:.4f}. Up to {allowed:.0%} above counts.",
            **numbers,
            inducing=whole,
        )

    return judge


def _listed(means: Mapping[float, float]) -> str:
    return ", ".join(f"{value:.4f} at {k:g}" for k, value in means.items())


def _keyed(means: Mapping[float, float]) -> dict[str, float]:
    return {f"{k:g}": value for k, value in means.items()}


PARENT_CLAIMS = (
    Claim(
        "There is a best number of parents, and it is a small part of all series.",
        some_parents_are_best,
    ),
    Claim("About 50 parents yield the best prediction.", fifty_parents_are_best),
)
SEED_CLAIMS = (
    Claim("Dense learning is likely over-fitting.", dense_overfits),
    Claim(
        "With 10 % of the series as seeds scalable learning is close to sparsity inducing "
        "learning.",
        _near_inducing(0.1, _CLOSE),
    ),
    Claim("With 20 % it reaches the same performance.", _near_inducing(0.2, _SAME)),
)
