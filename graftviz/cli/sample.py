"""``graftviz sample``: rows drawn from a model, as CSV."""

from __future__ import annotations

import argparse
import sys

from graftviz.cli.arguments import (
    add_evidence_argument,
    add_model_argument,
    add_seed,
    evidence_argument,
    integer,
    path,
    read_model_argument,
    writing,
)
from graftviz.inference.prediction import SAMPLE_METHODS, sample
from graftviz.reports.files.table_csv import table_csv
from graftviz.utils.files import write_whole


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of ``sample`` to `parser`."""
    add_model_argument(parser)
    parser.add_argument(
        "--rows", type=integer, default=1000, metavar="N", help="number of rows (default: 1000)"
    )
    add_evidence_argument(parser)
    add_seed(parser, "the draws")
    parser.add_argument(
        "--method",
        choices=SAMPLE_METHODS,
        default="auto",
        help="exact: independent rows from a junction tree; gibbs: Gibbs sampling; auto: exact "
        "where it is affordable (default: auto)",
    )
    parser.add_argument(
        "--out", type=path, metavar="FILE.csv", help="file of the rows (default: standard output)"
    )


def run(arguments: argparse.Namespace) -> int:
    """Draw and write the rows; return the exit code."""
    model = read_model_argument(arguments.model)
    table = sample(
        model,
        arguments.rows,
        evidence=evidence_argument(arguments),
        seed=arguments.seed,
        method=arguments.method,
    )
    content = table_csv(table)
    if arguments.out is None:
        sys.stdout.write(content.decode("utf-8"))
        return 0
    with writing(arguments.out):
        write_whole(arguments.out, content)
    print(f"{table.n_rows:,} rows of {table.n_variables:,} variables in {arguments.out}")
    return 0
