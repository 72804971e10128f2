"""The Prune page: forced pruning, exchange by exchange."""
