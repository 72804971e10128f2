"""Named data sets, public data sets that users download, and true edges."""

from graftviz.data.sets.dataset import DataSet, noise_level, positions_from_names, suggest_lam
from graftviz.data.sets.generated import GENERATED, Generated, generated, is_generated
from graftviz.data.sets.positions import read_positions
from graftviz.data.sets.public import PUBLIC, read_public
from graftviz.data.sets.registry import dataset_keys, dataset_title, load_dataset, model_path
from graftviz.data.sets.truth import read_truth, truth_csv

__all__ = [
    "GENERATED",
    "PUBLIC",
    "DataSet",
    "Generated",
    "dataset_keys",
    "dataset_title",
    "generated",
    "is_generated",
    "load_dataset",
    "model_path",
    "noise_level",
    "positions_from_names",
    "read_positions",
    "read_public",
    "read_truth",
    "suggest_lam",
    "truth_csv",
]
