"""The glue between Streamlit and a view: a view can move between containers of the page."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from graftviz.reports.replay.bundle import bundle

pytestmark = pytest.mark.browser

PAGE = """<!DOCTYPE html><meta charset="utf-8"><div id="first"></div><div id="second"></div>
<script>
globalThis.views = [];
globalThis.sent = [];
globalThis.Library = {
  style: "",
  host: {
    key: "token", once: "header",
    messages: { moved: (step) => ({ step }) }, place: (step) => ({ step }),
  },
  mount: (place, callbacks) => {
    const view = { callbacks, shown: [], gone: false, refresh() {} };
    view.show = ({ number }) => view.shown.push(number);
    view.destroy = () => { view.gone = true; };
    place.textContent = "view " + views.push(view);
    return view;
  },
};
</script>
<script type="module">
GLUE
const render = mountedBy("Library");
globalThis.patience = PATIENCE;
globalThis.at = (place, number) => render({
  parentElement: document.getElementById(place),
  data: new TextEncoder().encode(JSON.stringify({ token: "run", header: {}, number })),
  setTriggerValue: (name, { token, step }) => sent.push([place, name, step]),
});
</script>"""


@pytest.fixture
def glued(browser_page: Any, show_html: Callable[[Any, str], None], until: Any) -> Any:
    show_html(browser_page, PAGE.replace("GLUE", bundle("shared/mount.js")))
    until(browser_page, "globalThis.at !== undefined")
    return browser_page


def test_view_moves_to_another_container_without_lost_messages(glued: Any, until: Any) -> None:
    glued.evaluate("void (globalThis.leave = at('first', 1))")
    glued.evaluate("views[0].callbacks.moved(3)")
    glued.evaluate("leave()")
    glued.evaluate("views[0].callbacks.moved(4)")
    assert glued.evaluate("sent") == [["first", "moved", 3]]
    glued.evaluate("void at('second', 2)")
    until(glued, "sent.length === 2")
    assert glued.evaluate("sent[1]") == ["second", "moved", 4]
    assert glued.evaluate("location.search") == "?step=4"
    glued.wait_for_timeout(glued.evaluate("patience") + 200)
    assert json.loads(glued.evaluate("JSON.stringify(views.map((v) => [v.shown, v.gone]))")) == [
        [[1, 2], False]
    ]
    assert glued.evaluate("second.textContent") == "view 1"
    assert glued.evaluate("first.textContent") == ""


def test_newer_render_keeps_the_container(glued: Any) -> None:
    glued.evaluate("void (globalThis.leave = at('first', 1))")
    glued.evaluate("void at('first', 2)")
    glued.evaluate("leave()")
    glued.evaluate("views[0].callbacks.moved(5)")
    assert glued.evaluate("sent") == [["first", "moved", 5]]
    assert glued.evaluate("views[0].shown") == [1, 2]


def test_view_without_container_is_destroyed_after_patience(glued: Any, until: Any) -> None:
    glued.evaluate("void (globalThis.leave = at('first', 1))")
    glued.evaluate("leave()")
    until(glued, "views[0].gone")
    glued.evaluate("void at('second', 2)")
    assert glued.evaluate("views.length") == 2
    assert glued.evaluate("second.textContent") == "view 2"


def test_view_without_container_waits_while_page_runs(glued: Any, until: Any) -> None:
    glued.evaluate("document.body.dataset.testid = 'stApp'")
    glued.evaluate("document.body.dataset.testScriptState = 'running'")
    glued.evaluate("void (globalThis.leave = at('first', 1))")
    glued.evaluate("leave()")
    glued.wait_for_timeout(glued.evaluate("patience") + 300)
    assert not glued.evaluate("views[0].gone")
    glued.evaluate("document.body.dataset.testScriptState = 'notRunning'")
    until(glued, "views[0].gone")


def test_view_without_container_waits_after_reconnection(glued: Any, until: Any) -> None:
    # On a busy machine the new session may take longer than usual to show the view again.
    glued.evaluate("document.body.dataset.testid = 'stApp'")
    glued.evaluate("document.body.dataset.testScriptState = 'notRunning'")
    glued.evaluate("void (globalThis.leave = at('first', 1))")
    glued.evaluate("document.body.dataset.testConnectionState = 'PINGING_SERVER'")
    glued.evaluate("document.body.dataset.testConnectionState = 'CONNECTED'")
    glued.evaluate("leave()")
    glued.wait_for_timeout(glued.evaluate("patience") + 300)
    assert not glued.evaluate("views[0].gone")
    glued.evaluate("void at('second', 2)")
    assert glued.evaluate("second.textContent") == "view 1"
    assert glued.evaluate("views[0].shown") == [1, 2]


def test_view_is_marked_as_outdated_during_long_run_of_page(glued: Any, until: Any) -> None:
    glued.evaluate("void at('first', 1)")
    glued.evaluate("document.body.dataset.testid = 'stApp'")
    marked = "document.querySelector('.gv-place.gv-outdated') !== null"
    glued.evaluate("document.body.dataset.testScriptState = 'running'")
    assert not glued.evaluate(marked), "a short run marked the view"
    until(glued, marked)
    glued.evaluate("document.body.dataset.testScriptState = 'notRunning'")
    until(glued, f"!({marked})")
    # A run that the view itself started does not mark it.
    glued.evaluate("views[0].callbacks.moved(1)")
    until(glued, "sent.length > 0")
    glued.evaluate("document.body.dataset.testScriptState = 'running'")
    glued.wait_for_timeout(500)
    assert not glued.evaluate(marked)


def test_view_sends_nothing_while_page_runs(glued: Any, until: Any) -> None:
    glued.evaluate("void at('first', 1)")
    glued.evaluate("document.body.dataset.testid = 'stApp'")
    for state in ("rerunRequested", "running"):
        glued.evaluate("(state) => { document.body.dataset.testScriptState = state; }", state)
        glued.evaluate("views[0].callbacks.moved(1)")
        glued.evaluate("views[0].callbacks.moved(2)")
        glued.wait_for_timeout(200)
        assert glued.evaluate("sent") == []
    glued.evaluate("document.body.dataset.testScriptState = 'notRunning'")
    until(glued, "sent.length > 0")
    glued.wait_for_timeout(200)
    assert glued.evaluate("sent") == [["first", "moved", 2]], "an older step was sent"


def test_running_page_does_not_revert_the_step(glued: Any, until: Any) -> None:
    glued.evaluate("void at('first', 1)")
    glued.evaluate("document.body.dataset.testid = 'stApp'")
    glued.evaluate("document.body.dataset.testScriptState = 'running'")
    glued.evaluate("views[0].callbacks.moved(2)")
    assert glued.evaluate("location.search") == "?step=2"
    glued.evaluate("history.replaceState(null, '', '?alpha=1&step=1')")
    glued.evaluate("document.body.dataset.testScriptState = 'notRunning'")
    until(glued, "sent.length > 0")
    assert glued.evaluate("location.search") == "?alpha=1&step=2"


def test_view_sends_nothing_just_after_click_on_control(glued: Any, until: Any) -> None:
    glued.evaluate("void at('first', 1)")
    glued.evaluate("first.querySelector('div').click()")
    glued.evaluate("views[0].callbacks.moved(1)")
    assert glued.evaluate("sent.length") == 1, "a click in the view delayed the message"
    glued.evaluate("second.click()")
    glued.evaluate("views[0].callbacks.moved(2)")
    glued.wait_for_timeout(300)
    assert glued.evaluate("sent.length") == 1
    until(glued, "sent.length === 2")


def lose_the_server(glued: Any, until: Any) -> None:
    """Lose the connection and reconnect to a server that runs the page without its step."""
    glued.goto(glued.url + "?alpha=1&step=7")
    until(glued, "globalThis.at !== undefined")
    glued.evaluate("document.body.dataset.testid = 'stApp'")
    glued.evaluate("document.body.dataset.testScriptState = 'running'")
    glued.evaluate("globalThis.isTheSame = true")
    glued.evaluate("document.body.dataset.testConnectionState = 'PINGING_SERVER'")
    glued.evaluate("history.replaceState({}, '', '?alpha=1')")
    glued.evaluate("document.body.dataset.testConnectionState = 'CONNECTED'")


def test_page_reloads_if_server_lost_the_step(glued: Any, until: Any) -> None:
    lose_the_server(glued, until)
    with glued.expect_event("load"):
        glued.evaluate("document.body.dataset.testScriptState = 'notRunning'")
    assert glued.evaluate("location.search") == "?alpha=1&step=7"
    assert glued.evaluate("globalThis.isTheSame === undefined")


def test_page_does_not_reload_if_server_has_the_step(glued: Any, until: Any) -> None:
    lose_the_server(glued, until)
    glued.evaluate("history.replaceState({}, '', '?alpha=1&step=7')")
    glued.evaluate("document.body.dataset.testScriptState = 'notRunning'")
    glued.wait_for_timeout(900)
    assert glued.evaluate("location.search") == "?alpha=1&step=7"
    assert glued.evaluate("globalThis.isTheSame === true")
