"""Where to draw the nodes: a layout for a known graph, and one for a graph that grows.

Coordinates are whole numbers 0 … 10000 in a fixed frame, y downwards.
"""

from graftviz.layout.growing import GrowingLayout
from graftviz.layout.kept import layout_near
from graftviz.layout.known import static_layout

__all__ = ["GrowingLayout", "layout_near", "static_layout"]
