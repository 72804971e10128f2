"""Pictures of the learners that activate edges or features, on the sample data set survey."""

from __future__ import annotations

import functools
from collections.abc import Iterable
from typing import Any

import numpy as np

import graftviz as gv
from docs.making.drawing import BLUE, GREEN, GREY, INK, ORANGE, PALE, RED, Axes, Box, Drawing
from docs.making.shapes import EdgeStyle, draw_graph, draw_matrix
from graftviz.data.sets.dataset import DataSet
from graftviz.learning.base import Learner
from graftviz.reports.results import Result

_LAM = 0.009
_PAPER: dict[str, Any] = {"preset": "paper", "lam": _LAM}
_WIDTH = 760
_RING = (
    *("work", "wakes up", "breakfast", "hot drink", "sleeps well", "evenings", "exercise"),
    *("commute", "home", "garden", "pet"),
)
_TRUE, _WRONG = EdgeStyle(GREEN, 3.0), EdgeStyle(RED, 2.0, "6 4")


@functools.cache
def survey() -> DataSet:
    """Return 2,000 rows of eleven questions, with their true edges."""
    return gv.load_dataset("survey")


@functools.cache
def learned(learner: Learner, seed: int = 0) -> Result:
    """Return the run of a learner on the survey."""
    return gv.learn(survey().table, learner, seed=seed, truth=survey().truth)


def truth() -> set[tuple[int, int]]:
    """Return the true edges of the survey."""
    edges = survey().truth
    assert edges is not None
    return {(int(i), int(j)) for i, j in edges}


def places(box: Box) -> np.ndarray:
    """Return places for the eleven questions, on a ring along the true edges."""
    names = survey().table.names
    turns = 2 * np.pi * np.array([_RING.index(name) for name in names]) / len(names)
    middle = np.array([box.left + box.width / 2, box.top + box.height / 2])
    return middle + np.stack([box.width * np.sin(turns), -box.height * np.cos(turns)], axis=1) / 2


def judged(edges: Iterable[Iterable[int]]) -> dict[tuple[int, int], EdgeStyle]:
    """Return how edges are drawn: missing ones pale, true ones green, wrong ones dashed red."""
    pairs = {(int(i), int(j)) for i, j in edges}
    styles = {pair: EdgeStyle(PALE, 3.0, "2 4") for pair in sorted(truth() - pairs)}
    return styles | {pair: _TRUE if pair in truth() else _WRONG for pair in sorted(pairs)}


def pair_name(i: int, j: int) -> str:
    """Write a pair of questions."""
    names = survey().table.names
    return f"{names[i]} – {names[j]}"


def best_choice() -> str:
    """Draw the reservoir of one step, and what the step took from it."""
    learner = gv.BestChoice(alpha=0.5, preset="paper", lam=0.002, first_tests=55)
    step = learned(learner).trace[0]
    view = step.reservoir
    assert view is not None
    drawing = Drawing(_WIDTH, 360, "Best-choice: a step takes the best of the reservoir")
    taken = {edge[:2] for edge in step.activated}
    beside = {(int(i), int(j)) for i, j in step.skipped_adjacent}
    drawing.text((24, 30), "After the first step")
    edges = {pair: EdgeStyle(BLUE, 4.0) for pair in sorted(taken)}
    edges |= {pair: EdgeStyle(ORANGE, 2.0, "5 4") for pair in sorted(beside)}
    draw_graph(drawing, places(Box(60, 70, 260, 250)), edges, survey().table.names)
    left, right, top = 500.0, 730.0, 56.0
    drawing.text((380, 30), f"The reservoir, {len(view.scores)} pairs by score")
    scale = (right - left) / view.maximum
    for k, ((i, j), score) in enumerate(zip(view.edges.tolist(), view.scores, strict=True)):
        y = top + 22 * k
        colour = BLUE if (i, j) in taken else ORANGE if (i, j) in beside else GREY
        drawing.rectangle(Box(left, y, float(score) * scale, 15), colour)
        drawing.text((left - 6, y + 12), pair_name(i, j), anchor="end", size=11)
    bottom = top + 22 * len(view.scores) + 4
    for value, word in ((view.mean, "μ"), (view.tau, "τ")):
        x = left + value * scale
        drawing.line((x, top - 8), (x, bottom), INK, 1.0, "4 3")
        drawing.text((x, bottom + 13), word, anchor="middle", size=12)
    drawing.text((380, bottom + 34), "blue: activated; orange: touches a better one", size=11)
    return drawing.svg()


def edge_grafting() -> str:
    """Draw the score with which every edge entered, in order, true and wrong ones apart."""
    result = learned(gv.EdgeGrafting(**_PAPER))
    scored = [edge for step in result.trace for edge in step.activated]
    drawing = Drawing(_WIDTH, 90 + 21 * len(scored), "Edge grafting: scores of the edges that came")
    drawing.text((24, 30), "Edges in the order of their activation, and their scores")
    left, right, top = 220.0, 700.0, 48.0
    scale = (right - left) / max(edge.score for edge in scored)
    for k, edge in enumerate(scored):
        pair, y = edge[:2], top + 21 * k
        right_one = pair in truth()
        width = edge.score * scale
        drawing.rectangle(Box(left, y, width, 14), GREEN if right_one else RED)
        drawing.text((left - 8, y + 12), pair_name(*pair), anchor="end", size=11)
        if not right_one:
            drawing.text((left + width + 6, y + 12), "not in the truth", size=11, colour=RED)
    bottom = top + 21 * len(scored)
    x = left + _LAM * scale
    drawing.line((x, top - 8), (x, bottom), INK, 1.0, "4 3")
    drawing.text((x, bottom + 16), f"λ = {_LAM:g}", anchor="middle", size=11)
    return drawing.svg()


def _objectives(result: Result) -> list[float]:
    return [step.objective for step in result.trace]


def first_hit() -> str:
    """Draw objectives against edges: first hit, best-choice, edge grafting."""
    budget: dict[str, Any] = {"max_edges": 14, "lam": 0.003, "lam2": 0.03, "preset": "paper"}
    runs = (
        ("first hit", gv.FirstHit(**budget), RED, ""),
        ("best-choice, α = 0.95", gv.BestChoice(**budget), BLUE, "7 4"),
        ("edge grafting", gv.EdgeGrafting(**budget), INK, "2 3"),
    )
    drawing = Drawing(_WIDTH, 330, "First hit needs more edges for the same objective")
    curves = [(name, learned(learner), colour, dash) for name, learner, colour, dash in runs]
    start = curves[0][1].trace[0].previous_objective
    lowest = min(min(_objectives(result)) for _, result, _, _ in curves)
    axes = Axes(
        drawing,
        Box(80, 44, 630, 220),
        (0, 14),
        (lowest - 0.02, start + 0.02),
        ("edges", "objective, nats a row"),
    )
    for _, result, colour, dash in curves:
        counts = [0, *(step.n_edges for step in result.trace)]
        axes.curve(counts, [start, *_objectives(result)], colour, dash)
    drawing.legend((500, 70), [(colour, dash, name) for name, _, colour, dash in curves])
    return drawing.svg()


def feature_grafting() -> str:
    """Draw the weights of three edges: which joint states are active, and which are not."""
    result = learned(gv.FeatureGrafting())
    model, table = result.model, survey().table
    cells = result.trace[-1].history.active_cells_at(len(result.trace))
    counts = [(int(active.sum()), e) for e, active in enumerate(cells) if not active.all()]
    chosen = sorted(e for _, e in sorted(counts, reverse=True)[:3])
    drawing = Drawing(_WIDTH, 300, "Feature grafting: edges with some joint states active")
    drawing.text((24, 30), "Weights of three edges; ×: this joint state is no feature")
    largest = max(float(np.abs(model.edge_weights(e)).max()) for e in chosen)
    for k, e in enumerate(chosen):
        i, j = (int(v) for v in model.edges[e])
        weights = model.edge_weights(e)
        rows, columns = weights.shape
        box = Box(100 + 230 * k, 80, 34 * columns, 34 * rows)
        draw_matrix(drawing, box, weights, largest, blank=~cells[e])
        for a, b in np.argwhere(~cells[e]).tolist():
            at = box.left + 34 * b + 17, box.top + 34 * a + 21
            drawing.text(at, "×", anchor="middle", colour=GREY)
        drawing.text((box.left, 60), pair_name(i, j), size=12)
        for a, label in enumerate(table.labels[i]):
            drawing.text((box.left - 6, box.top + 34 * a + 21), label, anchor="end", size=11)
        for b, label in enumerate(table.labels[j]):
            y = box.top + box.height + 15 + 14 * (b % 2)
            drawing.text((box.left + 34 * b + 17, y), label, anchor="middle", size=11)
    drawing.text((24, 282), f"blue: below 0; vermilion: above 0, up to {largest:.2f}", size=11)
    return drawing.svg()


def grafting_light() -> str:
    """Draw how far grafting-light is behind feature grafting at as many features."""
    fitted, light = learned(gv.FeatureGrafting()), learned(gv.GraftingLight())
    most = min(len(fitted.trace), len(light.trace))
    pairs = zip(_objectives(fitted)[:most], _objectives(light)[:most], strict=True)
    gaps = [0.0, *(1000.0 * (theirs - ours) for ours, theirs in pairs)]
    drawing = Drawing(_WIDTH, 330, "Grafting-light lags behind a full fit, and catches up")
    axes = Axes(
        drawing,
        Box(80, 44, 630, 220),
        (0, most + 2),
        (0.0, max(gaps) * 1.1),
        ("active features", "objective minus that of feature grafting, 0.001 nats a row"),
    )
    axes.curve(range(most + 1), gaps, RED)
    end = 1000.0 * (light.objective - fitted.objective)
    drawing.circle(axes.at(most, end), 5, GREEN)
    drawing.legend((470, 70), [(RED, "", "after each single step")])
    drawing.circle((481, 83), 5, GREEN)
    drawing.text((498, 87), "after the final fits", size=11)
    return drawing.svg()
