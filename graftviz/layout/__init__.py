"""Where to draw the nodes: layouts for a known graph, a few nodes, and a graph that grows.

Coordinates are whole numbers 0 … 10000 in a fixed frame, y downwards.
"""

from graftviz.layout.growing import GrowingLayout
from graftviz.layout.kept import layout_near
from graftviz.layout.known import static_layout
from graftviz.layout.ring import ring_layout

__all__ = ["GrowingLayout", "layout_near", "ring_layout", "static_layout"]
