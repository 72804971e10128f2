"""Recorded results of learners, commands and pages, and their comparison with today's.

``python -m tests.golden --record NAME …`` writes the files of ``tests/golden/recorded``; without
names it writes all. ``tests/house/test_golden.py`` compares them. A deliberate change of a result
is recorded again in a commit of its own.
"""
