"""Recall of the edges of random trees by Chow–Liu learning."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np

from graftviz.data.synthetic.gibbs import sample_gibbs
from graftviz.data.synthetic.potentials import random_model
from graftviz.learning.observer import recall_precision_f1
from graftviz.learning.trees.chow_liu import ChowLiu
from graftviz.reports.reproduction.claims import Checks, Frame, Row, claim
from graftviz.reports.reproduction.experiment import Experiment, MeasuringTask, Part
from graftviz.reports.reproduction.figures import line_figure, scale_look
from graftviz.reports.results import learn


def tree_parts(seed: int, nodes: int, rows: tuple[int, ...], trees: int) -> Iterator[Part]:
    """Yield one part for every number of rows and random tree."""
    for count in rows:
        for tree in range(trees):
            columns = {"method": "Chow–Liu tree", "rows": count, "tree": tree}
            measure = partial(_measure, nodes, count, 1_000 * seed + tree)
            yield Part(columns, measure, nodes, {"nodes": nodes, "seed": seed})


def _measure(nodes: int, rows: int, seed: int, task: MeasuringTask) -> list[Row]:
    """Learn a tree from sampled rows, and return the recall of the true edges."""
    random = np.random.default_rng(seed)
    edges = np.array([(random.integers(node), node) for node in range(1, nodes)])
    truth = random_model(edges, [3] * nodes, edge_sigma=1.5, seed=seed)
    result = learn(sample_gibbs(truth, rows, seed=seed).table, ChowLiu())
    recall, _, _ = recall_precision_f1(result.model.edges, truth.edges)
    return [{"recall": recall}]


@claim("The more rows, the more of the true edges are found.")
def _more_with_rows(measured: Frame) -> Checks:
    recalls = measured.groupby("rows")["recall"].mean()
    gain = recalls.iloc[-1] - recalls.iloc[0]
    yield "gain in recall from the fewest to the most rows", gain, "above 0"
    yield "mean recall by rows", recalls


@claim("With many rows nearly all of them are found.")
def _nearly_all(measured: Frame) -> Checks:
    recalls = measured.groupby("rows")["recall"].mean()
    yield "mean recall with the most rows", recalls.iloc[-1], "at least 0.9"


EXPERIMENTS = (
    Experiment(
        name="toy-fig1",
        title="Recall of random trees",
        place="An example of the documentation",
        sizes={
            "nodes": (6, 12, 30),
            "rows": ((20, 2_000), (20, 200, 2_000), (20, 200, 2_000, 20_000)),
            "trees": (2, 3, 10),
        },
        parts=tree_parts,
        figure=partial(
            line_figure,
            x="rows",
            x_title="rows",
            y={"recall": "recall of true edges"},
            looks={"Chow–Liu tree": scale_look(0)},
            log_x=True,
        ),
        claims=(_more_with_rows, _nearly_all),
        notes=("All weights of an edge are from N(0, 1.5²).",),
        cost=("5 s", "20 s"),
    ),
)
