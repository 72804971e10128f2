"""``graftviz generate mrf``: random Markov networks and rows sampled from them."""

from __future__ import annotations

import argparse
import re
import sys
import time
from pathlib import Path

from graftviz.cli.arguments import add_seed, create_folder, integer, number, path
from graftviz.cli.progress import progress
from graftviz.data.sets.files import truth_csv
from graftviz.data.synthetic.gibbs import MAX_STATES, THIN, check_settings, sample_gibbs
from graftviz.data.synthetic.graphs import (
    Graph,
    grid_graph,
    karate_graph,
    les_miserables_graph,
    random_graph,
    scale_free_graph,
    square_side,
)
from graftviz.data.synthetic.potentials import (
    EDGE_SIGMA,
    NODE_SIGMA,
    add_noise,
    check_share,
    random_model,
)
from graftviz.data.table import DiscreteTable
from graftviz.model.pairwise import PairwiseModel
from graftviz.model.readwrite.uai import uai_files
from graftviz.reports.files.table_csv import table_csv
from graftviz.utils.errors import InputError
from graftviz.utils.files import write_results

FIXED_GRAPHS = {"karate": karate_graph, "les-miserables": les_miserables_graph}
GRAPHS = ("scale-free", "grid", "random", *FIXED_GRAPHS)
NODES = 200
MOST_NODES = 100_000
FILES = ("table.csv", "truth_edges.csv", "model.uai", "model.names.json")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of ``generate`` to `parser`."""
    parser.add_argument("kind", choices=("mrf",), metavar="mrf", help="a pairwise Markov network")
    parser.add_argument("--out", type=path, required=True, metavar="DIR", help="folder for results")
    parser.add_argument("--graph", choices=GRAPHS, default="scale-free", help="default: scale-free")
    parser.add_argument(
        "--nodes",
        type=integer,
        metavar="N",
        help=f"number of variables (default: {NODES}); a square number for a grid",
    )
    parser.add_argument("--shape", metavar="RxC", help="rows and columns of a grid, e.g. 20x30")
    parser.add_argument(
        "--edges",
        type=integer,
        metavar="M",
        help="number of edges of a random or scale-free graph (default: 2N - 4); with it, a "
        "scale-free graph is a tree, N - 1 edges, and random edges",
    )
    parser.add_argument(
        "--probability",
        type=number,
        metavar="P",
        help="probability of each edge, instead of --edges",
    )
    parser.add_argument(
        "--states",
        type=integer,
        default=5,
        metavar="S",
        help="states of each variable (default: 5)",
    )
    parser.add_argument(
        "--rows", type=integer, default=20_000, help="rows to draw (default: 20000)"
    )
    add_seed(parser, "graph, potentials and rows")
    parser.add_argument(
        "--node-sigma",
        type=number,
        default=NODE_SIGMA,
        metavar="SD",
        help=f"standard deviation of node weights (default: {NODE_SIGMA:g})",
    )
    parser.add_argument(
        "--edge-sigma",
        type=number,
        default=EDGE_SIGMA,
        metavar="SD",
        help=f"standard deviation of edge weights (default: {EDGE_SIGMA:g})",
    )
    parser.add_argument(
        "--noise",
        type=number,
        default=0.0,
        metavar="SHARE",
        help="share of the cells that are replaced by random states (default: 0)",
    )
    sampler = parser.add_argument_group("Gibbs sampler")
    sampler.add_argument(
        "--chains", type=integer, metavar="N", help="parallel chains (default: depends on --rows)"
    )
    sampler.add_argument(
        "--burn-in",
        type=integer,
        metavar="N",
        help="annealed sweeps before the first draw (default: depends on the strength of the "
        "potentials)",
    )
    sampler.add_argument(
        "--thin", type=integer, default=THIN, metavar="N", help=f"sweeps per draw (default: {THIN})"
    )
    sampler.add_argument(
        "--one-at-a-time",
        action="store_true",
        help="draw every variable alone, as the papers do; chains hardly move at strong hubs then",
    )


def run(arguments: argparse.Namespace) -> int:
    """Generate, sample, write and print a summary; return the exit code."""
    if not 2 <= arguments.states <= MAX_STATES:
        raise InputError(f"--states must be between 2 and {MAX_STATES}; got {arguments.states}.")
    graph = _graph(arguments)
    model = random_model(
        graph.edges,
        [arguments.states] * graph.n_nodes,
        node_sigma=arguments.node_sigma,
        edge_sigma=arguments.edge_sigma,
        seed=arguments.seed,
        names=graph.names,
    )
    settings = {
        "burn_in": arguments.burn_in,
        "thin": arguments.thin,
        "chains": arguments.chains,
    }
    check_settings(model, arguments.rows, **settings)
    check_share(arguments.noise)
    folder = create_folder(arguments.out)
    # Compiles the sampler, so that this time is not reported.
    sample_gibbs(random_model(grid_graph(1, 2).edges, [2, 2]), rows=1, burn_in=5, chains=2)
    started = time.perf_counter()
    with progress(arguments.rows, "sampling rows") as bar:
        sample = sample_gibbs(
            model,
            arguments.rows,
            seed=arguments.seed,
            **settings,
            join_hubs=not arguments.one_at_a_time,
            progress=lambda done, total: bar.show(done * arguments.rows // total),
        )
    seconds = time.perf_counter() - started
    table = add_noise(sample.table, arguments.noise, arguments.seed)
    write_sample(folder, model, table)
    print(
        f"{arguments.rows:,} rows of {graph.n_nodes:,} variables with {arguments.states} states "
        f"and {graph.n_edges:,} edges in {seconds:.2f} s ({arguments.rows / seconds:,.0f} rows/s)."
    )
    print(sample.diagnostic.sentence())
    print(f"{', '.join(FILES)} are in {folder}.")
    missing = _unseen_state(table)
    if missing:
        print(f"Note: {missing}", file=sys.stderr)
    return 0


def write_sample(folder: Path, model: PairwiseModel, table: DiscreteTable) -> None:
    """Write a table and the model it was sampled from as the files of :data:`FILES`.

    Raises
    ------
    InputError
        If the folder cannot be written.
    """
    contents: dict[str, str | bytes] = {
        "table.csv": table_csv(table),
        "truth_edges.csv": truth_csv(model.edges, model.names),
        **uai_files(model),
    }
    write_results(folder, contents)


def _graph(arguments: argparse.Namespace) -> Graph:
    kind, nodes, seed = arguments.graph, arguments.nodes, arguments.seed
    for option, value, kinds in (
        ("--shape", arguments.shape, ("grid",)),
        ("--edges", arguments.edges, ("random", "scale-free")),
        ("--probability", arguments.probability, ("random",)),
    ):
        if value is not None and kind not in kinds:
            graphs = " or ".join(kinds)
            raise InputError(f"{option} belongs to --graph {graphs}, not to --graph {kind}.")
    if nodes is not None and not 3 <= nodes <= MOST_NODES:
        raise InputError(f"--nodes must be between 3 and {MOST_NODES:,}; got {nodes}.")
    if kind in FIXED_GRAPHS:
        graph = FIXED_GRAPHS[kind]()
        if nodes not in (None, graph.n_nodes):
            raise InputError(f"The graph {kind} has {graph.n_nodes} nodes, not {nodes}.")
        return graph
    if kind == "grid":
        return _grid(nodes, arguments.shape)
    if nodes is None:
        nodes = NODES
    if kind == "scale-free":
        return scale_free_graph(nodes, seed, arguments.edges)
    if arguments.edges is not None and arguments.probability is not None:
        raise InputError("A random graph takes --edges or --probability, not both.")
    edges = arguments.edges
    if edges is None and arguments.probability is None:
        edges = 2 * nodes - 4
    return random_graph(nodes, edges=edges, probability=arguments.probability, seed=seed)


def _grid(nodes: int | None, shape: str | None) -> Graph:
    if shape is None:
        if nodes is None:
            raise InputError("A grid needs --nodes (a square number) or --shape, e.g. 20x30.")
        side = square_side(nodes)
        return grid_graph(side, side)
    found = re.fullmatch(r"(\d{1,6})[xX×](\d{1,6})", shape.strip(), re.ASCII)
    if not found:
        raise InputError(f"--shape must look like 20x30, rows by columns; got {shape!r}.")
    rows, columns = int(found[1]), int(found[2])
    if not 3 <= rows * columns <= MOST_NODES:
        raise InputError(
            f"A grid must have between 3 and {MOST_NODES:,} nodes; {shape} has {rows * columns:,}."
        )
    if nodes not in (None, rows * columns):
        raise InputError(f"--shape {shape} has {rows * columns} nodes, but --nodes is {nodes}.")
    return grid_graph(rows, columns)


def _unseen_state(table: DiscreteTable) -> str:
    """Return a note if a state never occurs: a table read back from the file will not have it."""
    for i, states in enumerate(table.labels):
        seen = set(table.codes[i].tolist())
        unseen = next((label for k, label in enumerate(states) if k not in seen), None)
        if unseen is not None:
            return (
                f"State {unseen} of {table.names[i]} (and perhaps others) never occurs in these "
                "rows, so a table read from table.csv has fewer states than model.uai."
            )
    return ""
