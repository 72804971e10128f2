"""Figures and table of chapter 3 of the thesis, where best-choice is online edge grafting."""

from __future__ import annotations

from functools import partial

from graftviz.experiments.bench import Size
from graftviz.experiments.reproduction import curves
from graftviz.experiments.reproduction.claims import Claim
from graftviz.experiments.reproduction.experiment import Experiment
from graftviz.experiments.reproduction.papers import best_choice
from graftviz.experiments.reproduction.papers.best_choice import learning_curves

_THESIS = "Thesis, chapter 3"
_METHODS = curves.all_methods("thesis")
_LOST = (
    "The thesis states t_max ≪ n and O(n) edges; here t_max = n / 4 and 3n edges. All pairs are "
    "queued at the start, and the first filling continues until the reservoir is full."
)
_FASTER = Claim("Online edge grafting is faster than edge grafting.", curves.FASTER)
_FIRST_HIT = Claim(
    "First hit reaches its edges first, and fits poorly.",
    *curves.quick_but_poor("objective"),
    remark=best_choice.FITS_OFTEN,
)
_against_time = partial(
    best_choice.against_time,
    name="thesis-fig",
    place=_THESIS + ", figure {} and section 3.4.2",
    methods=_METHODS,
    sizes=best_choice.three_n((40, 60, 80), (50, 100, 150, 200)),
    cost=("10 s", "35 s"),
    notes=(best_choice.LAZY, _LOST, best_choice.ONE_SEED, best_choice.CACHED),
)


def _on_data(
    figure: str, title: str, size: Size, edges: int, *more: Claim, note: str
) -> Experiment:
    """Return a study of objective and NLPL on one real data set with a fixed number of edges."""
    panels = best_choice.data_panels(size, edges, min(size.nodes, 50))
    return Experiment(
        name=f"thesis-fig3.{figure}",
        title=f"Objective and held-out NLPL on {title}, {edges} edges",
        place=f"{_THESIS}, figure 3.{figure} and section 3.4.3",
        needs=(size.source,),
        sizes={"panels": tuple((panel,) for panel in panels)},
        **learning_curves("objective", "nlpl", methods=_METHODS),
        cost=("5 s", "20 s"),
        claims=(
            best_choice.CORRELATED,
            _FASTER,
            best_choice.FEWER,
            best_choice.SMALL_ALPHA,
            _FIRST_HIT,
            *more,
        ),
        notes=(best_choice.LAZY, best_choice.T_MAX, best_choice.ONE_SEED, note),
    )


EXPERIMENTS = (
    Experiment(
        name="thesis-table3.1",
        title="Counted work of edge grafting against the stated complexities",
        place=f"{_THESIS}, table 3.1 and section 3.3",
        **best_choice.COUNTS,
        notes=(
            best_choice.T_MAX,
            best_choice.COUNTED,
            "The runs are those of best-choice-table1: best-choice is called online edge grafting "
            "in the thesis. Feature grafting, for which the table states the "
            "same as for edge grafting, is not counted.",
        ),
    ),
    Experiment(
        name="thesis-fig3.3",
        title="Objective to full convergence, 50 variables",
        place=f"{_THESIS}, figure 3.3 and section 3.4.2",
        sizes=best_choice.until_converged(30, 50),
        **learning_curves("objective", methods=_METHODS, held_out=False),
        cost=("5 s", "10 s"),
        claims=(
            Claim("All methods reach the same objective.", *curves.SAME_OBJECTIVE),
            Claim("Online edge grafting converges faster than edge grafting.", curves.FASTER),
            best_choice.FEWER,
            best_choice.FIRST_HIT_LAST,
        ),
        notes=(best_choice.LAZY, _LOST, best_choice.ONE_SEED),
    ),
    _against_time(
        "3.4",
        "recall",
        best_choice.RECALL_BY_ALPHA,
        Claim("The more variables, the larger the advantage.", *curves.GAP_GROWS),
        Claim(
            "First hit reaches its edges first, with the worst recall.",
            *curves.quick_but_poor("recall"),
            remark=best_choice.FITS_OFTEN,
        ),
    ),
    _against_time(
        "3.5",
        "objective",
        _FASTER,
        best_choice.FEWER,
        Claim("α matters less for the objective than for recall.", *curves.SMALL_LOSS),
        _FIRST_HIT,
    ),
    _against_time("3.6", "nlpl", best_choice.CORRELATED, best_choice.NO_OVERFITTING),
    Experiment(
        name="thesis-fig3.7",
        title="Recall with and without the structure heuristics",
        place=f"{_THESIS}, figure 3.7 and section 3.4.2",
        sizes=best_choice.three_n((30, 50), (50, 100)),
        **learning_curves(
            "recall", methods=curves.hub_methods("thesis"), axis="edges", held_out=False, repeats=3
        ),
        cost=("20 s", "45 s"),
        claims=(
            Claim(
                "Without the structure heuristics fewer of the true edges are found.",
                *curves.HUBS_HELP,
            ),
        ),
        notes=(_LOST, best_choice.MORE_SEEDS),
    ),
    _on_data(
        "8",
        "USDA plants",
        Size(69, 31_300, 2, held_out=3_481, source="plants"),
        200,
        Claim(
            "With these data the choice of α shows in the quality: a large α is to be preferred.",
            curves.ALPHA_MATTERS,
        ),
        note="The thesis has 68 regions; the public file has 69.",
    ),
    _on_data(
        "9",
        "Yummly",
        Size(153, 9_500, 2, held_out=500, source="yummly"),
        400,
        note="The 153 most common ingredients, and 10,000 recipes.",
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
