"""The learners: one file each, found by the registry."""
