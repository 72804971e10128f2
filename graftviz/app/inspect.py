"""Inspect page: settings, models, selection, evidence, and answers of a session.

A learned model is written as on the Grow page (data, learner, options, seed, step), so that a link
of that page opens the same model here. ``model=true`` is the model a sample was drawn from,
``model=<fingerprint>`` an uploaded file. Further keys: ``node``, ``edge=3-7``,
``evidence=2:1,5:0`` (variable:state), ``method``, and ``with``, the model to compare with, written
like the first with semicolons: ``with=learner=chow-liu;seed=3``. What is drawn is chosen by
``picture``, ``filter_by``, ``weight_from``, ``steps=3-20``, ``depth`` and ``colour``; ``query=2,5``
are the variables of the query.

Controls change the settings; :meth:`InspectState.refresh` makes models and answers follow. What
cannot be used becomes a sentence, and the rest stays.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from graftviz.app.grow import GrowState, opened_grow_state
from graftviz.app.jobs import Job, Queue
from graftviz.app.material import Material
from graftviz.app.models import (
    FILE,
    LEARNED,
    TRUE,
    ModelSource,
    SourceOptions,
    inner_query,
    inner_text,
)
from graftviz.app.runs import Loaded
from graftviz.app.session import material, page_state, queue, shared_job
from graftviz.app.state import PageState
from graftviz.app.url import LinkReader, parse_options_of, part, write_options_of
from graftviz.data.table import DiscreteTable
from graftviz.inference.beliefs import Beliefs
from graftviz.inference.inspection import (
    Communities,
    ModelDifference,
    compare_models,
    find_communities,
)
from graftviz.inference.local.marginal import LocalMarginal, local_marginal
from graftviz.inference.queries import (
    AUTOMATIC,
    Answer,
    Choice,
    JointAnswer,
    answer_steps,
    query_steps,
)
from graftviz.model.pairwise import PairwiseModel
from graftviz.reports.picture import MOST_NODES, GraphPicture, difference_picture, graph_picture
from graftviz.reports.words.inspection import contradiction_words
from graftviz.reports.words.phrases import short
from graftviz.utils.errors import InputError
from graftviz.utils.options import option
from graftviz.utils.wording import quoted

GRAPH, MATRIX = "graph", "matrix"
WEIGHT, INFORMATION = "weight", "information"
DEGREE, COMMUNITY, STATE = "degree", "community", "state"
MOST_TARGETS = 3
MOST_DEPTH = 12
_LONGEST = 2_000
_NUMBER = r"(\d{1,7})"


def _read_selection(link: LinkReader, _: Mapping[str, Any]) -> tuple[int, ...]:
    def read(text: str) -> tuple[int, ...] | None:
        found = re.fullmatch(f"{_NUMBER}-{_NUMBER}", text, re.ASCII)
        ends = sorted({int(end) for end in found.groups()}) if found else []
        return tuple(ends) if len(ends) == 2 else None

    def number(text: str) -> int | None:
        return int(text) if re.fullmatch(_NUMBER, text, re.ASCII) else None

    node = link.take("node", None, number, "A node is given by its number, not by {}; ignored.")
    edge = link.take("edge", None, read, "An edge is written as 3-7, not {}; ignored.")
    if node is not None and edge is not None:
        link.complaints.append("A link selects a node or an edge; the edge is ignored.")
    return (edge or ()) if node is None else (node,)


def _read_steps(link: LinkReader, _: Mapping[str, Any]) -> tuple[int, ...]:
    def read(text: str) -> tuple[int, ...] | None:
        found = re.fullmatch(f"{_NUMBER}-{_NUMBER}", text, re.ASCII)
        return tuple(sorted(int(end) for end in found.groups())) if found else None

    return link.take("steps", (), read, "Steps are written as 3-20, not {}; ignored.")


def _read_evidence(link: LinkReader, _: Mapping[str, Any]) -> dict[int, int]:
    evidence: dict[int, int] = {}
    for text in filter(None, link.left.pop("evidence", "").split(",")):
        found = re.fullmatch(f"{_NUMBER}:{_NUMBER}", text.strip(), re.ASCII)
        if not found:
            link.complaints.append(
                f"Evidence is written as variable:state, both as numbers, not {quoted(text)}; "
                "ignored."
            )
        elif evidence.setdefault(int(found[1]), int(found[2])) != int(found[2]):
            link.complaints.append(
                f"The evidence gives variable {found[1]} two different states; using the first."
            )
    return evidence


def _read_targets(link: LinkReader, _: Mapping[str, Any]) -> tuple[int, ...]:
    def read(text: str) -> tuple[int, ...] | None:
        found = re.fullmatch(rf"{_NUMBER}(?:,\d{{1,7}}){{0,{MOST_TARGETS - 1}}}", text, re.ASCII)
        return tuple(dict.fromkeys(map(int, text.split(",")))) if found else None

    rule = f"A query has at most {MOST_TARGETS} variables, written as 2,5, not {{}}; ignored."
    return link.take("query", (), read, rule)


def _read_second(link: LinkReader, _: Mapping[str, Any]) -> SourceOptions | None:
    text = link.left.pop("with", "").strip()
    if not text:
        return None
    values, complaints = parse_options_of(SourceOptions, inner_query(text))
    link.complaints += [f"Model to compare with: {sentence}" for sentence in complaints]
    return SourceOptions(**values)


def _write_second(source: SourceOptions) -> dict[str, str]:
    query = write_options_of(SourceOptions, vars(source))
    query.setdefault("data", source.data)  # the default alone would give an empty file
    ordered = dict(sorted(query.items(), key=lambda item: item[0] != "model"))
    return {"with": inner_text(ordered)}


@dataclass(frozen=True)
class InspectOptions(SourceOptions):
    """Settings of the page: model, selection and evidence.

    Attributes
    ----------
    selection : tuple of int
        Empty, a node, or both ends of an edge.
    evidence : mapping
        State by variable.
    second : SourceOptions or None
        The model to compare with.
    picture : str
        "graph", or "matrix": the adjacency matrix.
    weight_from : float
        Smallest weight norm, or information, of the drawn edges, relative to the largest one.
    steps : tuple of int
        First and last step in which a drawn edge was activated; empty for all.
    filter_by : str
        "weight", or "information": the mutual information of both ends, for `weight_from`.
    colour : str
        "degree" (with evidence, the change by it), "community" or "state", the most likely one.
    targets : tuple of int
        Variables of the query.
    depth : int
        Number of edges up to which nodes around the selected one are drawn; 0 for all nodes.
    """

    selection: tuple[int, ...] = part(
        (),
        _read_selection,
        lambda ends: {("node", "edge")[len(ends) - 1]: "-".join(map(str, ends))},
    )
    evidence: Mapping[int, int] = part(
        {},
        _read_evidence,
        lambda evidence: {"evidence": ",".join(f"{i}:{k}" for i, k in evidence.items())},
        {"evidence": _LONGEST},
    )
    picture: str = option(
        GRAPH,
        "Graph, or adjacency matrix with the variables ordered by communities",
        label="Show as",
        choices=(GRAPH, MATRIX),
        titles=("Graph", "Matrix"),
    )
    filter_by: str = option(
        WEIGHT,
        "Norm of the weights, or mutual information of both variables",
        label="Filter edges by",
        choices=(WEIGHT, INFORMATION),
    )
    weight_from: float = option(
        0.0,
        "Draw the edges whose weight norm, or information, has at least this share of the largest",
        label="Edges from",
        minimum=0.0,
        maximum=1.0,
    )
    steps: tuple[int, ...] = part(
        (), _read_steps, lambda ends: {"steps": "-".join(map(str, ends))} if ends else {}
    )
    depth: int = option(
        0,
        "Draw the nodes at most this many edges away from the selected node; 0 draws all nodes",
        label="Neighbourhood of the selected node",
        minimum=0,
        maximum=MOST_DEPTH,
    )
    colour: str = option(
        DEGREE,
        "Degree (with evidence: change by it), community, or most likely state",
        label="Colour nodes by",
        choices=(DEGREE, COMMUNITY, STATE),
    )
    targets: tuple[int, ...] = part(
        (),
        _read_targets,
        lambda targets: {"query": ",".join(map(str, targets))} if targets else {},
    )
    method: Choice = option(AUTOMATIC, "Inference method", label="Method")
    second: SourceOptions | None = part(  # noqa: RUF009 (a field)
        None, _read_second, _write_second, {"with": _LONGEST}
    )


# ---------------------------------------------------------------------------------------- the state


PICTURED = ("method", "filter_by", "weight_from", "steps", "depth")  # options that decide it
PATIENCE = 1.2  # seconds to wait for marginals before the page shows a notice
Evidence = tuple[tuple[int, int], ...]  # state by variable


# Every model has a cache of its own.
@shared_job(1)
def _answer(loaded: Loaded, evidence: Evidence, method: Choice) -> Iterator[Answer | None]:
    return answer_steps(loaded.model, dict(evidence), method)


@shared_job(1)
def _region(loaded: Loaded, evidence: Evidence, query: int) -> Iterator[LocalMarginal]:
    yield local_marginal(loaded.model, query, evidence=dict(evidence))


@shared_job(1)
def _joint(
    loaded: Loaded, evidence: Evidence, targets: tuple[int, ...], method: Choice
) -> Iterator[JointAnswer | None]:
    return query_steps(loaded.model, dict(evidence), targets, method)


class InspectedModel(NamedTuple):
    """Shown model, drawing and marginals.

    Attributes
    ----------
    loaded : Loaded
    picture : GraphPicture
    before, after : Beliefs or None
        Marginals without and with evidence.
    other : Beliefs or None
        Marginals of the model it is compared with, without evidence.
    difference : ModelDifference or None
        Difference from the model it is compared with.
    trouble : str
        Why the models cannot be compared; empty if they can.
    """

    loaded: Loaded
    picture: GraphPicture
    before: Beliefs | None = None
    after: Beliefs | None = None
    other: Beliefs | None = None
    difference: ModelDifference | None = None
    trouble: str = ""

    @property
    def model(self) -> PairwiseModel:
        """The model that is inspected."""
        return self.loaded.model

    @property
    def latest(self) -> Beliefs | None:
        """Marginals given the evidence, if there is any."""
        return self.before if self.after is None else self.after


class InspectState(PageState):
    """Models, selection, evidence and answers of one session.

    Of the settings, `values` holds those of the page itself: selection, evidence, query, method and
    drawing. The models have settings of their own.

    Parameters
    ----------
    load : callable
        ``load(key, seed)`` returns the :class:`Material` of a built-in data set.
    queue : Queue
    neighbour : callable
        Returns the state of the Grow page in this session, or None.

    Attributes
    ----------
    first, second : ModelSource
        The inspected model, and the comparison model.
    compares : bool
        Whether there is one to compare with.
    before, after : Answer or None
        Marginals without and with the evidence, as far as they are computed.
    other : Answer or None
        Marginals of the model it is compared with, without evidence.
    """

    def __init__(
        self,
        load: Callable[[str, int], Material],
        queue: Queue,
        neighbour: Callable[[], GrowState | None],
    ) -> None:
        super().__init__(InspectOptions)
        self.first, self.second = (ModelSource(GrowState(load, queue), neighbour) for _ in range(2))
        self.compares = False
        self.before: Answer | None = None
        self.after: Answer | None = None
        self.other: Answer | None = None
        self._neighbour = neighbour
        self._regions: dict[Hashable, Job[LocalMarginal]] = {}
        self._variables: tuple[Any, ...] | None = None

    # ------------------------------------------------------------------------------ the address

    def _apply(self, query: dict[str, str]) -> Iterable[str]:
        complaints = super()._apply(query)
        options = self.options
        self.first.take(options if query else self._run_of_grow_page())
        self.compares = options.second is not None
        if options.second is not None:
            self.second.take(options.second)
        self._variables = None
        return complaints

    def _write(self) -> dict[str, str]:
        if self.first.awaits_file and not self.first.expected:
            return {}  # a file that has not been uploaded yet cannot be written
        second = self.second.settings if self.compares else None
        settings = {**self.values, **vars(self.first.settings), "second": second}
        return write_options_of(InspectOptions, settings)

    def _run_of_grow_page(self) -> SourceOptions:
        """Return the run that the Grow page shows in this session, or the default one."""
        near = self._neighbour()
        if near is None or near.shown is None:
            return SourceOptions()
        return SourceOptions(**{**vars(near.shown), "step": near.values["step"]})

    @property
    def can_take_grow(self) -> bool:
        """Whether the Grow page shows another run than the inspected one."""
        near = self._neighbour()
        if near is None or near.shown is None:
            return False
        return self.first.kind != LEARNED or near.run is not self.first.run

    def take_grow(self) -> None:
        """Inspect the run of the Grow page, at the step it shows."""
        self.first.take(self._run_of_grow_page())

    def take_model(self, model: Loaded | None) -> None:
        """Inspect a model that another page has handed over; None: the run of the Grow page."""
        self.complaints = ()
        if model is None:
            self.take_grow()
        else:
            self.first.choose_kind(FILE)
            self.first.accept(model)

    # ----------------------------------------------------------------------------- the selection

    @property
    def selection(self) -> tuple[int, ...]:
        """Empty, a node, or both ends of an edge."""
        ends: tuple[int, ...] = self.values["selection"]
        return ends

    @property
    def evidence(self) -> dict[int, int]:
        """State by variable, in the order of the observations."""
        evidence: dict[int, int] = self.values["evidence"]
        return evidence

    @property
    def node(self) -> int | None:
        """The selected node."""
        return self.selection[0] if len(self.selection) == 1 else None

    @property
    def edge(self) -> tuple[int, ...] | None:
        """Both ends of the selected edge."""
        return self.selection if len(self.selection) == 2 else None

    def select(self, *ends: int) -> None:
        """Select a node, an edge by its two ends, or nothing."""
        self.choose("selection", tuple(sorted(ends)))

    def pick(self, picked: Mapping[str, Any]) -> None:
        """Select the clicked node or edge; clicks on a graph no longer shown are ignored."""
        if self.loaded is None or not str(picked.get("token", "")).startswith(
            self.loaded.fingerprint
        ):
            return
        edge = picked.get("edge")
        ends = edge if isinstance(edge, list) and len(edge) == 2 else [picked.get("node")]
        n = self.loaded.model.n_variables
        exist = all(isinstance(end, int | float) and 0 <= end < n for end in ends)
        self.select(*map(int, ends if exist else ()))

    def observe(self, i: int, state: int | None) -> None:
        """Set a variable to a state, or remove it from the evidence."""
        others = {j: k for j, k in self.evidence.items() if j != i}
        self.choose("evidence", others if state is None else {**others, i: state})

    def compare(self, compares: bool) -> None:
        """Compare with a second model, or no longer."""
        self.complaints = ()
        if compares and self.second.loaded is None and self.second.kind == LEARNED:
            self._suggest_partner()
        self.compares = compares

    def _suggest_partner(self) -> None:
        """Compare with the true model if there is one, else with the best tree."""
        settings = self.first.learned.options
        names = ("data", "fingerprint", "reading", "seed")
        data = {name: getattr(settings, name) for name in names}
        learner = "chow-liu" if settings.learner != "chow-liu" else SourceOptions().learner
        model = TRUE if settings.data in self.second.true_data() else ""
        self.second.take(SourceOptions(**data, learner=learner, model=model))

    # -------------------------------------------------------------------------------- the models

    @property
    def loaded(self) -> Loaded | None:
        """The model that is inspected."""
        return self.first.loaded

    @property
    def sources(self) -> tuple[ModelSource, ...]:
        """The sources of the shown models."""
        return (self.first, self.second) if self.compares else (self.first,)

    @property
    def learning(self) -> str:
        """Notices of the runs that are not long enough; empty if there are none."""
        return " ".join(source.learning for source in self.sources if source.learning)

    def refresh(self) -> None:
        """Make the models follow the settings."""
        for source in self.sources:
            source.refresh()
            self._complain(source.warning)

    def _complain(self, sentence: str) -> None:
        self.complaints += (sentence,) if sentence else ()

    def settle(self) -> None:
        """Make selection and evidence follow the model.

        Those of a link that the model lacks are removed, with a warning.
        """
        if self.loaded is None:
            return
        model = self.loaded.model
        variables = (model.names, model.labels)
        if self._variables not in (None, variables):
            self.values.update(selection=(), evidence={}, targets=())
        self._variables = variables
        n = model.n_variables
        if self.node is not None and self.node >= n:
            self._complain(f"This model has no node {self.node}; its nodes are 0 … {n - 1}.")
            self.values["selection"] = ()
        if self.edge is not None and self.edge_number(self.edge) is None:
            exists = self.edge[1] < n
            ends = [short(model.names[i]) if exists else str(i) for i in self.edge]
            self._complain(f"This model has no edge {' – '.join(ends)}.")
            self.values["selection"] = ()
        targets = self.values["targets"]
        if any(i >= n for i in targets):
            self._complain(f"This model has {n:,} variables; others were removed from the query.")
            self.values["targets"] = tuple(i for i in targets if i < n)
        for i, state in list(self.evidence.items()):
            if i >= n or state >= model.cardinalities[i]:
                self._complain(
                    f"This model has no variable {i} with a state {state}; removed from the "
                    "evidence."
                )
                del self.evidence[i]

    def edge_number(self, edge: tuple[int, ...] | None) -> int | None:
        """Return the number of an edge in the model; None if it has no such edge."""
        if edge is None or self.loaded is None:
            return None
        found = np.flatnonzero((self.loaded.model.edges == edge).all(axis=1))
        return int(found[0]) if len(found) else None

    # ------------------------------------------------------------------------------- the results

    def answer(self, patience: float = PATIENCE) -> bool:
        """Request the marginals; return whether they are computed, or cannot be.

        Evidence of probability zero loses its latest part, with a sentence, until the rest is
        possible.
        """
        self.before = self.after = self.other = None
        self.problem = ""
        if self.loaded is None:
            return True
        model = self.loaded.model
        until = time.monotonic() + patience
        while True:
            before = self._begin(self.loaded, {})
            after = self._begin(self.loaded, self.evidence)
            partner = self.second.loaded if self.compares else None
            other = None if partner is None else self._begin(partner, {})
            jobs = [job for job in (before, after, other) if job is not None]
            is_there = all(job.wait_until(until) for job in jobs)
            self.before, self.other = before.final, None if other is None else other.final
            self.after = after.final if self.evidence else None
            self.problem = before.failure or after.failure
            if self.before is not None and self.before.beliefs is None:
                self.problem = (
                    "Every joint state of this model has probability zero, so it has no marginals."
                )
                return True
            if not is_there or self.after is None or self.after.beliefs is not None:
                return is_there
            i, state = self.evidence.popitem()
            self._complain(contradiction_words(model, i, state, len(self.evidence)))

    def _begin(self, loaded: Loaded, evidence: Mapping[int, int]) -> Job[Answer | None]:
        """Return the job on the marginals of a model given evidence, begun now or before."""
        job = _answer(loaded, _sorted(evidence), self.values["method"])
        self.jobs.begin(job)
        return job

    @property
    def joint(self) -> Job[JointAnswer | None] | None:
        """Job on the query, begun now or before; None without a query."""
        if self.loaded is None or not self.values["targets"]:
            return None
        job = _joint(
            self.loaded, _sorted(self.evidence), self.values["targets"], self.values["method"]
        )
        self.jobs.begin(job)
        return job

    def certify(self) -> None:
        """Begin to grow a certified region around the selected node."""
        if self.loaded is not None and self.node is not None:
            job = _region(self.loaded, _sorted(self.evidence), self.node)
            self._regions[self._region_key] = job
            self.jobs.begin(job)

    @property
    def region(self) -> Job[LocalMarginal] | None:
        """Job on a region around the selected node, if one was requested."""
        return self._regions.get(self._region_key)

    @property
    def _region_key(self) -> Hashable:
        fingerprint = None if self.loaded is None else self.loaded.fingerprint
        return fingerprint, _sorted(self.evidence), self.node

    def difference(self) -> tuple[ModelDifference | None, str]:
        """Return the difference of the second model, or why there is none."""
        loaded, other = self.first.loaded, self.second.loaded
        if not self.compares or loaded is None or other is None:
            return None, ""
        try:
            return compare_models(loaded.model, other.model), ""
        except InputError as error:
            return None, str(error)

    def picture(self, difference: ModelDifference | None) -> GraphPicture:
        """Return the drawing; layouts are cached, so that nothing moves without need."""
        loaded, other = self.first.loaded, self.second.loaded
        assert loaded is not None
        n = loaded.model.n_variables
        centre = self.selection[0] if n > MOST_NODES and self.selection else None
        places = loaded.places
        if places is None and self.compares and other is not None:
            places = other.places if other.model.names == loaded.model.names else None
        picture = loaded.own.get(
            ("picture", centre), lambda: graph_picture(loaded.model, places, centre)
        )
        if difference is not None and other is not None:
            places = picture.places if places is None else places
            picture = loaded.own.get(
                ("picture", centre, other.fingerprint),
                lambda: difference_picture(n, difference, places, centre),
            )
        answers = [self.before] if difference is None else [self.before, self.other]
        beliefs = [None if answer is None else answer.beliefs for answer in answers]
        if self.values["filter_by"] == INFORMATION:
            picture = picture.with_information(beliefs, difference)
        picture = picture.filtered(self._allowed(difference), self.values["weight_from"])
        if self.values["depth"] and self.selection:
            is_measured = None not in beliefs
            chosen = (self.selection[0], is_measured, *(self.values[name] for name in PICTURED))
            compared = "" if difference is None or other is None else other.fingerprint
            drawn, depth, middle = picture, self.values["depth"], self.selection[0]
            picture = loaded.own.get(
                ("around", compared, chosen), lambda: drawn.around(middle, depth)
            )
        return picture.with_information(beliefs, difference)

    def _allowed(self, difference: ModelDifference | None) -> np.ndarray | None:
        """Return whether each edge was activated in the chosen steps; None if all may be drawn."""
        loaded, steps = self.first.loaded, self.values["steps"]
        if not steps or loaded is None or loaded.steps is None:
            return None
        activated = np.array(loaded.steps, dtype=np.int64)
        is_drawn = (activated >= steps[0]) & (activated <= steps[1])
        if difference is None:
            return is_drawn
        own = difference.numbers[:, 0]  # negative for an edge of the second model only
        return np.where(own < 0, True, np.append(is_drawn, True)[own])

    @property
    def table(self) -> DiscreteTable | None:
        """All rows of the data of the inspected model; None if it was not learned here."""
        material = self.first.learned.current_material() if self.first.kind == LEARNED else None
        return None if material is None else material.source.table

    def communities(self) -> Communities:
        """Return the communities of the inspected model's graph."""
        loaded = self.first.loaded
        assert loaded is not None
        model = loaded.model
        return loaded.own.get(
            ("communities",), lambda: find_communities(model.n_variables, model.edges)
        )

    def inspected(self) -> InspectedModel | None:
        """Return the shown model with its drawing and marginals; None without a model."""
        if self.loaded is None:
            return None
        difference, trouble = self.difference()
        before = None if self.before is None else self.before.beliefs
        after = None if self.after is None else self.after.beliefs
        other = None if self.other is None else self.other.beliefs
        picture = self.picture(difference)
        return InspectedModel(self.loaded, picture, before, after, other, difference, trouble)

    def forget(self) -> None:
        """Release runs, models and answers; they are computed again when the page is opened."""
        super().forget()
        self._regions.clear()
        for source in (self.first, self.second):
            source.forget()
        self.before = self.after = self.other = None
        self._remember({})  # an empty address keeps the settings


def _sorted(evidence: Mapping[int, int]) -> Evidence:
    return tuple(sorted(evidence.items()))


def inspect_state() -> InspectState:
    """Return the state of the Inspect page in this session."""
    return page_state("inspect", lambda: InspectState(material, queue(), opened_grow_state))
