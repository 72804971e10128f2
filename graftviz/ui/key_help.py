"""Keyboard help of the pages."""

KEYS = """
**By keyboard**: space plays and pauses, ← → step, Home and End jump. Tab moves between figures
and controls; within a figure ↓ ↑ move between its elements. **?** lists all keys of this page.
"""
KEYS_OF_INSPECT = """
Tab moves between the graph and the controls. In the graph:

| keys | |
| --- | --- |
| ↓ ↑, → ← or n p | next, previous node by decreasing degree |
| e, shift e | next, previous edge of the selected node |
| + − 0 | zoom in, out, fit |
| shift and arrows | pan |
| Esc | clear selection |
"""
