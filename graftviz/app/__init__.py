"""Streamlit app: pages, views, controls, URL state and server."""

from pathlib import Path

ASSETS = Path(__file__).parent / "assets"
