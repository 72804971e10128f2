"""Interactive figures of results, as Plotly figures."""

from graftviz.reports.figures.budget import partition_figure, quality_figure
from graftviz.reports.figures.dynamics import prediction_figure
from graftviz.reports.figures.model import (
    change_figure,
    degree_figure,
    edge_figure,
    graph_figure,
    matrix_figure,
    node_figure,
    norms_figure,
)
from graftviz.reports.figures.race import race_figure
from graftviz.reports.figures.reservoir import activation_figure, rank_figure, run_rank_figure
from graftviz.reports.figures.samples import pairs_figure, samples_figure
from graftviz.reports.figures.selection import intervals_figure, path_figure, stability_figure
from graftviz.reports.figures.style import figure_csv, figure_html

__all__ = [
    "activation_figure",
    "change_figure",
    "degree_figure",
    "edge_figure",
    "figure_csv",
    "figure_html",
    "graph_figure",
    "intervals_figure",
    "matrix_figure",
    "node_figure",
    "norms_figure",
    "pairs_figure",
    "partition_figure",
    "path_figure",
    "prediction_figure",
    "quality_figure",
    "race_figure",
    "rank_figure",
    "run_rank_figure",
    "samples_figure",
    "stability_figure",
]
