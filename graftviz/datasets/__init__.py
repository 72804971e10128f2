"""Named data sets, readers of public data sets, and files of true edges and positions."""

from graftviz.datasets.dataset import DataSet, noise_level, positions_from_names, suggest_lam
from graftviz.datasets.positions import read_positions
from graftviz.datasets.public import public_names, public_reader, read_public
from graftviz.datasets.registry import dataset_keys, dataset_title, load_dataset, model_path
from graftviz.datasets.truth import read_truth, truth_csv

__all__ = [
    "DataSet",
    "dataset_keys",
    "dataset_title",
    "load_dataset",
    "model_path",
    "noise_level",
    "positions_from_names",
    "public_names",
    "public_reader",
    "read_positions",
    "read_public",
    "read_truth",
    "suggest_lam",
    "truth_csv",
]
