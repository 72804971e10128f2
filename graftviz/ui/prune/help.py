"""Headline and explanation of the Prune page."""

from __future__ import annotations

import streamlit as st

from graftviz.ui.key_help import KEYS

HEADLINE = (
    "The model always has M edges. Each step swaps the k weakest for the k most promising; "
    "parameters are tied to K values."
)
_FIRST = """
**The number of edges M is given; sought are the best M.** The start is the Chow–Liu tree with
random other edges. Then, again and again, the **k** edges that contribute least leave (red, dashed,
crossed), and the k pairs that would gain most enter (green, wide). The edges of the tree are drawn
double.
"""
_SECOND = """
**Contribution** of an edge: what the pseudo-likelihood (PLL) loses without it, all else as it is.
**Greedy** takes the k smallest. **Rejection** draws subsets of k edges until one is accepted with
probability ∝ exp(PLL without it); **MCMC** walks through subsets by swaps, with the same target.
Their **acceptance rate** says how much of the drawing was of use.

**Tying**: all parameters share **K** values. At first each is only drawn to the nearest centre, by
"""
_FORMULA = (
    r"\max_\theta \; \mathrm{PLL}(\theta) - \beta \sum_j (\theta_j - \mu_{a_j})^2 "
    r"- \lambda_2 \sum_j \theta_j^2"
)
_THIRD = """
with exact 1-D k-means in between; then it takes the centre's value. The strip shows both moments.
"""


def show_help() -> None:
    """Show the explanation."""
    st.markdown(_FIRST)
    st.markdown(_SECOND)
    st.latex(_FORMULA)
    st.markdown(_THIRD)
    st.markdown(KEYS)
