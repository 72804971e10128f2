"""Controls generated from option specs, and panels that pages share."""

from __future__ import annotations

import inspect
import math
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import partial
from types import MappingProxyType
from typing import Any, Literal

import streamlit as st

from graftviz.app.boundary import bounded, guarded
from graftviz.app.state import LearningPage, PageState
from graftviz.app.url import LearnerOption, default_values
from graftviz.app.view import MountedView
from graftviz.data.sets.generated import GENERATED, Generated
from graftviz.learning.registry import learner_class
from graftviz.reports.texts import catalogue
from graftviz.reports.words.outcomes import WHEN_TO_USE
from graftviz.utils.options import OptionSpec, format_value, option_specs
from graftviz.utils.wording import plain

Widget = Literal["toggle", "choice", "radio", "slider", "steps", "number", "text"]
OnChange = Callable[[str, Any], None]
AUTO = "auto"  # the position that leaves an option to its learner
_SLIDER_MARKS = 20  # a linear slider has about this many positions, at round numbers
_WIDEST_INT_SLIDER = 100
_NUMBERS = "controls.numbers"
_CENTRE = 1e-2  # of a logarithmic slider without a default or an automatic value
PRESET = "preset"
_MORE = "Advanced"  # key of the advanced options


def widget_for(spec: OptionSpec) -> Widget:
    """Return which kind of control suits an option.

    "text" is a line of text; "steps" is a slider over the numbers 1, 2, 5, 10, 20, …, whose first
    position is "auto" where the option allows that; "number" a field, empty for "automatic";
    "radio" are buttons, each with a caption on when to use it; if the option is never automatic,
    the caption is shown below a list.
    """
    if spec.kind == "choice":
        return "radio" if spec.optional and spec.name in WHEN_TO_USE else "choice"
    if spec.kind == "bool":
        return "choice" if spec.optional else "toggle"
    if spec.kind == "text":
        return "text"
    if spec.kind == "float" and spec.scale == "log":
        return "steps"
    if spec.optional or spec.minimum is None or spec.maximum is None:
        return "number"
    is_wide = spec.kind == "int" and spec.maximum - spec.minimum > _WIDEST_INT_SLIDER
    return "number" if is_wide else "slider"


def round_steps(
    spec: OptionSpec, value: float | None, automatic: float | None = None
) -> list[float]:
    """Return the positions of a logarithmic slider: 1-2-5 numbers within bounds, and `value`.

    Where the option has no upper (or no positive lower) bound, three decades around its default
    (or what "automatic" comes to) are offered.
    """
    centre = float(spec.default or automatic or _CENTRE)
    bottom = spec.minimum or spec.above or centre * 1e-3
    top = spec.maximum if spec.maximum is not None else centre * 1e3
    decades = range(math.floor(math.log10(bottom)) - 1, math.ceil(math.log10(top)) + 1)
    marks = {float(f"{digit}e{power}") for power in decades for digit in (1, 2, 5)}
    inner = {mark for mark in marks if bottom <= mark <= top and mark != spec.above}
    if spec.minimum == 0:
        inner.add(0.0)
    return sorted(inner if value is None else inner | {float(value)})


def own_options_first(cls: type) -> list[OptionSpec]:
    """Return a learner's option specs, those it does not share with others before those it does."""
    own = inspect.get_annotations(cls)
    return sorted(option_specs(cls), key=lambda spec: spec.name not in own)


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
    automatic: Mapping[str, Any] = MappingProxyType({}),
    disabled: Collection[str] = (),
    more: str = "",
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
    automatic : mapping
        Values of automatic options, as far as they have been computed. A text, such as "3n = 180",
        replaces the general rule in the help.
    disabled : collection of str
        Names of the options that cannot be changed now.
    more : str
        Title above the advanced options instead of "Advanced".
    """

    def show(spec: OptionSpec) -> None:
        show_option(
            spec,
            values[spec.name],
            on_change,
            prefix=prefix,
            automatic=automatic.get(spec.name),
            disabled=spec.name in disabled,
        )

    ordered = list(specs)
    _show_in_rows([spec for spec in ordered if not spec.advanced], show)
    if advanced := [spec for spec in ordered if spec.advanced]:
        # Built only if it is open: with many clients, controls take much of the processor time.
        title = more or control_words()["advanced"]
        folded = st.expander(title, key=f"{prefix}.{more or _MORE}", on_change="rerun")
        if folded.open:
            with folded:
                _show_in_rows(advanced, show)


def _show_in_rows(specs: list[OptionSpec], show: Callable[[OptionSpec], None]) -> None:
    """Show sliders, other controls, and number fields, two in a row unless they may be empty."""
    small = [spec for spec in specs if widget_for(spec) == "number" and not spec.optional]
    rest = [spec for spec in specs if spec not in small]
    for spec in sorted(rest, key=lambda spec: widget_for(spec) not in ("slider", "steps")):
        show(spec)
    for k in range(0, len(small), 2):
        row = small[k : k + 2]
        columns = st.columns(len(row), vertical_alignment="bottom")
        for column, spec in zip(columns, row, strict=True):
            with column:
                show(spec)


def show_option(
    spec: OptionSpec,
    value: Any,
    on_change: OnChange,
    *,
    prefix: str,
    automatic: Any = None,
    disabled: bool = False,
    title: Callable[[Any], str] | None = None,
    as_buttons: bool = False,
    drag: bool = False,
) -> None:
    """Show the control of one option.

    Parameters
    ----------
    spec : OptionSpec
    value : object
    on_change : callable
    prefix : str
    automatic : object
    disabled : bool
        As those of :func:`show_options`.
    title : callable, optional
        Return the text of a choice. Default: that of the option.
    as_buttons : bool
        Whether choices are a row of buttons instead of a list.
    drag : bool
        Whether a number is a slider with small steps.
    """
    words, lines = control_words(), WHEN_TO_USE.get(spec.name, {})
    key = f"{prefix}.{spec.name}"
    kind = "slider" if drag else widget_for(spec)
    shown = float(value) if spec.kind == "float" and value is not None else value
    if kind == "text":
        shown = value or ""
    elif shown is None and kind != "number":  # to these None would be nothing chosen
        shown = AUTO
    follow_value(key, shown)

    def change() -> None:
        chosen = st.session_state[key]
        # A slider that was replaced by one of another range may still report its last value.
        if not (drag and chosen == value):
            on_change(spec.name, None if chosen in (AUTO, "") else chosen)

    common: dict[str, Any] = {
        "label": spec.label,
        "key": key,
        "help": help_text(spec, automatic),
        "disabled": disabled,
        "on_change": guarded(change),
    }
    title = title or spec.title_of
    named = {AUTO: words["automatic"], True: words["yes"], False: words["no"]}
    first = [AUTO] if spec.optional else []
    if kind in ("choice", "radio"):
        common["options"] = [*first, *(spec.choices or (True, False))]
        common["format_func"] = lambda choice: named.get(choice) or title(choice)
    match kind:
        case "toggle":
            st.toggle(**common)
        case "choice":
            show = partial(st.segmented_control, required=True) if as_buttons else st.selectbox
            show(**common)
            if line := lines.get(st.session_state[key]):
                st.caption(line)
            if st.session_state[key] == AUTO and automatic is not None:
                st.caption(_automatic_text(spec, automatic))
        case "radio":
            # The browser identifies a choice by its text, so the automatic value is in the caption.
            name = "" if automatic is None else f": {spec.title_of(automatic)}"
            captions = [words["by_preset"].format(name=name)]
            captions += [lines.get(choice, "") for choice in spec.choices]
            st.radio(captions=captions, **common)
        case "steps":
            auto = words["auto"] + ("" if automatic is None else f" {automatic:.3g}")
            marks = round_steps(spec, None if shown == AUTO else shown, automatic)
            st.select_slider(
                options=[*first, *marks],
                format_func=lambda mark: auto if mark == AUTO else format_value(mark),
                **common,
            )
        case "slider":
            small = 0.01 if drag else slider_step(spec.minimum or 0.0, spec.maximum or 0.0)
            step = 1.0 if spec.kind == "int" else small
            decimals = max(0, -math.floor(math.log10(step)))
            st.slider(**_range(spec, step, f"%.{decimals}f"), **common)
        case "text":
            st.text_input(placeholder=spec.none_means or None, **common)
        case "number":
            rule = spec.none_means if automatic is None else _automatic_text(spec, automatic)
            st.number_input(
                # None lets the field be empty; the value itself comes from the session state.
                value=None if spec.optional else "min",
                placeholder=rule or None,
                **_range(spec, slider_step(0.0, 2.0 * abs(float(spec.default or 1.0))), "%.6g"),
                **common,
            )


def _range(spec: OptionSpec, step: float, form: str) -> dict[str, Any]:
    """Return bounds, step and format of a control for numbers."""
    number = int if spec.kind == "int" else float
    low = spec.minimum if spec.minimum is not None else spec.above
    low, high = (None if bound is None else number(bound) for bound in (low, spec.maximum))
    steps = {"step": 1} if spec.kind == "int" else {"step": step, "format": form}
    return {"min_value": low, "max_value": high, **steps}


def show_button(label: str, key: str, act: Callable[..., object], *args: Any, **look: Any) -> None:
    """Show a button that calls a function with arguments before the page is drawn again."""
    st.button(label, key=key, on_click=guarded(act), args=args, **look)


def follow_value(key: str, value: Any) -> str:
    """Set a control to a value of the page, such as that of a link; return its key.

    A control that has the value is not touched, so that a slider does not jump while it is dragged.
    """
    if key not in st.session_state or st.session_state[key] != value:
        st.session_state[key] = value
    return key


def control_words() -> Mapping[str, str]:
    """Return the words of controls."""
    return catalogue("labels")["controls"]


def help_text(spec: OptionSpec, automatic: Any = None) -> str:
    """Return an option's help as sentences, the meaning of "automatic" last."""
    text = spec.help.rstrip(".")
    # A symbol keeps its case: a capital α would read as an A.
    first = text[:1].upper() if text[:1].isascii() else text[:1]
    sentence = f"{first}{text[1:]}."
    if not spec.optional:
        return sentence
    is_derived = isinstance(automatic, str) and spec.kind in ("int", "float")
    rule, words = automatic if is_derived else spec.none_means, control_words()
    first = words["first_position"] if widget_for(spec) == "steps" else words["automatic"]
    return f"{sentence}\n\n{first[:1].upper()}{first[1:]}: {rule}."


def _automatic_text(spec: OptionSpec, automatic: Any) -> str:
    """Return the value of an automatic option as text."""
    words = control_words()
    value = words["yes" if automatic else "no"] if spec.kind == "bool" else automatic
    text = spec.title_of(value) if isinstance(value, str) else format_value(value)
    return f"{words['automatic']}: {text}"


def replaceable(name: str, value: Any, choose: Callable[[Any], object]) -> dict[str, Any]:
    """Return key and callback of a control in a popover that shows a value of the page.

    A control in a closed popover is not in the browser's page. It misses a value that the server
    sets and sends its previous one with the next message, as if it had been chosen again. So such a
    control is replaced by a new one under another key.
    """
    numbers: Counter[str] = st.session_state.setdefault(_NUMBERS, Counter())

    def current_key() -> str:
        return f"{name}.r{numbers[name]}" if numbers[name] else name

    if st.session_state.get(current_key(), value) != value:
        numbers[name] += 1
    key = current_key()

    def change() -> None:
        if key == current_key():
            choose(st.session_state[key])

    return {"key": key, "on_change": guarded(change)}


# -------------------------------------------------------------------------- panels that pages share


_POLL = 0.6  # seconds between two updates of what grows


def show_notices(state: PageState, view: MountedView, what: str) -> None:
    """Show ignored parts of the link, and why the view does not follow the settings.

    Parameters
    ----------
    state : PageState
    view : MountedView
    what : str
        The content of the view, such as "run".
    """
    is_shown = state.shown is not None
    suffix = f" Still showing the previous {what}." if is_shown else ""
    show_warnings(state.complaints)
    if is_shown and state.awaits_file:
        show_awaiting_file(what, place=view.key)
    show_problem(state.problem, suffix)
    show_question(state.question, suffix, state.agree, f"{view.name}.")


def show_warnings(sentences: Sequence[str]) -> None:
    """Show warnings, one paragraph per sentence."""
    if sentences:
        st.warning("\n\n".join(plain(sentence) for sentence in sentences))


def show_problem(problem: str, suffix: str = "") -> None:
    """Show why the view does not follow the settings, and what it shows instead."""
    if problem:
        st.error(plain(problem + suffix))


def show_awaiting_file(what: str, *, place: str) -> None:
    """State that no file has been uploaded yet, and fade the previous results.

    Parameters
    ----------
    what : str
        The previous results, such as "run".
    place : str
        Key of the element that shows them.
    """
    st.info(f"No file has been uploaded yet. Still showing the previous {what}, faded.")
    st.html(f"<style>.st-key-{place} {{ opacity: 0.35; }}</style>")


def show_question(question: str, suffix: str, agree: Callable[[], None], place: str = "") -> None:
    """Show the confirmation of a long computation, with a button.

    Parameters
    ----------
    question : str
        Empty: no question is shown.
    suffix : str
        Sentence about the view shown until then.
    agree : callable
    place : str
        Prefix of the keys of box and button.
    """
    if question:
        with st.container(border=True, key=f"{place}question"):
            st.warning(plain(question + suffix))
            show_button("Run anyway", f"{place}run_anyway", agree, type="primary")


def show_settings(state: PageState, prefix: str, *names: str, **how: Any) -> None:
    """Show the controls of some options of a page.

    Parameters
    ----------
    state : PageState
    prefix : str
        Of the keys of the controls.
    *names : str
        Options, in the order of the controls.
    **how
        Further arguments of :func:`graftviz.app.controls.show_option`.
    """
    for name in names:
        spec, value = state.specs[name], state.values[name]
        show_option(spec, value, state.choose, prefix=prefix, **how)


def show_until(has_ended: Callable[[], bool], show: Callable[[], object]) -> None:
    """Call `show`, and again every moment until something has ended."""
    if has_ended():
        show()
    else:
        _show_again(has_ended, show)


@st.fragment(run_every=_POLL)
@bounded
def _show_again(has_ended: Callable[[], bool], show: Callable[[], object]) -> None:
    if has_ended():
        st.rerun()
    show()


# ------------------------------------------------------- controls of pages that learn from a table


def show_data(state: LearningPage, prefix: str, *, disabled: bool = False) -> None:
    """Show the list of data sets."""
    material = state.current_material()
    spec = state.specs["data"]
    if material is not None and material.description:
        spec = spec._replace(help=material.description)
    words = catalogue("labels")["data"]
    show_option(
        spec,
        state.values["data"],
        state.choose,
        prefix=prefix,
        disabled=disabled,
        title=lambda key: words.get(key) or spec.title_of(key),
    )
    if state.values["data"] == GENERATED:
        specs = option_specs(Generated)
        values = {**default_values(Generated), **state.values["reading"]}
        off = [spec.name for spec in specs] if disabled else []
        with st.expander(words["generated_data"], expanded=True):
            show_options(specs, values, state.choose, prefix=f"{prefix}.{GENERATED}", disabled=off)


def show_learners(state: LearningPage, prefix: str, label: str, *, disabled: bool = False) -> None:
    """Show the list of learners."""
    learner = state.choice.learner
    cls = learner_class(learner)
    (spec,) = option_specs(LearnerOption)
    spec = spec._replace(label=label, help=f"{cls.idea} ({cls.source})")
    show_option(spec, learner, state.choose, prefix=prefix, disabled=disabled)


def show_learner_options(
    state: LearningPage,
    groups: Iterable[Sequence[OptionSpec]],
    prefix: str,
    *,
    is_ready: bool,
    **more: Any,
) -> None:
    """Show options of the learner, and numbers of the page such as the seed, in groups.

    Automatic values are computed once the engine is ready; earlier they would wait for it. `more`
    are arguments of :func:`show_options`.
    """
    values = {**state.values, **state.learner_options(state.choice)}
    automatic = state.automatic(state.choice) if is_ready else {}
    for group in groups:
        show_options(group, values, state.choose, prefix=prefix, automatic=automatic, **more)


def main_options_first(
    cls: type, seed: OptionSpec, *more: str
) -> tuple[list[OptionSpec], list[OptionSpec]]:
    """Return the preset, which decides about many other options, and the others with the seed.

    Of the others only the learner's own first option, λ, and those named in `more` are not
    advanced, so that the main controls fit into a small window.
    """
    specs = own_options_first(cls)
    own = [spec.name for spec in specs if spec.name != PRESET and not spec.advanced]
    main = (*own[:1], "lam", *more)
    others = [s._replace(advanced=s.name not in main) for s in (*specs, seed) if s.name != PRESET]
    return [s for s in specs if s.name == PRESET], sorted(others, key=lambda spec: spec.advanced)
