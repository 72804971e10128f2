"""Headline and explanation of the Grow page."""

from __future__ import annotations

from graftviz.ui.key_help import KEYS

HEADLINE = "Edges are added one step at a time; each step says which, and why."
_GRAPH = """
Every circle is a variable. It **grows with its degree**; a **ring** marks a hub, whose edges are
tested first. A step's new edges are lit, and an edge is as wide as its weight is large. Where the
true graph is known, edges that are **true**, **false** and **still missing** look different.

Click a node or an edge to see what it means at the shown step. Pick any two nodes to ask why there
is, or is not, an edge between them. Ctrl + wheel zooms, dragging moves.
"""
_REGION = """
A clicked node lights its **certified region**: a few nodes around it that are enough to know its
probabilities to within a proven bound, whatever the rest of the graph does. Bars mark edges that
were cut; the whisker is what is proven, ▾ what belief propagation on the whole graph says. Strong
couplings can make the bound **vacuous**: then the region is grey, and nothing is proven. Point at
the chart to see the region grow; the switch puts it away.
"""
_RESERVOIR = """
The candidates that passed the test (score above λ), best first. **μ** is their mean and
**τ_α = (1 − α) μ + α max**: everything from τ_α up may be activated in this step, as long as no two
of the chosen edges touch. α = 1 takes only the best; α = 0 takes all above the mean.
"""
_CURVES = """
The **objective** is what learning minimises. **Recall** is the share of true edges found,
**precision** the share of found edges that are true, **NLPL** how badly held-out rows are predicted
(lower is better). The dashed line is the previous run, or the run a branch left.
"""
_QUESTIONS = """
**What does best do differently?** shows what the preset *best* makes of the same data, in front of
the run you see: same places, both curves, both runs' numbers. The same button goes back.

**How stable are these edges?** learns again from 50 random halves of the rows. The fainter an edge,
the fewer halves found it; click it for the count. Stable is not yet true: what the score takes by
mistake it may take every time.

**Which λ?** learns at one λ after the other. The held-out NLPL asks which model predicts best, the
EBIC which graph is right. Both go on behind the page and can be cancelled.
"""
_CONTROLS = """
Change an option and the whole run is learned again, with the previous one as a ghost. **Branch
here** keeps the run up to the shown step and lets new options apply from there on.
"""
HELP = "\n".join(
    f"**{title}**\n{text}"
    for title, text in (
        ("Graph", _GRAPH),
        ("Certified region", _REGION),
        ("Reservoir", _RESERVOIR),
        ("Curves", _CURVES),
        ("Questions", _QUESTIONS),
        ("Controls", _CONTROLS + KEYS),
    )
)
