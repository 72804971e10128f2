"""Headline and explanation of the Regions page."""

from __future__ import annotations

from graftviz.ui.key_help import KEYS

HEADLINE = (
    "The marginal of one variable :orange[★] from a small **region**, with a proven error bound."
)
_FIRST = """
**Query.** The marginal of one variable (the star) is computed. Exact inference in the whole network
can be infeasible, so inference runs only in **a small region** around the query; the edges that
leave the region are cut.

**Error bound.** The neighbours beyond the cuts can be in any state. For every boundary node, its
own edges bound the *worst-case* change of its conditional distribution. The strengths of the edges
in between bound how much of this change reaches the query. The sum is a **proven bound on the
error**; it does not depend on the rest of the network.
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
*C*ᵢⱼ is the largest change of the conditional distribution of node *i* (in total variation) when
only node *j* changes; *b*ⱼ the largest change for boundary node *j* when its outside edges are cut.
**c** is the largest row sum of *C* in the whole network; if c < 1, influence decays with distance.
A bound of 1 or more is shown as *vacuous*, never as a number.

The **greedy** rule tries every neighbour of the region and adds the one with the smallest bound.
*Drop* removes cut edges; *mean field* replaces them by a field.

On the command line: `python -m graftviz local MODEL.uai --query 5 --tolerance 1e-2`.
"""
HELP = "\n\n".join((_FIRST, _SECOND, f"$$\n{_FORMULA}\n$$", _THIRD, KEYS))
