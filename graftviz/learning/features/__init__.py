"""Grafting of single features."""
