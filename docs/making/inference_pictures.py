"""Pictures of inference: elimination, messages, bounds on log Z, regions."""

from __future__ import annotations

import numpy as np

import graftviz as gv
from docs.making.drawing import BLUE, GREEN, GREY, INK, ORANGE, PALE, RED, Axes, Box, Drawing
from docs.making.shapes import EdgeStyle, draw_graph
from graftviz.data.synthetic.graphs import grid_graph, ising_grid, ising_model
from graftviz.inference.exact.ordering import eliminated
from graftviz.inference.exact.structure import plan_elimination
from graftviz.inference.methods import Method
from graftviz.model.pairwise import PairwiseModel

_WIDTH = 760


def _grid_places(side: int, box: Box) -> np.ndarray:
    rows, columns = np.divmod(np.arange(side * side), side)
    step = np.array([box.width, box.height]) / (side - 1)
    return np.array([box.left, box.top]) + np.stack([columns, rows], axis=1) * step


def _attracting(side: int, coupling: float) -> PairwiseModel:
    """Return an Ising grid whose neighbours attract each other, with a weak field in one corner."""
    graph = grid_graph(side, side)
    fields = np.zeros(side * side)
    fields[0] = 0.2
    return ising_model(graph.edges, fields, np.full(graph.n_edges, coupling), graph.names)


def exact() -> str:
    """Draw an elimination order of a grid, the edges it adds, and the sizes of the cliques."""
    side = 5
    model = _attracting(side, 0.5)
    plan = plan_elimination(model)
    order = plan.order.tolist()
    found = eliminated(model.edges, model.cardinalities, plan.order)
    scopes = [found.order[found.scope(k)].tolist() for k in range(side * side)]
    own = {(int(i), int(j)) for i, j in model.edges}
    joined = {(min(a, b), max(a, b)) for scope in scopes for a in scope for b in scope if a != b}
    drawing = Drawing(_WIDTH, 350, f"Exact inference: a 5 × 5 grid has width {plan.width}")
    drawing.text((24, 30), "Order of elimination; dashed: edges it adds")
    edges = {pair: EdgeStyle(ORANGE, 1.5, "4 3") for pair in sorted(joined - own)}
    edges |= {pair: EdgeStyle(GREY, 2.0) for pair in sorted(own)}
    at = _grid_places(side, Box(60, 65, 250, 240))
    draw_graph(drawing, at, edges, radius=13)
    for k, i in enumerate(order):
        drawing.text((at[i][0], at[i][1] + 4), str(k + 1), anchor="middle", size=11)
    axes = Axes(
        drawing,
        Box(430, 60, 290, 230),
        (0, len(order)),
        (0, plan.width + 2),
        ("place in the order", "variables summed together"),
    )
    for k, scope in enumerate(scopes):
        x, y = axes.at(k, len(scope) + 1)
        right, bottom = axes.at(k + 1, 0)
        drawing.rectangle(Box(x + 1, y, right - x - 2, bottom - y), BLUE)
    return drawing.svg()


def bp() -> str:
    """Draw the largest change of a message, sweep after sweep, for couplings of three strengths."""
    drawing = Drawing(_WIDTH, 330, "Belief propagation: weak couplings settle, strong ones do not")
    sweeps = list(range(1, 61))
    axes = Axes(
        drawing,
        Box(80, 44, 630, 220),
        (0, 60),
        (1e-9, 10.0),
        ("sweeps", "largest change of a message"),
        logarithmic=True,
    )
    entries = []
    for strength, colour, dash in ((0.5, GREEN, ""), (1.0, BLUE, "7 4"), (3.0, RED, "2 3")):
        model = ising_grid(8, 8, field=0.1, coupling=strength, seed=2)
        changes = []
        for sweep in sweeps:
            changes.append(gv.infer(model, "bp", max_sweeps=sweep, damping=0.0).residual)
            if changes[-1] < 1e-9:
                break
        axes.curve(sweeps[: len(changes)], changes, colour, dash)
        entries.append((colour, dash, f"couplings up to {strength:g}"))
    drawing.legend((560, 110), entries)
    return drawing.svg()


def trbp() -> str:
    """Draw what four methods say of log Z, against the strength of mixed couplings."""
    drawing = Drawing(_WIDTH, 330, "log Z: tree-reweighted above, mean field below the exact one")
    strengths = np.linspace(0.0, 2.0, 21)
    methods: tuple[tuple[Method, str, str, str], ...] = (
        ("trbp", "tree-reweighted: an upper bound", BLUE, ""),
        ("bp", "belief propagation: neither", ORANGE, "7 4"),
        ("mean-field", "mean field: a lower bound", RED, "2 3"),
    )
    models = [ising_grid(5, 5, field=0.2, coupling=float(t), seed=1) for t in strengths]
    truth = [gv.infer(model, "exact").log_partition for model in models]
    gaps = {
        method: [gv.infer(m, method).log_partition - z for m, z in zip(models, truth, strict=True)]
        for method, _, _, _ in methods
    }
    low = min(min(values) for values in gaps.values())
    high = max(max(values) for values in gaps.values())
    axes = Axes(
        drawing,
        Box(80, 44, 630, 220),
        (0.0, 2.0),
        (low * 1.1, high * 1.1),
        ("strength of couplings T₂, on a 5 × 5 grid", "log Z minus the exact one"),
    )
    drawing.line(axes.at(0.0, 0.0), axes.at(2.0, 0.0), INK, 1.5)
    for method, _, colour, dash in methods:
        axes.curve(strengths, gaps[method], colour, dash)
    drawing.legend((96, 64), [(colour, dash, words) for _, words, colour, dash in methods])
    return drawing.svg()


def mean_field() -> str:
    """Draw the marginal in the middle of an attracting grid against the strength of attraction."""
    drawing = Drawing(_WIDTH, 330, "Mean field is too sure: a marginal against the strength")
    strengths = np.linspace(0.0, 0.8, 33)
    methods: tuple[tuple[Method, str, str, str], ...] = (
        ("exact", "exact", INK, ""),
        ("bp", "belief propagation", BLUE, "7 4"),
        ("mean-field", "mean field", RED, "2 3"),
    )
    axes = Axes(
        drawing,
        Box(80, 44, 630, 220),
        (0.0, 0.8),
        (0.5, 1.0),
        ("strength of attraction, on a 5 × 5 grid", "p(middle = +1)"),
    )
    for method, _, colour, dash in methods:
        shares = [float(gv.infer(_attracting(5, float(t)), method).node[12][1]) for t in strengths]
        axes.curve(strengths, shares, colour, dash)
    drawing.legend((110, 66), [(colour, dash, words) for _, words, colour, dash in methods])
    return drawing.svg()


def localized() -> str:
    """Draw a region of a grid, and its bound and true error against its size."""
    side, query = 8, 27
    model = ising_grid(side, side, field=0.5, coupling=0.15, seed=3)
    exact_belief = gv.infer(model, "exact").node[query]
    answer = gv.local_marginal(model, query, tolerance=0.0, max_size=16)
    drawing = Drawing(_WIDTH, 350, "A region around a query, its proven bound and its true error")
    drawing.text((24, 30), f"The query (vermilion) and {len(answer.nodes) - 1} variables around it")
    edges = {(int(i), int(j)): EdgeStyle(PALE, 2.0) for i, j in model.edges}
    inside = set(answer.nodes.tolist())
    edges |= {pair: EdgeStyle(BLUE, 3.0) for pair in edges if set(pair) <= inside}
    fills = dict.fromkeys(sorted(inside), BLUE) | {query: RED}
    at = _grid_places(side, Box(50, 60, 260, 250))
    draw_graph(drawing, at, edges, fills=fills, radius=8)
    sizes = [step.size for step in answer.history]
    bounds = [step.bound for step in answer.history]
    errors = []
    for size in sizes:
        local = gv.local_marginal(model, query, tolerance=0.0, max_size=size)
        errors.append(float(np.abs(local.marginal - exact_belief).max()))
    axes = Axes(
        drawing,
        Box(430, 60, 290, 230),
        (0, max(sizes)),
        (1e-5, 1.0),
        ("variables in the region", "error of a probability"),
        logarithmic=True,
    )
    axes.curve(sizes, bounds, BLUE)
    axes.curve(sizes, errors, RED, "7 4")
    drawing.legend((590, 80), [(BLUE, "", "proven bound"), (RED, "7 4", "true error")])
    return drawing.svg()
