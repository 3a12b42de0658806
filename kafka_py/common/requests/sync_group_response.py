"""What a member is to read.

Mirrors: clients/src/main/java/org/apache/kafka/common/requests/SyncGroupResponse.java @ 1.1.1 (fields up to 2.5.1)
"""

from __future__ import annotations

from kafka_py.common.protocol.api_keys import ApiKeys
from kafka_py.common.protocol.message import ErrorCoded, field
from kafka_py.common.protocol.types.type import BYTES, INT16, INT32, NULLABLE_STRING
from kafka_py.common.requests.response_message import ResponseMessage


class SyncGroupResponse(ResponseMessage, ErrorCoded, key=ApiKeys.SYNC_GROUP, latest=5, flexible=4):
    """The assignment, opaque to the broker.

    Mirrors: org.apache.kafka.common.requests.SyncGroupResponse
    """

    throttle_time_ms: int = field(INT32, since=1, default=0)
    error_code: int = field(INT16)
    protocol_type: str | None = field(NULLABLE_STRING, since=5, default=None)
    protocol_name: str | None = field(NULLABLE_STRING, since=5, default=None)
    member_assignment: bytes | memoryview = field(BYTES, default=b"")
