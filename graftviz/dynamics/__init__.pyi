from .adjacency import (
    read_parents as read_parents,
)
from .base import (
    DynamicsLearner as DynamicsLearner,
    DynamicsOutcome as DynamicsOutcome,
    NodeStep as NodeStep,
    Work as Work,
)
from .baselines import (
    Baseline as Baseline,
    baseline as baseline,
    season as season,
)
from .dense import (
    Dense as Dense,
)
from .enforcing import (
    SparsityEnforcing as SparsityEnforcing,
)
from .forecast import (
    predict as predict,
    residual_deviation as residual_deviation,
)
from .grid_city import (
    simulate_city as simulate_city,
)
from .inducing import (
    SparsityInducing as SparsityInducing,
)
from .learning import (
    DynamicsResult as DynamicsResult,
    learn as learn,
)
from .metrics import (
    coefficient_error as coefficient_error,
    prediction_deviation as prediction_deviation,
    prediction_error as prediction_error,
    structure_precision as structure_precision,
    structure_recall as structure_recall,
)
from .reading import (
    read_series as read_series,
)
from .registry import (
    LEARNERS as LEARNERS,
    dynamics_learner as dynamics_learner,
    has_seeds as has_seeds,
    takes_parents as takes_parents,
)
from .scalable import (
    ScalableStructure as ScalableStructure,
)
from .series import (
    TimeSeries as TimeSeries,
    Transitions as Transitions,
)
from .simulation import (
    random_system as random_system,
    simulate as simulate,
    simulate_transitions as simulate_transitions,
)
from .standard_errors import (
    coefficient_deviations as coefficient_deviations,
)
from .system import (
    LinearSystem as LinearSystem,
)
