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
from kafka_py.common.protocol.types.struct import Struct
from kafka_py.common.protocol.types.type import BOOLEAN, INT32
from kafka_py.common.requests.abstract_request import AbstractRequest
from kafka_py.common.requests.api_error import ApiError
from kafka_py.common.requests.create_partitions_response import CreatePartitionsResponse
from kafka_py.common.requests.new_partitions import NewPartitions

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


class CreatePartitionsRequest(AbstractRequest):
    """The new number of partitions by topic.

    Mirrors: org.apache.kafka.common.requests.CreatePartitionsRequest
    """

    __slots__ = ("_duplicates", "_new_partitions", "_timeout", "_validate_only")

    API_KEY: ClassVar[ApiKeys] = ApiKeys.CREATE_PARTITIONS

    class Builder(AbstractRequest.Builder):
        """New numbers by topic.

        Mirrors: org.apache.kafka.common.requests.CreatePartitionsRequest.Builder
        """

        def __init__(self, new_partitions: dict[str, NewPartitions], timeout: int, validate_only: bool) -> None:
            super().__init__(ApiKeys.CREATE_PARTITIONS)
            self._new_partitions = new_partitions
            self._timeout = timeout
            self._validate_only = validate_only

        def build(self, version: int | None = None) -> CreatePartitionsRequest:
            return CreatePartitionsRequest(
                self._new_partitions, self._timeout, self._validate_only, self._version_or_latest(version)
            )

        def __str__(self) -> str:
            return (
                f"(type=CreatePartitionsRequest, newPartitions={self._new_partitions}, timeout={self._timeout}, "
                f"validateOnly={str(self._validate_only).lower()})"
            )

    def __init__(
        self,
        new_partitions: dict[str, NewPartitions],
        timeout: int,
        validate_only: bool,
        version: int,
        duplicates: set[str] | None = None,
    ) -> None:
        super().__init__(version)
        self._new_partitions = new_partitions
        self._timeout = timeout
        self._validate_only = validate_only
        self._duplicates = duplicates or set()

    @staticmethod
    def schema_versions() -> list[Schema]:
        return [CREATE_PARTITIONS_REQUEST_V0]

    @classmethod
    def from_struct(cls, struct: Struct, version: int) -> CreatePartitionsRequest:
        new_partitions: dict[str, NewPartitions] = {}
        duplicates = set()
        for entry in struct.get(TOPIC_PARTITIONS_KEY_NAME):
            topic = entry.get(TOPIC_NAME)
            if topic in new_partitions:
                duplicates.add(topic)
            new = entry.get(NEW_PARTITIONS_KEY_NAME)
            new_partitions[topic] = NewPartitions.increase_to(new.get(COUNT_KEY_NAME), new.get(ASSIGNMENT_KEY_NAME))
        timeout, validate_only = struct.get(TIMEOUT_KEY_NAME), struct.get(VALIDATE_ONLY_KEY_NAME)
        return cls(new_partitions, timeout, validate_only, version, duplicates)

    def to_struct(self) -> Struct:
        result = Struct(ApiKeys.CREATE_PARTITIONS.request_schema(self._version))
        entries = []
        for topic, new_partitions in self._new_partitions.items():
            entry = result.instance(TOPIC_PARTITIONS_KEY_NAME).set(TOPIC_NAME, topic)
            new = entry.instance(NEW_PARTITIONS_KEY_NAME).set(COUNT_KEY_NAME, new_partitions.total_count())
            entries.append(
                entry.set(NEW_PARTITIONS_KEY_NAME, new.set(ASSIGNMENT_KEY_NAME, new_partitions.assignments()))
            )
        result.set(TOPIC_PARTITIONS_KEY_NAME, entries).set(TIMEOUT_KEY_NAME, self._timeout)
        return result.set(VALIDATE_ONLY_KEY_NAME, self._validate_only)

    def get_error_response(self, throttle_time_ms: int, e: BaseException) -> CreatePartitionsResponse:
        error = ApiError.from_throwable(e)
        return CreatePartitionsResponse(throttle_time_ms, dict.fromkeys(self._new_partitions, error))

    def duplicates(self) -> set[str]:
        """Topics that the request names more than once."""
        return self._duplicates

    def new_partitions(self) -> dict[str, NewPartitions]:
        """What each topic is to have."""
        return self._new_partitions

    def timeout(self) -> int:
        """How long to wait until all brokers know them, in ms."""
        return self._timeout

    def validate_only(self) -> bool:
        """Whether to check only."""
        return self._validate_only
