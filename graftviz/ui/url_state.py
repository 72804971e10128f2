"""The address bar and the settings of a page: one typed value, parsed and checked by us.

``?data=digits-2&learner=best-choice&alpha=0.5&seed=3&step=12&branch=7:alpha=0.2``: only what
differs from the defaults is written, and on reading, whatever cannot be used costs one clear
sentence and nothing else.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from graftviz.errors import InputError
from graftviz.options import OptionSpec, format_value, option, option_specs, parse_options
from graftviz.table.reading import BINS, MAX_STATES
from graftviz.wording import quoted

UPLOAD = "upload"
BEST = "best"
MAX_SEED = 2**32 - 1
MAX_STEP = 10**9
_MAX_TEXT = 60  # no value of ours is longer; absurd numbers are refused before they are read
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


def parse(query: Mapping[str, str | Sequence[str]], vocabulary: Vocabulary) -> Parsed:
    """Parse query parameters; invalid ones are ignored and reported as complaints."""
    complaints: list[str] = []
    left = _single_texts(query, complaints)
    data = _one_of("data", left, (*vocabulary.data, UPLOAD), vocabulary.default_data, complaints)
    learner = _one_of(
        "learner", left, tuple(vocabulary.learners), vocabulary.default_learner, complaints
    )
    cls = vocabulary.learners[learner]
    settings = Settings(
        data=data,
        learner=learner,
        seed=_whole_number("seed", left, MAX_SEED, complaints),
        step=_whole_number("step", left, MAX_STEP, complaints),
        fingerprint=_fingerprint(left, data, complaints),
        reading=_options(UploadOptions, left, complaints) if data == UPLOAD else {},
        compare=_compare(left, cls, complaints),
        branch=_branch(left, cls, complaints),
        options=_options(cls, left, complaints),
    )
    elsewhere = _option_names(vocabulary.learners.values())
    complaints += [
        f"{quoted(name)} does not apply to {learner} on {data}; ignored."
        if name in elsewhere
        else f"Unknown setting {quoted(name)}; ignored."
        for name in left
    ]
    return Parsed(settings, tuple(complaints))


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
    complaints: list[str] = []
    left = _single_texts(query, complaints)
    values = _options(cls, left, complaints)
    complaints += [f"Unknown setting {quoted(name)}; ignored." for name in left]
    return values, tuple(complaints)


def write_options_of(cls: type, values: Mapping[str, Any]) -> dict[str, str]:
    """Return the query parameters of those `values` that differ from the defaults of `cls`."""
    defaults = {spec.name: spec.default for spec in option_specs(cls)}
    return _texts({name: value for name, value in values.items() if value != defaults[name]})


def _texts(options: Mapping[str, Any]) -> dict[str, str]:
    return {name: format_value(value) for name, value in options.items()}


def _single_texts(
    query: Mapping[str, str | Sequence[str]], complaints: list[str]
) -> dict[str, str]:
    single: dict[str, str] = {}
    for name, value in query.items():
        values = [value] if isinstance(value, str) else list(value)
        if len(values) > 1:
            complaints.append(f"{quoted(name)} occurs twice in the link; using the last value.")
        if values and len(values[-1]) > (10 * _MAX_TEXT if name == "branch" else _MAX_TEXT):
            complaints.append(f"The value of {quoted(name)} is too long; ignored.")
        elif values:
            single[name] = values[-1]
    return single


def _one_of(
    name: str, left: dict[str, str], names: tuple[str, ...], default: str, complaints: list[str]
) -> str:
    text = left.pop(name, default).strip()
    if text in names:
        return text
    what = "data set" if name == "data" else name
    complaints.append(
        f"There is no {what} {quoted(text)}; there are {', '.join(names)}. Using {default}."
    )
    return default


def _whole_number(name: str, left: dict[str, str], maximum: int, complaints: list[str]) -> int:
    text = left.pop(name, "0").strip()
    if re.fullmatch(r"\d{1,10}", text, re.ASCII) and int(text) <= maximum:
        return int(text)
    complaints.append(
        f"The {name} must be a whole number from 0 to {maximum}, not {quoted(text)}; ignored."
    )
    return 0


def has_presets(cls: type) -> bool:
    """Whether a learner can be run by the preset best."""
    return any(spec.name == "preset" and BEST in spec.choices for spec in option_specs(cls))


def _compare(left: dict[str, str], cls: type, complaints: list[str]) -> bool:
    text = left.pop("compare", "").strip()
    if not text:
        return False
    if text != BEST:
        complaints.append(f"A run can be compared with {BEST}, not {quoted(text)}.")
    elif "branch" in left:
        complaints.append(f"A branch cannot be compared with {BEST}; showing the branch.")
    elif not has_presets(cls):
        complaints.append(f"This learner has no presets, so there is no {BEST} to compare with.")
    else:
        return True
    return False


def _fingerprint(left: dict[str, str], data: str, complaints: list[str]) -> str:
    text = left.pop("fingerprint", "").strip().lower()
    if not text:
        return ""
    if data != UPLOAD:
        complaints.append("A fingerprint applies to uploaded data only; ignored.")
        return ""
    if not _FINGERPRINT.fullmatch(text):
        complaints.append(f"{quoted(text)} is not a fingerprint of data; ignored.")
        return ""
    return text


def _options(cls: type, left: dict[str, str], complaints: list[str]) -> dict[str, Any]:
    """Take the options of `cls` out of `left` one by one: a bad value costs one option."""
    values: dict[str, Any] = {}
    for spec in option_specs(cls):
        if spec.name in left:
            _take_option(cls, spec, left.pop(spec.name), values, complaints)
    return values


def _take_option(
    cls: type, spec: OptionSpec, text: str, values: dict[str, Any], complaints: list[str]
) -> None:
    if (spec.name, text.strip()) in _RENAMED:
        complaints.append(_RENAMED[spec.name, text.strip()])
        return
    try:
        values.update(parse_options(cls, {spec.name: text}))
    except InputError as error:
        complaints.append(f"{error} Using the default.")


def _branch(left: dict[str, str], cls: type, complaints: list[str]) -> BranchPoint | None:
    text = left.pop("branch", "")
    if not text:
        return None
    at, _, changes = text.partition(":")
    if not re.fullmatch(r"\d{1,9}", at.strip(), re.ASCII):
        complaints.append(
            f"A branch is written as step:option=value, for example 7:alpha=0.2, "
            f"not {quoted(text)}; ignored."
        )
        return None
    specs = {spec.name: spec for spec in option_specs(cls)}
    values: dict[str, Any] = {}
    for change in filter(None, changes.split(",")):
        name, _, value = (part.strip() for part in change.partition("="))
        if name in specs:
            _take_option(cls, specs[name], value, values, complaints)
        else:
            complaints.append(f"A branch cannot change {quoted(name)}; ignored.")
    return BranchPoint(int(at), values)


def _option_names(classes: Any) -> set[str]:
    return {spec.name for cls in (*classes, UploadOptions) for spec in option_specs(cls)}
