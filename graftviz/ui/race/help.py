"""Headline and explanation of the Race page."""

from __future__ import annotations

from graftviz.ui.key_help import KEYS

HEADLINE = "Learners run on the same data and are compared at the same cost."
_AXIS = """
Everything is shown **at the same cost**: at 0.2 engine seconds every racer shows the last step it
had made after 0.2 seconds of its own clock. The cost is up to you: **engine seconds** (measured on
this machine, so they differ from race to race, and more so while it is busy), **edge tests**, or
**edges**.
"""
_GRAPHS = """
A variable has the same place in every graph. Edges that **all racers have** are underlaid. Where
the true graph is known, true edges are solid, false ones dashed, and those still missing are thin.
Point at a variable to find it in all graphs.
"""
_CURVES = """
The **objective** is what learning minimises; it is compared only among racers that minimise the
same. **Recall** is the share of true edges found, **precision** the share of found edges that are
true, **NLPL** how badly held-out rows are predicted (lower is better).
"""
_WINNERS = """
Once all have arrived, ★ marks the best of each column. Columns in which all are equal have none.
"""
_CONTROLS = """
Click into a curve to go there. Choose a racer on the left to change its learner and options; the
others are not run again.
"""
HELP = "\n".join(
    f"**{title}**\n{text}"
    for title, text in (
        ("At the same cost", _AXIS),
        ("Graphs", _GRAPHS),
        ("Curves", _CURVES),
        ("Winners", _WINNERS),
        ("Controls", _CONTROLS + KEYS),
    )
)
