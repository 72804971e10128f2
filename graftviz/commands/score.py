"""``graftviz score``: how well a model predicts the rows of a table."""

from __future__ import annotations

import argparse
import sys

from graftviz.commands.arguments import add_model_argument, path, read_model_argument
from graftviz.errors import InputError
from graftviz.formats.json_values import json_text
from graftviz.inference.exact.plan import plan_elimination, too_expensive
from graftviz.metrics import ncmll, nll, nlpl
from graftviz.table import DiscreteTable, read_table

NAME = "score"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of ``score`` to `parser`."""
    add_model_argument(parser)
    parser.add_argument("table", type=path, metavar="TABLE", help="a CSV or parquet file")
    parser.add_argument("--weights", metavar="COLUMN", help="column of case weights")
    parser.add_argument(
        "--missing",
        choices=("reject", "drop"),
        default="reject",
        help="rows with missing values: refuse or drop them (default: reject)",
    )
    parser.add_argument(
        "--unseen",
        choices=("reject", "nearest"),
        default="reject",
        help="values that the model does not have: refuse them, or use the nearest number, and the "
        "state other for texts (default: reject)",
    )


def run(arguments: argparse.Namespace) -> int:
    """Print the losses as JSON; return the exit code."""
    model = read_model_argument(arguments)
    like = DiscreteTable.coding(model.names, model.labels)
    table = read_table(
        arguments.table,
        like=like,
        weights=arguments.weights,
        missing=arguments.missing,
        unseen=arguments.unseen,
    )
    for note in table.warnings:
        print(f"Note: {note}", file=sys.stderr)
    is_exact = not too_expensive(plan_elimination(model))
    try:
        found = {
            "rows": table.n_rows,
            "nlpl": nlpl(model, table),
            "nll": nll(model, table) if is_exact else None,
            "ncmll": ncmll(model, table) if is_exact else None,
        }
    except ArithmeticError as error:
        raise InputError(f"The weights of this model are too large: {error}.") from None
    print(json_text(found))
    return 0
