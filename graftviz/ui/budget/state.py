"""Session state of the Budget page: options, the run on show, and what it is compared with."""

from __future__ import annotations

from typing import Any, NamedTuple

from graftviz.learners.bounded_inference import MEASURES, BoundedInference
from graftviz.narrative.budget import amount
from graftviz.narrative.phrases import plural
from graftviz.player.budget_records import budget_graph
from graftviz.ui.background import Background
from graftviz.ui.budget.options import BOUNDS, PLACES, RESETS, BudgetOptions, slider_of
from graftviz.ui.budget.records import (
    BudgetMaterial,
    Path,
    RunProgress,
    bounded_run,
    l1_path,
    source,
)
from graftviz.ui.frame.live import RunPage

AT_ONCE = 2  # models of the charts that are learned side by side


class Compared(NamedTuple):
    """Finished runs of the ladder, the λ path so far, and whether that is all."""

    runs: list[RunProgress]
    path: Path
    is_complete: bool


class Shown(NamedTuple):
    """Settings of the run on show, and its data."""

    options: BudgetOptions
    source: BudgetMaterial


class BudgetState(RunPage[BudgetOptions, Shown, RunProgress]):
    """Choices of one session, and the runs they led to."""

    resets = RESETS

    def __init__(self) -> None:
        super().__init__(BudgetOptions, PLACES)

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
        is_usual = name == "bound" and value == BOUNDS[self.values["complexity"]].usual
        super().choose(name, None if is_usual else value)

    def _load(self) -> Shown:
        options = self.options
        return Shown(options, source(options.data, options.seed))

    def job_of(self, shown: Shown, bound: float | None = None) -> Background[RunProgress]:
        """Return the run of settings, or the same one under another bound."""
        options = shown.options
        tau = options.tau if bound is None else bound
        learner = BoundedInference(options.complexity, float(tau), lam2=options.lam2)
        return bounded_run(shown.source, learner)

    def path_of(self, shown: Shown) -> Background[Path]:
        """Return the λ path that the models of settings are compared with."""
        options = shown.options
        return l1_path(shown.source, options.lam2, BOUNDS[options.complexity].method)

    # ------------------------------------------------------------------------------- the view

    def graph(self, shown: Shown) -> dict[str, Any]:
        """Return names and places of the variables."""
        data, places = shown.source.material, shown.source.places
        is_known = data.positions is not None
        return budget_graph(data.train.names, places, data.identity, has_natural_positions=is_known)

    def message_parts(self, shown: Shown, found: RunProgress, failure: str) -> dict[str, Any]:
        """Return the parts of a message other than steps and graph."""
        options = shown.options
        measure, bound = MEASURES[options.complexity], amount(options.tau, options.complexity)
        run = {
            "tau": options.tau,
            "tauText": bound,
            "measure": measure,
            "whole": BOUNDS[options.complexity].whole,
            "title": f"{shown.source.material.title}: {measure} ≤ {bound}",
            "done": bool(found.stop or failure),
            "stop": failure or found.stop,
            "infeasible": found.infeasible,
            "ghost": self._ghost_record(options),
        }
        return {"run": run}

    @property
    def ghost(self) -> RunProgress | None:
        """How the run before ended, as far as it went; None if its data were others."""
        before, shown = self.before, self.shown
        if before is None or shown is None or before.source.identity != shown.source.identity:
            return None
        return self.job_of(before).latest

    def _ghost_record(self, options: BudgetOptions) -> dict[str, Any] | None:
        """Return the run before: edges, values of R if the measure is the same, and a sentence."""
        ghost = self.ghost
        if ghost is None or self.before is None:
            return None
        before = self.before.options
        nll = ghost.steps[-1]["nll"]
        quality = "" if nll is None else f", held-out NLL {nll:.3f}"
        is_alike = before.complexity == options.complexity
        return {
            "edges": [step["edge"] for step in ghost.steps[1:]],
            "course": [step["value"] for step in ghost.steps] if is_alike else [0.0],
            "words": (
                f"Previous run, τ = {amount(before.tau, before.complexity)} "
                f"({MEASURES[before.complexity]}): {plural(len(ghost.steps) - 1, 'edge')}{quality}."
            ),
        }

    # ------------------------------------------------------------------------------- the charts

    def ladder(self, options: BudgetOptions) -> list[float]:
        """Return the bounds whose models are compared, the one on show first."""
        others = [tau for tau in BOUNDS[options.complexity].ladder if tau != options.tau]
        return [options.tau, *others]

    def compared(self) -> Compared:
        """Return what the charts compare.

        What is missing is begun, two at a time: the run on show first, then the other bounds from
        the smallest on, then the path.
        """
        shown = self.shown
        if shown is None:
            return Compared([], Path(), False)
        runs = [self.job_of(shown, bound) for bound in self.ladder(shown.options)]
        path = self.path_of(shown)
        jobs: list[Background[Any]] = [*runs, path]
        missing = [job for job in jobs if not job.ended]
        for job in missing[:AT_ONCE]:
            self.jobs.begin(job)
        finished = [job.latest for job in runs if job.ended and job.latest is not None]
        return Compared(finished, path.latest or Path(), not missing)
