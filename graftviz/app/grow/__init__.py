"""Grow page: the live player with its controls and files."""
