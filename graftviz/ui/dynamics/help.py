"""Headline and explanation of the Dynamics page."""

from __future__ import annotations

from graftviz.ui.key_help import KEYS

HEADLINE = (
    "Which series drives which? Each series is predicted from a few **parents** one step earlier "
    "(one row of A)."
)
_FIRST = """
**Which series drives which?** Every row of A gives the parents of one series, which predict it one
time step later:
"""
_SYSTEM = r"x(t+1) = A\,x(t) + \text{noise}"
_SECOND = """
Regressing every series on all others takes quadratic time. **Scalable structure learning** does so
for a few **seeds** only, and twice: X(t + 1) gives a seed's parents N, and X(t + 2) its two-hop
row B. If j is a parent of seed i, then a series that reaches i in two steps is likely to reach j in
one. So the seeds that have j as a parent score the candidate parents of j:
"""
_EVIDENCE = (
    r"E_{ju} = \sum_{i \in S \,:\, j \in N_i} \frac{|B_{iu}|}{\lVert B_i \rVert_1}"
    r"\,, \qquad N_j = \text{the } k \text{ largest}"
)
_THIRD = """
A series that is not a parent of any seed has no scores; it is a **series without a seed** and is
fitted from its own data. Coefficients are always least squares on the parents.

**PredError** is ‖A X′ − X″‖ / ‖X″‖ on the held-out rows, one step ahead. If the true A is known,
**StructRec** is the share of the true parents that were found, **precision** the share of the found
parents that are true, and **CoeffRecError** is ‖Ā − A‖ / ‖A‖.
"""
HELP = "\n\n".join((_FIRST, f"$$\n{_SYSTEM}\n$$", _SECOND, f"$$\n{_EVIDENCE}\n$$", _THIRD, KEYS))
