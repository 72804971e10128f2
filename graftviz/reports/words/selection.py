"""Sentences on a path over λ, and on the stability of edges."""

from __future__ import annotations

import numpy as np

from graftviz.evaluation.selection.path import LamPath, PathPoint
from graftviz.evaluation.selection.stability import STABLE, EdgeStability
from graftviz.reports.texts import catalogue
from graftviz.reports.words.phrases import counted


def best_points(path: LamPath) -> list[tuple[str, PathPoint]]:
    """Return both criteria, each with the point where it is lowest."""
    found = (("held-out NLPL", path.best_by_nlpl), ("EBIC", path.best_by_ebic))
    return [(name, point) for name, point in found if point is not None]


def path_words(path: LamPath) -> str:
    """Return a text alternative of the figure of a path."""
    largest, least = path.points[0], path.points[-1]
    edges = (
        f"From λ = {largest.lam:g} to {least.lam:g} the number of edges grows to {least.n_edges:,}"
    )
    found = [
        f"{name} is {'still falling' if path.ends_at(point) else 'best'} at λ = {point.lam:g}, "
        f"with {point.n_edges:,} edges"
        for name, point in best_points(path)
    ]
    return "; ".join((edges, *found)) + "."


def unknown_minima(path: LamPath) -> list[str]:
    """Return a sentence on each criterion that was still falling where the path ended."""
    text = catalogue("grow")["path"]["unknown"]
    return [
        counted(text, point.n_edges, name=name, lam=f"{point.lam:g}")
        for name, point in best_points(path)
        if path.ends_at(point)
    ]


def stability_words(found: EdgeStability, edges: np.ndarray) -> str:
    """Return the number of stable edges of a run as a Markdown sentence."""
    shares = found.frequency_of(edges)
    stable, rare = int((shares >= STABLE).sum()), int((shares < 0.5).sum())
    text: str = catalogue("grow")["stability"]["faint" if rare else "stable"]
    return text.format(
        stable=f"{stable:,}",
        edges=f"{len(shares):,}",
        least=f"{STABLE * found.done:.0f}",
        halves=found.done,
        rare=f"{rare:,}",
    )
