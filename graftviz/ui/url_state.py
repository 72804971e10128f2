"""The address bar and the settings of a page: one typed value, parsed and checked by us.

``?data=digits-2&learner=best-choice&alpha=0.5&seed=3&step=12&branch=7:alpha=0.2``: only what
differs from the defaults is written, and on reading, whatever cannot be used costs one clear
sentence and nothing else.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, NamedTuple, TypeVar

from graftviz.errors import InputError
from graftviz.options import OptionSpec, format_value, option, option_specs, parse_options
from graftviz.table.reading import BINS, MAX_STATES
from graftviz.wording import quoted

UPLOAD = "upload"
BEST = "best"
MAX_SEED = 2**32 - 1
MAX_STEP = 10**9
_MAX_TEXT = 60  # characters of a value; longer ones are refused before they are read
_LONGEST = MappingProxyType({"branch": 600})
T = TypeVar("T")
# Values of old links, with the warning; the default of the page is used.
_RENAMED = {
    ("preset", "default"): "Old link: its preset default is now called paper. Unless the link sets "
    "them, n/4 tests per step and at most 3n edges are used."
}
_FINGERPRINT = re.compile(r"[0-9a-f]{16,64}")


@dataclass(frozen=True)
class UploadOptions:
    """Options for reading an uploaded file; see :func:`graftviz.table.read_table`."""

    missing: str = option(
        "reject",
        "Empty cells: raise an error, drop their rows, or treat missing as a state.",
        label="Missing values",
        choices=("reject", "drop", "state"),
        advanced=True,
    )
    continuous: str = option(
        "reject",
        "Columns with many distinct numbers: raise an error, or divide them into quantiles.",
        label="Continuous columns",
        choices=("reject", "bin"),
        advanced=True,
    )
    bins: int = option(
        BINS,
        "Number of quantiles.",
        label="Quantiles",
        minimum=2,
        maximum=256,
        advanced=True,
    )
    max_states: int = option(
        MAX_STATES,
        "A column with more distinct values counts as continuous.",
        label="Most states",
        minimum=2,
        maximum=65535,
        advanced=True,
    )
    header: str = option(
        "auto",
        "Whether the first line of a text file contains the column names.",
        label="Names in the first line",
        choices=("auto", "yes", "no"),
        advanced=True,
    )


@dataclass(frozen=True)
class BranchPoint:
    """From step `at` on the run uses `options` instead of its own."""

    at: int
    options: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Settings:
    """Everything that decides what a page shows.

    Attributes
    ----------
    data : str
        Key of a data set, or ``"upload"``.
    learner : str
    options : mapping
        Options of the learner that differ from their defaults.
    seed, step : int
    branch : BranchPoint or None
    fingerprint : str
        Of uploaded data; empty otherwise.
    reading : mapping
        How an upload is read, where that differs from the defaults of :class:`UploadOptions`.
    compare : bool
        Whether what the preset best makes of the data stands in front of the run of `options`.
    """

    data: str
    learner: str
    options: Mapping[str, Any] = field(default_factory=dict)
    seed: int = 0
    step: int = 0
    branch: BranchPoint | None = None
    fingerprint: str = ""
    reading: Mapping[str, Any] = field(default_factory=dict)
    compare: bool = False


@dataclass(frozen=True)
class Vocabulary:
    """Data sets and learners that a link may name, with their defaults.

    Attributes
    ----------
    data : tuple of str
        Keys of the built-in data sets.
    learners : mapping
        Name → dataclass of options.
    default_data, default_learner : str
    """

    data: tuple[str, ...]
    learners: Mapping[str, type]
    default_data: str
    default_learner: str


class Parsed(NamedTuple):
    """Settings of a link, with one sentence per part that could not be used."""

    settings: Settings
    complaints: tuple[str, ...]


def write(settings: Settings, vocabulary: Vocabulary) -> dict[str, str]:
    """Return the query parameters of `settings`; :func:`parse` reads them back."""
    query: dict[str, str] = {}
    if settings.data != vocabulary.default_data:
        query["data"] = settings.data
    if settings.data == UPLOAD:
        if settings.fingerprint:
            query["fingerprint"] = settings.fingerprint
        query.update(_texts(settings.reading))
    if settings.learner != vocabulary.default_learner:
        query["learner"] = settings.learner
    query.update(_texts(settings.options))
    if settings.compare:
        query["compare"] = BEST
    if settings.seed:
        query["seed"] = str(settings.seed)
    if settings.branch is not None:
        changes = ",".join(f"{k}={v}" for k, v in _texts(settings.branch.options).items())
        query["branch"] = f"{settings.branch.at}:{changes}"
    if settings.step:
        query["step"] = str(settings.step)
    return query


class LinkReader:
    """Parameters of a link, taken one by one; invalid ones become sentences.

    Parameters
    ----------
    query : mapping
        Name → text, or texts of a parameter that occurs several times.
    longest : mapping, optional
        Name → maximum length of its text, where that differs from the usual one.

    Attributes
    ----------
    left : dict
        Parameters that have not been taken.
    complaints : list of str
    """

    def __init__(
        self, query: Mapping[str, str | Sequence[str]], longest: Mapping[str, int] = _LONGEST
    ) -> None:
        self.left: dict[str, str] = {}
        self.complaints: list[str] = []
        for name, value in query.items():
            values = [value] if isinstance(value, str) else list(value)
            if len(values) > 1:
                self.complaints.append(
                    f"{quoted(name)} occurs twice in the link; using the last value."
                )
            if values and len(values[-1]) > longest.get(name, _MAX_TEXT):
                self.complaints.append(f"The value of {quoted(name)} is too long; ignored.")
            elif values:
                self.left[name] = values[-1]

    def take(self, name: str, default: T, read: Callable[[str], T | None], rule: str) -> T:
        """Return a parameter.

        Parameters
        ----------
        name : str
        default : object
            Returned for a missing or invalid parameter.
        read : callable
            Returns the value of a text; None if it is invalid.
        rule : str
            Sentence about an invalid text, which replaces ``{}`` in it.
        """
        text = self.left.pop(name, "").strip()
        value = read(text) if text else default
        if value is None and text:
            self.complaints.append(rule.replace("{}", quoted(text), 1))
        return default if value is None else value

    def take_options(self, cls: type) -> dict[str, Any]:
        """Return the options of a dataclass; an invalid value concerns its option only."""
        values: dict[str, Any] = {}
        for spec in option_specs(cls):
            if spec.name in self.left:
                self.add_option(cls, spec, self.left.pop(spec.name), values)
        return values

    def add_option(self, cls: type, spec: OptionSpec, text: str, values: dict[str, Any]) -> None:
        """Add the value of one option to `values`."""
        if (spec.name, text.strip()) in _RENAMED:
            self.complaints.append(_RENAMED[spec.name, text.strip()])
            return
        try:
            values.update(parse_options(cls, {spec.name: text}))
        except InputError as error:
            self.complaints.append(f"{error} Using the default.")

    def reject_rest(self) -> tuple[str, ...]:
        """Return all sentences, with one about each parameter that was not taken."""
        unknown = [f"Unknown setting {quoted(name)}; ignored." for name in self.left]
        return (*self.complaints, *unknown)


def one_of(names: Collection[str]) -> Callable[[str], str | None]:
    """Return a reader of one of these names."""
    return lambda text: text if text in names else None


def whole_number(minimum: int, maximum: int) -> Callable[[str], int | None]:
    """Return a reader of a whole number of at most ten digits."""

    def read(text: str) -> int | None:
        is_number = re.fullmatch(r"\d{1,10}", text, re.ASCII)
        return int(text) if is_number and minimum <= int(text) <= maximum else None

    return read


def parse(query: Mapping[str, str | Sequence[str]], vocabulary: Vocabulary) -> Parsed:
    """Parse query parameters; invalid ones are ignored and reported as complaints."""
    link = LinkReader(query)
    data = _name_of("data set", "data", link, (*vocabulary.data, UPLOAD), vocabulary.default_data)
    learner = _name_of(
        "learner", "learner", link, tuple(vocabulary.learners), vocabulary.default_learner
    )
    cls = vocabulary.learners[learner]
    settings = Settings(
        data=data,
        learner=learner,
        seed=_number_from_zero("seed", link, MAX_SEED),
        step=_number_from_zero("step", link, MAX_STEP),
        fingerprint=_fingerprint(link, data),
        reading=link.take_options(UploadOptions) if data == UPLOAD else {},
        compare=_compare(link, cls),
        branch=_branch(link, cls),
        options=link.take_options(cls),
    )
    elsewhere = _option_names(vocabulary.learners.values())
    for name in [name for name in link.left if name in elsewhere]:
        del link.left[name]
        link.complaints.append(f"{quoted(name)} does not apply to {learner} on {data}; ignored.")
    return Parsed(settings, link.reject_rest())


def parse_options_of(
    cls: type, query: Mapping[str, str | Sequence[str]]
) -> tuple[dict[str, Any], tuple[str, ...]]:
    """Read the address of a page whose settings are the options of one dataclass.

    Returns
    -------
    values : dict
        Option → value, for those that the address gives.
    complaints : tuple of str
        One sentence for each thing that cannot be used.
    """
    link = LinkReader(query)
    return link.take_options(cls), link.reject_rest()


def write_options_of(cls: type, values: Mapping[str, Any]) -> dict[str, str]:
    """Return the query parameters of those `values` that differ from the defaults of `cls`."""
    defaults = {spec.name: spec.default for spec in option_specs(cls)}
    return _texts({name: value for name, value in values.items() if value != defaults[name]})


def _texts(options: Mapping[str, Any]) -> dict[str, str]:
    return {name: format_value(value) for name, value in options.items()}


def _name_of(what: str, key: str, link: LinkReader, names: tuple[str, ...], default: str) -> str:
    rule = f"There is no {what} {{}}; there are {', '.join(names)}. Using {default}."
    return link.take(key, default, one_of(names), rule)


def _number_from_zero(name: str, link: LinkReader, maximum: int) -> int:
    rule = f"The {name} must be a whole number from 0 to {maximum}, not {{}}; ignored."
    return link.take(name, 0, whole_number(0, maximum), rule)


def has_presets(cls: type) -> bool:
    """Whether a learner can be run by the preset best."""
    return any(spec.name == "preset" and BEST in spec.choices for spec in option_specs(cls))


def _compare(link: LinkReader, cls: type) -> bool:
    rule = f"A run can be compared with {BEST}, not {{}}."
    if not link.take("compare", "", one_of((BEST,)), rule):
        return False
    if "branch" in link.left:
        link.complaints.append(f"A branch cannot be compared with {BEST}; showing the branch.")
        return False
    if not has_presets(cls):
        link.complaints.append(
            f"This learner has no presets, so there is no {BEST} to compare with."
        )
        return False
    return True


def _fingerprint(link: LinkReader, data: str) -> str:
    if data != UPLOAD and link.left.pop("fingerprint", "").strip():
        link.complaints.append("A fingerprint applies to uploaded data only; ignored.")

    def read(text: str) -> str | None:
        return text.lower() if _FINGERPRINT.fullmatch(text.lower()) else None

    return link.take("fingerprint", "", read, "{} is not a fingerprint of data; ignored.")


def _branch(link: LinkReader, cls: type) -> BranchPoint | None:
    specs = {spec.name: spec for spec in option_specs(cls)}

    def read(text: str) -> BranchPoint | None:
        at, _, changes = text.partition(":")
        if not re.fullmatch(r"\d{1,9}", at.strip(), re.ASCII):
            return None
        values: dict[str, Any] = {}
        for change in filter(None, changes.split(",")):
            name, _, value = (part.strip() for part in change.partition("="))
            if name in specs:
                link.add_option(cls, specs[name], value, values)
            else:
                link.complaints.append(f"A branch cannot change {quoted(name)}; ignored.")
        return BranchPoint(int(at), values)

    rule = "A branch is written as step:option=value, for example 7:alpha=0.2, not {}; ignored."
    return link.take("branch", None, read, rule)


def _option_names(classes: Any) -> set[str]:
    return {spec.name for cls in (*classes, UploadOptions) for spec in option_specs(cls)}
