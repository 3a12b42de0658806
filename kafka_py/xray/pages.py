"""What is under `/xray/` on a broker's HTTP port: the page, snapshots, events, and the buttons.

Ours, no original. Everything is JSON but the page's own files; docs/xray.md tells scripts of each address.

Read next: state.py and state_cluster.py, the snapshots; security.py; event_stream.py; ../metrics/exporter.py
"""

from __future__ import annotations

import json
import mimetypes
import pathlib
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from kafka_py.common.errors import KafkaException
from kafka_py.common.utils.time import Time
from kafka_py.metrics.exporter import HttpRequest, Page, Stream, json_page
from kafka_py.utils.logging import Logging
from kafka_py.xray import state, state_cluster
from kafka_py.xray.batch_view import batch
from kafka_py.xray.controls import Controls
from kafka_py.xray.event_stream import EventStreams
from kafka_py.xray.security import HEADERS, STYLED, Guard
from kafka_py.xray.side_by_side import FOLDER, SideBySide
from kafka_py.xray.source_view import source
from kafka_py.xray.trace import trace

if TYPE_CHECKING:
    from kafka_py.metrics.exporter import MetricsExporter
    from kafka_py.server.kafka_server import KafkaServer
    from kafka_py.xray.request_journal import RequestJournal

PREFIX = "/xray"
STATIC = pathlib.Path(__file__).parent / "static"
VIEWS: Mapping[str, state.View] = {
    "broker": state.broker,
    "threads": state.threads,
    "queues": state.queues,
    "requests": state.requests,
    "partitions": state.partitions,
    "purgatories": state.purgatories,
    "controller": state_cluster.controller,
    "groups": state_cluster.groups,
    "transactions": state_cluster.transactions,
    "zookeeper": state_cluster.zookeeper,
    "cluster": state_cluster.cluster,
}
# What is asked for when nobody says: all but the tree, for which ZooKeeper has to be asked.
_DEFAULT = ",".join(view for view in VIEWS if view != "zookeeper")
Answer = Page | Stream


class XrayPages(Logging):
    """Answers what is asked of one broker's X-ray.

    Thread: that of the connection.
    """

    def __init__(self, server: KafkaServer, guard: Guard, controls: Controls | None = None) -> None:
        """Without ``controls`` there are snapshots, but no events and nothing to hold."""
        self.guard = guard
        self._server = server
        self._controls = controls
        self._streams = EventStreams()
        self._side_by_side = SideBySide(server.config.xray_side_by_side)
        self._began = Time.SYSTEM.nanoseconds()
        self._gets: dict[str, Callable[[HttpRequest], Answer]] = {
            "/state": self._state,
            "/events": self._events,
            "/requests": self._requests,
            "/batch": self._batch,
            "/trace.json": self._trace,
            "/source": self._source,
            "/cluster": lambda request: json_page(self._cluster()),
        }

    @classmethod
    def install(cls, server: KafkaServer, exporter: MetricsExporter, listener: str) -> XrayPages:
        """The pages of a broker, on its HTTP port (``listener``: host:port)."""
        xray = server.xray
        given = server.config.xray_token
        token = None if given is None else given.value()
        controls = None if xray is None else Controls(xray, xray.holder, xray.schedule)
        pages = cls(server, Guard(listener.rpartition(":")[0], token), controls)
        exporter.add_site(PREFIX, pages.answer, None if controls is None else controls.close)
        return pages

    def announce(self, port: int) -> None:
        """Print the link that opens the page and lets its buttons work."""
        host = self.guard.host_for_links
        self.info("X-ray at http://%s:%d%s/#token=%s", host, port, PREFIX, self.guard.token)

    @property
    def _journal(self) -> RequestJournal | None:
        return None if self._server.xray is None else self._server.xray.journal

    def answer(self, request: HttpRequest) -> Answer:
        """The page for a request; 403 with the reason for who may not ask, 4xx with it for what makes no sense."""
        why = self.guard.refuses(request.method, request.headers)
        if why is not None:
            return _safe(json_page({"error": why}, 403))
        try:
            return _safe(self._routed(request))
        except (KeyError, LookupError) as e:
            return _safe(json_page({"error": str(e.args[0]) if e.args else "not found"}, 404))
        except (ValueError, TypeError) as e:
            return _safe(json_page({"error": str(e)}, 400))
        except (RuntimeError, OSError, KafkaException) as e:
            return _safe(json_page({"error": f"{type(e).__name__}: {e}"}, 409))

    def _routed(self, request: HttpRequest) -> Answer:
        path = request.path.removeprefix(PREFIX)
        if request.method == "POST":
            return self._post(path, request.body)
        if path.startswith(_SIDE_BY_SIDE):
            return self._site(path.removeprefix(_SIDE_BY_SIDE))
        get = self._gets.get(path)
        return static_file(path) if get is None else get(request)

    # -- reading

    def _state(self, request: HttpRequest) -> Page:
        wanted = [view for view in request.query.get("view", _DEFAULT).split(",") if view]
        unknown = [view for view in wanted if view not in VIEWS]
        if unknown:
            raise ValueError(f"no view {unknown[0][:100]!r}; there are {', '.join(VIEWS)}")
        sections: dict[str, Any] = {}
        busy = []
        for view in wanted:
            try:
                sections[view] = VIEWS[view](self._server, request.query)
            except Exception as e:  # noqa: BLE001  # one view of a part that comes or goes must not spoil the others
                self.debug("View %s cannot be read now", view, exc=e)
                sections[view] = None
                busy.append(view)
        self._complete(sections)
        return compact({**sections, "busy": busy})

    def _complete(self, sections: dict[str, Any]) -> None:
        """Add what the X-ray itself knows: its mode, and who is held."""
        held = [] if self._controls is None else self._controls.held()
        if sections.get("broker") is not None:
            known = {"held": held, "limits": [_NO_CONTROLS]} if self._controls is None else self._controls.describe()
            uptime = (Time.SYSTEM.nanoseconds() - self._began) // 1000
            sections["broker"] = {**sections["broker"], "uptimeUs": uptime, **known}
        by_thread = {each["thread"]: each for each in held}
        for thread in sections.get("threads") or ():
            each = by_thread.get(thread["name"])
            if each is not None:
                request = each.get("request") or {}
                thread.update(state="held", on=each["point"], method=each["method"], requestId=request.get("id"))

    def _events(self, request: HttpRequest) -> Answer:
        controls = self._needed()
        resumed = request.headers.get("last-event-id") or request.query.get("after", "0")
        return self._streams.open(controls, whole_number(resumed, "after"))

    def _requests(self, request: HttpRequest) -> Page:
        journal = self._journal
        if journal is None:
            raise KeyError("no journal of requests")
        return journal.page(request.query)

    def _batch(self, request: HttpRequest) -> Page:
        query = request.query
        partition, offset = (whole_number(query.get(name, ""), name) for name in ("partition", "offset"))
        return json_page(batch(self._server, query.get("topic", ""), partition, offset))

    def _source(self, request: HttpRequest) -> Page:
        name = request.query.get("name", "")
        found = source(name)
        scala = found["scala"]
        return json_page({**found, "sideBySide": self._side_by_side.place_of(name, scala and scala["path"])})

    def _site(self, path: str) -> Page:
        """A file of the side-by-side site, whose pages draw bars with styles in their elements."""
        if self._side_by_side.folder is None:
            raise KeyError("there is no side-by-side site: see kafka.py.xray.sidebyside")
        found = static_file(f"/{path}", self._side_by_side.folder)
        return found._replace(headers={"Content-Security-Policy": STYLED})

    def _trace(self, request: HttpRequest) -> Page:
        seconds = whole_number(request.query.get("seconds", "60"), "seconds")
        journal = self._journal
        requests = [] if journal is None else journal.entries()
        controls = self._controls
        events, zero = ([], 0.0) if controls is None else (controls.everything(), controls.events.began_micros)
        return compact(trace(requests, events, self._server.config.broker_id, seconds, zero))

    def _cluster(self) -> dict[str, Any]:
        own = {"id": self._server.config.broker_id, "base": PREFIX + "/"}
        return {"brokers": [own], "lab": False, "faults": [], "labs": False}

    # -- controls

    def _needed(self) -> Controls:
        if self._controls is None:
            raise RuntimeError(_NO_CONTROLS)
        return self._controls

    def _post(self, path: str, body: bytes) -> Page:
        controls = self._needed()
        try:
            arguments = json.loads(body or b"{}")
        except RecursionError as e:
            raise ValueError("nested too deep") from e
        if not isinstance(arguments, dict):
            raise ValueError("a JSON object is expected")
        return json_page(controls.carry_out(path.removeprefix("/"), arguments))


_SIDE_BY_SIDE = f"/{FOLDER}/"
_NO_CONTROLS = "this broker tells no events and holds no threads"


def whole_number(text: str, name: str) -> int:
    """A number ≥ 0 out of a query; ValueError for anything else."""
    if not (text.isascii() and text.isdigit() and len(text) < 20):
        raise ValueError(f"{name} is a whole number, not {text[:50]!r}")
    return int(text)


def compact(value: Any) -> Page:
    """The value as JSON without spaces: these are asked for every second."""
    return Page(200, "application/json; charset=utf-8", json.dumps(value, separators=(",", ":")).encode())


def static_file(path: str, folder: pathlib.Path = STATIC) -> Page:
    """A file of the page; KeyError for what is none, wherever it leads."""
    if path == "":
        return Page(301, "text/plain; charset=utf-8", b"", {"Location": PREFIX + "/"})
    name = "index.html" if path == "/" else path.removeprefix("/").removeprefix("static/")
    file = (folder / name).resolve()
    if not file.is_relative_to(folder.resolve()) or not file.is_file():
        raise KeyError("no such page")
    kind = mimetypes.guess_type(file.name)[0] or "application/octet-stream"
    text = kind.startswith("text/") or kind.endswith(("javascript", "json", "xml"))
    return Page(200, kind + ("; charset=utf-8" if text else ""), file.read_bytes())


def _safe(answer: Answer) -> Answer:
    return answer._replace(headers={**HEADERS, **answer.headers})
