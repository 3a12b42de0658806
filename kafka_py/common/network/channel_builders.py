"""Chooses the channel builder of a security protocol.

Mirrors: clients/src/main/java/org/apache/kafka/common/network/ChannelBuilders.java @ 3.7.1
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from kafka_py.common.errors import ConfigException, InvalidConfigurationException
from kafka_py.common.network.mode import Mode
from kafka_py.common.network.plaintext_channel_builder import PlaintextChannelBuilder
from kafka_py.common.security.auth.kafka_principal_builder import KafkaPrincipalBuilder
from kafka_py.common.security.auth.security_protocol import SecurityProtocol
from kafka_py.common.security.authenticator.default_kafka_principal_builder import DefaultKafkaPrincipalBuilder

if TYPE_CHECKING:
    from kafka_py.common.network.channel_builder import ChannelBuilder
    from kafka_py.common.network.listener_name import ListenerName
    from kafka_py.common.utils.time import Time

PRINCIPAL_BUILDER_CLASS_CONFIG = "principal.builder.class"


class ChannelBuilders:
    """Makes and configures the channel builder of a listener or a client.

    Mirrors: org.apache.kafka.common.network.ChannelBuilders @ 3.7.1
    Differs: SSL, SASL_PLAINTEXT and SASL_SSL are refused with a ConfigException, so that a broker whose listeners
        name them ends at start-up instead of serving them unprotected.
    """

    @staticmethod
    def client_channel_builder(
        security_protocol: SecurityProtocol,
        config: Any = None,
        listener_name: ListenerName | None = None,
        client_sasl_mechanism: str | None = None,
        time: Time | None = None,
    ) -> ChannelBuilder:
        """The builder for connections we open. Raises ConfigException, ValueError."""
        if security_protocol in (SecurityProtocol.SASL_PLAINTEXT, SecurityProtocol.SASL_SSL) and not (
            client_sasl_mechanism
        ):
            raise ValueError(
                "`clientSaslMechanism` must be non-null in client mode if `securityProtocol` is "
                f"`{security_protocol.name}`"
            )
        return ChannelBuilders._create(security_protocol, Mode.CLIENT, config, listener_name, time)

    @staticmethod
    def server_channel_builder(
        listener_name: ListenerName,
        is_inter_broker_listener: bool,
        security_protocol: SecurityProtocol,
        config: Any,
        credential_cache: Any = None,
        token_cache: Any = None,
        time: Time | None = None,
        log_ident: str = "",
        api_version_supplier: Callable[[], Any] | None = None,
    ) -> ChannelBuilder:
        """The builder for connections we accept; what only SASL and SSL use is taken and not looked at yet.

        Raises ConfigException.
        """
        return ChannelBuilders._create(security_protocol, Mode.SERVER, config, listener_name, time)

    @staticmethod
    def _create(
        security_protocol: SecurityProtocol,
        mode: Mode,
        config: Any,
        listener_name: ListenerName | None,
        time: Time | None,
    ) -> ChannelBuilder:
        if security_protocol is not SecurityProtocol.PLAINTEXT:
            where = f"listener {listener_name.value()}" if listener_name is not None else "a client"
            raise ConfigException(
                f"Security protocol {security_protocol.name} of {where} is not supported yet in {mode.value} mode: "
                "only PLAINTEXT is"
            )
        # the connecting end must not ask for a principal, so it does not know its listener
        builder = PlaintextChannelBuilder(listener_name if mode is Mode.SERVER else None)
        builder.configure(ChannelBuilders.channel_builder_configs(config, listener_name))
        return builder

    @staticmethod
    def channel_builder_configs(config: Any, listener_name: ListenerName | None) -> dict[str, Any]:
        """Parsed values, those with the listener's prefix first, and the unparsed ones that nothing else covers."""
        if config is None:
            return {}
        if listener_name is None:
            parsed = dict(config.values())
            prefix = None
        else:
            prefix = listener_name.config_prefix()
            parsed = dict(config.values_with_prefix_override(prefix))
        for name, value in config.originals().items():
            if name in parsed:
                continue
            if prefix is not None:
                if name.startswith(prefix) and name[len(prefix) :] in parsed:
                    continue
                if name[name.find(".") + 1 :] in parsed:  # {mechanism}.some.prop, when some.prop was parsed
                    continue
            parsed[name] = value
        return parsed

    @staticmethod
    def create_principal_builder(configs: Mapping[str, Any]) -> KafkaPrincipalBuilder:
        """An instance of principal.builder.class, or the default one. Raises InvalidConfigurationException."""
        cls = configs.get(PRINCIPAL_BUILDER_CLASS_CONFIG)
        if cls is None or cls is DefaultKafkaPrincipalBuilder:
            return _DEFAULT_BUILDER
        if not (isinstance(cls, type) and issubclass(cls, KafkaPrincipalBuilder)):
            raise InvalidConfigurationException(f"Type {cls} is not an instance of {KafkaPrincipalBuilder.__name__}")
        builder = cls()
        configure = getattr(builder, "configure", None)
        if configure is not None:
            configure(configs)
        return builder


# it keeps nothing of a connection, so one serves all: an object less for each of many idle connections
_DEFAULT_BUILDER = DefaultKafkaPrincipalBuilder()
