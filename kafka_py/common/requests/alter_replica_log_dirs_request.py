"""Move replicas to other log directories.

Mirrors: clients/src/main/java/org/apache/kafka/common/requests/AlterReplicaLogDirsRequest.java @ 1.1.1
"""

from __future__ import annotations

from typing import ClassVar

from kafka_py.common.protocol.api_keys import ApiKeys
from kafka_py.common.protocol.common_fields import TOPIC_NAME
from kafka_py.common.protocol.errors import Errors
from kafka_py.common.protocol.types.array_of import ArrayOf
from kafka_py.common.protocol.types.field import Field
from kafka_py.common.protocol.types.schema import Schema
from kafka_py.common.protocol.types.type import INT32, STRING
from kafka_py.common.requests.alter_replica_log_dirs_response import AlterReplicaLogDirsResponse
from kafka_py.common.requests.schema_backed import SchemaBackedRequest

ALTER_REPLICA_LOG_DIRS_REQUEST_V0 = Schema(
    Field(
        "log_dirs",
        ArrayOf(
            Schema(
                Field("log_dir", STRING, "The directory's path"),
                Field("topics", ArrayOf(Schema(TOPIC_NAME, Field("partitions", ArrayOf(INT32), "The partitions")))),
            )
        ),
    )
)


class AlterReplicaLogDirsRequest(SchemaBackedRequest):
    """Partitions by directory.

    Mirrors: org.apache.kafka.common.requests.AlterReplicaLogDirsRequest
    Differs: holds the fields under their names in ``values``.
    """

    __slots__ = ()

    API_KEY: ClassVar[ApiKeys] = ApiKeys.ALTER_REPLICA_LOG_DIRS

    @staticmethod
    def schema_versions() -> list[Schema]:
        return [ALTER_REPLICA_LOG_DIRS_REQUEST_V0]

    def get_error_response(self, throttle_time_ms: int, e: BaseException) -> AlterReplicaLogDirsResponse:
        error = Errors.for_exception(e)
        return AlterReplicaLogDirsResponse(
            {
                "throttle_time_ms": throttle_time_ms,
                "topics": [
                    {
                        "topic": topic["topic"],
                        "partitions": [
                            {"partition": partition, "error_code": error.code} for partition in topic["partitions"]
                        ],
                    }
                    for log_dir in self.values["log_dirs"]
                    for topic in log_dir["topics"]
                ],
            }
        )
