"""The model under a budget inside Streamlit."""

from __future__ import annotations

from graftviz.player.assets import budget_css, budget_javascript
from graftviz.ui.mounted import MountedView

BUDGET = MountedView("budget", "GraftvizBudget", budget_javascript, budget_css)
