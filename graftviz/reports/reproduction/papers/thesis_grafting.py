"""Figures and tables of chapter 3 of the thesis, which calls best-choice online edge grafting."""

from __future__ import annotations

from functools import partial

from graftviz.evaluation.benchmarks.bench import Size
from graftviz.learning.features.grafting import FeatureGrafting, GraftingLight
from graftviz.reports.reproduction import curves, figures
from graftviz.reports.reproduction.claims import Checks, Claim, Frame, Series, claim
from graftviz.reports.reproduction.curves import Panel
from graftviz.reports.reproduction.experiment import Experiment, Paper
from graftviz.reports.reproduction.figures import BASELINE_LOOKS
from graftviz.reports.reproduction.papers import best_choice as paper

_BY_BOUNDS = curves.Method("feature grafting", FeatureGrafting())
_LIGHT = tuple(
    curves.Method(f"grafting-light, {kind}", GraftingLight(optimisation=kind, rescoring="all"))
    for kind in ("proximal", "orthant-wise")
)
_THESIS = Paper("thesis", "Thesis, chapter 3")
_ONLINE = curves.all_methods(**curves.ONLINE)
_ALL_QUEUED = (
    "The thesis states t_max ≪ n and O(n) edges; here t_max = n / 4 and 3n edges. All pairs are "
    "queued at the start, and the first filling continues until the reservoir is full."
)


def _ratio(
    rows: Frame,
    quantity: str,
    method: curves.Method,
    baseline: curves.Method = paper.AS_WRITTEN,
) -> tuple[str, Series]:
    """Report the mean of a quantity of a method, relative to that of a baseline, by size."""
    column = "steps" if quantity == "activations" else quantity
    ours, others = (paper.means_by_n(rows, column, one) for one in (method, baseline))
    return f"{quantity} of {method.name} to those of {baseline.name}", ours / others


@claim(
    "Grafting, feature by feature, is extremely slow compared with edge grafting.",
    "An edge of grafting has one or two features.",
)
def _features_are_slow(rows: Frame) -> Checks:
    words, slower = _ratio(rows, "seconds", paper.FEATURES)
    yield words, slower, "above 1"
    yield "the same, extremely", slower, "at least 10"
    yield _ratio(rows, "seconds", _BY_BOUNDS)
    yield _ratio(rows, "activations", paper.FEATURES)
    yield _ratio(rows, "features", paper.FEATURES)


@claim(
    "Grafting-light, with one step after each activation, is a faster extension of grafting.",
    "With free node weights a full fit visits the edge of the new feature only, "
    "while a step visits all edges that are not fitted yet.",
)
def _light_is_faster(rows: Frame) -> Checks:
    for method in _LIGHT:
        yield *_ratio(rows, "seconds", method, paper.FEATURES), "below 1"
    for method in _LIGHT:
        yield _ratio(rows, "features", method, paper.FEATURES)


_ONLINE_FASTER = Claim("Online edge grafting is faster than edge grafting.", curves.faster)
_FIRST_HIT = paper.first_hit_is_poor(
    "objective", "First hit reaches its edges first, and fits poorly."
)
_FOUR_SIZES = paper.three_n((40, 60, 80), (50, 100, 150, 200))
_online_against_time = partial(
    paper.against_time,
    _ONLINE,
    sizes=_FOUR_SIZES,
    cost=("10 s", "35 s"),
    notes=(paper.LAZY, _ALL_QUEUED, paper.THREE_SEEDS, paper.CACHED),
)


def _on_data(
    figure: str, title: str, size: Size, edges: int, *more: Claim, note: str
) -> Experiment:
    """Return a study of objective and NLPL on one real data set with a fixed number of edges."""
    shared = paper.CORRELATED, _ONLINE_FASTER, paper.FEWER, paper.SMALL_ALPHA
    panels = paper.data_panels(size, edges, min(size.nodes, 50))
    return Experiment(
        **_THESIS.item(f"figure 3.{figure}", "3.4.3"),
        title=f"Objective and held-out NLPL on {title}, {edges} edges",
        needs=(size.source,),
        sizes={"panels": tuple((panel,) for panel in panels)},
        **paper.learning_curves("objective", "nlpl", methods=_ONLINE),
        cost=("5 s", "20 s"),
        claims=(*shared, _FIRST_HIT, *more),
        notes=(paper.LAZY, paper.T_MAX, paper.ONE_SEED, note),
    )


EXPERIMENTS = (
    Experiment(
        **_THESIS.item("table 3.1", "3.3"),
        title="Counted work of edge grafting against the stated complexities",
        **paper.counted_work(
            paper.FEATURES, paper.AS_WRITTEN, curves.best_choice(1.0, **curves.ONLINE)
        ),
        notes=(paper.T_MAX, paper.COUNTED, "Feature grafting scores features, s² for each pair."),
    ),
    Experiment(
        name="thesis-grafting",
        title="Grafting and grafting-light against edge grafting",
        place=f"{_THESIS.title}, sections 3.2 and 3.4",
        sizes={
            "panels": (
                [Panel(paper.tiny_size(n), 6) for n in (8, 10)],
                [Panel(paper.small_size(n), n) for n in (20, 40)],
                [Panel(paper.paper_size(n), n) for n in (50, 100, 200)],
            )
        },
        parts=partial(
            curves.learner_runs,
            methods=(paper.AS_WRITTEN, paper.FEATURES, _BY_BOUNDS, *_LIGHT),
            held_out=False,
            repeats=3,
        ),
        figure=partial(
            paper.seconds_by_size,
            y={
                "seconds": "processor seconds",
                "steps": "activations",
                "features": "features",
                "objective": "objective",
            },
            looks={
                paper.AS_WRITTEN.name: BASELINE_LOOKS[2],
                paper.FEATURES.name: BASELINE_LOOKS[0],
                _BY_BOUNDS.name: BASELINE_LOOKS[1],
                **{method.name: figures.scale_look(2 * k) for k, method in enumerate(_LIGHT)},
            },
        ),
        table=curves.run_table,
        settings=curves.SETTINGS,
        claims=(_features_are_slow, _light_is_faster),
        notes=(
            "n edges for n variables: runs of features end when so many edges have one.",
            "λ is that of edges: a feature's gradient and penalty have no factor d_e.",
            paper.THREE_SEEDS,
        ),
        cost=("10 s", "5 min"),
    ),
    Experiment(
        **_THESIS.item("figure 3.3", "3.4.2"),
        title="Objective to full convergence, 50 variables",
        sizes=paper.until_converged(30, 50),
        **paper.learning_curves("objective", methods=_ONLINE, held_out=False, repeats=3),
        cost=("5 s", "10 s"),
        claims=(
            Claim("All methods reach the same objective.", curves.same_objective),
            Claim("Online edge grafting converges faster than edge grafting.", curves.faster),
            paper.FEWER,
            paper.FIRST_HIT_LAST,
        ),
        notes=(paper.LAZY, _ALL_QUEUED, paper.THREE_SEEDS),
    ),
    _online_against_time(
        _THESIS.item("figure 3.4", "3.4.2"),
        "recall",
        paper.RECALL_BY_ALPHA,
        Claim("The more variables, the larger the advantage.", curves.gap_grows),
        paper.first_hit_is_poor(
            "recall", "First hit reaches its edges first, with the worst recall."
        ),
    ),
    _online_against_time(
        _THESIS.item("figure 3.5", "3.4.2"),
        "objective",
        _ONLINE_FASTER,
        paper.FEWER,
        Claim("α matters less for the objective than for recall.", curves.small_loss),
        _FIRST_HIT,
    ),
    _online_against_time(
        _THESIS.item("figure 3.6", "3.4.2"), "nlpl", paper.CORRELATED, paper.NO_OVERFITTING
    ),
    Experiment(
        **_THESIS.item("figure 3.7", "3.4.2"),
        title="Recall with and without the structure heuristics",
        sizes=paper.three_n((30, 50), (50, 100)),
        **paper.hub_curves(methods=curves.hub_methods(**curves.ONLINE)),
        cost=("20 s", "45 s"),
        claims=(
            Claim(
                "Without the structure heuristics fewer of the true edges are found.",
                curves.hubs_help,
            ),
        ),
        notes=(_ALL_QUEUED, paper.THREE_SEEDS),
    ),
    _on_data(
        "8",
        "USDA plants",
        Size(69, 31_300, 2, held_out=3_481, source="plants"),
        200,
        Claim(
            "With these data the choice of α shows in the quality: a large α is to be preferred.",
            curves.alpha_matters,
        ),
        note="The thesis has 68 regions; the public file has 69.",
    ),
    _on_data(
        "9",
        "Yummly",
        Size(153, 9_500, 2, held_out=500, source="yummly"),
        400,
        note="The 153 most common ingredients, and 10,000 recipes. The thesis's 36,450 parameters "
        "are those of 135 binary variables; 153 have 46,818.",
    ),
    _on_data(
        "10",
        "Jester",
        Size(100, 66_000, held_out=7_400, source="jester"),
        250,
        note="Users who rated all jokes, or missing ratings as a state of their own, as the file "
        "has it.",
    ),
)
