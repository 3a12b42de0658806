"""Whether the broker took the metadata.

Mirrors: clients/src/main/java/org/apache/kafka/common/requests/UpdateMetadataResponse.java @ 1.1.1
         (fields up to 2.5.1)
"""

from __future__ import annotations

from kafka_py.common.protocol.api_keys import ApiKeys
from kafka_py.common.protocol.errors import Errors
from kafka_py.common.protocol.message import ErrorCoded, field
from kafka_py.common.protocol.types.type import INT16
from kafka_py.common.requests.response_message import ResponseMessage


class UpdateMetadataResponse(ResponseMessage, ErrorCoded, key=ApiKeys.UPDATE_METADATA, latest=6, flexible=6):
    """An error code.

    Mirrors: org.apache.kafka.common.requests.UpdateMetadataResponse
    """

    error_code: int = field(INT16)

    def __init__(self, error: Errors) -> None:
        self.error_code = error.code
