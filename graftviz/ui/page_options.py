"""The settings of a page that are the options of one dataclass, and the address that carries them.

Nothing here knows Streamlit.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, Generic, TypeVar

from graftviz.options import option_specs
from graftviz.ui.own_links import OwnLinks
from graftviz.ui.url_state import parse_options_of, write_options_of

T = TypeVar("T")


class PageOptions(Generic[T]):
    """Options of a page in one session, with their link.

    Parameters
    ----------
    cls : type
        A dataclass whose fields are options; see :mod:`graftviz.options`.
    places : collection of str
        Options that the browser writes into the address by itself, such as the step: an
        address that differs only in these was written by the page.
    others : collection of str
        Further parameters of an address, interpreted by the page.

    Attributes
    ----------
    others : dict
        Name → text of the further parameters.
    values : dict
        Option → value, of all options.
    complaints : tuple of str
        About the link; until something is chosen.
    is_from_link : bool
        Whether nothing has been chosen since a link was followed.
    """

    def __init__(
        self, cls: type[T], places: Collection[str] = (), others: Collection[str] = ()
    ) -> None:
        self._cls = cls
        self._other_names = frozenset(others)
        self.others: dict[str, str] = {}
        self.values: dict[str, Any] = self._defaults()
        self.complaints: tuple[str, ...] = ()
        self.is_from_link = False
        self._links = OwnLinks(places)
        self._links.add({})
        self._has_followed = False

    @property
    def options(self) -> T:
        """The settings as an instance of the dataclass."""
        return self._cls(**self.values)

    def choose(self, name: str, value: Any) -> None:
        """Set one option."""
        self.values[name] = value
        self.complaints = ()
        self.is_from_link = False

    def ignore(self, name: str, why: str) -> None:
        """Reset one option, or remove a further parameter, and add a sentence on why."""
        if name in self.values:
            self.values[name] = self._defaults()[name]
        self.others.pop(name, None)
        self.complaints += (why,)

    def follow(self, query: Mapping[str, str], *, is_history: bool = False) -> bool:
        """Take values from the address, unless it is one we wrote ourselves; say if they were.

        A message from the browser may carry an address that is a moment old; that must not undo
        what has been changed meanwhile. Going back in the history (`is_history`) may.
        """
        link = dict(query)
        is_first, self._has_followed = not self._has_followed, True
        is_ours = link in self._links and not (is_first and link)
        if is_ours and not is_history:
            return False
        own = {name: text for name, text in link.items() if name not in self._other_names}
        values, self.complaints = parse_options_of(self._cls, own)
        self.others = {name: text for name, text in link.items() if name in self._other_names}
        self.values = {**self._defaults(), **values}
        self._links.add(link)
        self.is_from_link = True
        return True

    def link(self) -> dict[str, str]:
        """Return the query parameters of the values, and remember them as ours."""
        query = {**write_options_of(self._cls, self.values), **self.others}
        self._links.add(query)
        return query

    def _defaults(self) -> dict[str, Any]:
        return {spec.name: spec.default for spec in option_specs(self._cls)}
