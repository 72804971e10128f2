"""The player of the Grow page as a widget, fed by the kernel."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

try:
    import anywidget
    import traitlets
except ImportError:
    raise ImportError(
        'The player in notebooks needs anywidget: install it with pip install "graftviz[notebook]".'
    ) from None

from graftviz.datasets import DataSet
from graftviz.errors import InputError
from graftviz.learners.base import Learner
from graftviz.learners.registry import DEFAULT, table_and_learner
from graftviz.material import prepare
from graftviz.notebook.learning import Learning
from graftviz.player.assets import notebook_module, view_style
from graftviz.runs import Edges, Result, Run
from graftviz.table import Tabular
from graftviz.texts import LANGUAGE, LANGUAGES


class Player(anywidget.AnyWidget):
    """Player of a run that is learned while it is watched.

    It shows the view of the Grow page: play, pause, step, speed, α and reset. Threads of the kernel
    learn the steps that are about to be shown, so that other cells can be used meanwhile.

    Parameters
    ----------
    table : DiscreteTable, DataFrame, array or DataSet
        Training rows. A DataSet also provides title, true edges and positions.
    learner : Learner or str
        A learner, or the name of one that has its default options.
    seed : int
        The same seed gives the same run, in any process.
    test : DiscreteTable or DataFrame, optional
        Held-out rows, used for metrics only.
    truth : array-like of shape (k, 2) or DataFrame, optional
        The true edges by name or position, used for colours and metrics only.
    title : str
        Title of the data.
    language : {"en", "de", "es"}
        Language of the texts.

    Raises
    ------
    InputError
        See :class:`graftviz.Run`.

    Examples
    --------
    >>> import graftviz as gv
    >>> from graftviz.notebook import Player
    >>> player = Player(gv.load_dataset("survey"), gv.BestChoice(alpha=0.5, max_edges=6))
    >>> player.finish().n_edges
    6
    """

    _esm = traitlets.Unicode().tag(sync=True)
    _css = traitlets.Unicode(view_style("notebook")).tag(sync=True)
    # Header, records, outcome and step, set in the browser, so that a saved notebook has them.
    _saved = traitlets.Dict().tag(sync=True)

    def __init__(
        self,
        table: Tabular,
        learner: Learner | str = DEFAULT,
        *,
        seed: int = 0,
        test: Tabular | None = None,
        truth: Edges | None = None,
        title: str = "",
        language: str = LANGUAGE,
    ) -> None:
        if language not in LANGUAGES:
            raise InputError(f"The language must be one of {', '.join(LANGUAGES)}.")
        data = table if isinstance(table, DataSet) else None
        rows, learner = table_and_learner(table, learner)
        if data is not None and truth is None:
            truth = data.truth
        run = Run(rows, learner, seed=seed, test=test, truth=truth)
        size = f"{rows.n_variables:,} variables, {rows.n_rows:,} rows"
        source = DataSet(
            key="notebook",
            title=title or (data.title if data else size),
            table=rows,
            truth=run.truth,
            positions=data.positions if data else None,
        )
        self._learning = Learning(
            run, prepare(source, seed=0), language, lambda packed: self.send({}, [packed])
        )
        super().__init__(_esm=notebook_module(language))
        self.on_msg(self._on_message)

    @property
    def run(self) -> Run:
        """The shown run; it is advanced by the player."""
        return self._learning.run

    @property
    def learner(self) -> Learner:
        """The learner of the shown run, with the α that was chosen for the whole run."""
        return self.run.learner

    @property
    def result(self) -> Result:
        """Result of the steps learned so far.

        After the last step it is the result of :func:`graftviz.learn` with the same table, learner
        and seed.

        Raises
        ------
        InputError
            Before the first step, and after an error of the learner.
        """
        return self._learning.result()

    def finish(self) -> Result:
        """Learn to the end, and return the result; an interrupt pauses the run.

        Raises
        ------
        InputError
            If the learner refuses the data.
        """
        return self._learning.finish()

    def _on_message(self, _widget: object, message: Mapping[str, Any], _buffers: object) -> None:
        self._learning.receive(message)

    def __repr__(self) -> str:
        return f"<Player of {self.run!r}>"
