"""Create these ACLs.

Mirrors: clients/src/main/java/org/apache/kafka/common/requests/CreateAclsRequest.java @ 1.1.1 (fields up to 2.5.1)
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from kafka_py.common.protocol.api_keys import ApiKeys
from kafka_py.common.protocol.message import ListOf, Message, field
from kafka_py.common.protocol.types.type import INT8, STRING
from kafka_py.common.requests.request_message import RequestMessage


class CreateAclsRequest(RequestMessage, key=ApiKeys.CREATE_ACLS, latest=2, flexible=2):
    """ACLs with their resources.

    Mirrors: org.apache.kafka.common.requests.CreateAclsRequest
    """

    ANSWERED: ClassVar[Mapping[str, str]] = {"creation_responses": "creations"}

    class Creation(Message):
        """An ACL to create."""

        resource_type: int = field(INT8)
        resource_name: str = field(STRING)
        resource_pattern_type: int = field(INT8, "How the name is matched", since=1, default=3, ignorable=False)
        principal: str = field(STRING)
        host: str = field(STRING)
        operation: int = field(INT8)
        permission_type: int = field(INT8, "Whether the ACL allows or denies")

    creations: list[Creation] = field(ListOf(Creation))
