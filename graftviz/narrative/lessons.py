"""Lessons for a class: what to look at in a prepared state of the app, and questions about it.

The words only. What a lesson opens stands in :mod:`graftviz.ui.lessons.views`, under the same key
and in the same order; ``tests/test_lessons.py`` computes every number that an answer names.
"""

from __future__ import annotations

from typing import NamedTuple


class Question(NamedTuple):
    """A question to the class, with its answer."""

    asked: str
    answer: str


class Lesson(NamedTuple):
    """One idea, and the states of the app that show it.

    Attributes
    ----------
    key : str
        Also the anchor on the page.
    title, why : str
    views : tuple of str
        Labels of the links.
    look : str
        What to look at there.
    questions : tuple of two Questions
    """

    key: str
    title: str
    why: str
    views: tuple[str, ...]
    look: str
    questions: tuple[Question, Question]


LESSONS: tuple[Lesson, ...] = (
    Lesson(
        "alpha",
        "What α does",
        "A step can activate several edges of the reservoir at once. α controls how selective it "
        "is: it sets the threshold τ between the mean of the reservoir (α = 0) and its maximum "
        "(α = 1). Large steps are fast, but may add edges that scored high only before the others "
        "were in the model.",
        ("α = 0, step 1", "α = 1, step 1", "Race: α = 0, ½ and 1"),
        "The bars of the reservoir above and below τ, and the number of new edges in the graph. In "
        "the race, press play: the axis counts edges.",
        (
            Question(
                "Before the first step the reservoir holds 16 edges. How many does α = 1 take, and "
                "how many does α = 0?",
                "One and four. With α = 1 only the maximum is taken. With α = 0 the threshold is "
                "the mean; six edges reach it, but two of those share a variable with a "
                "stronger one and are skipped.",
            ),
            Question(
                "Both runs end with 231 edges. Which needs more steps, and which finds more of the "
                "true edges?",
                "α = 1 needs 231 steps, one edge each, and finds 78 % of the true edges; α = 0 "
                "needs 86 steps and finds 65 %. The model is not refitted between two edges of one "
                "step, so the second is chosen by an outdated score.",
            ),
        ),
    ),
    Lesson(
        "reservoir",
        "Why the reservoir",
        "Edge grafting is slow because it scores all n(n−1)/2 pairs before every step. Taking the "
        "first pair that passes is fast but inaccurate. The best of a few dozen random draws is "
        "nearly as good as the best of all.",
        ("20 places", "1 place: first hit", "5 places"),
        "On the left, the rank of the best draw against the size of the reservoir; on the right, "
        "the same in a real run, where ranks are counted among all inactive pairs.",
        (
            Question(
                "The best of |R| random draws ranks at 1/(|R| + 1) of all pairs on average. How "
                "large must the reservoir be to be in the top 5 %, how large for the top 1 %? And "
                "does n matter?",
                "19 places for the top 5 %, 99 for the top 1 %, and n does not appear: with 400 "
                "variables, 79,800 pairs, 20 draws reach the top 4.9 % in the simulation.",
            ),
            Question(
                "In the run on the right, how much better is the best candidate with 20 places "
                "than with one?",
                "Its median rank is 3 among all inactive pairs; with one place (first hit) it is "
                "28.5. In 18 of the 83 steps the reservoir held the best pair, after 60 tests "
                "instead of 1,770.",
            ),
        ),
    ),
    Lesson(
        "hub",
        "What a hub is",
        "Real networks have a few variables with very many neighbours. The paper's hub rule "
        "detects them while the graph grows: a node whose degree centrality, degree / (n − 1), is "
        "above ĉ is a hub (by default ĉ is the mean), and pairs with a hub are tested first.",
        ("Step 31, early", "Step 114, the end"),
        "Nodes with a ring are the hubs of the shown step; their size shows the degree. Click one "
        "to see its degree rank. The sentence of a step names the hubs whose pairs were tested "
        "first.",
        (
            Question(
                "At step 31, how many of the 60 variables are hubs, and how many edges does it "
                "take to be one?",
                "15, and two edges are enough: the mean degree before the step is 1.2. With few "
                "edges, almost every node with a second edge counts as a hub.",
            ),
            Question(
                "Is the largest hub of the learned graph also the largest of the true graph?",
                "No. In the learned graph it is x1 with 14 edges; in the true graph it is x2, with "
                "21, of which the learned graph has 11. At a large hub each single edge is weak, "
                "so many of them stay below λ.",
            ),
        ),
    ),
    Lesson(
        "heuristic",
        "When the heuristic hurts",
        "A rule that saves tests also decides which pairs are tested first. With the hub rule "
        "these are true edges in some graphs; in others they fill the reservoir with neighbours of "
        "neighbours. Only a comparison shows which.",
        ("Les Misérables, α = ½: with and without", "Karate club, α = 0: with and without"),
        "Two racers that differ only in the hub rule. Compare recall and precision against edges, "
        "then the table of results.",
        (
            Question(
                "Les Misérables, both with 231 edges: which racer found more true edges, and by "
                "how much?",
                "The one without the rule: recall 0.77 against 0.71. It also needed more tests, "
                "2,754 against 2,154: the rule was faster, but less accurate.",
            ),
            Question(
                "And in the karate club with α = 0? Would you recommend the rule?",
                "There the rule helps: recall 0.90 against 0.87, with 482 tests against 518. Its "
                "benefit depends on the unknown graph; the preset best does not use it.",
            ),
        ),
    ),
    Lesson(
        "correlation",
        "Correlation against structure",
        "If a depends on b and b on c, then a and c are correlated although no edge joins them. A "
        "score of single pairs cannot distinguish this from an edge; a score that accounts for the "
        "edges already in the model can.",
        ("Step 4 of the paper's method", "The same data with preset best"),
        "The pair x9 – x14, dashed from step 4 on: a false edge. Click x0 and compare. Then follow "
        "the second link, which shows preset best with the paper's method as the ghost.",
        (
            Question(
                "x9 and x14 are joined at step 4, with a score three times λ, but there is no such "
                "true edge. Which variable explains their correlation?",
                "x0: both are its neighbours in the true graph. Their correlation is real but "
                "indirect, through x0, which the score of a single pair does not account for.",
            ),
            Question(
                "At the end the paper's method has 149 edges, 54 of them false. How many false "
                "ones join two neighbours of the same third variable, and what does best do with "
                "them?",
                "52 of 54. Best ends with 102 edges, of which 1 is false, and x9 – x14 is not "
                "among them: it scores what the active edges do not explain, and removes edges "
                "that are not needed.",
            ),
        ),
    ),
    Lesson(
        "vacuous",
        "When a bound is vacuous",
        "A certified answer has a proven bound on its error. With strong couplings, influence does "
        "not decay with distance and the bound becomes loose: a bound of 1 on a probability is "
        "vacuous. The answer itself may still be accurate.",
        ("Weak couplings", "Strong couplings", "Strong couplings, strong fields", "A learned hub"),
        "The headline, the bound against the size of the region, and c on the map. The actual "
        "error is shown beside the bound.",
        (
            Question(
                "With weak couplings (T₂ = 0.2) the answer is certified to ±0.01. With T₂ = 1 the "
                "region may grow to 16 nodes. What happens to the bound, and what is c?",
                "It begins at 0.75 and never falls below 0.73, however large the region: "
                "c = 2.7, more than 1, so influence need not decay. Yet the actual error "
                "is only 0.007: a vacuous bound does not mean a wrong answer.",
            ),
            Question(
                "In the third link c is 1.9, more than 1 as well, but the bound "
                "comes down to 0.012. Why? And why does member 34 of the karate club get no bound "
                "below 0.99?",
                "Strong fields reduce influence: most states are determined by the field, and a "
                "neighbour changes little, although c is set by the worst node. Member 34 is the "
                "largest hub: 17 neighbours together can determine its state, so no useful bound "
                "exists.",
            ),
        ),
    ),
    Lesson(
        "lam",
        "λ, and when to stop",
        "λ is the score that an edge must exceed, so it decides where learning stops. No λ finds "
        "all true edges and no false ones. Convergence has to be verified: every inactive edge is "
        "scored at the final weights.",
        ("λ = 0.0035", "λ = 0.01", "λ = 0.03"),
        "Jump to the end: edges, recall, precision, and the reason why the run stopped. Then drag "
        "λ.",
        (
            Question(
                "From λ = 0.0035 to λ = 0.01: what happens to the number of edges, to precision, "
                "and to recall?",
                "149 edges become 44. Precision rises from 0.64 to 0.98, recall falls from 0.82 "
                "to 0.37: nearly all remaining edges are true, but most true edges are missing.",
            ),
            Question(
                "At λ = 0.03 there are no edges at all. Has learning failed?",
                "No: the largest of all 1,770 scores is 0.0229, below λ. This proves that the "
                "empty graph is optimal for this λ, and shows which λ would give the first edge.",
            ),
        ),
    ),
    Lesson(
        "first-hit",
        "First hit against best choice",
        "Three ways to choose the next edge: the first that passes, the best of a reservoir, the "
        "best of all. Their costs differ greatly.",
        ("120 edges each, by edge tests",),
        "The axis counts edge tests, optionally on a logarithmic scale. Which racer leads after "
        "1,000 tests, and which at the end?",
        (
            Question(
                "All three end with 120 edges. How many tests did each need?",
                "First hit 1,395, best-choice 1,905, edge grafting 205,260: more than a hundred "
                "times as many.",
            ),
            Question(
                "How many of edge grafting's 120 edges did the other two find?",
                "Best-choice with α = 1 found all 120, first hit 94. Its recall is 0.63 against "
                "0.78.",
            ),
        ),
    ),
    Lesson(
        "treewidth",
        "Accuracy and treewidth",
        "The cost of exact inference is set by the widest clique of the junction tree. Learning "
        "under a bound on the width keeps inference cheap. More width means more edges, but are "
        "they worth it?",
        ("Width 1: a tree", "Width 2", "Width 5"),
        "Graph and junction tree side by side, with the widest clique highlighted; the "
        "likelihood of held-out rows (NLL, lower is better) as edges are added.",
        (
            Question(
                "From width 1 to width 2 the survey's model gets 19 edges instead of 10. Is it "
                "better? And with width 5?",
                "Width 2 is better than a tree: NLL 9.821 against 9.855. Width 5 has 40 edges and "
                "9.852, hardly better than the tree: with 2,000 rows the other edges fit noise.",
            ),
            Question(
                "What does inference cost, in operations for all marginals of one and two "
                "variables?",
                "10,368 with width 2, 167,616 with width 5: sixteen times as much, for a worse "
                "model. Each further unit of width multiplies the largest table by the number "
                "of states of a variable.",
            ),
        ),
    ),
    Lesson(
        "seeds",
        "Seeds of a dynamical system",
        "Regressing each of n series on all others is expensive. Scalable learning regresses only "
        "a few seeds, one and two steps ahead, and infers the parents of all other series from "
        "these regressions.",
        ("6 seeds of 30", "All 30 are seeds", "Dense: no structure"),
        "Rows that were regressed and rows that were inferred, in the matrix; click a series for "
        "the seeds it drives. Below, the prediction error of all four methods.",
        (
            Question(
                "With 6 seeds instead of 30, what is lost?",
                "Six regressions find 67 % of the true influences, thirty find 98 %; the error "
                "of prediction rises from 0.58 to 0.71.",
            ),
            Question(
                "The dense method has 900 coefficients, the one with 30 seeds 150. Which predicts "
                "the held-out rows better?",
                "The sparse one, by a little: 0.585 against 0.589. The other 750 coefficients fit "
                "the rows that were seen: there the dense method is better, 0.519 against 0.544.",
            ),
        ),
    ),
)
