"""UAI formats of inference competitions: models with a separate file of names, evidence, results.

Variable k of a model file is variable k of the model, with its states in the same order. Entries
are potentials exp(w) with 17 significant digits, so that floats are exact. Scopes of two variables
are written in descending order, because some readers assume tables sorted by variable regardless of
the scope, and all readers interpret descending scopes alike. The format has no names; they are in
``<stem>.names.json`` as ``{"names": …, "labels": …}``.

Evidence is ``k variable state variable state …``, numbered from 0; older files begin with a line
with the number of samples, 1. A MAR file holds ``MAR``, the number of variables and, for each
variable, its number of states and their probabilities; a PR file holds ``PR`` and log₁₀ Z.
"""

from __future__ import annotations

import json
import math
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import NamedTuple

import numpy as np

from graftviz.model.pairwise import PairwiseModel
from graftviz.utils.errors import InputError
from graftviz.utils.files import read_bytes, write_whole

_WORD = re.compile(rb"[^\s\x1c-\x1f]+")
# Tables whose largest weight has a greater absolute value are shifted: exp(w) could overflow.
_SAFE_WEIGHT = 600.0
_MOST_STATES = 1_000_000
_MOST_STATES_TOGETHER = 100_000_000


class NamesFile(NamedTuple):
    """File of names and labels: its name in messages, and its content."""

    title: str
    content: bytes


def uai_text(model: PairwiseModel) -> str:
    """Return `model` in UAI format: node tables in variable order, then edge tables in edge order.

    A table whose largest weight is beyond ±600 is shifted by it, so that exp stays within the
    range of floats. The shift multiplies the table by a constant and changes no probability.
    """
    n = model.n_variables
    scopes = [f"1 {i}" for i in range(n)]
    scopes += [f"2 {j} {i}" for i, j in model.edges]
    tables = [model.node_weights(i) for i in range(n)]
    # The last variable of the scope varies fastest, hence the transposed matrix for scope (j, i).
    tables += [model.edge_weights(e).T.reshape(-1) for e in range(model.n_edges)]
    head = ["MARKOV", str(n), " ".join(str(s) for s in model.cardinalities), str(len(scopes))]
    lines = [*head, *scopes]
    for table in tables:
        numbers = " ".join(f"{value:.17g}" for value in _potentials(table))
        lines += ["", str(len(table)), numbers]
    return "\n".join(lines) + "\n"


def names_text(model: PairwiseModel) -> str:
    """Return the names and state labels of `model` as JSON (ASCII only)."""
    content = {"names": list(model.names), "labels": [list(states) for states in model.labels]}
    return json.dumps(content, indent=1) + "\n"


def uai_files(model: PairwiseModel, stem: str = "model") -> dict[str, str]:
    """Return the UAI file of `model` and the file of its names, by file name."""
    return {f"{stem}.uai": uai_text(model), f"{stem}.names.json": names_text(model)}


def names_path(path: Path | str) -> Path:
    """Return the path of the names of the UAI file `path`: model.uai → model.names.json."""
    return Path(path).with_suffix(".names.json")


def write_uai(model: PairwiseModel, path: Path | str) -> None:
    """Write `model` to `path` and its names and labels to :func:`names_path`."""
    write_whole(names_path(path), names_text(model))
    write_whole(path, uai_text(model))


def read_uai(path: Path | str) -> PairwiseModel:
    """Read a Markov network of tables over one or two variables, with names if there are any.

    A Bayesian network (``BAYES``) is read as the product of its tables. Tables may be in any order;
    tables with the same scope are multiplied; a zero becomes the weight −inf. A table without
    variables, a constant factor, is added to the weights of variable 0. Edges are in the order of
    their first table.

    Raises
    ------
    InputError
        For a file that cannot be read, is malformed or truncated, or has a table over three or
        more variables, and for names that do not fit the model.
    """
    path = Path(path)
    return parse_uai(path.name, read_bytes(path), read_names_beside(path))


def read_names_beside(path: Path | str) -> NamesFile | None:
    """Return the file of names for the UAI file `path`; None if there is none."""
    path = names_path(path)
    # os.path.exists is False for names that are too long, where Path.exists raises.
    return NamesFile(path.name, read_bytes(path)) if os.path.exists(path) else None


def parse_uai(title: str, content: bytes, names: NamesFile | None = None) -> PairwiseModel:
    """Read a UAI file from memory; see :func:`read_uai`.

    Parameters
    ----------
    title : str
        Name of the file in messages.
    content : bytes
    names : NamesFile, optional
        Names and labels; without them variables and states are numbered.
    """
    tokens = Tokens(title, content)
    if (kind := tokens.word("the word MARKOV")) not in ("MARKOV", "BAYES"):
        raise InputError(
            f"{title} starts with {kind[:20]!r}, but a UAI file starts with MARKOV or BAYES."
        )
    cardinalities = _read_cardinalities(tokens)
    scopes = _read_scopes(tokens, len(cardinalities))
    node_weights = [np.zeros(s) for s in cardinalities]
    edge_weights: dict[tuple[int, int], np.ndarray] = {}
    for number, scope in enumerate(scopes):
        weights = _read_table(tokens, number, [cardinalities[i] for i in scope])
        if len(scope) == 0:
            node_weights[0] = node_weights[0] + float(weights)
        elif len(scope) == 1:
            node_weights[scope[0]] = node_weights[scope[0]] + weights
        else:
            i, j = sorted(scope)
            turned = weights if (i, j) == tuple(scope) else weights.T
            edge_weights[i, j] = edge_weights.get((i, j), 0.0) + turned
    tokens.expect_end()
    texts, labels = ((), ()) if names is None else _parse_names(names, cardinalities)
    return PairwiseModel.from_tables(node_weights, edge_weights, names=texts, labels=labels)


def _potentials(weights: np.ndarray) -> np.ndarray:
    largest = float(weights.max())
    far = math.isfinite(largest) and abs(largest) > _SAFE_WEIGHT
    return np.exp(weights - largest if far else weights)


def _read_cardinalities(tokens: Tokens) -> list[int]:
    n = tokens.count("the number of variables", 10**9)
    if n == 0:
        raise InputError(f"{tokens.name} has no variables.")
    sizes = []
    for i in range(n):
        size = tokens.count(f"the number of states of variable {i}", _MOST_STATES)
        if size == 0:
            raise InputError(f"In {tokens.name}, variable {i} has no states.")
        sizes.append(size)
    if sum(sizes) > _MOST_STATES_TOGETHER:
        raise InputError(f"{tokens.name} has {sum(sizes):,} states in total, too many for memory.")
    return sizes


def _read_scopes(tokens: Tokens, n: int) -> list[list[int]]:
    scopes = []
    for number in range(tokens.count("the number of tables", 10**9)):
        arity = tokens.count(f"the number of variables of table {number}", 10**9)
        if arity > 2:
            raise InputError(
                f"In {tokens.name}, table {number} is over {arity} variables; "
                "a pairwise model has tables over one or two."
            )
        scope = [tokens.count(f"a variable of table {number}", n - 1) for _ in range(arity)]
        if len(set(scope)) < arity:
            raise InputError(f"In {tokens.name}, table {number} names variable {scope[0]} twice.")
        scopes.append(scope)
    return scopes


def _read_table(tokens: Tokens, number: int, shape: list[int]) -> np.ndarray:
    title = f"table {number}"
    size = tokens.count(f"the number of entries of {title}", 10**15)
    if size != math.prod(shape):
        raise InputError(
            f"In {tokens.name}, {title} declares {size} entries, "
            f"but its variables have {math.prod(shape)} joint states."
        )
    potentials = tokens.numbers(size, title)
    # The negated comparison also rejects NaN.
    if not ((potentials >= 0) & (potentials < np.inf)).all():
        raise InputError(
            f"In {tokens.name}, {title} has an entry that is negative or not a finite number."
        )
    with np.errstate(divide="ignore"):  # a zero potential has the weight −inf
        return np.log(potentials).reshape(shape)


def _parse_names(
    file: NamesFile, cardinalities: list[int]
) -> tuple[tuple[str, ...], tuple[tuple[str, ...], ...]]:
    try:
        content = json.loads(file.content.decode("utf-8"))
    except (ValueError, RecursionError):  # malformed JSON, not UTF-8, or too deeply nested
        raise InputError(f"{file.title} is not valid JSON; save it again.") from None
    problem = InputError(
        f'{file.title} must hold {{"names": …, "labels": …}} with one name per variable '
        "and one label per state, all of them texts; names must be unique."
    )
    if not isinstance(content, dict) or set(content) != {"names", "labels"}:
        raise problem
    names, labels = content["names"], content["labels"]
    if not _is_texts(names) or not len(names) == len(set(names)) == len(cardinalities):
        raise problem
    if not isinstance(labels, list) or not all(_is_texts(states) for states in labels):
        raise problem
    if [len(states) for states in labels] != cardinalities:
        raise problem
    return tuple(names), tuple(tuple(states) for states in labels)


def _is_texts(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(item, str) for item in value)


# ------------------------------------------------------------------------------------ evidence


def read_evidence(path: Path | str, model: PairwiseModel) -> dict[int, int]:
    """Read evidence on the variables of `model`.

    Raises
    ------
    InputError
        For a file that cannot be read or is malformed, variables or states that the model does not
        have, a variable with two states, and more than one sample.
    """
    path = Path(path)
    return parse_evidence(path.name, read_bytes(path), model.cardinalities)


def parse_evidence(
    title: str, content: bytes, cardinalities: Sequence[int] | np.ndarray
) -> dict[int, int]:
    """Return the evidence in the content of a file, as :func:`read_evidence`.

    Parameters
    ----------
    title : str
        Name of the file in messages.
    content : bytes
    cardinalities : sequence of int
        Number of states of every variable.
    """
    tokens = Tokens(title, content)
    words = len(tokens)
    first = tokens.count("the number of observed variables", 10**9)
    if words == 1 + 2 * first:
        return _read_pairs(tokens, first, cardinalities)
    if first == 1 and words % 2 == 0:
        count = tokens.count("the number of observed variables", 10**9)
        return _read_pairs(tokens, count, cardinalities)
    if first > 1 and _is_samples(tokens, first):
        raise InputError(
            f"{tokens.name} holds {first} samples of evidence; only one sample is supported."
        )
    raise InputError(
        f"{tokens.name} declares {first} observed variables, which requires {2 * first} numbers, "
        f"but {words - 1} follow."
    )


def evidence_text(evidence: Mapping[int, int]) -> str:
    """Return evidence in UAI format: the number of observations, then variables and states."""
    words = [len(evidence), *(word for pair in evidence.items() for word in pair)]
    return " ".join(map(str, words)) + "\n"


def _read_pairs(
    tokens: Tokens, count: int, cardinalities: Sequence[int] | np.ndarray
) -> dict[int, int]:
    evidence: dict[int, int] = {}
    for _ in range(count):
        i = tokens.count("an observed variable", len(cardinalities) - 1)
        state = tokens.count(f"the state of variable {i}", int(cardinalities[i]) - 1)
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


# ------------------------------------------------------------------------------------- results


def mar_text(marginals: Sequence[np.ndarray]) -> str:
    """Return the marginals of all variables in UAI format, with 17 digits."""
    words = [str(len(marginals))]
    for marginal in marginals:
        words.append(str(len(marginal)))
        words += [f"{probability:.17g}" for probability in marginal]
    return f"MAR\n{' '.join(words)}\n"


def pr_text(log_partition: float) -> str:
    """Return log₁₀ Z of log Z in UAI format, with 17 digits."""
    return f"PR\n{log_partition / math.log(10):.17g}\n"


# --------------------------------------------------------------------------------------- words


class Tokens:
    """Iterator over the words of a UAI file, with errors that name the missing item.

    Words are extracted one at a time; a list of all words would take twenty times the memory of
    the file.

    Parameters
    ----------
    title : str
        Name of the file in messages.
    content : bytes

    Raises
    ------
    InputError
        When the content is not plain text.
    """

    def __init__(self, title: str, content: bytes) -> None:
        self.name = title
        self._text = content
        if not self._text.isascii():
            raise InputError(f"{self.name} is not a UAI file: it is not plain text.")
        self._words = self._all_words()

    def __len__(self) -> int:
        return sum(1 for _ in self._all_words())

    def _all_words(self) -> Iterator[str]:
        return (found[0].decode("ascii") for found in _WORD.finditer(self._text))

    def word(self, expected: str) -> str:
        """Return the next word."""
        word = next(self._words, None)
        if word is None:
            raise InputError(f"{self.name} is truncated: {expected} is missing.")
        return word

    def count(self, expected: str, limit: int) -> int:
        """Return the next word as a whole number from 0 to `limit`."""
        word = self.word(expected)
        # isdigit also accepts digits of other scripts, which cannot occur in ASCII text.
        if not word.isdigit() or len(word) > 18 or int(word) > limit:
            raise InputError(
                f"In {self.name}, {expected} must be a whole number from 0 to {limit}, "
                f"not {word[:20]!r}."
            )
        return int(word)

    def numbers(self, count: int, expected: str) -> np.ndarray:
        """Return the next `count` words as floats."""
        try:
            found = np.fromiter(map(float, islice(self._words, count)), np.float64)
        except ValueError as error:
            raise InputError(f"In {self.name}, within {expected}: {error}.") from None
        if len(found) < count:
            raise InputError(
                f"{self.name} is truncated: {expected} has {len(found)} of {count} numbers."
            )
        return found

    def expect_end(self, last: str = "its last table") -> None:
        """Raise :class:`InputError` if any word follows."""
        extra = next(self._words, None)
        if extra is not None:
            raise InputError(f"{self.name} continues with {extra[:20]!r} after {last}.")
