"""Lab 2: the right way through it passes, and each omission is told."""

from __future__ import annotations

import pytest

from kafka_py.admin import config_command
from kafka_py.labs.clients import wait_for
from tests.labs.conftest import Room, Start

pytestmark = pytest.mark.slow

RIGHT = {"method": "Partition.append_records_to_leader", "left": "1", "capacity": "10", "blocked": "send_request"}


def more_handlers(room: Room, count: int) -> None:
    entity = ["--alter", "--entity-type", "brokers", "--entity-name", "0"]
    servers = ["--bootstrap-server", room.bench.servers]
    assert config_command.main([*servers, *entity, "--add-config", f"num.io.threads={count}"]) == 0


def network_thread(room: Room) -> str:
    threads = room.bench.xray().state("threads")
    return str(next(one["method"] for one in threads if one["name"].startswith("data-plane-kafka-network-thread-")))


def test_the_right_way(start: Start) -> None:
    room = start(2)
    cluster, xray = room.bench.cluster, room.bench.xray()
    (held,) = xray.state("broker")["held"]
    assert room.missing().keys() >= {"4 handlers", "the request queue was full", "nobody is held", "held", "method"}

    more_handlers(room, 4)
    cluster.fill_request_queue(0)
    wait_for(lambda: network_thread(room).startswith("RequestChannel.send_request"), "a network thread that waits")
    assert "and is empty again" in room.missing()
    cluster.drain_request_queue(0)
    assert "nobody is held" in room.missing()
    xray.post("resume")

    room.answer(held=held["thread"], **RIGHT)
    wait_for(lambda: not room.missing(), "the exercise being done")
    room.answer(held="data-plane-kafka-request-handler-7", **{**RIGHT, "left": "2"})
    assert set(room.missing()) == {"held", "left"}


def test_a_restart_is_not_the_way(start: Start) -> None:
    room = start(2)
    broker = room.bench.cluster.broker(0)
    broker.properties["num.io.threads"] = "4"
    room.bench.cluster.restart(0, "kill")
    assert "in the same process" in room.missing()
    assert "4 handlers" not in room.missing()
