"""Frame of a page: header with its menus, address, presenter mode, and guide of a lesson."""

from __future__ import annotations

import mimetypes
import re
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any, NamedTuple
from urllib.parse import urlencode, urlsplit

import streamlit as st
from streamlit.runtime.scriptrunner import get_script_run_ctx

from graftviz.app import ASSETS
from graftviz.app.boundary import bounded, file_builder, guarded
from graftviz.app.runs import Loaded
from graftviz.app.state import PageState
from graftviz.reports.texts import catalogue, page_text
from graftviz.reports.words.lessons import GUIDES, TOUR, guide_record
from graftviz.utils.files import as_bytes
from graftviz.utils.wording import quoted

PRESENT = "present"
LESSON = "lesson"
OF_TEACHING = (PRESENT, LESSON)
ON = "1"
_IS_ON = "teaching.present"
_SEEN = "teaching.seen"
_TOURS = "teaching.tours"


def without_teaching(query: Mapping[str, str]) -> dict[str, str]:
    """Return the parameters of an address that are settings of its page."""
    return {name: text for name, text in query.items() if name not in OF_TEACHING}


def teaching_query() -> dict[str, str]:
    """Return the parameters that every address has besides the settings of its page."""
    query = {PRESENT: ON} if is_presenting() else {}
    if LESSON in st.query_params:
        query[LESSON] = st.query_params[LESSON]
    return query


def follow_teaching() -> None:
    """Take over the parameters of the address for teaching; call once a run, before the page.

    A message from the browser may contain an outdated URL: a value counts only if it
    differs from the previous one. Going to another page empties the address, which must not end
    the mode.
    """
    query = st.query_params.to_dict()
    seen = st.session_state.get(_SEEN, {})
    present_text = query.get(PRESENT)
    if present_text not in (None, seen.get(PRESENT)):
        present(present_text == ON)
    st.session_state[_SEEN] = query


def is_presenting() -> bool:
    """Whether the app is shown to a room."""
    return bool(st.session_state.get(_IS_ON, False))


def present(on: bool) -> None:
    """Turn presenter mode on or off."""
    st.session_state[_IS_ON] = on


@cache
def page_component(name: str) -> Any:
    """Return the component of a script in ``assets`` that works on the whole page."""
    scripts = [(ASSETS / file).read_text(encoding="utf-8") for file in ("find.js", f"{name}.js")]
    return st.components.v2.component(f"graftviz_{name}", js="\n".join(scripts))


def take_tour() -> None:
    """Begin the tour."""
    st.session_state[_TOURS] = st.session_state.get(_TOURS, 0) + 1
    st.query_params[LESSON] = TOUR


def show_guide() -> None:
    """Show the lesson of the address, or a sentence if there is no such lesson.

    The guide runs in the browser only, which also writes the reached stop into the address.
    """
    text = st.query_params.get(LESSON)
    if text is None:
        return
    found = re.fullmatch(r"([a-z-]+)(?:\.(\d{1,3}))?", text, re.ASCII)
    if found is None or found[1] not in GUIDES:
        names = ", ".join(GUIDES)
        st.warning(f"There is no lesson {quoted(text)}; lessons are {names}.")
        del st.query_params[LESSON]
        return
    key, stop = found[1], max(1, int(found[2] or 1))
    begin = f"{key} {st.session_state.get(_TOURS, 0)}"
    record = guide_record(GUIDES[key])
    page_component("guide")(key="guide", data={**record, "at": stop - 1, "begin": begin})


def show_presenter() -> None:
    """Show the switch, and apply presenter mode: large type, no controls. Escape ends it."""
    is_on = is_presenting()
    labels = catalogue("labels")["header"]
    with st.container(key="presenter"):
        st.button(
            labels["leave" if is_on else "present"],
            key="leave_presenting" if is_on else "present",
            type="tertiary",
            shortcut="Escape" if is_on else None,
            help=labels["leave_help" if is_on else "present_help"],
            on_click=guarded(present),
            args=(not is_on,),
        )
    st.html(ASSETS / "page.css")
    if is_on:
        st.html(ASSETS / "presenter.css")


# --------------------------------------------------------------------------------------- the header


_HANDED = "inspect.handed"
_WITH_MODEL = ("grow", "race", "prune", "budget", "regions", "reservoir", "dynamics", "inspect")
_HOME = "http://localhost:8501/"


class PageFile(NamedTuple):
    """File that a page offers for download.

    Attributes
    ----------
    name : str
        Its ending decides the MIME type.
    label : str
    build : callable
        Return the content; called when the button is pressed.
    is_main : bool
        Whether its button stands out.
    disabled : bool
    """

    name: str
    label: str
    build: Callable[[], str | bytes]
    is_main: bool = False
    disabled: bool = False


class Tool(NamedTuple):
    """Entry of the menu Analyse.

    Attributes
    ----------
    key : str
    use : callable or None
        Called when the entry is chosen, before the page runs; None for an entry that the page
        handles itself.
    label : str
        By default that of the key in the part "tools" of ``labels.toml``.
    """

    key: str
    use: Callable[[], object] | None = None
    label: str = ""


class ModelMenu(NamedTuple):
    """Contents of the menu Model of a page that shows a learned model.

    Attributes
    ----------
    python, command : str
        Code and command that repeat the run; empty if there is none.
    loaded : callable or None
        Return the model for the page Inspect, or None for the run of the page Grow. Without it,
        the model cannot be inspected.
    note : str
        Sentence above the code, such as on files that it needs.
    """

    python: str
    command: str
    loaded: Callable[[], Loaded | None] | None = None
    note: str = ""


class Header:
    """Row at the top of a page, which is shown when the object is created.

    Title, headline and help are shown at once; files and link follow when the page has something
    to show. The content of a menu is built only while the menu is open.

    Parameters
    ----------
    page : str
        Decides title, text and the keys of the menus.
    headline : str
        Sentence in Markdown instead of that of the page's text.

    Attributes
    ----------
    state : container
        Place beside the menus, on a phone below the headline, for a few words on what goes on.
    tools : container
        Place of the page's buttons.
    """

    def __init__(self, page: str, headline: str = "") -> None:
        self._page = page
        text = page_text(page)
        self._labels = catalogue("labels")["header"]
        with st.container(
            horizontal=True, vertical_alignment="center", gap="small", key="page_header"
        ):
            st.markdown(f"**{page.title()}** · {headline or text.headline}", width="stretch")
            self.state = st.container(width="content", key="page_state")
            with st.container(horizontal=True, gap="small", width="content", key="page_menu"):
                self.tools = st.container(
                    horizontal=True, vertical_alignment="center", width="content", gap="small"
                )
                self._model = self._menu("model") if page in _WITH_MODEL else None
                self._files = self._menu("download")
                self._link = self._menu("link")
                opens_help = st.button(self._labels["help"], key=f"{page}.help", type="tertiary")
        if opens_help:
            st.dialog(self._labels["about"], width="medium")(_show_help)(text.explanation)

    def _menu(self, name: str) -> Any:
        """Return a menu: a container with the attribute `open`, whose type is private."""
        key = f"{self._page}.{name}"
        return st.popover(self._labels[name], key=key, type="tertiary", on_change="rerun")

    def show_tools(self, tools: Sequence[Tool]) -> str | None:
        """Show the menu Analyse; return the key of the entry chosen in this run of the page."""
        by_key = {tool.key: tool for tool in tools}
        key, labels = f"{self._page}.tools", catalogue("labels")["tools"]

        def use() -> None:
            chosen = by_key[st.session_state[key]]
            if chosen.use is not None:
                chosen.use()

        chosen: str | None = self.tools.menu_button(
            self._labels["analyse"],
            list(by_key),
            key=key,
            type="tertiary",
            format_func=lambda name: by_key[name].label or labels[name],
            on_click=guarded(use),
        )
        return chosen

    def show_files(self, files: Callable[[], Sequence[PageFile]], note: str = "") -> None:
        """Fill the menu Download.

        Parameters
        ----------
        files : callable
            Return the files.
        note : str
            One sentence above the files.
        """
        if not self._files.open:
            return
        with self._files:
            listed = files()
            if sentence := note if listed else self._labels["no_file"]:
                st.caption(sentence)
            # Close together, so that all are visible in the window of a small laptop.
            with st.container(gap=None):
                for file in listed:
                    file_button(file, f"{self._page}.download.{file.name}", is_quiet=True)

    def show_model(self, menu: Callable[[], ModelMenu | None]) -> None:
        """Fill the menu Model: open the model on the page Inspect, and repeat its run elsewhere.

        Parameters
        ----------
        menu : callable
            Return the contents; None while there is no model.
        """
        if self._model is None or not self._model.open:
            return
        with self._model:
            found = menu()
            if found is None:
                st.caption(self._labels["no_model"])
                return
            key, label = f"{self._page}.model.inspect", self._labels["inspect"]
            if found.loaded is not None and st.button(label, key=key, width="stretch"):
                st.session_state[_HANDED] = [found.loaded()]
                st.switch_page("pages/inspect.py")
            if found.note:
                st.caption(found.note)
            for kind, code in (("python", found.python), ("bash", found.command)):
                if code:
                    st.caption(self._labels[kind])
                    st.code(code, language=kind, wrap_lines=True)

    def show_link(
        self,
        query: Callable[[], Mapping[str, str]],
        note: str,
        *,
        of_file: bool = False,
    ) -> None:
        """Fill the menu Link.

        Parameters
        ----------
        query : callable
            Return the query parameters of the shown state.
        note : str
            Sentence that describes the target of the link.
        of_file : bool
            Whether the link shows an uploaded file although it has no key "fingerprint".
        """
        if self._link.open:
            with self._link:
                link = query()
                own_file = self._labels["own_file"] if of_file or "fingerprint" in link else ""
                st.caption(f"{note} {own_file}".rstrip())
                page = urlsplit(st.context.url or _HOME)
                address = page._replace(query=urlencode(link), fragment="").geturl()
                st.code(address, language=None, wrap_lines=True)


def handed_models() -> list[Loaded | None]:
    """Return the model that another page has handed to the page Inspect, once; empty if none."""
    handed: list[Loaded | None] = st.session_state.pop(_HANDED, [])
    return handed


@bounded
def _show_help(text: str) -> None:
    st.markdown(text)


def file_button(
    file: PageFile, key: str, *, is_quiet: bool = False, is_stretched: bool = True
) -> None:
    """Show a button that downloads a file; pressing it runs nothing else of the page.

    Parameters
    ----------
    file : PageFile
    key : str
    is_quiet : bool
        Whether the button has no border, unless it is that of the main file.
    is_stretched : bool
        Whether it is as wide as its place.
    """
    st.download_button(
        file.label,
        file_builder(lambda: as_bytes(file.build())),
        file.name,
        mimetypes.guess_type(file.name)[0] or "text/plain",
        key=key,
        type="primary" if file.is_main else "tertiary" if is_quiet else "secondary",
        width="stretch" if is_stretched else "content",
        on_click="ignore",
        disabled=file.disabled,
    )


def follow_address(state: PageState, page: str, *, is_new: bool = False) -> None:
    """Apply the address of a page to its state.

    An empty address does not undo earlier choices, as opening another page empties it, unless it
    comes from the history. A link from another page counts even if this page has written the same
    address before.

    Parameters
    ----------
    state : PageState
    page : str
    is_new : bool
        Whether nothing has been set here yet, so that an empty address counts as well.
    """
    before = st.session_state.get("page")
    st.session_state["page"] = page
    query = without_teaching(st.query_params.to_dict())
    comes_from_another = before not in (None, page)
    context = get_script_run_ctx()
    goes_back = context is not None and context.is_history_navigation
    if query or is_new or (goes_back and not comes_from_another):
        state.follow(query, is_navigation=goes_back or (comes_from_another and bool(query)))


def write_address(state: PageState) -> None:
    """Write the state of a page into the URL if it has changed."""
    if (link := {**state.link(), **teaching_query()}) != st.query_params.to_dict():
        st.query_params.from_dict(link)
