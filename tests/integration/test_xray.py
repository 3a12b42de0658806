"""The X-ray's addresses on a broker that runs: every view after a produce, a group and a transaction."""

from __future__ import annotations

import http.client
import json
import re
from collections.abc import Iterator
from typing import Any

import pytest
from confluent_kafka import Consumer, Producer

from kafka_py.lab.round_trip import create_topic
from kafka_py.testing.local_cluster import LocalBroker, LocalCluster
from kafka_py.utils.installation import HERE
from kafka_py.xray.pages import VIEWS

HOSTILE = "<script>alert(1)</script>"
PROPERTIES = {
    "kafka.py.xray": "step",
    "kafka.py.xray.token": "secret",
    "offsets.topic.num.partitions": "2",
    "transaction.state.log.num.partitions": "2",
    "offsets.topic.replication.factor": "1",
    "transaction.state.log.replication.factor": "1",
    "transaction.state.log.min.isr": "1",
    "group.initial.rebalance.delay.ms": "0",
}


class Watched:
    """The broker, its clients and what a script asks of it."""

    def __init__(self, cluster: LocalCluster) -> None:
        self.broker: LocalBroker = cluster.brokers[0]
        servers = {"bootstrap.servers": cluster.bootstrap_servers}
        create_topic(cluster.bootstrap_servers, "t", 1, 1)
        group = {"group.id": "g", "client.id": HOSTILE, "auto.offset.reset": "earliest"}
        self.stream = self.open("GET", "/xray/events?after=0")
        plain = Producer(servers)
        for n in range(3):
            plain.produce("t", b"v%d" % n)
        assert plain.flush(20) == 0
        self.consumer = Consumer({**servers, **group})
        self.consumer.subscribe(["t"])
        assert len(self.consumer.consume(3, 20)) == 3
        self.consumer.commit(asynchronous=False)
        self.producer = Producer({**servers, "transactional.id": "tx"})
        self.producer.init_transactions(20)
        self.producer.begin_transaction()
        self.producer.produce("t", b"undecided")
        assert self.producer.flush(20) == 0

    def open(self, method: str, path: str, body: bytes | None = None, **headers: str) -> http.client.HTTPResponse:
        connection = http.client.HTTPConnection("127.0.0.1", self.broker.metrics_port, timeout=20)
        connection.request(method, path, body, headers)
        return connection.getresponse()

    def get(self, path: str, **headers: str) -> tuple[int, Any]:
        response = self.open("GET", path, None, **headers)
        return response.status, json.loads(response.read())

    def post(self, path: str, told: object, token: str = "secret") -> tuple[int, Any]:
        response = self.open("POST", path, json.dumps(told).encode(), **{"X-Xray-Token": token})
        return response.status, json.loads(response.read())

    def close(self) -> None:
        self.stream.close()
        self.producer.abort_transaction(20)
        self.consumer.close()


@pytest.fixture(scope="module")
def watched() -> Iterator[Watched]:
    with LocalCluster(1, port=0, properties=PROPERTIES) as cluster:
        made = Watched(cluster)
        yield made
        made.close()


def test_every_view_can_be_read(watched: Watched) -> None:
    status, state = watched.get("/xray/state?view=" + ",".join(VIEWS))
    assert status == 200
    assert state["busy"] == []
    assert state["broker"]["mode"] == "step"
    assert {"acceptor", "network", "handler", "controller", "reaper"} <= {each["role"] for each in state["threads"]}
    assert "requestQueue" in {each["name"].removeprefix("data-plane-") for each in state["queues"]}
    assert state["controller"]["active"]
    assert state["controller"]["partitionStates"] == {"OnlinePartition": 5}
    (broker,) = state["controller"]["brokers"]
    assert {each["api"] for each in broker["sent"]} == {"LeaderAndIsr", "UpdateMetadata"}
    assert "__consumer_offsets-0 leader 0 epoch 0 isr 0" in [what for each in broker["sent"] for what in each["what"]]
    assert {each["name"] for each in state["purgatories"]} >= {"Produce", "Fetch", "Heartbeat", "Rebalance"}
    assert state["cluster"]["leaders"] == {"0": 5}
    assert {"brokers", "config", "controller"} <= {each["name"] for each in state["zookeeper"]["tree"]["children"]}


def test_what_clients_did_shows(watched: Watched) -> None:
    state = watched.get("/xray/state")[1]
    (partition,) = [each for each in state["partitions"] if each["topic"] == "t"]
    replica = partition["replicas"][0]
    assert (replica["logEnd"], replica["lastStable"]) == (4, 3)
    assert [(each["base"], each["end"], each["active"]) for each in partition["segments"]] == [(0, 4, True)]
    (group,) = state["groups"]
    assert (group["id"], group["state"], group["members"][0]["client"]) == ("g", "Stable", HOSTILE)
    assert group["members"][0]["partitions"] == ["t-0"]
    assert group["offsets"] == [{"topic": "t", "partition": 0, "offset": 3}]
    (transaction,) = state["transactions"]
    assert (transaction["id"], transaction["state"], transaction["partitions"]) == ("tx", "Ongoing", ["t-0"])


def test_events_of_a_request_and_resuming(watched: Watched) -> None:
    kinds: dict[int, list[str]] = {}
    while not (whole := [found for found in kinds.values() if found[0] == "receive" and "send" in found]):
        line = watched.stream.readline()
        assert line
        for event in json.loads(line[6:]) if line.startswith(b"data: ") else ():
            if event.get("request") is not None:
                kinds.setdefault(event["request"]["id"], []).append(event["kind"])
    assert [kind for kind in whole[0] if kind in ("receive", "handle", "send")] == ["receive", "handle", "send"]
    resumed = watched.open("GET", "/xray/events?after=0", None, **{"Last-Event-ID": "5"})
    first = next(line for line in iter(resumed.readline, b"") if line.startswith(b"data: "))
    assert json.loads(first[6:])[0]["id"] >= 6
    resumed.close()


def test_hold_step_resume(watched: Watched) -> None:
    assert watched.post("/xray/hold", {"rules": [{"api": "Heartbeat"}, {"api": "Fetch"}]})[0] == 200
    for _ in range(5000):  # a Fetch comes twice a second
        held = watched.get("/xray/state?view=broker")[1]["broker"]["held"]
        if held:
            break
    assert held[0]["request"]["api"] in ("Heartbeat", "Fetch")
    assert watched.post("/xray/step", {"thread": held[0]["thread"]})[0] == 200
    assert watched.post("/xray/advance", {"ms": 1})[0] == 200
    assert watched.post("/xray/resume", {})[0] == 200


@pytest.mark.parametrize(
    "headers", [{"Origin": "http://evil.com"}, {"Host": "evil.com"}, {"Sec-Fetch-Site": "cross-site"}]
)
def test_strangers_are_refused(watched: Watched, headers: dict[str, str]) -> None:
    assert watched.get("/xray/state", **headers)[0] == 403


def test_the_buttons_need_the_token(watched: Watched) -> None:
    assert watched.post("/xray/hold", {}, token="guess")[0] == 403


def test_batch_source_trace_and_journal(watched: Watched) -> None:
    batch = watched.get("/xray/batch?topic=t&partition=0&offset=3")[1]
    assert len(batch["hex"]) == 2 * batch["bytes"]
    assert {each["name"]: each["value"] for each in batch["fields"]}["recordsCount"] == 1
    assert watched.get("/xray/batch?topic=t&partition=0&offset=99")[0] == 404
    assert "def run(self)" in watched.get("/xray/source?name=Processor.run")[1]["text"]
    events = watched.get("/xray/trace.json")[1]["traceEvents"]
    assert {"M", "X", "s", "f", "i"} <= {each["ph"] for each in events}
    assert watched.get("/xray/requests?api=Produce")[1]["requests"]


def shape(value: Any) -> Any:
    """The fields of a value, of lists those of their first item; None for an empty list, which may hold anything."""
    if isinstance(value, dict):
        return {name: shape(each) for name, each in value.items()}
    if isinstance(value, list):
        return [shape(value[0])] if value else []
    return None


def examples() -> list[tuple[str, str]]:
    """The addresses in docs/xray.md that have an answer below them, and the answer."""
    text = (HERE.root / "docs" / "xray.md").read_text(encoding="utf-8")
    found: list[tuple[str, str]] = re.findall(r"^`GET (\S+)`\n\n```json\n(.*?)\n```$", text, re.MULTILINE | re.DOTALL)
    return found


def test_the_page_shows_examples() -> None:
    assert len(examples()) >= 10


@pytest.mark.parametrize(("path", "shown"), examples())
def test_answers_have_the_fields_that_the_page_shows(watched: Watched, path: str, shown: str) -> None:
    assert shape(watched.get(path)[1]) == shape(json.loads(shown))
