"""Declared figures of chapter 3 of the thesis, where best-choice is online edge grafting."""

from __future__ import annotations

from graftviz.experiments.bench import Size
from graftviz.experiments.reproduction import counts, quality, verdicts as judged
from graftviz.experiments.reproduction.best_choice import (
    CACHED,
    COUNTED,
    COUNTS,
    FEWER,
    LAZY,
    MORE_SEEDS,
    ONE_SEED,
    T_MAX,
    three_n,
    until_converged,
)
from graftviz.experiments.reproduction.curves import Curves
from graftviz.experiments.reproduction.experiment import PAPER, REHEARSAL, SMALL, Claim, Experiment
from graftviz.experiments.reproduction.runs import Panel, all_methods, hub_methods

_THESIS = "Thesis, chapter 3"
_METHODS = all_methods("thesis")
_SIZES = three_n((50, 100, 150, 200), (40, 60, 80))
_LOST = (
    "The thesis states t_max ≪ n and O(n) edges; here t_max = n / 4 and 3n edges. All pairs are "
    "queued at the start, and the first filling continues until the reservoir is full."
)
_FASTER = Claim(
    "Online edge grafting is faster than edge grafting.", judged.faster_than_edge_grafting()
)
_GAP_GROWS = Claim("The more variables, the larger the advantage.", judged.gap_grows())
_CORRELATED = Claim(
    "Objective and held-out NLPL are positively correlated.",
    quality.objective_and_nlpl_fall_together(),
)
_FIRST_HIT = Claim(
    "First hit reaches its edges first, and fits poorly.", quality.quick_but_poor("objective")
)


def _on_data(
    figure: str,
    source: str,
    title: str,
    size: Size,
    edges: int,
    *more: Claim,
    notes: tuple[str, ...] = (),
) -> Experiment:
    """Return a study of objective and NLPL on one real data set with a fixed number of edges."""
    few = min(size.nodes, 50)
    small = Size(few, 4_000, size.states, held_out=500, source=source)
    tiny = Size(8, 200, size.states, held_out=40, source=source)
    return Experiment(
        name=f"thesis-fig3.{figure}",
        title=f"Objective and held-out NLPL on {title}, {edges} edges",
        place=f"{_THESIS}, figure 3.{figure} and section 3.4.3",
        study=Curves(
            {
                PAPER: (Panel(size, edges),),
                SMALL: (Panel(small, edges * few // size.nodes),),
                REHEARSAL: (Panel(tiny, 8),),
            },
            _METHODS,
            ("objective", "nlpl"),
        ),
        claims=(
            _CORRELATED,
            _FASTER,
            FEWER,
            Claim(
                "Smaller α converge faster, at a somewhat worse objective.",
                quality.better_with_alpha("objective"),
            ),
            _FIRST_HIT,
            *more,
        ),
        notes=(LAZY, T_MAX, ONE_SEED, *notes),
        cost={SMALL: "5 s", PAPER: "20 s"},
    )


EXPERIMENTS = (
    Experiment(
        name="thesis-table3.1",
        title="Counted work of edge grafting against the stated complexities",
        place=f"{_THESIS}, table 3.1 and section 3.3",
        study=COUNTS,
        claims=counts.CLAIMS,
        notes=(
            T_MAX,
            COUNTED,
            "The runs are those of best-choice-table1: best-choice is called online edge grafting "
            "in the thesis. Feature grafting, for which the table states the "
            "same as for edge grafting, is not counted.",
        ),
        cost={SMALL: "5 s", PAPER: "45 s"},
    ),
    Experiment(
        name="thesis-fig3.3",
        title="Objective to full convergence, 50 variables",
        place=f"{_THESIS}, figure 3.3 and section 3.4.2",
        study=Curves(until_converged(50, 30), _METHODS, ("objective",), held_out=False),
        claims=(
            Claim("All methods reach the same objective.", judged.same_objective()),
            Claim(
                "Online edge grafting converges faster than edge grafting.",
                judged.faster_than_edge_grafting(),
            ),
            FEWER,
            Claim("First hit converges last.", judged.first_hit_converges_last()),
        ),
        notes=(LAZY, _LOST, ONE_SEED),
        cost={SMALL: "5 s", PAPER: "10 s"},
    ),
    Experiment(
        name="thesis-fig3.4",
        title="Recall of true edges against time, 3n edges",
        place=f"{_THESIS}, figure 3.4 and section 3.4.2",
        study=Curves(_SIZES, _METHODS, ("recall",)),
        claims=(
            Claim(
                "A larger α recovers more of the true edges, and takes longer.",
                quality.better_with_alpha("recall"),
            ),
            _GAP_GROWS,
            Claim(
                "First hit reaches its edges first, with the worst recall.",
                quality.quick_but_poor("recall"),
            ),
        ),
        notes=(LAZY, _LOST, ONE_SEED, CACHED),
        cost={SMALL: "10 s", PAPER: "35 s"},
    ),
    Experiment(
        name="thesis-fig3.5",
        title="Objective against time, 3n edges",
        place=f"{_THESIS}, figure 3.5 and section 3.4.2",
        study=Curves(_SIZES, _METHODS, ("objective",)),
        claims=(
            _FASTER,
            FEWER,
            Claim(
                "α matters less for the objective than for recall.", quality.small_loss_by_alpha()
            ),
            _FIRST_HIT,
        ),
        notes=(LAZY, _LOST, ONE_SEED, CACHED),
        cost={SMALL: "10 s", PAPER: "35 s"},
    ),
    Experiment(
        name="thesis-fig3.6",
        title="Held-out NLPL against time, 3n edges",
        place=f"{_THESIS}, figure 3.6 and section 3.4.2",
        study=Curves(_SIZES, _METHODS, ("nlpl",)),
        claims=(
            _CORRELATED,
            Claim("Also with small α the models do not overfit.", quality.no_overfitting()),
        ),
        notes=(LAZY, _LOST, ONE_SEED, CACHED),
        cost={SMALL: "10 s", PAPER: "35 s"},
    ),
    Experiment(
        name="thesis-fig3.7",
        title="Recall with and without the structure heuristics",
        place=f"{_THESIS}, figure 3.7 and section 3.4.2",
        study=Curves(
            three_n((50, 100), (30, 50)),
            hub_methods("thesis"),
            ("recall",),
            held_out=False,
            repeats=3,
            axis="edges",
        ),
        claims=(
            Claim(
                "Without the structure heuristics fewer of the true edges are found.",
                quality.hubs_help(),
            ),
        ),
        notes=(_LOST, MORE_SEEDS),
        cost={SMALL: "20 s", PAPER: "45 s"},
    ),
    _on_data(
        "8",
        "plants",
        "USDA plants",
        Size(69, 31_300, 2, held_out=3_481, source="plants"),
        200,
        Claim(
            "With these data the choice of α shows in the quality: a large α is to be preferred.",
            quality.alpha_matters(),
        ),
        notes=("The thesis has 68 regions; the public file has 69.",),
    ),
    _on_data(
        "9",
        "yummly",
        "Yummly",
        Size(153, 9_500, 2, held_out=500, source="yummly"),
        400,
        notes=("The 153 most common ingredients, and 10,000 recipes.",),
    ),
    _on_data(
        "10",
        "jester",
        "Jester",
        Size(100, 66_000, held_out=7_400, source="jester"),
        250,
        notes=(
            "Users who rated all jokes, or missing ratings as a state of their own, as the file "
            "has it.",
        ),
    ),
)
