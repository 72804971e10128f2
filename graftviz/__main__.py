"""Command line: ``python -m graftviz COMMAND …``.

Exit codes: 0 done, 1 output that cannot be written, 2 refused input, 130 interrupted. For 1 and 2,
one sentence on standard error gives the reason.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib
import io
import os
import sys
from collections.abc import Iterator, Sequence
from typing import NoReturn, TextIO

from graftviz.cli import COMMANDS, module_of
from graftviz.utils.errors import InputError, readable
from graftviz.utils.version import __version__
from graftviz.utils.wording import quoted, reworded, shortened

DONE, OUTPUT_FAILED, REFUSED, INTERRUPTED = 0, 1, 2, 130
_LONGEST = 500  # characters of a message of the parser


class _Parser(argparse.ArgumentParser):
    """Parser whose errors are one sentence instead of usage lines and an error."""

    def error(self, message: str) -> NoReturn:
        sentence = shortened(readable(message), _LONGEST)
        self.exit(REFUSED, f"{self.prog}: {sentence}; see {self.prog} --help.\n")


class _Output(io.TextIOBase):
    """Standard output that records its first error, which other code may ignore.

    Attributes
    ----------
    error : OSError or None
    """

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self.error: OSError | None = None

    def write(self, text: str) -> int:
        with self._recorded():
            return self._stream.write(text)

    def flush(self) -> None:
        with self._recorded():
            self._stream.flush()

    def isatty(self) -> bool:
        return not self._stream.closed and self._stream.isatty()

    def fileno(self) -> int:
        return self._stream.fileno()

    @property
    def encoding(self) -> str:  # type: ignore[override]
        return self._stream.encoding

    def finish(self) -> None:
        """Flush, and raise the first error even if it was ignored, as argparse does."""
        self.flush()
        if self.error is not None:
            raise self.error

    def discard(self) -> None:
        """Redirect the rest to the null device: Python flushes the stream once more at exit."""
        with contextlib.suppress(OSError, ValueError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), self._stream.fileno())

    @contextlib.contextmanager
    def _recorded(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            self.error = self.error or error
            raise


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code."""
    words = sys.argv[1:] if arguments is None else list(arguments)
    if sys.stderr is None:  # closed; `print` would write to standard output instead
        sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115
    if sys.stdout is None:
        return _fail(
            "Standard output is closed; redirect it to a file or to /dev/null.", OUTPUT_FAILED
        )
    for stream in (sys.stdout, sys.stderr):
        # Characters that the terminal cannot encode must not end the program.
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    output = _Output(sys.stdout)
    try:
        try:
            with contextlib.redirect_stdout(output):
                return _run(words)
        finally:
            output.finish()
    except InputError as error:
        return _fail(reworded(str(error), _flag), REFUSED)
    except MemoryError:
        return _fail("There is not enough memory for this; reduce the size.", REFUSED)
    except OSError as error:
        reason = error.strerror or "unknown error"
        if output.error is not None:
            output.discard()
            if isinstance(error, BrokenPipeError):  # as after `| head`: no more output is needed
                return DONE
            return _fail(f"The output cannot be written: {reason}.", OUTPUT_FAILED)
        name = "" if error.filename is None else f"{quoted(str(error.filename))}: "
        return _fail(f"{name}{reason}.", REFUSED)
    except KeyboardInterrupt:
        return _fail("Interrupted.", INTERRUPTED)


def _run(words: Sequence[str]) -> int:
    for word in words:
        _check_text(word)
    chosen = next((word for word in words if not word.startswith("-")), "")
    parser = _Parser(prog="graftviz", description="Learn pairwise Markov networks from tables.")
    parser.add_argument("--version", action="version", version=f"graftviz {__version__}")
    subparsers = parser.add_subparsers(metavar="COMMAND", required=True)
    for name, summary in COMMANDS.items():
        subparser = subparsers.add_parser(name, help=summary, description=f"{summary}.")
        if name == chosen:
            module = importlib.import_module(module_of(name))
            module.add_arguments(subparser)
            subparser.set_defaults(run=module.run)
    parsed = parser.parse_args(words)
    return int(parsed.run(parsed))


def _check_text(word: str) -> None:
    """Raise :class:`InputError` for characters that neither file names nor options contain.

    Bytes that are not UTF-8 are accepted: file names may contain them, and Python represents them
    by surrogates that the system's encoding converts back.
    """
    try:
        is_text = b"\0" not in os.fsencode(word)
    except UnicodeEncodeError:
        is_text = False
    if not is_text:
        raise InputError(f"The argument {quoted(word)} holds NUL or a lone surrogate; correct it.")


def _fail(sentence: str, code: int) -> int:
    """Print a sentence to standard error, if possible, and return `code`."""
    with contextlib.suppress(OSError, ValueError):
        print(sentence, file=sys.stderr, flush=True)
    return code


def _flag(name: str, value: str) -> str:
    return f"--{name.replace('_', '-')} {value}".rstrip()


if __name__ == "__main__":
    sys.exit(main())
