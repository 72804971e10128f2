"""Held-out rows predicted by a learned network, and by logistic regressions.

Every column is predicted from all others: by the network with package defaults, and by a logistic
regression of the column on the indicators of all others, with the best of three strengths in
hindsight. The loss is the negative log pseudo-likelihood, in nats per row.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from statistics import fmean, median
from typing import Any

import numpy as np
import pandas as pd
from plotly import data as samples
from sklearn import datasets
from sklearn.linear_model import LogisticRegression

import graftviz as gv
from graftviz.data.sets.registry import load_dataset
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
from graftviz.utils.errors import InputError

NAME, PREFIX = "prediction", "prediction, "
STRENGTHS = (0.1, 1.0, 10.0)  # C of the regressions
MOST_ROWS = 3_000  # of training
_MOST_STATES = 12  # of a column that is not cut
_STEPS = 300  # of a regression
_SEED = 7
_LEGEND = (
    "Loss of held-out rows in nats per row, smaller is better: of independent columns, of logistic "
    "regressions with the best of C = 0.1, 1 and 10 in hindsight, of best-choice with package "
    "defaults, and the ratio of the last two. Gap: largest difference between an exact marginal of "
    "the model and the share of the state in the training rows. Numbers are cut at their quartiles."
)
_COLUMNS = ("independent", "regression", "best-choice", "ratio", "gap", "edges")

Load = Callable[[], pd.DataFrame]


def tables() -> dict[str, Load]:
    """Return the loaders of all tables by name."""
    scikit = {
        "breast cancer": datasets.load_breast_cancer,
        "diabetes": datasets.load_diabetes,
        "digits, inner pixels": _inner_digits,
        "iris": datasets.load_iris,
        "wine": datasets.load_wine,
    }
    built_in = ("survey", "scale-free-40", "random-30", "grid-8x8", "digits-2", "digits-4")
    return {
        **{name: partial(_frame, load) for name, load in scikit.items()},
        "tips": samples.tips,
        "gapminder": samples.gapminder,
        **{name: partial(_built_in, name) for name in built_in},
    }


def _frame(load: Callable[..., Any]) -> pd.DataFrame:
    frame: pd.DataFrame = load(as_frame=True).frame
    return frame


def _inner_digits(*, as_frame: bool) -> Any:
    found = datasets.load_digits(as_frame=as_frame)
    found.frame = found.frame[[f"pixel_{i}_{j}" for i in range(2, 6) for j in range(2, 6)]]
    return found


def _built_in(key: str) -> pd.DataFrame:
    table = load_dataset(key).table
    return pd.DataFrame(table.codes.T, columns=list(table.names)).astype(str)


def split(frame: pd.DataFrame) -> tuple[DiscreteTable, DiscreteTable]:
    """Return training and held-out rows of a frame, with numbers cut at their quartiles.

    Columns of many texts, and those with a state that no training row has, are left out.
    """
    order = np.random.default_rng(_SEED).permutation(len(frame))
    training = min(MOST_ROWS, 2 * len(order) // 3)
    kept = {}
    for name, column in frame.iloc[order].items():
        codes = _codes(column)
        states = set(codes[:training])
        if 2 <= len(states) <= _MOST_STATES and states.issuperset(codes[training:]):
            kept[str(name)] = np.searchsorted(sorted(states), codes)
    codes = np.column_stack(list(kept.values()))
    train, test = (
        DiscreteTable.from_codes(
            part, names=list(kept), cardinalities=(codes.max(axis=0) + 1).tolist()
        )
        for part in (codes[:training], codes[training:])
    )
    return train, test


def _codes(column: pd.Series) -> np.ndarray:
    if pd.api.types.is_numeric_dtype(column) and column.nunique() > _MOST_STATES:
        return np.asarray(pd.qcut(column, 4, labels=False, duplicates="drop"))
    return np.asarray(pd.factorize(column, sort=True)[0])


def measurements(text: str) -> tuple[Measurement, ...]:
    """Return the measurements whose name contains `text`."""
    found = []
    for name, load in tables().items():
        if text.lower() in (PREFIX + name).lower():
            train, _ = split(load())
            size = Size(train.n_variables, train.n_rows, int(train.cardinalities.max()))
            found.append(Measurement(PREFIX + name, size, predicting(load), group=NAME))
    return tuple(replace(each, warm_up=False, seeds=(0,)) for each in found)


def predicting(load: Load) -> Work:
    """Return a function that learns a network and compares its predictions."""

    def work(_lab: Lab, size: Size) -> Repetition:
        train, test = split(load())
        result, sample = timed(lambda: gv.learn(train, seed=size.seed, test=test))
        regression = regression_loss(train, test)
        loss = result.nlpl_test
        facts = {
            "independent": result.quality.independent,
            "regression": regression,
            "best-choice": loss,
            "ratio": loss / regression,
            "gap": _gap(result.model, train),
            "edges": float(result.n_edges),
        }
        return sample._replace(facts=facts)

    return work


def regression_loss(train: DiscreteTable, test: DiscreteTable) -> float:
    """Return the loss of logistic regressions of all columns, with the best C in hindsight."""
    return min(
        sum(_regressed(train, test, i, strength) for i in range(train.n_variables))
        for strength in STRENGTHS
    )


def _regressed(train: DiscreteTable, test: DiscreteTable, i: int, strength: float) -> float:
    model = LogisticRegression(C=strength, max_iter=_STEPS, tol=1e-3)
    model.fit(_indicators(train, i), train.codes[i])
    chances = model.predict_proba(_indicators(test, i))
    return float(-np.log(chances[np.arange(test.n_rows), test.codes[i]]).mean())


def _indicators(table: DiscreteTable, left_out: int) -> np.ndarray:
    """Return the indicators of the states of all columns but one, shape (N, ·)."""
    columns = [
        np.eye(int(table.cardinalities[j]))[table.codes[j]]
        for j in range(table.n_variables)
        if j != left_out
    ]
    return np.concatenate(columns, axis=1)


def _gap(model: gv.PairwiseMRF, train: DiscreteTable) -> float:
    """Return the largest difference of a marginal from its share; NaN if exact inference fails."""
    try:
        beliefs = gv.infer(model, "exact").node
    except InputError:
        return math.nan
    shares = (train.state_counts(i) / train.n_rows for i in range(train.n_variables))
    return max(float(np.abs(a - b).max()) for a, b in zip(beliefs, shares, strict=True))


def line(row: BenchRow) -> str:
    """Return a row as a line of text."""
    parts = [f"{name} {_shown(row.values, name)}" for name in _COLUMNS]
    return f"{row.measurement.title}: {row.missing or '; '.join(parts)}"


def files(rows: Sequence[BenchRow]) -> dict[str, str]:
    """Return the files of the measurement by name."""
    return record_files(NAME, [_record(row) for row in rows], _LEGEND, markdown(rows))


def markdown(rows: Sequence[BenchRow]) -> str:
    """Return the table in Markdown."""
    lines = [["table", "n", "rows", *_COLUMNS], ["---"] * (3 + len(_COLUMNS))]
    for row in rows:
        record = _record(row)
        shape = [record["table"], f"{record['columns']:,}", f"{record['rows']:,}"]
        lines.append([*shape, *(_shown(row.values, name) for name in _COLUMNS)])
    ratios = [row.values["ratio"] for row in rows if "ratio" in row.values]
    table = "\n".join(f"| {' | '.join(line)} |" for line in lines)
    middle = f"Ratio: {fmean(ratios):.3f} in the mean, {median(ratios):.3f} in the median."
    return f"{table}\n\n{middle} {_LEGEND}\n"


def _shown(values: Mapping[str, Any], name: str) -> str:
    value = values.get(name)
    if value is None or math.isnan(value):
        return "–"
    if name == "edges":
        return f"{value:.0f}"
    return f"{value:.1g}" if name == "gap" else f"{value:.3f}"


def _record(row: BenchRow) -> dict[str, Any]:
    """Return the values of a row by column of the CSV."""
    size, name = row.measurement.size, row.measurement.name.removeprefix(PREFIX)
    shape = {"table": name, "columns": size.nodes, "rows": size.rows}
    return shape | {column: row.values.get(column) for column in _COLUMNS}
