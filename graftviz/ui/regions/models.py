"""Models of the Regions page: a grid, a learned model, or one from a file."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from graftviz.errors import InputError
from graftviz.formats.model_records import ModelFile
from graftviz.layout import static_layout
from graftviz.learners.base import Learner
from graftviz.model import PairwiseMRF
from graftviz.regions import grow_region
from graftviz.runs import Run
from graftviz.sampling.graphs import grid_graph
from graftviz.sampling.ising import ising_grid
from graftviz.ui.material import FINGERPRINT_DIGITS, Material
from graftviz.ui.visits import SourceCache

MOST_VARIABLES = 3_000  # beyond, the region is too small to be seen
_TRIED, _SEEN = 12, 8  # variables tried for a first query, nodes in the region of each
_WORKS = 60  # kept of a model that is not shared
_STRONGEST = 1e6  # stands for the norm of edges with zero potentials


@dataclass(frozen=True, eq=False)
class ShownModel:
    """Model together with its positions, title and default query.

    Attributes
    ----------
    identity : str
        Equal for equal models.
    picture : str
        Equal for models with the same graph at the same positions.
    model : PairwiseMRF
    positions : array, shape (n, 2)
        0 … 10000, y downwards.
    given : bool
        Whether the positions come with the model, so that their aspect ratio is preserved.
    usual_query : int
        The query until one is chosen.
    title, note : str
    own : SourceCache or None
        Cache of the results for an uploaded model, or a model learned from an uploaded table;
        None for models whose results are shared.
    """

    identity: str
    picture: str
    model: PairwiseMRF
    positions: np.ndarray
    given: bool
    usual_query: int
    title: str
    note: str = ""
    own: SourceCache | None = None


def grid_model(side: int, field: float, coupling: float, seed: int) -> ShownModel:
    """Return an Ising grid; its picture does not depend on the strengths."""
    positions = grid_graph(side, side).positions
    assert positions is not None  # a grid has places
    return ShownModel(
        identity=f"grid:{side}:{field!r}:{coupling!r}:{seed}",
        picture=f"grid:{side}:{seed}",
        model=ising_grid(side, side, field=field, coupling=coupling, seed=seed),
        positions=positions,
        given=True,
        usual_query=((side - 1) // 2) * (side + 1),  # in the middle
        title=f"Ising grid, {side} × {side}",
    )


def learning(material: Material, learner: Learner) -> Iterator[ShownModel | None]:
    """Learn step by step; the last value is what was learned."""
    run = Run(material.train, learner, seed=0)
    while run.advance():
        yield None
    yield learned_model(run.result().model, material, f"learned:{material.identity}")


def learned_model(
    model: PairwiseMRF, material: Material, identity: str, note: str = ""
) -> ShownModel:
    """Return a learned model at the places its variables have on the Grow page."""
    check_size(model)
    places = material.positions
    if places is None:
        has_truth = material.truth is not None and len(material.truth) > 0
        edges = material.truth if has_truth else model.edges
        assert edges is not None
        places = static_layout(model.n_variables, edges)
    return ShownModel(
        identity=identity,
        picture=identity,
        model=model,
        positions=places,
        given=material.positions is not None,
        usual_query=promising_query(model),
        title=f"Learned from {material.title}",
        note=note,
        own=SourceCache(_WORKS) if material.is_uploaded else None,
    )


def uploaded_model(title: str, found: ModelFile) -> ShownModel:
    """Return an uploaded model, laid out.

    Raises
    ------
    InputError
        When it is too large to be drawn.
    """
    check_size(found.model)
    fingerprint = fingerprint_of(found.model)
    return ShownModel(
        identity=f"upload:{fingerprint}",
        picture=f"upload:{fingerprint}",
        model=found.model,
        positions=static_layout(found.model.n_variables, found.model.edges),
        given=False,
        usual_query=promising_query(found.model),
        title=title,
        note=" ".join(found.notes),
        own=SourceCache(_WORKS),
    )


def promising_query(model: PairwiseMRF) -> int:
    """Return a variable for which a small region gives a small bound.

    Of some variables with weak edges, but two of them at least, the one whose bound gets smallest:
    around hubs there is nothing to see.
    """
    degrees = model.degrees()
    norms = np.repeat(np.minimum(model.edge_norms(), _STRONGEST), 2)
    pulls = np.bincount(model.edges.reshape(-1), norms, minlength=len(degrees))
    weakest = np.argsort(np.where(degrees >= min(2, degrees.max()), pulls, np.inf), kind="stable")

    def smallest_bound(query: int) -> float:
        return min(step.bound for step in grow_region(model, query, tolerance=0.0, max_size=_SEEN))

    return min((int(i) for i in weakest[:_TRIED]), key=smallest_bound)


def fingerprint_of(model: PairwiseMRF) -> str:
    """Return a text that tells this model from others, names aside."""
    parts = (model.cardinalities, model.edges, model.weights)
    digest = hashlib.sha256(b"|".join(np.ascontiguousarray(part).tobytes() for part in parts))
    return digest.hexdigest()[:FINGERPRINT_DIGITS]


def check_size(model: PairwiseMRF) -> None:
    """Raise :class:`InputError` for a model too large to be looked at."""
    if model.n_variables > MOST_VARIABLES:
        raise InputError(
            f"This model has {model.n_variables:,} variables; the page draws at most "
            f"{MOST_VARIABLES:,}. Use the command line: python -m graftviz local."
        )
