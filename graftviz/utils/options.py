"""Options as data: one typed field defines control, URL key and command-line flag.

A learner declares each option once, with :func:`option`. All code that shows, parses or checks
options uses the resulting :class:`OptionSpec`.
"""

from __future__ import annotations

import dataclasses
import math
import numbers
import operator
import types
import typing
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any, Literal, NamedTuple

import numpy as np

from graftviz.utils.errors import InputError
from graftviz.utils.wording import quoted

Kind = Literal["int", "float", "bool", "choice", "text"]
_SPEC = "graftviz.option"
_TRUE = frozenset({"true", "yes", "on", "1"})
_FALSE = frozenset({"false", "no", "off", "0"})


class OptionSpec(NamedTuple):
    """Specification of one option.

    Attributes
    ----------
    name : str
        Field name; also the URL key and the command-line key.
    kind : {"int", "float", "bool", "choice", "text"}
    default : object
        ``None`` means automatic; see `none_means`.
    help : str
        One line, with the paper's symbol if there is one.
    label : str
        Short name for a control, e.g. ``"λ₂"``.
    minimum, maximum : float or None
        Inclusive bounds, in the option's own unit.
    above : float or None
        Exclusive lower bound.
    choices : tuple of str
        For kind "choice" only.
    titles : tuple of str
        Names of the choices on the screen; empty if they are the choices themselves.
    scale : {"linear", "log"}
        Scale of a slider.
    none_means : str
        Meaning of ``None``; empty if ``None`` is not allowed.
    advanced : bool
        Whether the control is shown under "Advanced".
    text : callable or None
        For kind "text" only: return a value as text; raise :class:`InputError` for others.
    takes_function : bool
        Whether a function is a value too (from Python only), as the type of the field says.
    """

    name: str
    kind: Kind
    default: Any
    help: str
    label: str
    minimum: float | None = None
    maximum: float | None = None
    above: float | None = None
    choices: tuple[str, ...] = ()
    scale: Literal["linear", "log"] = "linear"
    none_means: str = ""
    advanced: bool = False
    titles: tuple[str, ...] = ()
    text: Callable[[Any], str] | None = None
    takes_function: bool = False

    def title_of(self, choice: Any) -> Any:
        """Return the name of a choice on the screen."""
        names = dict(zip(self.choices, self.titles, strict=False))
        return names.get(choice, plain_name(choice))

    @property
    def optional(self) -> bool:
        """Whether ``None`` is a legal value."""
        return bool(self.none_means)


def option(
    default: Any,
    help: str,
    *,
    label: str = "",
    minimum: float | None = None,
    maximum: float | None = None,
    above: float | None = None,
    choices: tuple[str, ...] = (),
    titles: tuple[str, ...] = (),
    scale: Literal["linear", "log"] = "linear",
    none_means: str = "",
    advanced: bool = False,
    text: Callable[[Any], str] | None = None,
) -> Any:
    """Declare one option as a dataclass field; the arguments are those of :class:`OptionSpec`."""
    spec = OptionSpec(
        name="",
        kind="choice",
        default=default,
        help=help,
        label=label,
        minimum=minimum,
        maximum=maximum,
        above=above,
        choices=choices,
        scale=scale,
        none_means=none_means,
        advanced=advanced,
        titles=titles,
        text=text,
    )
    return dataclasses.field(default=default, metadata={_SPEC: spec})


def option_of(cls: type, name: str) -> Any:
    """Declare a field with the default and the bounds of an option of another dataclass."""
    spec = next(spec for spec in option_specs(cls) if spec.name == name)
    return dataclasses.field(default=spec.default, metadata={_SPEC: spec})


def option_specs(owner: Any) -> tuple[OptionSpec, ...]:
    """Return the specs of all options of a dataclass (or of an instance), in field order."""
    return _specs_of(owner if isinstance(owner, type) else type(owner))


@lru_cache(maxsize=256)
def _specs_of(cls: Any) -> tuple[OptionSpec, ...]:
    """Return the specs of a class; cached, as pages use them dozens of times per run."""
    hints = typing.get_type_hints(cls)
    specs = []
    for field in dataclasses.fields(cls):
        spec = field.metadata.get(_SPEC)
        if spec is not None:
            choices = spec.choices or _choices_of(hints[field.name])
            kind = "text" if spec.text else _kind_of(hints[field.name], choices)
            label = spec.label or field.name.replace("_", " ")
            members = _members_of(hints[field.name])
            functions = any(typing.get_origin(member) is Callable for member in members)
            specs.append(
                spec._replace(
                    name=field.name,
                    kind=kind,
                    label=label,
                    choices=choices,
                    takes_function=functions,
                )
            )
    return tuple(specs)


def option_values(instance: Any) -> dict[str, Any]:
    """Return the values of all options of an instance, by name; functions as their names."""
    return {s.name: plain_name(getattr(instance, s.name)) for s in option_specs(instance)}


def attributes(owner: Any, *names: str) -> dict[str, Any]:
    """Return attributes of an object by their names."""
    return {name: getattr(owner, name) for name in names}


def normalise_options(instance: Any) -> None:
    """Check all options of a frozen instance; replace numpy scalars, and write texts uniformly.

    Raises
    ------
    InputError
        For the first invalid value.
    """
    check_options(instance)
    for spec in option_specs(instance):
        value = plain_value(getattr(instance, spec.name))
        if spec.text is not None and value is not None:
            value = spec.text(value) or None
        object.__setattr__(instance, spec.name, value)


def check_options(instance: Any) -> None:
    """Raise :class:`InputError` for the first value of a wrong type or out of range."""
    for spec in option_specs(instance):
        _check_value(spec, getattr(instance, spec.name))


def plain_value(value: Any) -> Any:
    """Return an option's value, converted from a NumPy scalar to bool, int or float."""
    return value.item() if isinstance(value, np.generic) else value


def plain_name(value: Any) -> Any:
    """Return an option's value, a function as its name."""
    return getattr(value, "__name__", type(value).__name__) if callable(value) else value


def parse_options(cls: type, texts: Mapping[str, str]) -> dict[str, Any]:
    """Return checked, typed values of texts such as ``{"alpha": "0.5"}`` (URL, command line).

    Raises
    ------
    InputError
        If an option is unknown (the message lists the options), a text is no valid value, or a
        value is out of range.
    """
    specs = {spec.name: spec for spec in option_specs(cls)}
    values = {}
    for name, text in texts.items():
        if name not in specs:
            raise InputError(
                f"There is no option {quoted(name)} here; the options are {', '.join(specs)}."
            )
        value = _parse_value(specs[name], text)
        _check_value(specs[name], value)
        values[name] = value
    return values


def format_value(value: Any) -> str:
    """Return an option's value as text that :func:`parse_options` converts back exactly."""
    value = plain_name(plain_value(value))
    if value is None:
        return "auto"
    if isinstance(value, bool):
        return "true" if value else "false"
    if not isinstance(value, float):
        return str(value)
    short = f"{value:.12g}"
    return short if float(short) == value else repr(value)


def option_words(owner: Any, values: Mapping[str, Any]) -> list[str]:
    """Return label and value of the options in `values`, such as ``"α 0.5"``; choices by name."""
    return [
        f"{spec.label} {spec.title_of(format_value(values[spec.name]))}"
        for spec in option_specs(owner)
        if spec.name in values
    ]


def _choices_of(annotation: Any) -> tuple[str, ...]:
    """Return the values of a Literal, which may be optional; none for other types."""
    for member in _members_of(annotation):
        if typing.get_origin(member) is Literal:
            return typing.get_args(member)
    return ()


def _members_of(annotation: Any) -> tuple[Any, ...]:
    """Return a type, followed by the members of a union."""
    return annotation, *typing.get_args(annotation)


def _kind_of(annotation: Any, choices: tuple[str, ...]) -> Kind:
    if choices:
        return "choice"
    union = typing.get_origin(annotation) in (typing.Union, types.UnionType)
    members = set(typing.get_args(annotation)) - {type(None)} if union else {annotation}
    for python_type, kind in ((bool, "bool"), (float, "float"), (int, "int")):
        if python_type in members:
            return typing.cast(Kind, kind)
    raise TypeError(f"an option cannot be of type {annotation!r}")


def _parse_value(spec: OptionSpec, text: str) -> Any:
    plain = text.strip()
    if spec.optional and plain.lower() in {"", "none", "auto"} - set(spec.choices):
        return None
    if spec.kind in ("choice", "text"):
        return plain
    if spec.kind == "bool":
        if plain.lower() in _TRUE | _FALSE:
            return plain.lower() in _TRUE
        raise InputError(f"Option {spec.name} must be true or false, not {quoted(text)}.")
    try:
        return int(plain) if spec.kind == "int" else float(plain)
    except ValueError:
        expected = "a whole number" if spec.kind == "int" else "a number"
        raise InputError(f"Option {spec.name} must be {expected}, not {quoted(text)}.") from None


def _check_value(spec: OptionSpec, value: Any) -> None:
    if value is None:
        if spec.optional:
            return
        raise InputError(f"Option {spec.name} needs a value.")
    if spec.text is not None:
        try:
            spec.text(value)
        except InputError as error:
            raise InputError(f"Option {spec.name} cannot be read. {error}") from error
        return
    if spec.takes_function and callable(value):
        return
    if spec.kind == "choice":
        if not isinstance(value, str) or value not in spec.choices:
            choices = ", ".join(spec.choices)
            raise InputError(f"Option {spec.name} must be one of {choices}, not {quoted(value)}.")
        return
    if spec.kind == "bool":
        if not isinstance(value, bool | np.bool_):
            raise InputError(f"Option {spec.name} must be true or false, not {quoted(value)}.")
        return
    # bool is an int in Python; numpy's integers and floats belong to these classes too.
    is_number = isinstance(value, numbers.Integral if spec.kind == "int" else numbers.Real)
    if isinstance(value, bool) or not is_number:
        expected = "a whole number" if spec.kind == "int" else "a number"
        raise InputError(f"Option {spec.name} must be {expected}, not {quoted(value)}.")
    if isinstance(value, float | np.floating) and not math.isfinite(value):
        raise InputError(f"Option {spec.name} must be finite, not {value}.")
    too_low = spec.minimum is not None and value < spec.minimum
    too_low = too_low or (spec.above is not None and value <= spec.above)
    if too_low or (spec.maximum is not None and value > spec.maximum):
        raise InputError(f"Option {spec.name} must be {_range_words(spec)}; got {_digits(value)}.")


def _range_words(spec: OptionSpec) -> str:
    parts = []
    if spec.minimum is not None:
        parts.append(f"at least {_digits(spec.minimum)}")
    if spec.above is not None:
        parts.append(f"greater than {_digits(spec.above)}")
    if spec.maximum is not None:
        parts.append(f"at most {_digits(spec.maximum)}")
    return " and ".join(parts)


def _digits(value: Any) -> str:
    """Return a number as text with enough digits to distinguish it from a bound."""
    if isinstance(value, int) and abs(value) >= 10**15:
        return f"a number of about {value.bit_length() * math.log10(2):.0f} digits"
    return f"{value:,}" if isinstance(value, int) else format_value(value)


class CodeLine(NamedTuple):
    """One line of a learner's pseudo-code; a Step names the lines it ran by their keys."""

    key: str
    indent: int
    text: str


def checked_seed(seed: int) -> int:
    """Return the seed as an int; raise :class:`InputError` if it is no integer or negative."""
    try:
        number = operator.index(seed)
    except TypeError:
        raise InputError(f"The seed must be a whole number, not {seed!r}.") from None
    if number < 0:
        raise InputError(f"The seed must be at least 0; got {number}.")
    return number
