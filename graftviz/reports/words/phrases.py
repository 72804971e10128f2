"""Formatting of numbers, counts, names and lists as text, and short sentences of several pages."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from string import Formatter
from typing import Any, NamedTuple

import numpy as np

from graftviz.evaluation.selection.path import LamPath, PathPoint
from graftviz.evaluation.selection.stability import STABLE, EdgeStability
from graftviz.inference.inspect.samples import SampleComparison
from graftviz.learning.observer import Quality
from graftviz.learning.scores.registry import SCORES
from graftviz.learning.trace import ActivationTest, Remark
from graftviz.reports.texts import catalogue
from graftviz.utils.wording import enough_digits

LONGEST_NAME = 30
LONGEST_LIST = 4


def score(value: float, limit: float = math.nan) -> str:
    """Write a score with three significant digits, the zeros at the end included: 0.0110.

    More digits are written where three do not show whether it is above or below `limit`.
    """

    def side(number: float) -> tuple[bool, bool]:
        return number > limit, number < limit

    digits = enough_digits(value, lambda written: side(written) == side(value))
    return f"{'−' if value < 0 else ''}{abs(value):#.{digits}g}"


def score_line(text: str, test: ActivationTest | None) -> str:
    """Add the formula of the used score to a line of pseudo-code about it."""
    own = SCORES.get(test.score) if test else None
    if test is None or own is None:
        return text
    name = f"{text}, {own.formula}"
    capped: str = catalogue("steps")["scoring"]["capped"]
    return capped.format(line=name) if test.significance > 0 else name


def plural(count: int, noun: str) -> str:
    """Write "1 edge", "1,200 edges"."""
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


def counted(texts: Sequence[str], count: int, **values: str) -> str:
    """Fill the text for one or the one for several; ``{n}`` is the count."""
    return texts[count != 1].format(n=f"{count:,}", **values)


def was(count: int) -> str:
    """Return "was" or "were"."""
    return "was" if count == 1 else "were"


def short(text: str) -> str:
    """Cut a name or label that would drown the sentence."""
    return text if len(text) <= LONGEST_NAME else text[: LONGEST_NAME - 1] + "…"


def pair(names: Sequence[str], i: int, j: int) -> str:
    """Name an edge."""
    return f"{short(names[i])} – {short(names[j])}"


def listed(
    items: Sequence[str], total: int | None = None, texts: Mapping[str, Any] | None = None
) -> str:
    """Write "a", "a and b", "a, b and c", "a, b, c and 12 more".

    Parameters
    ----------
    items : sequence of str
        At least one; those beyond the first `LONGEST_LIST` need not be given.
    total : int, optional
        Total number; by default the number of `items`.
    """
    texts = catalogue("steps")["lists"]
    total = len(items) if total is None else total
    if total > LONGEST_LIST:
        more = texts["more"].format(count=f"{total - LONGEST_LIST + 1:,}")
        shown = [*items[: LONGEST_LIST - 1], more]
    else:
        shown = list(items)
    if len(shown) == 1:
        return shown[0]
    return str(texts["and"].format(names=", ".join(shown[:-1]), last=shown[-1]))


def listed_edges(
    names: Sequence[str],
    edges: Sequence[Sequence[int]],
    scores: Sequence[float] | None = None,
) -> str:
    """Write edges as a list of pairs, with their scores in brackets if there are any."""
    if not len(edges):
        return ""
    pairs = [pair(names, i, j) for i, j in edges[:LONGEST_LIST]]
    if scores is not None:
        pairs = [f"{text} ({score(own)})" for text, own in zip(pairs, scores, strict=False)]
    return listed(pairs, len(edges))


class Absence(NamedTuple):
    """Reason why a pair is not an edge.

    Attributes
    ----------
    score, threshold : float or None
        None where they are not known.
    tests : int
    words : str
    symbol : str
        Name of the threshold.
    last_test : dict or None
        Step, score and verdict of the last test, of learners that test pairs.
    needs : str or None
        Number of rows with which a true edge would be found, as a sentence.
    """

    score: float | None
    threshold: float | None
    tests: int
    words: str
    symbol: str = "λ"
    last_test: dict[str, Any] | None = None
    needs: str | None = None

    @property
    def violates(self) -> bool:
        """Whether the score is above the threshold."""
        return self.score is not None and self.threshold is not None and self.score > self.threshold


# --- stop reasons and notes; the templates are in ends.toml ---------------------------------------

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
