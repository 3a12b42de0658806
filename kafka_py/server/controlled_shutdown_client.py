"""The connection over which a stopping broker asks the controller to take its leaders away.

Mirrors: core/src/main/scala/kafka/server/KafkaServer.scala @ 1.1.1 (the client inside controlledShutdown)
"""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from kafka_py.api.api_version import KAFKA_0_9_0, KAFKA_2_2_IV0, KAFKA_2_4_IV1
from kafka_py.clients.api_versions import ApiVersions
from kafka_py.clients.manual_metadata_updater import ManualMetadataUpdater
from kafka_py.clients.network_client import NetworkClient
from kafka_py.clients.network_client_utils import NetworkClientUtils
from kafka_py.common.network.channel_builders import ChannelBuilders
from kafka_py.common.network.network_receive import NetworkReceive
from kafka_py.common.network.selectable import Selectable
from kafka_py.common.network.selector import Selector
from kafka_py.common.requests.controlled_shutdown_request import ControlledShutdownRequest
from kafka_py.common.requests.controlled_shutdown_response import ControlledShutdownResponse

if TYPE_CHECKING:
    from kafka_py.common.metrics.metrics import Metrics
    from kafka_py.common.node import Node
    from kafka_py.common.utils.time import Time
    from kafka_py.server.kafka_config import KafkaConfig


# from which inter-broker protocol on which version is sent, as in 2.5.1
_VERSIONS = ((KAFKA_2_4_IV1, 3), (KAFKA_2_2_IV0, 2), (KAFKA_0_9_0, 1))


class ControlledShutdownClient:
    """A NetworkClient for one request at a time to one node."""

    def __init__(self, config: KafkaConfig, metrics: Metrics, time: Time, log_ident: str) -> None:
        """Nothing is connected yet."""
        self._config = config
        self._time = time
        self._metadata_updater = ManualMetadataUpdater()
        channel_builder = ChannelBuilders.client_channel_builder(
            config.inter_broker_security_protocol,
            config,
            config.inter_broker_listener_name,
            config.sasl_mechanism_inter_broker_protocol,
            time,
        )
        selector = Selector(
            NetworkReceive.UNLIMITED,
            config.connections_max_idle_ms,
            metrics,
            time,
            "kafka-server-controlled-shutdown",
            {},
            channel_builder,
            metrics_per_connection=False,
        )
        self._network_client = NetworkClient(
            selector,
            self._metadata_updater,
            str(config.broker_id),
            1,
            0,
            0,
            Selectable.USE_DEFAULT_BUFFER_SIZE,
            Selectable.USE_DEFAULT_BUFFER_SIZE,
            config.request_timeout_ms,
            time,
            False,
            ApiVersions(),
            log_ident,
        )

    def set_controller(self, node: Node) -> None:
        """Name the node that requests go to."""
        self._metadata_updater.set_nodes([node])

    def disconnect(self, node: Node) -> None:
        """Give up the connection to a former controller."""
        self._network_client.close(node.id_string())

    def ask(self, node: Node, broker_epoch: int) -> ControlledShutdownResponse:
        """Ask to move the leaders of this life of the broker.

        Raises OSError when no answer comes in time; after initiate_close that, or DisconnectException.
        """
        timeout_ms = self._config.controller_socket_timeout_ms
        if not NetworkClientUtils.await_ready(self._network_client, node, self._time, timeout_ms):
            raise TimeoutError(f"Failed to connect within {timeout_ms} ms")
        protocol = self._config.inter_broker_protocol_version
        version = next((version for since, version in _VERSIONS if protocol >= since), 0)
        asked = ControlledShutdownRequest(broker_id=self._config.broker_id, broker_epoch=broker_epoch)
        builder = ControlledShutdownRequest.Builder(asked, version, version)
        request = self._network_client.new_client_request(node.id_string(), builder, self._time.milliseconds(), True)
        response = NetworkClientUtils.send_and_receive(self._network_client, request, self._time)
        return cast("ControlledShutdownResponse", response.response_body())

    def initiate_close(self) -> None:
        """Have whoever asks stop waiting; any thread."""
        self._network_client.initiate_close()

    def close(self) -> None:
        """Close the connection."""
        self._network_client.close()
