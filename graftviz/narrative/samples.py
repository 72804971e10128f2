"""Samples beside the data in words."""

from __future__ import annotations

from graftviz.inspection.samples import SampleComparison

_SURE = 4.0  # standard errors that chance hardly makes
_MIXED = 1.05  # of split R-hat


def pair_name(found: SampleComparison, k: int) -> str:
    """Return two states of a pair in words."""
    i, j, a, b = found.states[k].tolist()
    names, labels = found.data.names, found.data.labels
    return f"{names[i]} = {labels[i][a]}, {names[j]} = {labels[j][b]}"


def samples_words(found: SampleComparison) -> str:
    """Return the largest difference of pair marginals, and whether chance can explain it."""
    k = found.largest
    data, samples = float(found.in_data[k]), float(found.in_model[k])
    gap, chance = abs(samples - data), _SURE * found.noise
    joined = "joined by an edge" if found.is_edge[k] else "without an edge"
    explained = "Chance explains up to" if gap < chance else "Chance explains only"
    sentences = [
        f"{found.drawn.n_rows:,} samples against {found.data.n_rows:,} rows. The largest "
        f"difference of a pair marginal is {gap:.3f}: {pair_name(found, k)} ({joined}) has "
        f"probability {data:.3f} in the data and {samples:.3f} in the samples.",
        f"{explained} about {chance:.3f}.",
    ]
    if found.split_rhat > _MIXED:
        sentences.append(
            f"The chains do not agree yet (split R-hat {found.split_rhat:.2f}), so the samples are "
            "rough."
        )
    return " ".join(sentences)
