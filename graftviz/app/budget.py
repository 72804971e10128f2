"""Budget page: learning under a bound on the cost of inference."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, NamedTuple

import numpy as np
import streamlit as st

from graftviz.app.controls import show_option, show_settings, show_until
from graftviz.app.files import learn_menu, model_files, show_figure
from graftviz.app.frame import ModelMenu, PageFile
from graftviz.app.jobs import Job
from graftviz.app.material import (
    UPLOAD,
    Material,
    RunCheck,
    SourceCache,
    UploadedTable,
    judge,
    prepare,
)
from graftviz.app.runs import Loaded
from graftviz.app.session import material, shared_job
from graftviz.app.state import RunPage, with_reading
from graftviz.app.url import fingerprint_part, reading_part, seed_option, step_option
from graftviz.data.sets.registry import DENSE, DENSE_TITLE, dataset_title, dense_network
from graftviz.data.table import DiscreteTable
from graftviz.evaluation.tradeoff import (
    BOUNDS,
    COSTS,
    QUALITIES,
    MeasuredPath,
    TradeOff,
    at_equal_cost,
    measuring,
    measuring_path,
)
from graftviz.inference.exact.ordering import junction_tree_of
from graftviz.inference.exact.structure import plan_elimination
from graftviz.inference.likelihood import nll
from graftviz.inference.methods import Method
from graftviz.learning.bounded.bounded_inference import MEASURES, BoundedInference, Complexity, Norm
from graftviz.learning.trace import Step
from graftviz.model.pairwise import PairwiseModel
from graftviz.reports.figures.budget import partition_figure, quality_figure
from graftviz.reports.files.table_csv import table_csv
from graftviz.reports.files.tables import bounded_steps_csv
from graftviz.reports.layout import layout_near, level_layout
from graftviz.reports.replay.plain import number, placed_nodes
from graftviz.reports.results import Run
from graftviz.reports.texts import catalogue
from graftviz.reports.words.learners import (
    amount,
    bounded_start_words,
    bounded_step_words,
    comparison_words,
    error_words,
    nothing_fits_words,
    previous_run_words,
)
from graftviz.utils.errors import InputError
from graftviz.utils.options import OptionSpec, check_options, option, option_of, option_specs
from graftviz.utils.wording import plain

_SAMPLES = ("survey", "random-30", "karate")


@dataclass(frozen=True)
class BudgetOptions:
    """Settings of the page; all of them are part of its URL."""

    data: str = option(
        DENSE,
        "data to learn from",
        label="Data",
        choices=(DENSE, *_SAMPLES, UPLOAD),
        titles=(DENSE_TITLE, *map(dataset_title, _SAMPLES), "Your own data…"),
    )
    fingerprint: str = fingerprint_part()
    reading: Mapping[str, Any] = reading_part()
    complexity: Complexity = option_of(BoundedInference, "complexity")
    bound: float | None = option_of(BoundedInference, "bound")
    lam2: float = option_of(BoundedInference, "lam2")
    lam1: float = option_of(BoundedInference, "lam1")
    norm: Norm = option_of(BoundedInference, "norm")
    seed: int = seed_option("random seed of the network and its rows, or of the held-out rows")
    quality: str = option(
        QUALITIES[0],
        "accuracy on held-out rows: negative log-likelihood of whole rows (NLL), of half of each "
        "row given the other half (NCMLL), or of each value given all others (NLPL)",
        label="Quality",
        choices=QUALITIES,
        titles=tuple(map(str.upper, QUALITIES)),
    )
    cost: str = option(
        "operations",
        "cost of all marginals of one and of two variables: processor seconds on this server, or "
        "number of operations",
        label="Cost",
        choices=COSTS,
    )
    step: int | None = step_option()

    def __post_init__(self) -> None:
        check_options(self)

    @property
    def tau(self) -> float:
        """The chosen bound, or the default."""
        return BOUNDS[self.complexity].usual if self.bound is None else float(self.bound)


def slider_of(complexity: str) -> OptionSpec:
    """Return the spec of the slider of τ for a measure."""
    bound = BOUNDS[complexity]
    specs = {spec.name: spec for spec in option_specs(BudgetOptions)}
    return specs["bound"]._replace(
        kind="int" if bound.whole else "float",
        minimum=bound.least,
        maximum=bound.most,
        above=None,
        default=bound.usual,
        scale="linear" if bound.whole else "log",
        none_means="",  # always a number here, so that the control is a slider
    )


# ---------------------------------------------------------------------------------------- the state


MODELS_AT_A_TIME = 2  # models of the charts that are learned side by side


@dataclass(frozen=True, eq=False)
class BudgetMaterial:
    """Training rows, held-out rows, and positions of the variables.

    Attributes
    ----------
    material : Material
    model : PairwiseMRF or None
        The model that the rows were drawn from, where it is known.
    """

    material: Material
    model: PairwiseModel | None = None

    @property
    def own(self) -> SourceCache | None:
        """Cache of the jobs on an uploaded table; None for built-in data."""
        return self.material.own

    @property
    def identity(self) -> str:
        """Equal for equal data."""
        return self.material.identity

    @property
    def judged(self) -> DiscreteTable:
        """The held-out rows; where there are none, the training rows."""
        return self.material.test or self.material.train

    @cached_property
    def places(self) -> np.ndarray:
        """Positions of the variables, shape (n, 2); 0 … 10000."""
        places, is_natural = self.material.places, self.material.positions is not None
        return places if is_natural else level_layout(places)


@st.cache_resource(show_spinner="Loading the data…", max_entries=24)
def source(data: str, seed: int) -> BudgetMaterial:
    """Return the data to learn from."""
    return dense_material(seed) if data == DENSE else BudgetMaterial(material(data, seed))


def dense_material(seed: int, **size: int) -> BudgetMaterial:
    """Return a dense network; `size` are arguments of :func:`dense_network`."""
    data, model = dense_network(seed, **size)
    return BudgetMaterial(prepare(data, seed), model)


def pathing(source: BudgetMaterial, lam2: float, method: Method) -> Iterator[MeasuredPath]:
    """Measure the true model where it is known, and the λ path."""
    train, truth = source.material.train, source.model
    return measuring_path(train, source.judged, lam2=lam2, method=method, truth=truth)


class ComparedBudgets(NamedTuple):
    """Finished runs of the ladder, the λ path so far, and whether that is all."""

    runs: list[BoundedProgress]
    path: MeasuredPath
    is_complete: bool


class ShownBudget(NamedTuple):
    """Settings, data and learner of the shown run."""

    options: BudgetOptions
    source: BudgetMaterial
    learner: BoundedInference


class BudgetState(RunPage):
    """Choices of one session, and the runs they led to."""

    resets: ClassVar = {
        **dict.fromkeys(("fingerprint", "reading", "bound", "lam2", "lam1", "norm"), ("step",)),
        "seed": ("step",),
        "data": ("step", "fingerprint", "reading"),
        "complexity": ("step", "bound"),
    }
    uploaded: UploadedTable | None

    def __init__(self) -> None:
        super().__init__(BudgetOptions, places=("step",))

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
        if self.values["data"] == UPLOAD:
            name, value = with_reading(self.values, name, value)
        is_usual = name == "bound" and value == BOUNDS[self.values["complexity"]].usual
        super().choose(name, None if is_usual else value)

    def _resolve(self) -> ShownBudget | None:
        options = self.options
        data, learner = self._source(options), self.learner_of(options)
        if data is None:
            return None
        learner.check(data.material.train)
        shown = ShownBudget(options, data, learner)
        if data.own is None or self.is_on_show(shown):
            return shown
        verdict = judge(data.material.train, learner)
        return shown if self._may_begin((data.identity, learner), verdict) else None

    def _source(self, options: BudgetOptions) -> BudgetMaterial | None:
        """Return the data of the settings; None before an upload."""
        if options.data != UPLOAD:
            return source(options.data, options.seed)
        if self.uploaded is None:
            return None
        prepared = self.uploaded(options.seed)
        assert prepared.own is not None  # it is uploaded
        return prepared.own.get(("budget", prepared.identity), lambda: BudgetMaterial(prepared))

    def learner_of(self, options: BudgetOptions) -> BoundedInference:
        """Return the learner of settings."""
        return BoundedInference(
            options.complexity,
            float(options.tau),
            lam2=options.lam2,
            lam1=options.lam1,
            norm=options.norm,
        )

    def job_of(self, shown: ShownBudget, bound: float | None = None) -> Job[BoundedProgress]:
        """Return the run of settings, or the same one under another bound."""
        learner = shown.learner if bound is None else replace(shown.learner, bound=float(bound))
        return bounded_job(shown.source, learner)

    def path_of(self, shown: ShownBudget) -> Job[MeasuredPath]:
        """Return the λ path that the models of settings are compared with."""
        options = shown.options
        return l1_path(shown.source, options.lam2, BOUNDS[options.complexity].method)

    # ------------------------------------------------------------------------------- the view

    def graph(self, shown: ShownBudget) -> dict[str, Any]:
        """Return names and places of the variables."""
        data = shown.source.material
        is_natural = data.positions is not None
        nodes = placed_nodes(
            data.train.names, shown.source.places, has_natural_positions=is_natural
        )
        return {"id": data.identity, **nodes}

    def last_step(self, found: BoundedProgress) -> int:
        """Return the number of added edges; step 0 is the model without edges."""
        return len(found.steps) - 1

    def message_parts(
        self, shown: ShownBudget, found: BoundedProgress, failure: str
    ) -> dict[str, Any]:
        """Return the parts of a message other than steps and graph."""
        before, ghost = self.before, self.ghost
        previous = (before.learner, ghost) if before is not None and ghost is not None else None
        title = shown.source.material.title
        return {"run": run_record(title, shown.learner, found, failure=failure, before=previous)}

    @property
    def ghost(self) -> BoundedProgress | None:
        """State of the previous run; None if its data were different."""
        before, shown = self.before, self.shown
        if before is None or shown is None or before.source.identity != shown.source.identity:
            return None
        return self.job_of(before).latest

    # ------------------------------------------------------------------------------- the charts

    def ladder(self, shown: ShownBudget) -> list[float]:
        """Return the bounds of the compared models, that of the shown run first.

        On an uploaded table, bounds whose models would take too long are left out.
        """
        options, own, learner = shown.options, shown.source.own, shown.learner
        others = [tau for tau in BOUNDS[options.complexity].ladder if tau != options.tau]
        if own is not None:
            table = shown.source.material.train
            others = own.get(
                ("ladder", learner),
                lambda: [
                    tau for tau in others if judge(table, replace(learner, bound=tau)) == RunCheck()
                ],
            )
        return [options.tau, *others]

    def compared(self) -> ComparedBudgets:
        """Return the models of the charts.

        Missing ones are started, two at a time: the shown run first, then the other bounds from
        the smallest on, then the path.
        """
        shown = self.shown
        if shown is None:
            return ComparedBudgets([], MeasuredPath(), False)
        runs = [self.job_of(shown, bound) for bound in self.ladder(shown)]
        path = self.path_of(shown)
        jobs: list[Job[Any]] = [*runs, path]
        missing = [job for job in jobs if not job.ended]
        for job in missing[:MODELS_AT_A_TIME]:
            self.jobs.begin(job)
        finished = [job.latest for job in runs if job.ended and job.latest is not None]
        return ComparedBudgets(finished, path.latest or MeasuredPath(), not missing)


# -------------------------------------------------------------------------------------- the records


# Entries of tables up to which the likelihood is computed after every step, not only at the end.
_QUICK_ENTRIES = 300_000


@dataclass(frozen=True)
class BoundedProgress:
    """Run under a bound so far.

    Attributes
    ----------
    steps : tuple of dict
        The records of the steps; the first is the model without edges.
    stop : str
        Stop reason; empty before the end.
    infeasible : int or None
        Pairs found to exceed τ when the run had ended, those tried last included.
    point : TradeOff or None
        Quality and cost of the final model, once it has been measured.
    unmeasured : str
        Why it was not; empty if it was, or will be.
    model : PairwiseMRF or None
        The learned model, once the run has ended.
    """

    steps: tuple[dict[str, Any], ...]
    stop: str = ""
    infeasible: int | None = None
    point: TradeOff | None = None
    unmeasured: str = ""
    model: PairwiseModel | None = None


def run_progress(source: BudgetMaterial, learner: BoundedInference) -> Iterator[BoundedProgress]:
    """Learn under a bound step by step, then measure the model."""
    complexity, bound = learner.complexity, learner.bound
    assert isinstance(complexity, str)
    assert bound is not None  # the page always decides both
    judged = source.judged
    run = Run(source.material.train, learner, seed=0)
    steps: tuple[dict[str, Any], ...] = ()
    goes_on = True
    while goes_on:
        goes_on = run.advance()
        latest = run.steps[-1] if goes_on else run.outcome
        assert latest is not None  # one of the two
        start = latest.history.start
        if not steps:
            steps = (start_step(source, complexity, bound, _quick_nll(start, judged)),)
        if goes_on:
            quality = _quick_nll(run.steps[-1].model(), judged)
            steps += (bounded_step(run.steps[-1], source, steps[-1], quality),)
            yield BoundedProgress(steps)
    assert run.outcome is not None  # it has ended
    model, stop = start, nothing_fits_words(complexity, bound)
    if run.steps:
        model, stop = run.result().model, run.result().stop_reason
    progress = BoundedProgress(steps, stop, run.outcome.infeasible, model=model)
    yield progress
    try:
        for point in measuring(model, judged, "bounded", bound, BOUNDS[complexity].method):
            yield replace(progress, point=point)
    except InputError as error:
        yield replace(progress, unmeasured=str(error))


def _quick_nll(model: PairwiseModel, rows: DiscreteTable) -> float | None:
    """Return the likelihood where it costs next to nothing, else None."""
    plan = plan_elimination(model)
    return nll(model, rows) if plan.total_entries <= _QUICK_ENTRIES else None


bounded_job = shared_job(200)(run_progress)
l1_path = shared_job(60)(pathing)


def run_record(
    title: str,
    learner: BoundedInference,
    found: BoundedProgress,
    *,
    failure: str = "",
    before: tuple[BoundedInference, BoundedProgress] | None = None,
) -> dict[str, Any]:
    """Return a run without its steps.

    Parameters
    ----------
    title : str
        Title of the data set.
    learner : BoundedInference
    found : BoundedProgress
    failure : str
        Reason if the run stopped before its end.
    before : (BoundedInference, BoundedProgress), optional
        The previous run on the same data, which is drawn as a ghost.
    """
    complexity, bound = str(learner.complexity), float(learner.bound or 0.0)
    measure, text = MEASURES[complexity], amount(bound, complexity)
    return {
        "tau": bound,
        "tauText": text,
        "measure": measure,
        "whole": BOUNDS[complexity].whole,
        "title": f"{title}: {measure} ≤ {text}",
        "done": bool(found.stop or failure),
        "stop": failure or found.stop,
        "infeasible": found.infeasible,
        "ghost": None if before is None else _ghost(*before, complexity),
    }


def _ghost(learner: BoundedInference, found: BoundedProgress, complexity: str) -> dict[str, Any]:
    """Return edges, values of R if the measure is the same, and a sentence."""
    own, bound, last = str(learner.complexity), float(learner.bound or 0.0), found.steps[-1]
    return {
        "edges": [step["edge"] for step in found.steps[1:]],
        "course": [step["value"] for step in found.steps] if own == complexity else [0.0],
        "words": previous_run_words(bound, own, len(found.steps) - 1, last["nll"]),
    }


def start_step(
    source: BudgetMaterial, measure: str, bound: float, nll: float | None
) -> dict[str, Any]:
    """Return the model without edges as a step, with one clique per variable.

    Of the measures of cost, only treewidth is available before the first step.
    """
    n = source.material.train.n_variables
    value = 0.0 if measure == "treewidth" else None
    no_edges = np.zeros((0, 2), dtype=np.int64)
    return {
        "edge": None,
        "value": number(value),
        "valueText": "–" if value is None else amount(value, measure),
        "width": 0,
        "infeasible": 0,
        "new": 0,
        "norm": None,
        "inference": "",
        "nll": number(nll),
        "words": bounded_start_words(n, measure, bound),
        **tree_record(no_edges, np.arange(n), source.places, None, None),
    }


def bounded_step(
    step: Step, source: BudgetMaterial, before: Mapping[str, Any], nll: float | None
) -> dict[str, Any]:
    """Return a step of a learner that bounds complexity; `before` is the preceding record."""
    complexity, names = step.complexity, source.material.train.names
    assert complexity is not None  # set by learners that bound it
    edge = (int(step.activated[0].source), int(step.activated[0].target))
    tree = tree_record(
        step.active_edges(), complexity.order, source.places, edge, before["cliques"]
    )
    return {
        "edge": list(edge),
        "value": number(complexity.value),
        "valueText": amount(complexity.value, complexity.measure),
        "width": complexity.width,
        "infeasible": complexity.infeasible,
        "new": complexity.newly_infeasible,
        "norm": number(complexity.gradient_norm),
        "inference": complexity.inference,
        "nll": number(nll),
        "words": bounded_step_words(edge, complexity, before["value"], names),
        **tree,
    }


def tree_record(
    edges: np.ndarray,
    order: np.ndarray,
    positions: np.ndarray,
    newest: tuple[int, int] | None,
    before: Sequence[Sequence[int]] | None,
) -> dict[str, Any]:
    """Return the junction tree, with cliques near the positions of their variables.

    Parameters
    ----------
    edges : int array, shape (m, 2)
    order : int array, shape (n,)
        An elimination order.
    positions : array, shape (n, 2)
        Positions of the variables.
    newest : pair of int, optional
        Edge of this step; among several widest cliques, one that contains it is highlighted.
    before : sequence of sequences of int, optional
        Cliques of the previous step.

    Returns
    -------
    dict
        `cliques` (lists of variables), `links` (pairs of cliques), `at` (x, y of every clique),
        `lit` (index of the highlighted clique, the widest) and `from` (for each clique, the index
        of the previous clique that shares most variables with it; −1 if there is none).
    """
    found, links = junction_tree_of(len(order), edges, order)
    cliques = [clique.tolist() for clique in found]
    places = np.array([positions[clique].mean(axis=0) for clique in found])
    widest = max(map(len, cliques))
    holders = [k for k, clique in enumerate(cliques) if len(clique) == widest]
    with_newest = [k for k in holders if newest is not None and set(newest) <= set(cliques[k])]
    earlier = [set(clique) for clique in before or ()]
    return {
        "cliques": cliques,
        "links": links.tolist(),
        "at": layout_near(places, links).tolist(),
        "lit": (with_newest or holders)[0],
        "from": [_closest_clique(set(clique), earlier) for clique in cliques],
    }


def _closest_clique(clique: set[int], earlier: Sequence[set[int]]) -> int:
    """Return the index of the clique that shares most variables with this one, or −1.

    Of several, the smallest clique is returned.
    """
    ranked = [(-len(clique & other), len(other), k) for k, other in enumerate(earlier)]
    best = min(ranked, default=(0, 0, -1))
    return best[2] if best[0] < 0 else -1


# --------------------------------------------------------------------------------------- the panels


_PREFIX = "budget"


def show_choices(state: BudgetState) -> None:
    """Show the choice of data, measure and bound."""
    options, words = state.options, catalogue("labels")["data"]
    title = state.specs["data"].title_of
    show_settings(state, _PREFIX, "data", title=lambda key: words.get(key) or title(key))
    show_settings(state, _PREFIX, "complexity")
    slider = slider_of(options.complexity)
    value = int(options.tau) if slider.kind == "int" else options.tau
    # One slider per measure, because their ranges differ.
    show_option(slider, value, state.choose, prefix=f"{_PREFIX}.{options.complexity}")
    norm = ("norm",) if options.lam1 > 0.0 else ()
    show_settings(state, _PREFIX, "lam2", "lam1", *norm, "seed")


def show_charts(state: BudgetState) -> None:
    """Show quality against cost, and the error of log Z, of the models measured so far."""
    st.subheader("Accuracy versus cost", anchor=False)
    for place, name in zip(st.columns(2), ("quality", "cost"), strict=True):
        with place:
            show_settings(state, _PREFIX, name, as_buttons=True)
    show_until(lambda: state.compared().is_complete, lambda: _show_points(state))


def _show_points(state: BudgetState) -> None:
    shown, options = state.shown, state.options
    if shown is None:
        return
    runs, path, is_complete = state.compared()
    points = [*(run.point for run in runs if run.point is not None), *path.points]
    complexity, tau = shown.options.complexity, shown.options.tau
    quality, cost = options.quality, options.cost
    compared = at_equal_cost(points, quality, cost)
    charts = {
        "budget_quality": (
            quality_figure(points, quality, cost, complexity, tau),
            comparison_words(compared, quality, cost, complexity, is_complete=is_complete),
        ),
        "budget_partition": (
            partition_figure(points, complexity, tau),
            error_words(points, complexity),
        ),
    }
    for place, (key, (figure, words)) in zip(
        st.columns(2, gap="medium"), charts.items(), strict=True
    ):
        with place:
            show_figure(figure, key=key, alt=words or "No model measured yet.")
            st.markdown(plain(words))
    if not is_complete:
        bounds, steps = len(state.ladder(shown)), len(path.points)
        st.caption(f"Computing… {len(runs)} of {bounds} bounds, {steps} models of the ℓ₁ path.")
    elif missing := list(filter(None, [*(run.unmeasured for run in runs), path.unmeasured])):
        st.caption(plain(" ".join(missing)))


def budget_files(state: BudgetState) -> list[PageFile]:
    """Return the files of the shown run; none before there is one."""
    job, shown = state.run, state.shown
    if job is None or shown is None:
        return []
    table = shown.source.material.train
    label = "Steps, one row per edge (CSV)"
    labels = catalogue("labels")["files"]
    return [
        PageFile("budget.csv", label, lambda: bounded_steps_csv(table.names, job.value().steps)),
        *model_files(lambda: learned_model(state)),
        PageFile("table.csv", labels["table.csv"], lambda: table_csv(table)),
    ]


def learned_model(state: BudgetState) -> PairwiseModel:
    """Wait for the end of the shown run, and return its model.

    Raises
    ------
    InputError
        When it has not ended.
    """
    assert state.run is not None  # a run is shown
    model = state.run.value().model
    if model is None:
        raise InputError(state.run.failure or "The run has not ended yet; try again.")
    return model


def budget_menu(state: BudgetState) -> ModelMenu | None:
    """Return the menu Model of the shown run; None before there is one."""
    shown = state.shown
    if shown is None or state.run is None:
        return None
    data, learner = shown.source.material, shown.learner
    title = f"{data.name} · {learner.title}"
    return learn_menu(
        UPLOAD,
        learner,
        0,
        lambda: Loaded(learned_model(state), title, places=shown.source.places),
        file="table.csv",
    )
