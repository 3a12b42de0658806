"""The principal builder of a broker that configures none.

Mirrors: clients/src/main/java/org/apache/kafka/common/security/authenticator/DefaultKafkaPrincipalBuilder.java @ 3.7.1
"""

from __future__ import annotations

from kafka_py.common.security.auth.authentication_context import AuthenticationContext
from kafka_py.common.security.auth.kafka_principal import KafkaPrincipal
from kafka_py.common.security.auth.kafka_principal_builder import KafkaPrincipalBuilder
from kafka_py.common.security.auth.plaintext_authentication_context import PlaintextAuthenticationContext


class DefaultKafkaPrincipalBuilder(KafkaPrincipalBuilder):
    """Everybody on a plain listener is User:ANONYMOUS.

    Mirrors: org.apache.kafka.common.security.authenticator.DefaultKafkaPrincipalBuilder @ 3.7.1
    """

    def build(self, context: AuthenticationContext) -> KafkaPrincipal:
        """The principal. Raises ValueError for a context of a protocol that is not served."""
        if isinstance(context, PlaintextAuthenticationContext):
            return KafkaPrincipal.ANONYMOUS
        raise ValueError(f"Unhandled authentication context type: {type(context).__name__}")
