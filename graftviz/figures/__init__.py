"""Plotly figures of results, independent of Streamlit."""

from graftviz.figures.budget import partition_figure, quality_figure
from graftviz.figures.data import figure_csv
from graftviz.figures.dynamics import prediction_figure
from graftviz.figures.inspect import (
    change_figure,
    degree_figure,
    edge_figure,
    node_figure,
    norms_figure,
)
from graftviz.figures.path import path_figure
from graftviz.figures.race import race_figure
from graftviz.figures.reservoir import activation_figure, rank_figure, run_rank_figure
from graftviz.figures.stability import stability_figure
from graftviz.figures.style import figure_html

__all__ = [
    "activation_figure",
    "change_figure",
    "degree_figure",
    "edge_figure",
    "figure_csv",
    "figure_html",
    "node_figure",
    "norms_figure",
    "partition_figure",
    "path_figure",
    "prediction_figure",
    "quality_figure",
    "race_figure",
    "rank_figure",
    "run_rank_figure",
    "stability_figure",
]
