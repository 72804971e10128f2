"""Glossary: terms, their forms in sentences, definitions and further reading."""

from __future__ import annotations

from typing import Any, NamedTuple


class Term(NamedTuple):
    """One entry.

    Attributes
    ----------
    key : str
        Also the anchor on the page.
    name : str
        Heading of the entry.
    forms : tuple of str
        Forms in sentences, in lower case; matched as whole words, ignoring case.
    meaning : str
        One or two sentences.
    formula : str
        Short, as plain text; empty if there is none.
    page : str
        Of the folder docs, without ``.md``.
    source : str
        Paper and equation; empty if given on the page.
    """

    key: str
    name: str
    forms: tuple[str, ...]
    meaning: str
    formula: str = ""
    page: str = "methods/best-choice"
    source: str = ""


GLOSSARY: tuple[Term, ...] = (
    Term(
        "activate",
        "activate",
        ("activated", "activation"),
        "To add an edge to the model, with weights that are fitted together with all others. An "
        "edge that is not in the model is inactive.",
        source="Best-choice edge grafting, algorithm 4",
    ),
    Term(
        "alpha",
        "α",
        ("α",),
        "How selective a step is: the position of the threshold τ between the mean of the "
        "reservoir (0) and its maximum (1).",
        "τ(α) = (1 − α) μ + α max",
        source="Best-choice edge grafting, algorithm 4",
    ),
    Term(
        "belief",
        "belief",
        ("belief", "beliefs"),
        "The marginal of a variable or of an edge computed by belief propagation: exact on "
        "trees, an approximation elsewhere.",
        page="methods/bp",
    ),
    Term(
        "belief-propagation",
        "belief propagation",
        ("belief propagation",),
        "Inference by passing messages along the edges until they converge. Exact on trees; on "
        "other graphs accurate while couplings are weak.",
        page="methods/bp",
    ),
    Term(
        "certificate",
        "certificate",
        ("certificate",),
        "The check at the end of a run: the number of inactive edges scored at the final weights, "
        "and the largest score. Only a complete certificate proves that no further edge would be "
        "added.",
    ),
    Term(
        "certified-region",
        "certified region",
        ("certified region", "region"),
        "A few variables around a query from which its marginal is computed with a proven error "
        "bound, regardless of all others.",
        page="methods/localized",
        source="Efficient localized inference, corollary 2",
    ),
    Term(
        "chow-liu",
        "Chow–Liu tree",
        ("chow–liu tree", "most likely tree"),
        "The tree of maximum likelihood: the maximum spanning tree of the pairwise mutual "
        "information.",
        page="methods/chow-liu",
    ),
    Term(
        "dobrushin",
        "Dobrushin coefficient",
        ("dobrushin coefficient",),
        "The largest total influence of all neighbours on one variable. Below 1, influence decays "
        "with distance.",
        "c = maxᵢ Σⱼ Cᵢⱼ",
        page="methods/localized",
    ),
    Term(
        "ebic",
        "extended BIC",
        ("ebic", "extended bic"),
        "Twice the negative log-likelihood plus penalties on the number of weights and on the "
        "number of possible graphs. It selects the most plausible graph, not the best prediction.",
        page="methods/nodewise-l1",
    ),
    Term(
        "edge-budget",
        "edge budget",
        ("edge budget",),
        "The maximum number of edges of a run. A run stopped by its budget is not certified to be "
        "complete.",
    ),
    Term(
        "elimination-order",
        "elimination order",
        ("elimination order",),
        "The order in which exact inference sums variables out. It determines the width, and "
        "thereby the cost.",
        page="methods/exact",
    ),
    Term(
        "feature",
        "feature",
        ("feature", "features"),
        "One joint state of one pair of variables; an edge of sᵢ and sⱼ states has sᵢ·sⱼ.",
        page="methods/feature-grafting",
    ),
    Term(
        "frozen",
        "frozen",
        ("frozen",),
        "State of a tested pair outside the reservoir: it is kept in a list and tested again when "
        "the queue is empty, pairs with higher scores first.",
        "vₑ = 1 − sₑ / λ",
        source="Best-choice edge grafting, algorithm 3",
    ),
    Term(
        "hub",
        "hub",
        ("hub", "hubs"),
        "A variable with many neighbours: with a degree centrality above ĉ. The hub rule tests "
        "pairs with a hub first.",
        "degree / (n − 1) > ĉ",
        source="Best-choice edge grafting, algorithm 2",
    ),
    Term(
        "inactive",
        "inactive edge",
        ("inactive edge", "inactive edges", "inactive pair", "inactive pairs"),
        "A pair of variables that is not joined in the model; its weights are zero.",
    ),
    Term(
        "junction-tree",
        "junction tree",
        ("junction tree",),
        "A tree whose nodes are groups of variables, the cliques. Exact inference passes tables "
        "along it; the widest clique determines the cost.",
        page="methods/exact",
    ),
    Term(
        "kappa",
        "κ",
        ("κ",),
        "Significance: the multiple of its sampling noise that a score must exceed.",
    ),
    Term(
        "kkt",
        "KKT residual",
        ("kkt residual",),
        "Violation of the optimality conditions by the weights; 0 at the optimum.",
    ),
    Term(
        "lambda",
        "λ",
        ("λ",),
        "The penalty of an edge, and thus the score that an inactive edge must exceed.",
        "sₑ > λ",
        source="Best-choice edge grafting, equation 5",
    ),
    Term(
        "lambda2",
        "λ₂",
        ("λ₂",),
        "The penalty of squared weights: it keeps weights small and belief propagation stable.",
        "λ₂ ‖w‖²",
        source="Best-choice edge grafting, equation 2",
    ),
    Term(
        "mean-field",
        "mean field",
        ("mean field",),
        "The closest distribution of independent variables. Its log Z is a lower bound; its "
        "marginals are overconfident.",
        page="methods/mean-field",
    ),
    Term(
        "nll",
        "NLL",
        ("nll",),
        "Negative log-likelihood of held-out rows, in nats per row; lower is better. Requires the "
        "exact log Z.",
        page="methods/bounded-inference",
    ),
    Term(
        "nlpl",
        "NLPL",
        ("nlpl",),
        "Negative log pseudo-likelihood of held-out rows, in nats per row: each value is predicted "
        "from all others of its row. Lower is better.",
        "−Σᵢ log p(xᵢ | x₋ᵢ)",
        page="methods/nodewise-l1",
    ),
    Term(
        "objective",
        "objective",
        ("objective",),
        "The function that learning minimises: the negative log-likelihood per row plus the "
        "penalties of edges and of squared weights.",
        "L(w) + λ Σ d ‖w_g‖ + λ₂ ‖w‖²",
        source="Best-choice edge grafting, equation 2",
    ),
    Term(
        "precision",
        "precision",
        ("precision",),
        "The share of the found edges that are true.",
        "true found / found",
    ),
    Term(
        "pseudo-likelihood",
        "pseudo-likelihood",
        ("pseudo-likelihood",),
        "The product of the probabilities of each value given all others of its row. It needs no "
        "normaliser, and its maximiser is consistent on any graph.",
        page="methods/nodewise-l1",
    ),
    Term(
        "recall",
        "recall",
        ("recall",),
        "The share of the true edges that were found.",
        "true found / true",
    ),
    Term(
        "refit",
        "refit",
        ("refit",),
        "To fit all active weights again after edges were added; scores refer to the fitted model.",
    ),
    Term(
        "reservoir",
        "reservoir",
        ("reservoir",),
        "The tested pairs with the highest scores so far; a step activates the best of them.",
        "E[rank of the best] ≈ 1 / (|R| + 1) of all pairs",
        source="Best-choice edge grafting, algorithm 3",
    ),
    Term(
        "score",
        "score",
        ("score", "scores", "scored"),
        "The norm of the likelihood gradient of an edge. The score belief compares the joint "
        "distribution of the pair in the model with that in the data.",
        "sₑ = ‖bᵢ bⱼᵀ − p_D(i, j)‖ / dₑ",
        source="Best-choice edge grafting, equation 5",
    ),
    Term(
        "seed",
        "seed (of a dynamical system)",
        (),
        "A series that is regressed on all others; the parents of the other series follow from "
        "those of the seeds.",
        page="methods/dynamics-scalable",
        source="Scalable structure learning, chapter 2",
    ),
    Term(
        "tau",
        "τ",
        ("τ",),
        "The score that edges of the reservoir must reach in this step. On the Budget page τ is "
        "the bound on inference.",
        "τ(α) = (1 − α) μ + α max",
        source="Best-choice edge grafting, algorithm 4",
    ),
    Term(
        "treewidth",
        "treewidth",
        ("treewidth",),
        "The size of the widest clique of the best junction tree, minus one. Exact inference is "
        "exponential in it.",
        page="methods/bounded-inference",
    ),
    Term(
        "tree-reweighted",
        "tree-reweighted",
        ("tree-reweighted",),
        "Belief propagation averaged over spanning trees: its log Z is an upper bound.",
        page="methods/trbp",
    ),
    Term(
        "unstable",
        "unstable fixed point",
        ("unstable fixed point",),
        "Beliefs to which belief propagation does not return when restarted. The marginals of the "
        "fitted model then differ from those during learning.",
        page="methods/bp",
    ),
    Term(
        "vacuous",
        "vacuous bound",
        ("vacuous",),
        "A bound that excludes no probability, such as an error of at most 1. The answer may still "
        "be accurate.",
        page="methods/localized",
    ),
    Term(
        "violate",
        "violate",
        ("violate", "violates", "violated", "violating"),
        "An inactive edge violates the optimality condition when its score is above λ.",
        "sₑ > λ",
        source="Best-choice edge grafting, equation 5",
    ),
    Term(
        "weight",
        "weights",
        ("weights",),
        "The parameters of an edge, one for each joint state: positive where the two states "
        "attract each other, negative where they repel.",
    ),
)


def glossary_records() -> list[dict[str, Any]]:
    """Return what the player needs to explain the terms that occur in the words of its steps."""
    return [
        {
            "name": term.name,
            "forms": list(term.forms),
            "meaning": term.meaning,
            "formula": term.formula,
            "read": term.source or f"docs/{term.page}.md",
        }
        for term in GLOSSARY
        if term.forms
    ]
