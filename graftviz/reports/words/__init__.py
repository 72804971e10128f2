"""Sentences about runs, models and answers."""
