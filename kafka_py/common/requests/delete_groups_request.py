"""Delete these groups.

Mirrors: clients/src/main/java/org/apache/kafka/common/requests/DeleteGroupsRequest.java @ 1.1.1 (fields up to 2.5.1)
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from kafka_py.common.protocol.api_keys import ApiKeys
from kafka_py.common.protocol.message import ListOf, field
from kafka_py.common.protocol.types.type import STRING
from kafka_py.common.requests.request_message import RequestMessage


class DeleteGroupsRequest(RequestMessage, key=ApiKeys.DELETE_GROUPS, latest=2, flexible=2):
    """Ids of groups.

    Mirrors: org.apache.kafka.common.requests.DeleteGroupsRequest
    """

    ANSWERED: ClassVar[Mapping[str, str]] = {"group_error_codes": "groups"}

    groups: list[str] = field(ListOf(STRING))
