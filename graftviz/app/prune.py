"""Prune page: forced pruning, exchange by exchange.

The page shows three runs that differ only in the deletion rule; the graph shows one of them. The
header holds their common data (variables, positions, tree); every exchange is a record, as
described in docs/player.md.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property, partial
from types import MappingProxyType
from typing import Any, ClassVar

import numpy as np

from graftviz.app.controls import show_data, show_learner_options
from graftviz.app.jobs import Queue
from graftviz.app.material import Material
from graftviz.app.runs import SessionRun
from graftviz.app.session import material, page_state, queue
from graftviz.app.state import Entry, Load, SideBySidePage
from graftviz.app.url import MAX_STEP, DataOptions, LearnerChoice, data_option, part, texts
from graftviz.learning.pruning.contributions import contributions_of
from graftviz.learning.pruning.forced_pruning import HEURISTICS, ForcedPruning
from graftviz.learning.pruning.structure_fit import Rows, rows_of
from graftviz.reports.layout import ring_layout
from graftviz.reports.replay import plain
from graftviz.reports.results import Run
from graftviz.reports.words.learners import exchange_step
from graftviz.reports.words.outcomes import remark_words
from graftviz.reports.words.phrases import plural
from graftviz.utils.options import attributes, option, option_specs


@dataclass(frozen=True)
class PruneOptions(DataOptions):
    """Settings of the page.

    Attributes
    ----------
    options : mapping
        Options of forced pruning that differ from the defaults of the page.
    """

    data: str = data_option("survey")
    options: Mapping[str, Any] = part({}, lambda link, _: link.take_options(ForcedPruning), texts)
    step: int = option(0, "Step that is shown", minimum=0, maximum=MAX_STEP)


# ---------------------------------------------------------------------------------------- the state


# Some exchanges, of a few edges each, make three runs that can be watched and compared in class.
PAGE_DEFAULTS = MappingProxyType({"exchanges": 20})


class PruneState(SideBySidePage):
    """Settings and runs of the Prune page in one session.

    Parameters
    ----------
    load : callable
        ``load(key, seed)`` returns the :class:`Material` of a built-in data set.
    queue : Queue
    """

    resets: ClassVar = {"data": ("fingerprint", "reading", "step"), "fingerprint": ("step",)}
    first_credit = 200

    def __init__(self, load: Load, queue: Queue) -> None:
        super().__init__(PruneOptions, PruneRun, load, queue, places=("step",))

    def place(self) -> Mapping[str, Any]:
        """Return rule and step, and the number of the link that set them."""
        return {"heuristic": self.heuristic, "visit": self.visit, "step": self.values["step"]}

    def check_place(self) -> bool:
        """Replace a step of a link that the shown run does not have."""
        run = self.runs.get(self.heuristic)
        return run is not None and run.ended and self.check_step(run.computed)

    # --------------------------------------------------------------------------------- settings

    def choose(self, name: str, value: Any) -> None:
        """Set an option; numbers of edges and clusters do not apply to other data."""
        if name == "data":
            options = self.values["options"].items()
            others = {key: old for key, old in options if key not in ("max_edges", "clusters")}
            self.values["options"] = others
        super().choose(name, value)

    def choose_heuristic(self, choice: Mapping[str, Any]) -> bool:
        """Show the run of another rule; return whether it is another one."""
        is_other = choice.get("key") in HEURISTICS and choice["key"] != self.heuristic
        if is_other:
            self.choose("heuristic", choice["key"])
        return is_other

    @property
    def choice(self) -> LearnerChoice:
        """Forced pruning and its chosen options."""
        return LearnerChoice(ForcedPruning.name, self.values["options"])

    def defaults(self, choice: LearnerChoice) -> dict[str, Any]:
        """Return the default value of every option."""
        return {**super().defaults(choice), **PAGE_DEFAULTS}

    @property
    def heuristic(self) -> str:
        """Rule of the run in the graph."""
        return str(self.learner_options(self.choice)["heuristic"])

    front = heuristic

    # --------------------------------------------------------------------------------- the runs

    def _planned_runs(self, material: Material) -> tuple[Entry, ...]:
        return tuple(Entry(rule, self._plan(self._learner(rule), material)) for rule in HEURISTICS)

    def _learner(self, heuristic: str) -> ForcedPruning:
        return ForcedPruning(**{**self.learner_options(self.choice), "heuristic": heuristic})

    def _header(
        self, entries: tuple[Entry, ...], token: str, material: Material
    ) -> Mapping[str, Any]:
        learner, seed = self._learner(self.heuristic), self.values["seed"]
        runs = {entry.name: entry.run.token for entry in entries if entry.run is not None}
        return prune_header(material, learner, seed, token, runs)


def prune_state() -> PruneState:
    """Return the state of the Prune page in this session."""
    return page_state("prune", lambda: PruneState(material, queue()))


# -------------------------------------------------------------------------------------- the records


number = partial(plain.number, digits=7)
numbers = partial(plain.numbers, digits=7)
MOST_RANKED = 400  # maximum number of edges of a ranking, those of smallest contribution
MOST_ON_A_RING = 40  # variables; their names find room there, and no edge runs through a node
MOST_TICKS = 2000  # maximum number of parameters on the strip, evenly selected


def prune_header(
    material: Material, learner: ForcedPruning, seed: int, token: str, runs: Mapping[str, str]
) -> dict[str, Any]:
    """Return the data common to all runs of the page.

    Parameters
    ----------
    material : Material
    learner : ForcedPruning
        That of one of the runs, which differ in the rule of deletion only.
    seed : int
    token : str
        Identifier of the runs.
    runs : mapping
        Rule → identifier of its run, in the order of the legend.
    """
    n = material.train.n_variables
    edges = learner.model_edges(n, int(material.train.varying.sum()))
    return {
        "token": token,
        "title": material.title,
        **plain.placed_nodes(
            material.train.names,
            _places(material),
            has_natural_positions=material.positions is not None,
        ),
        "tree": np.sort(material.tree, axis=1).tolist(),
        "runs": [
            {"run": run, "heuristic": rule, "name": HEURISTICS[rule]} for rule, run in runs.items()
        ],
        "facts": [
            f"{material.train.n_rows:,} training rows",
            f"M = {edges:,} edges",
            f"k = {learner.exchange_size(edges):,} per exchange",
            f"at most {plural(learner.exchanges, 'exchange')}",
            f"seed {seed}",
        ],
        "note": " ".join(material.warnings),
    }


def _places(material: Material) -> np.ndarray:
    """Return the places of the variables; they do not depend on options."""
    if material.positions is None and 0 < material.train.n_variables <= MOST_ON_A_RING:
        return ring_layout(material.train.n_variables, material.tree)
    return material.places


def prune_record(run: Run, t: int, rows: Rows) -> dict[str, Any]:
    """Return the record of step `t`.

    Parameters
    ----------
    run : Run
        Run of :class:`graftviz.ForcedPruning`.
    t : int
    rows : Rows
        Training rows of the run.

    Returns
    -------
    dict
        ``rank`` holds the contributions of all edges in ascending order: of the model before the
        exchange, and in steps without an exchange of the model of the step. Parameters are sorted
        by untied value, and ``which`` holds the index of the centre of each.
    """
    step, metrics = run.steps[t - 1], run.metrics[t - 1]
    exchange = step.exchange
    assert exchange is not None  # every step of the learner has one
    order = np.argsort(exchange.values, kind="stable")
    shown = order
    if len(order) > MOST_TICKS:
        shown = order[np.linspace(0, len(order) - 1, MOST_TICKS).astype(int)]
    return {
        "t": t,
        **attributes(exchange, "kind", "tree", "required", "tries", "accepted", "fallback"),
        "isRequired": step.required,
        "words": " ".join(exchange_step(step, run.table.names)),
        "notes": [remark_words(note) for note in step.notes],
        "edges": step.n_edges,
        "removed": exchange.removed.tolist(),
        "contributions": numbers(exchange.contributions),
        "added": exchange.added.tolist(),
        "gains": numbers(exchange.gains),
        "before": number(exchange.before),
        "after": number(exchange.after),
        "best": number(exchange.best),
        "recall": number(metrics.recall),
        "precision": number(metrics.precision),
        "rank": _ranking(run, t, rows),
        "parameters": len(order),
        "values": numbers(exchange.values[shown]),
        "which": exchange.assignment[shown].tolist(),
        "centres": numbers(exchange.centres),
        "sizes": np.bincount(exchange.assignment, minlength=len(exchange.centres)).tolist(),
    }


def _ranking(run: Run, t: int, rows: Rows) -> list[list[float]]:
    """Return [i, j, contribution] of the edges that step `t` could exchange, or has."""
    step = run.steps[t - 1]
    is_exchange = step.exchange is not None and step.exchange.kind == "exchange"
    model = (run.steps[t - 2] if is_exchange else step).model()
    _, contributions = contributions_of(model, rows)
    least = np.argsort(contributions.total, kind="stable")[:MOST_RANKED]
    return [
        [int(i), int(j), number(contribution) or 0.0]
        for (i, j), contribution in zip(model.edges[least], contributions.total[least], strict=True)
    ]


class PruneRun(SessionRun):
    """Run of forced pruning."""

    @cached_property
    def _rows(self) -> Rows:
        return rows_of(self.run.table)

    def forget(self) -> None:
        """Release all memory of the run; only its name remains."""
        super().forget()
        self.__dict__.pop("_rows", None)

    def header(self) -> Mapping[str, Any]:
        """Return token and initial likelihood of the run; called after the first step."""
        first = self.run.steps[0].exchange if self.run.steps else None
        return {"run": self.token, "before": None if first is None else number(first.before)}

    def record(self, t: int) -> Mapping[str, Any]:
        """Return the record of step `t`."""
        return prune_record(self.run, t, self._rows)

    def outcome(self) -> Mapping[str, Any]:
        """Return how the run ended."""
        outcome = self.run.outcome
        assert outcome is not None  # called only after the end of the run
        return {"steps": len(self.run.steps), "stop_reason": remark_words(outcome.stop_reason)}


# --------------------------------------------------------------------------------------- the panels


_FIRST = ("max_edges", "exchange", "heuristic", "clusters")
_THEN = ("beta",)


def show_pruning_choices(state: PruneState, *, is_ready: bool) -> None:
    """Show data, the learner's options and the seed; the most important ones first."""
    show_data(state, "prune")
    specs = {spec.name: spec for spec in option_specs(ForcedPruning)}
    first = [specs[name] for name in _FIRST]
    then = [specs[name]._replace(advanced=False) for name in _THEN]
    rest = [
        spec._replace(advanced=True)
        for name, spec in specs.items()
        if name not in (*_FIRST, *_THEN)
    ]
    seed = state.specs["seed"]._replace(advanced=True)
    groups = (first, [*then, *rest, seed])
    show_learner_options(state, groups, "prune.option", is_ready=is_ready)
