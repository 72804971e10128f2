"""Session state of the Regions page: options, the current model, complaints.

Independent of Streamlit.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from graftviz.errors import InputError
from graftviz.narrative.phrases import plural, short
from graftviz.ui.background import Background
from graftviz.ui.frame.state import OptionsPage
from graftviz.ui.regions.models import ShownModel
from graftviz.ui.regions.options import PLACES, RUN, RegionOptions
from graftviz.ui.url_state import UPLOAD

_LONGEST_RUN = 600  # characters of an address on the Grow page
_PRINT = "fingerprint"
_FINGERPRINT = re.compile(r"[0-9a-f]{16}")
_GROWS_ANEW = ("data", "side", "query")  # changes of these make the old step meaningless
Load = Callable[["RegionState"], ShownModel | None]


class RegionState(OptionsPage[RegionOptions]):
    """Choices of one session, and the model on show.

    Parameters
    ----------
    load : callable
        Returns the model that the choices of a state lead to; None while a file is awaited.

    Attributes
    ----------
    uploaded : ShownModel or None
    shown : ShownModel or None
        The last model that could be shown.
    page_runs : int
        Grows when the whole page is drawn: then its controls show what was chosen.
    """

    def __init__(self, load: Load) -> None:
        super().__init__(RegionOptions, PLACES, (RUN, _PRINT))
        self.uploaded: ShownModel | None = None
        self.shown: ShownModel | None = None
        self.page_runs = 0
        self._load = load

    # ------------------------------------------------------------------------------ the address

    def _check_link(self) -> None:
        data, others = self.values["data"], self.others
        is_run = data == RUN and len(others.get(RUN, "")) <= _LONGEST_RUN
        is_print = data == UPLOAD and _FINGERPRINT.fullmatch(others.get(_PRINT, ""))
        for name, is_good in ((RUN, is_run), (_PRINT, is_print)):
            if name in others and not is_good:
                self.ignore(name, f"Invalid {name} in the link; ignored.")

    @property
    def run(self) -> str:
        """The address of a run on the Grow page, if its model is on show."""
        return self.others.get(RUN, "")

    @property
    def fingerprint(self) -> str:
        """Of the uploaded model a link was made with, or the one on show."""
        return self.others.get(_PRINT, "")

    # ------------------------------------------------------------------------------ the choices

    def choose(self, name: str, value: Any) -> None:
        """Set one option; another model or query begins with a region that grows from its start."""
        super().choose(name, value)
        if name == "data":
            self.values["query"] = None
            self.others = {}
            if value == UPLOAD and self.uploaded is not None:
                self.others = {_PRINT: self.uploaded.identity.partition(":")[2]}
        if name in _GROWS_ANEW:
            self.values["step"] = self.values["state"] = None

    def take_run(self, link: str) -> None:
        """Show the model of a run on the Grow page; `link` is empty if there is none."""
        self.choose("data", RUN)
        self.others = {RUN: link} if link else {}

    @property
    def awaits_file(self) -> bool:
        """Whether uploaded data are chosen, but no file has been uploaded."""
        return self.options.data == UPLOAD and self.uploaded is None

    def accept(self, uploaded: ShownModel) -> None:
        """Use an uploaded file as the model of the page."""
        if self.uploaded is not None and uploaded.identity == self.uploaded.identity:
            return
        is_first, self.uploaded = self.uploaded is None, uploaded
        if not is_first:
            self.choose("data", UPLOAD)  # what was asked of the model before does not apply
        self.others = {_PRINT: uploaded.identity.partition(":")[2]}

    def forget(self) -> None:
        """Let go of what was computed of an own model; it is there again when it is asked for."""
        for model in (self.uploaded, self.shown):
            if model is not None and model.own is not None:
                model.own.clear()

    # -------------------------------------------------------------------------------- the model

    def refresh(self) -> ShownModel | None:
        """Make the model follow the choices; what cannot be used leaves the last one on show."""
        self.problem = ""
        try:
            model = self._load(self)
        except InputError as error:
            self.problem = str(error)
            return self.shown
        if model is not None:
            self.shown = model
            self._check_places(model)
        return self.shown

    def begin_whole(self, work: Background[Any]) -> None:
        """Let work on the whole graph go on; that on another model is no longer waited for."""
        self.jobs.turn_to(work)

    def _check_places(self, model: ShownModel) -> None:
        """Ignore a query, state or step that does not exist, with a sentence."""
        options, values = self.options, self.values
        n = model.model.n_variables
        if options.query is not None and options.query >= n:
            self.ignore(
                "query",
                f"No variable {options.query}: this model has the variables 0 … {n - 1}. Using the "
                "default query.",
            )
        states = int(model.model.cardinalities[self.query])
        if options.state is not None and options.state >= states:
            values["state"] = None
            # The browser may report a state of the variable before.
            if self.is_from_link:
                self.ignore(
                    "state",
                    f"No state {options.state}: {short(model.model.names[self.query])} has the "
                    f"states 0 … {states - 1}; ignored.",
                )
        if options.step is not None and options.step >= options.size and self.is_from_link:
            self.ignore(
                "step",
                f"No step {options.step}: a region of at most {plural(options.size, 'node')} ends "
                f"at step {options.size - 1}; ignored.",
            )

    @property
    def query(self) -> int:
        """The variable that is asked about, in the model on show."""
        chosen = self.values["query"]
        assert self.shown is not None
        n = self.shown.model.n_variables
        return self.shown.usual_query if chosen is None or chosen >= n else int(chosen)

    def set_query(self, text: str) -> None:
        """Set the query from a number or a name; report an unknown one."""
        if self.shown is None:
            return
        plain = text.strip()
        names = set(self.shown.model.names)
        try:
            is_number = plain.isdecimal() and plain not in names
            query = self.shown.model.index_of(int(plain[:9]) if is_number else plain)
        except InputError as error:
            self.complaints = (str(error),)
            return
        self.choose("query", query)
