"""scikit-learn's face of graftviz.

===========  ================================================================
file         what it does
===========  ================================================================
network.py   ``MarkovNetwork``: fit, score
options.py   the options of all learners as its parameters
coding.py    from X to a table: codes, and categories that frames declare
===========  ================================================================
"""

from graftviz.estimator.network import MarkovNetwork

__all__ = ["MarkovNetwork"]
