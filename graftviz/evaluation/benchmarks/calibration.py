"""Calibration of automatic thresholds: false edges between independent columns, and power.

By default, learners choose a threshold that chance exceeds for about one false edge in 50
variables: n / 50 edges between n independent columns. One table counts the edges between columns
that are drawn independently, or permuted one by one; the other shows how many true edges the same
defaults find.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from statistics import fmean
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import pandas as pd
from scipy.special import chdtri, softmax
from sklearn.datasets import load_breast_cancer, load_digits

from graftviz.data.sets.registry import dataset_keys, load_dataset
from graftviz.data.synthetic.gibbs import sample_gibbs
from graftviz.data.synthetic.graphs import random_graph
from graftviz.data.synthetic.potentials import random_model
from graftviz.data.table import DiscreteTable
from graftviz.evaluation.benchmarks.bench import (
    BenchRow,
    Lab,
    Measurement,
    Repetition,
    Size,
    Work,
    timed,
)
from graftviz.evaluation.benchmarks.sweep_files import record_files
from graftviz.learning.base import Learner
from graftviz.learning.grafting.best_choice import BestChoice
from graftviz.learning.grafting.edge_grafting import EdgeGrafting, FirstHit
from graftviz.learning.nodewise.nodewise_l1 import NodewiseL1
from graftviz.model.pairwise import PairwiseModel
from graftviz.utils.arrays import read_only

NAME, PREFIX = "calibration", "calibration, "
FALSE_EDGES, POWER = "false edges", "power"
VARIABLES_PER_ERROR = 50  # promised by the defaults: one false edge among so many variables
GRAFTING: tuple[Learner, ...] = (BestChoice(), EdgeGrafting(), FirstHit())
LEARNERS = (*GRAFTING, NodewiseL1())
KNOWN = "known neighbours"
LINKS, RARE, ODDS_RATIO = 9, 0.02, 20.0
_REGRESSED = 20_000_000  # rows times states times repetitions; regressions of more take minutes
_ROUNDS, _ABSENT = 20, 1e-9  # of fitting the shares of a variable; count of an absent state
_QUANTITIES = {FALSE_EDGES: ("false",), POWER: ("recall", "precision", "false")}
_NAMES = [learner.name for learner in LEARNERS]
_LEGEND = (
    "False edges: means over the repetitions; n / 50 are promised. Power: mean recall, precision "
    "(1 without edges) and false edges. Known neighbours: recall of a χ² test of the same level "
    "that is given the weights of the other neighbours of a variable. –: not measured."
)

Columns: TypeAlias = tuple[int, Sequence[float]]  # their number, and the shares of their states


class Drawn(NamedTuple):
    """Data of one repetition: a table, its true edges i < j, and further values by name."""

    table: DiscreteTable
    truth: frozenset[tuple[int, int]] = frozenset()
    facts: Mapping[str, float] = {}


Draw: TypeAlias = Callable[[int], Drawn]  # of a seed


class Case(NamedTuple):
    """Row of a table.

    Attributes
    ----------
    name : str
        Description of the columns.
    draw : callable (seed) -> Drawn
    repetitions : int
        Number of seeds, at least 2.
    group : str
        Table of the row: "false edges" or "power".
    """

    name: str
    draw: Draw
    repetitions: int
    group: str = FALSE_EDGES

    def measurement(self) -> Measurement:
        """Return the measurement, whose values are means over the repetitions."""
        table = self.draw(0).table
        size = Size(table.n_variables, table.n_rows, int(table.cardinalities.max()))
        regressed = size.rows * int(table.cardinalities.sum()) * self.repetitions
        work = counting(self.draw, LEARNERS if regressed <= _REGRESSED else GRAFTING)
        seeds = tuple(range(self.repetitions))
        row = Measurement(PREFIX + self.name, size, work, group=self.group, seeds=seeds)
        return replace(row, warm_up=False, average=fmean)


def measurements(text: str) -> tuple[Measurement, ...]:
    """Return the measurements whose name contains `text`."""
    chosen = (case for case in cases() if text.lower() in (PREFIX + case.name).lower())
    return tuple(case.measurement() for case in chosen)


def cases() -> list[Case]:
    """Return all cases, in the order of the tables."""
    return [*_independent_cases(), *_permuted_cases(), *_power_cases()]


def _independent_cases() -> list[Case]:
    coin, rare, skewed = even(2), (0.99, 0.01), (0.6, 0.25, 0.1, 0.04, 0.01)
    return [
        *(_case("2 states", rows, (50, coin)) for rows in (200, 1_000, 20_000)),
        _case("2 states", 2_000, (200, coin)),
        _case("3 states", 1_000, (50, even(3))),
        *(_case("5 states", rows, (50, even(5))) for rows in (1_000, 20_000)),
        _case("10 states", 1_000, (50, even(10))),
        _case("21 states", 2_000, (20, even(21))),
        _case("5 and 95 %", 500, (50, (0.95, 0.05))),
        *(_case("1 and 99 %", rows, (50, rare)) for rows in (1_000, 20_000)),
        _case("0.3 and 99.7 %", 2_000, (50, (0.997, 0.003))),
        _case("1, 9 and 90 %", 1_000, (50, (0.9, 0.09, 0.01))),
        *(_case("1, 4, 10, 25 and 60 %", rows, (50, skewed)) for rows in (200, 1_000)),
        _case("2, 5 and 21 states", 2_000, (20, coin), (20, even(5)), (10, even(21))),
        _case("coins, 1 and 99 %, 5 states", 1_000, (25, coin), (15, rare), (10, even(5))),
        _case("coins, 1 and 99 %, 5 states", 4_000, (100, coin), (60, rare), (40, even(5))),
    ]


def _case(name: str, rows: int, *columns: Columns) -> Case:
    return Case(name, independent(rows, *columns), 20 if rows <= 5_000 else 10)


def _permuted_cases() -> list[Case]:
    loads = {key: partial(_built_in, key) for key in dataset_keys()}
    loads["digits, quartiles"] = partial(_quartiles, load_digits)
    loads["breast cancer, quartiles"] = partial(_quartiles, load_breast_cancer)
    return [Case(f"permuted {name}", permuted(load), 10) for name, load in loads.items()]


def _power_cases() -> list[Case]:
    chains = [
        Case(f"chain with φ = {phi:g}, {coins} coins", chain(phi, rows, coins), 10, POWER)
        for phi, rows in ((0.35, 1_000), (0.5, 500), (0.25, 2_000))
        for coins in (0, 10, 30)
    ]
    mixed = [
        Case(f"2 to 20 states, weights of {sigma:g}", mixed_graph(60, 90, 5_000, sigma), 5, POWER)
        for sigma in (0.12, 0.2)
    ]
    name = f"coins, 2 and 98 %, a pair with odds ratio {ODDS_RATIO:g}"
    return [*chains, Case(name, rare_pair(14, 14, 2_000), 40, POWER), *mixed]


def even(states: int) -> tuple[float, ...]:
    """Return equal shares of so many states."""
    return (1.0 / states,) * states


def independent(rows: int, *columns: Columns) -> Draw:
    """Return a function that draws columns that are all independent."""

    def draw(seed: int) -> Drawn:
        rng = np.random.default_rng(seed)
        shares = [shares for count, shares in columns for _ in range(count)]
        codes = [rng.choice(len(own), rows, p=own) for own in shares]
        return Drawn(DiscreteTable.from_codes(np.column_stack(codes)))

    return draw


def permuted(load: Callable[[], DiscreteTable]) -> Draw:
    """Return a function that permutes every column of a table by itself."""

    def draw(seed: int) -> Drawn:
        table = load()
        codes = np.random.default_rng(seed).permuted(table.codes, axis=1)
        return Drawn(replace(table, codes=read_only(codes)))

    return draw


def _built_in(key: str) -> DiscreteTable:
    return load_dataset(key).table


def _quartiles(load: Callable[..., Any]) -> DiscreteTable:
    """Return a data set of scikit-learn cut at its quartiles; constant columns have one state."""
    frame = load(as_frame=True).data
    codes = frame.apply(lambda column: pd.qcut(column, 4, labels=False, duplicates="drop"))
    return DiscreteTable.from_codes(codes.fillna(0).to_numpy(np.int64))


def chain(phi: float, rows: int, coins: int) -> Draw:
    """Return a function that draws a chain of ten columns of 5 states, with coins beside it.

    The columns are the rounded values of an autoregressive process with the correlation φ.
    """

    def draw(seed: int) -> Drawn:
        rng = np.random.default_rng(seed)
        values = rng.normal(size=(LINKS + 1, rows))
        for j in range(LINKS):
            values[j + 1] = phi * values[j] + math.sqrt(1.0 - phi**2) * values[j + 1]
        links = np.clip(np.round(values), -2, 2).astype(np.int64) + 2
        codes = np.vstack([links, rng.integers(0, 2, (coins, rows))])
        true = frozenset((j, j + 1) for j in range(LINKS))
        return Drawn(DiscreteTable.from_codes(codes.T), true)

    return draw


def rare_pair(coins: int, others: int, rows: int) -> Draw:
    """Return a function that draws two dependent columns of a rare state, and others beside them.

    The others are coins and independent columns of the same shares.
    """
    # The share x of both rare states has x (1 − 2 p + x) = (p − x)² times the odds ratio.
    excess = ODDS_RATIO - 1.0
    half = 0.5 + RARE * excess
    both = (half - math.sqrt(half**2 - excess * ODDS_RATIO * RARE**2)) / excess
    joint = (1.0 - 2.0 * RARE + both, RARE - both, RARE - both, both)
    beside = independent(rows, (coins, even(2)), (others, (1.0 - RARE, RARE)))

    def draw(seed: int) -> Drawn:
        pair = np.divmod(np.random.default_rng((seed, 1)).choice(4, rows, p=joint), 2)
        codes = np.column_stack([*pair, *beside(seed).table.codes])
        return Drawn(DiscreteTable.from_codes(codes), frozenset({(0, 1)}))

    return draw


def mixed_graph(nodes: int, edges: int, rows: int, sigma: float) -> Draw:
    """Return a function that samples a random model of variables of 2 to 20 states."""

    def draw(seed: int) -> Drawn:
        sizes = np.random.default_rng(seed).integers(2, 21, nodes)
        graph = random_graph(nodes, edges=edges, seed=seed)
        model = random_model(graph.edges, sizes, edge_sigma=sigma, seed=seed)
        table = sample_gibbs(model, rows, seed=seed).table
        return Drawn(table, edge_set(model), {f"{KNOWN}, recall": known_recall(model, table)})

    return draw


def edge_set(model: PairwiseModel) -> frozenset[tuple[int, int]]:
    """Return the edges of a model as pairs i < j."""
    return frozenset((int(i), int(j)) for i, j in model.edges)


def known_recall(model: PairwiseModel, table: DiscreteTable) -> float:
    """Return the share of the edges of a model that χ² tests with known neighbours find."""
    level = 2.0 / (VARIABLES_PER_ERROR * (model.n_variables - 1))
    freedoms = (model.cardinalities[model.edges] - 1).prod(axis=1)
    found = [pearson(model, table, i, j) for i, j in model.edges.tolist()]
    return float(np.mean(found > chdtri(freedoms, level)))


def pearson(model: PairwiseModel, table: DiscreteTable, i: int, j: int) -> float:
    """Return Pearson's X² of a pair of variables, given the other neighbours of the first.

    The expected counts follow from p(x_i | neighbours except j) with the edge weights of the
    model, and node weights of i that are fitted to its observed shares. Without other neighbours
    this is the X² of independence.
    """
    codes, logs = table.codes, np.zeros((table.n_rows, int(model.cardinalities[i])))
    for e, (a, b) in enumerate(model.edges.tolist()):
        if i in (a, b) and j not in (a, b):
            weights = model.edge_weights(e)
            logs += weights.T[codes[b]] if a == i else weights[codes[a]]
    observed = np.zeros(model.cardinalities[[i, j]])
    np.add.at(observed, (codes[i], codes[j]), 1.0)
    counts = np.maximum(observed.sum(axis=1), _ABSENT)
    for _ in range(_ROUNDS):
        logs += np.log(counts / softmax(logs, axis=1).sum(axis=0))
    expected = softmax(logs, axis=1).T @ np.eye(observed.shape[1])[codes[j]]
    return float(((observed - expected) ** 2 / np.maximum(expected, _ABSENT)).sum())


def counting(draw: Draw, learners: Sequence[Learner]) -> Work:
    """Return a function that compares the edges of every learner with the true ones."""

    def work(_lab: Lab, size: Size) -> Repetition:
        drawn = draw(size.seed)
        values, sample = timed(lambda: _compared(drawn, learners, size.seed))
        return sample._replace(facts={**drawn.facts, **values})

    return work


def _compared(drawn: Drawn, learners: Sequence[Learner], seed: int) -> dict[str, float]:
    truth, values = drawn.truth, {}
    for learner in learners:
        edges = edge_set(learner.outcome(drawn.table, seed=seed).model())
        values[f"{learner.name}, false"] = float(len(edges - truth))
        if truth:
            hits = len(edges & truth)
            values[f"{learner.name}, recall"] = hits / len(truth)
            values[f"{learner.name}, precision"] = hits / len(edges) if edges else 1.0
    return values


def line(row: BenchRow) -> str:
    """Return a row as a line of text."""
    parts = [f"{name} {text}" for name, text in _results(row).items()]
    return f"{row.measurement.title}: {row.missing or '; '.join(parts)}"


def files(rows: Sequence[BenchRow]) -> dict[str, str]:
    """Return the files of the calibration by name."""
    return record_files(NAME, [_record(row) for row in rows], _LEGEND, markdown(rows))


def markdown(rows: Sequence[BenchRow]) -> str:
    """Return the tables of false edges and of power in Markdown."""
    parts = []
    for group, names in ((FALSE_EDGES, _NAMES), (POWER, [*_NAMES, KNOWN])):
        head = ["columns", "n", "rows", "repetitions", "promised", *names]
        cells = [_cells(row) for row in rows if row.measurement.group == group]
        lines = [f"| {' | '.join(line)} |" for line in (head, ["---"] * len(head), *cells)]
        parts += [f"**{group.capitalize()}**\n\n" + "\n".join(lines)] if cells else []
    return "\n\n".join([*parts, _LEGEND]) + "\n"


def _cells(row: BenchRow) -> list[str]:
    name, n, rows, repetitions, promised, *_ = _record(row).values()
    shape = [name, f"{n:,}", f"{rows:,}", f"{repetitions}", f"{promised:.2f}"]
    return [*shape, *_results(row).values()]


def _results(row: BenchRow) -> dict[str, str]:
    """Return the values of every learner, separated by commas."""
    group, texts = row.measurement.group, {}
    for name in [*_NAMES, KNOWN] if group == POWER else _NAMES:
        values = [row.values.get(f"{name}, {quantity}") for quantity in _QUANTITIES[group]]
        texts[name] = ", ".join(f"{value:.2f}" for value in values if value is not None) or "–"
    return texts


def _record(row: BenchRow) -> dict[str, Any]:
    """Return the values of a row by column of the CSV; None if not available."""
    size, name = row.measurement.size, row.measurement.name.removeprefix(PREFIX)
    shape = {"columns": name, "variables": size.nodes, "rows": size.rows}
    shape |= {"repetitions": row.repetitions, "promised": size.nodes / VARIABLES_PER_ERROR}
    columns = [f"{name}, {quantity}" for name in _NAMES for quantity in _QUANTITIES[POWER]]
    return shape | {column: row.values.get(column) for column in (*columns, f"{KNOWN}, recall")}
