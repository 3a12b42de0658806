"""A broker's X-ray without a broker: canned state, and one produce with acks=all event by event, held and stepped.

It follows the paths and shapes of the real one, so that the page can be built and tested where no broker runs.
"""

from __future__ import annotations

import http.server
import json
import pathlib
import threading
import urllib.parse
from collections.abc import Iterator, Mapping
from typing import Any

import kafka_py.xray

STATIC = pathlib.Path(kafka_py.xray.__file__).parent / "static"
TOKEN = "a-token"
TYPES = {
    ".html": "text/html",
    ".js": "text/javascript",
    ".css": "text/css",
    ".json": "application/json",
    ".svg": "image/svg+xml",
}
ACCEPTOR = "kafka-socket-acceptor-ListenerName(PLAINTEXT)-PLAINTEXT-9092"
NETWORK = "kafka-network-thread-1-ListenerName(PLAINTEXT)-PLAINTEXT-{}"
HANDLER = "kafka-request-handler-{}"
HOSTILE = '<img src=x onerror="window.hacked=1">'
Json = dict[str, Any]


def produce(request: int, client: str, topic: str, follower: int = 2) -> list[Json]:
    """The events of one produce with acks=all, which the follower's fetch completes."""
    whole = {
        "id": request,
        "api": "Produce",
        "version": 5,
        "clientId": client,
        "connection": "127.0.0.1:9092-1:1-0",
        "correlationId": request,
        "topics": [topic],
    }
    fetch = {
        "id": request + 1,
        "api": "Fetch",
        "version": 6,
        "clientId": f"broker-{follower}-fetcher-0",
        "connection": "127.0.0.1:9092-1:2-0",
        "correlationId": 7,
        "topics": [topic],
    }
    first, second = {"id": request}, {"id": request + 1}
    net, handler = NETWORK.format(0), HANDLER.format(0)
    net1, handler1 = NETWORK.format(1), HANDLER.format(1)
    partition = f"{topic}-0"
    return [
        _event("receive", net, whole, "Processor._process_completed_receives"),
        _event("request-queue", net, first, "RequestChannel.send_request", queue="requestQueue", depth=1),
        _event("handle", handler, first, "KafkaRequestHandler.run", queue="requestQueue", depth=0),
        _event("append", handler, first, "Log.append_as_leader", partition=partition),
        _event(
            "watch",
            handler,
            first,
            "DelayedOperationPurgatory.try_complete_else_watch",
            purgatory="Produce",
            keys=[partition],
            operation=1,
        ),
        _event("receive", net1, fetch, "Processor._process_completed_receives"),
        _event("request-queue", net1, second, "RequestChannel.send_request", queue="requestQueue", depth=1),
        _event("handle", handler1, second, "KafkaRequestHandler.run", queue="requestQueue", depth=0),
        _event("high-watermark", handler1, None, "Partition._maybe_increment_leader_hw", partition=partition),
        _event(
            "complete",
            handler1,
            first,
            "DelayedOperation.force_complete",
            purgatory="Produce",
            operation=1,
            by={"id": request + 1, "follower": follower},
        ),
        _event("response-queue", handler1, first, "RequestChannel.send_response", queue="responseQueue-0", processor=0),
        _event("respond", net, first, "Processor._process_new_responses", processor=0),
        _event("send", net, first, "Processor._process_completed_sends", processor=0),
        _event(
            "response-queue", handler1, second, "RequestChannel.send_response", queue="responseQueue-1", processor=1
        ),
        _event("respond", net1, second, "Processor._process_new_responses", processor=1),
        _event("send", net1, second, "Processor._process_completed_sends", processor=1),
    ]


def _event(kind: str, thread: str, request: Json | None, method: str, **more: Any) -> Json:
    return {"kind": kind, "thread": thread, "method": method, **({"request": request} if request else {}), **more}


class FakeXray:
    """The server, its events, and what is held; `calls` are the commands that came."""

    def __init__(self) -> None:
        self.calls: list[tuple[str, Json]] = []
        self._changed = threading.Condition()
        self._events: list[Json] = []
        self._waiting: list[Json] = []
        self._requests = 40
        self.holding = False
        self.ended = False
        self.state: Json = canned_state()
        handler = type("Handler", (_Handler,), {"fake": self})
        self._http = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
        self._http.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._http.server_address[1]}/xray/"
        self._thread = threading.Thread(target=lambda: self._http.serve_forever(0.05), name="fake-xray")

    def __enter__(self) -> FakeXray:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        with self._changed:
            self.ended = True
            self._changed.notify_all()
        self._http.shutdown()
        self._http.server_close()
        self._thread.join()

    def produce(self, client: str = "console-producer", topic: str = "orders") -> int:
        """Let a produce come in: at once, or gate by gate while held; its id."""
        with self._changed:
            self._requests += 2
            self._waiting += produce(self._requests, client, topic)
            self._pass(0 if self.holding else len(self._waiting))
            return self._requests

    def emit(self, **event: Any) -> None:
        with self._changed:
            self._add(event)

    def _pass(self, n: int) -> None:
        for _ in range(min(n, len(self._waiting))):
            event = self._waiting.pop(0)
            self._add({"kind": "thread", "thread": event["thread"], "state": "running"})
            self._add(event)
        if self._waiting and self.holding:
            following = self._waiting[0]
            self._add({"kind": "thread", "thread": following["thread"], "state": "held", "on": following["kind"]})

    def _add(self, event: Json) -> None:
        number = len(self._events) + 1
        self._events.append({"id": number, "us": number * 730, **event})
        self._changed.notify_all()

    def held(self) -> list[Json]:
        if not self.holding or not self._waiting:
            return []
        event = self._waiting[0]
        return [
            {
                "thread": event["thread"],
                "point": event["kind"],
                "request": event.get("request"),
                "partition": event.get("partition"),
                "since_us": 1200,
                "method": event["method"],
            }
        ]

    def await_calls(self, n: int) -> None:
        """Return when that many commands have come."""
        with self._changed:
            assert self._changed.wait_for(lambda: len(self.calls) >= n, timeout=10), self.calls

    def command(self, name: str, body: Json) -> Json:
        with self._changed:
            self.calls.append((name, body))
            self._changed.notify_all()
            if name == "hold":
                self.holding = True
            if name == "step":
                self._pass(body.get("n", 1))
            if name == "resume":
                self.holding = False
                self._pass(len(self._waiting))
            if name == "labs/check":
                return {"exit": 1, "result": {"passed": False, "checks": CHECKS}}
            if name == "labs/hint":
                return {"exit": 0, "said": [f"(1 of 2) {HOSTILE}"]}
            if name == "schedule/stop":
                return {"steps": [[event["thread"], event["kind"], ""] for event in self._events]}
            return {"held": self.held()}

    def snapshot(self, views: set[str]) -> Json:
        with self._changed:
            told = {name: value for name, value in self.state.items() if name in views or not views}
            if "broker" in told:
                told["broker"] = {**told["broker"], "held": self.held()}
            return {**told, "busy": []}

    def batches(self, after: int) -> Iterator[list[Json]]:
        while True:
            with self._changed:
                while not self.ended and len(self._events) <= after:
                    self._changed.wait()
                if self.ended:
                    return
                batch = self._events[after:]
            if batch:
                after = batch[-1]["id"]
                yield batch


class _Handler(http.server.BaseHTTPRequestHandler):
    fake: FakeXray

    def do_GET(self) -> None:
        url = urllib.parse.urlsplit(self.path)
        query = dict(urllib.parse.parse_qsl(url.query))
        path = url.path.removeprefix("/xray/")
        if path == "events":
            return self._events(int(self.headers["Last-Event-ID"] or query.get("after", "0")))
        if path == "" or path.startswith("static/"):
            return self._file(STATIC / (path.removeprefix("static/") or "index.html"))
        return self._json(*self._page(path, query))

    def _page(self, path: str, query: Mapping[str, str]) -> tuple[Json, int]:
        pages: Json = {"requests": {"ended": 0, "requests": []}, "cluster": CLUSTER, "batch": BATCH, "labs": LABS}
        if path == "state":
            return self.fake.snapshot(set(filter(None, query.get("view", "").split(",")))), 200
        if path == "source":
            return source(query["name"]), 200
        if path in pages:
            return pages[path], 200
        return {"error": f"no page {path}"}, 404

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        if self.headers.get("X-Xray-Token") != TOKEN:
            return self._json({"error": "the token is missing or wrong"}, 403)
        path = urllib.parse.urlsplit(self.path).path.removeprefix("/xray/")
        return self._json(self.fake.command(path, json.loads(body)))

    def _file(self, path: pathlib.Path) -> None:
        if not path.is_file():
            return self._json({"error": "no such file"}, 404)
        return self._send(200, TYPES[path.suffix], path.read_bytes())

    def _json(self, value: Any, status: int = 200) -> None:
        self._send(status, "application/json", json.dumps(value).encode())

    def _send(self, status: int, kind: str, body: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Type", f"{kind}; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Content-Security-Policy", "default-src 'self'")
        self.send_header("X-Content-Type-Options", "nosniff")
        self.end_headers()
        self.wfile.write(body)

    def _events(self, after: int) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.end_headers()
        self.wfile.write(b": here\n\n")
        try:
            for batch in self.fake.batches(after):
                told = f"id: {batch[-1]['id']}\nevent: batch\ndata: {json.dumps(batch)}\n\n"
                self.wfile.write(told.encode())
                self.wfile.flush()
        except ConnectionError:
            self.close_connection = True

    def log_message(self, format: str, *args: Any) -> None:
        return


def source(name: str) -> Json:
    return {
        "file": "kafka_py/network/socket_server.py",
        "line": 400,
        "text": "def run(self) -> None:\n    while self.is_running:\n        self.configure_new_connections()\n",
        "sideBySide": f"sidebyside/network.SocketServer.html#{name}",
        "scala": {
            "path": f"core/src/main/scala/kafka/network/SocketServer.scala ({name})",
            "version": "1.1.1",
            "url": "https://github.com/apache/kafka/blob/1.1.1/core/src/main/scala/kafka/network/SocketServer.scala",
        },
    }


CLUSTER: Json = {
    "brokers": [{"id": 1, "base": "/xray/"}],
    "lab": True,
    "labs": True,
    "faults": [
        {"name": "kill", "help": "End a broker's process at once, as kill -9 does.", "arguments": ["broker"]},
        {"name": "cut", "help": "Cut the link from one broker to another.", "arguments": ["source", "target"]},
    ],
}
CHECKS: list[Json] = [
    {"text": "the leader is another", "good": True, "why": ""},
    {"text": "epoch", "good": False, "why": "answers-5.txt does not answer it yet"},
]
LABS: Json = {
    "running": 5,
    "sheets": {"en": "# Lab 5\n\nKill the leader.", "zh": "# 实验 5\n\n杀掉 leader。"},
    "last": None,
    "labs": [
        {
            "number": 4,
            "title": {"en": "The purgatory", "zh": "炼狱"},
            "minutes": 30,
            "kinds": ["observe"],
            "passed": True,
        },
        {
            "number": 5,
            "title": {"en": "Failover", "zh": "故障转移"},
            "minutes": 35,
            "kinds": ["break"],
            "passed": False,
        },
    ],
}
BATCH: Json = {
    "offset": 20,
    "hex": "00000000000000140000003d00000003021b2c3d4e000000000000" + "00" * 40,
    "fields": [
        {"name": "baseOffset", "start": 0, "end": 8, "value": 20, "children": []},
        {"name": "length", "start": 8, "end": 12, "value": 61, "children": []},
        {"name": "partitionLeaderEpoch", "start": 12, "end": 16, "value": 3, "children": []},
        {"name": "magic", "start": 16, "end": 17, "value": 2, "children": []},
        {"name": "crc", "start": 17, "end": 21, "value": "0x1b2c3d4e", "children": []},
        {"name": "attributes", "start": 21, "end": 23, "value": 0, "children": []},
        {
            "name": "records",
            "start": 23,
            "end": 67,
            "value": None,
            "children": [{"name": "value", "start": 30, "end": 60, "value": HOSTILE, "children": []}],
        },
    ],
}


def _threads() -> list[Json]:
    names = [(ACCEPTOR, "acceptor", "select")]
    names += [(NETWORK.format(i), "network", "select") for i in range(3)]
    names += [(HANDLER.format(i), "handler", "waiting-queue") for i in range(8)]
    names += [
        ("ReplicaFetcherThread-0-2", "fetcher", "running"),
        ("controller-event-thread", "controller", "waiting-queue"),
        ("ExpirationReaper-1-Produce", "reaper", "waiting-lock"),
    ]
    return [
        {"name": name, "role": role, "state": state, "on": "requestQueue" if role == "handler" else None}
        for name, role, state in names
    ]


def _partition(topic: str, number: int, leader: int) -> Json:
    ends = {1: 30, 2: 27, 3: 14}
    return {
        "topic": topic,
        "partition": number,
        "leader": leader,
        "leaderEpoch": 3,
        "isr": [1, 2],
        "replicas": [
            {
                "broker": id,
                "local": id == 1,
                "logStart": 4,
                "highWatermark": min(27, end),
                "lastStable": min(22, end),
                "logEnd": end,
                "caughtUpMs": 10,
            }
            for id, end in ends.items()
        ],
        "segments": [
            {"base": 0, "end": 12, "bytes": 4096, "index": [3, 6, 9], "active": False},
            {"base": 12, "end": 30, "bytes": 5120, "index": [15, 18, 21, 27], "active": True},
        ],
    }


def _purgatory(name: str, delayed: int) -> Json:
    buckets = [[1 if (i * 7) % 19 == 3 and delayed else 0 for i in range(20)] for _ in range(3)]
    return {
        "name": name,
        "watched": delayed,
        "delayed": delayed,
        "keys": [{"key": "orders-0", "operations": [{"id": 1, "request": 42, "expiresMs": 28_000}]}] * bool(delayed),
        "wheel": {
            "tickMs": 1,
            "size": 20,
            "levels": [{"intervalMs": 20 ** (i + 1), "current": 5 * 20**i, "buckets": buckets[i]} for i in range(3)],
        },
    }


def canned_state() -> Json:
    """A snapshot of everything; some names are hostile."""
    members = [
        {
            "id": f"consumer-{i}-5f3a",
            "client": HOSTILE if i == 2 else f"consumer-{i}",
            "host": "/127.0.0.1",
            "sessionMs": 10_000,
            "deadlineMs": 9000 - 3500 * i,
            "partitions": [f"orders-{i}"],
        }
        for i in range(3)
    ]
    return {
        "broker": {
            "id": 1,
            "host": "127.0.0.1",
            "port": 9092,
            "version": "1.1.1",
            "form": "source",
            "mode": "step",
            "held": [],
            "rate": 1.0,
            "limits": [],
            "clusterId": "x",
            "uptimeUs": 5_000_000,
        },
        "threads": _threads(),
        "queues": [
            {"name": "requestQueue", "depth": 0, "capacity": 500, "owner": "RequestChannel"},
            *({"name": f"responseQueue-{i}", "depth": 0, "capacity": None, "owner": "Processor"} for i in range(3)),
        ],
        "requests": [],
        "partitions": [_partition("orders", 0, 1), _partition("orders", 1, 2), _partition(HOSTILE, 0, 1)],
        "purgatories": [_purgatory("Produce", 2), _purgatory("Fetch", 1), _purgatory("Heartbeat", 0)],
        "controller": {
            "id": 1,
            "epoch": 4,
            "active": True,
            "state": "Idle",
            "queue": [{"event": "IsrChangeNotification", "waitingMs": 12}],
            "partitionStates": {"OnlinePartition": 12, "OfflinePartition": 1},
            "replicaStates": {"OnlineReplica": 30, "OfflineReplica": 3},
            "brokers": [
                {
                    "id": i,
                    "queued": i % 2,
                    "sent": [
                        {"api": "LeaderAndIsr", "what": ["orders-0 leader 1 epoch 4 isr 1,2"], "count": 1},
                        {"api": "UpdateMetadata", "what": ["orders-0", "orders-1"], "count": 3},
                    ],
                }
                for i in (1, 2, 3)
            ],
        },
        "groups": [
            {
                "id": "readers",
                "state": "Stable",
                "generation": 5,
                "protocol": "range",
                "leader": members[0]["id"],
                "members": members,
                "offsets": [{"topic": "orders", "partition": 0, "offset": 20}],
            }
        ],
        "transactions": [
            {
                "id": "transfer-1",
                "producerId": 1000,
                "epoch": 2,
                "state": "Ongoing",
                "partitions": ["orders-0"],
                "timeoutMs": 60_000,
                "startedMs": 1,
            }
        ],
        "zookeeper": {
            "tree": {
                "name": "/",
                "children": [
                    {
                        "name": "brokers",
                        "children": [
                            {
                                "name": "ids",
                                "watched": True,
                                "children": [{"name": "1", "data": '{"host":"127.0.0.1"}', "ephemeral": True}],
                            },
                            {"name": "topics", "children": [{"name": HOSTILE, "data": HOSTILE}], "watched": True},
                        ],
                    },
                    {"name": "controller", "data": '{"version":1,"brokerid":1}', "ephemeral": True, "watched": True},
                ],
            },
            "watches": [{"path": "/controller", "who": "broker 1, 2, 3"}, {"path": "/brokers/ids", "who": "broker 1"}],
        },
        "cluster": {
            "brokers": [{"id": i, "host": "127.0.0.1", "port": 9091 + i, "alive": i != 3} for i in (1, 2, 3)],
            "leaders": {"1": 8, "2": 5, "3": 0},
            "underReplicated": ["orders-0"],
            "lag": [{"group": "readers", "topic": "orders", "partition": 0, "committed": 20, "end": 30, "lag": 10}],
        },
    }


if __name__ == "__main__":
    with FakeXray() as served:
        print(f"{served.url}#token={TOKEN}")
        threading.Event().wait()
