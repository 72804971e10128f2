from . import dynamics as dynamics, figures as figures
from ._version import __version__ as __version__
from .counts import (
    PairCounts as PairCounts,
)
from .datasets import (
    load_dataset as load_dataset,
    read_public as read_public,
)
from .errors import (
    InputError as InputError,
)
from .estimator import (
    MarkovNetwork as MarkovNetwork,
)
from .forecasting import (
    Forecast as Forecast,
    forecast as forecast,
)
from .formats.models import (
    read_model as read_model,
)
from .formats.run_folder import (
    SavedResult as SavedResult,
    read_result as read_result,
    write_model as write_model,
)
from .inference import (
    Beliefs as Beliefs,
    infer as infer,
)
from .inference.cost import inference_cost as inference_cost
from .learners.best_choice import (
    BestChoice as BestChoice,
)
from .learners.bounded_inference import (
    BoundedInference as BoundedInference,
)
from .learners.chow_liu import (
    ChowLiu as ChowLiu,
)
from .learners.edge_grafting import (
    EdgeGrafting as EdgeGrafting,
)
from .learners.feature_grafting import (
    FeatureGrafting as FeatureGrafting,
)
from .learners.first_hit import (
    FirstHit as FirstHit,
)
from .learners.forced_pruning import (
    ForcedPruning as ForcedPruning,
)
from .learners.grafting_light import (
    GraftingLight as GraftingLight,
)
from .learners.nodewise_l1 import (
    NodewiseL1 as NodewiseL1,
)
from .metrics import (
    ncmll as ncmll,
    nll as nll,
    nlpl as nlpl,
)
from .model import (
    PairwiseMRF as PairwiseMRF,
)
from .regions import (
    LocalMarginal as LocalMarginal,
    RegionStep as RegionStep,
    dobrushin_coefficient as dobrushin_coefficient,
    grow_region as grow_region,
    influence_matrix as influence_matrix,
    local_marginal as local_marginal,
)
from .runs import (
    Branch as Branch,
    Result as Result,
    Run as Run,
    learn as learn,
)
from .selection import (
    EdgeIntervals as EdgeIntervals,
    EdgeStability as EdgeStability,
    GroupComparison as GroupComparison,
    LamPath as LamPath,
    compare_groups as compare_groups,
    edge_stability as edge_stability,
    lam_path as lam_path,
)
from .table import (
    ChunkedTable as ChunkedTable,
    DiscreteTable as DiscreteTable,
    open_table as open_table,
    read_table as read_table,
)
from .trace import (
    Step as Step,
    Trace as Trace,
)
from .tuning import (
    Tuning as Tuning,
    tuning_grid as tuning_grid,
)
