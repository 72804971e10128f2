from .cuts import (
    CUTS as CUTS,
)
from .expansion import (
    Expansion as Expansion,
    RegionStep as RegionStep,
)
from .global_bounds import (
    MinimalRadius as MinimalRadius,
    decay_rate as decay_rate,
    distance_bound as distance_bound,
    minimal_radius as minimal_radius,
    tail_bound as tail_bound,
)
from .influence import (
    dobrushin_coefficient as dobrushin_coefficient,
    influence_matrix as influence_matrix,
)
from .local_model import (
    region_marginal as region_marginal,
    region_model as region_model,
    rim_of as rim_of,
)
from .marginal import (
    LocalMarginal as LocalMarginal,
    grow_region as grow_region,
    local_marginal as local_marginal,
)
