"""The papers' figures and tables, measured again: ``reproduce``."""
