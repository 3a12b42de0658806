"""A follower's connection to its leader, over a real socket."""

from __future__ import annotations

import pathlib
import socket
import threading
from collections.abc import Iterator
from typing import Any, cast

import pytest

from kafka_py.cluster.broker_end_point import BrokerEndPoint
from kafka_py.common.errors import DisconnectException
from kafka_py.common.metrics.metrics import Metrics
from kafka_py.common.requests.offsets_for_leader_epoch_request import OffsetsForLeaderEpochRequest
from kafka_py.common.topic_partition import TopicPartition
from kafka_py.common.utils.time import Time
from kafka_py.server.abstract_fetcher_manager import FailedPartitions
from kafka_py.server.quota_factory import QuotaFactory
from kafka_py.server.replica_fetcher_blocking_send import ReplicaFetcherBlockingSend
from kafka_py.server.replica_fetcher_thread import ReplicaFetcherThread
from tests.server.kafka_apis_support import kafka_config
from tests.server.replica_support import Env, partition_state

TP = TopicPartition("topic", 0)


@pytest.fixture
def silent_leader() -> Iterator[socket.socket]:
    """Takes connections and never answers."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(10)
        yield server


def end_point(server: socket.socket) -> BrokerEndPoint:
    return BrokerEndPoint(2, *server.getsockname())


def test_a_fetcher_that_waits_for_a_silent_leader_stops_at_once(
    tmp_path: pathlib.Path, silent_leader: socket.socket
) -> None:
    env, metrics = Env(tmp_path), Metrics()
    env.replica_manager.get_or_create_partition(TP).make_follower(0, partition_state(2, 1, [1, 2], [1, 2]), 0)
    thread = ReplicaFetcherThread(
        "ReplicaFetcherThread-0-2", 0, end_point(silent_leader), kafka_config(replica__fetch__backoff__ms=1),
        FailedPartitions(), env.replica_manager, metrics, Time.SYSTEM, cast("Any", QuotaFactory.UnboundedQuota),
    )  # fmt: skip
    stopper = threading.Thread(target=thread.shutdown)
    try:
        thread.add_partitions({TP: 0})
        thread.start()
        connection, _ = silent_leader.accept()
        with connection:
            connection.settimeout(10)
            assert connection.recv(4), "the request is there, and the fetcher waits for the answer"
            stopper.start()
            stopper.join(10)
            assert not stopper.is_alive(), "who stops a fetcher may hold the replica state change lock"
    finally:
        stopper.join(60)
        thread.join(60)
        metrics.close()
        env.close()


def test_nothing_is_sent_any_more(silent_leader: socket.socket) -> None:
    metrics = Metrics()
    sender = ReplicaFetcherBlockingSend(
        end_point(silent_leader), kafka_config(), metrics, Time.SYSTEM, 0, "broker-1-fetcher-0", ""
    )
    sender.initiate_close()
    with pytest.raises(DisconnectException, match="no longer active"):
        sender.send_request(OffsetsForLeaderEpochRequest.Builder({TP: 1}))
    sender.close()
    metrics.close()
