"""Estimator for scikit-learn.

===========  ================================================================
file         contents
===========  ================================================================
network.py   ``MarkovNetwork``: fit, score
options.py   options of all learners as parameters of the estimator
coding.py    conversion of X to a table: codes, declared categories
===========  ================================================================
"""

from graftviz.reports.estimator.network import MarkovNetwork

__all__ = ["MarkovNetwork"]
