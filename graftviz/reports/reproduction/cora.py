"""Reader of Cora, the graph of papers on which localized inference is measured."""

from __future__ import annotations

import io
import os
from typing import Any

import networkx as nx
import pandas as pd

from graftviz.data.sets.files import found_files, reading
from graftviz.data.sets.public import check_rows


def read_cora(path: str | os.PathLike[str]) -> nx.Graph:
    """Read Cora, a graph of papers with their fields, which is no table to learn from.

    Nodes are 0 … n − 1 in the order of the file, with the attribute ``field``. Citations in both
    directions and repeated ones are one edge; papers that cite themselves have no loop.

    2,708 papers on machine learning and 5,278 citations. Sen, Namata, Bilgic, Getoor, Gallagher and
    Eliassi-Rad, Collective Classification in Network Data, AI Magazine 29(3), 93–106, 2008.

    Parameters
    ----------
    path : path
        Folder or zip archive of cora.content and cora.cites, or of nodes_NAME.csv (with columns
        node and class_name) and edges_NAME.csv (with columns u and v).
    """
    what = "cora.cites and cora.content, nor one edges_NAME.csv and nodes_NAME.csv"
    files = found_files(path, r"cora\.(content|cites)|(nodes|edges)_.*\.csv", what)
    with reading(" and ".join(files), what):
        is_table = all(name.lower().endswith(".csv") for name in files)
        how: dict[str, Any] = {} if is_table else {"sep": r"\s+", "header": None}
        edges, nodes = (pd.read_csv(io.BytesIO(one), dtype=str, **how) for one in files.values())
        names, fields = nodes["node" if is_table else 0], nodes.get("class_name", nodes.iloc[:, -1])
        ends = edges[["u", "v"]] if is_table else edges[[0, 1]]
        pairs = pd.Index(names).get_indexer(ends.to_numpy().ravel()).reshape(-1, 2)
        check_rows((pairs >= 0).all(axis=1))
    graph = nx.Graph()
    graph.add_nodes_from((node, {"field": field}) for node, field in enumerate(fields))
    graph.add_edges_from(pairs[pairs[:, 0] != pairs[:, 1]].tolist())
    return graph
