"""Streamlit app: pages, views, controls, URL state and server."""
