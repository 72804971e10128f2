"""Graph layouts: for a static graph, near given positions, on a ring, and for a growing graph.

Coordinates are whole numbers 0 … 10000 in a fixed frame, y downwards.
"""

from graftviz.reports.layout.growing import GrowingLayout
from graftviz.reports.layout.level import level_layout
from graftviz.reports.layout.near import layout_near
from graftviz.reports.layout.ring import ring_layout
from graftviz.reports.layout.static import static_layout

__all__ = ["GrowingLayout", "layout_near", "level_layout", "ring_layout", "static_layout"]
