"""Forced pruning with parameter tying."""
