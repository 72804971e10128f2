"""Data of a run, default values of options on them, and limits of the run."""

from __future__ import annotations

import dataclasses
import hashlib
import threading
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field
from functools import cached_property, partial
from types import MappingProxyType
from typing import Any, Final, Generic, NamedTuple, TypeVar

import numpy as np

from graftviz.data.series.series import TimeSeries
from graftviz.data.sets.dataset import DataSet, suggest_lam
from graftviz.data.table import DiscreteTable
from graftviz.dynamics.measuring import PreparedSeries, prepare_series
from graftviz.learning.base import Learner
from graftviz.learning.counts.pair_counts import PairCounts
from graftviz.learning.trees.chow_liu import ChowLiu
from graftviz.learning.workload import of_learner
from graftviz.reports.layout import common_places
from graftviz.reports.results import learn
from graftviz.utils.errors import InputError
from graftviz.utils.memory import free_bytes, resident_bytes, size_text
from graftviz.utils.options import option_specs
from graftviz.utils.wording import duration_text

UPLOAD = "upload"  # key of uploaded data, in place of that of a data set
FINGERPRINT_DIGITS = 16
TEST_FRACTION = 0.1  # of an uploaded table
LEAST_ROWS_TO_HOLD_OUT = 50
MOST_SERIES = 1_000  # beyond, a series has less than a pixel in picture and matrix
_MOST_DIVISIONS = 4  # of the rows of a table, and of uploaded series
# Several edges per step are easier to follow.
_PAGE_DEFAULTS = {"alpha": 0.75}
# Data and preset with which the app opens.
PAGE_DATA: Final = "scale-free-40"
PAGE_PRESET: Final = "paper"
_LIKE_THE_PAPER = (PAGE_PRESET, "literal")
K = TypeVar("K", bound=Hashable)
M = TypeVar("M")
T = TypeVar("T")


class SourceCache:
    """Least-recently-used cache of values that are computed on first access.

    It belongs to the source of the values. A cache of the process would hold both after the
    session of an upload has ended, and could show them to other sessions.

    Parameters
    ----------
    most : int
        Number of entries; the default suits the jobs on one uploaded source.
    """

    def __init__(self, most: int = 60) -> None:
        self._most = most
        self._lock = threading.RLock()  # to make one may take another
        self._values: dict[Hashable, Any] = {}

    def get(self, key: Hashable, make: Callable[[], T]) -> T:
        """Return the value of `key`, computed by `make` if needed; errors of `make` propagate."""
        with self._lock:
            value: T = self._values.pop(key) if key in self._values else make()
            self._values[key] = value
            for old in list(self._values)[: -self._most]:
                del self._values[old]
            return value

    def clear(self) -> None:
        """Remove all entries."""
        with self._lock:
            self._values.clear()


@dataclass(frozen=True, eq=False)
class Material:
    """A data set made ready for learning.

    Attributes
    ----------
    identity : str
        Two materials of the same identity give the same runs.
    title, description : str
    train : DiscreteTable
    test : DiscreteTable or None
    truth : int array, shape (k, 2), or None
    positions : array, shape (n, 2), or None
    suggested : mapping
        Option values that suit the data.
    warnings : tuple of str
    fingerprint : str
        Of the whole table, shortened for links.
    source : DataSet
        The data set with all of its rows.
    seed : int
        Seed of the held-out rows and of the order of the others.
    own : SourceCache or None
        Cache of the jobs on an uploaded table; None for built-in data, whose jobs are shared.
    """

    identity: str
    title: str
    description: str
    train: DiscreteTable
    test: DiscreteTable | None
    truth: np.ndarray | None
    positions: np.ndarray | None
    suggested: Mapping[str, Any]
    warnings: tuple[str, ...]
    fingerprint: str
    source: DataSet
    seed: int
    own: SourceCache | None = None
    _divisions: SourceCache = field(default_factory=lambda: SourceCache(_MOST_DIVISIONS))

    @property
    def name(self) -> str:
        """The name of the data set: its title without sizes."""
        return self.title.split(" · ")[0]

    @property
    def test_fraction(self) -> float:
        """The share of the rows that is held out."""
        n_rows_test = 0 if self.test is None else self.test.n_rows
        return n_rows_test / self.source.table.n_rows

    def divided(self, rows: int | None = None, test_fraction: float | None = None) -> Material:
        """Return the same data with other training and held-out rows.

        The held-out rows do not depend on `rows`.

        Parameters
        ----------
        rows : int, optional
            Number of training rows, drawn by the seed: fewer are a subset of more. By default,
            and if there are not that many, all.
        test_fraction : float, optional
            Share of the rows to hold out; by default that of the data set.
        """
        if rows is None and test_fraction is None:
            return self
        make = partial(prepare, self.source, self.seed, rows, test_fraction)
        return self._divisions.get((rows, test_fraction), make)

    @cached_property
    def counts(self) -> PairCounts:
        """The training rows, prepared for counting: rules for options use their margins."""
        return PairCounts(self.train)

    @cached_property
    def places(self) -> np.ndarray:
        """Positions of the variables without a run; 0 … 10000, shape (n, 2)."""
        return common_places(self.train, self.positions, self.truth)

    @cached_property
    def tree(self) -> np.ndarray:
        """The edges of the Chow–Liu tree of the training rows, shape (k, 2)."""
        return learn(self.train, ChowLiu()).model.edges


def uploaded_table(identity: str) -> str:
    """Return the identity of an uploaded table, without the seed; empty for built-in data."""
    return identity.rpartition(":")[0] if identity.startswith(f"{UPLOAD}:") else ""


def prepare(
    data: DataSet, seed: int, rows: int | None = None, test_fraction: float | None = None
) -> Material:
    """Hold out rows chosen by `seed`, and collect the rest; see :meth:`Material.divided`.

    A share of less than a row holds out nothing.
    """
    table = data.table
    train, test = table, None
    share = data.test_fraction if test_fraction is None else test_fraction
    if round(table.n_rows * share) > 0:
        train, test = table.split(test_fraction=share, seed=seed)
    title, division = data.title, str(seed)
    if test_fraction is not None and test_fraction != data.test_fraction:
        division += f"/held out {test_fraction!r}"
    if rows is not None and rows < train.n_rows:
        title += f" · {rows:,} of {train.n_rows:,} training rows"
        division += f"/rows {rows}"
        train = train.sample(rows, seed)
    fingerprint = table.fingerprint[:FINGERPRINT_DIGITS]
    truth = data.truth
    extras = b"|".join(
        b"" if array is None else np.ascontiguousarray(array).tobytes()
        for array in (truth, data.positions)
    )
    return Material(
        identity=f"{data.key}:{fingerprint}:{hashlib.sha256(extras).hexdigest()}:{division}",
        title=title,
        description=data.description,
        train=train,
        test=test,
        truth=truth,
        positions=data.positions,
        suggested=MappingProxyType(dict(data.suggested)),
        warnings=table.warnings,
        fingerprint=fingerprint,
        source=data,
        seed=seed,
        own=SourceCache() if data.key == UPLOAD else None,
    )


class Upload(Generic[K, M]):
    """Accepted upload; calling it returns its data with some rows held out.

    Parameters
    ----------
    fingerprint : str
        Hash of the files, shortened for links.
    prepare : callable
        Return the data for what decides the held-out rows.
    most : int
        Maximum number of cached divisions of the rows.

    Attributes
    ----------
    own : SourceCache
        Cache of the prepared data: the same for the same held-out rows.
    """

    def __init__(self, fingerprint: str, prepare: Callable[[K], M], most: int = 1) -> None:
        self.fingerprint = fingerprint
        self.own = SourceCache(most)
        self._prepare = prepare

    def __call__(self, choice: K) -> M:
        """Return the data, the held-out rows decided by `choice`."""
        return self.own.get(choice, lambda: self._prepare(choice))


UploadedTable = Upload[int, Material]  # called with the seed that chooses the held-out rows
UploadedSeries = Upload[float, PreparedSeries]  # called with the share of the held-out rows


def uploaded_data(
    name: str,
    table: DiscreteTable,
    truth: np.ndarray | None,
    positions: np.ndarray | None,
    description: str = "",
) -> UploadedTable:
    """Return an uploaded table; rows are held out if there are enough."""
    data = DataSet(
        key=UPLOAD,
        title=f"{name} · {table.n_variables:,} variables, {table.n_rows:,} rows",
        table=table,
        truth=truth,
        positions=positions,
        description=description,
        suggested={"lam": suggest_lam(table)},
        test_fraction=TEST_FRACTION if table.n_rows >= LEAST_ROWS_TO_HOLD_OUT else 0.0,
    )
    return Upload(table.fingerprint[:FINGERPRINT_DIGITS], lambda seed: prepare(data, seed))


def uploaded_series(
    series: TimeSeries,
    positions: np.ndarray | None = None,
    parents: tuple[tuple[int, ...], ...] | None = None,
) -> UploadedSeries:
    """Return uploaded series.

    Parameters
    ----------
    series : TimeSeries
    positions : float array, shape (n, 2), optional
    parents : tuple of n tuples of int, optional
    """
    digest = hashlib.sha256(repr((series.names, series.values.shape, parents)).encode())
    digest.update(series.values.tobytes())
    digest.update(b"" if positions is None else positions.tobytes())
    fingerprint = digest.hexdigest()[:FINGERPRINT_DIGITS]

    def prepared(test_fraction: float) -> PreparedSeries:
        if series.n_series > MOST_SERIES:
            raise InputError(
                f"{series.title} has {series.n_series:,} series; this page shows at most "
                f"{MOST_SERIES:,}. Upload fewer, or use python -m graftviz dynamics."
            )
        title = f"{series.title} · {series.n_series:,} series, {series.n_rows:,} rows"
        more = {"parents": parents, "own": SourceCache()}
        return prepare_series(
            f"{UPLOAD}:{fingerprint}", title, series, test_fraction, positions, **more
        )

    return Upload(fingerprint, prepared, _MOST_DIVISIONS)


def default_options(
    cls: type, suggested: Mapping[str, Any], preset: str | None = None
) -> dict[str, Any]:
    """Return the default value of every option of a learner on a page.

    Parameters
    ----------
    cls : type
    suggested : mapping
        Values that suit the data, chosen with the paper's method and therefore ignored if
        another preset, or a learner without presets, is used.
    preset : str, optional
        The selected one; pages open with the paper's method, because it teaches the
        algorithm.
    """
    values = {spec.name: spec.default for spec in option_specs(cls)}
    if "preset" in values:
        values["preset"] = PAGE_PRESET
        if preset in (None, *_LIKE_THE_PAPER):
            taught = {**_PAGE_DEFAULTS, **suggested}
            values |= {name: value for name, value in taught.items() if name in values}
    return values


def automatic_values(learner: Learner, material: Material) -> dict[str, Any]:
    """Return option → value that "automatic" comes to, for the options that rules decide.

    The value of an option that was chosen is what "automatic" would come to instead.

    Raises
    ------
    InputError
        When the options do not go together.
    """
    values = learner.automatic(material.counts)
    for spec in option_specs(learner):
        if spec.optional and getattr(learner, spec.name) is not None:
            values.pop(spec.name, None)
            try:
                undecided = dataclasses.replace(learner, **{spec.name: None})
                value = undecided.automatic(material.counts).get(spec.name)
            except InputError:
                continue  # the other options require a choice
            if value is not None:
                values[spec.name] = value
    n = material.train.n_variables
    if values.get("max_edges") == 3 * n:
        values["max_edges"] = f"3n = {3 * n:,}"
    return values


ASK_SECONDS, ASK_BYTES = 20.0, 2e9  # above which a run requires confirmation
MOST_SECONDS, MOST_BYTES = 7200.0, 8e9  # above which a run is refused
_BUDGETS = (3.0, 2.0, 1.0, 0.5, 0.2, 0.05)  # edges a variable that are offered, most first


class RunCheck(NamedTuple):
    """Question or refusal before a run.

    Attributes
    ----------
    question : str
        Estimate of a run that needs confirmation; empty otherwise.
    refusal : str
        Estimate of a run beyond the limits or the available memory; empty otherwise.
    """

    question: str = ""
    refusal: str = ""


def judge(table: DiscreteTable, *learners: Learner) -> RunCheck:
    """Return whether runs of `learners` on `table` may begin, with the estimate if not.

    Raises
    ------
    InputError
        When table and learners do not go together.
    """
    estimates = [of_learner(table, learner) for learner in learners]
    seconds = sum(each.seconds for each in estimates)
    added = sum(each.bytes for each in estimates)
    peak = estimates[0].peak_bytes - estimates[0].bytes + added
    text = (
        f"Estimated for {len(estimates)} runs: {duration_text(seconds)} and {size_text(added)} of "
        "memory."
    )
    if len(estimates) == 1:
        text = estimates[0].sentence
    if seconds > MOST_SECONDS or added > MOST_BYTES:
        return RunCheck(
            refusal=f"{text} Limits: {duration_text(MOST_SECONDS)} and {size_text(MOST_BYTES)} per "
            "run. Not started."
        )
    if refusal := _no_room(text, peak):
        return RunCheck(refusal=refusal)
    beyond = []
    if seconds > ASK_SECONDS:
        beyond.append(f"{ASK_SECONDS:g} s")
    if added > ASK_BYTES:
        beyond.append(size_text(ASK_BYTES))
    if not beyond:
        return RunCheck()
    return RunCheck(question=f"{text} Limit: {' and '.join(beyond)}. Not started.")


def fewer_edges(table: DiscreteTable, learner: Learner) -> int | None:
    """Return the largest round edge budget with which a run would begin unasked; None if none."""
    now = getattr(learner, "max_edges", None)
    if not hasattr(learner, "max_edges"):
        return None
    n = table.n_variables
    for share in _BUDGETS:
        budget = max(1, min(round(share * n), n * (n - 1) // 2))
        if now is None or budget < now:
            smaller = dataclasses.replace(learner, max_edges=budget)  # type: ignore[call-arg]
            if judge(table, smaller) == RunCheck():
                return budget
    return None


def _no_room(text: str, peak_bytes: float) -> str:
    """Explain that memory is insufficient for a run; empty if it suffices."""
    free, held = free_bytes(), resident_bytes()
    if peak_bytes > held + free:
        return (
            f"{text} Only {size_text(held + free)} are available. Not started. Set an edge budget, "
            "use fewer variables, or a learner that counts only the pairs it tests, such as "
            "best-choice."
        )
    return ""
