"""Declared figures of the paper on localized inference."""

from __future__ import annotations

from graftviz.experiments.reproduction import (
    cora_verdicts as cora_judged,
    dobrushin,
    region_verdicts as judged,
)
from graftviz.experiments.reproduction.cora import CoraLabels
from graftviz.experiments.reproduction.experiment import PAPER, REHEARSAL, SMALL, Claim, Experiment
from graftviz.experiments.reproduction.regions import (
    GREEDY,
    MEAN_FIELD,
    RULES,
    GridPanel,
    Regions,
)

_PAPER = "Efficient localized inference"
_FIELDS = (0.25, 0.5, 1.0, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0)  # T₁ of figure 5
_STRENGTHS = (0.5, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0)  # T of Cora

_LOST = (
    "The numbers of this figure are missing in our copy of the text, so these are ours: the size "
    "of the grid, the query (the node in the middle), T₁ and T₂."
)
_BRUTE_FORCE = (
    "The paper computes true errors by brute force, which 10 × 10 nodes do not allow; here they "
    "are exact by a junction tree. 5 × 5 is a size for brute force."
)
_TIGHTER = (
    "Bounds here are never worse than Corollary 2, and better where couplings are strong: the "
    "total influence of all neighbours on a variable limits its share, so that nothing has to "
    "converge."
)
_DETOURS = (
    "The paper's algorithm stops if no node improves the bound, even if the relevant one would "
    "first increase it. Here the region continues to grow, so that the bound may rise for some "
    "sizes. T₂ = 0.6 lies where c > 1."
)
_BOUNDS_HOLD = Claim("No true error exceeds its bound.", judged.bounds_hold)
_CORA_MODEL = (
    "The potentials are missing in our copy of the text, so these are ours: θ_ij from U[−1, 1], "
    "θ_i from U[0, T] with the sign of the true label. At T = 0 all marginals are 1/2 and "
    "give no label; T begins at 0.5."
)
_CORA_GRAPH = (
    "Degrees are bounded by 14: the 4,325 edges of the paper fit degrees below 15, not of at most "
    "15. A graph within the bound is taken as it is."
)
_CORA_MORE = (
    "Global belief propagation and the mean-field cut are ours, beside global mean field and "
    "dropping out: mean field is an approximation too, and a poor one for strong couplings."
)
_CORA_SIZES = {
    PAPER: (_STRENGTHS, 500),
    SMALL: ((0.5, 2.0, 5.0, 10.0), 60),
    REHEARSAL: ((1.0, 10.0), 8),
}

EXPERIMENTS = (
    Experiment(
        name="localized-fig3",
        title="Dobrushin's condition on Ising grids",
        place=f"{_PAPER}, figure 3 and section 6.1",
        study=dobrushin.DobrushinPlane(
            {
                PAPER: (
                    10,
                    tuple(k / 4 for k in range(21)),
                    tuple(k / 20 for k in range(1, 21)),
                    20,
                ),
                SMALL: (10, (0.0, 1.0, 2.0, 3.0, 4.0, 5.0), tuple(k / 10 for k in range(1, 11)), 3),
                REHEARSAL: (3, (0.0, 3.0), (0.1, 1.0), 2),
            }
        ),
        claims=dobrushin.CLAIMS,
        notes=(
            "The size of the grid and the ranges of T₁ and T₂ are missing in our copy of the text: "
            "10 × 10, T₁ up to 5, T₂ up to 1.",
        ),
        cost={SMALL: "5 s", PAPER: "30 s"},
    ),
    Experiment(
        name="localized-fig4",
        title="Errors and bounds against the size of the region",
        place=f"{_PAPER}, figure 4 and section 6.1",
        study=Regions(
            {
                PAPER: (
                    GridPanel(10, 1.0, 0.3, 100),
                    GridPanel(10, 1.0, 0.6, 100),
                    GridPanel(5, 1.0, 0.3, 100),
                ),
                SMALL: (GridPanel(6, 1.0, 0.3, 5),),
                REHEARSAL: (GridPanel(5, 1.0, 0.3, 2),),
            },
            RULES,
            "size",
        ),
        claims=(
            Claim(
                "With dropping out, greedy expansion is significantly better than both baselines.",
                judged.greedy_beats_baselines,
            ),
            Claim(
                "Cutting by mean field gives about the same true error as dropping out.",
                judged.same_error_with_mean_field,
            ),
            Claim(
                "Cutting by mean field gives a tighter bound than dropping out.",
                judged.tighter_bound_with_mean_field,
            ),
            Claim(
                "True errors of the two baselines are sometimes even worse than the bounds of "
                "greedy expansion.",
                judged.errors_beyond_greedy_bounds,
            ),
            _BOUNDS_HOLD,
        ),
        notes=(_LOST, _BRUTE_FORCE, _TIGHTER, _DETOURS),
        cost={SMALL: "10 s", PAPER: "3 min"},
    ),
    Experiment(
        name="localized-fig5",
        title="Errors and bounds against the strength of the fields",
        place=f"{_PAPER}, figure 5 and section 6.1",
        study=Regions(
            {
                PAPER: tuple(GridPanel(10, field, 0.3, 100) for field in _FIELDS),
                SMALL: tuple(GridPanel(6, field, 0.3, 3) for field in (0.5, 2.0, 5.0)),
                REHEARSAL: tuple(GridPanel(5, field, 0.3, 2) for field in (0.5, 5.0)),
            },
            (GREEDY, MEAN_FIELD),
            "field",
        ),
        claims=(
            Claim(
                "The bound is relatively tight, especially where T₁ is large.",
                judged.tight_for_strong_fields,
            ),
            Claim(
                "Both bounds and true errors decrease as T₁ increases.",
                judged.fall_with_stronger_fields,
            ),
            _BOUNDS_HOLD,
        ),
        notes=(
            _LOST,
            _TIGHTER,
            _DETOURS,
            "At T₁ = 0 all marginals are 1/2, and so are those of any region.",
        ),
        cost={SMALL: "10 s", PAPER: "2 min"},
    ),
    Experiment(
        name="localized-fig6",
        title="Labels of Cora by local and global inference",
        place=f"{_PAPER}, figure 6 and section 6.2",
        study=CoraLabels(_CORA_SIZES, "accuracy"),
        claims=(
            Claim(
                "The accuracies of global and local inference against the true labels increase "
                "significantly with the strength of the fields.",
                cora_judged.accuracies_rise,
            ),
            Claim(
                "Local inference gives similar results as global inference.",
                cora_judged.local_agrees_with_global,
            ),
            Claim(
                "Local and global inference agree more as the strength increases.",
                cora_judged.agreement_rises,
            ),
        ),
        notes=(_CORA_MODEL, _CORA_GRAPH, _CORA_MORE),
        cost={SMALL: "20 s", PAPER: "15 min"},
    ),
    Experiment(
        name="localized-fig7",
        title="Precision, recall and F of local against global labels of Cora",
        place=f"{_PAPER}, figure 7 and section 6.2",
        study=CoraLabels(_CORA_SIZES, "quality"),
        claims=(
            Claim(
                "Precision, recall and F-measure of the local labels, with those of global "
                "inference as the truth and +1 as the positive class, increase with the strength "
                "of the fields.",
                cora_judged.quality_rises,
            ),
        ),
        notes=(
            _CORA_MODEL,
            _CORA_GRAPH,
            _CORA_MORE,
            "Figures of the same runs share cached results if they use the same folder.",
        ),
        cost={SMALL: "20 s", PAPER: "15 min"},
    ),
)
