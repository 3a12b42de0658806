"""Where the coordinator is.

Mirrors: clients/src/main/java/org/apache/kafka/common/requests/FindCoordinatorResponse.java @ 1.1.1
"""

from __future__ import annotations

from typing import ClassVar

from kafka_py.common.node import Node
from kafka_py.common.protocol.api_keys import ApiKeys
from kafka_py.common.protocol.common_fields import ERROR_CODE, ERROR_MESSAGE, THROTTLE_TIME_MS
from kafka_py.common.protocol.errors import Errors
from kafka_py.common.protocol.types.field import Field
from kafka_py.common.protocol.types.schema import Schema
from kafka_py.common.protocol.types.struct import Struct
from kafka_py.common.protocol.types.type import INT32, STRING
from kafka_py.common.requests.abstract_response import AbstractResponse

COORDINATOR_KEY_NAME = "coordinator"
NODE_ID_KEY_NAME = "node_id"
HOST_KEY_NAME = "host"
PORT_KEY_NAME = "port"

FIND_COORDINATOR_BROKER_V0 = Schema(
    Field(NODE_ID_KEY_NAME, INT32, "The broker's id"),
    Field(HOST_KEY_NAME, STRING, "The host name"),
    Field(PORT_KEY_NAME, INT32, "The port"),
)

FIND_COORDINATOR_RESPONSE_V0 = Schema(ERROR_CODE, Field(COORDINATOR_KEY_NAME, FIND_COORDINATOR_BROKER_V0))

FIND_COORDINATOR_RESPONSE_V1 = Schema(
    THROTTLE_TIME_MS, ERROR_CODE, ERROR_MESSAGE, Field(COORDINATOR_KEY_NAME, FIND_COORDINATOR_BROKER_V0)
)


class FindCoordinatorResponse(AbstractResponse):
    """The coordinator's address, or why it is not known.

    Mirrors: org.apache.kafka.common.requests.FindCoordinatorResponse
    """

    __slots__ = ("_error", "_error_message", "_node", "_throttle_time_ms")

    API_KEY: ClassVar[ApiKeys] = ApiKeys.FIND_COORDINATOR

    def __init__(self, error: Errors, node: Node, throttle_time_ms: int = 0, error_message: str | None = None) -> None:
        self._error = error
        self._node = node
        self._throttle_time_ms = throttle_time_ms
        self._error_message = error_message

    @staticmethod
    def schema_versions() -> list[Schema]:
        return [FIND_COORDINATOR_RESPONSE_V0, FIND_COORDINATOR_RESPONSE_V1]

    @classmethod
    def from_struct(cls, struct: Struct) -> FindCoordinatorResponse:
        broker = struct.get(COORDINATOR_KEY_NAME)
        return cls(
            Errors.for_code(struct.get(ERROR_CODE)),
            Node(broker.get(NODE_ID_KEY_NAME), broker.get(HOST_KEY_NAME), broker.get(PORT_KEY_NAME)),
            struct.get_or_else(THROTTLE_TIME_MS, cls.DEFAULT_THROTTLE_TIME),
            struct.get_or_else(ERROR_MESSAGE, None),
        )

    def to_struct(self, version: int) -> Struct:
        result = Struct(ApiKeys.FIND_COORDINATOR.response_schema(version))
        result.set_if_exists(THROTTLE_TIME_MS, self._throttle_time_ms)
        result.set(ERROR_CODE, self._error.code)
        result.set_if_exists(ERROR_MESSAGE, self._error_message)
        coordinator = result.instance(COORDINATOR_KEY_NAME)
        coordinator.set(NODE_ID_KEY_NAME, self._node.id)
        coordinator.set(HOST_KEY_NAME, self._node.host).set(PORT_KEY_NAME, self._node.port)
        return result.set(COORDINATOR_KEY_NAME, coordinator)

    def throttle_time_ms(self) -> int:
        """How long the client's quota holds it back, in ms."""
        return self._throttle_time_ms

    def error(self) -> Errors:
        """NONE, or why there is no coordinator."""
        return self._error

    def node(self) -> Node:
        """The coordinator, an empty node if there is none."""
        return self._node

    def error_counts(self) -> dict[Errors, int]:
        return {self._error: 1}

    def __str__(self) -> str:
        message = "null" if self._error_message is None else self._error_message
        return (
            f"FindCoordinatorResponse(throttleTimeMs={self._throttle_time_ms}, errorMessage='{message}', "
            f"error={self._error}, node={self._node})"
        )
