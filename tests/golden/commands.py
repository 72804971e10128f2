"""Commands of ``python -m graftviz``, run in this process."""

from __future__ import annotations

import contextlib
import io

from graftviz.__main__ import main


def run(*arguments: object) -> str:
    """Run a command and return its standard output.

    Raises
    ------
    RuntimeError
        When the exit code is not 0.
    """
    output, errors = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(output), contextlib.redirect_stderr(errors):
        code = main([str(argument) for argument in arguments])
    if code:
        raise RuntimeError(f"{arguments[0]} ended with exit code {code}: {errors.getvalue()}")
    return output.getvalue()
