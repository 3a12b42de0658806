"""Which broker coordinates a group or a transaction.

Mirrors: clients/src/main/java/org/apache/kafka/common/requests/FindCoordinatorRequest.java @ 1.1.1
"""

from __future__ import annotations

from typing import ClassVar

from kafka_py.common.errors import UnsupportedVersionException
from kafka_py.common.node import Node
from kafka_py.common.protocol.api_keys import ApiKeys
from kafka_py.common.protocol.common_fields import GROUP_ID
from kafka_py.common.protocol.errors import Errors
from kafka_py.common.protocol.types.field import Field
from kafka_py.common.protocol.types.schema import Schema
from kafka_py.common.protocol.types.struct import Struct
from kafka_py.common.protocol.types.type import INT8, STRING
from kafka_py.common.requests.abstract_request import AbstractRequest
from kafka_py.common.requests.find_coordinator_response import FindCoordinatorResponse

COORDINATOR_KEY_KEY_NAME = "coordinator_key"
COORDINATOR_TYPE_KEY_NAME = "coordinator_type"

FIND_COORDINATOR_REQUEST_V0 = Schema(GROUP_ID)

FIND_COORDINATOR_REQUEST_V1 = Schema(
    Field("coordinator_key", STRING, "The group id or the transactional id"),
    Field("coordinator_type", INT8, "0 for groups, 1 for transactions"),
)


class FindCoordinatorRequest(AbstractRequest):
    """A group id or, from version 1 on, a transactional id.

    Mirrors: org.apache.kafka.common.requests.FindCoordinatorRequest
    """

    __slots__ = ("_coordinator_key", "_coordinator_type")

    API_KEY: ClassVar[ApiKeys] = ApiKeys.FIND_COORDINATOR

    class CoordinatorType:
        """GROUP or TRANSACTION.

        Mirrors: org.apache.kafka.common.requests.FindCoordinatorRequest.CoordinatorType
        """

        __slots__ = ("id", "name")

        GROUP: ClassVar[FindCoordinatorRequest.CoordinatorType]
        TRANSACTION: ClassVar[FindCoordinatorRequest.CoordinatorType]

        def __init__(self, id: int, name: str) -> None:
            self.id = id
            self.name = name

        @staticmethod
        def for_id(id: int) -> FindCoordinatorRequest.CoordinatorType:
            """The type of a wire id; ValueError for any other."""
            if id == 0:
                return FindCoordinatorRequest.CoordinatorType.GROUP
            if id == 1:
                return FindCoordinatorRequest.CoordinatorType.TRANSACTION
            raise ValueError(f"Unknown coordinator type received: {id}")

        def __str__(self) -> str:
            return self.name

        __repr__ = __str__

    class Builder(AbstractRequest.Builder):
        """Refuses version 0 for transactions.

        Mirrors: org.apache.kafka.common.requests.FindCoordinatorRequest.Builder
        """

        def __init__(self, coordinator_type: FindCoordinatorRequest.CoordinatorType, coordinator_key: str) -> None:
            super().__init__(ApiKeys.FIND_COORDINATOR)
            self._coordinator_type = coordinator_type
            self._coordinator_key = coordinator_key
            self._min_version = coordinator_type.id

        def build(self, version: int | None = None) -> FindCoordinatorRequest:
            version = self._version_or_latest(version)
            if version < self._min_version:
                raise UnsupportedVersionException(
                    f"Cannot create a v{version} FindCoordinator request because we require features supported "
                    f"only in {self._min_version} or later."
                )
            return FindCoordinatorRequest(version, self._coordinator_type, self._coordinator_key)

        def coordinator_key(self) -> str:
            """The group id or the transactional id."""
            return self._coordinator_key

        def coordinator_type(self) -> FindCoordinatorRequest.CoordinatorType:
            """Which of the two it is."""
            return self._coordinator_type

        def __str__(self) -> str:
            return (
                f"(type=FindCoordinatorRequest, coordinatorKey={self._coordinator_key}, "
                f"coordinatorType={self._coordinator_type})"
            )

    def __init__(self, version: int, coordinator_type: CoordinatorType, coordinator_key: str) -> None:
        super().__init__(version)
        self._coordinator_type = coordinator_type
        self._coordinator_key = coordinator_key

    @staticmethod
    def schema_versions() -> list[Schema]:
        return [FIND_COORDINATOR_REQUEST_V0, FIND_COORDINATOR_REQUEST_V1]

    @classmethod
    def from_struct(cls, struct: Struct, version: int) -> FindCoordinatorRequest:
        return cls(
            version,
            cls.CoordinatorType.for_id(struct.get_or_else(COORDINATOR_TYPE_KEY_NAME, 0)),
            struct.get(GROUP_ID if struct.has_field(GROUP_ID) else COORDINATOR_KEY_KEY_NAME),
        )

    def to_struct(self) -> Struct:
        result = Struct(ApiKeys.FIND_COORDINATOR.request_schema(self._version))
        result.set(GROUP_ID if result.has_field(GROUP_ID) else COORDINATOR_KEY_KEY_NAME, self._coordinator_key)
        return result.set_if_exists(COORDINATOR_TYPE_KEY_NAME, self._coordinator_type.id)

    def get_error_response(self, throttle_time_ms: int, e: BaseException) -> FindCoordinatorResponse:
        return FindCoordinatorResponse(Errors.for_exception(e), Node.no_node(), throttle_time_ms)

    def coordinator_key(self) -> str:
        """The group id or the transactional id."""
        return self._coordinator_key

    def coordinator_type(self) -> CoordinatorType:
        """Which of the two it is."""
        return self._coordinator_type


FindCoordinatorRequest.CoordinatorType.GROUP = FindCoordinatorRequest.CoordinatorType(0, "GROUP")
FindCoordinatorRequest.CoordinatorType.TRANSACTION = FindCoordinatorRequest.CoordinatorType(1, "TRANSACTION")
