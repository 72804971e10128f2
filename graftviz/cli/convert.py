"""``graftviz convert``: a model in another format."""

from __future__ import annotations

import argparse

from graftviz.cli.arguments import add_model_argument, path, read_model_argument, writing
from graftviz.reports.files.run_folder import write_model


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of ``convert`` to `parser`."""
    add_model_argument(parser)
    parser.add_argument(
        "file",
        type=path,
        metavar="FILE",
        help="file to write; its ending is the format: .uai, .graphml or .json (node-link)",
    )


def run(arguments: argparse.Namespace) -> int:
    """Read and write the model; return the exit code."""
    model = read_model_argument(arguments.model)
    with writing(arguments.file):
        write_model(model, arguments.file)
    print(f"{model.n_variables:,} variables and {model.n_edges:,} edges in {arguments.file}")
    return 0
