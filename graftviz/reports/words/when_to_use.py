"""One line per choice of a method: when to use it."""

from __future__ import annotations

from collections.abc import Mapping

from graftviz.learning.scores.registry import SCORES

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
