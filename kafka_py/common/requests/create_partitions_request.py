"""Add partitions to topics.

Mirrors: clients/src/main/java/org/apache/kafka/common/requests/CreatePartitionsRequest.java @ 1.1.1
"""

from __future__ import annotations

from typing import ClassVar

from kafka_py.common.protocol.api_keys import ApiKeys
from kafka_py.common.protocol.common_fields import TOPIC_NAME
from kafka_py.common.protocol.types.array_of import ArrayOf
from kafka_py.common.protocol.types.field import Field
from kafka_py.common.protocol.types.schema import Schema
from kafka_py.common.protocol.types.type import BOOLEAN, INT32
from kafka_py.common.requests.api_error import ApiError
from kafka_py.common.requests.create_partitions_response import CreatePartitionsResponse
from kafka_py.common.requests.schema_backed import SchemaBackedRequest

TOPIC_PARTITIONS_KEY_NAME = "topic_partitions"
NEW_PARTITIONS_KEY_NAME = "new_partitions"
COUNT_KEY_NAME = "count"
ASSIGNMENT_KEY_NAME = "assignment"
TIMEOUT_KEY_NAME = "timeout"
VALIDATE_ONLY_KEY_NAME = "validate_only"

CREATE_PARTITIONS_REQUEST_V0 = Schema(
    Field(
        TOPIC_PARTITIONS_KEY_NAME,
        ArrayOf(
            Schema(
                TOPIC_NAME,
                Field(
                    NEW_PARTITIONS_KEY_NAME,
                    Schema(
                        Field(COUNT_KEY_NAME, INT32, "How many partitions the topic is to have"),
                        Field(
                            ASSIGNMENT_KEY_NAME,
                            ArrayOf(ArrayOf(INT32), nullable=True),
                            "The brokers of each new partition",
                        ),
                    ),
                ),
            )
        ),
    ),
    Field(TIMEOUT_KEY_NAME, INT32, "How long to wait, in ms"),
    Field(VALIDATE_ONLY_KEY_NAME, BOOLEAN, "Whether to check only"),
)


class CreatePartitionsRequest(SchemaBackedRequest):
    """The new number of partitions by topic.

    Mirrors: org.apache.kafka.common.requests.CreatePartitionsRequest
    Differs: holds the fields under their names in ``values``.
    """

    __slots__ = ()

    API_KEY: ClassVar[ApiKeys] = ApiKeys.CREATE_PARTITIONS

    @staticmethod
    def schema_versions() -> list[Schema]:
        return [CREATE_PARTITIONS_REQUEST_V0]

    def get_error_response(self, throttle_time_ms: int, e: BaseException) -> CreatePartitionsResponse:
        api_error = ApiError.from_throwable(e)
        error, message = api_error.error(), api_error.message()
        return CreatePartitionsResponse(
            {
                "throttle_time_ms": throttle_time_ms,
                "topic_errors": [
                    {"topic": topic["topic"], "error_code": error.code, "error_message": message}
                    for topic in self.values["topic_partitions"]
                ],
            }
        )
