"""Methods of inference by name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

from graftviz.errors import InputError
from graftviz.inference.beliefs import Beliefs
from graftviz.inference.exact import exact_beliefs
from graftviz.inference.loopy import loopy_beliefs
from graftviz.inference.mean_field import mean_field_beliefs
from graftviz.inference.settings import InferenceSettings
from graftviz.inference.tree_reweighted import tree_reweighted_beliefs
from graftviz.model import PairwiseMRF
from graftviz.wording import quoted

Method = Literal["bp", "exact", "trbp", "mean-field"]
METHODS: dict[str, Callable[[PairwiseMRF, InferenceSettings], Beliefs]] = {
    "bp": loopy_beliefs,
    "exact": exact_beliefs,
    "trbp": tree_reweighted_beliefs,
    "mean-field": mean_field_beliefs,
}


def check_method(method: object) -> None:
    """Raise an InputError for a method that does not exist."""
    if not isinstance(method, str) or method not in METHODS:
        raise InputError(
            f"Inference method must be one of {', '.join(METHODS)}, not {quoted(method)}."
        )
