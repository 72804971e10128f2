"""Fit of the weights of a fixed structure: objective, penalty, solver."""
