"""The controller's connections to brokers, over real sockets to brokers that are not there."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from kafka_py.cluster.broker import Broker
from kafka_py.cluster.end_point import EndPoint
from kafka_py.common.metrics.metrics import Metrics
from kafka_py.common.network.listener_name import ListenerName
from kafka_py.common.protocol.api_keys import ApiKeys
from kafka_py.common.requests.stop_replica_request import StopReplicaRequest
from kafka_py.common.security.auth.security_protocol import SecurityProtocol
from kafka_py.common.utils.time import Time
from kafka_py.controller.controller_channel_manager import ControllerChannelManager
from kafka_py.controller.controller_context import ControllerContext
from kafka_py.controller.state_change_logger import StateChangeLogger
from kafka_py.server.kafka_config import KafkaConfig

TARGET = 1
PATIENT = {"zookeeper.connect": "z", "broker.id": "0", "request.timeout.ms": "3600000"}


@pytest.fixture
def silent_broker() -> Iterator[socket.socket]:
    """Takes connections and never answers, as a process that is stopped."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(30)
        yield server


def end_point(server: socket.socket, listener: str = "PLAINTEXT") -> EndPoint:
    host, port = server.getsockname()
    return EndPoint(host, port, ListenerName(listener), SecurityProtocol.PLAINTEXT)


@pytest.fixture
def managers() -> Iterator[Callable[..., ControllerChannelManager]]:
    """Makes managers that know of one broker and have begun to tell it something."""
    metrics, made = Metrics(), []

    def manager(*end_points: EndPoint, **props: str) -> ControllerChannelManager:
        context = ControllerContext()
        context.set_live_broker_and_epochs({Broker(TARGET, end_points, None): 0})
        config = KafkaConfig.from_props({**PATIENT, **props}, do_log=False)
        logger = StateChangeLogger(0, in_controller_context=True)
        found = ControllerChannelManager(context, config, Time.SYSTEM, metrics, logger)
        made.append(found)
        found.startup()
        found.send_request(TARGET, ApiKeys.STOP_REPLICA, StopReplicaRequest.Builder(0, 1, False, set()))
        return found

    yield manager
    for one in made:
        one.shutdown()
    metrics.close()


@pytest.mark.parametrize("how", ["the broker is removed", "the controller resigns"])
def test_nobody_waits_for_a_broker_that_hangs(silent_broker: socket.socket, managers: Any, how: str) -> None:
    manager = managers(end_point(silent_broker))
    connection, _ = silent_broker.accept()
    with connection:
        connection.settimeout(30)
        assert connection.recv(4), "the request is there, and its thread waits for the answer"
        work = (lambda: manager.remove_broker(TARGET)) if how == "the broker is removed" else manager.shutdown
        event_thread = threading.Thread(target=work)
        event_thread.start()
        event_thread.join(10)  # request.timeout.ms is an hour
        stands_still = event_thread.is_alive()
    event_thread.join()  # the connection is closed now, which ends any wait
    assert not stands_still
    assert manager._broker_state_info == {}


@pytest.mark.parametrize("control_plane", [True, False])
def test_brokers_are_told_over_their_control_plane(
    silent_broker: socket.socket, managers: Any, control_plane: bool
) -> None:
    props = {
        "listeners": "PLAINTEXT://127.0.0.1:0,CONTROLLER://127.0.0.1:0",
        "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT",
    }
    if control_plane:
        props["control.plane.listener.name"] = "CONTROLLER"
    with socket.create_server(("127.0.0.1", 0)) as other:
        clients, controllers = (other, silent_broker) if control_plane else (silent_broker, other)
        managers(end_point(clients), end_point(controllers, "CONTROLLER"), **props)
        connection, _ = silent_broker.accept()
        with connection:
            connection.settimeout(30)
            assert connection.recv(4)
            other.settimeout(0)
            with pytest.raises(BlockingIOError):
                other.accept()
