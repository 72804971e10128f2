"""The influence network inside Streamlit."""

from __future__ import annotations

from graftviz.player.assets import dynamics_css, dynamics_javascript
from graftviz.ui.mounted import MountedView

DYNAMICS = MountedView("dynamics", "GraftvizDynamics", dynamics_javascript, dynamics_css)
