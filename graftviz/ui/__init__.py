"""Streamlit app: pages, views, scheduler, controls and URL state."""
