"""Jobs that compile the kernels of the Reservoir page."""

from __future__ import annotations

from collections import deque

from graftviz.datasets import load_dataset
from graftviz.ranks import ranked_steps, simulated_ranks
from graftviz.ui.warm_up import SAMPLED_DATA


def rehearse_reservoir_page() -> None:
    """Do once, on few variables, whatever the page asks for: what is compiled now is not later."""
    deque(simulated_ranks(3, 2, 1), maxlen=0)
    data = load_dataset(SAMPLED_DATA)
    for size, tests in ((20, 60), (1, 1)):
        steps = ranked_steps(data.table, reservoir=size, t_max=tests, lam=data.suggested.get("lam"))
        deque(steps, maxlen=0)
