"""Which broker coordinates a group or a transaction.

Mirrors: clients/src/main/java/org/apache/kafka/common/requests/FindCoordinatorRequest.java @ 1.1.1 (fields up to 2.5.1)
"""

from __future__ import annotations

from typing import Any, ClassVar, Self

from kafka_py.common.errors import UnsupportedVersionException
from kafka_py.common.node import Node
from kafka_py.common.protocol.api_keys import ApiKeys
from kafka_py.common.protocol.errors import Errors
from kafka_py.common.protocol.message import field
from kafka_py.common.protocol.types.type import INT8, STRING
from kafka_py.common.requests.abstract_request import AbstractRequest
from kafka_py.common.requests.find_coordinator_response import FindCoordinatorResponse
from kafka_py.common.requests.request_message import RequestMessage


class FindCoordinatorRequest(RequestMessage, key=ApiKeys.FIND_COORDINATOR, latest=3, flexible=3):
    """A group id or, from version 1 on, a transactional id.

    Mirrors: org.apache.kafka.common.requests.FindCoordinatorRequest
    """

    group_id: str = field(STRING, until=0, default="")
    key: str = field(STRING, "The group id or the transactional id", since=1, wire="coordinator_key", default="")
    key_type: int = field(INT8, "0 for groups, 1 for transactions", since=1, wire="coordinator_type", default=0)

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
            key = self._coordinator_key
            return FindCoordinatorRequest(version=version, group_id=key, key=key, key_type=self._coordinator_type.id)

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

    @classmethod
    def parse(cls, buffer: Any, version: int) -> Self:
        request = super().parse(buffer, version)
        request.coordinator_type()  # there must be one
        return request

    def get_error_response(self, throttle_time_ms: int, e: BaseException) -> FindCoordinatorResponse:
        return FindCoordinatorResponse(Errors.for_exception(e), Node.no_node(), throttle_time_ms)

    def coordinator_key(self) -> str:
        """The group id or the transactional id."""
        return self.key if self._version else self.group_id

    def coordinator_type(self) -> CoordinatorType:
        """Which of the two it is."""
        return self.CoordinatorType.for_id(self.key_type)


FindCoordinatorRequest.CoordinatorType.GROUP = FindCoordinatorRequest.CoordinatorType(0, "GROUP")
FindCoordinatorRequest.CoordinatorType.TRANSACTION = FindCoordinatorRequest.CoordinatorType(1, "TRANSACTION")
