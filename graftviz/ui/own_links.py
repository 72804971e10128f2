"""Record of the addresses written by a page: following one again would undo newer choices."""

from __future__ import annotations

from collections.abc import Collection, Mapping

REMEMBERED_LINKS = 50


class OwnLinks:
    """Latest addresses written by a page in one session.

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
