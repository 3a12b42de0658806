"""How a principal travels inside a forwarded request.

Mirrors: clients/src/main/java/org/apache/kafka/common/security/auth/KafkaPrincipalSerde.java @ 3.7.1
"""

from __future__ import annotations

import abc
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kafka_py.common.security.auth.kafka_principal import KafkaPrincipal


class KafkaPrincipalSerde(abc.ABC):
    """Writes a principal to bytes and back.

    Mirrors: org.apache.kafka.common.security.auth.KafkaPrincipalSerde @ 3.7.1
    """

    @abc.abstractmethod
    def serialize(self, principal: KafkaPrincipal) -> bytes:
        """The bytes. Raises SerializationException."""

    @abc.abstractmethod
    def deserialize(self, data: bytes) -> KafkaPrincipal:
        """The principal. Raises SerializationException."""
