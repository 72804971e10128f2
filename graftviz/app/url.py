"""Settings of pages as options of dataclasses, and their query parameters.

A setting that is no single option, such as the options of the chosen learner, is a :func:`part` of
the dataclass with a reader and a writer. A link contains values that differ from the defaults.
An invalid parameter costs one sentence, and its default is used.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from types import MappingProxyType
from typing import Any, NamedTuple, TypeVar

from graftviz.app.material import PAGE_DATA, UPLOAD
from graftviz.data.coding import TableOptions
from graftviz.data.sets.generated import GENERATED, Generated
from graftviz.data.sets.public import PUBLIC
from graftviz.data.sets.registry import dataset_keys, dataset_title
from graftviz.learning.registry import learner_class, learner_names
from graftviz.reports.texts import catalogue
from graftviz.utils.errors import InputError
from graftviz.utils.options import (
    OptionSpec,
    check_options,
    format_value,
    option,
    option_specs,
    parse_options,
)
from graftviz.utils.wording import quoted


class ClassData(NamedTuple):
    """Texts on a public data set whose files the user downloads.

    Attributes
    ----------
    title : str
    label : str
        Of the uploader.
    steps : sequence of str
        Where to find the files, in Markdown.
    questions : sequence of str
        Questions that the page Grow answers, in Markdown.
    """

    title: str
    label: str
    steps: Sequence[str]
    questions: Sequence[str]


# Data set → endings of the names of its files.
CLASS_DATA: Mapping[str, list[str]] = {
    "senate": ["csv", "zip"],
    "plants": ["zip", "data", "csv", "txt"],
}


def class_data(name: str) -> ClassData:
    """Return the texts on a data set for classes."""
    return ClassData(**catalogue("class_data")[name])


def is_upload(data: str) -> bool:
    """Return whether a choice of data is an upload."""
    return data == UPLOAD or data in CLASS_DATA


def import_options(data: str) -> type:
    """Return the dataclass of the import options of an upload, or of generated data."""
    if data == GENERATED:
        return Generated
    return PUBLIC[data] if data in CLASS_DATA else TableOptions


BEST = "best"
MAX_SEED = 2**32 - 1
MAX_STEP = 10**9
_MAX_TEXT = 60  # characters of a value; longer ones are refused before they are read
_MAX_LINE = 1000  # of an option that is a text
_PART = "graftviz.part"
T = TypeVar("T")
_FINGERPRINT = re.compile(r"[0-9a-f]{16,64}")
_NO_UPLOAD = "applies to uploaded data only"


class LinkPart(NamedTuple):
    """Setting of a page that is no single option.

    Attributes
    ----------
    read : callable
        ``read(link, values)`` takes it from a link; `values` holds all settings, of those that are
        declared later the defaults.
    write : callable
        Return the query parameters of a value.
    longest : mapping
        Query parameter → maximum length of its text, where that differs from the usual one.
    """

    read: Callable[[LinkReader, Mapping[str, Any]], Any]
    write: Callable[[Any], Mapping[str, str]]
    longest: Mapping[str, int]


def part(
    default: Any,
    read: Callable[[LinkReader, Mapping[str, Any]], Any],
    write: Callable[[Any], Mapping[str, str]],
    longest: Mapping[str, int] = MappingProxyType({}),
) -> Any:
    """Declare a part of the settings as a dataclass field; see :class:`LinkPart`."""
    metadata = {_PART: LinkPart(read, write, longest)}
    if isinstance(default, dict):
        return dataclasses.field(default_factory=default.copy, metadata=metadata)
    return dataclasses.field(default=default, metadata=metadata)


class LinkReader:
    """Parameters of a link, taken one by one; invalid ones become sentences.

    Parameters
    ----------
    query : mapping
        Name → text.
    longest : mapping, optional
        Name → maximum length of its text, where that differs from the usual one.

    Attributes
    ----------
    left : dict
        Parameters that have not been taken.
    complaints : list of str
    """

    def __init__(
        self, query: Mapping[str, str], longest: Mapping[str, int] = MappingProxyType({})
    ) -> None:
        self.left: dict[str, str] = {}
        self.complaints: list[str] = []
        longest = {**dict.fromkeys(_text_options(), _MAX_LINE), **longest}
        for name, text in query.items():
            if len(text) > longest.get(name, _MAX_TEXT):
                self.complaints.append(f"The value of {quoted(name)} is too long; ignored.")
            else:
                self.left[name] = text

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

    def take_changes(self, text: str, cls: type, what: str) -> dict[str, Any]:
        """Return the options of ``option=value,option=value``, in their declared order.

        Parameters
        ----------
        text : str
        cls : type
        what : str
            Sentence about an unknown option, which replaces ``{}`` in it.
        """
        specs = {spec.name: spec for spec in option_specs(cls)}
        values: dict[str, Any] = {}
        for change in filter(None, text.split(",")):
            name, _, value = (piece.strip() for piece in change.partition("="))
            if name in specs:
                self.add_option(cls, specs[name], value, values)
            else:
                self.complaints.append(what.replace("{}", quoted(name), 1))
        return {name: values[name] for name in specs if name in values}

    def add_option(self, cls: type, spec: OptionSpec, text: str, values: dict[str, Any]) -> None:
        """Add the value of one option to `values`."""
        try:
            values.update(parse_options(cls, {spec.name: text}))
        except InputError as error:
            self.complaints.append(f"{error} Using the default.")

    def ignore(self, names: Iterable[str], why: str) -> None:
        """Remove parameters that do not apply; `why` is the end of the sentence about each."""
        found = [name for name in names if self.left.pop(name, "").strip()]
        self.complaints += [f"{quoted(name)} {why}; ignored." for name in found]

    def reject_rest(self) -> tuple[str, ...]:
        """Return all sentences, with one about each parameter that was not taken."""
        unknown = [f"Unknown setting {quoted(name)}; ignored." for name in self.left]
        return (*self.complaints, *unknown)


@cache
def _text_options() -> tuple[str, ...]:
    """Return the names of all learners' options that are texts."""
    classes = map(learner_class, learner_names())
    return tuple(s.name for cls in classes for s in option_specs(cls) if s.kind == "text")


def parse_options_of(cls: type, query: Mapping[str, str]) -> tuple[dict[str, Any], tuple[str, ...]]:
    """Parse the address of a page whose settings are the options of one dataclass.

    Returns
    -------
    values : dict
        Option → value, of all options.
    complaints : tuple of str
        One sentence for each invalid part.
    """
    parts = _parts_of(cls)
    link = LinkReader(query, {k: n for each in parts.values() for k, n in each.longest.items()})
    specs = {spec.name: spec for spec in option_specs(cls)}
    values = default_values(cls)
    for name in values:
        if name in parts:
            values[name] = parts[name].read(link, values)
        elif name in link.left:
            link.add_option(cls, specs[name], link.left.pop(name), values)
    return values, link.reject_rest()


def write_options_of(cls: type, values: Mapping[str, Any]) -> dict[str, str]:
    """Return the query parameters of those `values` that differ from the defaults of `cls`."""
    parts = _parts_of(cls)
    query: dict[str, str] = {}
    for name, default in default_values(cls).items():
        value = values.get(name, default)
        if value != default:
            query.update(parts[name].write(value) if name in parts else texts({name: value}))
    return query


def default_values(cls: type) -> dict[str, Any]:
    """Return option → default value of a dataclass of options."""
    return dict(vars(cls()))


def texts(options: Mapping[str, Any]) -> dict[str, str]:
    """Return options as texts."""
    return {name: format_value(value) for name, value in options.items()}


def changes_text(options: Mapping[str, Any]) -> str:
    """Return ``option=value,option=value``; :meth:`LinkReader.take_changes` parses it."""
    return ",".join(f"{name}={text}" for name, text in texts(options).items())


def _parts_of(cls: type) -> dict[str, LinkPart]:
    fields = dataclasses.fields(cls)
    return {field.name: field.metadata[_PART] for field in fields if _PART in field.metadata}


# ------------------------------------------------------------------------ data to learn from


def seed_option(help: str) -> Any:
    """Declare the random seed of a page."""
    return option(0, help, label="Seed", minimum=0, maximum=MAX_SEED)


def step_option() -> Any:
    """Declare the step that a view shows, by default the last one."""
    help = "the step that is shown"
    return option(None, help, label="Step", minimum=0, none_means="the last step")


def data_option(first: str) -> Any:
    """Declare the data to learn from; `first` is the default."""
    keys = sorted(dataset_keys(), key=lambda key: key != first)
    others = {
        **{key: f"{class_data(key).title}…" for key in CLASS_DATA},
        GENERATED: "Generated…",
        UPLOAD: "Your own data…",
    }
    return option(
        first,
        "Data to learn from",
        label="Data",
        choices=(*keys, *others),
        titles=(*map(dataset_title, keys), *others.values()),
    )


def _read_fingerprint(link: LinkReader, values: Mapping[str, Any]) -> str:
    if not is_upload(values["data"]):
        link.ignore(["fingerprint"], _NO_UPLOAD)

    def read(text: str) -> str | None:
        return text.lower() if _FINGERPRINT.fullmatch(text.lower()) else None

    return link.take("fingerprint", "", read, "{} is not a fingerprint of data; ignored.")


def fingerprint_part() -> Any:
    """Declare the fingerprint of uploaded data, after the option "data" of a page."""
    return part("", _read_fingerprint, lambda text: {"fingerprint": text})


def _read_reading(link: LinkReader, values: Mapping[str, Any]) -> dict[str, Any]:
    if is_upload(values["data"]) or values["data"] == GENERATED:
        return link.take_options(import_options(values["data"]))
    link.ignore(default_values(TableOptions), _NO_UPLOAD)
    return {}


def reading_part() -> Any:
    """Declare the import options of uploaded data, after the option "data" of a page."""
    return part({}, _read_reading, texts)


@dataclass(frozen=True)
class DataOptions:
    """Settings that all pages have that learn from a table.

    Attributes
    ----------
    fingerprint : str
        Fingerprint of uploaded data; empty otherwise.
    reading : mapping
        Import options of the upload, or settings of generated data, that differ from the defaults.
    """

    data: str = data_option(PAGE_DATA)
    fingerprint: str = fingerprint_part()
    reading: Mapping[str, Any] = reading_part()
    seed: int = seed_option("Random seed for ties in the order of tests and for the held-out rows")

    def __post_init__(self) -> None:
        check_options(self)


@dataclass(frozen=True)
class LearnerOption:
    """Choice of a learner, for a page or for a racer."""

    learner: str = option(
        "best-choice",
        "Learner",
        label="Learner",
        choices=learner_names(),
        titles=tuple(learner_class(name).title for name in learner_names()),
    )


class LearnerChoice(NamedTuple):
    """Learner and the options chosen for it."""

    learner: str
    options: Mapping[str, Any] = MappingProxyType({})
