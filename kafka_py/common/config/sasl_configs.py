"""Names and defaults of the SASL options.

Mirrors: clients/src/main/java/org/apache/kafka/common/config/SaslConfigs.java @ 1.1.1
"""

from __future__ import annotations


class SaslConfigs:
    """The keys of SASL configuration; their documentation stands in the broker's option table.

    Mirrors: org.apache.kafka.common.config.SaslConfigs
    """

    SASL_MECHANISM = "sasl.mechanism"
    GSSAPI_MECHANISM = "GSSAPI"
    DEFAULT_SASL_MECHANISM = GSSAPI_MECHANISM
    SASL_JAAS_CONFIG = "sasl.jaas.config"
    SASL_KERBEROS_SERVICE_NAME = "sasl.kerberos.service.name"
    SASL_KERBEROS_KINIT_CMD = "sasl.kerberos.kinit.cmd"
    DEFAULT_KERBEROS_KINIT_CMD = "/usr/bin/kinit"
    SASL_KERBEROS_TICKET_RENEW_WINDOW_FACTOR = "sasl.kerberos.ticket.renew.window.factor"
    DEFAULT_KERBEROS_TICKET_RENEW_WINDOW_FACTOR = 0.80
    SASL_KERBEROS_TICKET_RENEW_JITTER = "sasl.kerberos.ticket.renew.jitter"
    DEFAULT_KERBEROS_TICKET_RENEW_JITTER = 0.05
    SASL_KERBEROS_MIN_TIME_BEFORE_RELOGIN = "sasl.kerberos.min.time.before.relogin"
    DEFAULT_KERBEROS_MIN_TIME_BEFORE_RELOGIN = 60 * 1000
