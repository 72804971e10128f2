"""The Reservoir page."""
