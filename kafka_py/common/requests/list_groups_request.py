"""Which groups does the broker coordinate.

Mirrors: clients/src/main/java/org/apache/kafka/common/requests/ListGroupsRequest.java @ 1.1.1 (fields up to 2.5.1)
"""

from __future__ import annotations

from kafka_py.common.protocol.api_keys import ApiKeys
from kafka_py.common.requests.request_message import RequestMessage


class ListGroupsRequest(RequestMessage, key=ApiKeys.LIST_GROUPS, latest=3, flexible=3):
    """A question without content.

    Mirrors: org.apache.kafka.common.requests.ListGroupsRequest
    """
