"""One request at a time to one broker.

Mirrors: core/src/main/scala/kafka/server/ReplicaFetcherBlockingSend.scala @ 1.1.1
Read next: clients/network_client.py
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING

from kafka_py.clients.api_versions import ApiVersions
from kafka_py.clients.manual_metadata_updater import ManualMetadataUpdater
from kafka_py.clients.network_client import NetworkClient
from kafka_py.clients.network_client_utils import NetworkClientUtils
from kafka_py.common.network.channel_builders import ChannelBuilders
from kafka_py.common.network.network_receive import NetworkReceive
from kafka_py.common.network.selectable import Selectable
from kafka_py.common.network.selector import Selector
from kafka_py.common.node import Node

if TYPE_CHECKING:
    from kafka_py.clients.client_response import ClientResponse
    from kafka_py.cluster.broker_end_point import BrokerEndPoint
    from kafka_py.common.metrics.metrics import Metrics
    from kafka_py.common.requests.abstract_request import AbstractRequest
    from kafka_py.common.utils.time import Time
    from kafka_py.server.kafka_config import KafkaConfig


class BlockingSend(ABC):
    """Sends a request and waits for the answer.

    Mirrors: kafka.server.BlockingSend
    """

    @abstractmethod
    def send_request(self, request_builder: AbstractRequest.Builder) -> ClientResponse:
        """The answer. Raises OSError when the connection fails."""

    @abstractmethod
    def initiate_close(self) -> None:
        """Have the request under way, and every later one, end with an error. Any thread may ask for it."""

    @abstractmethod
    def close(self) -> None:
        """Give the connection up."""


class ReplicaFetcherBlockingSend(BlockingSend):
    """A follower's connection to its leader.

    Mirrors: kafka.server.ReplicaFetcherBlockingSend
    Thread: its fetcher, all but initiate_close
    Differs: closed by the thread that uses it, as from 2.1 on. In 1.1.1 the thread that stops the fetcher closes it
        under the fetcher's hands.
    """

    def __init__(
        self,
        source_broker: BrokerEndPoint,
        broker_config: KafkaConfig,
        metrics: Metrics,
        time: Time,
        fetcher_id: int,
        client_id: str,
        log_context: str,
    ) -> None:
        self._source_node = Node(source_broker.id, source_broker.host, source_broker.port)
        self._time = time
        self._socket_timeout = broker_config.replica_socket_timeout_ms
        channel_builder = ChannelBuilders.client_channel_builder(
            broker_config.inter_broker_security_protocol,
            broker_config,
            broker_config.inter_broker_listener_name,
            broker_config.sasl_mechanism_inter_broker_protocol,
            time,
        )
        selector = Selector(
            NetworkReceive.UNLIMITED,
            broker_config.connections_max_idle_ms,
            metrics,
            time,
            "replica-fetcher",
            {"broker-id": str(source_broker.id), "fetcher-id": str(fetcher_id)},
            channel_builder,
            metrics_per_connection=False,
            log_ident=log_context,
        )
        self._network_client = NetworkClient(
            selector,
            ManualMetadataUpdater(),
            client_id,
            1,
            0,
            0,
            Selectable.USE_DEFAULT_BUFFER_SIZE,
            broker_config.replica_socket_receive_buffer_bytes,
            broker_config.request_timeout_ms,
            time,
            False,
            ApiVersions(),
            log_context,
        )  # thread: fetcher

    def send_request(self, request_builder: AbstractRequest.Builder) -> ClientResponse:
        """The answer; TimeoutError when no connection comes about in replica.socket.timeout.ms, OSError if it breaks.

        After initiate_close one of these, too, or DisconnectException.
        After an error the next request gets a new connection: what arrives on the old one belongs to nobody.
        """
        client, node = self._network_client, self._source_node
        try:
            if not NetworkClientUtils.await_ready(client, node, self._time, self._socket_timeout):
                raise TimeoutError(f"Failed to connect within {self._socket_timeout} ms")
            client_request = client.new_client_request(
                node.id_string(), request_builder, self._time.milliseconds(), True
            )
            return NetworkClientUtils.send_and_receive(client, client_request, self._time)
        except Exception:
            client.close(node.id_string())
            raise

    def initiate_close(self) -> None:
        """Have the request under way, and every later one, end with an error."""
        self._network_client.initiate_close()

    def close(self) -> None:
        """Close selector and connection."""
        self._network_client.close()
