"""Why a bound can be trusted: the explanation of the Regions page, from plain words to formula."""

from __future__ import annotations

import streamlit as st

from graftviz.ui.key_help import KEYS

_FIRST = """
**You ask for one variable** (the star). Exact inference in the whole network may cost more than any
computer has. So only **a small region** around it is used, and the edges that leave it are cut.

**What can go wrong?** The neighbours beyond the cuts could be in any state. For every cut node one
can work out, from its own edges alone, by how much that can change its behaviour *at the very
worst*. How much of this reaches the star, node by node, is bounded too, by the strength of the
edges in between. Added up, that is a **proven bound on the error**: nothing outside the region has
to be looked at, and nothing outside can break it.
"""
_SECOND = """
Dobrushin's comparison theorem, with the local model *q* on the region *A* (localized inference,
corollary 2): for every state *a* of the query *i*,
"""
_FORMULA = (
    r"\lvert p(x_i = a) - q(x_i = a) \rvert \;\le\; "
    r"\sum_{j \in A \cap \mathrm{boundary}} D_{ij}\, b_j , \qquad "
    r"D = \sum_{r \ge 0} C^r = (I - C)^{-1}"
)
_THIRD = """
*C*ᵢⱼ is how far the conditional distribution of node *i* can move (in total variation) when node
*j* alone changes; *b*ⱼ how far cutting its outside edges can move that of boundary node *j*,
whatever its neighbours are. **c** is the largest row sum of *C* in the whole network; below 1,
influence dies out everywhere. A bound of 1 or more says nothing, and is shown as *vacuous*, never
as a number.

The **greedy** rule tries every neighbour and takes the one with the smallest bound. *Drop* leaves
cut edges out; *mean field* puts a field in their place.

On the command line: `python -m graftviz local MODEL.uai --query 5 --tolerance 1e-2`.
"""


def show_trust() -> None:
    """Show the button that opens the explanation."""
    with st.popover("Why can this be trusted?", type="tertiary", width="content"):
        st.markdown(_FIRST)
        st.markdown(_SECOND)
        st.latex(_FORMULA)
        st.markdown(_THIRD)
        st.markdown(KEYS)
