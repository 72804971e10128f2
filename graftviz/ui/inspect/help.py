"""Headline and explanation of the Inspect page."""

from __future__ import annotations

from graftviz.ui.key_help import KEYS_OF_INSPECT

HEADLINE = "The graph, marginals and posteriors of any model, learned or loaded."
_TEXT = """
**Graph.** Click a variable or an edge to show its tables beside the graph. Of large models, only
the neighbourhood of the selected variable is drawn.

**Evidence.** *Observe…* fixes the state of a variable; all marginals are then conditional
probabilities, and the variables that change most are listed below.

**Method.** Marginals are exact if that is fast, and otherwise approximate; the method is named
beside them.

**Compare.** A second model, or the true one, shows which edges are in both models and which in one.
"""
HELP = "\n\n".join((_TEXT, KEYS_OF_INSPECT))
