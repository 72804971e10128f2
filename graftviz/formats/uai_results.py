"""UAI result files: marginals (``.MAR``) and the logarithm of the partition function (``.PR``).

A MAR file holds ``MAR``, the number of variables and, for each variable, its number of states and
their probabilities; a PR file holds ``PR`` and log₁₀ Z.
"""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np

from graftviz.errors import InputError
from graftviz.formats.files import read_bytes
from graftviz.formats.uai_tokens import Tokens
from graftviz.inference import Beliefs

_SUM_TOLERANCE = 1e-3  # reference files have six digits


def mar_text(beliefs: Beliefs) -> str:
    """Return the marginals of all variables in UAI format, with 17 digits."""
    words = [str(len(beliefs.node))]
    for belief in beliefs.node:
        words.append(str(len(belief)))
        words += [f"{probability:.17g}" for probability in belief]
    return f"MAR\n{' '.join(words)}\n"


def pr_text(beliefs: Beliefs) -> str:
    """Return log₁₀ Z in UAI format, with 17 digits."""
    return f"PR\n{beliefs.log_partition / math.log(10):.17g}\n"


def read_mar(path: Path | str) -> tuple[np.ndarray, ...]:
    """Read marginals, one array per variable.

    Raises
    ------
    InputError
        For a file that cannot be read, is malformed or truncated, or holds numbers that are not
        probabilities.
    """
    path = Path(path)
    tokens = Tokens(path.name, read_bytes(path))
    _expect_kind(tokens, "MAR")
    marginals = []
    for i in range(tokens.count("the number of variables", 10**9)):
        states = tokens.count(f"the number of states of variable {i}", 10**6)
        marginal = tokens.numbers(states, f"the marginal of variable {i}")
        if not (marginal >= 0).all() or not abs(marginal.sum() - 1) <= _SUM_TOLERANCE:
            raise InputError(
                f"In {tokens.name}, the probabilities of variable {i} do not sum to 1."
            )
        marginals.append(marginal)
    tokens.expect_end("the last variable")
    return tuple(marginals)


def read_pr(path: Path | str) -> float:
    """Read log₁₀ Z.

    Raises
    ------
    InputError
        For a file that cannot be read or is malformed.
    """
    path = Path(path)
    tokens = Tokens(path.name, read_bytes(path))
    _expect_kind(tokens, "PR")
    value = float(tokens.numbers(1, "log10 of the partition function")[0])
    if math.isnan(value):
        raise InputError(f"In {tokens.name}, log10 of the partition function is not a number.")
    tokens.expect_end("its number")
    return value


def _expect_kind(tokens: Tokens, kind: str) -> None:
    if (found := tokens.word(f"the word {kind}")) != kind:
        raise InputError(
            f"{tokens.name} starts with {found[:20]!r}, but a file of this kind starts with {kind}."
        )
