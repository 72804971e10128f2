"""Small time series for the pages on dynamical systems, and its true parents."""

from __future__ import annotations

from graftviz import dynamics

_SERIES, _ROWS, _SEED = 10, 300, 3


def series_csv() -> str:
    """Return 300 rows of ten series, to three decimals."""
    system = dynamics.random_system(_SERIES, density=0.2, seed=_SEED)
    series = dynamics.simulate(system, _ROWS, seed=_SEED)
    lines = [",".join(series.names)]
    lines += [",".join(f"{value:.3f}" for value in row) for row in series.values.tolist()]
    return "\n".join(lines) + "\n"


def parents_csv() -> str:
    """Return the arrows of the system the series came from: source drives target."""
    system = dynamics.random_system(_SERIES, density=0.2, seed=_SEED)
    names = system.names
    lines = ["source,target"]
    for i in range(_SERIES):
        lines += [f"{names[u]},{names[i]}" for u in system.parents(i).tolist()]
    return "\n".join(lines) + "\n"
