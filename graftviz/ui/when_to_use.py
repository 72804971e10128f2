"""A line for each choice between methods: when to use which. Controls show them all the time."""

from __future__ import annotations

from collections.abc import Mapping

# Option → choice → line. Short enough for the side of a page; the options' help says more.
WHEN_TO_USE: Mapping[str, Mapping[str, str]] = {
    "preset": {
        "paper": "To see the algorithm, to the letter: ranks raw correlation.",
        "best": "For the best graph: explains away, measures in noise, prunes.",
        "thesis": "Online edge grafting: as paper, but all pairs queue up at the start.",
        "authors": "To see what the authors' own code did: fewer tests, static hubs.",
    },
    "score": {
        "belief": "To follow the paper, or for speed: raw correlation.",
        "linear-response": "To discount what edges explain with counts alone, many rows.",
        "pseudo-likelihood": "To discount it on any graph: the safe choice, reads the rows.",
    },
    "complexity": {
        "treewidth": "For exact answers at a known price: every step proves its width.",
        "circuit-size": "As treewidth, but it counts states and how many cliques are wide.",
        "bp-sweeps": "For models that will be asked by belief propagation.",
        "trbp-sweeps": "As bp-sweeps, for tree-reweighted belief propagation.",
        "seconds": "When only the clock counts; the same seed may end elsewhere.",
        "approximation-error": "For approximate answers that must be close; small models.",
    },
    "objective": {
        "bethe": "Sparse graphs with few strong loops; any number of rows.",
        "pseudo-likelihood": "Loopy graphs, and the best predictions; reads the rows.",
    },
}
