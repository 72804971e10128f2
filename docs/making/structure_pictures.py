"""Pictures of the learners of whole structures: paths, trees, exchanges, bounds."""

from __future__ import annotations

import graftviz as gv
from docs.making.drawing import BLUE, GREEN, GREY, INK, PALE, RED, Axes, Box, Drawing
from docs.making.grafting_pictures import judged, learned, places, survey, truth
from docs.making.shapes import EdgeStyle, draw_graph

_WIDTH = 760


def nodewise_l1() -> str:
    """Draw the graph at three values of λ, true and wrong edges apart."""
    steps = learned(gv.NodewiseL1(lam=0.002)).trace
    drawing = Drawing(_WIDTH, 330, "Nodewise ℓ₁: edges come as λ falls along the path")
    shown = [steps[0], steps[len(steps) // 2], steps[-1]]
    for k, step in enumerate(shown):
        left = 50 + 240 * k
        drawing.text((left - 20, 30), f"step {step.index} of {len(steps)}: {step.n_edges} edges")
        at = places(Box(left, 80, 180, 180))
        draw_graph(drawing, at, judged(step.active_edges()), survey().table.names, radius=6)
    drawing.legend((50, 308), [(GREEN, "", "true")])
    drawing.legend((190, 308), [(RED, "6 4", "not in the truth")])
    drawing.legend((390, 308), [(GREY, "2 4", "missing")])
    return drawing.svg()


def chow_liu() -> str:
    """Draw the tree, with mutual information as width, and the true edge a tree cannot have."""
    trace = learned(gv.ChowLiu()).trace
    drawing = Drawing(_WIDTH, 330, "Chow–Liu: the tree, and the true edge it leaves out")
    scored = [edge for step in trace for edge in step.activated]
    largest = scored[0].score
    drawing.text((24, 30), "The tree; width: mutual information")
    missing = sorted(truth() - {edge[:2] for edge in scored})
    edges = {pair: EdgeStyle(GREY, 3.0, "2 4") for pair in missing}
    for edge in scored:
        colour = GREEN if edge[:2] in truth() else RED
        edges[edge[:2]] = EdgeStyle(colour, 1.5 + 6.0 * edge.score / largest)
    draw_graph(drawing, places(Box(60, 72, 250, 220)), edges, survey().table.names)
    drawing.text((400, 30), "Information of its edges, in nats")
    left, scale = 560.0, 130.0 / largest
    names = survey().table.names
    for k, (i, j, score) in enumerate(scored):
        y = 56 + 22 * k
        drawing.rectangle(Box(left, y, score * scale, 15), GREEN if (i, j) in truth() else RED)
        drawing.text((left - 8, y + 12), f"{names[i]} – {names[j]}", anchor="end", size=11)
        drawing.text((left + score * scale + 5, y + 12), f"{score:.3f}", size=11)
    drawing.text((400, 300), "dashed: true, but it would close a cycle", size=11, colour=INK)
    return drawing.svg()


def forced_pruning() -> str:
    """Draw the first exchange, and the parameters beside the values they are tied to."""
    steps = learned(gv.ForcedPruning(max_edges=14, exchange=3, clusters=8, exchanges=3)).trace
    first, second = steps[0], steps[1]
    exchange = second.exchange
    assert exchange is not None
    gone = {(int(i), int(j)) for i, j in exchange.removed}
    new = {(int(i), int(j)) for i, j in exchange.added}
    before = {(int(i), int(j)) for i, j in first.active_edges()}
    drawing = Drawing(_WIDTH, 370, "Forced pruning: three edges leave, three enter")
    names = survey().table.names
    plain = EdgeStyle(GREY, 2.0)
    drawing.text((24, 30), "Before the exchange: red edges leave")
    styles = {
        pair: EdgeStyle(RED, 3.0, "6 4") if pair in gone else plain for pair in sorted(before)
    }
    draw_graph(drawing, places(Box(60, 72, 250, 190)), styles, names)
    drawing.text((400, 30), "After it: green edges have entered")
    after = sorted((before - gone) | new)
    styles = {pair: EdgeStyle(GREEN, 4.0) if pair in new else plain for pair in after}
    draw_graph(drawing, places(Box(440, 72, 250, 190)), styles, names)
    low, high = float(exchange.values.min()), float(exchange.values.max())
    drawing.text(
        (24, 304),
        f"{len(exchange.values)} parameters, tied to {len(exchange.centres)} values",
        size=11,
    )
    for value, centre in zip(exchange.values, exchange.centres[exchange.assignment], strict=True):
        start, end = (30 + 700 * (float(v) - low) / (high - low) for v in (value, centre))
        drawing.line((start, 316), (end, 350), PALE)
    for centre in exchange.centres:
        drawing.circle((30 + 700 * (float(centre) - low) / (high - low), 350), 4, BLUE)
    return drawing.svg()


def bounded_inference() -> str:
    """Draw objectives against edges for three bounds on the treewidth."""
    drawing = Drawing(_WIDTH, 330, "Bounded inference: what a wider model is worth")
    colours = ((1, RED, "2 3"), (2, BLUE, "7 4"), (3, INK, ""))
    runs = [(tau, learned(gv.BoundedInference(bound=float(tau))), c, d) for tau, c, d in colours]
    start = runs[0][1].trace[0].previous_objective
    lowest = min(result.objective for _, result, _, _ in runs)
    most = max(result.n_edges for _, result, _, _ in runs)
    axes = Axes(
        drawing,
        Box(80, 44, 630, 220),
        (0, most + 1),
        (lowest - 0.02, start + 0.02),
        ("edges", "negative log-likelihood, nats a row"),
    )
    for _, result, colour, dash in runs:
        edges = [0, *(step.n_edges for step in result.trace)]
        axes.curve(edges, [start, *(step.objective for step in result.trace)], colour, dash)
        drawing.circle(axes.at(result.n_edges, result.objective), 5, colour)
    entries = [
        (colour, dash, f"treewidth at most {tau}: ends with {result.n_edges} edges")
        for tau, result, colour, dash in runs
    ]
    drawing.legend((430, 70), entries)
    return drawing.svg()
