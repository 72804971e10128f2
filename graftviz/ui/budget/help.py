"""Headline and explanation of the Budget page."""

from __future__ import annotations

import streamlit as st

from graftviz.ui.key_help import KEYS

HEADLINE = (
    "Inference has a cost, set by the widest **clique** of the junction tree. Edges are added as "
    "long as it stays within **τ**."
)
_FIRST = """
**A model is learned to be asked.** What an exact answer costs depends on the graph, and grows
exponentially with its **treewidth**: variables that have to be looked at together form a *clique*
of the **junction tree**, and a table over the widest one has a cell for every joint state.

**So the price is fixed beforehand.** Of all pairs that keep it at τ or below, the one along which
the likelihood rises most steeply becomes an edge, all weights are fitted again, and so on until no
pair fits:
"""
_FORMULA = (
    r"e^\star = \arg\max_{e \,:\, R(V,\, E \cup \{e\}) \le \tau} "
    r"\lVert \nabla_{w_e} \ell(w) \rVert_2"
)
_SECOND = """
An edge within a clique is *free*: it does not make inference dearer. With treewidth at most 1 the
result is a tree.

**The charts** compare models for several τ with those of nodewise ℓ₁ pseudo-likelihood, which knows
nothing of the price: on the left by how well they predict held-out rows, on the right by how far
tree-reweighted belief propagation misses their log Z.

Das Gupta, Srinivasan, Sharma and Greiner, *Learning Markov networks with bounded inference
complexity* (2013). Only pairs are learned here: neither larger cliques nor features that hold in
some contexts only.
"""


def show_help() -> None:
    """Show the explanation."""
    st.markdown(_FIRST)
    st.latex(_FORMULA)
    st.markdown(_SECOND)
    st.markdown(KEYS)
