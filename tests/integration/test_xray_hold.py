"""A broker whose threads are held: stepped gate by gate, left standing longer than every timeout, and let go."""

from __future__ import annotations

import pathlib
import time
from collections.abc import Iterator
from typing import Any

import pytest

from kafka_py.common.network.listener_name import ListenerName
from kafka_py.common.topic_partition import TopicPartition
from kafka_py.server.kafka_config import KafkaConfig
from kafka_py.server.kafka_server import KafkaServer
from kafka_py.testing.local_cluster import LocalCluster
from kafka_py.xray import taps
from kafka_py.xray.schedule import Replay, Schedule
from tests.integration.conftest import SMALL
from tests.integration.support import wait_until
from tests.integration.wire import (
    CREATE_TOPICS,
    FIND_COORDINATOR,
    PRODUCE,
    Connection,
    array,
    batch,
    blob,
    codes,
    create_topic,
    create_topics,
    i16,
    i32,
    produce,
    request,
    string,
    values_of,
)

pytestmark = pytest.mark.slow

JOIN_GROUP, SYNC_GROUP, HEARTBEAT = 11, 14, 12
NETWORK, HANDLER = "data-plane-kafka-network-thread-*", "data-plane-kafka-request-handler-*"
LONGER_THAN_ALL_S = 3.2
PRODUCE_GATES = [
    (NETWORK, "receive"),
    (NETWORK, "request-queue"),
    (HANDLER, "handle"),
    (HANDLER, "append"),
    (HANDLER, "high-watermark"),
    (HANDLER, "response-queue"),
    (NETWORK, "respond"),
    (NETWORK, "send"),
]


@pytest.fixture
def server(tmp_path: pathlib.Path) -> Iterator[KafkaServer]:
    """A broker in this process, whose timeouts are all shorter than the hold."""
    home = tmp_path
    cluster = LocalCluster(0, home=home)
    cluster.start_zookeeper()
    try:
        properties = {
            **SMALL,
            "broker.id": "0",
            "listeners": "PLAINTEXT://127.0.0.1:0",
            "log.dirs": str(home / "data"),
            "zookeeper.connect": cluster.zookeeper_connect,
            "zookeeper.session.timeout.ms": "1500",
            "request.timeout.ms": "1000",
            "controller.socket.timeout.ms": "1000",
            "connections.max.idle.ms": "2000",
            "offsets.topic.replication.factor": "1",
            "num.io.threads": "1",
            "num.network.threads": "1",
            "kafka.py.http.listener": "none",
            "kafka.py.xray": "step",
        }
        broker = KafkaServer(KafkaConfig.from_props(properties))
        broker.startup()
        try:
            yield broker
        finally:
            broker.shutdown()
    finally:
        cluster.close()


def port_of(server: KafkaServer) -> int:
    return server.bound_port(ListenerName("PLAINTEXT"))


def topic(client: Connection, name: bytes) -> bytes:
    def is_led() -> bool:
        return codes(client.call(PRODUCE, 5, produce(name, batch()))) == [0]

    def is_created() -> bool:
        return set(codes(client.call(CREATE_TOPICS, 2, create_topics(create_topic(name))))) == {0}

    wait_until(is_created, what="a broker that the controller knows")
    wait_until(is_led, what="a leader")
    return name


def join(client: Connection, group: bytes) -> tuple[str, int]:
    """Member id and generation of the only member of a group, whose session lasts a second."""
    wait_until(lambda: codes(client.call(FIND_COORDINATOR, 0, string(group))) == [0] or None, what="a coordinator")
    protocols = array(string(b"range") + blob(i16(0) + array() + i32(-1)))

    def joined() -> Any:
        answer = client.call(JOIN_GROUP, 0, string(group) + i32(1000) + string(b"") + string(b"consumer") + protocols)
        return answer if codes(answer) == [0] else None

    answer = wait_until(joined, what="a member")
    member, generation = next(values_of(answer, "member_id")), next(values_of(answer, "generation_id"))
    body = string(group) + i32(generation) + string(member.encode()) + array(string(member.encode()) + blob(b"y"))
    assert codes(client.call(SYNC_GROUP, 0, body)) == [0]
    return member, generation


def holder(server: KafkaServer) -> Any:
    assert server.xray is not None
    assert server.xray.holder is not None
    return server.xray.holder


def test_a_produce_goes_gate_by_gate_and_nothing_expires_meanwhile(server: KafkaServer) -> None:
    with Connection(port_of(server)) as member, Connection(port_of(server)) as producer:
        name = topic(producer, b"stepped")
        id, generation = join(member, b"watchers")
        log = server.replica_manager.get_log(TopicPartition("stepped", 0))  # type: ignore[union-attr]
        assert log is not None
        end = log.log_end_offset
        held = holder(server)
        held.hold([{"api": "Produce"}, {"points": ["append", "high-watermark"], "topic": "stepped"}, {}])
        try:
            producer.send(request(PRODUCE, 5, produce(name, batch()), 77))
            for number, (thread, point) in enumerate(PRODUCE_GATES):
                found = _next(held, thread, point)
                assert found["request"]["api"] == "Produce"
                if number == 3:
                    time.sleep(LONGER_THAN_ALL_S)
                held.step(found["thread"])
            assert log.log_end_offset == end + 1
            assert codes(producer.answer(PRODUCE, 5, 77)) == [0]
        finally:
            held.resume()
        beat = string(b"watchers") + i32(generation) + string(id.encode())
        assert codes(member.call(HEARTBEAT, 0, beat)) == [0]
        assert server.zk_client.is_connected
        assert codes(producer.call(PRODUCE, 5, produce(name, batch()))) == [0]
    assert server.zk_client.get_cluster_id() == server.cluster_id


def _next(held: Any, thread: str, point: str) -> dict[str, Any]:
    """Wait for that thread at that point; whoever is held for anything else than a Produce may go on."""
    deadline = time.monotonic() + 10
    while time.monotonic() < deadline:
        found: dict[str, Any] | None = held.await_held(thread, point, 200)
        if found is not None and found["request"] is not None:
            return found
        for other in held.held():
            if other["request"] is None:
                held.step(other["thread"])
    raise AssertionError(f"nobody came to {point}; held: {held.held()}")


def test_what_was_recorded_is_played_again_and_a_held_broker_stops(server: KafkaServer) -> None:
    assert server.xray is not None
    recorder = server.xray.schedule
    with Connection(port_of(server)) as client:
        name = topic(client, b"recorded")
        _watchers_see_a_request_from_its_arrival_to_its_end(server, client, name)
        recorder.record()
        assert codes(client.call(PRODUCE, 5, produce(name, batch()))) == [0]
        recorded = recorder.stop()
        mine = Schedule(tuple(step for step in recorded.steps if step.label in ("Produce", "recorded-0")))
        assert [step.point for step in mine.steps] == [point for _, point in PRODUCE_GATES]
        again = Schedule.from_json(mine.to_json())
        assert again == mine
        with Replay(again, wait_ms=5000) as replay:
            assert codes(client.call(PRODUCE, 5, produce(name, batch()))) == [0]
            assert replay.is_done
        held = holder(server)
        held.hold()
        client.send(request(PRODUCE, 5, produce(name, batch()), 5))
        assert held.await_held(NETWORK, "receive") is not None
        server.shutdown()
        assert held.held() == []
        assert taps._listeners == ()


def _watchers_see_a_request_from_its_arrival_to_its_end(server: KafkaServer, client: Connection, name: bytes) -> None:
    assert server.xray is not None
    with server.xray.watching() as events:
        since = events.last_id
        assert codes(client.call(PRODUCE, 5, produce(name, batch()), client=b"me")) == [0]
        wait_until(lambda: any(e["kind"] == "end" for e in events.after(since)) or None, what="the end")
        seen = [event for event in events.after(since) if event["kind"] != "thread"]
        received = next(event for event in seen if event["kind"] == "receive" and event["request"]["api"] == "Produce")
        assert received["request"]["clientId"] == "me"
        assert received["request"]["topics"] == ["recorded"]
        kinds = [e["kind"] for e in seen if e.get("request", {}).get("id") == received["request"]["id"]]
        assert kinds == [
            "receive", "request-queue", "handle", "high-watermark", "append", "response-queue", "respond", "send", "end"
        ]  # fmt: skip
        moved = next(event for event in seen if event["kind"] == "high-watermark")
        assert (moved["partition"], moved["to"] - moved["from"]) == ("recorded-0", 1)
        assert any(e["kind"] == "thread" for e in events.after(0))
    assert server.xray.watchers == 0
