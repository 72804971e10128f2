"""Data of the Budget page, with positions of the variables for all bounds."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from graftviz.datasets import DataSet, dataset_title
from graftviz.layout import static_layout
from graftviz.learners.chow_liu import ChowLiu
from graftviz.model import PairwiseMRF
from graftviz.runs import learn
from graftviz.sampling.exact import sample_exact
from graftviz.sampling.graphs import random_graph
from graftviz.sampling.potentials import random_model
from graftviz.table import DiscreteTable
from graftviz.ui.budget.options import DENSE
from graftviz.ui.material import Material, prepare

VARIABLES = 16
ROWS = 1_000
_SPAN, FRAME = 9_500.0, 10_000
_NARROW = 0.5  # height by width below which a layout is stretched, at most so much:
_STEEPEST = 4.0
_DENSE_TITLE = "Dense network · 16 variables, 2 states"


@dataclass(frozen=True, eq=False)
class BudgetMaterial:
    """Training rows, held-out rows, and positions of the variables.

    Attributes
    ----------
    material : Material
    places : int array, shape (n, 2)
        0 … 10000. Unless they are known, those that suit the true graph, or else the Chow–Liu tree,
        whose edges are among the first under any bound.
    model : PairwiseMRF or None
        The model that the rows were drawn from, where it is known.
    """

    material: Material
    places: np.ndarray
    model: PairwiseMRF | None = None

    @property
    def judged(self) -> DiscreteTable:
        """The held-out rows; where none are, those that were learned from."""
        return self.material.test or self.material.train

    @property
    def given(self) -> bool:
        """Whether the places are known ones."""
        return self.material.positions is not None


def dense_material(seed: int, variables: int = VARIABLES, rows: int = ROWS) -> BudgetMaterial:
    """Return the paper's kind of network, small: each edge with probability ½, weights N(0, 1).

    Half of its rows, drawn exactly from the joint distribution, are held out.
    """
    graph = random_graph(variables, probability=0.5, seed=seed)
    model = random_model(
        graph.edges, [2] * variables, node_sigma=1.0, edge_sigma=1.0, seed=seed, names=graph.names
    )
    data = DataSet(
        key=DENSE,
        title=_DENSE_TITLE,
        table=sample_exact(model, rows, seed=seed),
        truth=graph.edges,
        positions=None,
        description="",
        test_fraction=0.5,
    )
    return with_places(prepare(data, seed), model)


def data_title(key: str) -> str:
    """Return the title of a data set of the page."""
    return _DENSE_TITLE if key == DENSE else dataset_title(key)


def _laid_flat(places: np.ndarray) -> np.ndarray:
    """Turn a long and narrow layout level, and give it height."""
    centred = places - places.mean(axis=0)
    turned = centred @ np.linalg.svd(centred, full_matrices=False)[2].T
    spans = np.maximum(np.ptp(turned, axis=0), 1.0)
    if spans[1] > _NARROW * spans[0]:
        return places
    stretch = _SPAN / spans
    stretch[1] = min(stretch[1], _STEEPEST * stretch[0])
    middle = (turned.max(axis=0) + turned.min(axis=0)) / 2
    return np.asarray((turned - middle) * stretch + FRAME / 2)


def with_places(material: Material, model: PairwiseMRF | None = None) -> BudgetMaterial:
    """Give the variables of `material` their places."""
    places = material.positions
    if places is None:
        edges = material.truth
        if edges is None:
            edges = learn(material.train, ChowLiu()).model.edges
        places = _laid_flat(static_layout(material.train.n_variables, edges))
    return BudgetMaterial(material, places, model)
