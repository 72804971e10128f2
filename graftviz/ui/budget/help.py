"""Help of the Budget page."""

from __future__ import annotations

from graftviz.ui.key_help import KEYS

_FIRST = """
**Models are learned for inference.** The cost of exact inference depends on the graph and grows
exponentially with its **treewidth**: variables that are eliminated together form a *clique* of the
**junction tree**, and the table of the widest clique has an entry for every joint state.

**The cost is bounded in advance.** Of all pairs that keep it at or below τ, the one with the
largest likelihood gradient becomes an edge, all weights are fitted again, and so on until no pair
fits:
"""
_FORMULA = (
    r"e^\star = \arg\max_{e \,:\, R(V,\, E \cup \{e\}) \le \tau} "
    r"\lVert \nabla_{w_e} \ell(w) \rVert_2"
)
_SECOND = """
An edge within a clique does not increase the cost of inference. With treewidth at most 1 the result
is a tree.

**The charts** compare models for several τ with those of nodewise ℓ₁ pseudo-likelihood, which does
not bound the cost: on the left by their fit to held-out rows, on the right by the error of log Z
from tree-reweighted belief propagation.

Das Gupta, Srinivasan, Sharma and Greiner, *Learning Markov networks with bounded inference
complexity* (2013). Only pairwise models are learned here, without larger cliques or
context-specific features.
"""
HELP = "\n\n".join((_FIRST, f"$$\n{_FORMULA}\n$$", _SECOND, KEYS))
