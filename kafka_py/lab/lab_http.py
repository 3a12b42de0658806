"""The lab's own HTTP port: the page of the X-ray for all brokers at once, and the faults as buttons.

Ours, no original. What concerns one broker (`/xray/broker/<id>/…`) is asked of that broker, streams too; the lab adds
the token, which all its brokers share, so that one link opens everything.

Read next: ../xray/pages.py, what a broker answers; ../testing/local_cluster.py
"""

from __future__ import annotations

import http.client
import json
import re
import urllib.parse
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from kafka_py.common.errors import KafkaException
from kafka_py.metrics.exporter import HttpRequest, MetricsExporter, Page, Stream, json_page
from kafka_py.testing.cluster import FaultError
from kafka_py.xray.pages import PREFIX, static_file
from kafka_py.xray.security import HEADERS, TOKEN_HEADER, Guard

if TYPE_CHECKING:
    from kafka_py.testing.local_cluster import LocalBroker, LocalCluster

_OF_BROKER = re.compile(PREFIX + r"/broker/(\d{1,9})/([A-Za-z0-9_./-]*)")
_PATIENCE_S = 15.0  # longer than the pause between two comments of an event stream
_TO_FIRST = ("state", "events", "batch", "trace.json", "source", "requests")
_CHUNK = 64 * 1024
_POLICY = "Content-Security-Policy"


class Verb(Protocol):
    """A fault that can be asked for by name."""

    def call(self, cluster: Any, arguments: Mapping[str, str]) -> str:
        """Do it; what was done, for people."""

    def listing(self) -> Mapping[str, Any]:
        """name, help and arguments."""


class Board(Protocol):
    """The labs, and the buttons of the one that runs."""

    def listing(self) -> Mapping[str, Any]:
        """What the page shows of them."""

    def do(self, word: str) -> Mapping[str, Any]:
        """Push a button; KeyError for one that is not there."""


class LabHttp:
    """Serves the page for the brokers of a lab.

    Thread: those of its connections; verbs have a lock of the cluster's.
    """

    def __init__(
        self,
        cluster: LocalCluster,
        token: str | None = None,
        listener: str = "127.0.0.1:9404",
        faults: Mapping[str, Verb] | None = None,
        board: Board | None = None,
    ) -> None:
        """``token`` is that of the brokers (kafka.py.xray.token); without one the lab makes one up.

        ``board`` is there while an exercise runs.
        """
        self._cluster = cluster
        self._board = board
        self._faults = faults or {}
        self.guard = Guard(listener.rpartition(":")[0], token)
        self._exporter = MetricsExporter(listener)
        self._exporter.add_site(PREFIX, self.answer)

    def startup(self) -> None:
        """Listen; OSError if no port is free."""
        self._exporter.startup()

    def shutdown(self) -> None:
        """Stop listening."""
        self._exporter.shutdown()

    @property
    def link(self) -> str:
        """What opens the page, with the token."""
        host, port = self.guard.host_for_links, self._exporter.port
        return f"http://{host}:{port}{PREFIX}/#token={self.guard.token}"

    def answer(self, request: HttpRequest) -> Page | Stream:
        """The page for a request, as a broker answers it."""
        why = self.guard.refuses(request.method, request.headers)
        if why is not None:
            return _safe(json_page({"error": why}, 403))
        try:
            return _safe(self._routed(request))
        except KeyError as e:
            return _safe(json_page({"error": str(e.args[0])}, 404))
        except (ValueError, FaultError) as e:
            return _safe(json_page({"error": str(e)}, 400))
        except (OSError, http.client.HTTPException, RuntimeError, KafkaException) as e:
            return _safe(json_page({"error": f"{type(e).__name__}: {e}"}, 502))

    def _routed(self, request: HttpRequest) -> Page | Stream:
        path = request.path.removeprefix(PREFIX)
        of_broker = _OF_BROKER.fullmatch(request.path)
        if of_broker is not None:
            return self._forward(self._broker(int(of_broker[1])), of_broker[2], request)
        if path == "/labs" or path.startswith("/labs/"):
            return self._labs(path.removeprefix("/labs").removeprefix("/"), request.method)
        if request.method == "POST":
            name = path.removeprefix("/fault/")
            return self._fault(name, request.body) if name != path else self._first(path, request)
        if path == "/cluster":
            return json_page(self._listing())
        if path.removeprefix("/") in _TO_FIRST or path.startswith("/sidebyside/"):
            return self._first(path, request)
        return static_file(path)

    def _listing(self) -> dict[str, Any]:
        return {
            "brokers": [{"id": each.id, "base": f"{PREFIX}/broker/{each.id}/"} for each in self._cluster.brokers],
            "lab": True,
            "faults": [dict(verb.listing()) for verb in self._faults.values()],
            "labs": self._board is not None,
        }

    def _labs(self, word: str, method: str) -> Page:
        if self._board is None:
            raise KeyError("no lab runs here")
        if method != "POST":
            if word:
                raise KeyError("buttons are pushed with POST")
            return json_page(dict(self._board.listing()))
        return json_page(dict(self._board.do(word)))

    def _broker(self, id: int) -> LocalBroker:
        found = next((each for each in self._cluster.brokers if each.id == id), None)
        if found is None:
            raise KeyError(f"no broker {id}")
        return found

    def _first(self, path: str, request: HttpRequest) -> Page | Stream:
        return self._forward(self._cluster.brokers[0], path.removeprefix("/"), request)

    def _fault(self, name: str, body: bytes) -> Page:
        verb = self._faults.get(name)
        if verb is None:
            raise KeyError("no such fault")
        arguments = json.loads(body or b"{}")
        if not isinstance(arguments, dict):
            raise ValueError("a JSON object is expected")
        given = {str(key): _word(value) for key, value in arguments.items() if value is not None}
        return json_page({"done": verb.call(self._cluster, given)})

    def _forward(self, broker: LocalBroker, rest: str, request: HttpRequest) -> Page | Stream:
        """What the broker answers; OSError for one that does not."""
        query = urllib.parse.urlencode(request.query)
        headers = {TOKEN_HEADER: self.guard.token, "Content-Type": "application/json"}
        if "last-event-id" in request.headers:
            headers["Last-Event-ID"] = request.headers["last-event-id"]
        connection = http.client.HTTPConnection("127.0.0.1", broker.metrics_port, timeout=_PATIENCE_S)
        try:
            body = request.body if request.method == "POST" else None
            connection.request(request.method, f"{PREFIX}/{rest}" + (f"?{query}" if query else ""), body, headers)
            response = connection.getresponse()
            kind = response.headers.get("Content-Type", "application/octet-stream")
            if response.status == 200 and kind.startswith("text/event-stream"):
                return Stream(kind, _Relay(connection, response))
            policy = response.headers.get(_POLICY)
            page = Page(response.status, kind, response.read(), {} if policy is None else {_POLICY: policy})
        except BaseException:
            connection.close()
            raise
        connection.close()
        return page


class _Relay(Iterator[bytes]):
    """The bytes of a broker's stream as they come.

    Thread: that of the watcher's connection.
    """

    def __init__(self, connection: http.client.HTTPConnection, response: http.client.HTTPResponse) -> None:
        self._connection = connection
        self._response = response

    def __next__(self) -> bytes:
        chunk = self._response.read1(_CHUNK)
        if not chunk:
            raise StopIteration
        return chunk

    def close(self) -> None:
        """The watcher is gone, and so are we for the broker."""
        self._response.close()
        self._connection.close()


def _word(value: object) -> str:
    """An argument as the command line would have it."""
    if isinstance(value, bool):
        return str(value).lower()
    words: Sequence[object] = value if isinstance(value, list) else [value]
    return ",".join(str(word) for word in words)


def _safe(answer: Page | Stream) -> Page | Stream:
    return answer._replace(headers={**HEADERS, **answer.headers})
