"""Headline and explanation of the Dynamics page."""

from __future__ import annotations

import streamlit as st

from graftviz.ui.key_help import KEYS

HEADLINE = (
    "Which series drives which? Each follows from a few **parents** one time step before: a row "
    "of A."
)
_FIRST = """
**Which series drives which?** Every row of A says from which series one series comes about, one
time step later:
"""
_SYSTEM = r"x(t+1) = A\,x(t) + \text{noise}"
_SECOND = """
To regress every series on all others takes time that grows with the square of their number.
**Scalable structure learning** does so for a few **seeds** only, and twice: X(t + 1) gives a seed's
parents N, and X(t + 2) its two-hop row B. If j is a parent of seed i, then whoever reaches i in two
steps may well reach j in one. So the seeds that have j as a parent vote for the parents of j:
"""
_EVIDENCE = (
    r"E_{ju} = \sum_{i \in S \,:\, j \in N_i} \frac{|B_{iu}|}{\lVert B_i \rVert_1}"
    r"\,, \qquad N_j = \text{the } k \text{ largest}"
)
_THIRD = """
A series that is no seed's parent has no votes: **no seed speaks for it**, and it is learned from
its own data. Coefficients are least squares on the parents throughout.

**PredError** is ‖A X′ − X″‖ / ‖X″‖ on the held-out rows, one step ahead. Where the true A is
known, **StructRec** is the share of the true parents that were found, **precision** the share of
those found that are true, and **CoeffRecError** is ‖Ā − A‖ / ‖A‖.
"""


def show_help() -> None:
    """Show the explanation."""
    st.markdown(_FIRST)
    st.latex(_SYSTEM)
    st.markdown(_SECOND)
    st.latex(_EVIDENCE)
    st.markdown(_THIRD)
    st.markdown(KEYS)
