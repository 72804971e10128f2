"""UAI evidence files: observed variables and their states.

The content is ``k variable state variable state …``, numbered from 0. Older files begin with a line
with the number of samples, 1.
"""

from __future__ import annotations

from pathlib import Path

from graftviz.errors import InputError
from graftviz.formats.files import read_bytes
from graftviz.formats.uai_tokens import Tokens
from graftviz.model import PairwiseMRF


def evidence_text(evidence: dict[int, int]) -> str:
    """Return evidence, a mapping from indices of variables to indices of states, as UAI text."""
    pairs = [f" {i} {state}" for i, state in evidence.items()]
    return f"{len(evidence)}{''.join(pairs)}\n"


def read_evidence(path: Path | str, model: PairwiseMRF) -> dict[int, int]:
    """Read evidence on the variables of `model`.

    Raises
    ------
    InputError
        For a file that cannot be read or is malformed, variables or states that the model does not
        have, a variable with two states, and more than one sample.
    """
    path = Path(path)
    tokens = Tokens(path.name, read_bytes(path))
    words = len(tokens)
    first = tokens.count("the number of observed variables", 10**9)
    if words == 1 + 2 * first:
        return _read_pairs(tokens, first, model)
    if first == 1 and words % 2 == 0:
        return _read_pairs(tokens, tokens.count("the number of observed variables", 10**9), model)
    if first > 1 and _is_samples(tokens, first):
        raise InputError(
            f"{tokens.name} holds {first} samples of evidence; only one sample is supported."
        )
    raise InputError(
        f"{tokens.name} declares {first} observed variables, which requires {2 * first} numbers, "
        f"but {words - 1} follow."
    )


def _read_pairs(tokens: Tokens, count: int, model: PairwiseMRF) -> dict[int, int]:
    evidence: dict[int, int] = {}
    for _ in range(count):
        i = tokens.count("an observed variable", model.n_variables - 1)
        state = tokens.count(f"the state of variable {i}", int(model.cardinalities[i]) - 1)
        if evidence.setdefault(i, state) != state:
            raise InputError(
                f"{tokens.name} observes variable {i} in state {evidence[i]} and in state {state}."
            )
    tokens.expect_end("the last observed variable")
    return evidence


def _is_samples(tokens: Tokens, samples: int) -> bool:
    try:
        for _ in range(samples):
            for _ in range(2 * tokens.count("a number of observed variables", 10**9)):
                tokens.count("a variable or state", 10**9)
        tokens.expect_end("the last sample")
    except InputError:
        return False
    return True
