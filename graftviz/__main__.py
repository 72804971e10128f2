"""The command line: ``python -m graftviz COMMAND …``.

Exit codes: 0 done, 2 refused input (one sentence on standard error), 130 interrupted.
"""

from __future__ import annotations

import argparse
import importlib
import io
import os
import sys
from collections.abc import Sequence
from typing import NoReturn

from graftviz._version import __version__
from graftviz.commands import COMMANDS
from graftviz.errors import InputError
from graftviz.wording import reworded

DONE, REFUSED, INTERRUPTED = 0, 2, 130


class _Parser(argparse.ArgumentParser):
    """A parser whose complaints are one sentence instead of usage lines and an error."""

    def error(self, message: str) -> NoReturn:
        self.exit(REFUSED, f"{self.prog}: {message}; see {self.prog} --help.\n")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code."""
    given = sys.argv[1:] if arguments is None else list(arguments)
    for stream in (sys.stdout, sys.stderr):
        # A name that the terminal cannot show must not end the program.
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    chosen = next((word for word in given if not word.startswith("-")), "")
    parser = _Parser(prog="graftviz", description="Learn pairwise Markov networks from tables.")
    parser.add_argument("--version", action="version", version=f"graftviz {__version__}")
    subparsers = parser.add_subparsers(metavar="COMMAND", required=True)
    try:
        for name, summary in COMMANDS.items():
            subparser = subparsers.add_parser(name, help=summary, description=f"{summary}.")
            if name == chosen:
                module = importlib.import_module(f"graftviz.commands.{name}")
                module.add_arguments(subparser)
                subparser.set_defaults(run=module.run)
        parsed = parser.parse_args(given)
        code = int(parsed.run(parsed))
        sys.stdout.flush()  # here, where a closed pipe can still be met
        return code
    except InputError as error:
        print(reworded(str(error), _flag), file=sys.stderr)
        return REFUSED
    except BrokenPipeError:
        # Whoever read the output has seen enough. Python would stumble over the pipe once more
        # when it closes the stream at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return DONE
    except KeyboardInterrupt:
        print("Interrupted.", file=sys.stderr)
        return INTERRUPTED


def _flag(name: str, value: str) -> str:
    return f"--{name.replace('_', '-')} {value}".rstrip()


if __name__ == "__main__":
    sys.exit(main())
