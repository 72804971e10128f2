"""Session state of the Inspect page: models, selection, evidence, and results.

Controls change the settings; :meth:`InspectState.refresh` makes models and answers follow. What
cannot be used becomes a sentence, and the rest stays. Nothing here knows Streamlit.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Hashable, Mapping
from typing import Any

import numpy as np

from graftviz.errors import InputError
from graftviz.inspection import (
    GraphPicture,
    ModelDifference,
    compare_models,
    difference_picture,
    graph_picture,
    mutual_informations,
)
from graftviz.model import PairwiseMRF
from graftviz.narrative.inspection import contradiction_words
from graftviz.narrative.phrases import short
from graftviz.regions import LocalMarginal
from graftviz.ui.background import Background
from graftviz.ui.frame.state import PageState
from graftviz.ui.grow.state import GrowState, opened_grow_state
from graftviz.ui.inspect.source import Loaded, ModelSource
from graftviz.ui.inspect.url import (
    FILE,
    LEARNED,
    InspectSettings,
    SourceSettings,
    parse_inspection,
    write_inspection,
)
from graftviz.ui.inspect.work import (
    AUTOMATIC,
    Answer,
    Desk,
    Question,
    answer_steps,
    region_steps,
    wait_for_all,
)
from graftviz.ui.material import Material
from graftviz.ui.scheduler import Turns
from graftviz.ui.services import material, page_state, share, vocabulary
from graftviz.ui.url_state import Settings, Vocabulary

PATIENCE = 1.2  # seconds to wait for marginals before the page says that they are on their way


class InspectState(PageState):
    """Models, selection, evidence and answers of one session.

    Parameters
    ----------
    vocabulary : Vocabulary
    load : callable
        ``load(key, seed)`` returns the :class:`Material` of a built-in data set.
    scheduler : Turns
    neighbour : callable
        Returns the state of the Grow page in this session, or None.

    Attributes
    ----------
    first, second : ModelSource
        The model that is inspected, and the one it is compared with.
    compares : bool
        Whether there is one to compare with.
    node : int or None
    edge : (int, int) or None
    evidence : dict
        State by variable, in the order in which it was given.
    method : str
    before, after : Answer or None
        Marginals without and with the evidence, as far as they are there.
    other : Answer or None
        Marginals of the model it is compared with, without evidence.
    """

    def __init__(
        self,
        vocabulary: Vocabulary,
        load: Callable[[str, int], Material],
        scheduler: Turns,
        neighbour: Callable[[], GrowState | None],
    ) -> None:
        super().__init__()
        self.vocabulary = vocabulary
        self.scheduler = scheduler
        self.first, self.second = (
            ModelSource(GrowState(vocabulary, load, scheduler), neighbour) for _ in range(2)
        )
        self.compares = False
        self.node: int | None = None
        self.edge: tuple[int, int] | None = None
        self.evidence: dict[int, int] = {}
        self.method = AUTOMATIC
        self.before: Answer | None = None
        self.after: Answer | None = None
        self.other: Answer | None = None
        self._neighbour = neighbour
        self._desk: Desk[Answer | None] = Desk(scheduler)
        self._regions: Desk[LocalMarginal | None] = Desk(scheduler)
        self._variables: tuple[Any, ...] | None = None
        self._pictures: dict[Any, GraphPicture] = {}

    # ------------------------------------------------------------------------------ the address

    def _apply(self, query: dict[str, str]) -> list[str]:
        settings, complaints = self._by_default(), []
        if query:
            settings, ignored = parse_inspection(query, self.vocabulary)
            complaints = list(ignored)
            if settings.node is not None and settings.edge is not None:
                complaints.append("A link selects a node or an edge; the edge is ignored.")
        self.first.take(settings.first)
        self.compares = settings.second is not None
        if settings.second is not None:
            self.second.take(settings.second)
        self.node, self.edge = settings.node, None if settings.node is not None else settings.edge
        self.evidence, self.method = dict(settings.evidence), settings.method
        self._variables = None
        return complaints

    def _by_default(self) -> InspectSettings:
        """Return what a visitor without a link sees: what the Grow page shows in this session."""
        near = self._neighbour()
        settings = Settings(self.vocabulary.default_data, self.vocabulary.default_learner)
        if near is not None and near.shown is not None:
            settings = dataclasses.replace(near.shown, step=near.settings.step)
        return InspectSettings(SourceSettings(LEARNED, settings))

    @property
    def can_take_grow(self) -> bool:
        """Whether the Grow page shows another run than the one that is inspected."""
        near = self._neighbour()
        if near is None or near.shown is None:
            return False
        return self.first.kind != LEARNED or near.run is not self.first.run

    def take_grow(self) -> None:
        """Inspect the run of the Grow page, at the step it shows."""
        self.first.take(self._by_default().first)

    def _write(self) -> dict[str, str]:
        first = self.first.settings
        settings = InspectSettings(
            first=first,
            second=self.second.settings if self.compares else None,
            node=self.node,
            edge=self.edge,
            evidence=self.evidence,
            method=self.method,
        )
        # A file that has not been uploaded yet has nothing to be written.
        is_awaited = first.kind == FILE and not first.fingerprint
        return {} if is_awaited else write_inspection(settings, self.vocabulary)

    # ----------------------------------------------------------------------------- the selection

    def select_node(self, i: int | None) -> None:
        """Look at a node, or at nothing."""
        self.complaints = ()
        self.node, self.edge = i, None

    def select_edge(self, i: int, j: int) -> None:
        """Look at an edge."""
        self.complaints = ()
        self.node, self.edge = None, (min(i, j), max(i, j))

    def observe(self, i: int, state: int | None) -> None:
        """Set a variable to a state, or forget what was known of it."""
        self.complaints = ()
        self.evidence.pop(i, None)
        if state is not None:
            self.evidence[i] = state

    def forget_evidence(self) -> None:
        """Know nothing again."""
        self.complaints = ()
        self.evidence = {}

    def choose_method(self, method: str) -> None:
        """Compute marginals by another method."""
        self.complaints = ()
        self.method = method

    def compare(self, compares: bool) -> None:
        """Compare with a second model, or no longer."""
        self.complaints = ()
        if compares and self.second.loaded is None and self.second.kind == LEARNED:
            self._suggest_partner()
        self.compares = compares

    def _suggest_partner(self) -> None:
        """Compare with the truth where it is known, else with the best tree."""
        settings = self.first.learned.settings
        kind = "true" if settings.data in self.second.true_data() else LEARNED
        other = "chow-liu" if settings.learner != "chow-liu" else self.vocabulary.default_learner
        fresh = Settings(
            settings.data,
            other if other in self.vocabulary.learners else self.vocabulary.default_learner,
            seed=settings.seed,
            fingerprint=settings.fingerprint,
            reading=settings.reading,
        )
        self.second.take(SourceSettings(kind, fresh))

    # ------------------------------------------------------------------------------ what is there

    @property
    def loaded(self) -> Loaded | None:
        """The model that is inspected."""
        return self.first.loaded

    def refresh(self) -> None:
        """Make the models follow the settings."""
        for source in (self.first, *((self.second,) if self.compares else ())):
            source.refresh()
            self.complaints += tuple(source.ignore_missing_step())

    def settle(self) -> None:
        """Make selection and evidence follow the model."""
        loaded = self.first.loaded
        if loaded is None:
            return
        variables = (loaded.model.names, loaded.model.labels)
        if self._variables is not None and self._variables != variables:
            self.node, self.edge, self.evidence = None, None, {}
        self._variables = variables
        self._keep_what_exists(loaded.model)

    def _keep_what_exists(self, model: PairwiseMRF) -> None:
        """Remove nodes, edges and evidence of a link that the model lacks, with a warning."""
        n = model.n_variables
        if self.node is not None and self.node >= n:
            self.complaints += (f"This model has no node {self.node}; its nodes are 0 … {n - 1}.",)
            self.node = None
        if self.edge is not None and self.edge_number(self.edge) is None:
            i, j = self.edge
            named = f"{i} – {j}"
            if j < n:
                named = f"{short(model.names[i])} – {short(model.names[j])}"
            self.complaints += (f"This model has no edge {named}.",)
            self.edge = None
        for i, state in list(self.evidence.items()):
            if i >= n or state >= model.cardinalities[i]:
                self.complaints += (
                    f"This model has no variable {i} with a state {state}; removed from the "
                    "evidence.",
                )
                del self.evidence[i]

    def edge_number(self, edge: tuple[int, int]) -> int | None:
        """Return the number of an edge in the model; None if it has no such edge."""
        loaded = self.first.loaded
        if loaded is None or edge[1] >= loaded.model.n_variables:
            return None
        starts, neighbours, edges = loaded.model.incidence
        begin, end = int(starts[edge[0]]), int(starts[edge[0] + 1])
        found = np.flatnonzero(neighbours[begin:end] == edge[1])
        return int(edges[begin + int(found[0])]) if len(found) else None

    # --------------------------------------------------------------------------------- the answers

    def answer(self, patience: float = PATIENCE) -> bool:
        """Ask for the marginals; True once they are there, or cannot be had.

        Evidence of probability zero loses its latest part, with a sentence, until the rest is
        possible.
        """
        loaded = self.first.loaded
        self.before = self.after = self.other = None
        self.problem = ""
        if loaded is None:
            return True
        partner = self.second.loaded if self.compares else None
        others = [] if partner is None else [self._ask(partner, {})]
        while True:
            queries = [{}, self.evidence] if self.evidence else [{}]
            works = [self._ask(loaded, evidence) for evidence in queries]
            is_there = wait_for_all([*works, *others], patience)
            self.other = others[0].latest if others and others[0].finished else None
            self.before = works[0].latest if works[0].finished else None
            self.after = works[-1].latest if self.evidence and works[-1].finished else None
            failures = [work.failure for work in works if work.failure]
            if failures:
                self.problem = failures[0]
            if works[0].finished and self.before is not None and self.before.beliefs is None:
                self.problem = (
                    "Every joint state of this model has probability zero, so it has no marginals."
                )
                return True
            if not is_there or self.after is None or self.after.beliefs is not None:
                return is_there
            i, state = self.evidence.popitem()
            self.complaints += (contradiction_words(loaded.model, i, state, len(self.evidence)),)

    def _ask(self, loaded: Loaded, evidence: Mapping[int, int]) -> Any:
        question = Question(loaded.fingerprint, tuple(sorted(evidence.items())), self.method)
        return self._desk.ask(question, answer_steps(loaded.model, dict(evidence), self.method))

    def certify(self) -> None:
        """Look for a certified region around the selected node."""
        if self.loaded is not None and self.node is not None:
            steps = region_steps(self.loaded.model, dict(self.evidence), self.node)
            self._regions.ask(self._region_question(), steps)

    @property
    def region(self) -> Background[LocalMarginal | None] | None:
        """Job on a region around the selected node, if one was requested."""
        return None if self.node is None else self._regions.find(self._region_question())

    def _region_question(self) -> Hashable:
        fingerprint = None if self.loaded is None else self.loaded.fingerprint
        return fingerprint, tuple(sorted(self.evidence.items())), self.node

    def difference(self) -> tuple[ModelDifference | None, str]:
        """Return how the second model differs, or why that cannot be said."""
        loaded, other = self.first.loaded, self.second.loaded
        if not self.compares or loaded is None or other is None:
            return None, ""
        try:
            return compare_models(loaded.model, other.model), ""
        except InputError as error:
            return None, str(error)

    def picture(self, difference: ModelDifference | None) -> GraphPicture:
        """Return what is drawn; layouts are kept, so that nothing moves without need."""
        loaded = self.first.loaded
        assert loaded is not None
        other = self.second.loaded.fingerprint if difference and self.second.loaded else ""
        centre = self.node if self.node is not None else self.edge[0] if self.edge else None
        key = (loaded.fingerprint, other, None if loaded.model.n_variables <= 1000 else centre)
        strengths = self._informations(difference)
        if key not in self._pictures:
            n = loaded.model.n_variables
            places = self._places(loaded)
            job = (
                graph_picture(loaded.model, places, centre)
                if difference is None
                else difference_picture(n, difference, places, centre)
            )
            self._pictures = {**dict(list(self._pictures.items())[-8:]), key: job}
        picture = self._pictures[key]
        return picture if strengths is None else picture.with_strengths(strengths)

    def _informations(self, difference: ModelDifference | None) -> np.ndarray | None:
        """Return the mutual information of every edge that is drawn; None until it is known."""
        answers = [self.before, *([self.other] if difference is not None else [])]
        found = [
            mutual_informations(answer.beliefs.edge)
            for answer in answers
            if answer is not None and answer.beliefs is not None
        ]
        if len(found) < len(answers):
            return None
        return found[0] if difference is None else difference.strengths(found[0], found[1])

    def _places(self, loaded: Loaded) -> np.ndarray | None:
        """Return known places; with a model to compare with, nodes stay where they were."""
        if loaded.places is not None:
            return loaded.places
        other = self.second.loaded if self.compares else None
        if other is not None and other.model.names == loaded.model.names:
            return other.places
        alone = self._pictures.get((loaded.fingerprint, "", None))
        return alone.places if alone is not None else None

    def revoke(self) -> None:
        """Stop all computing of this session; nothing that was computed is lost."""
        self._desk.revoke()
        self._regions.revoke()
        for source in (self.first, self.second):
            source.learned.revoke()

    def forget(self) -> None:
        """Let go of runs, models and answers; they are there again when the page is asked for."""
        self._desk.forget()
        self._regions.forget()
        for source in (self.first, self.second):
            source.forget()
        self.before = self.after = self.other = None
        self._pictures = {}
        self._links.add({})  # an address without settings leaves those there are


def inspect_state() -> InspectState:
    """Return the state of the Inspect page in this session."""
    return page_state(
        "inspect", lambda: InspectState(vocabulary(), material, share(), opened_grow_state)
    )
