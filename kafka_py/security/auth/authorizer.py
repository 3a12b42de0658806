"""Decides who may do what.

Mirrors: core/src/main/scala/kafka/security/auth/Authorizer.scala @ 1.1.1
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from kafka_py.common.configurable import Configurable

if TYPE_CHECKING:
    from kafka_py.network.request_channel import Session
    from kafka_py.security.auth.operation import Operation
    from kafka_py.security.auth.resource import Resource


class Authorizer(Configurable, Protocol):
    """What authorizer.class.name must name.

    Mirrors: core/src/main/scala/kafka/security/auth/Authorizer.scala/Authorizer
    Left out: addAcls, removeAcls, getAcls -- the ACL APIs come with security
    """

    def authorize(self, session: Session, operation: Operation, resource: Resource) -> bool:
        """Whether the principal of the session may do that to the resource."""

    def close(self) -> None:
        """Let go of what the authorizer holds; called at shutdown."""
