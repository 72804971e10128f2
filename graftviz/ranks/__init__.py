"""Rank of the best edge of a reservoir among all pairs: simulated, and in a run."""

from graftviz.ranks.run import RankedStep, ranked_learner, ranked_steps
from graftviz.ranks.simulation import RankSimulation, simulated_ranks

__all__ = ["RankSimulation", "RankedStep", "ranked_learner", "ranked_steps", "simulated_ranks"]
