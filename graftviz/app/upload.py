"""Uploads: the form, its contents for tables and models, and the reading in another process."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, TypeVar, cast

import streamlit as st

from graftviz.app.controls import show_button, show_options
from graftviz.app.material import FINGERPRINT_DIGITS, UploadedTable, uploaded_data
from graftviz.app.reader_process import BusyError, Reader, TableUpload, UploadedFile
from graftviz.app.state import PageState
from graftviz.app.url import CLASS_DATA, class_data, default_values, import_options, is_upload
from graftviz.data.sets.public import PUBLIC
from graftviz.learning.completion import completed
from graftviz.model.readwrite.reading import may_be_model
from graftviz.model.readwrite.records import ModelFile
from graftviz.utils.errors import InputError
from graftviz.utils.options import OptionSpec, option_specs
from graftviz.utils.wording import advised_arguments, plain, reworded

T = TypeVar("T")


@st.cache_resource(show_spinner=False)
def reader() -> Reader:
    """Return the processes that read the uploads of this server."""
    return Reader()


def read_files(
    kind: str, files: Iterable[tuple[str, Any | None]], options: Mapping[str, Any] | None = None
) -> Any:
    """Read uploaded files in another process.

    Parameters
    ----------
    kind : str
        Key of :data:`graftviz.app.reader_process.KINDS`.
    files : iterable of (str, binary file or None)
        The role of each uploaded file.
    options : mapping, optional
        Arguments of the reader.

    Raises
    ------
    InputError
        When the files are refused.
    """
    uploaded = [
        UploadedFile(role, str(getattr(file, "name", "")), file.getvalue())
        for role, file in files
        if file is not None
    ]
    return reader().read(kind, uploaded, options or {})


def read_once(
    key: str,
    files: Iterable[tuple[str, Any | None]],
    options: tuple[Any, ...],
    read: Callable[[], T],
) -> T:
    """Return the result of `read`, or raise its error again, for the same files and options.

    Parameters
    ----------
    key : str
        Name of the reading within the session.
    files : iterable of (str, uploaded file or None)
    options : tuple
        Anything else that decides the result.
    read : callable

    Raises
    ------
    InputError
        When the files are refused; a file that is refused is not read again either.
    """
    identity = (*(file.file_id if file else None for _, file in files), *options)
    # One holder that changes: Streamlit holds a replaced value until the next run of the page. Its
    # only entry is identity and value of the files, and the sentence if they are refused.
    reading: list[tuple[tuple[Any, ...], Any, str]] = st.session_state.setdefault(key, [])
    found = reading[0] if reading else None
    if found is None or found[0] != identity:
        found = None
        reading.clear()
        with st.spinner("Reading the file…"):
            try:
                found = identity, read(), ""
            except BusyError:  # another time, the file may be read
                raise
            except InputError as error:  # the sentence only: the error refers to the files
                found = identity, None, str(error)
            reading.append(found)
    if found[2]:
        raise InputError(found[2])
    return cast(T, found[1])


Files = Sequence[tuple[str, Any]]  # role, and file or None
_FILES = (
    ("table", "Table (CSV or parquet)", ["csv", "tsv", "txt", "data", "parquet", "pq", "gz"]),
    ("truth", "True edges, optional (CSV: source, target)", ["csv"]),
    ("places", "Positions, optional (CSV: name, lon, lat or x, y)", ["csv"]),
)


def show_form(
    prefix: str,
    what: str,
    show_files: Callable[[], Files],
    read: Callable[[Files, Mapping[str, Any]], Any],
    accept: Callable[[Any], object],
    *,
    expected: str = "",
    shown: str = "",
    title: str = "",
    caption: str = "",
    is_open: bool = True,
    specs: Sequence[OptionSpec] = (),
    reading: Mapping[str, Any] = MappingProxyType({}),
    choose: Callable[[str, Any], Any] = lambda *_: None,
    put_back: Callable[[], object] = lambda: None,
) -> None:
    """Show a form for uploads and its errors; the view stays until an upload is accepted.

    Parameters
    ----------
    prefix : str
        Of the keys of its controls.
    what : str
        Noun for the upload, such as "table".
    show_files : callable
        Show the uploaders; return pairs of role and file, the required file first, None for missing
        ones.
    read : callable
        ``read(files, options)`` returns the upload, which has a `fingerprint`.
    accept : callable
        Called with the upload.
    expected : str
        Fingerprint of the upload that a link requires; empty if any will do.
    shown : str
        Noun for the view shown until then, such as "run"; empty for none.
    title, caption : str
        Of the expander around the form; without a title there is none.
    is_open : bool
        Whether the expander is open at first.
    specs : sequence of OptionSpec
        Import options.
    reading : mapping
        Their values.
    choose : callable
        ``choose(name, value)`` sets an import option.
    put_back : callable
        Called when an upload is refused that no link requires.
    """
    if expected:
        st.info(
            "This link refers to an uploaded file. Upload the same file (fingerprint "
            f"{expected[:FINGERPRINT_DIGITS]})."
        )
    with st.expander(title, expanded=is_open) if title else st.container():
        if caption:
            st.caption(caption)
        files = show_files()
        if specs:
            more = "Import options"
            show_options(specs, reading, choose, prefix=prefix, more=more)
        is_uploaded = bool(files and files[0][1])
        label, key = f"Use a different {what}", f"{prefix}.any_file"
        any_file = bool(expected and is_uploaded) and st.checkbox(label, key=key)
    if not is_uploaded:
        return
    key, options = f"{prefix}.read", tuple(reading.items())
    try:
        upload = read_once(key, files, options, lambda: read(files, reading))
        if expected and not any_file and upload.fingerprint != expected[:FINGERPRINT_DIGITS]:
            same_options = ", with the same import options" if specs else ""
            raise InputError(
                f"{files[0][1].name} is not the {what} of the link (fingerprint "
                f"{upload.fingerprint}, not {expected[:FINGERPRINT_DIGITS]}). Upload that "
                f"{what}{same_options}."
            )
    except InputError as error:
        note = f" Still showing the previous {shown}." if shown else ""
        _show_refusal(str(error), note, prefix, specs, choose)
        if not expected:
            put_back()
    else:
        accept(upload)
        if title and is_open:
            st.rerun()  # the panel is no longer in the way of the results


def _show_refusal(
    sentence: str,
    note: str,
    prefix: str,
    specs: Sequence[OptionSpec],
    choose: Callable[[str, Any], Any],
) -> None:
    """Show why a file is refused, with a button for each import option that is advised."""
    labels = {spec.name: spec.label for spec in specs}

    def control(name: str, value: str) -> str:
        return f"“{labels[name]}: {value}” under “Import options” above"

    st.error(plain((reworded(sentence, control) if labels else sentence) + note))
    advised = dict.fromkeys(advised_arguments(sentence)) if labels else {}
    with st.container(horizontal=True, gap="small"):
        for name, value in advised:
            key = f"{prefix}.advised.{name}.{value}"
            show_button(f"{labels[name]}: {value}", key, choose, name, value)


def show_uploaders(prefix: str, uploaders: Sequence[tuple[str, str, list[str]]]) -> Files:
    """Show uploaders of one file each side by side; return roles and files.

    Parameters
    ----------
    prefix : str
        Prefix of the keys of the uploaders.
    uploaders : sequence of (role, label, file types)
    """
    return [
        (role, column.file_uploader(label, kinds, key=f"{prefix}.{role}"))
        for column, (role, label, kinds) in zip(st.columns(len(uploaders)), uploaders, strict=True)
    ]


# ------------------------------------------------------------------------------------------ tables


def read_upload(files: Files, options: Mapping[str, Any]) -> UploadedTable:
    """Read a table, and optionally its true edges and the positions of its variables.

    Parameters
    ----------
    files : sequence of (role, file)
        Table, truth and places.
    options : mapping
        Of :class:`TableOptions`.

    Raises
    ------
    InputError
        For anything that cannot be used.
    """
    upload = read_whole_table(files, options)
    return uploaded_data(_title_of(files), upload.table, upload.truth, upload.positions)


def read_whole_table(files: Files, options: Mapping[str, Any]) -> TableUpload:
    """Read the files of :func:`read_upload`, and draw missing values if the options say so."""
    upload: TableUpload = read_files("table", files, options)
    if upload.observed is None:
        return upload
    table = completed(upload.table, upload.observed, _title_of(files))
    return upload._replace(table=table, observed=None)


def _title_of(files: Files) -> str:
    return getattr(files[0][1], "name", "") or "The file"


def show_upload(state: PageState) -> None:
    """Show the uploader and its errors while uploaded data are chosen; the shown run continues."""
    data = state.values["data"]
    if not is_upload(data):
        return
    how: dict[str, Any] = {
        "expected": state.expected,
        "shown": "table" if state.uploaded is not None else "",
        "is_open": state.uploaded is None,
        "specs": option_specs(import_options(data)),
        "reading": {**default_values(import_options(data)), **state.values["reading"]},
        "choose": state.choose,
    }
    if data in CLASS_DATA:
        _show_class_form(data, state.accept, how)
    else:
        show_form(
            "upload",
            "table",
            lambda: show_uploaders("upload", _FILES),
            read_upload,
            state.accept,
            title="Your own data",
            caption="Columns are variables, rows are samples; any labels. Files stay on this "
            "server.",
            **how,
        )


def _show_class_form(name: str, accept: Callable[[Any], object], how: Mapping[str, Any]) -> None:
    """Show the form for the published files of a data set for classes."""
    about, prefix = class_data(name), f"upload.{name}"

    def show_files() -> Files:
        files = st.file_uploader(
            about.label,
            CLASS_DATA[name],
            accept_multiple_files=True,
            key=f"{prefix}.files",
        )
        return [(name, file) for file in files]

    def read(files: Files, options: Mapping[str, Any]) -> UploadedTable:
        upload: TableUpload = read_files("public", files, options)
        source = PUBLIC[name].source
        return uploaded_data(about.title, upload.table, upload.truth, upload.positions, source)

    caption = "  \n".join(about.steps)
    show_form(
        prefix, "data set", show_files, read, accept, title=about.title, caption=caption, **how
    )


# ------------------------------------------------------------------------------------------ models


def show_model_form(
    prefix: str,
    label: str,
    make: Callable[[str, ModelFile], Any],
    accept: Callable[[Any], object],
    help: str | None = None,
    **how: Any,
) -> None:
    """Show the form for a model: the last uploaded one.

    Parameters
    ----------
    prefix : str
        Of the keys of the form.
    label, help : str
        Of the uploader.
    make : callable
        ``make(title, file)`` returns the upload; called once per upload.
    accept, **how
        See :func:`show_form`.
    """

    def show_files() -> Files:
        files = st.file_uploader(
            label,
            ["uai", "graphml", "xml", "json", "zip"],
            accept_multiple_files=True,
            key=f"{prefix}.files",
            help=help,
        )
        return [("model", file) for file in _latest_model(f"{prefix}.files", files)]

    def read(files: Files, _: Mapping[str, Any]) -> Any:
        names = [file.name for _, file in files]
        models = [name for name in names if not name.lower().endswith(".names.json")]
        title = models[0] if len(models) == 1 else "Result folder"
        return make(title, read_files("model", files))

    show_form(prefix, "model", show_files, read, accept, **how)


def _latest_model(key: str, files: Sequence[Any]) -> list[Any]:
    """Return the files of the model that was uploaded last.

    An uploader of several files keeps all of them, so a second model is added to the first. Files
    that hold no model, such as names, belong to the model uploaded before or after them.

    Parameters
    ----------
    key : str
        Name of the uploader within the session.
    files : sequence of uploaded file
    """
    batches: list[list[str]] = st.session_state.setdefault(f"{key}.batches", [])
    by_id = {file.file_id: file for file in files}
    batches[:] = [rest for batch in batches if (rest := [i for i in batch if i in by_id])]
    seen = {i for batch in batches for i in batch}
    added = [i for i in by_id if i not in seen]

    def holds_model(batch: list[str]) -> bool:
        return any(may_be_model(by_id[i].name) for i in batch)

    if added and batches and not (holds_model(added) and holds_model(batches[-1])):
        batches[-1] += added
    elif added:
        batches.append(added)
    return [by_id[i] for i in batches[-1]] if batches else []
