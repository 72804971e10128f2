"""Localized inference: certified marginals from small regions, by Dobrushin's comparison theorem.

`star` computes the coefficients of one variable, `comparison` turns those of a region into an error
bound, `candidates` computes the bound with one more variable, `expansion` grows the region, and
:func:`local_marginal` is the main entry point. `influence` and `global_bounds` concern the whole
model.
"""

from graftviz.inference.local.cuts import CUTS
from graftviz.inference.local.expansion import Expansion, RegionStep
from graftviz.inference.local.global_bounds import (
    MinimalRadius,
    decay_rate,
    distance_bound,
    minimal_radius,
    tail_bound,
)
from graftviz.inference.local.influence import dobrushin_coefficient, influence_matrix
from graftviz.inference.local.local_model import region_marginal, region_model, rim_of
from graftviz.inference.local.marginal import LocalMarginal, grow_region, local_marginal

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
