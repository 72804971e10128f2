"""Headline and explanation of the Race page."""

from __future__ import annotations

from graftviz.ui.key_help import KEYS

HEADLINE = "Learners run on the same data and are compared at equal cost."
_AXIS = """
Racers are compared **at equal cost**: at 0.2 engine seconds, each racer shows the last step it had
made after 0.2 seconds of its own engine time. The cost can be **engine seconds** (measured on this
machine, so they vary between races and with its load), **edge tests**, or **edges**.
"""
_GRAPHS = """
A variable has the same position in every graph. Edges that **all racers have** are highlighted. If
the true graph is known, true edges are solid, false ones dashed, and missing ones thin. Hover a
variable to highlight it in all graphs.
"""
_CURVES = """
Learning minimises the **objective**; it is compared only among racers with the same objective.
**Recall** is the share of true edges found, **precision** the share of found edges that are true,
**NLPL** the negative log pseudo-likelihood of held-out rows (lower is better).
"""
_WINNERS = """
When all racers have finished, ★ marks the best value of each column, unless all are equal.
"""
_CONTROLS = """
Click a curve to go to that point. Select a racer on the left to change its learner and options; the
others are not run again.
"""
HELP = "\n".join(
    f"**{title}**\n{text}"
    for title, text in (
        ("Equal cost", _AXIS),
        ("Graphs", _GRAPHS),
        ("Curves", _CURVES),
        ("Winners", _WINNERS),
        ("Controls", _CONTROLS + KEYS),
    )
)
