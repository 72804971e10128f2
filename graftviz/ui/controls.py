"""Controls made from option specs: no learner, reader or page is known here."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any, Literal

import streamlit as st

from graftviz.options import OptionSpec, format_value

Widget = Literal["toggle", "choice", "slider", "steps", "number"]
OnChange = Callable[[str, Any], None]
_SLIDER_MARKS = 20  # a linear slider has about this many positions, at round numbers
_WIDEST_INT_SLIDER = 100


def widget_for(spec: OptionSpec) -> Widget:
    """Return which kind of control suits an option.

    "steps" is a slider over the numbers 1, 2, 5, 10, 20, …; "number" a field to type into, which
    left empty means "automatic" where the option allows that.
    """
    if spec.kind == "choice":
        return "choice"
    if spec.kind == "bool":
        return "choice" if spec.optional else "toggle"
    if spec.optional:
        return "number"
    if spec.kind == "float" and spec.scale == "log":
        return "steps"
    if spec.minimum is None or spec.maximum is None:
        return "number"
    is_wide = spec.kind == "int" and spec.maximum - spec.minimum > _WIDEST_INT_SLIDER
    return "number" if is_wide else "slider"


def round_steps(spec: OptionSpec, value: float) -> list[float]:
    """Return the positions of a logarithmic slider: 1-2-5 numbers within bounds, and `value`.

    Where the option has no upper (or no positive lower) bound, three decades around its default
    are offered.
    """
    centre = float(spec.default) if spec.default else 1.0
    low = spec.minimum if spec.minimum is not None else spec.above
    bottom = low if low else centre * 1e-3
    top = spec.maximum if spec.maximum is not None else centre * 1e3
    decades = range(math.floor(math.log10(bottom)) - 1, math.ceil(math.log10(top)) + 1)
    marks = {float(f"{digit}e{power}") for power in decades for digit in (1, 2, 5)}
    kept = {mark for mark in marks if bottom <= mark <= top}
    if spec.above is not None:
        kept.discard(spec.above)
    if spec.minimum == 0:
        kept.add(0.0)
    return sorted(kept | {float(value)})


def slider_step(minimum: float, maximum: float) -> float:
    """Return a round step (1, 2 or 5 times a power of ten) that gives about twenty positions."""
    raw = (maximum - minimum) / _SLIDER_MARKS
    power = math.floor(math.log10(raw))
    digit = min((1, 2, 5, 10), key=lambda d: abs(d - raw / 10**power))
    return float(f"{digit}e{power}")


def show_options(
    specs: Iterable[OptionSpec],
    values: Mapping[str, Any],
    on_change: OnChange,
    *,
    prefix: str,
    disabled: Collection[str] = (),
    more: str = "More options",
) -> None:
    """Show one control per option: sliders, fields, switches; advanced ones folded away.

    Parameters
    ----------
    specs : iterable of OptionSpec
    values : mapping
        What each control shows; the page's own record decides, not the widgets.
    on_change : callable
        Called with name and new value before the page is drawn again.
    prefix : str
        Keeps the keys of several groups of controls apart.
    disabled : collection of str
        Names of the options that cannot be changed now.
    more : str
        Title above the advanced options.
    """

    def show(spec: OptionSpec) -> None:
        is_fixed = spec.name in disabled
        show_option(spec, values[spec.name], on_change, prefix=prefix, disabled=is_fixed)

    ordered = list(specs)
    _show_in_rows([spec for spec in ordered if not spec.advanced], show)
    advanced = [spec for spec in ordered if spec.advanced]
    if advanced:
        with st.expander(more):
            _show_in_rows(advanced, show)


def _show_in_rows(specs: list[OptionSpec], show: Callable[[OptionSpec], None]) -> None:
    small = [spec for spec in specs if _is_small(spec)]
    rest = [spec for spec in specs if spec not in small]
    for spec in sorted(rest, key=lambda spec: widget_for(spec) not in ("slider", "steps")):
        show(spec)
    for k in range(0, len(small), 2):
        columns = st.columns(2, vertical_alignment="bottom")
        for column, spec in zip(columns, small[k : k + 2], strict=False):
            with column:
                show(spec)


def _is_small(spec: OptionSpec) -> bool:
    """Whether half a row is enough; an empty field must show what "automatic" means."""
    return widget_for(spec) == "toggle" or (widget_for(spec) == "number" and not spec.optional)


def show_option(
    spec: OptionSpec, value: Any, on_change: OnChange, *, prefix: str, disabled: bool = False
) -> None:
    """Show the control of one option."""
    key = f"{prefix}.{spec.name}"
    shown = float(value) if spec.kind == "float" and value is not None else value
    # The widget follows the page's record (a link, another data set, a refused value); it is left
    # alone while they agree, so that a slider in somebody's hand does not jump.
    if key not in st.session_state or st.session_state[key] != shown:
        st.session_state[key] = shown
    common: dict[str, Any] = {
        "label": spec.label,
        "key": key,
        "help": f"{spec.help.rstrip('.')}. Left empty: {spec.none_means}."
        if spec.optional
        else spec.help,
        "disabled": disabled,
        "on_change": lambda: on_change(spec.name, st.session_state[key]),
    }
    match widget_for(spec):
        case "toggle":
            st.toggle(**common)
        case "choice":
            _show_choice(spec, common)
        case "steps":
            st.select_slider(options=round_steps(spec, shown), format_func=format_value, **common)
        case "slider":
            _show_slider(spec, common)
        case "number":
            _show_number(spec, common)


def _show_choice(spec: OptionSpec, common: dict[str, Any]) -> None:
    choices: list[Any] = [True, False] if spec.kind == "bool" else list(spec.choices)
    if spec.optional:
        choices = [None, *choices]
    words = {None: f"automatic: {spec.none_means}", True: "yes", False: "no"}
    st.selectbox(options=choices, format_func=lambda value: words.get(value, value), **common)


def _show_slider(spec: OptionSpec, common: dict[str, Any]) -> None:
    assert spec.minimum is not None
    assert spec.maximum is not None
    if spec.kind == "int":
        st.slider(min_value=int(spec.minimum), max_value=int(spec.maximum), step=1, **common)
        return
    step = slider_step(spec.minimum, spec.maximum)
    decimals = max(0, -math.floor(math.log10(step)))
    st.slider(
        min_value=float(spec.minimum),
        max_value=float(spec.maximum),
        step=step,
        format=f"%.{decimals}f",
        **common,
    )


def _show_number(spec: OptionSpec, common: dict[str, Any]) -> None:
    low = spec.minimum if spec.minimum is not None else spec.above
    # None lets the field be empty; the value itself comes from the session state.
    value: Any = None if spec.optional else "min"
    placeholder = spec.none_means or None
    if spec.kind == "int":
        st.number_input(
            value=value,
            min_value=None if low is None else int(low),
            max_value=None if spec.maximum is None else int(spec.maximum),
            step=1,
            placeholder=placeholder,
            **common,
        )
        return
    st.number_input(
        value=value,
        min_value=None if low is None else float(low),
        max_value=None if spec.maximum is None else float(spec.maximum),
        step=slider_step(0.0, 2.0 * abs(float(spec.default or 1.0))),
        format="%.6g",
        placeholder=placeholder,
        **common,
    )
