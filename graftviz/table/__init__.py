"""Tables of discrete data: read, checked, coded, split."""

from graftviz.table.discrete import DiscreteTable

__all__ = ["DiscreteTable"]
