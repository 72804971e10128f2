"""Synthetic data: random graphs, random potentials on them, and rows drawn from the model."""

from graftviz.sampling.exact import joint_probabilities, joint_states, sample_exact
from graftviz.sampling.gibbs import Sample, sample_gibbs
from graftviz.sampling.graphs import (
    Graph,
    graph_from_edges,
    grid_graph,
    karate_graph,
    les_miserables_graph,
    random_graph,
    scale_free_graph,
    square_side,
)
from graftviz.sampling.ising import ising_grid, ising_model
from graftviz.sampling.mixing import MixingDiagnostic
from graftviz.sampling.potentials import random_model
from graftviz.sampling.survey import survey_model

__all__ = [
    "Graph",
    "MixingDiagnostic",
    "Sample",
    "graph_from_edges",
    "grid_graph",
    "ising_grid",
    "ising_model",
    "joint_probabilities",
    "joint_states",
    "karate_graph",
    "les_miserables_graph",
    "random_graph",
    "random_model",
    "sample_exact",
    "sample_gibbs",
    "scale_free_graph",
    "square_side",
    "survey_model",
]
