"""Documentation; ``python -m docs.making`` writes the parts generated from the package."""
