"""Tree-reweighted belief propagation."""
