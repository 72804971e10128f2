"""Views that draw themselves in the browser, inside Streamlit: sent once, then fed with messages.

Streamlit sends a component's script again with every message. A view is a hundred kilobytes, so it
travels by itself, in a component without data that is sent once; the component that shows things
carries only the glue: ``assets/mount.js``, which all views share, and a file of its own.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

import streamlit as st

from graftviz.ui.boundary import guarded

_ASSETS = Path(__file__).parent / "assets"
Trigger = Callable[[Mapping[str, Any]], None]


def mounting(script: str, shared: str = "") -> str:
    """Return the JavaScript of a component: ``mount.js``, what else is `shared`, then `script`."""
    glue, own = ((_ASSETS / part).read_text(encoding="utf-8") for part in ("mount.js", script))
    return "\n".join((glue, shared, own))


class MountedView:
    """A view of ``graftviz/player``: one component that loads it, one that shows it.

    Parameters
    ----------
    name : str
        Of the components, of what they keep in the session, and of the glue,
        ``assets/mount_{name}.js``.
    library : str
        The name under which the script puts itself on ``globalThis``.
    script, style : callable
        Return the view's JavaScript and its style sheet.
    """

    def __init__(
        self, name: str, library: str, script: Callable[[], str], style: Callable[[], str]
    ) -> None:
        self.name = name
        self.library = library
        self._script = script
        self._style = style

    @cached_property
    def _components(self) -> tuple[Any, Any]:
        """Register both components, once per process."""
        library = (
            f"{self._script()}\n"
            f"globalThis.{self.library}.style = {json.dumps(self._style())};\n"
            "export default () => {};\n"
        )
        return (
            st.components.v2.component(f"graftviz_{self.name}_library", js=library),
            st.components.v2.component(
                f"graftviz_{self.name}", js=mounting(f"mount_{self.name}.js")
            ),
        )

    @property
    def key(self) -> str:
        """The key of the component that shows the view."""
        return f"{self.name}_view"

    def load(self) -> None:
        """Send the view to the browser; call once per page, outside the fragment that shows it."""
        self._components[0](key=f"{self.name}_library", height=1)

    def show(self, message: str, callbacks: Mapping[str, Trigger]) -> None:
        """Show the view and hand it a message.

        Parameters
        ----------
        message : str
            JSON, for the glue.
        callbacks : mapping
            What the glue sends, by name → called with it before the fragment that shows the view
            runs again.
        """
        self._components[1](
            key=self.key,
            # Bytes are passed through as they are; anything else would be parsed and written again.
            data=message.encode("utf-8", "replace"),
            **{
                f"on_{name}_change": guarded(self._passed_on(name, callback))
                for name, callback in callbacks.items()
            },
        )

    def _passed_on(self, name: str, callback: Trigger) -> Callable[[], None]:
        def call() -> None:
            # Nothing is left of the component when its message comes after the page was left.
            value = (st.session_state.get(self.key) or {}).get(name)
            if isinstance(value, Mapping):
                callback(value)

        return call
