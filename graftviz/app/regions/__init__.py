"""The Regions page."""
