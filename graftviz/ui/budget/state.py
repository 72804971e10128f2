"""Session state of the Budget page: options, the current run, the previous run.

Independent of Streamlit.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from graftviz.errors import InputError
from graftviz.ui.background import Background
from graftviz.ui.budget.jobs import Path, RunProgress
from graftviz.ui.budget.options import BOUNDS, PLACES, BudgetOptions, slider_of
from graftviz.ui.frame.state import OptionsPage

AT_ONCE = 2  # models of the charts that are learned side by side
_ANOTHER_RUN = ("data", "complexity", "bound", "lam2", "seed")
RunOf = Callable[[BudgetOptions, float | None], Background[RunProgress]]
PathOf = Callable[[BudgetOptions], Background[Path]]


class BudgetState(OptionsPage[BudgetOptions]):
    """Choices of one session, and the runs they led to.

    Parameters
    ----------
    run_of : callable
        Returns the run that settings lead to, or the same one under another bound.
    path_of : callable
        Returns the λ path that its models are compared with.

    Attributes
    ----------
    shown : BudgetOptions or None
        The choices that led to the run on show.
    before : BudgetOptions or None
        Those of the run before, on the same data: it is shown as a ghost.
    """

    def __init__(self, run_of: RunOf, path_of: PathOf) -> None:
        super().__init__(BudgetOptions, PLACES)
        self.shown: BudgetOptions | None = None
        self.before: BudgetOptions | None = None
        self._run_of = run_of
        self._path_of = path_of
        self._refused: BudgetOptions | None = None

    def _check_link(self) -> None:
        options = self.options
        spec = slider_of(options.complexity)
        assert spec.minimum is not None
        assert spec.maximum is not None
        is_whole = spec.kind != "int" or float(options.tau).is_integer()
        if not (spec.minimum <= options.tau <= spec.maximum and is_whole):
            kind = "a whole number" if spec.kind == "int" else "a number"
            self.ignore(
                "bound",
                f"τ = {options.tau:g} is invalid for {options.complexity}: it must be {kind} from "
                f"{spec.minimum:g} to {spec.maximum:g}. Using {spec.default:g}.",
            )

    def choose(self, name: str, value: Any) -> None:
        """Set one option; another run is watched from its start."""
        if name == "bound" and value == BOUNDS[self.values["complexity"]].usual:
            value = None
        super().choose(name, value)
        if name == "complexity":
            self.values["bound"] = None
        if name in _ANOTHER_RUN:
            self.values["step"] = None

    # --------------------------------------------------------------------------------- the runs

    def refresh(self) -> Background[RunProgress] | None:
        """Make the run on show follow the choices; one that cannot be had leaves the last."""
        options = self.options
        if self._is_another(options) and not self._has_refused(options):
            self.problem = ""
            try:
                work = self._run_of(options, None)
            except InputError as error:
                self._refuse(options, str(error))
            else:
                self._take(options, work)
        return self.run

    @property
    def run(self) -> Background[RunProgress] | None:
        """The run on show, at work unless it has ended; None before there is any."""
        if self.shown is None:
            return None
        work = self._run_of(self.shown, None)
        if work.failure and work.latest is None:
            self._refuse(self.shown, work.failure)
            self.shown, self.before = self.before, None
            return self.run
        self.jobs.begin(work)
        return work

    @property
    def ghost(self) -> RunProgress | None:
        """How the run before ended, as far as it went."""
        return None if self.before is None else self._run_of(self.before, None).latest

    def _take(self, options: BudgetOptions, work: Background[RunProgress]) -> None:
        if self.shown is not None:
            same = (self.shown.data, self.shown.seed) == (options.data, options.seed)
            has_steps = self._run_of(self.shown, None).latest is not None
            self.before = self.shown if same and has_steps else None
            self.jobs.leave()
        self.shown, self._refused = options, None

    def _is_another(self, options: BudgetOptions) -> bool:
        return self.shown is None or _key(options) != _key(self.shown)

    def _has_refused(self, options: BudgetOptions) -> bool:
        return self._refused is not None and _key(options) == _key(self._refused)

    def _refuse(self, options: BudgetOptions, why: str) -> None:
        self._refused, self.problem = options, why

    # ------------------------------------------------------------------------------- the charts

    def ladder(self) -> tuple[float, ...]:
        """Return the bounds whose models are compared, the one on show among them."""
        if self.shown is None:
            return ()
        return tuple(sorted({*BOUNDS[self.shown.complexity].ladder, self.shown.tau}))

    def compared(self) -> tuple[list[RunProgress], Path | None, bool]:
        """Return the finished runs of the ladder, the λ path, and whether all of it is there.

        What is missing is begun, two at a time: the run on show first, then the other bounds from
        the smallest on, then the path.
        """
        if self.shown is None:
            return [], None, False
        shown = self.shown
        bounds = sorted(self.ladder(), key=lambda bound: bound != shown.tau)
        runs = [self._run_of(shown, bound) for bound in bounds]
        path = self._path_of(shown)
        everything: list[Background[Any]] = [*runs, path]
        missing = [work for work in everything if not work.ended]
        for work in missing[:AT_ONCE]:
            self.jobs.begin(work)
        results = [work.latest for work in runs if work.ended and work.latest is not None]
        return results, path.latest, not missing


def _key(options: BudgetOptions) -> tuple[Any, ...]:
    return tuple(getattr(options, name) for name in _ANOTHER_RUN)
