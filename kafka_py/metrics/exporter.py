"""The broker's metrics over HTTP: `/metrics` for Prometheus, `/jmx` as JSON.

Ours, no original: where a JVM offers its beans through JMX and an agent turns them into Prometheus series, this
thread does both. Names are those jmx_exporter makes (`jmx_rules`), so Kafka's dashboards work. Other parts of the
broker may add pages with `add_page`, and whole sites (POST, streams, files) with `add_site`.
"""

from __future__ import annotations

import fnmatch
import http.server
import json
import logging
import math
import sys
import threading
import urllib.parse
from collections.abc import Callable, Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import Any, ClassVar, NamedTuple

import prometheus_client
from prometheus_client.core import Metric
from prometheus_client.registry import Collector

from kafka_py.common.utils.kafka_thread import KafkaThread, set_os_thread_name
from kafka_py.metrics.jmx_rules import DEFAULT_RULES, Rule, RuleBook
from kafka_py.metrics.yammer import TICK_INTERVAL_NS, Metrics, MetricsRegistry
from kafka_py.utils.concurrent import CountDownLatch
from kafka_py.utils.logging import Logging
from kafka_py.utils.mbeans import PLATFORM_MBEAN_SERVER, MBeanServer

DEFAULT_LISTENER = "127.0.0.1:9404"
_PORTS_TO_TRY = 16
_JSON = "application/json; charset=utf-8"
_TEXT = "text/plain; charset=utf-8"
_NO_HEADERS: Mapping[str, str] = MappingProxyType({})
MAX_BODY = 1 << 20  # bytes; of what is posted
MAX_CONNECTIONS = 64  # answered at the same time; a thread each


class Page(NamedTuple):
    """What a request gets: status, content type and body."""

    status: int
    content_type: str
    body: bytes
    headers: Mapping[str, str] = _NO_HEADERS


class Stream(NamedTuple):
    """A page without end: each chunk goes out as it comes; the iterator is closed when the reader is gone."""

    content_type: str
    chunks: Iterator[bytes]
    headers: Mapping[str, str] = _NO_HEADERS
    status: int = 200


class HttpRequest(NamedTuple):
    """What a site is asked: the names of headers are in lower case."""

    method: str
    path: str
    query: Mapping[str, str]
    headers: Mapping[str, str]
    body: bytes = b""


PageFunction = Callable[[Mapping[str, str]], Page]
Site = Callable[[HttpRequest], Page | Stream]


class MBeanCollector(Collector):
    """Turns every numeric attribute of every bean into a sample."""

    def __init__(self, server: MBeanServer = PLATFORM_MBEAN_SERVER, rules: tuple[Rule, ...] = DEFAULT_RULES) -> None:
        self._server = server
        self._rules = RuleBook(rules)

    def collect(self) -> Iterable[Metric]:
        """One family per series name; called by prometheus_client for each scrape."""
        families: dict[str, Metric] = {}
        seen: set[tuple[str, tuple[tuple[str, str], ...]]] = set()
        attributes = 0
        for bean, readers in self._server.beans():
            for attribute, read in readers.items():
                attributes += 1
                series = self._rules.series(bean, attribute)
                if series is None or (series.name, series.labels) in seen:
                    continue
                value = number(read)
                if value is None:
                    continue
                seen.add((series.name, series.labels))
                family = families.get(series.name)
                if family is None:
                    kind = "unknown" if series.kind == "untyped" else series.kind
                    family_name = series.name.removesuffix("_total") if kind == "counter" else series.name
                    family = families[series.name] = Metric(family_name, f"{bean} {attribute}", kind)
                family.add_sample(series.name, dict(series.labels), value)
        if len(self._rules) > 2 * attributes + 1000:
            self._rules.forget()
        return families.values()


def number(read: Callable[[], object]) -> float | None:
    """The attribute as a number; None if it is none, or if reading it fails."""
    try:
        value = read()
    except Exception:  # noqa: BLE001  # one gauge of a part that is shutting down must not spoil the scrape
        return None
    return float(value) if isinstance(value, int | float) else None


def _readable(read: Callable[[], object]) -> Any:
    """The attribute as JSON can hold it."""
    try:
        value = read()
    except Exception as e:  # noqa: BLE001  # the reader learns what is wrong with this one attribute
        return f"{type(e).__name__}: {e}"
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if math.isnan(value) else ("Infinity" if value > 0 else "-Infinity")
    return value if isinstance(value, bool | int | float | str | list | dict) or value is None else str(value)


class MetricsExporter(Logging):
    """The HTTP endpoint and the thread that keeps the moving averages moving.

    Thread: kafka-py-metrics-http accepts, a short-lived thread answers each request; metrics-meter-tick-thread-1.
    """

    def __init__(
        self,
        listener: str = DEFAULT_LISTENER,
        server: MBeanServer = PLATFORM_MBEAN_SERVER,
        registry: MetricsRegistry | None = None,
    ) -> None:
        host, _, port = listener.rpartition(":")
        self._host = host.strip("[]") or "127.0.0.1"
        self._wanted_port = int(port)
        self._mbeans = server
        self._registry = registry or Metrics.default_registry()
        self._prometheus = prometheus_client.CollectorRegistry()
        for collector in (prometheus_client.ProcessCollector, prometheus_client.PlatformCollector):
            collector(registry=self._prometheus)
        prometheus_client.GCCollector(registry=self._prometheus)
        self._prometheus.register(MBeanCollector(server))
        self._pages: dict[str, PageFunction] = {"/": self._index, "/metrics": self._metrics, "/jmx": self._jmx}
        self._sites: dict[str, Site] = {}
        self._closes: list[Callable[[], object]] = []
        self._http: http.server.ThreadingHTTPServer | None = None  # volatile: startup, shutdown
        self._threads: list[KafkaThread] = []  # volatile: startup, shutdown
        self._stop = CountDownLatch(1)

    @property
    def port(self) -> int:
        """The port that is listened on; 0 before startup."""
        return 0 if self._http is None else int(self._http.server_address[1])

    def add_page(self, path: str, page: PageFunction) -> None:
        """Answer this path too; the function gets the query's parameters."""
        self._pages[path] = page

    def add_site(self, prefix: str, site: Site, close: Callable[[], object] | None = None) -> None:
        """Let the site answer every path that begins with the prefix and has no page of its own; close is called when
        nobody is answered any more.
        """
        self._sites[prefix] = site
        if close is not None:
            self._closes.append(close)

    def startup(self) -> None:
        """Listen, on the next free port if the wanted one is taken; OSError if sixteen in a row are."""
        self._http = self._bind()
        serve = self._http.serve_forever
        self._threads = [
            KafkaThread.daemon_thread("kafka-py-metrics-http", lambda: serve(poll_interval=0.1)),
            KafkaThread.daemon_thread("metrics-meter-tick-thread-1", self._tick_loop),
        ]
        for thread in self._threads:
            thread.start()
        self.info("Metrics at http://%s:%d/metrics", self._host, self.port)

    def _bind(self) -> http.server.ThreadingHTTPServer:
        handler = type("Handler", (_Handler,), {"pages": self._pages, "sites": self._sites})
        for attempt in range(_PORTS_TO_TRY):
            port = self._wanted_port + attempt if self._wanted_port else 0
            try:
                return _HttpServer((self._host, port), handler)
            except OSError as e:
                if attempt == _PORTS_TO_TRY - 1:
                    raise
                self.warn("Cannot listen on %s:%d (%s), trying the next port", self._host, port, e)
        raise AssertionError("unreachable: the last attempt returns or raises")

    def _tick_loop(self) -> None:
        while not self._stop.await_(TICK_INTERVAL_NS / 1_000_000):
            self._registry.tick()

    def shutdown(self) -> None:
        """Stop listening and end both threads."""
        self._stop.count_down()
        for close in self._closes:
            close()
        if self._http is not None:
            self._http.shutdown()
            self._http.server_close()
            self._http = None
        for thread in self._threads:
            thread.join()
        self._threads = []

    def _index(self, query: Mapping[str, str]) -> Page:
        links = "".join(f'<li><a href="{path}">{path}</a></li>' for path in self._pages if path != "/")
        return Page(200, "text/html; charset=utf-8", f"<h1>kafka_py</h1><ul>{links}</ul>".encode())

    def _metrics(self, query: Mapping[str, str]) -> Page:
        return Page(200, prometheus_client.CONTENT_TYPE_LATEST, prometheus_client.generate_latest(self._prometheus))

    def _jmx(self, query: Mapping[str, str]) -> Page:
        """`?qry=kafka.server:*` keeps the beans that match; `?get=BEAN::ATTRIBUTE` answers one attribute."""
        if "get" in query:
            bean, _, attribute = query["get"].partition("::")
            return json_page({"beans": self._beans(lambda name: name == bean, attribute or None)})
        pattern = query.get("qry", "*")
        return json_page({"beans": self._beans(lambda name: fnmatch.fnmatchcase(name, pattern), None)})

    def _beans(self, wanted: Callable[[str], bool], only: str | None) -> list[dict[str, Any]]:
        return [
            {"name": name, **{a: _readable(read) for a, read in readers.items() if only in (None, a)}}
            for name, readers in sorted(self._mbeans.beans(), key=lambda bean: bean[0])
            if wanted(name)
        ]


def json_page(value: Any, status: int = 200) -> Page:
    """The value as a JSON page."""
    return Page(status, _JSON, json.dumps(value, indent=2).encode())


class _HttpServer(http.server.ThreadingHTTPServer):
    """Answers so many connections at a time; who comes on top gets a 503.

    Thread: kafka-py-metrics-http accepts; a thread per connection.
    """

    daemon_threads = True
    allow_reuse_address = True
    _BUSY: ClassVar[bytes] = b"HTTP/1.0 503 Service Unavailable\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"

    def __init__(self, address: tuple[str, int], handler: type[http.server.BaseHTTPRequestHandler]) -> None:
        super().__init__(address, handler)
        self._places = threading.BoundedSemaphore(MAX_CONNECTIONS)

    def process_request(self, request: Any, client_address: Any) -> None:
        """Give the connection a thread, if there is a place."""
        if self._places.acquire(blocking=False):
            super().process_request(request, client_address)
            return
        request.setblocking(False)
        try:
            request.send(self._BUSY)
        finally:
            self.shutdown_request(request)

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        """Answer one request on a thread of its own, under a name of ours."""
        set_os_thread_name("kafka-py-metrics-request")
        try:
            super().process_request_thread(request, client_address)
        finally:
            self._places.release()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Log what went wrong with a request; a client that left before it had its answer is no news."""
        error = sys.exc_info()[1]
        level = logging.DEBUG if isinstance(error, ConnectionError | TimeoutError) else logging.ERROR
        MetricsExporter.logger.underlying.log(level, "Error while answering %s", client_address, exc_info=error)


class _Handler(http.server.BaseHTTPRequestHandler):
    """Looks the page or the site up and writes what it answers."""

    pages: Mapping[str, PageFunction] = {}
    sites: Mapping[str, Site] = {}
    timeout: ClassVar[float | None] = 30.0  # s; a silent client must not keep its thread and descriptor for ever

    def do_GET(self) -> None:  # the name http.server calls
        """Answer a GET."""
        self._answer(b"")

    def do_POST(self) -> None:  # the name http.server calls
        """Answer a POST, whose body is read whole; only sites take one."""
        told = self.headers.get("Content-Length", "")
        if not (told.isascii() and told.isdigit()):
            self._write(Page(411, _TEXT, b"a POST tells the length of its body\n"))
        elif int(told[:12]) > MAX_BODY:
            self._write(Page(413, _TEXT, b"too much\n"))
        else:
            body = self.rfile.read(int(told))
            if len(body) == int(told):
                self._answer(body)

    def _answer(self, body: bytes) -> None:
        url = urllib.parse.urlsplit(self.path)
        query = dict(urllib.parse.parse_qsl(url.query, keep_blank_values=True))
        function = self.pages.get(url.path.rstrip("/") or "/") if self.command == "GET" else None
        site = next((site for prefix, site in self.sites.items() if url.path.startswith(prefix)), None)
        if function is not None:
            self._write(function(query))
        elif site is not None:
            headers = {name.lower(): value for name, value in self.headers.items()}
            self._write(site(HttpRequest(self.command, url.path, query, headers, body)))
        else:
            self._write(Page(404, _TEXT, b"no such page\n"))

    def _write(self, page: Page | Stream) -> None:
        self.send_response(page.status)
        self.send_header("Content-Type", page.content_type)
        for name, value in page.headers.items():
            self.send_header(name, value)
        if isinstance(page, Page):
            self.send_header("Content-Length", str(len(page.body)))
            self.end_headers()
            self.wfile.write(page.body)
        else:
            self._stream(page.chunks)

    def _stream(self, chunks: Iterator[bytes]) -> None:
        """Write until the reader is gone, or has taken nothing for `timeout`; then the iterator is closed."""
        try:
            self.end_headers()
            for chunk in chunks:
                self.wfile.write(chunk)
        finally:
            close = getattr(chunks, "close", None)
            if close is not None:
                close()

    def log_message(self, format: str, *args: Any) -> None:
        """Nothing on the error stream: scrapes come every few seconds."""
        return
