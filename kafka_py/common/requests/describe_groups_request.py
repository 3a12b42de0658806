"""What state are groups in.

Mirrors: clients/src/main/java/org/apache/kafka/common/requests/DescribeGroupsRequest.java @ 1.1.1 (fields up to 2.5.1)
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from kafka_py.common.protocol.api_keys import ApiKeys
from kafka_py.common.protocol.message import ListOf, field
from kafka_py.common.protocol.types.type import BOOLEAN, STRING
from kafka_py.common.requests.request_message import RequestMessage


class DescribeGroupsRequest(RequestMessage, key=ApiKeys.DESCRIBE_GROUPS, latest=5, flexible=5):
    """Ids of groups.

    Mirrors: org.apache.kafka.common.requests.DescribeGroupsRequest
    """

    ANSWERED: ClassVar[Mapping[str, str]] = {"groups": "group_ids"}

    group_ids: list[str] = field(ListOf(STRING))
    include_authorized_operations: bool = field(BOOLEAN, since=3, default=False)
