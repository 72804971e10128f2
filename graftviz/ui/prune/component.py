"""Forced pruning inside Streamlit."""

from __future__ import annotations

from graftviz.player.assets import prune_css, prune_javascript
from graftviz.ui.mounted import MountedView

PRUNE = MountedView("prune", "GraftvizPrune", prune_javascript, prune_css)
