"""Results of runs, with all that people ask of them: files, words, pictures, predictions."""

from __future__ import annotations

import html
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import networkx as nx
import plotly.graph_objects as go

from graftviz.data.reading.reading import Tabular, as_table
from graftviz.learning.base import Learner
from graftviz.learning.grafting.best_choice import BestChoice
from graftviz.learning.grafting.grafting_options import FinalFit
from graftviz.learning.registry import DEFAULT
from graftviz.learning.run import Edges, LearningResult, LearningRun, checked_edges, finish
from graftviz.learning.trace import Step
from graftviz.model.pairwise import HasModel, model_of
from graftviz.reports.figures.model import graph_figure
from graftviz.reports.files.run_folder import notebook_html, run_html, save_result
from graftviz.reports.words.answers import AbsentPair, strongest_absent
from graftviz.reports.words.outcomes import remark_words


@dataclass(frozen=True, eq=False, repr=False)
class Result(LearningResult):
    """Result of a run, completed or interrupted.

    Attributes
    ----------
    learner : Learner
        The learner with its initial options.
    branch : tuple (at, learner) or None
        The change of options, if its step was reached.
    seed : int
    n_variables, n_rows, n_rows_test : int
        Size of the training table, and number of held-out rows (0: none).
    fingerprint : str
        Fingerprint of the training table.
    model : PairwiseMRF
    trace : Trace
    start : StepMetrics
        Metrics of the model without edges.
    metrics : tuple of StepMetrics
        One per step of the trace.
    converged : bool
        True only if the certificate proves it.
    certificate : Certificate or None
        None if the run was interrupted.
    objective, kkt_residual : float
        Values at `model`.
    bp_restart_gap : float or None
        See :class:`graftviz.learning.trace.Outcome`.
    recall, precision, f1, nlpl_test : float or None
        Metrics of `model`; None if truth or held-out rows are missing, or a ratio is 0 / 0.
    nlpl_train : float
        Negative log pseudo-likelihood of the training rows (nats per row).
    tests : int
        Edge tests of all steps, as in the trace; those after the last step are counted by
        `certificate` (and here if there is no step).
    tables_counted, tables_possible, pairs_screened, n_edges : int
    seconds : Seconds
        Engine time, from counting to final fit and certificate.
    run : Run or None
        The run; None after pickling.

    Examples
    --------
    >>> result
    <Result of best-choice: 11 edges among 11 variables from 2,000 rows in 11 steps>
    >>> result.recall, result.precision, result.converged
    (1.0, 1.0, True)
    >>> result.predict({"home": "city", "exercise": "daily"}, target="commute")
    array(['bicycle'], dtype=object)
    """

    @property
    def stop_reason(self) -> str:
        """Why the run ended, as a sentence."""
        return remark_words(self.trace.stop_reason)

    def save(self, folder: Path | str, *, title: str = "Learned network") -> Path:
        """Write the files of ``graftviz learn --out``; :func:`graftviz.read_result` reads them.

        Parameters
        ----------
        folder : path
            Created if it does not exist; files of an earlier result are replaced.
        title : str
            Of the replay.

        Returns
        -------
        Path
            The folder.

        Raises
        ------
        InputError
            If the result has been pickled, which does not preserve its run.
        """
        return save_result(self, folder, title)

    def plot(self, truth: Edges | None = None) -> go.Figure:
        """Return a Plotly figure of the graph; wider lines are stronger edges.

        Parameters
        ----------
        truth : array of pairs, optional
            True edges, by index or name: other edges are drawn dashed, missing ones dotted.

        Examples
        --------
        >>> result.plot().layout.title.text
        '11 variables, 11 edges'
        """
        return graph_figure(self.model, truth)

    def _repr_html_(self) -> str:
        return repr_html(self.run, repr(self))

    @cached_property
    def not_found(self) -> tuple[AbsentPair, ...] | None:
        """Strongest pairs that are not edges, at most five, and why; computed when first read.

        None if the learner does not score pairs, if the rows are not in memory, for more than
        2,000 variables, and after pickling, unless it was read before.
        """
        if self.run is None:
            return None
        return strongest_absent(self.run)


class Run(LearningRun):
    """Run of a learner on a table, one activation step at a time.

    Parameters
    ----------
    table : DiscreteTable, DataFrame, array or DataSet
        Training rows.
    learner : Learner or str
        A learner, or the name of one that has its default options.
    seed : int, optional
        The same seed gives the same run, in any process.
    test : DiscreteTable or DataFrame, optional
        Held-out rows with the codes of `table`, used for metrics only.
    truth : array-like of shape (k, 2) or DataFrame, optional
        The true edges as pairs of variables by name or position, used for metrics only.
    branch : tuple (at, learner), optional
        Change of options during the run: `learner` applies after step `at` (0: from the start).

    Attributes
    ----------
    steps : list of Step
        Append-only, so it may be read while another thread advances the run.
    metrics : list of StepMetrics
        One per step, appended before its step.
    start : StepMetrics or None
        Metrics of the model without edges; None before the first step.
    final : StepMetrics or None
        Metrics of the polished model; None until the run has ended.
    outcome : Outcome or None
        None until the run has ended.

    Raises
    ------
    InputError
        If the table has fewer than two rows or variables, test or truth do not match it, the seed
        is negative, the branch is of another class than the learner, or the edge budget exceeds
        the number of pairs.

    Examples
    --------
    >>> run = gv.Run(survey, gv.BestChoice(max_edges=3))
    >>> while run.advance():
    ...     print(run.steps[-1].n_edges, run.steps[-1].activated[0].source)
    1 0
    2 3
    3 2
    >>> run.result()
    <Result of best-choice: 3 edges among 11 variables from 2,000 rows in 3 steps>

    A branch continues with other options, here from step 3 on.

    >>> run = gv.Run(survey, gv.BestChoice(), branch=(3, gv.BestChoice(max_edges=6)))
    >>> while run.advance():
    ...     pass
    >>> run.result().n_edges
    6
    """

    def to_html(self, *, title: str = "Learned network") -> str:
        """Return a web page that replays the steps so far; it needs no server."""
        return run_html(self, title=title)

    def _repr_html_(self) -> str:
        return repr_html(self, repr(self))

    def result(self) -> Result:
        """Return the result so far, computing the metrics on the training rows.

        Raises
        ------
        ValueError
            If called before the first step.
        """
        return self._made(Result)


def repr_html(run: LearningRun | None, text: str) -> str:
    """Return the replay of a run in a frame, below a line of text, for notebooks."""
    line = f"<p>{html.escape(text)}</p>"
    if run is None or (not run.steps and run.outcome is None):
        return line
    return line + notebook_html(run, "Learned network")


def learn(
    table: Tabular,
    learner: Learner | str = DEFAULT,
    *,
    seed: int = 0,
    test: Tabular | None = None,
    truth: Edges | None = None,
    callback: Callable[[Step], Any] | None = None,
) -> Result:
    """Run `learner` on `table` to its end and return the result.

    The first run of an installation logs that it compiles kernels, and for about how long.

    Parameters are those of :class:`Run`; `callback` is called with every step.

    Raises
    ------
    InputError
        See :class:`Run`.

    Examples
    --------
    >>> import pandas as pd
    >>> frame = pd.DataFrame({"rain": ["no", "yes"] * 50, "grass": ["dry", "wet"] * 50})
    >>> gv.learn(frame, "chow-liu", truth=[("rain", "grass")]).recall
    1.0
    """
    run = Run(table, learner, seed=seed, test=test, truth=truth)
    finish(run, callback)
    return run.result()


def fit(
    graph: Edges | nx.Graph | HasModel,
    table: Tabular,
    *,
    fit: FinalFit | None = None,
    lam2: float | None = None,
    seed: int = 0,
    test: Tabular | None = None,
) -> Result:
    """Fit the weights of a given graph to a table, as learners do with the graph that they find.

    Parameters
    ----------
    graph : networkx.Graph, array-like of shape (m, 2), DataFrame, model or result
        Edges between columns of the table, by name or position. Columns without an edge are
        independent of all others.
    table : DiscreteTable, DataFrame, array or DataSet
        Training rows.
    fit : {"likelihood", "pseudo-likelihood"}, optional
        What the weights maximise. Default: the exact likelihood where exact inference is cheap,
        else the pseudo-likelihood.
    lam2 : float, optional
        λ₂, weight of the squared norm of the edge weights. Default: what predicts rows left out
        of the fit best, of 8, 2, 0.5, 0.1 and 0.02 over the number of rows.
    seed : int, optional
        Seed of the partition of the rows.
    test : DiscreteTable or DataFrame, optional
        Held-out rows with the codes of `table`, used for metrics only.

    Returns
    -------
    Result
        Its certificate tells whether the marginals of the pairs without an edge agree with the
        data, and its `quality` how well rows are predicted.

    Raises
    ------
    InputError
        If an edge is no pair of columns; see also :class:`Run`.

    Examples
    --------
    >>> found = gv.fit([("home", "commute"), ("commute", "exercise")], survey)
    >>> found.n_edges, found.certificate.marginals.deviating > 0
    (2, True)
    """
    table = as_table(table)
    edges = graph.edges if isinstance(graph, nx.Graph) else graph
    edges = model_of(edges).edges if isinstance(edges, HasModel) else edges
    pairs = checked_edges(edges, table.names, "Edges of the graph")
    options: dict[str, Any] = {"required": pairs, "max_edges": len(pairs)}
    if len(pairs) == 0:
        options = {"forbidden": [set(range(table.n_variables))]}
    learner = BestChoice(fit=fit, lam2=lam2, **options)
    return learn(table, learner, seed=seed, test=test)
