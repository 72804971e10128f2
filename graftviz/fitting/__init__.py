"""Fit of the weights of a fixed structure: network state, penalty, objective, solver."""
