"""The addresses under /xray/, asked of an exporter with nothing behind it but fakes."""

from __future__ import annotations

import http.client
import json
import pathlib
import socket
import threading
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest

from kafka_py.metrics import exporter as exporter_module
from kafka_py.metrics.exporter import MetricsExporter
from kafka_py.xray import pages as pages_module
from kafka_py.xray.controls import Controls
from kafka_py.xray.event_log import EventLog
from kafka_py.xray.event_stream import MOST_WATCHERS
from kafka_py.xray.pages import XrayPages, static_file
from kafka_py.xray.schedule import Recorder
from kafka_py.xray.security import Guard

HOSTILE = "<script>alert(1)</script>\x00\x1b[2J\u202e\"'&\n"


class FakeXray:
    """Counts who watches."""

    def __init__(self) -> None:
        self.events = EventLog()
        self.limits = ["nothing is real"]
        self.watchers = 0

    def watch(self) -> None:
        self.watchers += 1

    def unwatch(self) -> None:
        self.watchers -= 1


class FakeHolder:
    """Writes down what it is told."""

    factor = 2.0

    def __init__(self) -> None:
        self.told: list[Any] = []
        self.there: list[dict[str, Any]] = []

    def hold(self, rules: Any) -> None:
        self.told.append(rules)

    def held(self) -> list[dict[str, Any]]:
        return self.there

    def step(self, thread: str | None = None, n: int = 1) -> None:
        if thread == "nobody":
            raise KeyError("nobody is not held")
        self.told.append((thread, n))

    def resume(self) -> None:
        self.told.append("resume")

    def slow(self, factor: float) -> None:
        self.told.append(factor)

    def advance(self, ms: int) -> None:
        self.told.append(ms)


class Site:
    """An exporter with the pages, and a client for it."""

    def __init__(
        self, monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory, controlled: bool = True
    ) -> None:
        monkeypatch.setattr(
            pages_module,
            "VIEWS",
            {
                "broker": lambda server, query: {"id": 7},
                "threads": lambda server, query: [{"name": "h-0", "state": "running", "on": None}],
                "groups": lambda server, query: [{"client": HOSTILE}],
                "cluster": lambda server, query: 1 // 0,
            },
        )
        self.xray, self.holder = FakeXray(), FakeHolder()
        controls = Controls(self.xray, self.holder, Recorder()) if controlled else None
        self.site = tmp_path_factory.mktemp("sidebyside")
        config = SimpleNamespace(broker_id=7, xray_side_by_side=str(self.site))
        server: Any = SimpleNamespace(config=config, xray=None)
        self.pages = XrayPages(server, Guard("127.0.0.1", "secret"), controls)
        self.exporter = MetricsExporter("127.0.0.1:0")
        self.exporter.add_site("/xray", self.pages.answer, None if controls is None else controls.close)
        self.exporter.startup()

    def ask(self, method: str, path: str, body: bytes | None = None, **headers: str) -> tuple[int, Any]:
        """Status and JSON."""
        connection = http.client.HTTPConnection("127.0.0.1", self.exporter.port, timeout=10)
        connection.request(method, path, body, {name.replace("_", "-"): value for name, value in headers.items()})
        response = connection.getresponse()
        answer = json.loads(response.read() or b"null")
        assert response.headers["Content-Security-Policy"].startswith("default-src 'self'")
        connection.close()
        return response.status, answer

    def post(self, path: str, told: object, token: str = "secret") -> tuple[int, Any]:
        return self.ask("POST", f"/xray/{path}", json.dumps(told).encode(), X_Xray_Token=token)

    def raw(self, data: bytes) -> socket.socket:
        sock = socket.create_connection(("127.0.0.1", self.exporter.port), timeout=10)
        sock.sendall(data)
        return sock


@pytest.fixture
def site(monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    made = Site(monkeypatch, tmp_path_factory)
    yield made
    made.exporter.shutdown()


def test_a_snapshot_has_the_views_that_were_asked_for(site: Site) -> None:
    status, told = site.ask("GET", "/xray/state?view=broker,threads")
    assert status == 200
    assert set(told) == {"broker", "threads", "busy"}
    assert told["broker"]["id"] == 7
    assert told["broker"]["rate"] == 0.5
    assert told["broker"]["limits"] == ["nothing is real"]


def test_a_view_that_cannot_be_read_is_null_and_named(site: Site) -> None:
    assert site.ask("GET", "/xray/state?view=broker,cluster")[1]["busy"] == ["cluster"]


def test_who_is_held_shows_in_the_view_of_threads(site: Site) -> None:
    site.holder.there = [{"thread": "h-0", "point": "handle", "method": "KafkaApis.handle", "request": {"id": 3}}]
    thread = site.ask("GET", "/xray/state?view=threads")[1]["threads"][0]
    assert (thread["state"], thread["on"], thread["requestId"]) == ("held", "handle", 3)


def test_an_unknown_view_is_told_as_text(site: Site) -> None:
    status, told = site.ask("GET", "/xray/state?view=%3Cscript%3E")
    assert status == 400
    assert "no view '<script>'" in told["error"]


def test_names_come_through_as_json_and_nothing_else(site: Site) -> None:
    assert site.ask("GET", "/xray/state?view=groups")[1]["groups"] == [{"client": HOSTILE}]


def test_ten_megabytes_of_names_are_a_snapshot_like_any_other(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(pages_module.VIEWS, "groups", lambda server, query: ["\u202e" * 1_000_000] * 2)
    status, told = site.ask("GET", "/xray/state?view=groups")
    assert (status, len(told["groups"][0])) == (200, 1_000_000)


@pytest.mark.parametrize(
    ("path", "arguments", "told"),
    [
        ("hold", {"rules": [{"api": "Fetch"}]}, [{"api": "Fetch"}]),
        ("hold", {}, [{}]),
        ("step", {}, (None, 1)),
        ("step", {"thread": "h-0", "n": 3}, ("h-0", 3)),
        ("resume", {}, "resume"),
        ("slow", {"factor": 100}, 100),
        ("advance", {"ms": 50}, 50),
    ],
)
def test_buttons(site: Site, path: str, arguments: object, told: object) -> None:
    assert site.post(path, arguments) == (200, {"held": []})
    assert site.holder.told == [told]


@pytest.mark.parametrize(
    ("path", "arguments", "status"),
    [
        ("hold", {"rules": 3}, 400),
        ("hold", [], 400),
        ("step", {"thread": 3}, 400),
        ("step", {"thread": "nobody"}, 404),
        ("step", {"n": "1"}, 400),
        ("slow", {}, 400),
        ("advance", {"ms": True}, 400),
        ("advance", {"ms": float("nan")}, 400),
        ("self-destruct", {}, 404),
    ],
)
def test_what_makes_no_sense_is_refused_with_a_reason(site: Site, path: str, arguments: object, status: int) -> None:
    answered, told = site.post(path, arguments)
    assert answered == status
    assert told["error"]
    assert site.holder.told == []


@pytest.mark.parametrize("body", [b"{", b"\xff", b"[" * 100_000])
def test_what_is_no_json_is_refused(site: Site, body: bytes) -> None:
    assert site.ask("POST", "/xray/hold", body, X_Xray_Token="secret")[0] == 400


def test_a_schedule_is_recorded_and_given(site: Site) -> None:
    assert site.post("schedule/record", {})[0] == 200
    assert site.post("schedule/stop", {}) == (200, {"steps": []})


def test_without_the_token_nothing_is_pushed(site: Site) -> None:
    assert site.post("resume", {}, token="guess")[0] == 403
    assert site.ask("POST", "/xray/resume", b"{}", X_Xray_Token="secret", Origin="http://evil.com")[0] == 403
    assert site.ask("GET", "/xray/state", Host="evil.com")[0] == 403
    assert site.holder.told == []


def test_a_broker_that_cannot_be_held_says_so(
    monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory
) -> None:
    site = Site(monkeypatch, tmp_path_factory, controlled=False)
    try:
        assert site.ask("GET", "/xray/events")[0] == 409
        assert site.post("hold", {})[0] == 409
        assert site.ask("GET", "/xray/state?view=broker")[1]["broker"]["held"] == []
    finally:
        site.exporter.shutdown()


def read_batch(stream: http.client.HTTPResponse) -> tuple[int, list[dict[str, Any]]]:
    """The next batch: its last id and its events."""
    fields = {}
    while "data" not in fields:
        name, _, value = stream.readline().decode().rstrip("\n").partition(": ")
        fields[name] = value
    return int(fields["id"]), json.loads(fields["data"])


def follow(site: Site, path: str, **headers: str) -> tuple[http.client.HTTPConnection, http.client.HTTPResponse]:
    connection = http.client.HTTPConnection("127.0.0.1", site.exporter.port, timeout=10)
    connection.request("GET", path, headers=headers)
    return connection, connection.getresponse()


def test_events_come_as_they_happen_and_resume_by_id(site: Site) -> None:
    for n in range(3):
        site.xray.events.emit("send", n=n)
    connection, stream = follow(site, "/xray/events?after=1")
    assert stream.headers["Content-Type"].startswith("text/event-stream")
    last, events = read_batch(stream)
    assert (last, [event["id"] for event in events]) == (3, [2, 3])
    site.xray.events.emit("accept", client=HOSTILE)
    last, events = read_batch(stream)
    assert (last, events[0]["client"]) == (4, HOSTILE)
    assert site.xray.watchers == 1
    stream.close()
    connection.close()
    connection, stream = follow(site, "/xray/events?after=1", **{"Last-Event-ID": "3"})
    assert read_batch(stream)[0] == 4
    stream.close()
    connection.close()


def test_so_many_may_watch_and_no_more(site: Site) -> None:
    open_ones = [follow(site, "/xray/events") for _ in range(MOST_WATCHERS)]
    connection, refused = follow(site, "/xray/events")
    assert refused.status == 503
    assert site.xray.watchers == MOST_WATCHERS
    refused.close()
    for each, stream in [*open_ones, (connection, refused)]:
        stream.close()
        each.close()


def test_connections_that_never_ask_take_no_place_for_ever(
    monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Slow ones take the places there are; the next gets a 503; when their time is up the places are free again."""
    monkeypatch.setattr(exporter_module, "MAX_CONNECTIONS", 3)
    monkeypatch.setattr(exporter_module._Handler, "timeout", 1.0)
    site = Site(monkeypatch, tmp_path_factory)
    try:
        slow = [site.raw(b"GET /xray/state HTT") for _ in range(3)]
        late = site.raw(b"")
        assert late.recv(100).startswith(b"HTTP/1.0 503")
        assert all(sock.recv(1) == b"" for sock in slow)
        server: Any = site.exporter._http
        assert all(server._places.acquire(timeout=5) for _ in range(3))
        for sock in [*slow, late]:
            sock.close()
    finally:
        site.exporter.shutdown()


def test_a_watcher_that_never_reads_is_let_go(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exporter_module._Handler, "timeout", 0.2)
    monkeypatch.setattr("kafka_py.xray.event_stream.BATCH_MS", 1)
    gone = threading.Event()
    sock = socket.socket()
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2048)
    sock.connect(("127.0.0.1", site.exporter.port))
    site_unwatch = site.xray.unwatch

    def noted() -> None:
        site_unwatch()
        gone.set()

    controls: Any = site.pages._controls
    controls.unwatch = noted
    sock.sendall(b"GET /xray/events HTTP/1.0\r\nHost: localhost\r\n\r\n")
    for _ in range(200):
        site.xray.events.emit("send", text="x" * 50_000)
        if gone.wait(0.02):
            break
    assert gone.wait(5)
    assert site.xray.watchers == 0
    sock.close()


def test_too_long_a_body_is_not_read(site: Site) -> None:
    sock = site.raw(b"POST /xray/hold HTTP/1.0\r\nHost: localhost\r\nContent-Length: 999999999\r\n\r\n")
    assert sock.recv(100).startswith(b"HTTP/1.0 413")
    sock.close()
    sock = site.raw(b"POST /xray/hold HTTP/1.0\r\nHost: localhost\r\nContent-Length: -1\r\n\r\n")
    assert sock.recv(100).startswith(b"HTTP/1.0 411")
    sock.close()


def test_files_of_the_page(tmp_path: pathlib.Path) -> None:
    folder = tmp_path / "static"
    folder.mkdir()
    (folder / "index.html").write_text("page")
    (folder / "a.js").write_text("script")
    (tmp_path / "secret.py").write_text("secret")
    assert static_file("/", folder).body == b"page"
    assert static_file("/static/a.js", folder).content_type == "text/javascript; charset=utf-8"
    assert static_file("", folder).headers["Location"] == "/xray/"
    for path in ("/static/../secret.py", "/../secret.py", "//etc/passwd", "/static", "/nothing"):
        with pytest.raises(KeyError):
            static_file(path, folder)


def test_a_source_leads_to_the_readers_own_site_and_its_files_are_served(site: Site) -> None:
    (site.site / "index.json").write_text(json.dumps({"XrayPages.answer": "a.Page.html#XrayPages.answer"}))
    (site.site / "a.Page.html").write_text("null")
    status, told = site.ask("GET", "/xray/source?name=XrayPages.answer")
    assert (status, told["sideBySide"]) == (200, "sidebyside/a.Page.html#XrayPages.answer")
    assert site.ask("GET", "/xray/source?name=XrayPages.announce")[1]["sideBySide"] is None
    assert site.ask("GET", "/xray/sidebyside/a.Page.html") == (200, None)
    assert site.ask("GET", "/xray/sidebyside/../pages.py")[0] == 404
    (site.site / "a.Page.html").unlink()
    assert site.ask("GET", "/xray/sidebyside/a.Page.html")[0] == 404
