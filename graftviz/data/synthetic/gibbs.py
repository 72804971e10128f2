"""Gibbs sampling with many chains from an annealed start."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from graftviz.data.synthetic.annealing import anneal, new_population, usual_sweeps
from graftviz.data.synthetic.hubs import stars
from graftviz.data.synthetic.mixing import MixingDiagnostic, diagnose
from graftviz.data.synthetic.seeds import generator
from graftviz.data.synthetic.sweep import advance, conditionals_of
from graftviz.data.table import DiscreteTable
from graftviz.model.pairwise import PairwiseModel
from graftviz.utils.arrays import read_only
from graftviz.utils.errors import InputError
from graftviz.utils.memory import free_bytes, size_text

THIN = 25
MAX_STATES = 256  # a state is recorded in one byte

LARGEST_SAMPLE = 1_000_000_000  # rows, chains or sweeps; more would take months
_LEAST_CHAINS = 2  # the diagnostic compares chains
_LEAST_DRAWS = 4  # the diagnostic compares halves of chains, of at least two draws each
_USUAL_DRAWS = 8
_FEWEST_USUAL_CHAINS, _MOST_USUAL_CHAINS = 1024, 4096


@dataclass(frozen=True, eq=False)
class Sample:
    """Rows drawn from a model, with a diagnostic of mixing.

    Attributes
    ----------
    table : DiscreteTable
        Neighbouring rows come from different chains.
    diagnostic : MixingDiagnostic
    """

    table: DiscreteTable
    diagnostic: MixingDiagnostic


def sample_gibbs(
    model: PairwiseModel,
    rows: int,
    *,
    seed: int = 0,
    burn_in: int | None = None,
    thin: int = THIN,
    chains: int | None = None,
    join_hubs: bool = True,
    progress: Callable[[int, int], None] | None = None,
) -> Sample:
    """Draw rows by systematic-scan Gibbs sampling, hubs and their neighbours together.

    Parameters
    ----------
    model : PairwiseMRF
        All weights finite, at most 256 states a variable.
    rows : int
        At least 1.
    seed : int
        The same seed gives the same rows in every process.
    burn_in : int, optional
        Sweeps (visits to all variables) before the first recorded draw, which anneal uniformly
        random states (:mod:`graftviz.data.synthetic.annealing`); default: 100 to 1,000, depending
        on the size of the model and the strength of its potentials.
    thin : int
        Sweeps from one recorded draw to the next.
    chains : int, optional
        At least 2; default: an eighth of the rows, but 1,024 to 4,096. Every chain contributes the
        same number of draws, at least 4; surplus draws, the earliest, are dropped.
    join_hubs : bool
        Draw a hub and some of its neighbours together (:mod:`graftviz.data.synthetic.hubs`),
        without which chains hardly move at strong hubs. False visits one variable at a time, as the
        papers do.
    progress : callable (done, total), optional
        Called from time to time with the numbers of sweeps, summed over chains.

    Raises
    ------
    InputError
        For numbers out of range, infinite weights, or more than 256 states.
    """
    check_settings(model, rows, burn_in=burn_in, thin=thin, chains=chains)
    if chains is None:
        eighth = -(-rows // _USUAL_DRAWS)
        chains = min(max(eighth, _FEWEST_USUAL_CHAINS), _MOST_USUAL_CHAINS)
    draws = max(_LEAST_DRAWS, -(-rows // chains))
    rng = generator(seed, "gibbs")
    start = new_population(model, chains, rng)
    if burn_in is None:
        burn_in = usual_sweeps(model, start)

    swept = 0
    total = chains * (burn_in + (draws - 1) * thin)

    def done(sweeps: int) -> None:
        nonlocal swept
        swept += sweeps
        if progress is not None:
            progress(swept, total)

    conditionals = conditionals_of(model, stars(model) if join_hubs else ())
    population = anneal(model, conditionals, start, burn_in, rng, done)
    recorded = np.empty((model.n_variables, draws, chains), dtype=np.uint8)
    for draw in range(draws):
        if draw:
            advance(conditionals, population.states, population.generators, thin, done)
        recorded[:, draw] = population.states
    diagnostic = diagnose(model, recorded, population.ancestors, burn_in, thin)
    flat = recorded.reshape(model.n_variables, draws * chains)
    codes = read_only(np.ascontiguousarray(flat[:, draws * chains - rows :]))
    return Sample(DiscreteTable(codes, model.names, model.labels), diagnostic)


def check_settings(
    model: PairwiseModel,
    rows: int,
    *,
    burn_in: int | None = None,
    thin: int = THIN,
    chains: int | None = None,
) -> None:
    """Raise the errors of :func:`sample_gibbs` without drawing anything."""
    for name, value, least in (
        ("rows", rows, 1),
        ("sweeps of burn-in", burn_in, 0),
        ("sweeps of thinning", thin, 1),
        ("chains", chains, _LEAST_CHAINS),
    ):
        if value is not None and value < least:
            raise InputError(f"The number of {name} must be at least {least}; got {value}.")
        if value is not None and value > LARGEST_SAMPLE:
            raise InputError(
                f"The number of {name} must be at most {LARGEST_SAMPLE:,}; got {value:,}."
            )
    # The recorded draws and the returned rows are two arrays of one byte per cell.
    drawn = max(rows, _LEAST_DRAWS * (chains or 0))
    needed, free = 2 * drawn * model.n_variables, free_bytes()
    if needed > free:
        raise InputError(
            f"{drawn:,} draws of {model.n_variables:,} variables take {size_text(needed)}, "
            f"and {size_text(free)} are free; draw fewer rows or take fewer chains."
        )
    if not np.isfinite(model.weights).all():
        raise InputError(
            "Gibbs sampling needs positive potentials: with a zero (weight −infinity) its chains "
            "may never reach parts of the space. Exact sampling takes such models when small."
        )
    if model.cardinalities.max() > MAX_STATES:
        raise InputError(f"Gibbs sampling takes variables of at most {MAX_STATES} states.")
