"""Channels without encryption or authentication.

Mirrors: clients/src/main/java/org/apache/kafka/common/network/PlaintextChannelBuilder.java @ 3.7.1
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from kafka_py.common.errors import IllegalStateException, KafkaException
from kafka_py.common.memory.memory_pool import MemoryPool
from kafka_py.common.network.addresses import peer_address
from kafka_py.common.network.authenticator import Authenticator
from kafka_py.common.network.channel_builder import ChannelBuilder
from kafka_py.common.network.channel_metadata_registry import ChannelMetadataRegistry
from kafka_py.common.network.kafka_channel import KafkaChannel
from kafka_py.common.network.plaintext_transport_layer import PlaintextTransportLayer
from kafka_py.common.network.transport_layer import TransportLayer
from kafka_py.common.security.auth.kafka_principal_builder import KafkaPrincipalBuilder
from kafka_py.common.security.auth.kafka_principal_serde import KafkaPrincipalSerde
from kafka_py.common.security.auth.plaintext_authentication_context import PlaintextAuthenticationContext

if TYPE_CHECKING:
    from kafka_py.common.network.listener_name import ListenerName
    from kafka_py.common.network.nio_selector import SelectionKey
    from kafka_py.common.security.auth.kafka_principal import KafkaPrincipal


class PlaintextAuthenticator(Authenticator):
    """Lets everybody in and asks the principal builder for the name.

    Mirrors: org.apache.kafka.common.network.PlaintextChannelBuilder.PlaintextAuthenticator @ 3.7.1
    """

    def __init__(
        self,
        principal_builder: KafkaPrincipalBuilder,
        transport_layer: TransportLayer,
        listener_name: ListenerName | None,
    ) -> None:
        self._principal_builder = principal_builder
        self._transport_layer = transport_layer
        self._listener_name = listener_name

    def authenticate(self) -> None:
        """Nothing is asked of the other end."""
        return

    def principal(self) -> KafkaPrincipal:
        """What the builder says; ANONYMOUS by default. Raises IllegalStateException at the connecting end."""
        if self._listener_name is None:
            raise IllegalStateException("Unexpected call to principal() when listenerName is null")
        address = peer_address(self._transport_layer.socket_channel())
        return self._principal_builder.build(PlaintextAuthenticationContext(address, self._listener_name.value()))

    def principal_serde(self) -> KafkaPrincipalSerde | None:
        """The builder, if it is a serde too."""
        return self._principal_builder if isinstance(self._principal_builder, KafkaPrincipalSerde) else None

    def complete(self) -> bool:
        """From the start."""
        return True

    def close(self) -> None:
        """Close a builder that can be closed."""
        closer = getattr(self._principal_builder, "close", None)
        if closer is not None:
            closer()


class PlaintextChannelBuilder(ChannelBuilder):
    """Builds channels over bare sockets.

    Mirrors: org.apache.kafka.common.network.PlaintextChannelBuilder @ 3.7.1
    """

    def __init__(self, listener_name: ListenerName | None) -> None:
        """``listener_name`` is None at the connecting end."""
        self._listener_name = listener_name
        self._configs: Mapping[str, Any] = {}  # volatile: configure

    def configure(self, configs: Mapping[str, Any]) -> None:
        """Take the configs of the listener."""
        self._configs = configs

    def build_channel(
        self,
        id: str,
        key: SelectionKey,
        max_receive_size: int,
        memory_pool: MemoryPool | None,
        metadata_registry: ChannelMetadataRegistry,
    ) -> KafkaChannel:
        """A channel over the socket of ``key``. Raises KafkaException."""
        try:
            transport_layer = self.build_transport_layer(key)
            return KafkaChannel(
                id,
                transport_layer,
                self.authenticator_creator(transport_layer),
                max_receive_size,
                memory_pool or MemoryPool.NONE,
                metadata_registry,
            )
        except Exception as e:
            raise KafkaException(str(e)) from e

    def authenticator_creator(self, transport_layer: TransportLayer) -> Callable[[], Authenticator]:
        """What makes the authenticator of one channel."""
        from kafka_py.common.network.channel_builders import ChannelBuilders  # the two need each other, as in Java

        return lambda: PlaintextAuthenticator(
            ChannelBuilders.create_principal_builder(self._configs), transport_layer, self._listener_name
        )

    def build_transport_layer(self, key: SelectionKey) -> PlaintextTransportLayer:
        """The transport over the socket of ``key``."""
        return PlaintextTransportLayer(key)

    def close(self) -> None:
        """Nothing is held."""
        return
