"""Connection of a client: Streamlit's messages over a websocket, as sent by a page in a browser.

A client stores the state of a page: its controls, their changed values, the hashes of known
messages, and the fragment of the view.
"""

from __future__ import annotations

import asyncio
import http.client
import json
import re
import time
import urllib.parse
import urllib.request
import uuid
from collections.abc import Mapping
from typing import Any

from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from streamlit.proto.WidgetStates_pb2 import WidgetState
from websockets.asyncio.client import ClientConnection, connect
from websockets.typing import Subprotocol

LOOPBACK = ("127.0.0.1", "localhost", "::1")
_MOST_BYTES = 64_000_000  # of one message; a server's own limit is 200 MB
_TRIGGER = "$$STREAMLIT_INTERNAL_KEY_{}__events"
_REMEMBERED = 12  # messages; a browser forgets them after two runs of the page
# Component of a view; not its script, and not that of the guide.
_VIEW = re.compile(r"graftviz_(?!guide$|.*_library$)")


class Wire:
    """A page that is open.

    Parameters
    ----------
    address : str
        ``http://127.0.0.1:8501/``
    query : mapping
        Query parameters of the page's URL.
    page : str
        Name of the page in the address; empty for the first.

    Attributes
    ----------
    session : str
        Id of the session on the server.
    messages : asyncio.Queue
        Messages to the view, parsed, in order.
    news : asyncio.Event
        Set with every message for the view.
    widgets : dict
        Key of a control → its identifier.
    texts : list of str
        What the page said in boxes since the last run of the page.
    received : int
        Bytes.
    page_runs : int
        How often the whole page ran.
    pages : dict
        Path of each page in the address → its hash, by which Streamlit opens it.
    """

    def __init__(self, address: str, query: Mapping[str, str], page: str = "") -> None:
        parts = urllib.parse.urlsplit(address)
        if parts.hostname not in LOOPBACK:
            raise ValueError(f"Only servers on this machine are allowed, not {parts.hostname}.")
        self.host, self.port = str(parts.hostname), parts.port or 8501
        self.query = urllib.parse.urlencode(query)
        self.page = page
        self.session = ""
        self.messages: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
        self.news = asyncio.Event()
        self.widgets: dict[str, str] = {}
        self.texts: list[str] = []
        self.received = 0
        self.page_runs = 0
        self._set: dict[str, WidgetState] = {}
        self._cached_messages: dict[str, ForwardMsg] = {}
        self._view = ""
        self._fragment = ""
        self._urls: asyncio.Queue[Any] = asyncio.Queue()
        self._upload_request = ""  # id of the request for upload addresses
        self._finished = asyncio.Event()
        self._run = ""  # the last requested run, for messages
        self._socket: ClientConnection | None = None
        self._reader: asyncio.Task[None] | None = None
        self._hash = ""
        self.pages: dict[str, str] = {}

    async def open(self, *, again: bool = False) -> None:
        """Open the page; `again`: reconnect to the session of the lost connection."""
        # What Streamlit's page sends as sub-protocols: its own, a token, and the session it had.
        protocols = ["streamlit", "PLACEHOLDER", self.session] if again else ["streamlit"]
        self._socket = await connect(
            f"ws://{self.host}:{self.port}/_stcore/stream",
            subprotocols=[Subprotocol(name) for name in protocols],
            max_size=_MOST_BYTES,
            open_timeout=30,
            ping_interval=None,
            compression=None,
        )
        self._reader = asyncio.create_task(self._read(self._socket))
        await self.rerun()

    async def first_message(self, seconds: float = 600.0) -> dict[str, Any]:
        """Return the first message to the view; request it again while the engine is compiled."""
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            await self.finished()
            if not self.messages.empty():
                return self.messages.get_nowait()
            await asyncio.sleep(1.0)
            await self.rerun()
        raise TimeoutError(f"no view after {seconds:g} s; the page says {self.texts}")

    async def close(self) -> None:
        """Close the page as a tab is closed."""
        if self._socket is not None:
            await self._socket.close()
        if self._reader is not None:
            self._reader.cancel()
            await asyncio.gather(self._reader, return_exceptions=True)

    async def rerun(self, *, is_history: bool = False) -> None:
        """Run the page with the current values of its controls.

        `is_history`: the address comes from the browser's history.
        """
        self._finished.clear()
        await self._send_state(fragment="", is_history=is_history)

    async def go(self, page: str, query: Mapping[str, str]) -> None:
        """Go to a page, as a click on its name or on a link does; wait until it has run.

        Another address of the same page is opened as from the browser's history: a link would open
        a new session, and the page does not follow addresses again that it has written itself.
        """
        is_history = page == self.page and bool(self._hash)
        self.page, self.query = page, urllib.parse.urlencode(query)
        self._hash = self.pages.get(page, "")
        self.widgets.clear()
        self._set.clear()
        while not self.messages.empty():
            self.messages.get_nowait()
        target = self._hash
        await self.rerun(is_history=is_history)
        await self.finished()
        while target not in ("", self._hash):  # the end of a run of the page before
            self._finished.clear()
            await self.finished()

    async def finished(self, seconds: float = 60.0) -> None:
        """Wait until the page, or its fragment, has run to its end.

        Raises
        ------
        TimeoutError
        ConnectionError
            When the connection is lost.
        """
        try:
            await asyncio.wait_for(self._finished.wait(), seconds)
        except TimeoutError:
            raise TimeoutError(f"no end within {seconds:g} s of {self._run}") from None
        self._check_connection()

    def _check_connection(self) -> None:
        if self._reader is not None and self._reader.done() and not self._reader.cancelled():
            raise ConnectionError("The connection is lost.") from self._reader.exception()

    async def set(self, key: str, **value: Any) -> None:
        """Set a control: ``set("option.seed", double_value=3)``, and let the page run."""
        self._set[key] = self._state(self.widgets[key], **value)
        await self.rerun()

    async def slide(self, key: str, value: float) -> None:
        """Move a slider."""
        state = WidgetState(id=self.widgets[key])
        state.double_array_value.data.append(value)
        self._set[key] = state
        await self.rerun()

    async def trigger(self, name: str, value: Mapping[str, Any]) -> None:
        """Send an event of the view; only the view's fragment runs."""
        payload = json.dumps([{"event": name, "value": value}])
        trigger = self._state(_TRIGGER.format(self._view), json_trigger_value=payload)
        self._finished.clear()
        await self._send_state(fragment=self._fragment, trigger=trigger)

    async def press(self, key: str) -> None:
        """Press a button."""
        self._finished.clear()
        await self._send_state(
            fragment="", trigger=self._state(self.widgets[key], trigger_value=True)
        )

    async def upload(self, key: str, name: str, data: bytes) -> None:
        """Upload a file as the page's uploader does; a replaced file is deleted."""
        urls = await self.file_urls(name)
        if key in self._set:
            for old in self._set[key].file_uploader_state_value.uploaded_file_info:
                await asyncio.to_thread(self._request, "DELETE", old.file_urls.delete_url)
        await asyncio.to_thread(self._put, urls.upload_url, name, data)
        state = WidgetState(id=self.widgets[key])
        info = state.file_uploader_state_value.uploaded_file_info.add()
        info.name, info.size, info.file_id = name, len(data), urls.file_id
        info.file_urls.CopyFrom(urls)
        self._set[key] = state
        await self.rerun()

    async def remove_upload(self, key: str) -> None:
        """Remove the files of an uploader, as its crosses do; harmless without any."""
        if key not in self._set:
            return
        for old in self._set[key].file_uploader_state_value.uploaded_file_info:
            await asyncio.to_thread(self._request, "DELETE", old.file_urls.delete_url)
        state = WidgetState(id=self.widgets[key])
        state.file_uploader_state_value.SetInParent()
        self._set[key] = state
        await self.rerun()

    async def file_urls(self, name: str) -> Any:
        """Return the addresses under which a file is uploaded and deleted."""
        assert self._socket is not None
        self._urls = asyncio.Queue()
        message = BackMsg()
        message.file_urls_request.request_id = self._upload_request = uuid.uuid4().hex
        message.file_urls_request.file_names.append(name)
        message.file_urls_request.session_id = self.session
        for _ in range(12):
            await self._socket.send(message.SerializeToString())
            try:
                return (await asyncio.wait_for(self._urls.get(), 10)).file_urls[0]
            except TimeoutError:  # Streamlit drops the answer when a run begins meanwhile
                self._check_connection()
        raise TimeoutError("The server does not return addresses for an upload.")

    def _put(self, path: str, name: str, data: bytes) -> None:
        edge = uuid.uuid4().hex
        head = (
            f'--{edge}\r\nContent-Disposition: form-data; name="{name}"; filename="{name}"\r\n'
            "Content-Type: text/csv\r\n\r\n"
        )
        body = head.encode() + data + f"\r\n--{edge}--\r\n".encode()
        self._request("PUT", path, body, f"multipart/form-data; boundary={edge}")

    def _request(self, method: str, path: str, body: bytes = b"", kind: str = "text/plain") -> None:
        token = self.xsrf_token()
        headers = {"Content-Type": kind, "X-Xsrftoken": token, "Cookie": f"_streamlit_xsrf={token}"}
        wire = http.client.HTTPConnection(self.host, self.port, timeout=60)
        wire.request(method, path, body, headers)
        status = wire.getresponse().status
        wire.close()
        if status not in (200, 204):
            raise OSError(f"{method} of an upload was answered by {status}")

    def xsrf_token(self) -> str:
        """Return the token that uploads carry."""
        url = f"http://{self.host}:{self.port}/_stcore/host-config"
        with urllib.request.urlopen(url, timeout=30):
            pass
        with urllib.request.urlopen(
            f"http://{self.host}:{self.port}/_stcore/health", timeout=30
        ) as answer:
            cookies = answer.headers.get_all("Set-Cookie") or []
        for cookie in cookies:
            name, _, value = cookie.partition("=")
            if name == "_streamlit_xsrf":
                return str(value.split(";")[0])
        return ""

    def _state(self, widget: str, **value: Any) -> WidgetState:
        return WidgetState(id=widget, **value)

    async def _send_state(
        self, fragment: str, trigger: WidgetState | None = None, *, is_history: bool = False
    ) -> None:
        assert self._socket is not None
        what = "its view" if fragment else "the page"
        self._run = f"a run of {what} at /{self.page}?{self.query[:200]}"
        message = BackMsg()
        state = message.rerun_script
        state.query_string = self.query
        state.page_script_hash = self._hash
        state.page_name = "" if self._hash else self.page
        state.fragment_id = fragment
        state.is_history_navigation = is_history
        state.context_info.url = f"http://{self.host}:{self.port}/{self.page}"
        for widget in self._set.values():
            state.widget_states.widgets.add().CopyFrom(widget)
        if trigger is not None:
            state.widget_states.widgets.add().CopyFrom(trigger)
        state.cached_message_hashes.extend(self._cached_messages)
        await self._socket.send(message.SerializeToString())

    async def _read(self, socket: ClientConnection) -> None:
        try:
            await self._read_all(socket)
        finally:  # waiting coroutines raise an error
            self._finished.set()
            self.news.set()

    async def _read_all(self, socket: ClientConnection) -> None:
        async for data in socket:
            self.received += len(data)
            message = ForwardMsg.FromString(data)
            if message.WhichOneof("type") == "ref_hash":
                # A message that was sent before is referenced by its hash.
                if message.ref_hash not in self._cached_messages:
                    continue
                message = self._cached_messages[message.ref_hash]
            self._take(message)

    def _take(self, message: ForwardMsg) -> None:
        match message.WhichOneof("type"):
            case "delta":
                self._take_delta(message)
            case "new_session":
                self.session = message.new_session.initialize.session_id or self.session
                self._hash = message.new_session.page_script_hash
                if not message.metadata.run.fragment_ids:
                    self.texts.clear()
                    self.page_runs += 1
            case "navigation":
                self._hash = message.navigation.page_script_hash
                for page in message.navigation.app_pages:
                    path = "" if page.is_default else page.url_pathname
                    self.pages[path] = page.page_script_hash
            case "page_info_changed":
                self.query = message.page_info_changed.query_string
            case "script_finished":
                # A run that ends early is followed by another one.
                if message.script_finished != ForwardMsg.FINISHED_EARLY_FOR_RERUN:
                    self._finished.set()
            case "file_urls_response":
                if message.file_urls_response.response_id == self._upload_request:
                    self._urls.put_nowait(message.file_urls_response)
        if message.metadata.cacheable:
            self._cached_messages[message.hash] = message
            for old in list(self._cached_messages)[:-_REMEMBERED]:
                del self._cached_messages[old]

    def _take_delta(self, message: ForwardMsg) -> None:
        if message.delta.WhichOneof("type") != "new_element":
            return
        element = message.delta.new_element
        kind = element.WhichOneof("type")
        part = getattr(element, kind)
        if kind == "alert":
            self.texts.append(part.body)
        elif kind == "bidi_component" and _VIEW.search(part.component_name):
            self._view = part.id
            self._fragment = message.delta.fragment_id
            self._set["view"] = WidgetState(id=part.id, json_value="{}")
            if part.bytes:
                self.messages.put_nowait(json.loads(part.bytes))
                self.news.set()
        elif identifier := getattr(part, "id", ""):
            key = identifier.rpartition("-")[2]
            self.widgets[key] = identifier
