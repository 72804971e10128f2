"""Pictures of linear dynamical systems: the true matrix and the result of each learner."""

from __future__ import annotations

import functools

import numpy as np

from docs.making.drawing import BLUE, GREEN, INK, ORANGE, Box, Drawing
from docs.making.shapes import draw_matrix
from graftviz import dynamics
from graftviz.data.series.series import TimeSeries
from graftviz.dynamics.base import DynamicsLearner
from graftviz.dynamics.learning import DynamicsResult
from graftviz.dynamics.system import LinearSystem

_WIDTH = 760
_SIZE = 16  # series
_SIDE = 250.0


@functools.cache
def true_system() -> LinearSystem:
    """Return a random sparse system."""
    return dynamics.random_system(_SIZE, entries=3 * _SIZE, seed=4)


@functools.cache
def _series(rows: int) -> TimeSeries:
    return dynamics.simulate(true_system(), rows, seed=4)


def _parents() -> tuple[tuple[int, ...], ...]:
    return tuple(tuple(true_system().parents(i).tolist()) for i in range(_SIZE))


def _beside_the_truth(title: str, result: DynamicsResult, what: str) -> Drawing:
    """Draw the true matrix on the left and the learned one on the right."""
    drawing = Drawing(_WIDTH, 350, title)
    truth, found = true_system(), result.system
    largest = float(np.abs(truth.matrix).max())
    drawing.text((90, 30), "The true A: row i is what drives series i")
    draw_matrix(drawing, Box(90, 46, _SIDE, _SIDE), truth.matrix, largest)
    drawing.text((430, 30), what)
    draw_matrix(drawing, Box(430, 46, _SIDE, _SIDE), found.matrix, largest)
    error = dynamics.coefficient_error(found, truth)
    recall = dynamics.structure_recall(found, truth)
    words = f"‖Ā − A‖ / ‖A‖ = {error:.2f}; true entries found: {recall:.0%}"
    drawing.text((430, 320), words, size=11)
    drawing.text((90, 320), "blue: below 0; vermilion: above 0; white: exactly 0", size=11)
    return drawing


def _learned(learner: DynamicsLearner, rows: int) -> DynamicsResult:
    return dynamics.learn(_series(rows), learner, seed=1)


def dense() -> str:
    """Draw what dense learning makes of few rows: noise everywhere."""
    result = _learned(dynamics.Dense(), 60)
    return _beside_the_truth("Dense learning from 60 rows", result, "Dense, from 60 rows").svg()


def enforcing() -> str:
    """Draw the coefficients from as few rows, with the parents given."""
    result = _learned(dynamics.SparsityEnforcing(adjacency=_parents()), 60)
    title = "Sparsity enforcing learning from 60 rows"
    return _beside_the_truth(title, result, "Parents given, from 60 rows").svg()


def inducing() -> str:
    """Draw what sparsity inducing learning finds; true entries it misses are marked."""
    result = _learned(dynamics.SparsityInducing(parents=4), 400)
    drawing = _beside_the_truth(
        "Sparsity inducing learning from 400 rows", result, "k = 4 parents, from 400 rows"
    )
    _mark_missed(drawing, result)
    return drawing.svg()


def scalable() -> str:
    """Draw what scalable structure learning finds, with how each row was learned."""
    result = _learned(dynamics.ScalableStructure(parents=4, seeds=5.0), 400)
    drawing = _beside_the_truth(
        "Scalable structure learning from 400 rows", result, "5 seeds, from 400 rows"
    )
    _mark_missed(drawing, result)
    colours = {"seed": BLUE, "inferred": ORANGE, "uncovered": GREEN}
    high = _SIDE / _SIZE
    for step in result.steps:
        drawing.rectangle(Box(416, 46 + step.node * high + 1, 9, high - 2), colours[step.kind])
    for k, (kind, colour) in enumerate(colours.items()):
        drawing.rectangle(Box(690, 60 + 20 * k, 9, 12), colour)
        drawing.text((703, 70 + 20 * k), kind, size=11)
    return drawing.svg()


def _mark_missed(drawing: Drawing, result: DynamicsResult) -> None:
    """Frame the true entries that were not found."""
    high = _SIDE / _SIZE
    missed = (true_system().matrix != 0.0) & (result.system.matrix == 0.0)
    for i, j in np.argwhere(missed).tolist():
        drawing.rectangle(Box(430 + j * high, 46 + i * high, high, high), "none", INK)
    drawing.text((430, 336), f"black frames: {missed.sum()} true entries it misses", size=11)
