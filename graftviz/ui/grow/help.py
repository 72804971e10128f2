"""Headline and explanation of the Grow page."""

from __future__ import annotations

from graftviz.ui.key_help import KEYS

HEADLINE = "Edges are added step by step; each step explains its choice."
_GRAPH = """
Each circle is a variable. Its size shows its **degree**; a **ring** marks a hub, whose pairs are
tested first. New edges of the step are highlighted; edge width shows the weight norm. If the true
graph is known, **true**, **false** and **missing** edges are drawn differently.

Click a node or an edge for its details at the shown step. Select two nodes to see why they are, or
are not, joined by an edge. Ctrl + wheel zooms, dragging pans.
"""
_REGION = """
Clicking a node highlights its **certified region**: a few nodes around it from which its marginal
is computed with a proven error bound, regardless of the rest of the graph. Bars mark cut edges; the
whisker is the bound, ▾ is belief propagation on the whole graph. Strong couplings can make the
bound **vacuous**; the region is then grey. Hover the chart to see the region grow; the switch turns
it off.
"""
_RESERVOIR = """
The candidates that passed the test (score above λ), best first. **μ** is their mean and
**τ_α = (1 − α) μ + α max**: all edges that score at least τ_α can be activated in this step, as
long as no two of them share a variable. α = 1 takes only the best; α = 0 takes all above the mean.
"""
_CURVES = """
Learning minimises the **objective**. **Recall** is the share of true edges found, **precision** the
share of found edges that are true, **NLPL** the negative log pseudo-likelihood of held-out rows
(lower is better). The dashed line is the previous run, or the run from which a branch starts.
"""
_QUESTIONS = """
**Compare with preset best** learns with preset *best* on the same data and shows both runs: same
layout, both curves, both tables of numbers. *Back to …* ends the comparison.

**Stability of the edges** learns again from 50 random halves of the rows. The fainter an edge,
the fewer halves found it; click it for the count. Stable edges can still be wrong.

**Choose λ** learns at decreasing values of λ. The held-out NLPL selects the model that predicts
best, the EBIC the most plausible graph. Both run in the background and can be cancelled.
"""
_CONTROLS = """
Changing an option learns the run again; the previous run stays visible as a ghost. **Branch here**
keeps the run up to the shown step and applies new options from there.
"""
HELP = "\n".join(
    f"**{title}**\n{text}"
    for title, text in (
        ("Graph", _GRAPH),
        ("Certified region", _REGION),
        ("Reservoir", _RESERVOIR),
        ("Curves", _CURVES),
        ("Analyse", _QUESTIONS),
        ("Controls", _CONTROLS + KEYS),
    )
)
