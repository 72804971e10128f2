"""Built-in data sets, shared by all sessions."""

from __future__ import annotations

import streamlit as st

from graftviz.app.material import Material, prepare
from graftviz.data.sets.registry import load_dataset


@st.cache_resource(show_spinner="Loading the data…", max_entries=32)
def material(key: str, seed: int) -> Material:
    """Return a built-in data set, made ready."""
    return prepare(load_dataset(key), seed)
