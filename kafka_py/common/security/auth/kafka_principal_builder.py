"""How a connection gets its principal.

Mirrors: clients/src/main/java/org/apache/kafka/common/security/auth/KafkaPrincipalBuilder.java @ 3.7.1
"""

from __future__ import annotations

import abc
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kafka_py.common.security.auth.authentication_context import AuthenticationContext
    from kafka_py.common.security.auth.kafka_principal import KafkaPrincipal


class KafkaPrincipalBuilder(abc.ABC):
    """Makes a principal of what the listener knows of a client; principal.builder.class names one.

    Mirrors: org.apache.kafka.common.security.auth.KafkaPrincipalBuilder @ 3.7.1
    """

    @abc.abstractmethod
    def build(self, context: AuthenticationContext) -> KafkaPrincipal:
        """The principal of this client."""
