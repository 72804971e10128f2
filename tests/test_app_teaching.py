"""Keys that every page knows: presenter mode goes along, a page's own state never sees them."""

from __future__ import annotations

import json

from app_pages import open_page, query_of
from streamlit.testing.v1 import AppTest


def press(app: AppTest, key: str) -> None:
    next(button for button in app.button if button.key == key).click().run()


def begins_tour(app: AppTest) -> bool:
    parts = [part.proto for part in app.get("bidi_component")]
    (tour,) = (part for part in parts if part.component_name.endswith("graftviz_tour"))
    start: bool = json.loads(tour.json)["start"]
    return start


def test_that_an_address_asked_for_the_tour_is_not_forgotten_with_its_button() -> None:
    assert not begins_tour(open_page("", data="karate"))
    app = open_page("", data="karate", tour="1")
    assert begins_tour(app)
    app.switch_page("pages/lessons.py").run()
    app.switch_page("pages/grow.py").run()
    assert begins_tour(app), "the browser begins it once"


def test_an_address_that_is_a_moment_old_does_not_bring_the_mode_back() -> None:
    app = open_page("lessons")
    assert query_of(app) == {}
    press(app, "present")
    assert query_of(app) == {"present": "1"}
    app.run()
    press(app, "leave_presenting")
    assert query_of(app) == {}
    app.query_params["present"] = "1"
    app.run()
    assert query_of(app) == {}
    # Once the browser has told the new address, the old one is a wish: somebody went back.
    app.run()
    app.query_params["present"] = "1"
    app.run()
    assert query_of(app) == {"present": "1"}
