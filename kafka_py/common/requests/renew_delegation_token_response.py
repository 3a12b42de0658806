"""When the token expires now.

Mirrors: clients/src/main/java/org/apache/kafka/common/requests/RenewDelegationTokenResponse.java @ 1.1.1
         (fields up to 2.5.1)
"""

from __future__ import annotations

from kafka_py.common.protocol.api_keys import ApiKeys
from kafka_py.common.protocol.message import ErrorCoded, field
from kafka_py.common.protocol.types.type import INT16, INT32, INT64
from kafka_py.common.requests.response_message import ResponseMessage


class RenewDelegationTokenResponse(
    ResponseMessage, ErrorCoded, key=ApiKeys.RENEW_DELEGATION_TOKEN, latest=2, flexible=2
):
    """The new time, or an error.

    Mirrors: org.apache.kafka.common.requests.RenewDelegationTokenResponse
    """

    error_code: int = field(INT16)
    expiry_timestamp: int = field(INT64, "When it expires unless renewed", default=-1)
    throttle_time_ms: int = field(INT32, default=0)
