"""Controls of options: kinds, positions of sliders, and changes."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import pytest
from hypothesis import given, strategies as st
from streamlit.testing.v1 import AppTest

from graftviz.app.controls import AUTO, round_steps, widget_for
from graftviz.utils.options import option, option_specs


@dataclass(frozen=True)
class Everything:
    alpha: float = option(0.75, "help α", label="α", minimum=0.0, maximum=1.0)
    lam: float = option(1e-3, "help λ", label="λ", above=0.0, maximum=1.0, scale="log")
    lam2: float = option(0.03, "help λ₂", label="λ₂", minimum=0.0, scale="log")
    hubs: bool = option(True, "help hubs", label="Hubs")
    budget: int | None = option(None, "help", label="Budget", minimum=1, none_means="no limit")
    rounds: int = option(3, "help", label="Rounds", minimum=1, maximum=9)
    big: int = option(10, "help", label="Big", minimum=1, maximum=10_000)
    size: float = option(2.5, "help", label="Size")
    look: str = option("plain", "help", label="Look", choices=("plain", "pretty"))
    score: str | None = option(
        None,
        "what ranks edges",
        label="Score",
        choices=("belief", "pseudo-likelihood"),
        none_means="by rule",
    )
    noise: float | None = option(
        None, "help", label="Noise", above=0.0, maximum=1.0, scale="log", none_means="by N"
    )
    guess: bool | None = option(None, "help", label="Guess", none_means="yes on grids")
    hidden: int = option(1, "help", label="Hidden", minimum=1, maximum=4, advanced=True)


SPECS = {spec.name: spec for spec in option_specs(Everything)}
KINDS = {
    "alpha": "slider",
    "lam": "steps",
    "lam2": "steps",
    "hubs": "toggle",
    "budget": "number",
    "rounds": "slider",
    "big": "number",
    "size": "number",
    "look": "choice",
    "score": "radio",
    "noise": "steps",
    "guess": "choice",
    "hidden": "slider",
}


@pytest.mark.parametrize(("name", "kind"), KINDS.items())
def test_kind_of_control_of_every_option(name: str, kind: str) -> None:
    assert widget_for(SPECS[name]) == kind


@given(st.floats(1e-6, 1.0))
def test_positions_of_a_logarithmic_slider(value: float) -> None:
    steps = round_steps(SPECS["lam"], value)
    assert value in steps
    assert steps == sorted(set(steps))
    assert 0.0 not in steps
    assert max(steps) <= 1.0
    assert 0.0 in round_steps(SPECS["lam2"], value)
    # Apart from the current value, neighbours differ by a factor of 2 or 2.5.
    own = [step for step in round_steps(SPECS["lam"], 1e-3) if step > 0]
    assert all(1.99 < b / a < 2.51 for a, b in pairwise(own))


PAGE = """
import streamlit as st

from graftviz.utils.options import option_specs
from graftviz.app.controls import show_options
from tests.app.test_ui_controls import Everything

values = st.session_state.setdefault(
    "values", {spec.name: spec.default for spec in option_specs(Everything)}
)
automatic = st.session_state.get("automatic", {})
show_options(
    option_specs(Everything), values, values.__setitem__, prefix="test", automatic=automatic
)
"""


def test_controls_show_values_and_pass_changes_on() -> None:
    app = AppTest.from_string(PAGE).run()
    assert not app.exception
    assert app.slider(key="test.alpha").value == 0.75
    assert app.select_slider(key="test.lam").value == 1e-3
    assert app.toggle(key="test.hubs").value is True
    assert app.number_input(key="test.budget").value is None
    assert app.number_input(key="test.budget").placeholder == "no limit"
    assert app.selectbox(key="test.look").options == ["plain", "pretty"]
    assert app.expander[0].label == "Advanced"
    assert len(app.expander[0].slider) == 0, "hidden controls were built"
    app.session_state["test.Advanced"] = True
    app.run()
    assert app.expander[0].slider[0].label == "Hidden"

    app.slider(key="test.alpha").set_value(0.5)
    app.select_slider(key="test.lam").set_value(0.02)
    app.number_input(key="test.budget").set_value(40)
    app.toggle(key="test.hubs").set_value(False)
    app.run()
    values = app.session_state["values"]
    assert not app.exception
    assert not app.warning
    assert (values["alpha"], values["lam"], values["budget"], values["hubs"]) == (
        0.5,
        0.02,
        40,
        False,
    )


def test_values_of_page_override_the_widget() -> None:
    app = AppTest.from_string(PAGE).run()
    app.session_state["values"]["alpha"] = 0.1
    app.session_state["values"]["lam"] = 0.0037
    app.session_state["values"]["look"] = "pretty"
    app.run()
    assert not app.exception
    assert app.slider(key="test.alpha").value == 0.1
    assert app.select_slider(key="test.lam").value == 0.0037
    assert app.selectbox(key="test.look").value == "pretty"


def test_automatic_position_shows_value_and_can_be_restored() -> None:
    app = AppTest.from_string(PAGE).run()
    slider = app.select_slider(key="test.noise")
    assert slider.value == AUTO
    assert slider.options[0] == "auto"
    app.session_state["automatic"] = {
        "noise": 0.00123,
        "score": "belief",
        "budget": 80,
        "guess": False,
    }
    app.run()
    assert not app.exception
    slider = app.select_slider(key="test.noise")
    assert slider.options[0] == "auto 0.00123"
    assert slider.options[1:] == sorted(slider.options[1:], key=float)
    assert float(slider.options[1]) < 0.00123 < float(slider.options[-1])
    assert app.radio(key="test.score").value == AUTO
    assert app.radio(key="test.score").proto.captions[0] == "Set by the preset: belief."
    assert app.selectbox(key="test.guess").value == AUTO
    assert app.selectbox(key="test.guess").options == ["automatic", "yes", "no"]
    assert "automatic: no" in [caption.value for caption in app.caption]
    assert app.number_input(key="test.budget").placeholder == "automatic: 80"
    slider.set_value(0.02).run()
    assert app.session_state["values"]["noise"] == 0.02
    app.select_slider(key="test.noise").set_value(AUTO).run()
    assert app.session_state["values"]["noise"] is None
