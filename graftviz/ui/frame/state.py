"""Session state of a page: its link, its notices, and the options of a dataclass.

Streamlit is not imported here.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable, Mapping
from typing import Any, Generic, TypeVar

from graftviz.options import option_specs
from graftviz.ui.background import Watching
from graftviz.ui.run_limits import Verdict
from graftviz.ui.url_state import parse_options_of, write_options_of

REMEMBERED_LINKS = 50
T = TypeVar("T")


class OwnLinks:
    """Latest addresses written by a page in one session; following one would undo newer choices.

    Parameters
    ----------
    places : collection of str
        Parameters that the browser writes by itself, such as the step: addresses that differ
        only in these are equal.
    """

    def __init__(self, places: Collection[str] = ()) -> None:
        self._places = frozenset(places)
        self._links: list[dict[str, str]] = []

    def __contains__(self, query: Mapping[str, str]) -> bool:
        return self._without_places(query) in self._links

    def add(self, query: Mapping[str, str]) -> None:
        """Add an address; the oldest is removed."""
        link = self._without_places(query)
        if link in self._links:
            self._links.remove(link)
        self._links = [*self._links, link][-REMEMBERED_LINKS:]

    def _without_places(self, query: Mapping[str, str]) -> dict[str, str]:
        return {name: text for name, text in query.items() if name not in self._places}


class PageState:
    """Link and notices of a page in one session.

    Parameters
    ----------
    places : collection of str
        Parameters of the address that the browser writes by itself, such as the step.

    Attributes
    ----------
    complaints : sequence of str
        Ignored parts of the link; shown until the settings change.
    problem : str
        Why the view does not follow the settings; empty if it does.
    question : str
        Cost of a computation that must be confirmed first; empty if there is none.
    visit : int
        Number of links followed; the browser moves to the place of a new one.
    """

    def __init__(self, places: Collection[str] = ()) -> None:
        self.complaints: tuple[str, ...] = ()
        self.problem = ""
        self.question = ""
        self.visit = 0
        self._links = OwnLinks(places)
        self._is_opened = False
        self._agreed: set[Hashable] = set()
        self._asked: Hashable = None

    def follow(self, query: Mapping[str, str], *, is_history: bool = False) -> bool:
        """Apply an address, unless the page wrote it itself; return whether it was applied.

        A message from the browser may contain an older address, which must not undo newer choices.
        Navigation in the history (`is_history`) may.
        """
        link = dict(query)
        is_first, self._is_opened = not self._is_opened, True
        is_own = link in self._links and not (is_first and link)
        if is_own and not is_history:
            return False
        self.complaints = tuple(self._apply(link))
        self._check_link()
        self.visit += 1
        self._links.add(link)
        return True

    def link(self) -> dict[str, str]:
        """Return the query parameters of the page, and record them as its own."""
        self._is_opened = True
        query = self._write()
        self._links.add(query)
        return query

    def agree(self) -> None:
        """Confirm the computation of the current question."""
        self._agreed.add(self._asked)

    def _may_begin(self, key: Hashable, verdict: Verdict) -> bool:
        """Return whether a computation is within the limits or confirmed.

        Problem and question are set accordingly.
        """
        if key in self._agreed:
            return True
        self._asked, self.problem, self.question = key, verdict.refusal, verdict.question
        return verdict == Verdict()

    def _apply(self, query: dict[str, str]) -> Iterable[str]:
        """Take the settings of an address; return its ignored parts."""
        raise NotImplementedError

    def _check_link(self) -> None:
        """Ignore further parts of an address that the page cannot use."""

    def _write(self) -> dict[str, str]:
        """Return the query parameters of the page."""
        raise NotImplementedError


class OptionsPage(PageState, Generic[T]):
    """State of a page whose settings are the options of one dataclass.

    Parameters
    ----------
    cls : type
        Dataclass whose fields are options; see :mod:`graftviz.options`.
    places : collection of str
        Options that the browser writes into the address by itself, such as the step.
    others : collection of str
        Further parameters of an address, interpreted by the page.

    Attributes
    ----------
    others : dict
        Name → text of the further parameters.
    values : dict
        Option → value, of all options.
    is_from_link : bool
        Whether nothing has been chosen since a link was followed.
    jobs : Watching
        Jobs that this session needs.
    """

    def __init__(
        self, cls: type[T], places: Collection[str] = (), others: Collection[str] = ()
    ) -> None:
        super().__init__(places)
        self._cls = cls
        self._other_names = frozenset(others)
        self.others: dict[str, str] = {}
        self.values: dict[str, Any] = self._defaults()
        self.is_from_link = False
        self._links.add({})  # the address after a visit of another page
        self.jobs = Watching()

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

    def revoke(self) -> None:
        """Pause the computations of this session; computed values remain."""
        self.jobs.leave()

    def _apply(self, query: dict[str, str]) -> Iterable[str]:
        own = {name: text for name, text in query.items() if name not in self._other_names}
        values, complaints = parse_options_of(self._cls, own)
        self.others = {name: text for name, text in query.items() if name in self._other_names}
        self.values = {**self._defaults(), **values}
        self.is_from_link = True
        return complaints

    def _write(self) -> dict[str, str]:
        return {**write_options_of(self._cls, self.values), **self.others}

    def _defaults(self) -> dict[str, Any]:
        return {spec.name: spec.default for spec in option_specs(self._cls)}
