"""``graftviz local``: the marginal of one variable from a small region, with a proven bound."""

from __future__ import annotations

import argparse
import re
from collections.abc import Mapping

from graftviz.cli.arguments import (
    add_model_argument,
    add_options,
    chosen_options,
    path,
    read_model_argument,
)
from graftviz.inference.local.marginal import ExpansionOptions, LocalMarginal, local_marginal
from graftviz.model.pairwise import PairwiseModel
from graftviz.model.readwrite.uai import read_evidence
from graftviz.utils.files import json_text
from graftviz.utils.memory import parse_size
from graftviz.utils.options import attributes


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of ``local`` to `parser`."""
    add_model_argument(parser)
    parser.add_argument(
        "--query",
        required=True,
        metavar="VARIABLE",
        help="the variable, by index (from 0) or by name; a whole number is an index unless it is "
        "out of range and a name",
    )
    add_options(parser, ExpansionOptions)
    parser.add_argument(
        "--evidence", type=path, metavar="FILE.evid", help="observed variables and their states"
    )
    parser.add_argument(
        "--max-memory",
        metavar="SIZE",
        help="memory limit for tables of exact inference in the region, such as 4G "
        "(default: 80 %% of the free memory)",
    )


def run(arguments: argparse.Namespace) -> int:
    """Answer the query and print it as JSON; return the exit code."""
    memory = arguments.max_memory
    max_memory = None if memory is None else parse_size(memory, "--max-memory")
    model = read_model_argument(arguments.model)
    query = query_index(model, arguments.query)
    evidence = {}
    if arguments.evidence is not None:
        evidence = read_evidence(arguments.evidence, model)
    answer = local_marginal(
        model,
        query,
        **chosen_options(arguments, ExpansionOptions),
        evidence=evidence,
        max_memory=max_memory,
    )
    print(_local_json(answer, model, evidence), end="")
    return 0


def query_index(model: PairwiseModel, text: str) -> int:
    """Return the index of the variable that ``--query`` names.

    Raises
    ------
    InputError
        If the model has no such variable.
    """
    number = re.fullmatch(r"\s*(-?\d{1,18})\s*", text, re.ASCII)
    if number and (int(number[1]) in range(model.n_variables) or text not in model.names):
        return model.index_of(int(number[1]))
    return model.index_of(text)


def _local_json(
    answer: LocalMarginal, model: PairwiseModel, evidence: Mapping[int, int] | None = None
) -> str:
    """Return a local marginal as JSON, with the names and labels of the model.

    ``bound`` is always finite; a vacuous bound is 1. ``evidence`` maps indices of variables to
    indices of states.
    """
    content = {
        "query": answer.query,
        "name": model.names[answer.query],
        "states": list(model.labels[answer.query]),
        "marginal": answer.marginal,
        **attributes(answer, "bound", "certified", "nontrivial_bound"),
        "reached_tolerance": answer.certified,
        "nodes": answer.nodes,
        "names": [model.names[i] for i in answer.nodes.tolist()],
        **attributes(answer, "cut", "expansion", "method", "stop_reason"),
        "evidence": {str(i): state for i, state in (evidence or {}).items()},
        "dobrushin_coefficient": answer.history[-1].coefficient,
        "history": [attributes(step, "added", "size", "bound") for step in answer.history],
    }
    return json_text(content, indent=1)
