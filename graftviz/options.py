"""Options as data: one typed field drives the app's control, the URL key and the command-line flag.

A learner declares each option once, with :func:`option`. Everything that shows, parses or checks
options reads the resulting :class:`OptionSpec`; nothing else knows the bounds.
"""

from __future__ import annotations

import dataclasses
import math
import types
import typing
from collections.abc import Mapping
from typing import Any, Literal, NamedTuple

from graftviz.errors import InputError

Kind = Literal["int", "float", "bool", "choice"]
_SPEC = "graftviz.option"
_TRUE = frozenset({"true", "yes", "on", "1"})
_FALSE = frozenset({"false", "no", "off", "0"})


class OptionSpec(NamedTuple):
    """Everything there is to know about one option.

    Attributes
    ----------
    name : str
        Field name; also the URL key and the command-line key.
    kind : {"int", "float", "bool", "choice"}
    default : object
        ``None`` stands for "left to the learner"; see `none_means`.
    help : str
        One line, with the paper's symbol where there is one.
    label : str
        Short name for a control, e.g. ``"α (greed)"``.
    minimum, maximum : float or None
        Inclusive bounds, in the option's own unit.
    above : float or None
        Exclusive lower bound.
    choices : tuple of str
        For kind "choice" only.
    scale : {"linear", "log"}
        How a slider should run.
    none_means : str
        What ``None`` does; empty when ``None`` is not allowed.
    advanced : bool
        Whether a control belongs behind "more options".
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
    scale: Literal["linear", "log"] = "linear",
    none_means: str = "",
    advanced: bool = False,
) -> Any:
    """Declare one option as a dataclass field; the arguments are those of :class:`OptionSpec`."""
    facts = {
        "help": help,
        "label": label,
        "minimum": minimum,
        "maximum": maximum,
        "above": above,
        "choices": choices,
        "scale": scale,
        "none_means": none_means,
        "advanced": advanced,
    }
    return dataclasses.field(default=default, metadata={_SPEC: facts})


def option_specs(owner: Any) -> tuple[OptionSpec, ...]:
    """Return the specs of all options of a dataclass (or of an instance), in field order."""
    cls = owner if isinstance(owner, type) else type(owner)
    hints = typing.get_type_hints(cls)
    specs = []
    for field in dataclasses.fields(cls):
        facts = field.metadata.get(_SPEC)
        if facts is None:
            continue
        label = facts["label"] or field.name.replace("_", " ")
        kind = _kind_of(hints[field.name], facts["choices"])
        rest = {key: value for key, value in facts.items() if key != "label"}
        specs.append(
            OptionSpec(name=field.name, kind=kind, default=field.default, label=label, **rest)
        )
    return tuple(specs)


def check_options(instance: Any) -> None:
    """Raise :class:`InputError` for the first value of a wrong type or out of range."""
    for spec in option_specs(instance):
        _check_value(spec, getattr(instance, spec.name))


def parse_options(cls: type, texts: Mapping[str, str]) -> dict[str, Any]:
    """Turn ``{"alpha": "0.5"}`` (URL, command line) into checked, typed values.

    Raises
    ------
    InputError
        For an unknown option (the known ones are listed), text that is no such value, or a value
        out of range.
    """
    known = {spec.name: spec for spec in option_specs(cls)}
    values = {}
    for name, text in texts.items():
        if name not in known:
            raise InputError(
                f"There is no option {name!r} here; the options are {', '.join(known)}."
            )
        value = _parse_value(known[name], text)
        _check_value(known[name], value)
        values[name] = value
    return values


def format_value(value: Any) -> str:
    """Write an option's value as text that :func:`parse_options` reads back."""
    if value is None:
        return "none"
    if isinstance(value, bool):
        return "true" if value else "false"
    return f"{value:.12g}" if isinstance(value, float) else str(value)


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
    if spec.optional and plain.lower() in {"", "none", "auto"}:
        return None
    if spec.kind == "choice":
        return plain
    if spec.kind == "bool":
        if plain.lower() in _TRUE | _FALSE:
            return plain.lower() in _TRUE
        raise InputError(f"Option {spec.name} must be true or false, not {text!r}.")
    try:
        return int(plain) if spec.kind == "int" else float(plain)
    except ValueError:
        wanted = "a whole number" if spec.kind == "int" else "a number"
        raise InputError(f"Option {spec.name} must be {wanted}, not {text!r}.") from None


def _check_value(spec: OptionSpec, value: Any) -> None:
    if value is None:
        if spec.optional:
            return
        raise InputError(f"Option {spec.name} needs a value.")
    if spec.kind == "choice":
        if value not in spec.choices:
            raise InputError(
                f"Option {spec.name} must be one of {', '.join(spec.choices)}, not {value!r}."
            )
        return
    if spec.kind == "bool":
        if not isinstance(value, bool):
            raise InputError(f"Option {spec.name} must be true or false, not {value!r}.")
        return
    # bool is an int in Python; numpy integers and floats are welcome through __index__ / __float__.
    is_number = hasattr(value, "__index__" if spec.kind == "int" else "__float__")
    if isinstance(value, bool | str) or not is_number:
        wanted = "a whole number" if spec.kind == "int" else "a number"
        raise InputError(f"Option {spec.name} must be {wanted}, not {value!r}.")
    if not math.isfinite(value):
        raise InputError(f"Option {spec.name} must be finite, not {value}.")
    too_low = spec.minimum is not None and value < spec.minimum
    too_low = too_low or (spec.above is not None and value <= spec.above)
    if too_low or (spec.maximum is not None and value > spec.maximum):
        raise InputError(f"Option {spec.name} must be {_range_words(spec)}; got {value:g}.")


def _range_words(spec: OptionSpec) -> str:
    parts = []
    if spec.minimum is not None:
        parts.append(f"at least {spec.minimum:g}")
    if spec.above is not None:
        parts.append(f"greater than {spec.above:g}")
    if spec.maximum is not None:
        parts.append(f"at most {spec.maximum:g}")
    return " and ".join(parts)
