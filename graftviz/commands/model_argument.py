"""The model a command is about: any file or folder that holds one."""

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
    """Read the model; what there is to say about how it was understood goes to stderr.

    Raises
    ------
    InputError
        When there is no model, or it is malformed.
    """
    found = read_model_file(arguments.model)
    for note in found.notes:
        print(f"Note: {note}", file=sys.stderr)
    return found.model
