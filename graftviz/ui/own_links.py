"""Which addresses a page wrote itself: following one of them again would undo newer choices."""

from __future__ import annotations

from collections.abc import Collection, Mapping

REMEMBERED_LINKS = 50


class OwnLinks:
    """The latest addresses of one session's page.

    Parameters
    ----------
    places : collection of str
        Parameters that the browser writes by itself as somebody moves on: an address that differs
        only in these is the same.
    """

    def __init__(self, places: Collection[str] = ()) -> None:
        self._places = frozenset(places)
        self._links: list[dict[str, str]] = []

    def __contains__(self, query: Mapping[str, str]) -> bool:
        return self._without_places(query) in self._links

    def add(self, query: Mapping[str, str]) -> None:
        """Remember an address; the oldest is forgotten."""
        link = self._without_places(query)
        if link in self._links:
            self._links.remove(link)
        self._links = [*self._links, link][-REMEMBERED_LINKS:]

    def _without_places(self, query: Mapping[str, str]) -> dict[str, str]:
        return {name: text for name, text in query.items() if name not in self._places}
