"""Headline and explanation of the Prune page."""

from __future__ import annotations

from graftviz.ui.key_help import KEYS

HEADLINE = (
    "The model always has M edges. Each step swaps the k weakest for the k most promising; "
    "parameters are tied to K values."
)
_FIRST = """
**The number of edges M is fixed; the best M are sought.** The start is the Chow–Liu tree with
random other edges. Each exchange then removes the **k** edges with the smallest contribution (red,
dashed, crossed) and adds the k pairs with the largest gain (green, wide). The edges of the tree are
drawn double.
"""
_SECOND = """
**Contribution** of an edge: the loss of pseudo-likelihood (PLL) without it, other weights fixed.
**Greedy** removes the k smallest. **Rejection** draws subsets of k edges until one is accepted with
probability ∝ exp(PLL without it); **MCMC** moves through subsets by swaps, with the same target
distribution. The **acceptance rate** shows how many draws were accepted.

**Tying**: all parameters share **K** values. First each is pulled to the nearest centre, by
"""
_FORMULA = (
    r"\max_\theta \; \mathrm{PLL}(\theta) - \beta \sum_j (\theta_j - \mu_{a_j})^2 "
    r"- \lambda_2 \sum_j \theta_j^2"
)
_THIRD = """
alternating with exact 1-D k-means; then it takes the value of its centre. The strip shows both.
"""
HELP = "\n\n".join((_FIRST, _SECOND, f"$$\n{_FORMULA}\n$$", _THIRD, KEYS))
