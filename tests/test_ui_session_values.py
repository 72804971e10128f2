"""Widgets look up single keys of the session state, and find what they found in a copy of it."""

from __future__ import annotations

import copy

import pytest
from streamlit.proto.Common_pb2 import FileURLs
from streamlit.runtime.state import SessionState
from streamlit.runtime.state.safe_session_state import SafeSessionState
from streamlit.runtime.uploaded_file_manager import UploadedFile, UploadedFileRec
from streamlit.testing.v1 import AppTest

from graftviz.ui.streamlit_runtime import SessionValues, look_up_single_keys, share_uploaded_bytes


@pytest.fixture
def copies(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Return a list that grows with every copy of the session state; look-ups are single keys."""
    made: list[int] = []
    whole = SessionState.filtered_state.fget  # type: ignore[attr-defined]

    def counted(state: SessionState) -> object:
        made.append(1)
        return whole(state)

    monkeypatch.setattr(SessionState, "filtered_state", property(counted))
    monkeypatch.setattr(SafeSessionState, "filtered_state", SafeSessionState.filtered_state)
    look_up_single_keys()
    return made


def widgets() -> None:
    import streamlit as st  # noqa: PLC0415 (the function runs as a script of its own)

    st.session_state.setdefault("number", 3)
    st.number_input("Number", key="number")
    st.number_input("Empty", value=None, key="empty")
    st.selectbox("Choice", ["a", "b"], key="choice")
    st.slider("Slider", 0, 10, key="slider")
    st.radio("Radio", ["x", "y"], key="radio")
    st.text_input("Without a key")


def test_widgets_keep_their_values_without_a_copy_of_the_session_state(copies: list[int]) -> None:
    page = AppTest.from_function(widgets).run()
    page.number_input(key="number").set_value(5)
    page.selectbox(key="choice").set_value("b")
    page.slider(key="slider").set_value(7)
    page.run()
    assert not page.exception
    assert page.number_input(key="number").value == 5
    assert page.number_input(key="empty").value is None
    assert page.selectbox(key="choice").value == "b"
    assert page.slider(key="slider").value == 7
    assert copies == []


def test_look_ups_equal_those_in_a_copy() -> None:
    state = SafeSessionState(SessionState(), lambda: None)
    for name, value in {"a": 1, "none": None, "text": "x"}.items():
        state[name] = value
    whole = state._state.filtered_state
    values = SessionValues(state, lambda _: whole)
    assert dict(values) == whole
    assert len(values) == len(whole)
    assert repr(values) == repr(whole)
    for name in ("a", "none", "text", "missing"):
        assert (name in values) == (name in whole)
        assert values.get(name, "default") == whole.get(name, "default")


def test_copies_of_an_uploaded_file_share_its_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(UploadedFile, "__deepcopy__", None, raising=False)
    share_uploaded_bytes()
    record = UploadedFileRec("id", "a.csv", "text/csv", b"a,b\n0,1\n")
    file = UploadedFile(record, FileURLs(upload_url="u", delete_url="d"))
    file.seek(3)
    copied = copy.deepcopy(file)
    assert copied.getvalue() is record.data
    assert copied == file
    assert (copied.name, copied.type, copied.size) == (file.name, file.type, file.size)
    assert copied._file_urls == file._file_urls
    assert copied.read() == record.data, "a copy is read from its beginning"
