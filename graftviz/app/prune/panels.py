"""Controls of the Prune page: data and options."""

from __future__ import annotations

from graftviz.app.controls import show_data, show_learner_options
from graftviz.app.prune.state import PruneState
from graftviz.learning.pruning.forced_pruning import ForcedPruning
from graftviz.utils.options import option_specs

_FIRST = ("max_edges", "exchange", "heuristic", "clusters")
_THEN = ("beta",)


def show_pruning_choices(state: PruneState, *, is_ready: bool) -> None:
    """Show data, the learner's options and the seed; the most important ones first."""
    show_data(state, "prune")
    specs = {spec.name: spec for spec in option_specs(ForcedPruning)}
    first = [specs[name] for name in _FIRST]
    then = [specs[name]._replace(advanced=False) for name in _THEN]
    rest = [
        spec._replace(advanced=True)
        for name, spec in specs.items()
        if name not in (*_FIRST, *_THEN)
    ]
    seed = state.specs["seed"]._replace(advanced=True)
    groups = (first, [*then, *rest, seed])
    show_learner_options(state, groups, "prune.option", is_ready=is_ready)
