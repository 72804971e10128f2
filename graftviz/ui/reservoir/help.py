"""Headline and explanation of the Reservoir page."""

from __future__ import annotations

HEADLINE = "Why a small reservoir of candidates is enough."
HELP = """
**Ranks of random draws.** The best of r randomly drawn edges has a low rank among all edges, and
the rank hardly improves beyond a few hundred draws.

**Ranks in a run.** The same for a run of best-choice edge grafting: the rank of the activated edge
among all inactive pairs, compared with first hit.

**Edges selected by α.** The reservoir of one step, best candidate first. Edges that score at least
**τ_α = (1 − α) μ + α max** may be activated together, as long as no two of them share a variable.
"""
