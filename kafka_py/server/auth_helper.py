"""Who may do what, as the handlers of requests ask it.

Mirrors: core/src/main/scala/kafka/server/AuthHelper.scala @ 3.7.1
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafka_py.common.errors import ClusterAuthorizationException
from kafka_py.security.auth.operation import Operation
from kafka_py.security.auth.resource import Resource
from kafka_py.security.auth.resource_type import ResourceType

if TYPE_CHECKING:
    from kafka_py.network.request_channel import Request, Session
    from kafka_py.security.auth.authorizer import Authorizer

# what can be done to a resource at all (AclEntry.supportedOperations of 2.5)
_OF_A_TOPIC = (
    Operation.Read,
    Operation.Write,
    Operation.Create,
    Operation.Describe,
    Operation.Delete,
    Operation.Alter,
    Operation.DescribeConfigs,
    Operation.AlterConfigs,
)
_SUPPORTED_OPERATIONS = {
    ResourceType.Topic: _OF_A_TOPIC,
    ResourceType.Group: (Operation.Read, Operation.Describe, Operation.Delete),
    ResourceType.Cluster: (
        Operation.Create,
        Operation.ClusterAction,
        Operation.DescribeConfigs,
        Operation.AlterConfigs,
        Operation.IdempotentWrite,
        Operation.Alter,
        Operation.Describe,
    ),
    ResourceType.TransactionalId: (Operation.Describe, Operation.Write),
    ResourceType.DelegationToken: (Operation.Describe,),
}


class AuthHelper:
    """Asks the authorizer, if there is one.

    Mirrors: core/src/main/scala/kafka/server/AuthHelper.scala/AuthHelper @ 3.7.1
    Thread: any.
    Differs: asks for one resource at a time, as 1.1.1's authorizers are asked. Its authorizeClusterAction,
        authorizeClusterAlter and authorizeClusterDescribe are one method with the operation as argument, as in 3.7.1.
    """

    def __init__(self, authorizer: Authorizer | None) -> None:
        self.authorizer = authorizer

    def authorize(self, session: Session, operation: Operation, resource: Resource) -> bool:
        """Whether the session may do it; without an authorizer everybody may do everything."""
        return self.authorizer is None or self.authorizer.authorize(session, operation, resource)

    def authorized_operations(self, session: Session, resource: Resource) -> int:
        """What the session may do to a resource: a bit for each operation, at the place of its code."""
        supported = _SUPPORTED_OPERATIONS[resource.resource_type]
        return sum(1 << operation.code for operation in supported if self.authorize(session, operation, resource))

    def authorize_cluster_operation(self, request: Request, operation: Operation) -> None:
        """Raise ClusterAuthorizationException unless the sender may do that to the cluster."""
        if not self.authorize(request.session, operation, Resource.CLUSTER_RESOURCE):
            raise ClusterAuthorizationException(f"Request {request} is not authorized.")
