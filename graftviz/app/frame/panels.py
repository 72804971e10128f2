"""Panels that pages share: notices above the view, settings, and charts that grow."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import streamlit as st

from graftviz.app.boundary import bounded
from graftviz.app.frame.controls import (
    PRESET,
    own_options_first,
    show_button,
    show_option,
    show_options,
)
from graftviz.app.frame.learning import LearningPage
from graftviz.app.frame.state import OptionsPage
from graftviz.app.frame.url_state import LearnerOption, default_values
from graftviz.app.frame.view import MountedView
from graftviz.data.sets.generated import GENERATED, Generated
from graftviz.learning.registry import learner_class
from graftviz.reports.texts import catalogue
from graftviz.utils.options import OptionSpec, option_specs
from graftviz.utils.wording import plain

_POLL = 0.6  # seconds between two updates of what grows


def show_notices(state: OptionsPage[Any], view: MountedView, what: str) -> None:
    """Show ignored parts of the link, and why the view does not follow the settings.

    Parameters
    ----------
    state : OptionsPage
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


def show_settings(state: OptionsPage[Any], prefix: str, *names: str, **how: Any) -> None:
    """Show the controls of some options of a page.

    Parameters
    ----------
    state : OptionsPage
    prefix : str
        Of the keys of the controls.
    *names : str
        Options, in the order of the controls.
    **how
        Further arguments of :func:`graftviz.app.frame.controls.show_option`.
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


def show_data(state: LearningPage[Any], prefix: str, *, disabled: bool = False) -> None:
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


def show_learners(
    state: LearningPage[Any], prefix: str, label: str, *, disabled: bool = False
) -> None:
    """Show the list of learners."""
    learner = state.choice.learner
    cls = learner_class(learner)
    (spec,) = option_specs(LearnerOption)
    spec = spec._replace(label=label, help=f"{cls.idea} ({cls.source})")
    show_option(spec, learner, state.choose, prefix=prefix, disabled=disabled)


def show_learner_options(
    state: LearningPage[Any],
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
