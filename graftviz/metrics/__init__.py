"""Metrics of a model: recovered edges, pseudo-likelihood, likelihood."""

from __future__ import annotations

from graftviz.metrics.likelihood import Ncmll, hidden_halves, ncmll, nll
from graftviz.metrics.observer import (
    EdgeMetrics,
    MetricsObserver,
    StepMetrics,
    negative_log_pseudo_likelihood,
    recall_precision_f1,
)

__all__ = [
    "EdgeMetrics",
    "MetricsObserver",
    "Ncmll",
    "StepMetrics",
    "hidden_halves",
    "ncmll",
    "negative_log_pseudo_likelihood",
    "nll",
    "recall_precision_f1",
]
