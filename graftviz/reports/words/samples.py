"""Samples beside the data in words."""

from __future__ import annotations

from graftviz.inference.inspection import SampleComparison
from graftviz.reports.texts import catalogue

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
