"""Names and defaults of the security options only a broker has.

Mirrors: clients/src/main/java/org/apache/kafka/common/config/internals/BrokerSecurityConfigs.java @ 1.1.1
"""

from __future__ import annotations


class BrokerSecurityConfigs:
    """The keys of the broker's own security configuration.

    Mirrors: org.apache.kafka.common.config.internals.BrokerSecurityConfigs
    """

    PRINCIPAL_BUILDER_CLASS_CONFIG = "principal.builder.class"
    SASL_KERBEROS_PRINCIPAL_TO_LOCAL_RULES_CONFIG = "sasl.kerberos.principal.to.local.rules"
    SSL_CLIENT_AUTH_CONFIG = "ssl.client.auth"
    SASL_ENABLED_MECHANISMS_CONFIG = "sasl.enabled.mechanisms"
    DEFAULT_SASL_KERBEROS_PRINCIPAL_TO_LOCAL_RULES = ("DEFAULT",)
    DEFAULT_SASL_ENABLED_MECHANISMS = ("GSSAPI",)
