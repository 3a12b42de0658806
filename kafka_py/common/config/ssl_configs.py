"""Names and defaults of the TLS options.

Mirrors: clients/src/main/java/org/apache/kafka/common/config/SslConfigs.java @ 1.1.1
"""

from __future__ import annotations


class SslConfigs:
    """The keys of TLS configuration; their documentation stands in the broker's option table.

    Mirrors: org.apache.kafka.common.config.SslConfigs
    Differs: the manager algorithms default to what OpenJDK answers, for nothing here is a JVM.
    """

    SSL_PROTOCOL_CONFIG = "ssl.protocol"
    DEFAULT_SSL_PROTOCOL = "TLS"
    SSL_PROVIDER_CONFIG = "ssl.provider"
    SSL_CIPHER_SUITES_CONFIG = "ssl.cipher.suites"
    SSL_ENABLED_PROTOCOLS_CONFIG = "ssl.enabled.protocols"
    DEFAULT_SSL_ENABLED_PROTOCOLS = "TLSv1.2,TLSv1.1,TLSv1"
    SSL_KEYSTORE_TYPE_CONFIG = "ssl.keystore.type"
    DEFAULT_SSL_KEYSTORE_TYPE = "JKS"
    SSL_KEYSTORE_LOCATION_CONFIG = "ssl.keystore.location"
    SSL_KEYSTORE_PASSWORD_CONFIG = "ssl.keystore.password"
    SSL_KEY_PASSWORD_CONFIG = "ssl.key.password"
    SSL_TRUSTSTORE_TYPE_CONFIG = "ssl.truststore.type"
    DEFAULT_SSL_TRUSTSTORE_TYPE = "JKS"
    SSL_TRUSTSTORE_LOCATION_CONFIG = "ssl.truststore.location"
    SSL_TRUSTSTORE_PASSWORD_CONFIG = "ssl.truststore.password"
    SSL_KEYMANAGER_ALGORITHM_CONFIG = "ssl.keymanager.algorithm"
    DEFAULT_SSL_KEYMANGER_ALGORITHM = "SunX509"
    SSL_TRUSTMANAGER_ALGORITHM_CONFIG = "ssl.trustmanager.algorithm"
    DEFAULT_SSL_TRUSTMANAGER_ALGORITHM = "PKIX"
    SSL_ENDPOINT_IDENTIFICATION_ALGORITHM_CONFIG = "ssl.endpoint.identification.algorithm"
    SSL_SECURE_RANDOM_IMPLEMENTATION_CONFIG = "ssl.secure.random.implementation"

    RECONFIGURABLE_CONFIGS = frozenset(
        {
            SSL_KEYSTORE_TYPE_CONFIG,
            SSL_KEYSTORE_LOCATION_CONFIG,
            SSL_KEYSTORE_PASSWORD_CONFIG,
            SSL_KEY_PASSWORD_CONFIG,
        }
    )
