"""The Dynamics page."""
