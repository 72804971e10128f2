"""Errors and bounds of localized inference on Ising grids: figures 3 to 5 of the paper."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from operator import itemgetter
from typing import Any, Literal, NamedTuple

import numpy as np
import plotly.graph_objects as go

from graftviz.data.synthetic.graphs import ising_grid
from graftviz.inference.local.influence import dobrushin_coefficient
from graftviz.inference.local.local_model import region_marginal
from graftviz.inference.local.marginal import Bound, Growth, grow_region
from graftviz.inference.methods import infer
from graftviz.model.pairwise import PairwiseModel
from graftviz.reports.figures.style import BLUE, GREEN, ORANGE, VERMILION
from graftviz.reports.reproduction.claims import Cases, Claim, Paper
from graftviz.reports.reproduction.experiment import Experiment, MeasuringTask, Part, model_seed
from graftviz.reports.reproduction.figure_plane import Plane, plane_figure
from graftviz.reports.reproduction.figures import Look
from graftviz.reports.reproduction.rows import LineFigure, Row, Table, Values
from graftviz.reports.reproduction.statistics import NotMeasured, standard_errors, trend

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


def _plane_table(rows: Table) -> Iterator[Row]:
    """Yield one row for every point of the plane."""
    for row in rows:
        found = np.array(row["c"])
        yield {
            **{"T1": row["T1"], "T2": row["T2"], "mean_c": found.mean()},
            **{"least_c": found.min(), "largest_c": found.max()},
            "share_below_1": np.mean(found < 1.0),
        }


def _plane(rows: Table, *by: str) -> Values:
    """Return the mean c by both strengths."""
    if not rows:
        raise NotMeasured("No coefficient was measured.")
    return Table(_plane_table(rows)).nested("mean_c", *by)


def _draw_plane(title: str, rows: Table) -> go.Figure:
    """Draw the mean c over both strengths, and the contour c = 1."""
    plane = _plane(rows, "T2", "T1")
    fields = list(next(iter(plane.values())))
    values = Plane(fields, list(plane), [list(by_field.values()) for by_field in plane.values()])
    x_title, y_title = "strength of the fields T₁", "strength of the couplings T₂"
    return plane_figure(title, values, x_title=x_title, y_title=y_title, name="c", border=1.0)


def _border(by_coupling: Values) -> float | None:
    """Return the interpolated T₂ at which the mean c reaches 1; None if it does not."""
    couplings, means = list(by_coupling), list(by_coupling.values())
    k = next((k for k, c in enumerate(means) if c >= 1.0), 0)
    at = slice(k - 1, k + 1)
    return float(np.interp(1.0, means[at], couplings[at])) if k else None


def _borders(rows: Table) -> Values:
    return _plane(rows, "T1", "T2").map(_border)


def _ends(rows: Table) -> tuple[list[float], list[float]]:
    """Return the mean c by T₁ at the weakest and at the strongest couplings."""
    first, *_, last = _plane(rows, "T2", "T1").values()
    return list(first.values()), list(last.values())


def _field_effect(rows: Table) -> float:
    by_field = _ends(rows)[1]
    return by_field[-1] - by_field[0]


def _share_below_one(rows: Table) -> float:
    _plane(rows, "T2")
    return float(np.mean([row["mean_c"] < 1.0 for row in _plane_table(rows)]))


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
        ("change of c with the fields at the strongest couplings", _field_effect, "below 0"),
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


def _panels(rows: Table, words: str = _PANEL) -> Values:
    """Return the rows by size of the grid, strengths and form."""
    return rows.extended(lambda row: {"panel": words.format(**row)}).group("panel")


def _arrays(rows: Table, column: str) -> Values:
    """Return errors or bounds by panel and rule, as arrays of models and sizes."""
    return _panels(rows).map(lambda here: here.nested(column, "rule", of=np.array))


def largest_ratio(errors: np.ndarray, bounds: np.ndarray) -> float:
    """Return the largest ratio of error to bound, ignoring bounds of 0."""
    nonzero = bounds > 0.0
    return float((errors[nonzero] / bounds[nonzero]).max(initial=0.0))


def _region_table(rows: Table) -> Table:
    """Return one row for every panel, rule and size."""
    table, keys = Table(), ("side", "T1", "T2", "form", "rule")
    for place, models in rows.group(*keys).items():
        columns = (np.array(models.column(key)).T for key in ("errors", "bounds"))
        for size, (errors, bounds) in enumerate(zip(*columns, strict=True), start=1):
            row: Row = dict(zip(keys, place, strict=True))
            row |= {"size": size, "mean_error": errors.mean(), "largest_error": errors.max()}
            row |= {"mean_bound": bounds.mean(), "least_bound": bounds.min()}
            row |= {"vacuous_share": np.mean(bounds >= 1.0)}
            row |= {"mean_nodes": np.minimum(models.column("nodes"), size).mean()}
            table.append(row | {"largest_error_to_bound": largest_ratio(errors, bounds)})
    return table


def _largest_regions(rows: Table) -> Table:
    table = _region_table(rows)
    return table.where(size=max(table.column("size"), default=0))


def _drawn(rows: Table, *, axis: str) -> Iterator[Row]:
    """Yield the means by size of the region, or by T₁ at the largest size, one line each."""
    words, table = _PANEL, _region_table(rows)
    if axis == "T1":
        words = "{side} × {side}, T₂ = {T2:g}, {size} nodes, {form}"
        table = _largest_regions(rows)
    for row in table:
        for quantity in ("bound", "error"):
            line = {"panel": words.format(**row), "method": f"{quantity}: {row['rule']}"}
            yield {axis: row[axis], "mean": row[f"mean_{quantity}"], **line}


def _exceeded(rows: Table) -> int | None:
    """Return the number of errors above their bound; None without regions."""
    wrong = [np.array(row["errors"]) > np.array(row["bounds"]) + ROUNDING for row in rows]
    return int(np.sum(wrong)) if wrong else None


def _against_baselines(of: Callable[[np.ndarray, np.ndarray], Any]) -> Cases:
    """Return a function of greedy's and a baseline's errors and bounds, by panel and baseline."""

    def cases(rows: Table) -> Row:
        return {
            f"{name}, {other}": {
                column: of(*_arrays(rows, column)[name].only((GREEDY, other)).values())
                for column in ("bounds", "errors")
            }
            for name in _panels(rows)
            for other in _BASELINES
        }

    return cases


def _difference(one: np.ndarray, other: np.ndarray) -> float:
    """Return by how many standard errors `other` is larger than `one` over all sizes."""
    return standard_errors((other - one).mean(axis=1))


def _last_means(one: np.ndarray, other: np.ndarray) -> list[float]:
    return [float(one[:, -1].mean()), float(other[:, -1].mean())]


def _of_mean_field(column: str, of: Callable[[np.ndarray, np.ndarray], Any]) -> Cases:
    """Return a function of the arrays of mean field and of dropping out, by panel."""
    return lambda rows: _arrays(rows, column).map(lambda by: of(by[MEAN_FIELD], by[GREEDY]))


def _times(one: float, other: float) -> float:
    return one / other if other > ROUNDING else 1.0


def _beyond_greedy(of: Callable[[np.ndarray, np.ndarray, np.ndarray], Any]) -> Cases:
    """Return a function of a baseline's errors and greedy's two bounds, by panel and baseline."""

    def cases(rows: Table) -> Row:
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

    def value(row: Row) -> float | None:
        error, bound = row["mean_error"], row["mean_bound"]
        ratio = bound / error if error > ROUNDING else None
        found = {"errors": error, "bounds": bound, "gap": bound - error, "ratio": ratio}
        return found[quantity]

    def cases(rows: Table) -> Row:
        words = "{rule}, {side} × {side}, T₂ = {T2:g}, {form}"
        panels = _panels(_largest_regions(rows).by("T1"), words).items()
        found = {name: [value(row) for row in here] for name, here in panels if len(here) > 1}
        if not found:
            raise NotMeasured("At least two values of T₁ are needed.")
        return {name: of(values) for name, values in found.items()}

    return cases


def _change(values: list[float | None]) -> float | None:
    first, last = values[0], values[-1]
    return None if first is None or last is None else last - first


def _largest_to_bound(rows: Table) -> float | None:
    return max(_region_table(rows).column("largest_error_to_bound"), default=None)


_BOUNDS_HOLD = Claim(
    "No true error exceeds its bound.",
    ("regions with an error above their bound", _exceeded, "at most 0"),
    ("regions", lambda rows: sum(row["nodes"] for row in rows)),
    ("largest error to its bound", _largest_to_bound),
)
_error_ratios = _of_mean_field("errors", lambda field, drop: _times(field.mean(), drop.mean()))
_last_ratios = _of_mean_field("errors", lambda field, drop: _times(*_last_means(field, drop)))
_beyond = _beyond_greedy(lambda errors, *bounds: np.mean(errors > np.minimum(*bounds)))
_gaps = _of_mean_field("bounds", _difference)
_last_gaps = _over_fields("gap", itemgetter(-1))
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
        ("mean error over all sizes to that of dropping out", _error_ratios, "0.8 to 1.25"),
        ("mean error at the largest size to that of dropping out", _last_ratios, "0.8 to 1.25"),
    ),
    Claim(
        "Cutting by mean field gives a tighter bound than dropping out.",
        ("mean paired difference of bounds from mean field, in standard errors", _gaps, "above 2"),
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
        ("share of regions with an error above both of greedy's bounds", _beyond, "above 0"),
        ("these sizes", _beyond_greedy(_sizes_beyond)),
    ),
    _BOUNDS_HOLD,
)
_FIELD_CLAIMS = (
    Claim(
        "The bound is relatively tight, especially where T₁ is large.",
        ("change of mean bound less mean error with T₁", _over_fields("gap", _change), "below 0"),
        ("mean bound less mean error, largest T₁", _last_gaps, "at most 0.05"),
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

_NOTES = (
    "The numbers of this figure are missing in our copy of the text, so these are ours: the size "
    "of the grid, the query (the node in the middle), T₁ and T₂.",
    'All is shown in two forms. "As in the paper": Corollary 2, and algorithm 1, which stops if no '
    "node improves the bound, even if the relevant one would first increase it; its last region "
    'counts for all larger sizes. "With detours": the region continues to grow, so that the bound '
    "may rise for some sizes; and the total influence of all neighbours on a variable limits its "
    "share, so that nothing has to converge. T₂ = 0.6 lies where c > 1.",
)
_MEAN = {"mean": "mean of the models"}
_COUPLINGS = ([0.1, 1.0], [k / 10 for k in range(1, 11)], [k / 20 for k in range(1, 21)])
_FIELDS = (0.25, 0.5, 1.0, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0)


def _regions(axis: str, rules: Sequence[str], *panels: list[tuple[Any, ...]]) -> Row:
    """Return the declaration of a figure of regions: sweep, figure and tables."""
    title = "nodes in the region" if axis == "size" else "strength of the fields T₁"
    table = partial(_drawn, axis=axis)
    return {
        "sizes": {"panels": panels},
        "parts": partial(region_parts, rules=rules),
        "figure": LineFigure(axis, title, _MEAN, _LOOKS, table=table, share_y=True, log_y=True),
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
