"""Sentences about outcomes: stop reasons, quality, samples, selection; when to use a method."""

from __future__ import annotations

from collections.abc import Mapping
from string import Formatter
from typing import Any

import numpy as np

from graftviz.evaluation.selection.path import LamPath, PathPoint
from graftviz.evaluation.selection.stability import STABLE, EdgeStability
from graftviz.inference.inspection import SampleComparison
from graftviz.learning.observer import Quality
from graftviz.learning.scores.registry import SCORES
from graftviz.learning.trace import Remark
from graftviz.reports.texts import catalogue
from graftviz.reports.words.phrases import counted
from graftviz.utils.wording import enough_digits

_BELOW = "below "


class _Words(Formatter):
    """Formatter of templates, with remarks as values.

    ``{score:below 1}`` has at least three digits, and enough to show that it is below 1.
    """

    def format_field(self, value: Any, format_spec: str) -> str:
        if isinstance(value, Remark):
            return remark_words(value)
        if format_spec.startswith(_BELOW):
            limit = float(format_spec.removeprefix(_BELOW))
            format_spec = f".{enough_digits(value, lambda written: written < limit)}g"
        return format(value, format_spec)


_WORDS = _Words()


def remark_words(remark: Remark) -> str:
    """Return a stop reason or a note of a learner as a sentence."""
    part, key = remark.kind.split(".")
    template = catalogue("ends")[part][key]
    if not isinstance(template, str):  # one for a single thing, one for several
        template = template[remark.values["count"] != 1]
    return _WORDS.vformat(template, (), remark.values)


# --- how well a model predicts --------------------------------------------------------------------


def quality_words(quality: Quality) -> str:
    """Return how well rows are predicted, and whether shrunk weights are the reason."""
    texts = catalogue("answers")["quality"]
    shown = {
        "rows": f"{quality.n_rows:,.0f}",
        "nlpl": f"{quality.nlpl:.4g}",
        "independent": f"{quality.independent:.4g}",
    }
    words = [texts[quality.rows.replace(" ", "_")].format(**shown)]
    if quality.is_shrunk:
        words.append(texts["shrunk"].format(refitted=f"{quality.refitted:.4g}"))
    return " ".join(words)


# --- samples beside the data ----------------------------------------------------------------------

_SURE = 4.0  # standard errors that chance hardly makes
_MIXED = 1.05  # of split R-hat


def pair_name(found: SampleComparison, k: int) -> str:
    """Return two states of a pair in words."""
    i, j, a, b = found.states[k].tolist()
    names, labels = found.data.names, found.data.labels
    return f"{names[i]} = {labels[i][a]}, {names[j]} = {labels[j][b]}"


def samples_words(found: SampleComparison) -> str:
    """Return the largest difference of pair marginals, and whether chance can explain it."""
    k, texts = found.largest, catalogue("grow")["samples"]
    data, samples = float(found.in_data[k]), float(found.in_model[k])
    gap, chance = abs(samples - data), _SURE * found.noise
    difference = texts["gap"].format(
        samples=f"{found.drawn.n_rows:,}",
        rows=f"{found.data.n_rows:,}",
        gap=f"{gap:.3f}",
        pair=pair_name(found, k),
        joined=texts["joined" if found.is_edge[k] else "apart"],
        data=f"{data:.3f}",
        model=f"{samples:.3f}",
    )
    explained = texts["chance" if gap < chance else "no_chance"].format(chance=f"{chance:.3f}")
    sentences = [difference, explained]
    if found.split_rhat > _MIXED:
        sentences.append(texts["mixing"].format(rhat=f"{found.split_rhat:.2f}"))
    return " ".join(sentences)


# --- a path over λ, and the stability of edges ----------------------------------------------------


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


# --- when to use a method -------------------------------------------------------------------------

# Option → choice → line. Short enough for the side of a page; the options' help says more.
WHEN_TO_USE: Mapping[str, Mapping[str, str]] = {
    "preset": {
        "paper": "The paper's method; ranks by raw correlation.",
        "best": "Most accurate: explains away, noise-based threshold, pruning.",
        "literal": "To the letter of the paper: node weights are penalised, first tests uncapped.",
    },
    "score": {name: score.when_to_use for name, score in SCORES.items()},
    "complexity": {
        "treewidth": "Exact inference at a known cost: the width is bounded at every step.",
        "circuit-size": "As treewidth, but accounts for the states of all cliques.",
        "bp-sweeps": "For inference by belief propagation.",
        "trbp-sweeps": "For inference by tree-reweighted belief propagation.",
        "seconds": "Bounds the running time; not reproducible by the seed.",
    },
    "objective": {
        "bethe": "Sparse graphs with few strong loops; any number of rows.",
        "pseudo-likelihood": "Loopy graphs, and the best predictions; reads the rows.",
    },
}
