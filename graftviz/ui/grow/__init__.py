"""The Grow page: the live player and what stands around it."""
