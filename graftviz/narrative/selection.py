"""Sentences on a path over λ, on a curve over the rows, and on the stability of edges."""

from __future__ import annotations

import numpy as np

from graftviz.narrative.phrases import counted
from graftviz.selection import EdgeStability, LamPath, PathPoint, RowsCurve
from graftviz.selection.stability import STABLE
from graftviz.texts import LANGUAGE, catalogue


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


def unknown_minima(path: LamPath, language: str = LANGUAGE) -> list[str]:
    """Return a sentence on each criterion that was still falling where the path ended."""
    text = catalogue("grow", language)["path"]["unknown"]
    return [
        counted(text, point.n_edges, name=name, lam=f"{point.lam:g}")
        for name, point in best_points(path)
        if path.ends_at(point)
    ]


def rows_words(found: RowsCurve, language: str = LANGUAGE) -> str:
    """Return what a curve over the rows shows so far; it has at least one point."""
    first, last = found.points[0], found.points[-1]
    texts = catalogue("grow", language)["rows"]

    def change(name: str, form: str) -> str:
        before, after = first.mean(name), last.mean(name)
        if before is None or after is None:
            return ""
        return str(texts["change"].format(before=format(before, form), after=format(after, form)))

    sentences = [
        texts["errors"].format(
            first=f"{first.n_rows:,}",
            last=f"{last.n_rows:,}",
            missing=change("missing", ".3g"),
            false=change("false", ".3g"),
            what=texts["truth" if found.has_truth else "all"],
            error=change("error", ".3g"),
        )
    ]
    if loss := change("nlpl_test", ".4g"):
        sentences.append(texts["loss"].format(change=loss))
    if lam := change("lam", ".3g"):
        fixed = getattr(found.learner, "lam", None)
        rule = texts["lam_goes" if fixed is None else "lam_fixed"]
        sentences.append(rule.format(change=lam, lam="" if fixed is None else f"{fixed:g}"))
    return " ".join(sentences)


def stability_words(found: EdgeStability, edges: np.ndarray, language: str = LANGUAGE) -> str:
    """Return the number of stable edges of a run as a Markdown sentence."""
    shares = found.frequency_of(edges)
    stable, rare = int((shares >= STABLE).sum()), int((shares < 0.5).sum())
    text: str = catalogue("grow", language)["stability"]["faint" if rare else "stable"]
    return text.format(
        stable=f"{stable:,}",
        edges=f"{len(shares):,}",
        least=f"{STABLE * found.done:.0f}",
        halves=found.done,
        rare=f"{rare:,}",
    )
