"""Errors and bounds of localized inference on Ising grids: figures 3 to 5 of the paper."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, Literal, NamedTuple

import numpy as np
import plotly.graph_objects as go

from graftviz.experiments.reproduction.claims import Cases, Claim
from graftviz.experiments.reproduction.experiment import Experiment, MeasuringTask, Part, model_seed
from graftviz.experiments.reproduction.rows import (
    Found,
    NotMeasured,
    Row,
    Rows,
    group,
    nested,
    panel,
    standard_errors,
    trend,
    where,
)
from graftviz.figures.reproduction import Look
from graftviz.figures.reproduction_lines import lines_figure
from graftviz.figures.reproduction_plane import Plane, plane_figure
from graftviz.figures.style import BLUE, GREEN, ORANGE, VERMILION
from graftviz.inference import infer
from graftviz.model import PairwiseMRF
from graftviz.regions import dobrushin_coefficient, grow_region, region_marginal
from graftviz.sampling import ising_grid

PAPER = "Efficient localized inference"
LARGEST_REGION = 16
ROUNDING = 1e-9
_MODEL = "θ_i from U[−T₁, T₁], θ_ij from U[−T₂, T₂], spins −1 and +1, no wrap-around"


def _grid(side: int, field: float, coupling: float, seed: int, number: int) -> PairwiseMRF:
    seed = model_seed(seed, number)
    return ising_grid(side, side, field=field, coupling=coupling, seed=seed)


# --- figure 3: the Dobrushin coefficient c ------------------------------------------------------


def plane_parts(
    seed: int, side: int, fields: Sequence[float], couplings: Sequence[float], models: int
) -> Iterator[Part]:
    """Yield one part for every T₂, with `models` models for every T₁."""
    for coupling in couplings:
        size = {"side": side, "fields": fields, "models": models, "seed": seed}
        measure = partial(_measure_plane, side, fields, coupling, models, seed)
        yield Part({"T2": coupling}, measure, models * len(fields), size)


def _measure_plane(
    side: int, fields: Sequence[float], coupling: float, models: int, seed: int, task: MeasuringTask
) -> Rows:
    """Compute the coefficients of all models; those of one number are the same draws, scaled."""
    rows = []
    for k, field in enumerate(fields, start=1):
        grids = (_grid(side, field, coupling, seed, number) for number in range(models))
        rows.append({"T1": field, "c": [float(dobrushin_coefficient(grid)) for grid in grids]})
        task.progress(k * models)
    return rows


def _plane_table(rows: Rows) -> Iterator[Row]:
    """Yield one row for every point of the plane."""
    for row in rows:
        found = np.array(row["c"])
        yield {
            "T1": row["T1"],
            "T2": row["T2"],
            "mean_c": found.mean(),
            "least_c": found.min(),
            "largest_c": found.max(),
            "share_below_1": np.mean(found < 1.0),
        }


def _plane(rows: Rows, *by: str) -> Found:
    """Return the mean c by both strengths."""
    if not rows:
        raise NotMeasured("No coefficient was measured.")
    found: Found = nested(list(_plane_table(rows)), "mean_c", *by)
    return found


def _draw_plane(title: str, rows: Rows) -> go.Figure:
    """Draw the mean c over both strengths, and the contour c = 1."""
    plane = _plane(rows, "T2", "T1")
    fields = list(next(iter(plane.values())))
    return plane_figure(
        title,
        Plane(fields, list(plane), [list(by_field.values()) for by_field in plane.values()]),
        x_title="strength of the fields T₁",
        y_title="strength of the couplings T₂",
        name="c",
        border=1.0,
    )


def _borders(rows: Rows) -> dict[float, float | None]:
    """Return the interpolated T₂ at which the mean c reaches 1 by T₁; None if it does not."""
    found: dict[float, float | None] = {}
    for field, by_coupling in _plane(rows, "T1", "T2").items():
        couplings, means = list(by_coupling), list(by_coupling.values())
        k = next((k for k, c in enumerate(means) if c >= 1.0), 0)
        at = slice(k - 1, k + 1)
        found[field] = float(np.interp(1.0, means[at], couplings[at])) if k else None
    return found


def _ends(rows: Rows) -> tuple[list[float], list[float]]:
    """Return the mean c by T₁ at the weakest and at the strongest couplings."""
    first, *_, last = _plane(rows, "T2", "T1").values()
    return list(first.values()), list(last.values())


def _share_below_one(rows: Rows) -> float:
    plane = _plane(rows, "T2", "T1")
    return float(np.mean([c < 1.0 for by_field in plane.values() for c in by_field.values()]))


_PLANE_CLAIMS = (
    Claim(
        "c is smaller than one in most of the plane of T₁ and T₂.",
        ("share of the points with c < 1", _share_below_one, "above 0.5"),
        ("T₂ at which c is 1 by T₁", _borders),
        remark="That share depends on the limits of T₁ and T₂, which the text has lost.",
    ),
    Claim(
        "c is larger than one where T₂ is very large and T₁ very small: strongly coupled nodes "
        "without correlation decay.",
        ("c at the strongest couplings and weakest fields", lambda r: _ends(r)[1][0], "above 1"),
        ("largest c at the weakest couplings", lambda rows: max(_ends(rows)[0]), "below 1"),
        (
            "change of c with the fields at the strongest couplings",
            lambda rows: _ends(rows)[1][-1] - _ends(rows)[1][0],
            "below 0",
        ),
        ("c by T₁ at the weakest couplings", lambda rows: _ends(rows)[0]),
        ("c by T₁ at the strongest couplings", lambda rows: _ends(rows)[1]),
        remark="The largest row sum of all nodes is that of a node whose own field happens to be "
        "weak, so strong fields hardly lower c.",
    ),
)

# --- figures 4 and 5: errors and bounds of regions ----------------------------------------------


class Rule(NamedTuple):
    """Expansion rule and cut of regions, and their colour and symbol in figures."""

    expansion: Literal["greedy", "random", "norm"]
    cut: Literal["drop", "mean-field"]
    color: str
    symbol: str


GREEDY, MEAN_FIELD = "greedy, dropping out", "greedy, mean field"
RANDOM, NORM = "random, dropping out", "largest norm, dropping out"
RULES = {
    GREEDY: Rule("greedy", "drop", BLUE, "circle"),
    MEAN_FIELD: Rule("greedy", "mean-field", VERMILION, "diamond"),
    RANDOM: Rule("random", "drop", ORANGE, "square"),
    NORM: Rule("norm", "drop", GREEN, "triangle-up"),
}
_BASELINES = (RANDOM, NORM)
# Bounds are dashed with open symbols, errors solid with filled ones.
_LOOKS = {
    f"{quantity}: {name}": Look(rule.color, dash, f"{rule.symbol}{suffix}")
    for name, rule in RULES.items()
    for quantity, dash, suffix in (("bound", "dash", "-open"), ("error", "solid", ""))
}


def middle(side: int) -> int:
    """Return the node in the middle of a grid, or the first of four."""
    return (side - 1) // 2 * (side + 1)


def region_parts(
    seed: int, panels: Sequence[tuple[int, float, float, int]], *, rules: Sequence[str]
) -> Iterator[Part]:
    """Yield one part for every panel, which is side, T₁, T₂ and number of models, and rule."""
    for side, field, coupling, models in panels:
        size = {"models": models, "largest": LARGEST_REGION, "seed": seed}
        for rule in rules:
            columns = {"side": side, "T1": field, "T2": coupling, "rule": rule}
            measure = partial(_measure_regions, side, field, coupling, models, RULES[rule], seed)
            yield Part(columns, measure, models * LARGEST_REGION, size)


def _measure_regions(
    side: int,
    field: float,
    coupling: float,
    models: int,
    rule: Rule,
    seed: int,
    task: MeasuringTask,
) -> Rows:
    """Grow a region in every model, and return true errors and bounds by size."""
    rows = []
    query = middle(side)
    for number in range(models):
        model = _grid(side, field, coupling, seed, number)
        truth = infer(model, "exact").node[query]
        regions = grow_region(
            model,
            query,
            tolerance=0.0,
            max_size=LARGEST_REGION,
            cut=rule.cut,
            expansion=rule.expansion,
            seed=number,
        )
        row: Row = {"errors": [], "bounds": []}
        for region in regions:
            answer = region_marginal(model, region.nodes, query, rule.cut)
            row["errors"].append(float(np.abs(answer - truth).max()))
            row["bounds"].append(float(region.bound))
        rows.append(row)
        task.progress((number + 1) * LARGEST_REGION)
    return rows


def _panels(rows: Rows) -> Found:
    """Return the rows by size of the grid and strengths."""
    words = "{side} × {side}, T₁ = {T1:g}, T₂ = {T2:g}"
    return group([{**row, "panel": words.format(**row)} for row in rows], "panel")


def _arrays(rows: Rows, column: str) -> Found:
    """Return errors or bounds by panel and rule, as arrays of models and sizes."""
    panels = _panels(rows).items()
    return Found({name: nested(here, column, "rule", of=np.array) for name, here in panels})


def largest_ratio(errors: np.ndarray, bounds: np.ndarray) -> float:
    """Return the largest ratio of error to bound, ignoring bounds of 0."""
    nonzero = bounds > 0.0
    return float((errors[nonzero] / bounds[nonzero]).max(initial=0.0))


def _region_table(rows: Rows) -> Iterator[Row]:
    """Yield one row for every panel, rule and size."""
    for here in _panels(rows).values():
        for models in group(here, "rule").values():
            columns = (np.array([row[key] for row in models]).T for key in ("errors", "bounds"))
            for size, (errors, bounds) in enumerate(zip(*columns, strict=True), start=1):
                yield {
                    **{key: models[0][key] for key in ("side", "T1", "T2", "rule")},
                    "size": size,
                    "mean_error": errors.mean(),
                    "largest_error": errors.max(),
                    "mean_bound": bounds.mean(),
                    "least_bound": bounds.min(),
                    "vacuous_share": np.mean(bounds >= 1.0),
                    "largest_error_to_bound": largest_ratio(errors, bounds),
                }


def _largest_regions(rows: Rows) -> list[Row]:
    table = list(_region_table(rows))
    return where(table, size=max((row["size"] for row in table), default=0))


def _draw_regions(title: str, rows: Rows, *, axis: str) -> go.Figure:
    """Draw mean errors and bounds by size of the region, or by T₁ at the largest size."""
    x_title, table = "nodes in the region", list(_region_table(rows))
    groups = _panels(table)
    if axis == "T1":
        x_title, table = "strength of the fields T₁", _largest_regions(rows)
        words = "{side} × {side}, T₂ = {T2:g}, {size} nodes"
        groups = group([{**row, "panel": words.format(**row)} for row in table], "panel")
    panels = []
    for name, here in groups.items():
        lines = {
            f"{quantity}: {rule}": nested(found, f"mean_{quantity}", axis, of=list)
            for rule, found in group(here, "rule").items()
            for quantity in ("bound", "error")
        }
        panels.append(panel(name, x_title, "mean of the models", lines, _LOOKS, log_y=True))
    return lines_figure(title, panels, share_y=True)


def _exceeded(rows: Rows) -> int | None:
    """Return the number of errors above their bound; None without regions."""
    wrong = [np.array(row["errors"]) > np.array(row["bounds"]) + ROUNDING for row in rows]
    return int(np.sum(wrong)) if wrong else None


def _against_baselines(of: Callable[[np.ndarray, np.ndarray], Any]) -> Cases:
    """Return a function of greedy's and a baseline's errors and bounds, by panel and baseline."""

    def cases(rows: Rows) -> Row:
        found: Row = {}
        for column in ("bounds", "errors"):
            for name, by_rule in _arrays(rows, column).items():
                for other in _BASELINES:
                    value = of(by_rule[GREEDY], by_rule[other])
                    found.setdefault(f"{name}, {other}", {})[column] = value
        return found

    return cases


def _difference(one: np.ndarray, other: np.ndarray) -> float:
    """Return by how many standard errors `other` is larger than `one` over all sizes."""
    return standard_errors((other - one).mean(axis=1))


def _last_means(one: np.ndarray, other: np.ndarray) -> list[float]:
    return [float(one[:, -1].mean()), float(other[:, -1].mean())]


def _of_mean_field(column: str, of: Callable[[np.ndarray, np.ndarray], Any]) -> Cases:
    """Return a function of the arrays of mean field and of dropping out, by panel."""
    return lambda rows: {
        name: of(by_rule[MEAN_FIELD], by_rule[GREEDY])
        for name, by_rule in _arrays(rows, column).items()
    }


def _times(one: float, other: float) -> float:
    return one / other if other > ROUNDING else 1.0


def _beyond_greedy(of: Callable[[np.ndarray, np.ndarray, np.ndarray], Any]) -> Cases:
    """Return a function of a baseline's errors and greedy's two bounds, by panel and baseline."""

    def cases(rows: Rows) -> Row:
        errors, bounds = _arrays(rows, "errors"), _arrays(rows, "bounds")
        return {
            name: {o: of(errors[name][o], at[GREEDY], at[MEAN_FIELD]) for o in _BASELINES}
            for name, at in bounds.items()
        }

    return cases


def _sizes_beyond(errors: np.ndarray, *bounds: np.ndarray) -> list[int]:
    curve = np.minimum(*(array.mean(axis=0) for array in bounds))
    found: list[int] = (np.flatnonzero(errors.mean(axis=0) > curve) + 1).tolist()
    return found


def _over_fields(quantity: str, of: Callable[[list[Any]], Any]) -> Cases:
    """Return a function of the values by ascending T₁ at the largest size, by grid and rule."""

    def cases(rows: Rows) -> Row:
        found: Row = {}
        for row in sorted(_largest_regions(rows), key=lambda row: row["T1"]):
            error, bound = row["mean_error"], row["mean_bound"]
            ratio = bound / error if error > ROUNDING else None
            values = {"errors": error, "bounds": bound, "gap": bound - error, "ratio": ratio}
            name = f"{row['rule']}, {row['side']} × {row['side']}, T₂ = {row['T2']:g}"
            found.setdefault(name, []).append(values[quantity])
        if not any(len(values) > 1 for values in found.values()):
            raise NotMeasured("At least two values of T₁ are needed.")
        return {name: of(values) for name, values in found.items() if len(values) > 1}

    return cases


def _change(values: list[float | None]) -> float | None:
    first, last = values[0], values[-1]
    return None if first is None or last is None else last - first


def _last(values: list[float]) -> float:
    return values[-1]


_BOUNDS_HOLD = Claim(
    "No true error exceeds its bound.",
    ("regions with an error above their bound", _exceeded, "at most 0"),
    ("regions", lambda rows: sum(len(row["errors"]) for row in rows)),
    (
        "largest error to its bound",
        lambda r: max((row["largest_error_to_bound"] for row in _region_table(r)), default=None),
    ),
)
_SIZE_CLAIMS = (
    Claim(
        "With dropping out, greedy expansion is significantly better than both baselines.",
        (
            "mean paired difference over all sizes from greedy expansion, in standard errors",
            _against_baselines(_difference),
            "above 2",
        ),
        ("means of greedy and baseline at the largest size", _against_baselines(_last_means)),
    ),
    Claim(
        "Cutting by mean field gives about the same true error as dropping out.",
        (
            "mean error over all sizes to that of dropping out",
            _of_mean_field("errors", lambda field, drop: _times(field.mean(), drop.mean())),
            "0.8 to 1.25",
        ),
        (
            "mean error at the largest size to that of dropping out",
            _of_mean_field("errors", lambda field, drop: _times(*_last_means(field, drop))),
            "0.8 to 1.25",
        ),
    ),
    Claim(
        "Cutting by mean field gives a tighter bound than dropping out.",
        (
            "mean paired difference of bounds from mean field, in standard errors",
            _of_mean_field("bounds", _difference),
            "above 2",
        ),
        ("mean bound by size", _of_mean_field("bounds", lambda field, _: field.mean(axis=0))),
        ("of dropping out", _of_mean_field("bounds", lambda _, drop: drop.mean(axis=0))),
        remark="Dropping out places the influence of outside neighbours in the middle of its "
        "range; the bound is a supremum over that range, and moving away from the middle usually "
        "increases it.",
    ),
    Claim(
        "True errors of the two baselines are sometimes even worse than the bounds of "
        "greedy expansion.",
        (
            "number of sizes at which the mean error exceeds both of greedy's mean bounds",
            _beyond_greedy(lambda *arrays: len(_sizes_beyond(*arrays))),
            "above 0",
        ),
        (
            "share of regions with an error above both of greedy's bounds",
            _beyond_greedy(lambda errors, *bounds: np.mean(errors > np.minimum(*bounds))),
            "above 0",
        ),
        ("these sizes", _beyond_greedy(_sizes_beyond)),
    ),
    _BOUNDS_HOLD,
)
_FIELD_CLAIMS = (
    Claim(
        "The bound is relatively tight, especially where T₁ is large.",
        ("change of mean bound less mean error with T₁", _over_fields("gap", _change), "below 0"),
        ("mean bound less mean error, largest T₁", _over_fields("gap", _last), "at most 0.05"),
        ("change of bound to error with T₁", _over_fields("ratio", _change), "below 0"),
        ("mean bound less mean error by T₁", _over_fields("gap", list)),
        ("bound to error by T₁", _over_fields("ratio", list)),
    ),
    Claim(
        "Both bounds and true errors decrease as T₁ increases.",
        ("rank correlation of bounds with T₁", _over_fields("bounds", trend), "at most -0.9"),
        ("rank correlation of errors with T₁", _over_fields("errors", trend), "at most -0.9"),
        ("bounds by T₁", _over_fields("bounds", list)),
        ("errors by T₁", _over_fields("errors", list)),
    ),
    _BOUNDS_HOLD,
)

# --- the figures --------------------------------------------------------------------------------

_LOST = (
    "The numbers of this figure are missing in our copy of the text, so these are ours: the size "
    "of the grid, the query (the node in the middle), T₁ and T₂."
)
_TIGHTER = (
    "Bounds here are never worse than Corollary 2, and better where couplings are strong: the "
    "total influence of all neighbours on a variable limits its share, so that nothing has to "
    "converge."
)
_DETOURS = (
    "The paper's algorithm stops if no node improves the bound, even if the relevant one would "
    "first increase it. Here the region continues to grow, so that the bound may rise for some "
    "sizes. T₂ = 0.6 lies where c > 1."
)
_FIELDS = (0.25, 0.5, 1.0, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0)


def _regions(axis: str, rules: Sequence[str], *panels: Sequence[tuple[Any, ...]]) -> Row:
    """Return the declaration of a figure of regions: sweep, figure and tables."""
    return {
        "sizes": tuple({"panels": shown} for shown in panels),
        "parts": partial(region_parts, rules=rules),
        "draw": partial(_draw_regions, axis=axis),
        "table": _region_table,
        "summary": _largest_regions,
        "settings": {
            "model": _MODEL,
            "query": "the node in the middle of the grid",
            "error": "largest difference of the query's marginal from exact inference on the grid",
            "bound": "Corollary 2; 1 where it is vacuous",
            "largest region": LARGEST_REGION,
        },
    }


EXPERIMENTS = (
    Experiment(
        name="localized-fig3",
        title="Dobrushin's condition on Ising grids",
        place=f"{PAPER}, figure 3 and section 6.1",
        sizes=(
            {"side": 3, "fields": [0.0, 3.0], "couplings": [0.1, 1.0], "models": 2},
            {
                "side": 10,
                "fields": [0.0, 1.0, 2.0, 3.0, 4.0, 5.0],
                "models": 3,
                "couplings": [k / 10 for k in range(1, 11)],
            },
            {
                "side": 10,
                "fields": [k / 4 for k in range(21)],
                "models": 20,
                "couplings": [k / 20 for k in range(1, 21)],
            },
        ),
        parts=plane_parts,
        draw=_draw_plane,
        table=_plane_table,
        summary=lambda r: [{"T1": x, "T2_at_which_c_is_1": y} for x, y in _borders(r).items()],
        settings={
            "model": _MODEL,
            "coefficient": "largest row sum of the matrix, the mean of all models of a point",
        },
        claims=_PLANE_CLAIMS,
        notes=(
            "The size of the grid and the ranges of T₁ and T₂ are missing in our copy of the text: "
            "10 × 10, T₁ up to 5, T₂ up to 1.",
        ),
        cost=("5 s", "30 s"),
    ),
    Experiment(
        name="localized-fig4",
        title="Errors and bounds against the size of the region",
        place=f"{PAPER}, figure 4 and section 6.1",
        **_regions(
            "size",
            tuple(RULES),
            [(5, 1.0, 0.3, 2)],
            [(6, 1.0, 0.3, 5)],
            [(10, 1.0, 0.3, 100), (10, 1.0, 0.6, 100), (5, 1.0, 0.3, 100)],
        ),
        claims=_SIZE_CLAIMS,
        notes=(
            _LOST,
            "The paper computes true errors by brute force, which 10 × 10 nodes do not allow; here "
            "they are exact by a junction tree. 5 × 5 is a size for brute force.",
            _TIGHTER,
            _DETOURS,
        ),
        cost=("10 s", "3 min"),
    ),
    Experiment(
        name="localized-fig5",
        title="Errors and bounds against the strength of the fields",
        place=f"{PAPER}, figure 5 and section 6.1",
        **_regions(
            "T1",
            (GREEDY, MEAN_FIELD),
            [(5, field, 0.3, 2) for field in (0.5, 5.0)],
            [(6, field, 0.3, 3) for field in (0.5, 2.0, 5.0)],
            [(10, field, 0.3, 100) for field in _FIELDS],
        ),
        claims=_FIELD_CLAIMS,
        notes=(
            _LOST,
            _TIGHTER,
            _DETOURS,
            "At T₁ = 0 all marginals are 1/2, and so are those of any region.",
        ),
        cost=("10 s", "2 min"),
    ),
)
