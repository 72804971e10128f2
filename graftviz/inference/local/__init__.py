"""Localized inference: certified marginals from small regions, by Dobrushin's comparison theorem.

`star` computes the coefficients of one variable, `bounds` turns those of a region into an error
bound, also with one more variable, `local_model` replaces the edges that leave the region, and
`marginal` grows it: :func:`local_marginal` is the main entry point. `influence` concerns the whole
model.
"""

from graftviz.inference.local.influence import (
    MinimalRadius,
    decay_rate,
    distance_bound,
    dobrushin_coefficient,
    influence_matrix,
    minimal_radius,
    tail_bound,
)
from graftviz.inference.local.local_model import CUTS, region_marginal, region_model, rim_of
from graftviz.inference.local.marginal import (
    Expansion,
    LocalMarginal,
    RegionStep,
    grow_region,
    local_marginal,
)

__all__ = [
    "CUTS",
    "Expansion",
    "LocalMarginal",
    "MinimalRadius",
    "RegionStep",
    "decay_rate",
    "distance_bound",
    "dobrushin_coefficient",
    "grow_region",
    "influence_matrix",
    "local_marginal",
    "minimal_radius",
    "region_marginal",
    "region_model",
    "rim_of",
    "tail_bound",
]
