"""A failed authentication whose answer waits.

Mirrors: clients/src/main/java/org/apache/kafka/common/network/DelayedResponseAuthenticationException.java @ 3.7.1
"""

from __future__ import annotations

from kafka_py.common.errors import AuthenticationException


class DelayedResponseAuthenticationException(AuthenticationException):
    """Authentication failed; the connection is to be closed after connection.failed.authentication.delay.ms.

    Mirrors: org.apache.kafka.common.network.DelayedResponseAuthenticationException @ 3.7.1
    """

    def __init__(self, cause: BaseException) -> None:
        super().__init__(str(cause))
        self.__cause__ = cause
