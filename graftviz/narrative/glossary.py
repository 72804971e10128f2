"""The words of the trade: what each means, how it occurs in sentences, and where to read more."""

from __future__ import annotations

from typing import Any, NamedTuple


class Term(NamedTuple):
    """One entry.

    Attributes
    ----------
    key : str
        Also the anchor on the page.
    name : str
        As the entry is headed.
    forms : tuple of str
        As it occurs in sentences, in lower case; matched as whole words whatever their case.
    meaning : str
        One or two sentences.
    formula : str
        Short, as plain text; empty if there is none.
    page : str
        Of the folder docs, without ``.md``.
    source : str
        Paper and equation; empty where the page says it.
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
        "To take an edge into the model: from then on it has weights, which are fitted with all "
        "others. An edge that is not in the model is inactive.",
        source="Best-choice edge grafting, algorithm 4",
    ),
    Term(
        "alpha",
        "α",
        ("α",),
        "How choosy a step is: where the threshold τ lies between the mean of the reservoir (0) "
        "and its maximum (1).",
        "τ_α = (1 − α) μ + α max",
        source="Best-choice edge grafting, algorithm 4",
    ),
    Term(
        "belief",
        "belief",
        ("belief", "beliefs"),
        "What belief propagation says the marginal of a variable or of an edge is: exact on "
        "trees, an approximation elsewhere.",
        page="methods/bp",
    ),
    Term(
        "belief-propagation",
        "belief propagation",
        ("belief propagation",),
        "Variables send their neighbours messages about what they believe until nothing changes. "
        "Exact on trees; on other graphs good while couplings are weak.",
        page="methods/bp",
    ),
    Term(
        "certificate",
        "certificate",
        ("certificate",),
        "What was checked at the end: how many inactive edges were scored at the final weights, "
        "and the worst of them. Only a complete one proves that no further edge belongs in.",
    ),
    Term(
        "certified-region",
        "certified region",
        ("certified region", "region"),
        "A few variables around a query that are enough to know its probabilities to within a "
        "proven bound, whatever all others do.",
        page="methods/localized",
        source="Efficient localized inference, corollary 2",
    ),
    Term(
        "chow-liu",
        "Chow–Liu tree",
        ("chow–liu tree", "most likely tree"),
        "The tree that makes the data most likely: the largest spanning tree of all mutual "
        "informations.",
        page="methods/chow-liu",
    ),
    Term(
        "dobrushin",
        "Dobrushin coefficient",
        ("dobrushin coefficient",),
        "The largest total influence that all neighbours have on one variable. Below 1, influence "
        "dies out with distance.",
        "c = maxᵢ Σⱼ Cᵢⱼ",
        page="methods/localized",
    ),
    Term(
        "ebic",
        "extended BIC",
        ("ebic", "extended bic"),
        "Twice the negative log-likelihood plus a price for every weight and for every edge among "
        "many possible ones. Its minimum asks which graph is right, not which predicts best.",
        page="methods/nodewise-l1",
    ),
    Term(
        "edge-budget",
        "edge budget",
        ("edge budget",),
        "The most edges a run may take. A run that ends by its budget has not been shown to be "
        "complete.",
    ),
    Term(
        "elimination-order",
        "elimination order",
        ("elimination order",),
        "The order in which exact inference sums variables out. What it joins on the way decides "
        "the width, and with it the cost.",
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
        "A tested pair that stayed outside the reservoir waits in a list, and is tested again when "
        "the queue is empty: the sooner, the higher it scored.",
        "vₑ = 1 − sₑ / λ",
        source="Best-choice edge grafting, algorithm 3",
    ),
    Term(
        "hub",
        "hub",
        ("hub", "hubs"),
        "A variable with many neighbours, here: with a degree centrality above ĉ. The hub rule "
        "tests pairs with a hub first.",
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
        "A tree whose nodes are groups of variables, the cliques; exact inference passes tables "
        "along it, and the widest clique decides what that costs.",
        page="methods/exact",
    ),
    Term(
        "kappa",
        "κ",
        ("κ",),
        "Significance: how many times its own sampling noise a score must be, so that an edge is "
        "not taken for chance.",
    ),
    Term(
        "kkt",
        "KKT residual",
        ("kkt residual",),
        "How far weights are from those that minimise the objective; 0 at the optimum.",
    ),
    Term(
        "lambda",
        "λ",
        ("λ",),
        "The price of an edge, and so the score that an inactive one must exceed to enter.",
        "sₑ > λ",
        source="Best-choice edge grafting, equation 5",
    ),
    Term(
        "lambda2",
        "λ₂",
        ("λ₂",),
        "The price of squared weights: it keeps weights small, and with them belief propagation "
        "stable.",
        "λ₂ ‖w‖²",
        source="Best-choice edge grafting, equation 2",
    ),
    Term(
        "mean-field",
        "mean field",
        ("mean field",),
        "The nearest product of independent variables. Its log Z is a lower bound; its marginals "
        "are too sure.",
        page="methods/mean-field",
    ),
    Term(
        "nll",
        "NLL",
        ("nll",),
        "Negative log-likelihood of rows that were held out, in nats a row; less is better. Needs "
        "the exact log Z.",
        page="methods/bounded-inference",
    ),
    Term(
        "nlpl",
        "NLPL",
        ("nlpl",),
        "Negative log pseudo-likelihood: how badly each value of a held-out row is predicted from "
        "all others in it, in nats a row. Less is better.",
        "−Σᵢ log p(xᵢ | x₋ᵢ)",
        page="methods/nodewise-l1",
    ),
    Term(
        "objective",
        "objective",
        ("objective",),
        "What learning minimises: the negative log-likelihood per row and the prices of edges and "
        "of squared weights.",
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
        "The product of the probabilities of each value given all others in its row. It needs no "
        "normaliser, and its maximum is right on any graph, given enough rows.",
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
        "To fit all active weights again after edges have joined; scores are about the model as "
        "fitted.",
    ),
    Term(
        "reservoir",
        "reservoir",
        ("reservoir",),
        "The few tested pairs that are kept because they passed the test best so far; a step "
        "activates the best of them.",
        "E[rank of the best] ≈ 1 / (|R| + 1) of all pairs",
        source="Best-choice edge grafting, algorithm 3",
    ),
    Term(
        "score",
        "score",
        ("score", "scores", "scored"),
        "How much the likelihood would gain, at first, from an edge: the size of its gradient. "
        "By belief it compares what the model and the data say of the pair.",
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
        "The score from which edges of the reservoir are taken in this step. On the Budget page τ "
        "is the bound on inference.",
        "τ_α = (1 − α) μ + α max",
        source="Best-choice edge grafting, algorithm 4",
    ),
    Term(
        "treewidth",
        "treewidth",
        ("treewidth",),
        "The size of the widest clique of the best junction tree, less one. Exact inference is "
        "exponential in it.",
        page="methods/bounded-inference",
    ),
    Term(
        "tree-reweighted",
        "tree-reweighted",
        ("tree-reweighted",),
        "Belief propagation averaged over spanning trees: its log Z is never too small.",
        page="methods/trbp",
    ),
    Term(
        "unstable",
        "unstable fixed point",
        ("unstable fixed point",),
        "Beliefs that belief propagation, started afresh, does not return to. What was fitted "
        "there is not what the model will say.",
        page="methods/bp",
    ),
    Term(
        "vacuous",
        "vacuous bound",
        ("vacuous",),
        "A bound that promises nothing, as no probability is off by more than 1 anyway. The answer "
        "may still be good; nothing is proven.",
        page="methods/localized",
    ),
    Term(
        "violate",
        "violate",
        ("violate", "violates", "violated", "violating"),
        "An inactive edge violates when its score is above λ: then the model is not optimal "
        "without it.",
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
