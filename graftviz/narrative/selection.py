"""Sentences on a path over λ, on a curve over the rows, and on the stability of edges."""

from __future__ import annotations

import numpy as np

from graftviz.narrative.phrases import plural
from graftviz.selection import EdgeStability, LamPath, PathPoint, RowsCurve
from graftviz.selection.stability import STABLE


def best_points(path: LamPath) -> list[tuple[str, PathPoint]]:
    """Return both criteria, each with the point where it is lowest."""
    found = (("held-out NLPL", path.best_by_nlpl), ("EBIC", path.best_by_ebic))
    return [(name, point) for name, point in found if point is not None]


def path_words(path: LamPath) -> str:
    """Return a text alternative of the figure of a path."""
    largest, least = path.points[0], path.points[-1]
    edges = (
        f"From λ = {largest.lam:g} to {least.lam:g} the number of edges grows to {least.edges:,}"
    )
    found = [
        f"{name} is {'still falling' if path.ends_at(point) else 'best'} at λ = {point.lam:g}, "
        f"with {point.edges:,} edges"
        for name, point in best_points(path)
    ]
    return "; ".join((edges, *found)) + "."


def unknown_minima(path: LamPath) -> list[str]:
    """Return a sentence on each criterion that was still falling where the path ended."""
    return [
        f"The {name} is lowest at the last λ visited, {point.lam:g} "
        f"({plural(point.edges, 'edge')}), so its minimum is not known and no λ is suggested by "
        "it. Click the point to use it anyway."
        for name, point in best_points(path)
        if path.ends_at(point)
    ]


def rows_words(found: RowsCurve) -> str:
    """Return what a curve over the rows shows so far; it has at least one point."""
    first, last = found.points[0], found.points[-1]

    def change(name: str, form: str) -> str:
        before, after = first.mean(name), last.mean(name)
        if before is None or after is None:
            return ""
        return f"from {format(before, form)} to {format(after, form)}"

    what = "true edges" if found.has_truth else "graph of all rows"
    missing, false = change("missing", ".3g"), change("false", ".3g")
    sentences = [
        f"From {first.rows:,} to {last.rows:,} rows, missing edges go {missing} and false ones "
        f"{false}, against the {what}: a structure error {change('error', '.3g')}."
    ]
    if loss := change("nlpl_held_out", ".4g"):
        sentences.append(f"The held-out NLPL goes {loss} nats per row.")
    if lam := change("lam", ".3g"):
        fixed = getattr(found.learner, "lam", None)
        rule = f"is automatic and goes {lam}" if fixed is None else f"= {fixed:g} throughout"
        sentences.append(f"λ {rule}.")
    return " ".join(sentences)


def stability_words(found: EdgeStability, edges: np.ndarray) -> str:
    """Return the number of stable edges of a run as a Markdown sentence."""
    shares = found.frequency_of(edges)
    stable, rare = int((shares >= STABLE).sum()), int((shares < 0.5).sum())
    faint = f", {rare:,} in fewer than half of them (faint in the graph)" if rare else ""
    return (
        f"**{stable:,} of {len(shares):,} edges** were found in at least "
        f"{STABLE * found.done:.0f} of {found.done} random halves of the rows{faint}. Stable "
        "edges can still be wrong."
    )
