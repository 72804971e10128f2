"""Search for edges: the edge queue, the reservoir, the frozen list, and the exhaustive scan."""
