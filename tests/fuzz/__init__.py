"""Structure-aware mutation of everything the project reads, in worker processes.

``python -m tests.fuzz --seconds 60 --seed 1``: every input follows from its kind, the seed and its
number, so that ``--replay KIND:SEED:NUMBER`` makes it again.
"""
