"""Session state common to the pages that learn from a table: settings, link, data, and runs."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping
from typing import Any, Generic, Protocol, TypeVar

from graftviz.ui.limits import limits
from graftviz.ui.material import Material, default_options, uploaded_table, with_choice
from graftviz.ui.own_links import OwnLinks
from graftviz.ui.recording import Plan
from graftviz.ui.run_limits import Verdict
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


class LearningPage(Generic[S]):
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
    complaints : list of str
        Ignored parts of the link; shown until the settings change.
    problem : str
        Why the runs on show do not follow the controls; empty if they do.
    question : str
        Cost of a run that must be confirmed first; empty if there is none.
    """

    def __init__(
        self, settings: S, load: Callable[[str, int], Material], places: Collection[str]
    ) -> None:
        self.settings = settings
        self.shown: S | None = None
        self.material: Material | None = None
        self.uploaded: Callable[[int], Material] | None = None
        self.complaints: list[str] = []
        self.problem = ""
        self.question = ""
        self._load = load
        self._links = OwnLinks(places)
        self._runs = RunStore()
        self._agreed: set[Hashable] = set()
        self._asked: Hashable = None

    # ---------------------------------------------------------------------------------- address

    def follow(self, query: Mapping[str, str], *, is_history: bool = False) -> bool:
        """Apply an address, unless the page wrote it itself; return whether it was applied.

        A message from the browser may contain an older address, which must not undo newer choices.
        Navigation in the history (`is_history`) may.
        """
        if query in self._links and not is_history:
            return False
        self.settings, complaints = self._parse(query)
        self.complaints = list(complaints)
        self._links.add(query)
        return True

    def link(self) -> dict[str, str]:
        """Return the query parameters of the page, and record them as its own."""
        query = self._write()
        self._links.add(query)
        return query

    def _parse(self, query: Mapping[str, str]) -> tuple[S, Iterable[str]]:
        """Return the settings of an address, and its ignored parts."""
        raise NotImplementedError

    def _write(self) -> dict[str, str]:
        """Return the query parameters of the runs on show."""
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
        self.complaints = []
        self.settings = self._with(**changes)

    def _with(self, **changes: Any) -> S:
        return dataclasses.replace(self.settings, **changes)  # type: ignore[type-var]

    # ------------------------------------------------------------------------------------- runs

    def agree(self) -> None:
        """Confirm the runs of the current question."""
        self._agreed.add(self._asked)

    def _may_begin(self, key: Hashable, verdict: Verdict) -> bool:
        """Return whether runs are within the limits or confirmed; set problem and question."""
        if key in self._agreed:
            return True
        self._asked, self.problem, self.question = key, verdict.refusal, verdict.question
        return verdict == Verdict()

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
