"""Session state common to the pages that learn from a table: settings, link, data, and runs."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from typing import Any, Generic, Protocol, TypeVar

from graftviz.ui.frame.state import PageState
from graftviz.ui.limits import limits
from graftviz.ui.material import Material, default_options, uploaded_table, with_choice
from graftviz.ui.recording import Plan
from graftviz.ui.session_run import SessionRun
from graftviz.ui.url_state import UPLOAD, UploadOptions


class DataSettings(Protocol):
    """Settings of a page that learns from a table; a frozen dataclass."""

    @property
    def data(self) -> str:
        """Key of a data set, or ``"upload"``."""

    @property
    def seed(self) -> int:
        """Seed of the run and of the held-out rows."""

    @property
    def fingerprint(self) -> str:
        """Fingerprint of uploaded data; empty otherwise."""

    @property
    def reading(self) -> Mapping[str, Any]:
        """Import options that differ from the defaults."""


S = TypeVar("S", bound=DataSettings)


class LearningPage(PageState, Generic[S]):
    """Settings and runs of a page in one session.

    Settings that cannot be used become a sentence, and the runs shown before remain.

    Parameters
    ----------
    settings : DataSettings
        Frozen dataclass.
    load : callable
        ``load(key, seed)`` returns the :class:`Material` of a built-in data set.
    places : collection of str
        Parameters of the address that the browser writes by itself, such as the step.

    Attributes
    ----------
    settings : DataSettings
        Values of the controls.
    shown : DataSettings or None
        Settings of the runs on show, which the address contains.
    material : Material or None
        Data of the runs on show.
    uploaded : callable or None
        ``uploaded(seed)`` returns the material of the uploaded file.
    """

    def __init__(
        self, settings: S, load: Callable[[str, int], Material], places: Collection[str]
    ) -> None:
        super().__init__(places)
        self.settings = settings
        self.shown: S | None = None
        self.material: Material | None = None
        self.uploaded: Callable[[int], Material] | None = None
        self._load = load
        self._runs = RunStore()

    def _apply(self, query: dict[str, str]) -> Iterable[str]:
        self.settings, complaints = self._parse(query)
        return complaints

    def _parse(self, query: Mapping[str, str]) -> tuple[S, Iterable[str]]:
        """Return the settings of an address, and its ignored parts."""
        raise NotImplementedError

    # ------------------------------------------------------------------------------------- data

    def choose_reading(self, name: str, value: Any) -> None:
        """Set an import option of the upload."""
        defaults = default_options(UploadOptions, {})
        self._set(reading=with_choice(self.settings.reading, name, value, defaults))

    @property
    def awaits_file(self) -> bool:
        """Whether uploaded data are chosen, but no file has been uploaded."""
        return self.settings.data == UPLOAD and self.uploaded is None

    def accept(self, uploaded: Callable[[int], Material], fingerprint: str) -> None:
        """Use an uploaded file as the data of the page."""
        self.uploaded = uploaded
        self.settings = self._with(fingerprint=fingerprint)

    def take_data(self, other: LearningPage[Any]) -> None:
        """Use the data of another page, uploaded ones included."""
        settings = other.settings
        self.uploaded = other.uploaded
        self.settings = self._with(
            data=settings.data, fingerprint=settings.fingerprint, reading=settings.reading
        )

    def current_material(self) -> Material | None:
        """Return the data of the settings; None before an upload."""
        if self.settings.data != UPLOAD:
            return self._load(self.settings.data, self.settings.seed)
        return self.uploaded(self.settings.seed) if self.uploaded else None

    def description(self) -> str | None:
        """Return the description of the data, if there is one."""
        material = self.current_material()
        return (material.description or None) if material else None

    def _set(self, **changes: Any) -> None:
        self.complaints = ()
        self.settings = self._with(**changes)

    def _with(self, **changes: Any) -> S:
        return dataclasses.replace(self.settings, **changes)  # type: ignore[type-var]

    # ------------------------------------------------------------------------------------- runs

    def revoke(self) -> None:
        """Pause all computing of this session; computed steps remain."""
        self._runs.revoke()

    def forget(self) -> None:
        """Release all runs; they are computed again when the page is opened."""
        self._runs.forget()
        self.shown = self.material = None


class RunStore:
    """Runs of one session, by plan, the latest last."""

    def __init__(self) -> None:
        self._runs: dict[Plan, SessionRun] = {}

    def __contains__(self, plan: object) -> bool:
        return plan in self._runs

    def __iter__(self) -> Iterator[SessionRun]:
        return iter(list(self._runs.values()))

    def get(self, plan: Plan, start: Callable[[], SessionRun]) -> SessionRun:
        """Return the run of a plan, started if there is none or if it has failed."""
        run = self._runs.pop(plan, None)
        if run is None or run.failure:
            run = start()
        self._runs[plan] = run
        return run

    def show(self, shown: Collection[SessionRun | None], most: int) -> None:
        """Pause all runs that are not on show, and evict those beyond the limits.

        Also evicted are runs of uploaded tables that were replaced by another.

        Parameters
        ----------
        shown : collection of SessionRun or None
        most : int
            Maximum number of runs; fewer if their records exceed ``kept_memory`` together.
        """
        on_show = {uploaded_table(p.material) for p, run in self._runs.items() if run in shown}
        tables = on_show - {""}
        count, size = 0, 0.0
        for plan, run in list(self._runs.items())[::-1]:
            count, size = count + 1, size + run.memory_bytes / 1e6
            if run in shown:
                continue
            run.revoke()
            is_replaced = bool(tables) and uploaded_table(plan.material) not in tables | {""}
            if is_replaced or count > most or size > limits().kept_memory:
                del self._runs[plan]
                run.forget()

    def revoke(self) -> None:
        """Pause all runs."""
        for run in self:
            run.revoke()

    def clear(self) -> None:
        """Pause and remove all runs; their records remain valid."""
        self.revoke()
        self._runs.clear()

    def forget(self) -> None:
        """Release the memory of all runs."""
        self.revoke()
        for run in self:
            run.forget()
        self._runs.clear()
