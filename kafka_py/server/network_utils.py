"""Clients that a broker makes for threads of its own which talk to other brokers.

Mirrors: core/src/main/java/kafka/server/NetworkUtils.java @ 3.7.1
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafka_py.clients.api_versions import ApiVersions
from kafka_py.clients.manual_metadata_updater import ManualMetadataUpdater
from kafka_py.clients.network_client import NetworkClient
from kafka_py.common.network.channel_builders import ChannelBuilders
from kafka_py.common.network.network_receive import NetworkReceive
from kafka_py.common.network.selectable import Selectable
from kafka_py.common.network.selector import Selector

if TYPE_CHECKING:
    from kafka_py.common.metrics.metrics import Metrics
    from kafka_py.common.utils.time import Time
    from kafka_py.server.kafka_config import KafkaConfig


def build_network_client(
    prefix: str, config: KafkaConfig, metrics: Metrics, time: Time, log_context: str, client_id: str | None = None
) -> NetworkClient:
    """A client for the inter-broker listener, with one request in flight for each broker, that asks for no versions.

    Its metrics' group is ``<prefix>-channel``; without a client id it calls itself ``<prefix>-client-<broker id>``.
    """
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
        f"{prefix}-channel",
        {},
        channel_builder,
        metrics_per_connection=False,
        log_ident=log_context,
    )
    return NetworkClient(
        selector,
        ManualMetadataUpdater(),
        client_id or f"{prefix}-client-{config.broker_id}",
        max_in_flight_requests_per_connection=1,
        reconnect_backoff_ms=50,
        reconnect_backoff_max=50,
        socket_send_buffer=Selectable.USE_DEFAULT_BUFFER_SIZE,
        socket_receive_buffer=config.socket_receive_buffer_bytes,
        request_timeout_ms=config.request_timeout_ms,
        time=time,
        discover_broker_versions=False,
        api_versions=ApiVersions(),
        log_context=log_context,
    )
