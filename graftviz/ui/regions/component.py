"""The growing region inside Streamlit."""

from __future__ import annotations

from graftviz.player.assets import region_css, region_javascript
from graftviz.ui.mounted import MountedView

REGION = MountedView("region", "GraftvizRegion", region_javascript, region_css)
