"""Generated data: rows sampled from a random model on a random graph, with noise."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from graftviz.data.sets.dataset import DataSet, positions_from_names, suggest_lam
from graftviz.data.synthetic.gibbs import sample_gibbs
from graftviz.data.synthetic.graphs import Graph, grid_graph, random_graph, scale_free_graph
from graftviz.data.synthetic.potentials import add_noise, random_model
from graftviz.utils.errors import InputError
from graftviz.utils.options import check_options, format_value, option, option_specs, parse_options

GENERATED = "generated"
STATES = 3
_DESCRIPTION = (
    "Rows sampled from a model with random potentials on a random graph, which is known. Each cell "
    "is then replaced by a random state with the chance given as noise."
)


@dataclass(frozen=True)
class Generated:
    """Settings of generated data."""

    graph: Literal["scale-free", "grid", "random"] = option(
        "scale-free",
        "kind of the true graph: a few hubs, a grid of rows and columns, or edges drawn at random",
        label="Graph",
    )
    variables: int = option(
        40,
        "number of variables; a grid has as many as fit into a near square",
        label="Variables",
        minimum=4,
        maximum=100,
    )
    samples: int = option(
        2000, "number of rows to sample", label="Rows to sample", minimum=100, maximum=10_000
    )
    strength: float = option(
        0.5,
        "standard deviation of the edge weights: strong edges are easier to find",
        label="Strength",
        minimum=0.1,
        maximum=1.5,
    )
    noise: float = option(
        0.0,
        "share of the cells that are replaced by a random state",
        label="Noise",
        minimum=0.0,
        maximum=0.9,
    )
    data_seed: int = option(
        0,
        "random seed of graph, weights, rows and noise",
        label="Seed of the data",
        minimum=0,
        maximum=2**32 - 1,
    )

    def __post_init__(self) -> None:
        check_options(self)

    @property
    def key(self) -> str:
        """The settings as text, such as ``generated:graph=grid,noise=0.1``."""
        defaults = Generated()
        changes = [
            f"{spec.name}={format_value(value)}"
            for spec in option_specs(self)
            if (value := getattr(self, spec.name)) != getattr(defaults, spec.name)
        ]
        return f"{GENERATED}:{','.join(changes)}" if changes else GENERATED

    def data_set(self) -> DataSet:
        """Sample the data."""
        graph, seed = self._graph(), self.data_seed
        model = random_model(
            graph.edges,
            [STATES] * graph.n_nodes,
            edge_sigma=self.strength,
            seed=seed,
            names=graph.names,
        )
        sampled = sample_gibbs(model, self.samples, seed=seed).table
        table = add_noise(sampled, self.noise, seed)
        words = [f"{graph.n_nodes} variables", f"{graph.n_edges} true edges"]
        words += [f"noise {self.noise:.3g}"] if self.noise else []
        return DataSet(
            key=self.key,
            title=f"Generated ({self.graph}) · {', '.join(words)}",
            table=table,
            truth=graph.edges,
            positions=positions_from_names(table.names),
            description=_DESCRIPTION,
            suggested={"lam": suggest_lam(table)},
            test_fraction=0.1,
        )

    def _graph(self) -> Graph:
        if self.graph == "grid":
            side = math.isqrt(self.variables)
            return grid_graph(side, self.variables // side)
        if self.graph == "random":
            edges = 2 * self.variables - 4
            return random_graph(self.variables, edges=edges, seed=self.data_seed)
        return scale_free_graph(self.variables, self.data_seed)


def is_generated(key: str) -> bool:
    """Return whether a key is that of generated data."""
    return key.partition(":")[0] == GENERATED


def generated(settings: Mapping[str, Any] | str) -> Generated:
    """Return settings given by name, or as the text :attr:`Generated.key`.

    Raises
    ------
    InputError
        For an unknown setting or an invalid value.
    """
    if not isinstance(settings, str):
        return Generated(**settings)
    texts = {}
    for part in filter(None, settings.partition(":")[2].split(",")):
        name, equals, value = part.partition("=")
        if not equals:
            raise InputError(
                f"Generated data are written as {GENERATED}:noise=0.1,graph=grid; got {settings!r}."
            )
        texts[name.strip()] = value.strip()
    return Generated(**parse_options(Generated, texts))
