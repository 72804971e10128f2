"""Headline and explanation of the Reservoir page."""

from __future__ import annotations

HEADLINE = "Why a small reservoir of candidates is enough."
HELP = """
**Ranks of random draws.** The best of r randomly drawn edges has a low rank among all edges, and
the rank hardly improves beyond a few hundred draws.

**Ranks in a run.** The same for a run of best-choice edge grafting: the rank, among all edges, of
the edge that is activated, beside that of first hit.

**What α takes.** The reservoir of one step, best candidate first. Edges that score at least
**τ_α = (1 − α) μ + α max** may be activated together, as long as no two of them share a variable.
"""
