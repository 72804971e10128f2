"""Built-in data sets, shared by all sessions."""

from __future__ import annotations

import streamlit as st

from graftviz.datasets import load_dataset
from graftviz.material import Material, prepare
from graftviz.ui.visits import clearable_cache


@clearable_cache
@st.cache_resource(show_spinner="Loading the data…", max_entries=32)
def material(key: str, seed: int) -> Material:
    """Return a built-in data set, made ready."""
    return prepare(load_dataset(key), seed)
