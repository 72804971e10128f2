"""Chow–Liu trees."""
