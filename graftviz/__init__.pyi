from graftviz import dynamics as dynamics
from graftviz.data.sets.public import read_public as read_public
from graftviz.data.sets.registry import load_dataset as load_dataset
from graftviz.data.table import DiscreteTable as DiscreteTable
from graftviz.evaluation.selection.groups import compare_groups as compare_groups
from graftviz.evaluation.selection.intervals import EdgeIntervals as EdgeIntervals
from graftviz.evaluation.selection.path import LamPath as LamPath, lam_path as lam_path
from graftviz.evaluation.selection.stability import (
    EdgeStability as EdgeStability,
    edge_stability as edge_stability,
)
from graftviz.evaluation.tuning import Tuning as Tuning, tuning_grid as tuning_grid
from graftviz.inference.beliefs import Beliefs as Beliefs
from graftviz.inference.cost import inference_cost as inference_cost
from graftviz.inference.likelihood import ncmll as ncmll, nll as nll, nlpl as nlpl
from graftviz.inference.local.influence import (
    dobrushin_coefficient as dobrushin_coefficient,
    influence_matrix as influence_matrix,
)
from graftviz.inference.local.marginal import (
    LocalMarginal as LocalMarginal,
    RegionStep as RegionStep,
    grow_region as grow_region,
    local_marginal as local_marginal,
)
from graftviz.inference.methods import infer as infer
from graftviz.inference.prediction import PairwiseMRF as PairwiseMRF
from graftviz.learning.bounded.bounded_inference import BoundedInference as BoundedInference
from graftviz.learning.completion import read_table as read_table
from graftviz.learning.features.grafting import (
    FeatureGrafting as FeatureGrafting,
    GraftingLight as GraftingLight,
)
from graftviz.learning.grafting.best_choice import BestChoice as BestChoice
from graftviz.learning.grafting.edge_grafting import (
    EdgeGrafting as EdgeGrafting,
    FirstHit as FirstHit,
)
from graftviz.learning.nodewise.nodewise_l1 import NodewiseL1 as NodewiseL1
from graftviz.learning.pruning.forced_pruning import ForcedPruning as ForcedPruning
from graftviz.learning.trace import Step as Step, Trace as Trace
from graftviz.learning.trees.chow_liu import ChowLiu as ChowLiu
from graftviz.reports import figures as figures
from graftviz.reports.estimator import MarkovNetwork as MarkovNetwork
from graftviz.reports.files.run_folder import (
    read_model as read_model,
    read_result as read_result,
    write_model as write_model,
)
from graftviz.reports.results import Result as Result, Run as Run, fit as fit, learn as learn
from graftviz.utils.errors import InputError as InputError
from graftviz.utils.version import __version__ as __version__
