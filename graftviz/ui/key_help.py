"""Table of keys for the pages' explanations; "?" opens the table of a view."""

KEYS = """
**By keyboard**: space plays and pauses, ← → step, Home and End jump. Tab leads to every picture and
control; in a picture ↓ ↑ go from one thing in it to the next. **?** shows all keys of this page.
"""
KEYS_OF_INSPECT = """
Tab leads to the graph and to every control. In the graph:

| keys | |
| --- | --- |
| ↓ ↑, → ← or n p | the next node by falling degree, the one before |
| e, shift e | the next edge of the chosen node, the one before |
| + − 0 | nearer, farther, all of it |
| shift and arrows | move the picture |
| Esc | choose nothing |
"""
