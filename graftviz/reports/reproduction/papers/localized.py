"""Errors and bounds of localized inference on Ising grids: figures 3 to 5 of the paper."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, Literal, NamedTuple

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from graftviz.data.synthetic.graphs import ising_grid
from graftviz.inference.local.influence import dobrushin_coefficient
from graftviz.inference.local.local_model import region_marginal
from graftviz.inference.local.marginal import Bound, Growth, grow_region
from graftviz.inference.methods import infer
from graftviz.model.pairwise import PairwiseModel
from graftviz.reports.figures.style import BLUE, GREEN, ORANGE, VERMILION
from graftviz.reports.reproduction.claims import (
    Checks,
    Frame,
    NotMeasured,
    Row,
    Series,
    claim,
    nested,
    standard_errors,
    trend,
)
from graftviz.reports.reproduction.experiment import (
    Experiment,
    MeasuringTask,
    Paper,
    Part,
    model_seed,
)
from graftviz.reports.reproduction.figures import Look, line_figure, plane_figure

PAPER = Paper("localized", "Efficient localized inference")
LARGEST_REGION = 16
ROUNDING = 1e-9
_MODEL = "θ_i from U[−T₁, T₁], θ_ij from U[−T₂, T₂], spins −1 and +1, no wrap-around"


def _grid(side: int, field: float, coupling: float, seed: int, number: int) -> PairwiseModel:
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
) -> Iterator[Row]:
    """Compute the coefficients of all models; those of one number are the same draws, scaled."""
    for k, field in enumerate(fields, start=1):
        grids = (_grid(side, field, coupling, seed, number) for number in range(models))
        yield {"T1": field, "c": [float(dobrushin_coefficient(grid)) for grid in grids]}
        task.progress(k * models)


def _plane_table(rows: Frame) -> Frame:
    """Return one row for every point of the plane."""
    found = rows["c"].map(np.array)
    return pd.DataFrame(
        {
            "T1": rows["T1"],
            "T2": rows["T2"],
            "mean_c": found.map(np.mean),
            "least_c": found.map(np.min),
            "largest_c": found.map(np.max),
            "share_below_1": found.map(lambda c: np.mean(c < 1.0)),
        }
    )


def _plane(rows: Frame) -> Frame:
    """Return the mean c with T₂ as index and T₁ as columns."""
    return _plane_table(rows).pivot_table("mean_c", "T2", "T1", sort=False)


def _draw_plane(title: str, rows: Frame) -> go.Figure:
    """Draw the mean c over both strengths, and the contour c = 1."""
    x_title, y_title = "strength of the fields T₁", "strength of the couplings T₂"
    return plane_figure(title, _plane(rows), x_title=x_title, y_title=y_title, name="c", border=1.0)


def _border(means: Series) -> float | None:
    """Return the interpolated T₂ at which the mean c reaches 1; None if it does not."""
    means = means.dropna()
    k = next((k for k, c in enumerate(means) if c >= 1.0), 0)
    return (
        float(np.interp(1.0, means.iloc[k - 1 : k + 1], means.index[k - 1 : k + 1])) if k else None
    )


def _borders(rows: Frame) -> dict[float, float | None]:
    return {field: _border(means) for field, means in _plane(rows).items()}


@claim(
    "c is smaller than one in most of the plane of T₁ and T₂.",
    "That share depends on the limits of T₁ and T₂, which the text has lost.",
)
def _mostly_below_one(rows: Frame) -> Checks:
    share = (_plane_table(rows)["mean_c"] < 1.0).mean()
    yield "share of the points with c < 1", share, "above 0.5"
    yield "T₂ at which c is 1 by T₁", _borders(rows)


@claim(
    "c is larger than one where T₂ is very large and T₁ very small: strongly coupled nodes "
    "without correlation decay.",
    "The largest row sum of all nodes is that of a node whose own field happens to be "
    "weak, so strong fields hardly lower c.",
)
def _large_at_strong_couplings(rows: Frame) -> Checks:
    plane = _plane(rows)
    if len(plane) < 2:
        raise NotMeasured("Two strengths of the couplings are needed.")
    weakest, strongest = plane.iloc[0].dropna(), plane.iloc[-1].dropna()
    change = strongest.iloc[-1] - strongest.iloc[0]
    yield "c at the strongest couplings and weakest fields", strongest.iloc[0], "above 1"
    yield "largest c at the weakest couplings", weakest.max(), "below 1"
    yield "change of c with the fields at the strongest couplings", change, "below 0"
    yield "c by T₁ at the weakest couplings", weakest.tolist()
    yield "c by T₁ at the strongest couplings", strongest.tolist()


_PLANE_CLAIMS = (_mostly_below_one, _large_at_strong_couplings)

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


class Form(NamedTuple):
    """Growth of greedy regions, and form of the bound."""

    growth: Growth
    bound: Bound


FORMS = {
    "with detours": Form("detours", "tight"),
    "as in the paper": Form("algorithm-1", "corollary-2"),
}
_PANEL = "{side} × {side}, T₁ = {T1:g}, T₂ = {T2:g}, {form}"
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
    """Yield one part for every panel, which is side, T₁, T₂ and number of models, form and rule."""
    for side, field, coupling, models in panels:
        size = {"models": models, "largest": LARGEST_REGION, "seed": seed}
        grid = partial(_grid, side, field, coupling, seed)
        for form, rule in itertools.product(FORMS, rules):
            columns = {"side": side, "T1": field, "T2": coupling, "form": form, "rule": rule}
            measure = partial(
                _measure_regions, grid, models, RULES[rule], FORMS[form], middle(side)
            )
            yield Part(columns, measure, models * LARGEST_REGION, size)


def _measure_regions(
    grid: Callable[[int], PairwiseModel],
    models: int,
    rule: Rule,
    form: Form,
    query: int,
    task: MeasuringTask,
) -> Iterator[Row]:
    """Grow a region in every model, and yield true errors and bounds by size.

    Where growth ends early, the last region counts for all larger sizes.
    """
    for number in range(models):
        model = grid(number)
        truth = infer(model, "exact").node[query]
        growing = grow_region(
            model,
            query,
            tolerance=0.0,
            max_size=LARGEST_REGION,
            cut=rule.cut,
            expansion=rule.expansion,
            seed=number,
            growth=form.growth,
            bound=form.bound,
        )
        regions = list(growing)
        answers = [region_marginal(model, found.nodes, query, rule.cut) for found in regions]
        errors = [float(np.abs(answer - truth).max()) for answer in answers]
        bounds = [float(found.bound) for found in regions]
        missing = LARGEST_REGION - len(regions)
        yield {
            "errors": errors + errors[-1:] * missing,
            "bounds": bounds + bounds[-1:] * missing,
            "nodes": len(regions[-1].nodes),
        }
        task.progress((number + 1) * LARGEST_REGION)


def _panels(rows: Frame, words: str = _PANEL) -> Series:
    """Return the title of the panel of each row: size of the grid, strengths and form."""
    return pd.Series([words.format(**row) for row in rows.to_dict("records")], rows.index)


def _arrays(rows: Frame, column: str) -> dict[str, dict[str, np.ndarray]]:
    """Return errors or bounds by panel and rule, as arrays of models and sizes."""
    by_rule = rows.groupby([_panels(rows), "rule"], sort=False)[column]
    return nested(by_rule.agg(lambda models: np.array([*models])))


def largest_ratio(errors: np.ndarray, bounds: np.ndarray) -> float:
    """Return the largest ratio of error to bound, ignoring bounds of 0."""
    nonzero = bounds > 0.0
    return float((errors[nonzero] / bounds[nonzero]).max(initial=0.0))


def _region_table(rows: Frame) -> Frame:
    """Return one row for every panel, rule and size."""
    table, keys = [], ["side", "T1", "T2", "form", "rule"]
    for place, models in rows.groupby(keys, sort=False):
        columns = (np.array([*models[key]]).T for key in ("errors", "bounds"))
        for size, (errors, bounds) in enumerate(zip(*columns, strict=True), start=1):
            row: Row = dict(zip(keys, place, strict=True))
            row |= {"size": size, "mean_error": errors.mean(), "largest_error": errors.max()}
            row |= {"mean_bound": bounds.mean(), "least_bound": bounds.min()}
            row |= {"vacuous_share": np.mean(bounds >= 1.0)}
            row |= {"mean_nodes": models["nodes"].clip(upper=size).mean()}
            table.append(row | {"largest_error_to_bound": largest_ratio(errors, bounds)})
    return pd.DataFrame(table)


def _largest_regions(rows: Frame) -> Frame:
    table = _region_table(rows)
    return table[table["size"] == table["size"].max()]


def _draw_regions(title: str, rows: Frame, *, axis: str) -> go.Figure:
    """Draw the means by size of the region, or by T₁ at the largest size, one line each."""
    if axis == "size":
        x_title, words, table = "nodes in the region", _PANEL, _region_table(rows)
    else:
        x_title, table = "strength of the fields T₁", _largest_regions(rows)
        words = "{side} × {side}, T₂ = {T2:g}, {size} nodes, {form}"
    table = table.assign(panel=_panels(table, words))
    lines = [
        table.assign(method=f"{quantity}: " + table["rule"], mean=table[f"mean_{quantity}"])
        for quantity in ("bound", "error")
    ]
    return line_figure(
        title,
        pd.concat(lines).sort_index(kind="stable"),
        x=axis,
        x_title=x_title,
        y={"mean": "mean of the models"},
        looks=_LOOKS,
        share_y=True,
        log_y=True,
    )


@claim("No true error exceeds its bound.")
def _bounds_hold(rows: Frame) -> Checks:
    errors, bounds = (np.array([*rows[column]]) for column in ("errors", "bounds"))
    exceeded = int((errors > bounds + ROUNDING).sum())
    yield "regions with an error above their bound", exceeded, "at most 0"
    yield "regions", int(rows["nodes"].sum())
    yield "largest error to its bound", largest_ratio(errors, bounds)


def _difference(one: np.ndarray, other: np.ndarray) -> float:
    """Return by how many standard errors `other` is larger than `one` over all sizes."""
    return standard_errors((other - one).mean(axis=1))


def _last_means(*arrays: np.ndarray) -> list[float]:
    return [float(array[:, -1].mean()) for array in arrays]


@claim("With dropping out, greedy expansion is significantly better than both baselines.")
def _greedy_is_better(rows: Frame) -> Checks:
    arrays = {column: _arrays(rows, column) for column in ("bounds", "errors")}

    def against_baselines(of: Callable[[np.ndarray, np.ndarray], Any]) -> Row:
        return {
            f"{name}, {other}": {
                column: of(panels[name][GREEDY], panels[name][other])
                for column, panels in arrays.items()
            }
            for name in arrays["bounds"]
            for other in _BASELINES
        }

    words = "mean paired difference over all sizes from greedy expansion, in standard errors"
    yield words, against_baselines(_difference), "above 2"
    yield "means of greedy and baseline at the largest size", against_baselines(_last_means)


def _times(one: float, other: float) -> float:
    return one / other if other > ROUNDING else 1.0


@claim("Cutting by mean field gives about the same true error as dropping out.")
def _mean_field_has_same_error(rows: Frame) -> Checks:
    pairs = {name: (of[MEAN_FIELD], of[GREEDY]) for name, of in _arrays(rows, "errors").items()}
    all_sizes = {name: _times(cut.mean(), drop.mean()) for name, (cut, drop) in pairs.items()}
    largest = {name: _times(*_last_means(*pair)) for name, pair in pairs.items()}
    words = "to that of dropping out"
    yield f"mean error over all sizes {words}", all_sizes, "0.8 to 1.25"
    yield f"mean error at the largest size {words}", largest, "0.8 to 1.25"


@claim(
    "Cutting by mean field gives a tighter bound than dropping out.",
    "Dropping out places the influence of outside neighbours in the middle of its "
    "range; the bound is a supremum over that range, and moving away from the middle usually "
    "increases it.",
)
def _mean_field_is_tighter(rows: Frame) -> Checks:
    bounds = _arrays(rows, "bounds").items()
    gaps = {name: _difference(of[MEAN_FIELD], of[GREEDY]) for name, of in bounds}
    yield "mean paired difference of bounds from mean field, in standard errors", gaps, "above 2"
    yield "mean bound by size", {name: of[MEAN_FIELD].mean(axis=0) for name, of in bounds}
    yield "of dropping out", {name: of[GREEDY].mean(axis=0) for name, of in bounds}


@claim(
    "True errors of the two baselines are sometimes even worse than the bounds of greedy expansion."
)
def _baselines_exceed_bounds(rows: Frame) -> Checks:
    errors, bounds = _arrays(rows, "errors"), _arrays(rows, "bounds")
    sizes: Row = {name: {} for name in bounds}
    shares: Row = {name: {} for name in bounds}
    for name, other in itertools.product(bounds, _BASELINES):
        both, found = (bounds[name][GREEDY], bounds[name][MEAN_FIELD]), errors[name][other]
        least = np.minimum(*(array.mean(axis=0) for array in both))
        sizes[name][other] = (np.flatnonzero(found.mean(axis=0) > least) + 1).tolist()
        shares[name][other] = np.mean(found > np.minimum(*both))
    counts = {name: {key: len(beyond) for key, beyond in of.items()} for name, of in sizes.items()}
    words = "number of sizes at which the mean error exceeds both of greedy's mean bounds"
    yield words, counts, "above 0"
    yield "share of regions with an error above both of greedy's bounds", shares, "above 0"
    yield "these sizes", sizes


def _over_fields(rows: Frame) -> Frame:
    """Return lists of values by ascending T₁ at the largest size, by rule and grid."""
    table = _largest_regions(rows).sort_values("T1", kind="stable")
    errors, bounds = table["mean_error"], table["mean_bound"]
    found = pd.DataFrame({"errors": errors, "bounds": bounds, "gap": bounds - errors})
    found["ratio"] = (bounds / errors).where(errors > ROUNDING)
    panels = _panels(table, "{rule}, {side} × {side}, T₂ = {T2:g}, {form}")
    lists = found.groupby(panels, sort=False).agg(list)
    lists = lists[lists["gap"].map(len) > 1]
    if lists.empty:
        raise NotMeasured("At least two values of T₁ are needed.")
    return lists


def _change(values: list[float]) -> float:
    return values[-1] - values[0]


@claim("The bound is relatively tight, especially where T₁ is large.")
def _tight_for_strong_fields(rows: Frame) -> Checks:
    lists = _over_fields(rows)
    gaps, ratios = lists["gap"], lists["ratio"]
    yield "change of mean bound less mean error with T₁", gaps.map(_change), "below 0"
    yield "mean bound less mean error, largest T₁", gaps.str[-1], "at most 0.05"
    yield "change of bound to error with T₁", ratios.map(_change), "below 0"
    yield "mean bound less mean error by T₁", gaps
    yield "bound to error by T₁", ratios


@claim("Both bounds and true errors decrease as T₁ increases.")
def _decrease_with_fields(rows: Frame) -> Checks:
    lists = _over_fields(rows)
    for name in ("bounds", "errors"):
        yield f"rank correlation of {name} with T₁", lists[name].map(trend), "at most -0.9"
    for name in ("bounds", "errors"):
        yield f"{name} by T₁", lists[name]


_BOUNDS_HOLD = _bounds_hold
_SIZE_CLAIMS = (
    _greedy_is_better,
    _mean_field_has_same_error,
    _mean_field_is_tighter,
    _baselines_exceed_bounds,
    _BOUNDS_HOLD,
)
_FIELD_CLAIMS = (_tight_for_strong_fields, _decrease_with_fields, _BOUNDS_HOLD)

# --- the figures ----------------------------------------------------------------------------------

_NOTES = (
    "The numbers of this figure are missing in our copy of the text, so these are ours: the size "
    "of the grid, the query (the node in the middle), T₁ and T₂.",
    'All is shown in two forms. "As in the paper": Corollary 2, and algorithm 1, which stops if no '
    "node improves the bound, even if the relevant one would first increase it; its last region "
    'counts for all larger sizes. "With detours": the region continues to grow, so that the bound '
    "may rise for some sizes; and the total influence of all neighbours on a variable limits its "
    "share, so that nothing has to converge. T₂ = 0.6 lies where c > 1.",
)
_COUPLINGS = ([0.1, 1.0], [k / 10 for k in range(1, 11)], [k / 20 for k in range(1, 21)])
_FIELDS = (0.25, 0.5, 1.0, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0)


def _regions(axis: str, rules: Sequence[str], *panels: list[tuple[Any, ...]]) -> Row:
    """Return the declaration of a figure of regions: sweep, figure and tables."""
    return {
        "sizes": {"panels": panels},
        "parts": partial(region_parts, rules=rules),
        "figure": partial(_draw_regions, axis=axis),
        "table": _region_table,
        "summary": _largest_regions,
        "settings": {
            "model": _MODEL,
            "query": "the node in the middle of the grid",
            "error": "largest difference of the query's marginal from exact inference on the grid",
            "bound": "1 where it is vacuous",
            "largest region": LARGEST_REGION,
        },
    }


EXPERIMENTS = (
    Experiment(
        **PAPER.item("figure 3", "6.1"),
        title="Dobrushin's condition on Ising grids",
        sizes={
            "side": (3, 10, 10),
            "fields": ([0.0, 3.0], [0.0, 1.0, 2.0, 3.0, 4.0, 5.0], [k / 4 for k in range(21)]),
            "couplings": _COUPLINGS,
            "models": (2, 3, 20),
        },
        parts=plane_parts,
        figure=_draw_plane,
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
        **PAPER.item("figure 4", "6.1"),
        title="Errors and bounds against the size of the region",
        **_regions(
            "size",
            tuple(RULES),
            [(5, 1.0, 0.3, 2)],
            [(6, 1.0, 0.3, 5)],
            [(10, 1.0, 0.3, 100), (10, 1.0, 0.6, 100), (5, 1.0, 0.3, 100)],
        ),
        claims=_SIZE_CLAIMS,
        notes=(
            *_NOTES,
            "The paper computes true errors by brute force, which 10 × 10 nodes do not allow; here "
            "they are exact by a junction tree. 5 × 5 is a size for brute force.",
        ),
        cost=("20 s", "5 min"),
    ),
    Experiment(
        **PAPER.item("figure 5", "6.1"),
        title="Errors and bounds against the strength of the fields",
        **_regions(
            "T1",
            (GREEDY, MEAN_FIELD),
            [(5, field, 0.3, 2) for field in (0.5, 5.0)],
            [(6, field, 0.3, 3) for field in (0.5, 2.0, 5.0)],
            [(10, field, 0.3, 100) for field in _FIELDS],
        ),
        claims=_FIELD_CLAIMS,
        notes=(*_NOTES, "At T₁ = 0 all marginals are 1/2, and so are those of any region."),
        cost=("20 s", "4 min"),
    ),
)
