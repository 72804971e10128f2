"""Figures and table of chapter 3 of the thesis, where best-choice is online edge grafting."""

from __future__ import annotations

from graftviz.experiments.bench import Size
from graftviz.experiments.reproduction import curves
from graftviz.experiments.reproduction.claims import Claim
from graftviz.experiments.reproduction.curves import Panel
from graftviz.experiments.reproduction.experiment import PAPER, REHEARSAL, SMALL, Experiment
from graftviz.experiments.reproduction.papers.best_choice import (
    CACHED,
    CORRELATED,
    COUNTED,
    COUNTS,
    FEWER,
    FIRST_HIT_LAST,
    FITS_OFTEN,
    LAZY,
    MORE_SEEDS,
    NO_OVERFITTING,
    ONE_SEED,
    RECALL_BY_ALPHA,
    SMALL_ALPHA,
    T_MAX,
    learning_curves,
    three_n,
    until_converged,
)

_THESIS = "Thesis, chapter 3"
_METHODS = curves.all_methods("thesis")
_SIZES = three_n((50, 100, 150, 200), (40, 60, 80))
_LOST = (
    "The thesis states t_max ≪ n and O(n) edges; here t_max = n / 4 and 3n edges. All pairs are "
    "queued at the start, and the first filling continues until the reservoir is full."
)
_FASTER = Claim("Online edge grafting is faster than edge grafting.", curves.FASTER)
_FIRST_HIT = Claim(
    "First hit reaches its edges first, and fits poorly.",
    *curves.quick_but_poor("objective"),
    remark=FITS_OFTEN,
)


def _on_data(
    figure: str, title: str, size: Size, edges: int, *more: Claim, note: str
) -> Experiment:
    """Return a study of objective and NLPL on one real data set with a fixed number of edges."""
    few = min(size.nodes, 50)
    small = Size(few, 4_000, size.states, held_out=500, source=size.source)
    tiny = Size(8, 200, size.states, held_out=40, source=size.source)
    return Experiment(
        name=f"thesis-fig3.{figure}",
        title=f"Objective and held-out NLPL on {title}, {edges} edges",
        place=f"{_THESIS}, figure 3.{figure} and section 3.4.3",
        needs=(size.source,),
        sizes={
            PAPER: (Panel(size, edges),),
            SMALL: (Panel(small, edges * few // size.nodes),),
            REHEARSAL: (Panel(tiny, 8),),
        },
        **learning_curves("objective", "nlpl", methods=_METHODS, seconds=(5, 20)),
        claims=(CORRELATED, _FASTER, FEWER, SMALL_ALPHA, _FIRST_HIT, *more),
        notes=(LAZY, T_MAX, ONE_SEED, note),
    )


EXPERIMENTS = (
    Experiment(
        name="thesis-table3.1",
        title="Counted work of edge grafting against the stated complexities",
        place=f"{_THESIS}, table 3.1 and section 3.3",
        **COUNTS,
        notes=(
            T_MAX,
            COUNTED,
            "The runs are those of best-choice-table1: best-choice is called online edge grafting "
            "in the thesis. Feature grafting, for which the table states the "
            "same as for edge grafting, is not counted.",
        ),
    ),
    Experiment(
        name="thesis-fig3.3",
        title="Objective to full convergence, 50 variables",
        place=f"{_THESIS}, figure 3.3 and section 3.4.2",
        sizes=until_converged(50, 30),
        **learning_curves("objective", methods=_METHODS, seconds=(5, 10), held_out=False),
        claims=(
            Claim("All methods reach the same objective.", *curves.SAME_OBJECTIVE),
            Claim("Online edge grafting converges faster than edge grafting.", curves.FASTER),
            FEWER,
            FIRST_HIT_LAST,
        ),
        notes=(LAZY, _LOST, ONE_SEED),
    ),
    Experiment(
        name="thesis-fig3.4",
        title="Recall of true edges against time, 3n edges",
        place=f"{_THESIS}, figure 3.4 and section 3.4.2",
        sizes=_SIZES,
        **learning_curves("recall", methods=_METHODS, seconds=(10, 35)),
        claims=(
            RECALL_BY_ALPHA,
            Claim("The more variables, the larger the advantage.", *curves.GAP_GROWS),
            Claim(
                "First hit reaches its edges first, with the worst recall.",
                *curves.quick_but_poor("recall"),
                remark=FITS_OFTEN,
            ),
        ),
        notes=(LAZY, _LOST, ONE_SEED, CACHED),
    ),
    Experiment(
        name="thesis-fig3.5",
        title="Objective against time, 3n edges",
        place=f"{_THESIS}, figure 3.5 and section 3.4.2",
        sizes=_SIZES,
        **learning_curves("objective", methods=_METHODS, seconds=(10, 35)),
        claims=(
            _FASTER,
            FEWER,
            Claim("α matters less for the objective than for recall.", *curves.SMALL_LOSS),
            _FIRST_HIT,
        ),
        notes=(LAZY, _LOST, ONE_SEED, CACHED),
    ),
    Experiment(
        name="thesis-fig3.6",
        title="Held-out NLPL against time, 3n edges",
        place=f"{_THESIS}, figure 3.6 and section 3.4.2",
        sizes=_SIZES,
        **learning_curves("nlpl", methods=_METHODS, seconds=(10, 35)),
        claims=(CORRELATED, NO_OVERFITTING),
        notes=(LAZY, _LOST, ONE_SEED, CACHED),
    ),
    Experiment(
        name="thesis-fig3.7",
        title="Recall with and without the structure heuristics",
        place=f"{_THESIS}, figure 3.7 and section 3.4.2",
        sizes=three_n((50, 100), (30, 50)),
        **learning_curves(
            "recall",
            methods=curves.hub_methods("thesis"),
            axis="edges",
            seconds=(20, 45),
            held_out=False,
            repeats=3,
        ),
        claims=(
            Claim(
                "Without the structure heuristics fewer of the true edges are found.",
                *curves.HUBS_HELP,
            ),
        ),
        notes=(_LOST, MORE_SEEDS),
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
