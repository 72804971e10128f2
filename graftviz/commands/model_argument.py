"""Command-line argument for a model: a file or a folder of results."""

from __future__ import annotations

import argparse
import sys

from graftviz.commands.arguments import path
from graftviz.formats.models import read_model_file
from graftviz.model import PairwiseMRF

HELP = (
    "a model: UAI (names are read from MODEL.names.json beside it), GraphML, node-link JSON, or a "
    "folder of results"
)


def add_model_argument(parser: argparse.ArgumentParser) -> None:
    """Add the argument ``model`` to `parser`."""
    parser.add_argument("model", type=path, metavar="MODEL", help=HELP)


def read_model_argument(arguments: argparse.Namespace) -> PairwiseMRF:
    """Read the model and print notes about its interpretation to standard error.

    Raises
    ------
    InputError
        If there is no model, or it is malformed.
    """
    found = read_model_file(arguments.model)
    for note in found.notes:
        print(f"Note: {note}", file=sys.stderr)
    return found.model
