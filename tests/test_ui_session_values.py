"""Copies of uploaded files, which Streamlit makes in every run of a page."""

from __future__ import annotations

import copy

import pytest
from streamlit.proto.Common_pb2 import FileURLs
from streamlit.runtime.uploaded_file_manager import UploadedFile, UploadedFileRec

from graftviz.ui.streamlit_runtime import share_uploaded_bytes


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
