"""Rank of the best edge of a reservoir, as simulated in the best-choice paper."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import plotly.graph_objects as go

from graftviz.experiments.reproduction.data import Data
from graftviz.experiments.reproduction.experiment import (
    Cells,
    Claim,
    NotMeasured,
    Part,
    Results,
    Study,
    Verdict,
)
from graftviz.experiments.reproduction.verdicts import verdict
from graftviz.figures.reproduction import Ranks, rank_figure

_SMALL_RESERVOIR = 50
_DEVIATION = 0.05
_MOST_OF_THE_GAIN = 0.9


@dataclass(frozen=True)
class RanksPart(Part):
    """Smallest of |R| ranks drawn without replacement from 1 … n (n − 1) / 2, for every |R|.

    Attributes
    ----------
    n : int
    largest : int
        Largest |R|; the smallest is 1.
    trials : int
    seed : int
    """

    n: int
    largest: int
    trials: int
    seed: int

    @property
    def title(self) -> str:
        """Short description of the measurement."""
        return f"{self.trials} trials of {self.largest} reservoirs among {self.n} variables"

    @property
    def work(self) -> int:
        """Number of reservoir sizes."""
        return self.largest

    def settings(self, data: Data) -> dict[str, Any]:
        """Return the sizes and the seed."""
        return {
            "part": "reservoir ranks",
            **{name: getattr(self, name) for name in ("n", "largest", "trials", "seed")},
        }

    def rehearse(self, data: Data) -> None:
        """Do nothing: nothing is compiled."""

    def measure(self, data: Data, on_progress: Callable[[int], None]) -> dict[str, Any]:
        """Simulate the ranks."""
        rng = np.random.default_rng(self.seed)
        possible = math.comb(self.n, 2)
        found: dict[str, list[float]] = {"mean": [], "least": [], "largest": []}
        for size in range(1, self.largest + 1):
            ranks = np.array(
                [
                    1 + rng.choice(possible, size=size, replace=False, shuffle=False).min()
                    for _ in range(self.trials)
                ]
            )
            found["mean"].append(float(ranks.mean()))
            found["least"].append(float(ranks.min()))
            found["largest"].append(float(ranks.max()))
            on_progress(size)
        return found


@dataclass(frozen=True)
class ReservoirRanks(Study):
    """Simulation of ranks: n, largest |R| and trials by scale."""

    sizes: Mapping[str, tuple[int, int, int]]

    def parts(self, scale: str, seed: int) -> Sequence[RanksPart]:
        """Return a single part."""
        return [RanksPart(*self.sizes[scale], seed)]

    def needs(self) -> tuple[str, ...]:
        """Return nothing: ranks need no data."""
        return ()

    def settings(self) -> dict[str, Any]:
        """Return the settings of the simulation."""
        return {"draws": "without replacement, independently for every size and trial"}

    def figure(self, title: str, results: Results) -> go.Figure:
        """Draw mean, expected and extreme ranks."""
        part, ranks = _only(results)
        return rank_figure(title, ranks, math.comb(part.n, 2))

    def rows(self, results: Results) -> Iterator[Cells]:
        """Yield one row for every size of the reservoir."""
        yield ("reservoir", "mean_rank", "expected_rank", "least_rank", "largest_rank")
        if results:
            _, ranks = _only(results)
            yield from zip(*(column.tolist() for column in ranks), strict=True)

    def summary(self, results: Results) -> list[dict[str, Any]]:
        """Return the ranks of a few sizes."""
        if not results:
            return []
        part, ranks = _only(results)
        chosen = [size for size in (1, 10, 50, 100, part.n, part.largest) if size <= part.largest]
        return [
            {
                "variables": part.n,
                "trials": part.trials,
                "reservoir": size,
                "mean_rank": float(ranks.mean[size - 1]),
                "expected_rank": float(ranks.expected[size - 1]),
                "percent_of_all_pairs": 100 * float(ranks.mean[size - 1]) / math.comb(part.n, 2),
            }
            for size in dict.fromkeys(chosen)
        ]


def _only(results: Results) -> tuple[RanksPart, Ranks]:
    for part, result in results.items():
        if isinstance(part, RanksPart):
            sizes = np.arange(1, part.largest + 1)
            # The expected minimum of k draws without replacement from 1 … M is (M + 1) / (k + 1).
            expected = (math.comb(part.n, 2) + 1) / (sizes + 1)
            columns = (np.array(result[name]) for name in ("mean", "least", "largest"))
            mean, least, largest = columns
            return part, Ranks(sizes, mean, expected, least, largest)
    raise NotMeasured("The ranks were not simulated.")


def _as_expected(results: Results) -> Verdict:
    _, ranks = _only(results)
    ratios = ranks.mean / ranks.expected
    return verdict(
        [abs(float(ratios.mean()) - 1.0) <= _DEVIATION],
        f"The simulated mean is {ratios.mean():.3f} times the expected rank on average over all "
        f"|R| ({ratios.min():.2f} to {ratios.max():.2f} for single sizes).",
        mean_ratio=float(ratios.mean()),
    )


def _small_is_enough(results: Results) -> Verdict:
    part, ranks = _only(results)
    size = min(_SMALL_RESERVOIR, part.largest)
    first, small = float(ranks.mean[0]), float(ranks.mean[size - 1])
    share = (first - small) / (first - 1.0)
    possible = math.comb(part.n, 2)
    return verdict(
        [share >= _MOST_OF_THE_GAIN],
        f"Of {possible:,} pairs the best of |R| = {size} ranks {small:,.0f} on average, that of "
        f"first hit {first:,.0f}: {share:.1%} of what an unlimited reservoir would gain.",
        share_of_gain=share,
    )


CLAIMS = (
    Claim(
        "The rank of the best edge of a reservoir of random edges is the least of |R| uniform "
        "draws: simulated and expected ranks, 1 / (|R| + 1) of all, are nearly the same.",
        _as_expected,
    ),
    Claim(
        "A small reservoir gains much over first hit (|R| = 1), and an unlimited one, which is "
        "edge grafting, hardly gains more.",
        _small_is_enough,
    ),
)
