"""Inference: one module per method, one result type, one entry point."""

from graftviz.inference.beliefs import Beliefs
from graftviz.inference.evidence import Evidence, checked_evidence, conditioned
from graftviz.inference.methods import METHODS, Method, infer

__all__ = ["METHODS", "Beliefs", "Evidence", "Method", "checked_evidence", "conditioned", "infer"]
